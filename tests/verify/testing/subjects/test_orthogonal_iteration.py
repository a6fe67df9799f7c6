"""The checks of ``orthogonal_iteration``: the law of the angle, spans, inputs, reasons."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from tests.verify.testing.draws import made_of
from tests.verify.testing.subjects.laws_seen import SEED, answers, recorded, rng, seen
from verify.testing import examples
from verify.testing import strategies as own
from verify.testing.arrays import Border
from verify.testing.case import Case
from verify.testing.check import Scope, Violation, WrongForm
from verify.testing.subjects import orthogonal_iteration as orthogonal


def test_the_angle_after_the_steps_gives_the_uniform_one_before_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tested = seen(monkeypatch, orthogonal, "require_p_value")
    kept: list[Any] = []

    def kstest(values: Any, *given: Any, **more: Any) -> Any:
        kept.append((values, given, more))
        return SimpleNamespace(pvalue=0.125)

    monkeypatch.setattr(orthogonal, "stats", SimpleNamespace(kstest=kstest))
    call = recorded(examples.orthogonal_iteration, "orthogonal_iteration")
    orthogonal._rate(call, {"data_seed": SEED})
    stream = rng()
    normal = stream.standard_normal((100, 2, 2))
    ((values, law, method),) = kept
    assert (law, method) == (("uniform",), {"method": "exact"})
    assert len(values) == len(call.cases) == 100
    for matrix, value, case in zip(normal, values, call.cases, strict=True):
        angle = math.pi * stream.random()
        assert value == pytest.approx(angle / math.pi, abs=1e-7)
        assert 0.0 <= value < 1.0
        assert case["n_steps"] == 3
        turn = np.linalg.qr(matrix)[0]
        assert case["first"] == pytest.approx(np.array([turn[:, 0], 0.8 * turn[:, 1]]), abs=1e-15)
        assert case["second"] == pytest.approx(np.array([turn[:, 0], turn[:, 1]]), abs=1e-15)
        start = math.cos(angle) * turn[:, 0] + math.sin(angle) * turn[:, 1]
        assert case["start"][:, 0] == pytest.approx(start, abs=1e-15)
    what = "the angle to the leading direction does not fall at its rate"
    assert tested == [(0.125, 1e-6, what)]


def test_three_times_as_many_steps_are_refused() -> None:
    """One step more is not told apart by a hundred angles, but by the kernel."""

    def steps(first: Any, second: Any, start: Any, n_steps: int) -> Any:
        return examples.orthogonal_iteration(first, second, start, factor * n_steps)

    factor = 1
    call = recorded(steps, "orthogonal_iteration")
    orthogonal._rate(call, {"data_seed": SEED})
    factor = 3
    with pytest.raises(Violation, match="does not fall at its rate"):
        orthogonal._rate(call, {"data_seed": SEED})


def test_columns_become_a_projector() -> None:
    basis = np.array([[0.6, 0.0], [0.8, 0.0], [0.0, 1.0]])
    right = np.array([[0.36, 0.48, 0.0], [0.48, 0.64, 0.0], [0.0, 0.0, 1.0]])
    assert orthogonal.projector(basis) == pytest.approx(right, abs=1e-15)


FIRST = np.diag([3.0, 1.0])
CASE: Case = {"first": FIRST, "second": np.eye(2), "start": np.eye(2)[:, :1], "n_steps": 1}
ALONG, ACROSS = np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]])
TILTED = np.array([[0.8], [0.6]])


def test_before_a_step_the_error_is_that_of_the_numbers_of_rows_and_columns() -> None:
    case: Case = {"first": np.ones((4, 3)), "second": np.ones((4, 3)), "n_steps": 0}
    case["start"] = np.eye(3)[:, :1]
    assert orthogonal.subspace_error(case, 2.0**-40) == 16.0 * (4 + 2 * 3 + 8) * 2.0**-40


def test_a_span_is_told_apart_by_the_sine_of_its_angle() -> None:
    call = answers()
    for found in (ALONG, -ALONG):
        orthogonal._same_span(call, CASE, found, ALONG, "it")
    with pytest.raises(Violation, match=r"is not it, the span of .* largest angle is 0\.6, and"):
        orthogonal._same_span(call, CASE, TILTED, ALONG, "it")


def test_the_result_is_orthonormal_and_spans_what_the_kernels_does() -> None:
    orthogonal._iterates(answers(ALONG), CASE)
    with pytest.raises(Violation, match="is not that of our kernel"):
        orthogonal._iterates(answers(ACROSS), CASE)
    with pytest.raises(Violation, match=r"^the columns .* are not orthonormal: .* \[\[4\.0\]\]$"):
        orthogonal._iterates(answers(2.0 * ALONG), CASE)
    lost = {**CASE, "first": np.zeros((2, 2))}
    orthogonal._iterates(answers(ACROSS), lost)  # no span is known
    with pytest.raises(Violation, match="not orthonormal"):
        orthogonal._iterates(answers(2.0 * ACROSS), lost)


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_the_kernel_takes_two_half_steps_for_each(steps: int) -> None:
    """From (1, 1) the components become 9^n and 1: half a step more or less is seen."""
    start = np.array([[math.sqrt(0.5)], [math.sqrt(0.5)]])
    case = {**CASE, "start": start, "n_steps": steps}
    for power, right in ((2 * steps, True), (2 * steps + 1, False), (2 * steps - 1, False)):
        span = np.array([[3.0**power], [1.0]]) / math.hypot(3.0**power, 1.0)
        if right:
            orthogonal._iterates(answers(span), case)
        else:
            with pytest.raises(Violation, match="is not that of our kernel"):
                orthogonal._iterates(answers(span), case)


TURN = np.array([[0.0, 1.0], [-1.0, 0.0]])


def test_in_a_turned_frame_the_span_is_turned() -> None:
    case: Case = {
        **CASE,
        "second": np.array([[1.0, 0.5], [0.0, 1.0]]),
        "turn": TURN,
        "mix": np.array([[-1.0]]),
        "order": np.array([1, 0]),
    }
    right = examples.orthogonal_iteration(case["first"], case["second"], case["start"], 1)
    image = TURN.T @ right
    call = answers(image, right)
    orthogonal._iterates_turned(call, case)
    changed, base = call.cases
    assert base is case
    assert changed["first"].tolist() == [[-1.0, 0.0], [0.0, 3.0]]
    assert changed["second"].tolist() == [[-1.0, 0.0], [-0.5, 1.0]]
    assert changed["start"].tolist() == [[0.0], [-1.0]]
    assert changed["n_steps"] == 1
    again = recorded(examples.orthogonal_iteration, "orthogonal_iteration")
    orthogonal._iterates_turned(again, case)
    with pytest.raises(Violation, match="is not that before a rotation and new orders"):
        orthogonal._iterates_turned(answers(right, right), case)
    lost = {**case, "first": np.zeros((2, 2))}
    orthogonal._iterates_turned(answers(), lost)


def test_one_step_and_the_others_give_what_all_give() -> None:
    case = {**CASE, "n_steps": 3}
    call = answers(TILTED, ALONG, ALONG)
    orthogonal._iterates_composed(call, case)
    assert [each["n_steps"] for each in call.cases] == [1, 2, 3]
    assert call.cases[1]["start"] is TILTED
    with pytest.raises(Violation, match="is not that of one step and then the others"):
        orthogonal._iterates_composed(answers(TILTED, TILTED, ALONG), case)
    orthogonal._iterates_composed(answers(), {**CASE, "n_steps": 0})
    orthogonal._iterates_composed(answers(), {**case, "first": np.zeros((2, 2))})


def test_vectors_in_another_unit_have_the_same_span() -> None:
    call = answers(ALONG, -ALONG)
    orthogonal._iterates_scaled(call, CASE)
    assert call.cases[0]["first"].tolist() == (FIRST / 1073741824).tolist()
    assert call.cases[0]["second"] is CASE["second"]
    assert call.cases[1] is CASE
    with pytest.raises(Violation, match="is not that for vectors in another unit"):
        orthogonal._iterates_scaled(answers(TILTED, ALONG), CASE)
    orthogonal._iterates_scaled(answers(), {**CASE, "first": np.zeros((2, 2))})


# -- inputs --------------------------------------------------------------------------------------

STEPS = st.sampled_from([1, 2, 3, 4, 0])


def test_simple_pairs_are_whole_with_the_first_axes_as_their_start() -> None:
    first, second = np.ones((4, 3)), 2.0 * np.ones((4, 3))
    wholes = iter((first, second))
    found = made_of(
        orthogonal._pairs(Scope(simple=True)),
        (st.integers(2, 4), 3),
        (st.integers(1, 2), 2),
        (st.integers(2, 6), 4),
        (STEPS, 0),
        *((own.whole((4, 3)), next(wholes)) for _ in range(2)),
    )
    assert (found["first"] is first, found["second"] is second) == (True, True)
    assert found["start"].tolist() == [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    assert found["n_steps"] == 0


@pytest.mark.parametrize("same", [True, False])
def test_pairs_are_normal_and_the_second_of_one_set_or_of_another(same: bool) -> None:
    found = made_of(
        orthogonal._pairs(Scope()),
        (st.integers(2, 4), 4),
        (st.integers(1, 3), 2),
        (st.integers(2, 6), 5),
        (STEPS, 3),
        (own.seeds, 6),
        (st.booleans(), same),
    )
    stream = np.random.default_rng(6)
    start = np.linalg.qr(stream.standard_normal((4, 2)))[0]
    first = stream.standard_normal((5, 4))
    assert found["start"].tolist() == start.tolist()
    assert found["first"].tolist() == first.tolist()
    second = first if same else stream.standard_normal((5, 4))
    assert found["second"].tolist() == second.tolist()
    assert found["second"] is not found["first"]
    assert found["n_steps"] == 3


def test_turned_pairs_have_frames_of_the_space_and_of_the_start() -> None:
    base: Case = {"first": np.ones((3, 4)), "start": np.eye(4)[:, :2]}
    found = made_of(
        orthogonal._turned_pairs(Scope()),
        (orthogonal._pairs(Scope()), base),
        (st.permutations(range(3)), [2, 0, 1]),
        (own.reflections(4), "turn"),
        (own.reflections(2), "mix"),
    )
    assert found["order"].tolist() == [2, 0, 1]
    del found["order"]
    assert found == {**base, "turn": "turn", "mix": "mix"}


def test_a_basis_has_the_shape_of_the_start() -> None:
    assert orthogonal._read_basis([[1], [0]], CASE, Border()).tolist() == [[1.0], [0.0]]
    with pytest.raises(WrongForm, match=r"^basis has the shape \(2, 2\); it must be \(2, 1\)"):
        orthogonal._read_basis(np.eye(2), CASE, Border())

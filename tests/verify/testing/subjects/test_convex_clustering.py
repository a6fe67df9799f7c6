"""The checks of ``convex_clustering``: the law of a pair's distance, penalties, reasons."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from tests.verify.testing.draws import made_of
from tests.verify.testing.subjects.laws_seen import (
    SEED,
    answers,
    exponential,
    recorded,
    rng,
    seen,
)
from verify.testing import strategies as own
from verify.testing.arrays import Border
from verify.testing.case import Case
from verify.testing.check import Scope, Violation, WrongForm
from verify.testing.subjects import convex_clustering as convex
from verify.testing.subjects import laws, points

UNIT = 2.0**-53


def pair(points: np.ndarray, penalty: float) -> np.ndarray:
    """Two points are drawn together by the penalty each, at most to their mean."""
    if len(points) != 2:
        return points  # a first call shows that the function fits
    half = (points[0] - points[1]) / 2
    length = float(np.linalg.norm(half))
    kept = max(1.0 - penalty / length, 0.0) if length else 0.0
    return points.mean(axis=0) + kept * np.array([half, -half])


def together(points: np.ndarray, accuracy: float) -> float:
    """Four times the length whose half square is what the objective may be too large by."""
    squares = float(((points[0] - points[1]) ** 2).sum()) / 4
    size = max(math.hypot(*p) for p in points)
    noise = 64.0 * 2 * UNIT * size
    rounded = noise * (noise + math.sqrt(2 * squares)) + 64.0 * 2 * UNIT * 0.7 * 4 * size
    return 4.0 * math.sqrt(2.0 * (accuracy * squares + rounded))


@pytest.mark.parametrize("share", [None, 0.98, 1.02])
@pytest.mark.parametrize("accuracy", [None, 1e-3])
def test_the_distance_of_two_normal_points_has_its_law_and_an_atom(
    monkeypatch: pytest.MonkeyPatch, share: float | None, accuracy: float | None
) -> None:
    """Half the squared distance has two degrees of freedom.

    A program leaves fused points apart by a share of what counts as together.
    """
    tested = seen(monkeypatch, laws)
    claimed = 1e-6 if accuracy is None else accuracy

    def near(points: Any, penalty: float) -> Any:
        found = pair(points, penalty)
        if share is not None and np.array_equal(found[0], found[1]):
            apart = share * together(points, claimed) / 2
            found = found + apart * np.array([[0.6, 0.8], [-0.6, -0.8]])
        return found

    call = recorded(near, "convex_clustering", accuracy=accuracy)
    convex._convex_law(call, {"data_seed": SEED})
    stream, right, fused = rng(), [], 0
    for case in call.cases:
        points = stream.standard_normal((2, 2))
        assert case["points"].tolist() == points.tolist()
        assert case["penalty"] == 0.7
        gap, limit = math.dist(*points), together(points, claimed)
        if gap > 1.4 + limit:
            right.append(exponential(gap**2 / 4))
        elif share == 1.02 and gap <= 1.4:
            right.append(exponential((share * limit + 1.4) ** 2 / 4))
        else:
            fused += 1
            right.append(exponential((1.4 + limit) ** 2 / 4) * stream.random())
    ((values, level, words),) = tested
    assert len(values) == 80
    assert values == pytest.approx(np.array(right), rel=1e-8)
    assert (level, words) == (1e-6, "the distance of two fused points has another law")
    assert fused < 15 if share == 1.02 else 15 < fused < 60


def test_another_penalty_is_refused() -> None:
    convex._convex_law(recorded(pair, "convex_clustering"), {"data_seed": SEED})
    for factor in (0.3, 2.0):
        wrong = recorded(lambda p, c, f=factor: pair(p, f * c), "convex_clustering")
        with pytest.raises(Violation, match="the distance of two fused points has another law"):
            convex._convex_law(wrong, {"data_seed": SEED})


CLOUD = np.array([[0.0, 3.0], [0.0, -3.0], [3.0, 0.0], [-7.0, 0.0]])
#: The mean is (-1, 0), and the last point is the farthest.
SPREAD = 6.0


def test_the_spread_is_the_largest_distance_to_the_mean() -> None:
    assert convex._spread(CLOUD) == pytest.approx(SPREAD, rel=1e-15)
    assert convex._spread(CLOUD[:1]) == 0.0


def test_penalties_are_shares_of_the_spread_over_the_number_of_points() -> None:
    found = made_of(
        convex._draw_penalised(Scope(simple=True)),
        (own.point_sets(max_m=6, simple=True).filter(convex._spread), CLOUD),
        (st.sampled_from([0.5, 0.125, 0.01, 1.0, 2.0]), 0.125),
    )
    assert found["points"] is CLOUD
    assert found["penalty"] == pytest.approx(0.125 * SPREAD / 4, rel=1e-15)


def test_a_framed_case_has_a_frame_of_its_points() -> None:
    base: Case = {"points": CLOUD, "penalty": 0.5}
    found = made_of(
        convex._penalised_frames(Scope()),
        (convex._draw_penalised(Scope()), base),
        (points.frames(CLOUD), {"unit": 1.0}),
    )
    assert found == {**base, "unit": 1.0}


LINE = np.array([[0.0], [10.0]])
CASE: Case = {"points": LINE, "penalty": 2.0}
RIGHT = np.array([[2.0], [8.0]])


def test_a_minimiser_that_is_not_optimal_is_refused_with_the_optimum() -> None:
    """The objective is 2 + 2 + 2 * 6 = 16 at the optimum, and 20 where nothing moves."""
    assert convex.convex_objective(LINE, RIGHT, 2.0) == 16.0
    convex._optimal(answers(RIGHT), CASE)
    with pytest.raises(
        Violation,
        match=r"^the objective is 20, but the optimum is (16|15\.9+\d*) \(certif",
    ):
        convex._optimal(answers(LINE), CASE)


def test_what_the_certificate_leaves_open_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The optimum lies between 16 and 16.5 then, and an answer may have either objective."""
    fit = SimpleNamespace(primal=16.5, gap=0.5, certified=False, minimiser=RIGHT)
    monkeypatch.setattr(convex, "convex_clustering", lambda _points, _penalty: fit)
    for objective in (16.0, 16.4, 16.6):
        moved = RIGHT + np.sqrt(objective - 16.0) * np.ones((2, 1))  # both rows by t cost t^2
        assert convex.convex_objective(LINE, moved, 2.0) == pytest.approx(objective, rel=1e-14)
        if objective < 16.5:
            convex._optimal(answers(moved), CASE)
        else:
            with pytest.raises(
                Violation,
                match=r"^the objective is 16\.6, but the optimum is 16 \(certified: False",
            ):
                convex._optimal(answers(moved), CASE)


def test_in_another_frame_the_penalty_has_the_unit_of_the_points() -> None:
    case: Case = {
        **CASE,
        "turn": np.array([[-1.0]]),
        "move": np.array([100.0]),
        "unit": -3.0,
        "order": np.array([1, 0]),
    }
    image = np.array([[124.0], [106.0]])
    call = answers(RIGHT, image)
    convex._convex_moved(call, case)
    assert call.cases[0] is case
    assert call.cases[1]["points"].tolist() == [[130.0], [100.0]]
    assert call.cases[1]["penalty"] == 6.0
    for wrong in (image[::-1], image + 0.1, 100.0 - (image - 100.0)):
        with pytest.raises(Violation, match="after a rotation, a shift"):
            convex._convex_moved(answers(RIGHT, wrong), case)


@pytest.mark.parametrize(("mean", "right"), [(False, LINE), (True, np.full((2, 1), 5.0))])
def test_the_penalty_of_an_end_is_the_one_that_is_given(mean: bool, right: np.ndarray) -> None:
    judge = convex._same_minimiser(lambda case: 3.0 * case["penalty"], mean=mean)
    call = answers(right)
    judge(call, CASE)
    assert list(call.cases[0]) == ["points", "penalty"]
    assert call.cases[0]["points"] is LINE
    assert call.cases[0]["penalty"] == 6.0
    with pytest.raises(Violation, match=r"^with the penalty 6 the minimiser is "):
        judge(answers(right + 0.1), CASE)


def test_the_checks_without_a_penalty_and_with_a_large_one() -> None:
    checks = {check.name: check for check in convex.SUBJECTS[0].checks}
    for name, penalty, right in (
        ("no-penalty", 0.0, LINE),
        ("large-penalty", 4.0 * 5.0, np.full((2, 1), 5.0)),
    ):
        call = answers(right)
        checks[name].judge(call, CASE)
        assert call.cases[0]["penalty"] == penalty
        with pytest.raises(Violation):
            checks[name].judge(answers(RIGHT), CASE)


def test_a_mean_that_moves_is_refused() -> None:
    convex._keeps_mean(answers(RIGHT), CASE)
    with pytest.raises(Violation, match=r"the minimiser is 0\.25 away from the mean of the points"):
        convex._keeps_mean(answers(RIGHT + 0.25), CASE)


def test_a_minimiser_has_the_shape_of_the_points_and_the_accuracy_a_millionth() -> None:
    assert convex._read_minimiser([[1], [2]], CASE, Border()).tolist() == [[1.0], [2.0]]
    with pytest.raises(WrongForm, match=r"^minimiser has the shape \(1, 2\); it must be \(2, 1\)"):
        convex._read_minimiser([[1, 2]], CASE, Border())
    assert convex.SUBJECTS[0].accuracy == 0.000001

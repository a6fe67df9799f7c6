"""The checks of ``kmeans``: the laws of centres and squares, starts, and what a judge refuses."""

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
from verify.testing import examples
from verify.testing import strategies as own
from verify.testing.arrays import Border
from verify.testing.case import Case
from verify.testing.check import Clustered, Scope, Violation, WrongForm
from verify.testing.subjects import kmeans, laws, points

GROUPS = np.array([[50.0, 0.0], [-50.0, 0.0]])


def test_centres_and_squares_of_separated_groups_have_laws_of_chi_square(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Six points each: two degrees of freedom for a centre, and twenty for the squares."""
    tested = seen(monkeypatch, laws)
    call = recorded(examples.kmeans, "kmeans")
    kmeans._kmeans_law(call, {"data_seed": SEED})
    stream = rng()
    centres, squares = [], []
    assert len(call.cases) == 100
    for case in call.cases:
        noise = stream.standard_normal((12, 2))
        assert case["centres"].tolist() == GROUPS.tolist()
        owners = np.array([0, 1] * 6)
        assert case["points"] == pytest.approx(GROUPS[owners] + noise, rel=1e-13)
        means = np.array([noise[0::2].mean(axis=0), noise[1::2].mean(axis=0)])
        centres += [exponential(6 * float(mean @ mean) / 2) for mean in means]
        half = ((noise - means[owners]) ** 2).sum() / 2
        squares.append(1 - math.exp(-half) * sum(half**i / math.factorial(i) for i in range(10)))
    first, second = tested
    assert first[0] == pytest.approx(np.array(centres), abs=1e-9)
    assert second[0] == pytest.approx(np.array(squares), abs=1e-9)
    assert first[1:] == (5e-7, "the centres of separated groups have another law")
    assert second[1:] == (5e-7, "the squares in separated groups have another law")


def test_centres_that_are_pushed_out_or_labels_that_are_wrong_are_refused() -> None:
    kmeans._kmeans_law(recorded(examples.kmeans, "kmeans"), {"data_seed": SEED})

    def medians(p: Any, c: Any) -> Any:
        _, labels = examples.kmeans(p, c)
        return np.array([np.median(p[labels == j], axis=0) for j in range(len(c))]) * 1.02, labels

    def swapped(p: Any, c: Any) -> Any:
        new, labels = examples.kmeans(p, c)
        return new, np.roll(labels, 1)

    for wrong, what in ((medians, "the centres"), (swapped, "the squares")):
        with pytest.raises(Violation, match=what):
            kmeans._kmeans_law(recorded(wrong, "kmeans"), {"data_seed": SEED})


POINTS = np.array([[0.0], [2.0], [10.0], [13.0]])
CASE: Case = {"points": POINTS, "centres": np.array([[0.0], [10.0]])}
RIGHT = Clustered(np.array([[1.0], [11.5]]), np.array([0, 0, 1, 1]))


def test_a_result_is_stationary_or_refused_with_its_reason() -> None:
    kmeans._stationary(answers(RIGHT), CASE)
    for models, labels, says in (
        ([[1.0], [11.5]], [0, 1, 1, 1], r"^point 1 has the label 1, but its squared distances"),
        ([[1.0], [11.4]], [0, 0, 1, 1], r"^centre 1 is \[11\.4\], but the mean .* is \[11\.5\]"),
        ([[1.1], [11.5]], [0, 0, 1, 1], r"^centre 0 is \[1\.1\], .* They are 0\.1 apart"),
    ):
        with pytest.raises(Violation, match=says):
            kmeans._stationary(answers(Clustered(np.array(models), np.array(labels))), CASE)


def test_an_empty_cluster_keeps_its_centre_or_takes_a_point() -> None:
    case = {**CASE, "centres": np.array([[0.0], [10.0], [90.0]])}
    for centre, allowed in ((90.0, True), (13.0, False), (50.0, False)):
        got = Clustered(np.array([[1.0], [11.5], [centre]]), np.array([0, 0, 1, 1]))
        if allowed:
            kmeans._stationary(answers(got), case)
        else:
            with pytest.raises(Violation):
                kmeans._stationary(answers(got), case)
    lonely = Clustered(np.array([[1.0], [10.0], [13.0], [13.0]]), np.array([0, 0, 1, 2]))
    kmeans._stationary(answers(lonely), {**CASE, "centres": POINTS + 90.0})


def test_squares_may_not_grow() -> None:
    """The rows of a rectangle with the squares 36, where the columns have 4."""
    corners = np.array([[0.0, 0.0], [0.0, 2.0], [6.0, 0.0], [6.0, 2.0]])
    case = {"points": corners, "centres": np.array([[0.0, 1.0], [6.0, 1.0]])}
    rows = Clustered(np.array([[3.0, 0.0], [3.0, 2.0]]), np.array([0, 1, 0, 1]))
    with pytest.raises(Violation, match=r"^the sum of squared distances is 36, but at the start 4"):
        kmeans._stationary(answers(rows), case)
    columns = Clustered(case["centres"], np.array([0, 0, 1, 1]))
    kmeans._stationary(answers(columns), {**case, "centres": rows.models})
    assert kmeans._inertia(corners, rows.models) == 36.0


def test_from_a_sum_of_zero_squares_may_grow_by_what_centres_may_be_off() -> None:
    """Every centre is its point, and moves by a share of the accuracy of the largest number."""
    points = np.array([[0.0], [5.0], [-10.0]])
    case: Case = {"points": points, "centres": points}
    for share in (0.9, 1.1):
        call = answers(Clustered(points + share * 0.01, np.arange(3)), accuracy=0.001)
        if share < 1:
            kmeans._stationary(call, case)
        else:
            with pytest.raises(Violation, match=r"^centre 0 is \[0\.011"):
                kmeans._stationary(call, case)


@pytest.mark.parametrize(("share", "decided"), [(0.98, False), (1.02, True)])
def test_lloyds_path_allows_for_the_rounding_of_a_mean_at_its_point(
    share: float, decided: bool
) -> None:
    """A point at one centre, with the other near it: the squares are 0 and c^2."""
    unit = 2.0**-14
    moved = 8.0 * (2 + 8) * unit * 2.0
    # with the length m by which a mean moves: c^2 = 72 u c^2 + 4 m (c + m) + 4 m^2
    a, b, c = 1.0 - 8.0 * 9.0 * unit, -4.0 * moved, -8.0 * moved**2
    edge = (-b + math.sqrt(b * b - 4.0 * a * c)) / (2.0 * a)
    centres = np.array([[0.0], [share * edge]])
    path = kmeans.lloyd_path(np.array([[0.0], [2.0]]), centres, unit)
    assert (path is not None) == decided


def test_where_nothing_is_a_tie_the_kernel_decides_labels_and_centres() -> None:
    kmeans._lloyd(answers(RIGHT), CASE)
    moved = RIGHT.models + np.array([[0.0], [1e-6]])
    for wrong in (RIGHT._replace(labels=np.array([0, 0, 1, 0])), RIGHT._replace(models=moved)):
        with pytest.raises(Violation, match=r"our kernel has \[0, 0, 1, 1\] and \[\[1\.0\]"):
            kmeans._lloyd(answers(wrong), CASE)
    tie = {"points": np.array([[0.0], [1.0], [2.0]]), "centres": np.array([[0.0], [2.0]])}
    kmeans._lloyd(answers(Clustered(tie["centres"], np.array([0, 1, 1]))), tie)


def test_a_second_run_starts_at_the_result_of_the_first() -> None:
    call = answers(RIGHT, RIGHT)
    kmeans._kmeans_again(call, CASE)
    assert call.cases[0] is CASE
    assert call.cases[1]["centres"] is RIGHT.models
    assert call.cases[1]["points"] is POINTS
    moved = RIGHT.models + np.array([[0.0], [1e-6]])
    for wrong in (RIGHT._replace(labels=np.array([0, 0, 1, 0])), RIGHT._replace(models=moved)):
        with pytest.raises(Violation, match=r"^from its own result \[\[1\.0\], \[11\.5\]\] it"):
            kmeans._kmeans_again(answers(RIGHT, wrong), CASE)
    lost = Clustered(np.array([[1.0], [90.0]]), RIGHT.labels)  # a cluster is empty from there
    kmeans._kmeans_again(answers(lost), CASE)


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_lloyds_path_takes_as_many_steps_as_are_needed(steps: int) -> None:
    """One point joins the left cluster in each step."""
    places = [0.0]
    for _ in range(steps):  # the next point is nearer to the mean of those so far than to the far
        places.append(2.0 * float(np.mean(places)) + 1.0 + places[-1])
    far = places[-1] * 40.0
    case = np.array([[p] for p in places] + [[far]])
    path = kmeans.lloyd_path(case, np.array([[0.0], [far]]), 2.0**-53)
    assert path is not None
    assert path.labels.tolist() == [0] * (steps + 1) + [1]
    assert path.models[0, 0] == pytest.approx(float(np.mean(places)), rel=1e-14)


def test_a_case_in_another_frame_is_mapped_back() -> None:
    case: Case = {
        **CASE,
        "turn": np.array([[-1.0]]),
        "move": np.array([100.0]),
        "unit": 2.0,
        "order": np.array([1, 3, 0, 2]),
        "names": np.array([1, 0]),
    }
    call = recorded(examples.kmeans, "kmeans")
    kmeans._kmeans_moved(call, case)
    assert call.cases[1]["points"].tolist() == [[96.0], [74.0], [100.0], [80.0]]
    assert call.cases[1]["centres"].tolist() == [[80.0], [100.0]]
    image = Clustered(np.array([[77.0], [98.0]]), np.array([1, 0, 1, 0]))
    kmeans._kmeans_moved(answers(RIGHT, image), case)
    for wrong in (
        image._replace(labels=np.array([1, 0, 1, 1])),
        image._replace(models=np.array([[77.0], [97.0]])),
        image._replace(models=image.models[::-1]),
    ):
        with pytest.raises(Violation, match="after a rotation, a shift"):
            kmeans._kmeans_moved(answers(RIGHT, wrong), case)
    ties = np.array([[0.0], [1.0], [2.0], [2.0]])
    tie: Case = {**case, "points": ties, "centres": np.array([[0.0], [2.0]])}
    kmeans._kmeans_moved(answers(RIGHT, RIGHT), tie)
    call = answers(RIGHT, RIGHT)  # a tie after rounding only
    call.border = SimpleNamespace(rounded=lambda _case: {"points": ties, "centres": ties[[0, 2]]})
    kmeans._kmeans_moved(call, case)
    call = answers(RIGHT, RIGHT)  # and before it only
    call.border = SimpleNamespace(rounded=lambda _case: CASE)
    kmeans._kmeans_moved(call, tie)


# -- starts --------------------------------------------------------------------------------------

CLOUD = np.array([[0.5, 1.0], [2.0, 3.0], [4.0, -7.5]])


@pytest.mark.parametrize(("m", "most"), [(3, 3), (5, 4)])
def test_starts_are_different_points_at_most_four(m: int, most: int) -> None:
    cloud = np.arange(2.0 * m).reshape(m, 2)
    order = [2, 0, 1, *range(3, m)]
    found = made_of(
        kmeans._starts(Scope(simple=True)),
        (own.point_sets(max_m=9, simple=True), cloud),
        (st.integers(1, most), 2),
        (st.permutations(range(m)), order),
    )
    assert found["points"] is cloud
    assert found["centres"].tolist() == cloud[[2, 0]].tolist()


def test_an_empty_start_has_a_centre_at_a_power_of_two_beyond_eight_times_the_points() -> None:
    """Eight times 7.5 and one is 61, and the next power of two is 64."""
    scope = Scope()
    base = {"points": CLOUD, "centres": CLOUD[:2]}
    found = made_of(kmeans._empty_starts(scope), (kmeans._starts(scope), base))
    assert found["centres"].tolist() == [*CLOUD[:2].tolist(), [64.0, 64.0]]
    assert found["points"] is CLOUD
    full = {"points": CLOUD, "centres": CLOUD}
    assert made_of(kmeans._empty_starts(scope), (kmeans._starts(scope), full)) is full
    zero = {"points": np.zeros((2, 1)), "centres": np.zeros((1, 1))}
    found = made_of(kmeans._empty_starts(scope), (kmeans._starts(scope), zero))
    assert found["centres"].tolist() == [[0.0], [1.0]]


def test_a_framed_start_has_new_names_of_its_centres() -> None:
    base: Case = {"points": CLOUD, "centres": CLOUD[:2]}
    found = made_of(
        kmeans._start_frames(Scope()),
        (kmeans._starts(Scope()), base),
        (st.permutations(range(2)), [1, 0]),
        (points.frames(CLOUD), {"unit": 1.0}),
    )
    assert found["names"].tolist() == [1, 0]
    assert {name: found[name] for name in ("points", "centres", "unit")} == {**base, "unit": 1.0}


def test_a_result_has_as_many_centres_as_were_given_and_a_label_for_each_point() -> None:
    arguments = {"points": CLOUD, "centres": CLOUD[:1]}
    found = kmeans._read_kmeans((CLOUD[:1], [0, 0, 0]), arguments, Border())
    assert found.labels.tolist() == [0, 0, 0]
    with pytest.raises(WrongForm, match=r"^centres has the shape \(2, 2\); it must be \(1, 2\)"):
        kmeans._read_kmeans((CLOUD[:2], [0, 0, 0]), arguments, Border())
    with pytest.raises(WrongForm, match=r"^labels has the shape \(1,\); it must be \(3,\)"):
        kmeans._read_kmeans((CLOUD[:1], [0]), arguments, Border())

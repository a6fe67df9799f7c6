"""The checks of ``assignment``: the law of errors, exact ties, new orders."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy import stats

from tests.verify.testing.draws import made_of
from tests.verify.testing.subjects.laws_seen import SEED, answers, recorded, rng, seen
from verify.testing import examples
from verify.testing import strategies as own
from verify.testing.case import Case
from verify.testing.check import Scope, Violation
from verify.testing.subjects import assignment, points


def test_the_share_of_errors_in_normal_noise_is_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    """A point errs where its noise along the line of the centres is more than one."""
    tested = seen(monkeypatch, assignment, "require_p_value")
    call = recorded(examples.assignment, "assignment")
    assignment._assignment_law(call, {"data_seed": SEED})
    stream, m = rng(), 2000
    truth = stream.integers(0, 2, m)
    noise = stream.standard_normal((m, 2))
    (case,) = call.cases
    assert case["centres"].tolist() == [[1.0, 0.0], [-1.0, 0.0]]
    place = 1.0 - 2.0 * truth
    assert case["points"] == pytest.approx(noise + np.outer(place, [1.0, 0.0]), rel=1e-14)
    wrong = int((place * noise[:, 0] < -1.0).sum())
    chance = stats.binom(m, math.erfc(math.sqrt(0.5)) / 2)
    law = chance.pmf(np.arange(m + 1))
    right = law[law <= law[wrong] * (1 + 1e-9)].sum()
    ((p, level, words),) = tested
    assert p == pytest.approx(right, rel=1e-9)
    assert level == 1e-6
    assert words.startswith(f"{wrong} of 2000 points have a wrong label, 15.87 %")


def test_a_border_that_is_moved_is_refused() -> None:
    right = recorded(examples.assignment, "assignment")
    assignment._assignment_law(right, {"data_seed": SEED})
    moved = recorded(lambda p, c: examples.assignment(p - [0.7, 0.0], c), "assignment")
    with pytest.raises(Violation, match="points have a wrong label"):
        assignment._assignment_law(moved, {"data_seed": SEED})


def labelled(*labels: list[int]) -> Any:
    return answers(*map(np.array, labels))


LINE: Case = {
    "points": np.array([[0.0], [2.0], [5.0]]),
    "centres": np.array([[1.0], [3.0], [-1.0]]),
}


def test_of_exactly_equal_distances_the_first_is_right_for_every_point() -> None:
    """The distances are 1, 3, 1 and 1, 1, 3 and 4, 2, 6."""
    assignment._assigned_ties(labelled([0, 0, 1]), LINE)
    for i, labels in ((0, [2, 0, 1]), (1, [0, 1, 1]), (2, [0, 0, 0]), (0, [2, 1, 2])):
        with pytest.raises(Violation, match=rf"^point {i} has the label {labels[i]}, but"):
            assignment._assigned_ties(labelled(labels), LINE)
    with pytest.raises(Violation, match=r"exactly \[16\.0, 4\.0, 36\.0\], so its label is 1"):
        assignment._assigned_ties(labelled([0, 0, 2]), LINE)


def test_labels_to_rounding_are_those_of_a_nearest_centre() -> None:
    for labels in ([0, 0, 1], [2, 1, 1], [2, 0, 1]):
        assignment._check_assigned(labelled(labels), LINE)
    for i, labels in ((0, [1, 0, 1]), (1, [0, 2, 1]), (2, [0, 0, 0])):
        with pytest.raises(Violation, match=rf"^point {i} has the label {labels[i]}, but"):
            assignment._check_assigned(labelled(labels), LINE)


def test_different_centres_have_their_own_numbers() -> None:
    assignment._assigned_themselves(labelled([0, 1, 2]), {})
    with pytest.raises(Violation, match=r"have the labels \[0, 2, 1\], not 0, 1"):
        assignment._assigned_themselves(labelled([0, 2, 1]), {})


def test_in_another_frame_every_point_and_centre_is_at_its_new_place() -> None:
    case: Case = {
        "points": np.array([[0.0, 1.0], [8.0, 0.0], [20.0, 3.0]]),
        "centres": np.array([[0.0, 0.0], [9.0, 0.0], [18.0, 0.0]]),
        "turn": np.array([[0.0, 1.0], [-1.0, 0.0]]),
        "move": np.array([100.0, -200.0]),
        "unit": -2.0,
        "order": np.array([1, 2, 0]),
        "names": np.array([2, 0, 1]),
    }
    call = recorded(examples.assignment, "assignment")
    assignment._assigned_moved(call, case)
    first, second = call.cases
    assert {name: first[name] is case[name] for name in ("points", "centres")} == {
        "points": True,
        "centres": True,
    }
    # (a, b) becomes -2 (-b, a) + (100, -200)
    assert second["points"].tolist() == [[100.0, -216.0], [106.0, -240.0], [102.0, -200.0]]
    assert second["centres"].tolist() == [[100.0, -236.0], [100.0, -200.0], [100.0, -218.0]]
    for i, base, image in ((0, [0, 1, 2], [2, 0, 0]), (2, [0, 1, 1], [2, 0, 1])):
        with pytest.raises(Violation, match=rf"^point {i} has the label {base[i]}, and 2 after"):
            assignment._assigned_moved(labelled(base, image), case)
    assignment._assigned_moved(labelled([0, 1, 2], [2, 0, 1]), case)


SIMPLE, ANY = Scope(simple=True), Scope()
CLOUD = np.array([[0.5, 1.0], [2.0, 3.0], [4.0, 7.0]])


def test_centres_are_whole_normal_or_points() -> None:
    whole = np.ones((2, 2))
    found = made_of(
        assignment._assignments(SIMPLE),
        (own.point_sets(simple=True), CLOUD),
        (st.integers(1, 4), 2),
        (own.whole((2, 2)), whole),
    )
    assert found == {"points": CLOUD, "centres": whole}
    turns = [(own.point_sets(simple=False), CLOUD), (st.integers(1, 4), 2)]
    found = made_of(
        assignment._assignments(ANY), *turns, (st.booleans(), True), (st.integers(0, 65536), 7)
    )
    normal = np.random.default_rng(7).standard_normal((2, 2))
    assert found["centres"].tolist() == normal.tolist()
    numbers = st.lists(st.integers(0, 2), min_size=2, max_size=2)
    found = made_of(assignment._assignments(ANY), *turns, (st.booleans(), False), (numbers, [2, 0]))
    assert found["points"] is CLOUD
    assert found["centres"].tolist() == [[4.0, 7.0], [0.5, 1.0]]


def test_a_framed_case_has_new_names_of_its_centres() -> None:
    base: Case = {"points": CLOUD, "centres": CLOUD[:2]}
    found = made_of(
        assignment._assignment_frames(ANY),
        (assignment._assignments(ANY), base),
        (st.permutations(range(2)), [1, 0]),
        (points.frames(CLOUD), {"unit": 1.0}),
    )
    assert found["names"].tolist() == [1, 0]
    assert found["names"].dtype == np.int64
    assert {name: found[name] for name in ("points", "centres", "unit")} == {**base, "unit": 1.0}


def test_centres_alone_are_different_cells_and_the_points() -> None:
    cell = st.tuples(st.integers(-4, 4), st.integers(-4, 4))
    found = made_of(
        assignment._centres_alone(ANY),
        (st.integers(1, 5), 2),
        (st.integers(1, 3), 2),
        (st.lists(cell, min_size=2, max_size=2, unique=True), [(1, -4), (3, 4)]),
    )
    assert found["points"].tolist() == found["centres"].tolist() == [[1.0, -4.0], [3.0, 4.0]]
    assert found["points"] is not found["centres"]


def test_ties_are_looked_for_among_whole_numbers() -> None:
    whole = np.ones((3, 2))
    found = made_of(
        assignment._assignment_ties(ANY),
        (st.integers(1, 2), 2),
        (st.integers(1, 5), 3),
        (st.integers(2, 4), 4),
        (own.whole((3, 2)), whole),
        (own.whole((4, 2)), 2 * np.ones((4, 2))),
    )
    assert found["points"] is whole
    assert found["centres"].tolist() == [[2.0, 2.0]] * 4

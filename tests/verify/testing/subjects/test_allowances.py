"""Every judge of points and clusters lets through what its formula allows, and no more.

A program answers with the right result, moved by a share of what is allowed.  The allowance is
typed here a second time, for the numbers of one case.  The unit roundoff and the accuracy are so
large that each of the two parts shows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from verify.testing.arrays import Border
from verify.testing.case import Case, Clients
from verify.testing.check import Clustered, Scope, Violation
from verify.testing.subjects import (
    assignment,
    convex_clustering,
    fedx,
    kmeans,
    one_shot,
    orthogonal_iteration,
)

ACCURACY, UNIT = 1e-3, 2.0**-22
Judge = Callable[[Any, Case], None]
Answers = Callable[[float], Sequence[Any]]


class Program:
    """It gives these answers, call by call."""

    accuracy, unit, border, scope = ACCURACY, UNIT, Border(), Scope()

    def __init__(self, answers: Sequence[Any]) -> None:
        self._left = iter(answers)

    def __call__(self, _case: Case) -> Any:
        return next(self._left)


def require_edge(judge: Judge, case: Case, answers: Answers) -> None:
    """A little less than what is allowed passes, and a little more does not."""
    judge(Program(answers(0.99)), case)
    with pytest.raises(Violation):
        judge(Program(answers(1.01)), case)


def root(rising: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that rises through zero does so."""
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) > 0 else (middle, high)
    return high


def shifted(matrix: np.ndarray, row: int, by: float) -> np.ndarray:
    """The matrix with a row moved along (0.6, 0.8), or along the line in one dimension."""
    found = np.array(matrix, dtype=float)
    found[row] += by * (np.array([0.6, 0.8]) if found.shape[1] == 2 else 1.0)
    return found


# -- k-means -------------------------------------------------------------------------------------

POINTS = np.array([[3.0, 4.0], [3.0, 6.0], [-6.0, -8.0]])
CENTRES = np.array([[3.0, 5.0], [-6.0, -8.0]])
LABELS = np.array([0, 0, 1])
START: Case = {"points": POINTS, "centres": CENTRES}
#: 8 (m + 8) u times the longest point (10), and the accuracy of the largest number (8).
ROUNDED, CLAIMED = 8.0 * (3 + 8) * UNIT * 10.0, ACCURACY * 8.0


@pytest.mark.parametrize("row", [0, 1])
@pytest.mark.parametrize("judge", [kmeans._stationary, kmeans._lloyd])
def test_a_centre_may_be_off_by_rounding_and_accuracy(judge: Judge, row: int) -> None:
    allowed = ROUNDED + CLAIMED
    require_edge(judge, START, lambda s: [Clustered(shifted(CENTRES, row, s * allowed), LABELS)])


def test_from_its_own_result_k_means_may_move_by_the_rounding_of_two_answers() -> None:
    allowed = 2.0 * ROUNDED + CLAIMED
    require_edge(
        kmeans._kmeans_again,
        START,
        lambda s: [
            Clustered(CENTRES, LABELS),
            Clustered(shifted(CENTRES, 1, -s * allowed), LABELS),
        ],
    )


FRAME: Case = {
    "turn": np.eye(2),
    "move": np.array([30.0, -40.0]),
    "unit": -2.0,
    "order": np.array([2, 0, 1]),
}


def test_in_another_frame_centres_may_differ_by_the_rounding_of_both_and_of_the_frames() -> None:
    """The shift has the length 50 / 2, in the units of the points."""
    names = np.array([1, 0])
    allowed = 4.0 * 8.0 * (3 + 8) * UNIT * (10.0 + 25.0) + 2.0 * CLAIMED
    changed = LABELS[FRAME["order"]]

    def answers(share: float) -> list[Clustered]:
        image = shifted(CENTRES, 0, share * allowed) * -2.0 + FRAME["move"]
        return [Clustered(CENTRES, LABELS), Clustered(image[names], names[changed])]

    require_edge(kmeans._kmeans_moved, {**START, **FRAME, "names": names}, answers)


@pytest.mark.parametrize("row", [np.array([[100.0, 0.0]]), POINTS[2:]])
def test_the_centre_of_an_empty_cluster_is_its_own_or_a_point_to_rounding_and_accuracy(
    row: np.ndarray,
) -> None:
    case = {**START, "centres": np.concatenate([CENTRES, [[100.0, 0.0]]])}
    right, allowed = np.concatenate([CENTRES, row]), ROUNDED + CLAIMED
    require_edge(
        kmeans._stationary, case, lambda s: [Clustered(shifted(right, 2, s * allowed), LABELS)]
    )


def test_the_sum_of_squares_may_grow_by_rounding_and_accuracy() -> None:
    """From the columns of a rectangle, with the sum 1, an answer has its rows, with the sum L^2."""

    def case(length: float) -> tuple[Case, float]:
        points = np.array([[0.0, 0.0], [0.0, 1.0], [length, 0.0], [length, 1.0]])
        allowed = 8.0 * (4 + 8) * UNIT * math.hypot(length, 1.0) + ACCURACY * length
        start: Case = {"points": points, "centres": np.array([[0.0, 0.5], [length, 0.5]])}
        return start, 8.0 * 4 * allowed * (1.0 + allowed)

    def tried(share: float) -> None:
        length = 1.0
        for _ in range(60):
            length = math.sqrt(1.0 + share * case(length)[1])
        rows = np.array([[length / 2, 0.0], [length / 2, 1.0]])
        answer = Clustered(rows, np.array([0, 1, 0, 1]))
        kmeans._stationary(Program([answer]), case(length)[0])

    tried(0.99)
    with pytest.raises(Violation, match="sum of squared distances"):
        tried(1.01)


def test_lloyds_path_ends_at_the_optimum_and_has_none_where_a_label_is_a_tie() -> None:
    path = kmeans.lloyd_path(POINTS, np.array([[3.0, 9.0], [0.0, -8.0]]), UNIT)
    assert path is not None
    assert path.models.tolist() == CENTRES.tolist()
    assert path.labels.tolist() == LABELS.tolist()
    tie = np.array([[0.0], [1.0], [2.0]])
    assert kmeans.lloyd_path(tie, np.array([[0.0], [2.0]]), UNIT) is None
    assert kmeans.lloyd_path(tie, np.array([[0.0], [9.0]]), UNIT) is None  # the second is empty


@pytest.mark.parametrize(("share", "decided"), [(0.98, False), (1.02, True)])
def test_lloyds_path_counts_the_rounding_of_the_means(share: float, decided: bool) -> None:
    """A point at the distances 1 - t and 1 + t from two centres: the squares differ by 4 t."""
    moved = 8.0 * (2 + 8) * UNIT * 2.0

    def excess(t: float) -> float:
        bounds = [
            8.0 * (1 + 8) * UNIT * (1.0 - t + centre) ** 2 + 4.0 * moved * (distance + moved)
            for centre, distance in ((0.0, 1.0 - t), (2.0, 1.0 + t))
        ]
        return 4.0 * t - sum(bounds)

    points = np.array([[1.0 - share * root(excess, 0.0, 0.5)], [2.0]])
    path = kmeans.lloyd_path(points, np.array([[0.0], [2.0]]), UNIT)
    assert (path is not None) == decided


# -- assignment ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("share", "tied"), [(0.98, True), (1.02, False)])
def test_a_label_in_another_frame_may_change_only_where_rounding_decides(
    share: float, tied: bool
) -> None:
    """One point between two centres.  The frame's shift of 50 units is 25 of the point's."""

    def excess(t: float) -> float:
        sizes = (1.0 - t + 0.0 + 50.0, 1.0 - t + 2.0 + 50.0)
        bounds = sum(8.0 * (1 + 8) * UNIT * size**2 for size in sizes)
        return (1.0 + t) ** 2 - (1.0 - t) ** 2 - bounds

    case: Case = {
        "points": np.array([[1.0 - share * root(excess, 0.0, 0.5)]]),
        "centres": np.array([[0.0], [2.0]]),
        "turn": np.eye(1),
        "move": np.array([50.0]),
        "unit": -2.0,
        "order": np.array([0]),
        "names": np.array([0, 1]),
    }
    answers = [np.array([0]), np.array([1])]
    if tied:
        assignment._assigned_moved(Program(answers), case)
    else:
        with pytest.raises(Violation):
            assignment._assigned_moved(Program(answers), case)


# -- convex clustering ---------------------------------------------------------------------------

PAIR = np.array([[3.0, 4.0], [0.0, 0.0]])
PENALTY = 0.5


def gap_allowed(points: np.ndarray, penalty: float, shift: float = 0.0) -> float:
    """Of points of which the first is the longest."""
    m, size = len(points), math.hypot(*points[0]) + shift
    mean = points.mean(axis=0)
    squares = 0.5 * sum(float((p - mean) @ (p - mean)) for p in points)
    noise = 64.0 * m * UNIT * size
    rounded = noise * (noise + math.sqrt(2.0 * squares))
    return ACCURACY * squares + rounded + 64.0 * m * UNIT * penalty * m * m * size


def test_the_objective_is_half_the_squares_and_the_penalty_of_every_pair() -> None:
    points = np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
    answer = np.array([[0.0, 1.0], [3.0, 4.0], [6.0, 6.0]])
    pairs = math.hypot(3, 3) + math.hypot(6, 5) + math.hypot(3, 2)
    found = convex_clustering.convex_objective(points, answer, 0.5)
    assert found == pytest.approx(0.5 * (1.0 + 4.0) + 0.5 * pairs, rel=1e-14)


def test_what_an_objective_may_be_too_large_by() -> None:
    found = convex_clustering._gap_allowed(Program([]), PAIR, PENALTY, 1.25)
    assert found == pytest.approx(gap_allowed(PAIR, PENALTY, 1.25), rel=1e-13)


def test_the_objective_may_exceed_the_optimum_by_the_allowance() -> None:
    """Two points at distance 5 are drawn together by 0.5 each: moving one costs t^2/2."""
    pull = PENALTY / 5.0 * (PAIR[0] - PAIR[1])
    best = np.array([PAIR[0] - pull, PAIR[1] + pull])
    across = np.array([-0.8, 0.6])  # the distance grows by second order only
    optimum = convex_clustering.convex_objective(PAIR, best, PENALTY)

    def answers(share: float) -> list[np.ndarray]:
        wanted = optimum + share * gap_allowed(PAIR, PENALTY)

        def moved(by: float) -> np.ndarray:
            return best + by * np.outer([1.0, -1.0], across)

        def excess(by: float) -> float:
            return convex_clustering.convex_objective(PAIR, moved(by), PENALTY) - wanted

        return [moved(root(excess, 0.0, 1.0))]

    require_edge(convex_clustering._optimal, {"points": PAIR, "penalty": PENALTY}, answers)


def test_minimisers_in_two_frames_may_differ_by_the_roots_of_both_allowances() -> None:
    case = {
        "points": PAIR,
        "penalty": PENALTY,
        **FRAME,
        "order": np.array([1, 0]),
        "unit": -2.0,
    }
    allowed = 2.0 * math.sqrt(2.0 * gap_allowed(PAIR, PENALTY, 25.0))

    def answers(share: float) -> list[np.ndarray]:
        image = shifted(PAIR, 0, share * allowed) * -2.0 + FRAME["move"]
        return [PAIR, image[case["order"]]]

    require_edge(convex_clustering._convex_moved, case, answers)


@pytest.mark.parametrize("mean", [False, True])
def test_a_minimiser_at_an_end_of_the_penalties_is_known(mean: bool) -> None:
    penalty = 3.0 if mean else 0.0
    judge = convex_clustering._same_minimiser(lambda _case: penalty, mean=mean)
    right = np.array([[1.5, 2.0]] * 2) if mean else PAIR
    allowed = math.sqrt(2.0 * gap_allowed(PAIR, penalty))
    require_edge(judge, {"points": PAIR}, lambda s: [shifted(right, 0, s * allowed)])


def test_the_penalty_that_fuses_all_is_four_times_the_spread() -> None:
    """For a pair half the distance is enough, for many points their number is in the pairs."""
    assert convex_clustering._fusing({"points": PAIR}) == pytest.approx(4.0 * 2.5, rel=1e-14)


def test_the_mean_of_a_minimiser_is_as_exact_as_a_row_over_the_root_of_their_number() -> None:
    allowed = math.sqrt(2.0 * gap_allowed(PAIR, PENALTY) / 2)
    moved = np.array([0.6, 0.8])
    require_edge(
        convex_clustering._keeps_mean,
        {"points": PAIR, "penalty": PENALTY},
        lambda s: [PAIR + s * allowed * moved],
    )


# -- one-shot clustering -------------------------------------------------------------------------

#: Estimates 3, 5 and -20, from two rows each.  The least singular value of a client is root 2 or 3.
ONE = Clients(
    (
        (np.ones((2, 1)), np.full(2, 3.0)),
        (np.ones((2, 1)), np.full(2, 5.0)),
        (np.ones((3, 1)), np.full(3, -20.0)),
    )
)
MODELS = np.array([[4.0], [-20.0]])
#: 16 times 8 (N + 2 d + m + 8) u |y| / |x| at its largest, which is 20.
ESTIMATED = 16.0 * 8.0 * (7 + 2 + 3 + 8) * UNIT * 20.0
SHOT: Case = {"clients": ONE, "k": 2, "seed": 7, "order": np.array([2, 0, 1])}


@pytest.mark.parametrize("row", [0, 1])
def test_a_model_may_be_off_by_the_rounding_of_estimates_and_the_accuracy(row: int) -> None:
    allowed = ESTIMATED + ACCURACY * 20.0
    require_edge(
        one_shot._means_of_estimates,
        SHOT,
        lambda s: [Clustered(shifted(MODELS, row, s * allowed), LABELS)],
    )


def test_in_another_order_models_may_differ_by_two_roundings_and_the_accuracy() -> None:
    allowed = 2.0 * ESTIMATED + ACCURACY * 20.0
    changed = LABELS[SHOT["order"]]
    require_edge(
        one_shot._one_shot_order,
        SHOT,
        lambda s: [Clustered(MODELS, LABELS), Clustered(shifted(MODELS, 0, s * allowed), changed)],
    )


def test_with_responses_four_times_as_large_a_quarter_of_the_models_is_compared() -> None:
    allowed = 2.0 * ESTIMATED + ACCURACY * 20.0
    require_edge(
        one_shot._one_shot_scale,
        SHOT,
        lambda s: [
            Clustered(MODELS, LABELS),
            Clustered(4.0 * shifted(MODELS, 0, s * allowed), LABELS),
        ],
    )


@pytest.mark.parametrize(("share", "tied"), [(0.98, True), (1.02, False)])
def test_a_label_may_be_wrong_only_where_the_estimates_rounding_decides(
    share: float, tied: bool
) -> None:
    """Estimates 0, 2 - g and 4, of which the second has the label of the third.

    Its squared distances are (2 - g)^2 / 4 and (2 + g)^2 / 4 then, if the models are the means.
    """
    size = 4.0  # the largest length of responses over the least singular value
    allowed = 16.0 * 8.0 * (6 + 2 + 3 + 8) * UNIT * size + ACCURACY * size

    def answer(g: float) -> tuple[Clients, Clustered]:
        estimates = (0.0, 2.0 - g, 4.0)
        clients = Clients(tuple((np.ones((2, 1)), np.full(2, e)) for e in estimates))
        models = np.array([[0.0], [(6.0 - g) / 2]])
        return clients, Clustered(models, np.array([0, 1, 1]))

    def excess(g: float) -> float:
        point, models = 2.0 - g, (0.0, (6.0 - g) / 2)
        values = [(point - c) ** 2 for c in models]
        bounds = [
            8.0 * (1 + 8) * UNIT * (point + c) ** 2 + 4.0 * allowed * (abs(point - c) + allowed)
            for c in models
        ]
        return values[1] - values[0] - sum(bounds)

    tie = 2.0 / 3.0  # where both distances are equal
    edge = root(excess, 0.0, 1.9)
    clients, found = answer(tie + share * (edge - tie))
    case: Case = {"clients": clients, "k": 2, "seed": 7}
    if tied:
        one_shot._means_of_estimates(Program([found]), case)
    else:
        with pytest.raises(Violation, match="would go on"):
            one_shot._means_of_estimates(Program([found]), case)


def test_the_law_of_seeds_by_hand() -> None:
    """Points 0, 2 and 5, two seeds: the second is drawn by its squared distance from the first.

    From 0 and 2 the centres become 0 and 3.5, from 0 and 5 or 2 and 5 they become 1 and 5.
    """
    law = one_shot.seeding_law(np.array([0.0, 2.0, 5.0]), 2)
    low = (4 / 29 + 4 / 13) / 3
    assert law == pytest.approx({(0.0, 3.5): low, (1.0, 5.0): 1.0 - low})


# -- orthogonal iteration ------------------------------------------------------------------------


def test_the_rounding_of_a_span_by_hand() -> None:
    """A diagonal matrix 6 by 2 (of rows 3 and 4 times 2 and 1, over m = 2) keeps 9 of e1."""
    first, second = np.diag([3.0, 4.0]), np.diag([2.0, 1.0])
    case: Case = {"first": first, "second": second, "start": np.eye(2)[:, :1], "n_steps": 2}
    count = 16.0 * (2 + 2 * 2 + 8) * 2.0**-40
    size = (3.0 * 2.0 + 4.0 * 1.0) / 2
    length, kept = 3.0, 9.0
    error = count
    for _ in range(2):
        error = (size**2 * count + length**2 * error) * 4.0 / kept
    assert orthogonal_iteration.subspace_error(case, 2.0**-40) == pytest.approx(error, rel=1e-12)
    assert orthogonal_iteration.subspace_error({**case, "n_steps": 0}, 2.0**-40) == count


def test_a_span_that_a_step_loses_or_that_rounding_moves_far_has_no_bound() -> None:
    lost: Case = {
        "first": np.diag([1.0, 0.0]),
        "second": np.eye(2),
        "start": np.eye(2)[:, 1:],
        "n_steps": 1,
    }
    assert orthogonal_iteration.subspace_error(lost, 2.0**-53) == math.inf
    kept = {**lost, "start": np.eye(2)[:, :1]}
    # one step: the matrix is diag(1/2, 0), and the rows have the sizes 1 and 0
    count = 16.0 * (2 + 4 + 8)
    factor = (0.25 * count + 0.25 * count) * 4.0 / 0.25
    for edge, finite in ((0.99e-3, True), (1.01e-3, False)):
        error = orthogonal_iteration.subspace_error(kept, edge / factor)
        assert math.isfinite(error) == finite


def test_two_spans_may_be_apart_by_twice_the_rounding_and_the_accuracy() -> None:
    case: Case = {"first": np.eye(2), "second": np.eye(2), "start": np.eye(2)[:, :1], "n_steps": 0}
    sine = 2.0 * 16.0 * (2 + 4 + 8) * UNIT + ACCURACY

    def judge(call: Program, case: Case) -> None:
        orthogonal_iteration._same_span(call, case, call(case), np.eye(2)[:, :1], "it")

    require_edge(
        judge,
        case,
        lambda s: [np.array([[math.sqrt(1.0 - (s * sine) ** 2)], [s * sine]])],
    )


def test_columns_are_orthonormal_to_rounding() -> None:
    """A column of length 1 + t has the product 1 + 2 t + t^2 with itself."""
    allowed = 64.0 * (3 + 8) * UNIT

    def judge(call: Program, case: Case) -> None:
        orthogonal_iteration._require_orthonormal(call, call(case))

    require_edge(judge, {}, lambda s: [np.eye(3)[:, :2] * [1.0, math.sqrt(1.0 + s * allowed)]])


# -- local work ----------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", [2.0**-53, UNIT])
def test_what_is_left_after_much_local_work_is_allowed(unit: float) -> None:
    """Orthogonal columns of length root n: the estimates are X'y/n, here 3 and -1."""
    clients = Clients(
        (
            (np.ones((1, 1)), np.array([3.0])),
            (np.ones((3, 1)), np.array([-1.0, -2.0, 0.0])),
        )
    )
    case: Case = {"models": np.array([[4.0]]), "clients": clients}
    size = math.sqrt(9.0 + 1.0) + 4.0
    left = 4.0 * (2.0**-30 if unit < UNIT else 2.0**7 * UNIT)
    allowed = (left + ACCURACY) * (1.0 + size)
    mean = 3.0 / 4 - 3.0 / 4

    def answers(share: float) -> list[Clustered]:
        return [Clustered(np.array([[mean + share * allowed]]), np.zeros(2, dtype=int))]

    def judge(call: Program, case: Case) -> None:
        call.unit = unit  # type: ignore[misc]
        call.accuracy = ACCURACY  # type: ignore[misc]
        fedx._local_limit(call, case)  # type: ignore[arg-type]

    require_edge(judge, case, answers)

"""Hyperparameter selection: the recovery condition, clusterpath, elbow, silhouette.

An exact solver in one dimension replaces convex clustering.  With uniform weights and sorted points
the penalty is linear on the ordered cone, sum_{i<j} (u_j - u_i) = sum_i (2i - m - 1) u_i, so the
minimiser is the isotonic regression of a_i - lam (2i - m - 1), and its blocks are the fused
clusters.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression
from sklearn.metrics import silhouette_score

from trials.checks import InvalidParameter
from trials.clustering.convex import convex_clustering, convex_clustering_path
from trials.clustering.kmeans import kmeans_pp
from trials.clustering.selection import (
    RecoveryInterval,
    choose_k,
    clusterpath,
    clusterpath_grid,
    convex_partition,
    elbow,
    interval_lambda,
    recovery_interval,
    silhouette,
)

FEW = settings(deadline=None, max_examples=40)


def line_partition(points, lam):
    """Exact fused partition of points in R^1 (see the module docstring)."""
    a = points[:, 0]
    order = np.argsort(a, kind="stable")
    m = len(a)
    tilted = a[order] - lam * (2 * np.arange(1, m + 1) - m - 1)
    blocks = isotonic_regression(tilted).blocks
    labels = np.empty(m, dtype=np.int64)
    for k in range(len(blocks) - 1):
        labels[order[blocks[k] : blocks[k + 1]]] = k
    return labels


def same_partition(first, second):
    pairs = set(zip(first.tolist(), second.tolist(), strict=True))
    return len(pairs) == len(set(first.tolist())) == len(set(second.tolist()))


def interval_twin(points, labels):
    groups = [points[labels == k] for k in np.unique(labels)]
    m = len(points)
    lower = max(np.linalg.norm(a - b) / len(g) for g in groups for a in g for b in g)
    upper = min(
        (
            np.linalg.norm(g.mean(axis=0) - h.mean(axis=0)) / (2 * m - len(g) - len(h))
            for i, g in enumerate(groups)
            for h in groups[:i]
        ),
        default=np.inf,
    )
    return lower, upper


# ---------------------------------------------------------------------------- recovery condition


@pytest.mark.interpreted
@FEW
@given(seed=st.integers(0, 10**6), k=st.integers(1, 5))
def test_the_interval_equals_its_twin_and_moves_with_the_data(seed, k):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((2, 12, 3))
    labels = rng.integers(k, size=(2, 12))
    interval = recovery_interval(points, labels)
    for b in range(2):
        lower, upper = interval_twin(points[b], labels[b])
        np.testing.assert_allclose(interval.lower[b], lower, rtol=1e-12)
        np.testing.assert_allclose(interval.upper[b], upper, rtol=1e-12)
    rotation = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    moved = recovery_interval(1e-12 * (points @ rotation + 3.0), labels)
    np.testing.assert_allclose(moved.lower, 1e-12 * interval.lower, rtol=1e-10)
    np.testing.assert_allclose(moved.upper, 1e-12 * interval.upper, rtol=1e-10)


@pytest.mark.parametrize("d", [1, 2, 40])
def test_the_ends_of_larger_clusters_are_those_of_all_pairs(d):
    """In few dimensions most points are left out, far from the origin too, and equal ones stay."""
    rng = np.random.default_rng(d)
    points = 100.0 + rng.standard_normal((3, 90, d))
    points[1, 50:] = points[1, 0]
    labels = rng.integers(2, size=(3, 90))
    interval = recovery_interval(points, labels)
    for b in range(3):
        lower, upper = interval_twin(points[b], labels[b])
        np.testing.assert_allclose(interval.lower[b], lower, rtol=1e-12)
        np.testing.assert_allclose(interval.upper[b], upper, rtol=1e-10)


@FEW
# the ends are sharp (a pair fuses exactly at the lower one), so rounding needs a hair of room
@given(seed=st.integers(0, 10**6), k=st.integers(2, 4), share=st.floats(1e-9, 0.999))
def test_a_penalty_in_the_interval_recovers_the_partition_on_the_line(seed, k, share):
    rng = np.random.default_rng(seed)
    truth = np.sort(np.concatenate([np.arange(k), rng.integers(k, size=9)]))
    points = (25.0 * truth + rng.uniform(size=len(truth)) * rng.uniform(0.1, 4.0))[:, None]
    interval = recovery_interval(points[None], truth[None])
    low, high = interval.lower[0], interval.upper[0]
    assume(low < high)
    lam = low + share * (high - low)
    assert interval.holds(lam)[0]
    assert same_partition(line_partition(points, lam), truth)


def test_the_lower_end_printed_in_footnote_3_is_half_of_what_recovery_needs():
    """Footnote 3: max |a_i - mu_k| / |C_(K)|.  The proof of Lemma 1 has a factor 2 more.

    Clusters {-1, 1} and {9, 11}: each pair fuses at lam = 1 = lower end of (13), and the footnote's
    interval [1/2, 10/4) starts at one half.
    """
    points = np.array([[-1.0], [1.0], [9.0], [11.0]])
    truth = np.array([0, 0, 1, 1])
    interval = recovery_interval(points[None], truth[None])
    assert interval.lower[0] == 1.0
    assert interval.upper[0] == 10 / 4
    assert not same_partition(line_partition(points, 0.75), truth)
    assert same_partition(line_partition(points, 1.0), truth)


def test_singletons_and_one_cluster_meet_the_condition_trivially():
    points = np.array([[[0.0], [1.0], [5.0]]])
    apart = recovery_interval(points, np.array([[0, 1, 2]]))
    assert (apart.lower[0], apart.upper[0]) == (0.0, 1.0 / 4)
    fused = recovery_interval(points, np.array([[0, 0, 0]]))
    assert (fused.lower[0], fused.upper[0]) == (5.0 / 3, np.inf)


def test_the_rule_of_d1_draws_inside_the_interval_or_takes_its_upper_end():
    points = np.array([[[0.0], [1.0], [50.0], [51.0]], [[0.0], [30.0], [40.0], [70.0]]])
    labels = np.array([[0, 0, 1, 1], [0, 0, 1, 1]])
    lam, interval = interval_lambda(points, labels, np.random.default_rng(1))
    u = np.random.default_rng(1).uniform(size=2)
    assert interval.lower[1] >= interval.upper[1]
    np.testing.assert_allclose(lam[0], 0.5 + u[0] * (12.5 - 0.5))
    assert lam[1] == interval.upper[1] == 10.0
    with pytest.raises(InvalidParameter, match=r"labels\[0\] must hold at least two clusters"):
        interval_lambda(points, np.zeros((2, 4), dtype=int), np.random.default_rng(1))
    with pytest.raises(InvalidParameter, match=r"rng=0 must be a numpy.random.Generator"):
        interval_lambda(points, labels, 0)
    with pytest.raises(InvalidParameter, match=r"labels\[1\] must hold at least two clusters"):
        interval_lambda(points, [[0, 0, 1, 1], [0, 0, 0, 0]], np.random.default_rng(1))


# ------------------------------------------------------------------------------------ clusterpath


def two_groups():
    rng = np.random.default_rng(2)
    return np.concatenate([rng.uniform(size=8), 20 + rng.uniform(size=8)])[:, None]


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_the_grid_runs_from_all_apart_to_all_together(scale):
    points = scale * two_groups()
    grid = clusterpath_grid(points, line_partition)
    assert grid.shape == (10,)
    np.testing.assert_allclose(np.diff(grid), (grid[-1] - grid[0]) / 9, rtol=1e-9)
    assert np.unique(line_partition(points, grid[0])).size == 16
    assert np.unique(line_partition(points, grid[-1])).size == 1
    # both ends are the first rungs of the ladder 0.1 * 1.25^j that qualify
    for end, ratio, wanted in ((grid[0], 1.25, 16), (grid[-1], 0.8, 1)):
        rung = np.log(end / 0.1) / np.log(1.25)
        assert abs(rung - round(rung)) < 1e-6
        before = end * ratio
        stepped = (before <= 0.1) if ratio > 1 else (before >= 0.1)
        assert not stepped or np.unique(line_partition(points, before)).size != wanted


def test_duplicates_bracket_at_the_number_of_distinct_points():
    points = np.array([[0.0], [0.0], [3.0], [7.0]])
    grid = clusterpath_grid(points, line_partition, n_values=4)
    assert np.unique(line_partition(points, grid[0])).size == 3
    same = clusterpath_grid(np.ones((3, 1)), line_partition, n_values=3)
    assert np.all(np.diff(same) > 0)


def test_a_partition_that_never_fuses_is_refused():
    with pytest.raises(InvalidParameter, match="must lead to 1 clusters"):
        clusterpath_grid(two_groups(), lambda points, lam: np.arange(len(points)))


@pytest.mark.parametrize("shape", [(-1, 1), (1, -1)])
def test_labels_are_one_a_point_and_no_row_or_column(shape):
    with pytest.raises(InvalidParameter, match=r"partition must return \(\d+,\) labels, not"):
        clusterpath_grid(two_groups(), lambda points, _lam: np.zeros(len(points)).reshape(shape))


def test_clusterpath_finds_two_groups_and_checks_the_condition_a_posteriori():
    points = two_groups()
    choice = clusterpath(points, clusterpath_grid(points, line_partition), line_partition)
    assert choice.verified
    assert choice.k == 2
    assert same_partition(choice.labels, np.repeat([0, 1], 8))
    assert choice.holds[choice.lambdas == choice.lam].all()
    for lam, k, holds in zip(choice.lambdas, choice.k_path, choice.holds, strict=True):
        labels = line_partition(points, lam)
        lower, upper = interval_twin(points, labels)
        assert (lower <= lam < upper) == holds
        assert np.unique(labels).size == k


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_convex_clustering_gives_the_exact_path_on_the_line(scale):
    points = scale * two_groups()[::-1]
    grid = clusterpath_grid(points, line_partition, n_values=25, start=0.1 * scale)
    for lam in grid:
        assert same_partition(convex_partition(points, lam), line_partition(points, lam))


@pytest.mark.parametrize("seed", range(6))
def test_labels_alone_are_those_of_the_certified_solution(seed):
    """Before and after each event of the path of points of which two coincide."""
    rng = np.random.default_rng(400 + seed)
    truth = np.sort(rng.integers(3, size=12))
    points = 8.0 * truth[:, None] * np.eye(3)[0] + rng.standard_normal((12, 3))
    points[1] = points[0]
    found = set()
    events = convex_clustering_path(points).breakpoints[1:]
    for penalty in [0.0, *(events * (1 - 1e-5)), *(events * (1 + 1e-5))]:
        solved = convex_clustering(points, penalty)
        labels = convex_partition(points, penalty)
        assert solved.certified
        assert labels.tolist() == solved.labels.tolist()
        found.add(solved.n_clusters)
    assert {1, 11} < found


@pytest.mark.parametrize("side", [-1, 1])
def test_points_at_distance_one_from_each_other_fuse_at_one_over_their_number(side):
    """The distance alone proves two of them apart up to there, and four up to 1/6."""
    pair, corners = np.array([[0.0], [1.0]]), np.eye(4) / np.sqrt(2.0)
    for points, fuses in ((pair, 0.5), (corners, 0.25)):
        labels = convex_partition(points, fuses * (1 + side * 1e-6))
        assert np.unique(labels).size == (1 if side > 0 else len(points))


def test_clusterpath_with_convex_clustering_recovers_the_papers_kind_of_mixture():
    rng = np.random.default_rng(6)
    truth = np.repeat(np.arange(4), 6)
    means = rng.uniform(size=(4, 5)) + np.array([0.0, 10.0, -10.0, -20.0])[:, None]
    points = means[truth] + 0.1 * rng.standard_normal((24, 5))
    grid = clusterpath_grid(points, convex_partition)
    choice = clusterpath(points, grid, convex_partition)
    assert choice.verified
    assert choice.k_path[0] == 24
    assert choice.k_path[-1] == 1
    assert np.all(np.diff(choice.k_path) <= 0)
    assert choice.k == 4
    assert same_partition(choice.labels, truth)
    lam, interval = interval_lambda(points[None], truth[None], rng)
    assert interval.lower[0] < interval.upper[0]
    assert same_partition(convex_partition(points, lam[0]), truth)


def scripted(script):
    """A partition by table, to reach every branch of the rule."""
    return lambda points, lam: np.array(script[lam])


def test_the_two_readings_of_step_2a_differ():
    # (13) holds at 3.0 and 4.0 alone (one cluster, lam >= 9 / 4).  Two clusters are more frequent
    points = np.array([[0.0], [1.0], [8.0], [9.0]])
    script = {0.1: [0, 0, 1, 2], 0.2: [0, 1, 1, 1], 0.3: [0, 1, 1, 1], 0.4: [0, 1, 1, 1]}
    script |= {3.0: [0, 0, 0, 0], 4.0: [0, 0, 0, 0]}
    lambdas = list(script)
    verified = clusterpath(points, lambdas, scripted(script))
    assert verified.holds.tolist() == [False] * 4 + [True] * 2
    assert (verified.k, verified.lam, verified.verified) == (1, 3.0, True)
    printed = clusterpath(points, lambdas, scripted(script), reading="as-printed")
    assert (printed.k, printed.lam, printed.verified) == (2, 0.2, True)


def test_without_any_verified_penalty_the_most_frequent_number_wins_and_ties_go_down():
    points = np.array([[0.0], [1.0], [8.0], [9.0]])
    script = {0.1: [0, 0, 1, 2], 0.2: [0, 0, 1, 2], 0.3: [0, 1, 1, 1], 0.4: [0, 1, 1, 1]}
    choice = clusterpath(points, list(script), scripted(script))
    assert not choice.verified
    assert (choice.k, choice.lam) == (2, 0.3)
    np.testing.assert_array_equal(choice.labels, [0, 1, 1, 1])


@pytest.mark.parametrize("lambdas", [[0.2, 0.1], [-0.1, 0.1], [0.1, 0.1], [np.nan, 1.0], []])
def test_bad_grids_are_refused(lambdas):
    with pytest.raises(InvalidParameter, match="lambdas"):
        clusterpath(two_groups(), lambdas, line_partition)


# ----------------------------------------------------------------------------- elbow, silhouette


def test_elbow_takes_the_first_small_saving():
    costs = np.array([[100.0, 40.0, 10.0, 9.5, 0.0], [8.0, 6.0, 4.0, 2.0, 0.0]])
    np.testing.assert_array_equal(elbow(costs, 1.0), [3, 5])
    np.testing.assert_array_equal(elbow(costs, 2.0), [3, 5])  # "less than", not "at most"
    np.testing.assert_array_equal(elbow(costs, 2.1), [3, 1])
    np.testing.assert_array_equal(elbow(costs / costs[:, :1], 0.26), [3, 1])
    np.testing.assert_array_equal(elbow(costs[:, :1], 1.0), [1, 1])


@FEW
@given(seed=st.integers(0, 10**6), k=st.integers(2, 6))
def test_silhouette_equals_scikit_learn_and_is_invariant(seed, k):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((2, 15, 3))
    labels = np.stack([rng.permutation(np.arange(15) % k) for _ in range(2)])
    labels[0, labels[0] == 1] = 0  # a gap in the labels, and unequal sizes
    labels[0, 0] = k
    labels[1, 3] = k
    ours = silhouette(points, labels)
    for b in range(2):
        np.testing.assert_allclose(ours[b], silhouette_score(points[b], labels[b]), atol=1e-10)
    rotation = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    order = rng.permutation(15)
    moved = silhouette(1e12 * (points @ rotation - 7.0)[:, order], labels[:, order])
    np.testing.assert_allclose(moved, ours, atol=1e-10)


@pytest.mark.interpreted
def test_silhouette_of_singletons_duplicates_and_perfect_clusters():
    points = np.array([[[0.0], [1.0], [5.0]]])
    assert silhouette(points, np.array([[0, 1, 2]]))[0] == 0.0
    pairs = np.array([[[0.0], [0.0], [5.0], [5.0]]])
    assert silhouette(pairs, np.array([[0, 0, 1, 1]]))[0] == 1.0
    assert silhouette(np.ones((1, 4, 2)), np.array([[0, 0, 1, 1]]))[0] == 0.0
    with pytest.raises(InvalidParameter, match="at least two clusters"):
        silhouette(points, np.array([[1, 1, 1]]))
    with pytest.raises(InvalidParameter, match="labels in"):
        silhouette(points, np.array([[-1, 0, 1]]))
    with pytest.raises(InvalidParameter, match=r"labels.shape="):
        silhouette(points, np.array([[0.0, 1.0, 2.0]]))


def test_choose_k_finds_four_clouds_by_both_metrics():
    rng = np.random.default_rng(3)
    truth = np.repeat(np.arange(4), 10)
    points = 30 * np.eye(4, 6)[truth] + rng.standard_normal((5, 40, 6))
    by_score = choose_k(points, 8, np.random.default_rng(4), n_init=5)
    np.testing.assert_array_equal(by_score.k, 4)
    for b in range(5):
        assert same_partition(by_score.labels[b], truth)
        score = silhouette_score(points[b], by_score.labels[b])
        np.testing.assert_allclose(by_score.score[b, 3], score, atol=1e-10)
    assert np.isnan(by_score.score[:, 0]).all()
    np.testing.assert_array_equal(elbow(by_score.inertia, 500.0), 4)
    rng = np.random.default_rng(4)
    for k in range(1, 9):
        fit = kmeans_pp(points, k, rng, n_init=5)
        np.testing.assert_array_equal(by_score.inertia[:, k - 1], fit.inertia)


def test_of_equal_scores_the_smaller_number_is_chosen():
    """Three places, twice each: from k = 3 on the clusters are the places, and score 1."""
    points = np.repeat([[0.0], [5.0], [20.0]], 2, axis=0)
    choice = choose_k(points[None], 6, np.random.default_rng(0), n_init=5)
    assert choice.score[0, 2:].tolist() == [1.0] * 4
    assert choice.k.tolist() == [3]
    assert len(set(choice.labels[0].tolist())) == 3


def test_choose_k_refuses_what_it_cannot_decide():
    rng = np.random.default_rng(5)
    with pytest.raises(InvalidParameter, match=r"points\[0\] must not all coincide"):
        choose_k(np.ones((1, 4, 2)), 3, rng)
    with pytest.raises(InvalidParameter, match="k_max=5"):
        choose_k(np.zeros((1, 4, 2)), 5, rng)


@pytest.mark.parametrize("label", [0, 2, 4])
def test_one_cluster_has_no_silhouette_whatever_its_number(label):
    points = np.random.default_rng(0).standard_normal((2, 5, 2))
    labels = np.full((2, 5), label)
    labels[1, 0] = 1
    with pytest.raises(InvalidParameter, match="must hold at least two clusters"):
        silhouette(points, labels)
    assert np.isfinite(silhouette(points[1:], labels[1:])).all()


def test_the_lower_end_of_an_interval_belongs_to_it_and_the_upper_one_does_not():
    """At the upper end the two clusters meet.  Both ends are exact numbers here."""
    points = np.array([[0.0], [1.0], [10.0], [11.0]])
    labels = np.array([[0, 0, 1, 1], [0, 1, 2, 3], [0, 0, 0, 0]])
    interval = recovery_interval(np.stack([points] * 3), labels)
    assert interval.lower.tolist() == [0.5, 0.0, 11 / 4]
    assert interval.upper.tolist() == [2.5, 1 / 6, math.inf]
    for lam, expected in (
        (0.0, [False, True, False]),
        (np.nextafter(0.5, 0.0), [False, False, False]),
        (0.5, [True, False, False]),
        (np.nextafter(2.5, 0.0), [True, False, False]),
        (2.5, [False, False, False]),
        (2.75, [False, False, True]),
    ):
        assert interval.holds(lam).tolist() == expected, lam
    assert interval.holds(interval.lower).tolist() == [True] * 3
    assert interval.holds(interval.upper).tolist() == [False] * 3
    assert RecoveryInterval(lower=np.array([2.0]), upper=np.array([2.0])).holds(2.0).tolist() == [
        False
    ]


def test_the_rule_of_d1_takes_the_upper_end_of_an_interval_of_one_point():
    """Such an interval is empty.  The widths are 1/2, and the means lie four times as far apart."""
    points = np.array([[[0.0], [1.0], [2.5], [3.5]]])  # (13): 1/2 <= lambda < 2.5/4
    closer = np.array([[[0.0], [1.0], [2.0], [3.0]]])  # 1/2 <= lambda < 1/2
    lam, interval = interval_lambda(closer, [[0, 0, 1, 1]], np.random.default_rng(0))
    assert (interval.lower[0], interval.upper[0], lam[0]) == (0.5, 0.5, 0.5)
    assert not interval.holds(lam)[0]
    lam, interval = interval_lambda(points, [[0, 0, 1, 1]], np.random.default_rng(0))
    assert (interval.lower[0], interval.upper[0]) == (0.5, 0.625)
    assert interval.holds(lam)[0]


#: Lengths of tiny sets beside a point at 1: their squares vanish, or lose digits.
TINY = [2.0**-400, 3e-156, 1.3e-161, 2.0**-700]


@pytest.mark.parametrize("unit", TINY)
def test_a_tiny_cluster_beside_a_large_distance_has_its_own_diameter(unit):
    """Condition (13) held at penalty 0 for points that differ: their distance was rounded to 0."""
    points = np.array([[3.0, 1.0], [0.0, 0.0], [1.0, 5.0], [4.0, 2.0]]) * unit
    points = np.concatenate([points, [[1.0, 1.0]]])
    found = recovery_interval(points[None], [[0, 0, 0, 0, 1]])
    widest = max(math.dist(a, b) for a in points[:4] for b in points[:4])
    assert found.lower[0] == pytest.approx(widest / 4, rel=1e-14, abs=0.0)
    assert not found.holds(0.0)
    alone = recovery_interval(points[None], [[0, 1, 2, 3, 4]])
    closest = min(math.dist(points[i], points[j]) for i in range(5) for j in range(i))
    assert alone.upper[0] == pytest.approx(closest / 8, rel=1e-14, abs=0.0)
    assert alone.holds(0.0)
    assert convex_partition(points, 0.0).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("unit", TINY)
def test_the_silhouette_of_tiny_clusters_beside_a_large_distance_is_that_of_their_shape(unit):
    points = [[0.0, 0.0], [unit, 0.0], [3.0 * unit, unit], [4.0 * unit, 0.0], [1.0, 1.0]]
    labels = [0, 0, 1, 1, 2]
    total = 0.0
    for i in range(4):
        far = [math.dist(points[i], points[j]) for j in range(4)]
        a = sum(far[j] for j in range(4) if labels[j] == labels[i])
        b = sum(far[j] for j in range(4) if labels[j] != labels[i]) / 2
        total += (b - a) / max(a, b)
    assert silhouette([points], [labels])[0] == pytest.approx(total / 5, rel=1e-14)


def test_a_penalty_that_is_drawn_lies_below_the_upper_end_of_the_narrowest_interval():
    """Between neighbouring floats half of the draws were the upper end, which (13) leaves out."""
    points = [[[0.0], [2.0], [4.0 + 2.0**-50]]]
    for seed in range(20):
        lam, interval = interval_lambda(points, [[0, 0, 1]], np.random.default_rng(seed))
        assert np.nextafter(interval.lower[0], 2.0) == interval.upper[0]
        assert interval.holds(lam).all()


def test_a_choice_keeps_its_penalties_when_the_callers_array_changes():
    points, grid = two_groups(), np.array([0.01, 0.5, 2.0])
    choice = clusterpath(points, grid, line_partition)
    grid[:] = 0.0
    assert choice.lambdas.tolist() == [0.01, 0.5, 2.0]

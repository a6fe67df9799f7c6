"""The window of penalties that recover a clustering, against exact arithmetic and single solves."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from trials.checks import InvalidParameter
from trials.clustering import recovery
from trials.clustering.convex import convex_clustering
from trials.clustering.convex.path import Merge
from trials.clustering.recovery import fusion, last_fusion, recovery_window, stay_apart


def fuses_at(values, masses):
    """The penalty from which points on a line are one: their worst split, in rational numbers.

    On a line a set is one exactly when no cut pulls its halves apart: for every cut the distance of
    the two means is at most the penalty times the mass of the set.
    """
    order = sorted(range(len(values)), key=lambda i: values[i])
    x = [Fraction(values[i]) for i in order]
    w = [Fraction(int(masses[i])) for i in order]
    total = sum(w)
    worst = Fraction(0)
    for cut in range(1, len(x)):
        left, right = sum(w[:cut]), sum(w[cut:])
        mean_left = sum(a * b for a, b in zip(x[:cut], w[:cut], strict=True)) / left
        mean_right = sum(a * b for a, b in zip(x[cut:], w[cut:], strict=True)) / right
        worst = max(worst, (mean_right - mean_left) / total)
    return worst


def merges_at(means, masses):
    """The smallest penalty at which neighbouring means are one."""
    order = sorted(range(len(means)), key=lambda i: means[i])
    return min(
        fuses_at([means[i] for i in order[a:b]], [masses[i] for i in order[a:b]])
        for a in range(len(order))
        for b in range(a + 2, len(order) + 1)
    )


@pytest.mark.parametrize("seed", range(12))
def test_on_a_line_the_window_is_that_of_rational_arithmetic(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 5))
    labels = np.sort(np.concatenate([np.arange(k), rng.integers(0, k, 6)]))
    # Eighths with a power of two of points each would be exact.  Here means are floats
    points = np.round(8 * (3.0 * labels + rng.standard_normal(labels.size))) / 8
    found = recovery_window(points[:, None], labels)
    groups = [points[labels == j] for j in range(k)]
    fused = max(float(fuses_at(g.tolist(), [1] * len(g))) for g in groups)
    merged = float(merges_at([float(g.mean()) for g in groups], [len(g) for g in groups]))
    assert found.fused.low * (1 - 1e-9) <= fused <= found.fused.high * (1 + 1e-9)
    assert found.merged.low * (1 - 1e-9) <= merged <= found.merged.high * (1 + 1e-9)
    assert found.fused.high - found.fused.low <= 1e-6 * max(fused, 1e-12)
    assert found.merged.high - found.merged.low <= 1e-6 * merged


@pytest.mark.parametrize("seed", range(8))
def test_single_solves_recover_inside_the_window_and_only_there(seed):
    rng = np.random.default_rng(100 + seed)
    labels = np.sort(np.concatenate([np.arange(3), rng.integers(0, 3, 7)]))
    points = rng.standard_normal((3, 2))[labels] * 4 + 0.1 * rng.standard_normal((10, 2))
    found = recovery_window(points, labels)
    low, high = found.fused.high, found.merged.low
    assert low < high
    for penalty, inside in (
        (low * (1 + 1e-4), True),
        (np.sqrt(low * high), True),
        (high * (1 - 1e-4), True),
        (low * (1 - 1e-4), False),
        (high * (1 + 1e-4), False),
    ):
        solved = convex_clustering(points, penalty)
        assert solved.certified
        assert np.array_equal(solved.labels, labels) == inside


@pytest.mark.parametrize("seed", range(8))
def test_the_last_fusion_is_that_of_the_slowest_group(seed):
    rng = np.random.default_rng(200 + seed)
    groups = [
        rng.exponential() * rng.standard_normal((int(rng.integers(1, 9)), 2)) for _ in range(4)
    ]
    alone = [fusion(group) for group in groups]
    found = last_fusion(groups)
    assert found.high == pytest.approx(max(own.high for own in alone), rel=1e-8)
    assert found.low == pytest.approx(max(own.low for own in alone), rel=1e-8)
    rough = last_fusion(groups, 1e-3)
    assert rough.low <= found.high
    assert rough.high >= found.low
    assert rough.high - rough.low <= 2e-3 * found.high


def test_groups_of_equal_points_are_one_at_every_penalty():
    assert last_fusion([np.ones((3, 2)), np.zeros((1, 2))]).high == 0.0


@pytest.mark.parametrize("seed", range(8))
def test_means_stay_apart_up_to_their_first_merge(seed):
    rng = np.random.default_rng(300 + seed)
    k = int(rng.integers(2, 6))
    labels = np.sort(np.concatenate([np.arange(k), rng.integers(0, k, 7)]))
    means = rng.standard_normal((k, 2))
    merged = recovery_window(means[labels], labels).merged
    assert stay_apart(means, labels, 0.0)
    assert stay_apart(means, labels, merged.low * (1 - 1e-5))
    assert not stay_apart(means, labels, merged.high)
    assert not stay_apart(means, labels, 100.0 * merged.high)


def test_equal_means_are_never_apart():
    assert not stay_apart(np.zeros((2, 1)), np.array([0, 1, 1]), 0.0)


def test_shrinking_the_clusters_scales_the_lower_end_alone():
    rng = np.random.default_rng(7)
    labels = np.array([0, 0, 0, 1, 1, 2])
    means = np.array([[0.0, 0.0], [3.0, 1.0], [-2.0, 5.0]])
    noise = rng.standard_normal((6, 2))
    for j in range(3):
        noise[labels == j] -= noise[labels == j].mean(axis=0)
    whole, half = (recovery_window(means[labels] + s * noise, labels) for s in (1.0, 0.5))
    assert half.fused.high == pytest.approx(0.5 * whole.fused.high, rel=1e-6)
    assert half.merged.low == pytest.approx(whole.merged.low, rel=1e-6)


def test_points_that_coincide_fuse_at_zero_and_equal_means_leave_no_window():
    assert fusion(np.ones((4, 2))).high == 0.0
    equal = recovery_window([[-1.0], [1.0], [0.0]], [0, 0, 1])
    assert equal.merged.high == 0.0
    single = recovery_window([[0.0], [2.0]], [0, 0])
    assert single.merged.low == np.inf
    assert single.fused.low == pytest.approx(1.0)


@pytest.mark.parametrize("labels", [[0, 0], [0, 2, 2], [[0, 1, 1]], [1, 1, 1]])
def test_labels_must_number_the_clusters(labels):
    with pytest.raises(InvalidParameter, match="must number the clusters"):
        recovery_window([[0.0], [1.0], [2.0]], labels)


def test_a_merge_of_several_is_bounded_by_the_penalty_at_which_all_were_apart(monkeypatch):
    """Below ``lower`` three clusters are not all one.  Two of them may be."""

    def merge(n_children, lower, upper, apart):
        return Merge(
            node=9,
            children=tuple(range(n_children)),
            size=n_children,
            penalty=upper,
            lower=lower,
            upper=upper,
            apart=apart,
            resolved=False,
        )

    for events, low in (
        ([merge(3, 2.0, 3.0, 1.0)], 1.0),
        ([merge(2, 2.0, 3.0, 2.0)], 2.0),
        ([merge(3, 2.0, 3.5, 1.5), merge(2, 1.75, 3.0, 1.75)], 1.5),
    ):
        path = SimpleNamespace(merges=events)
        monkeypatch.setattr(recovery, "_of_masses", lambda *_, path=path: path)
        found = recovery.first_merge(np.arange(3.0)[:, None], np.arange(3))
        assert (found.low, found.high) == (low, 3.0)


@pytest.mark.parametrize("n_points", [1, 2])
def test_three_equal_clusters_of_a_triangle_merge_at_once(n_points):
    """Each is pulled by two unit vectors towards the middle, at the distance side / sqrt 3."""
    side = 3.0
    corners = side / np.sqrt(3) * np.array([[np.cos(t), np.sin(t)] for t in (0, 2.0944, 4.18879)])
    labels = np.repeat(np.arange(3), n_points)
    found = recovery_window(corners[labels], labels)
    at = side / (3 * n_points)
    assert found.merged.low == pytest.approx(at, rel=1e-4)
    assert found.merged.low <= found.merged.high


@pytest.mark.parametrize(
    ("points", "labels", "message"),
    [
        ([1.0, 2.0], [0, 1], r"must be \(m, d\)"),
        (np.empty((0, 2)), [], r"must be \(m, d\)"),
        ([[1.0], [np.nan]], [0, 0], "must be finite"),
        ([[1.0], [np.inf]], [0, 1], "must be finite"),
        ([[1.0], [2.0]], [0], "must number the clusters"),
    ],
)
def test_what_is_no_set_of_points_is_refused_by_name(points, labels, message):
    with pytest.raises(InvalidParameter, match=message):
        recovery_window(points, np.asarray(labels, dtype=np.int64))


def test_a_single_point_is_one_cluster_at_every_penalty():
    window = recovery_window([[3.0, 4.0]], [0])
    assert (window.fused.low, window.fused.high) == (0.0, 0.0)
    assert (window.merged.low, window.merged.high) == (np.inf, np.inf)


def test_means_that_share_coordinates_are_no_equal_means():
    """The corners of a square: two coordinates for four means."""
    window = recovery_window([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 2, 3])
    assert 0.0 < window.merged.low <= window.merged.high


def test_means_that_differ_by_the_least_float_merge_at_a_penalty_below_it():
    """Clusters of four points, x apart, merge at x/8, no float where x is the least one."""
    least = np.nextafter(0.0, 1.0)
    window = recovery_window([[0.0]] * 4 + [[least]] * 4, [0] * 4 + [1] * 4)
    assert (window.merged.low, window.merged.high) == (0.0, least)


@pytest.mark.parametrize("offset", [0.0, 2.0**30, 2.0**40, 2.0**46])
def test_a_window_far_from_the_origin_is_that_of_the_same_points_at_it(offset):
    """Means of the points themselves were rounded: at 1e12 the fifth digit of the end was wrong."""
    points = offset + np.array([0.0, 1.0, 3.0, 50.0, 51.0, 54.25, 90.0, 92.0, 97.5])
    labels = np.repeat([0, 1, 2], 3)
    found = recovery_window(points[:, None], labels)
    exact = [Fraction(x) for x in points.tolist()]
    means = [sum(exact[3 * j : 3 * j + 3], Fraction(0)) / 3 for j in range(3)]
    assert found.merged.low <= merges_at(means, [3, 3, 3]) <= found.merged.high
    assert found.merged.high - found.merged.low <= 1e-7 * found.merged.high


def test_means_of_the_largest_numbers_are_finite():
    """Their sum was infinite, and no point was."""
    found = recovery_window([[1.5e308], [1.5e308], [1.5e308 + 2.0**1000]], [0, 0, 1])
    assert found.fused.high == 0.0
    merged = Fraction(2**1000) / 3  # two means with masses 2 and 1, by `fuses_at`
    assert found.merged.low <= merged <= found.merged.high

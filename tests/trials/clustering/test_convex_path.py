"""The convex clustering path: events, brackets, tree."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.cluster.hierarchy import dendrogram, fcluster, is_valid_linkage
from scipy.optimize import isotonic_regression

from trials.checks import InvalidParameter
from trials.clustering.convex import check_certificate, convex_clustering, convex_clustering_path
from trials.clustering.convex.path import fusion_limits


def same_partition(p, q):
    return len(set(zip(p, q, strict=True))) == len(set(p)) == len(set(q))


def test_two_points_meet_at_half_their_distance():
    path = convex_clustering_path([[0.0, 0.0], [3.0, 4.0]])
    np.testing.assert_allclose(path.breakpoints, [2.5], rtol=1e-14)
    event = path.merges[0]
    assert event.lower <= 2.5 <= event.upper
    assert event.upper - event.lower < 1e-12


def test_an_equilateral_triangle_fuses_at_once_and_an_obtuse_one_in_two_events():
    # lambda times three is the radius of the smallest ball around the edge vectors: the side.
    side = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
    path = convex_clustering_path(side)
    assert [len(e.children) for e in path.merges] == [3]
    np.testing.assert_allclose(path.breakpoints, [1 / 3], rtol=1e-9)
    # 0 and 2 meet at 1, where the third has come within sqrt(1 + 25) of their mean.
    obtuse = convex_clustering_path([[0.0, 0.0], [0.1, 0.0], [5.0, 0.1]])
    assert [e.children for e in obtuse.merges] == [(0, 1), (3, 2)]
    centre = np.array([0.05, 0.0])
    np.testing.assert_allclose(
        obtuse.breakpoints[-1], np.linalg.norm(centre - [5.0, 0.1]) / 3, rtol=1e-12
    )


@pytest.mark.parametrize("unit", [1.0, 1e-9])
@pytest.mark.parametrize(("m", "d"), [(2, 1), (6, 1), (20, 2), (30, 8), (40, 2)])
def test_the_last_event_alone_is_that_of_the_whole_path(m, d, unit):
    """With two duplicates, and outliers that meet the rest last."""
    points = unit * np.random.default_rng(m).standard_t(3, (m, d))
    points = np.concatenate([points, points[:2]])
    last = convex_clustering_path(points).merges[-1]
    assert fusion_limits(points) == pytest.approx((last.lower, last.upper), rel=1e-12)


def test_equal_points_are_one_from_zero_on():
    assert fusion_limits([[3.0, -0.0], [3.0, 0.0]]) == fusion_limits([[2.0]]) == (0.0, 0.0)


@settings(deadline=None, max_examples=40)
@given(arrays(np.float64, st.integers(2, 12), elements=st.integers(-50, 50).map(float)))
def test_collinear_path_matches_isotonic_regression(x):
    path = convex_clustering_path(x[:, None] * np.array([0.6, -0.8]))
    order = np.argsort(x, kind="stable")
    m = x.size
    ends = np.concatenate([[0.0], path.breakpoints])
    for low, high in zip(ends, np.append(ends[1:], 2 * ends[-1] + 1), strict=True):
        if high - low < 1e-7:
            continue
        penalty = 0.5 * (low + high)
        target = x[order] - penalty * (2 * np.arange(1, m + 1) - m - 1)
        u = np.empty(m)
        u[order] = isotonic_regression(target).x
        expected = np.unique(u.round(9), return_inverse=True)[1]
        assert same_partition(path.labels(penalty), expected)
        assert path.n_clusters(penalty) == expected.max() + 1


@pytest.mark.parametrize(("m", "d", "seed"), [(25, 2, 0), (30, 3, 1), (40, 20, 2), (1, 3, 3)])
def test_events_agree_with_direct_solves_on_both_sides(m, d, seed):
    a = np.random.default_rng(seed).standard_t(3, (m, d))
    path = convex_clustering_path(a)
    assert path.n_clusters(0.0) == m
    if m > 1:
        assert path.merges[-1].size == m
    assert (np.diff(path.breakpoints) >= 0).all()
    for event in path.merges[:: max(1, len(path.merges) // 6)]:
        assert event.lower <= event.penalty <= event.upper
        assert event.upper - event.lower <= 1e-6 * event.upper
        assert (1 - 1e-3) * event.penalty <= event.apart <= event.penalty or len(event.children) < 3
        for penalty in (event.penalty * (1 - 1e-4), event.penalty * (1 + 1e-4)):
            direct = convex_clustering(a, penalty)
            assert direct.certified
            np.testing.assert_array_equal(direct.labels, path.labels(penalty))
            assert direct.n_clusters == path.n_clusters(penalty)


def test_solutions_from_the_path_are_certified_and_equal_direct_ones():
    a = np.random.default_rng(4).standard_t(3, (30, 4))
    path = convex_clustering_path(a)
    for penalty in [0.0, *np.linspace(0.03, 1.1 * path.breakpoints[-1], 9), 1e9]:
        here, direct = path.solve(penalty), convex_clustering(a, penalty)
        assert here.certified
        assert direct.certified
        assert check_certificate(a, penalty, here.labels, here.certificate).valid
        np.testing.assert_array_equal(here.labels, direct.labels)
        np.testing.assert_allclose(here.minimiser, direct.minimiser, atol=1e-11)


def test_no_splits_the_proofs_of_a_penalty_are_kept_at_every_larger_one():
    a = np.random.default_rng(8).standard_t(3, (30, 2))
    path = convex_clustering_path(a)
    middles = 0.5 * (path.breakpoints[1:] + path.breakpoints[:-1])
    proofs = [path.solve(penalty).certificate.fusions for penalty in middles]
    assert len(proofs) > 3
    for small, large in pairwise(proofs):
        assert len(small) < len(large)
        for old, new in zip(small, large, strict=False):
            np.testing.assert_array_equal(old.children, new.children)
            np.testing.assert_array_equal(old.potentials, new.potentials)
            assert old.strength == new.strength


@settings(deadline=None, max_examples=25)
@given(
    st.tuples(st.integers(1, 10), st.integers(1, 3)).flatmap(
        lambda shape: arrays(np.int64, shape, elements=st.integers(-3, 3))
    )
)
def test_path_of_ties_and_duplicates_falls_from_distinct_points_to_one(grid):
    a = grid.astype(float)
    path = convex_clustering_path(a)
    assert path.n_clusters(0.0) == np.unique(a, axis=0).shape[0]
    top = path.breakpoints[-1] if path.merges else 1.0
    counts = [path.n_clusters(p) for p in np.linspace(0, 1.01 * top + 0.01, 40)]
    assert (np.diff(counts) <= 0).all()
    assert counts[-1] == 1
    order = {e.node: t for t, e in enumerate(path.merges)}
    for t, event in enumerate(path.merges):
        assert len(event.children) >= 2
        assert all(order.get(c, -1) < t for c in event.children)
    coarse = [path.labels(p) for p in np.linspace(0, top, 7)]
    for fine, wide in pairwise(coarse):
        assert len(set(zip(fine, wide, strict=True))) == fine.max() + 1


def test_the_tree_can_be_plotted_by_scipy():
    a = np.random.default_rng(5).standard_t(3, (20, 2))
    a[7] = a[3]
    path = convex_clustering_path(a)
    tree = path.linkage()
    assert is_valid_linkage(tree)
    assert len(dendrogram(tree, no_plot=True)["leaves"]) == 20
    for penalty in 0.5 * (path.breakpoints[1:] + path.breakpoints[:-1]):
        cut = fcluster(tree, penalty, criterion="distance")
        assert same_partition(cut, path.labels(penalty))


def test_scales_change_breakpoints_in_proportion():
    a = np.random.default_rng(6).standard_t(3, (15, 3))
    plain = convex_clustering_path(a)
    for scale in (1e-12, 1e12):
        scaled = convex_clustering_path(a * scale)
        assert [e.children for e in scaled.merges] == [e.children for e in plain.merges]
        np.testing.assert_allclose(scaled.breakpoints / scale, plain.breakpoints, rtol=1e-8)


def test_bad_input_is_refused():
    with pytest.raises(InvalidParameter, match="finite"):
        convex_clustering_path([[np.nan]])
    with pytest.raises(InvalidParameter, match=r"tolerance=0\.5"):
        convex_clustering_path([[0.0]], tolerance=0.5)


@pytest.mark.parametrize(("m", "d", "unit"), [(2, 1, 1.0), (12, 2, 1e-9), (30, 3, 1.0), (40, 1, 8)])
def test_two_children_are_apart_up_to_the_lower_end_and_more_up_to_a_solve(m, d, unit):
    """Below their common penalty two are not one.  Of three, two may have met before."""
    points = unit * np.random.default_rng(m).standard_t(3, (m, d))
    path = convex_clustering_path(points)
    pairs = [event for event in path.merges if len(event.children) == 2]
    assert pairs
    for event in pairs:
        assert 0.0 < event.apart == event.lower <= event.penalty
        assert event.resolved
        assert path.n_clusters(event.apart * (1 - 1e-9)) > path.n_clusters(event.upper)
    (together,) = convex_clustering_path([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]]).merges
    assert 0.0 < together.apart < together.lower  # of a solve just below, not of the bracket


def line_clusters(values, penalty):
    """The number of clusters of points on a line, in rational numbers.

    On sorted points the minimiser is the isotonic regression of a_i - lam (2i - m - 1), whose
    blocks are the clusters.
    """
    m, blocks = len(values), []
    for i, a in enumerate(sorted(map(Fraction, values))):
        blocks.append([a - Fraction(penalty) * (2 * i + 1 - m), 1])
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] >= blocks[-1][0] * blocks[-2][1]:
            total, size = blocks.pop()
            blocks[-1] = [blocks[-1][0] + total, blocks[-1][1] + size]
    return len(blocks)


@pytest.mark.parametrize("values", [(0, 1), (0, 0, 4), (0, 1, 3), (0, 2, 3, 11), (0, 5, 5, 6, 20)])
def test_points_some_least_floats_apart_are_one_when_they_are(values):
    """Breakpoints between two floats were rounded: distinct points were one at penalty 0."""
    least = np.nextafter(0.0, 1.0)
    points = np.array(values)[:, None] * least
    path = convex_clustering_path(points)
    for p in range(9):
        # A penalty on a breakpoint is on neither side to rounding.
        near = [line_clusters(values, p + Fraction(t, 10**6)) for t in (-1, 0, 1)]
        if p > 0 and len(set(near)) > 1:
            continue
        count = line_clusters(values, p)
        assert path.n_clusters(p * least) == count
        assert np.unique(path.labels(p * least)).size == count
        found = path.solve(p * least)
        assert (found.n_clusters, found.certified) == (count, True)
    for event in path.merges:
        assert event.lower <= event.penalty <= event.upper


def test_a_path_keeps_its_points_when_the_callers_array_changes():
    """Solutions were about the new first point, and no certificate fitted the new points."""
    points = np.array([[5.0], [6.0], [15.0], [16.0]])
    path = convex_clustering_path(points)
    points *= 3.0
    assert path.points.tolist() == [[5.0], [6.0], [15.0], [16.0]]
    found = path.solve(1.0)
    # By the law of `line_clusters`: each of a pair is pulled by two points of the other one.
    assert found.certified
    np.testing.assert_allclose(found.centres, [[7.5], [13.5]], rtol=1e-12)

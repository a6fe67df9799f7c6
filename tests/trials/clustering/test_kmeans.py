"""The k-means family: against scikit-learn, brute force, plain NumPy twins, and its symmetries."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.cluster import KMeans

from trials.checks import InvalidParameter
from trials.clustering.kmeans import (
    STATED_FACTOR,
    approximate_kmeans,
    approximation,
    kmeans_pp,
    lloyd,
    seed_kmeans_pp,
    spectral_kmeans,
    spectral_part_one,
    spectral_projection,
)

FEW = settings(deadline=None, max_examples=25)


# ---------------------------------------------------------------------------------- twins, oracles


def squared_distances(points, centers):
    return ((points[:, None, :] - centers[None, :, :]) ** 2).sum(axis=2)


def lloyd_twin(points, centers, max_iter=300, shift_tol=0.0):
    """Lloyd's iteration in its simplest form.  Empty clusters keep their centre."""
    centers, previous, n_iter = centers.copy(), None, 0
    while n_iter < max_iter:
        n_iter += 1
        labels = squared_distances(points, centers).argmin(axis=1)
        moved = np.array(
            [
                points[labels == k].mean(axis=0) if (labels == k).any() else centers[k]
                for k in range(len(centers))
            ]
        )
        shift = ((moved - centers) ** 2).sum()
        centers = moved
        if previous is not None and (labels == previous).all():
            break
        previous = labels
        if shift <= shift_tol:
            labels = squared_distances(points, centers).argmin(axis=1)
            break
    else:
        labels = squared_distances(points, centers).argmin(axis=1)
    return labels, centers, ((points - centers[labels]) ** 2).sum(), n_iter


def seed_twin(points, k, rng):
    m = len(points)
    chosen = [int(rng.random() * m)]
    while len(chosen) < k:
        nearest = squared_distances(points, points[chosen]).min(axis=1)
        u = rng.random()
        if nearest.sum() == 0:
            chosen.append(int(u * m))
        else:
            cumulative = np.cumsum(nearest)
            chosen.append(int(np.searchsorted(cumulative, u * cumulative[-1], side="right")))
    return chosen


def partitions(m, k):
    """All label vectors with at most k clusters, one for each partition (restricted growth)."""

    def extend(prefix, used):
        if len(prefix) == m:
            yield prefix
            return
        for label in range(min(used + 1, k)):
            yield from extend([*prefix, label], max(used, label + 1))

    yield from extend([], 0)


def partition_cost(points, labels):
    return sum(
        ((points[labels == k] - points[labels == k].mean(axis=0)) ** 2).sum()
        for k in np.unique(labels)
    )


def optimal_cost(points, k):
    return min(partition_cost(points, np.array(labels)) for labels in partitions(len(points), k))


def clouds(seed, n_sets=3, m=30, d=4, k=5, spread=1.0, centre_scale=4.0):
    rng = np.random.default_rng(seed)
    centers = centre_scale * rng.standard_normal((n_sets, k, d))
    labels = rng.integers(k, size=(n_sets, m))
    points = np.take_along_axis(centers, labels[:, :, None], axis=1)
    return points + spread * rng.standard_normal((n_sets, m, d)), labels


def starts_of(points, k, seed):
    chosen = seed_kmeans_pp(points, k, np.random.default_rng(seed))
    return np.take_along_axis(points, chosen[:, :, None], axis=1)


# ----------------------------------------------------------------------------------------- Lloyd


@pytest.mark.parametrize("tol", [0.0, 1e-4, 1e-1])
@pytest.mark.parametrize("spread", [0.3, 3.0, 30.0])
def test_lloyd_gives_the_labels_inertia_and_iterations_of_scikit_learn(spread, tol):
    points, _ = clouds(1, n_sets=8, m=60, d=7, k=6, spread=spread)
    starts = starts_of(points, 6, 2)
    fit = lloyd(points, starts, tol=tol)
    for b in range(len(points)):
        peer = KMeans(6, init=starts[b], n_init=1, tol=tol, algorithm="lloyd").fit(points[b])
        np.testing.assert_array_equal(fit.labels[b], peer.labels_)
        np.testing.assert_allclose(fit.inertia[b], peer.inertia_, rtol=1e-12)
        np.testing.assert_allclose(fit.centers[b], peer.cluster_centers_, rtol=1e-9, atol=1e-9)
        assert fit.n_iter[b] == peer.n_iter_


def test_lloyd_relocates_an_empty_cluster_as_scikit_learn_does():
    points, _ = clouds(3, n_sets=6, m=40, d=3, k=4)
    starts = starts_of(points, 4, 4)
    starts[:, 2] = 1e3  # no point is ever nearest to this one
    fit = lloyd(points, starts)
    kept = lloyd(points, starts, empty="keep")
    for b in range(len(points)):
        peer = KMeans(4, init=starts[b], n_init=1, tol=0.0, algorithm="lloyd").fit(points[b])
        np.testing.assert_array_equal(fit.labels[b], peer.labels_)
        np.testing.assert_allclose(fit.inertia[b], peer.inertia_, rtol=1e-12)
        assert len(np.unique(fit.labels[b])) == 4
        assert 2 not in kept.labels[b]
        np.testing.assert_array_equal(kept.centers[b, 2], starts[b, 2])


@pytest.mark.interpreted
def test_several_empty_clusters_take_the_farthest_points_in_turn():
    points = np.array([[[0.0], [1.0], [10.0], [30.0], [31.0]]])
    starts = np.array([[[0.0], [1e6], [2e6], [3e6]]])
    fit = lloyd(points, starts, max_iter=1)
    # all points first join centre 0, and 31, 30 and 10 are the farthest, in this order
    np.testing.assert_allclose(fit.centers[0, :, 0], [0.5, 31.0, 30.0, 10.0])
    np.testing.assert_array_equal(fit.labels[0], [0, 0, 3, 2, 1])


@pytest.mark.parametrize("shape", [(2, 9, 1, 3), (3, 25, 3, 4), (2, 17, 6, 2), (1, 12, 9, 12)])
def test_lloyd_equals_its_numpy_twin(shape):
    n_sets, m, d, k = shape
    points, _ = clouds(5, n_sets=n_sets, m=m, d=d, k=k, spread=2.0)
    starts = np.random.default_rng(6).permuted(points, axis=1)[:, :k]
    for max_iter in (1, 2, 300):
        fit = lloyd(points, starts, max_iter=max_iter, empty="keep")
        for b in range(n_sets):
            labels, centers, inertia, n_iter = lloyd_twin(points[b], starts[b], max_iter)
            np.testing.assert_array_equal(fit.labels[b], labels)
            np.testing.assert_allclose(fit.centers[b], centers, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(fit.inertia[b], inertia, rtol=1e-12, atol=1e-12)
            assert fit.n_iter[b] == n_iter


def test_lloyd_never_raises_the_cost_and_ends_in_a_centroidal_voronoi_partition():
    points, _ = clouds(7, n_sets=5, m=50, spread=4.0)
    starts = np.random.default_rng(8).standard_normal((5, 6, 4)) * 5
    costs = [lloyd(points, starts, max_iter=t, empty="keep").inertia for t in range(1, 30)]
    assert np.all(np.diff(costs, axis=0) <= 1e-12 * costs[0])
    fit = lloyd(points, starts, empty="keep")
    assert fit.converged.all()
    assert not lloyd(points, starts, max_iter=1, empty="keep").converged.any()
    for b in range(5):
        own = squared_distances(points[b], fit.centers[b])
        np.testing.assert_array_equal(fit.labels[b], own.argmin(axis=1))
        for k in np.unique(fit.labels[b]):
            np.testing.assert_allclose(
                fit.centers[b, k], points[b][fit.labels[b] == k].mean(axis=0), atol=1e-12
            )


@FEW
@given(seed=st.integers(0, 10**6), k=st.integers(1, 6), exponent=st.integers(-40, 40))
def test_lloyd_is_equivariant(seed, k, exponent):
    points, _ = clouds(seed, n_sets=1, m=20, d=3, spread=2.0)
    starts = starts_of(points, k, seed)
    rng = np.random.default_rng(seed)
    rotation = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    shift = rng.standard_normal(3) * 10
    order = rng.permutation(20)
    plain = lloyd(points, starts)
    moved = lloyd(points @ rotation + shift, starts @ rotation + shift)
    np.testing.assert_array_equal(moved.labels, plain.labels)
    np.testing.assert_allclose(moved.centers, plain.centers @ rotation + shift, atol=1e-10)
    np.testing.assert_allclose(moved.inertia, plain.inertia, rtol=1e-10, atol=1e-10)
    permuted = lloyd(points[:, order], starts)
    np.testing.assert_array_equal(permuted.labels, plain.labels[:, order])
    np.testing.assert_allclose(permuted.inertia, plain.inertia, rtol=1e-12, atol=1e-12)
    scaled = lloyd(points * 2.0**exponent, starts * 2.0**exponent)  # exact in binary
    np.testing.assert_array_equal(scaled.labels, plain.labels)
    np.testing.assert_array_equal(scaled.inertia, plain.inertia * 4.0**exponent)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_extreme_scales_and_offsets_change_no_label(scale):
    points, _ = clouds(9, n_sets=2, m=40, spread=0.01, centre_scale=10.0)
    plain = kmeans_pp(points, 5, np.random.default_rng(10), n_init=3)
    scaled = kmeans_pp(points * scale, 5, np.random.default_rng(10), n_init=3)
    np.testing.assert_array_equal(scaled.labels, plain.labels)
    np.testing.assert_allclose(scaled.inertia, plain.inertia * scale**2, rtol=1e-9)
    far = kmeans_pp(points + 1e9, 5, np.random.default_rng(10), n_init=3)  # 7 digits are left
    np.testing.assert_array_equal(far.labels, plain.labels)
    np.testing.assert_allclose(far.inertia, plain.inertia, rtol=1e-3)


# -------------------------------------------------------------------------------------- k-means++


@pytest.mark.interpreted
def test_seeds_equal_their_numpy_twin_on_the_same_stream():
    points, _ = clouds(11, n_sets=4, m=25)
    points[3, 5:] = points[3, 4]  # only five distinct points: zero distances
    ours = seed_kmeans_pp(points, 7, np.random.default_rng(12))
    rng = np.random.default_rng(12)
    for b in range(4):
        np.testing.assert_array_equal(ours[b], seed_twin(points[b], 7, rng))


@pytest.mark.statistical
def test_seeds_follow_the_squared_distance_law():
    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 3.0], [5.0, 5.0]])
    n = 40_000
    pairs = seed_kmeans_pp(np.broadcast_to(points, (n, 4, 2)), 2, np.random.default_rng(13))
    observed = np.zeros((4, 4))
    np.add.at(observed, (pairs[:, 0], pairs[:, 1]), 1)
    d_sq = squared_distances(points, points)
    expected = n * d_sq / d_sq.sum(axis=1, keepdims=True) / 4
    assert np.all(observed[d_sq == 0] == 0)
    statistic = ((observed - expected)[d_sq > 0] ** 2 / expected[d_sq > 0]).sum()
    # 12 cells, 11 degrees of freedom, false alarm 1e-6 for a fresh seed
    assert statistic < stats.chi2.isf(1e-6, 11)


def test_more_starts_never_cost_more():
    points, _ = clouds(14, n_sets=20, m=40, spread=2.0)
    one = kmeans_pp(points, 5, np.random.default_rng(15))
    assert one.converged.all()
    ten = kmeans_pp(points[:1], 5, np.random.default_rng(15), n_init=10)
    # the first start of the first data set uses the same stream
    assert ten.inertia[0] <= one.inertia[0]


# ------------------------------------------------------------------- approximation with a factor


def test_the_stated_factor_is_that_of_the_proof():
    # alpha^2 - 4 alpha - 6 = 0 has the root 2 + sqrt(10)
    assert (2 + math.sqrt(10)) ** 2 < STATED_FACTOR < 26.65


@settings(deadline=None, max_examples=40)
@given(
    coordinates=st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=2, max_size=7),
    k=st.integers(1, 4),
    seed=st.integers(0, 99),
)
def test_lower_bound_and_factors_hold_against_brute_force(coordinates, k, seed):
    points = np.array(coordinates, dtype=float)
    k = min(k, len(points))
    best = optimal_cost(points, k)
    for target in (1.0, 10.0):
        found = approximate_kmeans(points[None], k, np.random.default_rng(seed), target=target)
        cost, bound, factor = found.cost[0], found.lower_bound[0], found.factor[0]
        assert bound <= best + 1e-9 <= cost + 2e-9
        assert found.locally_optimal[0]
        assert cost <= STATED_FACTOR * best + 1e-9
        assert cost <= factor * best * (1 + 1e-9) + 1e-9
        np.testing.assert_allclose(
            cost, squared_distances(points, found.centers[0]).min(axis=1).sum(), atol=1e-9
        )


def test_the_factor_ten_of_algorithm_2_is_certified_on_clouds_and_on_noise():
    for spread in (0.1, 1.0, 10.0, 1000.0):
        points, _ = clouds(16, n_sets=5, m=40, d=5, k=6, spread=spread)
        found = approximate_kmeans(points, 6, np.random.default_rng(17))
        assert found.factor.max() <= 10.0
        tight = approximate_kmeans(points, 6, np.random.default_rng(17), target=1.0)
        np.testing.assert_array_equal(tight.cost, found.cost)
        assert np.all(tight.factor <= found.factor)
        assert np.all(tight.factor >= 1.0)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_no_single_swap_improves_the_result_of_the_local_search(k):
    points, _ = clouds(18, n_sets=6, m=15, d=2, spread=3.0)
    for b in range(6):
        dist = squared_distances(points[b], points[b])
        chosen = np.arange(k)
        first = np.empty(15)
        cost, _, optimal = approximation.local_search(dist, 1000, 1e-6, chosen, first)
        assert optimal
        np.testing.assert_allclose(first, dist[chosen].min(axis=0))
        np.testing.assert_allclose(cost, first.sum())
        for out, into in itertools.product(range(k), range(15)):
            swapped = chosen.copy()
            swapped[out] = into
            assert dist[swapped].min(axis=0).sum() >= cost * (1 - 1e-6 / k)


def local_search_twin(dist, chosen, saving):
    """The best of all single swaps, costed one by one, while one saves enough."""
    chosen, n_swaps = list(chosen), 0
    while True:
        cost = dist[chosen].min(axis=0).sum()
        swaps = []
        for out, into in itertools.product(range(len(chosen)), range(len(dist))):
            swapped = [*chosen[:out], into, *chosen[out + 1 :]]
            swaps.append((dist[swapped].min(axis=0).sum(), out, into))
        best, out, into = min(swaps)
        if cost - best <= saving / len(chosen) * cost:
            return chosen, cost, n_swaps
        chosen[out] = into
        n_swaps += 1


@pytest.mark.parametrize(
    ("m", "k", "spread"), [(14, 1, 3.0), (15, 2, 0.2), (18, 5, 1.0), (9, 8, 9.0)]
)
def test_the_local_search_makes_the_swaps_of_its_twin(m, k, spread):
    points, _ = clouds(26, n_sets=6, m=m, d=3, k=k, spread=spread)
    for b in range(6):
        dist = squared_distances(points[b], points[b])
        chosen = np.arange(k)
        found = approximation.local_search(dist, 1000, 1e-6, chosen, np.empty(m))
        wanted, cost, n_swaps = local_search_twin(dist, range(k), 1e-6)
        assert (list(chosen), found[1:]) == (wanted, (n_swaps, True))
        np.testing.assert_allclose(found[0], cost, rtol=1e-14)


def test_a_local_search_that_was_stopped_does_not_claim_optimality():
    dist = squared_distances(np.arange(9.0)[:, None], np.arange(9.0)[:, None])
    cost, n_swaps, optimal = approximation.local_search(dist, 0, 1e-6, np.array([0]), np.empty(9))
    assert (cost, n_swaps, optimal) == (204.0, 0, False)
    chosen = np.array([0])
    cost, n_swaps, optimal = approximation.local_search(dist, 1, 1e-6, chosen, np.empty(9))
    assert (cost, n_swaps, optimal, chosen[0]) == (60.0, 1, True, 4)


@pytest.mark.interpreted
@FEW
@given(seed=st.integers(0, 10**6), k=st.integers(1, 3))
def test_any_multipliers_bound_the_discrete_optimum_from_below(seed, k):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((8, 2))
    dist = squared_distances(points, points)
    discrete = min(
        dist[list(chosen)].min(axis=0).sum() for chosen in itertools.combinations(range(8), k)
    )
    multipliers = rng.exponential(size=8) * rng.choice([0.1, 1.0, 10.0])
    value = approximation.dual_value(dist, k, multipliers, np.empty(8), np.empty(k, np.int64))
    assert value <= discrete + 1e-12
    assert discrete <= 2 * optimal_cost(points, k) + 1e-12  # the half in the lower bound


# -------------------------------------------------------------------------------------- Algorithm 2


@pytest.mark.parametrize(("m", "d", "k"), [(30, 6, 3), (8, 20, 5), (12, 3, 7)])
def test_projection_is_the_truncated_svd(m, d, k):
    points = np.random.default_rng(19).standard_normal((3, m, d))
    coords, basis = spectral_projection(points, k)
    assert basis.shape[2] == min(k, m, d)
    for b in range(3):
        u, s, vt = np.linalg.svd(points[b], full_matrices=False)
        s[k:] = 0
        np.testing.assert_allclose(coords[b] @ basis[b].T, (u * s) @ vt, atol=1e-12)
        np.testing.assert_allclose(basis[b].T @ basis[b], np.eye(basis.shape[2]), atol=1e-12)


def random_singular_values(m, d, values, seed):
    """A matrix with given singular values, and its right singular vectors as columns."""
    rng = np.random.default_rng(seed)
    left = np.linalg.qr(rng.standard_normal((m, len(values))))[0]
    right = np.linalg.qr(rng.standard_normal((d, len(values))))[0]
    return (left * values) @ right.T, right


@pytest.mark.parametrize(("m", "d"), [(30, 12), (12, 30), (12, 12)])
@pytest.mark.parametrize("ratio", [1.0, 20.0, 40.0, 1e4, 1e9])  # s_1 / s_4: Gram, Gram, SVD...
def test_the_projection_is_accurate_whatever_the_singular_values(m, d, ratio):
    """The angle of the subspace is at most 32 times what an SVD's backward error allows."""
    values = np.r_[np.geomspace(ratio, 1.0, 4), np.geomspace(0.5, 1e-3, 8)]
    points, right = random_singular_values(m, d, values, 27)
    batch = np.stack([points, points * 1e140, points * 1e-140])
    _, bases = spectral_projection(batch, 4)
    for basis in bases:
        np.testing.assert_allclose(basis.T @ basis, np.eye(4), atol=1e-12)
        sine = np.linalg.norm(right[:, 4:].T @ basis, 2)
        # gap 0.5; 12 is the size of the smaller Gram matrix
        assert sine <= 32 * 12 * 2.0**-52 * ratio / 0.5


def test_the_projection_takes_the_svd_where_rank_or_scale_defeats_the_gram_matrix():
    points, right = random_singular_values(10, 6, np.array([3.0, 2.0]), 28)
    batch = np.stack([points, np.zeros((10, 6)), points * 1e-170, points])
    batch[3] += np.random.default_rng(29).standard_normal((10, 6))  # full rank, by Gram
    for k in (2, 3, 6):
        coords, basis = spectral_projection(batch, k)
        for b in range(4):
            np.testing.assert_allclose(basis[b].T @ basis[b], np.eye(k), atol=1e-12)
        for b in (0, 2):
            scale = np.abs(batch[b]).max()
            np.testing.assert_allclose(coords[b] @ basis[b].T, batch[b], rtol=0, atol=1e-13 * scale)
            assert np.linalg.svd(right.T @ basis[b], compute_uv=False)[-1] > 1 - 1e-12


def spectral_twin(points, fit, b, k):
    """Parts II and III from the centres of Part I."""
    coords = points[b] @ fit.basis[b]
    initial = fit.part_one.centers[b]
    distance = np.sqrt(squared_distances(coords, initial))
    centers = initial @ fit.basis[b].T
    sizes = []
    for j in range(k):
        others = np.delete(distance, j, axis=1)
        core = np.all(distance[:, [j]] <= others / 3, axis=1)
        sizes.append(core.sum())
        if core.any():
            centers[j] = points[b][core].mean(axis=0)
    return sizes, lloyd_twin(points[b], centers)


@pytest.mark.parametrize("spread", [0.5, 5.0])
@pytest.mark.parametrize("k", [1, 2, 5])
def test_parts_two_and_three_equal_their_twin(k, spread):
    points, _ = clouds(20, n_sets=5, m=40, d=8, spread=spread)
    fit = spectral_kmeans(points, k, np.random.default_rng(21), empty="keep")
    for b in range(5):
        sizes, (labels, centers, inertia, _) = spectral_twin(points, fit, b, k)
        np.testing.assert_array_equal(fit.core_sizes[b], sizes)
        np.testing.assert_array_equal(fit.labels[b], labels)
        np.testing.assert_allclose(fit.centers[b], centers, atol=1e-10)
        np.testing.assert_allclose(fit.inertia[b], inertia, rtol=1e-10)


def test_well_separated_clusters_are_recovered_by_part_one_and_by_the_whole():
    rng = np.random.default_rng(22)
    truth = np.repeat(np.arange(4), 10)
    centers = 50 * np.eye(4, 12)
    points = centers[truth] + rng.standard_normal((10, 40, 12))
    part_one, basis = spectral_part_one(points, 4, np.random.default_rng(23))
    fit = spectral_kmeans(points, 4, np.random.default_rng(23))
    assert basis.shape == (10, 12, 4)
    for labels in (*part_one.labels, *fit.labels):
        pairs = {(int(a), int(b)) for a, b in zip(truth, labels, strict=True)}
        assert len(pairs) == 4
    np.testing.assert_array_equal(part_one.labels, fit.part_one.labels)
    assert (fit.core_sizes == 10).all()


def test_algorithm_2_as_printed_depends_on_the_origin():
    """The SVD is of A, not of the centred A: a far translation hides what separates the clusters.

    With k = 1 of 2 directions kept the offset takes the only direction there is.
    """
    rng = np.random.default_rng(24)
    truth = np.repeat([0, 1], 20)
    points = np.zeros((1, 40, 3))
    points[0, :, 0] = 10.0 * truth
    points[0] += 0.1 * rng.standard_normal((40, 3))
    _, basis = spectral_projection(points, 1)
    _, far_basis = spectral_projection(points + np.array([0.0, 0.0, 1e4]), 1)
    assert abs(basis[0, 0, 0]) > 0.99
    assert abs(far_basis[0, 0, 0]) < 0.01


# --------------------------------------------------------------------------------- degenerate input


@pytest.mark.parametrize("run", [kmeans_pp, spectral_kmeans])
def test_duplicates_collinear_points_one_cluster_and_all_singletons(run):
    rng = np.random.default_rng(25)
    same = run(np.ones((2, 6, 3)), 4, rng)
    np.testing.assert_array_equal(same.inertia, 0.0)
    assert np.isfinite(same.centers).all()
    points = rng.standard_normal((2, 9, 3))
    single = run(points, 1, rng)
    np.testing.assert_allclose(single.centers[:, 0], points.mean(axis=1), atol=1e-14)
    np.testing.assert_array_equal(single.labels, 0)
    alone = run(points, 9, rng)
    np.testing.assert_allclose(alone.inertia, 0.0, atol=1e-25)
    assert all(len(np.unique(labels)) == 9 for labels in alone.labels)
    line = np.arange(10.0)[None, :, None] * np.array([1.0, -2.0, 0.5])
    line[0, 5:] += 1000.0
    np.testing.assert_array_equal(np.unique(run(line, 2, rng).labels[0, :5]).size, 1)
    assert run(np.array([[[3.0]]]), 1, rng).inertia[0] == 0.0


@pytest.mark.parametrize(
    ("points", "k", "message"),
    [
        (np.zeros((1, 3, 2)), 4, r"k=4 must be an integer in \[1, 3\]"),
        (np.zeros((1, 3, 2)), 0, "k=0"),
        (np.zeros((1, 3, 2)), 2.5, "k=2.5 must be an integer"),
        (np.zeros((3, 2)), 1, r"points.shape=\(3, 2\) must be \(B, m, d\)"),
        (np.zeros((1, 0, 2)), 1, "every axis >= 1"),
        (np.full((1, 3, 2), np.nan), 1, r"points\[0, 0, 0\]=nan must be finite"),
        (np.array([[[0.0], [np.inf]]]), 1, r"points\[0, 1, 0\]=inf must be finite"),
        (np.array([[[0.0], [-1e200]]]), 1, "at most 1e"),
    ],
)
@pytest.mark.parametrize("run", [kmeans_pp, spectral_kmeans, approximate_kmeans, seed_kmeans_pp])
def test_bad_input_is_refused_by_name(run, points, k, message):
    with pytest.raises(InvalidParameter, match=message):
        run(points, k, np.random.default_rng(0))
    with pytest.raises(InvalidParameter, match="rng=0 must be a numpy"):
        run(np.zeros((1, 3, 2)), 1, 0)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"max_iter": 0}, "max_iter=0"),
        ({"tol": -1.0}, "tol=-1"),
        ({"tol": math.nan}, "tol=nan"),
        ({"empty": "drop"}, "empty='drop' must be one of relocate, keep"),
    ],
)
def test_bad_options_are_refused_by_name(keywords, message):
    with pytest.raises(InvalidParameter, match=message):
        lloyd(np.zeros((1, 3, 2)), np.zeros((1, 2, 2)), **keywords)


def test_mismatched_centers_are_refused():
    with pytest.raises(InvalidParameter, match=r"centers.shape\[2\]=3 must equal"):
        lloyd(np.zeros((1, 3, 2)), np.zeros((1, 2, 3)))
    with pytest.raises(InvalidParameter, match=r"centers.shape\[0\]=2 must equal"):
        lloyd(np.zeros((1, 3, 2)), np.zeros((2, 2, 2)))


def test_labels_are_nearest_centres_where_empty_clusters_take_points_among_duplicates():
    """Labels that repeat while a centre is moved ended the iteration as converged: 151 of these."""
    for seed in range(4_000):
        rng = np.random.default_rng(seed)
        m = int(rng.integers(2, 9))
        k, d = int(rng.integers(1, m + 1)), int(rng.integers(1, 3))
        points = rng.integers(0, 3, (m, d)) * rng.choice([1.0, 0.1, 1 / 3, 1e-9])
        starts = rng.integers(0, 3, (k, d)) * rng.choice([1.0, 0.1]) + rng.choice([0, 0.1, 1e-17])
        fit = lloyd(points[None], starts[None])
        squares = ((points[:, None] - fit.centers[0][None]) ** 2).sum(axis=2)
        np.testing.assert_array_equal(squares[np.arange(m), fit.labels[0]], squares.min(axis=1))
        assert np.isclose(fit.inertia[0], squares.min(axis=1).sum(), rtol=1e-12, atol=1e-300)


@pytest.mark.interpreted
def test_a_point_that_is_alone_in_its_cluster_is_never_taken():
    """The only point off its centre is alone: the empty cluster stays empty where it was."""
    points = np.array([[[0.0], [0.0], [10.0]]])
    fit = lloyd(points, np.array([[[0.0], [9.0], [1e6]]]))
    assert fit.labels.tolist() == [[0, 0, 1]]
    assert fit.centers[0, :, 0].tolist() == [0.0, 10.0, 1e6]
    # A farther point in a cluster of two is preferred to none, and the lone one stays.
    points = np.array([[[0.0], [1.0], [10.0]]])
    fit = lloyd(points, np.array([[[0.0], [5.5], [1e6]]]), max_iter=1)
    assert fit.centers[0, :, 0].tolist() == [0.0, 10.0, 1.0]


def test_the_best_of_several_starts_is_reported_with_its_own_iterations_and_end():
    """Starts of one data set take the stream one after the other."""
    points = np.random.default_rng(5).standard_normal((1, 40, 2))
    told_apart = 0
    for seed in range(6):
        found = kmeans_pp(points, 4, np.random.default_rng(seed), n_init=5, max_iter=6)
        rng = np.random.default_rng(seed)
        alone = [kmeans_pp(points, 4, rng, max_iter=6) for _ in range(5)]
        best = min(alone, key=lambda fit: fit.inertia[0])
        for name in ("labels", "centers", "inertia", "n_iter", "converged"):
            np.testing.assert_array_equal(getattr(found, name), getattr(best, name))
        told_apart += best.n_iter[0] != alone[-1].n_iter[0]
        told_apart += best.converged[0] != alone[-1].converged[0]
    assert told_apart >= 2


def test_the_lower_bound_of_tiny_points_is_in_the_unit_of_their_cost():
    points = np.random.default_rng(5).standard_normal((1, 8, 2))
    unit = 2.0**-340
    one = approximate_kmeans(points, 2, np.random.default_rng(0))
    tiny = approximate_kmeans(points * unit, 2, np.random.default_rng(0))
    np.testing.assert_allclose(tiny.lower_bound, one.lower_bound * unit**2, rtol=1e-9)
    np.testing.assert_allclose(tiny.cost, one.cost * unit**2, rtol=1e-9)


@pytest.mark.parametrize("shape", [(6, 1, 4), (7, 2, 5), (5, 3, 5)])
def test_core_points_of_centres_that_coincide_are_core_points_of_each(shape):
    """With fewer different points than centres, the first of equal centres had all the points."""
    m, d, k = shape
    points = np.random.default_rng(3).integers(0, 2, (20, m, 1)) * np.ones(d)
    fit = spectral_kmeans(points, k, np.random.default_rng(4))
    nu = fit.part_one.centers @ fit.basis.transpose(0, 2, 1)
    squares = ((points[:, :, None] - nu[:, None]) ** 2).sum(axis=-1)
    for b in range(20):
        sizes = [
            sum(
                all(
                    9.0 * squares[b, i, j] <= squares[b, i, other]
                    for other in range(k)
                    if other != j
                )
                for i in range(m)
            )
            for j in range(k)
        ]
        assert fit.core_sizes[b].tolist() == sizes

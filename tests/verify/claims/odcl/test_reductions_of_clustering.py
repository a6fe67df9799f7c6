"""The steps that the proofs of ODCL's clustering statements argue in words, one by one on data.

A certificate proves the relation between numbers.  These tests try what stands between the data and
the numbers: flows, their balance, projections of means, and the centers of Part I.
"""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist

from trials.clustering.convex import convex_clustering
from trials.clustering.kmeans import STATED_FACTOR, spectral_kmeans, spectral_part_one
from verify.claims.odcl import mean_reductions, path_reductions
from verify.claims.odcl.any_centers import half_way, split_costs, worst_counts
from verify.claims.odcl.data_sets import Clustered
from verify.claims.odcl.kmeans import separation_of_cores
from verify.claims.odcl.windows import window

seeds = st.integers(0, 2**32 - 1)


def clustered(seed, separation, largest=30):
    """Clusters of any sizes in any dimension, at a separation in units of the largest radius."""
    rng = np.random.default_rng(seed)
    k, d = int(rng.integers(2, 5)), int(rng.integers(1, 7))
    sizes = rng.integers(1, largest, k)
    sizes[0] = max(sizes[0], 2)
    labels = np.repeat(np.arange(k), sizes)
    centres = rng.standard_normal((k, d)) + 0.1 * np.arange(k)[:, None]
    noise = rng.standard_normal((labels.size, d)) * rng.exponential(size=(labels.size, 1))
    data = Clustered(centres[labels] + noise, labels)
    return data.shrunk(data.gap / (separation(data) * data.radius))


def x_of(data):
    return math.sqrt(data.m / data.sizes.min())


def cores(data):
    return separation_of_cores(data.symbols) * (1 + 1e-9)


@settings(max_examples=40)
@given(seeds)
def test_the_flows_of_a_cluster_sum_to_its_deviations(seed):
    data = clustered(seed, lambda _data: 3.0)
    for k in range(data.k):
        own = data.points[data.labels == k]
        flows = (own[:, None] - own[None]) / len(own)
        assert flows.sum(axis=1) == pytest.approx(data.deviations[data.labels == k], abs=1e-9)
        longest = float(np.linalg.norm(flows, axis=2).max())
        found = path_reductions.longest_flow(data, k)
        assert found["flow"] == pytest.approx(longest, abs=1e-12)


@settings(max_examples=25)
@given(seeds)
def test_the_balance_asks_for_no_more_than_the_first_meeting(seed):
    data = clustered(seed, lambda _data: 3.0, 5)
    sums = path_reductions.first_meeting(data.centres, data.sizes)
    needed = sums["squares"] / (sums["masses"] * sums["lengths"])
    assert needed <= window(data).merged.high * (1 + 1e-9)
    assert needed >= data.gap / data.m * (1 - 1e-9)


def test_the_balance_of_clusters_that_are_one_at_a_penalty():
    """At the solved penalty the identity behind the sharpened end holds for the fused set."""
    rng = np.random.default_rng(3)
    points = rng.standard_normal((9, 2))
    penalty = 0.6 * float(pdist(points).max()) / 9
    solved = convex_clustering(points, penalty)
    assert solved.certified
    for label in np.unique(solved.labels):
        own = points[solved.labels == label]
        if len(own) > 1:
            distances = pdist(own)
            assert (distances**2).sum() <= penalty * len(own) * distances.sum() * (1 + 1e-9)


@settings(max_examples=40)
@given(seeds)
def test_the_projection_moves_a_mean_by_no_more_than_said(seed):
    data = clustered(seed, cores)
    _, basis = spectral_part_one(data.points[None], data.k, np.random.default_rng(seed))
    moved = data.centres - data.centres @ basis[0] @ basis[0].T
    spectral = np.linalg.norm(data.deviations, 2)
    for k in range(data.k):
        assert np.linalg.norm(moved[k]) <= spectral / math.sqrt(data.sizes[k]) * (1 + 1e-7) + 1e-9
        assert np.linalg.norm(moved[k]) <= x_of(data) * data.radius * (1 + 1e-7) + 1e-9


@settings(max_examples=40)
@given(seeds)
def test_every_point_is_a_core_point_of_its_cluster(seed):
    data = clustered(seed, cores)
    fit = spectral_kmeans(data.points[None], data.k, np.random.default_rng(seed))
    coords, centers = data.points @ fit.basis[0], fit.part_one.centers[0]
    assert float(fit.part_one.cost[0]) <= STATED_FACTOR * data.m * data.radius**2
    reach = 1 + math.sqrt(float(fit.part_one.factor[0])) * x_of(data)
    means = data.centres @ fit.basis[0]
    nearest = np.linalg.norm(means[:, None] - centers[None], axis=2)
    assert nearest.min(axis=1).max() <= reach * data.radius * (1 + 1e-9)
    assert len(set(nearest.argmin(axis=1).tolist())) == data.k
    own = np.linalg.norm(coords - centers[nearest.argmin(axis=1)[data.labels]], axis=1)
    for k, other in itertools.permutations(range(data.k), 2):
        away = np.linalg.norm(coords - centers[nearest.argmin(axis=1)[other]], axis=1)
        mine = data.labels == k
        assert (3 * own[mine] <= away[mine] * (1 + 1e-9)).all()
    assert sorted(fit.core_sizes[0].tolist()) == sorted(data.sizes.tolist())


def test_the_outlier_family_meets_what_its_proof_says():
    for n in (25, 26, 100, 10_000, 10**6):
        line, centers = half_way(n)
        weights = line.first + line.second
        cost = float(weights @ ((line.values[:, None] - centers) ** 2).min(axis=1))
        least = float(split_costs(line)[0].min())
        x = float(line.values[1])
        assert least == pytest.approx(x**2 * (1 - 1 / n), rel=1e-9)
        assert cost == pytest.approx((n - 1) / n + (1 - x) ** 2, rel=1e-9)
        assert cost <= 10 * least
        assert worst_counts(line)[0] >= 1
        assert line.separation() ** 2 / (4 * n) >= 1


def test_the_constant_of_the_family_tends_to_four():
    """So that no constant below four serves Lemma 10, and none above is needed for large c."""
    shares = []
    for n in (10**2, 10**4, 10**6):
        line, _ = half_way(n)
        shares.append(line.separation() ** 2 / n)
    assert shares == sorted(shares, reverse=True)
    assert 4 < shares[-1] < 4.02


def test_the_family_does_not_serve_below_its_first_size():
    line, centers = half_way(9)
    weights = line.first + line.second
    cost = float(weights @ ((line.values[:, None] - centers) ** 2).min(axis=1))
    assert cost > 10 * float(split_costs(line)[0].min())


def test_the_reach_of_a_center_is_rounded_up():
    assert 1 + math.sqrt(10) < float(mean_reductions.REACH) < 1 + math.sqrt(10) + 0.005

"""Part I on drawn fits: its clusters, and its shares far apart and on top of each other."""

import itertools

import numpy as np

from trials.clustering.kmeans import spectral_part_one
from trials.experiments.odcl.part_one import PART_ONE, cluster_labels, unit_optima

CELL = {"k": 3, "size_min": 4, "ratio": 2, "d": 4}


def simulate(**values):
    params = PART_ONE.check({**CELL, **values})
    return PART_ONE.simulate(params, np.random.default_rng(0), 40)


def test_unit_optima_are_one_apart_in_every_dimension():
    for k, d in ((2, 1), (4, 1), (3, 3), (5, 9)):
        optima = unit_optima(k, d)
        gaps = np.linalg.norm(optima[:, None] - optima[None], axis=2)[~np.eye(k, dtype=bool)]
        assert np.isclose(gaps.min(), 1.0)
    assert np.bincount(cluster_labels(3, 4, 2)).tolist() == [4, 8, 8]


def test_far_apart_every_user_is_right():
    out = simulate(distance=1000.0)
    assert (out[:, 0] == 1.0).all()
    assert (out[:, 1] == 0.0).all()


def test_shares_are_those_of_a_clustering_without_separation():
    out = simulate(distance=0.0)
    assert ((out[:, 0] >= 0.0) & (out[:, 0] <= 1.0)).all()
    assert out[:, 0].mean() < 0.9  # labels say nothing about the fits
    assert out[:, 1].mean() > 0.2


def test_shares_of_each_trial_are_those_of_its_best_matching():
    """At a distance at which some trials are recovered and others are not."""
    out = simulate(distance=4.0)
    truth, rng = cluster_labels(3, 4, 2), np.random.default_rng(0)
    points = 4.0 * unit_optima(3, 4)[truth] + rng.standard_normal((40, 20, 4))
    for row, found in zip(out, spectral_part_one(points, 3, rng)[0].labels, strict=True):
        match = max(
            itertools.permutations(range(3)),
            key=lambda name: (np.array(name)[found] == truth).sum(),
        )
        named = np.array(match)[found]
        sizes = np.bincount(truth)
        own = [np.mean(named[truth == j] == j) for j in range(3)]
        foreign = [np.sum(truth[named == j] != j) / sizes[j] for j in range(3)]
        assert row.tolist() == [min(own), max(foreign)]
    assert 5 < (out[:, 0] == 1.0).sum() < 35

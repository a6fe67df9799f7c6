"""Part I on drawn fits: its clusters, and its shares far apart and on top of each other."""

import numpy as np

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

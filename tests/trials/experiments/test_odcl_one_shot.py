"""The experiment on recovery: its comparison of partitions and its two extremes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from trials.experiments.odcl.one_shot import ONE_SHOT, same_partition


def test_partitions_are_compared_up_to_names():
    truth, k = np.array([0, 0, 1, 2]), 3
    labels = np.array(list(itertools.product(range(k), repeat=truth.size)))

    def sets(row):
        return {frozenset(np.flatnonzero(row == j)) for j in set(row.tolist())}

    expected = [sets(row) == sets(truth) for row in labels]
    assert same_partition(labels, truth, k).tolist() == [float(e) for e in expected]


@pytest.mark.parametrize(("n", "recovered"), [(10**8, 1.0), (5, 0.0)])
def test_clusters_are_recovered_with_many_samples_and_not_with_few(n, recovered):
    params = ONE_SHOT.check({"n": n, "k": 3, "Delta": 0.1, "size_k": 8, "size_min": 8})
    table = ONE_SHOT.simulate(params, np.random.default_rng(0), 20)
    assert (table[:, 0] == recovered).all()
    if recovered:
        np.testing.assert_allclose(table[:, 2], table[:, 3])

"""The geometry of clustered data sets against the definitions written out."""

import itertools

import numpy as np
import pytest

from verify.claims.odcl.data_sets import Clustered, data_sets
from verify.claims.odcl.separability import center_separation


def drawn(n, seed):
    return [Clustered.of(p) for p in data_sets().sample(np.random.default_rng(seed), n)]


def test_radius_gap_and_sizes_are_those_of_the_definitions():
    for data in drawn(40, 1):
        groups = [data.points[data.labels == j] for j in range(data.k)]
        means = [sum(g) / len(g) for g in groups]
        radius = max(np.linalg.norm(a - mu) for g, mu in zip(groups, means, strict=True) for a in g)
        gap = min(np.linalg.norm(a - b) for a, b in itertools.combinations(means, 2))
        assert data.radius == pytest.approx(radius, rel=1e-12)
        assert data.gap == pytest.approx(gap, rel=1e-12)
        sizes = sorted(len(g) for g in groups)
        assert data.symbols["size_min"] == sizes[0]
        assert data.symbols["size_second"] == sizes[1]
        assert data.symbols["m"] == sum(sizes)


def test_definition_3_is_that_of_the_matrices():
    for data in drawn(40, 2):
        a = data.points
        c = np.array([a[data.labels == label].mean(axis=0) for label in data.labels])
        root = np.sqrt(np.linalg.eigvalsh((a - c).T @ (a - c))[-1])
        frobenius = np.sqrt(((a - c) ** 2).sum())
        deltas = [
            min(np.sqrt(data.k) * root, frobenius) / np.sqrt(size) for size in data.sizes.tolist()
        ]
        largest = max(x + y for x, y in itertools.combinations(deltas, 2))
        assert center_separation(data, 3.0) == pytest.approx(3.0 * largest, rel=1e-9, abs=1e-12)

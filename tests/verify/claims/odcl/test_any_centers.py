"""The worst centers on a line, against a grid of centers."""

import numpy as np
import pytest

from verify.claims.odcl import any_centers
from verify.claims.odcl.any_centers import Line

POINT = {"c": 12.0, "outliers": 2, "others": 1, "beyond": 0.05, "reach_back": 0.4, "ratio": 3.0}


def test_the_clusters_are_the_smallest_that_meet_definition_3():
    line = any_centers.line_of(POINT)
    assert 12.0 <= line.separation() < 12.1
    assert line.first.sum() * 3.0 == pytest.approx(line.second.sum())


def test_points_that_coincide_are_separated_for_every_constant():
    line = Line(np.array([0.0, 1.0]), np.array([3.0, 0.0]), np.array([0.0, 2.0]))
    assert line.separation() == np.inf
    assert any_centers.worst_share(line) == 0.0


def test_no_centers_of_a_grid_are_cheaper_or_worse():
    values = np.array([0.0, 0.45, 1.0])
    line = Line(values, np.array([60.0, 3.0, 0.0]), np.array([0.0, 0.0, 40.0]))
    weights = line.first + line.second
    own, moved = any_centers.split_costs(line)
    grid = np.linspace(-0.5, 1.5, 401)
    first, second = np.meshgrid(grid, grid, indexing="ij")
    left, right = first[first < second], second[first < second]
    nearest = np.minimum((values[:, None] - left) ** 2, (values[:, None] - right) ** 2)
    costs = weights @ nearest
    assert costs.min() == pytest.approx(own.min(), rel=1e-2)
    assert costs.min() >= own.min() * (1 - 1e-12)
    after = np.searchsorted(values, (left + right) / 2, side="right") - 1
    worst = 0.0
    for j in range(values.size - 1):
        inside = after == j
        assert costs[inside].min() >= moved[j] * (1 - 1e-12)
        assert costs[inside].min() == pytest.approx(moved[j], rel=0.1)
        if (costs[inside] <= 10 * own.min()).any():
            lost = max(line.first[j + 1 :].sum(), line.second[: j + 1].sum())
            worst = max(worst, lost / 40.0)
    assert any_centers.worst_share(line) >= worst > 0.0

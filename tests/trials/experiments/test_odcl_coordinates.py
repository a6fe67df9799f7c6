"""The bounded design in several dimensions: its exact law against least squares on samples."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from trials.experiments.odcl.one_shot import COORDINATES, local_fits

USERS = 4000


def fits_of_samples(n, sigma, optimum, rng):
    """Least squares of smallest norm on drawn samples, (USERS, d)."""
    d = optimum.size
    shown = rng.integers(d, size=(USERS, n))
    x = np.sqrt(d) * np.eye(d)[shown]
    y = x @ optimum + sigma * rng.choice([-1.0, 1.0], size=(USERS, n))
    return np.einsum("udn,un->ud", np.linalg.pinv(x), y)


@pytest.mark.parametrize("n", [2, 30])
def test_local_fits_have_the_law_of_least_squares(n):
    rng, optimum = np.random.default_rng(0), np.array([1.0, -2.0, 0.5])
    slow = fits_of_samples(n, 0.7, optimum, rng)
    fast = local_fits(n, 0.7, np.tile(optimum, (USERS, 1)), rng)
    for seen, drawn in zip(slow.T, fast.T, strict=True):
        # equal laws: a p-value below 1e-7 has a probability below 1e-6 over the six tests
        assert stats.ks_2samp(seen.round(9), drawn.round(9)).pvalue > 1e-7
    assert slow.mean(axis=0) == pytest.approx(fast.mean(axis=0), abs=6 * 2.0 / np.sqrt(USERS))


def test_with_many_samples_the_error_is_that_of_the_true_mean():
    cell = {"n": 10**8, "d": 5, "size_k": 8, "size_min": 4, "Delta": 0.1, "sigma": 2.0}
    table = COORDINATES.simulate(COORDINATES.check(cell), np.random.default_rng(0), 2000)
    assert (table[:, 1] == 1.0).all()
    expected = 2.0**2 * 5 / (10**8 * 8)
    # the mean of 2000 squared errors has a relative deviation of sqrt(2 / (5 * 2000)): six of it
    assert table[:, 0].mean() == pytest.approx(expected, rel=6 * np.sqrt(2 / 10_000))


def test_with_few_samples_the_clusters_are_not_found():
    cell = {"n": 3, "d": 5, "size_k": 8, "size_min": 8, "Delta": 0.1, "sigma": 2.0}
    table = COORDINATES.simulate(COORDINATES.check(cell), np.random.default_rng(0), 50)
    assert table[:, 1].mean() < 0.1

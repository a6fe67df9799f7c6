"""The exact law of least squares against solved systems."""

import math

import numpy as np
import pytest
from scipy import stats

from trials.checks import InvalidParameter
from trials.laws import least_squares as ls

SIGMA = 0.7


def solved(n, d, n_trials, rng):
    out = np.empty((n_trials, d))
    for trial in range(n_trials):
        x = rng.standard_normal((n, d))
        out[trial] = np.linalg.lstsq(x, SIGMA * rng.standard_normal(n), rcond=None)[0]
    return out


@pytest.mark.statistical
@pytest.mark.parametrize(("n", "d"), [(1, 1), (3, 3), (8, 3), (30, 10)])
def test_errors_have_the_law_of_the_solution(n, d):
    rng = np.random.default_rng(31)
    ours, theirs = ls.errors(n, d, SIGMA, rng, 3000), solved(n, d, 3000, rng)
    norm = np.sum(theirs**2, axis=1)
    # 12 Kolmogorov-Smirnov tests at 1e-6 each, seed fixed
    assert stats.ks_2samp(ours[:, 0], theirs[:, 0]).pvalue > 1e-6
    assert stats.ks_2samp(np.sum(ours**2, axis=1), norm).pvalue > 1e-6
    assert stats.kstest(norm, lambda t: ls.squared_error_cdf(t, n, d, SIGMA)).pvalue > 1e-6


@pytest.mark.statistical
def test_mean_squared_error():
    n, d, n_trials = 60, 10, 200_000
    squared = np.sum(ls.errors(n, d, SIGMA, np.random.default_rng(32), n_trials) ** 2, axis=1)
    standard_error = squared.std() / math.sqrt(n_trials)
    # six standard errors: false alarm 2e-9
    assert abs(squared.mean() - SIGMA**2 * d / (n - d - 1)) < 6 * standard_error


@pytest.mark.parametrize("args", [(2, 3, 1.0), (3, 0, 1.0), (3, 2, -1.0), (3, 2, math.nan)])
def test_impossible_sizes_are_refused(args):
    with pytest.raises(InvalidParameter):
        ls.errors(*args, np.random.default_rng(0), 1)
    with pytest.raises(InvalidParameter):
        ls.squared_error_cdf(1.0, *args)


def test_noiseless_error_has_no_density():
    assert np.all(ls.errors(5, 2, 0.0, np.random.default_rng(0), 3) == 0)
    with pytest.raises(InvalidParameter, match="sigma=0"):
        ls.squared_error_cdf(1.0, 5, 2, 0.0)


@pytest.mark.parametrize(
    ("sigma", "rel"), [(2.0**-520, 1e-14), (2.0**-530, 1e-4), (2.0**240, 1e-14)]
)
def test_squared_errors_have_no_unit(sigma, rel):
    """Squares of 2^-530 are so small that t itself has few digits, but sigma has them all."""
    plain = ls.squared_error_cdf([0.25, 0.5, 1.0], 20, 10, 1.0)
    scaled = ls.squared_error_cdf(np.array([0.25, 0.5, 1.0]) * sigma * sigma, 20, 10, sigma)
    assert scaled == pytest.approx(plain, rel=rel)
    assert ls.squared_error_cdf(1e150, 20, 10, 1e-300) == 1.0

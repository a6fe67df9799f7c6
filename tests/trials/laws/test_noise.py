"""Noise terms: the product law against Bessel functions, the singular values against SVD."""

import itertools
import math

import mpmath as mp
import numpy as np
import pytest
from scipy import integrate, special, stats

from trials.checks import InvalidParameter
from trials.laws import noise

LEVEL = 1e-6  # every Kolmogorov-Smirnov test below; fewer than 40 of them, seeds fixed


def exact_log_sf(t, N, d):
    """log P(chi2_N chi2_d > t^2): |X^T eps| has a Bessel density, integrated adaptively."""
    a, b = N / 2, d / 2
    log_scale = (a + b - 2) * math.log(2) + special.gammaln(a) + special.gammaln(b)

    def log_density(r):
        return (a + b - 1) * np.log(r) + np.log(special.kve(a - b, r)) - r - log_scale

    mode = max(t, math.sqrt(N * d))
    top = log_density(mode)
    knots = np.unique([t, mode, *(mode + np.array([5.0, 20.0, 60.0, 200.0]))])
    total = sum(
        integrate.quad(lambda r: math.exp(log_density(r) - top), lo, hi, epsrel=1e-13, limit=200)[0]
        for lo, hi in itertools.pairwise(knots)
    )
    return top + math.log(total)


@pytest.mark.parametrize(
    ("N", "d"), [(10**5, 10), (10**9, 10), (10, 10**9), (10**13, 1), (10**15, 6)]
)
def test_large_samples_keep_their_digits(N, d):
    """Against 40-digit quadrature.  Log-gammas in double precision had an error of 3e-7 at N =
    10^9.
    """
    t = math.sqrt(N * d)
    with mp.workdps(40):
        half, small = mp.mpf(max(N, d)) / 2, mp.mpf(min(N, d)) / 2

        def integrand(y):
            density = half * (y - mp.log(2)) - mp.exp(y) / 2 - mp.loggamma(half)
            x = (1.5 * mp.mpf(t)) ** 2 / 2 * mp.exp(-y)
            return mp.exp(density) * mp.gammainc(small, x, mp.inf, regularized=True)

        knots = [mp.log(2 * half) + i / mp.sqrt(half) for i in (-12, -6, -3, 0, 3, 6, 12)]
        above = mp.log(mp.quad(integrand, knots))
    assert float(noise.noise_log_sf(1.5 * t, N, d, 1.0) - above) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(("N", "d"), [(1, 1), (2, 7), (30, 4), (50, 50)])
@pytest.mark.parametrize("level", [0.05, 0.7, 1.0, 1.6, 4.0])
def test_survival_function_agrees_with_the_bessel_density(N, d, level):
    t = level * math.sqrt(N * d)
    exact = exact_log_sf(t, N, d)
    assert float(noise.noise_log_sf(t * 0.3, N, d, 0.3)) == pytest.approx(exact, abs=3e-10)


def test_far_tails_do_not_underflow():
    """N = d = 1: |X^T eps| = |g g'| has the density (2/pi) K_0."""
    t = 2000.0
    with mp.workdps(30):  # the weight exp(t) keeps the integral above mpmath's absolute goal
        weighted = mp.quad(
            lambda r: mp.exp(t) * 2 / mp.pi * mp.besselk(0, r), [t, t + 5, t + 20, t + 80]
        )
        exact = mp.log(weighted) - t
    assert float(noise.noise_log_sf(t, 1, 1, 1.0)) == pytest.approx(float(exact), abs=3e-10)
    assert noise.noise_log_sf(0.0, 3, 5, 1.0) == 0.0
    large = float(noise.noise_log_sf(1.5e4, 10**4, 10**4, 1.0))
    # log-gammas of 5000 leave 1e-10 in either
    assert large == pytest.approx(exact_log_sf(1.5e4, 10**4, 10**4), abs=1e-8)
    assert -1000 < large < -900


@pytest.mark.statistical
@pytest.mark.parametrize(("N", "d"), [(1, 4), (6, 1), (5, 8)])
def test_noise_norms_have_the_law_of_the_data(N, d):
    rng = np.random.default_rng(41)
    ours = noise.noise_norms(N, d, 0.5, rng, 4000)
    x = rng.standard_normal((4000, N, d))
    xt_eps = np.linalg.norm(
        np.einsum("tnd,tn->td", x, 0.5 * rng.standard_normal((4000, N))), axis=1
    )
    frobenius = np.sqrt(np.sum(x**2, axis=(1, 2)))
    assert stats.ks_2samp(ours[0], xt_eps).pvalue > LEVEL
    assert stats.ks_2samp(ours[1], frobenius).pvalue > LEVEL
    # the joint law too: a third direction
    assert stats.ks_2samp(ours[0] / ours[1], xt_eps / frobenius).pvalue > LEVEL
    few = xt_eps[:1000]  # the distribution function takes a third of a millisecond a number
    assert stats.kstest(few, lambda t: -np.expm1(noise.noise_log_sf(t, N, d, 0.5))).pvalue > LEVEL


@pytest.mark.parametrize("r", [1, 2, 7, 40])
def test_extreme_singular_values_of_a_given_bidiagonal(r):
    rng = np.random.default_rng(42)
    diagonal, above = rng.chisquare(3, (5, r)), rng.chisquare(3, (5, r - 1))
    out = np.empty((5, 2))
    noise.extreme_singular_values(diagonal, above, out)
    for trial in range(5):
        matrix = np.diag(np.sqrt(diagonal[trial])) + np.diag(np.sqrt(above[trial]), 1)
        values = np.linalg.svd(matrix, compute_uv=False)
        np.testing.assert_allclose(out[trial], values[[0, -1]], rtol=1e-12, atol=1e-14)


def test_smallest_singular_value_keeps_relative_accuracy():
    """Diagonal 1, above 3: s_min of order 3^-n, lost in X^T X from n = 17 on."""
    n = 30
    out = np.empty((1, 2))
    noise.extreme_singular_values(np.ones((1, n)), np.full((1, n - 1), 9.0), out)
    with mp.workdps(60):
        matrix = mp.matrix(n, n)
        for i in range(n):
            matrix[i, i] = 1
            if i + 1 < n:
                matrix[i, i + 1] = 3
        smallest = mp.sqrt(min(mp.eigsy(matrix.T * matrix, eigvals_only=True)))
    assert out[0, 1] == pytest.approx(float(smallest), rel=1e-12, abs=0.0)  # it is near 1e-14


@pytest.mark.statistical
@pytest.mark.parametrize(("N", "d"), [(1, 1), (1, 6), (5, 5), (12, 4), (4, 12)])
def test_extreme_singular_values_have_the_law_of_the_svd(N, d):
    rng = np.random.default_rng(43)
    s_max, s_min = noise.gaussian_singular_values(N, d, rng, 4000)
    values = np.linalg.svd(rng.standard_normal((4000, N, d)), compute_uv=False)
    assert stats.ks_2samp(s_max, values[:, 0]).pvalue > LEVEL
    assert stats.ks_2samp(s_min, values[:, -1]).pvalue > LEVEL
    assert stats.ks_2samp(s_max - s_min, values[:, 0] - values[:, -1]).pvalue > LEVEL


@pytest.mark.parametrize(("N", "d"), [(9, 4), (4, 9), (70, 60)])
@pytest.mark.parametrize("n_trials", [0, 1, 6, 7])
def test_matrices_drawn_in_parts_are_the_bidiagonal_ones_of_the_stream(monkeypatch, N, d, n_trials):
    """Three trials a part, the last part of one, against NumPy's SVD of each matrix."""
    long, short = max(N, d), min(N, d)
    monkeypatch.setattr(noise, "_ENTRIES", 3 * short + 1)
    s_max, s_min = noise.gaussian_singular_values(N, d, np.random.default_rng(8), n_trials)
    twin, expected = np.random.default_rng(8), []
    for first in range(0, n_trials, 3):
        size = min(3, n_trials - first)
        diagonal = np.sqrt(twin.chisquare(long - np.arange(short), (size, short)))
        above = np.sqrt(twin.chisquare(np.arange(short - 1, 0, -1), (size, short - 1)))
        for on, off in zip(diagonal, above, strict=True):
            expected.append(np.linalg.svd(np.diag(on) + np.diag(off, 1), compute_uv=False)[[0, -1]])
    assert len(s_max) == len(s_min) == n_trials
    found = np.column_stack([s_max, s_min])
    np.testing.assert_allclose(found, np.reshape(expected, (-1, 2)), rtol=1e-10, atol=1e-13)


def test_a_matrix_larger_than_a_part_is_drawn_alone(monkeypatch):
    monkeypatch.setattr(noise, "_ENTRIES", 3)
    s_max, s_min = noise.gaussian_singular_values(5, 5, np.random.default_rng(9), 3)
    assert np.all(s_max >= s_min)
    assert np.all(s_min > 0)


def test_large_matrices_sit_at_the_marchenko_pastur_edges():
    s_max, s_min = noise.gaussian_singular_values(10_000, 2_500, np.random.default_rng(44), 2)
    # fluctuations are of order N^(-1/6) = 0.2, so 3 is far beyond any of them
    np.testing.assert_allclose(s_max, 150, atol=3)
    np.testing.assert_allclose(s_min, 50, atol=3)


@pytest.mark.parametrize("args", [(0, 3, 1.0), (3, 0, 1.0), (3, 3, -1.0), (3, 3, math.nan)])
def test_impossible_sizes_are_refused(args):
    with pytest.raises(InvalidParameter):
        noise.noise_log_sf(1.0, *args)


def test_zero_noise_has_no_density():
    with pytest.raises(InvalidParameter, match="sigma=0"):
        noise.noise_log_sf(1.0, 3, 3, 0.0)


def test_a_norm_exceeds_zero_and_every_negative_number() -> None:
    """At -t the probability is one, whatever it is at t."""
    below, at_zero, above = noise.noise_log_sf([-3.0, 0.0, 3.0], 4, 2, 1.0)
    assert below == at_zero == 0.0
    assert above == noise.noise_log_sf(3.0, 4, 2, 1.0) < -0.1


@pytest.mark.parametrize("sigma", [5e-323, 2.0**-530, 1.0, 2.0**400])
def test_the_noise_has_no_unit(sigma):
    """The squares of sigma = 1e-159 had lost all but three of their digits."""
    plain = noise.noise_log_sf([1.0, 3.0, 30.0], 5, 3, 1.0)
    scaled = noise.noise_log_sf(sigma * np.array([1.0, 3.0, 30.0]), 5, 3, sigma)
    assert scaled == pytest.approx(plain, rel=1e-12)


@pytest.mark.parametrize("ratio", [1e90, 1e99, 1e101, 1e120, 1e300])
def test_the_farthest_tails_are_those_of_an_exponential_law(ratio):
    """P(|X^T eps| > t) is exp(-t) up to a power of t.  Beyond 1e100 the tail of 1e100 was given."""
    sigma = 1e-250 if ratio == 1e300 else 1.0
    found = noise.noise_log_sf([ratio * sigma, -ratio * sigma], 5, 3, sigma)
    assert found[0] == pytest.approx(-ratio, rel=1e-12)
    assert found[1] == 0.0

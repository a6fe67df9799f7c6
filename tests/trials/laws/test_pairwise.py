"""The pairwise law against mpmath, the F law of SciPy, and real data."""

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from trials.checks import InvalidParameter
from trials.laws import pairwise as pw
from verify.testing.strategies import closeness, initialisations, positive, seeds

few = settings(deadline=None, max_examples=80)


def products(theta_a, theta_b, theta_star, sigma):
    u1, u2 = theta_a - theta_star, theta_b - theta_star
    return u1 @ u1, u1 @ u2, u2 @ u2, sigma**2


@pytest.mark.parametrize("n", [1, 2, 3, 10, 79, 80, 81, 1000, 10**6])
def test_log_tail_agrees_with_mpmath(n):
    with mp.workdps(40):
        for t in (1e-3, 0.5, 1.7, 1.74, 2.0, 5.0, 20.0, 45.0):
            x = t / math.sqrt(n)
            y = 1 / (1 + mp.mpf(x) ** 2)
            exact = mp.log(mp.betainc(mp.mpf(n) / 2, mp.mpf(1) / 2, 0, y, regularized=True) / 2)
            # relative error of the logarithm.  The rounding of a = n/2 times log1p dominates
            assert abs(pw.log_tail(x, float(n)) / exact - 1) < 1e-13 + 2e-17 * n
            if exact > -600:  # beyond, 1 - P rounds to one
                below = mp.log1p(-mp.exp(exact))
                assert abs(pw.log_tail(-x, float(n)) / below - 1) < 1e-12 + 2e-17 * n


def log_tail_by_quadrature(x, n):
    """log P(t_n >= sqrt(n) x) from the density, for x >= 0, over intervals of its own decay."""
    with mp.workdps(30):
        n, z = mp.mpf(n), mp.mpf(x) * mp.sqrt(n)
        at = mp.log1p(z * z / n)
        unit = 1 / (1 + (n + 1) * z / (n + z * z))
        total = mp.quad(
            lambda v: mp.exp(-(n + 1) / 2 * (mp.log1p((z + unit * v) ** 2 / n) - at)),
            [0, 1, 3, 8, 20, 50, 120],
        )
        # log Gamma(a + 1/2) - log Gamma(a) - log(a) / 2 without the cancellation of its terms
        gammas = -1 / (4 * n) + 1 / (24 * n**3)
        return float(
            gammas - mp.log(2 * mp.pi) / 2 - (n + 1) / 2 * at + mp.log(unit) + mp.log(total)
        )


@pytest.mark.parametrize("n", [9.9e6, 1e7, 1e9, 1e12, 1e15, 1e18])
def test_log_tail_keeps_its_digits_with_very_many_samples(n):
    """The continued fraction lost 1e-16 n of the logarithm: at 1e15 samples it was wrong by 1 %."""
    for t in (1e-8, 0.1, 1.0, 1.7, 1.74, 2.0, 5.0, 24.0, 25.0, 1e3, 0.09 * n**0.5, n**0.5):
        x = t / math.sqrt(n)
        exact = log_tail_by_quadrature(x, n)
        assert pw.log_tail(x, n) == pytest.approx(exact, rel=1e-12 if n >= 1e7 else 1e-9)
        if t < 20.0:
            below = math.log1p(-math.exp(exact))
            assert pw.log_tail(-x, n) == pytest.approx(below, rel=1e-9)
    assert pw.log_tail(1e-300, n) == pytest.approx(-math.log(2.0), rel=1e-15)
    # far out P is the first term of its series, y^(n/2) / (n B(n/2, 1/2))
    far = -n * math.log(1e200) - 0.5 * math.log(2.0 * math.pi * n)
    assert pw.log_tail(1e200, n) == pytest.approx(far, rel=1e-14)
    lower = pw.log_tail_probability([0.5, 0.1, -0.1, math.nan], n, ties=0.5)
    assert (np.diff(lower[:3]) > 0.0).all()
    assert lower[3] == math.log(0.5)


def eigenvalues(u1_sq, u12, u2_sq, s_sq):
    """l_+ and l_- of S diag(1, -1) in 50 digits: the roots of its characteristic polynomial."""
    with mp.workdps(50):
        u1_sq, u12, u2_sq, s_sq = (mp.mpf(float(v)) for v in (u1_sq, u12, u2_sq, s_sq))
        a, b, c = u1_sq + s_sq, u2_sq + s_sq, u12 + s_sq
        root = mp.sqrt((a - b) ** 2 + 4 * (a * b - c * c))
        return float((a - b + root) / 2), float((b - a + root) / 2)


def chernoff_exponent(u1_sq, u12, u2_sq, s_sq, n):
    """(n/2) log((1 + r)^2 / (4 r)) with r = l_- / l_+."""
    plus, minus = eigenvalues(u1_sq, u12, u2_sq, s_sq)
    return n / 2 * math.log((plus + minus) ** 2 / (4 * plus * minus))


def test_far_tail_does_not_underflow():
    value = pw.log_misidentification_probability(0.0, 0.0, 1.0, 1.0, 20_000)
    assert value < -2000
    exponent = chernoff_exponent(0.0, 0.0, 1.0, 1.0, 20_000)
    assert exponent < -value < exponent + 10


@few
@given(
    st.floats(0, 1e3), st.floats(-1, 1), st.floats(0, 1e3), st.floats(1e-3, 1e3), st.integers(1, 60)
)
def test_law_is_the_f_tail(u1, cosine, u2, s_sq, n):
    u12 = cosine * u1 * u2
    plus, minus = eigenvalues(u1**2, u12, u2**2, s_sq)
    assume(min(plus, minus) > 1e-9 * (plus + minus))
    ours = np.exp(pw.log_misidentification_probability(u1**2, u12, u2**2, s_sq, n))
    assert ours == pytest.approx(stats.f.sf(minus / plus, n, n), rel=1e-6, abs=1e-300)


def test_the_margin_survives_cancellation():
    """Nearly collinear models, tiny noise: A B - c^2 is 1e-14 of A B."""
    t = 1.0 + 2.0**-20
    u1_sq, u12, u2_sq, s_sq = 1.0, t, t * t, 1e-4
    with mp.workdps(50):
        a, b = mp.mpf(u1_sq) + mp.mpf(s_sq), mp.mpf(u2_sq) + mp.mpf(s_sq)
        c = mp.mpf(u12) + mp.mpf(s_sq)
        x = (b - a) / (2 * mp.sqrt(a * b - c * c))
    found, _ = pw.margin(np.array([1.0]), np.array([t]), np.zeros(1), 1e-2)
    assert abs(found / x - 1) < 1e-9


@pytest.mark.parametrize("unit", [1.0, 2.0**600, 2.0**-600])
def test_products_of_nearly_parallel_errors_keep_their_digits(unit):
    """Fractions.  The determinant is a few roundings of its products, and its sign is exact."""
    rng, certain = np.random.default_rng(0), 0
    for u1_sq, u12 in rng.uniform(1.0, 2.0, (60, 2)):
        above = u12 * u12 / u1_sq  # of u2, up to a rounding
        for u2_sq in (
            above * (1 - 2.0**-52),
            above,
            above * (1 + 2.0**-51),
            above * (1 + 2.0**-40),
        ):
            one, both, two = (Fraction(float(value)) for value in (u1_sq, u12, u2_sq))
            exact = one * two - both**2
            found = float(pw.margin_from_products(u1_sq * unit, u12 * unit, u2_sq * unit, 0.0))
            if exact <= 0:
                certain += 1
                assert found == math.copysign(math.inf, two - one)
            else:
                with mp.workdps(40):
                    root = mp.sqrt(mp.mpf(exact.numerator) / exact.denominator)
                    margin = mp.mpf(u2_sq - u1_sq) / (2 * root)
                assert abs(found / margin - 1) < 1e-12
    assert 60 < certain < 150


@few
@given(initialisations(), st.integers(1, 500))
def test_margin_from_vectors_is_margin_from_products(case, n):
    mixture, _, _, theta = case
    sigma = mixture.sigma + 0.1 * mixture.Delta
    x, root = pw.margin(theta[0], theta[1], mixture.theta_star[0], sigma)
    values = products(theta[0], theta[1], mixture.theta_star[0], sigma)
    assert x == pytest.approx(float(pw.margin_from_products(*values)), rel=1e-7, abs=1e-9)
    plus, minus = eigenvalues(*values)
    assert root**2 == pytest.approx(plus * minus, rel=1e-7)
    probability = pw.log_misidentification_probability(*values, n)
    if x >= 0:  # Chernoff's bound holds for every margin on the right side
        assert probability <= -chernoff_exponent(*values, n) + 1e-12


@few
@given(closeness, st.floats(1e-3, 1e3), st.integers(1, 1000))
def test_adversarial_exponent_does_not_depend_on_alpha(alpha, rho, n):
    """k = 2, models moved towards each other on the segment: (n/2) log(1 + rho/4)."""
    shift = 0.5 - alpha
    sigma_sq = 1 / rho
    own, other = shift, 1 - shift
    exponent = chernoff_exponent(own**2, own * other, other**2, sigma_sq, n)
    assert exponent == pytest.approx(n / 2 * math.log1p(rho / 4), rel=1e-9)


@settings(deadline=None, max_examples=300)
@given(closeness, st.floats(1e-3, 1e3), seeds, st.integers(1, 5), st.booleans())
def test_sharper_lemma_1_holds_under_the_closeness_condition(alpha, rho, seed, d, inside):
    r"""P <= exp(-n (log 2 / 2) alpha^2 rho / (rho + 1)), everywhere Assumption 1 allows.

    Lemma 1 prints (alpha rho / (rho + 1))^2 with an unspecified constant.
    """
    rng = np.random.default_rng(seed)
    theta_star = np.zeros((2, d))
    theta_star[1, 0] = 1.0
    moves = rng.standard_normal((2, d))
    moves *= (0.5 - alpha) / np.linalg.norm(moves, axis=1, keepdims=True)
    if inside:
        moves *= rng.random((2, 1))
    theta = theta_star + moves
    x, _ = pw.margin(theta[0], theta[1], theta_star[0], 1 / math.sqrt(rho))
    assert x >= 0
    exponent = 0.5 * math.log1p(x * x)
    assert exponent >= 0.5 * math.log(2) * alpha**2 * rho / (rho + 1) * (1 - 1e-12)


def test_the_worst_direction_is_orthogonal_not_adversarial():
    alpha, sigma = 0.1, 1e-2
    theta_star = np.array([[0.0, 0.0], [1.0, 0.0]])
    towards = np.array([[0.4, 0.0], [0.6, 0.0]])
    across = np.array([[0.0, 0.4], [0.6, 0.0]])
    adversarial, _ = pw.margin(towards[0], towards[1], theta_star[0], sigma)
    orthogonal, _ = pw.margin(across[0], across[1], theta_star[0], sigma)
    assert adversarial == pytest.approx(1 / (2 * sigma))
    r, far = 0.5 - alpha, 0.5 + alpha
    by_hand = alpha / math.sqrt((r * far) ** 2 + sigma**2 * (r**2 + far**2))
    assert orthogonal == pytest.approx(by_hand)
    assert orthogonal < adversarial / 100


@pytest.mark.statistical
@pytest.mark.parametrize("n", [1, 2, 7])
def test_law_agrees_with_data(n):
    rng = np.random.default_rng(100 + n)
    d, sigma, n_trials = 4, 0.6, 40_000
    for _ in range(3):
        theta_star, theta_a, theta_b = rng.standard_normal((3, d))
        x = rng.standard_normal((n_trials, n, d))
        y = x @ theta_star + sigma * rng.standard_normal((n_trials, n))
        own = np.sum((y - x @ theta_a) ** 2, axis=1)
        other = np.sum((y - x @ theta_b) ** 2, axis=1)
        count = int(np.sum(other <= own))
        log_p = pw.log_misidentification_probability(
            *products(theta_a, theta_b, theta_star, sigma), n
        )
        p = math.exp(log_p)
        # 9 exact binomial tests at 1e-5 each: false alarm below 1e-4, seed fixed
        assert stats.binomtest(count, n_trials, p).pvalue > 1e-5


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("x0", "n"), [(-2.0, 3), (0.0, 1), (0.3, 5), (1.5, 1), (2.0, 40), (0.2, 4000)]
)
def test_tail_draw_has_the_conditional_student_law(x0, n):
    rng = np.random.default_rng(7)
    draws = np.array([pw.tail_draw(x0, float(n), rng) for _ in range(4000)])
    assert draws.min() > x0
    law = stats.t(n)
    uniform = law.sf(draws * math.sqrt(n)) / law.sf(x0 * math.sqrt(n))
    # 6 tests at 1e-5 each: false alarm below 1e-4, seed fixed
    assert stats.kstest(uniform, "uniform").pvalue > 1e-5


def test_degenerate_pairs():
    zero, one = np.zeros(2), np.array([1.0, 0.0])
    # equal models: a certain tie, to the smaller index
    assert math.isnan(pw.margin(one, one, zero, 1.0)[0])
    assert pw.log_misidentification_probability(1.0, 1.0, 1.0, 0.5, 3) == -math.inf
    assert pw.log_misidentification_probability(1.0, 1.0, 1.0, 0.5, 3, ties=1.0) == 0.0
    # noiseless and collinear: certain
    assert pw.margin(zero, one, zero, 0.0)[0] == math.inf
    assert pw.margin(one, zero, zero, 0.0)[0] == -math.inf
    assert pw.log_misidentification_probability(0.0, 0.0, 1.0, 0.0, 3) == -math.inf
    assert pw.log_misidentification_probability(1.0, 0.0, 0.0, 0.0, 3) == 0.0
    # noiseless mirror images: a certain tie
    assert math.isnan(pw.margin(one, -one, zero, 0.0)[0])
    # own model perfect: x = |u2| / (2 sigma)
    assert pw.margin(zero, one, zero, 0.25)[0] == pytest.approx(2.0)
    assert pw.log_tail(math.inf, 5.0) == -math.inf
    assert pw.log_tail(0.0, 5.0) == pytest.approx(math.log(0.5))
    assert math.isnan(pw.log_tail(math.nan, 5.0))


@pytest.mark.parametrize(
    "args", [(-1.0, 0, 1, 1, 3), (1, 0, 1, math.nan, 3), (1, 5, 1, 1, 3), (1, 0, 1, 1, 0)]
)
def test_impossible_products_are_refused(args):
    with pytest.raises(InvalidParameter):
        pw.log_misidentification_probability(*args)


@few
@given(positive, st.integers(1, 100))
def test_scale_invariance(scale, n):
    plain = pw.log_misidentification_probability(0.1, 0.05, 0.9, 0.3, n)
    scaled = pw.log_misidentification_probability(
        0.1 * scale, 0.05 * scale, 0.9 * scale, 0.3 * scale, n
    )
    assert scaled == pytest.approx(float(plain), rel=1e-9)

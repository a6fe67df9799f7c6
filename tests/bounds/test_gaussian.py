"""The exact laws of `bounds.gaussian` against scipy, mpmath, simulation and `trials.laws`."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import special, stats

from bounds import gaussian as exact
from bounds.statement import OutsideTheorem, evaluate
from trials.laws import least_squares as law_of_least_squares
from trials.laws import pairwise as law

quick = settings(max_examples=60, deadline=None)
ratios = st.floats(1.0, 1e6)
vectors = st.tuples(*[st.floats(-3, 3)] * 6).map(lambda v: (np.array(v[:3]), np.array(v[3:])))


def eigenvalue_ratio(u_a, u_b, sigma_sq):
    """l_-/l_+ from the eigenvalues of S diag(1, -1) in 60 digits: the definition itself."""
    with mpmath.workdps(60):
        a, b = ([mpmath.mpf(float(x)) for x in u] for u in (u_a, u_b))
        s = mpmath.mpf(sigma_sq)
        aa, ab, bb = (mpmath.fdot(x, y) + s for x, y in ((a, a), (a, b), (b, b)))
        trace, determinant = aa - bb, -(aa * bb - ab**2)
        root = mpmath.sqrt(trace**2 - 4 * determinant)
        return -((trace - root) / 2) / ((trace + root) / 2)


@given(vectors, st.floats(1e-3, 1e3))
@quick
def test_the_ratio_is_that_of_the_two_eigenvalues(pair, sigma_sq):
    u_a, u_b = pair
    assume(np.linalg.norm(u_a - u_b) > 1e-3)
    ours = exact.pairwise_ratio(float(u_a @ u_a), float(u_a @ u_b), float(u_b @ u_b), sigma_sq)
    # |u_a - u_b|^2 is found from products up to 27: 1e-15 * 54 / 1e-6 relative at worst
    assert ours == pytest.approx(float(eigenvalue_ratio(u_a, u_b, sigma_sq)), rel=1e-6)
    assert (ours >= 1) == (u_b @ u_b >= u_a @ u_a) or ours == pytest.approx(1.0)


def eigenvalues_from_products(u_a_sq, u_ab, u_b_sq, sigma_sq):
    """l_-/l_+ of the same definition, from the products in 1,000 digits."""
    with mpmath.workdps(1000):
        aa, ab, bb = (mpmath.mpf(x) + mpmath.mpf(sigma_sq) for x in (u_a_sq, u_ab, u_b_sq))
        root = mpmath.sqrt((aa - bb) ** 2 + 4 * (aa * bb - ab**2))
        return float((root - (aa - bb)) / (root + (aa - bb)))


#: Models on a line through the origin, 2^-shift and 1 from it: every product is exact in binary.
ON_A_LINE = [
    (4.0**-shift, 2.0**-shift, 1.0, 4.0**-noise) for shift in (1, 20) for noise in (2, 12, 24)
]


@pytest.mark.parametrize("unit", [2.0**-600, 1.0, 2.0**600])
@pytest.mark.parametrize("products", ON_A_LINE)
def test_a_nearly_certain_preference_keeps_its_digits_in_every_unit(products, unit):
    """There the smaller eigenvalue is 1e-5 to 1e-15 of the larger one."""
    expected = eigenvalues_from_products(*products)
    aa, ab, bb, noise = (unit * v for v in products)
    assert exact.pairwise_ratio(aa, ab, bb, noise) == pytest.approx(expected, rel=1e-12)
    assert exact.pairwise_ratio(bb, ab, aa, noise) == pytest.approx(1.0 / expected, rel=1e-12)


@pytest.mark.parametrize("unit", [2.0**-600, 1.0, 2.0**600])
def test_pairs_of_far_apart_sizes_do_not_disturb_each_other(unit):
    """A pair of models of size one beside pairs 1e180 times as large or small."""
    for aa, ab, bb, noise in ON_A_LINE:
        large = [np.array([v, v * unit]) for v in (aa, ab, bb)]
        found = exact.pairwise_ratios(*large, noise)
        expected = [eigenvalues_from_products(aa * u, ab * u, bb * u, noise) for u in (1.0, unit)]
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_swapping_the_models_inverts_the_ratio_and_complements_the_probability():
    forward = exact.pairwise_ratio(0.3, -0.1, 0.9, 0.5)
    backward = exact.pairwise_ratio(0.9, -0.1, 0.3, 0.5)
    assert forward * backward == pytest.approx(1.0, rel=1e-14)
    p, q = (math.exp(exact.pairwise_log_probability(r, 7)) for r in (forward, backward))
    assert p + q == pytest.approx(1.0, rel=1e-13)


def test_certain_preferences_have_infinite_or_zero_ratio():
    assert exact.pairwise_ratio(0.0, 0.0, 1.0, 0.0) == math.inf
    assert exact.pairwise_ratio(1.0, 0.0, 0.0, 0.0) == 0.0
    assert exact.pairwise_ratio(1.0, 1.0, 1.0, 0.5) == 1.0  # the same model twice: a tie
    assert exact.pairwise_log_probability(math.inf, 5) == -math.inf


@given(ratios, st.integers(1, 400))
@quick
def test_the_probability_is_the_f_tail_of_scipy(ratio, n):
    reference = stats.f.logsf(ratio, n, n)
    assume(reference > -500)
    assert exact.pairwise_log_probability(ratio, n) == pytest.approx(reference, rel=1e-8, abs=1e-10)


@given(st.floats(1.01, 1e4), st.integers(1, 5_000))  # nearer to 1 the reference does not converge
@settings(max_examples=25, deadline=None)
def test_tails_of_any_size_agree_with_the_incomplete_beta_function_in_60_digits(ratio, n):
    with mpmath.workdps(60):
        half = mpmath.mpf(n) / 2
        x = 1 / (1 + mpmath.mpf(ratio))
        reference = float(mpmath.log(mpmath.betainc(half, half, 0, x, regularized=True)))
    assert exact.pairwise_log_probability(ratio, n) == pytest.approx(reference, rel=1e-8, abs=1e-9)


@given(vectors, st.floats(1e-2, 1e2), st.integers(1, 2000))
@quick
def test_two_independent_implementations_agree(pair, sigma, n):
    """The F law from products here against Student's law from geometry in
    `trials.laws.pairwise`.
    """
    u_a, u_b = pair
    assume(np.linalg.norm(u_a - u_b) > 1e-2)
    ratio = exact.pairwise_ratio(float(u_a @ u_a), float(u_a @ u_b), float(u_b @ u_b), sigma**2)
    margin, _ = law.margin(u_a, u_b, np.zeros(3), sigma)
    theirs = float(law.log_tail_probability(margin, n))
    assert exact.pairwise_log_probability(ratio, n) == pytest.approx(theirs, rel=1e-6, abs=1e-7)
    if ratio >= 1:
        chernoff = 0.5 * n * math.log1p(float(margin) ** 2)
        assert exact.chernoff_exponent(ratio, n) == pytest.approx(chernoff, rel=1e-6, abs=1e-9)


@pytest.mark.statistical
@pytest.mark.parametrize(("n", "sigma"), [(1, 0.5), (3, 0.0), (8, 1.0)])
def test_drawn_data_prefer_the_wrong_model_as_often_as_the_law_says(n, sigma):
    rng = np.random.default_rng(5)
    u_a, u_b = np.array([0.4, 0.2, 0.0]), np.array([-0.3, 0.5, 0.4])
    trials = 40_000
    x = rng.standard_normal((trials, n, 3))
    noise = sigma * rng.standard_normal((trials, n))
    losses = [np.sum((x @ u - noise) ** 2, axis=1) for u in (u_a, u_b)]
    wrong = int(np.sum(losses[1] < losses[0]))
    ratio = exact.pairwise_ratio(float(u_a @ u_a), float(u_a @ u_b), float(u_b @ u_b), sigma**2)
    p = math.exp(exact.pairwise_log_probability(ratio, n))
    # false-alarm probability 1e-6 for each of the three cases
    assert stats.binomtest(wrong, trials, p).pvalue > 1e-6


@given(ratios, st.integers(1, 100_000))
@quick
def test_the_chernoff_bound_dominates_the_law(ratio, n):
    log_p = exact.pairwise_log_probability(ratio, n)
    assert log_p <= -exact.chernoff_exponent(ratio, n) + 1e-9
    assert log_p <= math.log(0.5) + 1e-12


def test_the_chernoff_exponent_is_the_laws_own_rate():
    """-log P / n tends to the exponent: twice the gap at n and 4 n shrinks like log(n)/n."""
    for ratio in (1.2, 3.0, 50.0):
        rate = exact.chernoff_exponent(ratio, 1)
        gaps = [-exact.pairwise_log_probability(ratio, n) / n - rate for n in (1000, 100_000)]
        assert 0 < gaps[1] < gaps[0] / 20


def test_the_symbolic_chernoff_exponent_is_the_numeric_one():
    for ratio, n in ((1.0, 3), (1.5, 10), (1e4, 7)):
        symbolic = float(evaluate(exact.CHERNOFF_EXPONENT, {"r": ratio, "n": float(n)}))
        assert exact.chernoff_exponent(ratio, n) == pytest.approx(symbolic, rel=1e-12, abs=1e-15)


@given(st.integers(1, 100_000), st.floats(-0.99, 3.0))
@quick
def test_chi_square_tails_agree_with_the_incomplete_gamma_function(n, deviation):
    with mpmath.workdps(40):
        half, point = mpmath.mpf(n) / 2, mpmath.mpf(n * (1.0 + deviation)) / 2
        # the smaller side directly: gammainc(a, b) in mpmath needs no complement
        limits = (point, mpmath.inf) if deviation >= 0 else (0, point)
        try:
            tail = mpmath.gammainc(half, *limits, regularized=True)
        except (ValueError, mpmath.libmp.NoConvergence):  # mpmath's own limits
            assume(False)
    assume(tail > mpmath.mpf("1e-290"))
    assert exact.chi_square_log_tail(n, deviation) == pytest.approx(
        float(mpmath.log(tail)), rel=1e-7, abs=1e-9
    )


def test_the_mean_squared_error_of_least_squares_is_that_of_the_law():
    """The squared error over its variance is d / f times an F(d, f) variable, f = n - d + 1."""
    for n, d, sigma in ((12, 10, 0.5), (50, 3, 1.0), (200, 100, 2.0)):
        law = stats.f(d, n - d + 1)
        stated = evaluate(exact.LEAST_SQUARES_MSE, {"sigma": sigma, "d": d, "N": n})
        assert sigma**2 * d / (n - d + 1) * law.mean() == pytest.approx(float(stated), rel=1e-10)
        for level in (0.01, 0.5, 0.999):
            quantile = sigma**2 * d / (n - d + 1) * law.ppf(level)
            found = float(law_of_least_squares.squared_error_cdf(quantile, n, d, sigma))
            assert found == pytest.approx(level, rel=1e-9)


@pytest.mark.statistical
def test_least_squares_on_drawn_data_has_the_stated_mean_and_law():
    rng = np.random.default_rng(8)
    n, d, sigma, trials = 12, 4, 0.7, 4000
    x = rng.standard_normal((trials, n, d))
    y = sigma * rng.standard_normal((trials, n, 1))
    gram, moment = x.swapaxes(1, 2) @ x, x.swapaxes(1, 2) @ y
    squared = np.sum(np.linalg.solve(gram, moment) ** 2, axis=(1, 2))
    error = squared.std(ddof=1) / math.sqrt(trials)
    stated = float(evaluate(exact.LEAST_SQUARES_MSE, {"sigma": sigma, "d": d, "N": n}))
    # five standard errors: false-alarm probability about 1e-6 (the error has 5 finite moments)
    assert abs(squared.mean() - stated) < 5 * error
    law = law_of_least_squares.squared_error_cdf(squared, n, d, sigma)
    assert stats.kstest(law, "uniform").pvalue > 1e-6


def test_saddlepoint_agrees_with_mpmath_where_both_apply() -> None:
    """The next term of the expansion is of order n^(-3/2), and smaller than that here."""
    large = ((200_000, 1.0), (200_000, 1.001), (200_000, 1.02), (50_000, 0.99))
    for n_samples, ratio in (*large, (20_000, 1.1), (2000, 1.1), (2000, 1.3), (200, 2.0)):
        wanted = float(mpmath.log(exact.pairwise_probability_mp(ratio, n_samples)))
        found = exact._saddlepoint_log_probability(ratio, n_samples)
        assert found == pytest.approx(wanted, abs=n_samples**-1.5)


def test_log_tails_beyond_underflow_agree_with_mpmath() -> None:
    for n, deviation in ((1000, 2.0), (1e6, 0.1), (50, -0.9), (1e6, -0.2), (1000, -0.999)):
        a = mpmath.mpf(n) / 2
        x = a * (1 + mpmath.mpf(deviation))
        ends = (x,) if deviation > 0 else (0, x)
        wanted = float(mpmath.log(mpmath.gammainc(a, *ends, regularized=True)))
        assert exact.chi_square_log_tail(n, deviation) == pytest.approx(wanted, rel=1e-12)
    with mpmath.workdps(30):
        wanted = mpmath.log(
            mpmath.fsum(
                mpmath.binomial(4000, i) * mpmath.mpf("0.9") ** i * mpmath.mpf("0.1") ** (4000 - i)
                for i in range(1001)
            )
        )
    assert exact.binomial_log_cdf(1000, 4000, 0.9) == pytest.approx(float(wanted), rel=1e-11)


def log_gamma_tail(a: mpmath.mpf, x: mpmath.mpf) -> mpmath.mpf:
    """Log of the tail of a gamma law beyond x, on the side away from a, by quadrature.

    At x + t the density is that at x times (1 + t/x)^(a-1) e^-t.
    """
    sign = 1 if x > a else -1
    unit = x / abs(x - a + sign)  # the density falls by e or faster
    ends = [unit * step for step in (0, 1, 2, 4, 8, 16, 32, 64)]
    ends = [end for end in ends if sign > 0 or end < x]
    if sign < 0 and len(ends) < 8:
        ends.append(x)
    rest = mpmath.quad(lambda t: mpmath.exp((a - 1) * mpmath.log1p(sign * t / x) - sign * t), ends)
    return (a - 1) * mpmath.log(x) - x - mpmath.loggamma(a) + mpmath.log(rest)


@pytest.mark.parametrize("n", [20_000, 10**8, 10**18])
@pytest.mark.parametrize("z", [-45.0, -4.5, 4.5, 45.0])
def test_far_tails_of_many_samples_are_as_exact_as_a_float(n: int, z: float) -> None:
    """SciPy's series ended early: P was 1e-8 in place of 3e-7, and a log -24 and not -1017."""
    deviation = z * math.sqrt(2 / n)
    with mpmath.workdps(50):
        a = mpmath.mpf(n) / 2
        wanted = float(log_gamma_tail(a, a * (1 + mpmath.mpf(deviation))))
        x = round(n * (1.0 + deviation))
        beyond = float(log_gamma_tail(a, mpmath.mpf(x) / 2))
    assert exact.chi_square_log_tail(n, deviation) == pytest.approx(wanted, rel=1e-13)
    above = beyond if z > 0 else math.log1p(-math.exp(beyond))
    assert exact.chi_square_log_above(n, x) == pytest.approx(above, rel=1e-12)


@pytest.mark.parametrize("n", [9_999, 10_001, 10**8])
@pytest.mark.parametrize("sign", [-1, 1])
def test_a_chi_square_tail_has_no_step_where_its_formula_changes(n: int, sign: int) -> None:
    """By the law's own derivative: the tail falls by the density times the step."""
    at = sign * 4.0 / math.sqrt(n / 2)
    near, far = (exact.chi_square_log_tail(n, at * factor) for factor in (1 - 1e-7, 1 + 1e-7))
    with mpmath.workdps(40):
        a, x = mpmath.mpf(n) / 2, mpmath.mpf(n) * (1 + mpmath.mpf(at)) / 2
        density = a * mpmath.log(x) - x - mpmath.loggamma(a) - mpmath.log(x) - near
        step = float(mpmath.exp(density)) * n / 2 * abs(at) * 2e-7
    assert near - far == pytest.approx(step, rel=1e-5)


def test_probabilities_below_the_smallest_float_agree_with_mpmath() -> None:
    for n_samples, ratio in ((1, 1e200), (7, 1e150), (300, 1e4), (5_000, 5.0), (1_000_000, 1.1)):
        wanted = float(mpmath.log(exact.pairwise_probability_mp(ratio, n_samples)))
        found = exact._deep_log_probability(ratio, n_samples)
        assert found == pytest.approx(wanted, rel=1e-13)


@pytest.mark.parametrize("a", [0.5, 3.0, 39.5, 40.0, 41.5, 300.0, 1e6])
def test_the_beta_function_at_one_half_is_as_exact_as_a_float(a: float) -> None:
    with mpmath.workdps(40):
        wanted = float(mpmath.log(mpmath.beta(a, mpmath.mpf("0.5"))))
    limit = 2e-14 if a < 40 else 4e-15  # below 40 two log-gammas are subtracted
    assert exact._log_beta_half(a) == pytest.approx(wanted, abs=limit)


@pytest.mark.parametrize("value", ["x" * 500, "a\n" * 500, 10**59])
def test_a_refused_value_is_shown_on_one_line_of_sixty_letters_at_most(value: object) -> None:
    with pytest.raises(OutsideTheorem) as caught:
        exact.chernoff_exponent(2.0, value)  # type: ignore[arg-type]
    told = str(caught.value)
    shown = told.removeprefix("n_samples=").partition(" must be an integer in ")[0]
    assert shown == " ".join(repr(value).split())[:60]
    assert len(shown) == 60


def test_many_pairs_at_once_are_the_pairs_one_by_one() -> None:
    vectors = np.random.default_rng(0).standard_normal((200, 2, 3))
    u_a, u_b = vectors[:, 0], vectors[:, 1]
    u_a[0] = u_b[0] = 0.0  # models that are equal and true: a tie
    squares = [np.sum(x * y, axis=1) for x, y in ((u_a, u_a), (u_a, u_b), (u_b, u_b))]
    for noise in (0.0, 1e-9, 0.3):
        found = exact.pairwise_ratios(*squares, noise)
        one_by_one = [
            exact.pairwise_ratio(*(float(x) for x in row), noise)
            for row in zip(*squares, strict=True)
        ]
        np.testing.assert_allclose(found, one_by_one, rtol=1e-13)
        for n_samples in (1, 400, 50_000, 2_000_000):
            np.testing.assert_allclose(
                exact.pairwise_log_probabilities(found, n_samples),
                [exact.pairwise_log_probability(float(r), n_samples) for r in found],
                rtol=1e-13,
            )


@pytest.mark.parametrize("n", [1, 2, 7, 1000])
@pytest.mark.parametrize("share", [0.01, 0.7, 1.0, 1.3, 9.0, 40.0])
def test_the_chi_square_tail_above_agrees_with_mpmath(n: int, share: float) -> None:
    with mpmath.workdps(60):
        q = mpmath.gammainc(mpmath.mpf(n) / 2, mpmath.mpf(n * share) / 2, mpmath.inf, True)
        expected = float(mpmath.log(q))
    found = exact.chi_square_log_above(n, n * share)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("n", [1, 2, 7])
@pytest.mark.parametrize("success", [Fraction(1, 2), Fraction(1, 3), Fraction(9, 10)])
def test_a_binomial_tail_is_the_sum_of_all_masses_from_zero_on(n: int, success: Fraction) -> None:
    for count in range(n + 1):
        masses = [math.comb(n, i) * success**i * (1 - success) ** (n - i) for i in range(count + 1)]
        found = exact.binomial_log_cdf(count, n, float(success))
        assert math.exp(found) == pytest.approx(float(sum(masses)), rel=1e-13)


def test_a_binomial_law_without_chance_has_certain_counts():
    for n in (0, 1, 5):
        for count in range(n + 1):
            assert exact.binomial_log_cdf(count, n, 0.0) == 0.0
            assert exact.binomial_log_cdf(count, n, 1.0) == (0.0 if count == n else -math.inf)


@pytest.mark.parametrize("n", [1, 40, 3_000_000])
def test_chernoffs_exponent_is_the_same_for_a_ratio_and_its_inverse(n):
    """(1 + r)^2 / 4r is; also where r or its inverse leaves the range of squares."""
    for power in (0.0, 1e-9, 0.3, 40.0, 99.5, 100.5, 250.0, 299.0):
        high, low = (exact.chernoff_exponent(10.0**x, n) for x in (power, -power))
        with mpmath.workdps(700):
            r = mpmath.mpf(10.0**power)
            expected = mpmath.mpf(n) / 2 * mpmath.log((1 + r) ** 2 / (4 * r))
        assert high == pytest.approx(float(expected), rel=1e-9)
        assert low == pytest.approx(high, rel=1e-6)
        assert low >= 0.0


def test_the_exponent_of_a_certain_preference_is_infinite_and_of_a_tie_zero():
    assert exact.chernoff_exponent(0.0, 3) == exact.chernoff_exponent(math.inf, 3) == math.inf
    assert exact.chernoff_exponent(1.0, 3) == 0.0


#: Function, and arguments that it takes.
CALLS = {
    exact.pairwise_ratio: {"u_a_sq": 1.0, "u_ab": 0.5, "u_b_sq": 2.0, "sigma_sq": 1.0},
    exact.pairwise_log_probability: {"ratio": 2.0, "n_samples": 5},
    exact.pairwise_probability_mp: {"ratio": 2.0, "n_samples": 5, "dps": 20},
    exact.chernoff_exponent: {"ratio": 2.0, "n_samples": 5},
    exact.chi_square_log_tail: {"n_samples": 5.0, "deviation": 0.5},
    exact.chi_square_log_above: {"n_samples": 5.0, "x": 3.0},
    exact.binomial_log_cdf: {"count": 1, "n_trials": 5, "success": 0.5},
}


@pytest.mark.parametrize(
    "value", [math.nan, -math.inf, True, "1", None, 1j, [1.0], np.float64("nan")]
)
@pytest.mark.parametrize("function", CALLS, ids=lambda f: f.__name__)
def test_what_is_no_finite_number_is_refused_by_the_name_of_its_argument(function, value):
    good = CALLS[function]
    assert math.isfinite(function(**good))
    for name in good:
        with pytest.raises(OutsideTheorem, match=f"^{name}="):
            function(**{**good, name: value})


@pytest.mark.parametrize("n", [1, 7, 10**7])
def test_the_ends_of_the_laws_are_certain_or_impossible(n):
    """A ratio of 0 makes the preference certain.  A chi-square variable is above 0."""
    assert exact.pairwise_log_probability(0.0, n) == 0.0
    assert exact.pairwise_probability_mp(0.0, min(n, 50)) == 1
    assert exact.pairwise_probability_mp(math.inf, min(n, 50)) == 0
    for deviation in (-1.0, -1.5):
        assert exact.chi_square_log_tail(n, deviation) == -math.inf
    assert exact.chi_square_log_tail(n, 0.0) == pytest.approx(float(stats.chi2(n).logsf(n)))


def test_a_float_that_is_whole_counts_as_a_number_of_samples():
    assert exact.pairwise_log_probability(0.5, 9.0) == exact.pairwise_log_probability(0.5, 9)
    with pytest.raises(OutsideTheorem, match="must be an integer"):
        exact.pairwise_log_probability(0.5, 9.5)


@pytest.mark.parametrize(
    ("count", "n", "success"),
    [(10, 10**9, 1e-7), (10, 10**15, 1e-13), (10, 10**18, 1e-16), (0, 10**18, 1e-18)],
)
def test_a_binomial_tail_of_a_huge_number_of_trials_keeps_its_digits(count, n, success):
    """The sum itself in 60 digits.  Log-factorials of 10^15 are rounded to whole numbers."""
    with mpmath.workdps(60):
        q = mpmath.mpf(success)
        term = total = (1 - q) ** n
        for i in range(1, count + 1):
            term *= mpmath.mpf(n - i + 1) / i * q / (1 - q)
            total += term
        expected = float(mpmath.log(total))
    assert exact.binomial_log_cdf(count, n, success) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize(("count", "n"), [(400_000, 10**6 + 1), (30, 10**6 + 7), (999_900, 10**6)])
def test_binomial_tails_of_a_million_trials_are_those_of_beta_functions(count, n):
    """P(Bin(n, q) <= k) is an incomplete beta function, for common and for rare failures."""
    success = (count + 5.0 * math.sqrt(count * (n - count) / n)) / n
    expected = float(np.log(special.betainc(n - count, count + 1, 1.0 - success)))
    assert exact.binomial_log_cdf(count, n, success) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize(("ratio", "n"), [(1e9, 10**18), (1e300, 10**16), (1e300, 10**18)])
def test_preferences_of_huge_samples_are_just_below_chernoffs_bound(ratio, n):
    """Their log is that bound's less log w and a constant, which its own rounding hides."""
    found = exact.pairwise_log_probability(ratio, n)
    with mpmath.workdps(60):
        r = mpmath.mpf(ratio)
        bound = -mpmath.mpf(n) / 2 * mpmath.log((1 + r) ** 2 / (4 * r))
        assert found == pytest.approx(float(bound), rel=1e-14)


@pytest.mark.parametrize(("n", "digits"), [(10**6, 6), (10**4, 5), (10**5, 20)])
def test_the_probability_has_the_digits_that_are_asked_for(n, digits):
    """The two models are preferred alike at the ratio 1, and P(r) + P(1/r) = 1."""
    half = exact.pairwise_probability_mp(1.0, n, digits)
    assert abs(half - mpmath.mpf("0.5")) <= mpmath.mpf(10) ** -digits
    with mpmath.workdps(60):
        r = 1 + mpmath.mpf(1) / 1024
        fine, coarse = (exact.pairwise_probability_mp(r, n, each) for each in (50, digits))
        assert abs(fine - coarse) <= 10 * fine * mpmath.mpf(10) ** -digits

"""Loss constants against mpmath, direct minimisation, exact enumeration and Monte Carlo."""

from __future__ import annotations

import itertools

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import approx_fprime, minimize
from scipy.special import expit
from scipy.stats import norm

from trials.checks import InvalidParameter
from trials.models import losses
from trials.models.losses import LogisticLoss, Population, SquaredLoss


def population(seed=0, d=3, **changes):
    rng = np.random.default_rng(seed)
    frame = np.linalg.qr(rng.standard_normal((d, d)))[0]
    covariance = (frame * np.linspace(0.5, 2.0, d)) @ frame.T
    covariance = (covariance + covariance.T) / 2
    return Population(
        **{"theta_star": rng.standard_normal(d), "covariance": covariance, "sigma": 0.7} | changes
    )


def draw(pop, n, rng, *, logistic):
    x = rng.standard_normal((n, len(pop.theta_star))) @ pop.root
    score = x @ pop.theta_star
    if logistic:
        return x, np.where(rng.random(n) < 1 / (1 + np.exp(-score)), 1.0, -1.0)
    return x, score + pop.sigma * rng.standard_normal(n)


@pytest.mark.parametrize("loss", [SquaredLoss(l2=0.3, scale=2.0), LogisticLoss(l2=0.3)])
def test_gradients_are_the_derivatives_of_the_values(loss):
    rng = np.random.default_rng(1)
    x, y = draw(population(), 5, rng, logistic=isinstance(loss, LogisticLoss))
    theta = rng.standard_normal(3)
    for i in range(5):
        numeric = approx_fprime(theta, lambda t, i=i: loss.values(x[i : i + 1], y[i : i + 1], t)[0])
        np.testing.assert_allclose(loss.gradients(x, y, theta)[i], numeric, atol=1e-6)


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.float32, object])
def test_labels_of_every_type_give_one_gradient(kind):
    """Minus an unsigned 1 is 255."""
    x, theta = np.array([[0.5, 2.0]]), np.array([1.0, -0.3])
    loss = LogisticLoss(l2=0.1)
    for method in (loss.values, loss.gradients):
        np.testing.assert_array_equal(
            method(x, np.array([1], dtype=kind), theta), method(x, np.array([1.0]), theta)
        )


def test_squared_variances_equal_exact_enumeration_of_signs():
    """Rademacher coordinates and noise have finitely many outcomes: no Monte Carlo error."""
    pop = population(feature_kurtosis=1.0, noise_kurtosis=1.0, gaussian=False)
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=4)))
    x = signs[:, :3] @ pop.root
    y = x @ pop.theta_star + pop.sigma * signs[:, 3]
    theta = np.array([0.3, -1.0, 2.0])
    for loss in (SquaredLoss(), SquaredLoss(l2=0.4, scale=2.0)):
        values, gradients = loss.values(x, y, theta), loss.gradients(x, y, theta)
        assert loss.value_variance(pop, theta) == pytest.approx(values.var(), rel=1e-12)
        spread = ((gradients - gradients.mean(axis=0)) ** 2).sum(axis=1).mean()
        assert loss.gradient_variance(pop, theta) == pytest.approx(spread, rel=1e-12)


@pytest.mark.statistical
@pytest.mark.parametrize("loss", [SquaredLoss(l2=0.3), LogisticLoss(l2=0.3), LogisticLoss(l2=0.0)])
def test_variances_and_stationarity_agree_with_draws(loss):
    """Five z-scores a loss at 5 standard errors, three losses: false alarm below 1e-5 in all."""
    rng, pop, n = np.random.default_rng(2), population(), 400_000
    x, y = draw(pop, n, rng, logistic=isinstance(loss, LogisticLoss))
    theta = pop.theta_star + np.array([0.5, -0.2, 0.8])
    values, gradients = loss.values(x, y, theta), loss.gradients(x, y, theta)
    for sample, exact in (
        ((values - values.mean()) ** 2, loss.value_variance(pop, theta)),
        (((gradients - gradients.mean(axis=0)) ** 2).sum(axis=1),
         loss.gradient_variance(pop, theta)),
    ):  # fmt: skip
        assert abs(sample.mean() - exact) < 5 * sample.std() / np.sqrt(n)
    at_minimum = loss.gradients(x, y, loss.minimiser(pop))
    assert (np.abs(at_minimum.mean(axis=0)) < 5 * at_minimum.std(axis=0) / np.sqrt(n)).all()


def test_ridge_minimiser_solves_the_population_problem():
    pop, loss = population(), SquaredLoss(l2=0.4, scale=2.0)

    def objective(theta):
        u = theta - pop.theta_star
        return u @ pop.covariance @ u + 0.2 * theta @ theta

    found = minimize(objective, np.zeros(3), tol=1e-12).x
    np.testing.assert_allclose(loss.minimiser(pop), found, atol=1e-6)
    np.testing.assert_array_equal(SquaredLoss().minimiser(pop), pop.theta_star)


@pytest.mark.parametrize("deviation", [0.0, 0.3, 1.0, 4.0, 40.0, 290.0])
def test_normal_expectations_are_exact_to_the_stated_error(deviation):
    def density(z):
        return mpmath.exp(-z * z / 2) / mpmath.sqrt(2 * mpmath.pi)

    def slope(t):
        return 1 / (4 * mpmath.cosh(t / 2) ** 2)

    pieces = sorted({0.0, *(c / max(deviation, 1.0) for c in (1, 4, 16, 64)), 12.0})
    for power in (0, 2):
        with mpmath.workdps(25):
            exact = 2 * mpmath.quad(
                lambda z, p=power: slope(deviation * z) * z**p * density(z), pieces
            )
        ours = losses._normal_mean(lambda z, t, p=power: losses._slope(t) * z**p, deviation**2)
        assert abs(ours - float(exact)) <= losses.QUADRATURE_ERROR * (1 + deviation**2)
        assert ours == pytest.approx(float(exact), rel=1e-11)


@pytest.mark.parametrize("length", [0.0, 0.2, 2.0, 30.0])
@pytest.mark.parametrize("l2", [1e-6, 0.1, 10.0])
def test_logistic_minimiser_is_stationary(length, l2):
    base = population()
    pop = population(theta_star=length * base.theta_star)
    theta = LogisticLoss(l2=l2).minimiser(pop)

    def image(t):
        return losses._mean_slope(float(t @ pop.covariance @ t)) * (pop.covariance @ t)

    np.testing.assert_allclose(image(theta) + l2 * theta, image(pop.theta_star), atol=1e-12)
    assert np.linalg.norm(theta) <= np.linalg.norm(pop.theta_star) + 1e-12


def test_logistic_moments_in_one_dimension_agree_with_mpmath():
    pop = Population(theta_star=np.array([1.3]), covariance=np.array([[0.8]]))
    theta, loss = -0.7, LogisticLoss(l2=0.5)

    def expectation(g):
        def integrand(z):
            x = mpmath.sqrt(0.8) * z
            up = 1 / (1 + mpmath.exp(-1.3 * x))
            weight = mpmath.exp(-z * z / 2) / mpmath.sqrt(2 * mpmath.pi)
            return weight * (up * g(x, 1) + (1 - up) * g(x, -1))

        return float(mpmath.quad(integrand, [-12, -4, 0, 4, 12]))

    def value(x, y):
        return mpmath.log(1 + mpmath.exp(-y * x * theta))

    def gradient(x, y):
        return -y * x / (1 + mpmath.exp(y * x * theta))

    for f, ours in ((value, loss.value_variance), (gradient, loss.gradient_variance)):
        exact = expectation(lambda x, y, f=f: f(x, y) ** 2) - expectation(f) ** 2
        assert ours(pop, np.array([theta])) == pytest.approx(exact, abs=1e-12)


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), radius=st.floats(0.0, 3.0), kurtosis=st.floats(1.0, 20.0))
def test_constants_hold_inside_their_ball(seed, radius, kurtosis):
    rng = np.random.default_rng(seed)
    plain = population(seed % 7)
    other = population(seed % 7, feature_kurtosis=kurtosis, gaussian=False)
    direction = rng.standard_normal(3)
    theta = plain.theta_star + radius * rng.random() * direction / np.linalg.norm(direction)
    cases = [(SquaredLoss(l2=0.2, scale=2.0), plain), (SquaredLoss(), other)]
    for loss, pop in [*cases, (LogisticLoss(l2=0.1), plain)]:
        bound = loss.constants(pop, radius)
        assert loss.value_variance(pop, theta) <= bound.value_variance * (1 + 1e-12)
        assert loss.gradient_variance(pop, theta) <= bound.gradient_variance * (1 + 1e-12)
    # the logistic Hessian, from its definition in whitened coordinates
    slope = losses._mean_slope(float(theta @ plain.covariance @ theta))
    along = losses._normal_mean(
        lambda z, t: losses._slope(t) * z**2, float(theta @ plain.covariance @ theta)
    )
    t = plain.root @ theta / np.linalg.norm(plain.root @ theta)
    hessian = plain.root @ (slope * np.eye(3) + (along - slope) * np.outer(t, t)) @ plain.root
    spectrum = np.linalg.eigvalsh(hessian) + 0.1
    assert bound.strong_convexity - bound.error <= spectrum[0]
    assert spectrum[-1] <= bound.smoothness


def test_squared_bounds_are_attained_for_gaussian_features():
    pop, loss = population(), SquaredLoss(scale=2.0)
    top = np.linalg.eigh(pop.covariance)[1][:, -1]
    bound = loss.constants(pop, 1.5)
    theta = pop.theta_star + 1.5 * top
    assert loss.value_variance(pop, theta) == pytest.approx(bound.value_variance)
    assert loss.gradient_variance(pop, theta) == pytest.approx(bound.gradient_variance)


def test_heavy_tails_have_infinite_variances_away_from_the_truth():
    pop = population(feature_kurtosis=np.inf, gaussian=False)
    loss = SquaredLoss()
    assert loss.value_variance(pop, pop.theta_star + 1.0) == np.inf
    assert loss.gradient_variance(pop, pop.theta_star + 1.0) == np.inf
    assert np.isfinite(loss.gradient_variance(pop, pop.theta_star))  # only the noise is left
    assert loss.constants(pop, 1.0).value_variance == np.inf
    assert loss.constants(pop, 0.0).gradient_variance < np.inf


@pytest.mark.parametrize(
    ("loss", "response"), [(SquaredLoss(), "logistic"), (LogisticLoss(l2=0.1), "linear")]
)
def test_a_population_of_the_other_kind_is_refused(loss, response):
    """The formulas are wrong for it: theta* does not minimise E(y - <x, theta>)^2 of labels."""
    pop = population(response=response)
    for call in (
        lambda: loss.minimiser(pop),
        lambda: loss.value_variance(pop, pop.theta_star),
        lambda: loss.gradient_variance(pop, pop.theta_star),
        lambda: loss.constants(pop, 1.0),
    ):
        with pytest.raises(InvalidParameter, match=f"response='{response}' of the population must"):
            call()


def test_kernels_agree_with_the_records():
    rng = np.random.default_rng(4)
    x, theta = rng.standard_normal((6, 3)), rng.standard_normal(3)
    for loss in (SquaredLoss(scale=1.7, l2=0.3), LogisticLoss(l2=0.3)):
        y = np.where(x[:, 0] > 0, 1.0, -1.0)
        kind, scale, l2 = losses.kernel_arguments(loss, y)
        penalty = 0.5 * l2 * theta @ theta
        pairs = list(zip(x @ theta, y, strict=True))
        np.testing.assert_allclose(
            [losses.data_loss(kind, scale, *pair) + penalty for pair in pairs],
            loss.values(x, y, theta),
        )
        weights = np.array([scale * losses.descent_weight(kind, *pair) for pair in pairs])
        np.testing.assert_allclose(
            l2 * theta - weights[:, None] * x, loss.gradients(x, y, theta), atol=1e-14
        )


def test_bad_inputs_are_refused():
    pop = population()
    for call in (
        lambda: population(covariance=-np.eye(3)),
        lambda: population(covariance=np.triu(np.ones((3, 3)))),
        lambda: population(theta_star=np.array([1.0, np.nan, 0.0])),
        lambda: population(feature_kurtosis=5.0),
        lambda: population(noise_kurtosis=0.5),
        lambda: population(sigma=-1.0),
        lambda: SquaredLoss(l2=-1.0),
        lambda: SquaredLoss(scale=0.0),
        lambda: LogisticLoss(l2=np.nan),
        lambda: SquaredLoss().constants(pop, -1.0),
        lambda: SquaredLoss().value_variance(pop, np.zeros(2)),
        lambda: LogisticLoss(l2=1.0).minimiser(population(gaussian=False)),
        lambda: LogisticLoss(l2=0.0).value_variance(pop, np.full(3, 1e4)),
        lambda: LogisticLoss(l2=1.0).values(np.eye(3), np.array([1.0, 0.0, 1.0]), np.zeros(3)),
        lambda: LogisticLoss(l2=1.0).gradients(np.eye(3), np.full(3, 2.0), np.zeros(3)),
        lambda: population(response="labels"),
        lambda: losses.kernel_arguments("squared", np.ones(1)),
        lambda: losses.kernel_arguments(LogisticLoss(l2=0.1), np.array([1.0, np.nan])),
    ):
        with pytest.raises(InvalidParameter, match="must"):
            call()


def test_features_of_an_unknown_law_prove_no_curvature_of_the_logistic_loss():
    """They may be zero wherever the loss is curved: the penalty alone is left."""
    theta = np.array([1.0, 0.0, 0.0])
    population_ = {"theta_star": theta, "covariance": np.eye(3), "response": "logistic"}
    known, unknown = (
        LogisticLoss(l2=0.3).constants(population(**population_, gaussian=law), radius=2.0)
        for law in (True, False)
    )
    assert (unknown.strong_convexity, unknown.error) == (0.3, 0.0)
    assert known.strong_convexity > 0.3
    assert known.error > 0.0
    assert unknown.smoothness == known.smoothness == 0.25 + 0.3
    assert unknown.value_variance == known.value_variance == 9.0
    assert unknown.gradient_variance == known.gradient_variance == 3.0


@pytest.mark.parametrize("tau", [149.0, 160.0, 299.0])
@pytest.mark.parametrize("wide", [1.0, 1e8])
def test_a_penalised_minimiser_is_found_wherever_the_margin_may_be_as_wide(tau, wide):
    """The search began at twice the deviation, or at that of the longest axis, and was refused."""
    theta = np.array([tau, 0.0])
    population = Population(theta_star=theta, covariance=np.diag([1.0, wide]), response="logistic")
    found = LogisticLoss(l2=1e-6).minimiser(population)
    assert found[1] == pytest.approx(0.0, abs=1e-9)
    # Where the gradient along the first axis, a* theta* - a theta - l2 theta, is zero.
    slope = {
        x: quad(lambda z, x=x: expit(x * z) * expit(-x * z) * norm.pdf(z), 0.0, 60.0 / x)[0] * 2
        for x in (tau, float(found[0]))
    }
    pull = slope[tau] * tau - (slope[float(found[0])] + 1e-6) * found[0]
    assert abs(pull) <= 1e-9 * slope[tau] * tau


def test_constants_beyond_the_range_of_floats_are_infinite():
    """They raised an OverflowError of Python."""
    wide, theta = Population(theta_star=[1.0], covariance=np.eye(1), sigma=1e100), np.zeros(1)
    assert SquaredLoss().value_variance(wide, theta) == np.inf
    assert SquaredLoss().value_variance(wide, np.ones(1)) == np.inf
    assert SquaredLoss().gradient_variance(wide, theta) == pytest.approx(1e200)
    plain = Population(theta_star=[1.0], covariance=np.eye(1))
    found = SquaredLoss().constants(plain, 1e200)
    assert (found.value_variance, found.gradient_variance) == (np.inf, np.inf)
    assert SquaredLoss(scale=1e200).constants(plain, 1.0).gradient_variance == np.inf
    assert SquaredLoss(scale=1e100).constants(plain, 1.0).gradient_variance == pytest.approx(2e200)

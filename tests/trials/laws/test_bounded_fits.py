"""Exact laws of fits on bounded designs against enumerated and drawn data."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
import scipy
from scipy.optimize import minimize_scalar

from trials.laws.bounded_fits import (
    DESIGNS,
    binomial_law,
    bounds,
    coordinate_errors,
    cosh_optimum,
    line_law,
    moments,
)
from trials.local_erm import least_squares

SHAPES = {
    "coordinates": (1.2, 0.7, 1.0),
    "two-point": (2.0, 0.7, 0.3),
    "cosh": (1.5, 1.0, 0.3),
}


def two_point_rows(scale, noise, skew):
    """The two samples (x, y) of the design ``two-point`` with optimum zero."""
    x = np.sqrt([scale, skew * scale])
    return x, np.array([noise, -noise]) / x


def test_the_law_of_two_points_is_that_of_all_samples():
    n, shape = 5, SHAPES["two-point"]
    x, y = two_point_rows(*shape)
    rows = np.array(list(itertools.product((0, 1), repeat=n)))
    fits = least_squares(x[rows][:, :, None], y[rows]).theta[:, 0]
    law = line_law(n, "two-point", *shape)
    moment = moments(n, "two-point", 1, *shape)
    assert np.sum(law.weights) == pytest.approx(1.0)
    assert moment.mean_square == pytest.approx(np.mean(fits**2), rel=1e-9)
    assert math.sqrt(moment.squared_bias) == pytest.approx(abs(np.mean(fits)), rel=1e-9)


def test_cosh_fits_minimise_the_empirical_loss():
    n, (width, _, p) = 7, SHAPES["cosh"]
    law = line_law(n, "cosh", *SHAPES["cosh"])
    k, _ = binomial_law(n, p)
    for share, error in zip(k / n, law.errors, strict=True):

        def loss(theta, share=share):
            at = np.log(np.cosh(np.array([theta - width, theta + width]) / width))
            return share * at[0] + (1 - share) * at[1]

        found = minimize_scalar(
            loss, bounds=(-width, width), method="bounded", options={"xatol": 1e-10}
        )
        assert found.x - cosh_optimum(p, width) == pytest.approx(error, abs=2e-7)


@pytest.mark.parametrize("d", [1, 3, 8])
def test_coordinate_errors_are_those_of_least_squares_on_drawn_data(d):
    # 20,000 trials of each side: means differ by less than 5 standard errors (false alarm 1e-6)
    n, trials, rng = 30, 20_000, np.random.default_rng(3)
    optimum, sigma, _ = SHAPES["coordinates"]
    coordinate = rng.integers(d, size=(trials, n))
    x = math.sqrt(d) * np.eye(d)[coordinate]
    theta = np.full(d, optimum / math.sqrt(d))
    y = x @ theta + sigma * rng.choice([-1.0, 1.0], (trials, n))
    data = ((least_squares(x, y).theta - theta) ** 2).sum(axis=1)
    law = (coordinate_errors(n, d, optimum, sigma, rng, trials) ** 2).sum(axis=1)
    error = math.sqrt((data.var() + law.var()) / trials)
    assert abs(data.mean() - law.mean()) < 5 * error
    exact = moments(n, "coordinates", d, optimum, sigma, 1.0).mean_square
    assert abs(law.mean() - exact) < 5 * math.sqrt(law.var() / trials)


@pytest.mark.parametrize("design", DESIGNS)
def test_every_outcome_respects_the_constants(design):
    own = bounds(design, 1, *SHAPES[design])
    law = line_law(40, design, *SHAPES[design])
    theta_star = {"coordinates": SHAPES[design][0], "two-point": 0.0}.get(
        design, cosh_optimum(SHAPES[design][2], SHAPES[design][0])
    )
    assert np.all(np.abs(law.errors + theta_star) <= own.R * (1 + 1e-12))
    assert np.all(np.abs(law.gradient) <= own.N * (1 + 1e-12))
    assert np.all(law.excess >= own.mu / 2 * law.errors**2 * (1 - 1e-9))
    assert np.all(law.excess <= own.L / 2 * law.errors**2 * (1 + 1e-9) + 1e-15)
    assert np.all(np.abs(law.hessian) <= own.L)


#: Powers of the unit of theta and of that of the loss in each constant.
UNITS = {"mu": (-2, 1), "L": (-2, 1), "N": (-1, 1), "H": (-3, 1), "R": (1, 0), "G": (-1, 1)}


@pytest.mark.parametrize(
    ("design", "unit", "of_loss", "arguments"),
    [
        ("coordinates", 7.0, 49.0, (7.0 * 1.2, 7.0 * 0.7, 1.0)),  # the loss is (theta x - y)^2/2
        ("two-point", 1.0, 5.0, (5.0 * 2.0, 5.0 * 0.7, 0.3)),
        ("two-point", 3.0, 1.0, (2.0 / 9.0, 0.7 / 3.0, 0.3)),
        ("cosh", 4.0, 4.0, (4.0 * 1.5, 1.0, 0.3)),
    ],
)
def test_the_constants_of_a_design_have_their_units(design, unit, of_loss, arguments):
    one, other = bounds(design, 1, *SHAPES[design]), bounds(design, 1, *arguments)
    for name, (power, loss_power) in {**UNITS, "F_star": (0, 1)}.items():
        factor = unit**power * of_loss**loss_power
        assert getattr(other, name) == pytest.approx(getattr(one, name) * factor), name


@pytest.mark.parametrize("width", [0.2, 1.5, 30.0])
def test_the_constants_of_cosh_are_those_of_its_loss(width):
    """Two samples at the distance w from zero: noise and least loss, from the loss itself."""
    p, own = 0.3, bounds("cosh", 1, width, 1.0, 0.3)

    def loss(theta):
        right, left = math.log(math.cosh(theta / width - 1)), math.log(math.cosh(theta / width + 1))
        return width * (p * right + (1 - p) * left)

    best = minimize_scalar(loss, bounds=(-width, width), method="bounded", options={"xatol": 1e-12})
    assert own.F_star == pytest.approx(best.fun, rel=1e-9)
    samples = [math.tanh(best.x / width - 1), math.tanh(best.x / width + 1)]
    np.testing.assert_allclose(own.N, max(map(abs, samples)), rtol=1e-4)


def test_the_average_of_many_fits_keeps_the_bias():
    own = moments(50, "two-point", 1, *SHAPES["two-point"])
    assert own.of_average(1) == pytest.approx(own.mean_square)
    assert own.of_average(1e15) == pytest.approx(own.squared_bias, rel=1e-9)


@pytest.mark.parametrize("skew", [0.02, 0.5, 0.8])
@pytest.mark.parametrize("n", [1, 4])
def test_the_moments_of_the_cosh_design_are_sums_over_all_samples(n, skew):
    """Each sample of points at w and -w, with the minimiser that a search finds."""
    width, errors, weights = 1.5, [], []

    def fit(share):
        def loss(x):
            return share * math.log(math.cosh(x - 1)) + (1 - share) * math.log(math.cosh(x + 1))

        found = minimize_scalar(
            loss, bounds=(-1.001, 1.001), method="bounded", options={"xatol": 1e-9}
        )
        return width * found.x

    for signs in itertools.product((0, 1), repeat=n):
        weights.append(math.prod(skew if sign else 1 - skew for sign in signs))
        errors.append(fit(sum(signs) / n) - fit(skew))
    found = moments(n, "cosh", 1, width, 1.0, skew)
    bias = np.dot(weights, errors)
    assert found.mean_square == pytest.approx(np.dot(weights, np.square(errors)), rel=1e-6)
    assert found.squared_bias == pytest.approx(bias**2, rel=1e-5, abs=1e-12)


def two_losses(design, shape):
    """The losses of the two samples of a design on the line, and the chance of the first."""
    scale, noise, skew = map(mpmath.mpf, shape)
    if design == "coordinates":
        return (
            lambda t: (t - scale - noise) ** 2 / 2,
            lambda t: (t - scale + noise) ** 2 / 2,
            mpmath.mpf(1) / 2,
        )
    if design == "two-point":
        return (
            lambda t: scale / 2 * t**2 - noise * t,
            lambda t: skew * scale / 2 * t**2 + noise * t,
            mpmath.mpf(1) / 2,
        )
    return (
        lambda t: scale * mpmath.log(mpmath.cosh(t / scale - 1)),
        lambda t: scale * mpmath.log(mpmath.cosh(t / scale + 1)),
        skew,
    )


@pytest.mark.parametrize("unit", [0.25, 1.0, 8.0])
@pytest.mark.parametrize("design", DESIGNS)
def test_a_law_on_the_line_has_the_derivatives_of_its_losses(design, unit):
    """By numerical differentiation with 30 digits, for every share of the samples."""
    n = 4
    shape = {
        "coordinates": (1.2 * unit, 0.7, 1.0),
        "two-point": (2.0 * unit, 0.7, 0.3),
        "cosh": (1.5 * unit, 1.0, 0.3),
    }[design]
    with mpmath.workdps(30):
        first, second, p = two_losses(design, shape)

        def mean(share):
            return lambda t: share * first(t) + (1 - share) * second(t)

        def least(f):
            return mpmath.findroot(lambda t: mpmath.diff(f, t), mpmath.mpf(0), tol=1e-24)

        whole = mean(p)
        best = least(whole)
        law = line_law(n, design, *shape)
        assert law.weights == pytest.approx(scipy.stats.binom.pmf(range(n + 1), n, float(p)))
        for k in range(n + 1):
            own = mean(mpmath.mpf(k) / n)
            error = least(own) - best
            expected = {
                "errors": error,
                "excess": whole(best + error) - whole(best),
                "gradient": mpmath.diff(own, best) - mpmath.diff(whole, best),
                "hessian": mpmath.diff(own, best, 2) - mpmath.diff(whole, best, 2),
            }
            for name, value in expected.items():
                found = getattr(law, name)[k]
                assert found == pytest.approx(float(value), rel=1e-8, abs=1e-12), (name, k)


def test_a_coordinate_without_samples_keeps_its_digits():
    """1 - 1/d is rounded: raised to n = 10^10 at d = 10^9 it had an error of 3e-7."""
    n, d = 10**10, 10**9
    with mpmath.workdps(40):
        unseen = float((1 - mpmath.mpf(1) / d) ** n)
    found = moments(n, "coordinates", d, 1e50, 1e-50, 1.0)
    assert found.mean_square == pytest.approx(1e100 * unseen, rel=1e-12)
    assert found.squared_bias == pytest.approx(1e100 * unseen**2, rel=1e-12)
    assert moments(5, "coordinates", 1, 1.0, 1.0, 1.0).squared_bias == 0.0


@pytest.mark.parametrize("n", [7, 10**4, 10**10])
def test_the_excess_of_many_samples_keeps_its_digits(n):
    """A difference of two losses kept six digits at a deviation's distance for 10^10 samples."""
    p, width = 0.3, 2.0
    law = line_law(n, "cosh", width, 1.0, p)
    with mpmath.workdps(40):

        def loss(theta):
            ends = [
                q * mpmath.log(mpmath.cosh(theta / width - s)) for q, s in ((p, 1), (1 - p, -1))
            ]
            return width * sum(ends)

        optimum = mpmath.findroot(lambda t: mpmath.diff(loss, t), cosh_optimum(p, width))
        for i in {0, len(law.errors) // 3, len(law.errors) // 2, len(law.errors) - 1}:
            exact = loss(optimum + mpmath.mpf(law.errors[i])) - loss(optimum)
            assert law.excess[i] == pytest.approx(float(exact), rel=1e-9, abs=1e-30)
    assert (law.excess >= 0.0).all()

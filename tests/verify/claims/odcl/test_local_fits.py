"""The exact tail of the event E, far below the smallest float, and fits in a small space."""

import itertools
import math

import mpmath
import numpy as np
import pytest
import scipy

from trials.experiments.odcl.fits import SGD
from verify.claims.odcl.local_fits import _log_outside_e, constants_in_room, line_in_room
from verify.papers import catalogue
from verify.procedures.base import PROFILES


@pytest.mark.parametrize("n", [40, 4_000, 40_000])
def test_the_tail_of_fair_signs_does_not_underflow(n):
    """With skew one the curvature is fixed, so that only the gradient's mean has to be small."""
    point = {"n": n, "scale": 1.0, "noise": 1.0, "skew": 1.0}
    found = _log_outside_e(point, 0.5, 1.5)
    # mu = N = 1: more than n (1 + 0.375) / 2 heads, or as many tails
    heads = math.floor(n * (1 + 0.375) / 2)
    with mpmath.workdps(30):
        tail = mpmath.nsum(lambda i: mpmath.binomial(n, int(i)), [heads + 1, min(heads + 400, n)])
        expected = float(mpmath.log(2 * tail) - n * mpmath.log(2))
    assert found == pytest.approx(expected, rel=1e-9)


def _loss(design, signs, scale, noise, skew):
    """The empirical loss of a sample by the definitions of `trials.laws.bounded_fits`."""
    if design == "coordinates":  # y = scale +- noise
        return lambda theta: np.mean((scale + noise * signs - theta) ** 2) / 2
    curvature = np.where(signs > 0, 1.0, skew) * scale  # and the gradient -+N at zero
    return lambda theta: np.mean(curvature * theta**2 / 2 - noise * signs * theta)


@pytest.mark.parametrize("design", ["two-point", "coordinates"])
@pytest.mark.parametrize("room", [1.0, 0.3, 0.05])
def test_a_fit_in_a_small_space_is_the_minimiser_on_it(design, room):
    """Every sample of four, minimised numerically on [-R, R]."""
    point = {"design": design, "n": 4, "scale": 2.0, "noise": 3.0, "skew": 0.4, "room": room}
    own = constants_in_room(point)
    optimum = 2.0 if design == "coordinates" else 0.0
    errors = []
    for signs in itertools.product((-1.0, 1.0), repeat=4):
        loss = _loss(design, np.array(signs), 2.0, 3.0, 0.4)
        found = scipy.optimize.minimize_scalar(
            loss, bounds=(-own["R"], own["R"]), method="bounded", options={"xatol": 1e-9}
        )
        errors.append(found.x - optimum)
    law = line_in_room(point)
    expected = np.sum(np.square(errors)) / 16
    assert np.sum(law.weights * law.errors**2) == pytest.approx(expected, rel=1e-5)
    # F is quadratic with the curvature mu
    excess = own["mu"] / 2 * expected
    assert np.sum(law.weights * law.excess) == pytest.approx(excess, rel=1e-5)
    assert own["R"] > abs(optimum)  # the optimum lies inside (Assumption 2)


def test_the_largest_gradient_is_that_at_an_end_of_the_space():
    """The curvature mu times the distance of the end that is farther from the optimum."""
    common = {"n": 4, "scale": 2.0, "noise": 3.0, "skew": 0.4, "room": 0.5}
    fitted = constants_in_room({"design": "coordinates", **common})
    assert (fitted["R"], fitted["G_F"]) == (2.0 + 1.5, 3.5 + 2.0)
    two = constants_in_room({"design": "two-point", **common})
    assert two["R"] == pytest.approx(0.5 * 3.0 / (0.4 * 2.0))
    assert two["G_F"] == pytest.approx((1 + 0.4) * 2.0 / 2 * two["R"])


def test_in_a_small_space_the_smallest_loss_rules_the_bound_of_9():
    """Signs that move the mean of 1e5 gradients by R = N/100 have probability 1.6e-3 > 2/n^3.

    The squared error R^2 then exceeds (9) without the term of F*, and not (9).
    """
    point = {"design": "two-point", "scale": 1.0, "noise": 1.0, "skew": 0.999, "room": 0.00999}
    n, R, mu = 100_000, 0.01, 0.9995
    assert scipy.stats.binom.sf((1 + 1.01 * R) * n / 2, n, 0.5) > 2 / n**3
    F_star = (1 + 1 / 0.999) / 4
    rest = 64 * R**2 * (math.log(6) + math.log(2) + 6) / mu + 16 * R * (math.log(2) + 3) / mu
    rest += R * (2 * mu * R + 16 * R * (math.log(6) + math.log(2) + 7)) / mu
    stated = rest + 16 * F_star * (math.log(2) + 3) / mu**2
    assert rest * math.log(n) / n < R**2 < stated * math.log(n) / n
    search = catalogue()["odcl.eq9"].build(PROFILES["quick"])
    assert math.exp(search.violation({**point, "n": n})) == pytest.approx(
        R**2 / (stated * math.log(n) / n), rel=1e-6
    )


def test_the_mean_of_many_users_errors_is_no_smaller_than_one_users():
    """Lemma 5 divided by the root of 256 users is broken by the variance sigma^2/T of the mean.

    The projection takes little off it: R is nearly five standard deviations.
    """
    cells = catalogue()["odcl.lemma5"].build(PROFILES["quick"]).cells
    (cell,) = (c for c in cells if c["m"] > 1)
    rows = SGD.simulate(SGD.check(cell), np.random.default_rng(0), 8)
    found = rows[:, SGD.columns.index("last")].mean()
    assert found == pytest.approx(cell["sigma"] ** 2 / cell["T"], rel=0.1)
    stated = 4 * (cell["sigma"] + 2 * cell["R"]) ** 2 / cell["T"]
    assert stated / math.sqrt(cell["m"]) < found < stated

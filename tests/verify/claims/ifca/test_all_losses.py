"""What is argued of all losses, gradients and laws holds for some that are no quadratic.

The oracle is a loss in two dimensions: a quadratic of the least curvature and hyperbolic cosines.
"""

import numpy as np
import pytest
import sympy as sp

from verify.papers import catalogue
from verify.procedures.base import PROFILES

LEAST, MOST = 0.5, 4.0
AXES = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
#: The Hessian of the cosines at zero is the sum of w a a^T, whose largest eigenvalue is one.
WEIGHTS = np.ones(3) / np.linalg.eigvalsh(AXES.T @ AXES)[-1]


def loss(theta):
    """Its Hessian lies between LEAST and MOST, and it is smallest at zero."""
    cosines = WEIGHTS @ np.log(np.cosh(AXES @ theta))
    return LEAST / 2 * theta @ theta + (MOST - LEAST) * cosines


def gradient(theta):
    return LEAST * theta + (MOST - LEAST) * AXES.T @ (WEIGHTS * np.tanh(AXES @ theta))


def proposition(name):
    return catalogue()[name].build(PROFILES["quick"]).proposition


def points(radius):
    """Models within a radius of zero."""
    rng = np.random.default_rng(5)
    directions = rng.standard_normal((40, 2))
    lengths = radius * np.sqrt(rng.random(40))
    return directions / np.linalg.norm(directions, axis=1, keepdims=True) * lengths[:, None]


@pytest.mark.parametrize("name", ["ifca.lemma3-gap", "ifca.lemma3-gap-sharp"])
def test_no_loss_has_a_smaller_gap_than_the_formulas_least(name):
    found = proposition(name)
    separation, closeness = 3.0, 0.1
    at = {"lam": LEAST, "L": MOST, "Delta": separation, "alpha": closeness, "curvature": MOST,
          "own": 1, "rival": 1}  # fmt: skip
    least = float(found.left.subs(at))
    radius = (0.5 - closeness) * np.sqrt(LEAST / MOST) * separation
    far = np.array([separation, 0.0])
    gaps = [loss(far + rival) - loss(own) for rival in points(radius) for own in points(radius)]
    assert least <= min(gaps) < 20 * least, (least, min(gaps))
    assert found.by


@pytest.mark.parametrize("name", ["ifca.eq22", "ifca.eq22-sharp"])
def test_no_step_on_a_loss_ends_farther_than_one_on_the_sphere_of_gradients(name):
    found = proposition(name)
    cosines = np.linspace(-1, 1, 2001)
    for share in (0.3, 1.0):
        step = share / MOST
        left = sp.lambdify(sp.Symbol("cosine"), found.left.subs(
            {"lam": LEAST, "L": MOST, "gamma": step, "err": 1}))  # fmt: skip
        farthest = left(cosines).max()
        errors = (*points(2.0), *points(60.0))
        shares = [np.linalg.norm(e - step * gradient(e)) / np.linalg.norm(e) for e in errors]
        assert 0.8 * farthest < max(shares) <= farthest + 1e-9
    assert found.by


@pytest.mark.parametrize("name", ["ifca.eq27", "ifca.eq27-units"])
def test_no_gradient_of_a_loss_exceeds_that_of_the_largest_curvature(name):
    found = proposition(name)
    separation, closeness = 0.2, 0.1
    at = {"lam": LEAST, "L": MOST, "Delta": separation, "alpha": closeness}
    largest = float(found.left.subs(at))
    radius = (0.5 - closeness) * np.sqrt(LEAST / MOST) * separation
    sizes = [np.linalg.norm(gradient(np.array([0.0, separation]) + e)) for e in points(radius)]
    assert 0.5 * largest < max(sizes) <= largest
    assert found.by


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ifca.eq23", "Markov"),
        ("ifca.eq23-chebyshev", "Markov"),
        ("ifca.thm2-contraction", "ifca.eq22-sharp"),
        ("ifca.thm2-contraction-sharp", "ifca.eq22-sharp"),
        ("sxy.lemma14-given-label", "independent"),
    ],
)
def test_what_is_said_of_all_laws_names_its_argument(name, words):
    """A certificate compares numbers, so that a limit on all laws is outside of it."""
    assert words in proposition(name).by


def test_the_quantile_of_a_mean_is_no_larger_than_by_markovs_inequality():
    """Two values with exact probabilities: c with probability q above delta, and zero."""
    found = proposition("ifca.eq23")
    delta, count = 0.1, 1
    at = {"v": 1.0, "correct": 1, "p_j": 1, "m": 1, "n": count, "delta_0": delta}
    limit = float(found.left.subs(at))
    for chance in (0.1001, 0.2, 1.0):
        size = 1 / np.sqrt(chance)  # of mean square one, and the quantile at 1 - delta
        assert size <= limit
    assert 1 / np.sqrt(0.1001) > 0.999 * limit

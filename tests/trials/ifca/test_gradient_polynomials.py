"""Many steps at once are the steps one by one, and their bounds hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trials.ifca.gradient_polynomials import largest_move, step_polynomial, take_many_steps

steps = st.integers(1, 400)
step_sizes = st.sampled_from([1e-5, 1.0, 30.0])
lows = st.sampled_from([0.0, 1e-6, 1e-3, 0.1, 0.5, 0.9])
reduced_highs = st.sampled_from([1e-3, 0.3, 1.0, 1.7, 2.0])


def all_moves(x, step_size, n_steps):
    """phi_1..phi_n at x by the sum that defines them."""
    return step_size * np.cumsum((1.0 - step_size * x) ** np.arange(n_steps))


@given(low=lows, reduced_high=reduced_highs, n_steps=steps, step_size=step_sizes)
@settings(deadline=None, max_examples=80)
def test_polynomials_are_the_sum_of_the_steps(low, reduced_high, n_steps, step_size):
    high = reduced_high / step_size
    interval = (low * high, high)
    found = step_polynomial(interval, step_size, n_steps, 10**4)
    assert found is not None
    points = np.linspace(-1.0, 1.0, 57)
    wanted = np.array(
        [all_moves(0.5 * (high - low * high) * t + 0.5 * (1 + low) * high, step_size, n_steps)[-1]
         for t in points]
    )  # fmt: skip
    got = np.polynomial.chebyshev.chebval(points, found)
    # a unit in the last place for each term of the sum and each term left out.  Beyond 1 / L it is
    # more, because the powers of negative factors are as uncertain
    noise = n_steps / high if reduced_high > 1.5 else 0.0
    tolerance = 2e-15 * len(found) * (wanted.max() + noise)
    np.testing.assert_allclose(got, wanted, rtol=0, atol=tolerance)


def test_few_terms_replace_many_steps():
    """As conjugate gradients: below 50 where the eigenvalues span a factor of seven."""
    assert len(step_polynomial((0.3, 2.1), 0.1, 280, 140)) < 50
    assert len(step_polynomial((0.3, 2.1), 0.1, 10**6, 140)) < 50
    assert step_polynomial((0.3, 2.1), 0.1, 280, 20) is None
    assert step_polynomial((0.0, 2.0), 1.0, 10**4, 100) is None  # about sqrt(2 n log(1 / ulp))


@pytest.mark.parametrize("n_steps", [10**4, 10**6, 10**6 + 1])
@pytest.mark.parametrize("low", [1.0, 1.8])
def test_a_power_that_falls_at_the_very_end_is_not_missed(n_steps, low):
    """At 2 / gamma the sum is 0 or gamma, and 1 / x a little before: no matter for a few terms."""
    assert step_polynomial((low, 2.0), 1.0, n_steps, 50) is None
    found = step_polynomial((low, 2.0), 1.0, n_steps, 10**5)
    reduced = 2.0 - np.array([0.0, 0.1, 1.0, 10.0, 1e3]) / n_steps
    got = np.polynomial.chebyshev.chebval((2.0 * reduced - 2.0 - low) / (2.0 - low), found)
    # n units in the last place a term.  Without its nodes the error is 0.5
    wanted = (1.0 - (1.0 - reduced) ** n_steps) / reduced
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-16 * n_steps * len(found))


@given(low=lows, reduced_high=reduced_highs, n_steps=steps, step_size=step_sizes)
@settings(deadline=None, max_examples=80)
def test_no_way_is_longer_than_the_bound(low, reduced_high, n_steps, step_size):
    high = reduced_high / step_size
    bound = largest_move((low * high, high), step_size, n_steps)
    for x in np.linspace(low * high, high, 23):
        assert all_moves(x, step_size, n_steps).max() <= bound * (1.0 + 1e-12)
    if low > 0.0 and n_steps > 40 / low / reduced_high and reduced_high < 1.0:
        ways = all_moves(low * high, step_size, n_steps)
        assert ways.max() > 0.99 * bound  # and it is reached


@pytest.mark.parametrize("unit", [1e-300, 1e-150, 1e150, 1e280])
@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_polynomials_and_moves_in_any_units(unit, size):
    """Eigenvalues in other units, step sizes in their inverse, descents of any size."""
    matrix = np.diag([0.5, 1.0, 2.0])
    if not 1e-290 < size / unit < 1e290:
        size = 1.0 / size
    descents = np.array([[1.0, -2.0, 3.0], [0.0, 0.0, 0.0]])
    intervals = np.array([[0.5, 2.0], [0.5, 2.0]])

    def moves(unit, size):
        polynomial = step_polynomial((0.5 * unit, 2.0 * unit), 0.7 / unit, 200, 100)
        return take_many_steps(
            lambda x: x @ (unit * matrix), size * descents, unit * intervals, [polynomial] * 2
        )

    wanted = moves(1.0, 1.0)
    np.testing.assert_allclose(wanted, descents / [0.5, 1.0, 2.0], rtol=1e-13)
    np.testing.assert_allclose(moves(unit, size) / (size / unit), wanted, rtol=1e-12)


@pytest.mark.parametrize("d", [1, 2, 30])
def test_models_end_where_steps_one_by_one_take_them(d):
    """Seven models with two matrices and their sum, each with its own step size and count."""
    rng = np.random.default_rng(d)
    roots = rng.standard_normal((2, 2 * d, d))
    first, second = (root.T @ root for root in roots)
    owners = [first, second, first + second, first, second, first + second, first]
    descents, models = rng.standard_normal((2, 7, d))
    counts = [1, 3, 64, 300, 301, 1000, 40]
    intervals, polynomials, wanted = [], [], []
    for matrix, descent, model, count, fraction in zip(
        owners, descents, models, counts, np.linspace(0.1, 1.9, 7), strict=True
    ):
        eigenvalues = np.linalg.eigvalsh(matrix)
        step_size = fraction / eigenvalues[-1]
        intervals.append((0.999 * eigenvalues[0], 1.001 * eigenvalues[-1]))
        polynomials.append(step_polynomial(intervals[-1], step_size, count, 10**4))
        stepped, vector = model.copy(), descent + matrix @ model
        for _ in range(count):
            stepped += step_size * (vector - matrix @ stepped)
        wanted.append(stepped)

    order = np.argsort([-len(p) for p in polynomials])

    def product(x):
        return np.stack([owners[i] @ row for i, row in zip(order, x, strict=False)])

    moves = np.empty_like(models)
    moves[order] = take_many_steps(
        product, descents[order], np.array(intervals)[order], [polynomials[i] for i in order]
    )
    np.testing.assert_allclose(models + moves, wanted, rtol=0, atol=1e-11 * np.abs(wanted).max())

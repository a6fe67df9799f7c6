"""The norm of a deviation against the dense matrix."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trials.checks import InvalidParameter
from trials.mixed_regression.deviations import deviation_norm


def dense(first, second, weights, images, shares):
    moment = first.T @ (weights[:, None] * second) / len(first)
    return np.linalg.norm(moment - images.T @ (shares[:, None] * images), 2)


def problem(seed, n_pairs, d, k, unit=1.0):
    rng = np.random.default_rng(seed)
    first, second = unit * rng.standard_normal((2, n_pairs, d))
    weights = rng.standard_normal(n_pairs) * rng.standard_normal(n_pairs)
    return first, second, weights, unit * rng.standard_normal((k, d)), rng.dirichlet(np.ones(k))


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 500),
    n_pairs=st.integers(1, 60),
    d=st.integers(1, 25),
    k=st.integers(1, 4),
    unit=st.sampled_from([1e-6, 1.0, 1e6]),
)
def test_it_is_exact_with_as_many_steps_as_dimensions(seed, n_pairs, d, k, unit):
    arrays = problem(seed, n_pairs, d, k, unit)
    found = deviation_norm(*arrays, np.random.default_rng(0))
    assert found == pytest.approx(dense(*arrays), rel=1e-8)


def test_thirty_steps_are_exact_to_a_per_mille_for_sample_moments():
    for seed in range(5):
        arrays = problem(seed, 2000, 120, 3)
        found, exact = deviation_norm(*arrays, np.random.default_rng(0)), dense(*arrays)
        assert exact * 0.999 <= found <= exact * (1 + 1e-12)


@pytest.mark.parametrize("spread", [0.02, 1e-4])
def test_steps_that_turn_little_are_taken_too(spread):
    """Singular values that lie close: the basis changes by the spread alone at every step."""
    values, eye = 1.0 + spread * np.linspace(0.0, 1.0, 6), np.eye(6)
    arrays = (eye, eye, 6 * values, np.zeros((1, 6)), np.ones(1))
    found = deviation_norm(*arrays, np.random.default_rng(0))
    assert found == pytest.approx(1.0 + spread, rel=1e-12)


def test_a_deviation_of_zero():
    eye = np.eye(3)
    found = deviation_norm(
        eye, eye, np.array([3.0, 0.0, 0.0]), eye[:1], np.ones(1), np.random.default_rng(0)
    )
    assert found == 0.0


def test_arrays_that_do_not_fit_are_refused():
    first, second, weights, _, shares = problem(0, 5, 3, 1)
    with pytest.raises(InvalidParameter, match="images has d=2, must be d=3"):
        deviation_norm(first, second, weights, np.ones((1, 2)), shares, np.random.default_rng(0))

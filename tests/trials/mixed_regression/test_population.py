"""Moment descent without sampling error, against the matrix recursion and the data's own run."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trials.checks import InvalidParameter
from trials.mixed_regression.batches import MomentBatch
from trials.mixed_regression.moment_descent import DescentOptions, run_moment_descent
from trials.mixed_regression.population import population_descent


def problem(seed, d):
    rng = np.random.default_rng(seed)
    q = np.linalg.qr(rng.standard_normal((d, d)))[0]
    spectrum = rng.uniform(0.5, 2.0, d)
    return (q * spectrum) @ q.T, rng.standard_normal(d), rng.standard_normal(d)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1000), d=st.integers(1, 5), n_rounds=st.integers(0, 40))
def test_exact_moments_give_the_linear_recursion(seed, d, n_rounds):
    covariance, target, start = problem(seed, d)
    error, n_steps, largest = population_descent(
        covariance=covariance, target=target, start=start, alpha=0.5, beta=2.0,
        threshold=-np.inf, n_rounds=n_rounds,
    )  # fmt: skip
    step = np.eye(d) - 0.5 / 8.0 * covariance
    path = [
        target - np.linalg.matrix_power(step, t) @ (target - start) for t in range(n_rounds + 1)
    ]
    assert np.allclose(target - error, path[-1], rtol=1e-10, atol=1e-12)
    assert n_steps == n_rounds
    assert largest == pytest.approx(max(map(np.linalg.norm, path)), rel=1e-10)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 1000),
    d=st.integers(2, 5),
    lean=st.floats(-0.9, 0.9),
    stretch=st.floats(0.1, 2.0),
)
def test_one_step_leans_and_stretches_as_told(seed, d, lean, stretch):
    covariance, target, start = problem(seed, d)
    error, _, _ = population_descent(
        covariance=covariance, target=target, start=start, alpha=0.5, beta=2.0,
        threshold=-np.inf, n_rounds=1, lean=lean, stretch=stretch,
    )  # fmt: skip
    v = covariance @ (target - start)
    move = target - start - error
    length = np.linalg.norm(v)
    assert np.linalg.norm(move) == pytest.approx(0.5 * stretch * length / 8.0, rel=1e-9)
    assert move @ v / length / np.linalg.norm(move) == pytest.approx(np.sqrt(1 - lean**2), abs=1e-7)
    lost = (move / np.linalg.norm(move) - np.sqrt(1 - lean**2) * v / length) @ covariance @ v
    assert lost * lean >= -1e-9


def test_noiseless_signs_in_one_dimension_are_exact_moments():
    def draw(t):
        signs = np.random.default_rng(t).choice([-1.0, 1.0], (4, 6, 1))
        answers = 3.0 * signs[:, :, 0]
        return MomentBatch(
            first=signs[0], second=signs[1], first_y=answers[0], second_y=answers[1],
            anchor_features=signs[2:3], anchor_responses=answers[2:3],
        )  # fmt: skip

    options = DescentOptions(
        alpha=0.8, beta=1.1, threshold=0.01, n_rounds=30, subspace_iterations=2, power_iterations=1
    )
    found = run_moment_descent(
        draw=draw, k=1, start=np.array([-1.0]), options=options, rng=np.random.default_rng(0)
    )
    error, n_steps, _ = population_descent(
        covariance=[[1.0]], target=[3.0], start=[-1.0], alpha=0.8, beta=1.1, threshold=0.01,
        n_rounds=30,
    )  # fmt: skip
    assert found.theta[0, 0] == pytest.approx(3.0 - error[0], rel=1e-12)
    assert found.n_steps[0] == n_steps


def test_a_rest_is_final_and_limits_must_be_ordered():
    arguments = {"covariance": [[1.0]], "target": [1.0], "start": [0.0], "threshold": 1.0}
    error, n_steps, largest = population_descent(alpha=1.0, beta=1.0, n_rounds=5, **arguments)
    assert (error[0], n_steps, largest) == (1.0, 0, 0.0)
    with pytest.raises(InvalidParameter, match=r"beta=1 must be >= alpha=2"):
        population_descent(alpha=2.0, beta=1.0, n_rounds=5, **arguments)


@pytest.mark.parametrize("covariance", [1e100, 1e150])
def test_rounds_that_overflow_end_with_a_finite_error_and_an_infinite_largest_norm(covariance):
    """With Sigma far above beta, every round multiplies the error by 1 - Sigma / (2 beta)."""
    error, n_steps, largest = population_descent(
        covariance=covariance * np.eye(2), target=[1.0, 2.0], start=[0.0, 0.0], alpha=1.0,
        beta=1.0, threshold=-np.inf, n_rounds=9,
    )  # fmt: skip
    assert np.isfinite(error).all()
    assert largest == np.inf
    assert n_steps < 9

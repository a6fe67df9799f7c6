"""The exact law of projected SGD with sign noise against all sign sequences and the experiment."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from trials.checks import InvalidParameter
from trials.experiments.odcl.fits import SGD
from trials.laws.sgd_line import positions


@pytest.mark.parametrize("q", [1, 2, 3, 7])
def test_the_law_is_that_of_all_sign_sequences(q):
    steps = 9
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=steps - 1)))
    theta = np.full(len(signs), 1.0)  # units of R: the noise over the curvature is q
    for t in range(1, steps):
        theta = np.clip(theta - (theta + q * signs[:, t - 1]) / t, -1.0, 1.0)
    ((values, weights),) = positions(q, (steps,))
    assert weights.sum() == pytest.approx(1.0)
    at = np.rint((theta + 1) * (steps - 1)).astype(int)
    found = np.bincount(at, minlength=values.size) / len(signs)
    np.testing.assert_allclose(weights, found, atol=1e-12)


def test_drawn_iterates_have_the_law_s_mean_square():
    # 4,096 trials: the means differ by less than 5 standard errors (false alarm 1e-6)
    q, steps = 5, 64
    params = SGD.check({"T": steps, "R": 1.0 / q, "sigma": 1.0})
    drawn = SGD.simulate(params, np.random.default_rng(1), 4096)[:, 0]
    ((values, weights),) = positions(q, (steps,))
    exact = float(np.sum(weights * (values / q) ** 2))
    assert abs(drawn.mean() - exact) < 5 * drawn.std() / math.sqrt(drawn.size)


def test_times_must_ascend():
    with pytest.raises(InvalidParameter, match="must ascend"):
        positions(2, (8, 8))


def test_an_answer_cannot_be_changed_for_the_next_caller():
    """The law of one step more is half of each neighbour's, for whoever asks after whom."""
    for _ in range(2):
        ((_, weights),) = positions(1, (3,))
        assert weights.tolist() == [0.25, 0.0, 0.5, 0.0, 0.25]
        with pytest.raises(ValueError, match="read-only"):
            weights[:] = 0.0


@pytest.mark.parametrize("noise", ["sign", "gaussian"])
def test_the_rows_are_those_of_a_loop_over_users_and_iterates(noise):
    cell = {"T": 6, "m": 3, "R": 0.8, "h": 1.5, "sigma": 0.7, "noise": noise}
    found = SGD.simulate(SGD.check(cell), np.random.default_rng(3), 2)
    rng = np.random.default_rng(3)
    theta, average = np.full((2, 3), 0.8), np.full((2, 3), 0.8)
    for t in range(1, 6):
        drawn = (
            rng.standard_normal((2, 3))
            if noise == "gaussian"
            else 2 * rng.integers(0, 2, (2, 3)) - 1
        )
        theta = np.clip(theta - (1.5 * theta + 0.7 * drawn) / t, -0.8, 0.8)
        average = average + (t + 1) * theta
    average = average / 21
    expected = [(theta**2).mean(axis=1), (average**2).mean(axis=1), theta.mean(axis=1) ** 2]
    np.testing.assert_allclose(found, np.transpose(expected), rtol=1e-13)

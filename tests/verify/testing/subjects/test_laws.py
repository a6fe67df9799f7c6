"""The exact laws of federated rounds, against closed forms and against rounds without noise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from verify.testing.check import Violation
from verify.testing.subjects import laws


def test_uniform_numbers_pass_and_the_largest_gap_of_their_distribution_decides() -> None:
    """Of n numbers on an even grid the largest gap is 1/(2n), and moved by 1/2 it is 1/2."""
    grid = (np.arange(40) + 0.5) / 40
    laws.uniform(grid, 0.999, "it")
    with pytest.raises(Violation, match="it: the p-value"):
        laws.uniform(grid / 2, 1e-3, "it")


def test_a_length_measured_by_its_covariance_has_the_law_of_chi_square() -> None:
    """In two dimensions P(chi-square <= s) is 1 - exp(-s/2)."""
    covariance = np.array([[4.0, 0.0], [0.0, 0.25]])
    found = laws.squared_length(np.array([2.0, 1.0]), covariance)
    assert found == pytest.approx(1.0 - math.exp(-(1.0 + 4.0) / 2), rel=1e-13)


def test_the_error_of_least_squares_has_the_covariance_of_its_rows() -> None:
    """X'X = diag(4, 9): the square is (4 a^2 + 9 b^2) / sigma^2."""
    x = np.array([[2.0, 0.0], [0.0, 3.0]])
    found = laws.least_squares_value(x, np.array([0.5, -0.25]), 0.5)
    assert found == pytest.approx(1.0 - math.exp(-(4 * 0.25 + 9 / 16) / 0.25 / 2), rel=1e-13)


@pytest.mark.parametrize("steps", [0, 1, 4])
def test_local_work_is_affine_in_the_error_and_in_the_noise(steps: int) -> None:
    """The mean and each column of the factor, against the work itself from a zero model.

    The responses are X theta + e.  With the error u of the model the residual is X u - e.
    """
    x = np.array([[1.0, 2.0], [0.0, -1.0], [3.0, 0.5]])
    gap, eta = np.array([0.7, -0.2]), 0.3

    def work(noise: np.ndarray) -> np.ndarray:
        error = gap.copy()
        if steps == 0:  # the minimiser of the client's loss and |error - gap|^2 / (2 eta)
            return np.linalg.solve(np.eye(2) + eta * x.T @ x / 3, gap + eta * x.T @ noise / 3)
        for _ in range(steps):
            error = error - eta * x.T @ (x @ error - noise) / 3
        return error

    mean, factor = laws.local_moments(x, gap, eta, steps)
    assert mean == pytest.approx(work(np.zeros(3)), rel=1e-12)
    for i, noise in enumerate(np.eye(3)):
        assert factor[:, i] == pytest.approx(work(noise) - mean, rel=1e-11)

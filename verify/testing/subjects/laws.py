"""Exact laws of federated rounds on Gaussian data, for statistical checks."""

from __future__ import annotations

import numpy as np
from scipy import stats

from trials.checks import FloatArray
from verify.testing.check import require_p_value


def uniform(values: FloatArray, level: float, what: str) -> None:
    """Require that values are independent uniform numbers (exact Kolmogorov-Smirnov test)."""
    require_p_value(float(stats.kstest(values, "uniform", method="exact").pvalue), level, what)


def squared_length(gap: FloatArray, covariance: FloatArray) -> float:
    """Probability that a normal vector with this covariance is shorter than ``gap``.

    Lengths are measured by the covariance, so the result is uniform for a correct implementation.
    """
    square = gap @ np.linalg.solve(covariance, gap)
    return float(stats.chi2.cdf(square, len(gap)))


def least_squares_value(x: FloatArray, gap: FloatArray, sigma: float) -> float:
    """The same for an error of the least squares estimate on rows x (N, d) and noise sigma."""
    return squared_length(gap, sigma**2 * np.asarray(np.linalg.inv(x.T @ x), dtype=np.float64))


def local_moments(
    x: FloatArray, gap: FloatArray, step_size: float, n_local_steps: int
) -> tuple[FloatArray, FloatArray]:
    r"""Mean and covariance factor of one client's error after its local work, given its features.

    The error is affine in the noise: :math:`(I-\eta PG)u+\frac\eta nPX^\top\epsilon` with
    :math:`P=\sum_{l<s}(I-\eta G)^l`, or :math:`P=(I+\eta G)^{-1}` for ``n_local_steps`` 0
    (FedProx).

    Returns
    -------
    mean (d,) for u = ``gap``, and the factor (d, n) that multiplies the noise.
    """
    n, d = x.shape
    gram = x.T @ x / n
    if n_local_steps:
        powers = [
            np.linalg.matrix_power(np.eye(d) - step_size * gram, t) for t in range(n_local_steps)
        ]
        filtered = np.sum(powers, axis=0)
    else:
        filtered = np.linalg.inv(np.eye(d) + step_size * gram)
    return gap - step_size * filtered @ gram @ gap, step_size / n * filtered @ x.T

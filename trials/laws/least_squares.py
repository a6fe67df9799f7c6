r"""The exact law of ordinary least squares with Gaussian features.

For ``n >= d`` samples :math:`y=\langle x,\theta^*\rangle+\epsilon` with :math:`x\sim N(0,I_d)`,
:math:`\hat\theta-\theta^*=(X^\top X)^{-1}X^\top\epsilon` is rotationally invariant, given :math:`X`
normal with covariance :math:`\sigma^2(X^\top X)^{-1}`.  For a fixed unit vector
:math:`1/\langle v,(X^\top X)^{-1}v\rangle\sim\chi^2_{n-d+1}`.  Therefore the error is a
multivariate Student vector:

.. math:: \hat\theta-\theta^*\;\overset d=\;\frac{\sigma z}{\sqrt{\chi^2_{n-d+1}}},\quad
          z\sim N(0,I_d),\qquad
          |\hat\theta-\theta^*|^2\sim\frac{\sigma^2d}{n-d+1}F_{d,\,n-d+1},

.. math:: E|\hat\theta-\theta^*|^2=\frac{\sigma^2d}{n-d-1}\quad(n>d+1).
"""

from __future__ import annotations

import math

import numpy as np
import scipy
from numpy.typing import ArrayLike

from trials.checks import LARGEST_ENTRY, WHOLE_IN_FLOAT, FloatArray, InvalidParameter
from trials.parameters import Array, Integer, Real, Stream, validated

_COUNT = Integer(1, WHOLE_IN_FLOAT, why="whole in float64")
_SIGMA = Real(0.0, LARGEST_ENTRY)


def _require_rows(n: int, d: int) -> None:
    if n < d:
        raise InvalidParameter(f"n={n} must be >= d={d} for a unique least-squares solution")


@validated(n=_COUNT, d=_COUNT, sigma=_SIGMA, rng=Stream(), n_trials=Integer(0))
def errors(n: int, d: int, sigma: float, rng: np.random.Generator, n_trials: int) -> FloatArray:
    """Draw ``theta_hat - theta*``, (n_trials, d), at cost O(d) a draw."""
    _require_rows(n, d)
    scale = sigma / np.sqrt(rng.chisquare(n - d + 1, n_trials))
    return np.asarray(scale[:, None] * rng.standard_normal((n_trials, d)))


@validated(t=Array((...,)), n=_COUNT, d=_COUNT, sigma=_SIGMA)
def squared_error_cdf(t: ArrayLike, n: int, d: int, sigma: float) -> FloatArray:
    """P(|theta_hat - theta*|^2 <= t) at ``t`` (...,), for sigma > 0."""
    _require_rows(n, d)
    if sigma == 0:
        raise InvalidParameter("sigma=0 must be > 0: the error is zero with certainty")
    unit = math.frexp(sigma)[1]  # a power of two changes no digit, and keeps the square of sigma
    with np.errstate(over="ignore", under="ignore"):
        squares = np.ldexp(np.asarray(t, dtype=float), -2 * unit)
        ratio = squares * (n - d + 1) / (math.ldexp(sigma, -unit) ** 2 * d)
    return np.asarray(scipy.stats.f.cdf(ratio, d, n - d + 1))

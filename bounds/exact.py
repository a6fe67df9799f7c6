r"""Laws that Gaussian features make exact: what the papers' inequalities can be compared with.

A client of cluster :math:`a` has residuals :math:`r_j = X u_j - \epsilon` under model :math:`j`,
:math:`u_j = \theta_j - \theta_a^*`.  Per sample, :math:`(r_a, r_b)` is Gaussian with covariance

.. math:: S = \begin{pmatrix} |u_a|^2+\sigma^2 & \langle u_a,u_b\rangle+\sigma^2 \\
              \langle u_a,u_b\rangle+\sigma^2 & |u_b|^2+\sigma^2 \end{pmatrix},

so :math:`\|r_a\|^2-\|r_b\|^2 = l_+\chi^2_n - l_-\chi'^2_n` with :math:`l_+ > 0 > -l_-` the
eigenvalues of :math:`S\,\mathrm{diag}(1,-1)`, and the client prefers :math:`b` with probability
:math:`P(F_{n,n}\ge l_-/l_+)`.
"""

from __future__ import annotations

import mpmath
import numpy as np
import sympy as sp
from scipy import special, stats

n, d, N = sp.symbols("n d N")
sigma = sp.Symbol("sigma")
r = sp.Symbol("r")

#: Chernoff exponent of the pairwise law: ``P <= exp(-chernoff)`` for ``r = l_-/l_+ >= 1``.
CHERNOFF_EXPONENT: sp.Expr = (n / 2) * sp.log((1 + r) ** 2 / (4 * r))

#: Mean squared error of least squares on ``N > d + 1`` Gaussian samples.
LEAST_SQUARES_MSE: sp.Expr = sigma**2 * d / (N - d - 1)


def pairwise_ratio(u_a_sq: float, u_ab: float, u_b_sq: float, sigma_sq: float) -> float:
    r"""``l_-/l_+`` of the pairwise law (dimensionless; at least 1 when ``|u_b| >= |u_a|``).

    With :math:`\delta = |u_b|^2-|u_a|^2` and the Gram determinant
    :math:`G = |u_a|^2|u_b|^2-\langle u_a,u_b\rangle^2+\sigma^2|u_a-u_b|^2`,
    :math:`l_\pm = (\sqrt{\delta^2+4G}\mp\delta)/2`.
    """
    delta = u_b_sq - u_a_sq
    gram = max(u_a_sq * u_b_sq - u_ab**2, 0.0) + sigma_sq * max(u_a_sq - 2 * u_ab + u_b_sq, 0.0)
    root = np.hypot(delta, 2.0 * np.sqrt(gram))
    # l_+ l_- = G: the smaller of the two by division, never by subtraction.
    large = (root + abs(delta)) / 2.0
    small = gram / large if large > 0.0 else 0.0
    if small == 0.0:
        return np.inf if delta > 0 else (0.0 if delta < 0 else 1.0)
    return float(large / small if delta >= 0 else small / large)


def pairwise_log_probability(ratio: float, n_samples: int) -> float:
    """Log of ``P(F_{n,n} >= ratio)``: natural log of the pairwise misidentification probability.

    Through the regularised incomplete beta function; where that underflows, by the tail's own
    continued fraction (mpmath), so that exponents of any size are returned.
    """
    if ratio == np.inf:
        return -np.inf
    value = float(special.betainc(n_samples / 2.0, n_samples / 2.0, 1.0 / (1.0 + ratio)))
    if value > 1e-290:
        return float(np.log(value))
    return float(mpmath.log(pairwise_probability_mp(ratio, n_samples)))


def pairwise_probability_mp(ratio: float | mpmath.mpf, n_samples: int, dps: int = 40) -> mpmath.mpf:
    r"""The same probability with ``dps`` significant digits.

    :math:`I_x(a,a) = x^a(1-x)^a/(a B(a,a))\;{}_2F_1(2a,1;a+1;x)` with :math:`x = 1/(1+r)`, whose
    series has positive terms only.
    """
    with mpmath.workdps(dps):
        a = mpmath.mpf(n_samples) / 2
        x = 1 / (1 + mpmath.mpf(ratio))
        if x > mpmath.mpf("0.5"):
            return 1 - pairwise_probability_mp(1 / mpmath.mpf(ratio), n_samples, dps)
        log_front = (
            a * mpmath.log(x * (1 - x))
            - mpmath.log(a)
            - 2 * mpmath.loggamma(a)
            + mpmath.loggamma(2 * a)
        )
        return mpmath.exp(log_front) * mpmath.hyp2f1(2 * a, 1, a + 1, x)


def chernoff_exponent(ratio: float, n_samples: int) -> float:
    r"""``(n/2) log((1+r)^2/(4r))``, without cancellation at ``r`` near 1."""
    return 0.5 * n_samples * float(np.log1p((1.0 - ratio) ** 2 / (4.0 * ratio)))


def chi_square_log_tail(n_samples: float, deviation: float) -> float:
    """Log of ``P(chi2_n/n - 1 >= deviation)`` (``<=`` when the deviation is negative)."""
    point = n_samples * (1.0 + deviation)
    if deviation >= 0:
        return float(stats.chi2.logsf(point, n_samples))
    return float(stats.chi2.logcdf(max(point, 0.0), n_samples))


def least_squares_mse(noise: float, dimension: int, n_samples: int) -> float:
    """Mean squared error of least squares with ``n_samples > dimension + 1`` Gaussian rows."""
    if n_samples <= dimension + 1:
        raise ValueError(f"n_samples={n_samples} must exceed dimension + 1 = {dimension + 1}")
    return noise**2 * dimension / (n_samples - dimension - 1)


def least_squares_error_quantile(
    level: float, noise: float, dimension: int, n_samples: int
) -> float:
    r"""Quantile of :math:`\|\hat\theta-\theta^*\|^2 = \sigma^2\chi^2_d/\chi^2_{N-d+1}`."""
    free = n_samples - dimension + 1
    return float(noise**2 * dimension / free * stats.f.ppf(level, dimension, free))

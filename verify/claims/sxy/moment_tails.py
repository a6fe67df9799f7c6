r"""Limits on the probability that a sample moment is far from its expectation.

The moment is the mean of n independent products :math:`\varepsilon_i\tilde\varepsilon_ix_i
\tilde x_i^\top` in q dimensions, in the unit :math:`\delta^2+\sigma^2=1`.  Features and noise are
strictly sub-Gaussian with kurtosis at most 3, and :math:`\Sigma_j\preceq I`.  Then

* :math:`P(|\varepsilon|>\sqrt{2\tau})\le2e^{-\tau}`, and
  :math:`P(\lVert x\rVert^2>q+2\sqrt{q\tau}+2\tau)\le e^{-\tau}` (Hsu, Kakade & Zhang 2012).
* :math:`\lVert E\varepsilon^2xx^\top\rVert\le3` and
  :math:`E\lVert\varepsilon x\rVert^2\le q+2`.

Products of longer factors are cut off.  This moves the mean by at most
:math:`2(q+2)\sqrt{3e^{-\tau}}`, and the matrix Bernstein inequality (Tropp 2012) bounds the rest.
The best cut is found on a grid, and every cut gives a valid limit.
"""

from __future__ import annotations

import numpy as np

_CUTS = np.geomspace(0.1, 1e6, 3000)


def log_deviation_limit(deviation: float, dimension: int, n_products: int) -> float:
    """Log of a limit on P(``|mean - expectation|`` > deviation), operator norm, at most 0.

    Examples
    --------
    >>> log_deviation_limit(1.0, 4, 10), round(log_deviation_limit(1.0, 4, 10**6))
    (0.0, -41)
    """
    q, n = float(dimension), float(n_products)
    longest = 2.0 * _CUTS * (q + 2.0 * np.sqrt(q * _CUTS) + 2.0 * _CUTS)  # of a product kept
    log_long = np.log(3.0) - _CUTS  # P(a factor is longer)
    gap = deviation - 2.0 * (q + 2.0) * np.exp(0.5 * log_long)
    usable = gap > 0.0
    gap = np.where(usable, gap, 1.0)
    exponent = 0.5 * n * gap**2 / (3.0 * (q + 2.0) + 2.0 * longest * gap / 3.0)
    log = np.logaddexp(np.log(2.0 * q) - exponent, np.log(2.0 * n) + log_long)
    return float(min(np.where(usable, log, 0.0).min(), 0.0))

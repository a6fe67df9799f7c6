r"""Limits on the singular values of a Gaussian matrix: Davidson and Szarek's theorem.

For :math:`X` of N rows and d columns with independent standard normal entries and every
:math:`t\ge0`,

.. math:: P(s_{\max}>\sqrt N+\sqrt d+t)\le e^{-t^2/2},\qquad
          P(s_{\min}<\sqrt N-\sqrt d-t)\le e^{-t^2/2}\quad(N\ge d).

Sources: Davidson & Szarek (2001), Theorem II.13, and Vershynin (2018), Theorem 7.3.3.
"""

from __future__ import annotations

import math

from trials.checks import WHOLE_IN_FLOAT
from trials.parameters import Domain, Integer, RealOrInfinity, validated

_DOMAINS: dict[str, Domain] = {
    "n_rows": Integer(1, WHOLE_IN_FLOAT, why="whole in float64"),
    "n_columns": Integer(1, WHOLE_IN_FLOAT, why="whole in float64"),
    "bound": RealOrInfinity(),
}


@validated(**_DOMAINS)
def log_norm_tail(n_rows: int, n_columns: int, bound: float) -> float:
    """Log of a limit on P(|X|_op > bound).

    Parameters
    ----------
    n_rows, n_columns : N and d, at least 1.
    bound : operator norm, any number or infinity.

    Returns
    -------
    The log of the limit, in [-inf, 0].  It is 0 where the theorem says nothing.

    Raises
    ------
    InvalidParameter : an argument outside its domain.

    Examples
    --------
    >>> round(log_norm_tail(100, 25, 20.0), 3)
    -12.5
    """
    gap = bound - math.sqrt(n_rows) - math.sqrt(n_columns)
    return -0.5 * gap * gap if gap > 0 else 0.0


@validated(**_DOMAINS)
def log_gram_tail(n_rows: int, n_columns: int, bound: float) -> float:
    """Log of a limit on P(|X^T X - N I|_op > bound).

    Where N < d the smallest eigenvalue is zero, so that the deviation is at least N.

    Parameters
    ----------
    n_rows, n_columns : N and d, at least 1.
    bound : deviation, any number or infinity.

    Returns
    -------
    The log of the limit, in [-inf, 0].  It is 0 where the theorem says nothing.

    Raises
    ------
    InvalidParameter : an argument outside its domain.
    """
    if bound < 0:
        return 0.0
    upper = log_norm_tail(n_rows, n_columns, math.sqrt(n_rows + bound))
    if bound >= n_rows:  # the smallest eigenvalue cannot be below zero
        return upper
    gap = math.sqrt(n_rows) - math.sqrt(n_columns) - math.sqrt(n_rows - bound)
    if n_rows < n_columns or gap <= 0:
        return 0.0
    lower = -0.5 * gap**2
    largest = max(upper, lower)
    return min(0.0, largest + math.log(math.exp(upper - largest) + math.exp(lower - largest)))

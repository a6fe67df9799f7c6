r"""Comparing shares of independent trials: an exact test of a difference, and one of a trend.

Cell 1 has :math:`x_1` successes in :math:`n_1` trials, cell 2 has :math:`x_2` in :math:`n_2`, and
both numbers of trials are fixed beforehand.  The hypothesis is :math:`p_1 - p_2 \ge \delta`.

*Order.*  Outcomes are ordered by the signed root of the likelihood ratio,

.. math::

   r(x) = \mathrm{sign}(\hat p_1 - \hat p_2 - \delta)
          \sqrt{2 \, (\ell(\hat p_1, \hat p_2) - \ell(\tilde p_1, \tilde p_2))},

with the estimates :math:`\hat p` and those on the line :math:`p_1 - p_2 = \delta`, :math:`\tilde
p`.  Its derivative in :math:`x_1` has the sign of :math:`r (\mathrm{logit}\,\hat p_1 -
\mathrm{logit}\,\tilde p_1)`, which is never negative.  So :math:`r` grows with :math:`x_1`, and
falls with :math:`x_2` in the same way.

*Level.*  The hypothesis is rejected when the outcomes at or below the observed one have a
probability of at most the level, whatever the shares.  They form a set that loses probability as
:math:`p_1` grows and gains it as :math:`p_2` grows.  So the supremum lies on the line, and between
two of its points it is at most the probability with the smaller :math:`p_1` and the larger
:math:`p_2`.  The line is halved until this bound decides.  Nothing is approximated but by rounding.

Two limits of Clopper and Pearson, each at half the level, are valid too, but wide.  With 80 trials
in each of two cells and shares .9 and .975, they exclude a fall by .15 at the level 1.5e-4 in 58 %
of samples, and this test does so in 96 %.

*Trend.*  Cells with one share have successes that are any of the trials with equal probabilities,
given their total.  The statistic of Jonckheere and Terpstra is then a sum of weights :math:`w_j`
over the successes, with :math:`w_j` the trials of the cells before cell j less those after it.  Its
law is computed cell by cell.  Where that takes too long, Chernoff's bound is taken of the sum and
the total together, over the probability of the total.

References
----------
Barnard (1947). Significance tests for 2 x 2 tables. Biometrika 34.
Chan and Zhang (1999). Test-based exact confidence intervals for the difference of two binomial
proportions. Biometrics 55.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy
from scipy.special import bdtrc, expit, xlog1py, xlogy

from trials.checks import IntArray, InvalidParameter
from verify.decisions.sequences import FloatArray, check_level

_PIECES = 64  # of the line at first
_HALVINGS = 20  # of a piece, after which the hypothesis is kept
_BISECTIONS = 60  # for the estimates on the line, to full precision
_TIE = 1e-9  # of the order's value: outcomes that differ by rounding count as ties
_AT_ONCE = 1 << 21  # entries of an array
_MOST_SUMS = 3e8  # additions of an exact law


class Count(NamedTuple):
    """``successes`` in ``trials``, a number that was fixed beforehand."""

    successes: int
    trials: int


def excludes_difference(first: Count, second: Count, delta: float, level: float) -> bool:
    r"""Whether :math:`p_1 - p_2 \ge \delta` is rejected at ``level``.

    Without trials in a cell only an impossible difference is excluded.

    >>> excludes_difference(Count(60, 60), Count(60, 60), 0.15, 1.5e-4)
    True
    >>> excludes_difference(Count(40, 40), Count(40, 40), 0.15, 1.5e-4)
    False

    Raises
    ------
    InvalidParameter : a count outside of its trials, a difference that is no number, or a level
        outside of (0, 1).
    """
    check_level(level)
    for x, n in (first, second):
        if not 0 <= x <= n:
            raise InvalidParameter(f"successes={x} must lie between 0 and trials={n}")
    if np.isnan(delta):
        raise InvalidParameter("delta=nan must be a number")
    if not -1 <= delta <= 1:
        return delta > 1
    if not first.trials or not second.trials:
        return False
    if first.successes / first.trials - second.successes / second.trials >= delta:
        return False  # the set has a probability of about one half or more
    return _is_rare(_least_second(first, second, delta), first.trials, second.trials, delta, level)


def _on_the_line(x: FloatArray, n: int, y: FloatArray, m: int, delta: float) -> FloatArray:
    """The likeliest second share when the first is larger by delta, by bisection of the score."""
    low = np.full(np.broadcast(x, y).shape, max(0.0, -delta))
    high = np.full_like(low, min(1.0, 1.0 - delta))
    for _ in range(_BISECTIONS):
        q = (low + high) / 2
        p = q + delta
        with np.errstate(divide="ignore", invalid="ignore"):
            rises = x / p - (n - x) / (1 - p) + y / q - (m - y) / (1 - q) > 0
        low, high = np.where(rises, q, low), np.where(rises, high, q)
    return np.asarray((low + high) / 2)


def _log_likelihood(x: FloatArray, n: int, p: FloatArray) -> FloatArray:
    return np.asarray(xlogy(x, p) + xlog1py(n - x, -p))


def _log_ways(x: FloatArray, n: int) -> FloatArray:
    """The logarithms of the binomial coefficients, n over x."""
    return np.asarray(-scipy.special.betaln(x + 1, n - x + 1) - np.log(n + 1.0))


def signed_root(x: FloatArray, n: int, y: FloatArray, m: int, delta: float) -> FloatArray:
    """The signed root of the likelihood ratio of outcomes (x of n, y of m), which broadcast."""
    q = _on_the_line(x, n, y, m, delta)
    p = np.clip(q + delta, 0.0, 1.0)
    free = _log_likelihood(x, n, x / n) + _log_likelihood(y, m, y / m)
    bound = _log_likelihood(x, n, p) + _log_likelihood(y, m, q)
    # A share of 0 or 1 on the line leaves no likelihood for other outcomes.
    ratio = np.maximum(2 * (free - bound), 0.0)
    return np.asarray(np.sign(x / n - y / m - delta) * np.sqrt(ratio))


def _least_second(first: Count, second: Count, delta: float) -> FloatArray:
    """For each x of cell 1, (n + 1,), the least y so that (x, y) is at or below the observed one.

    It is ``m + 1`` where there is none.
    """
    (x, n), (y, m) = first, second
    observed = float(signed_root(np.array(float(x)), n, np.array(float(y)), m, delta))
    limit = observed + _TIE * (1 + abs(observed))
    every = np.arange(n + 1.0)
    low, high = np.full(n + 1, -1.0), np.full(n + 1, m + 1.0)  # outside, and inside or none
    while np.any(high - low > 1):
        middle = np.floor((low + high) / 2)
        tried = np.clip(middle, 0, m)
        inside = signed_root(every, n, tried, m, delta) <= limit
        open_ = high - low > 1
        high = np.where(open_ & inside, middle, high)
        low = np.where(open_ & ~inside, middle, low)
    return high


def _is_rare(least: FloatArray, n: int, m: int, delta: float, level: float) -> bool:
    """Whether the set ``{y >= least[x]}`` has a probability of at most the level on the line."""
    x = np.arange(n + 1.0)
    log_ways = _log_ways(x, n)

    def probability(p: FloatArray, q: FloatArray) -> FloatArray:
        """Of the set, for shares (pieces,) each."""
        rows = max(_AT_ONCE // (n + 1), 1)
        found = np.empty(p.size)
        for i in range(0, p.size, rows):
            part = slice(i, i + rows)
            masses = np.exp(log_ways + _log_likelihood(x, n, p[part, None]))
            found[part] = np.sum(masses * _tail(least, m, q[part, None]), axis=1)
        return found

    ends = np.linspace(max(0.0, delta), min(1.0, 1.0 + delta), _PIECES + 1)
    low, high = ends[:-1], ends[1:]
    for _ in range(_HALVINGS):
        # Rounding may put an end of the line outside of [0, 1].
        if np.any(probability(low, np.clip(low - delta, 0.0, 1.0)) > level):
            return False
        bound = probability(low, np.clip(high - delta, 0.0, 1.0))
        left = bound > level
        if not left.any():
            return True
        low, high = low[left], high[left]
        middle = (low + high) / 2
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
    return False


def _tail(least: FloatArray, m: int, q: FloatArray) -> FloatArray:
    """The probability of ``y >= least`` successes in m trials with the share q."""
    tail = bdtrc(np.clip(least - 1, 0, m), m, q)
    return np.asarray(np.where(least <= 0, 1.0, np.where(least > m, 0.0, tail)))


def trend_probability(cells: Sequence[Count]) -> float:
    """The probability, with one share in all cells, of a trend as large as the observed one.

    It is one-sided, for shares that grow from cell to cell, given the successes of all cells
    together, and never too small.

    >>> found = trend_probability([Count(0, 2), Count(2, 2)])  # one of six pairs is in cell 2
    >>> round(found, 6)
    0.166667

    Raises
    ------
    InvalidParameter : a cell has no trials, a count is outside of them, or fewer than two cells.
    """
    if len(cells) < 2 or any(not 0 <= x <= n or n < 1 for x, n in cells):
        raise InvalidParameter("a trend needs at least two cells with trials, and counts of them")
    x, n = (np.array(each, dtype=np.int64) for each in zip(*cells, strict=True))
    weights = np.cumsum(n) - n - (np.cumsum(n[::-1])[::-1] - n)
    if 2 * x.sum() > n.sum():  # the failures fall where the successes grow
        x, weights = n - x, -weights
    weights = weights - weights.min()
    weights //= max(np.gcd.reduce(weights), 1)
    total, seen = int(x.sum()), int(weights @ x)
    # Python's integers: 64 bits are too few for 20,000 trials in each of five cells.
    n_sums = (total + 1) * (total * int(weights.max()) + 1) * int(np.minimum(n, total).sum())
    return _exact_tail(n, weights, total, seen) if n_sums <= _MOST_SUMS else _chernoff(
        n, weights, total, seen
    )  # fmt: skip


def _exact_tail(n: IntArray, weights: IntArray, total: int, seen: int) -> float:
    """The probability of a weighted sum of at least ``seen``, given the number of successes."""
    law = np.zeros((total + 1, total * int(weights.max()) + 1))
    law[0, 0] = 1.0
    share = np.array(total / n.sum())
    for trials, weight in zip(n, weights, strict=True):
        most = min(int(trials), total)
        every = np.arange(most + 1.0)
        masses = np.exp(_log_ways(every, int(trials)) + _log_likelihood(every, int(trials), share))
        grown = masses[0] * law
        for count in range(1, most + 1):
            shift = count * int(weight)
            grown[count:, shift:] += (
                masses[count] * law[: total + 1 - count, : law.shape[1] - shift]
            )
        law = grown
    return min(float(law[total, seen:].sum() / law[total].sum()), 1.0)


def _chernoff(n: IntArray, weights: IntArray, total: int, seen: int) -> float:
    """Chernoff's bound on the same probability: of the sum and the total, over that of the total.

    Each pair of tilts gives a bound, so that a minimum that is missed does no harm.
    """
    share = total / float(n.sum())
    if not 0 < share < 1:
        return 1.0
    steps = weights / weights.max()
    sums = seen / weights.max(), float(total)
    odds = math.log(share / (1 - share))

    def exponent(tilts: FloatArray) -> tuple[float, FloatArray]:
        logits = odds + tilts[0] * steps + tilts[1]
        expected = n * expit(logits)
        grown = float(n @ (np.logaddexp(0.0, logits) + math.log1p(-share)))
        slopes = np.array([steps @ expected - sums[0], expected.sum() - sums[1]])
        return grown - float(tilts @ np.array(sums)), slopes

    found = scipy.optimize.minimize(
        exponent, np.zeros(2), jac=True, method="L-BFGS-B", bounds=[(0.0, 500.0), (-500.0, 500.0)]
    )
    log_total = float(scipy.stats.binom.logpmf(total, n.sum(), share))
    return math.exp(min(float(found.fun) - log_total, 0.0))

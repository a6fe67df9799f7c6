r"""Anytime-valid inference for a probability and for a quantile.

A Monte Carlo run may stop when the answer is clear, be extended, or be looked at after every block.
A fixed-sample interval is then wrong.  The limits here hold at *all* sample sizes at once.

For Bernoulli trials with success probability :math:`p`, :math:`s` successes in :math:`n` trials and
a mixing law :math:`w` on (0, 1), declared before the first trial, the mixture likelihood ratio

.. math:: M_n(p) = \frac{\int q^s (1-q)^{n-s} w(q)\, dq}{p^{s} (1-p)^{n-s}}, \qquad
   w = 0.9\,\mathrm{Beta}(a, b) + 0.1\,\mathrm{Beta}(\tfrac12, \tfrac12),

is a non-negative martingale under :math:`p` that starts at one.  So Ville's inequality gives
:math:`P_p(\exists n: M_n(p) \ge 1/\alpha) \le \alpha`.  The set :math:`\{p : M_n(p) < 1/\alpha\}`
is an interval around :math:`s/n`.  With probability at least :math:`1 - \alpha` it covers the truth
at every :math:`n` simultaneously (both ends together, hence each end alone as well).  With the
centred part of the mixing law, decisions near a target need few trials (see `prior_for`).  The
spread part keeps power against truths far away from the target.  A law that is centred at a tiny
probability has no mass there.

References
----------
Robbins, H. (1970). Statistical methods related to the law of the iterated logarithm. AMS 41.
Howard, Ramdas, McAuliffe and Sekhon (2021). Time-uniform, nonparametric, nonasymptotic confidence
sequences. Annals of Statistics 49(2).
Waudby-Smith and Ramdas (2020). Confidence sequences for sampling without replacement. NeurIPS.
Howard and Ramdas (2022). Sequential estimation of quantiles. Bernoulli 28(3).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import betaln, expit, xlog1py, xlogy

from trials.checks import InvalidParameter

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Prior = tuple[float, float]

#: Relative differences up to here are rounding, of a value and a limit that it attains.
ROUNDING = 1e-9

_JEFFREYS: Prior = (0.5, 0.5)
_SPREAD = 0.1  # weight of Jeffreys' law in the mixture
_SMALLEST = 1e-9  # below it a centred law would be a point mass at zero in floating point
_UNREACHABLE = 1e-15  # no budget resolves probabilities below it


def check_level(level: float) -> float:
    """Return ``level`` when it is a usable error probability, else raise `InvalidParameter`."""
    if not 0.0 < level < 1.0:
        raise InvalidParameter(f"level={level} must lie strictly between 0 and 1")
    return float(level)


def prior_for(delta: float) -> Prior:
    r"""A Beta prior centred at the probability that is to be decided, declared in advance.

    The mean is ``delta`` (at least 1e-9) and the smaller of the two shapes is 1/2.  At small
    ``delta`` this is close to :math:`\delta \chi^2_1`, which has mass at every scale below and
    around ``delta``.  Zero failures then resolve ``delta`` after about
    :math:`(\log(1/\alpha) + \tfrac12 \log(1 + 2 n \delta) + 0.1)/\delta` trials.  A law that is
    spread over all of (0, 1) would need :math:`\log n` in place of the second term.  Outside (0, 1)
    the claim is trivial and Jeffreys' law is returned.
    """
    if not 0.0 < delta < 1.0:
        return _JEFFREYS
    centre = max(delta, _SMALLEST)
    smaller = min(centre, 1.0 - centre)
    return 0.5 * centre / smaller, 0.5 * (1.0 - centre) / smaller


def _log_mixture(s: FloatArray, n: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
    """The logarithm of the numerator of the mixture martingale."""
    half = _JEFFREYS[0]
    centred = betaln(a + s, b + n - s) - betaln(a, b)
    spread = betaln(half + s, half + n - s) - betaln(half, half)
    mixture = np.logaddexp(math.log1p(-_SPREAD) + centred, math.log(_SPREAD) + spread)
    return np.asarray(mixture, dtype=np.float64)


def log_evidence(
    successes: ArrayLike, n: ArrayLike, p: ArrayLike, prior: tuple[ArrayLike, ArrayLike] = _JEFFREYS
) -> FloatArray:
    """The logarithm of the mixture martingale, :math:`log M_n(p)`.  Arguments broadcast.

    ``p`` is rejected at level alpha, at any stopping time, as soon as the value reaches
    ``log(1 / alpha)``.
    """
    s, n_, p_ = (np.asarray(v, dtype=np.float64) for v in (successes, n, p))
    a, b = (np.asarray(v, dtype=np.float64) for v in prior)
    likelihood = xlogy(s, p_) + xlog1py(n_ - s, -p_)
    return np.asarray(_log_mixture(s, n_, a, b) - likelihood, dtype=np.float64)


def exceeds(
    successes: ArrayLike,
    n: ArrayLike,
    delta: ArrayLike,
    level: ArrayLike,
    prior: tuple[ArrayLike, ArrayLike] = _JEFFREYS,
) -> BoolArray:
    """Whether the lower limit at ``level`` is at or above ``delta`` (``P <= delta`` is rejected).

    The same event as ``confidence_sequence(...)[0] >= delta`` without the root finding.
    """
    s, n_, d = (np.asarray(v, dtype=np.float64) for v in (successes, n, delta))
    against = log_evidence(s, n_, np.clip(d, 0.0, 1.0), prior) >= -np.log(level)
    return np.asarray((s > n_ * d) & (d < 1.0) & against, dtype=np.bool_)


def falls_below(
    successes: ArrayLike,
    n: ArrayLike,
    delta: ArrayLike,
    level: ArrayLike,
    prior: tuple[ArrayLike, ArrayLike] = _JEFFREYS,
) -> BoolArray:
    """Whether the upper limit at ``level`` is at or below ``delta`` (``P > delta`` is rejected)."""
    s, n_, d = (np.asarray(v, dtype=np.float64) for v in (successes, n, delta))
    against = log_evidence(s, n_, np.clip(d, 0.0, 1.0), prior) >= -np.log(level)
    return np.asarray(((s < n_ * d) & against) | (d >= 1.0), dtype=np.bool_)


def confidence_sequence(
    successes: ArrayLike,
    n: ArrayLike,
    level: ArrayLike,
    prior: tuple[ArrayLike, ArrayLike] = _JEFFREYS,
) -> tuple[FloatArray, FloatArray]:
    r"""Limits for a success probability that hold at every sample size simultaneously.

    Parameters
    ----------
    successes, n : counts.  They broadcast with ``level`` and with the two shapes of ``prior``.
    level : error probability alpha of the pair of limits, hence also of each limit alone.
    prior : shapes (a, b) of the centred part of the mixing law, fixed before the trials (see
        `prior_for`).

    Returns
    -------
    lower, upper : the ends of :math:`\{p : M_n(p) < 1/\alpha\}`, (0, 1) when ``n`` is zero.

    Notes
    -----
    In :math:`t = \mathrm{logit}(p)` the function :math:`\log \alpha M_n` is convex with derivative
    :math:`np - s`, so Newton's iteration from outside the interval approaches each end
    monotonically.  An early stop could only widen the interval.
    """
    a, b = (np.asarray(v, dtype=np.float64) for v in prior)
    s, n_, alpha, a, b = np.broadcast_arrays(
        *(np.asarray(v, dtype=np.float64) for v in (successes, n, level, a, b))
    )
    if np.any((s < 0) | (s > n_)):
        raise InvalidParameter("successes must lie between 0 and n in every cell")
    if np.any((alpha <= 0) | (alpha >= 1)):
        raise InvalidParameter("level must lie strictly between 0 and 1")
    # Negative: the marginal likelihood never exceeds one, and alpha is below one.
    offset = _log_mixture(s, n_, a, b) + np.log(alpha)
    lower = np.where(s > 0, _newton_end(offset, s, n_, -1.0), 0.0)
    upper = np.where(s < n_, _newton_end(offset, s, n_, 1.0), 1.0)
    return lower, upper


def _newton_end(offset: FloatArray, s: FloatArray, n: FloatArray, side: float) -> FloatArray:
    """One end (``side`` -1 lower, +1 upper) of the set where ``offset - log-likelihood < 0``."""
    count = s if side < 0 else n - s
    active = count > 0
    safe = np.where(active, count, 1.0)
    t = -side * offset / safe  # there the linear minorant, hence the function, is >= 0
    for _ in range(200):
        p = expit(t)
        value = offset + s * np.logaddexp(0.0, -t) + (n - s) * np.logaddexp(0.0, t)
        slope = n * p - s
        outside = active & (value > 0) & (side * slope > 0)
        step = np.where(outside, value / np.where(outside, slope, 1.0), 0.0)
        t = t - step
        if np.all(np.abs(step) <= 1e-13 * np.maximum(np.abs(t), 1.0)):
            break
    return np.asarray(expit(t), dtype=np.float64)


def trials_to_resolve(delta: float, level: float, prior: Prior | None = None) -> int:
    """The number of failure-free trials after which the upper limit is at or below ``delta``.

    No run with fewer trials can support ``P <= delta``.  Planning compares this number with the
    budget.  The default prior is ``prior_for(delta)``.  O(log n).
    """
    check_level(level)
    if delta >= 1.0:
        return 0
    if not delta >= _UNREACHABLE:
        raise InvalidParameter(
            f"delta={delta} must be at least {_UNREACHABLE}: no budget resolves it"
        )
    return _trials_to_resolve(delta, level, prior_for(delta) if prior is None else prior)


@lru_cache(maxsize=1024)
def _trials_to_resolve(delta: float, level: float, shapes: Prior) -> int:
    def resolved(n: int) -> bool:
        return bool(falls_below(0, n, delta, level, shapes))

    high = 1
    while not resolved(high):
        high *= 2
    low = high // 2
    # Once the evidence has turned positive it only grows in n, so bisection is sound.
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if resolved(middle) else (middle, high)
    return high


def resolvable(n: int, level: float) -> float:
    """The smallest ``delta`` that ``n`` failure-free trials resolve.

    It is the inverse of `trials_to_resolve`, and one when ``n`` trials resolve nothing below one
    half.
    """
    check_level(level)
    return _resolvable(n, level)


@lru_cache(maxsize=1024)
def _resolvable(n: int, level: float) -> float:
    def excess(log_delta: float) -> float:
        delta = math.exp(log_delta)
        return float(log_evidence(0, n, delta, prior_for(delta))) + math.log(level)

    top = math.log(0.5)
    if n < 1 or excess(top) <= 0.0:
        return 1.0
    return math.exp(brentq(excess, math.log(1e-3 / n), top, xtol=1e-10))


def _as_failures_last(sample: ArrayLike) -> FloatArray:
    """The sorted sample.  A NaN value (a failed trial) ranks as +infinity."""
    x = np.asarray(sample, dtype=np.float64).ravel()
    return np.sort(np.where(np.isnan(x), np.inf, x))


def quantile_upper(sample: ArrayLike, q: float, level: float, *, anytime: bool = False) -> float:
    r"""Upper confidence limit for the ``q``-quantile: an order statistic.

    With :math:`N \sim \mathrm{Bin}(n, q)`, the limit :math:`X_{(r)}` fails with probability at most
    :math:`P(N \ge r)`, and the smallest such :math:`r` is taken.  The limit is +infinity when even
    the maximum is not enough.  ``anytime=True`` replaces the binomial tail by the confidence
    sequence, so that the limit may be read after any block.  NaN counts as +infinity.  O(n log n).
    """
    x = _as_failures_last(sample)
    n = x.size
    check_level(level)
    if anytime:
        ranks = np.arange(1, n + 1)
        good = ranks[exceeds(ranks, n, q, level, prior_for(q))]
        return float(x[good[0] - 1]) if good.size else math.inf
    rank = int(scipy.stats.binom.isf(level, n, q)) + 1
    return float(x[rank - 1]) if rank <= n else math.inf


def quantile_lower(sample: ArrayLike, q: float, level: float, *, anytime: bool = False) -> float:
    """Lower confidence limit for the ``q``-quantile, the mirror image of `quantile_upper`."""
    x = _as_failures_last(sample)
    n = x.size
    check_level(level)
    if anytime:
        ranks = np.arange(1, n + 1)
        good = ranks[falls_below(ranks - 1, n, q, level, prior_for(q))]
        return float(x[good[-1] - 1]) if good.size else -math.inf
    # The first rank that may be too high: the tail of the one below may be the level itself.
    rank = min(int(scipy.stats.binom.ppf(level, n, q)) + 1, n)
    while rank > 0 and scipy.stats.binom.cdf(rank - 1, n, q) > level:
        rank -= 1
    return float(x[rank - 1]) if rank > 0 else -math.inf

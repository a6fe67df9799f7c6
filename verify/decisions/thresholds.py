r"""The size at which a success probability crosses a target, by adaptive sampling.

The probability of success :math:`p(n)` grows with the size n.  A *threshold* is a size x with
:math:`p(n) \le q` for all n < x and :math:`p(n) \ge q` for all n > x, where q is the target.
Nothing else is assumed of the curve, so that it may jump anywhere.

*Limits.*  Each of the K sizes of the design has a bettor with a capital of one.  Where x is the
threshold and n < x, he bets against :math:`p(n) \le q`.  After s successes in t trials he has

.. math:: \int_q^1 \Bigl(\frac{u}{q}\Bigr)^s \Bigl(\frac{1-u}{1-q}\Bigr)^{t-s} w(u)\,du

with the density w of Jeffreys' law on (q, 1).  A further trial multiplies each integrand by
:math:`p u/q + (1 - p)(1 - u)/(1 - q)` in the mean, which is at most one for :math:`p \le q`.  So
the capital is a supermartingale.  Above x the bet is against :math:`p(n) \ge q`.  It is one too,
whatever rule chooses the size of the next trial from those before it, and so is the mean capital of
all bettors.  By Ville's inequality that mean reaches :math:`1/\alpha` at some time with a
probability of at most :math:`\alpha`.  The limits enclose every x at which it stays below.  They
hold at every stopping time.  The level is not split, because the truth is one x.

No limits can be narrower than the step between two sizes.  Where the trials contradict every x, the
shares of success fall as the size grows, and there are no limits.

*Estimate.*  The size itself, and the sizes that are tried next, come from a binomial model
:math:`F^{-1}(p) = F^{-1}(q) + b (\log n - x)` with a link F.  Here :math:`x` is the logarithm of
the threshold.  A threshold is a parameter of its own, so that its profile likelihood gives a
standard error:

.. math:: \{x : \ell(\hat x, \hat b) - \max_{b \ge 0} \ell(x, b) \le \log(2/\alpha)\}

has a width of so many errors.  It encloses the profiles of three links (logit and the two skewed
ones), as far as their goodness of fit does not refuse them.  It was once taken for the limits.  A
curve with a step from .3 to .55 follows no link, and the profile missed its threshold in 11 of 150
runs at the level .05.  Now an error of the model can only weigh cells wrongly, or stop the sampling
late.  An estimate outside the limits is moved to the nearer one.

Under *perfect separation* the slope has no finite estimate, but the profile has ends: every size
between the last failures and the first successes fits perfectly.

The next size to be tried depends on stored counts only.

References
----------
Ville (1939). Etude critique de la notion de collectif.
Waudby-Smith and Ramdas (2024). Estimating means of bounded random variables by betting. JRSS B 86.
Chernoff (1952). A measure of asymptotic efficiency for tests of a hypothesis based on the sum of
observations. Ann. Math. Statist. 23.
Cox and Oakes (1984), Analysis of Survival Data, section 3.3 (profile likelihood limits).
Finney (1971). Probit Analysis, 3rd edition (effective doses, goodness of fit).
Albert and Anderson (1984). On the existence of maximum likelihood estimates in logistic regression
models. Biometrika 71 (separation).
Wu, C. F. J. (1985). Efficient sequential designs with binary data. JASA 80.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy.special import betainc, betaincc, betaln, expit, log_expit, log_ndtr, ndtri

from trials.checks import InvalidParameter
from verify.decisions.sequences import FloatArray, check_level, confidence_sequence

Link = Literal["logit", "probit", "cloglog", "loglog"]
#: A symmetric link, and one for each sign of skewness.
LINKS: tuple[Link, ...] = ("logit", "cloglog", "loglog")
Counts = Mapping[int, tuple[int, int]]  # size -> (successes, trials)

_MISFIT = 0.01  # a model whose goodness of fit has a smaller p-value is refused
_GRID = 49  # candidate thresholds of a profile, at each zoom
_SEQUENTIAL = 2.0  # divides the level of a profile: sampling ends when the profile is narrow
_JEFFREYS = 0.5  # both shapes of the law of the bets


@dataclass(frozen=True, kw_only=True)
class ThresholdFit:
    """A threshold with its limits.

    Attributes
    ----------
    threshold : the model's estimate, within the limits.
    lower, upper : sizes.  ``lower`` is 0 and ``upper`` infinite where nothing bounds them.
    profile : the ends of the model's profile, 0 or infinite where it has none.  They are the limits
        where every link is refused.
    slope : slope of the link in log size, infinite under perfect separation.
    se_log : standard error of the log threshold, from the width of the profile, or of the limits
        where the profile has no ends.
    gof_p : p-value of Pearson's goodness of fit, one where no degree of freedom is left.
    separated : whether some size splits the levels into failures only and successes only.
    falls : whether the trials contradict every threshold, so that the shares fall somewhere.
    """

    threshold: float
    lower: float
    upper: float
    profile: tuple[float, float]
    slope: float
    se_log: float
    gof_p: float
    separated: bool
    falls: bool
    level: float

    @property
    def resolved(self) -> bool:
        """Whether both limits are sizes."""
        return self.lower > 0 and math.isfinite(self.upper)

    @property
    def estimated(self) -> bool:
        """Whether the model's profile has both ends."""
        return self.profile[0] > 0 and math.isfinite(self.profile[1])


def _logs(eta: FloatArray, link: Link) -> tuple[FloatArray, FloatArray]:
    """Logarithms of the probabilities of success and of failure."""
    if link == "logit":
        return np.asarray(log_expit(eta)), np.asarray(log_expit(-eta))
    if link == "probit":
        return np.asarray(log_ndtr(eta)), np.asarray(log_ndtr(-eta))
    rate = np.exp(np.clip(eta if link == "cloglog" else -eta, -700.0, 600.0))
    none, some = -rate, np.log(-np.expm1(-rate))
    return (some, none) if link == "cloglog" else (none, some)


def _log_slopes(eta: FloatArray, link: Link) -> tuple[FloatArray, FloatArray]:
    """The derivatives of `_logs` in the linear predictor."""
    if link == "logit":
        return np.asarray(expit(-eta)), np.asarray(-expit(eta))
    if link == "probit":
        log_density = -0.5 * eta * eta - 0.5 * math.log(2 * math.pi)
        return (
            np.asarray(np.exp(log_density - log_ndtr(eta))),
            np.asarray(-np.exp(log_density - log_ndtr(-eta))),
        )
    rate = np.exp(np.clip(eta if link == "cloglog" else -eta, -700.0, 600.0))
    with np.errstate(over="ignore"):
        none, some = -rate, rate / np.expm1(rate)
    return (some, none) if link == "cloglog" else (-none, -some)


def _best_slopes(
    x: FloatArray, s: FloatArray, t: FloatArray, candidates: FloatArray, q: float, link: Link
) -> tuple[FloatArray, FloatArray]:
    """For each candidate threshold: the best slope >= 0 and its log likelihood, both (G,).

    All four links have a log likelihood that is concave in the slope, so bisection on its
    derivative finds the maximum.  It runs for all candidates at once.
    """
    gaps = np.diff(np.unique(x))
    steepest = 60.0 / float(gaps.min()) if gaps.size else 60.0
    centred = x[None, :] - candidates[:, None]
    low, high = np.zeros(candidates.size), np.ones(candidates.size)
    for _ in range(26):
        middle = (low + high) / 2
        # The cube is fine near zero, where moderate slopes lie.
        up, down = _log_slopes(q + (steepest * middle**3)[:, None] * centred, link)
        rising = np.sum((s * up + (t - s) * down) * centred, axis=-1) > 0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    slope = np.where(high < 1e-3, 0.0, steepest * high**3)
    up, down = _logs(q + slope[:, None] * centred, link)
    # 0 log 0 = 0: a level without failures has no term for their probability.
    likelihood = np.where(s > 0, s * up, 0.0) + np.where(s < t, (t - s) * down, 0.0)
    return slope, np.asarray(likelihood.sum(axis=-1))


def _pearson(s: FloatArray, t: FloatArray, p: FloatArray) -> float:
    """P-value of Pearson's statistic over levels with at least one expected case of each kind."""
    usable = np.minimum(t * p, t * (1 - p)) >= 1.0
    dof = int(usable.sum()) - 2
    if dof < 1:
        return 1.0
    s, t, p = s[usable], t[usable], p[usable]
    return float(scipy.stats.chi2.sf(np.sum((s - t * p) ** 2 / (t * p * (1 - p))), dof))


def _quantile(target: float, link: Link) -> float:
    return {
        "logit": math.log(target / (1 - target)),
        "probit": float(ndtri(target)),
        "cloglog": math.log(-math.log1p(-target)),
        "loglog": -math.log(-math.log(target)),
    }[link]


@dataclass(frozen=True, kw_only=True)
class _Profile:
    """One link's profile: the best threshold and the ends of its limits, all as logarithms."""

    estimate: float
    lower: float
    upper: float
    slope: float
    gof_p: float


def _profile(
    x: FloatArray, s: FloatArray, t: FloatArray, link: Link, target: float, level: float
) -> _Profile:
    """The profile on successively finer grids of candidates.  Limits are rounded outwards."""
    q, allowed = _quantile(target, link), -2.0 * math.log(level)
    span = max(float(x[-1] - x[0]), 0.5)
    low, high = float(x[0]) - span, float(x[-1]) + span
    lowest, highest = low, high
    for zoom in range(6):
        candidates = np.linspace(low, high, _GRID)
        slopes, values = _best_slopes(x, s, t, candidates, q, link)
        top = float(values.max())
        inside = np.flatnonzero(2 * (top - values) <= allowed)
        first, last = int(inside[0]), int(inside[-1])
        low = float(candidates[max(first - 1, 0)])
        high = float(candidates[min(last + 1, _GRID - 1)])
        if last - first >= _GRID // 2 or zoom == 5:
            break
    flat = candidates[values >= top - 1e-6]
    estimate = float(flat[0] + flat[-1]) / 2  # the middle of the gap under separation
    slope = float(slopes[int(np.argmin(np.abs(candidates - estimate)))])
    p = np.exp(_logs(q + slope * (x - estimate), link)[0])
    # No size beyond the tried ones has data, so a limit beyond them is infinite.
    open_low = low <= lowest or s[0] > target * t[0]
    open_high = high >= highest or s[-1] < target * t[-1]
    return _Profile(
        estimate=estimate,
        lower=-math.inf if open_low else low,
        upper=math.inf if open_high else high,
        slope=slope,
        gof_p=_pearson(s, t, p),
    )


def fit_threshold(
    sizes: ArrayLike,
    successes: ArrayLike,
    trials: ArrayLike,
    *,
    level: float,
    target: float = 0.5,
    links: tuple[Link, ...] = LINKS,
    n_levels: int | None = None,
) -> ThresholdFit:
    """Fit the size at which the success probability, which grows with size, crosses ``target``.

    Parameters
    ----------
    sizes, successes, trials : (K,) distinct positive sizes and their counts.
    level : error probability of the pair of limits.
    links : the estimate is that of the first link.  The limits enclose those of every link that the
        data do not refuse.
    n_levels : number of sizes that the design could have tried (at least K).  The level of the
        limits that need no model is split over them.

    Raises
    ------
    InvalidParameter : sizes that repeat or are not positive, counts that do not fit.
    """
    check_level(level)
    n, s, t = _counts(sizes, successes, trials, target)
    all_fail, all_succeed = s == 0, s == t
    separated = bool(
        np.all(all_fail | all_succeed) and np.all(np.diff(all_succeed.astype(int)) >= 0)
    )
    profiles = [_profile(np.log(n), s, t, link, target, level / _SEQUENTIAL) for link in links]
    kept = [p for p in profiles if separated or p.gof_p >= _MISFIT]
    limits = crossing_limits(n, s, t, level=level, target=target, n_levels=n_levels)
    lower, upper = profile = limits or (0.0, math.inf)
    if kept:
        profile = math.exp(min(p.lower for p in kept)), math.exp(max(p.upper for p in kept))
    best = kept[0] if kept else profiles[0]
    z = float(scipy.stats.norm.isf(level / 2))
    low, high = profile if profile[0] > 0 and math.isfinite(profile[1]) else (lower, upper)
    return ThresholdFit(
        threshold=min(max(math.exp(best.estimate), lower), upper),
        lower=lower,
        upper=upper,
        profile=profile,
        slope=math.inf if separated else best.slope,
        se_log=math.log(high / low) / (2 * z) if low > 0 else math.inf,
        gof_p=1.0 if separated else best.gof_p,
        separated=separated,
        falls=limits is None,
        level=level,
    )


def _counts(
    sizes: ArrayLike, successes: ArrayLike, trials: ArrayLike, target: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Validated sizes, successes and trials, ordered by size."""
    n, s, t = (np.asarray(v, dtype=np.float64) for v in (sizes, successes, trials))
    if not 0 < target < 1:
        raise InvalidParameter(f"target={target} must lie strictly between 0 and 1")
    if n.ndim != 1 or n.size == 0 or n.shape != s.shape or n.shape != t.shape:
        raise InvalidParameter("sizes, successes and trials must be vectors of one length >= 1")
    if np.any(n <= 0) or np.unique(n).size != n.size:
        raise InvalidParameter("sizes must be positive and distinct")
    if np.any((s < 0) | (s > t) | (t < 1)):
        raise InvalidParameter("successes must lie between 0 and trials, and trials be >= 1")
    order = np.argsort(n)
    return n[order], s[order], t[order]


def log_capitals(
    successes: ArrayLike, trials: ArrayLike, target: float
) -> tuple[FloatArray, FloatArray]:
    """Logarithms of the capitals of bets against ``p <= target`` and against ``p >= target``.

    Each starts at 0, and reaches ``log(1 / alpha)`` at some time with a probability of at most
    alpha where its hypothesis holds.
    """
    s, t = (np.asarray(v, dtype=np.float64) for v in (successes, trials))

    def capital(tail: Any) -> FloatArray:
        with np.errstate(divide="ignore"):
            part = np.log(tail(_JEFFREYS + s, _JEFFREYS + t - s, target))
        law = betaln(_JEFFREYS, _JEFFREYS) + math.log(tail(_JEFFREYS, _JEFFREYS, target))
        mixed = betaln(_JEFFREYS + s, _JEFFREYS + t - s) + part - law
        return np.asarray(mixed - s * math.log(target) - (t - s) * math.log1p(-target))

    return capital(betaincc), capital(betainc)


def crossing_limits(
    sizes: FloatArray,
    successes: FloatArray,
    trials: FloatArray,
    *,
    level: float,
    target: float,
    n_levels: int | None = None,
) -> tuple[float, float] | None:
    """Limits of a threshold under monotony alone, at any stopping time, or None if none is left.

    ``sizes`` ascend.  ``n_levels`` is the number of sizes that the design could have tried.  A size
    without trials keeps its capital of one.

    >>> n, s, t = np.array([10.0, 20.0, 40.0]), np.array([0.0, 6.0, 12.0]), np.full(3, 12.0)
    >>> crossing_limits(n, s, t, level=0.05, target=0.5)
    (10.0, 40.0)
    """
    below, above = log_capitals(successes, trials, target)
    # The i-th gap lies above i sizes, which bet against shares above the target.  A threshold at a
    # size needs no set of its own: of this size's two bets one never exceeds its start.
    bets = np.array([[*below[:i], *above[i:]] for i in range(sizes.size + 1)])
    n_bettors = max(sizes.size, n_levels or 0)
    idle = math.log(n_bettors - sizes.size) if n_bettors > sizes.size else -math.inf
    total = np.logaddexp(np.logaddexp.reduce(bets, axis=1), idle)
    kept = np.flatnonzero(total < math.log(n_bettors / level))
    if not kept.size:
        return None
    ends = np.array([0.0, *sizes, math.inf])
    return float(ends[kept[0]]), float(ends[kept[-1] + 1])


@dataclass(frozen=True, kw_only=True)
class Design:
    """How sizes are chosen: bisection on a declared grid, then sizes around the fitted threshold.

    Attributes
    ----------
    grid : ascending sizes.
    batch : trials that one step adds at one size.
    budget : trials of the cell, over all sizes.
    precision : without ``stated`` the sampling ends when the upper end of the model's profile over
        the lower one is at most this.
    stated : two sizes.  The sampling ends when the limits lie between them or beyond one of them,
        or when they cannot be narrower on this grid.
    """

    grid: tuple[int, ...]
    batch: int
    budget: int
    level: float
    target: float = 0.5
    precision: float = 1.2
    stated: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        """Refuse a grid that cannot bracket anything."""
        g = self.grid
        if len(g) < 2 or g[0] < 1 or any(b <= a for a, b in itertools.pairwise(g)):
            raise InvalidParameter(f"grid={g} must hold at least two ascending sizes >= 1")
        if self.batch < 1 or self.budget < self.batch:
            raise InvalidParameter(
                f"batch={self.batch} must be >= 1 and at most the budget of {self.budget} trials"
            )
        if not self.precision > 1:
            raise InvalidParameter(f"precision={self.precision} must exceed 1")

    def fit(self, counts: Counts, links: tuple[Link, ...] = LINKS) -> ThresholdFit:
        """The threshold from all draws.

        Answers are remembered: a cell whose sampling has ended is asked for again in every round
        of the others, and once more for the verdict.
        """
        return _fit(self, tuple(sorted(counts.items())), links)

    def next_size(self, counts: Counts) -> int | None:
        """The size of the next batch, or None when the sampling has ended.

        A function of the counts alone, so that a run that was stopped goes on as if it had not
        been.  Answers are remembered: a run asks again from the first batch in every round.
        """
        return _next_size(self, tuple(sorted(counts.items())))

    def _choose(self, counts: Counts) -> int | None:
        if sum(t for _, t in counts.values()) + self.batch > self.budget:
            return None
        bracket = self._bracket(counts)
        if isinstance(bracket, int):
            return self.grid[bracket]
        if self._hopeless(counts):
            return None
        fit = self.fit(counts, LINKS[:1])
        low, high = bracket
        if self._suffices(fit) or (fit.separated and self._certain(counts, low, high)):
            return None
        wanted = self._deciding(fit) or self._around(fit, low, high)
        return min(wanted, key=lambda n: (counts[n][1] if n in counts else 0, n))

    def _suffices(self, fit: ThresholdFit) -> bool:
        """Whether the limits decide, or the estimate is as precise as wanted."""
        if self.stated is None:
            return fit.estimated and fit.profile[1] <= self.precision * fit.profile[0]
        least, most = self.stated
        inside = least <= fit.lower and fit.upper <= most
        if inside or fit.lower > most or fit.upper < least:
            return True
        between = [n for n in self.grid if fit.lower < n < fit.upper]
        return fit.resolved and not between

    def _bracket(self, counts: Counts) -> int | tuple[int, int]:
        """Bisection: the next position to try, or the neighbours that enclose the crossing."""
        low, high = -1, len(self.grid)
        while high - low > 1:
            middle = (low + high) // 2
            if self.grid[middle] not in counts:
                return middle
            s, t = counts[self.grid[middle]]
            low, high = (low, middle) if s >= self.target * t else (middle, high)
        return max(low, 0), min(high, len(self.grid) - 1)

    def _certain(self, counts: Counts, low: int, high: int) -> bool:
        """Whether both neighbours are on their sides of the target with confidence."""
        share = self.level / len(self.grid)
        (s, t), (u, v) = counts[self.grid[low]], counts[self.grid[high]]
        below = float(confidence_sequence(s, t, share)[1]) < self.target
        return below and float(confidence_sequence(u, v, share)[0]) > self.target

    def _hopeless(self, counts: Counts) -> bool:
        """Whether an end of the grid is on the wrong side of the target with confidence."""
        share = self.level / len(self.grid)
        first, last = counts.get(self.grid[0]), counts.get(self.grid[-1])
        wrong_low = first is not None and float(confidence_sequence(*first, share)[0]) > self.target
        wrong_high = last is not None and float(confidence_sequence(*last, share)[1]) < self.target
        return wrong_low or wrong_high

    def _deciding(self, fit: ThresholdFit) -> set[int]:
        """The sizes that show best that the threshold lies where the estimate puts it.

        Within the stated sizes, or beyond one of them, the size next to that one has the share that
        is farthest from the target.  The set is empty where no size of the grid can show it.
        """
        if self.stated is None:
            return set()
        least, most = self.stated
        below = [n for n in self.grid if n < fit.threshold]
        above = [n for n in self.grid if n > fit.threshold]
        if fit.threshold > most:  # a size above the stated ones fails
            return {min([n for n in below if n > most], default=0)} - {0}
        if fit.threshold < least:
            return {max([n for n in above if n < least], default=0)} - {0}
        wanted = set()
        if fit.lower < least:
            wanted |= {min([n for n in below if n >= least], default=0)}
        if fit.upper > most:
            wanted |= {max([n for n in above if n <= most], default=0)}
        return wanted - {0}

    def _around(self, fit: ThresholdFit, low: int, high: int) -> set[int]:
        """The neighbours, and the sizes nearest to a quarter and three quarters of success."""
        logs = np.log(np.asarray(self.grid, dtype=np.float64))
        wanted = {self.grid[low], self.grid[high]}
        if math.isfinite(fit.slope) and fit.slope > 0:
            reach = 1.1 / fit.slope  # logit(3/4)
            for x in (math.log(fit.threshold) - reach, math.log(fit.threshold) + reach):
                wanted.add(self.grid[int(np.argmin(np.abs(logs - x)))])
        return wanted


@lru_cache(maxsize=65_536)
def _next_size(design: Design, counts: tuple[tuple[int, tuple[int, int]], ...]) -> int | None:
    return design._choose(dict(counts))


@lru_cache(maxsize=4_096)
def _fit(
    design: Design, counts: tuple[tuple[int, tuple[int, int]], ...], links: tuple[Link, ...]
) -> ThresholdFit:
    return fit_threshold(
        [n for n, _ in counts],
        [s for _, (s, _) in counts],
        [t for _, (_, t) in counts],
        level=design.level,
        target=design.target,
        links=links,
        n_levels=len(design.grid),
    )


def log_grid(low: int, high: int, per_octave: int = 4) -> tuple[int, ...]:
    """Distinct integers from ``low`` to ``high``, about ``per_octave`` in each doubling."""
    if not 1 <= low < high:
        raise InvalidParameter(f"low={low} must be >= 1 and below high={high}")
    if per_octave < 1:
        raise InvalidParameter(f"per_octave={per_octave} must be an integer >= 1")
    steps = math.ceil(per_octave * math.log2(high / low))
    values = np.round(low * (high / low) ** (np.arange(steps + 1) / steps)).astype(int)
    return tuple(int(v) for v in np.unique(values))

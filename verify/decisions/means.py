r"""Deciding statements about a mean, at any stopping time.

A *bet* against "the mean is at most :math:`m`" is a wealth that starts at one, is never negative
and does not grow on average while that hypothesis is true.  By Ville's inequality the wealth ever
reaches :math:`1/\alpha` with probability at most :math:`\alpha`.  A mixture of bets of different
sizes is a bet too, and no size has to be guessed.  Three kinds of knowledge give three bets.

* *A lower end* :math:`a \le X`: the wealth is :math:`\prod_i (1 + c (X_i - m)/(m - a))` with
  :math:`0 < c < 1` (Waudby-Smith and Ramdas 2023).  The upper tail may be any.
* *A variance bound* :math:`\mathrm{Var} X \le v`: the wealth is
  :math:`\prod_i e^{\varphi(\lambda (X_i - m))} / (1 + \lambda^2 v / 2)` with Catoni's function
  :math:`\varphi(x) = \pm \log(1 \pm x + x^2/2)` (Wang and Ramdas 2023).
* *Neither*: the asymptotic confidence sequence of Waudby-Smith et al. (2024), a time-uniform
  central limit theorem.  It is used only on request.  Its conditions are checked in the sample, and
  a sample that fails them decides nothing.

Each wealth falls as :math:`m` grows, so the values of :math:`m` that are not rejected form an
interval and composite hypotheses need no more work.  The upper limit is the lower limit of
:math:`-X`.

References
----------
Waudby-Smith and Ramdas (2023). Estimating means of bounded random variables by betting. JRSS B 86.
Wang and Ramdas (2023). Catoni-style confidence sequences for heavy-tailed mean estimation.
Stochastic Processes and their Applications 163.
Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas (2024). Time-uniform central limit theory and
asymptotic confidence sequences. Annals of Statistics 52.
Embrechts, Klueppelberg and Mikosch (1997). Modelling Extremal Events, section 6.2.6 (the ratio of
maximum and sum).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from trials.checks import InvalidParameter
from verify.decisions.combine import CellDecision, Status, worse
from verify.decisions.sequences import ROUNDING, FloatArray, check_level, resolvable
from verify.evidence import Verdict

Side = Literal["at most", "at least", "equals"]

_LARGEST_BET = 0.98  # share of the wealth: a bet of all would end at one lowest value
_RATIO = 2.0  # between the sizes of two bets: at worst 8/9 of the best growth is reached
_ONE_ARRAY = 1 << 16  # entries: larger problems go bet by bet, which is then as fast
#: The reason of a cell that limits decide which are valid for many trials only.
ASYMPTOTIC = "asymptotic limits"
_SQUARES = 1e-150  # deviations below it have squares that lose their digits, or all of them
_MIN_ASYMPTOTIC = 256  # trials below which no limit theorem is used
_MAX_SHARE = 0.1  # of the sum of third powers that one value may have
_MAX_SKEW_ERROR = 0.25  # relative error of a tail probability that skewness may cause


@dataclass(frozen=True, kw_only=True)
class Knowledge:
    """Prior knowledge about the value of one trial, from the experiment and not from its trials.

    Attributes
    ----------
    low, high : ends of the values, infinite where there is none.
    variance : an upper bound of the variance, infinite where none is known.
    asymptotic : whether limits that hold only asymptotically may be used where neither an end nor a
        variance is known.
    two_valued : whether every value is one of the two ends.
    """

    low: float = -math.inf
    high: float = math.inf
    variance: float = math.inf
    asymptotic: bool = False
    two_valued: bool = False

    def __post_init__(self) -> None:
        """Refuse ends in the wrong order, a negative variance, and two values without ends."""
        if not self.low < self.high:
            raise InvalidParameter(f"low={self.low} must be below high={self.high}")
        if self.two_valued and not math.isfinite(self.high - self.low):
            raise InvalidParameter(
                f"two_valued needs finite ends, and they are low={self.low}, high={self.high}"
            )
        if not self.variance >= 0:
            raise InvalidParameter(f"variance={self.variance} must be >= 0")

    def mirrored(self) -> Knowledge:
        """The same knowledge about minus the value."""
        return Knowledge(
            low=-self.high,
            high=-self.low,
            variance=self.variance,
            asymptotic=self.asymptotic,
            two_valued=self.two_valued,
        )

    @classmethod
    def shared(cls, several: Sequence[Knowledge]) -> Knowledge:
        """What is known of every one of several values.

        >>> Knowledge.shared([Knowledge(low=0.0, high=1.0), Knowledge(low=0.0, high=8.0)]).high
        8.0
        """
        low, high = min(k.low for k in several), max(k.high for k in several)
        return cls(
            low=low,
            high=high,
            variance=max(k.variance for k in several),
            asymptotic=all(k.asymptotic for k in several),
            two_valued=all(k.two_valued and (k.low, k.high) == (low, high) for k in several),
        )

    @property
    def spread(self) -> float:
        """An upper bound of the standard deviation, from the variance or from the ends."""
        return min(math.sqrt(self.variance), (self.high - self.low) / 2)


SHARE = Knowledge(low=0.0, high=1.0)
"""A share, between 0 and 1."""

INDICATOR = Knowledge(low=0.0, high=1.0, two_valued=True)
"""An indicator: 1 where something happened, and 0 elsewhere."""


def bet_sizes(target: float, knowledge: Knowledge, level: float, horizon: int) -> FloatArray:
    """Shares of the wealth to be bet against "mean <= target", declared before the trials.

    The smallest one is for the smallest gap that ``horizon`` trials can show.
    """
    room = target - knowledge.low
    smallest = math.sqrt(2 * math.log(1 / level) / horizon) / 8
    if math.isfinite(knowledge.spread) and knowledge.spread > 0 and room > 0:
        smallest = 8 * smallest * room / knowledge.spread
    steps = math.log(_LARGEST_BET / min(max(smallest, 1e-9), _LARGEST_BET)) / math.log(_RATIO)
    return np.asarray(_LARGEST_BET * _RATIO ** -np.arange(math.ceil(steps) + 1.0))


def _catoni_sizes(variance: float, level: float, horizon: int) -> FloatArray:
    """Arguments of Catoni's function, best at 16, 64, 256, ... trials up to the horizon."""
    best_at = 16.0 * _RATIO ** (2 * np.arange(max(math.ceil(math.log(horizon / 16.0, 4)), 0) + 1.0))
    return np.asarray(np.sqrt(2 * math.log(1 / level) / (variance * best_at)))


def _catoni(x: FloatArray) -> FloatArray:
    """Catoni's function: it grows like a logarithm, so that no single value decides."""
    size = np.abs(x)
    return np.asarray(np.sign(x) * np.log1p(size + size * size / 2))


# A product that overflows is a wealth above any level.  Inf - inf is none, and rejects nothing.
@np.errstate(over="ignore", invalid="ignore")
def log_wealth(
    x: FloatArray, m: float, knowledge: Knowledge, sizes: FloatArray, lambdas: FloatArray
) -> float:
    """The logarithm of the wealth of the bets against "mean <= m" after the trials ``x``.

    Parameters
    ----------
    x : (n,) values.  An infinite one stands for a trial without a finite value.
    sizes : shares bet on a known lower end, empty where there is none.
    lambdas : arguments of Catoni's function, empty where no variance is known.
    """
    logs: list[FloatArray] = []
    if sizes.size:
        room = m - knowledge.low
        if room <= 0:
            # With its mean at the lower end, a value is always at the lower end.
            return math.inf if room < 0 or bool(np.any(x > knowledge.low)) else 0.0
        relative = (x - m) / room
        logs.append(_each(lambda c: np.log1p(c * relative), sizes, x.size))
    if lambdas.size:
        v = knowledge.variance
        grown = _each(lambda s: _catoni(s * (x - m)), lambdas, x.size)
        logs.append(grown - x.size * np.log1p(lambdas * lambdas * v / 2))
    if not logs:
        return -math.inf
    every = np.concatenate(logs)
    top = float(every.max())
    if math.isinf(top):
        return top
    return top + math.log(float(np.mean(np.exp(every - top))))


def _each(
    log_step: Callable[[FloatArray], FloatArray], sizes: FloatArray, n_trials: int
) -> FloatArray:
    """The sums of ``log_step`` over the trials, (len(sizes),).  Small inputs use one array."""
    if sizes.size * n_trials <= _ONE_ARRAY:
        return np.asarray(log_step(sizes[:, None]).sum(axis=1))
    return np.array([float(np.sum(log_step(size))) for size in sizes])


@dataclass(frozen=True, kw_only=True)
class LowerTest:
    """Tests of "mean <= m" and the lower confidence limit, all with one declared set of bets.

    Attributes
    ----------
    target : the value in the statement, for which the bets are chosen.
    horizon : the budget in trials, for which the bets are chosen too.
    """

    knowledge: Knowledge
    target: float
    level: float
    horizon: int

    @property
    def exact(self) -> bool:
        """Whether the test is valid for every sample size, not only asymptotically."""
        return math.isfinite(self.knowledge.low) or math.isfinite(self.knowledge.variance)

    def _sizes(self) -> tuple[FloatArray, FloatArray]:
        none = np.empty(0)
        k = self.knowledge
        bounded = math.isfinite(k.low)
        varying = math.isfinite(k.variance) and k.variance > 0
        return (
            bet_sizes(self.target, k, self.level, self.horizon) if bounded else none,
            _catoni_sizes(k.variance, self.level, self.horizon) if varying else none,
        )

    def rejects(self, x: FloatArray, m: float) -> bool:
        """Whether "mean <= m" is rejected by the trials ``x``."""
        if self.knowledge.variance == 0.0:  # each value is the mean, up to rounding
            return bool(np.any((x > m) & ~np.isclose(x, m, rtol=ROUNDING, atol=0.0)))
        if self.exact:
            return log_wealth(x, m, self.knowledge, *self._sizes()) >= -math.log(self.level)
        return self.asymptotic_limit(x) > m

    def limit(self, x: FloatArray) -> float:
        """The lower confidence limit: the largest m that is rejected, -inf (or the end) if none."""
        if x.size == 0:
            return self.knowledge.low
        if self.knowledge.variance == 0.0:
            return float(x.max())
        if not self.exact:
            return self.asymptotic_limit(x)
        return self._search(x)

    def _search(self, x: FloatArray) -> float:
        """Bisection.  The wealth falls in m, so the rejected values are a half line."""
        k = self.knowledge
        sizes, lambdas = self._sizes()
        enough = -math.log(self.level)

        def rejected(m: float) -> bool:
            return log_wealth(x, m, k, sizes, lambdas) >= enough

        if not np.all(np.isfinite(x)):
            return k.low if np.any(x == -math.inf) else math.inf
        high, deviation = mean_and_deviation(x)
        if rejected(high):  # with Catoni's bets alone the limit may exceed the mean
            high = float(x.max())  # and no bet wins against a mean above all values
        step = max(deviation / math.sqrt(x.size), abs(high) * 1e-12, 1e-300)
        lows = [high]  # ever farther, to the end: of constant trials there may be a thousand
        while lows[-1] > k.low:
            lows.append(max(lows[-1] - step, k.low))
            step *= 2
        first = bisect_left(lows, True, key=rejected)
        if first == len(lows):  # all values lie at the lower end, or the lower end is -inf
            return k.low
        low = lows[first]
        precision = 2e-5 * (high - low)
        while high - low > precision:
            middle = low + (high - low) / 2
            if not low < middle < high:
                break
            low, high = (middle, high) if rejected(middle) else (low, middle)
        return low

    def asymptotic_limit(self, x: FloatArray) -> float:
        r"""The one-sided limit of the asymptotic confidence sequence, -inf where it is refused.

        With :math:`\rho` declared for a quarter of the horizon the limit at :math:`n` trials is
        :math:`\bar X - \hat\sigma \sqrt{2 (n \rho^2 + 1) / (n \rho)^2
        \log(1 + \sqrt{n \rho^2 + 1} / (2 \alpha))}`.
        """
        if not self.knowledge.asymptotic or why_not_asymptotic(x, self.level):
            return -math.inf
        n = x.size
        wanted = -2 * math.log(min(2 * self.level, 0.5))
        rho_sq = (wanted + math.log1p(wanted)) / max(self.horizon / 4, 1.0)
        grown = n * rho_sq + 1
        boundary = 2 * grown / (n * n * rho_sq) * math.log1p(math.sqrt(grown) / (2 * self.level))
        mean, deviation = mean_and_deviation(x, ddof=1)
        return mean - deviation * math.sqrt(boundary)


def mean_and_deviation(x: FloatArray, ddof: int = 0) -> tuple[float, float]:
    """The mean and the standard deviation of finite values, also where a sum or square overflows.

    A run that is about to diverge has such values.  With an infinite mean no search would end.
    Squares of tiny values are zero, and with a deviation of zero every difference would be shown.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        mean, deviation = float(x.mean()), float(x.std(ddof=ddof))
    seen = _SQUARES <= deviation < math.inf or x.min() == x.max()
    if math.isfinite(mean) and seen:
        return mean, deviation
    scale = float(np.abs(x).max())
    return scale * float((x / scale).mean()), scale * float((x / scale).std(ddof=ddof))


def why_not_asymptotic(x: FloatArray, level: float) -> str:
    r"""The reason why the central limit theorem is not used for this sample, or an empty text.

    It is used under three conditions.  There are at least 256 finite values.  No value has more
    than a tenth of the sum of third powers (with an infinite third moment that share does not
    vanish).  The Edgeworth correction of the tail for the skewness :math:`\gamma`, which is
    :math:`|\gamma| z^3 / (6 \sqrt n)` at :math:`z = \sqrt{2 \log(1/\alpha)}`, is at most a quarter
    of the tail.
    """
    n = x.size
    if n < _MIN_ASYMPTOTIC:
        return f"{n} trials are fewer than the {_MIN_ASYMPTOTIC} that asymptotic limits need"
    if not np.all(np.isfinite(x)):
        return "a trial has no finite value"
    if x.min() == x.max():  # their mean may be another number, by rounding
        return "all trials have one value: their spread is unknown"
    largest = float(np.abs(x).max())
    x = x / largest  # the sum of values near the largest number is none
    centred = x - x.mean()
    scale = float(np.abs(centred).max())
    thirds = np.abs(centred / scale) ** 3
    share = 1.0 / float(thirds.sum())
    if share > _MAX_SHARE:
        return f"heavy tails: one trial has {share:.0%} of the sum of third powers"
    deviation = float((centred / scale).std())
    skewness = float(np.mean((centred / scale) ** 3)) / deviation**3
    error = abs(skewness) * (2 * math.log(1 / level)) ** 1.5 / (6 * math.sqrt(n))
    if error > _MAX_SKEW_ERROR:
        return f"skewness {skewness:.2g} is too large for {n} trials"
    return ""


@dataclass(frozen=True, kw_only=True)
class MeanTest:
    """The statement "the mean is at most / at least / equal to ``bound``" in one cell.

    Attributes
    ----------
    margin : for ``"equals"``, a share of the bound.  Support means equivalence within it.
    refute_level : probability of refuting a true statement here (already split over cells).
    support_level : probability of supporting a false one.
    """

    bound: float
    side: Side
    knowledge: Knowledge
    horizon: int
    refute_level: float
    support_level: float
    margin: float = 0.1

    def __post_init__(self) -> None:
        """Refuse levels and margins that decide nothing."""
        check_level(self.refute_level)
        check_level(self.support_level)
        if math.isnan(self.bound):
            raise InvalidParameter("bound=nan must be a number")
        if self.side == "equals" and not 0 < self.margin < 1:
            raise InvalidParameter(f"margin={self.margin} must lie strictly between 0 and 1")
        if self.horizon < 1:
            raise InvalidParameter(f"horizon={self.horizon} must be an integer >= 1")

    def _lower(self, target: float, level: float) -> LowerTest:
        return LowerTest(knowledge=self.knowledge, target=target, level=level, horizon=self.horizon)

    def _upper(self, target: float, level: float) -> LowerTest:
        """The test of "mean >= target": the lower test of minus the values."""
        return LowerTest(
            knowledge=self.knowledge.mirrored(), target=-target, level=level, horizon=self.horizon
        )

    @property
    def trivial(self) -> bool:
        """Whether every value that is possible meets the statement."""
        k, b = self.knowledge, self.bound
        if self.side == "at most":
            return b >= k.high or b == math.inf
        return self.side == "at least" and (b <= k.low or b == -math.inf)

    def status(self, x: FloatArray) -> tuple[Status, str]:
        """The status of the cell, and the reason where it is not decided."""
        if self.trivial:
            return "trivial", "the bound allows every possible value"
        if self.side == "equals":
            return self._equality(x)
        sign = 1.0 if self.side == "at most" else -1.0
        against, for_it = (self._lower, self._upper) if sign > 0 else (self._upper, self._lower)
        if against(self.bound, self.refute_level).rejects(sign * x, sign * self.bound):
            return "fails", self._label(against(self.bound, self.refute_level))
        if for_it(self.bound, self.support_level).rejects(-sign * x, -sign * self.bound):
            return "holds", self._label(for_it(self.bound, self.support_level))
        return "open", self._why(x, for_it(self.bound, self.support_level))

    def _equality(self, x: FloatArray) -> tuple[Status, str]:
        b, half = self.bound, self.refute_level / 2
        if not math.isfinite(b):
            return "open", "no finite sample shows an infinite mean"
        for test, sign in ((self._lower(b, half), 1.0), (self._upper(b, half), -1.0)):
            if test.rejects(sign * x, sign * b):
                return "fails", self._label(test)
        low, high = self.equivalence
        below = self._upper(high, self.support_level)
        above = self._lower(low, self.support_level)
        if below.rejects(-x, -high) and above.rejects(x, low):
            return "holds", self._label(below) or self._label(above)
        return "open", self._why(x, below) or self._why(x, above)

    @property
    def equivalence(self) -> tuple[float, float]:
        """The ends of the band in which the mean counts as equal to the bound."""
        ends = self.bound * (1 - self.margin), self.bound * (1 + self.margin)
        return min(ends), max(ends)

    def _label(self, test: LowerTest) -> str:
        return "" if test.exact else ASYMPTOTIC

    def _why(self, x: FloatArray, test: LowerTest) -> str:
        if test.exact:
            return "the limits include the bound"
        if not test.knowledge.asymptotic:
            return "neither a range nor a variance is known on the side that support needs"
        return why_not_asymptotic(x, self.support_level) or "the limits include the bound"

    def limits(self, x: FloatArray) -> tuple[float, float]:
        """Lower and upper limits, one at the refuting level and the other at the supporting level.

        Both are at half the refuting level for ``"equals"``.
        """
        low_level, high_level = {
            "at most": (self.refute_level, self.support_level),
            "at least": (self.support_level, self.refute_level),
            "equals": (self.refute_level / 2, self.refute_level / 2),
        }[self.side]
        target = self.bound if math.isfinite(self.bound) else 0.0
        lower = self._lower(target, low_level).limit(x)
        upper = -self._upper(target, high_level).limit(-x)
        return lower, upper


def require_range(values: FloatArray, knowledge: Knowledge) -> None:
    """Refuse values outside the declared range: no bet on them has a level.  NaN is passed over.

    Raises
    ------
    InvalidParameter : it names the first such value.
    """
    outside = (values < knowledge.low) | (values > knowledge.high)
    if np.any(outside):
        value = float(values[np.flatnonzero(outside)[0]])
        raise InvalidParameter(
            f"a trial's value {value:.6g} must lie in the declared range "
            f"[{knowledge.low:g}, {knowledge.high:g}]"
        )


def as_values(
    x: ArrayLike, failed: ArrayLike, knowledge: Knowledge, side: Literal["at most", "at least"]
) -> FloatArray:
    """The trials with failed ones at the end that speaks against the statement.

    That end is infinite where the range is: a trial without a finite value then has an infinite
    mean, and one of them refutes "at most".
    """
    values = np.array(x, dtype=np.float64)
    worst = knowledge.low if side == "at least" else knowledge.high
    values[np.asarray(failed, dtype=np.bool_) | np.isnan(values)] = worst
    require_range(values, knowledge)
    if knowledge.variance == 0.0 and values.size and np.all(np.isfinite(values)):
        apart = float(values.max() - values.min())
        if apart > ROUNDING * float(np.abs(values).max()):
            raise InvalidParameter(
                f"two trials have values {apart:.3g} apart, and the declared variance is zero"
            )
    return values


def both_ends(x: ArrayLike, failed: ArrayLike, knowledge: Knowledge) -> list[FloatArray]:
    """The trials with failed ones at the upper end and at the lower end, once where none failed.

    Neither end alone speaks against an equality: a failed trial would take the stated value where
    that is the end itself.
    """
    above = as_values(x, failed, knowledge, "at most")
    if not np.any(np.asarray(failed, dtype=np.bool_) | np.isnan(np.asarray(x, dtype=np.float64))):
        return [above]
    return [above, as_values(x, failed, knowledge, "at least")]


def decide_trials(
    x: ArrayLike, failed: ArrayLike, test: MeanTest, *, limits: bool = True
) -> CellDecision:
    """One cell's decision from its trials, with those that failed counted against the statement.

    An equality must hold with the failed trials at either end of the range.
    """
    n_failed = int(np.sum(np.asarray(failed, dtype=np.bool_)))
    if test.side == "equals":
        samples = both_ends(x, failed, test.knowledge)
    else:
        samples = [as_values(x, failed, test.knowledge, test.side)]
    return worse([decide_mean(each, test, n_failed=n_failed, limits=limits) for each in samples])


def decide_mean(
    x: FloatArray, test: MeanTest, *, n_failed: int = 0, limits: bool = True
) -> CellDecision:
    """One cell's decision.  ``limits=False`` leaves the limits out, which is much faster."""
    status, reason = test.status(x)
    finite = bool(np.all(np.isfinite(x))) and x.size > 0
    lower, upper = test.limits(x) if limits else (None, None)
    observed = float(x.mean()) if x.size and not finite else math.inf
    se = None
    if finite:
        several = x.size > 1
        observed, deviation = mean_and_deviation(x, ddof=int(several))
        se = deviation / math.sqrt(x.size) if several else None
    return CellDecision(
        status=status,
        n_trials=x.size,
        n_failed=n_failed,
        bound=test.bound,
        observed=observed,
        se=se,
        lower=lower,
        upper=upper,
        reason=reason,
        asymptotic=reason == ASYMPTOTIC,
        relation=test.side,
    )


def asymptotic_resolution(
    verdict: Verdict, cells: Sequence[CellDecision], level: float
) -> float | None:
    """The probability below which values may be missing in the means, None where limits are exact.

    A value that no trial has drawn may rule a mean.  Ranges and variances allow for it, and
    asymptotic limits do not.  So these support down to what the trials of a cell resolve.
    """
    counts = [cell.n_trials for cell in cells if cell.asymptotic]
    supported = verdict is Verdict.SUPPORTED
    return resolvable(min(counts), level) if supported and counts else None


def find_unresolved(cells: Sequence[CellDecision]) -> list[int]:
    """The cells that more trials may decide, none after a cell has refuted."""
    if any(c.status == "fails" for c in cells):
        return []
    return [i for i, c in enumerate(cells) if c.status == "open"]

r"""Comparing methods that ran on the same data, and means along one parameter.

*Contrasts.*  One trial holds the values of all methods on the same data.  So a contrast is a
statement about the mean of one number for each trial: ``left < right`` says :math:`E(A - B) < 0`,
and ``left <= (1 + margin) right`` says :math:`E(A - (1 + \delta) B) \le 0`.  Equivalence is two
such statements (Schuirmann's two one-sided tests).  The limits of `verify.decisions.means` decide
them, so nothing is assumed where the values have a range.  The margin is a share of the size
of B: a negative B is multiplied by :math:`1 - \delta`, which makes it larger.  The ratio of means
gets limits by inverting the same tests (Fieller's method without normality).

*Signs.*  Where values have heavy tails, ``left < right`` may be read as "A is below B in more than
half of the trials", and ``left <= (1 + margin) right`` as "A exceeds (1 + margin) B in at most half
of them".  These are statements about the mean of a value in [0, 1], for any tails.  A trial in
which both methods failed counts half, as a tie does: it is neither for nor against the statement.

*Trends.*  Cells along one parameter have independent trials.  A trend is refuted by a pair of cells
whose means go the wrong way by more than the margin.  It is supported when no pair can go the wrong
way by more than the margin, and when the test of Jonckheere and Terpstra finds the trend.  That
test needs a number of trials that is fixed beforehand.  Its p-value is exact for two values.  For
others it is a Markov bound with exact conditional means, whatever the ties and the sizes of cells.
The shares of two cells are compared by the exact test of `verify.decisions.shares`, and the limits
that are shown are those of Clopper and Pearson.  Limits for any stopping time are wider.

References
----------
Clopper and Pearson (1934). The use of confidence or fiducial limits illustrated in the case of the
binomial. Biometrika 26.
Schuirmann (1987). Two one-sided tests and the power approach. J. Pharmacokin. Biopharm. 15.
Fieller (1954). Some problems in interval estimation. JRSS B 16.
Jonckheere (1954). A distribution-free k-sample test against ordered alternatives. Biometrika 41.
Hollander, Wolfe and Chicken (2014). Nonparametric Statistical Methods, 3rd edition, section 6.2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy

from bounds.statement import Contrast
from trials.checks import InvalidParameter
from verify.decisions.combine import CellDecision, Status
from verify.decisions.means import (
    ASYMPTOTIC,
    SHARE,
    Knowledge,
    LowerTest,
    MeanTest,
    mean_and_deviation,
)
from verify.decisions.sequences import BoolArray, FloatArray, check_level
from verify.decisions.shares import Count, excludes_difference, trend_probability
from verify.evidence import Relation

Scale = Literal["mean", "sign"]
Pair = tuple[int, int]


def difference_knowledge(
    values: Knowledge, ratio: float, below_zero: float | None = None
) -> Knowledge:
    """The knowledge about ``a - ratio * b`` when both values have the same knowledge.

    ``below_zero`` is the ratio where b is negative, by default the same.
    """
    other = ratio if below_zero is None else below_zero
    ends = []
    for end in (values.low, values.high, min(max(values.low, 0.0), values.high)):
        factor = ratio if end >= 0 else other
        # Zero times an infinite end is zero here: the second value has no part in the difference.
        ends.append(factor * end if factor else 0.0)
    low, high = values.low - max(ends), values.high - min(ends)
    return Knowledge(low=low, high=high, asymptotic=values.asymptotic)


def raised(values: FloatArray, share: float) -> FloatArray:
    """Values plus a share of their sizes: 1 + share times those that are not negative."""
    return np.where(values < 0, 1.0 - share, 1.0 + share) * values


@dataclass(frozen=True, kw_only=True)
class ContrastTest:
    """One contrast in one cell, with the levels of its two errors.

    ``knowledge`` is about each method's value.  ``horizon`` is the budget in trials.
    """

    contrast: Contrast
    knowledge: Knowledge
    horizon: int
    refute_level: float
    support_level: float
    scale: Scale = "mean"

    def _mean_test(self, margin: float, share: int) -> MeanTest:
        sign = self.scale == "sign"
        ratios = 1.0 + margin, 1.0 - margin
        known = SHARE if sign else difference_knowledge(self.knowledge, *ratios)
        return MeanTest(
            bound=0.5 if sign else 0.0,
            side="at most",
            knowledge=known,
            horizon=self.horizon,
            refute_level=self.refute_level / share,
            support_level=self.support_level,
        )

    def _parts(
        self, a: FloatArray, b: FloatArray, lost: BoolArray
    ) -> list[tuple[FloatArray, MeanTest]]:
        """The one-sided statements that make up the contrast: values, and the test of them."""
        margin = self.contrast.margin
        if self.scale == "sign":
            share = 2 if self.contrast.relation == "=" else 1
            test = self._mean_test(0.0, share)
            if self.contrast.relation == "<":
                return [(np.where(a > b, 1.0, np.where(a == b, 0.5, 0.0)), test)]
            above = (np.where(lost, 0.5, a > raised(b, margin)), test)
            below = (np.where(lost, 0.5, a < raised(b, -margin)), test)
            return [above, below] if share == 2 else [above]
        if self.contrast.relation != "=":
            return [(a - raised(b, margin), self._mean_test(margin, 1))]
        # (1 - margin) b - a <= 0 is stated about a and b in the other order.
        low = self._mean_test(-margin, 2)
        mirrored = MeanTest(
            bound=0.0,
            side="at most",
            knowledge=low.knowledge.mirrored(),
            horizon=self.horizon,
            refute_level=low.refute_level,
            support_level=low.support_level,
        )
        return [
            (a - raised(b, margin), self._mean_test(margin, 2)),
            (raised(b, -margin) - a, mirrored),
        ]

    def decide(
        self,
        a: FloatArray,
        b: FloatArray,
        *,
        n_failed: int = 0,
        limits: bool = True,
        lost: BoolArray | None = None,
    ) -> CellDecision:
        """The contrast's decision from paired values, (n,) each.

        ``observed`` and its limits are the ratio of means, or the share of trials in which the left
        value is larger.  ``lost`` marks the trials in which both methods failed.
        """
        if a.shape != b.shape:
            raise InvalidParameter(f"paired values have shapes {a.shape} and {b.shape}")
        parts = self._parts(a, b, np.zeros(a.shape, dtype=np.bool_) if lost is None else lost)
        found = [test.status(x) for x, test in parts]
        statuses = [status for status, _ in found]
        order: tuple[Status, ...] = ("fails", "open", "holds", "trivial")
        status = min(statuses, key=order.index)
        reason = next((r for s, r in found if s == status and r), "")
        lower: float | None = None
        upper: float | None = None
        if self.scale == "sign":
            x, test = max(parts, key=lambda part: float(part[0].mean()))
            observed, bound = float(x.mean()), 0.5
            if limits:
                lower, upper = test.limits(x)
        else:
            mean_a, mean_b = _mean(a), _mean(b)
            observed = mean_a / mean_b if mean_b > 0 else math.nan
            bound = 1.0 if self.contrast.relation == "=" else 1.0 + self.contrast.margin
            if limits:
                lower, upper = self.ratio_limits(a, b)
        return CellDecision(
            status=status,
            n_trials=a.size,
            n_failed=n_failed,
            bound=bound,
            observed=observed if math.isfinite(observed) else None,
            lower=lower,
            upper=upper,
            reason=reason,
            asymptotic=reason == ASYMPTOTIC,
            relation=self._relation,
        )

    @property
    def _relation(self) -> Relation:
        """How the observed value must stand to its bound."""
        if self.contrast.relation == "=":
            return "equals" if self.scale == "mean" else "at most"
        return "below" if self.contrast.relation == "<" else "at most"

    def ratio_limits(self, a: FloatArray, b: FloatArray) -> tuple[float, float]:
        """Limits of E A / E B for values >= 0, by inverting the tests of E(A - r B) = 0 in r.

        The lower limit holds at the refuting level, the upper one at the supporting level.  The
        limits are (0, inf) where some value is negative or not finite.
        """
        finite = bool(np.all(np.isfinite(a)) and np.all(np.isfinite(b)))
        mean_a, mean_b = _mean(a), _mean(b)
        if not finite or min(a.min(), b.min()) < 0 or not mean_b > 0 or not mean_a > 0:
            return 0.0, math.inf
        estimate = mean_a / mean_b
        share = 2 if self.contrast.relation == "=" else 1

        def rejected(r: float, side: float) -> bool:
            known = difference_knowledge(self.knowledge, r)
            return LowerTest(
                knowledge=known if side < 0 else known.mirrored(),
                target=0.0,
                level=self.refute_level / share if side < 0 else self.support_level,
                horizon=self.horizon,
            ).rejects(-side * (a - r * b), 0.0)

        ends = []
        for side in (-1.0, 1.0):
            log_far, log_near = side * math.log(2) / 64, 0.0
            while not rejected(estimate * math.exp(log_far), side):
                log_far, log_near = 2 * log_far, log_far
                if abs(log_far) > 40:
                    break
            else:
                for _ in range(12):
                    middle = (log_far + log_near) / 2
                    if rejected(estimate * math.exp(middle), side):
                        log_far = middle
                    else:
                        log_near = middle
                ends.append(estimate * math.exp(log_far))
                continue
            ends.append(0.0 if side < 0 else math.inf)
        return ends[0], ends[1]


def _mean(x: FloatArray) -> float:
    """The mean, also where the sum of finite values overflows."""
    return mean_and_deviation(x)[0] if np.all(np.isfinite(x)) else float(x.mean())


def jonckheere(groups: Sequence[FloatArray]) -> tuple[float, float]:
    """The Jonckheere-Terpstra statistic less its null mean, and its null standard deviation.

    The deviation is that given all values, ties included (Hollander, Wolfe and Chicken 2014, 6.19).
    """
    if len(groups) < 2 or min(g.size for g in groups) < 1:
        raise InvalidParameter("a trend needs at least two groups with a value each")
    if any(np.isnan(g).any() for g in groups):
        raise InvalidParameter("a trial's value is NaN, which has no place in an order")
    statistic = 0.0
    for i, low in enumerate(groups):
        ordered = np.sort(low)
        for high in groups[i + 1 :]:
            below = np.searchsorted(ordered, high, side="left")
            upto = np.searchsorted(ordered, high, side="right")
            statistic += float(np.sum(below + upto)) / 2
    n = np.array([g.size for g in groups], dtype=np.float64)
    total = n.sum()
    ties = np.unique(np.concatenate(groups), return_counts=True)[1].astype(np.float64)
    mean = (total**2 - np.sum(n**2)) / 4

    def five(x: FloatArray | float) -> float:
        v = np.asarray(x, dtype=np.float64)
        return float(np.sum(v * (v - 1) * (2 * v + 5)))

    def three(x: FloatArray) -> float:
        return float(np.sum(x * (x - 1) * (x - 2)))

    def two(x: FloatArray) -> float:
        return float(np.sum(x * (x - 1)))

    variance = (five(total) - five(n) - five(ties)) / 72
    if total > 2:
        variance += three(n) * three(ties) / (36 * total * (total - 1) * (total - 2))
    variance += two(n) * two(ties) / (8 * total * (total - 1))
    return statistic - mean, math.sqrt(max(variance, 0.0))


def _log_mean_exponential(values: FloatArray, n: int) -> float:
    """The log of the mean of ``exp(sum of a random subset of n values)``, exactly.

    The sum over subsets is an elementary symmetric polynomial.  One value after the other joins
    the subsets of every size.
    """
    logs = np.full(n + 1, -math.inf)
    logs[0] = 0.0
    for value in values:
        logs[1:] = np.logaddexp(logs[1:], logs[:-1] + value)
    every = values.size
    ways = math.lgamma(every + 1) - math.lgamma(n + 1) - math.lgamma(every - n + 1)
    return float(logs[n]) - ways


def trend_p_value(groups: Sequence[FloatArray], level: float) -> float:
    """One-sided p-value of the same test, never too small: exact for trials of two values at most.

    For other values it is made for tests at ``level``, and holds at any.  With more than one group
    each group in turn, from the last, is a random subset of it and those before, given their
    values.  So its part U of the statistic has the mean exponential E exp(t U) of such subsets,
    which is computed, and the product of exp(t U) over these means has the mean one.  Its
    reciprocal is a p-value (Markov).  The number t depends on all values together, not on their
    order.

    A normal approximation finds a trend too often where cells are of unequal sizes and few trials
    differ: twenty times as often as at the level .001 for 60, 6 and 6 trials of which all but two
    are zero.  The price: many trials find a trend of 4.5 deviations at 5e-5, and not one of 3.9.
    """
    check_level(level)
    pooled = np.concatenate(groups)
    values = np.unique(pooled)
    if values.size <= 2 and min(g.size for g in groups) >= 1:
        return trend_probability([Count(int((g == values[-1]).sum()), g.size) for g in groups])
    excess, deviation = jonckheere(groups)
    if not deviation > 0:
        return 1.0
    t = math.sqrt(-2.0 * math.log(level)) / deviation
    log_evidence = t * excess
    for j in range(1, len(groups)):
        ranks = scipy.stats.rankdata(np.concatenate(groups[: j + 1]))
        steps = t * (ranks - ranks.mean())
        log_evidence -= _log_mean_exponential(steps, groups[j].size)
    return math.exp(min(-log_evidence, 0.0))


def exact_limits(x: FloatArray, knowledge: Knowledge, level: float) -> tuple[float, float]:
    """Clopper and Pearson's limits of the mean of two-valued trials, each at ``level``.

    The number of trials must not depend on their values.  Without trials they are the two ends.

    >>> from verify.decisions.means import INDICATOR
    >>> low, high = exact_limits(np.ones(40), INDICATOR, 0.025)
    >>> round(low, 3), high
    (0.912, 1.0)

    Raises
    ------
    InvalidParameter : a value is neither of the two ends.
    """
    low, high = knowledge.low, knowledge.high
    other = x[(x != low) & (x != high)]
    if other.size:
        raise InvalidParameter(f"a trial's value {other[0]:.6g} must be {low:g} or {high:g}")
    if not x.size:
        return low, high
    lower, upper = exact_share_limits(int((x == high).sum()), x.size, level)
    return low + (high - low) * lower, low + (high - low) * upper


def exact_share_limits(successes: int, trials: int, level: float) -> tuple[float, float]:
    """Clopper and Pearson's limits of a share of one trial or more, each at ``level``.

    >>> low, high = exact_share_limits(40, 40, 0.025)
    >>> round(low, 3), high
    (0.912, 1.0)
    """
    share = scipy.stats.binomtest(successes, trials).proportion_ci(1 - 2 * level)
    return float(share.low), float(share.high)


def _middle(knowledge: Knowledge) -> float:
    """A value one deviation above the lower end, for which bets are chosen.

    A trend states no value, and the trials' own mean would choose the bets after a look at them.
    """
    spread = knowledge.spread
    return knowledge.low + spread if math.isfinite(knowledge.low + spread) else 0.0


@dataclass(frozen=True, kw_only=True)
class TrendTest:
    """Whether the mean grows along cells with independent trials of fixed numbers.

    A step in the wrong direction of at most ``margin`` is ignored.  ``refute_level`` is the claim's
    share of the error level for this sequence of cells.  It is split here over pairs of cells.
    """

    margin: float
    knowledge: Knowledge
    horizon: int
    refute_level: float
    support_level: float

    @property
    def exact(self) -> bool:
        """Whether both limits of a mean are valid for every number of trials."""
        return all(test.exact for test in self._tests(self.support_level))

    def _tests(self, level: float) -> tuple[LowerTest, LowerTest]:
        """The tests behind the two limits: of the values, and of minus the values."""
        below, above = (
            LowerTest(knowledge=known, target=_middle(known), level=level, horizon=self.horizon)
            for known in (self.knowledge, self.knowledge.mirrored())
        )
        return below, above

    def _limits(self, x: FloatArray, level: float) -> tuple[float, float]:
        """Two limits of a mean, each at ``level``."""
        if self.knowledge.two_valued:
            return exact_limits(x, self.knowledge, level)
        below, above = self._tests(level)
        return below.limit(x), -above.limit(-x)

    def decide(self, groups: Sequence[FloatArray]) -> tuple[Status, str, list[tuple[float, float]]]:
        """Status, reason and each cell's limits (at half the supporting level)."""
        k = len(groups)
        if k < 2:
            raise InvalidParameter("a trend needs at least two cells")
        shown = [self._limits(g, self.support_level / 2) for g in groups]
        pairs = [(i, j) for i in range(k) for j in range(i + 1, k)]
        if self.knowledge.two_valued:
            falls, loose = self._by_shares(groups, pairs)
        else:
            falls, loose = self._by_limits(groups, shown, pairs)
        if falls:
            i, j = falls[0]
            return "fails", f"the mean falls from cell {i + 1} to cell {j + 1}", shown
        if loose:
            i, j = loose[0]
            reason = f"a fall by more than {self.margin:g} from cell {i + 1} to cell {j + 1}"
            return "open", f"{reason} is not excluded", shown
        p = trend_p_value(groups, self.support_level)
        if p > self.support_level:
            return "open", f"no trend is found (Jonckheere-Terpstra p={p:.2g})", shown
        most = max(0.0, *(shown[i][1] - shown[j][0] for i, j in pairs))
        limit = min(most, self.margin)
        return "holds", f"Jonckheere-Terpstra p={p:.2g}, falls are below {limit:.2g}", shown

    def _by_limits(
        self,
        groups: Sequence[FloatArray],
        shown: Sequence[tuple[float, float]],
        pairs: Sequence[Pair],
    ) -> tuple[list[Pair], list[Pair]]:
        """The pairs that fall by more than the margin, and those that may, by two limits each."""
        k = len(groups)
        strict = [self._limits(g, self.refute_level / (k * (k - 1))) for g in groups]
        falls = [(i, j) for i, j in pairs if strict[i][0] - strict[j][1] > self.margin]
        loose = [(i, j) for i, j in pairs if not shown[i][1] - shown[j][0] <= self.margin]
        return falls, sorted(loose, key=lambda p: shown[p[1]][0] - shown[p[0]][1])

    def _by_shares(
        self,
        groups: Sequence[FloatArray],
        pairs: Sequence[Pair],
    ) -> tuple[list[Pair], list[Pair]]:
        """The pairs that fall by more than the margin, and those that may, by an exact test."""
        known = self.knowledge
        counts = [Count(int((g == known.high).sum()), g.size) for g in groups]
        delta = self.margin / (known.high - known.low)
        level = self.refute_level / len(pairs)
        falls = [
            (i, j) for i, j in pairs if excludes_difference(counts[j], counts[i], -delta, level)
        ]
        loose = [
            (i, j)
            for i, j in pairs
            if not excludes_difference(counts[i], counts[j], delta, self.support_level)
        ]
        return falls, sorted(loose, key=lambda p: groups[p[1]].mean() - groups[p[0]].mean())

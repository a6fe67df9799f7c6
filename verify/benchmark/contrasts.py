r"""Which differences between methods the trials show: simultaneous limits at any stopping time.

All methods run on the same data in a trial, so a pair of methods gives one number a trial.

* *Ratios* (errors, losses, costs: positive, smaller is better).  The contrast is the **median of
  A/B** over trials.  Its limits are order statistics (`verify.decisions.sequences.quantile_lower`),
  so nothing is assumed about tails.  A failed fit counts as infinitely bad, and two failures as
  equal.  So do values that agree to a thousandth (`SAME`): two iterations that end at the same
  minimiser differ in their last digits, always in the same direction.
* *Differences* (scores with a known range, such as the adjusted Rand index: larger is better).  The
  contrast is the **mean of A - B**.  Its limits are those of bets
  (`verify.decisions.means.LowerTest`).  A failed fit has the lowest score.

Every limit holds at all numbers of trials at once.  The level is shared equally (Bonferroni) by all
pairs and all methods' own limits in all federations of the benchmark, and by the two ends of each.
So with probability 1 - level every limit of the table is right, whenever the run was stopped.

*Ranks.*  A method's best rank counts the methods that the limits show to be better, its worst rank
those that they show to be worse.  A *group* is a largest set of methods of which no two are
separated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from trials.checks import FloatArray, InvalidParameter
from verify.decisions.means import Knowledge, LowerTest
from verify.decisions.sequences import check_level, quantile_lower, quantile_upper

Scale = Literal["ratio", "difference"]
#: Values that agree to this share are equal.
SAME = 1e-3
State = Literal["first", "second", "narrow", "open"]


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A value with limits."""

    value: float
    lower: float
    upper: float


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """Two methods, their contrast and what it shows.

    Attributes
    ----------
    estimate : median of first / second, or mean of first - second.
    state : the better method, or ``narrow`` where the limits are as close as asked, or ``open``.
    """

    first: str
    second: str
    estimate: Estimate
    state: State

    @property
    def better(self) -> str | None:
        """The name of the better method, or None where the trials do not separate the two."""
        return {"first": self.first, "second": self.second}.get(self.state)


def paired_ratio(a: FloatArray, b: FloatArray) -> FloatArray:
    """The ratios a/b of positive values.  One that is not finite is infinitely bad.

    >>> paired_ratio(np.array([1.0, np.nan, 2.0, np.nan, 0.0]), np.array([2.0, 1.0, np.nan, np.nan, 0.0]))
    array([0.5, inf, 0. , 1. , 1. ])
    """  # noqa: E501
    if np.any(a < 0) or np.any(b < 0):
        raise InvalidParameter("a ratio needs values that are not negative")
    bad_a, bad_b = ~np.isfinite(a), ~np.isfinite(b)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        same = (a == b) | (np.abs(a - b) <= SAME * np.maximum(a, b)) | (bad_a & bad_b)
        ratio = np.where(same, 1.0, a / b)
    ratio[bad_a & ~bad_b] = math.inf
    ratio[bad_b & ~bad_a] = 0.0
    return np.asarray(ratio)


@dataclass(frozen=True, kw_only=True)
class Comparing:
    """The rule of a benchmark's comparison, fixed before the first trial.

    Attributes
    ----------
    level : error probability of all limits together, split over ``n_limits`` pairs of limits.
    width : a contrast is narrow when its limits are within a factor 1 + width of each other for
        ratios, and within width for differences.
    low, high : range of the values of a difference.
    horizon : the planned number of trials, for which bets are chosen.
    """

    scale: Scale = "ratio"
    level: float = 0.05
    n_limits: int = 1
    width: float = 0.05
    low: float = 0.0
    high: float = 1.0
    horizon: int = 256

    def __post_init__(self) -> None:
        check_level(self.level)
        if not self.width > 0:
            raise InvalidParameter(f"width={self.width} must be > 0")

    @property
    def _each(self) -> float:
        """The level of one limit."""
        return self.level / (2 * max(self.n_limits, 1))

    @property
    def _least(self) -> float:
        """The least value that a method's values can have."""
        return 0.0 if self.scale == "ratio" else -math.inf

    def estimate(self, x: FloatArray) -> Estimate:
        """The median of one method's values with limits.  NaN counts as infinity."""
        if x.size == 0:
            return Estimate(value=math.nan, lower=-math.inf, upper=math.inf)
        ranked = np.where(np.isfinite(x), x, math.inf)
        middle = float(np.sort(ranked)[(x.size - 1) // 2])  # a value that occurs: inf stays inf
        return Estimate(
            value=middle,
            lower=max(quantile_lower(ranked, 0.5, self._each, anytime=True), self._least),
            upper=quantile_upper(ranked, 0.5, self._each, anytime=True),
        )

    def _difference(self, x: FloatArray) -> Estimate:
        if x.size == 0:
            return Estimate(value=math.nan, lower=-math.inf, upper=math.inf)
        known = Knowledge(low=self.low - self.high, high=self.high - self.low)
        lower, upper = (
            LowerTest(knowledge=known, target=0.0, level=self._each, horizon=self.horizon).limit(v)
            for v in (x, -x)
        )
        return Estimate(value=float(x.mean()), lower=lower, upper=-upper)

    def contrast(self, first: str, second: str, a: FloatArray, b: FloatArray) -> Contrast:
        """The contrast of two methods from their values in the same trials, (n,) each."""
        if a.shape != b.shape:
            raise InvalidParameter(f"paired values have shapes {a.shape} and {b.shape}")
        if self.scale == "ratio":
            ratio = paired_ratio(a, b)
            found = self.estimate(ratio)
            equal, smaller_is_better = 1.0, True
            narrow = found.lower > 0 and found.upper <= (1 + self.width) * found.lower
        else:
            worst = self.low
            gaps = np.where(np.isfinite(a), a, worst) - np.where(np.isfinite(b), b, worst)
            found = self._difference(gaps)
            equal, smaller_is_better = 0.0, False
            narrow = found.upper - found.lower <= self.width
        state: State = "narrow" if narrow else "open"
        if found.upper < equal:
            state = "first" if smaller_is_better else "second"
        elif found.lower > equal:
            state = "second" if smaller_is_better else "first"
        return Contrast(first=first, second=second, estimate=found, state=state)

    def contrasts(self, values: Mapping[str, FloatArray]) -> list[Contrast]:
        """Every pair of methods."""
        return [self.contrast(a, b, values[a], values[b]) for a, b in combinations(values, 2)]


def n_limits(n_methods: int, n_federations: int = 1) -> int:
    """The pairs of limits in a table: one a pair of methods and one a method, in each federation.

    >>> n_limits(3)
    6
    """
    return n_federations * (n_methods * (n_methods - 1) // 2 + n_methods)


def ranks(methods: Sequence[str], contrasts: Sequence[Contrast]) -> dict[str, tuple[int, int]]:
    """Best and worst rank of each method that the limits allow.

    With probability 1 - level all of these intervals hold the true ranks at once.
    """
    beaten, beats = dict.fromkeys(methods, 0), dict.fromkeys(methods, 0)
    for c in contrasts:
        if c.better is not None:
            beats[c.better] += 1
            beaten[c.second if c.better == c.first else c.first] += 1
    return {m: (1 + beaten[m], len(methods) - beats[m]) for m in methods}


def groups(methods: Sequence[str], contrasts: Sequence[Contrast]) -> list[tuple[str, ...]]:
    """The largest sets of methods of which no two are separated, in the order of ``methods``.

    Bron and Kerbosch's search for maximal cliques with a pivot.

    >>> clear = Estimate(value=0.5, lower=0.4, upper=0.6)
    >>> groups("abc", [Contrast(first="a", second="c", estimate=clear, state="first")])
    [('a', 'b'), ('b', 'c')]
    """
    apart = {frozenset((c.first, c.second)) for c in contrasts if c.better is not None}
    near = {m: {o for o in methods if o != m and frozenset((m, o)) not in apart} for m in methods}
    position = {m: i for i, m in enumerate(methods)}
    found: list[tuple[str, ...]] = []

    def grow(clique: set[str], candidates: set[str], done: set[str]) -> None:
        if not candidates and not done:
            found.append(tuple(sorted(clique, key=position.__getitem__)))
            return
        pivot = max(sorted(candidates | done), key=lambda m: len(near[m] & candidates))
        for m in sorted(candidates - near[pivot], key=position.__getitem__):
            grow(clique | {m}, candidates & near[m], done & near[m])
            candidates = candidates - {m}
            done = done | {m}

    grow(set(), set(methods), set())
    return sorted(found, key=lambda group: [position[m] for m in group])

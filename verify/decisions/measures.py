r"""How far a relation between two sides fails, in one unit for every point of a search.

A search maximises a `Measure` of ``observed relation bound``.  It is positive where the relation
fails and negative where it holds with room.  Five units are enough:

================= ================================================ ===========================
measure           of the sides :math:`a` and :math:`b`             for
================= ================================================ ===========================
`SHARE`           :math:`(a-b)/\max(|a|,|b|)`                      numbers of any size
`DIFFERENCE`      :math:`a-b`                                      sides that have a scale
`LOG_RATIO`       :math:`\log(a/b)`                                sides apart by many decades
`LOG_DIFFERENCE`  :math:`\log a-\log b`                           probabilities given as logs
`LOG_PROBABILITY` :math:`(\log a-\log b)/\max(1,-\log b)`          logs of probabilities
================= ================================================ ===========================

for the relation :math:`a\le b`.  The sign is turned for :math:`\ge`, and the size is taken for
:math:`=`.  All of them take Python floats and mpmath numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import mpmath

LOWEST = -1e9  # stands for the log of a probability that underflows
_FAR = 1e3  # stands for the log of a ratio with an empty or negative side


@dataclass(frozen=True, kw_only=True)
class Limits:
    """A lower and an upper limit on a left-hand side that is not known exactly."""

    lower: Any
    upper: Any


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A way to compare two sides.

    Attributes
    ----------
    unit : in words, for tables and witnesses.
    excess : ``(observed, bound) -> `` how far ``observed <= bound`` fails.
    logs : whether both sides are given as logarithms.
    tolerance : violations up to here are taken for rounding.
    """

    unit: str
    excess: Callable[[Any, Any], Any]
    logs: bool = False
    tolerance: float = 1e-9

    def violation(self, relation: str, observed: Any, bound: Any) -> Any:
        r"""How far ``observed relation bound`` fails, for \le, \ge and =.

        `Limits` on the observed side violate where both of them do, on the same side, and the
        relation holds where both of them keep it.  Between the two it is undecided (NaN), and so it
        is where the side that should be smaller overflows, or where a side is NaN.
        """
        if isinstance(observed, Limits):
            limits = observed.lower, observed.upper
            if any(limit != limit for limit in limits):
                return math.nan
            ends = [self.violation(relation, limit, bound) for limit in limits]
            if relation == "=" and observed.lower < bound < observed.upper:
                return (
                    math.nan
                )  # both limits are off on different sides, and the value may be right
            known = [end for end in ends if end == end]  # an upper limit may overflow
            if known and min(known) > 0:
                return min(known)
            return max(ends) if len(known) == 2 and max(ends) <= 0 else math.nan
        if observed != observed or bound != bound:  # Python's max may pass over a NaN
            return math.nan
        if math.inf == (bound if relation == r"\ge" else observed):
            return math.nan
        excess = self.excess(observed, bound)
        return abs(excess) if relation == "=" else -excess if relation == r"\ge" else excess

    def shown(self, side: Any) -> float:
        """A side as it is printed: a logarithm is taken back, of limits the lower one is shown."""
        value = side.lower if isinstance(side, Limits) else side
        return math.exp(value) if self.logs else float(value)

    def worst(self, relation: str, side: Any) -> float:
        """A left-hand side as `shown`, of limits the one that is harder to keep."""
        if isinstance(side, Limits):
            side = side.lower if relation == r"\ge" else side.upper
        return self.shown(side)


def share(observed: Any, bound: Any) -> Any:
    """The difference of two numbers over the larger of their sizes, in [-2, 2].

    Examples
    --------
    >>> share(3.0, 4.0), share(0.0, 0.0), share(1.0, float("inf"))
    (-0.25, 0.0, -1.0)
    """
    scale = max(abs(observed), abs(bound))
    if scale == math.inf:
        return (observed > bound) - (observed < bound) + 0.0
    gap = observed - bound
    if abs(gap) == math.inf:
        return observed / scale - bound / scale
    return gap / scale if scale > 0 else 0.0


def log_ratio(left: Any, right: Any) -> Any:
    """Log of left over right, positive exactly where left > right, for any signs.

    Examples
    --------
    >>> log_ratio(2.0, 2.0), log_ratio(0.0, -1.0), log_ratio(-2.0, -1.0) < 0
    (0.0, 1000.0, True)
    """
    if left == right:
        return 0.0
    if left > 0 and right > 0:
        return min(max(_log(left) - _log(right), -_FAR), _FAR)
    if left < 0 and right < 0:
        return log_ratio(-right, -left)
    size = _FAR + _log(abs(left - right))  # of opposite signs: far apart, in order of distance
    if size < 1:  # a difference below all floats
        size = mpmath.exp(size - 1)
    return size if left > right else -size


def relative(log_probability: Any, log_of_bound: Any) -> Any:
    """Log of the probability over the bound, in units of the bound's own log where that is large.

    Without this unit a search stays where both logs are near zero, and never tests the exponents.
    A probability above a bound of zero exceeds it by one unit, as above ever smaller bounds.
    """
    if log_of_bound == -math.inf:
        return 0.0 if log_probability == log_of_bound else 1.0
    return (log_probability - log_of_bound) / max(1.0, -log_of_bound)


def log_or_lowest(probability: Any) -> float:
    """Log of a probability, `LOWEST` where it is zero or underflows."""
    value = float(probability)
    return math.log(value) if value > 0 else LOWEST


def _log(x: Any) -> Any:
    return mpmath.log(x) if isinstance(x, mpmath.mpf) else math.log(x)


SHARE = Measure(unit="share by which the relation fails", excess=share)
DIFFERENCE = Measure(unit="difference of the two sides", excess=lambda a, b: a - b)
LOG_RATIO = Measure(unit="log of the left-hand side over the right-hand side", excess=log_ratio)
LOG_DIFFERENCE = replace(DIFFERENCE, unit="log of the probability over the stated one", logs=True)
LOG_PROBABILITY = Measure(
    unit="log of the probability over the bound, relative to the bound's log",
    excess=relative,
    logs=True,
)

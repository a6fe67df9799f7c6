r"""Where a statement says something: its conditions and its bound, with the paper's own constants.

A statement *bites* at a setting when all its assumptions hold there, its failure probability is
below one, and its bound is below a trivial bound.  Each of these conditions is evaluated in
the log domain, so that a threshold of :math:`e^{10^6}` is a number like any other.

Along one symbol (a sample size) each condition is followed over a logarithmic grid.  The size from
which a condition holds *on* is found by bisection between the last grid point where it fails and
the next one.  A condition that fails at the largest size is said to hold "never up to" it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import sympy as sp

from bounds.log_domain import LogNumber, LogValues, evaluate_log, evaluate_log_along
from bounds.statement import Statement
from trials.checks import InvalidParameter

_POINTS = 481  # of the logarithmic grid


@dataclass(frozen=True, kw_only=True)
class Condition:
    """``left >= right`` (or ``>``), both as expressions.  ``name`` is for the report."""

    name: str
    left: sp.Expr
    right: sp.Expr
    strict: bool = False

    def sides(self, values: LogValues) -> tuple[LogNumber, LogNumber]:
        """Both sides at a setting."""
        return evaluate_log(self.left, values), evaluate_log(self.right, values)

    def holds(self, values: LogValues) -> bool:
        """Whether the condition holds.  It fails when a side is no real number."""
        try:
            left, right = self.sides(values)
        except ValueError:
            return False
        return self._compare(left, right)

    def _compare(self, left: LogNumber, right: LogNumber) -> bool:
        return right < left if self.strict else right <= left

    def along(self, symbol: str, values: LogValues) -> Callable[[LogNumber], bool]:
        """Whether the condition holds, as a function of one symbol.

        The parts of both sides that do not contain the symbol are evaluated once.

        Examples
        --------
        >>> n, d = sp.symbols("n d")
        >>> enough = Condition(name="samples", left=n, right=100 * d).along("n", {"d": 20.0})
        >>> enough(LogNumber.of(1999.0)), enough(LogNumber.of(2000.0))
        (False, True)
        """

        try:
            left, right = (
                evaluate_log_along(side, symbol, values) for side in (self.left, self.right)
            )
        except ValueError:
            return lambda _size: False

        def holds(size: LogNumber) -> bool:
            try:
                return self._compare(left(size), right(size))
            except ValueError:
                return False

        return holds


def conditions(statement: Statement, trivial: sp.Expr | None = None) -> list[Condition]:
    """Everything that must hold for the statement to say something.

    Parameters
    ----------
    trivial : a bound that the observed quantity never exceeds.  The stated bound must be smaller.
    """
    found = []
    for a in statement.assumptions:
        right = a.right if a.constant is None else a.constant * a.right
        found.append(Condition(name=a.name, left=a.left, right=right, strict=a.strict))
    if statement.failure is not None:
        found.append(
            Condition(
                name="failure probability below one",
                left=sp.Integer(1),
                right=statement.failure.doit(),
                strict=True,
            )
        )
    if trivial is not None:
        found.append(
            Condition(
                name="bound below the trivial one",
                left=sp.sympify(trivial),
                right=statement.expr.doit(),
                strict=True,
            )
        )
    if not found:
        raise InvalidParameter(
            f"{statement.id} has no assumption and no failure probability: give a trivial bound"
        )
    return found


@dataclass(frozen=True, kw_only=True)
class Onset:
    """From which size on a condition holds.

    Attributes
    ----------
    log_size : natural logarithm of the size.  It is -inf where the condition holds from the
        smallest size on, and +inf where it fails at the largest.
    earlier : whether it also holds somewhere before.
    """

    log_size: float
    earlier: bool = False

    @property
    def never(self) -> bool:
        """Whether no size up to the largest is enough."""
        return self.log_size == math.inf

    def text(self, largest_log: float) -> str:
        """The size in words and inline mathematics."""
        if self.never:
            return f"never up to ${_power_of_ten(largest_log)}$"
        if self.log_size == -math.inf:
            return "at every size"
        size = (
            f"{math.exp(self.log_size):,.0f}".replace(",", r"\,")
            if self.log_size < math.log(1e6)
            else _power_of_ten(self.log_size)
        )
        return f"from ${size}$ on" + (" (and at some sizes before)" if self.earlier else "")


def _power_of_ten(log: float) -> str:
    """``exp(log)`` as mantissa and power of ten.  Huge numbers have the power alone."""
    power = math.floor(log / math.log(10) + 1e-9)
    mantissa = math.exp(min(log - power * math.log(10), 700.0))
    if mantissa >= 9.995:  # two digits would show 10.00
        power, mantissa = power + 1, 1.0
    if power > 1e12 or abs(mantissa - 1) < 0.005:
        return rf"10^{{{power:.6g}}}" if power > 1e12 else rf"10^{{{power}}}"
    return rf"{mantissa:.2f}\times10^{{{power}}}"


def onset(
    condition: Condition, values: LogValues, along: str, smallest: float, largest_log: float
) -> Onset:
    """From which value of ``along`` on, between ``smallest`` and ``exp(largest_log)``, it holds.

    Whole sizes: the result is the logarithm of a whole number where that is below 2**53.
    """

    holds_at = condition.along(along, values)

    def holds(log_size: float) -> bool:
        return holds_at(LogNumber.exp(log_size))

    start = math.log(smallest)
    if not largest_log > start:
        raise InvalidParameter(f"largest size exp({largest_log:g}) must exceed {smallest:g}")
    grid = np.linspace(start, largest_log, _POINTS)
    found = [holds(float(x)) for x in grid]
    if not found[-1]:
        return Onset(log_size=math.inf, earlier=any(found))
    failing = [i for i, ok in enumerate(found) if not ok]
    if not failing:
        return Onset(log_size=-math.inf)
    low, high = float(grid[failing[-1]]), float(grid[failing[-1] + 1])
    for _ in range(200):
        middle = low + (high - low) / 2
        if not low < middle < high:
            break
        low, high = (low, middle) if holds(middle) else (middle, high)
    if high < math.log(2.0**53):
        whole = math.floor(math.exp(low))
        while not holds_at(LogNumber.of(float(whole))):
            whole += 1
        high = math.log(whole)
    return Onset(log_size=high, earlier=any(found[: failing[-1]]))


@lru_cache(maxsize=4096)
def _kept_onset(
    condition: Condition,
    values: tuple[tuple[str, float | LogNumber], ...],
    along: str,
    smallest: float,
    largest_log: float,
) -> Onset:
    """`onset`, kept: a changed statement shares most of its conditions with the statement."""
    return onset(condition, dict(values), along, smallest, largest_log)


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One setting: which conditions fail there, and from which size on all would hold."""

    name: str
    failing: tuple[str, ...]
    onsets: Mapping[str, Onset]

    @property
    def bites(self) -> bool:
        """Whether the statement says something at this setting."""
        return not self.failing

    @property
    def begins(self) -> Onset:
        """From which size on all conditions hold."""
        last = max(self.onsets.values(), key=lambda o: o.log_size)
        return Onset(log_size=last.log_size, earlier=any(o.earlier for o in self.onsets.values()))


def examine(
    name: str,
    wanted: list[Condition],
    values: LogValues,
    along: str,
    smallest: float,
    largest_log: float,
) -> Setting:
    """All conditions at one setting, and along one symbol from it."""
    if along not in values:
        raise InvalidParameter(f"setting {name!r} has no {along}; it has {', '.join(values)}")
    at = tuple(values.items())
    return Setting(
        name=name,
        failing=tuple(c.name for c in wanted if not c.holds(values)),
        onsets={c.name: _kept_onset(c, at, along, smallest, largest_log) for c in wanted},
    )

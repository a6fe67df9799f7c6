"""Symbols that a claim's trials tell from others.

A bound that is far above every observed value stays true with another symbol in it.  `told_apart`
puts every other symbol of the same range, and one, in the place of each symbol of a bound.  It asks
whether the observed values of some cell would then break the bound more often than the statement
allows.  It reads formulas and stored trials only, and takes milliseconds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import sympy as sp

from bounds.statement import Statement, evaluate
from verify.evidence import Apart
from verify.mutation.meaning import COMMON, symbols_of
from verify.procedures.base import FloatArray

#: Trials of a cell that are looked at.
MOST = 512
#: The word for a symbol that is left out.
NOTHING = "1"
#: Relative difference below which two bounds are one number.
RTOL = 1e-9


class Seen:
    """One cell as `told_apart` reads it.

    Parameters
    ----------
    values : of all symbols of the bound, arrays (n_trials,) where they differ between trials.
    observed : the left-hand side of every trial, (n_trials,).
    failure : the share of the trials that may exceed the bound.
    """

    def __init__(self, values: Mapping[str, Any], observed: FloatArray, failure: float) -> None:
        self.values = {
            name: value[:MOST] if np.ndim(value) == 1 else value for name, value in values.items()
        }
        self.observed = observed[:MOST]
        self.failure = failure

    def bound(self, expr: sp.Expr, symbol: str = "", other: str = "") -> FloatArray:
        """The bound in every trial, with the value of ``other`` in the place of ``symbol``'s."""
        values = dict(self.values)
        if symbol:
            values[symbol] = 1.0 if other == NOTHING else self.values[other]
        with np.errstate(all="ignore"):
            return np.broadcast_to(
                np.asarray(evaluate(expr, values), dtype=np.float64), self.observed.shape
            )

    def breaks(self, bound: FloatArray) -> bool:
        """Whether more trials exceed a bound than may."""
        return bool(np.mean(~(self.observed <= bound)) > self.failure)


def told_apart(statement: Statement, cells: Sequence[Seen]) -> tuple[Apart, ...]:
    """The symbols of an upper bound, each with those from which some cell tells it and the others.

    An exchange that makes the bound nowhere smaller follows from the statement, and is left out.
    Symbols are those of the statement's formulas and conditions, and the common letters of sizes.
    """
    expr = statement.expr.doit()
    hidden = {constant.symbol for constant in statement.constants}
    symbols = sorted(s.name for s in expr.free_symbols - hidden)
    cells = [cell for cell in cells if all(s in cell.values for s in symbols)]
    if not cells or statement.relation != r"\le":
        return ()
    mates = COMMON | {symbol.name for symbol in symbols_of(statement).values()}
    return exchanged(expr, symbols, mates, cells)


def exchanged(
    expr: sp.Expr, symbols: Sequence[str], mates: Collection[str], cells: Sequence[Seen]
) -> tuple[Apart, ...]:
    """`told_apart` for one expression and the letters that may stand in a symbol's place.

    Examples
    --------
    >>> m, d, k = sp.symbols("m d k")
    >>> cells = [Seen({"m": 10.0, "d": 4.0, "k": 2.0}, np.full(9, 0.3), 0.1),
    ...          Seen({"m": 90.0, "d": 2.0, "k": 3.0}, np.full(9, 0.02), 0.1)]
    >>> exchanged(d / m, ["d"], ["k", "m"], cells)
    (Apart(symbol='d', told=('1', 'k'), not_told=()),)
    """
    everywhere = set.intersection(*(set(cell.values) for cell in cells))
    ranges = {
        name: _range([cell.values[name] for cell in cells])
        for name in everywhere & {*mates, *symbols}
    }
    stated = [cell.bound(expr) for cell in cells]
    found = []
    for symbol in symbols:
        told: list[str] = []
        not_told: list[str] = []
        for other in (NOTHING, *_mates(symbol, ranges)):
            broken = _broken(
                (cell, cell.bound(expr, symbol, other), bound)
                for cell, bound in zip(cells, stated, strict=True)
            )
            if broken is not None:
                (told if broken else not_told).append(other)
        found.append(Apart(symbol=symbol, told=tuple(told), not_told=tuple(not_told)))
    return tuple(found)


def _broken(bounds: Iterable[tuple[Seen, FloatArray, FloatArray]]) -> bool | None:
    """Whether a cell whose changed bound is below the stated one somewhere breaks it.

    None where no cell's is.  Cells are asked up to the first that breaks it.
    """
    lower = False
    for cell, changed, stated in bounds:
        # below by more than rounding, also where the bound is below zero
        if np.any(changed < np.minimum(stated * (1.0 - RTOL), stated * (1.0 + RTOL))):
            lower = True
            if cell.breaks(changed):
                return True
    return False if lower else None


def _range(values: Sequence[Any]) -> str:
    """A count (whole numbers from one), a share (up to one), another size, or nothing of these."""
    try:
        numbers = np.concatenate([np.atleast_1d(np.asarray(v, dtype=np.float64)) for v in values])
    except (TypeError, ValueError):
        return ""
    if not np.all(np.isfinite(numbers)) or np.min(numbers) <= 0.0:
        return ""
    if np.min(numbers) >= 1.0 and np.array_equal(numbers, np.round(numbers)):
        return "count"
    return "share" if np.max(numbers) <= 1.0 else "size"


def _mates(symbol: str, ranges: Mapping[str, str]) -> Iterator[str]:
    for name in sorted(ranges):
        if name != symbol and ranges[name] and ranges[name] == ranges[symbol]:
            yield name

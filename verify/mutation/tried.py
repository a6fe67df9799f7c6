"""Where a claim is tried: the range of every symbol over its cells, its trials or its domain."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from verify.decisions.domain import Box, Interval, IntRange, LogInterval
from verify.mutation.mutants import Mutant, asks_less
from verify.procedures.base import Trials
from verify.procedures.interface import Procedure

SymbolRanges = dict[str, tuple[float, float]]


def ranges(procedure: Procedure, store: Trials) -> SymbolRanges:
    """Smallest and largest value of each symbol that is known to the procedure."""
    found: SymbolRanges = {}
    for values in _values(procedure, store):
        for name, value in values.items():
            if not isinstance(value, int | float | np.ndarray) or isinstance(value, bool):
                continue
            numbers = np.asarray(value, dtype=np.float64)
            if numbers.size and np.all(np.isfinite(numbers)):
                low, high = found.get(name, (math.inf, -math.inf))
                found[name] = min(low, float(numbers.min())), max(high, float(numbers.max()))
    return found


def _values(procedure: Procedure, store: Trials) -> Iterator[Mapping[str, Any]]:
    """The symbols in each cell, those of single trials as arrays.  For a search, both ends of its
    box.
    """
    domain = procedure.searched()
    if isinstance(domain, Box):
        box = domain.ranges
        ends = {n: r for n, r in box.items() if isinstance(r, Interval | LogInterval | IntRange)}
        yield {name: r.low for name, r in ends.items()}
        yield {name: r.high for name, r in ends.items()}
    if domain is None:
        yield from procedure.tried_at(store)


def follows(mutant: Mutant, procedure: Procedure, known: SymbolRanges) -> bool:
    """Whether the mutant follows from the original wherever the procedure tries it.

    A rate is about growth, and its stated exponents say on which side the observed ones may lie.
    """
    sides = procedure.compared_growth() or {}
    if mutant.symbol is None or mutant.size is None or mutant.symbol.name not in sides:
        return asks_less(mutant, known)
    side = sides[mutant.symbol.name]
    return (side == "at most" and mutant.size > 0) or (side == "at least" and mutant.size < 0)

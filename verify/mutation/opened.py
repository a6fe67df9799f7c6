"""Where a weaker condition lets a statement be tried: cells and points outside the original's.

The cells of a claim lie inside its assumptions, so that they say nothing about a weaker condition.
`open_condition` makes the procedure that tries the changed statement only where the original is
silent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import sympy as sp

from bounds.statement import Assumption, OutsideTheorem, Statement
from trials.checks import InvalidParameter
from trials.run.cell import Params
from verify.decisions.domain import (
    Box,
    Choice,
    Domain,
    Interval,
    IntRange,
    LogInterval,
    Range,
)
from verify.mutation.fingerprint import cells_of, fingerprint
from verify.mutation.mutants import Mutant, assumption_named
from verify.procedures.interface import Procedure
from verify.procedures.search import Point

MAX_CELLS = 8
_STARTS = 4  # original cells from which a parameter is moved
_OCTAVES = 6  # how far: by a factor of up to 2^6
_COST = 4.0  # a new cell's declared cost, over the largest of the original ones
#: Evaluations of a search outside a condition: of those of the claim, and at most.
MORE, BUDGET = 4, 1_600

_REFUSED = (InvalidParameter, OutsideTheorem, ArithmeticError, ValueError, KeyError)


def open_condition(
    mutant: Mutant, statement: Statement, original: Procedure, weaker: Procedure
) -> Procedure:
    """The procedure that tries a mutant with a weaker condition where the original is silent.

    Parameters
    ----------
    statement : the original, which ``original`` tries.
    weaker : the claim's procedure for the mutant.

    Raises
    ------
    InvalidParameter
        When no cell or point outside the original's condition can be made.
    """
    before = assumption_named(statement, mutant.term)
    after = assumption_named(mutant.statement, mutant.term)
    if original.searched() is not None:
        searched: Procedure = _search(original, weaker, before, after)
        return searched
    if cells_of(weaker) != cells_of(original):  # its cells lie where its assumptions say
        return weaker
    weaker.moved_to(weaker.cells_alone())  # refused where no single cell can be added
    cells = _cells(original, weaker, _edge(before, after))
    if not cells:
        raise InvalidParameter("no cell outside the condition meets everything else")
    return weaker.moved_to(cells)


# -- cells -----------------------------------------------------------------------------------------


def _cells(original: Procedure, weaker: Procedure, edge: Mapping[str, float]) -> tuple[Params, ...]:
    """Cells that the weaker statement covers and the original does not, one parameter moved.

    In each direction there is one cell next to the edge and one as far as the statement reaches.
    """
    dearest = max((cost_of(original, cell) for cell in cells_of(original)), default=0.0)

    def outside(cell: Params) -> bool:
        return (
            takes(weaker, cell)
            and not takes(original, cell)
            and cost_of(weaker, cell) <= _COST * dearest
        )

    known = cells_of(original)
    found: dict[str, Params] = {}
    spread = range(0, len(known), max(1, len(known) // _STARTS))[:_STARTS]
    others = [i for i in range(len(known)) if i not in spread]
    for i in (*spread, *others):
        if found and i not in spread:  # the others are for conditions that few cells can leave
            break
        start = known[i]
        moved = [{**start, **edge}] if edge and set(edge) <= set(start) else _move(start, outside)
        for cell in moved:
            if outside(cell):
                found.setdefault(repr(sorted(cell.items())), cell)
    cells = list(found.values())
    return tuple(cells[:: max(1, -(-len(cells) // MAX_CELLS))])


def _move(start: Params, outside: Callable[[Params], bool]) -> Iterator[Params]:
    for name, value in start.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not value:
            continue
        for sign in (-1, 1):
            path = [_scale(start, name, sign * step / 2) for step in range(1, 2 * _OCTAVES + 1)]
            reached = [i for i, cell in enumerate(path) if outside(cell)]
            if not reached:
                continue
            first = reached[0]
            yield path[reached[-1]]
            low, high = first / 2, (first + 1) / 2  # octaves: the edge lies between them
            for _ in range(5):
                middle = (low + high) / 2
                if outside(_scale(start, name, sign * middle)):
                    high = middle
                else:
                    low = middle
            yield _scale(start, name, sign * high)


def _scale(cell: Params, name: str, octaves: float) -> Params:
    value = cell[name] * 2.0**octaves
    return {**cell, name: round(value) if isinstance(cell[name], int) else value}


def takes(procedure: Procedure, cell: Params) -> bool:
    """Whether the cell is possible and inside the procedure's statement."""
    try:
        procedure.check_cell(cell)
    except _REFUSED:
        return False
    return True


def breaks_condition(procedure: Procedure, cell: Params) -> bool:
    """Whether the cell lies outside the conditions of the procedure's statement.

    A cell that cannot be tried for another reason does not.
    """
    try:
        procedure.check_cell(cell)
    except OutsideTheorem:
        return True
    except _REFUSED:
        return False
    return False


def declares_cost(procedure: Procedure) -> bool:
    """Whether the trials of a procedure have a known cost, so that more of them may be drawn."""
    experiment = procedure.experiment()
    return experiment is not None and experiment.cost is not None


def cost_of(procedure: Procedure, cell: Params) -> float:
    """The declared CPU seconds of a trial, zero where the experiment declares none."""
    experiment = procedure.experiment()
    if experiment is None or experiment.cost is None:
        return 0.0
    try:
        return float(experiment.cost(experiment.check(cell)))
    except _REFUSED:
        return math.inf


# -- searches --------------------------------------------------------------------------------------


def _search(original: Any, weaker: Any, before: Assumption, after: Assumption) -> Any:
    """The search over the points that only the weaker condition allows.

    A box is widened in the symbols of the condition.  A search whose violation reads the condition
    is returned as it is.
    """
    there = replace(weaker, domain=original.domain, constraints=original.constraints)
    if fingerprint(there) != fingerprint(original):
        return weaker
    home, symbols = original.searched(), _symbols(before)

    def outside(point: Point) -> bool:
        if symbols <= set(point):
            if before.holds(point) or not after.holds(point):
                return False
        elif original.constraints is None or original.constraints(point):
            return False
        return weaker.constraints is None or weaker.constraints(point)

    def tried(point: Point) -> bool:
        with np.errstate(all="ignore"):
            try:
                return outside(point)
            except _REFUSED:
                return False

    def violation(point: Point) -> float:
        with np.errstate(all="ignore"):
            try:
                return float(weaker.violation(point))
            except (*_REFUSED, TypeError):  # Python's complex roots have no order
                return math.nan

    search: Procedure = replace(
        weaker,
        domain=_widen(home, before, after, _counts(original)),
        constraints=tried,
        violation=violation,
        recheck=None,
        certify=None,
        budget=min(MORE * weaker.budget, BUDGET),
    )
    return search


def _edge(before: Assumption, after: Assumption) -> dict[str, float]:
    """The value of the only symbol at which a strict condition meets equality, else nothing."""
    if not before.strict or after.strict or before.right != after.right:
        return {}
    return _solve(before)


def _solve(assumption: Assumption) -> dict[str, float]:
    """The value of the only symbol of a condition at which its sides are equal, else nothing."""
    symbols = assumption.left.free_symbols | assumption.right.free_symbols
    if len(symbols) != 1 or assumption.right.is_infinite:
        return {}
    (symbol,) = symbols
    solved = [s for s in sp.solve(assumption.left - assumption.right, symbol) if s.is_real]
    return {symbol.name: float(solved[0])} if len(solved) == 1 else {}


def _counts(search: Any) -> set[str]:
    """The symbols that are at least one wherever the statement speaks, such as a number of rows."""
    ranges = {} if search.proposition is None else search.proposition.ranges
    return {name for name, r in ranges.items() if not isinstance(r, Choice) and r.low >= 1}


def _widen(
    domain: Domain, before: Assumption, after: Assumption, counts: Collection[str]
) -> Domain:
    """A box with the ranges of a condition's symbols moved to where only the weaker one holds.

    ``counts`` stay at least one.
    """
    symbols = _symbols(before)
    if not isinstance(domain, Box) or not symbols <= set(domain.ranges):
        return domain
    old, new, edge = _solve(before), _solve(after), _edge(before, after)
    ranges = dict(domain.ranges)
    for name in symbols:
        if name in edge:
            ranges[name] = Choice((edge[name],))
        elif name in old and name in new:
            ranges[name] = _between(ranges[name], *sorted((old[name], new[name])))
        else:
            ranges[name] = _wider(ranges[name], 1.0 if name in counts else 0.0)
    return Box(ranges)


def _symbols(assumption: Assumption) -> set[str]:
    return {s.name for s in assumption.left.free_symbols | assumption.right.free_symbols}


def _between(r: Range, low: float, high: float) -> Range:
    if isinstance(r, IntRange):
        return IntRange(math.ceil(low), max(math.floor(high), math.ceil(low)))
    return Interval(low, high)


def _wider(r: Range, least: float) -> Range:
    if isinstance(r, Interval):
        width = r.high - r.low
        return Interval(r.low - width, r.high + width)
    if isinstance(r, LogInterval):
        return LogInterval(max(r.low / 100.0, least), r.high * 100.0)
    if isinstance(r, IntRange):
        low = max(1, r.low // 4) if r.low > 0 else r.low
        return IntRange(low, r.high, r.log)
    return r

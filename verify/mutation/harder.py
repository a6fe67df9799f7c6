"""Cells in which a changed statement asks for most, to tell whether it is false.

A claim's own cells may lie where a changed bound is not below the stated one, or where both are far
above the observed values.  `hardest` moves the parameters of a cell, one after the other, to where
the changed bound is the smallest part of the stated one.  The statement's assumptions still hold
there.  A refutation in that cell shows that the change is false.

`Places` are cells in which a claim's statement speaks: the claim's own and many far from them.  A
sharper statement that is proved or supported by itself makes every change true that is nowhere
below it there.  Where a change is below it, trials may show that it is false.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
import sympy as sp

from bounds.statement import OutsideTheorem, Statement, evaluate
from trials.run.cell import Params
from trials.run.store import RunStore
from verify.mutation.meaning import middle_constants
from verify.mutation.opened import cost_of, takes
from verify.procedures.base import FloatArray, Trials
from verify.procedures.interface import Procedure
from verify.procedures.reading import ReadOnce

#: Moves of one parameter that are made, and by which factors one may be moved.
STEPS = 4
FACTORS = (1 / 8, 1 / 2, 2.0, 8.0)
#: Cells from which the search starts.
STARTS = 2
#: How far a parameter goes from its value in the first cell, as a factor.
FAR = 64.0
#: The declared cost of a new cell, over that of the dearest one of the claim.
COST = 8.0
#: Growth of all whole numbers of a cell together where the experiment declares no cost.
GROWTH = 8.0
#: A move must lower the log of the quotient by so much.
STEP = 0.05

#: Places at which two formulas are compared besides a claim's cells, and the attempts to find them.
PLACES = 1_500
ATTEMPTS = 8_000
#: Parameters that are moved together at most, and how far each goes where trials declare a cost.
MOVED = 5
FARTHEST = 1e6
#: Values that are kept of a symbol that differs between trials.
_FEW = 3
#: Relative difference of two bounds that counts as none.
ROUNDING = 1e-12

_REFUSED = (ArithmeticError, KeyError, TypeError, ValueError)


def log_quotient(original: Statement, changed: Statement, values: Mapping[str, Any]) -> float:
    """The log of the changed bound over the stated one, below zero where the change asks for more.

    Of two bounds below zero it is the log of the stated one over the changed one.  The smaller of
    the conclusion's and of the failure probability's counts, the smallest over the trials of a
    cell.  NaN where a formula cannot be evaluated.
    """
    quotients = []
    values = {**middle_constants(original), **values}
    with np.errstate(all="ignore"):
        try:
            if original.terms:
                before, after = (np.asarray(evaluate(s.expr, values)) for s in (original, changed))
                log = _log_growth(before, after)
                log = -np.abs(log) if original.relation == "=" else log
                quotients.append(-log if original.relation == r"\ge" else log)
            if original.failure is not None and changed.failure is not None:
                before, after = (evaluate(s.failure, values) for s in (original, changed))
                quotients.append(_log_growth(np.minimum(before, 1.0), np.minimum(after, 1.0)))
        except _REFUSED:
            return math.nan
    return float(min(np.min(q) for q in quotients)) if quotients else math.nan


def _log_growth(before: FloatArray, after: FloatArray) -> FloatArray:
    """The log of a quotient of two bounds, above zero where the second one is the larger number.

    Of two bounds below zero the larger one is the nearer to zero.  The log is infinite where a
    bound changes its sign, and zero where both are zero or infinite.
    """
    quotient = after / before
    log = np.where(before < 0.0, -1.0, 1.0) * np.log(np.abs(quotient))
    log = np.where(quotient < 0.0, np.where(after > before, np.inf, -np.inf), log)
    return np.where(after == before, 0.0, log)


def hardest(
    original: Statement, changed: Statement, procedure: Procedure, store: RunStore
) -> tuple[Params, float] | None:
    """The cell with the smallest log quotient that is found, and that quotient.

    None where the procedure decides no cell alone, or no quotient can be evaluated.

    Parameters
    ----------
    procedure : the claim's, for the changed statement.
    """
    cells = [full_cell(procedure, cell) for cell in procedure.cells_alone()]
    if not cells:
        return None
    trials = ReadOnce(store)
    dearest = max(cost_of(procedure, cell) for cell in cells)

    def quotient(cell: Params, start: Params) -> float:
        try:
            values = procedure.values_at(cell, start, trials)
        except _REFUSED:
            return math.nan
        return log_quotient(original, changed, values)

    def allowed(cell: Params, start: Params) -> bool:
        return _near(cell, start, declared=dearest > 0) and (
            cost_of(procedure, cell) <= COST * dearest and takes(procedure, cell)
        )

    def complete(cell: Params) -> Params:
        return _completed(procedure, cell)

    starts = [(quotient(cell, cell), i) for i, cell in enumerate(cells)]
    starts = sorted((q, i) for q, i in starts if not math.isnan(q))[:STARTS]
    found = [_descend(cells[i], q, quotient, allowed, complete) for q, i in starts]
    return min(found, key=lambda pair: pair[1]) if found else None


class Places:
    """Cells in which a claim's statement speaks: its own, and far more in every direction.

    The others have up to five parameters moved at random, within the claim's conditions.

    Parameters
    ----------
    procedure : the claim's, for its own statement.
    store : its trials, from which symbols are read that differ between trials.
    symbols : names of the statement's symbols.  An exhibited constant, such as the c of a step c/p,
        is moved only where one of them depends on it: another value would be another statement.

    Attributes
    ----------
    cells : the places.
    values : of all symbols at each place.
    n_own : how many of them, the first ones, are the claim's own cells.
    """

    def __init__(self, procedure: Procedure, store: Trials, symbols: Collection[str]) -> None:
        self.n_own = len(procedure.cells_alone())
        self.cells: list[Params] = []
        self.values: list[Mapping[str, Any]] = []
        for cell, values in islice(scattered(procedure, store, symbols), self.n_own + PLACES):
            self.cells.append(cell)
            self.values.append(values)
        self._stacked = _stack(self.values)
        self._inside: dict[str, bool] = {}

    def quotients(self, sharper: Statement, changed: Statement) -> FloatArray | None:
        """The log of a changed bound over a sharper one at each place, (n_places,).

        None where the two do not compare, or the sharper statement does not speak at some place.  A
        sharper statement whose failure probability is a symbol is taken at the changed statement's
        own one.  Else the quotient of the two probabilities counts as well.  The quotient is
        infinite where a changed statement may always fail.
        """
        if not self.cells or {changed.relation, sharper.relation} != {r"\le"} or not changed.terms:
            return None
        if not self._speaks(sharper):
            return None
        try:
            with np.errstate(all="ignore"):
                return self._quotients(sharper, changed)
        except _REFUSED:
            return None

    def _speaks(self, sharper: Statement) -> bool:
        """Whether a statement's conditions hold at every place."""
        if sharper.id not in self._inside:
            scalars = [
                {name: value for name, value in values.items() if np.ndim(value) == 0}
                for values in self.values
            ]
            try:
                for values in scalars:
                    sharper.require(values)
                self._inside[sharper.id] = True
            except (*_REFUSED, OutsideTheorem):
                self._inside[sharper.id] = False
        return self._inside[sharper.id]

    def _quotients(self, sharper: Statement, changed: Statement) -> FloatArray:
        at = {**middle_constants(changed), **self._stacked}
        shape = (len(self.cells), _FEW)
        allowed = np.zeros(shape)
        if changed.failure is not None:
            allowed = np.broadcast_to(np.asarray(evaluate(changed.failure, at), float), shape)
        own, log_failure = at, np.zeros(shape)
        if isinstance(sharper.failure, sp.Symbol):
            own = {**at, sharper.failure.name: allowed}
        elif sharper.failure is not None:
            log_failure = np.log(allowed / evaluate(sharper.failure, at))
        bound = np.asarray(evaluate(changed.expr, at), dtype=np.float64)
        least = np.asarray(evaluate(sharper.expr, own), dtype=np.float64)
        log = np.where((least == 0.0) & (bound == 0.0), 0.0, _log_growth(least, bound))
        logs = np.minimum(np.broadcast_to(log, shape), np.minimum(log_failure, 0.0))
        least_of_each: FloatArray = np.min(np.where(allowed >= 1.0, np.inf, logs), axis=1)
        return least_of_each


def nowhere_below(logs: FloatArray | None) -> int:
    """The number of quotients of `Places`, zero where a bound is below at one or one is NaN.

    A quotient is NaN where both sides leave the floats.
    """
    return 0 if logs is None or not np.min(logs) >= -ROUNDING else logs.size


def follows_from(sharper: Statement, changed: Statement, places: Places) -> int:
    """The number of places at which a changed bound is nowhere below a sharper, true one.

    Zero where it is below at some place, or where the formulas do not compare.
    """
    return nowhere_below(places.quotients(sharper, changed))


def _stack(found: Sequence[Mapping[str, Any]]) -> dict[str, FloatArray]:
    """The symbols of all places together, (n_places, 3): a symbol that differs between the trials
    of a place by its smallest, middle and largest value.
    """
    stacked = {}
    for name in set.intersection(*map(set, found)) if found else ():
        rows = []
        for values in found:
            value = values[name]
            if isinstance(value, bool | str | None) or callable(value):
                break
            ordered = np.sort(np.atleast_1d(np.asarray(value, dtype=np.float64)).ravel())
            rows.append(ordered[[0, ordered.size // 2, -1]])
        else:
            stacked[name] = np.array(rows)
    return stacked


def _movable(
    procedure: Procedure,
    cells: Sequence[Params],
    symbols: Collection[str],
    trials: Trials,
    *,
    unread: bool,
) -> frozenset[str]:
    """The parameters that may be moved: those that a symbol reads, and with ``unread`` all others
    but exhibited constants.
    """
    experiment = procedure.experiment()
    parameters = None if experiment is None else experiment.parameters
    exhibited = frozenset() if parameters is None else parameters.exhibited()

    def read(cell: Params, start: Params) -> dict[str, Any]:
        try:
            values = procedure.values_at(_completed(procedure, cell), start, trials)
        except (*_REFUSED, OutsideTheorem):
            return {}
        return {name: np.asarray(values[name]) for name in symbols if name in values}

    def is_read(name: str, start: Params) -> bool:
        before = read(start, start)
        for moved in (2 * start[name], start[name] / 2):  # one of them may be impossible
            value = max(1, round(moved)) if isinstance(start[name], int) else moved
            after = read({**start, name: value}, start)
            if any(not np.array_equal(before[s], after[s]) for s in before.keys() & after.keys()):
                return True
        return False

    sizes = [(name, cell) for cell in cells for name, value in cell.items() if _is_size(value)]
    found = set()
    for name, cell in sizes:
        if name not in found and ((unread and name not in exhibited) or is_read(name, cell)):
            found.add(name)
    return frozenset(found)


def scattered(
    procedure: Procedure,
    store: Trials,
    symbols: Collection[str],
    *,
    seed: int = 0,
    unread: bool = True,
    fixed: Collection[str] = (),
) -> Iterator[tuple[Params, Mapping[str, Any]]]:
    """A claim's cells, and then cells with some parameters moved at random, each with the values of
    all symbols.

    Every other attempt moves one or two parameters by less: those lie near the claim's own cells.

    Parameters
    ----------
    procedure, store, symbols : as for `Places`.
    seed : of the moves.
    unread : whether parameters are moved that none of the symbols reads.
    fixed : names of parameters that are not moved.
    """
    own = [full_cell(procedure, cell) for cell in procedure.cells_alone()]
    trials = ReadOnce(store)
    movable = _movable(procedure, own, symbols, trials, unread=unread).difference(fixed)
    for cell, start in _moved_at_random(procedure, own, movable, seed):
        try:
            yield cell, procedure.values_at(cell, start, trials)
        except (*_REFUSED, OutsideTheorem):
            continue


def _moved_at_random(
    procedure: Procedure, cells: Sequence[Params], movable: Collection[str], seed: int
) -> Iterator[tuple[Params, Params]]:
    """Cells, and then moved ones, each with the one that it is from."""
    yield from ((cell, cell) for cell in cells)
    if not cells or not movable:
        return
    rng = np.random.default_rng(seed)
    dearest = max(cost_of(procedure, cell) for cell in cells)
    for i in range(ATTEMPTS):
        most, reach = MOVED, FARTHEST if dearest > 0 else FAR
        if i % 2:
            most, reach = 2, reach ** float(rng.uniform())
        start = cells[i % len(cells)]
        names = [name for name, value in start.items() if name in movable and _is_size(value)]
        made = dict(start)
        for name in rng.permutation(names)[: rng.integers(1, most + 1)]:
            value = start[name]
            size = value * reach ** float(rng.uniform(-1.0, 1.0))
            made[name] = max(1, round(size)) if isinstance(value, int) else size
        cell = _completed(procedure, made)
        dear = dearest > 0 and cost_of(procedure, cell) > COST * dearest
        if not dear and takes(procedure, cell):
            yield cell, start


def _completed(procedure: Procedure, cell: Params) -> Params:
    """The cell with what the statement takes from its other parameters.

    An impossible cell is returned as it is: the procedure refuses it.
    """
    try:
        return procedure.completed(cell)
    except (*_REFUSED, OutsideTheorem):
        return cell


def full_cell(procedure: Procedure, cell: Params) -> Params:
    """A cell with the parameters that it leaves at their defaults, where the claim takes it so."""
    experiment = procedure.experiment()
    full = cell if experiment is None else experiment.check(cell)
    return full if takes(procedure, full) else cell


def _descend(
    start: Params,
    lowest: float,
    quotient: Callable[[Params, Params], float],
    allowed: Callable[[Params, Params], bool],
    complete: Callable[[Params], Params],
) -> tuple[Params, float]:
    """Move one parameter at a time, the best move first, while the quotient falls."""
    cell, names = start, set(start)
    for _ in range(STEPS):
        moves = [(name, complete(new)) for name, new in _moves(cell, names)]
        tried = [(name, quotient(new, start), new) for name, new in moves]
        names = {name for name, q, _ in tried if abs(q - lowest) > STEP}
        moved = [(q, i, new) for i, (_, q, new) in enumerate(tried)]
        better = sorted((q, i, new) for q, i, new in moved if q < lowest - STEP)
        step = next(((q, new) for q, _, new in better if allowed(new, start)), None)
        if step is None:
            break
        lowest, cell = step
    return cell, lowest


def _moves(cell: Params, names: Collection[str]) -> Iterator[tuple[str, Params]]:
    for name, value in cell.items():
        if name not in names or not _is_size(value):
            continue
        for factor in FACTORS:
            whole = isinstance(value, int)
            moved = max(1, round(value * factor)) if whole else value * factor
            if moved != value:
                yield name, {**cell, name: moved}


def _near(cell: Params, start: Params, *, declared: bool) -> bool:
    """Whether a cell is in reach, and not too large where no cost is declared."""
    growth = 1.0
    for name, value in cell.items():
        if not _is_size(value):
            continue
        factor = value / start[name]
        if not 1 / FAR <= factor <= FAR:
            return False
        growth *= factor if isinstance(value, int) else 1.0
    return declared or growth <= GROWTH


def _is_size(value: Any) -> bool:
    """Whether a parameter is a positive number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0

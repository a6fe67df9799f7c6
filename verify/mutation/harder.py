"""Cells in which a changed statement asks for most, to tell whether it is false.

A claim's own cells may lie where a changed bound is not below the stated one, or where both are far
above the observed values.  `hardest` moves the parameters of a cell, one after the other, to where
the changed bound is the smallest part of the stated one.  The statement's assumptions still hold
there.  A refutation in that cell shows that the change is false.

`follows_from` is the opposite oracle.  A sharper statement with a proof of its own makes every
change true that stays above it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import sympy as sp

from bounds.statement import OutsideTheorem, Statement, evaluate
from trials.run.cell import Params
from trials.run.experiment import Experiment
from trials.run.store import RunStore, Table
from verify.mutation.meaning import middle_constants
from verify.mutation.opened import cost_of, takes
from verify.procedures.base import Trials
from verify.procedures.interface import Procedure

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

#: Places at which two formulas are compared, and the attempts to find them.
PLACES = 300
ATTEMPTS = 1_000

_REFUSED = (ArithmeticError, KeyError, TypeError, ValueError)


def log_quotient(original: Statement, changed: Statement, values: Mapping[str, Any]) -> float:
    """The log of the changed bound over the stated one, below zero where the change asks for more.

    The smaller of the conclusion's and of the failure probability's, the smallest over the trials
    of a cell.  NaN where a formula cannot be evaluated.
    """
    quotients = []
    values = {**middle_constants(original), **values}
    with np.errstate(all="ignore"):
        try:
            if original.terms:
                before, after = (np.asarray(evaluate(s.expr, values)) for s in (original, changed))
                log = np.log(after / before)
                log = -np.abs(log) if original.relation == "=" else log
                quotients.append(-log if original.relation == r"\ge" else log)
            if original.failure is not None and changed.failure is not None:
                before, after = (evaluate(s.failure, values) for s in (original, changed))
                quotients.append(np.log(np.minimum(after, 1.0) / np.minimum(before, 1.0)))
        except _REFUSED:
            return math.nan
    return float(min(np.min(q) for q in quotients)) if quotients else math.nan


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

    starts = [(quotient(cell, cell), i) for i, cell in enumerate(cells)]
    starts = sorted((q, i) for q, i in starts if not math.isnan(q))[:STARTS]
    found = [_descend(cells[i], q, quotient, allowed) for q, i in starts]
    return min(found, key=lambda pair: pair[1]) if found else None


def follows_from(
    sharper: Statement, changed: Statement, procedure: Procedure, store: Trials
) -> int:
    """The number of places at which a changed bound is nowhere below a sharper, proved one.

    Zero where it is below at some place, or where the formulas do not compare.  The places are the
    claim's cells, and cells in which all parameters are moved at random within the claim's
    conditions.  A sharper statement whose failure probability is a symbol is taken at the changed
    statement's own failure probability.

    Parameters
    ----------
    sharper : a statement with a proof for every place in its conditions.
    procedure : the claim's, for the changed statement.
    """
    if changed.relation != r"\le" or sharper.relation != r"\le" or not changed.terms:
        return 0
    cells = [full_cell(procedure, cell) for cell in procedure.cells_alone()]
    trials = ReadOnce(store)
    n_places = 0
    for cell, start in _scattered(cells):
        if cell is not start and not takes(procedure, cell):
            continue
        try:
            values = {**middle_constants(changed), **procedure.values_at(cell, start, trials)}
            values = {name: _few(value) for name, value in values.items()}
            if not _above(changed, sharper, values):
                return 0
        except (*_REFUSED, OutsideTheorem):
            return 0
        n_places += 1
        if n_places == len(cells) + PLACES:
            break
    return n_places


def _few(value: Any) -> Any:
    """The smallest, the largest and a middle value of a symbol that differs between trials."""
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.size > 3:
        ordered = np.sort(value)
        return ordered[[0, value.size // 2, -1]]
    return value


def _above(changed: Statement, sharper: Statement, values: dict[str, Any]) -> bool:
    """Whether a changed statement follows from a sharper one at one place."""
    sharper.require({name: v for name, v in values.items() if np.ndim(v) == 0})
    allowed = 0.0 if changed.failure is None else float(evaluate(changed.failure, values))
    if allowed >= 1.0:
        return True
    if sharper.failure is not None:
        if isinstance(sharper.failure, sp.Symbol):
            own = {**values, sharper.failure.name: allowed}
        elif float(evaluate(sharper.failure, values)) > allowed:
            return False
        else:
            own = values
    else:
        own = values
    with np.errstate(all="ignore"):
        bound = np.asarray(evaluate(changed.expr, values), dtype=np.float64)
        least = np.asarray(evaluate(sharper.expr, own), dtype=np.float64)
    return bool(np.all(bound >= least * (1.0 - 1e-12)))


def _scattered(cells: Sequence[Params]) -> Iterator[tuple[Params, Params]]:
    """Cells, and then cells with all sizes moved at random, each beside the one that it is from."""
    yield from ((cell, cell) for cell in cells)
    rng = np.random.default_rng(0)
    for i in range(ATTEMPTS if cells else 0):
        start = cells[i % len(cells)]
        moved = dict(start)
        for name, value in start.items():
            if _is_size(value):
                size = value * FAR ** float(rng.uniform(-1.0, 1.0))
                moved[name] = max(1, round(size)) if isinstance(value, int) else size
        yield moved, start


def full_cell(procedure: Procedure, cell: Params) -> Params:
    """A cell with the parameters that it leaves at their defaults, where the claim takes it so."""
    experiment = procedure.experiment()
    full = cell if experiment is None else experiment.check(cell)
    return full if takes(procedure, full) else cell


class ReadOnce:
    """Stored trials, each cell read once for each number of blocks."""

    def __init__(self, store: Trials) -> None:
        self._store = store
        self._tables: dict[tuple[str, str, int], Table] = {}

    def __getattr__(self, name: str) -> Any:
        """Anything else that a procedure of one's own reads is the store's."""
        return getattr(self._store, name)

    def blocks(self, experiment: Experiment, params: Params) -> set[int]:
        """The numbers of the blocks of a cell that are there."""
        return self._store.blocks(experiment, params)

    def table(self, experiment: Experiment, params: Params, n_blocks: int) -> Table:
        """The first blocks of a cell."""
        key = experiment.name, repr(sorted(params.items())), n_blocks
        if key not in self._tables:
            self._tables[key] = self._store.table(experiment, params, n_blocks)
        return self._tables[key]


def _descend(
    start: Params,
    lowest: float,
    quotient: Callable[[Params, Params], float],
    allowed: Callable[[Params, Params], bool],
) -> tuple[Params, float]:
    """Move one parameter at a time, the best move first, while the quotient falls."""
    cell, names = start, set(start)
    for _ in range(STEPS):
        tried = [(name, quotient(new, start), new) for name, new in _moves(cell, names)]
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

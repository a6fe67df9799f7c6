"""Cells that one condition of a statement leaves out, to tell whether the condition is needed.

A weaker condition is false where the bound fails in a cell that only the weaker one allows.  There
are three kinds of such cells:

* *near*: made by `verify.mutation.opened` for the condition's edge;
* *far*: of up to 1,500 places in which up to five parameters are moved by up to a factor 10^6,
  every other one.  They are those that break the condition most, and then those drawn first;
* *control*: of the other half of these places, in the order in which they are drawn.

A refutation in the first two is what the claim's own procedure finds.  The control has no part in
their choice.  It tells how often they miss a condition that is needed.  All weaker forms of one
condition share these cells, so that each is tried once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from bounds.statement import Assumption, OutsideTheorem, Statement
from trials.run.cell import Params
from verify.evidence import Verdict
from verify.mutation.harder import Places
from verify.procedures.base import Trials
from verify.procedures.interface import Procedure

#: Far places in which one weaker condition is tried: the most extreme ones, and those drawn first.
N_EXTREME, N_DRAWN = 8, 16
#: Places of the control.
N_CONTROL = 12

#: ``cell -> `` the verdict on the bound there, None where nothing can be said.
Decide = Callable[[Params], Verdict | None]

_REFUSED = (ArithmeticError, KeyError, TypeError, ValueError, OutsideTheorem)


class Outside:
    """The cells where a statement's conditions do not all hold.

    Parameters
    ----------
    statement : with its conditions.
    free : the claim's procedure for the statement without any condition.
    store : the claim's trials.
    """

    def __init__(self, statement: Statement, free: Procedure, store: Trials) -> None:
        self._statement, self._free, self._store = statement, free, store
        places = Places(free, store)
        different = {repr(cell): i for i, cell in reversed(list(enumerate(places.cells)))}
        kept = sorted(different.values())
        self._cells = [places.cells[i] for i in kept]
        self._values = [places.values[i] for i in kept]
        self._like = self._cells[0]
        holds = [[_holds(a, values) for a in statement.assumptions] for values in self._values]
        self._holds = np.array(holds, dtype=np.bool_).reshape(len(holds), -1)
        self._near: dict[str, list[tuple[Params, Mapping[str, Any]]]] = {}
        self._found: dict[tuple[Decide, str], Verdict | None] = {}

    def keep(self, condition: str, cells: Sequence[Params]) -> None:
        """Cells near a condition's edge, made for the statement without it.

        Symbols that differ between trials are those of the claim's first cell.
        """
        found = []
        for cell in cells:
            try:
                found.append((cell, self._free.values_at(cell, self._like, self._store)))
            except _REFUSED:
                continue
        self._near[condition] = found

    def near(self, after: Assumption) -> list[Params]:
        """The kept cells that a weaker form of their condition allows."""
        return [cell for cell, values in self._near.get(after.name, []) if _holds(after, values)]

    def far(self, before: Assumption, after: Assumption) -> list[Params]:
        """Places that only the weaker form allows: those that break the condition most, then those
        that are drawn first.
        """
        even = [i for i in self._without(before) if i % 2 == 0]
        extreme = sorted(even, key=lambda i: _margin(before, self._values[i]))
        chosen = [*self._first(extreme, after, N_EXTREME), *self._first(even, after, N_DRAWN)]
        return [self._cells[i] for i in dict.fromkeys(chosen)]

    def control(self, before: Assumption, after: Assumption) -> list[Params]:
        """Other places that only the weaker form allows, in the order in which they are drawn."""
        odd = [i for i in self._without(before) if i % 2 == 1]
        return [self._cells[i] for i in self._first(odd, after, N_CONTROL)]

    def try_cells(
        self, cells: Sequence[Params], decide: Decide, late: Callable[[], bool] = lambda: False
    ) -> dict[Verdict | None, Params]:
        """The verdicts on the bound in some cells, each with the first cell that has it.

        No new cell is decided once ``late`` says that it is late.
        """
        found: dict[Verdict | None, Params] = {}
        for cell in cells:
            key = decide, repr(sorted(cell.items()))
            if key not in self._found:
                if late():
                    continue
                self._found[key] = decide(cell)
            found.setdefault(self._found[key], cell)
            if self._found[key] is Verdict.REFUTED:
                break
        return found

    def _without(self, before: Assumption) -> list[int]:
        """The places where one condition fails and all others hold."""
        column = self._statement.assumptions.index(before)
        alone = self._holds.copy()
        alone[:, column] = ~alone[:, column]
        return [int(i) for i in np.flatnonzero(alone.all(axis=1))]

    def _first(self, places: Sequence[int], after: Assumption, n: int) -> list[int]:
        """The first of some places that a weaker form allows."""
        with np.errstate(all="ignore"):
            return list(islice((i for i in places if _holds(after, self._values[i])), n))


def _holds(assumption: Assumption, values: Mapping[str, Any]) -> bool:
    """Whether a condition holds at a place.  One that cannot be evaluated does not."""
    try:
        return assumption.right.is_infinite or bool(assumption.holds(values))
    except _REFUSED:
        return False


def _margin(assumption: Assumption, values: Mapping[str, Any]) -> float:
    try:
        return float(assumption.margin(values))
    except _REFUSED:
        return np.inf

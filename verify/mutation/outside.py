"""Cells that one condition of a statement leaves out, to tell whether the condition is needed.

A weaker condition is false where the bound fails in a cell that only the weaker one allows.  There
are three kinds of such cells:

* *near*: made by `verify.mutation.opened` for the condition's edge;
* *far*: of the places in which up to five parameters are moved by up to a factor 10^6 so that the
  condition alone fails, a random half.  They are those that break the condition most, those that
  break it least, and then those drawn first;
* *control*: of the other half of these places, in the order in which they are drawn.

A refutation in the first two is what the claim's own procedure finds.  The control has no part in
their choice.  It tells how often they miss a condition that is needed.  All weaker forms of one
condition share these cells, so that each is tried once.  A weaker form has far places of its own
beside those of the dropped condition that it allows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from bounds.statement import Assumption, OutsideTheorem, Statement
from trials.run.cell import Params
from verify.evidence import Verdict
from verify.mutation.harder import scattered
from verify.mutation.meaning import symbols_of
from verify.procedures.base import Trials
from verify.procedures.interface import Procedure

#: Far places in which one weaker condition is tried: those that break it most, those that break it
#: least, and those drawn first.
N_EXTREME, N_EDGE, N_DRAWN = 8, 8, 64
#: Places of the control.
N_CONTROL = 12
#: Places that are kept for one condition, the two halves together.
N_KEPT = 240

#: ``cell -> `` the verdict on the bound there, None where nothing can be said.
Decide = Callable[[Params], Verdict | None]
#: A cell with the values of all symbols there.
Place = tuple[Params, Mapping[str, Any]]

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
        self._free, self._store = free, store
        self._like = free.cells_alone()[0]  # a procedure without cells raises LookupError
        places: dict[str, list[Place]] = {a.name: [] for a in statement.assumptions}
        seen: set[str] = set()
        for cell, values in scattered(free, store, symbols_of(statement)):
            if (key := repr(cell)) in seen:
                continue
            seen.add(key)
            broken = [a.name for a in statement.assumptions if not _holds(a, values)]
            if len(broken) == 1 and len(places[broken[0]]) < N_KEPT:
                places[broken[0]].append((cell, values))
        self._places = {name: _two_halves(found) for name, found in places.items()}
        self._near: dict[str, list[Place]] = {}
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
        """Places that only the weaker form allows: those of the dropped condition, which were tried
        first, and as many of its own.
        """
        half = self._places[before.name][0]
        own = [place for place in half if _holds(after, place[1])]
        shared = [place for place in _chosen(before, half) if _holds(after, place[1])]
        cells = [cell for cell, _ in (*shared, *_chosen(before, own))]
        return list({repr(cell): cell for cell in cells}.values())

    def control(self, before: Assumption, after: Assumption) -> list[Params]:
        """Other places that only the weaker form allows, in the order in which they are drawn."""
        drawn = self._places[before.name][1]
        return [cell for cell, values in drawn if _holds(after, values)][:N_CONTROL]

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


def _chosen(before: Assumption, places: Sequence[Place]) -> list[Place]:
    """The places that break a condition most, those that break it least, and those drawn first."""
    by_margin = sorted(places, key=lambda place: _margin(before, place[1]))
    return [*by_margin[:N_EXTREME], *by_margin[::-1][:N_EDGE], *places[:N_DRAWN]]


def _two_halves(found: Sequence[Place]) -> tuple[list[Place], list[Place]]:
    """Two random halves, each in the order of the whole."""
    first = np.random.default_rng(0).permutation(len(found)) % 2 == 0
    return (
        [place for place, is_first in zip(found, first, strict=True) if is_first],
        [place for place, is_first in zip(found, first, strict=True) if not is_first],
    )


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

"""Events over all rounds, clusters or clients: a trial is bad when any part of it is.

A statement "with probability 1 - delta, for all t, j and i" is about one event in each trial.  A
test of each part alone would be weaker by a union bound.  So the parts are joined here, and a
trial is counted once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trials.checks import InvalidParameter
from trials.run.cell import Params
from trials.run.store import Table
from verify.evidence import EvidenceTable
from verify.procedures.base import BoolArray, Observed, Presentation

Part = Callable[[Table, Params], BoolArray]


@dataclass(frozen=True, kw_only=True)
class Multi:
    """The event that any of several parts is bad, for `Probability.bad`.

    Attributes
    ----------
    parts : name -> ``(trials, cell) -> (n_trials,)`` bool.

    Examples
    --------
    >>> every_round = columns_above(("err_1", "err_2"), lambda cell: cell["level"])
    >>> event = Multi(parts={"error": every_round, "label": columns_above(("wrong",), lambda _: 0)})
    >>> sorted(event.parts)
    ['error', 'label']
    """

    parts: Mapping[str, Part]

    def __post_init__(self) -> None:
        """Refuse an event without parts."""
        if not self.parts:
            raise InvalidParameter("an event needs at least one part")

    def __call__(self, table: Table, params: Params) -> BoolArray:
        """Whether any part is bad in each trial, (n_trials,).  A NaN value counts as bad."""
        each = np.column_stack(list(self._each(table, params).values()))
        return np.asarray(np.any(each, axis=1), dtype=np.bool_)

    def _each(self, table: Table, params: Params) -> dict[str, BoolArray]:
        found = {}
        for name, part in self.parts.items():
            bad = np.asarray(part(table, params), dtype=np.bool_)
            if bad.shape != (table.n_trials,):
                raise InvalidParameter(
                    f"part {name!r} has shape {bad.shape} and must have ({table.n_trials},)"
                )
            found[name] = bad
        return found

    def present(self, observed: Sequence[Observed]) -> Presentation:
        """The table of the shares of trials in which each part, or any part, is bad."""
        rows: list[tuple[str | int | float, ...]] = []
        for i, o in enumerate(observed, 1):
            each = self._each(o.table, o.params)
            any_bad = float(np.mean(self(o.table, o.params)))
            rows.append((i, *(float(np.mean(bad)) for bad in each.values()), any_bad))
        return Presentation(
            tables=(
                EvidenceTable(
                    title="Parts of the event",
                    columns=("cell", *self.parts, "any"),
                    rows=rows,
                    note="shares of trials; the verdict is about the last column",
                ),
            )
        )


def columns_above(columns: Sequence[str], level: Callable[[Params], float]) -> Part:
    """The part "some column exceeds the cell's level", e.g. an error at any kept round."""
    if not columns:
        raise InvalidParameter("a part needs at least one column")

    def bad(table: Table, params: Params) -> BoolArray:
        values = np.column_stack([table[name] for name in columns])
        return np.asarray(np.any(~(values <= level(params)), axis=1))

    return bad

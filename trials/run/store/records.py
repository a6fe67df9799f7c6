"""What a reader of a store receives: cells, their status and their tables."""

from __future__ import annotations

from dataclasses import dataclass

from trials.checks import BoolArray, FloatArray
from trials.run.cell import Params


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A registered cell, which gives its stored blocks their meaning."""

    experiment: str
    number: int
    design: int
    block_size: int
    columns: tuple[str, ...]
    params: Params


@dataclass(frozen=True, kw_only=True)
class CellStatus:
    """Progress of one cell.  ``seconds`` is the worker time, summed over its blocks."""

    experiment: str
    number: int
    params: Params
    n_blocks: int
    n_trials: int
    n_failed: int
    seconds: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """The trials of one cell, in order.  Failed trials are rows like any other.

    Attributes
    ----------
    columns : names of the values.
    values : (n_trials, n_columns) float64, read-only.
    failed : (n_trials,) bool, True where the trial diverged or raised.
    reasons : (trial index, reason) of each failed trial, ascending.
    """

    columns: tuple[str, ...]
    values: FloatArray
    failed: BoolArray
    reasons: tuple[tuple[int, str], ...]

    @property
    def n_trials(self) -> int:
        """Number of trials, failed ones included."""
        return len(self.values)

    @property
    def n_failed(self) -> int:
        """Number of failed trials."""
        return len(self.reasons)

    @property
    def finished(self) -> Table:
        """The trials that did not fail, in order."""
        if not self.failed.any():
            return self
        kept = ~self.failed
        return Table(
            columns=self.columns, values=self.values[kept], failed=self.failed[kept], reasons=()
        )

    def __getitem__(self, column: str) -> FloatArray:
        """The values of one column, (n_trials,)."""
        try:
            return self.values[:, self.columns.index(column)]
        except ValueError:
            known = ", ".join(self.columns)
            raise KeyError(f"unknown column {column!r}; known: {known}") from None

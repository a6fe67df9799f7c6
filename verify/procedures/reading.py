"""Stored trials as one claim reads them: its demands and then its verdict play the same rounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trials.run.cell import Params
from trials.run.engine import Demand
from trials.run.experiment import Experiment
from trials.run.store import Table
from verify.procedures.base import Observed, Trials

#: The demands of the next round, or the trials of the last one.
Played = tuple[list[Demand], list[Observed]]


class KeptRounds:
    """Stored trials, with the end of the last rounds that were played on them."""

    def __init__(self, store: Trials) -> None:
        self._store = store
        self._ended: tuple[object, float, Played] | None = None

    def __getattr__(self, name: str) -> Any:
        """Anything else that a procedure of one's own reads is the store's."""
        return getattr(self._store, name)

    def blocks(self, experiment: Experiment, params: Params) -> set[int]:
        """The numbers of the blocks of a cell that are there."""
        return self._store.blocks(experiment, params)

    def table(self, experiment: Experiment, params: Params, n_blocks: int) -> Table:
        """The first blocks of a cell."""
        return self._store.table(experiment, params, n_blocks)

    def played(self, procedure: object, level: float, play: Callable[[], Played]) -> Played:
        """What ``play`` returns for a procedure at an error level, kept where nothing is missing.

        Rounds that have ended looked at their own trials alone.  Blocks that are added later change
        nothing.
        """
        if self._ended is not None:
            asked, at, end = self._ended
            if asked is procedure and at == level:
                return end
        found = play()
        if not found[0]:
            self._ended = procedure, level, found
        return found


class ReadOnce(KeptRounds):
    """Stored trials, each cell read once for each number of blocks.

    Another process may add blocks to a run that is only read here.  They are not looked for.
    """

    def __init__(self, store: Trials) -> None:
        super().__init__(store)
        self._tables: dict[tuple[str, str, int], Table] = {}
        self._blocks: dict[tuple[str, str], set[int]] = {}

    def blocks(self, experiment: Experiment, params: Params) -> set[int]:
        """The numbers of the blocks of a cell that are there, read once where none can be added."""
        if not getattr(self._store, "readonly", False):
            return super().blocks(experiment, params)
        key = experiment.name, repr(sorted(params.items()))
        if key not in self._blocks:
            self._blocks[key] = super().blocks(experiment, params)
        return self._blocks[key]

    def table(self, experiment: Experiment, params: Params, n_blocks: int) -> Table:
        """The first blocks of a cell."""
        key = experiment.name, repr(sorted(params.items())), n_blocks
        if key not in self._tables:
            self._tables[key] = self._store.table(experiment, params, n_blocks)
        return self._tables[key]

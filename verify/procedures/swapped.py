"""A run's store as a placebo sees it: the same cells and streams, other tables."""

from __future__ import annotations

from collections.abc import Callable

from trials.checks import InvalidParameter
from trials.run.cell import Params
from trials.run.experiment import Experiment
from trials.run.store import Table
from verify.procedures.base import Trials


class SwappedTrials:
    """Stored trials that pass through a function.  Procedures read them like a run's store.

    Attributes
    ----------
    source : the run's own trials.
    table_of : ``(trials, cell) -> trials``.
    params_of : ``cell -> cell`` from which the trials are read, None for the same cells.
    instead : the experiment from which they are read, None for the same one.
    """

    def __init__(
        self,
        source: Trials,
        table_of: Callable[[Table, Params], Table],
        params_of: Callable[[Params], Params] | None = None,
        instead: Experiment | None = None,
    ) -> None:
        self.source = source
        self._table_of, self._params_of, self._instead = table_of, params_of, instead

    @property
    def draws(self) -> bool:
        """Whether the trials are not those of the claim's own cells."""
        return self._params_of is not None or self._instead is not None

    def at(self, experiment: Experiment, params: Params) -> tuple[Experiment, Params]:
        """The experiment and the cell from which a cell's trials are read."""
        found = self._instead or experiment
        if found.block_size != experiment.block_size:
            raise InvalidParameter(
                f"block_size={found.block_size} of {found.name} must be {experiment.block_size}, "
                f"that of {experiment.name}, whose place it takes"
            )
        moved = params if self._params_of is None else self._params_of(params)
        return found, found.check(moved)

    def blocks(self, experiment: Experiment, params: Params) -> set[int]:
        """The numbers of the blocks that are there."""
        return self.source.blocks(*self.at(experiment, params))

    def table(self, experiment: Experiment, params: Params, n_blocks: int) -> Table:
        """The trials of a cell."""
        drawn = self.source.table(*self.at(experiment, params), n_blocks)
        return self._table_of(drawn, params)

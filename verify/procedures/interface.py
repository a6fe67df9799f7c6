"""The interface of a procedure: how a claim draws trials, decides, and says what it has tried.

A procedure of one's own subclasses `Procedure` and writes the five abstract methods.  The other
methods have defaults that are right for a procedure which draws no trials.  `Sampled` is the
base of those that draw them, and `CellByCell` of those that decide every cell alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

from trials.checks import InvalidParameter
from trials.run.cell import Params
from trials.run.engine import Demand
from trials.run.experiment import Experiment
from verify.evidence import Evidence
from verify.procedures.base import Sampling, Trials


class Procedure(ABC):
    """A decision procedure over stored trials, or over the points of a search.

    Attributes
    ----------
    statistical : whether the verdict depends on chance.  A deterministic search reads no trials and
        takes no share of the error level.
    """

    statistical: ClassVar[bool] = True

    # -- a verdict ---------------------------------------------------------------------------------

    @abstractmethod
    def check(self) -> None:
        """Refuse impossible parameters and cells outside the theorem, before any work."""

    @abstractmethod
    def demands(self, store: Trials, level: float) -> Sequence[Demand]:
        """The blocks that are still missing in the store, empty when a verdict can be given."""

    @abstractmethod
    def decide(self, store: Trials, level: float) -> Evidence:
        """The verdict at error level ``level``, with its evidence."""

    @abstractmethod
    def describe(self) -> str:
        """Cells, budget and stopping rule in a few sentences (inline LaTeX allowed)."""

    @abstractmethod
    def override(self, values: Mapping[str, Any]) -> Self:
        """The same procedure at other parameter values.  Unknown names raise an error."""

    # -- cells -------------------------------------------------------------------------------------

    def experiment(self) -> Experiment | None:
        """The experiment that is sampled, None where there is none or several."""
        return None

    def every_cell(self) -> tuple[Params, ...]:
        """The cells that are sampled, with every role.  A search has none."""
        return ()

    def cells_alone(self) -> tuple[Params, ...]:
        """The cells with a verdict each, empty where the verdict is about all cells together."""
        return ()

    def in_cells(self, cells: Sequence[Params]) -> Self:
        """The same procedure in some of the cells of `cells_alone`."""
        raise NotImplementedError(f"{type(self).__name__} decides no cell alone")

    # -- what it looks at --------------------------------------------------------------------------

    def fingerprint(self) -> Any:
        """Everything that depends on the statement, on invented trials or at random points.

        Two statements with one fingerprint cannot be told apart by the procedure.
        """
        return self.describe()

    def tried_at(self, store: Trials) -> Iterator[Mapping[str, Any]]:
        """The values of the statement's symbols where it is tried, symbols of one place together.

        Symbols that differ between the trials of a cell are arrays, (n_trials,).
        """
        values = getattr(self, "values", getattr(self, "regressors", None))
        for cell in self.every_cell():
            yield {**cell, **(values(cell) if values is not None else {})}

    def moved_to(self, cells: tuple[Params, ...]) -> Self:
        """The same procedure in other cells, where its verdict needs no others beside them.

        Raises
        ------
        InvalidParameter : when it compares cells with each other.
        """
        raise InvalidParameter("its procedure compares cells, so that no single one can be added")

    def check_cell(self, cell: Params) -> None:
        """Refuse a cell that is impossible or outside the theorem."""
        self.moved_to((cell,)).check()

    def without_laws(self) -> Self:
        """The same procedure from its trials alone: exact laws of the algorithm are left out."""
        return self


class Sampled(Procedure):
    """A procedure whose fields ``sampling`` and ``cells`` say what it draws."""

    sampling: Sampling
    cells: tuple[Params, ...]

    def experiment(self) -> Experiment:
        """The experiment that is sampled."""
        return self.sampling.experiment

    def every_cell(self) -> tuple[Params, ...]:
        """The cells that are sampled."""
        return self.cells


class CellByCell(Sampled):
    """A procedure that samples, and gives each of its cells a verdict."""

    def cells_alone(self) -> tuple[Params, ...]:
        """The cells with a verdict each."""
        return self.cells

    def moved_to(self, cells: tuple[Params, ...]) -> Self:
        """The same procedure in other cells."""
        return self.in_cells(cells)

    def in_cells(self, cells: Sequence[Params]) -> Self:
        """The same procedure in some of the cells."""
        return replace(self, cells=tuple(cells))  # type: ignore[type-var]

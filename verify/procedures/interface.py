"""The interface of a procedure, by which a claim draws trials, decides and describes itself.

A procedure of one's own subclasses `Procedure` and writes the five abstract methods.  The other
methods have defaults that are right for a procedure which draws no trials.  `Sampled` is the
base of those that draw them, `CellByCell` of those that decide every cell alone, and `InRounds`
of those that stop drawing in a cell when it is decided.  `Stated` names a procedure by its
statement, and `Valued` evaluates that statement in a cell.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from bounds.statement import Statement, Values
from trials.checks import InvalidParameter
from trials.run.cell import Params
from trials.run.engine import Demand
from trials.run.experiment import Experiment
from verify.decisions.domain import Domain
from verify.evidence import Evidence
from verify.procedures.base import (
    NOTHING,
    Observed,
    Present,
    Presentation,
    Sampling,
    Trials,
    nothing_to_show,
    override_cells,
)
from verify.procedures.reading import KeptRounds, Played
from verify.procedures.rounds import play_rounds


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

    def complete_cells(self) -> tuple[Params, ...]:
        """The cells with every parameter that a trial takes, to run the kernels alone."""
        return self.every_cell()

    def cells_alone(self) -> tuple[Params, ...]:
        """The cells with a verdict each, empty where the verdict is about all cells together."""
        return ()

    def completed(self, cell: Params) -> Params:
        """The cell with those parameters anew that the statement takes from the others."""
        return cell

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
        for cell in self.every_cell():
            yield self.values_at(cell, cell, store)

    def values_at(self, cell: Params, _like: Params, _store: Trials) -> Mapping[str, Any]:
        """The statement's symbols in a cell that need not have trials.

        What differs between trials is taken from those of the cell ``like``.
        """
        return {**cell, **self.symbols_in(cell)}

    def symbols_in(self, _cell: Params) -> Mapping[str, Any]:
        """The statement's symbols in a cell that are no parameters of the cell."""
        return {}

    def compared_growth(self) -> Mapping[str, str] | None:
        """The symbols whose growth alone is compared, each with its side, None for sizes."""
        return None

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

    def is_coarse(self, _level: float) -> bool:
        """Whether its support ends at a probability r, because trials see no rarer event."""
        return False

    def without_laws(self) -> Self:
        """The same procedure from its trials alone: exact laws of the algorithm are left out."""
        return self

    def without_figures(self) -> Self:
        """The same procedure without the claim's own figures, tables and slack: a verdict alone."""
        return self

    def with_numbers(self) -> Self:
        """The same procedure for a changed statement: a symbol that no cell varies is its number.

        A claim whose statement has such a symbol may be refused instead.
        """
        return self

    # -- a search --------------------------------------------------------------------------------

    def searched(self) -> Domain | None:
        """The domain that is searched, None where trials are drawn."""
        return None

    def visited(self, _n_points: int) -> list[dict[str, Any]]:
        """Points that a search tries, the closest to a counterexample and of every rank."""
        return []

    def fails_at(self, _points: Sequence[dict[str, Any]]) -> bool:
        """Whether one of the points is a counterexample."""
        return False

    def fingerprint_at(self, _points: Sequence[dict[str, Any]]) -> Any:
        """`fingerprint` at some points of a search."""
        return self.fingerprint()

    def with_budget(self, _evaluations: int) -> Self:
        """The same search with so many evaluations at most."""
        return self

    def repeated(self, _factor: int) -> Self | None:
        """The search from another seed with so many times the budget, None without a search."""
        return None


class Stated(Procedure):
    """A procedure whose field ``statement`` is the statement that it tries."""

    statement: Statement

    @property
    def name(self) -> str:
        """The statement's id."""
        return self.statement.id


def the_cell(cell: Params) -> Values:
    """The statement's symbols where a cell's parameters already have their names."""
    return cell


class Valued(Stated):
    """A stated procedure whose field ``values`` gives the statement's symbols in a cell."""

    values: Callable[[Params], Values]

    def symbols_in(self, cell: Params) -> Mapping[str, Any]:
        """The statement's symbols in a cell."""
        return self.values(cell)


class Sampled(Procedure):
    """A procedure that draws trials by its fields ``sampling`` and ``cells``.

    It draws the whole budget of every cell.  Its field ``present`` makes the claim's own figures,
    tables and sentences.
    """

    if TYPE_CHECKING:  # a field of the procedure, or the id of its statement

        @property
        def name(self) -> str: ...

    sampling: Sampling
    cells: tuple[Params, ...]
    present: Present

    def experiment(self) -> Experiment:
        """The experiment that is sampled."""
        return self.sampling.experiment

    def every_cell(self) -> tuple[Params, ...]:
        """The cells that are sampled."""
        return self.cells

    def check(self) -> None:
        """Every cell is possible and inside the theorem."""
        for cell in self.cells:
            self.require(cell)

    def require(self, cell: Params) -> None:
        """Refuse a cell that the experiment does not have, or that is outside the theorem."""
        self.sampling.experiment.check(cell)

    def override(self, values: Mapping[str, Any]) -> Self:
        """The same procedure at other parameter values."""
        cells = override_cells(self.cells, values, self.name, self.require)
        return replace(self, cells=cells)  # type: ignore[type-var]

    def demands(self, store: Trials, _level: float) -> list[Demand]:
        """The whole budget of every cell."""
        return self.sampling.missing(store, self.cells)

    def without_figures(self) -> Self:
        """The same procedure without the claim's own figures, tables and slack."""
        if not hasattr(self, "present"):  # a procedure of one's own need not have any
            return self
        return replace(self, present=nothing_to_show)  # type: ignore[type-var]

    def evidence(
        self, observed: Sequence[Observed], own: Presentation = NOTHING, **fields: Any
    ) -> Evidence:
        """Evidence from trials, with the figures of the procedure and then those of the claim.

        Parameters
        ----------
        own : the procedure's figures, tables and sentences.
        fields : further fields of `Evidence`.  The numbers of trials are those of ``observed``.
        """
        shown = self.present(observed)
        if not isinstance(shown, Presentation):
            raise TypeError(f"present must return a Presentation, and returns {shown!r:.60}")
        counted = {
            "n_trials": sum(o.table.n_trials for o in observed),
            "n_failed": sum(o.table.n_failed for o in observed),
        }
        return Evidence(
            figures=(*own.figures, *shown.figures),
            tables=(*own.tables, *shown.tables),
            sharpness=(*own.sharpness, *shown.sharpness),
            slack=(*own.slack, *shown.slack),
            apart=(*own.apart, *shown.apart),
            notes=(*own.notes, *shown.notes),
            **{**counted, **fields},
        )


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


class InRounds(CellByCell):
    """A procedure whose rounds double the trials of the cells that are not decided."""

    @abstractmethod
    def unresolved(self, observed: Sequence[Observed], level: float) -> Sequence[int]:
        """The positions of the cells that more trials may decide, none at the end."""

    def demands(self, store: Trials, level: float) -> list[Demand]:
        """The first round for every cell, then doublings of the undecided ones."""
        return self.rounds(store, level)[0]

    def rounds(self, store: Trials, level: float) -> Played:
        """The demands of the next round, or the trials of the last one."""
        if isinstance(store, KeptRounds):
            return store.played(self, level, lambda: self._play(store, level))
        return self._play(store, level)

    def _play(self, store: Trials, level: float) -> Played:
        return play_rounds(
            self.sampling, store, self.cells, lambda observed: self.unresolved(observed, level)
        )

"""Placebos: would a run that does nothing pass, too?

A claim about an algorithm or an estimator supports something only where its verdict could have been
another one.  Each such claim names its *placebos*: the run that stays at its start, random labels,
one model for all.  The claim's own procedure decides on the trials that a placebo would have given.
A cell that a placebo passes is *void*: it supports nothing.  The verdict of support is taken over
the other cells, the *live* ones, and without a live cell the claim is VACUOUS.  A refutation stands
in any cell.

A registry names the placebos of a paper's claims, one line a claim:

    PLACEBOS = {
        "toy.descent": (START, RANDOM_LABELS),
        "toy.tail": "a law of one variable: nothing is run",
    }

Four kinds of entries make a cell void:

=========== =======================================================================================
`Placebo`   the claim's procedure supports the statement on the placebo's trials
`Control`   the same, for a negative sentence ("never matches"): the control is a method that
            succeeds, so that it must violate the sentence
`Trivial`   the bound is not below a trivial bound of what it bounds (a share is at most one)
`Occurs`    the event that the claim is about happened in none of the cell's trials
=========== =======================================================================================

A procedure that decides cell by cell offers `in_cells`, and each cell is decided alone.  Any other
procedure (a rate, constants, a threshold) is decided as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from trials.run.cell import Params
from trials.run.engine import Demand
from trials.run.experiment import Experiment
from trials.run.store import Table
from verify.evidence import CellResult, Evidence, EvidenceTable, Verdict
from verify.procedures.base import BoolArray, FloatArray, Trials
from verify.procedures.interface import Procedure
from verify.procedures.swapped import SwappedTrials

#: A column of the trials, a number, or a function of the trials and their cell.
Source = str | float | Callable[[Table, Params], FloatArray]


@dataclass(frozen=True, kw_only=True)
class Placebo:
    """What is done in place of the algorithm, and the trials that it gives.

    Attributes
    ----------
    name : in words that follow "a cell is void where", e.g. "a run that stays at its start".
    columns : column -> what the placebo puts there on the same streams.
    table : ``(trials, cell) -> trials`` for what ``columns`` cannot say.  It comes after them.
    params : ``cell -> cell`` at which the experiment gives the placebo itself (no step, one round).
        Its trials are drawn like the claim's.
    experiment : the experiment of the placebo's trials, where it is another one.  Its blocks are as
        large as those of the claim's experiment.
    procedure : the claim's procedure -> the one that decides on the placebo.  By default exact laws
        of the claim are left out, because they are those of the algorithm.
    side : for a comparison, the method that the placebo replaces.
    """

    name: str
    columns: Mapping[str, Source] = field(default_factory=dict)
    table: Callable[[Table, Params], Table] | None = None
    params: Callable[[Params], Params] | None = None
    experiment: Experiment | None = None
    procedure: Callable[[Any], Any] = lambda procedure: procedure
    side: str = ""

    @property
    def draws(self) -> bool:
        """Whether the placebo has trials of its own."""
        return self.params is not None or self.experiment is not None

    def view(self, store: Trials) -> SwappedTrials:
        """The run's trials with the placebo's in place of the algorithm's."""
        return SwappedTrials(store, self.swapped, self.params, self.experiment)

    def swapped(self, table: Table, cell: Params) -> Table:
        """The trials of the placebo, from the stored ones of a cell."""
        swapped = with_columns(table, cell, self.columns) if self.columns else table
        return swapped if self.table is None else self.table(swapped, cell)

    @property
    def passed(self) -> str:
        """Why a cell is void."""
        side = f" in place of {self.side}" if self.side else ""
        return f"{self.name} passes too{side}"


@dataclass(frozen=True, kw_only=True)
class Control(Placebo):
    """A method that succeeds, which a negative sentence must exclude."""

    @property
    def passed(self) -> str:
        """Why a cell is void."""
        return f"{self.name} does not violate it"


@dataclass(frozen=True, kw_only=True)
class Trivial(Placebo):
    """The largest value that the observed quantity can take, as if every trial had it.

    ``name`` is the trivial bound in words, e.g. "a share is at most one".
    """

    @property
    def passed(self) -> str:
        """Why a cell is void."""
        return f"the bound is trivial: {self.name}"


@dataclass(frozen=True, kw_only=True)
class Occurs:
    """An event that the claim is about.  It must happen in a cell's trials.

    Attributes
    ----------
    name : the event in words, e.g. "a late change of a label".
    event : ``(trials, cell) -> (n_trials,)`` bool.
    least : trials in which it must happen.
    """

    name: str
    event: Callable[[Table, Params], BoolArray]
    least: int = 1

    @property
    def passed(self) -> str:
        """Why a cell is void."""
        return f"{self.name} happens in no trial" if self.least == 1 else f"{self.name} is too rare"


#: What a registry says about a claim: its placebos, or the reason why it has none.
Entry = str | tuple[Placebo | Occurs, ...]


def with_columns(table: Table, cell: Params, columns: Mapping[str, Source]) -> Table:
    """The trials with some columns replaced.  A trial whose values are all finite has not failed.

    Raises
    ------
    KeyError : for a column that the experiment does not have.
    """
    values = np.array(table.values)
    for name, source in columns.items():
        if callable(source):
            found = source(table, cell)
        else:
            found = table[source] if isinstance(source, str) else np.asarray(source)
        table[name]  # an unknown column is refused
        values[:, table.columns.index(name)] = found
    lost = table.failed & ~np.isfinite(values).all(axis=1)
    reasons = tuple((i, reason) for i, reason in table.reasons if lost[i])
    return Table(columns=table.columns, values=values, failed=lost, reasons=reasons)


def demands(
    procedure: Procedure, placebos: Sequence[Placebo | Occurs], store: Trials, level: float
) -> list[Demand]:
    """The missing trials of a claim, or where none is missing those of its placebos."""
    own = list(procedure.demands(store, level))
    drawing = [p for p in placebos if isinstance(p, Placebo) and p.draws]
    if own or not drawing or not _is_asked(procedure.decide(store, level)):
        return own
    missing = []
    for placebo in drawing:
        view = placebo.view(store)
        for _, part in _parts(procedure):
            wanted = _for(placebo, part).demands(view, level)
            for d in wanted:
                experiment, params = view.at(d.experiment, d.params)
                missing.append(Demand(experiment, params, d.n_blocks))
    return missing


def decide(
    procedure: Procedure, placebos: Sequence[Placebo | Occurs], store: Trials, level: float
) -> Evidence:
    """The verdict of a claim over its live cells, and how far its bound is from their trials."""
    evidence = _decide(procedure, placebos, store, level)
    spare = evidence.spare
    return replace(evidence, summary=f"{evidence.summary}; {spare}") if spare else evidence


def _decide(
    procedure: Procedure, placebos: Sequence[Placebo | Occurs], store: Trials, level: float
) -> Evidence:
    """The verdict of a claim over its live cells, with the reason beside every void one."""
    evidence = procedure.decide(store, level)
    if not placebos or not _is_asked(evidence):
        return evidence
    parts = _parts(procedure)
    reasons: list[list[str]] = [[] for _ in parts]
    rows = _rows_of([cell for cell, _ in parts], evidence.cells)
    for i, (cell, part) in enumerate(parts):
        n_trials = max((r.n_trials for r in rows[i]), default=0)
        fixed = part if cell is None else at_most(part, n_trials)
        for placebo in placebos:
            if _passes(placebo, fixed, part, store, level):
                reasons[i].append(placebo.passed)
    table = _table(placebos, reasons, whole=parts[0][0] is None)
    if not any(reasons):
        return replace(evidence, tables=(*evidence.tables, table))
    asked = [(cell, "; ".join(why)) for (cell, _), why in zip(parts, reasons, strict=True)]
    void = [why for _, why in asked if why]
    reason = {id(r): why for (_, why), own in zip(asked, rows, strict=True) for r in own}
    cells = [replace(r, void=reason.get(id(r), "")) for r in evidence.cells]
    evidence = replace(evidence, cells=cells, tables=(*evidence.tables, table))
    live = [cell for cell, why in asked if cell is not None and not why]
    words = ", ".join(dict.fromkeys(reason for r in reasons for reason in r))
    if not live:
        where = "" if len(parts) == 1 else " in every cell"
        summary = f"it could not have failed{where}: {words}"
        return replace(
            evidence, verdict=Verdict.VACUOUS, resolution=None, summary=summary, proved=None
        )
    again = procedure.in_cells(live).decide(store, level)
    # All cells were asked for a refutation above, with the level split over all of them.
    verdict, found = again.verdict, again.summary
    if verdict is Verdict.REFUTED:
        verdict = Verdict.INCONCLUSIVE
        found += ", which is not enough at the level that each of all cells has"
    count = "1 cell is void" if len(void) == 1 else f"{len(void)} cells are void"
    return replace(
        evidence,
        verdict=verdict,
        proved=again.proved,
        notes=again.notes if again.proved else evidence.notes,
        resolution=again.resolution,
        summary=f"{found}; {count} ({words})",
        sharpness=again.sharpness,
        required=again.required,
        slack=again.slack,
        apart=again.apart,
    )


def lives(
    procedure: Procedure, placebos: Sequence[Placebo | Occurs], store: Trials, level: float
) -> bool:
    """Whether a placebo fails somewhere: in a cell that no placebo passes.

    It is asked for a statement that its own trials support in every cell.  Trials that a placebo
    has for itself must be stored.
    """
    for _, part in _parts(procedure):
        alone = part.without_figures()
        n_trials = max((r.n_trials for r in alone.decide(store, level).cells), default=0)
        fixed = alone if not part.cells_alone() else at_most(alone, n_trials)
        if not any(_passes(placebo, fixed, alone, store, level) for placebo in placebos):
            return True
    return False


def _is_asked(evidence: Evidence) -> bool:
    """Whether support is in question.  A refutation needs no placebo."""
    return evidence.verdict in (Verdict.SUPPORTED, Verdict.INCONCLUSIVE)


def _parts(procedure: Procedure) -> list[tuple[Params | None, Procedure]]:
    """The pieces that are decided alone: each cell, or (None, the procedure) where it is whole."""
    cells = procedure.cells_alone()
    if not cells:
        return [(None, procedure)]
    return [(cell, procedure.in_cells([cell])) for cell in cells]


def _rows_of(cells: Sequence[Params | None], rows: Sequence[CellResult]) -> list[list[CellResult]]:
    """The rows of the evidence about each cell, or all of them where the cell is None.

    A row may name more than its cell.  Another cell may name less than the row's own one, so the
    cell that names most has the row.
    """
    found: list[list[CellResult]] = [[] for _ in cells]
    for row in rows:
        about = [i for i, cell in enumerate(cells) if _in(cell, row)]
        if about:
            found[max(about, key=lambda i: len(cells[i] or ()))].append(row)
    return found


def _in(cell: Params | None, row: CellResult) -> bool:
    """Whether a row names all that a cell does."""
    named = cell or {}
    return all(name in row.params and row.params[name] == named[name] for name in named)


def at_most(procedure: Any, n_trials: int) -> Any:
    """The procedure with just these trials a cell, which are stored."""
    if n_trials == 0:
        return procedure
    sampling = replace(procedure.sampling, first=n_trials, max_trials=n_trials)
    return replace(procedure, sampling=sampling)


def _for(placebo: Placebo, procedure: Any) -> Any:
    """The procedure that decides on a placebo, without the exact laws of the algorithm."""
    return placebo.procedure(procedure.without_laws().without_figures())


def _passes(placebo: Placebo | Occurs, fixed: Any, part: Any, store: Trials, level: float) -> bool:
    """Whether the statement is met on the placebo's trials.

    It is where the procedure supports it, and where too few trials leave it open but the observed
    value keeps the bound.
    """
    if isinstance(placebo, Occurs):
        return _rare(placebo, fixed, store)
    procedure = _for(placebo, part if placebo.draws else fixed)
    evidence = procedure.decide(placebo.view(store), level)
    if evidence.verdict is not Verdict.INCONCLUSIVE:
        return evidence.verdict in (Verdict.SUPPORTED, Verdict.VACUOUS)
    return bool(procedure.cells_alone()) and all(map(_keeps, evidence.cells))


def _keeps(row: CellResult) -> bool:
    """Whether a cell's observed value keeps its bound.  A tie breaks a strict one.

    Their ratio would not do: it is undefined where a side is negative, and for 0/0.
    """
    if row.observed is None or row.bound is None:
        return False
    if row.relation == "at least":
        return row.observed >= row.bound
    if row.relation == "equals":
        return row.observed == row.bound
    return row.observed < row.bound if row.relation == "below" else row.observed <= row.bound


def _rare(occurs: Occurs, procedure: Any, store: Trials) -> bool:
    """Whether the event happens in too few trials of the procedure's cells."""
    seen = procedure.sampling.observed(store, procedure.every_cell())
    return sum(int(np.sum(occurs.event(o.table, o.params))) for o in seen) < occurs.least


def _table(
    placebos: Sequence[Placebo | Occurs], reasons: Sequence[Sequence[str]], *, whole: bool
) -> EvidenceTable:
    """How many cells each placebo makes void."""
    counted = "void" if whole else f"void cells of {len(reasons)}"
    rows: list[tuple[str | int, ...]] = []
    for placebo in placebos:
        n = sum(placebo.passed in r for r in reasons)
        rows.append((placebo.name, ("yes" if n else "no") if whole else n))
    return EvidenceTable(
        title="Placebos",
        columns=("in place of the algorithm", counted),
        rows=rows,
        note="decided by the same procedure; a void cell supports nothing",
    )

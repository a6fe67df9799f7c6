"""A supported statement where nobody chose to look: random places inside its conditions.

A statement speaks wherever its conditions hold, and its cells are a few of these places.  A bound
that fails at another one refutes the statement, or shows a condition that it lacks.  The places are
those of `verify.mutation.harder.scattered`: up to five parameters are moved by up to a factor 10^6.
The claim's own procedure decides at each of them alone, without placebos.

A parameter is moved where a symbol of the statement or of its conditions reads it.  A statement
does not speak of the others: a figure has its own dimension.  They are moved on demand.  A
refutation then shows a condition that the statement lacks, or another problem than its own.

Every place has `N_FIRST` trials.  Those that these put in doubt have `N_MORE`.  The level of a
claim is shared by all places and both looks, so that a true statement is refuted somewhere with at
most the probability with which a run refutes it.

A search has no cells.  It looks with four times the budget of its claim.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from trials.run.cell import Params
from verify.evidence import Verdict
from verify.mutation.conditions import CONTROL_BUDGET
from verify.mutation.examination import Examination
from verify.mutation.harder import full_cell, scattered
from verify.mutation.meaning import symbols_of
from verify.mutation.opened import cost_of
from verify.mutation.outcomes import name_cell
from verify.procedures.interface import Procedure
from verify.procedures.placebos import at_most

#: Places of one claim.
N_PLACES = 64
#: Trials of a place, and of one that the first trials put in doubt.
N_FIRST, N_MORE = 64, 4_096
#: The level at which the first trials put a place in doubt.
DOUBT = 0.05
#: New trials that one place may ask for: a block of an experiment may be larger than `N_FIRST`.
MAX_NEW_TRIALS = 10_000
#: CPU seconds of a place's first trials, as experiments declare them.  Dearer places are left out.
SECONDS = 1.0


@dataclass(frozen=True, kw_only=True)
class Found:
    """The verdicts on one claim at places inside its conditions.

    Attributes
    ----------
    n_places : places that were tried.  Zero for a search, and for a procedure that decides on all
        of its cells together.
    n_held : places where the first trials support the bound at the level `DOUBT`.
    n_void : places where the bound says nothing, because no value could be above it.
    n_open : places where the trials leave it open.
    n_failed : places where a trial failed, or where the procedure cannot decide.
    refuted : the places where the bound fails, in words, each with the sentence of the evidence.
    why : the reason where nothing was tried.
    """

    claim: str
    procedure: str
    n_places: int = 0
    n_held: int = 0
    n_void: int = 0
    n_open: int = 0
    n_failed: int = 0
    refuted: tuple[tuple[str, str], ...] = ()
    why: str = ""

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready data."""
        return asdict(self)


def look_inside(
    examination: Examination, n_places: int = N_PLACES, *, seed: int = 0, unread: bool = False
) -> Found:
    """Decide a supported claim at random places inside its conditions.

    Parameters
    ----------
    examination : of the claim, with a store that may be written.
    n_places : places other than the claim's own cells.
    seed : of the places.
    unread : whether parameters are moved that no symbol of the statement reads.
    """
    examination = replace(examination, new_seconds=4 * SECONDS)
    procedure = examination.procedure(examination.claim.statement).without_figures()
    found = Found(claim=examination.claim.id, procedure=type(procedure).__name__)
    if examination.standing.verdict != Verdict.SUPPORTED:
        return replace(found, why=f"it is {examination.standing.mark}")
    with np.errstate(all="ignore"):  # a place may lie where a power leaves floats
        if procedure.searched() is not None:
            return _search_more(examination, procedure, found)
        if not procedure.cells_alone():
            return replace(found, why="its procedure decides on all of its cells together")
        places = list(islice(_places(examination, procedure, seed, unread), n_places))
        if not places:
            return replace(found, why="no place is cheap enough, or no parameter can be moved")
        return _look(examination, procedure, found, places)


def _search_more(examination: Examination, procedure: Procedure, found: Found) -> Found:
    """The same search with a larger budget."""
    larger = procedure.repeated(CONTROL_BUDGET)
    if larger is None:
        return replace(found, why="its search has one budget")
    evidence = larger.decide(examination.store, examination.standing.level)
    if evidence.verdict is Verdict.REFUTED:
        return replace(found, refuted=(("a point of a larger search", evidence.summary),))
    return replace(found, n_held=1)


def _places(
    examination: Examination, procedure: Procedure, seed: int, unread: bool
) -> Iterator[Params]:
    """Cheap cells inside the conditions that are none of the claim's own, none of them twice."""
    seen = {repr(full_cell(procedure, cell)) for cell in procedure.cells_alone()}
    symbols = symbols_of(examination.claim.statement)
    experiment = procedure.experiment()
    n_first = max(N_FIRST, 0 if experiment is None else experiment.block_size)
    for cell, _ in scattered(procedure, examination.trials, symbols, seed=seed, unread=unread):
        if (key := repr(cell)) not in seen and n_first * cost_of(procedure, cell) <= SECONDS:
            seen.add(key)
            yield cell


def _look(
    examination: Examination, procedure: Procedure, found: Found, places: list[Params]
) -> Found:
    """The verdicts at some places, the doubtful ones with more trials."""
    level = examination.standing.level / (2 * len(places))
    few, more = at_most(procedure, N_FIRST), at_most(procedure, N_MORE)
    counted: Counter[Verdict | None] = Counter()
    refuted = []
    for cell in places:
        evidence = examination.alone(cell, few, DOUBT, MAX_NEW_TRIALS)
        if evidence is not None and evidence.verdict is Verdict.REFUTED:
            looks = (examination.alone(cell, p, level, MAX_NEW_TRIALS) for p in (more, few))
            evidence = next((e for e in looks if e is not None), None)
        counted[None if evidence is None else evidence.verdict] += 1
        if evidence is not None and evidence.verdict is Verdict.REFUTED:
            refuted.append((name_cell(cell), evidence.summary))
    return replace(
        found,
        n_places=len(places),
        n_held=counted[Verdict.SUPPORTED],
        n_void=counted[Verdict.VACUOUS],
        n_open=counted[Verdict.INCONCLUSIVE],
        n_failed=counted[None],
        refuted=tuple(refuted),
    )

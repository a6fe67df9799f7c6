"""A supported statement where nobody chose to look: random places inside its conditions.

A statement speaks wherever its conditions hold, and its cells are a few of these places.  A bound
that fails at another one refutes the statement with the constants that its claim exhibits, or
shows a condition that it lacks.  The places are those of `verify.mutation.harder.scattered`: up to
five parameters are moved by up to a factor 10^6, or 64 where an experiment declares no cost.  The
claim's own procedure decides at each of them alone, without placebos.

A parameter is moved where a symbol of the statement or of its conditions reads it.  A statement
does not speak of the others: a figure has its own dimension.  They are moved on demand.  A
refutation then shows a condition that the statement lacks, or that the place is another problem.

A place has `N_FIRST` trials, or one block.  A place that these put in doubt has `N_MORE`, or its
first ones again where more are too dear.  The level of a claim is shared by all places and both
looks.  So one call refutes a true statement with at most that probability, where its procedure is
exact.

A search has no cells.  It looks from another seed with four times the budget of its claim.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from trials.run.cell import Params
from verify.evidence import Evidence, Verdict
from verify.mutation.conditions import CONTROL_BUDGET
from verify.mutation.examination import REFUSALS, Examination, TooManyTrials
from verify.mutation.harder import GROWTH, full_cell, scattered
from verify.mutation.meaning import symbols_of
from verify.mutation.opened import cost_of, declares_cost
from verify.mutation.outcomes import in_one_line
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
#: CPU seconds of a claim, after which no further place is tried.
SECONDS_OF_A_CLAIM = 120.0


@dataclass(frozen=True, kw_only=True)
class Refuted:
    """A place at which the bound fails: the whole cell, and the sentence of the evidence.

    A point of a larger search has no cell.
    """

    cell: Params
    summary: str


@dataclass(frozen=True, kw_only=True)
class Found:
    """The verdicts on one claim at places inside its conditions.

    Attributes
    ----------
    claim : its id, with the user's own values where it was run at some.
    n_places : places that were tried.  Zero for a search, and for a procedure that decides on all
        of its cells together.
    n_held : places where the trials support the bound.
    n_void : places where the bound says nothing, because no value could be above it.
    n_open : places where the trials leave it open, or support it down to some probability only.
    failures : reasons why a place could not be decided, each with the number of places.
    refuted : the places where the bound fails.
    why : the reason where nothing was tried.
    error : the exception of a claim whose own code failed.
    """

    claim: str
    procedure: str
    n_places: int = 0
    n_held: int = 0
    n_void: int = 0
    n_open: int = 0
    failures: tuple[tuple[str, int], ...] = ()
    refuted: tuple[Refuted, ...] = ()
    why: str = ""
    error: str = ""

    @property
    def n_failed(self) -> int:
        """Places that could not be decided."""
        return sum(n for _, n in self.failures)

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
        if getattr(procedure, "sampling", None) is None:
            return replace(found, why="its procedure says nowhere how many trials it draws")
        places = list(islice(_places(examination, procedure, seed, unread), n_places))
        if not places:
            return replace(found, why="no place is cheap enough, or no parameter can be moved")
        return _look(examination, procedure, found, places)


def _search_more(examination: Examination, procedure: Procedure, found: Found) -> Found:
    """The same search with a larger budget."""
    larger = procedure.repeated(CONTROL_BUDGET)
    if larger is None:
        return replace(found, why="its search cannot be repeated with a larger budget")
    evidence = larger.decide(examination.store, examination.standing.level)
    if evidence.verdict is Verdict.REFUTED:
        return replace(found, refuted=(Refuted(cell={}, summary=evidence.summary),))
    held = evidence.verdict is Verdict.SUPPORTED
    return replace(found, n_held=int(held), n_open=int(not held))


def _places(
    examination: Examination, procedure: Procedure, seed: int, unread: bool
) -> Iterator[Params]:
    """Cheap cells inside the conditions that are none of the claim's own, none of them twice."""
    own = [full_cell(procedure, cell) for cell in procedure.cells_alone()]
    seen = {repr(cell) for cell in own}
    symbols = symbols_of(examination.claim.statement)
    experiment = procedure.experiment()
    n_first = max(N_FIRST, 0 if experiment is None else experiment.block_size)
    declared = declares_cost(procedure)
    places = scattered(
        procedure,
        examination.trials,
        symbols,
        seed=seed,
        unread=unread,
        fixed=frozenset(examination.values),
    )
    for cell, _ in places:
        if (key := repr(cell)) in seen or n_first * cost_of(procedure, cell) > SECONDS:
            continue
        if declared or min(_growth(cell, start) for start in own) <= GROWTH:
            seen.add(key)
            yield cell


def _growth(cell: Params, start: Params) -> float:
    """The product of the factors by which whole numbers of a cell exceed those of another one."""
    return math.prod(
        max(1.0, value / start[name])
        for name, value in cell.items()
        if isinstance(value, int) and isinstance(start.get(name), int) and start[name] > 0
    )


def _look(
    examination: Examination, procedure: Procedure, found: Found, places: Sequence[Params]
) -> Found:
    """The verdicts at some places, the doubtful ones with more trials."""
    level = examination.standing.level / (2 * len(places))
    few, more = at_most(procedure, N_FIRST), at_most(procedure, N_MORE)
    end = time.process_time() + SECONDS_OF_A_CLAIM
    counted: Counter[Verdict] = Counter()
    failures: Counter[str] = Counter()
    refuted = []
    for cell in places:
        if time.process_time() > end:
            break
        began = time.process_time()
        try:
            evidence = examination.alone(cell, few, DOUBT, MAX_NEW_TRIALS)
            if evidence.verdict is Verdict.REFUTED:
                now = time.process_time()
                too_dear = now + N_MORE / N_FIRST * (now - began) > end
                again = few if too_dear else more
                evidence = _second_look(examination, cell, few, again, level)
        except REFUSALS as error:
            failures[in_one_line(error)] += 1
            continue
        coarse = evidence.verdict is Verdict.SUPPORTED and evidence.resolution is not None
        counted[Verdict.INCONCLUSIVE if coarse else evidence.verdict] += 1
        if evidence.verdict is Verdict.REFUTED:
            refuted.append(Refuted(cell=cell, summary=evidence.summary))
    return replace(
        found,
        n_places=counted.total() + failures.total(),
        n_held=counted[Verdict.SUPPORTED],
        n_void=counted[Verdict.VACUOUS],
        n_open=counted[Verdict.INCONCLUSIVE],
        failures=tuple(failures.most_common()),
        refuted=tuple(refuted),
    )


def _second_look(
    examination: Examination, cell: Params, few: Procedure, more: Procedure, level: float
) -> Evidence:
    """The evidence at a place in doubt, from its first trials where more are too dear."""
    try:
        return examination.alone(cell, more, level, MAX_NEW_TRIALS)
    except TooManyTrials:
        return examination.alone(cell, few, level, MAX_NEW_TRIALS)

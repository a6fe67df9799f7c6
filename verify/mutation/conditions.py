"""Weaker conditions of a statement: is each of them needed where it can be tried?

A weaker condition is tried where only the changed statement speaks.  A bound that fails there shows
that the change is false.  The claim's own procedure is asked in cells near the condition's edge and
in cells far outside.  Whether these cells are enough is asked of others: *control* places that are
drawn at random and that have no part in the choice (`verify.mutation.outside.Outside`).  A search
has a control too, a budget that is four times as large.

A condition without which the bound holds everywhere is not needed where it was tried.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Literal

import numpy as np
import sympy as sp

from trials.run.cell import Params
from verify.decisions.domain import Point
from verify.decisions.search import NoPoint
from verify.evidence import Verdict
from verify.mutation.examination import MAX_NEW_TRIALS, REFUSALS, Examination
from verify.mutation.meaning import change_conditions
from verify.mutation.mutants import Mutant, assumption_named
from verify.mutation.opened import BUDGET, MAX_CELLS, declares_cost, open_condition
from verify.mutation.outcomes import FALSE, Judged, Kept, describe, in_one_line, name_cell
from verify.mutation.outside import Outside
from verify.procedures.base import Trials
from verify.procedures.interface import Procedure
from verify.procedures.placebos import at_most

#: New trials that a changed condition may ask for where they declare no cost, and by its size.
MAX_NEW_TRIALS_OF_A_CONDITION = 10_000
#: Trials that show whether a bound is plainly false in a far cell.
N_FAR = 64
#: CPU seconds, as experiments declare them, of the new trials of one cell: there are dozens.
SECONDS = 0.5
#: CPU seconds after which no further cell is tried for one change.  Those that earlier changes of
#: the same condition have tried cost nothing.
SECONDS_OF_A_CHANGE = 10.0
#: How many times the budget of a search is the control of a condition that it finds needless.
CONTROL_BUDGET = 4
_LATE = f"{SECONDS_OF_A_CHANGE:.0f} CPU seconds were too few for its cells"


def judge_conditions(examination: Examination, kept: Kept) -> tuple[Judged, ...]:
    """The outcome of every change of meaning of the conditions of a supported statement.

    Changes of one condition share their cells.  So a condition that was judged in part begins with
    its dropped form once more, which makes these cells anew.
    """
    statement = examination.claim.statement
    procedure = examination.procedure(statement)
    examination = replace(examination, new_seconds=min(SECONDS, examination.new_seconds))
    points = list(procedure.tried_at(examination.store))
    conditions = Conditions(examination, procedure)
    judged: list[Judged] = []
    for _, group in groupby(change_conditions(statement, points), key=lambda m: m.term):
        changes = list(group)
        if not all(m.name in kept.known for m in changes):
            conditions.go_on(changes[0], [j for m in changes if (j := kept.known.get(m.name))])
        judged += [kept.of(m, conditions.judge_meaning) for m in changes]
    return tuple(judged)


class Conditions:
    """The conditions of one claim.  All weaker forms of one share their cells.

    Parameters
    ----------
    examination : of the claim, as it was supported.
    procedure : the claim's, for its own statement.
    """

    def __init__(self, examination: Examination, procedure: Procedure) -> None:
        self._examination = examination
        self._procedure = procedure
        self._needless: set[str] = set()  # conditions without which the statement is true here
        self._visited: dict[str, list[Point]] = {}  # by a search without one condition
        self._outside: Outside | Literal["unknown"] | None = "unknown"
        self._free: Procedure = procedure
        self._end = np.inf  # of CPU time, for the change that is judged

    def go_on(self, dropped: Mutant, judged: Sequence[Judged]) -> None:
        """Make the cells of a condition some of whose changes an earlier scan has judged."""
        if judged:
            self.judge_meaning(dropped)
        if any(j.outcome in FALSE for j in judged):
            self._needless.discard(dropped.term)

    def judge_size(self, mutant: Mutant) -> Judged:
        """The outcome of a condition that is dropped or a little weaker, from near cells alone."""
        return self._try_near(mutant, self._examination, MAX_NEW_TRIALS_OF_A_CONDITION)

    def judge_meaning(self, mutant: Mutant) -> Judged:
        """The outcome of a change of meaning of a condition.  What trials leave open is open.

        Placebos are not asked: whether a condition is needed is no question about the algorithm.
        The dropped condition comes first, and its cells decide every other weaker form.
        """
        without = replace(self._examination, placebos=())
        before, after = (
            assumption_named(s, mutant.term)
            for s in (self._examination.claim.statement, mutant.statement)
        )
        outside = self._cells_outside()
        self._end = time.process_time() + SECONDS_OF_A_CHANGE
        with np.errstate(all="ignore"):
            if outside is None or after.right == -sp.oo:
                judged = self._try_near(mutant, without, MAX_NEW_TRIALS, controlled=True)
            else:
                judged = self._weaker(mutant, outside.near(after), outside)
            if outside is not None and judged.outcome != "refuted":
                far, control = outside.far(before, after), outside.control(before, after)
                judged = self._try_far(judged, mutant, outside, far, control)
        return replace(judged, outcome="open") if judged.outcome == "few trials" else judged

    def _weaker(self, mutant: Mutant, near: Sequence[Params], outside: Outside) -> Judged:
        """The outcome of a weaker form of a condition in the near cells of the dropped one."""
        if mutant.term in self._needless:
            return describe(mutant, "true here", why="as it is without the condition")
        found = outside.try_cells(near, self._near, self._late)
        if (cell := found.get(Verdict.REFUTED)) is not None:
            refuted = describe(mutant, "refuted", why=f"at {name_cell(cell)}")
            return replace(refuted, verdict=str(Verdict.REFUTED))
        if near and self._late():
            return describe(mutant, "open", why=_LATE)
        if set(found) == {Verdict.SUPPORTED}:
            return describe(mutant, "true here", why="limits in every cell near its edge")
        if found:
            return describe(mutant, "open", why="undecided near its edge")
        return describe(mutant, "not tried", why="no cell near its edge lies between the two")

    def _try_far(
        self,
        judged: Judged,
        mutant: Mutant,
        outside: Outside,
        far: Sequence[Params],
        control: Sequence[Params],
    ) -> Judged:
        """The outcome after the cells far outside, and after the control where they keep it."""
        found = outside.try_cells(far, self._far, self._late)
        if (cell := found.get(Verdict.REFUTED)) is not None:
            self._needless.discard(mutant.term)
            why = f"far outside, at {name_cell(cell)}"
            return replace(judged, outcome="refuted", verdict=str(Verdict.REFUTED), why=why)
        found |= outside.try_cells(control, self._far, self._late)
        if (cell := found.get(Verdict.REFUTED)) is not None:
            self._needless.discard(mutant.term)
            return replace(judged, outcome="survived", why=f"false: refuted at {name_cell(cell)}")
        if (far or control) and self._late():
            return replace(judged, outcome="open", why=_LATE)
        kept = f"not refuted at {len(far)} far places and {len(control)} others"
        if judged.outcome == "not tried" and set(found) - {None}:
            return replace(judged, outcome="open", why=kept)
        if judged.outcome == "true here" and far:
            return replace(judged, why=f"{judged.why}; {kept}")
        return judged

    def _late(self) -> bool:
        """Whether the change that is judged has had its CPU time."""
        return time.process_time() > self._end

    def _cells_outside(self) -> Outside | None:
        """The cells outside the conditions, None where the procedure decides no cell alone."""
        if self._outside == "unknown":
            statement = self._examination.claim.statement
            self._outside = None
            try:
                if self._procedure.cells_alone():
                    free = self._examination.procedure(replace(statement, assumptions=()))
                    self._free = free.without_figures()
                    self._outside = Outside(statement, self._free, self._examination.store)
            except (*REFUSALS, LookupError):  # its cells lie where its assumptions say
                self._outside = None
        return self._outside

    def _near(self, cell: Params) -> Verdict | None:
        """The verdict on the bound in one cell near the edge of a condition, at its share of the
        error level.
        """
        share = self._examination.standing.level / MAX_CELLS
        n_new = MAX_NEW_TRIALS if declares_cost(self._free) else MAX_NEW_TRIALS_OF_A_CONDITION
        return self._alone(cell, self._free, share, n_new)

    def _far(self, cell: Params) -> Verdict | None:
        """The same from a few trials, for one of many cells far outside."""
        few = at_most(self._free, N_FAR)
        n_new = MAX_NEW_TRIALS_OF_A_CONDITION  # a block, whatever its size
        return self._alone(cell, few, self._examination.standing.level, n_new)

    def _alone(
        self, cell: Params, procedure: Procedure, level: float, n_new: int
    ) -> Verdict | None:
        """The verdict on a procedure in one cell, None where its trials fail or are too dear."""
        try:
            evidence = self._examination.alone(cell, procedure, level, n_new)
        except REFUSALS:
            return None
        coarse = evidence.resolution is not None and evidence.verdict is Verdict.SUPPORTED
        return None if coarse else evidence.verdict

    def _try_near(
        self, mutant: Mutant, examination: Examination, n_new: int, *, controlled: bool = False
    ) -> Judged:
        """The outcome of a weaker condition, tried only where the original is silent.

        ``n_new`` trials may be drawn where they declare their cost.  ``controlled`` asks a larger
        budget whether a search has missed something.
        """
        if mutant.term in self._needless:
            return describe(mutant, "true here", why="as it is without the condition")
        try:
            weaker = examination.procedure(mutant.statement)
            outside = open_condition(mutant, examination.claim.statement, self._procedure, weaker)
            if isinstance(self._outside, Outside):
                self._outside.keep(mutant.term, outside.cells_alone())
            if controlled and self._fails_where_it_was_dropped(mutant, outside):
                refuted = describe(mutant, "refuted", why="at a point without the condition")
                return replace(refuted, verdict=str(Verdict.REFUTED))
            if n_new > MAX_NEW_TRIALS_OF_A_CONDITION and not declares_cost(outside):
                n_new = MAX_NEW_TRIALS_OF_A_CONDITION
            evidence = examination.evidence(outside, n_new=n_new)
        except NoPoint:
            return describe(mutant, "not tried", why="the domain holds no point outside it")
        except REFUSALS as error:
            return describe(mutant, "not tried", why=in_one_line(error))
        if evidence.verdict is Verdict.REFUTED:
            return describe(mutant, "refuted", evidence, evidence.summary)
        if evidence.verdict is not Verdict.SUPPORTED or evidence.resolution is not None:
            return describe(mutant, "few trials", evidence, evidence.summary)
        if controlled and _refuted_by_more(outside, examination.store, examination.standing.level):
            return describe(mutant, "survived", evidence, "a larger budget refutes it")
        if assumption_named(mutant.statement, mutant.term).right == -sp.oo:
            self._needless.add(mutant.term)
        return describe(mutant, "true here", evidence, evidence.summary)

    def _fails_where_it_was_dropped(self, mutant: Mutant, outside: Procedure) -> bool:
        """Whether points of the search without a condition refute a weaker form of it.

        That search sees more of the condition's symbols than a search between the two forms, which
        may lie close to each other.
        """
        if outside.searched() is None:
            return False
        with np.errstate(all="ignore"):
            if assumption_named(mutant.statement, mutant.term).right == -sp.oo:
                self._visited[mutant.term] = outside.visited(BUDGET)
            return outside.fails_at(self._visited.get(mutant.term, []))


def _refuted_by_more(search: Procedure, store: Trials, level: float) -> bool:
    """Whether a search of a larger budget refutes what a search supports.  Never for trials."""
    larger = search.repeated(CONTROL_BUDGET)
    if larger is None:
        return False
    with np.errstate(all="ignore"):
        return larger.decide(store, level).verdict is Verdict.REFUTED

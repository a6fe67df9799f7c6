"""The mutation score of a claim: which false theorems its evidence would have refuted.

Each mutant of the statement is decided again by the claim's own procedure, on the trials that are
stored.  Trials rarely depend on the statement, so that this takes seconds.  A mutant that wants
trials that the store lacks gets them from the executor, up to a cap.  They are added to a copy of
the store.

Questions with little computation come first.  A mutant that follows from the original is not
decided.  A small change of a term lies between the original and the larger one of the same term.
So it is true where the larger one is, and it is not decided either.
"""

from __future__ import annotations

import math
import random
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import sympy as sp

from bounds.statement import Statement
from trials.run.cell import Params
from verify.decisions.domain import Point
from verify.evidence import Evidence, Verdict
from verify.mutation.boundary import Boundary, boundaries
from verify.mutation.conditions import Conditions, judge_conditions
from verify.mutation.examination import MAX_NEW_TRIALS, REFUSALS, Examination
from verify.mutation.harder import (
    ROUNDING,
    Places,
    follows_from,
    full_cell,
    hardest,
    log_quotient,
    nowhere_below,
)
from verify.mutation.inserted import absorbed, smaller_forms
from verify.mutation.meaning import (
    Comparison,
    change_meaning,
    compare,
    same_at_zero,
    symbols_of,
)
from verify.mutation.mutants import CONDITIONS, Mutant, mutants, variables, with_term
from verify.mutation.opened import declares_cost
from verify.mutation.outcomes import (
    FALSE,
    Judged,
    Kept,
    Outcome,
    describe,
    in_one_line,
    name_cell,
)
from verify.mutation.tried import SymbolRanges, follows, ranges
from verify.procedures.interface import Procedure
from verify.procedures.placebos import Placebo, at_most, lives

#: How many times the budget of a claim's search decides whether a mutant that survived is true.
LABEL_BUDGET = 4
#: Points of a search's own evidence at which its mutants are tried first.
N_VISITED = 400
#: The order in which the kinds of mutants are sampled.
_SAMPLE_ORDER = ("exponent", "factor", "side", "term", "failure", "quantifier")
_WITHOUT_SIZE = ("term", "failure", "quantifier")
#: Trials that show whether a changed statement is plainly false in another cell.
N_ELSEWHERE = 64
#: The claim's own cells that are asked alone where all of them together want too many trials.
N_ALONE = 6
#: Cells in which a change that is below a sharper statement is tried.
N_PLACES = 12
#: A log quotient of two bounds that is worth a cell of its own.
MUCH = 0.02
#: A scan from its beginning, of which nothing is kept.
NOTHING_KEPT = Kept()


@dataclass(frozen=True, kw_only=True)
class Score:
    """The mutants of one claim.

    Attributes
    ----------
    original : the mark of the unchanged statement on the same trials.
    judged : the mutants that were decided, in the order of `verify.mutation.mutants.mutants`.
    boundaries : the nearest refuted change of each exponent and factor.
    n_mutants : how many mutants the statement has.
    """

    claim: str
    procedure: str
    original: str
    judged: tuple[Judged, ...] = ()
    boundaries: tuple[Boundary, ...] = ()
    n_mutants: int = 0

    @property
    def n_false(self) -> int:
        """Mutants that ask for more, are not shown to be true, and could be tried.

        A changed condition does not count: it is tried in cells of its own.
        """
        return sum(j.outcome in FALSE for j in self.judged if j.kind not in CONDITIONS)

    @property
    def n_caught(self) -> int:
        """Those among them that lost their support."""
        return sum(j.caught for j in self.judged if j.kind not in CONDITIONS)

    @property
    def n_refuted(self) -> int:
        """Those among the caught that are shown to be false.  The evidence leaves the rest open."""
        return sum(j.outcome == "refuted" for j in self.judged if j.kind not in CONDITIONS)

    @property
    def share(self) -> float:
        """The share of caught mutants among the false ones, NaN when there is none."""
        return self.n_caught / self.n_false if self.n_false else math.nan

    def as_dict(self) -> dict[str, Any]:
        """The score as JSON-ready data."""
        counts = {
            "n_false": self.n_false,
            "n_caught": self.n_caught,
            "n_refuted": self.n_refuted,
        }
        return asdict(self) | counts | {"refuted": self.refuted(), "needed": self.needed()}

    def refuted(self) -> list[str]:
        """The false statements that the evidence would not support, the nearest of each family."""
        near = [boundary.change for boundary in self.boundaries]
        return near + [j.words for j in self.judged if j.caught and j.kind in _WITHOUT_SIZE]

    def needed(self) -> list[str]:
        """The weaker conditions with which the statement is false, the nearest of each."""
        nearest: dict[str, str] = {}
        for j in self.judged:  # of one condition: dropped first, then the nearest change first
            name, _, change = j.words.rpartition(": ")
            if j.caught and j.kind in CONDITIONS and nearest.get(name, "dropped") == "dropped":
                nearest[name] = change
        return [f"{name}: {change}" for name, change in nearest.items()]


def score_mutants(examination: Examination, sample: int | None = None, *, steps: int = 3) -> Score:
    """Decide the mutants of a supported statement.

    Parameters
    ----------
    sample : None decides all mutants.  A number ends the work when so many were caught, or
        half as many again were tried, in a seeded order.  Those that kept their support are
        not asked further, so that a sample has no score.
    steps : halvings that bring each boundary nearer to the original.
    """
    procedure = examination.procedure(examination.claim.statement)
    everything = mutants(examination.claim.statement)
    score = replace(_start(examination, procedure), n_mutants=len(everything))
    if examination.standing.verdict != Verdict.SUPPORTED:
        return score
    judge = _Judge(examination, procedure, ranges(procedure, examination.trials))
    found: dict[str, Judged] = {}
    if sample is None:
        # Larger changes first: their outcome may decide the smaller ones of their family.
        for mutant in sorted(everything, key=_size, reverse=True):
            found[mutant.name] = judge.judge(mutant)
    else:
        for mutant in judge.candidates(everything)[: sample + (sample + 1) // 2]:
            found[mutant.name] = judge.judge(mutant, label=False, quickly=True)
            if sum(j.caught for j in found.values()) == sample:
                break
    asked = [m for m in everything if m.name in found]
    judged = tuple(found[m.name] for m in asked)
    near = boundaries(
        examination.claim.statement,
        [(m, found[m.name].caught) for m in asked if m.kind not in CONDITIONS],
        judge.catches,
        steps,
    )
    return replace(score, judged=judged, boundaries=near)


def tell_apart(examination: Examination, kept: Kept = NOTHING_KEPT) -> Score:
    """Decide every change of meaning of the formulas of a supported statement.

    Whether a change that keeps its support is false is asked in another cell: the one in reach
    where it asks for most (`verify.mutation.harder`).  A change that is refuted there has
    survived, one that holds there is true here, and any other one is open.  An inserted symbol is
    not asked about where its root is refuted.
    """
    procedure = examination.procedure(examination.claim.statement)
    score = _start(examination, procedure)
    if examination.standing.verdict != Verdict.SUPPORTED:
        return score
    points = list(procedure.tried_at(examination.store))
    everything = change_meaning(examination.claim.statement, points)
    judge = _Judge(examination, procedure, {})
    found: dict[str, Judged] = {}
    for mutant in everything:
        refuted = [n for n in smaller_forms(mutant) if found[n].outcome == "refuted"]
        if refuted:
            why = f"as {refuted[0]} is, a smaller change"
            found[mutant.name] = describe(mutant, "refuted", why=why)
        else:
            found[mutant.name] = kept.of(mutant, lambda m: judge.judge_meaning(m, points))
    return replace(score, judged=tuple(found.values()), n_mutants=len(found))


def tell_conditions_apart(examination: Examination, kept: Kept = NOTHING_KEPT) -> Score:
    """Decide every change of meaning of the conditions of a supported statement."""
    score = _start(examination, examination.procedure(examination.claim.statement))
    if examination.standing.verdict != Verdict.SUPPORTED:
        return score
    judged = judge_conditions(examination, kept)
    return replace(score, judged=judged, n_mutants=len(judged))


def _start(examination: Examination, procedure: Procedure) -> Score:
    """The score of a claim before any mutant is decided."""
    return Score(
        claim=examination.claim.id,
        procedure=type(procedure).__name__,
        original=examination.standing.mark,
    )


def _distance(mutant: Mutant) -> float:
    """How far a mutant lies from the original, among those of its family."""
    if mutant.size is None:
        return 0.0
    return abs(float(mutant.size)) if mutant.symbol is not None else abs(math.log(mutant.size))


def _size(mutant: Mutant) -> float:
    """How large a change is, for the order of work: a dropped condition decides smaller moves."""
    return math.inf if mutant.kind == "assumption" else _distance(mutant)


class _Judge:
    """Judges the mutants of one claim, and remembers those that are true."""

    def __init__(
        self,
        examination: Examination,
        procedure: Procedure,
        known: SymbolRanges,
    ) -> None:
        self._examination = examination
        self._procedure = procedure
        self._known = known
        self._print: Any = None
        self._true: dict[tuple[str, str, str, bool], tuple[float, str]] = {}
        self._points: list[Point] | None = None
        self._places: Places | None = None
        self._conditions = Conditions(examination, procedure)

    def candidates(self, everything: Sequence[Mutant]) -> list[Mutant]:
        """The mutants that do not follow from the original: changes of size first, failures last.

        The order depends on the claim alone, so that every run shows the same mutants.
        """
        asked = [
            m
            for m in everything
            if m.kind in _SAMPLE_ORDER and not follows(m, self._procedure, self._known)
        ]
        order = random.Random(zlib.crc32(self._examination.claim.id.encode()))
        order.shuffle(asked)
        return sorted(asked, key=lambda m: _SAMPLE_ORDER.index(m.kind))

    def catches(self, mutant: Mutant) -> bool:
        """Whether a mutant loses its support.  Nobody asks whether one that keeps it is true."""
        return self.judge(mutant, label=False).caught

    def judge(self, mutant: Mutant, *, label: bool = True, quickly: bool = False) -> Judged:
        """One mutant's outcome. Without ``label`` those that keep their support are ``kept``.

        ``quickly`` gives searches a small budget and no points of the original's own search.
        """
        with np.errstate(all="ignore"):  # a changed power of zero is infinite
            return self._outcome(mutant, label, quickly)

    def judge_meaning(self, mutant: Mutant, points: Sequence[Mapping[str, Any]]) -> Judged:
        """The outcome of a change of meaning: its formula first, then the claim's own evidence."""
        with np.errstate(all="ignore"):
            original = self._examination.claim.statement
            if (value := absorbed(original, mutant, points)) is not None:
                why = f"{mutant.symbol} is {value:.6g} at every place of the claim"
                return describe(mutant, "equivalent", why=why)
            found = compare(original, mutant.statement, points)
            if found == "same" and (zero := same_at_zero(original, mutant.statement, points)):
                return describe(mutant, "true here", why=f"supported with {zero} = 0")
            evidence = None
            try:
                if found in ("stronger", "unknown"):
                    if self._fails_where_the_original_was_tried(mutant):
                        caught = describe(mutant, "refuted")
                        return replace(caught, verdict=str(Verdict.REFUTED))
                    try:
                        evidence = self._supported(mutant)
                    except REFUSALS:  # a single cell may show that it is false
                        if self._refuted_alone(mutant, points):
                            caught = describe(mutant, "refuted")
                            return replace(caught, verdict=str(Verdict.REFUTED))
                        outcome, why = self._elsewhere(mutant, "unknown")
                        if outcome != "survived":
                            raise
                        return describe(mutant, outcome, why=why)
                    if self._lost(evidence):
                        refuted = evidence.verdict is Verdict.REFUTED
                        return describe(mutant, "refuted" if refuted else "unsupported", evidence)
                outcome, why = self._elsewhere(mutant, found)
            except REFUSALS as error:
                return describe(mutant, "not tried", why=in_one_line(error))
        return describe(mutant, outcome, evidence, why)

    def _lost(self, evidence: Evidence) -> bool:
        """Whether a mutant is less supported than the statement is."""
        coarser = evidence.resolution is not None and self._examination.standing.resolution is None
        return evidence.verdict is not Verdict.SUPPORTED or coarser

    def _supported(self, mutant: Mutant) -> Evidence:
        """The evidence on a mutant.  A refutation needs no placebo, and support one live cell."""
        examination = self._examination
        self._examination = replace(examination, placebos=())
        try:
            bare = self._decided(mutant, quickly=False)
        finally:
            self._examination = examination
        if not examination.placebos or bare.verdict is Verdict.REFUTED:
            return bare
        drawn = any(isinstance(p, Placebo) and p.draws for p in examination.placebos)
        if drawn or self._lost(bare):
            return examination.decide(mutant.statement)
        changed = examination.inside(mutant.statement)
        if lives(changed, examination.placebos, examination.trials, examination.standing.level):
            return bare
        return replace(bare, verdict=Verdict.VACUOUS)

    def _refuted_alone(self, mutant: Mutant, points: Sequence[Mapping[str, Any]]) -> bool:
        """Whether one of the claim's cells refutes a mutant whose other cells want more trials.

        Those are tried in which it asks for most, at their share of the error level.
        """
        examination = self._examination
        changed = examination.procedure(mutant.statement)
        cells = changed.cells_alone()
        if len(cells) != len(points) or not declares_cost(changed):
            return False
        original = examination.claim.statement
        logs = [log_quotient(original, mutant.statement, values) for values in points]
        order = sorted((log, i) for i, log in enumerate(logs) if log < -MUCH)
        share = examination.standing.level / len(cells)
        alone = replace(
            examination, placebos=(), standing=replace(examination.standing, level=share)
        )
        for _, i in order[:N_ALONE]:
            try:
                found = alone.evidence(changed.in_cells([cells[i]]))
            except REFUSALS:
                continue
            if found.verdict is Verdict.REFUTED:
                return True
        return False

    def _elsewhere(self, mutant: Mutant, found: Comparison) -> tuple[Outcome, str]:
        """Whether a mutant that the claim's cells do not catch is false in another cell."""
        examination = replace(self._examination, placebos=())
        changed = examination.procedure(mutant.statement)
        sharper = examination.claim.sharper
        if sharper is not None and found != "unknown":
            told = self._against(sharper, mutant.statement, changed)
            if told is not None:
                return told
        own = changed.cells_alone()
        place = hardest(examination.claim.statement, mutant.statement, changed, examination.store)
        if place is None or (place[1] > -MUCH and found in ("weaker", "same")):
            return {
                "weaker": ("asks less", "nowhere below the stated bound"),
                "same": ("open", "equal at every place in reach"),
            }.get(found, ("open", "supported as well"))  # type: ignore[return-value]
        cell, log = place
        where = f"{math.exp(log):.2g} of the stated bound at {name_cell(cell)}"
        if cell in [full_cell(changed, one) for one in own]:
            return "true here", f"limits in every cell, down to {where}"
        return self._tried_at(cell, changed, where)

    def _against(
        self, sharper: Statement, mutant: Statement, changed: Procedure
    ) -> tuple[Outcome, str] | None:
        """What a sharper statement tells about a mutant, None where it says nothing.

        A mutant that is nowhere below it is true.  Else it is tried where it is the farthest below.
        """
        if self._places is None:
            symbols = symbols_of(self._examination.claim.statement)
            self._places = Places(self._procedure, self._examination.store, symbols)
        places, original = self._places, self._examination.claim.statement
        logs = places.quotients(sharper, mutant)
        if logs is None or np.isnan(logs).all():
            return None
        if n := follows_from(original, mutant, places):
            return "asks less", f"nowhere below the stated bound at {n} places"
        if n := nowhere_below(logs):
            return "true here", f"nowhere below {sharper.id} at {n} places"
        below = [int(i) for i in np.argsort(logs) if i >= places.n_own and logs[i] < -ROUNDING]
        for i in below[:N_PLACES]:
            outcome, why = self._tried_at(
                places.cells[i],
                changed,
                f"{math.exp(logs[i]):.2g} of {sharper.id} at {name_cell(places.cells[i])}",
                n_new=N_ELSEWHERE,
            )
            if outcome == "survived":
                return outcome, why
        least = math.exp(float(np.nanmin(logs)))
        return "open", f"down to {least:.2g} of {sharper.id}, and not refuted there"

    def _tried_at(
        self, cell: Params, changed: Procedure, where: str, n_new: int = MAX_NEW_TRIALS
    ) -> tuple[Outcome, str]:
        """Whether trials in one further cell tell a mutant from a true statement."""
        examination = replace(self._examination, placebos=())
        try:
            there = changed.in_cells([cell])
            evidence = examination.evidence(at_most(there, N_ELSEWHERE))
            more = n_new > N_ELSEWHERE and declares_cost(there)
            if evidence.verdict is not Verdict.REFUTED and more:
                evidence = examination.evidence(there, n_new=n_new)
        except REFUSALS as error:
            return "open", f"{where}: {in_one_line(error)}"
        if evidence.n_failed:  # a failed trial counts as bad, and says nothing about the change
            return "open", f"trials fail at {name_cell(cell)}"
        if evidence.verdict is Verdict.SUPPORTED and evidence.resolution is None:
            return "true here", f"holds with {where}"
        if evidence.verdict is not Verdict.REFUTED:
            return "open", f"{evidence.mark} with {where}"
        original = examination.evidence(at_most(self._procedure.in_cells([cell]), N_ELSEWHERE))
        if original.verdict is Verdict.REFUTED:
            return "open", f"the statement itself fails at {name_cell(cell)}"
        return "survived", f"false: refuted with {where}"

    def _larger_that_is_true(self, mutant: Mutant) -> str | None:
        """The name of a larger change of the same family that is true, if there is one."""
        distance, name = self._true.get(mutant.family, (-1.0, "")) if mutant.family else (-1.0, "")
        return name if _distance(mutant) <= distance else None

    def _outcome(self, mutant: Mutant, label: bool, quickly: bool) -> Judged:
        if follows(mutant, self._procedure, self._known):
            return describe(mutant, "asks less")
        if (larger := self._larger_that_is_true(mutant)) is not None:
            return describe(mutant, "true here", why=f"as {larger} is, a larger change")
        if mutant.kind in CONDITIONS:
            return self._condition(mutant)
        if not quickly and self._fails_where_the_original_was_tried(mutant):
            return replace(describe(mutant, "refuted"), verdict=str(Verdict.REFUTED))
        try:
            evidence = self._decided(mutant, quickly)
        except REFUSALS as error:
            return describe(mutant, "not tried", why=in_one_line(error))
        if evidence.verdict is Verdict.REFUTED:
            return describe(mutant, "refuted", evidence)
        if evidence.verdict is not Verdict.SUPPORTED:
            return describe(mutant, "unsupported", evidence)
        # the floor of a rate belongs to its trials, whatever exponent is stated
        if evidence.resolution is not None and self._procedure.compared_growth() is None:
            coarse = self._examination.standing.resolution is not None
            why = evidence.summary if coarse else ""
            return describe(mutant, "few trials" if coarse else "unsupported", evidence, why)
        if not label:
            return describe(mutant, "kept", evidence)
        outcome, why = self._label(mutant, evidence)
        if outcome == "true here" and mutant.family is not None:
            self._true[mutant.family] = (_distance(mutant), mutant.name)
        return describe(mutant, outcome, evidence, why)

    def _condition(self, mutant: Mutant) -> Judged:
        """The outcome of a weaker condition, remembered where trials show that it is true."""
        judged = self._conditions.judge_size(mutant)
        if judged.outcome == "true here" and judged.verdict and mutant.family is not None:
            self._true[mutant.family] = (_distance(mutant), mutant.name)
        return judged

    def _fails_where_the_original_was_tried(self, mutant: Mutant) -> bool:
        """Whether points of the original's own search refute a mutant."""
        if self._points is None:
            self._points = self._procedure.visited(N_VISITED)
        if not self._points:
            return False
        try:
            return self._examination.procedure(mutant.statement).fails_at(self._points)
        except REFUSALS:
            return False

    def _decided(self, mutant: Mutant, quickly: bool) -> Evidence:
        """The evidence on a mutant.  A search first looks for a plain counterexample."""
        first = self._examination.decide(mutant.statement, quickly=True)
        decided = first.verdict is Verdict.REFUTED or self._procedure.searched() is None
        return first if decided or quickly else self._examination.decide(mutant.statement)

    def _label(self, mutant: Mutant, evidence: Evidence) -> tuple[Outcome, str]:
        """Whether a mutant that kept its support in full is true where it is tried."""
        changed = self._examination.procedure(mutant.statement)
        if self._print is None:
            self._print = self._fingerprint(self._procedure)
        if self._fingerprint(changed) == self._print:
            same = self._same(mutant)
            if same[0] == "unseen" or changed.searched() is None:
                return same
            # a violation may be yes or no: the same at some points, and not at others
        if (larger := changed.repeated(LABEL_BUDGET)) is not None:
            found = larger.decide(self._examination.store, self._examination.standing.level)
            if found.verdict is not Verdict.SUPPORTED:
                return "survived", f"{LABEL_BUDGET} times the budget refutes it"
            return "true here", found.summary
        if mutant.statement.relation == "=" and mutant.kind != "failure":
            return "survived", f"within the margin: {evidence.summary}"
        return "true here", evidence.summary

    def _fingerprint(self, procedure: Procedure) -> Any:
        """What a procedure tests, at points of the original's search where it is one."""
        return procedure.fingerprint_at(self._points or [])

    def _same(self, mutant: Mutant) -> tuple[Outcome, str]:
        """The label of a mutant that no tested number tells from the original.

        Where the procedure looks at the symbols of the change, the mutant says the same in every
        cell, to rounding.  Otherwise the test cannot see it.
        """
        statement = self._examination.claim.statement
        if mutant.kind == "quantifier" and not self._looks_at_constant(mutant.symbol):
            return "unseen", "nothing that is tested depends on it"
        if mutant.kind == "quantifier":
            return "true here", "it says the same in every cell, to rounding"
        symbols = [mutant.symbol] if mutant.symbol is not None else []
        if not symbols and mutant.term:
            symbols = variables(statement, statement.term(mutant.term).expr)
        growth = self._procedure.compared_growth()
        if growth is not None and mutant.symbol is not None:
            stated = ", ".join(growth)
            return "unseen", f"the rate compares the growth with {stated} only"
        if ignored := [s.name for s in symbols if not self._looks_at(mutant.term, s)]:
            return "unseen", f"nothing that is tested depends on {', '.join(ignored)}"
        return "true here", "it says the same in every cell, to rounding"

    def _looks_at(self, term: str, symbol: sp.Symbol) -> bool:
        """Whether the procedure reads a symbol in a term: a gross change of it must be seen."""
        if symbol.name not in self._known and self._procedure.searched() is None:
            return False  # a search need not have its symbols as coordinates
        statement = self._examination.claim.statement
        gross = statement.term(term).expr + 10**9 * symbol
        try:
            changed = self._examination.procedure(with_term(statement, term, gross))
            return bool(self._fingerprint(changed) != self._print)
        except REFUSALS:  # it was read, and refused
            return True

    def _looks_at_constant(self, constant: sp.Symbol | None) -> bool:
        """Whether the procedure reads a constant, or the failure probability where none is named.

        A gross change of each expression that holds it must be seen.
        """
        statement = self._examination.claim.statement
        # the number alone shows that a procedure reads a constant which it sets to zero
        gross = 10**9 * constant + 10**9 if constant is not None else sp.Integer(1)
        failure = statement.failure
        if failure is not None and (constant is None or constant in failure.free_symbols):
            failure = failure + gross
        terms = tuple(
            replace(t, expr=t.expr + gross) if constant in t.expr.free_symbols else t
            for t in statement.terms
        )
        try:
            changed = self._examination.procedure(replace(statement, terms=terms, failure=failure))
            return bool(self._fingerprint(changed) != self._print)
        except REFUSALS:  # it was read, and refused
            return True


def total(scores: Sequence[Score]) -> tuple[int, int]:
    """(caught, tried) over several claims."""
    return sum(s.n_caught for s in scores), sum(s.n_false for s in scores)

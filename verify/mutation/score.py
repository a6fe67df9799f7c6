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
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np
import sympy as sp

from bounds.statement import Assumption, OutsideTheorem, Statement
from trials.checks import InvalidParameter
from trials.run.cell import Params
from trials.run.engine import ensure
from trials.run.executors import Executor
from trials.run.store import RunStore, StoreError
from verify.claim import Claim
from verify.decisions.domain import Point
from verify.decisions.search import NoPoint
from verify.evidence import Evidence, Verdict
from verify.mutation.boundary import Boundary, boundaries
from verify.mutation.harder import (
    ROUNDING,
    Places,
    ReadOnce,
    follows_from,
    full_cell,
    hardest,
    log_quotient,
    nowhere_below,
)
from verify.mutation.meaning import (
    Comparison,
    change_conditions,
    change_meaning,
    compare,
    same_at_zero,
)
from verify.mutation.mutants import (
    CONDITIONS,
    Mutant,
    assumption_named,
    mutants,
    variables,
    with_term,
)
from verify.mutation.opened import MAX_CELLS, breaks_condition, open_condition
from verify.mutation.outside import Outside
from verify.mutation.tried import SymbolRanges, follows, ranges
from verify.procedures.base import Profile
from verify.procedures.interface import Procedure
from verify.procedures.placebos import Occurs, Placebo, at_most, decide, demands, lives

#: ========== ===================================================================================
#: refuted     the mutant is refuted
#: unsupported the mutant lost its support: inconclusive, vacuous, or supported only down to r
#: unseen      it is false, and the test does not look at the changed symbol
#: survived    it is false, and it is still supported
#: true here   limits in every cell, or a search of a larger budget, establish it where it is tried
#: kept        it is still supported, and in a sample nobody asked whether it is true
#: few trials  the original is supported only down to r as well: the run cannot tell the two apart;
#:             or the trials do not decide a weaker condition
#: asks less   it follows from the original
#: not tried   the procedure refuses it, or it wants more new trials than the cap
#: open        a change of meaning that is still supported: nothing shows that it is false or true
#: ========== ===================================================================================
Outcome = Literal[
    "refuted",
    "unsupported",
    "unseen",
    "survived",
    "true here",
    "kept",
    "few trials",
    "asks less",
    "not tried",
    "open",
]
CAUGHT: tuple[Outcome, ...] = ("refuted", "unsupported")
FALSE: tuple[Outcome, ...] = (*CAUGHT, "unseen", "survived")
#: How many times the budget of a claim's search decides whether a mutant that survived is true.
LABEL_BUDGET = 4
#: Evaluations of a search in a sample.
QUICK_BUDGET = 200
#: Points of a search's own evidence at which its mutants are tried first.
N_VISITED = 400
#: The order in which the kinds of mutants are sampled.
_SAMPLE_ORDER = ("exponent", "factor", "side", "term", "failure", "quantifier")
_WITHOUT_SIZE = ("term", "failure", "quantifier")
#: New trials that one mutant may ask for.
MAX_NEW_TRIALS = 400_000
#: The same for a changed condition.  There are many, all are tried in new cells, and none has a
#: score.
MAX_NEW_TRIALS_OF_A_CONDITION = 10_000

#: Trials that show whether a changed statement is plainly false in another cell.
N_ELSEWHERE = 64
#: The claim's own cells that are asked alone where all of them together want too many trials.
N_ALONE = 6
#: Cells in which a change that is below a sharper statement is tried.
N_PLACES = 12
#: A log quotient of two bounds that is worth a cell of its own.
MUCH = 0.02

#: Refusals of a procedure: it cannot try the statement, or its numbers leave floats or memory.
REFUSALS = (InvalidParameter, OutsideTheorem, ArithmeticError, ValueError, KeyError, MemoryError)


@dataclass(frozen=True, kw_only=True)
class Judged:
    """One mutant's outcome, and the reason where it was not caught."""

    mutant: str
    kind: str
    words: str
    outcome: Outcome
    verdict: str = ""
    why: str = ""

    @property
    def caught(self) -> bool:
        """Whether the false theorem lost its support."""
        return self.outcome in CAUGHT


@dataclass(frozen=True, kw_only=True)
class Standing:
    """The verdict of the unchanged statement, as a run decided it."""

    verdict: str
    mark: str
    resolution: float | None = None
    level: float = 0.0

    @classmethod
    def of(cls, evidence: Evidence) -> Standing:
        """The standing of evidence that was just found."""
        return cls(
            verdict=str(evidence.verdict),
            mark=evidence.mark,
            resolution=evidence.resolution,
            level=evidence.level,
        )


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
        """Mutants that ask for more, are not true where they are tried, and could be tried.

        A changed condition does not count.  It is tried in cells of its own, and only a refutation
        there shows that it is false.
        """
        return sum(j.outcome in FALSE for j in self.judged if j.kind not in CONDITIONS)

    @property
    def n_caught(self) -> int:
        """Those among them that lost their support."""
        return sum(j.caught for j in self.judged if j.kind not in CONDITIONS)

    @property
    def share(self) -> float:
        """The share of caught mutants among the false ones, NaN when there is none."""
        return self.n_caught / self.n_false if self.n_false else math.nan

    def as_dict(self) -> dict[str, Any]:
        """The score as JSON-ready data."""
        counts = {"n_false": self.n_false, "n_caught": self.n_caught}
        return asdict(self) | counts | {"refuted": self.refuted(), "needed": self.needed()}

    def refuted(self) -> list[str]:
        """The false statements that the evidence would have refuted, the nearest of each family."""
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


@dataclass(frozen=True, kw_only=True)
class Examination:
    """A claim with everything that its statement and its mutants are decided with.

    Attributes
    ----------
    standing : the verdict on the unchanged statement, with its error level.
    store : open for writing where ``executor`` is given.
    executor : draws the trials that a mutant asks for and that are not stored; None allows none.
    values : the user's own values, where the claim was run at some.
    placebos : those of the claim: a mutant that they pass is not supported either.
    new_seconds : CPU seconds, as experiments declare them, of the new trials that one mutant may
        ask for.
    trials : those of ``store``, each cell read once.
    """

    claim: Claim
    profile: Profile
    standing: Standing
    store: RunStore
    executor: Executor | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    new_seconds: float = 10.0
    placebos: tuple[Placebo | Occurs, ...] = ()
    trials: ReadOnce = field(default=None)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        """Every change reads the same trials, so they are kept."""
        if self.trials is None:
            object.__setattr__(self, "trials", ReadOnce(self.store))

    def procedure(self, statement: Statement) -> Procedure:
        """The claim's procedure for a statement, at the user's values where there are any."""
        built = replace(self.claim, statement=statement).build(self.profile)
        return built.override(self.values) if self.values else built

    def decide(self, statement: Statement, *, quickly: bool = False) -> Evidence:
        """The evidence that the claim's procedure gives for a statement.

        ``quickly`` gives a search a small budget: enough to find what is plainly false.
        """
        return self.evidence(self.inside(statement), quickly=quickly)

    def inside(self, statement: Statement) -> Procedure:
        """The claim's procedure for a statement, in those of its cells that meet its conditions.

        A change may move a condition that names the bound itself.  A procedure that decides no cell
        alone, or none of whose cells is left, is returned as it is and refuses them.
        """
        procedure = self.procedure(statement).with_numbers()
        cells = procedure.cells_alone()
        kept = [cell for cell in cells if not breaks_condition(procedure, cell)]
        return procedure.in_cells(kept) if 0 < len(kept) < len(cells) else procedure

    def evidence(
        self, procedure: Procedure, *, quickly: bool = False, n_new: int = MAX_NEW_TRIALS
    ) -> Evidence:
        """The evidence that a procedure gives at the claim's error level, from ``n_new`` new trials
        at most.

        Raises
        ------
        InvalidParameter, OutsideTheorem
            When the procedure cannot try the statement, its cells do not meet its assumptions, or
            it asks for more new trials than are allowed.
        """
        level = self.standing.level
        procedure = procedure.without_figures()
        procedure.check()
        spent, seconds = 0, 0.0
        while missing := demands(procedure, self.placebos, self.store, level):
            for demand in missing:
                params = demand.experiment.check(demand.params)
                stored = len(self.store.blocks(demand.experiment, params))
                new = demand.experiment.block_size * (demand.n_blocks - stored)
                spent += new
                if demand.experiment.cost is not None:
                    seconds += new * demand.experiment.cost(params)
            if self.executor is None or spent > n_new or seconds > self.new_seconds:
                raise InvalidParameter(
                    f"it asks for {spent} trials that the run does not hold"
                    + (f", or {seconds:.0f} s of CPU" if seconds else "")
                )
            try:
                ensure(self.store, missing, self.executor)
            except StoreError as error:  # made by older code, to which no trial may be added
                raise InvalidParameter(f"it asks for new trials: {error}") from None
        if quickly:
            procedure = procedure.with_budget(QUICK_BUDGET)
        return decide(procedure, self.placebos, self.trials, level)

    def score(self, sample: int | None = None, *, steps: int = 3) -> Score:
        """Decide the mutants of a supported statement.

        Parameters
        ----------
        sample : None decides all mutants.  A number ends the work when so many were caught, or
            half as many again were tried, in a seeded order.  Those that kept their support are
            not asked further, so that a sample has no score.
        steps : halvings that bring each boundary nearer to the original.
        """
        procedure = self.procedure(self.claim.statement)
        name = type(procedure).__name__
        everything = mutants(self.claim.statement)
        score = Score(
            claim=self.claim.id,
            procedure=name,
            original=self.standing.mark,
            n_mutants=len(everything),
        )
        if self.standing.verdict != Verdict.SUPPORTED:
            return score
        judge = _Judge(self, procedure, ranges(procedure, self.store))
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
            self.claim.statement,
            [(m, found[m.name].caught) for m in asked if m.kind not in CONDITIONS],
            judge.catches,
            steps,
        )
        return replace(score, judged=judged, boundaries=near)

    def tell_apart(self) -> Score:
        """Decide every change of meaning of a supported statement.

        Whether a change that keeps its support is false is asked in another cell: the one in reach
        where it asks for most (`verify.mutation.harder`).  A change that is refuted there has
        survived, one that holds there is true here, and any other one is open.  A changed condition
        is tried in cells that only it allows, and has no score.
        """
        procedure = self.procedure(self.claim.statement)
        points = list(procedure.tried_at(self.store))
        everything = change_meaning(self.claim.statement, points)
        conditions = change_conditions(self.claim.statement, points)
        score = Score(
            claim=self.claim.id,
            procedure=type(procedure).__name__,
            original=self.standing.mark,
            n_mutants=len(everything) + len(conditions),
        )
        if self.standing.verdict != Verdict.SUPPORTED:
            return score
        judge = _Judge(self, procedure, {})
        judged = [judge.judge_meaning(mutant, points) for mutant in everything]
        judged += [judge.judge_condition(mutant) for mutant in conditions]
        return replace(score, judged=tuple(judged))


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
        self._needless: set[str] = set()  # conditions without which the statement is true here
        self._places: Places | None = None
        self._outside: Outside | Literal["unknown"] | None = "unknown"
        self._free: Procedure = procedure

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
            found = compare(original, mutant.statement, points)
            if found == "same" and (zero := same_at_zero(original, mutant.statement, points)):
                return self._judged(mutant, "true here", why=f"supported with {zero} = 0")
            evidence = None
            try:
                if found in ("stronger", "unknown"):
                    if self._fails_where_the_original_was_tried(mutant):
                        caught = self._judged(mutant, "refuted")
                        return replace(caught, verdict=str(Verdict.REFUTED))
                    try:
                        evidence = self._supported(mutant)
                    except REFUSALS:  # a single cell may show that it is false
                        if self._refuted_alone(mutant, points):
                            caught = self._judged(mutant, "refuted")
                            return replace(caught, verdict=str(Verdict.REFUTED))
                        outcome, why = self._elsewhere(mutant, "unknown")
                        if outcome != "survived":
                            raise
                        return self._judged(mutant, outcome, why=why)
                    if self._lost(evidence):
                        refuted = evidence.verdict is Verdict.REFUTED
                        return self._judged(
                            mutant, "refuted" if refuted else "unsupported", evidence
                        )
                outcome, why = self._elsewhere(mutant, found)
            except REFUSALS as error:
                return self._judged(mutant, "not tried", why=_line(error))
        return self._judged(mutant, outcome, evidence, why)

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
        if len(cells) != len(points) or not _declares_cost(changed):
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
        where = f"{math.exp(log):.2g} of the stated bound at {_spell(cell)}"
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
            self._places = Places(self._procedure, self._examination.store)
        places, original = self._places, self._examination.claim.statement
        logs = places.quotients(sharper, mutant)
        if logs is None:
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
                f"{math.exp(logs[i]):.2g} of {sharper.id} at {_spell(places.cells[i])}",
                n_new=N_ELSEWHERE,
            )
            if outcome == "survived":
                return outcome, why
        least = math.exp(float(np.min(logs)))
        return "open", f"down to {least:.2g} of {sharper.id}, and not refuted there"

    def _tried_at(
        self, cell: Params, changed: Procedure, where: str, n_new: int = MAX_NEW_TRIALS
    ) -> tuple[Outcome, str]:
        """Whether trials in one further cell tell a mutant from a true statement."""
        examination = replace(self._examination, placebos=())
        try:
            there = changed.in_cells([cell])
            evidence = examination.evidence(at_most(there, N_ELSEWHERE))
            more = n_new > N_ELSEWHERE and _declares_cost(there)
            if evidence.verdict is not Verdict.REFUTED and more:
                evidence = examination.evidence(there, n_new=n_new)
        except REFUSALS as error:
            return "open", f"{where}: {_line(error)}"
        if evidence.n_failed:  # a failed trial counts as bad, and says nothing about the change
            return "open", f"trials fail at {_spell(cell)}"
        if evidence.verdict is Verdict.SUPPORTED and evidence.resolution is None:
            return "true here", f"holds with {where}"
        if evidence.verdict is not Verdict.REFUTED:
            return "open", f"{evidence.mark} with {where}"
        original = examination.evidence(at_most(self._procedure.in_cells([cell]), N_ELSEWHERE))
        if original.verdict is Verdict.REFUTED:
            return "open", f"the statement itself fails at {_spell(cell)}"
        return "survived", f"false: refuted with {where}"

    def _larger_that_is_true(self, mutant: Mutant) -> str | None:
        """The name of a larger change of the same family that is true, if there is one."""
        distance, name = self._true.get(mutant.family, (-1.0, "")) if mutant.family else (-1.0, "")
        return name if _distance(mutant) <= distance else None

    def _outcome(self, mutant: Mutant, label: bool, quickly: bool) -> Judged:
        if follows(mutant, self._procedure, self._known):
            return self._judged(mutant, "asks less")
        if (larger := self._larger_that_is_true(mutant)) is not None:
            return self._judged(mutant, "true here", why=f"as {larger} is, a larger change")
        if mutant.kind in CONDITIONS:
            return self._condition(mutant, self._examination)
        if not quickly and self._fails_where_the_original_was_tried(mutant):
            return replace(self._judged(mutant, "refuted"), verdict=str(Verdict.REFUTED))
        try:
            evidence = self._decided(mutant, quickly)
        except REFUSALS as error:
            return self._judged(mutant, "not tried", why=_line(error))
        if evidence.verdict is Verdict.REFUTED:
            return self._judged(mutant, "refuted", evidence)
        if evidence.verdict is not Verdict.SUPPORTED:
            return self._judged(mutant, "unsupported", evidence)
        # the floor of a rate belongs to its trials, whatever exponent is stated
        if evidence.resolution is not None and self._procedure.compared_growth() is None:
            coarse = self._examination.standing.resolution is not None
            why = evidence.summary if coarse else ""
            return self._judged(mutant, "few trials" if coarse else "unsupported", evidence, why)
        if not label:
            return self._judged(mutant, "kept", evidence)
        outcome, why = self._label(mutant, evidence)
        if outcome == "true here" and mutant.family is not None:
            self._true[mutant.family] = (_distance(mutant), mutant.name)
        return self._judged(mutant, outcome, evidence, why)

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

    def judge_condition(self, mutant: Mutant) -> Judged:
        """The outcome of a change of meaning of a condition.  What trials leave open is open.

        Placebos are not asked: whether a condition is needed is no question about the algorithm.
        The dropped condition comes first, and its cells decide every other weaker form.  A form
        that no near cell refutes is tried once more, far outside (`Outside`).
        """
        without = replace(self._examination, placebos=())
        before, after = (
            assumption_named(s, mutant.term)
            for s in (self._examination.claim.statement, mutant.statement)
        )
        outside = self._cells_outside()
        with np.errstate(all="ignore"):
            if outside is None or after.right == -sp.oo:
                judged = self._condition(mutant, without, MAX_NEW_TRIALS)
            else:
                judged = self._weaker(mutant, after, outside)
            if outside is not None and judged.outcome != "refuted":
                judged = self._tried_far(judged, mutant, outside, outside.far(before, after))
        return replace(judged, outcome="open") if judged.outcome == "few trials" else judged

    def _weaker(self, mutant: Mutant, after: Assumption, outside: Outside) -> Judged:
        """The outcome of a weaker form of a condition in the cells of the dropped one."""
        if mutant.term in self._needless:
            return self._judged(mutant, "true here", why="as it is without the condition")
        found = outside.try_cells(outside.near(after), self._near)
        if (cell := found.get(Verdict.REFUTED)) is not None:
            refuted = self._judged(mutant, "refuted", why=f"at {_spell(cell)}")
            return replace(refuted, verdict=str(Verdict.REFUTED))
        if set(found) == {Verdict.SUPPORTED}:
            return self._judged(mutant, "true here", why="limits in every cell near its edge")
        if found:
            return self._judged(mutant, "open", why="undecided near its edge")
        return self._judged(mutant, "not tried", why="no cell near its edge lies between the two")

    def _tried_far(
        self, judged: Judged, mutant: Mutant, outside: Outside, places: Sequence[Params]
    ) -> Judged:
        """The outcome after some places far outside the condition."""
        found = outside.try_cells(places, self._far)
        if (cell := found.get(Verdict.REFUTED)) is not None:
            self._needless.discard(mutant.term)
            return replace(judged, outcome="survived", why=f"false: refuted at {_spell(cell)}")
        if judged.outcome == "not tried" and set(found) - {None}:
            return replace(judged, outcome="open", why=f"not refuted at {len(places)} far places")
        return judged

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
            except REFUSALS:  # its cells lie where its assumptions say
                self._outside = None
        return self._outside

    def _near(self, cell: Params) -> Verdict | None:
        """The verdict on the bound in one cell near the edge of a condition, at its share of the
        error level.
        """
        standing = self._examination.standing
        share = replace(standing, level=standing.level / MAX_CELLS)
        n_new = MAX_NEW_TRIALS if _declares_cost(self._free) else MAX_NEW_TRIALS_OF_A_CONDITION
        return self._alone(cell, self._free, share, n_new)

    def _far(self, cell: Params) -> Verdict | None:
        """The same from a few trials, for one of many cells far outside."""
        few = at_most(self._free, N_ELSEWHERE)
        n_new = MAX_NEW_TRIALS_OF_A_CONDITION  # a block, whatever its size
        return self._alone(cell, few, self._examination.standing, n_new)

    def _alone(
        self, cell: Params, procedure: Procedure, standing: Standing, n_new: int
    ) -> Verdict | None:
        """The verdict on a procedure in one cell, None where its trials fail or are too dear."""
        examination = replace(self._examination, placebos=(), standing=standing)
        try:
            evidence = examination.evidence(procedure.in_cells([cell]), n_new=n_new)
        except REFUSALS:
            return None
        coarse = evidence.resolution is not None and evidence.verdict is Verdict.SUPPORTED
        return None if evidence.n_failed or coarse else evidence.verdict

    def _condition(
        self,
        mutant: Mutant,
        examination: Examination,
        n_new: int = MAX_NEW_TRIALS_OF_A_CONDITION,
    ) -> Judged:
        """The outcome of a weaker condition, tried only where the original is silent.

        ``n_new`` trials may be drawn where they declare their cost.
        """
        if mutant.term in self._needless:
            return self._judged(mutant, "true here", why="as it is without the condition")
        try:
            weaker = examination.procedure(mutant.statement)
            outside = open_condition(mutant, examination.claim.statement, self._procedure, weaker)
            if isinstance(self._outside, Outside):
                self._outside.keep(mutant.term, outside.cells_alone())
            if n_new > MAX_NEW_TRIALS_OF_A_CONDITION and not _declares_cost(outside):
                n_new = MAX_NEW_TRIALS_OF_A_CONDITION
            evidence = examination.evidence(outside, n_new=n_new)
        except NoPoint:
            return self._judged(mutant, "not tried", why="the domain holds no point outside it")
        except REFUSALS as error:
            return self._judged(mutant, "not tried", why=_line(error))
        if evidence.verdict is Verdict.REFUTED:
            return self._judged(mutant, "refuted", evidence, evidence.summary)
        if evidence.verdict is not Verdict.SUPPORTED or evidence.resolution is not None:
            return self._judged(mutant, "few trials", evidence, evidence.summary)
        if assumption_named(mutant.statement, mutant.term).right == -sp.oo:
            self._needless.add(mutant.term)
        if mutant.family is not None:
            self._true[mutant.family] = (_distance(mutant), mutant.name)
        return self._judged(mutant, "true here", evidence, evidence.summary)

    def _judged(
        self, mutant: Mutant, outcome: Outcome, evidence: Evidence | None = None, why: str = ""
    ) -> Judged:
        verdict = "" if evidence is None else evidence.mark
        return Judged(
            mutant=mutant.name,
            kind=mutant.kind,
            words=mutant.words,
            outcome=outcome,
            verdict=verdict,
            why=why,
        )

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


def _declares_cost(procedure: Procedure) -> bool:
    """Whether the trials of a procedure have a known cost, so that more of them may be drawn."""
    experiment = procedure.experiment()
    return experiment is not None and experiment.cost is not None


def _spell(cell: Params) -> str:
    """A cell in one line."""
    return ", ".join(
        f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in cell.items()
    )


def _line(error: Exception) -> str:
    """An error as one line."""
    return " ".join(str(error).split())[:200]


def total(scores: Sequence[Score]) -> tuple[int, int]:
    """(caught, tried) over several claims."""
    return sum(s.n_caught for s in scores), sum(s.n_false for s in scores)

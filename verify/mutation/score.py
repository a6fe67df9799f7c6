"""The mutation score of a claim: which false theorems its evidence would have refuted.

Each mutant of the statement is decided again by the claim's own procedure, on the trials that are
stored.  Trials rarely depend on the statement, so that this takes seconds.  A mutant that wants
trials that the store lacks gets them from the executor; they are added to a copy of the store.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from bounds.statement import OutsideTheorem, Statement
from trials.checks import InvalidParameter
from trials.run.engine import ensure
from trials.run.executors import Executor
from trials.run.store import RunStore
from verify.claim import Claim
from verify.decisions.domain import Interval, IntRange, LogInterval
from verify.evidence import Evidence, Verdict
from verify.mutation.mutants import Mutant, Ranges, asks_less, mutants
from verify.procedures.base import Procedure, Profile
from verify.procedures.search import Search

#: refuted, unsupported: the mutant lost its support.  asks less: it follows from the original.
#: true here: exact probabilities contradict it nowhere in the domain, at ten times the budget.
Outcome = Literal["refuted", "unsupported", "survived", "asks less", "true here", "not tried"]
#: How many times the budget of a claim's search decides whether a mutant that survived is true.
LABEL_BUDGET = 10


@dataclass(frozen=True, kw_only=True)
class Judged:
    """One mutant's outcome, and the reason where it was not caught."""

    mutant: str
    kind: str
    outcome: Outcome
    verdict: str
    why: str = ""

    @property
    def caught(self) -> bool:
        """Whether the false theorem lost its support."""
        return self.outcome in ("refuted", "unsupported")


@dataclass(frozen=True, kw_only=True)
class Score:
    """The mutants of one claim.

    Attributes
    ----------
    original : the verdict of the unchanged statement on the same trials.
    judged : every mutant, in the order of `verify.mutation.mutants.mutants`.
    """

    claim: str
    original: str
    judged: tuple[Judged, ...]

    @property
    def n_false(self) -> int:
        """Mutants that ask for more and could be tried."""
        return sum(j.outcome in ("refuted", "unsupported", "survived") for j in self.judged)

    @property
    def n_caught(self) -> int:
        """Those among them that lost their support."""
        return sum(j.caught for j in self.judged)

    @property
    def share(self) -> float:
        """The share of caught mutants among those tried, NaN when none was tried."""
        return self.n_caught / self.n_false if self.n_false else math.nan

    def as_dict(self) -> dict[str, Any]:
        """The score as JSON-ready data."""
        return asdict(self) | {"n_false": self.n_false, "n_caught": self.n_caught}


@dataclass(frozen=True, kw_only=True)
class Examination:
    """A claim with everything that its statement and its mutants are decided with.

    Attributes
    ----------
    store : open for writing; mutants that need other trials add them.
    values : the user's own values, where the claim was run at some.
    """

    claim: Claim
    profile: Profile
    level: float
    store: RunStore
    executor: Executor
    values: Mapping[str, Any] = field(default_factory=dict)

    def procedure(self, statement: Statement) -> Procedure:
        """The claim's procedure for a statement, at the user's values where there are any."""
        built = replace(self.claim, statement=statement).build(self.profile)
        return built.override(self.values) if self.values else built

    def decide(self, statement: Statement) -> Evidence:
        """The evidence that the claim's procedure gives for a statement.

        Raises
        ------
        InvalidParameter, OutsideTheorem
            When the procedure cannot try the statement, or its cells do not meet its assumptions.
        """
        procedure = self.procedure(statement)
        procedure.check()
        while demands := procedure.demands(self.store, self.level):
            ensure(self.store, demands, self.executor)
        return procedure.decide(self.store, self.level)

    def score(self, chosen: Iterable[Mutant] | None = None) -> Score:
        """Decide the statement, and its mutants (all by default) where it is supported."""
        original = self.decide(self.claim.statement)
        judged: tuple[Judged, ...] = ()
        if original.verdict is Verdict.SUPPORTED:
            found = ranges(self.procedure(self.claim.statement), original)
            tried = mutants(self.claim.statement) if chosen is None else chosen
            judged = tuple(self.judge(mutant, found) for mutant in tried)
        return Score(claim=self.claim.id, original=str(original.verdict), judged=judged)

    def judge(self, mutant: Mutant, found: Ranges) -> Judged:
        """One mutant's outcome; ``found`` are the ranges of the symbols."""
        try:
            evidence = self.decide(mutant.statement)
        except (InvalidParameter, OutsideTheorem, ArithmeticError, ValueError, KeyError) as error:
            reason = " ".join(str(error).split())[:200]
            return Judged(
                mutant=mutant.name, kind=mutant.kind, outcome="not tried", verdict="", why=reason
            )
        supported = evidence.verdict is Verdict.SUPPORTED
        outcome: Outcome
        if asks_less(mutant, found):
            outcome, why = "asks less", "" if supported else "it follows from the original"
        elif supported:
            outcome = "true here" if self.true_here(mutant) else "survived"
            why = room(evidence)
        else:
            outcome = "refuted" if evidence.verdict is Verdict.REFUTED else "unsupported"
            why = ""
        return Judged(
            mutant=mutant.name,
            kind=mutant.kind,
            outcome=outcome,
            verdict=str(evidence.verdict),
            why=why,
        )

    def true_here(self, mutant: Mutant) -> bool:
        """Whether a search of ten times the budget, from another seed, finds nothing either.

        Only searches are asked: their violations are exact, so that a larger budget comes nearer to
        the truth.  A sampled claim's survivors stay survivors.
        """
        procedure = self.procedure(mutant.statement)
        if not isinstance(procedure, Search):
            return False
        thorough = replace(
            procedure, budget=LABEL_BUDGET * procedure.budget, seed=procedure.seed + 1
        )
        return thorough.decide(self.store, self.level).verdict is Verdict.SUPPORTED


def room(evidence: Evidence) -> str:
    """Why a mutant survived: how far its bound still lies from the observed values."""
    ratios = [c.ratio for c in evidence.cells if c.ratio is not None and math.isfinite(c.ratio)]
    if not ratios:
        return evidence.summary
    return f"the largest ratio of observed value to bound is {max(ratios):.3g}"


def ranges(procedure: Procedure, evidence: Evidence) -> dict[str, tuple[float, float]]:
    """The range of every symbol over the claim's cells, or over the domain of its search."""
    found: dict[str, list[float]] = {}
    for cell in evidence.cells:
        for name, value in numbers(cell.params).items():
            found.setdefault(name, []).append(value)
    domain = getattr(procedure, "domain", None)
    ends = getattr(domain, "ranges", domain)
    if isinstance(ends, Mapping):
        for name, r in ends.items():
            if isinstance(r, Interval | LogInterval | IntRange):
                found.setdefault(name, []).extend((float(r.low), float(r.high)))
    return {name: (min(values), max(values)) for name, values in found.items()}


def numbers(params: Mapping[str, Any]) -> dict[str, float]:
    """The parameters that are numbers."""
    return {
        name: float(value)
        for name, value in params.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    }


def total(scores: Sequence[Score]) -> tuple[int, int]:
    """(caught, tried) over several claims."""
    return sum(s.n_caught for s in scores), sum(s.n_false for s in scores)

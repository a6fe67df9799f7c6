r"""P(bad) <= delta in every cell, by a beta-binomial confidence sequence in doubling rounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np

from trials.run.cell import Params
from trials.run.engine import trial_id
from trials.run.store import Table
from verify.decisions.probability import (
    ProbabilityDecision,
    decide_exact_probability,
    decide_probability,
)
from verify.decisions.sequences import resolvable
from verify.evidence import Evidence, Verdict, Witness
from verify.procedures.base import (
    BoolArray,
    Observed,
    Present,
    Presentation,
    Sampling,
    Trials,
    finished,
    nothing_to_show,
    truths,
)
from verify.procedures.interface import InRounds
from verify.procedures.invented import invent_trials
from verify.proofs.cells import describe
from verify.proofs.certificate import Certificate, proof

Bad = Callable[[Table, Params], BoolArray]

# Rounds are played again by each request for trials and by the verdict, on the same counts.
_decide = lru_cache(maxsize=512)(decide_probability)
_decide_exactly = lru_cache(maxsize=512)(decide_exact_probability)


class _Stated(NamedTuple):
    """A cell's stated probability, its log, and the logs of its exact laws, NaN without one."""

    delta: float
    log_delta: float = math.nan
    log_limit: float = math.nan
    log_least: float = math.nan


@dataclass(frozen=True, kw_only=True)
class Probability(InRounds):
    """The kind *probability*: all constants explicit, P(bad) <= delta tested cell by cell.

    Attributes
    ----------
    bad : ``(trials, cell) -> (n_trials,)`` bool.  A failed trial always counts as bad.
    delta : ``cell -> `` stated failure probability.
    exact : test ``P(bad) = delta`` (a law) instead of ``<=``, with a relative equivalence margin.
    validate : raises `OutsideTheorem` for a cell that violates the assumptions.
    event : the event "bad" in words, for the report.
    log_delta : the logarithm of ``delta``, where delta underflows.
    log_limit : ``cell -> `` log of an upper limit on P(bad) from an exact law, None where a cell
        has none.
    log_least : ``cell -> `` log of a lower limit on P(bad) from an exact law, or None.  It refutes
        where it is above the stated probability, however rare the event is among the trials.
    certify : makes a certificate that the statement fails, or raises `NotProved`.
    symbols : ``(trials, cell) -> `` the statement's symbols in the cell, those that differ between
        trials as arrays.  With them a mutant that states less is recognised without a test.
    complete : ``cell -> cell`` with those parameters anew that the statement takes from the others,
        such as its number of steps.
    prove : ``cells -> `` the proof that each of them keeps its stated probability, or None.
    verdict_alone : whether the exact laws' upper limits are left out where the trials refute.
    """

    name: str
    sampling: Sampling
    cells: tuple[Params, ...]
    bad: Bad
    delta: Callable[[Params], float]
    event: str
    validate: Callable[[Params], None] = lambda _cell: None
    exact: float | None = None
    log_delta: Callable[[Params], float] | None = None
    log_limit: Callable[[Params], float | None] = lambda _cell: None
    log_least: Callable[[Params], float | None] = lambda _cell: None
    certify: Callable[[], Certificate] | None = None
    symbols: Callable[[Table, Params], Mapping[str, Any]] = lambda _table, _cell: {}
    complete: Callable[[Params], Params] = lambda cell: cell
    prove: Callable[[Sequence[Params]], Mapping[str, Any] | None] = lambda _cells: None
    present: Present = nothing_to_show
    verdict_alone: bool = False
    _known: dict[int, tuple[Params, _Stated]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def require(self, cell: Params) -> None:
        """The cell is possible and inside the theorem."""
        self.sampling.check([cell], self.validate)

    def describe(self) -> str:
        """Cells, budget and stopping rule."""
        form = (
            f"equal to the law's value (equivalence margin {self.exact:.0%})"
            if self.exact is not None
            else "at most the stated $\\delta$"
        )
        return (
            f"A trial counts against the statement with {self.event}. Its probability is tested to "
            f"be {form} in {len(self.cells)} cells of experiment {self.sampling.experiment.name}, "
            "by a beta-binomial confidence sequence. The trials come in doubling rounds from "
            f"{self.sampling.first} to {self.sampling.max_trials} trials a "
            "cell, and a decided cell gets no more. Failed trials count as violations. Where "
            "$\\delta$ is smaller than the smallest probability that the budget resolves, the test "
            "uses that probability, and the verdict says so."
        )

    def is_coarse(self, level: float) -> bool:
        """Whether a cell without an exact law may fail more seldom than its trials resolve."""
        least = resolvable(self.sampling.max_trials, level)
        return any(
            self.delta(cell) < least and not self._log_limit(cell) <= self._log_delta(cell)
            for cell in self.cells
        )

    def without_laws(self) -> Self:
        """The same test without the exact law of the event."""
        return replace(self, log_limit=lambda _cell: None, log_least=lambda _cell: None)

    def without_figures(self) -> Self:
        """The same test for a verdict alone."""
        return replace(self, present=nothing_to_show, verdict_alone=True)

    def fingerprint(self) -> Any:
        """The violations among invented trials, the stated probabilities, and the cells."""
        table = invent_trials(self.sampling.experiment)
        bad = [truths("bad", self.bad(table, c), table.n_trials).tolist() for c in self.cells]
        return [bad, [self.delta(cell) for cell in self.cells], list(map(repr, self.cells))]

    def completed(self, cell: Params) -> Params:
        """The cell with the parameters anew that the statement takes from the others."""
        return self.complete(cell)

    def values_at(self, cell: Params, like: Params, store: Trials) -> Mapping[str, Any]:
        """A cell with the symbols of the stored trials of ``like``, where it has any."""
        stored = finished(self.sampling.observed(store, [like]))
        return {**cell, **(self.symbols(stored[0].table, cell) if stored else {})}

    def unresolved(self, observed: Sequence[Observed], level: float) -> Sequence[int]:
        """The undecided cells, none after one has refuted."""
        decision = self._decision(observed, level)
        return [] if decision.verdict is Verdict.REFUTED else decision.unresolved

    def _bad(self, observed: Observed) -> BoolArray:
        """The trials that count against the statement, (n_trials,), which failed ones do.

        The event is asked of the others alone: the row of a failed trial may hold no numbers, and
        a bound has no value there.
        """
        bad = observed.table.failed.copy()
        if not bad.all():
            table = observed.table.finished
            bad[~bad] = truths("bad", self.bad(table, observed.params), table.n_trials)
        return bad

    def _decision(self, observed: Sequence[Observed], level: float) -> ProbabilityDecision:
        bad = tuple(int(np.sum(self._bad(o) & ~o.table.failed)) for o in observed)
        counts = tuple(o.table.n_trials for o in observed)
        failed = tuple(o.table.n_failed for o in observed)
        cells = [o.params for o in observed]
        if self.exact is not None:
            deltas = tuple(map(self.delta, cells))
            return _decide_exactly(
                bad, counts, deltas, level, margin=self.exact, failed_counts=failed
            )

        def decided(stated: Sequence[_Stated]) -> ProbabilityDecision:
            return _decide(
                bad,
                counts,
                tuple(s.delta for s in stated),
                level,
                failed_counts=failed,
                resolution=resolvable(self.sampling.max_trials, level) * (1 + 1e-6),
                log_limits=tuple(s.log_limit for s in stated),
                log_least=tuple(s.log_least for s in stated),
                log_deltas=tuple(s.log_delta for s in stated),
            )

        # An upper limit takes back no refutation by trials, and is the dearest part of a law.
        if self.verdict_alone and all(math.isnan(self._log_least(cell)) for cell in cells):
            alone = decided([_Stated(self.delta(cell), self._log_delta(cell)) for cell in cells])
            if alone.verdict is Verdict.REFUTED:
                return alone
        return decided([self._stated_in(cell) for cell in cells])

    def _stated_in(self, cell: Params) -> _Stated:
        """The probabilities in a cell, for which each round asks."""
        known = self._known.get(id(cell))
        if known is None:  # the cell is kept as well, so that no other one gets its identity
            laws = self._log_delta(cell), self._log_limit(cell), self._log_least(cell)
            stated = _Stated(self.delta(cell), *laws)
            known = self._known[id(cell)] = cell, stated
        return known[1]

    def _log_limit(self, cell: Params) -> float:
        return self._log_of(self.log_limit, cell)

    def _log_least(self, cell: Params) -> float:
        return self._log_of(self.log_least, cell)

    def _log_of(self, law: Callable[[Params], float | None], cell: Params) -> float:
        """The log of a law's probability in a cell, NaN where the cell has no law."""
        log = law(self.sampling.experiment.check(cell))
        return math.nan if log is None or math.isnan(log) else min(0.0, log)

    def _log_delta(self, cell: Params) -> float:
        if self.log_delta is not None:
            return self.log_delta(cell)
        delta = self.delta(cell)
        return math.log(delta) if delta > 0 else -math.inf

    def decide(self, store: Trials, level: float) -> Evidence:
        """The verdict with one row a cell and, when refuted, a trial to replay."""
        _, observed = self.rounds(store, level)
        decision = self._decision(observed, level)
        supported = decision.verdict is Verdict.SUPPORTED
        proved = self.prove([o.params for o in observed]) if supported else None
        return self.evidence(
            observed,
            verdict=decision.verdict,
            proved=proved,
            own=Presentation(notes=() if proved is None else describe(proved)),
            resolution=decision.resolution,
            proof=proof(self.certify) if decision.verdict is Verdict.REFUTED else None,
            summary=decision.summary,
            level=level,
            cells=decision.cell_results([o.params for o in observed]),
            witness=self._witness(decision, observed),
        )

    def _witness(
        self, decision: ProbabilityDecision, observed: Sequence[Observed]
    ) -> Witness | None:
        if decision.verdict is not Verdict.REFUTED or decision.worst is None:
            return None
        worst, cell = observed[decision.worst], decision.cells[decision.worst]
        indices = np.flatnonzero(self._bad(worst))
        return Witness(
            description=(
                f"{self.event}, in {cell.n_bad} of {cell.n_trials} trials; this is the first of "
                f"them"
            ),
            params=worst.params,
            observed=cell.observed,
            bound=cell.delta,
            trial=trial_id(self.sampling.experiment, worst.params, int(indices[0]))
            if indices.size
            else None,
        )

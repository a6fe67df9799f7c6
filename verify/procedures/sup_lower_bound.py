"""Suprema: an optimiser inside a trial may refute a statement or measure it, never support it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from bounds.statement import Statement, Values
from trials.checks import InvalidParameter
from trials.run.cell import Params
from trials.run.engine import trial_id
from trials.run.store import Table
from verify.decisions.suprema import SupDecision, decide_supremum
from verify.evidence import Evidence, EvidenceTable, Verdict, Witness
from verify.procedures.base import (
    FloatArray,
    Observed,
    Present,
    Presentation,
    Sampling,
    Trials,
    nothing_to_show,
)
from verify.procedures.interface import InRounds, Valued, the_cell


@dataclass(frozen=True, kw_only=True)
class SupLB(Valued, InRounds):
    """The kind *supremum*: a limit on a supremum, tried with an optimiser's lower bound of it.

    The limit and the failure probability are the statement's.  Universal constants of the statement
    are at the generous end of their box, unless ``values`` gives them.  A refutation there is a
    refutation for every constant of the box.

    Attributes
    ----------
    best : ``(trials, cell) -> (n_trials,)`` the best value that the optimiser found in each trial.
    optimiser : the function that is maximised and the method, in words.
    """

    statement: Statement
    sampling: Sampling
    cells: tuple[Params, ...]
    best: Callable[[Table, Params], FloatArray]
    optimiser: str
    values: Callable[[Params], Values] = the_cell
    present: Present = nothing_to_show

    def _values(self, cell: Params) -> dict[str, Any]:
        given = dict(self.values(cell))
        generous = {
            c.name: c.most_generous for c in self.statement.constants if c.name not in given
        }
        return {**generous, **given}

    def limit(self, cell: Params) -> float:
        """The stated limit, constants as generous as their box allows."""
        return float(self.statement.bound(self._values(cell)))

    def delta(self, cell: Params) -> float:
        """The stated failure probability, zero where the statement never fails."""
        return self.statement.failure_probability(self._values(cell))

    def check(self) -> None:
        """The statement bounds from above, and every cell is possible."""
        if self.statement.relation != r"\le":
            raise InvalidParameter(
                f"{self.name}: relation {self.statement.relation} must be an upper bound"
            )
        super().check()

    def require(self, cell: Params) -> None:
        """The cell is possible, and its limit is positive."""
        self.sampling.experiment.check(cell)
        if not self.limit(cell) > 0:
            raise InvalidParameter(f"{self.name}: the limit {self.limit(cell):g} must be > 0")

    def describe(self) -> str:
        """Optimiser, cells, budget and the possible verdicts."""
        return (
            f"{self.optimiser}, in {len(self.cells)} cells of experiment "
            f"{self.sampling.experiment.name}, gives a lower bound of the supremum in each trial. "
            "The claim is refuted when it exceeds the limit, with constants at the generous end of "
            "their box, more often than stated (beta-binomial confidence sequence, doubling rounds "
            "from "
            f"{self.sampling.first} to {self.sampling.max_trials} trials a cell, corrected over "
            "cells). It never supports: a better optimiser might find more. A failed trial found "
            "nothing."
        )

    def fingerprint(self) -> Any:
        """The limit and the failure probability of every cell."""
        return [[self.limit(cell), self.delta(cell)] for cell in self.cells]

    def moved_to(self, cells: tuple[Params, ...]) -> Self:
        """An optimiser never supports, so that no cell outside is tried."""
        raise InvalidParameter("its procedure refutes only, so that no cell is added")

    def unresolved(self, observed: Sequence[Observed], level: float) -> list[int]:
        """All cells until one refutes."""
        decision = self._decision(observed, level)
        if decision.verdict is not Verdict.INCONCLUSIVE:
            return []
        return [i for i, c in enumerate(decision.cells) if c.status == "open"]

    def _read_found(self, observed: Observed) -> FloatArray:
        found = np.asarray(self.best(observed.table, observed.params), dtype=np.float64)
        return np.where(observed.table.failed | np.isnan(found), -np.inf, found)

    def _decision(self, observed: Sequence[Observed], level: float) -> SupDecision:
        return decide_supremum(
            [self._read_found(o)[~o.table.failed] for o in observed],
            [self.limit(o.params) for o in observed],
            [self.delta(o.params) for o in observed],
            level,
            failed=[o.table.n_failed for o in observed],
        )

    def decide(self, store: Trials, level: float) -> Evidence:
        """REFUTED, VACUOUS or INCONCLUSIVE, with the least factor by which the limit must grow."""
        _, observed = self.rounds(store, level)
        decision = self._decision(observed, level)
        return self.evidence(
            observed,
            Presentation(
                tables=(self._table(decision, observed),),
                notes=("The values are lower bounds of a supremum.",),
            ),
            verdict=decision.verdict,
            summary=decision.summary,
            level=level,
            n_trials=sum(c.n_trials for c in decision.cells),
            n_failed=sum(c.n_failed for c in decision.cells),
            cells=[
                c.decision().result(o.params) for c, o in zip(decision.cells, observed, strict=True)
            ],
            witness=self._witness(decision, observed),
        )

    def _table(self, decision: SupDecision, observed: Sequence[Observed]) -> EvidenceTable:
        rows = [
            (i, c.limit, float(np.max(self._read_found(o))), c.largest, c.needed_lower)
            for i, (c, o) in enumerate(zip(decision.cells, observed, strict=True), 1)
        ]
        return EvidenceTable(
            title="Best values found",
            columns=("cell", "limit", "largest value", "over the limit", "limit must grow by"),
            rows=rows,
            note="the last column is a lower confidence limit",
        )

    def _witness(self, decision: SupDecision, observed: Sequence[Observed]) -> Witness | None:
        if decision.verdict is not Verdict.REFUTED:
            return None
        i = next(i for i, c in enumerate(decision.cells) if c.status == "fails")
        found, params = self._read_found(observed[i]), observed[i].params
        top = int(np.argmax(found))
        return Witness(
            description=f"the limit is exceeded in {decision.cells[i].exceeded} of "
            f"{decision.cells[i].n_trials} trials; the trial with the largest value",
            params=params,
            observed=float(found[top]),
            bound=decision.cells[i].limit,
            trial=trial_id(self.sampling.experiment, params, top),
        )

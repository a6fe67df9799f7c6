"""From the cells of a claim to its verdict: one refuting cell refutes, support needs every cell.

The error level of refutations is split over the cells before they get here (Bonferroni).  Support
needs no split: a claim is an intersection over cells, so the test that all of them support is an
intersection-union test (Berger 1982, Technometrics 24).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from trials.checks import InvalidParameter
from verify.evidence import CellResult, Relation, Verdict, ratio_of

Status = Literal["fails", "holds", "open", "trivial"]

_WORDS: dict[Status, str] = {
    "fails": str(Verdict.REFUTED),
    "holds": str(Verdict.SUPPORTED),
    "open": str(Verdict.INCONCLUSIVE),
    "trivial": str(Verdict.VACUOUS),
}


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict of a statement with several parts: one refuted part refutes it."""
    order = (Verdict.REFUTED, Verdict.INCONCLUSIVE, Verdict.SUPPORTED)
    return next(verdict for verdict in order if verdict in verdicts)


@dataclass(frozen=True, kw_only=True)
class CellDecision:
    """The decision of one cell: an estimate with its limits, beside the stated bound.

    ``lower`` and ``upper`` are confidence limits at the levels that the deciding module documents.
    ``status`` is ``"trivial"`` where the bound allows everything.  ``asymptotic`` says that the
    cell is decided by limits that are valid for many trials only.
    """

    status: Status
    n_trials: int
    bound: float
    observed: float | None = None
    se: float | None = None
    lower: float | None = None
    upper: float | None = None
    n_failed: int = 0
    reason: str = ""
    relation: Relation = "at most"
    asymptotic: bool = False

    def result(self, params: Mapping[str, Any]) -> CellResult:
        """The cell as a row of the evidence."""
        return CellResult(
            params=dict(params),
            n_trials=self.n_trials,
            n_failed=self.n_failed,
            observed=self.observed,
            se=self.se,
            lower=self.lower,
            upper=self.upper,
            bound=self.bound,
            ratio=ratio_of(self.observed, self.bound, self.relation),
            relation=self.relation,
            verdict=_WORDS[self.status],
            note=self.reason,
        )


def worse(cells: Sequence[CellDecision]) -> CellDecision:
    """Of several decisions about one cell, the one that is worst for the statement.

    Failed trials may be counted in several ways, and the statement must survive each.  Among equal
    statuses it is the one whose observed value is farthest from the bound.
    """
    order: tuple[Status, ...] = ("fails", "open", "holds", "trivial")

    def place(cell: CellDecision) -> tuple[int, float]:
        seen = math.inf if cell.observed is None else cell.observed
        return order.index(cell.status), -abs(seen - cell.bound)

    return min(cells, key=place)


def combine(
    cells: Sequence[CellDecision], one: str = "cell", many: str = "cells"
) -> tuple[Verdict, str]:
    """The verdict over all cells and one sentence for it, in which they have another name."""
    if not cells:
        raise InvalidParameter("cells must hold at least one decided cell")
    live = [c for c in cells if c.status != "trivial"]
    if not live:
        return Verdict.VACUOUS, f"the bound allows everything in every {one}"
    failing = [c for c in live if c.status == "fails"]
    if failing:
        return Verdict.REFUTED, f"{len(failing)} of {len(live)} {many} contradict the statement"
    unresolved = [c for c in live if c.status == "open"]
    if unresolved:
        reason = unresolved[0].reason or "the limits include the bound"
        return Verdict.INCONCLUSIVE, f"{len(unresolved)} of {len(live)} {many} unresolved: {reason}"
    extra = len(cells) - len(live)
    trivial = f"; the bound allows everything in {extra} more" if extra else ""
    alone = f"one {one}" if extra else f"its one {one}"
    where = alone if len(live) == 1 else f"all {len(live)} {many}"
    return Verdict.SUPPORTED, f"holds in {where}{trivial}"

r"""Suprema that an optimiser bounds from below: they may refute or measure, and never support.

A trial maximises :math:`f(\theta)` over a set and reports the best value that it found, which is
at most the supremum.  If that lower bound exceeds the stated limit in more than a share
:math:`\delta` of the trials, so does the supremum, and the statement is false.  If it does not,
nothing follows: a better optimiser might.  A value that attains the limit, and is above it by a
rounding, does not exceed it.  The type of a decision knows no support: `SupVerdict`
has three words, and a fourth is refused when the record is made.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from trials.checks import InvalidParameter
from verify.decisions.combine import CellDecision, Status
from verify.decisions.probability import ProbabilityDecision, decide_probability
from verify.decisions.sequences import ROUNDING, FloatArray, quantile_lower
from verify.evidence import Verdict

SupVerdict = Literal[Verdict.REFUTED, Verdict.INCONCLUSIVE, Verdict.VACUOUS]
_WORDS = (Verdict.REFUTED, Verdict.INCONCLUSIVE, Verdict.VACUOUS)


@dataclass(frozen=True, kw_only=True)
class SupCell:
    """One cell: how often the best value found exceeds the limit, and the value that is needed.

    Attributes
    ----------
    exceeded, n_trials, n_failed : counts.  A failed trial found no value, so it does not exceed the
        limit.
    share_lower : lower limit of the probability of exceeding, at the refuting level.
    delta : the stated failure probability.
    needed_lower : lower limit of the (1 - delta)-quantile of best value over limit, where delta is
        zero the largest of these values.  The limit would have to grow by at least this factor.
    largest : the largest best value over limit.
    """

    exceeded: int
    n_trials: int
    n_failed: int
    share_lower: float
    delta: float
    limit: float
    needed_lower: float
    largest: float

    @property
    def status(self) -> Status:
        """The status: refuting, undecided, or trivial.  No cell supports."""
        if self.delta >= 1.0 or self.limit == math.inf:
            return "trivial"
        return "fails" if self.share_lower > self.delta else "open"

    def decision(self) -> CellDecision:
        """The cell in the form of the other procedures."""
        share = self.exceeded / self.n_trials if self.n_trials else 0.0
        return CellDecision(
            status=self.status,
            n_trials=self.n_trials,
            n_failed=self.n_failed,
            bound=self.delta,
            observed=share,
            lower=self.share_lower,
            reason=f"best value up to {self.largest:.3g} times the limit, which would have to grow "
            f"{self.needed_lower:.3g} times at least",
        )


@dataclass(frozen=True, kw_only=True)
class SupDecision:
    """The verdict over all cells.  The type has no value for support."""

    verdict: SupVerdict
    summary: str
    cells: tuple[SupCell, ...]

    def __post_init__(self) -> None:
        """Refuse support at run time, for callers without a type checker."""
        if self.verdict not in _WORDS:
            raise InvalidParameter(
                f"verdict={self.verdict} must be one of {', '.join(_WORDS)}: an optimiser's lower "
                "bound of a supremum supports nothing"
            )


def decide_supremum(
    best: Sequence[FloatArray],
    limits: Sequence[float],
    deltas: Sequence[float],
    level: float,
    *,
    failed: Sequence[int] | None = None,
) -> SupDecision:
    r"""Decide :math:`P(\sup f > b_c) \le \delta_c` from lower bounds of the supremum.

    Parameters
    ----------
    best : for each cell the best values found, (n_c,), failed trials left out.
    limits : the stated limits :math:`b_c` > 0.
    deltas : the stated failure probabilities.
    level : probability of refuting a true statement, split here over the cells.
    failed : for each cell the trials that failed.
    """
    lost = [0] * len(best) if failed is None else list(failed)
    if not len(best) == len(limits) == len(deltas) == len(lost) or not best:
        raise InvalidParameter("best, limits, deltas and failed must have one entry a cell")
    if any(not limit > 0 for limit in limits):
        raise InvalidParameter("limits must be > 0 in every cell")
    ratios = [_over(b, b_c) for b, b_c in zip(best, limits, strict=True)]
    exceeded = [int(np.sum(r > 1.0 + ROUNDING)) for r in ratios]
    n_trials = [r.size + n for r, n in zip(ratios, lost, strict=True)]
    # A failed trial found nothing, so it counts as a trial that does not exceed.
    tested: ProbabilityDecision = decide_probability(exceeded, n_trials, list(deltas), level)
    cells = tuple(
        SupCell(
            exceeded=exceeded[i],
            n_trials=n_trials[i],
            n_failed=lost[i],
            share_lower=tested.cells[i].lower,
            delta=deltas[i],
            limit=limits[i],
            needed_lower=_needed(r, lost[i], deltas[i], level / len(best)),
            largest=float(r.max()) if r.size else 0.0,
        )
        for i, r in enumerate(ratios)
    )
    largest = max(c.largest for c in cells)
    if all(c.status == "trivial" for c in cells):
        return SupDecision(
            verdict=Verdict.VACUOUS, summary="the limit allows everything", cells=cells
        )
    failing = sum(c.status == "fails" for c in cells)
    if failing:
        return SupDecision(
            verdict=Verdict.REFUTED,
            summary=f"the supremum exceeds its limit too often in {failing} of {len(cells)} cells; "
            f"best value up to {largest:.3g} times the limit",
            cells=cells,
        )
    return SupDecision(
        verdict=Verdict.INCONCLUSIVE,
        summary=f"not refuted: best value found up to {largest:.3g} times the limit; a lower bound "
        "of a supremum supports nothing",
        cells=cells,
    )


def _over(best: FloatArray, limit: float) -> FloatArray:
    """The best values over the limit, zero where it is infinite: infinite values are within it."""
    values = np.asarray(best, dtype=np.float64)
    return values / limit if math.isfinite(limit) else np.zeros_like(values)


def _needed(ratios: FloatArray, n_failed: int, delta: float, level: float) -> float:
    """The lower limit of the factor by which the limit would have to grow, zero without one.

    A failed trial found no value, so its ratio lies below all others.
    """
    if not ratios.size or delta >= 1.0:
        return 0.0
    if delta == 0.0:  # no value may exceed the limit
        return max(float(ratios.max()), 0.0)
    found = np.append(ratios, np.full(n_failed, -np.inf))
    return max(quantile_lower(found, 1.0 - delta, level, anytime=True), 0.0)

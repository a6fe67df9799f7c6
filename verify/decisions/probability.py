r"""Deciding claims of the form :math:`P(\mathrm{bad}) \le \delta_c` in every cell :math:`c`.

*Refute* when, in some cell, the lower confidence limit at level :math:`\alpha / C` exceeds
:math:`\delta_c` (Bonferroni over the C cells that are not trivial).  *Support* when in every cell
the upper limit at level :math:`\alpha` is at most :math:`\delta_c`: the claim is an intersection,
its complement a union, so no correction is needed (Berger 1982).  Both use the beta-binomial
confidence sequence with a prior centred at :math:`\delta_c`, so a verdict may be taken at any
stopping time, and each kind of wrong verdict has probability at most :math:`\alpha`.
A failed trial is a bad trial.

Where an exact law gives an upper limit on P(bad), that limit supports a cell without regard to the
number of trials.  It does not overrule trials that refute.  Where a law gives a lower limit that
lies above delta, the cell refutes, however few trials there are.  Where the trials' limits at
level :math:`\alpha / C` exclude the law's, either the law or the sampler is wrong.  Such a cell
says so: its law decides nothing, and it does not support.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trials.checks import InvalidParameter
from verify.decisions.combine import CellDecision, Status
from verify.decisions.sequences import (
    ROUNDING,
    FloatArray,
    check_level,
    confidence_sequence,
    exceeds,
    falls_below,
    log_evidence,
    prior_for,
    trials_to_resolve,
)
from verify.evidence import CellResult, Verdict

#: What a cell says whose trials exclude its exact law.
CONTRADICTED = "the trials contradict the exact law, which is left out"


@dataclass(frozen=True, kw_only=True)
class ProbabilityCell(CellDecision):
    """One cell: the count of bad trials, its limits, and its status.

    ``lower`` is valid at the refuting level (already split over cells), ``upper`` at the supporting
    level.  ``upper`` is compared with ``target``: delta, or the stated resolution where delta is
    below it.  ``by_law`` marks a cell that an exact law decides.
    """

    n_bad: int
    observed: float
    lower: float
    upper: float
    target: float
    by_law: bool = False

    @property
    def delta(self) -> float:
        """The stated probability."""
        return self.bound

    @property
    def resolved(self) -> bool:
        """Whether the cell supports its own delta, and not only the run's resolution."""
        return self.status == "holds" and (self.target <= self.bound or self.by_law)


@dataclass(frozen=True, kw_only=True)
class ProbabilityDecision:
    """The verdict over all cells.  ``worst`` and ``unresolved`` index ``cells``.

    ``resolution`` is the largest probability down to which some supporting cell was resolved, among
    the cells where it is above delta.  It is None where every cell was resolved to its delta.
    """

    verdict: Verdict
    summary: str
    level: float
    cells: tuple[ProbabilityCell, ...]
    worst: int | None
    unresolved: tuple[int, ...]
    resolution: float | None = None

    def cell_results(self, params: Sequence[Mapping[str, Any]]) -> tuple[CellResult, ...]:
        """The cells as evidence, one parameter assignment for each."""
        return tuple(c.result(p) for p, c in zip(params, self.cells, strict=True))


class _Counts(NamedTuple):
    """Bad trials with the failed ones, trials, stated probabilities, failed trials: (C,) each."""

    bad: FloatArray
    n: FloatArray
    stated: FloatArray
    failed: FloatArray

    def cell(self, c: int, **decided: Any) -> ProbabilityCell:
        """The decision of cell number ``c``."""
        n = max(float(self.n[c]), 1.0)
        rate = float(self.bad[c]) / n
        return ProbabilityCell(
            n_trials=int(self.n[c]),
            n_bad=int(self.bad[c]),
            n_failed=int(self.failed[c]),
            bound=float(self.stated[c]),
            observed=rate,
            se=math.sqrt(rate * (1.0 - rate) / n),
            **decided,
        )


def _counts(
    bad_counts: ArrayLike,
    n_trials: ArrayLike,
    targets: ArrayLike,
    failed: ArrayLike | None,
    name: str,
) -> _Counts:
    """The counts of all cells, validated and broadcast."""
    raw = np.broadcast_arrays(
        *(
            np.atleast_1d(np.asarray(v, dtype=np.float64))
            for v in (bad_counts, n_trials, targets, 0.0 if failed is None else failed)
        )
    )
    bad, n, target, lost = (np.array(v, dtype=np.float64) for v in raw)
    bad = bad + lost
    if bad.size == 0:
        raise InvalidParameter("bad_counts must hold at least one cell")
    if np.any(~np.isfinite(target) | (target < 0)):
        raise InvalidParameter(f"{name} must be finite and >= 0 in every cell")
    if np.any((bad < 0) | (lost < 0) | (bad > n)):
        raise InvalidParameter("bad (with failed) trials must number between 0 and n_trials")
    return _Counts(bad, n, target, lost)


def _priors(targets: FloatArray) -> tuple[FloatArray, FloatArray]:
    shapes = np.array([prior_for(float(d)) for d in targets])
    return shapes[:, 0], shapes[:, 1]


def _why_decided(status: Status, law: tuple[float, float] | None, coarse: float | None) -> str:
    """Why a cell is decided, empty where its trials decide it at delta itself.

    ``law`` holds the logs of the exact law's lower and upper limits where it decides the cell, and
    ``coarse`` the run's resolution where it is above delta.
    """
    if status == "trivial":
        return "delta >= 1: the statement allows everything"
    if law is not None:
        at_least, at_most = law
        limit = f"least {_power(at_least)}" if status == "fails" else f"most {_power(at_most)}"
        return f"computed from the exact law: at {limit}"
    if status == "holds" and coarse is not None:
        return f"supported down to the stated resolution {coarse:.3g} only"
    return ""


def decide_probability(
    bad_counts: ArrayLike,
    n_trials: ArrayLike,
    deltas: ArrayLike,
    level: float,
    *,
    failed_counts: ArrayLike | None = None,
    resolution: float = 0.0,
    support_level: float | None = None,
    log_limits: ArrayLike | None = None,
    log_deltas: ArrayLike | None = None,
    log_least: ArrayLike | None = None,
) -> ProbabilityDecision:
    r"""Decide :math:`P(\mathrm{bad}) \le \delta_c` for all cells, at any stopping time.

    Parameters
    ----------
    bad_counts, n_trials, deltas : one entry for each cell.  Scalars broadcast.
    level : probability of refuting a true claim.
    failed_counts : trials that diverged or raised and are not in ``bad_counts`` yet.  They are
        added to it.
    resolution : declared smallest probability that the run sets out to resolve.  A cell with
        ``delta < resolution`` supports the claim when its upper limit is at most ``resolution``,
        and the summary says so.  With zero (the default), and from one on, the limit must be at
        most delta itself: every limit is at most one.
    support_level : probability of supporting a false claim, ``level`` by default.
    log_limits : logs of upper limits on P(bad) from an exact law, NaN where there is none.  A cell
        whose limit is at most delta supports the claim, unless its trials refute it or the law.
    log_deltas : logarithms of the deltas, for deltas that underflow.  By default they are computed.
    log_least : logs of lower limits on P(bad) from an exact law, NaN where there is none.  A cell
        whose limit is above delta by more than rounding refutes the claim.

    Returns
    -------
    ProbabilityDecision : VACUOUS when delta >= 1 in all cells.
    """
    check_level(level)
    confirm = check_level(level if support_level is None else support_level)
    counts = _counts(bad_counts, n_trials, deltas, failed_counts, "delta")
    bad, n, delta, _ = counts
    trivial = delta >= 1.0
    n_live = int(np.sum(~trivial))
    split = level / max(n_live, 1)
    least = 0.0  # what a message speaks of where the stated probability is smaller
    if resolution >= 1.0:  # the trials resolve nothing, and all of them may be bad
        resolution, least = 0.0, 0.5
    target = np.maximum(delta, resolution)
    # Two tests, two priors, each centred at the probability that its test is about.
    prior, prior_target = _priors(delta), _priors(target)
    log_known, log_floor, log_delta = _laws(delta, log_limits, log_least, log_deltas)
    log_known, log_floor, contradicted = _kept_laws(counts, split, prior, log_known, log_floor)
    by_law = (log_floor > log_delta + ROUNDING) & ~trivial
    above = (exceeds(bad, n, delta, split, prior) & ~trivial) | by_law
    below = falls_below(bad, n, target, confirm, prior_target) & ~above & ~trivial & ~contradicted
    held = (log_known <= log_delta) & np.isfinite(log_delta) & ~above & ~trivial
    below |= held
    by_law |= held
    lower = np.fmax(confidence_sequence(bad, n, split, prior)[0], np.exp(log_floor))
    upper = np.fmin(confidence_sequence(bad, n, confirm, prior_target)[1], np.exp(log_known))

    statuses = np.select([trivial, above, below], ["trivial", "fails", "holds"], "open").tolist()
    cells = []
    for c, status in enumerate(statuses):
        if status == "open":
            reason = (
                ""
                if contradicted[c]
                else _why_unresolved(bad[c], n[c], max(target[c], least), confirm)
            )
        else:
            coarse = resolution if target[c] > delta[c] else None
            law = (log_floor[c], log_known[c]) if by_law[c] else None
            reason = _why_decided(status, law, coarse)
        if contradicted[c]:
            reason = "; ".join(filter(None, (CONTRADICTED, reason)))
        limits = {"lower": float(lower[c]), "upper": float(upper[c]), "target": float(target[c])}
        cells.append(counts.cell(c, status=status, reason=reason, by_law=bool(by_law[c]), **limits))
    badness = np.where(above, lower, -np.inf) if above.any() else upper
    worst = _worst(badness, delta if above.any() else target, trivial)
    verdict, summary = _verdict(cells, worst, resolution)
    return ProbabilityDecision(
        verdict=verdict,
        summary=summary,
        level=level,
        cells=tuple(cells),
        worst=worst,
        unresolved=tuple(c for c, cell in enumerate(cells) if cell.status == "open"),
        resolution=resolution if _n_coarse(cells) and verdict is Verdict.SUPPORTED else None,
    )


def _laws(
    delta: FloatArray,
    log_limits: ArrayLike | None,
    log_least: ArrayLike | None,
    log_deltas: ArrayLike | None,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Logs of the exact laws' upper and lower limits, NaN without one, and of the deltas."""
    with np.errstate(divide="ignore"):
        log_delta = np.log(delta) if log_deltas is None else np.asarray(log_deltas, np.float64)
    known, least = (
        np.broadcast_to(np.asarray(np.nan if log is None else log, np.float64), delta.shape)
        for log in (log_limits, log_least)
    )
    return known, least, log_delta


def _kept_laws(
    counts: _Counts,
    level: float,
    prior: tuple[FloatArray, FloatArray],
    log_known: FloatArray,
    log_floor: FloatArray,
) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
    """The law's limits, NaN where the trials exclude them, and the cells in which they do."""
    low, high = confidence_sequence(counts.bad, counts.n, level, prior)
    with np.errstate(divide="ignore"):
        contradicted = (np.log(low) > log_known) | (np.log(high) < log_floor)
    known, floor = (np.where(contradicted, np.nan, log) for log in (log_known, log_floor))
    return known, floor, contradicted


def _worst(badness: FloatArray, limit: FloatArray, trivial: NDArray[np.bool_]) -> int | None:
    """The cell of the largest ratio of badness and limit, None where all cells are trivial."""
    if trivial.all():
        return None
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.where(trivial, -np.inf, badness / limit)
    # 0/0 where both underflow: such a cell is far from its limit.
    return int(np.argmax(np.where(np.isnan(ratio), 0.0, ratio)))


def _n_coarse(cells: Sequence[ProbabilityCell]) -> int:
    """The number of cells that hold down to the declared resolution only."""
    return sum(cell.status == "holds" and not cell.resolved for cell in cells)


def _verdict(
    cells: Sequence[ProbabilityCell], worst: int | None, resolution: float
) -> tuple[Verdict, str]:
    """The verdict over all cells, with its reason.  ``worst`` is the cell of largest ratio."""
    n_live = sum(cell.status != "trivial" for cell in cells)
    unresolved = [cell for cell in cells if cell.status == "open"]
    if n_live == 0:
        return Verdict.VACUOUS, "delta >= 1 in every cell"
    if n_above := sum(cell.status == "fails" for cell in cells):
        w = cells[worst or 0]
        seen = "by the exact law" if w.by_law else f"{w.n_bad}/{w.n_trials}"
        return Verdict.REFUTED, (
            f"{n_above} of {n_live} cells exceed delta; worst: {seen}, "
            f"lower limit {w.lower:.3g} against delta={w.bound:.3g}"
        )
    if unresolved:
        summary = f"{len(unresolved)} of {n_live} cells unresolved: {unresolved[0].reason}"
        return Verdict.INCONCLUSIVE, summary
    coarse = _n_coarse(cells)
    summary = f"upper limit at most delta in {_of(n_live - coarse, n_live)}"
    if n_by_law := sum(cell.by_law for cell in cells):
        summary += f" ({n_by_law} computed from exact laws)"
    if coarse:
        summary += f"; {_of(coarse, n_live)} only down to the resolution {resolution:.3g}"
    if n_live < len(cells):
        summary += f"; delta >= 1 allows everything in {len(cells) - n_live} more"
    return Verdict.SUPPORTED, summary


def _power(log: float) -> str:
    """A probability from its logarithm, also where it underflows."""
    if log == -math.inf:
        return "0"
    return f"{math.exp(log):.2g}" if log > -700 else f"1e{math.ceil(log / math.log(10))}"


def _of(some: int, total: int) -> str:
    """``all 3 cells``, ``2 of 3 cells``, ``no cell``."""
    if some == 0:
        return "no cell"
    if some == total:
        return "the one cell" if total == 1 else f"all {total} cells"
    return f"{some} of {total} cells"


def _why_unresolved(bad: float, n: float, target: float, level: float) -> str:
    try:
        need = trials_to_resolve(target, level)
    except InvalidParameter:
        return f"no number of trials resolves delta = {target:.3g}"
    if n < need:
        return f"{int(n)} trials cannot resolve {target:.3g}: {need} failure-free ones are needed"
    return f"{int(bad)}/{int(n)} bad is too close to {target:.3g}"


def decide_exact_probability(
    counts: ArrayLike,
    n_trials: ArrayLike,
    probabilities: ArrayLike,
    level: float,
    *,
    margin: float = 0.1,
    failed_counts: ArrayLike | None = None,
) -> ProbabilityDecision:
    r"""Decide :math:`P = q_c` for all cells (an exact law), at any stopping time.

    REFUTED when in some cell the two-sided limits at level ``level / C`` exclude :math:`q_c`, for
    any size of the difference.  No sample proves an equality, so SUPPORTED means equivalence: in
    every cell the limits at ``level`` lie within :math:`q_c (1 \pm \mathrm{margin})` (capped at
    one).  In the cells, ``upper`` and ``lower`` are both at the supporting level.  A failed trial
    counts against the law: it must hold with all of them as occurrences, and with none.  A cell
    shows the count that is farther from the law.
    """
    check_level(level)
    most = _counts(counts, n_trials, probabilities, failed_counts, "probability")
    q, n = most.stated, most.n
    if np.any(q > 1):
        raise InvalidParameter("probability must be at most 1 in every cell")
    least = most._replace(bad=most.bad - most.failed)
    prior = _priors(q)
    excluded = np.zeros(q.size, dtype=np.bool_)
    inside = np.ones(q.size, dtype=np.bool_)
    for counted in (most, least):
        low_all, high_all = confidence_sequence(counted.bad, n, level / q.size, prior)
        excluded |= (q < low_all) | (q > high_all)
        lower, upper = confidence_sequence(counted.bad, n, level, prior)
        # At q = 1 the upper limit is one, hence inside.
        inside &= (lower >= q * (1 - margin)) & (upper <= np.minimum(q * (1 + margin), 1.0))
    inside &= ~excluded
    farther = np.where(np.abs(least.bad - n * q) > np.abs(most.bad - n * q), least.bad, most.bad)
    shown = most._replace(bad=farther)
    lower, upper = confidence_sequence(shown.bad, n, level, prior)
    cells = tuple(
        shown.cell(
            c,
            relation="equals",
            target=float(q[c] * (1 + margin)),
            lower=float(lower[c]),
            upper=float(upper[c]),
            status="fails" if excluded[c] else "holds" if inside[c] else "open",
            reason=""
            if excluded[c] or inside[c]
            else f"limits wider than {margin:.0%} of {q[c]:.3g}",
        )
        for c in range(q.size)
    )
    unresolved = tuple(c for c, cell in enumerate(cells) if cell.status == "open")
    worst = int(np.argmax(log_evidence(shown.bad, n, q, prior)))
    if excluded.any():
        verdict = Verdict.REFUTED
        summary = f"{int(excluded.sum())} of {q.size} cells exclude the stated probability"
    elif unresolved:
        verdict = Verdict.INCONCLUSIVE
        summary = f"{len(unresolved)} of {q.size} cells unresolved: {cells[unresolved[0]].reason}"
    else:
        verdict = Verdict.SUPPORTED
        summary = f"equal to within {margin:.0%} in all {q.size} cells"
    return ProbabilityDecision(
        verdict=verdict,
        summary=summary,
        level=level,
        cells=cells,
        worst=worst,
        unresolved=unresolved,
    )

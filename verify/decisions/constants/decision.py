"""The verdict on universal constants, from the three parts in turn."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from trials.checks import InvalidParameter
from verify.decisions.constants.calibration import Calibration, calibrate, room_of_choices
from verify.decisions.constants.drift import Drift
from verify.decisions.constants.extrapolation import Attempt, attempt_choice, extrapolation_reach
from verify.decisions.constants.feasibility import Feasibility, find_feasible
from verify.decisions.constants.problem import (
    Bound,
    CellSample,
    ConstantBox,
    ConstantValues,
    Direction,
    Problem,
    check_generous,
    check_problem,
    live_cells,
    pose,
    spell,
)
from verify.decisions.probability import ProbabilityDecision
from verify.decisions.sequences import check_level
from verify.evidence import EvidenceTable, Verdict, Witness


@dataclass(frozen=True, kw_only=True)
class ConstantsDecision:
    """The verdict and its three parts.  ``held_out_cells`` indexes the input cells."""

    verdict: Verdict
    summary: str
    level: float
    feasibility: Feasibility | None = None
    calibration: Calibration | None = None
    held_out: ProbabilityDecision | None = None
    held_out_cells: tuple[int, ...] = ()
    drift: Drift | None = None
    extrapolation: Mapping[str, float] = field(default_factory=dict)
    witness: Witness | None = None
    notes: tuple[str, ...] = ()

    @property
    def resolution(self) -> float | None:
        """The largest probability that stands in the place of a smaller delta, or None.

        Held-out cells may be resolved by exact laws, and the drift of constants by trials only.
        """
        parts = (self.held_out, self.drift)
        found = [part.resolution for part in parts if part is not None]
        return max((r for r in found if r is not None), default=None)

    def tables(self) -> tuple[EvidenceTable, ...]:
        """The calibrated constants and the drift as tables for the report."""
        tables = []
        if self.calibration is not None:
            c = self.calibration
            rows = [(name, c.fitted[name], c.frozen[name]) for name in c.frozen]
            tables.append(
                EvidenceTable(
                    title="Constants fitted on the calibration cells and frozen",
                    columns=("constant", "fitted", f"frozen (slack {c.slack:g})"),
                    rows=rows,
                    note="chosen: " + (spell(c.choice) or "nothing to choose"),
                )
            )
        if self.drift is not None and self.drift.slopes:
            slopes = [
                (
                    *(s.name, s.direction, *s.span, s.growth, s.se, s.upper, s.allowed),
                    *("yes" if s.excludes_log_log else "no", s.excluded),
                )
                for s in self.drift.slopes
            ]
            tables.append(
                EvidenceTable(
                    title="Growth of the required constant, per unit log",
                    columns=(
                        *("parameter", "towards", "from", "to", "growth", "se", "upper limit"),
                        *("allowed", "log log excluded", "factor excluded"),
                    ),
                    rows=slopes,
                    note=f"HC3 limits, one-sided, at level {self.level:.2g}. Allowed: "
                    f"{self.drift.margin:g}, or the slope that growth like a logarithm would show "
                    "in these cells if smaller. Log log excluded: whether the upper limit lies "
                    "below the slope that growth like an iterated logarithm would show. Where it "
                    "does not, such growth would not be noticed. Factor excluded: growth of the "
                    "required constant, as a power, by more than this factor over the whole "
                    "tried range" + _where_read(self.drift),
                )
            )
        return tuple(tables)


def _where_read(drift: Drift) -> str:
    """At which failure probability the constants of a drift were read, if not at the stated one."""
    if drift.by_law:
        return (
            ". The trials do not resolve the stated failure probability in every cell. So the "
            "upper limits hold as well for the constants that the exact laws require there"
        )
    if drift.resolution is not None:
        return (
            f". Where a smaller failure probability than {drift.resolution:.2g} is stated, which "
            "the trials do not resolve, the constants that this one requires are compared"
        )
    return ""


@dataclass(frozen=True, kw_only=True)
class ConstantsRules:
    """How strictly an upper bound with unspecified constants is tried, and by which cells.

    Attributes
    ----------
    tighten : constants to calibrate, in the order of their last tightening.  By default these are
        all that are not to choose.  Constants of assumptions are left out and stay at their
        generous end.
    failure : ``(constants, cell) -> `` allowed failure probability, ``cell.delta`` by default.
    assumption : ``(constants, cell) -> bool``.  Cells that fail it at the generous corner (the
        strictest reading) are not used.
    trivial : ``cell -> `` a bound that needs no theorem.  When the bound at the *fitted* constants
        is at or above it in all cells, the statement is vacuous there.
    slack : factor >= 1 by which fitted constants are relaxed before they are frozen.
    margin : growth per unit log that is allowed.  Growth like a logarithm is never allowed.
    resolution : passed to the held-out test (see `decide_probability`).
    min_extrapolation : how far outside the calibrated range the held-out cells must reach, for each
        drift parameter alone and for two or more jointly.  Otherwise the claim is not supported.
    kappa_floor : a required constant below it counts as this one.
    verdict_alone : whether nothing is fitted where feasibility alone refutes.

    Raises
    ------
    InvalidParameter : a slack below one.
    """

    tighten: Sequence[str] | None = None
    failure: Callable[[ConstantValues, CellSample], float] | None = None
    assumption: Callable[[ConstantValues, CellSample], bool] | None = None
    trivial: Callable[[CellSample], ArrayLike] | None = None
    slack: float = 2.0
    margin: float = 0.1
    resolution: float = 0.0
    min_extrapolation: float = 4.0
    kappa_floor: float = 1e-3
    verdict_alone: bool = False

    def __post_init__(self) -> None:
        """Refuse a slack that would tighten the fitted constants."""
        if not self.slack >= 1.0:
            raise InvalidParameter(f"slack={self.slack} must be >= 1")


DEFAULT_RULES = ConstantsRules()


def decide_constants(
    cells: Sequence[CellSample],
    constants: Sequence[ConstantBox],
    bound: Bound,
    *,
    drift: Mapping[str, Direction],
    level: float,
    rules: ConstantsRules = DEFAULT_RULES,
) -> ConstantsDecision:
    r"""Decide an upper bound with unspecified universal constants (see the package's docstring).

    Parameters
    ----------
    cells : calibration and held-out cells, one entry for each value of the constants to choose.
    constants : every universal constant, those hidden in assumptions included.
    bound : ``(constants, cell) -> `` scalar or (n_trials,) bound on ``cell.statistic``.  It is
        monotone in every constant that is not to choose.
    drift : parameter -> where the statement must keep holding: ``"up"`` as it grows, ``"down"`` as
        it shrinks, or ``"both"``.  It is empty for a statement about one instance, which has no
        trend.
    level : error probability of a wrong verdict of either sign.
    rules : what is used, and how strictly.

    Raises
    ------
    InvalidParameter : no held-out or no calibration cells, data that miss a choice, a bound that is
        not largest at the declared generous corner.
    """
    check_level(level)
    fixed = {c.name for c in constants if c.generous != "choose"}
    if unknown := [name for name in rules.tighten or () if name not in fixed]:
        raise InvalidParameter(f"tighten names {unknown}, which are not constants to tighten")
    everything = pose(cells, constants, bound, rules.failure, level)
    choices = check_problem(everything)
    live = live_cells(everything, rules.assumption)
    notes = []
    if len(live) < len(everything.cells):
        notes.append(
            f"{len(everything.cells) - len(live)} cells do not meet the assumptions at their "
            "generous constants, or allow any failure, so they are not used"
        )
    if not live:
        summary = "no cell meets the assumptions with a failure probability below one"
        return ConstantsDecision(
            verdict=Verdict.VACUOUS, summary=summary, level=level, notes=tuple(notes)
        )

    check_generous(everything, live)
    feasibility = find_feasible(everything, live, choices, level / 2)
    tried, note = None, ""
    if any(feasibility.feasible) or not rules.verdict_alone:
        tried, note = _try_choices(everything, live, choices, feasibility, drift, rules)
    reach = {}
    if tried is not None:
        reach = extrapolation_reach(everything.under(tried.calibration.choice, live), drift)
    vacuous = _says_nothing(everything, live, tried, rules.trivial)
    verdict, summary = conclude(feasibility, tried, reach, vacuous, rules.min_extrapolation)
    refuted = verdict is Verdict.REFUTED
    return ConstantsDecision(
        verdict=verdict,
        summary=summary,
        level=level,
        feasibility=feasibility,
        calibration=tried.calibration if tried else None,
        held_out=tried.held_out if tried else None,
        held_out_cells=tried.held_out_cells if tried else (),
        drift=tried.drift if tried else None,
        extrapolation=reach,
        witness=find_witness(everything, feasibility, tried) if refuted else None,
        notes=(*notes, note) if note else tuple(notes),
    )


def _try_choices(
    problem: Problem,
    live: Sequence[int],
    choices: Sequence[ConstantValues],
    feasibility: Feasibility,
    drift: Mapping[str, Direction],
    rules: ConstantsRules,
) -> tuple[Attempt | None, str]:
    """Parts 2 and 3 under the choice with the most room, and a note on the others.

    It is None where no choice has both calibration and held-out cells.
    """
    room = room_of_choices(problem, live, choices)
    if np.isnan(room).all():
        note = "no choice has live calibration and held-out cells: feasibility alone is tested"
        return None, note

    def attempt(k: int) -> Attempt:
        calibration = calibrate(problem, live, choices[k], room, rules.tighten, rules.slack)
        return attempt_choice(
            problem, live, calibration, drift, rules.margin, rules.kappa_floor, rules.resolution
        )

    best = _most_room(problem, room, choices, feasibility)
    tried = attempt(best)
    # The theorem lets one choose, so another choice may hold where the calibrated one fails.
    rivals = [k for k, f in enumerate(feasibility.feasible) if f and k != best]
    if not (tried.rejected and any(feasibility.feasible) and rivals):
        return tried, ""
    saved = [k for k in rivals if math.isnan(room[k]) or not attempt(k).rejected]
    if not saved:
        return tried, ""
    names = "; ".join(spell(choices[k]) for k in saved)
    note = f"the calibrated choice fails on held-out cells, but not so: {names}"
    return replace(tried, rejected=False), note


def _most_room(
    problem: Problem,
    room: Sequence[float],
    choices: Sequence[ConstantValues],
    feasibility: Feasibility,
) -> int:
    """The choice that needs the smallest constants in the calibration cells.

    A choice that one of these cells excludes comes last: its rare violations may exclude it,
    though the quantile that defines a required constant leaves room.  The held-out cells have no
    part in this, so that their trials are fresh.
    """
    excluded = [
        dict(problem.cells[row.cell].choice)
        for row in feasibility.rows
        if row.excluded and problem.cells[row.cell].role == "calibration"
    ]
    ranks = [(dict(choice) in excluded, one) for choice, one in zip(choices, room, strict=True)]
    return min((k for k, one in enumerate(room) if not math.isnan(one)), key=lambda k: ranks[k])


def _says_nothing(
    problem: Problem,
    live: Sequence[int],
    tried: Attempt | None,
    trivial: Callable[[CellSample], ArrayLike] | None,
) -> bool:
    """Whether the bound at its fitted constants is nowhere below one that needs no theorem."""
    if tried is None or trivial is None:
        return False
    fitted = tried.calibration.fitted
    return all(
        np.all(problem.bound_at(fitted, cell) >= np.asarray(trivial(cell), dtype=np.float64))
        for cell in problem.under(tried.calibration.choice, live)
    )


def infeasible(
    cells: Sequence[CellSample], constants: Sequence[ConstantBox], bound: Bound, *, level: float
) -> bool:
    """Whether part 1 alone refutes: no constants of the box are possible in all cells.

    The test of `decide_constants` at the same level, without the fits of the other two parts.
    """
    problem = pose(cells, constants, bound, None, check_level(level))
    choices, live = check_problem(problem), live_cells(problem, None)
    return bool(live) and not any(find_feasible(problem, live, choices, level / 2).feasible)


def conclude(
    feasibility: Feasibility,
    tried: Attempt | None,
    reach: Mapping[str, float],
    vacuous: bool,
    min_extrapolation: float,
) -> tuple[Verdict, str]:
    if not any(feasibility.feasible):
        k, n = len(feasibility.witness), len(feasibility.choices)
        excluders = "1 cell excludes" if k == 1 else f"{k} cells exclude"
        summary = f"no constants of the box serve all cells: {excluders} them"
        return Verdict.REFUTED, summary + (f" for all {n} choices" if n > 1 else "")
    if tried is None:
        return Verdict.INCONCLUSIVE, "feasible, but extrapolation and drift could not be tested"
    held_out, drift = tried.held_out, tried.drift
    if tried.rejected:
        worst = max(drift.slopes, key=lambda s: s.lower)
        return Verdict.REFUTED, (
            f"frozen constants fail on held-out cells and the required constant grows: "
            f"{worst.growth:.3g} (at least {worst.lower:.3g}) per unit log as {worst.name} goes "
            f"{worst.direction}"
        )
    if vacuous:
        return (
            Verdict.VACUOUS,
            "at its fitted constants the bound exceeds the trivial bound everywhere",
        )
    missing = []
    lost = [c for c, ok in zip(feasibility.choices, feasibility.feasible, strict=True) if not ok]
    if lost and (choice := tried.calibration.choice) in lost:
        missing.append(f"a cell excludes the calibrated choice {spell(choice)}")
    if held_out.verdict is not Verdict.SUPPORTED:
        missing.append(f"extrapolation {held_out.verdict.value}: {held_out.summary}")
    if not drift.flat:
        steep = [f"{s.name} {s.direction}" for s in drift.slopes if s.status != "flat"]
        text = f"drift not excluded ({drift.reason or 'in ' + ', '.join(steep)})"
        if shifted := [f"{s.name} {s.direction}" for s in drift.slopes if s.status == "uneven"]:
            text += (
                f"; growth in {', '.join(shifted)} is not seen in both halves of the range, and a "
                "constant that shifts once would look the same"
            )
        missing.append(text)
    if short := [name for name, factor in reach.items() if factor < min_extrapolation * (1 - 1e-9)]:
        missing.append(
            f"held-out cells do not reach {min_extrapolation:g}-fold in {', '.join(short)}"
        )
    if missing:
        return Verdict.INCONCLUSIVE, "feasible; " + "; ".join(missing)
    return Verdict.SUPPORTED, (
        f"feasible; frozen constants hold on the held-out cells: {held_out.summary}; "
        + (
            "the required constant does not grow (as a power, in no direction by more than a "
            f"factor {max(drift.excluded, 1.0):.2f} over the tried range)"
            if drift.asked
            else "drift was not asked for"
        )
    )


def find_witness(
    problem: Problem,
    feasibility: Feasibility,
    tried: Attempt | None,
) -> Witness | None:
    if feasibility.witness:
        row = {r.cell: r for r in feasibility.rows}[feasibility.witness[0]]
        found = [dict(problem.cells[i].params) for i in feasibility.witness]
        corner = spell(problem.generous())
        return Witness(
            description=f"violation rate at the most generous constants ({corner})",
            params=found[0] if len(found) == 1 else {"cells": found},
            observed=row.n_bad / row.n_trials,
            bound=row.delta,
        )
    if tried is None or tried.held_out.worst is None:
        return None
    worst = tried.held_out.worst
    cell = tried.held_out.cells[worst]
    return Witness(
        description="violation rate at the frozen constants in a held-out cell",
        params=dict(problem.cells[tried.held_out_cells[worst]].params),
        observed=cell.observed,
        bound=cell.delta,
    )

"""Part 2, second half: frozen constants are tried on fresh trials far outside the fitted range."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from verify.decisions.constants.calibration import Calibration
from verify.decisions.constants.drift import Drift, measure_drift
from verify.decisions.constants.problem import CellSample, Direction, Problem
from verify.decisions.probability import ProbabilityDecision, decide_probability
from verify.evidence import Verdict


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """Extrapolation and drift under one choice.  It is ``rejected`` when both reject."""

    calibration: Calibration
    held_out: ProbabilityDecision
    held_out_cells: tuple[int, ...]
    drift: Drift
    rejected: bool


def attempt_choice(
    problem: Problem,
    live: Sequence[int],
    calibration: Calibration,
    directions: Mapping[str, Direction],
    margin: float,
    floor: float,
    resolution: float,
) -> Attempt:
    frozen, choice = calibration.frozen, dict(calibration.choice)
    mine = [i for i in live if dict(problem.cells[i].choice) == choice]
    held_cells = tuple(i for i in mine if problem.cells[i].role == "held-out")
    held = [problem.cells[i] for i in held_cells]
    held_out = decide_probability(
        [problem.violations(frozen, c) for c in held],
        [c.n_trials for c in held],
        [problem.delta(frozen, c) for c in held],
        problem.level / 2,
        resolution=resolution,
        support_level=problem.level,
        log_limits=[problem.log_limit(frozen, c) for c in held],
    )
    ruled = [i for i in mine if problem.cells[i].in_drift]
    trend = measure_drift(problem, ruled, frozen, directions, margin, floor)
    return Attempt(
        calibration=calibration,
        held_out=held_out,
        held_out_cells=held_cells,
        drift=trend,
        rejected=held_out.verdict is Verdict.REFUTED and trend.grows,
    )


def extrapolation_reach(
    data: Sequence[CellSample], directions: Mapping[str, Direction]
) -> dict[str, float]:
    """How far the held-out cells reach beyond the calibrated range.

    For each parameter the largest factor over the cells that leave the range in it alone, and
    under ``"jointly"`` the largest factor by which two or more parameters leave it at once.
    """
    fit_on = [c for c in data if c.role == "calibration"]
    reach = dict.fromkeys(directions, 1.0)
    if len(directions) > 1:
        reach["jointly"] = 1.0
    for cell in data:
        if cell.role == "calibration":
            continue
        factors = {}  # of the parameters that leave the range, in whatever direction
        for name, direction in directions.items():
            known = [float(c.params[name]) for c in fit_on]
            value = float(cell.params[name])
            up, down = value / max(known), min(known) / value
            if max(up, down) > 1.0:
                factors[name] = {"up": up, "down": down, "both": max(up, down)}[direction]
        beyond = sorted((f for f in factors.values() if f > 1.0), reverse=True)
        if len(factors) == 1:
            ((name, factor),) = factors.items()
            reach[name] = max(reach[name], factor)
        elif len(beyond) > 1:
            reach["jointly"] = max(reach["jointly"], beyond[1])
    return reach

"""Part 3: whether the required constant grows in some direction."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from trials.checks import InvalidParameter
from verify.decisions.constants.problem import CellSample, ConstantValues, Direction, Problem
from verify.decisions.rates import PowerLawFit, fit_power_law
from verify.decisions.sequences import FloatArray


@dataclass(frozen=True, kw_only=True)
class DriftSlope:
    """Growth of the log required constant per unit log, towards ``direction`` of a parameter.

    Attributes
    ----------
    lower, upper : simultaneous one-sided limits.  The lower one refutes and the upper one supports.
        Where constants are known by law, the upper one holds for their growth as well.
    span : smallest and largest value of the parameter in the cells.
    allowed : the largest allowed ``upper``: the margin, or the slope of a logarithm if smaller.
    halves : lower limits of the growth within the lower and the upper part of the range, each with
        a level of its own.  A limit is minus infinity where the cells do not determine it.
    log_log : the slope that growth like an iterated logarithm would show in these cells.
    status : ``grows`` means beyond the margin, overall and in both halves.  ``uneven`` means
        overall but not in both halves, as with a constant that shifts once.  ``flat`` means within
        the allowed growth.
    """

    name: str
    direction: Literal["up", "down"]
    growth: float
    se: float
    lower: float
    upper: float
    span: tuple[float, float]
    allowed: float
    halves: tuple[float, float]
    log_log: float
    status: Literal["grows", "uneven", "flat", "unresolved"]

    @property
    def excluded(self) -> float:
        """Growth over ``span`` by a larger factor than this is excluded, for a power law."""
        return float(np.exp(min(self.upper * math.log(self.span[1] / self.span[0]), 700.0)))

    @property
    def excludes_log_log(self) -> bool:
        """Whether growth like an iterated logarithm of the parameter is excluded as well."""
        return self.upper < self.log_log


@dataclass(frozen=True, kw_only=True)
class Drift:
    """Required constants per cell (``cells`` indexes the input) and their growth.

    Attributes
    ----------
    kappa, se_log : what the trials require, with standard errors of the logarithms.  A cell whose
        delta is smaller than the trials resolve is read at the smallest probability that they do.
    by_law : what exact laws require at delta itself, at most.  It is empty where the trials resolve
        every delta, and where some law does not reach its delta.
    resolution : the largest probability at which a constant was read in the place of its delta,
        None where there is none.
    """

    cells: tuple[int, ...]
    kappa: tuple[float, ...]
    se_log: tuple[float, ...]
    slopes: tuple[DriftSlope, ...]
    fit: PowerLawFit | None
    margin: float
    reason: str = ""
    asked: bool = True
    by_law: tuple[float, ...] = ()
    resolution: float | None = None

    @property
    def grows(self) -> bool:
        """Some direction grows beyond the margin, with confidence, and in both halves."""
        return any(s.status == "grows" for s in self.slopes)

    @property
    def flat(self) -> bool:
        """Every requested direction is within the margin, with confidence."""
        if not self.asked:
            return True
        return self.fit is not None and all(s.status == "flat" for s in self.slopes)

    @property
    def excluded(self) -> float:
        """No direction shows growth by a larger factor than this over its tried range.

        The largest of the single limits needs no correction for their number: were the largest
        true factor above it, that one direction's own limit would have missed.
        """
        return max((s.excluded for s in self.slopes), default=math.inf)


def measure_drift(
    problem: Problem,
    mine: Sequence[int],
    frozen: ConstantValues,
    directions: Mapping[str, Direction],
    margin: float,
    floor: float,
) -> Drift:
    """Required constants of the cells ``mine`` at the frozen constants, and how they grow."""
    data = [problem.cells[i] for i in mine]
    kappa = [max(problem.kappa(frozen, c), floor) for c in data]
    record: dict[str, Any] = {
        "cells": tuple(mine),
        "kappa": tuple(kappa),
        "se_log": tuple(required_se_log(problem, frozen, c, floor) for c in data),
        "margin": margin,
        "asked": bool(directions),
    }
    if not directions:
        return Drift(slopes=(), fit=None, reason="not asked for", **record)
    record |= _read_laws(problem, data, frozen, floor)
    if not all(map(math.isfinite, kappa)):
        reason = "some cell requires an infinite constant (too many failed trials)"
        return Drift(slopes=(), fit=None, reason=reason, **record)
    try:
        x = {name: np.array([float(c.params[name]) for c in data]) for name in directions}
        fit = fit_power_law(kappa, x, level=problem.level)
    except InvalidParameter as error:
        return Drift(slopes=(), fit=None, reason=str(error), **record)
    by_law = record.get("by_law")
    lawful = fit_power_law(by_law, x, level=problem.level) if by_law else None
    family = sum(2 if d == "both" else 1 for d in directions.values())
    slopes = []
    for name, declared in directions.items():
        sides: tuple[Literal["up", "down"], ...] = ("up", "down")
        for direction in sides if declared == "both" else (declared,):
            halves = _growth_in_halves(kappa, x, name, direction, problem.level, family)
            slope = _slope(fit, x, name, direction, halves, problem.level, family, margin)
            slopes.append(slope if lawful is None else _also_by_law(slope, lawful, problem.level))
    reason = "" if fit.max_leverage < 1 - 1e-9 else "one cell alone carries some direction"
    return Drift(slopes=tuple(slopes), fit=fit, reason=reason, **record)


def _slope(
    fit: PowerLawFit,
    x: Mapping[str, FloatArray],
    name: str,
    direction: Literal["up", "down"],
    halves: tuple[float, float],
    level: float,
    family: int,
    margin: float,
) -> DriftSlope:
    """One direction's growth with its limits.  Towards smaller values all signs are reversed."""
    up, i = direction == "up", fit.names.index(name)
    # `limits` is two-sided, and each side has half of its level.
    refuting = fit.limits(name, level, family=family)  # one side: level / (2 family)
    supporting = fit.limits(name, 2 * level)  # one side: level
    lower = refuting[0] if up else -refuting[1]
    upper = supporting[1] if up else -supporting[0]
    allowed = min(margin, logarithm_slope(x, name, direction))
    status: Literal["grows", "uneven", "flat", "unresolved"] = "unresolved"
    if lower > margin:
        status = "grows" if min(halves) > margin else "uneven"
    elif upper <= allowed:
        status = "flat"
    return DriftSlope(
        name=name,
        direction=direction,
        growth=fit.exponents[i] if up else -fit.exponents[i],
        se=fit.se[i],
        lower=lower,
        upper=upper,
        span=(float(x[name].min()), float(x[name].max())),
        allowed=allowed,
        halves=halves,
        log_log=logarithm_slope(x, name, direction, iterated=True),
        status=status,
    )


def _read_laws(
    problem: Problem, data: Sequence[CellSample], frozen: ConstantValues, floor: float
) -> dict[str, Any]:
    """The fields ``by_law`` and ``resolution`` of a `Drift`.

    Trials that resolve no probability as small as delta show a smaller constant than delta needs,
    and its growth not at all.  With S exponential and delta = 1/m the constant grows like log m,
    and the quantile at one probability for all cells does not grow.
    """
    coarse = [c for c in data if problem.is_coarse(frozen, c)]
    if not coarse:
        return {}
    by_law = []
    for cell in data:
        by_law.append(problem.kappa_by_law(frozen, cell, floor))
        if math.isinf(by_law[-1]):
            return {"resolution": max(problem.looked_at(frozen, c) for c in coarse)}
    return {"by_law": tuple(by_law)}


def _also_by_law(slope: DriftSlope, lawful: PowerLawFit, level: float) -> DriftSlope:
    """The slope with an upper limit, and flat, for what the laws require as well.

    A law is a limit from above: that it does not grow supports, and that it grows refutes nothing.
    """
    low, high = lawful.limits(slope.name, 2 * level)
    upper = max(slope.upper, high if slope.direction == "up" else -low)
    flat = slope.status == "flat" and upper <= slope.allowed
    status = "unresolved" if slope.status == "flat" and not flat else slope.status
    return replace(slope, upper=upper, status=status)


def _growth_in_halves(
    kappa: Sequence[float],
    x: Mapping[str, FloatArray],
    name: str,
    direction: Literal["up", "down"],
    level: float,
    family: int,
) -> tuple[float, float]:
    r"""Lower limits of the growth within the lower and within the upper part of the range.

    The regression has a slope of its own in each part and a free shift between them.  A required
    constant that jumps once, wherever it jumps, is flat in at least one part.  A jump at the cut is
    part of the shift.  Refuting needs growth in *both* parts, so it needs no further share of the
    level (an intersection-union test).  The cut is where the cells determine the two slopes about
    equally well.  It depends on the cells alone.
    """
    log_x = np.log(x[name])
    cuts = np.unique(log_x)[:-1]  # at least one: else the cells would not identify any growth

    def information(cut: float) -> float:
        parts = (log_x[log_x <= cut], log_x[log_x > cut])
        return min(float(np.sum((part - part.mean()) ** 2)) for part in parts)

    upper_part = log_x > max(cuts, key=information)
    columns = {
        "lower part": np.exp(np.where(upper_part, 0.0, log_x)),
        "upper part": np.exp(np.where(upper_part, log_x, 0.0)),
        "shift": np.exp(upper_part.astype(np.float64)),
        **{other: values for other, values in x.items() if other != name},
    }
    try:
        fit = fit_power_law(kappa, columns, level=level)
    except InvalidParameter:  # too few cells, or a part in which the parameter does not vary
        return -math.inf, -math.inf
    limits = [fit.limits(part, level, family=family) for part in ("lower part", "upper part")]
    low, high = (one[0] if direction == "up" else -one[1] for one in limits)
    return low, high


def logarithm_slope(
    x: Mapping[str, FloatArray],
    name: str,
    direction: Literal["up", "down"],
    *,
    iterated: bool = False,
) -> float:
    r"""The slope that the power-law fit gives to growth like a logarithm of one parameter.

    The law is :math:`L = \log x` towards large x, or :math:`1 + \log(x / x_{\min})` where the
    smallest x is below e (its logarithm would start at zero, or below).  Towards small x it is the
    same law of 1/x.  With ``iterated`` the law is :math:`1 + \log L`.
    """
    towards = x[name] if direction == "up" else 1.0 / x[name]
    law = np.log(towards * max(1.0, math.e / float(towards.min())))
    if iterated:
        law = 1.0 + np.log(law)
    design = np.column_stack([np.ones_like(law), *(np.log(v) for v in x.values())])
    slope = np.linalg.lstsq(design, np.log(law), rcond=None)[0][1 + list(x).index(name)]
    return float(slope if direction == "up" else -slope)


def required_se_log(
    problem: Problem, corner: ConstantValues, cell: CellSample, floor: float
) -> float:
    """Standard error of the log required constant, from the order statistics one deviation of the
    rank below and above it.
    """
    n, q = cell.n_trials, min(problem.looked_at(corner, cell), 1.0)
    spread = math.sqrt(n * q * (1 - q))
    ratios = np.sort(problem.ratios(corner, cell))
    rank = n - 1 - n * q
    ends = [min(max(round(rank + side * spread), 0), n - 1) for side in (-1, 1)]
    low, high = (max(float(ratios[r]), floor) for r in ends)
    return math.log(high / low) / 2 if math.isfinite(high) else math.inf

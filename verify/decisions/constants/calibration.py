"""Part 2, first half: the sharpest constants with which the bound holds in the calibration
cells.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from verify.decisions.constants.problem import CellSample, ConstantBox, ConstantValues, Problem
from verify.decisions.sequences import FloatArray

_PRECISION = 3e-4  # of a position on a ray


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """Constants fitted on the calibration cells, before (``fitted``) and after slack (``frozen``).

    ``room`` lists, for each choice, the largest required constant at the generous corner over the
    calibration cells.  Below one there is room for sharper constants.  ``at_tight_end`` names
    constants that ended at the tight end of the box, where the trials would allow sharper ones.
    """

    choice: ConstantValues
    room: tuple[float, ...]
    fitted: ConstantValues
    frozen: ConstantValues
    slack: float
    at_tight_end: tuple[str, ...]


def room_of_choices(
    problem: Problem, live: Sequence[int], choices: Sequence[ConstantValues]
) -> tuple[float, ...]:
    """For each choice the largest required constant at the generous corner, calibration cells only.

    NaN for a choice that has no live cells of either role.
    """
    loose = problem.generous()
    room = []
    for choice in choices:
        mine = problem.under(choice, live)
        if {c.role for c in mine} == {"calibration", "held-out"}:
            room.append(max(problem.kappa(loose, c) for c in mine if c.role == "calibration"))
        else:
            room.append(math.nan)
    return tuple(room)


def calibrate(
    problem: Problem,
    live: Sequence[int],
    choice: ConstantValues,
    room: tuple[float, ...],
    tighten: Sequence[str] | None,
    slack: float,
) -> Calibration:
    """The sharpest constants with which the calibration cells of a choice hold, relaxed by
    slack.
    """
    by_name = {c.name: c for c in problem.constants if c.generous != "choose"}
    names = tuple(by_name) if tighten is None else tuple(tighten)
    fit_on = [c for c in problem.under(choice, live) if c.role == "calibration"]
    fitted = sharpest(problem, fit_on, problem.generous(), [by_name[name] for name in names])
    frozen = dict(fitted)
    for name in names:
        c = by_name[name]
        relaxed = fitted[name] * slack if c.generous == "high" else fitted[name] / slack
        frozen[name] = min(max(relaxed, c.low), c.high)
    return Calibration(
        choice=choice,
        room=room,
        fitted=fitted,
        frozen=frozen,
        slack=slack,
        at_tight_end=tuple(n for n in names if math.isclose(fitted[n], by_name[n].tight)),
    )


def sharpest(
    problem: Problem,
    fit_on: Sequence[CellSample],
    loose: ConstantValues,
    tighten: Sequence[ConstantBox],
) -> dict[str, float]:
    """The constants of the smallest bound that holds in the cells: least mean log over the cells.

    Positions run from 0 (generous) to 1 (tight) along each logarithmic side of the box.  Tightening
    several constants one after the other is not enough: the first would be tightened as far as
    possible and leave no room for the next.  So a simplex search varies the *relative* positions.
    For each of them it moves all constants together as far towards the tight corner as the cells
    allow.  At last each constant is tightened alone, in the declared order.
    """

    def at(positions: ArrayLike) -> dict[str, float]:
        shares = np.clip(np.asarray(positions, dtype=np.float64), 0.0, 1.0)
        moved = {
            c.name: c.loose ** (1 - float(u)) * c.tight ** float(u)
            for c, u in zip(tighten, shares, strict=True)
        }
        return {**loose, **moved}

    order = list(range(len(fit_on)))  # of the cells, the likeliest to end a ray first

    def furthest(start: FloatArray, direction: FloatArray, reach: float) -> FloatArray:
        """The last point of a ray at which every cell holds (its start, if none further does)."""

        def holds(i: int, t: float) -> bool:
            return problem.holds(at(start + t * direction), fit_on[i])

        last = reach
        for i in tuple(order):
            known, last = last, _last_held(partial(holds, i), reach, last)
            if last < known:
                order.insert(0, order.pop(order.index(i)))
        return np.clip(start + last * direction, 0.0, 1.0)

    q = len(tighten)
    together = np.ones(q)

    def slid(offsets: FloatArray) -> FloatArray:
        lead = np.concatenate(([0.0], offsets))
        # All positions start at or below zero, which is clipped to the generous corner.
        return furthest(lead - lead.max(), together, 1.0 + float(np.ptp(lead)))

    def size(offsets: FloatArray) -> float:
        values = at(slid(offsets))
        bounds = (np.maximum(problem.bound_at(values, cell), 1e-300) for cell in fit_on)
        return float(np.mean([np.mean(np.log(b)) for b in bounds]))

    offsets = np.zeros(q - 1) if q else np.zeros(0)
    if q > 1:
        simplex = np.vstack([offsets, 0.1 * np.eye(q - 1)])
        options = {"maxfev": 60 * (q - 1), "xatol": 1e-3, "initial_simplex": simplex}
        offsets = minimize(size, offsets, method="Nelder-Mead", options=options).x
    positions = slid(offsets) if q else np.zeros(0)
    if q > 1:
        for direction in np.eye(q):
            positions = furthest(positions, direction, 1.0)
    return at(positions)


def _last_held(holds: Callable[[float], bool], reach: float, known: float) -> float:
    """The last of the points of a bisection of [0, reach], up to ``known``, that holds.

    Beyond a point that does not hold none does.  So cells that are asked in turn, each up to the
    last point of those before it, give the point that a bisection of all together gives, and most
    are asked once.
    """
    if known == 0.0 or holds(known):
        return known
    safe, unsafe = 0.0, reach
    while unsafe - safe > _PRECISION:
        middle = (safe + unsafe) / 2
        safe, unsafe = (middle, unsafe) if middle < known and holds(middle) else (safe, middle)
    return safe

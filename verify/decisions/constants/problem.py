"""The inputs of a decision on universal constants: boxes, samples of cells, the bound."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from trials.checks import InvalidParameter
from verify.decisions.sequences import ROUNDING, FloatArray, resolvable

#: The longest step, in logs, of a search for the multiple that a law requires.
_FARTHEST = 64.0

ConstantValues = Mapping[str, float]
Direction = Literal["up", "down", "both"]


@dataclass(frozen=True, kw_only=True)
class ConstantBox:
    """One universal constant and its declared box.

    ``generous`` names the end of the box at which the bound is largest.  ``"choose"`` marks a
    constant that the theorem lets one pick.  Its ``grid`` holds the values with which the trials
    were run.
    """

    name: str
    low: float
    high: float
    generous: Literal["high", "low", "choose"] = "high"
    grid: tuple[float, ...] = ()
    symbol: str = ""

    def __post_init__(self) -> None:
        if not (0 < self.low <= self.high < math.inf):
            raise InvalidParameter(
                f"{self.name}: box [{self.low}, {self.high}] must satisfy 0 < low <= high < inf"
            )
        if self.generous == "choose" and not self.grid:
            raise InvalidParameter(f"{self.name}: a constant to choose needs a grid")
        if any(not self.low <= g <= self.high for g in self.grid):
            raise InvalidParameter(f"{self.name}: grid {self.grid} must lie in the box")

    @property
    def loose(self) -> float:
        """The generous end of the box."""
        return self.high if self.generous == "high" else self.low

    @property
    def tight(self) -> float:
        """The other end."""
        return self.low if self.generous == "high" else self.high


@dataclass(frozen=True, kw_only=True)
class CellSample:
    """The trials of one cell (under one choice of the constants to choose).

    Attributes
    ----------
    params : the cell's parameters.  Those in which drift is tested are positive numbers.
    statistic : (n_trials,) the bounded quantity.  A value that is not finite is a failed trial, a
        violation of any bound.
    delta : allowed failure probability, where it does not depend on constants.
    role : held-out trials are never seen by the calibration.
    choice : value of every constant to choose under which the trials were run.
    covariates : per-trial values (n_trials,) that the bound may use, e.g. the error before a step.
    in_drift : whether the cell takes part in the drift regression.  It does not where another term
        dominates the bound, because the constant under test is not needed there.
    log_tail : ``b -> `` log of an upper limit on P(statistic > b) from an exact law, or None.
    """

    params: Mapping[str, Any]
    statistic: FloatArray
    delta: float
    role: Literal["calibration", "held-out"] = "calibration"
    choice: ConstantValues = field(default_factory=dict)
    covariates: Mapping[str, FloatArray] = field(default_factory=dict)
    in_drift: bool = True
    log_tail: Callable[[float], float] | None = None

    @property
    def n_trials(self) -> int:
        """Number of trials, failed ones included."""
        return int(np.size(self.statistic))


Bound = Callable[[ConstantValues, CellSample], ArrayLike]


@dataclass(frozen=True, kw_only=True)
class Problem:
    """The inputs of a decision, with the operations that its three parts share."""

    cells: tuple[CellSample, ...]
    constants: tuple[ConstantBox, ...]
    bound: Bound
    failure: Callable[[ConstantValues, CellSample], float] | None
    level: float

    def values(self, corner: ConstantValues, cell: CellSample) -> ConstantValues:
        """All constants: those of the corner, and the choice under which the cell was run."""
        return {**corner, **cell.choice}

    def under(self, choice: ConstantValues, live: Sequence[int]) -> list[CellSample]:
        """The live cells run under one choice."""
        return [self.cells[i] for i in live if dict(self.cells[i].choice) == dict(choice)]

    def generous(self) -> dict[str, float]:
        """The corner of the box at which the bound is largest."""
        return {c.name: c.loose for c in self.constants if c.generous != "choose"}

    def delta(self, corner: ConstantValues, cell: CellSample) -> float:
        """The allowed failure probability of a cell."""
        if self.failure is None:
            return cell.delta
        return float(self.failure(self.values(corner, cell), cell))

    def bound_at(self, corner: ConstantValues, cell: CellSample) -> FloatArray:
        """The bound, a scalar or (n_trials,)."""
        b = np.asarray(self.bound(self.values(corner, cell), cell), dtype=np.float64)
        if np.isnan(b).any():
            raise InvalidParameter(f"the bound is not a number in cell {dict(cell.params)}")
        return b

    def ratios(self, corner: ConstantValues, cell: CellSample) -> FloatArray:
        """Statistic over bound, (n_trials,), infinite where the trial failed."""
        b = self.bound_at(corner, cell)
        s = cell.statistic  # failed trials are +inf by now
        if b.ndim == 0 and 0.0 < b < np.inf:
            return s / b
        with np.errstate(divide="ignore", invalid="ignore"):
            # A bound at or below zero admits only statistics at or below it.
            ratio = np.where(b > 0, s / b, np.where(s <= b, 0.0, np.inf))
        return np.where(np.isfinite(s), ratio, np.inf)

    def log_limit(self, corner: ConstantValues, cell: CellSample) -> float:
        """Log of the exact law's limit on the probability of a violation, NaN without a law.

        Where the bound varies from trial to trial, its smallest value is used.
        """
        if cell.log_tail is None:
            return math.nan
        return min(0.0, cell.log_tail(float(np.min(self.bound_at(corner, cell)))))

    def kappa_by_law(self, corner: ConstantValues, cell: CellSample, floor: float) -> float:
        """The multiple of the bound, at least ``floor``, at which the law's limit is delta.

        The cell requires no larger one, because the law limits the violations from above.  The
        result is up to one per cent too large.  It is infinite where no law reaches delta.
        """
        smallest = float(np.min(self.bound_at(corner, cell)))
        delta, seen = self.delta(corner, cell), self.kappa(corner, cell)
        tail = cell.log_tail
        if tail is None or not (0.0 < smallest < math.inf and delta > 0.0 and seen < math.inf):
            return math.inf

        def serves(log_multiple: float) -> bool:
            return tail(math.exp(log_multiple) * smallest) <= math.log(delta)

        low = math.log(floor)
        if serves(low):
            return floor
        high, step = max(low, math.log(max(seen, floor))), 0.25
        while not serves(high):  # delta is smaller than the failures that the trials show
            low, high, step = high, high + step, 2.0 * step
            if step > _FARTHEST:
                return math.inf
        while high - low > 0.01:
            middle = (low + high) / 2
            low, high = (low, middle) if serves(middle) else (middle, high)
        return math.exp(high)

    def is_coarse(self, corner: ConstantValues, cell: CellSample) -> bool:
        """Whether the trials resolve no probability as small as delta."""
        return self.looked_at(corner, cell) > self.delta(corner, cell)

    def looked_at(self, corner: ConstantValues, cell: CellSample) -> float:
        """The failure probability that defines a required constant: delta, or more where the trials
        do not resolve delta.
        """
        return max(self.delta(corner, cell), resolvable(cell.n_trials, self.level))

    def kappa(self, corner: ConstantValues, cell: CellSample) -> float:
        """The multiple of the bound that leaves an empirical violation rate of at most delta."""
        rank = cell.n_trials - 1 - self._allowed(corner, cell)
        return float(np.partition(self.ratios(corner, cell), rank)[rank]) if rank >= 0 else 0.0

    def holds(self, corner: ConstantValues, cell: CellSample) -> bool:
        """Whether `kappa` is at most one, but for rounding: no more trials violate than may."""
        return self.violations(corner, cell) <= self._allowed(corner, cell)

    def violations(self, corner: ConstantValues, cell: CellSample) -> int:
        """The number of trials that exceed the bound by more than rounding."""
        return int(np.count_nonzero(self.ratios(corner, cell) > 1.0 + ROUNDING))

    def _allowed(self, corner: ConstantValues, cell: CellSample) -> int:
        """The number of trials that may violate the bound."""
        n = cell.n_trials
        return math.floor(n * min(self.looked_at(corner, cell), 1.0) + 1e-9)


def pose(
    cells: Sequence[CellSample],
    constants: Sequence[ConstantBox],
    bound: Bound,
    failure: Callable[[ConstantValues, CellSample], float] | None,
    level: float,
) -> Problem:
    """The inputs as a problem.  A statistic that is not finite is replaced by infinity."""
    return Problem(
        cells=tuple(
            replace(c, statistic=np.where(np.isfinite(c.statistic), c.statistic, np.inf))
            for c in cells
        ),
        constants=tuple(constants),
        bound=bound,
        failure=failure,
        level=level,
    )


def live_cells(
    problem: Problem, assumption: Callable[[ConstantValues, CellSample], bool] | None
) -> tuple[int, ...]:
    """Cells that meet the assumptions and allow less than any failure, at the generous corner."""
    loose = problem.generous()
    return tuple(
        i
        for i, cell in enumerate(problem.cells)
        if (assumption is None or assumption(problem.values(loose, cell), cell))
        and problem.delta(loose, cell) < 1.0
    )


def check_problem(problem: Problem) -> tuple[ConstantValues, ...]:
    """Validate the inputs and return the declared choices, in grid order."""
    to_choose = [c for c in problem.constants if c.generous == "choose"]
    choices = tuple(
        dict(zip((c.name for c in to_choose), point, strict=True))
        for point in itertools.product(*(c.grid for c in to_choose))
    )
    for role in ("calibration", "held-out"):
        if not any(cell.role == role for cell in problem.cells):
            raise InvalidParameter(f"cells must hold at least one {role} cell")
    for cell in problem.cells:
        if dict(cell.choice) not in choices:
            raise InvalidParameter(f"choice {dict(cell.choice)} is not on the declared grid")
        if np.ndim(cell.statistic) != 1 or cell.n_trials == 0:
            raise InvalidParameter("statistic must be a vector of at least one trial")
    for choice in choices:
        if not any(dict(cell.choice) == choice for cell in problem.cells):
            raise InvalidParameter(f"no trials for the declared choice {choice}")
    return choices


def check_generous(problem: Problem, live: Sequence[int]) -> None:
    """The bound and its failure probability are largest at the corner declared generous."""
    loose = problem.generous()
    for cell in (problem.cells[i] for i in live):
        top, top_delta = problem.bound_at(loose, cell), problem.delta(loose, cell)
        for c in problem.constants:
            if c.generous == "choose":
                continue
            other = {**loose, c.name: c.tight}
            # A bound below zero is no larger where it is the same.
            rises = problem.bound_at(other, cell) > np.maximum(top * (1 + 1e-12), top * (1 - 1e-12))
            if np.any(rises) or problem.delta(other, cell) > top_delta * (1 + 1e-12):
                raise InvalidParameter(
                    f"{c.name}: the bound is larger at {c.tight:g} than at its generous end "
                    f"{c.loose:g} in cell {dict(cell.params)}: declare it 'choose'"
                )


def spell(values: ConstantValues) -> str:
    """Constants and their values on one line."""
    return ", ".join(f"{k}={v:g}" for k, v in values.items())

r"""Deciding upper bounds with unspecified universal constants.

The claim: there are constants :math:`c \in \prod_j [l_j, h_j]` (a declared, generous box) such that
in every cell :math:`x` that meets the assumptions

.. math:: P\{\, S_x > b(c, x) \,\} \le \delta(c, x) .

Three parts have to agree; the first alone, or the other two together, can refute.

1. *Feasibility.*  Let :math:`c^+` be the most generous corner of the box, where b and delta are
   largest and the assumptions strictest.  A cell in which :math:`P(S > b(c^+)) \le \delta(c^+)` is
   rejected excludes the whole box.  A constant that the theorem lets one *choose* (a step size) has
   no generous end: its trials are run separately for each value of a declared grid, and the claim
   is refuted when every grid value is excluded by some cell.  The smallest set of cells that does
   so is the witness.
2. *Extrapolation.*  On the calibration cells only, the choice with the most room is taken and the
   other constants are made as sharp as the empirical violation rates allow, then frozen with a
   declared slack factor.  Fresh trials in held-out cells, where each parameter, alone and jointly,
   lies at least ``min_extrapolation`` times outside the calibrated range, test
   :math:`P(S > b(\hat c)) \le \delta`.
3. *Drift.*  The required constant of a cell is the multiple :math:`\kappa_x` of the frozen bound
   that would just serve it (a quantile of S / b).  Its logarithm is regressed on the log parameters
   with the HC3 covariance.  In no declared direction may it grow faster than ``margin`` per unit
   log, nor as fast as a logarithm would: `logarithm_slope` is the slope that least squares gives,
   in these very cells, to a required constant that grows like log x.  (Least squares is linear, so
   under that alternative the fitted slope has exactly this mean, and an upper limit below it is a
   level test of it; the lack of fit of a power law only widens the limit.)  What the limits
   exclude over the tried range travels with the verdict as a factor.  A required constant below
   ``kappa_floor`` counts as ``kappa_floor``: how a constant varies that is not needed says nothing.

Error control.  Half of ``level`` goes to feasibility, split over cells and choices.  The other half
is used by extrapolation *and* by drift: the claim is refuted only if both reject, so each may use
all of it; where there is a choice, both must reject under every choice that is still feasible.
Supporting needs every part, hence no split (intersection-union, Berger 1982).  What the second
route controls is the refutation of a required constant whose trend over the tested range is at most
``margin``; a constant that climbs over the whole range and levels off beyond it can be refuted,
which is why the range travels with the verdict.  Frozen constants are tested on fresh trials alone.
Calibration cells do take part in the regression, where what was fitted on them is a factor that all
cells share (with several constants: shared weights of the bound's terms) and no slope.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from trials.checks import InvalidParameter
from trials.run.cell import canonical_json
from verify.decisions.probability import ProbabilityDecision, decide_probability
from verify.decisions.rates import PowerLawFit, fit_power_law
from verify.decisions.sequences import (
    FloatArray,
    check_level,
    confidence_sequence,
    exceeds,
    prior_for,
    resolvable,
)
from verify.evidence import Table, Verdict, Witness

Values = Mapping[str, float]
Direction = Literal["up", "down", "both"]


@dataclass(frozen=True, kw_only=True)
class Constant:
    """One universal constant and its declared box.

    ``generous`` names the end of the box at which the bound is largest; ``"choose"`` marks a
    constant that the theorem lets one pick, with a ``grid`` on which the trials were run.
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
class CellData:
    """The trials of one cell (under one choice of the constants to choose).

    Attributes
    ----------
    params : the cell's parameters; those that drift is tested in are positive numbers.
    statistic : (n_trials,) what the bound bounds; a value that is not finite is a failed trial, a
        violation of any bound.
    delta : allowed failure probability, where it does not depend on constants.
    role : held-out trials are never seen by the calibration.
    choice : value of every constant to choose under which the trials were run.
    covariates : per-trial values (n_trials,) that the bound may use, e.g. the error before a step.
    in_drift : whether the cell takes part in the drift regression; false where another term of the
        bound rules, so that the constant under test is not needed there.
    """

    params: Mapping[str, Any]
    statistic: FloatArray
    delta: float
    role: Literal["calibration", "held-out"] = "calibration"
    choice: Values = field(default_factory=dict)
    covariates: Mapping[str, FloatArray] = field(default_factory=dict)
    in_drift: bool = True

    @property
    def n_trials(self) -> int:
        """Number of trials, failed ones included."""
        return int(np.size(self.statistic))


Bound = Callable[[Values, CellData], ArrayLike]


@dataclass(frozen=True, kw_only=True)
class FeasibilityRow:
    """One (cell, choice) at the generous corner; ``lower`` is the simultaneous lower limit."""

    cell: int
    n_trials: int
    n_bad: int
    n_failed: int
    delta: float
    lower: float
    excluded: bool


@dataclass(frozen=True, kw_only=True)
class Feasibility:
    """Which choices survive; ``witness`` indexes cells that together exclude every choice."""

    rows: tuple[FeasibilityRow, ...]
    choices: tuple[Values, ...]
    feasible: tuple[bool, ...]
    witness: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """Constants fitted on the calibration cells, before (``fitted``) and after slack (``frozen``).

    ``room`` lists, for each choice, the largest required constant at the generous corner over the
    calibration cells: below one there is room.  ``at_tight_end`` names constants that the box, and
    not the trials, stopped.
    """

    choice: Values
    room: tuple[float, ...]
    fitted: Values
    frozen: Values
    slack: float
    at_tight_end: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class DriftSlope:
    """Growth of the log required constant per unit log, towards ``direction`` of a parameter.

    Attributes
    ----------
    lower, upper : the simultaneous one-sided limit that refutes, and the one that supports.
    span : smallest and largest value of the parameter in the cells.
    allowed : what ``upper`` must not exceed: the margin, or the slope of a logarithm if smaller.
    """

    name: str
    direction: Literal["up", "down"]
    growth: float
    se: float
    lower: float
    upper: float
    span: tuple[float, float]
    allowed: float
    status: Literal["grows", "flat", "unresolved"]

    @property
    def excluded(self) -> float:
        """Growth over ``span`` by a larger factor than this is excluded, for a power law."""
        return float(np.exp(min(self.upper * math.log(self.span[1] / self.span[0]), 700.0)))


@dataclass(frozen=True, kw_only=True)
class Drift:
    """Required constants per cell (``cells`` indexes the input) and their growth."""

    cells: tuple[int, ...]
    kappa: tuple[float, ...]
    se_log: tuple[float, ...]
    slopes: tuple[DriftSlope, ...]
    fit: PowerLawFit | None
    margin: float
    reason: str = ""
    asked: bool = True

    @property
    def grows(self) -> bool:
        """Some direction grows beyond the margin, with confidence."""
        return any(s.status == "grows" for s in self.slopes)

    @property
    def flat(self) -> bool:
        """Every direction that was asked for is within the margin, with confidence."""
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


@dataclass(frozen=True, kw_only=True)
class ConstantsDecision:
    """The verdict and its three parts; ``held_out_cells`` indexes the input cells."""

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

    def tables(self) -> tuple[Table, ...]:
        """The calibrated constants and the drift as tables for the report."""
        tables = []
        if self.calibration is not None:
            c = self.calibration
            rows = [(name, c.fitted[name], c.frozen[name]) for name in c.frozen]
            tables.append(
                Table(
                    title="Constants fitted on the calibration cells and frozen",
                    columns=("constant", "fitted", f"frozen (slack {c.slack:g})"),
                    rows=rows,
                    note="chosen: " + (_spell(c.choice) or "nothing to choose"),
                )
            )
        if self.drift is not None and self.drift.slopes:
            slopes = [
                (s.name, s.direction, *s.span, s.growth, s.se, s.upper, s.allowed, s.excluded)
                for s in self.drift.slopes
            ]
            tables.append(
                Table(
                    title="Growth of the required constant, per unit log",
                    columns=(
                        *("parameter", "towards", "from", "to", "growth", "se", "upper limit"),
                        *("allowed", "factor excluded"),
                    ),
                    rows=slopes,
                    note=f"HC3 limits, one-sided, at level {self.level:.2g}. Allowed: "
                    f"{self.drift.margin:g}, or the slope that growth like a logarithm would show "
                    "in these cells if smaller. Factor excluded: growth of the required constant, "
                    "as a power, by more than it over the tried range, from end to end",
                )
            )
        return tuple(tables)


def _spell(values: Values) -> str:
    return ", ".join(f"{k}={v:g}" for k, v in values.items())


@dataclass(frozen=True, kw_only=True)
class _Problem:
    """The inputs of a decision, with the operations that its three parts share."""

    cells: tuple[CellData, ...]
    constants: tuple[Constant, ...]
    bound: Bound
    failure: Callable[[Values, CellData], float] | None
    level: float

    def values(self, corner: Values, cell: CellData) -> Values:
        return {**corner, **cell.choice}

    def under(self, choice: Values, live: Sequence[int]) -> list[CellData]:
        """The live cells run under one choice."""
        return [self.cells[i] for i in live if dict(self.cells[i].choice) == dict(choice)]

    def generous(self) -> dict[str, float]:
        return {c.name: c.loose for c in self.constants if c.generous != "choose"}

    def delta(self, corner: Values, cell: CellData) -> float:
        if self.failure is None:
            return cell.delta
        return float(self.failure(self.values(corner, cell), cell))

    def bound_at(self, corner: Values, cell: CellData) -> FloatArray:
        b = np.asarray(self.bound(self.values(corner, cell), cell), dtype=np.float64)
        if np.isnan(b).any():
            raise InvalidParameter(f"the bound is not a number in cell {dict(cell.params)}")
        return b

    def ratios(self, corner: Values, cell: CellData) -> FloatArray:
        """Statistic over bound, (n_trials,); above one is a violation, as is a failed trial."""
        b = self.bound_at(corner, cell)
        s = cell.statistic  # failed trials are +inf by now
        if b.ndim == 0 and 0.0 < b < np.inf:
            return s / b
        with np.errstate(divide="ignore", invalid="ignore"):
            # A bound at or below zero admits only statistics at or below it.
            ratio = np.where(b > 0, s / b, np.where(s <= b, 0.0, np.inf))
        return np.where(np.isfinite(s), ratio, np.inf)

    def looked_at(self, corner: Values, cell: CellData) -> float:
        """The failure probability at which a required constant is read: delta, if resolvable."""
        return max(self.delta(corner, cell), _resolvable(cell.n_trials, self.level))

    def kappa(self, corner: Values, cell: CellData) -> float:
        """The multiple of the bound that leaves an empirical violation rate of at most delta."""
        n = cell.n_trials
        rank = n - 1 - math.floor(n * min(self.looked_at(corner, cell), 1.0) + 1e-9)
        return float(np.partition(self.ratios(corner, cell), rank)[rank]) if rank >= 0 else 0.0


@lru_cache(maxsize=1024)
def _resolvable(n: int, level: float) -> float:
    return resolvable(n, level)


def decide_constants(
    cells: Sequence[CellData],
    constants: Sequence[Constant],
    bound: Bound,
    *,
    drift: Mapping[str, Direction],
    level: float,
    tighten: Sequence[str] | None = None,
    failure: Callable[[Values, CellData], float] | None = None,
    assumption: Callable[[Values, CellData], bool] | None = None,
    trivial: Callable[[CellData], ArrayLike] | None = None,
    slack: float = 2.0,
    margin: float = 0.1,
    resolution: float = 0.0,
    min_extrapolation: float = 4.0,
    kappa_floor: float = 1e-3,
) -> ConstantsDecision:
    r"""Decide an upper bound with unspecified universal constants (see the module docstring).

    Parameters
    ----------
    cells : calibration and held-out cells; one entry for each value of the constants to choose.
    constants : every universal constant, those hidden in assumptions included.
    bound : ``(constants, cell) -> `` scalar or (n_trials,) bound on ``cell.statistic``; monotone in
        every constant that is not to choose.
    drift : parameter -> where the statement must keep holding: ``"up"`` as it grows, ``"down"`` as
        it shrinks, ``"both"``; empty where one instance is asked about, which has no trend.
    level : error probability of a wrong verdict of either sign.
    tighten : constants to calibrate, in the order of their last tightening; by default all that are
        not to choose.  Constants of assumptions are left out: they stay at their generous end.
    failure : ``(constants, cell) -> `` allowed failure probability; ``cell.delta`` by default.
    assumption : ``(constants, cell) -> bool``; cells that fail it at the generous corner (the
        strictest reading) say nothing and are set aside.
    trivial : ``cell -> `` a bound that needs no theorem.  When the bound at the *fitted* constants
        is at or above it in all cells, the statement is vacuous there.
    slack : factor by which fitted constants are relaxed before they are frozen.
    margin : growth per unit log that counts as none (growth like a logarithm never does).
    resolution : passed to the held-out test (see `decide_probability`).
    min_extrapolation : how far outside the calibrated range the held-out cells must reach, for each
        drift parameter alone and for two or more jointly; otherwise the claim is not supported.
    kappa_floor : see part 3.

    Raises
    ------
    InvalidParameter : no held-out or no calibration cells, data that miss a choice, a bound that is
        not largest at the declared generous corner.
    """
    check_level(level)
    if not slack >= 1.0:
        raise InvalidParameter(f"slack={slack} must be >= 1")
    fixed = {c.name for c in constants if c.generous != "choose"}
    if unknown := [name for name in tighten or () if name not in fixed]:
        raise InvalidParameter(f"tighten names {unknown}, which are not constants to tighten")
    everything = _posed(cells, constants, bound, failure, level)
    choices = _check(everything)
    live = _live(everything, assumption)
    notes = []
    if len(live) < len(everything.cells):
        notes.append(
            f"{len(everything.cells) - len(live)} cells do not meet the assumptions at their "
            "generous constants, or allow any failure; they say nothing"
        )
    if not live:
        summary = "no cell meets the assumptions with a failure probability below one"
        return ConstantsDecision(
            verdict=Verdict.VACUOUS, summary=summary, level=level, notes=tuple(notes)
        )

    _check_generous(everything, live)
    feasibility = _feasibility(everything, live, choices, level / 2)
    room = _room(everything, live, choices)

    def attempt(k: int) -> _Attempt:
        calibration = _calibrate(everything, live, choices[k], room, tighten, slack)
        return _attempt(everything, live, calibration, drift, margin, kappa_floor, resolution)

    if np.isnan(room).all():
        tried = None
        notes.append(
            "no choice has live calibration and held-out cells: feasibility alone is tested"
        )
    else:
        best = int(np.nanargmin(room))
        tried = attempt(best)
        # The theorem lets one choose: another choice may do where the calibrated one fails.
        rivals = [k for k, f in enumerate(feasibility.feasible) if f and k != best]
        if tried.rejected and any(feasibility.feasible) and rivals:
            saved = [k for k in rivals if math.isnan(room[k]) or not attempt(k).rejected]
            if saved:
                tried = replace(tried, rejected=False)
                names = "; ".join(_spell(choices[k]) for k in saved)
                notes.append(f"the calibrated choice fails on held-out cells, but not so: {names}")
    vacuous = (
        tried is not None
        and trivial is not None
        and all(
            np.all(
                everything.bound_at(tried.calibration.fitted, cell)
                >= np.asarray(trivial(cell), dtype=np.float64)
            )
            for cell in everything.under(tried.calibration.choice, live)
        )
    )
    reach = {}
    if tried is not None:
        reach = _reach(everything.under(tried.calibration.choice, live), drift)
    verdict, summary = _conclude(feasibility, tried, reach, vacuous, min_extrapolation)
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
        witness=_witness(everything, feasibility, tried) if refuted else None,
        notes=tuple(notes),
    )


def infeasible(
    cells: Sequence[CellData], constants: Sequence[Constant], bound: Bound, *, level: float
) -> bool:
    """Whether part 1 alone refutes: no constants of the box serve all cells.

    The test of `decide_constants` at the same level, without the fits of the other two parts.
    """
    problem = _posed(cells, constants, bound, None, check_level(level))
    choices, live = _check(problem), _live(problem, None)
    return bool(live) and not any(_feasibility(problem, live, choices, level / 2).feasible)


def _posed(
    cells: Sequence[CellData],
    constants: Sequence[Constant],
    bound: Bound,
    failure: Callable[[Values, CellData], float] | None,
    level: float,
) -> _Problem:
    """The inputs as a problem; a statistic that is not finite is infinite from here on."""
    return _Problem(
        cells=tuple(
            replace(c, statistic=np.where(np.isfinite(c.statistic), c.statistic, np.inf))
            for c in cells
        ),
        constants=tuple(constants),
        bound=bound,
        failure=failure,
        level=level,
    )


def _live(
    problem: _Problem, assumption: Callable[[Values, CellData], bool] | None
) -> tuple[int, ...]:
    """Cells that meet the assumptions and allow less than any failure, at the generous corner."""
    loose = problem.generous()
    return tuple(
        i
        for i, cell in enumerate(problem.cells)
        if (assumption is None or assumption(problem.values(loose, cell), cell))
        and problem.delta(loose, cell) < 1.0
    )


def _check(problem: _Problem) -> tuple[Values, ...]:
    """Validate the inputs; return the declared choices, in grid order."""
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


def _check_generous(problem: _Problem, live: Sequence[int]) -> None:
    """The bound and its failure probability are largest at the corner declared generous."""
    loose = problem.generous()
    for cell in (problem.cells[i] for i in live):
        top, top_delta = problem.bound_at(loose, cell), problem.delta(loose, cell)
        for c in problem.constants:
            if c.generous == "choose":
                continue
            other = {**loose, c.name: c.tight}
            rises = problem.bound_at(other, cell) > top * (1 + 1e-12)
            if np.any(rises) or problem.delta(other, cell) > top_delta * (1 + 1e-12):
                raise InvalidParameter(
                    f"{c.name}: the bound is larger at {c.tight:g} than at its generous end "
                    f"{c.loose:g} in cell {dict(cell.params)}; declare it 'choose'"
                )


def _feasibility(
    problem: _Problem, live: Sequence[int], choices: Sequence[Values], level: float
) -> Feasibility:
    loose = problem.generous()
    data = [problem.cells[i] for i in live]
    n = np.array([c.n_trials for c in data], dtype=np.float64)
    bad = np.array([np.sum(problem.ratios(loose, c) > 1.0) for c in data], dtype=np.float64)
    delta = np.array([problem.delta(loose, c) for c in data])
    shapes = np.array([prior_for(d) for d in delta])
    prior = (shapes[:, 0], shapes[:, 1])
    split = level / len(live)
    excluded = exceeds(bad, n, delta, split, prior)
    lower = confidence_sequence(bad, n, split, prior)[0]
    rows = tuple(
        FeasibilityRow(
            cell=i,
            n_trials=int(n[j]),
            n_bad=int(bad[j]),
            n_failed=int(np.sum(~np.isfinite(data[j].statistic))),
            delta=float(delta[j]),
            lower=float(lower[j]),
            excluded=bool(excluded[j]),
        )
        for j, i in enumerate(live)
    )
    # Which choices a parameter assignment rules out, keyed by its spelling; one index to show it.
    rules_out: dict[str, dict[int, int]] = {}
    for row in rows:
        if row.excluded:
            cell = problem.cells[row.cell]
            k = list(choices).index(dict(cell.choice))
            rules_out.setdefault(canonical_json(cell.params), {})[k] = row.cell
    lost = set().union(*rules_out.values()) if rules_out else set()
    feasible = tuple(k not in lost for k in range(len(choices)))
    witness: tuple[int, ...] = ()
    if not any(feasible):
        witness = _smallest_cover(rules_out, len(choices))
    return Feasibility(rows=rows, choices=tuple(choices), feasible=feasible, witness=witness)


def _smallest_cover(rules_out: Mapping[str, Mapping[int, int]], n_choices: int) -> tuple[int, ...]:
    """Cell indices of a smallest set of parameter assignments that excludes all choices.

    Singles and pairs are tried exhaustively, larger sets greedily.
    """
    keys = sorted(rules_out, key=lambda key: -len(rules_out[key]))
    for size in (1, 2):
        for group in itertools.combinations(keys, size):
            if len(set().union(*(rules_out[g] for g in group))) == n_choices:
                return tuple(next(iter(rules_out[g].values())) for g in group)
    chosen: list[int] = []
    covered: set[int] = set()
    while len(covered) < n_choices:
        best = max(keys, key=lambda key: len(set(rules_out[key]) - covered))
        chosen.append(next(iter(rules_out[best].values())))
        covered |= set(rules_out[best])
    return tuple(chosen)


def _sharpest(
    problem: _Problem,
    fit_on: Sequence[CellData],
    loose: Values,
    tighten: Sequence[Constant],
) -> dict[str, float]:
    """The constants that serve the cells with the smallest bound: least mean log over the cells.

    Positions run from 0 (generous) to 1 (tight) along each logarithmic side of the box.  Several
    constants that are merely tightened in turn do not do: the first would leave its work to the
    next.  So a simplex search moves the *relative* positions, each time sliding all of them as far
    towards the tight corner as the cells allow; at last each is tightened alone, in the declared
    order.
    """

    def at(positions: ArrayLike) -> dict[str, float]:
        shares = np.clip(np.asarray(positions, dtype=np.float64), 0.0, 1.0)
        moved = {
            c.name: c.loose ** (1 - float(u)) * c.tight ** float(u)
            for c, u in zip(tighten, shares, strict=True)
        }
        return {**loose, **moved}

    def furthest(start: FloatArray, direction: FloatArray, reach: float) -> FloatArray:
        """The last point of a ray that serves every cell (its start, if none further does)."""

        def serves(t: float) -> bool:
            values = at(start + t * direction)
            return all(problem.kappa(values, cell) <= 1.0 for cell in fit_on)

        if serves(reach):
            return np.clip(start + reach * direction, 0.0, 1.0)
        safe, unsafe = 0.0, reach
        while unsafe - safe > 3e-4:
            middle = (safe + unsafe) / 2
            safe, unsafe = (middle, unsafe) if serves(middle) else (safe, middle)
        return np.clip(start + safe * direction, 0.0, 1.0)

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


def _room(problem: _Problem, live: Sequence[int], choices: Sequence[Values]) -> tuple[float, ...]:
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


def _calibrate(
    problem: _Problem,
    live: Sequence[int],
    choice: Values,
    room: tuple[float, ...],
    tighten: Sequence[str] | None,
    slack: float,
) -> Calibration:
    """The sharpest constants that serve the calibration cells of a choice, relaxed by slack."""
    by_name = {c.name: c for c in problem.constants if c.generous != "choose"}
    names = tuple(by_name) if tighten is None else tuple(tighten)
    fit_on = [c for c in problem.under(choice, live) if c.role == "calibration"]
    fitted = _sharpest(problem, fit_on, problem.generous(), [by_name[name] for name in names])
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


@dataclass(frozen=True, kw_only=True)
class _Attempt:
    """Extrapolation and drift under one choice; ``rejected`` when both reject."""

    calibration: Calibration
    held_out: ProbabilityDecision
    held_out_cells: tuple[int, ...]
    drift: Drift
    rejected: bool


def _attempt(
    problem: _Problem,
    live: Sequence[int],
    calibration: Calibration,
    directions: Mapping[str, Direction],
    margin: float,
    floor: float,
    resolution: float,
) -> _Attempt:
    frozen, choice = calibration.frozen, dict(calibration.choice)
    mine = [i for i in live if dict(problem.cells[i].choice) == choice]
    held_cells = tuple(i for i in mine if problem.cells[i].role == "held-out")
    held = [problem.cells[i] for i in held_cells]
    held_out = decide_probability(
        [int(np.sum(problem.ratios(frozen, c) > 1.0)) for c in held],
        [c.n_trials for c in held],
        [problem.delta(frozen, c) for c in held],
        problem.level / 2,
        resolution=resolution,
        support_level=problem.level,
    )
    ruled = [i for i in mine if problem.cells[i].in_drift]
    trend = _drift(problem, ruled, frozen, directions, margin, floor)
    return _Attempt(
        calibration=calibration,
        held_out=held_out,
        held_out_cells=held_cells,
        drift=trend,
        rejected=held_out.verdict is Verdict.REFUTED and trend.grows,
    )


def _kappa_se_log(problem: _Problem, corner: Values, cell: CellData, floor: float) -> float:
    """Standard error of the log required constant, from order statistics one s.e. either side."""
    n, q = cell.n_trials, min(problem.looked_at(corner, cell), 1.0)
    spread = math.sqrt(n * q * (1 - q))
    ratios = np.sort(problem.ratios(corner, cell))
    rank = n - 1 - n * q
    ends = [min(max(round(rank + side * spread), 0), n - 1) for side in (-1, 1)]
    low, high = (max(float(ratios[r]), floor) for r in ends)
    return math.log(high / low) / 2 if math.isfinite(high) else math.inf


def _drift(
    problem: _Problem,
    mine: Sequence[int],
    frozen: Values,
    directions: Mapping[str, Direction],
    margin: float,
    floor: float,
) -> Drift:
    data = [problem.cells[i] for i in mine]
    kappa = [max(problem.kappa(frozen, c), floor) for c in data]
    record: dict[str, Any] = {
        "cells": tuple(mine),
        "kappa": tuple(kappa),
        "se_log": tuple(_kappa_se_log(problem, frozen, c, floor) for c in data),
        "margin": margin,
        "asked": bool(directions),
    }
    if not directions:
        return Drift(slopes=(), fit=None, reason="not asked for", **record)
    if not all(map(math.isfinite, kappa)):
        reason = "some cell requires an infinite constant (too many failed trials)"
        return Drift(slopes=(), fit=None, reason=reason, **record)
    try:
        x = {name: np.array([float(c.params[name]) for c in data]) for name in directions}
        fit = fit_power_law(kappa, x, level=problem.level)
    except InvalidParameter as error:
        return Drift(slopes=(), fit=None, reason=str(error), **record)
    family = sum(2 if d == "both" else 1 for d in directions.values())
    slopes = []
    for name, declared in directions.items():
        i = fit.names.index(name)
        # `limits` is two-sided; one side of it carries half of its level.
        refuting = fit.limits(name, problem.level, family=family)  # one side: level / (2 family)
        supporting = fit.limits(name, 2 * problem.level)  # one side: level
        sides: tuple[Literal["up", "down"], ...] = ("up", "down")
        for direction in sides if declared == "both" else (declared,):
            up = direction == "up"
            allowed = min(margin, logarithm_slope(x, name, direction))
            lower = refuting[0] if up else -refuting[1]
            upper = supporting[1] if up else -supporting[0]
            slopes.append(
                DriftSlope(
                    name=name,
                    direction=direction,
                    growth=fit.exponents[i] if up else -fit.exponents[i],
                    se=fit.se[i],
                    lower=lower,
                    upper=upper,
                    span=(float(x[name].min()), float(x[name].max())),
                    allowed=allowed,
                    status="grows"
                    if lower > margin
                    else "flat"
                    if upper <= allowed
                    else "unresolved",
                )
            )
    reason = "" if fit.max_leverage < 1 - 1e-9 else "one cell alone carries some direction"
    return Drift(slopes=tuple(slopes), fit=fit, reason=reason, **record)


def logarithm_slope(
    x: Mapping[str, FloatArray], name: str, direction: Literal["up", "down"]
) -> float:
    r"""The slope that the power-law fit gives to growth like a logarithm of one parameter.

    The law is :math:`\log x` towards large x, or :math:`1 + \log(x / x_{\min})` where the smallest
    x is below e (its logarithm would start at zero, or below); towards small x the same of 1/x.
    """
    towards = x[name] if direction == "up" else 1.0 / x[name]
    law = np.log(towards * max(1.0, math.e / float(towards.min())))
    design = np.column_stack([np.ones_like(law), *(np.log(v) for v in x.values())])
    slope = np.linalg.lstsq(design, np.log(law), rcond=None)[0][1 + list(x).index(name)]
    return float(slope if direction == "up" else -slope)


def _reach(data: Sequence[CellData], directions: Mapping[str, Direction]) -> dict[str, float]:
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
        factors = {}
        for name, direction in directions.items():
            known = [float(c.params[name]) for c in fit_on]
            value = float(cell.params[name])
            up, down = value / max(known), min(known) / value
            factors[name] = {"up": up, "down": down, "both": max(up, down)}[direction]
            if max(up, down) <= 1.0:
                factors[name] = 1.0
        beyond = sorted((f for f in factors.values() if f > 1.0), reverse=True)
        if len(beyond) == 1:
            name = max(factors, key=lambda key: factors[key])
            reach[name] = max(reach[name], beyond[0])
        elif len(beyond) > 1:
            reach["jointly"] = max(reach["jointly"], beyond[1])
    return reach


def _conclude(
    feasibility: Feasibility,
    tried: _Attempt | None,
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
    if held_out.verdict is not Verdict.SUPPORTED:
        missing.append(f"extrapolation {held_out.verdict.value}: {held_out.summary}")
    if not drift.flat:
        steep = [f"{s.name} {s.direction}" for s in drift.slopes if s.status != "flat"]
        missing.append(f"drift not excluded ({drift.reason or 'in ' + ', '.join(steep)})")
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


def _witness(
    problem: _Problem,
    feasibility: Feasibility,
    tried: _Attempt | None,
) -> Witness | None:
    if feasibility.witness:
        row = {r.cell: r for r in feasibility.rows}[feasibility.witness[0]]
        found = [dict(problem.cells[i].params) for i in feasibility.witness]
        corner = _spell(problem.generous())
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

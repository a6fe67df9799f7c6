r"""Negative controls: planted falsehoods, and how often the procedures find them.

A procedure that never refutes keeps every level and is useless.  Each control is a small synthetic
world with a true statement and a falsified sibling of it.  Both go through the decision procedures
unchanged.  `planted_power` counts detections in both.  A detection is a refutation, but for one
control: growth like a logarithm cannot be distinguished from no growth well enough to refute, so
there a detection is a verdict without support.  Detections of the planted statement estimate the
power, those of the true one the error, with exact (Clopper-Pearson) limits.

The worlds are synthetic on purpose: their truth is known by construction, not by another theorem.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest

from verify.decisions.constants import (
    CellSample,
    ConstantBox,
    ConstantsRules,
    ConstantValues,
    decide_constants,
)
from verify.decisions.rates import contraction_factor, decide_rate, fit_power_law
from verify.decisions.sequences import BoolArray, FloatArray, exceeds, prior_for
from verify.evidence import Verdict

_Batch = Callable[[np.random.Generator, float, bool, float], bool]


@dataclass(frozen=True, kw_only=True)
class PlantedPower:
    """Detections of a planted falsehood and in its true sibling, out of ``n_batches`` each."""

    name: str
    truth: str
    planted: str
    n_trials: int
    n_batches: int
    n_detected: int
    power: float
    power_lower: float
    power_upper: float
    n_false: int
    false_rate_upper: float


@dataclass(frozen=True, kw_only=True)
class Control:
    """A world with a true and a planted statement.  ``detects`` decides a batch.

    It is called as ``detects(rng, level, planted, effort)``, where ``effort`` multiplies
    ``n_trials``, the trials of a cell.
    """

    name: str
    truth: str
    planted: str
    n_trials: int
    detects: _Batch


def _scaled(n_trials: int, effort: float) -> int:
    return max(round(n_trials * effort), 5)


def _contraction_choice(
    rng: np.random.Generator, level: float, planted: bool, effort: float
) -> bool:
    """Gradient descent on a quadratic with curvatures 1 and 2: the best factor is 1/3, at 2/3.

    Statement: for some step size in (0, 1], one step from error 1 gives at most
    ``factor + c / sqrt(n)`` for all n.  At large n the floor cannot make up for the factor.
    """
    factor = 0.25 if planted else 0.5
    steps = (0.4, 0.5, 2 / 3, 0.8)
    cells = []
    for step in steps:
        attained = max(abs(1 - step), abs(1 - 2 * step))
        for n in (100, 400, 1600, 25_600, 102_400, 10_240_000):
            noise = rng.standard_normal(_scaled(150, effort)) / math.sqrt(n)
            cells.append(
                CellSample(
                    params={"n": n},
                    statistic=np.abs(attained + noise),
                    delta=0.05,
                    role="calibration" if n <= 1600 else "held-out",
                    choice={"c1": step},
                )
            )
    constants = (
        ConstantBox(name="c1", low=0.1, high=1.0, generous="choose", grid=steps),
        ConstantBox(name="c2", low=0.01, high=100.0),
    )

    def bound(values: ConstantValues, cell: CellSample) -> float:
        return factor + values["c2"] / math.sqrt(float(cell.params["n"]))

    decision = decide_constants(cells, constants, bound, drift={"n": "up"}, level=level)
    return decision.verdict is Verdict.REFUTED


def _contraction_factor(
    rng: np.random.Generator, level: float, planted: bool, effort: float
) -> bool:
    """Trajectories that contract by 1/3 after a slow start, down to a floor, read as a rate."""
    n_trials, n_steps = _scaled(60, effort), 14
    errors = np.empty((n_trials, n_steps + 1))
    errors[:, 0] = 1.0
    for t in range(n_steps):
        factor = (1 / 3 + 0.5 * 0.2**t) * np.exp(0.1 * rng.standard_normal(n_trials))
        errors[:, t + 1] = factor * errors[:, t] + 1e-5 * np.abs(rng.standard_normal(n_trials))
    fit = contraction_factor(errors, level=level)
    stated = math.log(0.25 if planted else 0.5)
    decision = decide_rate(fit.log_limits(), stated, side="at most", margin=0.05)
    return decision.verdict is Verdict.REFUTED


_SMALL = ((10, 4), (16, 6), (25, 8), (40, 5))
_GRID = (
    *((m, d, "calibration") for m in (10, 16, 25, 40) for d in (4, 6, 8)),
    # Each parameter alone far outside, then both.  These are enough sizes to distinguish growth
    # from a shift.
    *((640 * 2**i, _SMALL[i % 4][1], "held-out") for i in range(10)),
    *((_SMALL[i % 4][0], 64 * 2**i, "held-out") for i in range(10)),
    *((640 * 2**i, 64 * 2 ** (3 * i % 10), "held-out") for i in range(10)),
)


def _floor_cells(rng: np.random.Generator, effort: float) -> list[CellSample]:
    """Errors ``sqrt(d / m)`` times log-normal noise.  Held-out cells lie 8-fold and more
    outside.
    """
    return [
        CellSample(
            params={"m": m, "d": d},
            statistic=math.sqrt(d / m) * np.exp(0.3 * rng.standard_normal(_scaled(200, effort))),
            delta=0.05,
            role="calibration" if role == "calibration" else "held-out",
        )
        for m, d, role in _GRID
    ]


def _floor(
    m_exponent: float, d_exponent: float, rng: np.random.Generator, level: float, effort: float
) -> bool:
    def bound(values: ConstantValues, cell: CellSample) -> float:
        m, d = float(cell.params["m"]), float(cell.params["d"])
        return values["c"] * math.pow(m, m_exponent) * math.pow(d, d_exponent)

    decision = decide_constants(
        _floor_cells(rng, effort),
        (ConstantBox(name="c", low=1e-2, high=1e3),),
        bound,
        drift={"m": "up", "d": "up"},
        level=level,
    )
    return decision.verdict is Verdict.REFUTED


def _floor_dimension(rng: np.random.Generator, level: float, planted: bool, effort: float) -> bool:
    return _floor(-0.5, 0.0 if planted else 0.5, rng, level, effort)


def _floor_exponent(rng: np.random.Generator, level: float, planted: bool, effort: float) -> bool:
    return _floor(-0.75 if planted else -0.5, 0.5, rng, level, effort)


_WIDE = (
    *((m, "calibration") for m in (64, 96, 128, 192, 256)),
    *((m, "held-out") for m in np.geomspace(1e4, 1e12, 15)),
)


def _logarithm(rng: np.random.Generator, level: float, planted: bool, effort: float) -> bool:
    """Errors ``1/m``, or ``log(m)/m`` as planted, over 10 decades of m.  The statement is ``c/m``.

    The slope of log log m over these cells is 0.08 per unit log.  This is below the margin of 0.1,
    so only the comparison with a logarithm detects it.  Verdicts *without* support are counted.
    """
    cells = [
        CellSample(
            params={"m": float(m)},
            statistic=(math.log(m) if planted else 1.0)
            / m
            * np.exp(0.3 * rng.standard_normal(_scaled(1000, effort))),
            delta=0.1,
            role="calibration" if role == "calibration" else "held-out",
        )
        for m, role in _WIDE
    ]

    def bound(values: ConstantValues, cell: CellSample) -> float:
        return values["c"] / float(cell.params["m"])

    decision = decide_constants(
        cells,
        (ConstantBox(name="c", low=1e-2, high=1e3),),
        bound,
        drift={"m": "up"},
        level=level,
        # The frozen constant holds up to m = e^60: only drift is left to see it.
        rules=ConstantsRules(slack=10.0),
    )
    return decision.verdict is not Verdict.SUPPORTED


def _rate_exponent(rng: np.random.Generator, level: float, planted: bool, effort: float) -> bool:
    """The same world read as a rate: the exponent of m in the median error."""
    cells = _floor_cells(rng, effort)
    fit = fit_power_law(
        [float(np.median(c.statistic)) for c in cells],
        {name: [float(c.params[name]) for c in cells] for name in ("m", "d")},
        level=level,
    )
    decision = decide_rate(fit.limits("m", level), -0.75 if planted else -0.5, margin=0.1)
    return decision.verdict is Verdict.REFUTED


def _probability(rng: np.random.Generator, level: float, planted: bool, effort: float) -> bool:
    """Four cells that fail with probability 0.02 exactly, looked at 20 times."""
    delta = 0.02 / 4 if planted else 0.02
    truth, deltas, block = np.full(4, 0.02), np.full(4, delta), _scaled(100, effort)
    return bool(probability_refuted(rng, 1, truth, deltas, level, block=block)[0])


def probability_refuted(
    rng: np.random.Generator,
    n_batches: int,
    truth: FloatArray,
    deltas: FloatArray,
    level: float,
    *,
    block: int = 100,
    n_looks: int = 20,
) -> BoolArray:
    """Whether each batch is refuted at *any* look: the worst case of optional stopping.

    ``truth`` and ``deltas`` have shape (C,).  Cells are looked at after every ``block`` trials.  It
    applies the rule of `decide_probability` to all batches at once.
    """
    counts = rng.binomial(block, truth, size=(n_batches, n_looks, truth.size)).cumsum(axis=1)
    n = block * np.arange(1, n_looks + 1)[:, None]
    shapes = np.array([prior_for(float(d)) for d in deltas])
    prior = (shapes[:, 0], shapes[:, 1])
    hit = exceeds(counts, n, deltas, level / truth.size, prior)
    return np.asarray(hit.any(axis=(1, 2)), dtype=np.bool_)


CONTROLS: tuple[Control, ...] = (
    Control(
        name="contraction, best step",
        truth=r"some step size contracts by $1/2$ (best attainable: $1/3$)",
        planted=r"$1/4$ in place of $1/2$; constants feasibility",
        n_trials=150,
        detects=_contraction_choice,
    ),
    Control(
        name="contraction, factor",
        truth=r"the factor is at most $1/2$ (true: $1/3$)",
        planted=r"$1/4$ in place of $1/2$; contraction factor",
        n_trials=60,
        detects=_contraction_factor,
    ),
    Control(
        name="floor, dimension",
        truth=r"error at most $c \sqrt{d/m}$",
        planted=r"$c \sqrt{1/m}$; held-out extrapolation and drift",
        n_trials=200,
        detects=_floor_dimension,
    ),
    Control(
        name="floor, exponent of m",
        truth=r"error at most $c \sqrt{d/m}$",
        planted=r"$c \sqrt{d}\, m^{-3/4}$; held-out extrapolation and drift",
        n_trials=200,
        detects=_floor_exponent,
    ),
    Control(
        name="drift, logarithm",
        truth=r"error at most $c/m$ over 10 decades",
        planted=r"$c/m$ where the error is $\log(m)/m$; support withheld by drift",
        n_trials=1000,
        detects=_logarithm,
    ),
    Control(
        name="rate, exponent of m",
        truth=r"error $\propto m^{-1/2}$",
        planted=r"$m^{-3/4}$; rate",
        n_trials=200,
        detects=_rate_exponent,
    ),
    Control(
        name="probability",
        truth=r"$P(\mathrm{bad}) \leq 0.02$ (equality, 4 cells, 20 looks)",
        planted=r"$\delta/4 = 0.005$; confidence sequence",
        n_trials=2000,
        detects=_probability,
    ),
)


def detections(
    control: Control,
    n_batches: int,
    seed: int,
    level: float,
    *,
    planted: bool,
    effort: float = 1.0,
) -> int:
    """The number of independent batches in which something is found against the statement."""
    streams = np.random.SeedSequence(seed).spawn(n_batches)
    rngs = (np.random.default_rng(stream) for stream in streams)
    return sum(control.detects(rng, level, planted, effort) for rng in rngs)


def planted_power(
    n_batches: int = 200,
    seed: int = 20_260,
    level: float = 0.05,
    efforts: tuple[float, ...] = (1.0, 0.25, 0.1),
) -> tuple[PlantedPower, ...]:
    """Power and false detections of every control at several budgets.

    ``efforts`` multiply the trials a cell.  Limits are Clopper-Pearson at 95 %, and the one for
    false detections is one-sided.
    """
    results = []
    for effort in efforts:
        for k, c in enumerate(CONTROLS):
            found = detections(c, n_batches, seed + 2 * k, level, planted=True, effort=effort)
            wrong = detections(c, n_batches, seed + 2 * k + 1, level, planted=False, effort=effort)
            ci = binomtest(found, n_batches).proportion_ci(0.95)
            least = binomtest(wrong, n_batches, alternative="less").proportion_ci(0.95)
            results.append(
                PlantedPower(
                    name=c.name,
                    truth=c.truth,
                    planted=c.planted,
                    n_trials=_scaled(c.n_trials, effort),
                    n_batches=n_batches,
                    n_detected=found,
                    power=found / n_batches,
                    power_lower=float(ci.low),
                    power_upper=float(ci.high),
                    n_false=wrong,
                    false_rate_upper=float(least.high),
                )
            )
    return tuple(results)

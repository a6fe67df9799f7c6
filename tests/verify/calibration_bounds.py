"""Worlds with a known truth for the procedures that test bounds: probability, constants, rates.

A true bound is tried where a false refutation is easiest: it holds with equality in every cell.  A
false one is tried where a false support is easiest: it fails by a thousandth, or by a tenth of an
exponent's margin.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from tests.verify.calibration_data import (
    NOISE,
    contracting_errors,
    inverse_root,
    level_shift_cells,
    noise_growing_with_m,
    power_law_cells,
)
from tests.verify.calibration_world import LEVEL, Batch, World
from verify.decisions.constants import ConstantBox, ConstantsRules, decide_constants
from verify.decisions.probability import decide_exact_probability, decide_probability
from verify.decisions.rates import contraction_factor, decide_rate, fit_power_law, why_ruled
from verify.decisions.sequences import quantile_upper, resolvable
from verify.evidence import Verdict

REFUTATION, SUPPORT, MISS = "false refutation", "false support", "limits miss"

# probability

#: Blocks of one hundred trials at each look.
_LOOKS = (1, 2, 4, 8, 16, 32, 40)


def _probability(truth: list[float], stated: list[float], wrong: Verdict) -> Batch:
    """Whether ``wrong`` is the first verdict over the looks of a run that doubles its trials."""

    def batch(rng: np.random.Generator) -> int:
        counts = rng.binomial(100, truth, (_LOOKS[-1], len(truth))).cumsum(axis=0)
        for n_blocks in _LOOKS:
            count = counts[n_blocks - 1]
            verdict = decide_probability(count, 100 * n_blocks, np.array(stated), LEVEL).verdict
            if verdict in (Verdict.REFUTED, Verdict.SUPPORTED):
                return int(verdict is wrong)
        return 0

    return batch


def _exact(rng: np.random.Generator) -> int:
    law = np.array([0.01, 0.5, 0.93])
    decision = decide_exact_probability(rng.binomial(2_000, law), 2_000, law, LEVEL)
    return int(decision.verdict is Verdict.REFUTED)


QUANTILES: dict[str, tuple[Callable[[np.random.Generator, int], np.ndarray], float]] = {
    "exponential": (lambda rng, n: rng.standard_exponential(n), -math.log(0.1)),
    "Pareto, index 1/2": (lambda rng, n: rng.pareto(0.5, n), 99.0),
    "discrete, ten values": (lambda rng, n: rng.integers(0, 10, n) * 1.0, 8.0),
}


def _quantile_missed(name: str) -> Batch:
    draw, truth = QUANTILES[name]

    def batch(rng: np.random.Generator) -> int:
        x = draw(rng, 300)
        looks = (quantile_upper(x[:n], 0.9, LEVEL, anytime=True) for n in (50, 100, 200, 300))
        return int(min(looks) < truth)

    return batch


def probability_worlds() -> list[World]:
    """Probabilities exactly at the stated one, or a thousandth above it."""
    worlds = []
    for delta in (0.002, 0.02, 0.3, 0.98):
        stated = [delta, delta, delta / 2]
        above = [min(1.0, 1.001 * delta)]
        cases = ((REFUTATION, stated, stated), (SUPPORT, above, [delta]))
        for error, truth, said in cases:
            wrong = Verdict.REFUTED if error == REFUTATION else Verdict.SUPPORTED
            batch = _probability(truth, said, wrong)
            worlds.append(World("probability", error, f"delta = {delta:g}", batch))
    worlds.append(World("probability, exact law", REFUTATION, "three cells", _exact))
    worlds += [World("quantile", MISS, name, _quantile_missed(name)) for name in QUANTILES]
    return worlds


# constants


def _constants(noise: str, growth: float, top: float, slack: float, wrong: Verdict) -> Batch:
    """The bound c / sqrt(m) for a statistic whose 95 % quantile is m^(growth - 1/2)."""
    box = (ConstantBox(name="c", low=top / 1e4, high=top),)

    def batch(rng: np.random.Generator) -> int:
        decision = decide_constants(
            power_law_cells(rng, growth - 0.5, noise),
            box,
            inverse_root,
            drift={"m": "up"},
            level=LEVEL,
            rules=ConstantsRules(slack=slack, margin=0.1),
        )
        return int(decision.verdict is wrong)

    return batch


def _level_shift(rng: np.random.Generator) -> int:
    """The required constant is ten times larger from some size on.  The larger one serves all."""
    at = math.exp(rng.uniform(math.log(10), math.log(1e5)))
    decision = decide_constants(
        level_shift_cells(rng, at),
        (ConstantBox(name="c", low=1e-2, high=1e4),),
        lambda values, _cell: values["c"],
        drift={"m": "up", "d": "both"},
        level=LEVEL,
    )
    return int(decision.verdict is Verdict.REFUTED)


def constant_worlds() -> list[World]:
    """The one constant that serves is the end of the box; or the constant grows by the margin."""
    worlds = []
    for noise in NOISE:
        cases = (
            ("constants, box", REFUTATION, noise, 0.0, 1.0, 2.0, Verdict.REFUTED),
            ("constants, drift", REFUTATION, noise, 0.1, 1e3, 1.0, Verdict.REFUTED),
            ("constants, drift", SUPPORT, noise, 0.11, 1e3, 100.0, Verdict.SUPPORTED),
        )
        for procedure, error, data, growth, top, slack, wrong in cases:
            batch = _constants(noise, growth, top, slack, wrong)
            worlds.append(World(procedure, error, data, batch, quick=50))
    worlds.append(
        World("constants, level shift", REFUTATION, "tenfold, anywhere", _level_shift, quick=20)
    )
    return worlds


# rates

SCATTER: dict[str, Callable[[np.random.Generator, np.ndarray], np.ndarray]] = {
    "spread grows with m": noise_growing_with_m,
    "heavy-tailed: Student t, 3 degrees": lambda rng, m: 0.05 * rng.standard_t(3, m.size),
    "discrete: two values": lambda rng, m: 0.1 * rng.choice([-1.0, 1.0], m.size),
}


def _exponent(scatter: str, off: float, wrong: Verdict) -> Batch:
    m = np.geomspace(10, 10_000, 16)

    def batch(rng: np.random.Generator) -> int:
        fit = fit_power_law(m**-0.5 * np.exp(SCATTER[scatter](rng, m)), {"m": m}, level=LEVEL)
        margin = 0.0 if wrong is Verdict.REFUTED else 0.1
        limits = (fit.lower[0], fit.upper[0])
        return int(decide_rate(limits, -0.5 + off, margin=margin).verdict is wrong)

    return batch


#: Trials a cell of the worlds of means, and their cells.
TRIALS, SIZES = 1_024, np.geomspace(10, 10_000, 16)
#: The probability, averaged over all trials, down to which they support a rate.
FLOOR = resolvable(TRIALS * len(SIZES), LEVEL)
#: No error: the verdict names the floor, and the failures of that world are rarer.
TO_FLOOR = f"support to {FLOOR:.2g} only"


def _typical(rng: np.random.Generator, m: float, exponent: float) -> np.ndarray:
    """Values near a power of m, with a spread of a tenth."""
    return np.asarray(m**exponent * np.exp(0.1 * rng.standard_normal(TRIALS)))


def _rare(share: float, rng: np.random.Generator, m: float) -> np.ndarray:
    """Values near m^(-1/2), but for a share that is so large that the mean is near 10 m^(-1/5)."""
    large = rng.random(TRIALS) < share
    return np.where(large, 10 * m**-0.2 / share, _typical(rng, m, -0.5))


def _rare_in_one_cell(rng: np.random.Generator, m: float) -> np.ndarray:
    """Values near m^(-1/2), but in the last cell a share makes the mean a hundred times larger.

    Averaged over the cells, that share is the floor.
    """
    values = _typical(rng, m, -0.5)
    share = len(SIZES) * FLOOR if m == SIZES[-1] else 0.0
    return np.where(rng.random(TRIALS) < share, 100 * m**-0.5 / max(share, FLOOR), values)


def _rare_alone(rng: np.random.Generator, m: float) -> np.ndarray:
    """The mean falls like m^(-1/2) by values of a share alone: the others fall like m^(-1/5)."""
    large = rng.random(TRIALS) < FLOOR
    return np.where(large, 10 * m**-0.5 / FLOOR, 1e-3 * _typical(rng, m, -0.2))


def _skewed(rng: np.random.Generator, m: float) -> np.ndarray:
    """Lognormal values with mean m^(-0.399): the logs' spread grows from 0.1 to 1.5."""
    s = 0.1 + 1.4 * math.log10(m / 10) / 3
    return np.asarray(m**-0.399 * np.exp(s * rng.standard_normal(TRIALS) - s**2 / 2))


def _mean_rate(
    draw: Callable[[np.random.Generator, float], np.ndarray], wrong: Verdict = Verdict.SUPPORTED
) -> Batch:
    """The verdict on the exponent -1/2 is ``wrong``, by the steps of the procedure `Rate`."""

    def batch(rng: np.random.Generator) -> int:
        samples = [draw(rng, float(m)) for m in SIZES]
        fit = fit_power_law([x.mean() for x in samples], {"m": SIZES}, level=LEVEL)
        decision = decide_rate((fit.lower[0], fit.upper[0]), -0.5, margin=0.1)
        known = not any(why_ruled(x) for x in samples)
        return int(known and decision.verdict is wrong)

    return batch


#: Values whose means have another exponent than -1/2.
MEANS: dict[str, Callable[[np.random.Generator, float], np.ndarray]] = {
    "failures of 1e-3 rule the mean": partial(_rare, 1e-3),
    "failures at the floor rule the mean": partial(_rare, FLOOR),
    "failures at the floor, in one cell alone": _rare_in_one_cell,
    "lognormal, its spread grows with m": _skewed,
}


def _factor(side: str, rng: np.random.Generator) -> int:
    limits = contraction_factor(contracting_errors(rng), level=LEVEL).log_limits()
    decision = decide_rate(limits, math.log(1 / 3), side, margin=0.0)  # type: ignore[arg-type]
    return int(decision.verdict is Verdict.REFUTED)


def rate_worlds() -> list[World]:
    """Exponents and factors that are exactly the stated ones, or just beyond the margin."""
    worlds = []
    for scatter in SCATTER:
        cases = ((REFUTATION, 0.0, Verdict.REFUTED), (SUPPORT, 0.101, Verdict.SUPPORTED))
        for error, off, wrong in cases:
            worlds.append(World("rate", error, scatter, _exponent(scatter, off, wrong)))
    worlds += [
        World("rate of means", SUPPORT, name, _mean_rate(draw), full=600)
        for name, draw in MEANS.items()
    ]
    refuting = _mean_rate(_rare_alone, Verdict.REFUTED)
    name = "failures at the floor are the mean"
    worlds.append(World("rate of means", REFUTATION, name, refuting, full=600))
    below = _mean_rate(partial(_rare, 1e-4))
    unseen = (1 - 1e-4) ** (TRIALS * len(SIZES))
    name = "failures of 1e-4 rule the mean"
    worlds.append(World("rate of means", TO_FLOOR, name, below, full=600, limit=unseen))
    return worlds + [
        World("contraction", REFUTATION, side, partial(_factor, side))
        for side in ("at most", "at least")
    ]

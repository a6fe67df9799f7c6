"""Simulated data with a known truth, for the calibration tests and for the calibration table."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.stats import norm, t

from verify.decisions.constants import CellSample

#: log of the statistic over its 95 % quantile, at a size m.
NOISE: dict[str, Callable[[np.random.Generator, float, int], np.ndarray]] = {
    "lognormal": lambda rng, _m, n: 0.3 * (rng.standard_normal(n) - norm.isf(0.05)),
    "heavy-tailed: Student t, 3 degrees": lambda rng, _m, n: (
        0.3 * (rng.standard_t(3, n) - t.isf(0.05, 3))
    ),
    "discrete: three values": lambda rng, _m, n: rng.choice(
        [-0.3, 0.0, 0.3], n, p=(0.5, 0.45, 0.05)
    ),
    "spread grows tenfold with m": lambda rng, m, n: (
        0.05 * (m / 10) ** 0.4 * (rng.standard_normal(n) - norm.isf(0.05))
    ),
}
_CALIBRATION, _HELD_OUT = (10.0, 20.0, 40.0), (160.0, 640.0, 2560.0)


def power_law_cells(
    rng: np.random.Generator, exponent: float, noise: str = "lognormal"
) -> list[CellSample]:
    """Cells whose statistic has the 95 % quantile m^exponent."""
    return [
        CellSample(
            params={"m": m},
            statistic=m**exponent * np.exp(NOISE[noise](rng, m, 100)),
            delta=0.05,
            role="calibration" if m in _CALIBRATION else "held-out",
        )
        for m in (*_CALIBRATION, *_HELD_OUT)
    ]


def inverse_root(values, cell):  # type: ignore[no-untyped-def]
    """The bound c / sqrt(m)."""
    return values["c"] * cell.params["m"] ** -0.5


def level_shift_cells(rng: np.random.Generator, at: float) -> list[CellSample]:
    """The required constant is ten times larger from the size ``at`` on, in any order of d."""
    sizes = [*np.geomspace(10, 160, 10), *np.geomspace(640, 1e5, 18)]
    return [
        CellSample(
            params={"m": m, "d": d},
            statistic=(10.0 if m > at else 1.0) * np.exp(0.3 * rng.standard_normal(100)),
            delta=0.05,
            role="calibration" if m <= 160 else "held-out",
        )
        for m, d in zip(sizes, rng.permutation(np.geomspace(2, 200, 28)), strict=True)
    ]


def contracting_errors(rng: np.random.Generator) -> np.ndarray:
    """Errors of 40 trials over 15 steps.  The factor is 1/3 after two slow steps, to a floor."""
    errors = np.ones((40, 15))
    for step in range(14):
        noise = np.exp(0.2 * rng.standard_normal(40))
        errors[:, step + 1] = (0.8 if step < 2 else 1 / 3) * noise * errors[:, step]
        errors[:, step + 1] += 1e-5 * np.abs(rng.standard_normal(40))
    return errors


def noise_growing_with_m(rng: np.random.Generator, m: np.ndarray) -> np.ndarray:
    """Noise in the logarithm, sixteen times wider at m = 10,000 than at m = 10."""
    return 0.02 * np.sqrt(m / 10) ** 0.8 * rng.standard_normal(m.size)

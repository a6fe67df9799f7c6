"""Adversarial point sets for the clustering kernels, each drawn from a seed.

Every family produces what breaks geometric code in floating point: points that nearly coincide,
sizes that differ by many powers of ten, exact ties and points on a line.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def near_duplicates(rng: np.random.Generator) -> FloatArray:
    """A few centres, each repeated with a jitter between 1e-15 and 1e-6."""
    k, copies, d = rng.integers(1, 9), rng.integers(1, 6), rng.integers(1, 4)
    centres = np.repeat(rng.standard_normal((k, d)), copies, axis=0)
    return centres + 10.0 ** rng.integers(-15, -5) * rng.standard_normal(centres.shape)


def mixed_scales(rng: np.random.Generator) -> FloatArray:
    """Points of one set scaled by 1e-6 to 1e6, each on its own."""
    m, d = rng.integers(2, 20), rng.integers(1, 4)
    return rng.standard_normal((m, d)) * 10.0 ** rng.uniform(-6, 6, (m, 1))


def nested(rng: np.random.Generator) -> FloatArray:
    """Pairs of pairs of pairs, each level smaller than the one above by up to ten decades."""
    d = int(rng.integers(1, 4))
    points = np.zeros((1, d))
    size = 1.0
    for _ in range(int(rng.integers(1, 5))):
        shifts = size * rng.standard_normal((int(rng.integers(2, 4)), d))
        points = (points[:, None] + shifts[None]).reshape(-1, d)
        size *= 10.0 ** -rng.uniform(0, 5)
    return points[rng.permutation(len(points))[:24]]


def collinear(rng: np.random.Generator) -> FloatArray:
    """Points on a line in up to three dimensions, some of them nearly equal."""
    m, d = rng.integers(2, 16), rng.integers(1, 4)
    along = rng.integers(-5, 6, m) + 10.0 ** rng.integers(-16, 1) * rng.standard_normal(m)
    return along[:, None] * rng.standard_normal(d) + rng.integers(0, 2) * rng.standard_normal(d)


def lattice(rng: np.random.Generator) -> FloatArray:
    """Integer points with ties and duplicates, in any unit."""
    m, d = rng.integers(1, 20), rng.integers(1, 4)
    return rng.integers(-3, 4, (m, d)) * 10.0 ** rng.integers(-12, 13)


def far_from_the_origin(rng: np.random.Generator) -> FloatArray:
    """A cloud whose distance to the origin is up to 1e15 times its width."""
    m, d = rng.integers(2, 14), rng.integers(1, 4)
    return rng.standard_normal((m, d)) + 10.0 ** rng.integers(0, 16) * rng.standard_normal(d)


FAMILIES: dict[str, Callable[[np.random.Generator], FloatArray]] = {
    family.__name__: family
    for family in (near_duplicates, mixed_scales, nested, collinear, lattice, far_from_the_origin)
}


def instances(count: int, seed: int = 0) -> list[tuple[str, int, FloatArray]]:
    """``count`` sets of every family: name, number and points, the same for equal seeds."""
    return [
        (name, i, family(np.random.default_rng([seed, place, i])))
        for place, (name, family) in enumerate(FAMILIES.items())
        for i in range(count)
    ]

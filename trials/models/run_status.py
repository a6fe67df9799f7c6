"""How a run of an iterative algorithm ends."""

from __future__ import annotations

from enum import IntEnum

DIVERGENCE_BOUND = 1e12
"""A run whose step would give a model of larger Euclidean norm is stopped as diverged."""


def bound_in_unit(unit: float) -> float:
    """The bound for models of a unit: that of unit 1, or larger where the unit is.

    >>> bound_in_unit(1e-3), bound_in_unit(1e3)
    (1000000000000.0, 1000000000000000.0)
    """
    return DIVERGENCE_BOUND * max(1.0, unit)


class RunStatus(IntEnum):
    """How a run ended."""

    COMPLETED = 0
    DIVERGED = 1

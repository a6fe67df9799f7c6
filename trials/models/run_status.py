"""How a run of an iterative algorithm ends."""

from __future__ import annotations

from enum import IntEnum

DIVERGENCE_BOUND = 1e12
"""A run whose step would give a model of larger Euclidean norm is stopped as diverged."""


class RunStatus(IntEnum):
    """How a run ended."""

    COMPLETED = 0
    DIVERGED = 1

"""Estimated times of blocks, by which an executor decides how many it sends in one message."""

from __future__ import annotations

import math

from trials.run.block import Task


class Costs:
    """Estimated CPU seconds of a block, by experiment: declared, else a running mean of measured.

    The first block of an experiment can include compilation.  So a shorter time changes the
    estimate by half of the difference, a longer one by a fifth.
    """

    def __init__(self) -> None:
        self._measured: dict[str, float] = {}

    def seconds(self, task: Task) -> float | None:
        """The estimate, or None where nothing is known."""
        owner = task.experiment
        measured = self._measured.get(owner.name)
        if owner.cost is None:
            return measured
        declared = float(owner.cost(task.params)) * owner.block_size
        return declared if math.isfinite(declared) and declared >= 0 else measured

    def measured(self, task: Task, seconds: float) -> None:
        """Take note of a block's time.  Wall time would make small batches on a busy machine."""
        name = task.experiment.name
        old = self._measured.get(name, seconds)
        weight = 0.5 if seconds < old else 0.2
        self._measured[name] = old + weight * (seconds - old)

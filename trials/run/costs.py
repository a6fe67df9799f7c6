"""Estimated times of blocks, by which an executor decides how many it sends in one message."""

from __future__ import annotations

import math
from collections.abc import Iterable

from trials.run.block import Task
from trials.run.cell import Params, canonical_json


class Costs:
    """Estimated CPU seconds of a block: declared, else a running mean of those of its cell.

    The cells of an experiment may take a millisecond and a minute, so none speaks for another.  The
    first block can include compilation.  So a shorter time changes the estimate by half of the
    difference, a longer one by a fifth.
    """

    def __init__(self) -> None:
        self._measured: dict[tuple[str, str], float] = {}
        self._last: tuple[Params, str] | None = None

    def seconds(self, task: Task) -> float | None:
        """The estimate, or None where nothing is known."""
        owner = task.experiment
        if owner.cost is not None:
            declared = float(owner.cost(task.params)) * owner.block_size
            if math.isfinite(declared) and declared >= 0:
                return declared
        return self._measured.get(self._cell(task))

    def count_first(self, tasks: Iterable[object], seconds: float, most: int) -> int:
        """How many of the tasks at the front go into one message, at least one.

        They are blocks of one experiment and one root seed that take ``seconds`` together, and
        ``most`` at most.  A block of which nothing is known travels alone.
        """
        count, total = 0, 0.0
        first: Task | None = None
        for task in tasks:
            if not isinstance(task, Task) or count >= most:
                break
            first = first or task
            estimate = self.seconds(task)
            total += math.inf if estimate is None else estimate
            same = task.experiment is first.experiment and task.root_seed == first.root_seed
            if not same or (count and total > seconds):
                break
            count += 1
        return max(1, count)

    def measured(self, task: Task, seconds: float) -> None:
        """Take note of a block's time.  Wall time would make small batches on a busy machine."""
        cell = self._cell(task)
        old = self._measured.get(cell, seconds)
        weight = 0.5 if seconds < old else 0.2
        self._measured[cell] = old + weight * (seconds - old)

    def _cell(self, task: Task) -> tuple[str, str]:
        """The names of an experiment and a cell.  One block after another is of the same one."""
        if self._last is None or self._last[0] is not task.params:
            self._last = task.params, canonical_json(task.params)
        return task.experiment.name, self._last[1]

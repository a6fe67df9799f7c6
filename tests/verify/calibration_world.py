"""A world with a known truth: batches of data in which a procedure may decide wrongly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

#: The nominal level of every procedure in every world.
LEVEL = 0.05
Batch = Callable[[np.random.Generator], int]


@dataclass(frozen=True)
class World:
    """One row of the table: ``wrong`` returns 1 for a batch that is decided wrongly, else 0.

    ``limit`` is the highest rate that no procedure could avoid, by default the nominal level.
    """

    procedure: str
    error: str
    data: str
    wrong: Batch
    full: int = 2_000
    quick: int = 100
    limit: float = LEVEL

    @property
    def name(self) -> str:
        """How tests call it."""
        return f"{self.procedure}, {self.error}, {self.data}"

    def count(self, n_batches: int) -> int:
        """Number of wrong batches.  The stream is the world's own."""
        seed = [ord(c) for c in self.name]
        rng = np.random.default_rng(seed)
        return sum(self.wrong(rng) for _ in range(n_batches))

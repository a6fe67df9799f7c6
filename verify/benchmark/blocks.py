"""The data of the blocks that were used last: a trial is drawn once, whatever the methods.

The engine takes one block of all methods before the next (`trials.run.engine`).  The first method
that asks for a trial draws it, while others wait.  No method alters the data: those that ship only
read them, and one's own gets a copy in its process.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence

from verify.benchmark.federation import Federation

#: Most bytes and blocks to keep, but always the block in use.
MOST_BYTES, MOST_BLOCKS = 1 << 28, 4
Draw = Callable[[], Federation]


class Block:
    """The federations of a block's trials, each drawn when it is first asked for."""

    def __init__(self, draws: Sequence[Draw]) -> None:
        self._draws, self._lock = draws, threading.Lock()
        self._drawn: dict[int, Federation] = {}
        self.n_bytes = 0

    def trial(self, number: int) -> Federation:
        """The federation of one trial."""
        with self._lock:
            found = self._drawn.get(number)
            if found is None:
                found = self._drawn[number] = self._draws[number]()
                self.n_bytes += found.features.nbytes + found.test_features.nbytes
            return found


class LastBlocks:
    """The blocks that were used last, for all threads of a process.

    >>> from verify.benchmark.federation import FEDERATION, draw
    >>> import numpy as np
    >>> cell, rng, kept = FEDERATION.check({"m": 4}), np.random.default_rng(0), LastBlocks()
    >>> def block():
    ...     return kept.get("key", lambda: [lambda: draw(cell, rng)])
    >>> block().trial(0) is block().trial(0)
    True
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[Hashable, Block] = {}

    def get(self, key: Hashable, draws: Callable[[], Sequence[Draw]]) -> Block:
        """The block of that key, from ``draws`` where it is not kept."""
        with self._lock:
            found = self._kept.pop(key, None) or Block(draws())
            self._kept[key] = found  # the last one is the newest
            while len(self._kept) > 1 and (
                len(self._kept) > MOST_BLOCKS
                or sum(block.n_bytes for block in self._kept.values()) > MOST_BYTES
            ):
                del self._kept[next(iter(self._kept))]
            return found

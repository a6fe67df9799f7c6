"""What many trials cost on many workers, simulated from the times that a run has recorded.

    python docs/schedule.py runs/quick-0 --trials 1e9

The run's own mixture of experiments is scaled up to the asked number of trials.  Blocks go out in
batches of a quarter of a second, the longest first, to the worker that is free first, as
`trials.run.distributed` sends them.  One process hands out all batches and commits all blocks, one
after the other.  So it is the limit where there are many workers.
"""

from __future__ import annotations

import argparse
import heapq
import sqlite3
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

BATCH_SECONDS = 0.25
#: Seconds of the one process that hands out a batch and commits a block (`-e bench -- executors`).
SECONDS_OF_A_BATCH, SECONDS_OF_A_BLOCK = 3e-3, 0.2e-3
WORKERS = (1, 2, 8, 32, 128, 512, 1000)


class Kind(NamedTuple):
    """The blocks of one experiment: their number, trials, seconds each, and bytes each."""

    n_blocks: int
    n_trials: int
    seconds: float
    n_bytes: float


class Outcome(NamedTuple):
    """A simulated run: seconds from start to end, and the share of the workers' time in use."""

    seconds: float
    efficiency: float


def recorded(run: Path) -> list[Kind]:
    """One kind for each experiment of a run."""
    query = (
        "SELECT COUNT(*), SUM(n_rows), AVG(seconds), AVG(LENGTH(data)) FROM block "
        "JOIN timing USING (cell, block) JOIN cell ON cell.id = block.cell GROUP BY experiment"
    )
    with sqlite3.connect(f"file:{run / 'store.sqlite'}?mode=ro", uri=True) as store:
        return [Kind(*row) for row in store.execute(query)]


def batches(kinds: Iterable[Kind], scale: float) -> list[tuple[float, int]]:
    """(seconds, blocks) of each batch of a run that is ``scale`` times as large, longest first."""
    found = []
    for kind in kinds:
        n_blocks = max(1, round(kind.n_blocks * scale))
        size = max(1, int(BATCH_SECONDS / kind.seconds)) if kind.seconds > 0 else n_blocks
        full, rest = divmod(n_blocks, size)
        found += [(size * kind.seconds, size)] * full + [(rest * kind.seconds, rest)] * bool(rest)
    return sorted(found, reverse=True)


def simulate(work: Sequence[tuple[float, int]], n_workers: int) -> Outcome:
    """Hand each batch to the worker that is free first.

    >>> simulate([(10.0, 1)] * 4, 2).seconds < 20.1
    True
    """
    free, hand_out, end = [0.0] * n_workers, 0.0, 0.0
    for seconds, n_blocks in work:
        hand_out = max(hand_out, free[0]) + SECONDS_OF_A_BATCH + n_blocks * SECONDS_OF_A_BLOCK
        end = max(end, hand_out + seconds)
        heapq.heapreplace(free, hand_out + seconds)
    busy = sum(seconds for seconds, _ in work)
    return Outcome(end, busy / (n_workers * end))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--trials", type=float, default=1e9)
    given = parser.parse_args(arguments)
    kinds = recorded(given.run)
    n_trials = sum(kind.n_trials for kind in kinds)
    scale = given.trials / n_trials
    work = batches(kinds, scale)
    n_bytes = scale * sum(kind.n_blocks * kind.n_bytes for kind in kinds)
    n_blocks = sum(n for _, n in work)
    print(f"{given.trials:.2g} trials, {n_blocks:,} blocks, {n_bytes / 1e9:.3g} GB of values")
    print(f"{sum(seconds for seconds, _ in work) / 3600:.3g} hours of one worker\n")
    print("| workers | hours | share of their time in use | lost with all workers at once |")
    print("| --- | --- | --- | --- |")
    for n_workers in WORKERS:
        seconds, efficiency = simulate(work, n_workers)
        lost = sum(seconds for seconds, _ in work[:n_workers])
        print(
            f"| {n_workers:,} | {seconds / 3600:.3g} | {100 * efficiency:.0f} % | "
            f"{lost:.3g} CPU s |"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What places to compute cost: threads, processes and a Dask cluster on the same blocks.

The work is a share of the quick profile: blocks of `ifca.step`, `ifca.trajectory` and least squares
on data, 5 to 80 ms each.  Every place computes all of it once before it is timed, so that kernels
are loaded.  The aims: Dask costs at most 15 % over threads, and two workers are at least 1.7 times
as fast as one.  The processor time of all processes stands beside the wall time, because a machine
that does other work at the same time makes wall times meaningless.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import trials.experiments  # noqa: F401  (registers every experiment)
from trials.run.engine import Demand, ensure
from trials.run.executors import Executor, make_executor
from trials.run.experiment import experiment
from trials.run.store import RunStore

ROOT = Path(__file__).parents[2]
START_SECONDS = 60.0


def _demands(shift: int) -> list[Demand]:
    """Cells that no earlier call has computed: a store is made anew, but so are its cells."""
    step, trajectory = experiment("ifca.step"), experiment("ifca.trajectory")
    least = experiment("least-squares.data")
    return [
        *(Demand(step, {"m": 400 + i, "d": 50 + shift}, 6) for i in range(8)),
        *(Demand(trajectory, {"m": 200 + i, "d": 20 + shift}, 4) for i in range(6)),
        *(Demand(least, {"N": 200 + i, "d": 20 + shift}, 8) for i in range(10)),
    ]


@contextmanager
def _cluster(n_workers: int, folder: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler and workers of one thread each, as processes of their own."""
    file = folder / "scheduler.json"
    started: list[subprocess.Popen[bytes]] = []

    def start(command: str, *options: str) -> None:
        started.append(
            subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.{command}", *options, "--no-dashboard"],
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )

    try:
        start("dask_scheduler", "--scheduler-file", str(file), "--host", "127.0.0.1", "--port", "0")
        begin = time.monotonic()
        while not file.exists() or not file.read_text().strip():
            if time.monotonic() - begin > START_SECONDS:
                raise TimeoutError("the scheduler did not start")
            time.sleep(0.1)
        address = json.loads(file.read_text())["address"]
        for _ in range(n_workers):
            start("dask_worker", address, "--no-nanny", "--nthreads", "1")
        yield address, started
    finally:
        for process in reversed(started):
            process.kill()
            process.wait()


def _processor_seconds(processes: list[int]) -> float:
    """User and system time of processes, from the system's own count (Linux only, else 0)."""
    ticks = 0
    for number in processes:
        try:
            fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _children() -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[1] == str(os.getpid()):
            found.append(int(path.parent.name))
    return found


def _timed(executor: Executor, folder: Path) -> tuple[float, float]:
    """Wall and processor seconds of the second of two equal amounts of work."""
    for shift in (0, 1):
        with RunStore.create(folder / f"run{shift}", root_seed=1, config={}) as store:
            everyone = [os.getpid(), *_children()]
            begin, used = time.perf_counter(), _processor_seconds(everyone)
            ensure(store, _demands(shift), executor)
            wall = time.perf_counter() - begin
            used = _processor_seconds([os.getpid(), *_children()]) - used
    return wall, used


def run() -> list[dict[str, Any]]:
    """Wall seconds of each executor.  The other side is threads with as many workers."""
    found: dict[tuple[str, int], tuple[float, float]] = {}
    rows = []
    for n in (1, 2):
        for kind in ("threads", "processes", "distributed"):
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                if kind == "distributed":
                    with (
                        _cluster(n, folder) as (address, _),
                        make_executor(kind, address=address) as executor,
                    ):
                        found[kind, n] = _timed(executor, folder)
                else:
                    with make_executor(kind, n) as executor:
                        found[kind, n] = _timed(executor, folder)
            traffic = executor.traffic
            wall, used = found[kind, n]
            note = f"{used:.2f} s of processor time"
            if traffic.n_blocks:
                note += (
                    f"; {traffic.n_messages / traffic.n_blocks:.2f} messages and "
                    f"{traffic.n_bytes / traffic.n_blocks:,.0f} bytes a block"
                )
            case = f"{kind} x {n} against threads x {n}"
            rows.append(_row(case, wall, found["threads", n][0], note))
    for kind in ("threads", "processes", "distributed"):
        case = f"{kind} x 2 against {kind} x 1"
        rows.append(_row(case, found[kind, 2][0], found[kind, 1][0], "aim: ratio 1.7"))
    return rows


def _row(case: str, ours: float, other: float, note: str) -> dict[str, Any]:
    return {
        "benchmark": "executors",
        "case": case,
        "ours": ours,
        "other": other,
        "ratio": other / ours,
        "unit": "s",
        "note": note,
    }


if __name__ == "__main__":
    for line in run():
        print(line)

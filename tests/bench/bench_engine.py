"""What the engine costs: streams, checks, hand-over, checksums and commits, for free trials."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trials.run.cell import Params
from trials.run.engine import Demand, ensure
from trials.run.executors import make_executor
from trials.run.experiment import Experiment
from trials.run.store import RunStore

AIM_US = 5.0
REPEATS = 5


def _free(params: Params, rng: np.random.Generator, n_trials: int) -> NDArray[np.float64]:
    return np.zeros((n_trials, params["n_columns"]))


def _experiment(block_size: int, n_columns: int) -> Experiment:
    return Experiment(
        name="bench.free",
        design=4_000_001_000,
        columns=tuple(f"v{i}" for i in range(n_columns)),
        simulate=_free,
        check=dict,
        block_size=block_size,
    )


def _row(case: str, ours: float, other: float, unit: str, note: str) -> dict[str, Any]:
    return {
        "benchmark": "engine",
        "case": case,
        "ours": ours,
        "other": other,
        "ratio": other / ours,
        "unit": unit,
        "note": note,
    }


def run() -> list[dict[str, Any]]:
    """Median wall time a trial against the aim, and reading a table against `numpy.load`."""
    rows = []
    cases = (("serial", 1, 1024, 1), ("threads", 2, 1024, 1), ("threads", 2, 4096, 8))
    for kind, n_jobs, block_size, n_columns in cases:
        seconds = []
        owner = _experiment(block_size, n_columns)
        for _ in range(REPEATS):
            n_blocks = 200
            demand = Demand(owner, {"n_columns": n_columns}, n_blocks)
            with (
                tempfile.TemporaryDirectory() as folder,
                RunStore.create(Path(folder) / "run", root_seed=1, config={}) as store,
                make_executor(kind, n_jobs) as executor,
            ):
                start = time.perf_counter()
                ensure(store, [demand], executor)
                seconds.append(time.perf_counter() - start)
        ours = float(np.median(seconds)) / (n_blocks * block_size) * 1e6
        case = f"{kind} x {n_jobs}, blocks of {block_size}, {n_columns} columns"
        rows.append(_row(case, ours, AIM_US, "us/trial", "other: the aim, not a measurement"))
    rows.append(_read())
    return rows


def _read() -> dict[str, Any]:
    owner = _experiment(4096, 8)
    params = {"n_columns": 8}
    ours, other = [], []
    with (
        tempfile.TemporaryDirectory() as folder,
        RunStore.create(Path(folder) / "run", root_seed=1, config={}) as store,
        make_executor("serial") as executor,
    ):
        ensure(store, [Demand(owner, params, 200)], executor)
        plain = Path(folder) / "plain.npy"
        np.save(plain, store.table(owner, params).values)
        for _ in range(REPEATS):
            start = time.perf_counter()
            store.table(owner, params)
            ours.append(time.perf_counter() - start)
            start = time.perf_counter()
            np.load(plain)
            other.append(time.perf_counter() - start)
    return _row(
        "table of 52 MB, verified",
        float(np.median(ours)) * 1e3,
        float(np.median(other)) * 1e3,
        "ms",
        "other: numpy.load of the same values, no checksum",
    )


if __name__ == "__main__":
    for line in run():
        print(line)

"""The benchmark's harness: what it adds to a fit, and what benchopt adds to the same loop.

The bare loop draws a federation, fits, predicts the held-out rows and computes their loss.  Ours
and benchopt do the same and keep the results on disk.  Each side is timed in CPU seconds of this
process, in turns, and the least of the turns is taken: other processes can only make it slower.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trials.run.engine import Demand, ensure
from trials.run.executors import make_executor
from trials.run.store import RunStore
from verify.benchmark.catalogue import Context, shipped
from verify.benchmark.fits import BLOCK, FIT, federation_of, make
from verify.benchmark.fitting import score
from verify.benchmark.metrics import LOSSES

FEDERATION = {"m": 40, "n": 16, "d": 5, "k": 4}
TRIALS = 96
TURNS = 5
CASES = (("local",), ("local", "global", "oracle", "odcl-km"))

_OBJECTIVE = """
from benchopt import BaseObjective
from tests.bench.bench_harness import loss_of

class Objective(BaseObjective):
    name = "held-out loss"
    sampling_strategy = "run_once"

    def set_data(self, federation):
        self.federation = federation

    def get_objective(self):
        return {"federation": self.federation}

    def evaluate_result(self, scores):
        return loss_of(self.federation, scores)

    def get_one_result(self):
        return {"scores": self.federation.test_responses}
"""
_DATASET = """
from benchopt import BaseDataset
from tests.bench.bench_harness import drawn

class Dataset(BaseDataset):
    name = "drawn"
    parameters = {"number": list(range(%d))}

    def get_data(self):
        return {"federation": drawn(self.number)}
"""
_SOLVER = """
from benchopt import BaseSolver
from tests.bench.bench_harness import fitted

class Solver(BaseSolver):
    name = "method"
    sampling_strategy = "run_once"
    parameters = {"which": %r}

    def set_objective(self, federation):
        self.federation = federation

    def run(self, _):
        self.scores = fitted(self.which, self.federation)

    def get_result(self):
        return {"scores": self.scores}
"""


def drawn(number: int) -> Any:
    """One federation."""
    return make(federation_of(FEDERATION), np.random.default_rng(number))


def fitted(name: str, federation: Any) -> Any:
    """Scores of the held-out rows after a fit."""
    told = Context(k=federation.k, response=federation.response, seed=0, labels=federation.labels)
    method = shipped(name, {}, told)
    with np.errstate(all="ignore"):
        method.fit(federation.features, federation.responses, clients=federation.clients)
    return score(method, federation.test_features, federation.test_clients)


def loss_of(federation: Any, scores: Any) -> float:
    """The held-out loss."""
    return LOSSES[federation.response](scores, federation.test_responses)


def _bare(names: Sequence[str]) -> None:
    for number in range(TRIALS):
        federation = drawn(number)
        for name in names:
            loss_of(federation, fitted(name, federation))


def _ours(names: Sequence[str]) -> None:
    demands = [
        Demand(FIT, FIT.check({**FEDERATION, "method": name}), TRIALS // BLOCK) for name in names
    ]
    with (
        tempfile.TemporaryDirectory() as folder,
        RunStore.create(Path(folder) / "run", root_seed=1, config={}) as store,
        make_executor("serial") as executor,
    ):
        ensure(store, demands, executor, blockwise=True)


def _benchopt(names: Sequence[str]) -> None:
    from benchopt import run_benchmark

    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        for part, text in (
            ("objective.py", _OBJECTIVE),
            ("datasets/drawn.py", _DATASET % TRIALS),
            ("solvers/method.py", _SOLVER % (list(names),)),
        ):
            (here / part).parent.mkdir(exist_ok=True)
            (here / part).write_text(text)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.chdir(here):
            run_benchmark(
                here, max_runs=1, n_repetitions=1, n_jobs=1, plot_result=False, display=False,
                html=False, show_progress=False, no_cache=True,
            )  # fmt: skip


def _milliseconds(
    sides: dict[str, Callable[[Sequence[str]], None]], names: Sequence[str]
) -> dict[str, float]:
    """CPU milliseconds of a fit, the least of the turns."""
    best = dict.fromkeys(sides, np.inf)
    for turn in range(TURNS + 1):
        for side, call in sides.items():
            start = time.process_time()
            call(names)
            spent = time.process_time() - start
            if turn:  # the first turn imports and compiles
                best[side] = min(best[side], spent / (TRIALS * len(names)) * 1e3)
    return best


def run() -> list[dict[str, Any]]:
    """What ours and benchopt add to the bare loop, in milliseconds a fit."""
    os.environ.setdefault("BENCHOPT_DEBUG", "0")
    sides = {"bare": _bare, "ours": _ours}
    there = importlib.util.find_spec("benchopt") is not None
    if there:
        sides["benchopt"] = _benchopt
    rows = []
    for names in CASES:
        found = _milliseconds(sides, names)
        added = {side: value - found["bare"] for side, value in found.items()}
        other = added["benchopt"] if there else np.nan
        rows.append(
            {
                "benchmark": "harness",
                "case": f"{', '.join(names)}; {TRIALS} trials",
                "ours": added["ours"],
                "other": other,
                "ratio": other / added["ours"],
                "unit": "CPU ms a fit over the bare loop",
                "note": f"bare loop {found['bare']:.2f} ms; other: "
                + ("benchopt" if there else "benchopt is not installed"),
            }
        )
    return rows


if __name__ == "__main__":
    for line in run():
        print(line)

"""Small experiments for the tests of the engine.  Importable, so that worker processes find them.

Their design numbers start at 4_000_000_000, far from those of the catalogue.
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trials.checks import InvalidParameter
from trials.run.cell import Params
from trials.run.experiment import Experiment, register


def _check_toy(params: Params) -> dict[str, Any]:
    unknown = set(params) - {"mean", "scale", "mode"}
    if unknown:
        raise InvalidParameter(f"unknown parameter {min(unknown)!r}")
    full = {"mean": 0.0, "scale": 1.0, "mode": "plain"} | dict(params)
    if not full["scale"] > 0:
        raise InvalidParameter(f"scale={full['scale']} must be positive")
    return full | {"mean": float(full["mean"]), "scale": float(full["scale"])}


def _toy(params: Params, rng: np.random.Generator, n_trials: int) -> Any:
    mode = params["mode"]
    values = params["mean"] + params["scale"] * rng.standard_normal((n_trials, 2))
    if mode == "product":  # a BLAS product: its last bits depend on the number of BLAS threads
        a = rng.standard_normal((300, 300))
        values[:, 1] = (a @ a.T).sum() + values[:, 0]
    elif mode == "slow":
        time.sleep(0.02)
    elif mode == "endless":
        time.sleep(3600)
    elif mode == "diverges":  # whenever the first value is negative
        values[values[:, 0] < 0, 1] = np.inf
    elif mode == "raises" and values[0, 0] < 0:  # some blocks, decided by their streams
        raise ZeroDivisionError("first value\nis negative")
    elif mode == "overflows":
        values[:, 1] = np.exp(1e3 + values[:, 1])
    elif mode == "shape":
        return values[:, :1]
    elif mode == "dtype":
        return values.astype(np.float32)
    elif mode == "memory":
        raise MemoryError("no room")
    elif mode == "interrupt":
        raise KeyboardInterrupt
    return values


TOY = register(
    Experiment(
        name="test.toy",
        design=4_000_000_001,
        columns=("first", "second"),
        simulate=_toy,
        check=_check_toy,
        block_size=16,
    )
)


def free(params: Params, rng: np.random.Generator, n_trials: int) -> NDArray[np.float64]:
    """Trials that cost nothing."""
    return np.zeros((n_trials, 1))


def times(value: float, factor: float) -> float:
    """A product, as a call that a worker can find."""
    return value * factor


def appears(path: Path) -> bool:
    """True, once a file has appeared."""
    while not path.exists():
        time.sleep(0.01)
    return True


def process_number() -> int:
    """Of the process that runs the call."""
    return os.getpid()


#: Process numbers of those that called `load_here` before this process was forked, or in it.
_LOADED: list[int] = []


def load_here() -> None:
    """Load something, which is seen in this process alone and in its forks."""
    _LOADED.append(os.getpid())


def loaded() -> tuple[int, list[int]]:
    """The process that runs the call, and those that loaded for it."""
    return os.getpid(), _LOADED


def load_with_a_thread() -> None:
    """Load something that leaves a thread behind."""
    load_here()
    threading.Thread(target=threading.Event().wait, daemon=True).start()


def refuse(name: str) -> None:
    """A call that raises."""
    raise InvalidParameter(f"{name} must be something else")


def end_process() -> None:
    """A call that takes its worker with it."""
    os._exit(7)

"""One block of trials: the task, the computation, and the check of the result.

A block is a function of its task alone: the root seed, the experiment, the cell and the block
number.  It is computed under one BLAS thread and one floating-point error state wherever it runs.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import math
import os
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from trials.checks import FloatArray, hides_entries
from trials.run.cell import Params, cell_number
from trials.run.experiment import Experiment, SomeTrialsRaised
from trials.run.streams import block_stream

BLAS_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
_LONGEST_REASON = 500


class ExecutorError(RuntimeError):
    """The computation failed, and not a trial: a worker ended, a scheduler is lost, a version
    differs.
    """


class TrialsRaised(ExecutorError):
    """Every trial of an experiment raised: the experiment is wrong, not the statement."""


class WrongValues(ExecutorError, TypeError):
    """`simulate` returned no float64 array of the right shape: its author can mend that."""


@dataclass(frozen=True)
class Task:
    """One block to compute.  ``params`` are complete: they went through the experiment's check."""

    experiment: Experiment
    params: Params
    root_seed: int
    block: int


@dataclass(frozen=True, eq=False)
class BlockResult:
    """A finished block.

    Attributes
    ----------
    values : (block_size, n_columns) float64.
    reasons : (row, reason) of each failed row.
    seconds : wall time of the worker.
    work : CPU seconds of the thread that computed it, which other work on the machine leaves alone.
    raised : the exception with its file and line where `simulate` raised, else empty.
    machine : the machine that computed it (`trials.run.machine.arithmetic`).  Empty for this one.
    """

    values: FloatArray
    reasons: tuple[tuple[int, str], ...]
    seconds: float
    work: float = 0.0
    raised: str = ""
    machine: Mapping[str, str] = field(default_factory=dict)


def simulate_block(task: Task) -> BlockResult:
    """Simulate one block and give every failed trial a reason.  No trial is dropped.

    A row with a value that is not finite is *diverged*.  A trial that raises is a row of NaN,
    *raised*.  Where `simulate` raises for the whole block, every trial is such a row.  `SystemExit`
    counts as raised: it would end the program, perhaps with the status of success.  Errors of
    the machine (`MemoryError`, `OSError`) are no property of a trial.  They propagate, so that they
    never enter a store.

    Raises
    ------
    WrongValues
        When `simulate` returns anything but float64 of shape (block_size, n_columns), or masked
        entries.
    """
    owner = task.experiment
    shape = (owner.block_size, len(owner.columns))
    rng = block_stream(task.root_seed, owner.design, cell_number(task.params), task.block)
    start, spent = time.perf_counter(), time.thread_time()
    alone: dict[int, str] = {}
    try:
        # One error state everywhere: a caller under errstate(all="raise") must not make a trial
        # fail that would not fail in a worker.
        with np.errstate(all="ignore"):
            values = owner.simulate(_copied(task.params), rng, owner.block_size)
    except (MemoryError, OSError):
        raise
    except SomeTrialsRaised as some:
        values, alone = some.values, {row: _reason(error) for row, error in some.errors.items()}
    except (Exception, SystemExit) as error:
        seconds = time.perf_counter() - start
        text = _reason(error)
        return BlockResult(
            np.full(shape, np.nan),
            tuple((row, text) for row in range(shape[0])),
            seconds,
            time.thread_time() - spent,
            raised=text + _place(error, owner),
        )
    seconds, work = time.perf_counter() - start, time.thread_time() - spent
    if not isinstance(values, np.ndarray) or values.dtype != np.float64 or values.shape != shape:
        kind = f"{type(values).__name__} {getattr(values, 'dtype', '')}".strip()
        raise WrongValues(
            f"{owner.name}.simulate must return float64 of shape {shape}, "
            f"not {kind} of shape {np.shape(values)}"
        )
    if hides_entries(values):
        raise WrongValues(
            f"{owner.name}.simulate must return no masked entries: a trial that fails has values "
            "that are not finite"
        )
    # A simulation may use one array for all of its blocks, and this block waits for its commit.
    values = np.array(values, copy=True, subok=False)
    found = _find_diverged(owner.columns, values)
    reasons = tuple((row, alone.get(row, why)) for row, why in found)
    return BlockResult(values, reasons, seconds, work)


def _copied(params: Params) -> dict[str, Any]:
    """Parameters for one block to use up.

    A simulation that sorts its list in place would change the cell: its block would be stored in
    another one, and the next block would have other parameters.
    """
    return {
        name: copy.deepcopy(value) if isinstance(value, list | dict) else value
        for name, value in params.items()
    }


def _reason(error: BaseException) -> str:
    """The exception in one line."""
    return " ".join(f"raised: {type(error).__name__}: {error}".split())[:_LONGEST_REASON]


def _place(error: BaseException, owner: Experiment) -> str:
    """`` (FILE.py, line 12)``: the innermost frame in the experiment's file, else of all."""
    frames = traceback.extract_tb(error.__traceback__)
    home = getattr(getattr(inspect.unwrap(owner.simulate), "__code__", None), "co_filename", None)
    inside = [frame for frame in frames if frame.filename == home] or frames
    return f" ({Path(inside[-1].filename).name}, line {inside[-1].lineno})"


def _find_diverged(columns: tuple[str, ...], values: FloatArray) -> tuple[tuple[int, str], ...]:
    finite = np.isfinite(values)
    if finite.all():
        return ()
    reasons = []
    for row in np.flatnonzero(~finite.all(axis=1)).tolist():
        where = (f"{columns[j]}={values[row, j]}" for j in np.flatnonzero(~finite[row]))
        reasons.append((row, "diverged: " + ", ".join(where)))
    return tuple(reasons)


def check_result(task: Task, result: object) -> BlockResult:
    """Return the result of a worker if it can be the block of this task.  Refuse it otherwise.

    Raises
    ------
    ExecutorError
        For a wrong type or shape, a value that is not finite without a reason, reasons of rows
        that do not exist, or a time that is no time.
    """
    owner = task.experiment
    shape = (owner.block_size, len(owner.columns))

    def refused(what: str) -> ExecutorError:
        return ExecutorError(
            f"a worker returned {what} for block {task.block} of {owner.name}; nothing of it is "
            "stored: check the worker and resume the run"
        )

    if not isinstance(result, BlockResult):
        raise refused(f"a {type(result).__name__} and no block")
    values = result.values
    if not isinstance(values, np.ndarray) or values.dtype != np.float64 or values.shape != shape:
        raise refused(
            f"{getattr(values, 'dtype', type(values).__name__)} of shape {np.shape(values)} "
            f"in place of float64 of shape {shape}"
        )
    try:
        rows = [row for row, _ in result.reasons]
        sound = all(type(row) is int and type(why) is str for row, why in result.reasons)
    except (TypeError, ValueError):
        rows, sound = [], False
    if not sound or len(set(rows)) != len(rows) or not set(rows) <= set(range(shape[0])):
        raise refused("reasons that do not fit its rows")
    silent = set(np.flatnonzero(~np.isfinite(values).all(axis=1)).tolist()) - set(rows)
    if silent:
        raise refused(f"a value that is not finite in row {min(silent)} without a reason")
    for seconds in (result.seconds, result.work):
        if not isinstance(seconds, float) or not math.isfinite(seconds) or seconds < 0:
            raise refused(f"the time {seconds!r:.40}")
    return result


@lru_cache(maxsize=1)
def _thread_pools(_n_modules: int, _last_module: str) -> Any:
    """The loaded libraries that have threads of their own.

    To look through all libraries takes a millisecond, and a round of a claim takes few.  A library
    comes with the import of a module.  So they are looked for anew after an import.
    """
    return ThreadpoolController()


@contextlib.contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Cap every BLAS at one thread: those loaded now, and by environment those loaded later.

    Several BLAS threads under a pool of workers are slower and sum in another order.
    """
    before = {name: os.environ.get(name) for name in BLAS_VARIABLES}
    os.environ.update(dict.fromkeys(BLAS_VARIABLES, "1"))
    try:
        with _thread_pools(len(sys.modules), next(reversed(sys.modules))).limit(limits=1):
            yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

"""Where blocks are computed: in the caller, in threads, in processes, or on a dask cluster.

An executor takes tasks and hands back finished blocks in whatever order they finish.  None of
them changes a result: a block is a function of its task alone, computed under one BLAS thread and
one floating-point error state wherever it runs.
"""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing
import multiprocessing.connection
import os
import pickle
import queue
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from trials.checks import FloatArray, InvalidParameter
from trials.run.cell import Params, cell_number
from trials.run.experiment import Experiment, experiment
from trials.run.streams import block_stream

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

Kind = Literal["serial", "threads", "processes", "distributed"]

_BLAS_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


CONNECT_SECONDS = 10.0  # how long a dask scheduler may take to answer


class ExecutorError(RuntimeError):
    """The machinery failed (a worker died, a scheduler is lost), not a trial."""


@dataclass(frozen=True)
class Task:
    """One block to compute.  It travels by the experiment's name, never by its code."""

    experiment: Experiment
    params: Params
    root_seed: int
    block: int

    def __reduce__(self) -> tuple[Any, ...]:
        module = getattr(self.experiment.simulate, "__module__", None)
        design = (self.experiment.design, self.experiment.block_size, self.experiment.columns)
        name = self.experiment.name
        return _rebuild, (module, name, design, dict(self.params), self.root_seed, self.block)


def _rebuild(
    module: str | None,
    name: str,
    design: tuple[int, int, tuple[str, ...]],
    params: Params,
    root_seed: int,
    block: int,
) -> Task:
    """The task in the worker; a worker with another version of the experiment refuses it."""
    if module is not None and module != "__main__":
        importlib.import_module(module)  # registers experiments that the catalogue does not list
    here = experiment(name)
    if (here.design, here.block_size, here.columns) != design:
        raise ExecutorError(f"the worker has another version of experiment {name!r}")
    return Task(here, params, root_seed, block)


@dataclass(frozen=True, eq=False)
class BlockResult:
    """A finished block: (block_size, n_columns) values, (row, reason) of failed rows, time."""

    values: FloatArray
    reasons: tuple[tuple[int, str], ...]
    seconds: float


def simulate_block(task: Task) -> BlockResult:
    """Simulate one block and give every failed trial a reason; drop none.

    A row with a value that is not finite is *diverged*.  When `simulate` raises, every trial of
    the block is a row of NaN, *raised*.  What the machine is to blame for (`MemoryError`,
    `OSError`) is no property of a trial and propagates, so that it never enters a store.

    Raises
    ------
    TypeError
        When `simulate` returns anything but float64 of shape (block_size, n_columns).
    """
    owner = task.experiment
    shape = (owner.block_size, len(owner.columns))
    rng = block_stream(task.root_seed, owner.design, cell_number(task.params), task.block)
    start = time.perf_counter()
    try:
        # One error state everywhere: a caller under errstate(all="raise") must not make a trial
        # fail that would not fail in a worker.
        with np.errstate(all="ignore"):
            values = owner.simulate(dict(task.params), rng, owner.block_size)
    except (MemoryError, OSError):
        raise
    except Exception as error:
        seconds = time.perf_counter() - start
        text = " ".join(f"raised: {type(error).__name__}: {error}".split())[:500]
        return BlockResult(
            np.full(shape, np.nan), tuple((row, text) for row in range(shape[0])), seconds
        )
    seconds = time.perf_counter() - start
    if not isinstance(values, np.ndarray) or values.dtype != np.float64 or values.shape != shape:
        kind = f"{type(values).__name__} {getattr(values, 'dtype', '')}".strip()
        raise TypeError(
            f"{owner.name}.simulate must return float64 of shape {shape}, "
            f"not {kind} of shape {np.shape(values)}"
        )
    return BlockResult(values, _diverged(owner.columns, values), seconds)


def _diverged(columns: tuple[str, ...], values: FloatArray) -> tuple[tuple[int, str], ...]:
    finite = np.isfinite(values)
    if finite.all():
        return ()
    reasons = []
    for row in np.flatnonzero(~finite.all(axis=1)).tolist():
        where = (f"{columns[j]}={values[row, j]}" for j in np.flatnonzero(~finite[row]))
        reasons.append((row, "diverged: " + ", ".join(where)))
    return tuple(reasons)


@contextlib.contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Cap every BLAS at one thread: those loaded now, and by environment those loaded later.

    Several BLAS threads under a pool of workers are slower and sum in another order.
    """
    before = {name: os.environ.get(name) for name in _BLAS_VARIABLES}
    os.environ.update(dict.fromkeys(_BLAS_VARIABLES, "1"))
    try:
        with threadpool_limits(limits=1):
            yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


Done = tuple[Task, BlockResult]


class Executor:
    """What the engine needs of a place to compute; also the serial one, in the calling thread.

    The engine submits at most `capacity` tasks ahead.  `cancel` and `close` end an executor.
    """

    capacity: int = 1

    def __init__(self) -> None:
        self._waiting: deque[Task] = deque()

    def submit(self, task: Task) -> None:
        """Take a task; returns at once."""
        self._waiting.append(task)

    def wait(self) -> Done:
        """Return one finished block, waiting for it; raises what the task raised."""
        task = self._waiting.popleft()
        return task, simulate_block(task)

    def finished(self) -> list[Done]:
        """Blocks that have finished and were not handed out, without waiting (after `cancel`)."""
        return []

    def cancel(self) -> None:
        """Drop what has not started, stop what has as fast as the place allows."""
        self._waiting.clear()

    def close(self) -> None:
        """Release the workers."""
        self.cancel()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class ThreadExecutor(Executor):
    """In-process threads: right for kernels that release the GIL, and nothing is pickled.

    The threads are daemons, so an interrupted program does not wait for blocks in flight.
    """

    def __init__(self, n_jobs: int) -> None:
        self.capacity = 2 * n_jobs
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[Done | BaseException] = queue.SimpleQueue()
        self._closed = False
        self._threads = [
            threading.Thread(target=self._work, name=f"trials-{i}", daemon=True)
            for i in range(n_jobs)
        ]
        for thread in self._threads:
            thread.start()

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            if self._closed:
                continue
            try:
                self._done.put((task, simulate_block(task)))
            except BaseException as error:
                self._done.put(error)

    def submit(self, task: Task) -> None:
        if self._closed:
            raise ExecutorError("the executor is closed")
        self._tasks.put(task)

    def wait(self) -> Done:
        done = self._done.get()
        if isinstance(done, BaseException):
            raise done
        return done

    def finished(self) -> list[Done]:
        ready = []
        with contextlib.suppress(queue.Empty):
            while True:
                done = self._done.get_nowait()
                if not isinstance(done, BaseException):
                    ready.append(done)
        return ready

    def cancel(self) -> None:
        if not self._closed:
            self._closed = True  # threads skip the tasks that are still queued
            for _ in self._threads:
                self._tasks.put(None)


def _process_main(connection: multiprocessing.connection.Connection) -> None:
    """Loop of a worker process; ends when the parent closes the pipe, also by dying."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    parent_gone = (EOFError, BrokenPipeError, ConnectionResetError)
    with single_threaded_blas(), contextlib.suppress(*parent_gone):
        while True:
            message = connection.recv_bytes()
            try:
                reply: Any = simulate_block(pickle.loads(message))
            except Exception as error:
                error.add_note("in the worker:\n" + traceback.format_exc())
                reply = error
            try:
                connection.send(reply)
            except (pickle.PicklingError, TypeError, AttributeError):
                connection.send(ExecutorError(f"{type(reply).__name__}: {reply}"))


@dataclass
class _Worker:
    process: BaseProcess
    connection: multiprocessing.connection.Connection
    tasks: deque[Task]


class ProcessExecutor(Executor):
    """Spawned worker processes, each on a pipe of its own.

    Spawn, because fork after an OpenMP region hangs.  A pipe each, because a worker whose parent
    was killed then reads end-of-file and ends, and a worker that dies is noticed at once; the
    pools of the standard library leave orphans or wait for ever.
    """

    def __init__(self, n_jobs: int) -> None:
        self.capacity = 2 * n_jobs
        self._n_jobs = n_jobs
        self._workers: list[_Worker] = []
        self._closed = False

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        for _ in range(self._n_jobs):
            ours, theirs = context.Pipe()
            process = context.Process(target=_process_main, args=(theirs,), daemon=True)
            process.start()
            theirs.close()
            self._workers.append(_Worker(process, ours, deque()))

    def submit(self, task: Task) -> None:
        if self._closed:
            raise ExecutorError("the executor is closed")
        if not self._workers:
            self._start()
        worker = min(self._workers, key=lambda w: len(w.tasks))
        worker.tasks.append(task)
        try:
            worker.connection.send(task)
        except BrokenPipeError:
            raise self._died(worker) from None

    @staticmethod
    def _died(worker: _Worker) -> ExecutorError:
        worker.process.join(1.0)
        return ExecutorError(
            f"a worker process ended with exit code {worker.process.exitcode} "
            "(killed, or out of memory?); its blocks are not stored, resume the run"
        )

    def _receive(self, worker: _Worker) -> Done:
        try:
            reply = worker.connection.recv()
        except (EOFError, ConnectionResetError):
            raise self._died(worker) from None
        task = worker.tasks.popleft()
        if isinstance(reply, BaseException):
            raise reply
        return task, reply

    def _ready(self, timeout: float | None) -> list[_Worker]:
        busy = {worker.connection: worker for worker in self._workers if worker.tasks}
        found = multiprocessing.connection.wait(list(busy), timeout)
        return [worker for connection, worker in busy.items() if connection in found]

    def wait(self) -> Done:
        return self._receive(self._ready(None)[0])

    def finished(self) -> list[Done]:
        done = []
        while ready := self._ready(0):
            for worker in ready:
                try:
                    done.append(self._receive(worker))
                except Exception:  # dead, stopped in mid-reply, or failed
                    worker.tasks.clear()
        return done

    def cancel(self) -> None:
        if not self._closed:
            self._closed = True
            for worker in self._workers:
                worker.process.terminate()
            for worker in self._workers:
                worker.process.join(5.0)


class DistributedExecutor(Executor):
    """An existing dask.distributed cluster; its workers need this package of the same version.

    Raises
    ------
    InvalidParameter
        When the package is missing, or nothing usable answers at the address.
    """

    def __init__(self, address: str, n_jobs: int | None = None) -> None:
        try:
            distributed: Any = importlib.import_module("distributed")
        except ImportError:
            raise InvalidParameter(
                f"scheduler address={address!r} needs dask: pip install 'cfl-verify[distributed]'"
            ) from None
        try:
            self._client = distributed.Client(
                address, set_as_default=False, timeout=CONNECT_SECONDS
            )
        except (OSError, ValueError) as error:
            raise InvalidParameter(
                f"address={address!r} must be a running dask scheduler ({error})"
            ) from None
        try:
            self._client.wait_for_workers(1, timeout=30)
        except TimeoutError:
            self._client.close()
            raise InvalidParameter(f"address={address!r} must have a worker; it has none") from None
        self.capacity = 2 * (n_jobs or sum(self._client.nthreads().values()))
        self._tasks: dict[Any, Task] = {}
        self._completed = distributed.as_completed(loop=self._client.loop)

    def submit(self, task: Task) -> None:
        # pure=False: dask would otherwise serve a second run's equal task from its cache.
        future = self._client.submit(_distributed_block, task, pure=False)
        self._tasks[future] = task
        self._completed.add(future)

    def _collect(self, future: Any) -> Done:
        task = self._tasks.pop(future)
        return task, future.result()

    def wait(self) -> Done:
        return self._collect(next(self._completed))

    def finished(self) -> list[Done]:
        return [self._collect(f) for f in list(self._tasks) if f.status == "finished"]

    def cancel(self) -> None:
        self._client.cancel([f for f in self._tasks if not f.done()])

    def close(self) -> None:
        self.cancel()
        self._client.close()


_cap_lock = threading.Lock()
_caps: list[Any] = []


def _distributed_block(task: Task) -> BlockResult:
    """A block on a dask worker.

    The worker's BLAS stays capped afterwards: to lift the cap per task, with several tasks in one
    process, would lift it under the feet of another.
    """
    with _cap_lock:
        if not _caps:
            _caps.append(threadpool_limits(limits=1))
            os.environ.update(dict.fromkeys(_BLAS_VARIABLES, "1"))
    return simulate_block(task)


def _usable_cpus() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def make_executor(
    kind: str = "threads", n_jobs: int | None = None, address: str | None = None
) -> Executor:
    """Return the executor of a kind; use it as a context manager.

    Parameters
    ----------
    kind : ``serial``, ``threads`` (default), ``processes`` or ``distributed``.
    n_jobs : workers; by default the processors that this process may use.  For ``distributed``
        it limits the blocks in flight (to twice its value) and not the cluster.
    address : of the dask scheduler, for ``distributed`` only.

    Raises
    ------
    InvalidParameter
        For an unknown kind, a count below 1, a missing or superfluous address, a missing optional
        package, or an address where no scheduler answers.
    """
    if kind not in get_args(Kind):
        raise InvalidParameter(f"executor={kind!r} must be one of {', '.join(get_args(Kind))}")
    if n_jobs is not None and n_jobs < 1:
        raise InvalidParameter(f"n_jobs={n_jobs} must be an integer >= 1")
    if (address is None) == (kind == "distributed"):
        raise InvalidParameter(
            f"address={address!r} must be given for the executor 'distributed' and for no other "
            f"(executor={kind!r})"
        )
    if kind == "distributed":
        return DistributedExecutor(str(address), n_jobs)
    workers = n_jobs or _usable_cpus()
    if kind == "serial":
        return Executor()
    return ThreadExecutor(workers) if kind == "threads" else ProcessExecutor(workers)

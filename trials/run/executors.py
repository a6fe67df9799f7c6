"""The executors by name."""

from __future__ import annotations

import os
from typing import Literal, get_args

from trials.checks import InvalidParameter
from trials.run.block import BlockResult, ExecutorError, Task, simulate_block, single_threaded_blas
from trials.run.distributed import DistributedExecutor
from trials.run.executor import Call, Done, Executor, Traffic
from trials.run.local import ProcessExecutor, ThreadExecutor

__all__ = [
    "BlockResult",
    "Call",
    "DistributedExecutor",
    "Done",
    "Executor",
    "ExecutorError",
    "Kind",
    "ProcessExecutor",
    "Task",
    "ThreadExecutor",
    "Traffic",
    "make_executor",
    "simulate_block",
    "single_threaded_blas",
    "usable_cpus",
]

Kind = Literal["serial", "threads", "processes", "distributed"]
MAX_JOBS = 1024


def usable_cpus() -> int:
    """The number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def make_executor(
    kind: str = "threads", n_jobs: int | None = None, address: str | None = None
) -> Executor:
    """Return the executor of a kind, to be used as a context manager.

    Parameters
    ----------
    kind : ``serial``, ``threads`` (default), ``processes`` or ``distributed``.
    n_jobs : workers, 1 to 1024.  By default it is the number of processors that this process may
        use.  For ``distributed`` it limits how many of the cluster's threads are kept busy.
    address : of the Dask scheduler, for ``distributed`` only: ``tcp://HOST:PORT`` or
        ``tls://HOST:PORT``.

    Raises
    ------
    InvalidParameter : For an unknown kind, a count outside its range, a missing or superfluous
        address, a missing optional package, or an address where no scheduler answers.
    """
    if kind not in get_args(Kind):
        raise InvalidParameter(f"executor={kind!r:.120} must be one of {', '.join(get_args(Kind))}")
    if n_jobs is not None and (
        isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or not 1 <= n_jobs <= MAX_JOBS
    ):
        raise InvalidParameter(f"n_jobs={n_jobs!r:.60} must be an integer from 1 to {MAX_JOBS}")
    if (address is None) == (kind == "distributed"):
        raise InvalidParameter(
            f"address={address!r:.200} must be given for the executor 'distributed' and for no "
            f"other (executor={kind!r})"
        )
    if kind == "distributed":
        return DistributedExecutor(str(address), n_jobs)
    workers = n_jobs or min(usable_cpus(), MAX_JOBS)
    if kind == "serial":
        return Executor()
    return ThreadExecutor(workers) if kind == "threads" else ProcessExecutor(workers)

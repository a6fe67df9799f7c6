"""Where blocks are computed: the executor that a command's flags ask for.

It is light, so that worker processes can load their part of the program while a command loads its
own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from trials.checks import InvalidParameter
from trials.run.executors import MAX_JOBS, Executor, ProcessExecutor, make_executor

#: Processes that are started before the command line is checked, at most.
_MOST_EARLY = 16
#: Flags of ``benchmark`` that ask for nothing by themselves.
_NOTHING_ASKED = {"seed", "grid_size", "jobs", "executor", "scheduler", "as_json"}


def workers(kind: str | None, jobs: int | None, scheduler: str | None) -> Executor:
    """The executor of the settings.  It is made before the run directory."""
    if jobs is not None and not 1 <= jobs <= MAX_JOBS:
        raise InvalidParameter(f"jobs={jobs} must be an integer from 1 to {MAX_JOBS}")
    if scheduler is None:
        return make_executor(kind or "threads", jobs)
    if not scheduler.isprintable() or not scheduler.strip():
        raise InvalidParameter(f"scheduler={scheduler!r} must be an address like tcp://host:8786")
    try:
        return make_executor("distributed", jobs, address=scheduler)
    except (InvalidParameter, MemoryError):
        raise
    except Exception as error:  # each transport of dask refuses an address in its own way
        raise InvalidParameter(
            f"scheduler={scheduler!r} cannot be used ({type(error).__name__}: {error}); give the "
            "address of a running dask scheduler, like tcp://host:8786"
        ) from error


def benchmark_workers(flags: Mapping[str, Any]) -> Executor:
    """The executor of ``benchmark``, by default processes: a fit is Python code for the most part.

    Python runs one thread of a process at a time.  Processes that will be needed are started at
    once, and load the estimators meanwhile.
    """
    jobs, kind = flags["jobs"], flags["executor"]
    if kind is None and os.name == "posix":
        kind = "serial" if jobs == 1 else "processes"
    found = workers(kind, jobs, flags["scheduler"])
    asked = any(value for name, value in flags.items() if name not in _NOTHING_ASKED)
    if asked and isinstance(found, ProcessExecutor) and found.n_workers <= _MOST_EARLY:
        from verify.benchmark.loading import load

        for _ in range(found.n_workers):
            found.submit_call(load)
    return found

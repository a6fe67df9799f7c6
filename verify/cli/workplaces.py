"""Where blocks are computed: the executor that a command's flags ask for.

It is light, so that worker processes can load their part of the program while a command loads its
own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, TypeGuard

from trials.checks import InvalidParameter
from trials.run.executors import (
    MAX_JOBS,
    Executor,
    ProcessExecutor,
    make_executor,
    usable_cpus,
)

#: Processes that are started before the command line is checked, at most.
_MOST_EARLY = 16
#: Claims from which on a run gets processes.
_MANY = 8
#: Flags of ``benchmark`` that ask for nothing by themselves.
_NOTHING_ASKED = {"seed", "grid_size", "jobs", "executor", "scheduler", "as_json"}


def workers(kind: str | None, jobs: int | None, scheduler: str | None) -> Executor:
    """The executor of the settings.  It is made before the run directory."""
    require_jobs(jobs, "jobs")  # a flag or a line of a file
    if scheduler is None:
        return make_executor(kind or "threads", jobs)
    if kind is not None:
        raise InvalidParameter(
            f"executor={kind!r} computes here and scheduler={scheduler!r:.200} on its cluster: "
            "leave one of them out"
        )
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


def require_jobs(jobs: int | None, name: str = "--jobs") -> None:
    """Refuse a number of jobs that no executor takes, by the name that the user gave it."""
    if jobs is not None and not 1 <= jobs <= MAX_JOBS:
        raise InvalidParameter(f"{name}={jobs} must be an integer from 1 to {MAX_JOBS}")


def claim_workers(
    kind: str | None,
    jobs: int | None,
    scheduler: str | None,
    n_claims: int | None = None,
    profile: str = "quick",
) -> Executor:
    """The executor of ``run`` and ``resume``, by default processes where many claims are tried.

    Decisions and searches are Python, and so is a part of each block.  Python runs one thread of a
    process at a time: two threads that drew the blocks of all claims were busy for three quarters
    of the time.  Few claims need less than the start of a process, and get threads.

    Parameters
    ----------
    n_claims : None for all registered claims.  Then processes are started at once, and load the
        claims while the run is prepared.
    profile : the one with which they are tried.
    """
    many = n_claims is None or n_claims >= _MANY
    several = jobs != 1 and (jobs or usable_cpus()) > 1
    if kind is None and scheduler is None and many and several and os.name == "posix":
        kind = "processes"
    found = workers(kind, jobs, scheduler)
    if n_claims is None and _is_started_early(found):
        from verify.deciding import load_claims

        found.load(load_claims, profile)
    return found


def benchmark_workers(flags: Mapping[str, Any]) -> Executor:
    """The executor of ``benchmark``, by default processes: a fit is Python code for the most part.

    Python runs one thread of a process at a time.  Processes that will be needed are started at
    once, and load the estimators meanwhile.
    """
    jobs, kind = flags["jobs"], flags["executor"]
    if kind is None and flags["scheduler"] is None and os.name == "posix":
        kind = "serial" if jobs == 1 else "processes"
    found = workers(kind, jobs, flags["scheduler"])
    asked = any(value for name, value in flags.items() if name not in _NOTHING_ASKED)
    if asked and _is_started_early(found):
        from verify.benchmark.loading import load

        for _ in range(found.n_workers):  # no forks: the estimators run threads of OpenMP
            found.submit_call(load)
    return found


def _is_started_early(executor: Executor) -> TypeGuard[ProcessExecutor]:
    """Whether worker processes load their part of the program before they have work."""
    return isinstance(executor, ProcessExecutor) and executor.n_workers <= _MOST_EARLY

"""Fits of one's own methods in a process of their own, which is ended at the time limit.

The process is new and not forked, and it does not import the caller's script, as in
`trials.run.local`.  It serves one fit after another.  A fit that does not end in time, or that ends
its process, costs that process and nothing else.
"""

from __future__ import annotations

import contextlib
import multiprocessing.connection
import os
import pickle
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from trials.checks import InvalidParameter
from verify.benchmark.federation import Federation
from verify.benchmark.fitting import Fitted, fit

_MAIN = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "
    "sys.path[:] = {path!r}; from verify.benchmark.isolated import serve; serve({descriptor})"
)
_START_SECONDS = 60.0  # imports and the kernels' first compilation do not count as a fit
_END_SECONDS = 5.0  # to end after the pipe is closed


class FitFailed(RuntimeError):
    """A fit raised in its process, or ended it.

    Attributes
    ----------
    seconds : CPU time that the fit used until then.  Of a process that ended nobody knows it, and
        the time of its caller's wait stands for it.
    """

    def __init__(self, why: str, seconds: float = 0.0) -> None:
        super().__init__(why)
        self.seconds = seconds


class TooLong(FitFailed):
    """A fit did not end in time."""


def serve(descriptor: int) -> None:
    """Answer one request after another until the caller closes the pipe."""
    from trials.run.block import single_threaded_blas

    connection = multiprocessing.connection.Connection(descriptor)
    with contextlib.suppress(OSError):  # what a method prints is no part of the table or of --json
        os.dup2(2, 1)
    with single_threaded_blas(), contextlib.suppress(EOFError, BrokenPipeError):
        connection.send_bytes(b"ready")
        while True:
            name, candidates, federation, seed = pickle.loads(connection.recv_bytes())
            start = time.thread_time()
            try:
                answer: Fitted | tuple[str, float] = fit(name, candidates, federation, seed)
            except InvalidParameter as error:
                answer = str(error), time.thread_time() - start
            except (Exception, SystemExit) as error:
                answer = f"{type(error).__name__}: {error}", time.thread_time() - start
            connection.send_bytes(pickle.dumps(answer))


class _Worker:
    def __init__(self) -> None:
        self.connection, theirs = multiprocessing.connection.Pipe()
        path = [os.path.abspath(folder) for folder in sys.path]
        self.process = subprocess.Popen(
            # Unbuffered: a process that is killed would lose what its methods have printed.
            [sys.executable, "-u", "-c", _MAIN.format(path=path, descriptor=theirs.fileno())],
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
        )
        theirs.close()
        self.end = weakref.finalize(self, self.process.kill)
        try:
            ready = self.connection.poll(_START_SECONDS) and self.connection.recv_bytes()
        except (EOFError, OSError):  # it ended at its start
            ready = b""
        if ready != b"ready":
            self.end()
            self.process.wait()
            raise FitFailed("the process for own methods does not start")


_local = threading.local()


def fit_isolated(
    name: str,
    candidates: Sequence[Mapping[str, Any]],
    federation: Federation,
    seed: int,
    limit: float,
) -> Fitted:
    """`verify.benchmark.fitting.fit` in a process of its own.

    Raises
    ------
    FitFailed : what the method raised, in words, and the seconds that it used.
    TooLong : after ``limit`` seconds.
    """
    # the process lives longer than one call, and the caller may stand elsewhere by now
    file, _, attribute = name.rpartition(":")
    name = f"{os.path.abspath(file)}:{attribute}"
    worker = getattr(_local, "worker", None)
    if worker is None:
        worker = _local.worker = _Worker()
    start = time.monotonic()
    try:
        worker.connection.send_bytes(pickle.dumps((name, list(candidates), federation, seed)))
        if not worker.connection.poll(limit):
            raise TooLong(f"no result after {limit:g} s")
        answer = pickle.loads(worker.connection.recv_bytes())
    except BaseException as error:  # an interrupt too: its answer would be taken for the next one
        _local.worker = None
        if isinstance(error, EOFError):  # it ends by itself, with a status of its own
            with contextlib.suppress(subprocess.TimeoutExpired):
                worker.process.wait(_END_SECONDS)
        worker.end()
        worker.process.wait()
        if not isinstance(error, (EOFError, OSError)):
            raise
        waited = min(time.monotonic() - start, limit)
        why = f"the process of the fit ended ({worker.process.returncode})"
        raise FitFailed(why, waited) from None
    if isinstance(answer, tuple):
        raise FitFailed(*answer)
    return answer  # type: ignore[no-any-return]

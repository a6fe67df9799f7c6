"""Worker processes that are forked from one process, which has loaded their part of the program.

Several new processes would import the same modules at the same time.  Here one new process does it
for all.  It is new, because a fork after an OpenMP region hangs, and it runs nothing but what it
loads.  It waits for its forks, and tells the caller how each of them ended.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, Pipe

from trials.run.block import BLAS_VARIABLES
from trials.run.wire import answer

#: On macOS a fork of a process that has loaded the libraries of the system may crash.
CAN_FORK = sys.platform == "linux"

_MAIN = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "
    "sys.path[:] = {path!r}; from trials.run import forks, local; "
    "forks.serve_forks({control}, {descriptors}, local.serve, local.start_worker)"
)


def start_parent(
    path: Sequence[str], control: int, descriptors: Sequence[int]
) -> subprocess.Popen[bytes]:
    """Start the process that forks.  A thread of its BLAS would not be in a fork: it has none."""
    code = _MAIN.format(path=list(path), control=control, descriptors=list(descriptors))
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.DEVNULL,
        pass_fds=[control, *descriptors],
        env=os.environ | dict.fromkeys(BLAS_VARIABLES, "1"),
    )


def start_forks(path: Sequence[str], load: bytes, descriptors: Sequence[int]) -> list[Fork]:
    """Start a process that does a call and then forks, and return its forks.

    Parameters
    ----------
    path : the folders of modules.
    load : the message of the call (`trials.run.wire.pack_call`).  A call that raises is passed
        over: the first job that needs what it loads raises again, where the caller sees it.
    descriptors : ends of pipes.  Each is served by a fork.
    """
    ours, theirs = Pipe()
    process = start_parent(path, theirs.fileno(), descriptors)
    theirs.close()
    with contextlib.suppress(OSError):  # it has ended: whoever waits for a fork is told
        ours.send_bytes(load)
    parent = _Parent(process, ours)
    return [Fork(parent, i) for i in range(len(descriptors))]


class _Parent:
    """The process that forks, as the caller sees it.

    Attributes
    ----------
    pids : the forks' numbers, empty before they are forked.
    codes : number of a fork -> its exit code, for those that are known to have ended.
    """

    def __init__(self, process: subprocess.Popen[bytes], control: Connection) -> None:
        self.process = process
        self.pids: list[int] = []
        self.codes: dict[int, int] = {}
        self._control = control

    def listen(self, seconds: float | None) -> bool:
        """Take what it tells next, and return whether it told anything in time.

        Raises
        ------
        EOFError : when it has ended, and all of its forks with it.
        """
        if not self._control.poll(seconds):
            return False
        try:
            told = self._control.recv()
        except OSError:
            raise EOFError from None
        if isinstance(told, list):
            self.pids = told
        else:
            pid, code = told
            self.codes[pid] = code
        return True


class Fork:
    """A forked worker, with what an executor uses of `subprocess.Popen`."""

    def __init__(self, parent: _Parent, i: int) -> None:
        self._parent, self._i = parent, i
        self.returncode: int | None = None

    @property
    def pid(self) -> int | None:
        """The number of the process, None before it is forked."""
        return self._parent.pids[self._i] if self._parent.pids else None

    def wait(self, timeout: float | None = None) -> None:
        """Wait for its end and note its exit code: that of its parent, where that ended first.

        Raises
        ------
        subprocess.TimeoutExpired : when it has not ended in as many seconds.
        """
        try:
            while self.pid not in self._parent.codes:
                if not self._parent.listen(timeout):
                    raise subprocess.TimeoutExpired("a fork", timeout or 0.0)
            self.returncode = self._parent.codes[self.pid]
            if len(self._parent.codes) == len(self._parent.pids):
                self._parent.process.wait()
        except EOFError:
            self.returncode = self._parent.process.wait()

    def terminate(self) -> None:
        """Ask all forks of its parent to end, and its parent with them."""
        self._parent.process.terminate()

    def kill(self) -> None:
        """End it, or its parent where that has not forked yet."""
        with contextlib.suppress(EOFError):
            while self._parent.listen(0.0):
                pass
        if self.pid is None:
            self._parent.process.kill()
        elif self.pid not in self._parent.codes:
            os.kill(self.pid, signal.SIGKILL)


def serve_forks(
    control: int,
    descriptors: Sequence[int],
    serve: Callable[[int], None],
    start_worker: Callable[[Sequence[str], int], subprocess.Popen[bytes]],
) -> None:
    """The process that forks: do the call that it receives, and have each descriptor served.

    What is loaded may have started a thread.  A lock that this thread holds would never be released
    in a fork.  Then the workers are new processes.
    """
    caller = Connection(control)
    answer(caller.recv_bytes())
    gc.freeze()  # the forks share these objects, and need not look through them
    alone = len(os.listdir("/proc/self/task")) == 1
    pids: list[int] = []
    left: set[int] = set()
    asked = False

    def end(*_signal: object) -> None:
        nonlocal asked
        asked = True
        for pid in tuple(left):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)

    signal.signal(signal.SIGTERM, end)
    for descriptor in descriptors:
        pid = os.fork() if alone else start_worker(sys.path, descriptor).pid
        if pid == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            caller.close()
            for other in {*descriptors} - {descriptor}:
                os.close(other)  # the caller would not see the end of the other worker
            serve(descriptor)
            return
        pids.append(pid)
        left.add(pid)
    if asked:
        end()  # also those that were forked since
    for descriptor in descriptors:
        os.close(descriptor)
    with contextlib.suppress(OSError):  # the caller is gone, and the forks end by themselves
        caller.send(pids)
        while left:
            pid, status = os.wait()
            left.discard(pid)
            caller.send((pid, os.waitstatus_to_exitcode(status)))

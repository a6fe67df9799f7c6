"""Running the tests of a module with a fault in it, in a copy of the tree.

There is one copy, and a fault is taken out again before the next one, so that the compiled kernels
of all other modules stay in the cache.  Every fault is tried in a child of one process that has
imported the large libraries: a child starts in a fraction of a second.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.faults.nearest import Nearest
from tests.faults.planting import Fault

#: CPU seconds that one suite may take.  On a busy machine they last longer.
LIMIT = 60
#: The same for faults in kernels, which are compiled again.
LIMIT_OF_KERNELS = 240
_PATIENCE = 10  # seconds on the clock for each of them
_FIRST_STAMP = 2_000_000_000  # later than any file's time


@dataclass(frozen=True)
class Outcome:
    """A planted fault, the test that failed (empty where none did), and the seconds it took."""

    fault: Fault
    by: str
    seconds: float

    @property
    def found(self) -> bool:
        """Whether a test failed that passes without the fault."""
        return bool(self.by)


class Workshop:
    """A copy of the tree in which faults are planted one after the other."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root = folder / "tree"
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=root, capture_output=True, check=True, text=True,
        ).stdout.split("\0")  # fmt: skip
        for name in filter(None, listed):
            target = self.root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if (root / name).is_file():
                shutil.copy2(root / name, target)
        self._report = folder / "failed"
        self._stamp = _FIRST_STAMP
        self._passes: dict[str, bool] = {}
        self.nearest = Nearest(self.root)

    def try_fault(self, fault: Fault, suites: Sequence[str]) -> Outcome:
        """Plant a fault, run suite after suite until the first failure, and take the fault out.

        A suite is a line of arguments of pytest: files, and what is selected from them.
        """
        begin = time.perf_counter()
        limit = LIMIT_OF_KERNELS if fault.path.startswith("trials/") else LIMIT
        by = ""
        for suite in suites:
            with self._planted(fault):
                failed = self._failure(suite, limit)
            if failed and self._passes_without(failed, limit):
                by = failed
                break
        return Outcome(fault, by, time.perf_counter() - begin)

    def _passes_without(self, test: str, limit: int) -> bool:
        """Whether a test (or a suite that took too long) passes where nothing is planted."""
        if test not in self._passes:
            self._passes[test] = not self._failure(test, limit)
        return self._passes[test]

    def _failure(self, suite: str, limit: int) -> str:
        """The first test of a suite that fails, the suite if it has no end, or nothing."""
        self._report.unlink(missing_ok=True)
        if run_tests(self.root, suite, limit, self._report):
            return ""
        with contextlib.suppress(OSError):
            return self._report.read_text() or suite
        return suite

    @contextlib.contextmanager
    def _planted(self, fault: Fault) -> Iterator[None]:
        target = self.root / fault.path
        before, stamp = target.read_text(), target.stat()
        target.write_text(fault.planted(before))
        self._stamp += 1  # compiled files are told apart by the time of their source
        os.utime(target, (self._stamp, self._stamp))
        try:
            yield
        finally:
            target.write_text(before)
            os.utime(target, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))


def preload() -> None:
    """Import the libraries that every child needs, none of the tree's own modules."""
    import hypothesis
    import mpmath
    import numba
    import pytest
    import scipy.optimize
    import scipy.stats
    import sympy

    del hypothesis, mpmath, numba, pytest, scipy, sympy


def run_tests(root: Path, suite: str, limit: int, report: Path) -> bool:
    """Whether a suite passes in a tree, in a child.

    The child writes the name of the first test that fails into ``report``.  It has failed as well
    when it has used ``limit`` CPU seconds.
    """
    child = os.fork()
    if child == 0:
        os.setsid()  # so that the end of patience ends the child's own children as well
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
        os._exit(_in_child(root, suite, report))
    end = time.monotonic() + _PATIENCE * limit
    while time.monotonic() < end:
        finished, status = os.waitpid(child, os.WNOHANG)
        if finished:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


class _FirstFailure:
    """A plugin of pytest that writes down the first test that fails."""

    def __init__(self, report: Path) -> None:
        self._report = report

    def pytest_runtest_logreport(self, report: object) -> None:
        self._note(report)

    def pytest_collectreport(self, report: object) -> None:
        self._note(report)

    def _note(self, report: object) -> None:
        if getattr(report, "failed", False) and not self._report.exists():
            self._report.write_text(shlex.quote(str(getattr(report, "nodeid", ""))))


def _in_child(root: Path, suite: str, report: Path) -> int:
    import pytest

    silent = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silent, stream)
    os.chdir(root)
    os.environ["PYTHONPATH"] = str(root)
    sys.dont_write_bytecode = False
    own = ("bounds", "trials", "verify", "reports", "tests", "docs")
    for name in [n for n in sys.modules if n.partition(".")[0] in own]:
        del sys.modules[name]
    sys.path[:] = [str(root), *(p for p in sys.path if p not in ("", str(Path.cwd())))]
    options = ["-x", "-q", "-p", "no:cacheprovider", "-m", "not slow", "--rootdir", str(root)]
    try:
        return int(pytest.main([*options, *shlex.split(suite)], [_FirstFailure(report)]))
    except BaseException:
        return 1

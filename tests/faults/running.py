"""Running the tests of a module with a fault in it, in a copy of the tree.

There is one copy, and a fault is taken out again before the next one, so that the compiled kernels
of all other modules stay in the cache.  Every fault is tried in a child of one process that has
imported the large libraries, and the packages of the tree that the faults cannot reach.  Tests that
took less time before come first.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import importlib
import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.faults.nearest import Nearest
from tests.faults.planting import Fault

if TYPE_CHECKING:
    import pytest

#: CPU seconds that one suite may take.  On a busy machine they last longer.
LIMIT = 60
#: The same for faults in kernels, which are compiled again.
LIMIT_OF_KERNELS = 160
#: Tests that took more CPU seconds than this before are left out.
DEAR = 6.0
#: Seconds on the clock without any CPU time after which a suite waits in vain.
_PATIENCE = 60
_UNUSABLE = 4  # pytest's exit code for arguments that it cannot use
_FIRST_STAMP = 2_000_000_000  # later than any file's time
_OWN = ("bounds", "trials", "verify", "reports", "tests", "docs")
#: Package with faults -> packages that never import it.
_OUT_OF_REACH = {
    "bounds": {"trials"},
    "trials": {"bounds"},
    "verify": {"bounds", "trials"},
    "reports": {"bounds", "trials", "verify"},
}
_WHOLE = {"trials": "trials.experiments", "verify": "verify.papers"}  # imports the package


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
    """A copy of the tree in which faults are planted one after the other.

    The file ``times`` keeps the CPU seconds of the tests that have passed.
    """

    def __init__(self, root: Path, folder: Path, times: Path | None = None) -> None:
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
        self._tests = Tests(self.root, folder / "failed", times or folder / "times")
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
            by = self._found_by(fault, suite, limit)
            if by:
                break
        return Outcome(fault, by, time.perf_counter() - begin)

    def _found_by(self, fault: Fault, suite: str, limit: int) -> str:
        """The first test of a suite that fails with a fault and passes without it, or nothing.

        A test that fails without a fault ends its suite.  So the suite is run again without it.
        """
        left_out: set[str] = set()
        while True:
            rest = " ".join([suite, *(f"--deselect {name}" for name in sorted(left_out))])
            failed = self._first_failure(fault, rest, limit)
            if failed and self._passes_without(failed, limit):
                return failed
            if failed in {"", rest, *left_out}:
                return ""
            left_out.add(failed)

    def _first_failure(self, fault: Fault, suite: str, limit: int) -> str:
        """The first test that fails with a fault, or nothing.

        A suite may have no end because its tests are many or dear.  So where it has none, the test
        at which it ended is run alone.  Where that test passes, its time is known, and the suite is
        run once more without what is dear.
        """
        for _ in range(2):
            with self._planted(fault):
                failed = self._failure(suite, limit)
                at = self._tests.last()
                if failed != suite or not self._tests.ended_late or not at:
                    return failed
                if self._failure(at, limit):
                    return at
        return ""

    def preload(self, packages: Iterable[str]) -> None:
        """Import here what the faults of all these packages cannot reach, for the children."""
        kept = set.intersection(*(_OUT_OF_REACH[name.partition("/")[0]] for name in packages))
        sys.path.insert(0, str(self.root))
        for name in sorted(kept):
            importlib.import_module(_WHOLE.get(name, name))
        self._tests.kept = frozenset(kept)

    def _passes_without(self, test: str, limit: int) -> bool:
        """Whether a test (or a suite that took too long) passes where nothing is planted.

        Only a run of this tree counts: ``times`` may come from another one, where the test passed.

        Raises
        ------
        ValueError
            When pytest cannot use the suite, because it names a file that is not there.
        """
        if test not in self._passes:
            self._passes[test] = not self._failure(test, limit)
            if self._tests.code == _UNUSABLE:
                raise ValueError(f"pytest cannot run {test}")
        return self._passes[test]

    def _failure(self, suite: str, limit: int) -> str:
        """The first test of a suite that fails, the suite if it has no end, or nothing."""
        report = self._tests.report
        report.unlink(missing_ok=True)
        if self._tests.pass_within(suite, limit):
            return ""
        with contextlib.suppress(OSError):
            return report.read_text() or suite
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


class Tests:
    """The tests of a tree, run in children.

    A child writes the name of the first test that fails into ``report``, and the seconds of each
    test that passes into ``times``.  The packages ``kept`` are not imported again.  ``code`` is the
    last one with which pytest ended, and ``ended_late`` says that its time had run out.
    """

    def __init__(self, root: Path, report: Path, times: Path) -> None:
        self.root, self.report, self.times = root, report, times
        self.kept: frozenset[str] = frozenset()
        self.code = 0
        self.ended_late = False
        self._at = report.with_name(report.name + "-at")

    def last(self) -> str:
        """The last test that was begun, as an argument of pytest."""
        try:
            return self._at.read_text()
        except OSError:
            return ""

    def seconds(self) -> dict[str, float]:
        """Name of a test that has passed -> the CPU seconds that it took."""
        try:
            lines = self.times.read_text().splitlines()
        except OSError:
            return {}
        pairs = (line.partition(" ") for line in lines)
        return {name: float(seconds) for seconds, _, name in pairs}

    def pass_within(self, suite: str, limit: int) -> bool:
        """Whether a suite passes before it has used ``limit`` CPU seconds."""
        self.ended_late = False
        self._at.unlink(missing_ok=True)
        # A fork has no watchdog thread, and would wait for ever to see its parent's end.
        faulthandler.cancel_dump_traceback_later()
        child = os.fork()
        if child == 0:
            os.setsid()  # so that the end of patience ends the child's own children as well
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
            os._exit(self._in_child(suite))
        spent, since = -1, time.monotonic()
        looked = since
        while time.monotonic() < since + _PATIENCE:
            finished, status = os.waitpid(child, os.WNOHANG)
            if finished:
                self.code = os.waitstatus_to_exitcode(status)
                self.ended_late = self.code in (-signal.SIGXCPU, -signal.SIGKILL)
                return self.code == 0
            time.sleep(0.02)
            if time.monotonic() > looked + 1.0:
                looked = time.monotonic()
                if (now := _cpu_ticks(child)) > spent:
                    spent, since = now, looked
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        self.ended_late = True
        return False

    def _in_child(self, suite: str) -> int:
        import hypothesis
        import pytest

        gc.freeze()  # what the parent has loaded is not looked through, nor copied, in each child
        # The first counterexample is enough: no time is spent on a smaller one.
        phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
        hypothesis.settings.register_profile(
            "faults", phases=phases, database=None, derandomize=True, deadline=None
        )
        silent = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silent, stream)
        os.chdir(self.root)
        os.environ["PYTHONPATH"] = str(self.root)
        os.environ["CFL_MUTATION"] = "all"  # tests of `tox -e mutation` count, a claim or two
        sys.dont_write_bytecode = False
        dropped = set(_OWN) - self.kept
        for name in [n for n in sys.modules if n.partition(".")[0] in dropped]:
            del sys.modules[name]
        root = str(self.root)
        sys.path[:] = [root, *(p for p in sys.path if p not in ("", root, str(Path.cwd())))]
        options = ["-x", "-q", "-p", "no:cacheprovider", "-m", "not slow", "--rootdir", root]
        options.append("--hypothesis-profile=faults")
        plugin = _CheapestFirst(self.report, self.times, self._at, self.seconds())
        try:
            return int(pytest.main([*options, *shlex.split(suite)], [plugin]))
        except BaseException:
            return 1


def _cpu_ticks(session: int) -> int:
    """Clock ticks of CPU time that the living processes of a session have used."""
    total = 0
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = file.read_text().rpartition(")")[2].split()  # from the state, the third field
            if int(fields[3]) == session:
                total += int(fields[11]) + int(fields[12])
    return total


class _CheapestFirst:
    """A plugin of pytest that orders the tests and notes the last, the first failure and times."""

    def __init__(self, report: Path, times: Path, at: Path, seconds: dict[str, float]) -> None:
        self._report, self._times, self._at, self._seconds = report, times, at, seconds

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """The seconds that tests took decide, then the order of files; dear ones are left out."""
        files = {name: i for i, name in enumerate(dict.fromkeys(_file(t.nodeid) for t in items))}
        items[:] = [t for t in items if self._took(t) <= DEAR]
        items.sort(key=lambda t: (self._took(t) // 1, files[_file(t.nodeid)]))

    def _took(self, test: pytest.Item) -> float:
        return self._seconds.get(test.nodeid, 0.0)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._at.write_text(shlex.quote(nodeid))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "setup":  # what tests share is not the first one's own
            self._begin = sum(os.times()[:4])
        if report.when == "call" and report.passed and report.nodeid not in self._seconds:
            spent = sum(os.times()[:4]) - self._begin
            with self._times.open("a") as file:
                file.write(f"{spent:.3f} {report.nodeid}\n")
        self._note(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._note(report)

    def _note(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.failed and not self._report.exists():
            self._report.write_text(shlex.quote(report.nodeid))


def _file(name: str) -> str:
    return name.partition("::")[0]

"""Running the tests of a module with a fault in it, in a copy of the tree.

There is one copy, and a fault is taken out again before the next one, so that the compiled kernels
of all other modules stay in the cache.  Every fault is tried in a child of one process that has
imported the large libraries: a child starts in a fraction of a second.
"""

from __future__ import annotations

import ast
import contextlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.faults.planting import Fault

#: Files of tests that one fault is shown to, the closest first.
MOST_FILES = 3
#: CPU seconds that one file of tests may take.  On a busy machine they last longer.
LIMIT = 60
_PATIENCE = 10  # seconds on the clock for each of them
_GREEN = 0


@dataclass(frozen=True)
class Outcome:
    """A planted fault: whether a test failed, and after how many seconds."""

    fault: Fault
    found: bool
    seconds: float
    tests: tuple[str, ...]


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
        self._green: dict[str, bool] = {}
        self._imports = {
            path.relative_to(self.root).as_posix(): _imported(path.read_text())
            for path in sorted((self.root / "tests").rglob("test_*.py"))
        }

    def tests_of(self, path: str) -> tuple[str, ...]:
        """The files of tests of a module: its mirror, then those that import it, small first."""
        module = path.removesuffix(".py").replace("/", ".")
        package, _, stem = module.rpartition(".")
        mirror = f"tests/{path.rpartition('/')[0]}/test_{stem}.py"
        direct = [t for t, names in self._imports.items() if module in names and t != mirror]
        beside = [t for t in self._imports if t.startswith(f"tests/{package.replace('.', '/')}/")]
        above = [t for t, names in self._imports.items() if package in names]
        size = {t: (self.root / t).stat().st_size for t in self._imports}
        ranked = [mirror] if mirror in self._imports else []
        for group in (direct, beside, above):
            ranked += sorted((t for t in group if t not in ranked), key=size.__getitem__)
        return tuple(ranked[:MOST_FILES])

    def green(self, tests: tuple[str, ...]) -> tuple[str, ...]:
        """Those files of tests that pass within the limit where nothing is planted."""
        for name in tests:
            if name not in self._green:
                self._green[name] = run_tests(self.root, (name,)) == _GREEN
        return tuple(name for name in tests if self._green[name])

    def try_fault(self, fault: Fault, tests: tuple[str, ...]) -> Outcome:
        """Plant a fault, run the tests until the first failure, and take the fault out."""
        tests = self.green(tests)
        begin = time.perf_counter()
        with self._planted(fault):
            status = run_tests(self.root, tests) if tests else _GREEN
        return Outcome(fault, status != _GREEN, time.perf_counter() - begin, tests)

    @contextlib.contextmanager
    def _planted(self, fault: Fault) -> Iterator[None]:
        target = self.root / fault.path
        before, stamp = target.read_text(), target.stat()
        target.write_text(fault.planted(before))
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


def run_tests(root: Path, tests: tuple[str, ...]) -> int:
    """The exit status of pytest on some files of a tree, in a child; not zero after the limit."""
    limit = LIMIT * len(tests)
    child = os.fork()
    if child == 0:
        os.setsid()  # so that the end of patience ends the child's own children as well
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
        os._exit(_in_child(root, tests))
    end = time.monotonic() + _PATIENCE * limit
    while time.monotonic() < end:
        finished, status = os.waitpid(child, os.WNOHANG)
        if finished:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return 1


def _in_child(root: Path, tests: tuple[str, ...]) -> int:
    import pytest

    silent = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silent, stream)
    os.chdir(root)
    os.environ["PYTHONPATH"] = str(root)
    sys.dont_write_bytecode = True
    own = ("bounds", "trials", "verify", "reports", "tests", "docs")
    for name in [n for n in sys.modules if n.partition(".")[0] in own]:
        del sys.modules[name]
    sys.path[:] = [str(root), *(p for p in sys.path if p not in ("", str(Path.cwd())))]
    options = ["-x", "-q", "-p", "no:cacheprovider", "-m", "not slow", "--rootdir", str(root)]
    try:
        return int(pytest.main([*options, *tests]))
    except BaseException:
        return 1


def _imported(source: str) -> set[str]:
    """The modules that a file of tests imports, with their names and their packages."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names

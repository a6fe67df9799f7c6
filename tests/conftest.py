"""How tests are shared among workers, and what changes without the compiler.

The tests of one file share a worker, because they share what the file builds, and so do those of
some files that ask for the same (`tests.groups.TOGETHER`).  Two files are too
long for one worker: in `tests/test_every_claim.py` the tests of one claim share it, and in
`tests/records/test_records.py` the records of one kind (`tests.groups`).  The groups that take
longest begin first, so that no worker is left alone with one at the end.

Without the compiler a test that takes too long is skipped, and kernels may overflow.  Machine code
does not warn when a number overflows.  The interpreter warns in the same kernel at the same number.
Warnings stay errors in the ordinary run, where drivers raise them.

Printed lines are compared character by character.  So no test sees the width and the colours of the
terminal from which the suite was started: tox hands them on as COLUMNS and FORCE_COLOR.

Run stores wait for the disk at every commit, a tenth of a second for a new one.  So the temporary
folders of tests lie in memory where the machine has a file system there.

NumPy, Numba and OpenBLAS compute as on every other processor of the common level
(`verify.arithmetic`), in the children that tests start as well.

Python looks through all objects again and again for circles that nobody needs.  What the
collection of the tests makes stays to the end, so that it is left out (`gc.freeze`).  The other
objects are looked at less often.

Hypothesis draws the same examples in every run: a test's seed is the digest of its function, no
example of an earlier run is tried, and the numbers in the loaded modules, which differ with the
selected tests, are not.  ``--hypothesis-profile=explore`` draws new ones (the task explore).

Hypothesis seeds the global generators of Python and NumPy before each example, and puts their
states back after it, a tenth of a millisecond in all.  Nothing here draws from them (ruff refuses
NumPy's), so that the ordinary run leaves them alone.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import HealthCheck, core, settings
from hypothesis.internal.conjecture import providers

from tests import forking, groups
from verify.arithmetic import settle

settle()  # no test module has loaded NumPy yet, and children inherit what this sets

#: CPU seconds that one test may take with NUMBA_DISABLE_JIT=1.  Kernels are two to three hundred
#: times as slow there.  Tests that are known to be too large have the marker ``large``.
LIMIT = 20.0

#: Seconds on the clock after which a test hangs: the one limit of that kind, far beyond what any
#: load makes of a test.  Python then prints where every thread stands, and ends.
HANGS = 1800.0
#: The limit begins anew at the first test after so many seconds.  It is a thread of its own, and to
#: end one takes milliseconds where the processors are busy.
RENEWED = 60.0

#: The file system in memory that Linux has, and the bytes that must be free in it.
MEMORY, NEEDED = Path("/dev/shm"), 2**31


def _in_memory() -> bool:
    """Whether temporary folders can lie in memory: some tests run programs that they write."""
    try:
        found = os.statvfs(MEMORY)
    except (AttributeError, OSError):  # another system, or none mounted
        return False
    usable = os.access(MEMORY, os.W_OK) and not found.f_flag & os.ST_NOEXEC
    return usable and found.f_bavail * found.f_frsize >= NEEDED


if "TMPDIR" not in os.environ and _in_memory():
    os.environ["TMPDIR"] = str(MEMORY)
    tempfile.tempdir = None  # so that it is looked up again

# Before any module of the command line is imported: its consoles read these when they are made.
for _name in ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
    os.environ.pop(_name, None)


# Neither a deadline nor a check of the time that drawing takes: both read the clock.
_UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("suite", _UNTIMED, derandomize=True, database=None)
settings.register_profile("explore", _UNTIMED, derandomize=False, print_blob=True)
settings.load_profile("suite")


@pytest.fixture(autouse=True, scope="session")
def _the_users_own_state_is_left_alone(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The claims files that tests run are noted in a folder of the tests (`verify.consent`)."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


@pytest.fixture
def forked_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers of an executor are forks; `tests/trials/run/test_executors.py` has new ones."""
    monkeypatch.setattr("trials.run.local.start_worker", forking.start_worker)
    monkeypatch.setattr("trials.run.forks.start_parent", forking.start_parent)


def _interpreted() -> bool:
    return os.environ.get("NUMBA_DISABLE_JIT") == "1"


#: Groups of tests that take longest, their children included, the longest first.
_LONGEST = (
    "tests/records/test_records.py::claims",
    "tests/verify/proofs/test_shelf.py",
    "tests/verify/cli/test_commands.py",
    "tests/trials/test_jit_cache.py",
    "tests/verify/test_evidence_of_claims.py",
    "tests/verify/test_calibration_worlds.py",
    "tests/verify/proofs/test_coq.py",
    "tests/records/test_records.py::calls",
    "tests/verify/test_changed_meanings.py",
    "tests/verify/test_calibration.py",
    "tests/test_faults.py",
    "tests/test_document_commands.py",
    "tests/verify/proofs/test_planted_faults.py",
    "tests/verify/procedures/test_threshold.py",
    "tests/verify/mutation",
    "tests/reports/test_catalogue_formulas.py",
    "tests/verify/claims/ifca/test_claims.py",
    "tests/trials/run/test_store_odd.py",
    "tests/reports/test_figures.py",
    "tests/trials/experiments/test_ifca_data.py",
    "tests/verify/test_session.py",
    "tests/verify/claims/odcl/test_clustering_claims.py",
    "tests/verify/test_negative_controls.py",
    "tests/verify/benchmark/test_named.py",
    "tests/records",
    "tests/verify/cli",
    "tests/trials",
    "tests/verify/procedures",
    "tests/verify/proofs",
    "tests/verify/testing",
    "tests/verify/decisions",
    "tests/reports",
)


def pytest_configure(config: pytest.Config) -> None:
    gc.disable()  # until the tests are collected
    forking.remember_environment()
    if config.pluginmanager.hasplugin("xdist"):
        config.option.loadscopereorder = False  # by the number of tests; ours is by their time
    if config.getoption("--hypothesis-profile") != "explore":
        none = type(providers.GLOBAL_CONSTANTS)()
        providers._get_local_constants = lambda: none
        core.deterministic_PRNG = nullcontext
    if _interpreted():
        config.addinivalue_line("filterwarnings", "ignore::RuntimeWarning")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Whole groups.  Some tasks install pytest without xdist."""
    return groups.scheduler(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let the workers of xdist begin with the groups that take longest."""
    if not hasattr(config, "workerinput"):
        return
    last = len(_LONGEST)

    def rank(item: pytest.Item) -> int:
        group = groups.group_of(item.nodeid)
        return next((i for i, name in enumerate(_LONGEST) if group.startswith(name)), last)

    items.sort(key=rank)


def pytest_sessionstart(session: pytest.Session) -> None:
    if hasattr(session.config, "workerinput"):
        groups.send_less(session.config)


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(50_000, 50, 50)
    gc.enable()


_limited_at = -RENEWED


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    global _limited_at
    now = time.monotonic()
    if now - _limited_at >= RENEWED:
        _limited_at = now
        faulthandler.dump_traceback_later(HANGS, exit=True, file=sys.__stderr__)


def pytest_sessionfinish() -> None:
    faulthandler.cancel_dump_traceback_later()


def _stop(signum: int, frame: FrameType | None) -> None:
    pytest.skip(f"more than {LIMIT:g} CPU seconds without the compiler")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    if not (_interpreted() and hasattr(signal, "SIGPROF")):
        return (yield)
    before = signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)

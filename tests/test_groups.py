"""The tests of a group share a worker, in the whole way through pytest-xdist."""

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.groups import group_of, scheduler, send_less

ROOT = Path(__file__).parents[1]
TOY = """
import os, pathlib, pytest

@pytest.mark.parametrize("i", range(6))
def test_toy(i):
    with open({seen!r}, "a") as file:
        print(pathlib.Path(__file__).name, os.environ["PYTEST_XDIST_WORKER"], file=file)
"""
CONFTEST = """
import pytest
from tests import groups

@pytest.hookimpl
def pytest_xdist_make_scheduler(config, log):
    return groups.scheduler(config, log)

def pytest_sessionstart(session):
    if hasattr(session.config, "workerinput"):
        groups.send_less(session.config)

def pytest_runtest_logreport(report):
    if hasattr(report, "node"):  # in the process that hands out the tests
        with open({received!r}, "a") as file:
            print(report.nodeid.rpartition("::")[2], report.when, report.outcome, file=file)
"""
#: A test that passes, and one of each kind whose report says more.
OUTCOMES = """
import pytest

@pytest.fixture
def broken():
    raise ValueError("the set-up broke")

@pytest.fixture
def broken_later():
    yield
    raise ValueError("it broke afterwards")

@pytest.fixture
def talks():
    print("before")
    yield
    print("afterwards")

def test_passes(): pass
def test_fails(talks): assert False
def test_errs(broken): pass
def test_errs_later(broken_later): pass
@pytest.mark.skip(reason="no reason")
def test_skips(): pass
"""


def test_the_group_is_the_file_but_for_the_two_that_are_too_long():
    assert group_of("tests/a/test_b.py::test_c") == "tests/a/test_b.py"
    assert group_of("tests/a/test_b.py::Names::test_c[1-[2]]") == "tests/a/test_b.py"
    every = "tests/test_every_claim.py"
    of_claim = {group_of(f"{every}::{test}[sxy.eq32]") for test in ("test_one", "test_two")}
    assert of_claim == {f"{every}::sxy.eq32"}
    assert group_of(f"{every}::test_reach") == every
    records = "tests/records/test_records.py"
    assert group_of(f"{records}::test_value[phrases a b]") == f"{records}::claims"
    assert group_of(f"{records}::test_value[commands list --json]") == f"{records}::commands"


@pytest.fixture(scope="module")
def tried(tmp_path_factory):
    """What pytest prints with two workers, what they sent, and which of them had which test."""
    pytest.importorskip("xdist")
    folder = tmp_path_factory.mktemp("toys")
    seen, received = folder / "seen", folder / "received"
    (folder / "conftest.py").write_text(CONFTEST.format(received=str(received)))
    for name in "abcd":
        (folder / f"test_{name}.py").write_text(TOY.format(seen=str(seen)))
    (folder / "test_outcomes.py").write_text(OUTCOMES)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2"]
    command += ["--rootdir", str(folder), "-c", "/dev/null", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, str(folder)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr, received.read_text().splitlines(), seen.read_text()


def test_no_group_is_split_between_two_workers(tried):
    """Four files of six tests, so that a scheduler of single tests would split each of them.

    They are longer than the fifth file, and each worker begins with one of them.
    """
    workers = defaultdict(list)
    for line in tried[2].splitlines():
        file, worker = line.split()
        workers[file].append(worker)
    assert [len(each) for each in workers.values()] == [6, 6, 6, 6]
    assert all(len(set(each)) == 1 for each in workers.values()), dict(workers)
    assert len(set().union(*workers.values())) == 2


@pytest.mark.parametrize("way", ["each", "loadfile", "loadscope", "worksteal"])
def test_another_way_of_sharing_that_is_asked_for_is_left_alone(way):
    assert scheduler(SimpleNamespace(getoption={"dist": way}.get), None) is None


def test_a_worker_sends_every_report_that_says_more_than_that_a_test_passed(tried):
    printed, received, _ = tried
    assert "1 failed, 26 passed, 1 skipped, 2 errors" in printed, printed
    shown = "Captured stdout setup.*before.*Captured stdout teardown.*afterwards"
    assert re.search(shown, printed, re.DOTALL)
    assert sorted(received) == sorted([
        *(4 * [f"test_toy[{i}] call passed" for i in range(6)]),
        "test_errs setup failed",
        "test_errs_later call passed",
        "test_errs_later teardown failed",
        "test_fails setup passed",
        "test_fails call failed",
        "test_fails teardown passed",
        "test_passes call passed",
        "test_skips setup skipped",
    ])  # fmt: skip


class WorkerInteractor:
    """What a worker of pytest-xdist has."""

    def __init__(self):
        self.sent = []

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report):
        self.sent.append(report)

    @pytest.hookimpl
    def pytest_runtest_logstart(self, nodeid, location):
        self.sent.append((nodeid, location))


@pytest.mark.parametrize(
    ("options", "n_sent"),
    [({}, 0), ({"durations": 3}, 2), ({"durations": 0}, 2), ({"xmlpath": "report.xml"}, 2)],
)
def test_all_is_sent_where_somebody_reads_it(options, n_sent):
    """``--durations 0`` lists all of them."""
    manager, worker = pytest.PytestPluginManager(), WorkerInteractor()
    manager.register(worker)
    send_less(SimpleNamespace(hook=manager.hook, getoption=options.get))
    passed = SimpleNamespace(when="setup", passed=True, sections=[])
    manager.hook.pytest_runtest_logstart(nodeid="a", location=("a", 1, "a"))
    manager.hook.pytest_runtest_logreport(report=passed)
    assert len(worker.sent) == n_sent

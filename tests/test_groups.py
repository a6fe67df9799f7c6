"""The tests of a group share a worker, in the whole way through pytest-xdist."""

import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from tests.groups import group_of

ROOT = Path(__file__).parents[1]
TOY = """
import os, pathlib, pytest

@pytest.mark.parametrize("i", range(4))
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


def test_no_group_is_split_between_two_workers(tmp_path):
    """Four files of four tests, so that a scheduler of single tests would split each of them."""
    pytest.importorskip("xdist")
    seen = tmp_path / "seen"
    (tmp_path / "conftest.py").write_text(CONFTEST)
    for name in "abcd":
        (tmp_path / f"test_{name}.py").write_text(TOY.format(seen=str(seen)))
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup"]
    command += ["--rootdir", str(tmp_path), "-c", "/dev/null", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert "16 passed" in done.stdout, done.stdout + done.stderr
    workers = defaultdict(set)
    for line in seen.read_text().splitlines():
        file, worker = line.split()
        workers[file].add(worker)
    assert len(workers) == 4
    assert all(len(each) == 1 for each in workers.values()), dict(workers)
    assert len(set.union(*workers.values())) == 2

"""The pytest marker: a test for each check, failures that are saved, misuse that is explained."""

import subprocess
import sys
from importlib.metadata import entry_points

import pytest

import verify.testing  # noqa: F401  (pytester forgets what its runs import, and NumPy loads once)

pytest_plugins = ["pytester"]

MINE = """
from verify.testing.examples import assignment

def lowest(points, centres):
    return assignment(points, centres) * 0
"""
TEST = """
import pytest, my_own_points
from verify.testing.examples import assignment

@pytest.mark.verifies("assignment", examples=4)
def test_right(verify):
    verify(assignment)

@pytest.mark.verifies("assignment", examples=4)
def test_wrong(verify):
    verify(my_own_points.lowest)
"""


@pytest.fixture
def run(pytester):
    """Runs a test file with the plug-in, also where the suite is not installed."""
    known = any(found.name == "cfl_verify" for found in entry_points(group="pytest11"))
    plugin = [] if known else ["-p", "verify.pytest_plugin"]

    def run_file(text):
        pytester.makepyfile(my_own_points=MINE)
        pytester.makepyfile(test_mine=text)
        pytester.syspathinsert()
        return pytester.runpytest_inprocess("-v", "--strict-markers", "-p", "no:xdist", *plugin)

    return run_file


def test_every_check_is_a_test_and_a_failure_is_printed_and_saved(run, pytester):
    result = run(TEST)
    assert result.ret == 1
    text = result.stdout.str()
    for check in ("nearest", "ties", "frame", "themselves", "law"):
        assert f"test_right[{check}] PASSED" in text
    assert "test_wrong[nearest] FAILED" in text
    assert "smallest input found:\n  points = [[" in text
    saved = pytester.path / "subject-failures" / "test_assignment_nearest_my_own_points_lowest.py"
    assert saved.exists()
    assert saved.with_suffix(".npz").exists()
    assert f"saved: python -m pytest {saved} replays it" in text


@pytest.mark.parametrize(
    ("marker", "says"),
    [
        ('@pytest.mark.verifies("ifca")', "subject='ifca' must be one of ifca.step"),
        ("@pytest.mark.verifies()", "with one subject"),
        ("", "the fixture verify needs @pytest.mark.verifies"),
    ],
)
def test_misuse_is_explained(run, marker, says):
    other = "def test_other():\n    pass\n"
    result = run(f"import pytest\n{other}{marker}\ndef test_it(verify):\n    verify(len)\n")
    assert result.ret == 1
    assert "test_other PASSED" in result.stdout.str(), "a wrong marker fails its own test alone"
    assert says in result.stdout.str() + result.stderr.str()


def test_pytest_alone_does_not_load_the_suite():
    """Every pytest run of an environment loads the plug-in, so it must be light."""
    text = "import sys, verify.pytest_plugin; print('numpy' in sys.modules, 'numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]

"""The example of `docs/your-own-paper.md` works from outside the source tree, as a user has it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def outside(tmp_path_factory):
    """A folder of the user's own with a copy of the example and nothing else."""
    folder = tmp_path_factory.mktemp("outside")
    shutil.copy(ROOT / "docs" / "example_paper.py", folder / "hoeffding.py")
    return folder


def command(folder, *arguments):
    found = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "120"},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    return found.stdout


def test_list_and_info_know_the_paper(outside):
    listed = command(outside, "verify", "list", "--claims", "hoeffding.py")
    assert "hoeffding.tail" in listed
    assert "ifca.thm1" in listed
    told = command(outside, "verify", "info", "hoeffding.tail", "--claims", "hoeffding.py")
    assert "P(Ū - 1/2 ≥ t) ≤ exp(-2n t^2)" in told
    assert "Hoeffding, J. Amer. Statist. Assoc. 1963" in told


def test_a_run_is_replayed_resumed_checked_and_typeset_from_what_it_stored(outside):
    run = ("verify", "run", "hoeffding.*", "--claims", "hoeffding.py", "--output", "run")
    assert "SUPPORTED" in command(outside, *run, "--jobs", "2")
    assert "hoeffding.tail" in command(outside, "verify", "status", "run")
    assert "SUPPORTED" in command(outside, "verify", "resume", "run")
    assert "no difference" in command(outside, "verify", "check", "run", "--against", "run")
    command(outside, "reports", "build", "run", "--format", "tex")
    (report,) = outside.rglob("report.tex")
    text = report.read_text()
    assert "Hoeffding" in text
    assert "deviation of their mean" in text
    assert "separation" not in text, "no notation of a paper that did not run"

"""`.ci/tox.py`: what it says before silent phases and after the main job."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def entry(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("tox_entry", ROOT / ".ci" / "tox.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    return module


def test_the_environments_are_read_from_the_command_line(entry):
    assert entry.environments(["-e", "verify,lint", "-ebench", "-q"]) == ["verify", "lint", "bench"]
    assert entry.environments([]) == []


def test_a_silent_phase_says_what_it_does_and_how_long_it_takes(entry, tmp_path):
    assert "verify" in entry.announcement(["verify"])
    assert "minutes" in entry.announcement(["verify"])
    (tmp_path / ".tox" / "verify").mkdir(parents=True)
    assert "seconds" in entry.announcement(["verify"])


def test_a_command_that_prints_nothing_is_reported_as_still_at_work(entry, monkeypatch, tmp_path):
    """The command waits for the report."""
    told = tmp_path / "told"
    monkeypatch.setattr(entry, "PATIENCE", 0.05)
    monkeypatch.setattr(entry, "ROOT", ROOT)
    monkeypatch.setattr(entry, "say", told.write_text)
    waiting = f"import os, time\nwhile not os.path.exists({str(told)!r}): time.sleep(0.01)"
    assert entry.patiently([sys.executable, "-c", waiting]) == 0
    assert "still at work" in told.read_text()


@pytest.mark.skipif(os.name == "nt", reason="paths of this system")
def test_after_the_main_job_the_next_command_is_one_that_exists(entry, tmp_path):
    assert entry.closing(["verify"]) == []
    program = tmp_path / ".tox" / "verify" / "bin" / "cfl-verify"
    program.parent.mkdir(parents=True)
    program.touch()
    assert entry.closing(["tests"]) == []
    commands = [line.split()[0] for line in entry.closing(["verify"]) if line.startswith("  ")]
    assert len(commands) == 3
    assert all((tmp_path / command).exists() for command in commands)


def test_the_tests_are_collected_where_xdist_is_not_installed():
    """The task `subjects-real` installs pytest alone.  Unknown markers are errors there."""
    command = [sys.executable, "-m", "pytest", "-p", "no:xdist", "--collect-only", "-q", __file__]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-800:]
    assert "xdist_is_not_installed" in done.stdout

"""What a shell offers behind a command: runs that are there, claims and profiles by their start."""

from __future__ import annotations

import pytest
from click.shell_completion import ShellComplete

from verify import session
from verify.cli import index
from verify.cli.app import application


def offered(*words: str) -> list[tuple[str, str]]:
    """What stands for the last word: its type and itself."""
    *before, last = words
    complete = ShellComplete(application, {}, "cfl-verify", "_CFL_VERIFY_COMPLETE")
    return [(item.type, item.value) for item in complete.get_completions(before, last)]


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """A folder with two runs, and with a folder that is none."""
    monkeypatch.chdir(tmp_path)
    for name in ("b", "a"):
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / session.STORE_NAME).touch()
    (tmp_path / "runs" / "c").mkdir()
    return tmp_path


@pytest.mark.parametrize("command", ["resume", "report", "status"])
@pytest.mark.parametrize(
    ("start", "names"),
    [
        ("", ["latest", "runs/a", "runs/b"]),
        ("la", ["latest"]),
        ("runs/", ["runs/a", "runs/b"]),
        ("runs/b", ["runs/b"]),
    ],
)
def test_runs_are_offered_by_the_start_of_their_name(runs, command, start, names):
    assert offered(command, start) == [("plain", name) for name in names]


@pytest.mark.parametrize("start", ["", "l", "latest", "elsewhere/x"])
def test_without_runs_the_shell_looks_for_a_folder(tmp_path, monkeypatch, start):
    """There is no latest run either."""
    monkeypatch.chdir(tmp_path)
    assert offered("resume", start) == [("dir", start)]


def test_a_run_elsewhere_is_looked_for_as_a_folder(runs):
    assert offered("resume", "elsewhere/x") == [("dir", "elsewhere/x")]


def test_claims_are_offered_by_the_start_of_their_id(monkeypatch):
    known = {name: {"title": f"of {name}"} for name in ("ifca.a", "ifca.ab", "sxy.a", "odcl.b")}
    monkeypatch.setattr(index, "entries", lambda files: {} if files else known)
    for start in ("", "ifca", "ifca.ab", "a", "sxy.a", "sxy.ab"):
        names = [name for name in known if name[: len(start)] == start]
        for command in ("list", "run"):
            assert offered(command, start) == [("plain", name) for name in names]


def test_profiles_are_offered_by_their_start():
    assert [value for _, value in offered("run", "--profile", "")] == ["quick", "standard", "full"]
    assert [value for _, value in offered("run", "--profile", "st")] == ["standard"]

"""`tests.again`: what it runs, what it prints, and that nothing stays behind."""

import subprocess

import pytest

from tests import again


def test_the_command_is_that_of_the_task_tests():
    python, *words = again.command([])
    assert words[:2] == ["-m", "pytest"]
    assert words[-1] == "tests"
    assert again.command(["-n", "0", "tests/bounds"]) == [
        python,
        *words[:-1],
        "-n",
        "0",
        "tests/bounds",
    ]


def test_busy_processes_run_and_end():
    with again.busy(2) as started:
        assert [process.poll() for process in started] == [None, None]
    assert all(process.returncode is not None for process in started)


@pytest.mark.parametrize("statuses", [[0, 0], [0, 1]])
def test_one_round_that_fails_is_named_and_fails_the_command(statuses, monkeypatch, capsys):
    left = list(statuses)

    def end(command, **_options):
        if command[0] == "git":
            return subprocess.CompletedProcess(command, 0)
        status = left.pop(0)
        said = "FAILED tests/a.py::test_b - no\n" * status + f"{status} failed in 1.00s\n"
        return subprocess.CompletedProcess(command, status, said, "")

    monkeypatch.setattr(subprocess, "run", end)
    assert again.main(["--rounds", "2"]) == sum(statuses)
    first, *failed, last = capsys.readouterr().out.splitlines()
    assert first.endswith("0 failed in 1.00s")
    assert first.startswith("round 1: exit 0")
    assert ("  FAILED tests/a.py::test_b - no" in failed) == any(statuses)
    assert last.startswith(f"{2 - sum(statuses)} of 2 rounds passed")

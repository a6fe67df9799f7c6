"""The README's commands, every one and in order, do what they say."""

import json
import re
import shlex
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner
from distributed.cli import dask_worker

from trials.run.directory import find_run
from verify.cli import proving, reporting
from verify.cli.app import application
from verify.papers import catalogue

ROOT = Path(__file__).resolve().parents[3]
TEXT = (ROOT / "README.md").read_text("utf-8")
#: Claims that replace the whole catalogue, so that the test takes seconds.
CHEAP = "ifca.k2-random-as-printed"


def commands():
    """The lines of the README's blocks that call the program, without what is said of them."""
    blocks = re.findall(r"```\n(.*?)```", TEXT, flags=re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    return [re.split(r"\s{2,}", line)[0] for line in lines if line.startswith("cfl-verify ")]


def test_every_command_of_the_program_is_shown():
    shown = {command.split()[1] for command in commands()}
    assert shown | {"completion"} == set(application.commands)


def test_the_commands_work_in_this_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    started = []
    monkeypatch.setattr(reporting.subprocess, "call", lambda c, **_k: started.append(c) or 0)
    monkeypatch.setattr(proving, "SHELF", tmp_path / "certificates")  # not the package's own
    workers = []
    monkeypatch.setattr(dask_worker, "main", lambda args, **_k: workers.append(args))
    trial = None
    for command in commands():
        _, *arguments = shlex.split(command)
        own = {
            "TRIAL": trial,
            "BASELINE": "runs/baseline",
            "OTHER": "runs/baseline",
            "FILE.py": str(ROOT / "docs" / "papers" / "kantorovich.py"),
        }
        arguments = [own.get(a, a) for a in arguments]
        if arguments[0] in {"run", "warm-up"} and not any("ifca" in a for a in arguments):
            arguments.append(f"{CHEAP}[d=3]")
        if arguments[0] in {"run", "resume", "mutate"} and "--jobs" not in arguments:
            arguments += ["--jobs", "1"]  # a process for each worker takes CPU seconds to start
        result = CliRunner().invoke(application, arguments)
        assert result.exit_code == 0, (command, result.output)
        if arguments[0] == "run":
            status = CliRunner().invoke(application, ["status", "latest", "--json"]).stdout
            trial = json.loads(status)["experiments"][0]["trial"]
    assert json.loads(started[0][-1])["run"] == "latest"
    assert workers == [["tcp://HOST:8786"]]
    assert len(list((tmp_path / "certificates").iterdir())) == 1
    assert find_run("baseline").is_dir()


@pytest.mark.parametrize("command", re.findall(r"python3 (\S+) -e (\w+)", TEXT))
def test_the_two_commands_name_a_file_and_a_task_that_exist(command):
    file, task = command
    assert (ROOT / file).is_file()
    assert f"[testenv:{task}]" in (ROOT / "tox.ini").read_text()


def test_the_claims_are_counted_paper_by_paper():
    (total,) = re.findall(r"three papers in (\d+) claims", TEXT)
    rows = dict(re.findall(r"^\| (IFCA|ODCL|moment descent)[^|]*\| (\d+) \|$", TEXT, re.MULTILINE))
    counts = Counter(name.partition(".")[0] for name in catalogue())
    assert int(total) == counts.total()
    assert {name: int(n) for name, n in rows.items()} == {
        "IFCA": counts["ifca"],
        "ODCL": counts["odcl"],
        "moment descent": counts["sxy"],
    }

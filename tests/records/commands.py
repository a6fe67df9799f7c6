"""Records of the command line: what each command prints about a fixed small run.

The run has no search, because the number of evaluations of Hypothesis depends on the modules that
are loaded.  Times, paths and versions are masked.
"""

from __future__ import annotations

import atexit
import contextlib
import csv
import json
import re
import shutil
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from tests.records.values import plain
from verify.cli.app import application

KIND = "commands"
CLAIMS = (
    "ifca.k2-random-as-printed[d=10]",
    "ifca.thm1-as-printed[sigma=0.1]",
    "ifca.thm1-contraction",
    "ifca.eq4[d=20]",
)
ABOUT = (
    "ifca.thm1", "ifca.eq4", "ifca.thm1-floor", "ifca.eq2-as-printed", "odcl.eq9", "sxy.lemma1",
    "ifca.k2-random-as-printed[d=10,m=40]",
)  # fmt: skip
OTHER = "ifca.thm1-contraction[sigma=0.2]"
#: Rows of an exported table that are kept.
ROWS = 40
#: Name of an entry -> the command.  "one" and "two" are two runs.
COMMANDS: dict[str, tuple[str, ...]] = {
    "run": (),
    "list of a verdict": ("list", "--verdict", "REFUTED", "--kind", "rate"),
    "list as JSON": ("list", "--kind", "rate", "--verdict", "REFUTED", "--json"),
    **{f"info {name}": ("info", name) for name in ABOUT},
    "info as JSON": ("info", "ifca.thm1", "--json"),
    "status": ("status", "one"),
    "status as JSON": ("status", "one", "--json"),
    "resume": ("resume", "one"),
    "check the same": ("check", "one", "--against", "one"),
    "check another": ("check", "one", "--against", "two"),
    "check as JSON": ("check", "one", "--against", "two", "--json"),
    "mutate": ("mutate", "one", "--sample", "2"),
    "mutate one claim": ("mutate", "one", "ifca.k2-random-as-printed*", "--sample", "4"),
    "mutate all of a claim": ("mutate", "one", "ifca.eq4[d=20]"),
    "export": ("export", "one", "tables"),
    "subject": ("subject",),
    "completion": ("completion", "bash"),
    "unknown claim": ("run", "ifca.thm9"),
    "unknown parameter": ("run", "ifca.thm1[zzz=3]"),
    "bad trial": ("replay", "one", "x:y:z"),
}
_MASKS = (
    (re.compile(r"\d[\d.,]*( ?)(ms|s|min|h|MB|kB|seconds|minutes)\b"), r"TIME\1\2"),
    (re.compile(r" +[\d.,]+ +(?=\S+:[0-9a-f]{16}:\d+)"), " TIME "),
    (re.compile(r"\S*/cfl-verify\b"), "cfl-verify"),  # where the program is installed
    (re.compile(r"\b(of|all) [\d,]+ claims"), r"\1 N claims"),  # new claims change no command
)
#: The paragraph of a procedure: the records of the claims have its words.
_PROCEDURE = re.compile(r"^ *procedure \(\w+\)  .*\n(?: {20}.*\n)*", re.MULTILINE)
_PROGRESS = re.compile(r"\d+/\d+ blocks|^ +claim \d+ of \d+|experiment +cells +trials")


def names() -> list[str]:
    """Names of the commands."""
    return list(COMMANDS)


def again(name: str, _recorded: Mapping[str, Any]) -> dict[str, Any]:
    """The lines of a command and its exit code."""
    if name == "run":
        return printed_by(runs()[1])
    with tempfile.TemporaryDirectory() as folder:
        words = list(COMMANDS[name])
        for run in {"one", "two"} & set(words):  # some commands write into a run
            shutil.copytree(runs()[0] / run, Path(folder) / run)
        if words[0] == "run":
            words += ["--output", "new"]
        told = printed_by(invoked(folder, *words))
        tables = sorted((Path(folder) / "tables").rglob("*.csv"))
        return told | {path.name: table(path) for path in tables}


@cache
def runs() -> tuple[Path, Any]:
    """The folder of two runs, and what the first one printed."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    common = ("--executor", "serial", "--output")
    one = invoked(folder, "run", *CLAIMS, "--seed", "5", *common, "one")
    two = invoked(folder, "run", *CLAIMS[:2], OTHER, "--seed", "6", *common, "two")
    assert two.exit_code in (0, 1, 2), two.output
    return Path(folder), one


def invoked(folder: str, *arguments: str) -> Any:
    """The result of a command in a folder, so that all paths are short and the same."""
    with contextlib.chdir(folder):
        return CliRunner(env={"COLUMNS": "100"}).invoke(application, list(arguments))


def printed_by(result: Any) -> dict[str, Any]:
    """The exit code and what was printed, without times."""
    with contextlib.suppress(ValueError):
        return {"exit": result.exit_code, "data": plain(_timeless(json.loads(result.stdout)))}
    text = result.stdout + result.stderr
    for pattern, mask in _MASKS:
        text = pattern.sub(mask, text)
    text = _PROCEDURE.sub("", text)
    lines = [line.rstrip() for line in text.splitlines() if not _PROGRESS.search(line)]
    return {"exit": result.exit_code, "lines": lines}


def _timeless(value: Any) -> Any:
    """Data without the values that are seconds, and without a procedure's words."""
    if isinstance(value, dict):
        left_out = [k for k in value if k.endswith("seconds") or k == "procedure"]
        return {k: _timeless(v) for k, v in value.items() if k not in left_out}
    return [_timeless(v) for v in value] if isinstance(value, list) else value


def table(path: Path) -> Any:
    """The columns of a table, numbers as numbers, so that rounding may differ."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))[:ROWS]
    dropped = ("params", "seconds", "code", "digest", "checksum", "machine")
    kept = [{k: as_number(v) for k, v in row.items() if k not in dropped} for row in rows]
    return plain(kept)


def as_number(text: str) -> Any:
    """A number where the text is one."""
    try:
        return float(text)
    except ValueError:
        return text

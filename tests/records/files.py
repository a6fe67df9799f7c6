"""The files of the records: one for each module, in `tests/records/data/KIND/`."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.records.values import differences

DATA = Path(__file__).parent / "data"
#: Differences that a failing test prints.
SHOWN = 5


@cache
def read(kind: str, module: str) -> dict[str, Any]:
    """Entry -> what is recorded, of one module.  Nothing where there is no file."""
    path = DATA / kind / f"{module}.json"
    return dict(json.loads(path.read_text("utf-8"))) if path.is_file() else {}


def save(kind: str, module: str, entries: dict[str, Any]) -> None:
    """Write the records of a module."""
    folder = DATA / kind
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{module}.json").write_text(_text(entries), "utf-8")
    read.cache_clear()
    recorded_names.cache_clear()


def remove_others(kind: str, modules: Collection[str]) -> None:
    """Remove the records of modules that are gone."""
    for path in (DATA / kind).glob("*.json"):
        if path.stem not in modules:
            path.unlink()


def _text(recorded: dict[str, Any]) -> str:
    """JSON with a line for each part of an entry, so that a difference is short."""
    lines = []
    for entry, value in sorted(recorded.items()):
        parts = value if isinstance(value, dict) else {"": value}
        inner = ",\n".join(f"  {json.dumps(str(k))}: {_line(v)}" for k, v in parts.items())
        lines.append(
            f"{json.dumps(entry)}: {{\n{inner}\n}}" if parts else f"{json.dumps(entry)}: {{}}"
        )
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def compare(kind: str, module: str, entry: str, again: Callable[[dict[str, Any]], Any]) -> None:
    """Fail where ``again(recorded)`` is not what is recorded."""
    old = read(kind, module).get(entry)
    if old is None:
        pytest.fail(f"{module}: {entry} has no record; {COMMAND}")
    new = json.loads(json.dumps(again(old)))
    found = differences(old, new)
    if found:
        shown = "\n  ".join([*found[:SHOWN], *(["..."] if len(found) > SHOWN else [])])
        pytest.fail(
            f"{module}: {entry} has changed in {len(found)} places (recorded -> now)\n  {shown}\n"
            f"{COMMAND}",
            pytrace=False,
        )


COMMAND = (
    "A record shows a change and not what is right.  Where the change is wanted, write the records "
    "anew and look at the difference: python -m tests.records"
)


@cache
def recorded_names(kind: str) -> dict[str, str]:
    """The entries of all files of a kind, each with its module."""
    files = sorted((DATA / kind).glob("*.json"))
    return {entry: path.stem for path in files for entry in read(kind, path.stem)}

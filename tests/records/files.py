"""The files of the records: one for each entry, ``tests/records/data/KIND/NAME.json``."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.records.values import differences

DATA = Path(__file__).parent / "data"
#: Differences that a failing test prints.
SHOWN = 5
#: Letters of a line.
WIDTH = 96


def path_of(kind: str, name: str) -> Path:
    """The file of an entry."""
    return DATA / kind / f"{name}.json"


@cache
def read(kind: str, name: str) -> Any:
    """What is recorded of an entry, nothing where there is no file."""
    path = path_of(kind, name)
    return json.loads(path.read_text("utf-8")) if path.is_file() else {}


def save(kind: str, name: str, value: Any) -> None:
    """Write the record of an entry."""
    path = path_of(kind, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text_of(value), "utf-8")
    read.cache_clear()
    recorded_names.cache_clear()


def remove_others(kind: str, names: Iterable[str]) -> None:
    """Remove the records of entries that are gone."""
    kept = {*names}
    for name in recorded_names(kind):
        if name not in kept:
            path_of(kind, name).unlink()
    recorded_names.cache_clear()


@cache
def recorded_names(kind: str) -> tuple[str, ...]:
    """The entries of a kind that have a file."""
    return tuple(sorted(path.name.removesuffix(".json") for path in (DATA / kind).glob("*.json")))


def as_read(value: Any) -> Any:
    """A value as it comes back from a file."""
    return json.loads(json.dumps(value))


def compare(kind: str, name: str, new: Any) -> None:
    """Fail where a new value is not what is recorded."""
    found = differences(read(kind, name), as_read(new))
    if found:
        shown = "\n  ".join([*found[:SHOWN], *(["..."] if len(found) > SHOWN else [])])
        pytest.fail(
            f"{kind} {name} has changed in {len(found)} places (recorded -> now)\n  {shown}\n"
            "A record shows a change and not what is right.  All of it, side by side:\n"
            f"    python -m tests.records --diff {name!r}\n"
            "Where the change is wanted, the same without --diff writes the record anew.",
            pytrace=False,
        )


# -- text ------------------------------------------------------------------------------------------


def text_of(value: Any) -> str:
    """JSON with a line for each part that fits into one, so that a difference is short."""
    return "\n".join(_lines(as_read(value), "")) + "\n"


def _lines(value: Any, lead: str) -> Iterator[str]:
    """The lines of a value.  The first begins with ``lead``, its place and its key."""
    whole = json.dumps(value, ensure_ascii=False)
    if len(lead) + len(whole) <= WIDTH or not isinstance(value, dict | list) or not value:
        yield lead + whole
        return
    margin = " " * (len(lead) - len(lead.lstrip()))
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    yield lead + opening
    if isinstance(value, dict):
        parts = [[*_lines(v, f"{margin} {json.dumps(k)}: ")] for k, v in value.items()]
    elif all(isinstance(v, int | float) for v in value):
        parts = [[line] for line in _filled(value, f"{margin} ")]
    else:
        parts = [[*_lines(v, f"{margin} ")] for v in value]
    for part in parts[:-1]:
        yield from (*part[:-1], part[-1] + ",")
    yield from parts[-1]
    yield margin + closing


def _filled(numbers: list[Any], margin: str) -> Iterator[str]:
    """Numbers, as many on a line as fit."""
    line = margin
    for each in map(json.dumps, numbers):
        if len(line) + len(each) + 2 > WIDTH and line != margin:
            yield line.removesuffix(", ")
            line = margin
        line += f"{each}, "
    yield line.removesuffix(", ")


def side_by_side(old: Any, new: Any, width: int = WIDTH) -> Iterator[str]:
    """The places where two values differ, the recorded lines on the left, those of now right."""
    left, right = text_of(old).splitlines(), text_of(new).splitlines()
    half = width // 2 - 2
    for kind, a, b, c, d in difflib.SequenceMatcher(None, left, right, False).get_opcodes():
        if kind != "equal":
            was, now = _wrapped(left[a:b], half), _wrapped(right[c:d], half)
            yield f"line {a + 1}".ljust(half) + "   | now"
            for i in range(max(len(was), len(now))):
                lines = [each[i] if i < len(each) else "" for each in (was, now)]
                yield f"{lines[0]:<{half}}   | {lines[1]}".rstrip()


def _wrapped(lines: list[str], width: int) -> list[str]:
    """The lines in pieces that fit into a column."""
    return [line[i : i + width] for line in lines for i in range(0, max(len(line), 1), width)]

"""The page `docs/faults.md`, from what runs of the harness printed.

python -m tests.faults verify --sample 40 | tee -a OUTPUT
python -m tests.faults.page OUTPUT > docs/faults.md

A fault that occurs several times was tried again after a test was mended: its first line counts for
the share found at first, and its last line for the share found now.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.faults.__main__ import GOALS

_LINE = re.compile(
    r"(?P<word>found|SURVIVED|EQUIVALENT) +[\d.]+ s  (?P<path>\S+?):\d+ (?P<what>.*?)"
    r"(?:  by (?P<by>\S.*)|  because (?P<why>.*))?"
)

HEAD = """\
# Planted faults

A fault is one small change of the program: a dropped divisor, a flipped comparison, another
constant, a missing line. The places are drawn at random with a seed. The nearest tests run with the
fault in place, and at least one should fail. An equivalent fault changes nothing that anybody could
see. It is left out of the shares. The last part lists what no test finds, and what tests find since
they were mended.

`python -m tests.faults PACKAGE --sample NUMBER --seed SEED` plants faults, and
`python -m tests.faults.page OUTPUT` writes this page from what that printed.

| modules | planted | equivalent | found at first | found now | goal |
| --- | --- | --- | --- | --- | --- |
"""


class Tried(NamedTuple):
    """One line of the harness."""

    word: str
    path: str
    what: str
    by: str
    why: str


def read(lines: Iterable[str]) -> list[Tried]:
    """The faults of a printed run, in its order."""
    found = (_LINE.fullmatch(line.strip()) for line in lines)
    return [
        Tried(m["word"], m["path"], m["what"], m["by"] or "", m["why"] or "") for m in found if m
    ]


def group(path: str) -> str:
    """The group of modules that a path belongs to: the longest that it starts with."""
    return max((name for name in GOALS if path.startswith(f"{name}/")), key=len)


def page(tried: Iterable[Tried]) -> str:
    """The page in Markdown."""
    first: dict[tuple[str, str], Tried] = {}
    last: dict[tuple[str, str], Tried] = {}
    for each in tried:
        first.setdefault((each.path, each.what), each)
        last[each.path, each.what] = each
    rows, notes = [], []
    for name, goal in GOALS.items():
        mine = [key for key in last if group(key[0]) == name]
        counted = [key for key in mine if last[key].word != "EQUIVALENT"]
        shares = " | ".join(_share([book[key] for key in counted]) for book in (first, last))
        rows.append(
            f"| `{name}` | {len(mine)} | {len(mine) - len(counted)} | {shares} | {goal:.0%} |"
        )
        notes += [(key, text) for key in mine if (text := _judgement(first[key], last[key]))]
    listed = [f"| `{path}` | `{what.replace('|', '¦')}` | {text} |" for (path, what), text in notes]
    table = ["", "| module | fault | judgement |", "| --- | --- | --- |", *listed]
    return HEAD + "\n".join([*rows, *(table if listed else [])]) + "\n"


def _share(tried: Sequence[Tried]) -> str:
    found = sum(each.word == "found" for each in tried)
    return f"{found} of {len(tried)} ({found / len(tried):.0%})" if tried else "not measured"


def _judgement(first: Tried, last: Tried) -> str:
    """A phrase about a fault that survived, empty for one that tests found at once."""
    if last.word == "EQUIVALENT":
        return f"equivalent: {last.why}"
    if last.word == "SURVIVED":
        return "survives"
    return "" if first.word == "found" else f"found now by `{last.by.strip(chr(39))}`"


if __name__ == "__main__":
    print(page(read(Path(sys.argv[1]).read_text("utf-8").splitlines())), end="")

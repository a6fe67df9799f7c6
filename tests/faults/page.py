"""The page `docs/faults.md`, from what runs of the harness printed.

python -m tests.faults verify --sample 40 --seed 7 | tee -a OUTPUT
python -m tests.faults --again OUTPUT | tee -a OUTPUT
python -m tests.faults.page OUTPUT > docs/faults.md

The second line tries those faults again that no test has found, after a test was mended.  The first
line of a fault counts for the share found at first, and its last line for the share found now.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

#: Group of modules -> the share of its faults that tests must find.
GOALS = {"verify": 0.95, "verify/claims": 0.90, "trials": 0.90, "bounds": 0.90, "reports": 0.90}
_LINE = re.compile(
    r"(?P<word>found|SURVIVED|EQUIVALENT) +[\d.]+ s  (?P<path>\S+?):(?P<line>\d+) (?P<what>.*?)"
    r"(?:  by (?P<by>\S.*)|  because (?P<why>.*))?"
)
_SEED = re.compile(r"\S+, seed (\d+):")

HEAD = """\
# Planted faults

A fault is one small change of the program: a dropped divisor, a flipped comparison, another
constant, a missing line. The places are drawn at random with a seed. The nearest tests run with the
fault in place, and at least one should fail. Dear tests are left out, so that a share is a lower
limit. An equivalent fault changes nothing that anybody could see. It is left out of the shares. The
last part lists what no test finds, and what tests find since they were mended.

Tests are mended after the faults of one seed are known. So the share that is found at first with
the next seed tells how good the tests are, and the share found now does not. Shares of a few faults
are rough: of ten faults found out of ten, the true share may still be 75%.

`python -m tests.faults PACKAGE --sample NUMBER --seed SEED` plants faults, and
`python -m tests.faults.page OUTPUT` writes this page from what that printed.

| modules | seed | planted | equivalent | found at first | found now | goal |
| --- | --- | --- | --- | --- | --- | --- |
"""


class Tried(NamedTuple):
    """One line of the harness."""

    word: str
    path: str
    what: str
    by: str = ""
    why: str = ""
    line: int = 0
    seed: str = "0"


def read(lines: Iterable[str]) -> list[Tried]:
    """The faults of a printed run, in its order."""
    found, seed = [], "0"
    for text in map(str.strip, lines):
        if begins := _SEED.fullmatch(text):
            seed = begins[1]
        elif m := _LINE.fullmatch(text):
            found.append(
                Tried(
                    word=m["word"],
                    path=m["path"],
                    what=m["what"],
                    by=m["by"] or "",
                    why=m["why"] or "",
                    line=int(m["line"]),
                    seed=seed,
                )
            )
    return found


def survivors(tried: Iterable[Tried]) -> list[Tried]:
    """The faults that survived when they were last tried."""
    last = {(each.path, each.what): each for each in tried}
    return [each for each in last.values() if each.word == "SURVIVED"]


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
        for seed in sorted({first[key].seed for key in mine}, key=int) or ["-"]:
            drawn = [key for key in mine if first[key].seed == seed]
            counted = [key for key in drawn if last[key].word != "EQUIVALENT"]
            shares = " | ".join(_share([book[key] for key in counted]) for book in (first, last))
            equal = len(drawn) - len(counted)
            rows.append(f"| `{name}` | {seed} | {len(drawn)} | {equal} | {shares} | {goal:.0%} |")
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

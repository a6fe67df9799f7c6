"""The page `docs/faults.md` and the log `tests/faults/log.md`, from what the harness printed.

python -m tests.faults verify --sample 40 --seed 7 | tee -a tests/faults/printed.txt
python -m tests.faults --again tests/faults/printed.txt > OUTPUT
cat OUTPUT >> tests/faults/printed.txt
python -m tests.faults.page tests/faults/printed.txt > docs/faults.md
python -m tests.faults.page tests/faults/printed.txt --log > tests/faults/log.md

The second line tries those faults again that no test has found, after a test was mended.  The first
line of a fault counts for the share found at first, and its last line for the share found now.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from scipy.stats import binomtest

from tests.faults.meaning import MEANINGS, Meaning

#: Group of modules -> the share of its faults that tests must find.
GOALS = {"verify": 0.95, "verify/claims": 0.90, "trials": 0.90, "bounds": 0.90, "reports": 0.90}
_LINE = re.compile(
    r"(?P<word>found|SURVIVED|EQUIVALENT|GONE) +[\d.]+ s  (?P<path>\S+?):(?P<line>\d+) "
    r"(?P<what>.*?)(?:  by (?P<by>\S.*)|  because (?P<why>.*))?"
)
_BEGIN = re.compile(r"(\S+), seed (\d+):")

HEAD = """\
# Planted faults

A test suite is worth what it finds. So small faults are planted in this program, one at a time: a
dropped divisor, a flipped comparison, another constant, a missing line. Places are drawn at random
with a seed. The tests nearest to the place run, and one of them should fail. Dear tests are left
out, so a share is a lower limit.

*Found at first* is the honest number: the share that the tests found before anybody had seen the
fault. Then tests were mended, and *found now* counts them. The exact limits (Clopper and Pearson,
95%) stand beside each share. The last column of numbers is the newest seed alone, because older
seeds met older tests. From seed 12 on, recorded values count as tests, and they find many faults
first. A record shows that something has changed, and does not show what is right.

| modules | planted | found at first, limits | found now | newest seed, at first |
| --- | --- | --- | --- | --- |
"""
TAIL = """
The log of every fault, with the test that finds it now, is `tests/faults/log.md`. `python3
.ci/tox.py -e mutants` plants faults.
"""

LOG_HEAD = """\
# The log of planted faults

A fault is one small change of the program: a dropped divisor, a flipped comparison, another
constant, a missing line. The places are drawn at random with a seed. The nearest tests run with the
fault in place, and at least one should fail. Dear tests are left out, so that a share is a lower
limit. An equivalent fault changes nothing that anybody could see. This is judged by hand, with a
reason, after the fault has survived. It is left out of the shares. A fault whose place has been
rewritten counts at first only. The last part lists what no test finds, and what tests find since
they were mended.

Tests are mended after the faults of one seed are known. So the share that is found at first with
the next seed tells how good the tests are, and the share found now does not. Shares of a few faults
are rough, so the exact limits (Clopper and Pearson, 95%) stand beside the share at first. From seed
11 on a fault meets five files of tests, chosen by names and imports. Before, it met three, short
ones first. A file of tests that runs out of time finds a fault only where one of its tests does.
Before seed 13 the file counted: seven lines name files and no test. Up to seed 16 a test that
failed in the harness without a fault ended its file: tests of strategies were hidden so.

From seed 12 on it meets recorded values first (`tests/records/`): what every experiment, driver,
claim, report, command and check of implementations gives on fixed small inputs. A record shows that
something has changed. It does not show that the recorded value is right, and an equivalent change
can fail it as well. The oracles in the other tests show what is right. So the column "by a record"
counts the faults that a record found first, whether or not another test would have found them.

`python -m tests.faults PACKAGE --sample NUMBER --seed SEED` plants faults. What it has printed is
kept in `tests/faults/printed.txt`, from which `python -m tests.faults.page` writes this log.

| modules | seed | planted | equivalent | found at first, limits | by a record | found now | goal |
| --- | --- | --- | --- | --- | --- | --- | --- |
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
    again: bool = False


def read(lines: Iterable[str]) -> list[Tried]:
    """The faults of a printed run, in its order."""
    found, seed, again = [], "0", False
    for text in map(str.strip, lines):
        if begins := _BEGIN.fullmatch(text):
            again, seed = begins[1] == "again", begins[2]
        elif m := _LINE.fullmatch(text):
            found.append(
                Tried(
                    word=m["word"],
                    path=m["path"],
                    what=m["what"].rstrip(),  # cut texts may end with a blank
                    by=m["by"] or "",
                    why=m["why"] or "",
                    line=int(m["line"]),
                    seed=seed,
                    again=again,
                )
            )
    return found


def histories(tried: Iterable[Tried]) -> list[list[Tried]]:
    """Fault -> its lines, from the first to the last trial.

    A fault that is tried again may stand on another line by then.  It is the survivor with the same
    text that is nearest.
    """
    found: list[list[Tried]] = []
    for each in tried:
        same = [h for h in found if (h[0].path, h[0].what) == (each.path, each.what)]
        if each.again:
            same = [h for h in same if h[-1].word == "SURVIVED"]
        else:
            same = [h for h in same if (h[0].line, h[0].seed) == (each.line, each.seed)]
        if same:
            min(same, key=lambda history: abs(history[-1].line - each.line)).append(each)
        else:
            found.append([each])
    return found


def survivors(tried: Iterable[Tried]) -> list[Tried]:
    """The faults that survived when they were last tried."""
    return [history[-1] for history in histories(tried) if history[-1].word == "SURVIVED"]


def group(path: str) -> str:
    """The group of modules that a path belongs to: the longest that it starts with."""
    return max((name for name in GOALS if path.startswith(f"{name}/")), key=len)


def page(tried: Iterable[Tried]) -> str:
    """The page in Markdown: a row for each group of modules, and the faults that no test finds."""
    rows = []
    faults = histories(tried)
    for name in GOALS:
        mine = [
            fault
            for fault in faults
            if group(fault[0].path) == name and fault[-1].word != "EQUIVALENT"
        ]
        first = [fault[0] for fault in mine]
        last = [fault[-1] for fault in mine if fault[-1].word != "GONE"]
        newest = max((int(each.seed) for each in first), default=0)
        fresh = [each for each in first if int(each.seed) == newest]
        shares = [_share(first, _limits(first)), _share(last), _share(fresh, _limits(fresh))]
        rows.append(f"| `{name}` | {len(first)} | {' | '.join(shares)} |")
    alive = [fault[-1] for fault in faults if fault[-1].word == "SURVIVED"]
    listed = [f"* `{each.path}`: `{each.what}`" for each in alive]
    found = ["", "No test finds these faults:", "", *listed] if listed else ["", "None survives."]
    return HEAD + "\n".join([*rows, *found]) + "\n" + TAIL


def log(tried: Iterable[Tried]) -> str:
    """Every fault that survived at first, and the shares seed by seed."""
    rows, notes = [], []
    faults = histories(tried)
    for name, goal in GOALS.items():
        mine = [fault for fault in faults if group(fault[0].path) == name]
        for seed in sorted({fault[0].seed for fault in mine}, key=int) or ["-"]:
            drawn = [fault for fault in mine if fault[0].seed == seed]
            counted = [fault for fault in drawn if fault[-1].word != "EQUIVALENT"]
            still = [fault[-1] for fault in counted if fault[-1].word != "GONE"]
            first = [fault[0] for fault in counted]
            records = sum("tests/records/" in each.by for each in first)
            shares = f"{_share(first, _limits(first))} | {records} | {_share(still)}"
            equal = len(drawn) - len(counted)
            rows.append(f"| `{name}` | {seed} | {len(drawn)} | {equal} | {shares} | {goal:.0%} |")
        notes += [(f[0], text) for f in mine if (text := _judgement(f[0], f[-1]))]
    listed = [f"| `{t.path}` | `{t.what.replace('|', '¦')}` | {text} |" for t, text in notes]
    table = ["", "| module | fault | judgement |", "| --- | --- | --- |", *listed]
    return LOG_HEAD + "\n".join([*rows, *(table if listed else [])]) + "\n"


MEANING_HEAD = """
## Faults of meaning

A drawn fault flips an operator somewhere. `tests/faults/meaning.py` lists faults that were written
by hand, in rare places: a branch for few inputs, a size above a block, an extended or resumed run,
a failed trial, a tie, a share of an error level, the direction of a rounding. Each was written
before anybody looked at the tests, and was tried on the tests nearest to it that have an oracle of
their own: no recorded value counts. An entry that changes nothing anybody could see is dropped.
Then the tests were written that find the others. `python -m tests.faults --meaning` tries them all,
and continuous integration a share. The text of an entry must occur once in its module, so that an
entry is noticed when its place is rewritten.

Some entries stand in functions that were drawn with a seed, by their length, or at drawn lines.
Such samples give the share of ordinary lines. Two of them met the nearest files of tests for at
most 80 seconds: the one from all packages had 18 of 40 found at first, and the one from
experiments, algorithms and laws, and from what decides, mutates, proves and compares, had 16 of
38. A third one, from all packages, met the tests that execute the line, at most the 60 nearest by
name, and 31 of 42 were found at first. Two of its eleven others stand in sparse convex clustering.
No test finds them yet, so they are not in the list. The two newest samples met the nearest files of
tests for about 60 CPU seconds. From all packages 24 of 40 were found at first, and then 35 of 60.
By package: `trials` 22 of 30, `bounds` with `reports`, claims, commands, benchmarks and estimators
22 of 30, the decisions, mutants and checks of one's own code 13 of 30, and `verify/proofs` 2 of 10,
where the scripts for Coq were the weak place. Older are 133 entries at lines and branches that no
test reached. Two of them were found at first, so that the share of all entries is smaller. A test
finds each entry now.

| package | written | found at first, limits |
| --- | --- | --- |
"""


def meaning_section(faults: Sequence[Meaning]) -> str:
    """The table of the faults that were written by hand, package by package."""
    packages = sorted({fault.path.partition("/")[0] for fault in faults})
    rows = []
    for name, mine in [
        *((f"`{p}`", [f for f in faults if f.path.startswith(f"{p}/")]) for p in packages),
        ("all", list(faults)),
    ]:
        tried = [Tried("SURVIVED" if fault.missed else "found", fault.path, "") for fault in mine]
        rows.append(f"| {name} | {len(mine)} | {_share(tried, _limits(tried))} |")
    return MEANING_HEAD + "\n".join(rows) + "\n"


def _share(tried: Sequence[Tried], limits: str = "") -> str:
    found = sum(each.word == "found" for each in tried)
    return (
        f"{found} of {len(tried)} ({found / len(tried):.0%}{limits})" if tried else "not measured"
    )


def _limits(tried: Sequence[Tried]) -> str:
    """The exact two-sided 95% limits on the share that is found."""
    if not tried:
        return ""
    found = sum(each.word == "found" for each in tried)
    limits = binomtest(found, len(tried)).proportion_ci(0.95)
    return f", {limits.low:.0%} to {limits.high:.0%}"


def _judgement(first: Tried, last: Tried) -> str:
    """A phrase about a fault that survived, empty for one that tests found at once."""
    if last.word == "EQUIVALENT":
        return f"equivalent: {last.why}"
    if last.word == "SURVIVED":
        return "survives"
    if last.word == "GONE":
        return "it cannot be planted any more: the code or the rule of what counts has changed"
    return "" if first.word == "found" else f"found now by `{last.by.strip(chr(39))}`"


if __name__ == "__main__":
    kept = read(Path(sys.argv[1]).read_text("utf-8").splitlines())
    print(log(kept) if "--log" in sys.argv else page(kept) + meaning_section(MEANINGS), end="")

"""Comparing a run with a baseline: the regression test around an implementation."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

from trials.run.store import RunStore
from trials.text import printable


def compare(run: RunStore, baseline: RunStore, *, common: bool = False) -> dict[str, list[str]]:
    """The differences of each claim, none for a claim that agrees.

    A difference is a missing claim or cell, another verdict, or a cell that disagrees.

    With equal seeds an equal number of trials must give identical evidence.  Otherwise two cells
    disagree when their confidence limits do not overlap (each valid at its run's level).  Which
    quantile a cell shows depends on the probability that budget and level resolve.  Two different
    quantiles of the same cell are not compared.

    Parameters
    ----------
    common : compare the claims that both runs hold, and no others.
    """
    found: dict[str, list[str]] = {}
    mine, theirs = run.documents("claim"), baseline.documents("claim")
    same_seed = run.root_seed == baseline.root_seed
    for name, other in theirs.items():
        if name in mine:
            new, old = mine[name]["evidence"], other["evidence"]
            changed = new["verdict"] != old["verdict"]
            verdicts = [f"{new['verdict']}, baseline {old['verdict']}"] if changed else []
            found[name] = verdicts + _cells(new, old, same_seed)
        elif not common:
            found[name] = ["missing from the run"]
    if not common:
        found |= {name: ["not in the baseline"] for name in mine if name not in theirs}
    return found


def junit(found: Mapping[str, Sequence[str]], suite: str) -> bytes:
    """The differences as JUnit XML, which continuous integration shows: a test case a claim."""
    failures = sum(map(bool, found.values()))
    root = ElementTree.Element(
        "testsuite", name=suite, tests=str(len(found)), failures=str(failures), errors="0"
    )
    for name, lines in found.items():
        case = ElementTree.SubElement(root, "testcase", classname=suite, name=name)
        if lines:
            failure = ElementTree.SubElement(case, "failure", message=printable(lines[0]))
            failure.text = printable("\n".join(lines), keep="\n")
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text


def _cells(new: dict[str, Any], old: dict[str, Any], same_seed: bool) -> list[str]:
    lines = []
    known = {_key(cell): cell for cell in old["cells"]}
    for cell in new["cells"]:
        before = known.pop(_key(cell), None)
        if before is None:
            lines.append(f"{_key(cell)}: a cell that the baseline lacks")
        elif cell.get("quantile") != before.get("quantile"):
            continue
        elif same_seed and cell["n_trials"] == before["n_trials"]:
            if cell["observed"] != before["observed"]:
                lines.append(
                    f"{_key(cell)}: observed {cell['observed']!r}, baseline "
                    f"{before['observed']!r} from the same streams"
                )
        elif _disjoint(cell, before):
            lines.append(
                f"{_key(cell)}: [{cell['lower']:.6g}, {cell['upper']:.6g}] and baseline "
                f"[{before['lower']:.6g}, {before['upper']:.6g}] do not overlap"
            )
    return lines + [f"{key}: a cell of the baseline that is missing" for key in known]


def _key(cell: dict[str, Any]) -> str:
    return json.dumps(cell["params"], sort_keys=True)


def _disjoint(one: dict[str, Any], two: dict[str, Any]) -> bool:
    limits = [one["lower"], one["upper"], two["lower"], two["upper"]]
    if any(limit is None for limit in limits):
        return False
    return bool(one["upper"] < two["lower"] or two["upper"] < one["lower"])

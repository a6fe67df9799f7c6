"""Comparing a run with a baseline: the regression test around an implementation."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

from trials.run.machine import ROUNDING, distance, machine_differences
from trials.run.provenance import enumerate_few
from trials.run.store import RunStore
from trials.text import printable
from verify.session import changed_environment, mixture
from verify.stored import claim_documents, summary


def compare(
    run: RunStore, baseline: RunStore, *, common: bool = False, rtol: float | None = None
) -> dict[str, list[str]]:
    """The differences of each claim, none for a claim that agrees.

    A difference is a missing claim or cell, another verdict, a proof that one run lacks, a claim
    that failed in one of them, or a cell that disagrees.

    With equal seeds an equal number of trials must give identical evidence, or equal to rounding
    where the two environments differ (`trials.run.machine`).  Otherwise two cells
    disagree when their confidence limits do not overlap (each valid at its run's level).  Which
    quantile a cell shows depends on the probability that budget and level resolve.  Two different
    quantiles of the same cell are not compared.

    The bound of a cell must agree in the same way whatever the seeds and the numbers of trials are.
    Constants that are fitted to the trials move a bound with them.  Such a bound is compared only
    where all cells of the claim have equal streams.

    Parameters
    ----------
    common : compare the claims that both runs hold, and no others.
    rtol : the relative difference that is accepted between equal streams.  None means 0 on one kind
        of machine, and rounding on two.
    """
    found: dict[str, list[str]] = {}
    mine, theirs = claim_documents(run), claim_documents(baseline)
    same_seed = run.root_seed == baseline.root_seed
    allowed = rtol if rtol is not None else ROUNDING if _other_machine(run, baseline) else 0.0
    for name, other in theirs.items():
        if name in mine:
            new, old = mine[name]["evidence"], other["evidence"]
            said, before = _said(new), _said(old)
            verdicts = [f"{said}, baseline {before}"] if said != before else []
            found[name] = verdicts + _cells(new, old, same_seed, allowed)
        elif not common:
            found[name] = ["missing from the run"]
    if not common:
        found |= {name: ["not in the baseline"] for name in mine if name not in theirs}
    return found


def _said(evidence: Mapping[str, Any]) -> str:
    """The verdict in words that do not depend on the budget: PROVED, SUPPORTED, failed (...)."""
    if error := evidence.get("error"):
        return f"failed ({error})"
    verdict, mark = str(evidence["verdict"]), str(evidence.get("mark", ""))
    return mark if verdict == "SUPPORTED" and mark.startswith("PROVED") else verdict


def rounding(run: RunStore, baseline: RunStore, rtol: float | None = None) -> float:
    """The largest relative distance of values that agree to rounding, or to ``rtol``.

    They are observed values and bounds of equal streams.
    """
    if run.root_seed != baseline.root_seed:
        return 0.0
    mine, theirs = claim_documents(run), claim_documents(baseline)
    apart = [
        distance(new[side], old[side])
        for name in mine.keys() & theirs.keys()
        for new, old in _pairs(mine[name]["evidence"], theirs[name]["evidence"])
        for side in ("observed", "bound")
        if _is_same_work(new, old) and None not in (new[side], old[side])
    ]
    return max((one for one in apart if one <= (ROUNDING if rtol is None else rtol)), default=0.0)


def other_machines(run: RunStore, baseline: RunStore) -> list[str]:
    """What differs between the machines of two runs, and of one run's own blocks, in lines."""
    lines = [
        f"{what}: {text}"
        for what, store in (("the run", run), ("the baseline", baseline))
        if (text := mixture(store))
    ]
    here, there = (list(store.machines().values()) for store in (run, baseline))
    parts = sorted({p for a in here for b in there for p in machine_differences(a, b)})
    if parts:
        lines.append(f"the runs were made on different machines: {enumerate_few(parts)}")
    return lines


def _other_machine(run: RunStore, baseline: RunStore) -> bool:
    if run.machines().keys() != baseline.machines().keys():
        return True
    here, there = (summary(store).get("environment", {}) for store in (run, baseline))
    return bool(changed_environment(there, here))


def junit(found: Mapping[str, Sequence[str]], suite: str) -> bytes:
    """The differences as JUnit XML, which continuous integration shows: a test case a claim."""
    failures = sum(map(bool, found.values()))
    suite = printable(suite)  # the name of a folder may hold what XML does not
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


def _pairs(
    new: Mapping[str, Any], old: Mapping[str, Any]
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The cells that both evidences hold."""
    known = {_key(cell): cell for cell in old["cells"]}
    return ((cell, known[_key(cell)]) for cell in new["cells"] if _key(cell) in known)


def _is_same_work(new: Mapping[str, Any], old: Mapping[str, Any]) -> bool:
    """Whether equal seeds give these two cells equal values."""
    same_quantile = new.get("quantile") == old.get("quantile")
    return bool(same_quantile and new["n_trials"] == old["n_trials"])


def _cells(new: dict[str, Any], old: dict[str, Any], same_seed: bool, allowed: float) -> list[str]:
    lines = []
    known = {_key(cell): cell for cell in old["cells"]}
    bounds = _have_comparable_bounds(new, old, same_seed)
    for cell in new["cells"]:
        before = known.pop(_key(cell), None)
        if before is None:
            lines.append(f"{_key(cell)}: a cell that the baseline lacks")
            continue
        moved = _moved_observed(cell, before, same_seed, allowed)
        if bounds:
            moved += _moved("bound", cell, before, "", allowed)
        lines += [f"{_key(cell)}: {text}" for text in moved]
    return lines + [f"{key}: a cell of the baseline that is missing" for key in known]


def _have_comparable_bounds(
    new: Mapping[str, Any], old: Mapping[str, Any], same_seed: bool
) -> bool:
    """Whether the bounds of two evidences must agree.

    A claim whose cells show a quantile has bounds of constants that all its trials fix.
    """
    cells = [*new["cells"], *old["cells"]]
    if not any(cell.get("quantile") is not None for cell in cells):
        return True
    counts, before = ({_key(c): c["n_trials"] for c in one["cells"]} for one in (new, old))
    return same_seed and counts == before


def _moved_observed(
    cell: dict[str, Any], before: dict[str, Any], same_seed: bool, allowed: float
) -> list[str]:
    """How the observed value of a cell disagrees, none or one line."""
    if cell.get("quantile") != before.get("quantile"):
        return []
    if same_seed and _is_same_work(cell, before):
        return _moved("observed", cell, before, " from the same streams", allowed)
    if _disjoint(cell, before):
        return [
            f"observed within [{cell['lower']:.6g}, {cell['upper']:.6g}] and baseline "
            f"[{before['lower']:.6g}, {before['upper']:.6g}] do not overlap"
        ]
    return []


def _moved(
    side: str, cell: Mapping[str, Any], before: Mapping[str, Any], of: str, allowed: float
) -> list[str]:
    """How one number of a cell disagrees with the baseline's, none or one line."""
    value, other = cell[side], before[side]
    if value == other:
        return []
    apart = math.inf if None in (value, other) else distance(value, other)
    if apart <= allowed:
        return []
    return [f"{side} {value!r}, baseline {other!r}{of}, a relative difference of {apart:.1e}"]


def _key(cell: dict[str, Any]) -> str:
    return json.dumps(cell["params"], sort_keys=True)


def _disjoint(one: dict[str, Any], two: dict[str, Any]) -> bool:
    limits = [one["lower"], one["upper"], two["lower"], two["upper"]]
    if any(limit is None for limit in limits):
        return False
    return bool(one["upper"] < two["lower"] or two["upper"] < one["lower"])

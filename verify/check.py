"""Comparing a run with a baseline: the regression test around an implementation."""

from __future__ import annotations

import json
from typing import Any

from trials.run.store import RunStore


def compare(run: RunStore, baseline: RunStore) -> list[str]:
    """Differences, one line each: missing claims or cells, other verdicts, cells that disagree.

    With equal seeds an equal number of trials must give identical evidence.  Otherwise two cells
    disagree when their confidence limits do not overlap (each valid at its run's level).  Which
    quantile a cell shows depends on the probability that budget and level resolve.  Two different
    quantiles of the same cell are not compared.
    """
    lines = []
    mine, theirs = run.documents("claim"), baseline.documents("claim")
    same_seed = run.root_seed == baseline.root_seed
    for name, other in theirs.items():
        if name not in mine:
            lines.append(f"{name}: missing from the run")
            continue
        new, old = mine[name]["evidence"], other["evidence"]
        if new["verdict"] != old["verdict"]:
            lines.append(f"{name}: {new['verdict']}, baseline {old['verdict']}")
        lines += [f"{name}: {text}" for text in _cells(new, old, same_seed)]
    lines += [f"{name}: not in the baseline" for name in mine if name not in theirs]
    return lines


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

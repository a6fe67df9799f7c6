"""A claim as plain data for ``info`` and the index: statement, parameters, cells, procedure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bounds.readable import readable, readable_text
from verify.claim import Claim
from verify.claims.best_constants import BEST
from verify.decisions.domain import Box, spell_range
from verify.evidence import Verdict
from verify.papers import catalogue
from verify.plan import OwnValues, Planned
from verify.procedures.base import PROFILES
from verify.procedures.interface import Procedure
from verify.proofs.best import sentence
from verify.session import FAMILYWISE_LEVEL

#: Fields of procedures that hold cells, with the words for them.
_ROLES = {
    "cells": "cells",
    "calibration": "calibration cells",
    "held_out": "held-out cells",
    "elsewhere": "cells elsewhere",
}


def build_index(
    claims_files: Sequence[str], without: Collection[str] = ()
) -> dict[str, dict[str, Any]]:
    """Every claim's head, and its description under each profile, of some claims left out."""
    index = {}
    for name, claim in catalogue(claims_files).items():
        if name in without:
            continue
        statement = claim.statement
        built = {profile.name: claim.build(profile) for profile in PROFILES.values()}
        index[name] = {
            "id": name,
            "paper": name.split(".")[0],
            "title": readable_text(statement.title),
            "kind": str(statement.kind),
            "expected": str(claim.expected),
            "mark": _expected_mark(claim, built[claim.smallest_profile]),
            "source": readable_text(statement.source),
            "citation": statement.publication.label,
            "profiles": _described(claim, built),
        }
    return index


def _described(claim: Claim, built: Mapping[str, Procedure]) -> dict[str, dict[str, Any]]:
    """The description under each profile.  What the statement says is set once for all of them."""
    stated = _stated(claim)
    return {profile: _tried(claim, each, stated) for profile, each in built.items()}


def _expected_mark(claim: Claim, procedure: Procedure) -> str:
    """The expected verdict as a run prints it, ``SUPPORTED TO r`` where trials see no rarer event.

    r depends on a run's error level.  Verdicts that a larger profile changes are named behind it.
    """
    later = "".join(f", {verdict} from {profile} on" for profile, verdict in claim.larger.items())
    if later:
        return f"{claim.expected}{later}"
    if claim.expected is Verdict.SUPPORTED and procedure.is_coarse(FAMILYWISE_LEVEL):
        return f"{claim.expected} TO r"
    return str(claim.expected)


def describe_planned(planned: Planned) -> dict[str, Any]:
    """A claim at the user's own values, with the effect of these values on its cells."""
    own = planned.own_values or OwnValues()
    return {
        **describe(planned.claim, planned.procedure),
        "selection": str(planned.selection),
        **own.document(),
    }


def describe(claim: Claim, procedure: Procedure) -> dict[str, Any]:
    """One claim under one profile, formulas as readable text and as LaTeX."""
    return _tried(claim, procedure, _stated(claim))


def _stated(claim: Claim) -> dict[str, Any]:
    """What the statement says, whatever the procedure."""
    document = claim.stated()
    return {
        "quantifiers": readable(document["quantifiers"]),
        "statement": readable(document["bound_latex"]),
        "statement_latex": document["bound_latex"],
        "fails_with": readable(document["failure_latex"]) or None,
        "assumptions": [
            {
                "name": a["name"],
                "text": readable(a["latex"]),
                "note": readable_text(a["note"]),
                "added": a["added"],
            }
            for a in document["assumptions"]
        ],
        "constants": [
            {
                "name": readable(c["latex"]),
                "low": c["low"],
                "high": c["high"],
                "meaning": readable_text(c["meaning"]),
            }
            for c in document["constants"]
        ],
        "reading": readable_text(document["reading"]),
    }


def _tried(claim: Claim, procedure: Procedure, stated: Mapping[str, Any]) -> dict[str, Any]:
    """What the statement says, and how the procedure tries it."""
    cells = {
        words: [dict(cell) for cell in getattr(procedure, name)]
        for name, words in _ROLES.items()
        if getattr(procedure, name, None)
    }
    return {
        "selection": claim.id,
        **stated,
        "procedure": readable_text(claim.described(procedure)),
        "parameters": _parameters(procedure, cells),
        "cells": cells,
        "dropped": [],
        "weaker": [],
        **({"best": sentence(BEST[claim.id], claim)} if claim.id in BEST else {}),
    }


def _parameters(procedure: Procedure, cells: Mapping[str, Sequence[Any]]) -> list[dict[str, str]]:
    """Each parameter with the values at which the claim is tried."""
    found = procedure.searched()
    if found is not None:
        if isinstance(found, Box):
            return [{"name": n, "domain": spell_range(r)} for n, r in found.ranges.items()]
        return [{"name": ", ".join(found.names()), "domain": readable_text(found.describe())}]
    values: dict[str, list[Any]] = {}
    for cell in (cell for group in cells.values() for cell in group):
        for name, value in cell.items():
            values.setdefault(name, []).append(value)
    return [{"name": name, "domain": _spread(each)} for name, each in values.items()]


def _spread(values: Sequence[Any]) -> str:
    """The distinct values, or their range when there are many."""
    distinct = sorted(set(values), key=lambda v: (isinstance(v, str), v)) if _plain(values) else []
    if not distinct:
        return f"{len(values)} values"
    words = [f"{v:.6g}" if isinstance(v, int | float) else str(v) for v in distinct]
    if len(distinct) <= 5 or any(isinstance(v, str) for v in distinct):
        return ", ".join(words)
    return f"{words[0]} to {words[-1]} ({len(distinct)} values)"


def _plain(values: Sequence[Any]) -> bool:
    return all(isinstance(value, int | float | str) for value in values)

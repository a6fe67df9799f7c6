"""``list`` and ``info`` show the claims.  Both read the index and load no slow module."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import click

from verify.cli.index import entries
from verify.cli.profiles import PROFILE_NAMES
from verify.cli.screen import definition, errors, print_json, say, table
from verify.selection import select


def list_claims(
    *,
    claims: Sequence[str],
    paper: str | None,
    kind: str | None,
    verdict: str | None,
    unproved: bool = False,
    as_json: bool,
    claims_files: Sequence[str],
) -> None:
    """Print the claims that the names mean and that meet the filters.

    With ``unproved`` only the supported deterministic ones without a proof are printed, with the
    reason.
    """
    index = entries(claims_files)
    wanted = {"paper": paper, "kind": kind, "expected": verdict}
    for field, value in wanted.items():
        known = dict.fromkeys(entry[field] for entry in index.values())
        option = "verdict" if field == "expected" else field
        if value is not None and not any(_same(value, each) for each in known):
            raise click.UsageError(
                f"--{option} {value!r}: no claim has it; known: {', '.join(known)}"
            )
    chosen = [
        entry
        for _, entry in select(index, claims)
        if all(value is None or _same(value, entry[field]) for field, value in wanted.items())
    ]
    if unproved:
        reasons = _reasons([entry["id"] for entry in chosen], claims_files)
        chosen = [{**e, "unproved": reasons[e["id"]]} for e in chosen if e["id"] in reasons]
    if as_json:
        print_json([{k: v for k, v in entry.items() if k != "profiles"} for entry in chosen])
        return
    if unproved:
        for line in table(("claim", "unproved"), [[e["id"], e["unproved"]] for e in chosen]):
            say(line)
        return
    rows = [[entry[field] for field in ("id", "kind", "mark", "source")] for entry in chosen]
    for line in table(("claim", "kind", "expected", "source"), rows):
        say(line)
    if len(chosen) < len(index):
        say(f"{len(chosen)} of {len(index)} claims", to=errors)


def _reasons(names: Sequence[str], claims_files: Sequence[str]) -> dict[str, str]:
    """Why claims are not proved, those without a reason left out.  It builds them."""
    from verify.papers import catalogue
    from verify.proofs.unproved import reason

    claims = catalogue(claims_files)
    return {name: why for name in names if (why := reason(claims[name]))}


def _same(given: str, value: str) -> bool:
    """Whether a filter means a value: case, blanks and hyphens do not matter."""
    spelled = (re.sub(r"[\s_-]+", " ", text).strip().casefold() for text in (given, value))
    return len(set(spelled)) == 1


def show_claims(
    *, claim: str, profile: str | None, cells: bool, as_json: bool, claims_files: Sequence[str]
) -> None:
    """Print everything about the claims that the name means."""
    profile = "quick" if profile is None else profile
    if profile not in PROFILE_NAMES:
        raise click.UsageError(f"unknown profile {profile!r}; known: {', '.join(PROFILE_NAMES)}")
    index = entries(claims_files)
    chosen = select(index, [claim])
    skipped: Iterable[str] = ()
    if any(selection.values for selection, _ in chosen):
        views, skipped = _at_own_values(claim, profile, claims_files)
    else:
        views = [{**entry, **entry["profiles"][profile]} for _, entry in chosen]
    for view in views:
        view.pop("profiles", None)
        view["profile"] = profile
        head = index[view.get("id") or view["selection"].split("[")[0]]
        view.update({k: v for k, v in head.items() if k != "profiles"})
    for text in skipped:
        say(f"skipped: {text}", to=errors)
    if as_json:
        print_json(views)
        return
    for i, view in enumerate(views):
        if i:
            say()
        _show(view, all_cells=cells)


def _at_own_values(
    claim: str, profile: str, claims_files: Sequence[str]
) -> tuple[list[dict[str, Any]], Iterable[str]]:
    """Descriptions at the user's values.  They require building the claims."""
    from verify.cli.describe import describe_planned
    from verify.papers import catalogue
    from verify.plan import plan
    from verify.procedures.base import PROFILES

    found = plan(catalogue(claims_files), [claim], PROFILES[profile])
    return [describe_planned(planned) for planned in found.claims], found.skipped.values()


def _show(view: dict[str, Any], *, all_cells: bool) -> None:
    for line in definition(view["selection"], view["title"], label=len(view["selection"])):
        say(line)
    say(f"{view['citation']}, {view['source']}")
    say()
    for name, text in _lines(view, all_cells=all_cells):
        for line in definition(name, text):
            say(line)


def _lines(view: dict[str, Any], *, all_cells: bool) -> Iterable[tuple[str, str]]:
    """The lines that ``info`` prints, as (label, text)."""
    yield "kind", view["kind"]
    yield "expected", view["mark"]
    yield "quantifiers", view["quantifiers"]
    yield "statement", view["statement"]
    yield "fails with", f"probability {view['fails_with']}" if view["fails_with"] else "never"
    for assumption in view["assumptions"]:
        note = f" ({assumption['note']})" if assumption["note"] else ""
        label = "not in the paper" if assumption["added"] else "assumption"
        yield label, f"{assumption['name']}: {assumption['text']}{note}"
    for constant in view["constants"]:
        box = f"from {constant['low']:g} to {constant['high']:g}"
        yield "constant", f"{constant['name']} {box}: {constant['meaning']}"
    yield "reading", view["reading"] or "as printed"
    if "best" in view:
        yield "best constant", view["best"]
    for parameter in view["parameters"]:
        yield "parameter", f"{parameter['name']}: {parameter['domain']}"
    if view["cells"]:
        counts = ", ".join(f"{len(group)} {words}" for words, group in view["cells"].items())
        hint = "" if all_cells else "; `--cells` prints them"
        yield "cells", f"{counts} (whole parameter assignments, fixed before a trial runs{hint})"
    for cell in view["dropped"][: None if all_cells else 1]:
        yield "dropped cell", f"{_cell(cell['params'])}: {cell['reason']}"
    if len(view["dropped"]) > 1 and not all_cells:
        yield "dropped cells", f"{len(view['dropped'])} leave the theorem at these values"
    if view["weaker"]:
        yield "weaker test", "at these values: " + "; ".join(view["weaker"])
    if all_cells:
        for words, group in view["cells"].items():
            for cell in group:
                yield words.replace("cells", "cell").strip(), _cell(cell)
    yield f"procedure ({view['profile']})", view["procedure"]


def _cell(params: dict[str, Any]) -> str:
    return ", ".join(
        f"{name}={value:.6g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in params.items()
    )

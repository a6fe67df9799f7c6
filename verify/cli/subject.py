"""``subject``: try somebody's own implementation, or show its arguments and results."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trials.checks import InvalidParameter, integer_between
from verify.cli import exits
from verify.cli.screen import definition, paragraph, print_json, say
from verify.testing import (
    SUBJECTS,
    Outcome,
    implementation,
    load_target,
    save_failure,
    try_check,
)
from verify.testing.report import failure_text
from verify.testing.subjects import subject


def verify_subject(
    *,
    target: str | None,
    name: str | None,
    seed: int,
    examples: int,
    output: str,
    as_json: bool,
    **declared: Any,
) -> int:
    """Try the implementation, or print the subjects where none is given.

    The exit code is 1 where a check fails.
    """
    if target is None:
        _show(name, as_json)
        return exits.EXPECTED
    if name is None:
        raise InvalidParameter(f"--as must say what {target} is: one of {', '.join(SUBJECTS)}")
    integer_between("--examples", examples, 1)
    integer_between("--seed", seed, 0)
    subject(name)  # an unknown one is refused before the module is imported
    call = implementation(load_target(target), name, **declared)
    if not as_json:
        say(f"{target} as {name}: {call.subject.signature}")
    failures = []
    for check in call.subject.checks:
        outcome = try_check(check, call, seed=seed, examples=examples)
        saved = None if outcome.passed else save_failure(Path(output), target, call, outcome)
        if saved is not None:
            failures.append({**_as_json(outcome), "saved": str(saved)})
        if not as_json:
            _print(outcome, examples, saved)
    tried = len(call.subject.checks)
    if as_json:
        print_json({"target": target, "subject": name, "tried": tried, "failures": failures})
    else:
        say(f"{tried - len(failures)} of {tried} checks passed")
    return exits.UNEXPECTED if failures else exits.EXPECTED


def _as_json(outcome: Outcome) -> Mapping[str, Any]:
    return {
        "check": outcome.check.name,
        "kind": outcome.check.kind,
        "states": outcome.check.states,
        "message": outcome.message,
    }


def _print(outcome: Outcome, examples: int, saved: Path | None) -> None:
    check = outcome.check
    effort = (
        f"level {check.level:g}"
        if check.kind == "statistical"
        else f"{examples} input{'s' * (examples != 1)}"
    )
    say(f"{'pass' if outcome.passed else 'FAIL'}  {check.kind:<12}  {check.name:<14}  {effort}")
    if not outcome.passed:
        for line in failure_text(outcome, saved).splitlines():
            say("      " + line)


def _show(name: str | None, as_json: bool) -> None:
    """All subjects with their signatures, or one of them with its definition and its checks."""
    if as_json:
        shown = SUBJECTS if name is None else {name: subject(name)}
        print_json({key: _describe(key) for key in shown})
        return
    if name is None:
        for each in SUBJECTS.values():
            for line in definition(each.name, each.signature, label=20):
                say(line)
        say()
        paragraph("`cfl-verify subject --as NAME` defines one of them and lists its checks.")
        return
    found = subject(name)
    say(_plain(found.text))
    say()
    for check in found.checks:
        for line in definition(f"{check.name}", f"{check.states} ({check.kind})", label=14):
            say(line)


def _plain(text: str) -> str:
    """A docstring without the marks of its markup: formulas between dollars, code as it is."""
    text = re.sub(r":math:`(.*?)`", r"$\1$", text, flags=re.DOTALL)
    return re.sub(r"``(.*?)``", r"\1", text, flags=re.DOTALL)


def _describe(name: str) -> Mapping[str, Any]:
    found = subject(name)
    return {
        "signature": found.signature,
        "definition": found.text,
        "checks": {check.name: check.states for check in found.checks},
    }

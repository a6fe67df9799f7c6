"""The words of a failure, for the terminal and for pytest."""

from __future__ import annotations

import shlex
from importlib.util import find_spec
from pathlib import Path

from verify.testing.case import describe_case
from verify.testing.runner import Outcome


def failure_text(outcome: Outcome, saved: Path | None) -> str:
    """The violated check, the message, the input, and the file that holds it."""
    check = outcome.check
    lines = [check.states, outcome.message]
    if check.kind == "statistical":
        lines.append(f"A correct implementation is rejected with probability {check.level:g}.")
    if outcome.case is not None:
        heading = "seed of the data:" if check.kind == "statistical" else "smallest input found:"
        lines += [heading, *("  " + line for line in describe_case(outcome.case).splitlines())]
    if saved is not None:
        needs = "" if find_spec("pytest") else " (pip install pytest)"
        lines.append(f"saved: python -m pytest {shlex.quote(str(saved))} replays it{needs}")
    return "\n".join(lines)

"""``check-paper``: the conformance suite over the claims of a paper of one's own."""

from __future__ import annotations

from collections.abc import Sequence

import click

from trials.checks import InvalidParameter
from verify.cli import exits
from verify.cli.screen import print_json, say


def check_paper(*, files: Sequence[str], without: Sequence[str], as_json: bool) -> int:
    """Print every fault of the claims in the files.  Exit status 1 where there is one."""
    from verify.conformance import CHECKS, examine
    from verify.papers import catalogue

    if unknown := [name for name in without if name not in CHECKS]:
        raise click.UsageError(
            f"--without {unknown[0]!r}: no such check; known: {', '.join(CHECKS)}"
        )
    found = catalogue(files)
    names = [name for name in found if found.file_of(name) is not None]
    if not names:
        raise InvalidParameter(f"{', '.join(files)}: has no claim, so that nothing can be checked")
    faults = list(examine(found, names, without))
    if as_json:
        rows = [{"claim": f.claim, "check": f.check, "told": f.told} for f in faults]
        print_json({"claims": names, "checks": [c for c in CHECKS if c not in without],
                    "faults": rows})  # fmt: skip
        return exits.UNEXPECTED if faults else exits.EXPECTED
    for fault in faults:
        say(str(fault))
    bad = len({fault.claim for fault in faults})
    n_checks = len(CHECKS) - len(set(without))
    say(
        f"{len(names)} {'claim' if len(names) == 1 else 'claims'}, {n_checks} checks each: "
        + (f"{bad} with faults" if bad else "no fault")
    )
    return exits.UNEXPECTED if faults else exits.EXPECTED

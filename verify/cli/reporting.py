"""``report``: the report program on a run.

Reports read stored runs and import no claims.  This package imports no reports.  So the report
program is started as a process of its own, `python -m reports`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import verify
from verify.cli.exits import INTERRUPTED


def build_report(
    *,
    run: str,
    formats: str,
    engine: str,
    output: str | None,
    heading: str | None,
    author: str | None,
    catalogue: bool,
    fragments_of: Sequence[str],
    claims_files: Sequence[str],
) -> int:
    """Run ``python -m reports build`` with the same interpreter and return its exit status."""
    del claims_files  # a stored run holds all that its report needs
    arguments = ["build", "--format", formats, "--engine", engine]
    if output is not None:
        arguments += ["--output", output]
    for option, text in (("--title", heading), ("--author", author)):
        if text is not None:
            arguments += [option, text]
    if catalogue:
        arguments.append("--catalogue")
    for pattern in fragments_of:
        arguments += ["--fragments", pattern]
    home = Path(str(verify.__file__)).parents[1]
    path = os.pathsep.join([str(home), *filter(None, [os.environ.get("PYTHONPATH")])])
    # -P: a folder called "reports" where the user stands must not be taken for the program
    command = [sys.executable, "-P", "-m", "reports", *arguments, "--", run]
    try:
        return subprocess.call(command, env={**os.environ, "PYTHONPATH": path})
    except KeyboardInterrupt:
        return INTERRUPTED
    except ValueError as error:
        raise OSError(f"run={run!r}: {error}") from None

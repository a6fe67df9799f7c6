"""``report``: the report program on a run.

Reports read stored runs and import no claims.  This package imports no reports.  So the report
program is started as a process of its own, `python -m reports`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import verify
from trials.checks import InvalidParameter
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
    debug: bool,
) -> int:
    """Run ``python -m reports`` with the same interpreter and return its exit status.

    ``debug`` asks for the traceback of a failure.
    """
    del claims_files  # a stored run holds all that its report needs
    if output is not None and (not output or not output.isprintable()):
        raise InvalidParameter(f"--output {output!r} must name a directory")
    wanted = {
        "run": run,
        "formats": list(dict.fromkeys(f.strip() for f in formats.split(",") if f.strip())),
        "engine": engine,
        "out_dir": output,
        "heading": heading or "",
        "author": author or "",
        "catalogue": catalogue,
        "fragments_of": list(fragments_of),
        "debug": debug,
    }
    home = Path(str(verify.__file__)).parents[1]
    path = os.pathsep.join([str(home), *filter(None, [os.environ.get("PYTHONPATH")])])
    # -P: a folder called "reports" where the user stands must not be taken for the program
    command = [sys.executable, "-P", "-m", "reports", json.dumps(wanted)]
    try:
        return subprocess.call(command, env={**os.environ, "PYTHONPATH": path})
    except KeyboardInterrupt:
        return INTERRUPTED

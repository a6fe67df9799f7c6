"""The program that builds the report of a run.  ``cfl-verify report`` starts it.

Its one argument is a JSON object: the arguments of `reports.assemble.build`, the name of the run
as ``run``, and ``debug``, which asks for the traceback of a failure.  It prints the paths of the
report, a line a format.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

from trials.text import one_line, printable

FAILED = 3
INTERNAL = 70
INTERRUPTED = 130


def _end(_number: int, _frame: Any) -> None:
    """End the process at once.  This is safe because no file of a report is ever half written."""
    os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)


def main(text: str) -> int:
    """Build a report and return the exit status, those of ``cfl-verify``."""
    given = json.loads(text)
    debug = given.pop("debug")
    try:
        _build(**given)
    except BaseException as error:
        if debug:
            traceback.print_exception(error, file=sys.stderr)
        return _explain(error, [value for value in given.values() if isinstance(value, str)])
    return 0


def _build(*, run: str, out_dir: str | None, **options: Any) -> None:
    from reports.assemble import build
    from trials.run.directory import find_run

    result = build(
        find_run(run),
        out_dir=None if out_dir is None else Path(out_dir),
        progress=lambda message: print(printable(message), file=sys.stderr, flush=True),
        **options,
    )
    for path in result.opened:
        _say(str(path))


def _say(line: str) -> None:
    """Print a line, with a question mark for a character that the terminal does not have."""
    encoding = sys.stdout.encoding or "utf-8"
    print(printable(line).encode(encoding, "replace").decode(encoding))


def _explain(error: BaseException, inputs: list[str]) -> int:
    """Print one line for a failure, and return its exit status."""
    if isinstance(error, KeyboardInterrupt):
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    known = [
        kind
        for module, name in (("reports.errors", "ReportError"), ("trials.run.store", "StoreError"))
        if (kind := getattr(sys.modules.get(module), name, None)) is not None
    ]
    code, words = FAILED, str(error) or "out of memory"
    if not isinstance(error, (*known, OSError, MemoryError)):
        code = INTERNAL
        words = (
            f"internal: {type(error).__name__}: {error} (a fault of cfl-verify; please report it "
            "with this command and what it prints with --debug)"
        )
    print(f"error: {one_line(words, inputs)}", file=sys.stderr)
    return code


if __name__ == "__main__":
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
    sys.exit(main(sys.argv[1]))

"""Exit codes, the errors that a user can cause, and the one line that each of them becomes."""

from __future__ import annotations

import errno
import os
import shlex
import shutil
import sys
import traceback
from pathlib import Path

import click

from verify.cli import signals

EXPECTED = 0
UNEXPECTED = 1
INCONCLUSIVE = 2
USAGE = 3
INTERNAL = 70
INTERRUPTED = signals.INTERRUPTED
HUNG_UP = 129
TERMINATED = 143

CODES = {
    EXPECTED: "all verdicts as expected, or nothing to decide",
    UNEXPECTED: "a verdict is not the expected one, two runs differ, or an implementation fails",
    INCONCLUSIVE: "some claim is inconclusive",
    USAGE: "usage, input or output, or workers that were lost",
    INTERNAL: "a fault of this program; --debug shows where",
    HUNG_UP: "the terminal was closed (SIGHUP); finished blocks are kept",
    INTERRUPTED: "interrupted",
    TERMINATED: "ended by SIGTERM; finished blocks are kept",
}


_PACKAGES = ("bounds", "trials", "verify", "reports")


class Stopped(Exception):
    """Work that ended early, with the exit code and the line to print."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


#: Errors with a message for the user.  They are named, not imported: a module that was never
#: loaded cannot have raised its error, and loading it would cost seconds.
_KNOWN = (
    ("trials.checks", "InvalidParameter"),
    ("bounds.statement", "OutsideTheorem"),
    ("trials.run.store", "StoreError"),
    ("trials.run.executors", "ExecutorError"),
    ("verify.proofs.shelf", "Damaged"),
)


def explain(error: BaseException) -> tuple[int, str]:
    """Exit code and message for an exception that ended a command."""
    if isinstance(error, Stopped):
        return error.code, str(error)
    if isinstance(error, click.ClickException):
        return USAGE, error.format_message()
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return INTERRUPTED, "interrupted"
    known = tuple(
        kind
        for module, name in _KNOWN
        if (kind := getattr(sys.modules.get(module), name, None)) is not None
    )
    if isinstance(error, known):
        return USAGE, str(error)
    if isinstance(error, OSError):
        # The name of a file may be its number.
        named = isinstance(error.filename, str | bytes | os.PathLike) and error.filename
        where = f"{os.fsdecode(error.filename)!r}: " if named else ""
        # Each worker has files, and is a process: too many are refused in one of these ways.
        few = error.errno in (errno.EMFILE, errno.ENFILE, errno.EAGAIN)
        return USAGE, f"{where}{error.strerror or error}" + ("; use a smaller --jobs" * few)
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return USAGE, "the system allows no more threads or processes; use a smaller --jobs"
    if isinstance(error, MemoryError):
        return USAGE, f"out of memory ({error})" if str(error) else "out of memory"
    if place := place_in_ones_own_file(error):
        return USAGE, f"{place}: {type(error).__name__}: {error}; mend this line of your own file"
    mine = "".join(
        f" or of {file}, of which `{program()} check-paper {shlex.quote(file)}` tells more"
        for file in _own()[-1:]
    )
    return INTERNAL, (
        f"internal error: {type(error).__name__}: {error} (a fault of cfl-verify{mine}; please "
        f"report it with this command and what `{program()} --debug ...` prints)"
    )


def _own() -> list[str]:
    """The files of the user's that this process has loaded.  The start-up imports no sources."""
    sources = sys.modules.get("trials.sources")
    return [] if sources is None else sources.user_files()


def place_in_ones_own_file(error: BaseException) -> str:
    """``FILE:LINE`` of the user's file that raised an error, empty where the mistake is ours.

    Frames of Python's own modules and of installed packages are passed over: who called them with
    a wrong value made the mistake.
    """
    own = _own()
    house = tuple(f"{Path(__file__).parents[2] / name}{os.sep}" for name in _PACKAGES)
    for frame in reversed(traceback.extract_tb(error.__traceback__) if own else []):
        if frame.filename in own:
            return f"{frame.filename}:{frame.lineno}"
        if frame.filename.startswith(house):
            return ""
    return ""


def program() -> str:
    """How this program is called from here: by name, by its path, or as a module."""
    beside = Path(sys.executable).with_name("cfl-verify")
    found = shutil.which("cfl-verify")
    inside_task = "TOX_ENV_NAME" in os.environ  # its PATH is not the user's
    if found is not None and not inside_task and Path(found).resolve() == beside.resolve():
        return "cfl-verify"
    if beside.exists():
        try:
            return str(beside.relative_to(Path.cwd()))
        except ValueError:
            return str(beside)
    return "python -m verify"

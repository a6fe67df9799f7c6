"""The one error of the store, and how SQLite's own errors become it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from trials.run.store.limits import MAX_MESSAGE, MAX_SECONDS
from trials.text import printable

# The errors that sqlite3 raises on a damaged file: its own, and those of undecodable text.
SQLITE_ERRORS = (sqlite3.Error, UnicodeDecodeError)

# Primary result codes about the machine or other processes, and not about the file's content.
# The first may pass by itself, or when a disk has room again.
_PASSING = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_PROTOCOL,
}
_LASTING = {
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_NOLFS,
}


class StoreError(Exception):
    """A run store cannot be used as asked.  The message is one line and names the file.

    The message may quote a stranger's file, so control characters in it are spelled out and a very
    long one loses its middle.
    """

    def __init__(self, message: str) -> None:
        line = printable(message)
        if len(line) > MAX_MESSAGE:
            half = MAX_MESSAGE // 2
            line = f"{line[: half - 1]}…{line[-half:]}"  # the reason stands at the end
        super().__init__(line)


class Hindered(StoreError):
    """A full disk or another process is in the way for now.  The run itself is sound."""


def one_line(error: Exception) -> str:
    """The error's text on one line: SQLite quotes a damaged statement, line breaks and all."""
    return " ".join(str(error).split())


def result_code(error: Exception) -> int:
    """Return SQLite's primary result code.

    Where the error has none, it is the code of a damaged file.
    """
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
    return code & 0xFF


def translate(path: Path, error: Exception) -> StoreError:
    """Return the `StoreError` that explains an error of SQLite for the run at ``path``."""
    code = result_code(error)
    if code == sqlite3.SQLITE_INTERRUPT:
        return StoreError(
            f"{path}: is damaged (a query took more than {MAX_SECONDS:g} s of processor time)"
        )
    if code in _PASSING:
        return Hindered(f"{path}: {one_line(error)}")
    if code in _LASTING:
        return StoreError(f"{path}: {one_line(error)}")
    return StoreError(f"{path}: is damaged ({one_line(error)})")

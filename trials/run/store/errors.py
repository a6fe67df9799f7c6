"""The one error of the store, and how SQLite's own errors become it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

# What sqlite3 raises on a damaged file: its own errors, and text that is not text any more.
SQLITE_ERRORS = (sqlite3.Error, UnicodeDecodeError)

# Primary result codes that speak of the machine or of other processes, not of the file's content.
_CIRCUMSTANCES = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_PERM,
}


class StoreError(Exception):
    """A run store that cannot be used as asked; the message is one line and names the file."""


def one_line(error: Exception) -> str:
    """The error's text on one line: SQLite quotes a damaged statement, line breaks and all."""
    return " ".join(str(error).split())


def translated(path: Path, error: Exception) -> StoreError:
    """The `StoreError` that says what an error of SQLite means for the run at ``path``."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
    if code in _CIRCUMSTANCES:
        return StoreError(f"{path}: {one_line(error)}")
    return StoreError(f"{path}: is damaged ({one_line(error)})")

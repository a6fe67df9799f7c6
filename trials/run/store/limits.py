"""Sizes that no run of this program reaches, and the names that a store accepts.

A larger file is damaged or malicious, and is refused.
A run file may come from a stranger.  These limits bound the memory and the processor time that
reading it can take.
"""

from __future__ import annotations

import re
import sqlite3

from trials.text import printable

MAX_SEED = 1 << 128  # a root seed is smaller
MAX_BLOCK = 1 << 32  # a block number is smaller
MAX_BLOCK_BYTES = 1 << 26  # the values of one block
MAX_BLOCK_ROWS = 1 << 24
MAX_COLUMNS = 4096
MAX_NAME = 200  # characters of an experiment's, column's, kind's or key's name, and of a digest
MAX_PARAMS = 1 << 16  # characters of one cell's parameters
MAX_DOCUMENT = 1 << 23  # characters of one JSON text
MAX_DEPTH = 128  # levels of lists and objects in a JSON text; a certificate of a proof has up to 35
MAX_MESSAGE = 2000  # characters of an error message

# One query that is no scan over values: rows, characters and bytes that it may return, and
# seconds of processor time that it may take.  A slow disk or a busy machine uses none of these.
MAX_ROWS = 4_000_000
MAX_RESULT = 1 << 28
# The longest query of a run of a million blocks, the most that a run holds, took 2.3 s.
MAX_SECONDS = 20.0
STEPS_BETWEEN_CHECKS = 20_000  # instructions of SQLite's machine, well under a millisecond

SQLITE_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: MAX_BLOCK_BYTES + (1 << 16),
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 1 << 16,
    sqlite3.SQLITE_LIMIT_COLUMN: 32,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 32,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 4,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 10_000,
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 8,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}

_NAME = re.compile(rf"\w[\w.+-]{{0,{MAX_NAME - 1}}}")


def is_name(text: object) -> bool:
    """Whether this can name an experiment: it becomes part of trial ids and of file names."""
    return isinstance(text, str) and _NAME.fullmatch(text) is not None


def is_label(text: object) -> bool:
    """Whether this can name a column, a kind, a key or a digest: short text of one line."""
    return isinstance(text, str) and len(text) <= MAX_NAME and printable(text) == text

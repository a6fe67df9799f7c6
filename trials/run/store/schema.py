"""The tables of a run file, and the marks in its header that say whose file it is."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from functools import cache

APPLICATION_ID = 0x43464C56  # "CFLV": marks the file as ours in the SQLite header
SCHEMA_VERSION = 4  # the format of new runs, in the header as `user_version`


@dataclass(frozen=True, kw_only=True)
class Format:
    """One version of the tables.

    Attributes
    ----------
    version : the number in the file's header.
    made_by : the versions of cfl-verify that wrote it, for messages.
    has_code : whether run and blocks record the digest of the code that made them.
    has_tally : whether the rows of each table are counted (`trials.run.store.tally`).
    has_machine : whether the code of a block names the machine too, as ``CODE@MACHINE``.
    statements : the SQL that makes the tables, exactly as it is stored in the file.
    """

    version: int
    made_by: str
    has_code: bool
    has_tally: bool
    has_machine: bool
    statements: tuple[str, ...]


_CELL = """CREATE TABLE cell (
        id INTEGER PRIMARY KEY,
        experiment TEXT NOT NULL, number TEXT NOT NULL, design INTEGER NOT NULL,
        block_size INTEGER NOT NULL, columns TEXT NOT NULL, params TEXT NOT NULL,
        checksum TEXT NOT NULL,
        UNIQUE (experiment, number))"""

_TIMING = """CREATE TABLE timing (
        cell INTEGER NOT NULL, block INTEGER NOT NULL, seconds REAL NOT NULL,
        PRIMARY KEY (cell, block)) WITHOUT ROWID"""

_DOCUMENT = """CREATE TABLE document (
        kind TEXT NOT NULL, key TEXT NOT NULL, body TEXT NOT NULL, checksum TEXT NOT NULL,
        PRIMARY KEY (kind, key)) WITHOUT ROWID"""

TALLY = """CREATE TABLE tally (
        name TEXT PRIMARY KEY, n_rows INTEGER NOT NULL, total TEXT NOT NULL) WITHOUT ROWID"""

# `data` is the last column of `block`, so that summaries never walk through the values' pages.
_WITH_CODE = (
    """CREATE TABLE run (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        root_seed TEXT NOT NULL, config TEXT NOT NULL, code TEXT NOT NULL,
        checksum TEXT NOT NULL)""",
    _CELL,
    """CREATE TABLE block (
        cell INTEGER NOT NULL REFERENCES cell (id), block INTEGER NOT NULL,
        n_rows INTEGER NOT NULL, n_columns INTEGER NOT NULL, n_failed INTEGER NOT NULL,
        reasons TEXT NOT NULL, code TEXT NOT NULL, checksum TEXT NOT NULL, data BLOB NOT NULL,
        UNIQUE (cell, block))""",
    _TIMING,
    _DOCUMENT,
)

FORMATS = {
    1: Format(
        version=1,
        made_by="cfl-verify before store format 2",
        has_code=False,
        has_tally=False,
        has_machine=False,
        statements=(
            """CREATE TABLE run (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        root_seed TEXT NOT NULL, config TEXT NOT NULL, checksum TEXT NOT NULL)""",
            _CELL,
            """CREATE TABLE block (
        cell INTEGER NOT NULL REFERENCES cell (id), block INTEGER NOT NULL,
        n_rows INTEGER NOT NULL, n_columns INTEGER NOT NULL, n_failed INTEGER NOT NULL,
        reasons TEXT NOT NULL, checksum TEXT NOT NULL, data BLOB NOT NULL,
        UNIQUE (cell, block))""",
            _TIMING,
            _DOCUMENT,
        ),
    ),
    2: Format(
        version=2,
        made_by="cfl-verify with store format 2",
        has_code=True,
        has_tally=False,
        has_machine=False,
        statements=_WITH_CODE,
    ),
    3: Format(
        version=3,
        made_by="cfl-verify with store format 3",
        has_code=True,
        has_tally=True,
        has_machine=False,
        statements=(*_WITH_CODE, TALLY),
    ),
    # The tables are those of format 3.
    4: Format(
        version=4,
        made_by="cfl-verify with store format 4",
        has_code=True,
        has_tally=True,
        has_machine=True,
        statements=(*_WITH_CODE, TALLY),
    ),
}

CURRENT = FORMATS[SCHEMA_VERSION]

LIST_TABLES = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name LIMIT 100"


@cache
def tables(version: int) -> tuple[tuple[str, str, str, str | None], ...]:
    """What `LIST_TABLES` returns on a file of that format, character by character."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for statement in FORMATS[version].statements:
            connection.execute(statement)
        return tuple(connection.execute(LIST_TABLES))

"""The tables of a run file, and the marks in its header that say whose file it is."""

from __future__ import annotations

APPLICATION_ID = 0x43464C56  # "CFLV": marks the file as ours in the SQLite header
SCHEMA_VERSION = 1

# `data` is the last column of `block`, so that summaries never walk through the values' pages.
SCHEMA = (
    """CREATE TABLE run (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        root_seed TEXT NOT NULL, config TEXT NOT NULL, checksum TEXT NOT NULL)""",
    """CREATE TABLE cell (
        id INTEGER PRIMARY KEY,
        experiment TEXT NOT NULL, number TEXT NOT NULL, design INTEGER NOT NULL,
        block_size INTEGER NOT NULL, columns TEXT NOT NULL, params TEXT NOT NULL,
        checksum TEXT NOT NULL,
        UNIQUE (experiment, number))""",
    """CREATE TABLE block (
        cell INTEGER NOT NULL REFERENCES cell (id), block INTEGER NOT NULL,
        n_rows INTEGER NOT NULL, n_columns INTEGER NOT NULL, n_failed INTEGER NOT NULL,
        reasons TEXT NOT NULL, checksum TEXT NOT NULL, data BLOB NOT NULL,
        UNIQUE (cell, block))""",
    """CREATE TABLE timing (
        cell INTEGER NOT NULL, block INTEGER NOT NULL, seconds REAL NOT NULL,
        PRIMARY KEY (cell, block)) WITHOUT ROWID""",
    """CREATE TABLE document (
        kind TEXT NOT NULL, key TEXT NOT NULL, body TEXT NOT NULL, checksum TEXT NOT NULL,
        PRIMARY KEY (kind, key)) WITHOUT ROWID""",
)

"""Making the file of a new run, and opening that of an old one."""

from __future__ import annotations

import os
import sqlite3
from contextlib import ExitStack
from pathlib import Path

from trials.run.store.connection import Database, connect
from trials.run.store.errors import SQLITE_ERRORS, StoreError, one_line
from trials.run.store.lock import writer_lock
from trials.run.store.schema import APPLICATION_ID, SCHEMA, SCHEMA_VERSION
from trials.run.store.verification import run_checksum


def create_file(path: Path, *, seed: str, config: str) -> Database:
    """Make the file of a new run; an existing file is never overwritten."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o644))
    except FileExistsError:
        raise StoreError(f"{path}: exists already; resume it or name another file") from None
    except OSError as error:
        raise StoreError(f"{path}: cannot be created ({error.strerror})") from None
    with ExitStack() as undo:  # if a step below fails, remove the half-made file
        undo.callback(path.unlink, missing_ok=True)
        lock = writer_lock(path)
        undo.callback(lock.close)
        try:
            connection = connect(path, readonly=False)
            undo.callback(connection.close)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("BEGIN IMMEDIATE")
            for statement in SCHEMA:
                connection.execute(statement)
            connection.execute(
                "INSERT INTO run VALUES (1, ?, ?, ?)", (seed, config, run_checksum(seed, config))
            )
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise StoreError(f"{path}: cannot be created ({one_line(error)})") from None
        undo.pop_all()
    return Database(path, connection, lock)


def open_file(path: Path, *, readonly: bool) -> Database:
    """Open the file of a run, once its header and its marks say that it is one."""
    _check_header(path)
    connection = None
    lock = None if readonly else writer_lock(path)
    try:
        connection = connect(path, readonly=readonly)
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION_ID:
            raise StoreError(f"{path}: is an SQLite file of another program, not a run")
        if version != SCHEMA_VERSION:
            raise StoreError(
                f"{path}: has schema {version}; this cfl-verify reads schema {SCHEMA_VERSION}"
                + (" (upgrade cfl-verify)" if version > SCHEMA_VERSION else "")
            )
    except BaseException as error:
        for opened in (connection, lock):
            if opened is not None:
                opened.close()
        if isinstance(error, SQLITE_ERRORS):
            raise StoreError(f"{path}: is damaged or unreadable ({one_line(error)})") from None
        raise
    return Database(path, connection, lock)


def _check_header(path: Path) -> None:
    """Refuse what is no SQLite file, or a file shorter than its header says."""
    if path.is_dir():
        raise StoreError(f"{path}: is a directory; a run is one file")
    try:
        with path.open("rb") as file:
            header = file.read(100)
    except FileNotFoundError:
        raise StoreError(f"{path}: no such run") from None
    except OSError as error:
        raise StoreError(f"{path}: cannot be read ({error.strerror})") from None
    if header[:16] != b"SQLite format 3\0":
        kind = "an empty file" if not header else "not a run (not an SQLite file)"
        raise StoreError(f"{path}: is {kind}")
    # SQLite takes a partial last page for a whole one.  Without a log, the file must be as
    # long as its header says (page size 1 means 65536).
    page_size = int.from_bytes(header[16:18], "big")
    length = (1 << 16 if page_size == 1 else page_size) * int.from_bytes(header[28:32], "big")
    if not path.with_name(path.name + "-wal").exists() and path.stat().st_size < length:
        raise StoreError(f"{path}: is damaged (shorter than its header says)")

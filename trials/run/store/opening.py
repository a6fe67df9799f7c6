"""Making the file of a new run, and opening that of an old one."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from trials.run.store import tally
from trials.run.store.connection import Database, connect
from trials.run.store.errors import SQLITE_ERRORS, StoreError, one_line, result_code
from trials.run.store.files import beside, claim, read_header, size_of, unfinished
from trials.run.store.lock import writer_lock
from trials.run.store.migration import count_rows, usable_format
from trials.run.store.schema import APPLICATION_ID, CURRENT, LIST_TABLES, Format, tables
from trials.run.store.verification import run_checksum


def create_file(path: Path, *, seed: str, config: str, code: str) -> Database:
    """Make the file of a new run.  An existing run is never overwritten.

    The file gets its name when it is complete, with all of its content in the main file.  A process
    that is killed leaves a whole run, or an empty file that the next start uses.
    """
    claim(path)
    try:
        lock = writer_lock(path)
    except StoreError:
        if size_of(path) == 0:
            path.unlink()
        raise
    try:
        with unfinished(path) as partial, closing(_bare(partial)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            for statement in CURRENT.statements:
                connection.execute(statement)
            connection.execute(
                "INSERT INTO run VALUES (1, ?, ?, ?, ?)",
                (seed, config, code, run_checksum(seed, config, code)),
            )
            connection.executemany(
                "INSERT INTO tally VALUES (?, ?, ?)",
                [(table, *tally.count(())) for table in tally.COUNTED],
            )
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {CURRENT.version}")
            connection.execute("COMMIT")
            connection.execute("PRAGMA journal_mode = WAL")
        database = Database(path, connect(path, "mode=rw"), lock)
        database.format = CURRENT
        database.prepare_writing()
    except BaseException as error:
        lock.close()
        if isinstance(error, (sqlite3.Error, OSError)):
            raise StoreError(f"{path}: cannot be created ({one_line(error)})") from None
        raise
    return database


def _bare(path: Path) -> sqlite3.Connection:
    """A connection to a file that no other process uses yet."""
    return sqlite3.connect(path, isolation_level=None)


def open_file(path: Path, *, readonly: bool) -> Database:
    """Open the file of a run, once its header, its marks and its tables say that it is one."""
    header = read_header(path)
    lock = None if readonly else writer_lock(path)
    connection = None
    try:
        connection = _connect_readonly(path) if readonly else connect(path, "mode=rw")
        database = Database(path, connection, lock)
        database.format = _checked_format(database, header)
        if database.format.has_tally:
            tally.check(database)
        if not readonly:
            database.prepare_writing()
            if not database.format.has_tally:
                database.upgrade = count_rows
    except BaseException as error:
        for opened in (connection, lock):
            if opened is not None:
                opened.close()
        if isinstance(error, SQLITE_ERRORS):
            raise StoreError(f"{path}: is damaged or unreadable ({one_line(error)})") from None
        raise
    return database


def _connect_readonly(path: Path) -> sqlite3.Connection:
    """A connection that only reads, also where no lock file can be made beside the run.

    A reader of a file in WAL mode makes a file ``-shm`` beside it.  Where it may not, and the log
    holds no commits, the file is read as it stands.
    """
    connection = connect(path, "mode=ro")
    try:
        connection.execute("PRAGMA schema_version").fetchone()  # takes the reader's lock
    except sqlite3.Error as error:
        connection.close()
        if result_code(error) not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            raise
        if size_of(beside(path, "-wal")):
            raise StoreError(
                f"{path}: cannot be read in a folder that may not be written, because "
                f"{path.name}-wal holds commits; copy both to another folder and read them there"
            ) from None
        return connect(path, "immutable=1")
    return connection


def _checked_format(database: Database, header: bytes) -> Format:
    """Return the format of the tables.

    Files of other programs, and tables that no run has, are refused.
    """
    path = database.path
    ((application,),) = database.query("PRAGMA application_id")
    ((version,),) = database.query("PRAGMA user_version")
    if application != APPLICATION_ID:
        hint = ""
        if header[18] == 2 and not size_of(beside(path, "-wal")):
            hint = (
                f"; if it was copied while it ran, {path.name}-wal and {path.name}-shm are missing"
            )
        raise StoreError(f"{path}: is an SQLite file of another program, not a run{hint}")
    found = usable_format(path, version, readonly=database.readonly)
    if tuple(database.query(LIST_TABLES)) != tables(version):
        raise StoreError(
            f"{path}: is damaged or was not written by cfl-verify (its tables are not those of "
            f"store format {version})"
        )
    return found

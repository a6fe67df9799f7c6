"""The file of a run: its writer, its format, and how it is made, opened and copied.

A run of format 1 does not record the code that made its blocks.  Nothing can add that later, so
such a run is read as it is and never continued.  A run of format 2 does not count its rows.  They
are counted with the first commit that continues it.  A run of format 3 does not name the machine of
a block.  Both have format 4 from the first commit on that continues them, and the machine of their
older blocks stays unknown.
"""

from __future__ import annotations

import errno
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from trials.run.store import tally
from trials.run.store.connection import Database, connect
from trials.run.store.errors import SQLITE_ERRORS, StoreError, one_line, result_code
from trials.run.store.files import (
    beside,
    claim,
    is_unused,
    oddity,
    read_header,
    size_of,
    unfinished,
)
from trials.run.store.schema import (
    APPLICATION_ID,
    CURRENT,
    FORMATS,
    LIST_TABLES,
    TALLY,
    Format,
    tables,
)
from trials.run.store.verification import run_checksum


def writer_lock(path: Path) -> sqlite3.Connection:
    """Hold the run's lock file as long as the returned connection is open.

    The lock is an exclusive transaction that never writes, on an empty database.  SQLite's locks
    work in the same way on every system.  The file is not removed at the end, because the next
    holder may have opened it already.  It lies beside the run itself, also where ``path`` is a link
    to it.
    """
    lock = beside(path, "-lock")
    connection = None
    try:
        odd = oddity(lock)
    except FileNotFoundError:
        odd = None
    except OSError as error:
        raise StoreError(f"{path}: cannot be written ({lock.name}: {error.strerror})") from None
    if odd is not None:
        raise StoreError(f"{path}: cannot be written ({lock.name} is {odd})")
    try:
        connection = sqlite3.connect(lock, isolation_level=None, timeout=0.0)
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as error:
        if connection is not None:
            connection.close()
        if not _has_locks(path.resolve().parent):
            raise StoreError(
                f"{path}: its file system has no locks, without which a run cannot be written; put "
                "the run on a local disk (--output) and copy it afterwards"
            ) from None
        if result_code(error) == sqlite3.SQLITE_BUSY:
            raise StoreError(
                f"{path}: another process is writing this run; wait for it or stop it (reading "
                "works meanwhile)"
            ) from None
        raise StoreError(f"{path}: cannot be written ({lock.name}: {one_line(error)})") from None
    return connection


def _has_locks(folder: Path) -> bool:
    """Whether a file in the folder can be locked.  Some shared file systems have no locks."""
    try:
        import fcntl
    except ImportError:  # Windows, where every file system has them
        return True
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)
    return True


def usable_format(path: Path, version: int, *, readonly: bool) -> Format:
    """The format of that number, if it can be used as asked.

    Raises
    ------
    StoreError
        When the format is newer or unknown, or older and the run is to be continued.
    """
    found = FORMATS.get(version)
    if found is None:
        newer = version > CURRENT.version
        raise StoreError(
            f"{path}: has store format {version}; this cfl-verify reads formats "
            f"{min(FORMATS)} to {CURRENT.version}"
            + ("; upgrade cfl-verify" if newer else "; no version of cfl-verify wrote it")
        )
    if not readonly and not found.has_code:
        raise StoreError(
            f"{path}: was made by {found.made_by} (store format {version}), which did not record "
            "the code of each block; it can be read and reported but not continued: start a new "
            "run"
        )
    return found


def upgrade(database: Database) -> Format:
    """Give a run of format 2 or 3 the present format, inside a transaction.

    The rows of a run of format 2 are counted.
    """
    ((version,),) = database.query("PRAGMA user_version")
    if version == CURRENT.version:  # committed already, and interrupted before that was known
        return CURRENT
    if not database.format.has_tally:
        counts = {
            table: tally.count(database.scan(query)) for table, query in tally.COUNTED.items()
        }
        database.execute(TALLY)
        for table, (n_rows, total) in counts.items():
            database.execute("INSERT INTO tally VALUES (?, ?, ?)", (table, n_rows, total))
    database.execute(f"PRAGMA user_version = {CURRENT.version}")
    return CURRENT


def create_file(path: Path, *, seed: str, config: str, code: str) -> Database:
    """Make the file of a new run.  An existing run is never overwritten.

    The file gets its name when it is complete, with all of its content in the main file.  A process
    that is killed leaves a whole run, or an empty file that the next start uses.
    """
    lock = _claim_and_lock(path)
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


def _claim_and_lock(path: Path) -> sqlite3.Connection:
    """Reserve the name for a new run and hold its lock.  The name stays free if that fails."""
    claim(path)
    try:
        lock = writer_lock(path)
    except StoreError:
        if size_of(path) == 0:
            path.unlink()
        raise
    if not is_unused(path):  # another process made this run before it was locked here
        lock.close()
        raise StoreError(f"{path}: exists already; resume it or name another file")
    return lock


def _bare(path: Path) -> sqlite3.Connection:
    """A connection to a file that no other process uses yet."""
    return sqlite3.connect(path, isolation_level=None)


def open_file(path: Path, *, readonly: bool, count: bool = True) -> Database:
    """Open the file of a run, once its header, its marks and its tables say that it is one.

    ``count`` says whether the rows are counted, too.
    """
    header = read_header(path)
    lock = None if readonly else writer_lock(path)
    connection = None
    try:
        connection = _connect_readonly(path) if readonly else connect(path, "mode=rw")
        database = Database(path, connection, lock)
        database.format = _check_format(database, header)
        if count and database.format.has_tally:
            tally.check(database)
        if not readonly:
            database.prepare_writing()
            if database.format != CURRENT:
                database.upgrade = upgrade
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


def _check_format(database: Database, header: bytes) -> Format:
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


def copy_file(database: Database, target: Path, *, verify: Callable[[Path], object]) -> None:
    """Copy a run, as of one instant, to a new file.

    The file gets its name only when the copy is complete.

    Parameters
    ----------
    verify : gets the finished file and raises when it is damaged.  The name then stays free.

    Raises
    ------
    StoreError
        When something is at ``target`` already, or it cannot be written.
    """
    lock = _claim_and_lock(target)
    try:
        with unfinished(target) as partial:
            with closing(sqlite3.connect(partial)) as connection:
                database.backup(connection)
            verify(partial)
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"{target}: cannot be written ({one_line(error)})") from None
    finally:
        lock.close()

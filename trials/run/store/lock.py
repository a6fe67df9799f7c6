"""The writer's lock: one process writes a run at a time."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from trials.run.store.errors import StoreError, one_line, result_code
from trials.run.store.files import beside, oddity


def writer_lock(path: Path) -> sqlite3.Connection:
    """Hold the run's lock file as long as the returned connection is open.

    The lock is an exclusive transaction that never writes, on an empty database.  SQLite's locks
    work in the same way on every system.  The file is not removed at the end, because the next
    holder may have opened it already.  It lies beside the run itself, also where ``path`` is a link
    to it.
    """
    lock = beside(path.resolve(), "-lock")
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
        if result_code(error) == sqlite3.SQLITE_BUSY:
            raise StoreError(
                f"{path}: another process is writing this run; wait for it or stop it (reading "
                "works meanwhile)"
            ) from None
        raise StoreError(f"{path}: cannot be written ({lock.name}: {one_line(error)})") from None
    return connection

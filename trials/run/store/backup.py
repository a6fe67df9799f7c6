"""Copying a run to a new file while it may be written."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from trials.run.store.connection import Database
from trials.run.store.errors import StoreError, one_line
from trials.run.store.files import claim, unfinished
from trials.run.store.lock import writer_lock


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
    claim(target)
    lock = writer_lock(target)
    try:
        with unfinished(target) as partial:
            with closing(sqlite3.connect(partial)) as connection:
                database.backup(connection)
            verify(partial)
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"{target}: cannot be written ({one_line(error)})") from None
    finally:
        lock.close()

"""One SQLite connection to a run: opening, queries, transactions, closing, and our errors."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trials.run.store.errors import SQLITE_ERRORS, StoreError, translated


def connect(path: Path, *, readonly: bool) -> sqlite3.Connection:
    """A connection in autocommit mode, with the settings that every use of a run needs."""
    location = path.absolute().as_uri()
    if readonly:
        wal = path.with_name(path.name + "-wal")
        # A reader of a WAL file writes a lock file beside it; where it may not and no other
        # process is writing, the file is read as it stands.
        sealed = not os.access(path.parent, os.W_OK) and not wal.exists()
        location += "?immutable=1" if sealed else "?mode=ro"
    else:
        location += "?mode=rw"
    connection = sqlite3.connect(location, uri=True, isolation_level=None, timeout=30.0)
    # In WAL mode NORMAL survives a killed process entirely; a power cut can undo the last
    # commits but never half of one.
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


class Database:
    """The file of one run: SQL in, rows or a `StoreError` out.

    Attributes
    ----------
    path : the run's file, for messages.
    readonly : whether it was opened without the writer's lock.
    """

    def __init__(
        self, path: Path, connection: sqlite3.Connection, lock: sqlite3.Connection | None
    ) -> None:
        self.path = path
        self.readonly = lock is None
        self._connection = connection
        self._lock = lock

    def query(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """All rows of a statement."""
        return list(self.scan(statement, values))

    def scan(self, statement: str, values: Sequence[Any] = ()) -> Iterator[Any]:
        """The rows of a statement one by one, never all in memory."""
        try:
            yield from self._connection.execute(statement, values)
        except SQLITE_ERRORS as error:
            raise translated(self.path, error) from None

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A transaction that is committed whole at the end, or undone when anything is raised."""
        if self.readonly:
            raise StoreError(f"{self.path}: was opened read-only")
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
        except SQLITE_ERRORS as error:
            raise translated(self.path, error) from None

    def close(self) -> None:
        """Close the file; the last connection folds the write-ahead log into it."""
        self._connection.close()
        if self._lock is not None:
            self._lock.close()

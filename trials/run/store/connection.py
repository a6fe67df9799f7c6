"""One SQLite connection to a run: opening, queries, transactions, closing, and errors."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trials.run.store.errors import SQLITE_ERRORS, StoreError, translate
from trials.run.store.limits import (
    MAX_RESULT,
    MAX_ROWS,
    MAX_SECONDS,
    SQLITE_LIMITS,
    STEPS_BETWEEN_CHECKS,
)
from trials.run.store.schema import Format


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """A connection in autocommit mode, with the settings that every use of a run needs.

    Parameters
    ----------
    mode : ``"mode=rw"``, ``"mode=ro"``, or ``"immutable=1"`` for a file that nobody writes and
        beside which no lock file can be made.
    """
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{mode}", uri=True, isolation_level=None, timeout=30.0
    )
    try:
        for limit, value in SQLITE_LIMITS.items():
            connection.setlimit(limit, value)
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        if mode != "mode=rw":
            connection.execute("PRAGMA query_only = ON")
    except BaseException:
        connection.close()
        raise
    return connection


class Database:
    """The file of one run: SQL in, rows or a `StoreError` out.

    Attributes
    ----------
    path : the run's file, for messages.
    readonly : whether it was opened without the writer's lock.
    format : the version of the tables, set once the file's marks were read.
    upgrade : for a file of an older format, the function that changes its tables inside the first
        transaction and returns their new format.
    """

    format: Format
    upgrade: Callable[[Database], Format] | None = None

    def __init__(
        self, path: Path, connection: sqlite3.Connection, lock: sqlite3.Connection | None
    ) -> None:
        self.path = path
        self.readonly = lock is None
        self._connection = connection
        self._lock = lock
        self._running = False
        self._started: float | None = None  # processor time at SQLite's first call
        connection.set_progress_handler(self._is_late, STEPS_BETWEEN_CHECKS)

    def _is_late(self) -> bool:
        """SQLite calls this while a statement runs, and ends the statement when it returns true.
        Short statements never call it, so they do not read the clock.
        """
        if not self._running:
            return False
        now = time.thread_time()
        if self._started is None:
            self._started = now
        return now - self._started > MAX_SECONDS

    def query(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """All rows of a statement.

        Raises
        ------
        StoreError
            When the file is damaged, or the rows are more than a run can hold: a crafted file
            can make a plain query endless.
        """
        rows: list[Any] = []
        size = 0
        for row in self._scan(statement, values, renew=False):
            rows.append(row)
            size += sum(len(value) for value in row if isinstance(value, (str, bytes)))
            if len(rows) > MAX_ROWS or size > MAX_RESULT:
                raise StoreError(f"{self.path}: is damaged (a query returns too many rows)")
        return rows

    def scan(self, statement: str, values: Sequence[Any] = ()) -> Iterator[Any]:
        """The rows of a statement one by one, never all in memory.

        The limit on processor time holds for each row.  The caller must refuse rows that repeat.
        """
        return self._scan(statement, values, renew=True)

    def _scan(self, statement: str, values: Sequence[Any], *, renew: bool) -> Iterator[Any]:
        try:
            self._started = None
            self._running = True
            cursor = self._connection.execute(statement, values)
            while (row := cursor.fetchone()) is not None:
                self._running = False
                yield row
                if renew:
                    self._started = None
                self._running = True
        except SQLITE_ERRORS as error:
            raise translate(self.path, error) from None
        finally:
            self._running = False

    def prepare_writing(self) -> None:
        """Set how commits reach the disk.

        This reads the tables, so they must have been checked before.
        """
        # In WAL mode with NORMAL nothing is lost when the process is killed.  A power cut can undo
        # the last commits, each of them as a whole.
        self._connection.execute("PRAGMA synchronous = NORMAL")

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Several queries as of one instant, unaffected by a writer's later commits."""
        try:
            self._connection.execute("BEGIN")
            yield
        finally:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A transaction that is committed whole at the end, or undone when anything is raised.

        The first one brings an older file to the current format.  So a file that was opened for
        writing, but to which nothing is written, stays as it was.
        """
        if self.readonly:
            raise StoreError(f"{self.path}: was opened read-only")
        try:
            try:  # around the first statement too: an interrupt is raised when it has been executed
                self._connection.execute("BEGIN IMMEDIATE")
                upgraded = self.upgrade(self) if self.upgrade else self.format
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
            self.format, self.upgrade = upgraded, None
        except SQLITE_ERRORS as error:
            raise translate(self.path, error) from None

    def execute(self, statement: str, values: Sequence[Any] = ()) -> None:
        """Change the file, inside a transaction."""
        self._connection.execute(statement, values)

    def backup(self, target: sqlite3.Connection) -> None:
        """Copy every page, as of one instant, to another connection.

        Writers are not stopped meanwhile.
        """
        self._connection.backup(target)

    def close(self) -> None:
        """Close the file.  The last connection folds the write-ahead log into it."""
        self._connection.close()
        if self._lock is not None:
            self._lock.close()

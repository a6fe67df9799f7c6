"""The run store: one SQLite file a run, a block of trials a transaction, a checksum a block.

A run that is killed at any instant loses the blocks in flight and nothing else: a block is either
stored whole, with the SHA-256 of its content, or absent.  A file that is damaged, that belongs to
another program or to a newer version is refused with a `StoreError` of one line.

One process writes at a time: whoever opens a run for writing holds a lock until it closes it, and a
second one is refused at once.  The lock is the operating system's, on an empty file beside the run
(``<run>-lock``), so that it ends with its process however that ends.  Readers need none.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from trials.checks import FloatArray
from trials.run.cell import Params, canonical_json, cell_number
from trials.run.experiment import Experiment

if TYPE_CHECKING:
    import pandas as pd

APPLICATION_ID = 0x43464C56  # "CFLV": marks the file as ours in the SQLite header
SCHEMA_VERSION = 1

# `data` is the last column of `block`, so that summaries never walk through the values' pages.
_SCHEMA = (
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


_CELL = "SELECT id, experiment, number, design, block_size, columns, params, checksum FROM cell"

# What sqlite3 raises on a damaged file: its own errors, and text that is not text any more.
_SQLITE_ERRORS = (sqlite3.Error, UnicodeDecodeError)


# Primary result codes that speak of the machine or of other processes, not of the file's content.
_CIRCUMSTANCES = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_PERM,
}


class StoreError(Exception):
    """A run store that cannot be used as asked; the message is one line and names the file."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A registered cell: what a stored block of it means."""

    experiment: str
    number: int
    design: int
    block_size: int
    columns: tuple[str, ...]
    params: Params


@dataclass(frozen=True, kw_only=True)
class CellStatus:
    """How far one cell has come; ``seconds`` is the sum over its blocks (worker time)."""

    experiment: str
    number: int
    params: Params
    n_blocks: int
    n_trials: int
    n_failed: int
    seconds: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """The trials of one cell, in order; failed trials are rows like any other.

    Attributes
    ----------
    columns : names of the values.
    values : (n_trials, n_columns) float64, read-only.
    failed : (n_trials,) bool; True where the trial diverged or raised.
    reasons : (trial index, reason) of each failed trial, ascending.
    """

    columns: tuple[str, ...]
    values: FloatArray
    failed: NDArray[np.bool_]
    reasons: tuple[tuple[int, str], ...]

    @property
    def n_trials(self) -> int:
        """Number of trials, failed ones included."""
        return len(self.values)

    @property
    def n_failed(self) -> int:
        """Number of failed trials."""
        return len(self.reasons)

    def __getitem__(self, column: str) -> FloatArray:
        """The values of one column, (n_trials,)."""
        try:
            return self.values[:, self.columns.index(column)]
        except ValueError:
            known = ", ".join(self.columns)
            raise KeyError(f"unknown column {column!r}; known: {known}") from None


class _Row(NamedTuple):
    """A cell as the store holds it: canonical text, so that a comparison is a comparison."""

    id: int
    experiment: str
    number: str
    design: int
    block_size: int
    columns: str
    params: str

    def public(self) -> Cell:
        return Cell(
            experiment=self.experiment,
            number=int(self.number, 16),
            design=self.design,
            block_size=self.block_size,
            columns=tuple(json.loads(self.columns)),
            params=json.loads(self.params),
        )


class _Block(NamedTuple):
    block: int
    n_rows: int
    n_columns: int
    n_failed: int
    reasons: str
    checksum: str
    data: bytes


def _line(error: Exception) -> str:
    """SQLite quotes the damaged statement, line breaks and all."""
    return " ".join(str(error).split())


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _sha256(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def _checksum(
    cell: _Row, block: int, n_rows: int, n_columns: int, reasons: str, data: bytes
) -> str:
    """Covers what the values mean as well as the values: a block cannot change its place."""
    head = _compact([*cell[1:], block, n_rows, n_columns, reasons])
    return _sha256(head.encode(), b"\n", data)


def _pack_reasons(reasons: Sequence[tuple[int, str]]) -> str:
    """``{reason: [rows]}``: a whole block that raised repeats its reason once."""
    grouped: dict[str, list[int]] = {}
    for row, reason in sorted(reasons):
        grouped.setdefault(reason, []).append(int(row))
    return json.dumps(grouped, separators=(",", ":"), ensure_ascii=True)


def _unpack_reasons(packed: str) -> list[tuple[int, str]]:
    return sorted((row, reason) for reason, rows in json.loads(packed).items() for row in rows)


def _json_default(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not JSON-ready")


def _writer_lock(path: Path) -> sqlite3.Connection:
    """Hold the run's lock file as long as the returned connection is open.

    An exclusive transaction that never writes, on a database of no bytes: SQLite's locks are the
    same on every system.  The file stays behind; removing it could take it from the next holder.
    It lies beside the run itself, also where ``path`` is a link to it.
    """
    run = path.resolve()
    lock = run.with_name(run.name + "-lock")
    connection = None
    try:
        connection = sqlite3.connect(lock, isolation_level=None, timeout=0.0)
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as error:
        if connection is not None:
            connection.close()
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
            raise StoreError(
                f"{path}: another process is writing this run; wait for it or stop it (reading "
                "works meanwhile)"
            ) from None
        raise StoreError(f"{path}: cannot be written ({lock.name}: {_line(error)})") from None
    return connection


class RunStore:
    """One run on disk; make it with `create` or `open`, use it as a context manager.

    Not thread-safe on purpose: the engine commits from the thread that called it.
    """

    def __init__(
        self, path: Path, connection: sqlite3.Connection, lock: sqlite3.Connection | None
    ) -> None:
        self.path = path
        self.readonly = lock is None
        self._connection = connection
        self._lock = lock
        self._cells: dict[tuple[str, str], _Row] = {}
        self.root_seed, self.config = self._read_run()

    # -- opening ---------------------------------------------------------------------------

    @classmethod
    def create(
        cls, path: str | os.PathLike[str], *, root_seed: int, config: Mapping[str, Any]
    ) -> Self:
        """Start a new run; an existing file is never overwritten.

        Raises
        ------
        StoreError
            When the path exists or cannot be written.
        """
        path = Path(path)
        body = json.dumps(dict(config), default=_json_default)
        seed = str(int(root_seed))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o644))
        except FileExistsError:
            raise StoreError(f"{path}: exists already; resume it or name another file") from None
        except OSError as error:
            raise StoreError(f"{path}: cannot be created ({error.strerror})") from None
        with ExitStack() as undo:  # what fails here leaves no file that could not be resumed
            undo.callback(path.unlink, missing_ok=True)
            lock = _writer_lock(path)
            undo.callback(lock.close)
            try:
                connection = cls._connect(path, readonly=False)
                undo.callback(connection.close)
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("BEGIN IMMEDIATE")
                for statement in _SCHEMA:
                    connection.execute(statement)
                connection.execute(
                    "INSERT INTO run VALUES (1, ?, ?, ?)",
                    (seed, body, _sha256(seed.encode(), b"\n", body.encode())),
                )
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
                connection.execute("COMMIT")
            except sqlite3.Error as error:
                raise StoreError(f"{path}: cannot be created ({_line(error)})") from None
            undo.pop_all()
        return cls(path, connection, lock)

    @classmethod
    def open(cls, path: str | os.PathLike[str], readonly: bool = False) -> Self:
        """Open an existing run.

        Raises
        ------
        StoreError
            When the path is missing, a directory, not an SQLite file, a file of another program
            or of a newer schema, or damaged; for writing, when another process writes it.
        """
        path = Path(path)
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
            what = "an empty file" if not header else "not a run (not an SQLite file)"
            raise StoreError(f"{path}: is {what}")
        # SQLite takes a partial last page for a whole one.  Without a log, the file must be as
        # long as its header says (page size 1 means 65536).
        page_size = int.from_bytes(header[16:18], "big")
        length = (1 << 16 if page_size == 1 else page_size) * int.from_bytes(header[28:32], "big")
        if not path.with_name(path.name + "-wal").exists() and path.stat().st_size < length:
            raise StoreError(f"{path}: is damaged (shorter than its header says)")
        connection = None
        lock = None if readonly else _writer_lock(path)
        try:
            connection = cls._connect(path, readonly=readonly)
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if application != APPLICATION_ID:
                raise StoreError(f"{path}: is an SQLite file of another program, not a run")
            if version != SCHEMA_VERSION:
                raise StoreError(
                    f"{path}: has schema {version}; this cfl-verify reads schema {SCHEMA_VERSION}"
                    + (" (upgrade cfl-verify)" if version > SCHEMA_VERSION else "")
                )
            return cls(path, connection, lock)
        except BaseException as error:
            for opened in (connection, lock):
                if opened is not None:
                    opened.close()
            if isinstance(error, _SQLITE_ERRORS):
                raise StoreError(f"{path}: is damaged or unreadable ({_line(error)})") from None
            raise

    @staticmethod
    def _connect(path: Path, *, readonly: bool) -> sqlite3.Connection:
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

    def _read_run(self) -> tuple[int, dict[str, Any]]:
        rows = self._query("SELECT root_seed, config, checksum FROM run")
        if len(rows) != 1:
            raise StoreError(f"{self.path}: is damaged (no run record)")
        seed, config, checksum = rows[0]
        if _sha256(str(seed).encode(), b"\n", str(config).encode()) != checksum:
            raise StoreError(f"{self.path}: is damaged (checksum of the run record)")
        return int(seed), json.loads(config)

    def close(self) -> None:
        """Close the file; the last connection folds the write-ahead log into it."""
        self._connection.close()
        if self._lock is not None:
            self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # -- SQL with our errors ---------------------------------------------------------------

    def _translate(self, error: Exception) -> StoreError:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        if code in _CIRCUMSTANCES:
            return StoreError(f"{self.path}: {_line(error)}")
        return StoreError(f"{self.path}: is damaged ({_line(error)})")

    def _query(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        try:
            return self._connection.execute(statement, values).fetchall()
        except _SQLITE_ERRORS as error:
            raise self._translate(error) from None

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
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
        except _SQLITE_ERRORS as error:
            raise self._translate(error) from None

    # -- cells -----------------------------------------------------------------------------

    @staticmethod
    def _key(experiment: Experiment | str, params: Params) -> tuple[str, str]:
        """Name and canonical parameters; an `Experiment` completes the parameters by its check."""
        if isinstance(experiment, Experiment):
            return experiment.name, canonical_json(experiment.check(params))
        return experiment, canonical_json(params)

    def _find(self, key: tuple[str, str]) -> _Row | None:
        if key not in self._cells:
            number = f"{cell_number(json.loads(key[1])):016x}"
            rows = self._rows("WHERE experiment = ? AND number = ?", key[0], number)
            if not rows:
                return None
            row = rows[0]
            if row.params != key[1]:
                raise StoreError(
                    f"{self.path}: two cells of {key[0]!r} have the number {number}: "
                    f"{row.params} and {key[1]}"
                )
            self._cells[key] = row
        return self._cells[key]

    def _cell(self, experiment: Experiment | str, params: Params) -> _Row:
        key = self._key(experiment, params)
        row = self._find(key)
        if row is None:
            raise StoreError(f"{self.path}: holds no cell of {key[0]!r} with {key[1]}")
        return row

    def register(self, experiment: Experiment, params: Params) -> None:
        """Enter a cell; a cell that is there already must have been run by the same design.

        Raises
        ------
        StoreError
            When another parameter set has the same number, or when the experiment's design
            number, block size or columns differ from those that the run was started with.
        """
        self._registered(experiment, self._key(experiment, params))

    def _registered(self, experiment: Experiment, key: tuple[str, str]) -> _Row:
        name, spelling = key
        present = self._find(key)
        design = (experiment.design, experiment.block_size, _compact(experiment.columns))
        if present is None:
            cell = [name, f"{cell_number(json.loads(spelling)):016x}", *design, spelling]
            with self._transaction() as connection:
                connection.execute(
                    "INSERT INTO cell VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)",
                    (*cell, _sha256(_compact(cell).encode())),
                )
            present = self._find(key)
            assert present is not None
        stored = (present.design, present.block_size, present.columns)
        for what, now, then in zip(
            ("design", "block_size", "columns"), design, stored, strict=True
        ):
            if now != then:
                raise StoreError(
                    f"{self.path}: {name!r} was run with {what}={then}, now {what}={now}; "
                    "a changed design needs a new run"
                )
        return present

    def cells(self) -> list[Cell]:
        """All registered cells, by experiment and number."""
        return [row.public() for row in self._rows()]

    def _rows(self, where: str = "", *values: str) -> list[_Row]:
        found = self._query(f"{_CELL} {where} ORDER BY experiment, number", values)
        for row in found:
            if _sha256(_compact(row[1:-1]).encode()) != row[-1]:
                raise StoreError(f"{self.path}: is damaged (checksum of cell {row[1]}:{row[2]})")
        return [_Row(*row[:-1]) for row in found]

    # -- blocks ----------------------------------------------------------------------------

    def put_block(
        self,
        experiment: Experiment,
        params: Params,
        block: int,
        values: FloatArray,
        reasons: Sequence[tuple[int, str]] = (),
        seconds: float = 0.0,
    ) -> None:
        """Commit one block, whole, in one transaction; the same block again changes nothing.

        Parameters
        ----------
        values : (block_size, n_columns) float64.
        reasons : (row in the block, reason) of each failed trial; a row with a value that is not
            finite must have one.
        seconds : worker time; kept apart, so that it takes no part in `content_digest`.

        Raises
        ------
        ValueError
            When the values have another shape or type, or a non-finite row has no reason.
        StoreError
            When the block is there already with other content.
        """
        cell = self._registered(experiment, self._key(experiment, params))
        n_columns = len(experiment.columns)
        if values.dtype != np.float64 or values.shape != (cell.block_size, n_columns):
            raise ValueError(
                f"block values must be float64 of shape {(cell.block_size, n_columns)}, "
                f"not {values.dtype} of shape {values.shape}"
            )
        rows = {row for row, _ in reasons}
        if len(rows) != len(reasons) or not rows <= set(range(cell.block_size)):
            raise ValueError("each failed row of a block has exactly one reason")
        if not np.isfinite(values).all():
            silent = set(np.flatnonzero(~np.isfinite(values).all(axis=1)).tolist()) - rows
            if silent:
                raise ValueError(f"row {min(silent)} is not finite and has no reason")
        data = values.astype("<f8", order="C", copy=False).tobytes()
        packed = _pack_reasons(reasons)
        checksum = _checksum(cell, block, *values.shape, packed, data)
        with self._transaction() as connection:
            stored = connection.execute(
                "SELECT checksum FROM block WHERE cell = ? AND block = ?", (cell.id, block)
            ).fetchone()
            if stored is None:
                connection.execute(
                    "INSERT INTO block VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (cell.id, block, *values.shape, len(reasons), packed, checksum, data),
                )
                connection.execute(
                    "INSERT INTO timing VALUES (?, ?, ?)", (cell.id, block, float(seconds))
                )
            elif stored[0] != checksum:
                raise StoreError(
                    f"{self.path}: block {block} of {cell.experiment}:{cell.number} is stored "
                    "with other content; the code or the environment has changed"
                )

    def blocks(self, experiment: Experiment | str, params: Params) -> set[int]:
        """The numbers of the stored blocks of a cell (empty for a cell that is not there)."""
        row = self._find(self._key(experiment, params))
        if row is None:
            return set()
        return {
            block for (block,) in self._query("SELECT block FROM block WHERE cell = ?", row[:1])
        }

    def n_failed(self, experiment: Experiment | str, params: Params, n_blocks: int) -> int:
        """Failed trials among the stored blocks below ``n_blocks`` of a cell; reads no values."""
        row = self._find(self._key(experiment, params))
        if row is None:
            return 0
        ((count,),) = self._query(
            "SELECT IFNULL(SUM(n_failed), 0) FROM block WHERE cell = ? AND block < ?",
            (row.id, n_blocks),
        )
        return int(count)

    def _read(self, cell: _Row, start: int = 0, stop: int = 1 << 32) -> Iterator[_Block]:
        """Blocks ``start .. stop - 1`` of a cell, ascending, each verified."""
        try:
            cursor = self._connection.execute(
                "SELECT block, n_rows, n_columns, n_failed, reasons, checksum, data FROM block "
                "WHERE cell = ? AND block >= ? AND block < ? ORDER BY block",
                (cell.id, start, stop),
            )
            for row in cursor:
                yield self._verified(cell, _Block(*row))
        except _SQLITE_ERRORS as error:
            raise self._translate(error) from None

    def _verified(self, cell: _Row, found: _Block) -> _Block:
        try:
            expected = _checksum(cell, found.block, *found[1:3], found.reasons, found.data)
            intact = expected == found.checksum and found.n_failed == sum(
                map(len, json.loads(found.reasons).values())
            )
        except (TypeError, ValueError, AttributeError):  # a damaged column can have any type
            intact = False
        if not intact:
            raise StoreError(
                f"{self.path}: is damaged (checksum of block {found.block} of "
                f"{cell.experiment}:{cell.number})"
            )
        return found

    def table(
        self, experiment: Experiment | str, params: Params, n_blocks: int | None = None
    ) -> Table:
        """The trials of blocks ``0 .. n_blocks - 1`` of a cell, checksums verified.

        Parameters
        ----------
        n_blocks : by default the longest run of consecutive blocks from 0.

        Raises
        ------
        StoreError
            When the cell is not there, a block is missing or a checksum does not match.
        """
        cell = self._cell(experiment, params)
        stored = self.blocks(experiment, params)
        if n_blocks is None:
            n_blocks = next(i for i in range(len(stored) + 1) if i not in stored)
        missing = next((i for i in range(n_blocks) if i not in stored), None)
        if missing is not None:
            raise StoreError(
                f"{self.path}: block {missing} of {cell.experiment}:{cell.number} is not stored "
                f"({n_blocks} blocks asked for)"
            )
        columns = tuple(json.loads(cell.columns))
        values = np.empty((n_blocks * cell.block_size, len(columns)))
        failed = np.zeros(len(values), dtype=np.bool_)
        reasons: list[tuple[int, str]] = []
        n_read = 0
        for found in self._read(cell, stop=n_blocks):
            if found.block != n_read:
                break
            n_read += 1
            first = found.block * cell.block_size
            values[first : first + cell.block_size] = np.frombuffer(found.data, "<f8").reshape(
                found.n_rows, found.n_columns
            )
            reasons += [(first + row, reason) for row, reason in _unpack_reasons(found.reasons)]
        if n_read != n_blocks:  # the rows are not what the index of blocks says
            raise StoreError(f"{self.path}: is damaged (the index of blocks)")
        failed[[trial for trial, _ in reasons]] = True
        values.setflags(write=False)
        failed.setflags(write=False)
        return Table(columns=columns, values=values, failed=failed, reasons=tuple(reasons))

    def trial(
        self, experiment: Experiment | str, params: Params, index: int
    ) -> tuple[FloatArray, str]:
        """One trial's values, (n_columns,), and ``ok`` or the reason of its failure.

        Raises
        ------
        StoreError
            When the trial is not stored, or its block's checksum does not match.
        """
        cell = self._cell(experiment, params)
        block, row = divmod(index, cell.block_size)
        for found in self._read(cell, block, block + 1):
            values = np.frombuffer(found.data, "<f8").reshape(found.n_rows, found.n_columns)[row]
            return values.astype(np.float64), dict(_unpack_reasons(found.reasons)).get(row, "ok")
        raise StoreError(
            f"{self.path}: trial {index} of {cell.experiment}:{cell.number} is not stored"
        )

    def content_digest(self) -> str:
        """SHA-256 of everything that was simulated, each block verified on the way.

        It depends on the cells, the block numbers, the values and the reasons; not on timings,
        documents, the order of work or the number of workers.
        """
        digest = hashlib.sha256()
        for cell in self._rows():
            for found in self._read(cell):
                entry = [cell.experiment, cell.params, found.block, found.checksum, found.reasons]
                digest.update(_compact(entry).encode() + b"\n")
        return digest.hexdigest()

    def status(self) -> list[CellStatus]:
        """Blocks, trials, failed trials and worker seconds of each cell; reads no values."""
        rows = self._query(
            "SELECT b.cell, COUNT(*), SUM(b.n_rows), SUM(b.n_failed), TOTAL(t.seconds) "
            "FROM block b LEFT JOIN timing t ON t.cell = b.cell AND t.block = b.block "
            "GROUP BY b.cell"
        )
        sums = {cell: counts for cell, *counts in rows}
        found = []
        for row in self._rows():
            n_blocks, n_trials, n_failed, seconds = sums.get(row.id, (0, 0, 0, 0.0))
            cell = row.public()
            found.append(
                CellStatus(
                    experiment=cell.experiment,
                    number=cell.number,
                    params=cell.params,
                    n_blocks=n_blocks,
                    n_trials=n_trials,
                    n_failed=n_failed,
                    seconds=seconds,
                )
            )
        return found

    # -- documents -------------------------------------------------------------------------

    def put_document(self, kind: str, key: str, doc: Mapping[str, Any]) -> None:
        """Write a JSON document, whole, in one transaction; an older one of that key goes."""
        body = json.dumps(dict(doc), default=_json_default)
        checksum = _sha256(_compact([kind, key]).encode(), b"\n", body.encode())
        with self._transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO document VALUES (?, ?, ?, ?)", (kind, key, body, checksum)
            )

    def document(self, kind: str, key: str) -> dict[str, Any] | None:
        """The document of that kind and key, or None."""
        return self._documents(kind, "AND key = ?", key).get(key)

    def documents(self, kind: str) -> dict[str, dict[str, Any]]:
        """All documents of a kind, by key."""
        return self._documents(kind)

    def _documents(self, kind: str, more: str = "", *values: str) -> dict[str, dict[str, Any]]:
        rows = self._query(
            f"SELECT key, body, checksum FROM document WHERE kind = ? {more} ORDER BY key",
            (kind, *values),
        )
        for key, body, checksum in rows:
            if _sha256(_compact([kind, key]).encode(), b"\n", str(body).encode()) != checksum:
                raise StoreError(f"{self.path}: is damaged (checksum of document {kind}/{key})")
        return {key: json.loads(body) for key, body, _ in rows}

    # -- export ----------------------------------------------------------------------------

    def export_csv(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write one long table per experiment, ``<folder>/<experiment>.csv``; return the paths.

        A row a trial: the parameters, ``block``, ``trial``, ``status`` (``ok``, ``diverged``,
        ``raised``), ``reason`` and the values, floats in full (they read back bit for bit).  A
        parameter with the name of another column is called ``param.<name>``.
        """
        return self._export(Path(folder), "csv")

    def export_parquet(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write one long table per experiment as Parquet, with the columns of `export_csv`.

        Raises
        ------
        StoreError
            When the optional package ``pyarrow`` is not installed.
        """
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            raise StoreError(
                f"{self.path}: Parquet export needs pyarrow: pip install 'cfl-verify[parquet]'"
            ) from None
        return self._export(Path(folder), "parquet")

    def _export(self, folder: Path, suffix: str) -> list[Path]:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{folder}: cannot be written ({error.strerror})") from None
        by_experiment: dict[str, list[_Row]] = {}
        for row in self._rows():
            by_experiment.setdefault(row.experiment, []).append(row)
        paths = []
        for name, rows in by_experiment.items():
            frame = self._frame(rows)
            path = folder / f"{name}.{suffix}"
            unfinished = folder / f".{name}.{suffix}.part"
            if suffix == "csv":
                frame.to_csv(unfinished, index=False)
            else:
                frame.to_parquet(unfinished, index=False)
            unfinished.replace(path)
            paths.append(path)
        return paths

    def _frame(self, cells: Sequence[_Row]) -> pd.DataFrame:
        """The long table of one experiment's cells."""
        import pandas as pd

        columns: list[str] = json.loads(cells[0].columns)
        blocks = [(cell, found) for cell in cells for found in self._read(cell)]
        sizes = [found.n_rows for _, found in blocks]
        params = [json.loads(cell.params) for cell, _ in blocks]
        fixed = {"block", "trial", "status", "reason", *columns}
        frame: dict[str, Any] = {}
        for name in sorted({key for one in params for key in one}):
            spelled = _column([one.get(name) for one in params])
            label = f"param.{name}" if name in fixed else name
            frame[label] = spelled.repeat(sizes).reset_index(drop=True)
        frame["block"] = np.repeat([found.block for _, found in blocks], sizes)
        frame["trial"] = [
            found.block * cell.block_size + row
            for cell, found in blocks
            for row in range(found.n_rows)
        ]
        reason = [""] * sum(sizes)
        first = 0
        for _, found in blocks:
            for row, text in _unpack_reasons(found.reasons):
                reason[first + row] = text
            first += found.n_rows
        frame["status"] = [text.partition(":")[0] or "ok" for text in reason]
        frame["reason"] = reason
        values = np.concatenate(
            [np.frombuffer(found.data, "<f8").reshape(-1, len(columns)) for _, found in blocks]
            or [np.empty((0, len(columns)))]
        )
        frame.update({name: values[:, j] for j, name in enumerate(columns)})
        return pd.DataFrame(frame)


def _column(values: Sequence[Any]) -> pd.Series[Any]:
    """One parameter over cells as one typed column; mixed and nested values are spelled in JSON."""
    import pandas as pd

    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return pd.Series(values, dtype="boolean")
    if kinds == {int}:
        try:
            return pd.Series(values, dtype="Int64")
        except OverflowError:
            pass
    if kinds <= {int, float} and kinds:
        return pd.Series(values, dtype="Float64")
    if kinds == {str}:
        return pd.Series(values, dtype="object")
    spelled = [None if value is None else _compact(value) for value in values]
    return pd.Series(spelled, dtype="object")

"""`RunStore`: one run on disk, as the engine, the procedures and the reports use it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from trials.checks import FloatArray
from trials.run.cell import Params
from trials.run.experiment import Experiment
from trials.run.store import documents
from trials.run.store.cells import CellIndex
from trials.run.store.connection import Database
from trials.run.store.errors import StoreError
from trials.run.store.export import export
from trials.run.store.opening import create_file, open_file
from trials.run.store.reading import BlockReader
from trials.run.store.records import Cell, CellStatus, Table
from trials.run.store.verification import run_checksum
from trials.run.store.writing import check_block, commit_block


def _read_run(database: Database) -> tuple[int, dict[str, Any]]:
    rows = database.query("SELECT root_seed, config, checksum FROM run")
    if len(rows) != 1:
        raise StoreError(f"{database.path}: is damaged (no run record)")
    seed, config, checksum = rows[0]
    if run_checksum(str(seed), str(config)) != checksum:
        raise StoreError(f"{database.path}: is damaged (checksum of the run record)")
    return int(seed), json.loads(config)


class RunStore:
    """One run on disk; make it with `create` or `open`, use it as a context manager.

    Not thread-safe on purpose: the engine commits from the thread that called it.
    """

    def __init__(self, database: Database) -> None:
        self.path = database.path
        self.readonly = database.readonly
        self._database = database
        self._cells = CellIndex(database)
        self._reader = BlockReader(database, self._cells)
        try:
            self.root_seed, self.config = _read_run(database)
        except BaseException:
            database.close()
            raise

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
        text = documents.encode(config)
        return cls(create_file(Path(path), seed=str(int(root_seed)), config=text))

    @classmethod
    def open(cls, path: str | os.PathLike[str], readonly: bool = False) -> Self:
        """Open an existing run.

        Raises
        ------
        StoreError
            When the path is missing, a directory, not an SQLite file, a file of another program
            or of a newer schema, or damaged; for writing, when another process writes it.
        """
        return cls(open_file(Path(path), readonly=readonly))

    def close(self) -> None:
        """Close the file; the last connection folds the write-ahead log into it."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # -- cells -----------------------------------------------------------------------------

    def register(self, experiment: Experiment, params: Params) -> None:
        """Enter a cell; a cell that is there already must have been run by the same design.

        Raises
        ------
        StoreError
            When another parameter set has the same number, or when the experiment's design
            number, block size or columns differ from those that the run was started with.
        """
        self._cells.register(experiment, self._cells.key(experiment, params))

    def cells(self) -> list[Cell]:
        """All registered cells, by experiment and number."""
        return [row.public() for row in self._cells.rows()]

    def status(self) -> list[CellStatus]:
        """Blocks, trials, failed trials and worker seconds of each cell; reads no values."""
        return self._reader.status()

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
        cell = self._cells.register(experiment, self._cells.key(experiment, params))
        check_block(values, reasons, (cell.block_size, len(experiment.columns)))
        commit_block(self._database, cell, block, values, reasons, seconds)

    def blocks(self, experiment: Experiment | str, params: Params) -> set[int]:
        """The numbers of the stored blocks of a cell (empty for a cell that is not there)."""
        row = self._cells.find(self._cells.key(experiment, params))
        return set() if row is None else self._reader.numbers(row)

    def n_failed(self, experiment: Experiment | str, params: Params, n_blocks: int) -> int:
        """Failed trials among the stored blocks below ``n_blocks`` of a cell; reads no values."""
        row = self._cells.find(self._cells.key(experiment, params))
        return 0 if row is None else self._reader.n_failed(row, n_blocks)

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
        cell = self._cells.get(self._cells.key(experiment, params))
        return self._reader.table(cell, n_blocks)

    def trial(
        self, experiment: Experiment | str, params: Params, index: int
    ) -> tuple[FloatArray, str]:
        """One trial's values, (n_columns,), and ``ok`` or the reason of its failure.

        Raises
        ------
        StoreError
            When the trial is not stored, or its block's checksum does not match.
        """
        return self._reader.trial(self._cells.get(self._cells.key(experiment, params)), index)

    def content_digest(self) -> str:
        """SHA-256 of everything that was simulated, each block verified on the way.

        It depends on the cells, the block numbers, the values and the reasons; not on timings,
        documents, the order of work or the number of workers.
        """
        return self._reader.content_digest()

    # -- documents -------------------------------------------------------------------------

    def put_document(self, kind: str, key: str, doc: Mapping[str, Any]) -> None:
        """Write a JSON document, whole, in one transaction; an older one of that key goes."""
        documents.write(self._database, kind, key, doc)

    def document(self, kind: str, key: str) -> dict[str, Any] | None:
        """The document of that kind and key, or None."""
        return documents.read(self._database, kind, key).get(key)

    def documents(self, kind: str) -> dict[str, dict[str, Any]]:
        """All documents of a kind, by key."""
        return documents.read(self._database, kind)

    # -- export ----------------------------------------------------------------------------

    def export_csv(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write one long table per experiment, ``<folder>/<experiment>.csv``; return the paths.

        A row a trial: the parameters, ``block``, ``trial``, ``status`` (``ok``, ``diverged``,
        ``raised``), ``reason`` and the values, floats in full (they read back bit for bit).  A
        parameter with the name of another column is called ``param.<name>``.
        """
        return export(self._reader, self._cells.rows(), Path(folder), "csv")

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
        return export(self._reader, self._cells.rows(), Path(folder), "parquet")

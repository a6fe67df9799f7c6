"""`RunStore`: one run on disk, as the engine, the procedures and the reports use it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from operator import index
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, NamedTuple, Self, TypeVar, overload

from trials.checks import FloatArray, integer_between
from trials.run.cell import Params
from trials.run.experiment import Experiment
from trials.run.store import documents, tally
from trials.run.store.cells import CellIndex
from trials.run.store.connection import Database
from trials.run.store.decoding import Undecodable, decode
from trials.run.store.errors import StoreError
from trials.run.store.export import export
from trials.run.store.limits import MAX_BLOCK, MAX_SEED
from trials.run.store.opening import copy_file, create_file, open_file
from trials.run.store.reading import BlockReader
from trials.run.store.records import Cell, CellStatus, Table
from trials.run.store.verification import run_checksum
from trials.run.store.writing import NewBlock, check_block, commit_blocks

T = TypeVar("T")


class _Run(NamedTuple):
    root_seed: int
    config: str
    code: dict[str, str]


def _read_run(database: Database) -> _Run:
    """Read the run record: seed, configuration and code.  ``code`` is empty in format 1."""
    columns = "root_seed, config, code" if database.format.has_code else "root_seed, config"
    rows = database.query(f"SELECT {columns}, checksum FROM run")
    if len(rows) != 1:
        raise StoreError(f"{database.path}: is damaged (no run record)")
    *texts, checksum = rows[0]
    if not all(isinstance(text, str) for text in texts) or run_checksum(*texts) != checksum:
        raise StoreError(f"{database.path}: is damaged (checksum of the run record)")
    seed = texts[0]
    if not (seed.isascii() and seed.isdigit() and len(seed) < 40 and int(seed) < MAX_SEED):
        raise StoreError(f"{database.path}: is damaged (the root seed is no integer below 2**128)")
    try:
        decode(texts[1], dict[str, Any])
        code = decode(texts[2], dict[str, str]) if database.format.has_code else {}
    except Undecodable as error:
        raise StoreError(f"{database.path}: the run record {error}") from None
    return _Run(int(seed), texts[1], code)


class RunStore:
    """One run on disk, a context manager that `create` or `open` makes.

    Not thread-safe on purpose: the engine commits from the thread that called it.
    """

    def __init__(self, database: Database) -> None:
        self.path = database.path
        self.readonly = database.readonly
        self._database = database
        self._cells = CellIndex(database)
        self._reader = BlockReader(database, self._cells)
        try:
            run = _read_run(database)
        except BaseException:
            database.close()
            raise
        self.root_seed = run.root_seed
        self.code = run.code
        self._config = run.config

    # -- opening ---------------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        root_seed: int,
        config: Mapping[str, Any],
        code: Mapping[str, str] = MappingProxyType({}),
    ) -> Self:
        """Start a new run.  An existing one is never overwritten.

        Parameters
        ----------
        root_seed : from 0 to 2**128 - 1.  Every stream of the run is derived from it.
        config : the request that the run answers, as JSON.  `config` and `config_as` return it.
        code : names and digests or versions of the code that will make the blocks.

        Raises
        ------
        StoreError
            When the path exists or cannot be written.
        ValueError, TypeError
            When the seed is no integer or out of range, or the configuration cannot be stored.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     with RunStore.create(f"{folder}/run", root_seed=7, config={"a": 1}) as store:
        ...         store.root_seed, store.config
        (7, {'a': 1})
        """
        seed = index(root_seed)  # `int` would cut a fraction off
        if not 0 <= seed < MAX_SEED:
            raise ValueError(f"root_seed={seed} must be from 0 to 2**128 - 1")
        texts = documents.encode(config), documents.encode(code)
        return cls(create_file(Path(path), seed=str(seed), config=texts[0], code=texts[1]))

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], readonly: bool = False, *, count: bool = True
    ) -> Self:
        """Open an existing run.

        Parameters
        ----------
        readonly : leaves the run to another process that may write it.
        count : compare the rows of each table with their tally, which reads all rows.  A worker
            leaves this out, because the process that holds the run has done it.

        Raises
        ------
        StoreError
            When the path is missing, no plain file, not an SQLite file, a file of another program
            or of a newer format, or damaged.  Also, for writing, when another process writes it or
            its format is older.
        """
        return cls(open_file(Path(path), readonly=readonly, count=count))

    @property
    def config(self) -> dict[str, Any]:
        """The configuration that the run was started with."""
        return decode(self._config, dict[str, Any])

    def config_as(self, type_: type[T]) -> T:
        """The configuration as a record: a dataclass or a `msgspec.Struct`.

        Raises
        ------
        StoreError
            When it has other fields or types.  The message names the first of them.
        """
        try:
            return decode(self._config, type_)
        except Undecodable as error:
            raise StoreError(f"{self.path}: the configuration {error}") from None

    def copy_to(self, path: str | os.PathLike[str]) -> Path:
        """Copy the run, as of this instant, to a new file, and verify all of the copy.

        The run may be written meanwhile.  The copy is one file, complete without ``-wal`` and
        ``-shm``.

        Raises
        ------
        StoreError
            When ``path`` exists or cannot be written, or when the run is damaged.  Then no copy is
            left.
        """
        target = Path(path)
        copy_file(self._database, target, verify=self._verify_copy)
        return target

    @classmethod
    def _verify_copy(cls, path: Path) -> None:
        with cls.open(path, readonly=True) as copy:
            copy.verify()

    def verify(self) -> str:
        """Read everything, verify every checksum and type, and return `content_digest`.

        Raises
        ------
        StoreError
            At the first thing that is damaged.
        """
        documents.verify_all(self._database)
        self.status()
        return self.content_digest()

    def close(self) -> None:
        """Close the file.  The last connection folds the write-ahead log into it."""
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
        """Enter a cell.

        A cell that is there already must have been run by the same design.

        Raises
        ------
        StoreError
            When another parameter set has the same number, or when the experiment's design
            number, block size or columns differ from those that the run was started with.
        """
        self.register_all([(experiment, params)])

    def register_all(self, cells: Iterable[tuple[Experiment, Params]]) -> None:
        """Enter several cells as `register` does, in one transaction: all of them or none."""
        self._cells.register((owner, self._cells.key(owner, params)) for owner, params in cells)

    def cells(self) -> list[Cell]:
        """All registered cells, by experiment and number."""
        return [row.public() for row in self._cells.rows()]

    def status(self) -> list[CellStatus]:
        """Blocks, trials, failed trials and worker seconds of each cell.  Reads no values."""
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
        *,
        code: str = "",
        machine: str = "",
    ) -> None:
        """Commit one block in one transaction.  The same block again changes nothing.

        Parameters
        ----------
        values, reasons, seconds, code, machine : see `NewBlock`.

        Raises
        ------
        ValueError
            When the values have another shape or type, or a non-finite row has no reason.
        StoreError
            When the block is there already with other content or made by other code.
        """
        self.put_blocks(
            [NewBlock(experiment, params, block, values, reasons, seconds, code, machine)]
        )

    def put_blocks(self, blocks: Sequence[NewBlock]) -> None:
        """Commit several blocks in one transaction: all of them or none.

        Each is treated, and refused, as `put_block` says.
        """
        keys = [self._cells.key(new.experiment, new.params) for new in blocks]
        for new in blocks:
            check_block(new)
        self._cells.register((new.experiment, key) for new, key in zip(blocks, keys, strict=True))
        placed = list(zip(map(self._cells.get, keys), blocks, strict=True))
        commit_blocks(self._database, placed)
        for cell, new in placed:
            self._reader.stored(cell, new.block)

    def n_blocks(self) -> int:
        """The number of stored blocks of the whole run.  Reads one number from format 3 on."""
        return tally.stored(self._database, "block")

    def blocks(self, experiment: Experiment | str, params: Params) -> set[int]:
        """The numbers of the stored blocks of a cell (empty for a cell that is not there)."""
        row = self._cells.find(self._cells.key(experiment, params))
        return set() if row is None else self._reader.numbers(row)

    def codes(
        self, experiment: Experiment | str | None = None, params: Params | None = None
    ) -> set[str]:
        """The digests of the code that made the stored blocks.

        They are those of one cell, of an experiment without ``params``, or of the whole run.
        Reads no values.  A run of format 1 records none.
        """
        if experiment is None:
            return self._reader.codes()
        if params is None:
            name = experiment if isinstance(experiment, str) else experiment.name
            return self._reader.codes(self._cells.rows("WHERE experiment = ?", name))
        row = self._cells.find(self._cells.key(experiment, params))
        return set() if row is None else self._reader.codes([row])

    def machines(self) -> dict[str, dict[str, str]]:
        """What is known of each kind of machine that made blocks, by its name.

        Blocks of formats below 4 name no machine.  A process that is killed may have recorded its
        machine and none of its blocks.  Such a machine is left out.
        """
        known = self.documents("machine", dict[str, str])
        if not known or not self.n_blocks():
            return {}
        if len(known) == 1:  # to look at all blocks takes time, and they have no other machine
            return known
        made = self._reader.machines()
        return {name: facts for name, facts in known.items() if name in made}

    def machine_of(self, experiment: Experiment | str, params: Params, index: int) -> str:
        """The name of the machine that made a trial, empty where it is not known."""
        cell = self._cells.get(self._cells.key(experiment, params))
        return self._reader.machine(cell, index // cell.block_size)

    def n_failed(self, experiment: Experiment | str, params: Params, n_blocks: int) -> int:
        """Number of failed trials among the stored blocks below ``n_blocks`` of a cell.

        Reads no values.
        """
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
        InvalidParameter : When ``n_blocks`` is no number of blocks.
        StoreError
            When the cell is not there, a block is missing or a checksum does not match.
        """
        if n_blocks is not None:
            n_blocks = integer_between("n_blocks", n_blocks, 0, MAX_BLOCK)
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
        """SHA-256 of all simulated values.  Each block is verified when it is read.

        It depends on the cells, the block numbers, the values and the reasons.  It does not depend
        on the code, timings, documents, the order of work or the number of workers.
        """
        return self._reader.content_digest()

    # -- documents -------------------------------------------------------------------------

    def put_document(self, kind: str, key: str, doc: Mapping[str, Any]) -> None:
        """Write a JSON document in one transaction.  An older one of that key is replaced."""
        documents.write(self._database, kind, key, doc)

    @overload
    def document(self, kind: str, key: str) -> dict[str, Any] | None: ...

    @overload
    def document(self, kind: str, key: str, type_: type[T]) -> T | None: ...

    def document(self, kind: str, key: str, type_: Any = dict[str, Any]) -> Any:
        """The document of that kind and key, or None.

        Parameters
        ----------
        type_ : its required type: a `msgspec.Struct`, a dataclass, ``dict[str, float]``.

        Raises
        ------
        StoreError
            When the document is damaged, of another type, or a record with an unknown field.
        """
        return documents.read(self._database, kind, type_, key).get(key)

    @overload
    def documents(self, kind: str) -> dict[str, dict[str, Any]]: ...

    @overload
    def documents(self, kind: str, type_: type[T]) -> dict[str, T]: ...

    def documents(self, kind: str, type_: Any = dict[str, Any]) -> dict[str, Any]:
        """All documents of a kind, by key.  ``type_`` and errors are as in `document`."""
        return documents.read(self._database, kind, type_)

    # -- export ----------------------------------------------------------------------------

    def export_csv(
        self, folder: str | os.PathLike[str], missing: Mapping[str, float] = MappingProxyType({})
    ) -> list[Path]:
        """Write one long table per experiment, ``<folder>/<experiment>.csv``, and return the paths.

        A row a trial: the parameters, ``block``, ``trial``, ``status`` (``ok``, ``diverged``,
        ``raised``), ``reason`` and the values, floats in full (they read back bit for bit).  A
        parameter with the name of another column is called ``param.<name>``, and a value with the
        name of one of these four ``value.<name>``.

        ``missing`` names the value that an experiment stores where a column does not apply: its
        field is empty.
        """
        return export(self._reader, self._cells.rows(), Path(folder), "csv", missing)

    def export_parquet(
        self, folder: str | os.PathLike[str], missing: Mapping[str, float] = MappingProxyType({})
    ) -> list[Path]:
        """Write one long table per experiment as Parquet, with the columns of `export_csv`.

        What is empty there is null here.

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
        return export(self._reader, self._cells.rows(), Path(folder), "parquet", missing)

"""Reading blocks: tables, single trials, counts and the digest of a whole run."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator

import numpy as np

from trials.checks import FloatArray
from trials.run.store.cells import CellIndex
from trials.run.store.connection import Database
from trials.run.store.errors import StoreError
from trials.run.store.limits import MAX_BLOCK, is_label
from trials.run.store.records import CellStatus, Table
from trials.run.store.verification import (
    Block,
    BlockRow,
    CellRow,
    Odd,
    compact,
    is_integer,
    verified_block,
)

CACHE_BYTES = 1 << 28  # of tables that were read and verified; the least recently used go


def _append(table: Table | None, cell: CellRow, blocks: list[Block]) -> Table:
    """The table with more blocks at its end."""
    if table is not None and not blocks:
        return table
    columns = cell.public().columns
    size = cell.block_size
    parts = [block.values for block in blocks]
    reasons = [(block.number * size + row, why) for block in blocks for row, why in block.reasons]
    if table is not None:
        parts.insert(0, table.values)
        reasons[:0] = table.reasons
    values = np.concatenate(parts, dtype=np.float64) if parts else np.empty((0, len(columns)))
    failed = np.zeros(len(values), dtype=np.bool_)
    failed[[trial for trial, _ in reasons]] = True
    values.setflags(write=False)
    failed.setflags(write=False)
    return Table(columns=columns, values=values, failed=failed, reasons=tuple(reasons))


def _first(table: Table, n_trials: int) -> Table:
    """The first trials of a table.  No values are copied."""
    if n_trials == table.n_trials:
        return table
    return Table(
        columns=table.columns,
        values=table.values[:n_trials],
        failed=table.failed[:n_trials],
        reasons=tuple(pair for pair in table.reasons if pair[0] < n_trials),
    )


class TableCache:
    """Tables of whole prefixes that were read and verified, up to a number of bytes.

    Blocks never change once they are stored, so a prefix stays right when blocks are added.
    """

    def __init__(self, limit: int = CACHE_BYTES) -> None:
        self._limit = limit
        self._size = 0
        self._tables: OrderedDict[int, Table] = OrderedDict()

    def get(self, cell: int) -> Table | None:
        """The longest prefix of a cell that was read."""
        table = self._tables.get(cell)
        if table is not None:
            self._tables.move_to_end(cell)
        return table

    def put(self, cell: int, table: Table) -> None:
        """Keep a prefix in place of the cell's shorter one, and drop older ones to make room."""
        old = self._tables.pop(cell, None)
        self._size += table.values.nbytes - (old.values.nbytes if old is not None else 0)
        self._tables[cell] = table
        while self._size > self._limit:
            _, oldest = self._tables.popitem(last=False)
            self._size -= oldest.values.nbytes


class BlockReader:
    """The blocks of one run, each verified as it is read."""

    def __init__(self, database: Database, cells: CellIndex) -> None:
        self.path = database.path
        self._database = database
        self._cells = cells
        self._cache = TableCache()
        self._numbers: dict[int, set[int]] = {}  # of the cells that only this process writes

    def numbers(self, cell: CellRow) -> set[int]:
        """The numbers of the stored blocks of a cell.

        The process that writes a run reads them once and takes note of its own blocks (`stored`).
        """
        if self._database.readonly:
            return self._read_numbers(cell)
        if cell.id not in self._numbers:
            self._numbers[cell.id] = self._read_numbers(cell)
        return self._numbers[cell.id].copy()

    def stored(self, cell: CellRow, block: int) -> None:
        """Take note of a block that this process has committed."""
        if cell.id in self._numbers:
            self._numbers[cell.id].add(block)

    def _read_numbers(self, cell: CellRow) -> set[int]:
        rows = self._database.query("SELECT block FROM block WHERE cell = ?", (cell.id,))
        if not all(is_integer(block, 0, MAX_BLOCK) for (block,) in rows):
            raise StoreError(f"{self._database.path}: is damaged (the index of blocks)")
        return {block for (block,) in rows}

    def n_failed(self, cell: CellRow, n_blocks: int) -> int:
        """Number of failed trials among the stored blocks below ``n_blocks``.  Reads no values."""
        ((count,),) = self._database.query(
            "SELECT IFNULL(SUM(n_failed), 0) FROM block WHERE cell = ? AND block < ?",
            (cell.id, n_blocks),
        )
        if not is_integer(count, 0, 1 + cell.block_size * n_blocks):
            raise StoreError(f"{self._database.path}: is damaged (the numbers of failed trials)")
        return int(count)

    def codes(self, cells: Iterable[CellRow] | None = None) -> set[str]:
        """The digests of the code that made the blocks, of some cells or of all."""
        return {label.partition("@")[0] for label in self._labels(cells)}

    def machines(self) -> set[str]:
        """The names of the machines that made the blocks of the run."""
        if not self._database.format.has_machine:
            return set()
        return {label.partition("@")[2] for label in self._labels(None)}

    def machine(self, cell: CellRow, block: int) -> str:
        """The name of the machine that made a block, empty where it is not known."""
        if not self._database.format.has_machine:
            return ""
        rows = self._database.query(
            "SELECT code FROM block WHERE cell = ? AND block = ?", (cell.id, block)
        )
        return next((str(code).partition("@")[2] for (code,) in rows if is_label(code)), "")

    def _labels(self, cells: Iterable[CellRow] | None) -> set[str]:
        """The different values of the column ``code``."""
        if not self._database.format.has_code:
            return set()
        every = "SELECT DISTINCT code FROM block"
        if cells is None:
            rows = self._database.query(every)
        else:
            of_each = (self._database.query(f"{every} WHERE cell = ?", (c.id,)) for c in cells)
            rows = [row for found in of_each for row in found]
        if not all(is_label(code) for (code,) in rows):
            raise StoreError(f"{self._database.path}: is damaged (the code of a block)")
        return {code for (code,) in rows}

    def blocks(self, cell: CellRow, start: int = 0, stop: int = MAX_BLOCK) -> Iterator[Block]:
        """Blocks ``start .. stop - 1`` of a cell, ascending, each verified."""
        has_code = self._database.format.has_code
        code = "code" if has_code else "'' AS code"
        last = start - 1
        for row in self._database.scan(
            f"SELECT block, n_rows, n_columns, n_failed, reasons, {code}, "
            "checksum, data FROM block WHERE cell = ? AND block >= ? AND block < ? ORDER BY block",
            (cell.id, start, stop),
        ):
            try:
                found = verified_block(cell, BlockRow(*row), has_code=has_code)
                if not last < found.number < stop:
                    raise Odd("the index of blocks")
            except Odd as error:
                raise StoreError(f"{self._database.path}: is damaged ({error})") from None
            last = found.number
            yield found

    def table(self, cell: CellRow, n_blocks: int | None) -> Table:
        """Blocks ``0 .. n_blocks - 1`` as one table.  None means all before the first gap.

        Blocks that this process has read are kept.  Only later blocks are read, in one query.
        """
        known = self._cache.get(cell.id)
        n_known = 0 if known is None else known.n_trials // cell.block_size
        if known is not None and n_blocks is not None and n_blocks <= n_known:
            return _first(known, n_blocks * cell.block_size)
        stored = self.numbers(cell)
        if n_blocks is None:
            n_blocks = next(i for i in range(len(stored) + 1) if i not in stored)
        missing = next((i for i in range(n_blocks) if i not in stored), None)
        if missing is not None:
            raise StoreError(
                f"{self._database.path}: block {missing} of {cell.experiment}:{cell.number} is "
                f"not stored ({n_blocks} blocks asked for)"
            )
        added = list(self.blocks(cell, n_known, n_blocks))
        if len(added) != max(0, n_blocks - n_known):
            # the rows disagree with the index of blocks
            raise StoreError(f"{self._database.path}: is damaged (the index of blocks)")
        table = _append(known, cell, added)
        self._cache.put(cell.id, table)
        return _first(table, n_blocks * cell.block_size)

    def trial(self, cell: CellRow, index: int) -> tuple[FloatArray, str]:
        """One trial's values, (n_columns,), and ``ok`` or the reason of its failure."""
        number, row = divmod(index, cell.block_size)
        for block in self.blocks(cell, number, number + 1):
            return block.values[row].astype(np.float64), dict(block.reasons).get(row, "ok")
        raise StoreError(
            f"{self._database.path}: trial {index} of {cell.experiment}:{cell.number} is not stored"
        )

    def content_digest(self) -> str:
        """SHA-256 of everything that was simulated, each block verified on the way."""
        digest = hashlib.sha256()
        for cell in self._cells.rows():
            for found in self.blocks(cell):
                entry = [
                    cell.experiment,
                    cell.params,
                    found.number,
                    found.content,
                    found.packed_reasons,
                ]
                digest.update(compact(entry).encode() + b"\n")
        return digest.hexdigest()

    def status(self) -> list[CellStatus]:
        """Blocks, trials, failed trials and worker seconds of each cell.  Reads no values."""
        rows = self._database.query(
            "SELECT b.cell, COUNT(*), SUM(b.n_rows), SUM(b.n_failed), TOTAL(t.seconds) "
            "FROM block b LEFT JOIN timing t ON t.cell = b.cell AND t.block = b.block "
            "GROUP BY b.cell"
        )
        sums = {cell: counts for cell, *counts in rows}
        found = []
        for row in self._cells.rows():
            n_blocks, n_trials, n_failed, seconds = sums.get(row.id, (0, 0, 0, 0.0))
            if not (
                is_integer(n_trials, 0, 1 << 63)
                and n_trials == n_blocks * row.block_size
                and is_integer(n_failed, 0, n_trials + 1)
                and 0 <= seconds < np.inf
            ):
                raise StoreError(
                    f"{self._database.path}: is damaged (the counts of cell "
                    f"{row.experiment}:{row.number})"
                )
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

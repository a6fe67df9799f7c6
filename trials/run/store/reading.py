"""Reading blocks: tables, single trials, counts and the digest of a whole run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np

from trials.checks import FloatArray
from trials.run.store.cells import CellIndex
from trials.run.store.connection import Database
from trials.run.store.errors import StoreError
from trials.run.store.records import CellStatus, Table
from trials.run.store.verification import (
    BlockRow,
    CellRow,
    block_is_intact,
    compact,
    unpack_reasons,
)

_END = 1 << 32  # above every block number


class BlockReader:
    """The blocks of one run, each verified as it is read."""

    def __init__(self, database: Database, cells: CellIndex) -> None:
        self._database = database
        self._cells = cells

    def numbers(self, cell: CellRow) -> set[int]:
        """The numbers of the stored blocks of a cell."""
        rows = self._database.query("SELECT block FROM block WHERE cell = ?", (cell.id,))
        return {block for (block,) in rows}

    def n_failed(self, cell: CellRow, n_blocks: int) -> int:
        """Failed trials among the stored blocks below ``n_blocks``; reads no values."""
        ((count,),) = self._database.query(
            "SELECT IFNULL(SUM(n_failed), 0) FROM block WHERE cell = ? AND block < ?",
            (cell.id, n_blocks),
        )
        return int(count)

    def blocks(self, cell: CellRow, start: int = 0, stop: int = _END) -> Iterator[BlockRow]:
        """Blocks ``start .. stop - 1`` of a cell, ascending, each verified."""
        for row in self._database.scan(
            "SELECT block, n_rows, n_columns, n_failed, reasons, checksum, data FROM block "
            "WHERE cell = ? AND block >= ? AND block < ? ORDER BY block",
            (cell.id, start, stop),
        ):
            found = BlockRow(*row)
            if not block_is_intact(cell, found):
                raise StoreError(
                    f"{self._database.path}: is damaged (checksum of block {found.block} of "
                    f"{cell.experiment}:{cell.number})"
                )
            yield found

    def table(self, cell: CellRow, n_blocks: int | None) -> Table:
        """Blocks ``0 .. n_blocks - 1`` as one table; None means all before the first gap."""
        path = self._database.path
        stored = self.numbers(cell)
        if n_blocks is None:
            n_blocks = next(i for i in range(len(stored) + 1) if i not in stored)
        missing = next((i for i in range(n_blocks) if i not in stored), None)
        if missing is not None:
            raise StoreError(
                f"{path}: block {missing} of {cell.experiment}:{cell.number} is not stored "
                f"({n_blocks} blocks asked for)"
            )
        columns = cell.public().columns
        values = np.empty((n_blocks * cell.block_size, len(columns)))
        failed = np.zeros(len(values), dtype=np.bool_)
        reasons: list[tuple[int, str]] = []
        n_read = 0
        for found in self.blocks(cell, stop=n_blocks):
            if found.block != n_read:
                break
            n_read += 1
            first = found.block * cell.block_size
            values[first : first + cell.block_size] = np.frombuffer(found.data, "<f8").reshape(
                found.n_rows, found.n_columns
            )
            reasons += [(first + row, reason) for row, reason in unpack_reasons(found.reasons)]
        if n_read != n_blocks:  # the rows are not what the index of blocks says
            raise StoreError(f"{path}: is damaged (the index of blocks)")
        failed[[trial for trial, _ in reasons]] = True
        values.setflags(write=False)
        failed.setflags(write=False)
        return Table(columns=columns, values=values, failed=failed, reasons=tuple(reasons))

    def trial(self, cell: CellRow, index: int) -> tuple[FloatArray, str]:
        """One trial's values, (n_columns,), and ``ok`` or the reason of its failure."""
        block, row = divmod(index, cell.block_size)
        for found in self.blocks(cell, block, block + 1):
            values = np.frombuffer(found.data, "<f8").reshape(found.n_rows, found.n_columns)[row]
            return values.astype(np.float64), dict(unpack_reasons(found.reasons)).get(row, "ok")
        raise StoreError(
            f"{self._database.path}: trial {index} of {cell.experiment}:{cell.number} is not stored"
        )

    def content_digest(self) -> str:
        """SHA-256 of everything that was simulated, each block verified on the way."""
        digest = hashlib.sha256()
        for cell in self._cells.rows():
            for found in self.blocks(cell):
                entry = [cell.experiment, cell.params, found.block, found.checksum, found.reasons]
                digest.update(compact(entry).encode() + b"\n")
        return digest.hexdigest()

    def status(self) -> list[CellStatus]:
        """Blocks, trials, failed trials and worker seconds of each cell; reads no values."""
        rows = self._database.query(
            "SELECT b.cell, COUNT(*), SUM(b.n_rows), SUM(b.n_failed), TOTAL(t.seconds) "
            "FROM block b LEFT JOIN timing t ON t.cell = b.cell AND t.block = b.block "
            "GROUP BY b.cell"
        )
        sums = {cell: counts for cell, *counts in rows}
        found = []
        for row in self._cells.rows():
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

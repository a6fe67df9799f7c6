"""Committing blocks: the tests that they must pass, and the one transaction that stores them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from trials.checks import FloatArray, require_open
from trials.run.cell import Params
from trials.run.experiment import Experiment
from trials.run.store import tally
from trials.run.store.connection import Database
from trials.run.store.errors import StoreError
from trials.run.store.limits import MAX_BLOCK, is_label
from trials.run.store.verification import (
    CellRow,
    block_checksum,
    check_reasons,
    content_checksum,
    is_integer,
    pack_reasons,
)
from trials.text import printable


class NewBlock(NamedTuple):
    """A block to store.

    Attributes
    ----------
    values : (block_size, n_columns) float64.
    reasons : (row in the block, reason) of each failed trial.  A row with a value that is not
        finite must have one.
    seconds : worker time.  It is stored separately and takes no part in `content_digest`.
    code : digest of the code that made the block.  `RunStore.codes` lists all of them.
    machine : name of the machine that made it, the key of a document ``machine``.
    """

    experiment: Experiment
    params: Params
    block: int
    values: FloatArray
    reasons: Sequence[tuple[int, str]] = ()
    seconds: float = 0.0
    code: str = ""
    machine: str = ""

    @property
    def label(self) -> str:
        """The code and the machine, as the column ``code`` holds them."""
        return f"{self.code}@{self.machine}" if self.machine else self.code


def check_block(new: NewBlock) -> None:
    """Refuse values (n, c) that could not be read back, and rows that would hide a failed trial."""
    values, shape = new.values, (new.experiment.block_size, len(new.experiment.columns))
    if not is_integer(new.block, 0, MAX_BLOCK):
        raise ValueError(f"block={new.block!r} must be an integer from 0 to {MAX_BLOCK - 1}")
    if not is_label(new.label):
        raise ValueError(f"code={new.label!r} must be a short text of one line")
    if not 0 <= new.seconds < np.inf:
        raise ValueError(f"seconds={new.seconds!r} must be finite and not negative")
    if values.dtype != np.float64 or values.shape != shape:
        raise ValueError(
            f"block values must be float64 of shape {shape}, "
            f"not {values.dtype} of shape {values.shape}"
        )
    require_open("block values", values)
    check_reasons(values, new.reasons)


def commit_blocks(database: Database, blocks: Iterable[tuple[CellRow, NewBlock]]) -> None:
    """Store checked blocks and their timings in one transaction.

    A block that is there already changes nothing.
    """
    with database.transaction() as connection:
        rows = [_insert(database, connection, cell, new) for cell, new in blocks]
        tally.add(connection, "block", [row for row in rows if row is not None])


def _insert(
    database: Database, connection: sqlite3.Connection, cell: CellRow, new: NewBlock
) -> tuple[int, int, int, int, str] | None:
    """Insert a block (n, c) with its timing and return its counted columns, None if it is there."""
    data = new.values.astype("<f8", order="C", copy=False).tobytes()
    packed = pack_reasons([(row, printable(reason)) for row, reason in new.reasons])
    n_rows, n_columns = new.values.shape
    content = content_checksum(cell, new.block, n_rows, n_columns, packed, data)
    checksum = block_checksum(content, new.label)
    stored = connection.execute(
        "SELECT checksum, code FROM block WHERE cell = ? AND block = ?", (cell.id, new.block)
    ).fetchone()
    if stored is not None:
        _refuse_other_content(database, cell, new, checksum, *stored)
        return None
    place, n_failed = (cell.id, new.block), len(new.reasons)
    connection.execute(
        "INSERT INTO block VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*place, n_rows, n_columns, n_failed, packed, new.label, checksum, data),
    )
    connection.execute("INSERT INTO timing VALUES (?, ?, ?)", (*place, float(new.seconds)))
    return (*place, n_rows, n_failed, checksum)


def _refuse_other_content(
    database: Database, cell: CellRow, new: NewBlock, checksum: str, stored: str, label: str
) -> None:
    """Refuse a block that is stored with another checksum or another label."""
    what = f"{database.path}: block {new.block} of {cell.experiment}:{cell.number}"
    if label != new.label and label.partition("@")[0] == new.code:
        raise StoreError(f"{what} was made on another machine; it stays as it is")
    if label != new.label:
        raise StoreError(
            f"{what} was made by code {label}, now by code {new.label}; start a new run"
        )
    if stored != checksum:
        raise StoreError(
            f"{what} is stored with other content; the code or the environment has changed"
        )

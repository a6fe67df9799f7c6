"""Committing a block: the tests that it must pass, and the one transaction that stores it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trials.checks import FloatArray
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


def check_block(
    block: int,
    values: FloatArray,
    reasons: Sequence[tuple[int, str]],
    code: str,
    seconds: float,
    shape: tuple[int, int],
) -> None:
    """Refuse values (n, c) that could not be read back, and rows that would hide a failed trial."""
    if not is_integer(block, 0, MAX_BLOCK):
        raise ValueError(f"block={block!r} must be an integer from 0 to {MAX_BLOCK - 1}")
    if not is_label(code):
        raise ValueError(f"code={code!r} must be a short text of one line")
    if not 0 <= seconds < np.inf:
        raise ValueError(f"seconds={seconds!r} must be finite and not negative")
    if values.dtype != np.float64 or values.shape != shape:
        raise ValueError(
            f"block values must be float64 of shape {shape}, "
            f"not {values.dtype} of shape {values.shape}"
        )
    check_reasons(values, reasons)


def commit_block(
    database: Database,
    cell: CellRow,
    block: int,
    values: FloatArray,
    reasons: Sequence[tuple[int, str]],
    code: str,
    seconds: float,
) -> None:
    """Store a checked block (n, c) and its timing together.  The same again changes nothing."""
    data = values.astype("<f8", order="C", copy=False).tobytes()
    packed = pack_reasons([(row, printable(reason)) for row, reason in reasons])
    n_rows, n_columns = values.shape
    content = content_checksum(cell, block, n_rows, n_columns, packed, data)
    checksum = block_checksum(content, code)
    with database.transaction() as connection:
        stored = connection.execute(
            "SELECT checksum, code FROM block WHERE cell = ? AND block = ?", (cell.id, block)
        ).fetchone()
        if stored is None:
            connection.execute(
                "INSERT INTO block VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (cell.id, block, n_rows, n_columns, len(reasons), packed, code, checksum, data),
            )
            tally.add(connection, "block", (cell.id, block, n_rows, len(reasons), checksum))
            connection.execute(
                "INSERT INTO timing VALUES (?, ?, ?)", (cell.id, block, float(seconds))
            )
        elif stored[1] != code and stored[1].partition("@")[0] == code.partition("@")[0]:
            raise StoreError(
                f"{database.path}: block {block} of {cell.experiment}:{cell.number} was made on "
                "another machine; it stays as it is"
            )
        elif stored[1] != code:
            raise StoreError(
                f"{database.path}: block {block} of {cell.experiment}:{cell.number} was made by "
                f"code {stored[1]}, now by code {code}; start a new run"
            )
        elif stored[0] != checksum:
            raise StoreError(
                f"{database.path}: block {block} of {cell.experiment}:{cell.number} is stored "
                "with other content; the code or the environment has changed"
            )

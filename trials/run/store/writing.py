"""Committing a block: the tests that it must pass, and the one transaction that stores it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trials.checks import FloatArray
from trials.run.store.connection import Database
from trials.run.store.errors import StoreError
from trials.run.store.verification import CellRow, block_checksum, pack_reasons


def check_block(
    values: FloatArray, reasons: Sequence[tuple[int, str]], shape: tuple[int, int]
) -> None:
    """Refuse values of another shape or type, and rows that would hide a failed trial."""
    if values.dtype != np.float64 or values.shape != shape:
        raise ValueError(
            f"block values must be float64 of shape {shape}, "
            f"not {values.dtype} of shape {values.shape}"
        )
    rows = {row for row, _ in reasons}
    if len(rows) != len(reasons) or not rows <= set(range(shape[0])):
        raise ValueError("each failed row of a block has exactly one reason")
    if not np.isfinite(values).all():
        silent = set(np.flatnonzero(~np.isfinite(values).all(axis=1)).tolist()) - rows
        if silent:
            raise ValueError(f"row {min(silent)} is not finite and has no reason")


def commit_block(
    database: Database,
    cell: CellRow,
    block: int,
    values: FloatArray,
    reasons: Sequence[tuple[int, str]],
    seconds: float,
) -> None:
    """Store a checked block and its timing together; the same block again changes nothing."""
    data = values.astype("<f8", order="C", copy=False).tobytes()
    packed = pack_reasons(reasons)
    n_rows, n_columns = values.shape
    checksum = block_checksum(cell, block, n_rows, n_columns, packed, data)
    with database.transaction() as connection:
        stored = connection.execute(
            "SELECT checksum FROM block WHERE cell = ? AND block = ?", (cell.id, block)
        ).fetchone()
        if stored is None:
            connection.execute(
                "INSERT INTO block VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (cell.id, block, n_rows, n_columns, len(reasons), packed, checksum, data),
            )
            connection.execute(
                "INSERT INTO timing VALUES (?, ?, ?)", (cell.id, block, float(seconds))
            )
        elif stored[0] != checksum:
            raise StoreError(
                f"{database.path}: block {block} of {cell.experiment}:{cell.number} is stored "
                "with other content; the code or the environment has changed"
            )

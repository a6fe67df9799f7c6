"""What each checksum covers, and the test of a row that was read.

Every checksum is the SHA-256 of the row's content together with its place, so that a row which
was moved is noticed like a row which was changed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from trials.run.store.records import Cell


class CellRow(NamedTuple):
    """A cell as the store holds it: canonical text, so that a comparison is a comparison."""

    id: int
    experiment: str
    number: str
    design: int
    block_size: int
    columns: str
    params: str

    def public(self) -> Cell:
        """The cell as readers see it."""
        return Cell(
            experiment=self.experiment,
            number=int(self.number, 16),
            design=self.design,
            block_size=self.block_size,
            columns=tuple(json.loads(self.columns)),
            params=json.loads(self.params),
        )


class BlockRow(NamedTuple):
    """A block as the store holds it."""

    block: int
    n_rows: int
    n_columns: int
    n_failed: int
    reasons: str
    checksum: str
    data: bytes


def compact(value: Any) -> str:
    """JSON without blanks."""
    return json.dumps(value, separators=(",", ":"))


def sha256(*parts: bytes) -> str:
    """SHA-256 of the parts in a row, in hexadecimal."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def run_checksum(seed: str, config: str) -> str:
    """Checksum of the run record."""
    return sha256(seed.encode(), b"\n", config.encode())


def cell_checksum(cell: Sequence[Any]) -> str:
    """Checksum of a cell: all its columns but the row number."""
    return sha256(compact(list(cell)).encode())


def block_checksum(
    cell: CellRow, block: int, n_rows: int, n_columns: int, reasons: str, data: bytes
) -> str:
    """Covers what the values mean as well as the values: a block cannot change its place."""
    head = compact([*cell[1:], block, n_rows, n_columns, reasons])
    return sha256(head.encode(), b"\n", data)


def document_checksum(kind: str, key: str, body: str) -> str:
    """Checksum of a document: a document cannot change its kind or key."""
    return sha256(compact([kind, key]).encode(), b"\n", body.encode())


def pack_reasons(reasons: Sequence[tuple[int, str]]) -> str:
    """``{reason: [rows]}``: a whole block that raised repeats its reason once."""
    grouped: dict[str, list[int]] = {}
    for row, reason in sorted(reasons):
        grouped.setdefault(reason, []).append(int(row))
    return json.dumps(grouped, separators=(",", ":"), ensure_ascii=True)


def unpack_reasons(packed: str) -> list[tuple[int, str]]:
    """(row, reason) of each failed row, ascending."""
    return sorted((row, reason) for reason, rows in json.loads(packed).items() for row in rows)


def block_is_intact(cell: CellRow, found: BlockRow) -> bool:
    """Whether the row is what was stored; a damaged column can have any type."""
    try:
        expected = block_checksum(cell, found.block, *found[1:3], found.reasons, found.data)
        n_failed = sum(map(len, json.loads(found.reasons).values()))
    except (TypeError, ValueError, AttributeError):
        return False
    return expected == found.checksum and found.n_failed == n_failed

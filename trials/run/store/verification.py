"""The content of each checksum, and the tests of a row that was read.

Every checksum is the SHA-256 of the row's content together with its place.  So a moved row is
noticed as well as a changed one.  A checksum is no signature: anyone who makes a file can compute
it.  So every value is also tested for its type and its range.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from trials.checks import FloatArray, InvalidParameter
from trials.run.cell import canonical_json
from trials.run.store.decoding import Undecodable, decode
from trials.run.store.limits import (
    MAX_BLOCK,
    MAX_BLOCK_BYTES,
    MAX_BLOCK_ROWS,
    MAX_COLUMNS,
    MAX_DOCUMENT,
    MAX_PARAMS,
    is_label,
    is_name,
)
from trials.run.store.records import Cell

_HEX = frozenset("0123456789abcdef")


class Odd(ValueError):
    """A row that this program did not write.  The message names the fault."""


class CellRow(NamedTuple):
    """A cell in the store: its parameters are canonical text, so that equal cells have equal
    texts.
    """

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
    """A block as the store holds it.  ``code`` is empty in format 1."""

    block: int
    n_rows: int
    n_columns: int
    n_failed: int
    reasons: str
    code: str
    checksum: str
    data: bytes


class Block(NamedTuple):
    """A verified block of trials: values (n, c).

    ``content`` is the checksum of the values, their meaning and the reasons.  It leaves out the
    code, so that equal trials of two versions have equal digests.
    """

    number: int
    values: FloatArray  # (block_size, n_columns), read-only
    reasons: tuple[tuple[int, str], ...]  # (row, reason), ascending
    packed_reasons: str
    code: str
    content: str


def compact(value: Any) -> str:
    """JSON without blanks."""
    return json.dumps(value, separators=(",", ":"))


def sha256(*parts: bytes) -> str:
    """SHA-256 of the parts in a row, in hexadecimal."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


# -- checksums -----------------------------------------------------------------------------


def run_checksum(*texts: str) -> str:
    """Checksum of the run record: seed, configuration and, since format 2, code."""
    return sha256("\n".join(texts).encode())


def cell_checksum(cell: Sequence[Any]) -> str:
    """Checksum of a cell: all its columns but the row number."""
    return sha256(compact(list(cell)).encode())


def content_checksum(
    cell: CellRow, block: int, n_rows: int, n_columns: int, reasons: str, data: bytes
) -> str:
    """It covers the values and their meaning, so a block cannot change its place."""
    head = compact([*cell[1:], block, n_rows, n_columns, reasons])
    return sha256(head.encode(), b"\n", data)


def block_checksum(content: str, code: str) -> str:
    """Checksum of a block since format 2: its content and the code that made it."""
    return sha256(compact([content, code]).encode())


def document_checksum(kind: str, key: str, body: str) -> str:
    """Checksum of a document: a document cannot change its kind or key."""
    return sha256(compact([kind, key]).encode(), b"\n", body.encode())


# -- reasons -------------------------------------------------------------------------------


def pack_reasons(reasons: Sequence[tuple[int, str]]) -> str:
    """``{reason: [rows]}``: a whole block that raised repeats its reason once."""
    grouped: dict[str, list[int]] = {}
    for row, reason in sorted(reasons):
        grouped.setdefault(reason, []).append(int(row))
    return json.dumps(grouped, separators=(",", ":"), ensure_ascii=True)


def unpack_reasons(packed: object) -> tuple[tuple[int, str], ...]:
    """(row, reason) of each failed row, ascending."""
    if packed == "{}":  # nearly every block
        return ()
    grouped = decode(packed, dict[str, list[int]], limit=MAX_BLOCK_BYTES)
    return tuple(sorted((row, reason) for reason, rows in grouped.items() for row in rows))


# -- rows ----------------------------------------------------------------------------------


def is_integer(value: object, low: int, high: int) -> bool:
    """Whether this is an integer from ``low`` to ``high - 1``."""
    return isinstance(value, int) and low <= value < high


def _require(met: bool, what: str) -> None:
    if not met:
        raise Odd(what)


def verified_cell(row: Sequence[Any]) -> CellRow:
    """The cell in a row of the table (its checksum last), or `Odd`."""
    *values, checksum = row
    found = CellRow(*values)
    typed = [int, str, str, int, int, str, str]
    _require(
        all(isinstance(value, kind) for value, kind in zip(found, typed, strict=True)),
        "checksum of a cell",
    )
    place = f"cell {found.experiment}:{found.number}"
    _require(cell_checksum(values[1:]) == checksum, f"checksum of {place}")
    _require(is_name(found.experiment), f"{place} has no proper experiment name")
    number = found.number
    _require(
        len(number) == 16 and _HEX.issuperset(number),
        f"{place} has a number that is not 16 hexadecimal digits",
    )
    _require(is_integer(found.design, 0, 1 << 63), f"design of {place}")
    _require(is_integer(found.block_size, 1, MAX_BLOCK_ROWS), f"block size of {place}")
    try:
        columns = decode(found.columns, list[str], limit=MAX_DOCUMENT)
        params = decode(found.params, dict[str, Any], limit=MAX_PARAMS)
        spelled = canonical_json(params)
    except (Undecodable, InvalidParameter) as error:
        raise Odd(f"{place} {error}") from None
    _require(
        len(set(columns)) == len(columns) <= MAX_COLUMNS
        and all(map(is_label, columns))
        and found.columns == compact(columns),
        f"columns of {place}",
    )
    _require(8 * len(columns) * found.block_size <= MAX_BLOCK_BYTES, f"block size of {place}")
    _require(spelled == found.params, f"parameters of {place} are not in canonical spelling")
    return found


@lru_cache(maxsize=1024)
def _n_columns(columns: str) -> int:
    """The number of columns that a verified cell's text lists."""
    return len(json.loads(columns))


def verified_block(cell: CellRow, found: BlockRow, *, has_code: bool) -> Block:
    """Return the block in a row of the table, or raise `Odd`.

    A damaged column can have any type.
    """
    place = f"block {found.block} of {cell.experiment}:{cell.number}"
    typed = [int, int, int, int, str, str, str, bytes]
    _require(
        all(isinstance(value, kind) for value, kind in zip(found, typed, strict=True)),
        f"checksum of {place}",
    )
    content = content_checksum(cell, *found[:3], found.reasons, found.data)
    expected = block_checksum(content, found.code) if has_code else content
    _require(expected == found.checksum, f"checksum of {place}")
    n_columns = _n_columns(cell.columns)
    _require(is_integer(found.block, 0, MAX_BLOCK), f"number of {place}")
    _require((found.n_rows, found.n_columns) == (cell.block_size, n_columns), f"shape of {place}")
    _require(len(found.data) == 8 * found.n_rows * found.n_columns, f"length of {place}")
    _require(is_label(found.code), f"code of {place}")
    try:
        reasons = unpack_reasons(found.reasons)
    except Undecodable as error:
        raise Odd(f"the reasons of {place}: {error}") from None
    _require(len(reasons) == found.n_failed, f"checksum of {place}: the number of failed trials")
    values = np.frombuffer(found.data, "<f8").reshape(found.n_rows, found.n_columns)
    try:
        check_reasons(values, reasons)
    except ValueError as error:
        raise Odd(f"{place}: {error}") from None
    return Block(found.block, values, reasons, found.reasons, found.code, content)


def check_reasons(values: FloatArray, reasons: Sequence[tuple[int, str]]) -> None:
    """Refuse a row that is not finite and has no reason, which would hide a failed trial.

    Tables show the first word of a reason as the status of its trial.
    """
    rows = {row for row, _ in reasons}
    if len(rows) != len(reasons) or not all(0 <= row < len(values) for row in rows):
        raise ValueError("each failed row of a block has exactly one reason")
    if any(why.partition(":")[0].strip() in ("", "ok") for _, why in reasons):
        raise ValueError("the reason of a failed row must begin with a word, and not with ok")
    finite = np.isfinite(values)
    if not finite.all():
        silent = set(np.flatnonzero(~finite.all(axis=1)).tolist()) - rows
        if silent:
            raise ValueError(f"row {min(silent)} is not finite and has no reason")

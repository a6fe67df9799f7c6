"""Counts of the rows of a run, so that a lost row is noticed as well as a changed one.

A checksum protects a row that is read.  It says nothing of a row that has vanished with its page,
or that has moved to another cell.  So the file keeps, for each table, the number of its rows and
the sum of their weights.  The weight of a row is a hash of its place, counts and checksum.  Every
commit that adds a row adds its weight in the same transaction, and every opening compares.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Sequence
from json.encoder import encode_basestring_ascii
from typing import Any, Literal

from trials.run.store.connection import Database
from trials.run.store.errors import StoreError
from trials.run.store.verification import compact

Table = Literal["cell", "block", "document"]

#: The query that returns the columns of a row that its weight covers.  It walks the index through
#: which readers find the rows, so that a damaged index is noticed too.
COUNTED: dict[Table, str] = {
    "cell": "SELECT experiment, number, id, checksum FROM cell INDEXED BY sqlite_autoindex_cell_1",
    "block": "SELECT cell, block, n_rows, n_failed, checksum FROM block "
    "INDEXED BY sqlite_autoindex_block_1",
    "document": "SELECT kind, key, checksum FROM document",
}
_MODULUS = 1 << 128


def weight(row: Sequence[Any]) -> int:
    """A 128-bit hash of the counted columns of a row, written as JSON without blanks."""
    text = f"[{','.join(map(_spelled, row))}]"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "big")


def _spelled(value: Any) -> str:
    """A value as JSON, for which `json.dumps` takes longer.  Every opening spells all rows."""
    kind = type(value)
    if kind is int:
        return str(value)
    return encode_basestring_ascii(value) if kind is str else compact(value)


def add(
    connection: sqlite3.Connection,
    table: Table,
    rows: Sequence[Sequence[Any]],
    replaced: Sequence[Any] | None = None,
) -> None:
    """Count new rows, inside the transaction that inserts them.

    Parameters
    ----------
    rows : counted columns of the new rows.
    replaced : those of a row in whose place one of them stands.
    """
    n_rows, total = connection.execute(
        "SELECT n_rows, total FROM tally WHERE name = ?", (table,)
    ).fetchone()
    gone = 0 if replaced is None else weight(replaced)
    written = f"{(int(total, 16) + sum(map(weight, rows)) - gone) % _MODULUS:032x}"
    connection.execute(
        "UPDATE tally SET n_rows = ?, total = ? WHERE name = ?",
        (n_rows + len(rows) - (replaced is not None), written, table),
    )


def count(rows: Iterable[Sequence[Any]], limit: int | None = None) -> tuple[int, str]:
    """The number of rows and the sum of their weights.  More rows than ``limit`` are not read."""
    n_rows, total = 0, 0
    for row in rows:
        n_rows += 1
        if limit is not None and n_rows > limit:
            break
        total += weight(row)
    return n_rows, f"{total % _MODULUS:032x}"


def check(database: Database) -> None:
    """Compare the tables with their tally, as of one instant.

    Raises
    ------
    StoreError
        When a row is lost, moved or added, or when the tally itself is damaged.
    """
    with database.snapshot():
        stored = database.query("SELECT name, n_rows, total FROM tally ORDER BY name")
        if [name for name, *_ in stored] != sorted(COUNTED):
            raise StoreError(f"{database.path}: is damaged (the tally of its tables)")
        for name, n_rows, total in stored:
            limit = n_rows if isinstance(n_rows, int) else 0
            rows = database.scan(COUNTED[name])
            try:
                found = count(rows, limit)
            except TypeError:  # a BLOB, which no row of this program has here
                found = None
            if found != (n_rows, total):
                raise StoreError(
                    f"{database.path}: is damaged (rows of the table {name!r} are lost, moved or "
                    "added)"
                )


def stored(database: Database, table: Table) -> int:
    """The number of rows of a table, as it was counted.  Formats without counts are counted now."""
    query = "SELECT n_rows FROM tally WHERE name = ?1"
    if not database.format.has_tally:
        query = f"SELECT count(*) FROM {table} WHERE ?1 IS NOT NULL"
    ((n_rows,),) = database.query(query, (table,))
    return int(n_rows)

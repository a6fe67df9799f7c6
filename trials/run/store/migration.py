"""The formats of the run file that can be read or continued, and the reasons for the others.

A run of format 1 does not record the code that made its blocks.  Nothing can add that later, so
such a run is read as it is and never continued.  A run of format 2 does not count its rows.  They
are counted with the first commit that continues it, and it has format 3 from then on.
"""

from __future__ import annotations

from pathlib import Path

from trials.run.store import tally
from trials.run.store.connection import Database
from trials.run.store.errors import StoreError
from trials.run.store.schema import CURRENT, FORMATS, TALLY, Format


def usable_format(path: Path, version: int, *, readonly: bool) -> Format:
    """The format of that number, if it can be used as asked.

    Raises
    ------
    StoreError
        When the format is newer or unknown, or older and the run is to be continued.
    """
    found = FORMATS.get(version)
    if found is None:
        newer = version > CURRENT.version
        raise StoreError(
            f"{path}: has store format {version}; this cfl-verify reads formats "
            f"{min(FORMATS)} to {CURRENT.version}"
            + ("; upgrade cfl-verify" if newer else "; no version of cfl-verify wrote it")
        )
    if not readonly and not found.has_code:
        raise StoreError(
            f"{path}: was made by {found.made_by} (store format {version}), which did not record "
            "the code of each block; it can be read and reported but not continued: start a new "
            "run"
        )
    return found


def count_rows(database: Database) -> Format:
    """Count the rows of a run of format 2, inside a transaction.  The run has format 3 then."""
    counts = {table: tally.count(database.scan(query)) for table, query in tally.COUNTED.items()}
    database.execute(TALLY)
    for table, (n_rows, total) in counts.items():
        database.execute("INSERT INTO tally VALUES (?, ?, ?)", (table, n_rows, total))
    database.execute(f"PRAGMA user_version = {CURRENT.version}")
    return CURRENT

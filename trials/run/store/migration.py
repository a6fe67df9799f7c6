"""Which formats of the run file can be read, which can be continued, and why not.

A run of format 1 does not record the code that made its blocks.  Nothing can add that later, so
such a run is read as it is and never continued.
"""

from __future__ import annotations

from pathlib import Path

from trials.run.store.errors import StoreError
from trials.run.store.schema import CURRENT, FORMATS, Format


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
    if not readonly and found is not CURRENT:
        raise StoreError(
            f"{path}: was made by {found.made_by} (store format {version}), which did not record "
            "the code of each block; it can be read and reported but not continued: start a new "
            "run"
        )
    return found

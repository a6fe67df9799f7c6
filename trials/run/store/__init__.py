"""The run store: one SQLite file a run, a checksum a block of trials.

Blocks that finish shortly after each other are committed together.  A run that is killed at any
instant loses only the blocks in computation and those of the last quarter of a second.  A block is
either stored whole, with the SHA-256 of its content, or absent.  A file that is damaged, that
belongs to another program or to a newer version is refused with a `StoreError` of one line.

One process writes at a time.  A process that opens a run for writing holds a lock until it closes
the run.  A second one is refused at once.  The operating system's lock on an empty file beside the
run (``<run>-lock``) is used.  It ends with its process, also when that is killed.  Readers need no
lock.

A run may come from a stranger.  So every value that is read must have its declared type and hold no
control characters, and the reading is bounded in size, time and depth (`limits`, `text`,
`decoding`).

One module for each reason to change: `schema` and `migration` (tables and their versions),
`files`, `opening`, `connection` and `lock` (the file), `cells`, `writing`, `reading` and
`verification` (trials), `documents` and `decoding`, `export`, `backup`.
"""

from trials.run.store.errors import Hindered, StoreError
from trials.run.store.records import Cell, CellStatus, Table
from trials.run.store.run_store import RunStore
from trials.run.store.schema import APPLICATION_ID, SCHEMA_VERSION
from trials.run.store.writing import NewBlock

__all__ = [
    "APPLICATION_ID",
    "SCHEMA_VERSION",
    "Cell",
    "CellStatus",
    "Hindered",
    "NewBlock",
    "RunStore",
    "StoreError",
    "Table",
]

"""Write the records anew: all of them, or those of some kinds.

``python -m tests.records`` or ``python -m tests.records functions claims``.  Cells, points and
inputs that are recorded are kept.  ``--new`` writes what has no record yet, and which functions the
new records reach.  The kind ``reach`` is that of all records.
"""

from __future__ import annotations

import argparse
import importlib

from tests.records import reach
from tests.records.files import read, remove_others, save

KINDS = (
    "experiments",
    "functions",
    "calls",
    "claims",
    "searches",
    "documents",
    "commands",
    "subjects",
)


def main() -> None:
    """Write the files below `tests/records/data/`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", default=list(KINDS), help=", ".join(KINDS))
    parser.add_argument("--new", action="store_true", help="only what has no record yet")
    given = parser.parse_args()
    for kind in (kind for kind in given.kinds if kind != "reach"):
        module = importlib.import_module(f"tests.records.{kind}")
        entries: dict[str, dict[str, object]] = {}
        for name, owner in module.names().items():
            old = read(kind, owner).get(name, {})
            kept = old if given.new and old else module.fresh(name, old)
            entries.setdefault(owner, {})[name] = kept
            save(kind, owner, {**read(kind, owner), **entries[owner]})
        for owner, found in entries.items():
            save(kind, owner, found)
        remove_others(kind, entries)
        print(f"{kind}: {sum(map(len, entries.values()))} entries of {len(entries)} modules")
    if given.new:
        reach.note_new(KINDS)
    elif set(given.kinds) >= {*KINDS} or "reach" in given.kinds:
        reach.note_all(KINDS)


if __name__ == "__main__":
    main()

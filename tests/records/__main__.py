"""Write the records anew: all of them, or those of some kinds.

``python -m tests.records`` or ``python -m tests.records functions claims``.
"""

from __future__ import annotations

import argparse
import importlib

from tests.records.files import read, remove_others, save

KINDS = ("experiments", "functions")


def main() -> None:
    """Write the files below `tests/records/data/`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", default=list(KINDS), help=", ".join(KINDS))
    for kind in parser.parse_args().kinds:
        module = importlib.import_module(f"tests.records.{kind}")
        entries: dict[str, dict[str, object]] = {}
        for name, owner in module.names().items():
            old = read(kind, owner).get(name, {})
            entries.setdefault(owner, {})[name] = module.fresh(name, old)
            save(kind, owner, {**read(kind, owner), **entries[owner]})
        for owner, found in entries.items():
            save(kind, owner, found)
        remove_others(kind, entries)
        print(f"{kind}: {sum(map(len, entries.values()))} entries of {len(entries)} modules")


if __name__ == "__main__":
    main()

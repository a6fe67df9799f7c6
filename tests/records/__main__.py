"""Write records anew, or show what has changed.

``python -m tests.records`` writes all of them.  ``python -m tests.records ifca.eq3 'sxy.*' calls``
writes those of some entries and kinds.  ``--diff`` shows the recorded and the new values side by
side, and writes nothing.  ``--new`` writes what has no record yet, and which functions the new
records reach.

Cells, points and inputs that are recorded are kept.  The kind ``reach`` is that of all records.
Sentences that have become common to many claims become phrases when ``phrases`` is written.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

import reports.cache
from tests.records import claims, phrases, reach
from tests.records.files import as_read, read, recorded_names, remove_others, save, side_by_side
from tests.records.kinds import KINDS, chosen, names
from tests.records.values import differences, in_old_words


def main() -> None:
    """Write the files below `tests/records/data/`."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("entries", nargs="*", help="entries, patterns of entries, or kinds")
    parser.add_argument("--diff", action="store_true", help="show what has changed, write nothing")
    parser.add_argument("--new", action="store_true", help="only what has no record yet")
    given = parser.parse_args()
    vars(reports.cache)["_folder"] = lambda _base: None  # a drawing that was kept hides a change
    if given.diff:
        raise SystemExit(sum(show(kind, name) for kind, name in selected(given.entries)))
    if given.new:
        write([(kind, name) for kind in KINDS for name in names(kind) if not read(kind, name)])
        reach.note_new(KINDS)
        return
    write([*selected(given.entries)])
    if not given.entries or "reach" in given.entries:
        reach.note_all(KINDS)


def selected(wanted: list[str]) -> Iterator[tuple[str, str]]:
    """(kind, name) of the entries that are wanted, all where nothing is named.

    The modules of a kind are loaded only where a name has no record yet.
    """
    wanted = [each for each in wanted if each != "reach"] if wanted else [*KINDS]
    for each in wanted:
        if each in KINDS:
            yield from ((each, name) for name in names(each))
            continue
        found = [*matching(each, recorded_names)] or [*matching(each, names)]
        if not found:
            raise SystemExit(f"no entry {each!r}; kinds: {', '.join(KINDS)}")
        yield from found


def matching(pattern: str, entries: Any) -> Iterator[tuple[str, str]]:
    """The entries with a name, or with a name of a pattern.  Brackets are letters of names."""
    for kind in KINDS:
        for name in entries(kind):
            full = f"{kind} {name}"
            if pattern in (name, full) or any(fnmatchcase(n, pattern) for n in (name, full)):
                yield kind, name


def show(kind: str, name: str) -> bool:
    """Print what has changed in an entry, and say whether anything has."""
    old, new = read(kind, name), as_read(chosen(kind, name))
    if not differences(old, new):
        return False
    print(f"\n{kind} {name}")
    print("\n".join(side_by_side(old, in_old_words(old, new))))
    return True


def write(entries: list[tuple[str, str]]) -> None:
    """Write these entries, and the claims without the phrases that have become common."""
    for kind, name in entries:
        value = as_read(chosen(kind, name))
        save(kind, name, phrases.shortened(value) if kind == claims.KIND else value)
    if (phrases.KIND, phrases.NAME) in entries:
        phrases.known.cache_clear()
        for name in recorded_names(claims.KIND):
            save(claims.KIND, name, phrases.shortened(read(claims.KIND, name)))
    for kind, number in Counter(kind for kind, _ in entries).items():
        remove_others(kind, names(kind))
        print(f"{kind}: {number} entries")


if __name__ == "__main__":
    main()

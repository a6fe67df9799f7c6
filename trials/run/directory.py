"""Run directories: how the name of a run finds one, the same way in every command.

A run is a directory with one store file in it.  A name is read in this order:

1. ``latest``: the run below ``./runs`` that was written last, of any size,
2. the path of a run directory, or of the store file inside it,
3. the name of a directory below ``./runs``.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from trials.run.store import StoreError
from trials.text import shorten

STORE_NAME = "store.sqlite"
RUNS = Path("runs")
LATEST = "latest"


def find_run(name: str | os.PathLike[str]) -> Path:
    """Return the run directory that a name means, by the module's rule.

    Raises
    ------
    StoreError
        When there is no such run.  The message lists the accepted forms of a name.
    """
    text = os.fspath(name)
    if text == LATEST:
        newest = next(known_runs(), None)
        if newest is None:
            raise StoreError(f"there is no run under {RUNS}/ here; start one with `cfl-verify run`")
        return newest
    if text and "\0" not in text:
        path = Path(text)
        if path.name == STORE_NAME and _is_file(path):
            return path.parent
        for candidate in (path, RUNS / path):
            if _is_file(candidate / STORE_NAME):
                return candidate
    raise StoreError(
        f"{shorten(repr(text))}: no run here (no {STORE_NAME}); name a run directory, one "
        f"below {RUNS}/, or `{LATEST}`"
    )


def make_run_directory(stem: str) -> Path:
    """Make the directory of a new run below ``./runs``, named by a stem and the time of now.

    It is made at once, because another run may start in the same second.  The second run of a
    second is numbered ``-2``.
    """
    RUNS.mkdir(exist_ok=True)
    name = f"{stem}-{datetime.now(UTC):%Y%m%dT%H%M%S}"
    for each in numbered(name):
        path = RUNS / each
        with contextlib.suppress(FileExistsError):
            path.mkdir()
            break
    return path


def numbered(name: str) -> Iterator[str]:
    """A name, and then the same with a number from 2 on.

    >>> names = numbered("rows")
    >>> next(names), next(names), next(names)
    ('rows', 'rows-2', 'rows-3')
    """
    yield name
    for i in itertools.count(2):
        yield f"{name}-{i}"


def known_runs() -> Iterator[Path]:
    """The run directories below ``./runs``, the one that was written last first."""
    found = []
    for store in RUNS.glob(f"*/{STORE_NAME}"):
        try:
            found.append((_find_time(store), store.parent))
        except OSError:  # it went away meanwhile, or may not be read
            continue
    for _, directory in sorted(found, reverse=True):
        yield directory


def _find_time(store: Path) -> int:
    """Time of a store's last write, in nanoseconds.

    The log counts too, because a run under way writes to it first.
    """
    times = [store.stat().st_mtime_ns]
    log = store.with_name(store.name + "-wal")
    if log.exists() and (status := log.stat()).st_size > 0:
        times.append(status.st_mtime_ns)
    return max(times)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that the file system does not take
        return False

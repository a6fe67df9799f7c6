"""The files of a run on disk: which files its name may refer to, and how a new one is made.

A new run is written under another name and gets its own name when it is complete.  So a file under
a run's name is a whole run, or is empty.  An empty file is left by a start that was killed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from trials.run.store.errors import StoreError

HEADER_BYTES = 100
_COMPANIONS = ("-journal", "-wal", "-shm")
_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def beside(path: Path, suffix: str) -> Path:
    """The file ``<run><suffix>`` next to a run, also where ``path`` is a link to it.

    SQLite writes its log beside the file itself.
    """
    path = path.resolve()
    return path.with_name(path.name + suffix)


def size_of(path: Path) -> int | None:
    """Bytes of a file, or None where it does not exist or cannot be looked at."""
    try:
        return path.stat().st_size
    except OSError:
        return None


def oddity(path: Path) -> str | None:
    """Return the kind of a file that is not plain, such as "a named pipe", else None.

    Opening anything else could wait for ever.

    Raises
    ------
    OSError
        As `os.stat` does, `FileNotFoundError` included.
    """
    kind = stat.S_IFMT(path.stat().st_mode)
    return None if kind == stat.S_IFREG else _KINDS.get(kind, "no plain file")


def read_header(path: Path) -> bytes:
    """The first bytes of a run's file, after checks that it can be opened as a database."""
    try:
        odd = oddity(path)
        if odd is not None:
            raise StoreError(f"{path}: is {odd}; a run is one file")
        with path.open("rb") as file:
            header = file.read(HEADER_BYTES)
    except FileNotFoundError:
        raise StoreError(f"{path}: no such run") from None
    except (OSError, ValueError) as error:  # ValueError: a null byte in the path
        reason = getattr(error, "strerror", None) or str(error)
        raise StoreError(f"{path}: cannot be read ({reason})") from None
    if not header:
        raise StoreError(
            f"{path}: is an empty file, left by a run that was stopped before it began; start "
            "that run again"
        )
    if header[:16] != b"SQLite format 3\0":
        raise StoreError(f"{path}: is not a run (not an SQLite file)")
    for suffix in ("-wal", "-shm"):
        with suppress(FileNotFoundError):
            odd = oddity(beside(path, suffix))
            if odd is not None:
                raise StoreError(f"{path}: cannot be read ({path.name}{suffix} is {odd})")
    if beside(path, "-journal").exists():
        raise StoreError(
            f"{path}: has a rollback journal beside it ({path.name}-journal); a run has none, so "
            "another program wrote here"
        )
    # SQLite takes a partial last page for a whole one.  Without a log, the file must be as
    # long as its header says (page size 1 means 65536).
    page_size = int.from_bytes(header[16:18], "big")
    length = (1 << 16 if page_size == 1 else page_size) * int.from_bytes(header[28:32], "big")
    if not size_of(beside(path, "-wal")) and (size_of(path) or 0) < length:
        raise StoreError(
            f"{path}: is damaged (shorter than its header says; a run that was copied while it "
            f"ran needs {path.name}-wal and {path.name}-shm as well)"
        )
    return header


def claim(path: Path) -> None:
    """Reserve the name for a new run by an empty file.

    Raises
    ------
    StoreError
        When something with content is there already, or the file cannot be made.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o644))
    except FileExistsError:
        if not is_unused(path):
            raise StoreError(f"{path}: exists already; resume it or name another file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise StoreError(f"{path}: cannot be created ({reason})") from None


def is_unused(path: Path) -> bool:
    """Whether a new run may take this name: nothing is there, or an empty file without a log."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(found.st_mode) and not found.st_size and not size_of(beside(path, "-wal"))


@contextmanager
def unfinished(path: Path) -> Iterator[Path]:
    """Yield the temporary name under which a new file is written.

    The file is renamed to ``path`` when nothing was raised.

    The caller holds the run's lock and has claimed the name.  If a step fails, both files go.
    """
    partial = beside(path, "-new")
    _remove(partial)
    try:
        yield partial
        for suffix in _COMPANIONS:  # empty files that a reader made while it verified the file
            beside(partial, suffix).unlink(missing_ok=True)
        partial.replace(path)
    except BaseException:
        _remove(partial)
        path.unlink(missing_ok=True)
        raise


def _remove(path: Path) -> None:
    for suffix in ("", *_COMPANIONS):
        beside(path, suffix).unlink(missing_ok=True)

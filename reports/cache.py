"""Drawings of earlier reports, kept in this user's cache folder under the digest of their data.

A run directory may come from a stranger, so nothing beside a run is taken for a drawing of ours.
The folder must belong to this user, and no one else may write it.  Without such a folder everything
is drawn again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

from trials.jit_cache import objection

FOLDER = "cfl-verify-figures"
#: Bytes that the folder may hold.  The drawings that were not used for longest go first.
LIMIT = 400_000_000
_DAY = 86_400.0


@cache
def _folder(base: str) -> Path | None:
    """The folder, or None where there is no private one.  Old drawings are removed."""
    try:
        root = Path(base) if os.path.isabs(base) else Path.home() / ".cache"
    except RuntimeError:
        return None
    folder = root / FOLDER
    if objection(folder) is not None:
        return None
    with contextlib.suppress(OSError):
        _prune(folder)
    return folder


def _prune(folder: Path) -> None:
    """Remove the drawings that were not used for longest, down to the limit."""
    found = [(path.stat().st_mtime, path.stat().st_size, path) for path in folder.iterdir()]
    total = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if total <= LIMIT:
            break
        path.unlink(missing_ok=True)
        total -= size


def keep(key: bytes, make: Callable[[], bytes]) -> bytes:
    """The bytes of ``make``, from the cache where it has them.

    ``key`` must name everything that they depend on.
    """
    folder = _folder(os.environ.get("XDG_CACHE_HOME", ""))
    if folder is None:
        return make()
    path = folder / hashlib.sha256(key).hexdigest()
    with contextlib.suppress(OSError):
        content = path.read_bytes()
        if time.time() - path.stat().st_mtime > _DAY:
            os.utime(path)
        digest, content = content[:32], content[32:]
        if hashlib.sha256(content).digest() == digest:  # half a file is none
            return content
    content = make()
    with contextlib.suppress(OSError):
        partial = folder / f"{path.name}.{os.getpid()}"
        partial.write_bytes(hashlib.sha256(content).digest() + content)
        os.replace(partial, path)
    return content

"""The index of the catalogue: the data of ``list`` and ``info``, kept on disk between calls.

Building the claims loads the numerical libraries, which takes seconds.  The index is made once for
each state of the sources and of those libraries, as plain JSON in the user's cache folder.  Papers
from outside this installation are never kept, because their changes cannot be noticed: those of a
file of one's own are built beside the index, and those of another distribution with all others.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
from collections.abc import Collection, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_FORMAT = 1
_PACKAGES = ("bounds", "trials", "verify")
_LIBRARIES = ("numpy", "scipy", "sympy")
_KEPT = 6

Index = dict[str, dict[str, Any]]


def entries(claims_files: Sequence[str]) -> Index:
    """One entry for each claim, in the catalogue's order (`verify.cli.describe.build_index`)."""
    if _foreign_papers():
        return _build(claims_files)
    ours = _ours()
    return ours | _build(claims_files, ours) if claims_files else ours


def _ours() -> Index:
    """The entries of the suite's own claims, kept between calls."""
    path = _path()
    found = None if path is None else _read(path)
    if found is not None:
        return found
    if sys.stderr is not None and sys.stderr.isatty():
        print("reading the catalogue (a few seconds; kept for the next call)", file=sys.stderr)
    built = _build(())
    if path is not None:
        _write(path, built)
    return built


def _build(claims_files: Sequence[str], without: Collection[str] = ()) -> Index:
    from verify.cli.describe import build_index

    return build_index(claims_files, without)


def _foreign_papers() -> bool:
    """Whether another distribution offers papers."""
    from importlib.metadata import entry_points

    return any(
        entry.value.split(":")[0].split(".")[0] not in _PACKAGES
        for entry in entry_points(group="cfl_verify.papers")
    )


def sources_digest(names: Sequence[str] = _PACKAGES) -> str:
    """A digest of every source that the index depends on, and of the libraries' builds."""
    digest = hashlib.sha256(f"{_FORMAT} {sys.version}".encode())
    for name in names:
        package = _origin(name).parent
        for path in sorted(package.rglob("*.py")):
            content = path.read_bytes()
            digest.update(f"{name}/{path.relative_to(package)} {len(content)}\n".encode() + content)
    for name in _LIBRARIES:
        origin = _origin(name)
        status = origin.stat()
        digest.update(f"{origin} {status.st_mtime_ns} {status.st_size}".encode())
    return digest.hexdigest()[:32]


def _origin(name: str) -> Path:
    """The file of a package, without importing it."""
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise OSError(f"package {name!r} is not found")
    return Path(spec.origin)


def _path() -> Path | None:
    """The path of the index, or None where this user has no private folder for it."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        root = Path(base) if os.path.isabs(base) else Path.home() / ".cache"
        folder = root / "cfl-verify" / "catalogue"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return folder / f"{sources_digest()}.json" if _private(folder) else None
    except (OSError, RuntimeError, ValueError):
        return None


def _private(path: Path) -> bool:
    """Whether no other user could have written it."""
    if not hasattr(os, "getuid"):
        return True
    status = path.stat()
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _read(path: Path) -> Index | None:
    """The stored index, or None when there is none or it is damaged."""
    try:
        if not _private(path):
            return None
        stored = json.loads(path.read_bytes())
        if stored["format"] == _FORMAT and isinstance(stored["claims"], dict):
            claims: Index = stored["claims"]
            return claims
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    return None


def _write(path: Path, index: Index) -> None:
    """Keep the index, whole or not at all, and drop those of sources long gone."""
    partial = path.with_name(f"{path.stem}.{os.getpid()}.part")
    try:
        partial.write_text(json.dumps({"format": _FORMAT, "claims": index}), encoding="utf-8")
        partial.chmod(0o600)
        partial.replace(path)
        aged = sorted(path.parent.glob("*.json"), key=lambda p: p.stat().st_mtime, reverse=True)
        for old in aged[_KEPT:]:
            old.unlink(missing_ok=True)
    except OSError:
        partial.unlink(missing_ok=True)

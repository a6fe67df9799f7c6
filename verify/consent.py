"""Which files of one's own may be run because of a stored run: those that this user ran before.

A store names the claims files of its run.  Whoever made the store chose those names, so they are no
reason to run anything.  A file is run when the user names it, or when this user has run the same
text at the same path before.  The list of such files is kept in the user's folder of states,
outside every run: ``$XDG_STATE_HOME/cfl-verify``, or ``~/.local/state/cfl-verify``.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

MOST = 1000  # files; the oldest are forgotten first


def remember(files: Mapping[Path, str]) -> None:
    """Note that the user ran these files: path -> SHA-256 of the text.

    Without a folder to write in nothing is noted, and the user names the files each time.
    """
    if not files:
        return
    named = {str(path.resolve()): sha256 for path, sha256 in files.items()}
    older = {path: sha256 for path, sha256 in _read_list().items() if path not in named}
    kept = older | named  # a file that is run again is the newest
    with contextlib.suppress(OSError, RuntimeError):
        _write(_path(), json.dumps(dict(list(kept.items())[-MOST:]), indent=0))


def is_remembered(path: Path, sha256: str) -> bool:
    """Whether the user ran a text with this SHA-256 at this path."""
    return _read_list().get(str(path.resolve())) == sha256


def _path() -> Path:
    base = os.environ.get("XDG_STATE_HOME", "")
    root = Path(base) if os.path.isabs(base) else Path.home() / ".local" / "state"
    return root / "cfl-verify" / "claims-files.json"


def _read_list() -> dict[str, str]:
    """The list, empty where it is missing, damaged, or may be written by another user."""
    with contextlib.suppress(OSError, RuntimeError, ValueError):
        with open(_path(), encoding="utf-8") as file:
            status = os.fstat(file.fileno())
            if os.name == "posix" and (status.st_mode & 0o022 or status.st_uid != os.geteuid()):
                return {}
            found = json.load(file)
        if isinstance(found, dict):
            return {str(path): str(sha256) for path, sha256 in found.items()}
    return {}


def _write(path: Path, text: str) -> None:
    """Write a file whole, readable by the user alone."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor, name = tempfile.mkstemp(dir=path.parent)
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(name, path)
    except OSError:
        os.unlink(name)
        raise

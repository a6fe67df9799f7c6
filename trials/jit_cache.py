"""Where compiled kernels are kept: a directory named by the hash of this package's sources.

Numba's ``cache=True`` looks at the file that holds a kernel, not at the helpers in other files that
it inlines, so an edited helper would leave stale machine code behind.  With one directory for each
state of the sources that cannot happen.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from pathlib import Path


def sources_hash(package: Path) -> str:
    """A short hash of every Python source below ``package``: names and contents."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(str(path.relative_to(package)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def directory(package: Path) -> Path:
    """The cache directory for the present sources, under the user's cache folder or, where that
    cannot be written, under the system's temporary folder."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    wanted = base / "cfl-verify" / "numba" / sources_hash(package)
    try:
        wanted.mkdir(parents=True, exist_ok=True)
    except OSError:
        wanted = Path(tempfile.gettempdir()) / "cfl-verify-numba" / sources_hash(package)
        wanted.mkdir(parents=True, exist_ok=True)
    return wanted


def configure() -> None:
    """Point Numba at the directory, unless the user has chosen one with NUMBA_CACHE_DIR."""
    if os.environ.get("NUMBA_CACHE_DIR"):
        return
    chosen = str(directory(Path(__file__).parent))
    os.environ["NUMBA_CACHE_DIR"] = chosen  # inherited by worker processes
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = chosen

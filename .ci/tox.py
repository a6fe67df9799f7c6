#!/usr/bin/env python3
"""Run tox from nothing but Python 3.11: `python3 .ci/tox.py -e verify`.

Makes a private virtual environment under .tox/, installs tox there, prepares the environments that
are asked for (with retries, because package downloads fail now and then), and runs them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / ".tox" / "bootstrap"
PYTHON = HOME / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
TOX = "tox>=4.24,<5"
ATTEMPTS = 4


def retried(command: list[str]) -> int:
    """Run a command until it succeeds, with growing pauses; the last exit status."""
    for attempt in range(ATTEMPTS):
        status = subprocess.call(command, cwd=ROOT)
        if status == 0 or attempt == ATTEMPTS - 1:
            return status
        pause = 5 * 2**attempt
        print(f"attempt {attempt + 1} of {ATTEMPTS} failed; again in {pause} s", file=sys.stderr)
        time.sleep(pause)
    return 1


def main(arguments: list[str]) -> int:
    """Prepare, then run."""
    if sys.version_info < (3, 11):
        print(f"Python 3.11 or newer is needed; this is {sys.version.split()[0]}", file=sys.stderr)
        return 3
    if not PYTHON.exists():
        venv.EnvBuilder(with_pip=True, clear=True).create(HOME)
    if subprocess.call([PYTHON, "-c", "import tox"], stderr=subprocess.DEVNULL) != 0:
        print("installing tox into .tox/bootstrap", file=sys.stderr)
        status = retried([str(PYTHON), "-m", "pip", "install", "--quiet", TOX])
        if status != 0:
            return status
    split = arguments.index("--") if "--" in arguments else len(arguments)
    tox = [str(PYTHON), "-m", "tox", "run"]
    status = retried([*tox, *arguments[:split], "--notest", "--quiet"])
    if status != 0:
        return status
    return subprocess.call(
        [*tox, *arguments[:split], "--skip-pkg-install", *arguments[split:]], cwd=ROOT
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

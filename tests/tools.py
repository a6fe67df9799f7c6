"""The tools of the tasks: their versions with hashes, and what they say of a release.

python -m tests.tools                 write requirements/tools/ (the task lock, which has uv)
python -m tests.tools check FOLDER    the wheel and the archive in a folder (the task dist)
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ROOT / "requirements" / "tools"
#: Groups of `pyproject.toml` that stand alone, and those that are installed beside the tests.
ALONE, BESIDE = ("tox", "lint", "backend", "build"), ("types", "docs", "browser", "explore")
#: Four packages at the top level are meant: they are the layout of this project.
_WHEEL = ["--toplevel", "bounds,reports,trials,verify"]


def groups() -> dict[str, list[str]]:
    """The groups of `pyproject.toml` and what they ask for."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["dependency-groups"]


def lock(group: str) -> list[str]:
    """The command that writes the file of one group."""
    beside = [] if group in ALONE else ["--constraint", "requirements/tests.txt"]
    return [
        *("uv", "pip", "compile", "--group", f"pyproject.toml:{group}", "--universal"),
        *("--python-version", "3.11", "--generate-hashes", "--no-header", "--quiet", "--upgrade"),
        *beside,
        *("-o", f"requirements/tools/{group}.txt"),
    ]


def checks(folder: Path) -> list[list[str]]:
    """The commands that look at a wheel and a source archive.

    Raises
    ------
    SystemExit
        where the folder does not hold one of each.
    """
    wheels, archives = sorted(folder.glob("*.whl")), sorted(folder.glob("*.tar.gz"))
    if len(wheels) != 1 or len(archives) != 1:
        raise SystemExit(
            f"{folder} holds {len(wheels)} wheels and {len(archives)} archives; empty it and build "
            "again"
        )
    return [
        [sys.executable, "-m", "twine", "check", "--strict", str(wheels[0]), str(archives[0])],
        [sys.executable, "-m", "check_wheel_contents", *_WHEEL, str(wheels[0])],
    ]


def main(arguments: Sequence[str]) -> int:
    """Run the commands, and stop at the first that fails."""
    match arguments:
        case []:
            commands = [lock(group) for group in (*ALONE, *BESIDE)]
        case ["check", folder]:
            commands = checks(Path(folder))
        case _:
            print(__doc__, file=sys.stderr)
            return 3
    return next((code for c in commands if (code := subprocess.call(c, cwd=ROOT))), 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

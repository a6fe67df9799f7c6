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
#: tox and all that it needs, with their hashes.
TOX = ROOT / "requirements" / "tools" / "tox.txt"
ATTEMPTS = 4


#: A silent command says that it is still at work after so many seconds.
PATIENCE = 30
INTERRUPTED = 130


def say(text: str) -> None:
    """One line to the person who waits."""
    print(text, file=sys.stderr, flush=True)


def patiently(command: list[str]) -> int:
    """Run a command that prints nothing, and say now and then that it is still at work."""
    begin = time.monotonic()
    child = subprocess.Popen(command, cwd=ROOT)
    while True:
        try:
            return child.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            say(f"  still at work after {time.monotonic() - begin:.0f} s")
        except KeyboardInterrupt:
            child.wait()
            raise


def retried(command: list[str]) -> int:
    """Run a command until it succeeds, with growing pauses.  Returns the last exit status."""
    for attempt in range(ATTEMPTS):
        status = patiently(command)
        if status == 0 or attempt == ATTEMPTS - 1:
            return status
        pause = 5 * 2**attempt
        say(f"attempt {attempt + 1} of {ATTEMPTS} failed; again in {pause} s")
        time.sleep(pause)
    return 1


def environments(arguments: list[str]) -> list[str]:
    """The environments that `-e NAME,NAME` names."""
    names: list[str] = []
    for option, value in zip(arguments, [*arguments[1:], ""], strict=False):
        if option == "-e":
            names += value.split(",")
        elif option.startswith("-e") and not option.startswith("--"):
            names += option[2:].split(",")
    return [name for name in names if name]


def announcement(names: list[str]) -> str:
    """What the next silent phase does and how long it usually takes."""
    missing = [name for name in names if not (ROOT / ".tox" / name).is_dir()]
    if not missing:
        return "checking the environments below .tox/ (usually some seconds)"
    return (
        f"installing what {', '.join(missing)} needs below .tox/ (the first time usually one to "
        "five minutes, a few hundred megabytes)"
    )


def closing(names: list[str]) -> list[str]:
    """The commands that work next, from the project's folder."""
    folder = Path(".tox", "verify", "Scripts" if os.name == "nt" else "bin")
    program = folder / ("cfl-verify.exe" if os.name == "nt" else "cfl-verify")
    if "verify" not in names or not (ROOT / program).exists():
        return []
    return [
        "",
        "What works next, here:",
        f"  {program} list                 all claims",
        f"  {program} status latest        this run, with trials to replay",
        f"  {program} report latest        its report again",
        "To have `cfl-verify` everywhere: pip install .",
    ]


def prepare() -> int:
    """Make the private environment with tox in it, unless it is there."""
    if not PYTHON.exists():
        say("making a private environment in .tox/bootstrap (usually 10 s)")
        venv.EnvBuilder(with_pip=True, clear=True).create(HOME)
    if subprocess.call([PYTHON, "-c", "import tox"], stderr=subprocess.DEVNULL) == 0:
        return 0
    say("installing tox into .tox/bootstrap (usually under a minute)")
    return retried([str(PYTHON), "-m", "pip", "install", "--quiet", "--no-compile", "-r", str(TOX)])


def main(arguments: list[str]) -> int:
    """Prepare, then run."""
    if sys.version_info < (3, 11):
        say(f"Python 3.11 or newer is needed; this is {sys.version.split()[0]}")
        return 3
    status = prepare()
    if status != 0:
        return status
    split = arguments.index("--") if "--" in arguments else len(arguments)
    names = environments(arguments[:split])
    tox = [str(PYTHON), "-m", "tox", "run"]
    say(announcement(names))
    status = retried([*tox, *arguments[:split], "--notest", "--quiet"])
    if status != 0:
        return status
    status = subprocess.call(
        [*tox, *arguments[:split], "--skip-pkg-install", *arguments[split:]], cwd=ROOT
    )
    print("\n".join(closing(names)), flush=True)
    return status


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        say("interrupted")
        sys.exit(INTERRUPTED)

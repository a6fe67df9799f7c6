"""The README's test command, round after round: does it give the same answer every time?

    python -m tests.again --rounds 20             each round in a clone of its own
    python -m tests.again --rounds 2 --busy 8     beside eight processes that only compute
    python -m tests.again -- -n 0 tests/bounds    other arguments in the place of ``tests``

The command is read from tox.ini.  A clone holds the last commit.  The first round compiles the
kernels, and the others find them, except with ``--cold``.  A round is one line.  The names of tests
that failed stand below it.
"""

from __future__ import annotations

import argparse
import configparser
import os
import resource
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def command(rest: Sequence[str]) -> list[str]:
    """The command of the task ``tests``, with ``rest`` for pytest."""
    tasks = configparser.ConfigParser(interpolation=None)
    tasks.read(ROOT / "tox.ini", encoding="utf-8")
    python, *words = shlex.split(tasks["testenv:tests"]["commands"])
    assert (python, words.pop()) == ("python", "{posargs:tests}"), words
    return [sys.executable, *words, *(rest or ["tests"])]


@contextmanager
def busy(n_processes: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that compute until the end of the block."""
    # They end with this process too, however it ends.
    text = f"import os\nwhile os.getppid() == {os.getpid()}: pass"
    started = [subprocess.Popen([sys.executable, "-c", text]) for _ in range(n_processes)]
    try:
        yield started
    finally:
        for process in started:
            process.kill()
            process.wait()


def run_round(rest: Sequence[str], cache: Path, folder: Path) -> tuple[int, list[str]]:
    """The exit status in a new clone below ``folder``, and the lines that tell the outcome."""
    clone = folder / "clone"
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    # One thread, as tox sets it.  The clone comes before the checkout that is installed.
    variables = {
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(clone),
        "XDG_CACHE_HOME": str(cache),
    }
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    env = {**os.environ, **variables}
    done = subprocess.run(command(rest), cwd=clone, env=env, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = sum(after[:2]) - sum(before[:2])  # in the program and in the system
    lines = done.stdout.splitlines() or done.stderr.splitlines() or ["it printed nothing"]
    failed = [line for line in lines if line.startswith(("FAILED ", "ERROR "))]
    return done.returncode, [f"exit {done.returncode}, {spent:.0f} CPU s, {lines[-1]}", *failed]


def main(arguments: Sequence[str] | None = None) -> int:
    """0 where every round passed."""
    parser = argparse.ArgumentParser(prog="python -m tests.again", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20, help="[default: 20]")
    parser.add_argument("--busy", type=int, default=0, help="processes beside it  [default: 0]")
    parser.add_argument("--cold", action="store_true", help="compile the kernels in every round")
    parser.add_argument("rest", nargs="*", help="for pytest  [default: tests]")
    given = parser.parse_args(arguments)
    failed = 0
    with tempfile.TemporaryDirectory() as kept, busy(given.busy):
        for number in range(given.rounds):
            with tempfile.TemporaryDirectory() as folder:
                cache = Path(folder if given.cold else kept, "cache")
                status, lines = run_round(given.rest, cache, Path(folder))
            print(f"round {number + 1}: {lines[0]}", *lines[1:], sep="\n  ", flush=True)
            failed += status != 0
    print(f"{given.rounds - failed} of {given.rounds} rounds passed, {given.busy} processes beside")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())

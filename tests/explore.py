"""New random examples for every property of the suite, round after round.

    python -m tests.explore --rounds 20

The ordinary suite draws the same examples in every run.  A round here draws others.  Hypothesis
keeps each example that fails in ``.hypothesis/`` and tries it first in the next round.  It also
writes a patch that adds the example to the test: ``git apply .hypothesis/patches/...``.  Rounds end
at the first that fails.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

#: Properties only, drawn anew.  Every round is a process, because pytest runs once in a process.
PYTEST = (
    *(sys.executable, "-m", "pytest", "-q", "-m", "hypothesis and not slow"),
    "--hypothesis-profile=explore",
)


def main() -> int:
    """The exit status of the last round."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5, help="[default: 5]")
    parser.add_argument("rest", nargs="*", default=["tests"], help="for pytest  [default: tests]")
    given = parser.parse_args()
    for number in range(given.rounds):
        print(f"round {number + 1} of {given.rounds}", flush=True)
        status = subprocess.call([*PYTEST, *given.rest])
        if status != 0:
            return status
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Plant faults and print which ones no test finds.

``python -m tests.faults verify --sample 60`` draws faults of a package, ``--known`` plants those
that once survived, ``--meaning`` those that were written by hand, and ``--again OUTPUT`` those that
survived in an earlier output.  The number of faults and the seed fix the choice.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

from tests.faults.judged import reason
from tests.faults.known import known_faults, tests_of_known
from tests.faults.meaning import MEANINGS, meaning_faults
from tests.faults.page import GOALS, Tried, read, survivors
from tests.faults.planting import Fault, faults_in, modules
from tests.faults.running import Outcome, Workshop, preload

SAMPLE = 60  # faults of a package, by default


def sampled(root: Path, package: str, count: int, seed: int) -> list[Fault]:
    """A seeded choice of a package's faults, in random order: a part of it is a sample as well."""
    everything = [
        fault for path in modules(root, package) for fault in faults_in(path, _text(root, path))
    ]
    return random.Random(f"{package}-{seed}").sample(everything, min(count, len(everything)))


def _some(faults: list[Fault], count: int | None, seed: int) -> list[Fault]:
    """A seeded choice of the listed faults, all of them without a number."""
    return faults if count is None else random.Random(seed).sample(faults, min(count, len(faults)))


def again(root: Path, tried: list[Tried]) -> tuple[list[Fault], list[Tried]]:
    """The faults of printed lines at their places of today, and those whose text is gone."""
    found, gone = [], []
    for each in tried:
        text = _text(root, each.path) if (root / each.path).is_file() else ""
        same = [
            fault
            for fault in faults_in(each.path, text)
            if _words(fault).endswith(f":{fault.line} {each.what}")
        ]
        found += sorted(same, key=lambda fault: abs(fault.line - each.line))[:1]
        gone += [] if same else [each]
    return found, gone


def _words(fault: Fault) -> str:
    """The fault as it is read from a printed line, where a cut text may end with a blank."""
    return str(fault).rstrip()


def _text(root: Path, path: str) -> str:
    return (root / path).read_text()


def main() -> int:
    """Print a line for each fault and the shares found; 1 where a share is below its goal.

    Equivalent faults do not count.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", nargs="*", default=list(GOALS), help="packages to sample")
    parser.add_argument("--sample", type=int, help="faults of each package, or of the list")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--known", action="store_true", help="the listed faults instead")
    parser.add_argument("--meaning", action="store_true", help="those written by hand instead")
    parser.add_argument("--again", type=Path, help="the faults that survived in this output")
    parser.add_argument("--part", default="1/1", help="K/N: every N-th fault, from the K-th on")
    parser.add_argument("--times", type=Path, help="a file that keeps the tests' seconds")
    given = parser.parse_args()
    first, parts = map(int, given.part.split("/"))
    root = Path(__file__).parents[2]
    preload()
    code, gone = 0, []
    with tempfile.TemporaryDirectory() as folder:
        workshop = Workshop(root, Path(folder), given.times and given.times.absolute())
        if given.known:
            groups = {"known": _some(known_faults(root), given.sample, given.seed)}
        elif given.meaning:
            suites = dict(zip(meaning_faults(root), (m.suite for m in MEANINGS), strict=True))
            groups = {"meaning": sorted(_some(list(suites), given.sample, given.seed))}
        elif given.again:
            lines = given.again.read_text("utf-8").splitlines()
            found_again, gone = again(root, survivors(read(lines)))
            groups = {"again": found_again}
        else:
            groups = {
                package: sampled(root, package, given.sample or SAMPLE, given.seed)
                for package in given.packages
            }
        if not (given.known or given.again or given.meaning):
            workshop.preload(given.packages)
        for name, faults in groups.items():
            print(f"{name}, seed {given.seed}:", flush=True)
            for each in gone:
                print(f"GONE         0.0 s  {each.path}:{each.line} {each.what}", flush=True)
            outcomes = []
            for fault in faults[first - 1 :: parts]:
                if given.known:
                    tests: tuple[str, ...] = (" ".join(tests_of_known(fault)),)
                elif given.meaning:
                    workshop.preload([fault.path.partition("/")[0]])
                    tests = (suites[fault],)
                else:
                    tests = workshop.nearest.suites(fault.path, fault.line)
                outcomes.append(workshop.try_fault(fault, tests))
                _show(outcomes[-1], root)
            judged = [o for o in outcomes if o.found or not _why(o.fault, root)]
            found = sum(o.found for o in judged)
            print(f"{name}: {found} of {len(judged)} faults found", flush=True)
            if found < GOALS.get(name, 1.0) * len(judged):
                code = 1
    return code


def _why(fault: Fault, root: Path) -> str:
    return reason(fault, _text(root, fault.path))


def _show(outcome: Outcome, root: Path) -> None:
    word, end = "SURVIVED", ""
    if outcome.found:
        word, end = "found", f"  by {outcome.by}"
    elif why := _why(outcome.fault, root):
        word, end = "EQUIVALENT", f"  because {why}"
    print(f"{word:10} {outcome.seconds:5.1f} s  {outcome.fault}{end}", flush=True)


if __name__ == "__main__":
    sys.exit(main())

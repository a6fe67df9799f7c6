"""The task ``coq``: compile the theorems of all claims, and check what they assume.

python -m verify.proofs.coq                    compile what is recorded
python -m verify.proofs.coq --sample 4         a few of them
python -m verify.proofs.coq --write 'ifca.*'   look for proofs, and record what compiles
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from trials.checks import InvalidParameter
from verify.papers import catalogue
from verify.plan import Planned, plan
from verify.procedures.base import PROFILES
from verify.proofs.coq import asked, records
from verify.proofs.coq.asked import Asked
from verify.proofs.coq.compiler import AXIOMS, Coq
from verify.proofs.failures import registered

_GROUP = 60  # claims: the axioms of their theorems are printed together


def main(arguments: Sequence[str] | None = None) -> int:
    """Compile, print a line for each theorem and the tallies.  1 where a theorem fails."""
    parser = argparse.ArgumentParser(prog="python -m verify.proofs.coq")
    parser.add_argument("claims", nargs="*")
    parser.add_argument("--sample", type=int, default=0, help="compile so many recorded theorems")
    parser.add_argument("--write", action="store_true", help="look for proofs and record them")
    parser.add_argument("--missing", action="store_true", help="only claims without a record")
    options = parser.parse_args(arguments)
    try:
        with tempfile.TemporaryDirectory() as folder:
            return _run(options, Coq(Path(folder)))
    except InvalidParameter as error:
        print(error)
        return 1


def _run(options: argparse.Namespace, coq: Coq) -> int:
    names = options.claims
    if not options.write and not names:
        names = [each["claim"] for _, each in records.every()]
        names = names[:: max(1, len(names) // options.sample)] if options.sample else names
    claims = plan(catalogue([]), names, PROFILES["quick"]).claims
    good, bad, assumed = list[Made](), list[str](), set[str]()
    for start in range(0, len(claims), _GROUP):
        group = list[Made]()
        for planned in claims[start : start + _GROUP]:
            made, why = _proved(planned, coq, options)
            group += [made] if made else []
            bad += [str(planned.selection)] if why else []
            if made or why:
                print(f"{planned.selection}  {made.told() if made else why}", flush=True)
        if group:
            found = coq.axioms({made.file: made.asked.theorem.text for made in group})
            assumed |= set(found)
            if more := sorted(assumed - AXIOMS):
                print(f"theorems rest on {', '.join(more)}, which the reals do not assume")
                return 1
            if options.write:
                for made in group:
                    made.record(coq.version, found)
        good += group
    _tally(good, bad, assumed, coq)
    return 1 if bad and not options.write else 0


@dataclass(frozen=True, kw_only=True)
class Made:
    """A theorem that compiled: its claim, its file, the way of its proof and its CPU seconds."""

    planned: Planned
    asked: Asked
    way: str
    file: str
    seconds: float

    def told(self) -> str:
        """The line about it."""
        return f"{self.asked.theorem.kind} ({self.way})  {self.seconds:.1f} CPU s"

    def record(self, version: str, axioms: Sequence[str]) -> None:
        """Write that it compiled."""
        found = {"way": self.way, "registered": registered(self.planned.claim.statement),
                 "by": self.asked.by, "coq": version, "axioms": list(axioms)}  # fmt: skip
        records.write(str(self.planned.selection), self.asked.theorem, found)


def _proved(planned: Planned, coq: Coq, options: argparse.Namespace) -> tuple[Made | None, str]:
    """The first theorem of a claim that compiles, or why none does."""
    name = str(planned.selection)
    why = "" if options.write else "the record is of another statement; make it anew by --write"
    file = asked.file_name(name)
    for theorem, way in _ways(planned, options.write):
        if options.missing and records.recorded(theorem.theorem):
            return None, ""
        made = coq.compile(file, theorem.document(way))
        if made.good:
            return Made(planned=planned, asked=theorem, way=way, file=file,
                        seconds=made.seconds), ""  # fmt: skip
        why = f"does not compile, {way}: {made.message[:120]}"
    return None, why


def _ways(planned: Planned, search: bool) -> Iterator[tuple[Asked, str]]:
    """The theorems of a claim with ways to prove them, or the recorded one."""
    for theorem in asked.of(planned.procedure, planned.claim, records.hints()):
        record = None if search else records.recorded(theorem.theorem)
        if record is not None:
            for way in theorem.ways(record):
                yield theorem, way
            return
        if search:
            for way in theorem.scripts:
                yield theorem, way


def _tally(good: list[Made], bad: list[str], assumed: set[str], coq: Coq) -> None:
    """Print the theorems by paper and kind, the CPU time, and what they assume together."""
    kinds = Counter((m.planned.claim.statement.paper, m.asked.theorem.kind) for m in good)
    for (paper, kind), count in sorted(kinds.items()):
        print(f"{paper}  {kind}  {count}")
    seconds = sum(made.seconds for made in good)
    print(f"{len(good)} compiled by Coq {coq.version} in {seconds:.0f} CPU s, {len(bad)} not")
    print(f"axioms: {', '.join(sorted(assumed)) or 'none'}")


if __name__ == "__main__":
    sys.exit(main())

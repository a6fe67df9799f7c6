"""False statements, tried on the prover and on the stored certificates: none may be proved.

    python -m tests.false_statements                       all proved claims, about 5,000 statements
    python -m tests.false_statements 'ifca.*' --share 10   every tenth of some claims
    python -m tests.false_statements --seconds 0.1         CPU seconds of a search for a proof

A false statement is a proved one with something changed, that fails at a point which ball
arithmetic confirms.  Changed are the registered statement (the mutants of ``cfl-verify mutate`` and
those by meaning), and the statement that the checker reads: a number, a name, an operation, a side,
or a condition left out.  Each is tried on the certificate of the true one, and on the prover with
the true one's hints.  Exit status 1 where one is proved.
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from multiprocessing import get_context
from typing import Any

import flint
import numpy as np

from trials.checks import InvalidParameter
from verify.claim import Claim
from verify.decisions.domain import as_domain
from verify.mutation.meaning import change_meaning
from verify.mutation.mutants import mutants
from verify.papers import catalogue
from verify.procedures.base import PROFILES
from verify.procedures.search import Search
from verify.proofs import prover
from verify.proofs.arrays import value_of
from verify.proofs.checker import Goal, Rejected, check, digest, enclose, goal_of, number
from verify.proofs.propositions import Proposition
from verify.proofs.shelf import stored

Document = Mapping[str, Any]
_OPERATIONS = {"+": "*", "*": "+", "max": "min", "min": "max", "exp": "log", "log": "exp"}


def changed_terms(term: Any, names: list[str]) -> Iterator[Any]:
    """The term with one number, name or operation replaced."""
    exact = number(term) if isinstance(term, str) else None
    if exact is not None:
        yield from (str(value) for value in (exact + 1, exact * 2, exact / 2, -exact, exact - 1)
                    if value != exact)  # fmt: skip
    elif isinstance(term, str):
        yield from (name for name in names if name != term)
    else:
        op, *parts = term
        if op in _OPERATIONS:
            yield [_OPERATIONS[op], *parts]
        for i, part in enumerate(parts):
            for new in changed_terms(part, names):
                yield [op, *parts[:i], new, *parts[i + 1 :]]


def changed_documents(statement: Document) -> Iterator[Document]:
    """The statement with a side, a condition or a part of one changed."""
    relation, left, right = statement["claim"]
    names = [*statement["variables"], *statement.get("vectors", ())]
    sides = [[left, ["*", str(Fraction(f)), right]] for f in ("1/100", "9/10", "11/10", "100")]
    sides += [[["+", left, f], right] for f in ("-1", "-1/100", "1/100", "1")]
    sides += [[right, left]]
    sides += [[new, right] for new in changed_terms(left, names)]
    sides += [[left, new] for new in changed_terms(right, names)]
    for side in sides:
        yield {**statement, "claim": [relation, *side]}
    for i, given in enumerate(statement["given"]):
        others = [*statement["given"][:i], *statement["given"][i + 1 :]]
        yield {**statement, "given": others}
        for j in (1, 2):
            for new in changed_terms(given[j], names):
                weaker = [*given[:j], new, *given[j + 1 :]]
                yield {**statement, "given": [*others, weaker]}
    for count, run in statement.get("runs", {}).items():
        own = [*names, count, *run["numbers"]]
        for part, also in (("start", []), ("steps", run["later"])):
            for i, (relation, a, b) in enumerate(run[part]):
                rest = [*run[part][:i], *run[part][i + 1 :]]
                other = [[], *([[relation, new, b]] for new in changed_terms(a, [*own, *also]))]
                other += [[[relation, a, new]] for new in changed_terms(b, [*own, *also])]
                for weaker in other:
                    changed = {**run, part: [*rest, *weaker]}
                    yield {**statement, "runs": {**statement["runs"], count: changed}}
    for name, family in statement.get("sums", {}).items():
        own = [*names, *family["variables"], *family["vectors"]]
        for i, (relation, a, b) in enumerate(family["given"]):
            rest = [*family["given"][:i], *family["given"][i + 1 :]]
            other = [[], *([[relation, new, b]] for new in changed_terms(a, own))]
            other += [[[relation, a, new]] for new in changed_terms(b, own)]
            for weaker in other:
                changed = {**family, "given": [*rest, *weaker]}
                yield {**statement, "sums": {**statement["sums"], name: changed}}


def is_false(statement: Document, places: Sequence[Mapping[str, Any]] = ()) -> bool:
    """Whether the statement is well formed and fails at some point.

    ``places`` are points of the claim's search.  Equations between quantities hold at them.
    """
    try:
        goal = goal_of(statement)
        if goal.sums is not None or goal.runs:
            with np.errstate(all="ignore"):  # a place may have no value
                return any(_fails_with_arrays(statement, place) for place in places)
        return prover.is_false(goal, 60) or any(_fails_at(goal, place) for place in places)
    except prover.ERRORS:
        return False


def _fails_at(goal: Goal, place: Mapping[str, Any]) -> bool:
    """Whether what is given holds at a point but for rounding, and the claim fails by far."""
    balls = {x: flint.arb(float(place[x])) for x in goal.variables}
    relation, term = goal.claim
    value = enclose(term, balls)
    wrong = value < -1e-3 or (relation == "=" and value > 1e-3)
    return bool(wrong) and all(enclose(each, balls) > -1e-9 for _, each in goal.given)


def _fails_with_arrays(statement: Document, place: Mapping[str, Any]) -> bool:
    """The same of a statement about arrays and runs, relative to the sizes of the sides."""

    def is_met(
        relation: Any, family: str = "", data: Mapping[str, Any] = place, near: float = 1e-12
    ) -> bool:
        a, b = (np.asarray(value_of(side, data, family)) for side in relation[1:])
        return bool(np.all(a >= b - near * np.maximum(np.abs(a), np.abs(b))))

    for count, run in statement.get("runs", {}).items():
        if any(len(place[f"{count} steps"][x]) != place[count] + 1 for x in run["numbers"]):
            return False  # too many steps to look at each
    relation, left, right = statement["claim"]
    a, b = (float(value_of(side, place)[0]) for side in (left, right))
    off = b - a if relation != "=" else abs(b - a)
    return (
        off > 1e-6 * max(abs(a), abs(b))
        and all(map(is_met, statement["given"]))
        and all(
            is_met(each, name)
            for name, family in statement.get("sums", {}).items()
            for each in family["given"]
        )
        and all(
            is_met(each, "now", {**place, "now": data}, 1e-9)  # by a closed form
            for count, run in statement.get("runs", {}).items()
            for part, data in _moments(count, run, place)
            for each in run[part]
        )
    )


def _moments(count: str, run: Mapping[str, Any], place: Mapping[str, Any]) -> Iterator[Any]:
    """The first numbers of a run, and those before and after each step."""
    path = {x: np.asarray(place[f"{count} steps"][x], dtype=float) for x in run["numbers"]}
    yield "start", {x: each[:1] for x, each in path.items()}
    before = {x: each[:-1] for x, each in path.items()}
    after = {y: path[x][1:] for x, y in zip(run["numbers"], run["later"], strict=True)}
    yield "steps", {**before, **after, count: np.arange(place[count], dtype=float)}


def places_of(search: Search, proposition: Proposition) -> list[dict[str, Any]]:
    """The values of a proposition's variables at points of its search."""
    points = as_domain(search.domain).sample(np.random.default_rng(4), 120)
    inside = [p for p in points if search.constraints is None or search.constraints(p)]
    found = (proposition.at(point, search.symbols(point)) for point in inside[:30])
    return [values for values in found if values is not None]


def is_proved(statement: Document, certificate: Any, proposition: Proposition) -> bool:
    """Whether the certificate of the true statement, or a search, proves a statement."""
    try:
        check(statement, certificate)
        return True
    except Rejected:
        pass
    found = prover.find(statement, 2, 10, hints=proposition.steps(), unchecked=True)
    if found is None:
        return False
    check(statement, found)
    return True


def changed_claims(claim: Claim, search: Search) -> Iterator[Search]:
    """The searches of the claim's own mutants, and of those by meaning."""
    points = list(as_domain(search.domain).sample(np.random.default_rng(3), 40))
    values = [{**point, **search.symbols(point)} for point in points]
    numeric = [{k: v for k, v in each.items() if isinstance(v, int | float)} for each in values]
    for mutant in (*mutants(claim.statement), *change_meaning(claim.statement, numeric)):
        try:
            yield replace(claim, statement=mutant.statement).build(PROFILES["quick"])  # type: ignore[misc]
        except (InvalidParameter, ValueError, KeyError, TypeError, AttributeError):
            continue


def fails_somewhere(search: Search, rng: Any) -> bool:
    """Whether a search's statement fails at one of some random points."""
    points = as_domain(search.domain).sample(rng, 200)
    inside = (p for p in points if search.constraints is None or search.constraints(p))
    tolerance = 1e-6 if search.tolerance is None else max(search.tolerance, 1e-6)
    return any(search.violation(point) > tolerance for point in inside)


class Tally:
    """What was tried, and what was proved."""

    def __init__(self, share: int) -> None:
        self.share, self.seen, self.tried = share, 0, 0
        self.kinds = {"terms": 0, "claims": 0, "reductions": 0}
        self.proved: list[str] = []

    def turn(self) -> bool:
        """Whether the next one belongs to the share."""
        self.seen += 1
        return self.seen % self.share == 0

    def note(self, kind: str, name: str, proved: bool) -> None:
        """Count one that was tried."""
        self.tried += 1
        self.kinds[kind] += 1
        if proved:
            self.proved.append(name)


def try_claim(name: str, claim: Claim, tally: Tally, most: int) -> None:
    """All false statements of one claim, at most so many of each kind."""
    search = claim.build(PROFILES["quick"])
    if not isinstance(search, Search):
        return
    propositions = search.instances or (search.proposition,)
    for proposition in propositions[:3]:
        try:
            proved = None if proposition is None else stored(proposition)
        except InvalidParameter:  # an operation that the checker does not know
            return
        if proposition is None or proved is None:
            return
        made, places = list(changed_documents(proved["statement"])), places_of(search, proposition)
        for document in made[:: max(1, len(made) // most)]:
            if tally.turn() and is_false(document, places):
                done = is_proved(document, proved["certificate"], proposition)
                tally.note("terms", f"{name}: {document['claim']}", done)
    known = {digest(each.statement()) for each in propositions if each is not None}
    for changed in changed_claims(claim, search):
        if not tally.turn():
            continue
        for own in changed.instances or (changed.proposition,):
            try:
                statement = None if own is None else own.statement()
            except InvalidParameter:
                continue
            if statement is None:
                continue
            if digest(statement) in known:  # then its reduction must not agree with it
                try:
                    fails = fails_somewhere(changed, np.random.default_rng(5))
                except (KeyError, *prover.ERRORS):  # an infinite or an undefined formula
                    continue
                if fails:
                    tally.note("reductions", f"{name}: a reduction", changed._prove() is not None)
            elif own is not None and is_false(statement):
                first = stored(propositions[0])  # type: ignore[arg-type]
                certificate = {} if first is None else first["certificate"]
                tally.note("claims", f"{name}: {statement['claim']}",
                           is_proved(statement, certificate, own))  # fmt: skip


def run(patterns: list[str], share: int, seconds: float, most: int, *, told: bool = False) -> Tally:
    """Try the false statements of the claims that match a pattern.

    Parameters
    ----------
    share : one of so many is tried.
    seconds : CPU seconds of a search for a proof.
    most : changed terms of a statement, about.
    told : whether each claim is printed.
    """
    tally = Tally(share)
    with get_context("fork").Pool(1, maxtasksperchild=1) as children:
        for name in catalogue():
            if any(fnmatch.fnmatch(name, pattern) for pattern in patterns):
                start = tally.tried
                tally = children.apply(_try_in_child, (name, tally, seconds, most))
                if told and tally.tried > start:
                    print(f"{name}: {tally.tried - start} tried", flush=True)
    return tally


def _try_in_child(name: str, tally: Tally, seconds: float, most: int) -> Tally:
    """One claim in a process of its own, which gives its memory back: in one it grew to 7 GB."""
    prover._SECONDS = seconds
    try_claim(name, catalogue()[name], tally, most)
    return tally


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("claims", nargs="*", default=["*"])
    parser.add_argument("--share", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.02)
    parser.add_argument("--most", type=int, default=100)
    options = parser.parse_args()
    start = time.process_time()
    tally = run(options.claims, options.share, options.seconds, options.most, told=True)
    kinds = ", ".join(f"{count} {kind}" for kind, count in tally.kinds.items())
    print(f"{tally.tried} false statements tried ({kinds}), {len(tally.proved)} proved, in "
          f"{time.process_time() - start:.0f} CPU s")  # fmt: skip
    for each in tally.proved:
        print(f"PROVED: {each}")
    return 1 if tally.proved else 0


if __name__ == "__main__":
    sys.exit(main())

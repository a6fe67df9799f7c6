"""What Coq is asked about a claim: theorems from the registered statement, with ways to prove them.

A statement between formulas is asked over its whole domain, or as a negation where it is false.
Where the left-hand side is no formula, the exact values of the claim's certificate are asked: at
them the registered right-hand side is on the wrong side of the left-hand one, whose value the
certificate's argument gives in words.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from trials.checks import InvalidParameter
from verify.claim import Claim
from verify.evidence import Verdict
from verify.procedures.interface import Procedure
from verify.procedures.search import Search
from verify.proofs.coq import records, theorems
from verify.proofs.coq.compiler import refuse_commands
from verify.proofs.coq.gallina import relation
from verify.proofs.coq.scripts import from_certificate
from verify.proofs.coq.theorems import Theorem
from verify.proofs.failures import Failure, failures, numeric, registered
from verify.proofs.flattened import ABOUT, flattened, is_flat
from verify.proofs.propositions import Proposition
from verify.proofs.shelf import SHELF, known_shelves, path_of, read, relation_of
from verify.proofs.terms import neutral


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A theorem about a claim.

    Attributes
    ----------
    scripts : name of a way to prove it -> the script.
    narrowed : ends of ranges that only bound a search and that the theorem keeps.
    by : an argument outside the theorem.
    """

    theorem: Theorem
    scripts: Mapping[str, str]
    narrowed: Sequence[Any] = ()
    by: str = ""
    witness: Mapping[str, str] = field(default_factory=dict)

    def ways(self, record: Mapping[str, Any]) -> list[str]:
        """The recorded way, or all where a changed certificate no longer gives it."""
        return [record["way"]] if record["way"] in self.scripts else list(self.scripts)

    def document(self, way: str) -> str:
        """The file for Coq."""
        refuse_commands(self.scripts[way])
        return self.theorem.document(self.scripts[way])


def about(claim: Claim) -> str:
    """The claim and its place in print, for a comment."""
    s = claim.statement
    reading = f" Reading: {s.reading}" if s.reading else ""
    return f"{s.id}: {s.title}. {s.source}, {s.publication.label}.{reading}"


def of(
    procedure: Procedure, claim: Claim, hints: Mapping[str, Mapping[str, str]]
) -> Iterator[Asked]:
    """The theorems about a claim, the one that says most first.

    Parameters
    ----------
    hints : claim -> name of a way -> a script by hand.
    """
    if not isinstance(procedure, Search):
        return
    own = hints.get(claim.id, {})
    try:
        if claim.expected is Verdict.REFUTED:
            yield from _refuted(procedure, claim, own)
        elif procedure.proposition is not None:
            yield from _supported(procedure.proposition, claim, own)
    except InvalidParameter:  # a term that has no form here
        return


def first_of(procedure: Procedure, claim: Claim) -> tuple[Asked, str, dict[str, Any] | None] | None:
    """A theorem about a claim with a way to prove it and its record: what compiled, if anything."""
    found = list(of(procedure, claim, records.hints()))
    for each in found:
        record = records.recorded(each.theorem)
        if record is not None:
            return each, each.ways(record)[0], record
    return next(((each, way, None) for each in found for way in each.scripts), None)


def file_name(claim: str) -> str:
    """The name of a claim's file, which Coq takes as the name of a module.

    No two claims have the same one.  Coq has one mark for '.', '-' and '_', so that a claim whose
    marks cannot be told from its file's ends with eight digits of its hash.

    >>> file_name("sxy.eq35-sharp"), file_name("sxy.eq35_sharp")
    ('sxy_eq35_sharp', 'sxy_eq35_sharp_80aa1287')
    """
    name = re.sub(r"\W", "_", claim, flags=re.ASCII)
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9]*\.[A-Za-z0-9-]+", claim):
        return name
    start = "" if name[0].isalpha() else "claim_"
    return f"{start}{name}_{hashlib.sha256(claim.encode()).hexdigest()[:8]}"


def statements(proposition: Proposition) -> Iterator[tuple[Mapping[str, Any], Any]]:
    """Forms of a proposition, the widest first, with a certificate or None.

    The certificate need not be checked here, since Coq checks the proof that is made from it.
    """
    own = proposition.statement()
    optional = proposition.optional(own)
    for shelf in (SHELF, *known_shelves()):
        path = path_of(own, shelf)
        if path.is_file():
            document = read(path, own)
            yield flattened(document["statement"], document["certificate"])
    if not is_flat(own):
        return
    yield {**own, "given": [each for each in own["given"] if each not in optional]}, None
    if optional:
        yield own, None


def recorded(procedure: Procedure, claim: Claim) -> dict[str, Any] | None:
    """What is recorded of a claim's statement: that it compiled, or that its negation did."""
    if not isinstance(procedure, Search):
        return None
    try:
        for theorem, narrowed, by in _theorems(procedure, claim):
            record = records.recorded(theorem)
            if record is not None:
                return {**record, "narrowed": narrowed, "by": by}
    except InvalidParameter:
        return None
    if claim.expected is Verdict.REFUTED:
        return records.at_values(claim.id, registered(claim.statement))
    return None


def _theorems(search: Search, claim: Claim) -> Iterator[tuple[Theorem, Any, str]]:
    proposition = search.proposition
    if claim.expected is Verdict.REFUTED:
        if proposition is not None:
            yield theorems.negation(proposition.statement(), ""), [], ""
    elif proposition is not None:
        for statement, _ in statements(proposition):
            yield theorems.whole(statement, ""), *_outside(proposition, statement)


def _supported(proposition: Proposition, claim: Claim, own: Mapping[str, str]) -> Iterator[Asked]:
    for statement, certificate in statements(proposition):
        narrowed, by = _outside(proposition, statement)
        told = about(claim)
        if narrowed:
            told += f" Proved where {', '.join(map(relation_of, narrowed))}."
        if by:
            told += f" Outside the theorem: {by}{_argued(proposition, statement)}"
        scripts = dict(_scripts(statement, certificate)) | dict(own)
        yield Asked(theorem=theorems.whole(statement, told), scripts=scripts, narrowed=narrowed,
                    by=by)  # fmt: skip


def _outside(proposition: Proposition, statement: Mapping[str, Any]) -> tuple[list[Any], str]:
    """The ends of ranges that a theorem keeps, and the argument outside it."""
    if proposition.arrays is not None:
        return [], ABOUT
    return proposition.optional(statement), proposition.by


def _argued(proposition: Proposition, statement: Mapping[str, Any]) -> str:
    """The hypotheses of a theorem that the argument outside it gives."""
    if proposition.reduction is None:
        return ""
    n_argued = len(proposition.reduction.given)
    argued = [[neutral(a), neutral(b)] for a, b, _ in proposition.assumptions[:n_argued]]
    lines = [relation(each) for each in statement["given"] if list(each[1:]) in argued]
    return f" It gives these hypotheses: {'; '.join(dict.fromkeys(lines))}." if lines else ""


def _scripts(statement: Mapping[str, Any], certificate: Any) -> Iterator[tuple[str, str]]:
    """Ways to prove a theorem over a whole domain."""
    conditions = theorems.conditions(statement)
    if certificate is not None:
        with suppress(ValueError, LookupError, TypeError, ArithmeticError):  # `Rejected` is one
            script = from_certificate(statement, certificate, conditions)
            yield "certificate", f"intros.\n{script}"
    else:
        with suppress(ValueError, ArithmeticError):
            script = from_certificate(statement, {"step": "sum"}, conditions)
            yield "signs", f"intros.\n{script}"
    yield "nra", f"intros.\n{'repeat split; [| defined ..].' if conditions else ''}\nnra."


def _refuted(search: Search, claim: Claim, own: Mapping[str, str]) -> Iterator[Asked]:
    """The negation at exact values, those that are recorded where there are several."""
    found = [_negated(each, claim, own) for each in failures(search, claim)]
    known = (each for each in found if records.recorded(each.theorem) is not None)
    yield from found and [next(known, found[0])]


def _negated(failure: Failure, claim: Claim, own: Mapping[str, str]) -> Asked:
    told = about(claim)
    if failure.by:
        told += f" The left-hand side has this value: {failure.by}"
    if failure.inequalities:
        lines = [relation(numeric(each)) for each in failure.inequalities]
        theorem = Theorem(kind="negation", text="  " + " /\\\n  ".join(lines), about=told)
        return Asked(theorem=theorem, scripts={"numbers": "repeat split; number."}, by=failure.by)
    script = theorems.proof_of_negation(failure.statement, failure.values)
    scripts = {"witness": script} | ({} if failure.by else dict(own))
    return Asked(theorem=theorems.negation(failure.statement, told), witness=failure.values,
                 scripts=scripts, by=failure.by)  # fmt: skip

"""What Coq is asked about a claim: theorems from the registered statement, with ways to prove them.

A statement between formulas is asked over its whole domain, or as a negation where it is false.
Where the left-hand side is no formula, the exact values of the claim's certificate are asked: at
them the registered right-hand side is on the wrong side of the left-hand one, whose value the
certificate's argument gives in words.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

import flint
import sympy as sp

from bounds.statement import Statement
from trials.checks import InvalidParameter
from verify.claim import Claim
from verify.evidence import Verdict
from verify.procedures.interface import Procedure
from verify.procedures.search import Search
from verify.proofs.certificate import proof
from verify.proofs.checker import Goal, enclose, goal_of, number
from verify.proofs.coq import records, theorems
from verify.proofs.coq.compiler import refuse_commands
from verify.proofs.coq.gallina import relation
from verify.proofs.coq.scripts import from_certificate
from verify.proofs.coq.theorems import Theorem
from verify.proofs.propositions import Proposition, widens
from verify.proofs.shelf import SHELF, known_shelves, path_of, relation_of
from verify.proofs.terms import neutral

_DIGITS = (1, 2, 3, 6, 17)
_POINTS = 24
_PRECISION = 256


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
    """The name of a claim's file, which Coq takes as the name of a module."""
    return re.sub(r"\W", "_", claim)


def statements(proposition: Proposition) -> Iterator[tuple[Mapping[str, Any], Any]]:
    """Forms of a proposition, the widest first, with a certificate or None.

    The certificate need not be checked here, since Coq checks the proof that is made from it.
    """
    own = proposition.statement()
    optional = proposition.optional(own)
    for shelf in (SHELF, *known_shelves()):
        path = path_of(own, shelf)
        if path.is_file():
            document = json.loads(path.read_text(encoding="utf-8"))
            if widens(document["statement"], own):
                yield document["statement"], document["certificate"]
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


def registered(statement: Statement) -> str:
    """The hash of a statement's right-hand side, relation, assumptions and constants."""
    parts = [statement.relation, *(sp.srepr(term.expr) for term in statement.terms)]
    for each in statement.assumptions:
        parts += [sp.srepr(each.left), sp.srepr(each.right), str(each.constant), str(each.strict)]
    parts += [f"{c.name} {c.low!r} {c.high!r} {c.generous}" for c in statement.constants]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _theorems(search: Search, claim: Claim) -> Iterator[tuple[Theorem, Any, str]]:
    proposition = search.proposition
    if claim.expected is Verdict.REFUTED:
        if proposition is not None:
            yield theorems.negation(proposition.statement(), ""), [], ""
    elif proposition is not None:
        for statement, _ in statements(proposition):
            yield theorems.whole(statement, ""), proposition.optional(statement), proposition.by


def _supported(proposition: Proposition, claim: Claim, own: Mapping[str, str]) -> Iterator[Asked]:
    for statement, certificate in statements(proposition):
        narrowed = proposition.optional(statement)
        told = about(claim)
        if narrowed:
            told += f" Proved where {', '.join(map(relation_of, narrowed))}."
        if proposition.by:
            told += f" Outside the theorem: {proposition.by}"
        scripts = dict(_scripts(statement, certificate)) | dict(own)
        yield Asked(theorem=theorems.whole(statement, told), scripts=scripts, narrowed=narrowed,
                    by=proposition.by)  # fmt: skip


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
    if search.proposition is not None:
        try:
            statement = search.proposition.statement()
        except InvalidParameter:
            statement = None
        witness = None if statement is None else _witness(search, statement)
        if statement is not None and witness is not None:
            script = theorems.proof_of_negation(statement, witness)
            yield Asked(theorem=theorems.negation(statement, about(claim)), witness=witness,
                        scripts={"witness": script} | dict(own))  # fmt: skip
            return
    yield from _at_values(search, claim)


# -- Witnesses -------------------------------------------------------------------------------------


def _witness(search: Search, statement: Mapping[str, Any]) -> dict[str, str] | None:
    """Values at which a statement fails, with few digits, None where no point of a search does."""
    goal = goal_of(statement)
    for point in search.visited(_POINTS):
        known = {**point, **search.symbols(point)}
        if not all(isinstance(known.get(x), int | float) for x in statement["variables"]):
            continue
        for digits in _DIGITS:
            values = {x: _rounded(known[x], digits) for x in statement["variables"]}
            if _fails(goal, values):
                return {x: str(value) for x, value in values.items()}
    return None


def _rounded(value: Any, digits: int) -> Fraction:
    return Fraction(f"{float(value):.{digits - 1}e}")


def _fails(goal: Goal, values: Mapping[str, Fraction]) -> bool:
    """Whether balls show that all that is given holds at the values and the claim does not."""
    before, flint.ctx.prec = flint.ctx.prec, _PRECISION
    try:
        balls = {x: flint.arb(flint.fmpq(*v.as_integer_ratio())) for x, v in values.items()}
        relation, term = goal.claim
        value = enclose(term, balls)
        given = all(_shown(r, enclose(t, balls)) for r, t in goal.given)
        wrong = value < 0 or (value > 0 and relation == "=") or (value <= 0 and relation == ">")
        return bool(given and wrong)
    finally:
        flint.ctx.prec = before


def _shown(relation: str, value: flint.arb) -> bool:
    return bool(value > 0 if relation == ">" else value >= 0)


# -- Values of a certificate -----------------------------------------------------------------------


def _at_values(search: Search, claim: Claim) -> Iterator[Asked]:
    """The inequalities of the claim's certificate, the last one with the registered formula."""
    made = (proof(partial(search.certify, point)) for point in search.visited(_POINTS)
            if search.certify is not None)  # fmt: skip
    document = next((each for each in made if each is not None), None)
    if document is None:
        return
    told = f"{about(claim)} The left-hand side has this value: {document['argument']}"
    found = _in_symbols(claim.statement, document["inequalities"])
    if found is None:
        lines = [_numeric(each) for each in document["inequalities"]]
        theorem = Theorem(kind="negation", text="  " + " /\\\n  ".join(lines), about=told)
        yield Asked(theorem=theorem, scripts={"numbers": "repeat split; number."},
                    by=document["argument"])  # fmt: skip
        return
    statement, witness = found
    theorem = theorems.negation(statement, told)
    yield Asked(theorem=theorem, witness=witness, by=document["argument"],
                scripts={"witness": theorems.proof_of_negation(statement, witness)})  # fmt: skip


def _numeric(inequality: Mapping[str, Any]) -> str:
    left, sign, right = (inequality[part] for part in ("left", "relation", "right"))
    larger, smaller = (left, right) if sign == ">" else (right, left)
    return relation([">", larger, smaller])


def _in_symbols(
    statement: Statement, inequalities: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, Any], dict[str, str]] | None:
    """The last inequality with the registered right-hand side, and the symbols' values.

    None where the right-hand side is no term, or is not the one of the last inequality.
    """
    *others, last = inequalities
    values: dict[str, str] = {}
    try:
        bound = neutral(statement.expr)
        assumed = [(">" if a.strict else ">=", neutral(a.left), neutral(a.right))
                   for a in statement.assumptions if a.constant is None]  # fmt: skip
        if not _matched(bound, last["right"], values):
            return None
    except (ValueError, TypeError, AttributeError):
        return None
    for _, left, _right in assumed:
        for other in others:
            if other["says"].startswith("the assumption holds"):
                trial = dict(values)
                if _matched(left, other["left"], trial):
                    values = trial
    fixed = {c.name: values[c.name] for c in statement.constants if c.name in values}
    names = sorted(set(values) - set(fixed))
    given = [list(each) for each in assumed
             if all(name in values for side in each[1:] for name in _names(side))]  # fmt: skip
    sides = [bound, last["left"]] if last["relation"] == ">" else [last["left"], bound]
    made = {"variables": names, "given": [_put(each, fixed) for each in given],
            "claim": [">=", *(_put(side, fixed) for side in sides)]}  # fmt: skip
    return made, {name: values[name] for name in names}


def _matched(symbolic: Any, exact: Any, values: dict[str, str]) -> bool:
    """Whether a term is another one with numbers for its symbols, which are noted."""
    if isinstance(symbolic, str):
        if number(symbolic) is not None:
            return bool(symbolic == exact)
        return isinstance(exact, str) and values.setdefault(symbolic, exact) == exact
    if isinstance(exact, str):
        return False
    if exact[0] == "sqrt":
        exact = ["^", exact[1], "1/2"]
    same = len(symbolic) == len(exact) and symbolic[0] == exact[0]
    return same and all(
        _matched(a, b, values) for a, b in zip(symbolic[1:], exact[1:], strict=True)
    )


def _names(term: Any) -> set[str]:
    if isinstance(term, str):
        return set() if number(term) is not None else {term}
    return set().union(*map(_names, term[1:]))


def _put(term: Any, values: Mapping[str, str]) -> Any:
    if isinstance(term, str):
        return values.get(term, term)
    return [term[0], *(_put(part, values) for part in term[1:])]

"""Exact values at which a false statement fails, and their files, for `verify.proofs.refuting`.

A statement between formulas fails at values of its variables.  Where the left-hand side is no
formula, the claim's certificate gives its exact value by an argument in words, and the registered
right-hand side at the values lies on the wrong side of it.  The argument is then outside the check.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from numbers import Real
from pathlib import Path
from typing import Any

import sympy as sp

from bounds.statement import Statement
from trials.checks import InvalidParameter
from verify.claim import Claim
from verify.decisions.domain import Choice
from verify.procedures.interface import Procedure
from verify.procedures.search import Search
from verify.proofs.algebra import number
from verify.proofs.certificate import proof
from verify.proofs.limits import FILE, Rejected, bound
from verify.proofs.refuting import check_failure
from verify.proofs.shelf import Damaged, known_shelves
from verify.proofs.terms import checkers, neutral

FAILURES = Path(__file__).parent / "failures"
_DIGITS = (1, 2, 3, 6, 17)
_POINTS = 24


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A statement, as the checker reads it, with exact values at which it fails.

    Attributes
    ----------
    by : why the left-hand side has its value, empty where it is a formula.
    inequalities : the certificate's, where its numbers could not be read as the statement's
        symbols.  They are then what is given, and the opposite of the last one is the claim.
    """

    statement: Mapping[str, Any]
    values: Mapping[str, str]
    by: str = ""
    inequalities: Sequence[Mapping[str, Any]] = ()


def failures(procedure: Procedure, claim: Claim) -> Iterator[Failure]:
    """How a claim's statement fails: at a point of its search, or at its certificate's values."""
    if not isinstance(procedure, Search):
        return
    if procedure.proposition is not None:
        try:
            statement = procedure.proposition.statement()
        except InvalidParameter:
            statement = None
        values = None if statement is None else _witness(procedure, statement)
        if statement is not None and values is not None:
            yield Failure(statement=statement, values=values)
    made = (proof(partial(procedure.certify, point)) for point in procedure.visited(_POINTS)
            if procedure.certify is not None)  # fmt: skip
    document = next((each for each in made if each is not None), None)
    if document is not None:
        yield _at_values(claim.statement, document)


def registered(statement: Statement) -> str:
    """The hash of a statement's right-hand side, relation, assumptions and constants."""
    parts = [statement.relation, *(sp.srepr(term.expr) for term in statement.terms)]
    for each in statement.assumptions:
        parts += [sp.srepr(each.left), sp.srepr(each.right), str(each.constant), str(each.strict)]
    parts += [f"{c.name} {c.low!r} {c.high!r} {c.generous}" for c in statement.constants]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


# -- Points of a search ---------------------------------------------------------------------------


def _witness(search: Search, statement: dict[str, Any]) -> dict[str, str] | None:
    """Values at which a statement fails, with few digits, None where no point of a search does.

    One of several single values keeps its digits: another one is out of the domain.
    """
    listed = search.proposition.ranges if search.proposition is not None else {}
    single = {x for x, each in listed.items() if isinstance(each, Choice)}
    for point in search.visited(_POINTS):
        known = {**point, **search.symbols(point)}
        if not all(_is_finite(known.get(x)) for x in statement["variables"]):
            continue
        for digits in _DIGITS:
            values = {
                x: str(
                    Fraction(repr(float(known[x]))) if x in single else _rounded(known[x], digits)
                )
                for x in statement["variables"]
            }
            try:
                check_failure(statement, values)
            except Rejected:
                continue
            return values
    return None


def _is_finite(value: Any) -> bool:
    """Whether a value is a number with digits, of Python or of NumPy."""
    return isinstance(value, Real) and math.isfinite(value)


def _rounded(value: Any, digits: int) -> Fraction:
    return Fraction(f"{float(value):.{digits - 1}e}")


# -- Values of a certificate ----------------------------------------------------------------------


def _at_values(statement: Statement, document: Mapping[str, Any]) -> Failure:
    """The inequalities of a certificate, the last one with the registered formula."""
    inequalities, by = document["inequalities"], document["argument"]
    found = _in_symbols(statement, inequalities)
    if found is not None:
        return Failure(statement=found[0], values=found[1], by=by)
    relations = [numeric(each) for each in inequalities]
    _, larger, smaller = relations[-1]
    numbers = {"variables": [], "given": relations[:-1], "claim": [">=", smaller, larger]}
    return Failure(statement=numbers, values={}, by=by, inequalities=inequalities)


def numeric(inequality: Mapping[str, Any]) -> list[Any]:
    """An inequality between numbers as a relation of the checker."""
    left, sign, right = (inequality[part] for part in ("left", "relation", "right"))
    larger, smaller = (left, right) if sign == ">" else (right, left)
    return [">", larger, smaller]


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


# -- Files ----------------------------------------------------------------------------------------


def for_the_checker(statement: Mapping[str, Any]) -> dict[str, Any]:
    """A statement in the operations of the checker."""

    def relation(each: Sequence[Any]) -> list[Any]:
        return [each[0], *map(checkers, each[1:])]

    given = [relation(each) for each in statement["given"]]
    return {**statement, "given": given, "claim": relation(statement["claim"])}


def write(claim: Claim, failure: Failure, folder: Path = FAILURES) -> Path:
    """Check that a statement fails at the values, and store them.  `Rejected` where it does not."""
    statement = for_the_checker(failure.statement)
    check_failure(statement, failure.values)
    document = {
        "claim": claim.id,
        "registered": registered(claim.statement),
        "statement": statement,
        "values": failure.values,
        "by": failure.by,
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{claim.id}.json"
    text = json.dumps(document, separators=(",", ":"), sort_keys=True)
    path.write_text(text + "\n", encoding="utf-8")
    return path


def stored(claim: Claim, folders: Sequence[Path] | None = None) -> dict[str, Any] | None:
    """The statement with the values at which it fails, or None where the claim has no file.

    A claim whose registered statement was changed has another one, and finds nothing.

    Raises
    ------
    Damaged
        When the statement does not fail at the values.
    """
    if folders is None:
        folders = (FAILURES, *(shelf / FAILURES.name for shelf in known_shelves()))
    paths = (folder / f"{claim.id}.json" for folder in folders)
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        return None
    try:
        bound("the number of bytes", path.stat().st_size, FILE)
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["registered"] != registered(claim.statement):
            return None
        found = {part: document[part] for part in ("statement", "values", "by")}
        check_failure(found["statement"], found["values"])
    except Rejected as error:
        raise Damaged(path, f"shows no failure: {error}") from None
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise Damaged(path, f"holds no values: {str(error)[:80]}") from None
    return found


def shown(procedure: Procedure, claim: Claim) -> dict[str, Any] | None:
    """What is stored of a claim, where it shows that the procedure's own statement fails.

    The file may be older than the domain or the left-hand side that the claim has now.  An argument
    about the left-hand side is not checked.
    """
    found = stored(claim)
    if found is None or found["by"]:
        return found
    if not isinstance(procedure, Search) or procedure.proposition is None:
        return None
    try:
        check_failure(for_the_checker(procedure.proposition.statement()), found["values"])
    except (InvalidParameter, Rejected):
        return None
    return found

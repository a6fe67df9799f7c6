"""The certificates that come with the package, one file for each statement, named by its hash."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import sympy as sp

from bounds.render import latex
from verify.proofs.checker import Rejected, check, digest, number
from verify.proofs.lemmas import lemmas
from verify.proofs.limits import FILE, TooLarge, bound
from verify.proofs.propositions import Proposition, widens
from verify.proofs.prover import find as search

SHELF = Path(__file__).parent / "certificates"
#: The folder beside a claims file in which `cfl-verify prove` writes and later runs look.
CERTIFICATES = "certificates"
#: Folders with certificates of papers in files of one's own.
_OWN: dict[Path, None] = {}


class Damaged(Rejected):
    """A file of a shelf holds no proof of its own statement.  The message says how to go on."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path} {why}; delete it, or write it anew by `cfl-verify prove`")


def known_shelves() -> tuple[Path, ...]:
    """The folders with certificates beside the package's own, in the order of their mention."""
    return tuple(_OWN)


def add_shelf(folder: Path) -> None:
    """Look for certificates in a folder as well."""
    _OWN[folder.resolve()] = None


def path_of(statement: Mapping[str, Any], shelf: Path = SHELF) -> Path:
    """The file that holds the certificate of a statement."""
    return shelf / f"{digest(statement)[:20]}.json"


def stored(
    proposition: Proposition, shelves: Sequence[Path] | None = None
) -> dict[str, Any] | None:
    """The proved form of a proposition with its certificate, or None where no shelf has one.

    The file is found by the hash of the proposition's own statement.  A proposition that was
    changed has another one, and finds nothing.

    Returns
    -------
    ``statement`` and ``certificate``, the given relations ``narrowed`` that only bound a search and
    that the proof needs, the argument ``by`` outside the proof, and the names of its ``lemmas``.

    Raises
    ------
    Damaged
        When the certificate does not prove the statement, or the statement is not this one.
    """
    own = proposition.statement()
    for shelf in (SHELF, *known_shelves()) if shelves is None else shelves:
        path = path_of(own, shelf)
        if not path.is_file():
            continue
        document = read(path, own)
        statement = document["statement"]
        try:
            _check(json.dumps([statement, document["certificate"]]))
        except Rejected as error:
            raise Damaged(path, f"holds no proof: {error}") from None
        return {
            "statement": statement,
            "certificate": document["certificate"],
            "narrowed": proposition.optional(statement),
            "by": proposition.by,
            **({"lemmas": cited} if (cited := _cited(proposition)) else {}),
        }
    return None


def read(path: Path, own: Mapping[str, Any]) -> dict[str, Any]:
    """What a file holds of a statement: a form that says no less, and a certificate, unchecked.

    Raises
    ------
    Damaged
        When the file holds no certificate, or one of another statement.
    """
    try:
        bound("the number of bytes", path.stat().st_size, FILE)
        document = json.loads(path.read_text(encoding="utf-8"))
        found = {part: document[part] for part in ("statement", "certificate")}
        same = widens(found["statement"], own)
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise Damaged(path, f"holds no certificate: {str(error)[:80]}") from None
    if not same:
        raise Damaged(path, "proves another statement")
    return found


@lru_cache(maxsize=1024)
def _check(text: str) -> None:
    """Refuse a certificate that does not prove its statement.  One text of both is checked once."""
    check(*json.loads(text))


def _cited(proposition: Proposition) -> list[str]:
    """The names of the known results on which a proof rests outside its certificate."""
    reduction = proposition.reduction
    return [] if reduction is None else [lemma.name for lemma in lemmas(reduction.lemmas)]


def prove(name: str, proposition: Proposition, shelf: Path = SHELF) -> Path | None:
    """Find a certificate and store it.  None where no tactic proves the proposition.

    None too where the checker or the file would exceed a limit.

    The ends of ranges that only bound a search are left out one by one, where a proof is found
    without them.
    """
    own = proposition.statement()
    statement, certificate = widest(own, proposition.optional(own), proposition.steps())
    if certificate is None:
        return None
    text = _compact({"claim": name, "statement": statement, "certificate": certificate}) + "\n"
    try:
        check(statement, certificate)
        bound("the number of bytes", len(text.encode()), FILE)
    except TooLarge:
        return None
    path = path_of(own, shelf)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def widest(
    own: Mapping[str, Any], optional: Sequence[Any], hints: Sequence[Sequence[Any]] = ()
) -> tuple[Mapping[str, Any], dict[str, Any] | None]:
    """A form of a statement without the optional relations that its proof can spare."""

    find = partial(search, hints=hints)

    def without(ends: Sequence[Any]) -> dict[str, Any]:
        return {**own, "given": [each for each in own["given"] if each not in ends]}

    # All of them spared, then all but one, then as many as a search from the narrowest form spares.
    for kept in ((), *((end,) for end in optional)):
        wide = without([end for end in optional if end not in kept])
        if (certificate := find(wide)) is not None:
            return wide, certificate
    # What is given may lead the search astray: without a limit it proves more, and finds it.
    for limit in [each for each in own["given"] if each not in optional and is_limit(each)]:
        wide = without([*optional, limit])
        if (certificate := find(wide)) is not None:
            return wide, certificate
    if not optional:
        return own, None
    spared = list[Any]()
    statement, certificate = dict(own), find(own)
    for end in optional if certificate is not None else ():
        again = find(without([*spared, end]))
        if again is not None:
            spared.append(end)
            statement, certificate = without(spared), again
    return statement, certificate


def is_limit(relation: Sequence[Any]) -> bool:
    """Whether a relation is a limit of a variable by a number other than zero."""
    return any(number(side) not in (None, 0) for side in relation[1:])


def _compact(document: Mapping[str, Any]) -> str:
    return json.dumps(document, separators=(",", ":"), sort_keys=True)


def steps(certificate: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """All steps of a certificate."""
    yield certificate
    for below in certificate.get("then", ()):
        yield from steps(below)


def domain_of(statement: Mapping[str, Any]) -> str:
    """The given relations of a statement as formulas, each once."""
    return ", ".join(dict.fromkeys(map(formula_of, statement["given"])))


def formula_of(relation: Sequence[Any]) -> str:
    r"""A relation as a formula.

    >>> formula_of([">=", ["*", "n", ["^", ["+", "1", "rho"], "-2"]], "size_k"])
    '$\\frac{n}{\\left(\\rho + 1\\right)^{2}} \\ge \\text{size k}$'
    """
    sign, *sides = relation
    left, right = (latex(_expression(side)) for side in sides)
    return f"${left} {_SIGNS.get(sign, sign)} {right}$"


_MANY = 6  # zeros of a number from which on it is printed as a power
_SIGNS = {">=": r"\ge", "<=": r"\le"}
_OPERATIONS = {"+": sp.Add, "*": sp.Mul, "^": sp.Pow, "exp": sp.exp, "log": sp.log}


def _expression(term: Any) -> sp.Expr:
    """A term as an expression for print."""
    if not isinstance(term, str):
        op, *parts = term
        made = map(_expression, parts)
        return _OPERATIONS[op](*made) if op in _OPERATIONS else sp.Function(op)(*made)
    if (value := number(term)) is not None:
        zeros = len(str(max(value.numerator, value.denominator))) - 1
        if zeros > _MANY and value in (10**zeros, Fraction(1, 10**zeros)):
            return sp.Symbol(f"10^{{{zeros if value > 1 else -zeros}}}")
        return sp.Rational(value)
    head, low, tail = term.partition("_")
    head = {"lam": "lambda"}.get(head, head)
    if len(head) > 1 and latex(sp.Symbol(head)) == head:
        return sp.Symbol(rf"\text{{{term.replace('_', ' ')}}}")
    return sp.Symbol(f"{head}hat" if tail == "hat" else head + low + tail)


def relation_of(relation: Sequence[Any]) -> str:
    """A relation as plain text."""
    sign, a, b = relation
    return f"{_text(a)} {sign} {_text(b)}"


def _text(term: Any, inside: bool = False) -> str:
    """A term as plain text.  An exponent that is no name and no whole number has brackets.

    >>> _text(["^", ["*", "a", ["^", "b", "-1"]], "1/2"])
    '(a*(b^(-1)))^(1/2)'
    """
    if isinstance(term, str):
        return term
    op, *parts = term
    if op == "^" and isinstance(parts[1], str) and not parts[1].isalnum():
        parts[1] = f"({parts[1]})"
    if op in ("+", "*", "^"):
        shown = {"+": " + ", "*": "*", "^": "^"}[op].join(_text(part, True) for part in parts)
        return f"({shown})" if inside else shown
    return f"{op}({', '.join(map(_text, parts))})"

r"""The best constant of a statement: it holds with it, and fails with every constant beyond.

A bound :math:`f(x, C)` is a statement for each constant C.  Its best constant C* is proved by two
kinds of certificates.  One is of the statement with C* in its whole domain.  The others have one
variable, the constant.  They prove for every C beyond C* that some values of the statement's
variables, which may depend on C, meet all that is given, and that the bound fails there.

A statement about arrays or laws has a reduction to a few numbers.  The first certificate then
stands up to the argument of the reduction, and the others up to ``by``: why some input has these
numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import sympy as sp

from bounds.readable import readable
from bounds.render import latex
from bounds.statement import Term
from trials.checks import InvalidParameter
from verify.claim import Claim
from verify.procedures.base import PROFILES
from verify.procedures.search import Search
from verify.proofs.checker import Rejected, check
from verify.proofs.propositions import POSITIVE, Proposition
from verify.proofs.prover import find
from verify.proofs.shelf import relation_of
from verify.proofs.terms import neutral

#: The constant of a bound.
CONSTANT = sp.Symbol("constant")
#: A statement as the checker reads it, and facts on the way to its proof.
Document = tuple[dict[str, Any], Sequence[Any]]


@dataclass(frozen=True, kw_only=True)
class Best:
    """The best constant of a claim's bound.

    Attributes
    ----------
    claim : whose right-hand side is ``form`` with the constant ``stated``.
    form : the bound with `CONSTANT`.
    stated, best : the constant in the claim, and the best one.
    fails : where the bound fails: above the best constant, or below it and above zero.
    at : values of all variables of the claim's proposition, numbers or expressions of `CONSTANT`.
        A family is a sequence of members, each with the values of its names.  The vectors there
        have one dimension.
    by : why an input has these values, where the claim has an argument outside its certificate.
    left : by ``by`` the left-hand side there, or what lies on its better side.
    printed : the claim whose printed bound has another form, where this one is not in print.
    hints : facts on the way to the proof with the best constant, by default the claim's.
    on_the_way : facts on the way to the proof that the bound fails.
    """

    claim: str
    form: sp.Expr
    stated: sp.Expr
    best: sp.Expr
    fails: Literal["<", ">"]
    at: Mapping[str, Any]
    by: str = ""
    left: sp.Expr | None = None
    printed: str = ""
    hints: Sequence[Sequence[Any]] | None = None
    on_the_way: Sequence[Sequence[Any]] = ()

    def proposition(self, claim: Claim, constant: sp.Expr) -> Proposition:
        """The claim's proposition with a constant in its bound.

        Raises
        ------
        InvalidParameter
            When the claim's bound is not the form, or its proposition does not hold the bound.
        """
        own = claim.statement.expr
        if sp.simplify(own - self.form.subs(CONSTANT, self.stated)) != 0:
            raise InvalidParameter(f"{self.claim}: the bound is {sp.sstr(own)}")
        term = Term(name="bound", expr=self.form.subs(CONSTANT, constant))
        search = claim.builder(replace(claim.statement, terms=(term,)), PROFILES["quick"])
        found = search.proposition if isinstance(search, Search) else None
        if found is None or (constant == CONSTANT) != (CONSTANT in found.right.free_symbols):
            raise InvalidParameter(f"{self.claim}: its proposition does not hold the bound")
        return replace(found, ranges={**found.ranges, str(CONSTANT): POSITIVE})

    def documents(self, claim: Claim) -> Iterator[Document]:
        """All statements: with the best constant, and where those beyond it fail."""
        yield self.holds(claim)
        yield from self.failures(claim)

    @property
    def grade(self) -> str:
        """What the certificates leave open."""
        return "up to an argument" if self.by else "everywhere"

    def holds(self, claim: Claim) -> Document:
        """The statement with the best constant."""
        found = self.proposition(claim, self.best)
        if self.hints is not None:
            found = replace(found, hints=self.hints)
        return found.statement(), found.steps()

    def failures(self, claim: Claim) -> Iterator[Document]:
        """That the bound fails at the values, and that they meet each given relation."""
        found = replace(self.proposition(claim, CONSTANT), hints=self.on_the_way)
        if self.left is not None:
            found = replace(found, left=self.left)
        statement = found.statement()
        relation, larger, smaller = statement["claim"]
        if relation != ">=":
            raise InvalidParameter(f"{self.claim}: an equation has no best constant")
        constant, best = str(CONSTANT), neutral(self.best)
        beyond = [[">", constant, best] if self.fails == ">" else [">", best, constant],
                  [">", constant, "0"]]  # fmt: skip

        def at(each: Sequence[Any], values: Mapping[str, Any]) -> dict[str, Any]:
            claimed = [each[0], *(_at(side, values) for side in each[1:])]
            return {"variables": [constant], "given": beyond, "claim": claimed}

        yield at([">", smaller, larger], self.at), found.steps()
        for each in statement["given"]:
            yield at(each, self.at), ()
        for name, family in statement.get("sums", {}).items():
            for member in self.at[name]:
                for each in family["given"]:
                    yield at(each, {**self.at, **member}), ()


def _at(term: Any, values: Mapping[str, Any]) -> Any:
    """A term at values of its names, families as sums of their members, vectors as numbers."""
    if isinstance(term, str):
        return neutral(sp.sympify(values[term])) if term in values else term
    op, *parts = term
    if op == "sum":
        return ["+", "0", *(_at(parts[1], {**values, **member}) for member in values[parts[0]])]
    if op == "^" and isinstance(parts[1], str) and parts[1] in values:
        # a bare number would change the power
        return [op, _at(parts[0], values), ["+", _at(parts[1], values)]]
    return ["*" if op == "dot" else op, *(_at(part, values) for part in parts)]


def proofs(best: Best, claim: Claim) -> list[dict[str, Any]]:
    """Certificates of all its statements, found anew.

    Raises
    ------
    InvalidParameter
        When a statement has no proof here.
    """
    found = []
    for statement, hints in best.documents(claim):
        certificate = find(statement, hints=hints)
        if certificate is None:
            relation = relation_of(statement["claim"])
            raise InvalidParameter(f"{best.claim}: no proof of {relation}")
        found.append(certificate)
    return found


def verify(best: Best, claim: Claim, certificates: Sequence[Mapping[str, Any]]) -> int:
    """Check that the certificates prove all its statements, in their order, and count them.

    Raises
    ------
    Rejected
        When one does not, or their number is another.
    """
    statements = [statement for statement, _ in best.documents(claim)]
    if len(statements) != len(certificates):
        raise Rejected(f"{best.claim}: another number of certificates")
    for statement, certificate in zip(statements, certificates, strict=True):
        check(statement, certificate)
    return len(statements)


def sentence(best: Best, claim: Claim) -> str:
    """The best constant in words.

    Examples
    --------
    >>> from verify.claims.best_constants import BEST
    >>> from verify.papers import catalogue
    >>> sentence(BEST["sxy.eq35"], catalogue()["sxy.eq35"])
    'C = 1/3 serves in C Δ^2 α (here C = 1/3), and no larger one does (proved everywhere)'
    """
    stated = f"C = {_number(best.stated)}" if best.stated.is_number else "C is not named"
    return (
        f"C = {_number(best.best)} serves in {_bound(best, claim)} (here {stated}), and no "
        f"{_FAILING[best.fails]} one does (proved {best.grade})"
    )


def table(found: Iterable[Best], claims: Mapping[str, Claim]) -> str:
    """The best constants as a table of Markdown."""
    rows = []
    for best in found:
        claim = claims[best.claim]
        stated = _number(best.stated) if best.stated.is_number else "unnamed"
        other = f", where `{best.printed}` prints another form" if best.printed else ""
        bound = _bound(best, claim).replace("|", r"\|")
        cells = (f"`{best.claim}`", f"`{bound}`", stated + other, _number(best.best),
                 _FAILING[best.fails], best.grade)  # fmt: skip
        rows.append(f"| {' | '.join(cells)} |")
    head = "| claim | bound | C in the claim | best C | fails with any C that is | proved |"
    return "\n".join([head, "| --- | --- | --- | --- | --- | --- |", *rows])


_FAILING = {"<": "smaller", ">": "larger"}


def _bound(best: Best, claim: Claim) -> str:
    """The bound as text, in the paper's letters."""
    notation = claim.statement.publication.notation
    words = {s: sp.Symbol(rf"\text{{{s}}}") for s in best.form.free_symbols
             if latex(s, notation) == s.name and len(s.name) > 2}  # fmt: skip
    return readable(latex(best.form.subs({**words, CONSTANT: sp.Symbol("C")}), notation))


def _number(constant: sp.Expr) -> str:
    return readable(latex(constant))

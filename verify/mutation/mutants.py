r"""Mutants of a statement: the same theorem with one exponent, factor, term or probability changed.

Mutants are derived from the statement's own expressions, so that a new claim gets them for nothing:

* *exponent*: a term is multiplied by :math:`s^{e}` for each of its symbols s and
  :math:`e=\pm1/4,\pm1/2`.  Inside an exponential the argument is multiplied instead;
* *factor*: a term whose size no free constant can absorb is multiplied by 3/4 and 1/4;
* *term*: one of several terms is dropped;
* *failure*: the failure probability is divided by 4, squared, or replaced by :math:`e^{-m}`;
* *side*: an equation is moved by 5 per cent, up and down.

Many mutants ask for more than the paper does, and most of those are false.  Some ask for less.
`asks_less` tells these apart over the range in which the claim is tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import sympy as sp

from bounds.statement import Statement, Term

Kind = Literal["exponent", "factor", "term", "failure", "side"]
EXPONENTS = (sp.Rational(-1, 2), sp.Rational(-1, 4), sp.Rational(1, 4), sp.Rational(1, 2))
FACTORS = (sp.Rational(3, 4), sp.Rational(1, 4))
#: Smallest and largest value of each symbol over a claim's cells or search domain.
Ranges = Mapping[str, tuple[float, float]]


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A changed statement.

    Attributes
    ----------
    name : the change in one phrase, e.g. ``term floor: d^(1/4) more``.
    kind : the kind of change.
    statement : the changed statement; its id is the original's.
    multiplier : the factor by which one term (or the failure probability) was multiplied, where the
        change is that; the argument of its exponential where ``inside`` is true.
    """

    name: str
    kind: Kind
    statement: Statement
    multiplier: sp.Expr | None = None
    inside: bool = False


def mutants(statement: Statement) -> list[Mutant]:
    """Every mutant of a statement, in a fixed order.

    A statement without a sum of terms (a comparison, a printed number) has mutants of its failure
    probability only; its procedure has controls of its own.
    """
    made: list[Mutant] = []
    for term in statement.terms:
        made += _exponents(statement, term)
        made += _factors(statement, term)
    if len(statement.terms) > 1:
        for term in statement.terms:
            kept = tuple(t for t in statement.terms if t is not term)
            changed = replace(statement, terms=kept)
            made.append(Mutant(name=f"term {term.name}: dropped", kind="term", statement=changed))
    made += _failures(statement)
    return made


def with_term(statement: Statement, name: str, expr: sp.Expr) -> Statement:
    """The statement with one term's expression replaced."""
    terms = tuple(Term(name=t.name, expr=expr) if t.name == name else t for t in statement.terms)
    return replace(statement, terms=terms)


def variables(statement: Statement, expr: sp.Expr) -> list[sp.Symbol]:
    """The symbols of an expression that are no constants, by name."""
    constants = {constant.symbol for constant in statement.constants}
    return sorted(expr.free_symbols - constants, key=lambda s: s.name)


def _exponents(statement: Statement, term: Term) -> Iterator[Mutant]:
    tails = sorted(term.expr.doit().atoms(sp.exp), key=sp.default_sort_key)
    inside = {s for tail in tails for s in tail.free_symbols}
    for symbol in variables(statement, term.expr):
        for shift in EXPONENTS:
            change = f"{symbol.name}^({abs(shift)}) {'more' if shift > 0 else 'less'}"
            if symbol not in inside:
                yield Mutant(
                    name=f"term {term.name}: {change}",
                    kind="exponent",
                    statement=with_term(statement, term.name, term.expr * symbol**shift),
                    multiplier=symbol**shift,
                )
                continue
            expr = term.expr.doit()
            for tail in tails:
                if symbol in tail.free_symbols:
                    expr = expr.subs(tail, sp.exp(tail.args[0] * symbol**shift))
            yield Mutant(
                name=f"term {term.name}: {change} in the exponent",
                kind="exponent",
                statement=with_term(statement, term.name, expr),
                multiplier=symbol**shift,
                inside=True,
            )


def _factors(statement: Statement, term: Term) -> Iterator[Mutant]:
    if statement.relation == "=":
        for factor in (sp.Rational(21, 20), sp.Rational(19, 20)):
            yield Mutant(
                name=f"term {term.name}: times {float(factor):g}",
                kind="side",
                statement=with_term(statement, term.name, term.expr * factor),
                multiplier=factor,
            )
        return
    if absorbs(statement, term):
        return
    for factor in FACTORS if statement.relation != r"\ge" else tuple(1 / f for f in FACTORS):
        yield Mutant(
            name=f"term {term.name}: times {factor}",
            kind="factor",
            statement=with_term(statement, term.name, term.expr * factor),
            multiplier=factor,
        )


def absorbs(statement: Statement, term: Term) -> bool:
    """Whether a free constant multiplies the term, so that a factor changes nothing."""
    expr = term.expr.doit()
    for constant in statement.constants:
        if constant.generous == "choose" or constant.symbol not in expr.free_symbols:
            continue
        ratio = sp.simplify(expr.subs(constant.symbol, 2 * constant.symbol) / expr)
        if ratio.is_number and ratio != 1:
            return True
    return False


def _failures(statement: Statement) -> Iterator[Mutant]:
    delta = statement.failure
    if delta is None:
        return
    changes: list[tuple[str, sp.Expr]] = [("divided by 4", delta / 4), ("squared", delta**2)]
    if m := next((s for s in delta.free_symbols if s.name == "m"), None):
        changes.append(("replaced by e^-m", sp.exp(-m)))
    for name, changed in changes:
        yield Mutant(
            name=f"failure probability: {name}",
            kind="failure",
            statement=replace(statement, failure=changed),
            multiplier=changed / delta,
        )


def asks_less(mutant: Mutant, ranges: Ranges) -> bool:
    """Whether the mutant follows from the original wherever the claim is tried.

    A mutant of an upper bound that only enlarges a term asks for less, as does one that shrinks the
    argument of a decaying exponential.  Unknown ranges answer False: the mutant counts as false.
    """
    if mutant.multiplier is None or mutant.kind == "side":
        return False
    sizes = _range(mutant.multiplier, ranges)
    if sizes is None:
        return False
    low, high = sizes
    larger, smaller = low >= 1.0, high <= 1.0
    if mutant.inside:
        larger, smaller = smaller, larger
    if mutant.kind == "failure":
        return larger
    return smaller if mutant.statement.relation == r"\ge" else larger


def _range(expr: sp.Expr, ranges: Ranges) -> tuple[float, float] | None:
    """Smallest and largest value of a power of one symbol, or None where it is not known."""
    symbols: Sequence[sp.Symbol] = sorted(expr.free_symbols, key=lambda s: s.name)
    if not symbols:
        return float(expr), float(expr)
    if len(symbols) > 1 or symbols[0].name not in ranges:
        return None
    ends = [float(expr.subs(symbols[0], end)) for end in ranges[symbols[0].name]]
    return min(ends), max(ends)

r"""A symbol inserted in a term: a factor that the bound of the paper does not have.

Each term is divided by s, by :math:`\sqrt s` and by :math:`\log(es)`, for every count s that is no
factor of the term yet: a power of a factor is an exponent, which `verify.mutation.mutants` changes.
A bound from below, and a term below zero, is multiplied.  A statement about growth is changed in
both ways.  A count is at least one, and so is each factor.  So every change of a bound asks for
more.

A count that has one value wherever the claim is tried makes its change a number there.  Where a
hidden constant multiplies the term, a larger constant makes up for it, and no cell of the claim can
tell: such a change is *equivalent* (`absorbed`).  Without such a constant it is a false number, as
any factor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import sympy as sp

from bounds.statement import Statement, Term
from verify.mutation.mutants import Mutant, absorbs, asks_more_when_larger, multiplied, power_of

#: Inserted factors, the smaller ones first.  Each is 1 at s = 1 and at most s.  The logarithm has a
#: limit, because a parameter may lie below one in another cell.
_FACTORS = {
    "sqrt({})": sp.sqrt,
    "log(e {})": lambda s: 1 + sp.log(sp.Max(1, s)),
    "{}": lambda s: s,
}
_VERBS = {False: "divided by", True: "times"}


def insertions(
    statement: Statement, term: Term, counts: Mapping[str, sp.Symbol]
) -> Iterator[Mutant]:
    """The term with each further count as a factor, of one symbol the smaller ones first.

    Parameters
    ----------
    counts : the symbols whose values are whole numbers from one on, by name.
    """
    for name in sorted(name for name, symbol in counts.items() if not _is_factor(symbol, term)):
        for multiplies in _directions(statement, term):
            for form, factor in _FACTORS.items():
                inserted = factor(counts[name])
                multiplier = inserted if multiplies else 1 / inserted
                yield Mutant(
                    name=f"term {term.name}: {_VERBS[multiplies]} {form.format(name)}",
                    kind="meaning",
                    original=statement,
                    change=partial(multiplied, name=term.name, factor=multiplier),
                    multiplier=multiplier,
                    term=term.name,
                    symbol=counts[name],
                )


def _is_factor(symbol: sp.Symbol, term: Term) -> bool:
    """Whether a term is a power of a symbol times something without it."""
    return symbol in term.expr.free_symbols and power_of(term.expr, symbol) is not None


def _directions(statement: Statement, term: Term) -> tuple[bool, ...]:
    """Whether the term is multiplied: the way that asks for more, both where growth is compared."""
    if statement.relation == r"\propto":
        return False, True
    return (asks_more_when_larger(statement, term),)


def smaller_forms(mutant: Mutant) -> list[str]:
    """The names of the insertions that change a bound less than this one at every place.

    Nothing where this is no insertion of a whole symbol, or the statement is no bound: a law may be
    wrong by the root of k, and right by k.
    """
    if mutant.symbol is None or mutant.original.relation not in (r"\le", r"\ge"):
        return []
    head, _, form = mutant.name.rpartition(" ")
    if form != mutant.symbol.name:
        return []
    return [f"{head} {smaller.format(form)}" for smaller in list(_FACTORS)[:-1]]


def absorbed(
    statement: Statement, mutant: Mutant, points: Sequence[Mapping[str, Any]]
) -> float | None:
    """The one value of an inserted symbol at all points, where a hidden constant makes up for it.

    None where the symbol has several values, where the term has no constant in front, or where the
    mutant inserts no symbol.
    """
    if mutant.symbol is None or not absorbs(statement, statement.term(mutant.term)):
        return None
    values = [
        np.ravel(point[mutant.symbol.name]) for point in points if mutant.symbol.name in point
    ]
    distinct = np.unique(np.concatenate(values)) if values else np.array([])
    return float(distinct[0]) if distinct.size == 1 else None

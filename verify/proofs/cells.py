"""Failure probabilities in a cell: a tail of an exact law against the stated probability.

A cell gives every symbol a value, so both sides are numbers.  The checker encloses them by balls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy as sp

from bounds.statement import Statement
from verify.proofs.checker import check, names, put
from verify.proofs.lemmas import cited, lemmas
from verify.proofs.terms import neutral

#: No variable is left, so that one enclosure of both sides decides.
_ENCLOSED = {"step": "boxes", "splits": ".", "order": []}


@dataclass(frozen=True, kw_only=True)
class ExactTail:
    """Why a failure is at most as likely as stated.

    Attributes
    ----------
    idea : why the probability of a failure is at most ``limit``.  The checker does not read it.
    lemmas : keys of `verify.proofs.lemmas.LEMMAS`.
    limit : of the statement's symbols and of ``bound``, its right-hand side.
    """

    idea: str
    limit: sp.Expr
    lemmas: tuple[str, ...] = ()

    def prove(self, statement: Statement, values: Mapping[str, Any]) -> dict[str, Any] | None:
        """The comparison at the values with its certificate, None where balls do not decide it."""
        if statement.failure is None:  # a mutant that states certainty
            return None
        limit = self.limit.subs(sp.Symbol("bound"), statement.expr)
        try:
            sides = [neutral(sp.sympify(side)) for side in (statement.failure, limit)]
            for name in {*names(sides[0]), *names(sides[1])}:
                sides = [put(side, name, _decimal(values[name])) for side in sides]
            compared = {"variables": [], "given": [], "claim": [">=", *sides]}
            check(compared, _ENCLOSED)
        except (ValueError, LookupError):  # refused, no exact term, or a symbol without a value
            return None
        return {"statement": compared, "certificate": dict(_ENCLOSED), "narrowed": []}

    def prove_all(
        self, statement: Statement, cells: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any] | None:
        """The proofs in all cells as one document, None where one of them is missing."""
        found = [self.prove(statement, values) for values in cells]
        first, *others = found or [None]
        if first is None or None in others:
            return None
        return {
            **first,
            "by": " ".join(part for part in (self.idea, cited(self.lemmas)) if part),
            "lemmas": [lemma.name for lemma in lemmas(self.lemmas)],
            "up_to": f"{len(found)} cells",
            "others": others,
        }


def _decimal(value: float) -> str:
    """A whole number as it is, another one as the decimal that it is written as."""
    return str(value if isinstance(value, int) else Fraction(repr(float(value))))


def describe(proved: Mapping[str, Any]) -> tuple[str, ...]:
    """What is proved in the cells, and what is argued outside."""
    return (
        f"Proved in each of {proved['up_to']}: balls enclose the law's limit and the stated "
        "probability, and a checker of its own has verified that they lie apart. Nothing is proved "
        "between the cells.",
        f"Outside the certificates: {proved['by']}",
    )

r"""Statements about vectors and sums: their expressions, and their values at data.

    u, R, w, x = sp.symbols("u R w x")
    total("F", w * x)          the sum of a member's w x over a family F, a vector
    dot(u, total("F", x))      a product of two vectors of any dimension
    length(u)                  the length of a vector

The checker proves such a statement for families of any size in any dimension
(`verify.proofs.sums`).  So nothing is argued outside the certificate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
import sympy as sp

from verify.proofs.terms import Term, neutral

#: The product of two vectors.
dot = sp.Function("dot")


def total(family: str, each: sp.Expr | int) -> sp.Expr:
    """The sum over a family of a number or a vector of each member."""
    return sp.Function("sum")(sp.Symbol(family), sp.sympify(each))


def square(vector: sp.Expr) -> sp.Expr:
    """The squared length of a vector."""
    return dot(vector, vector)


def length(vector: sp.Expr) -> sp.Expr:
    """The length of a vector."""
    return sp.sqrt(square(vector))


@dataclass(frozen=True, kw_only=True)
class Members:
    """What each member of a family has.

    Attributes
    ----------
    numbers, vectors : names.
    given : relations a >= b of each member, by the statement or by the definition of a symbol.
    """

    numbers: Sequence[str] = ()
    vectors: Sequence[str] = ()
    given: Sequence[tuple[Any, Any]] = ()


@dataclass(frozen=True, kw_only=True)
class Arrays:
    """The vectors and families of a statement, and how the data give them.

    Attributes
    ----------
    values : point -> a vector (d,) for each name, and for each family its members' numbers (n,)
        and vectors (n, d) by name.  None where the statement does not speak of the point.
        Numbers may be among them.
    """

    values: Callable[[Mapping[str, Any]], Mapping[str, Any] | None]
    vectors: Sequence[str] = ()
    families: Mapping[str, Members] = field(default_factory=dict)

    @property
    def names(self) -> set[str]:
        """All names that are no numbers of the whole statement."""
        own = [x for each in self.families.values() for x in (*each.numbers, *each.vectors)]
        return {*self.vectors, *self.families, *own}

    def document(self) -> dict[str, Any]:
        """The vectors and families as `verify.proofs.sums` reads them."""
        return {
            "vectors": list(self.vectors),
            "sums": {
                name: {
                    "variables": list(each.numbers),
                    "vectors": list(each.vectors),
                    "given": [[">=", neutral(a), neutral(b)] for a, b in each.given],
                }
                for name, each in self.families.items()
            },
        }

    def missed(self, values: Mapping[str, Any]) -> str:
        """A relation of a family that some member does not meet, empty where all are met."""
        for name, each in self.families.items():
            for left, right in each.given:
                a, b = (np.asarray(value_of(neutral(side), values, name)) for side in (left, right))
                if np.any(a < b - 1e-9 * np.maximum(np.abs(a), np.abs(b))):
                    return f"{sp.sstr(left)} >= {sp.sstr(right)} fails for a member of {name}"
        return ""


def value_of(term: Term, values: Mapping[str, Any], family: str = "") -> Any:
    """A term's values at data, one for each member of the family: (n,) or (1,), vectors (., d)."""
    if isinstance(term, str):
        own = values.get(family, {})
        found: Any = own[term] if term in own else values[term] if term in values else _number(term)
        return np.atleast_1d(found) if np.ndim(found) != 1 or term in own else found[None]
    op, *parts = term
    if op == "sum":
        n = len(next(iter(values[parts[0]].values())))
        each = value_of(parts[1], values, parts[0])
        return np.broadcast_to(each, (n, *each.shape[1:])).sum(axis=0, keepdims=True)
    inner = [value_of(part, values, family) for part in (parts[:1] if op == "^" else parts)]
    if op == "dot":
        return (inner[0] * inner[1]).sum(axis=-1)
    if op == "*":
        most = max(map(np.ndim, inner))
        inner = [part[:, None] if part.ndim < most else part for part in inner]
    if op == "^":
        return inner[0] ** _number(parts[1])
    return reduce(_VALUES[op], inner)


def _number(text: str) -> float:
    top, _, bottom = text.partition("/")
    return int(top) / int(bottom or 1)


_VALUES = {"+": np.add, "*": np.multiply, "max": np.maximum, "min": np.minimum}

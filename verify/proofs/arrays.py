r"""Statements about vectors, sums and recursions: their expressions, and their values at data.

    u, R, w, x = sp.symbols("u R w x")
    total("F", w * x)          the sum of a member's w x over a family F, a vector
    dot(u, total("F", x))      a product of two vectors of any dimension
    length(u)                  the length of a vector

The checker proves such a statement for families of any size in any dimension
(`verify.proofs.sums`), and after any number of steps (`verify.proofs.runs`).  So nothing is argued
outside the certificate.
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
class Recursion:
    """Numbers that change in each of some steps.

    Attributes
    ----------
    numbers : names of the numbers before a step, and in the statement after the last one.
    later : their names after the step.
    start, steps : relations a >= b before the first step, and of each step.  In a step the name of
        the run is the number of steps before it.
    """

    numbers: Sequence[str]
    later: Sequence[str]
    start: Sequence[tuple[Any, Any]]
    steps: Sequence[tuple[Any, Any]]

    def document(self) -> dict[str, Any]:
        """The recursion as `verify.proofs.runs` reads it."""
        return {
            "numbers": list(self.numbers),
            "later": list(self.later),
            "start": _relations(self.start),
            "steps": _relations(self.steps),
        }

    def missed(self, count: str, values: Mapping[str, Any]) -> str:
        """A relation that the first numbers of the run do not meet, empty where all are met."""
        path = {x: np.asarray(values[f"{count} steps"][x], dtype=float) for x in self.numbers}
        n_steps = len(path[self.numbers[0]]) - 1
        first = {x: path[x][:1] for x in self.numbers}
        each = {x: path[x][:-1] for x in self.numbers} | {count: np.arange(n_steps, dtype=float)}
        each |= {y: path[x][1:] for x, y in zip(self.numbers, self.later, strict=True)}
        found = _missed(self.start, {**values, "start": first}, "start", "the start")
        return found or _missed(self.steps, {**values, "step": each}, "step", "some step")


def both_ways(left: Any, right: Any) -> tuple[tuple[Any, Any], ...]:
    """An equation as two relations."""
    return (left, right), (right, left)


@dataclass(frozen=True, kw_only=True)
class Arrays:
    """The vectors, families and recursions of a statement, and how the data give them.

    Attributes
    ----------
    values : point -> a vector (d,) for each name, and for each family its members' numbers (n,)
        and vectors (n, d) by name.  For a run T the last numbers and T, and under "T steps" the
        first values (n,) of each number.  None where the statement does not speak of the point.
        Other numbers may be among them.
    runs : recursions by the names of their numbers of steps, without vectors and families.
    """

    values: Callable[[Mapping[str, Any]], Mapping[str, Any] | None]
    vectors: Sequence[str] = ()
    families: Mapping[str, Members] = field(default_factory=dict)
    runs: Mapping[str, Recursion] = field(default_factory=dict)

    @property
    def names(self) -> set[str]:
        """All names that are no numbers of the whole statement."""
        own = [x for each in self.families.values() for x in (*each.numbers, *each.vectors)]
        changed = [x for each in self.runs.values() for x in (*each.numbers, *each.later)]
        return {*self.vectors, *self.families, *own, *self.runs, *changed}

    def document(self) -> dict[str, Any]:
        """The vectors, families and runs as the checker reads them."""
        if self.runs:
            return {"runs": {name: each.document() for name, each in self.runs.items()}}
        return {
            "vectors": list(self.vectors),
            "sums": {
                name: {
                    "variables": list(each.numbers),
                    "vectors": list(each.vectors),
                    "given": _relations(each.given),
                }
                for name, each in self.families.items()
            },
        }

    def expressions(self) -> list[sp.Expr]:
        """The sides of what is known of the recursions."""
        pairs = [pair for each in self.runs.values() for pair in (*each.start, *each.steps)]
        return [sp.sympify(side) for pair in pairs for side in pair]

    def missed(self, values: Mapping[str, Any]) -> str:
        """A relation of a family or a run that the data do not meet, empty where all are met."""
        families = (
            _missed(each.given, values, name, f"a member of {name}")
            for name, each in self.families.items()
        )
        runs = (each.missed(count, values) for count, each in self.runs.items())
        return next(filter(None, (*families, *runs)), "")


def _relations(pairs: Sequence[tuple[Any, Any]]) -> list[list[Any]]:
    """Relations a >= b as plain data."""
    return [[">=", neutral(a), neutral(b)] for a, b in pairs]


def _missed(
    pairs: Sequence[tuple[Any, Any]], values: Mapping[str, Any], family: str, of: str
) -> str:
    """A relation that some value of a family does not meet, empty where all are met."""
    for (left, right), (_, *sides) in zip(pairs, _relations(pairs), strict=True):
        a, b = (value_of(side, values, family) for side in sides)
        if np.any(a < b - 1e-9 * np.maximum(np.abs(a), np.abs(b))):
            return f"{sp.sstr(left)} >= {sp.sstr(right)} fails for {of}"
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
    inner = [value_of(part, values, family) for part in parts]
    if op == "dot":
        return (inner[0] * inner[1]).sum(axis=-1)
    if op == "*":
        most = max(map(np.ndim, inner))
        inner = [part[:, None] if part.ndim < most else part for part in inner]
    if op in _FUNCTIONS:
        return _FUNCTIONS[op](*inner)
    return reduce(_VALUES[op], inner)


def _number(text: str) -> float:
    top, _, bottom = text.partition("/")
    return int(top) / int(bottom or 1)


_VALUES = {"+": np.add, "*": np.multiply, "max": np.maximum, "min": np.minimum}
_FUNCTIONS = {"^": np.power, "log": np.log, "exp": np.exp}

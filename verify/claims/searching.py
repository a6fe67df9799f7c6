"""Searches of deterministic statements: both sides of a relation at every point."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from bounds.statement import Statement
from verify.claims.common import Point
from verify.decisions.domain import Domain, Ranges
from verify.decisions.search import SearchResult
from verify.procedures.base import Presentation
from verify.procedures.search import Search
from verify.proofs.certificate import Certificate, Inequality, certificate
from verify.proofs.terms import Term, enclose, from_sympy, rational

#: (observed, bound) at a point.
Sides = Callable[[Point], tuple[float, float]]
#: The unit of `excess`.
EXCESS = "share by which the relation fails"


def excess(statement: Statement, observed: float, bound: float) -> float:
    """The share by which the statement's relation fails, negative where it holds with room."""
    smaller, larger = (observed, bound) if statement.relation == r"\le" else (bound, observed)
    if statement.relation == "=":
        scale = max(abs(observed), abs(bound))
        return abs(observed - bound) / scale if scale > 0.0 else 0.0
    if math.isinf(larger):
        return -1.0
    scale = max(abs(smaller), abs(larger))
    return (smaller - larger) / scale if scale > 0.0 else 0.0


def proves(
    statement: Statement,
    argument: str,
    says: str,
    observed: Term,
    values: Mapping[str, float | int | str | Fraction],
) -> Certificate:
    """A certificate that an exact left-hand side misses the statement's bound at exact values.

    It proves as well that the values meet the statement's assumptions.

    Parameters
    ----------
    argument : the data set or setting, and why the left-hand side is what is given.
    says : the inequality in words.
    observed : the left-hand side as an exact term.
    values : the symbols of the bound and of the assumptions, hidden constants among them.
    """
    bound = from_sympy(statement.expr, values)
    relation: Literal["<", ">"] = "<" if statement.relation == r"\ge" else ">"
    fails = Inequality(says=says, left=observed, relation=relation, right=bound)
    return certificate(argument, [*_met(statement, values), fails])


def _met(
    statement: Statement, values: Mapping[str, float | int | str | Fraction]
) -> Iterator[Inequality]:
    """The statement's assumptions at exact values, but those that hold with equality."""
    for assumption in statement.assumptions:
        hidden = 1 if assumption.constant is None else values.get(assumption.constant.name, 1)
        left = from_sympy(assumption.left, values)
        right: Term = ["*", rational(hidden), from_sympy(assumption.right, values)]
        if assumption.strict or enclose(left) != enclose(right):
            yield Inequality(
                says=f"the assumption holds: {assumption.name}",
                left=left,
                relation=">",
                right=right,
            )


@dataclass(frozen=True, kw_only=True)
class Sided:
    """What a search of a relation between two sides needs beside its statement.

    Attributes
    ----------
    sides : both sides at a point.  The bound comes from the statement's expression.
    constraints : points outside the statement's assumptions are left out.
    certify : a certificate for a counterexample of a false statement.
    constants : values of the statement's constants, fixed before the search.
    """

    sides: Sides
    domain: Domain | Ranges
    budget: int
    constraints: Callable[[Point], bool] | None = None
    certify: Callable[[Point], Certificate] | None = None
    present: Callable[[SearchResult], Presentation] = lambda _result: Presentation()
    constants: Mapping[str, float] = field(default_factory=dict)

    def search(self, statement: Statement) -> Search:
        """The search for a point at which the relation fails."""
        return Search(
            name=statement.id,
            violation=lambda point: excess(statement, *self.sides(point)),
            sides=self.sides,
            domain=self.domain,
            budget=self.budget,
            unit=EXCESS,
            constraints=self.constraints,
            certify=self.certify,
            present=self.present,
            constants=self.constants,
        )

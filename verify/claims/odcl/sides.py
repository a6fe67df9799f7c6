"""Searches with exact left-hand sides, and power laws read from a statement's one term."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import sympy as sp

from bounds.render import latex
from bounds.statement import Statement, evaluate
from trials.run.cell import Params
from verify.claims.common import Point
from verify.claims.searching import Sided, proves
from verify.decisions import measures
from verify.decisions.domain import Ranges
from verify.decisions.measures import log_ratio as log_ratio
from verify.decisions.rates import Side
from verify.procedures.base import FloatArray, Profile, Sampling
from verify.procedures.rate import Rate, StatedRate
from verify.procedures.search import Search
from verify.proofs.certificate import Certificate
from verify.proofs.terms import from_sympy

LOG_RATIO = measures.LOG_RATIO.unit
RELATIONS: dict[str, Side] = {
    r"\le": "at most",
    r"\ge": "at least",
    "=": "equals",
    r"\propto": "equals",
}
#: Exponents of theorems are multiples of a quarter.  Limits within half of that exclude the others.
_TOLD_APART = 1 / 8


def meets_assumptions(statement: Statement, values: Mapping[str, float]) -> bool:
    """Whether all assumptions of the statement hold at these values of its symbols."""
    return all(assumption.holds(values) for assumption in statement.assumptions)


def exact_search(
    statement: Statement,
    profile: Profile,
    observed: Callable[[Point], float],
    values: Callable[[Point], Mapping[str, float]],
    domain: Ranges,
    *,
    constants: Mapping[str, float] | None = None,
    budget: int | None = None,
    log_observed: bool = False,
    certify: Callable[[Point], Certificate] | None = None,
) -> Search:
    """A search for a point at which the left-hand side exceeds the right-hand side.

    Parameters
    ----------
    observed : point -> the left-hand side, or its log with ``log_observed``.
    values : point -> the statement's symbols there, constants excepted.
    constants : values of the statement's constants, from an argument or at their generous ends.
    budget : evaluations, by default a quarter of the profile's.
    """
    given = dict(constants or {})
    sign = -1.0 if statement.relation == r"\ge" else 1.0
    bound = sp.sympify(statement.expr).subs(
        {c.symbol: given[c.name] for c in statement.constants if c.name in given}
    )
    log_bound = sp.expand_log(sp.log(bound.doit()), force=True) if log_observed else None

    def sides(point: Point) -> tuple[float, float]:
        at = values(point)
        right = bound if log_bound is None else log_bound
        return observed(point), float(evaluate(right, at))

    def violation(point: Point) -> float:
        left, right = sides(point)
        return sign * (left - right if log_observed else log_ratio(left, right))

    def shown(point: Point) -> tuple[float, float]:
        left, right = sides(point)
        return (math.exp(left), math.exp(right)) if log_observed else (left, right)

    search = Sided(
        sides=shown,
        domain=domain,
        budget=budget or profile.searches // 4,
        constraints=lambda point: meets_assumptions(statement, values(point)),
        constants=given,
        certify=certify,
    ).search(statement)
    return replace(search, violation=violation, unit=LOG_RATIO)


def wrong_side(
    statement: Statement, argument: str, observed: sp.Expr, values: Mapping[str, Any]
) -> Certificate:
    """The proof that an exact left-hand side lies on the wrong side of the statement's bound.

    ``argument`` says in one sentence what the numbers are.  `NotProved` is raised where interval
    arithmetic does not decide.
    """
    at = {name: value for name, value in values.items() if not isinstance(value, str)}
    return proves(
        statement,
        argument,
        "the left-hand side lies on the wrong side of the right-hand side",
        from_sympy(observed, at),
        at,
    )


def formula_search(
    statement: Statement,
    profile: Profile,
    observed: sp.Expr,
    domain: Ranges,
    *,
    argument: str = "",
    budget: int | None = None,
) -> Search:
    """A search where both sides are expressions in the domain's parameters.

    A counterexample gets a proof by interval arithmetic; ``argument`` says in one sentence what its
    numbers are.
    """

    def certify(point: Point) -> Certificate:
        return wrong_side(statement, argument, observed, point)

    return exact_search(
        statement,
        profile,
        lambda point: float(evaluate(observed, point)),
        lambda point: point,
        domain,
        budget=budget,
        certify=certify,
    )


def upper_quantile(values: FloatArray, weights: FloatArray, share: float) -> float:
    """The smallest outcome that is exceeded with a probability of at most ``share``.

    Examples
    --------
    >>> import numpy as np
    >>> upper_quantile(np.array([1.0, 3.0, 2.0]), np.array([0.5, 0.2, 0.3]), 0.25)
    2.0
    """
    order = np.argsort(-values)
    exceeded = np.cumsum(weights[order]) - weights[order]  # P(X > value), ties counted apart
    allowed = np.flatnonzero(exceeded <= share * (1 + 1e-12))
    return float(values[order][allowed[-1]])


def power_law(
    statement: Statement,
    sampling: Sampling,
    cells: Sequence[Params],
    column: str,
    regressors: Callable[[Params], dict[str, float]],
    observable: str,
    sides: Mapping[str, Side] | None = None,
    validate: Callable[[Params], None] = lambda _cell: None,
) -> Rate:
    """The exponents of the statement's one term in the regressors.

    Parameters
    ----------
    column : of the experiment, whose mean is regressed.
    sides : the side on which an exponent may lie; by default that of the statement's relation.
    """
    (term,) = statement.terms
    side = RELATIONS[statement.relation]
    return Rate(
        name=statement.id,
        sampling=sampling,
        cells=tuple(cells),
        statistic=lambda table: table[column],
        regressors=regressors,
        stated={
            name: StatedRate(
                exponent=statement.power(term.name, sp.Symbol(name)),
                side=(sides or {}).get(name, side),
                symbol=f"${latex(sp.Symbol(name), statement.publication.notation)}$",
            )
            for name in regressors(cells[0])
        },
        observable=observable,
        validate=validate,
        margin=_TOLD_APART,
    )

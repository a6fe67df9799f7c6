r"""Checks that a statement fails at exact values.

The statement is JSON as `verify.proofs.checker` reads it.  The values are terms without variables,
such as ``"2/3"`` or ``["^", "10", "1/2"]``.  Everything that is given must hold there, and the
claim must not, with every term defined.  A sign is that of a ball that excludes zero, or zero by
algebra.  The module needs the checker's algebra and python-flint only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import flint

from verify.proofs.algebra import Algebra, Term, enclose, names, put
from verify.proofs.checker import goal_of
from verify.proofs.limits import NODES, Rejected, bound, charge, limited, nodes, require

PRECISIONS = (64, 256, 1024, 4096)
_ERRORS = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RuntimeError)


def check_failure(statement: Mapping[str, Any], values: Mapping[str, Term]) -> None:
    """Raise `Rejected` unless the statement fails at the values.

    Examples
    --------
    >>> check_failure({"variables": ["x"], "given": [[">", "x", "0"]],
    ...                "claim": [">=", "x", "1"]}, {"x": ["^", "2", "-1/2"]})
    """
    try:
        with limited():
            _check(statement, values)
    except _ERRORS as error:
        raise Rejected(str(error)[:200] or "the values are malformed") from None


def _check(statement: Mapping[str, Any], values: Mapping[str, Term]) -> None:
    goal = goal_of(statement)
    # the values of products, of sums and of a run's last numbers need not belong to any arrays
    require(goal.sums is None and not goal.runs, "vectors, sums and recursions have no values here")
    require({*values} == {*goal.variables}, "each variable needs one value")
    require(not any(map(names, values.values())), "a value holds a variable")

    def at(term: Term) -> Term:
        # a bare number would change powers: with a variable y, x^y is e^(y log x), also at y = 2
        for x in goal.variables:
            term = put(term, x, ["+", values[x]])
            bound("the size of a term", nodes(term), NODES)
        charge(nodes(term))
        return term

    for relation, term in goal.given:
        require(_is_met(relation, sign(at(term))), "something given does not hold there")
    relation, term = goal.claim
    require(not _is_met(relation, sign(at(term))), "the claim holds there")


def _is_met(relation: str, found: int) -> bool:
    return {">": found > 0, ">=": found >= 0, "=": found == 0}[relation]


def sign(term: Term) -> int:
    """The sign of a term without variables: -1, 0 or 1.

    Raises
    ------
    Rejected
        When the term is undefined, or no precision tells its sign.
    """
    before = flint.ctx.prec
    try:
        for flint.ctx.prec in PRECISIONS:
            ball = enclose(term, {})
            if ball.is_finite() and not ball.contains(0):
                return 1 if ball > 0 else -1
    finally:
        flint.ctx.prec = before
    require(ball.is_finite(), "a term is undefined")
    algebra = Algebra((), ())
    algebra.defined(term)
    require(algebra.quotient(term)[0].is_zero(), "no precision tells a sign")
    return 0

"""Searches of deterministic statements: both sides of a relation at every point.

`search` builds the procedure from the statement, the left-hand side and the domain:

    @claim("toy.bound", BOUND)
    def bound(statement: Statement, profile: Profile) -> Search:
        return search(statement, profile, n * sp.exp(-n), {"n": LogInterval(1.0, 1e6)})

The right-hand side, the relation and the assumptions are the statement's.  So the name, the unit
and the direction of a violation are not typed again.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Literal, TypeAlias

import mpmath
import numpy as np
import sympy as sp

from bounds.statement import Assumption, Statement, evaluate, evaluate_mp
from trials.checks import InvalidParameter
from verify.claims.common import Point
from verify.decisions.domain import Box, Domain, Ranges, as_domain
from verify.decisions.measures import SHARE, Limits, Measure
from verify.decisions.search import SearchResult
from verify.procedures.base import Presentation, Profile
from verify.procedures.search import Search
from verify.proofs.certificate import Certificate, Inequality, certificate
from verify.proofs.propositions import (
    Everywhere,
    Proposition,
    Reduction,
    Sizes,
    decimal,
    substituted,
    undeclared,
    unmet,
)
from verify.proofs.terms import Term, enclose, evaluated, from_sympy, rational

#: Values that interval arithmetic takes as they are.
Exact: TypeAlias = Mapping[str, float | int | str | Fraction]
#: A left-hand side: an expression, or a number or its limits at a point.
Observed: TypeAlias = sp.Expr | Callable[[Point], float | Limits]
#: Values of constants, or how a statement gives them.
Constants: TypeAlias = Mapping[str, float] | Callable[[Statement], Mapping[str, float]]
#: The share below which two sides differ by rounding, where both have fifty digits.
_ROUNDING = "1e-30"
#: Points at which symbols are compared with what SymPy assumes of them.
_DECLARED = 32
_MOST_KNOWN = 512  # points whose symbols are kept


@dataclass(frozen=True, kw_only=True)
class Proof:
    """An exact setting at which the statement fails, for a proof by interval arithmetic.

    Attributes
    ----------
    argument : the setting, and why the left-hand side is what is given.
    values : the symbols of both sides and of the assumptions, beside the search's constants.
        Without them the counterexample's own values are taken.
    observed : the left-hand side there.  Without it the search's own expression is taken.
    says : the inequality in words.
    """

    argument: str
    values: Exact | None = None
    observed: sp.Expr | None = None
    says: str = "the left-hand side lies on the wrong side of the right-hand side"


@dataclass(frozen=True, kw_only=True)
class _Sides:
    """Both sides of a statement at a point, in the measure's units."""

    relation: str
    measure: Measure
    left: Callable[[Point], float | Limits]
    right: Callable[[Point], float]
    exact_left: Callable[[Point], Any]
    exact_right: Callable[[Point], Any]

    def violation(self, point: Point) -> float:
        """Positive where the relation fails."""
        return float(self.measure.violation(self.relation, self.left(point), self.right(point)))

    def shown(self, point: Point) -> tuple[float, float]:
        """Both sides as a report shows them."""
        return self.measure.shown(self.left(point)), self.measure.shown(self.right(point))

    def compared(self, point: Point) -> tuple[float, float]:
        """As `shown`, with the worse limit of a left-hand side that is known between limits."""
        left = self.measure.worst(self.relation, self.left(point))
        return left, self.measure.shown(self.right(point))

    def recheck(self, point: Point) -> Any:
        """The violation in mpmath, less the share that fifty digits may lose."""
        left, right = self.exact_left(point), self.exact_right(point)
        violation = self.measure.violation(self.relation, left, right)
        return mpmath.mpf(violation) - mpmath.mpf(_ROUNDING)


class _Symbols:
    """The statement's symbols at a point, constants among them.

    Conditions and both sides ask for those of the same point, one after the other, and the formulas
    of a proof are compared at some hundred points again and again.  So the last points are known by
    their names and by the `id` of each value.
    """

    def __init__(
        self, at: Callable[[Point], Mapping[str, Any]], constants: Mapping[str, float]
    ) -> None:
        self.at = at
        self.constants = constants
        self._known: dict[tuple[Any, ...], tuple[tuple[Any, ...], dict[str, Any]]] = {}

    def __call__(self, point: Point) -> Mapping[str, Any]:
        """The values, which no caller may change."""
        values = tuple(point.values())
        key = (*point, *map(id, values))
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            # The values are kept as well, so that no other ones get their `id`.
            known = self._known[key] = values, self.made(point)
        return known[1]

    def made(self, point: Point) -> dict[str, Any]:
        """The values made anew, at the working precision where they are computed by mpmath."""
        return {**self.at(point), **self.constants}


def generous(statement: Statement) -> dict[str, float]:
    """Every constant of the statement at the end of its box where it is easiest to meet."""
    return {c.name: c.most_generous for c in statement.constants}


def search(
    statement: Statement,
    profile: Profile,
    observed: Observed,
    domain: Domain | Ranges,
    *,
    at: Callable[[Point], Mapping[str, Any]] = dict,
    everywhere: Everywhere | Reduction | Sizes | None = None,
    constants: Constants | None = None,
    measure: Measure = SHARE,
    bound: Callable[[Point], float] | None = None,
    exact: Callable[[Point], Any] | None = None,
    where: Callable[[Point], bool] | None = None,
    at_the_edge: bool = False,
    budget: int | None = None,
    proof: Proof | Callable[[Point], Certificate] | None = None,
    present: Callable[[SearchResult], Presentation] | None = None,
) -> Search:
    """The search for a point that meets a statement's assumptions and breaks its relation.

    Parameters
    ----------
    observed : the left-hand side, as an expression in the symbols that ``at`` gives, or as a
        function of the point.  It is a logarithm where the measure compares logarithms.
    domain : the points.  A coordinate whose name is no letter of the paper gives its ``meaning``.
    at : point -> the statement's symbols there, constants excepted.  By default the coordinates.
    everywhere : the whole domain in the statement's symbols, for a proof.  By default it is that of
        the coordinates, where ``at`` makes the symbols by arithmetic.  A statement about arrays or
        laws has a `Reduction` to a few numbers, or one for each of some `Sizes`.
    constants : values of the statement's constants and of the hidden constants of its assumptions,
        from an argument, or `generous`.
    measure : the unit of a violation, and the violations that are taken for rounding.
    bound : point -> the right-hand side, where it is not the statement's expression at ``at``.
    exact : point -> the left-hand side in mpmath, for a re-check.  An expression needs none.
    where : a condition on points that the statement does not name.  ``everywhere`` gives it again.
    at_the_edge : the points meet the assumptions by construction, some with equality, so that
        rounding would leave them out.  The assumptions are not evaluated.
    budget : evaluations, by default all that the profile allows.
    proof : the proof that goes with a counterexample of a false statement.
    present : figures and sentences of the result.
    """
    if not (isinstance(observed, sp.Expr) or callable(observed)):
        raise InvalidParameter(
            f"{statement.id}: observed={observed!r:.60} must be an expression of SymPy or a "
            "function"
        )
    given = dict((constants(statement) if callable(constants) else constants) or {})

    symbols = _Symbols(at, given)
    _require_declared(statement, observed, domain, at, everywhere)
    sizes = everywhere if isinstance(everywhere, Sizes) else Sizes(up_to="", each=())
    is_formula = isinstance(observed, sp.Expr)
    expr = _right_side(statement, given, measure)
    sides = _Sides(
        relation=statement.relation,
        measure=measure,
        left=(lambda point: float(evaluate(observed, symbols(point)))) if is_formula else observed,
        right=bound or (lambda point: float(evaluate(expr, symbols(point)))),
        exact_left=exact or (lambda point: evaluate_mp(observed, symbols.made(point))),
        exact_right=bound or (lambda point: evaluate_mp(expr, symbols.made(point))),
    )
    return Search(
        name=statement.id,
        violation=sides.violation,
        sides=sides.shown,
        compared=sides.compared,
        recheck=sides.recheck if is_formula or exact is not None else None,
        tolerance=measure.tolerance,
        domain=domain,
        constraints=_constraints(() if at_the_edge else statement.assumptions, where, symbols),
        budget=profile.searches if budget is None else budget,
        unit=measure.unit,
        constants=given,
        symbols=symbols,
        conditions=_conditions(statement.assumptions, symbols, at_the_edge),
        certify=_certify(statement, observed, symbols, given, proof),
        proposition=_proposition(statement, observed, domain, at, given, everywhere, measure)
        if _is_provable(everywhere, bound, where)
        else None,
        instances=tuple(_reduced(statement, given, each, measure) for each in sizes.each),
        up_to=sizes.up_to,
        proof_is_enough=profile.name == "quick",
        present=present or _count_undecided,
    )


def _require_declared(
    statement: Statement,
    observed: Observed,
    domain: Domain | Ranges,
    at: Callable[[Point], Mapping[str, Any]],
    everywhere: Everywhere | Reduction | Sizes | None,
) -> None:
    r"""Refuse a symbol whose assumptions in SymPy do not hold in all of its range, or at a point.

    SymPy has simplified an expression of such a symbol already, e.g. :math:`\sqrt{x^2}` to x where
    x is declared positive, so that another statement would be tried.
    """
    box = as_domain(domain)
    ranges = box.ranges if isinstance(box, Box) and at is dict else {}
    sides = [*(each.expr for each in statement.terms),
             *(side for a in statement.assumptions for side in (a.left, a.right)),
             *([observed] if isinstance(observed, sp.Expr) else [])]  # fmt: skip
    if isinstance(everywhere, Everywhere | Reduction):
        ranges = {**ranges, **everywhere.ranges}
        sides += [side for side in (everywhere.left, everywhere.right) if side is not None]
    used = sorted({s for side in sides for s in sp.sympify(side).free_symbols}, key=str)
    for symbol in used:
        if str(symbol) in ranges and (word := undeclared(symbol, ranges[str(symbol)])):
            raise InvalidParameter(
                f"{statement.id}: the symbol {symbol} is declared {word} in SymPy, and its range "
                "holds other numbers; declare it without assumptions"
            )
    own = [symbol for symbol in used if symbol.assumptions0.keys() - {"commutative"}]
    for values in _values_of(at, box) if own and at is not dict else ():
        for symbol in own:
            if symbol.name in values and (word := unmet(symbol, values[symbol.name])):
                raise InvalidParameter(
                    f"{statement.id}: the symbol {symbol} is declared {word} in SymPy, and it is "
                    f"{float(values[symbol.name]):.6g} at a point of the domain; declare it "
                    "without assumptions"
                )


def _values_of(
    at: Callable[[Point], Mapping[str, Any]], domain: Domain
) -> Iterator[Mapping[str, Any]]:
    """The symbols at some points of a domain, at extreme ones first."""
    rng = np.random.default_rng(0)
    for point in (*domain.corners(rng, _DECLARED), *domain.sample(rng, _DECLARED)):
        with suppress(ArithmeticError, ValueError):  # it has no symbols there
            yield at(point)


def _is_provable(
    everywhere: Everywhere | Reduction | Sizes | None,
    bound: Callable[[Point], float] | None,
    where: Callable[[Point], bool] | None,
) -> bool:
    """Whether ``everywhere``, or else the coordinates, say all that the search compares.

    A reduction and a statement about arrays do.  Otherwise the right-hand side must be the
    statement's own, and a condition ``where`` be given again by ``everywhere``.
    """
    if isinstance(everywhere, Reduction):
        return True
    if isinstance(everywhere, Everywhere) and everywhere.arrays is not None:
        return True
    return bound is None and (where is None or everywhere is not None)


def _conditions(
    assumptions: Sequence[Assumption],
    symbols: Callable[[Point], Mapping[str, Any]],
    at_the_edge: bool,
) -> dict[str, Callable[[Point], bool]]:
    """Whether a point meets each assumption.  At the edge every point does by construction."""

    def meets(assumption: Assumption, point: Point) -> bool:
        with np.errstate(all="ignore"):
            return at_the_edge or bool(assumption.holds(symbols(point)))

    return {a.name: partial(meets, a) for a in assumptions}


def _constraints(
    assumptions: Sequence[Assumption],
    where: Callable[[Point], bool] | None,
    symbols: Callable[[Point], Mapping[str, Any]],
) -> Callable[[Point], bool] | None:
    """Whether a point meets ``where`` and the assumptions, None where there is neither."""
    if not assumptions and where is None:
        return None

    def is_inside(point: Point) -> bool:
        if where is not None and not where(point):
            return False
        values = symbols(point) if assumptions else {}
        return all(assumption.holds(values) for assumption in assumptions)

    return is_inside


def _proposition(
    statement: Statement,
    observed: Observed,
    domain: Domain | Ranges,
    at: Callable[[Point], Mapping[str, Any]],
    constants: Mapping[str, float],
    everywhere: Everywhere | Reduction | Sizes | None,
    measure: Measure,
) -> Proposition | None:
    """The statement as a proposition in its own symbols, or in the coordinates of the search."""
    if isinstance(everywhere, Sizes):
        return None
    if isinstance(everywhere, Reduction):
        return _reduced(statement, constants, everywhere, measure)
    box = as_domain(domain)
    right = None if everywhere is None else everywhere.right
    right = _right_side(statement, _exact(constants), measure) if right is None else right
    left = observed if everywhere is None or everywhere.left is None else everywhere.left
    if not isinstance(left, sp.Expr):
        return None
    if everywhere is not None:
        ranges, more = everywhere.ranges, everywhere.given
        values: Mapping[str, Any] = {**_shares(constants), **everywhere.constants}
    elif isinstance(box, Box):
        ranges, more = box.ranges, ()
        try:
            values = {**_formulas(at, ranges), **_shares(constants)}
        except _NO_FORMULA:  # the symbols are computed by floats, or case by case
            return None
    else:
        return None
    put = partial(substituted, at=values, ranges=ranges)
    return Proposition(
        ranges=ranges,
        assumptions=(
            *((put(a), put(b), False) for a, b in more),
            *_assumed(statement, values, ranges),
        ),
        left=put(left),
        relation=statement.relation,
        right=put(right),
        declared=everywhere is not None,
        by="" if everywhere is None else everywhere.by,
        hints=() if everywhere is None else everywhere.hints,
        logs=measure.logs,
        arrays=None if everywhere is None else everywhere.arrays,
    )


#: What a function of numbers raises for symbols.
_NO_FORMULA = (TypeError, LookupError, AttributeError, ValueError)


class _Formula:
    """A coordinate, or what arithmetic makes of some, as an expression.

    It does not tell whether it is some number or word, nor whether it is zero: a function that asks
    has one formula for it and another one for the others.  So it is no symbol of SymPy, where each
    of these questions has an answer, and it cannot be looked up in a table.
    """

    __array_ufunc__ = None  # an operation with a number of NumPy is made here
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, expr: Any) -> None:
        self.expr = sp.sympify(expr)

    def __eq__(self, other: object) -> bool:
        raise TypeError(f"{self.expr} is compared with {other!r}")

    __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __eq__

    def __bool__(self) -> bool:
        raise TypeError(f"{self.expr} may be zero or not")

    def _with(
        self, operation: Callable[[Any, Any], Any], other: Any, turned: bool = False
    ) -> _Formula:
        sides = self.expr, _plain_expression(other)
        return _Formula(operation(*(sides[::-1] if turned else sides)))

    def __add__(self, other: Any) -> _Formula:
        return self._with(operator.add, other)

    def __radd__(self, other: Any) -> _Formula:
        return self._with(operator.add, other, turned=True)

    def __sub__(self, other: Any) -> _Formula:
        return self._with(operator.sub, other)

    def __rsub__(self, other: Any) -> _Formula:
        return self._with(operator.sub, other, turned=True)

    def __mul__(self, other: Any) -> _Formula:
        return self._with(operator.mul, other)

    def __rmul__(self, other: Any) -> _Formula:
        return self._with(operator.mul, other, turned=True)

    def __truediv__(self, other: Any) -> _Formula:
        return self._with(operator.truediv, other)

    def __rtruediv__(self, other: Any) -> _Formula:
        return self._with(operator.truediv, other, turned=True)

    def __pow__(self, other: Any) -> _Formula:
        return self._with(operator.pow, other)

    def __rpow__(self, other: Any) -> _Formula:
        return self._with(operator.pow, other, turned=True)

    def __neg__(self) -> _Formula:
        return _Formula(-self.expr)

    def __abs__(self) -> _Formula:
        return _Formula(abs(self.expr))


def _plain_expression(value: Any) -> Any:
    """The expression of a formula.  Others are unchanged."""
    return value.expr if isinstance(value, _Formula) else value


def _formulas(at: Callable[[Point], Mapping[str, Any]], ranges: Ranges) -> dict[str, Any]:
    """The statement's symbols as expressions of the coordinates."""
    found = at({name: _Formula(sp.Symbol(name)) for name in ranges})
    return {name: _plain_expression(value) for name, value in found.items()}


def _assumed(
    statement: Statement, values: Mapping[str, Any], ranges: Ranges
) -> Iterator[tuple[sp.Expr, sp.Expr, bool]]:
    """The statement's assumptions in other symbols, with the hidden constants' values."""
    for a in statement.assumptions:
        hidden = 1 if a.constant is None else values.get(str(a.constant), 1)
        left, right = (substituted(side, values, ranges) for side in (a.left, a.right * hidden))
        yield left, right, a.strict


def _reduced(
    statement: Statement, constants: Mapping[str, float], reduction: Reduction, measure: Measure
) -> Proposition:
    """The statement as a proposition in the quantities of a reduction.

    An assumption of the statement is given where all its symbols are quantities.
    """
    values: Mapping[str, Any] = {**_exact(constants), **reduction.constants}
    assumed = [
        each
        for each in _assumed(statement, values, reduction.ranges)
        if {str(s) for side in each[:2] for s in side.free_symbols} <= {*reduction.ranges}
    ]
    put = partial(substituted, at=values, ranges=reduction.ranges)
    right = reduction.right
    if right is None:
        right = _right_side(statement, _exact(constants), measure)
    return Proposition(
        ranges=reduction.ranges,
        assumptions=(
            *((put(a), put(b), False) for a, b in reduction.given),
            *assumed,
        ),
        left=put(reduction.left),
        relation=statement.relation,
        right=put(right),
        declared=True,
        by=reduction.by,
        hints=reduction.hints,
        logs=measure.logs,
        reduction=reduction,
    )


def _exact(constants: Mapping[str, float]) -> dict[str, sp.Rational]:
    """Constants as the decimals that they are written as, fractions as they are."""
    return {name: sp.Rational(decimal(value)) for name, value in constants.items()}


def _shares(constants: Mapping[str, float]) -> dict[str, Any]:
    """`_exact`, but for whole numbers: floats compute with these without rounding.

    A product with such a float keeps it as a factor, and certificates are found by their text.
    """
    whole = {name: value for name, value in constants.items() if float(value).is_integer()}
    return {**_exact(constants), **whole}


def _right_side(statement: Statement, constants: Mapping[str, Any], measure: Measure) -> sp.Expr:
    """The statement's expression, or its logarithm without underflow of its exponentials."""
    if not measure.logs:
        return statement.expr
    numbers = {c.symbol: constants[c.name] for c in statement.constants if c.name in constants}
    return sp.expand_log(sp.log(evaluated(statement.expr.subs(numbers))), force=True)


def _certify(
    statement: Statement,
    observed: Observed,
    symbols: Callable[[Point], Mapping[str, Any]],
    constants: Mapping[str, float],
    proof: Proof | Callable[[Point], Certificate] | None,
) -> Callable[[Point], Certificate] | None:
    if not isinstance(proof, Proof):
        return proof
    left = proof.observed if proof.observed is not None else observed
    if not isinstance(left, sp.Expr):
        raise InvalidParameter(f"{statement.id}: a proof needs the left-hand side as an expression")

    def certify(point: Point) -> Certificate:
        values: Exact = {**constants, **(proof.values or {})}
        if proof.values is None:
            values = {k: v for k, v in symbols(point).items() if not isinstance(v, str)}
        return proves(statement, proof.argument, proof.says, from_sympy(left, values), values)

    return certify


def _count_undecided(result: SearchResult) -> Presentation:
    """How often a bound lay between the limits on the left-hand side."""
    if not result.n_undefined:
        return Presentation()
    return Presentation(
        notes=(
            f"In {result.n_undefined} evaluations the bound lies between the limits on the "
            "left-hand side, or a side is undefined. They neither support nor refute.",
        )
    )


def proves(
    statement: Statement, argument: str, says: str, observed: Term, values: Exact
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
    return certificate(argument, [*_list_met(statement, values), fails])


def _list_met(statement: Statement, values: Exact) -> Iterator[Inequality]:
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

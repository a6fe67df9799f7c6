"""Exact expressions as plain data, and their enclosures in ball arithmetic.

A term is a JSON value.  A text such as ``"2/3"`` is a rational number.  A list is an operation and
its terms, for instance ``["*", "2/3", ["log", "10"]]``.  Terms hold no symbols and no floats, so
that the enclosure is that of the written value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache, reduce
from typing import Any

import flint
import sympy as sp

from trials.checks import InvalidParameter
from verify.proofs.algebra import TAIL

Term = str | list[Any]
#: The probability that a chi-square variable exceeds a number, of its degrees and the number.
ChiSquareTail = sp.Function("ChiSquareTail")
_DEPTH = 200
#: Exponents are not allowed, because a short text could then be a number that fills the memory.
_RATIONAL = re.compile(r"-?[0-9]{1,1000}(/[0-9]{1,1000})?")


def enclose(term: Term, depth: int = 0) -> flint.arb:
    """A ball that holds the term's value, at the working precision of `flint.ctx`."""
    if isinstance(term, str) and _RATIONAL.fullmatch(term):
        exact = Fraction(term)
        return flint.arb(flint.fmpq(exact.numerator, exact.denominator))
    if depth > _DEPTH:
        raise InvalidParameter(f"a term must not be nested more than {_DEPTH} deep")
    if not isinstance(term, list) or len(term) < 2:
        raise InvalidParameter(f"term {str(term)[:60]!r} must be a rational or an operation")
    name, *parts = term
    balls = [enclose(part, depth + 1) for part in parts]
    if name in _FOLDS:
        return reduce(_FOLDS[name], balls)
    if name in _FUNCTIONS and len(balls) == 1:
        return _FUNCTIONS[name](balls[0])
    if name == "^" and len(balls) == 2:
        return balls[0] ** balls[1] if balls[0].is_finite() else flint.arb("nan")  # not 1
    raise InvalidParameter(f"operation {str(name)[:40]!r} with {len(balls)} terms is not known")


_FOLDS: dict[str, Callable[[flint.arb, flint.arb], flint.arb]] = {
    "+": lambda x, y: x + y,
    "*": lambda x, y: x * y,
    "max": lambda x, y: x.max(y),
    "min": lambda x, y: x.min(y),
}
_FUNCTIONS: dict[str, Callable[[flint.arb], flint.arb]] = {
    "exp": lambda x: x.exp(),
    "log": lambda x: x.log(),
    "sqrt": lambda x: x.sqrt(),
    "abs": abs,
    "-": lambda x: -x,
    "cos": lambda x: x.cos(),
    "sin": lambda x: x.sin(),
}


def rational(value: float | int | str | Fraction) -> str:
    """A number as an exact rational.  A float is converted without rounding."""
    return str(Fraction(value))


def from_sympy(expr: sp.Expr, values: Mapping[str, float | int | str | Fraction]) -> Term:
    """A sympy expression at exact values as a term.

    Parameters
    ----------
    expr : an expression of sums, products, powers, exp, log, Abs, Max, Min, sin and cos.
    values : of every free symbol, by name.

    Raises
    ------
    InvalidParameter
        When a symbol has no value, or the expression holds something else.

    Examples
    --------
    >>> m = sp.Symbol("m")
    >>> from_sympy(sp.log(m) / 2, {"m": 10})
    ['*', '1/2', ['log', '10']]
    """
    return _converted(evaluated(expr), values)


def is_between_numbers(each: sp.Expr) -> bool:
    """Whether a sum goes from a whole number to one that is not below it, or is empty after it."""
    return all(
        len(limit) == 3 and all(end.is_Integer for end in limit[1:]) and limit[2] - limit[1] >= -1
        for limit in each.limits
    )


def evaluated(expr: Any, is_ordered: Callable[[sp.Expr], bool] = is_between_numbers) -> sp.Expr:
    """An expression with its sums over an index in closed form, where this is their value.

    A sum whose last index lies below its first one is empty.  SymPy's closed form is then the sum
    over the indices between the two, with the other sign.  So a sum that is not known to be ordered
    stays as it is, and is no exact term.  Integrals and limits stay as well, because SymPy
    integrates over poles.

    Parameters
    ----------
    is_ordered : of a sum or a product over an index.
    """
    whole = sp.sympify(expr)
    ordered = all(map(is_ordered, whole.atoms(sp.Sum, sp.Product)))
    return whole.doit() if ordered and not whole.has(sp.Integral, sp.Limit) else whole


@lru_cache(maxsize=4096, typed=True)
def neutral(expr: sp.Expr) -> Term:
    """A sympy expression as a term whose symbols stay names.  A float is read as a decimal.

    The formulas of a proof are asked for at every point, so a term is kept.  Nobody may change it.

    Examples
    --------
    >>> x = sp.Symbol("x")
    >>> neutral(sp.sqrt(x) / 2)
    ['*', '1/2', ['^', 'x', '1/2']]
    """
    return checkers(_converted(evaluated(expr), None))


def checkers(term: Term) -> Term:
    """The term in the operations of the checker: two sides of an extremum, roots as powers."""
    if isinstance(term, str):
        return term
    op = term[0]
    parts = [checkers(part) for part in term[1:]]
    if op == "sqrt":
        return ["^", *parts, "1/2"]
    if op == "-":
        return ["*", "-1", *parts]
    if op == "abs":
        return ["max", *parts, ["*", "-1", *parts]]
    if op in ("max", "min"):
        return reduce(lambda a, b: [op, a, b], parts)
    return [op, *parts]


def _require_double(value: sp.Float) -> None:
    """Refuse a number with more digits than a float has, or beyond its range: it would be another.

    1 - 10^-22 would be read as 1, and 10^-400 as 0.
    """
    near = float(value)
    if not math.isfinite(near) or sp.Float(near)._mpf_ != value._mpf_:
        raise InvalidParameter(f"{str(value)[:60]} is no float; write it as a sp.Rational")


def _converted(expr: sp.Expr, values: Mapping[str, Any] | None) -> Term:
    if expr.is_Symbol and values is None:
        return str(expr.name)
    if values is not None and expr.is_Symbol:
        if expr.name not in values:
            raise InvalidParameter(f"symbol {expr.name} must have a value")
        return rational(values[expr.name])
    if expr.is_Rational:
        return f"{expr.p}/{expr.q}" if expr.q != 1 else str(expr.p)
    if expr.is_Float:
        _require_double(expr)
        return rational(float(expr)) if values is not None else rational(repr(float(expr)))
    if expr is sp.E:
        return ["exp", "1"]
    parts = [_converted(argument, values) for argument in expr.args]
    if isinstance(expr, sp.exp):
        return ["exp", *parts]
    if isinstance(expr, sp.Pow):
        base, exponent = parts
        if expr.exp == sp.Rational(1, 2):
            return ["sqrt", base]
        return ["^", base, exponent]
    for kind, name in _NAMES.items():
        if isinstance(expr, kind):
            return [name, *parts]
    if values is None and str(expr.func) in ("dot", "sum"):
        return [str(expr.func), *parts]
    raise InvalidParameter(f"{sp.sstr(expr)[:80]} cannot be written as an exact term")


_NAMES: dict[Any, str] = {
    sp.Add: "+",
    sp.Mul: "*",
    sp.log: "log",
    sp.Abs: "abs",
    sp.Max: "max",
    sp.Min: "min",
    sp.cos: "cos",
    sp.sin: "sin",
    ChiSquareTail: TAIL,
}

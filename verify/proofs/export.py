"""Statements of the checker as SMT-LIB, for any solver of nonlinear real arithmetic.

The file asks for a counterexample: what is given, and the negated claim.  ``unsat`` confirms the
claim wherever both sides are defined, ``sat`` would refute it.  A root is a variable of its own,
with its power given, and each denominator is given to be different from zero.  So the solver is not
asked whether the sides of the claim are defined wherever what is given holds.  The statement says
that too, and the suite's checker asks for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from trials.checks import InvalidParameter
from verify.proofs.checker import Term, number
from verify.proofs.flattened import is_flat


def smt2(statement: Mapping[str, Any], about: str = "") -> str:
    """A statement as an SMT-LIB script.

    Parameters
    ----------
    about : the claim, written as a comment.

    Raises
    ------
    InvalidParameter
        When the statement has a logarithm, an exponential, a power that is no number, a vector, a
        sum over a family or a recursion.

    Examples
    --------
    >>> print(smt2({"variables": ["x"], "given": [], "claim": [">=", ["^", "x", "2"], "0"]}))
    (set-logic QF_NRA)
    (declare-const x Real)
    (assert (not (>= (* x x) 0.0)))
    (check-sat)
    """
    if not is_flat(statement):
        raise InvalidParameter("vectors, sums and recursions have no form in SMT-LIB")
    roots: dict[str, str] = {}
    more: list[str] = []
    given = [_relation(each, roots, more) for each in statement["given"]]
    claim = _relation(statement["claim"], roots, more)
    lines = [f"; {about}"] if about else []
    lines += ["(set-logic QF_NRA)"]
    lines += [f"(declare-const {name} Real)" for name in (*statement["variables"], *roots.values())]
    lines += [f"(assert {fact})" for fact in dict.fromkeys((*given, *more))]
    return "\n".join([*lines, f"(assert (not {claim}))", "(check-sat)"])


def _relation(relation: Any, roots: dict[str, str], more: list[str]) -> str:
    sign, left, right = relation
    return f"({sign} {_term(left, roots, more)} {_term(right, roots, more)})"


def _term(term: Term, roots: dict[str, str], more: list[str]) -> str:
    exact = number(term)
    if exact is not None:
        return _number(exact)
    if isinstance(term, str):
        return term
    op, *parts = term
    if op == "^":
        return _power(_term(parts[0], roots, more), number(parts[1]), roots, more)
    inner = [_term(part, roots, more) for part in parts]
    if op in ("+", "*"):
        return f"({op} {' '.join(inner)})" if len(inner) > 1 else inner[0]
    if op in ("max", "min"):
        first, second = inner if op == "max" else inner[::-1]
        return f"(ite (>= {inner[0]} {inner[1]}) {first} {second})"
    raise InvalidParameter(f"{op} has no form in SMT-LIB")


def _power(base: str, exponent: Fraction | None, roots: dict[str, str], more: list[str]) -> str:
    """A rational power: of a root that is a variable, and under one where it is negative."""
    if exponent is None:
        raise InvalidParameter("a power that is no number has no form in SMT-LIB")
    if exponent.denominator > 1:
        key = f"{base} {exponent.denominator}"
        if key not in roots:
            roots[key] = f"root.{len(roots) + 1}"  # no variable has a dot in its name
            more.append(f"(>= {roots[key]} 0.0)")
            more.append(f"(= {_product(roots[key], exponent.denominator)} {base})")
        base = roots[key]
    power = _product(base, abs(exponent.numerator))
    if exponent >= 0:
        return power
    more.append(f"(not (= {base} 0.0))")
    return f"(/ 1.0 {power})"


def _product(base: str, times: int) -> str:
    return "1.0" if times == 0 else base if times == 1 else f"(* {' '.join([base] * times)})"


def _number(value: Fraction) -> str:
    size = f"{abs(value.numerator)}.0"
    size = size if value.denominator == 1 else f"(/ {size} {value.denominator}.0)"
    return f"(- {size})" if value < 0 else size

"""Balls hold the values of their terms, radius included: nothing equal is proved to differ.

Rational terms are compared with exact fractions.  The others are compared with mpmath at many more
digits than the ball has, so that a ball without its radius does not hold the value.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from typing import Any

import flint
import mpmath
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from trials.checks import InvalidParameter
from verify.proofs.algebra_terms import Terms
from verify.proofs.certificate import PRECISIONS, proved
from verify.proofs.checker import Goal, names
from verify.proofs.terms import (
    _FOLDS,
    _FUNCTIONS,
    Term,
    checkers,
    enclose,
    from_sympy,
    neutral,
    rational,
)

_DIGITS = 60  # a ball of 64 bits has about 19
_EXACT: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": operator.add,
    "*": operator.mul,
    "max": max,
    "min": min,
}
_RATIONALS = st.fractions(Fraction(1, 999), 999, max_denominator=999)
_SIGNED = st.builds(operator.mul, _RATIONALS, st.sampled_from([1, -1]))


def ball_of(term: Term) -> flint.arb:
    """The enclosure at the lowest precision that proofs use."""
    before = flint.ctx.prec
    try:
        flint.ctx.prec = PRECISIONS[0]
        return enclose(term)
    finally:
        flint.ctx.prec = before


def holds(ball: flint.arb, value: Fraction) -> bool:
    """Whether a ball holds a rational number.  Its own test would round the number to a ball."""
    middle, radius = (
        Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
        for mantissa, exponent in (ball.mid().man_exp(), ball.rad().man_exp())
    )
    return abs(value - middle) <= radius


def exact(value: mpmath.mpf) -> Fraction:
    """The binary fraction that a number of mpmath is."""
    sign, mantissa, exponent, _ = value._mpf_
    return Fraction((-1) ** sign * int(mantissa)) * Fraction(2) ** int(exponent)


@given(st.sampled_from(sorted(_EXACT)), st.lists(_SIGNED, min_size=1, max_size=4))
@settings(deadline=None, max_examples=30)
def test_a_ball_of_rationals_holds_their_exact_value(name: str, parts: list[Fraction]) -> None:
    value = reduce(_EXACT[name], parts)
    assert holds(ball_of([name, *map(rational, parts)]), value)
    assert holds(ball_of(["-", [name, *map(rational, parts)]]), -value)
    assert holds(ball_of(["abs", [name, *map(rational, parts)]]), abs(value))


@given(_SIGNED, st.integers(-9, 9))
@settings(deadline=None, max_examples=40)
def test_a_ball_of_a_power_holds_its_exact_value(base: Fraction, power: int) -> None:
    assert holds(ball_of(["^", rational(base), str(power)]), base**power)


@given(st.sampled_from(["exp", "log", "sqrt", "cos", "sin"]), _RATIONALS)
@settings(deadline=None, max_examples=60)
def test_a_ball_of_a_function_holds_its_value_and_not_the_next_digits(
    name: str, at: Fraction
) -> None:
    with mpmath.workdps(_DIGITS):
        value = getattr(mpmath, name)(mpmath.mpf(at.numerator) / at.denominator)
    assert holds(ball_of([name, rational(at)]), exact(value))


def test_each_kind_of_term_is_compared() -> None:
    assert set(_FOLDS) == set(_EXACT)
    assert set(_FUNCTIONS) == {"-", "abs", "exp", "log", "sqrt", "cos", "sin"}


@pytest.mark.parametrize("denominator", [3, 7, 49, 641, 10**30 + 57])
@pytest.mark.parametrize("relation", ["<", ">"])
def test_a_number_times_its_inverse_is_neither_above_nor_below_one(
    denominator: int, relation: str
) -> None:
    for q in (Fraction(1, denominator), Fraction(2, denominator), Fraction(-5, denominator)):
        assert not proved(["*", rational(q), rational(1 / q)], relation, "1")
        assert not proved(["*", rational(q), ["^", rational(q), "-1"]], relation, "1")


_IDENTITIES: tuple[tuple[Term, Term], ...] = (
    (["exp", ["log", "2/3"]], "2/3"),
    (["log", ["exp", "2/3"]], "2/3"),
    (["^", ["sqrt", "2/3"], "2"], "2/3"),
    (["^", "2/3", "1/2"], ["sqrt", "2/3"]),
    (["+", ["^", ["cos", "2/3"], "2"], ["^", ["sin", "2/3"], "2"]], "1"),
    (["+", "1/3", "1/3", ["-", "2/3"]], "0"),
    (["max", "1/3", ["exp", ["log", "1/3"]]], "1/3"),
    (["min", "1/3", ["exp", ["log", "1/3"]]], "1/3"),
    (["abs", ["-", ["log", "3"]]], ["log", "3"]),
)


@pytest.mark.parametrize(("left", "right"), _IDENTITIES)
def test_an_identity_is_proved_in_no_direction(left: Any, right: Any) -> None:
    assert not proved(left, "<", right)
    assert not proved(left, ">", right)
    assert not proved(right, "<", left)


def value_of(term: Term) -> Fraction:
    """A rational term's exact value, by the operations of Python."""
    if isinstance(term, str):
        return Fraction(term)
    name, *parts = term[0], *map(value_of, term[1:])
    if name in ("-", "abs"):
        (only,) = parts
        return -only if name == "-" else abs(only)
    return reduce(_EXACT[name], parts)


def operations(term: Term) -> set[tuple[str, int]]:
    """Each operation in a term with the number of its parts."""
    if isinstance(term, str):
        return set()
    own = {(str(term[0]), len(term) - 1)}
    return own.union(*map(operations, term[1:]))


_TERMS = st.recursive(
    _SIGNED.map(rational),
    lambda parts: st.one_of(
        st.tuples(st.sampled_from(["-", "abs"]), parts).map(list),
        st.tuples(st.sampled_from(sorted(_EXACT)), st.lists(parts, min_size=2, max_size=4)).map(
            lambda pair: [pair[0], *pair[1]]
        ),
    ),
    max_leaves=8,
)


@given(_TERMS)
@settings(deadline=None, max_examples=60)
def test_a_term_of_the_checker_has_the_same_value_in_fewer_operations(term: Term) -> None:
    found = checkers(term)
    assert value_of(found) == value_of(term)
    for name, n_parts in operations(found):
        assert name in ("+", "*") or (name in ("max", "min") and n_parts == 2)


def test_roots_and_symbols_are_powers_and_names_for_the_checker() -> None:
    x, y = sp.symbols("x y")
    assert checkers(["sqrt", ["-", "x"]]) == ["^", ["*", "-1", "x"], "1/2"]
    assert neutral(sp.sqrt(x) * sp.E) in (
        ["*", ["exp", "1"], ["^", "x", "1/2"]],
        ["*", ["^", "x", "1/2"], ["exp", "1"]],
    )
    assert neutral(sp.Abs(x)) == ["max", "x", ["*", "-1", "x"]]
    assert neutral(sp.Float(0.1) + x) in (["+", "1/10", "x"], ["+", "x", "1/10"])
    assert neutral(x**y) == ["^", "x", "y"]
    with pytest.raises(InvalidParameter, match=r"tan\(x\) cannot be written as an exact term"):
        neutral(sp.tan(x))


def test_limits_of_a_variable_are_written_without_it() -> None:
    """A root of x + 1 holds x, so that x >= sqrt(x + 1) gives no limit."""
    x, y, z = "x", "y", "z"
    root = ["^", ["+", x, "1"], "1/2"]
    goal = Goal((x, y, z), (
        (">", ["+", z, "0"]),
        (">=", ["+", ["*", "2", x], ["*", "-1", y]]),
        (">=", ["+", "5", ["*", "-1", x, z]]),
        (">=", ["+", x, ["*", "-1", root]]),
        (">=", ["+", x, ["*", "-1", ["^", y, "2"]]]),
    ), (">=", ["+", x, "1"]))  # fmt: skip
    low, high = Terms(goal).limits(x)
    assert [each for each in (*low, *high) if x in names(each)] == []
    values = {y: Fraction(3), z: Fraction(2)}
    assert sorted(at(each, values) for each in low) == [Fraction(3, 2), 9]
    assert [at(each, values) for each in high] == [Fraction(5, 2)]
    assert Terms(goal).limits(z)[0] == ["0"]


def at(term: Any, values: dict[str, Fraction]) -> Fraction:
    """The value of a term of sums, products and whole powers."""
    if isinstance(term, str):
        return values[term] if term in values else Fraction(term)
    op, *parts = term
    if op == "^":
        return at(parts[0], values) ** int(parts[1])
    found = [at(part, values) for part in parts]
    return sum(found, Fraction(0)) if op == "+" else math.prod(found, start=Fraction(1))


@pytest.mark.parametrize("digits", ["0.9999999999999999999999", "1e-400", "1e400"])
def test_a_number_that_no_float_holds_is_refused(digits):
    """The first was read as 1, the second as 0, with which false statements were proved."""
    value = sp.Float(digits, 40)
    with pytest.raises(InvalidParameter, match="no float"):
        neutral(value * sp.Symbol("x"))
    with pytest.raises(InvalidParameter, match="no float"):
        from_sympy(value * sp.Symbol("x"), {"x": 1})
    assert neutral(sp.Float("0.1")) == "1/10"

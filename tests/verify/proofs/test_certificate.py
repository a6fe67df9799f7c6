"""Certificates prove what they say, refuse what they cannot prove, and cannot be forged."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import flint
import mpmath
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from trials.checks import InvalidParameter
from verify.proofs.certificate import (
    Certificate,
    Inequality,
    NotProved,
    certificate,
    check,
    proof,
    proved,
)
from verify.proofs.terms import enclose, from_sympy, rational

x, y = sp.symbols("x y")
EXPRESSIONS = (
    x + y,
    x * y - 3,
    sp.exp(-x) * sp.sqrt(y),
    sp.log(x + 1) / y**2,
    sp.Abs(1 - x),
    sp.Max(x, y) - sp.Min(x, 2),
    sp.cos(x) + sp.sin(y),
    sp.UnevaluatedExpr(x / (y + 1)) ** 2 * 5,
    x ** sp.Rational(3, 2),
)


@settings(deadline=None, max_examples=100)
@given(st.sampled_from(EXPRESSIONS), st.floats(0.01, 50), st.floats(0.01, 50))
def test_terms_enclose_the_value_of_their_expression(expr: sp.Expr, a: float, b: float) -> None:
    ball = enclose(from_sympy(expr, {"x": a, "y": b}))
    with mpmath.workdps(40):
        value = sp.lambdify((x, y), expr.doit(), "mpmath")(mpmath.mpf(a), mpmath.mpf(b))
    assert abs(float(ball.mid()) - float(value)) <= 1e-9 * (1 + abs(float(value)))


def test_floats_are_the_binary_fractions_that_they_are() -> None:
    assert rational(0.1) == str(Fraction(3602879701896397, 36028797018963968))
    assert Fraction(from_sympy(x, {"x": 0.1})) == Fraction(0.1)  # type: ignore[arg-type]


def test_what_is_closer_than_any_float_is_still_decided() -> None:
    nearly = ["+", "1", ["^", "10", "-60"]]
    assert proved(nearly, ">", "1")
    assert not proved(nearly, "<", "1")


def test_equal_sides_are_never_proved_to_differ() -> None:
    square = ["*", ["sqrt", "2"], ["sqrt", "2"]]
    assert not proved(square, ">", "2")
    assert not proved(square, "<", "2")


def test_the_precision_of_others_is_left_alone() -> None:
    before = flint.ctx.prec
    try:
        for own in (53, 777):  # whatever another test has left behind
            flint.ctx.prec = own
            assert not proved(["sqrt", "2"], ">", ["*", ["sqrt", "2"], "1"])
            assert flint.ctx.prec == own
            assert proved("1", "<", "2")
            assert flint.ctx.prec == own
    finally:
        flint.ctx.prec = before


def test_a_false_inequality_makes_no_certificate() -> None:
    with pytest.raises(NotProved, match="a third exceeds a half"):
        certificate(
            "x",
            [Inequality(says="a third exceeds a half", left="1/3", relation=">", right="1/2")],
        )
    with pytest.raises(NotProved):
        certificate("nothing", [])


def made() -> dict[str, object]:
    return certificate(
        "argument", [Inequality(says="log 2 < 1", left=["log", "2"], relation="<", right="1")]
    ).as_dict()


def test_a_certificate_survives_storage() -> None:
    assert check(json.loads(json.dumps(made()))) == ["log 2 < 1"]


@pytest.mark.parametrize(
    "forged",
    [
        {},
        {"inequalities": []},
        {"inequalities": [{}]},
        {"inequalities": [{"says": "", "left": "1", "relation": "<", "right": "0"}]},
        {"inequalities": [{"says": "", "left": "1", "relation": "=", "right": "1"}]},
        {"inequalities": [{"says": "", "left": ["log", "0"], "relation": "<", "right": "1"}]},
        {"inequalities": [{"says": "", "left": "1/0", "relation": "<", "right": "1"}]},
        {
            "inequalities": [
                {"says": "", "left": ["^", ["log", "-1"], "0"], "relation": ">", "right": "0"}
            ]
        },
        {"inequalities": [{"says": "", "left": "nan", "relation": "<", "right": "1"}]},
        {"inequalities": [{"says": "", "left": 0, "relation": "<", "right": "1"}]},
        {
            "inequalities": [
                {"says": "", "left": ["__import__", "1"], "relation": "<", "right": "1"}
            ]
        },
        {"inequalities": 3},
    ],
)
def test_forged_certificates_are_refused(forged: dict[str, object]) -> None:
    with pytest.raises(NotProved):
        check(forged)


def test_nesting_without_end_is_refused() -> None:
    term: object = "1"
    for _ in range(1000):
        term = ["-", term]
    with pytest.raises(InvalidParameter, match="200 deep"):
        enclose(term)  # type: ignore[arg-type]


def test_symbols_without_a_value_and_unknown_functions_are_named() -> None:
    with pytest.raises(InvalidParameter, match="symbol y"):
        from_sympy(x + y, {"x": 1})
    with pytest.raises(InvalidParameter, match="gamma"):
        from_sympy(sp.gamma(x), {"x": sp.Rational(1, 3)})  # type: ignore[dict-item]


GOOD = {"says": "a half exceeds a third", "left": "1/2", "relation": ">", "right": "1/3"}


@pytest.mark.parametrize(
    "second",
    [
        {"says": "no right side", "left": "1/2", "relation": ">"},
        {**GOOD, "left": "one half"},
        {**GOOD, "right": ["/", "1", "0"]},
        {**GOOD, "relation": "="},
        {**GOOD, "right": "2/3"},
        None,
    ],
)
def test_one_faulty_inequality_spoils_a_certificate(second: object) -> None:
    assert check({"inequalities": [GOOD]}) == [GOOD["says"]]
    with pytest.raises(NotProved):
        check({"inequalities": [GOOD, second]})


@pytest.mark.parametrize(
    "term", [["^", "2"], ["^", "2", "3", "4"], ["sqrt", "2", "3"], ["!", "2", "3"]]
)
def test_an_operation_with_another_number_of_terms_is_not_known(term: list[str]) -> None:
    with pytest.raises(InvalidParameter, match=rf"with {len(term) - 1} terms is not known"):
        enclose(term)  # type: ignore[arg-type]


OPEN = ["*", ["sqrt", "2"], ["sqrt", "2"]]  # it is two, and every enclosure holds more


@pytest.mark.parametrize("relation", ["<", ">"])
@pytest.mark.parametrize(("left", "right"), [(OPEN, "2"), ("2", OPEN), ("1", "1")])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_an_open_inequality_makes_no_certificate(
    left: Any, relation: Any, right: Any, place: int
) -> None:
    """Whether it is the first, or stands between two that are proved."""
    good = Inequality(**GOOD)  # type: ignore[arg-type]
    undecided = Inequality(says="two is not two", left=left, relation=relation, right=right)
    inequalities = [good, good]
    inequalities.insert(place, undecided)
    with pytest.raises(NotProved, match=r"does not prove: two is not two$"):
        certificate("argument", inequalities)
    document = Certificate(argument="", inequalities=tuple(inequalities)).as_dict()
    with pytest.raises(NotProved, match=r"does not prove: two is not two$"):
        check(document)
    assert proof(lambda: certificate("argument", inequalities)) is None
    assert proof(lambda: certificate("argument", [good])) == {
        "argument": "argument", "inequalities": (GOOD,)
    }  # fmt: skip

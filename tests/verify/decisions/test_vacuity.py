"""Sizes from which on a condition holds, in words."""

from __future__ import annotations

import math

import pytest
import sympy as sp

from bounds.statement import Assumption, Statement, Term
from tests.stated import NOBODY
from verify.decisions.vacuity import Condition, Onset, _power_of_ten, conditions, onset

N = sp.Symbol("n")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1234.0, r"1.23\times10^{3}"),
        (1000.0, "10^{3}"),
        (1000.0 * (1 + 4e-3), "10^{3}"),  # a mantissa that is one to two digits
        (1000.0 * (1 + 6e-3), r"1.01\times10^{3}"),
        (0.05, r"5.00\times10^{-2}"),
        (9.99, r"9.99\times10^{0}"),
    ],
)
def test_a_number_is_a_mantissa_and_a_power_of_ten(value: float, text: str) -> None:
    assert _power_of_ten(math.log(value)) == text


def test_a_huge_number_is_a_power_alone() -> None:
    assert _power_of_ten(2.5e12 * math.log(10)) == "10^{2.5e+12}"
    assert _power_of_ten(0.9e12 * math.log(10)).endswith("10^{900000000000}")


@pytest.mark.parametrize(
    ("log_size", "earlier", "text"),
    [
        (math.inf, False, "never up to $10^{30}$"),
        (-math.inf, False, "at every size"),
        (math.log(5242), False, r"from $5\,242$ on"),
        (math.log(999_999), True, r"from $999\,999$ on (and at some sizes before)"),
        (math.log(2e6), False, r"from $2.00\times10^{6}$ on"),
    ],
)
def test_an_onset_in_words(log_size: float, earlier: bool, text: str) -> None:
    onset = Onset(log_size=log_size, earlier=earlier)
    assert onset.text(30 * math.log(10)) == text
    assert onset.never == (log_size == math.inf)


def test_a_probability_of_exactly_one_and_a_bound_at_the_trivial_one_say_nothing() -> None:
    """Both conditions are strict, and an assumption that is not strict holds with equality."""
    base = Statement(
        id="toy.edge",
        title="A toy",
        publication=NOBODY,
        source="(1)",
        kind="upper bound",
        quantifiers="",
        observed="x",
        terms=(Term(name="t", expr=2 / N),),
        failure=4 / N,
        assumptions=(Assumption(name="size", left=N, right=sp.Integer(4)),),
    )
    size, failure, trivial = conditions(base, sp.Rational(1, 2))
    for n, held in ((3.9, (False, False, False)), (4.0, (True, False, False)),
                    (4.1, (True, True, True))):  # fmt: skip
        found = tuple(c.holds({"n": n}) for c in (size, failure, trivial))
        assert found == held, n


@pytest.mark.parametrize(("low", "high"), [(1e3, 1e9), (10.0, 1e20)])
def test_a_condition_that_fails_in_between_begins_after_its_last_failure(
    low: float, high: float
) -> None:
    outside = Condition(name="outside", left=sp.Abs(sp.log(N / math.sqrt(low * high))),
                        right=sp.log(math.sqrt(high / low)))  # fmt: skip
    found = onset(outside, {"n": 1.0}, "n", 1.0, 60.0)
    assert found.log_size == pytest.approx(math.log(high), rel=1e-9)
    assert found.earlier
    after = Condition(name="after", left=N, right=sp.Float(high))
    late = onset(after, {"n": 1.0}, "n", 1.0, 60.0)
    assert late.log_size == pytest.approx(math.log(high), rel=1e-9)
    assert not late.earlier

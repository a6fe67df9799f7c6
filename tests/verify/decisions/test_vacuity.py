"""Sizes from which on a condition holds, in words."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import sympy as sp

from bounds.log_domain import LogNumber
from bounds.statement import Assumption, Statement, Term
from tests.stated import NOBODY
from trials.checks import InvalidParameter
from verify.decisions.vacuity import (
    Condition,
    Onset,
    _power_of_ten,
    conditions,
    examine,
    onset,
)

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


d = sp.Symbol("d")
#: Conditions on n, at d = 20: whole thresholds, gaps, a condition without n, and no real numbers.
CONDITIONS = {
    "a whole threshold": (N, 100 * d, False),
    "a strict one": (N, 100 * d, True),
    "a root": (sp.sqrt(N), d + sp.Rational(1, 3), False),
    "a gap": (sp.Abs(N - 300), sp.Integer(250), False),
    "no size": (d, sp.Integer(3), False),
    "never": (d, sp.Integer(30), False),
    "a log of a negative number": (sp.log(N - 57), sp.Integer(0), False),
    "a side without n that is no number": (N, sp.log(10 - d), False),
    "too small at last": (3000 / N, sp.Integer(1), False),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_an_onset_is_the_first_whole_size_from_which_on_all_hold(name: str) -> None:
    """Against all sizes up to 4,000, one by one."""
    left, right, strict = CONDITIONS[name]
    condition = Condition(name=name, left=left, right=right, strict=strict)
    held = [condition.holds({"n": float(n), "d": 20.0}) for n in range(1, 4001)]
    along = condition.along("n", {"n": -7.0, "d": 20.0})
    assert [along(LogNumber.of(float(n))) for n in range(1, 4001)] == held
    found = onset(condition, {"n": 5.0, "d": 20.0}, "n", 1.0, math.log(4000.0))
    if not held[-1]:
        assert found == Onset(log_size=math.inf, earlier=any(held))
    elif all(held):
        assert found == Onset(log_size=-math.inf)
    else:
        first = max(n for n, ok in enumerate(held, 1) if not ok) + 1
        assert found.log_size == pytest.approx(math.log(first), abs=1e-12)
        assert found.earlier == any(held[: first - 1])


def test_a_setting_lists_what_fails_and_begins_with_its_last_condition() -> None:
    wanted = [
        Condition(name=name, left=CONDITIONS[name][0], right=CONDITIONS[name][1])
        for name in ("a whole threshold", "a gap", "no size")
    ]
    found = examine("mnist", wanted, {"n": 700.0, "d": 20.0}, "n", 1.0, 20.0)
    assert found.failing == ("a whole threshold",)
    assert not found.bites
    assert found.begins.log_size == pytest.approx(math.log(2000.0))
    assert found.begins.earlier  # the gap: one of its conditions holds before
    wide = examine("large", wanted, {"n": 2000.0, "d": 20.0}, "n", 1.0, 20.0)
    assert wide.bites
    assert examine("none", wanted[2:], {"n": 2.0, "d": 20.0}, "n", 1.0, 20.0).begins == Onset(
        log_size=-math.inf
    )
    with pytest.raises(InvalidParameter, match="setting 'odd' has no m; it has n"):
        examine("odd", wanted, {"n": 1.0}, "m", 1.0, 20.0)
    with pytest.raises(InvalidParameter, match=r"largest size exp\(0\) must exceed 1"):
        onset(wanted[0], {"n": 1.0, "d": 1.0}, "n", 1.0, 0.0)


def test_a_statement_without_a_condition_needs_a_trivial_bound() -> None:
    bare = Statement(
        id="toy.bare", title="", publication=NOBODY, source="toy", kind="upper bound",
        quantifiers="", observed="x", terms=(Term(name="t", expr=2 / N),),
    )  # fmt: skip
    with pytest.raises(InvalidParameter, match=r"toy\.bare has no assumption"):
        conditions(bare)
    (only,) = conditions(bare, sp.Integer(1))
    assert (only.strict, only.left, only.right) == (True, 1, 2 / N)
    hidden = Assumption(name="h", left=N, right=d, constant=sp.Symbol("c"), strict=True)
    (size,) = conditions(replace(bare, assumptions=(hidden,)))
    at = {"n": 12.0, "d": 4.0}
    assert [size.holds({**at, "c": c}) for c in (2.9, 3.0, 3.1)] == [True, False, False]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (9.994e6, r"9.99\times10^{6}"), (9.996e6, "10^{7}"), (9.9999999e6, "10^{7}"),
        (1e7, "10^{7}"), (1.004e7, "10^{7}"), (1.006e7, r"1.01\times10^{7}"), (5e-3, None),
    ],
)  # fmt: skip
def test_a_mantissa_is_never_printed_as_ten(value, text):
    shown = _power_of_ten(math.log(value))
    assert shown == (text or r"5.00\times10^{-3}")


def test_an_onset_is_kept_for_its_condition_and_setting_alone():
    """Changed statements share most of their conditions, and each name may stand for another."""
    for factor, d_at in ((100, 20.0), (50, 20.0), (100, 40.0), (100, 20.0)):
        wanted = [Condition(name="samples", left=N, right=factor * sp.Symbol("d"))]
        found = examine("any", wanted, {"n": 1.0, "d": d_at}, "n", 1.0, 20.0)
        assert found.onsets["samples"].log_size == pytest.approx(math.log(factor * d_at))

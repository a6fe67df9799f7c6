"""A measure of a relation is positive exactly where it fails, for every relation and both ends."""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from verify.decisions.measures import (
    DIFFERENCE,
    LOG_DIFFERENCE,
    LOG_PROBABILITY,
    LOG_RATIO,
    LOWEST,
    SHARE,
    Limits,
    log_or_lowest,
)

NUMBERS = st.floats(1e-6, 1e6)
FAILS = {
    r"\le": lambda a, b: a > b,
    r"\ge": lambda a, b: a < b,
    "=": lambda a, b: a != b,
}


MEASURES = [SHARE, DIFFERENCE, LOG_RATIO, LOG_DIFFERENCE, LOG_PROBABILITY]


@pytest.mark.parametrize("relation", FAILS)
@pytest.mark.parametrize("measure", MEASURES)
@given(a=NUMBERS, b=NUMBERS)
def test_a_violation_is_positive_exactly_where_the_relation_fails(measure, relation, a, b):
    if measure.logs:
        a, b = -a, -b
    assume(a == b or abs(a - b) > 1e-9 * max(abs(a), abs(b)))
    assert (measure.violation(relation, a, b) > 0) == FAILS[relation](a, b)


@pytest.mark.parametrize(
    ("measure", "a", "b", "expected"),
    [
        (SHARE, 3.0, 4.0, -0.25),
        (SHARE, -1.0, 1.0, -2.0),
        (SHARE, 0.0, 0.0, 0.0),
        (DIFFERENCE, 3.0, 4.0, -1.0),
        (LOG_RATIO, 1.0, math.e, -1.0),
        (LOG_DIFFERENCE, -4.0, -2.5, -1.5),
        (LOG_PROBABILITY, -4.0, -2.0, -1.0),  # below the bound by its own log
        (LOG_PROBABILITY, -0.5, -0.25, -0.25),  # a bound near one has the unit one
    ],
)
def test_the_units_by_hand(measure, a, b, expected):
    assert measure.violation(r"\le", a, b) == pytest.approx(expected)
    assert measure.violation(r"\ge", a, b) == pytest.approx(-expected)
    assert measure.violation("=", a, b) == pytest.approx(abs(expected))
    exact = measure.violation(r"\le", mpmath.mpf(a), mpmath.mpf(b))
    assert float(exact) == pytest.approx(expected)


def test_an_infinite_side_holds_where_it_is_the_larger_one_and_is_undefined_elsewhere():
    assert SHARE.violation(r"\le", 1.0, math.inf) == -1.0
    assert SHARE.violation(r"\ge", math.inf, 1.0) == -1.0
    assert math.isnan(SHARE.violation(r"\le", math.inf, 1.0))
    assert math.isnan(SHARE.violation(r"\ge", 1.0, math.inf))


@pytest.mark.parametrize(
    ("lower", "upper", "expected"), [(3.0, 4.0, 1.0), (1.0, 1.5, -0.5), (1.0, 3.0, math.nan)]
)
def test_limits_decide_only_where_both_agree(lower, upper, expected):
    limits = Limits(lower=lower, upper=upper)
    assert DIFFERENCE.violation(r"\le", limits, 2.0) == pytest.approx(expected, nan_ok=True)
    turned = Limits(lower=-upper, upper=-lower)
    assert DIFFERENCE.violation(r"\ge", turned, -2.0) == pytest.approx(expected, nan_ok=True)


def test_sides_are_shown_as_numbers():
    assert LOG_PROBABILITY.shown(math.log(0.25)) == pytest.approx(0.25)
    assert SHARE.shown(Limits(lower=2.0, upper=3.0)) == 2.0


@pytest.mark.parametrize("relation", FAILS)
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("other", [0.0, 1.0, -2.0, math.nan, math.inf])
def test_a_side_that_is_no_number_neither_violates_a_relation_nor_keeps_it(
    measure, relation, other
):
    """It was an equality for the share, and of two limits the one that is a number decided."""
    for number in (float, mpmath.mpf):
        for sides in ((math.nan, other), (other, math.nan)):
            found = measure.violation(relation, *map(number, sides))
            assert found != found, (sides, found)
    for ends in ((other, math.nan), (math.nan, other), (-1e9, math.nan), (math.nan, -1e9)):
        limits = Limits(lower=ends[0], upper=ends[1])
        assert math.isnan(measure.violation(relation, limits, -0.5))


@pytest.mark.parametrize("measure", [SHARE, DIFFERENCE, LOG_RATIO])
def test_an_upper_limit_that_overflows_keeps_no_relation_and_spoils_no_violation(measure):
    """The lower limit alone shows that an upper bound fails.  It never shows that it holds."""
    assert measure.violation(r"\le", Limits(lower=3.0, upper=math.inf), 2.0) > 0
    assert math.isnan(measure.violation(r"\le", Limits(lower=1.0, upper=math.inf), 2.0))
    assert math.isnan(measure.violation(r"\ge", Limits(lower=1.0, upper=math.inf), 2.0))
    assert measure.violation(r"\ge", Limits(lower=3.0, upper=4.0), 2.0) < 0


def test_the_log_of_no_probability_is_the_lowest() -> None:
    assert log_or_lowest(0.25) == math.log(0.25)
    assert log_or_lowest(Fraction(1, 10**400)) == LOWEST
    assert log_or_lowest(0.0) == LOWEST


@pytest.mark.parametrize("measure", [SHARE, LOG_DIFFERENCE], ids=lambda m: m.unit)
def test_of_limits_the_lower_is_printed_and_the_harder_one_is_the_worst(measure):
    limits = Limits(lower=-3.0, upper=-2.0)
    low, high = (measure.shown(end) for end in (-3.0, -2.0))
    assert measure.shown(limits) == low < high
    assert measure.worst(r"\le", limits) == measure.worst("=", limits) == high
    assert measure.worst(r"\ge", limits) == low


@given(a=NUMBERS, b=NUMBERS)
def test_the_log_of_a_ratio_is_antisymmetric_and_turns_with_both_signs(a, b):
    value = LOG_RATIO.excess(a, b)
    assert value == pytest.approx(max(min(math.log(a / b), 1e3), -1e3), abs=1e-9)
    assert LOG_RATIO.excess(b, a) == -value
    assert LOG_RATIO.excess(-a, -b) == pytest.approx(-value, abs=1e-12)
    # of two signs: beyond every ratio, in the order of distance
    assert LOG_RATIO.excess(a, -b) == -LOG_RATIO.excess(-b, a) > 900.0
    assert LOG_RATIO.excess(2.0 * a, -b) > LOG_RATIO.excess(a, -b)
    assert LOG_RATIO.excess(a, 0.0) == -LOG_RATIO.excess(0.0, a) > 900.0


@pytest.mark.parametrize("measure", MEASURES, ids=lambda m: m.unit)
def test_an_equality_with_a_value_between_the_limits_is_undecided(measure):
    """Both limits differ from the bound, and the quantity itself may not."""
    sign = -1.0 if measure.logs else 1.0
    low, middle, high = sorted(sign * x for x in (2.0, 3.0, 5.0))
    limits = Limits(lower=low, upper=high)
    assert math.isnan(measure.violation("=", limits, middle))
    beyond = high + 1.0 if not measure.logs else high / 2
    nearest = min(measure.violation("=", end, beyond) for end in (low, high))
    assert measure.violation("=", limits, beyond) == nearest > 0.0
    assert measure.violation("=", Limits(lower=middle, upper=middle), middle) == 0.0


ENDS = [-math.inf, -1.7e308, -1.0, 0.0, 1.0, 1.7e308, math.inf]


@pytest.mark.parametrize("a", ENDS)
@pytest.mark.parametrize("b", ENDS)
def test_a_share_has_the_sign_of_the_difference_of_any_two_numbers(a, b):
    """Minus infinity stood above every number, and the largest numbers infinitely far apart."""
    for one, other in ((a, b), (mpmath.mpf(a), mpmath.mpf(b))):
        found = SHARE.excess(one, other)
        assert (found > 0) == (a > b)
        assert (found < 0) == (a < b)
        assert abs(found) <= 2


def test_a_log_ratio_of_numbers_below_all_floats_keeps_its_sign_and_its_order():
    """Zero was above 1e-500, which only mpmath has: the log of their difference is below -1,000."""
    with mpmath.workdps(50):
        sizes = [mpmath.mpf(f"1e-{n}") for n in (5000, 500, 435, 434, 400, 300, 1)]
        numbers = [-s for s in reversed(sizes)] + [mpmath.mpf(0)] + sizes
        for i, a in enumerate(numbers):
            for j, b in enumerate(numbers):
                found = LOG_RATIO.excess(a, b)
                assert (found > 0) == (i > j)
                assert (found < 0) == (i < j)
        apart = [LOG_RATIO.excess(s, mpmath.mpf(0)) for s in sizes]
        assert apart == sorted(apart)


@pytest.mark.parametrize("number", [float, mpmath.mpf], ids=["float", "mpf"])
def test_a_probability_above_a_bound_of_zero_breaks_it(number):
    """Infinity over infinity is no number, so that the point counted as undefined."""
    zero, some = number(-math.inf), number(-5.0)
    assert LOG_PROBABILITY.violation(r"\le", some, zero) == 1
    assert LOG_PROBABILITY.violation(r"\ge", some, zero) == -1
    assert LOG_PROBABILITY.violation("=", some, zero) == 1
    assert LOG_PROBABILITY.violation(r"\le", zero, zero) == 0
    ever_smaller = [LOG_PROBABILITY.excess(-5.0, -(10.0**n)) for n in (2, 4, 8)]
    assert ever_smaller == pytest.approx([0.95, 0.9995, 1.0], abs=1e-6)

"""The log domain agrees with floating point where that works, and with mpmath beyond."""

import itertools
import math
from fractions import Fraction
from functools import partial

import mpmath
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

from bounds.log_domain import LogNumber, evaluate_log, evaluate_log_along
from bounds.statement import evaluate

x, y = sp.symbols("x y")
EXPRESSIONS = [
    x + y,
    x - y,
    x * y - 3,
    x**2 / y,
    sp.sqrt(x) * y ** sp.Rational(-3, 2),
    sp.exp(-x) + sp.exp(-y / 7),
    sp.log(x + 1) - 2 * sp.log(y + 2),
    sp.Max(x, y) - sp.Min(x, 3),
    sp.Abs(x - y) + sp.floor(x) - sp.ceiling(y),
    (x / y) ** sp.Rational(7, 3),
    sp.UnevaluatedExpr(x / y) ** 3 * sp.pi,
    (x - y) ** 3,
]


@pytest.mark.parametrize("expr", EXPRESSIONS, ids=str)
@given(a=st.floats(0.01, 30), b=st.floats(0.01, 30))
def test_it_agrees_with_floating_point(expr, a, b):
    values = {"x": a, "y": b}
    scale = 1e4 * max(a, b) ** 3 / min(a, b) ** 2
    expected = float(evaluate(expr, values))
    assert float(evaluate_log(expr, values)) == pytest.approx(expected, rel=1e-9, abs=1e-12 * scale)


#: Logs of sizes from far below the smallest float to far above the largest one.
LOGS = (-2000.0, -800.25, -1.5, 0.5, 3.5, 705.5, 2000.0)
SIGNED = [(sign, log) for sign in (1, -1) for log in LOGS]


#: A huge number less its ceiling keeps no digit, so that expression stays out.
CANCEL_NOTHING_WHOLE = [expr for expr in EXPRESSIONS if not expr.has(sp.ceiling)]


@pytest.mark.parametrize("expr", [*EXPRESSIONS, sp.log(y) * x, x + sp.floor(y)], ids=str)
@pytest.mark.parametrize("symbol", ["x", "y"])
def test_along_one_symbol_it_is_the_same_to_the_last_bit(expr, symbol):
    """At sizes and signs inside and outside the floats, refusals included."""

    def attempt(compute):
        try:
            return compute()
        except ValueError:
            return "refused"

    numbers = [LogNumber.of(0.0)] + [
        LogNumber.of(sign * math.exp(log)) if abs(log) < 700.0 else LogNumber(sign, log)
        for sign, log in SIGNED
    ]
    (other,) = {"x", "y"} - {symbol}
    for fixed in numbers:
        along = attempt(partial(evaluate_log_along, expr, symbol, {other: fixed}))
        for size in numbers:
            values = {symbol: size, other: fixed}
            once = attempt(partial(evaluate_log, expr, values))
            again = attempt(partial(along, size)) if callable(along) else along
            assert again == once, values


def test_along_one_symbol_a_symbol_without_a_value_is_refused():
    with pytest.raises(KeyError, match="no value for y"):
        evaluate_log_along(x + y, "x", {"x": 1.0})
    with pytest.raises(ValueError, match="Sum in"):
        evaluate_log_along(sp.Sum(x**y, (y, 0, x)), "x", {})


#: The first, the second or the last of three is the largest, by size and sign.
OF_THREE = [sp.Max(x, y, x * y), sp.Min(x, y, 1 / x), x * y * sp.Abs(x)]


@pytest.mark.parametrize(
    "expr", [*CANCEL_NOTHING_WHOLE, sp.ceiling(x), sp.floor(x) * y, *OF_THREE], ids=str
)
def test_it_agrees_with_mpmath_on_numbers_of_every_size_and_sign(expr):
    """Or it refuses where the exact value is no real number."""
    exact = sp.lambdify((x, y), expr.doit(), "mpmath")
    refused = 0
    with mpmath.workdps(1000):  # the digits of a sum of the largest and the smallest size
        numbers = {(sign, log): sign * mpmath.exp(log) for sign, log in SIGNED}
        for a, b in itertools.product(SIGNED, SIGNED):
            values = {"x": LogNumber.of(0.0), "y": LogNumber.of(0.0)}
            for name, (sign, log) in zip("xy", (a, b), strict=True):
                inside = abs(log) < 700.0
                values[name] = (
                    LogNumber.of(sign * math.exp(log)) if inside else LogNumber(sign, log)
                )
            wanted = mpmath.mpmathify(exact(numbers[a], numbers[b]))
            if isinstance(wanted, mpmath.mpc):
                with pytest.raises(ValueError, match=r"must be|has no power"):
                    evaluate_log(expr, values)
                refused += 1
                continue
            found = evaluate_log(expr, values)
            log = float(mpmath.log(abs(wanted))) if wanted else -math.inf
            if math.isinf(log):  # zero, or so large or small that no float holds its logarithm
                assert float(found) == (
                    0.0 if log < 0 else float(mpmath.sign(wanted)) * math.inf
                ), (a, b)
            else:
                assert found.sign == mpmath.sign(wanted), (a, b)
                assert found.log == pytest.approx(log, rel=1e-12, abs=1e-9), (a, b)
    assert refused < len(SIGNED) ** 2


def test_it_goes_where_floating_point_overflows():
    values = {"x": 1e6, "y": LogNumber(1, 1e9)}
    assert evaluate_log(sp.exp(x), values).log == 1e6
    assert evaluate_log(y**3 / sp.exp(x), values).log == pytest.approx(3e9 - 1e6)
    assert float(evaluate_log(sp.log(y), values)) == pytest.approx(1e9)
    with mpmath.workdps(30):
        exact = mpmath.exp(mpmath.mpf(10) ** 6) - mpmath.exp(mpmath.mpf(10) ** 6 - 1)
        expected = float(mpmath.log(exact))
    assert evaluate_log(sp.exp(x) - sp.exp(x - 1), values).log == pytest.approx(expected)
    assert float(evaluate_log(sp.exp(-sp.exp(x)), values)) == 0.0
    huge = sp.Integer(10) ** 400
    assert evaluate_log(huge * x, values).log == pytest.approx(406 * math.log(10))


def test_comparisons_order_signs_and_sizes():
    numbers = [LogNumber.of(v) for v in (-math.inf, -2.0, -0.5, 0.0, 1e-300, 3.0, math.inf)]
    for i, a in enumerate(numbers):
        for j, b in enumerate(numbers):
            assert (a < b) == (i < j)
            assert (a <= b) == (i <= j)


@pytest.mark.parametrize(
    ("expr", "values", "error", "message"),
    [
        (sp.log(x), {"x": -1.0}, ValueError, "must be of a number > 0"),
        (sp.sqrt(x), {"x": -1.0}, ValueError, r"no power 0\.5"),
        (1 / x, {"x": 0.0}, ValueError, "zero to the power -1"),
        (x - y, {"x": math.inf, "y": math.inf}, ValueError, "inf - inf"),
        (sp.sin(x), {"x": 1.0}, ValueError, "sin in"),
        (sp.Sum(x**y, (y, 0, x)), {"x": 1.0}, ValueError, "Sum in"),
        (x, {}, KeyError, "no value for x"),
    ],
)
def test_what_is_no_number_is_refused(expr, values, error, message):
    with pytest.raises(error, match=message):
        evaluate_log(expr, values)
    with pytest.raises(ValueError, match="nan"):
        LogNumber.of(math.nan)


@pytest.mark.parametrize("exponent", [-400, -300, -1, 0, 1, 300, 400])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_rational_of_any_size_keeps_its_sign_and_its_logarithm(exponent, sign):
    found = evaluate_log(sign * sp.Integer(10) ** exponent * 3, {})
    assert found.sign == sign
    assert found.log == pytest.approx(exponent * math.log(10) + math.log(3), rel=1e-15)


@pytest.mark.parametrize("log", [37.0, 400.0, 695.0, 705.0, 1e6])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_number_beyond_the_whole_floats_is_its_own_floor_and_ceiling(log, sign):
    number = evaluate_log(sign * y, {"y": LogNumber(1, log)})
    for rounded in (sp.floor, sp.ceiling):
        found = evaluate_log(rounded(x), {"x": number})
        assert (found.sign, found.log) == (sign, log)


@pytest.mark.parametrize("log", [1.0, 400.0, 1e6])
@pytest.mark.parametrize("power", [-3, -2, 1, 2, 3, 4])
def test_a_power_of_a_negative_number_has_the_sign_of_its_parity(log, power):
    found = evaluate_log(x ** sp.Integer(power), {"x": LogNumber(-1, log)})
    assert found.sign == (1 if power % 2 == 0 else -1)
    assert found.log == pytest.approx(power * log)


def test_numbers_beyond_the_floats_are_ordered_as_integers_are():
    """Signed exponents of ten against exact integers and fractions."""
    exponents = (-900, -400, -2, 0, 3, 400, 900)
    exact = {0: LogNumber.of(0.0)}
    for e in exponents:
        for sign in (1, -1):
            exact[sign * Fraction(10) ** e] = LogNumber(sign, e * math.log(10))
    for a, left in exact.items():
        for b, right in exact.items():
            assert (left <= right) == (a <= b)
            assert (left < right) == (a < b)
            largest = evaluate_log(sp.Max(x, y), {"x": left, "y": right})
            assert largest == exact[max(a, b)]
            product = left * right
            assert product.sign == (a * b > 0) - (a * b < 0)


@pytest.mark.parametrize("power", [-math.inf, -2.0, -0.5, 0.0, 0.5, 2.0, 3.0, math.inf])
@pytest.mark.parametrize("base", [-4.0, 0.0, 1.0, 4.0])
def test_powers_are_those_of_floats_or_refused_where_those_are_no_real_numbers(base, power):
    y = sp.Symbol("y")
    at = {"x": base, "y": power}
    if (base == 0.0 and power < 0.0) or (base < 0.0 and not power.is_integer()):
        with pytest.raises(ValueError, match="not a number" if base == 0.0 else "has no power"):
            evaluate_log(x**y, at)
    else:
        assert float(evaluate_log(x**y, at)) == base**power


def test_sums_products_and_extremes_of_infinities_and_zero_are_those_of_floats():
    values = (-math.inf, -3.0, 0.0, 0.5, 7.0, math.inf)
    y = sp.Symbol("y")
    for a, b in itertools.product(values, values):
        at = {"x": a, "y": b}
        assert float(evaluate_log(sp.Max(x, y), at)) == max(a, b)
        assert float(evaluate_log(sp.Min(x, y), at)) == min(a, b)
        product = 0.0 if 0.0 in (a, b) else a * b  # zero times anything is zero
        assert float(LogNumber.of(a) * LogNumber.of(b)) == product
        if math.isinf(a) and a == -b:
            with pytest.raises(ValueError, match="inf - inf"):
                LogNumber.of(a) + LogNumber.of(b)
        else:
            assert float(LogNumber.of(a) + LogNumber.of(b)) == a + b


@pytest.mark.parametrize("bits", [1, 20, 35, 42])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_difference_of_close_numbers_beyond_the_floats_keeps_its_digits(bits, sign):
    """e^1000 and its neighbours, whose logarithms are exact: the gap is a power of two."""
    gap = 2.0**-bits
    with mpmath.workdps(40):
        expected = float(1000 + mpmath.log1p(-mpmath.exp(-mpmath.mpf(gap))))
    found = LogNumber(sign, 1000.0) + LogNumber(-sign, 1000.0 - gap)
    assert found.sign == sign
    assert found.log == pytest.approx(expected, rel=1e-14)
    assert (LogNumber(sign, 1000.0) + LogNumber(-sign, 1000.0)).sign == 0


@pytest.mark.parametrize("value", [0.1 + 0.2, 2.0**53 - 1, -1.0 / 3.0, 5e-324, 1.7e308])
def test_a_float_of_an_expression_keeps_all_of_its_digits(value):
    """SymPy prints fifteen digits of a float, and 0.1 + 0.2 needs seventeen."""
    assert float(evaluate_log(sp.Float(value), {})) == pytest.approx(value, rel=1e-12)
    if abs(math.log(abs(value))) < 690:
        assert float(evaluate_log(sp.Float(value), {})) == value
        assert float(evaluate_log(x * value, {"x": 1.0})) == value


def test_a_condition_at_a_whole_size_sees_the_last_digit_of_a_float():
    whole = 2.0**53 - 1
    assert LogNumber.of(whole) <= evaluate_log(sp.Float(whole), {})

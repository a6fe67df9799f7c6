"""Numbers as a paper prints them: the right digits, and as few characters as a reader needs."""

from __future__ import annotations

import math
import re
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from reports.text import estimate, interval, number, numeral, parameter, prose, value


def decimal(printed: str) -> Decimal:
    r"""The number that a reader sees: ``$-1.2 \times 10^{-5}$``."""
    text = printed.strip("$").replace(r"\,", "")
    factor, _, power = text.partition("10^{") if "10^{" in text else (text, "", "0}")
    factor = factor.replace(r"\times", "").strip()
    factor = {"": "1", "-": "-1"}.get(factor, factor)
    return Decimal(factor).scaleb(int(power.rstrip("}")))


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(2, 6))
def test_a_float_is_read_as_its_value_rounded_to_the_wanted_digits(x: float, digits: int) -> None:
    exact = x.is_integer() and abs(x) < 1e6
    context = Context(prec=60 if exact else digits, rounding=ROUND_HALF_EVEN)
    assert decimal(number(x, digits)) == context.create_decimal(Decimal(x))


@given(st.floats(1.0, 10.0), st.integers(-8, 9), st.sampled_from([1, -1]), st.integers(1, 5))
def test_a_power_of_ten_is_printed_from_a_million_on_and_below_a_thousandth(
    factor: float, power: int, sign: int, digits: int
) -> None:
    """What is rounded decides.  Nothing is printed that rounding makes zeros at the end."""
    x = sign * factor * 10.0**power
    printed = number(x, digits)
    rounded = Context(prec=digits, rounding=ROUND_HALF_EVEN).create_decimal(Decimal(x))
    read = decimal(printed)
    whole = x.is_integer() and abs(x) < 1e6
    assert read == (Decimal(x) if whole else rounded)
    assert ("10^" in printed) is not (Decimal("1e-3") <= abs(read) < 1_000_000)
    if "10^" in printed:
        mantissa = printed.strip("$-").partition(r" \times")[0]
        assert "." not in mantissa or not mantissa.endswith(("0", "."))


@given(st.floats(1.0, 9.999), st.integers(-8, 9), st.integers(-3, 2))
def test_an_estimate_has_a_power_of_ten_where_its_larger_part_has_one(
    factor: float, power: int, smaller: int
) -> None:
    mean = factor * 10.0**power
    se = mean * 10.0**smaller / 3
    printed = estimate(mean, se)
    larger = Context(prec=7).create_decimal(Decimal(max(mean, se)))
    assert ("10^" in printed) is not (Decimal("1e-3") <= larger < 1_000_000)
    assert (r"\pm" in printed) or smaller == -3


@given(st.integers(1 - 10**12, 10**12 - 1))
def test_an_integer_of_up_to_twelve_digits_is_exact(n: int) -> None:
    assert decimal(number(n)) == n


@pytest.mark.parametrize(
    ("given", "printed"),
    [
        (None, "--"),
        (True, "yes"),
        (False, "no"),
        (math.nan, "not a number"),
        (math.inf, r"$\infty$"),
        (-math.inf, r"$-\infty$"),
        (0, "$0$"),
        (9999, "$9999$"),  # no group of four digits
        (-9999, "$-9999$"),
        (10_000, r"$10\,000$"),
        (-10_000, r"$-10\,000$"),
        (123_456, r"$123\,456$"),
        (10**12 - 1, r"$999\,999\,999\,999$"),
        (10**12, "$10^{12}$"),
        (999_999.0, r"$999\,999$"),
        (1e6, "$10^{6}$"),
        (0.001, "$0.001$"),  # no power of ten from a thousandth
        (0.00123, "$0.00123$"),
        (0.0009994, r"$9.99 \times 10^{-4}$"),
        (0.0009996, "$0.001$"),  # rounded before its form is chosen
        (0.25, "$0.25$"),
        (1234.5, "$1230$"),
        (0.3000001, "$0.3$"),  # zeros at the end are dropped
        (99.96, "$100$"),
        (12345.6, r"$12\,300$"),
        (100_000.5, r"$100\,000$"),  # never in the form 1e+05
        (999_999.5, "$10^{6}$"),
        (-1e-5, "$-10^{-5}$"),
        (1.2e-5, r"$1.2 \times 10^{-5}$"),
        (-3.45678e7, r"$-3.46 \times 10^{7}$"),
    ],
)
def test_a_number_is_printed_as_a_paper_prints_it(given: Any, printed: str) -> None:
    assert number(given) == printed


@pytest.mark.parametrize(
    ("mean", "se", "printed"),
    [
        (0.041, 0.0011, r"$0.0410 \pm 0.0011$"),
        (12.34, 0.25, r"$12.34 \pm 0.25$"),
        (1234.5, 67.0, r"$1234 \pm 67$"),
        (12345.6, 670.0, r"$12\,346 \pm 670$"),
        (0.0, 0.5, r"$0.00 \pm 0.50$"),  # the error is larger than the value
        (0.001, 0.0002, r"$0.00100 \pm 0.00020$"),
        (0.02, 9.96e-4, r"$0.0200 \pm 0.0010$"),  # the error is rounded first
        (0.0009, 0.0001, r"$(9.0 \pm 1.0) \times 10^{-4}$"),
        (2.5e7, 1.5e6, r"$(2.50 \pm 0.15) \times 10^{7}$"),
        (-2.5e-7, 1.5e-8, r"$(-2.50 \pm 0.15) \times 10^{-7}$"),
        (3.0e-7, 5.0e-6, r"$(0.3 \pm 5.0) \times 10^{-6}$"),
        (2.5e7, 1.5e4, r"$(2.5000 \pm 0.0015) \times 10^{7}$"),
        (2.5e7, 1.5e3, r"$2.5 \times 10^{7}$"),  # an error far below the printed digits
        (0.5, 0.000123, r"$0.50000 \pm 0.00012$"),
        (0.5, 0.000012, "$0.5$"),
        (123.456789, 0.2, r"$123.46 \pm 0.20$"),
        (123.456789, 0.01, "$123.46$"),
        (0.5, 0.0, "$0.5$"),
        (0.5, -1.0, "$0.5$"),
        (0.5, None, "$0.5$"),
        (None, 0.5, "--"),
        (math.inf, 0.5, r"$\infty$"),
        (9.5e5, 2e5, r"$950\,000 \pm 200\,000$"),
        (1e6, 2e5, r"$(1.00 \pm 0.20) \times 10^{6}$"),
        (2e7, 3e8, r"$(0.2 \pm 3.0) \times 10^{8}$"),
        (1.23456789e7, 15.0, r"$1.2346 \times 10^{7}$"),
        (0.5, math.inf, "$0.5$"),
    ],
)
def test_an_estimate_has_two_digits_of_its_error(
    mean: float | None, se: float | None, printed: str
) -> None:
    assert estimate(mean, se) == printed


@pytest.mark.parametrize(
    ("lower", "upper", "printed"),
    [
        (None, None, "--"),
        (None, 0.5, r"{[}$-\infty$, $0.5${]}"),
        (0.5, None, r"{[}$0.5$, $\infty${]}"),
        (0.0, 0.0, "{[}$0$, $0${]}"),
        (0.0, 1.0, r"$[0,\ 1.00]$"),  # a limit of exactly zero has no digits
        (-0.25, 0.0, r"$[-0.250,\ 0]$"),
        (0.1, 0.2, r"$[0.100,\ 0.200]$"),
        (100.0, 250.0, r"$[100,\ 250]$"),
        (1.0, 1.0, r"$[1.00,\ 1.00]$"),
        (0.1234, 0.1236, r"$[0.1234,\ 0.1236]$"),  # as many digits as tell the ends apart
        (0.1234, 0.12341, r"$[0.12340,\ 0.12341]$"),
        (0.5, 0.50000001, r"$[0.5000000,\ 0.5000000]$"),  # but no more than seven
        (12345.0, 12346.0, r"$[12\,345,\ 12\,346]$"),
        (999_999.0, 1e6, r"$[0.999999,\ 1.000000] \times 10^{6}$"),
        (0.001, 0.002, r"$[0.00100,\ 0.00200]$"),
        (0.0009, 0.0005, r"$[9.00,\ 5.00] \times 10^{-4}$"),
        (9.9999999e6, 9.9999999e6, r"$[1.00,\ 1.00] \times 10^{7}$"),
        (-3e-5, 2e-5, r"$[-3.00,\ 2.00] \times 10^{-5}$"),
        (1e-300, 1e-299, r"$[0.10,\ 1.00] \times 10^{-299}$"),
    ],
)
def test_an_interval_has_one_power_of_ten_and_ends_that_differ(
    lower: float | None, upper: float | None, printed: str
) -> None:
    assert interval(lower, upper) == printed


def _read(text: str, power: str) -> Decimal:
    return Decimal(text.replace(r"\,", "")).scaleb(int(power or 0))


FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(FINITE, FINITE)
def test_the_ends_of_an_interval_are_read_to_three_digits_of_the_larger(x: float, y: float) -> None:
    assume((x, y) != (0.0, 0.0))
    printed = interval(x, y)
    shape = r"\$\[(.*),\\ (.*)\](?: \\times 10\^\{(.*)\})?\$"
    (left, right, power) = re.fullmatch(shape, printed).groups()
    allowed = Decimal(max(abs(x), abs(y))) * Decimal("0.005")
    for end, text in ((x, left), (y, right)):
        assert abs(_read(text, power) - Decimal(end)) <= allowed


@given(FINITE, st.floats(min_value=5e-324, allow_infinity=False))
def test_an_estimate_is_read_to_half_a_digit_of_its_error(mean: float, se: float) -> None:
    printed = estimate(mean, se)
    match = re.fullmatch(r"\$\(?(.*?) \\pm (.*?)\)?(?: \\times 10\^\{(.*)\})?\$", printed)
    if match is None:  # an error far below the value
        assert se < 2e-3 * abs(mean)
        assert abs(decimal(printed) - Decimal(mean)) <= Decimal("5.1e-5") * abs(Decimal(mean))
        return
    for x, text in ((mean, match[1]), (se, match[2])):
        assert abs(_read(text, match[3]) - Decimal(x)) <= Decimal("0.0501") * Decimal(se)


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("m", "$m$"),
        ("rho", r"$\rho$"),
        ("n_prime", "$n'$"),
        ("Delta_sq", r"$\Delta^{2}$"),
        ("lam", r"$\lambda$"),
        ("x_star", r"$x^{\ast}$"),
        ("x_inf", r"$x_{\infty}$"),
        ("p_hat", r"$\hat{p}$"),
        ("c_rho", r"$c_{\rho}$"),
        ("c_1", "$c_{1}$"),
        ("c1", "$c_{1}$"),
        ("c12", r"\texttt{c12}"),
        ("L_f", "$L_{f}$"),
        ("x_12345678", "$x_{12345678}$"),
        ("p_worst", r"$p_{\mathrm{worst}}$"),
        ("p_lowest", r"\texttt{p\_lowest}"),  # more than five letters are no index
        ("step_rule", "step rule"),
        ("seed", "seed"),
        ("ab_1", r"\texttt{ab\_1}"),
        ("ab_c", r"\texttt{ab\_c}"),
        ("abc_d", "abc d"),
        ("abc_d1", r"\texttt{abc\_d1}"),
    ],
)
def test_a_parameter_is_a_symbol_or_words(name: str, printed: str) -> None:
    assert parameter(name) == printed


@pytest.mark.parametrize(
    ("item", "printed"),
    [
        (3.0, "$3$"),
        (1e15, "$10^{15}$"),
        (True, "yes"),
        (None, "--"),
        (999_000_000, r"$999\,000\,000$"),
        (10**9, "$10^{9}$"),
        (5e9, r"$5 \times 10^{9}$"),  # a whole number with six zeros at its end
        (1_000_100_000, r"$1\,000\,100\,000$"),
        (1_234_000_000, r"$1.23 \times 10^{9}$"),
        (-2_000_000_000, r"$-2 \times 10^{9}$"),
        (0.12345, "$0.1235$"),
        ("a_b", r"a\_b"),
        ([1, 2.5], "($1$, $2.5$)"),
        ((1, "a"), "($1$, a)"),
        (list(range(8)), "($0$, $1$, $2$, $3$, $4$, $5$, $6$, $7$)"),
        (list(range(9)), r"($0$, $1$, $2$, $3$, $4$, $5$, $6$, $7$, \ldots{})"),
        (0.5 - 1e-7, "$0.5-10^{-7}$"),
        (0.5 + 3e-6, r"$0.5+3 \times 10^{-6}$"),
        (0.5 + 1e-10, "$0.5+10^{-10}$"),
        (20 - 3e-11, r"$20-3 \times 10^{-11}$"),  # 1.5e-12 of it: rounding is 2e-16
        (20 * (1 + 1e-4), r"$20+0.002$"),
        (20 * (1 + 1.1e-4), "$20$"),  # too far for this form
        (0.1 + 0.2, "$0.3$"),  # rounding of the computer is no distance
        (math.inf, r"$\infty$"),
    ],
)
def test_a_value_is_rounded_for_reading(item: Any, printed: str) -> None:
    assert value(item) == printed


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("0.5", "$0.5$"),
        ("1e-7", "$10^{-7}$"),
        ("1e-9627", "$10^{-9627}$"),
        ("-25.04e-401", r"$-2.5 \times 10^{-400}$"),
        ("3.14159e400", r"$3.14 \times 10^{400}$"),
        ("0e-999", "$0$"),
        ("1e-434294481", "$10^{-434294481}$"),
    ],
)
def test_a_written_number_need_not_be_a_float(text: str, shown: str) -> None:
    assert numeral(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("at most 1e-9627.", "at most $10^{-9627}$."),
        ("at least 2e400", r"at least $2 \times 10^{400}$"),
        ("at c=1e-400", "at $c=10^{-400}$"),
        ("0e5 of them", "$0$ of them"),
        ("1e-07 of them", "$10^{-7}$ of them"),
    ],
)
def test_numbers_in_a_sentence_need_not_be_floats(text: str, shown: str) -> None:
    assert prose(text) == shown

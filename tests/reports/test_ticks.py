"""Ticks: round, few, inside their limits, and written alike."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.ticks import minor, ticks, write_ticks


@given(
    low=st.floats(-12, 12),
    decades=st.floats(0.01, 30),
    scale=st.sampled_from(["log", "linear"]),
    most=st.integers(2, 9),
)
def test_ticks_lie_inside_their_limits_and_are_few(
    low: float, decades: float, scale: str, most: int
) -> None:
    start, end = 10.0**low, 10.0 ** (low + decades)
    places = ticks(start, end, scale, most)
    assert len(places) <= most
    assert places == sorted(set(places))
    room = 1e-6 * (start if scale == "log" else end - start)
    assert all(start - room <= v <= end * (1 + 1e-6) for v in places)
    if decades > 0.3 and most >= 4:
        assert len(places) >= 2
    assert len(set(write_ticks(places, scale))) == len(places)
    small = minor(start, end, scale, places)
    assert all(start * (1 - 1e-6) <= v <= end * (1 + 1e-6) for v in small)


@pytest.mark.parametrize(
    ("places", "scale", "texts"),
    [
        ([-0.5, 0.0, 0.5], "linear", ["$-0.5$", "0", "0.5"]),
        ([1e5, 3e5], "log", ["$10^{5}$", r"$3\times 10^{5}$"]),
        ([0.0, 2e7], "linear", ["0", r"$2\times 10^{7}$"]),
        ([1e-3, 1e-2], "log", ["0.001", "0.01"]),
        ([0.0, 5e-4, 1e-3], "linear", ["0", "0.0005", "0.001"]),
        ([0.0, 4.5e-4, 9e-4], "linear", ["0", r"$4.5\times 10^{-4}$", r"$9\times 10^{-4}$"]),
        ([10.0, 1e4], "log", ["$10^{1}$", "$10^{4}$"]),
        ([], "log", []),
        ([10000.0, 10050.0], "log", ["$10^{4}$", r"$1.005\times 10^{4}$"]),
    ],
)
def test_an_axis_is_written_in_one_notation(
    places: list[float], scale: str, texts: list[str]
) -> None:
    assert write_ticks(places, scale) == texts


def test_limits_without_a_length_or_an_end_have_no_broken_ticks() -> None:
    assert ticks(-math.inf, 1.0, "linear", 5) == []
    assert minor(0.0, 1.0, "log", [0.5, 1.0]) == []


@pytest.mark.parametrize("end", [4, 3, 0])
@pytest.mark.parametrize("error", [0.0, 1e-12, -1e-12])
def test_limits_that_are_powers_of_ten_up_to_rounding_have_ticks(end: int, error: float) -> None:
    low, high = 10.0 ** (end - 4) * (1 + error), 10.0**end * (1 - error)
    assert ticks(low, high, "log", 5) == [10.0**e for e in range(end - 4, end + 1)]


@pytest.mark.parametrize("first", range(-7, 1))
@pytest.mark.parametrize("last", [2, 5, 8])
@pytest.mark.parametrize("most", [3, 4, 6])
def test_powers_that_are_left_out_leave_multiples_of_one_stride_and_1_among_them(first, last, most):
    found = ticks(10.0**first, 10.0**last, "log", most)
    exponents = [round(math.log10(v)) for v in found]
    stride = -(-(last - first + 1) // most)
    assert exponents == [e for e in range(first, last + 1) if e % stride == 0]
    assert 1.0 in found


@pytest.mark.parametrize("first", range(-7, 4))
@pytest.mark.parametrize("length", range(1, 12))
@pytest.mark.parametrize("most", [2, 3, 5])
def test_an_axis_over_two_powers_of_ten_has_two_ticks(first, length, most):
    """At two ticks, 10 to 1000 had 100 alone, by which nobody can read an axis."""
    found = ticks(0.9 * 10.0**first, 1.1 * 10.0 ** (first + length), "log", most)
    assert 2 <= len(found) <= most
    assert minor(0.9 * 10.0**first, 1.1 * 10.0 ** (first + length), "log", found)


@pytest.mark.parametrize("offset", [1.0, -3.0, 100745.25, -8765432.1, 3e12])
@pytest.mark.parametrize("ulps", [1 << 8, 1 << 12, 1 << 20, 1 << 40])
@pytest.mark.parametrize("most", [2, 5, 9])
def test_ticks_of_a_short_interval_far_from_zero_differ_and_are_even(offset, ulps, most):
    """Rounded to twelve digits they were one number, or at places of unequal distance."""
    low, high = offset, offset + ulps * math.ulp(offset)
    places = ticks(low, high, "linear", most)
    texts = write_ticks(places, "linear")
    assert 2 <= len(set(texts)) == len(places) <= most
    gaps = [Fraction(b) - Fraction(a) for a, b in pairwise(places)]
    error = 4 * Fraction(math.ulp(offset))  # of two places
    assert all(abs(gap - gaps[0]) <= error for gap in gaps)


@given(
    low=st.integers(-40, 40),
    length=st.integers(1, 60),
    shift=st.sampled_from([0.0, 0.3, 1e-13]),
    power=st.integers(-6, 6),
    most=st.integers(3, 12),
)
def test_linear_ticks_are_evenly_spaced_and_leave_no_room_for_another_one(
    low: int, length: int, shift: float, power: int, most: int
) -> None:
    unit = 10.0**power
    start, end = (low - shift) * unit, (low + length + shift) * unit
    places = ticks(start, end, "linear", most)
    assert 2 <= len(places) <= most
    step = places[1] - places[0]
    gaps = [b - a for a, b in pairwise(places)]
    assert gaps == pytest.approx([step] * len(gaps), rel=1e-9)
    for outside in (places[0] - step, places[-1] + step):
        assert not start - 1e-12 * unit <= outside <= end + 1e-12 * unit
    if places[0] <= 0 <= places[-1] and round(places[0] / step, 6).is_integer():
        assert 0.0 in places  # exactly, so that it is written as 0


@pytest.mark.parametrize("decades", [1.0, 2.0, 3.99, 4.0, 4.01, 9.0, 59.0, 61.0])
@pytest.mark.parametrize("start", [1.0, 1.5, 3.0])
def test_small_ticks_are_the_digits_of_every_decade_or_the_powers_of_ten(
    decades: float, start: float
) -> None:
    low, high = start * 1e-30, start * 10.0 ** (decades - 30)
    found = minor(low, high, "log", [low, high])
    powers = range(-31, 32)
    digits = range(1, 10) if decades <= 4 else [1]
    wanted = [d * 10.0**e for e in powers for d in digits]
    inside = [v for v in wanted if low * (1 - 1e-9) <= v <= high * (1 + 1e-9)]
    assert found == pytest.approx(inside if len(inside) <= 60 or decades <= 4 else [], rel=1e-12)


@given(low=st.floats(-9, 9), decades=st.floats(0.05, 0.95), most=st.integers(2, 9))
def test_a_short_logarithmic_axis_has_round_numbers_and_none_of_its_series_is_left_out(
    low: float, decades: float, most: int
) -> None:
    start, end = 10.0**low, 10.0 ** (low + decades)
    places = ticks(start, end, "log", most)
    round_ones = [ticks(start, end, "linear", most)]
    for factors in ((1, 2, 5), (1, 3), (1,)):
        wanted = [f * 10.0**e for e in range(-11, 12) for f in factors]
        round_ones.append([v for v in wanted if start * (1 - 1e-9) <= v <= end * (1 + 1e-9)])
    assert any(places == pytest.approx(each, rel=1e-9) for each in round_ones)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_limit_that_is_off_a_tick_by_a_rounding_error_has_it(sign: int) -> None:
    low, high = sorted((sign * (0.1 + 0.2), sign * (0.8 - 0.1)))
    assert ticks(low, high, "linear", 5) == sorted(sign * v for v in (0.3, 0.4, 0.5, 0.6, 0.7))

"""The checks of the drivers: one rule for numbers, and one clear line for any wrong argument."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from trials.checks import (
    InvalidParameter,
    check_rng,
    finite_batch,
    flag,
    function_of,
    integer_between,
    interval,
    one_of,
    real_array,
    real_between,
    record_of,
    same_axis,
    shown,
    whole_array,
)

NO_NUMBERS = [
    "a", "1", "1.5", b"1", None, [1.0, 2.0], {}, 1j, np.complex128(1.0), range(3), True, False,
    np.True_, np.array([1.0]), Fraction(1, 2), math.nan, math.inf, -math.inf, np.float32("nan"),
]  # fmt: skip


@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
def test_what_is_no_number_is_refused_as_integer_and_as_real(value):
    """One family, one rule: before, 5.0 was an integer here and not there, and True a real."""
    with pytest.raises(InvalidParameter, match=r"^step=.* must be a finite number >= 0$"):
        real_between("step", value, 0.0)
    with pytest.raises(InvalidParameter, match=r"^k=.* must be an integer >= 0$"):
        integer_between("k", value, 0)


@pytest.mark.parametrize("value", [2, 2.0, np.int8(2), np.uint64(2), np.float32(2.0), np.array(2)])
def test_whole_numbers_are_integers_and_reals_in_any_type(value):
    """JSON, TOML and the command line write 1e6."""
    whole, real = integer_between("k", value, 1, 3), real_between("x", value, 1.0, 3.0)
    assert (whole, type(whole), real, type(real)) == (2, int, 2.0, float)


@pytest.mark.parametrize("value", [-1.0, 0.0, 3.0, 10**400])
def test_numbers_outside_the_interval_are_refused(value):
    with pytest.raises(InvalidParameter, match=r"must be a finite number in \(0, 2\]"):
        real_between("step", value, 0.0, 2.0, open_low=True)


@pytest.mark.parametrize("value", [1.5, 0, 4, 1e30, 10**30, -1])
def test_integers_outside_the_interval_are_refused_with_the_reason(value):
    with pytest.raises(InvalidParameter, match=r"^k=.* must be an integer in \[1, 3\] \(at most m"):
        integer_between("k", value, 1, 3, "at most m")


def test_integers_beyond_a_kernel_are_refused_where_no_limit_is_given():
    assert integer_between("n", 2**63 - 1, 1) == 2**63 - 1
    for value in (2**63, 1e19, 10**400):
        with pytest.raises(InvalidParameter, match=r"in \[1, 2\^63 - 1\] \(the largest of a kern"):
            integer_between("n", value, 1)


def test_minus_zero_has_the_spelling_of_zero():
    assert math.copysign(1.0, real_between("x", -0.0, 0.0)) == 1.0


def test_refused_values_are_shown_on_one_short_line():
    for value in ("x" * 3000, "a\nb" * 50, list(range(10**4)), 10**5000):
        for check in (real_between, integer_between):
            with pytest.raises(InvalidParameter) as caught:
                check("x", value, 0)
            assert len(str(caught.value)) < 130
            assert "\n" not in str(caught.value)

    class Broken:
        def __repr__(self):
            raise RuntimeError

    assert shown(Broken()) == "<Broken>"


def test_intervals_are_written_as_people_write_them():
    assert interval(1, None) == ">= 1"
    assert interval(0.0, math.inf, open_low=True) == "> 0"
    assert interval(0.5, 2.0, open_low=True) == "in (0.5, 2]"
    assert interval(1, 10**15) == "in [1, 10^15]"
    assert interval(0, 2**53) == "in [0, 2^53]"


def test_arrays_that_hold_no_numbers_are_refused_by_name():
    texts, complexes = np.array(["1.5"]), np.array([1.5 + 0j])  # NumPy would make them 1.5
    mixed = np.array([1.0, None, True], dtype=object)
    for value in (
        ["a"], [[1.0], [1.0, 2.0]], [None, {}], [1j], [10**400], texts, complexes, mixed, [True],
    ):  # fmt: skip
        with pytest.raises(InvalidParameter, match=r"^points"):
            finite_batch("points", value, ("m",))


def test_arrays_are_not_copied_without_need():
    points = np.ones((2, 3))
    assert real_array("points", points) is points
    assert whole_array("sizes", np.arange(3)).dtype == np.int64


@pytest.mark.parametrize("value", [[1.5], [math.nan], [math.inf], [-1], [2**60], "ab", [None]])
def test_arrays_of_whole_numbers_hold_nothing_else(value):
    np.testing.assert_array_equal(whole_array("sizes", [1.0, 2.0]), [1, 2])
    with pytest.raises(InvalidParameter, match=r"^sizes"):
        whole_array("sizes", value)


def test_entries_that_are_not_finite_are_named_with_their_place():
    with pytest.raises(InvalidParameter, match=r"points\[1, 0\]=nan must be finite"):
        finite_batch("points", [[1.0], [math.nan]], ("m", "d"))
    with pytest.raises(InvalidParameter, match=r"for a single data set pass array\[None\]"):
        finite_batch("points", [[1.0]], ("B", "m", "d"))


def test_options_flags_records_functions_and_axes_are_named():
    for value in ("x", np.array(["keep", "drop"]), None, 0):
        with pytest.raises(InvalidParameter, match=r"^empty=.* must be one of keep, drop$"):
            one_of("empty", value, ("keep", "drop"))
    for value in (1, "True", None):
        with pytest.raises(InvalidParameter, match=r"^fast=.* must be True or False$"):
            flag("fast", value)
    with pytest.raises(InvalidParameter, match=r"^data=None must be a dict$"):
        record_of("data", None, dict)
    with pytest.raises(InvalidParameter, match=r"^draw=1 must be a function$"):
        function_of("draw", 1)
    with pytest.raises(InvalidParameter, match=r"a=1 must equal b=2"):
        same_axis("a", 1, "b", 2)


@pytest.mark.parametrize("rng", [None, 5, np.random.RandomState(1)])
def test_what_is_no_stream_is_refused(rng):
    with pytest.raises(InvalidParameter, match=r"rng=.* must be a numpy\.random\.Generator"):
        check_rng(rng)

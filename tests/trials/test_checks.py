"""Checks at the doors of the drivers: one clear line, whatever is passed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from trials.checks import (
    InvalidParameter,
    checked_rng,
    finite_batch,
    integer_between,
    one_of,
    real_between,
    same_axis,
)


@pytest.mark.parametrize("value", ["a", "1.5", None, [1.0, 2.0], 1j, object(), 10**400])
def test_what_is_no_number_is_refused_by_name(value):
    with pytest.raises(InvalidParameter, match=r"^step=.* must be a real number$"):
        real_between("step", value, 0.0)


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0, 0.0, 3.0])
def test_numbers_outside_the_interval_are_refused(value):
    with pytest.raises(InvalidParameter, match=r"must be finite, > 0 and <= 2"):
        real_between("step", value, 0.0, 2.0, open_low=True)


def test_numbers_inside_are_returned_as_floats():
    assert real_between("step", np.float32(0.5), 0.0, 0.5) == 0.5
    assert type(real_between("step", 1, 0.0)) is float


@pytest.mark.parametrize("value", [True, 1.0, "1", None, 0, 4, 10**30])
def test_what_is_no_integer_of_the_range_is_refused(value):
    with pytest.raises(InvalidParameter, match=r"^k=.* must be"):
        integer_between("k", value, 1, 3, "at most m")


def test_arrays_that_hold_no_numbers_are_refused_by_name():
    texts, complexes = np.array(["1.5"]), np.array([1.5 + 0j])  # NumPy would make them 1.5
    for value in (["a"], [[1.0], [1.0, 2.0]], [None, {}], [1j], [10**400], texts, complexes):
        with pytest.raises(InvalidParameter, match=r"^points"):
            finite_batch("points", value, ("m",))


def test_entries_that_are_not_finite_are_named_with_their_place():
    with pytest.raises(InvalidParameter, match=r"points\[1, 0\]=nan must be finite"):
        finite_batch("points", [[1.0], [math.nan]], ("m", "d"))
    with pytest.raises(InvalidParameter, match=r"for a single data set pass array\[None\]"):
        finite_batch("points", [[1.0]], ("B", "m", "d"))


def test_choices_and_axes_are_named():
    for value in ("x", np.array(["keep", "drop"])):
        with pytest.raises(InvalidParameter, match=r"must be one of 'keep', 'drop'"):
            one_of("empty", value, ("keep", "drop"))
    with pytest.raises(InvalidParameter, match=r"a=1 must equal b=2"):
        same_axis("a", 1, "b", 2)


@pytest.mark.parametrize("rng", [None, 5, np.random.RandomState(1)])
def test_what_is_no_stream_is_refused(rng):
    with pytest.raises(InvalidParameter, match=r"rng=.* must be a numpy\.random\.Generator"):
        checked_rng(rng)

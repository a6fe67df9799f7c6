"""Boxes: balanced corners, halves that cover, coordinates that invert, simpler points."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trials.checks import InvalidParameter
from verify.decisions.domain import (
    Box,
    Choice,
    Interval,
    IntRange,
    LogInterval,
    as_domain,
    balanced_corners,
)

BOX = Box(
    {
        "x": Interval(-2.0, 3.0),
        "s": LogInterval(1e-3, 7.0),
        "n": IntRange(2, 9),
        "m": IntRange(1, 10**7, log=True),
        "form": Choice(("a", "b", "c")),
        "fixed": Choice((5,)),
    }
)


@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_few_corners_are_all_enumerated(dimension: int) -> None:
    corners = balanced_corners(dimension, 2**dimension, np.random.default_rng(0))
    assert {tuple(c) for c in corners} == set(itertools.product((0.0, 1.0), repeat=dimension))


@pytest.mark.parametrize(("dimension", "n"), [(10, 125), (8, 16), (20, 64), (4, 8)])
def test_every_three_parameters_take_all_ends_equally_often(dimension: int, n: int) -> None:
    """The quick profile's case is 125 of 1,024 corners, of which 64 are taken."""
    corners = balanced_corners(dimension, n, np.random.default_rng(1))
    assert n / 2 < len(corners) <= n
    assert len({tuple(c) for c in corners}) == len(corners)
    for three in itertools.combinations(range(dimension), 3):
        _, counts = np.unique(corners[:, three], axis=0, return_counts=True)
        assert list(counts) == [len(corners) // 8] * 8


def test_many_parameters_and_few_corners_stay_balanced_one_by_one() -> None:
    pairs = balanced_corners(12, 16, np.random.default_rng(2))  # 8 odd words do not do: strength 2
    for two in itertools.combinations(range(12), 2):
        _, counts = np.unique(pairs[:, two], axis=0, return_counts=True)
        assert list(counts) == [4] * 4
    assert (balanced_corners(40, 6, np.random.default_rng(3)).mean(axis=0) == 0.5).all()
    assert len(balanced_corners(3, 0, np.random.default_rng(4))) == 2


def test_other_seeds_draw_other_corners() -> None:
    one, two = (balanced_corners(10, 64, np.random.default_rng(s)) for s in (5, 6))
    assert not np.array_equal(one, two)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.floats(0, 1), min_size=6, max_size=6))
def test_coordinates_take_a_point_back(u: list[float]) -> None:
    point = BOX.decode(u)
    assert BOX.contains(point)
    again = BOX.decode(BOX.coordinates(point))
    assert again["n"] == point["n"]
    assert again["m"] == point["m"]
    assert again["form"] == point["form"]
    assert again["x"] == pytest.approx(point["x"], abs=1e-9)
    assert again["s"] == pytest.approx(point["s"], rel=1e-9)


def test_every_parameter_that_varies_has_two_halves_that_cover_it() -> None:
    parts = BOX.parts()
    assert len(parts) == 10  # five parameters vary
    rng = np.random.default_rng(7)
    for point in BOX.sample(rng, 64):
        for name in ("x", "s", "n", "m", "form"):
            mine = [part for label, part in parts.items() if label.startswith(f"{name} ")]
            assert any(part.contains(point) for part in mine)
    halves = {label for label in parts if label.startswith("n ")}
    assert halves == {"n from 2 to 5", "n from 6 to 9"}
    (low, high) = (parts[label].ranges["form"] for label in parts if label.startswith("form "))
    assert low == Choice(("a",))
    assert high == Choice(("b", "c"))
    assert Box({"n": IntRange(3, 3)}).parts() == {}
    two = Box({"n": IntRange(3, 4, log=True)}).parts()
    assert sorted(two) == ["n from 3 to 3", "n from 4 to 4"]


def test_a_perturbed_point_stays_in_the_box_and_a_small_step_stays_near() -> None:
    rng = np.random.default_rng(8)
    point = BOX.decode([0.5] * 6)
    for _ in range(200):
        assert BOX.contains(BOX.perturb(rng, point, 1.0))
        near = BOX.perturb(rng, point, 1e-3)
        assert abs(near["x"] - point["x"]) < 0.05
        assert near["fixed"] == 5
    moved = [BOX.perturb(rng, point, 0.3) for _ in range(100)]
    for name in ("x", "s", "n", "m", "form"):
        assert any(p[name] != point[name] for p in moved), name


def test_simpler_points_differ_in_one_parameter() -> None:
    point = BOX.decode([0.9, 0.8, 0.7, 0.6, 0.99, 0.0])
    steps = list(BOX.shrink(point))
    assert {"x": 0.0} in [{"x": s["x"]} for s in steps]
    for step in steps:
        assert sum(step[name] != point[name] for name in point) == 1
        assert BOX.contains(step)
    assert not any(s["form"] == "c" for s in steps if s["form"] != point["form"])


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("value", [3, 4, 7, 50, 10**6])
def test_a_smaller_integer_is_tried_at_the_low_end_halfway_and_one_below(
    value: int, log: bool
) -> None:
    """So that a counterexample is reported at the smallest integers near which it fails."""
    box = Box({"n": IntRange(2, 10**6, log=log)})
    tried = [step["n"] for step in box.shrink({"n": value})]
    assert tried[0] == 2
    assert tried[-1] == value - 1
    assert all(a < b for a, b in itertools.pairwise(tried))
    room = [value - each for each in tried]
    assert all(left <= 2 * right + 1 for left, right in itertools.pairwise(room))
    assert list(box.shrink({"n": 2})) == []


def test_fixed_parameters_are_checked_by_name_and_range() -> None:
    fixed = BOX.fix({"n": 3.0, "x": 1})
    assert fixed.ranges["n"] == Choice((3,))
    assert fixed.ranges["x"] == Choice((1.0,))
    assert BOX.names() == ("x", "s", "n", "m", "form", "fixed")
    with pytest.raises(InvalidParameter, match="n=10 must be an integer from 2 to 9"):
        BOX.fix({"n": 10})
    assert as_domain(BOX) is BOX
    assert as_domain(BOX.ranges) == BOX
    assert "form in {a, b, c}" in BOX.describe()


@pytest.mark.parametrize("value", [1.999, 3.5, 8.0000001, 9.5, -3, 10, True + 0.5, "3", None])
def test_only_a_whole_number_of_the_range_fixes_an_integer(value):
    """Neither is it rounded, nor is it cut: the run would try another value than it was given."""
    for log in (False, True):
        box = Box({"n": IntRange(2, 9, log=log)})
        with pytest.raises(InvalidParameter, match="must be an integer from 2 to 9"):
            box.fix({"n": value})
        for whole in (2, 9, 4.0):
            held = box.fix({"n": whole})
            assert held.ranges["n"] == Choice((int(whole),))
            assert held.contains({"n": whole})


def test_a_choice_moves_as_often_as_the_step_is_long():
    """By chance it may draw its own value again: one time in five."""
    box = Box({"c": Choice(tuple("abcde"))})
    rng = np.random.default_rng(1)
    for size in (0.0, 0.1, 0.5, 1.0):
        moved = sum(box.perturb(rng, {"c": "b"}, size)["c"] != "b" for _ in range(2000))
        expected = 2000 * size * 0.8
        assert abs(moved - expected) <= 5 * np.sqrt(expected) + 1e-9  # five standard deviations


@pytest.mark.parametrize("low", [0, -1])
def test_a_logarithmic_range_begins_above_zero(low):
    for part in (LogInterval(float(low), 5.0), IntRange(low, 5, log=True)):
        with pytest.raises(InvalidParameter, match=f"low={low}.* must be positive on a log scale"):
            Box({"n": part}).check()
    Box({"n": IntRange(low, 5), "x": Interval(float(low), 5.0)}).check()


@pytest.mark.parametrize("log", [False, True])
def test_an_integer_has_its_coordinate_away_from_those_of_its_neighbours(log):
    """So a small step in the coordinates, or rounding, leaves it as it is."""
    box = Box({"n": IntRange(2, 40, log=log)})
    for n in range(2, 41):
        (u,) = box.coordinates({"n": n})
        width = (np.log(41 / 2) if log else 39.0) ** -1 * (1 / n if log else 1.0)
        assert 0.0 < u < 1.0
        for step in (-0.3, 0.3):
            assert box.decode([u + step * width]) == {"n": n}


def test_a_real_number_is_tried_at_plain_values_and_then_with_ever_more_digits():
    box = Box({"x": Interval(-1.0, 10.0)})
    tried = [step["x"] for step in box.shrink({"x": 3.14159})]
    assert tried == [0.0, 1.0, 2.0, 0.5, -1.0, 10.0, 3.0, 3.1, 3.14, 3.142, 3.1416]
    assert [s["x"] for s in Box({"x": Interval(3.1, 3.15)}).shrink({"x": 3.14159})] == [
        *(3.1, 3.15),
        *(3.1, 3.14, 3.142, 3.1416),
    ]
    assert [step["x"] for step in box.shrink({"x": 2.0})] == [0.0, 1.0]
    assert list(box.shrink({"x": 0.0})) == []


def test_no_corner_is_in_every_selection():
    """A random shift moves the selection: without it the low corner would be in all of them."""
    lowest = [
        not balanced_corners(10, 64, np.random.default_rng(seed)).any(axis=1).all()
        for seed in range(40)
    ]
    # The low corner is one of 1,024, and 64 are taken: 1 in 16, 2.5 of 40 by chance.  By a
    # binomial tail it is in 14 or more with probability 1e-7.
    assert sum(lowest) < 14


def test_a_parameter_of_one_value_lies_in_the_middle():
    for r in (Interval(2.0, 2.0), LogInterval(2.0, 2.0), IntRange(2, 2), IntRange(2, 2, log=True)):
        box = Box({"x": r})
        assert box.coordinates({"x": 2})[0] == 0.5
        assert box.decode([0.5])["x"] == 2
        assert list(box.parts()) == []


def test_a_choice_is_fixed_at_its_own_values_alone():
    box = Box({"form": Choice(("a", 2), meaning="a form")})
    assert box.fix({"form": "a"}).ranges["form"] == Choice(("a",))
    assert box.fix({"form": 2}).meanings() == {"form": "a form"}
    with pytest.raises(InvalidParameter, match=r"form='b' must be in \{a, 2\}"):
        box.fix({"form": "b"})


WIDEST = {
    "s": LogInterval(1e-300, 1e300),
    "tiny": LogInterval(5e-324, 1.0),
    "x": Interval(-1.6e308, 1.6e308),
}


@pytest.mark.parametrize(
    ("u", "expected"),
    [
        (0.0, (1e-300, -1.6e308)),
        (0.25, (1e-150, -8e307)),
        (0.5, (1.0, 0.0)),
        (1.0, (1e300, 1.6e308)),
    ],
)
def test_a_range_whose_ends_no_float_divides_or_subtracts_is_searched_everywhere(u, expected):
    """Its low end was no number, and every other point its high end."""
    box = Box(WIDEST)
    box.check()
    point = box.decode([u, u, u])
    assert (point["s"], point["x"]) == pytest.approx(expected, rel=1e-12)
    assert math.log(point["tiny"]) == pytest.approx((1 - u) * math.log(5e-324), abs=0.7)
    assert box.contains(point)
    np.testing.assert_allclose(box.coordinates(point)[[0, 2]], u, atol=1e-12)


def test_a_choice_keeps_the_type_of_its_own_values():
    """The command line gives 2.0 for a number of clusters, which no array has as a size."""
    box = Box({"k": Choice((1, 2)), "yes": Choice((False, True))})
    for point in (
        box.fix({"k": 2.0, "yes": 1.0}).decode([0.5, 0.5]),
        box.nearest({"k": 2.0, "yes": 1}),
    ):
        assert [(type(v), v) for v in point.values()] == [(int, 2), (bool, True)]


def test_no_fraction_lies_in_a_range_of_integers():
    box = Box({"n": IntRange(1, 4), "m": IntRange(1, 4, log=True)})
    assert box.contains({"n": 2.0, "m": 3})
    assert not box.contains({"n": 2.5, "m": 3})
    assert not box.contains({"n": 2, "m": 1.5})


def test_integers_that_floats_do_not_tell_apart_are_all_reached():
    """The range from 2^60 to 2^60 + 5 had its low end at every coordinate."""
    low = 2**60
    r = Box({"n": IntRange(low, low + 5)})
    for i in range(6):
        (u,) = r.coordinates({"n": low + i})
        assert u == (i + 0.5) / 6
        assert r.decode([u]) == {"n": low + i}
    for most in (10**15 + 7, 10**18 + 1):
        ends = Box({"n": IntRange(1, most, log=True), "m": IntRange(-most, most)})
        assert ends.decode([1.0, 1.0]) == {"n": most, "m": most}
        assert ends.decode([0.0, 0.0]) == {"n": 1, "m": -most}

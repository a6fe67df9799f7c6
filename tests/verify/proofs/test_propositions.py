"""What a proposition says of the points of a search: its sides, its ranges and their ends."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

from trials.checks import InvalidParameter
from verify.decisions.domain import Choice, Interval, IntRange, LogInterval
from verify.proofs.propositions import Proposition, Reduction, decimal, widens

x, y, n = sp.symbols("x y n")
PLAIN = Proposition(
    ranges={"x": Interval(0.0, 1.0)}, assumptions=(), left=x, relation=r"\le", right=x
)
REDUCED = Reduction(idea="It is so.", ranges={"x": Interval(0.0, 1.0)}, left=x)
#: From much smaller to much larger than 4, a rounding error apart in the middle.
SIDES = (1.0, 4.0 - 1e-3, 4.0 - 1e-7, 4.0 - 1e-11, 4.0, 4.0 + 1e-11, 4.0 + 1e-7, 4.0 + 1e-3, 9.0)


def order(a, b, room):
    """-1, 0 or 1: whether a lies below b, at it but for the room, or above it."""
    return 0 if abs(a - b) <= room else 1 if a > b else -1


KINDS = {
    "formulas": PLAIN,
    "argument": replace(PLAIN, by="By a lemma."),
    "reduced": replace(PLAIN, by="It is so.", reduction=REDUCED),
    "reduced, harder right": replace(PLAIN, by="It is so.", reduction=replace(REDUCED, right=y)),
}


@pytest.mark.parametrize("relation", [r"\le", r"\ge", "="])
@pytest.mark.parametrize("kind", KINDS)
def test_a_proof_covers_a_point_where_its_sides_are_those_of_the_search_or_worse(kind, relation):
    """Worse: a left side that is farther from holding, and a right side that is harder to meet.

    Sides that may be worse need an argument.  Those of arrays round more than formulas.
    """
    proposition = replace(KINDS[kind], relation=relation)
    side = {r"\le": 1, r"\ge": -1, "=": 0}[relation]
    for left, right in itertools.product(SIDES, SIDES):
        large = max(left, right, 4.0)
        data = 1e-6 * max(left, 4.0) if kind.startswith("reduced") else 1e-9 * large
        apart = order(left, 4.0, max(data, 1e-9 * large) if not side else data)
        near = apart == 0 or (kind != "formulas" and side != 0 and apart == side)
        further = order(right, 4.0, 1e-9 * large)
        met = further == 0 or (kind == "reduced, harder right" and side and further == -side)
        assert proposition.covers((left, right), (4.0, 4.0)) is bool(near and met), (left, right)


@pytest.mark.parametrize("relation", [r"\le", r"\ge", "="])
@pytest.mark.parametrize("kind", KINDS)
def test_an_infinite_side_leaves_the_others_no_room(kind, relation):
    """Two infinite sides are equal, and rounding was a share of the largest side: of infinity."""
    proposition = replace(KINDS[kind], relation=relation)
    side = {r"\le": 1, r"\ge": -1, "=": 0}[relation]
    values = (-math.inf, -4.0, 4.0, math.inf)
    for left, right, observed, bound in itertools.product(values, repeat=4):
        near = left == observed or (kind != "formulas" and side * left > side * observed)
        harder = kind == "reduced, harder right" and side * right < side * bound
        covered = near and (harder or right == bound)
        found = proposition.covers((left, right), (observed, bound))
        assert bool(found) is covered, (left, right, observed, bound)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_room_for_rounding_is_relative_to_the_largest_side(sign):
    assert PLAIN.covers((sign * 4e9 + 1.0, 0.0), (sign * 4e9, 0.0))
    assert PLAIN.covers((0.0, 1.0), (0.0, 1.0 + 0.9e-9))
    assert PLAIN.covers((sign * 4e9, 1.0), (sign * 4e9, 0.0))
    assert not PLAIN.covers((1.0 + 1.1e-8, 0.0), (1.0, 0.0))
    assert PLAIN.covers((-1.0, 0.0), (sign * 4e9 - sign * 4e9 - 1.0 - 0.9e-9, 0.0))
    equal = replace(PLAIN, relation="=", by="It is so.", reduction=REDUCED)
    assert equal.covers((1.0 + 3e-3, 4e9), (1.0, 4e9))  # beside a right side of 4e9


RANGES = [
    (Interval(0.0, 1.0), (0.0, 0.5, 1.0, -1e-10, 1.0 + 1e-10), (-0.1, 1.1)),
    (Interval(-3.0, math.inf), (-3.0, 1e300), (-3.1,)),
    (LogInterval(0.0, math.inf), (1e-12, 1e12), (0.0, -1e-12)),
    (LogInterval(1e-3, 1e3), (1e-3, 1.0, 1e3), (0.0, 0.9e-3, 1001.0)),
    (IntRange(2, 9), (2, 9), (1, 10)),
    (Choice((1.0, 4.0)), (1.0, 4.0), (0.9, 4.1)),
]


@pytest.mark.parametrize(("wide", "inside", "outside"), RANGES, ids=lambda each: str(each)[:30])
@pytest.mark.parametrize("other", [0.0, 5.0])
def test_a_point_out_of_one_range_is_missed_and_narrower(wide, inside, outside, other):
    ranges = {"x": wide, "y": Interval(0.0, 1.0)}
    for proposition in (
        replace(PLAIN, ranges=ranges),
        replace(PLAIN, ranges=ranges, reduction=replace(REDUCED, ranges=ranges)),
    ):
        for value in (*inside, *outside):
            out = value in outside or other > 1
            at = {"x": value, "y": other}
            assert proposition.is_narrower(at, {}) is out
            missed = proposition.missed(at)
            assert bool(missed) is (out and proposition.reduction is not None)
            if missed:
                name = "x" if value in outside else "y"
                assert missed == f"{name}={float(at[name]):.6g} is out of its range"
        assert not proposition.is_narrower({"z": 99.0}, {})
        assert not proposition.is_narrower({"x": "a word"}, {})


def test_a_quantity_with_the_name_of_a_coordinate_has_its_own_value():
    reduction = replace(REDUCED, quantities=lambda point: {"x": point["x"] / 10})
    proposition = replace(PLAIN, reduction=reduction)
    assert not proposition.is_narrower({"x": 9.0}, {})
    assert proposition.is_narrower({"x": 11.0}, {})
    both = replace(proposition, ranges={"x": Interval(0.0, 1.0), "n": Interval(0.0, 1.0)})
    assert both.is_narrower({"x": 9.0, "n": 2.0}, {})  # one of two is enough
    of = replace(proposition, reduction=replace(reduction, of=lambda point: point["x"] > 20))
    assert not of.is_narrower({"x": 11.0}, {})  # it does not speak of the point
    assert of.at({"x": 11.0}, {}) is None
    assert of.at({"x": 30.0}, {"y": 2.0}) == {"x": 3.0, "y": 2.0}


def test_relations_of_quantities_are_missed_by_more_than_rounding():
    reduced = replace(PLAIN, reduction=REDUCED, assumptions=((x, y, False),))
    for a, b in (
        (2.0, 1.0),
        (1.0, 1.0),
        (-1.0, -1.0 - 1e-12),
        (-1.0 - 1e-12, -1.0),
        (1.0, 1.0 + 1e-12),
        (-5.0, -6.0),
    ):
        assert replace(reduced, ranges={}).missed({"x": a, "y": b}) == ""
    for a, b in ((1.0, 1.001), (-1.001, -1.0), (0.0, 1e-6), (-6.0, -5.0)):
        assert replace(reduced, ranges={}).missed({"x": a, "y": b}).startswith("x >= y is")
    assert replace(PLAIN, assumptions=((x, y, False),)).missed({"x": 0.0, "y": 9.0}) == ""


@pytest.mark.parametrize(
    ("wide", "ends", "only_search"),
    [
        (Interval(0.0, 1.0), [">= x 0", ">= 1 x"], []),
        (Interval(-2.0, 7.0), [">= x -2", ">= 7 x"], [">= x -2", ">= 7 x"]),
        (Interval(0.0, math.inf), [">= x 0"], []),
        (Interval(0.5, 1.0), ["> x 0", ">= x 1/2", ">= 1 x"], [">= x 1/2"]),
        (LogInterval(0.0, math.inf), ["> x 0"], []),
        (LogInterval(1.0, 1e6), ["> x 0", ">= x 1", ">= 1000000 x"], [">= 1000000 x"]),
        (LogInterval(1e-3, 1.0), ["> x 0", ">= x 1/1000", ">= 1 x"], [">= x 1/1000", ">= 1 x"]),
        (IntRange(2, 9), ["> x 0", ">= x 2", ">= 9 x"], [">= 9 x"]),
        (IntRange(0, 9), [">= x 0", ">= 9 x"], [">= 9 x"]),
        (Choice((3.0, 8.0)), ["> x 0", ">= x 3", ">= 8 x"], [">= x 3", ">= 8 x"]),
    ],
    ids=str,
)
def test_the_ends_of_a_range_are_given_and_those_of_the_search_alone_may_go(
    wide, ends, only_search
):
    proposition = replace(PLAIN, ranges={"x": wide})
    statement = proposition.statement()
    assert [" ".join(each) for each in statement["given"]] == ends
    assert [" ".join(each) for each in proposition.optional(statement)] == only_search
    assert replace(proposition, declared=True).optional(statement) == []
    stated = replace(proposition, assumptions=((sp.Integer(7), x, False),))
    left = [" ".join(each) for each in stated.optional(statement)]
    assert left == [each for each in only_search if each != ">= 7 x"]
    fewer = [each for each in statement["given"] if each not in proposition.optional(statement)]
    wide_form = {**statement, "given": fewer}
    assert widens(wide_form, statement)
    assert widens(statement, wide_form) is (len(fewer) == len(statement["given"]))
    assert not widens({**wide_form, "claim": ["=", "x", "x"]}, statement)


@pytest.mark.parametrize(("left", "right"), [(-3.0, 0.0), (0.5, 2.0)])
def test_sides_that_are_logarithms_are_shown_as_what_they_are_of(left, right):
    proposition = replace(PLAIN, left=x, right=y, ranges={})
    at = {"x": left, "y": right}
    assert proposition.sides(at) == (left, right)
    logs = replace(proposition, logs=True)
    assert logs.sides(at) == pytest.approx((math.exp(left), math.exp(right)))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float64(0.1), "1/10"),
        (np.int64(3), "3"),
        (True, "1"),
        (Fraction(1, 3), "1/3"),
        (sp.Rational(2, 3), "2/3"),
        (10**30 + 1, str(10**30 + 1)),
    ],
)
def test_ends_of_all_kinds_of_numbers_are_read(value, text):
    """The text of a number of NumPy is no number."""
    assert decimal(value) == text
    given = replace(PLAIN, ranges={"x": Choice((value,))}).statement()["given"]
    assert [">=", "x", text] in given
    assert [">=", text, "x"] in given


def test_a_relation_of_no_numbers_and_a_choice_of_no_numbers_are_told():
    with pytest.raises(InvalidParameter, match="is no relation between numbers"):
        replace(PLAIN, relation=r"\propto").statement()
    for values in (("a", 1), (None,), ((1, 2),)):
        with pytest.raises(InvalidParameter, match="x must be a number"):
            replace(PLAIN, ranges={"x": Choice(values)}).statement()

"""The step ``boxes`` of the checker: enclosures in a box against exact values at its points."""

import itertools
import math
from contextvars import copy_context
from fractions import Fraction

import flint
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verify.proofs import prover
from verify.proofs.checker import Goal, Rejected, check, goal_of, holds, slope, smooth
from verify.proofs.terms import enclose

NUMBERS = st.sampled_from(["0", "1", "-1", "1/2", "-3/2", "2"])
TERMS = st.recursive(
    st.sampled_from(["x", "y"]) | NUMBERS,
    lambda inner: (
        st.lists(inner, min_size=2, max_size=3).flatmap(
            lambda parts: st.sampled_from([["+", *parts], ["*", *parts]])
        )
        | inner.map(lambda base: ["^", base, "2"])
        | st.tuples(st.sampled_from(["max", "min"]), inner, inner).map(list)
    ),
    max_leaves=7,
)
ENDS = st.sampled_from([Fraction(n, 2) for n in range(-4, 5)])
SIDES = st.tuples(ENDS, ENDS).map(sorted).map(tuple)
FACTS = st.lists(st.tuples(st.sampled_from([">=", ">", "="]), TERMS), max_size=2)


def exact(term, at):
    """The value of a term in fractions."""
    if isinstance(term, str):
        return at[term] if term in at else Fraction(term)
    op, *parts = term
    if op == "^":
        return exact(parts[0], at) ** int(parts[1])
    values = [exact(part, at) for part in parts]
    return {"+": sum, "*": math.prod, "max": max, "min": min}[op](values)


def is_met(relation, value):
    return {">=": value >= 0, ">": value > 0, "=": value == 0}[relation]


def points(box, parts=4):
    """Points of a box, its corners and its middle among them."""
    lines = [[low + (high - low) * Fraction(i, parts) for i in range(parts + 1)]
             for low, high in box.values()]  # fmt: skip
    return [dict(zip(box, at, strict=True)) for at in itertools.product(*lines)]


def decided(goal, box):
    slopes = {x: slope(goal.claim[1], x) for x in box} if smooth(goal.claim[1]) else {}
    before, flint.ctx.prec = flint.ctx.prec, 128
    try:
        return holds(goal, box, slopes)
    finally:
        flint.ctx.prec = before


@settings(max_examples=150, deadline=None)
@given(FACTS, st.sampled_from([">=", ">"]), TERMS, SIDES, SIDES)
def test_what_enclosures_show_in_a_box_is_true_at_each_of_its_points(facts, relation, term, x, y):
    goal = Goal(("x", "y"), tuple(facts), (relation, term))
    box = {"x": x, "y": y}
    shown = decided(goal, box)
    for at in points(box):
        true = is_met(relation, exact(term, at))
        given_ = all(is_met(each, exact(fact, at)) for each, fact in facts)
        assert true or not given_ or not shown


@settings(max_examples=100, deadline=None)
@given(FACTS, st.sampled_from([">=", ">"]), TERMS, ENDS, ENDS)
def test_at_one_point_enclosures_show_what_is_true_and_what_is_given_to_fail(
    facts, relation, term, x, y
):
    """Numbers of so few digits are exact in balls, so that nothing stays undecided."""
    goal = Goal(("x", "y"), tuple(facts), (relation, term))
    at = {"x": x, "y": y}
    void = any(exact(fact, at) < 0 for _, fact in facts)
    assert decided(goal, {"x": (x, x), "y": (y, y)}) is (void or is_met(relation, exact(term, at)))


UNIT = [[">=", "x", "0"], [">=", "1", "x"]]
PARABOLA = ["+", ["^", "x", "2"], ["*", "-1", "x"], "1/4"]  # (x - 1/2)^2


@pytest.mark.parametrize(
    ("claim", "splits", "order", "proves"),
    [
        (["x", "-1/2"], ".", "x", True),
        (["x", "1/2"], ".", "x", False),
        ([PARABOLA, "-3/10"], "0..", "x", True),
        ([PARABOLA, "-3/10"], "0...", "x", False),  # the splits go on
        ([PARABOLA, "-3/10"], "0.", "x", False),  # a half is missing
        ([PARABOLA, "-3/10"], "", "x", False),
        ([PARABOLA, "-3/10"], "1..", "x", False),  # no such variable
        (["x", "-1/2"], ".", "", False),  # its variable has no limits
        (["x", "-1/2"], ".", "z", False),
        ([PARABOLA, "-3/10"], ".", "x", False),  # the whole is too wide
        (["1", "0"], ".", "", True),
        (["0", "1"], ".", "", False),
    ],
)
def test_a_cover_proves_where_it_is_whole_and_each_box_is_shown(claim, splits, order, proves):
    statement = {"variables": ["x"], "given": UNIT, "claim": [">=", *claim]}
    step = {"step": "boxes", "splits": splits, "order": list(order)}
    if proves:
        check(statement, step)
    else:
        with pytest.raises(Rejected):
            check(statement, step)


@pytest.mark.parametrize("given_", [[], UNIT[:1], UNIT[1:]])
def test_a_variable_without_two_limits_has_no_box(given_):
    statement = {"variables": ["x"], "given": given_, "claim": [">=", ["^", "x", "2"], "-1"]}
    with pytest.raises(Rejected):
        check(statement, {"step": "boxes", "splits": ".", "order": ["x"]})


@pytest.mark.parametrize(
    ("claim", "found"),
    [
        (["1", "0"], True),
        (["0", "1"], False),  # no variable to split, and no proof
        (["x", "-1/2"], True),
        (["x", "1/2"], False),
        ([PARABOLA, "-3/10"], True),
        ([PARABOLA, "1/10"], False),
        (["z", "-1"], False),  # without limits
    ],
)
def test_the_search_for_a_cover_ends_with_one_that_the_checker_takes_or_with_a_rejection(
    claim, found
):
    statement = {"variables": ["x", "z"], "given": UNIT, "claim": [">=", *claim]}

    def searched():
        prover._LEFT.set(100)
        prover._END.set(math.inf)
        return prover.by_boxes(goal_of(statement))

    if found:
        check(statement, copy_context().run(searched))
    else:
        with pytest.raises(prover.ERRORS):  # a tactic that fails, by any of these
            copy_context().run(searched)


LOGARITHMS_OF = st.one_of(
    st.fractions(Fraction(1, 10**9), 10**9, max_denominator=10**9),
    st.sampled_from([Fraction(1), Fraction(2), Fraction(1, 2), Fraction(10**6 + 1, 10**6)]),
)


@settings(deadline=None, max_examples=60)
@given(LOGARITHMS_OF)
def test_limits_of_the_logarithm_of_a_number_hold_and_are_close(value):
    """Also of negative ones: a limit that is false cannot be proved, and so proves nothing."""
    limits = prover._lemmas(["log", str(value)])
    assert [(step["step"], step["relation"]) for step in limits] == [("cut", ">")] * 2
    below, above = (enclose(step["term"]) for step in limits)
    assert below > 0
    assert above > 0
    assert abs(float((below + above).mid()) - 0.004) < 1e-12  # apart by that much at each value


@pytest.mark.parametrize("argument", ["x", ["*", "2", "x"], ["+", "x", ["^", "y", "2"]]])
def test_other_logarithms_have_a_limit_by_what_they_are_of_and_by_its_inverse(argument):
    """log t is at most t - 1, and so at least 1 - 1/t.  For exponentials exp t >= 1 + t is all."""
    says = [(step["says"], step["of"]) for step in prover._lemmas(["log", argument])]
    assert says == [("log", argument), ("log", ["^", argument, "-1"])]
    assert prover._lemmas(["exp", argument]) == [{"step": "lemma", "says": "exp", "of": argument}]

"""Changes of meaning: which are made, and how two formulas compare, with answers by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

from bounds.statement import Assumption, Constant, Term, evaluate
from tests.verify.mutation.test_mutants import constant, statement
from verify.mutation.meaning import (
    _counts,
    change_conditions,
    change_meaning,
    changes_of,
    compare,
    find_roles,
    largest_of,
    same_at_zero,
)
from verify.mutation.mutants import with_term

m, n, d, k, p, c_2 = sp.symbols("m n d k p c_2")

#: d below k and above it, shares that are not 1/k.
POINTS = [
    {"m": 10, "n": 40, "d": 3, "k": 5, "p": 0.1, "err": 0.3},
    {"m": 90, "n": 20, "d": 30, "k": 2, "p": 0.3, "err": 1.7},
]


def bound(expr: sp.Expr, **changes: object):
    terms = (Term(name="bound", expr=expr),)
    return statement(terms=terms, failure=None, constants=(), **changes)


def names(expr: sp.Expr) -> dict[str, sp.Expr]:
    return dict(changes_of(bound(expr), expr, find_roles(POINTS)))


def test_a_symbol_becomes_every_other_one_of_its_range_and_no_other() -> None:
    made = names(sp.sqrt(d / (m * p)))
    assert made["k for d"] == sp.sqrt(k / (m * p))
    assert made["m for d"] == sp.sqrt(1 / p)
    assert "d for m" not in made  # the same formula as the line above
    assert made["1/k for p"] == sp.sqrt(d * k / m)
    assert made["d dropped"] == sp.sqrt(1 / (m * p))
    assert "p for d" not in made
    assert "err for p" not in made


def test_symbols_that_are_nowhere_positive_or_not_known_stay() -> None:
    assert find_roles([{"a": 0, "b": 2, "c": -1.0, "s": "simplex", "flag": True}]) == {"b": "count"}
    assert find_roles([{"a": np.array([0.1, 0.9])}, {"a": 1.0}]) == {"a": "share"}
    assert find_roles([{"a": np.inf}, {"b": np.nan}]) == {}


@pytest.mark.parametrize("where", [0, 1])
@pytest.mark.parametrize(
    ("value", "varies"),
    [
        (1, False),
        (2, True),
        (np.ones(3), False),
        (np.array([1, 1, 4]), True),
        (np.full(2, 5), True),
    ],
)
def test_a_count_that_is_one_everywhere_is_no_factor(where, value, varies) -> None:
    """One value of many that is not one is enough, at any point.  A name that is neither the
    statement's nor common is no count of it.
    """
    points = [{"m": 1, "n": 1, "k": 1, "own": 1, "other": 1, "err": 0.5} for _ in range(2)]
    for name in ("m", "own", "other"):
        points[where][name] = value
    stated = bound(sp.Symbol("own") * n * p)
    found = _counts(stated, find_roles(points), points)
    assert found == ({"m": m, "own": sp.Symbol("own")} if varies else {})


def test_a_number_of_clusters_becomes_two_and_a_logarithm_a_root() -> None:
    made = names((k - 1) * sp.log(m))
    assert made["for k = 2 only"] == sp.log(m)
    assert made["log(m) dropped"] == k - 1
    assert made["sqrt for log(m)"] == (k - 1) * sp.sqrt(m)
    assert names(1 / sp.sqrt(n))["log for sqrt(n)"] == 1 / sp.log(1 + n)


def test_a_sum_becomes_its_largest_term() -> None:
    made = names(sp.sqrt(d + m))
    (name,) = [name for name in made if name.startswith("the largest of")]
    at = {"d": 3.0, "m": 10.0}
    assert evaluate(made[name], at) == pytest.approx(np.sqrt(10.0))
    (largest,) = [x for x in change_meaning(statement(), POINTS) if "their sum" in x.name]
    values = {**POINTS[0], "c_2": 1.0, "c_3": 1.0}
    terms = [0.15, 10 * np.sqrt(3 / 400), np.exp(-40.0)]
    assert largest.statement.bound(values) == pytest.approx(max(terms))


@pytest.mark.parametrize("parts", [(1.0, 2.0, 3.0), (3.0, 1.0, 2.0), (2.0, 3.0, 1.0)])
def test_the_largest_of_three_numbers(parts: tuple[float, ...]) -> None:
    assert float(largest_of([sp.Float(x) for x in parts])) == 3.0


def test_the_failure_probability_is_changed_as_well() -> None:
    made = {x.name: x for x in change_meaning(statement(failure=k / m), POINTS)}
    assert made["failure probability: k dropped"].statement.failure == 1 / m
    assert made["failure probability: for k = 2 only"].statement.failure == 2 / m


def test_no_change_is_made_twice_and_none_is_the_original() -> None:
    original = statement()
    made = change_meaning(original, POINTS)
    seen = {(tuple(x.statement.terms), x.statement.failure, x.statement.assumptions) for x in made}
    assert len(seen) == len(made)
    assert (tuple(original.terms), original.failure, original.assumptions) not in seen


def test_formulas_are_compared_at_the_points() -> None:
    below = [POINTS[0]]  # d < k
    assert compare(bound(sp.sqrt(d)), bound(sp.sqrt(k)), below) == "weaker"
    assert compare(bound(sp.sqrt(k)), bound(sp.sqrt(d)), below) == "stronger"
    assert compare(bound(sp.sqrt(d)), bound(sp.sqrt(k)), POINTS) == "stronger"  # at the second
    assert compare(bound(sp.sqrt(d)), bound(d / sp.sqrt(d)), POINTS) == "same"
    at_least = {"relation": r"\ge"}
    assert compare(bound(sp.sqrt(d), **at_least), bound(sp.sqrt(k), **at_least), below) == (
        "stronger"
    )
    assert compare(bound(d), bound(sp.Symbol("q")), POINTS) == "unknown"


def test_an_equation_follows_from_no_other_one() -> None:
    law = {"relation": "="}
    assert compare(bound(d, **law), bound(2 * d, **law), POINTS) == "stronger"
    assert compare(bound(d, **law), bound(d / 2, **law), POINTS) == "stronger"
    assert compare(bound(d, **law), bound(1 * d, **law), POINTS) == "same"


def test_a_smaller_failure_probability_asks_for_more_and_one_above_1_does_not() -> None:
    original = statement(failure=k / m)
    assert compare(original, replace(original, failure=1 / m), POINTS) == "stronger"
    assert compare(original, replace(original, failure=2 * k / m), POINTS) == "weaker"
    always = statement(failure=10 * m)
    assert compare(always, replace(always, failure=5 * m), POINTS) == "same"


def test_constants_that_a_point_does_not_give_take_one_value_on_both_sides() -> None:
    terms = (Term(name="floor", expr=c_2 * sp.sqrt(d)),)
    original = statement(terms=terms, constants=(constant(c_2),), failure=None)
    changed = replace(original, terms=(Term(name="floor", expr=c_2 * sp.sqrt(k)),))
    assert compare(original, changed, POINTS[:1]) == "weaker"


def test_a_constant_that_is_shown_to_be_zero_makes_every_change_of_its_term_true():
    kept, gone = sp.symbols("c_1 c_2")
    constants = tuple(
        Constant(symbol=c, low=0.0, high=1e3, generous="high", meaning="") for c in (kept, gone)
    )
    stated = statement(
        terms=(Term(name="first", expr=kept * d), Term(name="second", expr=gone / m)),
        failure=None,
        constants=constants,
        assumptions=(),
    )
    zero = [{"c_1": 2.0, "c_2": 0.0, "d": 3.0, "m": 5.0}]
    changed = with_term(stated, "second", gone / d)
    assert same_at_zero(stated, changed, zero) == "c_2"
    assert not same_at_zero(stated, changed, [])
    assert not same_at_zero(stated, changed, [{**zero[0], "c_2": 0.1}])
    assert not same_at_zero(stated, with_term(stated, "first", kept * m), zero)
    assert not same_at_zero(stated, replace(changed, failure=1 / m), zero)


def test_both_sides_of_a_condition_change_and_it_is_dropped_first():
    many = Assumption(name="many", left=m, right=d, constant=sp.Symbol("C"))
    made = change_conditions(bound(d, assumptions=(many,)), POINTS)
    assert made[0].name == "condition many: dropped"
    sides = {x.name: x.statement.assumptions[0] for x in made[1:]}
    assert sides["condition many: n for m"].left == n
    assert sides["condition many: k for d"].right == k
    assert sides["condition many: d dropped"].right == 1
    assert {x.kind for x in made} == {"assumption"}
    assert all(x.statement.terms == made[0].statement.terms for x in made)


def test_a_change_of_both_sides_of_a_condition_has_two_names():
    """At least m k for k d: one k on the left is the opposite of one on the right."""
    (both,) = [Assumption(name="both", left=m * k, right=k * d)]
    made = change_conditions(bound(d, assumptions=(both,)), POINTS)
    sides = {x.name: x.statement.assumptions[0] for x in made}
    assert len(sides) == len(made)
    for change, left, right in (
        ("k dropped", m, k * d),
        ("k dropped on the right", m * k, d),
        ("for k = 2 only", 2 * m, k * d),
        ("for k = 2 only on the right", m * k, 2 * d),
        ("n for k", m * n, k * d),
        ("m dropped", k, k * d),
        ("d dropped", m * k, k),
    ):
        found = sides[f"condition both: {change}"]
        assert (found.left, found.right) == (left, right)


def test_a_bound_that_is_infinite_before_or_after_compares_as_any_other():
    """A gap without end was within a part 1e-9 of itself, so that both were the same."""
    at = [{**POINTS[0], "m": 1000.0}]  # exp(1000) leaves the floats
    assert compare(bound(sp.exp(m)), bound(m), at) == "stronger"
    assert compare(bound(m), bound(sp.exp(m)), at) == "weaker"
    assert compare(bound(sp.exp(m)), bound(sp.exp(2 * m)), at) == "same"
    assert compare(bound(-sp.exp(m)), bound(-m), at) == "weaker"

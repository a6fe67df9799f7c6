"""Fingerprints: two statements have one where no trial could tell them apart, and only there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

from bounds.statement import Printed
from tests.verify.procedures.test_mean_bound import claim as of_mean
from tests.verify.procedures.test_probability import claim as of_probability
from tests.verify.procedures.test_rate import contraction, power_law
from tests.verify.procedures.test_reproduction import claim as of_numbers
from tests.verify.procedures.test_sup_lower_bound import claim as of_supremum
from tests.verify.procedures.test_vacuity import claim as of_vacuity
from tests.verify.procedures.test_vacuity import stated as of_samples
from verify.decisions.domain import Interval
from verify.procedures.search import Search

HALF = sp.Rational(1, 2)
D = sp.Symbol("d")


def rarer(build):
    """The same statement about another event."""
    return replace(build, bad=lambda table, _cell: table["bad"] > 1.0)


def settled(build, **at):
    """The same reproduction with other printed numbers."""
    printed = tuple(replace(p, **at) for p in build.statement.printed)
    return replace(build, statement=replace(build.statement, printed=printed))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (of_mean(0.6), of_mean(0.5)),
        (of_mean(0.6), of_mean(0.6, r"\ge")),
        (of_probability(0.1, 0.2), of_probability(0.1, 0.2, delta=0.3)),
        (of_probability(0.1, 0.2), of_probability(0.1, 0.3)),
        (of_probability(0.1), rarer(of_probability(0.1))),
        (power_law(-0.5), power_law(-0.25)),
        (contraction(0.5), contraction(0.25)),
        (of_supremum(HALF), of_supremum(2 * HALF)),
        (of_supremum(HALF, 0.1), of_supremum(HALF, 0.2)),
        (of_numbers(0.5, 1.0), of_numbers(0.5, 1.1)),
        (of_numbers(0.5, 1.0), of_numbers(0.5, 1.0, tolerance=0.04)),
        (of_numbers(0.5), settled(of_numbers(0.5), at={"scale": 3.0})),
        (of_vacuity(of_samples(100 * D)), of_vacuity(of_samples(99 * D))),
    ],
)  # fmt: skip
def test_statements_that_differ_in_one_part_have_two_fingerprints(one, other):
    assert repr(one.fingerprint()) != repr(other.fingerprint())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (of_mean(0.6), of_mean("0.60", max_trials=64)),
        (of_probability(0.1), of_probability(0.1, max_trials=256)),
        (power_law(-0.5), replace(power_law(-0.5), margin=0.2)),
        (of_supremum(HALF), of_supremum(sp.Rational(2, 4))),
        (of_vacuity(of_samples(2 * D)), of_vacuity(of_samples(D + D))),
        (of_numbers(0.5), settled(of_numbers(0.5), se=0.0)),
    ],
)
def test_statements_that_say_the_same_have_one(one, other):
    assert repr(one.fingerprint()) == repr(other.fingerprint())


def test_a_printed_number_is_its_place_its_value_and_its_tolerance():
    (mark,) = of_numbers(0.5, tolerance=0.04).fingerprint()
    assert mark == ({"scale": 1.0}, 0.5, 0.04)
    assert settled(of_numbers(0.5), at={}).printed == [Printed(at={}, value=0.5, tolerance=0.03)]


def test_the_fingerprint_of_a_search_at_points_is_the_violation_there():
    """At no point it is that of random ones."""
    search = Search(
        name="toy.search",
        violation=lambda point: point["x"] - 2.0,
        domain={"x": Interval(0.0, 1.0)},
        budget=64,
        sides=lambda point: (point["x"], 2.0),
        unit="x",
    )
    assert search.fingerprint_at([{"x": 0.25}, {"x": 1.0}]) == [-1.75, -1.0]
    found = search.fingerprint_at([])
    assert found == search.fingerprint()
    assert len(found) == 20
    assert np.all((np.array(found) >= -2.0) & (np.array(found) <= -1.0))

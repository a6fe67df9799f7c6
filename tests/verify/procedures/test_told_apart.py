"""Symbols that trials tell apart, with answers by hand."""

import numpy as np
import sympy as sp

from bounds.statement import Term
from tests.verify.mutation.test_mutants import statement
from verify.evidence import Apart, Evidence, Slack, Verdict
from verify.procedures.told_apart import Seen, exchanged, told_apart

m, d, k, sigma = sp.symbols("m d k sigma")
#: d is twice k, and then k is twice d.
PLACES = ({"m": 10.0, "d": 4.0, "k": 2.0}, {"m": 90.0, "d": 2.0, "k": 4.0})


def seen(share, failure=0.1):
    """Cells whose values are all a share of d/m."""
    return [Seen(v, np.full(20, share * v["d"] / v["m"]), failure) for v in PLACES]


def test_a_sharp_bound_tells_all_and_a_loose_one_nothing():
    letters = ["k", "m"]
    assert exchanged(d / m, ["d"], letters, seen(0.9)) == (
        Apart(symbol="d", told=("1", "k"), not_told=()),
    )
    assert exchanged(d / m, ["d"], letters, seen(0.01)) == (
        Apart(symbol="d", told=(), not_told=("1", "k")),
    )


def test_as_many_trials_as_allowed_may_exceed_a_bound():
    values = np.full(20, 0.0)
    values[:2] = 1e9
    cells = [Seen(PLACES[0], values, 0.1)]
    (apart,) = exchanged(d / m, ["d"], ["k"], cells)
    assert apart.told == ()
    (apart,) = exchanged(d / m, ["d"], ["k"], [Seen(PLACES[0], values, 0.09)])
    assert apart.told == ("1", "k")


def test_a_value_that_is_no_number_breaks_every_bound():
    cells = [Seen(PLACES[0], np.full(20, np.nan), 0.1)]
    assert exchanged(d / m, ["d"], ["k"], cells)[0].told == ("1", "k")


def test_an_exchange_that_asks_for_less_is_left_out():
    (apart,) = exchanged(d / m, ["d"], ["m"], seen(0.9))
    assert apart == Apart(symbol="d", told=("1",), not_told=())


def test_constants_are_not_exchanged_and_take_no_place():
    terms = (Term(name="bound", expr=sp.Symbol("c_2") * d / m),)
    stated = statement(terms=terms, failure=None)
    cells = [Seen({**v, "c_2": 1.0}, np.full(9, 0.9 * v["d"] / v["m"]), 0.0) for v in PLACES]
    found = {a.symbol: a for a in told_apart(stated, cells)}
    assert set(found) == {"d", "m"}
    assert "c_2" not in found["d"].told + found["d"].not_told


def evidence(least, **fields):
    slack = (Slack(constants="these constants", least=least, median=least, most=least),)
    fields = {"verdict": Verdict.SUPPORTED, **fields}
    return Evidence(summary="", level=0.01, n_trials=1, slack=slack, **fields)


def test_a_verdict_that_nothing_could_have_broken_says_so():
    unseen = (Apart(symbol="k", told=(), not_told=("d", "m")),)
    assert evidence(600.0, apart=unseen).spare == (
        "the bound is 6e+02 times the observed quantile at least: the trials do not tell k from d"
    )
    assert evidence(29.0, apart=unseen).spare == ""
    assert evidence(600.0, verdict=Verdict.REFUTED).spare == ""

"""Symbols that trials tell apart, with answers by hand."""

import math
from dataclasses import replace

import numpy as np
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

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
    # sharp in one cell, however far above in the others
    slack = (Slack(constants="these constants", least=2.0, median=600.0, most=9e3),)
    assert replace(evidence(600.0, apart=unseen), slack=slack).spare == ""
    assert evidence(600.0, verdict=Verdict.REFUTED).spare == ""


LETTERS = ("d", "k", "m", "sigma")
SIZES = st.sampled_from([0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 8.0])
TRIALS = 3
cells = st.lists(
    st.tuples(
        st.fixed_dictionaries(
            {name: SIZES | st.lists(SIZES, min_size=TRIALS, max_size=TRIALS) for name in LETTERS}
            | {"k": SIZES | st.just(0.0)}
            | {"law": st.sampled_from(["heavy", 2.0, math.inf])}
        ),
        st.lists(st.sampled_from([0.0, 0.3, 1.0, 5.0, math.nan]), min_size=TRIALS, max_size=TRIALS),
        st.sampled_from([0.0, 1 / 3, 0.5]),
    ),
    min_size=1, max_size=3,
)  # fmt: skip


def kind(values):
    """What a letter may be exchanged for: another one of the same kind."""
    numbers = [x for v in values for x in (v if isinstance(v, list) else [v])]
    if any(isinstance(x, str) for x in numbers) or not all(0 < x < math.inf for x in numbers):
        return ""
    if all(x >= 1 and x == int(x) for x in numbers):
        return "count"
    return "share" if max(numbers) <= 1 else "size"


@settings(max_examples=40, deadline=None)
@given(cells)
def test_exchanges_are_those_of_loops_over_symbols_cells_and_trials(drawn):
    def bound(at):
        return at["d"] * (at["sigma"] + 2 * at["k"]) / at["m"]

    kinds = {name: kind([values[name] for values, _, _ in drawn]) for name in drawn[0][0]}
    expected = []
    for symbol in LETTERS:
        told, not_told = [], []
        mates = [o for o in sorted(kinds) if o != symbol and kinds[o] == kinds[symbol] != ""]
        for other in ("1", *mates):
            smaller, broken = False, False
            for values, observed, failure in drawn:
                lower, bad = False, 0
                for i in range(TRIALS):
                    at = {n: v[i] if isinstance(v, list) else v for n, v in values.items()}
                    stated = bound(at)
                    changed = bound({**at, symbol: 1.0 if other == "1" else at[other]})
                    lower |= changed < stated * (1 - 1e-9)
                    bad += not observed[i] <= changed
                smaller |= lower
                broken |= lower and bad / TRIALS > failure
            if smaller:
                (told if broken else not_told).append(other)
        expected.append(Apart(symbol=symbol, told=tuple(told), not_told=tuple(not_told)))
    seen_cells = [
        Seen({n: np.array(v) if isinstance(v, list) else v for n, v in values.items()},
             np.array(observed), failure)
        for values, observed, failure in drawn
    ]  # fmt: skip
    expr = d * (sigma + 2 * k) / m
    assert list(exchanged(expr, LETTERS, [*LETTERS, "law"], seen_cells)) == expected


def test_an_exchange_that_leaves_a_negative_bound_as_it_is_is_left_out():
    """It was said to make the bound smaller, and not to be told."""
    cells = [Seen({"m": 10.0, "d": 4.0, "k": 4.0, "n": 8.0}, np.full(9, -0.9), 0.1)]
    assert exchanged(-d / m, ["d"], ["k", "n"], cells) == (
        Apart(symbol="d", told=(), not_told=("n",)),  # -1/10 asks for less, and -8/10 for more
    )

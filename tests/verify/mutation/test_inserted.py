"""Inserted symbols: which are made, and which a claim catches whose law is known by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sympy as sp

from bounds.statement import Constant, Term, evaluate
from tests.verify.mutation.test_mutants import constant, statement
from tests.verify.toys import POWER
from trials.run.executors import make_executor
from trials.run.store import RunStore
from verify.claim import Claim
from verify.claims.common import explicit
from verify.evidence import Verdict
from verify.mutation import score as scoring
from verify.mutation.examination import Examination, Standing
from verify.mutation.inserted import absorbed, smaller_forms
from verify.mutation.meaning import change_meaning
from verify.mutation.score import tell_apart
from verify.procedures.base import Profile, Sampling

m, n, d, k, p, err, c_2, c_3 = sp.symbols("m n d k p err c_2 c_3")
POINTS = [
    {"m": 10, "n": 40, "d": 3, "k": 5, "p": 0.1, "err": 0.3, "x": 7, "c_2": 2, "c_3": 1.5},
    {"m": 90, "n": 20, "d": 30, "k": 5, "p": 0.3, "err": 1.7, "x": 9, "c_2": 2, "c_3": 1.5},
]


def bound(expr, **changes):
    changes = {"failure": None, "constants": (), **changes}
    return statement(terms=(Term(name="bound", expr=expr),), **changes)


def inserted(original, points=POINTS):
    """Name -> quotient of the changed bound and the stated one."""
    made = [x for x in change_meaning(original, points) if x.symbol is not None]
    return {x.name: sp.simplify(x.statement.expr / original.expr) for x in made}


def test_a_bound_is_divided_by_each_count_that_is_no_factor_of_it():
    """d and m are factors, k in a sum is none.  p is a share, and x is not stated."""
    made = inserted(bound(sp.sqrt(d / m) * sp.log(1 + k)))
    assert made == {
        "term bound: divided by sqrt(k)": 1 / sp.sqrt(k),
        "term bound: divided by log(e k)": 1 / (1 + sp.log(sp.Max(1, k))),
        "term bound: divided by k": 1 / k,
        "term bound: divided by sqrt(n)": 1 / sp.sqrt(n),
        "term bound: divided by log(e n)": 1 / (1 + sp.log(sp.Max(1, n))),
        "term bound: divided by n": 1 / n,
    }


def test_a_symbol_of_the_statement_is_inserted_whatever_its_letter():
    x = sp.Symbol("x")
    made = {one.name: one.statement for one in change_meaning(statement(failure=x / m), POINTS)}
    assert made["term contraction: divided by x"].term("contraction").expr == err / (2 * x)
    assert made["term tail: divided by sqrt(x)"].term("tail").expr == sp.exp(-c_3 * n) / sp.sqrt(x)
    assert "term floor: divided by c_2" not in made  # a constant is no symbol of a cell


def test_a_count_that_is_one_everywhere_is_no_factor():
    for k_there, made in ((1, 0), (2, 3)):
        points = [POINTS[0] | {"k": 1}, POINTS[1] | {"k": k_there}]
        names = [x.name for x in change_meaning(bound(d), points) if x.symbol == k]
        assert len(names) == made


@pytest.mark.parametrize(
    ("relation", "expr", "ways"),
    [
        (r"\le", k + p, ["divided by"]),
        (r"\ge", k + p, ["times"]),
        (r"\le", -k - p, ["times"]),
        (r"\ge", -k - p, ["divided by"]),
        ("=", k + p, ["divided by"]),
        (r"\propto", k + p, ["divided by", "times"]),
    ],
)
def test_the_change_asks_for_more_and_growth_is_changed_both_ways(relation, expr, ways):
    original = bound(expr, relation=relation)
    made = {x.name: x for x in change_meaning(original, POINTS) if x.symbol == n}
    assert [name for name in made if name.endswith(" n")] == [f"term bound: {w} n" for w in ways]
    at = {"k": 5.0, "p": 0.25, "n": 40.0}
    changed = made[f"term bound: {ways[0]} n"].statement
    before, after = (evaluate(one.expr, at) for one in (original, changed))
    assert after == pytest.approx(before * (40 if ways[0] == "times" else 1 / 40))


def test_the_root_and_the_logarithm_of_a_bound_are_the_smaller_changes():
    made = {x.name: x for x in change_meaning(bound(d), POINTS) if x.symbol is not None}
    whole = made["term bound: divided by k"]
    smaller = ["term bound: divided by sqrt(k)", "term bound: divided by log(e k)"]
    assert smaller_forms(whole) == smaller
    assert [smaller_forms(made[name]) for name in smaller] == [[], []]
    exchanged = next(x for x in change_meaning(bound(d), POINTS) if x.name == "term bound: k for d")
    assert smaller_forms(exchanged) == []
    law = [x for x in change_meaning(bound(d, relation="="), POINTS) if x.symbol is not None]
    assert law
    assert not any(map(smaller_forms, law))


def test_a_count_with_one_value_is_absorbed_where_a_constant_stands_in_front():
    original = bound(c_2 * d, constants=(constant(c_2),))
    made = {x.name: x for x in change_meaning(original, POINTS) if x.symbol is not None}
    at_k = made["term bound: divided by sqrt(k)"]
    assert absorbed(original, at_k, POINTS) == 5.0
    assert absorbed(original, made["term bound: divided by m"], POINTS) is None
    assert absorbed(bound(d), at_k, POINTS) is None  # no constant makes up for a root of five
    assert absorbed(original, at_k, []) is None
    other = next(x for x in change_meaning(original, POINTS) if x.symbol is None)
    assert absorbed(original, other, POINTS) is None


# -- a claim whose answers are known by hand -------------------------------------------------------

#: The observed value is sqrt(d) times a factor between 1/2 and 3/2, but for one trial in 10^6.
#: m, n and k have no part in it.
CELLS = tuple(
    {"d": d, "m": m, "b": 0.0, "c1": n} for d, m, n in ((1.0, 1.0, 100.0), (4.0, 100.0, 100.0))
)


def symbols(params):
    return {"d": params["d"], "m": params["m"], "n": params["c1"], "k": 2.0}


def generous_claim(size):
    """sqrt(d) with a constant of ``size``, where 1.5 would do."""
    stated = bound(
        c_2 * sp.sqrt(d),
        failure=sp.Rational(1, 10),
        constants=(Constant(symbol=c_2, low=1e-3, high=1e3, generous="high", meaning="x"),),
    )

    def build(one, profile):
        return explicit(
            one,
            {"c_2": size},
            Sampling(experiment=POWER, max_trials=profile.max_trials),
            CELLS,
            symbols,
            lambda table: table["error"],
            "too large",
        )

    return Claim(statement=stated, builder=build)


@pytest.fixture
def scan(tmp_path, monkeypatch):
    """``size -> `` the outcomes of the inserted symbols, and the names that were asked about."""
    asked = []
    judge = scoring._Judge.judge_meaning

    def noted(self, mutant, points):
        asked.append(mutant.name)
        return judge(self, mutant, points)

    monkeypatch.setattr(scoring._Judge, "judge_meaning", noted)

    def scanned(size):
        with (
            RunStore.create(tmp_path / "store.sqlite", root_seed=1, config={}) as store,
            make_executor("serial") as executor,
        ):
            examination = Examination(
                claim=generous_claim(size),
                profile=Profile(name="quick", max_trials=256, searches=10, seconds=2.0),
                standing=Standing(verdict="", mark="", level=0.01),
                store=store,
                executor=executor,
            )
            found = Standing.of(examination.decide(examination.claim.statement))
            assert found.verdict == Verdict.SUPPORTED
            score = tell_apart(replace(examination, standing=replace(found, level=0.01)))
        judged = {j.mutant.removeprefix(DIVIDED): j for j in score.judged if DIVIDED in j.mutant}
        return judged, [name.removeprefix(DIVIDED) for name in asked]

    return scanned


DIVIDED = "term bound: divided by "
#: n is 100 and k is 2 in every cell: a larger constant makes up for them.
EQUIVALENT = dict.fromkeys(("sqrt(k)", "log(e k)", "k", "sqrt(n)", "log(e n)", "n"), "equivalent")


def test_what_is_caught_missed_and_true_is_as_computed_by_hand(scan):
    """The least bound over sqrt(d): 30/sqrt(100) = 3 and 30/(1 + log 100) = 5.4 hold, 30/100 fails.

    With 64 times as many m the root is refuted, 30/80, and the logarithm is not, 3.1.  At m = 1/8
    a logarithm without its limit would make the bound negative.
    """
    judged, _ = scan(30.0)
    assert {name: j.outcome for name, j in judged.items()} == {
        "sqrt(m)": "survived",
        "log(e m)": "true here",
        "m": "refuted",
        **EQUIVALENT,
    }
    assert judged["n"].why == "n is 100 at every place of the claim"
    assert "m=6400" in judged["sqrt(m)"].why


def test_a_symbol_is_not_asked_about_where_its_root_is_refuted(scan):
    """8/sqrt(100) is below one.  8/(1 + log 100) is 1.43, and 0.82 with 64 times as many m."""
    judged, asked = scan(8.0)
    assert {name: j.outcome for name, j in judged.items()} == {
        "sqrt(m)": "refuted",
        "log(e m)": "survived",
        "m": "refuted",
        **EQUIVALENT,
    }
    assert judged["m"].why == f"as {DIVIDED}sqrt(m) is, a smaller change"
    assert "sqrt(m)" in asked
    assert "m" not in asked

"""Other cells as an oracle: where a changed bound is the smallest part of the stated one."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

from bounds.statement import Assumption, Term
from tests.verify.mutation.test_mutants import statement
from trials.run.executors import make_executor
from trials.run.experiment import Experiment
from trials.run.store import RunStore
from verify.claim import Claim
from verify.decisions.means import Knowledge
from verify.evidence import Verdict
from verify.mutation.conditions import Conditions
from verify.mutation.examination import Examination, Standing
from verify.mutation.harder import (
    Places,
    _movable,
    _stack,
    follows_from,
    hardest,
    log_quotient,
    nowhere_below,
)
from verify.mutation.mutants import mutants
from verify.mutation.score import tell_apart, tell_conditions_apart
from verify.procedures.base import Profile, Sampling
from verify.procedures.mean_bound import MeanBound
from verify.procedures.placebos import Placebo

SMALL = Profile(name="quick", max_trials=256, searches=100)
d, k, r = sp.symbols("d k r")
#: A value between 0.4 d and 0.6 d, at most d by the statement.
DRAWN = Experiment(
    name="test.harder",
    design=4_000_000_391,
    columns=("value",),
    simulate=lambda params, rng, n: params["d"] * (0.4 + 0.2 * rng.random((n, 1))),
    check=lambda params: {"d": 4, "k": 4, **params},
    cost=lambda params: 1e-6,
)


def bound(expr: sp.Expr, **fields: object):
    terms = (Term(name="bound", expr=expr),)
    fields = {"failure": None, "constants": (), "assumptions": (), **fields}
    return statement(terms=terms, **fields)


def mean(stated, profile=SMALL, cells=({"d": 4},)):
    return MeanBound(
        statement=stated,
        sampling=Sampling(experiment=DRAWN, max_trials=profile.max_trials, first=64),
        cells=cells,
        statistic=lambda table, _cell: table["value"],
        knowledge=lambda cell: Knowledge(low=0.0, high=4.0 * cell["d"]),
        observable="the value",
        values=lambda cell: DRAWN.check(cell),
    )


@pytest.fixture
def store(tmp_path):
    with RunStore.create(tmp_path / "store.sqlite", root_seed=1, config={}) as made:
        yield made


def test_the_quotient_is_below_zero_where_a_change_asks_for_more() -> None:
    at = {"d": 2.0, "k": 8.0}
    assert log_quotient(bound(d), bound(k), at) == pytest.approx(math.log(4.0))
    assert log_quotient(bound(k), bound(d), at) == pytest.approx(-math.log(4.0))
    at_least = {"relation": r"\ge"}
    assert log_quotient(bound(d, **at_least), bound(k, **at_least), at) == pytest.approx(
        -math.log(4.0)
    )
    law = {"relation": "="}
    assert log_quotient(bound(d, **law), bound(k, **law), at) == pytest.approx(-math.log(4.0))
    both = bound(d, failure=1 / k)
    assert log_quotient(both, replace(both, failure=1 / k**2), at) == pytest.approx(-math.log(8.0))
    assert math.isnan(log_quotient(bound(d), bound(r), at))


@pytest.mark.parametrize(("stated", "changed"), [*itertools.product((-4, -1, 0, 2, 6), repeat=2)])
@pytest.mark.parametrize("relation", [r"\le", r"\ge"])
def test_the_log_quotient_is_below_zero_just_where_the_change_asks_for_more(
    stated, changed, relation
) -> None:
    """An upper bound asks for more where it is smaller, also below zero."""
    own, other = (bound(sp.Integer(x), relation=relation) for x in (stated, changed))
    found = log_quotient(own, other, {})
    asked = stated - changed if relation == r"\le" else changed - stated
    assert np.sign(found) == -np.sign(asked)
    if stated * changed > 0:
        assert abs(found) == pytest.approx(abs(math.log(stated / changed)))


@pytest.mark.parametrize("same", [0.0, math.inf])
def test_a_trial_in_which_both_bounds_are_zero_or_infinite_hides_no_other_trial(same) -> None:
    values = {"d": np.array([same, 2.0]), "k": np.array([same, 8.0])}
    assert log_quotient(bound(d), bound(k), values) == 0.0  # there the change asks for no more
    assert log_quotient(bound(k), bound(d), values) == pytest.approx(-math.log(4.0))
    both = bound(k, failure=0 * k), bound(d, failure=0 * k)
    assert log_quotient(*both, values) == pytest.approx(-math.log(4.0))


def test_a_sharper_bound_below_zero_is_compared_with_its_sign(store) -> None:
    """At most -k holds, so that at most -d does not follow from it where d is the larger."""
    places = Places(mean(bound(d)), store, ["d", "k"])
    logs = places.quotients(bound(-k), bound(-d))
    apart = np.array([values["k"] - values["d"] for values in places.values])
    assert np.array_equal(logs < 0.0, apart < 0.0)  # where d is the larger, -d asks for more
    assert (apart < 0.0).any()
    assert (apart > 0.0).any()


def test_a_parameter_that_a_cell_leaves_at_its_default_is_moved_too(store) -> None:
    changed = mean(bound(k))
    cell, log = hardest(bound(d), changed.statement, changed, store)
    assert cell["d"] / cell["k"] >= 64
    assert log == pytest.approx(math.log(cell["k"] / cell["d"]))


def test_a_procedure_without_cells_of_its_own_has_no_hardest_one(store) -> None:
    assert hardest(bound(d), bound(k), mean(bound(k), cells=()), store) is None


def test_parameters_that_follow_from_others_move_with_them(store) -> None:
    """Here k is what the statement takes from d, so that it is never a half of it."""

    class Following(MeanBound):
        def completed(self, cell):
            return {**cell, "k": 2 * cell["d"]}

    made = mean(bound(k))
    fields = {name: getattr(made, name) for name in made.__dataclass_fields__}
    following = Following(**{**fields, "cells": ({"d": 4, "k": 8},)})
    assert all(cell["k"] == 2 * cell["d"] for cell in Places(following, store, {"d", "k"}).cells)
    cell, _ = hardest(bound(k), bound(d**2 / k), following, store)
    assert cell["k"] == 2 * cell["d"]
    # a statement about k alone reads d as well, and without that a move of k itself is undone
    assert _movable(following, following.cells, {"k"}, store, unread=False) == {"d"}
    assert _movable(made, ({"d": 4, "k": 8},), {"k"}, store, unread=False) == {"k"}


def simulate_where_possible(params, rng, n):
    values = params["d"] * (0.4 + 0.2 * rng.random((n, 1)))
    return np.where(params["k"] < 4, np.nan, values)


def test_trials_that_fail_in_the_other_cell_show_nothing(store) -> None:
    """The change is false where k is small, but no trial has a value there."""
    broken = replace(DRAWN, name="test.harder-broken", simulate=simulate_where_possible)
    claim = Claim(
        statement=bound(d),
        builder=lambda stated, profile: replace(
            mean(stated, profile), sampling=Sampling(experiment=broken, max_trials=256, first=64)
        ),
    )
    assert outcomes(claim, store)["term bound: k for d"] == "open"


def outcomes(claim, store):
    with make_executor("serial") as executor:
        examination = Examination(
            claim=claim,
            profile=SMALL,
            standing=Standing(verdict="", mark="", level=0.01),
            store=store,
            executor=executor,
        )
        found = examination.decide(claim.statement)
        assert found.verdict is Verdict.SUPPORTED
        standing = replace(Standing.of(found), level=0.01)
        examination = replace(examination, standing=standing)
        found = (tell_apart(examination), tell_conditions_apart(examination))
    return {j.mutant: j.outcome for score in found for j in score.judged}


def test_a_changed_condition_is_tried_where_only_it_allows_a_cell(store) -> None:
    """At most twice k, where k is not below d.  With k at least one it is false."""
    wide = Assumption(name="wide", left=k, right=d)
    claim = Claim(
        statement=bound(k, assumptions=(wide,)),
        builder=lambda stated, profile: Inside(**vars(mean(stated, profile))),
    )
    found = outcomes(claim, store)
    assert found["condition wide: dropped"] == "refuted"
    assert found["condition wide: d dropped"] == "refuted"


class Inside(MeanBound):
    def require(self, cell):
        super().require(cell)
        self.statement.require(DRAWN.check(cell))


def in_place_of_the_mean(value):
    """A placebo each of whose trials has a value that the cell gives."""
    return Placebo(name="nothing", columns={"value": lambda _table, cell: value(cell)})


@pytest.mark.parametrize(
    ("placebos", "outcome"),
    [
        ([], "true here"),
        ([lambda cell: min(1.2 * cell["k"], 3.9 * cell["d"])], "few trials"),
        ([lambda cell: 3.9 * cell["d"]], "true here"),
        ([lambda cell: 3.9 * cell["d"], lambda cell: cell["k"]], "few trials"),
        # those of the cells outside with a larger d are alive
        ([lambda cell: cell["k"] if cell["d"] == 4 else 3.9 * cell["d"]], "true here"),
    ],
)
def test_a_condition_that_is_dropped_asks_the_placebos_and_its_meaning_does_not(
    store, monkeypatch, placebos, outcome
) -> None:
    """At most d holds everywhere.  Outside "d at most k" it is void where k or 1.2 k will do."""
    wide = Assumption(name="wide", left=k, right=d)
    claim = Claim(
        statement=bound(d, assumptions=(wide,)),
        builder=lambda stated, profile: Inside(
            **vars(mean(stated, profile, cells=({"d": 4, "k": 4},)))
        ),
    )
    changes = {m.name: m for m in mutants(claim.statement)}
    with make_executor("serial") as executor:
        examination = Examination(
            claim=claim, profile=SMALL, store=store, executor=executor,
            standing=Standing(verdict="SUPPORTED", mark="SUPPORTED", level=0.01),
            placebos=tuple(map(in_place_of_the_mean, placebos)),
        )  # fmt: skip
        conditions = Conditions(examination, examination.procedure(claim.statement))
        found = conditions.judge_size(changes["condition wide: dropped"])
        assert (found.outcome, found.verdict) == (
            outcome,
            "VACUOUS" if outcome == "few trials" else "SUPPORTED",
        )
        if outcome == "few trials":
            monkeypatch.setattr("verify.mutation.conditions.SECONDS_OF_A_CHANGE", math.inf)
            found = conditions.judge_meaning(changes["condition wide: dropped"])
            assert (found.outcome, found.verdict) == ("true here", "SUPPORTED")


def test_a_change_below_a_sharper_bound_is_tried_where_it_is_farthest_below(store) -> None:
    claim = Claim(statement=bound(d + k), builder=mean, sharper=bound(0.6 * d, id="toy.proved"))
    found = outcomes(claim, store)
    assert found["term bound: d dropped"] == "survived"  # 1 + k: false where d is larger
    assert found["term bound: k dropped"] == "true here"


def simulate_in_own_cells(params, rng, n):
    values = params["d"] * (0.4 + 0.2 * rng.random((n, 1)))
    return values if (params["d"], params["k"]) == (4, 4) else np.full((n, 1), np.nan)


@pytest.mark.parametrize(("sharper", "outcome"), [(None, "open"), (0.6 * d, "true here")])
def test_a_change_above_a_sharper_bound_is_true_where_no_other_trial_has_a_value(
    store, sharper, outcome
) -> None:
    """At most d + k asks for less than at most d, which is above the proved bound everywhere."""
    broken = replace(DRAWN, name="test.harder-own", simulate=simulate_in_own_cells)
    claim = Claim(
        statement=bound(d + k),
        sharper=sharper and bound(sharper, id="toy.proved"),
        builder=lambda stated, profile: replace(
            mean(stated, profile), sampling=Sampling(experiment=broken, max_trials=256, first=64)
        ),
    )
    found = outcomes(claim, store)
    assert found["term bound: k dropped"] == outcome
    assert found["term bound: d dropped"] == "open"  # 1 + k is below 0.6 d where d is large


@pytest.mark.parametrize(
    ("stated", "start", "reached"),
    [
        # a whole number goes down to one, and up by the reach
        *((d * k, start, 1) for start in (1, 2, 3, 8, 64)),
        *((d / k, start, 64 * start) for start in (1, 2, 3)),
        (d * k, 65, 2),  # one is out of reach
        # a number of any size goes as far down as up
        *((d * k, start, start / 64) for start in (1.0, 8.0)),
        *((d / k, start, start * 64) for start in (1.0, 8.0)),
    ],
)
def test_a_parameter_is_moved_to_the_end_of_its_reach(store, stated, start, reached) -> None:
    made = mean(bound(stated), cells=({"d": 4, "k": start},))
    cell, log = hardest(bound(d), bound(stated), made, store)
    assert cell == {"d": 4, "k": reached}
    assert log == pytest.approx(math.log(reached) if stated == d * k else -math.log(reached))


@pytest.mark.parametrize(
    ("stated", "name", "outcome"),
    [
        (d, "term bound: k for d", "survived"),  # equal in the claim's cell, false at k < d/2
        (d, "term bound: d dropped", "refuted"),
        (d + 2 * k, "term bound: the largest of d + 2*k", "true here"),
    ],
)
def test_another_cell_tells_false_from_true(store, stated, name, outcome) -> None:
    claim = Claim(statement=bound(stated), builder=mean)
    assert outcomes(claim, store)[name] == outcome


def test_a_change_above_a_proved_bound_is_true(store):
    claim = bound(d)
    sharper = bound(d / 2, id="toy.proved")
    places = Places(mean(claim), store, {"d", "k"})
    assert follows_from(sharper, bound(0.7 * d), places) > 1_000
    assert follows_from(sharper, bound(0.4 * d), places) == 0
    # above it at the claim's own cell only
    assert follows_from(sharper, bound(k / 2), places) == 0
    assert np.min(places.quotients(sharper, bound(0.4 * d))) == pytest.approx(math.log(0.8))


def test_a_proved_bound_is_taken_at_the_probability_of_the_change(store):
    sharper = bound(d / sp.sqrt(r), failure=r)
    at = Places(mean(bound(d)), store, {"d", "k"})
    assert follows_from(sharper, bound(2 * d, failure=sp.Rational(1, 4)), at) > 1_000
    assert follows_from(sharper, bound(2 * d, failure=sp.Rational(1, 5)), at) == 0
    assert follows_from(sharper, bound(d / 100, failure=sp.Integer(1)), at) > 1_000


def test_a_change_of_the_probability_alone_is_compared_as_well(store):
    sharper = bound(d / 2, failure=sp.Rational(1, 4))
    at = Places(mean(bound(d)), store, {"d", "k"})
    assert follows_from(sharper, bound(d, failure=sp.Rational(1, 3)), at) > 1_000
    assert follows_from(sharper, bound(d, failure=sp.Rational(1, 5)), at) == 0


def test_a_proved_bound_outside_its_conditions_shows_nothing(store):
    small = Assumption(name="small", left=sp.Integer(3), right=d)
    places = Places(mean(bound(d)), store, {"d", "k"})
    assert follows_from(bound(d / 2, assumptions=(small,)), bound(d), places) == 0


@pytest.mark.parametrize("rank", [0, 1, 500, -1])
def test_a_proved_bound_whose_conditions_fail_at_a_single_place_shows_nothing(store, rank):
    """Wherever that place stands in the list.  Symbols with many values have no part in it."""
    places = Places(mean(bound(d)), store, {"d", "k"})
    assert min(values["d"] + values["k"] for values in places.values) > 1.0
    places.values[rank] = {**places.values[rank], "d": 0.25, "k": 0.5, "x": np.ones(3)}
    for limit, speaks in ((0.75, True), (0.76, False)):
        few = Assumption(name="few", left=d + k, right=sp.Float(limit))
        sharper = bound(d / 2, id=f"toy.{limit}", assumptions=(few,))
        assert (places.quotients(sharper, bound(d)) is not None) == speaks


def test_a_place_at_which_both_probabilities_underflow_shows_nothing(store):
    """exp(-100 d) and exp(-200 d) are both zero from d = 8 on.  At d = 1 the second is smaller."""
    sharper = bound(d / 2, failure=sp.exp(-100 * d))
    at = Places(mean(bound(d)), store, {"d", "k"})
    logs = at.quotients(sharper, bound(d, failure=sp.exp(-200 * d)))
    assert np.isnan(logs).any()
    assert np.nanmin(logs) < -50
    assert follows_from(sharper, bound(d, failure=sp.exp(-200 * d)), at) == 0
    assert nowhere_below(np.array([0.0, math.nan])) == 0
    assert nowhere_below(np.array([0.0, 1e-13, math.inf])) == 3
    assert nowhere_below(np.array([0.0, -1e-9])) == nowhere_below(None) == 0


def test_what_cannot_be_evaluated_has_no_quotient():
    other = bound(d, relation=r"\ge")
    assert math.isnan(log_quotient(bound(d), bound(k), {"d": 2.0}))  # k is missing
    assert math.isnan(log_quotient(bound(d), bound(d), {"d": "two"}))
    assert log_quotient(bound(d), bound(d / 2), {"d": 2.0}) == pytest.approx(-math.log(2))
    assert log_quotient(other, bound(d / 2, relation=r"\ge"), {"d": 2.0}) == pytest.approx(
        math.log(2)
    )


def test_bounds_of_other_relations_or_without_a_value_do_not_compare(store):
    at = Places(mean(bound(d)), store, {"d", "k"})
    assert at.quotients(bound(d), bound(d)) is not None
    for sharper, changed in (
        (bound(d, relation=r"\ge"), bound(d)),
        (bound(d), bound(d, relation="=")),
        (bound(d, relation=r"\ge"), bound(2 * d, relation=r"\ge")),
        (bound(d, relation="="), bound(d, relation="=")),
        (bound(d), bound(sp.Symbol("unknown") * d)),
        (bound(sp.Symbol("unknown") * d), bound(d)),
    ):
        assert at.quotients(sharper, changed) is None
        assert follows_from(sharper, changed, at) == 0


def test_symbols_that_are_no_numbers_are_not_stacked():
    found = _stack(
        [
            {"d": 4, "law": "normal", "flag": True, "x": np.array([3.0, 1.0, 2.0, 9.0]), "k": 1},
            {"d": 5.0, "law": "uniform", "flag": False, "x": 7.0},
        ]
    )
    assert set(found) == {"d", "x"}
    assert found["d"].tolist() == [[4.0] * 3, [5.0] * 3]
    assert found["x"].tolist() == [[1.0, 3.0, 9.0], [7.0] * 3]
    assert _stack([]) == {}

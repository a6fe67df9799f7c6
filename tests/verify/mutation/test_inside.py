"""Random places inside a statement's conditions refute what its own cells support."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

from bounds.statement import Assumption
from tests.verify.mutation.test_harder import DRAWN, SMALL, Inside, bound, mean
from tests.verify.toys import stored
from trials.run.executors import make_executor
from trials.run.store import RunStore
from verify.claim import Claim
from verify.decisions.domain import Box, Interval
from verify.decisions.means import Knowledge
from verify.mutation import inside
from verify.mutation.examination import Examination, Standing, TooManyTrials
from verify.mutation.inside import look_inside
from verify.procedures.base import Sampling
from verify.procedures.interface import Procedure
from verify.procedures.probability import Probability
from verify.procedures.search import Search

d, k = sp.symbols("d k")
WIDE = Assumption(name="wide", left=k, right=d)
STANDING = Standing(verdict="SUPPORTED", mark="SUPPORTED", level=0.01)


@pytest.fixture
def look(tmp_path):
    """``look(claim, n_places)`` on an empty store."""
    with (
        RunStore.create(tmp_path / "store.sqlite", root_seed=1, config={}) as store,
        make_executor("serial") as executor,
    ):

        def called(claim, n_places=40, standing=STANDING, values=None, **given):
            examination = Examination(
                claim=claim,
                profile=SMALL,
                standing=standing,
                store=store,
                executor=executor,
                values=values or {},
            )
            return look_inside(examination, n_places, **given)

        yield called


def narrow(stated, profile):
    """Inside its conditions, where the value is known to be at most 0.7 d."""
    known = lambda cell: Knowledge(low=0.0, high=0.7 * cell["d"])  # noqa: E731
    return Inside(**vars(replace(mean(stated, profile), knowledge=known)))


def test_a_bound_that_its_conditions_imply_is_refuted_nowhere(look):
    """At most k, which the condition makes at least d, and 0.7 d is the largest value."""

    def builder(stated, profile):
        return Inside(**vars(mean(stated, profile)))

    found = look(Claim(statement=bound(k, assumptions=(WIDE,)), builder=builder))
    assert found.n_places == found.n_held + found.n_void == 40
    assert found.n_held > 5
    assert not found.refuted


def test_a_bound_that_lacks_a_condition_is_refuted_where_it_would_hold_no_more(look):
    """The claim's only cell has k = d.  Without the condition k may be far below d."""
    claim = Claim(statement=bound(k), builder=narrow)
    found = look(claim, unread=True)
    assert found.n_places == 40
    assert 5 < len(found.refuted) < 35
    assert found.n_held + found.n_void + found.n_open + len(found.refuted) == 40
    for place in found.refuted:
        assert place.cell["k"] < 0.7 * place.cell["d"]
        assert place.summary
    alone = look(claim)  # no symbol reads d, so that it stays 4
    assert alone.n_places == 40
    assert {4} == {place.cell["d"] for place in alone.refuted}


def test_the_places_are_new_and_follow_from_the_seed(look):
    claim = Claim(statement=bound(k), builder=narrow)
    first, same, other = (look(claim, 12, seed=seed, unread=True) for seed in (0, 0, 5))
    assert first == same
    assert {repr(p.cell) for p in first.refuted} != {repr(p.cell) for p in other.refuted}
    every = look(Claim(statement=bound(d / 8), builder=narrow), 60, unread=True)
    assert len({repr(place.cell) for place in every.refuted}) == len(every.refuted) == 60
    assert DRAWN.check({}) not in [place.cell for place in every.refuted]


def test_a_place_whose_first_trials_are_too_dear_is_left_out(look, monkeypatch):
    """A trial costs d seconds, declared, and a place has a block of 64."""
    dear = replace(DRAWN, name="test.inside-dear", block_size=64, cost=lambda cell: cell["d"])

    def builder(stated, profile):
        made = narrow(stated, profile)
        return replace(made, sampling=replace(made.sampling, experiment=dear))

    monkeypatch.setattr(inside, "SECONDS", 64 * 8.0)
    found = look(Claim(statement=bound(d / 8), builder=builder), 20)
    assert found.n_places == len(found.refuted) > 3
    assert all(place.cell["d"] <= 8 for place in found.refuted)
    monkeypatch.setattr(inside, "SECONDS", 63.0)
    assert "no place is cheap enough" in look(Claim(statement=bound(d), builder=builder)).why


def test_the_level_is_shared_by_the_places_and_both_looks(look, monkeypatch):
    """A place in doubt has more trials at that share.  Without them its first trials decide."""
    asked = []
    alone = Examination.alone

    def recorded(self, cell, procedure, level, n_new):
        asked.append((procedure.sampling.max_trials, level))
        return alone(self, cell, procedure, level, n_new)

    monkeypatch.setattr(Examination, "alone", recorded)
    claim = Claim(statement=bound(d / 8), builder=narrow)
    assert len(look(claim, 5).refuted) == 5
    assert asked == [(64, inside.DOUBT), (inside.N_MORE, 0.01 / 10)] * 5
    asked.clear()
    monkeypatch.setattr(inside, "MAX_NEW_TRIALS", DRAWN.block_size)
    monkeypatch.setattr(inside, "N_MORE", 64 * DRAWN.block_size)
    assert len(look(claim, 2, seed=3).refuted) == 2
    assert [level for _, level in asked] == [inside.DOUBT, 0.01 / 4, 0.01 / 4] * 2


def test_trials_that_fail_say_nothing(look):
    """Where k is below 4 no trial has a value.  The bound is false at every other place."""

    def simulate(params, rng, n):
        values = params["d"] * (0.4 + 0.2 * rng.random((n, 1)))
        return values * (float("nan") if params["k"] < 4 else 1.0)

    broken = replace(DRAWN, name="test.inside-broken", simulate=simulate)

    def builder(stated, profile):
        made = narrow(stated, profile)
        return replace(made, sampling=replace(made.sampling, experiment=broken))

    found = look(Claim(statement=bound(d / 8), builder=builder), unread=True)
    assert found.failures == (("some of its trials fail", found.n_failed),)
    assert found.n_failed > 5
    assert found.n_failed + len(found.refuted) == 40
    assert all(place.cell["k"] >= 4 for place in found.refuted)


def test_a_search_has_a_larger_budget(look):
    """It is refuted by a point of its larger search, and held where that finds none."""

    def search(stated, _profile):
        return Search(
            name=stated.id,
            violation=lambda point: point["d"] - high,
            domain=Box({"d": Interval(0.0, 1.0)}),
            budget=50,
            sides=lambda point: (point["d"], high),
            unit="units",
        )

    claim = Claim(statement=bound(d), builder=search)
    high = 2.0
    found = look(claim)
    assert (found.n_places, found.n_held, found.refuted) == (0, 1, ())
    high = 0.5
    found = look(claim)
    assert [place.cell for place in found.refuted] == [{}]


def test_what_is_not_tried_says_why(look):
    lost = replace(STANDING, verdict="INCONCLUSIVE", mark="INCONCLUSIVE")
    claim = Claim(statement=bound(k), builder=narrow)
    assert look(claim, standing=lost).why == "it is INCONCLUSIVE"
    fixed = Claim(statement=bound(sp.Integer(3)), builder=narrow)
    assert look(fixed).why == "no place is cheap enough, or no parameter can be moved"
    own = Claim(statement=bound(k), builder=lambda *_: OwnTrials())
    assert look(own).why == "its procedure says nowhere how many trials it draws"
    nowhere = Claim(statement=bound(k), builder=lambda s, p: replace(narrow(s, p), cells=()))
    assert look(nowhere).why == "its procedure decides on all of its cells together"


class OwnTrials(Procedure):
    """A procedure of one's own, with cells and without `sampling`."""

    def check(self): ...
    def demands(self, store, level): ...
    def decide(self, store, level): ...
    def describe(self): ...
    def override(self, values): ...

    def cells_alone(self):
        return ({"d": 4},)


def test_support_down_to_a_probability_is_open(look):
    """With 64 trials a probability of 1e-9 is supported down to about one in twenty only."""

    def builder(stated, profile):
        return Probability(
            name=stated.id,
            sampling=Sampling(experiment=DRAWN, max_trials=profile.max_trials, first=64),
            cells=({"d": 4},),
            bad=lambda table, cell: table["value"] > cell["d"],
            delta=lambda _cell: 1e-9,
            event="the value exceeds d",
        )

    found = look(Claim(statement=bound(d, failure=sp.Float(1e-9)), builder=builder), 6, unread=True)
    assert (found.n_places, found.n_held, found.n_open, found.refuted) == (6, 0, 6, ())


def test_without_a_declared_cost_whole_numbers_grow_little(look):
    """Else one place could take hours: its trials say nothing of their cost."""
    unknown = replace(DRAWN, name="test.inside-unknown", cost=None)

    def builder(stated, profile):
        made = narrow(stated, profile)
        return replace(made, sampling=replace(made.sampling, experiment=unknown))

    found = look(Claim(statement=bound(d / 8), builder=builder), 60, unread=True)
    assert len(found.refuted) == found.n_places > 20
    grown = [max(1, p.cell["d"] / 4) * max(1, p.cell["k"] / 4) for p in found.refuted]
    assert 4 < max(grown) <= 8


def test_values_of_the_users_own_stay(look):
    claim = Claim(statement=bound(d / 8), builder=narrow)
    found = look(claim, 20, unread=True, values={"d": 6})
    assert {place.cell["d"] for place in found.refuted} == {6}
    assert len({place.cell["k"] for place in found.refuted}) > 3


def test_a_second_look_that_the_claims_time_does_not_pay_for_has_the_first_trials(
    look, monkeypatch
):
    asked = []
    alone = Examination.alone

    def recorded(self, cell, procedure, level, n_new):
        asked.append(procedure.sampling.max_trials)
        return alone(self, cell, procedure, level, n_new)

    clock = iter(float(now) for now in range(1000))
    monkeypatch.setattr(Examination, "alone", recorded)
    monkeypatch.setattr(inside.time, "process_time", lambda: next(clock))
    claim = Claim(statement=bound(d / 8), builder=narrow)
    monkeypatch.setattr(inside, "SECONDS_OF_A_CLAIM", 50.0)  # a look takes one second here
    assert len(look(claim, 2).refuted) == 2
    assert asked == [64] * 4
    asked.clear()
    monkeypatch.setattr(inside, "SECONDS_OF_A_CLAIM", 500.0)
    assert len(look(claim, 2, seed=3).refuted) == 2
    assert asked == [64, inside.N_MORE] * 2


def test_no_place_is_tried_when_the_claim_had_its_time(look, monkeypatch):
    monkeypatch.setattr(inside, "SECONDS_OF_A_CLAIM", -1.0)
    assert look(Claim(statement=bound(d / 8), builder=narrow)).n_places == 0


def test_stored_blocks_that_a_place_does_not_ask_for_count_for_nothing(tmp_path):
    """A run that was killed may hold later blocks alone.  They were taken off the new trials."""
    procedure = mean(bound(d), SMALL)
    later = [(procedure.cells[0], np.full((4 * DRAWN.block_size, 1), 2.0))]
    with (
        stored(tmp_path, DRAWN, later, first=7) as store,
        make_executor("serial") as executor,
    ):
        examination = Examination(
            claim=Claim(statement=bound(d), builder=mean),
            profile=SMALL,
            standing=STANDING,
            store=store,
            executor=executor,
        )
        with pytest.raises(TooManyTrials, match=f"asks for {DRAWN.block_size} trials"):
            examination.evidence(procedure, n_new=DRAWN.block_size - 1)

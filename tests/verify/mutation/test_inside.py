"""Random places inside a statement's conditions refute what its own cells support."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sympy as sp

from bounds.statement import Assumption
from tests.verify.mutation.test_harder import DRAWN, SMALL, Inside, bound, mean
from trials.run.executors import make_executor
from trials.run.store import RunStore
from verify.claim import Claim
from verify.decisions.domain import Box, Interval
from verify.decisions.means import Knowledge
from verify.mutation import inside
from verify.mutation.examination import Examination, Standing
from verify.mutation.inside import look_inside
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

        def called(claim, n_places=40, standing=STANDING, **given):
            examination = Examination(
                claim=claim, profile=SMALL, standing=standing, store=store, executor=executor
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
    for place, summary in found.refuted:
        values = dict(part.split("=") for part in place.split(", "))
        assert float(values["k"]) < 0.7 * float(values["d"])
        assert summary
    alone = look(claim)  # no symbol reads d, so that it stays 4
    assert alone.n_places == 40
    assert {"d=4"} == {place.partition(",")[0] for place, _ in alone.refuted}


def test_the_places_are_new_and_follow_from_the_seed(look):
    claim = Claim(statement=bound(k), builder=narrow)
    first, same, other = (look(claim, 12, seed=seed, unread=True) for seed in (0, 0, 5))
    assert first == same
    assert {place for place, _ in first.refuted} != {place for place, _ in other.refuted}
    own = ", ".join(f"{name}={value}" for name, value in DRAWN.check({}).items())
    every = look(Claim(statement=bound(d / 8), builder=narrow), 60, unread=True)
    assert len({place for place, _ in every.refuted}) == len(every.refuted) == 60
    assert own not in {place for place, _ in every.refuted}


def test_a_place_whose_first_trials_are_too_dear_is_left_out(look, monkeypatch):
    """A trial costs d seconds, declared, and a place has a block of 64."""
    dear = replace(DRAWN, name="test.inside-dear", block_size=64, cost=lambda cell: cell["d"])

    def builder(stated, profile):
        made = narrow(stated, profile)
        return replace(made, sampling=replace(made.sampling, experiment=dear))

    monkeypatch.setattr(inside, "SECONDS", 64 * 8.0)
    found = look(Claim(statement=bound(d / 8), builder=builder), 20)
    assert found.n_places == len(found.refuted) > 3
    assert all(int(place.partition("d=")[2].partition(",")[0]) <= 8 for place, _ in found.refuted)
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
    assert found.n_failed > 5
    assert found.n_failed + len(found.refuted) == 40
    assert all(float(place.partition("k=")[2].partition(",")[0]) >= 4 for place, _ in found.refuted)


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
    assert [place for place, _ in found.refuted] == ["a point of a larger search"]


def test_what_is_not_tried_says_why(look):
    lost = replace(STANDING, verdict="INCONCLUSIVE", mark="INCONCLUSIVE")
    claim = Claim(statement=bound(k), builder=narrow)
    assert look(claim, standing=lost).why == "it is INCONCLUSIVE"
    fixed = Claim(statement=bound(sp.Integer(3)), builder=narrow)
    assert look(fixed).why == "no place is cheap enough, or no parameter can be moved"
    nowhere = Claim(statement=bound(k), builder=lambda s, p: replace(narrow(s, p), cells=()))
    assert look(nowhere).why == "its procedure decides on all of its cells together"

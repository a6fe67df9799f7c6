"""Weaker conditions: cells and points outside the original, and the outcomes that follow."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

from bounds.statement import Assumption, Term
from trials.checks import InvalidParameter
from trials.run.executors import make_executor
from trials.run.store import RunStore
from verify.claims.searching import search
from verify.decisions.domain import Choice, Interval, IntRange, LogInterval
from verify.mutation import opened
from verify.mutation.examination import Examination, Standing
from verify.mutation.mutants import mutants
from verify.mutation.opened import _between, _move, _wider, open_condition
from verify.mutation.score import score_mutants
from verify.papers import catalogue
from verify.procedures.base import PROFILES

CATALOGUE = catalogue()
NAN = float("nan")
QUICK = PROFILES["quick"]
x, n, y = sp.symbols("x n y")


def conditions(statement):
    return {m.name: m for m in mutants(statement) if m.kind in ("assumption", "boundary")}


def toy(limit=1, *, strict=False, observed=lambda point: point["x"] ** 2):
    """x^2 <= x, true up to x = 1 only, on a box that ends at 0.9."""
    base = CATALOGUE["ifca.lemma1"]
    statement = replace(
        base.statement,
        terms=(Term(name="right", expr=x),),
        relation=r"\le",
        failure=None,
        constants=(),
        assumptions=(Assumption(name="limit", left=sp.Integer(limit), right=x, strict=strict),),
    )

    def build(wanted, profile):
        return search(wanted, profile, observed, {"x": Interval(0.1, 0.9)}, budget=200)

    return replace(base, statement=statement, builder=build)


@pytest.fixture
def judged(tmp_path):
    """``claim -> `` outcome and reason of every mutant of a condition."""
    with (
        RunStore.create(tmp_path / "store.sqlite", root_seed=1, config={}) as store,
        make_executor("serial") as executor,
    ):

        def make(claim):
            standing = Standing(verdict="SUPPORTED", mark="SUPPORTED", level=0.001)
            examination = Examination(
                claim=claim, profile=QUICK, standing=standing, store=store, executor=executor
            )
            score = score_mutants(examination, steps=0)
            return score, {
                j.mutant.removeprefix("condition "): j
                for j in score.judged
                if j.kind in ("assumption", "boundary")
            }

        yield make


def test_a_needed_condition_is_refuted_outside_and_moved_limits_lie_between(judged):
    score, found = judged(toy())
    assert found["limit: dropped"].outcome == "refuted"
    assert found["limit: right side 0.5 times as large"].outcome == "refuted"
    assert found["limit: right side 0.9 times as large"].outcome == "refuted"
    assert "counterexample at x=1." in found["limit: right side 0.9 times as large"].why
    # refuted by construction, so that they do not count
    assert (
        score.n_false
        == score.n_caught
        == sum(
            j.outcome in ("refuted", "unsupported") and j.kind not in ("assumption", "boundary")
            for j in score.judged
        )
    )
    assert score.needed() == ["condition limit: right side 0.9 times as large"]
    assert not any("condition" in words for words in score.refuted())


def test_equality_is_tried_at_the_edge_alone(judged):
    strict = toy(strict=True)
    found = judged(strict)[1]
    assert found["limit: equality allowed"].outcome == "true here"  # 1 <= 1
    # though equality is allowed, the condition is needed
    assert found["limit: right side 0.9 times as large"].outcome == "refuted"
    mutant = conditions(strict.statement)["condition limit: equality allowed"]
    procedures = [
        replace(strict, statement=s).build(QUICK) for s in (strict.statement, mutant.statement)
    ]
    moved = open_condition(mutant, strict.statement, *procedures)
    assert next(iter(moved.domain.sample(np.random.default_rng(0), 2))) == {"x": 1.0}
    assert moved.constraints({"x": 1.0})
    assert not moved.constraints({"x": 0.9})


def test_a_needless_condition_is_true_here_and_decides_the_smaller_moves(judged):
    found = judged(toy(observed=lambda point: point["x"] - 1))[1]
    assert {j.outcome for j in found.values()} == {"true here"}
    assert found["limit: right side 0.5 times as large"].why == "as it is without the condition"


@pytest.mark.parametrize(
    "observed",
    [
        lambda point: (1 - point["x"]) ** 0.5 * point["x"],
        lambda point: 0.0 if point["x"] <= 1 else NAN,
    ],
)
def test_a_statement_that_is_undefined_outside_is_neither_refuted_nor_true_there(judged, observed):
    """No point outside the condition gives a number, so that the weaker statement is not tried."""
    found = judged(toy(observed=observed))[1]
    assert len(found) >= 3
    assert {j.outcome for j in found.values()} == {"not tried"}


def test_new_cells_lie_outside_the_condition_and_inside_all_others():
    claim = CATALOGUE["ifca.eq4"]  # N >= C_N d
    mutant = conditions(claim.statement)["condition samples: dropped"]
    original = claim.build(QUICK)
    weaker = replace(claim, statement=mutant.statement).build(QUICK)
    outside = open_condition(mutant, claim.statement, original, weaker)
    assert 0 < len(outside.cells) <= 9
    for cell in outside.cells:
        with pytest.raises(ValueError, match="samples"):
            replace(original, cells=(cell,)).check()
        replace(weaker, cells=(cell,)).check()
        assert any(sum(cell[k] != c[k] for k in cell) == 1 for c in original.cells)


def test_a_condition_that_no_cell_can_leave_is_refused():
    claim = CATALOGUE["sxy.lemma12"]  # V >= 1 functions: there is no smaller number
    mutant = conditions(claim.statement)["condition two functions at least: dropped"]
    procedures = [
        replace(claim, statement=s).build(QUICK) for s in (claim.statement, mutant.statement)
    ]
    with pytest.raises(InvalidParameter, match="no cell outside the condition"):
        open_condition(mutant, claim.statement, *procedures)


def test_a_whole_range_is_moved_between_the_old_limit_and_the_new_one():
    def at(point):
        return {"n": point["n"], "x": float(point["n"])}

    claim = toy(limit=3)
    whole = replace(
        claim,
        statement=replace(
            claim.statement,
            assumptions=(Assumption(name="limit", left=n, right=sp.Integer(8)),),
        ),
        builder=lambda wanted, profile: search(
            wanted, profile, lambda _point: 1.0, {"n": IntRange(8, 20)}, at=at, budget=64
        ),
    )
    mutant = conditions(whole.statement)["condition limit: right side 0.5 times as large"]
    built = [replace(whole, statement=s).build(QUICK) for s in (whole.statement, mutant.statement)]
    moved = open_condition(mutant, whole.statement, *built)
    assert moved.domain.ranges["n"] == IntRange(4, 8)
    assert [v for v in range(4, 9) if moved.constraints({"n": v})] == [4, 5, 6, 7]


@pytest.mark.parametrize("low", [-2.5, -2.0, 0.2, 0.5, 3.0])
@pytest.mark.parametrize("width", [0.0, 0.25, 0.6, 1.0, 2.75])
def test_a_moved_whole_range_holds_the_whole_numbers_between_the_limits(low, width):
    moved = _between(IntRange(0, 9), low, low + width)
    between = [v for v in range(-5, 9) if low <= v <= low + width]
    # Where there is none, the next one stands for the condition's own test to refuse.
    assert list(range(moved.low, moved.high + 1)) == (between or [math.ceil(low)])
    assert _between(Interval(0.0, 9.0), low, low + width) == Interval(low, low + width)


@pytest.mark.parametrize(
    ("given", "least", "wider"),
    [
        (Interval(1.0, 3.0), 0.0, Interval(-1.0, 5.0)),  # by its width on both sides
        (LogInterval(0.5, 2.0), 0.0, LogInterval(0.005, 200.0)),
        (LogInterval(10.0, 1e6), 1.0, LogInterval(1.0, 1e8)),  # a count, searched as a real number
        (IntRange(9, 20, log=True), 0.0, IntRange(2, 20, log=True)),
        (IntRange(2, 20), 1.0, IntRange(1, 20)),
        (IntRange(0, 20), 0.0, IntRange(0, 20)),  # a number that may be zero keeps its end
        (Choice((1, 2)), 0.0, Choice((1, 2))),
    ],
)
def test_a_range_is_widened_where_the_condition_says_nothing_of_it(given, least, wider) -> None:
    assert _wider(given, least) == wider


def test_a_symbol_that_is_at_least_one_wherever_the_statement_speaks_stays_so() -> None:
    """Numbers of clients m and of rows n are real in this search, and p need not exceed 1."""
    claim = CATALOGUE["ifca.a6-separation"]
    statement, search = claim.statement, claim.build(QUICK)
    mutant = conditions(statement)["condition smallest cluster: dropped"]
    weaker = replace(claim, statement=mutant.statement).build(QUICK)
    ranges = open_condition(mutant, statement, search, weaker).domain.ranges
    assert ranges["m"].low == ranges["n"].low == 1.0
    assert ranges["p"].low < search.domain["p"].low


def test_a_cell_is_moved_next_to_the_edge_and_as_far_as_it_may() -> None:
    """Outside are sizes below 3.1: from 100 on the edge lies 5.01 octaves below."""
    found = list(
        _move({"size": 100.0, "name": "x", "flag": True, "zero": 0.0}, lambda c: c["size"] < 3.1)
    )
    assert len(found) == 2
    far, near = (cell["size"] for cell in found)
    assert 3.1 * 2 ** (-1 / 32) <= near < 3.1
    assert far < near
    assert [cell["name"] for cell in found] == ["x", "x"]
    above = [c["size"] for c in _move({"size": 100.0}, lambda c: c["size"] > 250.0)]
    assert 250.0 < above[1] <= 250.0 * 2 ** (1 / 32) < above[0]
    assert not list(_move({"size": 100.0}, lambda _cell: False))


@pytest.fixture
def outside(monkeypatch):
    """``outside(known, edge)``: cells with sizes from 1 to 3.1, as far as they may cost."""

    def found(known, edge=None):
        least = {"original": 3.1, "weaker": 1.0}
        monkeypatch.setattr(opened, "cells_of", lambda _procedure: known)
        monkeypatch.setattr(
            opened, "takes", lambda procedure, cell: cell["size"] >= least[procedure]
        )
        monkeypatch.setattr(opened, "cost_of", lambda _procedure, cell: cell["cost"])
        return opened._cells("original", "weaker", edge or {})

    return found


def test_every_start_gives_a_cell_next_to_the_edge_and_a_far_one_and_equal_ones_count_once(outside):
    starts = ({"size": 16.0, "cost": 1.0}, {"size": 20.0, "cost": 1.0})
    cells = outside(starts)
    assert {cell["size"] for cell in cells} >= {1.0, 20.0 * 2**-4}  # half octaves down to 1
    near = [cell["size"] for cell in cells if cell["size"] > 3.0]
    assert len(cells) == 4
    assert len(near) == 2
    assert all(3.1 * 2 ** (-1 / 32) <= size < 3.1 for size in near)
    assert outside((starts[0],) * 3) == cells[:2]
    assert outside(starts, {"size": 2.0}) == ({"size": 2.0, "cost": 1.0},)
    assert outside(starts, {"size": 5.0}) == ()


def test_cells_outside_are_spread_over_the_starts_and_no_dearer_than_four_times(outside):
    starts = tuple({"size": 16.0, "cost": 1.0, "other": float(i + 1)} for i in range(9))
    cells = outside(starts)
    assert len(cells) == 8  # two for each of four starts
    assert [cell["other"] for cell in cells[::2]] == [1.0, 3.0, 5.0, 7.0]
    moved = outside(starts, {"size": 2.0})
    assert [cell["other"] for cell in moved] == [1.0, 3.0, 5.0, 7.0]
    assert outside(starts, {"size": 2.0, "cost": 4.0}) == tuple(
        {**cell, "cost": 4.0} for cell in moved
    )
    assert outside(starts, {"size": 2.0, "cost": 4.5}) == ()
    # where no chosen start can leave the condition, the others are asked, up to the first
    late = (*({**start, "size": 1e6} for start in starts[:8]), starts[8])
    assert {cell["other"] for cell in outside(late)} == {9.0}


def test_a_condition_on_what_no_point_names_opens_what_the_constraints_forbade():
    """A search without constraints was everywhere before, so that nothing is new."""
    before, after = (Assumption(name="n", left=sp.Integer(c), right=n) for c in (2, 3))
    free = replace(toy().build(QUICK), constraints=None)
    everywhere = opened._search(free, free, before, after)
    assert not any(everywhere.constraints({"x": value}) for value in (0.1, 0.5, 0.9))
    bound = replace(free, constraints=lambda point: point["x"] <= 0.5)
    some = opened._search(bound, free, before, after)
    assert [some.constraints({"x": value}) for value in (0.1, 0.5, 0.9)] == [False, False, True]
    # What the weaker statement forbids stays forbidden.
    short = replace(free, constraints=lambda point: point["x"] <= 0.8)
    some = opened._search(bound, short, before, after)
    assert [some.constraints({"x": value}) for value in (0.5, 0.7, 0.9)] == [False, True, False]

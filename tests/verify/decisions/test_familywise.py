"""The level is split by paper, then by claim: what a claim gets depends on its paper alone."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trials.checks import InvalidParameter
from verify.decisions.familywise import allocate

LISTS = {
    "a": {"a.1": 1.0, "a.2": 2.0, "a.3": 1.0},
    "b": {"b.1": 1.0},
    "c": {"c.1": 0.5, "c.2": 0.5},
    "d": {"d.1": 3.0},
    "e": {"e.1": 1.0},
}
ALL = [(claim, claim) for paper in "abcd" for claim in LISTS[paper]]


def test_the_levels_written_out() -> None:
    levels = allocate(0.08, LISTS, ALL).levels
    assert levels == pytest.approx(
        {"a.1": 0.005, "a.2": 0.01, "a.3": 0.005, "b.1": 0.02, "c.1": 0.01, "c.2": 0.01}
        | {"d.1": 0.02}
    )
    assert math.fsum(levels.values()) == pytest.approx(0.08)


@pytest.mark.parametrize("claim", [claim for _, claim in ALL])
def test_a_claim_that_is_run_alone_has_the_level_of_the_whole_run(claim: str) -> None:
    whole = allocate(0.05, LISTS, ALL)
    assert allocate(0.05, LISTS, [(claim, claim)]).levels[claim] == whole.levels[claim]


def test_another_paper_changes_no_level() -> None:
    before = allocate(0.05, {k: LISTS[k] for k in "ab"}, ALL[:4]).levels
    after = allocate(0.05, LISTS, ALL).levels
    assert {name: after[name] for name in before} == dict(before)


def test_a_deterministic_claim_takes_no_share() -> None:
    without = allocate(0.05, LISTS, ALL)
    beside = allocate(0.05, LISTS, [("a.search", "a.search"), *ALL])
    assert beside == without


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.sampled_from(ALL), min_size=1, max_size=20),
    st.floats(0.001, 0.5),
)
def test_the_levels_never_add_up_to_more_than_the_runs_level(
    named: list[tuple[str, str]], level: float
) -> None:
    """Claims may be named at several values: each selection then has a part of the claim's level"""
    selections = [(f"{claim}[{i}]", claim) for i, (_, claim) in enumerate(named)]
    allocation = allocate(level, LISTS, selections)
    assert len(allocation.levels) == len(selections)
    assert math.fsum(allocation.levels.values()) <= level * (1 + 1e-12)
    for selection, claim in selections:  # the level to replay a selection alone, bit for bit
        again = allocate(allocation.alone[selection], LISTS, [(selection, claim)])
        assert again.levels[selection] == allocation.levels[selection]


def test_a_claim_that_is_named_twice_splits_its_level() -> None:
    allocation = allocate(0.08, LISTS, [("b.1[x=1]", "b.1"), ("b.1[x=2]", "b.1")])
    assert allocation.levels == {"b.1[x=1]": 0.01, "b.1[x=2]": 0.01}
    assert allocation.alone == {"b.1[x=1]": 0.04, "b.1[x=2]": 0.04}


def test_more_papers_than_shares_are_refused_and_a_choice_of_them_is_not() -> None:
    with pytest.raises(InvalidParameter, match=r"at most 4 papers.* these are 5 \(a, b, c, d, e\)"):
        allocate(0.05, LISTS, [*ALL, ("e.1", "e.1")])
    allocate(0.05, LISTS, [("e.1", "e.1"), *ALL[:4]])


def test_bad_weights_and_levels_are_refused() -> None:
    with pytest.raises(InvalidParameter, match=r"weight of claim 'a\.1'=0 must be positive"):
        allocate(0.05, {"a": {"a.1": 0}}, [("a.1", "a.1")])
    with pytest.raises(InvalidParameter, match="level=1 must lie"):
        allocate(1, LISTS, ALL)


def test_the_table_lists_every_level_and_share() -> None:
    table = allocate(0.08, LISTS, ALL).table()
    assert table.rows[1] == ("a.2", pytest.approx(0.01), pytest.approx(0.125))
    assert len(table.rows) == len(ALL)

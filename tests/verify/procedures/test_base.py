"""Sampling requests the missing trials.  Overrides keep to a procedure's own parameters."""

import math
from dataclasses import replace

import numpy as np
import pytest

from bounds.statement import OutsideTheorem
from tests.verify.toys import COIN
from trials.checks import InvalidParameter
from trials.run.engine import ensure
from trials.run.executors import make_executor
from trials.run.store import RunStore
from verify.procedures.base import (
    PROFILES,
    DroppedCell,
    Profile,
    Sampling,
    dropped_cells,
    override_cells,
    tex_number,
)
from verify.procedures.rounds import play_rounds

CELLS = ({"p": 0.1, "tag": 0}, {"p": 0.1, "tag": 1}, {"p": 0.2, "tag": 0})


def anything(_cell):
    return None


def test_an_override_is_put_into_every_cell_and_equal_cells_merge():
    merged = override_cells(CELLS, {"tag": 7}, "toy.claim", anything)
    assert merged == ({"p": 0.1, "tag": 7}, {"p": 0.2, "tag": 7})
    assert CELLS[0] == {"p": 0.1, "tag": 0}


def test_an_unknown_parameter_lists_the_valid_ones():
    with pytest.raises(
        InvalidParameter, match=r"toy.claim has no parameter 'q'; its parameters: p, tag"
    ):
        override_cells(CELLS, {"q": 1}, "toy.claim", anything)


def test_cells_that_leave_the_theorem_are_left_out_unless_all_do():
    def below(limit):
        def check(cell):
            if cell["p"] + cell["tag"] / 10 > limit:
                raise OutsideTheorem(f"p={cell['p']} too large")

        return check

    kept = override_cells(CELLS, {"tag": 0}, "toy.claim", below(0.15))
    assert kept == ({"p": 0.1, "tag": 0},)
    with pytest.raises(OutsideTheorem, match=r"p=0\.1 too large"):
        override_cells(CELLS, {"tag": 5}, "toy.claim", below(0.15))


def test_cells_that_are_left_out_are_collected_with_their_reasons():
    def check(cell):
        if cell["p"] > 0.15:
            raise OutsideTheorem(f"p={cell['p']} too large")

    with dropped_cells() as outer:
        override_cells(CELLS, {"tag": 3}, "toy.claim", check)
        with dropped_cells() as inner:
            override_cells(CELLS, {"tag": 4}, "toy.claim", check)
        override_cells(CELLS, {"tag": 5}, "toy.claim", check)
    override_cells(CELLS, {"tag": 6}, "toy.claim", check)  # collected nowhere
    reason = "p=0.2 too large"
    assert outer == [DroppedCell({"p": 0.2, "tag": tag}, reason) for tag in (3, 5)]
    assert inner == [DroppedCell({"p": 0.2, "tag": 4}, reason)]


def test_profiles_grow():
    budgets = [(p.max_trials, p.searches) for p in PROFILES.values()]
    assert budgets == sorted(budgets)
    assert list(PROFILES) == ["quick", "standard", "full"]
    assert all(PROFILES[name].name == name for name in PROFILES)


def test_the_declared_cost_and_not_the_machine_decides_how_many_trials_are_drawn():
    """128 trials a block.  One trial in each cell costs 0.25 s in all, so 1000 s are enough for
    4000.
    """
    profile = Profile(name="toy", max_trials=10_000, searches=1, seconds=1000.0)
    assert profile.budget(COIN, CELLS) == 10_000  # no declared cost: trials alone limit
    priced = replace(COIN, cost=lambda params: params["p"] * 0.625)
    assert sum(priced.cost(priced.check(cell)) for cell in CELLS) == pytest.approx(0.25)
    assert profile.budget(priced, CELLS) == 3968  # the whole blocks within 4000
    assert profile.budget(replace(priced, block_size=1), CELLS) == 4000
    assert profile.budget(replace(priced, cost=lambda _params: 1e6), CELLS) == 128
    assert profile.budget(replace(priced, cost=lambda _params: 0.0), CELLS) == 10_000
    assert replace(profile, seconds=math.inf).budget(priced, CELLS) == 10_000


def test_trials_are_drawn_in_whole_blocks_up_to_the_budget(tmp_path):
    sampling = Sampling(experiment=COIN, max_trials=1000, first=200)
    cell = {"p": 0.5}
    with (
        RunStore.create(tmp_path / "run", root_seed=1, config={}) as store,
        make_executor("serial", 1) as executor,
    ):
        assert sampling.observed(store, [cell]) == []
        for wanted, blocks in ((200, 2), (256, None), (257, 3), (10**9, 8)):
            demand = sampling.upto(store, cell, wanted)
            assert (demand and demand.n_blocks) == blocks
            if demand:
                ensure(store, [demand], executor)
        assert sampling.upto(store, cell, 10**9) is None  # 1000 trials: eight blocks of 128
        (observed,) = sampling.observed(store, [cell, {"p": 0.25}])
        (part,) = sampling.observed(store, [cell], [200])
    assert observed.table.n_trials == 1024
    assert part.table.n_trials == 256
    assert observed.params == cell


def test_checks_run_the_experiments_own_and_then_the_claims():
    sampling = Sampling(experiment=COIN, max_trials=1)
    with pytest.raises(InvalidParameter, match="p=2 must be"):
        sampling.check([{"p": 2}], anything)

    def refuse(_cell):
        raise OutsideTheorem("outside")

    with pytest.raises(OutsideTheorem):
        sampling.check([{"p": 0.2}], refuse)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.3333, "0.333"),
        (16.0, "16"),
        (10_000, "10\\,000"),
        (99_900, "99\\,900"),
        (1e5, "10^{5}"),
        (1e7, "10^{7}"),
        (2e-6, r"2\times10^{-6}"),
        (1_224_977, r"1.22\times10^{6}"),
        (500, "500"),
        (1234.0, "1234"),
    ],
)
def test_numbers_inside_math(value, text):
    assert tex_number(value) == text


def with_cost(cost, block_size):
    """A coin whose trials are said to take ``cost`` CPU seconds."""
    return replace(COIN, block_size=block_size, cost=lambda _params: cost)


@pytest.mark.parametrize(
    ("cost", "block", "counts"),
    [(0.05, 8, (16, 600)), (0.05, 1, (20, 600)), (1.0, 1, (1, 30)), (1.0, 8, (8, 24))],
)
def test_slow_trials_are_drawn_as_the_seconds_of_a_claim_allow(tmp_path, cost, block, counts):
    """Two cells; 2 s at quick and 60 s at standard.  A larger profile keeps the trials."""
    experiment = with_cost(cost, block)
    totals = []
    with RunStore.create(tmp_path / "run", root_seed=1, config={}) as store:
        for name in ("quick", "standard"):
            sampling = PROFILES[name].sampling(experiment, CELLS[:2])
            assert sampling.first <= sampling.max_trials
            while demands := play_rounds(sampling, store, CELLS[:2], lambda _o: [0, 1])[0]:
                ensure(store, demands, make_executor("serial"))
            totals.append({c.n_trials for c in store.status()})
    assert totals == [{counts[0]}, {counts[1]}]


@pytest.mark.parametrize(
    ("blocks", "n_trials"), [((0,), 128), ((0, 1, 3), 256), ((1, 2), None), ((0, 1, 2, 3), 384)]
)
def test_trials_are_read_from_the_first_block_up_to_a_gap_or_the_budget(tmp_path, blocks, n_trials):
    sampling = Sampling(experiment=COIN, max_trials=384)
    with RunStore.create(tmp_path / "run", root_seed=1, config={}) as store:
        for block in blocks:
            values = np.full((128, len(COIN.columns)), float(block))
            store.put_block(COIN, {"p": 0.5}, block, values, code="")
        found = sampling.observed(store, [{"p": 0.5}])
    assert [o.table.n_trials for o in found] == ([] if n_trials is None else [n_trials])

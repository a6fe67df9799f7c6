import itertools
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trials.toys import TOY, free
from trials.checks import InvalidParameter
from trials.run import engine
from trials.run import experiment as registry
from trials.run.block import BlockResult, Task, TrialsRaised, WrongValues
from trials.run.cell import canonical_json, cell_number
from trials.run.engine import (
    Demand,
    ensure,
    parse_trial_id,
    refuse_other_code,
    replay,
    trial_id,
)
from trials.run.executors import Executor, ExecutorError, make_executor
from trials.run.experiment import Experiment, each_trial
from trials.run.store import NewBlock, RunStore, StoreError
from trials.run.store.writing import check_block
from trials.run.streams import block_stream
from trials.text import printable

ROOT = Path(__file__).parents[3]


def _run(path, demands, seed=7, executor=None, on_block=None):
    """Make or extend a run and return its digest."""
    make = (
        RunStore.open(path) if path.exists() else RunStore.create(path, root_seed=seed, config={})
    )
    with make as store, executor or make_executor("serial") as workers:
        ensure(store, demands, workers, on_block)
        return store.content_digest()


def _table(path, params):
    with RunStore.open(path, readonly=True) as store:
        return store.table(TOY, params)


class Shuffled(Executor):
    """Runs its tasks in an order that a test chose, many in flight."""

    def __init__(self, order):
        super().__init__()
        self.capacity = len(order)
        self._order = list(order)

    def wait(self):
        self._waiting.rotate(self._order.pop())
        return super().wait()


# -- what a result may depend on -------------------------------------------------------------


def test_values_are_those_of_a_loop_over_the_documented_streams(tmp_path):
    """Oracle: NumPy alone, no engine."""
    _run(tmp_path / "run", [Demand(TOY, {"mean": 3, "scale": 2.0}, 3)], seed=11)
    cell = cell_number({"mean": 3.0, "mode": "plain", "scale": 2.0})
    rows = []
    for block in range(3):
        key = (TOY.design, cell >> 32, cell & 0xFFFFFFFF, block)
        rng = np.random.Generator(np.random.Philox(np.random.SeedSequence(11, spawn_key=key)))
        rows.append(3.0 + 2.0 * rng.standard_normal((16, 2)))
    table = _table(tmp_path / "run", {"mean": 3, "scale": 2.0})
    assert table.values.tobytes() == np.concatenate(rows).tobytes()


@settings(deadline=None, max_examples=15)
@given(
    sizes=st.lists(st.integers(0, 4), min_size=1, max_size=3),
    order=st.lists(st.integers(-5, 5), min_size=12, max_size=12),
    reverse=st.booleans(),
)
def test_results_do_not_depend_on_the_order_of_work(tmp_path_factory, sizes, order, reverse):
    folder = tmp_path_factory.mktemp("order")
    demands = [Demand(TOY, {"mean": i, "mode": "diverges"}, n) for i, n in enumerate(sizes)]
    plain = _run(folder / "plain", demands)
    shuffled = demands[::-1] if reverse else demands
    assert _run(folder / "shuffled", shuffled, executor=Shuffled(order)) == plain


@settings(deadline=None, max_examples=15)
@given(steps=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 5)), min_size=1, max_size=6))
def test_an_extended_run_is_the_run_made_at_once(tmp_path_factory, steps):
    folder = tmp_path_factory.mktemp("extend")
    final = {}
    for mean, n_blocks in steps:
        before = {m: _table(folder / "steps", {"mean": m}) for m in final}
        _run(folder / "steps", [Demand(TOY, {"mean": mean}, n_blocks)])
        final[mean] = max(n_blocks, final.get(mean, 0))
        for m, old in before.items():  # more trials never change earlier ones
            new = _table(folder / "steps", {"mean": m})
            assert new.values[: old.n_trials].tobytes() == old.values.tobytes()
    at_once = _run(folder / "once", [Demand(TOY, {"mean": m}, n) for m, n in final.items()])
    assert _run(folder / "steps", []) == at_once


def test_other_cells_and_the_seed_of_a_run(tmp_path):
    alone = _run(tmp_path / "a", [Demand(TOY, {"mean": 1}, 2)])
    assert _run(tmp_path / "b", [Demand(TOY, {"mean": 1}, 2)]) == alone
    assert _run(tmp_path / "c", [Demand(TOY, {"mean": 1}, 2)], seed=8) != alone
    _run(tmp_path / "d", [Demand(TOY, {"mean": m}, 2) for m in (5, 1, 3)])
    one, many = (_table(tmp_path / name, {"mean": 1}) for name in "ad")
    assert one.values.tobytes() == many.values.tobytes()


def test_the_error_of_an_experiment_is_that_of_its_first_block_whoever_was_first():
    """The line does not depend on the order in which workers finish."""
    cells = [TOY.check({"mean": mean}) for mean in (1.0, 2.0)]
    done = []
    for block, params in itertools.product((0, 1, 2), cells):
        text = f"raised in block {block} of {params['mean']}"
        values = np.full((TOY.block_size, 2), np.nan)
        done.append((Task(TOY, params, 0, block), BlockResult(values, (), 0.0, raised=text)))
    for order in itertools.permutations(range(6), 6):
        raised = engine._Raised(set())
        assert not any(raised.let_through(*done[i]) for i in order)
        with pytest.raises(TrialsRaised, match=r"every trial .* raised in block 0 of 1\.0$"):
            raised.refuse()


# -- exactly the missing blocks --------------------------------------------------------------


def test_failures_of_blocks_that_are_not_asked_for_do_not_count(tmp_path):
    """Six blocks are stored, and two of them are asked for beside a new cell."""
    calls = []
    with RunStore.create(tmp_path / "run", root_seed=7, config={}) as store:
        many = Demand(TOY, {"mode": "diverges"}, 6)
        ensure(store, [many], make_executor("serial"))
        few, new = replace(many, n_blocks=2), Demand(TOY, {"mean": 5.0}, 1)
        ensure(store, [few, new], make_executor("serial"), lambda *call: calls.append(call))
        values = store.table(TOY, many.params)[TOY.columns[0]]
    n_failed = int((values[: 2 * TOY.block_size] < 0).sum())  # as the toy diverges
    assert 0 < n_failed < int((values < 0).sum())
    assert [(done, total, failed) for done, total, _, failed in calls] == [(3, 3, n_failed)]


def test_ensure_computes_exactly_what_is_missing_and_says_so(tmp_path):
    calls = []

    def on_block(*call):
        calls.append(call)

    with RunStore.create(tmp_path / "run", root_seed=7, config={}) as store:
        two, five = Demand(TOY, {"mean": 1}, 2), Demand(TOY, {"mean": 1.0}, 5)
        other = Demand(TOY, {"mode": "diverges"}, 1)
        assert ensure(store, [two], make_executor("serial")) == 2
        # Two demands on one cell count as the larger.
        assert ensure(store, [two, five, other], make_executor("serial"), on_block) == 4
        assert ensure(store, [five, other, two], make_executor("serial"), on_block) == 0
        assert store.blocks(TOY, {"mean": 1}) == set(range(5))
        one = store.table(TOY, other.params).n_failed
        more = replace(other, n_blocks=2)
        assert ensure(store, [more], make_executor("serial"), on_block) == 1
        two = store.table(TOY, other.params).n_failed
    assert 0 < one < two
    full = [Demand(TOY, TOY.check(d.params), d.n_blocks) for d in (five, other, more)]
    assert calls == [
        *((done, 6, full[0], 0) for done in (3, 4, 5)),
        (6, 6, full[1], one),
        (2, 2, full[2], two),  # failures of blocks that were stored before count too
    ]


def test_blocks_of_two_versions_never_meet_in_a_run_whose_code_is_not_known(tmp_path):
    """The blocks tell who made them, also where the run does not say with what it was started."""
    values = np.zeros((TOY.block_size, 2))
    with RunStore.create(tmp_path / "run", root_seed=7, config={}) as store:
        store.put_block(TOY, {"mean": 1}, 0, values, code="older")
        for demands in ([Demand(TOY, {"mean": 1}, 2)], [Demand(TOY, {"mean": 1}, 1)]):
            with pytest.raises(StoreError, match="its code differs"):
                ensure(store, demands, make_executor("serial"))
        with pytest.raises(StoreError, match="its code differs"):
            ensure(
                store, [Demand(TOY, {}, 1), Demand(TOY, {"mean": 1}, 2)], make_executor("serial")
            )
        assert store.codes() == {"older"}
        assert sum(status.n_blocks for status in store.status()) == 1
        with pytest.raises(StoreError, match="its code differs"):
            refuse_other_code(store, [TOY])
        # Another cell of the experiment has no block of the older code yet.
        assert ensure(store, [Demand(TOY, {}, 1)], make_executor("serial")) == 1
        with pytest.raises(StoreError, match="its code differs"):
            refuse_other_code(store, [TOY])


@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        (Demand(TOY, {"scale": -1.0}, 1), InvalidParameter, "scale=-1.0 must be positive"),
        (Demand(TOY, {"scale": float("nan")}, 1), InvalidParameter, "scale=nan must be"),
        (Demand(TOY, {"mean": float("inf")}, 1), InvalidParameter, "must be finite"),
        (Demand(TOY, {}, -1), InvalidParameter, "n_blocks=-1 must be"),
        (Demand(TOY, {}, 1.5), InvalidParameter, "n_blocks=1.5 must be"),
        (Demand(replace(TOY, block_size=8), {}, 1), StoreError, "a changed design needs a new"),
    ],
)
def test_a_bad_demand_is_refused_before_any_work(tmp_path, bad, error, message):
    with RunStore.create(tmp_path / "run", root_seed=7, config={}) as store:
        store.register(TOY, {})
        with pytest.raises(error, match=message):
            ensure(store, [Demand(TOY, {"mean": 1}, 3), bad], make_executor("serial"))
        assert sum(status.n_blocks for status in store.status()) == 0


def test_more_blocks_than_a_run_serves_are_refused_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "MOST_BLOCKS", 3)
    with (
        RunStore.create(tmp_path / "run", root_seed=1, config={}) as store,
        make_executor("serial") as executor,
    ):
        assert ensure(store, [Demand(TOY, {}, 3)], executor) == 3
        with pytest.raises(InvalidParameter, match=r"^4 blocks are more than a run holds \(3\)"):
            ensure(store, [Demand(TOY, {}, 4)], executor)
        with pytest.raises(InvalidParameter, match=r"^5 blocks are more"):  # with those stored
            ensure(store, [Demand(TOY, {"mean": 2.0}, 2)], executor)
        assert ensure(store, [Demand(TOY, {}, 3)], executor) == 0
        assert store.n_blocks() == len(store.blocks(TOY, TOY.check({}))) == 3


def test_a_check_that_is_not_idempotent_is_a_programming_error(tmp_path):
    growing = replace(TOY, check=lambda p: {"mean": p.get("mean", 0) + 1})
    with (
        RunStore.create(tmp_path / "run", root_seed=7, config={}) as store,
        pytest.raises(ValueError, match="must return canonical parameters"),
    ):
        ensure(store, [Demand(growing, {}, 1)], make_executor("serial"))


def test_a_read_only_run_that_lacks_blocks_is_refused_at_once(tmp_path):
    _run(tmp_path / "run", [Demand(TOY, {}, 2)])
    with RunStore.open(tmp_path / "run", readonly=True) as store:
        assert ensure(store, [Demand(TOY, {}, 2)], make_executor("serial")) == 0
        with pytest.raises(StoreError, match="read-only and lacks 3 blocks"):
            ensure(store, [Demand(TOY, {}, 5)], make_executor("serial"))


# -- trials that fail ------------------------------------------------------------------------


def test_a_trial_that_diverges_is_a_row_with_a_reason(tmp_path):
    params = {"mode": "diverges"}
    _run(tmp_path / "run", [Demand(TOY, params, 8)])
    table = _table(tmp_path / "run", params)
    assert table.n_trials == 8 * 16  # the denominator
    assert np.array_equal(table.failed, table["first"] < 0)
    assert 0 < table.n_failed < table.n_trials
    assert {reason for _, reason in table.reasons} == {"diverged: second=inf"}
    assert [trial for trial, _ in table.reasons] == np.flatnonzero(table.failed).tolist()


def _one_small(_params, rng):
    drawn = rng.random()
    if drawn < 0.25:
        raise ValueError(f"{drawn:.2f} is small")
    return (drawn,)


def _tried(folder, experiment, n_blocks):
    """The trials of so many blocks of an experiment without parameters, from a run of seed 1."""
    with RunStore.create(folder / "run", root_seed=1, config={}) as store:
        with make_executor("serial") as executor:
            ensure(store, [Demand(experiment, {}, n_blocks)], executor)
        return store.table(experiment, {})


def test_a_trial_that_raises_fails_alone(tmp_path):
    alone = Experiment(
        name="test.alone", design=4_000_000_192, columns=("u",), block_size=64,
        simulate=each_trial(_one_small), check=dict,
    )  # fmt: skip
    table = _tried(tmp_path, alone, 2)
    streams = [block_stream(1, alone.design, cell_number({}), block) for block in (0, 1)]
    drawn = np.concatenate([rng.random(64) for rng in streams])
    assert np.array_equal(table.failed, drawn < 0.25)
    assert np.array_equal(table["u"][~table.failed], drawn[~table.failed])
    assert dict(table.reasons) == {
        row: f"raised: ValueError: {drawn[row]:.2f} is small"
        for row in np.flatnonzero(table.failed)
    }


def test_trials_that_all_raise_raise_what_the_first_did():
    with pytest.raises(ValueError, match=r"^0\.\d+ is small$"):
        each_trial(_one_small)({}, np.random.default_rng(3), 1)  # 0.09
    with pytest.raises(OSError, match="disk"):
        each_trial(_no_disk)({}, np.random.default_rng(3), 4)


def _no_disk(_params, _rng):
    raise OSError("no disk")


def _sometimes_leaves(_params, rng):
    if (drawn := rng.random()) < 0.25:
        sys.exit(0)
    return (drawn,)


def test_a_trial_that_ends_the_program_fails_alone(tmp_path):
    """`sys.exit(0)` in a trial ended the run with the status of success, and decided nothing."""
    leaves = Experiment(
        name="test.leaves", design=4_000_000_193, columns=("u",), block_size=64,
        simulate=each_trial(_sometimes_leaves), check=dict,
    )  # fmt: skip
    table = _tried(tmp_path, leaves, 1)
    drawn = block_stream(1, leaves.design, cell_number({}), 0).random(64)
    assert 0 < table.failed.sum() < 64
    assert np.array_equal(table.failed, drawn < 0.25)
    assert {reason for _, reason in table.reasons} == {"raised: SystemExit: 0"}


@pytest.mark.parametrize("kind", ["serial", "threads"])
def test_an_experiment_whose_every_block_ends_the_program_is_an_error(tmp_path, kind):
    never = replace(
        TOY, name="test.never", design=4_000_000_194, simulate=lambda *_: sys.exit("bye")
    )
    with (
        RunStore.create(tmp_path / "run", root_seed=1, config={}) as store,
        make_executor(kind, 1) as executor,
        pytest.raises(ExecutorError, match=r"every trial of .* raised: SystemExit: bye"),
    ):
        ensure(store, [Demand(never, {}, 2)], executor)


def _sort_and_grow(params, _rng, n_trials):
    params["weights"].sort()
    params["weights"].append(9.0)
    params["nested"]["left"].pop()
    return np.full((n_trials, 1), float(len(params["weights"])))


@pytest.mark.parametrize("kind", ["serial", "threads"])
def test_a_simulation_that_changes_its_lists_changes_no_cell(tmp_path, kind):
    """Its blocks were stored in cells of the changed lists, and the demanded one stayed empty."""
    changes = Experiment(
        name="test.changes", design=4_000_000_195, columns=("n",), block_size=4,
        simulate=_sort_and_grow, check=dict,
    )  # fmt: skip
    params = {"weights": [2.0, 1.0], "nested": {"left": [1]}}
    with RunStore.create(tmp_path / "run", root_seed=1, config={}) as store:
        with make_executor(kind, 1) as executor:
            ensure(store, [Demand(changes, params, 3)], executor)
        (cell,) = store.cells()
        assert cell.params == params == {"weights": [2.0, 1.0], "nested": {"left": [1]}}
        assert store.table(changes, params).values.tolist() == [[3.0]] * 12


def test_a_block_that_raises_is_rows_of_nan_with_the_reason(tmp_path):
    params = {"mode": "raises"}
    _run(tmp_path / "run", [Demand(TOY, params, 12)])
    plain = _run(tmp_path / "plain", [Demand(TOY, {}, 1)])
    assert plain
    table = _table(tmp_path / "run", params)
    by_block = table.failed.reshape(12, 16)
    assert table.n_trials == 12 * 16
    assert 0 < by_block[:, 0].sum() < 12
    assert (by_block == by_block[:, :1]).all()
    assert np.array_equal(np.isnan(table.values).all(axis=1), table.failed)
    one_line = "raised: ZeroDivisionError: first value is negative"
    assert {reason for _, reason in table.reasons} == {one_line}


def test_an_overflow_is_a_failed_trial_whatever_the_callers_error_state(tmp_path):
    params = {"mode": "overflows"}
    calm = _run(tmp_path / "calm", [Demand(TOY, params, 1)])
    with np.errstate(all="raise"):
        assert _run(tmp_path / "strict", [Demand(TOY, params, 1)]) == calm
    assert _table(tmp_path / "calm", params).n_failed == 16


@pytest.mark.parametrize("kind", ["serial", "threads"])
@pytest.mark.parametrize(
    ("mode", "error", "message"),
    [
        ("shape", WrongValues, r"must return float64 of shape \(16, 2\), not .* \(16, 1\)"),
        ("dtype", WrongValues, "must return float64 .* not ndarray float32"),
        ("memory", MemoryError, "no room"),
    ],
)
def test_what_is_no_property_of_a_trial_raises_and_loses_nothing(
    tmp_path, kind, mode, error, message
):
    demands = [Demand(TOY, {"mean": 1}, 3), Demand(TOY, {"mode": mode}, 2)]
    with RunStore.create(tmp_path / "run", root_seed=7, config={}) as store:
        with pytest.raises(error, match=message):
            ensure(store, demands, make_executor(kind, 1))
        assert store.blocks(TOY, {"mean": 1}) == {0, 1, 2}
        assert store.blocks(TOY, {"mode": mode}) == set()


def test_a_mask_hides_no_failed_trial():
    """NumPy's tests pass over masked entries, and its bytes hold 1e20 in their place."""

    def simulate(params, rng, n_trials):
        values = rng.standard_normal((n_trials, 2))
        values[0, 0] = np.nan
        return np.ma.masked_invalid(values)

    with pytest.raises(WrongValues, match="must return no masked entries"):
        engine.simulate_block(Task(replace(TOY, simulate=simulate), TOY.check({}), 7, 0))

    def one(params, rng):
        first = rng.standard_normal()
        return np.ma.masked_less([first, 1.0], 0.0)

    drawn = replace(TOY, simulate=each_trial(one))
    found = engine.simulate_block(Task(drawn, TOY.check({}), 7, 0))
    stream = block_stream(7, TOY.design, cell_number(TOY.check({})), 0)
    expected = np.array([stream.standard_normal() for _ in range(16)])
    assert [row for row, _ in found.reasons] == np.flatnonzero(expected < 0).tolist()
    assert np.array_equal(found.values[expected >= 0, 0], expected[expected >= 0])
    with pytest.raises(InvalidParameter, match="no masked entries"):
        check_block(NewBlock(TOY, {}, 0, np.ma.masked_less(np.arange(32.0).reshape(16, 2), 3.0)))


def test_a_block_keeps_its_values_where_the_next_one_is_written_into_the_same_array():
    """Three blocks of one thread were stored with the values of the last."""
    shared = np.empty((16, 2))

    def simulate(params, rng, n_trials):
        shared[:] = rng.standard_normal((n_trials, 2))
        return shared

    owner = replace(TOY, simulate=simulate)
    tasks = [Task(owner, TOY.check({}), 7, block) for block in range(3)]
    found = [engine.simulate_block(task).values for task in tasks]
    for task, values in zip(tasks, found, strict=True):
        stream = block_stream(7, TOY.design, cell_number(task.params), task.block)
        assert values.tobytes() == stream.standard_normal((16, 2)).tobytes()


# -- interruption ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["serial", "threads"])
def test_an_interrupt_keeps_the_finished_blocks_and_a_resume_completes_the_run(
    tmp_path, kind, monkeypatch
):
    monkeypatch.setattr(engine, "SECONDS_BETWEEN_COMMITS", 0.0)  # each block is committed alone
    demands = [Demand(TOY, {"mode": "slow"}, 12)]

    def interrupt(done, *_):
        if done == 4:
            raise KeyboardInterrupt

    path = tmp_path / "run"
    with RunStore.create(path, root_seed=7, config={}) as store:
        with pytest.raises(KeyboardInterrupt):
            ensure(store, demands, make_executor(kind, 2), interrupt)
        assert 4 <= len(store.blocks(TOY, {"mode": "slow"})) < 12
    assert _run(path, demands) == _run(tmp_path / "whole", demands)


class Interrupted(Executor):
    """Finishes three blocks and raises where the first of them is asked for."""

    capacity = 3

    def wait(self):
        self.done = [super(Interrupted, self).wait() for _ in range(3)]
        raise KeyboardInterrupt

    def finished(self):
        return self.done


def test_blocks_that_finished_before_an_exception_are_stored(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        _run(tmp_path / "run", [Demand(TOY, {}, 5)], executor=Interrupted())
    whole = _run(tmp_path / "whole", [Demand(TOY, {}, 3)])
    with RunStore.open(tmp_path / "run", readonly=True) as store:
        assert store.blocks(TOY, TOY.check({})) == {0, 1, 2}
        assert store.content_digest() == whole


class Finishing(Executor):
    """Computes tasks at once, so that the block of each that is submitted has finished."""

    capacity = 3

    def ready(self, seconds):
        return bool(self._waiting)


@pytest.mark.parametrize(
    ("seconds", "n_bytes", "finishing", "sizes"),
    [
        (1e9, 1 << 24, True, [7]),
        (1e9, 512, True, [2, 2, 2, 1]),  # a block of TOY has 16 rows of 2 values, 256 bytes
        (0.0, 1 << 24, True, [1] * 7),
        (1e9, 1 << 24, False, [1] * 7),  # nobody knows when the next block comes
    ],
)
def test_blocks_that_finish_together_are_committed_together(
    tmp_path, monkeypatch, seconds, n_bytes, finishing, sizes
):
    monkeypatch.setattr(engine, "SECONDS_BETWEEN_COMMITS", seconds)
    monkeypatch.setattr(engine, "MOST_BYTES_HELD", n_bytes)
    found, stored, told = [], [], []
    put_blocks = RunStore.put_blocks

    def counted(store, blocks):
        found.append(len(blocks))
        put_blocks(store, blocks)

    monkeypatch.setattr(RunStore, "put_blocks", counted)
    demands = [Demand(TOY, {"mean": 1.0}, 4), Demand(TOY, {"mean": 2.0}, 3)]
    executor = Finishing() if finishing else Executor()
    with RunStore.create(tmp_path / "run", root_seed=7, config={}) as store:

        def note(done, total, demand, n_failed):
            told.append((done, total))
            stored.append(store.n_blocks())

        assert ensure(store, demands, executor, note) == 7
        digest = store.content_digest()
    assert found == sizes
    assert told == [(done, 7) for done in range(1, 8)]
    assert all(n >= done for n, (done, _) in zip(stored, told, strict=True))
    assert digest == _run(tmp_path / "whole", demands)


def test_an_interrupt_before_a_commit_loses_no_block_that_is_held(tmp_path, monkeypatch):
    """Two blocks wait for their commit when the third one is asked for and never comes."""
    monkeypatch.setattr(engine, "SECONDS_BETWEEN_COMMITS", 1e9)

    class Ending(Finishing):
        def wait(self):
            if self._waiting[0].block == 2:
                raise KeyboardInterrupt
            return super().wait()

    with RunStore.create(tmp_path / "run", root_seed=7, config={}) as store:
        with pytest.raises(KeyboardInterrupt):
            ensure(store, [Demand(TOY, {}, 5)], Ending())
        assert store.blocks(TOY, TOY.check({})) == {0, 1}


def test_a_second_interrupt_while_workers_end_loses_no_finished_block(tmp_path):
    class Twice(Interrupted):
        def cancel(self):
            if hasattr(self, "done"):
                raise KeyboardInterrupt

    with RunStore.create(tmp_path / "run", root_seed=7, config={}) as store:
        with pytest.raises(KeyboardInterrupt):
            ensure(store, [Demand(TOY, {}, 5)], Twice())
        assert store.blocks(TOY, TOY.check({})) == {0, 1, 2}


def test_an_interrupt_inside_a_trial_is_no_failed_trial(tmp_path):
    with RunStore.create(tmp_path / "run", root_seed=7, config={}) as store:
        with pytest.raises(KeyboardInterrupt):
            ensure(
                store,
                [Demand(TOY, {"mean": 1}, 2), Demand(TOY, {"mode": "interrupt"}, 2)],
                make_executor("serial"),
            )
        assert [s.n_blocks for s in store.status() if s.params["mode"] == "interrupt"] == [0]
        assert store.blocks(TOY, {"mean": 1}) == {0, 1}


KILLED = """
import os
import signal
import sys
from tests.trials.toys import TOY
from trials.run.engine import Demand, ensure
from trials.run.executors import make_executor
from trials.run.store import RunStore

def stop(done, *_):
    if done == 5:
        os.kill(os.getpid(), signal.SIGSTOP)

if __name__ == "__main__":
    # a parent that ignores Ctrl-C (nohup, a job in the background) hands that on
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with RunStore.create(sys.argv[1], root_seed=7, config={}) as store:
        ensure(store, [Demand(TOY, {"mode": "slow"}, 400)], make_executor(sys.argv[2], 2), stop)
"""


@pytest.mark.parametrize(
    ("kind", "sent"), [("threads", "SIGKILL"), ("processes", "SIGKILL"), ("threads", "SIGINT")]
)
def test_a_killed_run_resumes_to_the_identical_store(tmp_path, kind, sent):
    path, script = tmp_path / "run", tmp_path / "killed.py"
    script.write_text(KILLED)
    child = subprocess.Popen(
        [sys.executable, script, path, kind],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stderr=subprocess.DEVNULL,
    )
    _, status = os.waitpid(child.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    child.send_signal(getattr(signal, sent))
    child.send_signal(signal.SIGCONT)
    child.wait()
    with RunStore.open(path) as store:
        kept = store.blocks(TOY, {"mode": "slow"})
        store.content_digest()  # no partial block: every checksum matches
    assert 5 <= len(kept) < 200  # a prompt end, not the end of the work
    n_blocks = max(kept) + 3
    demands = [Demand(TOY, {"mode": "slow"}, n_blocks)]
    resumed = _run(path, demands)
    assert resumed == _run(tmp_path / "whole", demands)
    one, two = (_table(p, {"mode": "slow"}) for p in (path, tmp_path / "whole"))
    assert one.values.tobytes() == two.values.tobytes()
    assert one.n_trials == 16 * n_blocks


# -- trial ids and replay --------------------------------------------------------------------


@settings(deadline=None, max_examples=50)
@given(mean=st.floats(-1e9, 1e9), index=st.integers(0, 10**12))
def test_trial_ids_come_apart_into_what_made_them(mean, index):
    text = trial_id(TOY, {"mean": mean}, index)
    assert re.fullmatch(r"test\.toy:[0-9a-f]{16}:[0-9]+", text)
    parts = parse_trial_id(text)
    cell = cell_number(TOY.check({"mean": mean}))
    assert (parts.experiment, parts.cell, parts.index) == ("test.toy", cell, index)


@pytest.mark.parametrize(
    "text",
    [
        *("", "x", "a:b", "a:0123456789abcdef:-1", "a:0123456789abcde:1", "a:0123456789ABCDEF:1"),
        *("a:0123456789abcdef:1.0", "a:0123456789abcdef:01", ":0123456789abcdef:1", "a b:0123:1\n"),
    ],
)
def test_malformed_trial_ids_are_refused(text):
    with pytest.raises(InvalidParameter, match=r"^trial=.* must read <experiment>:<16 hex"):
        parse_trial_id(text)


@pytest.mark.parametrize("mode", ["plain", "diverges", "raises"])
def test_replay_gives_the_stored_row_bit_for_bit(tmp_path, mode):
    _run(tmp_path / "run", [Demand(TOY, {"mode": mode}, 6)])
    with RunStore.open(tmp_path / "run", readonly=True) as store:
        table = store.table(TOY, {"mode": mode})
        reasons = dict(table.reasons)
        for index in (0, 15, 16, 50, 95):
            name = trial_id(TOY, {"mode": mode}, index)
            columns, values, status, apart, floats, machine = replay(store, name)
            assert (floats, machine) == (0, ())
            assert apart == 0.0
            assert columns == TOY.columns
            assert values.tobytes() == table.values[index].tobytes()
            assert status == reasons.get(index, "ok")
            by_seed = replay(7, name, {"mode": mode})
            assert by_seed.values.tobytes() == values.tobytes()


def test_replay_reports_a_row_that_is_not_what_the_code_gives(tmp_path):
    with RunStore.create(tmp_path / "run", root_seed=7, config={}) as store:
        store.put_block(TOY, {}, 0, np.zeros((16, 2)))
        with pytest.raises(StoreError, match=r"first=.*0\.0.* is stored, .* has changed"):
            replay(store, trial_id(TOY, {}, 3))


def test_replay_tells_how_far_a_row_is_from_the_stored_one(tmp_path):
    whole = _run(tmp_path / "whole", [Demand(TOY, {}, 1)])
    assert whole
    values = _table(tmp_path / "whole", {}).values
    with RunStore.create(tmp_path / "run", root_seed=7, config={}) as store:
        store.put_block(TOY, {}, 0, values * (1.0 + 1e-12))
        assert 0.5e-12 < replay(store, trial_id(TOY, {}, 3)).distance < 2e-12
    with RunStore.create(tmp_path / "far", root_seed=7, config={}) as store:
        store.put_block(TOY, {}, 0, values * (1.0 + 1e-5))
        with pytest.raises(StoreError, match="more than rounding"):
            replay(store, trial_id(TOY, {}, 3))


def test_replay_compares_the_reason_of_a_failed_trial_as_well(tmp_path):
    params = {"mode": "raises"}
    _run(tmp_path / "run", [Demand(TOY, params, 12)])
    table = _table(tmp_path / "run", params)
    failed = table.reasons[0][0]
    block = failed // 16
    others = [(row, "another reason") for row in range(16)]
    with RunStore.create(tmp_path / "other", root_seed=7, config={}) as store:
        for b in range(block):
            store.put_block(TOY, params, b, np.zeros((16, 2)))
        store.put_block(TOY, params, block, np.full((16, 2), np.nan), others)
        with pytest.raises(StoreError, match=r"status 'another reason' is stored, 'raised: Zero"):
            replay(store, trial_id(TOY, params, failed))


def _red(params, rng):
    if rng.random() < 0.5:
        raise ValueError("\x1b[31mred")
    return 1, 2


def test_a_trial_whose_reason_holds_control_characters_is_replayed(tmp_path, monkeypatch):
    """They are stored as a terminal may see them.  Before, the replay was "more than rounding".

    The whole numbers of the other trials are stored as floats.
    """
    red = Experiment(
        name="test.red", design=4_000_000_193, columns=("a", "b"), block_size=16,
        simulate=each_trial(_red), check=dict,
    )  # fmt: skip
    with RunStore.create(tmp_path / "run", root_seed=1, config={}) as store:
        with make_executor("serial") as executor:
            ensure(store, [Demand(red, {}, 1)], executor)
        table = store.table(red, {})
        drawn = block_stream(1, red.design, cell_number({}), 0).random(16)
        assert np.array_equal(table.failed, drawn < 0.5)
        assert table.values[~table.failed].tolist() == [[1.0, 2.0]] * int(np.sum(~table.failed))
        assert {why for _, why in table.reasons} == {"raised: ValueError: \\x1b[31mred"}
        stored = dict(table.reasons)
        monkeypatch.setitem(registry._REGISTRY, red.name, red)
        monkeypatch.setitem(registry._MODULES, red.name, __name__)
        for index in range(16):
            status = replay(store, trial_id(red, {}, index)).status
            assert printable(status) == stored.get(index, "ok")


def test_replay_names_a_column_that_differs_by_more_than_rounding(tmp_path):
    """Before, it named the first one whose last bits differ."""
    _run(tmp_path / "whole", [Demand(TOY, {}, 1)])
    values = _table(tmp_path / "whole", {}).values
    with RunStore.create(tmp_path / "run", root_seed=7, config={}) as store:
        store.put_block(TOY, {}, 0, values * [1.0 + 1e-12, 1.5])
        with pytest.raises(StoreError, match=r": second=.* is stored, second=.* rounding"):
            replay(store, trial_id(TOY, {}, 3))


def test_replay_refuses_trials_that_it_cannot_find(tmp_path):
    _run(tmp_path / "run", [Demand(TOY, {}, 1)])
    name = trial_id(TOY, {}, 3)
    with RunStore.open(tmp_path / "run", readonly=True) as store:
        with pytest.raises(StoreError, match=r"trial 16 .* is not stored"):
            replay(store, trial_id(TOY, {}, 16))
        with pytest.raises(StoreError, match="holds no cell of trial"):
            replay(store, trial_id(TOY, {"mean": 9.0}, 0))
        with pytest.raises(InvalidParameter, match="unknown experiment 'nope'; known: "):
            replay(store, "nope:0123456789abcdef:0")
    with pytest.raises(InvalidParameter, match="must come with its parameters"):
        replay(7, name)
    with pytest.raises(InvalidParameter, match="must be of the parameters"):
        replay(7, name, {"mean": 9.0})


@pytest.mark.parametrize("readonly", [True, False])
def test_a_trial_of_a_version_with_other_parameters_is_refused_by_name(
    tmp_path, monkeypatch, readonly
):
    """The run "was opened read-only", and one that was not got a new cell from a replay."""
    old = Experiment(
        name="test.grown", design=4_000_000_196, columns=("u",), block_size=4,
        simulate=lambda _p, rng, n: rng.random((n, 1)), check=dict,
    )  # fmt: skip
    path, name = tmp_path / "run", trial_id(old, {"a": 1}, 5)
    _run(path, [Demand(old, {"a": 1}, 2)])

    def refused(_params):
        raise InvalidParameter("unknown parameter 'a'; known: b")

    for check, now in (
        (lambda params: {"b": 0} | dict(params), r'\{"a":1,"b":0\} now'),
        (refused, "unknown parameter 'a'; known: b now"),
    ):
        monkeypatch.setitem(registry._REGISTRY, old.name, replace(old, check=check))
        with RunStore.open(path, readonly=readonly) as store:
            told = (
                rf'the parameters of experiment test.grown have changed .*: \{{"a":1\}} then, {now}'
            )
            with pytest.raises(StoreError, match=told):
                replay(store, name)
            assert len(store.cells()) == 1
    monkeypatch.setitem(registry._REGISTRY, old.name, old)
    with RunStore.open(path, readonly=readonly) as store:
        stream = block_stream(7, old.design, cell_number({"a": 1}), 1)
        assert replay(store, name).values == stream.random((4, 1))[1]


# -- cost ------------------------------------------------------------------------------------


def test_overhead_stays_far_below_the_cost_of_a_trial(tmp_path):
    """Aim: 5 us a trial.  Measured 0.2 to 0.6 us, with the machine's load."""
    costless = Experiment(
        name="test.free",
        design=4_000_000_002,
        columns=("zero",),
        simulate=free,
        check=dict,
        block_size=1024,
    )
    with RunStore.create(tmp_path / "run", root_seed=7, config={}) as store:
        start = time.process_time()
        ensure(store, [Demand(costless, {}, 100)], make_executor("serial"))
        seconds = time.process_time() - start
    assert seconds / (100 * 1024) < 5e-6


def test_the_canonical_spelling_is_what_numbers_a_cell():
    assert canonical_json({"b": 1, "a": 2.0}) == '{"a":2.0,"b":1}'
    inner = {"d": np.int64(2), "c": (np.float64(0.5),)}
    assert canonical_json({"a": inner}) == '{"a":{"c":[0.5],"d":2}}'
    for odd in ({"a": np.nan}, {"a": {"b": np.nan}}, {"a": [{"b": [np.inf]}]}):  # also of strangers
        with pytest.raises(InvalidParameter, match="must be finite"):
            canonical_json(odd)
    assert cell_number({"b": 1, "a": 2.0}) == cell_number({"a": np.float64(2), "b": np.int64(1)})


# -- experiments that are wrong ------------------------------------------------------------


def _always(params, rng, n_trials):
    return np.ones((n_trials, 1)) / params["divisor"][0]


def _sometimes(params, rng, n_trials):
    if rng.random() < 0.5:
        raise ValueError("an unlucky block")
    return rng.random((n_trials, 1))


def _where_it_works(params, rng, n_trials):
    if not params["works"]:
        raise ValueError("no such cell")
    return rng.random((n_trials, 1))


def _wrong(name, design, simulate):
    return Experiment(
        name=name, design=design, columns=("x",), simulate=simulate, check=dict, block_size=16
    )


@pytest.mark.parametrize("kind", ["serial", "threads"])
def test_an_experiment_whose_every_trial_raises_stops_with_file_and_line(tmp_path, kind):
    wrong = _wrong("test.wrong", 4_000_000_190, _always)
    line = _always.__code__.co_firstlineno + 1
    demands = [Demand(wrong, {"divisor": i}, 2) for i in (1, 2)]
    with RunStore.create(tmp_path / "run", root_seed=7, config={}) as store:
        message = (
            r"every trial of experiment test.wrong raised: TypeError: 'int' object is not "
            rf"subscriptable \(test_engine.py, line {line}\)"
        )
        for _ in range(2):  # nothing is stored, so that the next call says the same
            with make_executor(kind, 2) as executor, pytest.raises(ExecutorError, match=message):
                ensure(store, [*demands, Demand(TOY, {}, 3)], executor)
        assert store.blocks(TOY, {}) == {0, 1, 2}
        assert not store.blocks(wrong, {"divisor": 1})


def test_blocks_that_raise_now_and_then_are_rows_wherever_the_first_of_them_is(tmp_path):
    rare = _wrong("test.rare", 4_000_000_191, _sometimes)
    with RunStore.create(tmp_path / "run", root_seed=1, config={}) as store:
        with make_executor("serial") as executor:
            ensure(store, [Demand(rare, {}, 12)], executor)
        table = store.table(rare, {})
        by_block = table.failed.reshape(12, 16)[:, 0]
        assert 0 < by_block.sum() < 12
        assert {reason for _, reason in table.reasons} == {"raised: ValueError: an unlucky block"}


@pytest.mark.parametrize("together", [False, True])
def test_new_blocks_that_all_raise_are_rows_where_the_experiment_has_a_block(tmp_path, together):
    """One of another cell that is asked for again, or of a cell that is not."""
    once = _wrong("test.once", 4_000_000_197, _where_it_works)
    good, bad = Demand(once, {"works": True}, 1), Demand(once, {"works": False}, 2)
    with RunStore.create(tmp_path / "run", root_seed=1, config={}) as store:
        with make_executor("serial") as executor, pytest.raises(TrialsRaised):
            ensure(store, [bad], executor)
        for demands in ([good], [good, bad] if together else [bad]):
            with make_executor("serial") as executor:
                ensure(store, demands, executor)
        table = store.table(once, {"works": False})
        assert table.failed.all()
        assert len(table.failed) == 32
        assert {reason for _, reason in table.reasons} == {"raised: ValueError: no such cell"}
        assert not store.table(once, {"works": True}).failed.any()


def test_a_call_reads_the_codes_of_each_experiment_at_most_once(tmp_path, monkeypatch):
    """They are those of all of its cells: read once a demand, they would be read cells^2 times."""
    asked = []
    codes = RunStore.codes

    def counted(store, experiment=None, params=None):
        if experiment is not None and params is None:
            asked.append(experiment.name)
        return codes(store, experiment, params)

    monkeypatch.setattr(RunStore, "codes", counted)
    many = [Demand(TOY, {"mean": float(i)}, 1) for i in range(12)]
    _run(tmp_path / "a.sqlite", many)
    assert asked == [TOY.name]  # nothing was stored: some other cell might have a block
    asked.clear()
    _run(tmp_path / "a.sqlite", [replace(d, n_blocks=2) for d in many])
    assert asked == []  # its own cells have blocks


def test_where_all_trials_raise_the_error_is_that_of_the_first():
    count = iter(range(3))

    def one(params, rng):
        raise ValueError(f"trial {next(count)}")

    with pytest.raises(ValueError, match=r"^trial 0$"):
        each_trial(one)({}, np.random.default_rng(0), 3)
    assert next(count, None) is None  # all were tried


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from([True, False, 3, -0.5, None]), min_size=1, max_size=9))
def test_trials_that_raise_are_told_by_their_rows_and_the_first_by_its_words(rows):
    """None stands for a trial that raises.  Truths and whole numbers are numbers."""
    left = iter(enumerate(rows))

    def one(params, rng):
        row, value = next(left)
        if value is None:
            raise ValueError(f"trial {row}")
        return (value, 2.0)

    lost = [row for row, value in enumerate(rows) if value is None]
    wanted = np.array([[np.nan if v is None else v, np.nan if v is None else 2.0] for v in rows])
    simulate = each_trial(one)
    if not lost:
        found = simulate({}, np.random.default_rng(0), len(rows))
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, wanted)
    elif len(lost) == len(rows):
        with pytest.raises(ValueError, match=r"^trial 0$"):
            simulate({}, np.random.default_rng(0), len(rows))
    else:
        with pytest.raises(registry.SomeTrialsRaised) as caught:
            simulate({}, np.random.default_rng(0), len(rows))
        np.testing.assert_array_equal(caught.value.values, wanted)
        assert {row: str(error) for row, error in caught.value.errors.items()} == {
            row: f"trial {row}" for row in lost
        }
        assert str(caught.value) == (
            f"{len(lost)} of {len(rows)} trials raised, the first one ValueError('trial {lost[0]}')"
        )


class Noted(Executor):
    """Notes the mean and the number of each block that is submitted."""

    def __init__(self):
        super().__init__()
        self.order = []

    def submit(self, task):
        self.order.append((task.params["mean"], task.block))
        super().submit(task)


@pytest.mark.parametrize("blockwise", [False, True])
def test_the_dearest_cells_come_first_and_blockwise_takes_one_block_of_each(tmp_path, blockwise):
    """A cost that is no number counts as none, and equal costs keep the order of the demands."""
    seconds = {0.0: 1.0, 1.0: np.inf, 2.0: 5.0, 3.0: np.nan, 4.0: 1.0}
    costed = replace(TOY, cost=lambda params: seconds[params["mean"]])
    demands = [Demand(costed, {"mean": mean}, 2) for mean in seconds]
    workers = Noted()
    with RunStore.create(tmp_path / "run", root_seed=7, config={}) as store:
        ensure(store, [Demand(costed, {"mean": 4.0}, 1)], make_executor("serial"))
        assert ensure(store, demands, workers, blockwise=blockwise) == 9
        assert store.n_blocks() == 10
    dearest = [2.0, 0.0, 4.0, 1.0, 3.0]
    order = [(mean, block) for mean in dearest for block in (0, 1)]
    if blockwise:
        order = [(mean, block) for block in (0, 1) for mean in dearest]
    order.remove((4.0, 0))  # it was stored before
    assert workers.order == order


def test_one_block_of_each_experiment_comes_first(tmp_path):
    """Workers that compile the kernels of one experiment would wait for each other."""
    dear = replace(TOY, name="dear", design=TOY.design + 1, cost=lambda params: 9.0)
    workers = Noted()
    demands = [Demand(TOY, {"mean": 0.0}, 2), Demand(TOY, {"mean": 1.0}, 1)]
    demands += [Demand(dear, {"mean": mean}, 2) for mean in (2.0, 3.0)]
    with RunStore.create(tmp_path / "run", root_seed=7, config={}) as store:
        assert ensure(store, demands, workers) == 7
    first, others = workers.order[:2], workers.order[2:]
    assert first == [(2.0, 0), (0.0, 0)]
    assert others == [(2.0, 1), (3.0, 0), (3.0, 1), (0.0, 1), (1.0, 0)]


@pytest.mark.parametrize(
    ("params", "why"),
    [
        ({"name": "\x1b[31mred"}, "canonical spelling"),
        ({"name": "zero\u200bwidth"}, "canonical spelling"),
        ({"sizes": list(range(20_000))}, "has 108901 characters, at most 65536 are allowed"),
    ],
)
def test_parameters_that_a_run_cannot_hold_are_refused_and_leave_it_whole(params, why, tmp_path):
    """Before, the cell was written, and from then on the whole run was refused as damaged."""
    free_check = replace(TOY, check=dict, name="test.any")
    with RunStore.create(tmp_path / "run", root_seed=0, config={}) as store:
        with pytest.raises(InvalidParameter, match=rf"'test.any'.* cannot be stored \(.*{why}"):
            ensure(store, [Demand(free_check, params, 1)], make_executor("serial"))
        assert store.cells() == []
        store.register(free_check, {"sizes": list(range(10_000)), "name": "\u00e9"})
        assert len(store.cells()) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"columns": ("a\nb", "c")}, "names of its columns must be printable"),
        ({"columns": ("c" * 201,)}, "at most 200 characters"),
        ({"columns": tuple("abcdefghi"), "block_size": 1 << 20}, "1 to 8388608 values"),
    ],
)
def test_an_experiment_that_a_run_cannot_hold_is_refused_before_a_trial(change, message, tmp_path):
    """Its user chose the names and the size, so that it is no fault of the program."""
    owner = replace(TOY, simulate=dict, **change)  # a trial would raise another error
    with RunStore.create(tmp_path / "x", root_seed=0, config={}) as store:
        with pytest.raises(InvalidParameter, match=message):
            ensure(store, [Demand(owner, {}, 1)], make_executor("serial"))
        assert not list(store.cells())
        for fits in ({"columns": ("c" * 200,)},
                     {"columns": tuple("abcdefgh"), "block_size": 1 << 20}):  # fmt: skip
            name = f"test.fits{len(fits)}"
            store.register(replace(TOY, name=name, **fits), {})
        assert len(list(store.cells())) == 2

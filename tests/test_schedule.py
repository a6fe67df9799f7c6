"""The simulated schedule of docs/laptop-to-cluster.md against cases that can be done by hand."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.trials.toys import TOY
from trials.run.engine import Demand, ensure
from trials.run.executors import make_executor
from trials.run.store import RunStore

SPEC = importlib.util.spec_from_file_location(
    "schedule", Path(__file__).parents[1] / "docs" / "schedule.py"
)
schedule = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(schedule)


@pytest.fixture
def free_of_charge(monkeypatch):
    """Handing out and committing take no time."""
    monkeypatch.setattr(schedule, "SECONDS_OF_A_BATCH", 0.0)
    monkeypatch.setattr(schedule, "SECONDS_OF_A_BLOCK", 0.0)


@pytest.mark.usefixtures("free_of_charge")
@pytest.mark.parametrize(
    ("work", "n_workers", "seconds"),
    [([3, 2, 2], 2, 4), ([3, 3, 2, 2, 2], 2, 7), ([5, 1, 1], 8, 5), ([1] * 10, 3, 4)],
)
def test_a_batch_goes_to_the_worker_that_is_free_first(work, n_workers, seconds):
    found = schedule.simulate([(float(s), 1) for s in work], n_workers)
    assert found.seconds == seconds
    assert found.efficiency == pytest.approx(sum(work) / (n_workers * seconds))


def test_one_process_that_hands_out_is_the_limit_of_many_workers():
    work = [(0.25, 10)] * 4_000
    each = schedule.SECONDS_OF_A_BATCH + 10 * schedule.SECONDS_OF_A_BLOCK
    assert schedule.simulate(work, 1_000).seconds == pytest.approx(4_000 * each + 0.25)
    assert schedule.simulate(work, 2).efficiency > 0.9


def test_batches_hold_all_blocks_of_a_run_and_take_a_quarter_of_a_second():
    kinds = [schedule.Kind(100, 6_400, 0.01, 8.0), schedule.Kind(3, 3, 2.0, 8.0)]
    found = schedule.batches(kinds, 2.0)
    assert found == [(2.0, 1)] * 6 + [(0.25, 25)] * 8


def test_the_command_reads_the_times_of_a_run(tmp_path, capsys):
    run = tmp_path / "run"
    with (
        RunStore.create(run / "store.sqlite", root_seed=1, config={}) as store,
        make_executor("serial") as executor,
    ):
        ensure(store, [Demand(TOY, {}, 3)], executor)
    (kind,) = schedule.recorded(run)
    assert kind[:2] == (3, 3 * TOY.block_size)
    assert schedule.main([str(run), "--trials", str(300 * TOY.block_size)]) == 0
    printed = capsys.readouterr().out
    assert " 300 blocks, " in printed
    assert printed.count("\n| ") == 2 + len(schedule.WORKERS)

"""Blocks of two kinds of machine never meet in a run without the user's word."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from tests.trials.toys import TOY
from trials.run import engine, wire
from trials.run.block import BlockResult, simulate_block
from trials.run.directory import STORE_NAME
from trials.run.engine import Demand, allow_mixed, ensure, mixture_allowed, replay, trial_id
from trials.run.executor import Executor
from trials.run.executors import make_executor
from trials.run.machine import arithmetic, machine_name
from trials.run.provenance import MachineMismatch, libraries
from trials.run.store import RunStore, StoreError
from trials.run.wire import ExecutorError, answer, pack_blocks, unpack_blocks
from verify import session
from verify.check import compare, other_machines
from verify.cli import exits
from verify.cli.app import application

pytestmark = pytest.mark.usefixtures("forked_workers")
HERE = dict(arithmetic())
ELSEWHERE = {**HERE, "blas": "openblas 0.3 Prescott"}
CLAIM = "ifca.oracle-mse[N=64,sigma=1.0,d=2]"


@pytest.fixture
def store(tmp_path):
    with RunStore.create(tmp_path / "run", root_seed=1, config={}, code={}) as found:
        yield found


@pytest.fixture
def elsewhere(monkeypatch):
    """The machine of this process from now on."""
    return lambda: monkeypatch.setattr(engine, "arithmetic", lambda: ELSEWHERE)


def blocks(store, n_blocks, kind="serial"):
    with make_executor(kind) as executor:
        return ensure(store, [Demand(TOY, {}, n_blocks)], executor)


def test_a_block_names_the_machine_that_made_it(store):
    for kind, n_blocks in (("serial", 1), ("threads", 2), ("processes", 3)):
        assert blocks(store, n_blocks, kind) == 1
    assert store.machines() == {machine_name(HERE): HERE}
    for block in range(3):
        index = block * TOY.block_size
        assert store.machine_of(TOY, TOY.check({}), index) == machine_name(HERE)


def test_a_run_is_not_continued_on_another_machine_without_the_flag(store, elsewhere):
    blocks(store, 1)
    elsewhere()
    told = (
        r"has blocks of another kind of machine \(blas .* against openblas 0.3 Prescott; there "
        r"against here\).*continue there, start a new run, or mix both with --allow-mixed$"
    )
    with pytest.raises(StoreError, match=told) as refused:
        blocks(store, 2)
    assert "\n" not in str(refused.value)
    with pytest.raises(StoreError, match=told):
        engine.refuse_other_code(store, [TOY])
    assert store.blocks(TOY, TOY.check({})) == {0}
    allow_mixed(store)
    assert mixture_allowed(store)
    assert blocks(store, 2) == 1
    assert store.machines() == {machine_name(HERE): HERE, machine_name(ELSEWHERE): ELSEWHERE}
    assert store.machine_of(TOY, TOY.check({}), TOY.block_size) == machine_name(ELSEWHERE)
    assert session.mixture(store) == (
        f"blocks of 2 kinds of machine meet: blas {HERE['blas']} against openblas 0.3 Prescott"
    ) or session.mixture(store).endswith(f"against {HERE['blas']}")


def test_a_worker_on_another_machine_is_refused_and_what_others_finished_is_kept(
    store, monkeypatch
):
    """The worker is the one of the second block."""

    def simulate(task):
        found = simulate_block(task)
        if task.block == 1:
            return BlockResult(found.values, found.reasons, found.seconds, machine=ELSEWHERE)
        return found

    monkeypatch.setattr("trials.run.executor.simulate_block", simulate)
    with pytest.raises(MachineMismatch, match=r"a worker computed a block of .* on another kind"):
        blocks(store, 4)
    assert 1 not in store.blocks(TOY, TOY.check({}))
    assert list(store.machines()) == [machine_name(HERE)]
    allow_mixed(store)
    blocks(store, 4)
    assert store.machine_of(TOY, TOY.check({}), TOY.block_size) == machine_name(ELSEWHERE)


def test_a_replay_is_told_the_machine_of_its_own_block(store, elsewhere):
    """The first block was made here and the second one elsewhere."""
    blocks(store, 1)
    allow_mixed(store)
    elsewhere()
    blocks(store, 2)
    size = TOY.block_size
    for index in (0, size - 1, size, 2 * size - 1):
        found = replay(store, trial_id(TOY, {}, index))  # this process is elsewhere now
        assert bool(found.machine) == (index < size)
        assert found.distance == 0.0


def test_of_the_blocks_that_finish_after_a_stop_those_of_another_machine_are_left_out(store):
    """The first of four blocks is handed out, and an interrupt stops the engine."""

    class Stopped(Executor):
        capacity = 4

        def wait(self):
            if self._waiting[0].block > 0:
                raise KeyboardInterrupt
            return super().wait()

        def cancel(self):
            """The others had finished: they are handed out by `finished`."""

        def finished(self):
            found = [(task, simulate_block(task)) for task in self._waiting]
            return [
                (task, replace(result, machine=ELSEWHERE) if task.block == 2 else result)
                for task, result in found
            ]

    with pytest.raises(KeyboardInterrupt):
        ensure(store, [Demand(TOY, {}, 4)], Stopped())
    assert store.blocks(TOY, TOY.check({})) == {0, 1, 3}
    assert list(store.machines()) == [machine_name(HERE)]


def test_a_worker_says_on_which_machine_it_runs(monkeypatch):
    task = engine.Task(TOY, TOY.check({}), 1, 0)
    monkeypatch.setattr(wire, "arithmetic", lambda: ELSEWHERE)
    (found,) = unpack_blocks([task], answer(pack_blocks([task])))
    assert found.machine == ELSEWHERE
    for odd in ({}, {"blas": "two\nlines"}, {"blas": 1}, {str(i): "" for i in range(30)}):
        monkeypatch.setattr(wire, "arithmetic", lambda odd=odd: odd)
        (found,) = unpack_blocks([task], answer(pack_blocks([task])))
        assert isinstance(found, ExecutorError)


def test_replay_names_the_machine_and_counts_the_floats_between(store, elsewhere, monkeypatch):
    blocks(store, 1)
    trial = trial_id(TOY, TOY.check({}), 3)
    same = replay(store, trial)
    assert (same.distance, same.ulps, same.machine) == (0.0, 0, ())
    elsewhere()

    def simulate(task):
        found = simulate_block(task)
        return BlockResult(np.nextafter(found.values, np.inf), found.reasons, found.seconds)

    monkeypatch.setattr(engine, "simulate_block", simulate)
    near = replay(store, trial)
    assert 0.0 < near.distance < 1e-15
    assert near.ulps == 1
    assert near.machine == (f"blas {HERE['blas']} against openblas 0.3 Prescott",)

    def far(task):
        found = simulate_block(task)
        return BlockResult(found.values + 1.0, found.reasons, found.seconds)

    monkeypatch.setattr(engine, "simulate_block", far)
    with pytest.raises(StoreError, match=r"environment has changed \(blas .* against openblas 0.3"):
        replay(store, trial)


def test_the_versions_of_all_that_computes_belong_to_the_code():
    assert {"sympy", "mpmath", "python-flint", "numpy", "numba", "scipy"} <= set(libraries())


def test_the_command_line_refuses_mixes_and_compares(tmp_path, monkeypatch):
    def call(*arguments):
        return CliRunner().invoke(application, [str(a) for a in arguments])

    run, other = tmp_path / "run", tmp_path / "other"
    assert call("run", CLAIM, "--output", run, "--jobs", "1").exit_code == exits.EXPECTED
    monkeypatch.setattr(engine, "arithmetic", lambda: ELSEWHERE)
    assert call("run", CLAIM, "--output", other, "--jobs", "1").exit_code == exits.EXPECTED
    told = call("check", run, "--against", other)
    assert told.exit_code == exits.EXPECTED, told.output
    assert "the runs were made on different machines: blas " in told.output
    refused = call("resume", run, "--profile", "standard", "--jobs", "1")
    assert refused.exit_code == exits.USAGE
    assert "--allow-mixed" in refused.stderr
    with RunStore.open(other / STORE_NAME) as store:
        document = store.document("claim", CLAIM)
        for cell in document["evidence"]["cells"]:
            cell["observed"] *= 1.0 + 1e-9
        store.put_document("claim", CLAIM, document)
    with RunStore.open(run / STORE_NAME) as one, RunStore.open(other / STORE_NAME) as two:
        assert not any(compare(one, two).values())
        assert any(compare(one, two, rtol=1e-12).values())
        assert other_machines(one, one) == []
    assert call("check", run, "--against", other, "--rtol", "1e-12").exit_code == exits.UNEXPECTED
    assert call("check", run, "--against", other, "--rtol", "1e-8").exit_code == exits.EXPECTED
    assert call("check", run, "--against", other, "--rtol", "-1").exit_code == exits.USAGE
    mixed = call("resume", run, "--allow-mixed", "--profile", "standard", "--jobs", "1")
    assert mixed.exit_code == exits.EXPECTED, mixed.output
    with RunStore.open(run / STORE_NAME) as store:
        assert mixture_allowed(store)
        assert [*store.machines().values()] == [HERE]  # the claim needed no more trials
        assert blocks(store, 1) == 1
    mixed = call("resume", run, "--allow-mixed", "--jobs", "1")
    assert mixed.exit_code == exits.EXPECTED, mixed.output
    with RunStore.open(run / STORE_NAME, readonly=True) as store:
        environment = store.document("run", "summary")["environment"]
        assert "blocks of 2 kinds of machine meet" in environment["mixture"]


def test_a_machine_that_was_killed_before_its_first_block_is_none_of_the_runs(store):
    """It is recorded ahead of its blocks: the run was refused to every other machine."""
    other = machine_name(ELSEWHERE)
    store.put_document("machine", other, ELSEWHERE)
    assert store.machines() == {}
    for n_blocks in (1, 2):
        assert blocks(store, n_blocks) == 1
        assert store.machines() == {machine_name(HERE): HERE}
        assert session.mixture(store) == ""
    (code,) = store.codes()
    store.put_block(TOY, {}, 2, np.zeros((TOY.block_size, 2)), code=code, machine=other)
    assert set(store.machines()) == {machine_name(HERE), other}
    with pytest.raises(StoreError, match="another kind of machine"):
        blocks(store, 4)

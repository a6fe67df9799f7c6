import os
import signal
import sys
import threading
import types
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import threadpoolctl

from tests.trials.toys import TOY, appears, end_process, process_number, refuse, times
from trials.checks import InvalidParameter
from trials.run import block as blocks
from trials.run import executors, local
from trials.run import experiment as experiment_module
from trials.run.engine import Demand, ensure
from trials.run.executors import (
    ExecutorError,
    Task,
    make_executor,
    simulate_block,
    single_threaded_blas,
    usable_cpus,
)
from trials.run.store import RunStore
from trials.run.wire import answer, pack_blocks, unpack_blocks

#: For tests of what is sent to and fro.  Those that look at the processes start new ones.
FORKED = pytest.mark.usefixtures("forked_workers")
DEMANDS = [
    Demand(TOY, {"mean": 1}, 7),
    Demand(TOY, {"mode": "product"}, 5),
    Demand(TOY, {"mode": "diverges"}, 3),
    Demand(TOY, {"mode": "raises"}, 4),
]


def test_no_executor_has_more_workers_than_may_be_asked_for(monkeypatch):
    """A machine has as many processors as it has."""
    monkeypatch.setattr(executors, "usable_cpus", lambda: 2000)
    with make_executor("processes") as executor:  # its processes start with their first work
        assert executor.n_workers == executors.MAX_JOBS == 1024
    monkeypatch.setattr(executors, "usable_cpus", lambda: 3)
    with make_executor("processes") as executor:
        assert executor.n_workers == 3


def _workers(but=frozenset()):
    """Process numbers of this process's live children, but for those that were there before."""
    return [
        int(path.parent.name)
        for path in Path("/proc").glob("[0-9]*/stat")
        if (fields := _stat(path)) is not None
        and fields[1] == str(os.getpid())
        and fields[0] != "Z"
        and int(path.parent.name) not in but
    ]


def _stat(path):
    try:
        return path.read_text().rpartition(")")[2].split()[:2]
    except OSError:
        return None


def _digest(path, executor):
    with RunStore.create(path, root_seed=7, config={}) as store:
        assert ensure(store, DEMANDS, executor) == 19
        return store.content_digest()


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    with make_executor("serial") as executor:
        return _digest(tmp_path_factory.mktemp("serial") / "run", executor)


@pytest.mark.parametrize(
    ("kind", "n_jobs"), [("threads", 1), ("threads", 2), ("threads", 5), ("processes", 2)]
)
def test_results_do_not_depend_on_the_workers(tmp_path, expected, kind, n_jobs):
    before = frozenset(_workers())
    with make_executor(kind, n_jobs) as executor:
        assert _digest(tmp_path / "one", executor) == expected
        assert _digest(tmp_path / "two", executor) == expected  # an executor serves many calls
    assert not _workers(before)


def test_distributed_without_dask_names_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(InvalidParameter, match=r"pip install 'cfl-verify\[distributed\]'"):
        make_executor("distributed", address="tcp://127.0.0.1:9")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fork",), "executor='fork' must be one of serial, threads, processes, distributed"),
        (("threads", 0), "n_jobs=0 must be an integer from 1 to 1024"),
        (("processes", -1), "n_jobs=-1 must be"),
        (("distributed",), "address=None must be given"),
        (("threads", 2, "tcp://x:1"), "address='tcp://x:1' must be given for .* no other"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(InvalidParameter, match=message):
        make_executor(*arguments)


def test_a_task_travels_by_name_and_refuses_another_version(monkeypatch):
    task = Task(TOY, TOY.check({}), 7, 3)
    (result,) = unpack_blocks([task], answer(pack_blocks([task])))
    assert result.values.tobytes() == simulate_block(task).values.tobytes()
    message = pack_blocks([task])
    monkeypatch.setitem(experiment_module._REGISTRY, TOY.name, replace(TOY, block_size=8))
    (result,) = unpack_blocks([task], answer(message))
    assert isinstance(result, ExecutorError)
    assert "another version of experiment 'test.toy'" in str(result)
    with pytest.raises(InvalidParameter, match="must be registered"):
        pack_blocks([task])


@FORKED
def test_errors_of_a_worker_process_arrive_as_they_are(tmp_path):
    with RunStore.create(tmp_path / "run", root_seed=7, config={}) as store:
        with (
            make_executor("processes", 1) as executor,
            pytest.raises(TypeError, match="must return float64 of shape"),
        ):
            ensure(store, [Demand(TOY, {}, 2), Demand(TOY, {"mode": "shape"}, 1)], executor)
        assert store.blocks(TOY, {}) == {0, 1}


def test_a_worker_that_dies_is_an_error_and_not_a_hang(tmp_path):
    before = frozenset(_workers())

    def kill(*_):
        for child in _workers(before):
            os.kill(child, signal.SIGKILL)

    with RunStore.create(tmp_path / "run", root_seed=7, config={}) as store:
        with (
            make_executor("processes", 1) as executor,
            pytest.raises(ExecutorError, match="exit code -9"),
        ):
            ensure(store, [Demand(TOY, {"mode": "slow"}, 50)], executor, kill)
        assert 1 <= len(store.blocks(TOY, {"mode": "slow"})) < 50


def test_a_worker_that_is_still_ending_is_told_without_its_status():
    """It was told as one with the exit code None."""
    for code, told in ((None, ""), (-9, " with exit code -9")):
        process = types.SimpleNamespace(wait=lambda _seconds: None, returncode=code)
        error = local._Worker.died(types.SimpleNamespace(process=process))
        assert str(error).startswith(f"a worker process ended{told} (killed, or out of memory?); ")


def test_processors_that_this_process_may_not_use_get_no_worker(monkeypatch):
    """A container or `taskset` leaves some of them."""
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: {3, 5, 6}, raising=False)
    with make_executor("threads") as executor:
        assert executor.n_workers == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    assert usable_cpus() == 64


def test_cancelled_processes_end_at_once():
    before = frozenset(_workers())
    executor = make_executor("processes", 2)
    for block in range(4):
        executor.submit(Task(TOY, TOY.check({"mode": "endless"}), 7, block))
    executor.cancel()
    assert not _workers(before)
    with pytest.raises(ExecutorError, match="is closed"):
        executor.submit(Task(TOY, TOY.check({}), 7, 0))


def _begun(path):
    path.touch()
    return appears(path.with_name("never"))


@FORKED
def test_a_call_that_runs_when_threads_are_cancelled_ends_by_that(tmp_path):
    """Its process is ended on purpose: it was neither killed by a stranger nor out of memory."""
    executor = make_executor("threads", 2)
    call = executor.submit_call(_begun, tmp_path / "begun")
    assert appears(tmp_path / "begun")
    executor.cancel()
    with pytest.raises(ExecutorError, match=r"^the executor is closed$"):
        call.result()


@FORKED
def test_a_block_that_a_process_finished_before_the_end_is_kept():
    """An interrupted run stores it.  The second block is sent ahead, and is not waited for."""
    tasks = [Task(TOY, TOY.check({}), 7, block) for block in range(2)]
    with make_executor("processes", 1) as executor:
        for task in tasks:
            executor.submit(task)
        done = [executor.wait()]
        (worker,) = executor._workers
        assert worker.connection.poll(60.0)
        executor.cancel()
        done += executor.finished()
    assert [task.block for task, _ in done] == [0, 1]
    for task, result in done:
        np.testing.assert_array_equal(result.values, simulate_block(task).values)


@FORKED
def test_short_blocks_travel_together_and_long_ones_alone(monkeypatch):
    """Two messages are sent while nothing is queued.  The others share what the queue holds."""
    long = replace(TOY, name="test.long", design=TOY.design + 7, cost=lambda params: 1.0)
    short = replace(TOY, name="test.short", design=TOY.design + 8, cost=lambda params: 1e-6)
    monkeypatch.setattr(local, "pack_blocks", lambda tasks: sent.append(list(tasks)) or b"")
    monkeypatch.setattr(local._Worker, "send", lambda worker, message: None)
    # 66 blocks are queued after the first two messages, then 34, 17 and 8; the half of them is sent
    for owner, n, sizes in ((long, 68, [1] * 6), (short, 68, [1, 1, 32, 17, 9, 4]),
                            (short, 4, [1, 1, 2, 1, 1, 1])):  # fmt: skip
        sent: list[list[Task]] = []
        tasks = [Task(owner, TOY.check({}), 7, block) for block in range(n)]
        tasks += [Task(TOY, TOY.check({}), 7, block) for block in range(8)] if n == 4 else []
        with make_executor("processes", 1) as executor:
            for task in tasks:
                executor.submit(task)
            (worker,) = executor._workers
            for _ in range(4):  # the worker has answered
                worker.jobs.popleft()
                executor._dispatch()
        assert [len(together) for together in sent] == sizes
        assert [task for together in sent for task in together] == tasks[: sum(sizes)]


@FORKED
@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_blocks_of_one_message_that_come_before_an_error_are_kept(kind, tmp_path):
    """They are sent in one message once the time of a block is known."""
    with RunStore.create(tmp_path / "run", root_seed=7, config={}) as store:
        demands = [Demand(TOY, {"mean": 1}, 50), Demand(TOY, {"mode": "memory"}, 40)]
        with pytest.raises(MemoryError, match="no room"):
            ensure(store, demands, make_executor(kind, 1))
        assert store.blocks(TOY, {"mean": 1}) == set(range(50))
        assert store.blocks(TOY, {"mode": "memory"}) == set()


@FORKED
@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_a_block_is_ready_once_it_has_finished_and_is_handed_out_once(kind):
    tasks = [Task(TOY, TOY.check({}), 7, block) for block in range(2)]
    with make_executor(kind, 1) as executor:
        assert not executor.ready(0.0)
        assert executor.submit_call(times, 2, 3).result() == 6  # no block
        assert not executor.ready(0.0)
        for task in tasks:
            executor.submit(task)
            assert executor.ready(3600.0)
            assert executor.ready(0.0)
            ((done, result),) = [executor.wait()] if task.block == 0 else executor.finished()
            assert done is task
            np.testing.assert_array_equal(result.values, simulate_block(task).values)
            assert not executor.ready(0.0)
        executor.submit(Task(TOY, TOY.check({"mode": "memory"}), 7, 0))
        assert executor.ready(3600.0)  # the error of a block is told as soon
        executor.cancel()
        assert executor.finished() == []


def test_blas_is_capped_inside_and_restored_outside(monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)

    def counts():
        return [lib["num_threads"] for lib in threadpoolctl.threadpool_info()]

    before = counts()
    with single_threaded_blas():
        assert set(counts()) <= {1}
        assert os.environ["OPENBLAS_NUM_THREADS"] == os.environ["MKL_NUM_THREADS"] == "1"
    assert counts() == before
    assert os.environ["OPENBLAS_NUM_THREADS"] == "3"
    assert "MKL_NUM_THREADS" not in os.environ


def test_libraries_are_looked_for_anew_after_an_import_alone(monkeypatch):
    looks, looked_for = [], threadpoolctl.ThreadpoolController
    monkeypatch.setattr(blocks, "ThreadpoolController", lambda: looks.append(1) or looked_for())
    blocks._thread_pools.cache_clear()
    for _ in range(3):
        with single_threaded_blas():
            pass
    assert len(looks) == 1
    monkeypatch.setitem(sys.modules, "one_more", types.ModuleType("one_more"))
    with single_threaded_blas():
        pass
    assert len(looks) == 2
    blocks._thread_pools.cache_clear()


# -- calls -------------------------------------------------------------------------------------

PLACES = [("serial", 1), ("threads", 1), ("threads", 2), ("processes", 2)]


@pytest.mark.parametrize(("kind", "n_jobs"), PLACES)
def test_calls_give_their_values_in_any_order_and_between_blocks(tmp_path, expected, kind, n_jobs):
    before = frozenset(_workers())
    with make_executor(kind, n_jobs) as executor:
        calls = [executor.submit_call(times, float(i), 2.0) for i in range(5)]
        assert _digest(tmp_path / "run", executor) == expected  # blocks overtake, or wait
        assert [call.result() for call in reversed(calls)] == [8.0, 6.0, 4.0, 2.0, 0.0]
        assert all(call.done() for call in calls)
    assert not _workers(before)


@pytest.mark.parametrize(("kind", "n_jobs"), PLACES)
@FORKED
def test_a_call_raises_what_its_function_raised(kind, n_jobs):
    with make_executor(kind, n_jobs) as executor:
        call = executor.submit_call(refuse, "x")
        with pytest.raises(InvalidParameter, match=r"^x must be something else"):
            call.result()
        assert executor.submit_call(times, 2.0, 3.0).result() == 6.0


@pytest.mark.parametrize("kind", ["threads", "processes"])
@FORKED
def test_calls_of_several_workers_run_in_other_processes(kind):
    with make_executor(kind, 2) as executor:
        assert executor.submit_call(process_number).result() != os.getpid()


@pytest.mark.parametrize("kind", ["threads", "processes"])
@FORKED
def test_a_worker_that_dies_in_a_call_is_an_error_and_not_a_hang(kind):
    with make_executor(kind, 2) as executor:
        call = executor.submit_call(end_process)
        with pytest.raises(ExecutorError, match="ended with exit code 7"):
            call.result()


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_what_no_worker_could_run_is_refused_when_it_is_submitted(kind):
    with make_executor(kind, 2) as executor:
        with pytest.raises(InvalidParameter, match="must be at the top level of a module"):
            executor.submit_call(lambda: 1)
        with pytest.raises(InvalidParameter, match="must be picklable"):
            executor.submit_call(times, lambda: 1, 2.0)


@FORKED
def test_long_messages_in_both_directions_do_not_block_each_other():
    """A worker that sends a long answer does not read, so nothing long may be sent to it then."""
    text = "x" * 3_000_000
    with make_executor("processes", 1) as executor:
        calls = [executor.submit_call(times, text, n) for n in (1, 2, 1, 2)]
        assert [len(call.result()) for call in calls] == [len(text) * n for n in (1, 2, 1, 2)]


@FORKED
def test_long_calls_do_not_keep_blocks_of_threads_waiting(tmp_path):
    """Both threads are held until three calls and then a block wait in the queue."""
    started, all_queued, block_done = threading.Barrier(3), threading.Event(), tmp_path / "done"

    def held(params, rng, n_trials):
        started.wait()
        all_queued.wait()
        return np.zeros((n_trials, 2))

    with make_executor("threads", 2) as executor:
        for block in range(2):
            executor.submit(Task(replace(TOY, simulate=held), TOY.check({}), 7, block))
        started.wait()
        calls = [executor.submit_call(appears, block_done) for _ in range(3)]
        executor.submit(Task(TOY, TOY.check({}), 7, 2))
        all_queued.set()
        assert {executor.wait()[0].block for _ in range(3)} == {0, 1, 2}
        assert not any(call.done() for call in calls)
        block_done.touch()
        assert all(call.result() for call in calls)


@FORKED
def test_long_queues_of_blocks_do_not_keep_calls_of_threads_waiting():
    with make_executor("threads", 2) as executor:
        for block in range(2_000):
            executor.submit(Task(TOY, TOY.check({"mode": "slow"}), 7, block))
        assert executor.submit_call(times, 6, 7).result() == 42
        assert len(executor.finished()) < 2_000

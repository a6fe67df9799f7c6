import importlib.util
import multiprocessing
import os
import pickle
import signal
import time
from dataclasses import replace

import pytest
import threadpoolctl

from tests.trials.toys import TOY
from trials.checks import InvalidParameter
from trials.run.engine import Demand, ensure
from trials.run.executors import ExecutorError, Task, make_executor, single_threaded_blas
from trials.run.store import RunStore

DEMANDS = [
    Demand(TOY, {"mean": 1}, 7),
    Demand(TOY, {"mode": "product"}, 5),
    Demand(TOY, {"mode": "diverges"}, 3),
    Demand(TOY, {"mode": "raises"}, 4),
]


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
    with make_executor(kind, n_jobs) as executor:
        assert _digest(tmp_path / "one", executor) == expected
        assert _digest(tmp_path / "two", executor) == expected  # an executor serves many calls
    assert not multiprocessing.active_children()


@pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None,
    reason="the extra cfl-verify[distributed] is not installed",
)
def test_results_do_not_depend_on_a_cluster(tmp_path, expected):
    from distributed import LocalCluster

    with (
        LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
        ) as cluster,
        make_executor("distributed", address=cluster.scheduler_address) as executor,
    ):
        assert _digest(tmp_path / "run", executor) == expected


@pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None,
    reason="the extra cfl-verify[distributed] is not installed",
)
def test_an_address_without_scheduler_is_refused(monkeypatch):
    monkeypatch.setattr("trials.run.executors.CONNECT_SECONDS", 0.5)
    with pytest.raises(InvalidParameter, match="must be a running dask scheduler"):
        make_executor("distributed", address="tcp://127.0.0.1:9")


def test_distributed_without_dask_names_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(InvalidParameter, match=r"pip install 'cfl-verify\[distributed\]'"):
        make_executor("distributed", address="tcp://127.0.0.1:9")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fork",), "executor='fork' must be one of serial, threads, processes, distributed"),
        (("threads", 0), "n_jobs=0 must be an integer >= 1"),
        (("processes", -1), "n_jobs=-1 must be"),
        (("distributed",), "address=None must be given"),
        (("threads", 2, "tcp://x:1"), "address='tcp://x:1' must be given for .* no other"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(InvalidParameter, match=message):
        make_executor(*arguments)


def test_a_task_travels_by_name_and_refuses_another_version():
    task = Task(TOY, TOY.check({}), 7, 3)
    assert pickle.loads(pickle.dumps(task)) == task
    other = Task(replace(TOY, block_size=8), TOY.check({}), 7, 3)
    with pytest.raises(ExecutorError, match=r"another version of experiment 'test\.toy'"):
        pickle.loads(pickle.dumps(other))


def test_errors_of_a_worker_process_arrive_as_they_are(tmp_path):
    with RunStore.create(tmp_path / "run", root_seed=7, config={}) as store:
        with (
            make_executor("processes", 1) as executor,
            pytest.raises(TypeError, match="must return float64 of shape"),
        ):
            ensure(store, [Demand(TOY, {}, 2), Demand(TOY, {"mode": "shape"}, 1)], executor)
        assert store.blocks(TOY, {}) == {0, 1}


def test_a_worker_that_dies_is_an_error_and_not_a_hang(tmp_path):
    def kill(*_):
        for child in multiprocessing.active_children():
            os.kill(child.pid, signal.SIGKILL)

    with RunStore.create(tmp_path / "run", root_seed=7, config={}) as store:
        with (
            make_executor("processes", 1) as executor,
            pytest.raises(ExecutorError, match="exit code -9"),
        ):
            ensure(store, [Demand(TOY, {"mode": "slow"}, 50)], executor, kill)
        assert 1 <= len(store.blocks(TOY, {"mode": "slow"})) < 50


def test_cancelled_processes_end_at_once():
    executor = make_executor("processes", 2)
    for block in range(4):
        executor.submit(Task(TOY, TOY.check({"mode": "slow"}), 7, block))
    start = time.monotonic()
    executor.cancel()
    assert not multiprocessing.active_children()
    assert time.monotonic() - start < 5
    with pytest.raises(ExecutorError, match="is closed"):
        executor.submit(Task(TOY, TOY.check({}), 7, 0))


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

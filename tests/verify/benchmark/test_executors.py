"""A benchmark on threads, processes and a Dask cluster has the table of one that runs alone."""

import numpy as np
import pytest

from trials.run import distributed
from trials.run.executors import ProcessExecutor, make_executor
from trials.run.store import RunStore
from verify.benchmark.design import Benchmark
from verify.benchmark.loading import load
from verify.benchmark.metrics import METRICS
from verify.benchmark.running import paired, run
from verify.cli.workplaces import benchmark_workers

pytest.importorskip("sklearn")
pytestmark = pytest.mark.usefixtures("forked_workers")
BENCHMARK = Benchmark(
    name="small",
    question="?",
    methods="local, global, odcl-km",
    federations=({"m": 6, "n": 8, "d": 2}, {"m": 6, "n": 16, "d": 2}),
    vary="n",
    max_trials=8,
    width=1e-6,
).checked()


@pytest.fixture
def values(tmp_path):
    """All metrics but the times of a benchmark on an executor."""

    def found(name, executor):
        with RunStore.create(tmp_path / name, root_seed=5, config={}) as store, executor:
            run(store, BENCHMARK, executor)
            return [
                [v[m] for v in paired(store, BENCHMARK, f).values() for m in METRICS if m != "cpu"]
                for f in BENCHMARK.federations
            ]

    return found


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_two_workers_and_one_have_the_same_table(values, kind):
    np.testing.assert_array_equal(
        values("one", make_executor("serial")), values("two", make_executor(kind, 2))
    )


def test_a_dask_cluster_has_the_same_table(values, monkeypatch):
    dask = pytest.importorskip("distributed", reason="the extra distributed is not installed")
    monkeypatch.setattr(distributed, "CONNECT_SECONDS", 1e4)
    monkeypatch.setattr(distributed, "WORKER_SECONDS", 1e4)
    with dask.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address="127.0.0.1:0"
    ) as cluster:
        there = values("dask", make_executor("distributed", address=cluster.scheduler_address))
    np.testing.assert_array_equal(values("one", make_executor("serial")), there)


@pytest.mark.parametrize(
    ("given", "kind", "n_calls"),
    [
        ({"name": "few-samples", "jobs": 2}, "ProcessExecutor", 2),
        ({"name": "few-samples", "jobs": 2, "executor": "threads"}, "ThreadExecutor", 0),
        ({"name": "few-samples", "jobs": 1}, "Executor", 0),
        ({"jobs": 2}, "ProcessExecutor", 0),  # only a list is asked for
        ({"name": "a mistake", "jobs": 1024}, "ProcessExecutor", 0),
    ],
)
def test_a_benchmark_computes_in_processes_that_load_at_once(monkeypatch, given, kind, n_calls):
    loading = []
    monkeypatch.setattr(ProcessExecutor, "submit_call", lambda _self, call: loading.append(call))
    flags = {"executor": None, "scheduler": None, "seed": 0, "grid_size": 20, "settings": ()}
    with benchmark_workers({**flags, **given}) as found:
        assert type(found).__name__ == kind
    assert loading == [load] * n_calls

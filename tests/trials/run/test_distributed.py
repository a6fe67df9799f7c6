"""A Dask cluster: the same blocks, other code refused, and every way of losing it one line."""

from __future__ import annotations

import json
import logging
import os
import pickle
import queue
import shutil
import subprocess
import sys
import tempfile
import time
from collections import deque
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import trials.experiments  # noqa: F401  (registers every experiment)
from tests import forking
from tests.trials.toys import TOY, end_process, process_number, refuse, times
from trials.checks import InvalidParameter
from trials.run import distributed, wire
from trials.run.block import BlockResult, Task, check_result, simulate_block
from trials.run.costs import Costs
from trials.run.distributed import BATCH_SECONDS, DistributedExecutor
from trials.run.engine import Demand, ensure
from trials.run.executor import Call
from trials.run.executors import ExecutorError, Traffic, make_executor
from trials.run.experiment import experiment
from trials.run.origin import load_file
from trials.run.store import RunStore

dask_distributed = pytest.importorskip(
    "distributed", reason="the extra cfl-verify[distributed] is not installed"
)
ROOT = Path(__file__).parents[3]
#: Where a scheduler in this process serves its pages: two test runs on one machine share no port.
NO_FIXED_PORT = "127.0.0.1:0"
DEMANDS = [
    Demand(TOY, {"mean": 1}, 7),
    Demand(TOY, {"mode": "product"}, 5),
    Demand(TOY, {"mode": "diverges"}, 3),
    Demand(TOY, {"mode": "raises"}, 4),
]


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """On a busy machine a scheduler may answer late, and a worker may start late."""
    monkeypatch.setattr(distributed, "CONNECT_SECONDS", 1e4)
    monkeypatch.setattr(distributed, "WORKER_SECONDS", 1e4)


def _digest(path, executor, demands=DEMANDS):
    with RunStore.create(path, root_seed=7, config={}) as store:
        ensure(store, demands, executor)
        return store.content_digest()


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    with make_executor("serial") as executor:
        return _digest(tmp_path_factory.mktemp("serial") / "run", executor)


@pytest.fixture(scope="module")
def cluster():
    with dask_distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=NO_FIXED_PORT
    ) as made:
        yield made.scheduler_address


def _certificates(folder):
    """New certificates as files, by the names of their settings."""
    made = dask_distributed.Security.temporary()
    texts = {"CA_FILE": made.tls_ca_file}
    for role in ("scheduler", "worker", "client"):
        texts[f"{role.upper()}__CERT"] = getattr(made, f"tls_{role}_cert")
        texts[f"{role.upper()}__KEY"] = getattr(made, f"tls_{role}_key")
    for name, text in texts.items():
        (folder / f"{name}.pem").write_text(text)
    return {name: f"{folder / name}.pem" for name in texts}


#: Options of a scheduler that gives up work at the second worker that it ends, not at the fourth.
IMPATIENT = ("--preload", "def dask_setup(scheduler): scheduler.allowed_failures = 1")


class Cluster:
    """A scheduler and workers as processes of their own, with TLS where ``tls`` says so."""

    def __init__(self, folder, tls=False, options=()):
        self.folder, self.tls = folder, tls
        self.workers = []
        self.files = files = _certificates(folder) if tls else {}
        file = folder / "scheduler.json"
        self.scheduler = self._start(
            "distributed.cli.dask_scheduler",
            "--scheduler-file",
            str(file),
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            *options,
            *(("--protocol", "tls", "--tls-ca-file", files["CA_FILE"]) if tls else ()),
            *(("--tls-cert", files["SCHEDULER__CERT"]) if tls else ()),
            *(("--tls-key", files["SCHEDULER__KEY"]) if tls else ()),
        )
        while not (address := self._address(file)):
            assert self.scheduler.poll() is None
            time.sleep(0.05)
        self.address = address

    def _address(self, file):
        """What the scheduler has written, empty before all of it is there."""
        try:
            return json.loads(file.read_text())["address"]
        except (OSError, ValueError):
            return ""

    def _start(self, command, *options, tree=ROOT):
        """A fork, and a new process where variables or another tree are read before the fork.

        A scheduler is told its certificates, and a worker finds them by Dask's variables.
        """
        typed = ["-m", *command.split(), *options, "--no-dashboard"]
        places = {"cwd": self.folder, "env": {**os.environ, "PYTHONPATH": str(tree)}}
        if tree == ROOT and (not self.tls or "scheduler" in command):
            return forking.start(typed, **places)
        for name, file in self.files.items():
            places["env"][f"DASK_DISTRIBUTED__COMM__TLS__{name}"] = file
        nothing = subprocess.DEVNULL
        return subprocess.Popen([sys.executable, *typed], **places, stdout=nothing, stderr=nothing)

    def add_worker(self, tree=ROOT, nthreads=1):
        """Start a worker and wait for its folder: one that cannot start fails here, and at once."""
        options = ("--no-nanny", "--nthreads", str(nthreads), "--local-directory", str(self.folder))
        before = self._folders()
        worker = self._start("verify worker", self.address, *options, tree=tree)
        self.workers.append(worker)
        while self._folders() <= before:
            assert worker.poll() is None, "the worker ended before it served"
            time.sleep(0.05)

    def _folders(self):
        """The folders of workers that have started."""
        return set(self.folder.glob("dask-scratch-space/worker-*"))

    def close(self):
        for process in [*self.workers, self.scheduler]:
            process.kill()
            process.wait()


@contextmanager
def _cluster(folder, n_workers=1, **given):
    made = Cluster(folder, **given)
    try:
        for _ in range(n_workers):
            made.add_worker()
        yield made
    finally:
        made.close()


# -- the same results ----------------------------------------------------------------------------


def test_results_do_not_depend_on_a_cluster_and_two_runs_share_it(tmp_path, expected, cluster):
    with (
        make_executor("distributed", address=cluster) as one,
        make_executor("distributed", n_jobs=1, address=cluster) as two,
    ):
        assert _digest(tmp_path / "one", one) == expected
        assert _digest(tmp_path / "two", two) == expected
        with RunStore.create(tmp_path / "three", root_seed=7, config={}) as store:
            calls = [two.submit_call(times, float(i), 2.0) for i in range(4)]
            ensure(store, DEMANDS, one)  # while another run has work on the same scheduler
            assert store.content_digest() == expected
            assert [call.result() for call in calls] == [0.0, 2.0, 4.0, 6.0]


def test_calls_and_errors_of_calls(cluster):
    with make_executor("distributed", address=cluster) as executor:
        calls = [executor.submit_call(times, x, x + 1.0) for x in (2.0, 4.0)]
        assert [call.result() for call in calls] == [6.0, 20.0]
        assert executor.submit_call(process_number).result() == os.getpid()  # threads of this one
        with pytest.raises(InvalidParameter, match="x must be something else"):
            executor.submit_call(refuse, "x").result()


def test_dask_is_silent_while_an_executor_lives_and_speaks_again_after_it(cluster):
    loggers = [logging.getLogger(name) for name in distributed._LOGGERS]
    before = [list(logger.filters) for logger in loggers]
    with make_executor("distributed", address=cluster):
        assert all(
            len(logger.filters) == len(was) + 1 for logger, was in zip(loggers, before, strict=True)
        )
    assert [list(logger.filters) for logger in loggers] == before


def test_a_users_file_travels_to_a_worker_that_lacks_it(tmp_path):
    text = (
        "from trials.run.experiment import Experiment, register, user_design\n"
        "def simulate(params, rng, n_trials): return rng.standard_normal((n_trials, 1))\n"
        "E = register(Experiment(name='mine.dask', design=user_design('mine.dask'),\n"
        "    columns=('x',), simulate=simulate, check=dict, block_size=4))\n"
    )
    (tmp_path / "mine.py").write_text(text)
    owner = load_file(tmp_path / "mine.py").E
    demands = [Demand(owner, {}, 20)]
    with make_executor("serial") as executor:
        wanted = _digest(tmp_path / "serial", executor, demands)
    with _cluster(tmp_path) as made, make_executor("distributed", address=made.address) as executor:
        (tmp_path / "mine.py").unlink()
        assert _digest(tmp_path / "run", executor, demands) == wanted


# -- other code ----------------------------------------------------------------------------------


def test_a_worker_with_an_edited_experiment_is_refused_and_nothing_of_it_is_stored(tmp_path):
    shutil.copytree(ROOT / "trials", tmp_path / "tree" / "trials")
    step = tmp_path / "tree" / "trials" / "experiments" / "ifca" / "step.py"
    before = step.read_text()
    edited = before.replace("after.max(axis=1),", "1.01 * after.max(axis=1),", 1)
    assert edited != before
    step.write_text(edited)
    owner = experiment("ifca.step")
    with _cluster(tmp_path, 0) as made:
        made.add_worker(tree=tmp_path / "tree")
        with (
            make_executor("distributed", address=made.address) as executor,
            RunStore.create(tmp_path / "run", root_seed=7, config={}) as store,
        ):
            with pytest.raises(ExecutorError) as caught:
                ensure(store, [Demand(owner, {}, 8)], executor)
            assert sum(status.n_blocks for status in store.status()) == 0
    told = str(caught.value)
    assert "has other code for experiment ifca.step than this process" in told
    assert "trials.experiments.ifca.step differs" in told
    assert "install the same version on the workers" in told
    assert "\n" not in told


# -- losing it -----------------------------------------------------------------------------------


def test_a_lost_scheduler_is_one_line_and_a_resume_completes_the_run(tmp_path):
    """With TLS from end to end: the other tests of this file speak without it."""
    pytest.importorskip("cryptography", reason="makes the certificates")
    demands = [*DEMANDS, Demand(TOY, {"mode": "slow"}, 60)]
    program = """
import sys
import dask
from tests.trials.run.test_distributed import DEMANDS
from tests.trials.toys import TOY
from trials.run import distributed
from trials.run.engine import Demand, ensure
from trials.run.executors import ExecutorError, make_executor
from trials.run.store import RunStore
distributed.CONNECT_SECONDS = distributed.WORKER_SECONDS = 1e4
address, authority, certificate, key = sys.argv[1:]
files = {"ca-file": authority, "client.cert": certificate, "client.key": key}
dask.config.set({f"distributed.comm.tls.{name}": file for name, file in files.items()})
try:
    with make_executor("distributed", address=address) as executor:
        with RunStore.create("run", root_seed=7, config={}) as store:
            print("started", flush=True)
            ensure(store, [*DEMANDS, Demand(TOY, {"mode": "slow"}, 60000)], executor)
except ExecutorError as error:
    print(error, file=sys.stderr)
    sys.exit(3)
"""
    with _cluster(tmp_path, tls=True) as made, tempfile.TemporaryFile("w+") as errors:
        assert made.address.startswith("tls://")
        files = [made.files[name] for name in ("CA_FILE", "CLIENT__CERT", "CLIENT__KEY")]
        reading, writing = os.pipe()
        child = forking.start(
            ["-c", program, made.address, *files],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=writing,
            stderr=errors,
        )
        os.close(writing)
        with open(reading) as output:
            assert output.readline() == "started\n"
        n_stored = 0
        while n_stored < 25:
            assert child.poll() is None
            time.sleep(0.05)
            with RunStore.open(tmp_path / "run", readonly=True) as store:
                n_stored = sum(status.n_blocks for status in store.status())
        made.scheduler.kill()
        child.wait()
        errors.seek(0)
        told = errors.read()
    assert child.returncode == 3, told
    assert len(told.splitlines()) == 1
    assert told.startswith(f"{made.address}: the scheduler is lost")
    assert told.endswith("the blocks that had finished are stored, resume the run\n")
    with RunStore.open(tmp_path / "run") as store, make_executor("serial") as executor:
        assert len(store.blocks(TOY, {"mean": 1})) == 7
        ensure(store, demands, executor)
        assert store.table(TOY, {"mode": "slow"}, 60).n_trials == 960


def test_workers_that_die_one_after_another_are_an_error_and_not_a_hang(tmp_path):
    with (
        _cluster(tmp_path, 2, options=IMPATIENT) as made,
        make_executor("distributed", address=made.address) as executor,
    ):
        call = executor.submit_call(end_process)
        with pytest.raises(ExecutorError, match="workers died one after another"):
            call.result()


def test_a_cluster_without_workers_is_an_error_and_not_a_hang(tmp_path, monkeypatch):
    with (
        _cluster(tmp_path) as made,
        make_executor("distributed", address=made.address) as executor,
        RunStore.create(tmp_path / "run", root_seed=7, config={}) as store,
    ):
        monkeypatch.setattr(distributed, "WORKER_SECONDS", 1.0)
        made.workers[0].kill()
        with pytest.raises(ExecutorError, match="no worker is left since 1 s"):
            ensure(store, DEMANDS, executor)


def test_a_worker_that_dies_while_another_lives_changes_nothing(tmp_path, expected):
    def kill(done, *_):
        if done == 20:
            made.workers[0].kill()

    with (
        _cluster(tmp_path, 2) as made,
        make_executor("distributed", address=made.address) as executor,
        RunStore.create(tmp_path / "run", root_seed=7, config={}) as store,
    ):
        ensure(store, [*DEMANDS, Demand(TOY, {"mode": "slow"}, 100)], executor, kill)
        assert len(store.blocks(TOY, {"mode": "slow"})) == 100


@pytest.mark.parametrize(
    "address",
    ["tcp://127.0.0.1:9", "tls://127.0.0.1:9", "ucx://a", "nonsense://x", "", "x" * 5000, "a\nb"],
)
def test_an_address_without_a_usable_scheduler_is_one_line(address, monkeypatch):
    monkeypatch.setattr(distributed, "CONNECT_SECONDS", 0.5)
    with pytest.raises(InvalidParameter, match="must be a running dask scheduler") as caught:
        make_executor("distributed", address=address)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 900


# -- what workers send back ----------------------------------------------------------------------


def _task():
    return Task(TOY, TOY.check({}), 7, 0)


GOOD = np.ones((16, 2))
SILENT = np.where(np.arange(32).reshape(16, 2) == 3, np.nan, 1.0)


@pytest.mark.parametrize(
    ("result", "what"),
    [
        (None, "a NoneType and no block"),
        (GOOD, "a ndarray and no block"),
        (BlockResult(GOOD[:, :1], (), 0.1), r"float64 of shape \(16, 1\) in place of"),
        (BlockResult(GOOD.astype(np.float32), (), 0.1), "float32 of shape"),
        (BlockResult(GOOD.tolist(), (), 0.1), "list of shape"),
        (BlockResult(SILENT, (), 0.1), "not finite in row 1 without a reason"),
        (BlockResult(GOOD, ((16, "x"),), 0.1), "reasons that do not fit"),
        (BlockResult(GOOD, ((1, "x"), (1, "y")), 0.1), "reasons that do not fit"),
        (BlockResult(GOOD, ((1, None),), 0.1), "reasons that do not fit"),
        (BlockResult(GOOD, 3, 0.1), "reasons that do not fit"),
        (BlockResult(GOOD, (), float("nan")), "the time nan"),
        (BlockResult(GOOD, (), -1.0), "the time -1.0"),
        (BlockResult(GOOD, (), 0.1, float("inf")), "the time inf"),
        (BlockResult(GOOD, (), 0.1, -2.0), "the time -2.0"),
        (BlockResult(GOOD, (), 0.1, None), "the time None"),
    ],
)
def test_a_result_that_cannot_be_the_block_is_refused(result, what):
    with pytest.raises(ExecutorError, match=what) as caught:
        check_result(_task(), result)
    assert "nothing of it is stored" in str(caught.value)


def test_a_sound_result_passes():
    result = simulate_block(_task())
    assert check_result(_task(), result) is result


def test_a_late_duplicate_is_ignored(cluster, tmp_path, expected):
    class Twice(DistributedExecutor):
        async def _watch(self, future):
            await super()._watch(future)
            await super()._watch(future)

    with Twice(cluster) as executor:
        assert _digest(tmp_path / "run", executor) == expected


# -- batches -------------------------------------------------------------------------------------


def test_batches_follow_the_cost_and_save_messages(cluster, tmp_path):
    many = [Demand(TOY, {"mean": float(i)}, 40) for i in range(10)]
    with make_executor("distributed", address=cluster) as executor:
        with RunStore.create(tmp_path / "run", root_seed=7, config={}) as store:
            ensure(store, many, executor)
        traffic = executor.traffic
    assert traffic.n_blocks == 400
    assert traffic.n_messages < 400  # two a batch; one block a batch would take 800
    assert traffic.n_bytes / traffic.n_blocks < 2_000  # 256 of them are values


def test_work_is_the_time_of_the_own_thread():
    """A block that waits has little work, so that its batches stay large."""

    def sleep(params, rng, n_trials):
        time.sleep(0.3)
        return np.ones((n_trials, 2))

    result = simulate_block(replace(_task(), experiment=replace(TOY, simulate=sleep)))
    assert result.seconds >= 0.3
    assert 0.0 < result.work < 0.1


def test_batches_are_sized_by_work():
    """Not by the wall time, which other work on the machine makes longer."""
    executor = DistributedExecutor.__new__(DistributedExecutor)
    executor._costs, executor.traffic = Costs(), Traffic()
    executor._flying, executor._ready = {"future": [_task()]}, deque()
    reply = pickle.loads(wire.answer(wire.pack_blocks([_task()])))
    slow = BlockResult(GOOD, (), 10.0, 0.001)
    blocks = tuple((cell, block, slow) for cell, block, _ in reply.blocks)
    executor._take("future", pickle.dumps(replace(reply, blocks=blocks)), None)
    assert executor._costs.seconds(_task()) == 0.001
    executor._n_threads, executor._buffer = 2, deque([_task()])
    assert executor.capacity == 3 * 2 * int(BATCH_SECONDS / 0.001)


def test_a_batch_holds_blocks_of_one_experiment(monkeypatch):
    """A worker takes all blocks of a message for those of its one experiment."""
    sent = []
    executor = DistributedExecutor.__new__(DistributedExecutor)
    executor._costs, executor._flying, executor._n_threads = Costs(), {}, 1
    other = replace(TOY, name="test.other", cost=lambda _params: 0.0)
    cheap = replace(TOY, cost=lambda _params: 0.0)
    order = [cheap, cheap, other, other, other, cheap]
    tasks = [Task(owner, TOY.check({}), 0, block) for block, owner in enumerate(order)]
    executor._buffer = deque(tasks)
    monkeypatch.setattr(distributed, "pack_blocks", lambda batch: tuple(batch))
    monkeypatch.setattr(executor, "_send", lambda batch, message: sent.append(message))
    executor._flush()
    assert [task for batch in sent for task in batch] == tasks
    assert all(len({task.experiment.name for task in batch}) == 1 for batch in sent)
    assert max(len(batch) for batch in sent) > 1


def test_an_error_of_a_call_is_the_calls_own_and_one_of_blocks_stops_the_run():
    executor = DistributedExecutor.__new__(DistributedExecutor)
    executor._address, executor.traffic, executor._ready = "tcp://h:1", Traffic(), deque()
    call = Call(executor, times, (1.0, 2.0))
    executor._flying = {"call": call, "blocks": [_task()]}
    executor._take("call", None, ImportError("no module"))
    assert call.done()
    with pytest.raises(ExecutorError, match="a worker cannot load this program"):
        call.result()
    with pytest.raises(ExecutorError, match="a worker cannot load this program"):
        executor._take("blocks", None, ImportError("no module"))
    executor._take("call", None, ImportError("no module"))  # answered before: nothing happens
    assert (executor._flying, list(executor._ready)) == ({}, [])


class _Away:
    """A client whose only worker is away in some of the looks, which are 20 seconds apart."""

    status = "running"

    def __init__(self, away):
        self.away, self.n_looks = away, 0

    def monotonic(self):
        return 20.0 * self.n_looks

    def get(self, timeout):
        raise queue.Empty

    def scheduler_info(self):
        self.n_looks += 1
        return {"workers": {} if self.away[self.n_looks - 1] else {"w": 1}}


@pytest.mark.parametrize(
    ("away", "looks"),
    [([1, 1, 1], 3), ([1, 0, 1, 0, 1, 1, 1], 7), ([0, 1, 1, 0, 0, 1, 1, 1, 1], 8)],
)
def test_a_cluster_is_given_up_when_it_is_without_a_worker_for_thirty_seconds_in_a_row(
    monkeypatch, away, looks
):
    monkeypatch.setattr(distributed, "WORKER_SECONDS", 30.0)
    executor = DistributedExecutor.__new__(DistributedExecutor)
    executor._address, executor._buffer = "tcp://h:1", deque()
    executor._client = executor._arrived = client = _Away(away)
    monkeypatch.setattr(distributed, "time", client)
    with pytest.raises(ExecutorError, match="no worker is left since 30 s"):
        executor._pump()
    assert client.n_looks == looks


class _Scheduler:
    """A client whose scheduler answers nothing any more, and that has not noticed it yet."""

    status = "running"

    def nthreads(self):
        return {}

    def cancel(self, futures):
        raise OSError("Timed out trying to connect to tcp://h:1")

    def close(self, timeout):
        self.status = "closed"


def test_an_executor_whose_scheduler_is_just_lost_is_cancelled_without_an_error(monkeypatch):
    """What ended the run is told, and blocks that have finished are kept: the engine asks for them
    next.  A cluster whose last worker has left is waited for as one thread.
    """
    monkeypatch.setattr(DistributedExecutor, "_connect", lambda *_: _Scheduler())
    executor = DistributedExecutor("tcp://h:1")
    assert (executor.n_workers, executor.capacity) == (1, 3)
    reply = wire.answer(wire.pack_blocks([_task()]))
    future = Call(executor, times, ())  # like a future it can be asked whether it is done
    executor._flying[future] = [_task()]
    executor._arrived.put((future, reply, None))
    executor.cancel()
    ((task, result),) = executor.finished()
    assert task == _task()
    assert result.values.tobytes() == simulate_block(_task()).values.tobytes()
    executor.close()


# -- TLS -----------------------------------------------------------------------------------------


def test_a_cluster_with_tls(tmp_path, expected):
    pytest.importorskip("cryptography", reason="makes the certificates")
    import dask

    security = dask_distributed.Security.temporary()
    with dask_distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=False,
        dashboard_address=NO_FIXED_PORT,
        protocol="tls://",
        security=security,
    ) as made:
        address = made.scheduler_address
        assert address.startswith("tls://")
        files = {
            "ca-file": security.tls_ca_file,
            "client.cert": security.tls_client_cert,
            "client.key": security.tls_client_key,
        }
        with (
            dask.config.set({f"distributed.comm.tls.{k}": v for k, v in files.items()}),
            make_executor("distributed", address=address) as executor,
        ):
            assert _digest(tmp_path / "run", executor) == expected
        with pytest.raises(InvalidParameter, match="DASK_DISTRIBUTED__COMM__TLS__CA_FILE"):
            make_executor("distributed", address=address)

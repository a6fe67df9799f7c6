"""Workers that are forked from one process: it loads for all, and tells how each of them ended."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.trials.toys import (
    TOY,
    appears,
    end_process,
    load_here,
    load_with_a_thread,
    loaded,
    refuse,
    times,
)
from trials.run import forks, local
from trials.run.block import BLAS_VARIABLES
from trials.run.executors import ExecutorError, ProcessExecutor, Task, make_executor, simulate_block

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no worker is forked"),
    pytest.mark.usefixtures("forked_workers"),
]

NEW_PARENT = forks.start_parent  # which the fixture replaces


@contextlib.contextmanager
def made(n_jobs: int = 2) -> Iterator[ProcessExecutor]:
    """An executor whose workers are processes."""
    with make_executor("processes", n_jobs) as executor:
        assert isinstance(executor, ProcessExecutor)
        yield executor


def numbers(executor: ProcessExecutor) -> list[int]:
    """The process numbers of both workers."""
    calls = [executor.submit_call(os.getpid) for _ in range(2)]
    return [call.result() for call in calls]


def is_there(pid: int) -> bool:
    """Whether a process is alive."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def end_of(pid: int) -> bool:
    """Wait for the end of a process that is no child of this one."""
    while is_there(pid):
        time.sleep(0.01)
    return True


def test_one_process_loads_for_all_workers() -> None:
    with made() as executor:
        executor.load(load_here)
        calls = [executor.submit_call(loaded) for _ in range(2)]
        (one, before_one), (two, before_two) = (call.result() for call in calls)
    assert len({one, two, os.getpid(), *before_one}) == 4
    assert before_one == before_two


def test_the_process_that_forks_is_a_new_one_without_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(forks, "start_parent", NEW_PARENT)
    for name in BLAS_VARIABLES:
        monkeypatch.setenv(name, "2")
    with made(1) as executor:
        executor.load(load_here)
        pid, (before,) = executor.submit_call(loaded).result()
        parent = executor._workers[0].process._parent.process  # type: ignore[union-attr]
        assert (parent.pid, len(list(Path(f"/proc/{before}/task").iterdir()))) == (before, 1)
        assert Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1] == str(before)


def test_a_process_with_a_thread_is_not_forked() -> None:
    """The thread that the load left behind may hold a lock, which a fork would wait for."""
    with made(1) as executor:
        executor.load(load_with_a_thread)
        _, before = executor.submit_call(loaded).result()
    assert before == []


def test_each_worker_loads_where_none_can_be_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "CAN_FORK", False)
    with made() as executor:
        executor.load(load_here)
        calls = [executor.submit_call(loaded) for _ in range(2)]
        found = [call.result() for call in calls]
    assert len({pid for pid, _ in found}) == 2
    assert [before for _, before in found] == [[pid] for pid, _ in found]


def test_forks_draw_the_blocks_that_this_process_draws() -> None:
    tasks = [Task(TOY, TOY.check({}), 7, block) for block in range(4)]
    with made() as executor:
        executor.load(load_here)
        for task in tasks:
            executor.submit(task)
        found = [executor.wait() for _ in tasks]
    assert sorted(task.block for task, _ in found) == [0, 1, 2, 3]
    for task, result in found:
        np.testing.assert_array_equal(result.values, simulate_block(task).values)


def test_what_cannot_be_loaded_is_told_by_the_call_that_needs_it() -> None:
    with made() as executor:
        executor.load(refuse, "x")
        assert executor.submit_call(times, 2.0, 3.0).result() == 6.0


def test_the_end_of_a_fork_is_told_with_its_exit_code() -> None:
    with made() as executor:
        executor.load(load_here)
        with pytest.raises(ExecutorError, match="ended with exit code 7"):
            executor.submit_call(end_process).result()
    with made() as executor:
        executor.load(load_here)
        first, second = numbers(executor)
        held = executor.submit_call(appears, Path("/never"))
        os.kill(first, signal.SIGKILL)
        with pytest.raises(ExecutorError, match="ended with exit code -9"):
            held.result()
        assert is_there(second)  # its pipe is its own
    assert end_of(second)


def test_a_process_that_ends_before_it_forks_is_told_with_its_exit_code() -> None:
    with made() as executor:
        executor.load(end_process)
        with pytest.raises(ExecutorError, match="ended with exit code 7"):
            executor.submit_call(times, 2.0, 3.0).result()


def test_cancelled_forks_end_and_so_does_the_process_that_forked_them() -> None:
    with made() as executor:
        executor.load(load_here)
        pids = numbers(executor)
        parent = executor._workers[0].process._parent.process  # type: ignore[union-attr]
        for block in range(2):
            executor.submit(Task(TOY, TOY.check({"mode": "endless"}), 7, block))
        executor.cancel()
        assert not any(map(is_there, pids))
        assert not is_there(parent.pid)
        assert [worker.process.returncode for worker in executor._workers] == [-15, -15]


def test_a_load_that_does_not_end_is_ended_too(tmp_path: Path) -> None:
    with made() as executor:
        executor.load(appears, tmp_path / "never")
        parent = executor._workers[0].process._parent.process  # type: ignore[union-attr]
        assert is_there(parent.pid)
    assert not is_there(parent.pid)


def test_a_fork_that_does_not_end_when_it_is_asked_is_killed() -> None:
    with made() as executor:
        executor.load(load_here)
        pids = numbers(executor)
        executor.submit_call(signal.pthread_sigmask, signal.SIG_BLOCK, [signal.SIGTERM]).result()
        first, second = (worker.process for worker in executor._workers)
        first.terminate()
        with pytest.raises(subprocess.TimeoutExpired):
            first.wait(0.2)
        first.kill()
        first.wait()
        assert (first.returncode, is_there(pids[0])) == (-9, False)
        second.wait()
        assert second.returncode == -15


def test_forks_end_when_their_caller_is_gone() -> None:
    """The pipes of a caller that was killed are closed, and nothing else tells of its end."""
    with made() as executor:
        executor.load(load_here)
        pids = numbers(executor)
        parent = executor._workers[0].process._parent  # type: ignore[union-attr]
        for worker in executor._workers:
            worker.connection.close()
        parent._control.close()
        assert all(map(end_of, pids))
        assert parent.process.wait() == 0
        executor._workers.clear()

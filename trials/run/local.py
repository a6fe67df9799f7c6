"""Executors on this machine: threads, and worker processes."""

from __future__ import annotations

import contextlib
import multiprocessing.connection
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, TypeVar

from trials.collecting import collect_rarely
from trials.run.block import BlockResult, ExecutorError, Task, simulate_block, single_threaded_blas
from trials.run.costs import Costs
from trials.run.executor import Call, Done, Executor
from trials.run.forks import CAN_FORK, Fork, start_forks
from trials.run.wire import answer, pack_blocks, pack_call, unpack_blocks

T = TypeVar("T")

# A message that is sent ahead must fit into the pipe.  A worker that is sending a long answer does
# not read.  A caller that sends a long message would wait for the worker, and the worker for the
# caller.
_SENT_AHEAD = 16_384

# Blocks of one message.  Those that a worker has not sent back are lost when the run is stopped.
_SECONDS_IN_MESSAGE = 0.05
_MOST_IN_MESSAGE = 32


def serve(descriptor: int) -> None:
    """Run the loop of a worker process.

    It ends when the parent closes the pipe or ends itself.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    collect_rarely()
    connection = multiprocessing.connection.Connection(descriptor)
    parent_gone = (EOFError, BrokenPipeError, ConnectionResetError)
    with single_threaded_blas(), contextlib.suppress(*parent_gone):
        while True:
            connection.send_bytes(answer(connection.recv_bytes()))


_MAIN = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "
    "sys.path[:] = {path!r}; from trials.run.local import serve; serve({descriptor})"
)


def start_worker(path: Sequence[str], descriptor: int) -> subprocess.Popen[bytes]:
    """Start a process that serves one end of a pipe, with these folders of modules."""
    return subprocess.Popen(
        [sys.executable, "-c", _MAIN.format(path=path, descriptor=descriptor)],
        stdin=subprocess.DEVNULL,
        pass_fds=[descriptor],
    )


class _Worker:
    """One Python process on a pipe of its own.

    The process is new, or a fork of a new one (`trials.run.forks`), and no fork of this one: a fork
    after an OpenMP region hangs.  Each worker has a pipe of its own.  When the parent is killed,
    the worker reads end-of-file and ends.  When a worker ends, the parent notices it at once.  The
    pools of the standard library leave orphans or wait for ever.  Unlike `multiprocessing`, this
    process does not import the caller's script.  A script without a guard would run again.
    """

    def __init__(
        self,
        connection: multiprocessing.connection.Connection,
        process: subprocess.Popen[bytes] | Fork,
    ) -> None:
        self.connection, self.process = connection, process
        self._end = weakref.finalize(self, self.process.terminate)
        self.jobs: deque[list[Task] | Call[Any]] = deque()

    def send(self, message: bytes) -> None:
        try:
            self.connection.send_bytes(message)
        except (BrokenPipeError, ConnectionResetError):
            raise self.died() from None

    def receive(self) -> bytes:
        try:
            return self.connection.recv_bytes()
        except (EOFError, OSError):
            raise self.died() from None

    def died(self) -> ExecutorError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(1.0)
        code = self.process.returncode  # None for a process that has closed its pipe first
        how = "" if code is None else f" with exit code {code}"
        return ExecutorError(
            f"a worker process ended{how} (killed, or out of memory?); its blocks are not stored, "
            "resume the run"
        )

    def stop(self) -> None:
        """Ask the process to end."""
        self._end()

    def join(self) -> None:
        """Wait for the process to end, and kill it if it does not."""
        try:
            self.process.wait(5.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def _new_worker() -> _Worker:
    """A worker in a new process."""
    ours, theirs = multiprocessing.connection.Pipe()
    with theirs:
        return _Worker(ours, start_worker(_folders(), theirs.fileno()))


def _forked_workers(n_workers: int, load: bytes) -> list[_Worker]:
    """Workers that are forked from one process, once it has done a call."""
    ours, theirs = zip(*(multiprocessing.connection.Pipe() for _ in range(n_workers)), strict=True)
    forks = start_forks(_folders(), load, [each.fileno() for each in theirs])
    for each in theirs:
        each.close()
    return list(map(_Worker, ours, forks))


def _folders() -> list[str]:
    """The folders in which this process looks for modules."""
    return [os.path.abspath(folder) for folder in sys.path]


class ProcessExecutor(Executor):
    """Worker processes, for trials that hold the GIL."""

    kind = "processes"

    def __init__(self, n_jobs: int) -> None:
        super().__init__()
        self.capacity = 2 * n_jobs * _MOST_IN_MESSAGE
        self.n_workers = n_jobs
        self._workers: list[_Worker] = []
        self._queue: deque[Task | tuple[Call[Any], bytes]] = deque()
        self._ready: deque[tuple[Task, BlockResult | Exception]] = deque()
        self._costs = Costs()
        self._closed = False

    def load(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Start the workers, and have a function called in each before its first job.

        Where processes can be forked, one process calls it for all.  So it may import and compute,
        but must run no kernel of several threads.  Its value is dropped.
        """
        if CAN_FORK and not self._workers:
            self._workers = _forked_workers(self.n_workers, pack_call(function, arguments))
            return
        for _ in range(self.n_workers):
            self.submit_call(function, *arguments)

    def submit(self, task: Task) -> None:
        self._enqueue(task)

    def submit_call(self, function: Callable[..., T], *arguments: Any) -> Call[T]:
        call = Call(self, function, arguments)
        self._enqueue((call, pack_call(function, arguments)))
        return call

    def _enqueue(self, job: Task | tuple[Call[Any], bytes]) -> None:
        if self._closed:
            raise ExecutorError("the executor is closed")
        if not self._workers:
            self._workers = [_new_worker() for _ in range(self.n_workers)]
        self._queue.append(job)
        self._dispatch()

    def _dispatch(self) -> None:
        """Send waiting jobs: one to an idle worker, and a second one ahead if it is short."""
        for ahead in (0, 1):
            for worker in self._workers:
                if self._queue and len(worker.jobs) == ahead:
                    job, message = self._first()
                    if ahead == 0 or len(message) <= _SENT_AHEAD:
                        for _ in job if isinstance(job, list) else [job]:
                            self._queue.popleft()
                        worker.jobs.append(job)
                        self._count(message)
                        worker.send(message)

    def _first(self) -> tuple[list[Task] | Call[Any], bytes]:
        """The job at the front of the queue with its message.

        Short blocks of one experiment travel together: each message costs this process and the
        worker as much as a block of a millisecond.  Near the end of the work they are shared out.
        """
        first = self._queue[0]
        if not isinstance(first, Task):
            return first
        share = -(-len(self._queue) // (2 * self.n_workers))
        most = min(share, _MOST_IN_MESSAGE)
        size = self._costs.count_first(self._queue, _SECONDS_IN_MESSAGE, most)
        blocks = [job for job in islice(self._queue, size) if isinstance(job, Task)]
        return blocks, pack_blocks(blocks)

    def _count(self, message: bytes) -> None:
        self.traffic.n_messages += 1
        self.traffic.n_bytes += len(message)

    def _pump(self, timeout: float | None) -> bool:
        """Take all answers that are there, and return whether there were any.

        It waits for the first one, at most `timeout` seconds.
        """
        busy = {worker.connection: worker for worker in self._workers if worker.jobs}
        found = multiprocessing.connection.wait(list(busy), timeout)
        for connection, worker in busy.items():
            if connection in found:
                received = worker.receive()
                self._count(received)
                job = worker.jobs.popleft()
                if isinstance(job, Call):
                    job.settle(received)
                else:
                    self._take(job, received)
        if found and not self._closed:
            self._dispatch()
        return bool(found)

    def _take(self, blocks: list[Task], received: bytes) -> None:
        """Take the blocks of an answer.  An error stands in place of the block that it stopped."""
        for task, result in zip(blocks, unpack_blocks(blocks, received), strict=False):
            self._ready.append((task, result))
            if isinstance(result, BlockResult):
                self.traffic.n_blocks += 1
                self._costs.measured(task, result.work)

    def ready(self, seconds: float) -> bool:
        until = time.monotonic() + seconds
        while not self._ready:
            left = until - time.monotonic()
            if left <= 0 or not self._pump(left):
                return False
        return True

    def wait(self) -> Done:
        while not self._ready:
            self._pump(None)
        task, result = self._ready.popleft()
        if isinstance(result, Exception):
            raise result
        return task, result

    def _finish(self, call: Call[Any]) -> None:
        while not call.done():
            if self._closed:
                raise ExecutorError("the executor is closed")
            self._pump(None)

    def finished(self) -> list[Done]:
        for worker in self._workers:
            while worker.jobs:
                try:
                    if not worker.connection.poll(0):
                        break
                    received = worker.receive()
                except (ExecutorError, OSError):  # dead, or stopped in mid-answer
                    break
                job = worker.jobs.popleft()
                if not isinstance(job, Call):
                    with contextlib.suppress(ExecutorError):
                        self._take(job, received)
        done = [(t, r) for t, r in self._ready if isinstance(r, BlockResult)]
        self._ready.clear()
        return done

    def cancel(self) -> None:
        if not self._closed:
            self._closed = True
            self._queue.clear()
            for worker in self._workers:
                worker.stop()
            for worker in self._workers:
                worker.join()


# -- threads -----------------------------------------------------------------------------------


class _Jobs:
    """The queue of the threads.

    A long call must not keep blocks waiting while others of its kind run, nor the reverse.  So some
    threads take blocks first and the others take calls first.  No thread is idle while a job waits.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._tasks: deque[Task] = deque()
        self._calls: deque[tuple[Call[Any], bytes]] = deque()
        self._ended = False

    def put(self, job: Task | tuple[Call[Any], bytes]) -> None:
        with self._changed:
            if isinstance(job, Task):
                self._tasks.append(job)
            else:
                self._calls.append(job)
            self._changed.notify()

    def take(self, *, calls_first: bool) -> Task | tuple[Call[Any], bytes] | None:
        """Wait for the next job and return it, or None when the queue is empty and closed."""
        with self._changed:
            while not (self._tasks or self._calls or self._ended):
                self._changed.wait()
            if self._calls and (calls_first or not self._tasks):
                return self._calls.popleft()
            return self._tasks.popleft() if self._tasks else None

    def end(self) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify_all()


class ThreadExecutor(Executor):
    """Threads of this process, for kernels that release the GIL.  Nothing is pickled.

    The threads are daemons, so an interrupted program does not wait for unfinished blocks.  Calls
    are Python code, which threads of one process cannot run side by side.  So each thread that gets
    a call starts a process of its own and waits for its answer.  With one thread there is no
    process, and a call runs when its result is requested.
    """

    kind = "threads"

    def __init__(self, n_jobs: int) -> None:
        super().__init__()
        self.capacity = 2 * n_jobs
        self.n_workers = n_jobs
        self._jobs = _Jobs()
        self._done: queue.SimpleQueue[Done | BaseException] = queue.SimpleQueue()
        self._arrived: deque[Done | BaseException] = deque()  # taken, and not yet handed out
        self._closed = False
        self._companions: list[_Worker] = []
        self._lock = threading.Lock()
        self._threads = [
            threading.Thread(target=self._work, args=(i % 2 == 1,), name=f"trials-{i}", daemon=True)
            for i in range(n_jobs)
        ]
        for thread in self._threads:
            thread.start()

    def _work(self, calls_first: bool) -> None:
        companion: _Worker | None = None
        while (job := self._jobs.take(calls_first=calls_first)) is not None:
            if isinstance(job, Task):
                if not self._closed:
                    try:
                        self._done.put((job, simulate_block(job)))
                    except BaseException as error:
                        self._done.put(error)
                continue
            call, message = job
            try:
                companion = companion or self._companion()
                companion.send(message)
                call.settle(companion.receive())
            except BaseException as error:
                companion = None
                call.fail(ExecutorError("the executor is closed") if self._closed else error)

    def _companion(self) -> _Worker:
        with self._lock:
            if self._closed:
                raise ExecutorError("the executor is closed")
            self._companions.append(_new_worker())
            return self._companions[-1]

    def submit(self, task: Task) -> None:
        if self._closed:
            raise ExecutorError("the executor is closed")
        self._jobs.put(task)

    def submit_call(self, function: Callable[..., T], *arguments: Any) -> Call[T]:
        if self._closed:
            raise ExecutorError("the executor is closed")
        call = Call(self, function, arguments)
        if self.n_workers > 1:
            self._jobs.put((call, pack_call(function, arguments)))
        return call

    def _finish(self, call: Call[Any]) -> None:
        if self.n_workers == 1:
            call.run()
        else:
            call._finished.wait()

    def ready(self, seconds: float) -> bool:
        if not self._arrived:
            with contextlib.suppress(queue.Empty):
                self._arrived.append(self._done.get(timeout=seconds))
        return bool(self._arrived)

    def wait(self) -> Done:
        done = self._arrived.popleft() if self._arrived else self._done.get()
        if isinstance(done, BaseException):
            raise done
        return done

    def finished(self) -> list[Done]:
        with contextlib.suppress(queue.Empty):
            while True:
                self._arrived.append(self._done.get_nowait())
        ready = [done for done in self._arrived if not isinstance(done, BaseException)]
        self._arrived.clear()
        return ready

    def cancel(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True  # threads skip the tasks that are still queued
            for companion in self._companions:
                companion.stop()
        self._jobs.end()
        for companion in self._companions:
            companion.join()

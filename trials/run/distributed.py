"""An existing Dask cluster as an executor.

The workers need this package and the numerical libraries in the same versions.  Each batch of
blocks is sent with the digest of its code, and a worker with other code refuses it.  A batch takes
about a quarter of a second, estimated from the experiment's declared cost or from the CPU times
measured so far.  So the scheduler's few milliseconds for a task do not matter.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import queue
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from trials.checks import InvalidParameter
from trials.run.block import BLAS_VARIABLES, BlockResult, ExecutorError, Task
from trials.run.costs import Costs
from trials.run.executor import Call, Done, Executor
from trials.run.wire import answer, pack_blocks, pack_call, unpack_blocks

T = TypeVar("T")

CONNECT_SECONDS = 10.0  # how long a scheduler may take to answer
WORKER_SECONDS = 30.0  # how long a cluster may be without any worker
BATCH_SECONDS = 0.25
MAX_BATCH = 256
_ADDRESS = re.compile(r"(?:[a-z][a-z0-9+.-]*://)?[A-Za-z0-9._\-\[\]:%/]{1,250}")
_RESUME = "the blocks that had finished are stored, resume the run"


class _Quiet(logging.Filter):
    """Silences Dask's report of a lost scheduler.  Dask prints some ninety lines, and this program
    prints one.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        return False


_LOGGERS = (
    "distributed.client",
    "distributed.comm",
    "distributed.comm.tcp",
    "distributed.core",
    "distributed.utils",
    "distributed.batched",
    "tornado.application",
    "asyncio",
)


class DistributedExecutor(Executor):
    """An existing dask.distributed cluster, by the address of its scheduler.

    TLS is configured as Dask's own tools do it, by `dask.config` or the environment:
    ``DASK_DISTRIBUTED__COMM__TLS__CA_FILE``, ``..__CLIENT__CERT`` and ``..__CLIENT__KEY``.

    Raises
    ------
    InvalidParameter : When the package is missing, or nothing usable answers at the address.
    """

    kind = "distributed"

    def __init__(self, address: str, n_jobs: int | None = None) -> None:
        super().__init__()
        try:
            distributed: Any = importlib.import_module("distributed")
        except ImportError:
            raise InvalidParameter(
                f"scheduler address={address!r:.200} needs dask: "
                "pip install 'cfl-verify[distributed]'"
            ) from None
        self._quiet = _Quiet()
        for name in _LOGGERS:
            logging.getLogger(name).addFilter(self._quiet)
        try:
            self._client = self._connect(distributed, address)
        except BaseException:
            self._speak()
            raise
        self._address = address
        # The last worker may have left by now.  Then there is one thread to wait for.
        self._n_threads = n_jobs or max(1, sum(self._client.nthreads().values()))
        self.n_workers = self._n_threads
        self._costs = Costs()
        self._buffer: deque[Task] = deque()
        self._flying: dict[Any, Sequence[Task] | Call[Any]] = {}
        self._arrived: queue.SimpleQueue[tuple[Any, Any, BaseException | None]] = (
            queue.SimpleQueue()
        )
        self._ready: deque[tuple[Task, BlockResult | Exception]] = deque()
        self._closed = False

    @staticmethod
    def _connect(distributed: Any, address: str) -> Any:
        if not _ADDRESS.fullmatch(address):  # Dask starts a cluster of its own, or waits for ever
            raise InvalidParameter(
                f"address={address!r:.200} must be a running dask scheduler (tcp://HOST:PORT or "
                "tls://HOST:PORT)"
            )
        client: Any = distributed.Client.__new__(distributed.Client)
        try:
            client.__init__(
                address, set_as_default=False, timeout=CONNECT_SECONDS, name="cfl-verify"
            )
        except Exception as error:  # OSError, ValueError, TypeError, ...: by address and comm
            client.status = "closed"  # or its finaliser waits 20 s at exit and prints a traceback
            told = " ".join(str(error).split())[:300]
            hint = (
                "; set DASK_DISTRIBUTED__COMM__TLS__CA_FILE, ..__TLS__CLIENT__CERT and "
                "..__TLS__CLIENT__KEY"
                if address.startswith("tls://")
                else ""
            )
            raise InvalidParameter(
                f"address={address!r:.200} must be a running dask scheduler ({told}){hint}"
            ) from None
        try:
            client.wait_for_workers(1, timeout=WORKER_SECONDS)
        except Exception:
            client.close()
            raise InvalidParameter(
                f"address={address!r:.200} must have a worker; it has none"
            ) from None
        return client

    def _speak(self) -> None:
        for name in _LOGGERS:
            logging.getLogger(name).removeFilter(self._quiet)

    # -- blocks --------------------------------------------------------------------------------

    @property
    def capacity(self) -> int:  # type: ignore[override]
        """Blocks ahead: three batches for every thread, for any length of a batch."""
        if self._buffer:
            seconds = self._costs.seconds(self._buffer[-1])
            if seconds is not None:
                self._last_size = max(1, min(MAX_BATCH, int(BATCH_SECONDS / max(seconds, 1e-6))))
        return 3 * self._n_threads * self._last_size

    _last_size = 1

    def submit(self, task: Task) -> None:
        if self._closed:
            raise ExecutorError("the executor is closed")
        self._buffer.append(task)

    def _flush(self) -> None:
        """Send batches until every thread has one to compute and one ahead."""
        while self._buffer and len(self._flying) < 2 * self._n_threads:
            # towards the end of the work the batches shrink, so that no thread is left idle
            share = -(-len(self._buffer) // (2 * self._n_threads - len(self._flying)))
            size = self._costs.count_first(self._buffer, BATCH_SECONDS, min(MAX_BATCH, share))
            batch = [self._buffer.popleft() for _ in range(size)]
            self._send(batch, pack_blocks(batch))

    def _send(self, job: Sequence[Task] | Call[Any], message: bytes) -> None:
        self.traffic.n_messages += 1
        self.traffic.n_bytes += len(message)
        try:
            # pure=False: dask would otherwise answer a second run's equal task from its cache.
            future = self._client.submit(remote_answer, message, pure=False)
        except Exception as error:
            raise self._report_loss(error) from None
        self._flying[future] = job
        self._client.loop.add_callback(self._watch, future)

    async def _watch(self, future: Any) -> None:
        """Wait for one result, in Dask's own thread."""
        try:
            value = await self._client.gather(future, asynchronous=True)
            self._arrived.put((future, value, None))
        except BaseException as error:
            self._arrived.put((future, None, error))

    def _pump(self) -> None:
        """Take one answer, waiting for it as long as the cluster has workers."""
        self._flush()
        without_worker: float | None = None
        while True:
            try:
                self._take(*self._arrived.get(timeout=1.0))
                return
            except queue.Empty:
                pass
            if self._client.status not in ("running", "connecting"):
                raise self._report_loss(None)
            if self._client.scheduler_info().get("workers"):
                without_worker = None
                continue
            without_worker = without_worker or time.monotonic()
            if time.monotonic() - without_worker > WORKER_SECONDS:
                raise ExecutorError(
                    f"{self._address}: no worker is left since {WORKER_SECONDS:g} s; {_RESUME}"
                )

    def _take(self, future: Any, value: Any, error: BaseException | None) -> None:
        job = self._flying.pop(future, None)
        if job is None:  # a second answer to what was answered, or one that was cancelled
            return
        if error is not None:
            failure = self._translate(error)
            if isinstance(job, Call):
                job.fail(failure)
                return
            raise failure
        if not isinstance(value, bytes):
            raise ExecutorError(f"{self._address}: a worker answered with {type(value).__name__}")
        self.traffic.n_messages += 1
        self.traffic.n_bytes += len(value)
        if isinstance(job, Call):
            job.settle(value)
            return
        for task, result in zip(job, unpack_blocks(job, value), strict=False):
            self._ready.append((task, result))
            if isinstance(result, BlockResult):
                self.traffic.n_blocks += 1
                self._costs.measured(task, result.work)

    def _translate(self, error: BaseException) -> Exception:
        kind = type(error).__name__
        if kind == "KilledWorker":
            return ExecutorError(
                f"{self._address}: workers died one after another on the same blocks (out of "
                f"memory?); {_RESUME}"
            )
        if isinstance(error, (ImportError, AttributeError)):
            return ExecutorError(
                f"{self._address}: a worker cannot load this program ({error}); install the same "
                "version there as here"
            )
        return self._report_loss(error)

    def _report_loss(self, error: BaseException | None) -> ExecutorError:
        told = " ".join(str(error).split())[:200] if error is not None else ""
        why = f" ({type(error).__name__}: {told})" if error is not None else ""
        return ExecutorError(f"{self._address}: the scheduler is lost{why}; {_RESUME}")

    def ready(self, seconds: float) -> bool:
        until = time.monotonic() + seconds
        with contextlib.suppress(queue.Empty):
            while not self._ready:
                self._flush()
                left = max(0.0, until - time.monotonic())
                self._take(*self._arrived.get(timeout=left))
        return bool(self._ready)

    def wait(self) -> Done:
        while not self._ready:
            self._pump()
        task, result = self._ready.popleft()
        if isinstance(result, Exception):
            raise result
        return task, result

    def finished(self) -> list[Done]:
        while True:
            try:
                self._take(*self._arrived.get_nowait())
            except queue.Empty:
                break
            except ExecutorError:
                continue
        done = [(t, r) for t, r in self._ready if isinstance(r, BlockResult)]
        self._ready.clear()
        return done

    # -- calls ---------------------------------------------------------------------------------

    def submit_call(self, function: Callable[..., T], *arguments: Any) -> Call[T]:
        if self._closed:
            raise ExecutorError("the executor is closed")
        call = Call(self, function, arguments)
        self._send(call, pack_call(function, arguments))
        return call

    def _finish(self, call: Call[Any]) -> None:
        while not call.done():
            if self._closed:
                raise ExecutorError("the executor is closed")
            self._pump()

    # -- the end -------------------------------------------------------------------------------

    def cancel(self) -> None:
        if not self._closed:
            self._closed = True
            self._buffer.clear()
            if self._client.status == "running":
                # The scheduler may be lost just now.  Blocks that have finished are stored all the
                # same, and the error that ended the run is the one to tell.
                with contextlib.suppress(Exception):
                    self._client.cancel([f for f in self._flying if not f.done()])

    def close(self) -> None:
        self.cancel()
        try:
            self._client.close(timeout=2)
        finally:
            self._speak()


_cap_lock = threading.Lock()
_caps: list[Any] = []


def remote_answer(message: bytes) -> bytes:
    """The function that a Dask worker runs.

    The worker's BLAS stays limited to one thread afterwards.  One process may have several tasks,
    and lifting the limit after one task would lift it for the others.
    """
    with _cap_lock:
        if not _caps:
            _caps.append(threadpool_limits(limits=1))
            os.environ.update(dict.fromkeys(BLAS_VARIABLES, "1"))
    return answer(message)

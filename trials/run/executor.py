"""The interface of executors, and the serial executor, which uses the calling thread.

An executor takes tasks and returns blocks in the order in which they finish.  No executor changes a
result, because a block depends on its task alone.  An executor also takes calls of ordinary
functions (`Executor.submit_call`), such as searches and decisions.  Each result is requested by its
handle, so the order in which calls finish does not matter either.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from trials.run.block import BlockResult, Task, simulate_block
from trials.run.wire import unpack_value

T = TypeVar("T")
Done = tuple[Task, BlockResult]


@dataclass
class Traffic:
    """Messages and bytes that an executor exchanged with its workers, in both directions."""

    n_blocks: int = 0
    n_messages: int = 0
    n_bytes: int = 0


class Call(Generic[T]):
    """The handle of a submitted function call."""

    def __init__(
        self, executor: Executor, function: Callable[..., T], arguments: tuple[Any, ...]
    ) -> None:
        self.function = function
        self.arguments = arguments
        self._executor = executor
        self._finished = threading.Event()
        self._value: Any = None
        self._error: BaseException | None = None

    def done(self) -> bool:
        """Whether `result` returns at once."""
        return self._finished.is_set()

    def result(self) -> T:
        """Wait for the function and return its value, or raise its exception."""
        if not self.done():
            self._executor._finish(self)
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[no-any-return]

    def run(self) -> None:
        """Call the function here and now."""
        try:
            self.finish(self.function(*self.arguments))
        except BaseException as error:
            self.fail(error)
            if not isinstance(error, Exception):
                raise

    def finish(self, value: Any) -> None:
        """Record the value."""
        self._value = value
        self._finished.set()

    def fail(self, error: BaseException) -> None:
        """Record the exception that was raised."""
        self._error = error
        self._finished.set()

    def settle(self, answered: bytes) -> None:
        """Record a worker's answer."""
        try:
            self.finish(unpack_value(self.function, answered))
        except Exception as error:
            self.fail(error)


class Executor:
    """The interface of an executor, and the serial executor, which computes in the calling thread.

    The engine submits at most `capacity` tasks ahead.  `cancel` and `close` end an executor.
    Methods are called from one thread.
    """

    #: The name by which a user asks for it.
    kind: str = "serial"
    capacity: int = 1
    #: Number of workers that can compute calls at the same time.  Splitting work into more parts
    #: gains nothing.
    n_workers: int = 1

    def __init__(self) -> None:
        self.traffic = Traffic()
        self._waiting: deque[Task] = deque()

    def submit(self, task: Task) -> None:
        """Take a task and return at once."""
        self._waiting.append(task)

    def ready(self, seconds: float) -> bool:
        """Whether a block has finished by then, so that `wait` returns at once.

        Here a block is computed when it is waited for, and nobody knows how long that takes.
        """
        return False

    def wait(self) -> Done:
        """Wait for one block and return it, or raise the exception of its task."""
        task = self._waiting.popleft()
        return task, simulate_block(task)

    def finished(self) -> list[Done]:
        """Blocks that have finished and were not handed out, without waiting (after `cancel`)."""
        return []

    def submit_call(self, function: Callable[..., T], *arguments: Any) -> Call[T]:
        """Take a function call and return its handle at once.

        The function must be at the top level of a module.  Its arguments and its value must be
        picklable, and the value must depend on the arguments alone.  Calls and blocks share the
        workers.  Calls are started in their order.  An executor with one worker calls the function
        when its result is requested.  Elsewhere it runs in a process of its own, where Python code
        of several calls runs at the same time.

        Raises
        ------
        InvalidParameter : When a worker could not find the function, or an argument cannot be
            pickled.
        ExecutorError
            When the executor is closed.  A lost worker is raised by `Call.result`.

        Examples
        --------
        >>> from math import hypot
        >>> from trials.run.executors import make_executor
        >>> with make_executor("serial") as executor:
        ...     calls = [executor.submit_call(hypot, 3.0, x) for x in (4.0, 0.0)]
        ...     [call.result() for call in calls]
        [5.0, 3.0]
        """
        return Call(self, function, arguments)

    def _finish(self, call: Call[Any]) -> None:
        """Return once the call is done."""
        call.run()

    def cancel(self) -> None:
        """Drop the tasks that have not started, and stop the others as fast as the executor can."""
        self._waiting.clear()

    def close(self) -> None:
        """Release the workers."""
        self.cancel()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

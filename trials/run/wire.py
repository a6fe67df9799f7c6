"""Messages between the caller and a worker, and the worker's side of the exchange.

A message holds blocks of one experiment, or one function call.  It holds the name of the
experiment's module and the digest of its code.  The worker imports the module, compares the digest
with that of its own code, computes, and answers.  Messages are pickles: a caller and its workers
trust each other, as they do in multiprocessing and in Dask.
"""

from __future__ import annotations

import os
import pickle
import socket
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from trials.checks import InvalidParameter
from trials.run.block import BlockResult, ExecutorError, Task, check_result, simulate_block
from trials.run.cell import cell_number
from trials.run.experiment import Experiment, experiment, is_registered, module_of
from trials.run.machine import arithmetic
from trials.run.origin import Origin, load, origin_of
from trials.run.provenance import (
    CodeMismatch,
    code_of,
    code_of_modules,
    differences,
    digest_after_block,
    digest_of_modules,
    enumerate_few,
)
from trials.run.store.limits import is_label

PROTOCOL = 2


@dataclass(frozen=True)
class _Blocks:
    origin: Origin
    name: str
    design: tuple[int, int, tuple[str, ...]]
    digest: str
    root_seed: int
    blocks: tuple[tuple[dict[str, Any], int], ...]


@dataclass(frozen=True)
class _Call:
    origin: Origin
    function: str
    digest: str
    arguments: bytes


@dataclass(frozen=True)
class _Reply:
    """An answer: the blocks that were computed, each with its cell and number, or a value."""

    worker: str
    blocks: tuple[tuple[int, int, BlockResult], ...] = ()
    value: Any = None
    error: Exception | None = None
    other_code: dict[str, str] | None = None
    machine: dict[str, str] = field(default_factory=dict)


def _design(owner: Experiment) -> tuple[int, int, tuple[str, ...]]:
    return owner.design, owner.block_size, owner.columns


# -- the caller's side -----------------------------------------------------------------------


def pack_blocks(tasks: Sequence[Task]) -> bytes:
    """The message for blocks of one experiment and one root seed.

    Raises
    ------
    InvalidParameter : When the experiment is not registered, or is defined where no worker finds
        it.
    ExecutorError
        When a source file changed on disk before this process imported it.
    """
    owner = tasks[0].experiment
    if not is_registered(owner):
        raise InvalidParameter(
            f"experiment {owner.name!r} must be registered (trials.run.experiment.register) when "
            "its module is imported: workers find it by its name"
        )
    message = _Blocks(
        origin=origin_of(module_of(owner)),
        name=owner.name,
        design=_design(owner),
        digest=digest_after_block(owner),
        root_seed=tasks[0].root_seed,
        blocks=tuple((dict(task.params), task.block) for task in tasks),
    )
    return pickle.dumps((PROTOCOL, message))


def pack_call(function: Callable[..., Any], arguments: tuple[Any, ...]) -> bytes:
    """The message for a function call.

    Raises
    ------
    InvalidParameter : When the function is not at the top level of a module, or an argument cannot
        be pickled.
    """
    module = str(getattr(function, "__module__", "?"))
    name = str(getattr(function, "__qualname__", "<a callable object>"))
    if "<" in name:
        raise InvalidParameter(
            f"function {module}.{name} must be at the top level of a module: a worker finds it by "
            "its name"
        )
    try:
        packed = pickle.dumps(arguments)
    except Exception as error:
        raise InvalidParameter(
            f"the arguments of {module}.{name} must be picklable ({error})"
        ) from None
    message = _Call(origin_of(module), name, digest_of_modules((module,)), packed)
    return pickle.dumps((PROTOCOL, message))


def unpack_blocks(tasks: Sequence[Task], answer: bytes) -> list[BlockResult | Exception]:
    """The blocks that a worker sent back, each checked, in the tasks' order.

    A block that was not computed is the error that stopped the worker.  A worker that returned more
    blocks than it was asked for is not believed, and none of its blocks is returned.
    """
    reply = _open(answer)
    if reply.other_code is not None:
        owner = tasks[0].experiment
        return [_mismatch(f"experiment {owner.name}", reply, dict(code_of(owner).parts))]
    if len(reply.blocks) > len(tasks):
        return [ExecutorError(f"{reply.worker} returned too many blocks")]
    found: list[BlockResult | Exception] = []
    for task, (cell, block, result) in zip(tasks, reply.blocks, strict=False):
        if (cell, block) != (cell_number(task.params), task.block):
            found.append(
                ExecutorError(
                    f"{reply.worker} returned block {block} of cell {cell:016x} in place of block "
                    f"{task.block} of {task.experiment.name}:{cell_number(task.params):016x}"
                )
            )
            return found
        try:
            checked = check_result(task, result)
            found.append(replace(checked, machine=_check_machine(reply)))
        except ExecutorError as error:
            found.append(error)
            return found
    if len(reply.blocks) != len(tasks):
        found.append(reply.error or ExecutorError(f"{reply.worker} returned too few blocks"))
    return found


def unpack_value(function: Callable[..., Any], answer: bytes) -> Any:
    """Return the value of a function call, or raise its exception."""
    reply = _open(answer)
    if reply.other_code is not None:
        module = str(function.__module__)
        parts = dict(code_of_modules((module,)).parts)
        raise _mismatch(f"{module}.{function.__qualname__}", reply, parts)
    if reply.error is not None:
        raise reply.error
    return reply.value


def _open(answer: bytes) -> _Reply:
    try:
        reply = pickle.loads(answer)
    except Exception as error:
        raise ExecutorError(f"a worker's answer cannot be read ({error})") from None
    if not isinstance(reply, _Reply):
        raise ExecutorError(f"a worker answered with a {type(reply).__name__}")
    return reply


def _check_machine(reply: _Reply) -> dict[str, str]:
    """The worker's machine, in short lines: they are stored and shown."""
    facts = reply.machine
    sound = isinstance(facts, dict) and 0 < len(facts) <= 20
    if not sound or not all(
        isinstance(text, str) and is_label(text) for pair in facts.items() for text in pair
    ):
        raise ExecutorError(f"{reply.worker} does not say on which machine it runs")
    return facts


def _mismatch(what: str, reply: _Reply, ours: dict[str, str]) -> CodeMismatch:
    found = differences(ours, reply.other_code or {})
    if not found:
        found = ["a module that has no file"]
    return CodeMismatch(
        f"{reply.worker} has other code for {what} than this process: {enumerate_few(found)} (here "
        "against there); nothing of it is stored: install the same version on the workers, or "
        "start them again, then resume the run"
    )


# -- the worker's side -----------------------------------------------------------------------


def answer(message: bytes) -> bytes:
    """Do the work of a message and return the answer.

    Every error is returned as an answer too.
    """
    here = f"worker {socket.gethostname()} (process {os.getpid()})"
    try:
        protocol, wanted = pickle.loads(message)
        if protocol != PROTOCOL:
            raise ExecutorError(
                f"{here} reads messages of version {PROTOCOL}, not {protocol}; install the same "
                "version there as here"
            )
        reply = _run_blocks(wanted, here) if isinstance(wanted, _Blocks) else _call(wanted, here)
    except Exception as error:
        reply = _report_failure(here, error)
    try:
        packed = pickle.dumps(reply)
        if reply.error is not None:
            pickle.loads(packed)  # some exceptions are pickled, and cannot be made again from that
        return packed
    except Exception as error:  # a value or an exception that cannot travel
        what = reply.error if reply.error is not None else error
        lost = ExecutorError(f"{here}: {type(what).__name__}: {what}")
        return pickle.dumps(replace(reply, value=None, error=lost))


def _report_failure(here: str, error: Exception) -> _Reply:
    error.add_note(f"in {here}:\n" + traceback.format_exc())
    return _Reply(here, error=error)


def _find(wanted: _Blocks) -> Experiment:
    try:  # a spawned worker has the script's experiments already, under the name __mp_main__
        owner = experiment(wanted.name)
    except InvalidParameter:
        load(wanted.origin)
        owner = experiment(wanted.name)
    return owner


def _run_blocks(wanted: _Blocks, here: str) -> _Reply:
    owner = _find(wanted)
    if digest_after_block(owner) != wanted.digest:
        return _Reply(here, other_code=dict(code_of(owner).parts))
    if _design(owner) != wanted.design:
        raise ExecutorError(f"{here} has another version of experiment {owner.name!r}")
    done = []
    for params, block in wanted.blocks:
        task = Task(owner, params, wanted.root_seed, block)
        try:
            done.append((cell_number(params), block, simulate_block(task)))
        except Exception as error:
            failed = _report_failure(here, error)
            return _Reply(here, blocks=tuple(done), error=failed.error, machine=dict(arithmetic()))
    return _Reply(here, blocks=tuple(done), machine=dict(arithmetic()))


def _call(wanted: _Call, here: str) -> _Reply:
    module = load(wanted.origin)
    if digest_of_modules((module.__name__,)) != wanted.digest:
        return _Reply(here, other_code=dict(code_of_modules((module.__name__,)).parts))
    function: Any = module
    for name in wanted.function.split("."):
        function = getattr(function, name)
    return _Reply(here, value=function(*pickle.loads(wanted.arguments)))

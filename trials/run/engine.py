"""The Monte Carlo engine: make sure that a store holds the blocks that are demanded.

One function, `ensure`, serves to start, resume and extend a run.  It computes exactly the missing
blocks and commits them as they finish.  The content of a block depends only on the root seed, the
experiment, the cell and the block number.  So neither the workers nor the order matter, and more
trials never change earlier ones.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

import numpy as np

from trials.checks import FloatArray, InvalidParameter, integer_between
from trials.run.block import (
    BlockResult,
    Task,
    TrialsRaised,
    simulate_block,
    single_threaded_blas,
)
from trials.run.cell import Params, canonical_json, cell_number
from trials.run.executor import Done, Executor
from trials.run.experiment import Experiment, experiment
from trials.run.machine import (
    ROUNDING,
    arithmetic,
    distance,
    machine_differences,
    machine_name,
    ulps,
)
from trials.run.provenance import (
    MachineMismatch,
    changed_since,
    code_of,
    digest_after_block,
    enumerate_few,
)
from trials.run.store import NewBlock, RunStore, StoreError
from trials.text import printable

#: Trials of a cell: their block numbers are below 2**32.
MAX_INDEX = 10**18 - 1
_TRIAL_ID = re.compile(r"(?P<name>[^\s:]+):(?P<number>[0-9a-f]{16}):(?P<index>0|[1-9][0-9]{0,17})")


@dataclass(frozen=True)
class Demand:
    """Blocks ``0 .. n_blocks - 1`` of one cell."""

    experiment: Experiment
    params: Params
    n_blocks: int


OnBlock = Callable[[int, int, Demand, int], None]


def _check(demand: Demand) -> Demand:
    """Return the demand with complete parameters.

    Everything that can be refused is refused here.
    """
    n_blocks = integer_between("n_blocks", demand.n_blocks, 0, 2**32 - 1)
    params = demand.experiment.check(demand.params)
    spelled = canonical_json(params)
    if canonical_json(demand.experiment.check(params)) != spelled:
        raise ValueError(f"{demand.experiment.name}.check must return canonical parameters")
    return replace(demand, params=params, n_blocks=n_blocks)


def _merge(demands: Sequence[Demand]) -> dict[tuple[str, str], Demand]:
    """One demand a cell, the largest, in order of first appearance."""
    cells: dict[tuple[str, str], Demand] = {}
    for demand in map(_check, demands):
        key = demand.experiment.name, canonical_json(demand.params)
        if key not in cells or cells[key].n_blocks < demand.n_blocks:
            cells[key] = demand
    return cells


def ensure(
    store: RunStore,
    demands: Sequence[Demand],
    executor: Executor,
    on_block: OnBlock | None = None,
    *,
    blockwise: bool = False,
) -> int:
    """Compute and commit the demanded blocks that the store lacks, and return their number.

    Parameters
    ----------
    store : every commit is made from the calling thread.  Blocks that finish within
        `SECONDS_BETWEEN_COMMITS` are committed together.
    demands : several demands on one cell count as the largest of them.
    executor : see `trials.run.executors.make_executor`.  It is cancelled when this function raises.
    on_block : called for each block after its commit with ``(done_blocks, total_blocks, demand,
        n_failed)``: blocks of all demands up to this one, blocks of all demands, the demand of the
        block (parameters complete), and the failed trials among all up to this one.
    blockwise : take one block of every cell before the next, for cells that share their data.

    Raises
    ------
    InvalidParameter : When a demand's parameters are outside its experiment's domain, before any
        work starts.
    StoreError
        When the store cannot be used, or its design or its code has changed, before any work
        starts.
    WrongValues
        When an experiment returns the wrong shape or type.
    TrialsRaised
        When every block of an experiment raised.  None of them is stored.
    ExecutorError
        When a worker is lost or has other code, or when this process runs two versions at once.

    Notes
    -----
    The blocks that had finished are stored after any exception, also after `KeyboardInterrupt`.
    """
    owners = _merge(demands)
    merged = list(owners.values())
    _refuse_too_many(sum(demand.n_blocks for demand in merged))
    for owner, own in _by_experiment(merged):
        codes = set().union(*(store.codes(owner, demand.params) for demand in own))
        _refuse_other_code(store, owner, codes)
    refuse_other_machine(store)
    store.register_all((demand.experiment, demand.params) for demand in merged)
    tasks, stored_before = _missing(store, merged)
    if blockwise:
        tasks.sort(key=lambda task: task.block)
    else:
        tasks = _one_of_each_first(tasks)
    if not tasks:
        return 0
    if store.readonly:
        raise StoreError(f"{store.path}: was opened read-only and lacks {len(tasks)} blocks")
    _refuse_too_many(store.n_blocks() + len(tasks))
    total = sum(demand.n_blocks for demand in merged)
    done = total - len(tasks)
    n_failed = sum(store.n_failed(d.experiment, d.params, d.n_blocks) for d in merged)

    def committed(task: Task, result: BlockResult) -> None:
        nonlocal done, n_failed
        done += 1
        n_failed += len(result.reasons)
        if on_block is not None:
            owner = owners[task.experiment.name, canonical_json(task.params)]
            on_block(done, total, owner, n_failed)

    # Reading an experiment's codes reads all of its cells: once for each, and only where needed.
    stored_before |= {
        owner.name
        for owner, _ in _by_experiment(merged)
        if owner.name not in stored_before and store.codes(owner)
    }
    with single_threaded_blas():
        _compute(store, tasks, executor, committed, _Raised(stored_before))
    return len(tasks)


def _by_experiment(demands: Sequence[Demand]) -> list[tuple[Experiment, list[Demand]]]:
    """The experiments of the demands, each with its own demands."""
    found: dict[str, tuple[Experiment, list[Demand]]] = {}
    for demand in demands:
        found.setdefault(demand.experiment.name, (demand.experiment, []))[1].append(demand)
    return list(found.values())


def _missing(store: RunStore, demands: Sequence[Demand]) -> tuple[list[Task], set[str]]:
    """The blocks that the store lacks, those of the dearest trials first.

    The second value names the experiments of which some demanded cell has a block.
    """
    tasks: list[Task] = []
    stored_before: set[str] = set()
    for demand in sorted(demands, key=_declared_seconds, reverse=True):
        stored = store.blocks(demand.experiment, demand.params)
        if stored:
            stored_before.add(demand.experiment.name)
        tasks += (
            Task(demand.experiment, demand.params, store.root_seed, block)
            for block in range(demand.n_blocks)
            if block not in stored
        )
    return tasks, stored_before


def _one_of_each_first(tasks: Sequence[Task]) -> list[Task]:
    """One block of every experiment before all others.

    A worker that needs a kernel waits while another one compiles it.  With blocks of different
    experiments both compile.
    """
    seen: set[str] = set()
    first: list[Task] = []
    others: list[Task] = []
    for task in tasks:
        (others if task.experiment.name in seen else first).append(task)
        seen.add(task.experiment.name)
    return first + others


def _refuse_too_many(n_blocks: int) -> None:
    """Refuse a run of more blocks than a store of one file serves in seconds.

    Raises
    ------
    InvalidParameter
        if the run would hold more than `MOST_BLOCKS`, those that are stored included.
    """
    if n_blocks > MOST_BLOCKS:
        raise InvalidParameter(
            f"{n_blocks:,} blocks are more than a run holds ({MOST_BLOCKS:,}): give the experiment "
            "a larger block_size, or share the cells out over several runs"
        )


def _declared_seconds(demand: Demand) -> float:
    """The declared seconds of a block, 0 where none are declared.

    Long blocks are computed first.  A long block at the end would leave the other workers idle.
    """
    if demand.experiment.cost is None:
        return 0.0
    seconds = float(demand.experiment.cost(demand.params)) * demand.experiment.block_size
    return seconds if math.isfinite(seconds) else 0.0


def refuse_other_code(store: RunStore, wanted: Iterable[Experiment]) -> None:
    """Refuse to go on with experiments whose code is not that of the run.  Nothing is written.

    Raises
    ------
    StoreError
        When an experiment's code differs from the code of the run, or from that of its blocks, or
        when its blocks were made on another kind of machine (`refuse_other_machine`).
    ExecutorError
        When this process runs two versions at once.
    """
    for one in {each.name: each for each in wanted}.values():
        _refuse_other_code(store, one, store.codes(one))
    refuse_other_machine(store)


#: A finished block waits no longer for the others of its commit.  A process that is killed loses
#: what finished in this time, and one that is interrupted loses nothing that has arrived.
SECONDS_BETWEEN_COMMITS = 0.25
MOST_BYTES_HELD = 1 << 24  # of blocks that wait for a commit

#: Blocks of a run, at most.  Opening, reading and exporting a run take time and
#: memory in proportion to its blocks: docs/laptop-to-cluster.md has the measured figures.
MOST_BLOCKS = 1_000_000

MIXED = "mixed"  # the key of the document by which a run allows blocks of several machines


def allow_mixed(store: RunStore) -> None:
    """Let blocks of several kinds of machine meet in a run.  The run records it for good."""
    store.put_document("run", MIXED, {"allowed": True})


def mixture_allowed(store: RunStore) -> bool:
    """Whether `allow_mixed` was called on a run."""
    return bool((store.document("run", MIXED, dict[str, bool]) or {}).get("allowed"))


def refuse_other_machine(store: RunStore) -> None:
    """Refuse to add blocks of this machine to a run with blocks of another kind.

    Blocks that name no machine are not compared: no version that made them runs now.

    Raises
    ------
    StoreError
        When the run does not allow a mixture (`allow_mixed`).  The line says what differs.
    """
    if mixture_allowed(store):
        return
    here = machine_name(arithmetic())
    others = {name: facts for name, facts in store.machines().items() if name != here}
    if others:
        raise StoreError(
            _describe_mixture(f"{store.path}: has blocks of", next(iter(others.values())))
        )


def _is_of_this_run(store: RunStore, result: BlockResult) -> bool:
    """Whether a block was computed on the kind of machine that a run allows."""
    same = not result.machine or machine_name(result.machine) == machine_name(arithmetic())
    return same or mixture_allowed(store)


def _describe_mixture(what: str, facts: Mapping[str, str]) -> str:
    """The line that refuses another kind of machine."""
    differ = enumerate_few(machine_differences(facts, arithmetic())) if facts else "not recorded"
    return (
        f"{what} another kind of machine ({differ}; there against here), so that its last bits may "
        "differ; continue there, start a new run, or mix both with --allow-mixed"
    )


def _refuse_other_code(store: RunStore, owner: Experiment, stored: set[str]) -> None:
    """Blocks of two versions of the code never meet in one run.

    ``stored`` are the digests of the code that made the blocks there.
    """
    present = code_of(owner)
    changed = changed_since(store.code, present)
    if not changed and stored <= {present.digest}:
        return
    told = enumerate_few(changed) if changed else "its code differs"
    raise StoreError(
        f"{store.path}: experiment {owner.name} has changed since this run was made "
        f"({told}; then against now); start a new run, or continue this one with the older "
        "version (it can still be read and reported)"
    )


def _compute(
    store: RunStore,
    tasks: Sequence[Task],
    executor: Executor,
    committed: Callable[[Task, BlockResult], None],
    raised: _Raised,
) -> None:
    """Keep the executor full and commit the blocks that finish.

    After any exception the blocks that have finished are committed too.
    """
    todo = iter(tasks)
    held = _Held(store)
    in_flight = 0
    try:
        while True:
            for task in islice(todo, max(0, executor.capacity - in_flight)):
                executor.submit(task)
                in_flight += 1
            if in_flight == 0 or not held.may_wait(executor):
                for done in held.commit():
                    committed(*done)
            if in_flight == 0:
                raised.refuse()
                return
            task, result = executor.wait()
            in_flight -= 1
            if not _is_of_this_run(store, result):
                what = f"a worker computed a block of {task.experiment.name} on"
                raise MachineMismatch(_describe_mixture(what, result.machine))
            held.add(raised.let_through(task, result))
    except BaseException:
        try:
            executor.cancel()
        finally:  # a second interrupt ends the wait for the workers, and loses no finished block
            for task, result in executor.finished():
                if _is_of_this_run(store, result):
                    held.add(raised.let_through(task, result))
            held.commit()  # an interrupted commit was undone, so it is repeated as a whole
        raise


class _Held:
    """The finished blocks that wait for the next commit.

    A commit of one block takes as long as the trials of many.  So the blocks that finish shortly
    after each other are committed together.
    """

    def __init__(self, store: RunStore) -> None:
        self._store = store
        self._known = set(store.documents("machine", dict[str, str]))  # with and without blocks
        self._blocks: list[Done] = []
        self._n_bytes = 0
        self._due = 0.0

    def add(self, blocks: Sequence[Done]) -> None:
        """Hold blocks.  The first one says when the commit is due."""
        if blocks and not self._blocks:
            self._due = time.monotonic() + SECONDS_BETWEEN_COMMITS
        self._blocks += blocks
        self._n_bytes += sum(result.values.nbytes for _, result in blocks)

    def may_wait(self, executor: Executor) -> bool:
        """Whether another block comes before the commit is due, or nothing is held."""
        if not self._blocks:
            return True
        left = self._due - time.monotonic()
        return left > 0 and self._n_bytes < MOST_BYTES_HELD and executor.ready(left)

    def commit(self) -> list[Done]:
        """Store the blocks in one transaction and return them."""
        if not self._blocks:
            return []
        self._store.put_blocks([self._new(*done) for done in self._blocks])
        stored, self._blocks, self._n_bytes = self._blocks, [], 0
        return stored

    def _new(self, task: Task, result: BlockResult) -> NewBlock:
        """The block as the store takes it.  A machine that is new to the run is recorded."""
        facts = result.machine or arithmetic()
        machine = machine_name(facts)
        if machine not in self._known:
            self._store.put_document("machine", machine, facts)
            self._known.add(machine)
        return NewBlock(
            task.experiment,
            task.params,
            task.block,
            result.values,
            result.reasons,
            result.seconds,
            code=digest_after_block(task.experiment),
            machine=machine,
        )


class _Raised:
    """Keeps the blocks that raised back until some block of their experiment has not.

    A trial that raises now and then is a row with a reason.  An experiment whose every trial raises
    is wrong itself: then nothing of it is stored, and the run stops.
    """

    def __init__(self, working: set[str]) -> None:
        self._working = working  # experiments with a block that is stored
        self._held: dict[str, list[Done]] = {}

    def let_through(self, task: Task, result: BlockResult) -> list[Done]:
        """The blocks that may be stored, now that this one has finished."""
        name = task.experiment.name
        if result.raised and name not in self._working:
            self._held.setdefault(name, []).append((task, result))
            return []
        self._working.add(name)
        return [*self._held.pop(name, []), (task, result)]

    def refuse(self) -> None:
        """Stop where all blocks of an experiment raised."""
        for name, held in self._held.items():
            _, first = min(held, key=lambda done: (done[0].block, canonical_json(done[0].params)))
            raise TrialsRaised(f"every trial of experiment {name} {first.raised}")


# -- single trials -------------------------------------------------------------------------


@dataclass(frozen=True)
class TrialId:
    """The parts of a trial id."""

    experiment: str
    cell: int
    index: int


class Replay(NamedTuple):
    """One trial, simulated again: its row and ``ok`` or the reason of its failure.

    ``distance`` is the largest relative distance to the stored values.  It is 0 where all bits are
    equal, and where nothing is stored.  ``ulps`` is the largest number of floats between them.
    ``machine`` says how the machine of the stored trial differs from this one.
    """

    columns: tuple[str, ...]
    values: FloatArray
    status: str
    distance: float = 0.0
    ulps: int | None = 0
    machine: tuple[str, ...] = ()


def trial_id(experiment: Experiment, params: Params, index: int) -> str:
    """``"<experiment>:<cell number, 16 hex digits>:<trial index>"``."""
    index = integer_between("index", index, 0, MAX_INDEX)
    return f"{experiment.name}:{cell_number(experiment.check(params)):016x}:{index}"


def parse_trial_id(text: str) -> TrialId:
    """Take a trial id apart.

    Raises
    ------
    InvalidParameter : When the text is not of the form that `trial_id` writes.
    """
    match = _TRIAL_ID.fullmatch(text) if isinstance(text, str) else None
    if match is None or int(match["index"]) > MAX_INDEX:
        raise InvalidParameter(
            f"trial={text!r:.200} must read <experiment>:<16 hex digits>:<index>, "
            "e.g. ifca.step:00112233aabbccdd:42"
        )
    return TrialId(match["name"], int(match["number"], 16), int(match["index"]))


def replay(source: RunStore | int, trial: str, params: Params | None = None) -> Replay:
    """Simulate the block of a trial again and return the trial's row.

    Parameters
    ----------
    source : the run that holds the trial (the row is then compared with the stored one), or a root
        seed (then ``params`` are needed: the id holds only their hash).
    trial : a trial id.
    params : parameters of the cell.  They are not needed with a store, which holds them.

    Raises
    ------
    InvalidParameter : When the id is malformed, names no experiment, or is not of these parameters.
    StoreError
        When the run does not hold the trial, or holds values that differ by more than rounding.
    """
    wanted = parse_trial_id(trial)
    owner = experiment(wanted.experiment)
    block, row = divmod(wanted.index, owner.block_size)
    stored = None
    if isinstance(source, RunStore):
        params = _read_params(source, owner, wanted, trial)
        stored = source.trial(owner, params, wanted.index)
    elif params is None:
        raise InvalidParameter(f"trial={trial!r} must come with its parameters, or with its run")
    params = owner.check(params)
    if cell_number(params) != wanted.cell:
        raise InvalidParameter(
            f"trial={trial!r} must be of the parameters {canonical_json(params)}"
        )
    root = source.root_seed if isinstance(source, RunStore) else source
    with single_threaded_blas():
        result = simulate_block(Task(owner, params, root, block))
    found = Replay(owner.columns, result.values[row], dict(result.reasons).get(row, "ok"))
    if isinstance(source, RunStore) and stored is not None:
        facts = source.machines().get(source.machine_of(owner, params, wanted.index), {})
        other = tuple(machine_differences(facts, arithmetic())) if facts else ()
        apart, floats = _compare(stored, found, source, trial, other)
        return found._replace(distance=apart, ulps=floats, machine=other)
    return found


def _read_params(store: RunStore, owner: Experiment, wanted: TrialId, trial: str) -> Params:
    """The cell's parameters, once it is certain that the run holds the trial."""
    for cell in store.cells():
        if (cell.experiment, cell.number) == (wanted.experiment, wanted.cell):
            _refuse_other_parameters(store, owner, cell.params)
            store.register(owner, cell.params)  # present: this only compares the designs
            return cell.params
    raise StoreError(f"{store.path}: holds no cell of trial {trial}")


def _refuse_other_parameters(store: RunStore, owner: Experiment, params: Params) -> None:
    """Refuse a cell of another version, whose parameters mean another cell now, or none."""
    try:
        now = canonical_json(owner.check(params))
    except InvalidParameter as error:
        now = str(error)
    if now != (then := canonical_json(params)):
        raise StoreError(
            f"{store.path}: the parameters of experiment {owner.name} have changed since this run "
            f"was made: {then} then, {now} now; replay the trial with the older version"
        )


def _compare(
    stored: tuple[FloatArray, str],
    found: Replay,
    store: RunStore,
    trial: str,
    machine: tuple[str, ...],
) -> tuple[float, int | None]:
    """The distance of two rows that agree to rounding, in two units, measured columns left out."""
    values, status = stored
    measured = experiment(parse_trial_id(trial).experiment).measured
    repeats = np.array([column not in measured for column in found.columns])
    apart = distance(values[repeats], found.values[repeats])
    now_status = printable(found.status)  # as it was stored (`trials.run.store.writing`)
    if now_status == status and apart <= ROUNDING:
        return apart, ulps(values[repeats], found.values[repeats])
    for column, then, now in zip(found.columns, values, found.values, strict=True):
        if column not in measured and distance(then, now) > ROUNDING:
            what = f"{column}={then!r} is stored, {column}={now!r} is replayed"
            break
    else:
        what = f"status {status!r} is stored, {now_status!r} is replayed"
    changed = changed_since(store.code, code_of(experiment(parse_trial_id(trial).experiment)))
    changed += machine
    why = f" ({enumerate_few(changed)}; then against now)" if changed else ""
    raise StoreError(
        f"{store.path}: trial {trial}: {what}; that is more than rounding, so the code or the "
        f"environment has changed{why}"
    )

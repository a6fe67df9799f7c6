"""Trying the claims of a run: workers decide claims while others draw trials.

Sampling and deciding are different work.  Trials are drawn by compiled kernels, decisions and
searches are Python.  With several workers a claim is asked for its decision in a worker.  The
worker gets names and numbers only: it builds the same procedure from the catalogue, reads the same
blocks from the run's store, and returns plain evidence, or the trials that the claim still needs.
The calling process draws these and asks again.  The decision depends on the stored blocks alone,
so neither the number of workers nor the order of work changes it.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from trials.run.cell import Params
from trials.run.distributed import DistributedExecutor
from trials.run.engine import Demand, OnBlock, ensure
from trials.run.executors import Call, Executor, ExecutorError
from trials.run.experiment import experiment
from trials.run.store import RunStore, StoreError
from trials.run.store.documents import encode
from trials.sources import user_line
from verify.evidence import Evidence, Verdict
from verify.papers import ClaimsFile, catalogue, from_files
from verify.plan import Planned, plan
from verify.procedures.base import PROFILES
from verify.procedures.reading import KeptRounds

_LONGEST_ERROR = 300


@dataclass(frozen=True, kw_only=True)
class DecisionRequest:
    """Everything that a worker needs to decide one claim.

    ``run`` is the path of the store that holds the claim's trials, None for a search.  ``files``
    are the files of the user's own with papers, with their text.
    """

    selection: str
    profile: str
    level: float
    run: str | None
    files: tuple[ClaimsFile, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Decided:
    """A claim's evidence and the seconds that its decision took."""

    evidence: Evidence
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Needed:
    """The trials without which a claim cannot be decided, and the seconds that it took to tell.

    ``blocks`` are (experiment, parameters, number of blocks), which can be sent between processes.
    """

    blocks: tuple[tuple[str, Params, int], ...]
    seconds: float

    def demands(self) -> list[Demand]:
        """The blocks as the engine takes them."""
        return [Demand(experiment(name), params, n) for name, params, n in self.blocks]


def load_claims(profile: str) -> None:
    """Import all registered claims, and plan those that are asked more than once.

    A new worker does it while its caller prepares the run.
    """
    for name, claim in catalogue().items():
        if claim.statistical and not claim.not_run_at(profile):
            _planned(name, profile, ())


@lru_cache(maxsize=512)
def _planned(selection: str, profile: str, files: tuple[ClaimsFile, ...]) -> Planned:
    """One claim of a request.  A claim of several rounds is asked several times."""
    (planned,) = plan(from_files(files), [selection], PROFILES[profile]).claims
    return planned


def decide_request(request: DecisionRequest) -> Decided | Needed:
    """Decide one claim from its name and its stored trials.  A worker calls this function."""
    begin = time.perf_counter()
    planned = _planned(request.selection, request.profile, request.files)
    if request.run is None:
        found = _next_step(planned, None, request.level)  # type: ignore[arg-type]
    else:
        # The process that asks holds the run and has counted its rows.  To count them for each
        # claim took a sixth of the time of all decisions.
        with RunStore.open(Path(request.run), readonly=True, count=False) as store:
            found = _next_step(planned, store, request.level)
    seconds = time.perf_counter() - begin
    if isinstance(found, Evidence):
        return Decided(evidence=found, seconds=seconds)
    blocks = tuple((d.experiment.name, d.params, d.n_blocks) for d in found)
    return Needed(blocks=blocks, seconds=seconds)


def _next_step(planned: Planned, store: RunStore, level: float) -> Evidence | list[Demand]:
    """The trials that a claim still needs, or its evidence where it needs none.

    A claim that raises, because its statement has a symbol without a value or its own file is
    wrong, fails alone.  The other claims of the run go on.
    """
    trials = KeptRounds(store)
    try:
        if missing := planned.demands(trials, level):
            return missing
        return storable(planned.decide(trials, level))
    except (StoreError, ExecutorError, OSError, MemoryError):
        raise
    except (Exception, SystemExit) as error:  # the run would end as if all claims were decided
        frame = user_line(error) or traceback.extract_tb(error.__traceback__)[-1]
        told = " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST_ERROR]
        return Evidence(
            verdict=Verdict.INCONCLUSIVE,
            summary="the claim failed",
            error=f"{told} ({Path(frame.filename).name}, line {frame.lineno})",
            level=level,
            n_trials=0,
        )


def storable(evidence: Evidence) -> Evidence:
    """Evidence that a run can hold.  A procedure of one's own may return anything.

    Raises
    ------
    TypeError, ValueError : what no document of a run can hold, before it ends the whole run.
    """
    if not isinstance(evidence, Evidence):
        raise TypeError(f"decide must return an Evidence, and returns {evidence!r:.60}")
    encode(evidence.as_dict())
    return evidence


def try_claims(
    store: RunStore,
    claims: Sequence[Planned],
    level_of: Callable[[Planned], float],
    profile: str,
    executor: Executor,
    on_start: Callable[[Planned], None],
    on_block: OnBlock | None = None,
    files: tuple[ClaimsFile, ...] = (),
) -> Iterator[tuple[Planned, Decided]]:
    """Try claims and yield them decided, in the order given.

    Parameters
    ----------
    level_of : the error level of a claim's verdict.
    profile : the name of the profile that the claims were planned with.
    on_start : called when work on a claim begins.
    on_block : see `trials.run.engine.ensure`.
    files : the files of the user's own from which claims come.

    Notes
    -----
    One worker would save nothing by deciding elsewhere, and the workers of a cluster do not see the
    run's file: there the decisions are made in this process.  Searches read no trials, so every
    executor with several workers makes them.  One claim is decided here too: its decision is one
    call, and the start of a worker costs more than most decisions.  Its trials are shared out.
    """
    if executor.n_workers < 2 or len(claims) < 2:
        for planned in claims:
            on_start(planned)
            yield planned, _decided_here(store, planned, level_of(planned), executor, on_block)
        return
    board = _Board(store, claims, level_of, profile, executor, on_block, files)
    for i, planned in enumerate(claims):
        on_start(planned)
        if i in board.calls:
            yield planned, board.decided(i)
        else:
            yield planned, _decided_here(store, planned, level_of(planned), executor, on_block)


def _decided_here(
    store: RunStore, planned: Planned, level: float, executor: Executor, on_block: OnBlock | None
) -> Decided:
    """Draw a claim's trials until it can be decided, and decide it in this process."""
    begin = time.perf_counter()
    while not isinstance(found := _next_step(planned, store, level), Evidence):
        ensure(store, found, executor, on_block)
    return Decided(evidence=found, seconds=time.perf_counter() - begin)


def _first(planned: Planned, store: RunStore, level: float) -> list[Demand]:
    """The first trials of a claim, none where it fails."""
    found = _next_step(planned, store, level)
    return [] if isinstance(found, Evidence) else found


def deal(items: Sequence[int], n_workers: int) -> list[int]:
    """The items in an order in which each worker begins in a part of its own.

    Claims that follow each other need the same kernels.  In a cold run one worker would compile
    them, and the others wait.

    >>> deal([1, 2, 3, 4, 5], 2)
    [1, 4, 2, 5, 3]
    """
    length = max(1, -(-len(items) // n_workers))
    return [each for first in range(length) for each in items[first::length]]


class _Board:
    """The claims of a run in the hands of workers.

    Attributes
    ----------
    calls : position of a claim -> the pending decision.
    """

    def __init__(
        self,
        store: RunStore,
        claims: Sequence[Planned],
        level_of: Callable[[Planned], float],
        profile: str,
        executor: Executor,
        on_block: OnBlock | None,
        files: tuple[ClaimsFile, ...],
    ) -> None:
        self._store, self._executor, self._on_block = store, executor, on_block
        sampled = [i for i, planned in enumerate(claims) if planned.procedure.statistical]
        self._requests = {
            i: DecisionRequest(
                selection=str(planned.selection),
                profile=profile,
                level=level_of(planned),
                run=str(store.path.resolve()) if i in sampled else None,
                files=files,
            )
            for i, planned in enumerate(claims)
        }
        self._seconds = dict.fromkeys(range(len(claims)), 0.0)
        self.calls: dict[int, Call[Decided | Needed]] = {}
        # The workers of a cluster do not see the run's file.
        here = isinstance(executor, DistributedExecutor)
        if not here:
            for i in deal(sampled, executor.n_workers):
                self._ask(i)
        # Searches need no trials: they start at once and fill the workers that sampling leaves.
        for i in deal(sorted(set(self._requests) - set(sampled)), executor.n_workers):
            self._ask(i)
        # The end of each call of `ensure` leaves workers without work.  One call for the first
        # trials of all claims has one such end.  A stopping rule looks at its claim's own blocks in
        # their order, so that drawing these early changes nothing.
        if here:
            first = [_first(claims[i], store, self._requests[i].level) for i in sampled]
            ensure(store, [d for each in first for d in each], executor, on_block)
            return
        self._supply({i: self.calls[i].result() for i in sampled})

    def _ask(self, i: int) -> None:
        self.calls[i] = self._executor.submit_call(decide_request, self._requests[i])

    def decided(self, i: int) -> Decided:
        """Wait for the decision of a claim.  The trials that others request are drawn meanwhile."""
        while True:
            answer = self.calls[i].result()
            if isinstance(answer, Decided):
                return replace(answer, seconds=self._seconds[i] + answer.seconds)
            self._draw()

    def _draw(self) -> None:
        """Draw the trials that any claim has requested by now, together, and ask these again."""
        self._supply({i: call.result() for i, call in self.calls.items() if call.done()})

    def _supply(self, answers: Mapping[int, Decided | Needed]) -> None:
        """Draw the trials that answers name, together, and ask their claims again."""
        needed = {i: answer for i, answer in answers.items() if isinstance(answer, Needed)}
        begin = time.perf_counter()
        demands = {i: answer.demands() for i, answer in needed.items()}
        ensure(
            self._store,
            [d for each in demands.values() for d in each],
            self._executor,
            self._on_block,
        )
        share = (time.perf_counter() - begin) / max(len(needed), 1)
        for i, answer in needed.items():
            self._seconds[i] += answer.seconds + share
            self._ask(i)

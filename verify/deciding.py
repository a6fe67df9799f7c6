"""Trying the claims of a run: sampling in order, while earlier claims are decided elsewhere.

Sampling and deciding are different work.  Trials are drawn by compiled kernels, decisions and
searches are Python.  So the main process draws the trials of a claim while workers decide the
claims before it.  A worker gets names and numbers only: it builds the same procedure from the
catalogue, reads the same blocks from the run's store, and returns plain evidence.  The decision
depends on these alone, so neither the number of workers nor the order of work changes it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trials.run.distributed import DistributedExecutor
from trials.run.engine import OnBlock, ensure
from trials.run.executors import Call, Executor
from trials.run.store import RunStore
from verify.evidence import Evidence
from verify.papers import ClaimsFile, from_files
from verify.plan import Planned, plan
from verify.procedures.base import PROFILES, takes_level


@dataclass(frozen=True, kw_only=True)
class DecisionRequest:
    """Everything that a worker needs to decide one claim.

    ``run`` is the path of the store that holds the claim's trials; None for a search.  ``files``
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


def decide_request(request: DecisionRequest) -> Decided:
    """Decide one claim from its name and its stored trials.  A worker calls this function."""
    begin = time.perf_counter()
    (planned,) = plan(
        from_files(request.files), [request.selection], PROFILES[request.profile]
    ).claims
    if request.run is None:
        evidence = planned.procedure.decide(None, request.level)  # type: ignore[arg-type]
    else:
        with RunStore.open(Path(request.run), readonly=True) as store:
            evidence = planned.procedure.decide(store, request.level)
    return Decided(evidence=evidence, seconds=time.perf_counter() - begin)


@dataclass(frozen=True)
class _Pending:
    """A claim whose trials are drawn, with its sampling time and its pending decision."""

    planned: Planned
    seconds: float
    decision: Call[Decided]


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
    A procedure asks for trials until it can decide.  That question is asked here, because the next
    blocks depend on it.  One worker would save nothing by deciding elsewhere, and the workers of a
    cluster do not see the run's file: there the decision is made here.
    """
    if executor.n_workers < 2:
        for planned in claims:
            on_start(planned)
            begin = time.perf_counter()
            level = level_of(planned)
            _draw(store, planned, level, executor, on_block)
            evidence = planned.procedure.decide(store, level)
            yield planned, Decided(evidence=evidence, seconds=time.perf_counter() - begin)
        return

    def request(planned: Planned) -> DecisionRequest:
        reads = takes_level(planned.procedure)
        return DecisionRequest(
            selection=str(planned.selection),
            profile=profile,
            level=level_of(planned),
            run=str(store.path.resolve()) if reads else None,
            files=files,
        )

    # Searches need no trials: they start at once and fill the workers that sampling leaves free.
    searches = {
        i: executor.submit_call(decide_request, request(planned))
        for i, planned in enumerate(claims)
        if not takes_level(planned.procedure)
    }
    _draw_first(store, claims, level_of, executor, on_block)
    pending: deque[_Pending] = deque()
    for i, planned in enumerate(claims):
        on_start(planned)
        begin = time.perf_counter()
        if i in searches:
            decision = searches[i]
        else:
            level = level_of(planned)
            _draw(store, planned, level, executor, on_block)
            if isinstance(executor, DistributedExecutor):
                yield from _finished(pending, wait=True)
                evidence = planned.procedure.decide(store, level)
                yield planned, Decided(evidence=evidence, seconds=time.perf_counter() - begin)
                continue
            decision = executor.submit_call(decide_request, request(planned))
        pending.append(_Pending(planned, time.perf_counter() - begin, decision))
        yield from _finished(pending, wait=False)
    yield from _finished(pending, wait=True)


def _draw(
    store: RunStore, planned: Planned, level: float, executor: Executor, on_block: OnBlock | None
) -> None:
    """Draw a claim's trials until it can be decided."""
    while demands := planned.procedure.demands(store, level):
        ensure(store, demands, executor, on_block)


def _draw_first(
    store: RunStore,
    claims: Sequence[Planned],
    level_of: Callable[[Planned], float],
    executor: Executor,
    on_block: OnBlock | None,
) -> None:
    """Draw what every claim asks for first, all of it together.

    The end of each call of `ensure` leaves workers without work.  One call for all claims has one
    such end.  Stopping rules look at each claim's own blocks in their order, so that drawing these
    early changes nothing.
    """
    first = [d for p in claims for d in p.procedure.demands(store, level_of(p))]
    ensure(store, first, executor, on_block)


def _finished(pending: deque[_Pending], *, wait: bool) -> Iterator[tuple[Planned, Decided]]:
    """The finished decisions at the front of the queue, or with ``wait`` all decisions."""
    while pending and (wait or pending[0].decision.done()):
        first = pending.popleft()
        decided = first.decision.result()
        yield first.planned, replace(decided, seconds=first.seconds + decided.seconds)

"""``falsify``: does a supported claim fail at a place that nobody chose?"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trials.checks import InvalidParameter
from trials.run.directory import find_run
from trials.run.engine import refuse_other_code
from trials.run.executors import make_executor
from trials.run.store import RunStore
from verify import session
from verify.cli import exits
from verify.cli.examined import (
    decided_among,
    examination_of,
    refuse_benchmarks,
    refuse_none,
    standing_of,
)
from verify.cli.screen import print_json, say
from verify.cli.signals import interruptible
from verify.cli.workplaces import require_jobs
from verify.evidence import Verdict
from verify.mutation.examination import Standing
from verify.mutation.inside import Found, look_inside
from verify.mutation.outcomes import in_one_line
from verify.papers import ClaimsFile, catalogue, from_files, recorded_files
from verify.plan import plan
from verify.procedures.base import PROFILES
from verify.stored import claim_documents

#: Claims in a row that a worker tries with its copy of the run opened once.
_TOGETHER = 4
#: Reasons that are printed of one claim.
_REASONS = 3


def falsify_run(
    *,
    run: str,
    claims: Sequence[str],
    n_places: int,
    seed: int,
    unread: bool,
    jobs: int | None,
    as_json: bool,
    claims_files: Sequence[str],
) -> int:
    """Decide the supported claims of a run at places inside their conditions.

    The exit code is 1 where a place refutes a claim.
    """
    if n_places < 1:
        raise InvalidParameter(f"--places={n_places} must be at least 1")
    if seed < 0:
        raise InvalidParameter(f"--seed={seed} must be at least 0")
    require_jobs(jobs)
    interruptible()
    directory = find_run(run)
    store, config = session.open_run(directory, readonly=True)
    with store:
        refuse_benchmarks(directory, store)
        papers = catalogue(recorded_files(store, claims_files))
        decided = claim_documents(store)
        chosen = decided_among(papers, claims, decided, config.profile)
        names = [str(planned.selection) for planned in chosen]
        refuse_none(directory, names)
        standings = [standing_of(decided[name]["evidence"]) for name in names]
        drawn = (
            planned.procedure.experiment()
            for planned, standing in zip(chosen, standings, strict=True)
            if standing.verdict == Verdict.SUPPORTED
        )
        refuse_other_code(store, (experiment for experiment in drawn if experiment is not None))
        found = []
        with tempfile.TemporaryDirectory() as folder:
            request = LookRequest(
                selections=tuple(names),
                standings=tuple(standings),
                profile=config.profile,
                n_places=n_places,
                seed=seed,
                unread=unread,
                run=str(store.path.resolve()),
                folder=folder,
                files=papers.files,
            )
            for one in _look(request, jobs):
                found.append(one)
                if not as_json:
                    _print(one, is_named=bool(claims))
    return _close(found, as_json)


@dataclass(frozen=True, kw_only=True)
class LookRequest:
    """Everything that a worker needs to look inside the conditions of some claims.

    ``folder`` holds one copy of the run for each worker.
    """

    selections: tuple[str, ...]
    standings: tuple[Standing, ...]
    profile: str
    n_places: int
    seed: int
    unread: bool
    run: str
    folder: str
    files: tuple[ClaimsFile, ...] = ()

    def part(self, first: int) -> LookRequest:
        """A few claims in a row."""
        rows = slice(first, first + _TOGETHER)
        return replace(self, selections=self.selections[rows], standings=self.standings[rows])


def look_request(request: LookRequest) -> list[Found]:
    """Look inside the conditions of some claims.  A worker calls this function."""
    return list(_look_here(request))


def _look_here(request: LookRequest) -> Iterator[Found]:
    """The outcomes of some claims, whose trials are drawn on this process's copy of the run."""
    claims = plan(from_files(request.files), request.selections, PROFILES[request.profile]).claims
    named = {str(planned.selection): planned for planned in claims}
    copy = Path(request.folder) / f"{os.getpid()}.sqlite"
    if not copy.exists():
        with RunStore.open(Path(request.run), readonly=True) as store:
            store.copy_to(copy)
    with RunStore.open(copy) as scratch, make_executor("serial") as executor:
        for name, standing in zip(request.selections, request.standings, strict=True):
            examination = examination_of(named[name], request.profile, standing, scratch, executor)
            try:
                found = look_inside(
                    examination, request.n_places, seed=request.seed, unread=request.unread
                )
            except Exception as error:  # a claim of one's own: the others are tried all the same
                told = f"{type(error).__name__}: {in_one_line(error)}"
                found = Found(claim=name, procedure="", error=told)
            yield replace(found, claim=name)


def _look(request: LookRequest, jobs: int | None) -> Iterator[Found]:
    """The outcomes of all claims in their order, from several processes where there are several
    jobs.
    """
    with make_executor("processes", jobs) as executor:
        if jobs == 1 or len(request.selections) <= _TOGETHER:
            yield from _look_here(request)
            return
        calls = [
            executor.submit_call(look_request, request.part(first))
            for first in range(0, len(request.selections), _TOGETHER)
        ]
        for call in calls:
            yield from call.result()


def _print(found: Found, *, is_named: bool) -> None:
    """One claim's places.  The reason why it was not tried is printed where the user named it."""
    if found.error:
        say(f"{found.claim}: not tried, because its own code failed ({found.error})")
    elif found.why:
        if is_named:
            say(f"{found.claim}: not tried, because {found.why}")
    elif not found.n_places:
        outcome = "refuted" if found.refuted else "not refuted"
        say(f"{found.claim}: {outcome} by a larger search")
    else:
        say(
            f"{found.claim}: refuted at {len(found.refuted)} of {found.n_places} places; "
            f"{found.n_held} hold, {found.n_void} say nothing, {found.n_open} are open, "
            f"{found.n_failed} cannot be tried"
        )
    for reason, n in found.failures[:_REASONS]:
        say(f"  {n} cannot be tried: {reason}")
    for place in found.refuted:
        say("  " + (", ".join(f"{k}={v}" for k, v in place.cell.items()) or "a point"))
        say(f"    {place.summary}")


def _close(found: Sequence[Found], as_json: bool) -> int:
    tried = [f for f in found if not f.why and not f.error]
    by_trials = [f for f in tried if f.n_places]
    n_places = sum(f.n_places for f in by_trials)
    refuted = [f for f in tried if f.refuted]
    failed = [f.claim for f in found if f.error]
    if as_json:
        print_json(
            {
                "refuted": [f.claim for f in refuted],
                "failed": failed,
                "claims": [f.as_dict() for f in found],
            }
        )
    else:
        told = (
            f"claims at random places: {len(by_trials)} ({n_places:,} places); searches with a "
            f"larger budget: {len(tried) - len(by_trials)}; refuted: {len(refuted)}"
        )
        say(told + (f"; failed: {len(failed)}" if failed else ""))
    return exits.UNEXPECTED if refuted or failed else exits.EXPECTED

"""``falsify``: does a supported claim fail at a place that nobody chose?"""

from __future__ import annotations

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
from verify.cli.examined import examination_of, standing_of, writable_copy
from verify.cli.screen import print_json, say
from verify.evidence import Verdict
from verify.mutation.examination import Standing
from verify.mutation.inside import Found, look_inside
from verify.papers import ClaimsFile, catalogue, from_files, recorded_files
from verify.plan import plan
from verify.procedures.base import PROFILES
from verify.stored import claim_documents


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
    directory = find_run(run)
    store, config = session.open_run(directory, readonly=True)
    with store:
        papers = catalogue(recorded_files(store, claims_files))
        decided = claim_documents(store)
        named = plan(papers, claims or list(decided), PROFILES[config.profile]).claims
        chosen = [planned for planned in named if str(planned.selection) in decided]
        if not chosen:
            raise InvalidParameter(
                f"{directory}: has decided none of these claims; `status` lists its claims"
            )
        names = [str(planned.selection) for planned in chosen]
        standings = [standing_of(decided[name]["evidence"]) for name in names]
        drawn = (
            planned.procedure.experiment()
            for planned, standing in zip(chosen, standings, strict=True)
            if standing.verdict == Verdict.SUPPORTED
        )
        refuse_other_code(store, (experiment for experiment in drawn if experiment is not None))
        found: dict[str, Found] = {}
        request = LookRequest(
            selections=tuple(names),
            standings=tuple(standings),
            profile=config.profile,
            n_places=n_places,
            seed=seed,
            unread=unread,
            run=str(store.path.resolve()),
            files=papers.files,
        )
        for name, one in _look(request, jobs):
            found[name] = one
            if not as_json:
                _print(one, named_alone=len(chosen) == 1)
    return _close([found[name] for name in names], as_json)


@dataclass(frozen=True, kw_only=True)
class LookRequest:
    """Everything that a worker needs to look inside the conditions of some claims."""

    selections: tuple[str, ...]
    standings: tuple[Standing, ...]
    profile: str
    n_places: int
    seed: int
    unread: bool
    run: str
    files: tuple[ClaimsFile, ...] = ()

    def part(self, first: int, step: int) -> LookRequest:
        """Every so many-th claim."""
        return replace(
            self,
            selections=self.selections[first::step],
            standings=self.standings[first::step],
        )


def look_request(request: LookRequest) -> list[tuple[str, Found]]:
    """Look inside the conditions of some claims.  A worker calls this function."""
    return list(_look_here(request))


def _look_here(request: LookRequest) -> Iterator[tuple[str, Found]]:
    """The outcomes of some claims, whose trials are drawn on one copy of the run."""
    claims = plan(from_files(request.files), request.selections, PROFILES[request.profile]).claims
    named = {str(planned.selection): planned for planned in claims}
    with (
        RunStore.open(Path(request.run), readonly=True) as store,
        writable_copy(store) as (copy, executor),
    ):
        for name, standing in zip(request.selections, request.standings, strict=True):
            examination = examination_of(named[name], request.profile, standing, copy, executor)
            yield (
                name,
                look_inside(
                    examination, request.n_places, seed=request.seed, unread=request.unread
                ),
            )


def _look(request: LookRequest, jobs: int | None) -> Iterator[tuple[str, Found]]:
    """The outcomes of all claims, from several processes where there are several jobs.

    A part is every so many-th claim, because claims of one theorem cost alike.  There are two parts
    a worker and no more, because each copies the run.
    """
    with make_executor("processes", jobs) as executor:
        n_parts = min(len(request.selections), executor.capacity)
        if jobs == 1 or n_parts == 1:
            yield from _look_here(request)
            return
        calls = [
            executor.submit_call(look_request, request.part(first, n_parts))
            for first in range(n_parts)
        ]
        for call in calls:
            yield from call.result()


def _print(found: Found, *, named_alone: bool) -> None:
    """One claim's places.  A claim that cannot be asked is named where it was asked for alone."""
    if found.why:
        if named_alone:
            say(f"{found.claim}: not tried, because {found.why}")
        return
    if not found.n_places:
        outcome = "refuted by" if found.refuted else "not refuted by"
        say(f"{found.claim}: {outcome} a larger search")
    else:
        say(
            f"{found.claim}: refuted at {len(found.refuted)} of {found.n_places} places; "
            f"{found.n_held} hold, {found.n_void} say nothing, {found.n_open} are open, "
            f"{found.n_failed} cannot be tried"
        )
    for place, summary in found.refuted:
        say(f"  {place}")
        say(f"    {summary}")


def _close(found: Sequence[Found], as_json: bool) -> int:
    tried = [f for f in found if not f.why]
    by_trials = [f for f in tried if f.n_places]
    n_places = sum(f.n_places for f in by_trials)
    refuted = [f for f in tried if f.refuted]
    if as_json:
        print_json({"refuted": [f.claim for f in refuted], "claims": [f.as_dict() for f in found]})
    else:
        say(
            f"{len(by_trials)} claims at {n_places:,} places, and {len(tried) - len(by_trials)} "
            f"searches with a larger budget: {len(refuted)} claims are refuted"
        )
    return exits.UNEXPECTED if refuted else exits.EXPECTED

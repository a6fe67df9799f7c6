"""``falsify``: does a supported claim fail at a place that nobody chose?"""

from __future__ import annotations

from collections.abc import Sequence

from trials.checks import InvalidParameter
from trials.run.directory import find_run
from trials.run.engine import refuse_other_code
from verify import session
from verify.cli import exits
from verify.cli.examined import examination_of, standing_of, writable_copy
from verify.cli.screen import print_json, say
from verify.evidence import Verdict
from verify.mutation.inside import Found, look_inside
from verify.papers import catalogue, recorded_files
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
    found: list[Found] = []
    with store:
        papers = catalogue(recorded_files(store, claims_files))
        decided = claim_documents(store)
        named = plan(papers, claims or list(decided), PROFILES[config.profile]).claims
        chosen = [planned for planned in named if str(planned.selection) in decided]
        if not chosen:
            raise InvalidParameter(
                f"{directory}: has decided none of these claims; `status` lists its claims"
            )
        supported = [
            planned
            for planned in chosen
            if decided[str(planned.selection)]["evidence"]["verdict"] == Verdict.SUPPORTED
        ]
        drawn = (planned.procedure.experiment() for planned in supported)
        refuse_other_code(store, (experiment for experiment in drawn if experiment is not None))
        with writable_copy(store) as (copy, executor):
            for planned in chosen:
                name = str(planned.selection)
                standing = standing_of(decided[name]["evidence"])
                examination = examination_of(planned, config.profile, standing, copy, executor)
                found.append(look_inside(examination, n_places, seed=seed, unread=unread))
                if not as_json:
                    _print(found[-1], named_alone=len(chosen) == 1)
    return _close(found, as_json)


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

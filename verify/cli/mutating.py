"""``mutate``: would the stored evidence have refuted a false theorem?"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from trials.checks import InvalidParameter
from trials.run.directory import STORE_NAME, find_run
from trials.run.executors import make_executor
from trials.run.store import RunStore
from verify import session
from verify.cli import exits
from verify.cli.screen import print_json, say, table
from verify.mutation.score import Examination, Score, total
from verify.papers import catalogue, recorded_files
from verify.plan import plan
from verify.procedures.base import PROFILES


def mutate_run(
    *, run: str, claims: Sequence[str], as_json: bool, claims_files: Sequence[str]
) -> int:
    """Score the claims of a run; 1 where fewer than 95 per cent of the false mutants are caught."""
    directory = find_run(run)
    store, config = session.open_run(directory, readonly=True)
    with store, tempfile.TemporaryDirectory() as folder:
        papers = catalogue(recorded_files(store, claims_files))
        decided = store.documents("claim")
        profile = PROFILES[config.profile]
        named = plan(papers, claims or list(decided), profile).claims
        chosen = [p for p in named if str(p.selection) in decided]
        if not chosen:
            raise InvalidParameter(
                f"{directory}: has decided none of these claims; `status` lists its claims"
            )
        copy = Path(folder) / STORE_NAME
        store.copy_to(copy)
        scores = []
        with RunStore.open(copy) as scratch, make_executor("serial") as executor:
            for planned in chosen:
                level = float(decided[str(planned.selection)]["evidence"]["level"])
                found = Examination(
                    claim=planned.claim,
                    profile=profile,
                    level=level,
                    store=scratch,
                    executor=executor,
                    values=planned.selection.values,
                ).score()
                scores.append(found)
                if not as_json:
                    _print(found)
    caught, tried = total(scores)
    if as_json:
        print_json({"caught": caught, "tried": tried, "claims": [s.as_dict() for s in scores]})
    else:
        say(f"false mutants that lost their support: {caught} of {tried}")
    return exits.EXPECTED if caught >= 0.95 * tried else exits.UNEXPECTED


def _print(found: Score) -> None:
    """One claim's score, then every mutant that was not caught, with the reason."""
    if not found.judged:
        say(f"{found.claim}: {found.original}, so there is no support to lose")
        return
    say(f"{found.claim}: {found.original}; caught {found.n_caught} of {found.n_false}")
    rows = [
        (j.outcome, j.mutant, j.why)
        for j in found.judged
        if not j.caught and j.outcome != "asks less"
    ]
    if rows:
        for line in table(("outcome", "mutant", "why"), rows):
            say(f"  {line}")

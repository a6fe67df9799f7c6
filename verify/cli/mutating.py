"""``mutate``: would the stored evidence have refuted a false theorem?"""

from __future__ import annotations

import hashlib
import json
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from bounds.readable import readable_text
from trials.checks import InvalidParameter
from trials.run.directory import STORE_NAME, find_run
from trials.run.executors import Executor, make_executor, single_threaded_blas, usable_cpus
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
from verify.cli.screen import definition, print_json, say, table
from verify.cli.signals import interruptible
from verify.cli.workplaces import require_jobs
from verify.mutation.examination import Standing
from verify.mutation.mutants import CONDITIONS
from verify.mutation.outcomes import FALSE, Judged, Kept
from verify.mutation.score import (
    Score,
    score_mutants,
    tell_apart,
    tell_conditions_apart,
    total,
)
from verify.papers import ClaimsFile, catalogue, from_files, recorded_files
from verify.plan import Planned, plan
from verify.procedures.base import PROFILES
from verify.selection import select
from verify.stored import claim_documents, read_score

#: CPU seconds, as experiments declare them, of the new trials of one change of meaning.
MEANING_SECONDS = 3.0
#: CPU seconds between two times at which the outcomes of a claim's changes are stored.
_BETWEEN = 20.0
#: Claims whose samples are judged, and stored, with the run opened once.
_TOGETHER = 16


def mutate_run(
    *,
    run: str,
    claims: Sequence[str],
    sample: int | None,
    jobs: int | None,
    meaning: bool,
    as_json: bool,
    claims_files: Sequence[str],
) -> int:
    """Score the claims of a run and store the scores in it, for its report.

    The exit code is 1 where fewer than 95 per cent of the false mutants are caught.  Changes of
    meaning are counted by procedure.
    """
    if sample is not None and sample < 1:
        raise InvalidParameter(f"--sample={sample} must be at least 1")
    if meaning and sample is not None:
        raise InvalidParameter("--meaning tries every change: leave out --sample")
    require_jobs(jobs)
    interruptible()
    directory = find_run(run)
    store, config = session.open_run(directory, readonly=True)
    with store:
        refuse_benchmarks(directory, store)
        papers = catalogue(recorded_files(store, claims_files))
        decided = claim_documents(store)
        chosen: Sequence[Planned] = ()
        if sample is not None and not claims:  # a worker plans its own claims
            of_run = select(papers, list(decided))
            names = [str(s) for s, claim in of_run if not claim.not_run_at(config.profile)]
            names = [name for name in names if name in decided]
        else:
            chosen = decided_among(papers, claims, decided, config.profile)
            names = [str(p.selection) for p in chosen]
        refuse_none(directory, names)
        standings = [standing_of(decided[name]["evidence"]) for name in names]
        if meaning:
            return _tell_apart(directory, store, chosen, config.profile, as_json=as_json)
        if sample is None:
            found = _whole(store, chosen, standings, config.profile)
        else:
            found = _sample(store, names, standings, config.profile, sample, jobs, papers.files)
        scores: list[Score] = []
        new: dict[str, Score] = {}
        at_once = 1 if sample is None else _TOGETHER
        try:
            for name, score in zip(names, found, strict=True):
                scores.append(score)
                new[name] = score
                if len(new) == at_once:
                    _keep(directory, config.profile, new, is_sample=sample is not None)
                    new = {}
                if not as_json:
                    _print(score)
        finally:  # an interrupted call keeps what it has found
            _keep(directory, config.profile, new, is_sample=sample is not None)
    return _close(scores, as_json)


def _whole(
    store: RunStore, chosen: Sequence[Planned], standings: Sequence[Standing], profile: str
) -> Iterator[Score]:
    """Every mutant, with boundaries, on a copy of the trials to which mutants may add."""
    with _scratch(store) as (copy, executor):
        for planned, standing in zip(chosen, standings, strict=True):
            yield score_mutants(examination_of(planned, profile, standing, copy, executor))


@contextmanager
def _scratch(store: RunStore) -> Iterator[tuple[RunStore, Executor]]:
    """A copy of a store, open for writing, with the function that draws its trials."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / STORE_NAME
        store.copy_to(copy)
        with RunStore.open(copy) as scratch, make_executor("serial") as executor:
            yield scratch, executor


#: Document -> what decides it.
_MEANINGS = {"meaning": tell_apart, "conditions": tell_conditions_apart}
#: Document -> the number of its set of changes, 2 where it has inserted symbols.  A document of an
#: older set goes on where it ended.
_SETS = {"meaning": 2, "conditions": 1}


def _tell_apart(
    directory: Path, store: RunStore, chosen: Sequence[Planned], profile: str, *, as_json: bool
) -> int:
    """Decide and store every change of meaning, of formulas and of conditions.

    Outcomes are stored every few seconds.  What is stored for a claim as the run decided it is not
    decided again, so that an interrupted call goes on where it was, in the middle of a claim too,
    and where an earlier version knew fewer changes.
    """
    decided = claim_documents(store)
    scores = []
    with _scratch(store) as (copy, executor):
        for planned in chosen:
            name = str(planned.selection)
            standing = standing_of(decided[name]["evidence"])
            examination = examination_of(planned, profile, standing, copy, executor)
            examination = replace(examination, new_seconds=MEANING_SECONDS)
            of = _digest(decided[name])
            for kind, decide in _MEANINGS.items():
                known = read_score(store, kind, name)
                score = Score(claim=name, procedure="", original=standing.mark)
                if known is not None and known.get("of") == of:
                    score = _restore(known)
                if known is None or known.get("of") != of or not _is_whole(known, kind):
                    head = {"profile": profile, "of": of, "set": _SETS[kind]}
                    with _Parts(directory, kind, name, {**head, "part": True}, score) as parts:
                        score = decide(examination, parts.kept)
                    _keep_meaning(directory, kind, name, head, score)
                scores.append(score)
                if not as_json and (score.judged or kind == "meaning"):
                    _print(score)
    if not as_json:
        _print_by_procedure(scores)
    return _close(scores, as_json)


def _is_whole(document: Mapping[str, Any], kind: str) -> bool:
    """Whether a stored document has an outcome for every change of its kind."""
    return not document.get("part") and document.get("set", 1) == _SETS[kind]


class _Parts:
    """Stores the outcomes of a claim while they are found, and when the scan is interrupted.

    Parameters
    ----------
    head : of the documents, which say that they are a part.
    score : with the outcomes that are known already.
    """

    def __init__(
        self, directory: Path, kind: str, name: str, head: Mapping[str, Any], score: Score
    ) -> None:
        self._where = directory, kind, name, head
        self._score = score
        self._stored = len(score.judged)
        self._next = time.process_time() + _BETWEEN
        self.kept = Kept(known={j.mutant: j for j in score.judged}, keep=self._found)

    def __enter__(self) -> _Parts:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._store()

    def _found(self, judged: Judged) -> None:
        """Store a new outcome with the others, if it is time."""
        self._score = replace(self._score, judged=(*self._score.judged, judged))
        if time.process_time() > self._next:
            self._store()
            self._next = time.process_time() + _BETWEEN

    def _store(self) -> None:
        if len(self._score.judged) > self._stored:
            _keep_meaning(*self._where, self._score)
            self._stored = len(self._score.judged)


def _digest(document: Mapping[str, Any]) -> str:
    """What a claim's verdict rests on, in 16 letters: all of its document but the time it took."""
    rest = {name: value for name, value in document.items() if name != "seconds"}
    text = json.dumps(rest, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _restore(document: Mapping[str, Any]) -> Score:
    """The score in a stored document."""
    judged = tuple(
        Judged(**{f.name: j[f.name] for f in fields(Judged)}) for j in document["judged"]
    )
    names = ("claim", "procedure", "original", "n_mutants")
    return Score(**{name: document[name] for name in names}, judged=judged)


def _print_by_procedure(scores: Sequence[Score]) -> None:
    """Caught changes of all that ask for more, procedure by procedure."""
    names = dict.fromkeys(score.procedure for score in scores if score.n_false)
    rows = []
    for name in names:
        caught, tried = total([score for score in scores if score.procedure == name])
        rows.append((name, str(caught), str(tried), f"{caught / tried:.0%}"))
    if rows:
        for line in table(("procedure", "caught", "ask for more", "share"), rows, right={1, 2, 3}):
            say(line)


@dataclass(frozen=True, kw_only=True)
class SampleRequest:
    """Everything that a worker needs to judge a sample of the mutants of some claims."""

    selections: tuple[str, ...]
    profile: str
    standings: tuple[Standing, ...]
    sample: int
    run: str
    files: tuple[ClaimsFile, ...] = ()


def sample_request(request: SampleRequest) -> list[Score]:
    """Judge samples on the stored trials alone.  A worker calls this function."""
    papers = from_files(request.files)
    claims = plan(papers, request.selections, PROFILES[request.profile]).claims
    named = {str(planned.selection): planned for planned in claims}
    with RunStore.open(Path(request.run), readonly=True, count=False) as store:
        return [
            score_mutants(
                examination_of(named[name], request.profile, standing, store),
                request.sample,
                steps=0,
            )
            for name, standing in zip(request.selections, request.standings, strict=True)
        ]


def _sample(
    store: RunStore,
    names: Sequence[str],
    standings: Sequence[Standing],
    profile: str,
    sample: int,
    jobs: int | None,
    files: tuple[ClaimsFile, ...],
) -> Iterator[Score]:
    """A sample of each claim's mutants, the claims side by side.

    One worker would only load the program again, so this process works then.
    """
    kind = "serial" if (jobs or usable_cpus()) == 1 else "processes"
    with single_threaded_blas(), make_executor(kind, jobs) as executor:
        calls = [
            executor.submit_call(
                sample_request,
                SampleRequest(
                    selections=tuple(names[part]),
                    profile=profile,
                    standings=tuple(standings[part]),
                    sample=sample,
                    run=str(store.path.resolve()),
                    files=files,
                ),
            )
            for first in range(0, len(names), _TOGETHER)
            for part in [slice(first, first + _TOGETHER)]
        ]
        for call in calls:
            yield from call.result()


def _keep(directory: Path, profile: str, found: Mapping[str, Score], *, is_sample: bool) -> None:
    """Store the scores of some claims, the run opened once.

    A sample does not replace a score of all mutants at the same profile.
    """
    if not found:
        return
    store, _ = session.open_run(directory, count=False)  # the caller has counted its rows
    with store:
        for name, score in found.items():
            known = read_score(store, "power", name)
            known = known if is_sample and known and known["profile"] == profile else None
            if known is None or len(known["judged"]) <= len(score.judged):
                store.put_document("power", name, {"profile": profile, **score.as_dict()})


def _keep_meaning(
    directory: Path, kind: str, name: str, head: Mapping[str, Any], score: Score
) -> None:
    """Store the outcomes of a claim's changes of meaning, for `verify.mutation.meaning_page`."""
    store, _ = session.open_run(directory, count=False)  # the caller has counted its rows
    with store:
        store.put_document(kind, name, {**head, **score.as_dict()})


def _close(scores: Sequence[Score], as_json: bool) -> int:
    caught, tried = total(scores)
    if as_json:
        print_json({"caught": caught, "tried": tried, "claims": [s.as_dict() for s in scores]})
    else:
        refuted = sum(score.n_refuted for score in scores)
        say(f"changed statements that lost their support: {caught} of {tried}, {refuted} refuted")
    return exits.EXPECTED if caught >= 0.95 * tried else exits.UNEXPECTED


def _print(found: Score) -> None:
    """One claim's score, the mutants that were caught, and the others with the reason."""
    if not found.judged:
        why = "so there is no support to lose"
        if found.original.startswith(("SUPPORTED", "PROVED")):
            why = "but its formula has nothing to change"
        say(f"{found.claim}: {found.original}, {why}")
        return
    if all(j.kind in CONDITIONS for j in found.judged):
        false = sum(j.outcome in FALSE for j in found.judged)
        say(f"{found.claim}: conditions; caught {sum(j.caught for j in found.judged)} of {false}")
    else:
        say(f"{found.claim}: {found.original}; caught {found.n_caught} of {found.n_false}")
    if caught := [j.words or j.mutant for j in found.judged if j.caught]:
        for line in definition("caught", readable_text("; ".join(caught)), label=6):
            say(f"  {line}")
    rows = [
        (j.outcome, j.mutant, j.why)
        for j in found.judged
        if not j.caught and j.outcome != "asks less"
    ]
    if rows:
        for line in table(("outcome", "mutant", "why"), rows):
            say(f"  {line}")

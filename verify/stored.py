"""The documents of a run that the commands read, each of one type before anything uses it.

A run's folder may come from a stranger.  Its documents are JSON of any shape.  What is not as
expected is refused in one line that names the document, and never becomes an error further on.
"""

from __future__ import annotations

from typing import Annotated, Any, Required, TypedDict

from msgspec import Meta

from trials.run.store import RunStore, StoreError
from verify.evidence import Verdict

#: A number of trials.  A table of 64-bit numbers holds it.
_Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
_Probability = Annotated[float, Meta(ge=0, le=1)]


class _Cell(TypedDict, total=False):
    params: Required[dict[str, Any]]
    n_trials: Required[_Count]
    n_failed: _Count
    observed: Required[float | None]
    se: Required[float | None]
    lower: Required[float | None]
    upper: Required[float | None]
    bound: Required[float | None]
    ratio: Required[float | None]
    quantile: float | None
    relation: str
    verdict: str
    note: str
    void: str


class _Evidence(TypedDict, total=False):
    verdict: Required[Verdict]
    cells: Required[list[_Cell]]
    mark: str
    grade: str
    summary: Required[str]
    error: str
    level: Required[_Probability]
    resolution: float | None
    n_trials: Required[_Count]
    n_failed: Required[_Count]


class _OwnValues(TypedDict, total=False):
    weaker: list[str]
    dropped: list[Any]


class _Claim(TypedDict, total=False):
    evidence: Required[_Evidence]
    profile: str
    title: str
    paper: str
    source: str
    kind: str
    expected: str
    identity: str
    own_values: _OwnValues | None
    replay: list[str]


class _Summary(TypedDict, total=False):
    environment: dict[str, str]
    started: str
    wall_seconds: float
    commands: list[str]


class _Time(TypedDict):
    started: str
    wall_seconds: Annotated[float, Meta(ge=0)]


class _Commands(TypedDict):
    commands: list[str]


class _Mutant(TypedDict, total=False):
    kind: Required[str]
    mutant: Required[str]
    outcome: Required[str]
    why: str


class _Score(TypedDict, total=False):
    profile: Required[str]
    procedure: Required[str]
    n_mutants: Required[int]
    judged: Required[list[_Mutant]]


class _Declared(TypedDict):
    name: str
    question: str
    methods: str
    federations: list[dict[str, Any]]
    vary: str
    metric: str
    level: float
    width: float
    max_trials: int
    cpu_seconds: float
    limit: float
    notes: list[str]


class _Benchmark(TypedDict):
    benchmark: _Declared


class _File(TypedDict):
    path: str
    sha256: str


def claim_documents(store: RunStore) -> dict[str, dict[str, Any]]:
    """The decided claims of a run by name.

    Raises
    ------
    StoreError : A document that is damaged, or not of the form of a decided claim.
    """
    store.documents("claim", _Claim)
    return store.documents("claim")


def claim_document(store: RunStore, name: str) -> dict[str, Any] | None:
    """One decided claim, None where it is not there.  Raises as `claim_documents`."""
    if store.document("claim", name, _Claim) is None:
        return None
    return store.document("claim", name)


def summary(store: RunStore) -> dict[str, Any]:
    """The summary of a run, empty where it has none.

    Raises
    ------
    StoreError : A summary that is not of the form of one.
    """
    store.document("run", "summary", _Summary)
    return store.document("run", "summary") or {}


def read_time(store: RunStore) -> _Time | None:
    """When a run was started, and the seconds that calls worked on it, stopped ones included.

    None where nobody has worked on it.  A run that was made before this was recorded has the times
    of its summary.

    Raises
    ------
    StoreError : A document that is damaged, or not of this form.
    """
    found = store.document("run", "time", _Time)
    known = summary(store)
    if found is None and "started" in known:
        return _Time(started=known["started"], wall_seconds=known.get("wall_seconds", 0.0))
    return found


def read_commands(store: RunStore) -> list[str]:
    """The commands that made a run, none where nobody has worked on it.

    A run that was made before this was recorded has those of its summary.

    Raises
    ------
    StoreError : A document that is damaged, or not of this form.
    """
    found = store.document("run", "commands", _Commands)
    return list(summary(store).get("commands", []) if found is None else found["commands"])


def read_planned(store: RunStore) -> list[str] | None:
    """The claims of a run as it recorded them, None where it was stopped before it did."""
    plan = store.document("run", "plan", dict[str, list[str]])
    return None if plan is None else plan.get("claims")


def read_scores(store: RunStore, kind: str) -> dict[str, dict[str, Any]]:
    """The scores of changed statements by claim.  ``kind`` is that of `_Score`'s documents: power,
    meaning or conditions.

    Raises
    ------
    StoreError : A document that is damaged, or not of the form of a score.
    """
    store.documents(kind, _Score)
    return store.documents(kind)


def read_score(store: RunStore, kind: str, name: str) -> dict[str, Any] | None:
    """One claim's score, None where it is not there.  Raises as `read_scores`."""
    store.document(kind, name, _Score)
    return store.document(kind, name)


def declared_benchmarks(store: RunStore) -> dict[str, _Declared]:
    """The declarations of a run's benchmarks by name.

    Raises
    ------
    StoreError : A document that is damaged, or not of the form of a benchmark.
    """
    found = store.documents("benchmark", _Benchmark)
    return {name: document["benchmark"] for name, document in found.items()}


def holds_benchmarks(store: RunStore) -> bool:
    """Whether a run was made for benchmarks, and not for claims.  Raises as its siblings."""
    return bool(store.document("run", "kind", dict[str, str]))


def claims_files(store: RunStore, kind: str) -> list[_File]:
    """Path and SHA-256 of the claims files that a run names.  Raises as its siblings."""
    return list(store.documents(kind, _File).values())


def report_damage(store: RunStore, what: str) -> StoreError:
    """The error for a document whose types are right and whose values are not."""
    return StoreError(f"{store.path}: is damaged ({what})")

"""A run: claims, a seed and a budget become stored trials, verdicts and documents.

Everything a run decides follows from its configuration: the stopping rule looks only at stored
blocks, blocks are identified by their registered numbers, and `trials.run.engine.ensure` computes
just those that are missing.  So running, resuming after a kill and extending are one code path.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from trials.checks import InvalidParameter
from trials.run.directory import STORE_NAME
from trials.run.engine import Demand, refuse_other_code
from trials.run.executors import Executor
from trials.run.machine import arithmetic, machine_differences
from trials.run.provenance import enumerate_few, run_code
from trials.run.store import RunStore, StoreError
from trials.run.store.limits import MAX_NAME, is_label
from verify.commands import repeating
from verify.deciding import Decided, try_claims
from verify.decisions.familywise import PAPER_SHARE, Allocation
from verify.evidence import Verdict
from verify.levels import allocate_levels, paper_of
from verify.papers import Catalogue, ClaimsFile, catalogue
from verify.plan import Plan, Planned, plan
from verify.procedures.base import PROFILES
from verify.stored import (
    claim_document,
    claim_documents,
    holds_benchmarks,
    read_commands,
    read_time,
    report_damage,
    summary,
)

#: Family-wise error level of a whole run, split over its claims.
FAMILYWISE_LEVEL = 0.05


@dataclass(frozen=True, kw_only=True)
class _Extension:
    """The changes that a later call made to a run's configuration."""

    profile: str


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """The configuration of a run, fixed before the first trial and stored with it."""

    claims: tuple[str, ...] = ()
    profile: str = "quick"
    seed: int = 0
    level: float = FAMILYWISE_LEVEL

    def check(self) -> None:
        """Refuse a configuration that cannot be run, before any work."""
        if self.profile not in PROFILES:
            raise InvalidParameter(
                f"unknown profile {self.profile!r}; known: {', '.join(PROFILES)}"
            )
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise InvalidParameter(f"seed={self.seed!r} must be an integer >= 0")
        if self.seed >= 1 << 128:
            raise InvalidParameter("seed must be below 2**128, the streams' range")
        if isinstance(self.level, bool) or not isinstance(self.level, int | float):
            raise InvalidParameter(f"level={self.level!r} must be a number")
        if not 0.0 < self.level < 1.0:
            raise InvalidParameter(f"level={self.level} must lie strictly between 0 and 1")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One claim's verdict within a run."""

    selection: str
    expected: Verdict
    document: Mapping[str, Any]

    @property
    def verdict(self) -> Verdict:
        """The decision procedure's word."""
        return Verdict(self.document["evidence"]["verdict"])


@dataclass
class Listener:
    """Callbacks of a run, used by the command line to draw its progress display."""

    on_claim: Callable[[str, int, int], None] = field(default=lambda _name, _i, _n: None)
    on_block: Callable[[int, int, Demand, int], None] | None = None
    on_outcome: Callable[[Outcome], None] = field(default=lambda _outcome: None)


def prepare(config: RunConfig, papers: Catalogue | None = None) -> Plan:
    """Build every procedure and check every parameter of a run, before any work.

    ``papers`` is the catalogue that the claims are taken from, by default the registered papers.
    """
    config.check()
    known = catalogue() if papers is None else papers
    found = plan(known, config.claims, PROFILES[config.profile])
    for name in (str(planned.selection) for planned in found.claims):
        if not is_label(name):  # the store takes no document of this name
            raise InvalidParameter(
                f"claim {name!r} must be at most {MAX_NAME} printable characters long, its values "
                "in full: give fewer values, or shorter ones"
            )
    return found


def create(directory: Path, config: RunConfig) -> RunStore:
    """Make a run directory with an empty store.  An existing run is never overwritten."""
    config.check()
    path = directory / STORE_NAME
    if path.exists() and path.stat().st_size:  # an empty file is a start that was stopped
        raise StoreError(
            f"{directory} already holds a run; continue it with `cfl-verify resume {directory}` "
            f"or choose another --output"
        )
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{directory}: cannot make the run directory: {error.strerror}") from None
    return RunStore.create(path, root_seed=config.seed, config=asdict(config), code=run_code())


def open_run(
    directory: Path, *, readonly: bool = False, count: bool = True
) -> tuple[RunStore, RunConfig]:
    """Open a run directory's store and read back its configuration, extensions included.

    ``count`` is that of `RunStore.open`.
    """
    store = RunStore.open(directory / STORE_NAME, readonly=readonly, count=count)
    try:
        config = store.config_as(RunConfig)
        extension = store.document("run", "extension", _Extension)
    except StoreError:
        store.close()
        raise
    if extension is not None:
        config = replace(config, profile=extension.profile)
    try:
        config.check()
    except InvalidParameter as error:
        store.close()
        raise report_damage(store, f"its configuration: {error}") from None
    return store, config


def execute(
    store: RunStore,
    config: RunConfig,
    executor: Executor,
    listener: Listener | None = None,
    commands: Sequence[str] = (),
    papers: Catalogue | None = None,
    prepared: Plan | None = None,
) -> list[Outcome]:
    """Run (or continue, or extend) every claim of ``config`` to a verdict.

    A claim whose document was written under the same profile is not tried again.  Every result is
    committed at once, so an interrupted call loses only the blocks in computation.  ``prepared`` is
    the result of `prepare` for this configuration and these papers.  Without it the plan is made
    here.
    """
    listener = listener or Listener()
    known = catalogue() if papers is None else papers
    if prepared is None:
        prepared = prepare(config, known)
    allocation = allocate_levels(config.level, known, prepared, config.profile)
    decided = _read_decided(store, prepared.claims, config.profile)
    open_claims = [p for p in prepared.claims if str(p.selection) not in decided]
    # Before anything is written: a refused run stays as it was.
    _refuse_overspent(store, config, allocation, [str(p.selection) for p in open_claims])
    refuse_other_code(store, [e for p in open_claims if (e := p.procedure.experiment())])
    with _timed(store):
        said = _add_commands(store, commands if open_claims else ())
        _put_papers(store, known, prepared.claims)
        store.put_document("run", "extension", {"profile": config.profile})
        store.put_document("run", "plan", {"claims": [str(p.selection) for p in prepared.claims]})
        outcomes = _outcomes(
            store, prepared.claims, decided, allocation, config, executor, listener, known
        )
        digest = store.content_digest()
    store.put_document(
        "run",
        "summary",
        {
            "title": "Empirical verification of clustered federated learning",
            "run_id": _name_of(store),
            "profile": config.profile,
            "seed": config.seed,
            "executor": executor.kind,
            **(read_time(store) or {}),
            "finished": _now(),
            "familywise_level": config.level,
            "allocation": [
                [name, allocation.levels.get(name, 0.0)]
                for name in (str(p.selection) for p in prepared.claims)
            ],
            "not_run": [[name, reason] for name, reason in prepared.not_run.items()],
            "environment": environment() | _describe_mixture(store),
            "commands": said,
            "content_digest": digest,
        },
    )
    return outcomes


def _add_commands(store: RunStore, commands: Sequence[str]) -> list[str]:
    """All commands that made a run, these ones included.  They are written before its first trial.

    So a run that was stopped, or that was extended, still names the command that began it.  A
    command that is given again, such as ``resume``, is named once.
    """
    said = read_commands(store)
    said += [command for command in commands if command not in said]
    store.put_document("run", "commands", {"commands": said})
    return said


def summarise_benchmarks(store: RunStore, executor: str, command: str) -> None:
    """Note seed, machine, software and commands of a run of benchmarks, for its report.

    A run of claims keeps the summary of `execute`.
    """
    if not holds_benchmarks(store):
        return
    known, now = summary(store), _now()
    store.put_document(
        "run",
        "summary",
        {
            "title": "Methods of clustered federated learning, compared on the same data",
            "run_id": _name_of(store),
            "seed": store.root_seed,
            "executor": executor,
            "started": known.get("started", now),
            "finished": now,
            "environment": environment() | _describe_mixture(store),
            "commands": [*known.get("commands", []), command],
            "content_digest": store.content_digest(),
        },
    )


def _refuse_overspent(
    store: RunStore, config: RunConfig, allocation: Allocation, open_claims: Sequence[str]
) -> None:
    """Refuse claims that would take more of the level of error than their paper has.

    The share of a paper is split over its full list of claims.  A list that has grown since claims
    were decided leaves less than what the new list would give to the others.

    Raises
    ------
    StoreError
        When the levels of decided claims and of those to be tried exceed a paper's share.
    """
    spent: dict[str, float] = defaultdict(float)
    for name, document in claim_documents(store).items():
        if name not in open_claims and document.get("profile") == config.profile:
            spent[paper_of(name)] += document["evidence"]["level"]
    for name in open_claims:
        spent[paper_of(name)] += allocation.levels.get(name, 0.0)
    share = PAPER_SHARE * config.level
    for paper, level in spent.items():
        if level > share * (1 + 1e-9):
            raise StoreError(
                f"{store.path}: the list of claims of {paper} has changed since this run decided "
                f"some of them, and the levels of error of all would add up to {level:.3g}, more "
                f"than the paper's {share:.3g}; start a new run"
            )


@contextmanager
def _timed(store: RunStore) -> Iterator[None]:
    """Record when the run was started and how long it was worked on, also when it is stopped."""
    begin = time.perf_counter()
    known = read_time(store) or {"started": _now(), "wall_seconds": 0.0}
    store.put_document("run", "time", known)

    def record() -> None:
        seconds = known["wall_seconds"] + time.perf_counter() - begin
        store.put_document("run", "time", {**known, "wall_seconds": seconds})

    try:
        yield
    except BaseException:
        with suppress(StoreError):  # what stopped the run is the error to tell
            record()
        raise
    record()


def _read_decided(
    store: RunStore, claims: Sequence[Planned], profile: str
) -> dict[str, dict[str, Any]]:
    """The stored documents of claims that were decided under this profile."""
    stored = {name: claim_document(store, name) for name in (str(p.selection) for p in claims)}
    return {
        name: document
        for name, document in stored.items()
        if document is not None
        and document.get("profile") == profile
        and not document["evidence"].get("error")  # a claim that failed is tried again
    }


def _outcomes(
    store: RunStore,
    claims: Sequence[Planned],
    known: Mapping[str, Mapping[str, Any]],
    allocation: Allocation,
    config: RunConfig,
    executor: Executor,
    listener: Listener,
    papers: Catalogue,
) -> list[Outcome]:
    """Every claim's outcome, in order: ``known`` where it was decided before, else tried."""
    position = {str(p.selection): i for i, p in enumerate(claims)}
    tried = try_claims(
        store,
        [p for p in claims if str(p.selection) not in known],
        lambda p: allocation.levels.get(str(p.selection), 0.0),
        config.profile,
        executor,
        lambda p: listener.on_claim(str(p.selection), position[str(p.selection)], len(claims)),
        listener.on_block,
        papers.files,
    )
    outcomes = []
    for planned in claims:
        name = str(planned.selection)
        if name in known:
            listener.on_claim(name, position[name], len(claims))
            document: Mapping[str, Any] = known[name]
        else:
            decided, result = next(tried)
            file = papers.file_of(decided.claim.id)
            document = _document(decided, result, allocation, config, store.path.parent, file)
            store.put_document("claim", name, document)
        outcome = Outcome(selection=name, expected=planned.claim.expected, document=document)
        outcomes.append(outcome)
        listener.on_outcome(outcome)
    return outcomes


def _document(
    planned: Planned,
    decided: Decided,
    allocation: Allocation,
    config: RunConfig,
    run: Path,
    file: ClaimsFile | None,
) -> dict[str, Any]:
    """A decided claim as plain data for the store, with the commands that repeat it."""
    selection, evidence = str(planned.selection), decided.evidence
    replay = repeating(
        selection,
        evidence,
        profile=config.profile,
        seed=config.seed,
        level=allocation.alone.get(selection, config.level),
        run=run,
        claims_file=None if file is None else file.path,
    )
    return {
        **planned.claim.document(planned.procedure),
        "selection": selection,
        "profile": config.profile,
        "own_values": planned.own_values.document() if planned.own_values else None,
        "evidence": evidence.as_dict(),
        "replay": replay,
        "seconds": decided.seconds,
    }


def _put_papers(store: RunStore, papers: Catalogue, prepared: Sequence[Planned]) -> None:
    """The report's documents about the papers of these claims: symbols, findings, citations."""
    ran = {planned.claim.id for planned in prepared}
    for kind, key, body in papers.documents(ran):
        store.put_document(kind, key, body)


def _name_of(store: RunStore) -> str:
    """The name of a run's directory, which may have been given as ``.``."""
    return os.path.basename(os.path.abspath(store.path.parent))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def environment() -> dict[str, str]:
    """Versions and machine facts that a reader needs to reproduce a run."""
    packages = ("numpy", "numba", "scipy", "statsmodels", "hypothesis", "sympy", "mpmath")
    flint = {"python-flint": metadata.version("python-flint")}
    return {
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in packages},
        **flint,
        **arithmetic(),
        "cpus": str(os.cpu_count()),
        "byteorder": sys.byteorder,
    }


def _describe_mixture(store: RunStore) -> dict[str, str]:
    """The entry of a mixed run in its table of machine and software."""
    found = mixture(store)
    return {"mixture": found} if found else {}


def other_environment(summary: Mapping[str, Any] | None) -> list[str]:
    """What differs between the environment of a run and this one, in words."""
    return changed_environment((summary or {}).get("environment", {}), environment())


def changed_environment(then: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """What may change bits and differs between two environments, in words."""
    named = [name for name in now if name != "cpus"]
    return [
        f"{name} {then.get(name, 'not recorded')} then, {now[name]} now"
        for name in named
        if then.get(name) != now[name]
    ]


def mixture(store: RunStore) -> str:
    """One line on the kinds of machine that made a run's blocks, empty where there is only one."""
    machines = list(store.machines().values())
    if len(machines) < 2:
        return ""
    differ = {part for one in machines[1:] for part in machine_differences(machines[0], one)}
    return f"blocks of {len(machines)} kinds of machine meet: {enumerate_few(sorted(differ))}"


def resume_config(config: RunConfig, profile: str | None) -> RunConfig:
    """The configuration of a continued run, with a larger profile when one is requested."""
    if profile is None:
        return config
    extended = replace(config, profile=profile)
    extended.check()
    if PROFILES[profile].max_trials < PROFILES[config.profile].max_trials:
        raise InvalidParameter(
            f"profile={profile!r} must not be smaller than the run's own, {config.profile!r}"
        )
    return extended

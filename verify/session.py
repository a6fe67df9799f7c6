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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from trials.checks import InvalidParameter
from trials.run.engine import Demand, ensure
from trials.run.executors import Executor
from trials.run.provenance import run_code
from trials.run.store import RunStore, StoreError
from verify.decisions.familywise import allocate
from verify.discrepancies import DISCREPANCIES, SYMBOLS
from verify.evidence import Verdict
from verify.plan import Plan, Planned, plan
from verify.procedures.base import PROFILES
from verify.registry import catalogue

STORE_NAME = "store.sqlite"
#: Family-wise error level of a whole run, split over its claims.
FAMILYWISE_LEVEL = 0.05


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """What a run is: fixed before the first trial and stored with it."""

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
    """Callbacks of a run; the command line draws its progress display with them."""

    on_claim: Callable[[str, int, int], None] = field(default=lambda _name, _i, _n: None)
    on_block: Callable[[int, int, Demand, int], None] | None = None
    on_outcome: Callable[[Outcome], None] = field(default=lambda _outcome: None)


def prepare(config: RunConfig) -> Plan:
    """Build every procedure and check every parameter of a run, before any work."""
    config.check()
    return plan(catalogue(), config.claims, PROFILES[config.profile])


def create(directory: Path, config: RunConfig) -> RunStore:
    """Make a run directory with an empty store; an existing run is never overwritten."""
    config.check()
    path = directory / STORE_NAME
    if path.exists() and path.stat().st_size:  # an empty file is a start that was stopped
        raise StoreError(
            f"{directory} already holds a run; continue it with `python -m verify resume "
            f"{directory}` or choose another --output"
        )
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{directory}: cannot make the run directory: {error.strerror}") from None
    return RunStore.create(path, root_seed=config.seed, config=asdict(config), code=run_code())


def open_run(directory: Path, *, readonly: bool = False) -> tuple[RunStore, RunConfig]:
    """Open a run directory's store and read back its configuration, extensions included."""
    store = RunStore.open(directory / STORE_NAME, readonly=readonly)
    values = dict(store.config)
    values["claims"] = tuple(values.get("claims", ()))
    values |= store.document("run", "extension") or {}
    return store, RunConfig(**values)


def execute(
    store: RunStore,
    config: RunConfig,
    executor: Executor,
    listener: Listener | None = None,
    commands: Sequence[str] = (),
) -> list[Outcome]:
    """Run (or continue, or extend) every claim of ``config`` to a verdict.

    A claim whose document was written under the same profile is not tried again.  Everything is
    committed as it is found, so an interrupted call loses the blocks in flight and nothing else.
    """
    listener = listener or Listener()
    prepared = prepare(config).claims
    levels = allocate(config.level, {str(p.selection): p.claim.weight for p in prepared}).shares
    started = _now()
    begin = time.perf_counter()
    earlier = store.document("run", "summary") or {}
    _put_static(store)
    store.put_document("run", "extension", {"profile": config.profile})
    outcomes = []
    for i, planned in enumerate(prepared):
        name = str(planned.selection)
        listener.on_claim(name, i, len(prepared))
        stored = store.document("claim", name)
        if stored is None or stored["profile"] != config.profile:
            stored = _try(store, planned, levels[name], config, executor, listener)
        outcome = Outcome(selection=name, expected=planned.claim.expected, document=stored)
        outcomes.append(outcome)
        listener.on_outcome(outcome)
    store.put_document(
        "run",
        "summary",
        {
            "title": "Empirical verification of clustered federated learning",
            "run_id": store.path.parent.name,
            "profile": config.profile,
            "seed": config.seed,
            "executor": type(executor).__name__,
            "started": earlier.get("started", started),
            "finished": _now(),
            "wall_seconds": earlier.get("wall_seconds", 0.0) + time.perf_counter() - begin,
            "familywise_level": config.level,
            "allocation": [[name, level] for name, level in levels.items()],
            "environment": environment(),
            "commands": list(commands),
            "content_digest": store.content_digest(),
        },
    )
    return outcomes


def _try(
    store: RunStore,
    planned: Planned,
    level: float,
    config: RunConfig,
    executor: Executor,
    listener: Listener,
) -> dict[str, Any]:
    """Draw trials until the procedure wants no more, then store its verdict."""
    selection, claim, procedure = planned.selection, planned.claim, planned.procedure
    begin = time.perf_counter()
    while demands := procedure.demands(store, level):
        ensure(store, demands, executor, listener.on_block)
    evidence = procedure.decide(store, level)
    run = store.path.parent
    replay = [f"python -m verify run '{selection}' --profile {config.profile} --seed {config.seed}"]
    if evidence.witness is not None and evidence.witness.trial is not None:
        here = run.is_relative_to(Path.cwd()) or not run.is_absolute()
        name = os.path.relpath(run) if here else run.name
        replay.append(f"python -m verify replay {name} {evidence.witness.trial}")
    document = {
        **claim.document(procedure),
        "selection": str(selection),
        "profile": config.profile,
        "own_values": planned.own_values.document() if planned.own_values else None,
        "evidence": evidence.as_dict(),
        "replay": replay,
        "seconds": time.perf_counter() - begin,
    }
    store.put_document("claim", str(selection), document)
    return document


def _put_static(store: RunStore) -> None:
    for key, discrepancy in DISCREPANCIES.items():
        store.put_document("discrepancy", key, asdict(discrepancy))
    store.put_document("symbol", "ifca", {"symbols": [list(pair) for pair in SYMBOLS]})


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def environment() -> dict[str, str]:
    """Versions and machine facts that a reader needs to reproduce a run."""
    packages = ("numpy", "numba", "scipy", "statsmodels", "hypothesis", "sympy", "mpmath")
    return {
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in packages},
        "platform": f"{platform.system()} {platform.machine()}",
        "cpus": str(os.cpu_count()),
        "byteorder": sys.byteorder,
    }


def resumed(config: RunConfig, profile: str | None) -> RunConfig:
    """The configuration of a continued run, with a larger profile when one is asked for."""
    if profile is None:
        return config
    extended = replace(config, profile=profile)
    extended.check()
    if PROFILES[profile].max_trials < PROFILES[config.profile].max_trials:
        raise InvalidParameter(
            f"profile={profile!r} must not be smaller than the run's own, {config.profile!r}"
        )
    return extended

"""Claims of a run that commands decide again, and runs in which they find none."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from trials.checks import InvalidParameter
from trials.run.executors import Executor
from trials.run.store import RunStore, StoreError
from verify.cli import exits
from verify.mutation.examination import Examination, Standing
from verify.papers import Catalogue
from verify.plan import Planned, plan
from verify.procedures.base import PROFILES
from verify.selection import parse_selection, spelled
from verify.stored import holds_benchmarks


def decided_among(
    papers: Catalogue, claims: Sequence[str], decided: Mapping[str, Any], profile: str
) -> list[Planned]:
    """The named claims that a run has decided, all of them where none is named.

    Each is spelled as in the run, which may have its values in another order.
    """
    named = plan(papers, claims or list(decided), PROFILES[profile]).claims
    stored = spelled(decided)
    return [
        replace(planned, selection=parse_selection(stored[planned.selection.key]))
        for planned in named
        if planned.selection.key in stored
    ]


def refuse_benchmarks(directory: Path, store: RunStore) -> None:
    """Refuse a run of benchmarks where a command reads claims, and name the command for it."""
    if holds_benchmarks(store):
        raise StoreError(
            f"{directory} holds benchmarks and no claims; `{exits.program()} benchmark --run "
            f"{shlex.quote(str(directory))}` shows and continues them"
        )


def refuse_none(directory: Path, names: Sequence[str]) -> None:
    """Refuse to go on where a run has decided none of the named claims."""
    if not names:
        raise InvalidParameter(
            f"{directory}: has decided none of these claims; `status` lists its claims"
        )


def standing_of(evidence: Mapping[str, Any]) -> Standing:
    """A stored verdict."""
    return Standing(
        verdict=str(evidence["verdict"]),
        mark=str(evidence.get("mark") or evidence["verdict"]),
        resolution=evidence.get("resolution"),
        level=float(evidence["level"]),
    )


def examination_of(
    planned: Planned,
    profile: str,
    standing: Standing,
    store: RunStore,
    executor: Executor | None = None,
) -> Examination:
    """A planned claim with everything that its statement and its changed forms are decided with."""
    return Examination(
        claim=planned.claim,
        profile=PROFILES[profile],
        standing=standing,
        store=store,
        executor=executor,
        values=planned.selection.values,
        placebos=planned.placebos,
        original=planned.procedure,
    )

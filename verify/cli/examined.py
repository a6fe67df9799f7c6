"""Claims of a run as `mutate` and `falsify` decide them again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from trials.checks import InvalidParameter
from trials.run.executors import Executor
from trials.run.store import RunStore
from verify.mutation.examination import Examination, Standing
from verify.papers import Catalogue
from verify.plan import Planned, plan
from verify.procedures.base import PROFILES
from verify.selection import parse_selection, spelled


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

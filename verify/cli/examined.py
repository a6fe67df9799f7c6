"""Claims of a run as `mutate` and `falsify` decide them again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trials.run.executors import Executor
from trials.run.store import RunStore
from verify.mutation.examination import Examination, Standing
from verify.plan import Planned
from verify.procedures.base import PROFILES


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
    )

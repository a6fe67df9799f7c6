"""Claims of a run as `mutate` and `falsify` decide them again, on a copy of its trials."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trials.run.directory import STORE_NAME
from trials.run.executors import Executor, make_executor
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


@contextmanager
def writable_copy(store: RunStore) -> Iterator[tuple[RunStore, Executor]]:
    """A copy of a store, open for writing, with the function that draws its trials."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / STORE_NAME
        store.copy_to(copy)
        with RunStore.open(copy) as scratch, make_executor("serial") as executor:
            yield scratch, executor


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

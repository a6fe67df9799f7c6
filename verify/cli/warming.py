"""``warm-up``: compile the kernels that claims use, ahead of a run.

A kernel is compiled when it is first called, and kept in the cache folder until the sources change.
So one trial is simulated in one cell of each kind that the claims hold.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console

from trials.run.cell import Params
from trials.run.executors import single_threaded_blas
from trials.run.experiment import Experiment
from trials.run.streams import block_stream
from verify.cli import screen
from verify.cli.screen import say
from verify.cli.signals import interruptible
from verify.papers import catalogue
from verify.plan import plan
from verify.procedures.base import PROFILES
from verify.procedures.interface import Procedure

USUALLY = "usually one to four minutes after an installation or a change, seconds afterwards"


def warm_up(*, claims: Sequence[str], claims_files: Sequence[str]) -> None:
    """Call every kernel of the selected claims once."""
    planned = plan(catalogue(claims_files), claims, PROFILES["quick"]).claims
    cells = list(_kinds([p.procedure for p in planned]))
    interruptible()
    to = screen.console
    n_experiments = len({experiment.name for experiment, _ in cells})
    say(f"compiling the kernels of {n_experiments} experiments ({USUALLY})", to=to)
    begin = time.perf_counter()
    with single_threaded_blas():
        for i, (experiment, params) in enumerate(cells):
            _call(experiment, params, f"{i + 1} of {len(cells)}: {experiment.name}", to)
    say(f"done in {time.perf_counter() - begin:.0f} s; runs start at once now", to=to)


def _call(experiment: Experiment, params: Params, words: str, to: Console) -> None:
    start = time.perf_counter()
    full = experiment.check(params)
    rng = block_stream(0, experiment.design, 0, 0)
    if to.is_terminal:
        with to.status(words):
            experiment.simulate(full, rng, 1)
    else:
        experiment.simulate(full, rng, 1)
    seconds = time.perf_counter() - start
    if seconds > 1.0:
        say(f"  {words}  {seconds:.0f} s", to=to)


def _kinds(procedures: Sequence[Procedure]) -> Iterator[tuple[Experiment, dict[str, Any]]]:
    """One cell for each experiment and combination of its options (parameters that are words)."""
    seen = set()
    for procedure in procedures:
        experiment = procedure.experiment()
        if experiment is None:
            continue
        for cell in _smallest_first([dict(cell) for cell in procedure.complete_cells()]):
            words = {name: value for name, value in cell.items() if isinstance(value, str)}
            key = (experiment.name, json.dumps(words, sort_keys=True), tuple(sorted(cell)))
            if key not in seen:
                seen.add(key)
                yield experiment, cell


def _smallest_first(cells: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Small cells first: compilation depends on types and not on sizes."""

    def size(cell: dict[str, Any]) -> float:
        product = 1.0
        for value in cell.values():
            if isinstance(value, int):
                product *= max(value, 1)
        return product

    return sorted(cells, key=size)

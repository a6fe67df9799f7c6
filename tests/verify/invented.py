"""Claims decided on invented trials: the same columns and cells, with values that nobody drew.

A claim's verdict means nothing here.  What its evidence must keep to does: see the tests.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from trials.checks import InvalidParameter
from trials.run.cell import Params
from trials.run.experiment import Experiment
from trials.run.store import Table
from verify.evidence import Evidence
from verify.papers import catalogue
from verify.procedures.base import PROFILES
from verify.procedures.interface import Procedure

CATALOGUE = catalogue()
N_TRIALS, FAILED = 16, (3, 11)
#: So many cells of a claim are enough, where its cells are independent.
MOST_CELLS = 2
#: Claims whose bounds take CPU seconds to compute.
DEAR = ("odcl.fig4-above", "odcl.fig4-below-as-printed")
#: Kind of values -> the values, from numbers in the unit interval.  A claim that refuses one kind,
#: because its columns are events or counts, reads another.
KINDS = {
    "numbers": lambda unit: unit,
    "events": lambda unit: (unit < 0.5) * 1.0,
    "counts": lambda unit: 1.0 + np.floor(3.0 * unit),
}


Order = Callable[[int], Any]


def as_drawn(n: int) -> Any:
    """The order of ``n`` trials in which they were drawn."""
    return np.arange(n)


def invented(
    experiment: Experiment, params: Params, kind: str, lost: float, n: int, order: Order = as_drawn
) -> Table:
    """Trials of a cell, two of which failed with ``lost`` in all of their columns.

    ``order`` permutes the trials that did not fail.
    """
    cell = zlib.crc32(repr(sorted(params.items(), key=lambda item: item[0])).encode())
    unit = np.random.default_rng([2612, cell]).random((n, len(experiment.columns)))
    values = np.array(KINDS[kind](unit))
    failed = np.zeros(n, dtype=bool)
    failed[[row for row in FAILED if row < n]] = True
    values[~failed] = values[~failed][order(int(np.sum(~failed)))]
    values[failed] = lost
    reasons = tuple((int(row), "raised: by hand") for row in np.flatnonzero(failed))
    return Table(columns=experiment.columns, values=values, failed=failed, reasons=reasons)


class Invented:
    """A store that has trials of every cell."""

    def __init__(self, kind: str, lost: float, order: Order = as_drawn) -> None:
        self.kind, self.lost, self.order = kind, lost, order

    def blocks(self, experiment: Experiment, params: Params) -> set[int]:
        del params
        return set(range(-(-N_TRIALS // experiment.block_size)))

    def table(self, experiment: Experiment, params: Params, n_blocks: int) -> Table:
        n = n_blocks * experiment.block_size
        return invented(experiment, params, self.kind, self.lost, n, self.order)


@cache
def built(name: str) -> Procedure:
    """A claim's procedure at the profile quick."""
    return CATALOGUE[name].build(PROFILES["quick"])


def small(procedure: Any) -> Any:
    """The same procedure with a few trials, in a few cells where each is judged alone."""
    sampling = replace(procedure.sampling, max_trials=N_TRIALS, first=N_TRIALS)
    procedure = replace(procedure, sampling=sampling)
    alone = type(procedure).__name__ in {"Probability", "MeanBound", "SupLB", "Comparison"}
    return replace(procedure, cells=procedure.cells[:MOST_CELLS]) if alone else procedure


@contextmanager
def suppress_other_ranges() -> Iterator[None]:
    """Passes over the refusal of a value that a claim's trials cannot have, and nothing else."""
    try:
        yield
    except InvalidParameter as error:
        if not str(error).startswith("a trial's value"):
            raise


def decided(procedure: Any, lost: float, order: Order = as_drawn, level: float = 0.01) -> Evidence:
    """The evidence of invented trials of the first kind that the claim accepts."""
    *others, last = KINDS
    for kind in others:
        with suppress_other_ranges():
            return procedure.decide(Invented(kind, lost, order), level)
    return procedure.decide(Invented(last, lost, order), level)


@cache
def evidence(name: str) -> Evidence:
    """The evidence of a claim of which two trials of each cell raised."""
    return decided(small(built(name)), math.nan)


def differences(one: Any, other: Any, place: str = "") -> Iterator[str]:
    """Where two evidences differ by more than the order of a sum."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for key in one:
            yield from differences(one[key], other[key], f"{place}.{key}")
    elif isinstance(one, list | tuple) and isinstance(other, list | tuple):
        if len(one) != len(other):
            yield f"{place}: {len(one)} and {len(other)} entries"
        for i, pair in enumerate(zip(one, other, strict=False)):
            yield from differences(*pair, f"{place}[{i}]")
    elif isinstance(one, float) and isinstance(other, float):
        if not (math.isclose(one, other, rel_tol=1e-9) or (one != one and other != other)):
            yield f"{place}: {one} and {other}"
    elif repr(one) != repr(other):
        yield f"{place}: {one!r} and {other!r}"


def not_numbers(found: Any, place: str = "") -> Iterator[str]:
    """Where an evidence holds or prints NaN."""
    if isinstance(found, dict):
        for key, value in found.items():
            yield from not_numbers(value, f"{place}.{key}")
    elif isinstance(found, list | tuple):
        for i, value in enumerate(found):
            yield from not_numbers(value, f"{place}[{i}]")
    elif (isinstance(found, float) and found != found) or (
        isinstance(found, str) and re.search(r"\bnan\b", found)
    ):
        yield f"{place}: {found}"


READ = [name for name in CATALOGUE if CATALOGUE[name].statistical and name not in DEAR]

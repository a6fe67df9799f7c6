"""Failed trials, for every claim that reads trials: it is decided, and their rows say nothing.

A trial that raised is a row of NaN.  A trial that diverged has a value that is not finite, and the
others of its row may be anything.  So the whole evidence, with verdict, cells, figures, tables and
sentences, must be the same whatever the rows of failed trials hold.  The trials are invented, so
that the verdicts mean nothing here.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.verify.toys import METHODS
from trials.checks import InvalidParameter
from trials.run.cell import Params
from trials.run.experiment import Experiment
from trials.run.store import Table
from verify.evidence import Evidence
from verify.papers import catalogue
from verify.procedures.base import NOTHING, PROFILES, Observed, Presentation, finished
from verify.procedures.comparison import Comparison
from verify.procedures.interface import Procedure
from verify.procedures.pages import of_finished

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


def invented(experiment: Experiment, params: Params, kind: str, lost: float, n: int) -> Table:
    """Trials of a cell, two of which failed with ``lost`` in all of their columns."""
    cell = zlib.crc32(repr(sorted(params.items(), key=lambda item: item[0])).encode())
    unit = np.random.default_rng([2612, cell]).random((n, len(experiment.columns)))
    values = np.array(KINDS[kind](unit))
    failed = np.zeros(n, dtype=bool)
    failed[[row for row in FAILED if row < n]] = True
    values[failed] = lost
    reasons = tuple((int(row), "raised: by hand") for row in np.flatnonzero(failed))
    return Table(columns=experiment.columns, values=values, failed=failed, reasons=reasons)


class Invented:
    """A store that has trials of every cell."""

    def __init__(self, kind: str, lost: float) -> None:
        self.kind, self.lost = kind, lost

    def blocks(self, experiment: Experiment, params: Params) -> set[int]:
        del params
        return set(range(-(-N_TRIALS // experiment.block_size)))

    def table(self, experiment: Experiment, params: Params, n_blocks: int) -> Table:
        n = n_blocks * experiment.block_size
        return invented(experiment, params, self.kind, self.lost, n)


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


def decided(procedure: Any, lost: float) -> Evidence:
    """The evidence of invented trials of the first kind that the claim accepts."""
    *others, last = KINDS
    for kind in others:
        with suppress_other_ranges():
            return procedure.decide(Invented(kind, lost), 0.01)
    return procedure.decide(Invented(last, lost), 0.01)


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


def test_most_claims_that_read_trials_are_here():
    assert len(READ) >= 180


@pytest.mark.parametrize("name", READ)
def test_the_row_of_a_failed_trial_changes_nothing(name):
    """A comparison counts the finite values of a failed row, which are those of other methods."""
    procedure = small(built(name))
    other = math.inf if isinstance(procedure, Comparison) else 0.75
    raised = decided(procedure, math.nan)
    assert list(differences(asdict(raised), asdict(decided(procedure, other)))) == []
    assert list(not_numbers(asdict(raised))) == []
    assert raised.n_failed > 0


# -- what the claims' own presentations read -----------------------------------------------------


def cell(failed: tuple[bool, ...]) -> Observed:
    values = np.arange(3.0 * len(failed)).reshape(-1, 3)
    reasons = tuple((i, "raised: by hand") for i, lost in enumerate(failed) if lost)
    table = Table(columns=METHODS.columns, values=values, failed=np.array(failed), reasons=reasons)
    return Observed(params={"tag": sum(failed)}, table=table)


def test_finished_trials_keep_their_rows_and_their_order():
    some, none, whole = cell((False, True, False)), cell((True, True)), cell((False, False))
    kept = finished([some, none, whole])
    assert [o.params for o in kept] == [{"tag": 1}, {"tag": 0}]
    assert kept[0].table.values.tolist() == [[0.0, 1.0, 2.0], [6.0, 7.0, 8.0]]
    assert (kept[0].table.n_trials, kept[0].table.n_failed) == (2, 0)
    assert not kept[0].table.failed.any()
    assert kept[1].table is whole.table


def test_a_presentation_of_finished_trials_says_how_many_are_left_out():
    @of_finished
    def present(observed):
        return Presentation(notes=[f"{o.table.n_trials} trials" for o in observed])

    some, none = cell((False, True, False)), cell((True, True))
    first, note = present([some, none]).notes
    assert first == "2 trials"
    assert note.startswith("Failed trials (3) ")
    assert list(present([cell((False, False))]).notes) == ["2 trials"]
    assert replace(present([none]), notes=()) == NOTHING

"""Relations between the parts of a claim's evidence, for every claim that reads trials.

The trials are invented, two of each cell failed, and the budget is so small that every claim reads
all of them.  So no order of trials or cells matters.  A limit lies on its side of what was
observed, and a column that is headed by a parameter holds the parameter's values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, replace
from functools import cache

import numpy as np
import pytest

from tests.verify.invented import READ, built, decided, differences, evidence, small
from verify.evidence import CellResult, Evidence
from verify.procedures.probability import Probability


@pytest.mark.parametrize("name", READ)
def test_the_order_of_trials_changes_nothing_but_the_witness(name):
    """Whole rows trade places, so that the columns of a trial stay together."""
    turned = decided(small(built(name)), math.nan, order=lambda n: np.arange(n)[::-1])
    found = list(differences(asdict(evidence(name)), asdict(turned)))
    assert [each for each in found if not each.startswith(".witness")] == []


MANY_CELLS = [name for name in READ if len(getattr(small(built(name)), "cells", ())) > 1]


def rows(found: Evidence) -> list[str]:
    """The cells in an order of their own, with six digits."""
    told = [
        {k: float(f"{v:.6g}") if isinstance(v, float) else v for k, v in asdict(cell).items()}
        for cell in found.cells
    ]
    return sorted(map(repr, told))


@pytest.mark.parametrize("name", MANY_CELLS)
def test_the_order_of_cells_changes_no_cell_and_no_verdict(name):
    procedure = small(built(name))
    turned = decided(replace(procedure, cells=tuple(reversed(procedure.cells))), math.nan)
    found = evidence(name)
    assert rows(found) == rows(turned)
    assert (found.verdict, found.n_trials, found.n_failed) == (
        turned.verdict, turned.n_trials, turned.n_failed,
    )  # fmt: skip


def test_most_claims_have_many_cells():
    assert len(MANY_CELLS) >= 100


@cache
def of_a_law(name: str) -> bool:
    """Whether exact laws give a claim's upper limits, which its trials may exceed by chance."""
    procedure = small(built(name))
    if not isinstance(procedure, Probability):
        return False
    cells = map(procedure.sampling.experiment.check, procedure.cells)
    return any(procedure.log_limit(cell) is not None for cell in cells)


def outside(name: str, cell: CellResult) -> bool:
    """Whether the limits exclude each other, or what was observed, by more than rounding."""
    low = -math.inf if cell.lower is None else cell.lower
    high = math.inf if cell.upper is None else cell.upper
    if low > high:
        return True
    seen = cell.observed
    if seen is None or of_a_law(name):
        return False
    if math.isinf(seen):
        return not low <= seen <= high
    return not low * (1 - 1e-9) - 1e-12 <= seen <= high * (1 + 1e-9) + 1e-12


def test_an_interval_holds_what_was_observed():
    """A limit of an exact law as well: where the trials contradict it, it is left out."""
    cells = [(name, cell) for name in READ for cell in evidence(name).cells]
    limited = [cell for _, cell in cells if cell.lower is not None or cell.upper is not None]
    assert len(limited) >= 200
    assert sum(of_a_law(name) for name, _ in cells) <= len(limited) / 2
    assert [(name, cell) for name, cell in cells if outside(name, cell)] == []


def points(found: Evidence) -> Iterator[tuple[str, float, float | None, float | None]]:
    """The points of all curves with limits: label, y, and the limits."""
    for figure in found.figures:
        for series in (*figure.series, *(s for panel in figure.panels for s in panel.series)):
            if series.lower is not None and series.upper is not None:
                for y, low, high in zip(series.y, series.lower, series.upper, strict=True):
                    if y is not None:
                        yield f"{figure.name}, {series.label}", y, low, high


def test_a_band_holds_its_curve():
    drawn = [(name, *point) for name in READ for point in points(evidence(name))]
    assert len(drawn) >= 100
    wrong = [
        (name, where)
        for name, where, y, low, high in drawn
        if (low is not None and y < low - 1e-9 * abs(low) - 1e-12)
        or (high is not None and y > high + 1e-9 * abs(high) + 1e-12)
    ]
    assert wrong == []


def headed(found: Evidence) -> Iterator[tuple[str, set[object], set[object]]]:
    """Columns whose heads are parameters of the cells: title, values, those of the cells."""
    for table in found.tables:
        for i, head in enumerate(table.columns):
            name = head.strip("$").replace("\\", "")
            values = {cell.params[name] for cell in found.cells if name in cell.params}
            if values and head.startswith("$"):
                yield f"{table.title}, {head}", {row[i] for row in table.rows}, values


def test_a_column_headed_by_a_parameter_holds_its_values():
    columns = [(name, *column) for name in READ for column in headed(evidence(name))]
    assert len(columns) >= 20
    assert [(name, where) for name, where, shown, values in columns if not shown <= values] == []


def test_a_share_lies_between_its_limits_and_in_the_unit_interval():
    """In every table with the heads "from" and "to", the share of the trials stands before them."""
    n_rows = 0
    for name in READ:
        for table in evidence(name).tables:
            heads = list(table.columns)
            if {"from", "to"} <= set(heads) and "trials" in heads:
                low, high = heads.index("from"), heads.index("to")
                for row in table.rows:
                    n_rows += 1
                    assert 0.0 <= row[low] <= row[low - 1] <= row[high] <= 1.0, (name, table.title)
                    # A failed trial counts as no success, or is left out.
                    trials = row[heads.index("trials")]
                    assert trials in (14, 16), (name, table.title)
                    assert row[low - 1] * trials == pytest.approx(round(row[low - 1] * trials))
    assert n_rows >= 20

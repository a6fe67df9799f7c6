"""Writing a run's trials as long tables for other programs: CSV and Parquet."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trials.run.store.errors import StoreError
from trials.run.store.reading import BlockReader
from trials.run.store.verification import CellRow, compact
from trials.text import spreadsheet_text

if TYPE_CHECKING:
    import pandas as pd


#: Columns that every table has.
_OWN = ("block", "trial", "status", "reason")


def export(
    reader: BlockReader,
    cells: Sequence[CellRow],
    folder: Path,
    suffix: str,
    missing: Mapping[str, float],
) -> list[Path]:
    """Write one table per experiment as ``<folder>/<experiment>.<suffix>`` and return the paths.

    ``missing`` names the value that an experiment stores where a column does not apply.  It is
    written as the format's own mark of a missing value.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{folder}: cannot be written ({error.strerror})") from None
    by_experiment: dict[str, list[CellRow]] = {}
    for row in cells:
        by_experiment.setdefault(row.experiment, []).append(row)
    paths = []
    for name, rows in by_experiment.items():
        if len({row.columns for row in rows}) > 1:
            raise StoreError(f"{reader.path}: is damaged (cells of {name} differ in their columns)")
        frame = _frame(reader, rows, missing.get(name))
        path = folder / f"{name}.{suffix}"
        unfinished = folder / f".{name}.{suffix}.part"
        if suffix == "csv":
            for_spreadsheets(frame).to_csv(unfinished, index=False)
        else:
            frame.to_parquet(unfinished, index=False)
        unfinished.replace(path)
        paths.append(path)
    return paths


def for_spreadsheets(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with every text, headings included, that a spreadsheet would run, quoted."""
    frame = frame.rename(columns=spreadsheet_text)
    for column in frame.columns:
        if frame[column].dtype.kind == "O":
            frame[column] = frame[column].map(spreadsheet_text)
    return frame


def _frame(reader: BlockReader, cells: Sequence[CellRow], missing: float | None) -> pd.DataFrame:
    """The long table of one experiment's cells, with NaN for values equal to ``missing``."""
    import pandas as pd

    columns: list[str] = json.loads(cells[0].columns)
    blocks = [(cell, found) for cell in cells for found in reader.blocks(cell)]
    sizes = [len(found.values) for _, found in blocks]
    params = [json.loads(cell.params) for cell, _ in blocks]
    headings = _headings(columns)
    frame: dict[str, Any] = {}
    for name in sorted({key for one in params for key in one}):
        spelled = _column([one.get(name) for one in params])
        label = _free(name, "param", {*_OWN, *columns, *headings, *frame})
        frame[label] = spelled.repeat(sizes).reset_index(drop=True)
    frame["block"] = np.repeat([found.number for _, found in blocks], sizes)
    frame["trial"] = [
        found.number * cell.block_size + row
        for cell, found in blocks
        for row in range(cell.block_size)
    ]
    reason = [""] * sum(sizes)
    first = 0
    for _, found in blocks:
        for row, text in found.reasons:
            reason[first + row] = text
        first += len(found.values)
    frame["status"] = [text.partition(":")[0] or "ok" for text in reason]
    frame["reason"] = reason
    values = np.concatenate([found.values for _, found in blocks] or [np.empty((0, len(columns)))])
    if missing is not None:
        values = np.where(values == missing, np.nan, values)
    for j, name in enumerate(headings):
        frame[name] = values[:, j]
    return pd.DataFrame(frame)


def _free(name: str, prefix: str, taken: Collection[str]) -> str:
    """A heading that no other column has: the name, or with the prefix before it.

    >>> _free("m", "param", ["m"]), _free("m", "param", ["m", "param.m"])
    ('param.m', 'param.param.m')
    """
    while name in taken:
        name = f"{prefix}.{name}"
    return name


def _headings(columns: Sequence[str]) -> list[str]:
    """The headings of the values, in their order."""
    found: list[str] = []
    for name in columns:
        others = {*columns} - {name}
        found.append(_free(name, "value", {*_OWN, *others, *found}))
    return found


def _is_a_float(value: int) -> bool:
    """Whether a float has exactly this value."""
    with suppress(OverflowError):
        return float(value) == value
    return False


def _column(values: Sequence[Any]) -> pd.Series[Any]:
    """Return one parameter over cells as one typed column.

    Mixed and nested values are spelled in JSON, and so are integers that no type of numbers holds.
    """
    import pandas as pd

    kinds = {type(value) for value in values if value is not None}
    whole = [value for value in values if type(value) is int]
    if kinds == {bool}:
        return pd.Series(values, dtype="boolean")
    if kinds == {int} and all(-(1 << 63) <= value < 1 << 63 for value in whole):
        return pd.Series(values, dtype="Int64")
    if kinds in ({float}, {int, float}) and all(map(_is_a_float, whole)):
        return pd.Series(values, dtype="Float64")
    if kinds == {str}:
        return pd.Series(values, dtype="object")
    spelled = [None if value is None else compact(value) for value in values]
    return pd.Series(spelled, dtype="object")

"""The cells of a run: finding, entering and listing them."""

from __future__ import annotations

import json
from typing import Any

from trials.checks import InvalidParameter
from trials.run.cell import Params, canonical_json, cell_number
from trials.run.experiment import Experiment
from trials.run.store import tally
from trials.run.store.connection import Database
from trials.run.store.errors import StoreError
from trials.run.store.limits import MAX_BLOCK_BYTES, MAX_NAME, is_label
from trials.run.store.verification import CellRow, Odd, cell_checksum, compact, verified_cell

_SELECT = "SELECT id, experiment, number, design, block_size, columns, params, checksum FROM cell"


def _number(spelling: str) -> str:
    return f"{cell_number(json.loads(spelling)):016x}"


def _check_experiment(experiment: Experiment) -> None:
    """Refuse an experiment that could be written but not read back."""
    name, columns, rows = experiment.name, experiment.columns, experiment.block_size
    if not all(map(is_label, columns)):
        raise InvalidParameter(
            f"experiment {name!r}: the names of its columns must be printable, of at most "
            f"{MAX_NAME} characters"
        )
    if 8 * rows * len(columns) > MAX_BLOCK_BYTES:
        raise InvalidParameter(
            f"experiment {name!r}: a block of {rows} rows and {len(columns)} columns must have "
            f"1 to {MAX_BLOCK_BYTES // 8} values; choose another block_size"
        )


def _require_readable(name: str, row: list[Any]) -> None:
    """Refuse a cell that could be written but not read back, which would damage the whole run."""
    try:
        verified_cell(row)
    except Odd as error:
        raise InvalidParameter(
            f"experiment {name!r}: its parameters cannot be stored ({error}); they must be short "
            "and printable"
        ) from None


class CellIndex:
    """The cells of one run, each read and verified once."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[tuple[str, str], CellRow] = {}

    @staticmethod
    def key(experiment: Experiment | str, params: Params) -> tuple[str, str]:
        """Return the name and the canonical parameters of a cell.

        An `Experiment` completes the parameters by its check.
        """
        if isinstance(experiment, Experiment):
            return experiment.name, canonical_json(experiment.check(params))
        return experiment, canonical_json(params)

    def rows(self, where: str = "", *values: str) -> list[CellRow]:
        """The cells that meet the condition, by experiment and number, checksums verified."""
        found: list[CellRow] = []
        for row in self._database.query(f"{_SELECT} {where} ORDER BY experiment, number", values):
            try:
                cell = verified_cell(row)
                if cell.number != _number(cell.params):
                    raise Odd(f"number of cell {cell.experiment}:{cell.number}")
                if found and found[-1][1:3] >= cell[1:3]:
                    raise Odd("the index of cells")
            except Odd as error:
                raise StoreError(f"{self._database.path}: is damaged ({error})") from None
            found.append(cell)
        self._known |= {(cell.experiment, cell.params): cell for cell in found}
        return found

    def find(self, key: tuple[str, str]) -> CellRow | None:
        """The cell of that name and spelling, or None."""
        if key not in self._known:
            number = _number(key[1])
            rows = self.rows("WHERE experiment = ? AND number = ?", key[0], number)
            if not rows:
                return None
            row = rows[0]
            if row.params != key[1]:
                raise StoreError(
                    f"{self._database.path}: two cells of {key[0]!r} have the number {number}: "
                    f"{row.params} and {key[1]}"
                )
            self._known[key] = row
        return self._known[key]

    def get(self, key: tuple[str, str]) -> CellRow:
        """Return the cell of that name and spelling.

        `StoreError` is raised where there is none.
        """
        row = self.find(key)
        if row is None:
            raise StoreError(f"{self._database.path}: holds no cell of {key[0]!r} with {key[1]}")
        return row

    def register(self, experiment: Experiment, key: tuple[str, str]) -> CellRow:
        """Enter a cell.

        A cell that is there already must have been run by the same design.
        """
        name, spelling = key
        _check_experiment(experiment)
        present = self.find(key)
        design = (experiment.design, experiment.block_size, compact(experiment.columns))
        if present is None:
            cell = [name, _number(spelling), *design, spelling]
            checksum = cell_checksum(cell)
            _require_readable(name, [0, *cell, checksum])
            with self._database.transaction() as connection:
                made = connection.execute(
                    "INSERT INTO cell VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)", (*cell, checksum)
                )
                tally.add(connection, "cell", (*cell[:2], made.lastrowid, checksum))
            present = self.get(key)
        stored = (present.design, present.block_size, present.columns)
        for what, now, then in zip(
            ("design", "block_size", "columns"), design, stored, strict=True
        ):
            if now != then:
                raise StoreError(
                    f"{self._database.path}: {name!r} was run with {what}={then}, now "
                    f"{what}={now}; a changed design needs a new run"
                )
        return present

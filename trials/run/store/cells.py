"""The cells of a run: finding, entering and listing them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from trials.checks import InvalidParameter
from trials.run.cell import Params, canonical_json, number_of_text
from trials.run.experiment import Experiment
from trials.run.store import tally
from trials.run.store.connection import Database
from trials.run.store.errors import StoreError
from trials.run.store.limits import MAX_BLOCK_BYTES, MAX_NAME, is_label
from trials.run.store.verification import CellRow, Odd, cell_checksum, compact, verified_cell

Key = tuple[str, str]  # the name of an experiment and the canonical parameters of a cell

_SELECT = "SELECT id, experiment, number, design, block_size, columns, params, checksum FROM cell"


def _number(spelling: str) -> str:
    return f"{number_of_text(spelling):016x}"


@lru_cache(maxsize=1024)
def _columns(name: str, columns: tuple[str, ...], rows: int) -> str:
    """The text of an experiment's columns.

    An experiment that could be written but not read back is refused.
    """
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
    return compact(columns)


def _design(experiment: Experiment) -> tuple[int, int, str]:
    """Design number, block size and columns, as a cell stores them."""
    rows = experiment.block_size
    return experiment.design, rows, _columns(experiment.name, experiment.columns, rows)


def _readable(name: str, row: tuple[Any, ...]) -> CellRow:
    """The cell of a new row.

    A row that could be written but not read back is refused: it would damage the whole run.
    """
    try:
        return verified_cell(row)
    except Odd as error:
        raise InvalidParameter(
            f"experiment {name!r}: its parameters cannot be stored ({error}); they must be short "
            "and printable"
        ) from None


class CellIndex:
    """The cells of one run, each read and verified once."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[Key, CellRow] = {}
        self._verified: dict[tuple[Any, ...], CellRow] = {}

    @staticmethod
    def key(experiment: Experiment | str, params: Params) -> Key:
        """Return the name and the canonical parameters of a cell.

        An `Experiment` completes the parameters by its check.
        """
        if isinstance(experiment, Experiment):
            return experiment.name, canonical_json(experiment.check(params))
        return experiment, canonical_json(params)

    def _verify(self, row: tuple[Any, ...]) -> CellRow:
        """The cell in a row.  A row with the same content was verified before."""
        known = self._verified.get(row)
        if known is None:
            known = verified_cell(row)
            if known.number != _number(known.params):
                raise Odd(f"number of cell {known.experiment}:{known.number}")
            self._verified[row] = known
        return known

    def rows(self, where: str = "", *values: str) -> list[CellRow]:
        """The cells that meet the condition, by experiment and number, checksums verified."""
        found: list[CellRow] = []
        for row in self._database.query(f"{_SELECT} {where} ORDER BY experiment, number", values):
            try:
                cell = self._verify(row)
                if found and found[-1][1:3] >= cell[1:3]:
                    raise Odd("the index of cells")
            except Odd as error:
                raise StoreError(f"{self._database.path}: is damaged ({error})") from None
            found.append(cell)
        self._known |= {(cell.experiment, cell.params): cell for cell in found}
        return found

    def find(self, key: Key) -> CellRow | None:
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

    def get(self, key: Key) -> CellRow:
        """Return the cell of that name and spelling.

        `StoreError` is raised where there is none.
        """
        row = self.find(key)
        if row is None:
            raise StoreError(f"{self._database.path}: holds no cell of {key[0]!r} with {key[1]}")
        return row

    def register(self, wanted: Iterable[tuple[Experiment, Key]]) -> None:
        """Enter cells, those that are not there in one transaction.

        A cell that is there already must have been run by the same design.
        """
        absent: dict[Key, Experiment] = {}
        for experiment, key in wanted:
            design = _design(experiment)
            present = self.find(key)
            if present is None:
                absent[key] = experiment
            else:
                self._refuse_other_design(present, design)
        if absent:
            self._enter(absent)

    def _enter(self, absent: Mapping[Key, Experiment]) -> None:
        """Insert cells in one transaction, and know them once it is committed."""
        entered: dict[tuple[Any, ...], CellRow] = {}
        with self._database.transaction() as connection:
            for (name, spelling), experiment in absent.items():
                cell = (name, _number(spelling), *_design(experiment), spelling)
                checksum = cell_checksum(cell)
                made = connection.execute(
                    "INSERT INTO cell VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)", (*cell, checksum)
                )
                row = (made.lastrowid, *cell, checksum)
                entered[row] = _readable(name, row)
            tally.add(connection, "cell", [(*row[1:3], row[0], row[-1]) for row in entered])
        self._verified |= entered
        self._known |= {(cell.experiment, cell.params): cell for cell in entered.values()}

    def _refuse_other_design(self, present: CellRow, design: tuple[int, int, str]) -> None:
        """Refuse a cell that was run with another design number, block size or columns."""
        stored = (present.design, present.block_size, present.columns)
        for what, now, then in zip(
            ("design", "block_size", "columns"), design, stored, strict=True
        ):
            if now != then:
                raise StoreError(
                    f"{self._database.path}: {present.experiment!r} was run with {what}={then}, "
                    f"now {what}={now}; a changed design needs a new run"
                )

"""Rows and the clients that own them: from tables of any kind to `ClientData`."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trials.checks import FloatArray, IntArray, InvalidParameter, require_open, shown
from trials.models.clients import ClientData


@dataclass(frozen=True, kw_only=True, eq=False)
class Rows:
    """Who owns which row.

    Attributes
    ----------
    ids : (m,) the clients, sorted where they can be, else in the order of their first rows.
    owner : (N,) number of each row's client.
    """

    ids: Any
    owner: IntArray

    def client_data(self, features: FloatArray, responses: FloatArray) -> ClientData:
        """The rows client by client, each client's in their order.

        Sorted rows are not copied, unless they are read-only, as those of pandas may be: compiled
        code knows such arrays as another type, and would be compiled anew.
        """
        counts = np.bincount(self.owner, minlength=len(self.ids))
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        if (np.diff(self.owner) < 0).any():
            order = np.argsort(self.owner, kind="stable")
            features, responses = features[order], responses[order]
        return ClientData(
            features=np.require(features, requirements=["C", "W"]),
            responses=np.require(responses, requirements=["C", "W"]),
            offsets=offsets,
        )


def read_rows(clients: Any, n: int) -> Rows:
    """Number the clients of n rows.

    Parameters
    ----------
    clients : one hashable id a row: a list, an array, or a column of pandas or polars.  None means
        that all rows belong to one client, number 0.

    Raises
    ------
    InvalidParameter : a missing id, another number of ids, or a category without a row.

    Examples
    --------
    >>> rows = read_rows(["b", "a", "b"], 3)
    >>> rows.ids.tolist(), rows.owner.tolist()
    (['a', 'b'], [1, 0, 1])
    """
    if clients is None:
        return Rows(ids=np.zeros(1, dtype=np.int64), owner=np.zeros(n, dtype=np.int64))
    values = _array_of(clients)
    if values.shape != (n,):
        raise InvalidParameter(
            f"clients has shape {values.shape} and X has {n} rows: give one client id a row"
        )
    if values.dtype.kind in "fcmM" and np.isnan(values).any():  # a missing time as well
        row = int(np.flatnonzero(np.isnan(values))[0])
        _refuse_missing(row, values[row])
    if values.dtype.kind == "O":
        rows = _of_objects(values)
    elif values.dtype.kind in "iu" and n and not (values[1:] < values[:-1]).any():
        starts = np.concatenate([[True], values[1:] != values[:-1]])
        rows = Rows(ids=values[starts], owner=np.cumsum(starts) - 1)
    else:
        ids, owner = np.unique(values, return_inverse=True)
        rows = Rows(ids=ids, owner=owner.astype(np.int64))
    _require_a_row_each(clients, rows)
    return rows


def ids_of(values: Sequence[Hashable]) -> Any:
    """Hashable ids (m,) as an array.  Those of one plain type keep it, others become objects.

    An array of integers beyond 64 bits rounds them, and one of texts drops their last NULs.  Such
    ids stay objects, as two clients could become one.
    """
    kinds = {type(value) for value in values}
    if len(kinds) == 1 and issubclass(kinds.pop(), int | str | np.integer | np.str_):
        found = np.asarray(values)
        if found.dtype.kind in "biuU" and found.tolist() == list(values):
            return found
    return np.fromiter(values, dtype=object, count=len(values))


def _array_of(clients: Any) -> Any:
    require_open("clients", clients)
    if hasattr(clients, "to_numpy"):
        clients = clients.to_numpy()
    if isinstance(clients, np.ndarray):
        return clients
    if isinstance(clients, str) or not hasattr(clients, "__iter__"):
        raise InvalidParameter(f"clients={shown(clients)} must hold one client id a row")
    return ids_of(list(clients))


def is_missing(value: object) -> bool:
    """Whether an object stands for a missing one: None, NaN, or that of pandas."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):  # pandas' missing value, or an array
        return True


def _of_objects(values: Any) -> Rows:
    seen: dict[Hashable, int] = {}
    owner = np.empty(len(values), dtype=np.int64)
    for i, value in enumerate(values):
        if is_missing(value):
            _refuse_missing(i, value)
        try:
            owner[i] = seen.setdefault(value, len(seen))
        except TypeError:  # unhashable
            _refuse_missing(i, value)
    try:
        ids: list[Any] = sorted(seen)  # type: ignore[type-var]
    except TypeError:  # numbers beside text, for example
        ids = list(seen)
    rank = np.empty(len(ids), dtype=np.int64)
    rank[[seen[value] for value in ids]] = np.arange(len(ids))
    return Rows(ids=ids_of(ids), owner=rank[owner])


def _refuse_missing(row: int, value: object) -> None:
    raise InvalidParameter(f"clients[{row}]={shown(value)} names no client")


def _require_a_row_each(clients: Any, rows: Rows) -> None:
    """Refuse a categorical column with a category that owns no row."""
    listed = getattr(getattr(clients, "cat", clients), "categories", None)
    if listed is None or not hasattr(listed, "__iter__"):
        return
    without = [value for value in listed if value not in set(rows.ids.tolist())]
    if without:
        raise InvalidParameter(
            f"client {shown(without[0])} has no row: leave it out of the categories of clients"
        )


def require_present(y: Any, clients: Any) -> None:
    """Refuse a missing target among objects, naming its client.  Floats are looked at later."""
    values = y.to_numpy() if hasattr(y, "to_numpy") else y
    if not isinstance(values, np.ndarray) or values.dtype != object or values.ndim != 1:
        return
    for row, value in enumerate(values):
        if is_missing(value):
            rows = read_rows(clients, len(values))
            client = shown(rows.ids.tolist()[rows.owner[row]])
            raise InvalidParameter(
                f"Input y contains NaN or another missing value: row {row}, client {client}"
            )


def require_numbers(
    features: FloatArray, responses: FloatArray | None, rows: Rows, columns: Sequence[Any]
) -> None:
    """Refuse NaN and infinity, naming the client and the column."""
    for name, table in (("X", features), ("y", responses)):
        if table is None:
            continue
        with np.errstate(all="ignore"):
            if np.isfinite(table.sum()):
                continue
        bad = np.argwhere(~np.isfinite(table))
        if len(bad):
            value = table[tuple(bad[0])]
            kind = "NaN" if np.isnan(value) else "infinity"
            where = f", column {columns[bad[0][1]]!r}" if name == "X" else ""
            client = shown(rows.ids[rows.owner[bad[0][0]] : rows.owner[bad[0][0]] + 1].tolist()[0])
            raise InvalidParameter(
                f"Input {name} contains {kind}: row {bad[0][0]}, client {client}{where}"
            )


def require_one_constant(features: FloatArray, columns: Sequence[Any], intercept: bool) -> None:
    """Refuse a second constant column: its coefficient could be any number.

    One constant column is an intercept.  With ``intercept`` the data need none of their own.
    """
    if len(features) < 2:
        return
    constant = np.flatnonzero((features == features[0]).all(axis=0))
    if len(constant) + intercept > 1:
        beside = "the intercept" if intercept else f"column {columns[constant[0]]!r}"
        raise InvalidParameter(
            f"column {columns[constant[-1]]!r} is constant beside {beside}: leave it out"
        )

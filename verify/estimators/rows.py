"""Rows and the clients that own them: from tables of any kind to `ClientData`."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any

import numpy as np

from trials.checks import (
    LARGEST_ENTRY,
    FloatArray,
    IntArray,
    InvalidParameter,
    require_open,
    shown,
)
from trials.models.clients import ClientData


@dataclass(frozen=True, kw_only=True, eq=False)
class Rows:
    """Who owns which row.

    Attributes
    ----------
    ids : (m,) the clients, sorted where they can be, else in the order of their first rows.
    owner : (N,) number of each row's client.
    told : whether somebody named the clients.
    """

    ids: Any
    owner: IntArray
    told: bool = True

    def of(self, row: int) -> str:
        """The client of a row, for a message.  Empty where nobody named the clients."""
        own = self.owner[row]
        return f", client {shown_id(plain_ids(self.ids[own : own + 1])[0])}" if self.told else ""

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
    InvalidParameter : a missing id, or another number of ids.  A category without a row, as part of
        a table has them, is no client.

    Examples
    --------
    >>> rows = read_rows(["b", "a", "b"], 3)
    >>> rows.ids.tolist(), rows.owner.tolist()
    (['a', 'b'], [1, 0, 1])
    """
    if clients is None:
        none = np.zeros(n, dtype=np.int64)
        return Rows(ids=np.zeros(1, dtype=np.int64), owner=none, told=False)
    values = _array_of(clients)
    if values.shape != (n,):
        raise InvalidParameter(
            f"clients has shape {values.shape} and X has {n} rows: give one client id a row"
        )
    if values.dtype.kind in "fcmM" and np.isnan(values).any():  # a missing time as well
        row = int(np.flatnonzero(np.isnan(values))[0])
        _refuse_missing(row, values[row])
    if values.dtype.kind == "O":
        return _of_objects(values)
    if values.dtype.kind in "iu" and n and not (values[1:] < values[:-1]).any():
        starts = np.concatenate([[True], values[1:] != values[:-1]])
        return Rows(ids=values[starts], owner=np.cumsum(starts) - 1)
    ids, owner = np.unique(values, return_inverse=True)
    return Rows(ids=ids, owner=owner.astype(np.int64))


def plain_ids(ids: Any) -> list[Any]:
    """The ids (m,) as objects by which clients are found again, and named in messages.

    A time is the same client in every unit and type: NumPy's own list has numbers for nanoseconds,
    and a date for days.

    >>> days = np.array(["2024-05-01"], dtype="datetime64[D]")
    >>> plain_ids(days) == plain_ids(days.astype("datetime64[ns]"))
    True
    """
    if ids.dtype.kind in "mM":
        return _times(ids)
    found = ids.tolist()
    return list(map(plain_id, found)) if ids.dtype.kind == "O" else found


def plain_id(value: Any) -> Any:
    """One id as `plain_ids` has it."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return _times(np.asarray([value]))[0]
    if type(value) is date:
        return datetime.combine(value, time())
    return value


def _times(ids: Any) -> list[Any]:
    """Times (m,) as those of Python where these hold them: whole microseconds, years 1 to 9999."""
    if ids.dtype.kind == "m" and np.datetime_data(ids.dtype)[0] in ("Y", "M", "generic"):
        return list(ids)  # a month has no length
    micro = ids.astype(f"{ids.dtype.kind}8[us]")
    exact = (micro.astype(ids.dtype) == ids).tolist()
    return [
        value if same and not isinstance(value, int) else own
        for value, same, own in zip(micro.astype(object), exact, ids, strict=True)
    ]


def shown_id(value: Any) -> str:
    """A client in a message: a time as people write it.

    >>> shown_id(datetime(2024, 5, 1)), shown_id("ward 3")
    ('2024-05-01', "'ward 3'")
    """
    if isinstance(value, datetime):
        return str(value).removesuffix(" 00:00:00")
    return str(value) if isinstance(value, np.datetime64 | timedelta) else shown(value)


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
    """A client has the name that its first row has: a day may be a date in some rows only."""
    seen: dict[Hashable, int] = {}
    names: list[Any] = []
    owner = np.empty(len(values), dtype=np.int64)
    for i, value in enumerate(values):
        if is_missing(value):
            _refuse_missing(i, value)
        try:
            owner[i] = seen.setdefault(plain_id(value), len(seen))
        except TypeError:  # unhashable
            _refuse_missing(i, value)
        if len(seen) > len(names):
            names.append(value)
    order = list(range(len(names)))
    try:
        order.sort(key=names.__getitem__)
    except TypeError:  # numbers beside text, for example
        order = list(range(len(names)))
    rank = np.empty(len(names), dtype=np.int64)
    rank[order] = np.arange(len(names))
    return Rows(ids=ids_of([names[i] for i in order]), owner=rank[owner])


def _refuse_missing(row: int, value: object) -> None:
    raise InvalidParameter(f"clients[{row}]={shown(value)} names no client")


def require_present(y: Any, clients: Any) -> None:
    """Refuse a missing target among objects, naming its client.  Floats are looked at later."""
    values = y.to_numpy() if hasattr(y, "to_numpy") else y
    if not isinstance(values, np.ndarray) or values.dtype != object or values.ndim != 1:
        return
    for row, value in enumerate(values):
        if is_missing(value):
            rows = read_rows(clients, len(values))
            raise InvalidParameter(
                f"Input y contains NaN or another missing value: row {row}{rows.of(row)}"
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
            row = bad[0][0]
            raise InvalidParameter(f"Input {name} contains {kind}: row {row}{rows.of(row)}{where}")


def require_moderate(
    features: FloatArray, responses: FloatArray, rows: Rows, columns: Sequence[Any]
) -> None:
    """Refuse entries whose squares overflow, naming the client and the column."""
    for name, table in (("X", features), ("y", responses)):
        if table.min() >= -LARGEST_ENTRY and table.max() <= LARGEST_ENTRY:
            continue
        bad = tuple(np.argwhere(np.abs(table) > LARGEST_ENTRY)[0])
        where = f", column {columns[bad[1]]!r}" if name == "X" else ""
        raise InvalidParameter(
            f"the entry of {name}, {abs(table[bad]):.3g} in size, must be in "
            f"[0, {LARGEST_ENTRY:g}]: row {bad[0]}{rows.of(bad[0])}{where}.  Choose another unit"
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

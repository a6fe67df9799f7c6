"""Values as plain data, and the comparison of two of them.

Floats are kept with nine digits and compared with a relative tolerance of 1e-6, because another
processor may round otherwise.  Words, counts and integers are compared exactly.  A long array is
kept as its shape, its first entries, and three sums over all entries: plain, of sizes, and with
weights that differ from entry to entry.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Set
from typing import Any

import numpy as np

RTOL = 1e-6
#: Entries of an array below this share of its largest one are rounding.
NOISE = 1e-9
#: Numbers below this are rounding where they stand alone.
ZERO = 1e-14
DIGITS = 9
#: Arrays and texts up to here are kept whole.
WHOLE, FIRST, TEXT = 16, 3, 120
#: Lists of rows up to here are kept row by row.
ROWS = 3
_SUMS = "sums"
_NO_NUMBERS = ("nan", "inf", "-inf")
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def plain(value: Any, depth: int = 0) -> Any:
    """A value as JSON-ready data: records by their fields and properties, arrays by their entries.

    >>> plain((1, 0.1 + 0.2, math.nan, np.array([True, False])))
    [1, 0.3, 'nan', [True, False]]
    """
    if value is None or isinstance(value, bool | np.bool_):
        return None if value is None else bool(value)
    if isinstance(value, enum.Enum):
        return str(value.value)
    if isinstance(value, str):
        return _shortened(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return number(float(value))
    if isinstance(value, complex):
        return [number(value.real), number(value.imag)]
    if isinstance(value, np.ndarray):
        return _of_array(value, depth)
    if isinstance(value, type) or depth > 8:
        return getattr(value, "__name__", type(value).__name__)
    if dataclasses.is_dataclass(value):
        return {name: plain(part, depth + 1) for name, part in _parts(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(part, depth + 1) for key, part in value.items()}
    if isinstance(value, Set):
        return sorted((plain(part, depth + 1) for part in value), key=repr)
    if isinstance(value, list | tuple):
        return _of_list([plain(part, depth + 1) for part in value])
    if hasattr(value, "_asdict"):
        return plain(value._asdict(), depth)
    return type(value).__name__


def number(value: float) -> float | str:
    """A float with nine digits, or the word for one that is not finite."""
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else str(value)


def _shortened(text: str) -> str:
    text = _ADDRESS.sub("", text)
    if len(text) <= TEXT:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    return f"{text[: TEXT // 2]}... {len(text)} letters, {digest}"


def _of_array(array: np.ndarray, depth: int) -> Any:
    if array.dtype.kind not in "biufc" or array.size <= WHOLE:
        return (
            [plain(part, depth + 1) for part in array.tolist()] if array.ndim else plain(array[()])
        )
    flat = np.ravel(array).astype(complex if array.dtype.kind == "c" else float)
    flat = np.abs(flat) if flat.dtype.kind == "c" else flat
    finite = np.where(np.isfinite(flat), flat, 0.0)
    weights = np.cos(np.arange(1.0, 1.0 + flat.size))
    sums = [math.fsum(finite), math.fsum(np.abs(finite)), math.fsum(weights * finite)]
    found = {"first": [plain(part) for part in array.ravel()[:FIRST].tolist()]}
    found["shape"] = list(array.shape)
    found[_SUMS] = [number(each) for each in sums]
    gaps = int(np.count_nonzero(~np.isfinite(flat)))
    return found | ({"not finite": gaps} if gaps else {})


def _of_list(values: list[Any]) -> Any:
    """A list of plain values.  Many rows are kept column by column, and equal values once."""
    if len(values) > ROWS and all(v == values[0] and type(v) is type(values[0]) for v in values):
        return {"each": values[0], "number": len(values)}
    if len(values) > ROWS and all(isinstance(v, dict) and _SUMS not in v for v in values):
        keys = dict.fromkeys(key for v in values for key in v)
        return {"rows": len(values), **{k: _of_list([v.get(k) for v in values]) for k in keys}}
    if len(values) > ROWS and all(isinstance(v, list) and len(v) == len(values[0]) for v in values):
        return {
            "rows": len(values),
            "columns": [_of_list(list(c)) for c in zip(*values, strict=True)],
        }
    if len(values) <= WHOLE // 2:
        return values
    if all(v is None or _is_number(v) or v in _NO_NUMBERS for v in values):
        if all(isinstance(v, int) for v in values):
            return _of_array(np.asarray(values), 0)
        return _of_array(np.asarray([math.nan if v is None else float(v) for v in values]), 0)
    if all(v is None or isinstance(v, str | bool) for v in values):
        digest = hashlib.sha256(repr(values).encode()).hexdigest()[:12]
        return {"first": values[:3], "digest": f"{len(values)} entries, {digest}"}
    return values


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """The fields of a record, and its properties."""
    for field in dataclasses.fields(value):
        if field.repr and not field.name.startswith("_"):
            yield field.name, getattr(value, field.name)
    for name in dir(type(value)):
        kind = getattr(type(value), name, None)
        if not name.startswith("_") and isinstance(kind, property | functools.cached_property):
            try:
                yield name, getattr(value, name)
            except Exception as error:
                yield name, told(error)


def told(error: Exception) -> str:
    """An error as it is kept."""
    return f"{type(error).__name__}: {error}"


# -- comparison ------------------------------------------------------------------------------------


def differences(old: Any, new: Any, where: str = "") -> list[str]:
    """What differs between a recorded value and a new one, a line each.

    >>> differences({"a": [1, 2.0]}, {"a": [1, 2.0000001]})
    []
    >>> differences({"a": [1, 2.0]}, {"a": [2, 2.1]})
    ['a[0]: 1 -> 2', 'a[1]: 2.0 -> 2.1']
    """
    if isinstance(old, dict) and isinstance(new, dict):
        if _SUMS in old and _SUMS in new:
            return _of_sums(old, new, where)
        found = []
        for key in dict.fromkeys((*old, *new)):
            inner = f"{where}.{key}" if where else str(key)
            if key not in old or key not in new:
                found.append(f"{inner}: {_seen(old, key)} -> {_seen(new, key)}")
            else:
                found += differences(old[key], new[key], inner)
        return found
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        scale = _largest(old)
        found = []
        for i, (a, b) in enumerate(zip(old, new, strict=True)):
            if not (_is_float(a) and _is_float(b) and abs(a - b) <= NOISE * scale):
                found += differences(a, b, f"{where}[{i}]")
        return found
    same = _close(old, new) if _is_number(old) and _is_number(new) else old == new
    return [] if same else [f"{where}: {_cut(old)} -> {_cut(new)}"]


def _of_sums(old: dict[str, Any], new: dict[str, Any], where: str) -> list[str]:
    scale = abs(old[_SUMS][1])
    rest = differences(
        *({k: v for k, v in each.items() if k != _SUMS} for each in (old, new)), where
    )
    off = [
        f"{where}.{_SUMS}[{i}]: {a} -> {b}"
        for i, (a, b) in enumerate(zip(old[_SUMS], new[_SUMS], strict=True))
        if not abs(a - b) <= max(RTOL * scale, ZERO)
    ]
    return rest + off


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_float(value: Any) -> bool:
    return isinstance(value, float)


def _close(old: float, new: float) -> bool:
    if isinstance(old, int) and isinstance(new, int):
        return old == new
    return abs(old - new) <= max(RTOL * max(abs(old), abs(new)), ZERO)


def _largest(values: list[Any]) -> float:
    return max((abs(v) for v in values if _is_float(v)), default=0.0)


def _seen(values: dict[str, Any], key: str) -> str:
    return _cut(values[key]) if key in values else "nothing"


def _cut(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 160 else text[:160] + "..."

"""Values as plain data, and the comparison of two of them.

Floats are kept with nine digits and compared with a relative tolerance of 1e-6, because another
processor may round otherwise.  Words, counts and integers are compared exactly.  A long array is
kept as its shape, its first entries, and three sums over all entries: plain, of sizes, and with
weights that differ from entry to entry.  Texts are kept whole, line by line.  A list of words that
repeat is kept as the places of each.
"""

from __future__ import annotations

import dataclasses
import difflib
import enum
import functools
import itertools
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
#: Arrays up to here are kept whole, and the first entries of longer ones.
WHOLE, FIRST = 16, 3
#: What stands for any words without a digit in a recorded text.
GAP = "…"
#: Lists of rows up to here are kept row by row.
ROWS = 3
_SUMS = "sums"
_NO_NUMBERS = ("nan", "inf", "-inf")
_WORDS = r"(?:[^\d-]|(?<=\w)-|-(?!\d))*"
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
        return _of_text(value)
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
        # Drawn trials are too few to tell symbols apart: test_told_apart.py has answers by hand.
        parts = ((name, part) for name, part in _parts(value) if name != "apart")
        return {name: plain(part, depth + 1) for name, part in parts}
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


def _of_text(text: str) -> Any:
    """A text, or its lines where it has several."""
    text = _ADDRESS.sub("", text)
    return text.splitlines() if "\n" in text.rstrip("\n") else text


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
        return _of_words(values)
    return values


def _of_words(values: list[Any]) -> Any:
    """Words of which many are the same: (word, its places) in the order of their first places.

    >>> _of_words(["a", "a", "b", "b", "a", "a"])
    {'number': 6, 'places': [['a', '0-1,4-5'], ['b', '2-3']]}
    """
    runs: dict[Any, list[str]] = {}
    first = 0
    for word, group in itertools.groupby(values):
        last = first + len(list(group)) - 1
        runs.setdefault(word, []).append(f"{first}-{last}" if last > first else f"{first}")
        first = last + 1
    if sum(map(len, runs.values())) > len(values) // 2:
        return values
    return {"number": len(values), "places": [[w, ",".join(at)] for w, at in runs.items()]}


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
    if _are_words(old) and _are_words(new) and len(old) != len(new):
        lines = difflib.ndiff(old, new)
        return [f"{where}: {line}" for line in lines if line.startswith(("-", "+"))]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        scale = _largest(old)
        found = []
        for i, (a, b) in enumerate(zip(old, new, strict=True)):
            if not (_is_float(a) and _is_float(b) and abs(a - b) <= NOISE * scale):
                found += differences(a, b, f"{where}[{i}]")
        return found
    if isinstance(old, str) and isinstance(new, str) and GAP in old:
        return [] if old == new or said_as(old, new) else [f"{where}: {_cut(old)} -> {_cut(new)}"]
    same = _close(old, new) if _is_number(old) and _is_number(new) else old == new
    return [] if same else [f"{where}: {_cut(old)} -> {_cut(new)}"]


def said_as(old: str, new: str) -> bool:
    """Whether a text is the recorded one with words at its gaps.

    >>> said_as("… 12 … 3 of them fail.", "There are 12 cells. 3 of them fail.")
    True
    >>> said_as("… 12 …", "There are -12 cells, or 13.")
    False
    """
    pattern = _WORDS.join(re.escape(part.strip(" ")) for part in old.split(GAP))
    return re.fullmatch(pattern, new, re.DOTALL) is not None


def in_old_words(old: Any, new: Any) -> Any:
    """The new value, with what counts as equal as it is recorded."""
    if not differences(old, new):
        return old
    if isinstance(old, dict) and isinstance(new, dict):
        return {k: in_old_words(old[k], v) if k in old else v for k, v in new.items()}
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [in_old_words(a, b) for a, b in zip(old, new, strict=True)]
    return new


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


def _are_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


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

"""The canonical text of a cell, and its registered number.

A *cell* is a full parameter assignment of an experiment.  Its number determines its random streams,
so the number depends on the cell's content alone.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from trials.checks import InvalidParameter

Params = Mapping[str, Any]

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


def _plain(value: Any) -> Any:
    """A JSON value for a parameter: NumPy scalars unwrapped, tuples as lists, NaN refused."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidParameter(f"parameter value {value!r} must be finite")
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in value.items()}
    return value


def canonical_json(params: Params) -> str:
    """The canonical text of a cell: sorted keys, no blanks, floats by ``repr``."""
    try:
        return _CANONICAL.encode(dict(params))
    except (TypeError, ValueError):  # it holds something that is not JSON, and `_plain` names it
        return _CANONICAL.encode(_plain(params))


def cell_number(params: Params) -> int:
    """The cell's registered integer: 64 bits of the SHA-256 of its canonical text.

    The number depends on the cell's content alone.  So a cell's streams do not depend on the other
    cells of a run or on their order.  The store refuses two cells with one number.
    """
    return number_of_text(canonical_json(params))


def number_of_text(spelled: str) -> int:
    """The number of the cell that a canonical text spells."""
    return int.from_bytes(hashlib.sha256(spelled.encode()).digest()[:8], "big")

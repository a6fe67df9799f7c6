"""Data sets for benchmarks: half moons, sets of the UCI repository, and tables in CSV files.

Four UCI sets come with scikit-learn: iris, wine, breast cancer and digits.  Others are read from a
CSV file by its path.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets

from trials.checks import FloatArray, InvalidParameter

#: The sets that scikit-learn brings along.
UCI: dict[str, Callable[[], Any]] = {
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "breast_cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
}


def half_moons(n: int) -> FloatArray:
    """Two interleaved half circles with normal noise, (n, 2)."""
    rng = np.random.default_rng(n)
    angle = np.pi * rng.random(n)
    side = np.arange(n) % 2
    points = np.stack([np.cos(angle) + side, np.sin(angle) * (1 - 2 * side) + 0.5 * side], axis=1)
    return np.asarray(points + 0.1 * rng.standard_normal((n, 2)))


def curved_sheets(n: int, d: int, k: int = 10) -> FloatArray:
    """k curved sheets of four dimensions in d dimensions, (n, d).

    Their shape is that of images of ten kinds after a reduction of dimension, as MNIST's.
    """
    rng = np.random.default_rng(n)
    kind = rng.integers(k, size=n)
    centres = 3.0 * rng.standard_normal((k, d))
    slope, bend = 0.5 * rng.standard_normal((k, 4, d)), 0.15 * rng.standard_normal((k, 4, d))
    place = rng.standard_normal((n, 4))
    points = centres[kind] + 0.2 * rng.standard_normal((n, d))
    points += np.einsum("ni,nid->nd", place, slope[kind])
    return np.asarray(points + np.einsum("ni,nid->nd", place**2 - 1.0, bend[kind]))


def _blobs(n: int, k: int, apart: float, size: float, seed: int) -> FloatArray:
    """k round clouds in the plane, (n, 2)."""
    rng = np.random.default_rng(seed)
    centres, kind = apart * rng.standard_normal((k, 2)), rng.integers(k, size=n)
    sizes = size * np.exp(0.5 * rng.standard_normal(k))
    return np.asarray(centres[kind] + sizes[kind][:, None] * rng.standard_normal((n, 2)))


def _clumps() -> FloatArray:
    """102 tight clumps of very different sizes, as musk's molecules, (6598, 2)."""
    rng = np.random.default_rng(3)
    share = rng.pareto(1.2, 102) + 0.05
    kind = rng.choice(102, size=6598, p=share / share.sum())
    centres = 10.0 * rng.standard_normal((102, 2))
    return np.asarray(centres[kind] + 0.08 * rng.standard_normal((6598, 2)))


#: Drawn sets of the sizes of three UCI sets after an embedding in the plane.  The embedded sets
#: themselves cannot be had here.
EMBEDDED: dict[str, Callable[[], FloatArray]] = {
    "banknotes": lambda: _blobs(1372, 8, 3.0, 0.8, 1),
    "musk": _clumps,
    "gamma": lambda: _blobs(19020, 12, 1.0, 1.0, 2),
}


def standardised(table: FloatArray) -> FloatArray:
    """Columns with mean 0 and variance 1.  Constant columns are left out."""
    table = table[:, (table != table[:1]).any(axis=0)]
    return np.asarray((table - table.mean(axis=0)) / table.std(axis=0))


def _number(text: str) -> float:
    """A finite number, or NaN."""
    try:
        value = float(text)
    except ValueError:
        return np.nan
    return value if np.isfinite(value) else np.nan


def read_csv(path: str | Path) -> FloatArray:
    """The columns of a CSV file that hold numbers, (n, d).

    A first line without any number is a header.  A column of which fewer than half of the entries
    are numbers holds names, such as classes, and is left out.  Then rows with a missing entry are
    left out.  The separator is the most frequent one of comma, semicolon and tab in the first line.

    Raises
    ------
    trials.checks.InvalidParameter
        The file is missing, its rows have different lengths, or no table of numbers is left.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidParameter(f"path={str(path)!r} must be a readable CSV file: {error}") from None
    first = text.partition("\n")[0]
    rows = [
        row for row in csv.reader(text.splitlines(), delimiter=max(",;\t", key=first.count)) if row
    ]
    if not rows or len({len(row) for row in rows}) != 1:
        raise InvalidParameter(f"path={str(path)!r} must hold rows of equal length")
    table = np.array([[_number(entry) for entry in row] for row in rows])
    if np.isnan(table[0]).all():
        table = table[1:]
    table = table[:, np.isfinite(table).mean(axis=0) >= 0.5] if table.size else table
    table = table[np.isfinite(table).all(axis=1)]
    if table.shape[0] < 2 or table.shape[1] < 1:
        raise InvalidParameter(f"path={str(path)!r} must hold a table of numbers, two rows or more")
    return table


def load(name: str) -> FloatArray:
    """A set of `UCI` by its name, or of a CSV file by its path, with standardised columns.

    Examples
    --------
    >>> load("iris").shape
    (150, 4)
    """
    return standardised(UCI[name]().data if name in UCI else read_csv(name))

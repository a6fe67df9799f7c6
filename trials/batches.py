"""Checks on batches of arrays, shared by the drivers of clustering and local-fit kernels.

A batch has one leading axis, the trial (or user): ``(B, m, d)`` holds B data sets of m points in
R^d.  Kernels never validate; these checks stand at the door of every driver, so that a bad array
is named with its shape and refused before any work starts.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trials.experiment import FloatArray, InvalidParameter

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

# Squared distances of larger entries could overflow to infinity in float64.
LARGEST_ENTRY = 1e150


def real_array(name: str, value: ArrayLike) -> FloatArray:
    """Return ``value`` as a C-contiguous float64 array; refuse what is not made of real numbers.

    NumPy would read the text "1.5" as a number and keep the real part of a complex one.
    """
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biufO":
            raise TypeError(f"its type is {array.dtype}")
        return np.asarray(array, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidParameter(f"{name} must be an array of real numbers: {error}") from None


def finite_batch(name: str, value: ArrayLike, axes: tuple[str, ...]) -> FloatArray:
    """Return ``value`` as a C-contiguous float64 array with the named axes, all entries finite.

    Parameters
    ----------
    name : what the caller calls the array, for the error message.
    value : array-like of real numbers.
    axes : the names of the axes, e.g. ``("B", "m", "d")``; every axis must have length >= 1.

    Raises
    ------
    InvalidParameter
        Wrong number of axes, an empty axis, an entry that is NaN, infinite or above 1e150.
    """
    array = real_array(name, value)
    wanted = f"({', '.join(axes)})"
    if array.ndim != len(axes) or 0 in array.shape:
        hint = "; for a single data set pass array[None]" if array.ndim == len(axes) - 1 else ""
        raise InvalidParameter(
            f"{name}.shape={array.shape} must be {wanted} with every axis >= 1{hint}"
        )
    # two reductions without a temporary array; a NaN makes both comparisons false
    if not (array.max() <= LARGEST_ENTRY and array.min() >= -LARGEST_ENTRY):
        bad = tuple(int(i) for i in np.argwhere(~(np.abs(array) <= LARGEST_ENTRY))[0])
        raise InvalidParameter(
            f"{name}[{', '.join(map(str, bad))}]={array[bad]} must be finite and "
            f"at most {LARGEST_ENTRY:g} in magnitude"
        )
    return array


def same_axis(name: str, got: int, other: str, wanted: int) -> None:
    """Refuse two arrays whose shared axis differs in length."""
    if got != wanted:
        raise InvalidParameter(f"{name}={got} must equal {other}={wanted}")


def integer_between(name: str, value: Any, low: int, high: int | None = None, why: str = "") -> int:
    """Return ``value`` as an int in [low, high]; ``why`` says where the upper limit comes from."""
    number = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, bool) or not isinstance(number, int):
        raise InvalidParameter(f"{name}={value!r} must be an integer >= {low}")
    if number >= 2**63:
        raise InvalidParameter(f"{name}={number!r:.60} must be below 2^63, a kernel's range")
    if number < low or (high is not None and number > high):
        limit = f">= {low}" if high is None else f"between {low} and {high}"
        raise InvalidParameter(f"{name}={number} must be {limit}{f' ({why})' if why else ''}")
    return number


def real_between(
    name: str, value: Any, low: float, high: float = math.inf, *, open_low: bool = False
) -> float:
    """Return ``value`` as a finite float in [low, high], or in (low, high] when ``open_low``."""
    try:
        if isinstance(value, str | bytes):
            raise TypeError("a text")
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameter(f"{name}={value!r:.60} must be a real number") from None
    inside = math.isfinite(number) and low <= number <= high and not (open_low and number == low)
    if not inside:
        sign = ">" if open_low else ">="
        upper = "" if high == math.inf else f" and <= {high:g}"
        raise InvalidParameter(f"{name}={number:g} must be finite, {sign} {low:g}{upper}")
    return number


def one_of(name: str, value: str, choices: tuple[str, ...]) -> str:
    """Return ``value`` if it is one of ``choices``; the error lists them."""
    if not isinstance(value, str) or value not in choices:
        raise InvalidParameter(f"{name}={value!r} must be one of {', '.join(map(repr, choices))}")
    return value


def checked_rng(rng: Any) -> np.random.Generator:
    """Return ``rng`` if it is a stream; a kernel would refuse a seed with a page about types."""
    if not isinstance(rng, np.random.Generator):
        raise InvalidParameter(f"rng={rng!r:.60} must be a numpy.random.Generator")
    return rng

"""Array types, the error of bad input, and the checks that stand at the door of every driver.

A batch has one leading axis, the trial (or user): ``(B, m, d)`` holds B data sets of m points in
R^d.  Kernels never validate; these checks stand at the door of every driver, so that a bad array
is named with its shape and refused before any work starts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


class InvalidParameter(ValueError):
    """A parameter outside the domain of a model, law or kernel.

    The message names the parameter, its value and the requirement, e.g.
    ``n_samples=0 must be an integer >= 1``.
    """


MAX_DRAWN = 10**7  # doubles of one trial, where data or vectors are drawn in full

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


def choice(name: str, value: object, options: object) -> str:
    """``value`` if it is one of the ``Literal`` type's options; else an error that lists them."""
    valid = get_args(options)
    if value not in valid:
        raise InvalidParameter(f"{name}={value!r} must be one of {', '.join(valid)}")
    return str(value)


def integer(name: str, value: object, minimum: int, maximum: int | None = None) -> int:
    """``value`` as an int within its limits; booleans, fractions and NaN are refused."""
    limits = f">= {minimum}" if maximum is None else f"in [{minimum}, {maximum}]"
    number = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    if (
        isinstance(number, bool)
        or not isinstance(number, int)
        or number < minimum
        or (maximum is not None and number > maximum)
    ):
        raise InvalidParameter(f"{name}={value!r} must be an integer {limits}")
    return number


def real(
    name: str, value: object, minimum: float, maximum: float = math.inf, *, strict: bool = False
) -> float:
    """``value`` as a finite float within its limits (``strict``: the minimum excluded)."""
    number = value.item() if isinstance(value, np.generic) else value
    if (
        isinstance(number, bool)
        or not isinstance(number, int | float)
        or not math.isfinite(number)
        or not minimum <= number <= maximum
        or (strict and number == minimum)
    ):
        limits = f"{'>' if strict else '>='} {minimum:g}"
        limits += "" if maximum == math.inf else f" and <= {maximum:g}"
        raise InvalidParameter(f"{name}={value!r} must be a finite number {limits}")
    return float(number)


def require_finite(name: str, values: FloatArray) -> None:
    """Refuse NaN and infinity; the sum is checked first because it needs no temporary."""
    with np.errstate(all="ignore"):
        if np.isfinite(values.sum()):
            return
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        where = tuple(int(i) for i in bad[0])
        raise InvalidParameter(f"{name}{list(where)}={values[where]} must be finite")


def known_names(params: Mapping[str, Any], names: set[str]) -> None:
    unknown = sorted(set(params) - names)
    if unknown:
        raise InvalidParameter(
            f"unknown parameter {unknown[0]!r}; known: {', '.join(sorted(names))}"
        )


def integer_at_most(name: str, value: object, minimum: int, maximum: int) -> int:
    """An integer; that it is too large is said only of one that is."""
    number = integer(name, value, minimum)
    if number > maximum:
        raise InvalidParameter(f"{name}={value!r} must be <= {maximum}")
    return number


def check_drawn(what: str, n_values: int) -> None:
    """Refuse a trial whose data do not fit into memory."""
    if n_values > MAX_DRAWN:
        raise InvalidParameter(
            f"{what}={n_values} must be <= {MAX_DRAWN}: they are drawn in full in every trial"
        )

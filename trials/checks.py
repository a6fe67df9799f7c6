"""Array types, the error of bad input, and the checks that every driver makes first.

There is one rule for numbers.  A whole number may be an ``int``, a NumPy integer or a float without
a fraction, because JSON, TOML and the command line write 1e6.  A real number may be any of these or
a finite float.  Booleans, text, complex numbers, NaN and infinity are refused everywhere.

Every message has the form ``name=value must be REQUIREMENT``.  `trials.parameters` builds tables of
parameters from these checks.

A batch has one leading axis, the trial (or user): ``(B, m, d)`` holds B data sets of m points in
R^d.  Kernels never validate.  Their drivers do, so that a bad array is named with its shape and
refused before any work starts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import Any

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


MAX_LOCAL_STEPS = 10**6  # of one client in one iteration: more are hours without an answer
MAX_DRAWN = 10**7  # doubles of one trial, where data or vectors are drawn in full
LARGEST_INTEGER = 2**63 - 1  # of a kernel
WHOLE_IN_FLOAT = 2**53  # beyond, doubles skip whole numbers

# Squared distances of larger entries could overflow to infinity in float64.
LARGEST_ENTRY = 1e150

_SHOWN = 60  # characters of a refused value
_OPEN = frozenset({int, float, np.ndarray})  # types that have no mask


def shown(value: object) -> str:
    """A refused value on one line of a message, cut where it is long."""
    try:
        text = repr(value)
    except Exception:  # a number of more digits than Python prints, or a broken object
        text = f"<{type(value).__name__}>"
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def hides_entries(value: object) -> bool:
    """Whether entries of an array, or of a list of arrays, are masked.

    NumPy forgets a mask without a word wherever it makes a plain array.
    """
    if type(value) in _OPEN:  # nearly every argument of a driver
        return False
    if isinstance(value, np.ma.MaskedArray):
        return bool(np.ma.getmaskarray(value).any())
    return isinstance(value, list | tuple) and any(map(hides_entries, value))


# -- numbers -------------------------------------------------------------------------------------


def _number(value: object) -> int | float | None:
    """Return ``value`` as a Python number, or None if it is not a real number."""
    if type(value) is float or type(value) is int:  # not a bool, which is a subclass
        return value
    if hides_entries(value):
        return None
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value


def interval(low: float, high: float | None, *, open_low: bool = False) -> str:
    """An interval in words: ``>= 1``, ``> 0`` or ``in (0, 1]``."""
    if high is None or high == math.inf:
        return f"{'>' if open_low else '>='} {_limit(low)}"
    return f"in {'(' if open_low else '['}{_limit(low)}, {_limit(high)}]"


def _limit(value: float) -> str:
    """Text of an interval's limit.

    Powers of two and of ten are printed as powers.
    """
    if isinstance(value, int) and value >= 10**6:
        if value & (value - 1) == 0:
            return f"2^{value.bit_length() - 1}"
        if value & (value + 1) == 0:
            return f"2^{value.bit_length()} - 1"
        if str(value) == "1" + "0" * (len(str(value)) - 1):
            return f"10^{len(str(value)) - 1}"
    return str(value) if isinstance(value, int) else f"{value:.15g}"


def integer_between(
    name: str, value: object, low: int, high: int | None = None, why: str = ""
) -> int:
    """Return ``value`` as an int if it is a whole number in [low, high].

    ``why`` says in the error where the upper limit comes from.

    Without ``high`` the limit is that of a kernel, 2^63 - 1.
    """
    number = _number(value)
    if isinstance(number, float):
        number = int(number) if number.is_integer() else None
    if number is None or number < low or number > (LARGEST_INTEGER if high is None else high):
        if high is None and number is not None and number > LARGEST_INTEGER:
            high, why = LARGEST_INTEGER, "the largest of a kernel"
        reason = f" ({why})" if why else ""
        raise InvalidParameter(
            f"{name}={shown(value)} must be an integer {interval(low, high)}{reason}"
        )
    return int(number)


def real_between(
    name: str,
    value: object,
    low: float,
    high: float = math.inf,
    *,
    open_low: bool = False,
    why: str = "",
) -> float:
    """Return a finite number in [low, high], or in (low, high] when ``open_low``."""
    number = _number(value)
    try:
        number = math.nan if number is None else float(number)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or not low <= number <= high or (open_low and number == low):
        limits = "" if low == -math.inf else f" {interval(low, high, open_low=open_low)}"
        reason = f" ({why})" if why else ""
        raise InvalidParameter(f"{name}={shown(value)} must be a finite number{limits}{reason}")
    return number + 0.0  # -0 and 0 are one value, with one spelling


# -- names, streams and records ------------------------------------------------------------------


def real_or_infinite(name: str, value: object) -> float:
    """Return a number as a float.  Infinity is accepted, and NaN is refused."""
    number = _number(value)
    try:
        found = math.nan if number is None else float(number)
    except OverflowError:
        found = math.nan
    if math.isnan(found):
        raise InvalidParameter(f"{name}={shown(value)} must be a number or infinity")
    return found + 0.0  # -0 and 0 are one value


def one_of(name: str, value: object, options: Collection[str]) -> str:
    """Return ``value`` if it is one of the options.

    The error lists the options.
    """
    if not isinstance(value, str) or value not in options:
        raise InvalidParameter(f"{name}={shown(value)} must be one of {', '.join(options)}")
    return value


def flag(name: str, value: object) -> bool:
    """Return ``value`` if it is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidParameter(f"{name}={shown(value)} must be True or False")
    return bool(value)


def check_rng(rng: object, name: str = "rng") -> np.random.Generator:
    """Return ``rng`` if it is a `numpy.random.Generator`.

    Without this check a kernel would refuse a seed with a long message about types.
    """
    if not isinstance(rng, np.random.Generator):
        raise InvalidParameter(
            f"{name}={shown(rng)} must be a numpy.random.Generator, e.g. "
            "numpy.random.default_rng(0)"
        )
    return rng


def record_of(name: str, value: object, *kinds: type) -> Any:
    """Return ``value`` if it is a record of one of the classes."""
    if not isinstance(value, kinds):
        wanted = " or ".join(kind.__name__ for kind in kinds)
        article = "an" if wanted[0] in "AEIO" else "a"
        raise InvalidParameter(f"{name}={shown(value)} must be {article} {wanted}")
    return value


def function_of(name: str, value: object) -> Callable[..., Any]:
    """Return ``value`` if it can be called."""
    if not callable(value):
        raise InvalidParameter(f"{name}={shown(value)} must be a function")
    return value


# -- arrays --------------------------------------------------------------------------------------


def require_open(name: str, value: object) -> None:
    """Refuse masked entries, whose masks NumPy and scikit-learn forget without a word."""
    if hides_entries(value):
        raise InvalidParameter(f"{name} must have no masked entries: fill them or leave them out")


def plain_array(name: str, value: ArrayLike) -> NDArray[Any]:
    """Return ``value`` (...,) as an array of any type: the gate that every array goes through.

    Raises
    ------
    InvalidParameter : Masked entries, rows of different lengths, an object that cannot be read.
    """
    require_open(name, value)
    try:
        return np.asarray(value)
    except Exception as error:  # a broken object may raise anything when it is read
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InvalidParameter(f"{name} must be an array: {reason[:200]}") from None


def real_array(name: str, value: ArrayLike) -> FloatArray:
    """Return ``value`` (...,) as a C-contiguous float64 array if all entries are real numbers.

    NumPy would read the text "1.5" as a number and keep the real part of a complex one.
    """
    array = plain_array(name, value)
    try:
        if array.dtype.kind not in "iufO":
            raise TypeError(f"its type is {array.dtype}")
        if array.dtype.kind == "O" and any(_number(v) is None for v in array.ravel()):
            raise TypeError("it holds other objects")
        return np.asarray(array, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        reason = " ".join(str(error).split())
        raise InvalidParameter(f"{name} must be an array of real numbers: {reason}") from None


def finite_batch(name: str, value: ArrayLike, axes: tuple[str, ...]) -> FloatArray:
    """Return ``value``, (n, d) for the axes ``("n", "d")``, as finite C-contiguous float64.

    Parameters
    ----------
    name : the caller's name of the array, for the error message.
    value : array-like of real numbers.
    axes : the names of the axes, e.g. ``("B", "m", "d")``.  Every axis must have length >= 1.

    Raises
    ------
    InvalidParameter : Wrong number of axes, an empty axis, an entry that is NaN, infinite or above
        1e150.
    """
    array = real_array(name, value)
    wanted = f"({', '.join(axes)}{',' if len(axes) == 1 else ''})"
    if array.ndim != len(axes) or 0 in array.shape:
        hint = "; for a single data set pass array[None]" if array.ndim == len(axes) - 1 else ""
        raise InvalidParameter(
            f"{name}.shape={array.shape} must be {wanted} with every axis >= 1{hint}"
        )
    bounded_entries(name, array)
    return array


def bounded_entries(name: str, array: FloatArray, limit: float = LARGEST_ENTRY) -> None:
    """Refuse entries of an array of any shape that are NaN, infinite or above ``limit`` in size."""
    # A sum of squares bounds every entry, and costs a fifth of two reductions.  It decides where it
    # is clearly small, and a NaN or an overflow makes the comparison false.
    if np.vdot(array, array) < 0.5 * limit * limit:
        return
    if array.size and not (array.max() <= limit and array.min() >= -limit):
        bad = tuple(int(i) for i in np.argwhere(~(np.abs(array) <= limit))[0])
        raise InvalidParameter(
            f"{name}[{', '.join(map(str, bad))}]={array[bad]} must be finite and "
            f"at most {limit:g} in magnitude"
        )


def require_finite(name: str, values: FloatArray) -> None:
    """Refuse NaN and infinity in an array (...,).

    The sum is checked first, because it needs no temporary array.
    """
    with np.errstate(all="ignore"):
        if np.isfinite(values.sum()):
            return
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        where = tuple(int(i) for i in bad[0])
        raise InvalidParameter(f"{name}{list(where)}={values[where]} must be finite")


def whole_array(name: str, value: ArrayLike, low: int = 0, high: int = 2**53) -> IntArray:
    """Return ``value`` (...,) as a C-contiguous int64 array of whole numbers in [low, high]."""
    array = plain_array(name, value)
    if array.dtype.kind not in "iu":
        array = real_array(name, array)
        require_finite(name, array)
    if array.size and not (
        array.min() >= low
        and array.max() <= high
        and (array.dtype.kind != "f" or bool((array == np.floor(array)).all()))
    ):
        raise InvalidParameter(f"{name}={shown(value)} must hold integers {interval(low, high)}")
    return np.ascontiguousarray(array, dtype=np.int64)


def sparse_matrix(name: str, value: Any, size: int) -> Any:
    """Return a sparse or dense (size, size) matrix of real numbers as a CSR array of float64.

    It is a copy, without duplicates and with sorted rows.  SciPy and compiled kernels trust the
    index arrays of a sparse matrix, which its owner may have changed.  So these are checked first:
    an index out of range would read or write memory of others.

    Raises
    ------
    InvalidParameter : Another shape or type, indices out of range or rows that do not follow each
        other, entries that are NaN or infinite.
    """
    import scipy.sparse as sp

    wrong = f"{name} must be a sparse or dense matrix of real numbers"
    if not sp.issparse(value):
        value = plain_array(name, value)
    if value.dtype.kind not in "biuf":
        raise InvalidParameter(wrong)
    if value.shape != (size, size):
        raise InvalidParameter(f"{name}.shape={value.shape} must be ({size}, {size})")
    try:
        if getattr(value, "format", "") in ("csr", "csc", "bsr"):
            value = value.copy()
            value.check_format(full_check=True)
        elif sp.issparse(value):
            value = _check_coordinates(value.tocoo(copy=True))
        matrix = sp.csr_array(value, dtype=np.float64, copy=True)
        matrix.check_format(full_check=True)
    except Exception as error:  # arrays of any length, type or order in the place of its own
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InvalidParameter(f"{wrong}: {reason[:200]}") from None
    matrix.sum_duplicates()
    require_finite(f"{name}.data", matrix.data)
    return matrix


def _check_coordinates(matrix: Any) -> Any:
    """A COO matrix whose coordinates lie inside it.  ValueError otherwise."""
    for axis, index in zip(matrix.shape, (matrix.row, matrix.col), strict=True):
        inside = index.shape == matrix.data.shape and index.dtype.kind in "iu"
        if not inside or (index.size and not 0 <= index.min() <= index.max() < axis):
            raise ValueError("an index is out of range")
    return matrix


def same_axis(name: str, got: int, other: str, wanted: int) -> None:
    """Refuse two arrays whose shared axis differs in length."""
    if got != wanted:
        raise InvalidParameter(f"{name}={got} must equal {other}={wanted}")


def check_drawn(what: str, n_values: int) -> None:
    """Refuse a trial whose data do not fit into memory."""
    if n_values > MAX_DRAWN:
        raise InvalidParameter(
            f"{what}={n_values} must be <= {MAX_DRAWN}: they are drawn in full in every trial"
        )

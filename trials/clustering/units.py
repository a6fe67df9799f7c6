"""Units of length in which the squares of small data do not vanish.

Squared distances below 1e-308 are rounded to zero, so points of size 1e-160 would all coincide.
Drivers of kernels that square lengths therefore measure tiny data sets in a unit of their own.  It
is a power of two, so that no digit changes, and results are given back in the unit of the points.
Data of any other size are left as they are, bit for bit.
"""

from __future__ import annotations

import numpy as np

from trials.checks import FloatArray

#: Data sets with a smaller largest entry get a unit of their own.  In larger ones the smallest
#: differences, 1e-16 of the largest entry, have squares far from underflow.
SMALL = 1e-100


def own_units(*arrays: FloatArray) -> FloatArray:
    """(B,) units of length: 1, or for tiny data sets the power of two above their largest entry.

    Parameters
    ----------
    arrays : finite arrays (B, ..., d) that share a unit, such as points and centres.

    Returns
    -------
    (B,) positive powers of two.

    Notes
    -----
    O(B d) where no first point is tiny, else one pass over the arrays.
    """
    n_sets = arrays[0].shape[0]
    units = np.ones(n_sets)
    first = arrays[0].reshape(n_sets, -1, arrays[0].shape[-1])[:, 0]
    if (np.abs(first).max(axis=1) >= SMALL).all():
        return units
    parts = [np.abs(array).reshape(n_sets, -1).max(axis=1) for array in arrays]
    largest = np.max(parts, axis=0)
    tiny = (largest > 0.0) & (largest < SMALL)
    units[tiny] = np.ldexp(1.0, np.frexp(largest[tiny])[1])
    return units


def divide_by_units(array: FloatArray, units: FloatArray) -> FloatArray:
    """An array (B, ...) in the units (B,), or the array itself where all units are 1."""
    if (units == 1.0).all():
        return array
    return array / _spread_out(units, array)


def give_back(array: FloatArray, units: FloatArray, power: int = 1) -> None:
    """Turn ``array`` (B, ...), in powers of the units (B,), into the unit of the points, in place.

    A value below the least positive float becomes zero.
    """
    if not (units == 1.0).all():
        for _ in range(power):
            array *= _spread_out(units, array)


def _spread_out(units: FloatArray, array: FloatArray) -> FloatArray:
    """Units (B,) with as many axes as ``array`` (B, ...)."""
    return units.reshape(-1, *[1] * (array.ndim - 1))

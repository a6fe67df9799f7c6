"""Euclidean norms inside kernels, also where the squares leave the range of floats."""

from __future__ import annotations

import numpy as np
from numba import njit

# Below, squares may have lost entries that matter.
_LEAST_SQUARE = 1e-280


# Sums may be reordered and multiply-adds fused; NaN and infinity keep their meaning.
@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def length(values):  # type: ignore[no-untyped-def]
    """Norm of a vector of at least one entry; NaN or infinity where it holds one."""
    total = 0.0
    for value in values:
        total += value * value
    if _LEAST_SQUARE < total < np.inf:
        return np.sqrt(total)
    largest = np.abs(values).max()
    if not 0.0 < largest < np.inf:
        return np.sqrt(total)
    total = 0.0
    for value in values:
        scaled = value / largest
        total += scaled * scaled
    return largest * np.sqrt(total)


@njit(cache=True, nogil=True)
def row_lengths(rows, lengths):  # type: ignore[no-untyped-def]
    """`length` of each row of (r, d)."""
    for r in range(rows.shape[0]):
        lengths[r] = length(rows[r])

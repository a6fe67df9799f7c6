"""Euclidean norms inside kernels, also where the squares leave the range of floats."""

from __future__ import annotations

import numpy as np

from trials.checks import FloatArray
from trials.kernel import kernel

# Below, squares may have lost entries that matter.
_LEAST_SQUARE = 1e-280
_LEAST_LENGTH = 1e-140


# Sums may be reordered and multiply-adds fused, but NaN and infinity keep their meaning.
@kernel(fastmath={"reassoc", "contract"})
def length(values: FloatArray) -> float:
    """Euclidean norm of a float64 vector (d,), d >= 1, which is not changed.

    It is NaN or infinite where the vector holds such an entry.
    """
    total = 0.0
    for value in values:
        total += value * value
    if _LEAST_SQUARE < total < np.inf:
        return float(np.sqrt(total))
    largest = np.abs(values).max()
    if not 0.0 < largest < np.inf:
        return float(np.sqrt(total))
    total = 0.0
    for value in values:
        scaled = value / largest
        total += scaled * scaled
    return float(largest * np.sqrt(total))


@kernel
def row_lengths(rows: FloatArray, lengths: FloatArray) -> None:
    """Write `length` of each row of (r, d) to ``lengths`` (r,)."""
    for r in range(rows.shape[0]):
        lengths[r] = length(rows[r])


def last_axis_lengths(vectors: FloatArray) -> FloatArray:
    """Euclidean norms (...,) of finite vectors (..., d), also where all squares vanish.

    They are those of NumPy where one of a vector's squares is far from underflow.
    """
    lengths = np.asarray(np.linalg.norm(vectors, axis=-1))
    small = lengths < _LEAST_LENGTH
    rows = vectors[small]
    if rows.any():  # a kernel is loaded for no zeros, such as distances to oneself
        found = np.empty(len(rows))
        row_lengths(rows, found)
        lengths[small] = found
    return lengths

"""Jitted preconditioner of the conjugate gradients: the inverse diagonal blocks of a Hessian.

The edges of a node point in few directions, as the path runs along the data.  A block (d, d) for
each node sees that and its diagonal does not: blocks halve the number of products.

``inverse`` (n, m) holds a row for each node.  In the plane it is the upper triangle (m = 3).  In up
to `LARGEST_BLOCK` coordinates it is the block (m = d^2), and beyond these its diagonal (m = d).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from trials.checks import FloatArray
from trials.clustering.convex.pairs import FAST

#: Coordinates above which blocks would cost more memory and time than they save.
LARGEST_BLOCK = 16


@njit(cache=True, nogil=True, error_model="numpy")
def width_of_inverse(d: int, blocks: bool) -> int:
    """Numbers that a node of ``d`` coordinates stores."""
    if d == 2:
        return 3
    return d * d if blocks and d <= LARGEST_BLOCK else d


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def invert(block: FloatArray, out: FloatArray) -> None:
    """Write the inverse of a positive definite block (d, d) to a row of ``inverse``.

    The lower triangle is read and destroyed: symmetric sweeps (Goodnight 1979), half of the work
    of Gauss and Jordan's elimination.
    """
    d = block.shape[0]
    if out.size == d:
        for c in range(d):
            out[c] = 1.0 / block[c, c]
        return
    column = np.empty(d)
    for k in range(d):
        pivot = 1.0 / block[k, k]
        for c in range(k):
            column[c] = block[k, c]
            block[k, c] = 0.0
        column[k] = 0.0
        for r in range(k + 1, d):
            column[r] = block[r, k]
            block[r, k] = 0.0
        for r in range(d):
            factor = column[r] * pivot
            for c in range(r + 1):
                block[r, c] -= factor * column[c]
        for c in range(k):
            block[k, c] = column[c] * pivot
        for r in range(k + 1, d):
            block[r, k] = column[r] * pivot
        block[k, k] = -pivot
    for r in range(d):
        for c in range(r + 1):
            out[r * d + c] = out[c * d + r] = -block[r, c]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def precondition(inverse: FloatArray, rest: FloatArray, out: FloatArray) -> float:
    """Write the blocks times ``rest`` (n, d) and return the inner product of the two."""
    n, d = rest.shape
    total = 0.0
    if d == 2:
        for i in range(n):
            r0, r1 = rest[i, 0], rest[i, 1]
            z0 = inverse[i, 0] * r0 + inverse[i, 1] * r1
            z1 = inverse[i, 1] * r0 + inverse[i, 2] * r1
            out[i, 0], out[i, 1] = z0, z1
            total += r0 * z0 + r1 * z1
    elif inverse.shape[1] == d:
        for i in range(n):
            for c in range(d):
                out[i, c] = inverse[i, c] * rest[i, c]
                total += out[i, c] * rest[i, c]
    else:
        for i in range(n):
            row, block = rest[i], inverse[i]
            for r in range(d):
                value = 0.0
                for c in range(d):
                    value += block[r * d + c] * row[c]
                out[i, r] = value
                total += value * row[r]
    return total

"""Eigenvectors of many small symmetric matrices at once, by Jacobi's cyclic rotations.

The matrices lie side by side, entry by entry, so that a rotation of all of them is one loop over
neighbours in memory.  LAPACK takes them one after the other.  For 2,000 Gram matrices of order 5
and 10 LAPACK needs 6 and 20 ms, and this kernel 2 and 12 ms.  From order 13 on LAPACK is as fast.

Reference: Golub & Van Loan, Matrix Computations, 4th edition, section 8.5.
"""

from __future__ import annotations

import numpy as np

from trials.checks import FloatArray, IntArray
from trials.kernel import inner_kernel, kernel

LARGEST_ORDER = 12
"""Beyond this order LAPACK is as fast."""

_LANES = 128  # matrices side by side: at order 12 they and their eigenvectors take 0.3 MiB
_SETTLED = 1e-17  # largest entry off the diagonal, over the largest one on it
_MOST_SWEEPS = 50  # seven are usual
_FUSED = {"contract"}


@inner_kernel(fastmath=_FUSED)
def _rotate(first: FloatArray, second: FloatArray, cosine: FloatArray, sine: FloatArray) -> None:
    """Rotate pairs of numbers, all (lanes,)."""
    for lane in range(first.shape[0]):
        x, y = first[lane], second[lane]
        first[lane] = cosine[lane] * x - sine[lane] * y
        second[lane] = sine[lane] * x + cosine[lane] * y


@inner_kernel(fastmath=_FUSED)
def _annihilate(
    a: FloatArray, b: FloatArray, off: FloatArray, cosine: FloatArray, sine: FloatArray
) -> None:
    """Find the rotations by at most 45 degrees that bring ``off`` to zero, and apply them to it.

    ``a`` and ``b`` are the entries on the diagonal.  All arrays are (lanes,).
    """
    for lane in range(a.shape[0]):
        gap, twice = b[lane] - a[lane], 2.0 * off[lane]
        # The smaller of the two rotations: a sum of terms of one sign, which does not cancel.
        reach = abs(gap) + np.sqrt(gap * gap + twice * twice)
        signed = twice if gap >= 0.0 else -twice
        tangent = signed / (reach if reach > 0.0 else 1.0)
        cosine[lane] = 1.0 / np.sqrt(1.0 + tangent * tangent)
        sine[lane] = tangent * cosine[lane]
        a[lane] -= tangent * off[lane]
        b[lane] += tangent * off[lane]
        off[lane] = 0.0


@inner_kernel(fastmath=_FUSED)
def _sweep(matrices: FloatArray, vectors: FloatArray, cosine: FloatArray, sine: FloatArray) -> None:
    """One rotation for each entry above the diagonal, (q, q, lanes) matrices and vectors."""
    q = matrices.shape[0]
    for a in range(q - 1):
        for b in range(a + 1, q):
            _annihilate(matrices[a, a], matrices[b, b], matrices[a, b], cosine, sine)
            # Only the upper triangle is stored, and the three loops follow it round the corner.
            for i in range(a):
                _rotate(matrices[i, a], matrices[i, b], cosine, sine)
            for i in range(a + 1, b):
                _rotate(matrices[a, i], matrices[i, b], cosine, sine)
            for i in range(b + 1, q):
                _rotate(matrices[a, i], matrices[b, i], cosine, sine)
            for i in range(q):
                _rotate(vectors[a, i], vectors[b, i], cosine, sine)


@inner_kernel
def _largest_off(matrices: FloatArray) -> float:
    """The largest entry above the diagonal of (q, q), in size."""
    largest = 0.0
    for a in range(matrices.shape[0]):
        for b in range(a + 1, matrices.shape[0]):
            for lane in range(matrices.shape[2]):
                largest = max(largest, abs(matrices[a, b, lane]))
    return largest


@inner_kernel
def _sort_places(values: FloatArray, order: IntArray) -> None:
    """Write the places of ``values`` (q,) in increasing order into ``order`` (q,).

    Equal values keep their order.  ``np.argsort`` does the same for so few, and takes ten times as
    long to compile.
    """
    for place in range(values.size):
        at = place
        while at > 0 and values[place] < values[order[at - 1]]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = place


@kernel
def small_spectra(
    grams: FloatArray, clients: IntArray, starts: IntArray, values: FloatArray, vectors: FloatArray
) -> None:
    """Decompose positive semidefinite matrices of one order.

    Parameters
    ----------
    grams : (c, q, q), of which the upper triangles are read.
    clients : (c,) whose matrices they are.
    starts : (M + 1, 2) where the values and vectors of each client begin.
    values : output, the eigenvalues of each client in increasing order, at least zero.
    vectors : output, its eigenvectors, one a row.
    """
    n, q = grams.shape[0], grams.shape[1]
    lanes = min(_LANES, n)
    matrices, basis = np.zeros((q, q, lanes)), np.empty((q, q, lanes))
    cosine, sine, units = np.empty(lanes), np.empty(lanes), np.ones(lanes)
    found, order = np.empty(q), np.empty(q, np.int64)
    for top in range(0, n, lanes):
        here = min(lanes, n - top)  # the other lanes keep what they hold, a diagonal or zero
        basis[:] = 0.0
        for lane in range(lanes):
            for a in range(q):
                basis[a, a, lane] = 1.0
        for lane in range(here):
            gram, units[lane] = grams[top + lane], 0.0
            for a in range(q):
                units[lane] = max(units[lane], gram[a, a])
            if units[lane] == 0.0:
                units[lane] = 1.0
            for a in range(q):
                for b in range(a, q):
                    matrices[a, b, lane] = gram[a, b] / units[lane]
        for _ in range(_MOST_SWEEPS):
            if _largest_off(matrices) <= _SETTLED:
                break
            _sweep(matrices, basis, cosine, sine)
        for lane in range(here):
            at, first = starts[clients[top + lane]]
            for a in range(q):
                found[a] = matrices[a, a, lane]
            _sort_places(found, order)
            for place, row in enumerate(order):
                values[at + place] = max(found[row] * units[lane], 0.0)
                for b in range(q):
                    vectors[first + place * q + b] = basis[row, b, lane]

"""Small dense factorisations, one matrix a call, inside the kernels of `trials.local_erm`.

A triangular factor is stored as the upper U (d, d), G = U^T U, so that the inner loops run along
rows.  All arrays are C-contiguous float64 unless said otherwise, and without a unit: the callers
scale rows and columns to length one.  No kernel checks its arguments.
"""

from __future__ import annotations

import numpy as np

from trials.checks import FloatArray, IntArray
from trials.kernel import inner_kernel

_EPS = float(np.finfo(np.float64).eps)


@inner_kernel
def cholesky(gram: FloatArray) -> bool:
    """Overwrite the upper triangle of a symmetric ``gram`` (d, d) by U.

    Returns False where the matrix is not positive definite.  Its upper triangle is lost then.
    """
    d = gram.shape[0]
    # ``not >`` also refuses NaN.
    for j in range(d):
        if not gram[j, j] > 0.0:
            return False
        root = np.sqrt(gram[j, j])
        for q in range(j, d):
            gram[j, q] /= root
        # Row by row of the upper triangle: the inner loop runs over contiguous memory.
        for i in range(j + 1, d):
            factor = gram[j, i]
            for q in range(i, d):
                gram[i, q] -= factor * gram[j, q]
    return True


@inner_kernel
def solve_lower(upper: FloatArray, start: int, v: FloatArray) -> None:
    """``v`` (d,) becomes U^{-T} v.  Its entries before ``start`` are known to be zero."""
    d = upper.shape[0]
    for j in range(start, d):
        v[j] /= upper[j, j]
        for q in range(j + 1, d):
            v[q] -= v[j] * upper[j, q]


@inner_kernel
def solve_upper(upper: FloatArray, v: FloatArray) -> None:
    """``v`` (d,) becomes U^{-1} v."""
    d = upper.shape[0]
    for j in range(d - 1, -1, -1):
        total = v[j]
        for q in range(j + 1, d):
            total -= upper[j, q] * v[q]
        v[j] = total / upper[j, j]


@inner_kernel
def well_conditioned(upper: FloatArray, limit: float, work: FloatArray) -> bool:
    """Whether G = U^T U, of unit diagonal, is proved to have a condition number below ``limit``.

    The O(d) proof comes first.  The eigenvalues other than the smallest sum to at most d.  So their
    product is at most (d / (d-1))^(d-1) < e, hence lambda_min >= det(G) / e and kappa <= e d /
    det(G).  The O(d^3) proof comes second.  It bounds kappa by trace(G) trace(G^{-1}) = d
    |U^{-1}|_F^2, at most d^2 times too large.  ``work`` (d,) is work space.
    """
    d = upper.shape[0]
    determinant = 1.0
    for j in range(d):
        determinant *= upper[j, j] ** 2
    if np.e * d <= limit * determinant:
        return True
    total = 0.0
    for k in range(d):
        for j in range(d):
            work[j] = 0.0
        work[k] = 1.0
        solve_lower(upper, k, work)
        for j in range(k, d):
            total += work[j] * work[j]
    return bool(d * total <= limit)


@inner_kernel
def qr(cols: FloatArray, diag: FloatArray, beta: FloatArray, perm: IntArray) -> int:
    """Householder QR with column pivoting of the matrix whose columns are the rows of ``cols``.

    Row k of ``cols`` (c, r) receives the k-th reflector from its entry k on, and R[0:k, k] before
    it.  ``diag`` (c,) receives the diagonal of R, ``beta`` (c,) the factors of the reflectors, and
    ``perm`` (c,) the order of the columns.  Returns the numerical rank, and stops there.
    """
    c, r = cols.shape
    first = 0.0
    for k in range(c):
        perm[k] = k
    for k in range(c):
        pivot = k
        largest = -1.0
        for q in range(k, c):
            norm_sq = np.dot(cols[q, k:], cols[q, k:])
            if norm_sq > largest:
                largest = norm_sq
                pivot = q
        for i in range(r):
            cols[k, i], cols[pivot, i] = cols[pivot, i], cols[k, i]
        perm[k], perm[pivot] = perm[pivot], perm[k]
        norm = np.sqrt(largest)
        if k == 0:
            first = norm
        if norm <= max(r, c) * _EPS * first:
            return k
        head = cols[k, k]
        diag[k] = -norm if head >= 0.0 else norm
        beta[k] = 1.0 / (norm * (norm + abs(head)))
        cols[k, k] = head - diag[k]
        for q in range(k + 1, c):
            factor = beta[k] * np.dot(cols[k, k:], cols[q, k:])
            for i in range(k, r):
                cols[q, i] -= factor * cols[k, i]
    return int(c)


@inner_kernel
def reflect(cols: FloatArray, beta: FloatArray, k: int, v: FloatArray) -> None:
    """Apply the k-th reflector of `qr` to ``v`` (r,), in place."""
    factor = beta[k] * np.dot(cols[k, k:], v[k:])
    for i in range(k, v.shape[0]):
        v[i] -= factor * cols[k, i]


@inner_kernel
def qr_least_squares(cols: FloatArray, y: FloatArray, theta: FloatArray) -> bool:
    """Solve a tall problem: minimise |A theta - y|.

    The columns of A are the rows of ``cols`` (c, r), which are overwritten; ``y`` is (r,) and
    ``theta`` (c,) receives the solution.  Returns False where the rank is below c.
    """
    c = cols.shape[0]
    diag = np.empty(c)
    beta = np.empty(c)
    perm = np.empty(c, np.int64)
    if qr(cols, diag, beta, perm) < c:
        return False
    rhs = np.empty(y.shape[0])
    for i in range(y.shape[0]):
        rhs[i] = y[i]
    for k in range(c):
        reflect(cols, beta, k, rhs)
    for k in range(c - 1, -1, -1):
        total = rhs[k]
        for q in range(k + 1, c):
            total -= cols[q, k] * rhs[q]
        rhs[k] = total / diag[k]
        theta[perm[k]] = rhs[k]
    return True


@inner_kernel
def qr_minimum_norm(cols: FloatArray, y: FloatArray, theta: FloatArray) -> bool:
    """Solve a wide problem: the theta of least norm with A^T theta = y.

    The columns of A are the rows of ``cols`` (c, r), which are overwritten; ``y`` is (c,) and
    ``theta`` (r,) receives the solution.  Returns False where the rank is below c.
    """
    c = cols.shape[0]
    diag = np.empty(c)
    beta = np.empty(c)
    perm = np.empty(c, np.int64)
    if qr(cols, diag, beta, perm) < c:
        return False
    for i in range(theta.shape[0]):
        theta[i] = 0.0
    for k in range(c):  # R^T u = P^T y
        total = y[perm[k]]
        for q in range(k):
            total -= cols[k, q] * theta[q]
        theta[k] = total / diag[k]
    for k in range(c - 1, -1, -1):
        reflect(cols, beta, k, theta)
    return True

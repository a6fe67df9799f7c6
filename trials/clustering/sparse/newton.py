r"""Jitted Newton's method on a graph: smoothed values, Hessian products, conjugate gradients.

The objective of K nodes with positions ``b`` (K, d), masses ``n`` (K,) and edge weights ``w`` is

.. math::

    F(u) = \tfrac12 \sum_k n_k |u_k - b_k|^2 + \lambda \sum_{k<l} w_{kl} h_\delta(|u_k - u_l|),
    \qquad h_\delta(r) = \begin{cases} r^2/(2\delta) & r \le \delta \\ r - \delta/2 & r > \delta.
    \end{cases}

Huber's function h has exactly the gradient of the norm beyond ``delta``.  So a minimiser whose
linked nodes are all further apart than ``delta`` solves the problem without smoothing.

Arguments that the kernels share: ``indptr`` (K + 1,), ``indices`` (E,) int32 and ``w`` (E,)
are a symmetric matrix in CSR form without its diagonal.  ``u``, ``b``, ``g``, ``p`` are (K, d),
C-contiguous float64, in units of length, as are ``lam`` (times weight) and ``delta``.  Memory
O(E + K d): no kernel stores E d numbers.  All sums run in the order of the rows, on one thread.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from trials.checks import FloatArray, IntArray
from trials.clustering.convex.pairs import FAST
from trials.clustering.sparse.graph import IndexArray

#: Smallest decrease of a step, as a share of the decrease that its slope promises.
_ARMIJO = 1e-4
#: Rounding allowed in the comparison of two objectives, relative.
_ROUNDING = 1e-14


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _gradient_in_the_plane(
    indptr: IntArray,
    indices: IndexArray,
    w: FloatArray,
    b: FloatArray,
    mass: FloatArray,
    lam: float,
    delta: float,
    u: FloatArray,
    g: FloatArray,
) -> float:
    """`gradient` for d = 2, whose sums stay in registers: half of the time."""
    value = 0.0
    for i in range(u.shape[0]):
        u0, u1 = u[i, 0], u[i, 1]
        s0, s1 = u0 - b[i, 0], u1 - b[i, 1]
        row = mass[i] * (s0 * s0 + s1 * s1)
        s0 *= mass[i]
        s1 *= mass[i]
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            x0, x1 = u0 - u[j, 0], u1 - u[j, 1]
            square = x0 * x0 + x1 * x1
            length = math.sqrt(square)
            if length <= delta:
                first = lam * w[e] / delta
                row += 0.5 * first * square
            else:
                first = lam * w[e] / length
                row += lam * w[e] * (length - 0.5 * delta)
            s0 += first * x0
            s1 += first * x1
        g[i, 0], g[i, 1] = s0, s1
        value += row
    return 0.5 * value


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def gradient(
    indptr: IntArray,
    indices: IndexArray,
    w: FloatArray,
    b: FloatArray,
    mass: FloatArray,
    lam: float,
    delta: float,
    u: FloatArray,
    g: FloatArray,
) -> float:
    """Return F(u) and write its gradient to ``g``."""
    n, d = u.shape
    if d == 2:
        return _gradient_in_the_plane(indptr, indices, w, b, mass, lam, delta, u, g)
    value = 0.0
    for i in range(n):
        row = 0.0
        for c in range(d):
            t = u[i, c] - b[i, c]
            g[i, c] = mass[i] * t
            row += mass[i] * t * t
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            square = 0.0
            for c in range(d):
                t = u[i, c] - u[j, c]
                square += t * t
            length = math.sqrt(square)
            if length <= delta:
                first = lam * w[e] / delta
                row += 0.5 * first * square
            else:
                first = lam * w[e] / length
                row += lam * w[e] * (length - 0.5 * delta)
            for c in range(d):
                g[i, c] += first * (u[i, c] - u[j, c])
        value += row
    return 0.5 * value


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def curvature(
    indptr: IntArray,
    indices: IndexArray,
    w: FloatArray,
    mass: FloatArray,
    lam: float,
    delta: float,
    u: FloatArray,
    step: FloatArray,
    first: FloatArray,
    second: FloatArray,
    inverse: FloatArray,
) -> None:
    """Write the Hessian, ``first I - second x x^T`` on an edge x, and its inverse diagonal.

    A norm has no curvature along x.  A Newton step of linked nodes that are about to meet would
    pass through the other node.  So an edge that the last step moved by the share s of its length
    keeps the share s of the curvature of its quadratic majoriser.  The share vanishes as the steps
    do.
    """
    n, d = u.shape
    for i in range(n):
        for c in range(d):
            inverse[i, c] = mass[i]
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            square = 0.0
            for c in range(d):
                t = u[i, c] - u[j, c]
                square += t * t
            if square <= delta * delta:
                first[e] = lam * w[e] / delta
                second[e] = 0.0
            else:
                moved = 0.0
                for c in range(d):
                    t = step[i, c] - step[j, c]
                    moved += t * t
                first[e] = lam * w[e] / math.sqrt(square)
                # one root for both lengths, and none before the first step
                share = math.sqrt(moved / square) if moved > 0.0 else 0.0
                second[e] = first[e] / square * max(0.0, 1.0 - share)
            for c in range(d):
                t = u[i, c] - u[j, c]
                inverse[i, c] += first[e] - second[e] * t * t
        for c in range(d):
            inverse[i, c] = 1.0 / inverse[i, c]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _product_in_the_plane(
    indptr: IntArray,
    indices: IndexArray,
    mass: FloatArray,
    first: FloatArray,
    second: FloatArray,
    u: FloatArray,
    p: FloatArray,
    out: FloatArray,
) -> float:
    """`product` for d = 2, whose sums stay in registers: half of the time."""
    total = 0.0
    for i in range(u.shape[0]):
        u0, u1, p0, p1 = u[i, 0], u[i, 1], p[i, 0], p[i, 1]
        s0, s1 = mass[i] * p0, mass[i] * p1
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            x0, x1 = u0 - u[j, 0], u1 - u[j, 1]
            q0, q1 = p0 - p[j, 0], p1 - p[j, 1]
            along = second[e] * (x0 * q0 + x1 * q1)
            s0 += first[e] * q0 - along * x0
            s1 += first[e] * q1 - along * x1
        out[i, 0], out[i, 1] = s0, s1
        total += p0 * s0 + p1 * s1
    return total


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def product(
    indptr: IntArray,
    indices: IndexArray,
    mass: FloatArray,
    first: FloatArray,
    second: FloatArray,
    u: FloatArray,
    p: FloatArray,
    out: FloatArray,
) -> float:
    """Write the Hessian at ``u`` times ``p`` to ``out`` and return <p, H p>."""
    n, d = u.shape
    if d == 2:
        return _product_in_the_plane(indptr, indices, mass, first, second, u, p, out)
    total = 0.0
    for i in range(n):
        for c in range(d):
            out[i, c] = mass[i] * p[i, c]
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            along = 0.0
            if second[e] > 0.0:
                for c in range(d):
                    along += (u[i, c] - u[j, c]) * (p[i, c] - p[j, c])
                along *= second[e]
            for c in range(d):
                out[i, c] += first[e] * (p[i, c] - p[j, c]) - along * (u[i, c] - u[j, c])
        for c in range(d):
            total += p[i, c] * out[i, c]
    return total


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def minimise(
    indptr: IntArray,
    indices: IndexArray,
    w: FloatArray,
    b: FloatArray,
    mass: FloatArray,
    lam: float,
    delta: float,
    u: FloatArray,
    tolerance: float,
    max_steps: int,
    max_products: int,
    forcing: float,
    out: FloatArray,
) -> None:
    """Minimise F in place from ``u`` until ``sum_k |g_k|^2 / n_k <= tolerance``.

    Strong convexity turns that number into a bound: twice the excess of F, and the square of the
    mass-weighted distance from the minimiser.  ``out`` (4,) adds up steps, products and gradients,
    and receives the number reached.
    """
    n, d = u.shape
    g = np.empty((n, d))
    p = np.empty((n, d))
    q = np.empty((n, d))
    step = np.zeros((n, d))
    trial = np.empty((n, d))
    rest = np.empty((n, d))
    inverse = np.empty((n, d))
    first = np.empty(indices.size)
    second = np.empty(indices.size)
    value = gradient(indptr, indices, w, b, mass, lam, delta, u, g)
    out[2] += 1
    error = 0.0
    for count in range(max_steps + 1):
        error = 0.0
        for i in range(n):
            for c in range(d):
                error += g[i, c] * g[i, c] / mass[i]
        if not error > tolerance or count == max_steps:
            break
        out[0] += 1
        curvature(indptr, indices, w, mass, lam, delta, u, step, first, second, inverse)
        inner = 0.0
        for i in range(n):
            for c in range(d):
                step[i, c] = 0.0
                rest[i, c] = -g[i, c]
                p[i, c] = inverse[i, c] * rest[i, c]
                inner += rest[i, c] * p[i, c]
        goal = max(0.3 * tolerance, forcing * forcing * error)
        for _ in range(max_products):
            out[1] += 1
            bend = product(indptr, indices, mass, first, second, u, p, q)
            if not bend > 0.0:
                break
            alpha = inner / bend
            size = 0.0
            new = 0.0
            for i in range(n):
                for c in range(d):
                    step[i, c] += alpha * p[i, c]
                    rest[i, c] -= alpha * q[i, c]
                    size += rest[i, c] * rest[i, c] / mass[i]
                    new += rest[i, c] * rest[i, c] * inverse[i, c]
            if size <= goal:
                break
            beta = new / inner
            inner = new
            for i in range(n):
                for c in range(d):
                    p[i, c] = inverse[i, c] * rest[i, c] + beta * p[i, c]
        slope = 0.0
        for i in range(n):
            for c in range(d):
                slope += g[i, c] * step[i, c]
        if not slope < 0.0:
            break
        t = 1.0
        found = False
        now = value
        for _ in range(30):
            for i in range(n):
                for c in range(d):
                    trial[i, c] = u[i, c] + t * step[i, c]
            out[2] += 1
            now = gradient(indptr, indices, w, b, mass, lam, delta, trial, q)
            if now <= value + _ARMIJO * t * slope + _ROUNDING * abs(value):
                found = True
                break
            t *= 0.5
        if not found:
            break
        value = now
        for i in range(n):
            for c in range(d):
                u[i, c] = trial[i, c]
                g[i, c] = q[i, c]
    out[3] = error

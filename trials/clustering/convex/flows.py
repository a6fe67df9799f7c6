r"""Jitted kernels that prove or refute a fusion: sizes of flows, and the ratios of gauge duality.

Arguments as in `trials.clustering.convex.pairs`: ``x``, ``b``, ``y``, ``u`` are (d, K), ``mass`` is
(K,), all C-contiguous float64.  Positions ``x``, ``b``, values ``u``, penalties and strengths are
in units of length.  Potentials ``y`` have no unit.
"""

from __future__ import annotations

import math

import numpy as np

from trials.checks import FloatArray, IntArray
from trials.clustering.convex.pairs import FAST, pair_squares
from trials.kernel import kernel


@kernel(error_model="numpy", fastmath=FAST)
def largest_flow(b: FloatArray, mass: FloatArray, y: FloatArray, strength: float) -> float:
    """Largest flow ``max_{k<l} |tau psi(y_k - y_l) + (r_k - r_l)/N|`` of potentials y (d, K).

    ``tau`` is the strength, ``psi(x) = x / sqrt(1 + |x|^2)`` and
    ``r_k = b_k - tau sum_l n_l psi(y_k - y_l)``, so that the flows carry every node to the common
    mean exactly.  The nodes are fused at every penalty from this value on.
    """
    d, n_nodes = b.shape
    total = 0.0
    for k in range(n_nodes):
        total += mass[k]
    scale = np.empty((n_nodes, n_nodes))
    pair_squares(y, scale)
    r = np.empty((d, n_nodes))
    work = np.empty(n_nodes)
    for i in range(n_nodes):
        for j in range(n_nodes):
            scale[i, j] = strength / math.sqrt(1.0 + scale[i, j])
            work[j] = mass[j] * scale[i, j]
        for c in range(d):
            at = y[c, i]
            acc = 0.0
            for j in range(n_nodes):
                acc += work[j] * (at - y[c, j])
            r[c, i] = (b[c, i] - acc) / total
    worst = 0.0
    for i in range(n_nodes):
        for j in range(n_nodes):
            work[j] = 0.0
        for c in range(d):
            at = y[c, i]
            r_at = r[c, i]
            for j in range(n_nodes):
                flow = scale[i, j] * (at - y[c, j]) + (r_at - r[c, j])
                work[j] += flow * flow
        for j in range(n_nodes):
            worst = max(worst, work[j])
    return math.sqrt(worst)


@kernel(error_model="numpy", fastmath=FAST)
def fusion_ratio(x: FloatArray, mass: FloatArray, u: FloatArray, out: FloatArray) -> None:
    """Lower bound ``<x, u> / Omega(u)``, u (d, K), on the penalty at which all nodes fuse.

    ``Omega(u) = sum_{k<l} n_k n_l |u_k - u_l|``.  ``u`` must have mass-weighted mean zero.  ``out``
    (3,) receives the ratio (0 where Omega is 0), Omega(u) and ``sum_k n_k |u_k|^2``.
    """
    d, n_nodes = x.shape
    work = np.empty(n_nodes)
    inner = 0.0
    square = 0.0
    omega = 0.0
    for i in range(n_nodes):
        for j in range(n_nodes):
            work[j] = 0.0
        for c in range(d):
            at = u[c, i]
            inner += mass[i] * at * x[c, i]
            square += mass[i] * at * at
            for j in range(n_nodes):
                work[j] += (at - u[c, j]) * (at - u[c, j])
        row = 0.0
        for j in range(n_nodes):
            row += mass[j] * math.sqrt(work[j])
        omega += 0.5 * mass[i] * row
    out[0] = inner / omega if omega > 0.0 else 0.0
    out[1] = omega
    out[2] = square


@kernel(error_model="numpy")
def set_ratio(
    x: FloatArray, mass: FloatArray, u: FloatArray, squares: FloatArray, index: IntArray
) -> float:
    """`fusion_ratio` of the nodes ``index`` (s,) alone, in O(s^2 + s d).

    ``squares`` (K, K) holds the squared distances of ``u``.  A ratio above the penalty refutes that
    these nodes are fused at it.
    """
    s = index.shape[0]
    total = 0.0
    for p in range(s):
        total += mass[index[p]]
    inner = 0.0
    for c in range(x.shape[0]):
        mean = 0.0
        for p in range(s):
            mean += mass[index[p]] * u[c, index[p]]
        mean /= total
        for p in range(s):
            k = index[p]
            inner += mass[k] * (u[c, k] - mean) * (x[c, k] - x[c, index[0]])
    omega = 0.0
    for p in range(s):
        for q in range(p):
            k = index[p]
            j = index[q]
            omega += mass[k] * mass[j] * math.sqrt(squares[k, j])
    return inner / omega if omega > 0.0 else 0.0

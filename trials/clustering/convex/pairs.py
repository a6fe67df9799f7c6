"""Jitted kernels on pairs and sets of nodes: distances, components, plain fusions, centroids.

Arguments that several kernels share (K nodes in R^d):

* ``u``, ``x`` : (d, K) float64, values or positions of the nodes, coordinate by coordinate, so that
  the inner loops run over nodes with unit stride.  That is five to eight times as fast as (K, d) at
  d = 20.  Unit: the scaled unit of length of the caller.
* ``mass`` : (K,) float64, numbers of points that the nodes stand for, no unit.
* ``squares`` : (K, K) float64, squared distances, in squared units of length.
* ``labels`` : (K,) int64, the set of each node, numbered from 0.

No kernel checks its arguments: `trials.clustering.convex.nodes` does, for all of them.  Arrays are
C-contiguous.  The kernels use loops over elements instead of slices, because each slice assignment
would compile its own message about shapes that do not match.
"""

from __future__ import annotations

import math

import numpy as np

from trials.checks import FloatArray, IntArray
from trials.kernel import inner_kernel, kernel

#: Sums may be reassociated and fused, which vectorises them.  NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "nsz"}


@kernel(error_model="numpy", fastmath=FAST)
def pair_squares(u: FloatArray, out: FloatArray) -> None:
    """Squared distances of all pairs: ``out[k, l] = |u_k - u_l|^2``, ``out`` (K, K).

    Full rows: half the pairs would be computed once only, but a loop that starts at ``k + 1``
    is not vectorised, and costs more.  Four coordinates at a time save loads and stores of ``out``.
    """
    d, n_nodes = u.shape
    whole = d - d % 4
    for i in range(n_nodes):
        for j in range(n_nodes):
            out[i, j] = 0.0
        for c in range(0, whole, 4):
            p, q, r, s = u[c, i], u[c + 1, i], u[c + 2, i], u[c + 3, i]
            for j in range(n_nodes):
                x, y, z, t = p - u[c, j], q - u[c + 1, j], r - u[c + 2, j], s - u[c + 3, j]
                out[i, j] += (x * x + y * y) + (z * z + t * t)
        for c in range(whole, d):
            p = u[c, i]
            for j in range(n_nodes):
                out[i, j] += (p - u[c, j]) * (p - u[c, j])


@kernel(error_model="numpy")
def components(squares: FloatArray, threshold: float, out: IntArray) -> int:
    """Connected components of the graph ``squares <= threshold``.

    ``out`` (K,) receives the label of each node, numbered by first node.  Returns their number.
    """
    n_nodes = squares.shape[0]
    for i in range(n_nodes):
        out[i] = -1
    stack = np.empty(n_nodes, dtype=np.int64)
    count = 0
    for start in range(n_nodes):
        if out[start] >= 0:
            continue
        out[start] = count
        stack[0] = start
        top = 1
        while top > 0:
            top -= 1
            i = stack[top]
            for j in range(n_nodes):
                if out[j] < 0 and squares[i, j] <= threshold:
                    out[j] = count
                    stack[top] = j
                    top += 1
        count += 1
    return count


@inner_kernel(error_model="numpy")
def _complete_linkage(
    squares: FloatArray,
    mass: FloatArray,
    lam: float,
    allowance: float,
    children: IntArray,
    fused: IntArray,
) -> None:
    """The complete-linkage tree of squared distances (K, K) by nearest-neighbour chains, O(K^2).

    ``squares`` is destroyed.  ``children`` (2K - 1, 2) receives the two children of each inner node
    K..2K-2.  ``fused`` (2K - 1,) receives 1 where the diameter is at most ``lam`` (units of length)
    times the mass.  The share ``allowance`` is left as room for rounding.
    """
    k = mass.shape[0]
    weight = np.empty(2 * k - 1)
    node = np.empty(k, dtype=np.int64)
    active = np.empty(k, dtype=np.bool_)
    chain = np.empty(k, dtype=np.int64)
    for i in range(2 * k - 1):
        fused[i] = 0
    for i in range(k):
        weight[i] = mass[i]
        node[i] = i
        active[i] = True
    length = 0
    for t in range(k - 1):
        if length == 0:
            for i in range(k):
                if active[i]:
                    chain[0] = i
                    length = 1
                    break
        while True:
            a = chain[length - 1]
            # A tie goes to the previous node of the chain, else the chain could cycle.
            b = chain[length - 2] if length > 1 else -1
            best = squares[a, b] if length > 1 else np.inf
            for j in range(k):
                if active[j] and j != a and squares[a, j] < best:
                    best = squares[a, j]
                    b = j
            if length > 1 and b == chain[length - 2]:
                break
            chain[length] = b
            length += 1
        length -= 2
        new = k + t
        children[new, 0] = node[a]
        children[new, 1] = node[b]
        weight[new] = weight[node[a]] + weight[node[b]]
        limit = lam * weight[new]
        if math.sqrt(best) + allowance * (limit + 1.0) <= limit:
            fused[new] = 1
        active[b] = False
        node[a] = new
        for j in range(k):
            larger = max(squares[a, j], squares[b, j])
            squares[a, j] = larger
            squares[j, a] = larger


@kernel(error_model="numpy")
def formula_fusions(
    squares: FloatArray, mass: FloatArray, lam: float, allowance: float, labels: IntArray
) -> int:
    """Label (K,) the nodes of the complete-linkage tree with diameter at most lam times mass.

    Complete linkage, because the height of its nodes *is* their diameter.  ``lam`` has the unit of
    length, ``allowance`` is a share without a unit, ``squares`` must be finite off its diagonal and
    is destroyed.  ``labels`` receives the partition into the largest nodes that fuse, numbered by
    first node.  Returns their number.  O(K^2) time.
    """
    k = mass.shape[0]
    fused = np.empty(2 * k - 1, dtype=np.int64)
    children = np.empty((2 * k - 1, 2), dtype=np.int64)
    owner = np.empty(2 * k - 1, dtype=np.int64)
    _complete_linkage(squares, mass, lam, allowance, children, fused)
    for i in range(2 * k - 1):
        owner[i] = -1
    for new in range(2 * k - 2, k - 1, -1):
        if owner[new] < 0 and fused[new] == 1:
            owner[new] = new
        if owner[new] >= 0:
            owner[children[new, 0]] = owner[new]
            owner[children[new, 1]] = owner[new]
    for i in range(2 * k - 1):
        fused[i] = -1  # from here on the number of each set
    count = 0
    for i in range(k):
        own = owner[i] if owner[i] >= 0 else i
        if fused[own] < 0:
            fused[own] = count
            count += 1
        labels[i] = fused[own]
    return count


@kernel(error_model="numpy")
def mass_weights(mass: FloatArray, out: FloatArray) -> None:
    """Pair weights ``out[k, l] = n_k n_l`` (K, K) with a zero diagonal."""
    k = mass.shape[0]
    for i in range(k):
        for j in range(k):
            out[i, j] = mass[i] * mass[j]
        out[i, i] = 0.0


@kernel(error_model="numpy")
def centroids(
    x: FloatArray, mass: FloatArray, labels: IntArray, out: FloatArray, out_mass: FloatArray
) -> None:
    """Mass-weighted means ``out`` (d, k) of the columns of equal label, and their masses (k,).

    A column that is alone in its set is copied bit for bit.
    """
    d, n_nodes = x.shape
    count = out_mass.shape[0]
    sizes = np.empty(count, dtype=np.int64)
    for k in range(count):
        sizes[k] = 0
        out_mass[k] = 0.0
    for i in range(n_nodes):
        out_mass[labels[i]] += mass[i]
        sizes[labels[i]] += 1
    for c in range(d):
        for k in range(count):
            out[c, k] = 0.0
        for i in range(n_nodes):
            k = labels[i]
            out[c, k] += x[c, i] if sizes[k] == 1 else x[c, i] * (mass[i] / out_mass[k])

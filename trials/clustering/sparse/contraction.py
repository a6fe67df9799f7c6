"""Jitted kernels that merge the nodes of a graph, and that balance the points inside clusters.

Graphs are as in `trials.clustering.sparse.newton`, with each edge once, but `pulls` reads both
directions.  ``labels`` (n,) int64 are numbered from 0 in the order of first appearance.
"""

from __future__ import annotations

import math

import numpy as np

from trials.checks import FloatArray, IntArray
from trials.clustering.convex.pairs import FAST
from trials.clustering.sparse.graph import Graph, IndexArray
from trials.kernel import inner_kernel, kernel

#: Distance from zero at which an edge that turns over is said to vanish, over its length.
_PASS = 0.2


@inner_kernel(error_model="numpy")
def _root(parent: IntArray, i: int) -> int:
    """The representative of a set of the forest ``parent`` (n,), with the paths to it halved."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@inner_kernel(error_model="numpy")
def _number(parent: IntArray, labels: IntArray) -> int:
    """Number the sets (n,) in the order of their first, smallest members.  Returns how many."""
    count = 0
    for i in range(parent.size):
        a = _root(parent, i)
        if a == i:
            labels[i] = count
            count += 1
        else:
            labels[i] = labels[a]
    return count


@kernel(error_model="numpy")
def lengths(indptr: IntArray, indices: IndexArray, u: FloatArray, out: FloatArray) -> None:
    """Write the lengths (E,) of the edges between the places ``u`` (n, d)."""
    n, d = u.shape
    for i in range(n):
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            square = 0.0
            for c in range(d):
                square += (u[i, c] - u[j, c]) * (u[i, c] - u[j, c])
            out[e] = math.sqrt(square)


@kernel(error_model="numpy")
def near_components(
    indptr: IntArray,
    indices: IndexArray,
    u: FloatArray,
    own: IntArray,
    reach: FloatArray,
    labels: IntArray,
) -> int:
    """Label the components of the edges inside one set of ``own`` and at most its ``reach`` long.

    Returns the number of components.
    """
    n, d = u.shape
    parent = np.arange(n)
    for i in range(n):
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            if own[i] != own[j]:
                continue
            square = 0.0
            for c in range(d):
                t = u[i, c] - u[j, c]
                square += t * t
            if square <= reach[own[i]] * reach[own[i]]:
                a = _root(parent, i)
                b = _root(parent, j)
                # The smaller root wins: a set's root is its first member for every order of edges.
                parent[max(a, b)] = min(a, b)
    return _number(parent, labels)


@kernel(error_model="numpy")
def meeting_components(
    indptr: IntArray,
    indices: IndexArray,
    u: FloatArray,
    v: FloatArray,
    width: float,
    reach: float,
    labels: IntArray,
) -> int:
    """Label the components of the edges that vanish on the way from the values ``u`` to ``v``.

    An edge vanishes if it becomes as short as ``width``.  It also does if it turns over, was at
    most ``reach`` long, and passes zero within ``width`` or a fifth of its first length.  Returns
    the number of components.
    """
    n, d = u.shape
    parent = np.arange(n)
    for i in range(n):
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            old = 0.0
            both = 0.0
            new = 0.0
            for c in range(d):
                s = u[i, c] - u[j, c]
                t = v[i, c] - v[j, c]
                old += s * s
                both += s * t
                new += t * t
            # Squares are compared, so that no root is taken for edges that are not near.
            meet = new <= width * width
            if both <= 0.0 and not meet and old <= reach * reach:
                # squared distance of the line through s and t from the origin
                closest = (old * new - both * both) / (old + new - 2.0 * both)
                meet = closest <= max(width * width, _PASS * _PASS * old)
            if meet:
                a = _root(parent, i)
                b = _root(parent, j)
                parent[max(a, b)] = min(a, b)
    return _number(parent, labels)


@inner_kernel(error_model="numpy", fastmath=FAST)
def coarse_edges(
    indptr: IntArray,
    indices: IndexArray,
    labels: IntArray,
    count: int,
    new_indptr: IntArray,
    new_indices: IndexArray,
    to: IndexArray,
) -> int:
    """The edges between the sets of ``labels``, and where each edge goes.  Returns their number.

    The outputs are (count + 1,), (E,) and (E,).  ``to`` is that number for edges inside a set.
    O(E) time.
    """
    # Edges inside a set get a row of their own, the last one: no branch that cannot be foretold.
    start = np.zeros(count + 2, dtype=np.int64)
    for i in range(labels.size):
        for e in range(indptr[i], indptr[i + 1]):
            k, other = labels[i], labels[indices[e]]
            start[(min(k, other) if k != other else count) + 1] += 1
    for k in range(count + 1):
        start[k + 1] += start[k]
    fill = start[:-1].copy()
    end, edge = np.empty_like(indices), np.empty_like(indices)
    for i in range(labels.size):
        for e in range(indptr[i], indptr[i + 1]):
            k, other = labels[i], labels[indices[e]]
            row = min(k, other) if k != other else count
            at = fill[row]
            end[at], edge[at] = max(k, other), e
            fill[row] = at + 1
    place = np.full(count, -1, dtype=np.int64)
    used = 0
    new_indptr[0] = 0
    for k in range(count):
        begin = used
        for m in range(start[k], start[k + 1]):
            other = end[m]
            if place[other] < begin:
                place[other] = used
                new_indices[used] = other
                used += 1
            to[edge[m]] = place[other]
        new_indptr[k + 1] = used
    for m in range(start[count], start[count + 1]):
        to[edge[m]] = used
    return used


@kernel(error_model="numpy")
def contract(
    indptr: IntArray,
    indices: IndexArray,
    w: FloatArray,
    labels: IntArray,
    count: int,
    new_indptr: IntArray,
    new_indices: IndexArray,
    new_w: FloatArray,
) -> int:
    """Merge the nodes of equal label and add up their edges.  Returns the number of entries.

    The outputs are (count + 1,), (E,) and (E,).  O(E) time.
    """
    to = np.empty_like(indices)
    used = coarse_edges(indptr, indices, labels, count, new_indptr, new_indices, to)
    new_w[:] = 0.0
    for e in range(w.size):
        new_w[to[e]] += w[e]
    return used


@kernel(error_model="numpy")
def means(
    x: FloatArray, mass: FloatArray, labels: IntArray, out: FloatArray, out_mass: FloatArray
) -> None:
    """Write the mass-weighted means (count, d) of the sets of ``labels``, and their masses."""
    out[:] = 0.0
    out_mass[:] = 0.0
    for i in range(labels.size):
        k = labels[i]
        out_mass[k] += mass[i]
        for c in range(x.shape[1]):
            out[k, c] += mass[i] * x[i, c]
    for k in range(out_mass.size):
        for c in range(x.shape[1]):
            out[k, c] /= out_mass[k]


@kernel(error_model="numpy", fastmath=FAST)
def scatter(x: FloatArray, mass: FloatArray, labels: IntArray, centres: FloatArray) -> float:
    """Half the sum of the squared distances from the centres (k, d), with masses."""
    total = 0.0
    for i in range(labels.size):
        row = 0.0
        for c in range(x.shape[1]):
            t = x[i, c] - centres[labels[i], c]
            row += t * t
        total += mass[i] * row
    return 0.5 * total


@kernel(error_model="numpy", fastmath=FAST)
def pulls(
    graph: Graph, x: FloatArray, lam: float, labels: IntArray, v: FloatArray, out: FloatArray
) -> float:
    """Write the amounts (n, d) that flows inside clusters must carry away from each point.

    ``out_i = x_i - v_k - lam sum_j w_ij (v_k - v_l) / |v_k - v_l|`` over the neighbours j in other
    clusters l.  Returns the objective at the centres ``v`` (k, d).
    """
    indptr, indices, w = graph
    n, d = x.shape
    value = 0.0
    for i in range(n):
        k = labels[i]
        row = 0.0
        for c in range(d):
            t = x[i, c] - v[k, c]
            out[i, c] = t
            row += t * t
        for e in range(indptr[i], indptr[i + 1]):
            other = labels[indices[e]]
            if other == k:
                continue
            square = 0.0
            for c in range(d):
                t = v[k, c] - v[other, c]
                square += t * t
            length = math.sqrt(square)
            if length > 0.0:
                row += lam * w[e] * length
                for c in range(d):
                    out[i, c] -= lam * w[e] * (v[k, c] - v[other, c]) / length
        value += row
    return 0.5 * value


@kernel(error_model="numpy", fastmath=FAST)
def pulls_of_parts(
    graph: Graph,
    labels: IntArray,
    parts: IntArray,
    q: FloatArray,
    out: FloatArray,
    hold: FloatArray,
) -> None:
    """Sum what flows must carry away from each part of a cluster, and the weights that hold it.

    ``parts`` (n,) are finer than the clusters ``labels`` (n,), and ``q`` (n, d) is of `pulls`.
    ``out`` (k, d) receives the sums, and ``hold`` (k,) the weights between a part and the rest of
    its cluster.
    """
    indptr, indices, w = graph
    out[:] = 0.0
    hold[:] = 0.0
    for i in range(labels.size):
        part, own = parts[i], labels[i]
        for c in range(q.shape[1]):
            out[part, c] += q[i, c]
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            if labels[j] == own and parts[j] != part:
                hold[part] += w[e]


@inner_kernel(error_model="numpy", fastmath=FAST)
def write_imbalance(
    graph: Graph, lam: float, delta: float, q: FloatArray, x: FloatArray, out: FloatArray
) -> float:
    """Write ``q_i - lam sum_j w_ij clip((x_i - x_j)/delta)`` (n, d) and return its square."""
    indptr, indices, w = graph
    n, d = x.shape
    for i in range(n):
        for c in range(d):
            out[i, c] = q[i, c]
    total = 0.0
    for i in range(n):
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            square = 0.0
            for c in range(d):
                t = x[i, c] - x[j, c]
                square += t * t
            flow = lam * w[e] / max(delta, math.sqrt(square))
            for c in range(d):
                t = flow * (x[i, c] - x[j, c])
                out[i, c] -= t
                out[j, c] += t
        for c in range(d):
            total += out[i, c] * out[i, c]
    return total


@kernel(error_model="numpy")
def given_order(order: IntArray, labels: IntArray, out: IntArray, which: IntArray) -> None:
    """Write labels of places in ``order`` as labels of the points, by first appearance.

    ``which`` (k,) receives the old number of each cluster.
    """
    for i in range(order.size):
        out[order[i]] = labels[i]
    new = np.full(which.size, -1, dtype=np.int64)
    count = 0
    for i in range(out.size):
        k = out[i]
        if new[k] < 0:
            new[k] = count
            which[count] = k
            count += 1
        out[i] = new[k]

r"""Jitted preconditioner of the conjugate gradients: the diagonal of a Hessian, and coarser graphs.

Nodes that are about to meet are tied by stiff edges.  Such a lump moves as a whole, against its
mass alone, and a diagonal sees only the stiff edges: it makes that motion thousands of times too
slow.  So stiff neighbours are aggregated (Vanek, Mandel & Brezina 1996), their aggregates again,
and so on.  The preconditioner is

.. math::

    B = D^{-1} + P C P^T,

where D is the diagonal (in the plane the diagonal blocks), P gives each node the value of its
aggregate, and C is one V-cycle on the aggregates with damped Jacobi steps.  The fine graph, which
is many times larger than the next one, needs no product with its Hessian.

The graph of the aggregates has the format of `trials.clustering.sparse.newton`: an edge has the
matrix ``first I - second x x^T``.  The edges between two aggregates are replaced by one with the
same trace, and with the same curvature along the line x between the aggregates.  That is the
Galerkin matrix exactly where these edges are parallel, and else close to it.

``inverse`` (n, m) holds a row for each node: its diagonal (m = d), in the plane the upper triangle
of its block (m = 3).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trials.checks import FloatArray, IntArray
from trials.clustering.convex.pairs import FAST
from trials.clustering.sparse.contraction import coarse_edges
from trials.clustering.sparse.graph import IndexArray
from trials.clustering.sparse.product import Hessian, product
from trials.clustering.sparse.rows import load, store, total
from trials.kernel import inner_kernel

#: An edge is strong from this share on of the strongest edge at one of its ends.
_STRONG = 0.25
#: The damping of Jacobi's steps.  The largest eigenvalue is at most 2, so that less than 1 is safe.
_DAMPING = 0.7
#: Levels, the fewest nodes that are aggregated, and the largest share of the nodes that are left.
_LEVELS, _FEWEST, _SHRINK = 12, 32, 0.8


class Levels(NamedTuple):
    """The coarser graphs, one behind the other.

    Attributes
    ----------
    nodes, edges : (L + 1,) where those of each level start.
    indptr : starts of the rows, one more than nodes on each level.  ``indices``, ``first``,
        ``second`` : the edges, numbered inside their level.
    u : (N, d) places.  ``mass`` : (N,).  ``share`` : (N,) the damped inverse of the diagonal.
    up : aggregate of each node, of the fine graph first.
    """

    nodes: IntArray
    edges: IntArray
    indptr: IntArray
    indices: IndexArray
    first: FloatArray
    second: FloatArray
    u: FloatArray
    mass: FloatArray
    share: FloatArray
    up: IntArray


@inner_kernel(error_model="numpy", fastmath=FAST)
def width_of_inverse(d: int) -> int:
    """Numbers that a node of ``d`` coordinates stores."""
    return 3 if d == 2 else d


@inner_kernel(error_model="numpy", fastmath=FAST)
def precondition(inverse: FloatArray, rest: FloatArray, out: FloatArray) -> float:
    """Write the diagonal times ``rest`` (n, d) and return the inner product of the two."""
    n, d = rest.shape
    inner = 0.0
    if d == 2:
        for i in range(n):
            r0, r1 = rest[i, 0], rest[i, 1]
            z0 = inverse[i, 0] * r0 + inverse[i, 1] * r1
            z1 = inverse[i, 1] * r0 + inverse[i, 2] * r1
            out[i, 0], out[i, 1] = z0, z1
            inner += r0 * z0 + r1 * z1
    else:
        for i in range(n):
            for c in range(d):
                out[i, c] = inverse[i, c] * rest[i, c]
                inner += out[i, c] * rest[i, c]
    return inner


@inner_kernel(error_model="numpy", fastmath=FAST)
def aggregate(indptr: IntArray, indices: IndexArray, first: FloatArray, labels: IntArray) -> int:
    """Label the aggregates of strong neighbours, (n,), and return their number.

    A node whose strong neighbours are all free makes an aggregate with them.  Then each node that
    is left joins its strongest neighbour among those.  O(E) time.
    """
    n = labels.size
    strongest = np.zeros(n)
    for i in range(n):
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            strongest[i] = max(strongest[i], first[e])
            strongest[j] = max(strongest[j], first[e])
    # Whether an edge is strong cannot be foretold: a store that the next one overwrites is faster
    # than a branch.
    low, high = np.empty(first.size + 1, dtype=np.int32), np.empty(first.size + 1, dtype=np.int32)
    size = np.empty(first.size + 1)
    used = 0
    for i in range(n):
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            low[used], high[used], size[used] = i, j, first[e]
            used += first[e] >= _STRONG * max(strongest[i], strongest[j])
    start = np.zeros(n + 1, dtype=np.int64)
    for m in range(used):
        start[low[m] + 1] += 1
        start[high[m] + 1] += 1
    for i in range(n):
        start[i + 1] += start[i]
    near = np.empty(start[n], dtype=np.int32)
    strength = np.empty(start[n])
    fill = start[:-1].copy()
    for m in range(used):
        i, j = low[m], high[m]
        near[fill[i]], near[fill[j]] = j, i
        strength[fill[i]] = strength[fill[j]] = size[m]
        fill[i] += 1
        fill[j] += 1
    count = 0
    labels[:] = -1
    for i in range(n):
        free = labels[i] < 0 and start[i + 1] > start[i]
        for m in range(start[i], start[i + 1]):
            free = free and labels[near[m]] < 0
        if free:
            labels[i] = count
            for m in range(start[i], start[i + 1]):
                labels[near[m]] = count
            count += 1
    roots = count
    for i in range(n):
        if labels[i] >= 0:
            continue
        best = 0.0
        for m in range(start[i], start[i + 1]):
            k = labels[near[m]]
            if 0 <= k < roots and strength[m] > best:
                best = strength[m]
                # not yet visible to other nodes that are left
                labels[i] = -2 - k
        if labels[i] == -1:
            labels[i] = count
            count += 1
    for i in range(n):
        if labels[i] < -1:
            labels[i] = -2 - labels[i]
    return count


@inner_kernel(error_model="numpy", fastmath=FAST)
def _coarser(
    lanes: tuple[int, ...], hessian: Hessian, labels: IntArray, count: int
) -> tuple[Hessian, FloatArray]:
    """The Hessian on the graph of the aggregates, and the nodes' shares (count,)."""
    indptr, indices, mass, first, second, u = hessian
    n, d = u.shape
    width = len(lanes)
    places, masses, share = np.zeros((count, d)), np.zeros(count), np.empty(count)
    for i in range(n):
        k = labels[i]
        masses[k] += mass[i]
        for c in range(0, d, width):
            store(places, k, c, load(lanes, places, k, c) + mass[i] * load(lanes, u, i, c))
    for k in range(count):
        share[k] = masses[k]
        for c in range(0, d, width):
            store(places, k, c, (1.0 / masses[k]) * load(lanes, places, k, c))
    starts, ends = np.empty(count + 1, dtype=np.int64), np.empty_like(indices)
    to = np.empty_like(indices)
    used = coarse_edges(indptr, indices, labels, count, starts, ends, to)
    # Edges inside an aggregate go to the last row.
    sums = np.zeros((used + 1, 3))
    for i in range(n):
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            square = 0.0
            both = 0.0
            for c in range(0, d, width):
                x = load(lanes, u, i, c) - load(lanes, u, j, c)
                y = load(lanes, places, labels[i], c) - load(lanes, places, labels[j], c)
                square += total(x * x)
                both += total(x * y)
            at = to[e]
            sums[at, 0] += first[e]
            sums[at, 1] += second[e] * both * both
            sums[at, 2] += second[e] * square
    size, along = np.empty(used), np.empty(used)
    for k in range(count):
        for e in range(starts[k], starts[k + 1]):
            square = 0.0
            for c in range(0, d, width):
                y = load(lanes, places, k, c) - load(lanes, places, ends[e], c)
                square += total(y * y)
            over = 1.0 / square if square > 0.0 else 0.0
            size[e] = sums[e, 0] - (sums[e, 2] - over * sums[e, 1]) / d
            along[e] = over * min(over * sums[e, 1], size[e])
            share[k] += size[e]
            share[ends[e]] += size[e]
    for k in range(count):
        share[k] = _DAMPING / share[k]
    return Hessian(starts, ends[:used].copy(), masses, size, along, places), share


@inner_kernel(error_model="numpy", fastmath=FAST)
def _count_on(ends: IntArray, more: int) -> IntArray:
    """``ends`` (n,) and the end of ``more`` after them, (n + 1,)."""
    longer = np.empty(ends.size + 1, dtype=np.int64)
    for i in range(ends.size):
        longer[i] = ends[i]
    longer[-1] = ends[-1] + more
    return longer


@inner_kernel(error_model="numpy", fastmath=FAST)
def coarsen(lanes: tuple[int, ...], hessian: Hessian) -> Levels:
    """The coarser graphs, until few nodes are left or no edge is strong against the masses."""
    one, none, numbers = np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0)
    edges = np.zeros(0, dtype=np.int32)
    fine = hessian
    levels = Levels(one, one, none, edges, numbers, numbers, fine.u[:0], numbers, numbers, none)
    for _ in range(_LEVELS):
        n = fine.mass.size
        if n < _FEWEST:
            break
        labels = np.empty(n, dtype=np.int64)
        count = aggregate(fine.indptr, fine.indices, fine.first, labels)
        if count > _SHRINK * n:
            break
        fine, share = _coarser(lanes, fine, labels, count)
        levels = Levels(
            _count_on(levels.nodes, count),
            _count_on(levels.edges, fine.indices.size),
            np.concatenate((levels.indptr, fine.indptr)),
            np.concatenate((levels.indices, fine.indices)),
            np.concatenate((levels.first, fine.first)),
            np.concatenate((levels.second, fine.second)),
            np.concatenate((levels.u, fine.u)),
            np.concatenate((levels.mass, fine.mass)),
            np.concatenate((levels.share, share)),
            np.concatenate((levels.up, labels)),
        )
    return levels


@inner_kernel(error_model="numpy", fastmath=FAST)
def correct(
    lanes: tuple[int, ...], levels: Levels, rest: FloatArray, work: FloatArray, out: FloatArray
) -> float:
    """Add one V-cycle on ``levels`` to ``out`` (n, d).  Returns its inner product with ``rest``.

    ``work`` (3, N, d) is overwritten.
    """
    n, d = rest.shape
    width = len(lanes)
    nodes, edges = levels.nodes, levels.edges
    count = nodes.size - 1
    right, z, q = work[0], work[1], work[2]
    right[:] = 0.0
    for i in range(n):
        k = levels.up[i]
        for c in range(0, d, width):
            store(right, k, c, load(lanes, right, k, c) + load(lanes, rest, i, c))
    for turn in range(2 * count):
        level = turn if turn < count else 2 * count - 1 - turn
        low, high = nodes[level], nodes[level + 1]
        last = level == count - 1
        if turn < count:
            for k in range(low, high):
                for c in range(0, d, width):
                    store(z, k, c, levels.share[k] * load(lanes, right, k, c))
            if last:
                continue
        elif not last:
            for k in range(low, high):
                above = high + levels.up[n + k]
                for c in range(0, d, width):
                    store(z, k, c, load(lanes, z, k, c) + load(lanes, z, above, c))
        begin, end = edges[level], edges[level + 1]
        here = Hessian(
            levels.indptr[low + level : high + level + 1], levels.indices[begin:end],
            levels.mass[low:high], levels.first[begin:end], levels.second[begin:end],
            levels.u[low:high],
        )  # fmt: skip
        product(lanes, here, z[low:high], q[low:high])
        for k in range(low, high):
            for c in range(0, d, width):
                left = load(lanes, right, k, c) - load(lanes, q, k, c)
                if turn < count:
                    above = high + levels.up[n + k]
                    store(right, above, c, load(lanes, right, above, c) + left)
                else:
                    store(z, k, c, load(lanes, z, k, c) + levels.share[k] * left)
    inner = 0.0
    for i in range(n):
        for c in range(0, d, width):
            row = load(lanes, z, levels.up[i], c)
            store(out, i, c, load(lanes, out, i, c) + row)
            inner += total(row * load(lanes, rest, i, c))
    return inner

"""Jitted search for flows that balance the points inside each cluster, one cluster at a time.

The clusters are independent of each other.  So each takes the steps that it needs, and one that is
balanced by the flows of the last penalty takes none.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from trials.checks import FloatArray, IntArray
from trials.clustering.sparse.certificate import MARGIN
from trials.clustering.sparse.contraction import write_imbalance
from trials.clustering.sparse.graph import Graph
from trials.clustering.sparse.newton import Limits, Smoothed, minimise
from trials.kernel import inner_kernel, kernel

#: Decreases of the smoothing width of one cluster, Newton steps at each, and their products.
_LEVELS, _STEPS, _PRODUCTS = 12, 60, 200


class Clusters(NamedTuple):
    """The clusters of the points: ``labels`` (n,), and the output of `members`.

    Attributes
    ----------
    labels : (n,) cluster of each point.
    start : (k + 1,) where each cluster starts in ``order``.
    order : (n,) the points, cluster by cluster.
    """

    labels: IntArray
    start: IntArray
    order: IntArray


class Flows(NamedTuple):
    """The flows inside the clusters, in place.

    Attributes
    ----------
    potentials : (n, d), those of the last penalty at first.
    x : (n, d) local values.
    delta : (k,) the last smoothing width of each cluster, a length.
    left : (k,) the sum of squares that stays unbalanced in each cluster.
    rest : (n, d) what stays unbalanced at each point.
    """

    potentials: FloatArray
    x: FloatArray
    delta: FloatArray
    left: FloatArray
    rest: FloatArray


class Medium(NamedTuple):
    """Where flows run.

    Attributes
    ----------
    lanes : of the rows.  ``graph`` : the edges in both directions.
    width : the first smoothing width, a length.
    work : (5,) counts as of `trials.clustering.sparse.newton.minimise`.
    """

    lanes: tuple[int, ...]
    graph: Graph
    width: float
    work: FloatArray


def find_flows(
    medium: Medium,
    clusters: tuple[IntArray, int],
    q: FloatArray,
    potentials: FloatArray,
    lam: float,
    goal: float,
    margin: float = MARGIN,
) -> Flows:
    """Balance ``q`` (n, d) by flows inside the clusters.

    ``clusters`` are the labels (n,) of the points, and their number k.
    ``potentials`` (n, d) are replaced.  The flows leave the share ``margin`` of their limits free,
    and stop where the squares left add up to ``goal``.  The local values solve convex clustering of
    ``q`` inside each cluster.  They vanish exactly where the cluster is fused.
    """
    labels, count = clusters
    n = labels.size
    found = Flows(potentials, np.empty_like(q), np.empty(count), np.empty(count), np.empty_like(q))
    parts = Clusters(labels, np.empty(count + 1, dtype=np.int64), np.empty(n, dtype=np.int64))
    members(*parts)
    limits = Limits(goal / n, _STEPS, _PRODUCTS, False)
    limit = (1.0 - margin) * lam
    lanes, graph, width, work = medium
    balance(lanes, graph, parts, q, limit, width, limits, found, work)
    return found


@kernel(error_model="numpy")
def members(labels: IntArray, start: IntArray, order: IntArray) -> None:
    """Write the points cluster by cluster, ``order`` (n,), and their ``start`` (k + 1,)."""
    start[:] = 0
    for i in range(labels.size):
        start[labels[i] + 1] += 1
    for k in range(start.size - 1):
        start[k + 1] += start[k]
    fill = start[:-1].copy()
    for i in range(labels.size):
        order[fill[labels[i]]] = i
        fill[labels[i]] += 1


@kernel(error_model="numpy")
def balance(
    lanes: tuple[int, ...],
    graph: Graph,
    clusters: Clusters,
    q: FloatArray,
    lam: float,
    width: float,
    limits: Limits,
    found: Flows,
    out: FloatArray,
) -> None:
    """Find potentials whose flows carry ``q`` (n, d) away, up to the tolerance a point, squared.

    The graph has each edge in both directions.  ``width`` is the first smoothing width, and ``out``
    (5,) is as in `trials.clustering.sparse.newton.minimise`.
    """
    labels, start, order = clusters
    potentials, x, delta, left, rest = found
    indptr, indices, w = graph
    n, d = q.shape
    place = np.empty(n, dtype=np.int64)
    for k in range(start.size - 1):
        for m in range(start[k], start[k + 1]):
            place[order[m]] = m - start[k]
    for k in range(start.size - 1):
        size = start[k + 1] - start[k]
        delta[k] = width
        if size == 1:
            i = order[start[k]]
            left[k] = 0.0
            for c in range(d):
                left[k] += q[i, c] * q[i, c]
                x[i, c] = 0.0
                rest[i, c] = q[i, c]
            continue
        count = 0
        for m in range(start[k], start[k + 1]):
            i = order[m]
            for e in range(indptr[i], indptr[i + 1]):
                if indices[e] > i and labels[indices[e]] == k:
                    count += 1
        own_indptr = np.empty(size + 1, dtype=np.int64)
        own_indices = np.empty(count, dtype=np.int32)
        own_w = np.empty(count)
        own_q = np.empty((size, d))
        y = np.empty((size, d))
        own_rest = np.empty((size, d))
        count = 0
        own_indptr[0] = 0
        for m in range(size):
            i = order[start[k] + m]
            for e in range(indptr[i], indptr[i + 1]):
                if indices[e] > i and labels[indices[e]] == k:
                    own_indices[count] = place[indices[e]]
                    own_w[count] = w[e]
                    count += 1
            own_indptr[m + 1] = count
            for c in range(d):
                own_q[m, c] = q[i, c]
                y[m, c] = potentials[i, c]
        own = Limits(limits.tolerance * size, limits.steps, limits.products, False)
        own_graph = Graph(own_indptr, own_indices, own_w)
        _balance_one(lanes, own_graph, own_q, lam, own, y, own_rest, k, delta, left, out)
        for m in range(size):
            i = order[start[k] + m]
            for c in range(d):
                potentials[i, c] = y[m, c]
                x[i, c] = delta[k] * y[m, c]
                rest[i, c] = own_rest[m, c]


@inner_kernel(error_model="numpy")
def _balance_one(
    lanes: tuple[int, ...],
    graph: Graph,
    q: FloatArray,
    lam: float,
    limits: Limits,
    y: FloatArray,
    rest: FloatArray,
    k: int,
    delta: FloatArray,
    left: FloatArray,
    out: FloatArray,
) -> None:
    """Balance ``q`` (s, d) in the cluster ``k`` from the potentials ``y`` (s, d), in place.

    ``rest`` (s, d) receives what they leave over.
    """
    goal = limits.tolerance
    few = Limits(0.1 * goal, limits.steps, limits.products, False)
    size, d = q.shape
    step = np.empty((size, d))
    x = np.empty((size, d))
    ones = np.ones(size)
    for c in range(d):
        mean = 0.0
        for m in range(size):
            mean += y[m, c]
        for m in range(size):
            y[m, c] -= mean / size
    largest = 0.0
    for m in range(size):
        for c in range(d):
            largest = max(largest, abs(y[m, c]))
    if largest > size:
        # A flow below its limit needs a step of at most 1 on each edge.
        for m in range(size):
            for c in range(d):
                y[m, c] *= size / largest
    left[k] = write_imbalance(graph, lam, 1.0, q, y, rest)
    if left[k] <= goal:
        return
    square = 0.0
    for m in range(size):
        for c in range(d):
            square += y[m, c] * y[m, c]
    now = min(delta[k], math.sqrt(0.1 * goal / max(square, float(size))))
    for _ in range(_LEVELS):
        for m in range(size):
            for c in range(d):
                x[m, c] = now * y[m, c]
        step[:] = 0.0
        minimise(lanes, Smoothed(graph, q, ones, lam, now), x, few, step, out)
        total = write_imbalance(graph, lam, now, q, x, rest)
        moved = 0.0
        for m in range(size):
            for c in range(d):
                moved += x[m, c] * x[m, c]
                y[m, c] = x[m, c] / now
        slow = total > 0.5 * left[k]
        left[k] = total
        delta[k] = now
        # If the values hardly moved, then the smoothing is not what is left.
        if total <= goal or slow or moved <= 0.1 * goal:
            break
        now *= min(0.1, math.sqrt(0.1 * goal / moved))

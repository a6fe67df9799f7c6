r"""An approximation algorithm for k-means with a stated factor, before and after the run.

Algorithm 2 asks for a "10-approximation algorithm".  (The paper's footnote 6 defines an
epsilon-approximation by f <= (1 + epsilon) min f, which would make this a factor of 11; Awasthi &
Sheffet mean the usual factor 10, the stricter of the two, which is the ``target`` here.)  Worst
case factors below 10 need swaps of many centres at once (9 + epsilon: Kanungo et al. 2004; Beretta
et al. 2023) or primal-dual rounding (6.357: Ahmadian et al. 2017), out of proportion here.  So two
factors are stated:

*Before the run*, `STATED_FACTOR` = 26.65, for every input.  The algorithm is single-swap local
search over the data points.  Let S be locally optimal with cost Delta(S), O the optimal centres
with cost Delta(O), alpha^2 = Delta(S)/Delta(O).  In the proof of Kanungo et al. (2004) replace
the centre o that is swapped in by a uniformly drawn point of its cluster N(o): its expected cost
on N(o) is exactly twice that of the centroid o.  Summing the k swap inequalities gives
0 <= 2 Delta(O) - Delta(S) - 2 Delta(S) + 2R with R <= 2 Delta(O) + (1 + 2/alpha) Delta(S), thus
alpha^2 - 4 alpha - 6 <= 0 and alpha^2 <= (2 + sqrt 10)^2 = 26.6491...  A swap is made only if it
saves more than a fraction delta/k of the cost (delta = 1e-6), which changes the sixth digit.

*After the run*, ``factor`` = cost / lower bound, for this input.  The lower bound is half of a
Lagrangian dual value of the discrete problem (centres restricted to data points), because the
best data points cost at most twice the best centroids.  Any multipliers give a valid bound, so a
``factor`` <= 10 proves that Algorithm 2 was run as it is written, on this data set.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from trials.batches import BoolArray, IntArray, real_between
from trials.experiment import FloatArray
from trials.kmeans.iteration import checked, iterate, squared_distances, transpose
from trials.kmeans.seeding import seed

# A swap must save more than this fraction (over k) of the cost; see the module docstring.
_SWAP_SAVING = 1e-6
STATED_FACTOR = ((2 + math.sqrt(4 + 6 * (1 - _SWAP_SAVING))) / (1 - _SWAP_SAVING)) ** 2
"""Worst-case factor of `approximate_kmeans`, 26.65 rounded up (proof in the module docstring)."""

_MAX_SWAPS = 100_000
_MAX_DUAL_STEPS = 500
# Rounding of the dual value, relative to the sum of the multipliers' magnitudes.
_DUAL_MARGIN = 1e-12


@dataclass(frozen=True, kw_only=True)
class Approximation:
    """Approximate k-means solutions with the factors that they are proved to have.

    Attributes
    ----------
    labels, centers : (B, m) int64 and (B, k, d); every point is at its nearest centre.
    cost : (B,) k-means cost of the centres.
    lower_bound : (B,) proved lower bound on the optimal cost (0 where none was found).
    factor : (B,) cost / lower_bound, at least 1; 1 where the cost is 0; inf without a bound.
    n_swaps : (B,) swaps made by the local search.
    locally_optimal : (B,) True where no swap saves anything: then cost <= `STATED_FACTOR` times
        the optimum whatever ``factor`` is.
    """

    labels: IntArray
    centers: FloatArray
    cost: FloatArray
    lower_bound: FloatArray
    factor: FloatArray
    n_swaps: IntArray
    locally_optimal: BoolArray


@njit(cache=True, nogil=True)
def _best_swap(
    dist: FloatArray, first: FloatArray, second: FloatArray, owner: IntArray, loss: FloatArray
) -> tuple[float, int, int]:
    """The most saving swap: change of cost, position to remove from ``chosen``, point to add.

    O(m) a candidate for all k removals together: adding point j saves max(0, first - dist_j) at
    every point; removing centre s then costs the points that s owns the step from
    min(dist_j, first) to min(dist_j, second).
    """
    m = dist.shape[0]
    best_change = 0.0
    best_out = -1
    best_in = -1
    for j in range(m):
        saved = 0.0
        loss[:] = 0.0
        for i in range(m):
            with_j = dist[j, i]
            if with_j < first[i]:
                saved += first[i] - with_j
            elif with_j < second[i]:
                loss[owner[i]] += with_j - first[i]
            else:
                loss[owner[i]] += second[i] - first[i]
        s = int(np.argmin(loss))
        change = loss[s] - saved
        if change < best_change:
            best_change, best_out, best_in = change, s, j
    return best_change, best_out, best_in


@njit(cache=True, nogil=True)
def local_search(
    dist: FloatArray, max_swaps: int, saving: float, chosen: IntArray, first: FloatArray
) -> tuple[float, int, bool]:
    """Single-swap local search over data points; ``chosen`` in and out.

    ``first`` receives the squared distance of each point to its nearest chosen point.  Returns
    (cost, swaps, locally optimal).
    """
    m = dist.shape[0]
    n_clusters = chosen.shape[0]
    second = np.empty(m)
    owner = np.empty(m, np.int64)
    loss = np.empty(n_clusters)
    n_swaps = 0
    while True:
        cost = 0.0
        first[:] = np.inf
        second[:] = np.inf
        for k in range(n_clusters):
            row = dist[chosen[k]]
            for i in range(m):
                if row[i] < first[i]:
                    second[i] = first[i]
                    first[i] = row[i]
                    owner[i] = k
                elif row[i] < second[i]:
                    second[i] = row[i]
        for i in range(m):
            cost += first[i]
        change, out, into = _best_swap(dist, first, second, owner, loss)
        if -change <= saving / n_clusters * cost:
            return cost, n_swaps, True
        if n_swaps == max_swaps:
            return cost, n_swaps, False
        chosen[out] = into
        n_swaps += 1


@njit(cache=True, nogil=True)
def dual_value(
    dist: FloatArray, n_clusters: int, multipliers: FloatArray, gains: FloatArray, opened: IntArray
) -> float:
    """Lagrangian value of the discrete k-means problem, assignment constraints relaxed.

    L(v) = sum_i v_i - (sum of the k largest gains_j), gains_j = sum_i max(0, v_i - dist_ij);
    ``opened`` receives the k points with the largest gains.
    """
    m = dist.shape[0]
    value = 0.0
    for i in range(m):
        value += multipliers[i]
    for j in range(m):
        gain = 0.0
        for i in range(m):
            gain += max(0.0, multipliers[i] - dist[j, i])
        gains[j] = gain
    for k in range(n_clusters):
        opened[k] = np.argmax(gains)
        value -= gains[opened[k]]
        gains[opened[k]] = -1.0
    return value


@njit(cache=True, nogil=True)
def _lower_bound(
    dist: FloatArray,
    n_clusters: int,
    discrete_cost: float,
    cost: float,
    target: float,
    max_steps: int,
    multipliers: FloatArray,
) -> float:
    """A lower bound on the optimal k-means cost by Polyak steps on the Lagrangian dual.

    ``multipliers`` holds the start (distances to the chosen points).  Stops as soon as
    ``cost <= target * bound``.  The dual value bounds the discrete optimum, half of it the
    continuous one.
    """
    m = dist.shape[0]
    gains = np.empty(m)
    opened = np.empty(n_clusters, np.int64)
    step = 1.0
    stalled = 0
    best = 0.0
    slope = np.empty(m)
    for _ in range(max_steps):
        value = dual_value(dist, n_clusters, multipliers, gains, opened)
        size = 0.0
        for i in range(m):
            size += abs(multipliers[i])
        proved = 0.5 * (value - _DUAL_MARGIN * size)
        if proved > best:
            best = proved
            stalled = 0
        else:
            stalled += 1
            if stalled == 20:
                step *= 0.5
                stalled = 0
        if cost <= target * best or value >= discrete_cost:
            break
        norm_sq = 0.0
        for i in range(m):
            served = 0.0
            for k in range(n_clusters):
                if multipliers[i] > dist[opened[k], i]:
                    served += 1.0
            slope[i] = 1.0 - served
            norm_sq += slope[i] ** 2
        if norm_sq == 0.0:
            break  # the dual optimum: each point is served exactly once
        for i in range(m):
            multipliers[i] += step * (discrete_cost - value) / norm_sq * slope[i]
    return best


@njit(cache=True, nogil=True)
def _approximate_batch(
    points: FloatArray,
    rng: np.random.Generator,
    target: float,
    max_iter: int,
    labels: IntArray,
    centers: FloatArray,
    cost: FloatArray,
    lower: FloatArray,
    n_swaps: IntArray,
    locally_optimal: BoolArray,
) -> None:
    """Seeding, local search, Lloyd from its result, dual bound; one data set after another."""
    n_sets, m, d = points.shape
    n_clusters = centers.shape[1]
    points_t = np.empty((d, m))
    dist = np.empty((m, m))
    work = np.empty(m)
    nearest_sq = np.empty(m)
    first = np.empty(m)
    sums = np.empty((n_clusters, d))
    chosen = np.empty(n_clusters, np.int64)
    for b in range(n_sets):
        transpose(points[b], points_t)
        for j in range(m):
            squared_distances(points_t, 0, points[b, j], dist[j])
        seed(points_t, rng, work, nearest_sq, chosen)
        discrete_cost, n_swaps[b], locally_optimal[b] = local_search(
            dist, _MAX_SWAPS, _SWAP_SAVING, chosen, first
        )
        for k in range(n_clusters):
            centers[b, k] = points[b, chosen[k]]
        # Lloyd never raises the cost, so the stated factor survives; empty clusters keep their
        # centres, because a relocation could raise it.
        cost[b], _, _ = iterate(
            points[b], points_t, max_iter, 0.0, False,
            work, nearest_sq, sums, centers[b], labels[b],
        )  # fmt: skip
        lower[b] = _lower_bound(
            dist, n_clusters, discrete_cost, cost[b], target, _MAX_DUAL_STEPS, first
        )


def approximate_kmeans(
    points: ArrayLike, k: int, rng: np.random.Generator, *, target: float = 10.0
) -> Approximation:
    """k-means with a proved approximation factor, before and after the run.

    k-means++ seeds, best-improvement single-swap local search over the data points, Lloyd from
    its result; then a Lagrangian lower bound, improved until it proves ``target`` or 500 steps are
    spent.  The module docstring states and proves both factors.

    Parameters
    ----------
    points : (B, m, d) finite.
    k : number of centres, 1 <= k <= m.
    rng : the stream, for the seeds; the factors hold for every outcome.
    target : factor at which the search for a better lower bound stops, >= 1.  1 spends all steps
        and gives the tightest factor (1.3 to 1.8 on Gaussian clouds of 10 points).

    Returns
    -------
    Approximation

    Notes
    -----
    O(m^2) a swap scan and a dual step, O(m^2 d) for the distances, m^2 floats of memory (not per
    data set).  m of a few thousand is the intended limit.
    """
    data, k = checked(points, k)
    target = real_between("target", target, 1.0)
    n_sets, m, d = data.shape
    labels = np.empty((n_sets, m), np.int64)
    centers = np.empty((n_sets, k, d))
    cost = np.empty(n_sets)
    lower = np.empty(n_sets)
    n_swaps = np.empty(n_sets, np.int64)
    locally_optimal = np.empty(n_sets, np.bool_)
    _approximate_batch(
        data, rng, target, 300, labels, centers, cost, lower, n_swaps, locally_optimal
    )
    factor = np.full(n_sets, np.inf)
    np.divide(cost, lower, out=factor, where=lower > 0)
    factor[cost == 0] = 1.0
    return Approximation(
        labels=labels,
        centers=centers,
        cost=cost,
        lower_bound=lower,
        factor=factor,
        n_swaps=n_swaps,
        locally_optimal=locally_optimal,
    )

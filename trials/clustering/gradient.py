r"""Gradient clustering (Armacki, Bajovic, Jakovetic & Kar, ICML 2022), batched over trials.

The third admissible clustering of ODCL (Section 3 of the 2024 paper, its reference [44]).

Problem, for points a_i:

.. math:: \min_{x_1..x_k,\; C} J(x, C) = \frac1{2m} \sum_{j=1}^k \sum_{i \in C_j} |x_j - a_i|^2 .

Algorithm: two steps alternate.  *(1)* Each point joins its nearest centre, which has the least cost
because the cost grows with the distance.  *(2)* Every centre takes one gradient step,

.. math:: x_j \leftarrow x_j - \frac\alpha m \sum_{i \in C_j} (x_j - a_i).

With p(C_j) the share of the points in cluster j, a step of size alpha lowers J by at least
alpha (1 - alpha p(C_j) / 2) |gradient|^2.  So J never increases for 0 < alpha < 2.  The fixed
points are the centroidal Voronoi partitions, those of Lloyd's iteration.  With a fixed partition
the centre of cluster j moves to its mean at the rate 1 - alpha p(C_j) an iteration.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trials.checks import (
    BoolArray,
    FloatArray,
    IntArray,
    InvalidParameter,
    finite_batch,
    integer_between,
    real_between,
    same_axis,
)
from trials.clustering.kmeans import assign, transpose
from trials.clustering.units import divide_by_units, give_back, own_units
from trials.kernel import inner_kernel, kernel


@dataclass(frozen=True, kw_only=True)
class GradientFit:
    """Outcome of gradient clustering on B data sets.

    Attributes
    ----------
    labels : (B, m) int64, the nearest centre of each point.
    centers : (B, k, d).
    cost : (B,) the objective J at (centers, labels), units of points^2.
    gradient : (B,) largest norm of a centre's gradient there, units of points.
    n_iter : (B,) gradient steps taken.
    converged : (B,) False where ``max_iter`` stopped the iteration.
    """

    labels: IntArray
    centers: FloatArray
    cost: FloatArray
    gradient: FloatArray
    n_iter: IntArray
    converged: BoolArray


@inner_kernel
def _gradients(
    points: FloatArray, labels: IntArray, centers: FloatArray, grads: FloatArray
) -> None:
    """Gradients ``grads`` (k, d) of J at the centres (k, d), of points (m, d) with labels (m,)."""
    m, d = points.shape
    share = 1.0 / m
    for k in range(grads.shape[0]):
        for j in range(d):
            grads[k, j] = 0.0
    for i in range(m):
        k = labels[i]
        for j in range(d):
            grads[k, j] += share * (centers[k, j] - points[i, j])


@kernel
def _descend_batch(
    points: FloatArray,
    step: float,
    max_iter: int,
    grad_tol: FloatArray,
    labels: IntArray,
    centers: FloatArray,
    cost: FloatArray,
    gradient: FloatArray,
    n_iter: IntArray,
    ok: BoolArray,
) -> None:
    """Gradient clustering of one data set after another.

    ``points`` is (B, m, d).  ``grad_tol`` (B,) is in the unit of the points, and ``step`` has none.
    ``centers`` (B, k, d) is read and changed.  ``labels`` (B, m), ``cost``, ``gradient``,
    ``n_iter`` and ``ok`` (B,) are outputs.
    """
    n_sets, m, d = points.shape
    n_clusters = centers.shape[1]
    points_t = np.empty((d, m))
    work = np.empty(m)
    nearest_sq = np.empty(m)
    grads = np.empty((n_clusters, d))
    share = 1.0 / m
    for b in range(n_sets):
        transpose(points[b], points_t)
        n_iter[b] = 0
        while True:
            assign(points_t, centers[b], work, nearest_sq, labels[b])
            _gradients(points[b], labels[b], centers[b], grads)
            largest_sq = 0.0
            for k in range(n_clusters):
                norm_sq = 0.0
                for j in range(d):
                    norm_sq += grads[k, j] ** 2
                largest_sq = max(largest_sq, norm_sq)
            gradient[b] = np.sqrt(largest_sq)
            ok[b] = gradient[b] <= grad_tol[b]
            if ok[b] or n_iter[b] == max_iter:
                break
            for k in range(n_clusters):
                for j in range(d):
                    centers[b, k, j] -= step * grads[k, j]
            n_iter[b] += 1
        cost[b] = 0.0
        for i in range(m):
            cost[b] += share * 0.5 * nearest_sq[i]


def gradient_clustering(
    points: ArrayLike,
    centers: ArrayLike,
    *,
    step: float = 1.0,
    max_iter: int = 10_000,
    tol: float = 1e-10,
) -> GradientFit:
    """Gradient clustering from given centres, for B data sets at once.

    Parameters
    ----------
    points : (B, m, d) finite, entries at most 1e150.
    centers : (B, k, d) initial centres, 1 <= k <= m, in the unit of the points.
        `trials.clustering.kmeans.seed_kmeans_pp` makes some.
    step : the step size alpha in (0, 2), in units of 1/L with L = 1.
    max_iter : steps allowed, >= 1.
    tol : stop when every centre's gradient is at most ``tol`` times the root mean square distance
        of the points from their mean (dimensionless).

    Returns
    -------
    GradientFit
        A cluster without points has gradient zero: its centre stays where it was.

    Raises
    ------
    InvalidParameter : Shapes that do not match, k > m, entries that are not finite or above 1e150,
        step outside (0, 2), max_iter < 1, tol < 0.

    Notes
    -----
    O(m k d) an iteration.  Once the partition has settled it takes about
    log(1/tol) / (step * smallest p(C_j)) iterations.

    Examples
    --------
    >>> fit = gradient_clustering([[[0.0], [1.0], [10.0], [11.0]]], centers=[[[0.0], [11.0]]])
    >>> fit.labels.tolist(), fit.centers.round(6).tolist()
    ([[0, 0, 1, 1]], [[[0.5], [10.5]]])
    """
    data = finite_batch("points", points, ("B", "m", "d"))
    start = finite_batch("centers", centers, ("B", "k", "d"))
    n_sets, m, d = data.shape
    same_axis("centers.shape[0]", start.shape[0], "points.shape[0]", n_sets)
    same_axis("centers.shape[2]", start.shape[2], "points.shape[2]", d)
    integer_between("k", start.shape[1], 1, m, "at most the number of points m")
    alpha = real_between("step", step, 0.0, open_low=True)
    if alpha >= 2:
        raise InvalidParameter(f"step={alpha:g} must be below 2 (in units of 1/L)")
    units = own_units(data, start)
    data, start = divide_by_units(data, units), divide_by_units(start, units)
    spread = np.sqrt(((data - data.mean(axis=1, keepdims=True)) ** 2).sum(axis=2).mean(axis=1))
    fit = GradientFit(
        labels=np.empty((n_sets, m), np.int64),
        centers=start.copy(),
        cost=np.empty(n_sets),
        gradient=np.empty(n_sets),
        n_iter=np.empty(n_sets, np.int64),
        converged=np.empty(n_sets, np.bool_),
    )
    _descend_batch(
        data,
        alpha,
        integer_between("max_iter", max_iter, 1),
        real_between("tol", tol, 0.0) * spread,
        fit.labels,
        fit.centers,
        fit.cost,
        fit.gradient,
        fit.n_iter,
        fit.converged,
    )
    give_back(fit.centers, units)
    give_back(fit.cost, units, 2)
    give_back(fit.gradient, units)
    return fit

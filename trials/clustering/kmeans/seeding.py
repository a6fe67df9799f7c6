"""k-means++ (Algorithm 3, Arthur & Vassilvitskii 2007): seeds at random, then Lloyd."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from trials.checks import (
    BoolArray,
    FloatArray,
    IntArray,
    check_rng,
    integer_between,
    one_of,
    real_between,
)
from trials.clustering.kmeans.assignment import squared_distances, transpose
from trials.clustering.kmeans.iteration import (
    EmptyPolicy,
    KMeansFit,
    check_points,
    empty_fit,
    in_units_of_points,
    iterate,
    shift_tolerance,
)
from trials.clustering.units import divide_by_units, own_units
from trials.integers import ZERO
from trials.kernel import inner_kernel, kernel


@inner_kernel
def _draw(weights: FloatArray, rng: np.random.Generator) -> int:
    """Index i with probability weights[i] / sum(weights), uniform if all weights (m,) are zero."""
    m = weights.shape[0]
    total = 0.0
    for i in range(m):
        total += weights[i]
    u = rng.random()
    if total == 0.0:
        return int(u * m)
    goal = u * total
    partial = 0.0
    last = 0
    for i in range(m):
        if weights[i] > 0.0:
            partial += weights[i]
            last = i  # rounding may leave goal above the last partial sum
            if goal < partial:
                break
    return last


@inner_kernel
def seed(
    points_t: FloatArray,
    rng: np.random.Generator,
    work: FloatArray,
    nearest_sq: FloatArray,
    chosen: IntArray,
) -> None:
    """k-means++ seeding (Algorithm 3, Step I): indices ``chosen`` (k,) of the chosen points.

    ``points_t`` is (d, m).  ``work`` and ``nearest_sq`` (m,) are work space.
    """
    d, m = points_t.shape
    last = np.empty(d)
    chosen[0] = int(rng.random() * m)
    for i in range(m):
        nearest_sq[i] = np.inf
    for k in range(1, chosen.shape[0]):
        for j in range(d):
            last[j] = points_t[j, chosen[k - 1]]
        squared_distances(points_t, ZERO, last, work)
        for i in range(m):
            if work[i] < nearest_sq[i]:
                nearest_sq[i] = work[i]
        chosen[k] = _draw(nearest_sq, rng)


@kernel
def _seed_batch(points: FloatArray, rng: np.random.Generator, chosen: IntArray) -> None:
    """`seed` on each of the data sets ``points`` (B, m, d).  ``chosen`` is (B, k)."""
    n_sets, m, d = points.shape
    points_t = np.empty((d, m))
    work = np.empty(m)
    nearest_sq = np.empty(m)
    for b in range(n_sets):
        transpose(points[b], points_t)
        seed(points_t, rng, work, nearest_sq, chosen[b])


@kernel
def _kmeans_pp_batch(
    points: FloatArray,
    rng: np.random.Generator,
    n_init: int,
    max_iter: int,
    tol: float,
    relocate: bool,
    labels: IntArray,
    centers: FloatArray,
    inertia: FloatArray,
    n_iter: IntArray,
    ok: BoolArray,
) -> None:
    """The best of ``n_init`` seeded runs of `iterate`, one data set after another.

    ``points`` is (B, m, d).  The arguments from ``labels`` (B, m) and ``centers`` (B, k, d) on are
    outputs.  The other outputs are (B,).
    """
    n_sets, m, d = points.shape
    n_clusters = centers.shape[1]
    points_t = np.empty((d, m))
    work = np.empty(m)
    nearest_sq = np.empty(m)
    sums = np.empty((n_clusters, d))
    chosen = np.empty(n_clusters, np.int64)
    trial_centers = np.empty((n_clusters, d))
    trial_labels = np.empty(m, np.int64)
    for b in range(n_sets):
        transpose(points[b], points_t)
        shift_tol = shift_tolerance(points[b], tol)
        inertia[b] = np.inf
        for _ in range(n_init):
            seed(points_t, rng, work, nearest_sq, chosen)
            for k in range(n_clusters):
                for j in range(d):
                    trial_centers[k, j] = points[b, chosen[k], j]
            cost, steps, converged = iterate(
                points[b], points_t, max_iter, shift_tol, relocate,
                work, nearest_sq, sums, trial_centers, trial_labels,
            )  # fmt: skip
            if cost < inertia[b]:
                inertia[b], n_iter[b], ok[b] = cost, steps, converged
                for k in range(n_clusters):
                    for j in range(d):
                        centers[b, k, j] = trial_centers[k, j]
                for i in range(m):
                    labels[b, i] = trial_labels[i]


def seed_kmeans_pp(points: ArrayLike, k: int, rng: np.random.Generator) -> IntArray:
    """Seeds of k-means++ (Algorithm 3, Step I): indices of the chosen points.

    The first is uniform.  Each further one is drawn with probability proportional to its squared
    distance to the nearest chosen one.  The draw is uniform when all distances are zero (fewer than
    k distinct points).  A draw takes one uniform variate, data set after data set.

    Parameters
    ----------
    points : (B, m, d) finite, entries at most 1e150.
    k : number of seeds, 1 <= k <= m.
    rng : the stream.

    Returns
    -------
    (B, k) int64, indices in 0..m-1.

    Raises
    ------
    InvalidParameter : Shapes, k outside 1..m, entries that are not finite or above 1e150, no
        generator.

    Notes
    -----
    O(m k d) a data set.
    """
    data, k = check_points(points, k)
    chosen = np.empty((data.shape[0], k), np.int64)
    _seed_batch(divide_by_units(data, own_units(data)), check_rng(rng), chosen)
    return chosen


def kmeans_pp(
    points: ArrayLike,
    k: int,
    rng: np.random.Generator,
    *,
    n_init: int = 1,
    max_iter: int = 300,
    tol: float = 0.0,
    empty: EmptyPolicy = "relocate",
) -> KMeansFit:
    """k-means++ seeding, then Lloyd (Algorithm 3): the clustering of ODCL-KM++.

    Parameters
    ----------
    points : (B, m, d) finite, entries at most 1e150.
    k : number of clusters, 1 <= k <= m.
    rng : the stream.  A start takes k uniforms.
    n_init : starts a data set, >= 1.  The one of least inertia is kept (the paper uses one).
    max_iter, tol, empty : as in `lloyd`.

    Returns
    -------
    KMeansFit
        Of the best start.

    Raises
    ------
    InvalidParameter : As in `lloyd`, and for n_init < 1 or a wrong generator.

    Notes
    -----
    The expected cost of the seeds alone is at most 8 (ln k + 2) times the optimum (Arthur &
    Vassilvitskii 2007, Theorem 1.1).

    Examples
    --------
    >>> fit = kmeans_pp([[[0.0], [1.0], [10.0], [11.0]]], 2, np.random.default_rng(0))
    >>> sorted(fit.centers.ravel().tolist()), fit.inertia.tolist()
    ([0.5, 10.5], [1.0])
    """
    data, k = check_points(points, k)
    n_sets, m, d = data.shape
    units = own_units(data)
    fit = empty_fit(n_sets, m, k, d)
    _kmeans_pp_batch(
        divide_by_units(data, units),
        check_rng(rng),
        integer_between("n_init", n_init, 1),
        integer_between("max_iter", max_iter, 1),
        real_between("tol", tol, 0.0),
        one_of("empty", empty, ("relocate", "keep")) == "relocate",
        fit.labels,
        fit.centers,
        fit.inertia,
        fit.n_iter,
        fit.converged,
    )
    in_units_of_points(fit, units)
    return fit

r"""Lloyd's iteration, batched over data sets (Part III of Algorithm 2, Step II of Algorithm 3).

.. math:: \min_{x_1, \dots, x_k} \sum_{i=1}^m \min_{j \le k} \|a_i - x_j\|^2
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from trials.checks import (
    BoolArray,
    FloatArray,
    IntArray,
    finite_batch,
    integer_between,
    one_of,
    real_between,
    same_axis,
)
from trials.clustering.kmeans.assignment import assign, screened_assign, single_precision, transpose
from trials.clustering.units import divide_by_units, give_back, own_units
from trials.kernel import inner_kernel, kernel

# Numbers of clusters and products m k d from which screening saves more time than its preparation
# takes, also in a fit of three iterations.  Measured at m = 30 to 2,000, d = 1 to 100, k = 2 to 30.
_SCREENED_CLUSTERS = 4
_SCREENED_SIZE = 20_000

EmptyPolicy = Literal["relocate", "keep"]


@dataclass(frozen=True, kw_only=True)
class KMeansFit:
    """Clusterings of B data sets.

    Attributes
    ----------
    labels : (B, m) int64, cluster of each point: the index of its nearest centre.
    centers : (B, k, d).
    inertia : (B,) sum of squared distances of the points to their centres, units of points^2.  It
        is zero where it lies below the least positive float.
    n_iter : (B,) Lloyd iterations run (that of the best start, where there were several).
    converged : (B,) False where ``max_iter`` stopped the iteration.
    """

    labels: IntArray
    centers: FloatArray
    inertia: FloatArray
    n_iter: IntArray
    converged: BoolArray


# --- kernels: no validation, no raising


@inner_kernel
def _relocate_empty(
    points: FloatArray, nearest_sq: FloatArray, labels: IntArray, counts: IntArray, sums: FloatArray
) -> bool:
    """Give each empty cluster the point farthest from its centre, as scikit-learn does.

    The point is removed from the mean of its old cluster.  Labels change at the next assignment.  A
    point that is alone in its cluster is never taken, nor one at distance zero (duplicates).
    ``counts`` (k,) and ``sums`` (k, d) are changed.  Returns whether a point was moved.
    """
    m, d = points.shape
    moved = False
    for k in range(counts.shape[0]):
        if counts[k] > 0:
            continue
        far = -1
        for i in range(m):
            if (
                nearest_sq[i] > 0.0
                and counts[labels[i]] > 1
                and (far < 0 or nearest_sq[i] > nearest_sq[far])
            ):
                far = i
        if far < 0:
            return moved
        moved = True
        donor = labels[far]
        for j in range(d):
            sums[donor, j] -= points[far, j]
            sums[k, j] = points[far, j]
        counts[donor] -= 1
        counts[k] = 1
        nearest_sq[far] = 0.0  # taken
    return moved


@inner_kernel
def _means(points: FloatArray, labels: IntArray, counts: IntArray, sums: FloatArray) -> None:
    """Sizes ``counts`` (k,) and sums ``sums`` (k, d) of the clusters, returned in place."""
    m, d = points.shape
    for k in range(counts.shape[0]):
        counts[k] = 0
        for j in range(d):
            sums[k, j] = 0.0
    for i in range(m):
        k = labels[i]
        counts[k] += 1
        for j in range(d):
            sums[k, j] += points[i, j]


@inner_kernel
def _move(counts: IntArray, sums: FloatArray, centers: FloatArray) -> float:
    """Move each centre to its cluster's mean, and return the summed squared shift.

    An empty cluster keeps its centre.
    """
    shift = 0.0
    for k in range(counts.size):
        if counts[k] == 0:
            continue
        for j in range(centers.shape[1]):
            mean = sums[k, j] / counts[k]
            shift += (mean - centers[k, j]) ** 2
            centers[k, j] = mean
    return shift


@inner_kernel
def _inertia(
    points: FloatArray, labels: IntArray, centers: FloatArray, by_axis: FloatArray
) -> float:
    """The summed squared distances of the points from their centres.

    ``by_axis`` (d,) is work space: one sum a coordinate, because a single one would not vectorise.
    """
    for j in range(by_axis.size):
        by_axis[j] = 0.0
    for i in range(points.shape[0]):
        center = centers[labels[i]]
        for j in range(by_axis.size):
            by_axis[j] += (points[i, j] - center[j]) ** 2
    inertia = 0.0
    for j in range(by_axis.size):
        inertia += by_axis[j]
    return inertia


@inner_kernel
def iterate(
    points: FloatArray,
    points_t: FloatArray,
    max_iter: int,
    shift_tol: float,
    relocate: bool,
    work: FloatArray,
    nearest_sq: FloatArray,
    sums: FloatArray,
    centers: FloatArray,
    labels: IntArray,
) -> tuple[float, int, bool]:
    """Lloyd's iteration on one data set.  ``centers`` is read and changed.

    Stops, in scikit-learn's order, when the labels repeat (strict), or when the summed squared
    shift of the centres is at most ``shift_tol``.  After any stop but the strict one the labels are
    brought up to date with the centres.  It does not stop when labels repeat while an empty cluster
    takes a point, because the centres have moved.  Large cases screen in single precision, which
    changes no label (`trials.clustering.kmeans.assignment`).

    ``points`` (m, d) and ``points_t`` (d, m) hold the same numbers.  ``shift_tol`` is in squared
    units of length.  ``work`` and ``nearest_sq`` (m,) and ``sums`` (k, d) are work space.
    ``centers`` is (k, d) and ``labels`` (m,).  Returns (inertia, iterations, converged).
    """
    # Scikit-learn's order of assigning, moving and stopping is the contract: the loop is compared
    # with it line by line.
    m = points.shape[0]
    n_clusters, d = centers.shape
    counts = np.empty(n_clusters, np.int64)
    previous = np.empty(m, np.int64)
    for i in range(m):
        previous[i] = -1
    origin = np.empty(d)
    screen = n_clusters >= _SCREENED_CLUSTERS and m * n_clusters * d >= _SCREENED_SIZE
    norms = np.empty(m if screen else 0, np.float32)
    blocks = np.empty(m * d if screen else 0, np.float32)
    scale = single_precision(points, points_t, origin, norms, blocks) if screen else 0.0
    strict = False
    converged = False
    n_iter = 0
    while n_iter < max_iter and not converged:
        n_iter += 1
        screened = scale > 0.0
        if not screened:
            assign(points_t, centers, work, nearest_sq, labels)
        elif not screened_assign(
            points_t, blocks, norms, origin, scale, centers, work, nearest_sq, labels
        ):
            scale = 0.0  # centres too close together for single precision: not tried again
        _means(points, labels, counts, sums)
        empty = False
        for k in range(n_clusters):
            empty = empty or counts[k] == 0
        moved = False
        if relocate and empty:
            if screened:  # which leaves no distances
                assign(points_t, centers, work, nearest_sq, labels)
            moved = _relocate_empty(points, nearest_sq, labels, counts, sums)
        shift = _move(counts, sums, centers)
        strict = True
        for i in range(m):
            if labels[i] != previous[i]:
                strict = False
                previous[i] = labels[i]
        if moved:  # the centres are not the means of these labels: they cannot repeat
            strict = False
            previous[0] = -1
        converged = strict or shift <= shift_tol
    if not strict:
        assign(points_t, centers, work, nearest_sq, labels)
    return _inertia(points, labels, centers, sums[0]), n_iter, converged


@inner_kernel
def shift_tolerance(points: FloatArray, tol: float) -> float:
    """tol times the mean over coordinates of the variance, scikit-learn's scaling of ``tol``.

    ``points`` is (m, d).  The result is in squared units of length.
    """
    m, d = points.shape
    if tol == 0.0:
        return 0.0
    mean = np.empty(d)
    spread = np.empty(d)  # a sum for each coordinate, as in `iterate`
    for j in range(d):
        mean[j] = 0.0
        spread[j] = 0.0
    for i in range(m):
        for j in range(d):
            mean[j] += points[i, j]
    for j in range(d):
        mean[j] /= m
    for i in range(m):
        for j in range(d):
            spread[j] += (points[i, j] - mean[j]) ** 2
    total = 0.0
    for j in range(d):
        total += spread[j]
    return float(tol * total / (m * d))


@kernel
def _lloyd_batch(
    points: FloatArray,
    starts: FloatArray,
    max_iter: int,
    tol: float,
    relocate: bool,
    labels: IntArray,
    centers: FloatArray,
    inertia: FloatArray,
    n_iter: IntArray,
    ok: BoolArray,
) -> None:
    """`iterate` on one data set after another.  Arguments from ``labels`` on are outputs.

    ``points`` (B, m, d), ``starts`` and ``centers`` (B, k, d), ``labels`` (B, m), the others (B,).
    """
    n_sets, m, d = points.shape
    n_clusters = starts.shape[1]
    points_t = np.empty((d, m))
    work = np.empty(m)
    nearest_sq = np.empty(m)
    sums = np.empty((n_clusters, d))
    for b in range(n_sets):
        transpose(points[b], points_t)
        for k in range(n_clusters):
            for j in range(d):
                centers[b, k, j] = starts[b, k, j]
        inertia[b], n_iter[b], ok[b] = iterate(
            points[b], points_t, max_iter, shift_tolerance(points[b], tol), relocate,
            work, nearest_sq, sums, centers[b], labels[b],
        )  # fmt: skip


# --- drivers


def check_points(points: ArrayLike, k: int) -> tuple[FloatArray, int]:
    """Points (B, m, d), finite, and a number of clusters k in 1..m."""
    array = finite_batch("points", points, ("B", "m", "d"))
    return array, integer_between("k", k, 1, array.shape[1], "at most the number of points m")


def in_units_of_points(fit: KMeansFit, units: FloatArray) -> None:
    """Give centres and inertia of a fit in the units (B,) back in the unit of the points."""
    give_back(fit.centers, units)
    give_back(fit.inertia, units, 2)


def empty_fit(n_sets: int, m: int, k: int, d: int) -> KMeansFit:
    """A record of uninitialised arrays for the kernels to fill."""
    return KMeansFit(
        labels=np.empty((n_sets, m), np.int64),
        centers=np.empty((n_sets, k, d)),
        inertia=np.empty(n_sets),
        n_iter=np.empty(n_sets, np.int64),
        converged=np.empty(n_sets, np.bool_),
    )


def lloyd(
    points: ArrayLike,
    centers: ArrayLike,
    *,
    max_iter: int = 300,
    tol: float = 0.0,
    empty: EmptyPolicy = "relocate",
) -> KMeansFit:
    """Lloyd's iteration from given centres, for B data sets at once.

    Parameters
    ----------
    points : (B, m, d) finite, entries at most 1e150.  Data sets below 1e-100 are measured in a unit
        of their own, so that they keep their digits.
    centers : (B, k, d) initial centres, 1 <= k <= m, in the unit of the points.
    max_iter : iterations allowed, >= 1.
    tol : stop when the summed squared shift of the centres is at most ``tol`` times the mean
        variance of the coordinates (dimensionless, scikit-learn's meaning).  With 0 the iteration
        runs until the labels repeat, which is the paper's "until convergence".
    empty : ``"relocate"`` gives an empty cluster the point that is farthest from its own centre.
        Several empty clusters get the farthest points in their order.  This is scikit-learn's rule,
        except that a point alone in its cluster is never taken.  ``"keep"`` leaves the centre of an
        empty cluster where it was.

    Raises
    ------
    InvalidParameter : Shapes that do not match, k > m, entries that are not finite or above 1e150,
        max_iter < 1, tol < 0.

    Notes
    -----
    O(m k d) per iteration and data set, and O(m d) extra memory in all.  The inertia never
    increases from one iteration to the next with ``empty="keep"``.  From equal starts the labels
    are those of ``sklearn.cluster.KMeans(n_init=1, algorithm="lloyd")`` unless two distances agree
    to rounding.

    Examples
    --------
    >>> fit = lloyd([[[0.0], [1.0], [10.0], [11.0]]], centers=[[[0.0], [1.0]]])
    >>> fit.labels.tolist(), fit.centers.tolist(), fit.inertia.tolist()
    ([[0, 0, 1, 1]], [[[0.5], [10.5]]], [1.0])
    """
    data = finite_batch("points", points, ("B", "m", "d"))
    starts = finite_batch("centers", centers, ("B", "k", "d"))
    n_sets, m, d = data.shape
    same_axis("centers.shape[0]", starts.shape[0], "points.shape[0]", n_sets)
    same_axis("centers.shape[2]", starts.shape[2], "points.shape[2]", d)
    k = integer_between("k", starts.shape[1], 1, m, "at most the number of points m")
    units = own_units(data, starts)
    fit = empty_fit(n_sets, m, k, d)
    _lloyd_batch(
        divide_by_units(data, units),
        divide_by_units(starts, units),
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

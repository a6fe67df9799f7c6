"""Spectral k-means: Algorithm 2 of the paper, after Awasthi & Sheffet (2012), and its Part I."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trials.checks import BoolArray, FloatArray, IntArray
from trials.clustering.kmeans.approximation import Approximation, approximate_kmeans
from trials.clustering.kmeans.iteration import EmptyPolicy, check_points, in_units_of_points, lloyd
from trials.clustering.units import divide_by_units, give_back, own_units
from trials.kernel import kernel

# The Gram matrix is used where the last singular value kept has at least this share of the largest,
# both squared, and squares are far from underflow.
_GRAM_SHARE = 1e-3
_GRAM_SMALLEST = 1e-250


@dataclass(frozen=True, kw_only=True)
class SpectralFit:
    """Spectral k-means, Algorithm 2: each part's outcome.

    Attributes
    ----------
    labels, centers, inertia, n_iter, converged : the final clustering, as in `KMeansFit`.
    part_one : the approximate solution in the projected space, with centres in coordinates of
        ``basis``.  Its labels are the clustering of Theorem 3.
    basis : (B, d, r) orthonormal columns that span the top r = min(k, m, d) right singular vectors.
    core_sizes : (B, k) number of core points of each initial centre.  Where it is 0 the centre was
        kept, because the paper does not define mu(empty set).
    """

    labels: IntArray
    centers: FloatArray
    inertia: FloatArray
    n_iter: IntArray
    converged: BoolArray
    part_one: Approximation
    basis: FloatArray
    core_sizes: IntArray


@kernel
def _core_means(
    points: FloatArray,
    coords: FloatArray,
    initial: FloatArray,
    lifted: FloatArray,
    centers: FloatArray,
    core_sizes: IntArray,
) -> None:
    """Part II of Algorithm 2: means, in the original space, of the core points of each centre.

    ``points`` (B, m, d), ``coords`` (B, m, r), ``initial`` (B, k, r), ``lifted`` and ``centers``
    (B, k, d), ``core_sizes`` (B, k).  The last two are outputs.

    i is a core point of k when |a^_i - nu_k| <= |a^_i - nu_l| / 3 for all l != k.  A centre without
    core points stays at ``lifted``, its position in the original space.
    """
    n_sets, m, d = points.shape
    n_clusters, r = initial.shape[1:]
    to_center = np.empty(n_clusters)
    for b in range(n_sets):
        for k in range(n_clusters):
            core_sizes[b, k] = 0
            for j in range(d):
                centers[b, k, j] = 0.0
        for i in range(m):
            for k in range(n_clusters):
                total = 0.0
                for j in range(r):
                    total += (coords[b, i, j] - initial[b, k, j]) ** 2
                to_center[k] = total
            nearest, second = np.inf, np.inf
            for k in range(n_clusters):
                if to_center[k] < nearest:
                    nearest, second = to_center[k], nearest
                else:
                    second = min(second, to_center[k])
            # the second nearest decides: with k = 1 there is none and every point is core
            if 9.0 * nearest <= second:
                for k in range(n_clusters):
                    if to_center[k] == nearest:  # several where centres coincide with the point
                        core_sizes[b, k] += 1
                        for j in range(d):
                            centers[b, k, j] += points[b, i, j]
        for k in range(n_clusters):
            for j in range(d):
                if core_sizes[b, k] == 0:
                    centers[b, k, j] = lifted[b, k, j]
                else:
                    centers[b, k, j] /= core_sizes[b, k]


def _svd_basis(data: FloatArray, rank: int) -> FloatArray:
    """Top ``rank`` right singular vectors (B, d, rank) of each data set, by LAPACK's SVD."""
    _, _, right = np.linalg.svd(data, full_matrices=False)
    return np.ascontiguousarray(right[:, :rank].transpose(0, 2, 1))


def _gram_basis(data: FloatArray, rank: int) -> tuple[FloatArray, BoolArray]:
    """As `_svd_basis` from the eigenvectors of the smaller Gram matrix, and where to trust them.

    Rounding moves the Gram matrix by eps s_1^2, hence the top subspace by the angle
    eps s_1^2 / (s_r^2 - s_{r+1}^2): that of the SVD, eps s_1 / (s_r - s_{r+1}), times
    s_1 / (s_r + s_{r+1}).  For m < d, A^T U / s is orthonormal to eps (s_1 / s_r)^2.
    """
    tall = data.shape[1] >= data.shape[2]
    data_t = data.transpose(0, 2, 1)
    squares, vectors = np.linalg.eigh(data_t @ data if tall else data @ data_t)
    largest, last = squares[:, -1], squares[:, -rank]
    trusted = (last >= _GRAM_SHARE * largest) & (last > _GRAM_SMALLEST)
    basis = vectors[:, :, : -rank - 1 : -1]
    if not tall:
        with np.errstate(divide="ignore", invalid="ignore"):
            basis = data_t @ (basis / np.sqrt(squares[:, None, : -rank - 1 : -1]))
    return np.ascontiguousarray(basis), trusted


def spectral_projection(points: ArrayLike, k: int) -> tuple[FloatArray, FloatArray]:
    """Coordinates of the points in the span of the top k right singular vectors.

    The data are *not* centred (the paper projects A itself).  Where the k-th singular value is
    repeated the subspace is not unique and LAPACK's choice is taken.  For k >= d it is the whole
    space, and the coordinates are the points themselves.

    Parameters
    ----------
    points : (B, m, d) finite, entries at most 1e150.
    k : rank of the projection, 1 <= k <= m.  r = min(k, m, d) columns are returned.

    Returns
    -------
    coords : (B, m, r), isometric to the projected rows: distances between rows are equal.
    basis : (B, d, r), orthonormal columns, for r < d the top right singular vectors.  The projected
        matrix is ``coords @ basis^T``.

    Raises
    ------
    InvalidParameter : Shapes, k outside 1..m, entries that are not finite or above 1e150.

    Notes
    -----
    Batched LAPACK calls, O(m d min(m, d)) a data set.  Where s_r^2 >= s_1^2 / 1000, the
    eigenvectors of the smaller Gram matrix are computed.  Against the SVD this loses at most 1.5
    digits of the subspace, and the basis is orthonormal to 1e-12.  The other data sets use the SVD.

    Examples
    --------
    >>> coords, basis = spectral_projection([[[3.0, 4.0], [6.0, 8.0]]], 1)
    >>> abs(basis[0, :, 0]).round(12).tolist(), abs(coords[0, :, 0]).round(12).tolist()
    ([0.6, 0.8], [5.0, 10.0])
    """
    data, k = check_points(points, k)
    units = own_units(data)
    coords, basis = _project(divide_by_units(data, units), k)
    give_back(coords, units)
    return coords, basis


def _project(data: FloatArray, k: int) -> tuple[FloatArray, FloatArray]:
    """`spectral_projection` of checked data (B, m, d) of moderate size."""
    n_sets, m, d = data.shape
    rank = min(k, m, d)
    if rank == d:  # The span is the whole space: rounding must not break the ties of the data.
        return data.copy(), np.broadcast_to(np.eye(d), (n_sets, d, d)).copy()
    basis, trusted = _gram_basis(data, rank)
    if not trusted.all():
        basis[~trusted] = _svd_basis(data[~trusted], rank)
    return data @ basis, basis


def spectral_part_one(
    points: ArrayLike, k: int, rng: np.random.Generator, *, target: float = 10.0
) -> tuple[Approximation, FloatArray]:
    """Part I of Algorithm 2 alone, the algorithm of Theorem 3.

    SVD projection, then `approximate_kmeans` on the projected rows.  The clustering assigns each
    *projected* row to its nearest centre.

    Parameters
    ----------
    points, k, rng, target : as in `approximate_kmeans`.

    Returns
    -------
    approximation : `Approximation`.  Its centres are coordinates, ``(B, k, r)``.
    basis : (B, d, r) as in `spectral_projection`.  ``centers @ basis^T`` lifts the centres to R^d.

    Raises
    ------
    InvalidParameter : As in `approximate_kmeans`.

    Examples
    --------
    >>> points = [[[0.0, 5.0], [1.0, 5.0], [10.0, 0.0], [11.0, 0.0]]]
    >>> approximation, basis = spectral_part_one(points, 2, np.random.default_rng(0))
    >>> approximation.labels[0].tolist() in ([0, 0, 1, 1], [1, 1, 0, 0]), basis.shape
    (True, (1, 2, 2))
    """
    coords, basis = spectral_projection(points, k)
    return approximate_kmeans(coords, k, rng, target=target), basis


def spectral_kmeans(
    points: ArrayLike,
    k: int,
    rng: np.random.Generator,
    *,
    target: float = 10.0,
    max_iter: int = 300,
    tol: float = 0.0,
    empty: EmptyPolicy = "relocate",
) -> SpectralFit:
    """Spectral k-means, Algorithm 2 of the paper in full: the clustering of ODCL-KM.

    Part I projects on the top k singular vectors and runs `approximate_kmeans`.  Part II replaces
    each centre by the mean of its core points, taken in the original space.  The paper does not say
    in which space its mu(S_k) is taken.  Awasthi & Sheffet take this one.  Part III is `lloyd` on
    the original points.

    Parameters
    ----------
    points : (B, m, d) finite, entries at most 1e150.
    k : number of clusters, 1 <= k <= m.
    rng : the stream, for the seeds of Part I.
    target : the factor that Part I tries to certify (10 in the paper).
    max_iter, tol, empty : of Part III, as in `lloyd`.

    Returns
    -------
    SpectralFit
        ``part_one.factor`` is the proved approximation factor of Part I.

    Raises
    ------
    InvalidParameter : Shapes, k outside 1..m, entries that are not finite or above 1e150, and as in
        `lloyd`.

    Notes
    -----
    O(m d min(m, d) + m^2 k) a data set before Lloyd.

    Examples
    --------
    >>> points = [[[0.0, 5.0], [1.0, 5.0], [10.0, 0.0], [11.0, 0.0]]]
    >>> fit = spectral_kmeans(points, 2, np.random.default_rng(0))
    >>> sorted(fit.centers[0].tolist()), bool(fit.part_one.factor[0] <= 10.0)
    ([[0.5, 5.0], [10.5, 0.0]], True)
    """
    given, k = check_points(points, k)
    units = own_units(given)
    data = divide_by_units(given, units)
    coords, basis = _project(data, k)
    part_one = approximate_kmeans(coords, k, rng, target=target)
    lifted = part_one.centers @ basis.transpose(0, 2, 1)
    starts = np.empty_like(lifted)
    core_sizes = np.empty(lifted.shape[:2], np.int64)
    _core_means(data, coords, part_one.centers, np.ascontiguousarray(lifted), starts, core_sizes)
    fit = lloyd(data, starts, max_iter=max_iter, tol=tol, empty=empty)
    in_units_of_points(fit, units)
    give_back(part_one.centers, units)
    give_back(part_one.cost, units, 2)
    give_back(part_one.lower_bound, units, 2)
    return SpectralFit(
        labels=fit.labels,
        centers=fit.centers,
        inertia=fit.inertia,
        n_iter=fit.n_iter,
        converged=fit.converged,
        part_one=part_one,
        basis=basis,
        core_sizes=core_sizes,
    )

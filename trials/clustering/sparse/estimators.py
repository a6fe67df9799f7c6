"""Scikit-learn estimators of convex clustering with nearest-neighbour weights.

This module alone needs scikit-learn (``pip install 'cfl-verify[sklearn]'``).  The solver does not,
and its package does not import this module.  So the verification suite runs without scikit-learn.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.validation import check_is_fitted, validate_data

from trials.checks import FloatArray, IntArray, integer_between, require_open
from trials.clustering.sparse.api import (
    fusing_penalty,
    sparse_convex_clustering,
    sparse_convex_clustering_path,
)
from trials.clustering.sparse.graph import neighbour_weights

#: The smallest penalty of a default path over the one that fuses everything.
_SMALLEST = 1e-4


class _Base(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Weights and validation that both estimators share."""

    n_neighbors: int
    decay: float
    connect: str
    weights: Any
    cluster_centers_: FloatArray

    def _points(self, X: ArrayLike, reset: bool = True) -> FloatArray:
        """Validate the data, and remember the number of features where ``reset``."""
        require_open("X", X)
        return np.asarray(validate_data(self, X, dtype=np.float64, reset=reset))

    def _weights(self, points: FloatArray) -> Any:
        """The given weights (n, n), or those of the neighbours."""
        if self.weights is not None:
            return self.weights
        n = points.shape[0]
        neighbours = integer_between("n_neighbors", self.n_neighbors, 1)
        if n == 1:
            return sp.csr_array((1, 1))
        return neighbour_weights(
            points, min(neighbours, n - 1), decay=self.decay, relative=True, connect=self.connect
        )

    def predict(self, X: ArrayLike) -> IntArray:
        """The cluster with the nearest value, (n,), the first of those at one distance."""
        check_is_fitted(self)
        points = self._points(X, reset=False)
        return np.asarray(_distances(points, self.cluster_centers_).argmin(axis=1), dtype=np.int64)

    def score(self, X: ArrayLike, y: ArrayLike | None = None) -> float:
        r"""How well rows are clustered, so that a search over penalties needs no scorer.

        With the true clusters ``y`` it is the adjusted Rand index of `predict`.  Without them it
        is the mean of :math:`1-a/b`, a the distance to the nearest value and b that to the second
        nearest one: one for tight clusters, and zero where there is one cluster.
        """
        labels = self.predict(X)
        if y is not None:
            return float(adjusted_rand_score(np.asarray(y), labels))
        if len(self.cluster_centers_) < 2:
            return 0.0
        points = self._points(X, reset=False)
        near, next_ = np.sort(_distances(points, self.cluster_centers_), axis=1)[:, :2].T
        return float(np.mean(1.0 - np.divide(near, next_, out=np.ones_like(near), where=next_ > 0)))


def _distances(points: FloatArray, centres: FloatArray) -> FloatArray:
    """(n, k) distances of points to centres, in a unit in which their squares are in range."""
    size = max(float(np.abs(points).max()), float(np.abs(centres).max()))
    unit = 2.0 ** min(math.frexp(size)[1], 1023)
    return np.asarray(cdist(points / unit, centres / unit))


def _geometric(top: float, count: int) -> FloatArray:
    """So many increasing penalties up to ``top``, fewer where floats do not tell them apart.

    Tiny weights fuse at an infinite penalty only.  The others then end at 1e308.
    """
    if top == 0.0:
        return np.zeros(1)
    last = min(top, 1e308)
    steps = np.geomspace(max(_SMALLEST * last, math.ulp(0.0)), last, count)
    steps[-1] = top  # also where it is the only one
    return np.unique(np.minimum(steps, top))


class ConvexClustering(_Base):
    r"""Convex clustering at one penalty.

    .. math::

        \min_U \tfrac12 \sum_i |a_i - u_i|^2 + \lambda \sum_{i<j} w_{ij} |u_i - u_j|

    Parameters
    ----------
    penalty : lambda >= 0, also infinite, in the units of the data.
    n_neighbors : of the graph of weights.  At most n - 1 are taken.
    decay : phi of the weights ``exp(-phi |a_i - a_j|^2 / mean)``, mean over all pairs.
    connect : "tree", "circulant" or "none", see `neighbour_weights`.
    weights : (n, n) sparse matrix in place of the neighbours', or None.
    tolerance : relative duality gap.  The default is small enough to prove partitions.

    Attributes
    ----------
    labels_ : (n,) clusters.
    cluster_centers_ : (k, d) their values.
    result_ : the `SparseClustering` record with gap and proofs.

    Examples
    --------
    >>> ConvexClustering(penalty=2.0, n_neighbors=1).fit_predict([[0.0], [1.0], [10.0], [11.0]])
    array([0, 0, 1, 1])
    """

    def __init__(
        self,
        penalty: float = 1.0,
        *,
        n_neighbors: int = 10,
        decay: float = 2.0,
        connect: str = "tree",
        weights: Any = None,
        tolerance: float = 1e-18,
    ) -> None:
        self.penalty = penalty
        self.n_neighbors = n_neighbors
        self.decay = decay
        self.connect = connect
        self.weights = weights
        self.tolerance = tolerance

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Cluster the rows of X (n, d).  ``y`` is ignored."""
        points = self._points(X)
        self.result_ = sparse_convex_clustering(
            points, self.penalty, self._weights(points), tolerance=self.tolerance
        )
        self.labels_ = self.result_.labels
        self.cluster_centers_ = self.result_.centres
        return self


class ConvexClusterpath(_Base):
    """Convex clustering at increasing penalties: a hierarchy of partitions.

    Parameters
    ----------
    n_clusters : ``labels_`` is the first partition of the path with at most so many clusters.
    penalties : increasing penalties, or a number of them.  A number makes them geometric up to one
        that fuses each component of the graph.
    n_neighbors, decay, connect, weights : as in `ConvexClustering`.
    tolerance : relative duality gap at each penalty.
    flows : whether gaps are computed and clusters may split, see `sparse_convex_clustering_path`.
    progress : is called as ``progress(done, all)`` after each penalty, or None.

    Attributes
    ----------
    path_ : the `SparsePath` record.
    labels_ : (n,) clusters, ``cut(n_clusters)``.
    cluster_centers_ : (k, d) their values on the path.
    linkage_ : (n - 1, 4) linkage of SciPy.

    Examples
    --------
    >>> fit = ConvexClusterpath(2, n_neighbors=1).fit([[0.0], [1.0], [10.0], [11.0]])
    >>> fit.labels_.tolist(), fit.cut(1).tolist()
    ([0, 0, 1, 1], [0, 0, 0, 0])
    """

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        penalties: ArrayLike = 100,
        n_neighbors: int = 10,
        decay: float = 2.0,
        connect: str = "tree",
        weights: Any = None,
        tolerance: float = 1e-6,
        flows: bool = True,
        progress: Callable[[int, int], object] | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.penalties = penalties
        self.n_neighbors = n_neighbors
        self.decay = decay
        self.connect = connect
        self.weights = weights
        self.tolerance = tolerance
        self.flows = flows
        self.progress = progress

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Trace the path of the rows of X (n, d).  ``y`` is ignored."""
        points = self._points(X)
        weights = self._weights(points)
        grid = self.penalties
        if np.ndim(grid) == 0:
            count = integer_between("penalties", grid, 1)
            grid = _geometric(fusing_penalty(points, weights), count)
        self.path_ = sparse_convex_clustering_path(
            points,
            grid,
            weights,
            tolerance=self.tolerance,
            flows=self.flows,
            progress=self.progress,
        )
        self.labels_ = self.cut(self.n_clusters)
        self.cluster_centers_ = np.asarray(self.path_.centres[self.path_.index_of(self.n_clusters)])
        return self

    def cut(self, n_clusters: int) -> IntArray:
        """The first partition (n,) of the path with at most ``n_clusters``, else its last."""
        check_is_fitted(self)
        n_clusters = integer_between("n_clusters", n_clusters, 1)
        labels = self.path_.labels[self.path_.index_of(n_clusters)]
        return np.asarray(labels, dtype=np.int64)

    @property
    def linkage_(self) -> FloatArray:
        """(n - 1, 4) linkage for `scipy.cluster.hierarchy.dendrogram`."""
        check_is_fitted(self)
        return self.path_.linkage()

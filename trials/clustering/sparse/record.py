"""Records of convex clustering with sparse weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trials.checks import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, kw_only=True)
class SparseClustering:
    """The solution at one penalty.

    Attributes
    ----------
    penalty : lambda, also infinite.
    labels : (n,) partition, numbered in the order of the clusters' first points.
    centres : (k, d) value of each cluster.
    offsets : (k, d) the same minus the first point, rounded less in data far from the origin.
    primal : objective at the centres (as offsets).
    gap : upper bound on ``primal - optimum``, rounding included.
    relative_gap : gap over primal, 0 where both are 0.  It has no unit: ``primal`` and ``gap`` are
        squares of lengths, which are infinite for points of 1e160 and zero for points of 1e-170.
    radius : bound on ``sqrt(sum_i |u_i - u*_i|^2)``.
    potentials, margin : (n, d) and a share, the certificate of the flows inside the clusters.
    proved : (k,) clusters whose fusion the independent verifier accepted.
    certified : all are proved and all linked centres distinct: ``labels`` is the exact partition.
    reason : the first part that could not be proved, else an empty string.
    """

    penalty: float
    labels: IntArray
    centres: FloatArray
    offsets: FloatArray
    primal: float
    gap: float
    relative_gap: float
    radius: float
    potentials: FloatArray
    margin: float
    proved: BoolArray
    certified: bool
    reason: str

    @property
    def n_clusters(self) -> int:
        """Number of clusters k."""
        return int(self.centres.shape[0])

    @property
    def minimiser(self) -> FloatArray:
        """(n, d) minimiser.  Rows of one cluster are equal bit for bit."""
        return np.asarray(self.centres[self.labels])

    @property
    def uncertified(self) -> IntArray:
        """The clusters (c,) whose fusion is not proved."""
        return np.flatnonzero(~self.proved)


@dataclass(frozen=True, kw_only=True)
class SparsePath:
    """Solutions at increasing penalties.

    Attributes
    ----------
    penalties : (t,) increasing.
    labels : (t, n) int32, the partition at each.
    centres : t arrays (k, d), or empty where they were not kept.
    n_clusters : (t,) their numbers.
    primal, gap : (t,) objective, and bound on its excess (NaN where no flows were sought).
    relative_gap : (t,) gap over primal, 0 where both are 0.  It is right in every unit, as that of
        `SparseClustering`.
    splits : rounds that split a cluster, in all.
    """

    penalties: FloatArray
    labels: NDArray[np.int32]
    centres: tuple[FloatArray, ...]
    n_clusters: IntArray
    primal: FloatArray
    gap: FloatArray
    relative_gap: FloatArray
    splits: int

    def index_of(self, n_clusters: int) -> int:
        """The first penalty with at most ``n_clusters`` clusters, else the last penalty."""
        small = np.flatnonzero(self.n_clusters <= n_clusters)
        return int(small[0]) if small.size else int(self.penalties.size - 1)

    def linkage(self) -> FloatArray:
        """The tree as a SciPy linkage (n - 1, 4): ``scipy.cluster.hierarchy.dendrogram`` draws it.

        Points join at the first penalty at which they share a cluster.  A later split is ignored,
        as a tree has none.  What never joins does so at infinity, in the order of the points.
        """
        n = self.labels.shape[1]
        joined = np.arange(n)  # the representative of each point's set
        node, size = np.arange(n), np.ones(n)
        rows: list[tuple[float, float, float, float]] = []
        levels = [*zip(self.penalties, self.labels, strict=True), (np.inf, np.zeros(n, np.int32))]
        for height, labels in levels:
            # All pairs (old set, label) link sets that a cluster touches.
            order = np.lexsort((joined, labels))
            same = labels[order][1:] == labels[order][:-1]
            pairs = np.stack([joined[order][:-1], joined[order][1:]], axis=1)[same]
            pairs = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)
            parent = np.arange(n)
            for a, b in pairs.tolist():
                a, b = _root(parent, a), _root(parent, b)
                if a == b:
                    continue
                low, high = min(a, b), max(a, b)
                left, right = sorted((float(node[low]), float(node[high])))
                size[low] += size[high]
                rows.append((left, right, float(height), float(size[low])))
                parent[high] = low
                node[low] = n + len(rows) - 1
            if pairs.size:
                joined = np.array([_root(parent, int(a)) for a in joined])
        return np.array(rows).reshape(-1, 4)


def _root(parent: IntArray, i: int) -> int:
    """The representative of a set of the forest (n,)."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = int(parent[i])
    return i

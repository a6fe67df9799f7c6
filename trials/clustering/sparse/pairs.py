r"""The path of clusters of which each is linked to at most one other: a closed form.

Two clusters with masses m, n, means a, b and an edge of weight w between them have the minimiser

.. math::

    u = a - \lambda \tfrac{w}{m} e, \quad v = b + \lambda \tfrac{w}{n} e, \qquad
    e = \frac{a - b}{|a - b|}, \qquad \lambda < \mu |a - b| / w, \quad \mu = \frac{mn}{m + n},

and are one cluster from that penalty on.  The objective is
:math:`\lambda w |a - b| - \lambda^2 w^2 / (2 \mu)` up to there.  Every path on a connected graph
ends with such a pair.
"""

from __future__ import annotations

import math

import numpy as np

from trials.checks import FloatArray, IntArray
from trials.clustering.sparse.graph import Graph


class Pairs:
    """The linked pairs of a graph without other edges, and their path.

    Attributes
    ----------
    first, second : (E,) the two clusters of each pair.
    end : (E,) the penalties at which they fuse.  ``next`` : the smallest, or infinity.

    Examples
    --------
    >>> edge = Graph(np.array([0, 1, 1]), np.array([1], dtype=np.int32), np.ones(1))
    >>> pairs = Pairs(edge, np.array([[0.0], [4.0]]), np.array([1.0, 3.0]))
    >>> pairs.next, pairs.values(1.5).tolist(), pairs.objective(1.5)
    (3.0, [[1.5], [3.5]], 4.5)
    """

    def __init__(self, graph: Graph, b: FloatArray, mass: FloatArray) -> None:
        self.first, self.second = graph.rows(), graph.indices.astype(np.int64)
        apart = b[self.first] - b[self.second]
        length = np.sqrt((apart * apart).sum(axis=1))
        over_mu = 1.0 / mass[self.first] + 1.0 / mass[self.second]
        with np.errstate(all="ignore"):  # tiny weights fuse at an infinite penalty
            self.end = np.where(length > 0.0, length / (graph.w * over_mu), 0.0)
        self.next = float(self.end.min(initial=math.inf))
        self._b = b
        # A pair without distance fuses at once, so that it has no direction.
        pull = (graph.w / np.where(length > 0.0, length, 1.0))[:, None] * apart
        self._slope = np.zeros_like(b)
        self._slope[self.first] = -pull / mass[self.first, None]
        self._slope[self.second] = pull / mass[self.second, None]
        self._rise = float(graph.w @ length)
        self._bend = 0.5 * float((graph.w * graph.w) @ over_mu)

    @staticmethod
    def are_all(graph: Graph) -> bool:
        """Whether no cluster of ``graph``, which holds each edge once, is on two edges."""
        if 2 * graph.indices.size > graph.n_nodes:
            return False
        ends = np.concatenate([graph.rows(), graph.indices])
        return bool(np.bincount(ends).max(initial=0) <= 1)

    def values(self, lam: float) -> FloatArray:
        """The values (k, d) at a penalty below ``next``."""
        return self._b + lam * self._slope

    def objective(self, lam: float) -> float:
        """The objective at a penalty below ``next``, without the scatter inside the clusters."""
        return lam * (self._rise - lam * self._bend)

    def fused(self, lam: float) -> tuple[IntArray, int]:
        """Labels (k,) that join the pairs that have met at ``lam``, and their number."""
        labels = np.arange(self._b.shape[0])
        met = self.end <= lam
        labels[self.second[met]] = self.first[met]
        kept, labels = np.unique(labels, return_inverse=True)
        return labels, kept.size

"""The end of a path: the penalties from which each component of the graph is one cluster."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.sparse.csgraph import connected_components

from trials.checks import FloatArray
from trials.clustering.sparse import contraction
from trials.clustering.sparse.certificate import spanning_flow
from trials.clustering.sparse.graph import Graph


class Fused:
    """The components of a graph on points (n, d), each as one cluster.

    A component is one cluster exactly where flows on its edges, each at most penalty times weight,
    carry the distances of its points from their mean away.

    Attributes
    ----------
    objective : that of the fused components, at each penalty.
    """

    def __init__(self, x: FloatArray, half: Graph) -> None:
        self._x, self._half = x, half
        count, component = connected_components(half.matrix(), directed=False)
        self._component = component.astype(np.int64)
        mean, mass = np.empty((count, x.shape[1])), np.empty(count)
        contraction.means(x, np.ones(x.shape[0]), self._component, mean, mass)
        self._supply = x - mean[self._component]
        self.objective = 0.5 * float((self._supply * self._supply).sum())

    def is_at(self, lam: float) -> bool:
        """Whether the penalty ``lam`` is one from which each component is proved to be fused."""
        return bool(lam >= self._floor) and bool(lam >= self.penalty)

    @cached_property
    def penalty(self) -> float:
        """A penalty that fuses: the distances flow along a spanning tree of the heaviest edges."""
        half = self._half
        low, high = half.rows(), half.indices.astype(np.int64)
        n = self._x.shape[0]
        edge, size, _ = spanning_flow(n, low, high, half.w, self._component, self._supply)
        weight = np.asarray(half.matrix()[edge.min(axis=0), edge.max(axis=0)]).reshape(-1)
        with np.errstate(over="ignore"):
            return float((size / weight).max(initial=0.0)) * (1.0 + 1e-9)

    @cached_property
    def _floor(self) -> float:
        """A lower bound on `penalty`, in a fourth of its time or less.

        The points up to some place on a coordinate axis are a set whose distances must leave
        through the edges that cross that place.
        """
        x, half = self._x, self._half
        n = x.shape[0]
        order = np.argsort(x[:, int(np.argmax(x.var(axis=0)))], kind="stable")
        rank = np.empty(n, dtype=np.int64)
        rank[order] = np.arange(n)
        one, other = rank[half.rows()], rank[half.indices]
        enter = np.bincount(np.minimum(one, other), half.w, n)
        leave = np.bincount(np.maximum(one, other), half.w, n)
        # The sums round.  What they leave of an empty cut is below the number that is added.
        cut = np.cumsum(enter - leave) + 1e-12 * enter.sum()
        size = np.sqrt((np.cumsum(self._supply[order], axis=0) ** 2).sum(axis=1))
        with np.errstate(all="ignore"):
            return 0.999 * float(np.nan_to_num(size / cut).max(initial=0.0))

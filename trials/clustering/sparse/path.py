"""The path of convex clustering with sparse weights: fuse, solve, balance, split, certify.

At every penalty the solver repeats four steps.

1. *Solve* the smoothed problem on the graph of the clusters by Newton's method, from a value that
   is extrapolated from the last two penalties.
2. *Fuse* linked clusters that came within the smoothing width, and solve again on the smaller
   graph.
3. *Balance*: find flows on the edges inside the clusters that carry the pull of the rest away.
   They are feasible by construction, so that what they leave over gives the duality gap.
4. *Split* the clusters whose flows saturate, where the gap is too large, and return to 1 with a
   tenth of the width.

Flows inside clusters follow from potentials (n, d), see `trials.clustering.sparse.certificate`.
So a certificate takes O(n d) memory.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse.csgraph import connected_components

from trials.checks import BoolArray, FloatArray, IntArray
from trials.clustering.convex.problem import Scaled
from trials.clustering.sparse import balance, contraction, newton
from trials.clustering.sparse.certificate import MARGIN, spanning_flow
from trials.clustering.sparse.graph import Graph

#: Width of the smoothing over the median length of an edge: the first one.
_WIDTH = 1e-2
_SHRINK = 0.1
#: Rounds of splits at one penalty.
_ROUNDS = 8
_STEPS, _PRODUCTS = 60, 80
_BALANCE_PRODUCTS = 200


@dataclass(kw_only=True)
class Work:
    """Counts of Newton steps, Hessian products, gradients, splits and fusions."""

    newton: FloatArray = field(default_factory=lambda: np.zeros(4))
    balance: FloatArray = field(default_factory=lambda: np.zeros(4))
    splits: int = 0


class Tracer:
    """The state of a path in scaled units: points, clusters, and their flows.

    Attributes
    ----------
    x : (n, d) points.  ``graph`` : the pair weights.
    labels : (n,) clusters.  ``u`` : (k, d) their values.
    potentials : (n, d) of the flows inside the clusters.
    primal, gap : the objective and its proved excess, after `solve`.
    """

    def __init__(self, data: Scaled, graph: Graph) -> None:
        self.x = np.ascontiguousarray(data.x.T)
        self.full = graph
        n, d = self.x.shape
        rows = graph.rows()
        lengths = np.sqrt(((self.x[rows] - self.x[graph.indices]) ** 2).sum(axis=1))
        lengths = lengths[lengths > 0.0]
        self.width = _WIDTH * float(np.median(lengths)) if lengths.size else 1.0
        self.total = 0.5 * float(((self.x - self.x.mean(axis=0)) ** 2).sum())
        self.labels = np.arange(n)
        self.graph = graph
        self.mass = np.ones(n)
        self.b = self.x
        self.scatter = 0.0
        self.u = self.x.copy()
        self.before: FloatArray | None = None
        self.lam = self.lam_before = 0.0
        self.potentials = np.zeros((n, d))
        self.potentials_before: FloatArray | None = None
        self.primal = self.gap = 0.0
        self.work = Work()
        self.fusing = _fusing(self.x, graph)

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.mass.size)

    def solve(self, lam: float, tolerance: float, *, flows: bool) -> None:
        """Move to the penalty ``lam``, up to a relative gap of ``tolerance`` where that is reached.

        Without ``flows`` no cluster is split, and the gap is NaN.
        """
        if lam == 0.0 or lam >= self.fusing:
            self._trivial(lam)
            return
        start = self.labels.copy()
        last = self.u.copy()
        u = self._extrapolated(lam)
        potentials = self._extrapolated_potentials(lam)
        known = self.potentials
        self.potentials = potentials
        # The optimum is concave in the penalty.  At first all points are at home.
        bound = lam * self._reach() if self.lam == 0.0 else self.primal * lam / self.lam
        bound = max(min(bound, self.total), 1e-300)
        width = self.width
        for _ in range(_ROUNDS):
            goal = 2.0 * tolerance * bound
            self._descend(u, lam, width, 0.1 * goal if flows else goal)
            if not flows:
                self.primal, self.gap = self._objective(lam), math.nan
                break
            q = np.empty_like(self.x)
            f = self.full
            self.primal = contraction.pulls(
                f.indptr, f.indices, f.w, self.x, lam, self.labels, self.u, q
            )
            bound = self.primal
            goal = 2.0 * tolerance * bound
            x, delta, left = self._balance(q, lam, goal)
            share = goal / self.labels.size * self.mass
            self.gap = 0.5 * float(left.sum())
            if self.gap <= tolerance * self.primal or not self._split(x, delta, left > share):
                break
            self.work.splits += 1
            width *= _SHRINK
            u = self.u.copy()
        _, first = np.unique(self.labels, return_index=True)
        self.before, self.lam_before = last[start[first]], self.lam
        self.potentials_before = known + (self.potentials - potentials)
        self.lam = lam

    def _trivial(self, lam: float) -> None:
        """Penalty 0, where equal linked points are fused, or one that fuses whole components."""
        f, n = self.full, self.x.shape[0]
        labels = np.empty(n, dtype=np.int64)
        reach = np.array([0.0 if lam == 0.0 else math.inf])
        one = np.zeros(n, dtype=np.int64)
        count = contraction.near_components(f.indptr, f.indices, self.x, one, reach, labels)
        self.graph, self.b, self.mass, self.labels = f, self.x, np.ones(n), np.arange(n)
        self.scatter = 0.0
        self._merge(labels, count)
        self.u = self.b.copy()
        self.potentials = np.zeros_like(self.x)
        self.before = self.potentials_before = None
        spread = self.x - self.u[self.labels]
        self.primal, self.gap = 0.5 * float((spread * spread).sum()), 0.0
        self.lam = lam

    def balance_again(self, margin: float, tolerance: float) -> None:
        """Look for flows that keep the share ``margin`` of their limits free."""
        q, f = np.empty_like(self.x), self.full
        contraction.pulls(f.indptr, f.indices, f.w, self.x, self.lam, self.labels, self.u, q)
        self._balance(q, self.lam, 2.0 * tolerance * self.primal, margin)

    def _reach(self) -> float:
        """Sum of the weighted lengths of all edges of the clusters' graph at the last values."""
        g = self.graph
        rows = g.rows()
        step = self.u[rows] - self.u[g.indices]
        return 0.5 * float(g.w @ np.sqrt((step * step).sum(axis=1)))

    def _objective(self, lam: float) -> float:
        """The objective on the clusters' graph, with the scatter inside the clusters."""
        g, rest = self.graph, np.empty_like(self.u)
        value = newton.gradient(g.indptr, g.indices, g.w, self.b, self.mass, lam, 0.0, self.u, rest)
        return float(value) + self.scatter

    def _extrapolated(self, lam: float) -> FloatArray:
        """The values at ``lam`` if they went on as between the last two penalties."""
        if self.before is None or self.lam_before == self.lam:
            return self.u.copy()
        share = (lam - self.lam) / (self.lam - self.lam_before)
        return self.u + min(share, 1.5) * (self.u - self.before)

    def _extrapolated_potentials(self, lam: float) -> FloatArray:
        """The potentials at ``lam`` if the flows went on as between the last two penalties."""
        if self.lam == 0.0 or lam == 0.0:
            return self.potentials.copy()
        now = (self.lam / lam) * self.potentials
        if self.potentials_before is None or self.lam_before in (0.0, self.lam):
            return now
        share = min((lam - self.lam) / (self.lam - self.lam_before), 1.5)
        return now + share * (now - (self.lam_before / lam) * self.potentials_before)

    def _descend(self, u: FloatArray, lam: float, width: float, tolerance: float) -> None:
        """Solve on the clusters' graph and fuse, until no fusion is left."""
        while True:
            g = self.graph
            self._minimise(u, lam, width, tolerance)
            if self.work.newton[3] > tolerance:
                # The width is far below the distances.  Come to it from above, from the start.
                step = u[g.rows()] - u[g.indices]
                wide = math.sqrt(float((step * step).sum(axis=1).max(initial=0.0)))
                while wide > width:
                    self._minimise(u, lam, wide, tolerance)
                    wide *= _SHRINK
                self._minimise(u, lam, width, tolerance)
            labels = np.empty(self.n_clusters, dtype=np.int64)
            one = np.zeros(self.n_clusters, dtype=np.int64)
            reach = np.array([width])
            count = contraction.near_components(g.indptr, g.indices, u, one, reach, labels)
            if count == self.n_clusters:
                self.u = u
                return
            v = np.empty((count, u.shape[1]))
            mass = np.empty(count)
            contraction.means(u, self.mass, labels, v, mass)
            self.potentials += ((u - v[labels]) / width)[self.labels]
            self._merge(labels, count)
            u = v

    def _minimise(self, u: FloatArray, lam: float, width: float, tolerance: float) -> None:
        """Solve the smoothed problem on the clusters' graph, in place."""
        g = self.graph
        newton.minimise(
            g.indptr, g.indices, g.w, self.b, self.mass, lam, width, u, tolerance,
            _STEPS, _PRODUCTS, 0.1, self.work.newton,
        )  # fmt: skip

    def _merge(self, labels: IntArray, count: int) -> None:
        """Replace clusters of equal label by one."""
        g = self.graph
        indptr = np.empty(count + 1, dtype=np.int64)
        indices, w = np.empty_like(g.indices), np.empty_like(g.w)
        used = contraction.contract(g.indptr, g.indices, g.w, labels, count, indptr, indices, w)
        self.graph = Graph(indptr=indptr, indices=indices[:used].copy(), w=w[:used].copy())
        b, mass = np.empty((count, self.b.shape[1])), np.empty(count)
        contraction.means(self.b, self.mass, labels, b, mass)
        self.scatter += contraction.scatter(self.b, self.mass, labels, b)
        self.b, self.mass = b, mass
        self.labels = labels[self.labels]

    def _balance(
        self, q: FloatArray, lam: float, goal: float, margin: float = MARGIN
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Flows that balance ``q`` (n, d): local values, their widths (k,), squares left (k,).

        The local values solve convex clustering of ``q`` inside each cluster.  They vanish exactly
        where the cluster is fused.
        """
        n, f = self.x.shape[0], self.full
        start = np.empty(self.n_clusters + 1, dtype=np.int64)
        order = np.empty(n, dtype=np.int64)
        balance.members(self.labels, start, order)
        x, delta, left = np.empty_like(q), np.empty(self.n_clusters), np.empty(self.n_clusters)
        balance.balance(
            f.indptr, f.indices, f.w, self.labels, start, order, q, (1.0 - margin) * lam,
            self.width, goal / n,
            _STEPS, _BALANCE_PRODUCTS, self.potentials, x, delta, left, self.work.balance,
        )  # fmt: skip
        return x, delta, left

    def _split(self, x: FloatArray, delta: FloatArray, bad: BoolArray) -> bool:
        """Split the clusters ``bad`` (k,) along saturated edges.  False where none is split."""
        g = self.full
        labels = np.empty_like(self.labels)
        reach = np.where(bad, delta, np.inf)
        count = contraction.near_components(g.indptr, g.indices, x, self.labels, reach, labels)
        if count == self.n_clusters:
            return False
        n = labels.size
        v, mass = np.empty((count, x.shape[1])), np.empty(count)
        contraction.means(self.u[self.labels] + x, np.ones(n), labels, v, mass)
        shift = np.empty_like(v)
        contraction.means(self.potentials, np.ones(n), labels, shift, mass)
        self.potentials -= shift[labels]
        self.graph, self.b, self.mass, self.scatter = self.full, self.x, np.ones(n), 0.0
        self.labels = np.arange(n)
        self._merge(labels, count)
        self.u = v
        return True


def _fusing(x: FloatArray, graph: Graph) -> float:
    """A penalty from which each component of the graph is one cluster.

    There the points' distances from their mean flow along a spanning tree of the heaviest edges.
    """
    n = x.shape[0]
    rows = graph.rows()
    half = rows < graph.indices
    low, high, w = rows[half], graph.indices[half].astype(np.int64), graph.w[half]
    _, component = connected_components(graph.matrix(), directed=False)
    mean, mass = np.empty((int(component.max()) + 1, x.shape[1])), np.empty(component.max() + 1)
    contraction.means(x, np.ones(n), component.astype(np.int64), mean, mass)
    supply = x - mean[component]
    edge, size, _ = spanning_flow(n, low, high, w, component, supply)
    weight = np.asarray(graph.matrix()[edge[0], edge[1]]).reshape(-1)
    with np.errstate(over="ignore"):
        return float((size / weight).max(initial=0.0)) * (1.0 + 1e-9)

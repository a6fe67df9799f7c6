"""The path of convex clustering with sparse weights: predict, solve, fuse, balance, split, certify.

At every penalty the solver repeats these steps.

1. *Predict* the values from their speed between the last two penalties, and fuse linked clusters
   that meet on the way.  Penalties that lie far apart are not predicted.
2. *Solve* the smoothed problem on the graph of the clusters by Newton's method.  Where a step would
   carry close clusters through each other, fuse them and go on with the step.
3. *Fuse* linked clusters that came within the smoothing width, and solve again.
4. *Balance*: find flows on the edges inside the clusters that carry the pull of the rest away.
   They are feasible by construction, so that what they leave over gives the duality gap.
5. *Split* the clusters whose flows saturate, where the gap is too large, and return to 2 with a
   tenth of the width.

Without flows the path ends each penalty after 3.  A penalty far above the last one is approached in
steps, because thousands of fusions at once stall Newton's method.  These steps fuse roughly, and at
the penalty itself the parts that should not have been fused are released
(`trials.clustering.sparse.release`).

Flows inside clusters follow from potentials (n, d), see `trials.clustering.sparse.certificate`.
So a certificate takes O(n d) memory.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from trials.checks import BoolArray, FloatArray, IntArray
from trials.clustering.convex.problem import Scaled
from trials.clustering.sparse import balance, contraction, newton
from trials.clustering.sparse.certificate import MARGIN
from trials.clustering.sparse.fusing import Fused
from trials.clustering.sparse.graph import Graph, join_entries, reorder
from trials.clustering.sparse.pairs import Pairs
from trials.clustering.sparse.release import release
from trials.clustering.sparse.rows import lanes_of, pad

#: Points of a leaf of the tree that orders the points.
_LEAF = 8
#: Width of the smoothing over the median length of an edge: the first one.
_WIDTH = 1e-3
_SHRINK = 0.1
#: Clusters that a Newton step carries through each other are fused up to so many widths apart.  A
#: prediction that misses by more on average is not followed.
_NEAR = 5.0
#: Tolerance of the first solution of a penalty, before fusions, over that of the last one.
_ROUGH = 30.0
#: Largest ratio of two penalties without one between them, and the relative gap of those between.
_RATIO, _BETWEEN = 5.0, 1e-3
#: Width of the smoothing at those, over the usual one.
_WIDE = 30.0
#: A value below so much of that of the fused components is below it without rounding.
_SAME = 1.0 - 1e-9
#: Rounds of splits at one penalty.
_ROUNDS = 8
_STEPS, _PRODUCTS = 60, 80
#: Halvings of a step that goes too far.
_HALVINGS = 30
#: Newton steps between two fusions, where there are many, and how often they are repeated.
_FEW_STEPS, _PASSES = 8, 6


@dataclass(kw_only=True)
class Work:
    """Counts (5,) of `newton.minimise`, for the clusters and inside them, and of splits."""

    newton: FloatArray = field(default_factory=lambda: np.zeros(5))
    balance: FloatArray = field(default_factory=lambda: np.zeros(5))
    splits: int = 0


class Tracer:
    """The state of a path in scaled units: points, clusters, and their flows.

    Inside, the points are in an order that keeps neighbours close in memory: that of the leaves of
    a k-d tree.

    Attributes
    ----------
    given : (n, d) the points as given.
    order : (n,) the given points in the order of the rows below.
    x : (n, d) points.  Columns of zeros make d a multiple of the ``lanes``.
    full : the pair weights.  ``graph`` : those between clusters, once each.
    labels : (n,) clusters.  ``u`` : (k, d) their values.
    potentials : (n, d) of the flows inside the clusters.
    primal, gap : the objective and its proved excess, after `solve`.
    """

    def __init__(self, data: Scaled, graph: Graph) -> None:
        points = np.ascontiguousarray(data.x.T)
        self.given = data.points
        self.dimension = points.shape[1]
        self.lanes = lanes_of(self.dimension)
        self.order = np.asarray(cKDTree(points, leafsize=_LEAF).indices, dtype=np.int64)
        self.x = pad(points[self.order])
        self.full = graph = reorder(graph, self.order)
        n, d = self.x.shape
        self.half = half = graph.upper()
        rows = half.rows()
        lengths = np.empty(half.w.size)
        contraction.lengths(half.indptr, half.indices, self.x, lengths)
        #: The edges whose ends look equal in the unit of all points.
        self.short = np.flatnonzero(lengths == 0.0)
        #: Sum of the weighted lengths of all edges between the points.
        self.reach = float(half.w @ lengths)
        lengths = lengths[lengths > 0.0]
        length = float(np.median(lengths)) if lengths.size else 1.0
        self.width = _WIDTH * length
        strength = np.bincount(rows, half.w, n) + np.bincount(half.indices, half.w, n)
        #: Up to this penalty no point moves further than the median length of an edge.
        self.small = length / float(strength.max(initial=0.0) or 1.0)
        self.total = 0.5 * float(((self.x - self.x.mean(axis=0)) ** 2).sum())
        self.labels = np.arange(n)
        self.graph = half
        self.end = Fused(self.x, half)
        #: The clusters without a link, and the graph in which they are.
        self.alone = np.empty(0, dtype=np.int64)
        self.alone_in: Graph | None = None
        #: Pairs of linked clusters, where there are no other links, and the graph they are in.
        self.pairs: Pairs | None = None
        self.pairs_in: Graph | None = None
        self.mass = np.ones(n)
        self.b = self.x
        self.scatter = 0.0
        self.u = self.last = self.guess = self.x
        #: Error of the last prediction.  Nothing is known of it before one was compared.
        self.miss = math.inf
        self.speed: FloatArray | None = None
        #: Whether a far penalty is approached, and the partitions (n,) on the way.
        self.approaching = False
        self.stages: list[IntArray] = []
        #: Whether the potentials are kept for flows.
        self.has_flows = False
        self.lam = self.lam_before = 0.0
        self.potentials = np.zeros((n, d))
        self.potentials_before: FloatArray | None = None
        self.primal = self.gap = 0.0
        self.work = Work()

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.mass.size)

    def partition(self) -> tuple[IntArray, IntArray]:
        """Clusters (n,) of the given points, numbered by first appearance, and their rows in u."""
        labels = np.empty_like(self.labels)
        which = np.empty(self.n_clusters, dtype=np.int64)
        contraction.given_order(self.order, self.labels, labels, which)
        return labels, which

    def given_potentials(self) -> FloatArray:
        """The potentials (n, d) of the given points."""
        out = np.empty((self.order.size, self.dimension))
        out[self.order] = self.potentials[:, : self.dimension]
        return out

    def values(self) -> FloatArray:
        """The values (k, d) of the clusters."""
        return self.u[:, : self.dimension]

    def solve(self, lam: float, tolerance: float, *, flows: bool) -> None:
        """Move to the penalty ``lam``, up to a relative gap of ``tolerance`` where that is reached.

        Without ``flows`` no cluster is split, and the gap is NaN, or 0 where it is known.
        """
        if self.lam <= lam and self.is_at_the_end(tolerance, flows=flows):
            self.lam_before, self.lam = self.lam, lam
            return
        start = max(self.lam, self.small)
        if lam == 0.0 or (lam > _RATIO * self.lam and self.end.is_at(lam)):
            self._trivial(lam)
            return
        self.stages, self.has_flows = [], flows
        if not flows and self._find_pairs():
            self._solve_pairs(lam)
            return
        if lam > _RATIO * start:
            self._approach(lam, start, max(tolerance, _BETWEEN))
        self._solve(lam, tolerance, flows)
        # A value below that of the fused components shows that they are not all fused.
        if self.primal < _SAME * self.end.objective:
            return
        if not self.is_at_the_end(tolerance, flows=flows) and self.end.is_at(lam):
            self._trivial(lam)

    def _find_pairs(self) -> bool:
        """Whether each cluster is linked to at most one other."""
        g = self.graph
        if self.pairs_in is not g:
            self.pairs = Pairs(g, self.b, self.mass) if Pairs.are_all(g) else None
            self.pairs_in = g
        return self.pairs is not None

    def _solve_pairs(self, lam: float) -> None:
        """Solve and fuse clusters in pairs, exactly."""
        if self.pairs is not None and lam >= self.pairs.next:
            self._merge(*self.pairs.fused(lam))
            self._find_pairs()
        assert self.pairs is not None  # fusions leave pairs
        self.u = self.last = self.guess = self.pairs.values(lam)
        self.primal, self.gap = self.scatter + self.pairs.objective(lam), math.nan
        self.speed = None
        self.lam_before, self.lam = self.lam, lam

    def _approach(self, lam: float, start: float, tolerance: float) -> None:
        """Solve roughly, and with wide smoothing, at penalties from ``start`` up to a far one."""
        steps = math.ceil(math.log(lam / start) / math.log(_RATIO))
        self.approaching, width = True, self.width
        self.width *= _WIDE
        for i in range(0 if self.lam < start else 1, steps):
            self._solve(start * (lam / start) ** (i / steps), tolerance, False)
            # A rough solution may be the prediction itself.
            self.miss = math.inf
        self.approaching, self.width = False, width
        self.stages.append(self.labels)

    def is_at_the_end(self, tolerance: float, *, flows: bool) -> bool:
        """Whether `solve` would change nothing at larger penalties: each component is one cluster.

        The flows that certified it are feasible at each larger penalty, and leave the same gap.
        """
        if self.graph.indices.size or self.lam == 0.0:
            return False
        return not flows or self.gap <= tolerance * self.primal

    def _solve(self, lam: float, tolerance: float, flows: bool) -> None:
        """`solve` in one step."""
        u = self._predict(lam)
        known = self.potentials
        if self.has_flows:
            self.potentials = self._extrapolated_potentials(lam) if flows else known.copy()
        # The optimum is concave in the penalty.  At first all points are at home.
        bound = lam * self.reach if self.lam == 0.0 else self.primal * lam / self.lam
        bound = max(min(bound, self.total), 1e-300)
        width = self.width
        for _ in range(_ROUNDS):
            goal = 2.0 * tolerance * bound
            self._settle(u, lam, width, goal, flows)
            if self.stages and not self.approaching:
                self._release(lam, goal, flows)
            if not flows:
                self.primal, self.gap = self._objective(lam), math.nan
                break
            q = self._pulls(lam)
            bound = self.primal
            goal = 2.0 * tolerance * bound
            found = self._balance(q, lam, goal)
            self.gap = 0.5 * float(found.left.sum())
            if self.gap <= tolerance * self.primal:
                break
            bad = found.left > goal / self.labels.size * self.mass
            if not self._split(found.x, found.delta, bad):
                break
            self.work.splits += 1
            width *= _SHRINK
            u = self.u.copy()
        if self.speed is not None:
            self.miss = self._measure_miss()
        self.speed = (self.u - self.last) / (lam - self.lam) if lam != self.lam > 0.0 else None
        self.lam_before, self.lam = self.lam, lam
        self.potentials_before = known

    def _trivial(self, lam: float) -> None:
        """Penalty 0, where equal linked points are fused, or one that fuses whole components."""
        half = self.half
        if lam == 0.0:
            # Points that look equal may differ in their own unit.
            own = self.given[self.order]
            low = np.searchsorted(half.indptr, self.short, side="right") - 1
            high = half.indices[self.short].astype(np.int64)
            same = (own[low] == own[high]).all(axis=1)
            edges = join_entries(np.ones(int(same.sum())), low[same], high[same], half.n_nodes)
        else:
            edges = half.matrix()
        count, labels = connected_components(edges, directed=False)
        self._start_again()
        if count < half.n_nodes:
            self._merge(labels.astype(np.int64), count, self.x)
        self.u = self.last = self.b.copy()
        self.potentials = np.zeros_like(self.x)
        self.speed = self.potentials_before = None
        spread = self.x - self.u[self.labels]
        self.primal, self.gap = 0.5 * float((spread * spread).sum()), 0.0
        self.lam = lam

    def _start_again(self) -> None:
        """Return to one cluster for each point."""
        n = self.x.shape[0]
        self.graph, self.b, self.mass, self.labels = self.half, self.x, np.ones(n), np.arange(n)
        self.scatter, self.speed = 0.0, None
        self.last = self.guess = self.x

    def balance_again(self, margin: float, tolerance: float) -> None:
        """Look for flows that keep the share ``margin`` of their limits free."""
        goal = 2.0 * tolerance * self.primal
        self._balance(self._pulls(self.lam), self.lam, goal, margin)

    def _pulls(self, lam: float) -> FloatArray:
        """What the flows inside clusters must carry away (n, d).  Sets the objective."""
        f = self.full
        q: FloatArray = np.empty(self.x.shape)
        self.primal = contraction.pulls(f, self.x, lam, self.labels, self.u, q)
        return q

    def _objective(self, lam: float) -> float:
        """The objective on the clusters' graph, with the scatter inside the clusters."""
        return self._evaluate(self.u, lam, 0.0) + self.scatter

    def _evaluate(self, u: FloatArray, lam: float, width: float) -> float:
        """The smoothed objective at the values ``u`` (k, d) on the clusters' graph."""
        self.work.newton[2] += 1
        return float(newton.gradient(self.lanes, self._problem(lam, width), u, np.empty_like(u)))

    def _problem(self, lam: float, width: float) -> newton.Smoothed:
        return newton.Smoothed(self.graph, self.b, self.mass, float(lam), float(width))

    def _predict(self, lam: float) -> FloatArray:
        """The values (k, d) at ``lam`` if they go on as between the last two penalties.

        Linked clusters that meet on the way are fused: most fusions are found here.  Where the last
        prediction missed by more than the distance of fusions, it would fuse clusters that never
        meet.  So the next one is only compared.
        """
        self.last = self.guess = self.u
        if self.speed is None:
            return np.array(self.u)
        share = (lam - self.lam) / (self.lam - self.lam_before)
        self.guess = u = self.u + min(share, 1.5) * (self.lam - self.lam_before) * self.speed
        # The error of a prediction grows as the square of its length.
        if self.miss * max(1.0, share) ** 2 > _NEAR * self.width:
            return np.array(self.u)
        labels, count = self._meeting(self.u, u, self.width, math.inf)
        return u if count == self.n_clusters else self._merge(labels, count, u)[0]

    def _measure_miss(self) -> float:
        """Root mean square, over the points, of the error of the predicted values."""
        square = float(self.mass @ ((self.u - self.guess) ** 2).sum(axis=1))
        return math.sqrt(square / self.labels.size)

    def _extrapolated_potentials(self, lam: float) -> FloatArray:
        """The potentials (n, d) at ``lam`` if flows go on as between the last two penalties."""
        if self.lam == 0.0 or lam == 0.0:
            return self.potentials.copy()
        now = (self.lam / lam) * self.potentials
        if self.potentials_before is None or self.lam_before in (0.0, self.lam):
            return now
        share = min((lam - self.lam) / (self.lam - self.lam_before), 1.5)
        return now + share * (now - (self.lam_before / lam) * self.potentials_before)

    def _settle(
        self, u: FloatArray, lam: float, width: float, tolerance: float, flows: bool
    ) -> None:
        """Solve and fuse from the values ``u`` (k, d), more exactly where flows are to follow."""
        if flows:
            self._descend(u, lam, width, 0.1 * tolerance)
        else:
            self._descend_once(u, lam, width, tolerance)

    def _descend(self, u: FloatArray, lam: float, width: float, tolerance: float) -> None:
        """Solve on the clusters' graph from ``u`` (k, d) and fuse, until no fusion is left."""
        while True:
            u = self._minimise_from_above(u, lam, width, tolerance)
            v = self._fuse(u, width)
            if v is u:
                self.u = self._at_home(u)
                return
            u = v

    def _descend_once(self, u: FloatArray, lam: float, width: float, tolerance: float) -> None:
        """Solve roughly, fuse, solve, and fuse.  The next penalty will correct the last values.

        Where thousands of clusters fuse at once, the rough solution takes many steps.  Fusions
        between them shrink the problem.
        """
        rough = _ROUGH * tolerance
        for _ in range(_PASSES):
            if self.approaching:
                self.stages.append(self.labels)
            u = self._minimise_and_fuse(u, lam, width, rough, _FEW_STEPS)
            done = self.work.newton[3] <= rough
            v = self._fuse(u, width)
            if done:
                break
            u = v
        if v is not u or self.work.newton[3] > tolerance:
            v = self._fuse(self._minimise_and_fuse(v, lam, width, tolerance, _STEPS), width)
        self.u = self._at_home(v)

    def _release(self, lam: float, tolerance: float, flows: bool) -> None:
        """Split off the loose parts of clusters, and solve again, where there are any."""
        q = self._pulls(lam)
        labels, u = release(self.full, self.labels, self.stages, q, lam, self.u)
        self.stages = []
        if u.shape[0] > self.n_clusters:
            self._regroup(labels, u.shape[0])
            self._settle(u, lam, self.width, tolerance, flows)

    def _regroup(self, labels: IntArray, count: int) -> None:
        """Replace the clusters by the finer ones of ``labels`` (n,), whose values are still old."""
        last, guess = self.last[self.labels], self.guess[self.labels]
        self._start_again()
        self.last, self.guess = last, guess
        self._merge(labels, count, self.x)

    def _at_home(self, u: FloatArray) -> FloatArray:
        """The values ``u`` (k, d), and the mean of its points for each cluster without a link."""
        g = self.graph
        if self.alone_in is not g:
            linked = np.diff(g.indptr) > 0
            linked[g.indices] = True
            self.alone_in, self.alone = g, np.flatnonzero(~linked)
        if self.alone.size:
            u = u.copy()
            u[self.alone] = self.b[self.alone]
        return u

    def _minimise_and_fuse(
        self, u: FloatArray, lam: float, width: float, tolerance: float, steps: int
    ) -> FloatArray:
        """The minimiser (k, d) of the smoothed problem, from ``u``, by at most so many steps.

        Clusters that a step would carry through each other are fused, if they are close.  The step
        goes on without them, as far as the objective decreases.
        """
        step = np.zeros_like(u)
        last = self.work.newton[0] + steps
        while self._minimise(
            u, lam, width, tolerance, int(last - self.work.newton[0]), step, stop=True
        ):
            labels, count = self._meeting(u, u + step, width, _NEAR * width)
            share = 0.5
            if count < self.n_clusters:
                u, step = self._merge(labels, count, u, step)
                share = 1.0
            u = self._along(u, step, share, lam, width)
        return u

    def _along(
        self, u: FloatArray, step: FloatArray, share: float, lam: float, width: float
    ) -> FloatArray:
        """The first of u + share step, u + share/2 step, ... (k, d) that lowers the objective."""
        v = np.empty_like(u)
        f = self._problem(lam, width)
        if newton.go_along(self.lanes, f, u, step, share, _HALVINGS, v, self.work.newton):
            return v
        return u

    def _minimise_from_above(
        self, u: FloatArray, lam: float, width: float, tolerance: float
    ) -> FloatArray:
        """`_minimise_and_fuse`, and if it fails, through larger widths than this small one."""
        u = self._minimise_and_fuse(u, lam, width, tolerance, _STEPS)
        if self.work.newton[3] > tolerance:
            g = self.graph
            step = u[g.rows()] - u[g.indices]
            wide = math.sqrt(float((step * step).sum(axis=1).max(initial=0.0)))
            while wide > width:
                self._minimise(u, lam, wide, tolerance, _STEPS, np.zeros_like(u))
                wide *= _SHRINK
            self._minimise(u, lam, width, tolerance, _STEPS, np.zeros_like(u))
        return u

    def _minimise(
        self,
        u: FloatArray,
        lam: float,
        width: float,
        tolerance: float,
        steps: int,
        step: FloatArray,
        *,
        stop: bool = False,
    ) -> bool:
        """Solve the smoothed problem on the clusters' graph, in place, from the last ``step`` on.

        With ``stop`` it stops before a full step that goes too far, and returns True.
        """
        f = self._problem(lam, width)
        limits = newton.Limits(float(tolerance), steps, _PRODUCTS, stop)
        return bool(newton.minimise(self.lanes, f, u, limits, step, self.work.newton))

    def _fuse(self, u: FloatArray, width: float) -> FloatArray:
        """The values after linked clusters within ``width`` are fused: ``u`` if there are none."""
        g = self.graph
        labels = np.empty(self.n_clusters, dtype=np.int64)
        one = np.zeros(self.n_clusters, dtype=np.int64)
        reach = np.array([width])
        count = contraction.near_components(g.indptr, g.indices, u, one, reach, labels)
        if count == self.n_clusters:
            return u
        before = self.labels
        (v,) = self._merge(labels, count, u)
        if self.has_flows:
            self.potentials += ((u - v[labels]) / width)[before]
        return v

    def _meeting(
        self, old: FloatArray, new: FloatArray, width: float, reach: float
    ) -> tuple[IntArray, int]:
        """Labels (k,) that join the linked clusters that meet between values (k, d)."""
        g = self.graph
        labels = np.empty(self.n_clusters, dtype=np.int64)
        count = contraction.meeting_components(g.indptr, g.indices, old, new, width, reach, labels)
        return labels, int(count)

    def _merge(self, labels: IntArray, count: int, *values: FloatArray) -> list[FloatArray]:
        """Replace clusters of equal label by one.  Returns the means of their ``values`` (k, d)."""
        g = self.graph
        indptr = np.empty(count + 1, dtype=np.int64)
        indices, w = np.empty_like(g.indices), np.empty_like(g.w)
        used = contraction.contract(g.indptr, g.indices, g.w, labels, count, indptr, indices, w)
        self.graph = Graph(indptr=indptr, indices=indices[:used].copy(), w=w[:used].copy())
        mass = np.empty(count)
        means = []
        for value in (self.b, self.last, self.guess, *values):
            means.append(np.empty((count, value.shape[1])))
            contraction.means(value, self.mass, labels, means[-1], mass)
        b, self.last, self.guess = means[:3]
        self.scatter += contraction.scatter(self.b, self.mass, labels, b)
        self.b, self.mass = b, mass
        self.labels = labels[self.labels]
        return means[3:]

    def medium(self) -> balance.Medium:
        """Where flows inside clusters run."""
        return balance.Medium(self.lanes, self.full, self.width, self.work.balance)

    def _balance(
        self, q: FloatArray, lam: float, goal: float, margin: float = MARGIN
    ) -> balance.Flows:
        """`find_flows` in the clusters, from the potentials as they are."""
        clusters = self.labels, self.n_clusters
        return balance.find_flows(self.medium(), clusters, q, self.potentials, lam, goal, margin)

    def _split(self, x: FloatArray, delta: FloatArray, bad: BoolArray) -> bool:
        """Split the clusters ``bad`` (k,) along saturated edges.  False where none is split."""
        g = self.half
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
        self._regroup(labels, count)
        self.u = v
        return True

r"""The whole convex clustering path with equal weights, from K = m to K = 1, as a tree.

Clusters never split (`trials.clustering.convex.certificate`, fact 1), and whether a set of points
is fused at a penalty does not depend on the other points.  So every node S of the tree has one
number, the smallest penalty at which S alone fuses,

.. math::

    \lambda_S = \max_u \frac{\sum_k n_k \langle b_k, u_k \rangle}
                       {\sum_{k<l} n_k n_l |u_k - u_l|}

(gauge duality), and the subtrees are independent problems.  Any u gives a lower bound, any flows an
upper bound; the minimiser at lambda < lambda_S, whose direction tends to the maximiser as lambda
grows, gives both, with relative errors of second and first order in 1 - lambda/lambda_S.  Raising
lambda to the lower bound again and again therefore converges quadratically.  Sets that fuse on the
way are replaced by their centroids at once, and put aside as problems of their own: all later
solves are warm starts on merged centroids.

More than two clusters may meet at once, and for generic data in d >= 2 they do: three points whose
triangle is acute enough fuse in one event, so the tree is not binary.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trials.checks import InvalidParameter
from trials.clustering.convex import kernels
from trials.clustering.convex.certificate import rounding
from trials.clustering.convex.problem import (
    ConvexClustering,
    Scaled,
    canonical,
    checked_penalty,
    scaled,
)
from trials.clustering.convex.solver import (
    Nodes,
    Outcome,
    Solver,
    Step,
    duplicate_steps,
    finish,
    partition,
    scaled_penalty,
)

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Solves spent on one node of the tree before its bracket is left as it is.
_MAX_SOLVES = 40


@dataclass(frozen=True, kw_only=True)
class Merge:
    """One event of the path: some clusters become one.

    Attributes
    ----------
    node : number of the new cluster, m + position in the path; the points are 0..m-1.
    children : numbers of the clusters that meet, two or more.
    size : points in the new cluster.
    penalty : the breakpoint; 0 for duplicates.
    lower, upper : proved bracket: below ``lower`` the children are not all one, from ``upper`` on
        they are.
    apart : largest penalty at which the children were proved distinct, pair by pair.
    """

    node: int
    children: tuple[int, ...]
    size: int
    penalty: float
    lower: float
    upper: float
    apart: float


@dataclass(frozen=True, kw_only=True)
class ClusterPath:
    """The path of a data set: events in order, and the solution at any penalty.

    Attributes
    ----------
    points : (m, d).
    merges : events by increasing penalty; a child's event always comes before its parent's.
    """

    points: FloatArray
    merges: tuple[Merge, ...]
    _steps: tuple[Step, ...] = field(repr=False)
    _data: Scaled = field(repr=False)

    @property
    def breakpoints(self) -> FloatArray:
        """(n_events,) penalties at which the number of clusters falls."""
        return np.array([merge.penalty for merge in self.merges])

    def n_clusters(self, penalty: float) -> int:
        """Number of clusters at a penalty (at a breakpoint: after the event)."""
        penalty = checked_penalty(penalty)
        lost = sum(len(e.children) - 1 for e in self.merges if e.penalty <= penalty)
        return int(self.points.shape[0]) - lost

    def labels(self, penalty: float) -> IntArray:
        """(m,) partition at a penalty, numbered by first points; O(m)."""
        penalty = checked_penalty(penalty)
        steps = [s for s, e in zip(self._steps, self.merges, strict=True) if e.penalty <= penalty]
        return canonical(partition(self.points.shape[0], steps, _roots(self.points, steps)))

    def solve(self, penalty: float) -> ConvexClustering:
        """The certified solution at a penalty, from the centroids of the clusters fused by then."""
        penalty = checked_penalty(penalty)
        m = self.points.shape[0]
        steps = [s for s, e in zip(self._steps, self.merges, strict=True) if e.upper <= penalty]
        roots = _roots(self.points, steps)
        index = partition(m, steps, roots)
        points = Nodes(ids=np.arange(m), x=self._data.x, mass=np.ones(m))
        x, mass = np.empty((self.points.shape[1], roots.size)), np.empty(roots.size)
        kernels.centroids(points.x, points.mass, index, x, mass)
        nodes = Nodes(ids=roots, x=x, mass=mass)
        lam = scaled_penalty(penalty, self._data.scale)
        if lam == 0.0 or nodes.size == 1:
            outcome = Outcome.trivial(nodes)
        else:
            outcome = Solver(nodes, lam, n_points=m, next_id=2 * m).run()
        outcome.steps[:0] = steps
        return finish(self._data, penalty, outcome)

    def linkage(self) -> FloatArray:
        """The tree as a SciPy linkage matrix (m - 1, 4), for ``scipy.cluster.hierarchy``.

        An event of s clusters becomes s - 1 rows of equal height.
        """
        m = self.points.shape[0]
        rows: list[tuple[float, float, float, float]] = []
        number = {i: i for i in range(m)}
        size = dict.fromkeys(range(m), 1)
        for event in self.merges:
            first, *others = event.children
            at, total = number[first], size[first]
            for child in others:
                total += size[child]
                rows.append((at, number[child], event.penalty, total))
                at = m + len(rows) - 1
            number[event.node], size[event.node] = at, total
        return np.array(rows).reshape(-1, 4)


def _roots(points: FloatArray, steps: list[Step]) -> IntArray:
    """Nodes that are no child of the steps."""
    used = {int(c) for step in steps for c in step.children}
    nodes = [*range(points.shape[0]), *(step.node for step in steps)]
    return np.array([n for n in nodes if n not in used], dtype=np.int64)


@dataclass(kw_only=True)
class _Event:
    """A node of the tree while it is being computed, in scaled units."""

    node: int
    children: IntArray
    size: int
    lower: float
    penalty: float
    upper: float
    apart: float
    potentials: FloatArray | None
    strength: float


class _Tree:
    """Computes the events of a set of distinct nodes."""

    def __init__(self, n_points: int, next_id: int, tolerance: float) -> None:
        self.n_points = n_points
        self.next_id = next_id
        self.tolerance = tolerance
        self.events: list[_Event] = []
        self.todo: list[tuple[Nodes, int]] = []

    def run(self, nodes: Nodes) -> list[_Event]:
        if nodes.size > 1:
            self._push(nodes)
        while self.todo:
            self._merge_time(*self.todo.pop())
        return self.events

    def _push(self, nodes: Nodes) -> int:
        node = self.next_id
        self.next_id += 1
        self.todo.append((nodes, node))
        return node

    def _advance(self, nodes: Nodes, lam: float, start: FloatArray) -> tuple[Nodes, Outcome]:
        """Solve at ``lam``; sets that fused become nodes here and problems of their own."""
        solver = Solver(nodes, lam, n_points=self.n_points, next_id=4 * self.n_points)
        outcome = solver.run(start)
        merged = outcome.nodes
        if merged.size == nodes.size:
            return nodes, outcome
        if merged.size == 1:  # within rounding of the event itself, which is not for here
            outcome.separated = False
            return nodes, outcome
        # Positions, not numbers, are what the steps of this solve are resolved against.
        lost = {int(c): s.node for s in outcome.steps for c in s.children}
        root = []
        for i in nodes.ids.tolist():
            while i in lost:
                i = lost[i]
            root.append(i)
        for k, new in enumerate(merged.ids.tolist()):
            index = np.flatnonzero(np.array(root) == new)
            if index.size > 1:
                merged.ids[k] = self._push(nodes.take(index))
        return merged, outcome

    def _merge_time(self, nodes: Nodes, node: int) -> None:
        """Bracket the penalty at which all nodes have become one, and record the event."""
        slack = 4.0 * rounding(self.n_points, nodes.x.shape[0])
        # About their own mean, numbers keep their relative accuracy while the nodes converge.
        nodes = Nodes(ids=nodes.ids, x=_centred(nodes, nodes.x), mass=nodes.mass)
        x = nodes.x
        apart, lower, bound, upper = 0.0, 0.0, 0.0, math.inf
        potentials, strength = None, 0.0
        u, lam = x, 0.0
        ratio = np.empty(3)
        closest = 0.1 * self.tolerance
        for _ in range(_MAX_SOLVES):
            x = nodes.x
            for tau, y in ((0.0, None), (lam, _unit_potentials(u))):
                flow = kernels.largest_flow(x, nodes.mass, x if y is None else y, tau)
                if flow < upper:
                    upper, potentials, strength = flow, y, tau
            kernels.fusion_ratio(x, nodes.mass, u, ratio)
            if ratio[0] > bound:
                bound = float(ratio[0])
                sizes = math.sqrt(float(ratio[2] * (nodes.mass @ (x * x).sum(axis=0))))
                lower = bound - slack * (bound + sizes / float(ratio[1]))
            width = max(0.0, 1.0 - bound / upper)
            if width <= self.tolerance or closest > 1e-2:
                break
            gap = max(min(0.05, width * width), closest)
            lam = bound * (1.0 - gap)
            grow = float(ratio[1]) * (float(ratio[0]) - lam) / float(ratio[2])
            before = nodes.size
            nodes, outcome = self._advance(nodes, lam, max(grow, 1e-3) * u)
            if nodes.size < before:  # the old flows ran between nodes that are no more
                upper, potentials, strength = math.inf, None, 0.0
            if outcome.separated:
                apart = lam
                u = _centred(nodes, outcome.v)
            else:  # too close to the event for double precision: approach it less
                closest = 10.0 * gap
        # Room for the rounding allowance of the verifier, so that the proof holds from upper on.
        bracket = upper * (1.0 + slack) + slack / float(nodes.mass.sum())
        self.events.append(
            _Event(
                node=node,
                children=nodes.ids,
                size=round(float(nodes.mass.sum())),
                lower=lower,
                penalty=min(bound, bracket),
                upper=bracket,
                apart=apart,
                potentials=potentials,
                strength=strength,
            )
        )


def _centred(nodes: Nodes, values: FloatArray) -> FloatArray:
    mean = (values @ nodes.mass) / nodes.mass.sum()
    return np.ascontiguousarray(values - mean[:, None])


def _unit_potentials(u: FloatArray) -> FloatArray:
    """u stretched so far that psi of every difference is a unit vector to rounding."""
    squares = np.empty((u.shape[1], u.shape[1]))
    kernels.pair_squares(u, squares)
    np.fill_diagonal(squares, np.inf)
    smallest = math.sqrt(float(squares.min()))
    return u * (1e9 / smallest) if smallest > 0.0 else u


def convex_clustering_path(points: ArrayLike, *, tolerance: float = 1e-8) -> ClusterPath:
    """The whole path of convex clustering with equal weights.

    Parameters
    ----------
    points : (m, d) finite array, any scale.
    tolerance : relative width of the proved brackets of the breakpoints, aimed at; an event whose
        bracket stays wider (several events within rounding of each other) reports it honestly.

    Returns
    -------
    ClusterPath
        Events in order, with proved brackets; the certified solution at any penalty.

    Raises
    ------
    trials.checks.InvalidParameter
        Points that are not finite or not a matrix; a tolerance outside [1e-12, 1e-2].

    Notes
    -----
    A handful of Newton solves an event, each O(K^2 d) a conjugate-gradient step and O(K^3) a
    preconditioner on the K nodes of its own subtree; O(m^2 + m d) memory.

    References
    ----------
    Hocking, Joulin, Bach & Vert (2011), Clusterpath; Armacki et al. (2024), Appendix C.
    """
    if not 1e-12 <= tolerance <= 1e-2:
        raise InvalidParameter(f"tolerance={tolerance} must lie in [1e-12, 1e-2]")
    data = scaled(points)
    m = data.points.shape[0]
    nodes, steps = duplicate_steps(data)
    tree = _Tree(m, m + len(steps), tolerance)
    events = [
        _Event(
            node=step.node,
            children=step.children,
            size=step.children.size,
            lower=0.0,
            penalty=0.0,
            upper=0.0,
            apart=0.0,
            potentials=None,
            strength=0.0,
        )
        for step in steps
    ] + tree.run(nodes)
    return _assemble(data, events)


def _assemble(data: Scaled, events: list[_Event]) -> ClusterPath:
    """Order the events, number their nodes m, m + 1, ... and return the record."""
    m, scale = data.points.shape[0], data.scale
    by_node = {event.node: event for event in events}
    # By size a child comes before its parent; rounding must not put its penalty after.
    for event in sorted(events, key=lambda e: e.size):
        inner = [by_node[c] for c in event.children.tolist() if c in by_node]
        event.penalty = max([event.penalty, *(e.penalty for e in inner)])
        event.upper = max([event.upper, *(e.upper for e in inner)])
        event.lower = max([event.lower, *(e.lower for e in inner)])
    events = sorted(events, key=lambda e: (e.penalty, e.size))
    number = {i: i for i in range(m)} | {e.node: m + t for t, e in enumerate(events)}
    merges, steps = [], []
    for event in events:
        node = number[event.node]
        children = np.array([number[c] for c in event.children.tolist()], dtype=np.int64)
        merges.append(
            Merge(
                node=node,
                children=tuple(children.tolist()),
                size=event.size,
                penalty=event.penalty * scale,
                lower=event.lower * scale,
                upper=event.upper * scale,
                apart=event.apart * scale,
            )
        )
        steps.append(
            Step(
                children=children,
                potentials=event.potentials,
                strength=event.strength,
                node=node,
            )
        )
    return ClusterPath(points=data.points, merges=tuple(merges), _steps=tuple(steps), _data=data)

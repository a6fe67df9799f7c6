r"""The whole convex clustering path with equal weights, from K = m to K = 1, as a tree.

Clusters never split (`trials.clustering.convex.certificate`, fact 1), and whether a set of points
is fused at a penalty does not depend on the other points.  So every node S of the tree has one
number, the smallest penalty at which S alone fuses, and its subtree is a problem of its own.
`trials.clustering.convex.tree` computes these numbers.  This module orders them and answers
questions about them.

More than two clusters may meet at once, and for generic data in d >= 2 they do: three points whose
triangle is acute enough fuse in one event, so the tree is not binary.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from trials.checks import FloatArray, IntArray, real_between
from trials.clustering.convex.nodes import Nodes
from trials.clustering.convex.problem import (
    ConvexClustering,
    Scaled,
    canonical,
    check_penalty,
    scale_points,
    scaled_penalty,
)
from trials.clustering.convex.record import finish
from trials.clustering.convex.solver import Outcome, Solver, Step, duplicate_steps, partition
from trials.clustering.convex.tree import Event, Tree

TOLERANCE = 1e-8  # relative width of the brackets of penalties


@dataclass(frozen=True, kw_only=True)
class Merge:
    """One event of the path: some clusters become one.

    Attributes
    ----------
    node : number of the new cluster, m + position in the path.  The points are 0..m-1.
    children : numbers of the clusters that meet, two or more.
    size : points in the new cluster.
    penalty : the breakpoint, 0 for duplicates.
    lower, upper : proved bracket.  Below ``lower`` the children are not all one, and from ``upper``
        on they are.
    apart : largest penalty at which the children were proved distinct, pair by pair.  Two children
        are distinct up to ``lower``.
    resolved : the children were proved distinct within twice the path's tolerance below ``upper``.
        If not, some of the children may meet before the event, between ``apart`` and ``upper``.
    """

    node: int
    children: tuple[int, ...]
    size: int
    penalty: float
    lower: float
    upper: float
    apart: float
    resolved: bool


@dataclass(frozen=True, kw_only=True)
class ClusterPath:
    """The path of a data set: events in order, and the solution at any penalty.

    Attributes
    ----------
    points : (m, d).
    merges : events by increasing penalty.  A child's event always comes before its parent's.
    """

    points: FloatArray
    merges: tuple[Merge, ...]
    _steps: tuple[Step, ...] = field(repr=False)
    _data: Scaled = field(repr=False)

    @property
    def resolved(self) -> bool:
        """Whether every event is resolved, so that no merge is hidden beyond the tolerance."""
        return all(merge.resolved for merge in self.merges)

    @property
    def breakpoints(self) -> FloatArray:
        """(n_events,) penalties at which the number of clusters falls."""
        return np.array([merge.penalty for merge in self.merges])

    def n_clusters(self, penalty: float) -> int:
        """Number of clusters at a penalty (at a breakpoint: after the event)."""
        penalty = check_penalty(penalty)
        lost = sum(len(e.children) - 1 for e in self.merges if e.penalty <= penalty)
        return int(self.points.shape[0]) - lost

    def labels(self, penalty: float) -> IntArray:
        """(m,) partition at a penalty, numbered by first points.  O(m)."""
        penalty = check_penalty(penalty)
        steps = [s for s, e in zip(self._steps, self.merges, strict=True) if e.penalty <= penalty]
        return canonical(partition(self.points.shape[0], steps, _roots(self.points, steps)))

    def solve(self, penalty: float) -> ConvexClustering:
        """The certified solution at a penalty, from the centroids of the clusters fused by then."""
        penalty = check_penalty(penalty)
        m = self.points.shape[0]
        steps = [s for s, e in zip(self._steps, self.merges, strict=True) if e.upper <= penalty]
        roots = _roots(self.points, steps)
        index = partition(m, steps, roots)
        points = Nodes(ids=np.arange(m), x=self._data.x, mass=np.ones(m))
        x, mass = points.means(points.x, index)
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
    """Nodes (k,) that are no child of the steps."""
    used = {int(c) for step in steps for c in step.children}
    nodes = [*range(points.shape[0]), *(step.node for step in steps)]
    return np.array([n for n in nodes if n not in used], dtype=np.int64)


def _check_tolerance(tolerance: float) -> float:
    return real_between("tolerance", tolerance, 1e-12, 1e-2)


def convex_clustering_path(points: ArrayLike, *, tolerance: float = TOLERANCE) -> ClusterPath:
    """The whole path of convex clustering with equal weights.

    Parameters
    ----------
    points : (m, d) finite array, any scale.
    tolerance : intended relative width of the proved brackets of the breakpoints, in [1e-12, 1e-2].
        An event that stays wider, or whose children could not be proved distinct that close to it,
        has ``resolved=False``.

    Returns
    -------
    ClusterPath
        Events in order, with proved brackets in the units of the points, and the certified solution
        at any penalty.

    Raises
    ------
    InvalidParameter : Points that are not finite or not a matrix, or a tolerance outside [1e-12,
        1e-2].

    Notes
    -----
    An event takes a few Newton solves on the K nodes of its own subtree.  There a
    conjugate-gradient step takes O(K^2 d) and a preconditioner O(K^3).  Memory is O(m^2 + m d).

    Examples
    --------
    >>> path = convex_clustering_path([[0.0], [1.0], [10.0]])
    >>> path.breakpoints.round(6).tolist()
    [0.5, 3.166667]
    >>> [path.n_clusters(penalty) for penalty in (0.1, 1.0, 5.0)]
    [3, 2, 1]
    >>> path.resolved
    True

    References
    ----------
    Hocking, Joulin, Bach & Vert (2011), Clusterpath; Armacki et al. (2024), Appendix C.
    """
    tolerance = _check_tolerance(tolerance)
    data = scale_points(points)
    data = replace(data, points=data.points.copy())  # the caller's array may change
    nodes, steps = duplicate_steps(data)
    events = [
        Event(node=step.node, children=step.children, size=step.children.size) for step in steps
    ]
    tree = Tree(data.points, steps, tolerance)
    return _assemble(data, [*events, *tree.run(nodes.ids, nodes.mass)])


def fusion_limits(points: ArrayLike, *, tolerance: float = TOLERANCE) -> tuple[float, float]:
    """Proved limits of the penalty from which on all points (m, d) are one.

    ``tolerance`` is as in `convex_clustering_path`.

    Sets that fuse before are replaced by their means, and no penalty of theirs is sought.  So this
    is one event of the path, where the path has up to m - 1.

    Raises
    ------
    InvalidParameter : As in `convex_clustering_path`.

    Examples
    --------
    >>> low, high = fusion_limits([[0.0], [1.0], [10.0]])
    >>> round(low, 6), round(high, 6)
    (3.166667, 3.166667)
    """
    tolerance = _check_tolerance(tolerance)
    data = scale_points(points)
    nodes, steps = duplicate_steps(data)
    if nodes.size == 1:
        return 0.0, 0.0
    event = Tree(data.points, steps, tolerance).last(nodes.ids, nodes.mass)
    return event.lower, event.upper


def _assemble(data: Scaled, events: list[Event]) -> ClusterPath:
    """Order the events, number their nodes m, m + 1, ... and return the record."""
    m = data.points.shape[0]
    by_node = {event.node: event for event in events}
    # By size a child comes before its parent, and rounding must not put its penalty after.
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
                penalty=event.penalty,
                lower=event.lower,
                upper=event.upper,
                apart=event.apart,
                resolved=event.resolved,
            )
        )
        steps.append(
            Step(
                children=children,
                potentials=event.potentials,
                strength=event.strength / data.scale,
                node=node,
            )
        )
    return ClusterPath(points=data.points, merges=tuple(merges), _steps=tuple(steps), _data=data)

r"""The events of the convex clustering path, each computed as a problem of its own.

For a set S of nodes with masses n_k and positions b_k about their mean, the smallest penalty at
which S alone fuses is

.. math::

    \lambda_S = \max_u \frac{\sum_k n_k \langle b_k, u_k \rangle}
                       {\sum_{k<l} n_k n_l |u_k - u_l|}

(gauge duality).  Any u gives a lower bound, any flows an upper bound.  The minimiser at
lambda < lambda_S gives both, with relative errors of second and first order in 1 - lambda/lambda_S,
because its direction tends to the maximiser as lambda grows.  Raising lambda to the lower bound
again and again therefore converges quadratically.

A narrow bracket says when S is one cluster.  It does not say which clusters meet then: the bracket
of a set with inner clusters is narrow from the start where these are small.  So a set is done only
when its nodes have also been *solved apart* just below the event.  Sets that fuse on the way are
replaced by their centroids, and put aside as problems of their own: all later solves are warm
starts on merged centroids.

Every problem has its own unit of length and its own origin, one of its points, so that a cluster of
width 1e-9 among points of size 1 is solved as accurately as the whole.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from trials.checks import FloatArray, IntArray
from trials.clustering.convex.certificate import rounding, run_means
from trials.clustering.convex.nodes import Nodes, Ratio, smallest_distance
from trials.clustering.convex.solver import Solver, Step, partition

#: Largest number of solves for one node of the tree.  After them its bracket stays as it is.
_MAX_SOLVES = 40
#: Relative distances to the event: that of the first solve, and the largest one that is tried.
_FIRST_GAP, _LAST_RETREAT = 0.05, 1e-2


@dataclass(kw_only=True)
class Event:
    """A node of the tree.  Penalties are in the units of the points.

    Attributes
    ----------
    node : its number in the tree.
    children : (s,) numbers of the nodes that meet.
    size : points in it.
    lower, penalty, upper, apart, resolved : as in `trials.clustering.convex.path.Merge`.
    potentials : (d, s) potentials of the flows behind ``upper``, None for the plain formula.
    strength : of these flows, in the units of the points.
    """

    node: int
    children: IntArray
    size: int
    lower: float = 0.0
    penalty: float = 0.0
    upper: float = 0.0
    apart: float = 0.0
    resolved: bool = True
    potentials: FloatArray | None = None
    strength: float = 0.0


class _Bracket:
    """Proved limits of the penalty at which some nodes fuse, in the unit of their problem."""

    def __init__(self, slack: float) -> None:
        #: Relative rounding error of a ratio or a flow.
        self.slack = slack
        self.bound, self.lower, self.apart = 0.0, 0.0, 0.0
        self.forget_flows()

    def forget_flows(self) -> None:
        """Drop the upper bound, because its flows ran between nodes that do not exist any more."""
        self.upper = math.inf
        self.potentials: FloatArray | None = None
        self.strength = 0.0

    def flows(self, nodes: Nodes, potentials: FloatArray | None, strength: float) -> None:
        """Lower the upper bound if these flows allow it."""
        flow = nodes.largest_flow(nodes.x if potentials is None else potentials, strength)
        if flow < self.upper:
            self.upper, self.potentials, self.strength = flow, potentials, strength

    def values(self, nodes: Nodes, values: FloatArray) -> Ratio:
        """Raise the lower bound if these values (d, K) allow it, and return their ratio."""
        ratio = nodes.fusion_ratio(values)
        if ratio.value > self.bound:
            self.bound = ratio.value
            sizes = math.sqrt(ratio.square * nodes.squares)
            self.lower = self.bound - self.slack * (self.bound + sizes / ratio.spread)
        return ratio

    @property
    def width(self) -> float:
        """Relative width."""
        return max(0.0, 1.0 - self.bound / self.upper)

    def distance(self, nodes: Nodes) -> float:
        """The relative distance below the upper end at which the nodes are proved distinct."""
        apart = self.lower if nodes.size == 2 else self.apart
        return max(0.0, 1.0 - apart / self.upper)


class Tree:
    """Computes the events of a set of distinct nodes."""

    def __init__(self, points: FloatArray, steps: list[Step], tolerance: float) -> None:
        """``points`` (m, d), ``steps`` that fused its duplicates, ``tolerance`` of the brackets."""
        self.points = points
        self.tolerance = tolerance
        self.next_id: int = points.shape[0] + len(steps)
        self.events: list[Event] = []
        self.todo: list[tuple[IntArray, FloatArray, int]] = []
        #: The points of every node that is not one itself.
        self.members: dict[int, IntArray] = {step.node: step.children for step in steps}

    def run(self, ids: IntArray, mass: FloatArray) -> list[Event]:
        """The events of the nodes ``ids`` (K,) with masses (K,)."""
        if ids.size > 1:
            self._push(ids, mass)
        while self.todo:
            self._add_next()
        return self.events

    def last(self, ids: IntArray, mass: FloatArray) -> Event:
        """The event at which two nodes or more have become one, without those below it."""
        self._push(ids, mass)
        self._add_next()
        return self.events[-1]

    def _add_next(self) -> None:
        """Add the event of the set that was put aside last."""
        ids, mass, node = self.todo.pop()
        nodes, unit = self._own_frame(ids, mass)
        self._add_event(nodes, node, unit)

    def _push(self, ids: IntArray, mass: FloatArray) -> int:
        """Put a set of nodes aside as a problem of its own, and return the number of their
        parent.
        """
        node = self.next_id
        self.next_id += 1
        self.members[node] = np.concatenate(self._parts(ids))
        self.todo.append((ids, mass, node))
        return node

    def _parts(self, ids: IntArray) -> list[IntArray]:
        """The points (s,) of each node, which may be a point itself."""
        if int(ids.max()) < self.points.shape[0]:
            return list(ids[:, None])
        alone = ids[:, None]
        return [self.members.get(i, alone[k]) for k, i in enumerate(ids.tolist())]

    def _own_frame(self, ids: IntArray, mass: FloatArray) -> tuple[Nodes, float]:
        """The nodes about their mean in a unit that makes the largest coordinate about one.

        Differences to a point of the set are exact to a rounding, for any origin of the data.
        """
        parts = self._parts(ids)
        every = ids if len(parts) == mass.sum() else np.concatenate(parts)
        x = self.points[every] - self.points[every[0]]
        unit = 2.0 ** math.frexp(float(np.abs(x).max()))[1]
        x /= unit
        means = run_means(x, mass)
        plain = Nodes(ids=ids, x=np.ascontiguousarray(means.T), mass=mass)
        return Nodes(ids=ids, x=plain.centred(plain.x), mass=mass), unit

    def _advance(
        self, nodes: Nodes, lam: float, start: FloatArray
    ) -> tuple[Nodes, FloatArray, bool]:
        """Solve at ``lam``.  Sets that fused become nodes here and problems of their own.

        Returns the nodes that are left, their values (one column a node, always), and whether these
        are proved distinct.
        """
        size = nodes.size
        outcome = Solver(nodes.renumbered, lam, n_points=self.points.shape[0], next_id=size).run(
            start
        )
        merged = outcome.nodes
        if merged.size == 1:  # within rounding of the event itself: none is recorded here
            return nodes, start, False
        if merged.size == size:
            return nodes, outcome.v, outcome.separated
        owner = partition(size, outcome.steps, merged.ids)
        ids = np.empty(merged.size, dtype=np.int64)
        for k in range(merged.size):
            index = np.flatnonzero(owner == k)
            ids[k] = (
                nodes.ids[index[0]]
                if index.size == 1
                else self._push(nodes.ids[index], nodes.mass[index])
            )
        return Nodes(ids=ids, x=merged.x, mass=merged.mass), outcome.v, outcome.separated

    def _add_event(self, nodes: Nodes, node: int, unit: float) -> None:
        """Bracket the penalty at which all nodes have become one, and record the event."""
        slack = 4.0 * rounding(self.points.shape[0], nodes.x.shape[0])
        bracket = _Bracket(slack)
        u, lam = nodes.x, 0.0
        closest, last = 0.4 * self.tolerance, math.inf
        for solves in range(_MAX_SOLVES + 1):
            if bracket.upper == math.inf:  # new nodes: the plain formula is one more bound
                bracket.flows(nodes, None, 0.0)
            bracket.flows(nodes, _unit_potentials(u), lam)
            ratio = bracket.values(nodes, u)
            distance = bracket.distance(nodes)
            done = max(bracket.width, distance) <= self.tolerance
            # As close as double precision allows, the next solve would only repeat the last one.
            stuck = lam >= bracket.bound * (1.0 - 2.0 * closest) and distance > 0.5 * last
            if done or stuck or closest > _LAST_RETREAT or solves == _MAX_SOLVES:
                break
            last = distance
            # A bracket may be narrow from the start: a set is approached in stages all the same.
            gap = max(min(_FIRST_GAP, max(bracket.width, 0.1 * distance) ** 2), closest)
            lam = bracket.bound * (1.0 - gap)
            # The multiple of u that is best at this penalty.
            best = ratio.spread * (ratio.value - lam) / ratio.square if ratio.square > 0.0 else 0.0
            grow = max(best, 1e-3)
            before = nodes.size
            nodes, values, separated = self._advance(nodes, lam, grow * u)
            u = nodes.centred(values)
            if nodes.size < before:
                bracket.forget_flows()
                last = math.inf
            if separated:
                bracket.apart = lam
            elif nodes.size == before:  # too close for double precision: go further away
                closest = self.tolerance if gap < self.tolerance else 10.0 * gap
                last = math.inf
        # Room for the rounding allowance of the verifier, so that the proof holds from upper on.
        upper = bracket.upper * (1.0 + slack) + slack / nodes.total
        apart = bracket.lower if nodes.size == 2 else bracket.apart
        self.events.append(
            Event(
                node=node,
                children=nodes.ids,
                size=round(nodes.total),
                lower=_rounded_down(bracket.lower, unit),
                penalty=_rounded_up(min(bracket.bound, upper), unit),
                upper=_rounded_up(upper, unit),
                apart=_rounded_down(apart, unit),
                resolved=bracket.distance(nodes) <= 2.0 * self.tolerance,
                potentials=bracket.potentials,
                strength=bracket.strength * unit,
            )
        )


def _rounded_up(value: float, unit: float) -> float:
    """The least float from ``value * unit`` on, for a power of two.

    The product is exact, but not among the least floats.
    """
    product = value * unit
    return product if product / unit >= value else math.nextafter(product, math.inf)


def _rounded_down(value: float, unit: float) -> float:
    """The largest float up to ``value * unit``, for a power of two."""
    return -_rounded_up(-value, unit)


def _unit_potentials(u: FloatArray) -> FloatArray:
    """u (d, K) stretched so far that psi of every difference is a unit vector to rounding."""
    smallest = smallest_distance(u)
    return u * (1e9 / smallest) if smallest > 1e-200 else u

"""Convex clustering with equal weights: a solver with exact fusions.

The unknown is not a matrix but a partition.  Once it is known, the problem on the centroids is
smooth, and Newton's method solves it to rounding.  The solver therefore alternates

1. *formula fusions*: every node of the complete-linkage tree whose diameter is at most lambda times
   its mass is fused, by the formula behind the recovery interval (13).  It is applied again to the
   new centroids until nothing fuses.
2. *exact Newton*, eps = 0, on the nodes that are left.  Its residual is the radius of the
   separation proof.  Where nodes are about to fuse it cannot converge, which one step shows.
3. *smoothed Newton*: |u| becomes sqrt(eps^2 + |u|^2).  Its minimiser u gives the potentials y = u /
   eps of `trials.clustering.convex.certificate` for every set that is about to fuse.  As eps falls
   they converge to the minimiser of the strictly feasible fusion problem, if there is one.  A set
   whose flows are small enough is fused for all later steps, because the proof stays valid.  The
   rest continues with the exact method, once no set looks close, and then with a smaller eps.

So eps rarely falls below 1e-3 of the data's scale, and every fusion makes the problem smaller.
Newton's systems are solved by conjugate gradients preconditioned with the Laplacian that all
coordinates share, by matrix products in single precision wherever that is enough for a direction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from trials.checks import FloatArray, IntArray
from trials.clustering.convex.certificate import rounding
from trials.clustering.convex.nodes import (
    Nodes,
    ShapeMismatch,
    components,
    smallest_distance,
    squared_distances,
)
from trials.clustering.convex.problem import Scaled, canonical

#: Smoothing: first value relative to the rms distance, factor from one round to the next, and the
#: value relative to the largest distance below which rounding prevents any gain.
_EPS_FIRST, _EPS_FACTOR, _EPS_LAST = 0.1, 0.1, 1e-13
#: Sets of nodes within these multiples of eps of each other are tried for fusion, widest first.  A
#: set that fuses at (1 - t) lambda has potentials of size t^(-1/2), hence the range.
_REACHES = (1e5, 1e4, 1e3, 300.0, 100.0, 30.0, 10.0, 3.0, 1.0)
#: Newton's method on one fusion problem: rounds of four steps, and the relative residual to reach.
_DECIDE_ROUNDS, _POTENTIAL_TOL = 12, 1e-15
#: An exact Newton step that does not halve the gradient indicates a fusion.  Going on would take
#: hundreds of products.  From a warm start it may also be one of the first few.
_PATIENCE = 3


@dataclass(frozen=True, kw_only=True)
class Step:
    """A fusion in scaled units.

    Attributes
    ----------
    children : (s,) numbers of the nodes that fuse.
    potentials : (d, s), or None for the plain formula.
    strength : of the flows, in scaled units of length.
    node : number of the node that they become.
    """

    children: IntArray
    potentials: FloatArray | None
    strength: float
    node: int

    def __post_init__(self) -> None:
        if self.potentials is not None and self.potentials.shape[1:] != self.children.shape:
            raise ShapeMismatch(
                f"potentials have shape {self.potentials.shape} for {self.children.size} children"
            )


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The solver's last state.

    Attributes
    ----------
    nodes : the K nodes that are left.
    v : (d, K) their values, one column a node.
    steps : the fusions, in order.
    radius : bound on the mass-weighted distance of ``v`` to the true values.  It is infinite where
        only a smoothed solution was found.
    separated : whether the values are proved distinct.
    eps : the last smoothing, 0 where none.
    """

    nodes: Nodes
    v: FloatArray
    steps: list[Step]
    radius: float
    separated: bool
    eps: float

    def __post_init__(self) -> None:
        if self.v.shape != self.nodes.x.shape:
            raise ShapeMismatch(f"v has shape {self.v.shape}, the nodes {self.nodes.x.shape}")

    @classmethod
    def trivial(cls, nodes: Nodes) -> Outcome:
        """The minimiser is the nodes themselves."""
        return cls(nodes=nodes, v=nodes.x.copy(), steps=[], radius=0.0, separated=True, eps=0.0)


@dataclass(frozen=True, kw_only=True)
class _Fusible:
    """Labels (K,) after the fusions found, None for none, and the potentials that prove them."""

    labels: IntArray | None
    potentials: FloatArray


class Solver:
    """One solve: the nodes shrink, the steps accumulate."""

    def __init__(
        self, nodes: Nodes, lam: float, *, n_points: int, next_id: int, labels_only: bool = False
    ) -> None:
        """``next_id`` numbers the first fusion.  ``labels_only`` : rough values are enough."""
        self.nodes = nodes
        self.lam = lam
        self.next_id = next_id
        self.labels_only = labels_only
        self.steps: list[Step] = []
        #: Close sets that the last round neither fused nor refuted, and those that `_decide`
        #: refuted, with the spread that it suggests.  The keys are the bytes of their index arrays.
        self.open: set[bytes] = set()
        self.refuted: dict[bytes, FloatArray | None] = {}
        # Twice the verifier's allowance, so that it accepts every fusion made here.
        self.allowance = 2 * rounding(n_points, nodes.x.shape[0])

    def fuse(
        self, labels: IntArray, values: FloatArray, potentials: FloatArray | None, strength: float
    ) -> FloatArray:
        """Fuse the nodes of equal label, record the steps, and return the values (d, k) left."""
        old = self.nodes
        nodes, values = old.fused(labels, values)
        for k in np.flatnonzero(nodes.ids < 0):
            index = np.flatnonzero(labels == k)
            self.steps.append(
                Step(
                    children=old.ids[index],
                    potentials=None if potentials is None else potentials[:, index].copy(),
                    strength=strength,
                    node=self.next_id,
                )
            )
            nodes.ids[k] = self.next_id
            self.next_id += 1
        self.nodes = nodes
        return values

    def formula_fusions(self, values: FloatArray) -> FloatArray:
        """Fuse by the plain formula until nothing changes."""
        while self.nodes.size > 1:
            labels, count = self.nodes.formula_fusions(self.lam, self.allowance)
            if count == self.nodes.size:
                break
            values = self.fuse(labels, values, None, 0.0)
        return values

    def _fusible(self, u: FloatArray, squares: FloatArray, eps: float) -> _Fusible:
        """Try the sets of nodes that are close on the scale of ``eps``, widest first."""
        nodes = self.nodes
        labels = np.arange(nodes.size)
        potentials = u / eps
        settled = np.zeros(nodes.size, dtype=bool)
        seen: set[bytes] = set()
        still_open: set[bytes] = set()
        for reach in _REACHES:
            component = components(squares, (reach * eps) ** 2)
            sizes = np.bincount(component)
            for k in np.flatnonzero(sizes > 1):
                index = np.flatnonzero(component == k)
                key = index.tobytes()
                if settled[index[0]] or key in seen or key in self.refuted:
                    continue
                seen.add(key)
                if nodes.set_ratio(u, squares, index) > self.lam:
                    continue
                part = nodes.take(index)
                y = np.ascontiguousarray(potentials[:, index])
                fused = self._fits(part, y)
                if not fused and key in self.open:
                    fused = self._decide(part, y, key)
                if fused:
                    potentials[:, index] = y
                    labels[index] = index[0]
                    settled[index] = True
                elif key not in self.refuted:
                    still_open.add(key)
        self.open = still_open
        return _Fusible(labels=canonical(labels) if settled.any() else None, potentials=potentials)

    def _fits(self, part: Nodes, y: FloatArray) -> bool:
        """Whether the flows of the potentials ``y`` (d, s) prove that the nodes are fused."""
        flow = part.largest_flow(y, self.lam)
        return bool(flow + self.allowance * (self.lam + 1.0 / part.total) <= self.lam)

    def _decide(self, part: Nodes, y: FloatArray, key: bytes) -> bool:
        """Settle a set that stays open: minimise its fusion problem alone, from ``y`` in place.

        The problem is bounded below if and only if the set fuses.  If it fuses, the minimiser's
        flows are small enough.  If not, y grows without bound in a direction whose ratio exceeds
        lambda.  This refutes the fusion, and the direction is a good start for the exact Newton
        method.  Within rounding of the threshold neither happens.
        """
        total = part.total
        centred = Nodes(ids=part.ids, x=part.centred(part.x), mass=part.mass)
        tol = _POTENTIAL_TOL * self.lam * total * math.sqrt(total)
        for _ in range(_DECIDE_ROUNDS):
            end = centred.minimise(y, self.lam, mu=0.0, eps=1.0, tol=tol, max_steps=4, patience=4)
            y -= part.mean(y)
            if self._fits(part, y):
                return True
            ratio = centred.fusion_ratio(y)
            if ratio.value > self.lam * (1.0 + 1e-14):
                # The best multiple of y, then the minimiser of the set's own problem: up to scale
                # that is how the set spreads among the others, too.
                y *= ratio.spread * (ratio.value - self.lam) / ratio.square
                end = centred.minimise(y, self.lam, tol=tol, max_steps=40, patience=0)
                self.refuted[key] = y if end.norm <= 1e-6 * self.lam * total else None
                return False
            if end.norm <= tol:
                return False
        return False

    def _distances_separate(self) -> bool:
        r"""Whether the distances of the nodes alone prove that no two of them are one.

        Each node is pulled by at most lambda a point of the others.  So nodes k and l are distinct
        where :math:`|x_k-x_l|>\lambda(2N-n_k-n_l)`, as in (13).
        """
        nodes = self.nodes
        pulls = self.lam * (nodes.total - nodes.mass)
        needed = np.add.outer(pulls, pulls) + self.allowance * (self.lam * nodes.total + 1.0)
        return bool((squared_distances(nodes.x) > needed * needed).all())

    def _restart(self, u: FloatArray, eps: float) -> FloatArray:
        """``u`` with the sets below the resolution of ``eps`` spread as their own problems say."""
        u = u.copy()
        for key, spread in self.refuted.items():
            index = np.frombuffer(key, dtype=np.int64)
            if spread is None or smallest_distance(spread) > 10.0 * eps:
                continue
            mass = self.nodes.mass[index]
            u[:, index] = ((u[:, index] @ mass) / mass.sum())[:, None] + spread
        return u

    def _refutes_all(self, u: FloatArray, squares: FloatArray, widest: float) -> bool:
        """Whether u clearly refutes the fusion of every single-linkage set, scale by scale."""
        seen: set[bytes] = set()
        for halvings in range(12):
            component = components(squares, (widest * 0.5**halvings) ** 2)
            sizes = np.bincount(component)
            for k in np.flatnonzero(sizes > 1):
                index = np.flatnonzero(component == k)
                key = index.tobytes()
                if key in seen:
                    continue
                seen.add(key)
                if self.nodes.set_ratio(u, squares, index) <= self.lam:
                    return False
        return True

    def _exact(self, u: FloatArray, patience: int = 0) -> tuple[FloatArray, float, bool]:
        """Newton's method without smoothing: values (d, K), radius, whether these are distinct."""
        nodes = self.nodes
        v = u.copy()
        rounding_error = self.allowance * math.sqrt(nodes.total) * (self.lam * nodes.total + 1.0)
        tol = 0.05 * rounding_error
        lightest = float(nodes.mass.min())
        radius, separated = math.inf, False
        for _ in range(4):
            end = nodes.minimise(v, self.lam, tol=tol, max_steps=40, patience=patience)
            radius = end.norm + rounding_error
            squares = squared_distances(v)
            # One test with the least distance is enough for all pairs, unless some masses are
            # larger.
            separated = float(squares.min()) > 2.0 * radius**2 / lightest
            if not separated:
                inverse = 1.0 / nodes.mass
                separated = bool((squares > radius**2 * np.add.outer(inverse, inverse)).all())
            # The partition may be proved before the minimiser is accurate to rounding.
            if not separated or end.norm <= rounding_error or self.labels_only:
                break
            patience = 40
        return v, radius, separated

    def run(self, start: FloatArray | None = None) -> Outcome:
        """Solve from ``start`` (d, K), approximate values of the nodes."""
        u = self.formula_fusions(self.nodes.x.copy() if start is None else start.copy())
        if self.nodes.size == 1:
            return self._outcome(self.nodes.x.copy(), 0.0, True, 0.0)
        if self.labels_only and self._distances_separate():
            return self._outcome(u, math.inf, True, 0.0)
        # Far from every fusion no smoothing is needed.  A step without progress indicates a fusion.
        v, radius, separated = self._exact(u, 0 if start is None else _PATIENCE)
        if separated:
            return self._outcome(v, radius, True, 0.0)
        squares = squared_distances(self.nodes.x)
        widest = math.sqrt(squares[np.isfinite(squares)].max())
        distance = squares if start is None else squared_distances(u)
        eps = _EPS_FIRST * math.sqrt(float(distance[np.isfinite(distance)].mean()))
        # Nodes that all coincide, to rounding, have no scale to smooth on.
        while eps > _EPS_LAST * widest:
            tol = 0.1 * eps * math.sqrt(self.nodes.total)
            self.nodes.minimise(u, self.lam, eps=eps, tol=tol, max_steps=30, patience=30)
            squares = squared_distances(u)
            found = self._fusible(u, squares, eps)
            if found.labels is not None:
                u = self.fuse(found.labels, u, found.potentials, self.lam)
                self.open, self.refuted = set(), {}
                if self.nodes.size == 1:
                    return self._outcome(self.nodes.x.copy(), 0.0, True, 0.0)
                squares = squared_distances(u)
            if not self.open and (
                self.refuted
                or squares.min() > (3.0 * eps) ** 2
                or self._refutes_all(u, squares, widest)
            ):
                v, radius, separated = self._exact(self._restart(u, eps))
                if separated:
                    return self._outcome(v, radius, True, 0.0)
            eps *= _EPS_FACTOR
        return self._outcome(u, math.inf, False, max(eps / _EPS_FACTOR, 1e-150))

    def _outcome(self, v: FloatArray, radius: float, separated: bool, eps: float) -> Outcome:
        return Outcome(
            nodes=self.nodes, v=v, steps=self.steps, radius=radius, separated=separated, eps=eps
        )


def duplicate_steps(data: Scaled) -> tuple[Nodes, list[Step]]:
    """Distinct points as nodes, and the steps that fuse the duplicates (at any penalty)."""
    m = data.points.shape[0]
    points = Nodes(ids=np.arange(m), x=data.x, mass=np.ones(m))
    # Equal points are at distance 0.  The converse may fail.
    if smallest_distance(data.x) > 0.0:
        return points, []
    # Adding zero turns -0.0 into 0.0, which are one point.
    _, inverse = np.unique(data.points + 0.0, axis=0, return_inverse=True)
    labels = canonical(inverse.reshape(-1).astype(np.int64))
    if int(labels.max()) + 1 == m:
        return points, []
    solver = Solver(points, 0.0, n_points=m, next_id=m)
    solver.fuse(labels, points.x, None, 0.0)
    # The mean of equal numbers may have a rounding error.  The number itself has none.
    first = np.unique(labels, return_index=True)[1]
    x = np.ascontiguousarray(points.x[:, first])
    return Nodes(ids=solver.nodes.ids, x=x, mass=solver.nodes.mass), solver.steps


def partition(n_points: int, steps: list[Step], roots: IntArray) -> IntArray:
    """(n_points,) index into ``roots`` of every point."""
    owner = np.full(max([n_points - 1, *(step.node for step in steps)]) + 1, -1, dtype=np.int64)
    owner[roots] = np.arange(roots.size)
    for step in reversed(steps):
        owner[step.children] = owner[step.node]
    return np.asarray(owner[:n_points])

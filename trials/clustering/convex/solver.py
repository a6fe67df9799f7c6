"""Convex clustering with equal weights: solver with exact fusions and a certificate.

The unknown is not a matrix but a partition: once it is known, the problem is the one on the
centroids, smooth, and Newton's method solves it to rounding.  The solver therefore alternates

1. *formula fusions*: every node of the complete-linkage tree whose diameter is at most lambda
   times its mass is fused, by the formula behind the recovery interval (13), applied again and
   again to the centroids that it leaves;
2. *exact Newton*, eps = 0, on the nodes that are left: its residual is the radius of the
   separation proof.  Where nodes are about to fuse it cannot converge, and shows it in a step;
3. *smoothed Newton*: |u| becomes sqrt(eps^2 + |u|^2).  Its minimiser u yields the potentials
   y = u / eps of `trials.clustering.convex.certificate` for every set that is about to fuse, and
   these converge, as eps falls, to the minimiser of the strictly feasible fusion problem, if there
   is one.  A set whose flows fit is fused *for good* (a proof does not expire), the rest continues
   with the exact method, once no set looks close, and a smaller eps.

So eps rarely falls below 1e-3 of the data's scale and every fusion makes the problem smaller.
Newton's systems are solved by conjugate gradients preconditioned with the Laplacian that all
coordinates share, by matrix products in single precision wherever that is enough for a direction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trials.clustering.convex import kernels
from trials.clustering.convex.certificate import Certificate, Fusion, check_certificate, rounding
from trials.clustering.convex.problem import ConvexClustering, Scaled, canonical

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Smoothing: first value relative to the rms distance, factor from one round to the next, and the
#: value relative to the largest distance below which rounding leaves nothing to gain.
_EPS_FIRST, _EPS_FACTOR, _EPS_LAST = 0.1, 0.1, 1e-13
#: Sets of nodes within these multiples of eps of each other are tried for fusion, widest first; a
#: set that fuses at (1 - t) lambda has potentials of size t^(-1/2), hence the range.
_REACHES = (1e5, 1e4, 1e3, 300.0, 100.0, 30.0, 10.0, 3.0, 1.0)
#: Newton's method on one fusion problem: rounds of four steps, and the relative residual to reach.
_DECIDE_ROUNDS, _POTENTIAL_TOL = 12, 1e-15
#: An exact Newton step that does not halve the gradient tells of a fusion ahead, where insisting
#: would take hundreds of products; from a warm start it may also be one of the first few.
_PATIENCE = 3


@dataclass(kw_only=True)
class Nodes:
    """Nodes of a reduced problem, in scaled units: what is left of the points after fusions."""

    ids: IntArray
    x: FloatArray
    mass: FloatArray

    @property
    def size(self) -> int:
        return self.mass.size

    def take(self, index: IntArray) -> Nodes:
        """The nodes of an index set."""
        x = np.ascontiguousarray(self.x[:, index])
        return Nodes(ids=self.ids[index], x=x, mass=self.mass[index])


@dataclass(frozen=True, kw_only=True)
class Step:
    """A fusion in scaled units: children's ids, potentials (d, s) or None, strength, new id."""

    children: IntArray
    potentials: FloatArray | None
    strength: float
    node: int


@dataclass(kw_only=True)
class Outcome:
    """What the solver reached: reduced nodes, their values v (d, K), and a residual bound.

    ``radius`` bounds the mass-weighted distance of v to the true centres (infinite where the
    smoothed solution is all there is), ``eps`` is the last smoothing, 0 where none.
    """

    nodes: Nodes
    v: FloatArray
    steps: list[Step]
    radius: float
    separated: bool
    eps: float

    @classmethod
    def trivial(cls, nodes: Nodes) -> Outcome:
        """The minimiser is the nodes themselves."""
        return cls(nodes=nodes, v=nodes.x.copy(), steps=[], radius=0.0, separated=True, eps=0.0)


def fuse(nodes: Nodes, labels: IntArray, values: FloatArray) -> tuple[Nodes, FloatArray]:
    """Replace the nodes of equal label by their centroid; ``values`` (d, K) are averaged too.

    The ids of fused nodes are left at -1 for the caller to number; a node that does not fuse
    keeps its position bit for bit.
    """
    count = int(labels.max()) + 1
    d = nodes.x.shape[0]
    mass, x, v = np.empty(count), np.empty((d, count)), np.empty((d, count))
    kernels.centroids(nodes.x, nodes.mass, labels, x, mass)
    kernels.centroids(values, nodes.mass, labels, v, mass)
    ids = np.full(count, -1, dtype=np.int64)
    alone = np.bincount(labels, minlength=count)[labels] == 1
    ids[labels[alone]] = nodes.ids[alone]
    return Nodes(ids=ids, x=x, mass=mass), v


@dataclass(frozen=True, kw_only=True)
class _Fusible:
    """Labels after the fusions found (None: none), and the potentials (d, K) that prove them."""

    labels: IntArray | None
    potentials: FloatArray


class Solver:
    """One solve: the nodes shrink, the steps accumulate."""

    def __init__(self, nodes: Nodes, lam: float, *, n_points: int, next_id: int) -> None:
        self.nodes = nodes
        self.lam = lam
        self.next_id = next_id
        self.steps: list[Step] = []
        #: Close sets that the last round neither fused nor refuted, and those that `_decide`
        #: refuted, with the spread it suggests; keyed by the bytes of their index array.
        self.open: set[bytes] = set()
        self.refuted: dict[bytes, FloatArray | None] = {}
        # Twice the verifier's allowance: what is fused here is accepted there.
        self.allowance = 2.0 * rounding(n_points, nodes.x.shape[0])

    def _fuse(
        self, labels: IntArray, values: FloatArray, potentials: FloatArray | None, strength: float
    ) -> FloatArray:
        old = self.nodes
        self.nodes, values = fuse(old, labels, values)
        for k in np.flatnonzero(self.nodes.ids < 0):
            index = np.flatnonzero(labels == k)
            self.steps.append(
                Step(
                    children=old.ids[index],
                    potentials=None if potentials is None else potentials[:, index].copy(),
                    strength=strength,
                    node=self.next_id,
                )
            )
            self.nodes.ids[k] = self.next_id
            self.next_id += 1
        return values

    def formula_fusions(self, values: FloatArray) -> FloatArray:
        """Fuse by the plain formula until nothing changes."""
        while self.nodes.size > 1:
            squares = _squares(self.nodes.x)
            labels = np.empty(self.nodes.size, dtype=np.int64)
            count = kernels.formula_fusions(
                squares, self.nodes.mass, self.lam, self.allowance, labels
            )
            if count == self.nodes.size:
                break
            values = self._fuse(labels, values, None, 0.0)
        return values

    def _fusible(self, u: FloatArray, squares: FloatArray, eps: float) -> _Fusible:
        """Try the sets of nodes that are close on the scale of ``eps``, widest first."""
        nodes = self.nodes
        labels = np.arange(nodes.size)
        potentials = u / eps
        settled = np.zeros(nodes.size, dtype=bool)
        component = np.empty(nodes.size, dtype=np.int64)
        seen: set[bytes] = set()
        still_open: set[bytes] = set()
        for reach in _REACHES:
            kernels.components(squares, (reach * eps) ** 2, component)
            sizes = np.bincount(component)
            for k in np.flatnonzero(sizes > 1):
                index = np.flatnonzero(component == k)
                key = index.tobytes()
                if settled[index[0]] or key in seen or key in self.refuted:
                    continue
                seen.add(key)
                if kernels.set_ratio(nodes.x, nodes.mass, u, squares, index) > self.lam:
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
        flow = kernels.largest_flow(part.x, part.mass, y, self.lam)
        return bool(flow + self.allowance * (self.lam + 1.0 / part.mass.sum()) <= self.lam)

    def _decide(self, part: Nodes, y: FloatArray, key: bytes) -> bool:
        """Settle a set that stays open: minimise its fusion problem alone, from ``y`` in place.

        Bounded below if and only if the set fuses.  If so the minimiser's flows fit; otherwise y
        runs off in a direction whose ratio exceeds lambda, which refutes the fusion and starts
        the exact Newton method well.  Within rounding of the threshold neither happens.
        """
        total = part.mass.sum()
        mean = (part.x @ part.mass) / total
        x = np.ascontiguousarray(part.x - mean[:, None])
        weights = kernels.mass_weights(part.mass)
        out, ratio = np.empty(3), np.empty(3)
        tol = _POTENTIAL_TOL * self.lam * total * math.sqrt(total)
        for _ in range(_DECIDE_ROUNDS):
            kernels.newton(x, part.mass, weights, self.lam, 0.0, 1.0, tol, 4, 4, y, out)
            y -= ((y @ part.mass) / total)[:, None]
            if self._fits(part, y):
                return True
            kernels.fusion_ratio(x, part.mass, y, ratio)
            if ratio[0] > self.lam * (1.0 + 1e-14):
                # The best multiple of y, then the minimiser of the set's own problem: up to scale
                # that is how the set spreads among the others, too.
                y *= float(ratio[1]) * (float(ratio[0]) - self.lam) / float(ratio[2])
                kernels.newton(x, part.mass, weights, self.lam, 1.0, 0.0, tol, 40, 0, y, out)
                self.refuted[key] = y if out[0] <= 1e-6 * self.lam * total else None
                return False
            if out[0] <= tol:
                return False
        return False

    def _restarted(self, u: FloatArray, eps: float) -> FloatArray:
        """``u`` with the sets below the resolution of ``eps`` spread as their own problems say."""
        u = u.copy()
        for key, spread in self.refuted.items():
            index = np.frombuffer(key, dtype=np.int64)
            if spread is None or _squares(spread).min() > (10.0 * eps) ** 2:
                continue
            mass = self.nodes.mass[index]
            u[:, index] = ((u[:, index] @ mass) / mass.sum())[:, None] + spread
        return u

    def _refutes_all(self, u: FloatArray, squares: FloatArray, widest: float) -> bool:
        """Whether u clearly refutes the fusion of every single-linkage set, scale by scale."""
        component = np.empty(self.nodes.size, dtype=np.int64)
        seen: set[bytes] = set()
        for halvings in range(12):
            kernels.components(squares, (widest * 0.5**halvings) ** 2, component)
            sizes = np.bincount(component)
            for k in np.flatnonzero(sizes > 1):
                index = np.flatnonzero(component == k)
                key = index.tobytes()
                if key in seen:
                    continue
                seen.add(key)
                if kernels.set_ratio(self.nodes.x, self.nodes.mass, u, squares, index) <= self.lam:
                    return False
        return True

    def _exact(self, u: FloatArray, patience: int = 0) -> tuple[FloatArray, float, bool]:
        """Newton's method without smoothing, and the separation test."""
        nodes = self.nodes
        v, out = u.copy(), np.empty(3)
        weights = kernels.mass_weights(nodes.mass)
        total = float(nodes.mass.sum())
        rounding_error = self.allowance * math.sqrt(total) * (self.lam * total + 1.0)
        tol = 0.05 * rounding_error
        inverse = 1.0 / nodes.mass
        for _ in range(4):
            kernels.newton(
                nodes.x, nodes.mass, weights, self.lam, 1.0, 0.0, tol, 40, patience, v, out
            )
            radius = float(out[0]) + rounding_error
            separated = bool((_squares(v) > radius**2 * np.add.outer(inverse, inverse)).all())
            # A proof of the partition may come before the minimiser is one to rounding.
            if not separated or out[0] <= rounding_error:
                break
            patience = 40
        return v, radius, separated

    def run(self, start: FloatArray | None = None) -> Outcome:
        """Solve; ``start`` (d, K) are approximate values of the nodes."""
        u = self.formula_fusions(self.nodes.x.copy() if start is None else start.copy())
        if self.nodes.size == 1:
            return self._outcome(self.nodes.x.copy(), 0.0, True, 0.0)
        # Far from every fusion no smoothing is needed; a fusion shows in a step without progress.
        v, radius, separated = self._exact(u, 0 if start is None else _PATIENCE)
        if separated:
            return self._outcome(v, radius, True, 0.0)
        squares = _squares(self.nodes.x)
        widest = math.sqrt(squares[np.isfinite(squares)].max())
        distance = squares if start is None else _squares(u)
        eps = _EPS_FIRST * math.sqrt(float(distance[np.isfinite(distance)].mean()))
        out = np.empty(3)
        while eps > _EPS_LAST * widest:
            nodes = self.nodes
            tol = 0.1 * eps * math.sqrt(float(nodes.mass.sum()))
            weights = kernels.mass_weights(nodes.mass)
            kernels.newton(nodes.x, nodes.mass, weights, self.lam, 1.0, eps, tol, 30, 30, u, out)
            squares = _squares(u)
            found = self._fusible(u, squares, eps)
            if found.labels is not None:
                u = self._fuse(found.labels, u, found.potentials, self.lam)
                self.open, self.refuted = set(), {}
                if self.nodes.size == 1:
                    return self._outcome(self.nodes.x.copy(), 0.0, True, 0.0)
                squares = _squares(u)
            if not self.open and (
                self.refuted
                or squares.min() > (3.0 * eps) ** 2
                or self._refutes_all(u, squares, widest)
            ):
                v, radius, separated = self._exact(self._restarted(u, eps))
                if separated:
                    return self._outcome(v, radius, True, 0.0)
            eps *= _EPS_FACTOR
        return self._outcome(u, math.inf, False, eps / _EPS_FACTOR)

    def _outcome(self, v: FloatArray, radius: float, separated: bool, eps: float) -> Outcome:
        return Outcome(
            nodes=self.nodes, v=v, steps=self.steps, radius=radius, separated=separated, eps=eps
        )


def _squares(u: FloatArray) -> FloatArray:
    """Squared distances with an infinite diagonal."""
    out = np.empty((u.shape[1], u.shape[1]))
    kernels.pair_squares(u, out)
    np.fill_diagonal(out, np.inf)
    return out


def duplicate_steps(data: Scaled) -> tuple[Nodes, list[Step]]:
    """Distinct points as nodes, and the steps that fuse the duplicates (at any penalty)."""
    m = data.points.shape[0]
    points = Nodes(ids=np.arange(m), x=data.x, mass=np.ones(m))
    if _squares(data.x).min() > 0.0:  # equal points are at distance 0, the converse may fail
        return points, []
    # Adding zero turns -0.0 into 0.0, which are one point.
    _, inverse = np.unique(data.points + 0.0, axis=0, return_inverse=True)
    labels = canonical(inverse.reshape(-1).astype(np.int64))
    if int(labels.max()) + 1 == m:
        return points, []
    solver = Solver(points, 0.0, n_points=m, next_id=m)
    solver._fuse(labels, points.x, None, 0.0)
    # The mean of equal numbers may err by a rounding; the number itself does not.
    first = np.unique(labels, return_index=True)[1]
    solver.nodes.x = np.ascontiguousarray(points.x[:, first])
    return solver.nodes, solver.steps


def to_certificate(
    n_points: int, steps: list[Step], values: FloatArray, scale: float
) -> Certificate:
    """Steps and centres (d, k) in scaled units as a certificate in the units of the data."""
    d = values.shape[0]
    number = {step.node: n_points + t for t, step in enumerate(steps)}
    fusions = tuple(
        Fusion(
            children=np.array([number.get(c, c) for c in step.children.tolist()]),
            potentials=(
                np.zeros((step.children.size, d))
                if step.potentials is None
                else np.ascontiguousarray(step.potentials.T)
            ),
            strength=step.strength * scale,
        )
        for step in steps
    )
    return Certificate(fusions=fusions, centres=values.T * scale)


def partition(n_points: int, steps: list[Step], roots: IntArray) -> IntArray:
    """Index into ``roots`` of every point."""
    owner = np.full(max([n_points - 1, *(step.node for step in steps)]) + 1, -1, dtype=np.int64)
    owner[roots] = np.arange(roots.size)
    for step in reversed(steps):
        owner[step.children] = owner[step.node]
    return np.asarray(owner[:n_points])


def finish(data: Scaled, penalty: float, outcome: Outcome) -> ConvexClustering:
    """Turn an outcome into a record: verify, expand, evaluate objective and gap."""
    points, scale = data.points, data.scale
    m = points.shape[0]
    lam = scaled_penalty(penalty, scale)
    nodes, v = outcome.nodes, outcome.v
    index = partition(m, outcome.steps, nodes.ids)
    close = np.arange(nodes.size)
    if not outcome.separated:  # an unproved guess: nodes within the last smoothing are one cluster
        kernels.components(_squares(v), (3.0 * outcome.eps) ** 2, close)
        v = fuse(nodes, close, v)[1][:, close]
    labels = canonical(close[index])
    order = np.unique(labels, return_index=True)[1]
    values = np.ascontiguousarray(v[:, index[order]])
    certificate = None
    radius, reason = math.inf, ""
    if outcome.separated:
        certificate = to_certificate(m, outcome.steps, values, scale)
        check = check_certificate(points, penalty, labels, certificate)
        radius, reason = check.radius, check.reason
    else:
        reason = "not certified at working precision: a fusion is too close to its penalty to call"
    sizes = np.bincount(labels).astype(np.float64)
    spread = data.x - values[:, labels]
    distances = np.sqrt(np.where(np.isfinite(sq := _squares(values)), sq, 0.0))
    # The sum over pairs of clusters, each counted twice.
    primal = 0.5 * float((spread * spread).sum()) + 0.5 * lam * float(sizes @ distances @ sizes)
    if outcome.separated:
        # Unit vectors between clusters, the fusions' flows within: the gap is half the squared
        # distance between primal and dual points.
        gap = 0.5 * (radius / scale) ** 2
    else:
        gap = max(0.0, _smoothed_gap(nodes, v, lam, outcome.eps, outcome.v))
        radius = math.sqrt(2.0 * gap) * scale
    return ConvexClustering(
        penalty=penalty,
        labels=labels,
        centres=points[0] + values.T * scale,
        primal=primal * scale * scale,
        gap=gap * scale * scale,
        certificate=certificate,
        certified=certificate is not None and not reason,
        radius=radius,
        reason=reason,
    )


def _smoothed_gap(nodes: Nodes, v: FloatArray, lam: float, eps: float, smooth: FloatArray) -> float:
    """Gap of v against the dual point ``z = psi(smooth / eps)``, which is always feasible.

    ``P(v) - D(z) = |v - u|^2 / 2 + lam sum_{k<l} n_k n_l (|v_kl| - <z_kl, v_kl>)`` with
    ``u = x - lam sum_l n_l z_kl`` and masses in the norm: no cancellation.
    """
    k = nodes.size
    z = _psi_sum(nodes, smooth, eps)
    u = nodes.x - lam * z
    total = 0.5 * float((nodes.mass * ((v - u) ** 2).sum(axis=0)).sum())
    for i in range(k):
        direction = smooth[:, [i]] - smooth
        direction /= np.sqrt(eps**2 + (direction**2).sum(axis=0))
        x = v[:, [i]] - v
        slack = np.sqrt((x**2).sum(axis=0)) - (direction * x).sum(axis=0)
        total += 0.5 * lam * float(nodes.mass[i] * (nodes.mass * slack).sum())
    return total


def _psi_sum(nodes: Nodes, smooth: FloatArray, eps: float) -> FloatArray:
    """``sum_l n_l psi((u_k - u_l) / eps)`` for every node, (d, K)."""
    out = np.empty_like(smooth)
    for i in range(nodes.size):
        x = smooth[:, [i]] - smooth
        out[:, i] = (nodes.mass * x / np.sqrt(eps**2 + (x**2).sum(axis=0))).sum(axis=1)
    return out


def scaled_penalty(penalty: float, scale: float) -> float:
    """The penalty in scaled units."""
    # Beyond 1e100 everything has long been fused; the cap keeps products finite.
    return min(penalty / scale, 1e100)

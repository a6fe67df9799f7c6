"""Convex clustering with equal weights: solver with exact fusions and a certificate.

The unknown is not a matrix but a partition: once it is known, the problem is the one on the
centroids, smooth, and Newton's method solves it to rounding.  The solver therefore alternates

1. *formula fusions*: every node of the complete-linkage tree whose diameter is at most lambda
   times its mass is fused, by the formula behind the recovery interval (13), applied again and
   again to the centroids that it leaves;
2. *smoothed Newton*: |u| becomes sqrt(eps^2 + |u|^2).  Its minimiser u yields the potentials
   y = u / eps of `trials.convex_clustering.certificate` for every set that is about to fuse, and
   these converge, as eps falls, to the minimiser of the strictly feasible fusion problem, if there
   is one.  A set whose flows fit is fused *for good* (a proof does not expire), the rest continues
   with a smaller eps;
3. *exact Newton*, eps = 0, on the centroids once no pair looks close: the residual is the radius of
   the separation proof.

So eps rarely falls below 1e-3 of the data's scale and every fusion makes the problem smaller.
Newton's systems are solved by conjugate gradients preconditioned with the Laplacian that all
coordinates share.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist

from trials.convex_clustering import kernels
from trials.convex_clustering.certificate import (
    Certificate,
    Fusion,
    check_certificate,
    rounding,
)
from trials.convex_clustering.problem import (
    ConvexClustering,
    Scaled,
    canonical,
    checked_penalty,
    scaled,
)

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Smoothing: first value relative to the rms distance, factor from one round to the next, and the
#: value relative to the largest distance below which rounding leaves nothing to gain.
_EPS_FIRST, _EPS_FACTOR, _EPS_LAST = 0.1, 0.1, 1e-13
#: Sets of nodes within these multiples of eps of each other are tried for fusion, widest first.
_REACHES = (30.0, 10.0, 3.0, 1.0)


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


def fuse(nodes: Nodes, labels: IntArray, values: FloatArray) -> tuple[Nodes, FloatArray]:
    """Replace the nodes of equal label by their centroid; ``values`` (d, K) are averaged too.

    The ids of fused nodes are left at -1 for the caller to number.
    """
    count = int(labels.max()) + 1
    mass = np.bincount(labels, weights=nodes.mass, minlength=count)
    d = nodes.x.shape[0]
    x, v = np.empty((d, count)), np.empty((d, count))
    for c in range(d):
        x[c] = np.bincount(labels, weights=nodes.mass * nodes.x[c], minlength=count) / mass
        v[c] = np.bincount(labels, weights=nodes.mass * values[c], minlength=count) / mass
    ids = np.full(count, -1, dtype=np.int64)
    sizes = np.bincount(labels, minlength=count)
    alone = sizes[labels] == 1
    ids[labels[alone]] = nodes.ids[alone]
    # A node that did not fuse keeps its position bit for bit.
    x[:, labels[alone]] = nodes.x[:, alone]
    v[:, labels[alone]] = values[:, alone]
    return Nodes(ids=ids, x=x, mass=mass), v


def formula_labels(nodes: Nodes, lam: float, allowance: float) -> IntArray:
    """Largest nodes of the complete-linkage tree with diameter at most ``lam`` times their mass."""
    k = nodes.size
    tree = linkage(pdist(nodes.x.T), "complete")
    children = tree[:, :2].astype(np.int64)
    mass = np.concatenate([nodes.mass, np.zeros(k - 1)])
    for t in range(k - 1):
        mass[k + t] = mass[children[t, 0]] + mass[children[t, 1]]
    fused = tree[:, 2] + allowance * (lam * mass[k:] + 1.0) <= lam * mass[k:]
    if not fused.any():
        return np.arange(k)
    owner = np.arange(2 * k - 1)
    for t in range(k - 2, -1, -1):
        if owner[k + t] != k + t or fused[t]:
            owner[children[t]] = owner[k + t]
    return canonical(owner[:k])


class Solver:
    """One solve: the nodes shrink, the steps accumulate."""

    def __init__(self, nodes: Nodes, lam: float, *, n_points: int, next_id: int) -> None:
        self.nodes = nodes
        self.lam = lam
        self.next_id = next_id
        self.steps: list[Step] = []
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
            labels = formula_labels(self.nodes, self.lam, self.allowance)
            if int(labels.max()) + 1 == self.nodes.size:
                break
            values = self._fuse(labels, values, None, 0.0)
        return values

    def _fusible(self, u: FloatArray, squares: FloatArray, eps: float) -> IntArray | None:
        """Labels after fusing the close sets whose flows fit, or None."""
        nodes = self.nodes
        labels = np.arange(nodes.size)
        settled = np.zeros(nodes.size, dtype=bool)
        component = np.empty(nodes.size, dtype=np.int64)
        seen: set[tuple[int, ...]] = set()
        for reach in _REACHES:
            kernels.components(squares, (reach * eps) ** 2, component)
            sizes = np.bincount(component)
            for k in np.flatnonzero(sizes > 1):
                index = np.flatnonzero(component == k)
                key = tuple(index.tolist())
                if settled[index].any() or key in seen:
                    continue
                seen.add(key)
                part = nodes.take(index)
                y = np.ascontiguousarray(u[:, index]) / eps
                flow = kernels.largest_flow(part.x, part.mass, y, self.lam)
                if flow + self.allowance * (self.lam + 1.0 / part.mass.sum()) <= self.lam:
                    labels[index] = index[0]
                    settled[index] = True
        return canonical(labels) if settled.any() else None

    def _exact(self, u: FloatArray) -> tuple[FloatArray, float, bool]:
        """Newton's method without smoothing, and the separation test."""
        nodes = self.nodes
        v, out = u.copy(), np.empty(3)
        weights = _mass_weights(nodes.mass)
        kernels.newton(nodes.x, nodes.mass, weights, self.lam, 1.0, 0.0, 0.0, 40, v, out)
        total = float(nodes.mass.sum())
        radius = float(out[0]) + self.allowance * math.sqrt(total) * (self.lam * total + 1.0)
        squares = _squares(v)
        inverse = 1.0 / nodes.mass
        separated = bool((squares > radius**2 * np.add.outer(inverse, inverse)).all())
        return v, radius, separated

    def run(self, start: FloatArray | None = None) -> Outcome:
        """Solve; ``start`` (d, K) are approximate values of the nodes."""
        u = self.formula_fusions(self.nodes.x.copy() if start is None else start.copy())
        if self.nodes.size == 1:
            return self._outcome(self.nodes.x.copy(), 0.0, True, 0.0)
        squares = _squares(self.nodes.x)
        widest = math.sqrt(squares[np.isfinite(squares)].max())
        distance = squares if start is None else _squares(u)
        eps = _EPS_FIRST * math.sqrt(float(distance[np.isfinite(distance)].mean()))
        if start is not None and distance.min() > (3.0 * eps) ** 2:
            v, radius, separated = self._exact(u)
            if separated:
                return self._outcome(v, radius, True, 0.0)
        out = np.empty(3)
        while eps > _EPS_LAST * widest:
            nodes = self.nodes
            tol = 0.1 * eps * math.sqrt(float(nodes.mass.sum()))
            weights = _mass_weights(nodes.mass)
            kernels.newton(nodes.x, nodes.mass, weights, self.lam, 1.0, eps, tol, 30, u, out)
            squares = _squares(u)
            labels = self._fusible(u, squares, eps)
            if labels is not None:
                u = self._fuse(labels, u, u / eps, self.lam)
                if self.nodes.size == 1:
                    return self._outcome(self.nodes.x.copy(), 0.0, True, 0.0)
                squares = _squares(u)
            if squares.min() > (3.0 * eps) ** 2:
                v, radius, separated = self._exact(u)
                if separated:
                    return self._outcome(v, radius, True, 0.0)
            eps *= _EPS_FACTOR
        return self._outcome(u, math.inf, False, eps / _EPS_FACTOR)

    def _outcome(self, v: FloatArray, radius: float, separated: bool, eps: float) -> Outcome:
        return Outcome(
            nodes=self.nodes, v=v, steps=self.steps, radius=radius, separated=separated, eps=eps
        )


def _mass_weights(mass: FloatArray) -> FloatArray:
    weights = np.outer(mass, mass)
    np.fill_diagonal(weights, 0.0)
    return weights


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


def to_certificate(steps: list[Step], values: FloatArray, scale: float) -> Certificate:
    """Steps and centres (d, k) in scaled units as a certificate in the units of the data."""
    d = values.shape[0]
    fusions = tuple(
        Fusion(
            children=step.children,
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
    lam = _scaled_penalty(penalty, scale)
    nodes, v = outcome.nodes, outcome.v
    index = partition(m, outcome.steps, nodes.ids)
    close = np.arange(nodes.size)
    if not outcome.separated:  # an unproved guess: nodes within the last smoothing are one cluster
        kernels.components(_squares(v), (3.0 * outcome.eps) ** 2, close)
        guess, shared = fuse(nodes, close, v)
        v = shared[:, close]
    labels = canonical(close[index])
    order = np.unique(labels, return_index=True)[1]
    values = np.ascontiguousarray(v[:, index[order]])
    certificate = None
    radius, reason = math.inf, ""
    if outcome.separated:
        certificate = to_certificate(outcome.steps, values, scale)
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
        gap = _smoothed_gap(nodes, v, lam, outcome.eps, outcome.v)
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


def _smoothed_gap(
    nodes: Nodes, v: FloatArray, lam: float, eps: float, smooth: FloatArray
) -> float:
    """Gap of v against the dual point ``z = psi(smooth / eps)``, which is always feasible.

    ``P(v) - D(z) = |v - u|^2 / 2 + lam sum_{k<l} n_k n_l (|v_kl| - <z_kl, v_kl>)`` with
    ``u = x - lam sum_l n_l z_kl`` and masses in the norm: no cancellation.
    """
    k = nodes.size
    z = kernels_psi_sum(nodes, smooth, eps)
    u = nodes.x - lam * z
    total = 0.5 * float((nodes.mass * ((v - u) ** 2).sum(axis=0)).sum())
    for i in range(k):
        direction = smooth[:, [i]] - smooth
        direction /= np.sqrt(eps**2 + (direction**2).sum(axis=0))
        x = v[:, [i]] - v
        slack = np.sqrt((x**2).sum(axis=0)) - (direction * x).sum(axis=0)
        total += 0.5 * lam * float(nodes.mass[i] * (nodes.mass * slack).sum())
    return total


def kernels_psi_sum(nodes: Nodes, smooth: FloatArray, eps: float) -> FloatArray:
    """``sum_l n_l psi((u_k - u_l) / eps)`` for every node, (d, K)."""
    out = np.empty_like(smooth)
    for i in range(nodes.size):
        x = smooth[:, [i]] - smooth
        out[:, i] = (nodes.mass * x / np.sqrt(eps**2 + (x**2).sum(axis=0))).sum(axis=1)
    return out


def _scaled_penalty(penalty: float, scale: float) -> float:
    # Beyond 1e100 everything has long been fused; the cap keeps products finite.
    return min(penalty / scale, 1e100)


def convex_clustering(points: ArrayLike, penalty: float) -> ConvexClustering:
    """placeholder"""
    data = scaled(points)
    penalty = checked_penalty(penalty)
    nodes, steps = duplicate_steps(data)
    m = data.points.shape[0]
    lam = _scaled_penalty(penalty, data.scale)
    if lam == 0.0 or nodes.size == 1:
        outcome = Outcome(
            nodes=nodes, v=nodes.x.copy(), steps=steps, radius=0.0, separated=True, eps=0.0
        )
    else:
        solver = Solver(nodes, lam, n_points=m, next_id=m + len(steps))
        outcome = solver.run()
        outcome.steps[:0] = steps
    return finish(data, penalty, outcome)

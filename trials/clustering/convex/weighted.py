"""Convex clustering with pair weights: solver and certificate.

With unequal weights clusters may split again along the path, and a fusion depends on points outside
of it.  So no fusion is final.  The smoothed problem keeps all its points until one partition passes
the proof of `check_weighted_certificate` as a whole.  The kernels are those of the equal weights,
with a dense (m, m) weight matrix.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from trials.checks import FloatArray, IntArray, InvalidParameter, real_array
from trials.clustering.convex.certificate import Certificate, Fusion, rounding
from trials.clustering.convex.nodes import Nodes, components, squared_distances
from trials.clustering.convex.problem import (
    LARGEST_PENALTY,
    ConvexClustering,
    Scaled,
    canonical,
    scaled_penalty,
)
from trials.clustering.convex.weighted_certificate import check_weighted_certificate

_EPS_FIRST, _EPS_FACTOR, _EPS_LAST = 0.1, 0.1, 1e-12
#: Linked points within these multiples of eps of each other make the partitions to be tried.
_REACHES = (1e4, 1e3, 100.0, 30.0, 10.0, 3.0)


def check_weights(weights: ArrayLike, n_points: int) -> FloatArray:
    """Validate pair weights: (m, m), finite, symmetric, >= 0.  The diagonal is ignored."""
    w = real_array("weights", weights).copy()
    if w.shape != (n_points, n_points):
        raise InvalidParameter(f"weights.shape={w.shape} must be ({n_points}, {n_points})")
    np.fill_diagonal(w, 0.0)
    if not np.isfinite(w).all() or (w < 0.0).any() or (w != w.T).any():
        raise InvalidParameter("weights must be finite, >= 0 and symmetric")
    return w


class _Weighted:
    """One weighted problem in scaled units, the largest weight between 1/2 and 1."""

    def __init__(self, data: Scaled, penalty: float, weights: FloatArray) -> None:
        self.data, self.x, self.m = data, data.x, data.points.shape[0]
        self.points = Nodes(ids=np.arange(self.m), x=data.x, mass=np.ones(self.m))
        self.unlinked = weights <= 0.0
        unit = 2.0 ** min(math.frexp(float(weights.max()))[1], 1023)
        self.given, self.weights = weights, weights / unit
        self.lam = scaled_penalty(penalty, data.scale, unit)
        smallest = float(weights.min(initial=np.inf, where=~self.unlinked))
        if self.lam >= LARGEST_PENALTY and smallest < 1e-80 * unit:
            raise InvalidParameter(
                f"weights={smallest:.3g} must be at least 1e-80 of the largest where the penalty "
                "is beyond 1e100 times the points' spread over it"
            )

    def equal_points(self) -> IntArray:
        """Labels (m,) of the sets of equal points that linked pairs connect."""
        # Adding zero turns -0.0 into 0.0, which are one point.
        _, row = np.unique(self.data.points + 0.0, axis=0, return_inverse=True)
        row = row.reshape(-1)
        apart = (row[:, None] != row) | self.unlinked
        return canonical(components(apart.astype(np.float64), 0.5))

    def linked_squares(self, u: FloatArray) -> FloatArray:
        """Squared distances (m, m) of the values (d, m), infinite where no weight links a pair."""
        squares = squared_distances(u)
        squares[self.unlinked] = np.inf
        return squares

    def smooth(self, eps: float, u: FloatArray) -> None:
        """Minimise the smoothed problem from ``u`` (d, m), in place.  ``eps`` is a length."""
        tol = 0.01 * eps * math.sqrt(self.m)
        self.points.minimise(
            u, self.lam, eps=eps, tol=tol, max_steps=40, patience=40, weights=self.weights
        )

    def proof(
        self, labels: IntArray, u: FloatArray, eps: float
    ) -> tuple[FloatArray, tuple[tuple[IntArray, FloatArray], ...]] | None:
        """Centres (d, k) and potentials that may prove a partition, or None where they cannot."""
        count = int(labels.max()) + 1
        b, mass = self.points.means(self.x, labels)
        v, _ = self.points.means(u, labels)
        clusters = Nodes(ids=np.arange(count), x=b, mass=mass)
        indicator = np.zeros((self.m, count))
        indicator[np.arange(self.m), labels] = 1.0
        towards = self.weights @ indicator
        between = indicator.T @ towards
        between = 0.5 * (between + between.T)
        np.fill_diagonal(between, 0.0)
        squares = squared_distances(v)
        if (squares[between > 0.0] <= (3.0 * eps) ** 2).any():
            return None
        # The verifier leaves room for rounding in proportion to the weight between clusters.  A
        # tolerance in proportion to the total weight takes fewer steps.  It is limited to 100
        # times the weight between clusters, so that it does not hide their separation.
        degree = min(float(self.weights.sum()), 100.0 * float(between.sum()))
        tol = 0.05 * rounding(self.m, self.x.shape[0]) * (self.lam * degree + math.sqrt(self.m))
        free = ~between.any(axis=0)
        if not free.all():
            clusters.minimise(v, self.lam, tol=tol, max_steps=60, patience=60, weights=between)
            if (squared_distances(v)[between > 0.0] == 0.0).any():  # clusters that met on the way
                return None
        # The value of a cluster without links to others is exactly its points' mean.
        v[:, free] = b[:, free]
        proofs = []
        for k in np.flatnonzero(mass > 1.0):
            index = np.flatnonzero(labels == k)
            x = v[:, [k]] - v
            length = np.sqrt((x * x).sum(axis=0))
            length[between[k] == 0.0] = np.inf
            pull = self.lam * (x / length) @ towards[index].T
            q = self.x[:, index] - v[:, [k]] - pull
            q -= q.mean(axis=1, keepdims=True)
            y = np.ascontiguousarray(u[:, index]) / eps
            y -= y.mean(axis=1, keepdims=True)
            w = np.ascontiguousarray(self.weights[np.ix_(index, index)])
            limit = 1e-14 * (self.lam * float(w.sum()) + 1.0)
            part = Nodes(ids=index, x=np.ascontiguousarray(q), mass=np.ones(index.size))
            part.minimise(
                y, self.lam, mu=0.0, eps=1.0, tol=limit, max_steps=60, patience=60, weights=w
            )
            proofs.append((index, y))
        return v, tuple(proofs)


def solve_weighted(data: Scaled, penalty: float, weights: FloatArray) -> ConvexClustering:
    """Solve a weighted problem whose parameters have been validated.

    Clusters are the sets connected by pairs of positive weight with equal values.  O(m^3 + m^2 d)
    a Newton step, O(m^2 + m d) memory.
    """
    problem = _Weighted(data, penalty, weights)
    if problem.lam == 0.0 or not weights.any():
        labels = problem.equal_points()
        count = int(labels.max()) + 1
        x = data.x[:, np.unique(labels, return_index=True)[1]]
        sets = [np.flatnonzero(labels == k) for k in range(count) if (labels == k).sum() > 1]
        proofs = tuple((index, np.zeros((len(data.x), index.size))) for index in sets)
        return _record(problem, penalty, labels, x, proofs)
    u = data.x.copy()
    squares = problem.linked_squares(u)
    linked = squares[np.isfinite(squares)]
    widest = max(1e-300, math.sqrt(float(linked.max())))
    eps = max(_EPS_FIRST * math.sqrt(float(linked.mean())), 1e-300)
    tried: set[bytes] = set()
    reason = "not certified at working precision: no partition passed"
    while eps > _EPS_LAST * widest:
        problem.smooth(eps, u)
        squares = problem.linked_squares(u)
        for reach in (*_REACHES, 0.0):
            labels = components(squares, (reach * eps) ** 2 if reach else -1.0)
            key = labels.tobytes()
            if key in tried:
                continue
            found = problem.proof(labels, u, eps)
            if found is None:
                continue
            tried.add(key)
            result = _record(problem, penalty, labels, *found)
            if result.certified:
                return result
            reason = result.reason
        eps *= _EPS_FACTOR
    eps /= _EPS_FACTOR
    return _guess(problem, penalty, components(squares, (3.0 * eps) ** 2), u, eps, reason)


def _primal(problem: _Weighted, u: FloatArray) -> float:
    """The objective at the values u (d, m), in scaled units."""
    squares = squared_distances(u)
    np.fill_diagonal(squares, 0.0)
    spread = problem.x - u
    penalty = 0.5 * problem.lam * float((problem.weights * np.sqrt(squares)).sum())
    return 0.5 * float((spread * spread).sum()) + penalty


def _record(
    problem: _Weighted,
    penalty: float,
    labels: IntArray,
    v: FloatArray,
    proofs: tuple[tuple[IntArray, FloatArray], ...],
) -> ConvexClustering:
    """The record whose partition the verifier checks."""
    scale = problem.data.scale
    certificate = Certificate(
        fusions=tuple(
            Fusion(children=index, potentials=np.ascontiguousarray(y.T), strength=penalty)
            for index, y in proofs
        ),
        centres=v.T * scale,
    )
    check = check_weighted_certificate(
        problem.data.points, penalty, labels, certificate, problem.given
    )
    u = np.ascontiguousarray(v[:, labels])
    return ConvexClustering(
        penalty=penalty,
        labels=labels,
        centres=problem.data.points[0] + v.T * scale,
        primal=_primal(problem, u) * scale * scale,
        gap=0.5 * check.radius * check.radius,
        certificate=certificate,
        certified=check.valid,
        radius=check.radius,
        reason=check.reason,
    )


def _guess(
    problem: _Weighted, penalty: float, labels: IntArray, u: FloatArray, eps: float, reason: str
) -> ConvexClustering:
    """The smoothed solution with its nearly equal values merged: a partition without a proof."""
    scale = problem.data.scale
    v, _ = problem.points.means(u, labels)
    values = np.ascontiguousarray(v[:, labels])
    # Gap against the dual point z = psi(u / eps), in the form that does not cancel.
    gap, dual = 0.0, problem.x.copy()
    for i in range(problem.m):
        x = u[:, [i]] - u
        z = x / np.sqrt(eps**2 + (x * x).sum(axis=0))
        w = problem.weights[i]
        dual[:, i] -= problem.lam * (z @ w)
        apart = values[:, [i]] - values
        slack = np.sqrt((apart * apart).sum(axis=0)) - (z * apart).sum(axis=0)
        gap += 0.5 * problem.lam * float(w @ slack)
    gap = max(0.0, gap + 0.5 * float(((values - dual) ** 2).sum())) * scale * scale
    return ConvexClustering(
        penalty=penalty,
        labels=labels,
        centres=problem.data.points[0] + v.T * scale,
        primal=_primal(problem, values) * scale * scale,
        gap=gap,
        certificate=None,
        certified=False,
        radius=math.sqrt(2.0 * gap),
        reason=reason,
    )

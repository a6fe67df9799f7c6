"""From an outcome in scaled units to the record that a caller gets, with the verifier's answer."""

from __future__ import annotations

import math

import numpy as np

from trials.checks import FloatArray
from trials.clustering.convex.certificate import Certificate, Fusion, check_record, problem_of
from trials.clustering.convex.nodes import Nodes, components, squared_distances
from trials.clustering.convex.problem import ConvexClustering, Scaled, canonical, scaled_penalty
from trials.clustering.convex.solver import Outcome, Step, partition


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


def finish(data: Scaled, penalty: float, outcome: Outcome) -> ConvexClustering:
    """Turn an outcome into a record: verify, expand, evaluate objective and gap."""
    points, scale = data.points, data.scale
    m = points.shape[0]
    lam = scaled_penalty(penalty, scale)
    nodes, v = outcome.nodes, outcome.v
    index = partition(m, outcome.steps, nodes.ids)
    close = np.arange(nodes.size)
    if not outcome.separated:  # an unproved guess: nodes within the last smoothing are one cluster
        close = components(squared_distances(v), (3.0 * outcome.eps) ** 2)
        v = np.ascontiguousarray(nodes.means(v, close)[0][:, close])
    labels = canonical(close[index])
    order = np.unique(labels, return_index=True)[1]
    values = np.ascontiguousarray(v[:, index[order]])
    certificate = None
    radius, reason = math.inf, ""
    if outcome.separated:
        certificate = to_certificate(m, outcome.steps, values, scale)
        check = check_record(problem_of(points, penalty), labels, certificate)
        radius, reason = check.radius, check.reason
    else:
        reason = "not certified at working precision: a fusion is too close to its penalty to call"
    sizes = np.bincount(labels).astype(np.float64)
    spread = data.x - values[:, labels]
    distances = np.sqrt(np.where(np.isfinite(sq := squared_distances(values)), sq, 0.0))
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
    """Gap of v (d, K) against the dual point ``z = psi(smooth / eps)``, always feasible.

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

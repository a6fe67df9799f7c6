r"""The independent verifier for pair weights.  The one for equal weights is in `certificate`.

With unequal weights the rest of the data pulls the points of a cluster unequally.  So the cluster's
flows must balance that pull too.  The pull is known only as precisely as the centres are:

.. math::

    a_i - v_k - \lambda \sum_{l \ne k} W_{il} s_{kl}
        = \lambda \sum_{j \in V_k} w_{ij} z_{ij}, \qquad |z_{ij}| \le 1,

s_kl the unit vector between centres and W_il the weight of point i towards cluster l.  With z =
psi(y_i - y_j), let T be the total that the equation does not account for: residuals, the errors of
v and s, and rounding.  It can be routed along any spanning tree of the cluster with at most T on
each edge.  So it suffices that the edges with ``|z_ij| + T / (lambda w_ij) <= 1`` connect the
cluster.

At penalty 0 the minimiser is the points themselves, and the clusters are compared exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trials.checks import BoolArray, FloatArray, IntArray
from trials.clustering.convex.certificate import (
    SMALLEST_DISTANCE,
    Certificate,
    CertificateCheck,
    Problem,
    Refusal,
    psi_blocks,
    read_centres,
    read_fusions,
    read_problem,
    read_reals,
    require_partition,
    rounding,
    run_means,
    scaled_centres,
    squares,
)


def check_weighted_certificate(
    points: ArrayLike,
    penalty: float,
    labels: ArrayLike,
    certificate: Certificate,
    weights: ArrayLike,
) -> CertificateCheck:
    r"""Check a partition for pair weights ``w_ij >= 0``, proved in one step from the points.

    Clusters are the sets connected by pairs of positive weight and equal values.  Two clusters
    without a pair of positive weight between them are not compared.

    Parameters
    ----------
    points, penalty, labels, certificate : as in `check_certificate`.
    weights : (m, m) symmetric array w >= 0, its diagonal ignored.

    Returns
    -------
    CertificateCheck
        Malformed arguments are refused with the reason.  No exception is raised.

    Raises
    ------
    Nothing.  A malformed argument is a refusal.

    Notes
    -----
    O(m^2 d) time, O(m^2) memory.

    Examples
    --------
    >>> from trials.clustering.convex import convex_clustering
    >>> from trials.clustering.sparse import neighbour_weights
    >>> points = [[0.0], [1.0], [10.0], [11.0]]
    >>> weights = neighbour_weights(points, 1).toarray()
    >>> fit = convex_clustering(points, penalty=2.0, weights=weights)
    >>> fit.labels.tolist()
    [0, 0, 1, 1]
    >>> check_weighted_certificate(points, 2.0, fit.labels, fit.certificate, weights).valid
    True
    """
    try:
        with np.errstate(all="ignore"):  # what overflows proves nothing
            problem, w = _read_problem(points, penalty, weights)
            radius = _check(problem, labels, certificate, w)
    except Refusal as refusal:
        scale = problem.scale if "problem" in locals() else 1.0
        return CertificateCheck(valid=False, reason=str(refusal), radius=refusal.radius * scale)
    return CertificateCheck(valid=True, reason="", radius=radius * problem.scale)


def _read_problem(
    points: ArrayLike, penalty: float, weights: ArrayLike
) -> tuple[Problem, FloatArray]:
    """The problem and its weights (m, m), the largest between 1/2 and 1.  Other values are refused.

    The power of two that is taken out of the weights goes into the penalty, so that the answer does
    not depend on how the two share a factor.
    """
    m = np.shape(read_problem(points, 0.0).a)[0]
    w = read_reals("weights", weights, (m, m), np.finfo(np.float64).max).copy()
    np.fill_diagonal(w, 0.0)
    if (w < 0.0).any() or (w != w.T).any():
        raise Refusal("weights must be >= 0 and symmetric")
    unit = 2.0 ** min(math.frexp(float(w.max()))[1], 1023)
    problem = read_problem(points, penalty, unit)
    linked = w > 0.0
    w /= unit
    if (linked & (w == 0.0)).any():
        raise Refusal("weights must spread over at most the range of floats")
    # A penalty that was cut still fuses all linked points, unless their weights are very small.
    if problem.cut and w.min(initial=np.inf, where=w > 0.0) < 1e-80:
        raise Refusal("weights below 1e-80 with a penalty beyond 1e100 times the points' spread")
    return problem, w


def _check(
    problem: Problem, labels: ArrayLike, certificate: Certificate, weights: FloatArray
) -> float:
    """The scaled radius of the centres if everything is proved.  Otherwise `Refusal` is raised."""
    x, m = problem.x, problem.x.shape[0]
    groups: list[tuple[IntArray, FloatArray]] = []
    free = np.ones(m, dtype=np.bool_)
    for t, fusion in read_fusions(certificate, m, x.shape[1]):
        if fusion.children.max() >= m or not free[fusion.children].all():
            raise Refusal(f"fusion {t} is not a set of points that no other fusion holds")
        free[fusion.children] = False
        order = np.argsort(fusion.children)
        groups.append((fusion.children[order], fusion.potentials[order]))
    groups += [(np.array([i]), np.zeros((1, x.shape[1]))) for i in np.flatnonzero(free)]
    groups.sort(key=lambda group: int(group[0][0]))
    clusters = [points for points, _ in groups]
    mass = np.array([p.size for p in clusters], dtype=np.float64)
    every = np.concatenate(clusters)
    require_partition(every, mass, labels)
    v = scaled_centres(read_centres(certificate, (mass.size, x.shape[1])), problem.scale)
    if problem.lam == 0.0:
        return _radius_of_points(problem, clusters, every, mass, v, weights)
    ties = _prove_separation(problem, clusters, every, mass, v, weights)
    for row, (own, potentials) in enumerate(groups):
        if own.size > 1:
            _check_cluster(problem, row, own, potentials, v[row], weights, ties)
    return ties.radius


def _radius_of_points(
    problem: Problem,
    clusters: list[IntArray],
    every: IntArray,
    mass: FloatArray,
    v: FloatArray,
    weights: FloatArray,
) -> float:
    """Penalty 0: clusters are the sets of equal points that linked pairs connect, exactly."""
    a = problem.a + 0.0  # turns -0.0 into 0.0: they are one point
    _, place = np.unique(a, axis=0, return_inverse=True)
    same = (weights > 0.0) & (place.reshape(-1)[:, None] == place.reshape(-1))
    owner = np.empty(every.size, dtype=np.int64)
    owner[every] = np.repeat(np.arange(mass.size), mass.astype(np.int64))
    if (same & (owner[:, None] != owner)).any():
        raise Refusal("equal points that are linked must be one cluster at penalty 0")
    for row, own in enumerate(clusters):
        if not _is_connected(same[np.ix_(own, own)]):
            raise Refusal(f"cluster {row} is not a set of equal linked points, at penalty 0")
    spread = v - run_means(problem.x[every], mass)
    radius = math.sqrt(float((mass[:, None] * spread**2).sum()))
    allowance = rounding(*problem.x.shape) * problem.x.shape[0]
    return radius + float(allowance * problem.reach)


@dataclass(frozen=True, kw_only=True)
class _Ties:
    """The sizes of k clusters, their links and the errors of their centres.

    Attributes
    ----------
    towards : (m, k) weight of each point towards each cluster.
    unit : k arrays (k, d), unit vectors from the other centres, 0 where nothing links.
    doubt : (k, k) relative error of the distances between linked centres.
    mass : (k,) sizes.
    radius : scaled error of all centres together.
    """

    towards: FloatArray
    unit: list[FloatArray]
    doubt: FloatArray
    mass: FloatArray
    radius: float


def _prove_separation(
    problem: Problem,
    clusters: list[IntArray],
    every: IntArray,
    mass: FloatArray,
    v: FloatArray,
    weights: FloatArray,
) -> _Ties:
    """Prove the linked centres (d, k) distinct, or refuse."""
    k, lam = mass.size, problem.lam
    towards = np.stack([weights[:, p].sum(axis=1) for p in clusters], axis=1)
    between = np.stack([towards[p].sum(axis=0) for p in clusters], axis=0)
    np.fill_diagonal(between, 0.0)
    linked = between > 0.0
    gradient = mass[:, None] * (v - run_means(problem.x[every], mass))
    unit: list[FloatArray] = []
    distance = np.full((k, k), np.inf)
    for row in range(k):
        difference = v[row] - v
        length = np.sqrt((difference * difference).sum(axis=1))
        if not (length[linked[row]] > SMALLEST_DISTANCE).all():
            raise Refusal("two linked centres coincide")
        unit.append(difference / np.where(linked[row], length, np.inf)[:, None])
        distance[row, linked[row]] = length[linked[row]]
        gradient[row] += lam * between[row] @ unit[row]
    error = np.sqrt((gradient * gradient).sum(axis=1))
    error += rounding(*problem.x.shape) * (lam * between.sum(axis=1) + mass * problem.reach)
    radius = math.sqrt(float((error * error / mass).sum()))
    doubt = radius * np.sqrt(1.0 / mass[:, None] + 1.0 / mass) / distance
    if not (doubt < 1.0).all():
        raise Refusal("the centres are not proved distinct", radius)
    doubt = np.where(linked, doubt, 0.0)
    return _Ties(towards=towards, unit=unit, doubt=doubt, mass=mass, radius=radius)


def _check_cluster(
    problem: Problem,
    row: int,
    own: IntArray,
    potentials: FloatArray,
    centre: FloatArray,
    weights: FloatArray,
    ties: _Ties,
) -> None:
    """Refuse a cluster (points ``own``) whose flows, from ``potentials`` (s, d), do not fit."""
    x, lam = problem.x, problem.lam
    allowance = rounding(*x.shape)
    w = weights[np.ix_(own, own)]
    towards = ties.towards[own]
    left = x[own] - centre - lam * towards @ ties.unit[row]
    size = np.zeros((own.size, own.size))
    for rows, z in psi_blocks(potentials):
        left[rows] -= lam * (z @ w[rows][:, :, None])[:, :, 0]
        size[rows] = np.sqrt(squares(z))
    total = float(np.sqrt((left * left).sum(axis=1)).sum())
    total += float((2.0 * lam * towards @ ties.doubt[row]).sum())
    total += own.size * ties.radius / math.sqrt(ties.mass[row])
    total += allowance * float((lam * weights[own].sum(axis=1) + problem.reach).sum())
    good = (w > 0.0) & (size + total / (lam * w) + allowance <= 1.0)
    if not _is_connected(good):
        raise Refusal(f"the flows of cluster {row} do not fit", ties.radius)


def _is_connected(edges: BoolArray) -> bool:
    """Whether a symmetric graph (n, n) is connected."""
    reached = np.zeros(edges.shape[0], dtype=bool)
    reached[0] = True
    while True:
        grown = reached | edges[reached].any(axis=0)
        if (grown == reached).all():
            return bool(reached.all())
        reached = grown

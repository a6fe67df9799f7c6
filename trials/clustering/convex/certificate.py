r"""Certificates of convex clustering, and an independent verifier in plain NumPy.

The verifier shares no code with the solver.  It proves, rounding included, that a partition *is*
the partition of the minimiser of

.. math::

    \min_U \tfrac12 \sum_i |a_i - u_i|^2 + \lambda \sum_{i<j} |u_i - u_j| .

Three facts make the proof short (they are the optimality conditions, split by cluster).

1. *Fusion.*  Nodes with masses n_k and positions b_k, N = sum n_k, share one value in the minimiser
   as soon as there are flows f_kl = -f_lk, |f_kl| <= lambda, with sum_l n_l f_kl = b_k - mean(b).
   Whatever the vectors y_k and the number tau are,

   .. math::

       f_{kl} = \tau\,\psi(y_k - y_l) + (r_k - r_l)/N, \qquad
       \psi(x) = x / \sqrt{1 + |x|^2}, \qquad r_k = b_k - \tau \sum_l n_l \psi(y_k - y_l),

   meets the equation identically, so only the size of the flows is to be checked.  tau = 0 is the
   certificate behind the recovery interval, f_kl = (b_k - b_l)/N (Sun, Toh & Yuan 2021, Cor. 7;
   equation (13) of Armacki et al. 2024).  The flows do not depend on lambda: nodes fused at one
   penalty are fused at every larger one, hence the path has no splits.
2. *Reduction.*  With equal weights the rest of the data pulls all nodes of a fused set equally, so
   the set may be replaced by its centroid with its mass; fusions nest.
3. *Separation.*  The reduced objective is strongly convex in the norm sum_k n_k |v_k|^2, so a
   gradient of norm E at centres v puts the true centres within E; centres k and l further apart
   than E sqrt(1/n_k + 1/n_l) are distinct in the minimiser.

Rounding.  With unit roundoff u, the computed flows are off by at most 4 u (m + d + 16)
(tau + X/N), where X is the largest norm of a point about the first one, and the gradients by at
most the same with N lambda + X; the verifier asks for that much room, so that no tau is so large
that the points drown in the rounding of r.  (Standard bounds: a sum of
s terms of size T errs by at most s u T; a norm or unit vector in R^d by (d + 4) u relative.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

UNIT_ROUNDOFF = 2.0**-53
#: Pair differences held at once by the verifier, in numbers: they stay in the cache.
_BLOCK = 1 << 16


@dataclass(frozen=True, kw_only=True)
class Fusion:
    """Proof that some nodes share one value: a step of a certificate.

    Attributes
    ----------
    children : (s,) node numbers, s >= 2.  Nodes 0..m-1 are the points; the fusion number t of a
        certificate (from 0) creates the node m + t.
    potentials : (s, d), the vectors y of the flows; dimensionless.
    strength : tau >= 0 of the flows, in the units of the penalty; 0 for the plain formula.
    """

    children: IntArray
    potentials: FloatArray
    strength: float


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """Proof that a partition is that of the minimiser.

    Attributes
    ----------
    fusions : steps in order, each on nodes that exist by then; the nodes never used as a child
        are the clusters.
    centres : (k, d) approximate values of the clusters, *relative to the first point*, in the
        order of the clusters' first points.
    """

    fusions: tuple[Fusion, ...]
    centres: FloatArray


@dataclass(frozen=True, kw_only=True)
class CertificateCheck:
    """The verifier's answer.

    Attributes
    ----------
    valid : whether the partition is proved.
    reason : why not, else an empty string.
    radius : proved bound on ``sqrt(sum_i |u_i - u*_i|^2)``, in the units of the points (also for
        a refused certificate where its separation part could be evaluated; else infinity).
    """

    valid: bool
    reason: str
    radius: float


def rounding(n_points: int, dimension: int) -> float:
    """Relative rounding allowance of the checks, ``4 u (m + d + 16)``."""
    return 4.0 * UNIT_ROUNDOFF * (n_points + dimension + 16)


def _differences(y: FloatArray, rows: slice) -> FloatArray:
    """y_k - y_l for some rows k and all l: (rows, d, s), the long axis last."""
    return np.asarray(y[rows, :, None] - np.ascontiguousarray(y.T))


def _psi_rows(y: FloatArray, rows: slice) -> FloatArray:
    """psi(y_k - y_l), likewise."""
    x = _differences(y, rows)
    x /= np.sqrt(1.0 + _squares(x))[:, None, :]
    return x


def _squares(x: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("kdl,kdl->kl", x, x))


def _blocks(s: int, d: int) -> list[slice]:
    step = max(1, _BLOCK // (s * d))
    return [slice(start, start + step) for start in range(0, s, step)]


def largest_flow(b: FloatArray, mass: FloatArray, y: FloatArray, strength: float) -> float:
    """Largest |f_kl| of the flows above; arrays are (s, d), memory O(s d) and one block."""
    s, d = b.shape
    r = b.copy()
    if strength > 0.0:
        for rows in _blocks(s, d):
            r[rows] -= strength * (_psi_rows(y, rows) @ mass)
    r /= mass.sum()
    worst = 0.0
    for rows in _blocks(s, d):
        flow = _differences(r, rows)
        if strength > 0.0:
            flow += strength * _psi_rows(y, rows)
        worst = float(np.maximum(worst, _squares(flow).max()))  # NaN stays, and proves nothing
    return math.sqrt(worst)


def _separation(
    v: FloatArray, b: FloatArray, mass: FloatArray, lam: float, allowance: float
) -> tuple[float, bool]:
    """Radius E of the true centres about ``v``, and whether it proves them distinct."""
    k, d = v.shape
    reach = float(max(np.abs(b).max(), np.abs(v).max()) * math.sqrt(d))
    smallest = np.full(k, np.inf)
    gradient = v - b
    for rows in _blocks(k, d):
        x = _differences(v, rows)
        distance = np.sqrt(_squares(x))
        own = np.arange(k)[rows]
        distance[np.arange(own.size), own] = np.inf
        if not distance.all():  # two centres coincide: no gradient there
            return math.inf, False
        gradient[rows] += lam * (x @ (mass / distance)[:, :, None])[:, :, 0]
        smallest[rows] = (distance / np.sqrt(1.0 / mass[own][:, None] + 1.0 / mass)).min(axis=1)
    error = np.sqrt((gradient * gradient).sum(axis=1)) + allowance * (
        lam * (mass.sum() - mass) + reach
    )
    radius = math.sqrt(float((mass * error * error).sum()))
    return radius, k == 1 or radius < float(smallest.min())


def _starts(sizes: FloatArray) -> IntArray:
    return np.concatenate(([0], np.cumsum(sizes[:-1]))).astype(np.int64)


def _means(x: FloatArray, members: IntArray, sizes: FloatArray) -> FloatArray:
    """Means of consecutive runs of ``members``, of the given sizes."""
    if members.size == sizes.size:
        return np.asarray(x[members])
    return np.asarray(np.add.reduceat(x[members], _starts(sizes), axis=0) / sizes[:, None])


def _normalised(a: FloatArray, penalty: float) -> tuple[FloatArray, float, float]:
    """Points about the first one over a power of two, the penalty likewise, and that power."""
    x = a - a[0]
    # A power of two takes 1e-150 and 1e150 alike into the range where squares are exact enough.
    scale = 2.0 ** math.frexp(float(np.abs(x).max()))[1] if x.any() else 1.0
    return x / scale, min(penalty / scale, 1e100), scale


def _same_partition(members: IntArray, sizes: FloatArray, labels: IntArray) -> bool:
    """Whether the runs of ``members``, all points once, are the classes of ``labels``."""
    labels = np.asarray(labels)
    if labels.shape != members.shape:
        return False
    claimed = labels[members]
    heads = claimed[_starts(sizes)]
    same = claimed == np.repeat(heads, sizes.astype(np.int64))
    return bool(same.all()) and np.unique(heads).size == sizes.size


def check_certificate(
    points: FloatArray, penalty: float, labels: IntArray, certificate: Certificate
) -> CertificateCheck:
    """Check that ``labels`` is the exact partition of the minimiser (equal weights).

    Parameters
    ----------
    points : (m, d) finite array.
    penalty : lambda >= 0, in the units of the points.
    labels : (m,) claimed partition.
    certificate : the proof.

    Returns
    -------
    CertificateCheck
        ``valid`` only when every fusion, the partition and the separation are proved.

    Notes
    -----
    O(m^2 d) time at most (pairs inside fusions, and pairs of centres), O(m d) memory.
    """
    a = np.asarray(points, dtype=np.float64)
    m, d = a.shape
    x, lam, scale = _normalised(a, penalty)
    allowance = rounding(m, d)
    reach = float(np.sqrt((x * x).sum(axis=1).max()))

    def refuse(reason: str, radius: float = math.inf) -> CertificateCheck:
        return CertificateCheck(valid=False, reason=reason, radius=radius * scale)

    members: dict[int, IntArray] = dict(enumerate(np.arange(m)[:, None]))
    for t, fusion in enumerate(certificate.fusions):
        children = fusion.children.tolist()
        if len(set(children)) != len(children) or not members.keys() >= set(children):
            return refuse(f"fusion {t} uses a node twice or before it exists")
        y, tau = np.asarray(fusion.potentials, dtype=np.float64), fusion.strength / scale
        if len(children) < 2 or y.shape != (len(children), d) or not np.isfinite(y).all():
            return refuse(f"fusion {t} has no finite potential for each of two or more nodes")
        parts = [members.pop(c) for c in children]
        own = members[m + t] = np.concatenate(parts)
        mass = np.array([p.size for p in parts], dtype=np.float64)
        flow = largest_flow(_means(x, own, mass), mass, y, tau)
        fits = flow + allowance * (max(lam, tau) + reach / own.size) <= lam
        # Duplicates are fused at every penalty, 0 included.
        if not fits and not (a[own] == a[own[0]]).all():
            return refuse(f"fusion {t} needs a penalty of {flow * scale!r}")

    mass = np.array([p.size for p in members.values()], dtype=np.float64)
    every = np.concatenate(list(members.values()))
    if not _same_partition(every, mass, labels):
        return refuse("the labels are not the partition that the fusions make")
    v = np.asarray(certificate.centres, dtype=np.float64) / scale
    if v.shape != (mass.size, d) or not np.isfinite(v).all():
        return refuse("the centres do not fit the clusters")
    heads = np.minimum.reduceat(every, _starts(mass))
    order = np.argsort(heads)
    b, mass, heads = _means(x, every, mass)[order], mass[order], heads[order]
    if lam == 0.0:  # u = a: the clusters are the distinct points, compared exactly
        radius = math.sqrt(float((mass[:, None] * (v - b) ** 2).sum())) + allowance * reach * m
        apart = np.unique(a[heads] + 0.0, axis=0).shape[0] == mass.size
    else:
        radius, apart = _separation(v, b, mass, lam, allowance)
    if not apart:
        return refuse("the centres are not proved distinct", radius)
    return CertificateCheck(valid=True, reason="", radius=radius * scale)


def check_weighted_certificate(
    points: FloatArray,
    penalty: float,
    labels: IntArray,
    certificate: Certificate,
    weights: FloatArray,
) -> CertificateCheck:
    r"""Check a partition for pair weights ``w_ij >= 0``, proved in one step from the points.

    With unequal weights the rest of the data pulls the points of a cluster unequally, so the
    cluster's flows must balance that pull too, and it is known only as well as the centres are:

    .. math::

        a_i - v_k - \lambda \sum_{l \ne k} W_{il} s_{kl}
            = \lambda \sum_{j \in V_k} w_{ij} z_{ij}, \qquad |z_{ij}| \le 1,

    s_kl the unit vector between centres and W_il the weight of point i towards cluster l.  With
    z = psi(y_i - y_j), whatever the equation leaves (residuals, the errors of v and s, rounding;
    T in all) can be routed along any spanning tree of the cluster at T or less an edge.  So it
    suffices that the edges with ``|z_ij| + T / (lambda w_ij) <= 1`` connect the cluster.

    Clusters are the sets connected by pairs of positive weight and equal values; two clusters
    without a pair of positive weight between them are not compared.  Parameters and result as in
    `check_certificate`; ``weights`` is (m, m), symmetric.  O(m^2 d) time, O(m^2) memory.
    """
    a = np.asarray(points, dtype=np.float64)
    m, d = a.shape
    x, lam, scale = _normalised(a, penalty)
    allowance = rounding(m, d)
    reach = float(np.sqrt((x * x).sum(axis=1).max()))

    def refuse(reason: str, radius: float = math.inf) -> CertificateCheck:
        return CertificateCheck(valid=False, reason=reason, radius=radius * scale)

    # A penalty that was cut still fuses all that is linked, unless small weights undo its size.
    if lam < penalty / scale and weights.min(initial=np.inf, where=weights > 0.0) < 1e-80:
        return refuse("weights below 1e-80 with a penalty beyond 1e100 times the points' spread")
    groups = [fusion.children for fusion in certificate.fusions]
    inner = np.concatenate([*groups, np.empty(0, dtype=np.int64)])
    if np.unique(inner).size != inner.size or (inner >= m).any() or (inner < 0).any():
        return refuse("the fusions are not disjoint sets of points")
    clusters = [*groups, *(np.array([i]) for i in np.setdiff1d(np.arange(m), inner))]
    proof = {int(f.children.min()): f.potentials for f in certificate.fusions}
    clusters = sorted((np.sort(p) for p in clusters), key=lambda p: int(p[0]))
    mass = np.array([p.size for p in clusters], dtype=np.float64)
    every = np.concatenate(clusters)
    if not _same_partition(every, mass, labels):
        return refuse("the labels are not the partition that the fusions make")
    k = len(clusters)
    v = np.asarray(certificate.centres, dtype=np.float64) / scale
    if v.shape != (k, d) or not np.isfinite(v).all():
        return refuse("the centres do not fit the clusters")
    towards = np.stack([weights[:, p].sum(axis=1) for p in clusters], axis=1)
    between = np.stack([towards[p].sum(axis=0) for p in clusters], axis=0)
    np.fill_diagonal(between, 0.0)
    linked = between > 0.0

    gradient = mass[:, None] * (v - _means(x, every, mass))
    unit: list[FloatArray] = []
    distance = np.full((k, k), np.inf)
    for row in range(k):
        difference = v[row] - v
        length = np.sqrt((difference * difference).sum(axis=1))
        if (length[linked[row]] == 0.0).any():
            return refuse("two linked centres coincide")
        unit.append(difference / np.where(linked[row], length, np.inf)[:, None])
        distance[row, linked[row]] = length[linked[row]]
        gradient[row] += lam * between[row] @ unit[row]
    error = np.sqrt((gradient * gradient).sum(axis=1))
    error += allowance * (lam * between.sum(axis=1) + mass * reach)
    radius = math.sqrt(float((error * error / mass).sum()))
    doubt = radius * np.sqrt(1.0 / mass[:, None] + 1.0 / mass) / distance
    if not (doubt < 1.0).all():
        return refuse("the centres are not proved distinct", radius)

    for row, p in enumerate(clusters):
        if p.size == 1:
            continue
        children = next(f.children for f in certificate.fusions if int(f.children.min()) == p[0])
        y = proof[int(p[0])][np.argsort(children)]
        w = weights[np.ix_(p, p)]
        left = x[p] - v[row] - lam * towards[p] @ unit[row]
        size = np.zeros((p.size, p.size))
        for rows in _blocks(p.size, d):
            z = _psi_rows(y, rows)
            left[rows] -= lam * (z @ w[rows][:, :, None])[:, :, 0]
            size[rows] = np.sqrt(_squares(z))
        total = float(np.sqrt((left * left).sum(axis=1)).sum())
        total += float((2.0 * lam * towards[p] @ np.where(linked[row], doubt[row], 0.0)).sum())
        total += p.size * radius / math.sqrt(mass[row])
        total += allowance * float((lam * weights[p].sum(axis=1) + reach).sum())
        with np.errstate(divide="ignore"):
            good = size + total / (lam * w) + allowance <= 1.0
        if not _connected(good):
            return refuse(f"the flows of cluster {row} do not fit", radius)
    return CertificateCheck(valid=True, reason="", radius=radius * scale)


def _connected(edges: NDArray[np.bool_]) -> bool:
    reached = np.zeros(edges.shape[0], dtype=bool)
    reached[0] = True
    while True:
        grown = reached | edges[reached].any(axis=0)
        if (grown == reached).all():
            return bool(reached.all())
        reached = grown

r"""The independent verifier for sparse weights, in NumPy and SciPy.

It shares no code with the solver.

A partition with centres v is that of the minimiser when two things hold.

1. *Separation.*  The reduced objective, one value a cluster, is strongly convex.  So its minimiser
   is within E of v, where E is the norm of its gradient over the masses.  Linked centres must be
   further apart than that.
2. *Fusion.*  In each cluster there are flows on its own edges with

   .. math::

       a_i - v_k - \lambda \sum_{j \notin V_k} w_{ij} s_{kl}
           = \sum_{j \in V_k} y_{ij}, \qquad |y_{ij}| \le \lambda w_{ij},

   s_kl the unit vector between centres.  The certificate's potentials p give
   ``y_ij = (1 - margin) lam w_ij clip(p_i - p_j)`` with ``clip(x) = x / max(1, |x|)``.  What these
   leave over is routed along a spanning tree of the edges with the most room.  The verifier then
   asks for room, on each edge of the tree, for its flow and for all errors of the cluster: those of
   v and s, which E bounds, and rounding.

A cluster that passes 2 is *proved* at the centres.  When all pass, the partition is exact.  The gap
holds in any case, because all flows are feasible: it is half the square of what they leave over.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from trials.checks import (
    BoolArray,
    FloatArray,
    IntArray,
    InvalidParameter,
    plain_array,
    real_array,
    real_between,
    real_or_infinite,
)
from trials.clustering.convex.certificate import (
    SMALLEST_DISTANCE,
    Refusal,
    problem_of,
    rounding,
    scaled_centres,
)
from trials.clustering.sparse.graph import Graph, check_graph, join_entries

#: Share of their limits that the flows of a certificate keep free, for the errors of the centres.
MARGIN = 1e-8


@dataclass(frozen=True, kw_only=True)
class SparseCheck:
    """Result of `check_sparse_certificate`.

    Attributes
    ----------
    valid : the partition is that of the minimiser, rounding included.
    proved : (k,) clusters whose flows were found to fit.
    primal : objective at the centres.
    gap : upper bound on ``primal - optimum``, rounding included.
    relative_gap : gap over primal, 0 where both are 0.  It has no unit, so that it is right where
        the squares of lengths are beyond the range of floats.  It is infinite where rounding is
        all that there is: the objective is 0 and the gap is not.
    radius : bound on ``sqrt(sum_i |u_i - u*_i|^2)``.  It is ``sqrt(2 gap)``.
    reason : the first part that could not be proved, else an empty string.
    """

    valid: bool
    proved: BoolArray
    primal: float
    gap: float
    relative_gap: float
    radius: float
    reason: str


def spanning_flow(
    n: int, low: IntArray, high: IntArray, room: FloatArray, labels: IntArray, supply: FloatArray
) -> tuple[IntArray, FloatArray, IntArray]:
    """Route supplies along a spanning forest of the edges with the most room.

    Parameters
    ----------
    low, high : (E,) ends of the edges, inside clusters.  ``room`` : (E,) positive.
    labels : (n,) clusters.  ``supply`` : (n, d) what each point gives away.

    Returns
    -------
    (edge, size, unreached) : the ends (2, E') of the forest's edges, the size of the flow on each,
    and the points that the forest does not join with the first point of their cluster.
    """
    weight = room.max(initial=1.0) / room
    forest = minimum_spanning_tree(join_entries(weight, low, high, n)).tocoo()
    _, first = np.unique(labels, return_index=True)
    rows = np.concatenate([forest.row, np.full(first.size, n)])
    cols = np.concatenate([forest.col, first])
    rooted = join_entries(np.ones(rows.size), rows, cols, n + 1)
    order, parent = breadth_first_order(rooted, n, directed=False)
    place = np.empty(n + 1, dtype=np.int64)
    place[order] = np.arange(order.size)
    # Points of one depth are contiguous: a level ends where the parents leave the level before.
    total = np.concatenate([supply, np.zeros((1, supply.shape[1]))])
    ends = [0, 1]
    up = place[parent[order[1:]]]
    while ends[-1] < order.size:
        ends.append(1 + int(np.searchsorted(up, ends[-1], side="left")))
    for begin, end in zip(ends[-2:0:-1], ends[:1:-1], strict=True):
        points = order[begin:end]
        np.add.at(total, parent[points], total[points])
    below = order[ends[2] :] if len(ends) > 2 else order[:0]
    reached = np.zeros(n + 1, dtype=bool)
    reached[order] = True
    size = np.sqrt((total[below] ** 2).sum(axis=1))
    edge = np.stack([below, parent[below]])
    return edge, size, np.flatnonzero(~reached[:n])


def check_sparse_certificate(
    points: ArrayLike,
    weights: Any,
    penalty: float,
    labels: ArrayLike,
    offsets: ArrayLike,
    potentials: ArrayLike,
    *,
    margin: float = MARGIN,
) -> SparseCheck:
    r"""Check a solution of ``min 1/2 sum |a_i - u_i|^2 + penalty sum_{i<j} w_ij |u_i - u_j|``.

    Parameters
    ----------
    points : (n, d) array a.  ``weights`` : (n, n) sparse, symmetric, >= 0.
    penalty : >= 0, also infinite.
    labels : (n,) whole numbers 0 to k - 1.
    offsets : (k, d) values of the clusters minus the first point: so no digit of theirs is lost in
        data far from the origin.
    potentials : (n, d), without a unit.  Only differences inside a cluster count.
    margin : share of each edge's limit that the flows of the potentials keep free.

    Raises
    ------
    InvalidParameter : Arguments of a wrong shape or kind. A false proof is no error but a result.

    Notes
    -----
    O(E d + E log E) time, O(E d) memory.

    Examples
    --------
    >>> w = [[0, 1], [1, 0]]
    >>> check_sparse_certificate([[0.0], [1.0]], w, 1.0, [0, 0], [[0.5]], [[0.0], [0.0]]).valid
    True
    >>> check_sparse_certificate([[0.0], [4.0]], w, 1.0, [0, 0], [[2.0]], [[0.0], [0.0]]).reason
    'the flows of cluster 0 do not fit'
    """
    a = real_array("points", points)
    if a.ndim != 2 or 0 in a.shape or not np.isfinite(a).all():
        raise InvalidParameter(
            f"points.shape={a.shape} must be (n, d) with n, d >= 1, and all entries finite"
        )
    n, d = a.shape
    graph = check_graph(weights, n)
    owner = plain_array("labels", labels)
    whole = owner.shape == (n,) and owner.dtype.kind in "iu"
    if not whole or owner.min() < 0 or owner.max() >= n:
        raise InvalidParameter(f"labels must be ({n},) whole numbers in 0..{n - 1}")
    owner = owner.astype(np.int64)
    k = int(owner.max()) + 1
    mass = np.bincount(owner, minlength=k).astype(np.float64)
    margin = real_between("margin", margin, 0.0, 1.0)
    penalty = real_or_infinite("penalty", penalty)
    v = real_array("offsets", offsets)
    y = real_array("potentials", potentials)
    if v.shape != (k, d) or y.shape != (n, d) or (mass == 0.0).any():
        raise InvalidParameter(
            f"offsets.shape={v.shape} must be ({k}, {d}), potentials.shape={y.shape} must be "
            f"({n}, {d}), and no cluster empty"
        )
    if not np.isfinite(v).all() or not np.isfinite(y).all() or not penalty >= 0.0:
        raise InvalidParameter("offsets and potentials must be finite, and the penalty >= 0")
    with np.errstate(all="ignore"):
        return _check_in_units(a, graph, penalty, owner, mass, v, y, margin)


def _check_in_units(
    a: FloatArray,
    graph: Graph,
    penalty: float,
    owner: IntArray,
    mass: FloatArray,
    v: FloatArray,
    y: FloatArray,
    margin: float,
) -> SparseCheck:
    """The check of validated arguments, in units where no square is lost.

    The points go over a power of two, the weights over another one, and the penalty over both.
    """
    largest = float(graph.w.max(initial=0.0))
    weight = 2.0 ** min(math.frexp(largest)[1], 1023) if largest > 0.0 else 1.0
    try:
        problem = problem_of(a, penalty if math.isfinite(penalty) else 0.0, weight)
        centres = scaled_centres(v, problem.scale)
    except Refusal as refusal:
        return _refuse(mass.size, str(refusal))
    scale, lam = problem.scale, problem.lam if math.isfinite(penalty) else math.inf
    w = graph.w / weight
    least = float(w.min(initial=math.inf))
    # A penalty that was cut still fuses all linked points, unless their weights are very small.
    if not least > 0.0 or (problem.cut and least < 1e-80):
        return _refuse(mass.size, "weights spread over too many powers of ten")
    scaled = graph._replace(w=w)
    full = penalty / scale * weight if problem.cut else lam
    check = _check(problem.x, a, scaled, lam, full, owner, mass, centres, y, margin)
    return replace(
        check,
        primal=check.primal * scale * scale,
        gap=check.gap * scale * scale,
        radius=check.radius * scale,
    )


def _refuse(k: int, reason: str) -> SparseCheck:
    """Nothing is proved of k clusters."""
    return SparseCheck(
        valid=False,
        proved=np.zeros(k, dtype=bool),
        primal=math.nan,
        gap=math.inf,
        relative_gap=math.inf,
        radius=math.inf,
        reason=reason,
    )


def make_relative(gap: ArrayLike, primal: ArrayLike) -> FloatArray:
    """Gaps (...,) over objectives: 0 over 0 is 0, and an infinite gap stays infinite."""
    gap = np.asarray(gap, dtype=np.float64)
    with np.errstate(all="ignore"):
        return np.where((gap == 0.0) | np.isinf(gap), gap, gap / np.asarray(primal))


def _check(
    x: FloatArray,
    a: FloatArray,
    graph: Graph,
    lam: float,
    full: float,
    owner: IntArray,
    mass: FloatArray,
    v: FloatArray,
    y: FloatArray,
    margin: float,
) -> SparseCheck:
    """The check in scaled units: ``x`` are the points ``a`` about the first one, over the unit.

    At penalty 0 the points themselves are compared.  ``lam`` may be cut, and ``full`` is not.
    """
    n, d = x.shape
    k = mass.size
    rows = graph.rows()
    half = rows < graph.indices
    low, high, w = rows[half], graph.indices[half].astype(np.int64), graph.w[half]
    across = owner[low] != owner[high]
    unlimited = math.isinf(lam)
    pull = np.zeros(across.sum()) if unlimited else lam * w[across]
    allowance = rounding(n, d)
    reach = float(np.sqrt((x * x).sum(axis=1)).max(initial=0.0))
    p, q = owner[low[across]], owner[high[across]]
    apart = v[p] - v[q]
    length = np.sqrt((apart * apart).sum(axis=1))
    unit = apart / np.where(length > 0.0, length, np.inf)[:, None]
    spread = x - v[owner]
    away = length > 0.0
    primal = 0.5 * float((spread * spread).sum()) + float((full * w[across][away]) @ length[away])

    strength = _at_ends(k, p, q, pull)
    gradient = _add(k, p, pull[:, None] * unit, q) - _add(k, owner, spread)
    error = np.sqrt((gradient * gradient).sum(axis=1))
    error += allowance * (strength + mass * reach)
    near = math.sqrt(float((error * error / mass).sum()))
    doubt = _doubt(near, mass[p], mass[q], length)
    if lam == 0.0:
        doubt = np.where((a[low[across]] == a[high[across]]).all(axis=1), np.inf, 0.0)
    separated = (not unlimited and bool((doubt < 1.0).all())) or across.sum() == 0

    own = ~across
    room = np.full(own.sum(), np.inf) if unlimited else lam * w[own]
    z = _in_the_ball(y[low[own]] - y[high[own]], 1.0 - margin)
    flow = np.zeros_like(z) if unlimited else room[:, None] * z
    left = spread - _add(n, low[across], pull[:, None] * unit, high[across])
    left -= _add(n, low[own], flow, high[own])
    load = _at_ends(n, low[across], high[across], pull)
    risk = _at_ends(n, low[across], high[across], 2.0 * pull * doubt)
    inside = 0.0 if unlimited else _at_ends(n, low[own], high[own], room)
    slip = allowance * (load + inside + reach)
    if lam == 0.0:
        room = (a[low[own]] == a[high[own]]).all(axis=1).astype(np.float64)
        needs = np.zeros(k)
    else:
        room = room * (1.0 - np.sqrt((z * z).sum(axis=1)) - allowance) if not unlimited else room
        needs = np.bincount(owner, risk + slip, k) + near * np.sqrt(mass)
    fits = _route(low[own], high[own], room, owner, left if lam > 0.0 else 0.0 * left, needs)
    proved = fits & np.isfinite(needs)
    gap = 0.5 * float(((np.sqrt((left * left).sum(axis=1)) + slip) ** 2).sum())
    if not separated:
        reason = "linked centres are not proved distinct"
    elif not proved.all():
        reason = f"the flows of cluster {int(np.argmin(proved))} do not fit"
    else:
        reason = ""
        gap = min(gap, 0.5 * near * near)
    if (unlimited or full > lam) and away.any():  # their pull stands for a larger one
        gap = math.inf
    return SparseCheck(
        valid=not reason,
        proved=proved,
        primal=primal,
        gap=gap,
        relative_gap=float(make_relative(gap, primal)),
        radius=math.sqrt(2.0 * gap),
        reason=reason,
    )


def _at_ends(n: int, one: IntArray, other: IntArray, x: FloatArray) -> FloatArray:
    """The sum of the links' values x (E,) at each node, (n,)."""
    return np.asarray(np.bincount(one, x, n) + np.bincount(other, x, n))


def _in_the_ball(z: FloatArray, radius: float) -> FloatArray:
    """Rows (E, d) scaled by ``radius``, and those longer than 1 to that length."""
    size = np.maximum(1.0, np.sqrt((z * z).sum(axis=1)))
    return np.asarray(z * (radius / size[:, None]))


def _doubt(near: float, one: FloatArray, other: FloatArray, length: FloatArray) -> FloatArray:
    """The largest error of two linked centres' difference over its length, infinite at length 0.

    ``near`` is the mass-weighted distance of all centres from the minimiser, and ``one`` and
    ``other`` are the masses at the ends of the links, (E,).
    """
    doubt = near * np.sqrt(1.0 / one + 1.0 / other) / length
    return np.asarray(np.where(length > SMALLEST_DISTANCE, doubt, np.inf))


def _route(
    low: IntArray,
    high: IntArray,
    room: FloatArray,
    owner: IntArray,
    left: FloatArray,
    needs: FloatArray,
) -> BoolArray:
    """The clusters (k,) whose spanning tree has room for the remainders and for all errors."""
    fits = np.ones(needs.size, dtype=bool)
    free = room > 0.0
    low, high, room = low[free], high[free], room[free]
    capped = np.minimum(room, 1e300)
    edge, size, unreached = spanning_flow(owner.size, low, high, capped, owner, left)
    key = low * owner.size + high
    order = np.argsort(key)
    ends = np.minimum(*edge) * owner.size + np.maximum(*edge)
    at = order[np.searchsorted(key, ends, sorter=order)]
    cluster = owner[edge[0]]
    fits[cluster[~(size + needs[cluster] <= room[at])]] = False
    fits[owner[unreached]] = False
    return fits


def _add(size: int, at: IntArray, values: FloatArray, minus: IntArray | None = None) -> FloatArray:
    """Add rows of ``values`` (E, d) to the rows ``at`` of zeros, and subtract them at ``minus``."""
    out = np.empty((size, values.shape[1]))
    for c in range(values.shape[1]):
        out[:, c] = np.bincount(at, values[:, c], size)
        if minus is not None:
            out[:, c] -= np.bincount(minus, values[:, c], size)
    return out

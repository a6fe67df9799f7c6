"""Convex clustering with sparse weights: validate, trace, return records."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trials.checks import (
    FloatArray,
    IntArray,
    InvalidParameter,
    flag,
    function_of,
    real_array,
    real_between,
    real_or_infinite,
)
from trials.clustering.convex.problem import Scaled, scale_points, scaled_penalty
from trials.clustering.sparse.certificate import MARGIN, check_sparse_certificate, make_relative
from trials.clustering.sparse.gaps import Gaps
from trials.clustering.sparse.graph import Graph, check_graph
from trials.clustering.sparse.path import Tracer
from trials.clustering.sparse.record import SparseClustering, SparsePath

#: Relative gap of a single problem.  Partitions are proved at this accuracy.
_EXACT = 1e-18
#: Smaller relative gaps are below rounding, and their products with the objective vanish.
_SMALLEST = 1e-30
#: Margins that are tried where the flows leave too little room.
_MARGINS = (1e-6, 1e-4, 1e-2)


class _Problem:
    """A validated problem in scaled units, the largest weight between 1/2 and 1."""

    def __init__(self, points: ArrayLike, weights: Any) -> None:
        self.data: Scaled = scale_points(points)
        self.given = check_graph(weights, self.data.points.shape[0])
        largest = float(self.given.w.max(initial=0.0))
        self.unit = 2.0 ** min(math.frexp(largest)[1], 1023)
        self.graph = Graph(
            indptr=self.given.indptr, indices=self.given.indices, w=self.given.w / self.unit
        )

    def lam(self, penalty: float) -> float:
        """The penalty in scaled units."""
        if math.isinf(penalty):
            return penalty
        return scaled_penalty(penalty, self.data.scale, self.unit)

    def centres(self, tracer: Tracer) -> FloatArray:
        """Centres (k, d) in the units of the points."""
        return np.asarray(self.data.points[0] + tracer.values() * self.data.scale)


def sparse_convex_clustering(
    points: ArrayLike, penalty: float, weights: Any, *, tolerance: float = _EXACT
) -> SparseClustering:
    r"""Solve convex clustering with sparse pair weights, with a certificate of its partition.

    .. math::

        \min_U \tfrac12 \sum_i |a_i - u_i|^2 + \lambda \sum_{i<j} w_{ij} |u_i - u_j|

    Parameters
    ----------
    points : (n, d) finite array a.
    penalty : lambda >= 0, in the units of the points.  Infinity fuses each component of the graph.
    weights : (n, n) SciPy sparse or dense symmetric matrix w >= 0, as of `neighbour_weights`.
    tolerance : relative duality gap at which the solver stops, >= 1e-30.  A partition is proved
        only by small ones.

    Returns
    -------
    SparseClustering
        ``certified`` means that `check_sparse_certificate` accepted the partition.  Otherwise
        ``uncertified`` lists the clusters without proof, and the gap is still valid.

    Notes
    -----
    Memory O(E + n d) for E edges.  For many penalties use `sparse_convex_clustering_path`.

    Examples
    --------
    >>> from trials.clustering.sparse import neighbour_weights
    >>> points = [[0.0], [1.0], [10.0], [11.0]]
    >>> fit = sparse_convex_clustering(points, 2.0, neighbour_weights(points, 1))
    >>> fit.labels.tolist(), fit.certified
    ([0, 0, 1, 1], True)

    References
    ----------
    Armacki et al. (2024), (12) and Remark 23; Sun, Toh & Yuan (2021); Touw, Groenen & Terada
    (2022).
    """
    problem = _Problem(points, weights)
    penalty = check_penalty(penalty)
    tolerance = real_between("tolerance", tolerance, _SMALLEST, 1.0)
    tracer = Tracer(problem.data, problem.graph)
    lam = problem.lam(penalty)
    if 0.0 < lam < tracer.end.penalty:
        tracer.solve(lam, max(tolerance, 1e-6), flows=True)
    tracer.solve(lam, tolerance, flows=True)
    result = _record(problem, penalty, tracer, MARGIN)
    for margin in _MARGINS:
        if result.proved.all():
            break
        tracer.balance_again(margin, tolerance)
        other = _record(problem, penalty, tracer, margin)
        if other.proved.sum() > result.proved.sum():
            result = other
    return result


def _record(problem: _Problem, penalty: float, tracer: Tracer, margin: float) -> SparseClustering:
    """The state of a tracer with the verifier's opinion, in the units of the points."""
    labels, which = tracer.partition()
    offsets = tracer.values()[which] * problem.data.scale
    check = check_sparse_certificate(
        problem.data.points,
        problem.given.matrix(),
        penalty,
        labels,
        offsets,
        tracer.given_potentials(),
        margin=margin,
    )
    return SparseClustering(
        penalty=penalty,
        labels=labels,
        centres=problem.data.points[0] + offsets,
        offsets=offsets,
        primal=check.primal,
        gap=check.gap,
        relative_gap=check.relative_gap,
        radius=check.radius,
        potentials=tracer.given_potentials(),
        margin=margin,
        proved=check.proved,
        certified=check.valid,
        reason=check.reason,
    )


def sparse_convex_clustering_path(
    points: ArrayLike,
    penalties: ArrayLike,
    weights: Any,
    *,
    tolerance: float = 1e-6,
    flows: bool = True,
    gaps: bool = False,
    keep_centres: bool = True,
    progress: Callable[[int, int], object] | None = None,
) -> SparsePath:
    """Solve convex clustering with sparse weights at increasing penalties, each from the last.

    Parameters
    ----------
    points, weights : as in `sparse_convex_clustering`.
    penalties : (t,) increasing, >= 0, also infinite.
    tolerance : relative duality gap at which each penalty stops.
    flows : whether to seek the flows inside the clusters.  They give the gap, and they split the
        clusters that should not have been fused.  Without them a path is many times faster, no
        cluster splits, and the gap is NaN unless ``gaps`` is set.
    gaps : whether to bound the gaps alone where ``flows`` is false, to ten times the tolerance,
        with flows at as few penalties as that needs.  A larger gap shows that some cluster should
        not have been fused.
    keep_centres : whether to keep all centres, O(t n d) numbers at most.
    progress : is called as ``progress(done, all)`` after each penalty.

    Examples
    --------
    >>> from trials.clustering.sparse import neighbour_weights
    >>> points = [[0.0], [1.0], [10.0], [11.0]]
    >>> w = neighbour_weights(points, 1, connect="tree")
    >>> path = sparse_convex_clustering_path(points, [0.0, 0.25, 2.0, 50.0], w)
    >>> path.n_clusters.tolist()
    [4, 4, 2, 1]
    """
    problem = _Problem(points, weights)
    grid = _check_grid(penalties)
    tolerance = real_between("tolerance", tolerance, _SMALLEST, 1.0)
    flows, gaps = flag("flows", flows), flag("gaps", gaps) and not flows
    keep_centres = flag("keep_centres", keep_centres)
    if progress is not None:
        progress = function_of("progress", progress)
    columns = _Columns(problem, grid.size, keep_centres)
    end = 0
    for end in _follow(columns, grid, tolerance, flows, gaps):
        if progress is not None:
            progress(end, grid.size)
    if progress is not None:
        for i in range(end, grid.size):
            progress(i + 1, grid.size)
    return columns.path(grid, end)


def _follow(
    columns: _Columns, grid: FloatArray, tolerance: float, flows: bool, gaps: bool
) -> Iterator[int]:
    """Write one penalty after the other, up to the end of the path, and yield how many are done."""
    tracer = columns.tracer
    bounds = Gaps(tracer, tolerance, columns.gap) if gaps else None
    for i, penalty in enumerate(grid.tolist()):
        tracer.solve(columns.problem.lam(penalty), tolerance, flows=flows)
        columns.write(i)
        if bounds is not None:
            bounds.add(i)
        yield i + 1
        if tracer.is_at_the_end(tolerance, flows=flows) and (bounds is None or bounds.is_small(i)):
            break
    if bounds is not None:
        bounds.settle()


def _check_grid(penalties: ArrayLike) -> FloatArray:
    """Validate increasing penalties (t,) >= 0, also infinite."""
    grid = real_array("penalties", penalties)
    if grid.ndim != 1 or grid.size < 1 or not (grid >= 0.0).all() or (grid[1:] <= grid[:-1]).any():
        raise InvalidParameter(f"penalties.shape={grid.shape} must be (t,), increasing and >= 0")
    return grid.copy()  # the caller's array may change


class _Columns:
    """The results of a path, penalty by penalty.  Objectives and gaps are in scaled units."""

    def __init__(self, problem: _Problem, t: int, keep_centres: bool) -> None:
        self.problem = problem
        self.tracer = Tracer(problem.data, problem.graph)
        self.labels = np.empty((t, self.tracer.x.shape[0]), dtype=np.int32)
        self.primal, self.gap = np.empty(t), np.empty(t)
        self.count = np.empty(t, dtype=np.int64)
        self.centres: list[FloatArray] | None = [] if keep_centres else None
        self._last: IntArray | None = None
        self._which = np.empty(0, dtype=np.int64)

    def write(self, i: int) -> None:
        """Write the state of the tracer at penalty ``i``."""
        tracer = self.tracer
        if tracer.labels is self._last:
            self.labels[i] = self.labels[i - 1]
        else:
            self.labels[i], self._which = tracer.partition()
            self._last = tracer.labels
        self.count[i] = tracer.n_clusters
        self.primal[i], self.gap[i] = tracer.primal, tracer.gap
        if self.centres is not None:
            self.centres.append(self.problem.centres(tracer)[self._which])

    def path(self, grid: FloatArray, end: int) -> SparsePath:
        """The record.  Nothing changes from penalty ``end`` on."""
        for values in (self.labels, self.count, self.primal, self.gap):
            values[end:] = values[end - 1]
        centres = self.centres or []
        scale = self.problem.data.scale
        with np.errstate(over="ignore"):  # the square of a length of 1e160 is infinite
            # one factor after the other: a gap of zero times an infinite square is no number
            primal, gap = self.primal * scale * scale, self.gap * scale * scale
        return SparsePath(
            penalties=grid,
            labels=self.labels,
            centres=tuple(centres + centres[-1:] * (grid.size - end)),
            n_clusters=self.count,
            primal=primal,
            gap=gap,
            relative_gap=make_relative(self.gap, self.primal),
            splits=self.tracer.work.splits,
        )


def fusing_penalty(points: ArrayLike, weights: Any) -> float:
    """A penalty from which each component of the graph on (n, d) points is one cluster.

    The points' distances from their mean flow along a spanning tree of the heaviest edges.

    Examples
    --------
    >>> round(fusing_penalty([[0.0], [1.0]], [[0, 1], [1, 0]]), 6)
    0.5
    """
    problem = _Problem(points, weights)
    tracer = Tracer(problem.data, problem.graph)
    # Both are powers of two: the quotient is exact, and each product alone may be out of range.
    return tracer.end.penalty * (problem.data.scale / problem.unit)


def check_penalty(penalty: object) -> float:
    """Validate a penalty >= 0, also infinite."""
    value = real_or_infinite("penalty", penalty)
    if value < 0.0:
        raise InvalidParameter(f"penalty={value} must be >= 0")
    return value

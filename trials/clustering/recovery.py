r"""The penalties at which convex clustering with equal weights shows a given clustering.

Two facts of `trials.clustering.convex.certificate` make the answer an interval.  Whether a set of
points is fused does not depend on the other points, so every cluster has a penalty of its own from
which on it is one.  A fused cluster may be replaced by its mean with its mass, so the clusters meet
as their means do.  Hence the clustering is shown exactly for

.. math:: \lambda_{fused} \le \lambda < \lambda_{merged} .

Both facts also say how the interval moves when the clusters shrink: scaling every deviation from
the cluster means by s scales the lower end by s and leaves the upper end where it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trials.checks import (
    FloatArray,
    IntArray,
    InvalidParameter,
    real_array,
    require_finite,
    whole_array,
)
from trials.clustering.convex import ClusterPath, convex_clustering_path
from trials.clustering.convex.nodes import Nodes
from trials.clustering.convex.path import TOLERANCE, fusion_limits
from trials.clustering.convex.problem import scale_points, scaled_penalty
from trials.clustering.convex.solver import Solver, duplicate_steps


@dataclass(frozen=True, kw_only=True)
class Bracket:
    """A penalty between two proved limits, in the units of the points."""

    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class RecoveryWindow:
    """The penalties that show a clustering: from ``fused`` on, and below ``merged``.

    Attributes
    ----------
    fused : the largest of ``clusters``.
    clusters : for each cluster, the penalty from which on its points are one.
    merged : the smallest penalty at which two clusters are one, infinite for a single cluster.
    """

    clusters: tuple[Bracket, ...]
    merged: Bracket

    @property
    def fused(self) -> Bracket:
        """The penalty from which on every cluster is one."""
        return Bracket(
            low=max(b.low for b in self.clusters), high=max(b.high for b in self.clusters)
        )


def recovery_window(points: ArrayLike, labels: ArrayLike) -> RecoveryWindow:
    """The exact window of penalties at which convex clustering recovers ``labels``.

    Parameters
    ----------
    points : (m, d) finite.
    labels : (m,) numbers 0..K-1, no cluster empty.

    Returns
    -------
    RecoveryWindow
        Proved limits, about 1e-8 apart, in the units of the points.

    Raises
    ------
    InvalidParameter : Labels of another length or with empty clusters, or points as in
        `convex_clustering_path`.

    Notes
    -----
    One path for each cluster and one for the means, repeated with their masses.

    Examples
    --------
    >>> window = recovery_window([[0.0], [1.0], [10.0]], [0, 0, 1])
    >>> round(window.fused.high, 6), round(window.merged.low, 6)
    (0.5, 3.166667)
    """
    data, owner = real_array("points", points), whole_array("labels", labels)
    present = np.unique(owner)
    if data.ndim != 2 or data.shape[0] < 1:
        raise InvalidParameter(f"points.shape={data.shape} must be (m, d) with m, d >= 1")
    require_finite("points", data)
    if owner.shape != data.shape[:1] or not np.array_equal(present, np.arange(present.size)):
        raise InvalidParameter(
            f"labels of shape {owner.shape} must number the clusters of {data.shape[0]} points "
            "0..K-1, none empty"
        )
    scale_points(data)  # refuses points that spread too far
    groups = [data[owner == j] for j in range(present.size)]
    # Means about the first point: far from the origin means themselves would lose digits.
    means = np.stack([(group - data[0]).mean(axis=0) for group in groups])
    return RecoveryWindow(
        clusters=tuple(fusion(group) for group in groups), merged=first_merge(means, owner)
    )


def fusion(points: FloatArray, tolerance: float = TOLERANCE) -> Bracket:
    """The penalty from which on all points (m, d) are one, 0 where they coincide.

    The limits are about ``tolerance`` apart, relative to the penalty.
    """
    low, high = fusion_limits(points, tolerance=tolerance)
    return Bracket(low=low, high=high)


def last_fusion(groups: list[FloatArray], tolerance: float = TOLERANCE) -> Bracket:
    """The penalty from which on each of the groups (m_j, d) is one: the largest `fusion`.

    A group that is one at the largest penalty found so far takes a single solve.  So the group
    whose spread suggests the largest comes first.
    """
    found = Bracket(low=0.0, high=0.0)
    for group in sorted(groups, key=lambda x: -float(x.std(axis=0).max()) / x.shape[0]):
        if not _is_one(group, found.low):
            own = fusion(group, tolerance)
            found = Bracket(low=max(found.low, own.low), high=max(found.high, own.high))
    return found


def _is_one(points: FloatArray, penalty: float) -> bool:
    """Whether all points (m, d) are proved to be one at a penalty."""
    data = scale_points(points)
    nodes, steps = duplicate_steps(data)
    lam = scaled_penalty(penalty, data.scale)
    if nodes.size == 1 or lam == 0.0:
        return nodes.size == 1
    m = points.shape[0]
    solver = Solver(nodes, lam, n_points=m, next_id=m + len(steps), labels_only=True)
    return solver.run().nodes.size == 1


def stay_apart(means: FloatArray, labels: IntArray, penalty: float) -> bool:
    """Whether no two of the means, with the clusters' masses, are one: `first_merge` is later.

    ``means`` (K, d), ``labels`` (m,) the cluster of each point.  Within rounding of that penalty
    the answer is False.
    """
    data, mass = scale_points(means), np.bincount(labels).astype(np.float64)
    nodes, steps = duplicate_steps(data)
    lam = scaled_penalty(penalty, data.scale)
    if steps or lam == 0.0:
        return not steps
    k, nodes = mass.size, Nodes(ids=nodes.ids, x=nodes.x, mass=mass)
    solver = Solver(nodes, lam, n_points=labels.size, next_id=k, labels_only=True)
    solver.formula_fusions(nodes.x)
    if solver.nodes.size < k:
        return False
    outcome = solver.run()
    return outcome.separated and outcome.nodes.size == k


def first_merge(means: FloatArray, labels: IntArray) -> Bracket:
    """The smallest penalty at which two of the means, with the clusters' masses, are one.

    ``means`` (K, d), ``labels`` (m,) the cluster of each point.
    """
    if means.shape[0] == 1:
        return Bracket(low=math.inf, high=math.inf)
    if np.unique(means, axis=0).shape[0] < means.shape[0]:
        return Bracket(low=0.0, high=0.0)
    events = [e for e in _of_masses(means, labels).merges if e.upper > 0.0]
    if not events:  # the penalties of such means are below the least float
        return Bracket(low=0.0, high=math.ulp(0.0))
    return Bracket(
        low=min(e.lower if len(e.children) == 2 else e.apart for e in events),
        high=min(e.upper for e in events),
    )


def _of_masses(means: FloatArray, labels: IntArray) -> ClusterPath:
    return convex_clustering_path(means[labels])

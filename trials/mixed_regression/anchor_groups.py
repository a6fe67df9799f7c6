"""The last line of Phase 1 of Su, Xu & Yang (2022): which anchors belong to one cluster."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import pdist, squareform

from trials.checks import BoolArray, FloatArray, IntArray
from trials.norms import last_axis_lengths
from trials.parameters import Array, Real, validated

#: Of the largest entry.
_LEAST_REACH = 1e-140


@dataclass(frozen=True, kw_only=True)
class AnchorGroups:
    """Anchors grouped at Delta/2, the largest group first.

    Attributes
    ----------
    labels : (H,) group of each anchor.
    centres : (g, d) means of the groups.  The first k of them start Phase 2.
    sizes : (g,) descending, ties in the order of their first anchors.
    is_consistent : whether every two anchors of a group are closer than Delta/2.  They are under
        the conclusion (4) of Theorem 1 with epsilon < 1/4.
    """

    labels: IntArray
    centres: FloatArray
    sizes: IntArray
    is_consistent: bool


@validated(theta=Array(("H", "d")), Delta=Real(0.0, open_low=True))
def group_anchors(theta: ArrayLike, Delta: float) -> AnchorGroups:
    """The last line of Phase 1: anchors closer than Delta/2 share a cluster.

    Parameters
    ----------
    theta : (H, d) final estimates.
    Delta : smallest distance of two centres, > 0, in the unit of ``theta``.

    Returns
    -------
    AnchorGroups, the connected components of the graph "closer than Delta/2".  O(H^2 d).

    Raises
    ------
    InvalidParameter : shapes, entries that are not finite, Delta <= 0.

    Examples
    --------
    >>> groups = group_anchors([[0.0, 0.1], [4.0, 4.0], [0.0, 0.3]], Delta=2.0)
    >>> groups.labels.tolist(), groups.sizes.tolist(), groups.centres.round(12).tolist()
    ([0, 1, 0], [2, 1], [[0.0, 0.2], [4.0, 4.0]])
    """
    points = np.asarray(theta)
    # Squares neither overflow nor vanish.  A power of two rounds nothing: at exactly Delta/2 two
    # anchors stay apart.
    unit = 2.0 ** min(math.frexp(float(np.abs(points).max()))[1], 1023)
    with np.errstate(over="ignore"):
        reach = 0.5 * float(np.float64(Delta) / unit)
    distances = pdist(points / unit)
    if reach < _LEAST_REACH:  # the squares of smaller distances vanish, and these decide here
        here, there = np.triu_indices(len(points), 1)
        distances = last_axis_lengths((points[here] - points[there]) / unit)
    close = squareform(distances) < reach
    np.fill_diagonal(close, True)
    firsts, labels = np.unique(_first_members(close), return_inverse=True)
    n_groups, sizes = len(firsts), np.bincount(labels)
    order = np.argsort(-sizes, kind="stable")
    rank = np.empty(n_groups, dtype=np.int64)
    rank[order] = np.arange(n_groups)
    labels = rank[labels]
    centres = np.zeros((n_groups, points.shape[1]))
    np.add.at(centres, labels, points)
    centres /= sizes[order][:, None]
    return AnchorGroups(
        labels=labels,
        centres=centres,
        sizes=sizes[order].astype(np.int64),
        is_consistent=bool(np.array_equal(close, labels[:, None] == labels)),
    )


def _first_members(close: BoolArray) -> IntArray:
    """The smallest number (H,) in the connected component of each vertex of a graph (H, H).

    Every vertex takes the smallest number that a neighbour has, and then that one's, until none
    changes.  For a few dozen vertices this takes a tenth of the time of sparse matrices.
    """
    first: IntArray = np.arange(len(close))
    while True:
        smaller = np.where(close, first, len(close)).min(axis=1)
        smaller = smaller[smaller]
        if np.array_equal(smaller, first):
            return first
        first = smaller

"""Clustered data sets as the points of a search: their sizes, radii and distances.

The paper's Definitions 1 and 3 and its recovery conditions are about a data set with a clustering.
A search point holds the data under ``points`` (m, d) and the clusters' numbers under ``labels``
(m,).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trials.models import mixture
from verify.claims.common import Point
from verify.decisions.sequences import FloatArray
from verify.decisions.structured import LabelledPoints


@dataclass(frozen=True, kw_only=True)
class ClusteredDataSets(LabelledPoints):
    """`LabelledPoints` whose first corners are the hard families of recovery conditions.

    The families: two-valued clusters on a regular simplex, with equal sizes and beside larger
    clusters of one value; chains of pairs on a line, whose points look at the next cluster; single
    points around one pair.  Most bounds of the paper are attained on one of them.

    Attributes
    ----------
    separation : of the families of several clusters, their own where it is None.
    """

    separation: float | None = None

    def corners(self, rng: np.random.Generator, n: int) -> Iterator[dict[str, Any]]:
        """The hard families that fit the sizes, then the corners of `LabelledPoints`."""
        fitting = [point for point in map(self._of, hard_families()) if self.contains(point)]
        yield from itertools.islice(itertools.chain(fitting, super().corners(rng, n)), n)

    def _of(self, data: Clustered) -> dict[str, Any]:
        if self.separation is not None and data.k > 1:
            data = data.shrunk(data.gap / (data.radius * self.separation))
        return {self.name: self.scale * data.points, self.labels: data.labels}


def data_sets(
    points: tuple[int, int] = (3, 12),
    clusters: tuple[int, int] = (2, 4),
    dimensions: tuple[int, int] = (1, 3),
    separation: float | None = None,
) -> ClusteredDataSets:
    """Data sets with clusters of any sizes, one point each included."""
    return ClusteredDataSets(
        name="points",
        labels="labels",
        points=points,
        clusters=clusters,
        dimensions=dimensions,
        separation=separation,
    )


@dataclass(frozen=True)
class Clustered:
    """A data set with its clustering.

    Attributes
    ----------
    points : (m, d).
    labels : (m,) numbers 0..K-1, no cluster empty.
    """

    points: FloatArray
    labels: NDArray[np.int64]

    @classmethod
    def of(cls, point: Point) -> Clustered:
        """The data set of a search point."""
        return cls(np.asarray(point["points"], dtype=np.float64), np.asarray(point["labels"]))

    @property
    def m(self) -> int:
        """The number of points."""
        return int(self.points.shape[0])

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """(K,) points of each cluster."""
        return np.bincount(self.labels)

    @cached_property
    def centres(self) -> FloatArray:
        """(K, d) means of the clusters."""
        return np.stack([self.points[self.labels == j].mean(axis=0) for j in range(self.k)])

    @property
    def k(self) -> int:
        """The number of clusters."""
        return int(self.sizes.size)

    @cached_property
    def deviations(self) -> FloatArray:
        """(m, d) points minus their cluster's mean: the paper's A - C."""
        return np.asarray(self.points - self.centres[self.labels])

    @cached_property
    def radius(self) -> float:
        """The largest distance of a point to its cluster's mean."""
        return float(np.linalg.norm(self.deviations, axis=1).max())

    def shrunk(self, share: float) -> Clustered:
        """The same clusters with every deviation from a cluster's mean multiplied by ``share``."""
        if share == 1.0:
            return self
        return Clustered(self.centres[self.labels] + share * self.deviations, self.labels)

    def pairs(self) -> Iterator[tuple[int, int, float]]:
        """Every pair of clusters with the distance of their means."""
        for k in range(self.k):
            for other in range(k):
                yield k, other, float(np.linalg.norm(self.centres[k] - self.centres[other]))

    @cached_property
    def gap(self) -> float:
        """The smallest distance of two means, infinite for one cluster."""
        return min((distance for _, _, distance in self.pairs()), default=math.inf)

    @cached_property
    def symbols(self) -> dict[str, float]:
        """The data set in the statements' symbols."""
        ordered = sorted(self.sizes.tolist())
        return {
            "m": float(self.m),
            "k": float(self.k),
            "d": float(self.points.shape[1]),
            "size_min": float(ordered[0]),
            "size_second": float(ordered[min(1, self.k - 1)]),
            "size_max": float(ordered[-1]),
            "radius": self.radius,
            "gap": self.gap,
        }


def two_valued(means: FloatArray, sizes: Sequence[int], axis: FloatArray, wide: int) -> Clustered:
    """Clusters around ``means`` (K, d). The first ``wide`` of them have half their points each way.

    ``axis`` (d,) is the deviation of these points, positive for the first half of a cluster.
    """
    labels = np.repeat(np.arange(len(sizes)), sizes)
    rank = np.concatenate([np.arange(size) for size in sizes])
    sign = np.where(rank < np.array(sizes)[labels] // 2, 1.0, -1.0)
    return Clustered(means[labels] + np.where(labels < wide, sign, 0.0)[:, None] * axis, labels)


def simplex(sizes: Sequence[int], wide: int, radius: float = 2.0**-6) -> Clustered:
    """Two-valued clusters, ``wide`` of them, whose means are one apart, in K dimensions.

    The deviations are orthogonal to the differences of the means.
    """
    k = len(sizes)
    means = mixture.simplex(k, k, 1.0)  # zero in the last coordinate
    return two_valued(means, sizes, radius * np.eye(k)[-1], wide)


def hard_families() -> Iterator[Clustered]:
    """Small data sets on which recovery conditions are attained, the hardest first."""
    line = np.arange(4.0)[:, None]
    towards = np.array([2.0**-6])
    yield simplex((2, 2), 2)
    yield simplex((2, 2, 2), 3)
    yield two_valued(line[:2], (2, 2), towards, 2)
    yield simplex((2, 6), 1)
    yield simplex((4, 4), 2)
    yield two_valued(line[:3], (2, 2, 2), towards, 3)
    yield two_valued(line[:2], (2, 1), towards, 1)
    yield two_valued(line, (2, 1, 1, 1), towards, 1)
    yield two_valued(line[:1], (4,), towards, 1)
    yield two_valued(line[:1], (2,), towards, 1)
    yield simplex((60, 1, 1), 1)

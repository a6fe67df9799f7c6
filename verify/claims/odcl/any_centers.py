r"""Lemma 10 of ODCL for the worst centers that a 10-approximation may return.

Problem. Part I runs *a* 10-approximation algorithm.  The lemma is about all of them, and the
search of `verify.claims.odcl.kmeans` runs one, which is nearly optimal.  How much can centers of
ten times the smallest cost get wrong?

Guarantee. `bounds.odcl.kmeans.LEMMA_10_ANY_CENTERS`: a share of at most 128/c^2.  On a line at most
8/c^2 is found.

Algorithm. One feature and two clusters, where the projection changes nothing.  Each cluster has a
bulk and outliers on the side of the other one.  Two centers split the line at their middle, so the
worst ones are found split by split: of all centers with their middle between two neighbouring
values the cheapest are the means, moved along the line on which their sum is fixed.

Computation. Exact minima over all splits, for the smallest cost and for the worst centers.  Points
are weights, so that clusters of any size cost nothing.  Outliers that ten times the cost can just
reach lie at (1 - sqrt(10)/c)/2 of the distance of two means, of which the second cluster is large.

Reference. Armacki et al. 2024, Lemma 10 and Algorithm 2, after Awasthi & Sheffet (2012).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from bounds.odcl.kmeans import (
    LEMMA_10_ANY_CENTERS,
    LEMMA_10_ANY_CENTERS_SHARP,
    LEMMA_10_ATTAINED,
    LEMMA_10_ON_A_LINE,
)
from bounds.odcl.symbols import c as C
from bounds.statement import Statement
from trials.checks import FloatArray
from verify.claim import claim, row
from verify.claims.common import Point
from verify.claims.odcl.mean_reductions import LEAST_C, REACH, far, half, outlier, worst_on_a_line
from verify.claims.searching import search
from verify.decisions.domain import Interval, IntRange, LogInterval
from verify.decisions.search import SearchResult
from verify.procedures.base import Presentation, Profile
from verify.procedures.search import Search
from verify.proofs.propositions import Reduction

#: A 10-approximation.
FACTOR = 10.0


@dataclass(frozen=True)
class Line:
    """Two clusters on a line: values in ascending order, with their numbers in either cluster."""

    values: FloatArray
    first: FloatArray
    second: FloatArray

    def separation(self) -> float:
        """The largest c with which Definition 3 holds.  Both of its norms are equal on a line."""
        means = [float(w @ self.values / w.sum()) for w in (self.first, self.second)]
        square = sum(
            float(w @ (self.values - mean) ** 2)
            for w, mean in zip((self.first, self.second), means, strict=True)
        )
        roots = 1 / math.sqrt(self.first.sum()) + 1 / math.sqrt(self.second.sum())
        gap = means[1] - means[0]
        return math.inf if square == 0.0 else gap / (math.sqrt(square) * roots)


def split_costs(line: Line) -> tuple[FloatArray, FloatArray]:
    """Costs of every split after value j: of its means, and of its cheapest centers.

    The centers of a split have their middle between the values j and j + 1.
    """
    weights, values = line.first + line.second, line.values
    own, moved = [], []
    for j in range(values.size - 1):
        sides = (slice(None, j + 1), slice(j + 1, None))
        sizes = [float(weights[s].sum()) for s in sides]
        means = [float(weights[s] @ values[s]) / n for s, n in zip(sides, sizes, strict=True)]
        within = sum(
            float(weights[s] @ (values[s] - mean) ** 2)
            for s, mean in zip(sides, means, strict=True)
        )
        middle = sum(means) / 2
        away = 2.0 * (middle - min(max(middle, values[j]), values[j + 1]))
        own.append(within)
        moved.append(within + away**2 / (1 / sizes[0] + 1 / sizes[1]))
    return np.array(own), np.array(moved)


def worst_counts(line: Line) -> tuple[float, float]:
    """The most wrong points of a cluster over centers of ten times the cost, and a size.

    Own points count for one cluster and foreign ones for the other, so the size is the smaller one.
    """
    own, moved = split_costs(line)
    worst = 0.0
    for j in np.flatnonzero(moved <= FACTOR * own.min()):
        worst = max(worst, float(line.first[j + 1 :].sum()), float(line.second[: j + 1].sum()))
    return worst, min(float(line.first.sum()), float(line.second.sum()))


def worst_share(line: Line) -> float:
    """The largest share of wrong points, own or foreign, over centers of ten times the cost."""
    wrong, size = worst_counts(line)
    return wrong / size


def line_of(point: Point) -> Line:
    """The smallest clusters of a point's shape that meet Definition 3.

    Both sides of a claim and its condition ask for them, and so do changed statements.
    """
    return _line_of(tuple(point.items()))


@lru_cache(maxsize=512)
def _line_of(items: tuple[tuple[str, Any], ...]) -> Line:
    point = dict(items)
    near, far = float(point["outliers"]), float(point["others"])
    reach = (1.0 - math.sqrt(FACTOR) / point["c"]) / 2 + point["beyond"]
    values = np.array([0.0, reach, 1.0 - point["reach_back"], 1.0])
    order = np.argsort(values, kind="stable")
    size = near + far + 1.0
    while True:
        second = max(size * point["ratio"], far + 1.0)
        line = Line(
            values[order],
            np.array([size - near, near, 0.0, 0.0])[order],
            np.array([0.0, 0.0, far, second - far])[order],
        )
        found = line.separation()
        if found >= point["c"] or size > 1e15:
            return line
        # The separation grows like the root of the size, but for the mean's move.
        more = (point["c"] / found) ** 2 if found > 0.0 else 2.0
        size = math.ceil(size * min(max(0.9 * more, 1.002), 2.0))


def worst_centers(
    statement: Statement,
    profile: Profile,
    *,
    everywhere: Reduction | None = None,
    low: float = 5.0,
    present: Callable[[SearchResult], Presentation] | None = None,
) -> Search:
    """Outliers anywhere between two clusters of any sizes.

    ``low`` is the least c: by default one at which the statements' own condition does not hold.
    """
    return search(
        statement,
        profile,
        lambda point: worst_share(line_of(point)),
        {
            "c": LogInterval(low, 1e3),
            "outliers": IntRange(
                1, 20, log=True, meaning="points of the first cluster away from its place"
            ),
            "others": IntRange(0, 20, meaning="points of the second cluster away from its place"),
            "beyond": LogInterval(
                1e-4,
                0.5,
                meaning="place of the first cluster's outliers beyond $(1-\\sqrt{10}/c)/2$",
            ),
            "reach_back": Interval(
                0.05,
                0.95,
                meaning="distance of the second cluster's outliers from its place (distance of the "
                "clusters: 1)",
            ),
            "ratio": LogInterval(
                1e-3, 1e6, meaning="size of the second cluster over that of the first"
            ),
        },
        budget=min(max(profile.searches // 8, 24), 2000),
        where=lambda point: line_of(point).separation() >= point["c"],
        everywhere=everywhere,
        present=present,
    )


def _looseness(result: SearchResult) -> Presentation:
    """The worst share that a search has found, in units of 1/c^2.  A proof makes no search."""
    if result.largest_at is None:
        return Presentation()
    return Presentation(
        sharpness=(
            f"The worst centers that were found get ${128 * (1.0 + result.largest):.2g}/c^2$ of a "
            "cluster wrong, and the statement allows $128/c^2$.",
        )
    )


def _worst(point: Point) -> tuple[float, float]:
    return worst_counts(line_of(point))


WORST_CENTERS = (
    row(
        "odcl.lemma10-any-centers",
        LEMMA_10_ANY_CENTERS,
        worst_centers,
        everywhere=worst_on_a_line(_worst, C - REACH, far, LEAST_C),
        low=11.4,
        present=_looseness,
    ),
    row("odcl.lemma10-on-a-line", LEMMA_10_ON_A_LINE, worst_centers),
    row(
        "odcl.lemma10-any-centers-sharp",
        LEMMA_10_ANY_CENTERS_SHARP,
        worst_centers,
        everywhere=worst_on_a_line(_worst, (C - 3 * REACH) / 2, half, 3 * float(REACH)),
    ),
)


def half_way(n: int) -> tuple[Line, FloatArray]:
    """A line with n points, one of them as far from a cluster of n^3 points as it may, and centers.

    The first center lies so far back that the point is half-way between both.
    """
    x = (1.0 - 1.0 / math.sqrt(n)) / 2
    line = Line(
        np.array([0.0, x, 1.0]), np.array([n - 1.0, 1.0, 0.0]), np.array([0.0, 0.0, float(n) ** 3])
    )
    return line, np.array([2 * x - 1.0, 1.0])


@claim("odcl.lemma10-attained", LEMMA_10_ATTAINED)
def lemma_10_attained(statement: Statement, profile: Profile) -> Search:
    """One outlier of n points, which joins the second cluster."""

    def least(point: Point) -> float:
        line, centers = half_way(point["n"])
        weights = line.first + line.second
        squares = (line.values[:, None] - centers) ** 2
        nearest = squares.min(axis=1)
        lost = squares[:, 1] <= squares[:, 0] * (1 + 1e-12)
        share = float(line.first[lost].sum() / line.first.sum())
        cheapest = float(split_costs(line)[0].min())
        return min(line.separation() ** 2 / 4 * share, FACTOR * cheapest / float(weights @ nearest))

    return search(
        statement,
        profile,
        least,
        {"n": IntRange(25, 10**6, log=True, meaning="points of the first cluster")},
        everywhere=outlier(lambda point: {"root": math.sqrt(point["n"])}),
        budget=min(profile.searches, 200),
    )

"""The exact windows of penalties of a data set, and searches over clustered data sets."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import sympy as sp
from scipy.spatial.distance import pdist

from bounds.statement import Statement, evaluate
from trials.checks import FloatArray, IntArray
from trials.clustering.recovery import RecoveryWindow, recovery_window
from verify.claims.common import Point
from verify.claims.odcl.data_sets import Clustered, data_sets
from verify.claims.searching import search
from verify.decisions.domain import Box, Domain, Ranges
from verify.decisions.structured import Product
from verify.procedures.base import Profile
from verify.procedures.search import Search


def window(data: Clustered) -> RecoveryWindow:
    """The penalties that recover a clustered data set.

    Both sides of a claim, its conditions and its proof ask for them, and claims try like data sets.
    """
    points, labels = data.points.astype(np.float64), data.labels.astype(np.int64)
    return _kept_window(points.tobytes(), points.shape, labels.tobytes())


@lru_cache(maxsize=256)
def _kept_window(points: bytes, shape: tuple[int, ...], labels: bytes) -> RecoveryWindow:
    owner = np.frombuffer(labels, dtype=np.int64)
    return recovery_window(np.frombuffer(points).reshape(shape), owner)


def budget(profile: Profile) -> int:
    """Evaluations for a search that computes paths."""
    return max(profile.searches // 12, 24)


def symbols_of(point: Point) -> dict[str, Any]:
    """The statements' symbols of a data set, and the other coordinates of its point."""
    rest = {name: value for name, value in point.items() if name not in ("points", "labels")}
    return {**Clustered.of(point).symbols, **rest}


def over(domain: Domain, **more: Any) -> Product:
    """Data sets with further coordinates."""
    ranges: Ranges = more
    return Product((domain, Box(ranges)))


def on_data_sets(
    statement: Statement,
    profile: Profile,
    observed: Callable[[Clustered], float],
    *,
    clusters: tuple[int, int] = (2, 4),
    bound: Callable[[Clustered], float] | None = None,
    **fields: Any,
) -> Search:
    """A search over clustered data sets, both sides functions of the data set.

    By default the right-hand side is the statement's, at the data set's symbols.
    """
    right = None if bound is None else lambda point: bound(Clustered.of(point))
    return search(
        statement,
        profile,
        lambda point: observed(Clustered.of(point)),
        **{
            "domain": data_sets(clusters=clusters),
            "at": symbols_of,
            "bound": right,
            "budget": budget(profile),
            **fields,
        },
    )


def pair_ends(expr: sp.Expr, data: Clustered) -> FloatArray:
    """An expression's value for every pair of clusters."""
    pairs = (
        {"distance_kl": distance, "size_k": data.sizes[one], "size_l": data.sizes[other]}
        for one, other, distance in data.pairs()
    )
    return _values(expr, data, pairs)


def cluster_ends(expr: sp.Expr, data: Clustered) -> FloatArray:
    """An expression's value for every cluster, (K,)."""
    rows = zip(diameters(data), offsets(data), data.sizes, strict=True)
    clusters = (
        {"diameter_k": width, "offset_k": offset, "size_k": size} for width, offset, size in rows
    )
    return _values(expr, data, clusters)


def _values(expr: sp.Expr, data: Clustered, symbols: Any) -> FloatArray:
    """An expression's values at a data set's symbols and others, (N,)."""
    given = ({name: float(x) for name, x in more.items()} for more in symbols)
    return np.array([float(evaluate(expr, {**data.symbols, **more})) for more in given])


def diameters(data: Clustered) -> FloatArray:
    """(K,) the largest distance of two points of each cluster."""
    groups = (data.points[data.labels == j] for j in range(data.k))
    return np.array([pdist(g).max() if len(g) > 1 else 0.0 for g in groups])


def offsets(data: Clustered) -> FloatArray:
    """(K,) distance of each cluster's mean from the mean of all points."""
    return np.asarray(np.linalg.norm(data.centres - data.points.mean(axis=0), axis=1))


def same_clustering(found: IntArray, labels: IntArray) -> bool:
    """Whether two label vectors describe the same partition."""
    pairs = set(zip(found.tolist(), labels.tolist(), strict=True))
    return len(pairs) == len(set(found.tolist())) == len(set(labels.tolist()))

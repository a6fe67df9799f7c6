"""The exact windows of penalties of a data set, and searches over clustered data sets."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import sympy as sp
from scipy.spatial.distance import pdist

from bounds.statement import Statement, evaluate
from trials.checks import FloatArray, IntArray
from trials.clustering.recovery import RecoveryWindow, recovery_window
from verify.claims.common import Point
from verify.claims.odcl.data_sets import Clustered, data_sets
from verify.claims.searching import Sided
from verify.decisions.search import SearchResult
from verify.procedures.base import Presentation, Profile
from verify.procedures.search import Search
from verify.proofs.certificate import Certificate


def window(data: Clustered) -> RecoveryWindow:
    """The penalties that recover a clustered data set."""
    return recovery_window(data.points, data.labels)


def budget(profile: Profile) -> int:
    """Evaluations for a search that computes paths."""
    return max(profile.searches // 12, 24)


def on_data_sets(
    statement: Statement,
    profile: Profile,
    sides: Callable[[Clustered], tuple[float, float]],
    clusters: tuple[int, int] = (2, 4),
    certify: Callable[[Point], Certificate] | None = None,
    present: Callable[[SearchResult], Presentation] = lambda _result: Presentation(),
) -> Search:
    """A search over clustered data sets."""
    return Sided(
        sides=lambda point: sides(Clustered.of(point)),
        domain=data_sets(clusters=clusters),
        budget=budget(profile),
        certify=certify,
        present=present,
    ).search(statement)


def pair_ends(expr: sp.Expr, data: Clustered) -> FloatArray:
    """An expression's value for every pair of clusters."""
    values = data.symbols
    return np.array(
        [
            float(
                evaluate(
                    expr,
                    {
                        **values,
                        "distance_kl": distance,
                        "size_k": float(data.sizes[one]),
                        "size_l": float(data.sizes[other]),
                    },
                )
            )
            for one, other, distance in data.pairs()
        ]
    )


def diameters(data: Clustered) -> FloatArray:
    """(K,) the largest distance of two points of each cluster."""
    groups = (data.points[data.labels == j] for j in range(data.k))
    return np.array([pdist(g).max() if len(g) > 1 else 0.0 for g in groups])


def offsets(data: Clustered) -> FloatArray:
    """(K,) distance of each cluster's mean from the mean of all points."""
    return np.asarray(np.linalg.norm(data.centres - data.points.mean(axis=0), axis=1))


def cluster_ends(expr: sp.Expr, data: Clustered) -> FloatArray:
    """An expression's value for every cluster, (K,)."""
    rows = zip(diameters(data), offsets(data), data.sizes, strict=True)
    return np.array(
        [
            float(
                evaluate(
                    expr,
                    {
                        **data.symbols,
                        "diameter_k": float(width),
                        "offset_k": float(offset),
                        "size_k": float(size),
                    },
                )
            )
            for width, offset, size in rows
        ]
    )


def same_clustering(found: IntArray, labels: IntArray) -> bool:
    """Whether two label vectors describe the same partition."""
    pairs = set(zip(found.tolist(), labels.tolist(), strict=True))
    return len(pairs) == len(set(found.tolist())) == len(set(labels.tolist()))

r"""The path of convex clustering in ODCL: coarser clusterings, Appendices C and D.2, Remark 23.

Problem. How does the clustering change with the penalty, what can be checked after the fact, and
what do weights change?

Guarantee. `bounds.odcl.clusterpath`: clusters only merge.  The coarsening interval contains (13).
Smaller weights between the clusters raise the upper end.

Algorithm. The exact windows of penalties of a data set (`verify.claims.odcl.windows`), and single
problems whose partition is proved.

Computation. Searches over data sets of up to 12 points.  A refutation uses the limit of each window
that favours the statement.

Reference. Armacki et al. 2024, Remark 23, Appendices C and D.2.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.spatial.distance import pdist

from bounds.odcl import clusterpath as stated
from bounds.odcl.convex import EQ_13_LOWER, EQ_13_UPPER
from bounds.statement import Statement, evaluate
from trials.checks import FloatArray
from trials.clustering.convex import ConvexClustering, convex_clustering, convex_clustering_path
from trials.clustering.recovery import fusion
from verify.claim import Finding, claim
from verify.claims.common import Point
from verify.claims.odcl import path_reductions as reductions
from verify.claims.odcl import vector_proofs
from verify.claims.odcl.data_sets import Clustered, data_sets
from verify.claims.odcl.windows import (
    budget,
    cluster_ends,
    offsets,
    on_data_sets,
    over,
    pair_ends,
    same_clustering,
    symbols_of,
    window,
)
from verify.claims.searching import search
from verify.decisions.domain import LogInterval
from verify.procedures.base import Profile
from verify.procedures.search import Search

# --- Coarsening ----------------------------------------------------------------------------------

COARSER = Finding(
    id="odcl-coarsening",
    where="Appendix D.2",
    printed="The coarsening intervals are larger than the intervals of the ground truth.",
    found="The coarsening interval of Sun, Toh & Yuan (2021) contains (13) of the truth, but with "
    "two clusters it is the same interval.",
    corrected="The coarsening interval is at least as large.",
    severity="slip",
)


@claim("odcl.coarsening-interval", stated.COARSENING_INTERVAL, finding=COARSER)
def coarsening_interval(statement: Statement, profile: Profile) -> Search:
    """Both upper ends on data sets."""
    return on_data_sets(
        statement,
        profile,
        lambda data: float((offsets(data) / (data.m - data.sizes)).max()),
        bound=lambda data: float(pair_ends(statement.expr, data).min()),
        everywhere=vector_proofs.coarsening_interval(),
    )


@claim("odcl.coarsening", stated.COARSENING, finding=COARSER)
def coarsening(statement: Statement, profile: Profile) -> Search:
    """The last fusion of all points against the coarsening interval's upper end."""
    return on_data_sets(
        statement,
        profile,
        lambda data: fusion(data.centres[data.labels]).high,
        bound=lambda data: float(cluster_ends(statement.expr, data).max()),
        everywhere=reductions.COARSENING,
    )


# --- The path ------------------------------------------------------------------------------------


@lru_cache(maxsize=512)
def _fused(points: bytes, m: int, penalty: float) -> ConvexClustering:
    """The clustering of m points, for which both sides of a claim ask, and changed statements."""
    return convex_clustering(np.frombuffer(points).reshape(m, -1).copy(), penalty)


@claim("odcl.monotone-path", stated.MONOTONE_PATH)
def monotone_path(statement: Statement, profile: Profile) -> Search:
    """Two penalties, solved one by one and proved.  A split counts as a violation."""

    def solved(point: Point) -> tuple[ConvexClustering, ConvexClustering]:
        points = Clustered.of(point).points
        m = points.shape[0]
        reach = max(float(pdist(points).max()), 1e-9) / m
        low, high = sorted((point["first"] * reach, point["second"] * reach))
        return _fused(points.tobytes(), m, low), _fused(points.tobytes(), m, high)

    def n_clusters(fit: ConvexClustering) -> int:
        return int(fit.labels.max()) + 1

    def after(point: Point) -> float:
        before, after = solved(point)
        joined = len(set(zip(before.labels.tolist(), after.labels.tolist(), strict=True)))
        split = before.certified and after.certified and joined > n_clusters(before)
        return float(joined if split else n_clusters(after))

    other = "of two penalties, in units of the largest distance over the number of points"
    return search(
        statement,
        profile,
        after,
        over(
            data_sets(points=(2, 12), clusters=(1, 4)),
            first=LogInterval(1e-3, 2.0, meaning=f"one {other}"),
            second=LogInterval(1e-3, 2.0, meaning=f"other {other}"),
        ),
        at=lambda point: {"clusters_before": float(n_clusters(solved(point)[0]))},
        budget=budget(profile),
    )


# --- What Appendix C and Remark 23 say -----------------------------------------------------------

PAIR_OF_13 = Finding(
    id="odcl-upper-end",
    where="Appendix C",
    printed="The upper bound in (13) requires the knowledge of the sizes of the two smallest "
    "clusters.",
    found="The smallest of the ends over the pairs is in general not that of the two smallest "
    "clusters. It takes all sizes and all distances of the means.",
    corrected="The sizes of the two smallest clusters and the smallest distance give a lower bound "
    "of the upper end. With the sharpened end $\\min\\norm{\\mu_k-\\mu_l}/m$ no size is needed.",
    severity="slip",
)


@claim("odcl.needs-sizes", stated.NEEDS_SIZES, finding=PAIR_OF_13)
def needs_sizes(statement: Statement, profile: Profile) -> Search:
    """The upper end of (13) against its value for the two smallest sizes."""
    return on_data_sets(
        statement,
        profile,
        lambda data: float(pair_ends(EQ_13_UPPER.expr, data).min()),
        everywhere=vector_proofs.needs_sizes(),
    )


TRIVIAL = Finding(
    id="odcl-a-posteriori",
    where="Appendix C, step 2 (a)",
    printed="If (13) is verified for some $\\lambda$, the likelihood that the recovered clustering "
    "is the true one increases.",
    found="On every data set of distinct points (13) is not empty for the clustering into single "
    "points (lower end zero) and for the one cluster of all points (no upper end). Both belong to "
    "the path that step 1 asks for. A grid that starts low enough or ends high enough verifies "
    "(13) there, and step 2 (b) does not apply.",
    corrected="Only clusterings with $1<K_\\lambda<m$ should be verified. Several of these may "
    "verify (13) as well.",
    severity="strong",
)


def verified(points: FloatArray, labels: FloatArray) -> bool:
    """Whether the interval (13) of a clustering is not empty."""
    data = Clustered(points, np.asarray(labels))
    low = float(cluster_ends(EQ_13_LOWER.expr, data).max())
    ends = pair_ends(EQ_13_UPPER.expr, data)
    return bool(ends.size == 0 or low < ends.min())


@claim("odcl.a-posteriori", stated.A_POSTERIORI, finding=TRIVIAL)
def a_posteriori(statement: Statement, profile: Profile) -> Search:
    """The clusterings of the path that verify (13)."""

    def n_verified(data: Clustered) -> float:
        path = convex_clustering_path(data.points)
        penalties = [0.0, *path.breakpoints.tolist()]
        shown = {tuple(path.labels(penalty).tolist()) for penalty in penalties}
        return float(sum(verified(data.points, np.array(labels)) for labels in shown))

    return on_data_sets(
        statement,
        profile,
        n_verified,
        domain=data_sets(points=(3, 10), clusters=(1, 3)),
        where=lambda point: float(pdist(np.asarray(point["points"])).min()) > 0.0,
    )


CROSS_WEIGHTS = Finding(
    id="odcl-cross-weights",
    where="Remark 23",
    printed="Recovery guarantees of weighted convex clustering require that weights across "
    "clusters be non-zero.",
    found="Recovery does not need them. With weight zero between the clusters each of them is a "
    "problem of its own, fuses as before and never meets another. Weights inside the clusters are "
    "the ones that must not vanish.",
    corrected="Weights inside the clusters must be non-zero; smaller weights between them raise "
    "the upper end as $1/w_{kl}$.",
    severity="strong",
)


def cross_weights(data: Clustered, weight: float) -> FloatArray:
    """(m, m) weights: one inside the clusters, ``weight`` between them."""
    same = data.labels[:, None] == data.labels[None, :]
    return np.where(same, 1.0, weight)


@claim("odcl.weights-remark23", stated.WEIGHTS, finding=CROSS_WEIGHTS)
def weights(statement: Statement, profile: Profile) -> Search:
    """The first meeting of the clusters with a weight between them, against the statement.

    The means with their masses and a common weight w are the problem of the penalty w lambda with
    weight one, so the window is that of the unweighted problem, divided by w.  A weighted problem
    just below the end is solved and proved as well.
    """

    def meet_at(point: Point) -> float:
        data, weight = Clustered.of(point), point["weight"]
        bound = float(evaluate(statement.expr, data.symbols))
        means = Clustered(data.centres[data.labels], data.labels)
        if bound > 0.0:
            penalty = (1.0 - 1e-3) * bound / weight
            solved = convex_clustering(means.points, penalty, weights=cross_weights(means, weight))
            if solved.certified and not same_clustering(solved.labels, data.labels):
                return float(weight * penalty)
        return window(means).merged.high

    return search(
        statement,
        profile,
        meet_at,
        over(
            data_sets(points=(3, 8)),
            weight=LogInterval(
                1e-3,
                1.0,
                meaning="weight between points of different clusters, where it is 1 inside a "
                "cluster",
            ),
        ),
        at=symbols_of,
        everywhere=reductions.WEIGHTED,
        budget=max(profile.searches // 40, 24),
    )

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

import numpy as np
from scipy.spatial.distance import pdist

from bounds.odcl import clusterpath as stated
from bounds.odcl.convex import EQ_13_LOWER, EQ_13_UPPER
from bounds.statement import Statement, evaluate
from trials.checks import FloatArray
from trials.clustering.convex import convex_clustering, convex_clustering_path
from trials.clustering.recovery import fusion
from verify.claim import Finding, claim
from verify.claims.common import Point
from verify.claims.odcl.data_sets import Clustered, data_sets
from verify.claims.odcl.windows import (
    budget,
    cluster_ends,
    offsets,
    on_data_sets,
    pair_ends,
    same_clustering,
    window,
)
from verify.claims.searching import Sided
from verify.decisions.domain import Box, LogInterval
from verify.decisions.structured import Product
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


@claim(stated.COARSENING_INTERVAL, finding=COARSER)
def coarsening_interval(statement: Statement, profile: Profile) -> Search:
    """Both upper ends on data sets."""

    def sides(data: Clustered) -> tuple[float, float]:
        reach = offsets(data) / (data.m - data.sizes)
        return float(reach.max()), float(pair_ends(statement.expr, data).min())

    return on_data_sets(statement, profile, sides)


@claim(stated.COARSENING, finding=COARSER)
def coarsening(statement: Statement, profile: Profile) -> Search:
    """The last fusion of all points against the coarsening interval's upper end."""

    def sides(data: Clustered) -> tuple[float, float]:
        end = float(cluster_ends(statement.expr, data).max())
        return fusion(data.centres[data.labels]).high, end

    return on_data_sets(statement, profile, sides)


# --- The path ------------------------------------------------------------------------------------


@claim(stated.MONOTONE_PATH)
def monotone_path(statement: Statement, profile: Profile) -> Search:
    """Two penalties, solved one by one and proved.  A split counts as a violation."""

    def sides(point: Point) -> tuple[float, float]:
        points = np.asarray(point["points"], dtype=np.float64)
        reach = max(float(pdist(points).max()), 1e-9) / points.shape[0]
        low, high = sorted((point["first"] * reach, point["second"] * reach))
        before, after = (convex_clustering(points, penalty) for penalty in (low, high))
        n_before, n_after = (int(fit.labels.max()) + 1 for fit in (before, after))
        joined = len(set(zip(before.labels.tolist(), after.labels.tolist(), strict=True)))
        split = before.certified and after.certified and joined > n_before
        bound = float(evaluate(statement.expr, {"clusters_before": float(n_before)}))
        return float(joined if split else n_after), bound

    return Sided(
        sides=sides,
        domain=Product(
            (
                data_sets(points=(2, 12), clusters=(1, 4)),
                Box({"first": LogInterval(1e-3, 2.0), "second": LogInterval(1e-3, 2.0)}),
            )
        ),
        budget=budget(profile),
    ).search(statement)


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


@claim(stated.NEEDS_SIZES, finding=PAIR_OF_13)
def needs_sizes(statement: Statement, profile: Profile) -> Search:
    """The upper end of (13) against its value for the two smallest sizes."""
    return on_data_sets(
        statement,
        profile,
        lambda data: (
            float(pair_ends(EQ_13_UPPER.expr, data).min()),
            float(evaluate(statement.expr, data.symbols)),
        ),
        clusters=(2, 4),
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


@claim(stated.A_POSTERIORI, finding=TRIVIAL)
def a_posteriori(statement: Statement, profile: Profile) -> Search:
    """The clusterings of the path that verify (13)."""

    def sides(point: Point) -> tuple[float, float]:
        points = np.asarray(point["points"], dtype=np.float64)
        path = convex_clustering_path(points)
        penalties = [0.0, *path.breakpoints.tolist()]
        shown = {tuple(path.labels(penalty).tolist()) for penalty in penalties}
        count = sum(verified(points, np.array(labels)) for labels in shown)
        return float(count), float(evaluate(statement.expr, {}))

    return Sided(
        sides=sides,
        domain=data_sets(points=(3, 10), clusters=(1, 3)),
        constraints=lambda point: float(pdist(np.asarray(point["points"])).min()) > 0.0,
        budget=budget(profile),
    ).search(statement)


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


@claim(stated.WEIGHTS, finding=CROSS_WEIGHTS)
def weights(statement: Statement, profile: Profile) -> Search:
    """The first meeting of the clusters with a weight between them, against the statement.

    The means with their masses and a common weight w are the problem of the penalty w lambda with
    weight one, so the window is that of the unweighted problem, divided by w.  A weighted problem
    just below the end is solved and proved as well.
    """

    def sides(point: Point) -> tuple[float, float]:
        data = Clustered.of(point)
        bound = float(evaluate(statement.expr, data.symbols))
        means = Clustered(data.centres[data.labels], data.labels)
        if bound > 0.0:
            penalty = (1.0 - 1e-3) * bound / point["weight"]
            solved = convex_clustering(
                means.points, penalty, weights=cross_weights(means, point["weight"])
            )
            if solved.certified and not same_clustering(solved.labels, data.labels):
                return point["weight"] * penalty, bound
        return window(means).merged.high, bound

    return Sided(
        sides=sides,
        domain=Product((data_sets(points=(3, 8)), Box({"weight": LogInterval(1e-3, 1.0)}))),
        budget=max(profile.searches // 40, 24),
    ).search(statement)

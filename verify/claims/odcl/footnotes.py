r"""Footnotes 3 and 7 of ODCL: penalties that recover, and the two ends of the path.

Problem. Which interval of penalties recovers the clusters, and what is the solution at very small
and very large penalties?

Guarantee. `bounds.odcl.footnotes`: the printed interval of footnote 3 and the sentences of footnote
7, with their corrected forms.

Algorithm. The exact windows of penalties of a data set (`verify.claims.odcl.windows`), and single
problems whose partition is proved.

Computation. Searches over data sets of up to 12 points.  A refutation uses the limit of each window
that favours the statement.

Reference. Armacki et al. 2024, footnotes 3 and 7.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import sympy as sp
from scipy.spatial.distance import pdist

from bounds.odcl import footnotes as stated
from bounds.statement import Statement
from trials.clustering.convex import convex_clustering, convex_clustering_path
from trials.clustering.recovery import fusion, recovery_window
from verify.claim import Finding, claim, row
from verify.claims.common import Point
from verify.claims.odcl import path_reductions as reductions
from verify.claims.odcl.convex import LOOSE
from verify.claims.odcl.data_sets import Clustered, data_sets
from verify.claims.odcl.windows import budget, on_data_sets, over, window
from verify.claims.searching import Proof, search
from verify.decisions.domain import IntRange, LogInterval, Range
from verify.decisions.measures import DIFFERENCE
from verify.evidence import Verdict
from verify.procedures.base import Profile
from verify.procedures.search import Search
from verify.proofs.certificate import Certificate, Inequality, certificate
from verify.proofs.propositions import Reduction

# --- Footnote 3 ----------------------------------------------------------------------------------

FOOTNOTE_3_ENDS = Finding(
    id="odcl-footnote3",
    where="footnote 3",
    printed="$\\lambda\\in\\left[\\frac{\\max\\norm{\\mu_k-a_i}}{|C_{(K)}|},"
    "\\frac{\\min\\norm{\\mu_k-\\mu_l}}{2(m-|C_{(K)}|)}\\right]$.",
    found="Both ends differ from those of (13), which are right. The two points $\\pm r$ of a "
    "cluster fuse at $\\lambda=r$, not at the printed $r/2$. Two clusters of equal size are one at "
    "the printed upper end.",
    corrected="$\\left[\\frac{2\\max\\norm{\\mu_k-a_i}}{|C_{(K)}|},"
    "\\frac{\\min\\norm{\\mu_k-\\mu_l}}{2(m-|C_{(K)}|)}\\right)$.",
    severity="strong",
)


WINDOWS = (
    row(
        "odcl.footnote3-as-printed",
        stated.FOOTNOTE_3_AS_PRINTED,
        on_data_sets,
        observed=lambda data: window(data).fused.low,
        proof=Proof(
            argument="Two clusters of two points, at distance $r=1$ from their mean. The minimiser "
            "of $\\frac12\\sum\\norm{a_i-u_i}^2+\\lambda\\norm{u_1-u_2}$ for two points $\\pm1$ is "
            "$\\pm(1-\\lambda)$ until $\\lambda=1$, whatever the other cluster is.",
            says="the two points fuse above the printed end",
            observed=sp.Integer(1),
            values={"radius": 1, "size_min": 2, "m": 4},
        ),
        expected=Verdict.REFUTED,
        finding=FOOTNOTE_3_ENDS,
    ),
    row(
        "odcl.footnote3",
        stated.FOOTNOTE_3,
        on_data_sets,
        observed=lambda data: window(data).fused.low,
        everywhere=reductions.FOOTNOTE_3,
        finding=FOOTNOTE_3_ENDS,
    ),
    row(
        "odcl.footnote3-upper",
        stated.FOOTNOTE_3_UPPER,
        on_data_sets,
        observed=lambda data: window(data).merged.high,
        everywhere=reductions.FOOTNOTE_3_UPPER,
        finding=LOOSE,
    ),
)


@claim(
    "odcl.footnote3-closed",
    stated.FOOTNOTE_3_CLOSED,
    expected=Verdict.REFUTED,
    finding=FOOTNOTE_3_ENDS,
)
def footnote_3_closed(statement: Statement, profile: Profile) -> Search:
    """Two clusters of equal size in one dimension, in rational arithmetic.

    Two fused clusters of c points each, D apart, are two points of mass c.  They meet at exactly
    D/(2c).  The sides are the number of clusters that the solution has and should have.
    """

    def clusters_at_the_end(point: Point) -> int:
        size, distance = point["size"], Fraction(point["distance"])
        values = {"gap": distance, "m": 2 * size, "size_min": size}
        exact = statement.expr.subs({s: values[s.name] for s in statement.expr.free_symbols})
        penalty = Fraction(int(exact.p), int(exact.q))
        return 1 if penalty * 2 * size >= distance else 2

    def proof(point: Point) -> Certificate:
        fewer = Inequality(
            says="fewer than two clusters are left there",
            left=str(clusters_at_the_end(point)),
            relation="<",
            right="2",
        )
        return certificate(
            f"Two clusters of {point['size']} equal points each, their means {point['distance']} "
            "apart. Two points of mass c meet at D/(2c), which is the printed end exactly.",
            [fewer],
        )

    return search(
        statement,
        profile,
        lambda point: float(clusters_at_the_end(point)),
        {
            "size": IntRange(1, 10, meaning="points of each of the two clusters"),
            "distance": IntRange(1, 100, meaning="distance of the two cluster means"),
        },
        bound=lambda _point: 2.0,
        exact=clusters_at_the_end,
        measure=DIFFERENCE,
        budget=min(profile.searches, 100),
        proof=proof,
    )


# --- Footnote 7 ----------------------------------------------------------------------------------

FOOTNOTE_7 = Finding(
    id="odcl-footnote7",
    where="footnote 7",
    printed="For $\\lambda$ sufficiently small, the optimal solution is $u_i^\\star=a_i$, i.e. "
    "$K_\\lambda=m$.",
    found="No $\\lambda>0$ leaves the data where they are: two points both move by $\\lambda$. "
    "And $K_\\lambda=m$ for no $\\lambda$ where two points coincide.",
    corrected="$\\norm{u_i^\\star-a_i}\\le(m-1)\\lambda$. For distinct points $K_\\lambda=m$ for "
    "$\\lambda<\\min_{i\\ne j}\\norm{a_i-a_j}/m$. $K_\\lambda=1$ for "
    "$\\lambda\\ge\\max\\norm{a_i-a_j}/m$.",
    severity="edge",
)


_SHARE = "penalty in units of the largest distance over the number of points"


def moved(
    statement: Statement,
    profile: Profile,
    *,
    proof: Proof | None = None,
    everywhere: Reduction | None = None,
    **more: Range,
) -> Search:
    """The largest distance of the solution from the data against the statement."""

    def penalty(point: Point) -> float:
        data = Clustered.of(point)
        return float(point["share"] * max(float(pdist(data.points).max()), 1e-3) / data.m)

    def distance(point: Point) -> float:
        data = Clustered.of(point)
        solved = convex_clustering(data.points, penalty(point))
        far = np.linalg.norm(data.points - solved.centres[solved.labels], axis=1)
        return max(float(far.max()) - solved.radius, 0.0)  # what is proved to be moved

    return search(
        statement,
        profile,
        distance,
        over(data_sets(points=(2, 10), clusters=(1, 1)), **more),
        at=lambda point: {
            "m": float(Clustered.of(point).m),
            "lam": penalty(point),
            "eta": point.get("eta", 1.0),
        },
        budget=budget(profile),
        everywhere=everywhere,
        proof=proof,
    )


def of_all_points(
    statement: Statement,
    profile: Profile,
    *,
    observed: Callable[[Clustered], float],
    distinct: bool = False,
    everywhere: Reduction | None = None,
    proof: Proof | None = None,
) -> Search:
    """A search over data sets without a clustering."""

    def at(point: Point) -> dict[str, float]:
        distances = pdist(Clustered.of(point).points)
        ends = {"closest": float(distances.min()), "diameter": float(distances.max())}
        return {"m": float(Clustered.of(point).m), **ends}

    return on_data_sets(
        statement,
        profile,
        observed,
        domain=data_sets(points=(2, 12), clusters=(1, 1)),
        at=at,
        where=(lambda point: at(point)["closest"] > 0.0) if distinct else None,
        everywhere=everywhere,
        proof=proof,
    )


def _first_fusion(data: Clustered) -> float:
    return recovery_window(data.points, np.arange(data.m)).merged.high


ENDS_OF_THE_PATH = (
    row(
        "odcl.footnote7-ui",
        stated.FOOTNOTE_7_UI,
        moved,
        share=LogInterval(1e-3, 1.0, meaning=_SHARE),
        eta=LogInterval(1e-6, 0.5, meaning="share of the penalty by which a point may move"),
        proof=Proof(
            argument="Two points 1 apart and $0<\\lambda<1/2$: the minimiser moves both by exactly "
            "$\\lambda$ towards each other. Take $\\lambda=1/4$.",
            says="the move exceeds half of the penalty",
            observed=sp.Rational(1, 4),
            values={"lam": Fraction(1, 4), "eta": Fraction(1, 2)},
        ),
        expected=Verdict.REFUTED,
        finding=FOOTNOTE_7,
    ),
    row(
        "odcl.footnote7-distance",
        stated.FOOTNOTE_7_DISTANCE,
        moved,
        share=LogInterval(1e-3, 10.0, meaning=_SHARE),
        everywhere=reductions.FOOTNOTE_7_DISTANCE,
        finding=FOOTNOTE_7,
    ),
    row(
        "odcl.footnote7-k-as-printed",
        stated.FOOTNOTE_7_K_AS_PRINTED,
        of_all_points,
        observed=lambda data: float(convex_clustering_path(data.points).n_clusters(0.0)),
        proof=Proof(
            argument="Two points that coincide have one value in the minimiser, at every penalty.",
            says="there is one cluster",
            observed=sp.Integer(1),
            values={"m": 2},
        ),
        expected=Verdict.REFUTED,
        finding=FOOTNOTE_7,
    ),
    row(
        "odcl.footnote7-singletons",
        stated.FOOTNOTE_7_SINGLETONS,
        of_all_points,
        observed=_first_fusion,
        distinct=True,
        everywhere=reductions.SINGLETONS,
        finding=FOOTNOTE_7,
    ),
    row(
        "odcl.footnote7-one",
        stated.FOOTNOTE_7_ONE,
        of_all_points,
        observed=lambda data: fusion(data.points).low,
        everywhere=reductions.ALL_IN_ONE,
        finding=FOOTNOTE_7,
    ),
)

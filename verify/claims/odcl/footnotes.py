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
from scipy.spatial.distance import pdist

from bounds.odcl import footnotes as stated
from bounds.statement import Statement, evaluate
from trials.checks import FloatArray
from trials.clustering.convex import convex_clustering, convex_clustering_path
from trials.clustering.recovery import fusion, recovery_window
from verify.claim import Finding, claim
from verify.claims.common import Point
from verify.claims.odcl.convex import LOOSE
from verify.claims.odcl.data_sets import Clustered, data_sets
from verify.claims.odcl.windows import (
    budget,
    on_data_sets,
    window,
)
from verify.claims.searching import Sided, proves
from verify.decisions.domain import Box, IntRange, LogInterval
from verify.decisions.structured import Product
from verify.evidence import Verdict
from verify.procedures.base import Profile
from verify.procedures.search import Search
from verify.proofs.certificate import Certificate, Inequality, certificate

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


def _fused_by_radius(
    statement: Statement, profile: Profile, certify: Callable[[Point], Certificate] | None = None
) -> Search:
    return on_data_sets(
        statement,
        profile,
        lambda data: (window(data).fused.low, float(evaluate(statement.expr, data.symbols))),
        certify=certify,
    )


@claim(stated.FOOTNOTE_3_AS_PRINTED, expected=Verdict.REFUTED, finding=FOOTNOTE_3_ENDS)
def footnote_3_as_printed(statement: Statement, profile: Profile) -> Search:
    """The penalty from which on all clusters are one, against the printed lower end."""

    def certify(_point: Point) -> Certificate:
        return proves(
            statement,
            "Two clusters of two points, at distance $r=1$ from their mean. The minimiser of "
            "$\\frac12\\sum\\norm{a_i-u_i}^2+\\lambda\\norm{u_1-u_2}$ for two points $\\pm1$ is "
            "$\\pm(1-\\lambda)$ until $\\lambda=1$, whatever the other cluster is.",
            "the two points fuse above the printed end",
            "1",
            {"radius": 1, "size_min": 2, "m": 4},
        )

    return _fused_by_radius(statement, profile, certify)


@claim(stated.FOOTNOTE_3, finding=FOOTNOTE_3_ENDS)
def footnote_3(statement: Statement, profile: Profile) -> Search:
    """The penalty from which on all clusters are one, against twice the printed lower end."""
    return _fused_by_radius(statement, profile)


@claim(stated.FOOTNOTE_3_UPPER, finding=LOOSE)
def footnote_3_upper(statement: Statement, profile: Profile) -> Search:
    """The first meeting of two clusters against the footnote's upper end."""
    return on_data_sets(
        statement,
        profile,
        lambda data: (window(data).merged.high, float(evaluate(statement.expr, data.symbols))),
    )


@claim(stated.FOOTNOTE_3_CLOSED, expected=Verdict.REFUTED, finding=FOOTNOTE_3_ENDS)
def footnote_3_closed(statement: Statement, profile: Profile) -> Search:
    """Two clusters of equal size in one dimension, in rational arithmetic.

    Two fused clusters of c points each, D apart, are two points of mass c.  They meet at exactly
    D/(2c).  The sides are the number of clusters that the solution should have and has.
    """

    def clusters_at_the_end(point: Point) -> int:
        size, distance = point["size"], Fraction(point["distance"])
        values = {"gap": distance, "m": 2 * size, "size_min": size}
        exact = statement.expr.subs({s: values[s.name] for s in statement.expr.free_symbols})
        penalty = Fraction(int(exact.p), int(exact.q))
        return 1 if penalty * 2 * size >= distance else 2

    def certify(point: Point) -> Certificate:
        return certificate(
            f"Two clusters of {point['size']} equal points each, their means {point['distance']} "
            "apart. Two points of mass c meet at D/(2c), which is the printed end exactly.",
            [
                Inequality(
                    says="fewer than two clusters are left there",
                    left=str(clusters_at_the_end(point)),
                    relation="<",
                    right="2",
                )
            ],
        )

    return Search(
        name=statement.id,
        violation=lambda point: 2.0 - clusters_at_the_end(point),
        recheck=lambda point: 2 - clusters_at_the_end(point),
        certify=certify,
        sides=lambda point: (2.0, float(clusters_at_the_end(point))),
        domain={"size": IntRange(1, 10), "distance": IntRange(1, 100)},
        budget=min(profile.searches, 100),
        unit="clusters lost at the upper end",
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


def _moved(statement: Statement, profile: Profile, domain: Box) -> Sided:
    """The largest distance of the solution from the data against the statement."""

    def sides(point: Point) -> tuple[float, float]:
        data = Clustered.of(point)
        penalty = point["share"] * max(float(pdist(data.points).max()), 1e-3) / data.m
        solved = convex_clustering(data.points, penalty)
        far = np.linalg.norm(data.points - solved.centres[solved.labels], axis=1)
        moved = max(float(far.max()) - solved.radius, 0.0)  # what is proved to be moved
        values = {"m": float(data.m), "lam": penalty, "eta": point.get("eta", 1.0)}
        return moved, float(evaluate(statement.expr, values))

    return Sided(
        sides=sides,
        domain=Product((data_sets(points=(2, 10), clusters=(1, 1)), domain)),
        budget=budget(profile),
    )


@claim(stated.FOOTNOTE_7_UI, expected=Verdict.REFUTED, finding=FOOTNOTE_7)
def footnote_7_ui(statement: Statement, profile: Profile) -> Search:
    """How far the solution lies from the data at small penalties, in units of the penalty."""

    def certify(point: Point) -> Certificate:
        return proves(
            statement,
            "Two points 1 apart and $0<\\lambda<1/2$: the minimiser moves both by exactly "
            "$\\lambda$ towards each other. Take $\\lambda=1/4$.",
            "the move exceeds the share of the penalty",
            "1/4",
            {"lam": Fraction(1, 4), "eta": Fraction(point["eta"])},
        )

    domain = Box({"share": LogInterval(1e-3, 1.0), "eta": LogInterval(1e-6, 0.5)})
    sided = _moved(statement, profile, domain)
    return Sided(
        sides=sided.sides, domain=sided.domain, budget=sided.budget, certify=certify
    ).search(statement)


@claim(stated.FOOTNOTE_7_DISTANCE, finding=FOOTNOTE_7)
def footnote_7_distance(statement: Statement, profile: Profile) -> Search:
    """How far the solution lies from the data at any penalty."""
    return _moved(statement, profile, Box({"share": LogInterval(1e-3, 10.0)})).search(statement)


def _of_all_points(
    statement: Statement,
    profile: Profile,
    sides: Callable[[FloatArray], tuple[float, float]],
    distinct: bool = False,
    certify: Callable[[Point], Certificate] | None = None,
) -> Search:
    def points(point: Point) -> FloatArray:
        return np.asarray(point["points"], dtype=np.float64)

    return Sided(
        sides=lambda point: sides(points(point)),
        domain=data_sets(points=(2, 12), clusters=(1, 1)),
        budget=budget(profile),
        constraints=(lambda point: float(pdist(points(point)).min()) > 0.0) if distinct else None,
        certify=certify,
    ).search(statement)


@claim(stated.FOOTNOTE_7_K_AS_PRINTED, expected=Verdict.REFUTED, finding=FOOTNOTE_7)
def footnote_7_k_as_printed(statement: Statement, profile: Profile) -> Search:
    """The number of clusters at penalty zero, where it is largest."""

    def sides(points: FloatArray) -> tuple[float, float]:
        found = convex_clustering_path(points).n_clusters(0.0)
        return float(found), float(evaluate(statement.expr, {"m": float(points.shape[0])}))

    def certify(_point: Point) -> Certificate:
        return proves(
            statement,
            "Two points that coincide have one value in the minimiser, at every penalty.",
            "there is one cluster",
            "1",
            {"m": 2},
        )

    return _of_all_points(statement, profile, sides, certify=certify)


@claim(stated.FOOTNOTE_7_SINGLETONS, finding=FOOTNOTE_7)
def footnote_7_singletons(statement: Statement, profile: Profile) -> Search:
    """The first fusion of distinct points against the closest pair."""

    def sides(points: FloatArray) -> tuple[float, float]:
        merged = recovery_window(points, np.arange(points.shape[0])).merged.high
        values = {"m": float(points.shape[0]), "closest": float(pdist(points).min())}
        return merged, float(evaluate(statement.expr, values))

    return _of_all_points(statement, profile, sides, distinct=True)


@claim(stated.FOOTNOTE_7_ONE, finding=FOOTNOTE_7)
def footnote_7_one(statement: Statement, profile: Profile) -> Search:
    """The last fusion against the diameter."""

    def sides(points: FloatArray) -> tuple[float, float]:
        values = {"m": float(points.shape[0]), "diameter": float(pdist(points).max())}
        return fusion(points).low, float(evaluate(statement.expr, values))

    return _of_all_points(statement, profile, sides)

r"""K-means in ODCL: which data sets it recovers.

Problem. Definition 2 calls an algorithm admissible when it recovers every separable data set.  Are
convex clustering, K-means and gradient clustering admissible?

Guarantee. `bounds.odcl.kmeans`: Lemma 2 asks for alpha_km, by way of the conditions (16) and (17).
Lemma 10 bounds what Part I alone gets wrong.

Algorithm. Spectral K-means and its Part I (`trials.clustering.kmeans`), gradient clustering.

Computation. Data sets are shrunk to a ladder of separations.  The largest separation at which the
algorithm fails is compared with the stated one.  Lemma 10 is tried on clusters with outliers that
point at another cluster, at c from 12 to 14, where the stated share is not yet tiny, and at the
paper's 100.

Reference. Armacki et al. 2024, Sections 3 and 4.2, Appendices B.2.2 and B.4, after Awasthi &
Sheffet (2012).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
from scipy.spatial.distance import pdist

from bounds.odcl import kmeans as stated
from bounds.statement import Statement, evaluate
from trials.checks import FloatArray, IntArray
from trials.clustering.gradient import gradient_clustering
from trials.clustering.kmeans import lloyd, spectral_kmeans, spectral_part_one
from trials.models.matching import overlaps
from verify.claim import Finding, claim
from verify.claims.common import Point
from verify.claims.odcl.convex import needed_separation
from verify.claims.odcl.data_sets import Clustered, data_sets, two_valued
from verify.claims.odcl.separability import center_separation
from verify.claims.searching import Sided
from verify.decisions.domain import Box, Choice, Interval, IntRange, LogInterval
from verify.decisions.search import SearchResult
from verify.decisions.structured import Product
from verify.evidence import Figure, Series, Verdict
from verify.procedures.base import Presentation, Profile
from verify.procedures.search import Search
from verify.proofs.certificate import Certificate, Inequality, certificate
from verify.proofs.terms import from_sympy

#: Separations that are tried, in units of the stated one, largest first.
LADDER = tuple(4.0**-j for j in range(6))

# --- Definition 2 --------------------------------------------------------------------------------

ADMISSIBLE = Finding(
    id="odcl-admissible",
    where="Definition 2, Sections 3 and 4.2",
    printed="K-means and convex clustering belong to the class of admissible algorithms: they "
    "recover every data set that is separable with some $\\alpha>1$.",
    found="No: the clusters $\\{-1,1\\}$ and $\\{2.2\\}$ are separable with $\\alpha=2$. Point 1 "
    "fuses with 2.2 at $\\lambda=0.6$, with $-1$ only at $\\lambda=1$. For $\\alpha<2$ the point "
    "may be nearer to the other mean, so that K-means and gradient clustering do not stop at the "
    "true clusters. Besides, every data set of distinct points is separable, with single points "
    "as clusters.",
    corrected="Admissible at a separation that depends on the algorithm and on "
    "$m/|C_{(K)}|$: Lemmas 1 and 2. $\\alpha\\ge2$ makes the clusters a fixed point of K-means.",
    severity="strong",
)


@claim(stated.DEF_2_CC, expected=Verdict.REFUTED, finding=ADMISSIBLE)
def def_2_cc(statement: Statement, profile: Profile) -> Search:
    """The separation that convex clustering needs, by its exact window."""

    def sides(point: Point) -> tuple[float, float]:
        data = Clustered.of(point)
        return needed_separation(data), float(evaluate(statement.expr, data.symbols))

    def certify(_point: Point) -> Certificate:
        return certificate(
            "Clusters $\\{-1,1\\}$ and $\\{11/5\\}$: radius 1, distance of the means $11/5$, so "
            "separable with $\\alpha=2$. Two points a distance g apart fuse at $g/2$ whatever the "
            "others are. So 1 and $11/5$ are one before 1 and $-1$ are.",
            [
                Inequality(
                    says="the distance of the means exceeds the stated separation times the radius",
                    left="11/5",
                    relation=">",
                    right=from_sympy(statement.expr, {}),
                ),
                Inequality(
                    says="the wrong pair fuses at a smaller penalty than the cluster",
                    left="3/5",
                    relation="<",
                    right="1",
                ),
            ],
        )

    return Sided(
        sides=sides,
        domain=data_sets(points=(3, 8), clusters=(2, 3), separation=1.5),
        budget=max(profile.searches // 12, 24),
        constraints=is_lost(needed_separation),
        certify=certify,
    ).search(statement)


def is_lost(needed: Callable[[Clustered], float]) -> Callable[[Point], bool]:
    """Whether points meet (4) with some alpha above one, and less than they need.

    Such a data set is a counterexample of Definition 2 as it stands.  No two of its points are
    nearer than a tenth of the radius, so that one sees them apart.
    """

    def lost(point: Point) -> bool:
        data = Clustered.of(point)
        if float(pdist(data.points).min()) <= data.radius / 10:
            return False
        return data.radius < data.gap <= needed(data) * data.radius

    return lost


def fixed_point_separation(data: Clustered) -> float:
    """The separation from which on every point of this shape is nearest to its own mean."""
    if data.radius == 0.0:
        return 0.0
    needed = 0.0
    for k, other, distance in data.pairs():
        if distance == 0.0:
            return 0.0
        axis = (data.centres[other] - data.centres[k]) / distance
        along = max(
            float((data.deviations[data.labels == k] @ axis).max()),
            float((data.deviations[data.labels == other] @ -axis).max()),
        )
        needed = max(needed, 2.0 * along * data.gap / (data.radius * distance))
    return needed


def _fixed_point(
    statement: Statement, profile: Profile, certify: Callable[[Point], Certificate] | None = None
) -> Search:
    def sides(point: Point) -> tuple[float, float]:
        data = Clustered.of(point)
        return fixed_point_separation(data), float(evaluate(statement.expr, data.symbols))

    return Sided(
        sides=sides, domain=data_sets(), budget=profile.searches // 2, certify=certify
    ).search(statement)


@claim(stated.DEF_2_KM, expected=Verdict.REFUTED, finding=ADMISSIBLE)
def def_2_km(statement: Statement, profile: Profile) -> Search:
    """The separation at which a clustering becomes a fixed point, against any above one."""

    def certify(_point: Point) -> Certificate:
        return certificate(
            "Clusters $\\{-1,1\\}$ and $\\{3/2\\}$: radius 1, distance of the means $3/2$. The "
            "point 1 is at distance 1 from its own mean and $1/2$ from the other.",
            [
                Inequality(
                    says="the distance of the means exceeds the stated separation times the radius",
                    left="3/2",
                    relation=">",
                    right=from_sympy(statement.expr, {}),
                ),
                Inequality(
                    says="the other mean is nearer",
                    left=str(Fraction(1, 2)),
                    relation="<",
                    right="1",
                ),
            ],
        )

    search = _fixed_point(statement, profile, certify)
    return replace(
        search, domain=data_sets(separation=1.5), constraints=is_lost(fixed_point_separation)
    )


@claim(stated.DEF_2_FIXED_POINT, finding=ADMISSIBLE)
def def_2_fixed_point(statement: Statement, profile: Profile) -> Search:
    """The separation at which a clustering becomes a fixed point, against two."""
    return _fixed_point(statement, profile)


# --- Lemma 2 -------------------------------------------------------------------------------------

PROXIMITY = Finding(
    id="odcl-proximity-sizes",
    where="proof of Lemma 2, last display",
    printed="$c\\left(\\frac1{|C_k|}+\\frac1{|C_l|}\\right)\\norm{A-C}$.",
    found="(17) has the roots of the sizes. The step before the sign proves that form too.",
    corrected="$c\\left(\\frac1{\\sqrt{|C_k|}}+\\frac1{\\sqrt{|C_l|}}\\right)\\norm{A-C}$.",
    severity="slip",
)


def _with_constant(
    statement: Statement, profile: Profile, observed: Callable[[Clustered, float], float]
) -> Search:
    def sides(point: Point) -> tuple[float, float]:
        data, c = Clustered.of(point), point["c"]
        return observed(data, c), float(evaluate(statement.expr, {**data.symbols, "c": c}))

    return Sided(
        sides=sides,
        domain=Product((data_sets(), Box({"c": LogInterval(1e-2, 1e3)}))),
        budget=profile.searches // 4,
    ).search(statement)


@claim(stated.LEMMA_2_16)
def lemma_2_16(statement: Statement, profile: Profile) -> Search:
    """The center separation against alpha_km times the radius."""
    return _with_constant(statement, profile, center_separation)


def proximity(data: Clustered, c: float) -> float:
    """The largest left-hand side of (17) as a distance of two means, over points and pairs."""
    spectral = float(np.linalg.norm(data.deviations, 2))
    largest = 0.0
    for k, other, distance in data.pairs():
        axis = (data.centres[other] - data.centres[k]) / max(distance, 1e-300)
        along = max(
            float((data.deviations[data.labels == k] @ axis).max()),
            float((data.deviations[data.labels == other] @ -axis).max()),
        )
        roots = 1 / math.sqrt(data.sizes[k]) + 1 / math.sqrt(data.sizes[other])
        largest = max(largest, 2.0 * max(along, 0.0) + c * roots * spectral)
    return largest


@claim(stated.LEMMA_2_17, finding=PROXIMITY)
def lemma_2_17(statement: Statement, profile: Profile) -> Search:
    """The proximity condition against alpha_km times the radius."""
    return _with_constant(statement, profile, proximity)


def at_separations(data: Clustered, separations: FloatArray) -> FloatArray:
    """(B, m, d) the shape at each separation, or its own size where the clusters are points."""
    if data.radius == 0.0:
        return np.repeat(data.points[None], len(separations), axis=0)
    shares = data.gap / (data.radius * np.asarray(separations))
    return np.stack([data.shrunk(float(share)).points for share in shares])


def failing_separation(
    data: Clustered, separations: FloatArray, fit: Callable[[FloatArray], IntArray]
) -> float:
    """The largest of the separations at which a clustering differs from the true one, else 0.

    ``fit`` : (B, m, d) -> labels (B, m).
    """
    found = fit(at_separations(data, separations))
    wrong = [
        separation
        for separation, labels in zip(separations.tolist(), found, strict=True)
        if np.trace(overlaps(labels, data.labels, data.k)) < data.m
    ]
    return max(wrong, default=0.0)


#: Seeds of Part I's search, which starts at drawn points.
_SEEDS = Box({"seed": IntRange(0, 1000)})


def _spectral(data: Clustered, seed: int = 0) -> Callable[[FloatArray], IntArray]:
    return lambda points: spectral_kmeans(points, data.k, np.random.default_rng(seed)).labels


def _recovers(statement: Statement, profile: Profile) -> Search:
    def sides(point: Point) -> tuple[float, float]:
        data = Clustered.of(point)
        bound = float(evaluate(statement.expr, data.symbols))
        # Just above the stated separation: (4) is strict.
        tried = bound * (1.0 + 1e-9) * np.array(LADDER)
        return failing_separation(data, tried, _spectral(data, point["seed"])), bound

    return Sided(
        sides=sides,
        domain=Product((data_sets(points=(4, 24), clusters=(2, 4)), _SEEDS)),
        budget=max(profile.searches // 4, 24),
        constraints=lambda point: Clustered.of(point).gap > 0.0,
    ).search(statement)


@claim(stated.LEMMA_2)
def lemma_2(statement: Statement, profile: Profile) -> Search:
    """Spectral K-means at the stated separation with c = 100, and below it."""
    return _recovers(statement, profile)


@claim(stated.LEMMA_2_ONE)
def lemma_2_one(statement: Statement, profile: Profile) -> Search:
    """Spectral K-means at the stated separation with c = 1, and below it."""
    return _recovers(statement, profile)


def unbalanced(size: int, small: int) -> Clustered:
    """A cluster of ``2 size`` points of two values, and two of ``small`` points, means one apart.

    The means are the corners of a triangle, and the large cluster lies across its plane.
    """
    means = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, math.sqrt(0.75), 0.0]])
    return two_valued(means, (2 * size, small, small), np.array([0.0, 0.0, 1.0]), 1)


@claim(stated.LEMMA_2_ORDER)
def lemma_2_order(statement: Statement, profile: Profile) -> Search:
    """A large cluster of two values beside two small ones."""

    def sides(point: Point) -> tuple[float, float]:
        data = unbalanced(point["size"], point["small"])
        bound = float(evaluate(statement.expr, data.symbols))
        return failing_separation(data, np.array([bound]), _spectral(data)), bound

    return Sided(
        sides=sides,
        domain={"size": IntRange(20, 60), "small": IntRange(1, 4)},
        budget=max(profile.searches // 50, 16),
        present=lambda _result: separation_page(),
    ).search(statement)


def separation_page() -> Presentation:
    """The separation at which spectral K-means fails on the unbalanced family, over its size."""
    sizes = (5, 10, 20, 40, 80)
    families = [unbalanced(size, 1) for size in sizes]
    ladder = np.geomspace(1.0, 40.0, 80)
    ratios = [float(data.m / data.sizes.min()) for data in families]
    fails = [failing_separation(data, ladder, _spectral(data)) for data in families]
    curves = {
        "Lemma 2, $c=100$": stated.LEMMA_2.expr,
        "Lemma 2, $c=1$": stated.LEMMA_2_ONE.expr,
        "$\\sqrt{m/|C_{(K)}|}$": stated.LEMMA_2_ORDER.expr,
    }
    return Presentation(
        figures=(
            Figure(
                name="separation",
                title="Separation at which spectral K-means fails",
                xlabel="users over users of the smallest cluster (dimensionless)",
                ylabel="separation $\\alpha$ (dimensionless)",
                xscale="log",
                yscale="log",
                series=[
                    Series(label="largest separation that fails", x=ratios, y=fails),
                    *(
                        Series(
                            label=label,
                            x=ratios,
                            y=[float(evaluate(expr, data.symbols)) for data in families],
                            style="line" if label.startswith("$") else "dashed",
                        )
                        for label, expr in curves.items()
                    ),
                ],
                caption="One large cluster of two values and two single users. The separations "
                "that are tried are 4.8 per cent apart.",
            ),
        ),
    )


# --- Lemma 10 ------------------------------------------------------------------------------------

EQUATIONS = Finding(
    id="odcl-lemma10",
    where="Lemma 10",
    printed="$|C_k'\\cap C_k|=(1-\\frac{128}{c^2})|C_k|$ and "
    "$\\sum_{l\\ne k}|C_k'\\cap C_l|=\\frac{128}{c^2}|C_k|$.",
    found="Well separated clusters are recovered whole, so neither equation holds.",
    corrected="$\\ge$ and $\\le$, as in Theorem 3.",
    severity="slip",
)


#: Part I holds all distances of two points.
_POINTS_TRIED = 2000


def cluster_size(point: Point) -> int:
    """The points of a cluster with which Definition 3 holds in spite of the outliers.

    The smaller norm of Definition 3 is at most the Frobenius norm.
    """
    n_outliers = point["outliers"] * (point["k"] if point["all"] else 1)
    return int(
        4 + point["outliers"] + math.ceil(4.0 * n_outliers * (point["c"] * point["reach"]) ** 2)
    )


def with_outliers(point: Point) -> Clustered:
    """K clusters of points that just meet Definition 3, with outliers that look at a neighbour.

    In the first cluster, or in all, ``outliers`` points lie the share ``reach`` of the way to the
    next mean.
    """
    k, outliers, reach, size = point["k"], point["outliers"], point["reach"], cluster_size(point)
    means = np.eye(k)
    labels = np.repeat(np.arange(k), size)
    points = means[labels]
    for j in range(k if point["all"] else 1):
        points[j * size : j * size + outliers] += reach * (means[(j + 1) % k] - means[j])
    return Clustered(points, labels)


def _part_one(statement: Statement, profile: Profile, share: Callable[[IntArray], float]) -> Search:
    """The share of right or foreign points after Part I, on clusters with outliers."""

    def sides(point: Point) -> tuple[float, float]:
        data, rng = with_outliers(point), np.random.default_rng(point["seed"])
        fit, _ = spectral_part_one(data.points[None], data.k, rng)
        table = overlaps(fit.labels[0], data.labels, data.k)
        return share(table), float(evaluate(statement.expr, {"c": point["c"]}))

    def separated(point: Point) -> bool:
        if cluster_size(point) * point["k"] > _POINTS_TRIED:
            return False
        data = with_outliers(point)
        return data.gap >= center_separation(data, point["c"])

    return Sided(
        sides=sides,
        domain={
            "k": IntRange(2, 3),
            "outliers": IntRange(0, 1),
            "reach": Interval(0.1, 0.6),
            "all": IntRange(0, 1),
            "c": Choice((12.0, 12.5, 13.0, 14.0, 100.0)),
            "seed": IntRange(0, 1000),
        },
        budget=max(profile.searches // 80, 16),
        constraints=separated,
    ).search(statement)


def own_share(table: IntArray) -> float:
    """The smallest share of a true cluster that its found cluster holds."""
    return float((np.diag(table) / table.sum(axis=1)).min())


def foreign_share(table: IntArray) -> float:
    """The largest number of foreign points of a found cluster, over the true cluster's size."""
    return float(((table.sum(axis=0) - np.diag(table)) / table.sum(axis=1)).max())


@claim(stated.LEMMA_10_OWN, finding=EQUATIONS)
def lemma_10_own(statement: Statement, profile: Profile) -> Search:
    """The share of each cluster that Part I keeps together."""
    return _part_one(statement, profile, own_share)


@claim(stated.LEMMA_10_FOREIGN, finding=EQUATIONS)
def lemma_10_foreign(statement: Statement, profile: Profile) -> Search:
    """The share of foreign points that Part I adds."""
    search = _part_one(statement, profile, foreign_share)
    return replace(search, present=_looseness)


def _looseness(result: SearchResult) -> Presentation:
    """How far the largest share that was found stays below the stated one."""
    return Presentation(
        sharpness=(
            "In equal clusters one outlier beyond the middle of two means needs more than $c^2$ "
            "points a cluster for Definition 3, a share below $1/c^2$, not $128/c^2$. The "
            f"largest share that was found is {1.0 + result.largest:.2g} of the stated one.",
        )
    )


# --- Algorithm 2 ---------------------------------------------------------------------------------

FACTOR = Finding(
    id="odcl-approximation-factor",
    where="footnote 6",
    printed="An $\\epsilon$-approximation has $f(x^*)\\le(1+\\epsilon)\\min f$.",
    found="With this a 10-approximation would be within a factor of 11. Awasthi & Sheffet (2012) "
    "ask for a factor of 10.",
    corrected="$f(x^*)\\le10\\min f$.",
    severity="slip",
)


@claim(stated.APPROXIMATION, finding=FACTOR)
def approximation(statement: Statement, profile: Profile) -> Search:
    """The factor that is proved after each run of Part I."""

    def sides(point: Point) -> tuple[float, float]:
        data, rng = Clustered.of(point), np.random.default_rng(point["seed"])
        fit, _ = spectral_part_one(data.points[None], data.k, rng)
        return float(fit.factor[0]), float(evaluate(statement.expr, {}))

    return Sided(
        sides=sides,
        domain=Product((data_sets(points=(4, 16), clusters=(2, 4)), _SEEDS)),
        budget=max(profile.searches // 20, 24),
    ).search(statement)


@claim(stated.LLOYD_FINITE)
def lloyd_finite(statement: Statement, profile: Profile) -> Search:
    """One iteration more against one less, from random starts."""

    def sides(point: Point) -> tuple[float, float]:
        data = np.asarray(point["points"], dtype=np.float64)
        starts = np.random.default_rng(point["seed"]).permutation(data)[None, : point["k"]]
        points = data[None]
        costs = [
            float(lloyd(points, starts, max_iter=steps, empty="keep").inertia[0])
            for steps in (point["steps"], point["steps"] + 1)
        ]
        stopped = bool(lloyd(points, starts, max_iter=300, empty="keep").converged[0])
        bound = float(evaluate(statement.expr, {"cost_before": costs[0]}))
        # A mean is off by some ulps of the points, so a cost of zero is not always met exactly.
        rounding = 1e-12 * costs[1] + points.size * (1e-15 * float(np.abs(points).max())) ** 2
        return (max(costs[1] - rounding, 0.0) if stopped else math.inf), bound

    return Sided(
        sides=sides,
        domain=Product(
            (
                data_sets(points=(3, 24), clusters=(1, 4)),
                Box({"k": IntRange(1, 6), "steps": IntRange(1, 6), "seed": IntRange(0, 1000)}),
            )
        ),
        budget=profile.searches // 8,
    ).search(statement)


@claim(stated.GRADIENT_CLUSTERING, finding=ADMISSIBLE)
def gradient_clusters(statement: Statement, profile: Profile) -> Search:
    """Gradient clustering from one point of each cluster, at separations from the stated one."""

    def sides(point: Point) -> tuple[float, float]:
        data = Clustered.of(point)
        rng = np.random.default_rng(point["seed"])
        starts = [int(rng.choice(np.flatnonzero(data.labels == j))) for j in range(data.k)]

        def fit(points: FloatArray) -> IntArray:
            return gradient_clustering(points, points[:, starts], step=point["step"]).labels

        bound = float(evaluate(statement.expr, data.symbols))
        tried = bound * (1.0 + 1e-9) * np.array(LADDER[:3])
        return failing_separation(data, tried, fit), bound

    return Sided(
        sides=sides,
        domain=Product(
            (
                data_sets(points=(3, 12)),
                Box({"step": LogInterval(0.1, 1.9), "seed": IntRange(0, 1000)}),
            )
        ),
        budget=max(profile.searches // 20, 24),
        constraints=lambda point: Clustered.of(point).gap > 0.0,
    ).search(statement)

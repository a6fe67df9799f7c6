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
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import sympy as sp
from scipy.spatial.distance import pdist

from bounds.odcl import kmeans as stated
from bounds.statement import Statement, evaluate
from trials.checks import FloatArray, IntArray
from trials.clustering.gradient import gradient_clustering
from trials.clustering.kmeans import (
    STATED_FACTOR,
    KMeansFit,
    lloyd,
    spectral_kmeans,
    spectral_part_one,
)
from trials.models.matching import overlaps
from verify.claim import Finding, claim, row
from verify.claims.common import Point
from verify.claims.odcl import mean_reductions as reductions
from verify.claims.odcl import vector_proofs
from verify.claims.odcl.convex import needed_separation
from verify.claims.odcl.data_sets import Clustered, data_sets, two_valued
from verify.claims.odcl.separability import center_separation
from verify.claims.odcl.sides import CLUSTERS
from verify.claims.odcl.windows import budget, on_data_sets, over, symbols_of
from verify.claims.searching import search
from verify.decisions.domain import Choice, Domain, Interval, IntRange, LogInterval
from verify.decisions.search import SearchResult
from verify.evidence import Figure, Series, Verdict
from verify.procedures.base import Presentation, Profile
from verify.procedures.search import Search
from verify.proofs.certificate import Certificate, Inequality, certificate
from verify.proofs.propositions import Everywhere
from verify.proofs.terms import from_sympy

#: Separations that are tried, in units of the stated one, largest first.
LADDER = tuple(4.0**-j for j in range(6))
#: (4) is strict.  The excess is a thousand times what a search takes for rounding.
_JUST_ABOVE = 1.0 + 1e-6

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
    if data.radius == 0.0 or data.gap == 0.0:
        return 0.0
    pair = _nearest_to_the_middle(data)
    along, distance = _along(data, *pair), pair[2]
    return 2.0 * along * data.gap / (data.radius * distance)


def _along(data: Clustered, k: int, other: int, distance: float) -> float:
    """The largest deviation of two clusters' points towards the other's mean, at least zero."""
    axis = (data.centres[other] - data.centres[k]) / max(distance, 1e-300)
    own = float((data.deviations[data.labels == k] @ axis).max())
    return max(own, float((data.deviations[data.labels == other] @ -axis).max()), 0.0)


def _nearest_to_the_middle(data: Clustered) -> tuple[int, int, float]:
    """Two clusters with their distance, a deviation to the other the largest share of it."""
    return max(data.pairs(), key=lambda pair: _along(data, *pair) / pair[2])


def shape_separation(
    statement: Statement,
    profile: Profile,
    *,
    observed: Callable[[Clustered], float],
    domain: Domain,
    budget: Callable[[Profile], int],
    everywhere: Everywhere | None = None,
    proof: Callable[[Statement], Certificate] | None = None,
) -> Search:
    """The separation that a shape needs.  With a proof, the data sets are those that fail."""
    return on_data_sets(
        statement,
        profile,
        observed,
        domain=domain,
        budget=budget(profile),
        where=is_lost(observed) if proof else None,
        everywhere=everywhere,
        proof=(lambda _point: proof(statement)) if proof else None,
    )


def _separable(
    argument: str, distance: str, wrong: Inequality
) -> Callable[[Statement], Certificate]:
    """The proof from two clusters, the first of radius one, whose means lie ``distance`` apart."""

    def prove(statement: Statement) -> Certificate:
        separable = Inequality(
            says="the distance of the means exceeds the stated separation times the radius",
            left=distance,
            relation=">",
            right=from_sympy(statement.expr, {}),
        )
        return certificate(argument, [separable, wrong])

    return prove


DEFINITION_2 = (
    row(
        "odcl.def2-cc",
        stated.DEF_2_CC,
        shape_separation,
        observed=needed_separation,
        domain=data_sets(points=(3, 8), clusters=(2, 3), separation=1.5),
        budget=budget,
        proof=_separable(
            "Clusters $\\{-1,1\\}$ and $\\{11/5\\}$: radius 1, distance of the means $11/5$, so "
            "separable with $\\alpha=2$. Two points a distance g apart fuse at $g/2$ whatever the "
            "others are. So 1 and $11/5$ are one before 1 and $-1$ are.",
            "11/5",
            Inequality(
                says="the wrong pair fuses at a smaller penalty than the cluster",
                left="3/5",
                relation="<",
                right="1",
            ),
        ),
        expected=Verdict.REFUTED,
        finding=ADMISSIBLE,
    ),
    row(
        "odcl.def2-km",
        stated.DEF_2_KM,
        shape_separation,
        observed=fixed_point_separation,
        domain=data_sets(separation=1.5),
        budget=lambda profile: profile.searches // 2,
        proof=_separable(
            "Clusters $\\{-1,1\\}$ and $\\{3/2\\}$: radius 1, distance of the means $3/2$. The "
            "point 1 is at distance 1 from its own mean and $1/2$ from the other.",
            "3/2",
            Inequality(says="the other mean is nearer", left="1/2", relation="<", right="1"),
        ),
        expected=Verdict.REFUTED,
        finding=ADMISSIBLE,
    ),
    row(
        "odcl.def2-fixed-point",
        stated.DEF_2_FIXED_POINT,
        shape_separation,
        observed=fixed_point_separation,
        domain=data_sets(),
        budget=lambda profile: profile.searches // 2,
        everywhere=vector_proofs.nearest_mean(lambda data: _nearest_to_the_middle(data)[:2]),
        finding=ADMISSIBLE,
    ),
)


@claim("odcl.def2-fixed-point-attained", stated.DEF_2_ATTAINED, finding=ADMISSIBLE)
def looking_at_the_other(statement: Statement, profile: Profile) -> Search:
    """A pair on the line of two means, and a cluster of one value."""

    def data(point: Point) -> Clustered:
        means = np.array([[0.0], [point["distance"]]])
        return two_valued(means, (2, point["size"]), np.array([point["length"]]), 1)

    def quantities(point: Point) -> dict[str, float]:
        own = {name: point[name] for name in ("distance", "length")}
        return {**own, "radius": data(point).radius, "gap": data(point).gap}

    return search(
        statement,
        profile,
        lambda point: fixed_point_separation(data(point)),
        {
            "size": IntRange(1, 50, meaning="points of the cluster of one value"),
            "distance": LogInterval(1e-3, 1e3, meaning="distance of the two means"),
            "length": LogInterval(
                1e-3, 1e3, meaning="distance of the two points of the pair from their mean"
            ),
        },
        everywhere=reductions.towards_the_other(quantities),
        budget=profile.searches // 8,
    )


# --- Lemma 2 -------------------------------------------------------------------------------------

PROXIMITY = Finding(
    id="odcl-proximity-sizes",
    where="proof of Lemma 2, last display",
    printed="$c\\left(\\frac1{|C_k|}+\\frac1{|C_l|}\\right)\\norm{A-C}$.",
    found="(17) has the roots of the sizes. The step before the sign proves that form too.",
    corrected="$c\\left(\\frac1{\\sqrt{|C_k|}}+\\frac1{\\sqrt{|C_l|}}\\right)\\norm{A-C}$.",
    severity="slip",
)


def proximity(data: Clustered, c: float) -> float:
    """The largest left-hand side of (17) as a distance of two means, over points and pairs."""
    return _largest_proximity(data, c)[0]


def _largest_proximity(data: Clustered, c: float) -> tuple[float, int, int]:
    """The largest left-hand side with its pair of clusters."""
    spectral = float(np.linalg.norm(data.deviations, 2))

    def side(pair: tuple[int, int, float]) -> tuple[float, int, int]:
        k, other, _ = pair
        along = _along(data, *pair)
        roots = 1 / math.sqrt(data.sizes[k]) + 1 / math.sqrt(data.sizes[other])
        return 2.0 * along + c * roots * spectral, k, other

    return max(map(side, data.pairs()))


def with_constant(
    statement: Statement,
    profile: Profile,
    *,
    observed: Callable[[Clustered, float], float],
    everywhere: Everywhere,
) -> Search:
    """A condition with the constant c against alpha_km times the radius."""
    return search(
        statement,
        profile,
        lambda point: observed(Clustered.of(point), point["c"]),
        over(data_sets(), c=LogInterval(1e-2, 1e3)),
        at=symbols_of,
        everywhere=everywhere,
        budget=profile.searches // 4,
    )


CONDITIONS = (
    row(
        "odcl.lemma2-16",
        stated.LEMMA_2_16,
        with_constant,
        observed=center_separation,
        everywhere=vector_proofs.CENTER_SEPARATION,
    ),
    row(
        "odcl.lemma2-17",
        stated.LEMMA_2_17,
        with_constant,
        observed=proximity,
        everywhere=vector_proofs.proximity(lambda data, c: _largest_proximity(data, c)[1:]),
        finding=PROXIMITY,
    ),
)


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


_SEED = IntRange(0, 1000)


def _spectral(data: Clustered, seed: int = 0) -> Callable[[FloatArray], IntArray]:
    return lambda points: spectral_kmeans(points, data.k, np.random.default_rng(seed)).labels


def recovers(statement: Statement, profile: Profile, *, root: sp.Expr | None = None) -> Search:
    """Spectral K-means at the stated separation and below it.

    ``root`` : of the approximation factor of Part I with which the statement is proved.
    """

    def fails_at(point: Point) -> float:
        data = Clustered.of(point)
        tried = float(evaluate(statement.expr, data.symbols)) * _JUST_ABOVE * np.array(LADDER)
        return failing_separation(data, tried, _spectral(data, point["seed"]))

    return search(
        statement,
        profile,
        fails_at,
        over(data_sets(points=(4, 24), clusters=(2, 4)), seed=_SEED),
        at=symbols_of,
        budget=max(profile.searches // 4, 24),
        where=lambda point: Clustered.of(point).gap > 0.0,
        everywhere=None if root is None else reductions.cores(root, fails_at),
    )


def separation_of_cores(symbols: Mapping[str, float]) -> float:
    """The separation at which all points are core points, for the algorithm that is run here."""
    x = math.sqrt(symbols["m"] / symbols["size_min"])
    return 8.0 + (2.0 + 4.0 * float(_ROOT_OF_FACTOR)) * x


#: Of the factor of the algorithm that is run here, without a proof after the run, rounded up.
_ROOT_OF_FACTOR = sp.Rational(math.ceil(10 * math.sqrt(STATED_FACTOR)), 10)
RECOVERY = (
    row("odcl.lemma2", stated.LEMMA_2, recovers, root=_ROOT_OF_FACTOR),
    row("odcl.lemma2-sharp", stated.LEMMA_2_SHARP, recovers, root=sp.sqrt(10)),
    row("odcl.lemma2-one", stated.LEMMA_2_ONE, recovers),
)


def unbalanced(size: int, small: int) -> Clustered:
    """A cluster of ``2 size`` points of two values, and two of ``small`` points, means one apart.

    The means are the corners of a triangle, and the large cluster lies across its plane.
    """
    means = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, math.sqrt(0.75), 0.0]])
    return two_valued(means, (2 * size, small, small), np.array([0.0, 0.0, 1.0]), 1)


@claim("odcl.lemma2-order", stated.LEMMA_2_ORDER)
def lemma_2_order(statement: Statement, profile: Profile) -> Search:
    """A large cluster of two values beside two small ones."""

    def fails_at(point: Point) -> float:
        data = unbalanced(point["size"], point["small"])
        bound = float(evaluate(statement.expr, data.symbols))
        return failing_separation(data, np.array([bound]), _spectral(data))

    return search(
        statement,
        profile,
        fails_at,
        {
            "size": IntRange(20, 60, meaning="half the number of points of the large cluster"),
            "small": IntRange(1, 4, meaning="points of each of the two small clusters"),
        },
        at=lambda point: unbalanced(point["size"], point["small"]).symbols,
        budget=max(profile.searches // 50, 16),
        present=lambda _result: separation_page(),
    )


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

    The smaller norm of Definition 3 is at most the Frobenius norm.  It is divided by the roots of
    the two smallest sizes.  With two clusters the larger one adds less.
    """
    n_outliers = point["outliers"] * (point["k"] if point["all"] else 1)
    two_sizes = 1.0 + (point["ratio"] ** -0.5 if point["k"] == 2 else 1.0)
    needed = n_outliers * (two_sizes * point["c"] * point["reach"]) ** 2
    return int(4 + point["outliers"] + math.ceil(needed))


def cluster_sizes(point: Point) -> list[int]:
    """The sizes of all clusters.  One of the first two is ``ratio`` times as large as the others.

    With ``own`` it is the one at which the outliers look, else the one to which they belong.  The
    smaller one is that whose share they change.
    """
    sizes = [cluster_size(point)] * point["k"]
    sizes[1 if point["own"] else 0] *= point["ratio"]
    return sizes


def with_outliers(point: Point) -> Clustered:
    """K clusters of points that just meet Definition 3, with outliers that look at a neighbour.

    In the first cluster, or in all, ``outliers`` points lie the share ``reach`` of the way to the
    next mean.
    """
    k, outliers, reach, sizes = point["k"], point["outliers"], point["reach"], cluster_sizes(point)
    means = np.eye(k)
    labels = np.repeat(np.arange(k), sizes)
    points = means[labels]
    for j in range(k if point["all"] else 1):
        first = sum(sizes[:j])
        points[first : first + outliers] += reach * (means[(j + 1) % k] - means[j])
    return Clustered(points, labels)


@lru_cache(maxsize=512)
def _overlaps_at(point: tuple[tuple[str, Any], ...]) -> IntArray:
    """The points that each true and each found cluster share after Part I, (k, k).

    Changed statements are tried at the same points, one after the other.
    """
    values = dict(point)
    data = with_outliers(values)
    fit, _ = reductions.run_part_one(data, values["seed"])
    table = overlaps(fit.labels[0], data.labels, data.k)
    table.setflags(write=False)  # the same array is given to every caller
    return table


#: Constants at which the stated share is not yet tiny, and the paper's.
_CONSTANTS = Choice((12.0, 12.5, 13.0, 14.0, 100.0))
_LARGE_CONSTANTS = Choice((14.0, 20.0, 30.0, 50.0, 100.0))
_WITH_OUTLIERS = reductions.part_one_shares(with_outliers)


def part_one(
    statement: Statement,
    profile: Profile,
    *,
    share: Callable[[IntArray], float],
    constants: Choice = _CONSTANTS,
    present: Callable[[SearchResult], Presentation] | None = None,
) -> Search:
    """The share of right or foreign points after Part I, on clusters with outliers.

    They lie beyond the middle of two means: all others are right, which says nothing of the bound.
    """

    def found(point: Point) -> float:
        return share(_overlaps_at(tuple(point.items())))

    def separated(point: Point) -> bool:
        if sum(cluster_sizes(point)) > _POINTS_TRIED:
            return False
        data = with_outliers(point)
        return data.gap >= center_separation(data, point["c"])

    return search(
        statement,
        profile,
        found,
        {
            "k": IntRange(2, 3, meaning=CLUSTERS),
            "outliers": IntRange(
                1, 2, meaning="number of outliers in the first cluster, or in every cluster"
            ),
            "reach": Interval(
                0.5,
                0.6,
                meaning="share of the way to the next cluster mean at which the outliers lie",
            ),
            "all": IntRange(
                0,
                1,
                meaning="place of the outliers, the first cluster only (0) or every cluster (1)",
            ),
            "ratio": Choice((1, 4, 16), meaning="size of one cluster over that of the others"),
            "own": Choice(
                (share is own_share,),
                meaning="whether the cluster at which the outliers look is the larger one",
            ),
            "c": constants,
            "seed": _SEED,
        },
        budget=max(profile.searches // 4, 16),
        where=separated,
        everywhere=_WITH_OUTLIERS[statement.id],
        present=present,
    )


def own_share(table: IntArray) -> float:
    """The smallest share of a true cluster that its found cluster holds."""
    return float((np.diag(table) / table.sum(axis=1)).min())


def foreign_share(table: IntArray) -> float:
    """The largest number of foreign points of a found cluster, over the true cluster's size."""
    return float(((table.sum(axis=0) - np.diag(table)) / table.sum(axis=1)).max())


def _looseness(result: SearchResult) -> Presentation:
    """How far the largest share stays below the stated one, where a search has found any."""
    found = f"The largest share that was found is {1.0 + result.largest:.2g} of the stated one."
    return Presentation(
        sharpness=(
            "In equal clusters one outlier beyond the middle of two means needs more than $c^2$ "
            "points a cluster for Definition 3, a share below $1/c^2$, not $128/c^2$.",
            *([] if result.largest_at is None else [found]),
        )
    )


LEMMA_10 = (
    row(
        "odcl.lemma10-own",
        stated.LEMMA_10_OWN,
        part_one,
        share=own_share,
        finding=EQUATIONS,
    ),
    row(
        "odcl.lemma10-foreign",
        stated.LEMMA_10_FOREIGN,
        part_one,
        share=foreign_share,
        present=_looseness,
        finding=EQUATIONS,
    ),
    row(
        "odcl.lemma10-own-sharp",
        stated.LEMMA_10_OWN_SHARP,
        part_one,
        share=own_share,
        constants=_LARGE_CONSTANTS,
        finding=EQUATIONS,
    ),
    row(
        "odcl.lemma10-foreign-sharp",
        stated.LEMMA_10_FOREIGN_SHARP,
        part_one,
        share=foreign_share,
        constants=_LARGE_CONSTANTS,
        finding=EQUATIONS,
    ),
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


@claim("odcl.approximation", stated.APPROXIMATION, finding=FACTOR)
def approximation(statement: Statement, profile: Profile) -> Search:
    """The factor that is proved after each run of Part I."""

    def factor(point: Point) -> float:
        data, rng = Clustered.of(point), np.random.default_rng(point["seed"])
        fit, _ = spectral_part_one(data.points[None], data.k, rng)
        return float(fit.factor[0])

    return search(
        statement,
        profile,
        factor,
        over(data_sets(points=(4, 16), clusters=(2, 4)), seed=_SEED),
        budget=max(profile.searches // 20, 24),
    )


#: The cost of a run that does not stop.
_ENDLESS = 1e300


@claim("odcl.lloyd-finite", stated.LLOYD_FINITE)
def lloyd_finite(statement: Statement, profile: Profile) -> Search:
    """One iteration more against one less, from random starts."""

    def run(point: Point, steps: int) -> KMeansFit:
        data = Clustered.of(point).points
        starts = np.random.default_rng(point["seed"]).permutation(data)[None, : point["k"]]
        return lloyd(data[None], starts, max_iter=steps, empty="keep")

    def after(point: Point) -> float:
        cost = float(run(point, point["steps"] + 1).inertia[0])
        if not run(point, 300).converged[0]:
            return _ENDLESS
        # A mean is off by some ulps of the points, so a cost of zero is not always met exactly.
        points = Clustered.of(point).points
        rounding = 1e-12 * cost + points.size * (1e-15 * float(np.abs(points).max())) ** 2
        return max(cost - rounding, 0.0)

    return search(
        statement,
        profile,
        after,
        over(
            data_sets(points=(3, 24), clusters=(1, 4)),
            k=IntRange(
                1, 6, meaning="number of starting centres, all points where there are fewer"
            ),
            steps=IntRange(1, 6, meaning="number of iterations before the one that is tried"),
            seed=_SEED,
        ),
        at=lambda point: {"cost_before": float(run(point, point["steps"]).inertia[0])},
        everywhere=reductions.descent(
            lambda point: (Clustered.of(point).points, run(point, point["steps"]))
        ),
        budget=profile.searches // 8,
    )


@claim("odcl.gradient-clustering", stated.GRADIENT_CLUSTERING, finding=ADMISSIBLE)
def gradient_clusters(statement: Statement, profile: Profile) -> Search:
    """Gradient clustering from one point of each cluster, at separations from the stated one."""

    def fails_at(point: Point) -> float:
        data = Clustered.of(point)
        rng = np.random.default_rng(point["seed"])
        starts = [int(rng.choice(np.flatnonzero(data.labels == j))) for j in range(data.k)]

        def fit(points: FloatArray) -> IntArray:
            return gradient_clustering(points, points[:, starts], step=point["step"]).labels

        tried = float(evaluate(statement.expr, data.symbols)) * _JUST_ABOVE * np.array(LADDER[:3])
        return failing_separation(data, tried, fit)

    return search(
        statement,
        profile,
        fails_at,
        over(
            data_sets(points=(3, 12)),
            step=LogInterval(
                0.1, 1.9, meaning="step size of gradient clustering, in units of $1/L$"
            ),
            seed=_SEED,
        ),
        at=symbols_of,
        everywhere=reductions.first_labels(fails_at),
        budget=max(profile.searches // 20, 24),
        where=lambda point: Clustered.of(point).gap > 0.0,
    )

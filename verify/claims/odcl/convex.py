r"""Convex clustering in ODCL: the interval (13), Lemma 1 and the objective (12).

Problem. Which penalties recover the clusters of a data set, and does separation guarantee one?

Guarantee. `bounds.odcl.convex`: the interval (13) recovers.  Definition 1 with alpha_cc makes it
non-empty.

Algorithm. The path of convex clustering gives the exact window of penalties that recover
(`trials.clustering.recovery`), with proved limits.  `convex_clustering` solves single problems and
proves its partition.

Computation. Searches over data sets of up to 12 points, singletons and uneven sizes included.  A
refutation uses the limit of each window that favours the statement.

Reference. Armacki et al. 2024, Section 4.2 and Appendix B.2.1.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import sympy as sp
from scipy.spatial.distance import pdist

from bounds.odcl import convex as stated
from bounds.odcl.footnotes import FOOTNOTE_3_AS_PRINTED
from bounds.odcl.symbols import diameter_k, size_k
from bounds.statement import Statement, evaluate
from trials.checks import FloatArray
from trials.clustering.convex import convex_clustering
from verify.claim import Finding, claim
from verify.claims.common import Point
from verify.claims.odcl import path_reductions as reductions
from verify.claims.odcl import vector_proofs
from verify.claims.odcl.data_sets import Clustered, data_sets, simplex, two_valued
from verify.claims.odcl.pages import tree
from verify.claims.odcl.sides import CLUSTERS
from verify.claims.odcl.windows import (
    budget,
    cluster_ends,
    diameters,
    on_data_sets,
    over,
    pair_ends,
    same_clustering,
    window,
)
from verify.claims.searching import search
from verify.decisions.domain import Choice, Interval, IntRange, LogInterval
from verify.decisions.measures import SHARE
from verify.evidence import EvidenceTable
from verify.procedures.base import Presentation, Profile
from verify.procedures.search import Search

#: Penalties as close as this to the open end of an interval are tried.
_INSIDE = 1e-6
#: Relative rounding of an objective, a sum of at most a hundred terms.
_ROUNDING = 1e-13


# --- The interval (13) ---------------------------------------------------------------------------


def _find_fusion(data: Clustered, expr: sp.Expr) -> tuple[int, float, float]:
    """The cluster that comes closest to its end, its fusion penalty and its end."""
    found, ends = [b.low for b in window(data).clusters], cluster_ends(expr, data)
    k = int(np.argmax([one / end if end else 0.0 for one, end in zip(found, ends, strict=True)]))
    return k, float(found[k]), float(ends[k])


@claim("odcl.eq13-lower", stated.EQ_13_LOWER)
def eq_13_lower(statement: Statement, profile: Profile) -> Search:
    """Every cluster's own fusion penalty against its diameter over its size."""

    def quantities(point: Point) -> dict[str, float]:
        data = Clustered.of(point)
        return reductions.longest_flow(data, _find_fusion(data, statement.expr)[0])

    return on_data_sets(
        statement,
        profile,
        lambda data: _find_fusion(data, statement.expr)[1],
        bound=lambda data: _find_fusion(data, statement.expr)[2],
        everywhere=reductions.one_cluster(diameter_k, size_k, quantities),
    )


@claim("odcl.eq13-upper", stated.EQ_13_UPPER)
def eq_13_upper(statement: Statement, profile: Profile) -> Search:
    """The first meeting of two clusters against the smallest end over the pairs."""
    return on_data_sets(
        statement,
        profile,
        lambda data: window(data).merged.high,
        bound=lambda data: float(pair_ends(statement.expr, data).min()),
        everywhere=reductions.UPPER_END,
    )


@claim("odcl.eq13", stated.EQ_13)
def eq_13(statement: Statement, profile: Profile) -> Search:
    """Data sets shrunk until (13) is not empty, solved at a penalty inside and proved."""
    lower, upper = (statement.term(name).expr for name in ("lower end", "upper end"))

    def ends(data: Clustered, t: float) -> tuple[float, float]:
        at = {sp.Symbol("t"): t}
        low = cluster_ends(lower.subs(at), data).max()
        return float(low), float(pair_ends(upper.subs(at), data).min())

    def shrunk(point: Point) -> Clustered:
        data = Clustered.of(point)
        low, high = ends(data, 0.0)[0], ends(data, 1.0)[1]
        return data.shrunk(min(1.0, point["tightness"] * high / low) if low > 0.0 else 1.0)

    def penalty(point: Point) -> float:
        return sum(ends(shrunk(point), point["t"]))

    def recovers_at(point: Point) -> float:
        data, tried = shrunk(point), penalty(point)
        found = window(data)
        solved = convex_clustering(data.points, tried)
        if solved.certified and not same_clustering(solved.labels, data.labels):
            outside = max(found.fused.low / tried, tried / found.merged.high) - 1.0
            return tried * (1.0 + max(outside, _INSIDE))
        return min(max(tried, found.fused.low), found.merged.high)

    return search(
        statement,
        profile,
        recovers_at,
        over(
            data_sets(),
            t=Interval(
                0.0, 1.0 - _INSIDE, meaning="place of the penalty between the ends of (13), 0 and 1"
            ),
            tightness=LogInterval(
                1e-3,
                1.0,
                meaning="limit on the lower over the upper end of (13), met by shrinking the "
                "clusters",
            ),
        ),
        bound=penalty,
        budget=budget(profile),
        where=lambda point: Clustered.of(point).gap > 0.0,
        everywhere=reductions.between_the_ends(
            shrunk, lambda data: int(np.argmax(cluster_ends(stated.EQ_13_LOWER.expr, data)))
        ),
        present=lambda _result: clusterpath_page(),
    )


@claim("odcl.eq13-sharp", stated.EQ_13_SHARP)
def eq_13_sharp(statement: Statement, profile: Profile) -> Search:
    """The first meeting of two clusters against the smallest distance over all points."""
    return on_data_sets(
        statement,
        profile,
        lambda data: window(data).merged.high,
        clusters=(2, 6),
        everywhere=reductions.SHARP_END,
    )


# --- Lemma 1 -------------------------------------------------------------------------------------


def needed_separation(data: Clustered, *, generous: bool = True) -> float:
    r"""The separation :math:`\alpha^*` of a shape, zero where the clusters are points.

    ``generous`` : the limit of the window that makes it small, else the one that makes it large.
    """
    found = window(data)
    fused = found.fused.low if generous else found.fused.high
    merged = found.merged.high if generous else found.merged.low
    if fused <= 0.0 or data.gap <= 0.0:
        return 0.0
    return data.gap / data.radius * fused / merged


LOOSE = Finding(
    id="odcl-alpha-cc",
    where="Lemma 1, (13), footnote 3 and the sample requirement 1) of Section 4.2",
    printed="$\\alpha_{cc}=4(m-|C_{(K)}|)/|C_{(K)}|$.",
    found="True but not sharp for more than two clusters: clusters stay apart up to "
    "$\\min\\norm{\\mu_k-\\mu_l}/m$, not only up to the upper end of (13).",
    corrected="$\\alpha_{cc}=2m/|C_{(K)}|$, attained on a regular simplex. The sample requirement "
    "of ODCL-CC falls by the factor $4(1-|C_{(K)}|/m)^2$.",
    severity="slip",
)


@claim("odcl.lemma1", stated.LEMMA_1, finding=LOOSE)
def lemma_1(statement: Statement, profile: Profile) -> Search:
    """The separation that each shape needs against alpha_cc."""
    page = separation_page
    return on_data_sets(
        statement,
        profile,
        needed_separation,
        everywhere=reductions.LEMMA_1,
        present=lambda _result: page(),
    )


@claim("odcl.lemma1-sharp", stated.LEMMA_1_SHARP, finding=LOOSE)
def lemma_1_sharp(statement: Statement, profile: Profile) -> Search:
    """The separation that each shape needs against the sharpened value."""
    return on_data_sets(statement, profile, needed_separation, everywhere=reductions.LEMMA_1_SHARP)


@claim("odcl.lemma1-attained", stated.LEMMA_1_ATTAINED, finding=LOOSE)
def lemma_1_attained(statement: Statement, profile: Profile) -> Search:
    """Regular simplices with one cluster of two values."""

    def data(point: Point) -> Clustered:
        smallest = 2 * point["half"]
        return simplex((smallest, *[smallest + point["extra"]] * (point["k"] - 1)), wide=1)

    return search(
        statement,
        profile,
        lambda point: needed_separation(data(point), generous=False),
        {
            "k": IntRange(2, 6, meaning=CLUSTERS),
            "half": IntRange(1, 5, meaning="half the number of points of the smallest cluster"),
            "extra": IntRange(
                0, 8, meaning="points by which every other cluster exceeds the smallest"
            ),
        },
        at=lambda point: data(point).symbols,
        # the window's limits are 1e-8 apart
        measure=replace(SHARE, tolerance=1e-6),
        everywhere=reductions.attained(data),
        budget=budget(profile) // 2,
    )


# --- The objective (12) --------------------------------------------------------------------------


def objective(points: FloatArray, penalty: float, u: FloatArray) -> float:
    """The objective (12) at a candidate ``u`` (m, d)."""
    return float(0.5 * ((points - u) ** 2).sum() + penalty * pdist(u).sum())


@claim("odcl.unique", stated.UNIQUE)
def unique(statement: Statement, profile: Profile) -> Search:
    """Random candidates, and candidates that are moved as a whole, where the bound is attained."""

    def drawn(point: Point) -> tuple[FloatArray, FloatArray, FloatArray]:
        rng = np.random.default_rng(point["seed"])
        shape = (point["m"], point["d"])
        points, u = rng.standard_normal(shape), rng.standard_normal(shape)
        step = rng.standard_normal((1, point["d"])) if point["shift"] else rng.normal(size=shape)
        return points, u, u + point["scale"] * step

    def above_the_chord(point: Point) -> float:
        (points, u, v), t, penalty = drawn(point), point["t"], point["penalty"]
        between = objective(points, penalty, (1 - t) * u + t * v)
        chord = (1 - t) * objective(points, penalty, u) + t * objective(points, penalty, v)
        return float(between - chord - _ROUNDING * chord)

    def squared_distance(point: Point) -> float:
        _, u, v = drawn(point)
        return float(((u - v) ** 2).sum())

    return search(
        statement,
        profile,
        above_the_chord,
        {
            "m": IntRange(2, 12, meaning="number of points"),
            "d": IntRange(1, 6),
            "t": Interval(0.01, 0.99),
            "scale": LogInterval(
                1e-2, 1e2, meaning="factor of the normal draw that separates the two candidates"
            ),
            "penalty": LogInterval(1e-3, 1e3, meaning="penalty $\\lambda$ of the objective (12)"),
            "shift": Choice(
                (False, True),
                meaning="whether the second candidate is the first one moved as a whole",
            ),
            "seed": IntRange(0, 10_000),
        },
        at=lambda point: {"t": point["t"], "distance_sq": squared_distance(point)},
        everywhere=vector_proofs.convexity(drawn),
        budget=profile.searches // 2,
    )


# --- The pages -----------------------------------------------------------------------------------


def separation_page() -> Presentation:
    """The separation that hard families need, beside both stated values."""
    families = {
        "two pairs": simplex((2, 2), 2),
        "three pairs": simplex((2, 2, 2), 3),
        "six pairs": simplex((2,) * 6, 6),
        "a pair and a large cluster": simplex((2, 20), 1),
        "a pair and five large clusters": simplex((2, *[10] * 5), 1),
        "four points and four points": simplex((4, 4), 2),
        "a single point and a pair": two_valued(
            np.array([[0.0], [1.0]]), (2, 1), np.array([2.0**-6]), 1
        ),
        "a chain of three pairs": two_valued(
            np.arange(3.0)[:, None], (2, 2, 2), np.array([2.0**-6]), 3
        ),
    }
    rows = [
        (
            name,
            needed_separation(data),
            float(evaluate(stated.LEMMA_1.expr, data.symbols)),
            float(evaluate(stated.LEMMA_1_SHARP.expr, data.symbols)),
        )
        for name, data in families.items()
    ]
    return Presentation(
        tables=(
            EvidenceTable(
                title="Separation that hard families need",
                columns=("family", "needed $\\alpha^*$", "Lemma 1", "$2m/|C_{(K)}|$"),
                rows=rows,
            ),
        ),
        sharpness=(
            "Lemma 1 asks for up to "
            f"{max(stated_ / needed for _, needed, stated_, _ in rows if needed):.3g} times the "
            "separation that these families need.",
        ),
    )


def clusterpath_page() -> Presentation:
    """The path of twelve points on a line in three clusters, with the printed intervals."""
    offsets = np.array([-0.3, -0.1, 0.1, 0.3])
    points = np.concatenate([centre + offsets for centre in (0.0, 4.0, 9.0)])[:, None]
    data = Clustered(points, np.repeat(np.arange(3), 4))
    found = window(data)
    values = data.symbols
    marks = {
        "footnote 3, lower": float(evaluate(FOOTNOTE_3_AS_PRINTED.expr, values)),
        "(13), lower": float((diameters(data) / data.sizes).max()),
        "(13), upper": float(pair_ends(stated.EQ_13_UPPER.expr, data).min()),
        "sharp upper": float(evaluate(stated.EQ_13_SHARP.expr, values)),
    }
    return Presentation(
        figures=(
            tree(
                data,
                marks,
                "The path of twelve points in three clusters",
                "Points on a line; a curve is one point's value along the path.",
            ),
        ),
        tables=(
            EvidenceTable(
                title="Ends of the recovery interval on this data set",
                columns=("end", "penalty"),
                rows=[
                    ("exact, from", found.fused.high),
                    ("exact, below", found.merged.low),
                    *marks.items(),
                ],
            ),
        ),
    )

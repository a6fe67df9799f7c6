r"""Why the statements on convex clustering hold for every data set: reductions to a few numbers.

Two facts about the path carry all of them.  Each is `trials.clustering.convex.certificate`'s, with
flows :math:`f_{ij}=-f_{ji}`, :math:`|f_{ij}|\le\lambda`.

* *Fusion.*  N points are one at :math:`\lambda` exactly when flows with
  :math:`\sum_jf_{ij}=a_i-\bar a` exist.
* *Balance.*  Fused clusters act as their means b_k with their masses n_k.  So if some of them are
  one, :math:`\sum_ln_lf_{kl}=b_k-\bar b`.  Multiplied by n_k b_k and summed,
  :math:`\sum_{k<l}n_kn_l|b_k-b_l|^2\le\lambda N\sum_{k<l}n_kn_l|b_k-b_l|`.

The quantities of a reduction are computed from the data at the points of a search, and compared
there with what it takes as given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import sympy as sp
from scipy.spatial.distance import cdist, pdist

from bounds.odcl.symbols import (
    diameter_k,
    distance_kl,
    gap,
    m,
    radius,
    size_k,
    size_l,
    size_min,
    t,
)
from trials.checks import FloatArray, IntArray
from trials.clustering.recovery import fusion
from verify.claims.common import Point
from verify.claims.odcl.data_sets import Clustered
from verify.claims.odcl.windows import diameters, offsets, window
from verify.decisions.domain import Interval, Range
from verify.proofs.propositions import NOT_NEGATIVE, POSITIVE, Reduction

penalty, masses, squares, lengths = sp.symbols("lam masses squares lengths")
fused, merged, flow, others, rest = sp.symbols("fused merged flow others rest")
share = sp.Symbol("share")


def positive(*names: sp.Symbol) -> dict[str, Range]:
    """Ranges of quantities above zero."""
    return {str(name): POSITIVE for name in names}


def not_negative(*names: sp.Symbol) -> dict[str, Range]:
    """Ranges of quantities that are at least zero."""
    return {str(name): NOT_NEGATIVE for name in names}


# --- Fusion --------------------------------------------------------------------------------------


def one_cluster(
    width: sp.Symbol, size: sp.Symbol, quantities: Callable[[Point], Mapping[str, float]]
) -> Reduction:
    """Points are one where the flows to all others, over their number, are below the penalty."""
    return Reduction(
        idea="The flows $f_{ij}=(a_i-a_j)/N$ of $N$ points sum to $a_i-\\bar a$, so the points "
        "are one from the longest of them on. It is the largest distance of two points over $N$.",
        lemmas=("fusion",),
        ranges={**positive(size), **not_negative(width, flow)},
        given=((width, size * flow),),
        left=flow,
        quantities=quantities,
    )


def longest_flow(data: Clustered, cluster: int) -> dict[str, float]:
    """The longest flow of a cluster, with its diameter and size."""
    own = data.points[data.labels == cluster]
    width = float(pdist(own).max()) if len(own) > 1 else 0.0
    return {"flow": width / len(own), "diameter_k": width, "size_k": float(len(own))}


ALL_IN_ONE = one_cluster(
    sp.Symbol("diameter"),
    m,
    lambda point: {"flow": float(pdist(point["points"]).max() / len(point["points"]))},
)


def _fused(point: Point) -> dict[str, float]:
    """The cluster that fuses last: its penalty, diameter and size."""
    data = Clustered.of(point)
    found = window(data)
    k = int(np.argmax([b.low for b in found.clusters]))
    own = {"fused": found.fused.low, "diameter_k": float(diameters(data)[k])}
    return {**own, "size_k": float(data.sizes[k]), "merged": found.merged.high}


#: Of a cluster that fuses last: (13), and Lemma 1's step (14).
_LAST_FUSION = (
    (diameter_k, size_k * fused),
    (2 * radius, diameter_k),
    (size_k, size_min),
)
FOOTNOTE_3 = Reduction(
    idea="A cluster is one from its diameter over its size on. Its diameter is at most twice the "
    "largest radius, and its size at least that of the smallest cluster.",
    lemmas=("odcl.eq13-lower", "triangle"),
    ranges={**positive(size_k, size_min), **not_negative(radius, diameter_k, fused)},
    given=_LAST_FUSION,
    left=fused,
    quantities=_fused,
)

# --- Balance -------------------------------------------------------------------------------------


def first_meeting(means: FloatArray, sizes: FloatArray | IntArray) -> dict[str, float]:
    """The sums of the balance over the set of clusters in which they ask for the least penalty.

    The clusters that are one first are some set, so that their penalty is at least this one.
    """
    k = len(sizes)
    sets = (np.arange(1, 2**k)[:, None] >> np.arange(k)) & 1
    sets = sets[sets.sum(axis=1) > 1] * np.asarray(sizes, dtype=np.float64)
    distances = cdist(means, means)
    first = np.einsum("sk,kl,sl->s", sets, distances, sets) / 2
    second = np.einsum("sk,kl,sl->s", sets, distances**2, sets) / 2
    total = sets.sum(axis=1)
    i = int(np.argmin(second / (total * first)))
    return {"squares": float(second[i]), "lengths": float(first[i]), "masses": float(total[i])}


def _meeting(point: Point) -> dict[str, float]:
    data = Clustered.of(point)
    return {"lam": window(data).merged.high, **first_meeting(data.centres, data.sizes)}


def _apart(point: Point) -> bool:
    return Clustered.of(point).gap > 0.0


_BALANCE = (
    (squares, gap * lengths),
    (penalty * masses * lengths, squares),
    (m, masses),
)
_OF_BALANCE = {**positive(m, penalty, masses, lengths), **not_negative(gap, squares)}
_MEET = (
    "Let clusters with $N\\le m$ points in all be one at $\\lambda$. The balance of their flows "
    "gives $\\sum n_kn_l|b_k-b_l|^2\\le\\lambda N\\sum n_kn_l|b_k-b_l|$. Every distance is at "
    "least the smallest one, so that $\\lambda N$ is at least the smallest distance."
)
_LEMMAS = ("fusion", "balance")
SHARP_END = Reduction(
    idea=_MEET,
    lemmas=_LEMMAS,
    ranges=_OF_BALANCE,
    given=_BALANCE,
    left=penalty,
    quantities=_meeting,
    of=_apart,
)
FOOTNOTE_3_UPPER = Reduction(
    idea=_MEET + " With two clusters or more, $2(m-|C_{(K)}|)\\ge m$.",
    lemmas=_LEMMAS,
    ranges={**_OF_BALANCE, **positive(size_min)},
    given=(*_BALANCE, (m, 2 * size_min)),
    left=penalty,
    quantities=_meeting,
    of=_apart,
)
closest = sp.Symbol("closest")


def _first_pair(point: Point) -> dict[str, float]:
    points = Clustered.of(point).points
    found = window(Clustered(points, np.arange(len(points)))).merged.high
    return {"lam": found, **first_meeting(points, np.ones(len(points)))}


SINGLETONS = Reduction(
    idea=_MEET + " Here every point is a cluster.",
    lemmas=_LEMMAS,
    ranges={**positive(m, penalty, masses, lengths), **not_negative(closest, squares)},
    given=((squares, closest * lengths), *_BALANCE[1:]),
    left=penalty,
    quantities=_first_pair,
)
weight = sp.Symbol("weight")


def _weighted(point: Point) -> dict[str, float]:
    own = _meeting(point)
    return {**own, "lam": own["lam"] / point["weight"]}


WEIGHTED = Reduction(
    idea="With the weight $w$ between the clusters the flows between their means are at most "
    "$w\\lambda$. " + _MEET.replace("\\lambda N", "w\\lambda N"),
    lemmas=_LEMMAS,
    ranges={**_OF_BALANCE, **positive(weight)},
    given=(_BALANCE[0], (weight * penalty * masses * lengths, squares), _BALANCE[2]),
    left=weight * penalty,
    quantities=_weighted,
    of=_apart,
)
room, size_p = sp.symbols("room size_p")


def closest_end(data: Clustered, end: Callable[[int, int, float], float]) -> dict[str, float]:
    """The pair of clusters with the smallest of some ends, in the statements' symbols."""
    k, other, distance = min(data.pairs(), key=lambda pair: end(*pair))
    sizes = {"size_k": float(data.sizes[k]), "size_l": float(data.sizes[other])}
    return {"distance_kl": distance, **sizes}


def smallest_end(data: Clustered) -> dict[str, float]:
    """The pair of clusters with the smallest upper end of (13), and the rest of the points."""
    sizes = data.sizes
    found = closest_end(data, lambda k, i, far: far / (2 * data.m - sizes[k] - sizes[i]))
    return {**found, "rest": data.m - found["size_k"] - found["size_l"]}


def _printed_end(point: Point) -> dict[str, float]:
    data = Clustered.of(point)
    near = closest_end(data, lambda _k, _l, far: far)
    left = 2.0 * data.m - near["size_k"] - near["size_l"]
    return {**_meeting(point), **smallest_end(data), "room": left}


_END = distance_kl / (2 * m - size_k - size_l)
UPPER_END = Reduction(
    idea=_MEET + " The two closest clusters have $2m-|C_k|-|C_l|\\ge m$, so that their end of "
    "(13) is no larger, and the smallest end is no larger than theirs.",
    lemmas=_LEMMAS,
    ranges={**_OF_BALANCE, **positive(size_k, size_l, room), **not_negative(distance_kl, rest)},
    constants={"m": size_k + size_l + rest},
    given=(*_BALANCE, (room, m), (gap * (size_k + size_l + 2 * rest), distance_kl * room)),
    left=penalty,
    quantities=_printed_end,
    hints=((">=", penalty * room, gap),),
    of=_apart,
)

# --- Lemma 1 and (13) ----------------------------------------------------------------------------


def _spread_and_apart(point: Point) -> bool:
    data = Clustered.of(point)
    return data.gap > 0.0 and window(data).fused.low > 0.0


_LEMMA_1 = (
    "The clusters are one from $2\\max\\|\\mu_k-a_i\\|/|C_{(K)}|$ on and do not meet below "
    "$\\min\\|\\mu_k-\\mu_l\\|/m$. $\\alpha^*$ is the ratio of the two ends, where neither is "
    "zero."
)
_ENDS = ("odcl.footnote3", "odcl.eq13-sharp")
_OF_LEMMA_1 = {
    **positive(m, size_min, size_k, radius, merged, gap),
    **not_negative(fused, diameter_k),
}
_SEPARATION = gap / radius * fused / merged
LEMMA_1_SHARP = Reduction(
    idea=_LEMMA_1,
    lemmas=_ENDS,
    ranges=_OF_LEMMA_1,
    given=(*_LAST_FUSION, (merged, gap / m)),
    left=_SEPARATION,
    quantities=_fused,
    of=_spread_and_apart,
)
LEMMA_1 = Reduction(
    idea=_LEMMA_1 + " With two clusters or more, $4(m-|C_{(K)}|)\\ge2m$.",
    lemmas=LEMMA_1_SHARP.lemmas,
    ranges=_OF_LEMMA_1,
    given=(*LEMMA_1_SHARP.given, (m, 2 * size_min)),
    left=_SEPARATION,
    quantities=_fused,
    of=_spread_and_apart,
)


def attained(data: Callable[[Point], Clustered]) -> Reduction:
    """Lemma 1's value on regular simplices: a cut of the flows, and flows that reach it."""

    def quantities(point: Point) -> dict[str, float]:
        found = window(data(point))
        return {"fused": found.fused.high, "merged": found.merged.low}

    return Reduction(
        idea="Half of the smallest cluster, $s/2$ points at $+r$, gets $sr/2$ from the "
        "other half through $(s/2)^2$ flows, so $\\lambda_{fused}(s/2)^2\\ge sr/2$. The flows "
        "$(\\mu_k-\\mu_l)/m$ between the corners make all means one, so "
        "$\\lambda_{merged}\\le\\min\\|\\mu_k-\\mu_l\\|/m$.",
        lemmas=("fusion",),
        ranges=positive(m, size_min, radius, gap, fused, merged),
        given=((fused * (size_min / 2) ** 2, radius * size_min / 2), (gap / m, merged)),
        left=_SEPARATION,
        quantities=quantities,
    )


def between_the_ends(
    shrunk: Callable[[Point], Clustered], cluster: Callable[[Clustered], int]
) -> Reduction:
    """A penalty between the ends of (13) is between those of the window.

    ``cluster`` : data -> the cluster with the largest lower end of (13).
    """

    def quantities(point: Point) -> dict[str, float]:
        data = shrunk(point)
        found = window(data)
        ends = {"fused": found.fused.low, "merged": found.merged.high}
        sizes = smallest_end(data) | {"m": float(data.m)}
        own = longest_flow(data, cluster(data))
        width = {"diameter_k": own["diameter_k"], "size_p": own["size_k"]}
        return {**ends, **sizes, **width}

    lower, upper = diameter_k / size_p, _END
    between = (1 - t) * lower + t * upper
    return Reduction(
        idea="From the lower end on every cluster is one, and below the upper end no two are. So "
        "the penalty lies in the window, which is what the left-hand side says.",
        lemmas=("odcl.eq13-lower", "odcl.eq13-upper"),
        ranges={
            **positive(m, size_k, size_l, size_p),
            **not_negative(distance_kl, diameter_k, fused, merged),
            "t": Interval(0.0, 1.0),
        },
        given=((lower, fused), (merged, upper), (upper, lower), (m, size_k + size_l)),
        left=sp.Min(sp.Max(between, fused), merged),
        right=between,
        quantities=quantities,
        hints=((">=", between, fused), (">=", merged, between)),
    )


# --- The path ------------------------------------------------------------------------------------

offset_k = sp.Symbol("offset_k")


def _last_fusion(point: Point) -> dict[str, float]:
    data = Clustered.of(point)
    away = offsets(data)
    k = int(np.argmax(away / (data.m - data.sizes)))
    sizes = {"size_k": float(data.sizes[k]), "others": float(data.m - data.sizes[k])}
    return {"lam": fusion(data.centres[data.labels]).high, "offset_k": float(away[k]), **sizes}


COARSENING = Reduction(
    idea="Where all points are one, the $n_k$ points of a cluster get $n_k(\\mu_k-\\bar\\mu)$ "
    "from the others. That goes through $n_k(m-n_k)$ flows of at most $\\lambda$.",
    lemmas=("fusion", "triangle"),
    ranges={**positive(size_k, others), **not_negative(penalty, offset_k)},
    constants={"m": size_k + others},
    given=((penalty * size_k * others, size_k * offset_k),),
    left=penalty,
    quantities=_last_fusion,
)

# --- The objective (12), footnote 7 --------------------------------------------------------------


pull, lam = sp.symbols("pull lam")
FOOTNOTE_7_DISTANCE = Reduction(
    idea="At the minimiser $a_i-u_i^\\star$ is $\\lambda$ times a sum of $m-1$ vectors $z_{ij}$, "
    "whose lengths are at most one. The longest sum has parallel vectors of one length.",
    lemmas=("stationarity", "triangle"),
    ranges={**not_negative(lam), "m": Interval(1.0, float("inf")), "pull": Interval(0.0, 1.0)},
    left=lam * (m - 1) * pull,
    quantities=lambda _point: {"pull": 1.0},
)

r"""Why the statements on K-means and on means of fits hold for every data set.

Spectral K-means needs one argument.  Let P project onto the top K right singular vectors, C hold
the means, and :math:`s^2=\min\{K\|A-C\|^2,\|A-C\|_F^2\}`, so that :math:`\Delta_k=s/\sqrt{n_k}`.

* The projection moves the mean of a cluster by at most
  :math:`\|A-AP\|/\sqrt{n_k}\le\|A-C\|/\sqrt{n_k}\le\Delta_k`.
* The projected points cost at most :math:`\|(A-C)P\|_F^2\le s^2` with their own means, so that
  centers of ten times the least cost have at most :math:`10s^2`.
* The distances of projected means from the centers of their points, over all points, are a vector
  of length at most :math:`s+\sqrt{10}s\le es`, :math:`e=25/6` (the triangle inequality).  So some
  center lies within :math:`e\Delta_k` of the mean.  These centers are different ones where the
  means are further apart, :math:`c>1+e`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import sympy as sp

from bounds.odcl.symbols import (
    G_F,
    Delta,
    L,
    M_bar,
    N,
    R,
    c,
    cost_before,
    gap,
    m,
    n,
    radius,
    size_k,
    size_l,
    size_min,
)
from trials.checks import FloatArray, IntArray
from trials.clustering.kmeans import Approximation, KMeansFit, spectral_part_one
from trials.models.matching import overlaps
from verify.claims.common import Point
from verify.claims.odcl.data_sets import Clustered
from verify.claims.odcl.path_reductions import not_negative, positive
from verify.decisions.domain import Interval, LogInterval
from verify.proofs.propositions import Reduction

distance, length = sp.symbols("distance length")
#: 1 + sqrt(10), rounded up: a mean is so many Delta_k from its center, for ten times the cost.
REACH = sp.Rational(25, 6)

# --- Separation ----------------------------------------------------------------------------------


ONE_AXIS = Reduction(
    idea="All deviations are $\\pm r$ along one axis, so that $A-C$ has rank one. Its two norms "
    "are $r\\sqrt m$, and both clusters have the smallest size.",
    ranges=positive(m, c, size_min, radius),
    left=c * sp.sqrt(m) * radius * (2 / sp.sqrt(size_min)),
)


def towards_the_other(quantities: Callable[[Point], Mapping[str, float]]) -> Reduction:
    """``quantities`` : point -> the radius, the gap, the distance of the means and a deviation."""
    return Reduction(
        idea="The deviation along the line of the means is the largest radius. The two means are "
        "the only ones, so that their distance is the smallest.",
        ranges=positive(radius, gap, distance, length),
        given=((length, radius), (gap, distance)),
        left=2 * length * gap / (radius * distance),
        quantities=quantities,
    )


# --- Spectral K-means ----------------------------------------------------------------------------

near, moved, needed, x_ = sp.symbols("near moved needed x")
_CORES = (
    "Let one be the largest radius, $x^2=m/|C_{(K)}|$ and $f$ the factor of Part I. The projection "
    "moves a mean by at most $x$, and the projected points cost at most $m$ with their own means. "
    "If no center lay within $\\rho$ of a projected mean, its cluster alone would cost "
    "$|C_k|(\\rho-1)^2$, so that some center is within $1+\\sqrt fx$. Where the means are "
    "$2x+4(1+\\rho)$ apart, every point is three times nearer to the center of its own cluster "
    "than to any other. Part II then finds the true means, and Part III stops there."
)


def cores(root_of_factor: sp.Expr, failed: Callable[[Point], float]) -> Reduction:
    """The separation at which all points are core points of the center of their cluster.

    Parameters
    ----------
    root_of_factor : of the approximation factor of Part I.
    failed : point -> the largest separation at which the algorithm failed.
    """

    def quantities(point: Point) -> dict[str, float]:
        sizes = Clustered.of(point).symbols
        x = math.sqrt(sizes["m"] / sizes["size_min"])
        unit = {"x": x, "moved": x, "near": 1.0 + float(root_of_factor) * x}
        return {**unit, "needed": failed(point)}

    return Reduction(
        idea=_CORES,
        lemmas=("projection", "triangle"),
        ranges={**positive(size_min, x_), **not_negative(near, moved, needed)},
        constants={"m": x_**2 * size_min},
        given=(
            (x_**2, sp.Integer(2)),
            (x_, moved),
            (1 + root_of_factor * x_, near),
            (2 * moved + 4 * (1 + near), needed),
        ),
        left=needed,
        quantities=quantities,
    )


wrong, far, size, half = sp.symbols("wrong far size half")
#: Lemma 10 is proved from here on.
LEAST_C = 9.0
_CENTERS = (
    "Put $s=\\sqrt{|C_k|}\\Delta_k$. The cost is at most $10s^2$, so that each projected mean has "
    "a center within $(1+\\sqrt{10})\\Delta_k<\\frac{25}6\\Delta_k$. "
)
_ELSEWHERE = _CENTERS + (
    "Projected means stay $(c-1)(\\Delta_k+\\Delta_l)$ apart. So the center of a wrong point is at "
    "least {} from the point's projected mean, and all such distances together have length "
    "$\\frac{{25}}6s$ at most."
).replace("\\frac{{25}}", "\\frac{25}")
_HALF_WAY = _CENTERS + (
    "Projected means stay $(c-1)(\\Delta_k+\\Delta_l)$ apart. A wrong point is nearer to a foreign "
    "center than to its own, so that it lies at least {} from its projected mean. All these "
    "distances together have length $s$ at most."
)
_UNIT = sp.Integer(1)


def share_of_wrong(
    idea: str,
    away: sp.Symbol,
    least: sp.Expr,
    *,
    low: float,
    left: sp.Expr,
    quantities: Callable[[Point], Mapping[str, float]],
    of: Callable[[Point], bool] | None = None,
    lemmas: tuple[str, ...] = ("projection", "triangle"),
    hints: tuple[Any, ...] = (),
) -> Reduction:
    """A share of wrong points, each at least ``least`` times Delta_k away, for c >= ``low``.

    ``away`` is `far`, a distance from a center, or `half`, one from the own mean.
    """
    total = REACH**2 if away == far else _UNIT
    return Reduction(
        idea=idea,
        lemmas=lemmas,
        ranges={**positive(size, away), **not_negative(wrong), "c": LogInterval(low, math.inf)},
        given=((total * size, wrong * away**2), (away, least)),
        left=left,
        quantities=quantities,
        of=of,
        hints=((">=", total * size, wrong * least**2), *hints),
    )


def run_part_one(data: Clustered, seed: int) -> tuple[Approximation, FloatArray]:
    """Part I on the projected points: its fit and the basis.

    The sides of a claim and the quantities of its proof ask for the same run, one after the other.
    """
    points = np.asarray(data.points, dtype=np.float64)
    return _kept_run(points.tobytes(), points.shape, data.k, seed)


@lru_cache(maxsize=2)
def _kept_run(
    points: bytes, shape: tuple[int, ...], k: int, seed: int
) -> tuple[Approximation, FloatArray]:
    own = np.frombuffer(points).reshape(1, *shape)
    fit, basis = spectral_part_one(own, k, np.random.default_rng(seed))
    for array in (fit.labels, fit.centers, basis):  # the same arrays for every caller
        array.setflags(write=False)
    return fit, basis


def part_one_at(point: Point, data: Clustered) -> dict[str, Any]:
    """Part I's centers beside the projected points, and the found cluster of each true one."""
    fit, basis = run_part_one(data, point["seed"])
    found = fit.labels[0]
    table = overlaps(found, data.labels, data.k)
    counts = np.zeros((data.k, data.k), dtype=np.int64)
    np.add.at(counts, (data.labels, found), 1)
    deviations = data.deviations
    spectral = float(np.linalg.norm(deviations, 2))
    return {
        "table": table,
        "own": counts.argmax(axis=1),
        "found": found,
        "coords": data.points @ basis[0],
        "means": data.centres @ basis[0],
        "centers": fit.centers[0],
        "spread": min(data.k * spectral**2, float((deviations**2).sum())),
    }


def _counted(data: Clustered, run: Mapping[str, Any], k: int, gone: IntArray) -> dict[str, float]:
    """A count of wrong points with the size of a cluster, and their distance in its Delta_k.

    ``gone`` : (N,) numbers of the wrong points.
    """
    unit = math.sqrt(run["spread"] / data.sizes[k])
    apart = np.linalg.norm(run["coords"][gone] - run["means"][data.labels[gone]], axis=1)
    nearest = float(apart.min()) / unit if len(gone) else _ANY
    return {"wrong": float(len(gone)), "size": float(data.sizes[k]), "half": nearest, "unit": unit}


#: The distance of the nearest wrong point where there is none.
_ANY = 1e9


def own_points(
    of: Callable[[Point], Clustered],
) -> Callable[[Point], dict[str, float]]:
    """Points of a cluster that Part I puts elsewhere, of the cluster with the largest share."""

    def quantities(point: Point) -> dict[str, float]:
        data = of(point)
        run = part_one_at(point, data)
        lost = 1 - np.diag(run["table"]) / run["table"].sum(axis=1)
        k = int(np.argmax(lost))
        gone = np.flatnonzero((data.labels == k) & (run["found"] != run["own"][k]))
        others = np.delete(run["centers"], run["own"][k], axis=0)
        away = float(np.linalg.norm(others - run["means"][k], axis=1).min())
        found = _counted(data, run, k, gone)
        return {**found, "far": away / found["unit"]}

    return quantities


def foreign_points(
    of: Callable[[Point], Clustered],
) -> Callable[[Point], dict[str, float]]:
    """Foreign points of a found cluster, of the one with the largest share."""

    def quantities(point: Point) -> dict[str, float]:
        data = of(point)
        run = part_one_at(point, data)
        table = run["table"]
        k = int(np.argmax((table.sum(axis=0) - np.diag(table)) / table.sum(axis=1)))
        come = np.flatnonzero((data.labels != k) & (run["found"] == run["own"][k]))
        center = run["centers"][run["own"][k]]
        away = float(np.linalg.norm(np.delete(run["means"], k, axis=0) - center, axis=1).min())
        found = _counted(data, run, k, come)
        return {**found, "far": away / found["unit"]}

    return quantities


def part_one_shares(of: Callable[[Point], Clustered]) -> dict[str, Reduction]:
    """The reductions of Lemma 10, printed and sharpened, for the data sets of a search."""
    own, foreign = own_points(of), foreign_points(of)
    is_spread = lambda point: of(point).radius > 0.0  # noqa: E731
    lost, come = c - 1, c - 1 - REACH
    sharp = 1 + 3 * REACH
    return {
        "odcl.lemma10-own": share_of_wrong(
            _ELSEWHERE.replace("{}", "$(c-1)\\Delta_k$"), far, lost,
            low=LEAST_C, left=1 - wrong / size, quantities=own, of=is_spread,
        ),
        "odcl.lemma10-foreign": share_of_wrong(
            _ELSEWHERE.replace("{}", "$(c-\\frac{31}6)\\Delta_k$, with the found cluster's $k$,"),
            far, come, low=LEAST_C, left=wrong / size, quantities=foreign, of=is_spread,
            hints=((">=", 128 * come**2, REACH**2 * c**2),),
        ),
        "odcl.lemma10-own-sharp": share_of_wrong(
            _HALF_WAY.replace("{}", "$\\frac12(c-\\frac{27}2)\\Delta_k$"), half, (c - sharp) / 2,
            low=float(sharp), left=1 - wrong / size, quantities=own, of=is_spread,
        ),
        "odcl.lemma10-foreign-sharp": share_of_wrong(
            _HALF_WAY.replace("{}", "$\\frac12(c-\\frac{31}6)\\Delta_k$, with the found cluster's "
                              "$k$,"),
            half, come / 2, low=float(sharp), left=wrong / size, quantities=foreign, of=is_spread,
        ),
    }  # fmt: skip


def worst_on_a_line(
    worst: Callable[[Point], tuple[float, float]], least: sp.Expr, away: sp.Symbol, low: float
) -> Reduction:
    """Lemma 10 for every 10-approximation of two clusters on a line, which is its own projection.

    ``worst`` : point -> the largest number of wrong points and the size of the smaller cluster.
    """

    def quantities(point: Point) -> dict[str, float]:
        lost, smaller = worst(point)
        apart = float(least.subs(c, point["c"]))
        return {"wrong": lost, "size": smaller, str(away): apart}

    idea = (_ELSEWHERE if away == far else _HALF_WAY).replace(
        "{}", f"${sp.latex(least)}$ times $\\Delta_k$"
    )
    return share_of_wrong(
        idea.replace("(c-1)(", "c(").replace("projected mean", "mean").replace("Projected m", "M"),
        away, least, low=low, left=wrong / size, quantities=quantities, lemmas=("triangle",),
        hints=((">=", 128 * least**2, REACH**2 * c**2),) if away == far else (),
    )  # fmt: skip


root = sp.Symbol("root")


def outlier(quantities: Callable[[Point], Mapping[str, float]]) -> Reduction:
    """One point half-way between a cluster of n points and one of n^3, by the root of n."""
    size_, x = root**2, (1 - 1 / root) / 2
    square = x**2 * (1 - 1 / size_)
    separation = size_ * (1 - x / size_) ** 2 / (square * (1 + 1 / size_) ** 2)
    share = separation / (4 * size_)
    cost = (size_ - 1) / size_ + (1 - x) ** 2
    factor = 10 * square / cost
    one, other = sp.symbols("one other")
    return Reduction(
        idea="Let $n-1$ points lie at zero, one at $x=(1-n^{-1/2})/2$, and $n^3$ at one. With "
        "centers at $2x-1$ and one the point at $x$ is half-way between them. Definition 3 holds "
        "up to $c=(1-x/n)/(S^{1/2}(n^{-1/2}+n^{-3/2}))$ with $S=x^2(1-1/n)$, the least cost. The "
        "centers cost $(n-1)/n+(1-x)^2$.",
        ranges={"root": LogInterval(5.0, math.inf)},
        constants={"n": root**2},
        left=sp.Min(share, factor),
        quantities=quantities,
        hints=(
            (">", root, 1),
            (">", cost, 0),
            (">=", share, 1),
            (">=", factor, 1),
            ("name", share, one),
            ("name", factor, other),
            ("cases", one - other),
        ),
    )


# --- Lloyd's iteration and gradient clustering ---------------------------------------------------

gain, drop, own_distance, other_distance = sp.symbols("gain drop own_distance other_distance")


def descent(steps: Callable[[Point], tuple[FloatArray, KMeansFit]]) -> Reduction:
    """One iteration of Lloyd: what the means gain, then what the new labels gain.

    ``steps`` : point -> the data (m, d) and the run before the iteration.
    """

    def quantities(point: Point) -> dict[str, float]:
        data, fit = steps(point)
        labels, centers = fit.labels[0], fit.centers[0].copy()
        moved_ = 0.0
        for k in np.unique(labels):
            mean = data[labels == k].mean(axis=0)
            moved_ += float((labels == k).sum() * ((mean - centers[k]) ** 2).sum())
            centers[k] = mean
        squares = ((data[:, None, :] - centers[None]) ** 2).sum(axis=2)
        kept = squares[np.arange(len(data)), labels]
        return {"gain": moved_, "drop": float((kept - squares.min(axis=1)).sum())}

    return Reduction(
        idea="With the labels kept, the mean of the $n_k$ points of a center $x_k$ lowers the cost "
        "by $n_k|x_k-\\mu_k|^2$. The new label of a point is a nearest center, so that it lowers "
        "the cost as well. There are finitely many partitions, and none comes twice.",
        ranges=not_negative(cost_before, gain, drop),
        left=cost_before - gain - drop,
        quantities=quantities,
    )


def first_labels(failed: Callable[[Point], float]) -> Reduction:
    """``failed`` : point -> the largest separation at which a label was wrong."""

    def quantities(point: Point) -> dict[str, float]:
        at = failed(point)
        return {"needed": at, "radius": 1.0, "own_distance": 2.0, "other_distance": max(at - 2, 0)}

    return Reduction(
        idea="A center starts at a point of its cluster and moves towards the mean, so that it "
        "stays within the largest radius $r$ of it, and within $2r$ of all points of the cluster. "
        "A wrong label needs a point that is as near to a foreign center, which lies within $r$ "
        "of a mean that is at least $\\alpha r$ from the point's own.",
        lemmas=("triangle",),
        ranges={**positive(radius), **not_negative(needed, own_distance, other_distance)},
        given=(
            (2 * radius, own_distance),
            (own_distance, other_distance),
            (2 * radius + other_distance, needed * radius),
        ),
        left=needed,
        quantities=quantities,
    )


# --- Fits and their means ------------------------------------------------------------------------


spread, q = sp.symbols("spread q")


def definition_3(at: Callable[[Point], Mapping[str, float]]) -> Reduction:
    """``at`` : point -> the spread of the fits about their means, and two cluster sizes."""
    roots = 1 / sp.sqrt(size_k) + 1 / sp.sqrt(size_l)
    return Reduction(
        idea="The squares about the means add up to at most those about the optima, "
        "$m\\overline M\\log n/n$ in all. No cluster is smaller than the smallest.",
        ranges={**positive(m, size_min, size_k, size_l, c, Delta, M_bar), **not_negative(spread)},
        given=((size_k, size_min), (size_l, size_min), (m * M_bar, spread)),
        left=4 * (c * roots / Delta) ** 2 * spread,
        quantities=at,
    )


def union_of_events(at: Callable[[Point], Mapping[str, float]]) -> Reduction:
    """``at`` : point -> ``q``, the probability with which a fit misses its event."""
    return Reduction(
        idea="The event contains the intersection of those of the $m$ fits. Each of these fails "
        "with probability $2/n^3$ at most, by (9).",
        lemmas=("union-bound", "odcl.psi-event"),
        ranges={**positive(m, n), **not_negative(q)},
        given=((2 / n**3, q),),
        left=m * q,
        quantities=at,
    )


def smooth_gradients(at: Callable[[Point], Mapping[str, float]]) -> Reduction:
    """``at`` : point -> the distance of a parameter from the optimum."""
    return Reduction(
        idea="The gradient of a sample is that at the optimum, of length at most $N_k$, and a "
        "change of at most $L$ times the distance, which is at most $2R$. The gradient of the "
        "population is at most $G_{F_k}$.",
        lemmas=("triangle",),
        ranges=not_negative(L, R, N, G_F, distance),
        given=((2 * R, distance),),
        left=L * distance + N + G_F,
        quantities=at,
    )


mean_square, squared_bias = sp.symbols("mean_square squared_bias")
MEAN_OF_FITS = Reduction(
    idea="Of the $m^2$ products of errors $m$ have the mean $E\\|\\theta_1-\\theta^\\star\\|^2$. "
    "The $m(m-1)$ others are of independent errors, with the mean "
    "$\\|E\\theta_1-\\theta^\\star\\|^2$.",
    ranges={**positive(m), **not_negative(mean_square, squared_bias)},
    left=(m * mean_square + m * (m - 1) * squared_bias) / m**2,
)
ridge, curvature, shrunk = sp.symbols("ridge curvature shrunk")


def pulled_optimum(at: Callable[[Point], float]) -> Reduction:
    """``at`` : point -> 1 - s, by which the penalty shrinks the optimum."""
    return Reduction(
        idea="At the minimiser $s$ the slope of the logistic part is that of the penalty, "
        "$Cs|\\theta^\\star|^2$, with the other sign. It vanishes at one, and its derivative is at "
        "least the curvature at one on the way from $s$.",
        lemmas=("mean-value",),
        ranges={
            **positive(ridge, length, curvature),
            "shrunk": Interval(0.0, 1.0),
        },
        given=((ridge * (1 - shrunk) * length**2, curvature * shrunk),),
        left=shrunk,
        quantities=lambda point: {"shrunk": at(point)},
    )

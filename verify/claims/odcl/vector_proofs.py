r"""Statements on K-means and on means of fits that are proved for all vectors and all sizes.

Each is a statement about vectors of any dimension and families of any number of members
(`verify.proofs.arrays`).  The checker verifies the steps from products of vectors and sums over
families to the claim, so that no lemma is argued outside.  Most rest on two facts:

* the longest of N vectors bounds their sum: with S the sum, :math:`(x,S)\le r|S|` for every member,
  and summed :math:`|S|^2\le Nr|S|`,
* squares about a mean: :math:`\sum|Nx-S|^2=N(N\sum|x|^2-|S|^2)`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import sympy as sp
from scipy.spatial.distance import pdist

from bounds.odcl.symbols import (
    Delta,
    M,
    c,
    eps_k,
    gap,
    radius,
    size_k,
    size_l,
    size_min,
    size_second,
    t,
)
from bounds.odcl.symbols import n as n_
from trials.checks import FloatArray
from verify.claims.common import Point
from verify.claims.odcl.data_sets import Clustered
from verify.claims.odcl.path_reductions import not_negative, positive, smallest_end
from verify.claims.odcl.windows import offsets
from verify.decisions.domain import Interval
from verify.proofs.arrays import Arrays, Members, dot, length, square, total
from verify.proofs.propositions import Everywhere

_Values = Callable[[Point], Mapping[str, Any]]
x, own, weight, ratio, largest = sp.symbols("x own weight ratio largest")
n_members, summed = total("F", 1), total("F", x)


def _longest(limit: sp.Expr) -> tuple[Any, ...]:
    """Hints for |S| <= N r, where |x| <= r in the family F."""
    along = limit * length(summed) - dot(x, summed)
    room = ("*", limit**2 - square(x), square(summed))
    crossed = square(x) * square(summed) - dot(x, summed) ** 2
    member = (
        ("gram", summed),
        ("gram", x, summed),
        ("square", limit * length(summed), dot(x, summed)),
        ("sum", 1, ("+", room, crossed)),
    )
    left_over = n_members * limit * length(summed) - square(summed)
    known = ("+", ("^", n_members * limit - length(summed), 2), ("*", 2, left_over))
    return (
        ("gram", summed),
        ("each", "F", along, *member),
        (">=", (n_members * limit) ** 2, square(summed), ("sum", 1, known)),
    )


# --- Fits and their means ------------------------------------------------------------------------


def spread(errors: Callable[[Point], FloatArray]) -> Everywhere:
    """``errors`` : point -> (n, d), whose squares about their mean are summed."""
    return Everywhere(
        {},
        given=((n_members, sp.Integer(1)),),
        constants={"total_sq": total("F", square(x))},
        left=total("F", square(x - summed / n_members)),
        hints=(("gram", summed), ("each", "F", square(x), ("gram", x))),
        arrays=Arrays(
            values=lambda point: {"F": {"x": errors(point)}},
            families={"F": Members(vectors=("x",))},
        ),
    )


def from_the_mean(errors: _Values, *, sharp: bool) -> Everywhere:
    """``errors`` : point -> the error ``own`` (d,) and the others of its cluster, (n, d)."""
    size = n_members + 1
    left = length(own - (own + summed) / size)
    right = 2 * largest * (n_members / size if sharp else 1)
    parts = [
        ("*", 2, n_members**2, largest**2 - square(own)),
        square(n_members * own + summed),
        ("*", 2, (n_members * largest) ** 2 - square(summed)),
        *([] if sharp else [("*", 4, largest**2, 2 * n_members + 1)]),
    ]
    return Everywhere(
        not_negative(largest),
        given=((largest**2, square(own)),),
        constants={"size_k": size},
        left=left,
        hints=(
            ("each", "F", sp.Integer(1)),
            *_longest(largest),
            ("gram", n_members * own + summed),
            ("gram", own - (own + summed) / size),
            ("square", right, left),
            ("sum", size**2, ("+", *parts)),
        ),
        arrays=Arrays(
            values=errors,
            vectors=("own",),
            families={"F": Members(vectors=("x",), given=((largest**2, square(x)),))},
        ),
    )


def opposite(values: _Values) -> Everywhere:
    """``values`` : point -> the errors ``y`` of the others, which are minus the own one."""
    y = sp.Symbol("y")
    size = n_members + 1
    distance = largest - (largest + total("F", y)) / size
    return Everywhere(
        not_negative(largest),
        constants={"size_k": size},
        left=sp.Max(distance, -distance),
        hints=(
            ("each", "F", sp.Integer(1)),
            ("each", "F", -largest - y),
            (">=", distance, 2 * largest * n_members / size),
            ("cases", distance),
        ),
        arrays=Arrays(
            values=values,
            families={"F": Members(numbers=("y",), given=((y, -largest), (-largest, y)))},
        ),
    )


def mean_of_near(fits: _Values) -> Everywhere:
    """``fits`` : point -> the errors of a cluster, as long as the event allows."""
    limit = M / ratio
    return Everywhere(
        positive(M, sp.Symbol("alpha"), Delta, ratio),
        given=((n_members, sp.Integer(1)),),
        left=length(summed / n_members),
        hints=(
            (">", n_members, 0),
            *_longest(sp.sqrt(limit)),
            (">=", Delta**2, 16 * limit),
            ("square", Delta / 4, length(summed / n_members)),
            ("sum", 16 * n_members**2, ("+", ("*", 16, n_members**2 * limit - square(summed)),
                                        ("*", n_members**2, Delta**2 - 16 * limit))),
        ),
        arrays=Arrays(
            values=fits,
            families={"F": Members(vectors=("x",), given=((limit, square(x)),))},
        ),
    )  # fmt: skip


# --- Foreign users -------------------------------------------------------------------------------

_SHARES = Members(numbers=("weight",), vectors=("x",), given=((weight, 0),))
weighted = total("F", weight * x)


def foreign_variance(values: _Values) -> Everywhere:
    """``values`` : point -> the shares and the differences of the optima of other clusters."""
    variance, size = sp.symbols("variance size_k")
    apart = n_members * weight * x - weighted
    squares = total("F", weight**2 * square(x))
    return Everywhere(
        {**positive(n_, size), **not_negative(variance)},
        given=((n_members, sp.Integer(1)),),
        constants={"k": n_members + 1, "floor_sq": squares},
        left=variance / (n_ * size) + square(weighted),
        hints=(
            (">", n_members, 0),
            ("each", "F", square(apart), ("gram", apart)),
            ("each", "F", weight**2 * square(x), ("gram", x)),
            (">=", n_members * squares, square(weighted),
             ("sum", n_members, n_members**2 * squares - n_members * square(weighted))),
        ),
        arrays=Arrays(values=values, families={"F": _SHARES}),
    )  # fmt: skip


def floor(values: _Values) -> Everywhere:
    """``values`` : point -> shares of ``eps_k``, which sum to one, and differences of optima."""
    squares, sum_of_shares = total("F", weight * square(x)), total("F", weight)
    spread_ = squares - 2 * square(weighted) + sum_of_shares * square(weighted)
    return Everywhere(
        not_negative(eps_k),
        given=((sum_of_shares, sp.Integer(1)), (sp.Integer(1), sum_of_shares)),
        constants={"reach_sq": eps_k * squares},
        left=square(eps_k * weighted),
        hints=(
            ("gram", weighted),
            ("each", "F", weight * square(x - weighted), ("gram", x - weighted)),
            ("sum", 1, ("*", eps_k**2, ("+", spread_,
                                        ("*", square(weighted), 1 - sum_of_shares)))),
        ),
        arrays=Arrays(values=values, families={"F": _SHARES}),
    )  # fmt: skip


def floor_in_one_place(values: _Values) -> Everywhere:
    """``values`` : point -> the shares of the other clusters, and their one difference ``u``."""
    u, shares = sp.Symbol("u"), total("F", weight)
    return Everywhere(
        {},
        constants={"eps_k": shares, "reach_sq": total("F", weight * square(u))},
        left=square(total("F", weight * u)),
        arrays=Arrays(
            values=values,
            vectors=("u",),
            families={"F": Members(numbers=("weight",), given=((weight, 0),))},
        ),
    )


# --- Separation ----------------------------------------------------------------------------------

spectral = sp.Symbol("spectral")
axis, deviation, direction = sp.symbols("axis deviation top")
_ROOTS = 1 / sp.sqrt(size_min) + 1 / sp.sqrt(size_second)
_DEVIATIONS = Members(vectors=("x",), given=((radius**2, square(x)),))
_REACH = sp.sqrt(n_members) * radius


def _deviations(point: Point) -> dict[str, Any]:
    data = Clustered.of(point)
    largest_ = math.sqrt(data.k) * float(np.linalg.norm(data.deviations, 2))
    return {"spectral": largest_, "F": {"x": data.deviations}}


_FROBENIUS = sp.sqrt(total("F", square(x)))
#: The smaller one of K |A-C|^2 and |A-C|_F^2, whatever the first one is.
CENTER_SEPARATION = Everywhere(
    {**positive(c, size_min, size_second), **not_negative(radius, spectral)},
    given=((size_second, size_min), (n_members, sp.Integer(1))),
    constants={"m": n_members},
    left=c * sp.Min(spectral, _FROBENIUS) * _ROOTS,
    hints=(
        (">", n_members, 0),
        ("each", "F", square(x), ("gram", x)),
        ("each", "F", radius**2 - square(x)),
        (">=", _REACH, _FROBENIUS, ("square", _REACH, _FROBENIUS)),
        (">=", _REACH, sp.Min(spectral, _FROBENIUS), ("cases", spectral - _FROBENIUS)),
        ("name", sp.Min(spectral, _FROBENIUS), "smaller"),
    ),
    arrays=Arrays(values=_deviations, families={"F": _DEVIATIONS}),
)


def towards(data: Clustered, k: int, other: int) -> tuple[FloatArray, FloatArray]:
    """The deviation of two clusters' points that looks furthest to the other mean, and its axis."""
    line = data.centres[other] - data.centres[k]
    line = line / max(float(np.linalg.norm(line)), 1e-300)
    found = []
    for cluster, way in ((k, line), (other, -line)):
        each = data.deviations[data.labels == cluster]
        i = int(np.argmax(each @ way))
        found.append((float(each[i] @ way), each[i], way))
    _, best, way = max(found, key=lambda one: one[0])
    return best, way


_ALONG = (
    ("gram", deviation, axis),
    ("gram", deviation),
    (">=", radius, dot(deviation, axis),
     ("square", radius, dot(deviation, axis)),
     ("sum", 1, ("+", radius**2 - square(deviation),
                 ("*", square(deviation), 1 - square(axis)),
                 square(deviation) * square(axis) - dot(deviation, axis) ** 2))),
)  # fmt: skip
_TO_THE_OTHER = ((radius**2, square(deviation)), (sp.Integer(1), square(axis)))


def proximity(at_pair: Callable[[Clustered, float], tuple[int, int]]) -> Everywhere:
    """(17) with the norm of A - C as that of its image of its top direction.

    ``at_pair`` : data, c -> the pair of clusters with the largest left-hand side.
    """

    def values(point: Point) -> dict[str, Any]:
        data = Clustered.of(point)
        k, other = at_pair(data, point["c"])
        best, way = towards(data, k, other)
        sizes = {"size_k": float(data.sizes[k]), "size_l": float(data.sizes[other])}
        top = np.linalg.svd(data.deviations, full_matrices=False)[2][0]
        arrays = {"deviation": best, "axis": way, "top": top, "F": {"x": data.deviations}}
        return {**sizes, **arrays}

    image = sp.sqrt(total("F", dot(x, direction) ** 2))
    member = (
        ("gram", x, direction),
        ("gram", x),
        ("sum", 1, ("+", radius**2 - square(x), ("*", square(x), 1 - square(direction)),
                    square(x) * square(direction) - dot(x, direction) ** 2)),
    )  # fmt: skip
    return Everywhere(
        {**positive(c, size_min, size_k, size_l), **not_negative(radius)},
        given=(
            *_TO_THE_OTHER,
            (sp.Integer(1), square(direction)),
            (size_k, size_min),
            (size_l, size_min),
            (n_members, sp.Integer(1)),
        ),
        constants={"m": n_members},
        left=2 * dot(deviation, axis) + c * image * (1 / sp.sqrt(size_k) + 1 / sp.sqrt(size_l)),
        hints=(
            *_ALONG,
            (">", n_members, 0),
            ("each", "F", dot(x, direction) ** 2),
            ("each", "F", radius**2 - dot(x, direction) ** 2, *member),
            (">=", _REACH, image, ("square", _REACH, image)),
            ("name", image, "norm"),
        ),
        arrays=Arrays(
            values=values,
            vectors=("deviation", "axis", "top"),
            families={"F": _DEVIATIONS},
        ),
    )


def nearest_mean(at_pair: Callable[[Clustered], tuple[int, int]]) -> Everywhere:
    """``at_pair`` : data -> the pair of clusters with the largest deviation over their distance."""
    distance = sp.Symbol("distance")

    def values(point: Point) -> dict[str, Any] | None:
        data = Clustered.of(point)
        if data.radius == 0.0 or data.gap == 0.0:
            return None
        k, other = at_pair(data)
        best, way = towards(data, k, other)
        far = float(np.linalg.norm(data.centres[k] - data.centres[other]))
        sizes = {"distance": far, "radius": data.radius, "gap": data.gap}
        return {**sizes, "deviation": best, "axis": way}

    return Everywhere(
        {**positive(radius, distance), **not_negative(gap)},
        given=(*_TO_THE_OTHER, (distance, gap)),
        left=2 * dot(deviation, axis) * gap / (radius * distance),
        hints=_ALONG,
        arrays=Arrays(values=values, vectors=("deviation", "axis")),
    )


# --- Convex clustering ---------------------------------------------------------------------------


def triangle(a: sp.Expr, b: sp.Expr) -> tuple[Any, ...]:
    """Hints for |a - b| <= |a| + |b|."""
    both = length(a) + length(b)
    crossed = length(a) * length(b)
    return (
        ("gram", a),
        ("gram", b),
        ("gram", a - b),
        ("gram", a, b),
        (">=", crossed, -dot(a, b), ("square", crossed, -dot(a, b))),
        (">=", both, length(a - b), ("square", both, length(a - b))),
    )


def coarsening_interval() -> Everywhere:
    """The distance of two means by their distances from the mean of all points."""
    a, b, furthest, rest = sp.symbols("a b furthest rest")

    def values(point: Point) -> dict[str, Any]:
        data = Clustered.of(point)
        found, away = smallest_end(data), data.centres - data.points.mean(axis=0)
        k, other, _ = min(
            data.pairs(),
            key=lambda one: one[2] / (2 * data.m - data.sizes[one[0]] - data.sizes[one[1]]),
        )
        most = float((offsets(data) / (data.m - data.sizes)).max())
        return {**found, "furthest": most, "a": away[k], "b": away[other]}

    return Everywhere(
        {**positive(size_k, size_l), **not_negative(rest, furthest)},
        given=((furthest * (size_l + rest), length(a)), (furthest * (size_k + rest), length(b))),
        constants={"m": size_k + size_l + rest, "distance_kl": length(a - b)},
        left=furthest,
        hints=triangle(a, b),
        arrays=Arrays(values=values, vectors=("a", "b")),
    )


def convexity(drawn: Callable[[Point], tuple[FloatArray, FloatArray, FloatArray]]) -> Everywhere:
    """Strong convexity of (12).  Its norms are numbers of the pairs of points.

    ``drawn`` : point -> the data and two candidates, each (m, d).
    """
    penalty, a, u, v, p, q = sp.symbols("penalty a u v p q")
    first, second, between = sp.symbols("first second between")
    middle = (1 - t) * p + t * q
    pairs = [(first, p), (second, q), (between, middle)]

    def values(point: Point) -> dict[str, Any]:
        points, one, other = drawn(point)
        i, j = np.triu_indices(len(points), 1)
        far = (1 - point["t"]) * one + point["t"] * other
        return {
            "penalty": point["penalty"],
            "P": {"a": points, "u": one, "v": other},
            "Q": {
                "p": one[i] - one[j], "q": other[i] - other[j], "first": pdist(one),
                "second": pdist(other), "between": pdist(far),
            },
        }  # fmt: skip

    def objective(at: sp.Expr, norm: sp.Symbol) -> sp.Expr:
        return total("P", square(a - at)) / 2 + penalty * total("Q", norm)

    mixed = (1 - t) * first + t * second
    member = (
        ("gram", p, q),
        (">=", first * second, dot(p, q), ("square", first * second, dot(p, q))),
        ("square", mixed, between),
    )
    chord = (1 - t) * objective(u, first) + t * objective(v, second)
    return Everywhere(
        {**not_negative(penalty), "t": Interval(0.0, 1.0)},
        constants={"distance_sq": total("P", square(u - v))},
        left=objective((1 - t) * u + t * v, between) - chord,
        hints=(("each", "Q", mixed - between, *member),),
        arrays=Arrays(
            values=values,
            families={
                "P": Members(vectors=("a", "u", "v")),
                "Q": Members(
                    numbers=("first", "second", "between"),
                    vectors=("p", "q"),
                    given=tuple(
                        each
                        for norm, of in pairs
                        for each in ((norm, 0), (norm**2, square(of)), (square(of), norm**2))
                    ),
                ),
            },
        ),
    )


def needs_sizes() -> Everywhere:
    """The end of (13) of any pair of clusters: its distance and its sizes are no smaller."""
    distance, rest = sp.symbols("distance_kl rest")
    everything = size_k + size_l + rest
    return Everywhere(
        {
            **positive(size_k, size_l, size_min, size_second),
            **not_negative(rest, gap, distance),
        },
        given=((distance, gap), (size_k + size_l, size_min + size_second)),
        constants={"m": everything},
        left=distance / (2 * everything - size_k - size_l),
        arrays=Arrays(values=lambda point: smallest_end(Clustered.of(point))),
    )

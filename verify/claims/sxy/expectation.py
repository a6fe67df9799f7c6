r"""The expectation of the clients' moment matrix of Su, Xu & Yang, in exact arithmetic.

Problem. A client of cluster j contributes the product of two vectors that it computes from two of
its rows.  What is the expectation of their mean, and what does it span?

Guarantee. `bounds.sxy.moments`: the expectation is sum_j p_j v_j v_j' with the residuals v_j =
Sigma_j (theta_j* - theta), and its span is that of the residuals.

Algorithm. None.

Computation. Features and noise have laws with finitely many values, all rational.  The expectation
is the sum over every pair of rows of a client.  No rounding occurs.  A bound that is no rational
number has 60 digits.  One row a client is tried with Gaussian features, whose moments of order six
and less a quadrature of four nodes gives exactly.

Reference. Appendix A.4, first display; Remark 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import sympy as sp
from scipy.optimize import brentq

from bounds.statement import Statement
from bounds.sxy.moments import (
    GIVEN_LABEL,
    INDEPENDENCE_AS_PRINTED,
    MEAN_OF_Y,
    NORM_OF_A,
    ONE_POINT,
    SPAN,
    SQUARE_OF_B,
)
from bounds.sxy.symbols import p, u_1, u_2
from trials.checks import FloatArray
from verify.claim import Finding, claim, row, table
from verify.claims.common import Point
from verify.claims.searching import Proof, search
from verify.decisions.domain import Choice, Interval, IntRange, LogInterval, Ranges
from verify.decisions.measures import DIFFERENCE, LOG_RATIO
from verify.procedures.base import Profile
from verify.procedures.search import Search
from verify.proofs.propositions import NOT_NEGATIVE, POSITIVE, Everywhere, Reduction, Sizes

Vector = list[Fraction]


@dataclass(frozen=True)
class Mixture:
    """A mixture with finitely many rows: cluster -> (row, response, probability), and residuals."""

    shares: Vector
    rows: list[list[tuple[Vector, Fraction, Fraction]]]
    residuals: list[Vector]


def _weights(rng: np.random.Generator, n: int) -> Vector:
    raw = [int(w) for w in rng.integers(1, 5, n)]
    return [Fraction(w, sum(raw)) for w in raw]


def _vector(rng: np.random.Generator, d: int, unit: Fraction) -> Vector:
    return [unit * int(x) for x in rng.integers(-3, 4, d)]


def mixture(point: Point) -> Mixture:
    """Random atoms and two-valued noise of mean zero. Some models coincide or vanish."""
    rng = np.random.default_rng(point["seed"])
    d, k, unit = point["d"], point["k"], Fraction(10) ** point["unit"]
    shares, theta = _weights(rng, k), _vector(rng, d, unit)
    rows, residuals = [], []
    for j in range(k):
        kind = point["models"]
        star = theta if kind == "at one" and j == 0 else _vector(rng, d, unit)
        if kind == "on a line":
            star = [t + unit * (j + 1) for t in theta]
        error = [a - b for a, b in zip(star, theta, strict=True)]
        atoms = [_vector(rng, d, Fraction(1)) for _ in range(point["atoms"])]
        weights = _weights(rng, len(atoms))
        high, low = Fraction(int(rng.integers(1, 4))), Fraction(int(rng.integers(1, 4)))
        noise = [(unit * high, low / (low + high)), (-unit * low, high / (low + high))]
        drawn = []
        for x, w in zip(atoms, weights, strict=True):
            along = sum((a * b for a, b in zip(x, error, strict=True)), Fraction(0))
            drawn += [(x, along + z, w * q) for z, q in noise]
        rows.append(drawn)
        covariance = [
            [
                sum((w * x[a] * x[b] for x, w in zip(atoms, weights, strict=True)), Fraction(0))
                for b in range(d)
            ]
            for a in range(d)
        ]
        residuals.append(
            [
                sum((c * e for c, e in zip(line, error, strict=True)), Fraction(0))
                for line in covariance
            ]
        )
    return Mixture(shares=shares, rows=rows, residuals=residuals)


def expected_moment(found: Mixture) -> list[Vector]:
    """E Y by the sum over all pairs of rows of a client."""
    d = len(found.residuals[0])
    total = [[Fraction(0)] * d for _ in range(d)]
    for share, rows in zip(found.shares, found.rows, strict=True):
        for x, y, w in rows:
            for other, answer, q in rows:
                weight = share * w * q * y * answer
                for a in range(d):
                    for b in range(d):
                        total[a][b] += weight * x[a] * other[b]
    return total


DOMAIN: Ranges = {
    "d": IntRange(1, 4),
    "k": IntRange(1, 5),
    "atoms": IntRange(1, 4, meaning="number of atoms in the law of the features of a cluster"),
    "models": Choice(
        ("apart", "at one", "on a line"),
        meaning="where the optima lie: drawn apart, the first at $\\theta$, or on a line through "
        "$\\theta$",
    ),
    "unit": Choice(
        (0, -6, 6), meaning="exponent of ten of the factor that scales the models and the noise"
    ),
    "seed": IntRange(0, 10_000),
}


def _of_atoms(statement: Statement, n_atoms: int) -> Reduction:
    """One entry of one cluster's term, for a law of the features with some atoms."""
    weights, first, second, along = (
        sp.symbols(f"{name}_1:{n_atoms + 1}") for name in ("w", "x", "z", "along")
    )
    share, likely, width = sp.symbols("p_j likely width")
    noise = (((1 - likely) * width, likely), (-likely * width, 1 - likely))
    rows = [
        (first[i], second[i], along[i] + z, weights[i] * q)
        for i in range(n_atoms)
        for z, q in noise
    ]
    left = share * sum(w * v * a * y * b * u for a, _, y, w in rows for _, b, u, v in rows)
    entry = {
        sp.Symbol(name): sum(w * x * t for w, x, t in zip(weights, side, along, strict=True))
        for name, side in (("v_a", first), ("v_b", second))
    }

    def cluster(point: Point) -> Mixture:
        found = mixture(point)
        return Mixture(found.shares[:1], found.rows[:1], found.residuals[:1])

    def computed(point: Point) -> tuple[float, float]:
        own = cluster(point)
        residual = own.residuals[0]
        at = {"p_j": own.shares[0], "v_a": residual[0], "v_b": residual[-1]}
        stated = _real(statement.expr, at)
        return float(expected_moment(own)[0][-1]), math.nan if stated is None else float(stated)

    def quantities(point: Point) -> dict[str, float]:
        own = cluster(point)
        pairs = list(zip(own.rows[0][::2], own.rows[0][1::2], strict=True))
        (_, high, often), (_, low, seldom) = pairs[0]
        chance = often / (often + seldom)
        shown = {"p_j": own.shares[0], "likely": chance, "width": high - low}
        for i, ((x, y, w), (_, below, v)) in enumerate(pairs):
            known = (w + v, x[0], x[-1], chance * y + (1 - chance) * below)
            symbols = (weights[i], first[i], second[i], along[i])
            shown |= {str(name): value for name, value in zip(symbols, known, strict=True)}
        return {name: float(value) for name, value in shown.items()}

    return Reduction(
        idea="The expectation is a sum over the clusters, entry by entry, and a row's response is "
        "the feature times the model's error plus noise of mean zero. The atoms of the features, "
        "their probabilities, the two values of the noise and the products are symbols. The "
        "certificates show that the sum over all pairs of rows is the stated product.",
        ranges={
            **{str(x): Interval(-math.inf, math.inf) for x in (*first, *second, *along, width)},
            **{str(w): Interval(0.0, 1.0) for w in (*weights, share, likely)},
        },
        left=left,
        right=statement.expr.subs(entry),
        quantities=quantities,
        computed=computed,
        # An entry that vanishes would be compared with its own rounding.
        of=lambda point: point["atoms"] == n_atoms and computed(point)[0] != 0,
    )


@claim("sxy.mean-of-y", MEAN_OF_Y)
def mean_of_y(statement: Statement, profile: Profile) -> Search:
    """Every entry of the matrix, relative to the largest.  NaN where an entry is no real number."""

    def largest(point: Point) -> float:
        found = mixture(point)
        observed = expected_moment(found)
        d = len(observed)
        worst, scale = Fraction(0), Fraction(1, 10**30)
        for a in range(d):
            for b in range(d):
                stated = Fraction(0)
                for share, v in zip(found.shares, found.residuals, strict=True):
                    term = _real(statement.expr, {"p_j": share, "v_a": v[a], "v_b": v[b]})
                    if term is None:
                        return math.nan
                    stated += term
                worst = max(worst, abs(observed[a][b] - stated))
                scale = max(scale, abs(observed[a][b]))
        return float(worst / scale)

    return search(
        statement,
        profile,
        largest,
        DOMAIN,
        bound=lambda _point: 0.0,
        measure=replace(
            DIFFERENCE, unit="largest difference of an entry, relative to the largest entry"
        ),
        everywhere=Sizes(
            up_to="atoms <= 4", each=tuple(_of_atoms(statement, atoms) for atoms in range(1, 5))
        ),
        budget=min(profile.searches, 150),
    )


def _real(expr: sp.Expr, values: Mapping[str, Fraction]) -> Fraction | None:
    """An expression of rational numbers, without rounding where it is rational and to 60 digits
    elsewhere, None where it is no real number.
    """
    exact = {sp.Symbol(name): sp.Rational(v.numerator, v.denominator) for name, v in values.items()}
    found = expr.subs(exact)
    if not found.is_rational:
        found = found.evalf(60)
    if not (found.is_real and found.is_finite):
        return None
    found = sp.Rational(found)
    return Fraction(int(found.p), int(found.q))


def rank_of(columns: list[Vector]) -> int:
    """The rank of exact vectors, by elimination."""
    rows = [list(c) for c in columns]
    rank = 0
    for i in range(len(rows[0])):
        pivot = next((r for r in range(rank, len(rows)) if rows[r][i] != 0), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        for r in range(rank + 1, len(rows)):
            factor = rows[r][i] / rows[rank][i]
            rows[r] = [x - factor * y for x, y in zip(rows[r], rows[rank], strict=True)]
        rank += 1
    return rank


@claim("sxy.span", SPAN)
def span(statement: Statement, profile: Profile) -> Search:
    """The rank of the residuals, of the matrix, and of both together."""

    def farthest(point: Point) -> float:
        """The rank of the matrix, alone or with the residuals, that is farthest from theirs."""
        found = mixture(point)
        matrix = expected_moment(found)
        own = rank_of(found.residuals)
        both = [rank_of(matrix), rank_of([*matrix, *found.residuals])]
        return float(max(both, key=lambda r: abs(r - own)))

    return search(
        statement,
        profile,
        farthest,
        DOMAIN,
        at=lambda point: {"r": float(rank_of(mixture(point).residuals))},
        measure=replace(DIFFERENCE, unit="difference of the ranks"),
        budget=min(profile.searches, 200),
    )


#: Nodes and weights of the standard normal law.
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(4)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


def one_point_moment(alpha: float, beta: float, delta: float, sigma: float) -> FloatArray:
    """(2, 2) the mean of r^2 x x' for x of covariance diag(alpha, beta), r = delta x_1 + noise."""
    first, second, noise = np.meshgrid(_NODES, _NODES, _NODES, indexing="ij")
    weights = np.einsum("a,b,c->abc", _WEIGHTS, _WEIGHTS, _WEIGHTS)
    x = np.stack([math.sqrt(alpha) * first, math.sqrt(beta) * second])
    r = delta * x[0] + sigma * noise
    return np.asarray(np.einsum("abc,abc,iabc,jabc->ij", weights, r**2, x, x))


@claim("sxy.one-point", ONE_POINT)
def one_point(statement: Statement, profile: Profile) -> Search:
    """The covariance at which the leading direction changes, by the exact moments."""

    def at(point: Point) -> dict[str, float]:
        alpha, delta = point["alpha"], point["delta"]
        sigma = point["noise"] * delta * math.sqrt(alpha)
        return {"alpha": alpha, "delta": delta, "sigma": sigma}

    def change(point: Point) -> float:
        alpha, delta, sigma = at(point).values()

        def lead(ratio: float) -> float:
            moment = one_point_moment(alpha, ratio * alpha, delta, sigma) / (alpha * delta) ** 2
            return float(moment[0, 0] - moment[1, 1])

        return alpha * float(brentq(lead, 0.5, 4.0, xtol=1e-15, rtol=1e-14))

    return search(
        statement,
        profile,
        change,
        {
            "alpha": LogInterval(1e-6, 1e6),
            "delta": LogInterval(1e-6, 1e6),
            "noise": LogInterval(
                1e-3,
                1e3,
                meaning="noise level $\\sigma$ in units of the residual $\\sqrt\\alpha\\,\\delta$",
            ),
        },
        at=at,
        measure=LOG_RATIO,
        budget=min(profile.searches // 4, 500),
    )


SHARED_LABEL = Finding(
    id="sxy-shared-label",
    where="proof of Lemma 3, its use of Lemma 14",
    headline="The two residuals of a client share its label, so they are not the independent "
    "vectors that Lemma 14 asks for.",
    printed='"two independent sequences of independent random vectors", applied to '
    "$a_i=\\varepsilon_i$ and $b_i=\\tilde\\varepsilon_i$.",
    found="Both depend on $z_i$. In one dimension without noise, with half of the clients at their "
    "optimum, $E\\norm{b}^2a^2$ is twice $E\\norm b^2Ea^2$. A cluster of share $p$ alone away from "
    "its optimum gives the factor $1/p$.",
    corrected="Independent given the labels, with the moment conditions given the labels. Lemma 3 "
    "does not change.",
    severity="proof",
)


def joint_moment(statement: Statement, profile: Profile) -> Search:
    """The mean over two clusters of the product of one cluster's moments."""
    product = SQUARE_OF_B * NORM_OF_A
    mean = p * product + (1 - p) * product.subs(u_1, u_2)

    def at(point: Point) -> dict[str, float]:
        return {**point, "u_1": point["delta"], "u_2": point["other"] * point["delta"]}

    return search(
        statement,
        profile,
        mean,
        {
            "d": IntRange(1, 10_000, log=True),
            "p": LogInterval(1e-6, 1.0),
            "delta": LogInterval(1e-6, 1e6),
            "other": Interval(
                0.0, 1.0, meaning="the other cluster's error over the larger one, $u_2/u_1$"
            ),
            "sigma": LogInterval(1e-6, 1e6),
        },
        at=at,
        everywhere=Everywhere(
            {
                **dict.fromkeys(("u_1", "sigma"), POSITIVE),
                "u_2": NOT_NEGATIVE,
                "d": LogInterval(1.0, math.inf),
                "p": LogInterval(0.0, 1.0),
            },
            given=((u_1, u_2), (1, p)),
            constants={"delta": u_1},
            by="Given the label the two residuals are independent, with moments in closed form "
            "where the rows are Gaussian. The mean over the labels is at most the largest of two.",
        ),
        budget=min(profile.searches, 600),
        proof=Proof(
            argument="Take $d=1$, $\\sigma=0$, $p=1/2$, $u_1=1$ and $u_2=0$: the means of $b^2$ "
            "and "
            "of $a^2$ are 3 in one cluster and 0 in the other.",
            values={"d": 1, "sigma": 0, "p": "1/2", "u_1": 1, "u_2": 0, "delta": 1},
            says="the moment of the two residuals exceeds the product of their moments",
        ),
    )


JOINT_MOMENT = table(
    joint_moment,
    row("sxy.lemma14-independence-as-printed", INDEPENDENCE_AS_PRINTED, refuted=SHARED_LABEL),
    row("sxy.lemma14-given-label", GIVEN_LABEL, finding=SHARED_LABEL),
)

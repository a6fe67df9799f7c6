r"""Theorem 1 of Su, Xu & Yang: anchors reach their clusters' models, and the server groups them.

Problem. Anchors descend from one start anywhere in a ball.  How many rounds do they need, how close
do they come, and how many anchors show every cluster?

Guarantee. `bounds.sxy.anchors`: T rounds of A.3, an accuracy in units of Delta, and log N / p_min
anchors, each with probability 1 - O(N^-9).

Algorithm. Phase 1 with exact moments (`trials.mixed_regression.population`), with errors as large
as (27) and (28) allow.  The sign of the printed algorithm is a coin, whose law is exact in one
dimension: noiseless features +-1 make every moment exact with a single pair of points.

Computation. The probability that an anchor has not arrived is a sum over the paths of a walk on the
numbers of right and wrong steps, in integers.  Missed clusters are counted by inclusion and
exclusion.

Reference. Theorem 1 and appendix A.3.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import sympy as sp

from bounds.statement import Statement, evaluate
from bounds.sxy.anchors import (
    COUPON,
    COUPON_AS_PRINTED,
    GROUPING,
    NORM_24,
    ROUNDS_FORMULA,
    ROUNDS_FORMULA_AS_PRINTED,
    THEOREM_1_4,
    THEOREM_1_4_AS_PRINTED,
)
from bounds.sxy.symbols import T, n_H
from trials.checks import FloatArray
from trials.mixed_regression.anchor_groups import group_anchors
from trials.mixed_regression.population import population_descent
from trials.models.mixture import normalise
from trials.parameters import unchecked
from verify.claim import Finding, claim, row, table
from verify.claims.common import CannotTry, Point, log_of
from verify.claims.searching import proves, search
from verify.claims.sxy.descent import ESTIMATES, RATIO, SIGN, estimates
from verify.decisions.domain import Choice, Interval, IntRange, LogInterval, Ranges
from verify.decisions.measures import (
    DIFFERENCE,
    LOG_DIFFERENCE,
    LOG_PROBABILITY,
    log_or_lowest,
)
from verify.evidence import Verdict
from verify.procedures.base import Profile
from verify.procedures.search import Search
from verify.proofs.certificate import Certificate, Inequality, certificate
from verify.proofs.propositions import NOT_NEGATIVE, POSITIVE, Everywhere, Reduction
from verify.proofs.terms import from_sympy, rational

_descend = unchecked(population_descent)
_group = unchecked(group_anchors)

#: The generous end of the box of the failure constant.
GENEROUS = {"C_f": 1e3}


def rounds_of(statement: Statement, at: Mapping[str, float]) -> int:
    """The stated number of rounds, a whole number and at least zero."""
    return max(0, math.ceil(float(evaluate(statement.definitions[T], at))))


# -- (4) with the printed sign ---------------------------------------------------------------------


def not_arrived(n_rounds: int, start: float, target: float) -> Fraction:
    """P(|u| > target after the rounds), where a step halves |u| or makes it 3/2 as large.

    Both steps have probability 1/2, and an anchor at or below the target rests.
    """
    ratio = Fraction(target) / Fraction(start)
    if ratio >= 1:
        return Fraction(0)
    paths = {0: 1}  # wrong steps so far -> paths that have not arrived
    for done in range(1, n_rounds + 1):
        after: dict[int, int] = {}
        for wrong, count in paths.items():
            for more in (0, 1):
                if Fraction(3 ** (wrong + more), 2**done) > ratio:
                    after[wrong + more] = after.get(wrong + more, 0) + count
        paths = after
    return Fraction(sum(paths.values()), 2**n_rounds)


@claim("sxy.thm1-4-as-printed", THEOREM_1_4_AS_PRINTED, expected=Verdict.REFUTED, finding=SIGN)
def theorem_1_4_as_printed(statement: Statement, profile: Profile) -> Search:
    """One dimension, two clusters at +-Delta/2, features +-1, no noise: all moments are exact."""
    failure = statement.failure
    if failure is None:
        raise CannotTry(f"{statement.id}: a statement without a failure probability")

    def at(point: Point) -> dict[str, float]:
        own = {"R": point["R"], "epsilon": point["epsilon"], "N": float(point["N"])}
        return {"alpha": 1.0, "beta": 1.0, "Delta": 1.0, **own, **GENEROUS}

    def probability(point: Point) -> Fraction:
        """That the farther cluster's anchor, theta* = 1/2 from theta_0 = -R, has not arrived."""
        rounds = rounds_of(statement, at(point))
        return not_arrived(rounds, 0.5 + point["R"], float(evaluate(statement.expr, at(point))))

    def certify(point: Point) -> Certificate:
        return certificate(
            "Take $d=1$, $k=2$, $\\theta_j^*=\\pm1/2$, features $\\pm1$ and no noise. Then "
            "$\\Sigma_j=1$, and every moment is exact. A step halves the error or makes it 3/2 as "
            "large, each with probability 1/2. The start is $\\theta_0=-R$.",
            [
                Inequality(
                    says="an anchor of the cluster at 1/2 is too far away after T rounds with a "
                    "larger probability than stated",
                    left=rational(probability(point)),
                    relation=">",
                    right=from_sympy(failure, at(point)),
                )
            ],
        )

    return search(
        statement,
        profile,
        lambda point: log_or_lowest(probability(point)),
        {
            "epsilon": Choice((0.2, 0.1, 0.05, 0.02)),
            "R": Choice((1.0, 0.5, 2.0, 4.0)),
            "N": IntRange(10, 100_000, log=True),
        },
        at=at,
        constants=GENEROUS,
        measure=LOG_DIFFERENCE,
        bound=lambda point: log_of(failure, at(point)),
        budget=min(profile.searches, 60),
        proof=certify,
    )


# -- exact moments, and the errors that (27) and (28) allow ----------------------------------------

ACCURACY = Finding(
    id="sxy-own-accuracy",
    where="Theorem 1, (4), and Phase 1, Step 12",
    printed="$\\sup_{i\\in H}\\norm{\\theta_{i,T}-\\theta_{z_i}^*}\\le\\epsilon\\Delta$, with the "
    "$\\epsilon$ that Phase 1 is given.",
    found="Phase 1 stops at $\\hat\\sigma\\le\\epsilon\\Delta$, and $\\hat\\sigma$ estimates "
    "$\\norm{\\Sigma(\\theta^*-\\theta)}$. With $\\Sigma=\\alpha I$ and $\\alpha<1$ it stops at a "
    "distance up to $\\epsilon\\Delta/\\alpha$. At $\\alpha=1/4$ an anchor rests at the start, at "
    "twice the distance that (4) allows. A.3 says that it proves (4) with another $\\epsilon$.",
    corrected="$\\le2\\epsilon\\Delta/\\alpha$, as A.3 proves it for "
    "$\\epsilon'=2\\epsilon/\\alpha$. "
    "The grouping then needs $\\epsilon<\\alpha/8$.",
    severity="slip",
)
ROUNDS = Finding(
    id="sxy-rounds",
    where="Appendix A.3, case $t^*=T$",
    headline="The number of rounds is derived from the residual of the start zero, and other "
    "starts have up to twice as much.",
    printed=""
    "$\\norm{\\Sigma_j(\\theta_j^*-\\theta_{t^*})}\\le(1-\\frac{\\alpha^2}{8\\beta^2})^{T/2}"
    "\\norm{\\Sigma_j\\theta_j^*}\\le\\epsilon\\Delta$ with "
    "$T=\\frac{16\\beta^2}{\\alpha^2}\\log\\frac{\\beta R}{\\epsilon\\Delta}$.",
    found="$\\norm{\\Sigma_j\\theta_j^*}$ is the residual of the start $\\theta_0=0$. Another "
    "start "
    "in the ball has up to $2\\beta R$. At $\\beta R=\\epsilon\\Delta$ the formula gives no round, "
    "and the residual is $2\\epsilon\\Delta$.",
    corrected="$T=\\frac{16\\beta^2}{\\alpha^2}\\log\\frac{2\\beta R}{\\epsilon\\Delta}$. (4) with "
    "$\\epsilon'=2\\epsilon/\\alpha$ holds with the printed $T$ too.",
    severity="proof",
)

BALL: Ranges = {
    "ratio": LogInterval(0.2, 1.0, meaning=RATIO),
    "beta": LogInterval(1e-3, 1e3),
    "unit": LogInterval(
        1e-6, 1e6, meaning="value of $\\Delta$, which scales the radius of the ball"
    ),
    "radius": LogInterval(0.2, 10.0, meaning="radius $R$ of the ball in units of $\\Delta$"),
    "epsilon": LogInterval(0.01, 0.5),
    "d": IntRange(1, 4),
    "opposite": Choice(
        (True, False),
        meaning="whether optimum and start are opposite points on the edge of the ball",
    ),
    "seed": IntRange(0, 10_000),
}


def _values(point: Point) -> dict[str, float]:
    """A point in the statement's symbols.  The radius is in units of Delta."""
    return {
        "alpha": point["ratio"] * point["beta"],
        "beta": point["beta"],
        "Delta": point["unit"],
        "R": point["radius"] * point["unit"],
        "epsilon": point["epsilon"],
    }


def _drawn(point: Point) -> tuple[FloatArray, FloatArray, FloatArray]:
    """A random spectrum and geometry: the covariance, the optimum and the start."""
    at = _values(point)
    rng = np.random.default_rng(point["seed"])
    d = point["d"]
    # The directions below are uniform, so the axes of the covariance may be those of the space.
    # With them the products are exact, and a residual at the threshold rests on every machine.
    covariance = np.diag(np.array([at["alpha"], at["beta"]])[rng.integers(0, 2, d)])
    target = at["R"] * normalise(np.asarray(rng.standard_normal(d)))
    start = -target
    if not point["opposite"]:
        start = at["R"] * normalise(np.asarray(rng.standard_normal(d)))
        target *= rng.random()
    return covariance, target, start


def _run(statement: Statement, point: Point, threshold: float) -> tuple[float, float, float]:
    """Final error, final residual and largest estimate, for a random spectrum and geometry."""
    at = _values(point)
    covariance, target, start = _drawn(point)
    lean, stretch = estimates({**dict.fromkeys(ESTIMATES, 0.0), **point}, math, evaluate)
    error, _, largest = _descend(
        covariance=covariance,
        target=target,
        start=start,
        alpha=at["alpha"],
        beta=at["beta"],
        threshold=threshold,
        n_rounds=rounds_of(statement, at),
        lean=lean,
        stretch=stretch,
    )
    return float(np.linalg.norm(error)), float(np.linalg.norm(covariance @ error)), largest


_RATIO, _HIGH, _RADIUS, _GAP, _SHARE = sp.symbols("ratio beta R Delta epsilon")
_MANY, _E, _L, _FIRST = sp.symbols("T E L first")
_LOW = {"alpha": _RATIO * _HIGH}
_BALL: Ranges = {
    **dict.fromkeys(("beta", "R", "Delta", "epsilon"), POSITIVE),
    "ratio": LogInterval(0.0, 1.0),
}
_REAL = Interval(-math.inf, math.inf)


def _rounds_made(statement: Statement, excess: float, point: Point) -> dict[str, float]:
    """The rounds T, the logarithm E of what they leave, and that of what they must gain, L."""
    at = _values(point)
    rounds = rounds_of(statement, at)
    return {
        "T": float(rounds),
        "E": rounds * math.log1p(-(point["ratio"] ** 2) / 8) / 2,
        "L": math.log(excess * at["beta"] * at["R"] / (at["epsilon"] * at["Delta"])),
    }


def _shrink() -> dict[str, Any]:
    """The parts of a reduction that say by how much T rounds shrink a residual.

    T is at least 16/ratio^2 times L, the logarithm of a multiple of beta R over epsilon Delta.
    """
    exponent = _MANY * sp.log(1 - _RATIO**2 / 8) / 2
    return {
        "lemmas": ("sxy.step-algebra", "induction", "operator-norm"),
        "ranges": {**_BALL, "T": NOT_NEGATIVE, "E": _REAL, "L": _REAL},
        "constants": _LOW,
        "given": ((_MANY * _RATIO**2, 16 * _L), (_E, exponent), (exponent, _E)),
        "hints": (
            (">", 1, _RATIO**2 / 8),
            ("log", 1 - _RATIO**2 / 8),
            (
                ">=",
                0,
                _E + _L,
                (
                    "sum",
                    1,
                    (
                        "+",
                        exponent - _E,
                        ("*", _MANY / 2, -(_RATIO**2) / 8 - sp.log(1 - _RATIO**2 / 8)),
                        ("*", sp.Rational(1, 16), _MANY * _RATIO**2 - 16 * _L),
                    ),
                ),
            ),
            ("exp", -_E - _L),
            (">=", 1, sp.exp(_E + _L)),
        ),
    }


_SHRUNK = (
    "Each round shrinks the squared residual by the factor of (21), and the start has a residual "
    "of $2\\beta R$ at most. So after $T$ rounds it is at most "
    "$2\\beta R(1-\\alpha^2/8\\beta^2)^{T/2}$. "
)
ENOUGH_ROUNDS = Reduction(
    idea=f"{_SHRUNK}The certificate proves that the stated number of rounds brings this below "
    "$\\epsilon\\Delta$.",
    left=_SHARE * _GAP * sp.exp(_E + _L),
    **_shrink(),
)
_REST, _ARRIVES = sp.sqrt(sp.Rational(32, 31)), 2 * sp.exp(_E + _L)
_PARTS = _shrink()
ARRIVED = Reduction(
    idea=f"{_SHRUNK}An anchor that rests before has a residual of "
    "$\\sqrt{32/31}\\epsilon\\Delta$ at most, by (28). The certificate proves that both are below "
    "$2\\epsilon\\Delta$, and the error is at most the residual over $\\alpha$.",
    left=sp.Max(_REST, _ARRIVES) * _SHARE * _GAP / (_RATIO * _HIGH),
    **{
        **_PARTS,
        "hints": (*_PARTS["hints"], (">=", 2, _REST), ("cases", _REST - _ARRIVES)),
    },
)


def _with_rounds(reduction: Reduction, excess: float, statement: Statement) -> Reduction:
    """The reduction with the rounds of a statement."""
    return replace(reduction, quantities=partial(_rounds_made, statement, excess))


def _first_residual(point: Point) -> dict[str, float]:
    """The residual of the start, as `_run` draws it."""
    covariance, target, start = _drawn(point)
    return {"first": float(np.linalg.norm(covariance @ (target - start)))}


STAYS_NEAR = Reduction(
    idea="By (21) the residual of no round exceeds that of the start, which is $2\\beta R$ at "
    "most. An error is at most its residual over $\\alpha$. The optimum lies in the ball, so the "
    "estimate is no longer than $R$ and the error together.",
    lemmas=("triangle", "operator-norm", "rayleigh", "sxy.step-algebra", "induction"),
    ranges={**{name: _BALL[name] for name in ("ratio", "beta", "R")}, "first": NOT_NEGATIVE},
    constants=_LOW,
    given=((2 * _HIGH * _RADIUS, _FIRST),),
    quantities=_first_residual,
    left=_RADIUS + _FIRST / (_RATIO * _HIGH),
)


def ball(
    statement: Statement,
    profile: Profile,
    *,
    which: int,
    adversary: bool = True,
    rests: bool = False,
    reduction: Callable[[Statement], Reduction] | None = None,
    proof: Callable[[Statement], Certificate] | None = None,
) -> Search:
    """T rounds from anywhere in the ball: the value ``which`` of `_run`.

    Directions and lengths are exact, or as wrong in each round as (27) and (28) allow.  An anchor
    ``rests`` at the residual at which Phase 1 stops, or never.
    """

    def observed(point: Point) -> float:
        threshold = point["epsilon"] * point["unit"] if rests else -math.inf
        return _run(statement, point, threshold)[which]

    return search(
        statement,
        profile,
        observed,
        {**BALL, **(ESTIMATES if adversary else {})},
        at=_values,
        everywhere=reduction and reduction(statement),
        budget=min(profile.searches, 1000),
        proof=proof and (lambda _point: proof(statement)),
    )


def _no_round(statement: Statement) -> Certificate:
    at = {"alpha": Fraction(1, 10), "beta": Fraction(1, 10), "epsilon": Fraction(1, 5)}
    at |= {"Delta": Fraction(1), "R": Fraction(3, 2)}
    residual = 2 * at["beta"] * at["R"]
    return certificate(
        "Take $d=1$, $\\Sigma_j=\\alpha=\\beta=1/10$, $\\epsilon=1/5$, $\\Delta=1$, "
        "$\\theta_j^*=R=3/2$ and $\\theta_0=-R$. The formula gives a number of rounds below zero.",
        [
            Inequality(
                says="no round is made",
                left=from_sympy(statement.definitions[T], at),
                relation="<",
                right="0",
            ),
            Inequality(
                says="the residual of the start exceeds the stated value",
                left=rational(residual),
                relation=">",
                right=from_sympy(statement.expr, at),
            ),
        ],
    )


_ERROR, _RESIDUAL, _LARGEST = range(3)
IN_THE_BALL = table(
    ball,
    row(
        "sxy.thm1-4",
        THEOREM_1_4,
        which=_ERROR,
        rests=True,
        reduction=partial(_with_rounds, ARRIVED, 1.0),
        finding=(ACCURACY, ROUNDS),
    ),
    row(
        "sxy.thm1-rounds-as-printed",
        ROUNDS_FORMULA_AS_PRINTED,
        which=_RESIDUAL,
        adversary=False,
        proof=_no_round,
        refuted=ROUNDS,
    ),
    row(
        "sxy.thm1-rounds",
        ROUNDS_FORMULA,
        which=_RESIDUAL,
        reduction=partial(_with_rounds, ENOUGH_ROUNDS, 2.0),
        finding=ROUNDS,
    ),
    row("sxy.norm-24", NORM_24, which=_LARGEST, reduction=lambda _statement: STAYS_NEAR),
)


# -- enough anchors --------------------------------------------------------------------------------

ANCHORS = Finding(
    id="sxy-anchors",
    where="Theorem 1, before (5)",
    headline="With the printed number of anchor clients a cluster has none with probability "
    "$N^{-1.4}$ at least, and not $O(N^{-9})$.",
    printed="When $n_H\\ge\\log N/p_{\\min}$, (5) holds with probability at least $1-O(N^{-9})$.",
    found="With $n_H=\\log N/p_{\\min}$ anchors a cluster of probability $p_{\\min}$ has none with "
    "probability $(1-p_{\\min})^{n_H}$, which is at least $N^{-1.4}$ for $p_{\\min}\\le1/2$. "
    "Without an anchor of the cluster (5) fails.",
    corrected="$n_H\\ge(9\\log N+\\log k)/p_{\\min}$: A.3 with $\\delta=N^{-9}$.",
    severity="statement",
)


def missed(n_anchors: int, k: int, p_min: float) -> float:
    """P(some cluster has no anchor): one cluster of probability p_min, the others equal."""
    other = (1.0 - p_min) / (k - 1) if k > 1 else 0.0
    terms = []
    for others in range(k):
        ways = math.comb(k - 1, others)
        sign = 1.0 if others % 2 else -1.0
        rest = max(1.0 - others * other, 0.0)
        if others:
            terms.append(sign * ways * rest**n_anchors)
        terms.append(-sign * ways * max(rest - p_min, 0.0) ** n_anchors)
    return min(max(math.fsum(terms), 0.0), 1.0)


def _anchors(statement: Statement, at: Mapping[str, float]) -> int:
    """The smallest whole number of anchors that the statement's condition allows."""
    (condition,) = (a for a in statement.assumptions if a.left == n_H)
    return max(1, math.ceil(float(evaluate(condition.right, at))))


CLUSTERS: Ranges = {
    "k": IntRange(2, 50, log=True),
    "rarity": LogInterval(
        0.02, 1.0, meaning="share $p_{\\min}$ of the smallest cluster, in units of $1/k$"
    ),
}


def missed_cluster(
    statement: Statement, profile: Profile, *, domain: Ranges, budget: int, **options: Any
) -> Search:
    """The exact law of the clusters that are missed, at the smallest number of anchors."""

    def at(point: Point) -> dict[str, float]:
        own = {name: float(point[name]) for name in domain}
        own |= {"k": float(point["k"]), "p": point["rarity"] / point["k"]}
        return {**own, "n_H": float(_anchors(statement, own))}

    def observed(point: Point) -> float:
        values = at(point)
        return log_or_lowest(missed(int(values["n_H"]), point["k"], values["p"]))

    return search(
        statement,
        profile,
        observed,
        {**CLUSTERS, **domain},
        at=at,
        budget=min(profile.searches, budget),
        **options,
    )


@claim("sxy.coupon-as-printed", COUPON_AS_PRINTED, expected=Verdict.REFUTED, finding=ANCHORS)
def coupon_as_printed(statement: Statement, profile: Profile) -> Search:
    """The number of anchors that the theorem asks for."""

    def certify(point: Point) -> Certificate:
        k, p_min = point["k"], point["rarity"] / point["k"]
        exact = {"k": k, "p": Fraction(p_min), "N": point["N"], "C_f": 1000}
        n_anchors = _anchors(statement, {"k": k, "p": p_min, "N": float(point["N"])})
        return proves(
            statement,
            f"Take {k} clusters, $p_{{\\min}}={p_min:.4g}$ and {n_anchors} anchors.",
            "the smallest cluster alone is missed with a larger probability than stated",
            ["^", rational(1 - exact["p"]), rational(n_anchors)],
            {**exact, "n_H": n_anchors},
        )

    return missed_cluster(
        statement,
        profile,
        domain={"N": IntRange(10, 1_000_000, log=True)},
        budget=300,
        constants=GENEROUS,
        measure=LOG_PROBABILITY,
        proof=certify,
    )


COUPON_OF_A3 = row(
    "sxy.coupon",
    COUPON,
    missed_cluster,
    domain={"delta_f": LogInterval(1e-60, 0.5)},
    everywhere=Everywhere(
        {
            **dict.fromkeys(("n_H", "delta_f"), POSITIVE),
            "k": LogInterval(1.0, math.inf),
            "p": LogInterval(0.0, 1.0),
        },
        left=sp.log(sp.Symbol("k")) - n_H * sp.Symbol("p"),
        by="The union bound over the clusters, $k(1-p)^{n_H}\\le ke^{-pn_H}$.",
    ),
    budget=1000,
    measure=LOG_DIFFERENCE,
    finding=ANCHORS,
)


# -- grouping --------------------------------------------------------------------------------------

_PLACES = ("simplex", "line", "random", "far")


def _centres(place: str, k: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """k models, the closest two one apart."""
    if place == "line" or d == 1:
        centres = np.zeros((k, d))
        centres[:, 0] = np.arange(k)
        return centres
    centres = rng.standard_normal((k, d))
    if place == "simplex" and d >= k:
        centres = np.eye(k, d)
    elif place == "far":
        centres[-1] *= 1e3
    if k == 1:
        return centres
    distances = np.linalg.norm(centres[:, None] - centres[None], axis=2)
    return np.asarray(centres / distances[~np.eye(k, dtype=bool)].min())


def _group_error(point: Point) -> float:
    """The largest error of a centre in units of Delta, or infinity where the clusters are wrong."""
    rng = np.random.default_rng(point["seed"])
    k, d = point["k"], point["d"]
    centres = _centres(point["place"], k, d, rng)
    labels = np.concatenate([np.arange(k), rng.integers(0, k, point["more"])])
    moves = rng.standard_normal((labels.size, d))
    if point["together"] and k > 1:  # towards the nearest other model
        gaps = centres[None] - centres[:, None]
        lengths = np.linalg.norm(gaps, axis=2) + np.where(np.eye(k) > 0, np.inf, 0.0)
        nearest = np.argmin(lengths, axis=1)
        moves = gaps[labels, nearest[labels]]
        moves[rng.random(labels.size) < 0.3] *= -1.0
    moves *= (1.0 - 1e-9) / np.linalg.norm(moves, axis=1, keepdims=True)
    theta = point["unit"] * (centres[labels] + point["epsilon"] * moves)
    found = _group(theta, point["unit"])
    pairs = set(zip(labels.tolist(), found.labels.tolist(), strict=True))
    if len(pairs) != k or len(found.sizes) != k:
        return math.inf
    errors = [np.linalg.norm(found.centres[b] / point["unit"] - centres[a]) for a, b in pairs]
    return float(max(errors))


@claim("sxy.grouping", GROUPING)
def grouping(statement: Statement, profile: Profile) -> Search:
    """Anchors at the limit of their accuracy, moved at random or towards the nearest model."""
    return search(
        statement,
        profile,
        lambda point: min(_group_error(point), 1e9),
        {
            "k": IntRange(1, 16),
            "d": IntRange(1, 20, log=True),
            "more": IntRange(0, 60, meaning="number of anchors beyond one for each cluster"),
            "epsilon": Interval(0.0, 0.3),
            "unit": LogInterval(
                1e-6, 1e6, meaning="value of $\\Delta$, which scales the models and the anchors"
            ),
            "place": Choice(
                _PLACES,
                meaning="placement of the models (always a line for $d=1$, a simplex only for "
                "$d\\ge k$)",
            ),
            "together": Choice(
                (True, False),
                meaning="whether anchors err along the line to the nearest other model, not at "
                "random",
            ),
            "seed": IntRange(0, 10_000),
        },
        at=lambda point: {"epsilon": point["epsilon"], "Delta": 1.0},
        measure=replace(
            DIFFERENCE, unit="error of a centre beyond the stated one, in units of Delta"
        ),
        budget=min(profile.searches, 500),
    )

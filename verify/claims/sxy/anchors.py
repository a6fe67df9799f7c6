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
from fractions import Fraction

import numpy as np

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
from trials.mixed_regression.anchor_groups import group_anchors
from trials.mixed_regression.population import population_descent
from trials.models.mixture import normalised
from trials.parameters import unchecked
from verify.claim import Finding, claim
from verify.claims.common import LOWEST, CannotTry, Point, log_of, relative
from verify.claims.sxy.descent import ESTIMATES, SIGN, estimates
from verify.decisions.domain import Choice, Interval, IntRange, LogInterval, Ranges
from verify.evidence import Verdict
from verify.procedures.base import Profile
from verify.procedures.search import Search
from verify.proofs.certificate import Certificate, Inequality, certificate
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


def _coin(statement: Statement, point: Point) -> tuple[Fraction, dict[str, float]]:
    """The probability of the violation for the farther of two clusters at +-Delta/2."""
    at = {
        "alpha": 1.0,
        "beta": 1.0,
        "Delta": 1.0,
        "R": point["R"],
        "epsilon": point["epsilon"],
        "N": float(point["N"]),
        **GENEROUS,
    }
    start = Fraction(1, 2) + Fraction(point["R"])  # theta* = 1/2 and theta_0 = -R
    target = float(evaluate(statement.expr, at))
    return not_arrived(rounds_of(statement, at), float(start), target), at


@claim("sxy.thm1-4-as-printed", THEOREM_1_4_AS_PRINTED, expected=Verdict.REFUTED, finding=SIGN)
def theorem_1_4_as_printed(statement: Statement, profile: Profile) -> Search:
    """One dimension, two clusters, features +-1, no noise: all moments are exact."""
    failure = statement.failure
    if failure is None:
        raise CannotTry(f"{statement.id}: a statement without a failure probability")

    def violation(point: Point) -> float:
        found, at = _coin(statement, point)
        return (math.log(found) if found else LOWEST) - log_of(failure, at)

    def sides(point: Point) -> tuple[float, float]:
        found, at = _coin(statement, point)
        return float(found), math.exp(log_of(failure, at))

    def certify(point: Point) -> Certificate:
        found, at = _coin(statement, point)
        return certificate(
            "Take $d=1$, $k=2$, $\\theta_j^*=\\pm1/2$, features $\\pm1$ and no noise. Then "
            "$\\Sigma_j=1$, and every moment is exact. A step halves the error or makes it 3/2 as "
            "large, each with probability 1/2. The start is $\\theta_0=-R$.",
            [
                Inequality(
                    says="an anchor of the cluster at 1/2 is too far away after T rounds with a "
                    "larger probability than stated",
                    left=rational(found),
                    relation=">",
                    right=from_sympy(failure, at),
                )
            ],
        )

    return Search(
        name=statement.id,
        violation=violation,
        sides=sides,
        certify=certify,
        domain={
            "epsilon": Choice((0.2, 0.1, 0.05, 0.02)),
            "R": Choice((1.0, 0.5, 2.0, 4.0)),
            "N": IntRange(10, 100_000, log=True),
        },
        budget=min(profile.searches, 60),
        unit="log of the probability over the stated one",
        constants=GENEROUS,
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
    "ratio": LogInterval(0.2, 1.0),
    "beta": LogInterval(1e-3, 1e3),
    "unit": LogInterval(1e-6, 1e6),
    "radius": LogInterval(0.5, 10.0),
    "epsilon": LogInterval(0.01, 0.2499),
    "d": IntRange(1, 4),
    "opposite": Choice((True, False)),
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


def _run(statement: Statement, point: Point, threshold: float) -> tuple[float, float, float]:
    """Final error, final residual and largest estimate, for a random spectrum and geometry."""
    at = _values(point)
    rng = np.random.default_rng(point["seed"])
    d = point["d"]
    # The directions below are uniform, so the axes of the covariance may be those of the space.
    # With them the products are exact, and a residual at the threshold rests on every machine.
    covariance = np.diag(np.array([at["alpha"], at["beta"]])[rng.integers(0, 2, d)])
    target = at["R"] * normalised(np.asarray(rng.standard_normal(d)))
    start = -target
    if not point["opposite"]:
        start = at["R"] * normalised(np.asarray(rng.standard_normal(d)))
        target *= rng.random()
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


def _ball_search(
    statement: Statement,
    profile: Profile,
    observed: Callable[[Point], float],
    *,
    adversary: bool,
    certify: Callable[[Point], Certificate] | None = None,
) -> Search:
    def stated(point: Point) -> float:
        return float(evaluate(statement.expr, _values(point)))

    return Search(
        name=statement.id,
        violation=lambda point: observed(point) / stated(point) - 1.0,
        sides=lambda point: (observed(point), stated(point)),
        certify=certify,
        domain={**BALL, **(ESTIMATES if adversary else {})},
        budget=min(profile.searches, 1000),
        unit="excess over the stated value, relative",
    )


def _threshold(point: Point) -> float:
    """The residual at which Phase 1 lets an anchor rest."""
    at = _values(point)
    return at["epsilon"] * at["Delta"]


@claim("sxy.thm1-4", THEOREM_1_4, finding=(ACCURACY, ROUNDS))
def theorem_1_4(statement: Statement, profile: Profile) -> Search:
    """Directions and lengths that are as wrong in each round as (27) and (28) allow."""
    return _ball_search(
        statement,
        profile,
        lambda point: _run(statement, point, _threshold(point))[0],
        adversary=True,
    )


@claim(
    "sxy.thm1-rounds-as-printed",
    ROUNDS_FORMULA_AS_PRINTED,
    expected=Verdict.REFUTED,
    finding=ROUNDS,
)
def rounds_formula_as_printed(statement: Statement, profile: Profile) -> Search:
    """Exact moments, T rounds without an early stop."""
    return _ball_search(
        statement,
        profile,
        lambda point: _run(statement, point, -math.inf)[1],
        adversary=False,
        certify=lambda _point: _no_round(statement),
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


@claim("sxy.thm1-rounds", ROUNDS_FORMULA, finding=ROUNDS)
def rounds_formula(statement: Statement, profile: Profile) -> Search:
    """T rounds without an early stop, directions and lengths as wrong as (27) and (28) allow."""
    return _ball_search(
        statement, profile, lambda point: _run(statement, point, -math.inf)[1], adversary=True
    )


@claim("sxy.norm-24", NORM_24)
def norm_24(statement: Statement, profile: Profile) -> Search:
    """The largest estimate along T rounds."""
    return _ball_search(
        statement, profile, lambda point: _run(statement, point, -math.inf)[2], adversary=True
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


CLUSTERS: Ranges = {"k": IntRange(2, 50, log=True), "rarity": LogInterval(0.02, 1.0)}


def _shares(point: Point) -> tuple[int, float]:
    """k and p_min, which is at most 1/k."""
    return point["k"], point["rarity"] / point["k"]


@claim("sxy.coupon-as-printed", COUPON_AS_PRINTED, expected=Verdict.REFUTED, finding=ANCHORS)
def coupon_as_printed(statement: Statement, profile: Profile) -> Search:
    """The exact law of the clusters that are missed."""

    def values(point: Point) -> dict[str, float]:
        k, p_min = _shares(point)
        return {"k": float(k), "p": p_min, "N": float(point["N"]), **GENEROUS}

    def observed(point: Point) -> float:
        return missed(_anchors(statement, values(point)), *_shares(point))

    def violation(point: Point) -> float:
        found = observed(point)
        bound = log_of(statement.expr, values(point))
        return float(relative(math.log(found) if found > 0 else LOWEST, bound))

    def certify(point: Point) -> Certificate:
        k, p_min = _shares(point)
        share, n_anchors = Fraction(p_min), _anchors(statement, values(point))
        exact = {"k": k, "p": share, "N": point["N"], "C_f": 1000}
        (condition,) = (a for a in statement.assumptions if a.left == n_H)
        return certificate(
            f"Take {k} clusters, $p_{{\\min}}={p_min:.4g}$ and {n_anchors} anchors.",
            [
                Inequality(
                    says="the number of anchors is as large as the theorem asks",
                    left=rational(n_anchors),
                    relation=">",
                    right=from_sympy(condition.right, exact),
                ),
                Inequality(
                    says="the smallest cluster alone is missed with a larger probability than "
                    "stated",
                    left=["^", rational(1 - share), rational(n_anchors)],
                    relation=">",
                    right=from_sympy(statement.expr, exact),
                ),
            ],
        )

    return Search(
        name=statement.id,
        violation=violation,
        sides=lambda point: (
            observed(point),
            math.exp(log_of(statement.expr, values(point))),
        ),
        certify=certify,
        domain={**CLUSTERS, "N": IntRange(10, 1_000_000, log=True)},
        budget=min(profile.searches, 300),
        unit="log of the probability over the bound, relative to the bound's log",
        constants=GENEROUS,
    )


@claim("sxy.coupon", COUPON, finding=ANCHORS)
def coupon(statement: Statement, profile: Profile) -> Search:
    """The same law at the number of anchors that A.3 derives."""

    def values(point: Point) -> dict[str, float]:
        k, p_min = _shares(point)
        return {"k": float(k), "p": p_min, "delta_f": point["delta_f"]}

    def observed(point: Point) -> float:
        return missed(_anchors(statement, values(point)), *_shares(point))

    def violation(point: Point) -> float:
        found = observed(point)
        bound = log_of(statement.expr, values(point))
        return (math.log(found) if found > 0 else LOWEST) - bound

    return Search(
        name=statement.id,
        violation=violation,
        sides=lambda point: (observed(point), float(evaluate(statement.expr, values(point)))),
        domain={**CLUSTERS, "delta_f": LogInterval(1e-60, 0.5)},
        budget=min(profile.searches, 1000),
        unit="log of the probability over the bound",
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


def _grouped(point: Point) -> float:
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

    def stated(point: Point) -> float:
        return float(evaluate(statement.expr, {"epsilon": point["epsilon"], "Delta": 1.0}))

    (accuracy,) = statement.assumptions
    return Search(
        name=statement.id,
        violation=lambda point: min(_grouped(point), 1e9) - stated(point),
        sides=lambda point: (_grouped(point), stated(point)),
        constraints=accuracy.holds,
        domain={
            "k": IntRange(1, 16),
            "d": IntRange(1, 20, log=True),
            "more": IntRange(0, 60),
            "epsilon": Interval(0.0, 0.2499),
            "unit": LogInterval(1e-6, 1e6),
            "place": Choice(_PLACES),
            "together": Choice((True, False)),
            "seed": IntRange(0, 10_000),
        },
        budget=min(profile.searches, 500),
        unit="error of a centre beyond the stated one, in units of Delta",
    )

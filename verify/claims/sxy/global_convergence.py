r"""Theorem 3: both phases from any start, and the comparison with restarts of IFCA.

Problem. Phase 1 starts anywhere in a ball, and Phase 2 refines its result.  Does that reach the
optima, in how many rounds, and how many random starts does IFCA need instead?

Guarantee. `bounds.sxy.global_convergence`: kappa/(s eta rho) log(Delta/nu) rounds of Phase 2 reach
(sigma kappa/rho) nu log(e/nu); IFCA needs exponentially many random starts in d and k.

Algorithm. Whole runs of both phases and of IFCA with random starts (experiments ``sxy.two-phases``
and ``sxy.one-start``).  The rounds are tried on an exact recursion.

Computation. The rounds with C1 = C2 = 1: (1 - x)^T <= exp(-x T).  Both phases: C2 = 32, since the
noise of a round is at most sqrt(5 * 8/5) s sigma sqrt(d rho/N) and the smallest eigenvalue at least
(2/5) s rho/kappa (`verify.claims.sxy.round_matrices`), with kappa at most 4.5 for five local steps.

Reference. Theorem 3, Introduction.
"""

from __future__ import annotations

import math

from bounds.statement import Statement, evaluate
from bounds.sxy.global_convergence import (
    BALL_LAW,
    GLOBAL,
    RESTARTS,
    ROUNDS,
    ROUNDS_AS_PRINTED,
    SUCCESS_OF_ONE_START,
    T_PRIME,
)
from trials.experiments.sxy.two_phases import ONE_START, PHASES, SUCCESS
from trials.run.cell import Params
from verify.claim import Finding, claim
from verify.claims.common import Point, explicit
from verify.decisions.domain import IntRange, LogInterval
from verify.decisions.means import Knowledge
from verify.evidence import Verdict
from verify.procedures.base import Profile, Sampling
from verify.procedures.comparison import Comparison
from verify.procedures.probability import Probability
from verify.procedures.search import Search
from verify.proofs.certificate import Certificate, Inequality, certificate
from verify.proofs.terms import from_sympy

# --- Rounds ---------------------------------------------------------------------------------------

ROUND_UNITS = Finding(
    id="sxy-thm3-rounds",
    where="Theorem 3",
    headline="The number of rounds compares a length with a pure number and leaves out the "
    "noise, so it can be zero.",
    printed="$T'=\\Theta(\\frac\\kappa{s\\eta\\rho}\\log\\frac\\Delta\\nu)$ rounds reach "
    "$\\frac{\\sigma\\kappa}\\rho\\nu\\log\\frac e\\nu$.",
    found="$\\Delta$ has a unit and $\\nu$ has none: for $\\Delta\\le\\nu$ no round is made. The "
    "noise is missing: without noise the limit is zero, which no finite number of rounds reaches.",
    corrected="$\\log(1+\\frac{\\Delta\\rho}{\\sigma\\kappa\\nu\\log(e/\\nu)})$ in the place of "
    "$\\log\\frac\\Delta\\nu$.",
    severity="statement",
)
_START = 1 / 3  # of Delta: the largest radius of Lemma 10


def _after_rounds(statement: Statement, profile: Profile, constants: dict[str, float]) -> Search:
    """The error of right labels and features of one after the stated rounds.

    A client's s local steps shrink its error by ``(1 - eta)^s``.  The server moves the model of a
    cluster by the share rho of that, which is ``s eta rho/kappa`` with FedAvg's kappa.
    """

    def values(point: Point) -> dict[str, float]:
        moved = -math.expm1(point["s"] * math.log1p(-point["eta"]))
        return {
            **constants,
            "Delta": point["Delta"],
            "sigma": point["noise"] * point["Delta"],
            "nu": point["nu"],
            "rho": point["rho"],
            "eta": point["eta"],
            "s": float(point["s"]),
            "kappa": point["s"] * point["eta"] / moved,
        }

    def logs(point: Point) -> tuple[float, float]:
        at = values(point)
        rounds = max(math.ceil(float(evaluate(statement.definitions[T_PRIME], at))), 0)
        shrink = math.log1p(-at["s"] * at["eta"] * at["rho"] / at["kappa"])
        left = math.log(_START * at["Delta"]) + rounds * shrink
        return left, math.log(float(evaluate(statement.expr, at)))

    def sides(point: Point) -> tuple[float, float]:
        left, right = logs(point)
        return math.exp(max(left, -700.0)), math.exp(right)

    def small_unit(_point: Point) -> Certificate:
        at = {"Delta": "1/1000", "nu": "1/2", "sigma": "0", "rho": "1/2", "eta": "1/2"}
        at |= {"s": "1", "kappa": "1", "C_1": "1000", "C_2": "1000"}
        return certificate(
            "Take $\\Delta=1/1000$, $\\nu=1/2$, no noise, features $\\pm1$ and models at distance "
            "$\\Delta/3$ with right labels. The stated number of rounds is negative, so that none "
            "is made.",
            [
                Inequality(
                    says="the stated number of rounds is below zero",
                    left=from_sympy(statement.definitions[T_PRIME], at),
                    relation="<",
                    right="0",
                ),
                Inequality(
                    says="the distance exceeds the limit",
                    left="1/3000",
                    relation=">",
                    right=from_sympy(statement.expr, at),
                ),
            ],
        )

    return Search(
        name=statement.id,
        violation=lambda point: logs(point)[0] - logs(point)[1] - 1e-9,
        certify=small_unit,
        sides=sides,
        domain={
            "Delta": LogInterval(1e-6, 1e6),
            "noise": LogInterval(1e-12, 1.0),
            "nu": LogInterval(1e-6, 1.0),
            "rho": LogInterval(0.01, 0.5),
            "eta": LogInterval(0.001, 0.99),
            "s": IntRange(1, 100, log=True),
        },
        budget=profile.searches,
        unit="log of the distance over its limit",
        constants=constants,
    )


@claim(ROUNDS_AS_PRINTED, expected=Verdict.REFUTED, finding=ROUND_UNITS)
def rounds_as_printed(statement: Statement, profile: Profile) -> Search:
    """The most generous constants of the box."""
    generous = {constant.name: constant.most_generous for constant in statement.constants}
    return _after_rounds(statement, profile, generous)


@claim(ROUNDS, finding=ROUND_UNITS)
def rounds(statement: Statement, profile: Profile) -> Search:
    """The logarithm of Delta over the floor, both constants one."""
    return _after_rounds(statement, profile, {"C_1": 1.0, "C_2": 1.0})


# --- Both phases ----------------------------------------------------------------------------------

#: Small problems that Phase 1 solves in milliseconds.
SMALL: Params = {
    "M": 60,
    "n": 20,
    "d": 3,
    "fresh": 2000,
    "anchors": 8,
    "pairs": 40,
    "rounds_1": 7,
    "rounds_2": 20,
    "restarts": 1,
}


@claim(GLOBAL)
def both_phases(statement: Statement, profile: Profile) -> Probability:
    """All anchors at zero, at an optimum, at the optima's mean and at the edge of the ball."""
    cells: list[Params] = [
        {**SMALL, "start": "zero", "d": 2},
        {**SMALL, "start": "optimum", "d": 2, "sigma": 0.02},
        {**SMALL, "start": "mean", "d": 2, "Delta": 1e-3, "sigma": 1e-4},
        {**SMALL, "start": "edge", "M": 90, "k": 3, "anchors": 9, "fresh": 4000},
    ]

    def symbols(params: Params) -> dict[str, float]:
        full = PHASES.check(params)
        rows = full["M"] * full["n"] / full["k"]
        floor = full["sigma"] / full["Delta"] * math.sqrt(full["d"] / rows)
        return {"floor": floor, "k": full["k"], "d": full["d"]}

    return explicit(
        statement,
        {"C_2": 32.0},
        Sampling(experiment=PHASES, max_trials=min(profile.max_trials, 128), first=32),
        cells,
        symbols,
        lambda table: table["phases"],
        "the distance over $\\Delta$ after both phases exceeding its limit",
    )


# --- Restarts of IFCA -----------------------------------------------------------------------------

RESTARTS_FINDING = Finding(
    id="sxy-ifca-restarts",
    where="Introduction",
    printed="The necessary number of random initializations scales exponentially in both the input "
    "dimension and the number of clusters.",
    found="True as it is meant, for a start inside the ball that IFCA's theorem asks for. It is "
    "no statement about success: IFCA itself reaches "
    "the optima of two clusters from a single start in 100 dimensions. With more clusters some "
    "starts fail.",
    corrected="The number of random starts that is needed to enter the ball of the theorem.",
    severity="slip",
)


@claim(BALL_LAW, finding=RESTARTS_FINDING)
def ball_law(statement: Statement, profile: Profile) -> Search:
    """The union bound over assignments, by volumes."""

    def sides(point: Point) -> tuple[float, float]:
        d, k = int(point["d"]), int(point["k"])
        least = d * k * math.log(4) - math.lgamma(k + 1)
        return least, float(evaluate(statement.expr, {"d": d, "k": k}))

    return Search(
        name=statement.id,
        violation=lambda point: 1.0 - sides(point)[0] / sides(point)[1],
        constraints=lambda point: math.log(point["k"]) <= point["d"] * math.log(3),
        sides=sides,
        domain={"d": IntRange(1, 1000, log=True), "k": IntRange(2, 10_000, log=True)},
        budget=profile.searches,
        unit="share of the exponent that is missing",
    )


@claim(SUCCESS_OF_ONE_START, expected=Verdict.REFUTED, finding=RESTARTS_FINDING)
def success_of_one_start(statement: Statement, profile: Profile) -> Probability:
    """Two clusters in 50 and 100 dimensions, one start, the smallest rate of the box."""
    smallest = {constant.name: constant.most_generous for constant in statement.constants}
    cells: tuple[Params, ...] = tuple({"M": 60, "n": 40, "d": d, "rounds_2": 30} for d in (50, 100))

    def chance(params: Params) -> float:
        at = {"d": params["d"], "k": params.get("k", 2), **smallest}
        return min(float(evaluate(statement.expr, at)), 1.0)

    return Probability(
        name=statement.id,
        sampling=Sampling(experiment=ONE_START, max_trials=min(profile.max_trials, 64), first=16),
        cells=cells,
        bad=lambda table, _params: table["error"] <= SUCCESS,
        delta=chance,
        event="one random start leading IFCA to the optima, with $c=1/100$",
        validate=lambda params: statement.require({"d": params["d"]}),
    )


@claim(RESTARTS, finding=RESTARTS_FINDING)
def restarts(statement: Statement, profile: Profile) -> Comparison:
    """Four and five clusters, where single starts of IFCA fail."""
    return Comparison(
        statement=statement,
        sampling=Sampling(experiment=PHASES, max_trials=min(profile.max_trials, 128), first=32),
        cells=(
            {**SMALL, "M": 80, "d": 4, "k": 4, "fresh": 6000},
            {**SMALL, "M": 100, "d": 5, "k": 5, "fresh": 10_000, "anchors": 10},
        ),
        columns={"phases": "fail_phases", "once": "fail_once"},
        knowledge=lambda _params: Knowledge(low=0.0, high=1.0),
        unit="share of runs that miss the optima",
    )

r"""Theorem 3: both phases from any start, and the comparison with restarts of IFCA.

Problem. Phase 1 starts anywhere in a ball, and Phase 2 refines its result.  Does that reach the
optima, in how many rounds, and how many random starts does IFCA need instead?

Guarantee. `bounds.sxy.global_convergence`: kappa/(s eta rho) log(Delta/nu) rounds of Phase 2 reach
(sigma kappa/rho) nu log(e/nu); IFCA needs exponentially many random starts in d and k.

Algorithm. Whole runs of both phases and of IFCA with random starts (experiments ``sxy.two-phases``
and ``sxy.one-start``).  The rounds are tried on an exact recursion.

Computation. The rounds with C1 = C2 = 1: (1 - x)^T <= exp(-x T).  Both phases: C2 = 3, as in
`sxy.thm2-floor-sharp`.  With right labels the rounds end at a normal vector of a covariance of at
most kappa sigma^2 (X'X)^-1 for the rows X of a cluster.  Its square has the law of chi-square, at
most 5 d outside e^-d, and at least 100 d rows have X'X >= 0.57 N_j outside e^-d.

Reference. Theorem 3, Introduction.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import sympy as sp

from bounds.statement import Statement, evaluate
from bounds.sxy.global_convergence import (
    BALL_LAW,
    GLOBAL,
    RESTARTS,
    RESTARTS_IN_D,
    RESTARTS_IN_K,
    RESTARTS_IN_K_LARGE,
    RESTARTS_MANY,
    ROUNDS,
    ROUNDS_AS_PRINTED,
    T_PRIME,
)
from trials.checks import FloatArray
from trials.experiments.sxy.clients import stability_of
from trials.experiments.sxy.two_phases import PHASES, STEP, SUCCESS
from trials.experiments.sxy.two_phases import RESTARTS as RESTARTS_EXPERIMENT
from trials.run.cell import Params
from trials.run.store import Table
from verify.claim import Finding, claim, row, table
from verify.claims.common import Point, explicit
from verify.claims.restart_curves import restart_curve, restart_figure
from verify.claims.searching import Constants, generous, search
from verify.decisions.comparisons import exact_share_limits
from verify.decisions.domain import Interval, IntRange, LogInterval
from verify.decisions.means import SHARE
from verify.decisions.measures import DIFFERENCE
from verify.evidence import EvidenceTable
from verify.procedures.base import Observed, Presentation, Profile, Sampling
from verify.procedures.comparison import Comparison, Monotone
from verify.procedures.mean_bound import MeanBound
from verify.procedures.pages import of_finished
from verify.procedures.probability import Probability
from verify.procedures.search import Search
from verify.proofs.certificate import Certificate, Inequality, certificate
from verify.proofs.propositions import NOT_NEGATIVE, POSITIVE, Reduction
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
#: Distances after any number of rounds, which underflow.
LOG_DISTANCE = replace(DIFFERENCE, unit="log of the distance over its limit", logs=True)
_START = 1 / 3  # of Delta: the largest radius of Lemma 10


_LEFT, _F, _E, _MANY, _DELTA = sp.symbols("keep F E n Delta")
_H = 1 - _LEFT
_KEPT = _MANY * sp.log(_LEFT)
_REACHED = _DELTA / (_F + _DELTA)
_NEEDED = sp.log(1 + _DELTA / _F)


def _rounds_of(statement: Statement, at: Mapping[str, float]) -> int:
    """The stated number of rounds, whole and not below zero."""
    return max(math.ceil(float(evaluate(statement.definitions[T_PRIME], at))), 0)


def _decreased(statement: Statement, at: Mapping[str, float]) -> dict[str, float]:
    """The decrease of a round, the limit, and the logarithm of what all rounds leave."""
    h = at["s"] * at["eta"] * at["rho"] / at["kappa"]
    n_rounds = _rounds_of(statement, at)
    return {
        "keep": 1 - h,
        "F": float(evaluate(statement.expr, at)),
        "n": float(n_rounds),
        "E": n_rounds * math.log1p(-h),
    }


ROUNDS_ENOUGH = Reduction(
    idea="Each round keeps the share $1-h$ of the distance, with $h=s\\eta\\rho/\\kappa$, and the "
    "start is within $\\Delta/3$. The stated number of rounds is at least $\\log(1+\\Delta/F)/h$ "
    "for the limit $F$. The certificate proves that $\\frac\\Delta3(1-h)^n$ is then below $F$.",
    lemmas=("induction",),
    ranges={
        **dict.fromkeys(("Delta", "F"), POSITIVE),
        "keep": LogInterval(0.0, 1.0),
        "n": NOT_NEGATIVE,
        "E": Interval(-math.inf, math.inf),
    },
    given=((_MANY * _H, _NEEDED), (_E, _KEPT), (_KEPT, _E)),
    left=sp.log(_DELTA / 3) + _E,
    right=sp.log(_F),
    hints=(
        ("log", _LEFT),
        (
            ">=",
            -_NEEDED,
            _E,
            (
                "sum",
                1,
                ("+", _KEPT - _E, ("*", _MANY, -_H - sp.log(_LEFT)), _MANY * _H - _NEEDED),
            ),
        ),
        ("log", _REACHED),
        (
            "sum",
            1,
            ("+", -_NEEDED - _E, _REACHED - 1 - sp.log(_REACHED), _F / (_F + _DELTA), sp.log(3)),
        ),
    ),
)


def after_rounds(statement: Statement, profile: Profile, *, constants: Constants) -> Search:
    """The error of right labels and features of one after the stated rounds.

    A client's s local steps shrink its error by ``(1 - eta)^s``.  The server moves the model of a
    cluster by the share rho of that, which is ``s eta rho/kappa`` with FedAvg's kappa.
    """

    given = constants(statement) if callable(constants) else constants

    def values(point: Point) -> dict[str, float]:
        moved = -math.expm1(point["s"] * math.log1p(-point["eta"]))
        return {
            **given,
            "Delta": point["Delta"],
            "sigma": point["noise"] * point["Delta"],
            "nu": point["nu"],
            "rho": point["rho"],
            "eta": point["eta"],
            "s": float(point["s"]),
            "kappa": point["s"] * point["eta"] / moved,
        }

    def left(point: Point) -> float:
        """Log of the distance after the stated rounds."""
        at = values(point)
        rounds = _rounds_of(statement, at)
        shrink = math.log1p(-at["s"] * at["eta"] * at["rho"] / at["kappa"])
        return math.log(_START * at["Delta"]) + rounds * shrink

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

    return search(
        statement,
        profile,
        left,
        {
            "Delta": LogInterval(1e-6, 1e6),
            "noise": LogInterval(1e-12, 1.0, meaning="noise level $\\sigma$ in units of $\\Delta$"),
            "nu": LogInterval(1e-6, 1.0),
            "rho": LogInterval(0.01, 0.5),
            "eta": LogInterval(0.001, 0.99),
            "s": IntRange(1, 100, log=True),
        },
        at=values,
        measure=LOG_DISTANCE,
        everywhere=None
        if statement.id == ROUNDS_AS_PRINTED.id
        else replace(ROUNDS_ENOUGH, quantities=lambda p: _decreased(statement, values(p))),
        proof=small_unit,
    )


ROUNDS_FORMS = table(
    after_rounds,
    row("sxy.thm3-rounds-as-printed", ROUNDS_AS_PRINTED, constants=generous, refuted=ROUND_UNITS),
    row("sxy.thm3-rounds", ROUNDS, constants={"C_1": 1.0, "C_2": 1.0}, finding=ROUND_UNITS),
)


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


@claim("sxy.thm3-global", GLOBAL)
def both_phases(statement: Statement, profile: Profile) -> Probability:
    """All anchors at zero, at an optimum, at the optima's mean and at the edge of the ball.

    The noise is so small that the limit lies far below what Phase 1 reaches alone.
    """
    # With few clusters and features Phase 2 alone arrives from most random starts.
    exact: Params = {**SMALL, "sigma": 0.01, "rounds_2": 30, "M": 80, "d": 4, "k": 4, "fresh": 4000}
    cells: list[Params] = [
        # one local step: kappa is one, and the limit over the root of k or d is below the error
        {**exact, "start": "zero", "s": 1, "rounds_2": 120},
        {**exact, "start": "optimum", "sigma": 0.002, "M": 160},
        {**exact, "start": "mean", "Delta": 1e-3, "sigma": 1e-5, "M": 90, "k": 3, "anchors": 9},
        {**exact, "start": "edge"},
        {**exact, "start": "edge", "M": 90, "d": 3, "k": 3, "anchors": 9},
    ]

    def symbols(params: Params) -> dict[str, float]:
        full = PHASES.check(params)
        rows = full["M"] * full["n"] / full["k"]
        floor = full["sigma"] / full["Delta"] * math.sqrt(full["d"] / rows)
        kappa = stability_of({"rule": "fedavg", "gamma": STEP, "s": full["s"]})
        return {"floor": floor, "k": full["k"], "d": full["d"], "kappa": kappa}

    return explicit(
        statement,
        {"C_2": 3.0},
        Sampling(experiment=PHASES, max_trials=min(profile.max_trials, 192), first=32),
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
    "no statement about success: with 40 clients one start in 25 fails to reach the optima of two "
    "clusters in 5 dimensions, and one in six in 500. With 120 clients none of 256 fails in 500. "
    "More clusters are found less often: six by 28 % of the starts in 5 dimensions, and by 5 % in "
    "50.",
    corrected="The number of random starts that is needed to enter the ball of the theorem. For "
    "success it grows with the number of clusters.",
    severity="slip",
)


_D, _K, _ORDERS = sp.symbols("d k orders")


@claim(
    "sxy.ifca-restarts-ball",
    BALL_LAW,
    finding=RESTARTS_FINDING,
    identity="both sides are the volume of k! balls of radius Delta/4, one of them simplified",
)
def ball_law(statement: Statement, profile: Profile) -> Search:
    """The union bound over assignments, by volumes."""

    def least(point: Point) -> float:
        """Log of the starts for one within Delta/4 of k optima, in any order."""
        return float(point["d"] * point["k"] * math.log(4) - math.lgamma(point["k"] + 1))

    return search(
        statement,
        profile,
        least,
        {"d": IntRange(1, 1000, log=True), "k": IntRange(2, 10_000, log=True)},
        where=lambda point: math.log(point["k"]) <= point["d"] * math.log(3),
        everywhere=Reduction(
            idea="The $k!$ balls have the share $k!4^{-dk}$ of the volume together. A factorial of "
            "$k$ is at most $k^k$. No more than $3^d$ optima are $\\Delta$ apart in the ball, "
            "because balls of radius $\\Delta/2$ around them are disjoint in one of radius "
            "$3\\Delta/2$. The certificate puts both into the logarithm.",
            lemmas=("union-bound",),
            ranges={"d": POSITIVE, "k": LogInterval(2.0, math.inf), "orders": NOT_NEGATIVE},
            given=((_K * sp.log(_K), _ORDERS), (_D * sp.log(3), sp.log(_K))),
            quantities=lambda point: {"orders": math.lgamma(point["k"] + 1)},
            left=_D * _K * sp.log(4) - _ORDERS,
            hints=(
                (
                    "sum",
                    1,
                    (
                        "+",
                        ("*", _K, _D * sp.log(3) - sp.log(_K)),
                        _K * sp.log(_K) - _ORDERS,
                    ),
                ),
            ),
        ),
    )


@claim("sxy.ifca-restarts", RESTARTS, finding=RESTARTS_FINDING)
def restarts(statement: Statement, profile: Profile) -> Comparison:
    """Four and five clusters, where single starts of IFCA fail.

    Phase 1 has so few rounds that it hardly ever comes within a tenth of Delta alone.
    """
    short: Params = {**SMALL, "rounds_1": 3}
    return Comparison(
        statement=statement,
        sampling=Sampling(experiment=PHASES, max_trials=min(profile.max_trials, 128), first=32),
        cells=(
            {**short, "M": 80, "d": 4, "k": 4, "fresh": 3000},
            {**short, "M": 100, "d": 5, "k": 5, "fresh": 5000, "anchors": 10},
        ),
        columns={"phases": "fail_phases", "once": "fail_once"},
        knowledge=lambda _params: SHARE,
        unit="share of runs that miss the optima",
    )


_STARTS, _MANY = 8, 16


@of_finished
def _starts_by_cell(observed: Sequence[Observed]) -> Presentation:
    """One start's success and the ball's share in a table, success against restarts in a figure."""
    rows: list[list[float]] = []
    series = []
    for o in observed:
        cell = o.params
        successful, inside = o.table["n_successful"], o.table["n_inside"]
        if successful.size < 2:
            continue
        n_made = successful.size * _STARTS
        # One problem's starts are alike, so the trials count and not the starts.
        some = exact_share_limits(int((successful > 0).sum()), successful.size, 0.025)
        rows.append(
            [
                float(cell["d"]), float(cell["k"]), float(successful.size),
                float(successful.sum() / n_made), float(np.mean(successful > 0)),
                *some, float(inside.sum()),
            ]
        )  # fmt: skip
        series.append(restart_curve(f"$d={cell['d']}$, $k={cell['k']}$", successful, _STARTS))
    table = EvidenceTable(
        title="Random starts of IFCA",
        columns=(
            "$d$", "$k$", "trials", "one start succeeds", "one of eight succeeds", "from", "to",
            "starts inside the ball",
        ),
        rows=rows,
        note="95 % limits (Clopper-Pearson). The ball around the optima has radius $\\Delta/4$.",
    )  # fmt: skip
    drawn = restart_figure(
        "Success of IFCA with restarts", "share of problems with a successful start", series
    )
    return Presentation(figures=(drawn,) if series else (), tables=(table,) if rows else ())


def _share_of_starts(table: Table, _cell: Params) -> FloatArray:
    return np.asarray(table["n_successful"] / _STARTS)


def _falls_with_k(statement: Statement, cells: tuple[Params, ...], n_trials: int) -> Monotone:
    return Monotone(
        statement=statement,
        sampling=Sampling(experiment=RESTARTS_EXPERIMENT, max_trials=n_trials, first=n_trials),
        cells=cells,
        along="k",
        statistic=_share_of_starts,
        knowledge=lambda _cell: SHARE,
        observable="successful starts",
        present=_starts_by_cell,
    )


def _problem(d: int, k: int, M: int, rounds: int) -> Params:
    """Clients with 100 rows, and eight starts."""
    return {"M": M, "n": 100, "d": d, "k": k, "rounds_2": rounds, "restarts": _STARTS}


_LONG = "a trial runs eight starts, on up to six million numbers"


@claim(
    "sxy.ifca-restarts-in-d",
    RESTARTS_IN_D,
    finding=RESTARTS_FINDING,
    smallest_profile="standard",
    why_not_smaller=_LONG,
)
def restarts_in_d(statement: Statement, _profile: Profile) -> MeanBound:
    """Two clusters of 20 clients in 5, 50 and 500 dimensions."""
    cells = tuple(_problem(d, 2, 40, 160) for d in (5, 50, 500))
    return MeanBound(
        statement=statement,
        sampling=Sampling(experiment=RESTARTS_EXPERIMENT, max_trials=128, first=16),
        cells=cells,
        statistic=_share_of_starts,
        knowledge=lambda _cell: SHARE,
        observable="successful starts",
        present=_starts_by_cell,
    )


@claim(
    "sxy.ifca-restarts-in-k",
    RESTARTS_IN_K,
    finding=RESTARTS_FINDING,
    smallest_profile="standard",
    why_not_smaller=_LONG,
)
def restarts_in_k(statement: Statement, _profile: Profile) -> Monotone:
    """Two to six clusters in 5 and in 50 dimensions, 120 clients."""
    cells = tuple(_problem(d, k, 120, 60) for d, k in product((5, 50), (2, 3, 4, 5, 6)))
    return _falls_with_k(statement, cells, 256)


@claim(
    "sxy.ifca-restarts-in-k-large",
    RESTARTS_IN_K_LARGE,
    finding=RESTARTS_FINDING,
    smallest_profile="full",
    why_not_smaller=_LONG,
)
def restarts_in_k_large(statement: Statement, _profile: Profile) -> Monotone:
    """Two, four and six clusters in 500 dimensions, 120 clients."""
    cells = tuple(_problem(500, k, 120, 120) for k in (2, 4, 6))
    return _falls_with_k(statement, cells, 32)


@claim(
    "sxy.ifca-restarts-many",
    RESTARTS_MANY,
    finding=RESTARTS_FINDING,
    smallest_profile="standard",
    why_not_smaller="Phase 1 reads up to 150 000 clients a round",
)
def restarts_many(statement: Statement, profile: Profile) -> MeanBound:
    """Two to six clusters in 6, 20 and 50 dimensions, with enough fresh clients for Phase 1.

    It gets about 150 d k^2 of them a round, and fewer were not tried.  In 500 dimensions these
    would be 300 000 for two clusters, 2.4 GB a round, and 2.7 million for six.
    """
    sizes = ((6, 2, 4000), (6, 4, 15_000), (6, 6, 30_000), (20, 4, 60_000), (50, 4, 150_000))

    def solved(table: Table, _params: Params) -> FloatArray:
        worst = np.maximum(table["phases"], table["best"])
        return np.asarray(worst <= SUCCESS, dtype=np.float64)

    return MeanBound(
        statement=statement,
        sampling=Sampling(experiment=PHASES, max_trials=min(profile.max_trials, 64), first=32),
        cells=tuple(
            {
                **SMALL,
                "M": 120,
                "n": 40 if d == 50 else 20,
                "d": d,
                "k": k,
                "fresh": fresh,
                "anchors": 3 * k,
                "pairs": 120 if d == 50 else 80,
                "rounds_1": 8,
                "rounds_2": 40,
                "restarts": _MANY,
            }
            for d, k, fresh in sizes
        ),
        statistic=solved,
        knowledge=lambda _params: SHARE,
        observable="problems that both phases and some start solve",
        present=_failures,
    )


@of_finished
def _failures(observed: Sequence[Observed]) -> Presentation:
    """How often both phases, one start, and all of sixteen starts fail."""
    rows = []
    for o in observed:
        failed = [o.table[f"fail_{name}"] for name in ("phases", "once", "best")]
        limits = exact_share_limits(int(failed[1].sum()), o.table.n_trials, 0.025)
        rows.append(
            [
                *(float(o.params[name]) for name in ("d", "k", "fresh")), float(o.table.n_trials),
                *(float(f.sum()) for f in failed), *limits,
            ]
        )  # fmt: skip
    table = EvidenceTable(
        title="Problems that are not solved",
        columns=(
            "$d$", "$k$", "fresh clients a round", "trials", "both phases", "one start",
            "sixteen starts", "one start, from", "to",
        ),
        rows=rows,
        note="Numbers of trials, and 95 % limits of one start's share (Clopper-Pearson).",
    )  # fmt: skip
    return Presentation(tables=(table,) if rows else ())

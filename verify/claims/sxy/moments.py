r"""Lemmas 3 and 6, Proposition 1 and (19) of Su, Xu & Yang: sample moments of one round.

Problem. The server estimates a moment matrix from m clients with two rows each, an anchor another
one from l pairs of its rows.  How far are they from their expectations, and what do the subspace
and the direction that they give lose?

Guarantee. `bounds.sxy.moments`: operator norms of order sqrt(d log N / m) + (d/m) log^3 N, and of
order sqrt(k log N / l) + (k/l) log^3 N for the anchor.  m of order d / p^2 and l of order k are
enough.

Algorithm. One round of Phase 1 (experiment ``sxy.round``) with Algorithm 3 for the subspace, and an
anchor's matrix in an exact subspace (experiment ``sxy.anchor``).  No d x d matrix is formed.

Computation. The constants are those of the readings, from the matrix Bernstein inequality.  The
same inequality, evaluated in each cell, limits the failure probability far below what trials
resolve (`verify.claims.sxy.moment_tails`).  The constants are far from sharp: with them the bounds
exceed what the zero matrix or any subspace would give, in every cell that can be drawn, so they say
nothing there.  The exponents are tried apart: they are those of the means where the first term
dominates.

Reference. Lemmas 3 and 6, Propositions 1 and 2, Theorem 1, (3).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import sympy as sp

from bounds.statement import Statement
from bounds.sxy.moments import (
    LEMMA_3,
    LEMMA_3_RATE_D,
    LEMMA_3_RATE_M,
    LEMMA_6,
    PROP_1,
    PROP_1_RATE_GAP,
    PROP_1_RATE_NO_GAP,
    PROP_2_19,
    THRESHOLD_L,
    THRESHOLD_M,
)
from trials.experiments.sxy.moments import ANCHOR, ROUND
from trials.run.cell import Params
from trials.run.experiment import Experiment
from verify.claim import claim
from verify.claims.common import CannotTry, explicit
from verify.claims.sxy.moment_tails import log_deviation_limit
from verify.decisions.measures import LOWEST
from verify.decisions.rates import Side
from verify.decisions.thresholds import log_grid
from verify.evidence import Verdict
from verify.procedures.base import Profile, Sampling
from verify.procedures.probability import Probability
from verify.procedures.rate import Rate, StatedRate
from verify.procedures.threshold import Threshold

#: Trials of a cell at the smallest profile.
QUICK_TRIALS = 64


def sampling(profile: Profile, experiment: Experiment, quick: int = QUICK_TRIALS) -> Sampling:
    """``quick`` trials a cell at the smallest profile, up to eight times as many at the others."""
    trials = quick * min(8, max(1, profile.max_trials // 1024))
    return Sampling(experiment=experiment, max_trials=trials, first=min(trials, quick))


def steps(profile: Profile, experiment: Experiment, quick: int) -> Sampling:
    """For a threshold: steps of one block, and at most twice as many trials at larger profiles."""
    whole = sampling(profile, experiment, quick)
    return replace(whole, max_trials=min(whole.max_trials, 2 * quick), first=experiment.block_size)


def symbols(cell: Params) -> dict[str, float]:
    """A cell in the statements' symbols.  N counts the rows that a round reads at least."""
    full = ROUND.check(cell) if "m" in cell else ANCHOR.check(cell)
    at: dict[str, float] = {
        name: float(full[name]) for name in ("d", "k", "m", "l", "p") if name in full
    }
    rows = 2.0 * (full.get("m", 0) + full["l"])
    # the statistics are in units of delta^2 + sigma^2, and so are both here
    squared = 1.0 + float(full.get("outside", 0.0)) ** 2, float(full["sigma"]) ** 2
    delta, sigma = (math.sqrt(part / sum(squared)) for part in squared)
    return {**at, "N": rows, "delta": delta, "sigma": sigma}


# -- upper bounds ----------------------------------------------------------------------------------


def _bound(
    statement: Statement,
    profile: Profile,
    experiment: Experiment,
    column: str,
    cells: Sequence[Params],
    constants: dict[str, float],
    log_tail: Callable[[Params, float], float],
) -> Probability:
    """The statement with the constants of its reading, and a limit on the left probability."""
    return explicit(
        statement,
        constants,
        sampling(profile, experiment),
        cells,
        symbols,
        lambda table: table[column],
        "a deviation above the stated one",
        log_tail=log_tail,
    )


#: Laws whose moments are within those of `log_deviation_limit`.
LIGHT = ("gaussian", "rademacher", "uniform")


def _of_clients(cell: Params, deviation: float) -> float:
    full = ROUND.check(cell)
    if full["features"] not in LIGHT:
        return 0.0
    return log_deviation_limit(deviation, full["d"], full["m"])


def _of_anchor(cell: Params, deviation: float) -> float:
    full = ANCHOR.check(cell) if "m" not in cell else ROUND.check(cell)
    if full["features"] not in LIGHT:
        return 0.0
    return log_deviation_limit(deviation, min(full["k"], full.get("d", full["k"])), full["l"])


def _of_projection(_cell: Params, error: float) -> float:
    # p |v|^2 is at most one in this unit, and so is what a subspace loses of it
    return LOWEST if error >= 1.0 else 0.0


def _of_length(cell: Params, error: float) -> float:
    # A singular value of A moves by at most |A - EA|, and the subspace loses at most |v|^2 <= 1.
    return _of_anchor(cell, error - 1.0) if error > 1.0 else 0.0


ROUNDS: tuple[dict[str, Any], ...] = tuple(
    {"l": 50, **cell}
    for cell in (
        {"d": 1, "m": 1, "k": 1, "l": 1},
        {"d": 1, "m": 2000, "k": 1},
        {"d": 64, "m": 50, "k": 2},
        {"d": 64, "m": 2000, "k": 2, "l": 500},
        {"d": 8, "m": 4000, "k": 8},
        {"d": 8, "m": 4000, "k": 8, "unit": 1e6},
        {"d": 8, "m": 400, "k": 2, "unit": 1e-6},
        {"d": 16, "m": 1000, "k": 16},
        {"d": 16, "m": 1000, "k": 2, "p": 0.02},
        {"d": 16, "m": 1000, "k": 2, "sigma": 100.0},
        {"d": 16, "m": 1000, "k": 2, "sigma": 0.0},
        {"d": 16, "m": 1000, "k": 2, "features": "rademacher", "noise": "rademacher"},
        {"d": 16, "m": 1000, "k": 2, "features": "uniform", "noise": "uniform"},
        {"d": 16, "m": 1000, "k": 2, "condition": 0.05, "short": 0.01},
    )
)
#: Of the readings.
LEMMA_3_CONSTANTS = {"C_1": 52.0, "C_2": 21_000.0}
PROP_1_CONSTANTS = {"C_1": 500.0, "C_2": 210_000.0}


@claim("sxy.lemma3", LEMMA_3, expected=Verdict.VACUOUS)
def lemma_3(statement: Statement, profile: Profile) -> Probability:
    """One client to 4,000, one dimension to 64, one cluster to 16."""
    return _bound(statement, profile, ROUND, "deviation", ROUNDS, LEMMA_3_CONSTANTS, _of_clients)


@claim("sxy.prop1", PROP_1, expected=Verdict.VACUOUS)
def prop_1(statement: Statement, profile: Profile) -> Probability:
    """The same rounds with the largest error of a cluster, weighted with its share."""
    return _bound(statement, profile, ROUND, "lost", ROUNDS, PROP_1_CONSTANTS, _of_projection)


@claim("sxy.prop2-19", PROP_2_19, expected=Verdict.VACUOUS)
def prop_2_19(statement: Statement, profile: Profile) -> Probability:
    """The same rounds with the anchor of the smallest cluster."""
    constants = {**PROP_1_CONSTANTS, "C": LEMMA_3_CONSTANTS["C_2"]}
    return _bound(statement, profile, ROUND, "length_error", ROUNDS, constants, _of_length)


@claim("sxy.lemma6", LEMMA_6, expected=Verdict.VACUOUS)
def lemma_6(statement: Statement, profile: Profile) -> Probability:
    """Subspaces of 1 to 64 dimensions, 1 to 2,000 pairs, residuals outside of the subspace."""
    cells: list[dict[str, Any]] = [
        {"k": k, "l": n} for k, n in ((1, 1), (1, 2000), (64, 20), (64, 2000), (16, 400), (4, 50))
    ]
    cells += [
        {"k": 8, "l": 400, **other}
        for other in (
            {"outside": 10.0},
            {"sigma": 100.0},
            {"sigma": 0.0},
            {"unit": 1e6},
            {"features": "rademacher", "noise": "rademacher"},
            {"features": "uniform", "noise": "uniform"},
        )
    ]
    return _bound(statement, profile, ANCHOR, "deviation", cells, LEMMA_3_CONSTANTS, _of_anchor)


# -- exponents -------------------------------------------------------------------------------------


SYMBOLS = {"m": "$m/d$", "d": "$d$"}
OBSERVABLES = {
    "deviation": "the deviation over $\\delta^2+\\sigma^2$",
    "lost": "the largest projection error over $\\delta^2+\\sigma^2$",
    "lost_last": "the smallest cluster's projection error over $\\delta^2+\\sigma^2$",
}


def _rate(
    statement: Statement,
    profile: Profile,
    column: str,
    cells: Sequence[Params],
    names: Sequence[str],
    margin: float,
    trials: int = 64,
) -> Rate:
    """Exponents of a column's mean in some of the cells' sizes, from the statement's term."""
    _only(statement, ("d", "m", "delta", "sigma"))
    (term,) = statement.terms
    _in_unit(statement, term.expr)
    side: Side = "equals" if statement.relation == "=" else "at most"
    in_m, in_d = (statement.power(term.name, sp.Symbol(x)) for x in ("m", "d"))
    # the cells vary m/d and d: the exponent of d is then that at a fixed m/d
    exponents = {"m": in_m, "d": in_m + in_d}
    return Rate(
        name=statement.id,
        sampling=sampling(profile, ROUND, trials),
        cells=tuple(cells),
        statistic=lambda table: table[column],
        regressors=lambda cell: {"m": cell["m"] / cell["d"], "d": float(cell["d"])},
        stated={
            name: StatedRate(exponent=exponents[name], side=side, symbol=SYMBOLS[name])
            for name in names
        },
        observable=OBSERVABLES[column],
        margin=margin,
    )


#: Where the first term dominates: at least 60 clients for each dimension.  Many cells with few
#: trials have narrower limits than few cells with many.
RATE_CELLS = tuple(
    {"d": d, "m": d * ratio, "k": 2, "l": 2, "p": 0.5}
    for d in (8, 11, 16, 22)
    for ratio in (60, 75, 95, 120, 150, 200)
)
NOT_QUICK = "the limits of this exponent need several hundred rounds in a cell"


@claim("sxy.lemma3-rate-m", LEMMA_3_RATE_M)
def lemma_3_rate_m(statement: Statement, profile: Profile) -> Rate:
    """Six sizes in each of four dimensions."""
    return _rate(statement, profile, "deviation", RATE_CELLS, ("m",), 0.1)


@claim("sxy.lemma3-rate-d", LEMMA_3_RATE_D, smallest_profile="standard", why_not_smaller=NOT_QUICK)
def lemma_3_rate_d(statement: Statement, profile: Profile) -> Rate:
    """The same cells: the exponent in the dimension at a fixed number of clients for each."""
    return _rate(statement, profile, "deviation", RATE_CELLS, ("d",), 0.1)


@claim("sxy.prop1-rate-gap", PROP_1_RATE_GAP)
def prop_1_rate_gap(statement: Statement, profile: Profile) -> Rate:
    """Two residuals of equal length."""
    return _rate(statement, profile, "lost", RATE_CELLS, ("m",), 0.05)


@claim(
    "sxy.prop1-rate-no-gap",
    PROP_1_RATE_NO_GAP,
    smallest_profile="standard",
    why_not_smaller=NOT_QUICK,
)
def prop_1_rate_no_gap(statement: Statement, profile: Profile) -> Rate:
    """One residual with p v^2 equal to half of sqrt(d/m), many sizes for narrow limits."""
    cells = tuple(
        {**RATE_CELLS[0], "d": d, "m": d * ratio, "short": ratio**-0.25}
        for d in (8, 12, 16)
        for ratio in (60, 70, 85, 100, 120, 145, 175, 210)
    )
    return _rate(statement, profile, "lost_last", cells, ("m",), 0.1, trials=96)


# -- thresholds ------------------------------------------------------------------------------------


def _only(statement: Statement, names: Sequence[str]) -> None:
    """Refuse a statement that names a size which the cells do not vary."""
    named = {s.name for term in statement.terms for s in term.expr.free_symbols}
    if unknown := named - {*names, *(c.name for c in statement.constants)}:
        raise CannotTry(f"{statement.id}: the cells do not vary {', '.join(sorted(unknown))}")


def _in_unit(statement: Statement, expr: sp.Expr) -> None:
    """Refuse a term that is not in the unit of the statistics, delta^2 + sigma^2."""
    delta, sigma = sp.symbols("delta sigma")
    left = sp.simplify(expr / (delta**2 + sigma**2)).free_symbols & {delta, sigma}
    if left:
        raise CannotTry(f"{statement.id}: the term must be a multiple of delta^2 + sigma^2")


def _works(column: str, share: float) -> Callable[[Any, Params], Any]:
    return lambda table, _cell: np.asarray(table[column] >= share)


@claim(
    "sxy.thm1-threshold-m",
    THRESHOLD_M,
    smallest_profile="standard",
    why_not_smaller="a threshold in 56 dimensions takes 6,000 clients, and 26 thresholds a minute",
)
def threshold_m(statement: Statement, profile: Profile) -> Threshold:
    """Two clusters of different shares, the smaller one down to a quarter of the clients.

    Equal shares are left out: there both residuals are at the threshold.  The number of cells
    decides the width of the limits, since no power law holds exactly at finite sizes.
    """
    _only(statement, ("d", "p"))
    cells = tuple(
        {"d": d, "k": 2, "l": 2, "p": p}
        for p, dimensions in (
            (0.42, (6, 8, 11, 15, 20, 28, 40, 56)),
            (0.36, (6, 8, 11, 15, 20, 28, 40)),
            (0.3, (6, 8, 11, 15, 20, 28)),
            (0.25, (6, 8, 11, 15, 20)),
        )
        for d in dimensions
    )

    def values(cell: Params) -> dict[str, float]:
        # 16 d/p^2: the size at which spike and noise have one norm, sigma = delta
        rows = 2.0 * (16.0 * cell["d"] / cell["p"] ** 2 + cell["l"])
        return {"d": cell["d"] * math.log(rows), "p": cell["p"], "C": 1.0}

    return Threshold(
        statement=statement,
        sampling=steps(profile, ROUND, 320),
        cells=cells,
        size="m",
        grid=lambda cell: log_grid(50, 20_000),
        success=_works("kept", 0.75),
        event="a subspace that keeps three quarters of every squared residual",
        scaling=("d", "p"),
        towards=({"d": 1}, {"p": -1}),
        values=values,
        margin=0.25,
        precision=1.3,
    )


@claim(
    "sxy.thm1-threshold-l",
    THRESHOLD_L,
    smallest_profile="standard",
    why_not_smaller="the limits of the exponent need many anchors in each of fifteen subspaces",
)
def threshold_l(statement: Statement, profile: Profile) -> Threshold:
    """Subspaces of 8 to 90 dimensions."""
    _only(statement, ("k",))
    cells = tuple({"k": k} for k in (8, 9, 11, 13, 16, 19, 23, 27, 32, 38, 45, 54, 64, 76, 90))
    return Threshold(
        statement=statement,
        sampling=steps(profile, ANCHOR, 512),
        cells=cells,
        size="l",
        grid=lambda cell: log_grid(20, 5_000),
        success=lambda table, _cell: np.asarray(
            (table["kept"] >= 0.75) & (table["right_sign"] > 0)
        ),
        event="a direction on the right side that keeps three quarters of the squared residual",
        scaling=("k",),
        towards=({"k": 1},),
        values=lambda cell: {"k": float(cell["k"]), "C": 1.0},
        margin=0.25,
        precision=1.2,
    )

r"""Theorem 2 and Lemma 2: contraction, floor, clients, and where the theorem says something.

Problem. The models start within epsilon Delta of their optima.  Clients label themselves and refine
their model, round after round, on the same rows.  How fast does the error fall, and where does it
end?

Guarantee. `bounds.sxy.refinement`: each round multiplies the distance by 1 - C1 s eta rho/kappa and
adds C2 s eta sigma nu log(e/nu).

Algorithm. Whole runs of 40 rounds from adversarial starts in the ball (experiment
``sxy.refinement``), and three choices of local steps on the same clients (``sxy.local-steps``).

Computation. Constants exhibited by argument, for epsilon = 1/10 and every sigma.  c = 0.038 is that
of `verify.claims.sxy.label_errors.rate_at`.  C = 1, with which nu is at least sqrt(d k log k/M).
C1 = 1/2: with N_j >= 100 d, Gaussian rows have a smallest eigenvalue of at least 0.57 =
(1 - 1/10 - sqrt(2)/10)^2 up to e^{-d}, and the wrong labels take the rest.  C2 = 1/2: nu <= 1
needs n >= 54 rows, so that the noise of one round, 3 sigma sqrt(d/N), is at most
0.35 sigma sqrt(d k log k/M).  Lemma 2: C2 = 100, above sqrt 2 (24 sqrt k + sqrt(24 * 15)) for
k <= 4, with Lemma 11's constants.  The condition on nu asks for less than the proof does:
rho/kappa >= 0.05 nu log(e/nu).  So more cells are inside, and the claims say more.

The stated floor, (C2/C1) sigma (kappa/rho) nu log(e/nu), is far above the error of known labels.
So the noise is at most Delta/1000: the start, Delta/10 from the optima, is then above the floor,
and models that stay at their start break the statement in every cell.  Slow runs with hardly any
noise, in which k, d, s, 1/rho and kappa differ, show the first term after all forty rounds.

Reference. Theorem 2 and its proof, Lemma 2, the texts after Theorems 2 and 3.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import sympy as sp

from bounds.statement import Statement, evaluate
from bounds.sxy.refinement import (
    DOMINATED,
    DOMINATED_BOUND,
    DOMINATED_LARGE,
    FEW_POINTS,
    FLOOR,
    FLOOR_SHARP,
    LEMMA_2,
    NU_ANY,
    PER_CLIENT,
    PER_CLIENT_AS_PRINTED,
    SAVING_RUNS,
    THM_2,
    UNBALANCED,
    VACUITY,
)
from bounds.sxy.symbols import Delta, epsilon
from trials.checks import FloatArray
from trials.experiments.gaussian import NOISE
from trials.experiments.sxy.clients import stability_of
from trials.experiments.sxy.refinement import (
    CLUSTERING_ERROR,
    LARGE,
    LOCAL_STEPS,
    N_ROUNDS,
    REFINEMENT,
)
from trials.laws.noise import noise_log_sf
from trials.run.cell import Params
from trials.run.store import Table
from verify.claim import Finding, claim
from verify.claims.common import Point, explicit
from verify.claims.searching import search
from verify.claims.sxy.label_errors import RATE as LABEL_RATE
from verify.claims.sxy.label_errors import rate_at
from verify.claims.sxy.pages import beside_bound, floors, trajectories, with_figures
from verify.claims.sxy.round_matrices import smallest_share
from verify.claims.sxy.savings import NO_SAVING_FINDING
from verify.decisions.domain import IntRange, LogInterval
from verify.decisions.means import Knowledge
from verify.evidence import Figure, Verdict
from verify.procedures.base import BoolArray, Observed, Profile, Sampling
from verify.procedures.comparison import Comparison
from verify.procedures.probability import Probability
from verify.procedures.search import Search
from verify.procedures.vacuity import Vacuity
from verify.proofs.propositions import POSITIVE, Everywhere

NEAR = 0.1
RATE = rate_at(NEAR)
CONSTANTS = {"C_1": 0.5, "C_2": 0.5, "C": 1.0, "c": RATE}
SHARP_CONSTANTS = {"C_1": 0.5, "C_2": 6.0, "C": 1.0, "C_n": 19.0}
FEW_WRONG, ROWS = 0.05, 100.0
HIDDEN = {"C_nu": FEW_WRONG, "C_N": ROWS}

SMALL_NU = Finding(
    id="sxy-large-nu",
    where="Theorem 2, and Theorem 3 through it",
    printed="If $\\nu\\log(e/\\nu)\\lesssim\\rho/\\kappa$, then (9).",
    found="The condition holds whenever $\\nu\\ge e$, where its left side is not positive, and "
    "the last term of (9) is then negative. Four clients with many rows, $d=10^4$ and two clusters "
    "give $\\nu\\ge58C$, which exceeds $e$ for every prefactor $C\\ge1/20$ in (10), and (9) then "
    "asks for a negative distance at the optima. A share is at most one, but the text does not ask "
    "for it.",
    corrected="$\\nu\\le1$ beside the condition.",
    severity="slip",
)


def _values(params: Params, constants: Mapping[str, float] = CONSTANTS) -> dict[str, float]:
    """The statements' symbols in a cell of the runs."""
    full = REFINEMENT.check(params)
    share = smallest_share(full)
    return {
        **{name: full[name] for name in ("M", "n", "d", "k", "s", "gamma", "sigma", "Delta")},
        **constants,
        **HIDDEN,
        "rho": share,
        "N": full["M"] * full["n"],
        "N_j": share * full["M"] * full["n"],
        "kappa": stability_of(full),
        "skew": 1.0,
        "epsilon": full["near"],
        "t": float(N_ROUNDS),
    }


RUN_CELLS: tuple[Params, ...] = (
    {"M": 60, "n": 160, "d": 2, "s": 1, "gamma": 0.9, "sigma": 1e-3},
    {"M": 60, "n": 160, "d": 2, "s": 10, "gamma": 0.1, "sigma": 1e-9},
    {"M": 100, "n": 160, "d": 3, "s": 5, "gamma": 0.5, "sigma": 3e-4, "start": "random"},
    {"M": 100, "n": 120, "d": 3, "rule": "fedprox", "gamma": 0.9, "sigma": 3e-4},
    {"M": 150, "n": 160, "d": 3, "k": 3, "s": 2, "sigma": 3e-4, "start": "translation"},
    {"M": 120, "n": 160, "d": 2, "s": 3, "sigma": 3e-4, "profile": "one-small", "ratio": 3.0},
    {"M": 60, "n": 160, "d": 2, "s": 1, "gamma": 0.9, "Delta": 1e-6, "sigma": 1e-9},
    # few clients: a bound with their rows in the place of the clients is broken here
    {"M": 8, "n": 160, "d": 3, "s": 2, "gamma": 0.1125, "sigma": 2e-3},
)

#: Hardly any noise, and steps so small that the start still shows after forty rounds.  The symbols
#: of the first term differ: d from s, s from k, the smallest share from 1/k, kappa from one.
SLOW_CELLS: tuple[Params, ...] = (
    {"M": 400, "n": 96, "d": 3, "s": 2, "gamma": 0.05, "sigma": 1e-10, "Delta": 0.05,
     "profile": "one-small", "ratio": 4.0},
    {"M": 300, "n": 120, "d": 4, "k": 3, "s": 1, "gamma": 0.3, "sigma": 1e-9, "Delta": 0.3},
    {"M": 600, "n": 96, "d": 2, "s": 20, "gamma": 0.15, "sigma": 1e-9, "Delta": 3.0,
     "profile": "one-small", "ratio": 9.0},
    {"M": 500, "n": 120, "d": 2, "k": 4, "s": 1, "gamma": 0.2, "sigma": 1e-9,
     "profile": "geometric", "ratio": 3.0},
)  # fmt: skip

#: Distance of a start over Delta that hides no floor, not even one over the clients or local steps.
AT_OPTIMA = 1e-6

#: So many features that the noise of a round is above the second term over their number.  Models
#: that stay at their optima pass, so the cell can refute and supports nothing.
MANY_FEATURES: Params = {
    "M": 24, "n": 104, "d": 12, "s": 1, "gamma": 0.9, "sigma": 1e-3, "near": AT_OPTIMA,
}  # fmt: skip

#: Distances far from one, and many local steps.  They tell Delta, s and kappa from other symbols.
FAR_UNITS: tuple[Params, ...] = (
    {"M": 60, "n": 160, "d": 2, "s": 10, "gamma": 0.1, "sigma": 1e-9, "Delta": 64.0},
    {"M": 60, "n": 160, "d": 2, "s": 80, "gamma": 0.1, "sigma": 1e-9},
    {"M": 60, "n": 160, "d": 2, "s": 8, "gamma": 0.9, "sigma": 8e-9, "Delta": 1.5625e-8},
)

#: p_e is large enough for a few hundred trials.
CLIENT_CELLS: tuple[Params, ...] = (
    {"M": 100, "n": 128, "d": 2, "s": 1, "gamma": 0.9, "sigma": 1e-3},
    {"M": 100, "n": 128, "d": 2, "s": 10, "gamma": 0.1, "sigma": 1e-9},
    {"M": 150, "n": 120, "d": 3, "rule": "fedprox", "gamma": 0.9, "sigma": 3e-4},
    {"M": 100, "n": 128, "d": 2, "s": 1, "gamma": 0.9, "Delta": 1e-6, "sigma": 1e-9},
    *SLOW_CELLS,
    # eight clusters, and other units
    {"M": 150, "n": 120, "d": 3, "k": 8, "rule": "fedprox", "gamma": 0.9, "sigma": 3e-4},
    {"M": 100, "n": 128, "d": 2, "k": 4, "s": 1, "gamma": 0.9, "sigma": 1.25e-4, "Delta": 64.0},
    {"M": 100, "n": 128, "d": 2, "s": 8, "gamma": 0.9, "sigma": 8e-9, "Delta": 1.5625e-8},
    *({**cell, "M": 100, "n": 128} for cell in FAR_UNITS[:2]),
    # the floor rules after forty rounds, for eight clusters
    {"M": 150, "n": 120, "d": 3, "k": 8, "rule": "fedprox", "gamma": 0.9, "sigma": 2e-3},
    # so few clients that their own rows are the error, and so few wrong labels that a floor which
    # has lost its k is below it
    {"M": 4, "n": 157, "d": 2, "s": 1, "gamma": 0.9, "sigma": 1e-2},
    # so many features, and so many local steps, that a floor over their number is below the error
    {"M": 52, "n": 96, "d": 24, "s": 1, "gamma": 0.9, "sigma": 1e-3, "near": AT_OPTIMA},
    {"M": 8, "n": 100, "d": 3, "s": 4000, "gamma": 2e-4, "sigma": 1e-3, "near": AT_OPTIMA},
    # eight equal clusters and kappa above three, where every client shows the start's factor: one
    # without kappa is broken
    {"M": 320, "n": 160, "d": 2, "k": 8, "s": 20, "gamma": 0.15, "sigma": 1e-10},
)

#: Forty rounds reach the floor in these cells, which differ in the sizes alone.
FLOOR_CELLS: tuple[Params, ...] = tuple(
    {"M": m, "n": n, "d": 2, "s": 1, "gamma": 0.9, "sigma": 1e-3}
    for m in (60, 180)
    for n in (160, 320, 640)
)
#: The error of known labels is below the floor, and above the floor over the clients, and over the
#: root of the local steps.
NO_START: tuple[Params, ...] = (
    {"M": 180, "n": 160, "d": 2, "s": 1, "gamma": 0.9, "sigma": 1e-3, "near": AT_OPTIMA},
    {"M": 6, "n": 120, "d": 3, "s": 4000, "gamma": 2e-4, "sigma": 1e-3, "near": AT_OPTIMA},
)
#: Next to no wrong label, and the error of known labels above what is left of the start.
NO_WRONG_LABEL: Params = {"M": 60, "n": 640, "d": 2, "s": 1, "gamma": 0.9, "sigma": 1e-2}


def _sampling(profile: Profile, most: int = 256) -> Sampling:
    return Sampling(experiment=REFINEMENT, max_trials=min(profile.max_trials, most), first=64)


def _step(table: Table, _params: Params) -> dict[str, FloatArray]:
    """The step size of each trial."""
    return {"eta": table["step"]}


def _every_round(
    statement: Statement,
    profile: Profile,
    cells: Sequence[Params],
    values: Callable[[Params], Mapping[str, float]],
    covariates: Callable[[Table, Params], dict[str, FloatArray]],
) -> Probability:
    """A statement on each round of a run: a trial is bad where some round breaks it."""

    def bad(table: Table, params: Params) -> BoolArray:
        at: dict[str, Any] = {**values(params), **covariates(table, params)}
        broken = np.zeros(table.n_trials, dtype=bool)
        for t in range(N_ROUNDS):
            limit = evaluate(statement.expr, {**at, "dist": table[f"err_{t}"]})
            # A contraction to the last digit ends where rounding begins.
            slack = 1e-12 * params.get("Delta", 1.0)
            broken |= table[f"err_{t + 1}"] > limit + slack
        return np.asarray(broken & _is_share(at))

    def envelope(table: Table, params: Params) -> FloatArray:
        """The limits that follow from the first distance, medians over the trials."""
        at: dict[str, Any] = {**values(params), **covariates(table, params)}
        limits = [np.asarray(table["err_0"])]
        for _ in range(N_ROUNDS):
            limits.append(np.asarray(evaluate(statement.expr, {**at, "dist": limits[-1]})))
        return np.asarray(np.median(limits, axis=1))

    return with_figures(
        Probability(
            name=statement.id,
            sampling=_sampling(profile),
            cells=tuple(cells),
            bad=bad,
            delta=lambda params: statement.failure_probability(values(params)),
            event="some round's distance exceeding its limit, with $C_1=1/2$, $C_2=1/2$, $C=1$, "
            f"$c={RATE:.3f}$",
            validate=lambda params: statement.require(values(params)),
            symbols=lambda table, params: {
                **values(params),
                **covariates(table, params),
                "dist": table["err_0"],
            },
        ),
        lambda stored: [
            trajectories(
                stored,
                [f"err_{t}" for t in range(N_ROUNDS + 1)],
                envelope,
                lambda params: float(params.get("Delta", 1.0)),
                "$d(\\theta_t,\\theta^*)/\\Delta$",
            )
        ],
    )


def _is_share(at: Mapping[str, Any]) -> BoolArray:
    """Whether nu is at most one, where it belongs to the trial."""
    if "expected" not in at:
        return np.asarray(True)
    return np.asarray(evaluate(NU_ANY, at) <= 1.0)


# --- A round, and many ---------------------------------------------------------------------------


@claim("sxy.lemma2", LEMMA_2, expected=Verdict.VACUOUS)
def lemma_2(statement: Statement, profile: Profile) -> Probability:
    """The start's wrong labels, noise as large as Delta, C2 = 100."""
    constants = {**CONSTANTS, "C_2": 100.0}
    cells: list[Params] = [
        {"M": 800, "n": 64, "d": 7, "sigma": 1.0, "gamma": 0.5},
        {"M": 400, "n": 64, "d": 5, "sigma": 1.0, "gamma": 0.9, "s": 5},
        {"M": 400, "n": 80, "d": 6, "k": 3, "sigma": 1.0, "rule": "fedprox", "gamma": 0.9},
        {"M": 400, "n": 64, "d": 6, "sigma": 0.8, "start": "translation"},
    ]
    return explicit(
        statement,
        constants,
        Sampling(experiment=CLUSTERING_ERROR, max_trials=min(profile.max_trials, 128), first=64),
        cells,
        lambda params: {
            **_values(params, constants),
            "dist": params.get("near", NEAR) * params.get("Delta", 1.0),
        },
        lambda table: table["pull"],
        "the clustering error exceeding its limit",
    )


@claim("sxy.thm2-contraction", THM_2, finding=SMALL_NU, hidden=HIDDEN)
def thm_2(statement: Statement, profile: Profile) -> Probability:
    """Every round of runs from adversarial starts, both rules, down to hardly any noise."""
    cells = (*RUN_CELLS, *SLOW_CELLS, MANY_FEATURES)
    return _every_round(statement, profile, cells, _values, _step)


def _each_time(
    statement: Statement,
    profile: Profile,
    cells: Sequence[Params],
    constants: Mapping[str, float],
) -> Probability:
    """A statement on the distance after t rounds: a trial is bad where some t breaks it."""
    runs = explicit(
        statement,
        constants,
        _sampling(profile),
        cells,
        lambda params: _values(params, constants),
        lambda table: table[f"err_{N_ROUNDS}"],
        "the distance exceeding its limit, before some round of forty or after the last",
        _step,
    )

    def bad(table: Table, params: Params) -> BoolArray:
        at: dict[str, Any] = {**_values(params, constants), **_step(table, params)}
        slack = 1e-12 * at["Delta"]  # a run ends where rounding begins
        limits = [evaluate(statement.expr, {**at, "t": t}) for t in range(N_ROUNDS + 1)]
        broken = [table[f"err_{t}"] > limit + slack for t, limit in enumerate(limits)]
        return np.asarray(np.any(broken, axis=0))

    def symbols(table: Table, params: Params) -> Mapping[str, Any]:
        """Each trial is tried at every t.  Here they share the rounds among them."""
        shared = np.resize(np.arange(1.0, N_ROUNDS + 1.0), table.n_trials)
        return {**runs.symbols(table, params), "t": shared}

    return replace(runs, bad=bad, symbols=symbols)


@claim("sxy.thm2-floor", FLOOR, finding=SMALL_NU, hidden=HIDDEN)
def floor(statement: Statement, profile: Profile) -> Probability:
    """The distance before each round of forty and after the last."""
    kept = _each_time(
        statement,
        profile,
        (
            *RUN_CELLS,
            *SLOW_CELLS,
            *FAR_UNITS,
            *(cell for cell in FLOOR_CELLS if cell not in RUN_CELLS),
            NO_WRONG_LABEL,
            *NO_START,
        ),
        CONSTANTS,
    )

    def limit(table: Table, params: Params) -> float:
        at: dict[str, Any] = {**_values(params), **_step(table, params)}
        return float(np.median(evaluate(statement.expr, at)))

    def noise(params: Params) -> float:
        at = _values(params)
        return float(at["sigma"] * math.sqrt(at["d"] / at["N_j"]))

    last, distance = f"err_{N_ROUNDS}", "$d(\\theta_{40},\\theta^*)$ (distance)"

    def figures(stored: Sequence[Observed]) -> list[Figure]:
        by_size = [o for o in stored if o.params in FLOOR_CELLS]
        return [
            beside_bound(
                stored,
                last,
                limit,
                noise,
                {
                    "title": "Floors",
                    "xlabel": "$\\sigma\\sqrt{d/N_j}$ (distance)",
                    "ylabel": distance,
                    "caption": "The last distance of each cell and the stated limit, against the "
                    "error of known labels.",
                },
            ),
            *(
                floors(
                    by_size, last, limit, along, {"title": title, "xlabel": x, "ylabel": distance}
                )
                for along, title, x in (
                    (("n", "M"), "Floors against the rows of a client", "$n_i$ (count)"),
                    (("M", "n"), "Floors against the clients", "$M$ (count)"),
                )
                if by_size
            ),
        ]

    return with_figures(kept, figures)


#: Labels are right: clients of at least 19 (d + log(M k)) rows, noise of at most Delta/12.
RIGHT_LABELS: tuple[Params, ...] = (
    {"M": 60, "n": 160, "d": 2, "s": 1, "gamma": 0.9, "sigma": 0.08},
    {"M": 60, "n": 160, "d": 2, "s": 10, "gamma": 0.9, "sigma": 0.08},
    {"M": 60, "n": 640, "d": 2, "s": 40, "gamma": 0.9, "sigma": 0.08},
    {
        "M": 100,
        "n": 200,
        "d": 3,
        "s": 3,
        "gamma": 0.9,
        "sigma": 5.0,
        "Delta": 64.0,
        "start": "random",
    },
    {"M": 100, "n": 160, "d": 3, "rule": "fedprox", "gamma": 0.9, "sigma": 0.05},
    {"M": 150, "n": 200, "d": 4, "k": 4, "gamma": 0.9, "sigma": 0.08, "start": "translation"},
    {"M": 120, "n": 160, "d": 2, "gamma": 0.9, "sigma": 0.08, "profile": "one-small", "ratio": 5.0},
    {"M": 60, "n": 160, "d": 2, "gamma": 0.9, "Delta": 1e-3, "sigma": 8e-5},
    {"M": 8, "n": 160, "d": 3, "s": 2, "gamma": 0.9, "sigma": 0.08},
    {"M": 150, "n": 200, "d": 4, "k": 3, "s": 1, "gamma": 0.3, "sigma": 1e-9, "Delta": 0.3},
    # The floor is six times the error of known labels.  Divided by the root of 400 local steps it
    # is below that error.
    {"M": 60, "n": 200, "d": 3, "s": 400, "gamma": 0.002, "sigma": 0.08, "near": 0.02},
    # So many clusters that the floor over their number is below the largest of their errors.
    {"M": 14, "n": 800, "d": 5, "k": 7, "s": 1, "gamma": 0.99, "sigma": 0.083, "near": 0.029},
)


@claim("sxy.thm2-floor-sharp", FLOOR_SHARP, hidden={"C_N": ROWS, "C_n": 19.0})
def floor_sharp(statement: Statement, profile: Profile) -> Probability:
    """Runs without a wrong label, C1 = 1/2, C2 = 6, and C = 1 for the proof's 3."""
    return _each_time(statement, profile, RIGHT_LABELS, SHARP_CONSTANTS)


@claim("sxy.unbalanced", UNBALANCED)
def unbalanced(statement: Statement, profile: Profile) -> Probability:
    """Zipf and lognormal sizes: most clients have few rows and hold few of all rows."""
    cells: list[Params] = [
        {"M": 200, "n": 240, "d": 2, "sizes": "zipf", "spread": 0.8, "sigma": 3e-4, "gamma": 0.9},
        {"M": 200, "n": 240, "d": 3, "sizes": "lognormal", "sigma": 3e-4, "s": 5, "gamma": 0.9},
        {"M": 200, "n": 400, "d": 2, "sizes": "lognormal", "sigma": 1e-4, "rule": "fedprox"},
        # hardly any noise, small steps: the first term rules, and its symbols differ
        {"M": 300, "n": 400, "d": 3, "sizes": "lognormal", "spread": 0.7, "s": 2, "gamma": 0.05,
         "sigma": 1e-10, "profile": "one-small", "ratio": 4.0},
        {"M": 300, "n": 400, "d": 2, "sizes": "lognormal", "spread": 0.7, "s": 20, "gamma": 0.15,
         "sigma": 1e-10, "profile": "one-small", "ratio": 4.0},
        {"M": 300, "n": 400, "d": 3, "k": 3, "sizes": "zipf", "spread": 0.5, "s": 1, "gamma": 0.3,
         "sigma": 1e-10},
        # many local steps: kappa is far from the skewness
        {"M": 300, "n": 400, "d": 2, "sizes": "lognormal", "spread": 0.7, "s": 80, "gamma": 0.15,
         "sigma": 1e-10, "profile": "one-small", "ratio": 4.0},
    ]  # fmt: skip

    def values(params: Params) -> dict[str, float]:
        return {name: v for name, v in _values(params).items() if name not in ("rho", "skew")}

    def covariates(table: Table, _params: Params) -> dict[str, FloatArray]:
        return {
            "eta": table["step"],
            "rho": table["smallest"],
            "skew": table["skew"],
            "expected": table["expected"],
        }

    return _every_round(
        statement, profile, [{**cell, "rate": RATE} for cell in cells], values, covariates
    )


# --- One client -----------------------------------------------------------------------------------

OWN_MODEL = Finding(
    id="sxy-own-model",
    where="Theorem 2, the sentence after it, and Theorem 3",
    headline="A client's model after its local steps does not improve with the number of "
    "clients: the steps fit its own noise.",
    printed="$\\hat\\theta_{i,t}$ is the $z_{i,t}$-th entry of $\\theta_{i\\cdot,t}$, the models "
    "after the client's local steps.",
    found="The local steps fit the client's own noise: from the optimum, one step on $n_i$ rows "
    "moves the model by about $\\eta\\sigma\\sqrt{d/n_i}$, whatever $M$ is. As $M$ grows the bound "
    "falls to the order of $p_e$, which is exponentially small in $n_i$.",
    corrected="$\\hat\\theta_{i,t}=\\theta_{z_{i,t},t}$, the server's model, as in the proof.",
    severity="statement",
)


@claim(
    "sxy.per-client-as-printed", PER_CLIENT_AS_PRINTED, expected=Verdict.REFUTED, finding=OWN_MODEL
)
def per_client_as_printed(statement: Statement, profile: Profile) -> Probability:
    """One local step from the optimum, 10^30 clients, the most generous constants."""
    generous = {constant.name: constant.most_generous for constant in statement.constants}
    eta = 0.5

    def symbols(params: Params) -> dict[str, float]:
        full = NOISE.check(params)
        return {
            "n": full["N"],
            "d": full["d"],
            "sigma": full["sigma"],
            "Delta": 1.0,
            "M": 1e30,
            "k": 2.0,
            "s": 1.0,
            "eta": eta,
            "rho": 0.5,
            "kappa": 1.0,
            "skew": 1.0,
            "t": 1e9,
        }

    def log_tail(params: Params, bound: float) -> float:
        full = NOISE.check(params)
        at = bound * full["N"] / eta
        return float(noise_log_sf(at, full["N"], full["d"], full["sigma"]))

    cells: list[Params] = [{"N": 100_000, "d": d, "sigma": 0.5} for d in (2, 10)]

    def bad(table: Table, params: Params) -> BoolArray:
        bound = float(statement.bound({**symbols(params), **generous}, unchecked=True))
        return np.asarray(eta * table["xt_eps_norm"] / params["N"] > bound)

    return Probability(
        name=statement.id,
        sampling=Sampling(experiment=NOISE, max_trials=min(profile.max_trials, 512)),
        cells=tuple(cells),
        bad=bad,
        delta=lambda params: statement.failure_probability({**symbols(params), **generous}),
        event="the client's own model leaving its optimum by more than the bound",
    )


OWN_DATA = Finding(
    id="sxy-own-data",
    where="Theorem 2, last display, and its proof",
    headline="A client's probability of a wrong label is taken from a lemma on fixed models, and "
    "the models of Phase 2 depend on the client's data.",
    printed="With probability $1-p_e(n_i)$: the success probability $P\\{z_{i,t}=z_i\\}$ is shown "
    "in Lemma 10.",
    found="Lemma 10 limits $\\sup_\\theta P(i\\in S_j(\\theta))$. All rounds use the same rows, so "
    "$\\theta_{t-1}$ depends on those of client $i$. The probability that some models within "
    "$\\epsilon\\Delta$ give it a wrong label has no such limit. With $\\epsilon=1/10$, "
    "$d=10^5$ and $n_i=1000$ Gaussian rows it is close to one, and $p_e(n_i)<10^{-15}$ for "
    "$\\sigma\\le\\Delta$ and two clusters. For all clients together (36) limits the wrong labels "
    "uniformly.",
    corrected="For models that do not depend on the client's rows. By (36) the clients with a "
    "wrong label hold a share of at most $\\nu$ of the rows in any case.",
    severity="proof",
)


@claim("sxy.per-client", PER_CLIENT, finding=(OWN_MODEL, OWN_DATA), hidden=HIDDEN)
def per_client(statement: Statement, profile: Profile) -> Probability:
    """The server's model that one client chooses after forty rounds."""
    return explicit(
        statement,
        CONSTANTS,
        _sampling(profile, 2048),  # four clients alone need more than 256
        CLIENT_CELLS,
        _values,
        lambda table: table["client"],
        "the model that the client chooses exceeding its limit",
        _step,
    )


# --- What dominates -------------------------------------------------------------------------------

NOT_DOMINATED = Finding(
    id="sxy-not-dominated",
    where="after Theorem 3, and after Theorem 2",
    printed="The final estimation error is dominated by the clustering error captured by $\\nu$.",
    found="The bound is. The error of the runs is that of known labels, $\\sigma\\sqrt{d/N_j}$, "
    "wherever clients have enough rows for the theorem's condition on $\\nu$.",
    corrected="The upper bound (18) is dominated by the clustering error. The paper may mean this.",
    severity="slip",
)


_M_, _N_, _D_, _K_, _RHO_, _KAPPA_ = sp.symbols("M n d k rho kappa")
#: The square of nu in units of its constant, the deviation, and the error of known labels.
_SKEW_ = sp.Symbol("skew")
_SIZES = _KAPPA_**2 * _SKEW_ * _N_
_NU2 = _D_ * _K_ * _SKEW_ * sp.log(_K_) / _M_
_KNOWN2 = _D_ / (_RHO_ * _M_ * _N_)
_NEEDED = _KNOWN2 * _RHO_**2 / _KAPPA_**2
_X = sp.Symbol("X", positive=True)
_DEVIATION = _KAPPA_ / _RHO_ * sp.sqrt(_X)
_LOG = sp.log(sp.exp(1) / sp.sqrt(_X))
_DOMINATES = (
    ("log", 1 / _K_),
    (">=", sp.log(_K_), sp.Rational(1, 2)),
    (">", sp.log(_K_), 0),
    (">", _NU2, 0),
    (">=", 1, _NU2),
    (">=", _K_ * sp.log(_K_), 1, ("sum", 1, (
        "+", ("*", _K_, sp.log(_K_) - sp.Rational(1, 2)), (_K_ - 2) / 2,
    ))),
    (">=", 1, _RHO_, ("sum", 1, ("+", 1 - _K_ * _RHO_, ("*", _K_ - 2, _RHO_), _RHO_))),
    (">=", _SIZES, 1, ("sum", 1, (
        "+", ("*", _KAPPA_ - 1, _KAPPA_ + 1, _SKEW_, _N_), ("*", _SKEW_ - 1, _N_), _N_ - 1,
    ))),
    (">=", _NU2, _NEEDED, ("sum", 1, ("*", _NEEDED / _RHO_, (
        "+", ("*", _SIZES - 1, _K_, sp.log(_K_)), _K_ * sp.log(_K_) - 1, 1 - _RHO_,
    )))),
    ("name", _NU2, "X"),
    ("log", _X),
    (">=", _LOG, 1, ("sum", 1, ("*", sp.Rational(1, 2), ("+", _X - 1 - sp.log(_X), 1 - _X)))),
    (">=", _DEVIATION, sp.sqrt(_KNOWN2), ("square", _DEVIATION, sp.sqrt(_KNOWN2)),
     ("sum", 1, ("*", _KAPPA_**2 / _RHO_**2, _X - _NEEDED))),
    ("sum", 1, ("+", ("*", _DEVIATION, _LOG - 1), _DEVIATION - sp.sqrt(_KNOWN2))),
)  # fmt: skip


@claim("sxy.dominated-bound", DOMINATED_BOUND, finding=NOT_DOMINATED)
def dominated_bound(statement: Statement, profile: Profile) -> Search:
    """The deviation term of the floor, C = 1, against the error of known labels."""

    def values(point: Point) -> dict[str, float]:
        return {**{k: float(v) for k, v in point.items()}, "rho": point["balance"] / point["k"]}

    def known(point: Point) -> float:
        at = values(point)
        return math.sqrt(at["d"] / (at["rho"] * at["M"] * at["n"]))

    return search(
        statement,
        profile,
        known,
        {
            "M": IntRange(2, 10**12, log=True),
            "n": IntRange(1, 1000, log=True),
            "d": IntRange(1, 10**4, log=True),
            "k": IntRange(2, 50),
            "kappa": LogInterval(1.0, 100.0),
            "skew": LogInterval(
                1.0, 100.0, meaning="skewness $\\chi^2(n)+1$ of the clients' sizes"
            ),
            "balance": LogInterval(
                0.01, 1.0, meaning="share $\\rho$ of the smallest cluster, in units of $1/k$"
            ),
        },
        at=values,
        constants={"C": 1.0},
        everywhere=Everywhere(
            {
                **dict.fromkeys(("M", "n", "d", "kappa", "skew"), LogInterval(1.0, math.inf)),
                "k": LogInterval(2.0, math.inf),
                "rho": POSITIVE,
            },
            given=(
                (1, sp.Symbol("rho") * sp.Symbol("k")),
                (sp.Symbol("M"), sp.prod(sp.symbols("d k skew")) * sp.log(sp.Symbol("k"))),
            ),
            left=sp.sqrt(sp.Symbol("d") / sp.prod(sp.symbols("rho M n"))),
            hints=_DOMINATES,
        ),
        # nu is at most one, as in what is given above
        where=lambda p: p["d"] * p["k"] * math.log(p["k"]) * p["skew"] <= p["M"],
    )


#: Enough rounds to end, and few wrong labels.  In the last cell a failure is common, and k e^(-d)
#: allows it: a bound with k in the place of d does not.
SETTLED: tuple[Params, ...] = (
    {"M": 50, "n": 30, "d": 2, "s": 10, "gamma": 0.9, "sigma": 0.3},
    {"M": 60, "n": 20, "d": 3, "s": 10, "gamma": 0.9, "sigma": 0.2},
    {"M": 45, "n": 40, "d": 4, "k": 3, "s": 10, "gamma": 0.9, "sigma": 0.1},
    {"M": 160, "n": 20, "d": 1, "k": 4, "s": 10, "gamma": 0.9, "sigma": 0.3},
)


@claim("sxy.dominated", DOMINATED, finding=NOT_DOMINATED, hidden={"C_N": ROWS})
def dominated(statement: Statement, profile: Profile) -> Probability:
    """Learnt labels against known ones."""
    return explicit(
        statement,
        {},
        _sampling(profile),
        SETTLED,
        lambda params: _values(params, {}),
        lambda table: table[f"err_{N_ROUNDS}"],
        "the error of learnt labels exceeding that of known ones by more than a tenth",
        lambda table, _params: {"known": table["oracle"]},
    )


@claim(
    "sxy.dominated-large",
    DOMINATED_LARGE,
    finding=NOT_DOMINATED,
    smallest_profile="full",
    why_not_smaller="a trial draws up to 200 million features and takes a minute",
)
def dominated_large(statement: Statement, profile: Profile) -> Probability:
    """50,000 clients of eight rows with 500 features in eight clusters, and smaller ones."""
    cells: list[Params] = [
        {"M": 50_000, "n": 8, "d": 500, "k": 8},
        {"M": 20_000, "n": 8, "d": 200, "k": 8, "features": "rademacher"},
        {"M": 20_000, "n": 10, "d": 200, "k": 4, "profile": "one-small", "ratio": 3.0},
    ]
    return explicit(
        statement,
        {},
        Sampling(experiment=LARGE, max_trials=min(profile.max_trials, 16), first=4),
        cells,
        lambda params: {"k": params["k"], "d": params["d"]},
        lambda table: table["end"],
        "the error of learnt labels exceeding that of known ones by more than a tenth",
        lambda table, _params: {"known": table["known"]},
    )


@claim("sxy.saving-runs", SAVING_RUNS, finding=NO_SAVING_FINDING)
def saving_runs(statement: Statement, profile: Profile) -> Comparison:
    """Ten rounds of one local step and of many."""
    return Comparison(
        statement=statement,
        sampling=Sampling(
            experiment=LOCAL_STEPS, max_trials=min(profile.max_trials, 512), first=64
        ),
        cells=(
            {"M": 100, "n": 20, "d": 3, "s": 10},
            {"M": 100, "n": 5, "d": 10, "s": 5},
            {"M": 50, "n": 40, "d": 2, "s": 100},
        ),
        columns={"single": "single", "close": "close", "many": "many"},
        knowledge=lambda _params: Knowledge(low=0.0),
        unit="distance over that of the start",
        scale="sign",
    )


# --- Where the theorem says something -------------------------------------------------------------


def _setting(
    n: float,
    d: float,
    k: float,
    sigma: float = 0.1,
    *,
    M: float = 10_000.0,
    Delta: float = 1.0,
    kappa: float = 1.0,
    skew: float = 1.0,
) -> dict[str, float]:
    """A setting for `Vacuity`: equal clusters, constants proved or generous.

    ``n`` is the number of rows of the smallest client, where the sizes differ (``skew`` > 1): the
    share of wrong labels falls with the rows.
    """
    return {
        "M": M,
        "n": n,
        "d": d,
        "k": k,
        "sigma": sigma,
        "Delta": Delta,
        "epsilon": 1 / 3,
        "C_1": 0.2,
        "C_2": 4.0,
        "C": 1.0,
        "c": LABEL_RATE,
        "C_nu": 1.0,
        "rho": 1 / k,
        "kappa": kappa,
        "skew": skew,
    }


@claim("sxy.vacuity", VACUITY, hidden={"C_nu": 1.0})
def vacuity(statement: Statement, _profile: Profile) -> Vacuity:
    """Ten to ten thousand rows a client, along the number of clients.

    The theorem says something in the last setting alone, and with 2 % of the clients less it says
    nothing.  All of its symbols differ from one there, and the noise exceeds the distance of the
    models, so that the setting tells the statement from those with other exponents.
    """
    # 12.74 million clients are the fewest
    edge = _setting(5000, 1, 2, sigma=1.5, M=13e6, Delta=1.25, kappa=1.25, skew=1.5)
    return Vacuity(
        statement=statement,
        settings={
            "10 rows, d = 20, k = 4": _setting(10, 20, 4),
            "1000 rows, d = 20, k = 2": _setting(1000, 20, 2),
            "3000 rows, d = 20, k = 4": _setting(3000, 20, 4),
            "10000 rows, d = 500, k = 8": _setting(10_000, 500, 8),
            "3000 rows, d = 1, k = 2": _setting(3000, 1, 2, M=5000.0),  # 5242 are the fewest
            "5000 rows, d = 1, k = 2, noise above the distance, unequal sizes": edge,
        },
        along="M",
        trivial=epsilon * Delta,
    )


#: No larger rate serves Lemma 10.  At the optima of two clusters with Delta = sigma the margin of
#: the Student law is 1/2, and its tail falls like (1 + 1/4)^(-n/2), the power exactly.
LARGEST_RATE = 0.5 * math.log(1.25)


@claim("sxy.few-points", FEW_POINTS, expected=Verdict.VACUOUS)
def few_points(statement: Statement, _profile: Profile) -> Vacuity:
    """One to eighteen rows a client, with the largest rate that Lemma 10 allows."""
    return Vacuity(
        statement=statement,
        settings={
            f"{n} rows": {**_setting(n, 20, 2), "c": LARGEST_RATE} for n in (1, 2, 5, 10, 18)
        },
        along="M",
        trivial=sp.Integer(1),
    )

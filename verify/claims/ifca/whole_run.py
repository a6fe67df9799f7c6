r"""Corollary 1 of IFCA: the whole run, and the arithmetic of its proof.

Problem. IFCA with fresh samples in every step, from a start within (1/2 - alpha_0) Delta.  How
close are the models after T = 2 + log(Delta/(4 epsilon)) steps?

Guarantee. An error of at most epsilon = c6 (sigma/p) sqrt(d/(mn')) + c7 exp(-c8 (rho/(rho+1))^2 n')
with probability 1 - T/poly(m).

Algorithm. 24 resampled steps by their exact law, experiment ``ifca.trajectory`` (columns ``err_1``
to ``err_24``).

Computation. As printed, for clusters of any sizes: no c1 of a grid serves a balanced and an
unbalanced cell at once.  The corrected readings use c1 = 1/3 and c6 = 2: stationary noise (2/3)
sqrt(p_max)/sqrt(1 - 1/9) is below 0.71 of the floor, 3^-T leaves 2/9 of epsilon, and the rest is
room for fluctuations.  T is the statement's own definition, rounded up.

Reference. TIT 2022, Corollary 1 and its proof in Appendix B.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import mpmath
import numpy as np

from bounds.ifca.symbols import T
from bounds.ifca.whole_run import (
    COROLLARY_1,
    COROLLARY_1_AS_PRINTED,
    COROLLARY_1_BURN_IN,
    COROLLARY_1_OWN_STEP,
    COROLLARY_1_ROUNDS,
    COROLLARY_1_ROUNDS_AS_PRINTED,
)
from bounds.statement import Statement, evaluate, evaluate_mp
from trials.experiments.ifca.step import TRAJECTORY
from trials.run.cell import Params
from trials.run.store import Table
from verify.claim import Finding, claim
from verify.claims.common import Point, spelled
from verify.claims.ifca.cells import (
    C_1,
    COLUMNS,
    HIDDEN,
    OWN_COLUMNS,
    cell,
    grid,
    regressors,
    scattered,
    values,
    with_shapes,
)
from verify.claims.ifca.columns import from_trajectory
from verify.claims.ifca.one_step import STEP_SIZE
from verify.claims.ifca.tails import log_run_limit
from verify.decisions.domain import Choice, Interval, LogInterval
from verify.evidence import Figure, Series, Verdict
from verify.procedures.base import BoolArray, Observed, Presentation, Profile, Sampling, tex_number
from verify.procedures.constants import Constants
from verify.procedures.probability import Probability
from verify.procedures.search import Search
from verify.proofs.certificate import Certificate, Inequality, certificate
from verify.proofs.terms import Term, from_sympy, rational

ACCURACY = {"c_6": 2.0, "c_7": 1.0, "c_8": math.log(2) / 4}
RUN_ROWS = (
    (100, 4000, 20, 2, 4, 0.4),
    (1000, 4000, 64, 3, 16, 0.25),
    (1000, 200_000, 20, 2, 1, 0.47),
    (10_000, 1_000_000, 1000, 8, 16, 0.49),
    (10_000, 100_000_000, 64, 4, 0.01, 0.25),
    (100_000, 16000, 10_000, 2, 1000, 0.4),
    (10_000_000, 1_000_000, 2000, 16, 100, 0.45),
    (500, 16000, 16, 16, 1000, 0.1),
    (50, 4000, 1000, 2, 100, 0.3),
)
RUN_CELLS = with_shapes((*grid(COLUMNS, RUN_ROWS), *scattered(8, COLUMNS, (0.02, 0.49))))


def accuracy(statement: Statement, params: Params, constants: Mapping[str, float]) -> float:
    """The corollary's epsilon in a cell."""
    return float(statement.bound({**values(params), **constants}, unchecked=True))


def n_rounds(statement: Statement, params: Params, constants: Mapping[str, float]) -> int:
    """The stated number of steps T in a cell, rounded up (natural logarithm)."""
    epsilon = accuracy(statement, params, constants)
    at = {**values(params), **constants, "varepsilon": epsilon}
    return max(1, math.ceil(float(evaluate(statement.definitions[T], at))))


def run_claim(
    statement: Statement,
    profile: Profile,
    cells: Sequence[Params],
    constants: Mapping[str, float] = ACCURACY,
) -> Probability:
    """P(error after the stated number of steps > epsilon) <= T/m, constants exhibited."""

    def bad(table: Table, params: Params) -> BoolArray:
        after = table[f"err_{n_rounds(statement, params, constants)}"]
        return np.asarray(after > accuracy(statement, params, constants))

    def delta(params: Params) -> float:
        rounds = n_rounds(statement, params, constants)
        return statement.failure_probability({**values(params), "T": rounds})

    return Probability(
        name=statement.id,
        sampling=Sampling(experiment=TRAJECTORY, max_trials=profile.max_trials),
        cells=tuple({"c1": C_1, **c} for c in cells),
        bad=bad,
        delta=delta,
        event="an error above $\\varepsilon$ after the stated number of steps, with "
        + spelled(constants),
        validate=lambda params: statement.require(values(params)),
        log_limit=lambda params: log_run_limit(
            params,
            n_rounds(statement, params, constants),
            accuracy(statement, params, constants),
            math.log(delta(params)),
        ),
        present=lambda observed: _run_figure(statement, observed, constants),
    )


def unlike(observed: Sequence[Observed], n_shown: int) -> list[tuple[str, Observed]]:
    """The first cells that differ in m, d, k, alpha or rho, each with a label that tells it."""
    names = {"m": "m", "d": "d", "k": "k", "alpha": r"\alpha", "rho": r"\rho"}
    distinct: dict[tuple[str, ...], Observed] = {}
    for o in observed:
        v = values(o.params)
        key = tuple(f"${symbol}={tex_number(v[name])}$" for name, symbol in names.items())
        distinct.setdefault(key, o)
    shown = list(distinct.items())[:n_shown]
    told: list[int] = []  # as few symbols as tell the cells apart, three where that is possible
    for i in range(len(names)):
        parts = {tuple(key[j] for j in (*told, i)) for key, _ in shown}
        known = {tuple(key[j] for j in told) for key, _ in shown}
        if len(parts) > len(known) or (len(told) < 3 and len({key[i] for key, _ in shown}) > 1):
            told.append(i)
    return [(", ".join(key[i] for i in told), o) for key, o in shown]


def _run_figure(
    statement: Statement, observed: Sequence[Observed], constants: Mapping[str, float]
) -> Presentation:
    """Error quantiles along the run, in units of epsilon, in four cells unlike each other."""
    series = []
    for label, o in unlike(observed, 4):
        errors = from_trajectory(o.table, o.params) / accuracy(statement, o.params, constants)
        last = n_rounds(statement, o.params, constants)
        x = [float(t) for t in range(last + 1)]
        series.append(
            Series(
                label=label,
                x=x,
                y=[float(np.median(errors[:, t])) for t in range(last + 1)],
                lower=[float(np.quantile(errors[:, t], 0.05)) for t in range(last + 1)],
                upper=[float(np.quantile(errors[:, t], 0.95)) for t in range(last + 1)],
                style="line",
            )
        )
    worst = [
        float(np.max(o.table[f"err_{n_rounds(statement, o.params, constants)}"]))
        / accuracy(statement, o.params, constants)
        for o in observed
    ]
    return Presentation(
        figures=(
            Figure(
                name="run",
                title="Error along the run",
                xlabel="step",
                ylabel="error over $\\varepsilon$ (dimensionless)",
                yscale="log",
                series=series,
                hlines=[(1.0, "$\\varepsilon$")],
                caption="Median and central 90 percent of trials, up to the stated number of "
                "steps; worst cluster.",
            ),
        ),
        sharpness=(
            f"Largest final error over $\\varepsilon$: {max(worst):.2g} (over all trials of "
            f"{len(worst)} cells).",
        ),
    )


def every_step_constant(statement: Statement, profile: Profile, gap: float) -> Constants:
    """Feasibility over a grid of c1: balanced and unbalanced cells, generous constants.

    The statistic is the *smallest* error along the run.  So a violation holds for every number of
    steps up to `N_STEPS`.  Between the grid's values this argument holds: at ratio 99 a step
    constant of 1/99 or more multiplies the largest cluster's error by at least one, and a smaller
    one leaves at least (1 - 2/99)^24 = 0.61 of the smallest cluster's.
    """
    corner = {c.name: c.most_generous for c in statement.constants if c.generous != "choose"}
    # Two clusters: with more, the labels of models that diverge cost one draw a client.
    ratios = (1.0, 4.0, 99.0)
    base = cell(m=10**7, n=10**7, d=2000, k=2, rho=100.0, alpha=0.5 - gap)
    cells = tuple(
        {**base, "profile": "one-large", "ratio": ratio} if ratio > 1 else base for ratio in ratios
    )

    def in_symbols(params: Params) -> dict[str, float]:
        return {**values(params), "T": float(n_rounds(statement, params, corner))}

    return Constants(
        statement=statement,
        sampling=Sampling(
            experiment=TRAJECTORY, max_trials=min(profile.max_trials, 4096), first=256
        ),
        calibration=cells[:1],
        held_out=cells[1:],
        values=in_symbols,
        regressors=regressors,
        statistic=lambda table, params: np.fmin.reduce(from_trajectory(table, params), axis=1),
        covariates=lambda _table, _params: {},
        drift={},
        choices=(*(2.0**i for i in range(-9, 4)), 1 / 3, 0.6, 0.75),
        tighten=tuple(corner),
    )


# --- Corollary 1 --------------------------------------------------------------------------------


@claim(COROLLARY_1_AS_PRINTED, expected=Verdict.REFUTED, finding=STEP_SIZE, hidden=HIDDEN)
def corollary_1_as_printed(statement: Statement, profile: Profile) -> Constants:
    """Clusters of equal size, four and 99 times as large as the smallest, from alpha = 1/4."""
    return every_step_constant(statement, profile, 0.25)


LOGARITHM = Finding(
    id="ifca-logarithm",
    where="TIT 2022 and NeurIPS 2020, Corollary 1 and its proof",
    printed="$T=\\log(\\Delta/4\\varepsilon)$ halvings reduce $\\Delta/4$ to $\\varepsilon$.",
    found="With the natural logarithm they leave $(4\\varepsilon/\\Delta)^{\\log2}\\Delta/4$, "
    "larger than $\\varepsilon$ without bound; the logarithm must be to base two, or the "
    "factor at most $1/e$.",
    corrected="$\\log_2$, or a contraction factor of $1/e$ (with $c_1=1/3$ it is $1/3$).",
    severity="slip",
)


@claim(COROLLARY_1, finding=LOGARITHM, hidden=HIDDEN)
def corollary_1(statement: Statement, profile: Profile) -> Probability:
    """Clusters within a factor two of each other."""
    return run_claim(statement, profile, RUN_CELLS)


@claim(COROLLARY_1_OWN_STEP, hidden=HIDDEN)
def corollary_1_own_step(statement: Statement, profile: Profile) -> Probability:
    """Clusters of any sizes, own step sizes."""
    return run_claim(statement, profile, scattered(16, OWN_COLUMNS, (0.02, 0.49)))


# --- The arithmetic of the proof ----------------------------------------------------------------


def halving(statement: Statement, profile: Profile, base: float) -> Search:
    """Halving for ``log_base(Delta/(4 epsilon))`` steps: is Delta/4 brought down to epsilon?

    In units of epsilon, with gain = Delta/(4 epsilon).
    """

    def at(point: Point) -> dict[str, float]:
        return {"varepsilon": 1.0, "Delta": 4.0 * point["gain"]}

    def violation(point: Point) -> float:
        halvings = math.log(point["gain"]) / math.log(base)
        left = math.log(point["gain"]) - halvings * math.log(2)
        return left - math.log(float(evaluate(statement.expr, at(point)))) - 1e-12

    def recheck(point: Point) -> mpmath.mpf:
        log_base = 1 if base == math.e else mpmath.log(base)
        left = mpmath.log(point["gain"]) * (1 - mpmath.log(2) / log_base)
        return left - mpmath.log(evaluate_mp(statement.expr, at(point))) - mpmath.mpf("1e-30")

    return Search(
        name=statement.id,
        violation=violation,
        recheck=recheck,
        sides=lambda point: (math.exp(violation(point)), 1.0),
        certify=(lambda point: _too_few_halvings(statement, point)) if base == math.e else None,
        domain={"gain": LogInterval(1.0, 1e12)},
        budget=min(profile.searches, 500),
        unit="log of the remaining error over epsilon, gain = Delta/(4 epsilon)",
    )


def _too_few_halvings(statement: Statement, point: Point) -> Certificate:
    """log(gain) halvings of gain epsilon leave more than the stated epsilon (epsilon = 1)."""
    gain = Fraction(point["gain"])
    log: Term = ["log", rational(gain)]
    halved: Term = ["exp", ["-", ["*", log, ["log", "2"]]]]
    return certificate(
        f"Take $\\Delta=4\\cdot{float(gain):.4g}\\,\\varepsilon$. The natural logarithm of "
        "$\\Delta/(4\\varepsilon)$ is the number of halvings.",
        [
            Inequality(
                says="the error after these halvings exceeds the accuracy",
                left=["*", rational(gain), halved],
                relation=">",
                right=from_sympy(statement.expr, {"varepsilon": 1, "Delta": 4 * gain}),
            )
        ],
    )


@claim(COROLLARY_1_ROUNDS_AS_PRINTED, expected=Verdict.REFUTED, finding=LOGARITHM)
def rounds_as_printed(statement: Statement, profile: Profile) -> Search:
    """The natural logarithm."""
    return halving(statement, profile, math.e)


@claim(COROLLARY_1_ROUNDS, finding=LOGARITHM)
def rounds(statement: Statement, profile: Profile) -> Search:
    """The logarithm to base two."""
    return halving(statement, profile, 2.0)


@claim(COROLLARY_1_BURN_IN)
def burn_in(statement: Statement, profile: Profile) -> Search:
    """T' = log(8 (1 - 2 alpha_0)) halvings bring (1/2 - alpha_0) below 1/8, and so do two."""
    stated = float(statement.expr)

    def left(point: Point) -> float:
        start = 0.5 - point["alpha_0"]
        halvings = math.log(8 * 2 * start) if point["form"] == "printed" else 2.0
        return float(start * 0.5**halvings)

    return Search(
        name=statement.id,
        violation=lambda point: left(point) - stated - 1e-15,
        sides=lambda point: (left(point), stated),
        domain={"alpha_0": Interval(1e-6, 0.499999), "form": Choice(("printed", "two"))},
        budget=min(profile.searches, 1000),
        unit="remaining distance beyond Delta/8, in units of Delta",
        constants={"C_1": 8.0},
    )

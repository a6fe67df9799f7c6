r"""IFCA with strongly convex losses: one step, (22) to (32) and Theorem 2.

Problem. Models are close to their optima.  One step of length 1/L uses the clients that were
identified with each model.  How far is a model from its optimum afterwards?

Guarantee. `bounds.ifca.strongly_convex_step`: (1 - p lambda/(8L)) |error| plus three terms, with
probability 1 - delta.

Algorithm. One step, experiment ``ifca.sc-step``: quadratic losses with rare spikes, whose labels
and gradients have closed laws.

Computation. Constants exhibited by argument, from the proof with Lemma 3's constant four:
c0 = 8 (2/delta_0 with delta_0 = delta/4), c1 = 48 (3 times 4 X/delta_2), c2 = 16 (4k/delta times
sqrt(4 X 4/delta) times sqrt k).  (32): c1 = 12, c2 = 2.  Hidden constants: C_n = 4 gives each
client one half, C_p = 8 makes Chernoff's tail at most 1/(mn').

The printed bounds are 10 to 1,000 times the observed quantiles.  So (32) and Theorem 2 are tried
in cells in which one symbol lies far from all others (`ruling_cells.far_cells`).  Their sharper
forms (`-sharp`, proved in their readings) are tried where each term rules, and rare jumps of the
gradients' noise nearly attain them.

Reference. TIT 2022, Theorem 2 and its proof.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import sympy as sp

from bounds.ifca import strongly_convex_step as ss
from bounds.ifca.lemma_3 import L, X, lam, v
from bounds.ifca.symbols import err, gamma, m, n, p_j
from bounds.render import latex
from bounds.statement import Statement, evaluate
from trials.experiments.ifca import strongly_convex as experiments
from trials.experiments.ifca.strongly_convex import SC_STEP
from trials.run.cell import Params
from trials.run.experiment import Experiment
from verify.claim import Finding, claim, row, table
from verify.claims.common import ExactLog, Point, explicit, refuse_untried
from verify.claims.ifca.lemma_3 import CONDITION, LAM
from verify.claims.ifca.ruling_cells import (
    crowd_cells,
    far_cells,
    far_part_cells,
    half_of_all,
    informing_cells,
    many_jumps,
    many_rivals,
    noise_cells,
    part_cells,
    quiet_cells,
    small_failure_cells,
    stranger_cells,
)
from verify.claims.searching import search
from verify.decisions.domain import Interval, LogInterval, Ranges
from verify.procedures.base import Profile, Sampling
from verify.procedures.probability import Probability
from verify.procedures.rate import Rate, StatedRate
from verify.procedures.search import Search
from verify.proofs.propositions import POSITIVE, Everywhere

HIDDEN = {"C_n": 4.0, "C_p": 8.0}
_UNITS = LogInterval(1e-6, 1e6)

# --- The correctly identified clients: (22) to (25) ---------------------------------------------

_ANGLE = "direction of the gradient on its sphere, from curvature $\\lambda$ (0) to $L$ ($\\pi$)"
STEPS: Ranges = {
    "lam": replace(LAM, low=1e-6, high=1e6),
    "condition": LogInterval(1.0, 1e6, meaning=CONDITION),
    "err": LogInterval(1e-6, 1e6, meaning="distance of the model from its optimum"),
    "angle": Interval(0.0, math.pi, meaning=_ANGLE),
    "share": Interval(1e-6, 2.0, meaning="step size $\\hat\\gamma$ over $1/L$"),
}


def step(statement: Statement, profile: Profile) -> Search:
    """All gradients that a loss with these curvatures can have at a distance from its optimum.

    They fill the ball around (lam + L)/2 times the error with the radius (L - lam)/2 times its
    length, and the largest error lies on its sphere.
    """

    cosine = sp.Symbol("cosine")
    middle, spread = 1 - gamma * (L + lam) / 2, gamma * (L - lam) / 2

    def symbols(point: Point) -> dict[str, float]:
        smoothness = point["lam"] * point["condition"]
        at = {"L": smoothness, "gamma": point["share"] / smoothness}
        return {**point, **at, "cosine": math.cos(point["angle"])}

    return search(
        statement,
        profile,
        err * sp.sqrt((middle + spread * cosine) ** 2 + spread**2 * (1 - cosine**2)),
        STEPS,
        at=symbols,
        everywhere=Everywhere(
            {
                **dict.fromkeys(("lam", "L", "gamma", "err"), POSITIVE),
                "cosine": Interval(-1.0, 1.0),
            },
            given=((L, lam),),
            by="The gradients of all losses at an error fill the ball around $\\frac{\\lambda+L}2$ "
            "times it with the radius $\\frac{L-\\lambda}2$ times its length (Nesterov, "
            "Introductory Lectures on Convex Optimization, theorem 2.1.12). The next error is "
            "longest on its sphere.",
        ),
        budget=profile.searches // 8,
    )


#: Every count between a quarter of the cluster and all of it.
COUNTS: Ranges = {
    "v": _UNITS,
    "L": _UNITS,
    "condition": LogInterval(1.0, 1e6, meaning=CONDITION),
    "m": LogInterval(1.0, 1e9),
    "n": LogInterval(1.0, 1e9),
    "p_j": LogInterval(1e-3, 1.0),
    "smaller": Interval(
        1e-3, 1.0, meaning="smallest share $p$ of the clients over the own share of the cluster"
    ),
    "correct": Interval(
        0.25, 1.0, meaning="share of the clients of the cluster that are identified correctly"
    ),
    "delta_0": LogInterval(1e-9, 1.0),
}
#: The largest quantile of a mean of variance v^2/(n right), attained by three points.
LARGEST_QUANTILE = v / sp.sqrt(ss.delta_0 * n * ss.RIGHT)
_MARKOV = (
    "The mean of the gradients of $n'|S_1\\cap S_1^*|$ samples has the mean square "
    "$v^2/(n'|S_1\\cap S_1^*|)$ at most. Markov's inequality for the square limits its quantile."
)
#: The step's length times the right-hand side of (23).
FLUCTUATION = ss.RIGHT / (m * L) * v / (ss.delta_0 * sp.sqrt(n * ss.RIGHT))
_SHORTER = (
    "The correct clients alone make the step $\\hat\\gamma=|S_1\\cap S_1^*|/(mL)\\le1/L$, and the "
    "claim ifca.eq22-sharp gives the factor $1-\\hat\\gamma\\lambda$."
)
#: The factor of a quadratic of curvature lambda.
FACTOR = 1 - ss.RIGHT / m * lam / L


def counted(statement: Statement, profile: Profile, *, observed: sp.Expr, by: str = "") -> Search:
    """A formula in the number of clients that are identified correctly, and in some other letters.

    A coordinate on which neither side depends is without effect.  ``by`` says why no law and no
    loss exceeds the formula.
    """

    def symbols(point: Point) -> dict[str, float]:
        return {
            **point,
            "right": point["correct"] * point["p_j"] * point["m"],
            "p": point["smaller"] * point["p_j"],
            "lam": point["L"] / point["condition"],
        }

    correct, smaller = sp.symbols("correct smaller")
    names = ("v", "L", "lam", "m", "n", "delta_0")
    return search(
        statement,
        profile,
        observed,
        COUNTS,
        at=symbols,
        everywhere=Everywhere(
            {
                **dict.fromkeys(names, POSITIVE),
                "correct": Interval(0.25, 1.0),
                **dict.fromkeys(("smaller", "p_j"), LogInterval(0.0, 1.0)),
            },
            given=((L, lam), (1, ss.delta_0)),
            constants={"right": correct * p_j * m, "p": smaller * p_j},
            by=by,
        ),
        budget=profile.searches // 8,
    )


CORRECT = (
    row("ifca.eq22", ss.EQ_22, step),  # steps up to 1/L
    row("ifca.eq22-sharp", ss.EQ_22_SHARP, step),  # steps up to 2/(lambda + L)
    row("ifca.eq23", ss.EQ_23, counted, observed=LARGEST_QUANTILE, by=_MARKOV),
    row("ifca.eq23-chebyshev", ss.EQ_23_SHARP, counted, observed=LARGEST_QUANTILE, by=_MARKOV),
    row("ifca.eq25", ss.EQ_25, counted, observed=FLUCTUATION),
    row("ifca.eq25-sharp", ss.EQ_25_SHARP, counted, observed=FLUCTUATION),
    row("ifca.thm2-contraction", ss.CONTRACTION, counted, observed=FACTOR, by=_SHORTER),
    row("ifca.thm2-contraction-sharp", ss.CONTRACTION_SHARP, counted, observed=FACTOR, by=_SHORTER),
)

# --- The strangers and Theorem 2 ----------------------------------------------------------------

_NAMES = ("m", "n", "k", "d", "ratio", "Delta", "lam", "L", "eta", "v", "alpha", "delta")
_ROWS = (
    (1_000, 400, 2, 1, 1.0, 1.0, 1.0, 1.0, 0.5, 1.0, 0.25, 0.1),
    (1_000, 1_600, 2, 1, 1.0, 1.0, 1.0, 1.0, 0.1, 1e-6, 0.01, 0.05),
    (10_000, 10_000, 2, 3, 9.0, 0.1, 1.0, 10.0, 0.01, 0.1, 0.1, 0.2),
    (100_000, 100, 2, 2, 49.0, 1.4, 0.01, 1.0, 0.01, 10.0, 0.4, 0.1),
    (4_000, 10_000, 4, 3, 1.0, 1.2, 2.0, 2.0, 1.0, 5.0, 0.1, 0.3),
    (40_000, 100_000, 16, 20, 1.0, 1.0, 1.0, 100.0, 0.3, 1.0, 0.3, 0.1),
    (10**9, 1_000, 4, 8, 20.0, 0.5, 5.0, 50.0, 0.2, 1e-3, 0.2, 0.5),
    (1_000_000, 4, 3, 2, 1.0, 1.0, 1.0, 1.0, 0.1, 100.0, 0.45, 0.05),
    # almost no strangers, where the noise rules
    (1_000, 100, 2, 1, 1.0, 1.0, 1.0, 1.0, 1e-6, 1_000.0, 0.25, 0.5),
    (1_000, 100, 2, 1, 4.0, 0.1, 10.0, 1_000.0, 1e-6, 10.0, 0.25, 0.5),
)
#: So little noise that the contraction rules: there a step that is not made breaks Theorem 2.
_QUIET_ROWS = (
    (10**6, 10**4, 2, 1, 1.0, 1.0, 1.0, 1.0, 1e-4, 1e-3, 0.25, 0.1),
    (10**7, 10**6, 4, 3, 9.0, 1.0, 1.0, 4.0, 1e-4, 1e-3, 0.25, 0.2),
    (10**6, 10**5, 2, 2, 1.0, 0.5, 2.0, 2.0, 1e-5, 1e-4, 0.4, 0.3),
)


#: So much noise, and so many samples, that gradients of one sample each break (30) and (32), with
#: some strangers in most trials and a bound below the pull of labels at random.
_NOISY_ROWS = (
    (3_000, 10**6, 2, 1, 1.0, 1.0, 1.0, 1.0, 6.0, 1_000.0, 0.25, 0.5),
    (3_000, 10**7, 3, 4, 1.0, 1.0, 1.0, 2.0, 20.0, 10_000.0, 0.3, 0.5),
    (10**4, 10**7, 4, 8, 3.0, 1.0, 2.0, 2.0, 15.0, 10_000.0, 0.2, 0.5),
)


def noisy_cells() -> list[Params]:
    """Cells in which the strangers' noise is near its bound, for their contribution alone."""
    return [
        {**dict(zip(_NAMES, row, strict=True)), "start": "edge", "cluster": "smallest"}
        for row in _NOISY_ROWS
    ]


def step_cells() -> list[Params]:
    """Shapes at the edge of closeness, for the smallest cluster, and at the optimum."""
    rows: list[Params] = [
        {**dict(zip(_NAMES, row, strict=True)), "start": "edge", "cluster": "smallest"}
        for row in (*_ROWS, *_QUIET_ROWS)
    ]
    return [*rows, {**rows[-4], "start": "optimum"}]


def step_symbols(params: Params) -> dict[str, float]:
    """The statements' symbols in a cell.  The proof's deltas are its own shares of delta."""
    full = SC_STEP.check(params)
    counts = experiments.sizes(full)
    k, failure = full["k"], full["delta"]
    own = counts[0] if full["cluster"] == "smallest" else counts[-1]
    return {
        **{name: float(full[name]) for name in _NAMES if name != "ratio"},
        "p": counts[0] / full["m"],
        "p_j": own / full["m"],
        "theta_max": full["Delta"] * math.sqrt((k - 1) / (2 * k)),
        "delta_0": failure / 4,
        "delta_1": failure / (4 * k),
        "delta_2": failure / 4,
        **HIDDEN,
    }


def one_step(
    statement: Statement,
    profile: Profile,
    *,
    column: str,
    event: str,
    constants: Mapping[str, float] | None = None,
    more: Sequence[Params] = (),
    most: int = 16_384,
    by_law: bool = False,
) -> Probability:
    """One step in every cell, given the start's error and the number of strangers.

    ``most`` trials resolve the smallest delta of the cells.  A trial takes a microsecond.
    ``by_law`` decides cells with rare jumps by the law of the error after the step.
    """

    def law(side: int) -> ExactLog | None:
        def log_of(params: Params, bound: float) -> float | None:
            full = SC_STEP.check(params)
            jumps = full["rare"] > 0.0
            return experiments.log_tail_of_a_step(full, bound)[side] if jumps else None

        return log_of if by_law else None

    return explicit(
        statement,
        constants or {},
        Sampling(experiment=SC_STEP, max_trials=max(profile.max_trials, most)),
        [*step_cells(), *more],
        step_symbols,
        lambda table: table[column],
        event,
        lambda table, _cell: {"err": table["before"], "strangers": table["strangers"]},
        log_tail=law(1),
        log_least=law(0),
        known=lambda params: {"err": _start_error(params)},
    )


def _start_error(params: Params) -> float:
    """The error of every model before the step."""
    full = SC_STEP.check(params)
    return experiments.radius(full) if full["start"] == "edge" else 0.0


def _parts(failure: float, seed: int) -> list[Params]:
    """Cells for the strangers' part, whose bound fails with ``failure`` times delta at most."""
    return [
        *noisy_cells(),
        *part_cells(18, seed, failure=failure, pulled=True),
        *part_cells(18, seed + 1, failure=failure, pulled=False),
    ]


_EQ_32 = {"c_1": 12.0, "c_2": 2.0}


def _terms_of_eq_32(cell: Params) -> tuple[float, float]:
    """The two terms of (32) in a cell."""
    found = ss.EQ_32.term_values({**step_symbols(cell), **_EQ_32})
    return float(found["pull"]), float(found["fluctuation"])


_PULL: dict[str, Any] = {
    "column": "pull",
    "event": "the strangers pulling further than stated",
}
_AFTER = {"column": "after", "event": "an error above the bound"}
#: Theorem 2 asks for optima of norm one at most; its sharper form holds in any unit.
_FAR_APART = 50.0
STEP = table(
    one_step,
    row(
        "ifca.eq30",
        ss.EQ_30,
        more=(*_parts(0.25, 1), *far_part_cells(), *many_rivals()),
        sharper=ss.EQ_30_SHARP,
        hidden=HIDDEN,
        **_PULL,
    ),
    row("ifca.eq30-sharp", ss.EQ_30_SHARP, more=_parts(1.0, 3), **_PULL),
    row(
        "ifca.eq32",
        ss.EQ_32,
        constants=_EQ_32,
        more=(
            *_parts(0.5, 5),
            *far_part_cells(),
            *many_rivals(),
            *informing_cells(44, 9, _terms_of_eq_32),
        ),
        sharper=ss.EQ_32_SHARP,
        hidden=HIDDEN,
        **_PULL,
    ),
    row(
        "ifca.eq32-sharp",
        ss.EQ_32_SHARP,
        more=(*_parts(1.0, 7), *many_rivals(), many_jumps()),
        **_PULL,
    ),
    row(
        "ifca.thm2",
        ss.THEOREM_2,
        constants={"c_0": 8.0, "c_1": 48.0, "c_2": 16.0},
        more=(
            *noise_cells(18, 11, share=1e4),
            *stranger_cells(18, 12),
            *quiet_cells(12, 13),
            *far_cells(),
            *many_rivals(),
            half_of_all(),
            *small_failure_cells(),
        ),
        most=131_072,  # delta goes down to 1.5e-4, and by the law to 1e-8
        by_law=True,
        sharper=ss.THEOREM_2_SHARP,
        hidden=HIDDEN,
        **_AFTER,
    ),
    row(
        "ifca.thm2-sharp",
        ss.THEOREM_2_SHARP,
        more=(
            *noise_cells(18, 14, share=0.3, widest=_FAR_APART),
            *stranger_cells(18, 15, widest=_FAR_APART),
            *crowd_cells(12, 17),
            *quiet_cells(12, 16, widest=_FAR_APART),
            *many_rivals(),
        ),
        **_AFTER,
    ),
)

# --- Exponents ----------------------------------------------------------------------------------


def factorial(
    base: Params, ends: Mapping[str, tuple[float, float]], *, half: bool = True
) -> list[Params]:
    """Combinations of two ends of every parameter: all, or those with an even number of highs.

    Every effect of one parameter is then estimated apart from those of all others.
    """
    return [
        {**base, **{name: pair[i] for (name, pair), i in zip(ends.items(), high, strict=True)}}
        for high in itertools.product((0, 1), repeat=len(ends))
        if not (half and sum(high) % 2)
    ]


def rates(
    statement: Statement,
    profile: Profile,
    *,
    cells: Sequence[Params],
    names: Sequence[str],
    column: str,
    observable: str,
    experiment: Experiment = SC_STEP,
    symbols: Callable[[Params], Mapping[str, float]] = step_symbols,
    n_trials: int = 1024,
) -> Rate:
    """The exponents of the statement's term in the named symbols."""
    (term,) = statement.terms
    refuse_untried(statement, names)
    notation = statement.publication.notation
    return Rate(
        name=statement.id,
        sampling=Sampling(experiment=experiment, max_trials=min(profile.max_trials, n_trials)),
        cells=tuple(cells),
        statistic=lambda table: table[column],
        regressors=lambda params: {name: symbols(params)[name] for name in names},
        stated={
            name: StatedRate(
                exponent=statement.power(term.name, sp.Symbol(name)),
                side="equals",
                symbol=f"${latex(sp.Symbol(name), notation)}$",
            )
            for name in names
        },
        observable=observable,
    )


LOOSE_FLOOR = Finding(
    id="ifca-sc-floor",
    where="TIT 2022, (23) and the first term of $\\varepsilon_0$ in Theorem 2",
    headline="The first term of $\\varepsilon_0$ is a valid bound with wrong exponents of $p$ "
    "and $\\delta$: it is 100 times too large at $p=1/50$.",
    printed="$\\frac v{\\delta L\\sqrt{pmn'}}$.",
    found="The term is a valid bound with the wrong exponents of $p$ and $\\delta$. The step of a "
    "cluster is proportional to its number of clients, so its noise *falls* with $p$. The proof "
    "bounds one factor $|S_1\\cap S_1^*|$ by $m$ and the other by $pm/4$. At $p=1/50$ the term is "
    "100 times too large.",
    corrected="$\\frac{v\\sqrt{p_j}}{L\\sqrt{\\delta mn'}}$.",
    severity="slip",
)
#: No strangers, models at their optima.
_FLOOR: dict[str, Any] = {
    "cells": factorial(
        {"eta": 0.0, "start": "optimum", "d": 3},
        {
            "v": (0.1, 10.0),
            "L": (2.0, 200.0),
            "ratio": (9.0, 999.0),
            "m": (10**6, 10**8),
            "n": (10, 10**5),
        },
    ),
    "names": ("v", "L", "p", "m", "n"),
    "column": "after_squared",
    "observable": "the squared error of the smallest cluster's model one step after its optimum",
    "finding": LOOSE_FLOOR,
}
FLOOR_RATES = table(
    rates,
    row("ifca.thm2-floor-rates", ss.FLOOR_RATES),
    **_FLOOR,
)


@claim("ifca.thm2-term2-rates", ss.PULL_RATES)
def pull_rates(statement: Statement, profile: Profile) -> Rate:
    """Rare spikes with lambda = L, so many clients that about twenty are strangers in every cell.

    X stays below 1e-4, where its second power changes the share by less than a thousandth.
    """
    ends = {
        "eta": (5e-3, 0.05),
        "alpha": (0.02, 0.2),
        "lam": (0.3, 3.0),
        "Delta": (0.3, 1.4),
        "n": (10**8, 10**9),
    }
    return rates(
        statement,
        profile,
        cells=[
            {**cell, "L": cell["lam"], "m": int(10.0 / float(evaluate(X, cell)))}
            for cell in factorial({"v": 0.0}, ends, half=False)
        ],
        names=tuple(ends),
        column="stranger_share",
        observable="the share of strangers",
    )


LOOSE_CROSS = Finding(
    id="ifca-sc-cross",
    where="TIT 2022, (28), (30) and the third term of $\\varepsilon_0$ in Theorem 2",
    headline="The third term of $\\varepsilon_0$ grows with the number of clusters $k$, and "
    "the noise that it bounds does not.",
    printed="$\\frac{v\\eta k^{3/2}}{\\delta^{3/2}\\alpha\\lambda L\\Delta^2\\sqrt mn'}$.",
    found="A valid bound. The noise of the strangers does not grow with $k$: their gradients are "
    "independent, so one inequality serves for the sum over all clusters. The proof takes one for "
    "each cluster, with $\\delta_1=\\delta/(4k)$.",
    corrected="$\\frac{v\\eta}{\\delta\\alpha\\lambda L\\Delta^2\\sqrt mn'}$.",
    severity="slip",
)


def cross_rates(statement: Statement, profile: Profile, **more: tuple[float, float]) -> Rate:
    """Rare spikes, two clusters of equal sizes or as ``more`` says."""
    ends = {
        "v": (0.1, 10.0),
        "eta": (0.01, 0.1),
        "lam": (0.3, 3.0),
        "L": (10.0, 100.0),
        "Delta": (0.4, 1.4),
        "m": (10**12, 10**14),
        "n": (10**4, 10**6),
        **more,
    }
    return rates(
        statement,
        profile,
        cells=factorial({"d": 40, "start": "optimum"}, ends),
        names=tuple(ends),
        column="cross_squared",
        observable="the squared noise of the strangers' part of a step",
    )


CROSS_RATES = table(
    cross_rates,
    row("ifca.thm2-term3-rates", ss.CROSS_RATES, finding=LOOSE_CROSS),
)

r"""IFCA's statements about the closeness along a run.

Problem. The closeness alpha_t of step t is defined by the largest error (1/2 - alpha_t) Delta.
Does it stay above its start, does it increase, is the beginning slow when alpha_0 is small?

Guarantee. `bounds.ifca.closeness`: as printed, the error of no cluster increases, for all t.  The
proof needs less: the error never exceeds its start.

Algorithm. ``ifca.trajectory`` has the columns ``err_t`` and ``grew_from``, the largest error of a
single cluster that a step made larger.  ``ifca.step`` has ``err_before`` and ``err_after_max``.

Computation. c1 = 1/3.  Every cluster is tested by itself.  The printed statement, for all t, fails
at the floor.  Above twice the floor with c2 = 1 it holds.

Reference. TIT 2022, the text after Theorem 1 and the proof of Corollary 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bounds.ifca import closeness as bc
from bounds.ifca.hidden import HIDDEN
from bounds.statement import Statement, evaluate
from trials.experiments.ifca.step import N_STEPS, STEP, TRAJECTORY
from trials.run.cell import Params
from trials.run.store import Table
from verify.claim import Finding, claim, row, table
from verify.claims.common import CannotTry, explicit, log_failure
from verify.claims.ifca.cells import (
    C_1,
    COLUMNS,
    TWO_CLUSTERS_CELLS,
    cell,
    floor,
    grid,
    scattered,
    values,
    with_shapes,
)
from verify.claims.ifca.columns import error_before, from_trajectory
from verify.claims.ifca.tails import log_growth_limit, log_stay_limit, log_step_limit, start_of
from verify.evidence import Verdict
from verify.procedures.base import BoolArray, Observed, Presentation, Profile, Sampling
from verify.procedures.pages import of_finished
from verify.procedures.probability import Probability

_MONOTONE_ROWS = (
    (1000, 16000, 64, 2, 16, 0.25),
    (1000, 1_000_000, 64, 2, 16, 0.4),
    (10_000, 1_000_000, 1000, 8, 16, 0.49),
    (10_000_000, 1_000_000, 2000, 16, 100, 0.25),
    (1000, 200_000, 20, 2, 1, 0.45),
)


#: Four times as far from each other: the optima are as long as Assumption 2 allows.
_LONG = cell(m=1000, n=16_000, d=64, k=2, rho=256.0, alpha=0.25, scale=4.0)


def _monotone_cells() -> tuple[Params, ...]:
    """Hand-picked cells, then scattered ones."""
    picked = (*grid(COLUMNS, _MONOTONE_ROWS), *scattered(10, COLUMNS, (0.05, 0.49)))
    return with_shapes((*picked, _LONG))


def _all_steps(params: Params) -> dict[str, float]:
    """A cell in the statements' symbols, T being all the steps of the experiment."""
    return {**values(params), "T": float(N_STEPS)}


def monotone(statement: Statement, profile: Profile, *, above: float) -> Probability:
    """Does the error of any cluster grow, counted while it exceeds ``above`` floors?

    A step at c1 = 1/3 leaves a third of an error, plus noise of 2/3 sqrt(p_j) floors.  So from
    twice the floor on the error shrinks with c2 = 1.
    """
    if statement.expr != bc.ERR_T:
        raise CannotTry(
            f"{statement.id}: the experiment records whether an error grew, so the right-hand side "
            f"must be {bc.ERR_T}, not {statement.expr}"
        )

    def bad(table: Table, params: Params) -> BoolArray:
        grew_from = table["grew_from"]
        return np.asarray((grew_from > 0) & (grew_from >= above * floor(params)))

    def present(observed: Sequence[Observed]) -> Presentation:
        highest = max(float(o.table["grew_from"].max()) / floor(o.params) for o in observed)
        errors = [from_trajectory(o.table, o.params) for o in observed]
        back = [float(np.mean(np.any(np.diff(e, axis=1) > 0, axis=1))) for e in errors]
        return Presentation(
            sharpness=(
                f"The largest error that a step increased is {highest:.2g} floors "
                "($c_2=1$), over all trials.",
                "The largest error over the clusters grew as well, and $\\alpha$ itself fell, in "
                f"at least {math.floor(100 * min(back))}% of each cell's trials.",
            )
        )

    return Probability(
        name=statement.id,
        sampling=Sampling(experiment=TRAJECTORY, max_trials=profile.max_trials),
        cells=tuple({"c1": C_1, **c} for c in _monotone_cells()),
        bad=bad,
        delta=lambda params: statement.failure_probability(_all_steps(params)),
        log_delta=lambda params: log_failure(statement, _all_steps(params)),
        # the error before a step is the start's in the first one: it only has to be a number
        symbols=lambda _table, params: {**_all_steps(params), "err_t": start_of(params)},
        event="some cluster's error growing at some step"
        + (f" while at least {above:g} floors ($c_2=1$)" if above else "")
        + f", in {N_STEPS} steps",
        validate=lambda params: statement.require(values(params)),
        log_limit=lambda params: log_growth_limit(params, N_STEPS, above) if above else None,
        present=of_finished(present),
    )


MONOTONE = Finding(
    id="ifca-monotone",
    where="TIT 2022, proof of Corollary 1 and the text after Theorem 1",
    headline="A cluster's error does not decrease in every step: at the error floor it rises "
    "about as often as it falls.",
    printed="For all $t$ and $j$ the error does not increase; $\\alpha_t$ is non-decreasing.",
    found="True of a cluster only while its error exceeds twice the error floor. At the floor "
    "the fresh samples of the next step move it up about as often as down.",
    corrected="No cluster's error increases until it first falls below twice the floor.",
    severity="proof",
)


INCREASES = table(
    monotone,
    # every step of a run counts, the steps at the floor as well
    row(
        "ifca.alpha-increases-as-printed",
        bc.CLOSENESS_INCREASES_AS_PRINTED,
        above=0.0,
        refuted=MONOTONE,
    ),
    row("ifca.alpha-increases", bc.CLOSENESS_INCREASES, above=2.0, finding=MONOTONE),
    hidden=HIDDEN,
)


@claim("ifca.alpha-stays", bc.CLOSENESS_STAYS, hidden=HIDDEN)
def stays(statement: Statement, profile: Profile) -> Probability:
    """Is some cluster's error ever above its start, which is the same for every cluster?"""
    return Probability(
        name=statement.id,
        sampling=Sampling(experiment=TRAJECTORY, max_trials=profile.max_trials),
        cells=tuple({"c1": C_1, **c} for c in _monotone_cells()),
        bad=lambda table, params: np.any(
            from_trajectory(table, params)[:, 1:] > statement.bound(values(params), unchecked=True),
            axis=1,
        ),
        delta=lambda params: statement.failure_probability(_all_steps(params)),
        log_delta=lambda params: log_failure(statement, _all_steps(params)),
        symbols=lambda _table, params: _all_steps(params),
        event=f"some cluster's error exceeding its start at some of {N_STEPS} steps",
        validate=lambda params: statement.require(values(params)),
        log_limit=lambda params: log_stay_limit(
            params, N_STEPS, float(statement.bound(values(params), unchecked=True))
        ),
    )


#: More clusters, whose shares are far below the error of the start.
_MANY_CLUSTERS = tuple(
    cell(
        m=m,
        n=1.05 * HIDDEN["C_n"] * ((rho + 1) / (alpha * rho)) ** 2 * math.log(m),
        d=d,
        k=k,
        rho=rho,
        alpha=alpha,
    )
    for m, d, k, rho, alpha in ((1_000, 20, 8, 100.0, 0.01), (10_000, 64, 16, 4.0, 0.02))
)

SLOW = Finding(
    id="ifca-slow-start",
    where="TIT 2022, after Theorem 1 and in Section VII",
    headline="A start with a small $\\alpha_0$ is not slow: its first step contracts like all "
    "others.",
    printed="With very small $\\alpha_0$ the convergence can be slow at the beginning, and it "
    "gradually becomes faster.",
    found="No start of this kind exists under Assumption 2, whose $n'$ grows like "
    "$\\alpha_0^{-2}$: no client is misidentified, and the first step contracts like all others. "
    "What is slow is the bound's third term.",
    corrected="Slow at the beginning only with fewer samples than Assumption 2 asks for.",
    severity="strong",
)


@claim("ifca.fast-start", bc.FAST_START, finding=SLOW, hidden=HIDDEN)
def fast_start(statement: Statement, profile: Profile) -> Probability:
    """First steps from alpha_0 = 0.01 to 0.05, with the least n' that Assumption 2 allows.

    The floor gets the constant zero, which is harder: from such a start it is far below the error.
    """

    def first_factors(observed: Sequence[Observed]) -> Presentation:
        mean = [float(np.mean(o.table["err_after_max"] / o.table["err_before"])) for o in observed]
        return Presentation(
            sharpness=(
                f"Mean factor of the first step: {min(mean):.4f} to {max(mean):.4f} over "
                f"{len(observed)} cells.",
            )
        )

    procedure = explicit(
        statement,
        {"c_2": 0.0},
        Sampling(experiment=STEP, max_trials=profile.max_trials, first=256),
        [{"c1": C_1, **c} for c in (*TWO_CLUSTERS_CELLS, *_MANY_CLUSTERS)],
        values,
        lambda table: table["err_after_max"],
        "a first step that leaves more than half of the error",
        error_before,
        log_tail=log_step_limit,
        known=lambda params: {"err": start_of(params)},
    )
    return replace(procedure, present=of_finished(first_factors))


@claim(
    "ifca.faster-as-printed",
    bc.FASTER_AS_PRINTED,
    expected=Verdict.REFUTED,
    finding=SLOW,
    hidden=HIDDEN,
)
def faster_as_printed(statement: Statement, profile: Profile) -> Probability:
    """The first two steps of runs that are still far from their floor."""

    def bad(table: Table, params: Params) -> BoolArray:
        errors = from_trajectory(table, params)
        first, second = errors[:, 1] / errors[:, 0], errors[:, 2] / errors[:, 1]
        return np.asarray(second > evaluate(statement.expr, {bc.FACTOR.name: first}))

    return Probability(
        name=statement.id,
        sampling=Sampling(experiment=TRAJECTORY, max_trials=profile.max_trials),
        cells=tuple({"c1": C_1, **c} for c in (*_monotone_cells(), *TWO_CLUSTERS_CELLS[::8])),
        bad=bad,
        delta=lambda params: statement.failure_probability(values(params)),
        event="the second step's factor on the largest error exceeding the first step's",
        validate=lambda params: statement.require(values(params)),
    )

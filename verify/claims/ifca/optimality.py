r"""IFCA's error against the minimax rate.

Problem. An oracle that knows all identities has N = 2 p m n' T samples of the smallest cluster.
Which error does least squares leave, and how much more does IFCA leave?

Guarantee. `bounds.ifca.optimality`: IFCA's error exceeds the minimax rate by the factor
sqrt(2 T/p) at most.

Algorithm. Least squares on drawn data (``least-squares.data``, column ``squared_error``) and
IFCA's whole run (``ifca.trajectory``, column ``floor_smallest``).

Computation. The mean squared error of least squares, with limits from its exact variance.  IFCA's
final error regressed on m, n', d, p and sigma, with the exponents that the statement's ratio and
the minimax rate imply.

Reference. TIT 2022, the remarks after Corollary 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from bounds.ifca.optimality import MINIMAX, MINIMAX_RATE, NEAR_OPTIMAL
from bounds.statement import Statement, evaluate
from trials.experiments.gaussian import LEAST_SQUARES
from trials.experiments.ifca.step import N_STEPS, TRAJECTORY
from trials.run.cell import Params
from verify.claim import Finding, claim
from verify.claims.ifca.cells import HIDDEN, values
from verify.claims.ifca.one_step import own_step_cells, rate_regressors, rate_rows, stated_exponents
from verify.decisions.means import Knowledge
from verify.procedures.base import Observed, Presentation, Profile, Sampling
from verify.procedures.mean_bound import MeanBound
from verify.procedures.rate import Rate

SAMPLE_COUNT = Finding(
    id="ifca-sample-count",
    where="TIT 2022, after Corollary 1",
    printed="$n=2n'T=2n'\\log(\\Delta/4\\varepsilon)$.",
    found="The journal's $T$ is $2+\\log(\\Delta/4\\varepsilon)$; two steps are dropped.",
    corrected="$n=2n'(2+\\log(\\Delta/4\\varepsilon))$.",
    severity="slip",
)
LOWER_BOUND = Finding(
    id="ifca-lower-bound",
    where="TIT 2022 and NeurIPS 2020, after Corollary 1",
    printed="One cannot obtain an error rate better than $O(\\cdot)$.",
    found="A lower bound is meant.",
    corrected="$\\Omega(\\cdot)$.",
    severity="slip",
)


@claim(MINIMAX, finding=(SAMPLE_COUNT, LOWER_BOUND))
def minimax(statement: Statement, _profile: Profile) -> MeanBound:
    """The mean squared error of least squares on drawn data is the one in the rate."""
    return MeanBound(
        statement=statement,
        sampling=Sampling(experiment=LEAST_SQUARES, max_trials=16_384, first=4096),
        cells=tuple(
            {"N": n, "d": d, "sigma": sigma}
            for n, d, sigma in (
                (8, 1, 1.0),
                (20, 10, 0.1),
                (18, 10, 1.0),
                (100, 10, 10.0),
                (50, 40, 0.1),
            )
        ),
        statistic=lambda table, _params: table["squared_error"],
        knowledge=_squared_error,
        observable="the squared error of least squares",
    )


def _squared_error(params: Params) -> Knowledge:
    r"""The variance of the squared error, from its exact law.

    The error is :math:`\sigma^2 \chi^2_d / \chi^2_{N-d+1}` with independent numerator and
    denominator, so its first two moments are known; the second exists for N > d + 3.
    """
    n, d, noise = params["N"], params["d"], params["sigma"] ** 2
    spare = n - d - 1
    if spare <= 2:
        return Knowledge(low=0.0)
    mean, second = noise * d / spare, noise**2 * d * (d + 2) / (spare * (spare - 2))
    return Knowledge(low=0.0, variance=second - mean**2)


@claim(NEAR_OPTIMAL, hidden=HIDDEN)
def near_optimal(statement: Statement, profile: Profile) -> Rate:
    """Final error of the smallest cluster over the minimax rate with all samples.

    The statement bounds a ratio; its exponents times those of the minimax rate are the error's.
    """

    def rate(params: Params) -> float:
        return float(evaluate(MINIMAX_RATE, {**values(params), "T": N_STEPS}))

    return Rate(
        name=statement.id,
        sampling=Sampling(experiment=TRAJECTORY, max_trials=min(profile.max_trials, 512)),
        cells=own_step_cells(rate_rows(0.25), (0.01, 0.4)),
        statistic=lambda table: table["floor_smallest"],
        regressors=rate_regressors,
        stated=stated_exponents(MINIMAX_RATE * statement.expr, "equals"),
        observable=f"the smallest cluster's error after {N_STEPS} steps; bound: the minimax rate "
        "with all samples used",
        validate=lambda params: statement.require({**values(params), "T": N_STEPS}),
        bound=rate,
        present=lambda observed: _over_minimax(observed, rate),
    )


def _over_minimax(observed: Sequence[Observed], rate: Callable[[Params], float]) -> Presentation:
    """How much larger the error is than the minimax rate, and how much of that is resampling."""
    ratios = [float(o.table["floor_smallest"].mean()) / rate(o.params) for o in observed]
    price = math.sqrt(2 * N_STEPS)
    return Presentation(
        sharpness=(
            "The minimax rate has exponents $(-1/2,-1/2,1/2,-1/2)$ in $(m,n',d,p)$; the observed "
            f"error is {min(ratios):.2f} to {max(ratios):.2f} times as large, "
            f"{min(ratios) / price:.2f} to {max(ratios) / price:.2f} times "
            f"$\\sqrt{{2T}}={price:.2f}$, the price of steps on $1/(2T)$ of the data each.",
        )
    )

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

from bounds.ifca.hidden import HIDDEN
from bounds.ifca.optimality import MINIMAX_RATE, NEAR_OPTIMAL, ORACLE_MSE
from bounds.ifca.symbols import T
from bounds.ifca.whole_run import COROLLARY_1_OWN_STEP
from bounds.statement import Statement, evaluate, exponent
from trials.experiments.gaussian import LEAST_SQUARES
from trials.experiments.ifca.step import N_STEPS, TRAJECTORY
from trials.run.cell import Params
from verify.claim import Finding, claim
from verify.claims.common import CannotTry, refuse_untried
from verify.claims.ifca.cells import in_every_direction, values
from verify.claims.ifca.one_step import (
    RATE_SYMBOLS,
    own_step_cells,
    rate_regressors,
    rate_rows,
    stated_exponents,
)
from verify.claims.ifca.whole_run import ACCURACY
from verify.decisions.means import Knowledge
from verify.procedures.base import Observed, Presentation, Profile, Sampling
from verify.procedures.mean_bound import MeanBound
from verify.procedures.pages import of_finished
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


@claim("ifca.oracle-mse", ORACLE_MSE, finding=(SAMPLE_COUNT, LOWER_BOUND))
def oracle_mse(statement: Statement, _profile: Profile) -> MeanBound:
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
    denominator, so its first two moments are known.  The second exists for N > d + 3.
    """
    n, d, noise = params["N"], params["d"], params["sigma"] ** 2
    spare = n - d - 1
    if spare <= 2:
        return Knowledge(low=0.0)
    mean, second = noise * d / spare, noise**2 * d * (d + 2) / (spare * (spare - 2))
    return Knowledge(low=0.0, variance=second - mean**2)


@claim("ifca.near-optimal", NEAR_OPTIMAL, hidden=HIDDEN)
def near_optimal(statement: Statement, profile: Profile) -> Rate:
    """Final error of the smallest cluster over the minimax rate with all samples.

    The statement bounds a ratio; its exponents times those of the minimax rate are the error's.
    Every cell is read after the same number of steps, so that no power of T can be tried.
    """
    if (power := exponent(MINIMAX_RATE * statement.expr, T)) != 0:
        raise CannotTry(
            f"{statement.id}: the error would have the exponent {power} in T, and every cell is "
            f"read after {N_STEPS} steps"
        )
    refuse_untried(statement, RATE_SYMBOLS, MINIMAX_RATE * statement.expr)

    def at_the_end(params: Params) -> dict[str, float]:
        """A cell in the statement's symbols, T being the stated number of steps there."""
        v = {**values(params), **ACCURACY}
        epsilon = float(COROLLARY_1_OWN_STEP.bound(v, unchecked=True))
        rounds = float(evaluate(statement.definitions[T], {**v, "varepsilon": epsilon}))
        return {**v, "T": float(min(max(math.ceil(rounds), 1), N_STEPS))}

    return Rate(
        name=statement.id,
        sampling=Sampling(experiment=TRAJECTORY, max_trials=min(profile.max_trials, 512)),
        cells=in_every_direction(own_step_cells(NEAR_OPTIMAL_ROWS, (0.01, 0.4))),
        statistic=lambda table: table["floor_smallest"],
        regressors=rate_regressors,
        stated=stated_exponents(MINIMAX_RATE * statement.expr, "equals"),
        observable=f"the smallest cluster's error after {N_STEPS} steps; bound: the minimax rate "
        "times the printed ratio",
        validate=lambda params: statement.require({**values(params), "T": N_STEPS}),
        bound=lambda params: float(evaluate(MINIMAX_RATE * statement.expr, at_the_end(params))),
        present=of_finished(lambda observed: _over_minimax(statement, observed, at_the_end)),
    )


#: Runs of 5 to 15 stated steps: the noise differs by factors of 4^4.
NEAR_OPTIMAL_ROWS = (
    *rate_rows(0.25),
    *((16384, 16000, 64, 3, 4.0**power, 0.25, 0.05) for power in (6, 7, 8, 9, 10)),
)


def _over_minimax(
    statement: Statement,
    observed: Sequence[Observed],
    at_the_end: Callable[[Params], dict[str, float]],
) -> Presentation:
    """The printed ratio and the observed one, both after the stated number of steps."""
    rounds, printed, ratios = [], [], []
    for o in observed:
        at = at_the_end(o.params)
        error = o.table[f"err_{round(at['T'])}"]
        rounds.append(at["T"])
        printed.append(float(evaluate(statement.expr, at)))
        ratios.append(float(error.mean()) / float(evaluate(MINIMAX_RATE, at)))
    shares = [r / p for r, p in zip(ratios, printed, strict=True)]
    price = [r / math.sqrt(2 * t) for r, t in zip(ratios, rounds, strict=True)]
    return Presentation(
        sharpness=(
            f"After the stated number of steps, {min(rounds):.0f} to {max(rounds):.0f}, the error "
            f"of the worst cluster is {min(ratios):.2f} to {max(ratios):.2f} times the minimax "
            f"rate. The printed ratio (with $c_6={ACCURACY['c_6']:g}$) is {min(printed):.3g} to "
            f"{max(printed):.3g}, the observed one {min(shares):.2g} to {max(shares):.2g} times "
            f"that. It is {min(price):.2f} to {max(price):.2f} times $\\sqrt{{2T}}$, the price of "
            "steps on $1/(2T)$ of the data each. The factor $1/\\sqrt p$ is not seen.",
        )
    )

r"""Lemma 2 of IFCA: the norms of a Gaussian matrix and of its product with the noise.

Problem. X has N rows of d standard Gaussian features, epsilon is Gaussian noise.  How large are the
operator norm of X and the norm of X^T epsilon?

Guarantee. `bounds.ifca.matrices`: |X| is at most of order max(sqrt(d), sqrt(N)), and |X^T epsilon|
at most of order sigma sqrt(d N), each but with exponentially small probability.

Algorithm. None.  ``lemma2-opnorm`` draws singular values (experiment ``gauss.opnorm``, column
``s_max``).  ``lemma2-noise`` computes the exact law of the product of two chi-squares.

Computation. The norm with Davidson & Szarek's constants: P(|X| > sqrt(N) + sqrt(d) + t) <=
exp(-t^2/2) at t^2 = max(N, d) gives c = 3 and c1 = 1/2.  The noise with P(chi2_N chi2_d > 16 N d)
<= P(chi2_N > 4N) + P(chi2_d > 4d) and the Chernoff bound exp(-(q/2)(3 - log 4)) for q degrees of
freedom, (3 - log 4)/2 > 0.8.

Reference. TIT 2022, Lemma 2.
"""

from __future__ import annotations

import math

import numpy as np

from bounds import gaussian
from bounds.ifca.matrices import HANSON_WRIGHT, LEMMA_2_NOISE, LEMMA_2_OPNORM
from bounds.statement import Statement
from trials.experiments.gaussian import OPNORM
from trials.laws.matrix_tail import log_norm_tail
from trials.laws.noise import noise_log_sf
from trials.run.cell import Params
from verify.claim import claim
from verify.claims.common import LOWEST, RELATIVE_LOG, Point, explicit, log_bound, relative
from verify.decisions.domain import IntRange, LogInterval
from verify.procedures.base import Profile, Sampling
from verify.procedures.probability import Probability
from verify.procedures.search import Search


def matrix_symbols(params: Params) -> dict[str, float]:
    """A cell of the matrix experiments in the statements' symbols."""
    return {"N": float(params["N"]), "d": float(params["d"])}


def matrix_sampling(profile: Profile) -> Sampling:
    """Trials of ``gauss.opnorm``: at most 65,536 a cell."""
    return Sampling(experiment=OPNORM, max_trials=min(profile.max_trials, 65_536))


@claim(LEMMA_2_OPNORM)
def lemma_2_opnorm(statement: Statement, profile: Profile) -> Probability:
    """Small shapes, where the stated probability can be resolved, and large ones, where not."""
    shapes = [(1, 1), (2, 2), (1, 8), (8, 1), (4, 4), (8, 8), (3, 12), (12, 3), (12, 12)]
    shapes += [(1000, 10), (10, 1000), (300, 300), (1, 10_000)]
    return explicit(
        statement,
        {"c": 3.0, "c_1": 0.5},
        matrix_sampling(profile),
        [{"N": n, "d": d} for n, d in shapes],
        matrix_symbols,
        lambda table: table["s_max"],
        "the norm exceeding its bound",
        log_tail=lambda params, bound: log_norm_tail(params["N"], params["d"], bound),
    )


@claim(LEMMA_2_NOISE)
def lemma_2_noise(statement: Statement, profile: Profile) -> Search:
    """The exact tail beyond c4 = 4 times the typical size sigma sqrt(d N)."""
    constants = {"c_2": 2.0, "c_3": 0.8, "c_4": 4.0}
    bound = log_bound(statement, constants)

    def log_tail(point: Point) -> float:
        threshold = constants["c_4"] * math.sqrt(point["d"] * point["N"])
        return max(float(noise_log_sf(threshold, point["N"], point["d"], 1.0)), LOWEST)

    return Search(
        name=statement.id,
        violation=lambda point: relative(log_tail(point), bound(point)),
        sides=lambda point: (math.exp(log_tail(point)), math.exp(bound(point))),
        domain={"N": IntRange(1, 100_000, log=True), "d": IntRange(1, 10_000, log=True)},
        budget=max(500, profile.searches // 4),
        unit=RELATIVE_LOG,
        constants=constants,
    )


@claim(HANSON_WRIGHT)
def hanson_wright(statement: Statement, profile: Profile) -> Search:
    """Equal singular values: both tails of a chi variable about the root of its mean square."""
    constants = {"c": 1 / 8}
    bound = log_bound(statement, constants)

    def log_tail(point: Point) -> float:
        rank, root = point["r"], math.sqrt(point["r"])
        above = gaussian.chi_square_log_tail(rank, (1 + point["tau"] / root) ** 2 - 1)
        if point["tau"] >= root:
            return max(above, LOWEST)
        below = gaussian.chi_square_log_tail(rank, (1 - point["tau"] / root) ** 2 - 1)
        return max(float(np.logaddexp(above, below)), LOWEST)

    return Search(
        name=statement.id,
        violation=lambda point: relative(log_tail(point), bound(point)),
        sides=lambda point: (math.exp(log_tail(point)), math.exp(bound(point))),
        domain={"r": IntRange(1, 1_000_000, log=True), "tau": LogInterval(0.01, 100.0)},
        budget=max(500, profile.searches // 4),
        unit=RELATIVE_LOG,
        constants=constants,
    )

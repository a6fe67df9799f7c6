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
from collections.abc import Callable, Mapping

import numpy as np
import sympy as sp

from bounds import gaussian
from bounds.gaussian import N
from bounds.ifca import matrices as bm
from bounds.ifca.symbols import d
from bounds.statement import Statement
from trials.experiments.gaussian import OPNORM
from trials.laws.matrix_tail import log_norm_tail
from trials.laws.noise import noise_log_sf
from trials.run.cell import Params
from verify.claim import claim, row, table
from verify.claims.common import Point, explicit
from verify.claims.searching import search
from verify.decisions.domain import IntRange, LogInterval, Ranges
from verify.decisions.measures import LOG_PROBABILITY, LOWEST
from verify.procedures.base import Profile, Sampling
from verify.procedures.probability import Probability
from verify.procedures.search import Search
from verify.proofs.cells import ExactTail
from verify.proofs.propositions import NOT_NEGATIVE, POSITIVE, Reduction


def matrix_symbols(params: Params) -> dict[str, float]:
    """A cell of the matrix experiments in the statements' symbols."""
    return {"N": float(params["N"]), "d": float(params["d"])}


def matrix_sampling(profile: Profile) -> Sampling:
    """Trials of ``gauss.opnorm``: at most 65,536 a cell."""
    return Sampling(experiment=OPNORM, max_trials=min(profile.max_trials, 65_536))


#: The norm's limit by the theorem of Davidson and Szarek, in every cell.
NORM = ExactTail(
    idea="The bound lies above $\\sqrt N+\\sqrt d$, and the theorem limits the tail beyond. The "
    "certificate compares both probabilities.",
    lemmas=("davidson-szarek",),
    limit=sp.exp(-(sp.Max(sp.Symbol("bound") - sp.sqrt(N) - sp.sqrt(d), 0) ** 2) / 2),
)


@claim("ifca.lemma2-opnorm", bm.LEMMA_2_OPNORM)
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
        tail=NORM,
    )


def log_noise_tail(point: Point) -> float:
    """Log of P(noise > c4 = 4 times the typical size sigma sqrt(d N))."""
    threshold = 4.0 * math.sqrt(point["d"] * point["N"])
    return max(float(noise_log_sf(threshold, point["N"], point["d"], 1.0)), LOWEST)


def log_chi_tails(point: Point) -> float:
    """Log of both tails of a chi variable about the root of its mean square.

    It is the norm of X times a Gaussian vector where all singular values of X are equal.
    """
    rank, root = point["r"], math.sqrt(point["r"])
    above = gaussian.chi_square_log_tail(rank, (1 + point["tau"] / root) ** 2 - 1)
    if point["tau"] >= root:
        return max(above, LOWEST)
    below = gaussian.chi_square_log_tail(rank, (1 - point["tau"] / root) ** 2 - 1)
    return max(float(np.logaddexp(above, below)), LOWEST)


NOISE = Reduction(
    idea="The norm is $\\sigma\\sqrt{AB}$ with $A\\sim\\chi^2_N$ and $B\\sim\\chi^2_d$. Where "
    "it exceeds $4\\sigma\\sqrt{dN}$, $A$ exceeds $4N$ or $B$ exceeds $4d$. Each has at most "
    "the probability $e^{-q(3-\\log4)/2}$ with its degrees of freedom $q$. The sum is at "
    "most twice the larger one.",
    lemmas=("union-bound", "chernoff"),
    ranges={"N": POSITIVE, "d": POSITIVE},
    left=sp.log(2) - sp.Min(N, d) * (3 - 2 * sp.log(2)) / 2,
    hints=((">=", sp.Rational(7, 10), sp.log(2)), ("cases", N - d)),
)

_R, _X, _V = sp.symbols("r x v")
_ABOVE = _R * (2 * sp.log(1 + _X) - 2 * _X - _X**2) / 2
_BELOW = _R * (2 * _V / (1 + _V) - 2 * sp.log(1 + _V) - _X**2) / 2
CONCENTRATION = Reduction(
    idea="Given $X$ the squared norm is $\\sigma^2\\sum_ia_ig_i^2$ with the squared singular "
    "values $a_i$. Let $r=\\norm X_F^2/\\norm X_{op}^2$ and $\\tau=x\\sqrt r$: $\\log(1-2sa)$ is "
    "concave in $a$, so the logarithm of the moment generating function is at most that of "
    "$\\norm X_{op}^2$ times $r$ degrees of freedom. Chernoff's bound follows on both sides. The "
    "lower side is empty for $x\\ge1$, where $v=0$, and otherwise $v=x/(1-x)$. The certificate "
    "bounds both, and the sum is at most twice the larger one.",
    lemmas=("chernoff", "jensen", "union-bound"),
    ranges={"r": LogInterval(1.0, math.inf), "x": POSITIVE, "v": NOT_NEGATIVE},
    given=((_X, _V / (1 + _V)),),
    quantities=lambda point: _share_of_root(point),
    constants={"tau": _X * sp.sqrt(_R)},
    left=sp.log(2) + sp.Max(_ABOVE, _BELOW),
    hints=(("log", 1 + _X), ("log", 1 / (1 + _V)), ("cases", _ABOVE - _BELOW)),
)


def _share_of_root(point: Point) -> dict[str, float]:
    """The deviation over the root of the rank, and its odds where the lower side is not empty."""
    x = point["tau"] / math.sqrt(point["r"])
    return {"x": x, "v": x / (1 - x) if x < 1 else 0.0}


def tails(
    statement: Statement,
    profile: Profile,
    *,
    observed: Callable[[Point], float],
    constants: Mapping[str, float],
    domain: Ranges,
    everywhere: Reduction,
) -> Search:
    """An exact tail against the statement's exponential."""
    return search(
        statement,
        profile,
        observed,
        domain,
        constants=constants,
        measure=LOG_PROBABILITY,
        everywhere=everywhere,
        budget=max(500, profile.searches // 4),
    )


_RANK = "rank of the matrix $X$, whose singular values are equal"
TAILS = table(
    tails,
    row(
        "ifca.lemma2-noise",
        bm.LEMMA_2_NOISE,
        observed=log_noise_tail,
        constants={"c_2": 2.0, "c_3": 0.8, "c_4": 4.0},
        domain={"N": IntRange(1, 100_000, log=True), "d": IntRange(1, 10_000, log=True)},
        everywhere=NOISE,
    ),
    row(
        "ifca.eq20",
        bm.HANSON_WRIGHT,
        observed=log_chi_tails,
        constants={"c": 1 / 2},
        domain={
            "r": IntRange(1, 1_000_000, log=True, meaning=_RANK),
            "tau": LogInterval(0.01, 100.0),
        },
        everywhere=CONCENTRATION,
    ),
)

r"""Proof of Theorem 1 of IFCA, second part: the share of the misidentified clients.

Problem. T2 is the part of a cluster's step that comes from clients of other clusters (strangers).
How large is it, and how many strangers are there?

Guarantee. `bounds.ifca.strangers`: |T2| <= c5 (gamma/m) (number of strangers) max(1, d/n'), and
under Assumption 2 there is no stranger but with probability 1/poly(m).

Algorithm. One round of labels and one gradient step.  (7) uses experiment ``ifca.gradient-norm``
(column ``gradient_norm``), (8) experiment ``ifca.strangers`` (columns ``n_strangers``,
``t2_norm``).  The numbers of strangers follow from the exact law of a client's label, by search.

Computation. (7), (8): 2(9 max(d, n') |theta_j^* - theta_1| + 4 sigma sqrt(d n'))/n' with distance
<= 3/2 and sigma <= 1 gives c5 = 35.  (10) to (12): Lemma 1's rate, halved by the factor m, halved
again by Markov.  poly(m): at most m^2 pairs of a client and a rival, each with m^(-c2 C_n (q+2))
and C_n = 1/c2.

Reference. TIT 2022, proof of Theorem 1, (7) to (12).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bounds.ifca.strangers import EQ_7, EQ_8, EQ_10, EQ_12, POLY_M
from bounds.statement import Statement
from trials.experiments.ifca.labels import GRADIENT
from trials.experiments.ifca.strangers import STRANGERS
from trials.laws.step_tail import log_gradient_tail
from trials.run.cell import Params
from verify.claim import Finding, claim
from verify.claims.common import LOWEST, Point, explicit, log_bound, relative
from verify.claims.ifca.cells import C_1, HIDDEN, cell, values
from verify.claims.ifca.labels import (
    CLUSTER_DOMAIN,
    LEMMA_1_RATE,
    REGIME_DOMAIN,
    log_any_rival,
    regime_search,
    rival_log_probabilities,
)
from verify.decisions.domain import IntRange
from verify.procedures.base import Profile, Sampling
from verify.procedures.probability import Probability
from verify.procedures.search import Search

THIRD_TERM = Finding(
    id="ifca-third-term",
    where="TIT 2022 and NeurIPS 2020, Theorem 1, (1)",
    printed="A third term $c_3\\exp(-c_4(\\frac{\\alpha\\rho}{\\rho+1})^2n')$.",
    found="Under Assumption 2 it is superfluous: by (12) the number of strangers, an integer, is "
    "zero but with probability $1/\\mathrm{poly}(m)$, so $T_2=0$.",
    corrected="(1) without its third term, under the same assumptions.",
    severity="slip",
)

# --- Size: (7) and (8) --------------------------------------------------------------------------


def _log_gradient_limit(params: Params, bound: float) -> float:
    """The model lies within (1/2 - alpha) Delta of its optimum, at most Delta from the client's."""
    distance = (1.5 - params["alpha"]) * params["Delta"]
    return log_gradient_tail(params["n"], params["d"], distance, params["sigma"], bound)


@claim(EQ_7)
def eq_7(statement: Statement, profile: Profile) -> Probability:
    """Every shape of (n', d) from 1 to 1000, at the adversarial and the orthogonal start."""
    shapes = [(n, d) for n in (1, 2, 4, 8, 16, 1000) for d in (1, 2, 4, 8, 16, 1000)]

    def symbols(params: Params) -> dict[str, float]:
        return {"n": float(params["n"]), "d": float(params["d"])}

    return explicit(
        statement,
        {"c_1": 4.0, "c_2": 0.5, "c_5": 35.0},
        Sampling(experiment=GRADIENT, max_trials=profile.max_trials),
        [
            {"n": n, "d": d, "k": 2, "Delta": 1.0, "sigma": 1.0, "alpha": 0.01, "init": init}
            for n, d in shapes
            for init in (("adversarial",) if d == 1 else ("adversarial", "orthogonal"))
        ],
        symbols,
        lambda table: table["gradient_norm"],
        "the gradient's norm exceeding its bound",
        log_tail=_log_gradient_limit,
    )


@claim(EQ_8, finding=THIRD_TERM, hidden=HIDDEN)
def eq_8(statement: Statement, profile: Profile) -> Probability:
    """Cells with many strangers: alpha = 0.02, little signal, every profile of sizes."""
    cells = []
    for m, n, d, k, rho in (
        (100, 60, 20, 2, 0.3),
        (1000, 80, 40, 4, 0.1),
        (1000, 100, 2000, 3, 1.0),
        (1000, 100, 64, 8, 0.03),
        (10_000_000, 60, 64, 2, 0.1),
        (100, 2000, 20, 2, 0.01),
        (100, 100, 1000, 2, 4.0),
    ):
        shapes: tuple[tuple[str, dict[str, Any]], ...] = (
            ("translation", {}),
            ("orthogonal", {"profile": "one-small", "p_min": 0.2 / k}),
            ("random", {"profile": "one-large", "ratio": 8.0}),
        )
        for init, sizes in shapes:
            params = cell(m=m, n=n, d=d, k=k, rho=rho, alpha=0.02, init=init, **sizes)
            cells.append({**params, "c1": C_1})

    def symbols(params: Params) -> dict[str, float]:
        v = values(params)
        return {**v, "gamma": params["c1"] / v["p"]}

    return explicit(
        statement,
        {"c_5": 35.0},
        Sampling(experiment=STRANGERS, max_trials=profile.max_trials),
        cells,
        symbols,
        lambda table: table["t2_norm"],
        "the strangers' contribution exceeding its bound",
        lambda table, _params: {"strangers": table["n_strangers"]},
    )


# --- Number: (10), (12) and poly(m) -------------------------------------------------------------


def _log_worst_stranger(point: Point) -> float:
    """Log of the probability of entering cluster 0, from the cluster that enters it most often."""
    return float(rival_log_probabilities(point, into=True).max())


@claim(EQ_10)
def eq_10(statement: Statement, profile: Profile) -> Search:
    """The expected number of strangers, for clusters of any sizes."""
    constants = {"c_6": 1.0, "c_7": LEMMA_1_RATE}
    bound = log_bound(statement, constants)

    def log_count(point: Point) -> float:
        # The worst sizes put all other clients into the cluster that is mistaken most often.
        return float(np.log(point["m"]) + _log_worst_stranger(point))

    return Search(
        name=statement.id,
        violation=lambda point: relative(log_count(point), bound(point)),
        sides=lambda point: (math.exp(log_count(point)), math.exp(bound(point))),
        domain={**CLUSTER_DOMAIN, "m": IntRange(10, 10_000_000, log=True)},
        budget=profile.searches,
        unit="log of the expected count over the bound, relative to the bound's log",
        constants=constants,
    )


POLY = Finding(
    id="ifca-poly",
    where="TIT 2022, (12)",
    printed="$\\ge1-\\mathrm{poly}(m)$.",
    found="The right side is below zero for every polynomial, so the inequality always holds.",
    corrected="$\\ge1-1/\\mathrm{poly}(m)$.",
    severity="slip",
)


@claim(EQ_12, finding=(POLY, THIRD_TERM))
def eq_12(statement: Statement, profile: Profile) -> Search:
    """No strangers, with n' as large as the condition with C_n = 4/log 2 asks, or larger."""

    def log_any(point: Point) -> float:
        """Log of 1 - (1 - P)^m, all clients in the cluster that is mistaken most often."""
        log_each = _log_worst_stranger(point)
        if log_each + math.log(point["m"]) < -30:  # then it is m P to rounding
            return max(log_each + math.log(point["m"]), LOWEST)
        return math.log(-math.expm1(point["m"] * math.log1p(-math.exp(log_each))))

    constants = {"c_8": LEMMA_1_RATE / 2, "C_n": 2 / LEMMA_1_RATE}
    return regime_search(statement, profile, log_any, constants)


@claim(POLY_M, finding=THIRD_TERM)
def poly_m(statement: Statement, profile: Profile) -> Search:
    """Some client errs with probability at most m^-q, for every degree q from 1 to 8."""
    return regime_search(
        statement,
        profile,
        lambda point: math.log(point["m"]) + log_any_rival(point),
        {"C_n": 1 / LEMMA_1_RATE},
        {**REGIME_DOMAIN, "q": IntRange(1, 8)},
    )

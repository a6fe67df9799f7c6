r"""Conditions that Lemma 2 and Theorem 2 need and do not list.

Problem. Lemma 2 has no condition on the models, and Theorem 2 asks for eta of order 1/s alone.  Do
they hold without the conditions of the text around them?

Guarantee. `bounds.sxy.needed_conditions`: from models at one point half of the labels are wrong,
whatever M and n are, and with eta = 1/s a round with right labels can move away.

Algorithm. Rounds of FedAvg (`trials.mixed_regression.fed_regression`) on orthogonal rows, and the
labels that equal models give.  No trial is drawn.

Computation. Lemma 2: every constant at the generous end of its box.  The sum over the second
cluster is at least its quadratic form, a chi-square variable, and with probability 1 - 1/e that is
at least its mean n less 2 sqrt(n).

Reference. Lemma 2, Theorem 2, and the text above it.
"""

from __future__ import annotations

import math

import numpy as np
import sympy as sp

from bounds.statement import Statement, evaluate
from bounds.sxy.needed_conditions import LEMMA_2_ANY_MODELS, STABLE_STEP_NEEDED
from bounds.sxy.symbols import M, gamma, n
from trials.checks import FloatArray
from trials.mixed_regression.fed_regression import run_fed_regression
from trials.models.clients import ClientData
from verify.claim import Finding, claim
from verify.claims.common import Point
from verify.claims.searching import Proof, generous, search
from verify.decisions.domain import Choice, IntRange, LogInterval, Ranges
from verify.evidence import Verdict
from verify.procedures.base import Profile
from verify.procedures.search import Search

CLOSENESS = Finding(
    id="sxy-lemma2-closeness",
    where="Lemma 2",
    headline="Lemma 2 needs models near their optima: with all models at one point half of the "
    "labels are wrong, whatever the number of clients and rows.",
    printed="For every $\\theta_{t-1}$, without a condition on $d(\\theta_{t-1},\\theta^*)$.",
    found="$\\nu$ counts the wrong labels of models near their optima (Lemma 10). With two "
    "models at one point half of the labels are wrong, whatever $M$ and $n_i$ are, and "
    "$\\nu\\log(e/\\nu)$ tends to zero as both grow. The sketch says that the error is small.",
    corrected="For $d(\\theta_{t-1},\\theta^*)\\le\\epsilon\\Delta$, as in Theorem 2.",
    severity="strong",
)

STABLE_STEP = Finding(
    id="sxy-stable-step",
    where="Theorem 2",
    printed="$\\eta\\lesssim1/s$ as the only condition on the step size.",
    found="$\\gamma<1$ stands in the text above the theorem, and Lemma 7 needs it. "
    "$\\eta\\lesssim1/s$ does not imply it, since a client with one row has "
    "$\\gamma\\approx\\eta d$. With $d=30$, $s=3$, $\\eta=1/s$ and two clusters a round with right "
    "labels makes the error eleven times as long.",
    corrected="$\\gamma<1$ beside $\\eta\\lesssim1/s$.",
    severity="slip",
)

#: Half of Delta = 1: the distance of the mean of two optima from each.
_MIDDLE = 0.5


@claim(
    "sxy.lemma2-any-models-as-printed",
    LEMMA_2_ANY_MODELS,
    expected=Verdict.REFUTED,
    finding=CLOSENESS,
)
def lemma_2_from_any_models(statement: Statement, profile: Profile) -> Search:
    """Both models at the mean of two optima, any number of clients and rows."""
    domain: Ranges = {
        "M": LogInterval(2.0, 1e30),
        "n": LogInterval(1.0, 1e9),
        "d": IntRange(8, 1000, log=True),
    }
    fixed = {"k": 2, "s": 1, "gamma": 0.5, "Delta": 1.0, "sigma": 1.0, "skew": 1, "dist": _MIDDLE}
    return search(
        statement,
        profile,
        sp.Float(_MIDDLE) * (sp.Rational(1, 2) - sp.sqrt(2 / (M * n))),
        domain,
        at=lambda point: {**point, **fixed},
        constants=generous,
        proof=Proof(
            argument="Take both models at the mean of two optima with $\\Delta=1$, $10^{30}$ "
            "clients with $10^6$ rows each, $d=20$, and no noise. All clients get the first label, "
            "so that the second cluster is wrong.",
            values={**fixed, "gamma": "1/2", "dist": "1/2", "M": 10**30, "n": 10**6, "d": 20},
        ),
    )


def one_round(d: int, n_steps: int, k: int) -> tuple[float, float]:
    """The distances before and after a round of right labels, by the algorithm as it is printed.

    Every cluster has d clients with one row each, d times the squared length one, and orthogonal.
    The models err along the sum of the rows, by so little that all labels are right.
    """
    directions = np.linalg.qr(np.random.default_rng(d).standard_normal((d, d)))[0]
    rows: FloatArray = math.sqrt(d) * directions
    along = directions.sum(axis=0) / math.sqrt(d)  # every row has the same product with it
    optima = np.arange(k)[:, None] * along
    models = optima + 1e-3 * along
    features = np.tile(rows, (k, 1))
    responses = np.sum(features * np.repeat(optima, d, axis=0), axis=1)
    found = run_fed_regression(
        data=ClientData.equal(features[:, None], responses[:, None]),
        start=models,
        update="fedavg",
        step_size=1.0 / n_steps,
        n_rounds=1,
        n_local_steps=n_steps,
        divergence_bound=1e30,
    )
    before, after = (np.linalg.norm(m - optima, axis=1).max() for m in (models, found.models))
    return float(before), float(after)


@claim("sxy.stable-step-needed", STABLE_STEP_NEEDED, finding=STABLE_STEP)
def away_from_the_optima(statement: Statement, profile: Profile) -> Search:
    """A round of FedAvg with eta = 1/s on orthogonal rows, two to four clusters."""

    def growth(point: Point) -> float:
        before, after = one_round(int(point["d"]), int(point["s"]), int(point["k"]))
        return after / before

    def symbols(point: Point) -> dict[str, float]:
        step = float(evaluate(statement.definitions[gamma], point))
        return {**point, "rho": 1 / point["k"], "gamma": step}

    return search(
        statement,
        profile,
        growth,
        {"d": IntRange(1, 60, log=True), "s": Choice((3, 5, 7, 9)), "k": IntRange(2, 4)},
        at=symbols,
        budget=min(profile.searches, 200),
    )

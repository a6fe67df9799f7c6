r"""Proof of Theorem 1 of IFCA, first part: the share of the correctly identified clients.

Problem. T1 is one cluster's error after a step with the data of the clients that belong to the
cluster and were identified correctly.  Does it contract?

Guarantee. `bounds.ifca.correct_clients`: |T1| <= (1 - c5 gamma p) |error| + c6 gamma sigma
sqrt(d/(mn')) with probability 1 - 1/poly(m).

Algorithm. One gradient step.  (2) and (3) are tried by search, on drawn matrices and on the exact
binomial law.  (4) uses experiment ``gauss.opnorm`` (column ``gram_deviation``).  (5) uses the exact
law of a step, experiment ``ifca.step`` (columns ``err_before``, ``err_after_max``).

Computation. Constants exhibited by argument: (3) Hoeffding, c = 1/8.  One half: Lemma 1's rate with
C_n = 3/c2, which is enough for k <= m rivals.  (5) with small steps: 1 - 2 gamma p_j plus the
orthogonal fluctuation is at most 1 - gamma p, and the noise is 2 gamma sigma |X^T eps|/(mn') with
Lemma 2's typical size: c5 = 1, c6 = 4.

Reference. TIT 2022, proof of Theorem 1, (2) to (5).
"""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np

from bounds import gaussian
from bounds.ifca.correct_clients import (
    EQ_2,
    EQ_2_AS_PRINTED,
    EQ_3,
    EQ_4,
    EQ_5,
    EQ_5_AS_PRINTED,
    EXPECTED_CORRECT,
    HALF_CORRECT,
)
from bounds.statement import Statement, evaluate, evaluate_mp
from trials.experiments.ifca.step import STEP
from trials.laws.matrix_tail import log_gram_tail
from trials.run.cell import Params
from verify.claim import Finding, claim
from verify.claims.common import LOWEST, RELATIVE_LOG, Point, explicit, log_bound, relative
from verify.claims.ifca.cells import (
    AT_OPTIMUM,
    COLUMNS,
    HIDDEN,
    OWN_COLUMNS,
    grid,
    in_every_direction,
    values,
)
from verify.claims.ifca.columns import error_before
from verify.claims.ifca.labels import (
    REGIME_DOMAIN,
    START_DOMAIN,
    in_regime,
    regime_search,
    wrong_label,
)
from verify.claims.ifca.matrices import matrix_sampling, matrix_symbols
from verify.claims.ifca.tails import log_step_limit, start_of
from verify.decisions.domain import Choice, Interval, IntRange, LogInterval, Ranges
from verify.evidence import Verdict
from verify.procedures.base import Profile, Sampling
from verify.procedures.probability import Probability
from verify.procedures.search import Search
from verify.proofs.certificate import Certificate, Inequality, certificate
from verify.proofs.terms import from_sympy

# --- The triangle inequality (2) ----------------------------------------------------------------

ABSOLUTE_VALUE = Finding(
    id="ifca-absolute-value",
    where="TIT 2022, proof of Theorem 1, (2) and (5)",
    headline="The factor $1-2\\gamma N/(mn')$ lacks its absolute value, and the proof's own "
    "step size does not contract.",
    printed="$\\norm{T_1}\\le(1-\\frac{2\\gamma N}{mn'})\\norm{\\theta_1-\\theta_1^*}+\\dots$",
    found="The absolute value is missing. The proof bounds $N$ from below only, so every $c_5$ "
    "that it can give is at most $1/2$ ($N\\ge p_1mn'/4$ alone gives $1/4$), and its "
    "choice $\\gamma=1/(2c_5p)\\ge1/p$ makes $|1-2\\gamma p_j|\\ge1$: the proof's own step "
    "size does not contract even for equal clusters.",
    corrected="$|1-\\frac{2\\gamma N}{mn'}|$, and an upper bound on $N$ as well.",
    severity="proof",
)

STEP_DOMAIN: Ranges = {
    "N": IntRange(1, 6),
    "d": IntRange(1, 6),
    "a": LogInterval(0.01, 100.0),
    "err": LogInterval(0.01, 10.0),
    "sigma": Choice((0.0, 0.1, 1.0)),
    "seed": IntRange(0, 1000),
}


def _step_data(point: Point) -> tuple[np.ndarray[Any, Any], ...]:
    """Features (N, d), noise (N,) and the error (d,), of length ``err``, at a point."""
    rng = np.random.default_rng(int(point["seed"]))
    x = rng.standard_normal((int(point["N"]), int(point["d"])))
    noise = point["sigma"] * rng.standard_normal(int(point["N"]))
    u = rng.standard_normal(int(point["d"]))
    return x, noise, point["err"] * u / np.linalg.norm(u)


def _triangle(statement: Statement, profile: Profile) -> Search:
    """The norm of T1 on drawn data against the statement's right-hand side."""

    def sides(point: Point) -> tuple[float, float]:
        x, noise, u = _step_data(point)
        n, a = x.shape[0], point["a"]
        left = u - a / n * (x.T @ (x @ u)) + a / n * (x.T @ noise)
        gram = np.linalg.norm(x.T @ x - n * np.eye(x.shape[1]), 2) / n
        values = {
            "a": a,
            "err": point["err"],
            "gram": gram,
            "noise": np.linalg.norm(x.T @ noise) / n,
        }
        return float(np.linalg.norm(left)), float(evaluate(statement.expr, values))

    def recheck(point: Point) -> mpmath.mpf:
        x, noise, u = (mpmath.matrix(v.tolist()) for v in _step_data(point))
        n, a = mpmath.mpf(x.rows), mpmath.mpf(point["a"])
        left = u - (a / n) * (x.T * (x * u)) + (a / n) * (x.T * noise)
        gram = max(abs(e) for e in mpmath.eigsy(x.T * x - n * mpmath.eye(x.cols))[0]) / n
        values = {
            "a": a,
            "err": mpmath.norm(u),
            "gram": gram,
            "noise": mpmath.norm(x.T * noise) / n,
        }
        return mpmath.norm(left) - evaluate_mp(statement.expr, values)

    return Search(
        name=statement.id,
        violation=lambda point: (
            sides(point)[0] - sides(point)[1] - 1e-12 * point["a"] * (1.0 + point["err"])
        ),
        recheck=recheck,
        certify=lambda _point: _one_sample(statement),
        sides=sides,
        domain=STEP_DOMAIN,
        budget=profile.searches,
        unit="left side minus right side",
    )


def _one_sample(statement: Statement) -> Certificate:
    """One sample x = 1 in one dimension, no noise, an error of one, the step a = 2."""
    values = {"a": 2, "err": 1, "gram": 0, "noise": 0}
    return certificate(
        "Take $N=d=1$, $x=1$, no noise, an error of one and $a=2$. Then $X^\\top X=N$ and the step "
        "takes the error from $1$ to $-1$.",
        [
            Inequality(
                says="the norm of the new error, one, exceeds the right-hand side",
                left="1",
                relation=">",
                right=from_sympy(statement.expr, values),
            )
        ],
    )


@claim(EQ_2_AS_PRINTED, expected=Verdict.REFUTED, finding=ABSOLUTE_VALUE)
def eq_2_as_printed(statement: Statement, profile: Profile) -> Search:
    """(2) as printed fails as soon as the step is longer than 1/(2 p_j)."""
    return _triangle(statement, profile)


@claim(EQ_2, finding=ABSOLUTE_VALUE)
def eq_2(statement: Statement, profile: Profile) -> Search:
    """(2) with the absolute value holds for every step."""
    return _triangle(statement, profile)


# --- How many clients are correct: one half each, and (3) ---------------------------------------


@claim(HALF_CORRECT)
def half_correct(statement: Statement, profile: Profile) -> Search:
    """A client errs with probability at most one half, for k <= m rivals.

    C_n = 2 exceeds 2/c2, so that k/2 exp(-c2 C_n log m) is below one half.
    """
    return regime_search(statement, profile, wrong_label, {"C_n": HIDDEN["C_n"]}, START_DOMAIN)


@claim(EXPECTED_CORRECT)
def expected_correct(statement: Statement, profile: Profile) -> Search:
    """The expected number of a cluster's clients with the right label, by its limits."""
    constants = {"C_n": HIDDEN["C_n"]}
    inside = in_regime(statement, constants)

    def count(point: Point) -> float:
        """A lower limit on the expected number."""
        size = point["p"] * point["m"]
        return float(-size * math.expm1(wrong_label(inside(point)).upper))

    def stated(point: Point) -> float:
        return float(evaluate(statement.expr, point))

    return Search(
        name=statement.id,
        violation=lambda point: stated(point) / max(count(point), 1e-300) - 1.0,
        sides=lambda point: (count(point), stated(point)),
        domain={**START_DOMAIN, **REGIME_DOMAIN, "p": LogInterval(1e-3, 0.5)},
        constraints=lambda point: point["k"] <= point["m"],
        budget=profile.searches,
        unit="stated number over the expected one, minus one",
        constants=constants,
    )


@claim(EQ_3)
def eq_3(statement: Statement, profile: Profile, rate: float = 0.125) -> Search:
    """The exact binomial tail with c = 1/8, for every success probability from one half up."""
    constants = {"c": rate}
    bound = log_bound(statement, constants)

    def log_tail(point: Point) -> float:
        size = point["cluster"]
        return max(gaussian.binomial_log_cdf(size // 4, size, point["correct"]), LOWEST)

    def with_p(point: Point) -> Point:
        clients = point["cluster"] * point["others"]
        return {"m": clients, "p": point["smaller"] / point["others"]}

    return Search(
        name=statement.id,
        violation=lambda point: relative(log_tail(point), bound(with_p(point))),
        sides=lambda point: (math.exp(log_tail(point)), math.exp(bound(with_p(point)))),
        domain={
            "cluster": IntRange(1, 1_000_000, log=True),
            "correct": Interval(0.5, 1.0),
            "smaller": Interval(0.0, 1.0),
            "others": LogInterval(1.0, 1e4),
        },
        budget=profile.searches,
        unit=RELATIVE_LOG,
        constants=constants,
    )


# --- The Gram matrix (4) ------------------------------------------------------------------------

EQ_4_SAMPLES = 4.0  # N >= 4 d


@claim(EQ_4, hidden={"C_N": EQ_4_SAMPLES})
def eq_4(statement: Statement, profile: Profile) -> Probability:
    """Shapes with N = 4 d up to N = 256 d, and three large ones."""
    shapes = [(ratio * d, d) for d in (1, 2, 4, 8, 12) for ratio in (4, 16, 256)]
    shapes += [(400, 100), (4000, 1000), (100_000, 100)]
    return explicit(
        statement,
        {},
        matrix_sampling(profile),
        [{"N": n, "d": d} for n, d in shapes],
        lambda params: {**matrix_symbols(params), "C_N": EQ_4_SAMPLES},
        lambda table: table["gram_deviation"],
        "the Gram matrix deviating by more than $6\\sqrt{dN}$",
        log_tail=lambda params, bound: log_gram_tail(params["N"], params["d"], bound),
    )


# --- The contraction (5) ------------------------------------------------------------------------


@claim(EQ_5_AS_PRINTED, expected=Verdict.REFUTED, finding=ABSOLUTE_VALUE, hidden=HIDDEN)
def eq_5_as_printed(statement: Statement, profile: Profile) -> Probability:
    """Equal clusters, step sizes up to the proof's own 1/(2 c5 p), generous constants."""
    rows = ((10**6, 10**6, 64, 2, 100, 0.25), (10**7, 10**7, 1000, 16, 100, 0.4))
    cells = [
        {**c, "c1": c1, "step_rule": "c/p"}
        for c in grid(COLUMNS, rows)
        for c1 in (0.25, 0.5, 2.0, 8.0)
    ]

    def symbols(params: Params) -> dict[str, float]:
        v = values(params)
        return {**v, "gamma": params["c1"] / v["p"]}

    corner = {c.name: c.most_generous for c in statement.constants}
    return explicit(
        statement,
        corner,
        Sampling(experiment=STEP, max_trials=profile.max_trials),
        cells,
        symbols,
        lambda table: table["err_after_max"],
        "some cluster's error exceeding its bound (generous corner of the box)",
        error_before,
    )


@claim(EQ_5, finding=ABSOLUTE_VALUE, hidden=HIDDEN)
def eq_5(statement: Statement, profile: Profile) -> Probability:
    """Steps up to 1/(2 p_max), clusters down to p = 1/(50 k)."""
    rows = (
        (10_000, 16000, 64, 2, 16, 0.4, 0.01),
        (100_000, 4000, 32, 4, 16, 0.25, 1 / 200),
        (1_000_000, 1_000_000, 2000, 16, 4, 0.45, 1 / 800),
        (1000, 16000, 20, 2, 100, 0.1, 0.1),
        (10_000, 160_000, 64, 2, 16, 1e-4, 0.02),
        (16384, 16000, 10_000, 3, 16, 0.3, 0.3),
        # at the optima, where only the noise is left
        (1000, 16000, 20, 2, 100, AT_OPTIMUM, 0.1),
        (100_000, 4000, 32, 4, 4, AT_OPTIMUM, 1 / 200),
        (1000, 1000, 5000, 2, 16, AT_OPTIMUM, 0.4),
        # pmn' = 64 d, with almost no noise
        (1000, 400, 2500, 2, 1e8, 0.25, 0.4),
        (100, 200, 50, 4, 1e8, 0.1, 0.18),
    )
    cells = [
        {**c, "c1": c1}
        for c in in_every_direction(
            grid(OWN_COLUMNS, rows, profile="one-large", step_rule="c/p_max")
        )
        for c1 in (0.05, 0.5)
    ]

    def symbols(params: Params) -> dict[str, float]:
        v = values(params)
        return {**v, "gamma": params["c1"] / v["p_max"]}

    return explicit(
        statement,
        {"c_5": 1.0, "c_6": 4.0},
        Sampling(experiment=STEP, max_trials=profile.max_trials),
        cells,
        symbols,
        lambda table: table["err_after_max"],
        "some cluster's error exceeding its bound",
        error_before,
        log_tail=log_step_limit,
        known=lambda params: {"err": start_of(params)},
    )

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
from dataclasses import replace
from typing import Any

import mpmath
import numpy as np
import sympy as sp

from bounds import gaussian
from bounds.ifca import correct_clients as bc
from bounds.ifca.hidden import HIDDEN
from bounds.statement import Statement
from trials.experiments.ifca.step import STEP
from trials.laws.matrix_tail import log_gram_tail
from trials.run.cell import Params
from verify.claim import Finding, claim, row, table
from verify.claims.common import Point, explicit
from verify.claims.ifca.cells import (
    AT_OPTIMUM,
    COLUMNS,
    OWN_COLUMNS,
    grid,
    in_every_direction,
    values,
)
from verify.claims.ifca.columns import error_before
from verify.claims.ifca.labels import (
    EXPECTED,
    HALF_WRONG,
    START_DOMAIN,
    in_regime,
    in_the_regime,
    wrong_label,
)
from verify.claims.ifca.matrices import matrix_sampling, matrix_symbols
from verify.claims.ifca.tails import log_step_limit, start_of
from verify.claims.searching import Proof, search
from verify.decisions.domain import Choice, Interval, IntRange, LogInterval, Ranges
from verify.decisions.measures import LOG_PROBABILITY, LOWEST, SHARE
from verify.evidence import Verdict
from verify.procedures.base import Profile, Sampling
from verify.procedures.probability import Probability
from verify.procedures.search import Search
from verify.proofs.propositions import NOT_NEGATIVE, POSITIVE, Everywhere, Reduction

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
    "err": LogInterval(0.01, 10.0, meaning="distance of the model from its optimum"),
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


def _norms(point: Point) -> dict[str, float]:
    """The symbols of (2): the norms of the Gram matrix's deviation and of the noise."""
    x, noise, _ = _step_data(point)
    n = x.shape[0]
    gram = np.linalg.norm(x.T @ x - n * np.eye(x.shape[1]), 2) / n
    return {**point, "gram": float(gram), "noise": float(np.linalg.norm(x.T @ noise) / n)}


_KEPT, _TURNED, _ADDED = sp.symbols("kept turned added")


def _parts(point: Point) -> dict[str, float]:
    """The lengths of the three parts of the new error."""
    x, noise, u = _step_data(point)
    n, a = x.shape[0], point["a"]
    turned = a * (u - x.T @ (x @ u) / n)
    return {
        "kept": abs(1 - a) * point["err"],
        "turned": float(np.linalg.norm(turned)),
        "added": float(np.linalg.norm(a / n * (x.T @ noise))),
    }


THREE_PARTS = Reduction(
    idea="With $X^TX=N(I+D)$ the new error is $(1-a)u-aDu+\\frac aNX^T\\epsilon$ for the old error "
    "$u$. By the triangle inequality its length is at most the sum of the three lengths. The first "
    "is $|1-a||u|$. The second is at most $a\\|D\\||u|$ by the operator norm.",
    lemmas=("triangle", "operator-norm"),
    ranges={
        **dict.fromkeys(("a", "err"), POSITIVE),
        **dict.fromkeys(("gram", "noise", "kept", "turned", "added"), NOT_NEGATIVE),
    },
    given=((bc.A * bc.GRAM * sp.Symbol("err"), _TURNED), (bc.A * bc.NOISE, _ADDED)),
    quantities=_parts,
    left=_KEPT + _TURNED + _ADDED,
    right=_KEPT + bc.A * bc.GRAM * sp.Symbol("err") + bc.A * bc.NOISE,
)


def triangle(statement: Statement, profile: Profile) -> Search:
    """The norm of T1 on drawn data, for steps of every length."""

    def error(point: Point) -> float:
        x, noise, u = _step_data(point)
        n, a = x.shape[0], point["a"]
        return float(np.linalg.norm(u - a / n * (x.T @ (x @ u)) + a / n * (x.T @ noise)))

    def exact(point: Point) -> mpmath.mpf:
        x, noise, u = (mpmath.matrix(v.tolist()) for v in _step_data(point))
        n, a = mpmath.mpf(x.rows), mpmath.mpf(point["a"])
        return mpmath.norm(u - (a / n) * (x.T * (x * u)) + (a / n) * (x.T * noise))

    return search(
        statement,
        profile,
        error,
        STEP_DOMAIN,
        at=_norms,
        everywhere=THREE_PARTS if statement.expr.has(sp.Abs) else None,
        exact=exact,
        proof=Proof(
            argument="Take $N=d=1$, $x=1$, no noise, an error of one and $a=2$. Then $X^\\top X=N$ "
            "and the step takes the error from $1$ to $-1$.",
            says="the norm of the new error, one, exceeds the right-hand side",
            observed=sp.Integer(1),
            values={"a": 2, "err": 1, "gram": 0, "noise": 0},
        ),
    )


TRIANGLE = table(
    triangle,
    # fails as soon as the step is longer than 1/(2 p_j)
    row("ifca.eq2-as-printed", bc.EQ_2_AS_PRINTED, refuted=ABSOLUTE_VALUE),
    row("ifca.eq2", bc.EQ_2, finding=ABSOLUTE_VALUE),
)

# --- How many clients are correct: one half each, and (3) ---------------------------------------


def expected_number(point: Point) -> float:
    """A lower limit on the expected number of a cluster's clients with the right label."""
    return float(-point["p"] * point["m"] * math.expm1(wrong_label(point).upper))


def _wrong_share(point: Point) -> dict[str, float]:
    """The probability that a client errs, at the n' that Assumption 2 asks for."""
    full = in_regime(bc.EXPECTED_CORRECT, {"C_n": HIDDEN["C_n"]})(point)
    return {"wrong": math.exp(wrong_label(full).upper)}


HALF = table(
    in_the_regime,
    # A client errs with probability at most one half, for k <= m rivals: C_n = 2 exceeds 2/c2, so
    # that k/2 exp(-c2 C_n log m) is below one half.
    row(
        "ifca.half-correct",
        bc.HALF_CORRECT,
        observed=wrong_label,
        domain=START_DOMAIN,
        reduction=HALF_WRONG,
    ),
    row(
        "ifca.expected-correct",
        bc.EXPECTED_CORRECT,
        observed=expected_number,
        domain={**START_DOMAIN, "p": LogInterval(1e-3, 0.5)},
        measure=SHARE,
        reduction=replace(EXPECTED, quantities=_wrong_share),
    ),
    constants={"C_n": HIDDEN["C_n"]},
)


def binomial(statement: Statement, profile: Profile, *, rate: float = 0.125) -> Search:
    """The exact binomial tail with c = 1/8, for every success probability from one half up."""
    correct = "probability that a client of the cluster is identified correctly"
    smaller = "smallest share $p$ of the clients over the own share of the cluster"

    def log_tail(point: Point) -> float:
        size = point["cluster"]
        return max(gaussian.binomial_log_cdf(size // 4, size, point["correct"]), LOWEST)

    return search(
        statement,
        profile,
        log_tail,
        {
            "cluster": IntRange(
                1, 1_000_000, log=True, meaning="number of clients in the cluster, $p_1m$"
            ),
            "correct": Interval(0.5, 1.0, meaning=correct),
            "smaller": Interval(1e-6, 1.0, meaning=smaller),  # no cluster is empty
            "others": LogInterval(
                1.0, 1e4, meaning="number of all clients over that of the cluster, $1/p_1$"
            ),
        },
        at=lambda point: {
            "m": point["cluster"] * point["others"],
            "p": point["smaller"] / point["others"],
        },
        constants={"c": rate},
        measure=LOG_PROBABILITY,
        everywhere=Everywhere(
            {
                **dict.fromkeys(("cluster", "m", "p"), POSITIVE),
                "correct": Interval(0.5, 1.0),
            },
            given=((sp.Symbol("cluster"), sp.Symbol("m") * sp.Symbol("p")),),
            left=-2 * sp.Symbol("cluster") * (sp.Symbol("correct") - sp.Rational(1, 4)) ** 2,
            by="Hoeffding's inequality for the number of clients that are identified correctly.",
        ),
    )


EQ_3 = table(
    binomial,
    row("ifca.eq3", bc.EQ_3),
)


# --- The Gram matrix (4) ------------------------------------------------------------------------

EQ_4_SAMPLES = 4.0  # N >= 4 d


@claim("ifca.eq4", bc.EQ_4, hidden={"C_N": EQ_4_SAMPLES})
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


@claim(
    "ifca.eq5-as-printed",
    bc.EQ_5_AS_PRINTED,
    expected=Verdict.REFUTED,
    finding=ABSOLUTE_VALUE,
    hidden=HIDDEN,
)
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


@claim("ifca.eq5", bc.EQ_5, finding=ABSOLUTE_VALUE, hidden=HIDDEN)
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

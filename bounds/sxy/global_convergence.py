"""Theorem 3: both phases from any start, and the comparison with restarts of IFCA."""

from __future__ import annotations

import sympy as sp

from bounds.statement import Assumption, Constant, Contrast, Statement, Term, Trend
from bounds.sxy.assumptions import prefactor, statement
from bounds.sxy.refinement import DECREASE
from bounds.sxy.symbols import C_1, C_2, Delta, d, floor, k, kappa, nu, rho, sigma

RHO_FLOOR = sigma * kappa / rho * nu * sp.log(sp.E / nu)

_ROUNDS = {
    "kind": "deterministic",
    "quantifiers": r"\exists C_1,C_2\;\forall\sigma\ge0,\Delta,\nu,s,\eta,\rho,\kappa",
    "observed": r"d(\hat\theta,\theta^*)\text{ after }T'\text{ rounds}",
    "terms": (Term(name="floor", expr=C_2 * RHO_FLOOR),),
    "constants": (
        Constant(symbol=C_1, low=0.0, high=1e3, generous="high", meaning="multiple of the rounds"),
        prefactor(C_2, "prefactor of the floor"),
    ),
    "assumptions": (Assumption(name="nu is a share", left=sp.Integer(1), right=nu),),
}
#: The number of rounds, a definition of the statement.
T_PRIME = sp.Symbol("T_prime")

ROUNDS_AS_PRINTED = statement(
    "sxy.thm3-rounds-as-printed",
    "Theorem 3: the rounds of Phase 2",
    "Theorem 3",
    definitions={T_PRIME: C_1 / DECREASE * sp.log(Delta / nu)},
    reading=(
        "$T'=\\Theta(\\frac\\kappa{s\\eta\\rho}\\log\\frac\\Delta\\nu)$. Right labels and features "
        "$\\pm1$ make the error of a round exact: it falls by the factor $1-s\\eta\\rho/\\kappa$."
    ),
    **_ROUNDS,
)

ROUNDS = statement(
    "sxy.thm3-rounds",
    "Theorem 3: rounds after which the start's error is below the floor",
    "Theorem 3, corrected",
    definitions={T_PRIME: C_1 / DECREASE * sp.log(1 + Delta / RHO_FLOOR)},
    reading=(
        "By (9) the error after $T'$ rounds is at most the floor and what is left of the "
        "start's error, which is at most $\\Delta/3$. The left-hand side is what is left. It must "
        "fall to the floor, so that the logarithm is that of $\\Delta$ over the floor. The printed "
        "one has the unit of $\\Delta$ inside."
    ),
    **{**_ROUNDS, "observed": r"\frac\Delta3\left(1-\frac{s\eta\rho}\kappa\right)^{T'}"},
)

GLOBAL = statement(
    "sxy.thm3-global",
    "Theorem 3: both phases from any start",
    "Theorem 3, (18)",
    kind="probability",
    quantifiers=r"\forall\theta_0,\norm{\theta_0}\le R",
    observed=r"d(\hat\theta,\theta^*)",
    terms=(Term(name="floor", expr=C_2 * sp.sqrt(kappa) * floor),),
    failure=k * sp.exp(-d),
    constants=(prefactor(C_2, "prefactor of the error of known labels"),),
    reading=(
        "The limit is a multiple of $\\sigma\\sqrt{\\kappa d/(\\rho N)}$, the error of known "
        "labels, which is below (18). Features are Gaussian with covariance $I$. With fewer "
        "clusters and features Phase 2 alone arrives often enough from random starts, and with "
        "more a failure is rarer than the trials resolve. They do not tell $\\kappa$ from one: "
        "with five local steps the error is hardly larger than with one."
    ),
    uses=("sxy.thm2-contraction",),
)

BALL_LAW = statement(
    "sxy.ifca-restarts-ball",
    "Random starts inside the ball around the optima",
    'Introduction, "the necessary number of random initializations scales exponentially"',
    kind="deterministic",
    quantifiers=r"\forall d,\ 2\le k\le3^d",
    observed=r"\log\frac1{P(d(\theta_0,\theta^*)\le\frac\Delta4)}",
    relation=r"\ge",
    terms=(Term(name="exponent", expr=sp.log(sp.Rational(4, 3)) * d * k),),
    reading=(
        "Models uniform in the ball of radius $R=\\Delta$. Each of the $k!$ assignments has "
        "probability at most $4^{-dk}$, and $\\log k!\\le k\\log k\\le dk\\log3$, since at most "
        "$3^d$ optima are $\\Delta$ apart in the ball."
    ),
)

RESTARTS = statement(
    "sxy.ifca-restarts",
    "Both phases fail less often than one start of IFCA",
    "Introduction, and the abstract",
    kind="comparison",
    quantifiers=r"\forall d,k",
    observed=r"1-P(\text{success})",
    contrasts=(Contrast(left="phases", relation="<", right="once"),),
    reading="Failures of both phases and of one start of IFCA, on the same clients, k from 3 on.",
)


def _success_of_a_start(id_: str, title: str, at: str) -> Statement:
    """How often one random start leads IFCA to the optima, along the number of clusters."""
    return statement(
        id_,
        title,
        'Introduction, "the necessary number of random initializations scales exponentially"',
        kind="comparison",
        quantifiers=at,
        observed=r"P(\text{one random start leads IFCA to the optima})",
        assertion=r"\text{it falls}",
        trends=(Trend(symbol=k, direction="decreases", margin=0.1),),
        reading=(
            "Success is a final error of at most $\\Delta/10$ on clients with 100 rows. The number "
            "of restarts that are necessary is about one over this probability."
        ),
    )


RESTARTS_IN_D = statement(
    "sxy.ifca-restarts-in-d",
    "A random start finds two clusters in at least half of the cases, up to 500 dimensions",
    "Introduction, the contrary for two clusters",
    kind="expectation",
    quantifiers=r"k=2,\ 5\le d\le500",
    observed=r"P(\text{one random start leads IFCA to the optima})",
    relation=r"\ge",
    terms=(Term(name="share of starts", expr=sp.Rational(1, 2)),),
    reading=(
        "Success is a final error of at most $\\Delta/10$ on 40 clients with 100 rows. So two "
        "restarts are enough on average, in 5 dimensions and in 500."
    ),
)
RESTARTS_IN_K = _success_of_a_start(
    "sxy.ifca-restarts-in-k",
    "A random start finds more clusters less often",
    r"2\le k\le6,\ d\in\{5,50\}",
)
RESTARTS_IN_K_LARGE = _success_of_a_start(
    "sxy.ifca-restarts-in-k-large",
    "A random start finds more clusters less often, in 500 dimensions",
    r"2\le k\le6,\ d=500",
)
RESTARTS_MANY = statement(
    "sxy.ifca-restarts-many",
    "Sixteen random starts of IFCA are enough where both phases are",
    "Introduction, and the abstract, the contrary for few clusters",
    kind="expectation",
    quantifiers=r"2\le k\le6,\ d\in\{6,20,50\}",
    observed=r"P(\text{both phases succeed, and one of sixteen starts})",
    relation=r"\ge",
    terms=(Term(name="share of problems", expr=sp.Rational(4, 5)),),
    reading=(
        "Success is a final error of at most $\\Delta/10$ on the same clients. The best start is "
        "the one that ends nearest to the optima."
    ),
)

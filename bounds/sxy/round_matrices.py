"""The matrices of one round with the true labels: Lemmas 7 and 8, the main term and the floor."""

from __future__ import annotations

import sympy as sp

from bounds.statement import Assumption, Term
from bounds.sxy.assumptions import STABLE_STEP, prefactor, rate, statement
from bounds.sxy.symbols import (
    C_N,
    KAPPA_FEDAVG,
    KAPPA_FEDPROX,
    C,
    N,
    N_j,
    alpha,
    beta,
    c,
    d,
    eta,
    k,
    kappa,
    kappa_prox,
    rho,
    s,
    sigma,
    squares,
)

#: Section 4.2: every cluster has enough rows together.
ENOUGH_ROWS = Assumption(name="enough rows in a cluster", left=N_j, right=d, constant=C_N)
#: Section 3 takes alpha and beta for constants, which fixes the features' unit.
UNIT = Assumption(name="unit of the features", left=sp.Integer(1), right=beta)
TWO_CLUSTERS = Assumption(name="two clusters", left=k, right=sp.Integer(2))

LEMMA_7_LOWER = statement(
    "sxy.lemma7-lower",
    "Lemma 7: the smallest eigenvalue of a cluster's matrix",
    "Lemma 7",
    kind="probability",
    quantifiers=r"\exists c\;\forall N_j,d,k,s,\kappa,\alpha",
    observed=r"\min_j\frac{N}{N_j}\lambda_{\min}(K_j)",
    relation=r"\ge",
    terms=(Term(name="stability", expr=c * alpha * s / kappa),),
    failure=2 * k * sp.exp(-d),
    constants=(rate(c, "share of the population's smallest eigenvalue"),),
    assumptions=(TWO_CLUSTERS, STABLE_STEP, ENOUGH_ROWS),
    uses=("sxy.p-spectrum-lower",),
)

LEMMA_7_UPPER = statement(
    "sxy.lemma7-upper",
    "Lemma 7: the largest eigenvalue of a cluster's matrix",
    "Lemma 7",
    kind="probability",
    quantifiers=r"\exists C\;\forall N_j,d,k,s,\kappa,\beta",
    observed=r"\max_j\frac{N}{N_j}\lambda_{\max}(K_j)",
    terms=(Term(name="local steps", expr=C * beta * s),),
    failure=2 * k * sp.exp(-d),
    constants=(prefactor(C, "multiple of the population's largest eigenvalue"),),
    assumptions=(TWO_CLUSTERS, STABLE_STEP, ENOUGH_ROWS),
    uses=("sxy.p-spectrum-upper",),
)

LEMMA_8 = statement(
    "sxy.lemma8",
    "Lemma 8: the noise of one round",
    "Lemma 8",
    kind="probability",
    quantifiers=r"\exists C\;\forall N,d,k,s,\sigma,\ \zeta_{ij}\ \text{normal}",
    observed=r"\max_j\frac{N}{s\norm{K_j}}\norm{B\Lambda_j\zeta}^2",
    terms=(Term(name="noise", expr=C * sigma**2 * d),),
    failure=k * sp.exp(-d),
    constants=(prefactor(C, "prefactor"),),
    assumptions=(STABLE_STEP,),
    reading=(
        "The proof prints $\\norm{\\Lambda_jB^\\top B\\Lambda_j}_F\\le s\\norm{K_j}_F$, where "
        "$1/N$ is missing. The result has it."
    ),
    uses=("sxy.p-spectrum-upper",),
)

NOISE_FLOOR = statement(
    "sxy.noise-floor",
    "Proof of Theorem 2: the noise of one round",
    "proof of Theorem 2, second display",
    kind="probability",
    quantifiers=r"\exists C\;\forall N,d,k,s,\sigma",
    observed=r"\max_j\norm{B\Lambda_j\zeta}",
    terms=(Term(name="noise", expr=C * s * sigma * sp.sqrt(d / N)),),
    failure=3 * k * sp.exp(-d),
    constants=(prefactor(C, "prefactor"),),
    assumptions=(TWO_CLUSTERS, STABLE_STEP, ENOUGH_ROWS, UNIT),
    reading="The two events of Lemmas 7 and 8 fail with $3ke^{-d}$ together.",
    uses=("sxy.lemma7-upper", "sxy.lemma8"),
)

ORACLE_FLOOR = statement(
    "sxy.noise-floor-rate",
    "With known labels the squared error is of order σ² d / N_j",
    'after Theorem 2, "we would get an model estimation error of ... scaling as"',
    kind="rate",
    quantifiers=r"\forall d,N,\rho,\sigma",
    observed=r"E\norm{K_1^{-1}B\Lambda_1\zeta}^2",
    relation=r"\propto",
    terms=(Term(name="floor", expr=sigma**2 * d / (rho * N)),),
    reading="Cluster 1 is a smallest one, with $\\rho N$ rows.",
)

FLOOR_IN_KAPPA = statement(
    "sxy.floor-in-kappa",
    "The error does not grow with kappa",
    'after Theorem 3, "scales linearly in kappa" (for the error: not in the paper)',
    kind="rate",
    quantifiers=r"\forall s,\kappa,\sigma,\rho,N,\ n_i\ge40d",
    observed=ORACLE_FLOOR.observed,
    relation=r"\propto",
    terms=(Term(name="floor", expr=sigma**2 * d / (rho * N)),),
    definitions={kappa: KAPPA_FEDAVG},
    reading=(
        "The sentence is about the bound (18), which is linear in $\\kappa$, so its square has the "
        "exponent two. The squared error with the true labels has the exponent zero. As $s$ grows "
        "the rounds end at the mean of the clients' own least squares, whose squared error is "
        "$n/(n-d-1)$ times that of one step."
    ),
    uses=("sxy.noise-floor-rate",),
)

_SQRT = {
    "kind": "deterministic",
    "observed": r"E\norm{K_j^{-1}B\Lambda_j\zeta}^2",
    "definitions": {kappa: KAPPA_FEDAVG, kappa_prox: KAPPA_FEDPROX},
    "assumptions": (STABLE_STEP,),
    "uses": ("sxy.p-spectrum-lower", "sxy.p-spectrum-upper"),
}
FLOOR_SQRT_KAPPA = statement(
    "sxy.floor-sqrt-kappa",
    "The error with known labels grows at most like the square root of kappa",
    'after Theorem 3, "scales linearly in kappa" (for the error: not in the paper)',
    quantifiers=r"\forall\phi(x),n_i,s,\ \gamma<1",
    terms=(Term(name="least squares", expr=kappa * squares),),
    reading=(
        "The bound (18) is linear in $\\kappa$. By (29) "
        "$B\\Lambda_j^2B^\\top\\preceq\\frac sNK_j$, and "
        "$K_j\\succeq\\frac s\\kappa\\frac1N\\phi(x_{I_j})^\\top\\phi(x_{I_j})$. So the squared "
        "error is at most $\\kappa$ times that of least squares on all rows of the cluster, for "
        "all features and sizes."
    ),
    **_SQRT,
)
FLOOR_SQRT_KAPPA_ATTAINED = statement(
    "sxy.floor-sqrt-kappa-attained",
    "The error with known labels can grow like the square root of kappa",
    'after Theorem 3, "scales linearly in kappa" (for the error: not in the paper)',
    quantifiers=r"\forall s,\ \gamma<1\;\exists\phi(x)",
    relation=r"\ge",
    terms=(Term(name="least squares", expr=kappa * squares / 7),),
    reading=(
        "Clients of one row, along the axes. Three fifths of them have a squared length that is "
        "$\\kappa$ times smaller than that of the others, which are bounded features of one "
        "covariance. The short rows count with all of their local steps, the long ones with one. "
        "So $\\sqrt\\kappa$ is the right order for clients of few rows. With $40d$ rows a client "
        "the error does not grow at all (sxy.floor-in-kappa)."
    ),
    **_SQRT,
)

DECREASE = statement(
    "sxy.thm2-decrease",
    "Proof of Theorem 2: the main term's decrease",
    "proof of Theorem 2, first display",
    kind="probability",
    quantifiers=r"\exists C\;\forall N,d,k,s,\eta,\rho,\kappa",
    observed=r"1-\max_j\norm{I-\eta K_j}",
    relation=r"\ge",
    terms=(Term(name="decrease", expr=C * eta * s * rho / kappa),),
    failure=2 * k * sp.exp(-d),
    constants=(rate(C, "share of the stated decrease"),),
    assumptions=(TWO_CLUSTERS, STABLE_STEP, ENOUGH_ROWS),
    uses=("sxy.lemma7-lower",),
)

DECREASE_RATE = statement(
    "sxy.thm2-rate",
    "The decrease of a round is proportional to s eta rho / kappa",
    "Theorem 2, (9), first factor",
    kind="rate",
    quantifiers=r"\forall s,\eta,\rho,\kappa",
    observed=r"1-\max_j\norm{I-\eta K_j}",
    relation=r"\propto",
    terms=(Term(name="decrease", expr=s * eta * rho / kappa),),
    definitions={kappa: KAPPA_FEDAVG},
    reading=(
        "Clients with many rows each, so that $\\kappa$ is the only loss. $\\eta$ is in units of "
        "the largest curvature, where it is $\\gamma$."
    ),
)

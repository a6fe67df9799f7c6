"""Lemma 10: the probability of a wrong label for one client, and its limit p_e."""

from __future__ import annotations

import sympy as sp

from bounds.statement import Assumption, Term
from bounds.sxy.assumptions import SPECTRUM, rate, statement
from bounds.sxy.symbols import Delta, alpha, beta, c, epsilon, k, n, sigma

#: Lemma 10: models at most so far from their optima.
NEAR = Assumption(name="near the optima", left=sp.sqrt(alpha / beta) / 3 * Delta, right=epsilon)

EQ_35 = statement(
    "sxy.eq35",
    "Proof of Lemma 10: the gap of the two losses",
    "(35), second inequality",
    kind="deterministic",
    quantifiers=r"\forall\alpha\le\beta,\Delta,\epsilon",
    observed=r"\alpha(\Delta-\epsilon)^2-\beta\epsilon^2",
    relation=r"\ge",
    terms=(Term(name="gap", expr=alpha * Delta**2 / 3),),
    assumptions=(*SPECTRUM, NEAR),
)

#: Dimensionless, as the probability is.
SIGNAL = (alpha / beta) ** 2 * sp.Min(1, beta * Delta**2 / sigma**2) ** 2

LEMMA_10 = statement(
    "sxy.lemma10",
    "Lemma 10 in units that agree: a client of normal features with a wrong label",
    "Lemma 10, with the dependence on alpha and beta",
    kind="deterministic",
    quantifiers=r"\exists c\;\forall n_i,k,\alpha\le\beta,\Delta,\sigma,\ d(\theta,\theta^*)"
    r"\le\epsilon,\ \phi(x_{ij}),\zeta_{ij}\ \text{normal}",
    observed=r"P(i\in S_j(\theta))",
    terms=(Term(name="tail", expr=4 * k * sp.exp(-c * n * SIGNAL)),),
    constants=(rate(c, "rate"),),
    assumptions=(*SPECTRUM, NEAR),
    reading=(
        "The coordinates of $\\phi(x_i)u+\\zeta_i$ are sub-Gaussian with $\\beta\\norm u^2+"
        "\\sigma^2$, so $\\beta$ belongs into the denominator of $t$. Then $t\\ge\\frac19"
        "(\\alpha/\\beta)\\min(1,\\beta\\Delta^2/\\sigma^2)$. For Gaussian features the exact "
        "Chernoff exponent is $\\frac{n_i}2\\log(1+x^2)$ with $x\\ge t$ and $t\\le1$, so that "
        "$c=(\\log2)/162$ serves with any prefactor of at least $k-1$. The print has $\\alpha^2$ "
        "in the place of $(\\alpha/\\beta)^2$, and $\\alpha,\\beta=\\Theta(1)$. It is about all "
        "sub-Gaussian laws, of which the normal one alone is tried here."
    ),
    uses=("sxy.eq35",),
)

PE_SNR_AS_PRINTED = statement(
    "sxy.pe-snr-as-printed",
    "Wrong labels are exponentially rare in the signal-to-noise ratio",
    'after Theorem 2, "diminishes exponentially in the local data size and the signal-to-noise '
    'ratio"',
    kind="deterministic",
    quantifiers=r"\exists c\;\forall n_i,k,\Delta/\sigma",
    observed=r"P(i\in S_j(\theta^*))",
    terms=(Term(name="tail", expr=4 * k * sp.exp(-c * n * Delta / sigma)),),
    constants=(rate(c, "rate"),),
    reading=(
        "The models are at their optima, which is the best case of the supremum over the ball. The "
        "formula of $p_e$ itself does not change with $\\Delta/\\sigma$ above one."
    ),
)

PE_SNR = statement(
    "sxy.pe-snr",
    "Wrong labels are polynomially rare in the signal-to-noise ratio",
    "after Theorem 2, corrected",
    kind="deterministic",
    quantifiers=r"\forall n_i,\Delta/\sigma,\ k=2,\ \phi(x_{ij}),\zeta_{ij}\ \text{normal}",
    observed=r"P(i\in S_j(\theta^*))",
    terms=(Term(name="power", expr=(1 + Delta**2 / (4 * sigma**2)) ** (-n / 2)),),
    reading=(
        "Two clusters, Gaussian features of covariance $I$ and models at their optima: the margin "
        "of the Student law is $\\Delta/(2\\sigma)$, and the right-hand side is its Chernoff "
        "bound. The exponent of $\\Delta/\\sigma$ is $-n_i$."
    ),
)

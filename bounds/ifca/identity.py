"""Lemma 1 of IFCA and its proof: how often a client prefers a wrong model."""

from __future__ import annotations

import sympy as sp

from bounds.ifca.assumptions import CLOSENESS, prefactor, rate, statement
from bounds.ifca.symbols import SIGNAL, Delta, alpha, c_1, c_2, c_3, c_4, k, n, rho
from bounds.statement import Term

LEMMA_1 = statement(
    "lemma1",
    "Lemma 1: a client prefers one wrong model",
    "Lemma 1",
    kind="deterministic",
    quantifiers=r"\exists c_1,c_2>0\;\forall n',d,\rho,\alpha,j'\ne j",
    observed=r"P(\mathcal{E}_i^{j,j'})",
    terms=(Term(name="tail", expr=c_1 * sp.exp(-c_2 * SIGNAL)),),
    constants=(prefactor(c_1, "prefactor"), rate(c_2, "rate")),
    assumptions=CLOSENESS,
    uses=(
        "ifca.lemma1-init-as-printed",
        "ifca.eq16",
        "ifca.eq17",
    ),
)

LEMMA_1_UNION = statement(
    "lemma1-union",
    "Lemma 1, union bound: a client is misidentified",
    "Lemma 1, second display",
    kind="deterministic",
    quantifiers=r"\exists c_1,c_2>0\;\forall n',d,k,\rho,\alpha",
    observed=r"P(\overline{\mathcal{E}_i})",
    terms=(Term(name="tail", expr=c_1 * k * sp.exp(-c_2 * SIGNAL)),),
    constants=(prefactor(c_1, "prefactor"), rate(c_2, "rate")),
    assumptions=CLOSENESS,
    uses=("ifca.lemma1",),
)

LEMMA_1_SHARP = statement(
    "lemma1-sharp",
    "Lemma 1 with the signal-to-noise ratio to the first power",
    "Lemma 1, sharpened here",
    kind="deterministic",
    quantifiers=r"\forall n',d,\rho,\alpha,j'\ne j",
    observed=r"P(\mathcal{E}_i^{j,j'})",
    terms=(Term(name="tail", expr=sp.exp(-sp.log(2) / 2 * alpha**2 * rho / (rho + 1) * n)),),
    assumptions=CLOSENESS,
    reading=(
        "Not in the paper. The exact Chernoff exponent is $(n'/2)\\log(1+(b-a)^2/(4G))$ with "
        "$(b-a)^2/(4G)\\ge \\alpha^2\\rho/(\\rho(1/2-\\alpha)^2+1)$. This lower bound is at least "
        "$\\alpha^2\\rho/(\\rho/4+1)$, which is at most 1. Since $\\log(1+x)\\ge x\\log 2$ on "
        "$[0,1]$, the lemma holds with $c_1=1$, $c_2=(\\log 2)/2$ and $\\rho/(\\rho+1)$ to the "
        "first power."
    ),
    uses=("ifca.lemma1-law",),
)

PAIRWISE_LAW = statement(
    "lemma1-law",
    "The exact law behind Lemma 1",
    "exact form of Lemma 1",
    kind="law",
    quantifiers=r"\forall n',d,\rho,\alpha,j'\ne j",
    observed=r"P(\mathcal{E}_i^{j,j'})",
    relation="=",
    terms=(Term(name="law", expr=sp.Function(r"P_F")(sp.Symbol("l_-") / sp.Symbol("l_+"), n)),),
    assumptions=CLOSENESS,
    reading=(
        "Here $P_F(r,n')=P(F_{n',n'}\\ge r)$. The numbers $l_+>0>-l_-$ are the eigenvalues of "
        "$S\\,\\mathrm{diag}(1,-1)$, and $S$ is the covariance of the two residuals."
    ),
)

BETTER_THAN_GUESSING = statement(
    "better-than-guessing",
    "Any positive closeness beats a random guess between two models",
    'Section VII and after Assumption 2, "slightly better than random"',
    kind="deterministic",
    quantifiers=r"\forall n',d,\rho,\alpha>0,j'\ne j",
    observed=r"P(\mathcal{E}_i^{j,j'})",
    terms=(Term(name="guess", expr=sp.Rational(1, 2)),),
    assumptions=CLOSENESS,
    reading=(
        "In this reading the guess is about a client's label. The sentence is true in this reading."
    ),
    uses=("ifca.lemma1-law",),
)

LEMMA_1_INIT = statement(
    "lemma1-init-as-printed",
    "Proof of Lemma 1: the distance that the initialisation condition gives",
    "proof of Lemma 1, before (15)",
    kind="deterministic",
    quantifiers=r"\forall \alpha\in(0,1/2),\ \norm{\theta_1-\theta_1^*}\le(\frac12-\alpha)\Delta",
    observed=r"\norm{\theta_1-\theta_1^*}",
    terms=(Term(name="quarter", expr=Delta / 4),),
    assumptions=CLOSENESS,
    reading=(
        "The line is a remnant of the conference version, whose initialisation is $\\Delta/4$. In "
        "fact (15) uses $(1/2-\\alpha)\\Delta$."
    ),
)

LOWER_DEVIATION = 4 * alpha * rho / ((1 + 2 * alpha) ** 2 * rho + 4)
UPPER_DEVIATION = 4 * alpha * rho / ((1 - 2 * alpha) ** 2 * rho + 4)
TAIL_SIGNAL = sp.UnevaluatedExpr(alpha * rho / ((1 + 2 * alpha) * rho + 1)) ** 2 * n

EQ_16 = statement(
    "eq16",
    "Proof of Lemma 1: lower chi-square tail",
    "(16)",
    kind="deterministic",
    quantifiers=r"\exists c_1,c_2>0\;\forall n',\rho,\alpha",
    observed=r"P(u_j/n'-1\le-\frac{4\alpha\rho}{(1+2\alpha)^2\rho+4})",
    terms=(Term(name="tail", expr=c_1 * sp.exp(-c_2 * TAIL_SIGNAL)),),
    constants=(prefactor(c_1, "prefactor"), rate(c_2, "rate")),
    assumptions=CLOSENESS,
)

EQ_17 = statement(
    "eq17",
    "Proof of Lemma 1: upper chi-square tail",
    "(17) in print, (18) in the preprint",
    kind="deterministic",
    quantifiers=r"\exists c_3,c_4>0\;\forall n',\rho,\alpha",
    observed=r"P(u_1/n'-1>\frac{4\alpha\rho}{(1-2\alpha)^2\rho+4})",
    terms=(Term(name="tail", expr=c_3 * sp.exp(-c_4 * TAIL_SIGNAL)),),
    constants=(prefactor(c_3, "prefactor"), rate(c_4, "rate")),
    assumptions=CLOSENESS,
)

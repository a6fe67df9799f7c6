"""Lemma 1 of IFCA and its proof: how often a client prefers a wrong model."""

from __future__ import annotations

import sympy as sp

from bounds.ifca.assumptions import CLOSENESS, prefactor, rate, statement
from bounds.ifca.symbols import HALF, SIGNAL, Delta, alpha, c_1, c_2, c_3, c_4, k, n, rho
from bounds.statement import Term

LEMMA_1 = statement(
    "ifca.lemma1",
    "Lemma 1: a client prefers one wrong model",
    "Lemma 1",
    kind="deterministic",
    quantifiers=r"\exists c_1,c_2>0\;\forall n',d,\rho,\alpha,j'\ne j",
    observed=r"P(\mathcal{E}_i^{j,j'})",
    terms=(Term(name="tail", expr=c_1 * sp.exp(-c_2 * SIGNAL)),),
    constants=(prefactor(c_1, "prefactor"), rate(c_2, "rate")),
    assumptions=CLOSENESS,
    reading=(
        "The lemma holds with $c_1=1/2$ and $c_2=7/4$. Chernoff's exponent of the exact law is "
        "$\\frac{n'}2\\log(1+x)$, and its tail has the prefactor $1/2$. Let "
        "$a\\le\\frac12-\\alpha$ and $b\\ge\\frac12+\\alpha$ be the distances of the two models "
        "from the client's optimum over $\\Delta$, and $s=1/\\rho$. Over all angles the smallest "
        "$x$ is $(b-a)^2/4s$ where $ab\\le s$, and $(b^2-a^2)^2/4(a^2+s)(b^2+s)$ elsewhere. It "
        "falls with $a$ and grows with $b$. So the worst models lie at their limits. "
        "$\\log(1+x)\\ge y$ follows from $x(1-y/2)\\ge y$, here with "
        "$y=\\frac72\\alpha^2\\rho^2/(\\rho+1)^2$. In the first case this is "
        "$1-\\frac32\\rho+(1-\\frac74\\alpha^2)\\rho^2\\ge0$, whose discriminant "
        "$7\\alpha^2-\\frac74$ is at most zero. The second case, $\\rho\\ge4$, has room to spare. "
        "No $c_2$ above 2 is possible ($\\rho=1$, small $\\alpha$, all models moved alike)."
    ),
    uses=(
        "ifca.lemma1-init-as-printed",
        "ifca.eq16",
        "ifca.eq17",
    ),
)

LEMMA_1_UNION = LEMMA_1.variant(
    "ifca.lemma1-union",
    "Lemma 1, union bound: a client is misidentified",
    "Lemma 1, second display",
    quantifiers=r"\exists c_1,c_2>0\;\forall n',d,k,\rho,\alpha",
    observed=r"P(\overline{\mathcal{E}_i})",
    terms=(Term(name="tail", expr=c_1 * k * sp.exp(-c_2 * SIGNAL)),),
    uses=("ifca.lemma1",),
)

LEMMA_1_SHARP = statement(
    "ifca.lemma1-sharp",
    "Lemma 1 with the signal-to-noise ratio to the first power",
    "Lemma 1, sharpened here",
    kind="deterministic",
    quantifiers=r"\forall n',d,\rho,\alpha,j'\ne j",
    observed=r"P(\mathcal{E}_i^{j,j'})",
    terms=(Term(name="tail", expr=HALF * sp.exp(-HALF * alpha**2 * rho / (rho + 1) * n)),),
    assumptions=CLOSENESS,
    reading=(
        "Not in the paper. The exact Chernoff exponent is $\\frac{n'}2\\log(1+x)$ with "
        "$x\\ge\\alpha^2\\rho/((\\frac12-\\alpha)^2\\rho+1)$. With $y=\\alpha^2\\rho/(\\rho+1)$, "
        "$x(1-y/2)\\ge y$ follows from $\\frac12\\alpha^2+(\\frac12-\\alpha)^2\\le1$, so "
        "$\\log(1+x)\\ge y$. The lemma holds with $c_1=1/2$, $c_2=1/2$ and $\\rho/(\\rho+1)$ to "
        "the first power. No larger $c_2$ is possible (small $\\rho$ and $\\alpha$)."
    ),
    uses=("ifca.lemma1-law",),
)

PAIRWISE_LAW = LEMMA_1_SHARP.variant(
    "ifca.lemma1-law",
    "The exact law behind Lemma 1",
    "exact form of Lemma 1",
    kind="law",
    relation="=",
    terms=(Term(name="law", expr=sp.Function(r"P_F")(sp.Symbol("l_-") / sp.Symbol("l_+"), n)),),
    reading=(
        "Here $P_F(r,n')=P(F_{n',n'}\\ge r)$. The numbers $l_+>0>-l_-$ are the eigenvalues of "
        "$S\\,\\mathrm{diag}(1,-1)$, and $S$ is the covariance of the two residuals."
    ),
)

BETTER_THAN_GUESSING = LEMMA_1_SHARP.variant(
    "ifca.better-than-guessing",
    "Any positive closeness beats a random guess between two models",
    'Section VII and after Assumption 2, "slightly better than random"',
    quantifiers=r"\forall n',d,\rho,\alpha>0,j'\ne j",
    terms=(Term(name="guess", expr=sp.Rational(1, 2)),),
    reading=(
        "In this reading the guess is about a client's label. The sentence is true in this reading."
    ),
    uses=("ifca.lemma1-law",),
)

LEMMA_1_INIT = statement(
    "ifca.lemma1-init-as-printed",
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

EQ_16 = LEMMA_1_UNION.variant(
    "ifca.eq16",
    "Proof of Lemma 1: lower chi-square tail",
    "(16)",
    quantifiers=r"\exists c_1,c_2>0\;\forall n',\rho,\alpha",
    observed=r"P(u_j/n'-1\le-\frac{4\alpha\rho}{(1+2\alpha)^2\rho+4})",
    terms=(Term(name="tail", expr=c_1 * sp.exp(-c_2 * TAIL_SIGNAL)),),
)

EQ_17 = statement(
    "ifca.eq17",
    "Proof of Lemma 1: upper chi-square tail",
    "(17) in print, (18) in the preprint",
    kind="deterministic",
    quantifiers=r"\exists c_3,c_4>0\;\forall n',\rho,\alpha",
    observed=r"P(u_1/n'-1>\frac{4\alpha\rho}{(1-2\alpha)^2\rho+4})",
    terms=(Term(name="tail", expr=c_3 * sp.exp(-c_4 * TAIL_SIGNAL)),),
    constants=(prefactor(c_3, "prefactor"), rate(c_4, "rate")),
    assumptions=CLOSENESS,
)

_SECOND_LINES = (
    "Both lines of the print carry one constant. The appendix says that the value of a constant "
    "may differ from one place to another, so the second line may have a smaller one. It follows "
    "from the tail itself: the deviation is at least $\\alpha\\rho/(\\rho+1)$."
)

EQ_16_FINAL = EQ_16.variant(
    "ifca.eq16-final",
    "Proof of Lemma 1: lower chi-square tail, second line",
    "(16) in print, (17) in the preprint, second line",
    terms=(Term(name="tail", expr=c_1 * sp.exp(-c_2 * SIGNAL)),),
    reading=_SECOND_LINES,
    uses=("ifca.eq16",),
)

EQ_17_FINAL = EQ_17.variant(
    "ifca.eq17-final",
    "Proof of Lemma 1: upper chi-square tail, second line",
    "(17) in print, (19) in the preprint, second line",
    terms=(Term(name="tail", expr=c_3 * sp.exp(-c_4 * SIGNAL)),),
    reading=_SECOND_LINES,
    uses=("ifca.eq17",),
)

BETTER_IDENTITY_AS_PRINTED = statement(
    "ifca.identity-improves-as-printed",
    "A larger closeness improves the estimation of identities, start by start",
    "after Theorem 1",
    kind="deterministic",
    quantifiers=r"\forall n',\rho,\alpha<\alpha'\ \text{and all directions of the models}",
    observed=r"P_{\alpha'}(\mathcal{E}_i^{j,j'})",
    terms=(Term(name="before", expr=sp.Symbol("P_before")),),
    assumptions=CLOSENESS,
    reading=(
        "Read start by start: every model moves straight towards its optimum, from the closeness "
        "$\\alpha$ to $\\alpha'$. The text says that an increasing $\\alpha$ implies the "
        "improvement. The two models also move apart then, and the noise along the line that joins "
        "them counts for more."
    ),
    uses=("ifca.lemma1-law",),
)

BETTER_IDENTITY = BETTER_IDENTITY_AS_PRINTED.variant(
    "ifca.identity-improves",
    "A larger closeness improves the estimation of identities in the worst start",
    "after Theorem 1, corrected",
    quantifiers=r"\forall n',\rho,\alpha<\alpha'",
    observed=r"\sup P_{\alpha'}(\mathcal{E}_i^{j,j'})",
    terms=(Term(name="before", expr=sp.Symbol("P_worst")),),
    reading=(
        "The largest probability over all models within $(\\frac12-\\alpha)\\Delta$ of their "
        "optima. Its place is given in the reading of ifca.lemma1: both models at their limits, "
        "moved alike where $\\frac14-\\alpha^2\\le1/\\rho$."
    ),
    uses=("ifca.lemma1-law",),
)

"""IFCA with strongly convex losses: the assumptions, and clients that are identified correctly."""

from __future__ import annotations

import sympy as sp

from bounds.ifca.assumptions import CLOSENESS, statement
from bounds.ifca.correct_clients import EQ_3
from bounds.ifca.lemma_3 import EVERY, L, eta, lam
from bounds.ifca.symbols import HALF, C_n, Delta, alpha, d, k, n, sigma, theta_max
from bounds.statement import Assumption, Constant, Term

r = sp.Symbol("r")

# --- Assumptions 3 to 5 -------------------------------------------------------------------------

MORE_GENERAL = statement(
    "ifca.more-general-as-printed",
    "The linear model meets the assumption on the variance of the loss",
    "Section V-B, first paragraph, with Assumption 4",
    kind="deterministic",
    quantifiers=r"\exists\eta\;\forall\theta\in R^d",
    observed=r"E(f(\theta;z)-F^j(\theta))^2",
    terms=(Term(name="variance", expr=eta**2),),
    constants=(
        Constant(symbol=eta, low=0.0, high=1e6, generous="high", meaning="deviation of the loss"),
    ),
    reading=(
        "Section V-B calls itself more general than Section V-A. With $f=(y-x^\\top\\theta)^2$ "
        "and Gaussian features the variance is $2(\\norm{\\theta-\\theta_j^*}^2+\\sigma^2)^2$. "
        "It grows without limit on $R^d$. So it does in ridge regression, in logistic regression "
        "with a ridge, and in the estimation of a mean."
    ),
)
MORE_GENERAL_BALL = statement(
    "ifca.more-general",
    "The linear model meets Assumption 4 on a ball",
    "Section V-B, corrected: for every $\\theta$ with $\\norm{\\theta-\\theta_j^*}\\le r$",
    kind="deterministic",
    quantifiers=r"\forall\norm{\theta-\theta_j^*}\le r,\sigma",
    observed=r"E(f(\theta;z)-F^j(\theta))^2",
    terms=(Term(name="variance", expr=2 * (r**2 + sigma**2) ** 2),),
    reading=(
        "The proofs use Assumption 4 at the current models only, so a ball that holds them is "
        "enough. Here $\\lambda=L=2$."
    ),
)
MORE_GENERAL_GRADIENT = statement(
    "ifca.more-general-gradient",
    "The linear model meets Assumption 5 on a ball",
    "Section V-B, corrected: for every $\\theta$ with $\\norm{\\theta-\\theta_j^*}\\le r$",
    kind="deterministic",
    quantifiers=r"\forall\norm{\theta-\theta_j^*}\le r,\sigma,d",
    observed=r"E\norm{\nabla f(\theta;z)-\nabla F^j(\theta)}^2",
    terms=(Term(name="variance", expr=4 * ((d + 1) * r**2 + d * sigma**2)),),
    reading="The gradient's variance depends on $d$, which no term of Theorem 2 shows.",
)

# --- Before (24) --------------------------------------------------------------------------------

#: Assumption 6's condition on n', with the closeness of the step.
SAMPLES = Assumption(
    name="samples per client",
    left=n,
    right=k * eta**2 / (alpha**2 * lam**2 * Delta**4),
    constant=C_n,
)
HALF_CORRECT_CLIENT = statement(
    "ifca.half-correct-sc-client",
    "A client is identified correctly with probability one half",
    "proof of Theorem 2, before (22) in print, (24) in the preprint",
    kind="deterministic",
    quantifiers=rf"\exists C_n\;\forall k,\;{EVERY}",
    observed=r"P(\overline{\mathcal{E}_i})",
    terms=(Term(name="half", expr=HALF),),
    assumptions=(*CLOSENESS, SAMPLES),
    reading="$C_n=4$ is enough.",
    uses=("ifca.lemma3-union",),
)
HALF_CORRECT = statement(
    "ifca.half-correct-sc",
    "Enough clients are identified correctly",
    "proof of Theorem 2, before (22) in print, (24) in the preprint",
    kind="deterministic",
    quantifiers=r"\exists c>0\;\forall m,p_1\ge p,\ P(\mathcal{E}_i)\ge\frac12",
    observed=r"P(|S_1\cap S_1^*|<\frac14p_1m)",
    terms=EQ_3.terms,
    constants=EQ_3.constants,
    reading="$c=\\frac18$ is enough, without the factor two (Hoeffding).",
    uses=("ifca.half-correct-sc-client",),
)

# --- The bounded optima -------------------------------------------------------------------------

EQ_27 = statement(
    "ifca.eq27",
    "Gradient of a stranger's mean loss",
    "(25) in print, (27) in the preprint",
    kind="deterministic",
    quantifiers=r"\forall\lambda\le L,\Delta,\alpha,\ \norm{\theta_j^*}\le1",
    observed=r"\norm{\nabla F^j(\theta_1)}",
    terms=(Term(name="gradient", expr=3 * L),),
    assumptions=(
        *CLOSENESS,
        Assumption(name="bounded optima", left=sp.Integer(1), right=theta_max),
    ),
    reading="The three is attained as $\\alpha\\to0$ with $\\lambda=L$ and two opposite optima.",
)
EQ_27_UNITS = EQ_27.variant(
    "ifca.eq27-units",
    "Gradient of a stranger's mean loss, in any unit",
    "(25) in print, (27) in the preprint, corrected",
    quantifiers=r"\forall\lambda\le L,\Delta,\alpha",
    assumptions=CLOSENESS,
    terms=(Term(name="gradient", expr=3 * L * theta_max),),
    reading=(
        "The second term of $\\varepsilon_0$ then has the factor $\\max_j\\norm{\\theta_j^*}$, "
        "which gives it the unit of a model. As printed it is a pure number beside two lengths."
    ),
)

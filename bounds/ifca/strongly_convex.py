r"""IFCA with strongly convex losses: the assumptions and the identity of a client (Lemma 3).

=====================  ===========  ==============================================================
paper                  here         meaning
=====================  ===========  ==============================================================
:math:`\lambda,\ L`    ``lam, L``   strong convexity and smoothness of the mean losses
:math:`\eta`           ``eta``      standard deviation of the loss on one sample (Assumption 4)
:math:`v`              ``v``        standard deviation of the gradient on one sample (Assumption 5)
=====================  ===========  ==============================================================

``X`` is :math:`\eta^2/(\alpha^2\lambda^2\Delta^4n')`, the shape of every bound on a wrong label.
"""

from __future__ import annotations

import sympy as sp

from bounds.ifca.assumptions import CLOSENESS, prefactor, statement
from bounds.ifca.correct_clients import EQ_3
from bounds.ifca.symbols import HALF, C_n, Delta, alpha, c_1, d, k, n, sigma, theta_max
from bounds.statement import Assumption, Constant, Term

eta, v, lam, L = sp.symbols("eta v lam L")
r = sp.Symbol("r")
_KAPPA = sp.sqrt(lam / L)
X = eta**2 / (alpha**2 * lam**2 * Delta**4 * n)
#: The radius in which Theorem 2 and Assumption 6 put every model.
RADIUS = (HALF - alpha) * _KAPPA * Delta
#: The smallest difference of the mean losses of two models within the radius.
GAP = lam / 2 * (Delta - RADIUS) ** 2 - L / 2 * RADIUS**2

_EVERY = r"\forall\lambda\le L,\Delta,\alpha,\eta,n'"

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

# --- Lemma 3 ------------------------------------------------------------------------------------

LEMMA_3_GAP = statement(
    "ifca.lemma3-gap",
    "Proof of Lemma 3: the gap between two mean losses",
    "proof of Lemma 3, last display",
    kind="deterministic",
    quantifiers=r"\forall\lambda\le L,\Delta,\alpha",
    observed=r"F^1(\theta_j)-F^1(\theta_1)",
    relation=r"\ge",
    terms=(Term(name="gap", expr=alpha * lam * Delta**2),),
    assumptions=CLOSENESS,
)
LEMMA_3_GAP_SHARP = LEMMA_3_GAP.variant(
    "ifca.lemma3-gap-sharp",
    "The smallest gap between two mean losses",
    "proof of Lemma 3, sharper",
    terms=(Term(name="gap", expr=GAP),),
    reading=(
        "The proof replaces $\\Delta-(\\frac12-\\alpha)\\sqrt{\\lambda/L}\\Delta$ by "
        "$(\\frac12+\\alpha)\\Delta$. The two agree for $\\lambda=L$ only. For $\\lambda\\ll L$ "
        "the gap is at least $\\frac38\\lambda\\Delta^2$ whatever $\\alpha$ is, so the factor "
        "$\\alpha^{-2}$ of Lemma 3 is not needed there."
    ),
)
LEMMA_3 = statement(
    "ifca.lemma3",
    "Probability of a wrong identity between two clusters",
    "Lemma 3, first display",
    kind="deterministic",
    quantifiers=rf"\exists c_1\;{_EVERY}",
    observed=r"P(\mathcal{E}_i^{j,j'})",
    terms=(Term(name="wrong", expr=c_1 * X),),
    constants=(prefactor(c_1, "prefactor"),),
    assumptions=CLOSENESS,
    reading=(
        "The proof gives $c_1=8$. $c_1=4$ is enough: the difference of the two averages has a "
        "standard deviation of at most $2\\eta/\\sqrt{n'}$, and Cantelli's inequality gives "
        "$4X/(1+4X)$ with $X=\\eta^2/(\\alpha^2\\lambda^2\\Delta^4n')$."
    ),
    uses=("ifca.lemma3-gap",),
)
LEMMA_3_ATTAINED = statement(
    "ifca.lemma3-attained",
    "Some law attains the limit on a wrong identity",
    "Lemma 3, with the smallest constant, $n'=1$, $\\lambda=L$",
    kind="deterministic",
    quantifiers=r"\forall\lambda,\Delta,\alpha,\eta",
    observed=r"\sup P(\mathcal{E}_i^{j,j'})",
    relation="=",
    terms=(Term(name="wrong", expr=4 * n * X / (1 + 4 * n * X)),),
    assumptions=CLOSENESS,
    reading="So no constant below four serves in Lemma 3. The law has two points.",
    uses=("ifca.lemma3",),
)
LEMMA_3_UNION = LEMMA_3.variant(
    "ifca.lemma3-union",
    "Probability of a wrong identity",
    "Lemma 3, second display",
    quantifiers=rf"\exists c_1\;\forall k,\;{_EVERY}",
    observed=r"P(\overline{\mathcal{E}_i})",
    terms=(Term(name="wrong", expr=c_1 * k * X),),
    reading="$c_1=2$ is enough, because $(1+\\sqrt{k-1})^2\\le2k$.",
    uses=("ifca.lemma3", "ifca.lemma3-union-sharp"),
)
LEMMA_3_UNION_SHARP = statement(
    "ifca.lemma3-union-sharp",
    "Probability of a wrong identity, with the smallest constant",
    "Lemma 3, second display, sharper",
    kind="deterministic",
    quantifiers=rf"\forall k,\;{_EVERY}",
    observed=r"P(\overline{\mathcal{E}_i})",
    terms=(Term(name="wrong", expr=(1 + sp.sqrt(k - 1)) ** 2 * X),),
    assumptions=CLOSENESS,
    reading=(
        "A wrong client has a deviation of its own loss and of a rival's that add up to the gap. "
        "The largest deviation of $k-1$ rivals has a second moment of at most $(k-1)\\eta^2/n'$. "
        "Minkowski's and Markov's inequalities give the bound. Rare spikes attain it as "
        "$n'\\to\\infty$, so the factor $k$ is needed."
    ),
    uses=("ifca.lemma3-gap",),
)
LEMMA_3_RATE = LEMMA_3_ATTAINED.variant(
    "ifca.lemma3-rate",
    "Wrong identities fall like 1/n' and no faster",
    "Section V-B, last paragraph; $\\lambda=L$",
    quantifiers=r"\forall\lambda,\Delta,\alpha,\eta,n'",
    relation=r"\ge",
    terms=(Term(name="wrong", expr=sp.Min(1, 4 * X) / 4),),
    reading=(
        "The supremum is over laws with variance $\\eta^2$, which may change with $n'$. For one "
        "fixed law of finite variance $\\sum_{n'}P$ is finite (Hsu and Robbins), so the rate is "
        "never as slow as $1/n'$."
    ),
    uses=("ifca.lemma3-attained",),
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
    "proof of Theorem 2, before (24)",
    kind="deterministic",
    quantifiers=rf"\exists C_n\;\forall k,\;{_EVERY}",
    observed=r"P(\overline{\mathcal{E}_i})",
    terms=(Term(name="half", expr=HALF),),
    assumptions=(*CLOSENESS, SAMPLES),
    reading="$C_n=4$ is enough.",
    uses=("ifca.lemma3-union",),
)
HALF_CORRECT = statement(
    "ifca.half-correct-sc",
    "Enough clients are identified correctly",
    "proof of Theorem 2, before (24)",
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
    "(27)",
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
WLOG = EQ_27.variant(
    "ifca.a6-wlog-as-printed",
    "Bounded optima without loss of generality",
    "Assumption 6, first sentence, in (27)",
    quantifiers=r"\forall\lambda\le L,\Delta,\alpha",
    assumptions=CLOSENESS,
    reading="(27) in the models' own unit, without the bound on the optima.",
)
EQ_27_UNITS = WLOG.variant(
    "ifca.eq27-units",
    "Gradient of a stranger's mean loss, in any unit",
    "(27), corrected",
    terms=(Term(name="gradient", expr=3 * L * theta_max),),
    reading=(
        "The second term of $\\varepsilon_0$ then has the factor $\\max_j\\norm{\\theta_j^*}$, "
        "which gives it the unit of a model. As printed it is a pure number beside two lengths."
    ),
)

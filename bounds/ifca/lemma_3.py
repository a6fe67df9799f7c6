r"""Lemma 3 of IFCA: the identity of a client whose loss has a bounded variance and nothing else.

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
from bounds.ifca.symbols import HALF, Delta, alpha, c_1, k, n
from bounds.statement import Term

eta, v, lam, L = sp.symbols("eta v lam L")
X = eta**2 / (alpha**2 * lam**2 * Delta**4 * n)
#: The radius in which Theorem 2 and Assumption 6 put every model.
RADIUS = (HALF - alpha) * sp.sqrt(lam / L) * Delta
#: The smallest difference of the mean losses of two models within the radius.
GAP = lam / 2 * (Delta - RADIUS) ** 2 - L / 2 * RADIUS**2

EVERY = r"\forall\lambda\le L,\Delta,\alpha,\eta,n'"

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
    quantifiers=rf"\exists c_1\;{EVERY}",
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
    quantifiers=rf"\exists c_1\;\forall k,\;{EVERY}",
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
    quantifiers=rf"\forall k,\;{EVERY}",
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

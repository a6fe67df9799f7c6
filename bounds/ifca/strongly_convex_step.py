r"""IFCA with strongly convex losses: one step, and Theorem 2.

Numbers of equations in comments and ids are the preprint's.  The print's are smaller by two.

The paper's :math:`\delta_0,\delta_1,\delta_2` are ``delta_0``, ``delta_1``, ``delta_2``.
``strangers`` is the number of clients of other clusters that are identified with the first,
``right`` that of its own clients.
"""

from __future__ import annotations

import sympy as sp

from bounds.ifca.assumptions import CLOSENESS, prefactor, statement
from bounds.ifca.lemma_3 import L, X, eta, lam, v
from bounds.ifca.strangers import STRANGERS
from bounds.ifca.strongly_convex import SAMPLES
from bounds.ifca.symbols import C_p, Delta, alpha, c_1, c_2, err, gamma, k, m, n, p, p_j, theta_max
from bounds.statement import Assumption, Term

delta, delta_0, delta_1, delta_2 = sp.symbols("delta delta_0 delta_1 delta_2")
c_0 = sp.Symbol("c_0")
RIGHT = sp.Symbol("right")

_SHAPES = r"\forall\lambda\le L,\theta_1"

# --- The correctly identified clients: (22) to (25) ---------------------------------------------

SHORT = Assumption(name="short step", left=1 / L, right=gamma)
EQ_22 = statement(
    "ifca.eq22",
    "A gradient step of a strongly convex loss contracts",
    "(20) in print, (22) in the preprint",
    kind="deterministic",
    quantifiers=rf"{_SHAPES},\ \hat\gamma\le1/L",
    observed=r"\norm{T_{11}}",
    terms=(Term(name="contraction", expr=(1 - gamma * lam * L / (lam + L)) * err),),
    assumptions=(SHORT,),
    reading="$\\gamma$ stands for $\\hat\\gamma=\\gamma|S_1\\cap S_1^*|/m$.",
)
EQ_22_SHARP = statement(
    "ifca.eq22-sharp",
    "A gradient step of a strongly convex loss contracts by its curvature",
    "(20) in print, (22) in the preprint, sharper",
    kind="deterministic",
    quantifiers=rf"{_SHAPES},\ \hat\gamma\le2/(\lambda+L)",
    observed=r"\norm{T_{11}}",
    terms=(Term(name="contraction", expr=(1 - gamma * lam) * err),),
    assumptions=(Assumption(name="short step", left=2 / (lam + L), right=gamma),),
    reading=(
        "Attained by a quadratic of curvature $\\lambda$. It holds for all steps up to "
        "$2/(\\lambda+L)$. The printed factor loses up to half of the contraction."
    ),
)
EQ_23 = statement(
    "ifca.eq23",
    "Fluctuation of the mean gradient",
    "(21) in print, (23) in the preprint",
    kind="deterministic",
    quantifiers=r"\forall v,n',|S_1\cap S_1^*|,\delta_0",
    observed=r"q_{1-\delta_0}(\norm{T_{12}})",
    terms=(Term(name="fluctuation", expr=v / (delta_0 * sp.sqrt(n * RIGHT))),),
    reading=(
        "The left-hand side is the largest quantile that the variance allows, by Chebyshev. The "
        "display before it has an equals sign where Assumption 5 gives at most."
    ),
)
EQ_23_SHARP = EQ_23.variant(
    "ifca.eq23-chebyshev",
    "Fluctuation of the mean gradient by Chebyshev",
    "(21) in print, (23) in the preprint, sharper",
    terms=(Term(name="fluctuation", expr=v / sp.sqrt(delta_0 * n * RIGHT)),),
    reading="Markov's inequality on the square gives $\\delta_0^{-1/2}$ for $\\delta_0^{-1}$.",
)
_COUNTS = r"\forall v,m,n',p\le p_1,\ \frac14p_1m\le|S_1\cap S_1^*|\le p_1m,\delta_0"
EQ_25 = statement(
    "ifca.eq25",
    "Fluctuation of a step",
    "(23) in print, (25) in the preprint, second term",
    kind="deterministic",
    quantifiers=_COUNTS,
    observed=r"\hat\gamma\frac v{\delta_0\sqrt{n'|S_1\cap S_1^*|}}",
    terms=(Term(name="fluctuation", expr=2 * v / (delta_0 * L * sp.sqrt(p * m * n))),),
    assumptions=(
        Assumption(
            name="another cluster",
            left=1 - p,
            right=p_j,
            note="with $k\\ge2$ some other cluster has a share of at least $p$",
        ),
    ),
    uses=("ifca.eq23", "ifca.half-correct-sc"),
)
EQ_25_SHARP = EQ_25.variant(
    "ifca.eq25-sharp",
    "Fluctuation of a step falls with the size of the cluster",
    "(23) in print, (25) in the preprint, second term, sharper",
    terms=(Term(name="fluctuation", expr=v * sp.sqrt(p_j) / (delta_0 * L * sp.sqrt(m * n))),),
    reading=(
        "$\\hat\\gamma$ is proportional to $|S_1\\cap S_1^*|$. The proof replaces it by $1/L$ and "
        "the count below the root by $pm/4$, which loses the factor $2/\\sqrt{p\\,p_1}$."
    ),
    uses=("ifca.eq23",),
)
CONTRACTION = statement(
    "ifca.thm2-contraction",
    "Contraction of the correctly identified part",
    "(22) in print, (24) in the preprint, and Theorem 2",
    kind="deterministic",
    quantifiers=r"\forall\lambda\le L,m,p\le p_1,|S_1\cap S_1^*|\ge\frac14p_1m,\gamma=1/L",
    observed=r"\norm{T_{11}}/\norm{\theta_1-\theta_1^*}",
    terms=(Term(name="factor", expr=1 - p * lam / (8 * L)),),
    uses=("ifca.eq22", "ifca.half-correct-sc"),
)
CONTRACTION_SHARP = CONTRACTION.variant(
    "ifca.thm2-contraction-sharp",
    "Contraction of the correctly identified part, with the smallest factor",
    "(22) in print, (24) in the preprint, sharper",
    terms=(Term(name="factor", expr=1 - p * lam / (4 * L)),),
    reading="With all clients identified correctly the factor is $1-p_1\\lambda/L$.",
    uses=("ifca.eq22-sharp",),
)

# --- The strangers: (30) to (32) ----------------------------------------------------------------

CLUSTERS = (
    *CLOSENESS,
    SAMPLES,
    Assumption(name="bounded optima", left=sp.Integer(1), right=theta_max),
    Assumption(name="smallest cluster", left=p, right=sp.log(m * n) / m, constant=C_p),
)
_EVERY = r"\forall\lambda\le L,\eta,v,\Delta,\alpha,m,n',k,p"
EQ_30 = statement(
    "ifca.eq30",
    "Contribution of the strangers",
    "(28) in print, (30) in the preprint, with $c_1=3$",
    kind="probability",
    quantifiers=rf"{_EVERY},S_1,\ \gamma=1/L",
    observed=r"\norm{T_2}",
    terms=(
        Term(name="pull", expr=3 * STRANGERS / m),
        Term(
            name="fluctuation",
            expr=v * sp.sqrt(k * STRANGERS) / (delta_1 * L * m * sp.sqrt(n)),
        ),
    ),
    failure=k * delta_1,
    assumptions=CLUSTERS,
    uses=("ifca.eq27",),
)
EQ_32 = EQ_30.variant(
    "ifca.eq32",
    "Contribution of the strangers, without their number",
    "(30) in print, (32) in the preprint",
    quantifiers=rf"\exists c_1,c_2\;{_EVERY},\ \gamma=1/L",
    terms=(
        Term(name="pull", expr=c_1 * X / delta_2),
        Term(
            name="fluctuation",
            expr=c_2
            * v
            * eta
            * sp.sqrt(k)
            / (delta_1 * sp.sqrt(delta_2) * alpha * lam * L * Delta**2 * sp.sqrt(m) * n),
        ),
    ),
    failure=k * delta_1 + delta_2,
    constants=(prefactor(c_1, "pull"), prefactor(c_2, "fluctuation")),
    reading="The number of strangers needs no factor $k$: each is wrong about one given cluster.",
    uses=("ifca.eq30", "ifca.lemma3"),
)

EQ_30_SHARP = EQ_30.variant(
    "ifca.eq30-sharp",
    "Contribution of the strangers, sharper",
    "(28) in print, (30) in the preprint, sharper, in any unit",
    terms=(
        Term(name="pull", expr=3 * theta_max * STRANGERS / m),
        Term(name="fluctuation", expr=v / (L * m) * sp.sqrt(STRANGERS / (delta * n))),
    ),
    quantifiers=r"\forall\lambda\le L,\eta,v,\Delta,\alpha,m,n',k,p,\delta,S_1,\ \gamma=1/L",
    failure=delta,
    assumptions=CLOSENESS,
    reading=(
        "Given $S_1$ the strangers' gradients are independent, so one use of Chebyshev's "
        "inequality serves for all clusters: $\\delta^{-1/2}$ and no $k$ for $\\delta_1^{-1}$ and "
        "$\\sqrt k$. The factor $\\max_j\\norm{\\theta_j^*}$ is that of ifca.eq27-units."
    ),
    uses=("ifca.eq27-units",),
)
EQ_32_SHARP = EQ_30_SHARP.variant(
    "ifca.eq32-sharp",
    "Contribution of the strangers, without their number, sharper",
    "(30) in print, (32) in the preprint, sharper, in any unit",
    quantifiers=r"\forall\lambda\le L,\eta,v,\Delta,\alpha,m,n',k,p_j,\delta,\ \gamma=1/L",
    terms=(
        Term(name="pull", expr=24 * theta_max * X * (1 - p_j) / delta),
        Term(name="fluctuation", expr=v / L * sp.sqrt(8 * X * (1 - p_j) / (delta * m * n))),
    ),
    reading=(
        "At most $4X(1-p_j)m$ strangers come on average, and the noise of their gradients has a "
        "variance of at most $4X(1-p_j)v^2/(mn'L^2)$. Markov's inequality serves twice, each "
        "time with $\\delta/2$. The pull is some 25 times a stranger's, so that the trials tell "
        "$1/\\sqrt k$ and not $1/\\log(ek)$."
    ),
    uses=("ifca.eq27-units", "ifca.lemma3"),
)

# --- Theorem 2 ----------------------------------------------------------------------------------

FLOOR = v / (delta * L * sp.sqrt(p * m * n))
PULL = X / delta
CROSS = (
    v
    * eta
    * k ** sp.Rational(3, 2)
    / (delta ** sp.Rational(3, 2) * alpha * lam * L * Delta**2 * sp.sqrt(m) * n)
)
THEOREM_2 = statement(
    "ifca.thm2",
    "One step of IFCA with strongly convex losses",
    "Theorem 2",
    kind="probability",
    quantifiers=rf"\exists c_0,c_1,c_2\;{_EVERY},\delta,j,\ \gamma=1/L",
    observed=r"\norm{\theta_j^+-\theta_j^*}",
    terms=(
        Term(name="contraction", expr=(1 - p * lam / (8 * L)) * err),
        Term(name="floor", expr=c_0 * FLOOR),
        Term(name="pull", expr=c_1 * PULL),
        Term(name="cross", expr=c_2 * CROSS),
    ),
    failure=delta,
    constants=(
        prefactor(c_0, "floor"),
        prefactor(c_1, "pull of strangers"),
        prefactor(c_2, "fluctuation of strangers"),
    ),
    assumptions=CLUSTERS,
    reading=(
        "The proof needs $2e^{-cpm}\\le\\delta/4$, which $p\\gtrsim\\log(mn')/m$ does not give for "
        "$\\delta\\to0$. The statement holds all the same: ifca.thm2-sharp does not use the event. "
        "By it the floor over $\\sqrt k$ is true too, and the third term is not needed, so that "
        "the trials tell no factor of it. In the pull, more than 50 times a stranger's, they do "
        "not tell $1/\\sqrt k$ or a logarithm."
    ),
    uses=("ifca.thm2-contraction", "ifca.eq25", "ifca.eq32"),
)
THEOREM_2_SHARP = statement(
    "ifca.thm2-sharp",
    "One step of IFCA with strongly convex losses, sharper",
    "Theorem 2, sharper",
    kind="probability",
    quantifiers=r"\forall\lambda\le L,\eta,v,\Delta,\alpha,m,n',k,p_j,\delta,j,\ \gamma=1/L",
    observed=r"\norm{\theta_j^+-\theta_j^*}",
    terms=(
        Term(name="contraction", expr=(1 - p_j * lam / L) * err),
        Term(
            name="floor",
            expr=sp.sqrt(2 / delta) * v / L * sp.sqrt((p_j + 4 * X * (1 - p_j)) / (m * n)),
        ),
        Term(name="pull", expr=2 * (2 * k * p_j + 12 * (1 - p_j)) * theta_max * X / delta),
    ),
    failure=delta,
    assumptions=CLOSENESS,
    reading=(
        "Of $p_jm$ clients at most $2kXp_jm$ are lost on average, and $4X(1-p_j)m$ strangers "
        "come. The loss slows the contraction by $\\lambda/L\\cdot\\norm{\\theta_j-\\theta_j^*}/m"
        "\\le\\max_j\\norm{\\theta_j^*}/m$ a client, a stranger moves the model by at most three "
        "times as much, and the noise of all identified clients has a variance of at most "
        "$v^2(p_j+4X(1-p_j))/(mn'L^2)$. Markov's inequality serves twice. No condition on $p$, "
        "$n'$ or the optima, no $k^{3/2}$ and no $\\delta^{-3/2}$ is needed."
    ),
    uses=("ifca.eq22-sharp", "ifca.lemma3", "ifca.lemma3-union", "ifca.eq27-units"),
)

# --- Exponents ----------------------------------------------------------------------------------

FLOOR_RATES = statement(
    "ifca.thm2-floor-rates",
    "Exponents of the noise of a step without strangers",
    "Theorem 2, first term, sharper",
    kind="rate",
    observed=r"E\norm{\theta_j^+-\theta_j^*}^2",
    relation=r"\propto",
    quantifiers=r"\theta_j=\theta_j^*,\eta\to0,p_j=p",
    terms=(Term(name="floor", expr=v**2 * p / (L**2 * m * n)),),
    reading=(
        "Theorem 2 bounds it with the exponent $-1/2$ of $p$ before squaring. The bound is valid. "
        "The noise has the exponent $+1/2$. $\\delta$ is fixed."
    ),
    uses=("ifca.thm2-sharp",),
)
PULL_RATES = statement(
    "ifca.thm2-term2-rates",
    "Exponents of the second term of a step's error",
    "Theorem 2, second term",
    kind="rate",
    quantifiers=r"\lambda=L,\ \text{rare spikes}",
    observed=r"E|S_1\cap\overline{S_1^*}|/m",
    relation=r"\propto",
    terms=(Term(name="pull", expr=X),),
    reading="All printed exponents are those of the worst law with $\\lambda=L$.",
    uses=("ifca.lemma3-attained",),
)
CROSS_RATES = statement(
    "ifca.thm2-term3-rates",
    "Exponents of the noise of the strangers",
    "Theorem 2, third term, sharper",
    kind="rate",
    quantifiers=r"\theta_j=\theta_j^*,\ \text{rare spikes}",
    observed=r"E\norm{T_2-ET_2}^2",
    relation=r"\propto",
    terms=(Term(name="cross", expr=(v * eta / (lam * L * Delta**2 * sp.sqrt(m) * n)) ** 2),),
    reading=(
        "The clients' gradients are independent, so their sum needs one Markov inequality and no "
        "union over clusters. The factor $k^{3/2}$ of the bound, which is valid, is not needed. "
        "The expectation is over the gradients' noise, given $S_1$. $\\delta$ is fixed."
    ),
    uses=("ifca.thm2-sharp",),
)

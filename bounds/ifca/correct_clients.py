r"""Proof of Theorem 1 of IFCA, first part: the clients that are identified correctly.

:math:`T_1` is the part of a step that they contribute: the triangle inequality (2), the number of
these clients (3), the Gram matrix (4) and the contraction (5).
"""

from __future__ import annotations

import sympy as sp

from bounds.gaussian import N
from bounds.ifca.assumptions import ASSUMPTION_2, CLOSENESS, prefactor, rate, statement
from bounds.ifca.symbols import C_N, SIGNAL, C_n, c, c_5, c_6, d, err, gamma, m, n, p, p_max, sigma
from bounds.statement import Assumption, Term

A = sp.Symbol("a")
GRAM, NOISE = sp.symbols("gram noise")

EQ_2_AS_PRINTED = statement(
    "ifca.eq2-as-printed",
    "Proof of Theorem 1: triangle inequality without the absolute value",
    "(2)",
    kind="deterministic",
    quantifiers=r"\forall N,d,\gamma,m,n',X,\epsilon,\theta_1",
    observed=r"\norm{T_1}",
    terms=(
        Term(name="contraction", expr=(1 - A) * err),
        Term(name="fluctuation", expr=A * GRAM * err),
        Term(name="noise", expr=A * NOISE),
    ),
    reading=(
        "Here $a=2\\gamma N/(mn')$. The printed first coefficient is $1-a$. It is negative "
        "when $\\gamma>1/(2p_j)$. With $\\gamma=c_1/p$ this holds for every cluster with "
        "$p_j>p/(2c_1)$."
    ),
)

EQ_2 = EQ_2_AS_PRINTED.variant(
    "ifca.eq2",
    "Proof of Theorem 1: triangle inequality",
    "(2), corrected",
    terms=(
        Term(name="contraction", expr=sp.Abs(1 - A) * err),
        Term(name="fluctuation", expr=A * GRAM * err),
        Term(name="noise", expr=A * NOISE),
    ),
    reading="This is (2) with $|1-2\\gamma N/(mn')|$ in place of $1-2\\gamma N/(mn')$.",
)

HALF_CORRECT = statement(
    "ifca.half-correct",
    "Proof of Theorem 1: a client is identified correctly with probability one half",
    "before (3)",
    kind="deterministic",
    quantifiers=r"\forall m,n',k\le m,\rho,\alpha\ \text{in Assumption 2}",
    observed=r"P(\overline{\mathcal{E}_i})",
    terms=(Term(name="half", expr=sp.Rational(1, 2)),),
    assumptions=(
        *CLOSENESS,
        Assumption(name="samples per client", left=SIGNAL, right=sp.log(m), constant=C_n),
    ),
    uses=("ifca.lemma1-union",),
)

EXPECTED_CORRECT = HALF_CORRECT.variant(
    "ifca.expected-correct",
    "Proof of Theorem 1: half of a cluster is identified correctly on average",
    "before (3)",
    observed=r"E|S_1\cap S_1^*|",
    relation=r"\ge",
    terms=(Term(name="half", expr=p * m / 2),),
    reading="Here $p$ is the cluster's own share $p_1$.",
    uses=("ifca.half-correct",),
)

EQ_3 = statement(
    "ifca.eq3",
    "Proof of Theorem 1: enough clients are identified correctly",
    "(3)",
    kind="deterministic",
    quantifiers=r"\exists c>0\;\forall m,p_1\ge p,\ P(\mathcal{E}_i)\ge\frac12",
    observed=r"P(|S_1\cap S_1^*|\le\frac14p_1m)",
    terms=(Term(name="tail", expr=2 * sp.exp(-c * p * m)),),
    constants=(rate(c, "rate"),),
    uses=("ifca.half-correct", "ifca.expected-correct"),
)

EQ_4 = statement(
    "ifca.eq4",
    "Proof of Theorem 1: concentration of the Gram matrix",
    "(4)",
    kind="probability",
    quantifiers=r"\forall N\gtrsim d",
    observed=r"\norm{X^\top X-E X^\top X}_{op}",
    terms=(Term(name="norm", expr=6 * sp.sqrt(d * N)),),
    failure=2 * sp.exp(-d / 2),
    assumptions=(Assumption(name="samples", left=N, right=d, constant=C_N),),
    reading=(
        "The source's bound is $4\\sqrt{d/N}+4d/N$ relative to $N$. So (4) is a theorem for "
        "$N\\ge 4d$, and all cells meet this condition."
    ),
)

EQ_5_AS_PRINTED = statement(
    "ifca.eq5-as-printed",
    "Proof of Theorem 1: correctly identified clients contract, any step size",
    "(5)",
    kind="upper bound",
    quantifiers=r"\exists c_5,c_6>0\;\forall \gamma>0",
    observed=r"\norm{T_1}",
    terms=(
        Term(name="contraction", expr=(1 - c_5 * gamma * p) * err),
        Term(name="floor", expr=c_6 * gamma * sigma * sp.sqrt(d / (m * n))),
    ),
    failure=1 / m,
    constants=(rate(c_5, "contraction"), prefactor(c_6, "noise")),
    assumptions=ASSUMPTION_2,
    reading=(
        "(5) is stated for every step size and then used at $\\gamma=1/(2c_5p)$. It lacks the same "
        "absolute value as (2)."
    ),
    uses=(
        "ifca.eq2-as-printed",
        "ifca.eq3",
        "ifca.eq4",
        "ifca.lemma2-noise",
    ),
)

EQ_5 = EQ_5_AS_PRINTED.variant(
    "ifca.eq5",
    "Proof of Theorem 1: correctly identified clients contract, small steps",
    "(5), for steps with $2\\gamma p_{\\max}\\le1$",
    kind="probability",
    quantifiers=r"\exists c_5,c_6>0\;\forall \gamma\le 1/(2p_{\max})",
    assumptions=(
        *ASSUMPTION_2,
        Assumption(name="small step", left=sp.Integer(1), right=2 * gamma * p_max),
    ),
    reading="These are the step sizes for which $1-2\\gamma N/(mn')$ needs no absolute value.",
    uses=(
        "ifca.eq2",
        "ifca.eq3",
        "ifca.eq4",
        "ifca.lemma2-noise",
    ),
)

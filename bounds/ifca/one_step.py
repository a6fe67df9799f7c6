"""Theorem 1 of IFCA: one step from a start that is close to the optima."""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from bounds.ifca.assumptions import (
    ASSUMPTION_2,
    CLOSENESS,
    OWN_STEP_CONSTANT,
    STEP_CONSTANT,
    balanced,
    more_samples,
    prefactor,
    rate,
    statement,
)
from bounds.ifca.symbols import FLOOR, HALF, SIGNAL, c_2, c_3, c_4, err, m
from bounds.statement import Term


def three_terms(contraction: sp.Expr, signal: sp.Expr) -> Sequence[Term]:
    """The three terms of (1): contraction, statistical floor, misidentification."""
    return (
        Term(name="contraction", expr=contraction * err),
        Term(name="floor", expr=c_2 * FLOOR),
        Term(name="misidentification", expr=c_3 * sp.exp(-c_4 * signal)),
    )


ONE_STEP_CONSTANTS = (
    STEP_CONSTANT,
    prefactor(c_2, "statistical floor", high=1e2),
    prefactor(c_3, "misidentification", high=1e2),
    rate(c_4, "misidentification rate"),
)

THEOREM_1_AS_PRINTED = statement(
    "ifca.thm1-as-printed",
    "Theorem 1: one step, clusters of any sizes",
    "Theorem 1, (1)",
    kind="upper bound",
    quantifiers=r"\exists c_1,\dots,c_4>0\;\forall m,n',d,k,p_j,\Delta,\sigma,\alpha"
    r"\ \forall j\in[k]",
    observed=r"\norm{\theta_j^+-\theta_j^*}",
    terms=three_terms(HALF, SIGNAL),
    failure=1 / m,
    constants=ONE_STEP_CONSTANTS,
    assumptions=(*CLOSENESS, *ASSUMPTION_2),
    reading=(
        "All clusters use one step size $\\gamma=c_1/p$. The constant $c_1$ is universal, so it "
        "depends on neither $k$ nor the $p_j$. $\\mathrm{poly}(m)$ is a polynomial of arbitrarily "
        "large degree. It is read as $m$ here, which asks for less. ifca.poly-m tries every "
        "degree. Even a $c_1$ that depends on $r=p_{\\max}/p$ could not do better than the factor "
        "$(r-1)/(r+1)$, at $c_1=1/(1+r)$."
    ),
    uses=(
        "ifca.eq5-as-printed",
        "ifca.eq8",
        "ifca.eq12",
    ),
)

MEAN_STEP = (
    "The mean step on cluster $j$ contracts by $|1-2c_1p_j/p|$. This factor is at most $1/2$ for "
    "all $j$ only if $1/4\\le c_1$ and $c_1p_{\\max}/p\\le3/4$. Such a $c_1$ exists if and only if "
    "$p_{\\max}\\le 3p$. With $p_{\\max}\\le 2p$ and $c_1=1/3$ the factor is at most $1/3$."
)
NO_STRANGERS = (
    "Under Assumption 2 the third term is not needed: some client is misidentified only with "
    "probability $1/m$."
)

THEOREM_1 = THEOREM_1_AS_PRINTED.variant(
    "ifca.thm1",
    "Theorem 1: one step, clusters within a factor two of each other",
    "Theorem 1, (1), corrected",
    assumptions=(*CLOSENESS, balanced(2), *ASSUMPTION_2),
    reading=(
        f"{MEAN_STEP} $\\alpha$ is that of the step itself, also in Assumption 2. {NO_STRANGERS} "
        "So no change of it is seen. The floor over $\\sqrt k$ is true as well: the noise is that "
        "of $p_jm$ clients, of order $\\sigma\\sqrt{d/(pmn')}$, and $pk\\le1$."
    ),
    uses=(
        "ifca.eq2",
        "ifca.eq3",
        "ifca.eq4",
        "ifca.lemma2-noise",
        "ifca.eq8",
        "ifca.eq12",
    ),
)

THEOREM_1_OWN_STEP = THEOREM_1_AS_PRINTED.variant(
    "ifca.thm1-own-step",
    "Theorem 1: one step, clusters of any sizes, own step sizes",
    "Theorem 1, (1), corrected by step sizes $c_1/p_j$",
    constants=(OWN_STEP_CONSTANT, *ONE_STEP_CONSTANTS[1:]),
    reading=(
        "Averaging gradients over $|S_j|$ instead of $m$ (as model averaging does) gives cluster "
        "$j$ the step size $c_1/p_j$. Then the theorem holds for every ratio of sizes."
    ),
    uses=(
        "ifca.eq2",
        "ifca.eq3",
        "ifca.eq4",
        "ifca.lemma2-noise",
        "ifca.eq8",
        "ifca.eq12",
    ),
)

THEOREM_1_WIDER = THEOREM_1.variant(
    "ifca.thm1-wider",
    "Theorem 1: one step, clusters within a factor 5/2 of each other",
    "Theorem 1, (1), corrected",
    assumptions=(
        *CLOSENESS,
        balanced(sp.Rational(5, 2)),
        *ASSUMPTION_2,
        more_samples(1000, "the step's factor leaves no room for a larger fluctuation"),
    ),
    reading=(
        f"{MEAN_STEP} At $p_{{\\max}}=5p/2$ the best step size is $c_1=2/7$, with the factor "
        "$3/7$. The rest up to $1/2$ is room for the fluctuation of the Gram matrix."
    ),
    uses=THEOREM_1.uses,
)

THEOREM_1_THREE_AS_PRINTED = THEOREM_1_WIDER.variant(
    "ifca.thm1-factor-three-as-printed",
    "Theorem 1: one step, clusters within a factor three of each other",
    "Theorem 1, (1), where the mean step alone allows it",
    assumptions=(*CLOSENESS, balanced(3), *ASSUMPTION_2),
    reading=(
        f"{MEAN_STEP} At $p_{{\\max}}=3p$ only $c_1=1/4$ is left, with the factor $1/2$ exactly. "
        "The fluctuation of the Gram matrix adds to it. Its size is of order "
        "$\\sqrt{d/(pmn')}\\,\\norm{\\theta_j-\\theta_j^*}$, which no other term of (1) covers "
        "when the noise is small."
    ),
    uses=THEOREM_1_AS_PRINTED.uses,
)

CONTRACTION_RATE = statement(
    "ifca.thm1-contraction",
    "Theorem 1: the contraction factor far from the optima",
    "Theorem 1, first term",
    kind="rate",
    quantifiers=r"\exists c_1>0\;\forall j\in[k]",
    observed=r"\norm{\theta_j^+-\theta_j^*}/\norm{\theta_j-\theta_j^*}",
    terms=(Term(name="factor", expr=HALF),),
    assumptions=(balanced(2), *ASSUMPTION_2),
    reading="With $c_1=1/3$ and clusters within a factor two, the exact law has the factor $1/3$.",
    uses=("ifca.thm1",),
)

FLOOR_RATE = statement(
    "ifca.thm1-floor",
    "Theorem 1: how the error floor scales",
    "Theorem 1, second term",
    kind="rate",
    quantifiers=r"\forall m,n',d,p,\sigma",
    observed=r"\norm{\theta_j^+-\theta_j^*}\ \text{at}\ \theta_j=\theta_j^*",
    relation=r"\le",
    terms=(Term(name="floor", expr=c_2 * FLOOR),),
    constants=(prefactor(c_2, "statistical floor"),),
    assumptions=ASSUMPTION_2,
    uses=("ifca.thm1-own-step",),
)

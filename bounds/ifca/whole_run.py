"""Corollary 1 of IFCA: the whole run."""

from __future__ import annotations

import sympy as sp

from bounds.ifca.assumptions import (
    ASSUMPTION_2,
    CLOSENESS,
    OWN_STEP_CONSTANT,
    STEP_CONSTANT,
    balanced,
    prefactor,
    rate,
    statement,
)
from bounds.ifca.symbols import FLOOR, SIGNAL_FREE, Delta, T, c_6, c_7, c_8, m, varepsilon
from bounds.statement import Term

ACCURACY_TERMS = (
    Term(name="floor", expr=c_6 * FLOOR),
    Term(name="misidentification", expr=c_7 * sp.exp(-c_8 * SIGNAL_FREE)),
)
ROUNDS = 2 + sp.log(Delta / (4 * varepsilon))
#: Halvings that bring Delta/4 down to epsilon.
HALVINGS = sp.log(Delta / (4 * varepsilon)) / sp.log(2)
COROLLARY_CONSTANTS = (
    STEP_CONSTANT,
    prefactor(c_6, "statistical floor", high=1e2),
    prefactor(c_7, "misidentification", high=1e2),
    rate(c_8, "misidentification rate"),
)

COROLLARY_1_AS_PRINTED = statement(
    "ifca.cor1-as-printed",
    "Corollary 1: the whole run, clusters of any sizes",
    "Corollary 1",
    kind="upper bound",
    quantifiers=r"\exists c_1,c_6,c_7,c_8>0\;\forall m,n',d,k,p_j,\Delta,\sigma,\alpha_0\ "
    r"\text{after}\ T=2+\log\frac{\Delta}{4\varepsilon}\ \text{steps}",
    observed=r"\norm{\hat\theta_j-\theta_j^*}",
    terms=ACCURACY_TERMS,
    failure=T / m,
    definitions={T: ROUNDS},
    constants=COROLLARY_CONSTANTS,
    assumptions=(*CLOSENESS, *ASSUMPTION_2),
    reading="$\\log$ is natural and $T$ is rounded up.",
    uses=(
        "ifca.thm1-as-printed",
        "ifca.alpha-increases-as-printed",
        "ifca.cor1-burn-in",
        "ifca.cor1-rounds-as-printed",
    ),
)

COROLLARY_1 = COROLLARY_1_AS_PRINTED.variant(
    "ifca.cor1",
    "Corollary 1: the whole run, clusters within a factor two of each other",
    "Corollary 1, corrected",
    assumptions=(*CLOSENESS, balanced(2), *ASSUMPTION_2),
    reading=(
        "The proof halves the error in each step. After $\\log(\\Delta/4\\varepsilon)$ steps "
        "(natural logarithm) the remaining factor is $(4\\varepsilon/\\Delta)^{\\log 2}$, not "
        "$4\\varepsilon/\\Delta$. With $c_1=1/3$ and $p_{\\max}\\le2p$ the factor is $1/3<1/e$, "
        "and the printed number of steps suffices."
    ),
    uses=(
        "ifca.thm1",
        "ifca.alpha-stays",
        "ifca.cor1-burn-in",
    ),
)

COROLLARY_1_OWN_STEP = COROLLARY_1_AS_PRINTED.variant(
    "ifca.cor1-own-step",
    "Corollary 1: the whole run, clusters of any sizes, own step sizes",
    "Corollary 1, corrected by step sizes $c_1/p_j$",
    constants=(OWN_STEP_CONSTANT, *COROLLARY_CONSTANTS[1:]),
    reading=(
        "The reading is that of ifca.thm1-own-step. The smallest cluster goes down to $p=1/(50k)$."
    ),
    uses=(
        "ifca.thm1-own-step",
        "ifca.cor1-burn-in",
    ),
)

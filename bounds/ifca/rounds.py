r"""The number of steps in Corollary 1 of IFCA: its logarithm, and the arithmetic of its proof."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import sympy as sp

from bounds.ifca import neurips
from bounds.ifca.assumptions import (
    CLOSENESS,
    balanced,
    prefactor,
    statement,
)
from bounds.ifca.symbols import (
    FLOOR,
    HALF,
    SIGNAL,
    C_Delta,
    Delta,
    T,
    alpha,
    c_2,
    c_3,
    c_4,
    c_5,
    varepsilon,
)
from bounds.ifca.whole_run import COROLLARY_1_AS_PRINTED, HALVINGS
from bounds.statement import Assumption, Statement, Term

# --- The logarithm ------------------------------------------------------------------------------


def _within_three(printed: Statement, id_: str, **fields: Any) -> Statement:
    """Corollary 1 with its printed number of steps, where one step has the printed factor 1/2."""
    place = printed.assumptions.index(next(a for a in printed.assumptions if a.constant))
    before, after = printed.assumptions[:place], printed.assumptions[place:]
    return replace(printed, id=id_, assumptions=(*before, balanced(3), *after), **fields)


_EVERY_FACTOR = (
    "Theorem 1 has its factor $1/2$ for sizes up to $p_{\\max}<3p$. Corollary 1 is read with the "
    "same sizes. For every $c_1$ some cluster's mean step has at least the factor $(r-1)/(r+1)$, "
    "$r=p_{\\max}/p$, which exceeds $1/e$ for $r>2.17$. Then a natural logarithm gives too few "
    "steps. The remaining error over $\\varepsilon$ grows with $\\Delta/\\varepsilon$, so that no "
    "constants help."
)

COROLLARY_1_LOGARITHM_AS_PRINTED = _within_three(
    COROLLARY_1_AS_PRINTED,
    "ifca.cor1-natural-log-as-printed",
    title="Corollary 1: the natural logarithm, clusters within a factor three of each other",
    reading=_EVERY_FACTOR,
    uses=("ifca.thm1-wider", "ifca.cor1-rounds-as-printed"),
)

NEURIPS_LOGARITHM_AS_PRINTED = _within_three(
    neurips.COROLLARY_1_AS_PRINTED,
    "ifca.neurips-cor1-natural-log-as-printed",
    title="Corollary 1 (conference): the natural logarithm, clusters within a factor three",
    reading=_EVERY_FACTOR,
    uses=("ifca.neurips-thm1", "ifca.cor1-rounds-as-printed"),
)

COROLLARY_1_ROUNDS_AS_PRINTED = statement(
    "ifca.cor1-rounds-as-printed",
    "Proof of Corollary 1: halving for $\\log(\\Delta/4\\varepsilon)$ steps, natural logarithm",
    "proof of Corollary 1, last display and last sentence",
    kind="deterministic",
    quantifiers=r"\exists c_5\;\forall \Delta,\varepsilon,\ 4\varepsilon\le\Delta,\ "
    r"T=\log\frac{\Delta}{4\varepsilon}",
    observed=r"(\frac12)^{T}\,\frac{\Delta}{4}",
    terms=(Term(name="accuracy", expr=c_5 * varepsilon),),
    definitions={T: sp.log(Delta / (4 * varepsilon))},
    constants=(prefactor(c_5, r"hidden constant of $O(\varepsilon)$"),),
    reading=(
        "The paper's $\\log$ is read as natural, as elsewhere in the paper. The proof concludes "
        "that the final accuracy is $O(\\varepsilon)$, so a constant is allowed. The left side is "
        "$\\varepsilon(\\Delta/4\\varepsilon)^{1-\\log2}$, which exceeds every constant times "
        "$\\varepsilon$."
    ),
)

COROLLARY_1_ROUNDS = statement(
    "ifca.cor1-rounds",
    "Proof of Corollary 1: halving for $\\log_2(\\Delta/4\\varepsilon)$ steps",
    "proof of Corollary 1, last display, corrected",
    kind="deterministic",
    quantifiers=r"\forall \Delta,\varepsilon,\ 4\varepsilon\le\Delta,\ "
    r"T=\log_2\frac{\Delta}{4\varepsilon}",
    observed=COROLLARY_1_ROUNDS_AS_PRINTED.observed,
    terms=(Term(name="accuracy", expr=varepsilon),),
    definitions={T: HALVINGS},
    reading="This is the same display with the logarithm to base two.",
)

# --- The first steps ----------------------------------------------------------------------------

C_1 = sp.Symbol("C_1")
EPSILON_0 = sp.Symbol("epsilon_0")

COROLLARY_1_BURN_IN = statement(
    "ifca.cor1-burn-in",
    "Proof of Corollary 1: two steps bring the closeness to 1/4",
    "proof of Corollary 1, condition (a)",
    kind="deterministic",
    quantifiers=r"\exists C_1>0\;\forall \alpha_0\in(0,\frac12),\ T'=\log(C_1(1-2\alpha_0))",
    observed=r"(\frac12)^{T'}(\frac12-\alpha_0)",
    terms=(Term(name="eighth", expr=sp.Rational(1, 8)),),
    definitions={T: sp.log(C_1 * (1 - 2 * alpha))},
    reading=(
        "The tried forms are $C_1=8$ with the natural logarithm, the same rounded up, and the "
        "simplified form $T'=2$. Where the logarithm is an integer, rounding adds nothing."
    ),
)

COROLLARY_1_RECURSION = statement(
    "ifca.cor1-recursion",
    "Proof of Corollary 1: the error after $T'$ steps of Theorem 1",
    "proof of Corollary 1, display before condition (a)",
    kind="deterministic",
    quantifiers=r"\forall T',\alpha_0,\varepsilon_0,\Delta,\ "
    r"\norm{\theta_j^{(t+1)}-\theta_j^*}\le\frac12\norm{\theta_j^{(t)}-\theta_j^*}+\varepsilon_0",
    observed=r"\norm{\theta_j^{(T')}-\theta_j^*}",
    terms=(
        Term(name="start", expr=HALF**T * (HALF - alpha) * Delta),
        Term(name="floor", expr=2 * EPSILON_0),
    ),
    assumptions=CLOSENESS,
    reading="$T$ is the paper's $T'$. The largest errors that the recursion allows are tried.",
)

COROLLARY_1_SEPARATION = statement(
    "ifca.cor1-condition-b",
    "Proof of Corollary 1: the separation condition bounds the initial error floor",
    "proof of Corollary 1, condition (b)",
    kind="deterministic",
    quantifiers=r"\forall c_2,c_3,c_4>0\;\exists C_\Delta\;\forall m,n',d,p,\sigma,\alpha_0,\Delta",
    observed=r"2\varepsilon_0",
    terms=(Term(name="eighth", expr=Delta / 8),),
    definitions={EPSILON_0: c_2 * FLOOR + c_3 * sp.exp(-c_4 * SIGNAL)},
    assumptions=(
        *CLOSENESS,
        Assumption(
            name="separation",
            left=Delta,
            right=C_Delta * (FLOOR + sp.exp(-c_4 * SIGNAL)),
            note="Assumption 2 with $c=c_4$ and a hidden constant $C_\\Delta$",
        ),
        Assumption(name="large constant for the floor", left=C_Delta, right=16 * c_2),
        Assumption(name="large constant for the labels", left=C_Delta, right=16 * c_3),
    ),
    reading=(
        "$\\varepsilon_0$ is Theorem 1's floor plus its third term at $\\alpha_0$. The theorem "
        "gives $c_2,c_3,c_4$, whatever they are. The separation has a constant that is large "
        "enough, and 'some universal constant c', for which $c_4$ may be taken."
    ),
)

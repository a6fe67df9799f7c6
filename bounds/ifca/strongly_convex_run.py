r"""IFCA with strongly convex losses: the whole run, Corollary 2 in both versions, and its proof."""

from __future__ import annotations

import sympy as sp

from bounds.ifca.assumptions import prefactor, statement
from bounds.ifca.lemma_3 import L, eta, lam, v
from bounds.ifca.strongly_convex_step import delta, delta_0
from bounds.ifca.symbols import (
    CONFERENCE,
    HALF,
    C_Delta,
    C_p,
    Delta,
    T,
    c,
    c_1,
    c_2,
    c_3,
    err,
    k,
    m,
    n,
    p,
    theta_max,
    varepsilon,
)
from bounds.statement import Assumption, Constant, Term

EPSILON_0, ALPHA_0 = sp.symbols("epsilon_0 alpha_0")
A = p * lam / (8 * L)
KAPPA = sp.sqrt(lam / L)
START = (HALF - ALPHA_0) * KAPPA * Delta
#: The printed numbers of steps, and that of the burn-in.
ROUNDS = 1 / A * sp.log(2 * Delta / varepsilon)
ROUNDS_NEURIPS = 1 / A * sp.log(Delta / (2 * varepsilon))
BURN_IN = 1 / A * sp.log(4 * sp.sqrt(L / lam))
ACCURACY_1 = v * k * L * sp.log(m * n) / (p ** sp.Rational(5, 2) * lam**2 * delta * sp.sqrt(m * n))
ACCURACY_2 = eta**2 * L**2 * k * sp.log(m * n) / (p**2 * lam**4 * delta * Delta**4 * n)
#: The floor (36) with unit constants.
FLOOR_36 = (
    v / (delta_0 * L * sp.sqrt(p * m * n))
    + eta**2 * k / (delta_0 * lam**2 * Delta**4 * n)
    + v
    * eta
    * k ** sp.Rational(3, 2)
    / (delta_0 ** sp.Rational(3, 2) * lam * L * Delta**2 * sp.sqrt(m) * n)
)

_RECURSION = (
    "The recursion is $x_{t+1}=(1-\\frac{p\\lambda}{8L})x_t+\\varepsilon_0$ with "
    "$\\varepsilon=\\frac{16L}{p\\lambda}\\varepsilon_0$."
)
#: Condition (b) of the proof.
CONDITION_B = Assumption(name="condition (b)", left=KAPPA * Delta / 8, right=EPSILON_0 / A)
_SHAPES = r"\forall\lambda\le L,p,\Delta,\alpha_0"

# --- The recursion ------------------------------------------------------------------------------

BURN_IN_ENOUGH = statement(
    "ifca.cor2-burn-in",
    "After the burn-in the closeness is a quarter",
    "(35) in print, (37) in the preprint, and the text after Corollary 2",
    kind="deterministic",
    quantifiers=rf"{_SHAPES},\varepsilon_0\ \text{{in (b)}}",
    observed=r"\norm{\theta_j^{(T')}-\theta_j^*}",
    terms=(Term(name="quarter", expr=KAPPA * Delta / 4),),
    definitions={T: BURN_IN},
    assumptions=(CONDITION_B,),
    reading=f"{_RECURSION} $T'=\\frac{{8L}}{{p\\lambda}}\\log(4\\sqrt{{L/\\lambda}})$, rounded up.",
)
BURN_IN_SHORT = BURN_IN_ENOUGH.variant(
    "ifca.cor2-burn-in-short",
    "A shorter burn-in",
    "(35) in print, (37) in the preprint, sharper",
    definitions={T: sp.log(4) / A},
    reading=(
        "The start is already within $\\frac12\\sqrt{\\lambda/L}\\Delta$, which the proof drops. "
        "So $T'=\\frac{8L}{p\\lambda}\\log4$ is enough."
    ),
)
ENOUGH = BURN_IN_SHORT.variant(
    "ifca.cor2-rounds",
    "Enough steps for the accuracy",
    "Corollary 2 and its proof",
    observed=r"\norm{\theta_j^{(T)}-\theta_j^*}",
    terms=(Term(name="accuracy", expr=varepsilon),),
    definitions={T: ROUNDS},
    reading=f"{_RECURSION} $T$ is rounded up.",
)
ENOUGH_NEURIPS = ENOUGH.variant(
    "ifca.neurips-thm2-rounds",
    "Enough steps for the accuracy, conference version",
    "Theorem 2 (NeurIPS)",
    publication=CONFERENCE,
    quantifiers=r"\forall\lambda\le L,p,\Delta",
    observed=r"\norm{\hat\theta_j-\theta_j^*}",
    definitions={T: ROUNDS_NEURIPS},
    reading=f"{_RECURSION} The start is within $\\frac14\\sqrt{{\\lambda/L}}\\Delta$.",
)

# --- The iterates do not leave the radius -------------------------------------------------------

PROVIDED = Assumption(name="small floor", left=A * START, right=EPSILON_0)
MONOTONE_AS_PRINTED = statement(
    "ifca.cor2-monotone-as-printed",
    "Every step brings a model closer",
    "proof of Corollary 2, first paragraph",
    kind="deterministic",
    quantifiers=r"\forall\norm{\theta_j-\theta_j^*}\le(\frac12-\alpha_0)\sqrt{\lambda/L}\Delta",
    observed=r"\sqrt{E\norm{\theta_j^+-\theta_j^*}^2}",
    terms=(Term(name="before", expr=err),),
    reading=(
        "The expectation is taken for $\\lambda=L$ without strangers, where it is "
        "$(1-p)^2\\norm{\\theta_j-\\theta_j^*}^2+pv^2/(mn'L^2)$. The noise is as small as the "
        "condition on $\\varepsilon_0$ asks for."
    ),
    uses=("ifca.thm2",),
)
STAYS = statement(
    "ifca.cor2-radius",
    "No model leaves the initial radius",
    "proof of Corollary 2, first paragraph, corrected",
    kind="deterministic",
    quantifiers=r"\forall\norm{\theta_j-\theta_j^*}\le(\frac12-\alpha_0)\sqrt{\lambda/L}\Delta",
    observed=r"(1-\frac{p\lambda}{8L})\norm{\theta_j-\theta_j^*}+\varepsilon_0",
    terms=(Term(name="radius", expr=START),),
    assumptions=(PROVIDED,),
    reading=(
        "So $\\alpha_t\\ge\\alpha_0$ for all steps. The closeness itself need not grow from step "
        "to step. The proof needs no more than this and the burn-in (ifca.cor2-burn-in)."
    ),
    uses=("ifca.thm2",),
)

STAYS_RUN = statement(
    "ifca.cor2-radius-run",
    "No model leaves the initial radius during a run",
    "proof of Corollary 2, first paragraph, corrected, all steps",
    kind="probability",
    quantifiers=r"\forall\lambda\le L,\eta,v,\Delta,\alpha_0,m,n',k,p,\delta,\ t\le T",
    observed=r"\max_{t,j}\norm{\theta_j^{(t)}-\theta_j^*}",
    terms=(Term(name="radius", expr=START),),
    failure=delta,
    assumptions=(PROVIDED,),
    reading=(
        "$\\varepsilon_0$ is that of ifca.thm2-sharp with $\\delta/(kT)$ for $\\delta$, so all "
        "steps of all clusters together fail with probability $\\delta$ at most."
    ),
    uses=("ifca.thm2-sharp", "ifca.cor2-radius"),
)

# --- The failure probability (38) ---------------------------------------------------------------

TOTAL = 1 / A * sp.log(p * lam * Delta / (8 * EPSILON_0 * L))
FAILURE_AS_PRINTED = statement(
    "ifca.cor2-failure-as-printed",
    "All steps together fail with probability delta at most",
    "(38) in print, (40) in the preprint",
    kind="deterministic",
    quantifiers=r"\exists c\;\forall\lambda\le L,\eta,v,\Delta,m,n',k,p,\delta",
    observed=r"kT\delta_0/\delta",
    terms=(Term(name="one", expr=sp.Integer(1)),),
    definitions={delta_0: p * lam * delta / (c * k * L * sp.log(m * n))},
    constants=(Constant(symbol=c, low=1.0, high=1e3, generous="high", meaning="the divisor"),),
    reading=(
        "$T=\\frac{8L}{p\\lambda}\\log\\frac{p\\lambda\\Delta}{8\\varepsilon_0L}$ with the floor "
        "(36) of the print, whose constant is one. Section V calls $c$ universal in all results, "
        "and the corollary's $\\lesssim$ names $v$ and $\\eta$, so that $c$ must not depend on "
        "them. The $\\tilde O$ of this step, which omits them, is not on the corollary's first "
        "two terms. With a $c$ that depends on $v$ and $\\eta$ the step is right, and the "
        "corollary hides more "
        "than a universal constant."
    ),
)
# --- Assumption 6 -------------------------------------------------------------------------------

_RATES = sp.Max(
    ALPHA_0 ** sp.Rational(-2, 5) * n ** sp.Rational(-1, 5),
    ALPHA_0 ** sp.Rational(-1, 3) * m ** sp.Rational(-1, 6) * n ** sp.Rational(-1, 3),
)
SEPARATION = Assumption(
    name="separation", left=Delta, right=_RATES * sp.log(m * n), constant=C_Delta
)
SMALLEST = Assumption(name="smallest cluster", left=p, right=sp.log(m * n) / m, constant=C_p)
_B = (Term(name="eighth", expr=KAPPA * Delta / 8),)
#: The three terms of the floor at the start, with unit constants.
NOISE = v / (delta * L * sp.sqrt(p * m * n))
STRANGERS = eta**2 * k / (delta * ALPHA_0**2 * lam**2 * Delta**4 * n)
STRANGERS_NOISE = (
    v
    * eta
    * k ** sp.Rational(3, 2)
    / (delta ** sp.Rational(3, 2) * ALPHA_0 * lam * L * Delta**2 * sp.sqrt(m) * n)
)
#: (b) says that the floor is at most a share of Delta.  Each of the three terms may take a third.
_SHARE = 3 * 64 * sp.sqrt(L / lam) ** 3 / p
#: Each term of the floor, without the powers of alpha_0, m, n' and Delta, times what (b) asks for.
NEEDED = {
    "noise": (C_Delta, _SHARE * v / (delta * L * sp.sqrt(p))),
    "strangers": (C_Delta**5, _SHARE * eta**2 * k / (delta * lam**2)),
    "strangers' noise": (
        C_Delta**3,
        _SHARE * v * eta * k ** sp.Rational(3, 2) / (delta ** sp.Rational(3, 2) * lam * L),
    ),
}
A6 = statement(
    "ifca.a6-separation",
    "Assumption 6 gives the separation that the proof uses, for a fixed smallest share",
    "proof of Corollary 2, condition (b), corrected",
    kind="deterministic",
    quantifiers=r"\forall\lambda\le L,v,\eta,k,p,\delta\;\exists C_\Delta\;"
    r"\forall m,n',\alpha_0,\Delta\le2",
    observed=r"\frac{8L}{p\lambda}\varepsilon_0",
    terms=_B,
    assumptions=(
        Assumption(name="separation", left=Delta, right=C_Delta * _RATES),
        *(
            Assumption(
                name=f"large constant for the {name}",
                left=left,
                right=right,
                note="the constant depends on $p$",
                added=True,
            )
            for name, (left, right) in NEEDED.items()
        ),
        SMALLEST,
    ),
    reading=(
        "$\\varepsilon_0$ is the floor at the start, with all of its three terms and unit "
        "constants. The first power in the maximum serves the second term, the second power the "
        "third term, and both are at least $1/\\sqrt{mn'}$, which serves the first. The hidden "
        "constant $C_\\Delta$ is no logarithm when $p$ is as small as $\\log(mn')/m$, which "
        "Assumption 6 allows."
    ),
)

# --- Corollary 2 --------------------------------------------------------------------------------

_COROLLARY = (
    Term(name="statistical", expr=c_1 * ACCURACY_1),
    Term(name="strangers", expr=c_2 * ACCURACY_2),
    Term(name="hidden", expr=c_3 / (n * sp.sqrt(m))),
)
_CONSTANTS = (
    prefactor(c_1, "statistical term"),
    prefactor(c_2, "strangers"),
    prefactor(c_3, "hidden term"),
)
_IN = (Assumption(name="bounded optima", left=sp.Integer(1), right=theta_max),)
_INITIAL = Assumption(
    name="accuracy below the radius",
    left=KAPPA * Delta / 4,
    right=varepsilon,
    note="condition (b) with $\\varepsilon=\\frac{16L}{p\\lambda}\\varepsilon_0$",
)
#: What no cell of a run can tell.
_FAR_ABOVE = (
    "The limit is more than $10^5$ times the error in every cell, so that the trials tell no "
    "factor of $k$ or of the dimension from one, and no logarithm."
)
COROLLARY_2 = statement(
    "ifca.cor2",
    "The whole run of IFCA with strongly convex losses",
    "Corollary 2",
    kind="probability",
    quantifiers=r"\exists c_1,c_2,c_3\;\forall\lambda\le L,\eta,v,\Delta,\alpha_0,m,n',k,p,\delta",
    observed=r"\max_j\norm{\theta_j^{(T)}-\theta_j^*}",
    terms=_COROLLARY,
    failure=delta,
    definitions={T: ROUNDS},
    constants=_CONSTANTS,
    assumptions=(*_IN, _INITIAL),
    reading=_FAR_ABOVE,
    uses=("ifca.thm2", "ifca.cor2-rounds", "ifca.cor2-radius", "ifca.cor2-failure-as-printed"),
)
THEOREM_2_NEURIPS = COROLLARY_2.variant(
    "ifca.neurips-thm2",
    "The whole run of IFCA with strongly convex losses, conference version",
    "Theorem 2 (NeurIPS)",
    publication=CONFERENCE,
    quantifiers=r"\exists c_1,c_2,c_3\;\forall\lambda\le L,\eta,v,\Delta,m,n',k,p,\delta",
    definitions={T: ROUNDS_NEURIPS},
    reading=_FAR_ABOVE,
    uses=("ifca.neurips-thm2-rounds",),
)
_FINAL = r"E\norm{\theta_j^{(T)}-\theta_j^*}^2"
FINAL_NOISE = statement(
    "ifca.cor2-rates",
    "The noise that is left after a run",
    "Corollary 2, first term, corrected",
    kind="deterministic",
    quantifiers=r"\forall v,\lambda\le L,p_j,m,n',T",
    observed=_FINAL,
    terms=(Term(name="statistical", expr=v**2 / (lam * L * m * n)),),
    reading=(
        "Models at their optima, no strangers. Fresh noise averages over the steps. The sum "
        "$\\frac{p_jv^2}{L^2mn'}\\sum_t(1-p_j\\lambda/L)^{2t}$ is "
        "$\\frac{v^2}{(2-p_j\\lambda/L)\\lambda Lmn'}$ after many steps, whatever the share of "
        "the cluster is. So the exponents of $p,L,\\lambda$ are $0,-\\frac12,-\\frac12$ before "
        "squaring, and not $-\\frac52,1,-2$."
    ),
    uses=("ifca.thm2-sharp",),
)
NEAR_OPTIMAL = statement(
    "ifca.sc-near-optimal",
    "The accuracy is near optimal when n exceeds m",
    "Section V-B, last paragraph",
    kind="deterministic",
    quantifiers=r"\forall m\le n'",
    observed=r"\Bigl(\frac1{\sqrt{mn'}}+\frac1{n'}\Bigr)\Big/\frac1{\sqrt{mn'}}",
    terms=(Term(name="factor", expr=sp.Integer(2)),),
    assumptions=(Assumption(name="many samples", left=n, right=m),),
    reading="All quantities but $m$ and $n'$ are constants, and logarithms are left out.",
)
NEAR_OPTIMAL_CONSTANTS = statement(
    "ifca.sc-near-optimal-constants",
    "The accuracy against the oracle's, with the shares and curvatures",
    "Section V-B, last paragraph, with all quantities",
    kind="deterministic",
    quantifiers=r"\forall\lambda\le L,k,p\le\frac1k,\delta,m,n'",
    observed=(
        r"\frac{vkL\log(mn')}{p^{5/2}\lambda^2\delta\sqrt{mn'}}"
        r"\Big/\frac v{\lambda\sqrt{pmn'}}"
    ),
    relation=r"\ge",
    terms=(Term(name="factor", expr=k**3 * L / lam * sp.log(m * n)),),
    reading=(
        "The oracle knows the identities and reaches $v/(\\lambda\\sqrt{pmn'})$. The printed "
        "accuracy is $k^3\\log(mn')L/\\lambda$ times worse at least."
    ),
)

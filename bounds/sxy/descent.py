"""Proposition 2: one step of moment descent on an anchor client."""

from __future__ import annotations

import sympy as sp

from bounds.statement import Assumption, Term
from bounds.sxy.assumptions import SPECTRUM, prefactor, statement
from bounds.sxy.symbols import (
    XI_1,
    XI_2,
    C,
    C_f,
    N,
    a,
    alpha,
    beta,
    e_1,
    e_2,
    eta,
    p,
    sigma_hat,
    v,
)

#: The contraction of (21), and the step size of Phase 1.
FACTOR = 1 - alpha**2 / (8 * beta**2)
STEP = {eta: alpha * sigma_hat / (2 * beta**2)}

NEXT = r"\norm{\Sigma_j(\theta_j^*-\theta_{t+1})}^2"
CONTRACTED = (Term(name="contraction", expr=FACTOR * v**2),)

#: (27) and (28), in the letters of the step.
EQ_27 = Assumption(name="(27)", left=a**2, right=(1 - alpha**2 / (64 * beta**2)) * v**2)
EQ_28 = (
    Assumption(name="(28), left", left=sigma_hat**2, right=(1 - alpha**2 / (32 * beta**2)) * v**2),
    Assumption(name="(28), right", left=(1 + alpha**2 / (32 * beta**2)) * v**2, right=sigma_hat**2),
)
ORIENTED = Assumption(
    name="orientation",
    left=a,
    right=sp.Integer(0),
    strict=True,
    note="(27) bounds the square, and a singular vector has no sign",
    added=True,
)
SIGN = (
    "A singular vector has no sign, and (27) bounds the square of $a_t$ only. The proof continues "
    "with $a_t\\alpha-|b_t|\\beta$, as if $a_t$ were positive."
)

STEP_ALGEBRA_AS_PRINTED = statement(
    "sxy.step-algebra-as-printed",
    "Proposition 2: (27) and (28) imply (21), for either sign of the direction",
    "Appendix A.5, (27) and (28) to (21)",
    kind="deterministic",
    quantifiers=r"\forall\Sigma_j,\ \alpha I\preceq\Sigma_j\preceq\beta I\;\forall r_t,\ "
    r"\norm{r_t}=1\;\forall\hat\sigma_t",
    observed=NEXT,
    terms=CONTRACTED,
    definitions=STEP,
    assumptions=(*SPECTRUM, EQ_27, *EQ_28),
    reading=SIGN,
)

STEP_ALGEBRA = statement(
    "sxy.step-algebra",
    "Proposition 2: (27), (28) and an oriented direction imply (21)",
    "Appendix A.5, (27) and (28) to (21), corrected by the direction's sign",
    kind="deterministic",
    quantifiers=STEP_ALGEBRA_AS_PRINTED.quantifiers,
    observed=NEXT,
    terms=CONTRACTED,
    definitions=STEP,
    assumptions=(*SPECTRUM, EQ_27, *EQ_28, ORIENTED),
    reading=f"{SIGN} The anchor's own points give the sign, because the mean of "
    "$\\varepsilon(x,y,\\theta_t)$ is $\\Sigma_j(\\theta_j^*-\\theta_t)$.",
)

PROP_2_21_AS_PRINTED = statement(
    "sxy.prop2-21-as-printed",
    "Proposition 2: the printed condition (20) implies the decay (21)",
    "Proposition 2, (20) and (21)",
    kind="probability",
    quantifiers=r"\exists C,C'>0\;\forall m,\ell,d,k,p,\theta_t,\theta_j^*",
    observed=NEXT,
    terms=CONTRACTED,
    definitions=STEP,
    failure=C_f * N**-10,
    constants=(
        prefactor(C, "multiple of the rates in (20)"),
        prefactor(C_f, "multiple of $N^{-10}$"),
    ),
    assumptions=(
        *SPECTRUM,
        Assumption(name="(20)", left=v**2, right=XI_1 / p + XI_2, constant=C),
    ),
    reading="The sign of the direction is taken from the anchor's points. (20) compares a squared "
    "residual with rates that have no unit. A larger unit of $\\theta$ meets it, and the "
    "probability of (21) does not depend on that unit.",
    uses=("sxy.step-algebra",),
)

PROP_2_21 = statement(
    "sxy.prop2-21",
    "Proposition 2: a residual above the two deviations decays as in (21)",
    "Proposition 2, (20) and (21), corrected by the unit",
    kind="deterministic",
    quantifiers=r"\forall Y_t,A_t\;\forall m,\ell,d,k,p_j,\Sigma_j,\theta_t,\theta_j^*",
    observed=NEXT,
    terms=CONTRACTED,
    definitions=STEP,
    assumptions=(
        *SPECTRUM,
        Assumption(
            name="(20), corrected",
            left=v**2,
            right=64 * beta**2 / alpha**2 * (9 * e_1 / p + 4 * e_2),
        ),
    ),
    reading=(
        "Lemma 3 and Lemma 6 bound the two deviations by $(\\delta_t^2+\\sigma^2)\\xi_1$ and "
        "$(\\delta_t^2+\\sigma^2)\\xi_2$. So (20) must have the factor $\\delta_t^2+\\sigma^2$, as "
        "the proof of Theorem 1 has it. Lemma 5 loses at most $9\\norm{Y_t-EY_t}/p_j$ of the "
        "squared residual. The leading left singular vector of $A_t$ loses at most "
        "$4\\norm{A_t-EA_t}$ more. Both together are at most the share $\\alpha^2/(64\\beta^2)$ "
        "that (27) and (28) allow. $p_{\\min}$ stands for the anchor's own $p_j$. The sign of the "
        "direction is that of $\\Sigma_j(\\theta_j^*-\\theta_t)$."
    ),
    uses=("sxy.step-algebra", "sxy.lemma5-sharp"),
)

PROP_2_FACTOR = statement(
    "sxy.prop2-factor",
    "Proposition 2: the decay of the residual without any deviation",
    "Proposition 2, (21)",
    kind="deterministic",
    quantifiers=r"\forall\Sigma_j,\ \alpha I\preceq\Sigma_j\preceq\beta I\;\forall\theta_t",
    observed=NEXT,
    terms=CONTRACTED,
    definitions=STEP,
    assumptions=SPECTRUM,
    reading=(
        "With exact moments the direction is $\\Sigma_j(\\theta_j^*-\\theta_t)$. Its norm is "
        "$\\hat\\sigma_t$. The factor is then $(1-\\alpha^2/(2\\beta^2))^2$ at most, so the "
        "printed "
        "decay is about eight times too slow where $\\alpha$ is much smaller than $\\beta$."
    ),
    uses=("sxy.step-algebra",),
)

"""Theorem 1: the anchors reach their clusters' models, and the server groups them."""

from __future__ import annotations

import sympy as sp

from bounds.statement import Assumption, Term
from bounds.sxy.assumptions import SPECTRUM, prefactor, statement
from bounds.sxy.symbols import (
    C_f,
    C_l,
    C_m,
    Delta,
    N,
    R,
    T,
    alpha,
    beta,
    d,
    delta_f,
    epsilon,
    k,
    l,
    m,
    n_H,
    p,
    sigma,
)

#: The number of rounds of A.3, and the one that a start with a norm up to R needs.
ROUNDS_AS_PRINTED = 16 * beta**2 / alpha**2 * sp.log(beta * R / (epsilon * Delta))
ROUNDS = 16 * beta**2 / alpha**2 * sp.log(2 * beta * R / (epsilon * Delta))

IN_THE_BALL = (
    *SPECTRUM,
    Assumption(name="accuracy", left=sp.Rational(1, 4), right=epsilon, strict=True),
    Assumption(
        name="separation",
        left=2 * R,
        right=Delta,
        note="two models in the ball of radius R are at most 2R apart",
    ),
)
FAILURE = C_f * N**-9
FAILURE_CONSTANT = prefactor(C_f, "multiple of $N^{-9}$")

THEOREM_1_4_AS_PRINTED = statement(
    "sxy.thm1-4-as-printed",
    "Theorem 1: the anchors arrive when the sign of a singular vector is arbitrary",
    "Theorem 1, (4)",
    kind="probability",
    quantifiers=r"\forall\theta_0,\ \norm{\theta_0}\le R",
    observed=r"\sup_{i\in H}\norm{\theta_{i,T}-\theta_{z_i}^*}",
    terms=(Term(name="accuracy", expr=epsilon * Delta),),
    definitions={T: ROUNDS_AS_PRINTED},
    failure=FAILURE,
    constants=(FAILURE_CONSTANT,),
    assumptions=IN_THE_BALL,
    reading=(
        "The power iteration starts at a random vector, so the sign of its limit is a fair coin. "
        "$T$ is the number of A.3."
    ),
    uses=("sxy.prop2-21-as-printed",),
)

#: What A.3 takes from Proposition 2 in every round, with the sign that it needs.
ALLOWED = r"\forall r_t,\hat\sigma_t\ \text{with (27), (28) and}\ a_t>0"

THEOREM_1_4 = statement(
    "sxy.thm1-4",
    "Theorem 1: the anchors arrive within the accuracy of A.3, given (27) and (28) in each round",
    "Theorem 1, (4), corrected by the accuracy of A.3",
    kind="deterministic",
    quantifiers=rf"{THEOREM_1_4_AS_PRINTED.quantifiers}\;{ALLOWED}",
    observed=THEOREM_1_4_AS_PRINTED.observed,
    terms=(Term(name="accuracy", expr=2 * epsilon * Delta / alpha),),
    definitions={T: ROUNDS_AS_PRINTED},
    assumptions=IN_THE_BALL,
    reading=(
        "A.3 proves (4) for $\\epsilon'=2\\epsilon/\\alpha$, where $\\epsilon$ is the accuracy "
        "that "
        "Phase 1 is given. In each round the direction and $\\hat\\sigma_t$ are anything that (27) "
        "and (28) allow. The printed number of rounds is enough here, because the bound is twice "
        "as large as A.3 needs."
    ),
    uses=("sxy.step-algebra",),
)

ROUNDS_FORMULA_AS_PRINTED = statement(
    "sxy.thm1-rounds-as-printed",
    "Theorem 1: the number of rounds of A.3",
    "Appendix A.3, case $t^*=T$",
    kind="deterministic",
    quantifiers=THEOREM_1_4_AS_PRINTED.quantifiers,
    observed=r"\norm{\Sigma_j(\theta_j^*-\theta_T)}",
    terms=THEOREM_1_4_AS_PRINTED.terms,
    definitions={T: ROUNDS_AS_PRINTED},
    assumptions=IN_THE_BALL,
    reading=(
        "The display bounds the residual of the start by $\\norm{\\Sigma_j\\theta_j^*}\\le\\beta "
        "R$. "
        "That is the residual of $\\theta_0=0$. A start in the ball has up to $2\\beta R$. Moments "
        "are exact and no anchor stops early."
    ),
    uses=("sxy.prop2-factor",),
)

ROUNDS_FORMULA = statement(
    "sxy.thm1-rounds",
    "Theorem 1: the number of rounds of A.3, for any start in the ball",
    "Appendix A.3, case $t^*=T$, corrected by the factor 2 in the logarithm",
    kind="deterministic",
    quantifiers=THEOREM_1_4.quantifiers,
    observed=ROUNDS_FORMULA_AS_PRINTED.observed,
    terms=THEOREM_1_4_AS_PRINTED.terms,
    definitions={T: ROUNDS},
    assumptions=IN_THE_BALL,
    reading=(
        "The logarithm is that of $2\\beta R/(\\epsilon\\Delta)$. In each round the direction and "
        "$\\hat\\sigma_t$ are anything that (27) and (28) allow."
    ),
    uses=("sxy.step-algebra",),
)

NORM_24 = statement(
    "sxy.norm-24",
    "Theorem 1: the estimates stay in a ball",
    "Appendix A.3, (24)",
    kind="deterministic",
    quantifiers=rf"{THEOREM_1_4.quantifiers}\;\forall t\le T",
    observed=r"\norm{\theta_t}",
    terms=(Term(name="ball", expr=(1 + 2 * beta / alpha) * R),),
    definitions={T: ROUNDS},
    assumptions=IN_THE_BALL,
    reading=(
        "In each round the direction and $\\hat\\sigma_t$ are anything that (27) and (28) allow."
    ),
    uses=("sxy.step-algebra",),
)

COUPON_AS_PRINTED = statement(
    "sxy.coupon-as-printed",
    "Theorem 1: enough anchors to meet every cluster, as printed",
    "Theorem 1, before (5)",
    kind="probability",
    quantifiers=r"\exists C'>0\;\forall N,k,p",
    observed=r"P(\exists j:\ H\cap\{i:z_i=j\}=\emptyset)",
    terms=(Term(name="failure", expr=FAILURE),),
    constants=(FAILURE_CONSTANT,),
    assumptions=(Assumption(name="anchors", left=n_H, right=sp.log(N) / p),),
    reading=(
        "(5) needs an anchor of every cluster. The clusters of the anchors are independent draws. "
        "With $n_H=\\log N/p_{\\min}$ the smallest cluster alone is missed with probability "
        "$(1-p_{\\min})^{n_H}$. That is $N^{-1.4}$ at $p_{\\min}=1/2$ and close to $N^{-1}$ at "
        "small "
        "$p_{\\min}$."
    ),
    uses=("sxy.coupon",),
)

COUPON = statement(
    "sxy.coupon",
    "Theorem 1: the coupon collector's step",
    "Appendix A.3, before the last display",
    kind="probability",
    quantifiers=r"\forall\delta,k,p",
    observed=COUPON_AS_PRINTED.observed,
    terms=(Term(name="failure", expr=delta_f),),
    assumptions=(Assumption(name="anchors", left=n_H, right=sp.log(k / delta_f) / p),),
    reading=(
        "This form is right. Theorem 1 needs it with $\\delta=N^{-9}$, that is "
        "$n_H\\ge(9\\log N+\\log k)/p_{\\min}$."
    ),
)

GROUPING = statement(
    "sxy.grouping",
    "Theorem 1: the server recovers the clusters of the anchors",
    "Appendix A.3, last display",
    kind="deterministic",
    quantifiers=r"\forall k,n_H,d\;\forall\theta_{i,T},\ "
    r"\norm{\theta_{i,T}-\theta_{z_i}^*}\le\epsilon'\Delta",
    observed=r"d(\hat\theta,\theta^*)",
    terms=(Term(name="accuracy", expr=epsilon * Delta),),
    assumptions=(Assumption(name="accuracy", left=sp.Rational(1, 4), right=epsilon, strict=True),),
    reading=(
        "$\\epsilon$ stands for $\\epsilon'$. Every cluster has an anchor. Groups are the "
        "connected components of the graph of distances below $\\Delta/2$."
    ),
)

#: (3), with constants for the orders; the logarithm stands for the polylogarithmic factors.  The
#: theorem fixes epsilon, so both constants depend on it: for (25) they are of order epsilon^-4.
SIZES = (
    Assumption(name="clients", left=m, right=d / p**2 * sp.log(N), constant=C_m),
    Assumption(name="pairs", left=l, right=k * sp.log(N), constant=C_l),
)

#: Section 3: sigma/Delta = O(1), with the constant one.
NOISE = Assumption(name="noise", left=Delta, right=sigma)

THEOREM_1_4_DATA = statement(
    "sxy.thm1-4-data",
    "Theorem 1: the anchors arrive, on data",
    "Theorem 1, (4), corrected by the direction's sign and the accuracy of A.3",
    kind="probability",
    quantifiers=rf"\forall m,\ell,d,k,\sigma\;{THEOREM_1_4_AS_PRINTED.quantifiers}",
    observed=THEOREM_1_4_AS_PRINTED.observed,
    terms=THEOREM_1_4.terms,
    failure=FAILURE,
    constants=(FAILURE_CONSTANT,),
    assumptions=(*IN_THE_BALL, NOISE, *SIZES),
    reading=(
        "$C'=1$. The constants of (3) depend on the fixed $\\epsilon$: by (25) they grow like "
        "$\\epsilon^{-4}$. The cells have identity covariance and six rounds. The sign of the "
        "direction is taken from the anchor's own points."
    ),
    uses=("sxy.thm1-4", "sxy.prop2-19"),
)

THEOREM_1_5 = statement(
    "sxy.thm1-5",
    "Theorem 1: the server's estimates of all models, on data",
    "Theorem 1, (5), corrected by the number of anchors",
    kind="probability",
    quantifiers=r"\forall\delta,m,\ell,d,k,\sigma\;\forall\theta_0,\ \norm{\theta_0}\le R",
    observed=r"d(\hat\theta,\theta^*)",
    terms=THEOREM_1_4.terms,
    failure=delta_f + FAILURE,
    constants=(FAILURE_CONSTANT,),
    assumptions=(
        *IN_THE_BALL,
        NOISE,
        *SIZES,
        Assumption(name="anchors", left=n_H, right=sp.log(k / delta_f) / p),
        Assumption(
            name="accuracy of the grouping",
            left=sp.Rational(1, 4),
            right=2 * epsilon / alpha,
            strict=True,
            note="the $\\epsilon'$ of A.3, below 1/4 for the grouping",
        ),
    ),
    reading=(
        "$C'=1$. The constants of (3) depend on the fixed $\\epsilon$. The number of "
        "anchors is that of A.3 for the probability $\\delta$ of a missed "
        "cluster. The theorem has $\\epsilon<1/4$, and A.3 needs it of "
        "$\\epsilon'=2\\epsilon/\\alpha$. The cells have identity covariance, so that they do not "
        "tell $\\alpha$ from one."
    ),
    uses=("sxy.thm1-4-data", "sxy.coupon", "sxy.grouping"),
)

"""What IFCA says about the closeness along a run: it stays, it increases, it starts slowly."""

from __future__ import annotations

import sympy as sp

from bounds.ifca.assumptions import ASSUMPTION_2, CLOSENESS, balanced, prefactor, statement
from bounds.ifca.symbols import FLOOR, HALF, Delta, T, alpha, c_2, err, m
from bounds.statement import Assumption, Term

ERR_T = sp.Symbol("err_t")

CLOSENESS_INCREASES_AS_PRINTED = statement(
    "alpha-increases-as-printed",
    "The closeness never decreases",
    'after Theorem 1; proof of Corollary 1, "for all t"',
    kind="probability",
    quantifiers=r"\forall t,j",
    observed=r"\norm{\theta_j^{(t+1)}-\theta_j^*}",
    terms=(Term(name="before", expr=ERR_T),),
    failure=T / m,
    assumptions=(*CLOSENESS, balanced(2), *ASSUMPTION_2),
    reading="Every cluster at every step of a run, the floor included, as the proof of Corollary 1 "
    "asserts; a run violates it when some cluster's error grows at some step.",
    uses=("ifca.thm1-as-printed",),
)

CLOSENESS_STAYS = statement(
    "alpha-stays",
    "The closeness never falls below its initial value",
    "proof of Corollary 1, what the proof needs",
    kind="probability",
    quantifiers=r"\forall t",
    observed=r"\max_j\norm{\theta_j^{(t)}-\theta_j^*}",
    terms=(Term(name="start", expr=(HALF - alpha) * Delta),),
    failure=T / m,
    assumptions=(
        *CLOSENESS,
        Assumption(name="start above the floor", left=(HALF - alpha) * Delta, right=2 * FLOOR),
        balanced(2),
        *ASSUMPTION_2,
    ),
    reading="Not monotone, but it stays in the ball; that is all that Theorem 1 asks of each step.",
    uses=("ifca.thm1",),
)

SLOW_START = statement(
    "slow-start-as-printed",
    "A small closeness makes the beginning slow",
    "after Theorem 1",
    kind="probability",
    quantifiers=r"\alpha_0\ \text{small}",
    observed=r"\norm{\theta_j^{(1)}-\theta_j^*}",
    relation=r"\ge",
    terms=(Term(name="slow", expr=HALF * err),),
    failure=HALF,
    assumptions=(*CLOSENESS, balanced(2), *ASSUMPTION_2),
    reading=(
        "Read as: from $\\alpha_0\\le0.02$ the first step leaves more than half of the error, with "
        "probability one half. Under Assumption 2 $n'$ grows like $\\alpha_0^{-2}$, nobody is "
        "misidentified, and the first step contracts as every other: the third term of (1) makes "
        "the bound slow, not the algorithm."
    ),
    uses=("ifca.thm1-as-printed",),
)

CLOSENESS_INCREASES = statement(
    "alpha-increases",
    "The closeness does not decrease while the error exceeds twice the floor",
    "proof of Corollary 1, corrected",
    kind="probability",
    quantifiers=r"\forall t,j\ \text{with}\ \norm{\theta_j^{(t)}-\theta_j^*}\ge2c_2\frac{\sigma}{p}"
    r"\sqrt{\frac{d}{mn'}}",
    observed=r"\norm{\theta_j^{(t+1)}-\theta_j^*}",
    terms=(Term(name="before", expr=ERR_T),),
    failure=T / m,
    constants=(prefactor(c_2, "statistical floor"),),
    assumptions=(*CLOSENESS, balanced(2), *ASSUMPTION_2),
    reading=(
        "(1) gives $\\frac12\\norm{\\theta-\\theta^*}+\\mathrm{floor}\\le"
        "\\norm{\\theta-\\theta^*}$ "
        "only above twice the floor; at the floor fresh samples move it up as often as down. "
        "Every cluster is watched by itself: a run violates the statement when a step increases "
        "the error of some cluster that was above twice the floor."
    ),
    uses=("ifca.thm1",),
)

"""IFCA's statements about the closeness along a run: its lower bound, its growth, its start."""

from __future__ import annotations

import sympy as sp

from bounds.ifca.assumptions import ASSUMPTION_2, CLOSENESS, balanced, prefactor, statement
from bounds.ifca.symbols import FLOOR, HALF, Delta, T, alpha, c_2, err, m
from bounds.statement import Assumption, Term

ERR_T = sp.Symbol("err_t")

CLOSENESS_INCREASES_AS_PRINTED = statement(
    "ifca.alpha-increases-as-printed",
    "The closeness never decreases",
    'after Theorem 1; proof of Corollary 1, "for all t"',
    kind="probability",
    quantifiers=r"\forall t,j",
    observed=r"\norm{\theta_j^{(t+1)}-\theta_j^*}",
    terms=(Term(name="before", expr=ERR_T),),
    failure=T / m,
    assumptions=(*CLOSENESS, balanced(2), *ASSUMPTION_2),
    reading="The statement covers every cluster at every step of a run, also at the error floor. "
    "The proof of Corollary 1 asserts this. A run violates it when some cluster's error grows at "
    "some step.",
    uses=("ifca.thm1-as-printed",),
)

CLOSENESS_STAYS = statement(
    "ifca.alpha-stays",
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
    reading=(
        "The closeness need not be monotone, but the models stay in the ball. Theorem 1 asks no "
        "more of a step."
    ),
    uses=("ifca.thm1",),
)

FAST_START = statement(
    "ifca.fast-start",
    "A small closeness does not make the beginning slow",
    "after Theorem 1, the contrary",
    kind="probability",
    quantifiers=r"\forall\alpha_0,m,n',d,\rho",
    observed=r"\norm{\theta_j^{(1)}-\theta_j^*}",
    terms=(
        Term(name="contraction", expr=HALF * err),
        Term(name="floor", expr=c_2 * FLOOR),
    ),
    failure=1 / m,
    constants=(prefactor(c_2, "statistical floor"),),
    assumptions=(*CLOSENESS, balanced(2), *ASSUMPTION_2),
    reading=(
        "The paper says that the convergence *can* be slow at the beginning when $\\alpha_0$ is "
        "very small. This asserts that a slow start exists. Trials cannot refute an existence, so "
        "its contrary is tried. Under Assumption 2 $n'$ grows like $\\alpha_0^{-2}$. Then no "
        "client is misidentified but with probability $1/m$, and the first step from every "
        "$\\alpha_0$ contracts like every other step. The third term of (1) makes the bound slow, "
        "not the algorithm."
    ),
    uses=("ifca.thm1",),
)

FACTOR = sp.Symbol("factor_1")

FASTER_AS_PRINTED = statement(
    "ifca.faster-as-printed",
    "The algorithm gradually converges faster",
    "after Theorem 1",
    kind="probability",
    quantifiers=r"\forall\alpha_0,m,n',d,k,\rho",
    observed=r"\max_j\norm{\theta_j^{(2)}-\theta_j^*}/\max_j\norm{\theta_j^{(1)}-\theta_j^*}",
    terms=(Term(name="first factor", expr=FACTOR),),
    failure=HALF,
    assumptions=(*CLOSENESS, balanced(2), *ASSUMPTION_2),
    reading=(
        "'Gradually' is a tendency: the factor of the second step is at most that of the first in "
        "at least half of the runs. Under Assumption 2 no client is misidentified, and the factor "
        "does not depend on $\\alpha$. It is $|1-2c_1p_j/p|$ and its fluctuation. Far from the "
        "floor the second factor exceeds the first about as often as not. Closer to the floor "
        "nearly every step has a larger factor than the one before."
    ),
    uses=("ifca.thm1-as-printed",),
)

CLOSENESS_INCREASES = CLOSENESS_INCREASES_AS_PRINTED.variant(
    "ifca.alpha-increases",
    "The closeness does not decrease while the error exceeds twice the floor",
    "proof of Corollary 1, corrected",
    quantifiers=r"\forall t,j\ \text{with}\ \norm{\theta_j^{(t)}-\theta_j^*}\ge2c_2\frac{\sigma}{p}"
    r"\sqrt{\frac{d}{mn'}}",
    constants=(prefactor(c_2, "statistical floor"),),
    reading=(
        "(1) gives $\\frac12\\norm{\\theta-\\theta^*}+\\mathrm{floor}\\le"
        "\\norm{\\theta-\\theta^*}$. "
        "The error shrinks only above twice the floor. At the floor fresh samples move it up as "
        "often as down. Every cluster is tested by itself. A run violates the statement when a "
        "step increases the error of some cluster that was above twice the floor."
    ),
    uses=("ifca.thm1",),
)

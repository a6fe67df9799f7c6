"""IFCA with two clusters: the closeness that the initialisation must have."""

from __future__ import annotations

import sympy as sp

from bounds.ifca.assumptions import ASSUMPTION_2, CLOSENESS, balanced, statement
from bounds.ifca.symbols import HALF, Delta, T, m
from bounds.ifca.whole_run import ACCURACY_TERMS, COROLLARY_CONSTANTS, ROUNDS
from bounds.statement import Term

TWO_CLUSTERS = statement(
    "ifca.k2-slightly-better",
    "Two clusters: any positive closeness suffices",
    "abstract and Section V-A, with Corollary 1",
    kind="probability",
    quantifiers=r"k=2,\ \forall\alpha_0>0,\ T\ \text{steps}",
    observed=r"\norm{\hat\theta_j-\theta_j^*}",
    terms=ACCURACY_TERMS,
    failure=T / m,
    definitions={T: ROUNDS},
    constants=COROLLARY_CONSTANTS,
    assumptions=(*CLOSENESS, balanced(2), *ASSUMPTION_2),
    reading="Assumption 1 with $\\alpha_0$ down to 0.01; starts in four directions, the worst "
    "among them.",
    uses=("ifca.cor1",),
)

TWO_CLUSTERS_RANDOM = statement(
    "ifca.k2-random-as-printed",
    "Two clusters: Assumption 1 is only slightly more than a random start",
    "after Assumption 2",
    kind="probability",
    quantifiers=r"k=2,\ \forall d",
    observed=r"\min_\pi\max_j\norm{\theta_{\pi(j)}^{(0)}-\theta_j^*}",
    terms=(Term(name="almost half", expr=sp.Rational(11, 20) * Delta),),
    failure=HALF,
    reading=(
        "The paper says: only slightly better than random. The first reading is a random start, "
        "which is what Section VI and the abstract call a random initialization: "
        "with labels free it misses the ball of radius $\\Delta/2$ by at most $\\Delta/20$ with "
        "probability at least one half. This is tried here, with Section VI's starts among others. "
        "In high dimension a random vector of the optima's norm is as far from both as they are "
        "from each other, at $\\Delta$. So the verdict hangs on no twentieth. The second reading "
        "is a client's random guess of its label: Section VII speaks of a random guess. Any "
        "positive closeness beats it (ifca.better-than-guessing). The third is a start from random "
        "labels: the fit to clients drawn at random from both clusters tends to the midpoint of "
        "the optima, whose closeness is zero. So any positive closeness is better than this start "
        "as well."
    ),
)

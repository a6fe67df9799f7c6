"""The abstract's claim, "global convergence from any initialization", on one population of clients.

Theorem 3 composes both phases.  Here they run on the same clients, most of which hold two rows.
"""

from __future__ import annotations

import sympy as sp

from bounds.statement import Contrast, Term, Trend
from bounds.sxy.assumptions import statement
from bounds.sxy.symbols import M, oracle

_SOURCE = "Abstract, and Theorem 3"
_READING = (
    "Most clients have two rows. Clusters differ in size and covariance, and the anchors' clusters "
    "are drawn. Phase 2 trains on all clients, those of Phase 1 among them, as the paper says. The "
    "error is compared with that of Phase 2 from the optima on the same clients, because (18) "
    "hides a constant. The paper's failure probability is $O(N^{-9})$, which no number of trials "
    "resolves. A quarter is tried."
)

_FIELDS = {
    "kind": "probability",
    "quantifiers": r"\forall\theta_0,\norm{\theta_0}\le R",
    "observed": r"d(\hat\theta,\theta^*)",
    "terms": (Term(name="error from the optima", expr=2 * oracle),),
    "failure": sp.Rational(1, 4),
    "uses": ("sxy.thm1-5", "sxy.thm2-contraction"),
}

END_TO_END = statement(
    "sxy.end-to-end",
    "Both phases over one population of clients with two rows",
    _SOURCE,
    reading=_READING,
    **_FIELDS,
)

END_TO_END_WORST = statement(
    "sxy.end-to-end-worst",
    "Both phases from the worst of several starts, chosen after the data",
    _SOURCE,
    reading=_READING
    + " The start is the one of 13 whose anchors end farthest from their optima after Phase 1.",
    **_FIELDS,
)

END_TO_END_AGAINST_RANDOM = statement(
    "sxy.end-to-end-against-random",
    "Both phases against Phase 2 from one random start",
    "Introduction, and the abstract",
    kind="comparison",
    quantifiers=r"4\le k\le6,\ d\in\{20,50\}",
    observed=r"P(d(\hat\theta,\theta^*)>2d_{\mathrm{oracle}})",
    contrasts=(
        Contrast(left="both phases", relation="<", right="random start"),
        Contrast(left="both phases", relation="<", right="Phase 1 alone"),
    ),
    reading="Failures on the same clients. Random models are uniform in the ball of the optima.",
)

END_TO_END_GROWS = statement(
    "sxy.end-to-end-grows",
    "More clients with two rows make both phases succeed",
    "Theorem 1, the number of clients that (3) asks for",
    kind="comparison",
    quantifiers=r"k=4,\ d=50,\ 10^3\le M\le3\cdot10^4",
    observed=r"P(d(\hat\theta,\theta^*)\le2d_{\mathrm{oracle}})",
    assertion=r"\text{it grows}",
    trends=(Trend(symbol=M, direction="increases", margin=0.15),),
    reading=(
        "The paper asks for $p_{\\min}^{-2}\\tilde\\Omega(d)$ clients a round and names no number. "
        "So the numbers here show where both phases begin to work."
    ),
)

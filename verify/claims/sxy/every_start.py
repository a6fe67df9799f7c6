r"""The quantifier of Theorem 1 of Su, Xu & Yang: one event for all starts, or each start its own.

Problem. Theorem 1 says "with probability at least 1 - O(N^-9), for all initialization".  Its proof
fixes the start before the data are drawn.  How many clients does a round need when the start may
depend on the data?

Guarantee. `bounds.sxy.every_start`: of order d as printed, and at least of order d^2 in fact.

Algorithm. One round of Phase 1 from a start between the rows of two clients (experiment
``sxy.chosen-start``), and from one that is drawn before the data.

Computation. The share of a squared residual that the subspace loses with d^2/10 clients, in many
dimensions.  From a start drawn before the data, the control, it falls.

Reference. Theorem 1, Proposition 1, and the first lines of appendix A.4.
"""

from __future__ import annotations

from bounds.statement import Statement, evaluate
from bounds.sxy.every_start import EVERY_START, EVERY_START_AS_PRINTED
from bounds.sxy.symbols import d, m
from trials.experiments.sxy.chosen_start import CHOSEN_START
from verify.claim import Finding, row, table
from verify.claims.common import refuse_untried
from verify.claims.sxy.moments import sampling
from verify.decisions.rates import Side
from verify.procedures.base import Profile
from verify.procedures.rate import Rate, StatedRate

ONE_EVENT = Finding(
    id="sxy-one-event",
    where="Theorem 1, the order of its quantifiers",
    headline="Theorem 1 states one event for all starts and proves one for each start. A start "
    "that knows the data needs about d^2 clients, not d.",
    printed='"With probability at least $1-O(N^{-9})$, for all initialization $\\theta_0$ with '
    '$\\norm{\\theta_0}\\le R$", for $m\\ge p_{\\min}^{-2}\\tilde\\Omega(d)$.',
    found="A start between the two rows of one client gives it a part of $Y$ with the norm "
    "$R^2d^2/m$. Two such clients take both singular vectors. At $d=160$ and $m=16d$ the subspace "
    "then keeps .38 of a squared residual, and .74 from a start that is drawn before the data. At "
    "$d=1000$ and $m=32d$ it keeps .27, against .84. At "
    "$m=d^2/10$ the lost share is the same in every dimension.",
    corrected="For every $\\theta_0$ that does not depend on the data of Phase 1, with probability "
    "at least $1-O(N^{-9})$.",
    severity="strong",
)


#: Many dimensions with few rounds have narrower limits than few dimensions with many.
DIMENSIONS = tuple(round(44 * 3 ** (i / 23)) for i in range(24))


def lost(statement: Statement, profile: Profile) -> Rate:
    """Dimensions 44 to 130 with d^2/10 clients, 4 to 13 for each dimension."""
    (term,) = statement.terms
    stated = term.expr.subs(statement.definitions)
    refuse_untried(statement, ("d",), stated)
    side: Side = "at most" if statement.relation == r"\le" else "at least"
    exponent = float(d * stated.diff(d) / stated)
    return Rate(
        name=statement.id,
        sampling=sampling(profile, CHOSEN_START, 8),
        cells=tuple(
            {"d": each, "m": round(float(evaluate(statement.definitions[m], {"d": each})))}
            for each in DIMENSIONS
        ),
        statistic=lambda trials: 1.0 - trials["chosen"],
        regressors=lambda cell: {"d": float(cell["d"])},
        stated={"d": StatedRate(exponent=exponent, side=side, symbol="$d$")},
        observable="the largest share of a squared residual that the subspace loses",
        margin=0.25,  # half of what lies between the two statements
    )


LOST = table(
    lost,
    row("sxy.every-start-as-printed", EVERY_START_AS_PRINTED, refuted=ONE_EVENT),
    row("sxy.every-start", EVERY_START, finding=ONE_EVENT),
)

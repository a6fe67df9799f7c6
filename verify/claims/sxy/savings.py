r"""Savings by local steps: rounds at one step size, and against single steps of the best size.

Problem. How many rounds does a given number of local steps save?

Guarantee. `bounds.sxy.local_steps`: the number of rounds of Theorem 3.

Algorithm. The formula itself, searched over local steps and step sizes.  No trial is drawn.

Reference. The sentences after Theorem 3.
"""

from __future__ import annotations

from bounds.statement import Statement, evaluate
from bounds.sxy.local_steps import (
    NO_SAVING,
    ROUNDS,
    SAVING_SAME_STEP,
)
from bounds.sxy.symbols import (
    s,
)
from verify.claim import Finding, claim
from verify.claims.searching import search
from verify.claims.sxy.local_spectrum import SHRINKS, STEPS
from verify.decisions.domain import IntRange, LogInterval, Ranges
from verify.procedures.base import Profile
from verify.procedures.search import Search
from verify.proofs.propositions import Everywhere

NO_SAVING_FINDING = Finding(
    id="sxy-no-saving",
    where="after Theorem 3, last sentence of Section 4",
    printed="By choosing $s$ relatively large while keeping $\\kappa$ close to 1, FedAvg enjoys a "
    "saving of the total communication cost.",
    found="True at a fixed step size. Against single steps of the best size nothing is saved: "
    "the number of rounds is proportional to $\\kappa/(s\\eta)$, which is "
    "$L/(1-(1-\\gamma)^s)$ with $L=\\max_i\\norm{\\phi(x_i)}^2/n_i$. It exceeds $L$ for every $s$ "
    "and $\\gamma<1$, and $L$ is the limit for $s=1$, where $\\kappa=1$ for every step size. "
    "$\\kappa\\le11/10$ needs about $s\\gamma\\le1/5$, which costs five times as many rounds as "
    "single steps of the largest size.",
    corrected="More local steps save rounds at a fixed step size only.",
    severity="slip",
)

SAVING_DOMAIN: Ranges = {"s": IntRange(1, 1000, log=True), "gamma": LogInterval(1e-6, 1.9)}


def _rounds_at(s: int, gamma: float) -> float:
    """The rounds of Theorem 3, in units of the largest curvature."""
    return float(evaluate(ROUNDS, {"s": s, "gamma": gamma}))


@claim("sxy.no-saving", NO_SAVING, finding=NO_SAVING_FINDING)
def no_saving(statement: Statement, profile: Profile) -> Search:
    """Every number of local steps against single steps of the largest size."""
    return search(
        statement,
        profile,
        lambda p: _rounds_at(p["s"], p["gamma"]),
        SAVING_DOMAIN,
        everywhere=Everywhere(STEPS, left=ROUNDS, hints=SHRINKS),
    )


@claim("sxy.saving-same-step", SAVING_SAME_STEP, finding=NO_SAVING_FINDING)
def saving_same_step(statement: Statement, profile: Profile) -> Search:
    """Twice as many local steps at the same step size."""
    return search(
        statement,
        profile,
        lambda p: _rounds_at(2 * p["s"], p["gamma"]),
        SAVING_DOMAIN,
        everywhere=Everywhere(STEPS, left=ROUNDS.subs(s, 2 * s), hints=SHRINKS),
    )

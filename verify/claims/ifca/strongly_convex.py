r"""IFCA with strongly convex losses: the assumptions, and clients that are identified correctly.

Problem. Which models meet Assumptions 3 to 5, and are most clients identified correctly?

Guarantee. `bounds.ifca.strongly_convex`: the linear model meets Assumptions 4 and 5 on a ball, and
a client's label is right with a probability of one half.

Algorithm. None is run.  The variances are closed forms, the label laws those of Lemma 3.

Computation. One half: C_n = 4, as 2 k X <= 1/2.  Half of the clients: Hoeffding's exponent, 1/8.

Reference. TIT 2022, Section V-B and the proof of Theorem 2.
"""

from __future__ import annotations

import math

import sympy as sp

from bounds.ifca import strongly_convex as sc
from bounds.ifca.lemma_3 import RADIUS, L, lam
from bounds.ifca.symbols import Delta, d, sigma
from bounds.statement import Statement
from verify.claim import Finding, row, table
from verify.claims.common import Point
from verify.claims.ifca.correct_clients import binomial
from verify.claims.ifca.lemma_3 import LABELS, RIVALS_HALF, SHAPE, labels, shape
from verify.claims.searching import Constants, Proof, generous, search
from verify.decisions.domain import Interval, IntRange, LogInterval, Ranges
from verify.procedures.base import Profile
from verify.procedures.search import Search
from verify.proofs.propositions import POSITIVE, Everywhere

# --- Assumptions 3 to 5 -------------------------------------------------------------------------

#: Variance of the loss (y - x theta)^2 and of its gradient at a distance u, Gaussian features.
_U = sp.Symbol("u")
LOSS_VARIANCE = 2 * (_U**2 + sigma**2) ** 2
GRADIENT_VARIANCE = 4 * ((d + 1) * _U**2 + d * sigma**2)

MORE_GENERAL = Finding(
    id="ifca-more-general",
    where="TIT 2022, Section V-B, first paragraph, and Assumptions 4 and 5 (NeurIPS 5.2 as well)",
    headline="The assumptions for general losses exclude the paper's own linear model, whose "
    "loss has an unbounded variance.",
    printed="In contrast to the previous section, our analysis does not rely on any specific "
    "statistical model, and thus can be applied to more general machine learning problems. For "
    "every $\\theta$ the variance of $f(\\theta;z)$ is at most $\\eta^2$.",
    found="The linear model of the previous section does not meet Assumption 4 for any $\\eta$, "
    "since the variance of its loss is $2(\\norm{\\theta-\\theta_j^*}^2+\\sigma^2)^2$. A random "
    "linear term already has an unbounded variance on $R^d$, so regression with a ridge and the "
    "estimation of a mean are excluded too.",
    corrected="For every $\\theta$ in balls that hold the iterates. The proofs use no other point. "
    "For the linear model within $r$ of an optimum, $\\eta^2=2(r^2+\\sigma^2)^2$ and "
    "$v^2=4((d+1)r^2+d\\sigma^2)$.",
    severity="strong",
)


def variance(
    statement: Statement,
    profile: Profile,
    *,
    observed: sp.Expr = LOSS_VARIANCE,
    radius: str = "",
    dimension: str = "",
    constants: Constants | None = None,
) -> Search:
    """The linear model at every distance from its optimum."""
    share = "distance of the model from the optimum over $r$"
    return search(
        statement,
        profile,
        observed,
        {
            "share": Interval(0.0, 1.0, meaning=share),
            "r": LogInterval(1e-6, 1e6, meaning=radius),
            "sigma": LogInterval(1e-6, 1.0),
            "d": IntRange(1, 10_000, log=True, meaning=dimension),
        },
        at=lambda point: {**point, "u": point["share"] * point["r"]},
        constants=constants,
        budget=profile.searches // 8,
        proof=Proof(
            argument="Noise-free responses and a distance of $10^4$ from the optimum, at the "
            "largest $\\eta$ of the box. The variance grows like the fourth power of the distance.",
            says="the variance exceeds the limit",
            values={"u": 10**4, "sigma": 0, "d": 1, "r": 1},
        ),
    )


_NO_D = "dimension of a model, without effect on the variance of the loss"
VARIANCES = table(
    variance,
    # on the whole space, at the largest eta of the box
    row(
        "ifca.more-general-as-printed",
        sc.MORE_GENERAL,
        radius="radius of the ball around the optimum in which the model lies",
        dimension=_NO_D,
        constants=generous,
        refuted=MORE_GENERAL,
    ),
    row("ifca.more-general", sc.MORE_GENERAL_BALL, dimension=_NO_D, finding=MORE_GENERAL),
    row(
        "ifca.more-general-gradient",
        sc.MORE_GENERAL_GRADIENT,
        observed=GRADIENT_VARIANCE,
        finding=MORE_GENERAL,
    ),
    identity="the variance of a squared Gaussian residual, or of its gradient",
)

# --- Before (24) --------------------------------------------------------------------------------

CORRECT = (
    row(
        "ifca.half-correct-sc-client",
        sc.HALF_CORRECT_CLIENT,
        labels,  # down to the edge of Assumption 6
        reduction=RIVALS_HALF,
        constants={"C_n": 4.0},
        X=LogInterval(1e-6, 0.125, meaning=LABELS["X"].meaning),
        hidden={"C_n": 4.0},
    ),
    row("ifca.half-correct-sc", sc.HALF_CORRECT, binomial),
)

# --- The bounded optima -------------------------------------------------------------------------

UNITS = Finding(
    id="ifca-sc-units",
    where="TIT 2022, Assumption 6, (25), (28), (30) and Theorem 2",
    headline="The optima are bounded by a pure number with a loss of generality: models in another "
    "unit break the bounds.",
    printed="Without loss of generality, we assume that $\\max_j\\norm{\\theta_j^*}\\lesssim1$. "
    "$\\norm{\\nabla F^j(\\theta_1)}\\le3L$.",
    found="Models in another unit break (25), and with it the second term of $\\varepsilon_0$, "
    "which is a pure number beside two lengths. The condition is a restriction unless every "
    "length of the results is read in the unit $\\max_j\\norm{\\theta_j^*}$.",
    corrected="$3L\\max_j\\norm{\\theta_j^*}$, and the second term of $\\varepsilon_0$ with the "
    "factor $\\max_j\\norm{\\theta_j^*}$.",
    severity="edge",
)


def gradient(statement: Statement, profile: Profile, *, largest: float = 1e6) -> Search:
    """One curvature L: the distance of a model from another cluster's optimum, over all angles.

    ``largest`` is the largest norm of an optimum that is tried.
    """
    theta_max = "largest norm of an optimum, here that of both"
    angle = "angle at the origin between two optima of the same norm"
    domain: Ranges = {
        **{name: SHAPE[name] for name in ("lam", "condition", "alpha")},
        "theta_max": LogInterval(1e-6, largest, meaning=theta_max),
        "angle": Interval(1e-3, math.pi, meaning=angle),
    }

    def symbols(point: Point) -> dict[str, float]:
        """The optima span an angle at the origin, and Delta is their distance."""
        return {**shape(point), "Delta": 2 * point["theta_max"] * math.sin(point["angle"] / 2)}

    return search(
        statement,
        profile,
        L * (Delta + RADIUS),
        domain,
        at=symbols,
        everywhere=Everywhere(
            dict.fromkeys(("lam", "L", "theta_max", "Delta", "alpha"), POSITIVE),
            given=((L, lam), (2 * sp.Symbol("theta_max"), Delta)),
            by="A gradient is at most $L$ times the distance from the optimum. By the triangle "
            "inequality this is at most that of the two optima and the model's own error.",
        ),
        budget=profile.searches // 8,
    )


GRADIENTS = table(
    gradient,
    row("ifca.eq27", sc.EQ_27, largest=4.0),
    row("ifca.eq27-units", sc.EQ_27_UNITS, finding=UNITS),
)

r"""IFCA with strongly convex losses: the assumptions and the identity of a client (Lemma 3).

Problem. Which models meet Assumptions 3 to 5, and how often is a client mislabelled when nothing
but the variance of its loss is known?

Guarantee. `bounds.ifca.strongly_convex`: a wrong label has a probability of at most
c1 eta^2/(alpha^2 lambda^2 Delta^4 n'), and k times as much over all rivals.

Algorithm. None is run.  Rare spikes (`trials.laws.spike`) are the worst laws for a given variance.
Their label law is a closed form for every n' and k.  Gaussian noise is the friendly end.

Computation. Constants exhibited by argument.  Lemma 3: c1 = 4 by Cantelli, as two averages of
variance eta^2/n' differ by a variance of at most 4 eta^2/n'.  The union: c1 = 2 by Minkowski and
Markov.  One half: C_n = 4, as 2 k X <= 1/2.  Half of the clients: Hoeffding's exponent, 1/8.

Reference. TIT 2022, Section V-B and the proofs of Lemma 3 and Theorem 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

import sympy as sp
from scipy import special

from bounds.ifca import strongly_convex as sc
from bounds.ifca.symbols import Delta, d, sigma
from bounds.statement import Statement, evaluate
from trials.laws.spike import wrong_label
from verify.claim import Finding, claim
from verify.claims.common import Point
from verify.claims.ifca import correct_clients
from verify.claims.searching import Sided, proves
from verify.decisions.domain import Choice, Interval, IntRange, LogInterval, Ranges
from verify.evidence import Verdict
from verify.procedures.base import Profile
from verify.procedures.interface import Procedure
from verify.procedures.search import Search
from verify.proofs.certificate import Certificate, NotProved
from verify.proofs.terms import from_sympy

_UNITS = LogInterval(1e-3, 1e3)


def limit(statement: Statement, constants: Mapping[str, float]) -> Callable[[Point], float]:
    """The right-hand side at a point, with the constants put in."""
    return lambda at: float(evaluate(statement.expr, {**at, **constants}))


def inside(statement: Statement, constants: Mapping[str, float]) -> Callable[[Point], bool]:
    """Whether a point meets the statement's assumptions, with their hidden constants."""
    return lambda at: all(a.holds({**at, **constants}) for a in statement.assumptions)


#: Values of symbols that interval arithmetic takes as they are.
Exact = dict[str, int | Fraction]

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
    severity="statement",
)


def _variance(
    statement: Statement, profile: Profile, observed: sp.Expr, constants: Mapping[str, float]
) -> Search:
    bound = limit(statement, constants)

    def at(point: Point) -> dict[str, float]:
        return {**point, "u": point["share"] * point["r"]}

    def certify(point: Point) -> Certificate:
        exact: Exact = {"u": 10**4, "sigma": 0, "d": 1, "r": 1}
        exact |= {name: Fraction(value) for name, value in constants.items()}
        del point
        return proves(
            statement,
            "Noise-free responses and a distance of $10^4$ from the optimum, at the largest $\\eta$"
            " of the box. The variance grows like the fourth power of the distance.",
            "the variance exceeds the limit",
            from_sympy(observed, exact),
            exact,
        )

    return Sided(
        sides=lambda point: (float(evaluate(observed, at(point))), bound(at(point))),
        domain={
            "share": Interval(0.0, 1.0),
            "r": LogInterval(1e-6, 1e6),
            "sigma": LogInterval(1e-6, 1.0),
            "d": IntRange(1, 10_000, log=True),
        },
        budget=profile.searches // 8,
        certify=certify,
        constants=constants,
    ).search(statement)


@claim(sc.MORE_GENERAL, expected=Verdict.REFUTED, finding=MORE_GENERAL)
def more_general_as_printed(statement: Statement, profile: Profile) -> Search:
    """The linear model on the whole space, at the largest eta of the box."""
    return _variance(
        statement, profile, LOSS_VARIANCE, {c.name: c.most_generous for c in statement.constants}
    )


@claim(sc.MORE_GENERAL_BALL, finding=MORE_GENERAL)
def more_general(statement: Statement, profile: Profile) -> Search:
    """The linear model on a ball, from its centre to its edge."""
    return _variance(statement, profile, LOSS_VARIANCE, {})


@claim(sc.MORE_GENERAL_GRADIENT, finding=MORE_GENERAL)
def more_general_gradient(statement: Statement, profile: Profile) -> Search:
    """The gradient on a ball, from its centre to its edge."""
    return _variance(statement, profile, GRADIENT_VARIANCE, {})


# --- The gap ------------------------------------------------------------------------------------

#: Curvatures, separation and closeness.
SHAPE: Ranges = {
    "lam": _UNITS,
    "condition": LogInterval(1.0, 1e4),
    "Delta": LogInterval(1e-2, 2.0),
    "alpha": Interval(1e-4, 0.4999),
}


def shape(point: Point) -> dict[str, float]:
    """The statements' symbols at a point, with L = lam times the condition number."""
    return {**point, "L": point["lam"] * point["condition"]}


def gap(statement: Statement, profile: Profile) -> Search:
    """Quadratic losses: the own model errs by a share where the curvature is h in [lam, L].

    The rival errs by a share towards the own optimum, where the curvature is lam.
    """
    bound = limit(statement, {})

    def sides(point: Point) -> tuple[float, float]:
        at = shape(point)
        radius = float(evaluate(sc.RADIUS, at))
        curvature = at["lam"] * point["condition"] ** point["steep"]
        rival = at["Delta"] - point["rival"] * radius
        own = point["own"] * radius
        return 0.5 * at["lam"] * rival**2 - 0.5 * curvature * own**2, bound(at)

    return Sided(
        sides=sides,
        domain={
            **SHAPE,
            "own": Interval(0.0, 1.0),
            "rival": Interval(-1.0, 1.0),
            "steep": Interval(0.0, 1.0),
        },
        budget=profile.searches // 8,
        constraints=lambda point: inside(statement, {})(shape(point)),
    ).search(statement)


@claim(sc.LEMMA_3_GAP)
def lemma_3_gap(statement: Statement, profile: Profile) -> Search:
    """The printed gap, attained where lambda = L."""
    return gap(statement, profile)


@claim(sc.LEMMA_3_GAP_SHARP)
def lemma_3_gap_sharp(statement: Statement, profile: Profile) -> Search:
    """The smallest gap, attained by two curvatures in two directions."""
    return gap(statement, profile)


# --- Lemma 3 ------------------------------------------------------------------------------------

LABELS: Ranges = {
    **SHAPE,
    "X": LogInterval(1e-9, 10.0),
    "n": IntRange(1, 10**9, log=True),
    "k": IntRange(2, 1000, log=True),
    "law": Choice(("spike", "gaussian")),
}


def with_noise(point: Point) -> dict[str, float]:
    """The symbols at a point, where eta has the size at which X takes the point's value."""
    at = shape(point)
    scale = point["alpha"] * point["lam"] * point["Delta"] ** 2
    return {**at, "eta": scale * math.sqrt(point["n"] * point["X"])}


def mislabelled(point: Point, models: int) -> float:
    """The probability of a wrong label at the smallest gap, from the exact law.

    Gaussian noise is independent between models, and a union bound is then an upper limit for
    more than two.
    """
    at = with_noise(point)
    smallest = float(evaluate(sc.GAP, at))
    if point["law"] == "spike":
        return wrong_label(smallest, at["eta"], point["n"], models)
    pair = special.ndtr(-smallest * math.sqrt(point["n"] / 2.0) / at["eta"])
    return float(min(1.0, (models - 1) * pair))


def labels(
    statement: Statement,
    profile: Profile,
    models: Callable[[Point], int],
    constants: Mapping[str, float],
    domain: Ranges = LABELS,
) -> Search:
    """The exact probability of a wrong label against the statement's right-hand side."""
    bound = limit(statement, constants)
    allowed = inside(statement, constants)
    return Sided(
        sides=lambda point: (mislabelled(point, models(point)), bound(with_noise(point))),
        domain=domain,
        budget=profile.searches // 8,
        constraints=lambda point: allowed(with_noise(point)),
        constants=constants,
    ).search(statement)


@claim(sc.LEMMA_3)
def lemma_3(statement: Statement, profile: Profile) -> Search:
    """c1 = 4 over every law, size, closeness and condition number."""
    return labels(statement, profile, lambda _point: 2, {"c_1": 4.0})


@claim(sc.LEMMA_3_ATTAINED)
def lemma_3_attained(statement: Statement, profile: Profile) -> Search:
    """One sample a client and one curvature."""
    domain = {**LABELS, "condition": Choice((1.0,)), "n": Choice((1,)), "law": Choice(("spike",))}
    return labels(statement, profile, lambda _point: 2, {}, domain)


@claim(sc.LEMMA_3_UNION)
def lemma_3_union(statement: Statement, profile: Profile) -> Search:
    """c1 = 2 for every number of clusters."""
    return labels(statement, profile, lambda point: point["k"], {"c_1": 2.0})


@claim(sc.LEMMA_3_UNION_SHARP)
def lemma_3_union_sharp(statement: Statement, profile: Profile) -> Search:
    """The smallest constant, which rare spikes attain as n' grows."""
    return labels(statement, profile, lambda point: point["k"], {})


@claim(sc.LEMMA_3_RATE)
def lemma_3_rate(statement: Statement, profile: Profile) -> Search:
    """Rare spikes whose frequency changes with n', one curvature."""
    domain = {**LABELS, "condition": Choice((1.0,)), "law": Choice(("spike",))}
    return labels(statement, profile, lambda _point: 2, {}, domain)


# --- Before (24) --------------------------------------------------------------------------------


@claim(sc.HALF_CORRECT_CLIENT, hidden={"C_n": 4.0})
def half_correct_client(statement: Statement, profile: Profile) -> Search:
    """Assumption 6 with C_n = 4, down to its edge."""
    domain = {**LABELS, "X": LogInterval(1e-6, 0.125)}
    return labels(statement, profile, lambda point: point["k"], {"C_n": 4.0}, domain)


@claim(sc.HALF_CORRECT)
def half_correct(statement: Statement, profile: Profile) -> Procedure:
    """The exact binomial tail with Hoeffding's exponent, as in the linear model."""
    return correct_clients.eq_3.builder(statement, profile)


# --- The bounded optima -------------------------------------------------------------------------

UNITS = Finding(
    id="ifca-sc-units",
    where="TIT 2022, Assumption 6, (27), (30), (32) and Theorem 2",
    headline="The optima are bounded by a pure number with a loss of generality: models in another "
    "unit break the bounds.",
    printed="Without loss of generality, we assume that $\\max_j\\norm{\\theta_j^*}\\lesssim1$. "
    "$\\norm{\\nabla F^j(\\theta_1)}\\le3L$.",
    found="Models in another unit break (27), and with it the second term of $\\varepsilon_0$, "
    "which is a pure number beside two lengths. The condition is a restriction unless every "
    "length of the results is read in the unit $\\max_j\\norm{\\theta_j^*}$.",
    corrected="$3L\\max_j\\norm{\\theta_j^*}$, and the second term of $\\varepsilon_0$ with the "
    "factor $\\max_j\\norm{\\theta_j^*}$.",
    severity="proof",
)


def _gradient(statement: Statement, profile: Profile, largest: float = 1e6) -> Search:
    """One curvature L: the distance of a model from another cluster's optimum, over all angles.

    ``largest`` is the largest norm of an optimum that is tried.
    """
    bound = limit(statement, {})

    def symbols(point: Point) -> dict[str, float]:
        at = shape(point)
        # the optima span an angle at the origin, and Delta is their distance
        at["Delta"] = 2 * point["theta_max"] * math.sin(point["angle"] / 2)
        return at

    def sides(point: Point) -> tuple[float, float]:
        at = symbols(point)
        distance = at["Delta"] + float(evaluate(sc.RADIUS, at))
        return at["L"] * distance, bound(at)

    def certify(point: Point) -> Certificate:
        del point
        exact: Exact = {"lam": 1, "L": 1, "alpha": Fraction(1, 4), "Delta": 20, "theta_max": 10}
        if not inside(statement, {})(exact):
            raise NotProved("the optima are bounded")
        return proves(
            statement,
            "Two opposite optima of norm $10$ in one dimension, $\\lambda=L=1$, $\\alpha=1/4$: the "
            "gradient is the distance $25$.",
            "the gradient exceeds its limit",
            from_sympy(sc.L * (Delta + sc.RADIUS), exact),
            exact,
        )

    return Sided(
        sides=sides,
        domain={
            **{name: SHAPE[name] for name in ("lam", "condition", "alpha")},
            "theta_max": LogInterval(1e-6, largest),
            "angle": Interval(1e-3, math.pi),
        },
        budget=profile.searches // 8,
        constraints=lambda point: inside(statement, {})(symbols(point)),
        certify=certify,
    ).search(statement)


@claim(sc.EQ_27)
def eq_27(statement: Statement, profile: Profile) -> Search:
    """Optima of norm one at most."""
    return _gradient(statement, profile, 1.0)


@claim(sc.WLOG, expected=Verdict.REFUTED, finding=UNITS)
def wlog(statement: Statement, profile: Profile) -> Search:
    """Optima of any norm."""
    return _gradient(statement, profile)


@claim(sc.EQ_27_UNITS, finding=UNITS)
def eq_27_units(statement: Statement, profile: Profile) -> Search:
    """Optima of any norm, with the norm in the limit."""
    return _gradient(statement, profile)

r"""Proposition 2 of Su, Xu & Yang: one step of moment descent.

Problem. An anchor knows a subspace that nearly holds its residual v = Sigma (theta* - theta), and
an estimate of v inside it.  Does a step along the estimate shrink v by the factor of (21)?

Guarantee. `bounds.sxy.descent`: (27) and (28) bound the error of the direction and of its length,
and imply (21).  (20) is the condition under which they hold.

Algorithm. One step of Phase 1.  No data are drawn: the deterministic claims try every direction,
length and covariance that the conditions allow, and ``prop2-21-as-printed`` has an exact law in one
dimension with signs as features and noise.

Computation. The image Sigma r of a unit vector under a covariance with spectrum in [alpha, beta]
fills the ball with the diameter from alpha r to beta r.  So five numbers describe every step: the
angle of r, the length, and the place of Sigma r in that ball.

Reference. Proposition 2 and appendix A.5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from types import ModuleType
from typing import Any

import mpmath
import numpy as np
import sympy as sp

from bounds.statement import Assumption, Statement, evaluate, evaluate_mp
from bounds.sxy.descent import (
    EQ_27,
    EQ_28,
    ORIENTED,
    PROP_2_21,
    PROP_2_21_AS_PRINTED,
    PROP_2_FACTOR,
    STEP,
    STEP_ALGEBRA,
    STEP_ALGEBRA_AS_PRINTED,
)
from bounds.sxy.symbols import eta
from verify.claim import Finding, claim, row, table
from verify.claims.common import CannotTry, Point, log_of
from verify.claims.searching import Proof, search
from verify.decisions.domain import Choice, Interval, IntRange, LogInterval, Ranges
from verify.decisions.measures import LOG_DIFFERENCE, log_or_lowest
from verify.evidence import Verdict
from verify.procedures.base import FloatArray, Profile
from verify.procedures.search import Search
from verify.proofs.certificate import Certificate, Inequality, certificate
from verify.proofs.propositions import NOT_NEGATIVE, POSITIVE, Everywhere, Reduction
from verify.proofs.terms import Term, from_sympy, rational

RATIO = "ratio $\\alpha/\\beta$ of the limits of the spectrum"
#: Limits of the spectrum: the ratio over three decades, the unit over twelve.
SPECTRA: Ranges = {
    "ratio": LogInterval(1e-3, 1.0, meaning=RATIO),
    "beta": LogInterval(1e-6, 1e6),
}
#: The direction and its length, as shares of the errors that (27) and (28) allow.
ESTIMATES: Ranges = {
    "lean": Interval(
        -1.0,
        1.0,
        meaning="signed sine of the angle from residual to direction, as a share of what (27) "
        "allows",
    ),
    "stretch": Interval(
        -1.0,
        1.0,
        meaning="error of the squared length of the estimate, as a share of what (28) allows",
    ),
}


def spectrum_of(point: Point) -> dict[str, float]:
    """The limits alpha and beta of a point's spectrum."""
    return {"alpha": point["ratio"] * point["beta"], "beta": point["beta"]}


def estimates(point: Point, number: ModuleType, value: Any) -> tuple[Any, Any]:
    """The sine of the direction's angle with the residual, and its length, for a residual of 1.

    ``lean`` and ``stretch`` of `ESTIMATES` reach exactly what (27) and (28) allow.
    """
    x = {name: _number(point[name], number) for name in ("ratio", "beta", *ESTIMATES)}
    at = {"alpha": x["ratio"] * x["beta"], "beta": x["beta"], "v": 1}
    slack, slack_length = (1 - value(each.right, at) for each in (EQ_27, EQ_28[0]))
    return x["lean"] * number.sqrt(slack), number.sqrt(1 + x["stretch"] * slack_length)


# -- the step of the proof -------------------------------------------------------------------------

SIGN = Finding(
    id="sxy-sign",
    where="Phase 1, Steps 11 and 13; appendix A.5, after (27)",
    headline="The power iteration keeps the sign of its random start, so a step of Phase 1 "
    "goes the wrong way with probability one half.",
    printed="$(\\theta_j^*-\\theta_t)^\\top\\Sigma_j^2r_t\\ge a_t\\alpha-|b_t|\\beta$ with "
    "$a_t\\ge\\sqrt{1-\\alpha^2/(64\\beta^2)}\\,\\norm{\\Sigma_j(\\theta_j^*-\\theta_t)}$.",
    found="(27) bounds $a_t^2$. The leading singular vector $\\hat\\beta_t$ of $A_t$ has no sign, "
    "and the power iteration keeps that of its random start. So each step goes the wrong way with "
    "probability one half, and (21) and (4) fail, also with exact moments and without noise.",
    corrected="Take the sign from the mean of $\\varepsilon(x,y,\\theta_t)$ over the anchor's "
    "points. Its expectation is $\\Sigma_j(\\theta_j^*-\\theta_t)$.",
    severity="statement",
)


def _after(statement: Statement, point: Point, number: ModuleType, value: Any) -> Any:
    """The next residual's square."""
    x = {name: _number(point[name], number) for name in point}
    limits = {"alpha": x["ratio"] * x["beta"], "beta": x["beta"]}
    sine, length = estimates(point, number, value)
    cosine = x["sign"] * number.sqrt(1 - sine**2)
    # v = cosine r + sine r', and Sigma r = along r + across r' + a part orthogonal to both
    reach = x["reach"] * (limits["beta"] - limits["alpha"]) / 2
    along = (limits["alpha"] + limits["beta"]) / 2 - reach * number.cos(x["turn"])
    across = reach * number.sin(x["turn"])
    estimated = {**limits, "sigma_hat": length * x["v"]}
    step = value(statement.definitions[eta], estimated) / x["v"]  # its length in units of v
    after = 1 - 2 * step * (cosine * along + sine * across) + step**2 * (along**2 + across**2)
    return after * x["v"] ** 2


def _number(value: Any, number: ModuleType) -> Any:
    return mpmath.mpf(value) if number is mpmath else float(value)


_A, _B, _V, _SIZE, _RATIO, _HIGH = sp.symbols("a b v sigma_hat ratio beta")


#: What (27) and (28) allow, with the ratio in the place of alpha/beta.
_COSINE, _SHORT = ((1 - _RATIO**2 / n) * _V**2 for n in (64, 32))
_LONG = (1 + _RATIO**2 / 32) * _V**2


def _root(
    larger: sp.Expr, smaller: sp.Expr, allowed: sp.Expr, share: sp.Rational
) -> tuple[Any, ...]:
    """A hint: the squares differ by what is allowed, and by at most a share of the residual's."""
    spare = sp.expand(larger**2 - smaller**2 - allowed - share * (1 - _RATIO**2) * _V**2)
    parts = ("+", allowed, ("*", share, 1 - _RATIO**2, _V**2), spare)
    return (">=", larger, smaller, ("square", larger, smaller), ("sum", 1, parts))


def one_step(
    because: str, lemmas: tuple[str, ...], quantities: Callable[[Point], Mapping[str, float]]
) -> Reduction:
    """A step along a direction that meets (27) and (28), for the reason that is given."""
    step = STEP[eta].subs(sp.Symbol("alpha"), _RATIO * _HIGH)
    return Reduction(
        idea=f"{because} Let $a$ and $b$ be the lengths of the residual along the direction and "
        "across it. The step shortens it along the direction by $a\\alpha-b\\beta$ at least, and "
        "$\\Sigma_jr_t$ is no longer than $\\beta$. The certificate proves the decay for all $a$, "
        "$b$ and $\\hat\\sigma_t$ that (27) and (28) allow.",
        lemmas=lemmas,
        ranges={
            **dict.fromkeys(("beta", "v", "a", "sigma_hat"), POSITIVE),
            "b": NOT_NEGATIVE,
            "ratio": LogInterval(0.0, 1.0),
        },
        constants={"alpha": _RATIO * _HIGH},
        given=(
            (_A**2 + _B**2, _V**2),
            (_V**2, _A**2 + _B**2),
            *((each.left, each.right) for each in (EQ_27, *EQ_28)),
        ),
        quantities=quantities,
        left=_V**2 - 2 * step * _HIGH * (_A * _RATIO - _B) + step**2 * _HIGH**2,
        hints=(
            (">=", 1, _RATIO**2),
            (
                ">=",
                *(sides := (_V * _RATIO, 8 * _B)),
                ("square", *sides),
                ("sum", 1, ("+", ("*", 64, _A**2 - _COSINE), ("*", 64, _V**2 - _A**2 - _B**2))),
            ),
            _root(_A, sp.Rational(99, 100) * _V, _A**2 - _COSINE, sp.Rational(1, 64)),
            _root(_SIZE, sp.Rational(49, 50) * _V, _SIZE**2 - _SHORT, sp.Rational(1, 32)),
            _root(sp.Rational(51, 50) * _V, _SIZE, _LONG - _SIZE**2, sp.Rational(1, 32)),
            (">=", _SIZE * (_A - _V / 8), _SIZE**2 / 4 + _V**2 / 8),
        ),
    )


def _allowed(point: Point) -> dict[str, float]:
    """The direction and the length of a point of `step`."""
    sine, length = estimates(point, math, evaluate)
    v = point["v"]
    return {"a": math.sqrt(1 - sine**2) * v, "b": abs(sine) * v, "sigma_hat": length * v}


ORIENTED_STEP = one_step(
    "The direction meets (27), its length meets (28), and its sign is right.",
    ("rayleigh", "cauchy-schwarz", "operator-norm"),
    _allowed,
)


def step(statement: Statement, profile: Profile) -> Search:
    """Directions on the residual's side, and on both sides where the statement allows them."""
    oriented = ORIENTED in statement.assumptions
    wrong_way = Proof(
        argument="Take $d=1$, $\\Sigma_j=\\alpha=\\beta=1$ and a residual of 1. The direction "
        "$r_t=-1$ meets (27), and $\\hat\\sigma_t=1$ meets (28). The step is $\\eta_t=1/2$.",
        values={"alpha": 1, "beta": 1, "v": 1, "sigma_hat": 1, "a": -1},
        observed=(1 + statement.definitions[eta]) ** 2,
        says="the next squared residual exceeds the stated one",
    )
    return search(
        statement,
        profile,
        lambda point: float(_after(statement, point, math, evaluate)),
        {
            **SPECTRA,
            "v": LogInterval(1e-6, 1e6),
            "sign": Choice(
                (1,) if oriented else (-1, 1),
                meaning="side of the direction: 1 along the residual, -1 against it",
            ),
            **ESTIMATES,
            "reach": Interval(
                0.0,
                1.0,
                meaning="distance of $\\Sigma r$ from the centre of its ball, as a share of the "
                "radius",
            ),
            "turn": Interval(
                0.0,
                3.14159,
                meaning="angle that places $\\Sigma r$ about the centre of its ball (0: towards "
                "$\\alpha r$)",
            ),
        },
        at=lambda point: {**spectrum_of(point), "v": point["v"]},
        exact=lambda point: _after(statement, point, mpmath, evaluate_mp),
        everywhere=ORIENTED_STEP if oriented else None,
        at_the_edge=True,
        budget=min(profile.searches, 1500),
        proof=None if oriented else wrong_way,
    )


STEPS = table(
    step,
    row("sxy.step-algebra-as-printed", STEP_ALGEBRA_AS_PRINTED, refuted=SIGN),
    row("sxy.step-algebra", STEP_ALGEBRA, finding=SIGN),
)


@claim("sxy.prop2-factor", PROP_2_FACTOR)
def prop_2_factor(statement: Statement, profile: Profile) -> Search:
    """Exact moments: residuals with weight on three eigenvalues, which range over the spectrum."""

    def after(point: Point) -> float:
        limits = spectrum_of(point)
        values = np.array([limits["alpha"], limits["beta"], 0.0])
        values[2] = limits["alpha"] + point["middle"] * (limits["beta"] - limits["alpha"])
        weights = np.array([point["low"], point["high"], 1.0 - point["low"]])
        weights = np.maximum(weights, 1e-12) / np.maximum(weights, 1e-12).sum()
        length = {**limits, "sigma_hat": point["v"]}  # that of the residual
        step = float(evaluate(statement.definitions[eta], length)) / point["v"]
        return float(weights @ (1.0 - step * values) ** 2) * float(point["v"]) ** 2

    x, v, alpha, beta = sp.symbols("x v alpha beta")
    length = statement.definitions[eta].subs(sp.Symbol("sigma_hat"), v) / v

    return search(
        statement,
        profile,
        after,
        {
            **SPECTRA,
            "v": LogInterval(1e-6, 1e6),
            "middle": Interval(
                0.0,
                1.0,
                meaning="place of the third eigenvalue between $\\alpha$ (0) and $\\beta$ (1)",
            ),
            "low": Interval(
                0.0,
                1.0,
                meaning="weight on the eigenvalue $\\alpha$, before normalisation (1 minus it is "
                "on the third)",
            ),
            "high": Interval(
                0.0,
                1.0,
                meaning="weight of the squared residual on the eigenvalue $\\beta$, before "
                "normalisation",
            ),
        },
        at=lambda point: {**(own := spectrum_of(point)), "v": point["v"], "x": own["alpha"]},
        everywhere=Everywhere(
            dict.fromkeys(("alpha", "beta", "v", "x"), POSITIVE),
            given=((x, alpha), (beta, x)),
            left=v**2 * (1 - length * x) ** 2,
            by="A weighted mean over the eigenvalues $x$ is at most its largest term.",
        ),
        budget=min(profile.searches, 1000),
    )


# -- (20) implies (21) -----------------------------------------------------------------------------

UNITS_OF_20 = Finding(
    id="sxy-units-of-20",
    where="Proposition 2, (20)",
    printed=(
        "$\\norm{\\Sigma_{z_i}(\\theta_{z_i}^*-\\theta_{i,t})}^2\\ge C(\\xi_1/p_{z_i}+\\xi_2)$."
    ),
    found="The left side has a unit and the right side has none. In a large unit of $\\theta$ the "
    "condition always holds, but the probability of (21) does not depend on the unit. With one "
    "pair of an anchor's points and noise as large as the residual it is 1/4. A.3, which says that "
    "it meets (20), shows the missing factor.",
    corrected="$\\ge C(\\delta_{i,t}^2+\\sigma^2)(\\xi_1/p_{z_i}+\\xi_2)$, as the proof of Theorem "
    "1 "
    "uses it.",
    severity="edge",
)

#: The generous end of the box of both constants.
GENEROUS_20 = {"C": 1e3, "C_f": 1e3}


def _no_decay(pairs: int, noise: float, factor: float) -> float:
    """P((21) fails) for d = 1, k = 1, Sigma = 1, residual 1, noise +-s and ``pairs`` pairs.

    Features are signs, so that epsilon = 1 +- s.  A pair's product is (1+s)^2, (1-s)^2 or 1-s^2
    with probabilities 1/4, 1/4 and 1/2.  The anchor's points give the right sign where the mean of
    epsilon is positive, which is certain for s <= 1 unless every epsilon is zero.
    """
    total = 0.0
    for high in range(pairs + 1):
        for low in range(pairs + 1 - high):
            mixed = pairs - high - low
            mean = (
                high * (1 + noise) ** 2 + low * (1 - noise) ** 2 + mixed * (1 - noise**2)
            ) / pairs
            after = (1 - 0.5 * math.sqrt(mean)) ** 2
            if after > factor:
                ways = math.comb(pairs, high) * math.comb(pairs - high, low)
                total += ways * 0.25 ** (high + low) * 0.5**mixed
    return total


@claim(
    "sxy.prop2-21-as-printed", PROP_2_21_AS_PRINTED, expected=Verdict.REFUTED, finding=UNITS_OF_20
)
def prop_2_21_as_printed(statement: Statement, profile: Profile) -> Search:
    """The exact law in one dimension, in units up to 1e9 of the noise's own."""
    (condition,) = (a for a in statement.assumptions if a.constant is not None)
    failure = statement.failure
    if failure is None:
        raise CannotTry(f"{statement.id}: a statement without a failure probability")

    def at(point: Point) -> dict[str, float]:
        own = {**dict.fromkeys(("alpha", "beta", "d", "k", "p"), 1.0), "v": point["unit"]}
        return {**own, **{name: float(point[name]) for name in ("m", "l", "N")}, **GENEROUS_20}

    def probability(point: Point) -> float:
        factor = evaluate(statement.expr, {"alpha": 1.0, "beta": 1.0, "v": 1.0})
        return _no_decay(point["l"], point["noise"], float(factor))

    return search(
        statement,
        profile,
        lambda point: log_or_lowest(probability(point)),
        {
            "m": IntRange(1, 1000, log=True),
            "l": IntRange(1, 8),
            "N": IntRange(10, 10_000, log=True),
            "noise": Choice((1.0, 0.5, 0.0), meaning="size of the noise in units of the residual"),
            "unit": LogInterval(
                1e-3, 1e9, meaning="norm of the residual, as the condition (20) sees it"
            ),
        },
        at=at,
        constants=GENEROUS_20,
        measure=LOG_DIFFERENCE,
        bound=lambda point: log_of(failure, at(point)),
        where=lambda point: point["N"] >= 2 * point["m"] + 2,
        budget=min(profile.searches, 600),
        proof=lambda point: _unit_certificate(statement, condition, point, at(point)),
    )


def _unit_certificate(
    statement: Statement, condition: Assumption, point: Point, at: dict[str, float]
) -> Certificate:
    """(20) holds with C = 1000, and all products vanish with probability (3/4)^l."""
    exact = {name: Fraction(value) for name, value in at.items()}
    needed: Term = ["*", rational(exact["C"]), from_sympy(condition.right, exact)]
    return certificate(
        "Take $d=k=1$, $\\Sigma_j=1$, signs as features and noise as large as the residual. A "
        "pair's product is zero with probability 3/4. When all are zero the anchor does not move, "
        "and (21) fails.",
        [
            Inequality(
                says="the squared residual meets (20) with the largest constant of the box",
                left=from_sympy(condition.left, exact),
                relation=">",
                right=needed,
            ),
            Inequality(
                says="the probability of no move exceeds the stated failure probability",
                left=rational(Fraction(3, 4) ** point["l"]),
                relation=">",
                right=from_sympy(sp.sympify(statement.failure), exact),
            ),
        ],
    )


# Errors of Y that are hard for a residual: along it, and towards the worst other direction.
_STYLES = ("random", "erase", "turn", "skew")


def _deviation(style: str, v: FloatArray, rng: np.random.Generator) -> FloatArray:
    """A matrix of norm 1 that hides v from the leading singular vectors."""
    d = v.size
    e = v / np.linalg.norm(v)
    other = rng.standard_normal(d)
    other -= (other @ e) * e
    other /= max(float(np.linalg.norm(other)), 1e-300)
    if style == "erase":
        return -np.outer(e, e) + (np.outer(other, other) if d > 1 else 0.0)
    if style == "turn":
        made = np.outer(e, other) + np.outer(other, e) if d > 1 else -np.outer(e, e)
    elif style == "skew":
        made = np.outer(e, other) - np.outer(other, e) if d > 1 else -np.outer(e, e)
    else:
        made = rng.standard_normal((d, d))
    return np.asarray(made / max(float(np.linalg.norm(made, 2)), 1e-300))


def _deviated(
    statement: Statement, point: Point
) -> tuple[FloatArray, FloatArray, float, FloatArray]:
    """The residual, the direction, its length and the covariance, with the largest errors of (20).

    Cluster 1 is the anchor's.  The others' residuals are random, of any size.
    """
    rng = np.random.default_rng(point["seed"])
    d, k = point["d"], min(point["k"], point["d"])
    limits = spectrum_of(point)
    values = np.where(rng.random(d) < 0.5, limits["alpha"], limits["beta"])
    q = np.linalg.qr(rng.standard_normal((d, d)))[0]
    covariance = (q * values) @ q.T
    v = rng.standard_normal(d)
    v *= point["unit"] / np.linalg.norm(v)
    p = point["p"] if k > 1 else 1.0
    (condition,) = (a for a in statement.assumptions if a.right.has(sp.Symbol("e_1")))
    # the right side is linear in the two deviations: saturate it with the given shares
    at = {**limits, "p": p, "v": point["unit"]}
    most = float(evaluate(condition.left, at))
    share = point["share"]
    per_1 = float(evaluate(condition.right, {**at, "e_1": 1.0, "e_2": 0.0}))
    per_2 = float(evaluate(condition.right, {**at, "e_1": 0.0, "e_2": 1.0}))
    e_1, e_2 = share * most / per_1, (1.0 - share) * most / per_2
    y = p * np.outer(v, v)
    for _ in range(k - 1):
        w = rng.standard_normal(d) * point["unit"] * 10.0 ** rng.uniform(-3, 3)
        y += (1.0 - p) / (k - 1) * np.outer(w, w)
    y += e_1 * _deviation(point["style_1"], v, rng)
    u = np.linalg.svd(y)[0][:, :k]
    inside = u.T @ v
    moments = np.outer(inside, inside)
    moments += e_2 * (_deviation(point["style_2"], inside, rng) if inside.any() else np.eye(k))
    left, sizes, _ = np.linalg.svd(moments)
    direction = u @ left[:, 0]
    direction *= 1.0 if direction @ v >= 0 else -1.0
    return v, direction, math.sqrt(sizes[0]), covariance


def _step_after(statement: Statement, point: Point) -> float:
    """The squared residual after a step."""
    v, direction, length, covariance = _deviated(statement, point)
    at = {**spectrum_of(point), "sigma_hat": length}
    step = float(evaluate(statement.definitions[eta], at))
    return float(np.sum((v - step * covariance @ direction) ** 2))


def _estimated(point: Point) -> dict[str, float]:
    """The direction and the length that the deviations of a point give."""
    v, direction, length, _ = _deviated(PROP_2_21, point)
    along = float(direction @ v)
    return {"a": along, "b": float(np.linalg.norm(v - along * direction)), "sigma_hat": length}


DEVIATED_STEP = one_step(
    "Lemma 5 without the factor $k$ loses at most $9\\|Y_t-EY_t\\|/p_j$ of the squared residual. "
    "The singular vector of $A_t$ loses at most $4\\|A_t-EA_t\\|$ more, so the corrected (20) "
    "gives (27) and (28).",
    ("sxy.lemma5-sharp", "weyl", "sxy.step-algebra"),
    _estimated,
)


@claim("sxy.prop2-21", PROP_2_21, finding=(UNITS_OF_20, SIGN))
def prop_2_21(statement: Statement, profile: Profile) -> Search:
    """Random and adversarial deviations, as large as the corrected (20) allows."""
    return search(
        statement,
        profile,
        partial(_step_after, statement),
        {
            "d": IntRange(1, 8),
            "k": IntRange(1, 5, meaning="number of clusters before it is limited to $d$"),
            "ratio": LogInterval(0.05, 1.0, meaning=RATIO),
            "beta": LogInterval(1e-3, 1e3),
            "unit": LogInterval(1e-6, 1e6, meaning="norm of the residual of the anchor"),
            "p": Interval(
                0.02,
                0.98,
                meaning="share of the cluster of the anchor (1 where there is one cluster)",
            ),
            "share": Interval(
                0.0,
                1.0,
                meaning="share of the room in (20) that the error of $Y$ takes; the other error "
                "takes the rest",
            ),
            "style_1": Choice(
                _STYLES,
                meaning="kind of error of $Y$: random, or made to hide the residual of the anchor",
            ),
            "style_2": Choice(
                _STYLES,
                meaning="kind of error of the moments in the subspace: random, or made to hide the "
                "residual",
            ),
            "seed": IntRange(0, 10_000),
        },
        at=lambda point: {**spectrum_of(point), "v": point["unit"]},
        everywhere=DEVIATED_STEP,
        at_the_edge=True,
        budget=min(profile.searches, 1000),
    )

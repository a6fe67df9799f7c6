r"""Local steps of Phase 2: Lemma 1, the matrix P, gamma and kappa, and savings.

Problem. A client makes s gradient steps, or one proximal step, and the server averages.  What is
the map of a whole round, and how many rounds does a given number of local steps save?

Guarantee. `bounds.sxy.local_steps`: the round is the linear step (11) with a matrix P whose
spectrum lies in [s/kappa, s].

Algorithm. The local steps as they are printed, one after the other (`_local_models`), against (11)
with dense matrices P (`_recursion`).  No trial is drawn.

Computation. Searches over data of one to four clients of any shapes and units.  A statement about
symmetric matrices is tried on their eigenvalues.

Reference. Lemma 1 and its proof (B.1), section 4.2, the sentences after Theorem 3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy as sp

from bounds.statement import Statement, evaluate
from bounds.sxy.local_steps import (
    KAPPA_AT_LEAST_ONE,
    KAPPA_OF_MOST,
    KAPPA_ONE_ROW,
    LEMMA_1,
    LEMMA_1_SOFT,
    NO_SAVING,
    P_SPECTRUM_LOWER,
    P_SPECTRUM_UPPER,
    ROUNDS,
    SAVING_SAME_STEP,
    TELESCOPE,
    TELESCOPE_AS_PRINTED,
    VERTEX,
)
from bounds.sxy.symbols import (
    P_avg,
    P_prox,
    d,
    eta,
    gamma,
    kappa,
    kappa_prox,
    lambda_ij,
    least,
    pull,
    s,
)
from trials.checks import FloatArray
from verify.claim import Finding, claim, row, table
from verify.claims.common import Point
from verify.claims.searching import search
from verify.decisions.domain import Choice, Interval, IntRange, LogInterval, Ranges
from verify.decisions.measures import DIFFERENCE, SHARE
from verify.procedures.base import Profile
from verify.procedures.search import Search
from verify.proofs.arrays import Arrays, Members, Recursion, both_ways, total
from verify.proofs.certificate import Certificate, Inequality, certificate
from verify.proofs.propositions import NOT_NEGATIVE, POSITIVE, Everywhere, Reduction, Sizes
from verify.proofs.terms import from_sympy

#: Rounding of eigenvalues, and of two sides that are equal.
SPECTRAL = replace(SHARE, tolerance=1e-8)
EQUAL = replace(DIFFERENCE, tolerance=1e-10)

_STEPS = "number of local steps with FedAvg (FedProx makes one)"
_RULE = "rule of the local update: FedAvg or FedProx"

# --- One round ----------------------------------------------------------------------------------

SOFT_LABELS = Finding(
    id="sxy-soft-labels",
    where="Lemma 1, (11)",
    printed="$P_i$ without $\\lambda_{ij,t}$, and $\\Lambda_{j,t}$ with the blocks "
    "$\\lambda_{ij,t}I$ of the generic Phase 2.",
    found="For the hard labels (8) of the theorems (11) holds. With weights the local steps see "
    "$\\lambda_{ij,t}$ in every gradient: one client, one row $x=1$, $\\lambda=1/2$, $\\eta=1/2$ "
    "and $s=2$ shrink the error to $9/16$; (11) gives $5/8$.",
    corrected="$\\eta\\lambda_{ij,t}$ in the place of $\\eta$ in $P_i$.",
    severity="slip",
)

ROUND_DOMAIN: Ranges = {
    "rule": Choice(("fedavg", "fedprox"), meaning=_RULE),
    "M": IntRange(1, 4),
    "n": IntRange(1, 5, meaning="most rows of a client (the number is drawn from 1 to it)"),
    "d": IntRange(1, 4),
    "k": IntRange(1, 3),
    "s": IntRange(1, 20, log=True, meaning=_STEPS),
    "gamma": LogInterval(1e-6, 10.0),
    "unit": Choice(
        (1.0, 1e-6, 1e6), meaning="factor that multiplies the features and divides the models"
    ),
    "seed": IntRange(0, 1000),
}


@dataclass(frozen=True)
class _Round:
    """A drawn round: rows, responses and label weights of each client, models, step and rule."""

    features: list[FloatArray]
    responses: list[FloatArray]
    weights: FloatArray
    models: FloatArray
    eta: float
    s: int
    rule: str


def _draw_round(point: Point, *, soft: bool) -> _Round:
    """The round of a point: clients of 1 to n rows, hard labels (8) or likelihoods at random."""
    rng = np.random.default_rng(int(point["seed"]))
    d, k, unit = int(point["d"]), int(point["k"]), point["unit"]
    sizes = rng.integers(1, int(point["n"]) + 1, int(point["M"]))
    features = [unit * rng.standard_normal((n, d)) for n in sizes]
    models = rng.standard_normal((k, d)) / unit
    responses = [rng.standard_normal(n) for n in sizes]
    if soft:
        weights = rng.dirichlet(np.ones(k), len(sizes))
    else:
        losses = [
            np.sum((y[:, None] - phi @ models.T) ** 2, axis=0)
            for phi, y in zip(features, responses, strict=True)
        ]
        weights = np.eye(k)[np.argmin(losses, axis=1)]
    curvature = max(np.linalg.norm(phi, 2) ** 2 / len(phi) for phi in features)
    step = point["gamma"] / curvature
    return _Round(features, responses, weights, models, step, _steps(point), point["rule"])


def _local_models(r: _Round) -> FloatArray:
    """The server's new models (k, d), every local step made as printed."""
    total = np.zeros_like(r.models)
    for phi, y, weight in zip(r.features, r.responses, r.weights, strict=True):
        own = r.models.copy()
        gram, moment = phi.T @ phi / len(y), phi.T @ y / len(y)
        for j, share in enumerate(weight):
            if r.rule == "fedprox":
                left = np.eye(len(gram)) + r.eta * share * gram
                own[j] = np.linalg.solve(left, r.models[j] + r.eta * share * moment)
                continue
            for _ in range(r.s):
                own[j] -= r.eta * share * (gram @ own[j] - moment)
        total += len(y) * own
    return total / sum(len(y) for y in r.responses)


def _recursion(r: _Round, statement: Statement) -> FloatArray:
    """The sums of (11), (k, d), with the statement's P."""
    eigenvalue = statement.definitions[P_avg if r.rule == "fedavg" else P_prox]
    sums = np.zeros_like(r.models)
    for phi, y, weight in zip(r.features, r.responses, r.weights, strict=True):
        values, vectors = np.linalg.eigh(phi @ phi.T / len(y))
        for j, share in enumerate(weight):
            at = {"x": values, "eta": r.eta, "s": r.s, lambda_ij.name: share}
            p = vectors * evaluate(eigenvalue, at) @ vectors.T
            sums[j] += share * phi.T @ (p @ (y - phi @ r.models[j]))
    return sums / sum(len(y) for y in r.responses)


def _along_an_eigenvector(point: Point, soft: bool) -> tuple[_Round, int, FloatArray, float]:
    """The first client's round alone, the label of its largest weight, and the eigenvector."""
    r = _draw_round(point, soft=soft)
    own = replace(
        r, features=r.features[:1], responses=r.responses[:1], weights=r.weights[:1].copy()
    )
    values, vectors = np.linalg.eigh(own.features[0].T @ own.features[0] / len(own.responses[0]))
    return own, int(np.argmax(own.weights[0])), vectors[:, -1], float(values[-1])


def _of_steps(statement: Statement, rule: str, n_steps: int, soft: bool) -> Reduction:
    """The round of one rule and one number of steps, along one eigenvector of a Gram matrix."""
    start, moment, weight, eigenvalue = sp.symbols("start moment lambda_ij x")
    model, step = start, eta * weight if soft else eta
    for _ in range(n_steps if rule == "fedavg" else 0):
        model = sp.expand(model - step * (eigenvalue * model - moment))
    if rule == "fedprox":
        model = (start + step * moment) / (1 + step * eigenvalue)
    filtered = statement.definitions[P_avg if rule == "fedavg" else P_prox].subs(s, n_steps).doit()
    stated = filtered * (weight if soft else 1) * (moment - eigenvalue * start)

    def computed(point: Point) -> tuple[float, float]:
        own, j, vector, _ = _along_an_eigenvector(point, soft)
        at = {"eta": own.eta, "pull": 1.0}
        linear = evaluate(statement.expr, at) * _recursion(own, statement)[j]
        return float(_local_models(own)[j] @ vector), float((own.models[j] + linear) @ vector)

    def quantities(point: Point) -> dict[str, float]:
        own, j, vector, value = _along_an_eigenvector(point, soft)
        moments = own.features[0].T @ own.responses[0] / len(own.responses[0])
        shown = {"start": float(own.models[j] @ vector), "moment": float(moments @ vector)}
        return {**shown, "x": value, "eta": own.eta, "lambda_ij": float(own.weights[0, j])}

    return Reduction(
        idea="The gradient of a client's loss and $P_i$ act on each eigenvector of its Gram matrix "
        "alone, where a local step is a step on numbers. The certificates show that the printed "
        "steps and the linear step are the same rational function there. The server adds up "
        "clients and labels on both sides alike.",
        lemmas=("spectral",),
        ranges={
            **dict.fromkeys(("start", "moment"), Interval(-math.inf, math.inf)),
            **dict.fromkeys(("eta", "x"), POSITIVE),
            "lambda_ij": Interval(0.0, 1.0),
        },
        left=model,
        right=start + statement.expr.subs(pull, stated),
        quantities=quantities,
        computed=computed,
        of=lambda point: point["rule"] == rule and _steps(point) == n_steps,
    )


def one_round(statement: Statement, profile: Profile, *, soft: bool) -> Search:
    """The new models of the printed local steps against (11): any step, sizes and units."""

    def difference(point: Point) -> float:
        r = _draw_round(point, soft=soft)
        moved = _local_models(r) - r.models
        stated = evaluate(statement.expr, {"eta": r.eta, "pull": 1.0}) * _recursion(r, statement)
        # Rounding of the local models is relative to them and to their largest intermediate.
        growth = max(1.0, abs(1.0 - point["gamma"])) ** (r.s if r.rule == "fedavg" else 0)
        scale = growth * (np.abs(r.models).max() + np.abs(moved).max())
        return float(np.abs(moved - stated).max() / scale)

    each = [_of_steps(statement, "fedavg", n, soft) for n in range(1, 21)]
    return search(
        statement,
        profile,
        difference,
        ROUND_DOMAIN,
        bound=lambda _point: 0.0,
        measure=EQUAL,
        everywhere=Sizes(up_to="s <= 20", each=(*each, _of_steps(statement, "fedprox", 1, soft))),
    )


LEMMA_1_FORMS = table(
    one_round,
    row("sxy.lemma1", LEMMA_1, soft=False),
    row("sxy.lemma1-soft", LEMMA_1_SOFT, soft=True, finding=SOFT_LABELS),
)


TELESCOPING = Finding(
    id="sxy-telescoping",
    where="proof of Lemma 1, (a)",
    printed="$I-(I-X)^s=\\sum_{\\ell=0}^{s}(I-X)^\\ell X$.",
    found="The sum has one term too many. At $s=1$ it is $X+(I-X)X$.",
    corrected="$\\sum_{\\ell=0}^{s-1}$, as in the definition of $P_i$.",
    severity="edge",
)


def _step_by_step(statement: Statement) -> Everywhere | None:
    """The power and the sum as a step changes them, None where the sum has not s such terms."""
    power, later, part, longer, eigenvalue = sp.symbols("power power_next part part_next x")
    if not isinstance(statement.expr, sp.Sum):
        return None
    added, (index, first, last) = statement.expr.function, statement.expr.limits[0]
    added = added.subs((1 - eigenvalue) ** index, power)
    if added.has(index) or (first, last) != (0, s - 1):
        return None
    less = 1 - power - part

    def path(point: Point) -> dict[str, FloatArray]:
        powers = (1.0 - point["x"]) ** np.arange(point["s"] + 1.0)
        terms = [float(evaluate(added, {"power": each, "x": point["x"]})) for each in powers[:-1]]
        return {"power": powers, "part": np.cumsum([0.0, *terms])}

    def values(point: Point) -> dict[str, Any]:
        ends = {name: float(each[-1]) for name, each in path(point).items()}
        return {"s": float(point["s"]), **ends, "s steps": path(point)}

    shown = ("sum", 1, ("+", part + added - longer, (1 - eigenvalue) * power - later, less))
    other = ("sum", 1, ("+", longer - part - added, later - (1 - eigenvalue) * power, -less))
    return Everywhere(
        {"x": Interval(-math.inf, math.inf)},
        left=1 - power,
        right=part,
        hints=(
            ("both", ("induct", "s", less, shown), ("sum", 1, less)),
            ("induct", "s", -less, other),
        ),
        arrays=Arrays(
            values=values,
            runs={
                "s": Recursion(
                    numbers=("power", "part"),
                    later=("power_next", "part_next"),
                    start=(*both_ways(power, 1), *both_ways(part, 0)),
                    steps=(
                        *both_ways(later, (1 - eigenvalue) * power),
                        *both_ways(longer, part + added),
                    ),
                )
            },
        ),
    )


def telescoping(statement: Statement, profile: Profile) -> Search:
    """Both sides at an eigenvalue."""

    def one_step(_point: Point) -> Certificate:
        return certificate(
            "Take $s=1$ and the eigenvalue $x=1/2$, so that the left side is $1/2$.",
            [
                Inequality(
                    says="the sum exceeds the left side, one half",
                    left="1/2",
                    relation="<",
                    right=from_sympy(statement.expr.subs({"s": 1}).doit(), {"x": "1/2"}),
                )
            ],
        )

    return search(
        statement,
        profile,
        lambda point: 1.0 - (1.0 - point["x"]) ** point["s"],
        {"s": IntRange(1, 100, log=True), "x": Interval(0.0, 1.0)},
        measure=EQUAL,
        everywhere=_step_by_step(statement),
        proof=one_step,
    )


TELESCOPING_FORMS = table(
    telescoping,
    row("sxy.telescope-as-printed", TELESCOPE_AS_PRINTED, refuted=TELESCOPING),
    row("sxy.telescope", TELESCOPE, finding=TELESCOPING),
)


# --- P and kappa --------------------------------------------------------------------------------

#: Every number of local steps and every stable step size.
STEPS: Ranges = {"s": LogInterval(1.0, math.inf), "gamma": LogInterval(0.0, 1.0)}
#: (1 - gamma)^s lies below one.
_SHRINKS = (
    ("log", 1 - gamma),
    (">", 0, sp.log(1 - gamma)),
    ("exp", -s * sp.log(1 - gamma)),
    (">", 1, sp.exp(s * sp.log(1 - gamma))),
)
#: Step sizes beyond the stable ones too, which the statements' own condition leaves out.
TRIED_GAMMA = LogInterval(1e-6, 2.5)
STABLE_DOMAIN: Ranges = {
    "rule": Choice(("fedavg", "fedprox"), meaning=_RULE),
    "n": IntRange(1, 5),
    "d": IntRange(1, 5),
    "s": IntRange(1, 1000, log=True, meaning=_STEPS),
    "gamma": TRIED_GAMMA,
    "unit": Choice((1.0, 1e-6, 1e6), meaning="factor that multiplies the features"),
    "seed": IntRange(0, 1000),
}


def _steps(point: Point) -> int:
    """Local steps of a client: FedProx makes one."""
    return int(point["s"]) if point["rule"] == "fedavg" else 1


def _scaled_gram(point: Point) -> FloatArray:
    """The Gram matrix of a client's rows times the step size, whose largest eigenvalue is gamma."""
    rng = np.random.default_rng(int(point["seed"]))
    phi = point["unit"] * rng.standard_normal((int(point["n"]), int(point["d"])))
    if point["seed"] % 3 == 0:
        phi[-1] = phi[0]  # dependent rows
    gram = phi @ phi.T / int(point["n"])
    return np.asarray(point["gamma"] / np.linalg.norm(gram, 2) * gram)


def _spectrum_of_p(point: Point) -> FloatArray:
    """P's eigenvalues in ascending order, P summed power by power or inverted."""
    gram = _scaled_gram(point)
    n = len(gram)
    if point["rule"] == "fedprox":
        return np.asarray(np.linalg.eigvalsh(np.linalg.inv(np.eye(n) + gram)))
    # sum of the first s powers, by doubling: S_2m = S_m + A^m S_m
    power, total, done = np.eye(n) - gram, np.eye(n), 1
    base, at = power.copy(), power.copy()
    for bit in bin(_steps(point))[3:]:
        total, at, done = total + at @ total, at @ at, 2 * done
        if bit == "1":
            total, at, done = np.eye(n) + base @ total, at @ base, done + 1
    return np.asarray(np.linalg.eigvalsh((total + total.T) / 2))


def _kappa(statement: Statement, point: Point) -> float:
    symbol = kappa if point["rule"] == "fedavg" else kappa_prox
    at = {"gamma": point["gamma"], "s": _steps(point)}
    return float(evaluate(statement.definitions[symbol], at))


#: An eigenvalue of the scaled Gram matrix, and 1 for FedProx and 0 for FedAvg.
_RATE, _PROX = sp.symbols("rate prox")


def _kept(rate: sp.Expr) -> sp.Expr:
    """What s steps keep where each keeps 1 - rate."""
    return sp.exp(s * sp.log(1 - rate))


def _of_p(rate: sp.Expr) -> sp.Expr:
    """The eigenvalue of P at one of the scaled Gram matrix."""
    return _PROX / (1 + rate) + (1 - _PROX) * (1 - _kept(rate)) / rate


_LOG, _CHANGE = sp.log(1 - _RATE), sp.log(1 - gamma) - sp.log(1 - _RATE)
_RATIO, _KEPT, _LEAST = (1 - gamma) / (1 - _RATE), _kept(_RATE), _kept(gamma)
_BELOW = (">", 1 - _RATE, 0, ("sum", 1, ("+", gamma - _RATE, 1 - gamma)))
#: Bernoulli's inequality r^s >= 1 + s (r - 1), by its derivative in s, for three ratios r.
_FOR_THE_RATE = (
    ">=", _KEPT, 1 - s * _RATE, ("grow", "s", 1), _BELOW, ("log", 1 - _RATE), (">", 0, _LOG),
    ("exp", -(s - 1) * _LOG), (">=", 1 - _RATE, _KEPT), ("log", 1 / (1 - _RATE)),
)  # fmt: skip
_FROM_THE_RATE = (
    ">=", 1 / _KEPT, 1 + s * _RATE / (1 - _RATE), ("grow", "s", 1), _BELOW, ("log", 1 - _RATE),
    (">", 0, _LOG, ("sum", 1, ("+", _RATE, -_RATE - _LOG))),
    ("exp", -(s - 1) * _LOG),
    (">=", 1 / _KEPT, 1 / (1 - _RATE),
     ("sum", 1 - _RATE, ("+", sp.exp(-(s - 1) * _LOG) - 1 + (s - 1) * _LOG, ("*", s - 1, -_LOG)))),
    ("sum", 1, ("+", ("*", -_LOG - _RATE, 1 / _KEPT), ("*", _RATE, 1 / _KEPT - 1 / (1 - _RATE)))),
)  # fmt: skip
_TO_GAMMA = (
    ">=", _LEAST / _KEPT, 1 - s * (gamma - _RATE) / (1 - _RATE), ("grow", "s", 1), _BELOW,
    ("log", _RATIO),
    (">=", 0, _CHANGE,
     ("sum", 1, ("+", _RATIO - 1 - _CHANGE, ("*", gamma - _RATE, 1 / (1 - _RATE))))),
    ("exp", -(s - 1) * _CHANGE),
    (">=", _RATIO, _LEAST / _KEPT,
     ("sum", sp.exp(-(s - 1) * _CHANGE) / _RATIO,
      ("+", sp.exp(-(s - 1) * _CHANGE) - 1 + (s - 1) * _CHANGE, ("*", s - 1, -_CHANGE)))),
    ("log", 1 / _RATIO),
    ("sum", 1, ("+", ("*", -_CHANGE, _RATIO - _LEAST / _KEPT),
                ("*", _RATIO, 1 / _RATIO - 1 + _CHANGE))),
)  # fmt: skip
#: The power is convex: at the rate it lies below its chord from zero to gamma.
_CHORD = (gamma - _RATE) + _RATE * _LEAST - gamma * _KEPT
_CONVEX = (
    (">=", _CHORD, 0,
     ("sum", 1 / _KEPT, ("+", ("*", gamma - _RATE, 1 / _KEPT - 1 - s * _RATE / (1 - _RATE)),
                         ("*", _RATE, _LEAST / _KEPT - 1 + s * (gamma - _RATE) / (1 - _RATE))))),
    ("sum", 1, ("+", ("*", _PROX, gamma - _RATE, 1 / ((1 + _RATE) * (1 + gamma))),
                ("*", 1 - _PROX, _CHORD, 1 / (_RATE * gamma)))),
)  # fmt: skip


def _of_an_eigenvalue(which: int, idea: str, **more: Any) -> Reduction:
    """A statement about P at the smallest (0) or the largest (-1) eigenvalue of the Gram matrix."""

    def quantities(point: Point) -> dict[str, float]:
        rate = float(np.linalg.eigvalsh(_scaled_gram(point))[which])
        within = min(max(rate, 1e-12 * point["gamma"]), point["gamma"])
        return {"rate": within, "prox": float(point["rule"] == "fedprox")}

    return Reduction(
        idea=f"$P_i$ is a polynomial of the Gram matrix, or an inverse. So its eigenvalues are "
        "$(1-(1-x)^s)/x$, or $1/(1+x)$ with one step, at those of the matrix times $\\eta$, which "
        f"lie in $[0,\\gamma]$. Zero is the limit of positive ones. {idea}",
        lemmas=("spectral",),
        ranges={**STEPS, "rate": LogInterval(0.0, 1.0), "prox": Interval(0.0, 1.0)},
        given=((gamma, _RATE),),
        quantities=quantities,
        left=_of_p(_RATE),
        **more,
    )


@claim("sxy.p-spectrum-lower", P_SPECTRUM_LOWER)
def p_spectrum_lower(statement: Statement, profile: Profile) -> Search:
    """The smallest eigenvalue, dense P of data of any shape, dependent rows included."""
    return search(
        statement,
        profile,
        lambda point: float(_spectrum_of_p(point)[0]),
        STABLE_DOMAIN,
        at=lambda p: {"s": _steps(p), "gamma": p["gamma"], "kappa": _kappa(statement, p)},
        measure=SPECTRAL,
        everywhere=_of_an_eigenvalue(
            -1,
            "The certificate proves by Bernoulli's inequality that both fall with $x$, and "
            "$s/\\kappa$ is the value at $\\gamma$.",
            right=_of_p(gamma),
            hints=(_BELOW, _FROM_THE_RATE, _TO_GAMMA, *_CONVEX),
        ),
    )


@claim("sxy.p-spectrum-upper", P_SPECTRUM_UPPER)
def p_spectrum_upper(statement: Statement, profile: Profile) -> Search:
    """The largest eigenvalue."""
    return search(
        statement,
        profile,
        lambda point: float(_spectrum_of_p(point)[-1]),
        STABLE_DOMAIN,
        at=lambda point: {"s": _steps(point), "gamma": point["gamma"]},
        measure=SPECTRAL,
        everywhere=_of_an_eigenvalue(
            0,
            "The certificate proves by Bernoulli's inequality that both are at most $s$.",
            hints=(_BELOW, _FOR_THE_RATE),
        ),
    )


@claim("sxy.kappa-at-least-one", KAPPA_AT_LEAST_ONE)
def kappa_at_least_one(statement: Statement, profile: Profile) -> Search:
    """Kappa over steps and stable step sizes, both rules."""
    domain = {name: STABLE_DOMAIN[name] for name in ("rule", "s", "gamma")}
    log = sp.log(1 - gamma)
    left = sp.exp(s * log)
    return search(
        statement,
        profile,
        lambda point: _kappa(statement, point),
        domain,
        everywhere=Everywhere(
            STEPS,
            left=sp.Min(statement.definitions[kappa], statement.definitions[kappa_prox]),
            by="Each rule has its own $\\kappa$, and the smaller one is bounded.",
            hints=(
                *_SHRINKS,
                # Bernoulli's inequality, by its derivative in s
                (
                    (
                        ">=",
                        left,
                        1 - gamma * s,
                        ("grow", "s", 1),
                        ("log", 1 - gamma),
                        (">", 0, log),
                        ("exp", -(s - 1) * log),
                        (">=", 1 - gamma, left),
                        ("log", 1 / (1 - gamma)),
                    )
                ),
                ("cases", statement.definitions[kappa] - statement.definitions[kappa_prox]),
            ),
        ),
    )


WORST_CLIENT = Finding(
    id="sxy-worst-client",
    where="Section 4.2, the definition of gamma, and Theorem 2, (9)",
    printed="$\\gamma=\\eta\\max_i\\frac1{n_i}\\norm{\\phi(x_i)}^2$, and the factor "
    "$1-C_1s\\eta\\rho/\\kappa$.",
    found="One client with a single row sets $\\gamma\\approx\\eta d$ and so $\\kappa$ for all. "
    "With "
    "$d=100$, $s=100$ and $\\gamma$ close to one the stated decrease is 63 times smaller than that "
    "of the other clients, who hold the data.",
    corrected="The $\\kappa$ of clients that hold most rows of each cluster, at a step with "
    "$\\gamma<1$.",
    severity="slip",
)


def _round_of_some(point: Point) -> tuple[float, float, float, float]:
    """The smallest eigenvalues of K and of the Gram matrix of G, and gamma of G and of the others.

    The clients of G have ``n`` rows, the others one row each.  Without others their gamma is zero.
    """
    rng = np.random.default_rng(int(point["seed"]))
    d, n, rows = int(point["d"]), int(point["n"]), 0
    shapes = [n] * int(point["M"]) + [1] * int(point["single"])
    features = [rng.standard_normal((size, d)) for size in shapes]
    curvatures = [float(np.linalg.norm(phi, 2) ** 2 / len(phi)) for phi in features]
    eta = point["gamma"] / max(curvatures)
    whole, part = np.zeros((d, d)), np.zeros((d, d))
    for i, phi in enumerate(features):
        values, vectors = np.linalg.eigh(phi.T @ phi / len(phi))
        # s rounds of the local steps, or one proximal step, along each eigenvector
        moved = 1.0 - (1.0 - eta * values) ** _steps(point)
        if point["rule"] == "fedprox":
            moved = eta * values / (1.0 + eta * values)
        whole += len(phi) * (vectors * (moved / eta)) @ vectors.T
        part += phi.T @ phi * (i < point["M"])
        rows += len(phi)
    own, others = curvatures[: int(point["M"])], curvatures[int(point["M"]) :]
    least = (float(np.linalg.eigvalsh(m / rows)[0]) for m in (whole, part))
    return *least, eta * max(own), eta * max(others, default=0.0)


@claim("sxy.kappa-of-most", KAPPA_OF_MOST, finding=WORST_CLIENT)
def kappa_of_most(statement: Statement, profile: Profile) -> Search:
    """Clients of up to 60 rows beside clients of one row, which set the step size."""

    def at(point: Point) -> dict[str, float]:
        _, part, gamma, others = _round_of_some(point)
        own = {"gamma": gamma, "gamma_rest": others, "s": _steps(point), "least_G": part}
        return {**own, "kappa": _kappa(statement, {**point, "gamma": gamma})}

    domain: Ranges = {
        **{name: STABLE_DOMAIN[name] for name in ("rule", "s", "seed")},
        "gamma": LogInterval(1e-6, 2.5),  # of all clients
        "M": IntRange(1, 4, meaning="clients of G"),
        "n": IntRange(1, 60, log=True, meaning="rows of a client of G"),
        "single": IntRange(0, 3, meaning="clients with one row"),
        "d": IntRange(1, 12),
    }
    return search(
        statement,
        profile,
        lambda point: _round_of_some(point)[0],
        domain,
        at=at,
        measure=SPECTRAL,
        where=lambda point: point["M"] * point["n"] >= 2 * point["d"],  # else both may be zero
        budget=min(profile.searches, 800),
    )


_Y, _Z, _D = sp.symbols("Y z d")
_CHORD = 1 - (1 - sp.exp(-1)) * _Z - sp.exp(-_Z)


def _moved(point: Point) -> dict[str, float]:
    y = point["gamma"] * point["s"] / point["d"]
    return {"Y": y, "z": min(1.0, y)}


ONE_ROW = Reduction(
    idea="With $Y=\\gamma s/d$ the others keep $(1-\\gamma/d)^s\\le e^{-Y}$, and the stated "
    "decrease is $1/\\gamma$ at most. So the ratio is $d(1-e^{-Y})$ at least, which grows with "
    "$Y$. On $[0,1]$ the convex $e^{-z}$ lies below its chord, by Jensen's inequality. The "
    "certificate puts these together at $z=\\min(1,Y)$.",
    lemmas=("exponential", "jensen"),
    ranges={**STEPS, "d": POSITIVE, "Y": POSITIVE, "z": LogInterval(0.0, 1.0)},
    given=((_Y, _Z), (_CHORD, 0)),
    quantities=_moved,
    left=_D * (1 - sp.exp(-_Y)),
    right=(1 - sp.exp(-1)) * _D * _Z,
    hints=(
        ("exp", _Y - _Z),
        (
            ">=",
            sp.exp(-_Z),
            sp.exp(-_Y),
            (
                "sum",
                1,
                (
                    "+",
                    ("*", sp.exp(-_Y), sp.exp(_Y - _Z) - 1 - _Y + _Z),
                    ("*", sp.exp(-_Y), _Y - _Z),
                ),
            ),
        ),
        ("sum", 1, ("+", ("*", _D, sp.exp(-_Z) - sp.exp(-_Y)), ("*", _D, _CHORD))),
    ),
)


@claim("sxy.kappa-one-row", KAPPA_ONE_ROW, finding=WORST_CLIENT)
def kappa_one_row(statement: Statement, profile: Profile) -> Search:
    """The exact decrease of the others over the stated one, in every dimension."""
    stated = s / statement.definitions[kappa]
    others = (1 - (1 - gamma / d) ** s) * d / gamma
    return search(
        statement,
        profile,
        others / stated,
        {
            "d": IntRange(1, 10_000, log=True),
            "s": IntRange(1, 10_000, log=True),
            "gamma": LogInterval(1e-3, 1.9),
        },
        measure=SPECTRAL,
        everywhere=ONE_ROW,
    )


def _losses(point: Point) -> tuple[FloatArray, FloatArray]:
    """Random likelihoods, and the loss of each vertex."""
    rng = np.random.default_rng(int(point["seed"]))
    shape = (int(point["n"]), int(point["d"]))
    phi, y = rng.standard_normal(shape), rng.standard_normal(shape[0])
    models = rng.standard_normal((int(point["k"]), shape[1]))
    if point["tie"]:
        models[-1] = models[0]
    losses = 0.5 * np.mean((y - models @ phi.T) ** 2, axis=1)
    weights = rng.dirichlet(np.full(len(models), point["spread"]))
    return weights, losses


_WEIGHT, _LOSS = sp.symbols("weight loss")
_ALL = total("F", _WEIGHT)
#: The loss is a weighted mean of the losses of the vertices, none of which is below the least.
MEAN_OF_VERTICES = Everywhere(
    {"least": NOT_NEGATIVE},
    given=both_ways(_ALL, 1),
    left=total("F", _WEIGHT * _LOSS),
    hints=(
        ("each", "F", _WEIGHT * (_LOSS - least)),
        ("sum", 1, ("+", total("F", _WEIGHT * (_LOSS - least)), ("*", least, _ALL - 1))),
    ),
    arrays=Arrays(
        values=lambda point: {"F": dict(zip(("weight", "loss"), _losses(point), strict=True))},
        families={"F": Members(numbers=("weight", "loss"), given=((_WEIGHT, 0), (_LOSS, least)))},
    ),
)


@claim("sxy.vertex", VERTEX)
def vertex(statement: Statement, profile: Profile) -> Search:
    """The loss at random likelihoods, equal losses included, against the best vertex."""
    return search(
        statement,
        profile,
        lambda point: float(np.dot(*_losses(point))),
        {
            "n": IntRange(1, 5),
            "d": IntRange(1, 5),
            "k": IntRange(1, 16),
            "spread": LogInterval(
                0.01, 100.0, meaning="parameter of the symmetric Dirichlet law of the likelihoods"
            ),
            "tie": Choice((0, 1), meaning="whether the last model equals the first (1) or not (0)"),
            "seed": IntRange(0, 1000),
        },
        at=lambda point: {"least": float(_losses(point)[1].min())},
        everywhere=MEAN_OF_VERTICES,
    )


# --- What local steps save ----------------------------------------------------------------------

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
        everywhere=Everywhere(STEPS, left=ROUNDS, hints=_SHRINKS),
    )


@claim("sxy.saving-same-step", SAVING_SAME_STEP, finding=NO_SAVING_FINDING)
def saving_same_step(statement: Statement, profile: Profile) -> Search:
    """Twice as many local steps at the same step size."""
    return search(
        statement,
        profile,
        lambda p: _rounds_at(2 * p["s"], p["gamma"]),
        SAVING_DOMAIN,
        everywhere=Everywhere(STEPS, left=ROUNDS.subs(s, 2 * s), hints=_SHRINKS),
    )

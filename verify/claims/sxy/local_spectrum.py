r"""The matrix P of local steps: its spectrum, gamma and kappa.

Problem. A client makes s gradient steps, or one proximal step.  How far does its matrix P shrink an
error, and how much less do clients with few rows let the others gain?

Guarantee. `bounds.sxy.local_steps`: the spectrum of P lies in [s/kappa, s].

Algorithm. Dense matrices P, summed power by power or inverted.  No trial is drawn.

Computation. Searches over data of any shapes and units.  A statement about symmetric matrices is
tried on their eigenvalues.

Reference. Section 4.2 and Theorem 2.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import sympy as sp

from bounds.statement import Statement, evaluate
from bounds.sxy.local_steps import (
    KAPPA_AT_LEAST_ONE,
    KAPPA_OF_MOST,
    KAPPA_ONE_ROW,
    P_SPECTRUM_LOWER,
    P_SPECTRUM_UPPER,
)
from bounds.sxy.symbols import (
    d,
    gamma,
    kappa,
    kappa_prox,
    s,
)
from trials.checks import FloatArray
from verify.claim import Finding, claim
from verify.claims.common import Point
from verify.claims.searching import search
from verify.claims.sxy.local_steps import RULE_MEANING, STEPS_MEANING, steps_of
from verify.decisions.domain import Choice, Interval, IntRange, LogInterval, Ranges
from verify.decisions.measures import SHARE
from verify.procedures.base import Profile
from verify.procedures.search import Search
from verify.proofs.propositions import POSITIVE, Everywhere, Reduction

#: Rounding of eigenvalues.
SPECTRAL = replace(SHARE, tolerance=1e-8)

#: Every number of local steps and every stable step size.
STEPS: Ranges = {"s": LogInterval(1.0, math.inf), "gamma": LogInterval(0.0, 1.0)}
#: (1 - gamma)^s lies below one.
SHRINKS = (
    ("log", 1 - gamma),
    (">", 0, sp.log(1 - gamma)),
    ("exp", -s * sp.log(1 - gamma)),
    (">", 1, sp.exp(s * sp.log(1 - gamma))),
)
#: Step sizes beyond the stable ones too, which the statements' own condition leaves out.
TRIED_GAMMA = LogInterval(1e-6, 2.5)
STABLE_DOMAIN: Ranges = {
    "rule": Choice(("fedavg", "fedprox"), meaning=RULE_MEANING),
    "n": IntRange(1, 5),
    "d": IntRange(1, 5),
    "s": IntRange(1, 1000, log=True, meaning=STEPS_MEANING),
    "gamma": TRIED_GAMMA,
    "unit": Choice((1.0, 1e-6, 1e6), meaning="factor that multiplies the features"),
    "seed": IntRange(0, 1000),
}


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
    for bit in bin(steps_of(point))[3:]:
        total, at, done = total + at @ total, at @ at, 2 * done
        if bit == "1":
            total, at, done = np.eye(n) + base @ total, at @ base, done + 1
    return np.asarray(np.linalg.eigvalsh((total + total.T) / 2))


def _kappa(statement: Statement, point: Point) -> float:
    symbol = kappa if point["rule"] == "fedavg" else kappa_prox
    at = {"gamma": point["gamma"], "s": steps_of(point)}
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
        at=lambda p: {"s": steps_of(p), "gamma": p["gamma"], "kappa": _kappa(statement, p)},
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
        at=lambda point: {"s": steps_of(point), "gamma": point["gamma"]},
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
                *SHRINKS,
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
        moved = 1.0 - (1.0 - eta * values) ** steps_of(point)
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
        own = {"gamma": gamma, "gamma_rest": others, "s": steps_of(point), "least_G": part}
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
_BELOW_CHORD = 1 - (1 - sp.exp(-1)) * _Z - sp.exp(-_Z)


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
    given=((_Y, _Z), (_BELOW_CHORD, 0)),
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
        ("sum", 1, ("+", ("*", _D, sp.exp(-_Z) - sp.exp(-_Y)), ("*", _D, _BELOW_CHORD))),
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

r"""The probability that IFCA's client takes a wrong label, by the exact law, as a search needs it.

A point of a search gives the closeness, the signal-to-noise ratio, the samples and the positions of
the models.  Lengths are in units of Delta, so that the noise variance is 1/rho.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import mpmath
import numpy as np
import sympy as sp

from bounds import gaussian
from bounds.ifca.symbols import n as N_PRIME
from bounds.statement import Statement, evaluate
from verify.claims.common import LOWEST, RELATIVE_LOG, CannotTry, Point, log_bound, relative
from verify.decisions.domain import Choice, Interval, IntRange, LogInterval, Ranges
from verify.decisions.search import SearchResult
from verify.procedures.base import Presentation, Profile
from verify.procedures.search import Search

#: Rate of Lemma 1 with the prefactor 1; the argument is the reading of `ifca.lemma1-sharp`.
LEMMA_1_RATE = math.log(2) / 2

SIGNAL_DOMAIN: Ranges = {
    "alpha": Interval(0.01, 0.49),
    "rho": LogInterval(1e-3, 1e3),
    "n": IntRange(1, 1_000_000, log=True),
}


def pair_vectors(point: Point) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """``u_a`` and ``u_b`` of two models in units of Delta, anywhere in their balls.

    The optima are ``t >= 1`` apart on the first axis; model a is displaced by ``s_a`` of the
    allowed radius at angle ``phi_a``, model b by ``s_b`` at ``phi_b`` with dihedral angle ``psi``.
    Three dimensions hold every configuration of two optima and two models up to rotation.
    """
    radius = 0.5 - point["alpha"]
    if point.get("edge"):  # the face where the lemma is nearest to an equality
        point = {**point, "s_a": 1.0, "s_b": 1.0, "psi": 0.0, "t": 1.0}
    u_a = point["s_a"] * radius * np.array([math.cos(point["phi_a"]), math.sin(point["phi_a"]), 0])
    across = math.sin(point["phi_b"])
    v_b = (
        point["s_b"]
        * radius
        * np.array(
            [
                math.cos(point["phi_b"]),
                across * math.cos(point["psi"]),
                across * math.sin(point["psi"]),
            ]
        )
    )
    return u_a, np.array([point["t"], 0.0, 0.0]) + v_b


PAIR_DOMAIN: Ranges = {
    **SIGNAL_DOMAIN,
    "s_a": Interval(0.0, 1.0),
    "s_b": Interval(0.0, 1.0),
    "phi_a": Interval(0.0, math.pi),
    "phi_b": Interval(0.0, math.pi),
    "psi": Interval(0.0, math.pi),
    "t": LogInterval(1.0, 10.0),
    "edge": Choice((True, False)),
}


def pair_log_probability(point: Point) -> float:
    """Log of the exact pairwise misidentification probability at a point of `PAIR_DOMAIN`."""
    u_a, u_b = pair_vectors(point)
    ratio = gaussian.pairwise_ratio(
        float(u_a @ u_a), float(u_a @ u_b), float(u_b @ u_b), 1.0 / point["rho"]
    )
    return max(gaussian.pairwise_log_probability(ratio, point["n"]), LOWEST)


def pair_log_probability_mp(point: Point) -> mpmath.mpf:
    if point.get("edge"):
        point = {**point, "s_a": 1.0, "s_b": 1.0, "psi": 0.0, "t": 1.0}
    mp = mpmath.mpf
    radius = mp("0.5") - mp(point["alpha"])
    angle_a, angle_b, psi = mp(point["phi_a"]), mp(point["phi_b"]), mp(point["psi"])
    a = [radius * mp(point["s_a"]) * f(angle_a) for f in (mpmath.cos, mpmath.sin)] + [mp(0)]
    across = mpmath.sin(angle_b)
    shift = [mpmath.cos(angle_b), across * mpmath.cos(psi), across * mpmath.sin(psi)]
    b = [radius * mp(point["s_b"]) * x for x in shift]
    b[0] += mp(point["t"])
    aa, ab, bb = (mpmath.fdot(x, y) for x, y in ((a, a), (a, b), (b, b)))
    sigma_sq = 1 / mp(point["rho"])
    delta = bb - aa
    gram = aa * bb - ab**2 + sigma_sq * (aa - 2 * ab + bb)
    root = mpmath.sqrt(delta**2 + 4 * gram)
    return mpmath.log(
        gaussian.pairwise_probability_mp((root + delta) / (root - delta), point["n"], mpmath.mp.dps)
    )


CLUSTER_DOMAIN: Ranges = {
    **SIGNAL_DOMAIN,
    "k": IntRange(2, 16),
    "lean": Interval(0.0, 1.0),
    "seed": IntRange(0, 10_000),
}


def rival_log_probabilities(point: Point, into: bool) -> np.ndarray[Any, Any]:
    """Log P of each wrong label of a client of cluster 0, or of entering cluster 0 from outside.

    Optima form a simplex; every model is displaced by the whole allowed radius in a random
    direction, leaning by ``lean`` towards optimum 0.
    """
    k = int(point["k"])
    rng = np.random.default_rng(int(point["seed"]))
    optima = np.eye(k) / math.sqrt(2)
    optima = np.hstack([optima, np.zeros((k, k))])
    drift = rng.standard_normal(optima.shape)
    drift /= np.linalg.norm(drift, axis=1, keepdims=True)
    towards = optima[0] - optima
    towards[0] = optima[1] - optima[0]
    directions = (1 - point["lean"]) * drift + point["lean"] * towards
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    models = optima + (0.5 - point["alpha"]) * directions
    if into:
        truth, right, wrong = optima[1:], models[1:], models[:1]
    else:
        truth, right, wrong = optima[:1], models[:1], models[1:]
    u_a, u_b = np.broadcast_arrays(right - truth, wrong - truth)
    ratios = gaussian.pairwise_ratios(
        np.sum(u_a * u_a, axis=1),
        np.sum(u_a * u_b, axis=1),
        np.sum(u_b * u_b, axis=1),
        1 / point["rho"],
    )
    return np.maximum(gaussian.pairwise_log_probabilities(ratios, int(point["n"])), LOWEST)


#: As many samples as Assumption 2 asks for, and up to ``beyond`` times as many.
REGIME_DOMAIN: Ranges = {
    "alpha": Interval(0.01, 0.49),
    "rho": LogInterval(1e-3, 1e3),
    "m": IntRange(10, 10_000_000, log=True),
    "beyond": LogInterval(1.0, 100.0),
    "k": IntRange(2, 16),
    "lean": Interval(0.0, 1.0),
    "seed": IntRange(0, 10_000),
}


def in_regime(statement: Statement, constants: Mapping[str, float]) -> Callable[[Point], Point]:
    """A map from a point to the same point with n' as the statement's assumption asks for it.

    n' is ``beyond`` times the least number of samples per client that the assumption allows with
    its hidden constant, rounded up.
    """
    (assumption,) = (a for a in statement.assumptions if a.name == "samples per client")
    assert assumption.constant is not None
    least = constants[assumption.constant.name] * assumption.right * N_PRIME
    need = sp.simplify(least / assumption.left.doit())
    if N_PRIME in need.free_symbols:
        raise CannotTry(f"{statement.id}: {assumption.name!r} must be proportional to n")

    def full(point: Point) -> Point:
        return {**point, "n": math.ceil(point["beyond"] * float(evaluate(need, point)))}

    return full


def regime_search(
    statement: Statement,
    profile: Profile,
    log_probability: Callable[[Point], float],
    constants: Mapping[str, float],
    domain: Ranges = REGIME_DOMAIN,
) -> Search:
    """A search under Assumption 2: the log of the exact probability against the statement's."""
    log_of_bound = log_bound(statement, constants)
    full = in_regime(statement, constants)

    def both(point: Point) -> tuple[float, float]:
        inside = full(point)
        return log_probability(inside), log_of_bound(inside)

    def sides(point: Point) -> tuple[float, float]:
        observed, bound = both(point)
        return math.exp(observed), math.exp(bound)

    return Search(
        name=statement.id,
        violation=lambda point: relative(*both(point)),
        sides=sides,
        domain=domain,
        constraints=lambda point: point["k"] <= point["m"],
        budget=profile.searches,
        unit=RELATIVE_LOG,
        constants=constants,
    )


def pairwise_search(
    statement: Statement,
    profile: Profile,
    constants: Mapping[str, float],
    least_alpha: float = 0.01,
    present: Callable[[SearchResult], Presentation] = lambda _result: Presentation(),
) -> Search:
    """A bound on the probability of one wrong preference, tried on every pair of models."""
    log_of_bound = log_bound(statement, constants)
    return Search(
        name=statement.id,
        violation=lambda point: relative(pair_log_probability(point), log_of_bound(point)),
        recheck=lambda point: pair_log_probability_mp(point) - log_of_bound(point),
        sides=lambda point: (math.exp(pair_log_probability(point)), math.exp(log_of_bound(point))),
        domain={**PAIR_DOMAIN, "alpha": Interval(least_alpha, 0.49)},
        budget=profile.searches,
        unit=RELATIVE_LOG,
        constants=constants,
        present=present,
    )


def log_any_rival(point: Point) -> float:
    """Log of the sum over the rivals of the exact probabilities of preferring them."""
    return float(np.logaddexp.reduce(rival_log_probabilities(point, into=False)))

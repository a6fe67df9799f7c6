r"""IFCA's deterministic statements as violations to be searched for.

Each builder returns a `Search`: a function that is positive exactly where the statement fails, its
domain, and the same function in mpmath.  Probabilities are exact (F, chi-square, binomial and
product laws), compared on the log scale, so that tails of any size count.

Constants are exhibited before the search, from these arguments:

* Lemma 1 (`LEMMA_1_RATE`, c1 = 1): see the reading of `bounds.ifca.linear.LEMMA_1_SHARP`.
* (16): Laurent & Massart's lower tail, exp(-n delta^2/4), gives 1/4.
* (17): exp(-(n/2)(delta - log(1+delta))), and x - log(1+x) >= x^2/2 - x^3/3 at the smaller
  x = alpha rho/((1+2 alpha) rho + 1) <= 1/4, gives 5/24 > 1/5.
* Lemma 2: P(chi2_N chi2_d > 16 N d) <= P(chi2_N > 4N) + P(chi2_d > 4d) and the Chernoff bound
  exp(-(q/2)(3 - log 4)) for q degrees of freedom, (3 - log 4)/2 > 0.8.
* (3): Hoeffding, 1/8.
* (10)-(12): Lemma 1's rate, halved by the factor m, halved again by Markov.
* poly(m): at most m^2 pairs of a client and a rival, each m^(-c2 C_n (q+2)) with C_n = 1/c2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import mpmath
import numpy as np
import sympy as sp

from bounds import gaussian as exact
from bounds.ifca import linear as ifca
from bounds.statement import Statement, evaluate
from trials.laws.noise import noise_log_sf
from verify.decisions.domain import Choice, Interval, IntRange, LogInterval, Ranges
from verify.decisions.search import SearchResult
from verify.evidence import Figure, Series
from verify.procedures.base import Presentation, Profile
from verify.procedures.search import Search

Point = Mapping[str, Any]
LEMMA_1_RATE = math.log(2) / 2
LOWEST = -1e9  # the log of a probability that underflows any statement's bound

SIGNAL_DOMAIN: Ranges = {
    "alpha": Interval(0.01, 0.49),
    "rho": LogInterval(1e-3, 1e3),
    "n": IntRange(1, 1_000_000, log=True),
}


def _log_bound(statement: Statement, constants: Mapping[str, float]) -> Callable[[Point], float]:
    """Log of a tail bound ``prefactor * exp(-exponent)``, without underflow."""
    expr = statement.expr.subs(
        {c.symbol: constants[c.name] for c in statement.constants if c.name in constants}
    ).doit()
    log_expr = sp.expand_log(sp.log(expr), force=True)
    return lambda point: float(evaluate(log_expr, point))


def relative(log_probability: float, log_bound: float) -> float:
    """Log of the probability over the bound, in units of the bound's own log where that is large.

    Without the unit a search stays where both are near one and never sees the exponents.
    """
    return (log_probability - log_bound) / max(1.0, -log_bound)


# --- one client's identity ----------------------------------------------------------------------


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
    ratio = exact.pairwise_ratio(
        float(u_a @ u_a), float(u_a @ u_b), float(u_b @ u_b), 1.0 / point["rho"]
    )
    return max(exact.pairwise_log_probability(ratio, point["n"]), LOWEST)


def _pair_log_probability_mp(point: Point) -> mpmath.mpf:
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
        exact.pairwise_probability_mp((root + delta) / (root - delta), point["n"], mpmath.mp.dps)
    )


def lemma_1(profile: Profile) -> Search:
    """Lemma 1 with c1 = 1 and c2 = (log 2)/2."""
    constants = {"c_1": 1.0, "c_2": LEMMA_1_RATE}
    return _pairwise(ifca.LEMMA_1, constants, profile, _lemma_1_figures)


def lemma_1_sharp(profile: Profile) -> Search:
    """The sharpened lemma, no constants left."""
    return _pairwise(ifca.LEMMA_1_SHARP, {}, profile, lambda _result: Presentation())


def _pairwise(
    statement: Statement,
    constants: Mapping[str, float],
    profile: Profile,
    present: Callable[[SearchResult], Presentation],
    least_alpha: float = 0.01,
) -> Search:
    bound = _log_bound(statement, constants)
    return Search(
        name=statement.id,
        violation=lambda point: relative(pair_log_probability(point), bound(point)),
        recheck=lambda point: _pair_log_probability_mp(point) - bound(point),
        sides=lambda point: (math.exp(pair_log_probability(point)), math.exp(bound(point))),
        domain={**PAIR_DOMAIN, "alpha": Interval(least_alpha, 0.49)},
        budget=profile.searches,
        unit="log of the probability over the bound, relative to the bound's log",
        constants=constants,
        present=present,
    )


def _worst_exponent(alpha: float, rho: float) -> float:
    """Smallest Chernoff exponent per sample over directions, by a dense grid of angles.

    Radii are at their limits and the optima ``Delta`` apart, where the exponent is smallest.
    """
    point = {"alpha": alpha, "rho": rho, "s_a": 1.0, "s_b": 1.0, "psi": 0.0, "t": 1.0}
    best = math.inf
    for psi in (0.0, math.pi):
        for phi_a in np.linspace(0, math.pi, 61):
            for phi_b in np.linspace(0, math.pi, 61):
                u_a, u_b = pair_vectors({**point, "phi_a": phi_a, "phi_b": phi_b, "psi": psi})
                ratio = exact.pairwise_ratio(
                    float(u_a @ u_a), float(u_a @ u_b), float(u_b @ u_b), 1.0 / rho
                )
                best = min(best, exact.chernoff_exponent(ratio, 1))
    return best


def _lemma_1_figures(_result: SearchResult) -> Presentation:
    """Misidentification against n', and the exponents against rho."""
    alpha, rho = 0.1, 4.0
    n = [int(x) for x in np.unique(np.geomspace(1, 2000, 40).astype(int))]
    across = {"alpha": alpha, "rho": rho, "s_a": 1.0, "s_b": 1.0, "psi": 0.0, "t": 1.0}
    directions = {
        "client's model across the segment": {**across, "phi_a": math.pi / 2, "phi_b": math.pi},
        "both models towards each other": {**across, "phi_a": 0.0, "phi_b": math.pi},
        "both models moved alike": {**across, "phi_a": math.pi, "phi_b": math.pi},
    }
    law = {
        name: [math.exp(pair_log_probability({**point, "n": size})) for size in n]
        for name, point in directions.items()
    }
    u_a, u_b = pair_vectors(directions["both models moved alike"])
    ratio = exact.pairwise_ratio(float(u_a @ u_a), float(u_a @ u_b), float(u_b @ u_b), 1 / rho)
    constants = {"c_1": 1.0, "c_2": LEMMA_1_RATE}
    bound = _log_bound(ifca.LEMMA_1, constants)
    sharp = _log_bound(ifca.LEMMA_1_SHARP, {})
    at = [{"alpha": alpha, "rho": rho, "n": size} for size in n]
    curves = [
        *(Series(label=name, x=n, y=y, style="line") for name, y in law.items()),
        Series(
            label="Chernoff bound, moved alike",
            x=n,
            y=[math.exp(-exact.chernoff_exponent(ratio, size)) for size in n],
            style="dashed",
        ),
        Series(label="Lemma 1", x=n, y=[math.exp(bound(p)) for p in at], style="dashed"),
        Series(label="sharpened", x=n, y=[math.exp(sharp(p)) for p in at], style="dashed"),
    ]
    rhos = [float(x) for x in np.geomspace(1e-3, 1e3, 25)]
    worst_rates = [_worst_exponent(alpha, x) for x in rhos]
    stated = [LEMMA_1_RATE * (alpha * x / (x + 1)) ** 2 for x in rhos]
    corrected = [LEMMA_1_RATE * alpha**2 * x / (x + 1) for x in rhos]
    gaps = [w / s for w, s in zip(worst_rates, stated, strict=True)]
    return Presentation(
        figures=(
            Figure(
                name="misidentification",
                title="Misidentification of one client",
                xlabel="samples $n'$",
                ylabel="probability",
                xscale="log",
                yscale="log",
                series=[_above(c, 1e-16) for c in curves],
                caption=f"$\\alpha={alpha}$, $\\rho={rho:g}$; solid: exact law for three starts; "
                "dashed: bounds; probabilities above $10^{-16}$.",
            ),
            Figure(
                name="exponents",
                title="Exponent per sample, worst direction",
                xlabel="signal-to-noise ratio $\\rho$ (dimensionless)",
                ylabel="exponent per sample (dimensionless)",
                xscale="log",
                yscale="log",
                series=[
                    Series(label="exact, worst direction", x=rhos, y=worst_rates, style="line"),
                    Series(label="Lemma 1", x=rhos, y=stated, style="dashed"),
                    Series(label="sharpened", x=rhos, y=corrected, style="dashed"),
                ],
                caption=f"$\\alpha={alpha}$. At low signal the printed exponent falls with "
                "$\\rho^2$, the law's with $\\rho$.",
            ),
        ),
        sharpness=(
            f"Exact exponent over the stated one ($c_2=(\\log2)/2$) at $\\alpha={alpha}$: "
            f"{gaps[-1]:.3g} at $\\rho=10^3$, {gaps[0]:.3g} at $\\rho=10^{{-3}}$; the gap widens "
            "as $1/\\rho$.",
        ),
    )


def _above(series: Series, least: float) -> Series:
    kept = [(x, y) for x, y in zip(series.x, series.y, strict=True) if y is not None and y > least]
    return Series(
        label=series.label, x=[x for x, _ in kept], y=[y for _, y in kept], style=series.style
    )


# --- k clusters ---------------------------------------------------------------------------------

CLUSTER_DOMAIN: Ranges = {
    **SIGNAL_DOMAIN,
    "k": IntRange(2, 16),
    "lean": Interval(0.0, 1.0),
    "seed": IntRange(0, 10_000),
}


def _rival_log_probabilities(point: Point, into: bool) -> np.ndarray[Any, Any]:
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
    pairs = [(a, 0) for a in range(1, k)] if into else [(0, b) for b in range(1, k)]
    logs = []
    for truth, wrong in pairs:
        u_a, u_b = models[truth] - optima[truth], models[wrong] - optima[truth]
        ratio = exact.pairwise_ratio(
            float(u_a @ u_a), float(u_a @ u_b), float(u_b @ u_b), 1 / point["rho"]
        )
        logs.append(exact.pairwise_log_probability(ratio, int(point["n"])))
    return np.asarray(np.maximum(np.array(logs), LOWEST))


def lemma_1_union(profile: Profile) -> Search:
    """The union bound: the sum over rivals of the exact pairwise probabilities."""
    constants = {"c_1": 1.0, "c_2": LEMMA_1_RATE}
    bound = _log_bound(ifca.LEMMA_1_UNION, constants)

    def log_union(point: Point) -> float:
        return float(np.logaddexp.reduce(_rival_log_probabilities(point, into=False)))

    return Search(
        name=ifca.LEMMA_1_UNION.id,
        violation=lambda point: relative(log_union(point), bound(point)),
        sides=lambda point: (math.exp(log_union(point)), math.exp(bound(point))),
        domain=CLUSTER_DOMAIN,
        budget=profile.searches,
        unit="log of the probability over the bound, relative to the bound's log",
        constants=constants,
    )


def eq_10(profile: Profile) -> Search:
    """The expected number of strangers per client, clusters of any sizes."""
    constants = {"c_6": 1.0, "c_7": LEMMA_1_RATE}
    bound = _log_bound(ifca.EQ_10, constants)

    def log_count(point: Point) -> float:
        # the worst sizes put all other clients into the cluster that is mistaken most often
        return float(np.log(point["m"]) + _rival_log_probabilities(point, into=True).max())

    return Search(
        name=ifca.EQ_10.id,
        violation=lambda point: relative(log_count(point), bound(point)),
        sides=lambda point: (math.exp(log_count(point)), math.exp(bound(point))),
        domain={**CLUSTER_DOMAIN, "m": IntRange(10, 10_000_000, log=True)},
        budget=profile.searches,
        unit="log of the expected count over the bound, relative to the bound's log",
        constants=constants,
    )


EQ_12_CONSTANTS = {"c_8": LEMMA_1_RATE / 2, "C_n": 2 / LEMMA_1_RATE}

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


def _in_regime(point: Point, constant: float) -> Point:
    """The point with n' = beyond * constant * log m / (alpha rho/(rho+1))^2, rounded up."""
    signal = (point["alpha"] * point["rho"] / (point["rho"] + 1)) ** 2
    need = constant * math.log(point["m"]) / signal
    return {**point, "n": math.ceil(point["beyond"] * need)}


def eq_12(profile: Profile) -> Search:
    """No strangers, with n' as large as the condition with C_n = 4/log 2 asks, or larger."""
    bound = _log_bound(ifca.EQ_12, EQ_12_CONSTANTS)

    def log_any(point: Point) -> float:
        """Log of 1 - (1 - P)^m, all clients in the cluster that is mistaken most often."""
        log_each = float(_rival_log_probabilities(point, into=True).max())
        if log_each + math.log(point["m"]) < -30:  # then it is m P to rounding
            return max(log_each + math.log(point["m"]), LOWEST)
        return math.log(-math.expm1(point["m"] * math.log1p(-math.exp(log_each))))

    return _regime_search(
        ifca.EQ_12, log_any, bound, lambda _point: EQ_12_CONSTANTS["C_n"], profile, EQ_12_CONSTANTS
    )


def half_correct(profile: Profile) -> Search:
    """A client errs with probability at most one half; C_n = 3/c2 pays for k <= m rivals."""
    constants = {"C_n": 3 / LEMMA_1_RATE}
    return _regime_search(
        ifca.HALF_CORRECT,
        lambda point: float(np.logaddexp.reduce(_rival_log_probabilities(point, into=False))),
        lambda _point: -math.log(2),
        lambda _point: constants["C_n"],
        profile,
        constants,
    )


def poly_m(profile: Profile) -> Search:
    """Some client errs with probability at most m^-q, with C_n = (q + 2)/c2, q from 1 to 8."""
    search = _regime_search(
        ifca.POLY_M,
        lambda point: (
            math.log(point["m"])
            + float(np.logaddexp.reduce(_rival_log_probabilities(point, into=False)))
        ),
        lambda point: -point["q"] * math.log(point["m"]),
        lambda point: (point["q"] + 2) / LEMMA_1_RATE,
        profile,
        {"C_n": 1 / LEMMA_1_RATE},
    )
    return replace(search, domain={**REGIME_DOMAIN, "q": IntRange(1, 8)})


def _regime_search(
    statement: Statement,
    log_probability: Callable[[Point], float],
    log_bound: Callable[[Point], float],
    samples: Callable[[Point], float],
    profile: Profile,
    constants: Mapping[str, float],
) -> Search:
    """A search in Assumption 2's regime, n' a multiple of what ``samples`` asks for."""

    def both(point: Point) -> tuple[float, float]:
        full = _in_regime(point, samples(point))
        return log_probability(full), log_bound(full)

    def violation(point: Point) -> float:
        return relative(*both(point))

    def sides(point: Point) -> tuple[float, float]:
        observed, bound = both(point)
        return math.exp(observed), math.exp(bound)

    return Search(
        name=statement.id,
        violation=violation,
        sides=sides,
        domain=REGIME_DOMAIN,
        constraints=lambda point: point["k"] <= point["m"],
        budget=profile.searches,
        unit="log of the probability over the bound, relative to the bound's log",
        constants=constants,
    )


def better_than_guessing(profile: Profile) -> Search:
    """P(prefers the rival) < 1/2 at any positive closeness, from one sample on."""
    return _pairwise(
        ifca.BETTER_THAN_GUESSING, {}, profile, lambda _result: Presentation(), least_alpha=1e-6
    )


# --- chi-square, binomial and product tails -----------------------------------------------------


def _tail(
    statement: Statement,
    deviation: Callable[[Point], float],
    constants: Mapping[str, float],
    profile: Profile,
) -> Search:
    bound = _log_bound(statement, constants)

    def log_tail(point: Point) -> float:
        return max(exact.chi_square_log_tail(point["n"], deviation(point)), LOWEST)

    return Search(
        name=statement.id,
        violation=lambda point: relative(log_tail(point), bound(point)),
        sides=lambda point: (math.exp(log_tail(point)), math.exp(bound(point))),
        domain=SIGNAL_DOMAIN,
        budget=profile.searches,
        unit="log of the probability over the bound, relative to the bound's log",
        constants=constants,
    )


def eq_16(profile: Profile) -> Search:
    """(16), lower tail, with c1 = 1, c2 = 1/4."""
    return _tail(
        ifca.EQ_16,
        lambda point: -float(evaluate(ifca.LOWER_DEVIATION, point)),
        {"c_1": 1.0, "c_2": 0.25},
        profile,
    )


def eq_17(profile: Profile) -> Search:
    """(17), upper tail, with c3 = 1, c4 = 1/5."""
    return _tail(
        ifca.EQ_17,
        lambda point: float(evaluate(ifca.UPPER_DEVIATION, point)),
        {"c_3": 1.0, "c_4": 0.2},
        profile,
    )


def eq_3(profile: Profile, rate: float = 0.125) -> Search:
    """(3) with c = 1/8: the binomial tail, any success probability from one half up."""
    constants = {"c": rate}
    bound = _log_bound(ifca.EQ_3, constants)

    def log_tail(point: Point) -> float:
        size = point["cluster"]
        return max(exact.binomial_log_cdf(size // 4, size, point["correct"]), LOWEST)

    def with_p(point: Point) -> Point:
        return {"m": 1.0, "p": point["smaller"] * point["cluster"]}

    return Search(
        name=ifca.EQ_3.id,
        violation=lambda point: relative(log_tail(point), bound(with_p(point))),
        sides=lambda point: (math.exp(log_tail(point)), math.exp(bound(with_p(point)))),
        domain={
            "cluster": IntRange(1, 1_000_000, log=True),
            "correct": Interval(0.5, 1.0),
            "smaller": Interval(0.0, 1.0),
        },
        budget=profile.searches,
        unit="log of the probability over the bound, relative to the bound's log",
        constants=constants,
    )


def lemma_2_noise(profile: Profile) -> Search:
    """Lemma 2, second part, through the exact law of the product of two chi-squares."""
    constants = {"c_2": 2.0, "c_3": 0.8, "c_4": 4.0}
    bound = _log_bound(ifca.LEMMA_2_NOISE, constants)

    def log_tail(point: Point) -> float:
        threshold = constants["c_4"] * math.sqrt(point["d"] * point["N"])
        return max(float(noise_log_sf(threshold, point["N"], point["d"], 1.0)), LOWEST)

    return Search(
        name=ifca.LEMMA_2_NOISE.id,
        violation=lambda point: relative(log_tail(point), bound(point)),
        sides=lambda point: (math.exp(log_tail(point)), math.exp(bound(point))),
        domain={"N": IntRange(1, 100_000, log=True), "d": IntRange(1, 10_000, log=True)},
        budget=max(500, profile.searches // 4),
        unit="log of the probability over the bound, relative to the bound's log",
        constants=constants,
    )


# --- the triangle inequality (2) ----------------------------------------------------------------

STEP_DOMAIN: Ranges = {
    "N": IntRange(1, 6),
    "d": IntRange(1, 6),
    "a": LogInterval(0.01, 100.0),
    "sigma": Choice((0.0, 0.1, 1.0)),
    "seed": IntRange(0, 1000),
}


def _step_data(point: Point) -> tuple[np.ndarray[Any, Any], ...]:
    rng = np.random.default_rng(int(point["seed"]))
    x = rng.standard_normal((int(point["N"]), int(point["d"])))
    noise = point["sigma"] * rng.standard_normal(int(point["N"]))
    u = rng.standard_normal(int(point["d"]))
    return x, noise, u / np.linalg.norm(u)


def eq_2(statement: Statement) -> Callable[[Profile], Search]:
    """(2) as printed or corrected: the statement's own right-hand side is evaluated."""

    def sides(point: Point) -> tuple[float, float]:
        x, noise, u = _step_data(point)
        n, a = x.shape[0], point["a"]
        left = u - a / n * (x.T @ (x @ u)) + a / n * (x.T @ noise)
        gram = np.linalg.norm(x.T @ x - n * np.eye(x.shape[1]), 2) / n
        values = {"a": a, "err": 1.0, "gram": gram, "noise": np.linalg.norm(x.T @ noise) / n}
        return float(np.linalg.norm(left)), float(evaluate(statement.expr, values))

    def recheck(point: Point) -> mpmath.mpf:
        x, noise, u = (mpmath.matrix(v.tolist()) for v in _step_data(point))
        n, a = mpmath.mpf(x.rows), mpmath.mpf(point["a"])
        left = u - (a / n) * (x.T * (x * u)) + (a / n) * (x.T * noise)
        gram = max(abs(e) for e in mpmath.eigsy(x.T * x - n * mpmath.eye(x.cols))[0])
        size = mpmath.norm(u)
        first = abs(1 - a) if statement is ifca.EQ_2 else 1 - a
        right = (first + a * gram / n) * size + a * mpmath.norm(x.T * noise) / n
        return mpmath.norm(left) - right

    def build(profile: Profile) -> Search:
        return Search(
            name=statement.id,
            violation=lambda point: sides(point)[0] - sides(point)[1] - 1e-12 * point["a"],
            recheck=recheck,
            sides=sides,
            domain=STEP_DOMAIN,
            budget=profile.searches,
            unit="left side minus right side, in units of the error",
        )

    return build


# --- arithmetic of Corollary 1 ------------------------------------------------------------------


def lemma_1_init(profile: Profile) -> Search:
    """The printed distance Delta/4 against what the initialisation condition gives."""

    def violation(point: Point) -> float:
        return float((0.5 - point["alpha"]) - 0.25)

    return Search(
        name=ifca.LEMMA_1_INIT.id,
        violation=violation,
        recheck=lambda point: mpmath.mpf("0.25") - mpmath.mpf(point["alpha"]),
        sides=lambda point: (0.5 - point["alpha"], 0.25),
        domain={"alpha": Interval(0.01, 0.49)},
        budget=min(profile.searches, 500),
        unit="distance beyond Delta/4, in units of Delta",
    )


def rounds(statement: Statement, base: float) -> Callable[[Profile], Search]:
    """Halving for ``log_base(Delta/4 epsilon)`` steps: is Delta/4 brought down to epsilon?"""

    def violation(point: Point) -> float:
        halvings = math.log(point["gain"]) / math.log(base)
        return math.log(point["gain"]) - halvings * math.log(2) - 1e-12

    def build(profile: Profile) -> Search:
        return Search(
            name=statement.id,
            violation=violation,
            recheck=lambda point: (
                mpmath.log(point["gain"])
                * (1 - mpmath.log(2) / (1 if base == math.e else mpmath.log(base)))
                - mpmath.mpf("1e-30")
            ),
            sides=lambda point: (math.exp(violation(point)), 1.0),
            domain={"gain": LogInterval(1.0, 1e12)},
            budget=min(profile.searches, 500),
            unit="log of the remaining error over epsilon, gain = Delta/(4 epsilon)",
        )

    return build


def burn_in(profile: Profile) -> Search:
    """T' = log(8 (1 - 2 alpha_0)) halvings bring (1/2 - alpha_0) below 1/8; so do two."""

    def left(point: Point) -> float:
        start = 0.5 - point["alpha_0"]
        halvings = math.log(8 * 2 * start) if point["form"] == "printed" else 2.0
        return float(start * 0.5**halvings)

    return Search(
        name=ifca.COROLLARY_1_BURN_IN.id,
        violation=lambda point: left(point) - 0.125 - 1e-15,
        sides=lambda point: (left(point), 0.125),
        domain={"alpha_0": Interval(1e-6, 0.499999), "form": Choice(("printed", "two"))},
        budget=min(profile.searches, 1000),
        unit="remaining distance beyond Delta/8, in units of Delta",
        constants={"C_1": 8.0},
    )

r"""Theorem 1 of ODCL: its proof's events, its constant M, its requirement and its rates.

Problem. How many samples must a user have before the server finds the clusters, and how far are the
cluster means from the optima then?

Guarantee. `bounds.odcl.recovery`: beyond n / log n > 16 M alpha^2 / D^2 the clusters are found but
for rare events, and the error is that of the true cluster's mean up to those events.

Algorithm. Local fits from exact laws: on bounded designs for the proof's events, with Gaussian
features for recovery and rates (experiment ``odcl.one-shot``).  K-means++ clusters them, and the
interval (13) says whether convex clustering has a certified penalty.

Computation. Searches compare exact binomial tails with the statements, from three samples on.
Trials give rates and thresholds in the separation and the cluster sizes.  The requirement with the
paper's own constants is evaluated at the paper's own experiments.

Reference. Armacki et al. 2024, Section 4.1, Section 4.2, Section 5, Appendices B.1 and D.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np
import sympy as sp

from bounds.odcl import recovery as br
from bounds.odcl.symbols import G_F, F_star, L, N, R, mu
from bounds.statement import Assumption, Statement, evaluate
from trials.checks import FloatArray
from trials.experiments.odcl.coordinates import COORDINATES
from trials.experiments.odcl.one_shot import ONE_SHOT, users
from trials.run.cell import Params
from trials.run.store import Table
from verify.claim import Finding, claim
from verify.claims.common import Point
from verify.claims.odcl.data_sets import Clustered, data_sets
from verify.claims.odcl.local_fits import LINE, constants_of, line_of
from verify.claims.odcl.pages import recovery_phases
from verify.claims.odcl.sides import (
    exact_search,
    formula_search,
    log_ratio,
    power_law,
    upper_quantile,
)
from verify.claims.searching import Sided, proves
from verify.decisions.domain import Box, Choice, Interval, IntRange, LogInterval, Ranges
from verify.decisions.means import Knowledge
from verify.decisions.structured import Product
from verify.decisions.thresholds import log_grid
from verify.evidence import Verdict
from verify.procedures.base import BoolArray, Profile, Sampling
from verify.procedures.mean_bound import MeanBound
from verify.procedures.rate import Rate
from verify.procedures.search import Search
from verify.procedures.threshold import Threshold
from verify.procedures.vacuity import Vacuity
from verify.proofs.certificate import Certificate

_UNITS = LogInterval(1e-6, 1e6)

# --- (7) to (11) --------------------------------------------------------------------------------


@claim(br.EQ_7)
def eq_7(statement: Statement, profile: Profile) -> Search:
    """Data sets of fits around the common optimum zero, clusters of any sizes."""

    def sides(point: Point) -> tuple[float, float]:
        data = Clustered.of(point)
        lengths = np.linalg.norm(data.points, axis=1)
        largest = np.array([lengths[data.labels == j].max() for j in range(data.k)])
        bounds = np.array([float(evaluate(statement.expr, {"largest": float(x)})) for x in largest])
        distances = np.linalg.norm(data.deviations, axis=1)
        worst = int(np.argmax(distances - bounds[data.labels]))
        return float(distances[worst]), float(bounds[data.labels[worst]])

    return Search(
        name=statement.id,
        violation=lambda point: log_ratio(*sides(point)),
        sides=sides,
        domain=data_sets(clusters=(1, 3)),
        budget=profile.searches // 5,
        unit="log of the distance over the bound",
    )


UNIT_OF_M = Finding(
    id="odcl-m-units",
    where="(8), (9), $M_{ik}$ and with it Theorems 1, 2 and 3",
    printed="$\\epsilon=n^{-3}$ in Lemma 3, and $\\log6R$ in $M_{ik}$.",
    found="$\\epsilon$ is a length, so $M_{ik}$ holds the log of a length, and adds a length to "
    "squared lengths. In a unit with $R<e^{-7}/6$ it is negative in one dimension: (9) then "
    "says that a squared norm is negative, and every sample size meets Theorem 1's requirement. "
    "Assumption 2 allows a larger $R$; with $R\\ge1/6$ the printed $M_{ik}$ is large enough.",
    corrected="$\\epsilon=R/n^3$: $\\log6$ for $\\log6R$, and a factor $R$ on the last fraction.",
    severity="edge",
)

#: The constants of least squares on the design ``coordinates``: optimum of norm a, noise s.
_A, _S, _D = sp.symbols("a s d")
_COORDINATES = {
    L: _D,
    mu: sp.Integer(1),
    N: sp.sqrt(_D) * _S,
    F_star: _S**2 / 2,
    R: _A + _S,
    G_F: 2 * _A + _S,
}
_EIGHT: Ranges = {
    "n": IntRange(3, 10**9, log=True),
    "d": IntRange(1, 1000, log=True),
    "a": LogInterval(1e-9, 1e6),
    "s": LogInterval(1e-9, 1e6),
}


def _eq_8(statement: Statement, profile: Profile, left: sp.Expr) -> Search:
    terms = tuple(replace(t, expr=t.expr.subs(_COORDINATES)) for t in statement.terms)
    return formula_search(
        replace(statement, terms=terms),
        profile,
        left.subs(_COORDINATES),
        _EIGHT,
        argument="The constants are those of a design that shows one of $d$ coordinates a sample, "
        "with an optimum of norm $a$ and noise $\\pm s$.",
    )


@claim(br.EQ_8_AS_PRINTED, expected=Verdict.REFUTED, finding=UNIT_OF_M)
def eq_8_as_printed(statement: Statement, profile: Profile) -> Search:
    """Both printed expressions with the constants of a bounded design."""
    return _eq_8(statement, profile, br.eq_8(R, sp.Integer(1)))


@claim(br.EQ_8, finding=UNIT_OF_M)
def eq_8(statement: Statement, profile: Profile) -> Search:
    """Both corrected expressions."""
    return _eq_8(statement, profile, br.eq_8(sp.Integer(1), R))


_NINE: Ranges = {**LINE, "n": IntRange(3, 100_000, log=True)}


def _eq_9(
    statement: Statement, profile: Profile, certify: Callable[[Point], Certificate] | None = None
) -> Search:
    def quantile(point: Point) -> float:
        law = line_of(point)
        share = statement.failure_probability({"n": float(point["n"])})
        return upper_quantile(law.errors**2, law.weights, share)

    return exact_search(statement, profile, quantile, constants_of, _NINE, certify=certify)


@claim(br.EQ_9_AS_PRINTED, expected=Verdict.REFUTED, finding=UNIT_OF_M)
def eq_9_as_printed(statement: Statement, profile: Profile) -> Search:
    """Exact quantiles on three designs of one dimension, in all units."""

    def certify(_point: Point) -> Certificate:
        at = {_A: Fraction(1, 10**6), _S: Fraction(1, 10**6), _D: 1}
        shown = {symbol.name: sp.Rational(value.subs(at)) for symbol, value in _COORDINATES.items()}
        return proves(
            statement,
            "Take least squares on one feature of size one, the optimum $a=10^{-6}$, noise "
            "$\\pm s$ with $s=10^{-6}$, $R=a+s$ and $n=3$. A squared distance is never below zero, "
            "so it exceeds the bound with probability one, not $2/27$.",
            "zero exceeds the bound",
            "0",
            {**{name: str(value) for name, value in shown.items()}, "n": 3, "d": 1},
        )

    return _eq_9(statement, profile, certify)


@claim(br.EQ_9, finding=UNIT_OF_M)
def eq_9(statement: Statement, profile: Profile) -> Search:
    """The same quantiles against the corrected M."""
    return _eq_9(statement, profile)


@claim(br.EQ_11)
def eq_11(statement: Statement, profile: Profile) -> Search:
    """Sample sizes just above the requirement, for every width of the events below D/2."""
    requirement = statement.assumptions[-1].right

    def values(point: Point) -> dict[str, float]:
        at = {name: point[name] for name in ("M", "alpha", "Delta")}
        at["gamma"] = point["share"] * at["Delta"] / 2
        at["ratio"] = (1 + point["above"]) * float(evaluate(requirement, at))
        return at

    return exact_search(
        statement,
        profile,
        lambda point: float(evaluate(br.SIGMA_RADIUS, values(point))),
        values,
        {
            "M": _UNITS,
            "alpha": LogInterval(1.0, 1e4),
            "Delta": _UNITS,
            "share": Interval(0.0, 0.999),
            "above": LogInterval(1e-6, 1e3),
        },
    )


# --- P(Psi^c) and the mean squared error --------------------------------------------------------

CHEBYSHEV = Finding(
    id="odcl-psi-order",
    where="proof of Theorem 1, Remark 22, and the second term of Theorem 1",
    printed="$P(\\Psi^c)\\le\\mathcal{O}(N^2/(n|C_{(K)}|\\mu_F^2\\gamma^2)+\\ldots)$, by "
    "Chebyshev's inequality for the means; the outline states the order $1/n^2$.",
    found="True but not sharp: $\\bar\\theta_k$ is within $D/4$ of its optimum wherever all fits "
    "of its cluster are within $\\sqrt{M\\log n/n}$, so that $P(\\Psi^c)\\le2m/n^3$ for all "
    "losses. The term $R^2N^2/(n|C_{(K)}|\\mu_F^2D^2)$ of Theorem 1, and all others with "
    "$R^2/D^2$, come from the Chebyshev step alone. $\\Omega$ should be $\\mathcal{O}$ in all "
    "three places, the display of $P(\\Lambda)$ has minus signs for plus signs, and that of "
    "$P(\\Psi^c)$ lacks $\\nu/(n^3\\gamma^2)$ and a plus sign.",
    corrected="$P(\\Psi^c)\\le2m/n^3$, and an error of Lemma 4's bound plus $8R^2m/n^3$.",
    severity="slip",
)


def _just_enough(statement: Statement, point: Point, constant: float) -> dict[str, float]:
    """Symbols at a sample size just above the requirement, for M = ``constant`` and D = 1."""
    at = {"M": constant, "alpha": point["alpha"], "Delta": 1.0}
    return {**at, "ratio": (1 + point["above"]) * float(evaluate(_requirement(statement), at))}


def _requirement(statement: Statement) -> sp.Expr:
    return statement.assumptions[-1].right


_ABOVE: Ranges = {"alpha": LogInterval(1.0 + 1e-9, 1e3), "above": LogInterval(1e-9, 1e3)}


@claim(br.PSI_EVENT, finding=CHEBYSHEV)
def psi_event(statement: Statement, profile: Profile) -> Search:
    """Data sets of errors, scaled until the largest is as large as the event allows."""

    def sides(point: Point) -> tuple[float, float]:
        data, at = Clustered.of(point), _just_enough(statement, point, 1.0)
        largest = max(float(np.linalg.norm(data.points, axis=1).max()), 1e-300)
        means = np.linalg.norm(data.centres, axis=1) / largest * math.sqrt(at["M"] / at["ratio"])
        return float(means.max()), float(evaluate(statement.expr, at))

    return Sided(
        sides=sides,
        domain=Product((data_sets(clusters=(1, 3)), Box(_ABOVE))),
        budget=profile.searches // 5,
    ).search(statement)


#: Errors of a fit: the three designs of one dimension, and the law that (9) allows at its worst.
_LAWS = Choice(("two-point", "cosh", "coordinates", "outlier"))


def _errors(point: Point, share: float) -> tuple[FloatArray, FloatArray, float]:
    """Outcomes and probabilities of a fit's error, and the smallest radius of (9)."""
    if point["law"] == "outlier":  # at the optimum, but with the share at a distance
        return np.array([0.0, point["far"]]), np.array([1 - share, share]), 1.0
    law = line_of({**point, "design": point["law"]})
    return law.errors, law.weights, math.sqrt(upper_quantile(law.errors**2, law.weights, share))


def _outside_psi(statement: Statement, point: Point) -> float:
    """P(Psi^c) of K equal clusters, by enumeration of the errors of one cluster's users."""
    errors, weights, radius = _errors(point, 2.0 / point["n"] ** 3)
    at = _just_enough(statement, point, 1.0)  # D = 1 has the radius sqrt(M / ratio)
    reach = radius * math.sqrt(at["ratio"] / at["M"]) / 4  # D / 4 in the errors' unit
    joint = np.stack(np.meshgrid(*[errors] * point["size"], indexing="ij"), axis=-1)
    mean = joint.mean(axis=-1)
    near = np.abs(joint - mean[..., None]).max(axis=-1) <= 2 * radius * (1 + 1e-12)
    near &= np.abs(mean) <= reach * (1 + 1e-12)
    likely = np.prod(np.stack(np.meshgrid(*[weights] * point["size"], indexing="ij")), axis=0)
    outside = float(likely[~near].sum())
    return -math.expm1(point["k"] * math.log1p(-min(outside, 1.0 - 1e-16)))


@claim(br.PSI, finding=CHEBYSHEV)
def psi(statement: Statement, profile: Profile) -> Search:
    """The exact probability of Psi^c with few samples and users, on laws that meet (9)."""
    return exact_search(
        statement,
        profile,
        lambda point: _outside_psi(statement, point),
        lambda point: {
            **_just_enough(statement, point, 1.0),
            "n": float(point["n"]),
            "m": float(point["k"] * point["size"]),
        },
        {
            "law": _LAWS,
            "n": IntRange(3, 12),
            "size": IntRange(1, 3),
            "k": IntRange(2, 100, log=True),
            "scale": _UNITS,
            "noise": _UNITS,
            "skew": LogInterval(1e-3, 0.999),
            "far": LogInterval(1.0, 1e3),
            **_ABOVE,
        },
    )


def _several_cells(statement: Statement) -> tuple[Params, ...]:
    """Sizes just above the requirement, in 2 to 50 dimensions, with little and much noise."""
    cells = []
    for k, d, own, least, delta in (
        (2, 2, 10, 10, 1.0),
        (4, 5, 40, 10, 0.01),
        (2, 20, 10, 5, 100.0),
        (3, 50, 10, 10, 1.0),
    ):
        for noise in (0.1, 1.0):
            cell = {"k": k, "d": d, "size_k": own, "size_min": least, "Delta": delta}
            cell["sigma"] = noise * delta
            cells.append({**cell, "n": _enough(statement, _several(cell))})
    return tuple(cells)


def _enough(statement: Statement, at: Mapping[str, float]) -> int:
    """A size that meets the requirement: n / log n exceeds x from n = 2 x log x on, x >= 3."""
    needed = max(float(evaluate(statement.assumptions[-1].right, at)), 3.0)
    return math.ceil(2 * needed * math.log(needed))


def _several(cell: Params) -> dict[str, float]:
    """The symbols of Theorem 1 on the design ``coordinates``, with Lemma 1's alpha."""
    optimum = cell["Delta"] / math.sqrt(2)
    at = {"a": optimum, "s": cell["sigma"], "d": float(cell["d"])}
    constants = {symbol.name: float(evaluate(expr, at)) for symbol, expr in _COORDINATES.items()}
    m = float(users(cell))
    smallest = float(min(cell["size_k"], cell["size_min"]))
    return {
        **constants,
        **{name: float(cell[name]) for name in ("k", "d", "size_k", "Delta")},
        "n": float(cell.get("n", 3)),
        "m": m,
        "size_min": smallest,
        "alpha": 4.0 * (m - smallest) / smallest,
    }


def _spread(cell: Params) -> Knowledge:
    """The variance of the squared error on the design ``coordinates``, from its law.

    Given the numbers of signs, the d coordinates of the true mean's error are independent sums of
    signs with variances near v/d, v = sigma^2 d / (n |C_k|), and the square of such a sum has a
    variance of at most twice its squared variance.  A tenth covers the numbers of signs, which are
    above 10^6 and differ from n/d by less than a hundredth in all but 10^-20 of the trials.
    """
    v = cell["sigma"] ** 2 * cell["d"] / (cell["n"] * cell["size_k"])
    return Knowledge(low=0.0, variance=2.0 * (1.1 * v) ** 2 / cell["d"])


@claim(br.THEOREM_1_MSE, finding=(CHEBYSHEV, UNIT_OF_M))
def theorem_1_mse(statement: Statement, profile: Profile) -> MeanBound:
    """Simulated errors on the design ``coordinates``, at sizes just above the requirement."""
    cells = _several_cells(statement)
    return MeanBound(
        statement=statement,
        sampling=profile.sampling(COORDINATES, cells, first=64),
        cells=cells,
        statistic=lambda table, _cell: table["error_k"],
        knowledge=_spread,
        observable="the squared error of the first cluster's model",
        values=_several,
    )


@claim(br.THEOREM_1_RATE, finding=CHEBYSHEV)
def theorem_1_rate(statement: Statement, _profile: Profile) -> Rate:
    """ODCL-KM++ on well separated clusters: exponents of n and of both cluster sizes."""
    cells = tuple(
        {"n": n, "k": 3, "d": 4, "size_k": own, "size_min": least, "Delta": 5.0, "sigma": 1.0}
        for n in (500, 2000, 8000)
        for own in (9, 27, 81)
        for least in (1, 3, 9)
    )
    return power_law(
        statement,
        Sampling(experiment=ONE_SHOT, max_trials=384),
        cells,
        "error_k",
        lambda cell: {name: float(cell[name]) for name in ("n", "size_k", "size_min")},
        "the squared error of the first cluster's model",
        validate=statement.require,
    )


# --- thresholds ---------------------------------------------------------------------------------


def _threshold(statement: Statement, column: str, event: str) -> Threshold:
    """The threshold in n over separations and cluster sizes of two clusters."""
    cells = tuple(
        {"k": 2, "d": 4, "size_k": own, "size_min": least, "Delta": delta, "sigma": 1.0}
        for delta in (0.01, 0.06, 0.36)
        for own in (4, 16, 64, 256)
        for least in (4, 16, 64, 256)
        if least <= own
    )

    def success(table: Table, _cell: Params) -> BoolArray:
        return np.asarray(table[column] > 0.5)

    return Threshold(
        statement=statement,
        sampling=Sampling(experiment=ONE_SHOT, max_trials=512, first=64),
        cells=cells,
        size="n",
        grid=lambda _cell: log_grid(5, 10**11, per_octave=2),
        success=success,
        event=event,
        scaling=("Delta", "m", "size_min"),
        # Any separation, more users at any shares, and a cluster of any smaller share.
        towards=({"Delta": 1}, {"Delta": -1}, {"m": 1, "size_min": 1}, {"size_min": -1}),
        values=lambda cell: {**cell, "m": float(users(cell))},
        precision=1.4,
        margin=0.2,  # a factor 1.6 over a decade; 30 cells of these sizes resolve no less
        present=lambda observed: recovery_phases(statement, observed, column, event),
    )


@claim(br.THRESHOLD_KM)
def threshold_km(statement: Statement, _profile: Profile) -> Threshold:
    """Exact recovery by K-means++, the best of four starts."""
    return _threshold(statement, "km", "exact recovery by K-means++")


@claim(br.THRESHOLD_CC)
def threshold_cc(statement: Statement, _profile: Profile) -> Threshold:
    """A certified penalty for convex clustering."""
    return _threshold(statement, "interval", "a penalty that (13) certifies")


# --- the requirement at the paper's experiments -------------------------------------------------

_ALPHA_KM = 2 + 200 * math.sqrt(10)
#: Lower limits of the constants: d = 20, features with 5 of 20 normal components, unit noise.
_LINEAR = {"d": 20.0, "L": 5.0, "mu": 0.25, "F_star": 0.5, "N": 0.0, "G_F": 0.0}
_TEN = {**_LINEAR, "R": 13 * math.sqrt(20), "Delta": 4 * math.sqrt(20)}
_FOUR = {**_LINEAR, "R": math.sqrt(20), "Delta": 2 * math.sqrt(20), "alpha": 4 * 75 / 25}
_LOGISTIC = {
    "d": 2.0, "L": 1.0, "mu": 1.0, "F_star": 0.0, "N": 0.0, "G_F": 0.0,
    "R": math.sqrt(2), "Delta": 1.0, "alpha": 4 * 75 / 25,
}  # fmt: skip
SETTINGS = {
    "Fig. 2, convex clustering": {**_TEN, "alpha": 4 * 90 / 10, "n": 400.0},
    "Fig. 2, K-means": {**_TEN, "alpha": _ALPHA_KM, "n": 400.0},
    "Fig. 3": {**_LOGISTIC, "n": 5000.0},
    "Fig. 4": {**_FOUR, "n": 1000.0},
}


#: Separations of the map, from far below to far above those of the experiments.
_SEPARATIONS = tuple(float(x) for x in np.geomspace(0.1, 1e8, 10))


@claim(br.THEOREM_1_VACUITY, expected=Verdict.VACUOUS)
def theorem_1_vacuity(statement: Statement, _profile: Profile) -> Vacuity:
    """Every synthetic experiment of the paper, at the sizes where it reports recovery."""
    return Vacuity(
        statement=_required(statement),
        settings=SETTINGS,
        along="n",
        smallest=3.0,
        across={"Delta": _SEPARATIONS},
    )


def _required(statement: Statement) -> Statement:
    """The statement whose one condition is the requirement that it states."""
    requirement = Assumption(
        name="sample requirement", left=br.SAMPLES, right=statement.expr, strict=True
    )
    return replace(statement, assumptions=(requirement,))


BELOW_THRESHOLD = Finding(
    id="odcl-fig5-phase",
    where="Appendix D.3, last paragraph",
    printed="$n=600$ is above the threshold shown in Theorem 1.",
    found="With lower limits for all constants the requirement is $n/\\log n>10^8$, while "
    "$600/\\log600=94$.",
    corrected="$n=600$ is above the observed threshold, and far below that of Theorem 1.",
    severity="strong",
)


@claim(br.FIG_5_PHASE, expected=Verdict.REFUTED, finding=BELOW_THRESHOLD)
def fig_5_phase(statement: Statement, _profile: Profile) -> Vacuity:
    """The experiment of Appendix D.3 with 600 samples a user."""
    return Vacuity(
        statement=_required(statement),
        settings={"Fig. 5, right": {**_FOUR, "n": 600.0}},
        along="n",
        smallest=3.0,
        claimed=True,
    )


# --- Remark 14 ----------------------------------------------------------------------------------


@claim(br.REMARK_14)
def remark_14(statement: Statement, profile: Profile) -> Search:
    """Single samples of the designs in one dimension, over the whole parameter space."""

    def distance(point: Point) -> float:
        own = constants_of(point)
        theta, sign = point["place"] * own["R"], 1.0 if point["sample"] else -1.0
        if point["design"] == "two-point":
            curvature = point["scale"] * (1.0 if point["sample"] else point["skew"])
            return float(abs(sign * own["N"] + (curvature - own["mu"]) * theta))
        width, p = point["scale"], point["skew"]
        right, left = math.tanh(theta / width - 1), math.tanh(theta / width + 1)
        return float(abs((right if point["sample"] else left) - p * right - (1 - p) * left))

    return exact_search(
        statement,
        profile,
        distance,
        constants_of,
        {
            **LINE,
            "design": Choice(("two-point", "cosh")),
            "place": Interval(-1.0, 1.0),
            "sample": Choice((0, 1)),
        },
    )

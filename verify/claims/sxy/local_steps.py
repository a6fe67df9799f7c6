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

from dataclasses import dataclass
from typing import Any

import numpy as np

from bounds.statement import Statement, evaluate
from bounds.sxy.local_steps import (
    KAPPA_AT_LEAST_ONE,
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
from bounds.sxy.symbols import P_avg, P_prox, kappa, kappa_prox, lambda_ij
from trials.checks import FloatArray
from verify.claim import Finding, claim
from verify.claims.common import Point
from verify.decisions.domain import Choice, Interval, IntRange, LogInterval, Ranges
from verify.evidence import Verdict
from verify.procedures.base import Profile
from verify.procedures.search import Search
from verify.proofs.certificate import Certificate, Inequality, certificate
from verify.proofs.terms import from_sympy

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
    "rule": Choice(("fedavg", "fedprox")),
    "M": IntRange(1, 4),
    "n": IntRange(1, 5),
    "d": IntRange(1, 4),
    "k": IntRange(1, 3),
    "s": IntRange(1, 20, log=True),
    "gamma": LogInterval(1e-6, 10.0),
    "unit": Choice((1.0, 1e-6, 1e6)),
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


def _drawn(point: Point, *, soft: bool) -> _Round:
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
    s = int(point["s"]) if point["rule"] == "fedavg" else 1
    return _Round(
        features, responses, weights, models, point["gamma"] / curvature, s, point["rule"]
    )


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


def _one_round(statement: Statement, profile: Profile, *, soft: bool) -> Search:
    """The new models of the printed local steps against (11)."""

    def sides(point: Point) -> tuple[float, float]:
        """The relative difference, and zero."""
        r = _drawn(point, soft=soft)
        moved = _local_models(r) - r.models
        stated = evaluate(statement.expr, {"eta": r.eta, "pull": 1.0}) * _recursion(r, statement)
        # Rounding of the local models is relative to them and to their largest intermediate.
        growth = max(1.0, abs(1.0 - point["gamma"])) ** (r.s if r.rule == "fedavg" else 0)
        scale = growth * (np.abs(r.models).max() + np.abs(moved).max())
        return float(np.abs(moved - stated).max() / scale), 0.0

    return Search(
        name=statement.id,
        violation=lambda point: sides(point)[0] - 1e-10,
        sides=sides,
        domain=ROUND_DOMAIN,
        budget=profile.searches,
        unit="largest difference of a coordinate, relative to the models",
    )


@claim(LEMMA_1)
def lemma_1(statement: Statement, profile: Profile) -> Search:
    """Hard labels: any step, number of local steps, sizes and units."""
    return _one_round(statement, profile, soft=False)


@claim(LEMMA_1_SOFT, finding=SOFT_LABELS)
def lemma_1_soft(statement: Statement, profile: Profile) -> Search:
    """Soft labels with the weight inside P."""
    return _one_round(statement, profile, soft=True)


TELESCOPING = Finding(
    id="sxy-telescoping",
    where="proof of Lemma 1, (a)",
    printed="$I-(I-X)^s=\\sum_{\\ell=0}^{s}(I-X)^\\ell X$.",
    found="The sum has one term too many. At $s=1$ it is $X+(I-X)X$.",
    corrected="$\\sum_{\\ell=0}^{s-1}$, as in the definition of $P_i$.",
    severity="edge",
)


def _telescoping(statement: Statement, profile: Profile) -> Search:
    """Both sides at an eigenvalue."""

    def sides(point: Point) -> tuple[float, float]:
        at = {"x": point["x"], "s": int(point["s"])}
        return 1.0 - (1.0 - at["x"]) ** at["s"], float(evaluate(statement.expr, at))

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

    return Search(
        name=statement.id,
        violation=lambda point: abs(sides(point)[0] - sides(point)[1]) - 1e-12,
        certify=one_step,
        sides=sides,
        domain={"s": IntRange(1, 100, log=True), "x": Interval(0.0, 1.0)},
        budget=profile.searches,
        unit="difference of the two sides",
    )


@claim(TELESCOPE_AS_PRINTED, expected=Verdict.REFUTED, finding=TELESCOPING)
def telescope_as_printed(statement: Statement, profile: Profile) -> Search:
    """One term too many."""
    return _telescoping(statement, profile)


@claim(TELESCOPE, finding=TELESCOPING)
def telescope(statement: Statement, profile: Profile) -> Search:
    """The sum with s terms."""
    return _telescoping(statement, profile)


# --- P and kappa --------------------------------------------------------------------------------

STABLE_DOMAIN: Ranges = {
    "rule": Choice(("fedavg", "fedprox")),
    "n": IntRange(1, 5),
    "d": IntRange(1, 5),
    "s": IntRange(1, 1000, log=True),
    "gamma": LogInterval(1e-6, 0.999),
    "unit": Choice((1.0, 1e-6, 1e6)),
    "seed": IntRange(0, 1000),
}


def _steps(point: Point) -> int:
    return int(point["s"]) if point["rule"] == "fedavg" else 1


def _spectrum_of_p(point: Point) -> FloatArray:
    """P's eigenvalues in ascending order, P summed power by power or inverted."""
    rng = np.random.default_rng(int(point["seed"]))
    n = int(point["n"])
    phi = point["unit"] * rng.standard_normal((n, int(point["d"])))
    if point["seed"] % 3 == 0:
        phi[-1] = phi[0]  # dependent rows
    gram = phi @ phi.T / n
    eta = point["gamma"] / np.linalg.norm(gram, 2)
    if point["rule"] == "fedprox":
        return np.asarray(np.linalg.eigvalsh(np.linalg.inv(np.eye(n) + eta * gram)))
    # sum of the first s powers, by doubling: S_2m = S_m + A^m S_m
    power, total, done = np.eye(n) - eta * gram, np.eye(n), 1
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


@claim(P_SPECTRUM_LOWER)
def p_spectrum_lower(statement: Statement, profile: Profile) -> Search:
    """The smallest eigenvalue, dense P of data of any shape, dependent rows included."""

    def sides(point: Point) -> tuple[float, float]:
        at = {"s": _steps(point), "kappa": _kappa(statement, point)}
        return float(_spectrum_of_p(point)[0]), float(evaluate(statement.expr, at))

    return Search(
        name=statement.id,
        violation=lambda point: 1.0 - sides(point)[0] / sides(point)[1] - 1e-8,
        sides=sides,
        domain=STABLE_DOMAIN,
        budget=profile.searches,
        unit="share of the bound that is missing",
    )


@claim(P_SPECTRUM_UPPER)
def p_spectrum_upper(statement: Statement, profile: Profile) -> Search:
    """The largest eigenvalue."""

    def sides(point: Point) -> tuple[float, float]:
        bound = evaluate(statement.expr, {"s": _steps(point)})
        return float(_spectrum_of_p(point)[-1]), float(bound)

    return Search(
        name=statement.id,
        violation=lambda point: sides(point)[0] / sides(point)[1] - 1.0 - 1e-8,
        sides=sides,
        domain=STABLE_DOMAIN,
        budget=profile.searches,
        unit="excess over the bound, relative",
    )


@claim(KAPPA_AT_LEAST_ONE)
def kappa_at_least_one(statement: Statement, profile: Profile) -> Search:
    """Kappa over steps and stable step sizes, both rules."""

    def sides(point: Point) -> tuple[float, float]:
        return _kappa(statement, point), float(evaluate(statement.expr, {}))

    return Search(
        name=statement.id,
        violation=lambda point: sides(point)[1] - sides(point)[0] - 1e-9,
        sides=sides,
        domain={name: STABLE_DOMAIN[name] for name in ("rule", "s", "gamma")},
        budget=profile.searches,
        unit="one minus kappa",
    )


@claim(VERTEX)
def vertex(statement: Statement, profile: Profile) -> Search:
    """The loss at random likelihoods, equal losses included, against the best vertex."""

    def sides(point: Point) -> tuple[float, float]:
        rng = np.random.default_rng(int(point["seed"]))
        shape = (int(point["n"]), int(point["d"]))
        phi, y = rng.standard_normal(shape), rng.standard_normal(shape[0])
        models = rng.standard_normal((int(point["k"]), shape[1]))
        if point["tie"]:
            models[-1] = models[0]
        losses = 0.5 * np.mean((y - models @ phi.T) ** 2, axis=1)
        weights = rng.dirichlet(np.full(len(models), point["spread"]))
        least = float(evaluate(statement.expr, {"least": losses.min()}))
        return float(weights @ losses), least

    return Search(
        name=statement.id,
        violation=lambda point: sides(point)[1] - sides(point)[0] - 1e-12,
        sides=sides,
        domain={
            "n": IntRange(1, 5),
            "d": IntRange(1, 5),
            "k": IntRange(1, 16),
            "spread": LogInterval(0.01, 100.0),
            "tie": Choice((0, 1)),
            "seed": IntRange(0, 1000),
        },
        budget=profile.searches,
        unit="loss at the vertex minus loss",
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

SAVING_DOMAIN: Ranges = {"s": IntRange(2, 1000, log=True), "gamma": LogInterval(1e-6, 0.999)}


def _rounds_at(s: int, gamma: float) -> float:
    """The rounds of Theorem 3, in units of the largest curvature."""
    return float(evaluate(ROUNDS, {"s": s, "gamma": gamma}))


def _inside(statement: Statement, point: Point) -> bool:
    at: dict[str, Any] = {"s": int(point["s"]), "gamma": point["gamma"]}
    return all(a.holds(at) for a in statement.assumptions)


@claim(NO_SAVING, finding=NO_SAVING_FINDING)
def no_saving(statement: Statement, profile: Profile) -> Search:
    """Every number of local steps against single steps of the largest size."""

    def sides(point: Point) -> tuple[float, float]:
        return _rounds_at(int(point["s"]), point["gamma"]), float(evaluate(statement.expr, {}))

    return Search(
        name=statement.id,
        violation=lambda point: 1.0 - sides(point)[0] / sides(point)[1] - 1e-9,
        constraints=lambda point: _inside(statement, point),
        sides=sides,
        domain={**SAVING_DOMAIN, "s": IntRange(1, 1000, log=True)},
        budget=profile.searches,
        unit="share of the rounds of single steps that is saved",
    )


@claim(SAVING_SAME_STEP, finding=NO_SAVING_FINDING)
def saving_same_step(statement: Statement, profile: Profile) -> Search:
    """Twice as many local steps at the same step size."""

    def sides(point: Point) -> tuple[float, float]:
        s, gamma = int(point["s"]), point["gamma"]
        return _rounds_at(2 * s, gamma), float(evaluate(statement.expr, {"s": s, "gamma": gamma}))

    return Search(
        name=statement.id,
        violation=lambda point: sides(point)[0] / sides(point)[1] - 1.0 - 1e-9,
        constraints=lambda point: _inside(statement, point),
        sides=sides,
        domain={**SAVING_DOMAIN, "s": IntRange(1, 1000, log=True)},
        budget=profile.searches,
        unit="rounds with twice the local steps over rounds, minus one",
    )

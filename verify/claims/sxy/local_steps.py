r"""Local steps of Phase 2: Lemma 1, and the likelihoods (7) that end in a vertex (8).

Problem. A client makes s gradient steps, or one proximal step, and the server averages.  What is
the map of a whole round?

Guarantee. `bounds.sxy.local_steps`: the round is the linear step (11) with a matrix P.

Algorithm. The local steps as they are printed, one after the other (`_local_models`), against (11)
with dense matrices P (`_recursion`).  No trial is drawn.

Computation. Searches over data of one to four clients of any shapes and units.

Reference. Lemma 1 and its proof (B.1), (7) and (8).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import sympy as sp

from bounds.statement import Statement, evaluate
from bounds.sxy.local_steps import (
    LEMMA_1,
    LEMMA_1_SOFT,
    TELESCOPE,
    TELESCOPE_AS_PRINTED,
    VERTEX,
)
from bounds.sxy.symbols import (
    P_avg,
    P_prox,
    eta,
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
from verify.decisions.measures import DIFFERENCE
from verify.procedures.base import Profile
from verify.procedures.search import Search
from verify.proofs.arrays import Arrays, Members, Recursion, both_ways, total
from verify.proofs.certificate import Certificate, Inequality, certificate
from verify.proofs.propositions import NOT_NEGATIVE, POSITIVE, Everywhere, Reduction, Sizes
from verify.proofs.terms import from_sympy

#: Rounding of two sides that are equal.
EQUAL = replace(DIFFERENCE, tolerance=1e-10)

STEPS_MEANING = "number of local steps with FedAvg (FedProx makes one)"
RULE_MEANING = "rule of the local update: FedAvg or FedProx"

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
    "rule": Choice(("fedavg", "fedprox"), meaning=RULE_MEANING),
    "M": IntRange(1, 4),
    "n": IntRange(1, 5, meaning="most rows of a client (the number is drawn from 1 to it)"),
    "d": IntRange(1, 4),
    "k": IntRange(1, 3),
    "s": IntRange(1, 20, log=True, meaning=STEPS_MEANING),
    "gamma": LogInterval(1e-6, 10.0),
    "unit": Choice(
        (1.0, 1e-6, 1e6), meaning="factor that multiplies the features and divides the models"
    ),
    "seed": IntRange(0, 1000),
}


def steps_of(point: Point) -> int:
    """Local steps of a client: FedProx makes one."""
    return int(point["s"]) if point["rule"] == "fedavg" else 1


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
    return _Round(features, responses, weights, models, step, steps_of(point), point["rule"])


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


#: A model at the start, a moment, a weight and an eigenvalue, along one eigenvector.
_ALONG = sp.symbols("start moment lambda_ij x")


@cache
def _local_model(rule: str, n_steps: int, soft: bool) -> sp.Expr:
    """A client's model after its local steps, as the steps are printed."""
    start, moment, weight, eigenvalue = _ALONG
    if rule == "fedprox":
        step = eta * weight if soft else eta
        return (start + step * moment) / (1 + step * eigenvalue)
    return _steps(n_steps, soft).as_expr()


@cache
def _steps(n_steps: int, soft: bool) -> Any:
    """The model after steps of gradient descent, as a polynomial: these multiply at once."""
    _, start, moment, weight, eigenvalue, size = sp.ring((*_ALONG, eta), sp.QQ)
    if n_steps == 0:
        return start
    model, step = _steps(n_steps - 1, soft), size * weight if soft else size
    return model - step * (eigenvalue * model - moment)


@cache
def _after_steps(definition: sp.Expr, n_steps: int) -> sp.Expr:
    """A definition at a number of steps, without the sign of a sum."""
    return definition.subs(s, n_steps).doit()


def _of_steps(statement: Statement, rule: str, n_steps: int, soft: bool) -> Reduction:
    """The round of one rule and one number of steps, along one eigenvector of a Gram matrix."""
    start, moment, weight, eigenvalue = _ALONG
    model = _local_model(rule, n_steps, soft)
    definition = statement.definitions[P_avg if rule == "fedavg" else P_prox]
    filtered = _after_steps(definition, n_steps)
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
            "eta": POSITIVE,
            "x": NOT_NEGATIVE,  # of dependent rows, or of fewer than columns, it is zero
            "lambda_ij": Interval(0.0, 1.0),
        },
        left=model,
        right=start + statement.expr.subs(pull, stated),
        quantities=quantities,
        computed=computed,
        of=lambda point: point["rule"] == rule and steps_of(point) == n_steps,
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

r"""Lemma 3 of IFCA: the identity of a client when only the variance of its loss is known.

Problem. Every model is within (1/2 - alpha) sqrt(lambda/L) Delta of its optimum.  How often does a
client take a wrong one?

Guarantee. `bounds.ifca.lemma_3`: with a probability of at most c1 eta^2/(alpha^2 lambda^2 Delta^4
n'), and k times as much over all rivals.

Algorithm. None is run.  Rare spikes (`trials.laws.spike`) are the worst laws for a given variance.
Their label law is a closed form for every n' and k.  Gaussian noise is the friendly end.

Computation. Constants exhibited by argument.  c1 = 4 by Cantelli, as two averages of variance
eta^2/n' differ by a variance of at most 4 eta^2/n'.  The union: c1 = 2 by Minkowski and Markov.

Reference. TIT 2022, Section V-B and the proof of Lemma 3.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import sympy as sp
from scipy import special

from bounds.ifca import lemma_3 as bl
from bounds.statement import Statement, evaluate
from trials.laws.spike import spike_probability, wrong_label
from verify.claim import row, table
from verify.claims.common import Point
from verify.claims.searching import Constants, search
from verify.decisions.domain import Choice, Interval, IntRange, LogInterval, Range, Ranges
from verify.procedures.base import Profile
from verify.procedures.search import Search
from verify.proofs.propositions import POSITIVE, Everywhere, Reduction

# --- The gap between two mean losses ------------------------------------------------------------

CONDITION = "condition number $L/\\lambda$"
LAM = LogInterval(1e-3, 1e3, meaning="strong convexity $\\lambda$ of the mean losses")
SHAPE: Ranges = {
    "lam": LAM,
    "condition": LogInterval(1.0, 1e4, meaning=CONDITION),
    "Delta": LogInterval(1e-2, 2.0),
    "alpha": Interval(-0.1, 0.4999),
}


def shape(point: Point) -> dict[str, float]:
    """The statements' symbols at a point, with L = lam times the condition number."""
    return {**point, "L": point["lam"] * point["condition"]}


_OWN = "distance of the own model from its optimum over the allowed radius"
_RIVAL = "displacement of the rival model towards the own optimum over the allowed radius"
_STEEP = "exponent $s$ in the curvature $\\lambda(L/\\lambda)^s$ along the error of the own model"


_LAM, _L, _DELTA, _ALPHA = sp.symbols("lam L Delta alpha")


def gap(statement: Statement, profile: Profile) -> Search:
    """Quadratic losses: the own model errs where the curvature lies between lam and L.

    The rival errs towards the own optimum, where the curvature is lam.
    """

    curvature, own, rival = sp.symbols("curvature own rival")
    far, near = _DELTA - rival * bl.RADIUS, own * bl.RADIUS

    def at(point: Point) -> dict[str, float]:
        return {**shape(point), "curvature": point["lam"] * point["condition"] ** point["steep"]}

    domain = {
        **SHAPE,
        "own": Interval(0.0, 1.0, meaning=_OWN),
        "rival": Interval(-1.0, 1.0, meaning=_RIVAL),
        "steep": Interval(0.0, 1.0, meaning=_STEEP),
    }
    return search(
        statement,
        profile,
        (_LAM * far**2 - curvature * near**2) / 2,
        domain,
        at=at,
        everywhere=Everywhere(
            {
                **dict.fromkeys(("lam", "L", "Delta", "alpha", "curvature"), POSITIVE),
                "own": Interval(0.0, 1.0),
                "rival": Interval(-1.0, 1.0),
            },
            given=((_L, curvature), (curvature, _LAM)),
            by="Above its minimum a loss is at least $\\frac\\lambda2$ times the squared distance "
            "from its optimum, and at most $\\frac L2$ times (Nesterov, Introductory Lectures on "
            "Convex Optimization, theorems 2.1.8 and 2.1.5). By the triangle inequality the rival "
            "is no nearer to the optimum than $\\Delta$ less its own error.",
        ),
        budget=profile.searches // 8,
    )


GAPS = table(
    gap,
    # attained where lambda = L
    row("ifca.lemma3-gap", bl.LEMMA_3_GAP),
    # attained by two curvatures
    row("ifca.lemma3-gap-sharp", bl.LEMMA_3_GAP_SHARP),
)

# --- The probability of a wrong label -----------------------------------------------------------

_LAW = "law of the noise of the losses: rare spikes, or Gaussian and independent"
LABELS: Ranges = {
    **SHAPE,
    "X": LogInterval(
        1e-9,
        10.0,
        meaning="value of $\\eta^2/(\\alpha^2\\lambda^2\\Delta^4n^\\prime)$, which sets $\\eta$",
    ),
    "n": IntRange(1, 10**9, log=True),
    "k": IntRange(2, 1000, log=True),
    "law": Choice(("spike", "gaussian"), meaning=_LAW),
}


#: The noise is in units of the closeness.  Near zero it has no size.
_LEAST = 1e-4


def with_noise(point: Point) -> dict[str, float]:
    """The symbols at a point, where eta has the size at which X takes the point's value."""
    scale = abs(point["alpha"]) * point["lam"] * point["Delta"] ** 2
    return {**shape(point), "eta": scale * math.sqrt(point["n"] * point["X"])}


def find_mislabelled(point: Point, models: int) -> float:
    """The probability of a wrong label at the smallest gap, from the exact law.

    Gaussian noise is independent between models, and a union bound is then an upper limit for
    more than two.
    """
    at = with_noise(point)
    smallest = float(evaluate(bl.GAP, at))
    # the spikes close a gap above zero, which a closeness above zero gives
    if point["law"] == "spike" and smallest > 0.0:
        return wrong_label(smallest, at["eta"], int(point["n"]), models)
    pair = special.ndtr(-smallest * math.sqrt(point["n"] / 2.0) / at["eta"])
    return float(min(1.0, (models - 1) * pair))


_GAP, _ETA, _N, _K = sp.symbols("gap eta n k")
_SYMBOLS: Ranges = dict.fromkeys(("gap", "lam", "Delta", "alpha", "eta", "n"), POSITIVE)
_SEEN = _ALPHA * _LAM * _DELTA**2  # the least gap


def _smallest_gap(point: Point) -> dict[str, float]:
    return {"gap": float(evaluate(bl.GAP, with_noise(point)))}


_VARIANCE = 4 * _ETA**2 / _N
PAIR = Reduction(
    idea="A client errs where the difference of two averages of losses reaches the gap of their "
    "means. The difference has a variance of at most $4\\eta^2/n'$, however the two losses depend "
    "on each other. Cantelli's inequality bounds the probability by the variance over the sum "
    "of the variance and the squared gap. The gap is at least $\\alpha\\lambda\\Delta^2$.",
    lemmas=("cantelli", "ifca.lemma3-gap"),
    ranges=_SYMBOLS,
    given=((_GAP, _SEEN),),
    quantities=_smallest_gap,
    left=_VARIANCE / (_VARIANCE + _GAP**2),
)
RIVALS = Reduction(
    idea="A wrong client has a deviation of its own loss and of some rival's that add up to the "
    "gap. The largest deviation of $k-1$ rivals has a second moment of at most $(k-1)\\eta^2/n'$. "
    "By Minkowski's inequality the sum has at most $(1+\\sqrt{k-1})^2\\eta^2/n'$, and Markov's "
    "inequality for its square gives the bound. The gap is at least $\\alpha\\lambda\\Delta^2$.",
    lemmas=("minkowski", "markov", "ifca.lemma3-gap"),
    ranges={**_SYMBOLS, "k": LogInterval(2.0, math.inf)},
    given=((_GAP, _SEEN),),
    quantities=_smallest_gap,
    left=(1 + sp.sqrt(_K - 1)) ** 2 * _ETA**2 / (_N * _GAP**2),
    hints=((">=", 2 * _K, (1 + sp.sqrt(_K - 1)) ** 2),),
)
_ROOTS = (1 + sp.sqrt(_K - 1)) ** 2
_MEANT = _N * _SEEN**2 - 4 * _K * _ETA**2
#: The same with the samples that Assumption 6 asks for, C_n = 4.
RIVALS_HALF = replace(
    RIVALS,
    hints=(
        (">=", 2 * _K, _ROOTS),
        (">=", _K, 1),
        (
            ">=",
            _GAP**2,
            _SEEN**2,
            ("sum", 1, ("+", (_GAP - _SEEN) ** 2, ("*", 2, _SEEN, _GAP - _SEEN))),
        ),
        (">=", _N * _SEEN**2, 4 * _K * _ETA**2),
        (
            "sum",
            2 * _N * _GAP**2,
            (
                "+",
                ("*", _N, _GAP**2 - _SEEN**2),
                _MEANT,
                ("*", 2, _ETA**2, 2 * _K - _ROOTS),
            ),
        ),
    ),
)
TWO_POINTS = Reduction(
    idea="With one sample and two models the worst law has two points. Its probability of a wrong "
    "label is a closed form in the gap, with equality in Cantelli's inequality. The gap is "
    "$\\alpha\\lambda\\Delta^2$ where $\\lambda=L$.",
    lemmas=("cantelli",),
    ranges=_SYMBOLS,
    constants={"gap": _SEEN},
    left=1 / (1 + _GAP**2 / (4 * _ETA**2)),
)
_Q, _Y = sp.symbols("q y")


def _spikes(point: Point) -> dict[str, float]:
    at, gap = with_noise(point), _smallest_gap(point)["gap"]
    pi = spike_probability(gap, at["eta"], int(point["n"]), 2)
    noise = at["eta"] ** 2 / (float(evaluate(_SEEN, at)) ** 2 * at["n"])
    return {"q": point["n"] * pi, "y": min(1.0, 4 * noise)}


SPIKES = Reduction(
    idea="A client is wrong exactly where one of its samples has a spike, with probability "
    "$1-(1-q/n')^{n'}\\ge1-e^{-q}$ for a mean number $q$ of spikes. The spikes close the gap, so "
    "$4X(1-q)^2\\le q$, and so it is with $y=\\min(1,4X)$. One minus the exponential is at least "
    "$q/(1+q)$, and that is at least $y/4$.",
    lemmas=("exponential",),
    ranges={"q": Interval(0.0, 1.0), "y": Interval(0.0, 1.0)},
    given=((_Q, _Y * (1 - _Q) ** 2),),
    quantities=_spikes,
    left=1 - sp.exp(-_Q),
    right=_Y / 4,
    hints=(
        (">=", _Q / (1 + _Q), _Y / 4, ("cases", _Q - sp.Rational(1, 3))),
        (">=", 1 - sp.exp(-_Q), _Q / (1 + _Q), ("exp", _Q)),
    ),
)


def labels(
    statement: Statement,
    profile: Profile,
    *,
    reduction: Reduction,
    models: int | None = None,
    constants: Constants | None = None,
    **ranges: Range,
) -> Search:
    """The exact probability of a wrong label among some models, by default k.

    ``ranges`` take the place of those of `LABELS`.
    """
    return search(
        statement,
        profile,
        lambda point: find_mislabelled(point, models or point["k"]),
        {**LABELS, **ranges},
        at=with_noise,
        constants=constants,
        where=lambda point: abs(point["alpha"]) >= _LEAST,
        everywhere=reduction,
        budget=profile.searches // 8,
    )


_TWO: dict[str, Any] = {
    "models": 2,
    "k": IntRange(
        2, 1000, True, meaning="number of clusters, without effect: the claim is about two models"
    ),
}
#: Rare spikes where lambda = L, with a gap above zero.
_WORST: dict[str, Any] = {
    **_TWO,
    "alpha": Interval(1e-4, 0.4999),
    "condition": Choice((1.0,), meaning=CONDITION),
    "law": Choice(("spike",), meaning=_LAW),
}
LEMMA_3 = table(
    labels,
    row("ifca.lemma3", bl.LEMMA_3, reduction=PAIR, constants={"c_1": 4.0}, **_TWO),
    row(
        "ifca.lemma3-attained",
        bl.LEMMA_3_ATTAINED,
        reduction=TWO_POINTS,
        n=Choice((1,)),
        **_WORST,
    ),
    row("ifca.lemma3-union", bl.LEMMA_3_UNION, reduction=RIVALS, constants={"c_1": 2.0}),
    row("ifca.lemma3-union-sharp", bl.LEMMA_3_UNION_SHARP, reduction=RIVALS),
    row("ifca.lemma3-rate", bl.LEMMA_3_RATE, reduction=SPIKES, **_WORST),
)

r"""The probability that IFCA's client takes a wrong label, by the exact law, as a search needs it.

A point of a search gives the closeness, the signal-to-noise ratio, the samples and the positions of
the models.  Lengths are in units of Delta, so that the noise variance is 1/rho.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import mpmath
import numpy as np
import sympy as sp
from scipy.special import ndtr

from bounds import gaussian
from bounds.ifca.hidden import LEMMA_1_RATE as LEMMA_1_RATE
from bounds.ifca.symbols import n as N_PRIME
from bounds.statement import Statement, evaluate
from trials.checks import FloatArray
from verify.claims.common import CannotTry, Point
from verify.claims.searching import search
from verify.decisions.domain import Choice, Interval, IntRange, LogInterval, Ranges
from verify.decisions.measures import LOG_PROBABILITY, LOWEST, Limits, Measure
from verify.decisions.search import SearchResult
from verify.procedures.base import Presentation, Profile
from verify.procedures.search import Search
from verify.proofs.propositions import NOT_NEGATIVE, POSITIVE, Everywhere, Reduction

#: Closeness across zero, where the condition ends.
CLOSENESS = Interval(-0.1, 0.49)
SIGNAL_DOMAIN: Ranges = {
    "alpha": CLOSENESS,
    "rho": LogInterval(1e-3, 1e3),
    "n": IntRange(1, 1_000_000, log=True),
}


#: The tail of the Student law as a share of a sphere.
CAP = (
    "A cap of angular radius $\\varphi\\le\\frac\\pi2$ is at most the share "
    "$\\frac12\\sin^{n}\\varphi$ of the sphere in $R^{n+1}$, so "
    "$P(t_n\\ge\\sqrt nx)\\le\\frac12(1+x^2)^{-n/2}$ for $x\\ge0$."
)
#: The face where Lemma 1 is nearest to an equality.
_EDGE = {"s_a": 1.0, "s_b": 1.0, "psi": 0.0, "t": 1.0}


def pair_vectors(point: Point) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """``u_a`` and ``u_b`` of two models in units of Delta, anywhere in their balls.

    The optima are ``t >= 1`` apart on the first axis.  Model a is displaced by ``s_a`` of the
    allowed radius at angle ``phi_a``, model b by ``s_b`` at ``phi_b`` with dihedral angle ``psi``.
    Three dimensions are enough for every configuration of two optima and two models up to rotation.
    """
    radius = 0.5 - point["alpha"]
    if point.get("edge"):
        point = {**point, **_EDGE}
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


#: Lengths are shares of what the closeness allows.  At the edge they are one and psi is zero.
PLACES: Ranges = {
    "s_a": Interval(0.0, 1.0, meaning="length of the own model's displacement"),
    "s_b": Interval(0.0, 1.0, meaning="length of the rival model's displacement"),
    "phi_a": Interval(0.0, math.pi, meaning="angle of the own displacement with the segment"),
    "phi_b": Interval(0.0, math.pi, meaning="angle of the rival displacement, 0 is outwards"),
    "psi": Interval(0.0, math.pi, meaning="angle between the planes of the two displacements"),
    "t": LogInterval(1.0, 10.0, meaning="distance between the two optima over $\\Delta$"),
    "edge": Choice((True, False), meaning="whether all lengths and $t$ are one, and $\\psi=0$"),
}
PAIR_DOMAIN: Ranges = {**SIGNAL_DOMAIN, **PLACES}


def pair_log_probability(point: Point) -> float:
    """Log of the exact pairwise misidentification probability at a point of `PAIR_DOMAIN`."""
    u_a, u_b = pair_vectors(point)
    ratio = gaussian.pairwise_ratio(
        float(u_a @ u_a), float(u_a @ u_b), float(u_b @ u_b), 1.0 / point["rho"]
    )
    return max(gaussian.pairwise_log_probability(ratio, point["n"]), LOWEST)


def pair_log_probability_mp(point: Point) -> mpmath.mpf:
    if point.get("edge"):
        point = {**point, **_EDGE}
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


#: How the models are displaced.  ``translation`` moves the client's own model straight away from
#: one rival.  Otherwise it lies at the angle ``tilt`` from the rivals' mean: towards them, across,
#: away from all of them, or anywhere between.  Or it lies at its optimum.
TILTS = {"adversarial": 0.0, "orthogonal": math.pi / 2, "away": math.pi}
START_DOMAIN: Ranges = {
    "k": IntRange(2, 128, log=True),
    "start": Choice(
        ("translation", "away", "orthogonal", "adversarial", "optimum", "tilted", "random"),
        meaning="where the own model lies relative to the rivals, or random for all models",
    ),
    "tilt": Interval(0.0, math.pi, meaning="angle of the own model with the rivals, if tilted"),
    "seed": IntRange(0, 10_000),
}
CLUSTER_DOMAIN: Ranges = {**SIGNAL_DOMAIN, **START_DOMAIN}


def wrong_label(point: Point) -> Limits:
    """Limits on the probability that a client of cluster 0 takes any wrong label.

    Optima form a simplex.  Every rival's model is displaced by the whole radius, towards the
    client's optimum or in a random direction.  Upper limit: the sum over the rivals of the exact
    probabilities that their models are preferred.  Lower limit: the largest of these, or, where all
    rivals are alike, Bonferroni's sum less the probabilities of two rivals at once.  With one
    sample a label is close to a guess among all rivals: `_AlikeRivals.log_some_at_one`.
    """
    k, radius = int(point["k"]), 0.5 - point["alpha"]
    if point["start"] == "random":
        logs = _random_rivals(point, k, radius)
        return Limits(lower=float(logs.max()), upper=float(np.logaddexp.reduce(logs)))
    n, others = int(point["n"]), k - 1
    if point["start"] == "translation":
        one, rest = (
            _AlikeRivals(own=radius, rival=1.0 - radius, cosine=c, noise=1.0 / point["rho"])
            for c in (-1.0, -0.5)
        )
        first = one.log_one(n)
        more = rest.log_one(n) + math.log(others - 1) if others > 1 else LOWEST
        return Limits(lower=first, upper=min(float(np.logaddexp(first, more)), 0.0))
    own = 0.0 if point["start"] == "optimum" else radius
    # The cosine of the angle between the rivals' mean direction and each of them.
    angle = TILTS.get(point["start"], float(point["tilt"]))
    cosine = math.cos(angle) * math.sqrt(k / (2 * (k - 1)))
    rivals = _AlikeRivals(own=own, rival=1.0 - radius, cosine=cosine, noise=1.0 / point["rho"])
    each = rivals.log_one(n)
    both = rivals.log_two(n) + math.log(max(others * (others - 1) / 2, 1)) if others > 1 else LOWEST
    total = each + math.log(others)
    lower = total + math.log1p(-math.exp(both - total)) if both < total else LOWEST
    if n == 1:
        lower = max(lower, rivals.log_some_at_one(others))
    return Limits(lower=max(each, lower), upper=min(total, 0.0))


def _random_rivals(point: Point, k: int, radius: float) -> np.ndarray[Any, Any]:
    """Log P of preferring each rival, every model displaced in a random direction."""
    rng = np.random.default_rng(int(point["seed"]))
    optima = np.hstack([np.eye(k) / math.sqrt(2), np.zeros((k, k))])
    drift = rng.standard_normal(optima.shape)
    models = optima + radius * drift / np.linalg.norm(drift, axis=1, keepdims=True)
    u_a, u_b = np.broadcast_arrays(models[:1] - optima[:1], models[1:] - optima[:1])
    ratios = gaussian.pairwise_ratios(
        np.sum(u_a * u_a, axis=1),
        np.sum(u_a * u_b, axis=1),
        np.sum(u_b * u_b, axis=1),
        1 / point["rho"],
    )
    return np.maximum(gaussian.pairwise_log_probabilities(ratios, int(point["n"])), LOWEST)


@dataclass(frozen=True, kw_only=True)
class _AlikeRivals:
    """Rivals at one distance from the client's optimum, 60 degrees apart.

    ``cosine`` is that of the angle between the own model and each rival.  Lengths are in units of
    Delta.
    """

    own: float
    rival: float
    cosine: float
    noise: float

    def log_one(self, n: int) -> float:
        """Log of the exact probability of preferring one rival."""
        cross = self.own * self.rival * self.cosine
        ratio = gaussian.pairwise_ratio(self.own**2, cross, self.rival**2, self.noise)
        return max(gaussian.pairwise_log_probability(ratio, n), LOWEST)

    def log_two(self, n: int) -> float:
        r"""Log of Chernoff's limit on the probability of preferring each of two rivals.

        Then the mean of the rivals' losses is at most the own loss.  The sum and the difference of
        the rivals' residuals are independent, so that the moment at t is
        :math:`(1+tb^2/2)^{-n/2}\det(I-2tS\,\mathrm{diag}(1,-\tfrac12))^{-n/2}`.
        """
        own, cross = self.own**2 + self.noise, self.own * self.rival * self.cosine + self.noise
        half = self.rival**2 / 2
        twice = 2 * self.noise + 3 * half  # the variance of the rivals' sum over sqrt 2
        t = np.geomspace(1e-3, 10.0, 60) / (own + twice)
        inside = (1 - 2 * t * own) * (1 + t * twice) + 4 * t**2 * cross**2
        positive = np.logical_and.accumulate(inside > 0)
        if not positive.any():
            return 0.0
        logs = np.log(inside[positive]) + np.log1p(t[positive] * half)
        return -0.5 * n * max(float(logs.max()), 0.0)

    def log_some_at_one(self, others: int) -> float:
        r"""Log of a lower limit on the probability of preferring some rival, with one sample.

        The residual of rival j is :math:`c+g_j` with independent :math:`g_j`, and the own one is
        :math:`\beta c+w`.  Given both, the rivals fail independently, each with a probability that
        grows with the length of c and falls with that of the own residual.  The own length grows
        with that of c too.  So the corners of a grid over both give a sum that is at least the
        probability that no rival is preferred.  Few rivals may have covariances that no such c has:
        then the limit is `LOWEST`.
        """
        cross = self.own * self.rival * self.cosine + self.noise
        shared = self.noise + self.rival**2 / 2
        left = self.own**2 + self.noise - cross**2 / shared
        if left <= 0:
            return LOWEST
        c = np.sqrt(shared) * _GRID
        mean, deviation = cross / shared * c[:-1, None], math.sqrt(left)
        own = math.sqrt(self.own**2 + self.noise) * _GRID
        shorter = _within(own, mean, deviation)
        shares = np.diff(np.concatenate([shorter, np.ones((len(c) - 1, 1))], axis=1))
        fails = 1 - _within(own, c[1:, None], self.rival / math.sqrt(2))
        inside = np.diff(2 * ndtr(_GRID))
        none = float(inside @ (shares * fails**others).sum(axis=1)) + 2 * float(ndtr(-_GRID[-1]))
        return math.log1p(-none) if none < 1 else LOWEST


#: In standard deviations, for the lengths of two residuals.
_GRID = np.linspace(0.0, 6.0, 97)


def _within(length: FloatArray, mean: FloatArray, deviation: float) -> FloatArray:
    """P(|x| <= length) of a Gaussian x."""
    low, high = (-length - mean) / deviation, (length - mean) / deviation
    return np.asarray(ndtr(high) - ndtr(low))


def some_client(each: Limits, n_clients: float) -> Limits:
    """Limits on the probability that some of so many independent clients has the event."""

    def some(log_each: float) -> float:
        log_sum = log_each + math.log(n_clients)
        if log_sum < -30:  # then it is m P to rounding
            return max(log_sum, LOWEST)
        if log_each > -1e-12:
            return 0.0
        return math.log(-math.expm1(n_clients * math.log1p(-math.exp(log_each))))

    return Limits(lower=some(each.lower), upper=some(each.upper))


def stranger(point: Point) -> Limits:
    """The probability that a client enters cluster 0, exact for two clusters.

    With more clusters the client must also prefer model 0 to the others, so two are the worst.
    """
    log = pair_log_probability(point)
    return Limits(lower=log, upper=log)


#: As many samples as Assumption 2 asks for, and up to ``beyond`` times as many.
REGIME_DOMAIN: Ranges = {
    "alpha": CLOSENESS,
    "rho": LogInterval(1e-3, 1e3),
    "m": IntRange(2, 10_000_000, log=True),
    "beyond": LogInterval(1.0, 100.0, meaning="samples over the least that are asked for"),
}


def _not_too_close(point: Point) -> Point:
    """A point with a closeness of 0.01 or more.  A smaller one would ask for too many samples."""
    return {**point, "alpha": max(abs(point["alpha"]), 0.01)}


@lru_cache(maxsize=64, typed=True)
def _samples_asked_for(left: sp.Expr, right: sp.Expr, hidden: float) -> sp.Expr:
    """The n' at which ``left`` is ``hidden`` times ``right``, where ``left`` is proportional to n'.

    Every claim of a form asks for it when it is built, and a proof's points ask one by one.
    """
    return sp.simplify(hidden * right * N_PRIME / left.doit())


def in_regime(statement: Statement, constants: Mapping[str, float]) -> Callable[[Point], Point]:
    """A map from a point to the same point with the n' that the statement's assumption requires.

    n' is ``beyond`` times the least number of samples per client that the assumption allows with
    its hidden constant, rounded up.  A closeness below 0.01 gets the samples of 0.01, which the
    assumption then refuses.
    """
    (assumption,) = (a for a in statement.assumptions if a.name == "samples per client")
    assert assumption.constant is not None
    hidden = constants[assumption.constant.name]
    need = _samples_asked_for(assumption.left, assumption.right, hidden)
    if N_PRIME in need.free_symbols:
        raise CannotTry(f"{statement.id}: {assumption.name!r} must be proportional to n")
    return lambda point: {
        **point,
        "n": math.ceil(point["beyond"] * float(evaluate(need, _not_too_close(point)))),
    }


def in_the_regime(
    statement: Statement,
    profile: Profile,
    *,
    observed: Callable[[Point], float | Limits],
    constants: Mapping[str, float],
    domain: Ranges,
    reduction: Reduction,
    measure: Measure = LOG_PROBABILITY,
) -> Search:
    """A bound under Assumption 2, tried at the n' that it asks for, with up to m clusters."""
    full = in_regime(statement, constants)
    return search(
        statement,
        profile,
        lambda point: observed(full(point)),
        {**domain, **REGIME_DOMAIN},
        at=full,
        constants=constants,
        measure=measure,
        where=lambda point: point.get("k", 2) <= point["m"],
        everywhere=reduction,
    )


_M, _K, _ALPHA, _RHO = sp.symbols("m k alpha rho")
_N = N_PRIME
_RATE = sp.Rational(repr(LEMMA_1_RATE))
#: (alpha rho/(rho+1))^2 n', the argument of all exponentials.
_SIGNAL = _N * (_ALPHA * _RHO / (_RHO + 1)) ** 2
_HALF = sp.log(sp.Rational(1, 2))
_REGIME: Ranges = {
    **dict.fromkeys(("alpha", "rho", "n"), POSITIVE),
    "k": LogInterval(2.0, math.inf),
    "m": LogInterval(2.0, math.inf),
}
#: log(k - 1) <= log m for k <= m.
_FEWER = ("log", (_K - 1) / _M)

_TURN = sp.Max(_RHO * (sp.Rational(1, 4) - _ALPHA**2) - 1, 0)
_MARGIN = (_RHO * _ALPHA) ** 2 / (_RHO + _TURN**2)
_SHARE = 2 * _RATE * _SIGNAL / _N
_Y = sp.Symbol("Y")
_CONCAVE = (2 + _Y) * sp.log(1 + _Y) - 2 * _Y
#: Lemma 1 by the worst angles and lengths of the two models.
WORST_PAIR = Reduction(
    idea=f"{CAP} Let $a$ and $b$ be the distances of the two models from the client's optimum over "
    "$\\Delta$, $s=1/\\rho$ and $x^2$ the squared margin. Over all angles $x^2$ is at least "
    "$\\rho^2(b^2-a^2)^2/4D$ with $D=\\rho(a+b)^2+\\max(\\rho ab-1,0)^2$, which falls with $a$ and "
    "grows with $b$. The certificate takes $a=\\frac12-\\alpha$ and $b=\\frac12+\\alpha$, and "
    "proves the rate by $\\log(1+y)\\ge2y/(2+y)$.",
    lemmas=("sphere-cap", "cauchy-schwarz"),
    ranges={
        **dict.fromkeys(("rho", "n"), POSITIVE),
        "alpha": LogInterval(0.0, 0.5),
    },
    left=_HALF - _N * sp.log(1 + _MARGIN) / 2,
    hints=(
        (">=", sp.Rational(1, 4), _ALPHA**2),
        (">=", (3 * _RHO / 4 - 1) ** 2, 0, ("sum", 1, (3 * _RHO / 4 - 1) ** 2)),
        ("cases", _RHO * (sp.Rational(1, 4) - _ALPHA**2) - 1),
        (">", _RHO + _TURN**2, 0, ("sum", 1, ("+", _RHO, _TURN**2))),
        (">=", _MARGIN, 0, ("sum", 1, ("*", (_RHO * _ALPHA) ** 2, 1 / (_RHO + _TURN**2)))),
        ("fact", _MARGIN, _CONCAVE, ("grow", "Y", 0), ("log", 1 / (1 + _Y))),
        (">=", 2 * _MARGIN, _SHARE * (2 + _MARGIN)),
        (
            ">=",
            sp.log(1 + _MARGIN),
            _SHARE,
            (
                "sum",
                2 + _MARGIN,
                (
                    "+",
                    _CONCAVE.subs(_Y, _MARGIN),
                    ("+", 2 * _MARGIN, ("*", -1, _SHARE, 2 + _MARGIN)),
                ),
            ),
        ),
    ),
)

UNION = Reduction(
    idea="A client errs only if it prefers one of $k-1$ wrong models. Each of these events has at "
    "most the probability of Lemma 1, and the union bound adds them. The certificate proves that "
    "$k-1$ in the place of $k$ is the smaller factor.",
    lemmas=("union-bound", "ifca.lemma1"),
    ranges={name: _REGIME[name] for name in ("alpha", "rho", "n", "k")},
    left=_HALF + sp.log(_K - 1) - _RATE * _SIGNAL,
    hints=((">", _K, 1), ("log", (_K - 1) / _K)),
)
STRANGERS = Reduction(
    idea="A client of another cluster enters the cluster only if it prefers one wrong model. By "
    "Lemma 1 that has at most the probability $\\frac12e^{-7s/4}$ with "
    "$s=(\\alpha\\rho/(\\rho+1))^2n'$. Expectations add up over at most $m$ clients.",
    lemmas=("ifca.lemma1",),
    ranges={name: _REGIME[name] for name in ("alpha", "rho", "n", "m")},
    left=sp.log(_M) + _HALF - _RATE * _SIGNAL,
)
NO_STRANGER = Reduction(
    idea="The number of strangers is an integer, so by Markov's inequality it is positive with at "
    "most the probability of its expectation, which (10) bounds. Assumption 2 with $C_n=2$ makes "
    "$\\log m$ at most half of $s=(\\alpha\\rho/(\\rho+1))^2n'$. The certificate proves that the "
    "factor $m$ costs no more than $e^{s/2}$.",
    lemmas=("markov", "ifca.eq10"),
    ranges={name: _REGIME[name] for name in ("alpha", "rho", "n", "m")},
    left=sp.log(_M) + _HALF - _RATE * _SIGNAL,
)
HALF_WRONG = Reduction(
    idea="A client errs with at most the probability of Lemma 1 times the number $k-1$ of wrong "
    "models, by the union bound. Assumption 2 with $C_n=2$ makes the exponential at most "
    "$m^{-7/2}$. There are no more clusters than clients, so $k-1$ is below $m$.",
    lemmas=("union-bound", "ifca.lemma1"),
    ranges=_REGIME,
    given=((_M, _K),),
    left=_HALF + sp.log(_K - 1) - _RATE * _SIGNAL,
    hints=((">", _K, 1), _FEWER, ("log", 1 / _M), (">=", sp.log(_M), 0)),
)
POLYNOMIAL = Reduction(
    idea="Some identity is wrong only if one of $m$ clients prefers one of its $k-1$ wrong models. "
    "The union bound adds the probabilities of Lemma 1. The assumption makes each exponential at "
    "most $m^{-7(q+2)/6}$, and $k-1$ is below $m$. What is left of the exponent of $m$ is below "
    "$-q$.",
    lemmas=("union-bound", "ifca.lemma1"),
    ranges={**_REGIME, "q": LogInterval(1.0, math.inf)},
    given=((_M, _K),),
    left=sp.log(_M) + _HALF + sp.log(_K - 1) - _RATE * _SIGNAL,
    hints=((">", _K, 1), _FEWER, ("log", 1 / _M), (">=", sp.log(_M), 0)),
)
_WRONG, _P = sp.symbols("wrong p")
EXPECTED = Reduction(
    idea="The expected number of correct clients is the size of the cluster times the probability "
    "that one of them is correct. That probability is at least one half.",
    lemmas=("ifca.half-correct",),
    ranges={**dict.fromkeys(("m", "p"), POSITIVE), "wrong": Interval(0.0, 1.0)},
    given=((sp.Rational(1, 2), _WRONG),),
    left=_P * _M * (1 - _WRONG),
)


def pairwise(
    statement: Statement,
    profile: Profile,
    *,
    constants: Mapping[str, float] | None = None,
    reduction: Reduction | None = None,
    present: Callable[[SearchResult], Presentation] | None = None,
) -> Search:
    """A bound on the probability of one wrong preference, tried on every pair of models."""
    own, rival, cosine, rho, n, alpha = sp.symbols("own rival cosine rho n alpha")
    # half the difference of the squared distances over the root that the law has
    length_sq = (rival - own) ** 2 + 2 * own * rival * (1 - cosine)
    off = (own * rival) ** 2 * (1 - cosine**2)
    margin_sq = rho * (rival**2 - own**2) ** 2 / (4 * (length_sq + rho * off))

    def at(point: Point) -> Point:
        u_a, u_b = pair_vectors(point)
        a, b = float(np.linalg.norm(u_a)), float(np.linalg.norm(u_b))
        turn = float(u_a @ u_b) / (a * b) if a > 0 else 0.0
        return {**point, "own": a, "rival": b, "cosine": min(max(turn, -1.0), 1.0)}

    half = sp.Rational(1, 2)
    whole, even = (rival**2 - own**2) ** 2, rival**2 + own**2
    hints = (
        (">=", rival - own, 2 * alpha),
        (">", rival - own, 0),
        (">=", whole, 4 * alpha**2 * length_sq),
        (">=", rival**2 - own**2, alpha * even),
        (">=", whole, (alpha * even) ** 2),
        (">=", whole, alpha**2 * (4 * off + whole)),
        (">", length_sq + rho * off, 0),
        (">", 4 * (length_sq + rho * off) + rho * whole, 0),
        ("log", 1 / (1 + margin_sq)),
    )
    return search(
        statement,
        profile,
        pair_log_probability,
        PAIR_DOMAIN,
        at=at,
        everywhere=reduction
        or Everywhere(
            {
                **dict.fromkeys(("rho", "n", "alpha", "rival"), POSITIVE),
                "own": NOT_NEGATIVE,
                "cosine": Interval(-1.0, 1.0),
            },
            given=((half - alpha, own), (rival, half + alpha)),
            left=-sp.log(2) - n * sp.log(1 + margin_sq) / 2,
            by=CAP,
            hints=hints,
        ),
        constants=constants,
        measure=LOG_PROBABILITY,
        exact=pair_log_probability_mp,
        present=present,
    )

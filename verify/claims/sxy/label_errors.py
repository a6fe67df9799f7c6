r"""Lemma 10: the probability of a wrong label for one client, and its limit p_e.

Problem. A client has n rows and k models within epsilon of their optima.  It takes the model of
smallest loss.  How likely is a wrong one?

Guarantee. `bounds.sxy.label_errors`: with probability at most 4 k exp(-c n_i alpha^2 min(1,
Delta^2/sigma^2)^2), c an absolute constant.

Algorithm. One assignment of labels (8).  Gaussian features make the probability of one wrong
preference a Student law in a margin (`trials.laws.pairwise`), for any covariance: only the inner
products of the two models' errors in the covariance's metric count.

Computation. Searches over the pair's geometry, n, k, units, spectrum and signal, on the log scale.
The probability of one rival times k - 1 bounds that of any rival.  The rate (log 2)/162 is that of
the reading.

Reference. Lemma 10, (35), and the text after Theorem 2.
"""

from __future__ import annotations

import math

import numpy as np
import sympy as sp

from bounds.statement import Statement
from bounds.sxy.label_errors import (
    EQ_35,
    LEMMA_10,
    PE_SNR,
    PE_SNR_AS_PRINTED,
)
from bounds.sxy.symbols import Delta, alpha, beta, epsilon, k, n, sigma
from trials.checks import FloatArray
from trials.laws.pairwise import log_tail, margin
from verify.claim import Finding, claim, row, table
from verify.claims.common import Point
from verify.claims.searching import search
from verify.decisions.domain import Interval, IntRange, LogInterval, Ranges
from verify.decisions.measures import LOG_PROBABILITY, LOWEST
from verify.procedures.base import Profile
from verify.procedures.search import Search
from verify.proofs.certificate import Certificate, Inequality, certificate
from verify.proofs.propositions import NOT_NEGATIVE, POSITIVE, Everywhere, Reduction
from verify.proofs.terms import from_sympy

RATE = math.log(2) / 162
#: The tail of the Student law as a share of a sphere.
CAP = (
    "A cap of angular radius $\\varphi\\le\\frac\\pi2$ is at most the share "
    "$\\frac12\\sin^{n}\\varphi$ of the sphere in $R^{n+1}$, so "
    "$P(t_n\\ge\\sqrt nx)\\le\\frac12(1+x^2)^{-n/2}$ for $x\\ge0$."
)


def rate_at(near: float) -> float:
    """A rate c of Lemma 10 for models within ``near`` Delta, features of covariance I, any sigma.

    The proof's margin is ``t = (a^2 - near^2)/(a^2 + near^2 + 2 sigma^2)``, ``a = 1 - near``, in
    units of Delta, and the exponent of a row is at least ``log(1 + t^2)/2``.  Over
    ``min(1, 1/sigma^2)^2`` it is smallest at ``sigma = 1``, where it is returned: below, t falls as
    sigma grows, and above, ``sigma^4 log(1 + t^2)`` rises.

    Examples
    --------
    >>> round(rate_at(0.1), 4)
    0.0387
    """
    a = 1.0 - near
    return 0.5 * math.log1p(((a**2 - near**2) / (a**2 + near**2 + 2.0)) ** 2)


@claim("sxy.eq35", EQ_35)
def eq_35(statement: Statement, profile: Profile) -> Search:
    """The gap over every spectrum and distance.  It is tight at alpha = beta."""
    gap = alpha * (Delta - epsilon) ** 2 - beta * epsilon**2
    domain: Ranges = {
        **{name: PAIR_DOMAIN[name] for name in ("alpha", "near", "Delta")},
        # below one the limits of the spectrum are not in order
        "condition": LogInterval(0.25, 1e4, meaning=PAIR_DOMAIN["condition"].meaning),
    }
    symbols: Ranges = {
        **dict.fromkeys(("alpha", "beta", "Delta"), POSITIVE),
        "epsilon": NOT_NEGATIVE,
    }
    return search(statement, profile, gap, domain, at=_setting, everywhere=Everywhere(symbols))


# --- One client, Gaussian features --------------------------------------------------------------

UNITS = Finding(
    id="sxy-lemma10-units",
    where="Lemma 10, and $p_e$ in Theorem 2",
    printed="$4k\\exp(-cn_i\\alpha^2(1\\wedge\\frac{\\Delta^2}{\\sigma^2})^2)$ with an absolute "
    "constant $c$.",
    found="$\\alpha$ has the unit of a squared feature, $\\Delta^2/\\sigma^2$ that of its inverse, "
    "and the probability has none. The proof leaves $\\beta$ out of the sub-Gaussian norms in "
    "(34). For $\\alpha,\\beta=\\Theta(1)$, as Section 3 assumes, $c$ hides the difference.",
    corrected="With $\\beta$ as well: "
    "$4k\\exp(-cn_i(\\frac\\alpha\\beta)^2(1\\wedge\\frac{\\beta\\Delta^2}{\\sigma^2})^2)$"
    ", with $c=(\\log2)/162$ for Gaussian features.",
    severity="slip",
)

NORMS = Finding(
    id="sxy-lemma10-norm",
    where="Lemmas 8, 10 and 11, and Section 3",
    printed="Sub-Gaussian features and noise, with $E\\zeta_{ij}^2\\le\\sigma^2$; $c$ is an "
    "absolute constant.",
    found="The constants depend on the sub-Gaussian norms in units of the standard deviation. "
    "Features that are zero with probability $1-q$ leave a client without information with "
    "probability $(1-q)^{n_i}$, and noise that is $\\pm\\sigma/\\sqrt q$ with probability $q$ has "
    "all its squares in about $qN$ rows. The usual convention, norms of the order of the standard "
    "deviation, excludes both, and is not stated.",
    corrected="Norms of the order of the standard deviation, as Section 3 means.",
    severity="slip",
)

PAIR_DOMAIN: Ranges = {
    "n": IntRange(1, 100_000, log=True),
    "k": IntRange(2, 50),
    "alpha": LogInterval(1e-12, 1e12),
    "condition": LogInterval(
        1.0, 1e4, meaning="condition number $\\beta/\\alpha$ of the limits of the spectrum"
    ),
    "Delta": LogInterval(1e-6, 1e6),
    "snr": LogInterval(1e-6, 1e6, meaning="signal-to-noise ratio $\\beta\\Delta^2/\\sigma^2$"),
    "near": Interval(
        0.0,
        2.0,
        meaning="value of $\\epsilon$ as a share of its limit "
        "$\\frac{\\Delta}{3}\\sqrt{\\alpha/\\beta}$",
    ),
    "turn_a": Interval(
        0.0,
        2 * math.pi,
        meaning="angle of the error of the own model with the direction to the rival optimum",
    ),
    "turn_b": Interval(
        -math.pi,
        math.pi,
        meaning="angle of the error of the rival model with the direction from own to rival "
        "optimum",
    ),
    "axis": Interval(
        0.0,
        math.pi / 2,
        meaning="angle of the $\\alpha$ axis of the covariance with the line through the two "
        "optima",
    ),
}


def _setting(point: Point) -> dict[str, float]:
    """The statement's symbols: beta is the condition times alpha, epsilon a share of its limit."""
    condition, delta = point["condition"], point["Delta"]
    found = {
        "alpha": point["alpha"],
        "beta": point["alpha"] * condition,
        "Delta": delta,
        "epsilon": point["near"] * delta / (3 * math.sqrt(condition)),
    }
    if "snr" in point:
        # the signal-to-noise ratio in the features' unit, so that no unit hides the noise
        found["sigma"] = delta * math.sqrt(found["beta"] / point["snr"])
    return found


def _log_error(point: Point) -> float:
    """Log of k - 1 times the exact probability of preferring one rival, at most zero."""
    at = _setting(point)
    a, b = (np.ascontiguousarray(u / at["Delta"]) for u in _pair(point))
    noise = at["sigma"] / (at["Delta"] * math.sqrt(at["alpha"]))
    x, _ = margin(a, b, np.zeros(2), noise)
    return min(math.log(point["k"] - 1) + max(log_tail(x, float(point["n"])), LOWEST), 0.0)


def _pair(point: Point) -> list[FloatArray]:
    """The own model's error and the rival's, times the root of the covariance over alpha."""
    at = _setting(point)
    roots = np.sqrt([1.0, point["condition"]])
    frame = np.array(
        [
            [math.cos(point["axis"]), math.sin(point["axis"])],
            [-math.sin(point["axis"]), math.cos(point["axis"])],
        ]
    )
    own = at["epsilon"] * np.array([math.cos(point["turn_a"]), math.sin(point["turn_a"])])
    rival = at["epsilon"] * np.array([math.cos(point["turn_b"]), math.sin(point["turn_b"])])
    rival[0] += at["Delta"]
    return [roots * (frame @ u) for u in (own, rival)]


_OWN, _RIVAL = sp.symbols("own rival")
_EXACT_RATE = sp.Rational(repr(RATE))
_RATIO = (_RIVAL - _OWN) ** 2 / (4 * (_OWN + sigma**2) * (_RIVAL + sigma**2))
_GAP, _NINTH, _TWICE = _RIVAL - _OWN, alpha * Delta**2 / 9, _OWN + _RIVAL + 2 * sigma**2
_CAP = sp.Min(1, alpha * Delta**2 / sigma**2)
_CAPPED, _STATED = sp.Symbol("m"), alpha / beta * sp.Min(1, beta * Delta**2 / sigma**2)
_BY_SIGNAL = ("cases", 1 - alpha * Delta**2 / sigma**2)
_BY_STATED = ("cases", 1 - beta * Delta**2 / sigma**2)
_LEAST_MARGIN = (
    (">", k, 1),
    (">=", _NINTH, beta * epsilon**2),
    (">=", alpha * (Delta - epsilon) ** 2 - beta * epsilon**2, 3 * _NINTH),
    (">=", _NINTH, _OWN, ("sum", 1, ("+", _NINTH - beta * epsilon**2, beta * epsilon**2 - _OWN))),
    (">=", _GAP, 3 * _NINTH),
    (">=", _GAP, 0, ("sum", 1, ("+", _GAP - 3 * _NINTH, 3 * _NINTH))),
    (">=", _CAP, _STATED, _BY_STATED, _BY_SIGNAL),
    (">=", _STATED, 0, _BY_STATED),
    (">=", 1, _CAP, _BY_SIGNAL),
    (">=", alpha * Delta**2 / sigma**2, _CAP, _BY_SIGNAL),
    (">=", _CAP, 0, _BY_SIGNAL),
    ("name", _CAP, _CAPPED),
    (
        ">=",
        10 * _GAP,
        _CAPPED * _TWICE,
        (
            "sum",
            1,
            (
                "+",
                ("*", 1 - _CAPPED, _GAP),
                ("*", 9, _GAP - 3 * _NINTH),
                ("*", 2, _NINTH - _OWN),
                ("*", 2, _OWN, 1 - _CAPPED),
                ("*", 2, sigma**2, alpha * Delta**2 / sigma**2 - _CAPPED),
                7 * _NINTH,
            ),
        ),
    ),
    (">=", _CAPPED**2, _STATED**2, ("sum", 1, ("*", _CAPPED - _STATED, _CAPPED + _STATED))),
    ("log", 1 / (1 + _RATIO)),
    ("log", (k - 1) / k),
    (
        ">=",
        sp.log(k) - sp.log(k - 1),
        0,
        ("sum", 1, ("+", sp.log(k) - sp.log(k - 1) - 1 / k, 1 / k)),
    ),
    (
        "sum",
        1,
        (
            "+",
            sp.log(4),
            sp.log(k) - sp.log(k - 1),
            ("*", n / 2, sp.log(1 + _RATIO) - (_GAP / _TWICE) ** 2),
            (
                "*",
                n / (200 * _TWICE**2),
                10 * _GAP - _CAPPED * _TWICE,
                ("+", ("*", 10, _GAP), ("*", _CAPPED, _TWICE)),
            ),
            n * _CAPPED**2 * (sp.Rational(1, 200) - _EXACT_RATE),
            ("*", n * _EXACT_RATE, _CAPPED**2 - _STATED**2),
        ),
    ),
)
SQUARED_MARGIN = Reduction(
    idea="Let $U\\le\\beta\\epsilon^2$ be the mean squared error of the own model's predictions "
    "and $V\\ge\\alpha(\\Delta-\\epsilon)^2$ that by a rival. With normal features and noise the "
    "difference of the two losses has the Chernoff exponent $\\frac{n_i}2\\log(1+x^2)$ with "
    "$x^2\\ge\\frac{(V-U)^2}{4(U+\\sigma^2)(V+\\sigma^2)}$, whatever the covariance of the two "
    "predictions is. The $k-1$ rivals add up.",
    lemmas=("rayleigh", "triangle", "chernoff", "union-bound"),
    ranges={
        **dict.fromkeys(("alpha", "beta", "Delta", "sigma", "n", "rival"), POSITIVE),
        **dict.fromkeys(("epsilon", "own"), NOT_NEGATIVE),
        "k": LogInterval(2.0, math.inf),
    },
    given=(
        (beta * epsilon**2, _OWN),
        (_RIVAL, alpha * (Delta - epsilon) ** 2),
    ),
    quantities=lambda point: _squared_errors(point),
    left=sp.log(k - 1) - n * sp.log(1 + _RATIO) / 2,
    hints=_LEAST_MARGIN,
)


def _squared_errors(point: Point) -> dict[str, float]:
    """Mean squared errors of the predictions by both models, without noise."""
    own, rival = (point["alpha"] * float(u @ u) for u in _pair(point))
    return {"own": own, "rival": rival}


@claim("sxy.lemma10", LEMMA_10, finding=(UNITS, NORMS))
def lemma_10(statement: Statement, profile: Profile) -> Search:
    """The rate (log 2)/162, every unit and spectrum: the exact probability, both sides as logs."""
    return search(
        statement,
        profile,
        _log_error,
        PAIR_DOMAIN,
        at=lambda point: {**_setting(point), "n": point["n"], "k": point["k"]},
        constants={"c": RATE},
        measure=LOG_PROBABILITY,
        everywhere=SQUARED_MARGIN,
    )


# --- Signal and noise ---------------------------------------------------------------------------

POLYNOMIAL = Finding(
    id="sxy-pe-snr",
    where="after Theorem 2",
    printed="The first term of (10) bounds the clustering error in expectation which diminishes "
    "exponentially in the local data size and the signal-to-noise ratio $\\Delta/\\sigma$.",
    found="$p_e$ is constant for $\\Delta\\ge\\sigma$ and has the exponent "
    "$(\\Delta/\\sigma)^4$ below. The probability itself falls as $(\\Delta/\\sigma)^{-n_i}$ for "
    "Gaussian features and models at their optima, and not at all for models at "
    "$\\epsilon=\\Delta/3$.",
    corrected="Exponentially in the local data size, and with the power $n_i$ of "
    "$\\sigma/\\Delta$ at the optima.",
    severity="strong",
)

SNR_DOMAIN: Ranges = {
    "n": IntRange(1, 1000, log=True),
    "snr": LogInterval(1e-4, 1e8, meaning="signal-to-noise ratio $\\Delta/\\sigma$"),
    "sigma": LogInterval(1e-6, 1e6),
}


def at_the_optima(statement: Statement, profile: Profile) -> Search:
    """Two clusters, models at their optima: the exact probability, in favour of the statement."""

    def strong_signal(_point: Point) -> Certificate:
        at = {"n": "2", "k": "2", "Delta": "20000", "sigma": "1", "c": "1/1000"}
        root = ["sqrt", "100000001"]
        return certificate(
            "Take $k=2$, $n_i=2$, features $N(0,1)$ and $\\Delta/\\sigma=20000$. The margin is "
            "$x=10^4$ and a wrong label has probability $\\frac12(1-x/\\sqrt{1+x^2})$.",
            [
                Inequality(
                    says="this probability exceeds the bound with the smallest rate of the box",
                    left=["*", "1/2", ["+", "1", ["*", "-10000", ["^", root, "-1"]]]],
                    relation=">",
                    right=from_sympy(statement.expr, at),
                )
            ],
        )

    return search(
        statement,
        profile,
        lambda point: max(log_tail(0.5 * point["snr"], float(point["n"])), LOWEST),
        SNR_DOMAIN,
        at=lambda point: {
            "n": point["n"],
            "k": 2,
            "Delta": point["snr"] * point["sigma"],
            "sigma": point["sigma"],
        },
        constants={c.name: c.most_generous for c in statement.constants},
        measure=LOG_PROBABILITY,
        everywhere=Everywhere(
            dict.fromkeys(("n", "Delta", "sigma"), POSITIVE),
            left=-sp.log(2) - n * sp.log(1 + (Delta / (2 * sigma)) ** 2) / 2,
            by=CAP,
        ),
        proof=strong_signal if statement.constants else None,
    )


SIGNAL_FORMS = table(
    at_the_optima,
    row("sxy.pe-snr-as-printed", PE_SNR_AS_PRINTED, refuted=POLYNOMIAL),
    row("sxy.pe-snr", PE_SNR, finding=POLYNOMIAL),
)

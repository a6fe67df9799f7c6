r"""IFCA with strongly convex losses: the whole run, Corollary 2 in both versions, and its proof.

Problem. How close are the models to their optima after the printed number of steps, does every step
bring them closer, and does Assumption 6 give what the proof uses?

Guarantee. `bounds.ifca.strongly_convex_run`: all models within epsilon after 8L/(p lambda)
log(2 Delta/epsilon) steps with probability 1 - delta.

Algorithm. Experiment ``ifca.sc-run``: IFCA with fresh samples in every step on quadratic losses
with rare spikes, whose labels and gradients have closed laws.

Computation. Constants exhibited by argument, from those of Theorem 2 (8 and 48) with delta_0 =
p lambda delta/(8 k L log(mn')): c1 = 16 * 8 * 8 and c2 = 16 * 48 * 8.  The hidden term gets c3 = 0,
which is harder.  Searches of the proof's recursion are exact.

Reference. TIT 2022, Corollary 2 and its proof.  NeurIPS 2020, Theorem 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp

from bounds.ifca import strongly_convex_run as sr
from bounds.ifca import strongly_convex_step as ss
from bounds.ifca.lemma_3 import L, lam, v
from bounds.ifca.symbols import C_Delta, Delta, T, k, m, n, p, p_j, varepsilon
from bounds.statement import Statement, evaluate
from trials.experiments.ifca import strongly_convex as experiments
from trials.experiments.ifca.strongly_convex import SC_RUN
from trials.run.cell import Params
from trials.run.store import Table
from verify.claim import Finding, claim, row, table
from verify.claims.common import Point, explicit
from verify.claims.ifca.lemma_3 import CONDITION, LAM
from verify.claims.searching import Proof, generous, search
from verify.decisions.domain import Interval, IntRange, LogInterval, Ranges
from verify.evidence import Verdict
from verify.procedures.base import (
    FloatArray,
    Observed,
    Presentation,
    Profile,
    Sampling,
    tex_number,
)
from verify.procedures.probability import Probability
from verify.procedures.search import Search
from verify.proofs.arrays import Arrays, Recursion, both_ways
from verify.proofs.propositions import NOT_NEGATIVE, POSITIVE, Everywhere

# --- The recursion ------------------------------------------------------------------------------

_FLOOR = "floor $\\varepsilon_0$ over the largest that condition (b) allows"
RUNS: Ranges = {
    "L": LogInterval(1e-3, 1e3),
    "condition": LogInterval(1.0, 1e4, meaning=CONDITION),
    "p": LogInterval(1e-3, 1.0),
    "Delta": LogInterval(1e-6, 1e6),
    "alpha_0": Interval(1e-4, 0.4999),
    "floor": LogInterval(1e-9, 100.0, meaning=_FLOOR),
}


def _run(point: Point) -> dict[str, float]:
    """The symbols of the recursion at a point."""
    at = {**point, "lam": point["L"] / point["condition"], "epsilon_0": 0.0}
    # just below the largest floor that condition (b) allows, so that rounding leaves it inside
    largest = float(evaluate(sr.CONDITION_B.left * sr.A, at))
    at["epsilon_0"] = (1.0 - 1e-12) * point["floor"] * largest
    at["varepsilon"] = 2.0 * at["epsilon_0"] / float(evaluate(sr.A, at))
    return at


_X, _NEXT, _Y = sp.symbols("x next Y")
#: The noise of one step.
_ONE = p_j * v**2 / (L**2 * m * n)


def settled(
    statement: Statement, start: sp.Expr, values: Callable[[Point], Mapping[str, Any]]
) -> Everywhere:
    """Numbers that a step shrinks to the share 1 - A, but for the floor, from ``start`` on.

    After T steps they are at most start e^(-A T) + epsilon_0/A, by induction.  The stated number
    of steps has A T >= log q, and q times the goal is at least twice the start.  So both terms
    are at most half of the goal.
    """
    accuracy = {varepsilon: 2 * sr.EPSILON_0 / sr.A}
    goal, asked = (sp.sympify(e).subs(accuracy) for e in (statement.expr, statement.definitions[T]))
    q, shrunk, floor = sp.exp(asked * sr.A), sp.exp(-sr.A * T), sr.EPSILON_0 / sr.A
    grown, left = sp.exp(sr.A * T), start * shrunk + floor - _X
    step = (1 - sr.A) * _X + sr.EPSILON_0 - _NEXT
    kept = ("+", ("*", start * shrunk, sp.exp(-sr.A) - 1 + sr.A), ("*", 1 - sr.A, left), step)
    halves = ("+", ("*", goal, grown - q), goal * q - 2 * start)

    def many(y: sp.Expr) -> tuple[Any, ...]:
        """That e^(A T) >= y, from A T >= log y."""
        more, tangent = sr.A * T - sp.log(y), grown / y - 1 - sr.A * T + sp.log(y)
        return ("exp", more), ("sum", 1, ("*", y, ("+", tangent, more)))

    return Everywhere(
        {
            **dict.fromkeys(("L", "lam", "p", "Delta", "epsilon_0"), POSITIVE),
            "alpha_0": NOT_NEGATIVE,
        },
        given=((L, lam), (1, p), (start, 0), (T, asked)),
        constants={"varepsilon": accuracy[varepsilon]},
        left=_X,
        hints=(
            (">=", 1, sr.A),
            ("induct", "T", left, ("exp", -sr.A), ("sum", 1, kept)),
            (">=", goal * q, 2 * start),
            (">=", goal, 2 * floor),
            (">", q, 0),
            (">=", grown, q, *many(q)) if q.is_number else ("fact", q, grown - _Y, *many(_Y)),
            ("sum", 1, ("+", left, ("*", sp.Rational(1, 2), shrunk, halves),
                        ("*", sp.Rational(1, 2), goal - 2 * floor))),
        ),
        arrays=Arrays(
            values=values,
            runs={
                "T": Recursion(
                    numbers=("x",), later=("next",), start=((start, _X),),
                    steps=(((1 - sr.A) * _X + sr.EPSILON_0, _NEXT),),
                )
            },
        ),
    )  # fmt: skip


def recursion(statement: Statement, profile: Profile, *, start: float | None = None) -> Search:
    """The recursion after the stated number of steps, from the edge of the start.

    ``start`` is the closeness of the start where it is not the coordinate alpha_0.
    """
    edge = sr.START if start is None else sr.START.subs(sr.ALPHA_0, sp.Rational(repr(start)))

    def iterate(point: Point, steps: FloatArray) -> FloatArray:
        """The numbers after some steps."""
        at = _run(point)
        first, h = (float(evaluate(e, at)) for e in (edge, sr.A))
        kept = np.exp(steps * math.log1p(-h))
        return kept * first + (1.0 - kept) * at["epsilon_0"] / h

    def count(point: Point) -> float:
        asked = float(evaluate(statement.definitions[T], _run(point)))
        return float(max(0, math.ceil(asked)))

    def values(point: Point) -> dict[str, Any]:
        n_steps = count(point)
        path = iterate(point, np.arange(min(n_steps, 10_000.0) + 1.0))
        return {"T": n_steps, "x": error(point), "T steps": {"x": path}}

    def error(point: Point) -> float:
        return float(iterate(point, np.array([count(point)]))[0])

    return search(
        statement,
        profile,
        error,
        RUNS,
        at=_run,
        budget=profile.searches // 8,
        everywhere=settled(statement, edge, values),
    )


ROUNDS = table(
    recursion,
    row("ifca.cor2-burn-in", sr.BURN_IN_ENOUGH),
    # a burn-in that does not grow with the logarithm of the condition number
    row("ifca.cor2-burn-in-short", sr.BURN_IN_SHORT),
    row("ifca.cor2-rounds", sr.ENOUGH),
    row("ifca.neurips-thm2-rounds", sr.ENOUGH_NEURIPS, start=0.25),
    identity="the recursion of the proof, solved, with its own floor and number of steps",
)

# --- The iterates do not leave the radius -------------------------------------------------------

MONOTONE = Finding(
    id="ifca-sc-monotone",
    where="TIT 2022, proof of Corollary 2, first paragraph",
    headline="A cluster's error can grow in a step, so the non-decreasing sequence "
    "$\\alpha_0,\\alpha_1,\\dots$ of the proof does not exist.",
    printed="The iterate of IFCA is contractive, i.e. $\\norm{\\theta_j^{(t+1)}-\\theta_j^*}\\le"
    "\\norm{\\theta_j^{(t)}-\\theta_j^*}$, provided $\\varepsilon_0\\lesssim\\frac{p\\lambda}L"
    "(\\frac12-\\alpha_0)\\sqrt{\\lambda/L}\\Delta$. The sequence "
    "$\\{\\alpha_0,\\alpha_1,\\dots\\}$ is non-decreasing.",
    found="A model at its optimum moves away with the first noisy gradient, however small the "
    "floor is. Near the floor the error rises and falls. The condition compares the floor with "
    "the radius, not with the error.",
    corrected="$\\norm{\\theta_j^{(t+1)}-\\theta_j^*}\\le(\\frac12-\\alpha_0)\\sqrt{\\lambda/L}"
    "\\Delta$, so $\\alpha_t\\ge\\alpha_0$ for all $t$. The proof needs no more.",
    severity="proof",
)
_NEAR: Ranges = {
    **RUNS,
    "floor": LogInterval(
        1e-9,
        100.0,
        meaning="floor $\\varepsilon_0$ over $p\\lambda/(8L)$ times the radius of the start",
    ),
    "share": Interval(
        0.0, 1.0, meaning="distance of the model from its optimum over the radius of the start"
    ),
}


def _near(point: Point) -> dict[str, float]:
    """A model at a share of the radius, the floor a share of what the condition allows."""
    at = {**point, "lam": point["L"] / point["condition"]}
    start = float(evaluate(sr.START, at))
    # just below the largest floor, so that rounding leaves the point inside the condition
    at["epsilon_0"] = (1.0 - 1e-12) * point["floor"] * start * float(evaluate(sr.A, at))
    at["err"] = point["share"] * start
    return at


@claim(
    "ifca.cor2-monotone-as-printed",
    sr.MONOTONE_AS_PRINTED,
    expected=Verdict.REFUTED,
    finding=MONOTONE,
)
def monotone_as_printed(statement: Statement, profile: Profile) -> Search:
    """One curvature and no strangers: the root mean square after a step."""
    err, floor = sp.symbols("err epsilon_0")
    same = "without effect: the condition number $L/\\lambda$ is set to one"
    return search(
        statement,
        profile,
        sp.sqrt(((1 - p) * err) ** 2 + floor**2),
        {**_NEAR, "condition": LogInterval(1.0, 1e4, meaning=same)},
        at=lambda point: _near({**point, "condition": 1.0}),
        budget=profile.searches // 8,
        proof=Proof(
            argument="Start at the optimum. With $p=\\lambda=L=1$, $\\Delta=2$, $\\alpha_0=1/4$ "
            "the condition allows a noise of root mean square $1/100$. It is the error after the "
            "step.",
            says="the error after the step exceeds the error before it",
            values={"err": 0, "p": 1, "epsilon_0": Fraction(1, 100)},
        ),
    )


@claim("ifca.cor2-radius", sr.STAYS, finding=MONOTONE)
def stays(statement: Statement, profile: Profile) -> Search:
    """Every error within the radius and every floor that the condition allows."""
    err, floor = sp.symbols("err epsilon_0")
    return search(
        statement,
        profile,
        (1 - sr.A) * err + floor,
        _NEAR,
        at=_near,
        everywhere=Everywhere(
            {
                **dict.fromkeys(("lam", "L", "p", "Delta", "epsilon_0"), POSITIVE),
                **dict.fromkeys(("alpha_0", "err"), NOT_NEGATIVE),
            },
            given=((L, lam), (1, p), (sp.Rational(1, 2), sr.ALPHA_0), (sr.START, err)),
        ),
        budget=profile.searches // 8,
    )


# --- The failure probability (38) ---------------------------------------------------------------

UNION = Finding(
    id="ifca-sc-failure",
    where="TIT 2022, (38) and the text after it (NeurIPS as well)",
    printed="As long as $c$ is large enough, we can guarantee that $(mn')^{c/8}>1/\\varepsilon_0$, "
    "which implies that the failure probability is upper bounded by $\\delta$.",
    found="Right for fixed $v,\\eta$ and large $mn'$, as $\\tilde O$ is read in Assumption 6. At "
    "fixed $m,n'$ the number of steps grows without limit as $v,\\eta\\to0$, and no universal $c$ "
    "serves there, although the corollary names $v$ and $\\eta$. (36) bounds $\\varepsilon_0$ from "
    "above and is used as a bound from below.",
    corrected="$\\delta_0=\\delta/(kT)$: the logarithm in $\\varepsilon$ is $\\log\\frac{p\\lambda"
    "\\Delta}{8\\varepsilon_0L}$, which is $\\log(mn')$ up to constants only while $v$ and $\\eta$ "
    "are.",
    severity="edge",
)


@claim(
    "ifca.cor2-failure-as-printed", sr.FAILURE_AS_PRINTED, expected=Verdict.REFUTED, finding=UNION
)
def failure_as_printed(statement: Statement, profile: Profile) -> Search:
    """Losses with little noise, at the largest c of the box."""
    own = statement.definitions[ss.delta_0]
    total = (sr.TOTAL * k / ss.delta).subs(sr.EPSILON_0, sr.FLOOR_36.subs(ss.delta_0, own))
    tiny = Fraction(1, 10**900)
    return search(
        statement,
        profile,
        total * own,
        {
            "v": LogInterval(1e-290, 1.0),
            "eta": LogInterval(1e-140, 1.0),
            "L": LogInterval(1.0, 10.0),
            "condition": LogInterval(1.0, 1e3, meaning=CONDITION),
            "Delta": LogInterval(0.1, 2.0),
            "k": LogInterval(2.0, 10.0),
            "share": Interval(0.5, 1.0, meaning=_SHARE),
            "m": LogInterval(10.0, 1e6),
            "n": LogInterval(1.0, 1e6),
            "delta": LogInterval(1e-3, 0.9),
        },
        at=_with_shares,
        constants=generous,
        budget=profile.searches // 4,
        proof=Proof(
            argument="Hundred clients in two clusters, $\\lambda=L=\\Delta=1$, $\\delta=1/2$ and "
            "$v=\\eta=10^{-900}$, at the largest $c$ of the box.",
            says="the union bound exceeds the failure probability",
            values={
                **dict.fromkeys(("L", "lam", "Delta", "n"), 1),
                "v": tiny,
                "eta": tiny,
                "m": 100,
                "k": 2,
                "p": Fraction(1, 2),
                "delta": Fraction(1, 2),
            },
        ),
    )


_SHARE = "smallest share $p$ of the clients times the number of clusters $k$"


def _with_shares(point: Point) -> dict[str, float]:
    """The symbols at a point, with lambda and the smallest share p."""
    return {**point, "lam": point["L"] / point["condition"], "p": point["share"] / point["k"]}


# --- Assumption 6 -------------------------------------------------------------------------------

SMALL_SHARE = Finding(
    id="ifca-a6-share",
    where="TIT 2022, Assumption 6 and condition (b) in the proof of Corollary 2 (NeurIPS as well)",
    headline="Assumption 6 lets the smallest share $p$ fall to $\\log(mn')/m$, and then "
    "condition (b) of the proof fails.",
    printed="$\\Delta\\ge\\tilde O(\\max\\{\\alpha_0^{-2/5}(n')^{-1/5},\\alpha_0^{-1/3}m^{-1/6}"
    "(n')^{-1/3}\\})$, where $\\tilde O$ omits logarithms and quantities that do not depend on $m$ "
    "and $n'$. Part (b) follows directly from the separation condition.",
    found="(b) needs $p^{3/2}\\sqrt{mn'}$ large. Assumption 6 lets $p$ fall to "
    "$\\log(mn')/m$, and then (b) fails for every $m\\gg\\sqrt{n'}$, whatever $\\Delta\\le2$ is.",
    corrected="The hidden constants depend on $p$ (order $p^{-3/2}$), so $p$ is fixed while $m$ "
    "grows; or (b) itself is assumed.",
    severity="edge",
)
_SIZES: Ranges = {
    "alpha_0": Interval(1e-2, 0.49),
    "Delta": LogInterval(1e-3, 2.0),
    "m": LogInterval(10.0, 1e12),
    "n": LogInterval(1.0, 1e30),
    "k": LogInterval(2.0, 100.0),
    "p": LogInterval(1e-3, 0.5),
    "lam": LogInterval(1e-2, 1e2, meaning=LAM.meaning),
    "condition": LogInterval(1.0, 1e2, meaning=CONDITION),
    "noise": LogInterval(
        1e-3, 2.0, meaning="noise $v$ of a gradient over the largest that is allowed"
    ),
    "spread": LogInterval(
        1e-3, 2.0, meaning="deviation $\\eta$ of a loss over the largest that is allowed"
    ),
    "delta": LogInterval(1e-3, 0.9),
}


_HALF, _THIRD = sp.Rational(1, 2), sp.Rational(1, 3)
_A1, _M1, _N1 = sp.symbols("a_1 m_1 n_1", positive=True)
#: Roots of alpha_0, m and n', in which both rates are powers.
_RATE_1 = 1 / (_A1**6 * _N1**6)
_RATE_2 = 1 / (_A1**5 * _M1 * _N1**10)
_LEAST = 1 / (_M1**3 * _N1**15)
_LARGER = sp.Max(_RATE_1, _RATE_2)
_IN_ROOTS = {m: _M1**6, n: _N1**30, sr.ALPHA_0: _A1**15}
_TERMS = tuple(
    (term / sr.A * 8 / sr.KAPPA).subs(_IN_ROOTS)
    for term in (sr.NOISE, sr.STRANGERS, sr.STRANGERS_NOISE)
)
(_C1, _NEED_1), (_C5, _NEED_2), (_C3, _NEED_3) = sr.NEEDED.values()


def _powers(x: sp.Symbol, q: int) -> sp.Expr:
    """The sum of the first powers of x, which times x - 1 is its power q less one."""
    return sp.Add(*(x**i for i in range(q)))


def _power(rate: sp.Expr, q: int) -> tuple[Any, ...]:
    """Delta >= C rate to the power q."""
    asked = C_Delta * rate
    between = sp.Add(*(Delta ** (q - 1 - i) * asked**i for i in range(q)))
    return (">=", Delta**q, asked**q, ("sum", 1, ("*", between, Delta - asked)))


def _third(term: sp.Expr, by: sp.Expr, *parts: Any) -> tuple[Any, ...]:
    """A term of the floor is at most a third of Delta: ``by`` times the room has these parts."""
    return (">=", Delta / 3, term, ("sum", by, ("+", *parts)))


#: Delta is at least C times either rate, and the second one is at least 1/sqrt(mn').
_SEPARATED: tuple[Any, ...] = (
    ("let", m, _M1, "power", 6),
    ("let", n, _N1, "power", 30),
    ("let", sr.ALPHA_0, _A1, "power", 15),
    (">=", _M1, 1, ("sum", _powers(_M1, 6), _M1**6 - 1)),
    (">=", _N1, 1, ("sum", _powers(_N1, 30), _N1**30 - 1)),
    (">=", 1, _A1, ("sum", _powers(_A1, 15), ("+", _HALF, _HALF - _A1**15))),
    (">=", _RATE_2, _LEAST),
    *(
        (">=", Delta, C_Delta * rate, ("cases", _RATE_1 - _RATE_2), ("sum", 1, (
            "+", Delta - C_Delta * _LARGER, ("*", C_Delta, _LARGER - rate),
        )))
        for rate in (_RATE_1, _RATE_2)
    ),
    (">=", Delta, C_Delta * _LEAST, ("sum", 1, (
        "+", Delta - C_Delta * _RATE_2, ("*", C_Delta, _RATE_2 - _LEAST),
    ))),
    _power(_RATE_1, 5),
    _power(_RATE_2, 3),
    _third(_TERMS[0], 1, ("*", _THIRD, Delta - C_Delta * _LEAST),
           ("*", _LEAST / 3, C_Delta - _NEED_1)),
    _third(_TERMS[1], Delta**4, ("*", _THIRD, Delta**5 - C_Delta**5 * _RATE_1**5),
           ("*", _RATE_1**5 / 3, C_Delta**5 - _NEED_2)),
    _third(_TERMS[2], Delta**2, ("*", _THIRD, Delta**3 - C_Delta**3 * _RATE_2**3),
           ("*", _RATE_2**3 / 3, C_Delta**3 - _NEED_3)),
    ("sum", 1, ("+", *(("*", sr.KAPPA / 8, Delta / 3 - term) for term in _TERMS))),
)  # fmt: skip


@claim("ifca.a6-separation", sr.A6, finding=SMALL_SHARE, hidden={"C_p": 1.0})
def separation(statement: Statement, profile: Profile) -> Search:
    """The floor at the start against condition (b)."""
    (powers,) = (a.right for a in statement.assumptions if a.name == "separation")

    def symbols(point: Point) -> dict[str, float]:
        """The largest hidden constant, and the noise and the spread that it allows."""
        at = {**point, "L": point["lam"] * point["condition"], "C_Delta": 1.0, "v": 1.0, "eta": 1.0}
        c = at["Delta"] / float(evaluate(powers, at)) / (1 + 1e-12)
        by_noise, by_strangers, by_both = (float(evaluate(x, at)) for _, x in sr.NEEDED.values())
        spread = point["spread"] * math.sqrt(c**5 / by_strangers)
        noise = point["noise"] * min(c / by_noise, c**3 / (by_both * spread))
        return {**at, "C_Delta": c, "eta": spread, "v": noise}

    names = ("alpha_0", "Delta", "C_Delta", "p", "lam", "L", "v", "eta", "k", "delta")
    return search(
        statement,
        profile,
        (sr.NOISE + sr.STRANGERS + sr.STRANGERS_NOISE) / sr.A,
        _SIZES,
        at=symbols,
        constants={"C_p": 1.0},
        everywhere=Everywhere(
            {
                **dict.fromkeys(names, POSITIVE),
                **dict.fromkeys(("m", "n"), LogInterval(1.0, math.inf)),
            },
            given=((L, lam), (sp.Rational(1, 2), sr.ALPHA_0)),
            hints=_SEPARATED,
        ),
    )


# --- Corollary 2 --------------------------------------------------------------------------------

_NAMES = ("m", "n", "k", "d", "ratio", "Delta", "lam", "L", "eta", "v", "alpha", "delta")
_ROWS = (
    (10**6, 10**10, 2, 1, 1.0, 1.0, 1.0, 1.0, 0.1, 0.1, 0.25, 0.1),
    (10**7, 10**9, 2, 3, 1.0, 1.4, 1.0, 4.0, 0.01, 0.01, 0.3, 0.2),
    (10**8, 10**11, 4, 3, 1.0, 1.2, 2.0, 2.0, 0.1, 0.01, 0.26, 0.1),
    (10**8, 10**12, 2, 2, 9.0, 1.0, 1.0, 2.0, 0.3, 0.01, 0.4, 0.3),
    (10**9, 10**8, 2, 2, 1.0, 0.5, 0.5, 0.5, 1e-4, 1e-3, 0.25, 0.05),
)
#: One symbol far from all others.  First the noise of the gradients rules, then the strangers.
_FAR_NOISE: tuple[Params, ...] = (
    {"m": 1_000, "n": 10**6},
    {"m": 1_000, "n": 1_000, "lam": 1e6, "L": 1e6},
    {"lam": 1e-4, "L": 1e-4},
    {"m": 16, "n": 10**15, "d": 100, "delta": 0.9},
    {"m": 10**15, "n": 16, "d": 100, "delta": 0.9},
)
_FAR_STRANGERS: tuple[Params, ...] = (
    {"Delta": 0.01},
    {"lam": 1e-4, "L": 1e-4},
    {"lam": 1e4, "L": 1e4, "n": 10**15},
    {"m": 10**15, "n": 1, "d": 100},
)
_PLAIN_RUN: Params = {
    "m": 10**12,
    "n": 10**6,
    "k": 2,
    "d": 1,
    "ratio": 1.0,
    "Delta": 1.0,
    "lam": 1.0,
    "L": 1.0,
    "eta": 1.0,
    "v": 1.0,
    "alpha": 0.49,
    "delta": 0.5,
}
CONSTANTS = {"c_1": 16.0 * 8 * 8, "c_2": 16.0 * 48 * 8, "c_3": 0.0}


def run_symbols(params: Params) -> dict[str, float]:
    """The statements' symbols in a cell."""
    full = SC_RUN.check(params)
    share = experiments.sizes(full)[0] / full["m"]
    k = full["k"]
    return {
        **{name: float(full[name]) for name in _NAMES if name != "ratio"},
        "p": share,
        "alpha_0": full["alpha"],
        "theta_max": full["Delta"] * math.sqrt((k - 1) / (2 * k)),
    }


def far_runs() -> list[Params]:
    """Runs whose noise v and deviation eta make the printed accuracy a fifth of the start's error.

    One of its two terms is 10^12 times the other.
    """
    cells: list[Params] = []
    shapes = [(shape, (1.0, 1e-12)) for shape in _FAR_NOISE]
    shapes += [(shape, (1e-12, 1.0)) for shape in _FAR_STRANGERS]
    for shape, (noise, strangers) in shapes:
        cell = {**_PLAIN_RUN, **shape}
        at = {**run_symbols(cell), **CONSTANTS}
        wanted = 0.2 * experiments.radius(SC_RUN.check(cell))
        first, second = (
            float(evaluate(sr.COROLLARY_2.term(name).expr, at))
            for name in ("statistical", "strangers")
        )
        v, eta = wanted * noise / first, math.sqrt(wanted * strangers / second)
        cells.append({**cell, "v": float(f"{v:.4g}"), "eta": float(f"{eta:.4g}")})
    return cells


def speaks_from(statement: Statement, clients: int) -> float:
    """The least n' from which the statement speaks, where every other size is plain.

    Two equal clusters, curvatures, separation and deviations of one, delta = 1/10, alpha = 1/4.
    """
    cell = {**_PLAIN_RUN, "m": clients, "delta": 0.1, "alpha": 0.25}
    at = {**run_symbols(cell), **CONSTANTS}

    def speaks(n_samples: float) -> bool:
        here = {**at, "n": n_samples}
        here["varepsilon"] = float(evaluate(statement.expr, here))
        return all(a.holds(here) for a in statement.assumptions)

    return next((10.0 ** (i / 100) for i in range(3_000) if speaks(10.0 ** (i / 100))), math.inf)


def corollary(statement: Statement, profile: Profile) -> Probability:
    """The printed number of steps in every cell, from the edge of the start."""

    def accuracy(params: Params) -> float:
        return float(evaluate(statement.expr, {**run_symbols(params), **CONSTANTS}))

    def with_steps(row: Params) -> Params:
        at = {**run_symbols(row), "varepsilon": accuracy(row)}
        steps = math.ceil(float(evaluate(statement.definitions[T], at)))
        return {**row, "T": min(max(steps, 1), 100_000)}

    def observed(table: Table) -> FloatArray:
        return np.where(table["farthest"] > 1.0, np.inf, table["largest"])

    rows = [dict(zip(_NAMES, values, strict=True)) for values in _ROWS]
    procedure = explicit(
        statement,
        CONSTANTS,
        Sampling(experiment=SC_RUN, max_trials=min(profile.max_trials, 2048), first=256),
        [with_steps(row) for row in (*rows, *far_runs())],
        lambda params: {**run_symbols(params), "varepsilon": accuracy(params)},
        observed,
        "some final error above the accuracy, or a model outside its radius",
    )

    def present(stored: Sequence[Observed]) -> Presentation:
        least = ", ".join(
            f"$n'={speaks_from(statement, clients):.1g}$ for $m={tex_number(float(clients))}$"
            for clients in (1_000, 10**6, 10**9)
        )
        said = (
            "With two equal clusters, $\\lambda=L=\\Delta=v=\\eta=1$, $\\delta=0.1$ and "
            f"$\\alpha_0=1/4$ the statement says nothing below {least}."
        )
        shown = procedure.present(stored)
        return replace(shown, sharpness=(*shown.sharpness, said))

    return replace(procedure, complete=with_steps, present=present)


COROLLARY_2 = table(
    corollary,
    row("ifca.cor2", sr.COROLLARY_2),
    # the conference version, whose start is within a quarter and whose T is smaller
    row("ifca.neurips-thm2", sr.THEOREM_2_NEURIPS),
)


@claim("ifca.cor2-radius-run", sr.STAYS_RUN, finding=MONOTONE)
def stays_run(statement: Statement, profile: Profile) -> Probability:
    """Runs with far fewer samples than Corollary 2 asks for: the condition nearly at its edge."""
    rows = (
        (10**5, 10**7, 2, 1, 1.0, 1.0, 1.0, 1.0, 0.1, 0.1, 0.25, 0.1),
        (10**6, 10**4, 2, 3, 1.0, 1.4, 1.0, 4.0, 0.01, 0.01, 0.3, 0.2),
        (10**6, 10**6, 4, 3, 1.0, 1.2, 2.0, 2.0, 0.1, 0.01, 0.1, 0.1),
        (10**5, 10**9, 2, 2, 9.0, 0.5, 1.0, 2.0, 0.1, 0.01, 0.4, 0.3),
        # far more dimensions than curvature, and a failure probability above the closeness
        (10**5, 10**7, 2, 64, 1.0, 1.0, 1.0, 1.0, 0.1, 0.1, 0.25, 0.1),
        (10**6, 10**4, 2, 3, 1.0, 1.4, 1.0, 4.0, 0.01, 0.01, 0.075, 0.4),
    )
    steps = 100

    def symbols(params: Params) -> dict[str, float]:
        at = run_symbols(params)
        full = SC_RUN.check(params)
        each = {**at, "delta": at["delta"] / (full["k"] * steps)}
        largest = experiments.sizes(full)[-1] / full["m"]
        terms = [t.expr for t in ss.THEOREM_2_SHARP.terms if t.name != "contraction"]
        floors = (
            math.fsum(float(evaluate(expr, {**each, "p_j": share})) for expr in terms)
            for share in (at["p"], largest)
        )
        return {**at, "epsilon_0": max(floors)}

    return explicit(
        statement,
        {},
        Sampling(experiment=SC_RUN, max_trials=min(profile.max_trials, 2048), first=256),
        [{**dict(zip(_NAMES, row, strict=True)), "T": steps} for row in rows],
        symbols,
        lambda table: table["farthest_error"],
        "a model outside its initial radius",
    )


LOOSE_RUN = Finding(
    id="ifca-sc-run-rates",
    where="TIT 2022, Corollary 2, and NeurIPS 2020, Theorem 2",
    headline="The accuracy of the run is a valid bound with wrong rates: the error does not "
    "depend on $p$ and falls with $L$.",
    printed="$\\varepsilon\\lesssim\\frac{vkL\\log(mn')}{p^{5/2}\\lambda^2\\delta\\sqrt{mn'}}+\\dots$",
    found="A valid bound, far from the error. The noise of fresh samples averages over the steps "
    "and does not add up, and the step of a cluster is proportional to its share. What is left "
    "does not depend on $p$ and *falls* with $L$.",
    corrected="$\\frac v{\\sqrt{\\lambda Lmn'}}$ for the root mean square of this term.",
    severity="slip",
)


_STEP = p_j * lam / L


def _noise(point: Point, steps: FloatArray) -> FloatArray:
    """The mean square after some steps, by the geometric sum."""
    at = {**point, "lam": point["L"] / point["condition"]}
    one, step = (float(evaluate(e, at)) for e in (_ONE, _STEP))
    if step == 1.0:
        return np.where(steps > 0, one, 0.0)
    return -one * np.expm1(2.0 * steps * math.log1p(-step)) / (step * (2.0 - step))


@claim(
    "ifca.cor2-rates",
    sr.FINAL_NOISE,
    finding=LOOSE_RUN,
    identity="the geometric sum of the noise of the steps, and its limit",
)
def final_noise(statement: Statement, profile: Profile) -> Search:
    """The exact mean square after any number of steps."""

    def mean_square(point: Point) -> float:
        return float(_noise(point, np.array([float(point["steps"])]))[0])

    def values(point: Point) -> dict[str, Any]:
        path = _noise(point, np.arange(min(point["steps"], 10_000) + 1.0))
        return {"T": float(point["steps"]), "x": mean_square(point), "T steps": {"x": path}}

    limit, kept = statement.expr, (1 - _STEP) ** 2 * _X + _ONE
    rest = ("*", limit, _STEP, 1 - _STEP)
    step = ("+", kept - _NEXT, ("*", (1 - _STEP) ** 2, limit - _X), rest)
    return search(
        statement,
        profile,
        mean_square,
        {
            "v": LogInterval(1e-6, 1e6),
            "L": LogInterval(1e-6, 1e6),
            "condition": LogInterval(1.0, 1e6, meaning=CONDITION),
            "p_j": LogInterval(1e-3, 1.0),
            "m": LogInterval(1.0, 1e9),
            "n": LogInterval(1.0, 1e9),
            "steps": IntRange(1, 10**9, log=True, meaning="number of steps of the run"),
        },
        at=lambda point: {**point, "lam": point["L"] / point["condition"]},
        budget=profile.searches // 8,
        everywhere=Everywhere(
            dict.fromkeys(("v", "L", "lam", "m", "n", "p_j"), POSITIVE),
            given=((L, lam), (1, p_j)),
            left=_X,
            hints=((">=", 1, _STEP), ("induct", "T", limit - _X, ("sum", 1, step))),
            arrays=Arrays(
                values=values,
                runs={
                    "T": Recursion(
                        numbers=("x",),
                        later=("next",),
                        start=both_ways(_X, 0),
                        steps=both_ways(_NEXT, kept),
                    )
                },
            ),
        ),
    )


# --- Near optimal -------------------------------------------------------------------------------


@claim(
    "ifca.sc-near-optimal",
    sr.NEAR_OPTIMAL,
    identity="the printed rate over the oracle's, two powers of $m$ and $n'$",
)
def near_optimal(statement: Statement, profile: Profile) -> Search:
    """The printed rate over the oracle's, m and n' alone."""
    ratio = (1 / sp.sqrt(m * n) + 1 / n) * sp.sqrt(m * n)
    domain: Ranges = {"m": LogInterval(1.0, 1e9), "n": LogInterval(1.0, 1e9)}
    return search(statement, profile, ratio, domain, budget=profile.searches // 8)


@claim(
    "ifca.sc-near-optimal-constants",
    sr.NEAR_OPTIMAL_CONSTANTS,
    finding=LOOSE_RUN,
    identity="the printed first term over the oracle's error, both formulas",
)
def near_optimal_constants(statement: Statement, profile: Profile) -> Search:
    """The printed first term over the oracle's error, all quantities."""
    free = "standard deviation of the gradient on one sample, without effect on the ratio"
    return search(
        statement,
        profile,
        sr.ACCURACY_1 * lam * sp.sqrt(p * m * n) / v,
        {
            "v": LogInterval(1e-3, 1e3, meaning=free),
            "L": LogInterval(1e-3, 1e3),
            "condition": LogInterval(1.0, 1e4, meaning=CONDITION),
            "k": LogInterval(1.0, 64.0),
            "share": Interval(1e-3, 1.0, meaning=_SHARE),
            "delta": LogInterval(1e-6, 1.0),
            "m": LogInterval(2.0, 1e9),
            "n": LogInterval(1.0, 1e9),
        },
        at=_with_shares,
        everywhere=Everywhere(
            {
                **dict.fromkeys(("v", "L", "lam"), POSITIVE),
                **dict.fromkeys(("k", "m", "n"), LogInterval(1.0, math.inf)),
                **dict.fromkeys(("share", "delta"), LogInterval(0.0, 1.0)),
            },
            given=((1, sp.Symbol("share")), (1, ss.delta), (L, lam)),
            constants={"p": sp.Symbol("share") / k},
        ),
        budget=profile.searches // 8,
    )

r"""The number of steps in Corollary 1 of IFCA, and the arithmetic of its proof.

Problem. Corollary 1 takes T = 2 + log(Delta/(4 epsilon)) steps (the conference version two less).
Are these enough, and does the proof's arithmetic hold?

Guarantee. `bounds.ifca.rounds`: each step halves the error, so that log(Delta/(4 epsilon)) steps
bring Delta/4 down to order epsilon.  Before that, two steps bring the closeness to 1/4.

Algorithm. Whole runs for every step size constant of a grid (``ifca.run-step-sizes``, columns
``least_1`` to ``least_24``).  The arithmetic is computed.

Computation. The runs have p_max = 2.9 p, where the best c1 leaves the factor 1.9/3.9 = 0.487 a
step.  Natural logarithms of Delta/(4 epsilon) of 4, 8 and 12 are tried at the generous end of the
other constants.  C_1 = 8 in condition (a).  In condition (b) the constants of the initial floor are
Theorem 1's: c2 = c3 = 1 (noise of one step (2/3) sqrt(p) floors, no stranger) and c4 = c.

Reference. TIT 2022, Corollary 1 and its proof in Appendix B.  NeurIPS 2020, Corollary 1.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import sympy as sp

from bounds.ifca import rounds as br
from bounds.ifca.hidden import HIDDEN
from bounds.ifca.symbols import Delta, T, alpha, varepsilon
from bounds.statement import Statement, evaluate
from trials.run.cell import Params
from verify.claim import Deferred, Finding, claim, row, table
from verify.claims.common import Point
from verify.claims.ifca.cells import cell, one_large
from verify.claims.ifca.whole_run import at_whole_rounds, every_run
from verify.claims.searching import Proof, generous, search
from verify.decisions.domain import Choice, Interval, IntRange, LogInterval
from verify.decisions.measures import DIFFERENCE, LOG_RATIO
from verify.decisions.search import SearchResult
from verify.evidence import EvidenceTable, Verdict
from verify.procedures.base import Presentation, Profile
from verify.procedures.search import Search
from verify.proofs.arrays import Arrays, Recursion
from verify.proofs.propositions import NOT_NEGATIVE, POSITIVE, Everywhere, Reduction

LOGARITHM = Finding(
    id="ifca-logarithm",
    where="TIT 2022 and NeurIPS 2020, Corollary 1 and its proof",
    headline="The number of steps is a natural logarithm where halvings need a binary one, so "
    "the accuracy $\\varepsilon$ is not reached.",
    printed="$T=\\log(\\Delta/4\\varepsilon)$ halvings reduce $\\Delta/4$ to $O(\\varepsilon)$.",
    found="No base is printed. In the proof of Corollary 2 the logarithm is the natural one. The "
    "binary one makes this corollary true where Theorem 1 is. With the natural one they leave "
    "$\\varepsilon(\\Delta/4\\varepsilon)^{1-\\log2}$, which exceeds every constant times "
    "$\\varepsilon$. Where $2.17p<p_{\\max}<3p$, every $c_1$ leaves more than the factor $1/e$ a "
    "step, and the corollary itself is false for all constants.",
    corrected="$T=2+\\log_2(\\Delta/4\\varepsilon)$ (conference: $1+\\log_2$). For "
    "$p_{\\max}\\le2p$ and $c_1=1/3$ the factor is near $1/3$: then the journal's $T$ is enough, "
    "and the conference's if $pmn'\\ge10^4d$.",
    severity="statement",
)

# --- The logarithm ------------------------------------------------------------------------------


def logarithm_cells(statement: Statement) -> tuple[Params, ...]:
    """p_max = 2.9 p and runs of growing length, at the generous corner of the box."""
    corner = {c.name: c.most_generous for c in statement.constants if c.generous != "choose"}
    before = round(float(statement.definitions[T].subs({Delta: 4, varepsilon: 1})))
    base = cell(m=10**5, n=10**6, d=64, k=2, rho=1.0, alpha=0.25, **one_large(2.9))
    return tuple(
        at_whole_rounds(statement, corner, before + natural, base) for natural in (4, 8, 12)
    )


#: Runs of growing length: the error over epsilon grows.
_NATURAL: dict[str, Any] = {
    "at_stated_step": True,
    "expected": Verdict.REFUTED,
    "finding": LOGARITHM,
    "hidden": HIDDEN,
}
NATURAL = table(
    every_run,
    row(
        "ifca.cor1-natural-log-as-printed",
        br.COROLLARY_1_LOGARITHM_AS_PRINTED,
        cells=Deferred(partial(logarithm_cells, br.COROLLARY_1_LOGARITHM_AS_PRINTED)),
    ),
    row(
        "ifca.neurips-cor1-natural-log-as-printed",
        br.NEURIPS_LOGARITHM_AS_PRINTED,
        cells=Deferred(partial(logarithm_cells, br.NEURIPS_LOGARITHM_AS_PRINTED)),
    ),
    **_NATURAL,
)


def halving(statement: Statement, profile: Profile) -> Search:
    """Is Delta/4 brought down to the stated accuracy by the stated number of halvings?

    The factor to be gained is gain = Delta/(4 epsilon).  Constants are at their generous end.
    """
    halvings, corner = statement.definitions[T], generous(statement)
    gain = "factor $\\Delta/(4\\varepsilon)$ by which the error has to fall"

    def at(point: Point) -> dict[str, float]:
        epsilon = point["epsilon"]
        return {"varepsilon": epsilon, "Delta": 4.0 * point["gain"] * epsilon}

    def growth(_result: SearchResult) -> Presentation:
        rows = []
        for gain in (1e3, 1e6, 1e9, 1e12):
            values = {**at({"gain": gain, "epsilon": 1.0}), **corner}
            count = float(evaluate(halvings, values))
            rows.append((gain, count, gain * 0.5**count))
        return Presentation(
            tables=(
                EvidenceTable(
                    title="The error that the halvings leave",
                    columns=("$\\Delta/4\\varepsilon$", "halvings", "error over $\\varepsilon$"),
                    rows=rows,
                ),
            )
        )

    return search(
        statement,
        profile,
        Delta / 4 * sp.exp(-halvings * sp.log(2)),
        {
            "gain": LogInterval(1.0, 1e15, meaning=gain),
            "epsilon": LogInterval(1e-6, 1.0),
        },
        at=at,
        constants=generous,
        measure=LOG_RATIO,
        budget=min(profile.searches, 500),
        proof=Proof(
            argument="Take the $\\varepsilon$ and $\\Delta$ of the counterexample and the stated "
            "halvings, every constant at the generous end of its box.",
            says="the error after these halvings exceeds the accuracy",
        ),
        present=growth,
    )


HALVING = table(
    halving,
    row("ifca.cor1-rounds-as-printed", br.COROLLARY_1_ROUNDS_AS_PRINTED, refuted=LOGARITHM),
    row("ifca.cor1-rounds", br.COROLLARY_1_ROUNDS, finding=LOGARITHM),
)

# --- The first steps ----------------------------------------------------------------------------


_HALVED, _W = sp.symbols("T w")
_FORM = {"C_1": 8.0}


def _first_steps(statement: Statement, point: Point) -> tuple[float, float]:
    """The start in units of Delta, and the number of halvings."""
    start = 0.5 - float(point["alpha"])
    if point["whole"] != "no":
        start = math.exp(point["whole"]) / (2 * _FORM["C_1"])
    logarithm = float(evaluate(statement.definitions[T], {"alpha": 0.5 - start, **_FORM}))
    rounded = math.ceil(logarithm - 1e-9)
    return start, {"printed": logarithm, "rounded up": rounded, "two": 2.0}[point["form"]]


def _logs(statement: Statement, point: Point) -> dict[str, float]:
    start, halvings = _first_steps(statement, point)
    return {"T": halvings, "w": -math.log(2 * start)}


BURN_IN = Reduction(
    idea="Let $w=-\\log(1-2\\alpha_0)\\ge0$. Each of the three numbers of halvings is at least "
    "$2-w$: the logarithm is $\\log8-w$ and $\\log8\\ge2$, rounding up adds to it, and the third "
    "is two. The certificate proves that $\\frac12e^{-w}2^{-T}$ is then at most one eighth, "
    "because $\\log2\\le1$.",
    ranges={"T": Interval(-math.inf, math.inf), "w": NOT_NEGATIVE},
    given=((_HALVED, 2 - _W),),
    left=sp.exp(-_HALVED * sp.log(2) - _W) / 2,
    hints=(
        ("log", 2),
        (
            ">=",
            _HALVED * sp.log(2) + _W,
            2 * sp.log(2),
            (
                "sum",
                1,
                ("+", ("*", sp.log(2), _HALVED - 2 + _W), ("*", _W, 1 - sp.log(2))),
            ),
        ),
        ("exp", _HALVED * sp.log(2) + _W - 2 * sp.log(2)),
    ),
)


@claim("ifca.cor1-burn-in", br.COROLLARY_1_BURN_IN)
def burn_in(statement: Statement, profile: Profile) -> Search:
    """T' = log(8 (1 - 2 alpha_0)) halvings bring (1/2 - alpha_0) below 1/8, and so do two.

    ``whole`` puts the closeness where the logarithm is an integer.
    """

    def left(point: Point) -> float:
        start, halvings = _first_steps(statement, point)
        return float(start * 0.5**halvings)

    whole = "integer value of $\\log(8(1-2\\alpha_0))$ that sets the start, or no"
    form = "number of halvings: the printed logarithm, the same rounded up, or two"
    return search(
        statement,
        profile,
        left,
        {
            "alpha": Interval(1e-6, 0.499999, meaning="closeness $\\alpha_0$ where whole is no"),
            "whole": Choice(("no", 0, 1, 2), meaning=whole),
            "form": Choice(("printed", "rounded up", "two"), meaning=form),
        },
        constants=_FORM,
        measure=DIFFERENCE,
        everywhere=replace(BURN_IN, quantities=partial(_logs, statement)),
        budget=min(profile.searches, 1000),
    )


_ERROR, _NEXT = sp.symbols("error next")


@claim("ifca.cor1-recursion", br.COROLLARY_1_RECURSION)
def recursion(statement: Statement, profile: Profile) -> Search:
    """Errors that follow the recursion with equality, in units of Delta."""

    def errors(point: Point) -> list[float]:
        found = [0.5 - float(point["alpha"])]
        for _ in range(point["T"]):
            found.append(found[-1] / 2 + point["floor"])
        return found

    limit = statement.expr
    step = ("+", _ERROR / 2 + br.EPSILON_0 - _NEXT, (limit - _ERROR) / 2)
    floor = "floor $\\varepsilon_0$ of the recursion, in units of $\\Delta$"
    return search(
        statement,
        profile,
        lambda point: errors(point)[-1],
        {
            "alpha": Interval(0.001, 0.499),
            "floor": LogInterval(1e-6, 1.0, meaning=floor),
            "T": IntRange(1, 40),
        },
        at=lambda point: {**point, "Delta": 1.0, "epsilon_0": point["floor"]},
        everywhere=Everywhere(
            dict.fromkeys(("alpha", "epsilon_0", "Delta"), POSITIVE),
            left=_ERROR,
            hints=(("induct", "T", limit - _ERROR, ("sum", 1, step)),),
            arrays=Arrays(
                values=lambda point: {
                    "T": float(point["T"]),
                    "error": errors(point)[-1],
                    "T steps": {"error": errors(point)},
                },
                runs={
                    "T": Recursion(
                        numbers=("error",),
                        later=("next",),
                        start=((Delta * (sp.Rational(1, 2) - alpha), _ERROR),),
                        steps=((_ERROR / 2 + br.EPSILON_0, _NEXT),),
                    )
                },
            ),
        ),
        budget=min(profile.searches, 1000),
    )


@claim("ifca.cor1-condition-b", br.COROLLARY_1_SEPARATION)
def separation(statement: Statement, profile: Profile) -> Search:
    """The initial floor against Delta/8, at the smallest Delta that the separation allows.

    The signal-to-noise ratio is a free number here: no relation of Delta and sigma is used.
    """
    (least,) = (a for a in statement.assumptions if a.name == "separation")

    def full(point: Point) -> dict[str, float]:
        """A point with rho, the n' of its signal, the hidden constant, and the smallest Delta."""
        rho = 1.0 / point["sigma"] ** 2
        n = point["signal"] * ((rho + 1) / (point["alpha"] * rho)) ** 2
        large = 16.0 * point["room"] * max(point["c_2"], point["c_3"])
        v = {**point, "C_Delta": large, "rho": rho, "n": n}
        # just above the smallest, so that rounding leaves the point inside the condition
        return {**v, "Delta": (1 + 1e-12) * float(evaluate(least.right, v))}

    noise = "noise standard deviation, with $\\rho=1/\\sigma^2$ whatever $\\Delta$ is"
    signal = "value of $(\\alpha_0\\rho/(\\rho+1))^2n^\\prime$, which sets $n^\\prime$"
    room = "hidden constant $C_\\Delta$ over $16\\max(c_2,c_3)$"
    symbols = ("alpha", "sigma", "rho", "m", "n", "d", "p", "Delta", "c_2", "c_3", "c_4", "C_Delta")
    return search(
        statement,
        profile,
        2 * statement.definitions[br.EPSILON_0],
        {
            "alpha": Interval(0.01, 0.49, meaning="closeness $\\alpha_0$ of the start"),
            "sigma": LogInterval(1e-2, 10.0, meaning=noise),
            "m": LogInterval(10.0, 1e7),
            "d": LogInterval(1.0, 1e4),
            "p": LogInterval(1e-3, 0.5),
            "signal": LogInterval(1e-2, 1e2, meaning=signal),
            "c_2": LogInterval(1e-2, 1e2),
            "c_3": LogInterval(1e-2, 1e2),
            "c_4": LogInterval(1e-3, 10.0),
            "room": LogInterval(0.5, 10.0, meaning=room),
        },
        at=full,
        everywhere=Everywhere(dict.fromkeys(symbols, POSITIVE)),
        budget=min(profile.searches, 1000),
    )

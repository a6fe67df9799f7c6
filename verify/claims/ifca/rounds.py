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
from fractions import Fraction

import mpmath

from bounds.ifca.rounds import (
    COROLLARY_1_BURN_IN,
    COROLLARY_1_LOGARITHM_AS_PRINTED,
    COROLLARY_1_RECURSION,
    COROLLARY_1_ROUNDS,
    COROLLARY_1_ROUNDS_AS_PRINTED,
    COROLLARY_1_SEPARATION,
    EPSILON_0,
    NEURIPS_LOGARITHM_AS_PRINTED,
)
from bounds.ifca.symbols import Delta, T, varepsilon
from bounds.statement import Statement, evaluate, evaluate_mp
from trials.run.cell import Params
from verify.claim import Finding, claim
from verify.claims.common import Point
from verify.claims.ifca.cells import HIDDEN, cell, one_large
from verify.claims.ifca.whole_run import at_whole_rounds, every_run
from verify.decisions.domain import Choice, Interval, IntRange, LogInterval
from verify.decisions.search import SearchResult
from verify.evidence import EvidenceTable, Verdict
from verify.procedures.base import Presentation, Profile
from verify.procedures.probability import Probability
from verify.procedures.search import Search
from verify.proofs.certificate import Certificate, Inequality, certificate
from verify.proofs.terms import Term, from_sympy, rational

LOGARITHM = Finding(
    id="ifca-logarithm",
    where="TIT 2022 and NeurIPS 2020, Corollary 1 and its proof",
    headline="The number of steps is a natural logarithm where halvings need a binary one, so "
    "the accuracy $\\varepsilon$ is not reached.",
    printed="$T=\\log(\\Delta/4\\varepsilon)$ halvings reduce $\\Delta/4$ to $O(\\varepsilon)$.",
    found="With the natural logarithm they leave "
    "$\\varepsilon(\\Delta/4\\varepsilon)^{1-\\log2}$, which exceeds every constant times "
    "$\\varepsilon$. Where $2.17p<p_{\\max}<3p$, every $c_1$ leaves more than the factor $1/e$ a "
    "step, and the corollary itself is false for all constants.",
    corrected="$T=2+\\log_2(\\Delta/4\\varepsilon)$ (conference: $1+\\log_2$). For "
    "$p_{\\max}\\le2p$ and $c_1=1/3$ the factor is near $1/3$: then the journal's $T$ is enough, "
    "and the conference's if $pmn'\\ge10^4d$.",
    severity="statement",
)

# --- The logarithm ------------------------------------------------------------------------------


def _logarithm_cells(statement: Statement) -> tuple[Params, ...]:
    """p_max = 2.9 p and runs of growing length, at the generous corner of the box."""
    corner = {c.name: c.most_generous for c in statement.constants if c.generous != "choose"}
    before = round(float(statement.definitions[T].subs({Delta: 4, varepsilon: 1})))
    base = cell(m=10**5, n=10**6, d=64, k=2, rho=1.0, alpha=0.25, **one_large(2.9))
    return tuple(
        at_whole_rounds(statement, corner, before + natural, base) for natural in (4, 8, 12)
    )


JOURNAL_CELLS = _logarithm_cells(COROLLARY_1_LOGARITHM_AS_PRINTED)
CONFERENCE_CELLS = _logarithm_cells(NEURIPS_LOGARITHM_AS_PRINTED)


@claim(COROLLARY_1_LOGARITHM_AS_PRINTED, expected=Verdict.REFUTED, finding=LOGARITHM, hidden=HIDDEN)
def natural_logarithm(statement: Statement, profile: Profile) -> Probability:
    """Runs of 6, 10 and 14 steps: the error over epsilon grows."""
    return every_run(statement, profile, JOURNAL_CELLS, at_stated_step=True)


@claim(NEURIPS_LOGARITHM_AS_PRINTED, expected=Verdict.REFUTED, finding=LOGARITHM, hidden=HIDDEN)
def natural_logarithm_conference(statement: Statement, profile: Profile) -> Probability:
    """Runs of 4, 8 and 12 steps: the error over epsilon grows."""
    return every_run(statement, profile, CONFERENCE_CELLS, at_stated_step=True)


def halving(statement: Statement, profile: Profile) -> Search:
    """Is Delta/4 brought down to the stated accuracy by the stated number of halvings?

    The factor to be gained is gain = Delta/(4 epsilon).  Constants are at their generous end.
    """
    corner = {c.name: c.most_generous for c in statement.constants}

    def at(point: Point) -> dict[str, float]:
        epsilon = point["epsilon"]
        return {"varepsilon": epsilon, "Delta": 4.0 * point["gain"] * epsilon, **corner}

    def violation(point: Point) -> float:
        halvings = float(evaluate(statement.definitions[T], at(point)))
        left = math.log(point["gain"] * point["epsilon"]) - halvings * math.log(2)
        return left - math.log(float(evaluate(statement.expr, at(point)))) - 1e-12

    def recheck(point: Point) -> mpmath.mpf:
        halvings = evaluate_mp(statement.definitions[T], at(point))
        left = mpmath.log(point["gain"]) + mpmath.log(point["epsilon"]) - halvings * mpmath.log(2)
        return left - mpmath.log(evaluate_mp(statement.expr, at(point))) - mpmath.mpf("1e-30")

    def growth(_result: SearchResult) -> Presentation:
        rows = []
        for gain in (1e3, 1e6, 1e9, 1e12):
            halvings = float(evaluate(statement.definitions[T], at({"gain": gain, "epsilon": 1.0})))
            rows.append((gain, halvings, gain * 0.5**halvings))
        return Presentation(
            tables=(
                EvidenceTable(
                    title="The error that the halvings leave",
                    columns=("$\\Delta/4\\varepsilon$", "halvings", "error over $\\varepsilon$"),
                    rows=rows,
                ),
            )
        )

    return Search(
        name=statement.id,
        violation=violation,
        recheck=recheck,
        sides=lambda point: (
            math.exp(violation(point)) * float(evaluate(statement.expr, at(point))),
            float(evaluate(statement.expr, at(point))),
        ),
        certify=lambda point: _too_few_halvings(statement, point, corner),
        domain={"gain": LogInterval(1.0, 1e15), "epsilon": LogInterval(1e-6, 1.0)},
        budget=min(profile.searches, 500),
        unit="log of the remaining error over the stated accuracy, gain = Delta/(4 epsilon)",
        constants=corner,
        present=growth,
    )


def _too_few_halvings(statement: Statement, point: Point, corner: dict[str, float]) -> Certificate:
    """The stated number of halvings of gain epsilon leaves more than is stated."""
    gain, epsilon = Fraction(point["gain"]), Fraction(point["epsilon"])
    at: dict[str, float | Fraction] = {
        "varepsilon": epsilon,
        "Delta": 4 * gain * epsilon,
        **corner,
    }
    halvings = from_sympy(statement.definitions[T], at)
    halved: Term = ["exp", ["-", ["*", halvings, ["log", "2"]]]]
    return certificate(
        f"Take $\\varepsilon={float(epsilon):.4g}$, "
        f"$\\Delta=4\\cdot{float(gain):.4g}\\,\\varepsilon$ and the stated halvings, every "
        "constant at the generous end of its box.",
        [
            Inequality(
                says="the error after these halvings exceeds the accuracy",
                left=["*", rational(gain * epsilon), halved],
                relation=">",
                right=from_sympy(statement.expr, at),
            )
        ],
    )


@claim(COROLLARY_1_ROUNDS_AS_PRINTED, expected=Verdict.REFUTED, finding=LOGARITHM)
def rounds_as_printed(statement: Statement, profile: Profile) -> Search:
    """The natural logarithm, against the largest constant of the box."""
    return halving(statement, profile)


@claim(COROLLARY_1_ROUNDS, finding=LOGARITHM)
def rounds(statement: Statement, profile: Profile) -> Search:
    """The logarithm to base two."""
    return halving(statement, profile)


# --- The first steps ----------------------------------------------------------------------------


@claim(COROLLARY_1_BURN_IN)
def burn_in(statement: Statement, profile: Profile) -> Search:
    """T' = log(8 (1 - 2 alpha_0)) halvings bring (1/2 - alpha_0) below 1/8, and so do two.

    ``whole`` puts the closeness where the logarithm is an integer.
    """
    stated, constant = float(statement.expr), 8.0

    def start_of(point: Point) -> float:
        if point["whole"] == "no":
            return 0.5 - float(point["alpha"])
        return math.exp(point["whole"]) / (2 * constant)

    def left(point: Point) -> float:
        start = start_of(point)
        at = {"alpha": 0.5 - start, "C_1": constant}
        logarithm = float(evaluate(statement.definitions[T], at))
        rounded = math.ceil(logarithm - 1e-9)
        halvings = {"printed": logarithm, "rounded up": rounded, "two": 2.0}[point["form"]]
        return float(start * 0.5**halvings)

    return Search(
        name=statement.id,
        violation=lambda point: left(point) - stated - 1e-15,
        sides=lambda point: (left(point), stated),
        domain={
            "alpha": Interval(1e-6, 0.499999),
            "whole": Choice(("no", 0, 1, 2)),
            "form": Choice(("printed", "rounded up", "two")),
        },
        budget=min(profile.searches, 1000),
        unit="remaining distance beyond Delta/8, in units of Delta",
        constants={"C_1": constant},
    )


@claim(COROLLARY_1_RECURSION)
def recursion(statement: Statement, profile: Profile) -> Search:
    """Errors that follow the recursion with equality, in units of Delta."""

    def at(point: Point) -> dict[str, float]:
        return {**point, "Delta": 1.0, "epsilon_0": point["floor"]}

    def error(point: Point) -> float:
        e = 0.5 - float(point["alpha"])
        for _ in range(point["T"]):
            e = e / 2 + point["floor"]
        return e

    def bound(point: Point) -> float:
        return float(evaluate(statement.expr, at(point)))

    return Search(
        name=statement.id,
        violation=lambda point: error(point) / bound(point) - 1.0,
        sides=lambda point: (error(point), bound(point)),
        domain={
            "alpha": Interval(0.001, 0.499),
            "floor": LogInterval(1e-6, 1.0),
            "T": IntRange(1, 40),
        },
        budget=min(profile.searches, 1000),
        unit="error over its bound, minus one",
    )


@claim(COROLLARY_1_SEPARATION)
def separation(statement: Statement, profile: Profile) -> Search:
    """The initial floor against Delta/8, at the smallest Delta that the separation allows.

    The signal-to-noise ratio is a free number here: no relation of Delta and sigma is used.
    """
    constants = {"c_2": 1.0, "c_3": 1.0, "c_4": HIDDEN["c"], "C_Delta": HIDDEN["C_Delta"]}
    (least,) = (a for a in statement.assumptions if a.name == "separation")

    def full(point: Point) -> dict[str, float]:
        """A point with rho, the n' of its signal, and the smallest Delta."""
        rho = 1.0 / point["sigma"] ** 2
        n = point["signal"] * ((rho + 1) / (point["alpha"] * rho)) ** 2
        v = {**constants, **point, "c": HIDDEN["c"], "rho": rho, "n": n}
        right = float(evaluate(least.right, v))
        return {**v, "Delta": constants["C_Delta"] * right}

    def left(v: dict[str, float]) -> float:
        return 2 * float(evaluate(statement.definitions[EPSILON_0], v))

    return Search(
        name=statement.id,
        violation=lambda point: (
            left(full(point)) / float(evaluate(statement.expr, full(point))) - 1.0
        ),
        sides=lambda point: (left(full(point)), float(evaluate(statement.expr, full(point)))),
        domain={
            "alpha": Interval(0.01, 0.49),
            "sigma": LogInterval(1e-2, 10.0),
            "m": LogInterval(10.0, 1e7),
            "d": LogInterval(1.0, 1e4),
            "p": LogInterval(1e-3, 0.5),
            "signal": LogInterval(1e-2, 1e2),
        },
        budget=min(profile.searches, 1000),
        unit="twice the initial floor over Delta/8, minus one",
        constants=constants,
    )

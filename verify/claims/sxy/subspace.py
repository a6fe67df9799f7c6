r"""Lemmas 4, 5 and 15 of Su, Xu & Yang: orthogonal iteration from a random start.

Problem. Orthogonal iteration finds the leading singular vectors of a matrix M.  How far are given
vectors x_i from its span when M is only near their moment matrix, and without any gap between
singular values?

Guarantee. `bounds.sxy.subspace`: a distance that falls with the ratio of two eigenvalues (Lemma 4),
projection errors of at most 3 sqrt(epsilon) (Lemma 5), and the angle of a random start (Lemma 15).

Algorithm. Algorithm 3.  The searches run it on small matrices.  From a uniformly random start the
law is exact (`trials.laws.random_subspace`, experiments ``sxy.projection`` and
``sxy.crossing``): only k x k matrices are
drawn, whatever d and the number of half steps are.

Computation. ``lemma5-as-printed`` needs no trial.  Where its condition asks for no iteration, the
angle of the start has a Beta law.  The corrected lemma has the constants C = 5/2 and C' = 3.35
of its reading.

Reference. Lemmas 4 and 5 in appendix A.4, Lemma 15 in appendix D.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import sympy as sp
from scipy import special

from bounds.statement import Statement, evaluate
from bounds.sxy.subspace import (
    LEMMA_4,
    LEMMA_4_AS_PRINTED,
    LEMMA_5,
    LEMMA_5_AS_PRINTED,
    LEMMA_5_SHARP,
    LEMMA_15,
    LEMMA_15_LINE,
    ROUNDS_IN_K,
)
from bounds.sxy.symbols import cosine, gamma_0, q, t
from trials.experiments.sxy.iteration import CROSSING, PROJECTION, lengths
from trials.run.cell import Params
from verify.claim import Finding, claim
from verify.claims.common import CannotTry, Point, explicit, log_of, refuse_untried
from verify.claims.searching import search
from verify.decisions.domain import Choice, Interval, IntRange, LogInterval
from verify.decisions.measures import DIFFERENCE, LOG_DIFFERENCE, LOWEST, log_or_lowest
from verify.decisions.sequences import FloatArray
from verify.evidence import Verdict
from verify.procedures.base import Profile, Sampling
from verify.procedures.probability import Probability
from verify.procedures.rate import Rate, StatedRate
from verify.procedures.search import Search
from verify.proofs.certificate import Certificate, Inequality, certificate
from verify.proofs.propositions import POSITIVE, Reduction
from verify.proofs.terms import from_sympy, rational


def sampling(profile: Profile) -> Sampling:
    """Trials of ``sxy.projection``."""
    return Sampling(experiment=PROJECTION, max_trials=min(profile.max_trials, 65_536))


#: Meanings of coordinates.
START = "largest principal angle between the start and the leading subspace"
BEYOND = "number of dimensions beyond the leading subspace, $d-k$"


# -- Lemma 4 ---------------------------------------------------------------------------------------

TANGENT = Finding(
    id="sxy-tangent",
    where="Lemma 4",
    printed="$\\norm{Q_tQ_t^\\top-U_1U_1^\\top}\\le\\tanh(\\theta)|\\lambda_{k+1}/\\lambda_k|^t$.",
    found="$\\theta$ is not defined. With $\\theta=\\gamma$ the bound is below $|\\lambda_{k+1}/"
    "\\lambda_k|^t$ for every start, but a start at a right angle needs any number of iterations.",
    corrected="$\\tan(\\gamma)|\\lambda_{k+1}/\\lambda_k|^t$, as in the cited theorem and in the "
    "proof of Lemma 5.",
    severity="strong",
)


@claim("sxy.lemma4-as-printed", LEMMA_4_AS_PRINTED, expected=Verdict.REFUTED, finding=TANGENT)
def lemma_4_as_printed(statement: Statement, profile: Profile) -> Search:
    """d = 2 and k = 1, at least one iteration."""

    tangent = sp.tan(gamma_0) * q**t

    def certify(point: Point) -> Certificate:
        exact = {name: Fraction(point[name]) for name in ("q", "gamma_0", "t")}
        angle = rational(exact["gamma_0"])
        turned = ["*", ["sin", angle], ["^", rational(exact["q"]), rational(exact["t"])]]
        # sin of the angle after t iterations, by tan gamma_t = q^t tan gamma
        length = ["sqrt", ["+", ["*", turned, turned], ["*", ["cos", angle], ["cos", angle]]]]
        return certificate(
            "Take $d=2$, $k=1$, $Y=\\mathrm{diag}(1,q)$ and $Q_0=(\\cos\\gamma,\\sin\\gamma)$. The "
            "distance of the two lines is the sine of the angle after $t$ iterations.",
            [
                Inequality(
                    says="the distance exceeds the printed bound",
                    left=turned,
                    relation=">",
                    right=["*", length, from_sympy(statement.expr.rewrite(sp.exp), exact)],
                )
            ],
        )

    return search(
        statement,
        profile,
        tangent / sp.sqrt(1 + tangent**2),
        {
            "q": Interval(0.01, 0.99),
            "gamma_0": Interval(0.01, 1.57, meaning=START),
            "t": IntRange(1, 20),
        },
        measure=replace(DIFFERENCE, unit="distance beyond the bound"),
        budget=min(profile.searches, 400),
        proof=certify,
    )


def _iterate(point: Point) -> float:
    """Distance after t iterations of a random symmetric matrix."""
    rng = np.random.default_rng(point["seed"])
    k = point["k"]
    d = k + point["more"]
    large = 10.0 ** np.sort(rng.uniform(0, 3, k))
    large /= large[0]
    small = rng.uniform(0, 1, d - k)
    small *= point["q"] / small.max()
    values = np.concatenate([large, small]) * rng.choice([-1.0, 1.0], d)
    inside = np.linalg.qr(rng.standard_normal((k, k)))[0]
    tangents = rng.standard_normal((d - k, k))
    tangents *= math.tan(point["gamma_0"]) / np.linalg.norm(tangents, 2)
    basis = np.linalg.qr(np.vstack([inside, tangents @ inside]))[0]
    for _ in range(point["t"]):
        basis = np.linalg.qr(point["unit"] * values[:, None] * basis)[0]
    # sin of the largest angle; the block outside loses no digits where the angle is small
    return float(np.linalg.norm(basis[k:], 2))


@claim("sxy.lemma4", LEMMA_4, finding=TANGENT)
def lemma_4(statement: Statement, profile: Profile) -> Search:
    """Random symmetric matrices with eigenvalues of both signs, in any unit, from any angle."""

    def bound(point: Point) -> float:
        at = {name: point[name] for name in ("q", "gamma_0", "t")}
        return max(float(evaluate(statement.expr, at)), 1e-12)  # below it is rounding

    return search(
        statement,
        profile,
        _iterate,
        {
            "k": IntRange(1, 6),
            "more": IntRange(1, 10, meaning=BEYOND),
            "q": Interval(0.0, 0.999),
            "gamma_0": Choice((0.01, 0.1, 0.5, 1.0, 1.4, 1.5, 1.56, 1.5707), meaning=START),
            "t": IntRange(0, 20),
            "unit": LogInterval(1e-6, 1e6, meaning="factor that multiplies the matrix"),
            "seed": IntRange(0, 10_000),
        },
        bound=bound,
        budget=min(profile.searches, 800),
    )


# -- Lemma 5 ---------------------------------------------------------------------------------------

UNITS_OF_LEMMA_5 = Finding(
    id="sxy-units-of-lemma5",
    where="Lemma 5, and the last lines of its proof",
    printed='"For any $\\epsilon>0$ and $t\\ge Ck\\log\\frac{dNH}{\\epsilon}$", projection errors '
    "are "
    "at most $3\\sqrt\\epsilon$. The proof adds the error $\\epsilon$ of the iteration.",
    found="$\\epsilon$ has the unit of $H^2$. In a unit with $\\epsilon\\ge dNH$ the condition "
    "asks "
    "for no iteration, and $H$ may be any multiple of $\\sqrt\\epsilon$. A random line in the "
    "plane "
    "then misses $x_1$ by more than $3\\sqrt\\epsilon$ with probability above 2/3. For "
    "$\\epsilon\\le1$ the printed number is enough.",
    corrected="$t\\ge Ck\\log(dN\\max(1,H/\\sqrt\\epsilon))$. Also $(1+\\delta)^t\\le e$ must be "
    "$(1+\\delta)^k\\le e$ in the last line of the proof.",
    severity="edge",
)
FACTOR_K = Finding(
    id="sxy-factor-k",
    where="Theorem 1, (3), Proposition 1 and Lemma 5",
    printed="$T_1=\\Omega(k\\log(Nd))$.",
    found="The factor $k$ is not needed. $\\log(1/\\cos\\gamma_0)/\\log8$ half steps are enough "
    "for "
    "the errors $3\\sqrt\\epsilon$, whatever the gaps, $k$ and $H$ are.",
    corrected="$T_1=\\Omega(\\log(Nd))$.",
    severity="slip",
)

#: Constants at the generous end of the box: the printed condition is refuted for all smaller ones.
GENEROUS = {"C": 1e3, "C_f": 1e3}


def _line_at(point: Point) -> dict[str, float]:
    """k = 1 and M = x x^T, where epsilon is ``share`` of d N H, and H is ``height`` of d N."""
    size = float(point["d"]) * point["N"]
    own = {"k": 1.0, "d": float(point["d"]), "N": float(point["N"])}
    return {
        **own,
        "H": point["height"] * size,
        "epsilon": point["share"] * point["height"] * size**2,
    }


def _line_misses(statement: Statement, at: Mapping[str, float]) -> float:
    """P(the projection error exceeds the stated one) after the stated number of iterations."""
    if float(evaluate(statement.definitions[t], {**at, **GENEROUS})) > 0:
        return 0.0  # one iteration finds the only vector
    share = float(evaluate(statement.expr, at)) / at["H"]  # of the sine
    if share >= 1:
        return 0.0
    return float(special.betainc(0.5, (at["d"] - 1) / 2, 1 - share**2))


@claim(
    "sxy.lemma5-as-printed", LEMMA_5_AS_PRINTED, expected=Verdict.REFUTED, finding=UNITS_OF_LEMMA_5
)
def lemma_5_as_printed(statement: Statement, profile: Profile) -> Search:
    """One vector, M = x x^T, in units in which the condition asks for no iteration."""
    failure = statement.failure
    if failure is None:
        raise CannotTry(f"{statement.id}: a statement without a failure probability")

    def certify(point: Point) -> Certificate:
        exact = {
            name: Fraction(value)
            for name, value in {"k": 1.0, "d": 2.0, "N": float(point["N"]), **GENEROUS}.items()
        }
        size = 2 * exact["N"]
        exact |= {"H": 100 * size, "epsilon": 100 * size**2}
        return certificate(
            "Take $d=2$, $k=1$, $M=x_1x_1^\\top$, $\\norm{x_1}=H=100dN$ and $\\epsilon=dNH$. The "
            "start is a uniformly random line. Its angle to $x_1$ exceeds 1/2 with probability "
            "$1-1/\\pi>2/3$. The projection error is $H$ times the sine of the angle.",
            [
                Inequality(
                    says="the condition asks for less than half an iteration",
                    left=from_sympy(statement.definitions[t], exact),
                    relation="<",
                    right="1/2",
                ),
                Inequality(
                    says="at an angle above 1/2 the projection error exceeds the stated one",
                    left=["*", rational(exact["H"]), ["sin", "1/2"]],
                    relation=">",
                    right=from_sympy(statement.expr, exact),
                ),
                Inequality(
                    says="2/3 exceeds the stated failure probability",
                    left="2/3",
                    relation=">",
                    right=from_sympy(failure, exact),
                ),
            ],
        )

    return search(
        statement,
        profile,
        lambda point: log_or_lowest(_line_misses(statement, _line_at(point))),
        {
            "d": IntRange(2, 1000, log=True),
            "N": IntRange(10, 100_000, log=True),
            "height": LogInterval(1e-3, 1e6, meaning="value of $H$ in units of $dN$"),
            "share": LogInterval(1e-3, 10.0, meaning="value of $\\epsilon$ in units of $dNH$"),
        },
        at=_line_at,
        constants=GENEROUS,
        measure=LOG_DIFFERENCE,
        bound=lambda point: log_of(failure, {**_line_at(point), **GENEROUS}),
        budget=min(profile.searches, 400),
        proof=certify,
    )


#: The constants of the reading of ``sxy.lemma5``.
LEMMA_5_CONSTANTS = {"C": 2.5, "C_f": 3.35}


#: Ladders and cliffs, k to 16, H to 1e6 times sqrt(epsilon), N from 2, and epsilon by d and k.
#: With one short vector and a billion rows, half of the iterations are too few.
_ITERATIONS = (
    (3, 1, "equal", 10.0, 10.0, 10**9, 100.0),
    (2, 1, "equal", 1e4, 10.0, 2, 1e-6),
    (5, 2, "ladder", 1e4, 2.0, 2, 1e4),
    (20, 4, "ladder", 1e12, 1.1, 3, 1e-3),
    (20, 16, "ladder", 1e6, 1.5, 2, 1.0),
    (1000, 4, "cliff", 1e12, 10.0, 2, 1e-9),
    (1000, 16, "ladder", 10.0, 9.5, 10, 1e6),
    (100_000, 8, "equal", 9.5, 9.5, 1000, 0.1),
)
_EPSILON = {(d, k): epsilon for d, k, *_, epsilon in _ITERATIONS}


def _iteration_cells() -> tuple[dict[str, Any], ...]:
    names = ("d", "k", "family", "top", "low", "N")
    return tuple(dict(zip(names, row[:-1], strict=True)) for row in _ITERATIONS)


def _epsilon(cell: Params) -> float:
    """The accuracy in a cell.  The experiment measures lengths in units of its root."""
    return _EPSILON.get((cell["d"], cell["k"]), 1.0)


@claim("sxy.lemma5", LEMMA_5, finding=UNITS_OF_LEMMA_5)
def lemma_5(statement: Statement, profile: Profile) -> Probability:
    """The stated number of iterations, from the exact law of the start."""

    def symbols(cell: Params) -> dict[str, float]:
        return {
            "d": float(cell["d"]),
            "k": float(cell["k"]),
            "N": float(cell["N"]),
            "H": math.sqrt(_epsilon(cell) * max(lengths(cell))),
            "epsilon": _epsilon(cell),
        }

    cells = []
    for cell in _iteration_cells():
        at = {**symbols(cell), **LEMMA_5_CONSTANTS}
        rounds = math.ceil(float(evaluate(statement.definitions[t], at)))
        cells.append({**cell, "half_steps": 2 * max(rounds, 0)})
    return explicit(
        statement,
        LEMMA_5_CONSTANTS,
        sampling(profile),
        cells,
        symbols,
        lambda table: table["projection"],
        "a projection error above the stated one",
        log_tail=_log_late,
        unit=lambda cell: math.sqrt(_epsilon(cell)),
    )


def _log_late(cell: Params, bound: float) -> float:
    """Log of a limit on the probability that the half steps leave an error above ``bound``.

    They leave no error above ``3 sqrt(epsilon)`` where ``8^(half_steps)`` is at least the inverse
    cosine of the start (`bounds.sxy.subspace.LEMMA_5_SHARP`).  A smaller bound has no such limit.
    """
    if bound < 3.0 * math.sqrt(_epsilon(cell)) * (1.0 - 1e-12):
        return 0.0
    return log_small_cosine_limit(-cell["half_steps"] * math.log(8.0), cell["d"], cell["k"])


def _is_measurable(point: Point) -> bool:
    """Whether rounding moves the errors by less than a millionth of their bound.

    It moves the start by about 1e-16 ``top`` beside a cosine of cos(``gamma_0``).
    """
    return bool(point["top"] <= 1e12 * math.cos(point["gamma_0"]))


def _basis(columns: FloatArray) -> FloatArray:
    """Orthonormal columns with the span of the given ones."""
    return np.asarray(np.linalg.qr(columns)[0])


def _measure_error(statement: Statement, point: Point) -> float:
    """The largest projection error of Algorithm 3 after the stated iterations."""
    rng = np.random.default_rng(point["seed"])
    k = point["k"]
    d = k + point["more"]
    squares = np.geomspace(point["top"], point["low"], k) if k > 1 else np.array([point["top"]])
    x = np.sqrt(squares) * rng.standard_normal((d, k)) / math.sqrt(d)
    if point["orthogonal"]:
        x = np.sqrt(squares) * np.linalg.qr(rng.standard_normal((d, k)))[0]
    x *= math.sqrt(point["epsilon"])
    error = rng.standard_normal((d, d))
    if point["style"] == "against":  # as much as possible against the vectors, and elsewhere
        q = np.linalg.qr(np.hstack([x, rng.standard_normal((d, d - k))]))[0]
        error = (q * np.where(np.arange(d) < k, -1.0, np.linspace(1.0, 0.5, d))) @ q.T
    elif point["style"] == "turn":
        error = error - 0.9 * error.T
    error *= point["epsilon"] / np.linalg.norm(error, 2)
    matrix = x @ x.T + error
    leading = np.linalg.svd(matrix)[0][:, :k]
    # The start depends on the span of these vectors alone, as LAPACK chooses their signs.
    free = rng.standard_normal((d, min(k, d - k)))
    angle = point["gamma_0"]
    basis = math.cos(angle) * _basis(leading @ (leading.T @ rng.standard_normal((d, k))))
    basis[:, : d - k] += math.sin(angle) * _basis(free - leading @ (leading.T @ free))
    basis = _basis(basis)
    smallest = float(np.linalg.svd(leading.T @ basis, compute_uv=False)[-1])
    rounds = math.ceil(float(evaluate(statement.definitions[t], {"cosine": min(smallest, 1.0)})))
    for half_step in (matrix.T, matrix) * max(rounds, 0):
        basis = _basis(half_step @ basis)  # M M^T at once would lose twice the digits
    lost = x - basis @ (basis.T @ x)
    return float(np.linalg.norm(lost, axis=0).max())


@claim("sxy.lemma5-sharp", LEMMA_5_SHARP, finding=FACTOR_K)
def lemma_5_sharp(statement: Statement, profile: Profile) -> Search:
    """Random, skew and adversarial errors, ladders, and starts close to a right angle."""

    return search(
        statement,
        profile,
        partial(_measure_error, statement),
        {
            "k": IntRange(1, 16, log=True),
            "more": IntRange(1, 24, log=True, meaning=BEYOND),
            "top": LogInterval(
                1.0,
                1e8,
                meaning="squared length of the first $x_i$ over $\\epsilon$ (its mean if random)",
            ),
            "low": LogInterval(
                0.1,
                100.0,
                meaning="squared length of the last $x_i$ over $\\epsilon$ (mean if random; unused "
                "for $k=1$)",
            ),
            "orthogonal": Choice(
                (True, False), meaning="whether the vectors $x_i$ are orthogonal to each other"
            ),
            "style": Choice(
                ("against", "turn", "random"),
                meaning="kind of error of $M$: random, skew-symmetric (turn) or against the "
                "vectors $x_i$",
            ),
            "gamma_0": Choice((0.1, 1.0, 1.5, 1.57, 1.5707, 1.5707963, 1.570796326), meaning=START),
            "epsilon": LogInterval(1e-6, 1e6),
            "seed": IntRange(0, 10_000),
        },
        where=_is_measurable,
        budget=min(profile.searches, 800),
    )


@claim("sxy.rounds-in-k", ROUNDS_IN_K, finding=FACTOR_K)
def rounds_in_k(statement: Statement, profile: Profile) -> Rate:
    """Ladders of shortest steps that matter: squared lengths from 1e4 or 20 to 10 epsilon."""
    cells = tuple(
        {"d": d, "k": k, "family": "ladder", "top": top, "low": 10.0}
        for top in (1e4, 20.0)
        for d in (100, 10_000)
        for k in (2, 4, 8, 16)
    )
    exponent = statement.power(statement.terms[0].name, sp.Symbol("k"))

    refuse_untried(statement, ("k",))
    return Rate(
        name=statement.id,
        sampling=Sampling(experiment=CROSSING, max_trials=min(profile.max_trials, 256)),
        cells=cells,
        statistic=lambda table: table["crossing"],
        regressors=lambda cell: {
            "k": float(cell["k"]),
            "d": float(cell["d"]),
            "top": float(cell["top"]),
        },
        stated={
            "k": StatedRate(exponent=exponent, side="at most", symbol="$k$"),
        },
        observable="the half steps until all errors are at most $3\\sqrt\\epsilon$",
    )


# -- Lemma 15 --------------------------------------------------------------------------------------


def log_small_cosine_limit(log_cosine: float, d: int, k: int) -> float:
    r"""Log of a limit on the probability that the smallest cosine is below ``exp(log_cosine)``.

    The cosine is below c only where the k x k Gaussian block inside the subspace has a singular
    value below :math:`c/\sqrt{1-c^2}` times the norm of the independent block outside.  That
    norm has expectation at most :math:`\sqrt{d-k}+\sqrt k`, and the singular value is below x
    with probability at most :math:`\sqrt kx` (Edelman 1988).  For k = d the cosine is one: below
    nothing up to one, and below all that is larger.

    Examples
    --------
    >>> log_small_cosine_limit(-10.0, 100, 1) < math.log(5e-4)
    True
    """
    if d == k:
        return LOWEST if log_cosine <= 0.0 else 0.0
    if log_cosine >= 0.0:
        return 0.0
    tangent = log_cosine - 0.5 * math.log(-math.expm1(2.0 * log_cosine))
    return min(0.0, 0.5 * math.log(k) + math.log(math.sqrt(d - k) + math.sqrt(k)) + tangent)


LEMMA_15_CONSTANTS = {"c": 0.5, "C_f": 3.35}


@claim("sxy.lemma15", LEMMA_15)
def lemma_15(statement: Statement, profile: Profile) -> Probability:
    """From a line to a subspace of the space's own dimension, with the constants of the reading."""
    shapes = [(1, 1), (2, 2), (3, 2), (10, 3), (10, 9), (100, 16), (10_000, 5), (10**9, 32)]
    cells = [
        {"d": d, "k": k, "family": "equal", "top": 1.0, "share": share}
        for d, k in shapes
        for share in (0.25, 0.05, 1e-3, 1e-9)
    ]

    def symbols(cell: Params) -> dict[str, float]:
        return {"d": float(cell["d"]), "l": float(cell["k"]), "delta_f": cell["share"]}

    def bad(table: Any, cell: Params) -> Any:
        at = {**symbols(cell), **LEMMA_15_CONSTANTS}
        return np.asarray(table["cosine"] < float(statement.bound(at)))

    return Probability(
        name=statement.id,
        sampling=sampling(profile),
        cells=tuple(cells),
        bad=bad,
        delta=lambda cell: statement.failure_probability({**symbols(cell), **LEMMA_15_CONSTANTS}),
        log_limit=lambda cell: log_small_cosine_limit(
            math.log(float(statement.bound({**symbols(cell), **LEMMA_15_CONSTANTS}))),
            cell["d"],
            cell["k"],
        ),
        event="a smallest singular value below the stated one, with $c=1/2$, $C'=3.35$",
        symbols=lambda _table, cell: {"k": float(cell["k"]), **symbols(cell), **LEMMA_15_CONSTANTS},
    )


_G, _D, _SMALL = sp.symbols("G d delta_f")


def _density(point: Point) -> dict[str, float]:
    """Twice the density of a coordinate of a random direction at zero, or one if that is larger."""
    half = point["d"] / 2
    log = special.gammaln(half) - special.gammaln(half - 0.5) - math.log(math.pi) / 2
    return {"G": max(1.0, 2 * math.exp(log))}


LINE = Reduction(
    idea="$U^TQ$ is a coordinate of a random direction. For $d\\ge3$ its density is largest at "
    "zero, and for $d=2$ the law is the arcsine law, so $P(|U^TQ|<t)\\le Gt$. By Wendel's "
    "inequality the density is at most $\\sqrt{d/2\\pi}$, so that $G^2\\le d$. The certificate "
    "puts $t=\\delta/\\sqrt d$ in.",
    lemmas=("wendel",),
    ranges={"G": POSITIVE, "d": POSITIVE, "delta_f": POSITIVE},
    given=((_D, _G**2),),
    quantities=_density,
    left=sp.log(_SMALL) + sp.log(_G) - sp.log(_D) / 2,
    right=sp.log(_SMALL),
    hints=(
        ("log", _G**2 / _D),
        ("sum", 2, ("+", _G**2 / _D - 1 - sp.log(_G**2 / _D), 1 - _G**2 / _D)),
    ),
)


@claim("sxy.lemma15-line", LEMMA_15_LINE)
def lemma_15_line(statement: Statement, profile: Profile) -> Search:
    """The Beta law of a line's angle, d to 1e9 and probabilities to 1e-100."""
    constants = {"c": 1.0, "C_f": 1.0}

    def log_tail(point: Point) -> float:
        angle = float(evaluate(statement.definitions[cosine], {**point, **constants}))
        return log_or_lowest(
            float(special.betainc(0.5, (point["d"] - 1) / 2, min(angle, 1.0) ** 2))
        )

    return search(
        statement,
        profile,
        log_tail,
        {"d": IntRange(2, 10**9, log=True), "delta_f": LogInterval(1e-100, 0.3)},
        constants=constants,
        measure=LOG_DIFFERENCE,
        everywhere=LINE,
        budget=min(profile.searches, 600),
    )

r"""Inexact local fits: SGD, Lemmas 5 to 8, and Theorem 2 of ODCL.

Problem. Users stop their local fits early.  How far is the T-th iterate of projected SGD from the
fit, and how many samples and iterations do the clusters then need?

Guarantee. `bounds.odcl.inexact`: Lemma 5 bounds the mean squared error, Lemma 6 a quantile, Lemma 7
and Theorem 2 carry them to the population.

Algorithm. Projected SGD with step 1/(mu t) on a quadratic function of one variable with fair sign
noise.  Its law is that of a clipped walk on the integers (`trials.laws.sgd_line`), which gives
quantiles of any level without trials.

Computation. Searches compare exact quantiles and means with the statements.  Experiment
``odcl.sgd`` draws the iterates for curvatures above the strong convexity that the steps assume.

Reference. Armacki et al. 2024, Section 4.4 and Appendix B.3.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import sympy as sp

from bounds.odcl import inexact as bi
from bounds.odcl.symbols import M, alpha
from bounds.statement import Statement, evaluate
from trials.checks import InvalidParameter
from trials.experiments.odcl.fits import SGD
from trials.laws.sgd_line import positions
from trials.run.cell import Params
from verify.claim import Finding, claim, row
from verify.claims.common import CannotTry, Point
from verify.claims.odcl.sides import SEPARATION, log_search, power_law, upper_quantile
from verify.claims.searching import Proof, proves
from verify.decisions.domain import Choice, Interval, IntRange, LogInterval, Ranges
from verify.decisions.means import Knowledge
from verify.evidence import Verdict
from verify.procedures.base import FloatArray, Profile, Sampling
from verify.procedures.mean_bound import MeanBound
from verify.procedures.rate import Rate
from verify.procedures.search import Search
from verify.proofs.certificate import Certificate, Inequality, certificate
from verify.proofs.propositions import NOT_NEGATIVE, POSITIVE, Everywhere
from verify.proofs.terms import from_sympy, rational

#: Iterations at which the exact law is computed.
TIMES = tuple(2**power for power in range(3, 14))
_UNITS = LogInterval(1e-6, 1e6)

# --- Lemmas 5 and 6 -----------------------------------------------------------------------------

LINE: Ranges = {
    "q": Choice(
        (1, 2, 5, 10, 20),
        meaning="ratio $\\sigma/(\\mu_fR)$ of noise to curvature times radius",
    ),
    "t": Choice(TIMES),
    "mu_f": _UNITS,
    "sigma": LogInterval(1e-6, 1e6, meaning="size of the sign noise of a stochastic gradient"),
    "share": LogInterval(
        1e-6, 1.0, meaning="excess of $\\Gamma$ over $\\sigma+2\\mu_fR$, in units of $\\sigma$"
    ),
    "delta": LogInterval(1e-6, 0.99),
}


def symbols(point: Point) -> dict[str, float]:
    """Gamma and the other symbols: L = mu, R = sigma / (q mu), gradients at the optimum a share.

    The share is that of sigma.
    """
    sigma = point["sigma"]
    return {
        "Gamma": sigma * (1 + 2 / point["q"] + point["share"]),
        "mu_f": point["mu_f"],
        "t": float(point["t"]),
        "delta": point["delta"],
    }


def squared_errors(point: Point) -> tuple[FloatArray, FloatArray]:
    """The exact law of the t-th iterate's squared error: outcomes and probabilities."""
    values, weights = positions(point["q"], TIMES)[TIMES.index(point["t"])]
    radius = point["sigma"] / (point["q"] * point["mu_f"])
    return (radius * values) ** 2, weights


def quantile(
    statement: Statement,
    profile: Profile,
    *,
    proof: Callable[[Statement], Certificate] | None = None,
) -> Search:
    """The exact quantile of one iterate, delta down to 1e-6, in all units."""

    def observed(point: Point) -> float:
        share = statement.failure_probability({"delta": point["delta"]})
        return upper_quantile(*squared_errors(point), share)

    return log_search(
        statement,
        profile,
        observed,
        LINE,
        at=symbols,
        proof=None if proof is None else lambda _point: proof(statement),
    )


@claim("odcl.lemma5", bi.LEMMA_5)
def lemma_5(statement: Statement, _profile: Profile) -> MeanBound:
    """Iterates from the edge of the space, also at three times the assumed curvature.

    With fewer iterates the start itself is within the bound.
    """
    cells = [
        {"T": steps, "m": 1, "R": radius, "h": h, "sigma": sigma, "noise": "sign"}
        for steps in (100, 200, 500, 1000)
        for radius, h, sigma in (
            (1.0, 1.0, 1e-3),
            (1.0, 1.0, 1.0),
            (1e3, 1.0, 3e3),
            (1e-6, 1.0, 1e-6),
            (1.0, 3.0, 1.0),
        )
    ]
    # the mean of many users' errors is no smaller than one user's
    cells.append({"T": 200, "m": 256, "R": 1e3, "h": 1.0, "sigma": 3e3, "noise": "sign"})
    return MeanBound(
        statement=statement,
        sampling=Sampling(experiment=SGD, max_trials=1024, first=256),
        cells=tuple(cells),
        statistic=lambda table, _cell: table["last"],
        knowledge=lambda cell: Knowledge(low=0.0, high=cell["R"] ** 2),
        observable="the squared error of the last iterate",
        values=_sgd_values,
    )


def _sgd_values(cell: Params) -> dict[str, float]:
    """The statement's symbols in a cell: the gradient at the optimum is the noise alone.

    A function times mu_f with steps 1/(mu_f t) has the same iterates in every unit of the gradient.
    The unit differs from cell to cell, so that mu_f does.
    """
    unit = float(cell["R"]) ** -0.5
    return {
        **cell,
        "Gamma": unit * (cell["sigma"] + 2 * cell["h"] * cell["R"]),
        "mu_f": unit,
    }


UNITS_OF_LEMMA_6 = Finding(
    id="odcl-lemma6-units",
    where="Lemma 6, and with it Lemma 7 and Theorem 2",
    printed="$\\frac{12\\Gamma^2}{\\mu_f^2t}+8\\Gamma(121\\Gamma+1)\\frac{\\log(\\log(t)/\\delta)}t$.",
    found="A squared length, a squared gradient and a gradient are added. For small $\\mu_f$ the "
    "last term, the only one that depends on $\\delta$, vanishes against the error, which is of "
    "order $\\Gamma^2/\\mu_f^2$. On a quadratic function with sign noise the exact quantile at "
    "$\\delta=10^{-6}$ exceeds the bound.",
    corrected="$(624\\log(\\log(T)/\\delta)+1)\\Gamma^2/(\\mu_f^2t)$ (the source's Proposition 1).",
    severity="edge",
)


def _equal_signs(statement: Statement) -> Certificate:
    """All signs alike: the iterate is at the edge of the space, at a probability above delta."""
    failure = statement.failure
    if failure is None:
        raise CannotTry(f"{statement.id}: a statement without a failure probability")
    values: dict[str, float | int | str | Fraction] = {
        "Gamma": Fraction(301, 100),
        "mu_f": Fraction(1, 10**6),
        "t": 128,
        "delta": Fraction(1, 2**127),
    }
    shown = proves(
        statement,
        "Take $f(\\theta)=\\frac{\\mu_f}2\\theta^2$ on $|\\theta|\\le R=\\sigma/\\mu_f$ with "
        "$\\mu_f=10^{-6}$, fair signs of size $\\sigma=1$ as noise and $N_k=1/100$, so that "
        "$\\Gamma=3.01$. With 127 equal signs $|\\theta^{128}|=R$, which has the probability "
        "$2^{-126}$. Take $\\delta=2^{-127}$.",
        "the squared error at the edge of the space exceeds the bound",
        str(10**12),
        values,
    )
    likelier = Inequality(
        says="this error has a larger probability than stated",
        left=rational(Fraction(1, 2**126)),
        relation=">",
        right=from_sympy(failure, values),
    )
    return certificate(shown.argument, [*shown.inequalities, likelier])


LEMMA_6 = (
    row(
        "odcl.lemma6-as-printed",
        bi.LEMMA_6_AS_PRINTED,
        quantile,
        proof=_equal_signs,
        expected=Verdict.REFUTED,
        finding=UNITS_OF_LEMMA_6,
    ),
    row("odcl.lemma6", bi.LEMMA_6, quantile, finding=UNITS_OF_LEMMA_6),
)

# --- Lemma 7 ------------------------------------------------------------------------------------

FIFTEEN = Finding(
    id="odcl-lemma7",
    where="Lemma 7 and its proof; Theorem 2 and Remark 18 take over the 15",
    printed="$T\\ge15$; the last term of the bound is $\\varepsilon S$.",
    found="The proof needs $\\log\\log T\\ge1$, and $\\log\\log15=0.996$. $S$ is not defined.",
    corrected="$T\\ge16$ and $\\varepsilon G_{F_k}$, as the proof's last display has it.",
    severity="edge",
)

_LEMMA_7_DOMAIN: Ranges = {
    "T": IntRange(15, 10**9, log=True),
    "Gamma": _UNITS,
    "mu_f": _UNITS,
    "delta": LogInterval(1e-9, 0.99),
}


_T, _DELTA, _GAMMA, _MU = sp.symbols("T delta Gamma mu_f")
#: log log T >= 1 and log(1/delta) >= 1.
_LEMMA_7_HINTS = (
    ("log", 16 / _T),
    (">=", sp.log(_T), sp.log(16)),
    (">", sp.log(_T), 0),
    ("log", sp.log(16) / sp.log(_T)),
    (">=", sp.log(sp.log(_T)), sp.log(sp.log(16))),
    (">=", sp.log(sp.log(16)), 1, ("boxes",)),
    (">=", sp.log(sp.log(_T)), 1),
    (">=", sp.log(3), 1, ("boxes",)),
    ("log", 3 * _DELTA),
    (">=", sp.log(1 / _DELTA), 1),
    # T times the difference, with log(log(T) / delta) as a sum
    (
        "sum",
        _T,
        (
            "+",
            ("*", 12 * _GAMMA**2 / _MU**2, sp.log(sp.log(_T)) - 1),
            (
                "*",
                8 * _GAMMA,
                121 * _GAMMA + 1,
                ("+", sp.log(1 / _DELTA) - 1, 1),
                sp.log(sp.log(_T)) - 1,
            ),
        ),
    ),
)
LEMMA_7 = tuple(
    row(
        id,
        stated,
        log_search,
        observed=bi.LEMMA_7_LEFT,
        domain=_LEMMA_7_DOMAIN,
        everywhere=Everywhere(
            dict.fromkeys(("T", "Gamma", "mu_f", "delta"), POSITIVE), hints=_LEMMA_7_HINTS
        ),
        proof=Proof(argument="Both sides are the displays of the proof."),
        expected=expected,
        finding=FIFTEEN,
    )
    for id, stated, expected in (
        ("odcl.lemma7-as-printed", bi.LEMMA_7_AS_PRINTED, Verdict.REFUTED),
        ("odcl.lemma7", bi.LEMMA_7, Verdict.SUPPORTED),
    )
)

# --- Theorem 2 ----------------------------------------------------------------------------------

ROOM = Finding(
    id="odcl-thm2-threshold",
    where="Theorem 2, Remark 17",
    printed="$\\frac n{\\log n}>4M(\\frac{D^2}{4\\alpha^2}-4\\varepsilon\\xi_F)^{-1}$ and "
    "$\\varepsilon<D^2/(16\\xi_F\\alpha^2)$.",
    found="The factor two of $\\norm{\\theta-\\theta^\\star}^2\\le\\frac2{\\mu_F}(F(\\theta)-"
    "F(\\theta^\\star))$ is lost on the new term. With the $\\gamma=D/4$ of the proof of Theorem 1 "
    "the printed requirement is then too small. With $\\gamma\\le0.146D$ it is enough, so the "
    "theorem stands with a larger constant in its order. $\\varepsilon$ is also a distance in "
    "Lemma 7 and a squared distance in Lemma 8, and the theorem uses both.",
    corrected="$\\gamma\\le(1-1/\\sqrt2)D/2$, or $8\\varepsilon\\xi_F$ and "
    "$\\varepsilon<D^2/(32\\xi_F\\alpha^2)$.",
    severity="slip",
)


#: The separation times the largest radius of a cluster.
_RADIUS = 2 * alpha * sp.sqrt(M / bi.ratio + 2 * bi.slack)


def threshold(statement: Statement, profile: Profile) -> Search:
    """Sample sizes just above the requirement, at any share of the room that precision may take."""
    requirement, precision = statement.assumptions
    if not (limits := sp.solve(precision.left - precision.right, bi.slack)):
        raise InvalidParameter("the precision must have a limit, of which the search takes shares")

    def at(point: Point) -> dict[str, float]:
        own = {name: point[name] for name in ("M", "alpha", "Delta")}
        own["slack"] = point["share"] * float(evaluate(limits[0], own))
        return {**own, "ratio": (1 + point["above"]) * float(evaluate(requirement.right, own))}

    return log_search(
        statement,
        profile,
        _RADIUS,
        {
            "M": _UNITS,
            "alpha": LogInterval(1.0, 1e4),
            "Delta": LogInterval(1e-6, 1e6, meaning=SEPARATION),
            "share": Interval(
                1e-3, 0.999, meaning="precision $\\varepsilon\\xi_F$ as a share of its limit"
            ),
            "above": LogInterval(
                1e-6, 1e3, meaning="share by which $n/\\log n$ exceeds the requirement"
            ),
        },
        at=at,
        everywhere=Everywhere(
            {**dict.fromkeys(("M", "alpha", "Delta", "ratio"), POSITIVE), "slack": NOT_NEGATIVE}
        ),
    )


THRESHOLDS = (
    row("odcl.thm2-threshold", bi.THEOREM_2_THRESHOLD, threshold, finding=ROOM),
    row("odcl.thm2-threshold-room", bi.THEOREM_2_ROOM, threshold, finding=ROOM),
)


REMARK_18_SLIPS = Finding(
    id="odcl-remark18",
    where="Remark 18",
    printed="$\\varepsilon(1+R^2KD^2)$, and $\\frac T{\\log\\log T}\\ge(\\frac{6L\\Gamma^2}"
    "{\\mu_\\ell^2}+4L\\Gamma(121\\Gamma+1)(1+3\\log n))\\frac1{\\varepsilon^2}$.",
    found="Theorem 2 has $KR^2/D^2$, and its iteration requirement is $2/L$ times as large. For "
    "$L<2$ the remark asks for too few iterations.",
    corrected="Theorem 2's expressions.",
    severity="strong",
)


REMARK_18 = (
    row(
        "odcl.remark18-iterations-as-printed",
        bi.REMARK_18_ITERATIONS,
        log_search,
        observed=bi.REMARK_18,
        domain={
            "L": _UNITS,
            "Gamma": _UNITS,
            "mu_f": _UNITS,
            "n": IntRange(3, 10**6, log=True),
            "varepsilon": LogInterval(1e-6, 1.0),
        },
        proof=Proof(argument="Both sides are the printed lower limits of $T/\\log\\log T$."),
        expected=Verdict.REFUTED,
        finding=REMARK_18_SLIPS,
    ),
)


INSIDE_THE_O = Finding(
    id="odcl-lemma8",
    where="Lemma 8",
    printed="$\\mathcal{O}(\\cdot)+\\varepsilon$.",
    found="(20) gives $2\\varepsilon$.",
    corrected="$\\mathcal{O}(\\cdot)+2\\varepsilon$.",
    severity="slip",
)


@claim("odcl.thm2-mse", bi.THEOREM_2_MSE, finding=INSIDE_THE_O)
def theorem_2_mse(statement: Statement, _profile: Profile) -> Rate:
    """The users' mean iterate around the mean fit, over precisions and cluster sizes."""
    cells = tuple(
        {"T": steps, "m": users, "R": 1.0, "h": 1.0, "sigma": 1.0, "noise": "sign"}
        for steps in (30, 50, 90, 160, 280, 500)
        for users in (1, 2, 4)
    )

    def regressors(cell: Params) -> dict[str, float]:
        gamma = _sgd_values(cell)["Gamma"]
        return {"varepsilon": 4 * gamma**2 / cell["T"], "m": float(cell["m"])}

    return power_law(
        statement,
        Sampling(experiment=SGD, max_trials=1024),
        cells,
        "mean_fit",
        regressors,
        "the squared distance of the mean iterate from the mean fit",
        sides={"varepsilon": "at least", "m": "at most"},
    )


@claim("odcl.remark16", bi.REMARK_16)
def remark_16(statement: Statement, _profile: Profile) -> Rate:
    """The weighted average under Gaussian noise, over T."""
    cells = tuple(
        {"T": steps, "m": users, "R": 3.0, "h": 1.0, "sigma": 1.0, "noise": "gaussian"}
        for steps in (50, 70, 100, 140, 200, 280, 400, 560, 800)
        for users in (2, 4, 8)
    )
    return power_law(
        statement,
        Sampling(experiment=SGD, max_trials=512),
        cells,
        "average",
        lambda cell: {"T": float(cell["T"]), "m": float(cell["m"])},
        "the users' mean squared error of the weighted average",
        sides={"m": "equals"},
    )

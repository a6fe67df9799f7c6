r"""Local fits and their means: Lemmas 3, 4, 11, 13 and Appendix E of ODCL.

Problem. A user fits a model to n samples, and the server averages the fits of m users.  How far are
fit and average from the optimum of the population?

Guarantee. `bounds.odcl.local_fits`: Lemma 3 bounds the excess risk of a fit with probability
1 - 2 delta.  Lemma 4 bounds the mean squared error of the average by a variance that falls with
n m, a bias that falls with n^2 alone, and the probability of a rare event.

Algorithm. Three designs meet every boundedness assumption and have exact laws
(`trials.laws.bounded_fits`).  Two of them have biased fits.

Computation. Searches compare exact probabilities and exact moments with the statements, for up to
1e12 samples and users.  Constants that the paper leaves open are at the generous end of their box
where a statement is refuted, and come from the argument in ``reading`` where one is supported.

Reference. Armacki et al. 2024, Section 2, Appendix B.1 and Appendix E.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import scipy
import sympy as sp

from bounds.gaussian import binomial_log_cdf
from bounds.odcl import local_fits as bf
from bounds.odcl.symbols import L, N, n
from bounds.odcl.symbols import d as D
from bounds.statement import Statement
from trials.experiments.odcl.fits import COORDINATE_FIT, MEAN_FIT
from trials.laws.bounded_fits import LineLaw, bounds, line_law, moments
from trials.run.cell import Params
from verify.claim import Finding, claim, row
from verify.claims.common import Point
from verify.claims.odcl.mean_reductions import MEAN_OF_FITS
from verify.claims.odcl.sides import at_values, log_search, power_law, upper_quantile
from verify.claims.searching import Proof, proves, search
from verify.decisions.domain import Choice, Interval, IntRange, LogInterval, Ranges
from verify.decisions.measures import DIFFERENCE, LOG_RATIO, LOWEST, Measure
from verify.evidence import Verdict
from verify.procedures.base import Profile, Sampling
from verify.procedures.rate import Rate
from verify.procedures.search import Search
from verify.proofs.certificate import Certificate, NotProved
from verify.proofs.propositions import NOT_NEGATIVE, POSITIVE, Everywhere, Reduction

#: Stands for a Hessian's Lipschitz constant of zero, which is in a denominator.
NO_H = 1e-200
_UNITS = LogInterval(1e-6, 1e6)
#: The distance of a minimiser that no ball holds.
_NOWHERE = 1e300
#: Logs of probabilities down to exp(-1e9).
LOG_DIFFERENCE = Measure(
    unit=LOG_RATIO.unit, excess=lambda log_left, log_right: log_left - log_right, logs=True
)
#: The designs of one dimension: the curvature's spread, or the share of one of two points.
LINE: Ranges = {
    "design": Choice(
        ("two-point", "cosh", "coordinates"),
        meaning="design of bounded samples with an exact law of the fit",
    ),
    "n": IntRange(1, 100_000, log=True),
    "scale": LogInterval(
        1e-6,
        1e6,
        meaning="length of the optimum (coordinates), smoothness $L$ (two-point) or width $w$ "
        "(cosh)",
    ),
    "noise": LogInterval(
        1e-6,
        1e6,
        meaning="noise $\\sigma$ (coordinates) or gradient $N$ at the optimum (two-point), unused "
        "by cosh",
    ),
    "skew": LogInterval(
        1e-3,
        0.999,
        meaning="ratio $\\kappa$ of curvatures (two-point) or chance $p$ of $x=w$ (cosh), else "
        "unused",
    ),
}


def constants_of(point: Point) -> dict[str, float]:
    """The statements' symbols of a point's design.  ``d`` is one unless the point has it."""
    d = int(point.get("d", 1))
    own = bounds(point["design"], d, point["scale"], point["noise"], point["skew"])
    return {
        "mu": own.mu,
        "L": own.L,
        "N": own.N,
        "H": max(own.H, NO_H),
        "R": own.R,
        "G_F": own.G,
        "F_star": own.F_star,
        "d": float(d),
        "n": float(point["n"]),
    }


def line_of(point: Point) -> LineLaw:
    """The exact law of a fit at a point of one dimension."""
    return line_law(point["n"], point["design"], point["scale"], point["noise"], point["skew"])


#: Assumption 2 asks for a parameter space around the optimum, and not for one that holds the fits
#: of all samples.  In a small one the gradients at the optimum rule, in a large one R does.
ROOM: Ranges = {
    "room": LogInterval(
        1e-6,
        1.0,
        meaning="the parameter space beyond the optimum, over the largest local fit "
        "(unused by cosh)",
    )
}


def constants_in_room(point: Point) -> dict[str, float]:
    """`constants_of` a point whose parameter space reaches ``room`` (or 1) times as far as fits."""
    own = constants_of(point)
    if point["design"] == "two-point":
        own["R"] *= point.get("room", 1.0)
        own["G_F"] = own["mu"] * own["R"]
    elif point["design"] == "coordinates":
        own["R"] = point["scale"] + point.get("room", 1.0) * point["noise"]
        own["G_F"] = own["R"] + point["scale"]
    return own


def line_in_room(point: Point) -> LineLaw:
    """The exact law of a fit whose parameter space is that of `constants_in_room`.

    A convex loss on an interval is least at the point next to its minimiser.
    """
    law, R = line_of(point), constants_in_room(point)["R"]
    if point["design"] == "cosh":  # every fit lies between the two points
        return law
    optimum = point["scale"] if point["design"] == "coordinates" else 0.0
    errors = np.clip(law.errors, -R - optimum, R - optimum)
    return replace(law, errors=errors, excess=constants_of(point)["mu"] / 2 * errors**2)


rho, mu, rho_k = sp.symbols("rho mu rho_k")

# --- one fit ------------------------------------------------------------------------------------


@claim("odcl.erm-rate", bf.ERM_RATE)
def erm_rate(statement: Statement, _profile: Profile) -> Rate:
    """The mean squared error of least squares on a bounded design, over n and d."""
    return _rate(
        statement,
        Sampling(experiment=COORDINATE_FIT, max_trials=512),
        tuple(
            {"n": n, "d": d, "optimum": 1.0, "sigma": 1.0}
            for d in (1, 4, 16, 64)
            for n in (10_000, 25_000, 60_000, 150_000, 400_000, 1_000_000)
        ),
        ("n", "d"),
    )


def _rate(
    statement: Statement, sampling: Sampling, cells: tuple[Params, ...], names: tuple[str, ...]
) -> Rate:
    """The exponents of the squared error in the cells' parameters."""
    return power_law(
        statement,
        sampling,
        cells,
        "squared_error",
        lambda cell: {name: float(cell[name]) for name in names},
        "the squared error",
        validate=statement.require,
    )


WIDE_MESH = Finding(
    id="odcl-lemma3-mesh",
    where="Lemma 3",
    printed="for any $\\epsilon>0$.",
    found="$C(\\epsilon,\\delta)$ tends to minus infinity as $\\epsilon$ grows, and the right-hand "
    "side with it: for $\\epsilon>6R e^{3n/d}(2/\\delta)^{1/d}$ the excess risk is said to be "
    "negative. The paper uses small $\\epsilon$ only.",
    corrected="for any $\\epsilon\\in(0,6R]$.",
    severity="edge",
)


#: One of d coordinates a sample with noise of size one, and an optimum of norm one.
_UNIT_PROBLEM = {"R": 2, "L": D, "N": sp.sqrt(D), "F_star": bf.HALF, "mu": 1, "G_F": 3}


@claim(
    "odcl.lemma3-as-printed",
    bf.LEMMA_3_AS_PRINTED,
    expected=Verdict.REFUTED,
    finding=WIDE_MESH,
)
def lemma_3_as_printed(statement: Statement, profile: Profile) -> Search:
    """The sign of the right-hand side on the design ``coordinates`` with unit optimum and noise."""
    return log_search(
        at_values(statement, _UNIT_PROBLEM),
        profile,
        sp.Integer(0),
        {
            "n": IntRange(1, 1000, log=True),
            "d": IntRange(1, 100, log=True),
            "epsilon": LogInterval(1e-9, 1e9),
            "delta": LogInterval(1e-9, 0.99),
        },
        proof=Proof(
            argument="A sample shows one of $d$ coordinates with noise $\\pm1$; the optimum has "
            "norm one, so that $R=2$. The excess risk is at least zero."
        ),
    )


@claim("odcl.lemma3", bf.LEMMA_3, finding=WIDE_MESH)
def lemma_3(statement: Statement, profile: Profile) -> Search:
    """The exact quantile of the excess risk at the stated probability, in one dimension."""

    def at(point: Point) -> dict[str, float]:
        own = constants_in_room(point)
        return {**own, "delta": point["delta"], "epsilon": point["mesh"] * own["R"]}

    def quantile(point: Point) -> float:
        law = line_in_room(point)
        share = statement.failure_probability({"delta": point["delta"]})
        return upper_quantile(law.excess, law.weights, share)

    return log_search(
        statement,
        profile,
        quantile,
        {
            **LINE,
            **ROOM,
            "delta": LogInterval(1e-9, 0.99),
            "mesh": LogInterval(
                1e-9, 6.0, meaning="free parameter $\\epsilon$ of Lemma 3, in units of $R$"
            ),
        },
        at=at,
        budget=profile.searches,
    )


# --- the event E --------------------------------------------------------------------------------


LEMMA_11_PROOF = Finding(
    id="odcl-lemma11-proof",
    where="proof of Lemma 11, the last two displays",
    headline="The last display is no contradiction: its quotient is smaller than "
    "$\\delta_\\rho$, and not larger.",
    printed="$\\delta_\\rho^2/\\norm{\\theta^\\star-\\theta_1}>\\delta_\\rho$ where "
    "$\\norm{\\theta^\\star-\\theta_1}>\\delta_\\rho$.",
    found="The quotient is smaller than $\\delta_\\rho$ there, so no contradiction follows. "
    "$\\nabla f(\\theta^\\star)^\\top(\\theta_1-\\theta^\\star)$ must also have the other sign.",
    corrected="$f(\\theta')\\ge f(\\theta^\\star)+\\nabla f(\\theta^\\star)^\\top(\\theta'-"
    "\\theta^\\star)+\\frac{(1-\\rho)\\mu}2\\delta_\\rho\\norm{\\theta'-\\theta^\\star}$ outside "
    "the ball. The gradient there would have to exceed the limit of $E_1$.",
    severity="proof",
)


@claim("odcl.lemma11", bf.LEMMA_11, finding=LEMMA_11_PROOF)
def lemma_11(statement: Statement, profile: Profile) -> Search:
    """The flattest empirical loss that E allows: its curvature falls as fast as H allows.

    The empirical curvature at the optimum is (1 - rho/2) mu and falls by H per unit of length, up
    to the end of the neighbourhood.  From there on the loss is only known to be convex, and the
    worst case is that it is linear.  The minimiser solves a quadratic equation.
    """

    def limit(point: Point) -> tuple[float, float]:
        """The radius of the ball, and the gradient at the optimum."""
        ball = min(point["rho_k"], point["rho"] * point["mu"] / (2 * point["H"]))
        return ball, point["share"] * (1 - point["rho"]) * point["mu"] * ball / 2

    def distance(point: Point) -> float:
        grad, H = limit(point)[1], point["H"]
        start = point["mu"] * (1 - point["rho"] / 2)
        # grad = start s - H s^2 / 2; the smaller root, written without cancellation
        inside = start**2 - 2 * H * grad
        root = 2 * grad / (start + math.sqrt(inside)) if inside >= 0 else _NOWHERE
        return root if root <= point["rho_k"] else _NOWHERE

    grad, H = sp.symbols("grad H")
    start = mu * (1 - rho / 2)
    return log_search(
        statement,
        profile,
        distance,
        {
            "rho": Interval(-0.1, 1.1),
            "rho_k": LogInterval(
                1e-6,
                1e6,
                meaning="radius of the ball around the optimum in which the Hessian is Lipschitz",
            ),
            "mu": LogInterval(
                1e-6,
                1e6,
                meaning="strong convexity of the population losses, $\\mu_F$ in the paper",
            ),
            "H": _UNITS,
            "share": Interval(
                1e-6, 1.0, meaning="gradient at the optimum as a share of the limit of $E_1$"
            ),
        },
        at=lambda point: {**point, "grad": limit(point)[1]},
        everywhere=Everywhere(
            {
                **dict.fromkeys(("rho_k", "mu", "H"), POSITIVE),
                "grad": NOT_NEGATIVE,
                "rho": Interval(0.0, 1.0),
            },
            given=(
                ((1 - rho) * mu * rho_k / 2, grad),
                ((1 - rho) * mu * rho * mu / (2 * H) / 2, grad),
            ),
            left=2 * grad / (start + sp.sqrt(start**2 - 2 * H * grad)),
            by="Of all losses that $E$ allows, the minimiser of the flattest is farthest from the "
            "optimum: its curvature falls at the rate $H$, and it is linear from the end of the "
            "neighbourhood on.",
        ),
    )


_OFF, _DIST, _H = sp.symbols("off dist H")


def _in_the_ball(point: Point) -> dict[str, float]:
    """How far the empirical Hessian is off at the optimum, and the distance from there."""
    ball = min(point["rho_k"], point["rho"] * point["mu"] / (2 * point["H"]))
    return {
        "off": point["off_share"] * point["rho"] * point["mu"] / 2,
        "dist": point["share"] * ball,
    }


def _least_curvature(point: Point) -> float:
    """The smallest eigenvalue of a Hessian in the ball, both deviations of their full norms."""
    at, rng = _in_the_ball(point), np.random.default_rng(point["seed"])
    d = point["d"]
    basis, _ = np.linalg.qr(rng.standard_normal((d, d)))
    spectrum = point["mu"] * np.concatenate([[1.0], rng.uniform(1.0, 4.0, d - 1)])
    hessian = basis @ np.diag(spectrum) @ basis.T
    for norm in (at["off"], point["H"] * at["dist"]):
        drawn = rng.standard_normal((d, d))
        flat = np.outer(basis[:, 0], basis[:, 0])  # the flattest direction becomes flatter
        change = -flat if point["aligned"] else drawn + drawn.T
        hessian = hessian + norm * change / np.linalg.norm(change, 2)
    return float(np.linalg.eigvalsh(hessian)[0])


@claim("odcl.lemma11-curvature", bf.LEMMA_11_CURVATURE)
def lemma_11_curvature(statement: Statement, profile: Profile) -> Search:
    """Hessians of up to five parameters with deviations of the full size that E and H allow."""
    return search(
        statement,
        profile,
        _least_curvature,
        {
            "rho": Interval(-0.1, 1.1),
            "rho_k": LogInterval(
                1e-6,
                1e6,
                meaning="radius of the ball around the optimum in which the Hessian is Lipschitz",
            ),
            "mu": LogInterval(
                1e-2,
                1e2,
                meaning="strong convexity of the population losses, $\\mu_F$ in the paper",
            ),
            "H": _UNITS,
            "off_share": Interval(
                0.0, 1.0, meaning="deviation of the Hessian at the optimum, of the limit of $E_2$"
            ),
            "share": Interval(0.0, 1.0, meaning="distance from the optimum as a share of the ball"),
            "aligned": Choice((True, False), meaning="whether the flattest direction is flattened"),
            "d": IntRange(1, 5),
            "seed": IntRange(0, 10**6),
        },
        measure=DIFFERENCE,
        budget=profile.searches // 4,
        everywhere=Reduction(
            idea="On $E$ the empirical Hessian at the optimum is within $\\rho\\mu/2$ of that of "
            "the population, whose eigenvalues are at least $\\mu$. In the ball it changes by at "
            "most $H$ times the distance, which is at most $\\rho\\mu/2H$.",
            lemmas=("weyl",),
            ranges={
                **dict.fromkeys(("mu", "H"), POSITIVE),
                "off": NOT_NEGATIVE,
                "dist": NOT_NEGATIVE,
                "rho": Interval(0.0, 1.0),
            },
            given=((rho * mu / 2, _OFF), (rho * mu / (2 * _H), _DIST)),
            left=mu - _OFF - _H * _DIST,
            quantities=_in_the_ball,
        ),
    )


RADIUS_IS_NO_SHARE = Finding(
    id="odcl-rho-two-meanings",
    where="Appendix E, from the definition of $\\delta_\\rho$ on",
    printed="$\\rho$ is the radius of $U$ (Assumption 5: any $\\rho>0$) and "
    "$E_1=\\{\\norm{\\nabla f(\\theta^\\star)}\\le(1-\\rho)\\mu\\delta_\\rho/2\\}$.",
    found="A length is subtracted from one. For $\\rho>1$ the event $E_1$ is empty, so "
    "$P(E^c)=1$, while the stated tail $4de^{-\\alpha n}$ vanishes. In other units of $\\theta$ "
    "the statement is another one. Assumption 5 holds in every smaller ball, so that $\\rho<1$ may "
    "be assumed. The text does not say so.",
    corrected="A share $\\rho\\in(0,1)$ and a radius $\\rho_k>0$: "
    "$\\delta_\\rho=\\min\\{\\rho_k,\\rho\\mu/2H\\}$.",
    severity="slip",
)


_DEEP = -600.0


def _log_outside_e(point: Point, share: float, radius: float) -> float:
    """Log of P(E^c) on the design ``two-point``, from both sides of a symmetric law."""
    own = bounds("two-point", 1, point["scale"], point["noise"], point["skew"])
    gradient_limit = (1 - share) * own.mu * radius / 2
    half = (1 - point["skew"]) * point["scale"] / 2
    limit = gradient_limit / own.N  # of the mean s of the signs
    if half > 0:
        limit = min(limit, share * own.mu / 2 / half)
    if limit < 0:
        return 0.0
    if limit >= 1:
        return LOWEST
    # |s| > limit: more than n (1 + limit) / 2 heads, or as many tails
    heads = math.floor(point["n"] * (1 + limit) / 2)
    tail = float(scipy.stats.binom.logsf(heads, point["n"], 0.5))
    if tail < _DEEP and heads < point["n"]:  # SciPy takes the log of a number that underflows
        tail = binomial_log_cdf(point["n"] - heads - 1, point["n"], 0.5)
    return max(min(math.log(2) + tail, 0.0), LOWEST)


_GRADIENT = (1 - rho) ** 2 * mu**2 * rho_k**2 / (8 * N**2)
_CURVATURE = rho**2 * mu**2 / (32 * L**2)
TWO_TAILS = Reduction(
    idea="Quadratic losses leave $E$ where the gradient at the optimum exceeds "
    "$(1-\\rho)\\mu\\rho_k/2$ or the mean of the second derivatives is off by more than "
    "$\\rho\\mu/2$. The first has at most Pinelis' probability, the second at most Tropp's. Their "
    "sum is at most twice the larger one.",
    lemmas=("pinelis", "tropp", "union-bound"),
    ranges={
        **dict.fromkeys(("n", "mu", "L", "N", "rho_k"), POSITIVE),
        "rho": Interval(0.0, 1.0),
        "d": LogInterval(1.0, math.inf),
    },
    left=2 * sp.log(2) + sp.Max(-n * _GRADIENT, sp.log(D) - n * _CURVATURE),
    hints=(
        ("log", 1 / D),
        (">=", sp.log(D), 0),
        (">", 2 * (1 - rho) * rho_k * L + rho * N, 0),  # the two rates are squares
        ("cases", 2 * (1 - rho) * rho_k * L - rho * N),
        ("cases", sp.log(D) - n * _CURVATURE + n * _GRADIENT),
    ),
)


@claim("odcl.p-tail", bf.P_TAIL, finding=RADIUS_IS_NO_SHARE)
def p_tail(statement: Statement, profile: Profile) -> Search:
    """Exact tails of least squares on two points, with c1 = 1 and c2 = 4."""

    def at(point: Point) -> dict[str, float]:
        own = constants_of({**point, "design": "two-point"})
        return {**own, "rho": point["rho"], "rho_k": point["rho_k"]}

    return log_search(
        statement,
        profile,
        lambda point: _log_outside_e(point, point["rho"], point["rho_k"]),
        {
            "n": IntRange(1, 10**9, log=True),
            "scale": LogInterval(
                1e-6, 1e6, meaning="smoothness $L$ of the loss, the larger curvature of a sample"
            ),
            "noise": LogInterval(
                1e-6, 1e6, meaning="length $N$ of the gradient of a sample at the optimum"
            ),
            "skew": LogInterval(
                1e-3, 1.0, meaning="ratio of the smaller to the larger curvature of a sample"
            ),
            "rho": Interval(-0.1, 1.1),
            "rho_k": LogInterval(1e-9, 1e9),
        },
        at=at,
        constants={"c_1": 1.0, "c_2": 4.0},
        measure=LOG_DIFFERENCE,
        everywhere=TWO_TAILS,
    )


# --- Lemma 13 -----------------------------------------------------------------------------------


MOMENT_ORDER = Finding(
    id="odcl-lemma13",
    where="Lemma 13, and $\\lambda_k,\\upsilon_k,\\nu_k$ of Appendix E",
    headline="The moment bound is zero in one dimension, where one fair sign exceeds it, and "
    "does not grow with the order of the moment.",
    printed="Factors $\\sqrt{2e\\log d}$ and $2e\\log d$.",
    found="For $d=1$ the right-hand side is zero: one fair sign is a counterexample. For $d\\ge2$ "
    "the factors do not grow with the order of the moment, and fail from some order on.",
    corrected="$\\sqrt{er}$ and $2er$ with $r=\\max\\{k,2\\log d\\}$ (Chen, Gittens and Tropp "
    "2012, Theorem A.1).",
    severity="statement",
)


def _sum_moment(point: Point) -> float:
    """The moment of a sum of n random matrices: fair signs times I, or signs on the diagonal.

    The norm of the sum is the largest of one or of d independent sums of signs.  Its law is taken
    from the upper tails: a moment of high order rests on outcomes with a probability of 1e-60.
    """
    n = point["n"]
    copies = point["d"] if point["family"] == "diagonal" else 1
    size = np.arange(n % 2, n + 1, 2)
    weight = np.array([math.comb(n, (n + s) // 2) * (2 if s else 1) / 2**n for s in size.tolist()])
    above = np.append(np.cumsum(weight[:0:-1])[::-1], 0.0)
    # One sum lies at a size, given that none lies above it, with probability weight / (1 - above).
    share = np.minimum(weight / (1.0 - above), 1.0)
    with np.errstate(divide="ignore"):  # the smallest size has the share 1
        law = np.exp(copies * np.log1p(-above)) * -np.expm1(copies * np.log1p(-share))
    power_mean = np.sum(law * (size / n) ** point["q"]) ** (1 / point["q"])
    return float(point["unit"] * n * power_mean)


def moment_of_sum(
    statement: Statement,
    profile: Profile,
    *,
    proof: Callable[[Statement, Point], Certificate] | None = None,
) -> Search:
    """Exact moments of sums of sign matrices, d from 1."""
    return log_search(
        statement,
        profile,
        _sum_moment,
        {
            "family": Choice(
                ("scalar", "diagonal"),
                meaning="summed matrices, a fair sign times the unit matrix or fair signs on the "
                "diagonal",
            ),
            "n": IntRange(1, 300, log=True, meaning="number of summed matrices"),
            "d": IntRange(1, 1_000_000, log=True),
            "q": LogInterval(2.0, 200.0, meaning="order of the moment"),
            "unit": LogInterval(1e-6, 1e6, meaning="factor of all summed matrices"),
        },
        at=lambda point: {
            "d": float(point["d"]),
            "order": point["q"],
            "spread": point["unit"] * math.sqrt(point["n"]),
            "largest_norm": point["unit"],
        },
        budget=profile.searches,
        proof=None if proof is None else lambda point: proof(statement, point),
    )


def _one_sign(statement: Statement, point: Point) -> Certificate:
    """The proof for a single fair sign times the unit matrix, whose norm is one."""
    if point["n"] != 1:
        raise NotProved("the moment is exact for a single matrix only")
    return proves(
        statement,
        "The sum is one fair sign times the unit matrix, so all moments of its norm are one.",
        "the left-hand side lies on the wrong side of the right-hand side",
        "1",
        {"d": point["d"], "order": point["q"], "spread": 1, "largest_norm": 1},
    )


LEMMA_13 = (
    row(
        "odcl.lemma13-as-printed",
        bf.LEMMA_13_AS_PRINTED,
        moment_of_sum,
        proof=_one_sign,
        expected=Verdict.REFUTED,
        finding=MOMENT_ORDER,
    ),
    row("odcl.lemma13", bf.LEMMA_13, moment_of_sum, finding=MOMENT_ORDER),
)

# --- the mean of m fits -------------------------------------------------------------------------


@claim("odcl.eq25", bf.EQ_25)
def eq_25(statement: Statement, profile: Profile) -> Search:
    """The law of the mean of m fits, by convolution, against variance and bias of one fit."""

    def convolved(point: Point) -> float:
        law = line_of(point)
        values, weights = law.errors, law.weights
        for _ in range(point["m"] - 1):
            values = (values[:, None] + law.errors[None, :]).ravel()
            weights = (weights[:, None] * law.weights[None, :]).ravel()
        return float(np.sum(weights * (values / point["m"]) ** 2))

    def at(point: Point) -> dict[str, float]:
        own = moments(point["n"], point["design"], 1, *(point[k] for k in _SHAPE))
        return {
            "m": float(point["m"]),
            "mean_square": own.mean_square,
            "squared_bias": own.squared_bias,
        }

    return log_search(
        statement,
        profile,
        convolved,
        {
            **LINE,
            "n": IntRange(
                1,
                12,
            ),
            "m": IntRange(
                1,
                4,
            ),
        },
        at=at,
        measure=replace(LOG_RATIO, tolerance=1e-6),
        everywhere=MEAN_OF_FITS,
        budget=profile.searches // 5,
    )


_SHAPE = ("scale", "noise", "skew")


NO_BIAS_TERM = Finding(
    id="odcl-lemma4-log-d",
    where="Lemma 4 with the constants of Appendix E",
    printed="$\\lambda=\\frac{N^2L^2\\log^2d+\\beta^{1/2}H^2N^2}{\\mu^4}$, "
    "$\\upsilon=\\frac{\\beta^{1/2}L^2\\log^2d+H^2\\beta}{\\mu^2}$, "
    "$\\nu=\\beta^{1/2}L^4\\log^4d+\\beta^{3/2}H^4$.",
    found="All three vanish for $d=1$ and a quadratic loss. The bias does not: on a design with "
    "two values of $(x,y)$ it is at least $N\\Delta/(\\bar h^2n)$, whatever the number of users. "
    "For $d\\ge2$ the order hides the difference. The $\\nu$ of the appendix also lacks "
    "$\\mu^{-4}$: it changes with the unit of the loss.",
    corrected="$\\log(2ed)$ for $\\log d$ (see odcl.lemma4, with explicit constants and without "
    "a term of order $n^{-3}$).",
    severity="edge",
)


def _average_error(point: Point) -> float:
    return moments(
        point["n"], point["design"], int(point.get("d", 1)), *(point[k] for k in _SHAPE)
    ).of_average(float(point["m"]))


#: A lower bound of the squared bias on the design ``two-point`` with L = N = 1.
_KAPPA, _MEAN_CURVATURE = sp.Symbol("kappa"), (1 + sp.Symbol("kappa")) / 2
_BIAS_FLOOR = ((1 - _KAPPA) / 2 / (_MEAN_CURVATURE**2 * n)) ** 2


@claim(
    "odcl.lemma4-d1-as-printed",
    bf.LEMMA_4_D1_AS_PRINTED,
    expected=Verdict.REFUTED,
    finding=NO_BIAS_TERM,
)
def lemma_4_d1_as_printed(statement: Statement, profile: Profile) -> Search:
    """The bias of least squares on two points, against the printed terms in one dimension."""
    given = {c.name: sp.Rational(c.most_generous) for c in statement.constants}
    given |= {"L": 1, "N": 1, "mu": _MEAN_CURVATURE, "R": 1 / _KAPPA}
    return log_search(
        at_values(statement, given),
        profile,
        _BIAS_FLOOR,
        {
            "n": IntRange(1, 10**9, log=True),
            "m": IntRange(1, 10**12, log=True),
            "kappa": LogInterval(
                1e-3,
                0.999,
                meaning="smaller of the two curvatures of a sample, of which the larger is 1",
            ),
            "rho": Interval(-0.1, 1.1),
            "rho_k": LogInterval(1e-3, 1e3),
        },
        proof=Proof(
            argument="Least squares on two values of $(x,y)$, each with probability one half: the "
            "curvatures are $1$ and $\\kappa$, the gradients at the optimum $\\pm1$. The left-hand "
            "side is a lower bound of the squared bias, which does not depend on $m$."
        ),
    )


@claim("odcl.lemma4", bf.LEMMA_4, finding=NO_BIAS_TERM)
def lemma_4(statement: Statement, profile: Profile) -> Search:
    """The exact mean squared error of an average on three designs, d from 1 and m up to 1e12."""

    def at(point: Point) -> dict[str, float]:
        own = constants_of(point)
        extra = {"m": float(point["m"]), "rho": point["rho"]}
        return {**own, **extra, "rho_k": point["rho_k"] * own["R"]}

    return log_search(
        statement,
        profile,
        _average_error,
        {
            **LINE,
            "d": IntRange(1, 1000, log=True),
            "n": IntRange(1, 100_000, log=True),
            "m": IntRange(1, 10**12, log=True),
            "rho": Interval(-0.1, 1.1),
            "rho_k": LogInterval(
                1e-3,
                1.0,
                meaning="radius of the ball in which the Hessian is Lipschitz, in units of $R$",
            ),
        },
        at=at,
        budget=profile.searches,
    )


@claim("odcl.lemma4-rate", bf.LEMMA_4_FEW_USERS)
def lemma_4_few_users(statement: Statement, _profile: Profile) -> Rate:
    """Exponents of n and m where the variance rules."""
    cells = tuple((n, m) for n in (2000, 4000, 8000, 16_000, 32_000) for m in (1, 2, 4, 8, 16))
    return _rate(
        statement, Sampling(experiment=MEAN_FIT, max_trials=1024), _mean_cells(cells), ("n", "m")
    )


@claim("odcl.lemma4-floor", bf.LEMMA_4_FLOOR)
def lemma_4_floor(statement: Statement, _profile: Profile) -> Rate:
    """Exponents of n and m where the bias rules: none of m."""
    # the relative error of a mean is that of sqrt(n / m), which varies by a factor of four only
    cells = tuple((n, f * 10**6 * n) for n in (1000, 3000, 10_000, 30_000) for f in (1, 4, 16))
    return _rate(
        statement, Sampling(experiment=MEAN_FIT, max_trials=256), _mean_cells(cells), ("n", "m")
    )


def _mean_cells(cells: tuple[tuple[int, int], ...]) -> tuple[Params, ...]:
    return tuple({"n": n, "m": m, "kappa": 0.1, "gradient": 1.0} for n, m in cells)


# --- beta ---------------------------------------------------------------------------------------

BETA = (
    row(
        "odcl.lemma4-beta",
        bf.LEMMA_4_BETA,
        log_search,
        observed=bf.BETA_TAIL,
        domain={
            "n": IntRange(1, 10**9, log=True),
            "d": IntRange(1, 1000, log=True),
            "R": LogInterval(1e-3, 1e3),
            "alpha": LogInterval(1e-9, 10.0),
        },
        everywhere=Everywhere(
            dict.fromkeys(("n", "d", "R", "alpha"), POSITIVE),
            # alpha n = 2u, and e^(u - 1) >= u
            hints=(("let", "alpha", "u", "scale", 2 / n), ("exp", sp.Symbol("u") - 1)),
        ),
    ),
)

r"""The matrices of one round with the true labels: Lemmas 7 and 8, the main term and the floor.

Problem. With the true labels a round multiplies a cluster's error by I - eta K_j and adds noise.
How fast is the decrease, and where does it end?

Guarantee. `bounds.sxy.round_matrices`: the eigenvalues of K_j lie between c alpha s N_j/(kappa N)
and C beta s N_j/N, and the noise is at most s sigma sqrt(d/N) up to a constant.

Algorithm. The matrices of drawn clients (experiment ``sxy.round-matrices``).

Computation. Constants exhibited by argument, with N_j >= 100 d.  Lemma 7: c = 2/5 and C = 8/5.  The
Gram matrix of N_j >= 100 d Gaussian rows deviates by at most 3/5 of N_j with probability 1 -
2 exp(-d), since (1 + sqrt 2)^2/100 + 2 (1 + sqrt 2)/10 = 0.54 (Davidson & Szarek), and P's spectrum
does the rest.  Lemma 8: C = 5.  Given the features, |B Lambda_j zeta|^2 is at most (s/N) |K_j|
sigma^2 times a chi-square of d degrees, which exceeds d + 2 sqrt(d d) + 2 d with probability
exp(-d) at most (Laurent & Massart).  The floor: C = 3 > sqrt(5 * 8/5).  For Gaussian rows in
balanced cells exact laws limit the probabilities (`log_gram_tail`, a chi-square tail).

Reference. B.2: Lemmas 7 and 8, proof of Theorem 2, text after Theorem 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import numpy as np
import sympy as sp

from bounds.gaussian import chi_square_log_above
from bounds.statement import Statement, evaluate
from bounds.sxy.round_matrices import (
    DECREASE,
    DECREASE_RATE,
    FLOOR_IN_KAPPA,
    FLOOR_SQRT_KAPPA,
    FLOOR_SQRT_KAPPA_ATTAINED,
    LEMMA_7_LOWER,
    LEMMA_7_UPPER,
    LEMMA_8,
    NOISE_FLOOR,
    ORACLE_FLOOR,
)
from bounds.sxy.symbols import d, k, kappa, kappa_prox, sigma
from trials.checks import FloatArray
from trials.experiments.sxy.clients import stability_of
from trials.experiments.sxy.spectrum import ROUND_MATRICES
from trials.laws.matrix_tail import log_gram_tail
from trials.models import mixture as mx
from trials.run.cell import Params
from trials.run.store import Table
from verify.claim import Finding, claim
from verify.claims.common import Point, explicit, refuse_untried
from verify.claims.searching import search
from verify.claims.sxy.local_spectrum import SPECTRAL
from verify.decisions.domain import Choice, IntRange, LogInterval, Ranges
from verify.procedures.base import BoolArray, Profile, Sampling
from verify.procedures.probability import Probability
from verify.procedures.rate import Rate, StatedRate
from verify.procedures.search import Search
from verify.proofs.cells import ExactTail
from verify.proofs.terms import ChiSquareTail

ROWS = 100.0  # N_j >= 100 d
LOWER, UPPER = 0.4, 1.6
NOISE = 5.0


def smallest_share(params: Params) -> float:
    """The share of the smallest cluster's clients, rounded as the experiment rounds it."""
    fractions = mx.fractions_with_ratio(
        params["k"], params.get("ratio", 1.0), params.get("profile", "equal")
    )
    return float(mx.cluster_sizes(params["M"], fractions).min() / params["M"])


_NAMES = ("M", "n", "d", "k", "s", "alpha", "beta", "gamma", "sigma")


def symbols(params: Params) -> dict[str, float]:
    """The statements' symbols in a cell."""
    full = ROUND_MATRICES.check(params)
    rows = full["M"] * full["n"]
    share = smallest_share(full)
    return {
        **{name: full[name] for name in _NAMES},
        "N": rows,
        "N_j": share * rows,
        "rho": share,
        "eta": full["gamma"],
        "kappa": stability_of(full),
        "C_N": ROWS,
    }


#: Shapes (M, n, d, k), with N_j >= 100 d.
SHAPES = (
    (200, 1, 1, 2),
    (400, 2, 1, 4),
    (1000, 1, 5, 2),
    (60, 20, 5, 2),
    (1000, 4, 10, 4),
    (100, 40, 20, 2),
    (80, 10, 4, 2),
)
STEPS: tuple[Params, ...] = (
    {"s": 1, "gamma": 0.9},
    {"s": 5, "gamma": 0.1},
    {"s": 50, "gamma": 0.99},
    {"rule": "fedprox", "gamma": 0.9},
)


#: For the eigenvalues alone.  A long unit tells beta from one.  A smallest cluster of a twentieth
#: of the clients tells its share from 1/k.
UNLIKE_OTHERS: tuple[Params, ...] = (
    {"M": 80, "n": 10, "d": 4, "k": 2, **STEPS[1], "alpha": 1e6, "beta": 1e6},
    {"M": 210, "n": 60, "d": 5, "k": 2, **STEPS[0], "profile": "one-small", "ratio": 20.0},
)


def _cells() -> list[Params]:
    """Shapes with local steps, spectra, laws of the features and unequal clusters."""
    shapes = [dict(zip(("M", "n", "d", "k"), shape, strict=True)) for shape in SHAPES]
    cells = [{**shape, **STEPS[i % 4]} for i, shape in enumerate(shapes)]
    small = shapes[-1]
    return [
        *cells,
        {**small, **STEPS[1], "features": "rademacher"},
        {**small, **STEPS[3], "alpha": 1e-6, "beta": 4e-6, "features": "uniform"},
        {**small, **STEPS[2], "alpha": 0.25, "beta": 1.0},
        {**shapes[4], "d": 5, **STEPS[2], "profile": "one-small", "ratio": 2.0, "sigma": 10.0},
        {**small, **STEPS[0], "sigma": 1e3},
        # kappa near one, so that the noise grows with the local steps
        {**small, "s": 40, "gamma": 0.02},
    ]


def _sampling(profile: Profile) -> Sampling:
    """Few trials where an exact law decides, more in the cells without one."""
    most = min(profile.max_trials, 2048)
    return Sampling(experiment=ROUND_MATRICES, max_trials=most, first=32)


def _log_gram_limit(params: Params) -> float | None:
    """Log of a limit on the probability that some Gram matrix deviates by 3/5 of its rows."""
    full = ROUND_MATRICES.check(params)
    if full["features"] != "gaussian" or full["sizes"] != "balanced" or full["n"] % 1:
        return None
    fractions = mx.fractions_with_ratio(full["k"], full["ratio"], full["profile"])
    rows = mx.cluster_sizes(full["M"], fractions) * int(full["n"])
    logs = [log_gram_tail(int(r), full["d"], (1 - LOWER) * r) for r in rows]
    return float(np.logaddexp.reduce(logs))


def at_least(
    statement: Statement,
    profile: Profile,
    constants: Mapping[str, float],
    column: str,
    in_unit: Callable[[Table, Params], FloatArray],
    log_limit: Callable[[Params], float | None],
) -> Probability:
    """A statement that limits a column from below. ``in_unit`` turns it into the statement's."""

    def bad(table: Table, params: Params) -> BoolArray:
        limit = evaluate(statement.expr, {**symbols(params), **constants})
        return np.asarray(in_unit(table, params) < limit)

    return Probability(
        name=statement.id,
        sampling=_sampling(profile),
        cells=(*_cells(), *UNLIKE_OTHERS),
        bad=bad,
        delta=lambda params: statement.failure_probability(symbols(params)),
        event=f"{column} below its limit, with "
        + ", ".join(f"${name}={value:g}$" for name, value in constants.items()),
        validate=lambda params: statement.require(symbols(params)),
        log_limit=log_limit,
        symbols=lambda _table, params: symbols(params),
    )


@claim("sxy.lemma7-lower", LEMMA_7_LOWER, hidden={"C_N": ROWS})
def lemma_7_lower(statement: Statement, profile: Profile) -> Probability:
    """The smallest eigenvalue, c = 2/5."""
    return at_least(
        statement,
        profile,
        {"c": LOWER},
        "the smallest eigenvalue of some $K_jN/N_j$",
        lambda table, _params: table["smallest"],
        _where_stated(statement, {"c": LOWER}),
    )


def _where_stated(
    statement: Statement, constants: Mapping[str, float]
) -> Callable[[Params], float | None]:
    """The exact limit, where the stated bound follows from the deviation that the law limits."""

    def log_limit(params: Params) -> float | None:
        at = symbols(params)
        stated = float(evaluate(statement.expr, {**at, **constants}))
        if statement.relation == r"\ge":
            proved = LOWER * at["alpha"] * at["s"] / at["kappa"]
            weaker = stated <= proved * (1 + 1e-12)
        else:
            weaker = stated >= UPPER * at["beta"] * at["s"] * (1 - 1e-12)
        return _log_gram_limit(params) if weaker else None

    return log_limit


def _at_most(
    statement: Statement,
    profile: Profile,
    constants: Mapping[str, float],
    column: str,
    event: str,
    log_limit: Callable[[Params], float | None],
    tail: ExactTail | None = None,
    more: Sequence[Params] = (),
) -> Probability:
    """A statement that limits a column from above."""

    def log_tail(params: Params, _bound: float) -> float:
        found = log_limit(params)
        return math.nan if found is None else found

    return explicit(
        statement,
        constants,
        _sampling(profile),
        [*_cells(), *more],
        symbols,
        lambda table: table[column],
        event,
        log_tail=log_tail,
        tail=tail,
    )


@claim("sxy.lemma7-upper", LEMMA_7_UPPER, hidden={"C_N": ROWS})
def lemma_7_upper(statement: Statement, profile: Profile) -> Probability:
    """The largest eigenvalue, C = 8/5."""
    return _at_most(
        statement,
        profile,
        {"C": UPPER},
        "largest",
        "the largest eigenvalue of some $K_jN/N_j$ exceeding its limit",
        _where_stated(statement, {"C": UPPER}),
        more=UNLIKE_OTHERS,
    )


NOISE_OF_CLUSTERS = ExactTail(
    idea="The squared noise of a cluster, in the unit of the statement and over $\\sigma^2$, is at "
    "most a chi-square variable of $d$ degrees. The certificate compares the sum over "
    "the clusters.",
    lemmas=("union-bound",),
    limit=k * ChiSquareTail(d, sp.Symbol("bound") / sigma**2),
)


@claim("sxy.lemma8", LEMMA_8)
def lemma_8(statement: Statement, profile: Profile) -> Probability:
    """The noise of a round, C = 5, every shape. The chi-square law limits the probability."""

    def log_limit(params: Params) -> float | None:
        at = symbols(params)
        stated = float(evaluate(statement.expr, {**at, "C": NOISE}))
        return math.log(at["k"]) + chi_square_log_above(at["d"], stated / at["sigma"] ** 2)

    return _at_most(
        statement,
        profile,
        {"C": NOISE},
        "noise",
        "the noise of some cluster exceeding its limit",
        log_limit,
        NOISE_OF_CLUSTERS,
    )


@claim("sxy.noise-floor", NOISE_FLOOR, hidden={"C_N": ROWS})
def noise_floor(statement: Statement, profile: Profile) -> Probability:
    """The noise of a round in its own unit, C = 3 > sqrt(5 * 8/5)."""

    def log_limit(params: Params) -> float | None:
        at, gram = symbols(params), _log_gram_limit(params)
        if gram is None:
            return None
        stated = float(evaluate(statement.expr, {**at, "C": 3.0})) / at["s"] / at["sigma"]
        degrees = stated**2 * at["N"] / (UPPER * at["beta"])  # times N_j / N, at most one
        noise = math.log(at["k"]) + chi_square_log_above(at["d"], degrees)
        return float(np.logaddexp(gram, noise))

    return _at_most(
        statement,
        profile,
        {"C": 3.0},
        "pull",
        "the noise of some cluster exceeding its limit",
        log_limit,
    )


@claim("sxy.noise-floor-rate", ORACLE_FLOOR)
def oracle_floor(statement: Statement, profile: Profile) -> Rate:
    """Rounds with the true labels, over a decade and more in every parameter."""
    shapes = ((100, 4, 1), (1000, 4, 8), (4000, 2, 1), (1000, 8, 8), (40, 20, 2), (500, 20, 2))
    cells = [
        {"M": m, "n": n, "d": d, "sigma": sigma, "s": s, "gamma": 0.3, **shares}
        for m, n, d in shapes
        for sigma, s in ((0.01, 1), (1.0, 5))
        for shares in ({}, {"profile": "one-small", "ratio": 9.0})
    ]
    return _rate(
        statement,
        cells,
        "floor_squared",
        {"sigma": r"$\sigma$", "d": "$d$", "rho": r"$\rho$", "N": "$N$"},
        "the squared error of a smallest cluster after rounds with the true labels, its "
        "expectation over the noise",
        trials=min(profile.max_trials, 32),
        margin=0.1,
    )


LINEAR_IN_KAPPA = Finding(
    id="sxy-linear-in-kappa",
    where="after Theorem 3, and Theorem 2's last display",
    printed="The final estimation error scales linearly in $\\kappa$.",
    found="That is the bound. With the true labels the error is at most $\\sqrt\\kappa$ times that "
    "of least squares on all rows of a cluster. Clients of one row attain the order. With $40d$ "
    "rows a client it does not grow.",
    corrected="At most like $\\sqrt\\kappa$ with known labels.",
    severity="slip",
)


@claim("sxy.floor-in-kappa", FLOOR_IN_KAPPA, finding=LINEAR_IN_KAPPA)
def floor_in_kappa(statement: Statement, profile: Profile) -> Rate:
    """One to 1024 local steps close to the largest size, so that kappa is nearly their number."""
    shapes = ((8, 4, 0.1, 1), (8, 1, 1.0, 1), (40, 4, 1.0, 1), (24, 2, 0.3, 1))
    cells = [
        {"M": m, "n": 160, "d": d, "sigma": sigma, "s": s, "gamma": 0.95}
        | ({"profile": "one-small", "ratio": float(ratio)} if ratio > 1 else {})
        for s in (1, 4, 16, 128, 1024)
        for m, d, sigma, ratio in (*shapes, (24, 1, 1.0, 3), (40, 2, 0.3, 9))
    ]
    return _rate(
        statement,
        cells,
        "floor_squared",
        {
            "kappa": r"$\kappa$",
            "sigma": r"$\sigma$",
            "d": "$d$",
            "rho": r"$\rho$",
            "N": "$N$",
        },
        "the squared error of a cluster after rounds with the true labels, its expectation over "
        "the noise",
        trials=min(profile.max_trials, 16),
        margin=0.1,
    )


# --- The error and kappa, exactly -----------------------------------------------------------------

#: The share of the short rows, and kappa times their squared length.
_SHORT, _LENGTH = 0.6, 2.0 / 3.0


def _squared_errors(
    features: Sequence[FloatArray], gamma: float, s: int, rule: str
) -> tuple[float, float]:
    """E|K^-1 B zeta|^2 of one cluster, noise of variance one, and that of least squares."""
    d = features[0].shape[1]
    grams = [np.linalg.eigh(phi.T @ phi / len(phi)) for phi in features]
    eta = gamma / max(float(values[-1]) for values, _ in grams)
    curvature, spread, rows = np.zeros((3, d, d))
    for phi, (values, vectors) in zip(features, grams, strict=True):
        x = eta * np.maximum(values, 0.0)
        if rule == "fedprox":
            factors = 1.0 / (1.0 + x)
        else:  # the sum of s powers, s where x is zero
            with np.errstate(invalid="ignore"):
                factors = np.where(x > 1e-14, -np.expm1(s * np.log1p(-x)) / x, float(s))
        for total, weights in (
            (curvature, factors * values),
            (spread, factors**2 * values),
            (rows, values),
        ):
            total += len(phi) * (vectors * weights) @ vectors.T
    inverse = np.linalg.inv(curvature)
    return float(np.trace(inverse @ spread @ inverse)), float(np.trace(np.linalg.inv(rows)))


def _kappa_at(statement: Statement, point: Point) -> dict[str, float]:
    s = int(point["s"]) if point["rule"] == "fedavg" else 1
    symbol = kappa if point["rule"] == "fedavg" else kappa_prox
    own = {"gamma": point["gamma"], "s": s}
    return {**own, "kappa": float(evaluate(statement.definitions[symbol], own))}


def _any_clients(point: Point) -> tuple[float, float]:
    """Clients of one to n rows whose lengths differ from client to client."""
    whole = (int(point[name]) for name in ("seed", "d", "n", "M", "s"))
    return _any_clients_of(*whole, point["short"], point["gamma"], point["rule"])


@lru_cache(maxsize=8)  # both sides ask for the errors at a point, one after the other
def _any_clients_of(
    seed: int, d: int, n: int, M: int, s: int, short: float, gamma: float, rule: str
) -> tuple[float, float]:
    rng = np.random.default_rng(seed)
    features = []
    for _ in range(M + d):
        length = short ** rng.integers(0, 2)
        features.append(length * rng.standard_normal((int(rng.integers(1, n + 1)), d)))
    return _squared_errors(features, gamma, s, rule)


def _two_lengths(statement: Statement, point: Point) -> tuple[float, float]:
    """One row a client along each axis: five clients an axis, three of them with short rows."""
    short = math.sqrt(min(1.0, _LENGTH / _kappa_at(statement, point)["kappa"]))
    return _two_lengths_of(short, point["gamma"], point["rule"], int(point["d"]), int(point["s"]))


@lru_cache(maxsize=8)
def _two_lengths_of(short: float, gamma: float, rule: str, d: int, s: int) -> tuple[float, float]:
    n_short = round(5 * _SHORT)
    lengths = [short] * n_short + [1.0] * (5 - n_short)
    features = [length * axis[None] for axis in np.eye(d) for length in lengths]
    return _squared_errors(features, gamma, s, rule)


_LOCAL_STEPS: Ranges = {
    "rule": Choice(("fedavg", "fedprox"), meaning="rule of the local update"),
    "s": IntRange(1, 10_000, log=True, meaning="number of local steps with FedAvg"),
    "gamma": LogInterval(1e-4, 1.9),
    "d": IntRange(1, 6),
}


@claim("sxy.floor-sqrt-kappa", FLOOR_SQRT_KAPPA, finding=LINEAR_IN_KAPPA)
def floor_sqrt_kappa(statement: Statement, profile: Profile) -> Search:
    """Clients of one to six rows, and features of two lengths, from equal to a thousandth."""

    def at(point: Point) -> dict[str, float]:
        return {**_kappa_at(statement, point), "squares": _any_clients(point)[1]}

    return search(
        statement,
        profile,
        lambda point: _any_clients(point)[0],
        {
            **_LOCAL_STEPS,
            "M": IntRange(2, 12, meaning="clients beside the first $d$"),
            "n": IntRange(1, 6, meaning="most rows of a client"),
            "short": LogInterval(1e-3, 1.0, meaning="length of the short rows over the long ones"),
            "seed": IntRange(0, 1000),
        },
        at=at,
        measure=SPECTRAL,
        budget=min(profile.searches, 800),
    )


@claim("sxy.floor-sqrt-kappa-attained", FLOOR_SQRT_KAPPA_ATTAINED, finding=LINEAR_IN_KAPPA)
def floor_sqrt_kappa_attained(statement: Statement, profile: Profile) -> Search:
    """Rows of two lengths, one to ten thousand local steps."""

    def at(point: Point) -> dict[str, float]:
        return {**_kappa_at(statement, point), "squares": _two_lengths(statement, point)[1]}

    return search(
        statement,
        profile,
        lambda point: _two_lengths(statement, point)[0],
        _LOCAL_STEPS,
        at=at,
        measure=SPECTRAL,
        budget=min(profile.searches, 400),
    )


def _rate(
    statement: Statement,
    cells: Sequence[Params],
    column: str,
    names: Mapping[str, str],
    observable: str,
    trials: int,
    margin: float,
) -> Rate:
    (term,) = statement.terms
    refuse_untried(statement, names)
    stated = {
        name: StatedRate(
            exponent=statement.power(term.name, sp.Symbol(name)),
            side="equals",
            symbol=symbol,
        )
        for name, symbol in names.items()
    }
    return Rate(
        name=statement.id,
        sampling=Sampling(experiment=ROUND_MATRICES, max_trials=trials),
        cells=tuple(cells),
        statistic=lambda table: table[column],
        regressors=lambda params: {name: symbols(params)[name] for name in names},
        stated=stated,
        observable=observable,
        margin=margin,
    )


@claim("sxy.thm2-decrease", DECREASE, hidden={"C_N": ROWS})
def decrease(statement: Statement, profile: Profile) -> Probability:
    """The decrease over s, eta, rho and kappa for both rules, C = 2/5."""

    def in_unit(table: Table, params: Params) -> FloatArray:
        # eta in the unit of the largest curvature: the column has the experiment's own step
        at = symbols(params)
        return table["decrease"] / (at["alpha"] * table["step"]) * at["eta"]

    return at_least(
        statement,
        profile,
        {"C": LOWER},
        "the decrease of some cluster's error",
        in_unit,
        _where_decreasing(statement),
    )


def _where_decreasing(statement: Statement) -> Callable[[Params], float | None]:
    """The exact limit of Lemma 7's event, where the stated decrease follows from it."""

    def log_limit(params: Params) -> float | None:
        at = symbols(params)
        stated = float(evaluate(statement.expr, {**at, "C": LOWER}))
        proved = LOWER * at["eta"] * at["s"] * at["rho"] / at["kappa"]
        return _log_gram_limit(params) if stated <= proved * (1 + 1e-12) else None

    return log_limit


@claim("sxy.thm2-rate", DECREASE_RATE)
def decrease_rate(statement: Statement, profile: Profile) -> Rate:
    """Clients of 4000 rows, s gamma from 1/100 to 6, rho from 1/12 to 1/2 and several d."""
    del profile  # the spread between trials is small at every profile
    slow = ((1, 0.01), (1, 0.1), (4, 0.02), (16, 0.001), (16, 0.01), (64, 0.001))
    steps = (*slow, (4, 0.9), (8, 0.7), (16, 0.3), (32, 0.2), (64, 0.05), (64, 0.1))
    cells = [
        {"M": 12, "n": 4000, "d": 2 + 4 * ((i + j) % 2), "s": s, "gamma": gamma, **shares}
        for i, (s, gamma) in enumerate(steps)
        for j, shares in enumerate(
            ({}, *({"profile": "one-small", "ratio": ratio} for ratio in (3.0, 11.0)))
        )
    ]
    return _rate(
        statement,
        cells,
        "decrease",
        {"s": "$s$", "eta": r"$\eta$", "rho": r"$\rho$", "kappa": r"$\kappa$", "d": "$d$"},
        "the decrease of a round",
        trials=16,
        margin=0.22,
    )

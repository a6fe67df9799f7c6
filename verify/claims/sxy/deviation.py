r"""Wrong labels uniformly over the models: Lemma 9, Lemma 12, (31), (32) and (36).

Problem. The models of a round depend on the data that they label.  How many rows can get a wrong
label, whatever the models are?

Guarantee. `bounds.sxy.deviation`: all but a share sqrt(d k log k (chi^2(n) + 1)/M) more than
expected, up to a constant.

Algorithm. (32) is tried for clients on the points that the models shatter (`.shattering`), in any
number of features and clusters.  The class of all subsets of their 2d(k-1) kinds has an exact
expectation (experiment ``sxy.weighted-sup``).  With one feature and two clusters a label depends on
the middle of both models, and the supremum is found exactly (``sxy.uniform-deviation``).  In more
dimensions a direction that the data choose gives a lower limit (``sxy.deviation-direction``).
Lemma 12 and (31) are tried on the class of all subsets of V points, where supremum and expectation
are exact.

Computation. Constants exhibited by argument.  Lemma 9: C = 15, since m/(dk) is at most the root of
r = log2(100 (k-1) r), which is 9.97 = 14.4 log 2 for two clusters and grows by less than 2 log k.
Lemma 12: C = 1/2 for the class of all subsets, since a mean absolute deviation is at most a
standard deviation.  (A proof for all classes has C = 60, by Dudley's integral and Haussler's
numbers.)  (32) with the 2d(k-1) kinds: so E sup <= sqrt(d (k-1)/2) times the norm of the weights,
and McDiarmid adds sqrt(d k log k/2) times it.  C = 1/sqrt 2 + 1/sqrt(4 log 2) = 1.308 serves every
k, since (k-1)/(k log k) is largest for k = 2.  (32) with one feature and two clusters: C = 7.  Four
half-line processes have E sup <= 4 times the norm of their weights (symmetrisation and Doob), both
clusters together 4 sqrt 2, and McDiarmid adds 0.84.  (36) with one feature and two clusters: C = 0,
by Markov's inequality (`eq_36`), so that no deviation hides a false first term.

Reference. B.2.1, B.2.2.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import sympy as sp

from bounds.statement import Statement, evaluate
from bounds.sxy.deviation import (
    CHI2_IDENTITY,
    EQ_31,
    EQ_32,
    EQ_32_IN_K,
    EQ_32_LINE,
    EQ_32_RATE,
    EQ_32_SEARCHED,
    EQ_36,
    LEMMA_9,
    LEMMA_9_COUNT,
    LEMMA_12,
)
from bounds.sxy.symbols import V
from trials.checks import FloatArray, IntArray, InvalidParameter
from trials.experiments.sxy.deviation import (
    BALL,
    DIRECTION,
    UNIFORM,
    WEIGHTED_SUP,
    expected_supremum,
    log_tail_on_two_points,
    sizes_of,
    skewness,
)
from trials.models.federated_data import client_sizes, imbalance
from trials.run.cell import Params
from trials.run.store import Table
from verify.claim import Finding, claim
from verify.claims.common import Point, explicit, refuse_untried
from verify.claims.searching import search
from verify.claims.sxy.pages import beside_bound, with_figures
from verify.decisions.domain import Choice, Interval, IntRange, Ranges
from verify.decisions.means import Knowledge
from verify.decisions.measures import DIFFERENCE
from verify.evidence import Verdict
from verify.procedures.base import Profile, Sampling
from verify.procedures.mean_bound import MeanBound
from verify.procedures.probability import Probability
from verify.procedures.rate import Rate, StatedRate
from verify.procedures.search import Search
from verify.procedures.sup_lower_bound import SupLB
from verify.proofs.arrays import Arrays, Members, both_ways, total
from verify.proofs.propositions import POSITIVE, Everywhere

# --- Sizes --------------------------------------------------------------------------------------


def _sizes(point: Point) -> IntArray:
    rng = np.random.default_rng(int(point["seed"]))
    return client_sizes(point["profile"], point["M"], point["mean"], rng, spread=point["spread"])


def _size_symbols(point: Point) -> dict[str, float]:
    sizes = _sizes(point)
    return {"N": float(sizes.sum()), "M": float(sizes.size), "skew": imbalance(sizes) + 1.0}


def _of_sizes() -> Everywhere:
    """The skewness by its definition, one plus the divergence of the shares from equal ones."""
    rows, clients, n = sp.symbols("N M n")
    every, one = total("F", n), total("F", 1)
    apart = ("*", 2 * rows / clients), ("*", (rows / clients) ** 2)
    return Everywhere(
        dict.fromkeys(("N", "M"), POSITIVE),
        given=(*both_ways(rows, every), *both_ways(clients, one)),
        constants={"skew": 1 + total("F", (clients * n - rows) ** 2) / (clients * rows**2)},
        left=total("F", n**2),
        hints=(
            ("both", ("sum", 1, ("+", (*apart[0], every - rows), (*apart[1], clients - one)))),
            ("sum", 1, ("+", (*apart[0], rows - every), (*apart[1], one - clients))),
        ),
        arrays=Arrays(
            values=lambda point: {"F": {"n": _sizes(point).astype(float)}},
            families={"F": Members(numbers=("n",))},
        ),
    )


@claim("sxy.chi2-identity", CHI2_IDENTITY)
def chi2_identity(statement: Statement, profile: Profile) -> Search:
    """Sizes of every profile, with the skewness by its definition as a divergence."""
    return search(
        statement,
        profile,
        lambda point: float(np.sum(_sizes(point).astype(float) ** 2)),
        {
            "profile": Choice(
                ("balanced", "zipf", "lognormal"),
                meaning="profile of the client sizes: balanced, zipf or lognormal",
            ),
            "M": IntRange(1, 1000, log=True),
            "mean": Interval(
                1.0, 100.0, meaning="mean number of rows of a client, up to rounding of the total"
            ),
            "spread": Interval(
                0.0,
                5.0,
                meaning="exponent of zipf sizes, or deviation of the logarithm of lognormal ones",
            ),
            "seed": IntRange(0, 1000),
        },
        at=_size_symbols,
        everywhere=_of_sizes(),
    )


# --- Sign patterns and Lemma 9 ------------------------------------------------------------------

FEW_POLYNOMIALS = Finding(
    id="sxy-few-polynomials",
    where="proof of Lemma 9",
    printed="The number of sign patterns of $m(k-1)$ functions is at most "
    "$(\\frac{100m(k-1)}{dk})^{dk}$.",
    found="The theorem needs at least as many polynomials as variables. One point, two clusters "
    "and $d=101$ give $(\\frac{100}{202})^{202}<1$, and every function has a pattern.",
    corrected="For $m(k-1)\\ge dk$. The lemma does not change.",
    severity="slip",
)

#: Numbers of patterns, which may be as large as e^1000.
LOG_COUNT = replace(DIFFERENCE, unit="log of the number over the stated number", logs=True)

COUNT_DOMAIN: Ranges = {
    "m": IntRange(1, 12),
    "k": IntRange(2, 4),
    "d": IntRange(1, 300, log=True),
    "n": IntRange(1, 3),
    "seed": IntRange(0, 1000),
}


def _patterns(point: Point, n_models: int = 64) -> int:
    """Distinct sign patterns that random models show, a lower limit of their number."""
    rng = np.random.default_rng(int(point["seed"]))
    m, k, d = int(point["m"]), int(point["k"]), int(point["d"])
    x = rng.standard_normal((m, int(point["n"]), d))
    y = rng.standard_normal(x.shape[:2])
    models = rng.standard_normal((n_models, k, d)) / math.sqrt(d)
    losses = np.sum((y - np.einsum("tkd,mnd->tkmn", models, x)) ** 2, axis=-1)
    signs = (losses[:, :1] >= losses[:, 1:]).reshape(n_models, -1)
    return len(np.unique(signs, axis=0))


@claim("sxy.lemma9-count", LEMMA_9_COUNT, finding=FEW_POLYNOMIALS)
def lemma_9_count(statement: Statement, profile: Profile) -> Search:
    """At least as many polynomials as variables. Models at random show a part of the patterns."""
    return search(
        statement,
        profile,
        lambda point: math.log(_patterns(point)),
        COUNT_DOMAIN,
        at=lambda point: {name: point[name] for name in ("m", "k", "d")},
        measure=LOG_COUNT,
    )


def _largest_shattered(d: int, k: int) -> int:
    """The largest m with 2^m at most the stated number of patterns, by bisection."""
    dk = d * k

    def possible(m: int) -> bool:
        return m * math.log(2) <= dk * math.log(100 * m * (k - 1) / dk)

    low, high = dk, 2 * dk  # m = dk is possible for every k >= 2
    while possible(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if possible(middle) else (low, middle)
    return low


@claim(
    "sxy.lemma9-vc",
    LEMMA_9,
    identity="both sides are the largest m with 2^m at most (100 m (k-1)/(dk))^(dk)",
)
def lemma_9(statement: Statement, profile: Profile) -> Search:
    """The number that the count allows against C d k log k, C = 15."""
    return search(
        statement,
        profile,
        lambda point: float(_largest_shattered(int(point["d"]), int(point["k"]))),
        {"d": IntRange(1, 10**6, log=True), "k": IntRange(2, 10**4, log=True)},
        constants={"C": 15.0},
    )


# --- The supremum of a weighted process ---------------------------------------------------------


def _norm(params: Params) -> float:
    """The length of the vector of the clients' rows."""
    return float(np.linalg.norm(sizes_of(WEIGHTED_SUP.check(params))))


@claim("sxy.lemma12", LEMMA_12)
def lemma_12(statement: Statement, profile: Profile) -> MeanBound:
    """The class of all subsets of V points, C = 1/2, equal and unequal weights."""

    return MeanBound(
        statement=statement,
        sampling=Sampling(
            experiment=WEIGHTED_SUP, max_trials=min(profile.max_trials, 1024), first=256
        ),
        cells=(
            {"M": 2000, "V": 2},
            {"M": 2000, "V": 10},
            {"M": 5000, "V": 200},
            {"M": 2000, "V": 3, "n_many": 50, "n_large": 40},
        ),
        statistic=lambda table, _params: table["sup"],
        # a client changes the supremum by its rows at most (Efron and Stein)
        knowledge=lambda params: Knowledge(variance=_norm(params) ** 2 / 4),
        observable="the supremum",
        values=lambda params: {"C": 0.5, "V": params["V"], "weights": _norm(params)},
    )


#: The deviation x of (31) that a cell tries, by its number of points, and on two points by its
#: number of clients.  There the law is exact, so that deviations far out can be tried.
TRIED = {2: 0.25, 3: 0.5, 5: 0.75, 20: 1.0}
FAR_OUT = {200: 2.0, 300: 2.5, 400: 3.0, 1000: 5.0}


def _is_far_out(params: Params) -> bool:
    return params["V"] == 2 and params["M"] in FAR_OUT


def _deviation(params: Params) -> float:
    """The deviation x that a cell tries."""
    return FAR_OUT[params["M"]] if _is_far_out(params) else TRIED[params["V"]]


@claim("sxy.mcdiarmid-31", EQ_31)
def eq_31(statement: Statement, profile: Profile) -> Probability:
    """The exact supremum less its exact expectation, equal and unequal weights."""
    cells: list[Params] = [{"M": m, "V": points} for m in (10, 100) for points in TRIED]
    cells += [{"M": 40, "V": points, "n_many": 4, "n_large": 20} for points in TRIED]
    cells += [{"M": m, "V": 2} for m in FAR_OUT]
    cells += [{"M": 300, "V": 2, "n_many": 60, "n_large": 3}]

    def law(params: Params, bound: float) -> float | None:
        full = WEIGHTED_SUP.check(params)
        return log_tail_on_two_points(full, bound) if _is_far_out(full) else None

    return explicit(
        statement,
        {},
        Sampling(experiment=WEIGHTED_SUP, max_trials=profile.max_trials),
        cells,
        lambda params: {"x": _deviation(params)},
        lambda table: table["centred"],
        "the supremum exceeding its mean by the stated deviation",
        lambda table, _params: {"weights": table["norm"]},
        log_tail=law,
        log_least=law,
        known=lambda params: {"weights": _norm(params)},
    )


# --- The uniform deviation (32) and the wrong rows (36) -----------------------------------------

#: Clients on the points that d features and k models shatter: sizes that differ more and more.
SHATTERED: tuple[tuple[int, int, Params], ...] = (
    (2, 2, {"M": 200}),
    (40, 2, {"M": 4000}),
    (2, 32, {"M": 2000, "n": 3}),
    (12, 4, {"M": 1000}),
    (5, 8, {"M": 20_000, "n_many": 200, "n_large": 100}),
    (3, 3, {"M": 50_000, "n_many": 50, "n_large": 100_000}),
)


@claim("sxy.uniform-32", EQ_32)
def eq_32(statement: Statement, profile: Profile) -> Probability:
    """Two to forty features and two to 32 clusters, skewness up to 1000, C = 1.308."""
    cells = [{**cell, "V": _kinds(d, k)} for d, k, cell in SHATTERED]
    shapes = {_kinds(d, k): (d, k) for d, k, _ in SHATTERED}

    def symbols(params: Params) -> dict[str, float]:
        full = WEIGHTED_SUP.check(params)
        d, k = shapes[params["V"]]
        total = float(sizes_of(full).sum())
        at = {"M": full["M"], "N": total, "n": full["n"], "d": d, "k": k}
        return {**at, "skew": skewness(full)}

    def log_tail(params: Params, limit: float) -> float:
        """McDiarmid's limit for the supremum less its exact expectation."""
        over = max(limit - expected_supremum(params), 0.0)
        return float(-2.0 * over**2 / np.sum(sizes_of(params) ** 2))

    return explicit(
        statement,
        {"C": 1 / math.sqrt(2) + 1 / math.sqrt(4 * math.log(2))},
        Sampling(experiment=WEIGHTED_SUP, max_trials=min(profile.max_trials, 2048), first=128),
        cells,
        symbols,
        lambda table: table["sup"],
        "the supremum exceeding its limit",
        log_tail=log_tail,
    )


def _kinds(d: int, k: int) -> int:
    """Kinds of clients: d (k-1) points, each with noise of two signs."""
    return 2 * d * (k - 1)


#: One feature, two clusters: the prefactor.
ON_A_LINE = {"C": 7.0}
UNIFORM_CELLS: tuple[Params, ...] = (
    {"M": 100},
    {"M": 1000, "sigma": 0.1},
    {"M": 10_000, "n": 3},
    {"M": 10_000, "n": 1, "n_many": 500, "n_large": 20, "sigma": 10.0},
    {"M": 2000, "n": 100, "n_many": 20, "n_large": 10_000, "sigma": 3.0},
    # two clients hold three quarters of all rows: the skewness rules
    {"M": 32_000, "n": 12, "n_many": 2, "n_large": 640_000, "sigma": 3.0},
)


def _deviation_symbols(params: Params) -> dict[str, float]:
    full = BALL.check(params)  # its parameters are those of both experiments
    smallest = full["n"] if full["n_many"] == 0 else min(full["n"], full["n_large"])
    return {
        **ON_A_LINE,
        "M": full["M"],
        "n": smallest,
        "skew": skewness(full),
        "Delta": full["Delta"],
        "sigma": full["sigma"],
    }


@claim("sxy.uniform-32-line", EQ_32_LINE)
def eq_32_line(statement: Statement, profile: Profile) -> Probability:
    """The exact supremum with one feature and two clusters, C = 7."""
    kept = explicit(
        statement,
        ON_A_LINE,
        Sampling(experiment=UNIFORM, max_trials=min(profile.max_trials, 2048), first=128),
        UNIFORM_CELLS,
        _deviation_symbols,
        lambda table: table["upper"],
        "the supremum exceeding its limit",
    )

    def effective(params: Params) -> float:
        at = _deviation_symbols(params)
        return float(at["M"] / at["skew"])

    return with_figures(
        kept,
        lambda stored: [
            beside_bound(
                stored,
                "upper",
                lambda _t, params: float(evaluate(statement.expr, _deviation_symbols(params))),
                effective,
                {
                    "title": "Deviation and bound",
                    "xlabel": "$M/(\\chi^2(n)+1)$ (clients)",
                    "ylabel": "deviation over $N$ (dimensionless)",
                    "caption": "The supremum of each trial, against the number of equal clients "
                    "with the same bound.",
                },
            )
        ],
    )


def _skew_of(params: Params) -> float:
    return skewness(DIRECTION.check(params))


@claim("sxy.uniform-32-searched", EQ_32_SEARCHED, expected=Verdict.INCONCLUSIVE)
def eq_32_searched(statement: Statement, profile: Profile) -> SupLB:
    """A direction that the data choose, 2 to 101 dimensions, against the statement with C = 1."""

    def best(table: Table, _params: Params) -> FloatArray:
        return table["found"]

    def values(params: Params) -> dict[str, float]:
        return {"k": 2.0, "M": params["M"], "d": params["d"] + 1, "skew": _skew_of(params)}

    return SupLB(
        statement=statement,
        sampling=Sampling(experiment=DIRECTION, max_trials=min(profile.max_trials, 256), first=64),
        cells=(
            {"M": 100, "d": 1},
            {"M": 400, "d": 10},
            {"M": 2000, "d": 100},
            {"M": 400, "d": 4, "n_many": 20, "n_large": 50},
        ),
        best=best,
        optimiser="A direction in which all clients agree as far as they can",
        values=values,
    )


@claim("sxy.uniform-32-rate", EQ_32_RATE)
def eq_32_rate(statement: Statement, profile: Profile) -> Rate:
    """Dimensions 10 to 90, 2,000 to 18,000 clients, skewness up to 4.7.

    The mean length of a Gaussian vector is $\\sqrt d (1-1/(4d))$, so that two to twenty dimensions
    have the exponent .55.  A client with a share $a^2$ of all squared rows adds less than its part
    when $a^2 d$ is not small, which many clients prevent.  Both leave .01 of an exponent here, and
    an exponent that is .25 off is refuted in each of the three.
    """
    many: tuple[dict[str, Any], ...] = (
        {},
        {"n_many": 0.2, "n_large": 4},
        {"n_many": 0.2, "n_large": 40},
    )
    cells: list[Params] = [
        {"M": m, "d": d, **({**more, "n_many": round(0.2 * m)} if more else {})}
        for m in (2000, 6000, 18000)
        for d in (10, 30, 90)
        for more in many
    ]
    (term,) = statement.terms
    names = {"d": "$d$", "M": "$M$", "skew": r"$\chi^2(n)+1$"}
    refuse_untried(statement, names)
    return Rate(
        name=statement.id,
        sampling=Sampling(experiment=DIRECTION, max_trials=min(profile.max_trials, 192)),
        cells=tuple(cells),
        statistic=lambda table: table["found"],
        regressors=lambda params: {
            "d": params["d"],
            "M": params["M"],
            "skew": _skew_of(params),
        },
        stated={
            name: StatedRate(
                exponent=statement.power(term.name, sp.Symbol(name)),
                side="equals",
                symbol=symbol,
            )
            for name, symbol in names.items()
        },
        observable="the deviation found",
        margin=0.05,
    )


#: Features and clusters, each with another number of points that the models shatter.
SHAPES = (
    *((6, 3), (2, 8), (3, 6), (4, 5), (6, 4), (3, 8)),
    *((5, 5), (6, 5), (4, 8), (5, 8), (6, 8)),
)
#: The points that the construction of `.shattering` gives.  They do not depend on the statement.
SHAPE_OF = {d * (k - 1): (d, k) for d, k in SHAPES}


@claim("sxy.uniform-32-in-k", EQ_32_IN_K)
def eq_32_in_k(statement: Statement, profile: Profile) -> Rate:
    """Three to eight clusters in two to six dimensions, 12 to 42 points.

    The stated V is compared with the deviation over the points of the construction.  The dimension
    is a regressor of its own: it must have no power besides that in V.
    """
    (term,) = statement.terms

    def regressors(params: Params) -> dict[str, float]:
        d, k = SHAPE_OF[params["V"]]
        stated = float(evaluate(statement.definitions[V], {"d": d, "k": k}))
        return {"V": stated, "d": float(d), "M": float(params["M"])}

    def known(params: Params) -> None:
        if params["V"] not in SHAPE_OF:
            listed = ", ".join(map(str, SHAPE_OF))
            raise InvalidParameter(f"V={params['V']} must be one of {listed}: d(k-1) of a shape")

    names = {"V": "$d(k-1)$", "d": "$d$ beside $d(k-1)$", "M": "$M$"}
    refuse_untried(statement, names)
    return Rate(
        name=statement.id,
        sampling=Sampling(experiment=WEIGHTED_SUP, max_trials=min(profile.max_trials, 128)),
        cells=tuple({"M": m, "V": each} for each in SHAPE_OF for m in (3000, 6000, 12_000, 24_000)),
        statistic=lambda table: table["sup"],
        regressors=regressors,
        stated={
            name: StatedRate(
                exponent=statement.power(term.name, sp.Symbol(name)), side="equals", symbol=symbol
            )
            for name, symbol in names.items()
        },
        observable="the supremum over the subsets of the points",
        validate=known,
        margin=0.1,
    )


NEAR = 0.1


@claim("sxy.eq36", EQ_36)
def eq_36(statement: Statement, profile: Profile) -> Probability:
    """The largest share of wrongly labelled rows over the ball of radius Delta/10, exactly.

    A label depends on the middle of both models, and so on z/chi_n, z normal, for a client of n
    rows.  Some models of the ball label it wrongly only if those at one end do: if z/chi_n exceeds
    u = (1/2 - 1/10) Delta/sigma, with probability E exp(-u^2 chi_n^2/2)/2 = (1 + u^2)^(-n/2)/2 at
    most.  Over min(1, Delta^2/sigma^2)^2 the exponent is smallest at sigma = Delta, which gives c.
    By Markov's inequality the share of such rows is 16 times as large with probability 1/16, and
    C = 0 serves.

    In the first two cells some labels are wrong and the bound is below one half.  In the last four
    labels are often wrong, and the stated bound is one or more.  They tell Delta, sigma and n from
    other symbols.
    """
    cells: list[Params] = [
        {**cell, "n": n, "near": NEAR}
        for cell, n in (
            ({"M": 10_000}, 40),
            ({"M": 10_000, "n_many": 500, "n_large": 500}, 40),
            ({"M": 1000}, 100),
            ({"M": 10_000}, 120),
            ({"M": 10_000, "n_many": 500, "n_large": 500}, 120),
            ({"M": 10_000, "sigma": 2.0}, 2000),
            ({"M": 4000, "sigma": 0.8}, 150),
            ({"M": 80_000, "sigma": 2.0, "Delta": 0.125}, 2000),
            ({"M": 80_000, "sigma": 1.0, "Delta": 0.25}, 120),
            ({"M": 10_000, "sigma": 1.0, "Delta": 0.125}, 120),
            ({"M": 80_000, "sigma": 16.0}, 2000),
        )
    ]
    return explicit(
        statement,
        {"C": 0.0, "c": 0.5 * math.log1p((0.5 - NEAR) ** 2)},
        Sampling(experiment=BALL, max_trials=min(profile.max_trials, 2048), first=128),
        cells,
        _deviation_symbols,
        lambda table: table["ball"],
        "more wrongly labelled rows than stated",
    )

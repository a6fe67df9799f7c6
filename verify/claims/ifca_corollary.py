r"""Corollary 1 of IFCA and the sentences around it as claims: whole runs.

The constant of the accuracy comes from this argument, not from trials: stationary noise
(2/3) sqrt(p_max)/sqrt(1 - 1/9) < 0.71 of the floor, plus what 3^-T leaves, 2/9 of epsilon: c6 = 2
with room for fluctuations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from bounds.ifca import linear as ifca
from bounds.ifca import neurips as ifca_neurips
from bounds.statement import Statement, evaluate
from trials.experiments.gaussian import LEAST_SQUARES
from trials.experiments.ifca.start import RANDOM_START
from trials.experiments.ifca.step import N_STEPS, STEP, TRAJECTORY
from trials.run.cell import Params
from trials.run.store import Table
from verify.claims.ifca_cells import (
    C_1,
    COLUMNS,
    HIDDEN,
    cell,
    floor,
    grid,
    regressors,
    scattered,
    values,
    with_shapes,
)
from verify.claims.ifca_theorem import (
    floor_exponents,
    from_trajectory,
    own_step_cells,
    rate_regressors,
    rate_rows,
)
from verify.evidence import Figure, Series
from verify.procedures.base import (
    BoolArray,
    Observed,
    Presentation,
    Profile,
    Sampling,
    tex_number,
)
from verify.procedures.constants import Constants
from verify.procedures.probability import Probability
from verify.procedures.rate import Rate

ACCURACY = {"c_6": 2.0, "c_7": 1.0, "c_8": math.log(2) / 4}
CONFERENCE_ACCURACY = {"c_5": 2.0, "c_6": 1.0, "c_4": math.log(2) / 4}
RUN_ROWS = (
    (100, 4000, 20, 2, 4, 0.4),
    (1000, 4000, 64, 3, 16, 0.25),
    (1000, 200_000, 20, 2, 1, 0.47),
    (10_000, 1_000_000, 1000, 8, 16, 0.49),
    (10_000, 100_000_000, 64, 4, 0.01, 0.25),
    (100_000, 16000, 10_000, 2, 1000, 0.4),
    (10_000_000, 1_000_000, 2000, 16, 100, 0.45),
    (500, 16000, 16, 16, 1000, 0.1),
    (50, 4000, 1000, 2, 100, 0.3),
)


def accuracy(statement: Statement, params: Params, constants: Mapping[str, float]) -> float:
    """The corollary's epsilon in a cell."""
    return float(statement.bound({**values(params), **constants}, unchecked=True))


def n_rounds(statement: Statement, params: Params, constants: Mapping[str, float]) -> int:
    """The stated number of steps, rounded up (natural logarithm)."""
    rounds = ifca_neurips.ROUNDS if "neurips" in statement.id else ifca.ROUNDS
    epsilon = accuracy(statement, params, constants)
    steps = float(evaluate(rounds, {"Delta": params["Delta"], "varepsilon": epsilon}))
    return max(1, math.ceil(steps))


def whole_run(
    statement: Statement, cells: Sequence[Params], constants: Mapping[str, float] = ACCURACY
) -> Callable[[Profile], Probability]:
    """P(error after the stated number of steps > epsilon) <= T/m, constants exhibited."""

    def bad(table: Table, params: Params) -> BoolArray:
        after = table[f"err_{n_rounds(statement, params, constants)}"]
        return np.asarray(after > accuracy(statement, params, constants))

    def delta(params: Params) -> float:
        rounds = n_rounds(statement, params, constants)
        return statement.failure_probability({**values(params), "T": rounds})

    def build(profile: Profile) -> Probability:
        return Probability(
            name=statement.id,
            sampling=Sampling(experiment=TRAJECTORY, max_trials=profile.max_trials),
            cells=tuple({"c1": C_1, **c} for c in cells),
            bad=bad,
            delta=delta,
            event="an error above $\\varepsilon$ after the stated number of steps, with "
            + ", ".join(f"${k}={v:.4g}$" for k, v in constants.items()),
            validate=lambda params: statement.require(values(params)),
            present=lambda observed: _run_figure(statement, observed, constants),
        )

    return build


def _unlike(observed: Sequence[Observed], n_shown: int) -> list[tuple[str, Observed]]:
    """The first cells that differ in m, d, k, alpha or rho, each with a label that tells it."""
    names = {"m": "m", "d": "d", "k": "k", "alpha": r"\alpha", "rho": r"\rho"}
    distinct: dict[tuple[str, ...], Observed] = {}
    for o in observed:
        v = values(o.params)
        key = tuple(f"${symbol}={tex_number(v[name])}$" for name, symbol in names.items())
        distinct.setdefault(key, o)
    shown = list(distinct.items())[:n_shown]
    told: list[int] = []  # as few symbols as tell the cells apart, three where that is possible
    for i in range(len(names)):
        parts = {tuple(key[j] for j in (*told, i)) for key, _ in shown}
        known = {tuple(key[j] for j in told) for key, _ in shown}
        if len(parts) > len(known) or (len(told) < 3 and len({key[i] for key, _ in shown}) > 1):
            told.append(i)
    return [(", ".join(key[i] for i in told), o) for key, o in shown]


def _run_figure(
    statement: Statement, observed: Sequence[Observed], constants: Mapping[str, float]
) -> Presentation:
    """Error quantiles along the run, in units of epsilon, in four cells unlike each other."""
    series = []
    for label, o in _unlike(observed, 4):
        errors = from_trajectory(o.table, o.params) / accuracy(statement, o.params, constants)
        last = n_rounds(statement, o.params, constants)
        x = [float(t) for t in range(last + 1)]
        series.append(
            Series(
                label=label,
                x=x,
                y=[float(np.median(errors[:, t])) for t in range(last + 1)],
                lower=[float(np.quantile(errors[:, t], 0.05)) for t in range(last + 1)],
                upper=[float(np.quantile(errors[:, t], 0.95)) for t in range(last + 1)],
                style="line",
            )
        )
    worst = [
        float(np.max(o.table[f"err_{n_rounds(statement, o.params, constants)}"]))
        / accuracy(statement, o.params, constants)
        for o in observed
    ]
    return Presentation(
        figures=(
            Figure(
                name="run",
                title="Error along the run",
                xlabel="step",
                ylabel="error over $\\varepsilon$ (dimensionless)",
                yscale="log",
                series=series,
                hlines=[(1.0, "$\\varepsilon$")],
                caption="Median and central 90 percent of trials, up to the stated number of "
                "steps; worst cluster.",
            ),
        ),
        sharpness=(
            f"Largest final error over $\\varepsilon$: {max(worst):.2g} (over all trials of "
            f"{len(worst)} cells).",
        ),
    )


def whole_run_as_printed(statement: Statement, gap: float) -> Callable[[Profile], Constants]:
    """Feasibility over a grid of c1: balanced and unbalanced cells, generous constants.

    The statistic is the *smallest* error along the run, so that a violation holds for every number
    of steps up to `N_STEPS`.  Between the grid's values: at ratio 99 a step constant of 1/99 or
    more multiplies the largest cluster's error by at least one, and a smaller one leaves at least
    (1 - 2/99)^24 = 0.61 of the smallest cluster's.
    """
    corner = {c.name: c.most_generous for c in statement.constants if c.generous != "choose"}
    # two clusters: with more, labels of diverging models cost a draw a client
    ratios = (1.0, 4.0, 99.0)
    base = cell(m=10**7, n=10**7, d=2000, k=2, rho=100.0, alpha=0.5 - gap)
    cells = tuple(
        {**base, "profile": "one-large", "ratio": ratio} if ratio > 1 else base for ratio in ratios
    )

    def in_symbols(params: Params) -> dict[str, float]:
        return {**values(params), "T": float(n_rounds(statement, params, corner))}

    def build(profile: Profile) -> Constants:
        return Constants(
            statement=statement,
            sampling=Sampling(
                experiment=TRAJECTORY, max_trials=min(profile.max_trials, 4096), first=256
            ),
            calibration=cells[:1],
            held_out=cells[1:],
            values=in_symbols,
            regressors=regressors,
            statistic=lambda table, params: np.fmin.reduce(from_trajectory(table, params), axis=1),
            covariates=lambda _table, _params: {},
            drift={},
            choices=(*(2.0**i for i in range(-9, 4)), 1 / 3, 0.6, 0.75),
            tighten=tuple(corner),
        )

    return build


def slow_start(profile: Profile) -> Probability:
    """First steps from alpha_0 = 0.01 and 0.02, n' as Assumption 2 asks."""
    cells = [c for c in two_clusters_cells() if c["alpha"] <= 0.02]
    return Probability(
        name=ifca.SLOW_START.id,
        sampling=Sampling(experiment=STEP, max_trials=profile.max_trials),
        cells=tuple({"c1": C_1, **c} for c in cells),
        bad=lambda table, _params: table["err_after_max"] <= 0.5 * table["err_before"],
        delta=lambda params: ifca.SLOW_START.failure_probability(values(params)),
        event="a first step that leaves at most half of the error",
        validate=lambda params: ifca.SLOW_START.require(values(params)),
        present=lambda observed: Presentation(
            sharpness=(
                "Mean factor of the first step: "
                + "{:.4f} to {:.4f}".format(*_extremes(_first_factors(observed)))
                + f" over {len(observed)} cells.",
            )
        ),
    )


def _first_factors(observed: Sequence[Observed]) -> list[float]:
    """Mean factor of the first step on the largest error, cell by cell."""
    return [float(np.mean(o.table["err_after_max"] / o.table["err_before"])) for o in observed]


def _extremes(numbers: Sequence[float]) -> tuple[float, float]:
    return min(numbers), max(numbers)


def two_clusters_cells() -> Iterator[Params]:
    """k = 2, closeness down to 0.01, every start direction, ratio up to 1.9."""
    for alpha, rho, m in (
        (0.01, 4.0, 200),
        (0.01, 100.0, 1000),
        (0.02, 1.0, 100),
        (0.05, 16.0, 100),
    ):
        need = HIDDEN["C_n"] * ((rho + 1) / (alpha * rho)) ** 2 * math.log(m)
        for init in ("random", "adversarial", "orthogonal", "translation"):
            equal = cell(m=m, n=1.05 * need, d=20, k=2, rho=rho, alpha=alpha, init=init)
            yield equal
            yield {**equal, "profile": "geometric", "ratio": 1.9}


def random_start(profile: Profile) -> Probability:
    """Random vectors as starts, optima random of equal norm: how close do they come?"""
    return Probability(
        name=ifca.TWO_CLUSTERS_RANDOM.id,
        sampling=Sampling(experiment=RANDOM_START, max_trials=min(profile.max_trials, 4096)),
        cells=tuple(
            {"k": 2, "d": d, "norm": 1.0, "centers": centers, "start": start}
            for d in (2, 10, 100, 1000)
            for centers, start in (("random", "gaussian"), ("bernoulli", "bernoulli-rescaled"))
        ),
        bad=lambda table, _params: table["alpha"] < -0.05,
        delta=lambda _params: ifca.TWO_CLUSTERS_RANDOM.failure_probability({}),
        event="a random start missing the ball of radius $\\Delta/2$ by more than $\\Delta/20$",
        present=_random_start_figure,
    )


def _random_start_figure(observed: Sequence[Observed]) -> Presentation:
    series = []
    for start, label in (("gaussian", "Gaussian"), ("bernoulli-rescaled", "Bernoulli")):
        mine = [o for o in observed if o.params["start"] == start]
        distance = [0.5 - o.table["alpha"] for o in mine]
        series.append(
            Series(
                label=f"{label} start",
                x=[float(o.params["d"]) for o in mine],
                y=[float(np.median(x)) for x in distance],
                lower=[float(np.quantile(x, 0.05)) for x in distance],
                upper=[float(np.quantile(x, 0.95)) for x in distance],
                style="points",
            )
        )
    return Presentation(
        figures=(
            Figure(
                name="random-start",
                title="Distance of a random start from its optimum",
                xlabel="dimension $d$",
                ylabel="distance over $\\Delta$ (dimensionless)",
                xscale="log",
                yscale="log",
                series=series,
                hlines=[(0.5, "Assumption 1")],
                caption="Median and central 90 percent; labels chosen in the start's favour.",
            ),
        ),
    )


_MONOTONE_ROWS = (
    (1000, 16000, 64, 2, 16, 0.25),
    (1000, 1_000_000, 64, 2, 16, 0.4),
    (10_000, 1_000_000, 1000, 8, 16, 0.49),
    (10_000_000, 1_000_000, 2000, 16, 100, 0.25),
    (1000, 200_000, 20, 2, 1, 0.45),
)


def stays(profile: Profile) -> Probability:
    """Is some cluster's error ever above its start, which is the same for every cluster?"""
    return Probability(
        name=ifca.CLOSENESS_STAYS.id,
        sampling=Sampling(experiment=TRAJECTORY, max_trials=profile.max_trials),
        cells=tuple({"c1": C_1, **c} for c in _monotone_cells()),
        bad=lambda table, params: np.any(
            from_trajectory(table, params)[:, 1:] > (0.5 - params["alpha"]) * params["Delta"],
            axis=1,
        ),
        delta=lambda params: ifca.CLOSENESS_STAYS.failure_probability(
            {**values(params), "T": N_STEPS}
        ),
        event=f"some cluster's error exceeding its start at some of {N_STEPS} steps",
        validate=lambda params: ifca.CLOSENESS_STAYS.require(values(params)),
    )


def _monotone_cells() -> tuple[Params, ...]:
    """Hand-picked cells, then scattered ones."""
    return with_shapes((*grid(COLUMNS, _MONOTONE_ROWS), *scattered(10, COLUMNS, (0.05, 0.49))))


def monotone(statement: Statement, above: float) -> Callable[[Profile], Probability]:
    """Does any cluster's error ever grow, counted while it exceeds ``above`` floors?

    A step at c1 = 1/3 leaves a third of an error, plus noise of 2/3 sqrt(p_j) floors: from twice
    the floor on it shrinks with c2 = 1.
    """

    def bad(table: Table, params: Params) -> BoolArray:
        grew_from = table["grew_from"]
        return np.asarray((grew_from > 0) & (grew_from >= above * floor(params)))

    def present(observed: Sequence[Observed]) -> Presentation:
        highest = max(float(o.table["grew_from"].max()) / floor(o.params) for o in observed)
        errors = [from_trajectory(o.table, o.params) for o in observed]
        back = [float(np.mean(np.any(np.diff(e, axis=1) > 0, axis=1))) for e in errors]
        return Presentation(
            sharpness=(
                f"The largest error of a cluster that a step made larger is {highest:.2g} floors "
                "($c_2=1$), over all trials.",
                "The largest error over the clusters grew as well, and $\\alpha$ itself fell, in "
                f"at least {math.floor(100 * min(back))}% of each cell's trials.",
            )
        )

    def build(profile: Profile) -> Probability:
        return Probability(
            name=statement.id,
            sampling=Sampling(experiment=TRAJECTORY, max_trials=profile.max_trials),
            cells=tuple({"c1": C_1, **c} for c in _monotone_cells()),
            bad=bad,
            delta=lambda params: statement.failure_probability({**values(params), "T": N_STEPS}),
            event="some cluster's error growing at some step"
            + (f" while at least {above:g} floors ($c_2=1$)" if above else "")
            + f", in {N_STEPS} steps",
            validate=lambda params: statement.require(values(params)),
            present=present,
        )

    return build


def near_optimal(profile: Profile) -> Rate:
    """Final error of the smallest cluster over the minimax rate with all samples."""

    def minimax(params: Params) -> float:
        v = values(params)
        return v["sigma"] * math.sqrt(v["d"] / (2 * v["p"] * v["m"] * v["n"] * N_STEPS))

    return Rate(
        name=ifca.NEAR_OPTIMAL.id,
        sampling=Sampling(experiment=TRAJECTORY, max_trials=min(profile.max_trials, 512)),
        cells=own_step_cells(rate_rows(0.25), (0.01, 0.4)),
        statistic=lambda table: table["floor_smallest"],
        regressors=rate_regressors,
        stated=floor_exponents("equals"),
        observable=f"the smallest cluster's error after {N_STEPS} steps; bound: the minimax rate "
        "with all samples used",
        validate=lambda params: ifca.NEAR_OPTIMAL.require({**values(params), "T": N_STEPS}),
        bound=minimax,
        present=lambda observed: _over_minimax(observed, minimax),
    )


def _over_minimax(observed: Sequence[Observed], rate: Callable[[Params], float]) -> Presentation:
    """How much larger the error is than the minimax rate, and how much of that is resampling."""
    ratios = [float(o.table["floor_smallest"].mean()) / rate(o.params) for o in observed]
    price = math.sqrt(2 * N_STEPS)
    return Presentation(
        sharpness=(
            "The minimax rate has exponents $(-1/2,-1/2,1/2,-1/2)$ in $(m,n',d,p)$; the observed "
            f"error is {min(ratios):.2f} to {max(ratios):.2f} times as large, "
            f"{min(ratios) / price:.2f} to {max(ratios) / price:.2f} times "
            f"$\\sqrt{{2T}}={price:.2f}$, the price of steps on $1/(2T)$ of the data each.",
        )
    )


def minimax(_profile: Profile) -> Probability:
    """Least squares on drawn data follows the law from which the rate is computed."""
    return Probability(
        name=ifca.MINIMAX.id,
        sampling=Sampling(experiment=LEAST_SQUARES, max_trials=16_384, first=4096),
        cells=tuple(
            {"N": n, "d": d, "sigma": sigma}
            for n, d, sigma in (
                (2, 1, 1.0),
                (20, 10, 0.1),
                (12, 10, 1.0),
                (100, 10, 10.0),
                (50, 40, 0.1),
            )
        ),
        bad=lambda table, _params: table["law"] > 0.9,
        delta=lambda _params: 0.1,
        event="the squared error exceeding the exact law's 90 percent quantile",
        exact=0.2,
        present=_minimax_means,
    )


def _minimax_means(observed: Sequence[Observed]) -> Presentation:
    """Mean squared error over its law, in the cells where the squared error has a variance."""
    ratios = []
    for o in observed:
        n, d, sigma = o.params["N"], o.params["d"], o.params["sigma"]
        if n <= d + 3:
            continue
        law = float(ifca.MINIMAX.bound({"N": n, "d": d, "sigma": sigma}))
        relative = o.table["squared_error"] / law
        error = float(relative.std(ddof=1) / math.sqrt(o.table.n_trials))
        ratios.append(
            f"${relative.mean():.3f}\\pm{error:.3f}$ at $N={n}$, $d={d}$, $\\sigma={sigma:g}$"
        )
    if not ratios:
        return Presentation()
    return Presentation(
        sharpness=(
            "Mean squared error over its law, with Monte Carlo standard errors: "
            + "; ".join(ratios)
            + ".",
        )
    )

r"""Theorem 1 of IFCA as claims: one step, its contraction factor, its floor."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from bounds.ifca import linear as ifca
from bounds.statement import Statement
from trials.experiments.ifca.step import N_STEPS, STEP, TRAJECTORY
from trials.experiments.ifca.step_sizes import STEP_SIZES
from trials.run.cell import Params
from trials.run.store import Table
from verify.claims.ifca_cells import (
    AT_OPTIMUM,
    C_1,
    COLUMNS,
    OWN_COLUMNS,
    Row,
    cell,
    floor,
    grid,
    regressors,
    scaled,
    scattered,
    values,
    with_shapes,
)
from verify.decisions.constants import Direction
from verify.decisions.rates import Side
from verify.evidence import Figure, Series
from verify.procedures.base import FloatArray, Observed, Presentation, Profile, Sampling
from verify.procedures.constants import Constants
from verify.procedures.probability import Probability
from verify.procedures.rate import Contraction, Rate, StatedRate

DRIFT: dict[str, Direction] = {
    "m": "both",
    "n": "both",
    "d": "up",
    "k": "up",
    "rho": "both",
}


def _error_after(table: Table, _params: Params) -> FloatArray:
    return table["err_after_max"]


def error_before(table: Table, _params: Params) -> dict[str, FloatArray]:
    return {"err": table["err_before"]}


def one_step(
    statement: Statement,
    calibration: Sequence[Params],
    held_out: Sequence[Params],
    elsewhere: Sequence[Params],
    drift: Mapping[str, Direction] = DRIFT,
) -> Callable[[Profile], Constants]:
    """Theorem 1's three-part procedure on the exact law of one step."""

    def build(profile: Profile) -> Constants:
        return Constants(
            statement=statement,
            sampling=Sampling(experiment=STEP, max_trials=profile.max_trials),
            calibration=tuple(calibration),
            held_out=tuple(held_out),
            elsewhere=tuple(elsewhere),
            values=values,
            regressors=regressors,
            statistic=_error_after,
            covariates=error_before,
            drift=drift,
            choices=(C_1,),
            tighten=("c_4", "c_3", "c_2"),
            present=_strangers_seen,
        )

    return build


def _strangers_seen(observed: Sequence[Observed]) -> Presentation:
    """How often the third term of (1) could have been needed, and how large the floor is."""
    clients = sum(float(o.table["n_misidentified"].sum()) for o in observed)
    trials = sum(o.table.n_trials for o in observed)
    lines = [f"Misidentified clients in all {trials} steps together: {clients:.0f}."]
    if clients == 0:
        lines.append(
            "The third term was not needed at all, so that the place of $c_3$ and $c_4$ says "
            "nothing about their size (ifca.eq8 tries that term where strangers are many)."
        )
    floors = [
        float(o.table["err_after_max"].mean())
        / (math.sqrt(values(o.params)["p"]) * floor(o.params))
        for o in observed
        if 0.5 - o.params["alpha"] < 2 * AT_OPTIMUM
    ]
    if floors:
        lines.append(
            f"From the optima one step leaves {min(floors):.2f} to {max(floors):.2f} times "
            "$\\sigma\\sqrt{d/(pmn')}$, the stated floor times $\\sqrt p$ (means of cells)."
        )
    return Presentation(sharpness=lines)


def every_step_size(statement: Statement, alpha: float) -> Callable[[Profile], Probability]:
    r"""Refutation for every c1 at once, at the generous corner of the box.

    One trial gives, for every c1 > 0, whether the bound holds with the largest c2, c3 and the
    smallest c4 of the box; ``none`` marks the trials in which no c1 serves all clusters.
    """
    corner = {c.name: c.most_generous for c in statement.constants if c.generous != "choose"}

    def slack(params: Params) -> float:
        full = {**values(params), **corner, "err": 0.0}
        terms = statement.term_values(full)
        return float(terms["floor"] + terms["misidentification"])

    cells = []
    for k, ratio in _RATIOS:
        sizes: dict[str, Any] = {"profile": "one-large", "ratio": ratio} if ratio > 1 else {}
        params = cell(m=10**7, n=10**7, d=2000, k=k, rho=100.0, alpha=alpha, **sizes)
        cells.append({**params, "slack": slack(params)})

    def build(profile: Profile) -> Probability:
        return Probability(
            name=statement.id,
            sampling=Sampling(experiment=STEP_SIZES, max_trials=profile.max_trials, first=256),
            cells=tuple(cells),
            bad=lambda table, _params: table["none"] > 0,
            delta=lambda params: statement.failure_probability(values(params)),
            event="no step size constant $c_1>0$ serving all clusters, all other constants at "
            "the generous end of the box",
            validate=lambda params: statement.require(values(params)),
            present=_step_size_figure,
        )

    return build


_RATIOS = (
    (2, 1.0),
    (2, 1.5),
    (2, 2.0),
    (2, 2.5),
    (2, 3.5),
    (2, 4.0),
    (2, 8.0),
    (2, 99.0),
    (4, 4.0),
    (16, 8.0),
    (16, 785.0),
)


def _size_ratio(params: Params) -> float:
    v = values(params)
    return v["p_max"] / v["p"]


def _step_size_figure(observed: Sequence[Observed]) -> Presentation:
    """The interval of c1 that each trial allows to the smallest and to the largest cluster."""
    shown = [o for o in observed if o.params["k"] == 2]
    ratio = [_size_ratio(o.params) for o in shown]

    def edge(column: str) -> list[float]:
        return [float(np.median(o.table[column])) for o in shown]

    curve = [float(x) for x in np.geomspace(1.0, max(ratio), 60)] if ratio else []
    return Presentation(
        figures=(
            Figure(
                name="step-sizes",
                title="Which step size constants serve which cluster",
                xlabel="ratio $p_{\\max}/p$ (dimensionless)",
                ylabel="$c_1$ (dimensionless)",
                xscale="log",
                yscale="log",
                series=[
                    Series(label="smallest cluster: least $c_1$", x=ratio, y=edge("smallest_low")),
                    Series(label="largest cluster: most $c_1$", x=ratio, y=edge("largest_high")),
                    Series(label="$1/4$", x=curve, y=[0.25] * len(curve), style="dashed"),
                    Series(
                        label="$3p/(4p_{\\max})$",
                        x=curve,
                        y=[0.75 / x for x in curve],
                        style="dashed",
                    ),
                ],
                vlines=[(3.0, "ratio 3")],
                caption="Median over trials, $k=2$. A step size serves both clusters where the "
                "upper curve lies above the lower one: up to ratio three.",
            ),
        ),
        sharpness=_ratios_served(observed),
    )


def _ratios_served(observed: Sequence[Observed]) -> tuple[str, ...]:
    """Up to which ratio of sizes some step size served all clusters, and from which on none did."""
    always = [_size_ratio(o.params) for o in observed if not np.any(o.table["none"] > 0)]
    never = [_size_ratio(o.params) for o in observed if np.all(o.table["none"] > 0)]
    if not always or not never:
        return ()
    return (
        "The mean step serves all clusters if and only if $p_{\\max}\\le3p$. Observed: some "
        f"$c_1$ served them in every trial up to $p_{{\\max}}={max(always):.3g}p$, none did in any "
        f"trial from $p_{{\\max}}={min(never):.3g}p$ on.",
    )


def from_trajectory(table: Table, params: Params) -> FloatArray:
    """Errors (n_trials, N_STEPS + 1) of the worst cluster, the start included."""
    start = (0.5 - params["alpha"]) * params["Delta"]
    after = np.column_stack([table[f"err_{t}"] for t in range(1, N_STEPS + 1)])
    return np.column_stack([np.full(len(after), start), after])


def contraction(profile: Profile) -> Contraction:
    rows = (
        (10_000, 10_000_000, 20, 2, 100, 0.4),
        (10_000, 10_000_000, 1000, 2, 100, 0.25),
        (100_000, 10_000_000, 50, 4, 4, 0.4),
        (1_000_000, 10_000_000, 200, 16, 1, 0.25),
        (1_000_000, 1_000_000_000, 64, 3, 0.1, 0.45),
        (10_000_000, 10_000_000, 10_000, 8, 1000, 0.49),
    )
    return Contraction(
        name=ifca.CONTRACTION_RATE.id,
        sampling=Sampling(experiment=TRAJECTORY, max_trials=min(profile.max_trials, 1024)),
        cells=tuple({**c, "c1": C_1} for c in with_shapes(grid(COLUMNS, rows))),
        errors=from_trajectory,
        stated=0.5,
        validate=lambda params: ifca.CONTRACTION_RATE.require(values(params)),
    )


def floor_rate(profile: Profile) -> Rate:
    """The smallest cluster's error after one step from its optimum, own step sizes."""
    rows = [*rate_rows(AT_OPTIMUM), (65_536, 160_000, 256, 3, 4, AT_OPTIMUM, 0.01)]
    return Rate(
        name=ifca.FLOOR_RATE.id,
        sampling=Sampling(experiment=STEP, max_trials=min(profile.max_trials, 8192)),
        cells=own_step_cells(rows, (AT_OPTIMUM, AT_OPTIMUM)),
        statistic=lambda table: table["err_after_smallest"],
        regressors=rate_regressors,
        stated=floor_exponents("at most"),
        observable="the smallest cluster's error after one step from its optimum",
        validate=lambda params: ifca.FLOOR_RATE.require(values(params)),
        bound=floor,
        present=_floor_figure,
    )


def rate_rows(gap: float) -> list[Row]:
    """One parameter at a time about a base, then two together far from it."""
    base: Row = (16384, 16000, 64, 3, 16, gap, 0.05)
    return [
        base,
        *scaled(base, (0, 1, 2), (4, 64)),
        *scaled(base, (4,), (4, 1 / 16)),
        *((*base[:6], p) for p in (0.2, 0.1, 0.02, 0.0075)),
        (1_000_000, 64_000, 1024, 3, 64, gap, 0.1),
    ]


def rate_regressors(params: Params) -> dict[str, float]:
    """The parameters that the floor sigma sqrt(d / (m n')) / p names."""
    named = regressors(params)
    return {**{name: named[name] for name in ("m", "n", "d", "p")}, "sigma": params["sigma"]}


def floor_exponents(side: Side) -> dict[str, StatedRate]:
    """The exponents of that floor, each stated on the given side; p to the power -1 bounds it."""
    return {
        "m": StatedRate(exponent=-0.5, side=side, symbol="$m$"),
        "n": StatedRate(exponent=-0.5, side=side, symbol="$n'$"),
        "d": StatedRate(exponent=0.5, side=side, symbol="$d$"),
        "p": StatedRate(exponent=-1.0, side="at least", symbol="$p$"),
        "sigma": StatedRate(exponent=1.0, side=side, symbol="$\\sigma$"),
    }


def own_step_cells(rows: Sequence[Row], gap: tuple[float, float]) -> tuple[Params, ...]:
    """One parameter at a time, then 24 cells scattered over the whole domain."""
    one_by_one = grid(OWN_COLUMNS, rows, profile="one-small", step_rule="c/p_j")
    return tuple({**c, "c1": C_1} for c in (*one_by_one, *scattered(24, OWN_COLUMNS, gap)))


def _floor_figure(observed: Sequence[Observed]) -> Presentation:
    """Error floor against m n', the other parameters at their base."""
    base = observed[0].params
    same = [
        o for o in observed if all(o.params[x] == base[x] for x in ("d", "k", "sigma", "p_min"))
    ]
    same.sort(key=lambda o: o.params["m"] * o.params["n"])
    x = [float(o.params["m"] * o.params["n"]) for o in same]
    errors = [o.table["err_after_smallest"] for o in same]
    mean = [float(e.mean()) for e in errors]
    band = [3 * float(e.std(ddof=1) / math.sqrt(e.size)) for e in errors]
    return Presentation(
        figures=(
            Figure(
                name="floor",
                title="Error floor of one step",
                xlabel="samples in one step $mn'$",
                ylabel="error (units of $\\theta$)",
                xscale="log",
                yscale="log",
                series=[
                    Series(
                        label="observed mean",
                        x=x,
                        y=mean,
                        lower=[a - b for a, b in zip(mean, band, strict=True)],
                        upper=[a + b for a, b in zip(mean, band, strict=True)],
                    ),
                    Series(
                        label="$\\frac{\\sigma}{p}\\sqrt{d/(mn')}$ ($c_2=1$)",
                        x=x,
                        y=[floor(o.params) for o in same],
                        style="dashed",
                    ),
                ],
                caption=f"Smallest cluster, $p={base['p_min']:g}$, $d={base['d']}$; three Monte "
                "Carlo standard errors.",
            ),
        )
    )

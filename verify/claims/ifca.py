r"""IFCA on the linear model: every statement of `bounds.ifca` and `bounds.ifca_neurips` as a claim.

Cells are fixed here, before any trial.  A cell of a theorem is given by (m, n', d, k, rho, alpha)
and the clusters' sizes; the scale is ``Delta = min(1, sqrt(rho))``, so that Delta and sigma stay
at most one.  The hidden constants of Assumption 2 are declared in `HIDDEN`: a cell that misses one
is refused, and refuting cells meet the assumptions with constants hundreds of times as large.

Constants that are exhibited come from these arguments, not from trials:

* (5): 1 - 2 gamma p_j + (orthogonal fluctuation) <= 1 - gamma p, and noise 2 gamma sigma |X^T eps|
  /(mn') with Lemma 2's typical size: c5 = 1, c6 = 4.
* Lemma 2, norm: Davidson & Szarek, P(|X| > sqrt(N) + sqrt(d) + t) <= exp(-t^2/2) at t^2 = max.
* (7), (8): 2(9 max(d, n') |theta_j^*-theta_1| + 4 sigma sqrt(d n'))/n' with distance <= 3/2 and
  sigma <= 1: c5 = 35.
* Corollary 1: stationary noise (2/3) sqrt(p_max)/sqrt(1 - 1/9) < 0.71 of the floor, plus what
  3^-T leaves, 2/9 of epsilon: c6 = 2 with room for fluctuations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import qmc

from bounds import ifca, ifca_neurips
from bounds.exact import pairwise_log_probability, pairwise_ratio
from bounds.statement import Statement, evaluate
from trials.claim_experiments import LEAST_SQUARES, STEP_SIZES, STRANGERS
from trials.experiment import InvalidParameter, Params
from trials.ifca_experiments import (
    GRADIENT,
    LABELS,
    N_STEPS,
    OPNORM,
    RANDOM_START,
    STEP,
    TRAJECTORY,
    sizes_of,
)
from trials.store import Table
from verify.claim import Claim
from verify.claims import ifca_lemmas as lemmas
from verify.decisions.constants import Direction
from verify.evidence import Figure, Series, Verdict
from verify.procedures.base import (
    BoolArray,
    FloatArray,
    Observed,
    Presentation,
    Profile,
    Sampling,
    tex_number,
)
from verify.procedures.constants import Constants
from verify.procedures.probability import Probability
from verify.procedures.rate import Contraction, Rate, StatedRate

#: Declared hidden constants of Assumption 2 (and the c inside its exponential: Lemma 1's rate).
HIDDEN = {
    "C_n": 2.0,
    "C_d": 2.0,
    "C_p": 2.0,
    "C_N": 64.0,
    "C_Delta": 20.0,
    "C_theta": 0.5,
    "C_sigma": 1.0,
    "c": math.log(2) / 2,
}
#: The step size constant for clusters within a factor two of each other: |1 - 2 c1 r| <= 1/3.
C_1 = 1.0 / 3.0


# --- cells --------------------------------------------------------------------------------------


def cell(
    *,
    m: float,
    n: float,
    d: float,
    k: int,
    rho: float,
    alpha: float,
    scale: float = 1.0,
    **more: Any,
) -> dict[str, Any]:
    """Parameters of a step or trajectory at signal-to-noise ratio ``rho``, Delta and sigma <= 1."""
    delta = scale * min(1.0, math.sqrt(rho))
    return {
        "m": round(m),
        "n": round(n),
        "d": round(d),
        "k": k,
        "Delta": delta,
        "sigma": delta / math.sqrt(rho),
        "alpha": float(alpha),
        "profile": "equal",
        "centers": "simplex",
        "init": "random",
        **more,
    }


def values(params: Params) -> dict[str, float]:
    """A cell in the statements' symbols; fractions are those of whole clients."""
    shares = sizes_of(params) / params["m"]
    if params["sigma"] == 0:
        raise InvalidParameter(
            "sigma=0 must be > 0: rho = Delta^2/sigma^2 is a symbol of the theorem"
        )
    rho = (params["Delta"] / params["sigma"]) ** 2
    if not 0 < rho < math.inf:
        raise InvalidParameter(
            f"Delta={params['Delta']:g}, sigma={params['sigma']:g}: rho = Delta^2/sigma^2 must be "
            "a positive number within floating point"
        )
    k, delta = params["k"], params["Delta"]
    # random directions in d >= 30 keep unit vectors more than one half apart
    largest = {
        "simplex": delta * math.sqrt((k - 1) / (2 * k)),
        "line": delta * (k - 1) / 2,
        "random": 2 * delta,
        "bernoulli": 2 * delta,
    }[params["centers"]]
    return {
        **{name: float(params[name]) for name in ("m", "n", "d", "k", "Delta", "sigma", "alpha")},
        "p": float(shares.min()),
        "p_max": float(shares.max()),
        "rho": rho,
        "theta_max": largest,
        **HIDDEN,
    }


def regressors(params: Params) -> dict[str, float]:
    """What drift and rates are tested in."""
    v = values(params)
    return {name: v[name] for name in ("m", "n", "d", "k", "rho", "p")}


def floor(params: Params) -> float:
    r"""The statistical term :math:`(\sigma/p)\sqrt{d/(mn')}` of a cell."""
    return float(evaluate(ifca.FLOOR, values(params)))


Row = tuple[float, ...]


def _scaled(base: Row, columns: Sequence[int], factors: Sequence[float]) -> list[Row]:
    """``base`` with one column at a time multiplied by each factor."""
    return [
        tuple(x * factor if i == column else x for i, x in enumerate(base))
        for column in columns
        for factor in factors
    ]


def _grid(columns: Sequence[str], rows: Sequence[Row], **more: Any) -> tuple[Params, ...]:
    """Cells from rows of ``m, n', d, k, rho, gap`` (and further named columns)."""
    cells = []
    for row in rows:
        named: dict[str, Any] = dict(zip(columns, row, strict=True))
        named["alpha"] = 0.5 - named.pop("gap")
        named["k"] = int(named["k"])
        cells.append(cell(**named, **more))
    return tuple(cells)


_COLUMNS = ("m", "n", "d", "k", "rho", "gap")

#: At the optimum the statistical floor rules: there c2 is fitted (small cells), tried on fresh
#: cells with each parameter alone at least 4 times outside, then jointly, and watched for drift.
_AT_OPTIMUM = 1e-7
_CALIBRATION = tuple(
    (*row, _AT_OPTIMUM)
    for row in (
        (64, 4000, 16, 2, 4),
        (64, 16000, 64, 3, 16),
        (128, 4000, 32, 3, 4),
        (128, 16000, 16, 4, 8),
        (256, 4000, 64, 2, 16),
        (256, 8000, 16, 3, 16),
        (256, 16000, 32, 4, 4),
        (64, 8000, 32, 2, 8),
        (128, 8000, 64, 2, 4),
        (256, 16000, 64, 4, 16),
    )
)
_HELD_OUT = tuple(
    (*row, _AT_OPTIMUM)
    for row in (
        (16384, 16000, 64, 2, 16),
        (2048, 8000, 32, 3, 8),
        (10, 16000, 16, 2, 16),
        (256, 1_024_000, 64, 3, 16),
        (256, 64_000, 32, 2, 8),
        (256, 400, 16, 2, 16),
        (256, 16000, 1024, 2, 16),
        (256, 16000, 10_000, 2, 16),
        (256, 16000, 256, 2, 16),
        (256, 16000, 32, 16, 16),
        (256, 16000, 64, 16, 8),
        (256, 16000, 32, 3, 1000),
        (256, 16000, 32, 2, 0.25),
        (256, 16000, 32, 2, 0.1),
        (10_000_000, 1_000_000, 1000, 16, 1000),
        (10_000, 100_000_000, 64, 8, 1e-3),
        (100_000, 1_000_000, 512, 16, 64),
        (1000, 400, 1500, 2, 100),
    )
)
#: Away from it contraction rules: closeness from 0.01 to 0.4999.
_ELSEWHERE = (
    (256, 16000, 32, 2, 16, 0.47),
    (256, 16000, 32, 3, 16, 1e-4),
    (16384, 16000, 64, 2, 16, 0.02),
    (10, 16000, 16, 2, 16, 0.02),
    (256, 400, 16, 2, 16, 0.02),
    (256, 16000, 10_000, 2, 16, 0.1),
    (256, 16000, 32, 16, 16, 0.02),
    (256, 16000, 32, 2, 0.1, 0.02),
    (10_000_000, 1_000_000, 1000, 16, 1000, 0.25),
    (10_000_000, 3_000_000, 10_000, 16, 16, 0.49),
    (10_000, 100_000_000, 64, 8, 1e-3, 0.02),
    (100_000, 1_000_000, 512, 16, 64, 1e-3),
    (1000, 400, 1500, 2, 100, 0.25),
)

#: The same for own step sizes, with the smallest fraction as a parameter of its own.
_OWN_COLUMNS = (*_COLUMNS, "p_min")
_OWN_CALIBRATION = tuple(
    (*row[:5], _AT_OPTIMUM, row[5])
    for row in (
        (4096, 4000, 32, 2, 4, 0.2),
        (4096, 16000, 64, 3, 16, 0.05),
        (8192, 4000, 32, 3, 4, 0.1),
        (8192, 16000, 20, 4, 8, 0.05),
        (16384, 4000, 64, 2, 16, 0.05),
        (16384, 8000, 20, 3, 16, 0.2),
        (16384, 16000, 32, 4, 4, 0.1),
        (4096, 8000, 32, 2, 8, 0.1),
        (8192, 8000, 64, 2, 4, 0.2),
        (16384, 16000, 64, 4, 16, 0.05),
    )
)
_OWN_HELD_OUT = tuple(
    (*row[:5], _AT_OPTIMUM, row[5])
    for row in (
        (1_000_000, 16000, 64, 2, 16, 0.1),
        (65_536, 8000, 32, 3, 8, 0.2),
        (500, 16000, 20, 2, 16, 0.2),
        (16384, 1_024_000, 64, 3, 16, 0.1),
        (16384, 64_000, 32, 2, 8, 0.05),
        (16384, 400, 20, 2, 16, 0.2),
        (16384, 16000, 256, 3, 8, 0.1),
        (16384, 8000, 1024, 2, 16, 0.1),
        (8192, 16000, 4096, 2, 16, 0.2),
        (16384, 16000, 10_000, 2, 16, 0.2),
        (16384, 16000, 32, 16, 16, 0.05),
        (16384, 16000, 20, 16, 16, 0.05),
        (16384, 16000, 32, 3, 1000, 0.1),
        (16384, 16000, 32, 2, 0.25, 0.1),
        (16384, 16000, 32, 2, 16, 0.01),
        (16384, 16000, 20, 3, 16, 1 / 150),
        (10_000_000, 1_000_000, 1000, 16, 1000, 1 / 800),
        (100_000, 200_000_000, 64, 8, 1e-3, 1 / 400),
        (1_000_000, 1_000_000, 512, 16, 64, 1 / 800),
    )
)
_OWN_ELSEWHERE = (
    (16384, 16000, 32, 2, 16, 0.46, 0.1),
    (16384, 16000, 32, 3, 16, 1e-4, 0.05),
    (500, 16000, 20, 2, 16, 0.02, 0.2),
    (16384, 16000, 10_000, 2, 16, 0.1, 0.2),
    (16384, 16000, 32, 2, 16, 0.02, 0.01),
    (10_000_000, 1_000_000, 1000, 16, 1000, 0.25, 1 / 800),
    (10_000_000, 3_000_000, 10_000, 16, 16, 0.49, 1 / 800),
    (100_000, 200_000_000, 64, 8, 1e-3, 0.02, 1 / 400),
    (1_000_000, 1_000_000, 512, 16, 64, 1e-3, 1 / 800),
)


def _scattered(n_cells: int, columns: Sequence[str], gap: Sequence[float]) -> tuple[Params, ...]:
    """Cells over the theorem's whole domain, all parameters at once, that meet its assumptions.

    Scrambled Sobol points (fixed seed) in the logarithms of m from 10 to 1e7, d from 10 to 1e4, k
    from 2 to 16, rho from 1e-3 to 1e3, the gap (where it has a range) and, with ``p_min`` among
    the columns, of k p from 1/50 to 1/2; n' is 1 to 256 times the least that Assumption 2 allows.
    Points at which some assumption fails with the declared constants are passed over.
    """
    own = "p_min" in columns
    statement = ifca.THEOREM_1_OWN_STEP if own else ifca.THEOREM_1
    cells: list[Params] = []
    for u in qmc.Sobol(7, seed=2022).random_base2(11):
        m, d, rho, beyond = (
            low * (high / low) ** x for x, (low, high) in zip(u, _RANGES, strict=False)
        )
        k, left = int(2 * 8.49 ** u[4]), gap[0] * (gap[1] / gap[0]) ** u[5]
        alpha = 0.5 - left
        need = HIDDEN["C_n"] * ((rho + 1) / (alpha * rho)) ** 2 * math.log(m)
        p_min = 0.02 * 25 ** u[6] / k
        sizes = {"p_min": float(p_min), "profile": "one-small", "step_rule": "c/p_j"} if own else {}
        if m < k / p_min if own else m < 4 * k:
            continue
        n = 1.01 * beyond * max(need, HIDDEN["C_N"] * d * k / m)
        shape = ("simplex", "line", "random", "bernoulli")[len(cells) % 4]
        if shape != "line" and not 30 <= d <= 500:  # few dimensions crowd, many take long to draw
            shape = "simplex"
        scale = min(1.0, 4.0 / (k - 1)) if shape == "line" else 1.0
        params = cell(m=m, n=n, d=d, k=k, rho=rho, alpha=alpha, centers=shape, scale=scale, **sizes)
        if all(a.holds(values(params)) for a in statement.assumptions):
            cells.append(params)
        if len(cells) == n_cells:
            break
    return tuple(cells)


#: Ranges of m, d, rho and of n' over the least that is allowed.
_RANGES = ((10.0, 1e7), (10.0, 1e4), (1e-3, 1e3), (1.0, 256.0))


#: Starts within Delta/4 for the conference version.
_CONFERENCE_ELSEWHERE = tuple((*row[:5], min(row[5], 0.25)) for row in _ELSEWHERE)


def _with_shapes(cells: Sequence[Params]) -> tuple[Params, ...]:
    """Give the cells in turn every start direction, and unequal clusters to every other one.

    Sizes stay equal where whole clients cannot keep the ratio below two, or where the smaller p
    would miss Assumption 2.
    """
    shaped = []
    for i, params in enumerate(cells):
        init = ("random", "adversarial", "orthogonal", "translation")[(i + i // 4) % 4]
        unequal = {**params, "init": init, "profile": "geometric", "ratio": 1.9}
        possible = all(a.holds(values(unequal)) for a in ifca.THEOREM_1.assumptions)
        shaped.append(unequal if i % 2 and possible else {**params, "init": init})
    return tuple(shaped)


# --- Theorem 1 ----------------------------------------------------------------------------------

_DRIFT: dict[str, Direction] = {
    "m": "both",
    "n": "both",
    "d": "up",
    "k": "up",
    "rho": "both",
}


def _error_after(table: Table, _params: Params) -> FloatArray:
    return table["err_after_max"]


def _error_before(table: Table, _params: Params) -> dict[str, FloatArray]:
    return {"err": table["err_before"]}


def _one_step(
    statement: Statement,
    calibration: Sequence[Params],
    held_out: Sequence[Params],
    elsewhere: Sequence[Params],
    drift: Mapping[str, Direction] = _DRIFT,
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
            covariates=_error_before,
            drift=drift,
            choices=(C_1,),
            tighten=("c_4", "c_3", "c_2"),
            present=_strangers_seen,
        )

    return build


def _strangers_seen(observed: Sequence[Observed]) -> Presentation:
    """How often the third term of (1) could have been needed at all."""
    clients = sum(float(o.table["n_misidentified"].sum()) for o in observed)
    trials = sum(o.table.n_trials for o in observed)
    return Presentation(
        sharpness=(
            f"Misidentified clients in all {trials} steps together: {clients:.0f}. With $C_n=2$ "
            "the third term is not needed: $c_3$ and $c_4$ stop at the box's tight ends, which "
            "says nothing about their size (ifca.eq8 tries that term where strangers are many).",
            "The required $c_2$ falls like $\\sqrt p$: the floor of one step is "
            "$\\sigma\\sqrt{d/(pmn')}$, smaller than the stated one by $\\sqrt p$.",
        )
    )


def _every_step_size(statement: Statement, alpha: float) -> Callable[[Profile], Probability]:
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


def _step_size_figure(observed: Sequence[Observed]) -> Presentation:
    """The interval of c1 that each trial allows to the smallest and to the largest cluster."""
    shown = [o for o in observed if o.params["k"] == 2]
    ratio = [values(o.params)["p_max"] / values(o.params)["p"] for o in shown]

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
        sharpness=(
            "The mean step serves all clusters if and only if $p_{\\max}\\le3p$; the condition is "
            "sharp.",
        ),
    )


def _from_trajectory(table: Table, params: Params) -> FloatArray:
    """Errors (n_trials, N_STEPS + 1) of the worst cluster, the start included."""
    start = (0.5 - params["alpha"]) * params["Delta"]
    after = np.column_stack([table[f"err_{t}"] for t in range(1, N_STEPS + 1)])
    return np.column_stack([np.full(len(after), start), after])


def _contraction(profile: Profile) -> Contraction:
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
        cells=tuple({**c, "c1": C_1} for c in _with_shapes(_grid(_COLUMNS, rows))),
        errors=_from_trajectory,
        stated=0.5,
        validate=lambda params: ifca.CONTRACTION_RATE.require(values(params)),
    )


def _floor_rate(profile: Profile) -> Rate:
    """The smallest cluster's error after one step from its optimum, own step sizes."""
    base: Row = (16384, 16000, 64, 3, 16, 1e-7, 0.05)
    rows = [
        base,
        *_scaled(base, (0, 1, 2), (4, 64)),
        *_scaled(base, (4,), (4, 1 / 16)),
    ]
    rows += [(*base[:6], p) for p in (0.2, 0.1, 0.02, 0.0075)]
    rows += [(1_000_000, 64_000, 1024, 3, 64, 1e-7, 0.1), (65_536, 160_000, 256, 3, 4, 1e-7, 0.01)]
    cells = _own_step_cells(rows, (_AT_OPTIMUM, _AT_OPTIMUM))
    return Rate(
        name=ifca.FLOOR_RATE.id,
        sampling=Sampling(experiment=STEP, max_trials=min(profile.max_trials, 8192)),
        cells=cells,
        statistic=lambda table: table["err_after_smallest"],
        regressors=lambda params: {
            **{name: regressors(params)[name] for name in ("m", "n", "d", "p")},
            "sigma": params["sigma"],
        },
        stated={
            "m": StatedRate(exponent=-0.5, side="at most", symbol="$m$"),
            "n": StatedRate(exponent=-0.5, side="at most", symbol="$n'$"),
            "d": StatedRate(exponent=0.5, side="at most", symbol="$d$"),
            "p": StatedRate(exponent=-1.0, side="at least", symbol="$p$"),
            "sigma": StatedRate(exponent=1.0, side="at most", symbol="$\\sigma$"),
        },
        observable="the smallest cluster's error after one step from its optimum",
        validate=lambda params: ifca.FLOOR_RATE.require(values(params)),
        bound=floor,
        present=_floor_figure,
    )


def _own_step_cells(rows: Sequence[Row], gap: tuple[float, float]) -> tuple[Params, ...]:
    """One parameter at a time, then 24 cells scattered over the whole domain."""
    one_by_one = _grid(_OWN_COLUMNS, rows, profile="one-small", step_rule="c/p_j")
    return tuple({**c, "c1": C_1} for c in (*one_by_one, *_scattered(24, _OWN_COLUMNS, gap)))


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


# --- steps of the proof -------------------------------------------------------------------------


def _explicit(
    statement: Statement,
    constants: Mapping[str, float],
    sampling: Sampling,
    cells: Sequence[Params],
    symbols: Callable[[Params], dict[str, float]],
    observed: Callable[[Table], FloatArray],
    event: str,
    covariates: Callable[[Table, Params], dict[str, FloatArray]] = lambda _t, _p: {},
) -> Probability:
    """A statement with all constants exhibited: P(observed > bound) <= failure probability."""

    def bad(table: Table, params: Params) -> BoolArray:
        full = {**symbols(params), **constants, **covariates(table, params)}
        return np.asarray(observed(table) > statement.bound(full, unchecked=True))

    def largest(stored: Sequence[Observed]) -> Presentation:
        ratios = []
        for o in stored:
            full = {**symbols(o.params), **constants, **covariates(o.table, o.params)}
            bound = np.maximum(statement.bound(full, unchecked=True), 1e-300)
            ratios.append(float(np.max(observed(o.table) / bound)))
        return Presentation(
            sharpness=(
                f"Largest observed value over its bound: {max(ratios):.3g} (over all trials; in "
                f"the cells it ranges down to {min(ratios):.3g}).",
            )
        )

    return Probability(
        name=statement.id,
        sampling=sampling,
        cells=tuple(cells),
        bad=bad,
        present=largest,
        delta=lambda params: statement.failure_probability({**symbols(params), **constants}),
        event=f"{event}, with " * bool(constants)
        + (", ".join(f"${k}={v:.4g}$" for k, v in constants.items()) or event),
        validate=lambda params: statement.require(symbols(params)),
    )


def _matrix_symbols(params: Params) -> dict[str, float]:
    return {"N": float(params["N"]), "d": float(params["d"]), "C_N": 4.0}


def _lemma_2_opnorm(profile: Profile) -> Probability:
    """Small shapes, where the stated probability can be resolved, and large ones, where not."""
    shapes = [(1, 1), (2, 2), (1, 8), (8, 1), (4, 4), (8, 8), (3, 12), (12, 3), (12, 12)]
    shapes += [(1000, 10), (10, 1000), (300, 300), (1, 10_000)]
    return _explicit(
        ifca.LEMMA_2_OPNORM,
        {"c": 3.0, "c_1": 0.5},
        Sampling(experiment=OPNORM, max_trials=_matrix_budget(profile)),
        [{"N": n, "d": d} for n, d in shapes],
        _matrix_symbols,
        lambda table: table["s_max"],
        "the norm exceeding its bound",
    )


def _matrix_budget(profile: Profile) -> int:
    return min(profile.max_trials, 65_536)


def _eq_4(profile: Profile) -> Probability:
    shapes = [(ratio * d, d) for d in (1, 2, 4, 8, 12) for ratio in (4, 16, 256)]
    shapes += [(400, 100), (4000, 1000), (100_000, 100)]
    return _explicit(
        ifca.EQ_4,
        {},
        Sampling(experiment=OPNORM, max_trials=_matrix_budget(profile)),
        [{"N": n, "d": d} for n, d in shapes],
        _matrix_symbols,
        lambda table: table["gram_deviation"],
        "the Gram matrix deviating by more than $6\\sqrt{dN}$",
    )


def _eq_5(profile: Profile) -> Probability:
    """Steps up to 1/(2 p_max), clusters down to p = 1/(50 k)."""
    rows = (
        (10_000, 16000, 64, 2, 16, 0.4, 0.01),
        (100_000, 4000, 32, 4, 16, 0.25, 1 / 200),
        (1_000_000, 1_000_000, 2000, 16, 4, 0.45, 1 / 800),
        (1000, 16000, 20, 2, 100, 0.1, 0.1),
        (10_000, 160_000, 64, 2, 16, 1e-4, 0.02),
        (16384, 16000, 10_000, 3, 16, 0.3, 0.3),
    )
    cells = [
        {**c, "c1": c1}
        for c in _grid(_OWN_COLUMNS, rows, profile="one-large", step_rule="c/p_max")
        for c1 in (0.05, 0.5)
    ]

    def symbols(params: Params) -> dict[str, float]:
        v = values(params)
        return {**v, "gamma": params["c1"] / v["p_max"]}

    return _explicit(
        ifca.EQ_5,
        {"c_5": 1.0, "c_6": 4.0},
        Sampling(experiment=STEP, max_trials=profile.max_trials),
        cells,
        symbols,
        lambda table: table["err_after_max"],
        "some cluster's error exceeding its bound",
        _error_before,
    )


def _eq_5_as_printed(profile: Profile) -> Probability:
    """Equal clusters, step sizes up to the proof's own 1/(2 c5 p), generous constants."""
    rows = ((10**6, 10**6, 64, 2, 100, 0.25), (10**7, 10**7, 1000, 16, 100, 0.4))
    cells = [
        {**c, "c1": c1, "step_rule": "c/p"}
        for c in _grid(_COLUMNS, rows)
        for c1 in (0.25, 0.5, 2.0, 8.0)
    ]

    def symbols(params: Params) -> dict[str, float]:
        v = values(params)
        return {**v, "gamma": params["c1"] / v["p"]}

    corner = {c.name: c.most_generous for c in ifca.EQ_5_AS_PRINTED.constants}
    return _explicit(
        ifca.EQ_5_AS_PRINTED,
        corner,
        Sampling(experiment=STEP, max_trials=profile.max_trials),
        cells,
        symbols,
        lambda table: table["err_after_max"],
        "some cluster's error exceeding its bound (generous corner of the box)",
        _error_before,
    )


def _eq_7(profile: Profile) -> Probability:
    r"""Norms: 2(9 max(d,n') distance + 4 sigma sqrt(d n'))/n', distance <= 3/2 and sigma <= 1."""
    shapes = [(n, d) for n in (1, 2, 4, 8, 16, 1000) for d in (1, 2, 4, 8, 16, 1000)]

    def symbols(params: Params) -> dict[str, float]:
        return {"n": float(params["n"]), "d": float(params["d"])}

    return _explicit(
        ifca.EQ_7,
        {"c_1": 4.0, "c_2": 0.5, "c_5": 35.0},
        Sampling(experiment=GRADIENT, max_trials=profile.max_trials),
        [
            {"n": n, "d": d, "k": 2, "Delta": 1.0, "sigma": 1.0, "alpha": 0.01, "init": init}
            for n, d in shapes
            for init in (("adversarial",) if d == 1 else ("adversarial", "orthogonal"))
        ],
        symbols,
        lambda table: table["gradient_norm"],
        "the gradient's norm exceeding its bound",
    )


def _eq_8(profile: Profile) -> Probability:
    """Strangers in plenty: starts at alpha = 0.02, little signal, every profile of sizes."""
    cells = []
    for m, n, d, k, rho in (
        (100, 60, 20, 2, 0.3),
        (1000, 80, 40, 4, 0.1),
        (1000, 100, 2000, 3, 1.0),
        (1000, 100, 64, 8, 0.03),
        (10_000_000, 60, 64, 2, 0.1),
        (100, 2000, 20, 2, 0.01),
        (100, 100, 1000, 2, 4.0),
    ):
        shapes: tuple[tuple[str, dict[str, Any]], ...] = (
            ("translation", {}),
            ("orthogonal", {"profile": "one-small", "p_min": 0.2 / k}),
            ("random", {"profile": "one-large", "ratio": 8.0}),
        )
        for init, sizes in shapes:
            params = cell(m=m, n=n, d=d, k=k, rho=rho, alpha=0.02, init=init, **sizes)
            cells.append({**params, "c1": C_1})

    def symbols(params: Params) -> dict[str, float]:
        v = values(params)
        return {**v, "gamma": params["c1"] / v["p"]}

    return _explicit(
        ifca.EQ_8,
        {"c_5": 35.0},
        Sampling(experiment=STRANGERS, max_trials=profile.max_trials),
        cells,
        symbols,
        lambda table: table["t2_norm"],
        "what strangers add exceeding its bound",
        lambda table, _params: {"strangers": table["n_strangers"]},
    )


# --- the exact law behind Lemma 1 ---------------------------------------------------------------


def pairwise_probability(params: Params) -> float:
    """The F law for the non-random starts of the label experiment, two clusters.

    The rival's model is displaced towards the client's optimum; the client's own model towards the
    rival, across the segment, or away from the rival.
    """
    delta, radius = params["Delta"], (0.5 - params["alpha"]) * params["Delta"]
    dot = {
        "adversarial": radius * (delta - radius),
        "orthogonal": 0.0,
        "translation": -radius * (delta - radius),
    }[params["init"]]
    ratio = pairwise_ratio(radius**2, dot, (delta - radius) ** 2, params["sigma"] ** 2)
    return math.exp(pairwise_log_probability(ratio, params["n"]))


def _pairwise_law(_profile: Profile) -> Probability:
    """Real data of single clients; probabilities large enough to be resolved."""
    settings = [
        ("adversarial", 4.0, 0.1, (1, 2, 4, 8)),
        ("orthogonal", 4.0, 0.1, (1, 4, 16, 64)),
        ("orthogonal", 100.0, 0.05, (1, 8, 64)),
        ("orthogonal", 0.1, 0.25, (1, 32, 256)),
        ("translation", 1.0, 0.1, (1, 16, 256)),
        ("adversarial", 0.01, 0.4, (1, 64)),
        ("orthogonal", 1000.0, 0.49, (1,)),
    ]
    cells = [
        {
            "n": n,
            "d": d,
            "k": 2,
            "Delta": min(1.0, math.sqrt(rho)),
            "sigma": min(1.0, math.sqrt(rho)) / math.sqrt(rho),
            "alpha": alpha,
            "init": init,
        }
        for init, rho, alpha, sizes in settings
        for i, n in enumerate(sizes)
        for d in ((2, 20) if i == 0 else (20,))
    ]
    cells = [c for c in cells if pairwise_probability(c) > 0.02]
    return Probability(
        name=ifca.PAIRWISE_LAW.id,
        sampling=Sampling(experiment=LABELS, max_trials=65_536, first=2048),
        cells=tuple(cells),
        bad=lambda table, _params: table["pairwise"] > 0,
        delta=pairwise_probability,
        event="a client preferring the rival's model (data drawn in full)",
        exact=0.2,
        present=_pairwise_figure,
    )


def _pairwise_figure(observed: Sequence[Observed]) -> Presentation:
    """Data against the exact law, over n'."""
    chosen = [
        o
        for o in observed
        if o.params["init"] == "orthogonal" and o.params["alpha"] == 0.1 and o.params["d"] == 20
    ]
    chosen.sort(key=lambda o: o.params["n"])
    rates = [float(o.table["pairwise"].mean()) for o in chosen]
    band = [
        3 * math.sqrt(max(r * (1 - r), 1e-12) / o.table.n_trials)
        for r, o in zip(rates, chosen, strict=True)
    ]
    n = [float(o.params["n"]) for o in chosen]
    bound = lemmas.LEMMA_1_RATE * (0.1 * 4 / 5) ** 2
    return Presentation(
        figures=(
            Figure(
                name="law",
                title="Pairwise misidentification: data against the exact law",
                xlabel="samples $n'$",
                ylabel="probability",
                xscale="log",
                yscale="log",
                series=[
                    Series(
                        label="data",
                        x=n,
                        y=rates,
                        lower=[max(r - b, 1e-6) for r, b in zip(rates, band, strict=True)],
                        upper=[r + b for r, b in zip(rates, band, strict=True)],
                    ),
                    Series(
                        label="exact law",
                        x=n,
                        y=[pairwise_probability(o.params) for o in chosen],
                        style="line",
                    ),
                    Series(
                        label="Lemma 1, $c_1=1$, $c_2=(\\log2)/2$",
                        x=n,
                        y=[math.exp(-bound * x) for x in n],
                        style="dashed",
                    ),
                ],
                caption="Start across the segment, $\\alpha=0.1$, $\\rho=4$, $d=20$; three Monte "
                "Carlo standard errors.",
            ),
        )
    )


# --- Corollary 1 and the sentences around it ----------------------------------------------------

ACCURACY = {"c_6": 2.0, "c_7": 1.0, "c_8": math.log(2) / 4}
CONFERENCE_ACCURACY = {"c_5": 2.0, "c_6": 1.0, "c_4": math.log(2) / 4}
_RUN_ROWS = (
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


def _whole_run(
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
        errors = _from_trajectory(o.table, o.params) / accuracy(statement, o.params, constants)
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


def _whole_run_as_printed(statement: Statement, gap: float) -> Callable[[Profile], Constants]:
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
            statistic=lambda table, params: np.fmin.reduce(_from_trajectory(table, params), axis=1),
            covariates=lambda _table, _params: {},
            drift={},
            choices=(*(2.0**i for i in range(-9, 4)), 1 / 3, 0.6, 0.75),
            tighten=tuple(corner),
        )

    return build


def _slow_start(profile: Profile) -> Probability:
    """First steps from alpha_0 = 0.01 and 0.02, n' as Assumption 2 asks."""
    cells = [c for c in _two_clusters_cells() if c["alpha"] <= 0.02]
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


def _two_clusters_cells() -> Iterator[Params]:
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


def _random_start(profile: Profile) -> Probability:
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


def _stays(profile: Profile) -> Probability:
    """Is some cluster's error ever above its start, which is the same for every cluster?"""
    return Probability(
        name=ifca.CLOSENESS_STAYS.id,
        sampling=Sampling(experiment=TRAJECTORY, max_trials=profile.max_trials),
        cells=tuple({"c1": C_1, **c} for c in _monotone_cells()),
        bad=lambda table, params: np.any(
            _from_trajectory(table, params)[:, 1:] > (0.5 - params["alpha"]) * params["Delta"],
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
    return _with_shapes((*_grid(_COLUMNS, _MONOTONE_ROWS), *_scattered(10, _COLUMNS, (0.05, 0.49))))


def _monotone(statement: Statement, above: float) -> Callable[[Profile], Probability]:
    """Does any cluster's error ever grow, counted while it exceeds ``above`` floors?"""

    def bad(table: Table, params: Params) -> BoolArray:
        grew_from = table["grew_from"]
        return np.asarray((grew_from > 0) & (grew_from >= above * floor(params)))

    def present(observed: Sequence[Observed]) -> Presentation:
        highest = max(float(o.table["grew_from"].max()) / floor(o.params) for o in observed)
        errors = [_from_trajectory(o.table, o.params) for o in observed]
        back = [float(np.mean(np.any(np.diff(e, axis=1) > 0, axis=1))) for e in errors]
        return Presentation(
            sharpness=(
                f"The largest error of a cluster that a step made larger is {highest:.2g} floors "
                "($c_2=1$), over all trials.",
                "The largest error over the clusters grew as well, and $\\alpha$ itself fell, in "
                f"at least {min(back):.0%} of each cell's trials.",
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


def _near_optimal(profile: Profile) -> Rate:
    """Final error of the smallest cluster over the minimax rate with all samples."""
    base: Row = (16384, 16000, 64, 3, 16, 0.25, 0.05)
    rows = [base, *_scaled(base, (0, 1, 2), (4, 64)), *_scaled(base, (4,), (4, 1 / 16))]
    rows += [(*base[:6], p) for p in (0.2, 0.1, 0.02, 0.0075)]
    rows += [(1_000_000, 64_000, 1024, 3, 64, 0.25, 0.1)]

    def minimax(params: Params) -> float:
        v = values(params)
        return v["sigma"] * math.sqrt(v["d"] / (2 * v["p"] * v["m"] * v["n"] * N_STEPS))

    return Rate(
        name=ifca.NEAR_OPTIMAL.id,
        sampling=Sampling(experiment=TRAJECTORY, max_trials=min(profile.max_trials, 512)),
        cells=_own_step_cells(rows, (0.01, 0.4)),
        statistic=lambda table: table["floor_smallest"],
        regressors=lambda params: {
            **{name: regressors(params)[name] for name in ("m", "n", "d", "p")},
            "sigma": params["sigma"],
        },
        stated={
            "m": StatedRate(exponent=-0.5, side="equals", symbol="$m$"),
            "n": StatedRate(exponent=-0.5, side="equals", symbol="$n'$"),
            "d": StatedRate(exponent=0.5, side="equals", symbol="$d$"),
            "p": StatedRate(exponent=-1.0, side="at least", symbol="$p$"),
            "sigma": StatedRate(exponent=1.0, side="equals", symbol="$\\sigma$"),
        },
        observable=f"the smallest cluster's error after {N_STEPS} steps; bound: the minimax rate "
        "with all samples used",
        validate=lambda params: ifca.NEAR_OPTIMAL.require({**values(params), "T": N_STEPS}),
        bound=minimax,
        present=lambda _observed: Presentation(
            sharpness=(
                "The minimax rate has exponents $(-1/2,-1/2,1/2,-1/2)$ in $(m,n',d,p)$: the "
                "observed error matches it in $p$ as well, so the bound's extra $p^{-1/2}$ is the "
                "proof's, not the algorithm's. The remaining factor is "
                "$\\sqrt{2T}$ times a constant, from using $1/(2T)$ of the data a step.",
            )
        ),
    )


def _minimax(_profile: Profile) -> Probability:
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


# --- the catalogue ------------------------------------------------------------------------------


def claims() -> list[Claim]:
    """IFCA's claims, in the papers' order."""
    refuted = Verdict.REFUTED
    run_cells = _with_shapes((*_grid(_COLUMNS, _RUN_ROWS), *_scattered(8, _COLUMNS, (0.02, 0.49))))
    conference_cells = tuple({**c, "alpha": max(c["alpha"], 0.25)} for c in run_cells)
    floor_cells = _scattered(32, _COLUMNS, (_AT_OPTIMUM, _AT_OPTIMUM))
    far_cells = _scattered(16, _COLUMNS, (1e-3, 0.49))
    near_cells = tuple(c for c in far_cells if c["alpha"] >= 0.25)
    own = {"profile": "one-small", "step_rule": "c/p_j"}
    own_drift: dict[str, Direction] = {**_DRIFT, "p": "down"}
    return [
        Claim(statement=ifca.LEMMA_1, build=lemmas.lemma_1),
        Claim(statement=ifca.LEMMA_1_UNION, build=lemmas.lemma_1_union),
        Claim(statement=ifca.LEMMA_1_SHARP, build=lemmas.lemma_1_sharp),
        Claim(statement=ifca.PAIRWISE_LAW, build=_pairwise_law),
        Claim(statement=ifca.BETTER_THAN_GUESSING, build=lemmas.better_than_guessing),
        Claim(statement=ifca.LEMMA_1_INIT, build=lemmas.lemma_1_init, expected=refuted),
        Claim(statement=ifca.EQ_16, build=lemmas.eq_16),
        Claim(statement=ifca.EQ_17, build=lemmas.eq_17),
        Claim(statement=ifca.LEMMA_2_OPNORM, build=_lemma_2_opnorm),
        Claim(statement=ifca.LEMMA_2_NOISE, build=lemmas.lemma_2_noise),
        Claim(
            statement=ifca.EQ_2_AS_PRINTED,
            build=lemmas.eq_2(ifca.EQ_2_AS_PRINTED),
            expected=refuted,
        ),
        Claim(statement=ifca.EQ_2, build=lemmas.eq_2(ifca.EQ_2)),
        Claim(statement=ifca.HALF_CORRECT, build=lemmas.half_correct),
        Claim(statement=ifca.EQ_3, build=lemmas.eq_3),
        Claim(statement=ifca.EQ_4, build=_eq_4),
        Claim(statement=ifca.EQ_5_AS_PRINTED, build=_eq_5_as_printed, expected=refuted),
        Claim(statement=ifca.EQ_5, build=_eq_5),
        Claim(statement=ifca.EQ_7, build=_eq_7),
        Claim(statement=ifca.EQ_8, build=_eq_8),
        Claim(statement=ifca.EQ_10, build=lemmas.eq_10),
        Claim(statement=ifca.EQ_12, build=lemmas.eq_12),
        Claim(statement=ifca.POLY_M, build=lemmas.poly_m),
        Claim(
            statement=ifca.THEOREM_1_AS_PRINTED,
            build=_every_step_size(ifca.THEOREM_1_AS_PRINTED, 0.25),
            expected=refuted,
        ),
        Claim(
            statement=ifca.THEOREM_1,
            build=_one_step(
                ifca.THEOREM_1,
                _with_shapes(_grid(_COLUMNS, _CALIBRATION)),
                _with_shapes((*_grid(_COLUMNS, _HELD_OUT), *floor_cells)),
                _with_shapes((*_grid(_COLUMNS, _ELSEWHERE), *far_cells)),
            ),
        ),
        Claim(
            statement=ifca.THEOREM_1_OWN_STEP,
            build=_one_step(
                ifca.THEOREM_1_OWN_STEP,
                _grid(_OWN_COLUMNS, _OWN_CALIBRATION, **own),
                (
                    *_grid(_OWN_COLUMNS, _OWN_HELD_OUT, **own),
                    *_scattered(32, _OWN_COLUMNS, (_AT_OPTIMUM, _AT_OPTIMUM)),
                ),
                (
                    *_grid(_OWN_COLUMNS, _OWN_ELSEWHERE, **own),
                    *_scattered(16, _OWN_COLUMNS, (1e-3, 0.49)),
                ),
                own_drift,
            ),
        ),
        Claim(statement=ifca.CONTRACTION_RATE, build=_contraction),
        Claim(statement=ifca.FLOOR_RATE, build=_floor_rate),
        Claim(
            statement=ifca.COROLLARY_1_AS_PRINTED,
            build=_whole_run_as_printed(ifca.COROLLARY_1_AS_PRINTED, 0.25),
            expected=refuted,
        ),
        Claim(statement=ifca.COROLLARY_1, build=_whole_run(ifca.COROLLARY_1, run_cells)),
        Claim(
            statement=ifca.COROLLARY_1_OWN_STEP,
            build=_whole_run(ifca.COROLLARY_1_OWN_STEP, _scattered(16, _OWN_COLUMNS, (0.02, 0.49))),
        ),
        Claim(
            statement=ifca.COROLLARY_1_ROUNDS_AS_PRINTED,
            build=lemmas.rounds(ifca.COROLLARY_1_ROUNDS_AS_PRINTED, math.e),
            expected=refuted,
        ),
        Claim(statement=ifca.COROLLARY_1_ROUNDS, build=lemmas.rounds(ifca.COROLLARY_1_ROUNDS, 2.0)),
        Claim(statement=ifca.COROLLARY_1_BURN_IN, build=lemmas.burn_in),
        Claim(
            statement=ifca.CLOSENESS_INCREASES_AS_PRINTED,
            build=_monotone(ifca.CLOSENESS_INCREASES_AS_PRINTED, 0.0),
            expected=refuted,
        ),
        Claim(statement=ifca.CLOSENESS_STAYS, build=_stays),
        Claim(statement=ifca.SLOW_START, build=_slow_start, expected=refuted),
        Claim(statement=ifca.CLOSENESS_INCREASES, build=_monotone(ifca.CLOSENESS_INCREASES, 2.0)),
        Claim(statement=ifca.MINIMAX, build=_minimax),
        Claim(statement=ifca.NEAR_OPTIMAL, build=_near_optimal),
        Claim(
            statement=ifca.TWO_CLUSTERS,
            build=_whole_run(ifca.TWO_CLUSTERS, tuple(_two_clusters_cells())),
        ),
        Claim(statement=ifca.TWO_CLUSTERS_RANDOM, build=_random_start, expected=refuted),
        Claim(
            statement=ifca_neurips.THEOREM_1_AS_PRINTED,
            build=_every_step_size(ifca_neurips.THEOREM_1_AS_PRINTED, 0.25),
            expected=refuted,
        ),
        Claim(
            statement=ifca_neurips.THEOREM_1,
            build=_one_step(
                ifca_neurips.THEOREM_1,
                _with_shapes(_grid(_COLUMNS, _CALIBRATION)),
                _with_shapes((*_grid(_COLUMNS, _HELD_OUT), *floor_cells)),
                _with_shapes((*_grid(_COLUMNS, _CONFERENCE_ELSEWHERE), *near_cells)),
            ),
        ),
        Claim(
            statement=ifca_neurips.COROLLARY_1_AS_PRINTED,
            build=_whole_run_as_printed(ifca_neurips.COROLLARY_1_AS_PRINTED, 0.25),
            expected=refuted,
        ),
        Claim(
            statement=ifca_neurips.COROLLARY_1,
            build=_whole_run(ifca_neurips.COROLLARY_1, conference_cells, CONFERENCE_ACCURACY),
        ),
    ]

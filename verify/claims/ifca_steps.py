r"""The steps of IFCA's proofs that are about random data, and the exact law behind Lemma 1.

The constants that are exhibited come from these arguments, not from trials:

* (5): 1 - 2 gamma p_j + (orthogonal fluctuation) <= 1 - gamma p, and noise 2 gamma sigma |X^T eps|
  /(mn') with Lemma 2's typical size: c5 = 1, c6 = 4.
* Lemma 2, norm: Davidson & Szarek, P(|X| > sqrt(N) + sqrt(d) + t) <= exp(-t^2/2) at t^2 = max.
* (7), (8): 2(9 max(d, n') |theta_j^*-theta_1| + 4 sigma sqrt(d n'))/n' with distance <= 3/2 and
  sigma <= 1: c5 = 35.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from bounds.gaussian import pairwise_log_probability, pairwise_ratio
from bounds.ifca import linear as ifca
from bounds.statement import Statement
from trials.experiments.gaussian import OPNORM
from trials.experiments.ifca.labels import GRADIENT, LABELS
from trials.experiments.ifca.step import STEP
from trials.experiments.ifca.strangers import STRANGERS
from trials.run.cell import Params
from trials.run.store import Table
from verify.claims import ifca_lemmas as lemmas
from verify.claims.ifca_cells import C_1, COLUMNS, OWN_COLUMNS, cell, grid, values
from verify.claims.ifca_theorem import error_before
from verify.evidence import Figure, Series
from verify.procedures.base import (
    BoolArray,
    FloatArray,
    Observed,
    Presentation,
    Profile,
    Sampling,
)
from verify.procedures.probability import Probability


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


EQ_4_SAMPLES = 4.0  # N >= 4 d


def _matrix_symbols(params: Params) -> dict[str, float]:
    return {"N": float(params["N"]), "d": float(params["d"]), "C_N": EQ_4_SAMPLES}


def lemma_2_opnorm(profile: Profile) -> Probability:
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


def eq_4(profile: Profile) -> Probability:
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


def eq_5(profile: Profile) -> Probability:
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
        for c in grid(OWN_COLUMNS, rows, profile="one-large", step_rule="c/p_max")
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
        error_before,
    )


def eq_5_as_printed(profile: Profile) -> Probability:
    """Equal clusters, step sizes up to the proof's own 1/(2 c5 p), generous constants."""
    rows = ((10**6, 10**6, 64, 2, 100, 0.25), (10**7, 10**7, 1000, 16, 100, 0.4))
    cells = [
        {**c, "c1": c1, "step_rule": "c/p"}
        for c in grid(COLUMNS, rows)
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
        error_before,
    )


def eq_7(profile: Profile) -> Probability:
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


def eq_8(profile: Profile) -> Probability:
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


def pairwise_law(_profile: Profile) -> Probability:
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

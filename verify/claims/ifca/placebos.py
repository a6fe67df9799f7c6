"""What each statistical claim of the paper is compared with: a run that does nothing, or why none.

`verify.procedures.placebos` says what an entry means.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from trials.checks import FloatArray
from trials.experiments.ifca import strongly_convex as sc
from trials.experiments.ifca.data_run import SUCCESS
from trials.experiments.ifca.step import N_STEPS
from trials.run.cell import Params
from trials.run.store import Table
from verify.claims.ifca.ruling_cells import random_pull
from verify.procedures.base import BoolArray
from verify.procedures.placebos import Control, Entry, Occurs, Placebo, Source


def _start(table: Table, params: Params) -> FloatArray:
    """The distance of every model from its optimum at the start of a run, (n_trials,)."""
    return np.full(table.n_trials, (0.5 - params["alpha"]) * params["Delta"])


def _lengthen(table: Table, params: Params, *, factor: float) -> FloatArray:
    """So many times the distance at the start, (n_trials,)."""
    return _start(table, params) * factor


def _radius(table: Table, params: Params) -> FloatArray:
    """The same for strongly convex losses, at the edge of the closeness."""
    shrink = math.sqrt(params["lam"] / params["L"])
    return _start(table, params) * shrink


def _about(table: Table, value: float) -> FloatArray:
    """A number up to a thousandth, since a rate is fitted with the trials' own errors."""
    noise = np.random.default_rng(0).standard_normal(table.n_trials)
    return np.asarray(value * (1.0 + 1e-3 * noise))


def _own_fit(table: Table, cell: Params) -> FloatArray:
    """The error of one client's own gradient, (n_trials,)."""
    return _about(table, cell["sigma"] * math.sqrt(cell["d"] / cell["n"]))


def _paired_start(table: Table, cell: Params) -> FloatArray:
    """The error of the start in the paired experiments, without shared coordinates."""
    return np.full(table.n_trials, cell["closeness"] * cell["Delta"])


def _one_model(_table: Table, cell: Params) -> FloatArray:
    """The least error of one model for all clusters: half of the smallest separation."""
    return np.asarray(cell["Delta"] / 2.0)


def _without_mean(table: Table, cell: Params) -> FloatArray:
    """The strangers' pull with gradients of one sample each, (n_trials,)."""
    return np.asarray(np.sqrt(table["pull"] ** 2 + (cell["n"] - 1.0) * table["cross_squared"]))


def _pull_of_random_labels(_table: Table, cell: Params) -> FloatArray:
    """The strangers' mean pull where each cluster's clients spread evenly over the models."""
    return np.asarray(random_pull(cell))


def _mean_of_the_optima(_table: Table, cell: Params) -> FloatArray:
    """The largest distance of an optimum from the clients' mean optimum."""
    optima, _, _ = sc.models({**cell, "start": "optimum"})
    middle = sc.sizes(cell) @ optima / cell["m"]
    return np.asarray(np.linalg.norm(optima - middle, axis=1).max())


def _start_succeeds(table: Table, cell: Params) -> FloatArray:
    """Whether the nearest start is within the limit of success.

    The 0/1 vectors of two optima differ in d/2 coordinates, but for a share that is small.
    """
    scale = cell["norm"] * (math.sqrt(cell["d"] / 3) if cell["scaling"] == "coordinate" else 0.5)
    return np.asarray(table["start_dist"] * scale <= SUCCESS * cell["sigma"], dtype=np.float64)


def _strangers(table: Table, _cell: Params) -> BoolArray:
    return np.asarray(table["n_strangers"] > 0)


NO_STEP = Placebo(
    name="a step that is not made",
    columns={"err_after_max": "err_before", "err_after_smallest": "err_before"},
)
AT_REST = Placebo(
    name="a run that stays at its start",
    columns={f"err_{t}": _start for t in range(1, N_STEPS + 1)},
)
NO_SC_STEP = Placebo(
    name="a step that is not made",
    columns={
        "after": "before",
        "after_squared": lambda table, _cell: table["before"] ** 2,
    },
)
SC_AT_REST = Placebo(name="a run that stays at its start", columns={"largest": _radius})
#: An upper bound in the number of strangers is about the size of their gradients.
STRANGERS = Occurs(name="a stranger", event=_strangers)
SUMMED = Placebo(
    name="a client's gradient summed over its samples",
    columns={"t2_norm": lambda table, cell: cell["n"] * table["t2_norm"]},
)
SC_STRANGERS = Occurs(name="a stranger", event=lambda table, _cell: table["strangers"] > 0)
ONE_SAMPLE = Placebo(name="gradients of one sample", columns={"pull": _without_mean})
RANDOM_PULL = Placebo(name="labels at random", columns={"pull": _pull_of_random_labels})
RANDOM_RUN = Control(
    name="a run with labels at random", columns={"farthest_error": _mean_of_the_optima}
)
#: The mean of a step with c1 = 1.02 turns an error round and lengthens it by 1 - 2 c1.
TOO_LONG = Control(
    name="a run with steps that are too long",
    columns={
        **{f"err_{t}": partial(_lengthen, factor=1.04**t) for t in range(1, N_STEPS + 1)},
        "grew_from": _start,
    },
)
OWN_FIT = "a client's own gradient"


def _in_place(side: str, column: str, other: Source, name: str) -> Placebo:
    return Placebo(name=name, columns={column: other}, side=side)


_AT_START = "a start without a step"
_ALL = "one model for all"
_OTHER = "the other side's method"
START_LABELS = Placebo(name="labels of the starts alone", params=lambda cell: {**cell, "T": 1})
STARTS_ALONE = Placebo(
    name="the starts alone",
    columns={
        "success": _start_succeeds,
        "success_nearest": _start_succeeds,
    },
)
_LAW = "an exact law of one random matrix or vector: nothing is run"
_LENGTH = "the mean length of a drawn vector: nothing is run"

PLACEBOS: dict[str, Entry] = {
    "ifca.lemma1-law": "an exact law of one client's label: nothing is run",
    "ifca.lemma2-opnorm": _LAW,
    "ifca.eq4": _LAW,
    "ifca.eq7": _LAW,
    "ifca.eq5": (NO_STEP,),
    "ifca.thm1": (NO_STEP,),
    "ifca.thm1-own-step": (NO_STEP,),
    "ifca.thm1-wider": (NO_STEP,),
    "ifca.fast-start": (NO_STEP,),
    "ifca.neurips-thm1": (NO_STEP,),
    "ifca.cor1": (AT_REST,),
    "ifca.cor1-own-step": (AT_REST,),
    "ifca.k2-slightly-better": (AT_REST,),
    "ifca.neurips-cor1": (AT_REST,),
    "ifca.neurips-cor1-more-samples": (AT_REST,),
    "ifca.thm2": (NO_SC_STEP,),
    "ifca.thm2-sharp": (NO_SC_STEP,),
    "ifca.cor2": (SC_AT_REST,),
    "ifca.neurips-thm2": (SC_AT_REST,),
    "ifca.separation-prop-r": _LENGTH,
    "ifca.separation-code": _LENGTH,
    "ifca.eq8": (STRANGERS, SUMMED),
    "ifca.eq9": (STRANGERS, SUMMED),
    "ifca.t2": (STRANGERS,),
    "ifca.thm1-contraction": (AT_REST,),
    "ifca.thm1-floor": (
        Placebo(name=OWN_FIT, columns={"err_after_smallest": _own_fit}),
        Placebo(name="a step that is not made", columns={"err_after_smallest": "err_before"}),
    ),
    "ifca.alpha-increases": (TOO_LONG,),
    "ifca.alpha-stays": (TOO_LONG,),
    "ifca.oracle-mse": (
        Placebo(
            name="orthogonal features",
            columns={
                "squared_error": lambda table, cell: _about(
                    table, cell["sigma"] ** 2 * cell["d"] / cell["N"]
                )
            },
        ),
    ),
    "ifca.near-optimal": (
        Placebo(name=OWN_FIT, columns={"floor_smallest": _own_fit}),
        Placebo(
            name="a run that stays at its start",
            columns={"floor_smallest": lambda table, cell: _about(table, _start(table, cell)[0])},
        ),
    ),
    "ifca.eq30": (SC_STRANGERS, ONE_SAMPLE),
    "ifca.eq30-sharp": (SC_STRANGERS, ONE_SAMPLE),
    "ifca.eq32": (SC_STRANGERS, ONE_SAMPLE, RANDOM_PULL),
    "ifca.eq32-sharp": (SC_STRANGERS, ONE_SAMPLE, RANDOM_PULL),
    "ifca.thm2-floor-rates": (
        Placebo(
            name=OWN_FIT,
            columns={
                "after_squared": lambda table, cell: _about(
                    table, (cell["v"] / cell["L"]) ** 2 / cell["n"]
                )
            },
        ),
    ),
    "ifca.thm2-term2-rates": (
        Placebo(
            name="labels at random",
            columns={"stranger_share": lambda table, cell: _about(table, 1.0 - 1.0 / cell["k"])},
        ),
    ),
    "ifca.thm2-term3-rates": (
        Placebo(
            name="labels at random",
            columns={
                "cross_squared": lambda table, cell: _about(
                    table, (cell["v"] / cell["L"]) ** 2 / (2.0 * cell["m"] * cell["n"])
                )
            },
        ),
    ),
    "ifca.cor2-radius-run": (RANDOM_RUN,),
    "ifca.alg1-one-shot": (
        _in_place("IFCA", "ifca", _one_model, _ALL),
        _in_place("IFCA", "ifca", "one_shot", _OTHER),
    ),
    "ifca.alg1-one-shot-identities": (
        _in_place("IFCA", "ifca_wrong", lambda _t, c: np.asarray(1.0 - 1.0 / c["k"]), _ALL),
        _in_place("IFCA", "ifca_wrong", "one_shot_wrong", _OTHER),
    ),
    "ifca.resampling-not-needed": (
        _in_place("reused", "reused", _paired_start, _AT_START),
        _in_place("reused", "reused", "split", "a run with fresh samples"),
    ),
    "ifca.alg2-participation-runs": (
        Placebo(name=_AT_START, columns={"subset": _paired_start}),
        Placebo(
            name="half of the data",
            columns={"subset": lambda table, _cell: math.sqrt(2.0) * table["plain"]},
        ),
    ),
    "ifca.comm-saving": (
        Occurs(
            name="a late change of a label", event=lambda table, _cell: table["late_changes"] > 0
        ),
        Placebo(name=_AT_START, columns={"stable": _paired_start}),
    ),
    "ifca.comm-saving-equal-floats": (
        _in_place("OneModel", "stable_4", _one_model, _ALL),
        _in_place("OneModel", "stable_4", "plain_4", _OTHER),
    ),
    "ifca.weight-sharing": (
        _in_place("shared", "shared", _one_model, _ALL),
        _in_place("shared", "shared", "plain", _OTHER),
    ),
    "ifca.fig4-synthetic": (START_LABELS,),
    "ifca.fig4-synthetic-eight": (
        Control(name="runs that know the clusters", columns={"found": 10.0, "rounds": 1.0}),
    ),
    "ifca.restarts-two": (
        Placebo(name="one step of each start", params=lambda cell: {**cell, "T": 1}),
    ),
    "ifca.restarts-in-k": (START_LABELS,),
    "ifca.k-robust": (
        Placebo(name="a first step alone", params=lambda cell: {**cell, "T": 1}, side="extra"),
    ),
    **{
        f"ifca.fig3{panel}": (STARTS_ALONE,)
        for panel in (
            "a-text",
            "a-code",
            "a-rescaled-starts",
            "b-code",
            "b-rescaled-starts",
            "c-text",
            "c-code",
            "d-code",
            "a-rises-with-r",
            "b-rises-with-r",
            "c-rises-with-m",
            "c-rises-with-n",
            "d-rises-with-m",
            "d-rises-with-n",
            "-monotone-r",
            "-monotone-mn",
        )
    },
    "ifca.fig3-floor": (Control(name="runs that always succeed", columns={"success": 1.0}),),
    "ifca.fig3-snr-floor": (Placebo(name="the starts alone", columns={"best_dist": "start_dist"}),),
}

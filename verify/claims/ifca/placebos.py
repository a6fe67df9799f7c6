"""What each statistical claim of the paper is compared with: a run that does nothing, or why none.

`verify.procedures.placebos` says what an entry means.
"""

from __future__ import annotations

import math

import numpy as np

from trials.checks import FloatArray
from trials.experiments.ifca.step import N_STEPS
from trials.run.cell import Params
from trials.run.store import Table
from verify.procedures.placebos import Entry, Placebo


def _start(table: Table, params: Params) -> FloatArray:
    """The distance of every model from its optimum at the start of a run, (n_trials,)."""
    return np.full(table.n_trials, (0.5 - params["alpha"]) * params["Delta"])


def _radius(table: Table, params: Params) -> FloatArray:
    """The same for strongly convex losses, at the edge of the closeness."""
    shrink = math.sqrt(params["lam"] / params["L"])
    return _start(table, params) * shrink


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
}

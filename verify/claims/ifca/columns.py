"""Functions that read the columns of IFCA's experiments."""

from __future__ import annotations

import numpy as np

from trials.experiments.ifca.step import N_STEPS
from trials.run.cell import Params
from trials.run.store import Table
from verify.procedures.base import FloatArray


def error_after(table: Table, _params: Params) -> FloatArray:
    """The largest error of a cluster after one step, (n_trials,)."""
    return table["err_after_max"]


def error_before(table: Table, _params: Params) -> dict[str, FloatArray]:
    """The error before the step, which is the same for every cluster, as the symbol ``err``."""
    return {"err": table["err_before"]}


def from_trajectory(table: Table, params: Params) -> FloatArray:
    """Errors of the worst cluster along the run, (n_trials, N_STEPS + 1), the start included."""
    start = (0.5 - params["alpha"]) * params["Delta"]
    after = np.column_stack([table[f"err_{t}"] for t in range(1, N_STEPS + 1)])
    return np.column_stack([np.full(len(after), start), after])

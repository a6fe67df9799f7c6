r"""The experiment on the gradients that misidentified clients add to a step.

``ifca.strangers`` (design 110): the part :math:`T_2` of the smallest cluster's step that clients of
other clusters contribute.  Where such clients are rare, a whole step does not show it.

* ``n_strangers``: clients of other clusters that the smallest cluster receives.
* ``t2_norm``: the length of what they add to its step.
"""

from __future__ import annotations

import numpy as np

from trials.checks import FloatArray, InvalidParameter
from trials.experiments.ifca.geometry import (
    STEP_PARAMETERS,
    checked_sizes_of,
    draw_geometry,
    step_sizes_of,
)
from trials.laws.step import MAX_CANDIDATES, gradient_step
from trials.laws.wishart import label_counts
from trials.run.cell import Params
from trials.run.experiment import Experiment, register


def _simulate_strangers(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    sizes = checked_sizes_of(params)
    gamma = step_sizes_of(params, sizes)
    theta, theta_star, _ = draw_geometry(params, rng, n_trials)
    k, width = theta.shape[1:]
    counts = np.zeros((k, k), dtype=np.int64)
    moved, outside = np.empty((k, width)), np.empty((k, k))
    out = np.empty((n_trials, 2))
    for trial in range(n_trials):
        if not label_counts(
            theta[trial],
            theta_star[trial],
            sizes,
            params["sigma"],
            params["n"],
            MAX_CANDIDATES,
            rng,
            counts,
        ):
            raise InvalidParameter(f"m={params['m']}: too many misidentified clients to draw")
        counts[:, 1:] = 0  # the smallest cluster is the first
        counts[0, 0] = 0
        gradient_step(
            theta[trial],
            theta_star[trial],
            counts,
            params["sigma"],
            params["n"],
            params["m"],
            gamma,
            params["d"] - width,
            rng,
            moved,
            outside,
        )
        inside = moved[0] - theta[trial, 0]
        out[trial] = counts[:, 0].sum(), np.sqrt(inside @ inside + outside[0] @ outside[0])
    return out


STRANGERS = register(
    Experiment(
        name="ifca.strangers",
        design=110,
        columns=("n_strangers", "t2_norm"),
        simulate=_simulate_strangers,
        parameters=STEP_PARAMETERS,
    )
)

"""The experiment on one step of IFCA on drawn data.

``ifca.data-step`` (design 120) has the parameters and columns of ``ifca.step``
(`trials.experiments.ifca.step`), and the same law.  It costs O(m n d k) where the exact law's cost
depends on neither m nor n.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trials.checks import FloatArray
from trials.experiments.ifca.drawn_clients import clients_fit, draw_clients
from trials.experiments.ifca.geometry import STEP_PARAMETERS, draw_geometry, sizes_of, step_sizes_of
from trials.experiments.ifca.step import STEP
from trials.ifca.linear import run_resampled_ifca
from trials.models.run_status import RunStatus
from trials.run.cell import Params
from trials.run.experiment import add_experiment


def _simulate_data_step(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    sizes, d = sizes_of(params), params["d"]
    step_sizes = step_sizes_of(params, sizes)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    theta, theta_star, _ = draw_geometry(params, rng, n_trials)
    beyond = [
        (0, 0),
        (0, 0),
        (0, d - theta.shape[-1]),
    ]  # rotated into few coordinates, with features in d
    theta, theta_star = np.pad(theta, beyond), np.pad(theta_star, beyond)
    out = np.empty((n_trials, len(STEP.columns)))
    for trial in range(n_trials):

        def draw(_iteration: int, truth: FloatArray = theta_star[trial]) -> Any:
            batches = [
                draw_clients(truth, sizes, params["n"], params["sigma"], rng) for _ in range(2)
            ]
            return batches[0], batches[1]

        result = run_resampled_ifca(
            draw=draw,
            starts=theta[trial : trial + 1],
            step_sizes=step_sizes[None],
            n_iterations=1,
            divergence_bound=1e100,  # the exact law knows none
        )
        before = np.linalg.norm(theta[trial] - theta_star[trial], axis=1)
        after = np.linalg.norm(result.models[0] - theta_star[trial], axis=1)
        if result.status[0] != RunStatus.COMPLETED:
            after[:] = np.inf
        wrong = result.labels[0] != owner
        out[trial] = (
            before.max(),
            after.max(),
            (after - 0.5 * before).max(),
            after[0],
            after[-1],
            wrong.sum(),
            (wrong & (result.labels[0] == 0)).sum(),
        )
    return out


DATA_STEP = add_experiment(
    name="ifca.data-step",
    design=120,
    columns=STEP.columns,
    simulate=_simulate_data_step,
    parameters=STEP_PARAMETERS.extended({}, clients_fit),
    block_size=16,
    cost=lambda cell: 2e-8 * cell["m"] * cell["n"] * cell["d"],  # drawing the features
)

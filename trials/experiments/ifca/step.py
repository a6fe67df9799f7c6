r"""Experiments on the exact law of IFCA's gradient steps, with fresh samples in every step.

The error of a cluster is the distance of its model from its true centre.  Clusters are ordered by
size: the first is a smallest one, the last a largest one.

``ifca.step`` (design 101): one step.

* ``err_before``: the error before the step, the same for every cluster.
* ``err_after_max``: the largest error after the step.
* ``excess_half``: the largest, over the clusters, of the error after minus half the error before.
* ``err_after_smallest``, ``err_after_largest``: the errors of the smallest and largest cluster.
* ``n_misidentified``: clients whose label is wrong.
* ``n_misidentified_into_smallest``: those of them that the smallest cluster receives.

``ifca.trajectory`` (design 102): 24 steps.

* ``err_1`` to ``err_24``: the largest error after each step.
* ``misidentified_1`` to ``misidentified_24``: clients whose label is wrong in each step.
* ``grew_from``: the largest error of any single cluster that a step made larger, 0 if no step did.
* ``floor_smallest``: the smallest cluster's error after the last step.
"""

from __future__ import annotations

import numpy as np

from trials.checks import FloatArray
from trials.experiments.ifca.geometry import (
    STEP_PARAMETERS,
    checked_sizes_of,
    draw_geometry,
    step_sizes_of,
)
from trials.laws.step import simulate_trajectories
from trials.parameters import unchecked
from trials.run.cell import Params
from trials.run.experiment import Experiment, register

N_STEPS = 24
_trajectories = unchecked(simulate_trajectories)  # of cells that went through their table


def _run(
    params: Params, rng: np.random.Generator, n_trials: int, n_steps: int
) -> tuple[FloatArray, FloatArray]:
    sizes = checked_sizes_of(params)
    theta, theta_star, n_fixed = draw_geometry(params, rng, n_trials)
    return _trajectories(
        theta=theta,
        theta_star=theta_star,
        d=params["d"],
        cluster_sizes=sizes,
        sigma=params["sigma"],
        n_samples=params["n"],
        gamma=step_sizes_of(params, sizes),
        n_steps=n_steps,
        rng=rng,
        n_fixed=n_fixed,
    )


def _simulate_step(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    errors, moved = _run(params, rng, n_trials, 1)
    before, after = errors[:, 0], errors[:, 1]
    return np.column_stack(
        [
            before.max(axis=1),
            after.max(axis=1),
            (after - 0.5 * before).max(axis=1),
            after[:, 0],
            after[:, -1],
            moved[:, 0].sum(axis=1),
            moved[:, 0, 0],
        ]
    )


STEP = register(
    Experiment(
        name="ifca.step",
        design=101,
        columns=(
            "err_before",
            "err_after_max",
            "excess_half",
            "err_after_smallest",
            "err_after_largest",
            "n_misidentified",
            "n_misidentified_into_smallest",
        ),
        simulate=_simulate_step,
        parameters=STEP_PARAMETERS,
        cost=lambda cell: 1e-5 + 6e-7 * cell["k"] ** 2,
    )
)


def _simulate_trajectory(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    errors, moved = _run(params, rng, n_trials, N_STEPS)
    before, after = errors[:, :-1], errors[:, 1:]
    grew_from = np.where(after > before, before, 0.0).max(axis=(1, 2))
    return np.column_stack([after.max(axis=2), moved.sum(axis=2), grew_from, after[:, -1, 0]])


TRAJECTORY = register(
    Experiment(
        name="ifca.trajectory",
        design=102,
        columns=(
            *(f"err_{t}" for t in range(1, N_STEPS + 1)),
            *(f"misidentified_{t}" for t in range(1, N_STEPS + 1)),
            "grew_from",
            "floor_smallest",
        ),
        simulate=_simulate_trajectory,
        parameters=STEP_PARAMETERS,
        cost=lambda cell: N_STEPS * (1e-6 + 5e-7 * cell["k"] ** 2),
    )
)

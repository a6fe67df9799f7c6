r"""The experiment on whole runs with every step size constant of a grid.

A statement of the form "there is a step size constant c1 such that" is refuted by a trial in which
no c1 brings all clusters near enough.  One trial starts one run from the same models for each c1 of
a grid, with fresh samples in every run and in every step.

``ifca.run-step-sizes`` (design 111).

* ``least_1`` to ``least_24``: the largest error of a cluster after each step, the smallest of these
  over the grid of c1.
* ``best_1`` to ``best_24``: the c1 of the grid that reaches it.

The grid holds powers of the square root of two from 1/512 to 8, and :math:`1/(1+r)` with
:math:`r=p_{\max}/p`.  The mean step multiplies the error of cluster j by :math:`|1-2c_1p_j/p|`.
The largest of these factors is smallest at :math:`c_1=1/(1+r)`, where it is :math:`(r-1)/(r+1)`.
A run that leaves the range of floats counts as an infinite error.
"""

from __future__ import annotations

import numpy as np

from trials.checks import FloatArray
from trials.experiments.ifca.geometry import STEP_PARAMETERS, checked_sizes_of, draw_geometry
from trials.experiments.ifca.step import N_STEPS
from trials.laws.step import simulate_trajectories
from trials.parameters import unchecked
from trials.run.cell import Params
from trials.run.experiment import Experiment, register

_GRID = 2.0 ** np.arange(-9.0, 3.5, 0.5)
_trajectories = unchecked(simulate_trajectories)  # of cells that went through their table


def step_constants(ratio: float) -> FloatArray:
    """The grid (c,) of c1 for sizes that differ by a factor ``ratio``, ascending.

    Examples
    --------
    >>> [round(float(c), 3) for c in step_constants(3.0)[-9:]]
    [0.5, 0.707, 1.0, 1.414, 2.0, 2.828, 4.0, 5.657, 8.0]
    """
    return np.unique(np.append(_GRID, 1.0 / (1.0 + ratio)))


def _simulate_runs(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    sizes = checked_sizes_of(params)
    smallest = sizes.min() / sizes.sum()
    theta, theta_star, n_fixed = draw_geometry(params, rng, n_trials)
    constants = step_constants(sizes.max() / sizes.min())
    least = np.full((n_trials, N_STEPS), np.inf)
    best = np.full((n_trials, N_STEPS), constants[0])
    for c in constants:
        errors, _ = _trajectories(
            theta=theta,
            theta_star=theta_star,
            d=params["d"],
            cluster_sizes=sizes,
            sigma=params["sigma"],
            n_samples=params["n"],
            gamma=np.full(len(sizes), c / smallest),
            n_steps=N_STEPS,
            rng=rng,
            n_fixed=n_fixed,
        )
        largest = errors[:, 1:].max(axis=2)
        nearer = largest < least  # NaN, a run that left the range of floats, is not nearer
        least[nearer] = largest[nearer]
        best[nearer] = c
    return np.column_stack([least, best])


RUN_STEP_SIZES = register(
    Experiment(
        name="ifca.run-step-sizes",
        design=111,
        columns=(
            *(f"least_{t}" for t in range(1, N_STEPS + 1)),
            *(f"best_{t}" for t in range(1, N_STEPS + 1)),
        ),
        simulate=_simulate_runs,
        parameters=STEP_PARAMETERS.without("step_rule", "c1"),
    )
)

r"""The experiments on all step sizes at once, of one step and of whole runs.

Given labels and data, the step is linear in the step size, :math:`\theta_j^+-\theta_j^*=u_j-c\,g_j`
for :math:`\gamma=c/p`.  So one trial decides for every :math:`c>0` whether a bound
:math:`\|u_j-cg_j\|\le b` holds: it holds in an interval of c for each cluster.  No step size works
for all clusters where these intervals do not meet.

``ifca.step-sizes`` (design 108).  The bound on a cluster's error is ``factor`` times its error
before the step plus ``slack``.

* ``none``: 1 where no c meets the bound of every cluster.
* ``smallest_low``, ``smallest_high``: the interval of c of the smallest cluster.
* ``largest_low``, ``largest_high``: the interval of c of the largest cluster.

An empty interval has the lower end 1e9 and the upper end 0.  A model that no step moves, at its
optimum and without noise, has all of them: from 0 to infinity.

A statement of the form "there is a step size constant c1 such that" is refuted by a trial in which
no c1 brings all clusters near enough.  A trial of whole runs starts one from the same models for
each c1 of a grid, with fresh samples in every run and in every step.

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
from trials.experiments.ifca.geometry import STEP_PARAMETERS, draw_geometry, read_sizes
from trials.experiments.ifca.step import N_STEPS, run_steps
from trials.parameters import Real
from trials.run.cell import Params
from trials.run.experiment import add_experiment, on_faster_stream

_NO_STEP_SIZE = 1e9
_GRID = 2.0 ** np.arange(-9.0, 3.5, 0.5)

#: Those of a step without the step size: every step size is tried.
ANY_STEP_SIZE = STEP_PARAMETERS.without("step_rule", "c1")
PARAMETERS = ANY_STEP_SIZE.extended(
    {
        "factor": Real(0.0, 1.0, default=0.5, meaning="share of the error that may be left"),
        "slack": Real(0.0, default=0.0, meaning="error that may be left whatever it was before"),
    }
)


def _simulate_step_sizes(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    sizes = read_sizes(params)
    smallest = sizes.min() / sizes.sum()
    start = draw_geometry(params, rng, n_trials)
    state = rng.bit_generator.state
    squared = []
    for c in (1.0, 2.0):  # the same labels and data twice: the stream is rewound in between
        rng.bit_generator.state = state
        errors, _ = run_steps(params, start, np.full(len(sizes), c / smallest), 1, rng)
        squared.append(errors[:, 1] ** 2)
        before = errors[:, 0]
    # |u - c g|^2 = |u|^2 - 2 c <u, g> + c^2 |g|^2, known at c = 0, 1, 2.
    g_sq = (squared[1] - 2.0 * squared[0] + before**2) / 2.0
    u_g = (before**2 + g_sq - squared[0]) / 2.0
    reach = params["factor"] * before + params["slack"]
    inside = u_g**2 - g_sq * (before**2 - reach**2)
    possible = inside >= 0.0
    root = np.sqrt(np.maximum(inside, 0.0))
    moves = g_sq > 0.0
    least, most = (
        np.divide(end, g_sq, out=np.full(g_sq.shape, still), where=moves)
        for end, still in ((u_g - root, 0.0), (u_g + root, np.inf))
    )
    low = np.where(possible, np.maximum(least, 0.0), _NO_STEP_SIZE)
    high = np.where(possible, np.maximum(most, 0.0), 0.0)
    return np.column_stack(
        [low.max(axis=1) > high.min(axis=1), low[:, 0], high[:, 0], low[:, -1], high[:, -1]]
    )


STEP_SIZES = add_experiment(
    name="ifca.step-sizes",
    design=108,
    columns=("none", "smallest_low", "smallest_high", "largest_low", "largest_high"),
    simulate=on_faster_stream(_simulate_step_sizes),
    parameters=PARAMETERS,
)


# -- whole runs -----------------------------------------------------------------------------------


def step_constants(ratio: float) -> FloatArray:
    """The grid (c,) of c1 for sizes that differ by a factor ``ratio``, ascending.

    Examples
    --------
    >>> [round(float(c), 3) for c in step_constants(3.0)[-9:]]
    [0.5, 0.707, 1.0, 1.414, 2.0, 2.828, 4.0, 5.657, 8.0]
    """
    return np.unique(np.append(_GRID, 1.0 / (1.0 + ratio)))


def _simulate_runs(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    sizes = read_sizes(params)
    smallest = sizes.min() / sizes.sum()
    start = draw_geometry(params, rng, n_trials)
    constants = step_constants(sizes.max() / sizes.min())
    least = np.full((n_trials, N_STEPS), np.inf)
    best = np.full((n_trials, N_STEPS), constants[0])
    for c in constants:
        errors, _ = run_steps(params, start, np.full(len(sizes), c / smallest), N_STEPS, rng)
        largest = errors[:, 1:].max(axis=2)
        nearer = largest < least  # NaN, a run that left the range of floats, is not nearer
        least[nearer] = largest[nearer]
        best[nearer] = c
    return np.column_stack([least, best])


RUN_STEP_SIZES = add_experiment(
    name="ifca.run-step-sizes",
    design=111,
    columns=(
        *(f"least_{t}" for t in range(1, N_STEPS + 1)),
        *(f"best_{t}" for t in range(1, N_STEPS + 1)),
    ),
    simulate=on_faster_stream(_simulate_runs),
    parameters=ANY_STEP_SIZE,
)

r"""The experiment on all step sizes at once.

Given labels and data, the step is linear in the step size, :math:`\theta_j^+-\theta_j^*=u_j-c\,g_j`
for :math:`\gamma=c/p`.  So one trial decides for every :math:`c>0` whether a bound
:math:`\|u_j-cg_j\|\le b` holds: it holds in an interval of c for each cluster.  No step size works
for all clusters where these intervals do not meet.

``ifca.step-sizes`` (design 108).  The bound on a cluster's error is ``factor`` times its error
before the step plus ``slack``.

* ``none``: 1 where no c meets the bound of every cluster.
* ``smallest_low``, ``smallest_high``: the interval of c of the smallest cluster.
* ``largest_low``, ``largest_high``: the interval of c of the largest cluster.

An empty interval has the lower end 1e9 and the upper end 0.
"""

from __future__ import annotations

import numpy as np

from trials.checks import FloatArray
from trials.experiments.ifca.geometry import STEP_PARAMETERS, checked_sizes_of, draw_geometry
from trials.laws.step import simulate_trajectories
from trials.parameters import Real
from trials.run.cell import Params
from trials.run.experiment import Experiment, register

_NO_STEP_SIZE = 1e9

#: Those of a step without the step size: every step size is tried.
PARAMETERS = STEP_PARAMETERS.without("step_rule", "c1").extended(
    {
        "factor": Real(0.0, 1.0, default=0.5, meaning="share of the error that may be left"),
        "slack": Real(0.0, default=0.0, meaning="error that may be left whatever it was before"),
    }
)


def _simulate_step_sizes(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    sizes = checked_sizes_of(params)
    smallest = sizes.min() / sizes.sum()
    theta, theta_star, n_fixed = draw_geometry(params, rng, n_trials)
    state = rng.bit_generator.state
    squared = []
    for c in (1.0, 2.0):  # the same labels and data twice: the stream is rewound in between
        rng.bit_generator.state = state
        errors, _ = simulate_trajectories(
            theta=theta,
            theta_star=theta_star,
            d=params["d"],
            cluster_sizes=sizes,
            sigma=params["sigma"],
            n_samples=params["n"],
            gamma=np.full(len(sizes), c / smallest),
            n_steps=1,
            rng=rng,
            n_fixed=n_fixed,
        )
        squared.append(errors[:, 1] ** 2)
        before = errors[:, 0]
    # |u - c g|^2 = |u|^2 - 2 c <u, g> + c^2 |g|^2, known at c = 0, 1, 2.
    g_sq = (squared[1] - 2.0 * squared[0] + before**2) / 2.0
    u_g = (before**2 + g_sq - squared[0]) / 2.0
    reach = params["factor"] * before + params["slack"]
    inside = u_g**2 - g_sq * (before**2 - reach**2)
    possible = inside >= 0.0
    root = np.sqrt(np.maximum(inside, 0.0))
    low = np.where(possible, np.maximum((u_g - root) / g_sq, 0.0), _NO_STEP_SIZE)
    high = np.where(possible, np.maximum((u_g + root) / g_sq, 0.0), 0.0)
    return np.column_stack(
        [low.max(axis=1) > high.min(axis=1), low[:, 0], high[:, 0], low[:, -1], high[:, -1]]
    )


STEP_SIZES = register(
    Experiment(
        name="ifca.step-sizes",
        design=108,
        columns=("none", "smallest_low", "smallest_high", "largest_low", "largest_high"),
        simulate=_simulate_step_sizes,
        parameters=PARAMETERS,
    )
)

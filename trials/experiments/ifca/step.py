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
    draw_geometry,
    read_sizes,
    step_sizes_of,
)
from trials.laws.pairwise import log_misidentification_probability
from trials.laws.step import MAX_CANDIDATES, pulls_of_strangers, simulate_trajectories
from trials.parameters import unchecked
from trials.run.cell import Params
from trials.run.experiment import add_experiment, on_faster_stream

N_STEPS = 24
_trajectories = unchecked(simulate_trajectories)  # of cells that went through their table


def client_draws(params: Params) -> float:
    """About how many clients one step draws one by one: with k > 2, those that may be wrong.

    They are all clients where the largest cluster's error grows in every step, because gamma p > 1
    for it.  Else the largest of three starts with these ``alpha`` and ``Delta`` counts: the models'
    errors point in one direction, are orthogonal or opposite.
    """
    k, m = params["k"], params["m"]
    if k == 2:
        return 0.0
    sizes = read_sizes(params)
    if np.max(step_sizes_of(params, sizes) * sizes / m) > 1.0:
        return float(m)
    # The models lie on the segment between two optima at distance Delta, so that all inner products
    # are known without drawing.
    own, other = ((0.5 + s * params["alpha"]) * params["Delta"] for s in (-1.0, 1.0))
    inner = own * other * np.array([1.0, 0.0, -1.0])
    log_p = log_misidentification_probability(
        own**2, inner, other**2, params["sigma"] ** 2, params["n"], ties=1.0
    )
    return float(m * min(1.0, k * np.exp(np.max(log_p))))


def seconds(params: Params, n_steps: int) -> float:
    """About how many CPU seconds a trial of so many steps takes.

    A step takes 0.5 microseconds for each pair of models, and 0.25 for each drawn client and model.
    """
    k = params["k"]
    return float(1e-5 + n_steps * (1e-6 + 5e-7 * k**2 + 2.5e-7 * k * client_draws(params)))


def run_steps(
    params: Params,
    start: tuple[FloatArray, FloatArray, int],
    gamma: FloatArray,
    n_steps: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Errors and wrong labels along runs, as `simulate_trajectories` returns them.

    ``start`` is what `draw_geometry` draws, ``gamma`` (k,) the clusters' step sizes.
    """
    theta, theta_star, n_fixed = start
    return _trajectories(
        theta=theta,
        theta_star=theta_star,
        d=params["d"],
        cluster_sizes=read_sizes(params),
        sigma=params["sigma"],
        n_samples=params["n"],
        gamma=gamma,
        n_steps=n_steps,
        rng=rng,
        n_fixed=n_fixed,
    )


def _run(
    params: Params, rng: np.random.Generator, n_trials: int, n_steps: int
) -> tuple[FloatArray, FloatArray]:
    gamma = step_sizes_of(params, read_sizes(params))
    return run_steps(params, draw_geometry(params, rng, n_trials), gamma, n_steps, rng)


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


STEP = add_experiment(
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
    simulate=on_faster_stream(_simulate_step),
    parameters=STEP_PARAMETERS,
    cost=lambda params: seconds(params, 1),
)


def _simulate_trajectory(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    errors, moved = _run(params, rng, n_trials, N_STEPS)
    before, after = errors[:, :-1], errors[:, 1:]
    grew_from = np.where(after > before, before, 0.0).max(axis=(1, 2))
    return np.column_stack([after.max(axis=2), moved.sum(axis=2), grew_from, after[:, -1, 0]])


TRAJECTORY = add_experiment(
    name="ifca.trajectory",
    design=102,
    columns=(
        *(f"err_{t}" for t in range(1, N_STEPS + 1)),
        *(f"misidentified_{t}" for t in range(1, N_STEPS + 1)),
        "grew_from",
        "floor_smallest",
    ),
    simulate=on_faster_stream(_simulate_trajectory),
    parameters=STEP_PARAMETERS,
    cost=lambda params: seconds(params, N_STEPS),
)


# -- what misidentified clients add to a step ------------------------------------------------------


def _simulate_strangers(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    sizes = read_sizes(params)  # the smallest cluster is the first
    theta, theta_star, _ = draw_geometry(params, rng, n_trials)
    out = np.empty((n_trials, 2))
    if pulls_of_strangers(
        theta, theta_star, params["d"], sizes, params["sigma"], params["n"],
        step_sizes_of(params, sizes), MAX_CANDIDATES, rng, out,
    ):  # fmt: skip
        raise InvalidParameter(f"m={params['m']}: too many misidentified clients to draw")
    return out


STRANGERS = add_experiment(
    name="ifca.strangers",
    design=110,
    columns=("n_strangers", "t2_norm"),
    simulate=on_faster_stream(_simulate_strangers),
    parameters=STEP_PARAMETERS,
    cost=lambda params: seconds(params, 1),
)

r"""Experiments on the exact law of IFCA's gradient steps.

*One step* (design 101) and *a trajectory* of resampled steps (102).

*All step sizes at once* (design 108).  Given labels and data, the step is linear in the step size,
:math:`\theta_j^+-\theta_j^*=u_j-c\,g_j` for :math:`\gamma=c/p`, so that one trial decides for every
:math:`c>0` whether a bound :math:`\|u_j-cg_j\|\le b` holds: an interval for each cluster, and no
step size serves all clusters where these intervals do not meet.

*Strangers only* (design 110): the part :math:`T_2` of the smallest cluster's step that clients of
other clusters contribute, which a whole step hides whenever strangers are rare.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trials.checks import (
    FloatArray,
    InvalidParameter,
    real,
)
from trials.experiments.ifca.geometry import (
    check_step,
    draw_geometry,
    sizes_of,
    step_sizes_of,
)
from trials.laws.step import MAX_CANDIDATES, gradient_step, simulate_trajectories
from trials.laws.wishart import label_counts
from trials.run.cell import Params
from trials.run.experiment import Experiment, register

N_STEPS = 24
_NO_STEP_SIZE = 1e9


def _run(
    params: Params, rng: np.random.Generator, n_trials: int, n_steps: int
) -> tuple[FloatArray, FloatArray]:
    sizes = sizes_of(params)
    theta, theta_star, n_fixed = draw_geometry(params, rng, n_trials)
    return simulate_trajectories(
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
        # err_before is the same for every cluster; excess_half is the largest
        # |theta_j^+ - theta*_j| - |theta_j - theta*_j| / 2
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
        check=check_step,
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
        # err_t: largest error of a cluster after step t; misidentified_t: clients misassigned in
        # step t; grew_from: the largest error of any single cluster that a step made larger, 0 if
        # no step did; floor_smallest: last error of the smallest cluster
        columns=(
            *(f"err_{t}" for t in range(1, N_STEPS + 1)),
            *(f"misidentified_{t}" for t in range(1, N_STEPS + 1)),
            "grew_from",
            "floor_smallest",
        ),
        simulate=_simulate_trajectory,
        check=check_step,
    )
)


def _check_step_sizes(params: Params) -> dict[str, Any]:
    rest = {name: value for name, value in params.items() if name not in ("factor", "slack")}
    if set(rest) & {"step_rule", "c1"}:
        raise InvalidParameter("step_rule and c1 must be left out: every step size is tried")
    full = STEP.check(rest)
    return {name: value for name, value in full.items() if name not in ("step_rule", "c1")} | {
        "factor": real("factor", params.get("factor", 0.5), 0.0, 1.0),
        "slack": real("slack", params.get("slack", 0.0), 0.0),
    }


def _simulate_step_sizes(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    sizes = sizes_of(params)
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
        [
            low.max(axis=1) > high.min(axis=1),
            low[:, 0],
            high[:, 0],
            low[:, -1],
            high[:, -1],
        ]
    )


STEP_SIZES = register(
    Experiment(
        name="ifca.step-sizes",
        design=108,
        # none: 1 where no c in gamma = c/p gives |theta_j^+ - theta*_j| <= factor |theta_j -
        # theta*_j| + slack for all j; then the interval of c of the smallest and largest cluster
        columns=("none", "smallest_low", "smallest_high", "largest_low", "largest_high"),
        simulate=_simulate_step_sizes,
        check=_check_step_sizes,
    )
)


def _simulate_strangers(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    sizes = sizes_of(params)
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
        # clients of other clusters that the smallest cluster receives, and |T_2|, what they add to
        # its step
        columns=("n_strangers", "t2_norm"),
        simulate=_simulate_strangers,
        check=STEP.check,
    )
)

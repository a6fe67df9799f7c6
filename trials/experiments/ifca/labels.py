"""Experiments on one client of linear IFCA: its label (103) and its gradient (107)."""

from __future__ import annotations

from typing import Any

import numpy as np

from trials.checks import (
    FloatArray,
    check_drawn,
    integer_at_most,
    known_names,
)
from trials.experiments.ifca.geometry import (
    MAX_SAMPLES,
    check_geometry,
    draw_geometry,
)
from trials.laws.pairwise import log_tail_probability, margin
from trials.laws.step import gradient_norms
from trials.models import mixture as mx
from trials.run.cell import Params
from trials.run.experiment import Experiment, register

_CHUNK = 2_000_000  # doubles of client data held at once


def _check_labels(params: Params) -> dict[str, Any]:
    full = check_geometry(params)
    known_names(params, {"n"} | set(full))
    return full | {"n": integer_at_most("n", params.get("n", 10), 1, MAX_SAMPLES)}


def _check_labels_data(params: Params) -> dict[str, Any]:
    full = _check_labels(params)
    check_drawn("features n d", full["n"] * full["d"])
    return full


def _simulate_labels(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    """Real data of one client of cluster 0 a trial; nothing is projected or compressed."""
    n, d, sigma = params["n"], params["d"], params["sigma"]
    theta, theta_star, _ = draw_geometry(params, rng, n_trials, victim=0)
    width = theta.shape[-1]
    rivals = mx.nearest_other(theta_star)[:, 0]
    out = np.empty((n_trials, 3))
    chunk = max(1, _CHUNK // (n * d))
    for first in range(0, n_trials, chunk):
        rows = slice(first, min(first + chunk, n_trials))
        models, truth = theta[rows], theta_star[rows, 0]
        size = len(models)
        x = rng.standard_normal((size, n, d))
        y = np.einsum("tnd,td->tn", x[..., :width], truth)
        y += sigma * rng.standard_normal((size, n))
        predictions = x[..., :width] @ models.swapaxes(1, 2)
        losses = np.mean((y[..., None] - predictions) ** 2, axis=1)
        rival_losses = np.take_along_axis(losses, rivals[rows, None], axis=1)[:, 0]
        out[rows, 0] = losses.argmin(axis=1) != 0
        out[rows, 1] = rival_losses < losses[:, 0]
    margins = [
        margin(theta[t, 0], theta[t, rivals[t]], theta_star[t, 0], sigma)[0]
        for t in range(n_trials)
    ]
    out[:, 2] = np.exp(log_tail_probability(margins, n))
    return out


LABELS = register(
    Experiment(
        name="ifca.labels.data",
        design=103,
        # of one client of cluster 0 (the orthogonal start's victim): label is not 0; the nearest
        # other cluster's model is preferred to model 0; the exact probability of the latter
        columns=("misidentified", "pairwise", "probability"),
        simulate=_simulate_labels,
        check=_check_labels_data,
    )
)


def _simulate_gradient(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    theta, theta_star, _ = draw_geometry(params, rng, n_trials, victim=0)
    wrong = mx.nearest_other(theta_star)[:, 0]
    centre = np.take_along_axis(theta_star, wrong[:, None, None], axis=1)[:, 0]
    gap = np.linalg.norm(theta[:, 0] - centre, axis=1)
    norms = gradient_norms(gap, params["d"], params["n"], params["sigma"], rng)
    return np.column_stack([norms, norms / max(1.0, params["d"] / params["n"]), gap])


GRADIENT = register(
    Experiment(
        name="ifca.gradient-norm",
        design=107,
        # of a client whose true centre is the nearest other one, at model 0: |grad F_i|, the same
        # over max(1, d/n) (the constant of (7)), and the distance of the model from that centre
        columns=("gradient_norm", "ratio_7", "distance"),
        simulate=_simulate_gradient,
        check=_check_labels,
    )
)

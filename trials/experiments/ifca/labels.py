"""Experiments on one client of linear IFCA.

``ifca.labels.data`` (design 103): drawn data of one client of cluster 0, which the orthogonal start
works against.

* ``misidentified``: 1 where the client's label is not 0.
* ``pairwise``: 1 where the client prefers the model of the nearest other cluster to model 0.
* ``probability``: the exact probability of the latter.

``ifca.gradient-norm`` (design 107): a client whose true centre is the nearest other one, at
model 0.

* ``gradient_norm``: the length of the gradient of its loss.
* ``ratio_7``: the same over max(1, d/n), the constant of (7) of the proof.
* ``distance``: the distance of model 0 from that centre.
"""

from __future__ import annotations

import numpy as np

from trials.checks import FloatArray, IntArray
from trials.experiments.ifca.geometry import GEOMETRY, MAX_SAMPLES, draw_geometry
from trials.kernel import kernel
from trials.laws.pairwise import log_tail_probability, margin
from trials.laws.step import gradient_norms
from trials.models import mixture as mx
from trials.parameters import Integer, fits_in_memory
from trials.run.cell import Params
from trials.run.experiment import add_experiment

_CHUNK = 2_000_000  # doubles of client data held at once


CLIENT = GEOMETRY.extended(
    {"n": Integer(1, MAX_SAMPLES, default=10, meaning="samples of the client")}
)


def _simulate_labels(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    """Draw all data (n, d) of one client of cluster 0 in each trial."""
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
    margins = np.empty(n_trials)
    _fill_margins(np.array(theta), np.array(rivals), np.array(theta_star), sigma, margins)
    distinct, place = np.unique(margins, return_inverse=True)  # few, where starts are alike
    out[:, 2] = np.exp(log_tail_probability(distinct, n))[place]
    return out


@kernel
def _fill_margins(
    theta: FloatArray, rivals: IntArray, theta_star: FloatArray, sigma: float, out: FloatArray
) -> None:
    """The margin between model 0 and the rival's model for a client of cluster 0, (n_trials,)."""
    for t in range(out.size):
        out[t] = margin(theta[t, 0], theta[t, rivals[t]], theta_star[t, 0], sigma)[0]


LABELS = add_experiment(
    name="ifca.labels.data",
    design=103,
    columns=("misidentified", "pairwise", "probability"),
    simulate=_simulate_labels,
    parameters=CLIENT.extended({}, fits_in_memory("features", "n", "d")),
    block_size=4096,  # a trial takes a few microseconds
)


def _simulate_gradient(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    theta, theta_star, _ = draw_geometry(params, rng, n_trials, victim=0)
    wrong = mx.nearest_other(theta_star)[:, 0]
    centre = np.take_along_axis(theta_star, wrong[:, None, None], axis=1)[:, 0]
    gap = np.linalg.norm(theta[:, 0] - centre, axis=1)
    norms = gradient_norms(gap, params["d"], params["n"], params["sigma"], rng)
    return np.column_stack([norms, norms / max(1.0, params["d"] / params["n"]), gap])


GRADIENT = add_experiment(
    name="ifca.gradient-norm",
    design=107,
    columns=("gradient_norm", "ratio_7", "distance"),
    simulate=_simulate_gradient,
    parameters=CLIENT,
)

r"""Experiment on whole runs of Phase 1 on data.

``sxy.descent`` (design 304): models at distance Delta, features with identity covariance, a fresh
sample in every round, anchors of random clusters.  Distances are in units of Delta.

* ``worst``: the largest distance of an anchor from its cluster's model at the end.
* ``centres``: the distance (6) of the groups' centres from the models, and 10 where the server
  does not find k groups.
* ``far``: the largest norm of an estimate over 3R.
* ``err_0`` to ``err_6``: the distance of the first anchor before the rounds and after each.
"""

from __future__ import annotations

import math

import numpy as np

from trials.checks import MAX_DRAWN, FloatArray, IntArray, check_drawn
from trials.mixed_regression.anchor_groups import group_anchors
from trials.mixed_regression.batches import MomentBatch
from trials.mixed_regression.moment_descent import DescentOptions, run_moment_descent
from trials.models.matching import bottleneck_distance
from trials.parameters import Integer, Options, Parameters, Real
from trials.run.cell import Params
from trials.run.experiment import add_experiment, each_trial, on_faster_stream

N_ROUNDS = 6
HALF_STEPS = 8
NOT_GROUPED = 10.0


def rows_fit(cell: Params) -> None:
    """The features of a round fit into memory."""
    check_drawn("features m d + n_H l d", (cell["m"] + cell["anchors"] * cell["l"]) * cell["d"])


def models(params: Params) -> FloatArray:
    """k models on a line through the origin or on axes, the closest two one apart, (k, d)."""
    k, d = params["k"], params["d"]
    if d >= k:
        return np.asarray(np.eye(k, d) / math.sqrt(2.0))
    return np.outer(np.arange(k) - (k - 1) / 2, np.eye(1, d)[0])


def _run(params: Params, rng: np.random.Generator) -> list[float]:
    k, d, m, n_pairs = params["k"], params["d"], params["m"], params["l"]
    n_anchors, unit, sigma = params["anchors"], params["unit"], params["sigma"]
    theta_star = models(params)
    radius = float(np.linalg.norm(theta_star, axis=1).max())
    own = np.asarray(rng.integers(0, k, n_anchors), dtype=np.int64)
    start: FloatArray = np.zeros(d)
    if params["start"] == "model":
        start = theta_star[-1].copy()
    elif params["start"] == "edge":
        towards = rng.standard_normal(d)
        start = np.asarray(towards * (radius / np.linalg.norm(towards)))

    def rows(labels: IntArray, n_rows: int) -> tuple[FloatArray, FloatArray]:
        x = rng.standard_normal((labels.size, n_rows, d))
        of_all = (x.reshape(-1, d) @ theta_star.T).reshape(labels.size, n_rows, k)
        y = of_all[np.arange(labels.size), :, labels]
        return x, unit * (y + sigma * rng.standard_normal(y.shape))

    def draw(_round: int) -> MomentBatch:
        x, y = rows(np.asarray(rng.integers(0, k, m), dtype=np.int64), 2)
        features, responses = rows(own, 2 * n_pairs)
        return MomentBatch(
            first=x[:, 0], second=x[:, 1], first_y=y[:, 0], second_y=y[:, 1],
            anchor_features=features, anchor_responses=responses,
        )  # fmt: skip

    options = DescentOptions(
        alpha=1.0, beta=1.0, threshold=params["epsilon"] * unit, n_rounds=N_ROUNDS,
        subspace_iterations=HALF_STEPS, power_iterations=20,
    )  # fmt: skip
    found = run_moment_descent(
        draw=draw, k=min(k, d), start=unit * start, options=options, rng=rng,
        targets=unit * theta_star[own],
    )  # fmt: skip
    assert found.distances is not None
    groups = group_anchors(found.theta, unit)
    centres = NOT_GROUPED
    if len(groups.sizes) == k:
        centres = float(bottleneck_distance(groups.centres / unit, theta_star))
    return [
        float(found.distances[-1].max() / unit),
        centres,
        float(np.linalg.norm(found.theta, axis=1).max() / (3.0 * radius * unit)),
        *(found.distances[:, 0] / unit),
    ]


DESCENT = add_experiment(
    name="sxy.descent",
    design=304,
    columns=("worst", "centres", "far", *(f"err_{t}" for t in range(N_ROUNDS + 1))),
    simulate=on_faster_stream(each_trial(_run)),
    block_size=16,
    cost=lambda params: 2e-3 + 2e-6 * params["m"] * params["d"],
    parameters=Parameters(
        {
            "d": Integer(1, 10_000, default=4, meaning="dimension"),
            "k": Integer(2, 100, default=2, meaning="clusters"),
            "m": Integer(1, MAX_DRAWN, default=2000, meaning="clients of a round"),
            "l": Integer(1, MAX_DRAWN, default=200, meaning="pairs of an anchor and round"),
            "anchors": Integer(1, 10_000, default=8, meaning="anchors n_H"),
            "sigma": Real(0.0, 10.0, default=0.1, meaning="noise over Delta"),
            "epsilon": Real(0.0, 0.25, default=0.2, meaning="accuracy of Phase 1"),
            "unit": Real(1e-9, 1e9, default=1.0, meaning="Delta"),
            "start": Options(
                ("zero", "model", "edge"), default="zero", meaning="start of all anchors"
            ),
        },
        (rows_fit,),
    ),
)

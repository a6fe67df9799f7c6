r"""Experiment on random starts of IFCA, from which its success with restarts follows.

``sxy.restarts`` (design 307): clients of Phase 2, and several starts of FedAvg with clustering on
them.  Each start has models that are uniform in the ball of radius R, which holds the optima.

* ``n_successful``: starts that end within a tenth of Delta of the optima, by the distance (6).
* ``n_inside``: starts within Delta/4 of the optima, the ball of IFCA's theorem.
* ``best``: the smallest distance at the end, over Delta.
"""

from __future__ import annotations

import numpy as np

from trials.experiments.sxy.clients import CLIENTS, draw_clients
from trials.experiments.sxy.two_phases import SUCCESS, random_models, refined
from trials.mixed_regression.fed_regression import local_spectra
from trials.models.matching import bottleneck_distance
from trials.parameters import Integer
from trials.run.cell import Params
from trials.run.experiment import Experiment, each_trial, register


def _one_trial(params: Params, rng: np.random.Generator) -> tuple[float, float, float]:
    clients = draw_clients(params, rng)
    spectra = local_spectra(clients.data)
    errors, n_inside = [], 0
    for _ in range(params["restarts"]):
        start = random_models(clients.theta_star, rng)
        n_inside += bottleneck_distance(start, clients.theta_star) <= 0.25 * params["Delta"]
        errors.append(refined(params, clients, spectra, start, params["s"]))
    n_successful = sum(error <= SUCCESS for error in errors)
    return float(n_successful), float(n_inside), min(errors)


def _seconds(cell: Params) -> float:
    """CPU seconds of a trial: each round multiplies the features with all models."""
    numbers = cell["M"] * cell["n"] * cell["d"]
    return float(0.005 + 2.5e-10 * cell["restarts"] * cell["rounds_2"] * cell["k"] * numbers)


RESTARTS = register(
    Experiment(
        name="sxy.restarts",
        design=307,
        columns=("n_successful", "n_inside", "best"),
        simulate=each_trial(_one_trial),
        parameters=CLIENTS.extended(
            {
                "rounds_2": Integer(1, 10_000, default=80, meaning="rounds of a start"),
                "restarts": Integer(1, 10_000, default=8, meaning="random starts"),
                "s": Integer(1, 1000, default=5, meaning="local steps"),
            }
        ),
        block_size=4,
        cost=_seconds,
    )
)

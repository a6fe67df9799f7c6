r"""Experiment on Phase 2 with tens of thousands of clients and hundreds of features.

``sxy.large`` (design 249): FedAvg with clustering, one local step, from models at distance ``near``
Delta from their optima, until the slowest direction has shrunk by ``shrink``.

* ``start``, ``end``: the distance (6) of the models before the first round and after the last.
* ``known``: the largest :math:`\lVert K_j^{-1}B\Lambda_j\zeta\rVert`, where rounds with the true
  labels end.
* ``wrong``: the share of the clients with a wrong label in the last round.
* ``rounds``: the number of rounds.

A step shrinks the slowest direction of model j by :math:`1-\eta\lambda_{\min}(K_j)`, and the
eigenvalue is known before the first round.
"""

from __future__ import annotations

import math

import numpy as np

from trials.checks import InvalidParameter
from trials.experiments.sxy.clients import CLIENTS, draw_clients, enough_clients, spectrum_ordered
from trials.experiments.sxy.refinement import STARTS, start_models
from trials.experiments.sxy.spectrum import cluster_matrices
from trials.mixed_regression.fed_regression import local_spectra, run_fed_regression
from trials.parameters import Options, Parameters, Real
from trials.run.cell import Params
from trials.run.experiment import Experiment, each_trial, register

MOST_FEATURES = 4 * 10**8
MOST_ROUNDS = 100_000


def large_data_fit(cell: Params) -> None:
    """M n d features take at most 3.2 GB."""
    features = round(cell["M"] * cell["n"]) * cell["d"]
    if features > MOST_FEATURES:
        raise InvalidParameter(f"features M n d={features} must be <= {MOST_FEATURES}")


def _one_trial(params: Params, rng: np.random.Generator) -> tuple[float, ...]:
    clients = draw_clients(params, rng)
    spectra = local_spectra(clients.data)
    eta = params["gamma"] / float(spectra.largest.max())
    matrices, noise = cluster_matrices(clients, spectra, eta, 1)
    known = np.linalg.norm(np.linalg.solve(matrices, noise[..., None])[..., 0], axis=1).max()
    slowest = -math.log1p(-eta * float(np.linalg.eigvalsh(matrices).min()))
    n_rounds = min(math.ceil(math.log(1.0 / params["shrink"]) / slowest), MOST_ROUNDS)
    found = run_fed_regression(
        data=clients.data,
        start=start_models(params, clients, rng),
        update="fedavg",
        step_size=eta,
        n_rounds=n_rounds,
        spectra=spectra,
        reference=clients.theta_star,
    )
    assert found.distances is not None
    wrong = float(np.mean(found.labels != clients.labels))
    return float(found.distances[0]), float(found.distances[-1]), float(known), wrong, n_rounds


def trial_cost(params: Params) -> float:
    """CPU seconds of a trial, measured: draws, the matrices K_j, and the rounds."""
    rows, d = params["M"] * params["n"], params["d"]
    return float(2e-8 * rows * d + 2.5e-10 * rows * d**2 + 2e-6 * params["k"] * d**2)


LARGE = register(
    Experiment(
        name="sxy.large",
        design=249,
        columns=("start", "end", "known", "wrong", "rounds"),
        simulate=each_trial(_one_trial),
        parameters=Parameters(
            {
                **CLIENTS.entries,
                "gamma": Real(
                    0.0, 0.999, open_low=True, default=0.9,
                    meaning="step in units of the largest curvature",
                ),
                "near": Real(0.0, 0.5, default=0.1, meaning="distance of the start over Delta"),
                "start": Options(STARTS, default="adversarial", meaning="direction of the start"),
                "shrink": Real(
                    1e-12, 1.0, default=1e-3, meaning="what the slowest direction shrinks by"
                ),
            },
            (large_data_fit, spectrum_ordered, enough_clients),
        ),
        block_size=1,
        cost=trial_cost,
    )
)  # fmt: skip

r"""Experiment on the matrices of one round of Phase 2, the true labels known.

``sxy.round-matrices`` (design 240): clients are drawn, and
:math:`K_j=\frac1N\sum_{i\in I_j}X_i^\top P_iX_i` is formed for every cluster.

* ``smallest``, ``largest``: extreme values over the clusters of the extreme eigenvalues of
  :math:`K_jN/N_j`.
* ``noise``: the largest :math:`\lVert B\Lambda_j\zeta\rVert^2N/(s\lVert K_j\rVert)`, in units of y
  squared.
* ``pull``: the largest :math:`\lVert B\Lambda_j\zeta\rVert`.
* ``decrease``: the smallest :math:`\eta\lambda_{\min}(K_j)`.
* ``floor_squared``: the expectation over the noise of
  :math:`\lVert K_0^{-1}B\Lambda_0\zeta\rVert^2`, where rounds with the true labels end for a
  smallest cluster.  Infinite where its matrix is singular.
* ``rows``: the smallest :math:`N_j/d`.
* ``step``: :math:`\eta`, the cell's gamma over the largest curvature of a client.
"""

from __future__ import annotations

import numpy as np

from trials.checks import BoolArray, FloatArray
from trials.experiments.sxy.clients import (
    LOCAL,
    Clients,
    draw_gram_trials,
    gram_numbers,
    in_parts,
    step_sizes,
)
from trials.mixed_regression.fed_regression import LocalSpectra
from trials.mixed_regression.fed_regression_kernels import SpectraArrays, filter_values
from trials.mixed_regression.gram_rounds import (
    ClientSteps,
    GramClients,
    client_steps,
    gram_spectra,
)
from trials.mixed_regression.settled_kernels import add_all, add_pulls
from trials.run.cell import Params
from trials.run.experiment import add_experiment

COLUMNS = ("smallest", "largest", "noise", "pull", "decrease", "floor_squared", "rows", "step")


def cluster_matrices(
    clients: Clients, spectra: LocalSpectra, eta: float, s: int
) -> tuple[FloatArray, FloatArray]:
    r"""The matrices :math:`K_j` and the vectors :math:`B\Lambda_j\zeta` of the true labels.

    Parameters
    ----------
    spectra : `local_spectra` of the clients.
    eta, s : step size, and local steps of FedAvg or 0 for FedProx.

    Returns
    -------
    K (k, d, d) and pulls (k, d).
    """
    k, d = clients.theta_star.shape
    factors = np.empty_like(spectra.values)
    filter_values(spectra.values, eta, s, factors)
    frames = SpectraArrays(spectra.values, spectra.vectors, spectra.starts)
    noise = clients.data.arrays._replace(responses=clients.noise)
    matrices, pulls, origin = np.zeros((k, d, d)), np.zeros((k, d)), np.zeros((k, d))
    add_all(noise, frames, factors, clients.labels, matrices)
    add_pulls(noise, frames, factors, clients.labels, origin, pulls)
    total = float(clients.sizes.sum())
    return matrices / total, pulls / total


def true_sums(clients: GramClients, steps: ClientSteps) -> tuple[FloatArray, FloatArray]:
    """The same of Gram matrices: K (..., k, d, d) and pulls (..., k, d)."""
    cut, totals = clients.bounds[:-1], clients.sizes.sum(axis=-1)[..., None, None]
    matrices = np.add.reduceat(steps.maps, cut, axis=-3) / totals[..., None]
    return matrices, np.add.reduceat(steps.shifts, cut, axis=-2) / totals


def are_singular(eigenvalues: FloatArray) -> BoolArray:
    """Whether matrices of these eigenvalues (..., d) in increasing order have no inverse, (...)."""
    return np.asarray(eigenvalues[..., 0] <= 1e-14 * eigenvalues[..., -1])


def _simulate_matrices(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    clients = draw_gram_trials(params, rng, n_trials)
    spectra = gram_spectra(clients)
    eta = step_sizes(params, spectra)
    steps = client_steps(clients, spectra, eta, params["s"] if params["rule"] == "fedavg" else 0)
    matrices, pulls = true_sums(clients, steps)
    n_rows, smallest = clients.sizes.sum(axis=1), slice(*clients.bounds[:2])
    covariances = steps.covariances[:, smallest].sum(axis=1) / n_rows[:, None, None] ** 2
    eigenvalues, frames = np.linalg.eigh(matrices)
    own = eigenvalues[:, 0]
    variances = np.einsum("tai,tab,tbi->ti", frames[:, 0], covariances, frames[:, 0])
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.where(are_singular(own), np.inf, (variances / own**2).sum(axis=1))
    shares = clients.cluster_rows / n_rows[:, None]
    norms = np.maximum(eigenvalues[..., -1], 1e-300)
    lengths = np.linalg.norm(pulls, axis=-1)
    return np.column_stack(
        [
            (eigenvalues[..., 0] / shares).min(axis=1),
            (eigenvalues[..., -1] / shares).max(axis=1),
            (lengths**2 * n_rows[:, None] / (params["s"] * norms)).max(axis=1),
            lengths.max(axis=1),
            eta * eigenvalues[..., 0].min(axis=1),
            params["sigma"] ** 2 * variance,
            clients.cluster_rows.min(axis=1) / params["d"],
            eta,
        ]
    )


def trial_cost(params: Params) -> float:
    """CPU seconds of a trial, measured: draws and decompositions of all rows."""
    rows = params["M"] * params["n"]
    order = min(params["n"], params["d"])
    return float(5e-4 + 6e-8 * rows * (params["d"] + order) + 4e-6 * params["M"] * (1 + order / 8))


ROUND_MATRICES = add_experiment(
    name="sxy.round-matrices",
    design=240,
    columns=COLUMNS,
    simulate=in_parts(_simulate_matrices, gram_numbers),
    parameters=LOCAL,
    block_size=16,
    cost=trial_cost,
)

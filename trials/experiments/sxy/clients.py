"""The clients of Phase 2: their parameters, and how a trial draws them.

The share of each cluster is exact, up to whole clients, so that rho belongs to the cell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import get_args

import numpy as np

from trials.checks import MAX_DRAWN, FloatArray, IntArray, InvalidParameter, check_drawn
from trials.mixed_regression.fed_regression import LocalSpectra
from trials.models import mixture as mx
from trials.models.clients import ClientData
from trials.models.federated_data import FederatedModel, Law, client_sizes, covariance_roots
from trials.parameters import Integer, Options, Parameters, Real, at_least
from trials.run.cell import Params


def data_fit(cell: Params) -> None:
    """M n d features fit into memory."""
    check_drawn("features M n d", round(cell["M"] * cell["n"]) * cell["d"])


spectrum_ordered = at_least("beta", "alpha", "beta >= alpha.")
enough_clients = at_least("M", "k", "Every cluster has a client.")


def fedprox_solves_exactly(cell: Params) -> None:
    """s = 1 for fedprox."""
    if cell["rule"] == "fedprox" and cell["s"] != 1:
        raise InvalidParameter(f"s={cell['s']} must be 1 for fedprox")


CLIENTS = Parameters(
    {
        "M": Integer(1, MAX_DRAWN, default=100, meaning="clients"),
        "n": Real(1.0, float(MAX_DRAWN), default=10.0, meaning="mean rows of a client"),
        "sizes": Options(
            ("balanced", "zipf", "lognormal"), default="balanced", meaning="law of the rows"
        ),
        "spread": Real(0.0, 50.0, default=1.0, meaning="exponent or deviation of the sizes"),
        "k": Integer(1, 1000, default=2, meaning="clusters"),
        "d": Integer(1, MAX_DRAWN, default=5, meaning="dimension"),
        "profile": Options(get_args(mx.Profile), default="equal", meaning="shares of the clusters"),
        "ratio": Real(1.0, 1e6, default=1.0, meaning="ratio of the largest to the smallest share"),
        "Delta": Real(0.0, 1e6, open_low=True, default=1.0, meaning="distance of the optima"),
        "sigma": Real(0.0, 1e9, default=0.1, meaning="noise level"),
        "alpha": Real(0.0, 1e12, open_low=True, default=1.0, meaning="smallest eigenvalue"),
        "beta": Real(0.0, 1e12, open_low=True, default=1.0, meaning="largest eigenvalue"),
        "features": Options(
            ("gaussian", "rademacher", "uniform", "sparse"),
            default="gaussian",
            meaning="law of the features' coordinates",
        ),
    },
    (data_fit, spectrum_ordered, enough_clients),
)

LOCAL = CLIENTS.extended(
    {
        "rule": Options(("fedavg", "fedprox"), default="fedavg", meaning="local update"),
        "s": Integer(1, 10**6, default=1, meaning="local steps"),
        "gamma": Real(
            0.0, 0.999, open_low=True, default=0.5, meaning="step in units of the largest curvature"
        ),
    },
    fedprox_solves_exactly,
)


@dataclass(frozen=True, kw_only=True)
class Clients:
    """Drawn clients, with their labels, optima and noise, which no server sees.

    Attributes
    ----------
    data : the rows.
    labels : (M,) true clusters.
    theta_star : (k, d) optima.
    noise : (N,) noise of the responses.
    sizes : (M,) rows of each client.
    """

    data: ClientData
    labels: IntArray
    theta_star: FloatArray
    noise: FloatArray
    sizes: IntArray

    @property
    def cluster_rows(self) -> FloatArray:
        """(k,) rows N_j of the clusters."""
        rows = np.bincount(self.labels, weights=self.sizes, minlength=len(self.theta_star))
        return np.asarray(rows)


def draw_clients(params: Params, rng: np.random.Generator) -> Clients:
    """One data set of a cell of `CLIENTS`."""
    k, d = params["k"], params["d"]
    if k == 1:
        theta_star = np.zeros((1, d))
    elif d >= k - 1:
        theta_star = mx.simplex(k, d, params["Delta"])
    else:
        theta_star = mx.line(k, d, params["Delta"])
    fractions = mx.fractions_with_ratio(k, params["ratio"], params["profile"])
    roots = None
    if (params["alpha"], params["beta"]) != (1.0, 1.0):
        roots = covariance_roots(k, d, params["alpha"], params["beta"], rng)
    law = Law(name=params["features"])
    model = FederatedModel(theta_star=theta_star, fractions=fractions, roots=roots, features=law)
    sizes = client_sizes(params["sizes"], params["M"], params["n"], rng, spread=params["spread"])
    labels = np.repeat(np.arange(k), mx.cluster_sizes(params["M"], fractions))
    labels = rng.permutation(labels)
    silent = model.draw(sizes, rng, labels).data
    noise = params["sigma"] * rng.standard_normal(len(silent.responses))
    data = ClientData(
        features=silent.features, responses=silent.responses + noise, offsets=silent.offsets
    )
    return Clients(data=data, labels=labels, theta_star=theta_star, noise=noise, sizes=sizes)


def step_size(params: Params, spectra: LocalSpectra) -> float:
    """The step eta at which gamma has the cell's value."""
    return float(params["gamma"] / spectra.largest.max())


def stability_of(params: Params) -> float:
    """The kappa of a cell of `LOCAL`."""
    gamma, s = params["gamma"], params["s"]
    if params["rule"] == "fedprox":
        return float(1.0 + gamma)
    return float(gamma * s / -math.expm1(s * math.log1p(-gamma)))

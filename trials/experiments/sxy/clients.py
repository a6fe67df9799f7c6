"""The clients of Phase 2: their parameters, and how a trial draws them.

The share of each cluster is exact, up to whole clients, so that rho belongs to the cell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import get_args

import numpy as np

from trials.checks import MAX_DRAWN, FloatArray, IntArray, InvalidParameter, check_drawn
from trials.mixed_regression.fed_regression import LocalSpectra
from trials.mixed_regression.gram_rounds import GramClients, GramSpectra
from trials.models import mixture as mx
from trials.models.clients import ClientData, KnownClusters
from trials.models.federated_data import FederatedModel, Law, client_sizes, covariance_roots
from trials.parameters import Integer, Options, Parameters, Real, at_least
from trials.run.cell import Params


def data_fit(cell: Params) -> None:
    """M n d features fit into memory."""
    check_drawn("features M n d", round(cell["M"] * cell["n"]) * cell["d"])


spectrum_ordered = at_least("beta", "alpha", "beta >= alpha.")
enough_clients = at_least("M", "k", "Every cluster has a client.")


def shares_have_the_ratio(cell: Params) -> None:
    """A ratio above 1 belongs to two or more clusters whose shares are not equal."""
    mx.fractions_with_ratio(cell["k"], cell["ratio"], cell["profile"])


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
        # Constants on which the statements' own ones depend: no theorem is uniform in them.
        "alpha": Real(
            0.0, 1e12, open_low=True, default=1.0, meaning="smallest eigenvalue", exhibited=True
        ),
        "beta": Real(
            0.0, 1e12, open_low=True, default=1.0, meaning="largest eigenvalue", exhibited=True
        ),
        "features": Options(
            ("gaussian", "rademacher", "uniform", "sparse"),
            default="gaussian",
            meaning="law of the features' coordinates",
        ),
    },
    (data_fit, spectrum_ordered, enough_clients, shares_have_the_ratio),
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
class Clients(KnownClusters):
    """Drawn clients, with their labels, optima and noise, which no server sees.

    Attributes
    ----------
    data : the rows.
    noise : (N,) noise of the responses.
    """

    data: ClientData
    noise: FloatArray


@dataclass(frozen=True, kw_only=True)
class _Population:
    """A cell's optima (k, d), roots of the covariances (k, d, d) or None, and each client's rows
    and true cluster, both (M,).
    """

    theta_star: FloatArray
    roots: FloatArray | None
    sizes: IntArray
    labels: IntArray
    fractions: FloatArray


def _draw_population(params: Params, rng: np.random.Generator) -> _Population:
    k, d = params["k"], params["d"]
    theta_star, fractions, labels = _clusters(
        k, d, params["Delta"], params["ratio"], params["profile"], params["M"]
    )
    roots = None
    if (params["alpha"], params["beta"]) != (1.0, 1.0):
        roots = covariance_roots(k, d, params["alpha"], params["beta"], rng)
    sizes = client_sizes(params["sizes"], params["M"], params["n"], rng, spread=params["spread"])
    return _Population(
        theta_star=theta_star.copy(),
        roots=roots,
        sizes=sizes,
        labels=rng.permutation(labels),
        fractions=fractions.copy(),
    )


@lru_cache(maxsize=4)  # the trials of a cell follow each other, and large cells have large arrays
def _clusters(
    k: int, d: int, Delta: float, ratio: float, profile: mx.Profile, M: int
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Centres (k, d), fractions (k,) and the sorted labels of the clients (M,)."""
    if k == 1:
        theta_star = np.zeros((1, d))
    else:
        theta_star = mx.simplex(k, d, Delta) if d >= k - 1 else mx.line(k, d, Delta)
    fractions = mx.fractions_with_ratio(k, ratio, profile)
    return theta_star, fractions, np.repeat(np.arange(k), mx.cluster_sizes(M, fractions))


def draw_clients(params: Params, rng: np.random.Generator) -> Clients:
    """One data set of a cell of `CLIENTS`."""
    drawn = _draw_population(params, rng)
    law = Law(name=params["features"])
    model = FederatedModel(
        theta_star=drawn.theta_star, fractions=drawn.fractions, roots=drawn.roots, features=law
    )
    silent = model.draw(drawn.sizes, rng, drawn.labels).data
    noise = params["sigma"] * rng.standard_normal(len(silent.responses))
    data = ClientData(
        features=silent.features, responses=silent.responses + noise, offsets=silent.offsets
    )
    return Clients(
        data=data,
        labels=drawn.labels,
        theta_star=drawn.theta_star,
        noise=noise,
        sizes=drawn.sizes,
    )


def draw_grams(params: Params, rng: np.random.Generator) -> GramClients:
    r"""The Gram matrices of one data set of a cell of `CLIENTS`.

    Gaussian rows are not drawn.  With :math:`X_i=QR`, R is Bartlett's factor, which has
    :math:`\chi` of n_i, n_i - 1, ... degrees of freedom on the diagonal and normal entries right of
    it, times the covariance's root.  :math:`X_i^\top\zeta_i=R^\top Q^\top\zeta_i` takes
    min(n_i, d) normal numbers.  So a client of any size takes d (d + 3) / 2 draws.
    """
    if params["features"] != "gaussian":
        return _grams_of_rows(draw_clients(params, rng))
    drawn = _draw_population(params, rng)
    order = np.argsort(drawn.labels, kind="stable")
    sizes, labels = drawn.sizes[order], drawn.labels[order]
    m, d = params["M"], params["d"]
    rank = min(d, int(sizes.max()))  # rows of the factors; those beyond n_i are zero
    degrees = sizes[:, None] - np.arange(rank)
    factors = np.zeros((m, rank, d))
    for row in range(rank):
        factors[:, row, row + 1 :] = rng.standard_normal((m, d - row - 1))
    diagonal = np.arange(rank)
    factors[:, diagonal, diagonal] = np.sqrt(rng.chisquare(np.maximum(degrees, 1)))
    if degrees[:, -1].min() <= 0:
        factors *= (degrees > 0)[:, :, None]
    if drawn.roots is not None:
        factors = factors @ drawn.roots[labels]
    turned = factors.transpose(0, 2, 1)
    noise = params["sigma"] * rng.standard_normal((m, rank, 1))
    return GramClients(
        grams=turned @ factors,
        pulls=(turned @ noise)[:, :, 0],
        sizes=sizes,
        labels=labels,
        theta_star=drawn.theta_star,
    )


def _grams_of_rows(clients: Clients) -> GramClients:
    """The Gram matrices of drawn rows."""
    order = np.argsort(clients.labels, kind="stable")
    d, features = clients.data.dimension, clients.data.features
    grams, pulls = np.empty((len(order), d, d)), np.empty((len(order), d))
    for at, i in enumerate(order):
        rows = slice(clients.data.offsets[i], clients.data.offsets[i + 1])
        grams[at] = features[rows].T @ features[rows]
        pulls[at] = clients.noise[rows] @ features[rows]
    return GramClients(
        grams=grams,
        pulls=pulls,
        sizes=clients.sizes[order],
        labels=clients.labels[order],
        theta_star=clients.theta_star,
    )


def step_size(params: Params, spectra: LocalSpectra | GramSpectra) -> float:
    """The step eta at which gamma has the cell's value."""
    return float(params["gamma"] / np.max(spectra.largest))


def stability_of(params: Params) -> float:
    """The kappa of a cell of `LOCAL`."""
    gamma, s = params["gamma"], params["s"]
    if params["rule"] == "fedprox":
        return float(1.0 + gamma)
    return float(gamma * s / -math.expm1(s * math.log1p(-gamma)))

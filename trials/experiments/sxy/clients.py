"""The clients of Phase 2: their parameters, and how a trial draws them.

The share of each cluster is exact, up to whole clients, so that rho belongs to the cell.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
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
from trials.run.experiment import Simulate

#: Numbers of an array that are handled together: 1 MiB.
_AT_ONCE = 2**17


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


# The trials of a cell follow each other, and large cells have large arrays.
@functools.lru_cache(maxsize=4)
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


def optima_of(params: Params) -> FloatArray:
    """The optima (k, d) of a cell."""
    names = ("k", "d", "Delta", "ratio", "profile", "M")
    return _clusters(*(params[name] for name in names))[0].copy()


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
    """The Gram matrices of one data set of a cell of `CLIENTS`, as `draw_gram_trials` draws."""
    return draw_gram_trials(params, rng, 1).trial(0)


def draw_gram_trials(params: Params, rng: np.random.Generator, n_trials: int) -> GramClients:
    """The Gram matrices of T data sets of a cell of `CLIENTS`: W = R'R and X'zeta = R'(Q'zeta)."""
    if params["features"] != "gaussian":
        return _stacked([_grams_of_rows(draw_clients(params, rng)) for _ in range(n_trials)])
    drawn = draw_factors(params, rng, n_trials)
    turned = drawn.factors.swapaxes(-1, -2)
    return GramClients(
        grams=turned @ drawn.factors,
        pulls=(turned @ drawn.noise[..., None])[..., 0],
        sizes=drawn.sizes,
        labels=drawn.labels,
        theta_star=drawn.theta_star,
    )


@dataclass(frozen=True, kw_only=True)
class Factors:
    """What the Gaussian rows X_i = Q_i R_i of T trials' clients are to a round, cluster by cluster.

    Attributes
    ----------
    factors : (T, M, r, d) R_i.  Its rows beyond n_i are zero.
    noise : (T, M, r) Q_i' zeta_i.
    sizes : (T, M) n_i.
    labels : (M,) true clusters, in increasing order.
    theta_star : (k, d) optima.
    """

    factors: FloatArray
    noise: FloatArray
    sizes: IntArray
    labels: IntArray
    theta_star: FloatArray


def draw_factors(params: Params, rng: np.random.Generator, n_trials: int) -> Factors:
    r"""The clients of T data sets of a cell of `CLIENTS` with Gaussian features.

    Their rows are not drawn.  With :math:`X_i=QR`, R is Bartlett's factor, which has :math:`\chi`
    of n_i, n_i - 1, ... degrees of freedom on the diagonal and normal entries right of it, times
    the covariance's root.  :math:`Q^\top\zeta_i` are min(n_i, d) normal numbers.  So a client of
    any size takes d (d + 3) / 2 draws.
    """
    m, d, k = params["M"], params["d"], params["k"]
    theta_star, _, labels = _clusters(
        k, d, params["Delta"], params["ratio"], params["profile"], params["M"]
    )
    roots = _draw_roots(params, rng, n_trials)
    sizes = _draw_sizes(params, rng, n_trials)
    rank = min(d, int(sizes.max()))  # rows of the factors; those beyond n_i are zero
    degrees = sizes[:, :, None] - np.arange(rank)
    factors = np.zeros((n_trials, m, rank, d))
    for row in range(rank):
        factors[:, :, row, row + 1 :] = rng.standard_normal((n_trials, m, d - row - 1))
    diagonal = np.arange(rank)
    factors[:, :, diagonal, diagonal] = np.sqrt(rng.chisquare(np.maximum(degrees, 1)))
    noise = params["sigma"] * rng.standard_normal((n_trials, m, rank))
    if degrees[:, :, -1].min() <= 0:
        factors *= (degrees > 0)[:, :, :, None]
        noise *= degrees > 0
    if roots is not None:
        factors = factors @ roots[:, labels]
    return Factors(
        factors=factors, noise=noise, sizes=sizes, labels=labels.copy(),
        theta_star=theta_star.copy(),
    )  # fmt: skip


def in_parts(simulate: Simulate, numbers: Callable[[Params], int]) -> Simulate:
    """The same simulation of few trials at once, whose arrays stay in the cache.

    ``numbers(params)`` are those of a trial's largest array.
    """

    @functools.wraps(simulate)  # errors and workers name the module of the experiment
    def simulate_parts(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
        most = max(1, _AT_ONCE // numbers(params))
        parts = [min(most, n_trials - first) for first in range(0, n_trials, most)]
        return np.concatenate([simulate(params, rng, part) for part in parts])

    return simulate_parts


def _draw_roots(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray | None:
    """Roots of the clusters' covariances (T, k, d, d), or None where these are the identity."""
    alpha, beta = params["alpha"], params["beta"]
    if (alpha, beta) == (1.0, 1.0):
        return None
    k, d = params["k"], params["d"]
    return np.array([covariance_roots(k, d, alpha, beta, rng) for _ in range(n_trials)])


def _draw_sizes(params: Params, rng: np.random.Generator, n_trials: int) -> IntArray:
    """Rows of the clients (T, M), which belong to the clusters one after the other."""
    law, m, n = params["sizes"], params["M"], params["n"]
    if law == "balanced":
        sizes = np.tile(_balanced_sizes(m, n), (n_trials, 1))
        return sizes if sizes.min() == sizes.max() else rng.permuted(sizes, axis=1)
    drawn = [client_sizes(law, m, n, rng, spread=params["spread"]) for _ in range(n_trials)]
    return rng.permuted(np.array(drawn), axis=1)


def gram_numbers(params: Params) -> int:
    """The entries of a trial's Gram matrices."""
    return int(params["M"] * params["d"] ** 2)


@functools.lru_cache(maxsize=4)
def _balanced_sizes(m: int, n: float) -> IntArray:
    return client_sizes("balanced", m, n, np.random.default_rng())  # the stream is not read


def _stacked(trials: Sequence[GramClients]) -> GramClients:
    """The trials one after the other."""
    return replace(
        trials[0],
        grams=np.array([each.grams for each in trials]),
        pulls=np.array([each.pulls for each in trials]),
        sizes=np.array([each.sizes for each in trials]),
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


def stable_step(gamma: float, largest: FloatArray | float) -> FloatArray:
    """The steps (...) at which gamma has this value, for the largest curvatures (...) of clients.

    Clients whose features are all zero have no curvature, and no step moves a model.  Then the step
    is gamma itself, because an infinite one times nothing would be NaN.
    """
    return np.asarray(gamma / np.where(np.asarray(largest) > 0.0, largest, 1.0))


def step_size(params: Params, spectra: LocalSpectra) -> float:
    """The step eta at which gamma has the cell's value."""
    return float(stable_step(params["gamma"], np.max(spectra.largest)))


def step_sizes(params: Params, spectra: GramSpectra) -> FloatArray:
    """The same of the trials, (...)."""
    if params["s"] > 1 or params["rule"] == "fedprox":
        spectra.decompose()  # the local steps need all spectra, which hold the largest ones
    return stable_step(params["gamma"], spectra.largest)


def stability_of(params: Params) -> float:
    """The kappa of a cell of `LOCAL`."""
    gamma, s = params["gamma"], params["s"]
    if params["rule"] == "fedprox":
        return float(1.0 + gamma)
    return float(gamma * s / -math.expm1(s * math.log1p(-gamma)))

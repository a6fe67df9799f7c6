r"""ODCL on exact laws of the local fits: recovery of the clusters and error of their means.

``odcl.one-shot`` (design 223): K clusters of users, optima at the corners of a simplex with edges
Delta, local fits from the law of least squares with Gaussian features.  All clusters have
``size_k`` users, but the last has ``size_min``.

* ``km``: 1 where K-means++ (the best of four starts) recovers the clusters, else 0.
* ``interval``: 1 where the interval (13) of the true clusters is not empty, else 0.  Every penalty
  in it then recovers them.
* ``error_k``: mean over the first cluster's users of the squared error of their model, ODCL-KM++.
* ``error_oracle``: the same for the mean of the first cluster's fits.

``odcl.coordinates`` (design 229): a sample shows one of d coordinates, :math:`x=\sqrt d\,e_J` with
J uniform, and :math:`y=\langle x,\theta_k^\star\rangle\pm\sigma` with a fair sign.  A coordinate of
a local fit is the optimum's plus :math:`\sigma/\sqrt d` times the mean of its signs, and zero where
the user has not seen it.  The optima are the corners of a simplex with edges Delta.  All clusters
have ``size_k`` users, but the last has ``size_min``.

* ``error_k``: mean over the first cluster's users of the squared error of their model, ODCL-KM++
  with the best of four starts.
* ``same``: 1 where the clusters are recovered, else 0.
"""

from __future__ import annotations

import math

import numpy as np

from trials.checks import FloatArray, IntArray, check_drawn
from trials.clustering.kmeans import KMeansFit, kmeans_pp
from trials.clustering.selection import recovery_interval
from trials.laws.least_squares import errors
from trials.parameters import Integer, Parameter, Parameters, Real, at_least
from trials.run.cell import Params
from trials.run.experiment import add_experiment

_STARTS = 4


def users(params: Params) -> int:
    """All users: K - 1 clusters of one size, and the smallest."""
    return int((params["k"] - 1) * params["size_k"] + params["size_min"])


fits_exist = at_least("n", "d", "n >= d: least squares needs as many samples as dimensions.")
corners_fit = at_least("d", "k", "d >= K: a simplex with K corners at orthogonal vectors.")


def fits_fit(cell: Params) -> None:
    """m d coordinates fit into memory."""
    check_drawn("coordinates m d", users(cell) * cell["d"])


USERS: dict[str, Parameter] = {
    "n": Integer(1, 10**12, default=100, meaning="samples of a user"),
    "k": Integer(2, 100, default=2, meaning="clusters"),
    "d": Integer(2, 10_000, default=4, meaning="dimension"),
    "size_k": Integer(1, 10**5, default=10, meaning="users of a cluster"),
    "size_min": Integer(1, 10**5, default=10, meaning="users of the last cluster"),
    "Delta": Real(0.0, 1e9, open_low=True, default=1.0, meaning="separation"),
    "sigma": Real(0.0, 1e9, open_low=True, default=1.0, meaning="noise level"),
}


def same_partition(labels: IntArray, truth: IntArray, k: int) -> FloatArray:
    """1 where a row of labels (B, m) is the true partition (m,) under other names, else 0."""
    sets, size = labels.shape[0], k * k
    pairs = np.arange(0, sets * size, size)[:, None] + labels * k + truth
    table = np.bincount(pairs.ravel(), minlength=sets * size).reshape(sets, k, k) > 0
    n_pairs, n_labels = table.sum(axis=(1, 2)), table.any(axis=2).sum(axis=1)
    n_true = np.unique(truth).size
    return np.asarray((n_pairs == n_true) & (n_labels == n_true), dtype=np.float64)


def model_error(found: KMeansFit, optimum: FloatArray, first: int) -> FloatArray:
    """(B,) mean squared distance from ``optimum`` (d,) of the first users' models, their centres.

    Few centres serve many users, so the distances are those of the centres.
    """
    squares = ((found.centers - optimum) ** 2).sum(axis=2)
    return np.asarray(np.take_along_axis(squares, found.labels[:, :first], axis=1).mean(axis=1))


def _simulate(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    k, d, first = params["k"], params["d"], params["size_k"]
    truth = np.repeat(np.arange(k), [first] * (k - 1) + [params["size_min"]])
    m = truth.size
    optima = params["Delta"] / math.sqrt(2) * np.eye(k, d)
    deviations = errors(params["n"], d, params["sigma"], rng, n_trials * m).reshape(n_trials, m, d)
    fits = optima[truth] + deviations
    found = kmeans_pp(fits, k, rng, n_init=_STARTS)
    interval = recovery_interval(fits, np.broadcast_to(truth, (n_trials, m)))
    oracle = deviations[:, :first].mean(axis=1)
    return np.column_stack(
        [
            same_partition(found.labels, truth, k),
            (interval.lower < interval.upper).astype(np.float64),
            model_error(found, optima[0], first),
            (oracle**2).sum(axis=1),
        ]
    )


ONE_SHOT = add_experiment(
    name="odcl.one-shot",
    design=223,
    columns=("km", "interval", "error_k", "error_oracle"),
    simulate=_simulate,
    parameters=Parameters(USERS, (fits_exist, corners_fit, fits_fit)),
    block_size=64,
)


# -- a bounded design in several dimensions --------------------------------------------------------


def local_fits(n: int, sigma: float, optima: FloatArray, rng: np.random.Generator) -> FloatArray:
    """(m, d) local fits of users with ``optima`` (m, d)."""
    m, d = optima.shape
    seen = rng.multinomial(n, np.full(d, 1 / d), size=m)
    signs = 2 * rng.binomial(seen, 0.5) - seen
    noise = sigma / math.sqrt(d) * signs / np.maximum(seen, 1)
    return np.where(seen > 0, optima + noise, 0.0)


def simulate(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    """(n_trials, 2) rows of the experiment."""
    k, d, first = params["k"], params["d"], params["size_k"]
    truth = np.repeat(np.arange(k), [first] * (k - 1) + [params["size_min"]])
    optima = params["Delta"] / math.sqrt(2) * np.eye(k, d)
    each = np.tile(optima[truth], (n_trials, 1))
    fits = local_fits(params["n"], params["sigma"], each, rng).reshape(n_trials, truth.size, d)
    found = kmeans_pp(fits, k, rng, n_init=_STARTS)
    return np.column_stack(
        [
            model_error(found, optima[0], first),
            same_partition(found.labels, truth, k),
        ]
    )


COORDINATES = add_experiment(
    name="odcl.coordinates",
    design=229,
    columns=("error_k", "same"),
    simulate=simulate,
    parameters=Parameters(USERS, (corners_fit, fits_fit)),
    block_size=64,
    cost=lambda cell: 2e-6 * users(cell) * cell["d"] + 2e-5,
)

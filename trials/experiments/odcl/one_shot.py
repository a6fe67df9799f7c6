"""ODCL on exact laws of the local fits: recovery of the clusters and error of their means.

``odcl.one-shot`` (design 223): K clusters of users, optima at the corners of a simplex with edges
Delta, local fits from the law of least squares with Gaussian features.  All clusters have
``size_k`` users, but the last has ``size_min``.

* ``km``: 1 where K-means++ (the best of four starts) recovers the clusters, else 0.
* ``interval``: 1 where the interval (13) of the true clusters is not empty, else 0.  Every penalty
  in it then recovers them.
* ``error_k``: mean over the first cluster's users of the squared error of their model, ODCL-KM++.
* ``error_oracle``: the same for the mean of the first cluster's fits.
"""

from __future__ import annotations

import math

import numpy as np

from trials.checks import FloatArray, IntArray, InvalidParameter, check_drawn
from trials.clustering.kmeans import kmeans_pp
from trials.clustering.selection import recovery_interval
from trials.laws.least_squares import errors
from trials.parameters import Integer, Parameters, Real
from trials.run.cell import Params
from trials.run.experiment import Experiment, register

_STARTS = 4


def users(params: Params) -> int:
    """All users: K - 1 clusters of one size, and the smallest."""
    return int((params["k"] - 1) * params["size_k"] + params["size_min"])


def fits_exist(cell: Params) -> None:
    """n >= d: least squares needs as many samples as dimensions."""
    if cell["n"] < cell["d"]:
        raise InvalidParameter(f"n={cell['n']} must be >= d={cell['d']}")


def corners_fit(cell: Params) -> None:
    """d >= K: a simplex with K corners at orthogonal vectors."""
    if cell["d"] < cell["k"]:
        raise InvalidParameter(f"d={cell['d']} must be >= k={cell['k']}")


def fits_fit(cell: Params) -> None:
    """m d coordinates fit into memory."""
    check_drawn("coordinates m d", users(cell) * cell["d"])


def same_partition(labels: IntArray, truth: IntArray, k: int) -> FloatArray:
    """1 where a row of labels (B, m) is the true partition (m,) under other names, else 0."""
    pairs = labels * k + truth
    n_pairs = sum((pairs == pair).any(axis=1).astype(int) for pair in range(k * k))
    n_labels = sum((labels == label).any(axis=1).astype(int) for label in range(k))
    n_true = np.unique(truth).size
    return np.asarray((n_pairs == n_true) & (n_labels == n_true), dtype=np.float64)


def _simulate(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    k, d, first = params["k"], params["d"], params["size_k"]
    truth = np.repeat(np.arange(k), [first] * (k - 1) + [params["size_min"]])
    m = truth.size
    optima = params["Delta"] / math.sqrt(2) * np.eye(k, d)
    deviations = errors(params["n"], d, params["sigma"], rng, n_trials * m).reshape(n_trials, m, d)
    fits = optima[truth] + deviations
    found = kmeans_pp(fits, k, rng, n_init=_STARTS)
    interval = recovery_interval(fits, np.broadcast_to(truth, (n_trials, m)))
    models = np.take_along_axis(found.centers, found.labels[:, :first, None], axis=1)
    oracle = deviations[:, :first].mean(axis=1)
    return np.column_stack(
        [
            same_partition(found.labels, truth, k),
            (interval.lower < interval.upper).astype(np.float64),
            ((models - optima[0]) ** 2).sum(axis=2).mean(axis=1),
            (oracle**2).sum(axis=1),
        ]
    )


ONE_SHOT = register(
    Experiment(
        name="odcl.one-shot",
        design=223,
        columns=("km", "interval", "error_k", "error_oracle"),
        simulate=_simulate,
        parameters=Parameters(
            {
                "n": Integer(1, 10**12, default=100, meaning="samples of a user"),
                "k": Integer(2, 100, default=2, meaning="clusters"),
                "d": Integer(2, 10_000, default=4, meaning="dimension"),
                "size_k": Integer(1, 10**5, default=10, meaning="users of a cluster"),
                "size_min": Integer(1, 10**5, default=10, meaning="users of the last cluster"),
                "Delta": Real(0.0, 1e9, open_low=True, default=1.0, meaning="separation"),
                "sigma": Real(0.0, 1e9, open_low=True, default=1.0, meaning="noise level"),
            },
            (fits_exist, corners_fit, fits_fit),
        ),
        block_size=64,
    )
)

r"""ODCL on a bounded design in several dimensions, from the exact law of its local fits.

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

from trials.checks import FloatArray
from trials.clustering.kmeans import kmeans_pp
from trials.experiments.odcl.one_shot import corners_fit, fits_fit, same_partition, users
from trials.parameters import Integer, Parameters, Real
from trials.run.cell import Params
from trials.run.experiment import Experiment, register

_STARTS = 4


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
    models = np.take_along_axis(found.centers, found.labels[:, :first, None], axis=1)
    return np.column_stack(
        [
            ((models - optima[0]) ** 2).sum(axis=2).mean(axis=1),
            same_partition(found.labels, truth, k),
        ]
    )


COORDINATES = register(
    Experiment(
        name="odcl.coordinates",
        design=229,
        columns=("error_k", "same"),
        simulate=simulate,
        parameters=Parameters(
            {
                "n": Integer(1, 10**12, default=100, meaning="samples of a user"),
                "k": Integer(2, 100, default=2, meaning="clusters"),
                "d": Integer(2, 10_000, default=4, meaning="dimension"),
                "size_k": Integer(1, 10**5, default=10, meaning="users of a cluster"),
                "size_min": Integer(1, 10**5, default=10, meaning="users of the last cluster"),
                "Delta": Real(0.0, 1e9, open_low=True, default=1.0, meaning="separation"),
                "sigma": Real(0.0, 1e9, open_low=True, default=1.0, meaning="noise"),
            },
            (corners_fit, fits_fit),
        ),
        block_size=64,
        cost=lambda cell: 2e-6 * users(cell) * cell["d"] + 2e-5,
    )
)

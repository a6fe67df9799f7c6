"""Part I of spectral K-means on the fits of users in clusters (design 260, ``odcl.part-one``).

The fits are normal about their cluster's optimum, in units of their standard deviation.  The optima
lie on a regular simplex where the dimension allows it, else on a line, ``distance`` apart.

* ``own_share``: the smallest share of a true cluster that its found cluster holds.
* ``foreign_share``: the largest number of foreign users of a found cluster over the size of the
  true one.
"""

from __future__ import annotations

import numpy as np

from trials.checks import FloatArray, IntArray
from trials.clustering.kmeans import spectral_part_one
from trials.models.matching import overlaps
from trials.parameters import Integer, Parameters, Real
from trials.run.cell import Params
from trials.run.experiment import Experiment, register


def cluster_labels(k: int, size_min: int, ratio: int) -> IntArray:
    """(m,) labels of one cluster of ``size_min`` users and k - 1 of ``ratio`` times as many."""
    return np.repeat(np.arange(k), [size_min] + [ratio * size_min] * (k - 1))


def unit_optima(k: int, d: int) -> FloatArray:
    """(k, d) optima, the nearest one apart: a regular simplex where d >= k, else on a line."""
    if d >= k:
        return np.asarray(np.eye(k, d) / np.sqrt(2.0))
    optima = np.zeros((k, d))
    optima[:, 0] = np.arange(k)
    return optima


def _simulate(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    labels = cluster_labels(params["k"], params["size_min"], params["ratio"])
    optima = params["distance"] * unit_optima(params["k"], params["d"])
    noise = rng.standard_normal((n_trials, labels.size, params["d"]))
    found, _ = spectral_part_one(optima[labels] + noise, params["k"], rng)
    out = np.empty((n_trials, 2))
    for trial, found_labels in enumerate(found.labels):
        table = overlaps(found_labels, labels, params["k"])
        sizes, kept = table.sum(axis=1), np.diag(table)
        out[trial] = (kept / sizes).min(), ((table.sum(axis=0) - kept) / sizes).max()
    return out


PART_ONE = register(
    Experiment(
        name="odcl.part-one",
        design=260,
        columns=("own_share", "foreign_share"),
        simulate=_simulate,
        block_size=64,
        parameters=Parameters(
            {
                "k": Integer(2, 100, default=3, meaning="clusters"),
                "size_min": Integer(1, 1000, default=4, meaning="users of the smallest cluster"),
                "ratio": Integer(1, 100, default=1, meaning="size of the others over it"),
                "d": Integer(1, 1000, default=5, meaning="dimension of a model"),
                "distance": Real(
                    0.0,
                    1e9,
                    default=100.0,
                    meaning="smallest distance of two optima, in standard deviations of a fit",
                ),
            }
        ),
    )
)

"""Clusterings of normal fits about optima on a simplex or a line.

``odcl.part-one`` (design 260): Part I of spectral K-means on the fits of users in clusters.  The
fits are normal about their cluster's optimum, in units of their standard deviation.  The optima lie
on a regular simplex where the dimension allows it, else on a line, ``distance`` apart.

* ``own_share``: the smallest share of a true cluster that its found cluster holds.
* ``foreign_share``: the largest number of foreign users of a found cluster over the size of the
  true one.

``odcl.needed-distance`` (design 261): fits are normal with standard deviation one about optima on
a regular simplex, or on a line where d < k.  The distance is searched for on the same noise for
both algorithms.

* ``cc_squared``: the smallest squared distance from which on some penalty of convex clustering
  recovers the clusters, by the exact window.
* ``km_squared``: the largest squared distance of a ladder at which spectral K-means fails.

The number of samples that an algorithm needs at a given distance of the optima is proportional to
these, because the variance of a fit falls as 1/n.  Both have the resolution of the ladder.
"""

from __future__ import annotations

import numpy as np

from trials.checks import FloatArray, IntArray
from trials.clustering.kmeans import spectral_kmeans, spectral_part_one
from trials.clustering.recovery import last_fusion, stay_apart
from trials.experiments.odcl.one_shot import same_partition
from trials.models.matching import overlaps
from trials.parameters import Integer, Parameters, Real
from trials.run.cell import Params
from trials.run.experiment import add_experiment


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


def _simulate_part_one(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    labels = cluster_labels(params["k"], params["size_min"], params["ratio"])
    optima = params["distance"] * unit_optima(params["k"], params["d"])
    noise = rng.standard_normal((n_trials, labels.size, params["d"]))
    found, _ = spectral_part_one(optima[labels] + noise, params["k"], rng)
    out = np.tile([1.0, 0.0], (n_trials, 1))
    for trial in np.flatnonzero(same_partition(found.labels, labels, params["k"]) == 0.0):
        table = overlaps(found.labels[trial], labels, params["k"])
        sizes, kept = table.sum(axis=1), np.diag(table)
        out[trial] = (kept / sizes).min(), ((table.sum(axis=0) - kept) / sizes).max()
    return out


PART_ONE = add_experiment(
    name="odcl.part-one",
    design=260,
    columns=("own_share", "foreign_share"),
    simulate=_simulate_part_one,
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


# -- how far apart the optima must be --------------------------------------------------------------

#: Ratio of neighbouring distances of the ladder, and its largest distance over the smallest.
RUNG = 1.1
LADDER = RUNG ** np.arange(80)
_ROUGH = 1e-3  # relative width of the limits of a penalty that is compared with those of rungs


def convex_distance(optima: FloatArray, noise: FloatArray, labels: IntArray) -> float:
    """The smallest rung at which the clusters are one before two of them are.

    ``optima`` (k, d) at distance one, ``noise`` (m, d).  Rungs are far apart, so a rough penalty
    that makes every cluster one is enough for nearly all data.
    """
    k = optima.shape[0]
    groups = [noise[labels == j] for j in range(k)]
    means = np.stack([group.mean(axis=0) for group in groups])

    def first_apart(penalty: float) -> int:
        low, high = 0, LADDER.size - 1
        while low < high:
            middle = (low + high) // 2
            if stay_apart(LADDER[middle] * optima + means, labels, penalty):
                high = middle
            else:
                low = middle + 1
        return low

    fused = last_fusion(groups, _ROUGH)
    rung = first_apart(fused.high)
    if rung > 0 and stay_apart(LADDER[rung - 1] * optima + means, labels, fused.low):
        rung = first_apart(last_fusion(groups).high)
    return float(LADDER[rung])


def kmeans_distance(
    optima: FloatArray, noise: FloatArray, labels: IntArray, rng: np.random.Generator
) -> float:
    """The largest rung at which spectral K-means does not find the clusters."""
    k = optima.shape[0]
    points = LADDER[:, None, None] * optima[labels] + noise
    found = spectral_kmeans(points, k, rng).labels
    wrong = np.flatnonzero(same_partition(found, labels, k) == 0.0)
    return float(LADDER[wrong.max(initial=0)])


def _simulate_distances(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    k, d = params["k"], params["d"]
    size = params["size"]
    labels = np.repeat(np.arange(k), [size * params["ratio"]] + [size] * (k - 1))
    optima = unit_optima(k, d)
    out = np.empty((n_trials, 2))
    for trial in range(n_trials):
        noise = rng.standard_normal((labels.size, d))
        out[trial, 0] = convex_distance(optima, noise, labels) ** 2
        out[trial, 1] = kmeans_distance(optima, noise, labels, rng) ** 2
    return out


NEEDED_DISTANCE = add_experiment(
    name="odcl.needed-distance",
    design=261,
    columns=("cc_squared", "km_squared"),
    simulate=_simulate_distances,
    block_size=16,
    parameters=Parameters(
        {
            "k": Integer(2, 50, default=4, meaning="clusters"),
            "size": Integer(1, 200, default=10, meaning="users of a cluster"),
            "ratio": Integer(1, 200, default=1, meaning="users of the first cluster over size"),
            "d": Integer(1, 500, default=8, meaning="dimension of a model"),
        }
    ),
)

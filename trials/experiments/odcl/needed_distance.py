"""How far apart the optima must be for a clustering to recover (design 261).

Experiment ``odcl.needed-distance``.  Fits are normal with standard deviation one about optima on a
regular simplex, or on a line where d < k.  The distance is searched for on the same noise for both
algorithms.

* ``cc_squared``: the smallest squared distance from which on some penalty of convex clustering
  recovers the clusters, by the exact window.
* ``km_squared``: the largest squared distance of a ladder at which spectral K-means fails.

The number of samples that an algorithm needs at a given distance of the optima is proportional to
these, because the variance of a fit falls as 1/n.  Both have the resolution of the ladder.
"""

from __future__ import annotations

import numpy as np

from trials.checks import FloatArray, IntArray
from trials.clustering.kmeans import spectral_kmeans
from trials.clustering.recovery import first_merge, fusion
from trials.experiments.odcl.part_one import unit_optima
from trials.models.matching import overlaps
from trials.parameters import Integer, Parameters
from trials.run.cell import Params
from trials.run.experiment import Experiment, register

#: Ratio of neighbouring distances of the ladder, and its largest distance over the smallest.
RUNG = 1.1
LADDER = RUNG ** np.arange(80)


def _fusing(noise: FloatArray, labels: IntArray, k: int) -> float:
    """The penalty that makes every cluster one, whatever the distance of the optima."""
    return max(fusion(noise[labels == j]).high for j in range(k))


def convex_distance(optima: FloatArray, noise: FloatArray, labels: IntArray) -> float:
    """The smallest rung at which the clusters are one before two of them are.

    ``optima`` (k, d) at distance one, ``noise`` (m, d).
    """
    k = optima.shape[0]
    fused = _fusing(noise, labels, k)
    means = np.stack([noise[labels == j].mean(axis=0) for j in range(k)])
    low, high = 0, LADDER.size - 1
    while low < high:
        middle = (low + high) // 2
        if first_merge(LADDER[middle] * optima + means, labels).low > fused:
            high = middle
        else:
            low = middle + 1
    return float(LADDER[low])


def kmeans_distance(
    optima: FloatArray, noise: FloatArray, labels: IntArray, rng: np.random.Generator
) -> float:
    """The largest rung at which spectral K-means does not find the clusters."""
    k = optima.shape[0]
    points = LADDER[:, None, None] * optima[labels] + noise
    found = spectral_kmeans(points, k, rng).labels
    wrong = [np.trace(overlaps(one, labels, k)) < labels.size for one in found]
    return float(LADDER[np.flatnonzero(wrong).max(initial=0)])


def _simulate(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
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


NEEDED_DISTANCE = register(
    Experiment(
        name="odcl.needed-distance",
        design=261,
        columns=("cc_squared", "km_squared"),
        simulate=_simulate,
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
)

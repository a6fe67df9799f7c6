r"""One-shot clustering of many users: weights between nearest neighbours, against subsamples.

``odcl.neighbours`` (design 230): K clusters of users, optima at the corners of a simplex with edges
Delta, local fits from the law of least squares with Gaussian features.  The last cluster has
``size_min`` users, and the others share the rest.  The error of a method is the users' mean of
:math:`|\tilde\theta_i-\theta^\star_{(i)}|^2`.

Every method gets the number of clusters K, and chooses among its own clusterings the one of least
sum of squared distances.  The K largest groups of a clustering stay, and every other user joins the
nearest of their means.  No method reads the true clusters.

* ``neighbours``: convex clustering of all fits with weights between nearest neighbours (Armacki et
  al. 2024, Remark 23; weights of Sun, Toh & Yuan 2021), on a ladder of penalties.  Fusions on the
  path are not certified.
* ``uniform``: convex clustering of the first ``sample`` users with equal weights, at every
  breakpoint of its path.  Every other user joins the nearest mean.
* ``asked``: the same, but only these users send their fits.  The others receive the K means and
  take the one nearest to their own fit.
* ``km``: the best of ten starts of K-means++ on all fits.
* ``oracle``, ``local``: the means of the true clusters, and the local fits themselves.
* ``neighbours_same``, ``uniform_same``, ``km_same``: 1 where the clusters are the true ones, else
  0.
* ``parts``: connected components of the graph of neighbours.
* ``sent``, ``asked_sent``: floats that all users send, for all methods but ``asked``, and for it.
* ``received``, ``asked_received``: floats that all users receive, in the same order.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.sparse.csgraph import connected_components

from trials.checks import FloatArray, IntArray, InvalidParameter
from trials.clustering.convex import convex_clustering_path
from trials.clustering.kmeans import kmeans_pp
from trials.clustering.sparse import (
    fusing_penalty,
    neighbour_weights,
    sparse_convex_clustering_path,
)
from trials.experiments.odcl.one_shot import corners_fit, fits_exist, same_partition
from trials.laws.least_squares import errors
from trials.parameters import Integer, Parameters, Real, fits_in_memory
from trials.run.cell import Params
from trials.run.experiment import add_experiment, each_trial

_STARTS = 10
#: Neighbours and decay as Sun, Toh & Yuan (2021), Section 5.
_NEIGHBOURS, _DECAY = 10, 0.5
#: Penalties: the one that fuses all that can be fused, and so many halves of the last one.
_HALVES = 10


def sizes(params: Params) -> IntArray:
    """Users of each cluster (K,), the smallest last."""
    k, rest = params["k"], params["m"] - params["size_min"]
    return np.array([(rest + i) // (k - 1) for i in range(k - 1)] + [params["size_min"]])


def group_means(fits: FloatArray, labels: IntArray, k: int) -> FloatArray:
    """(k, d) means of the groups, infinite where a group is empty."""
    count = np.bincount(labels, minlength=k)
    sums = np.stack([np.bincount(labels, column, k) for column in fits.T], axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(count[:, None] > 0, sums / count[:, None], math.inf))


def nearest(fits: FloatArray, centres: FloatArray) -> IntArray:
    """(m,) the nearest centre of each fit."""
    distance = np.stack([((fits - centre) ** 2).sum(axis=1) for centre in centres])
    return np.asarray(distance.argmin(axis=0))


def complete_groups(fits: FloatArray, labels: IntArray, k: int) -> IntArray:
    """(m,) the k largest groups, which every other user joins by the nearest mean."""
    count = np.bincount(labels)
    largest = np.argsort(-count, kind="stable")[:k]
    place = np.full(count.size, -1)
    place[largest] = np.arange(largest.size)
    groups = place[labels]
    rest = groups < 0
    if rest.any():
        groups[rest] = nearest(fits[rest], group_means(fits[~rest], groups[~rest], largest.size))
    return np.asarray(groups)


def cost(fits: FloatArray, labels: IntArray, k: int) -> float:
    """Sum of squared distances of fits (m, d) from the means of their groups."""
    return float(((fits - group_means(fits, labels, k)[labels]) ** 2).sum())


def cheapest(fits: FloatArray, clusterings: list[IntArray], k: int) -> IntArray:
    """(m,) the completed clustering of least cost.  The first one wins among equals."""
    groups = [complete_groups(fits, labels, k) for labels in clusterings]
    return groups[int(np.argmin([cost(fits, labels, k) for labels in groups]))]


def neighbour_clusterings(fits: FloatArray) -> tuple[list[IntArray], int]:
    """Labels (m,) of fits (m, d) at each penalty of the ladder, and the graph's components."""
    weights = neighbour_weights(fits, _NEIGHBOURS, decay=_DECAY, relative=True)
    ladder = fusing_penalty(fits, weights) / 2.0 ** np.arange(_HALVES, -1, -1)
    path = sparse_convex_clustering_path(fits, ladder, weights, flows=False, keep_centres=False)
    parts, _ = connected_components(weights, directed=False)
    return [labels.astype(np.int64) for labels in path.labels], int(parts)


def uniform_clusterings(fits: FloatArray) -> list[IntArray]:
    """Labels (m,) after each breakpoint of the path with equal weights on (m, d) fits."""
    path = convex_clustering_path(fits)
    return [path.labels(penalty) for penalty in path.breakpoints]


def _one(params: Params, rng: np.random.Generator) -> list[float]:
    k, d, m, sample = (params[name] for name in ("k", "d", "m", "sample"))
    truth = rng.permutation(np.repeat(np.arange(k), sizes(params)))
    optima = params["Delta"] / math.sqrt(2) * np.eye(k, d)
    own = optima[truth]
    fits = own + errors(params["n"], d, params["sigma"], rng, m)

    def error(models: FloatArray) -> float:
        return float(((models - own) ** 2).sum(axis=1).mean())

    clusterings, parts = neighbour_clusterings(fits)
    asked = fits[:sample]
    centres = group_means(asked, cheapest(asked, uniform_clusterings(asked), k), k)
    found = {
        "neighbours": cheapest(fits, clusterings, k),
        "uniform": nearest(fits, centres),
        "km": kmeans_pp(fits[None], k, rng, n_init=_STARTS).labels[0],
    }
    models = {name: group_means(fits, labels, k)[labels] for name, labels in found.items()}
    return [
        *(error(models[name]) for name in ("neighbours", "uniform")),
        error(centres[found["uniform"]]),
        error(models["km"]),
        error(group_means(fits, truth, k)[truth]),
        error(fits),
        *same_partition(np.stack(list(found.values())), truth, k).tolist(),
        float(parts),
        float(m * d),
        float(sample * d),
        float(m * d),
        float(sample * d + (m - sample) * k * d),
    ]


def sizes_fit(cell: Params) -> None:
    """The last cluster is the smallest one, and the sample is a part of the users."""
    if cell["size_min"] * cell["k"] > cell["m"]:
        raise InvalidParameter(
            f"size_min={cell['size_min']} must be <= m/k={cell['m'] / cell['k']:g}"
        )
    if not cell["k"] <= cell["sample"] <= cell["m"]:
        raise InvalidParameter(
            f"sample={cell['sample']} must be between k={cell['k']} and m={cell['m']}"
        )
    if cell["m"] <= _NEIGHBOURS:
        raise InvalidParameter(f"m={cell['m']} must be > {_NEIGHBOURS} neighbours")


NEIGHBOURS = add_experiment(
    name="odcl.neighbours",
    design=230,
    columns=(
        "neighbours", "uniform", "asked", "km", "oracle", "local",
        "neighbours_same", "uniform_same", "km_same", "parts",
        "sent", "asked_sent", "received", "asked_received",
    ),
    simulate=each_trial(_one),
    parameters=Parameters(
        {
            "m": Integer(11, 10**7, default=1000, meaning="users"),
            "size_min": Integer(1, 10**7, default=20, meaning="users of the last cluster"),
            "sample": Integer(2, 2000, default=100, meaning="users of the subsample"),
            "n": Integer(1, 10**12, default=200, meaning="samples of a user"),
            "k": Integer(2, 100, default=5, meaning="clusters"),
            "d": Integer(2, 100, default=5, meaning="dimension"),
            "Delta": Real(0.0, 1e9, open_low=True, default=1.0, meaning="separation"),
            "sigma": Real(0.0, 1e9, open_low=True, default=1.0, meaning="noise level"),
        },
        (sizes_fit, fits_exist, corners_fit, fits_in_memory("coordinates", "m", "d")),
    ),
    block_size=1,
    cost=lambda cell: 2e-4 * cell["m"] + 3e-6 * cell["sample"] ** 2,
)  # fmt: skip

"""Distances between sets of models whose clusters carry no names: best over permutations."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from trials.checks import FloatArray
from trials.parameters import Array, validated

_RUNS, _MODELS = Array(("R", "k", "d")), Array(("k", "d"))


@validated(distances=Array(("k", "k"), low=0.0))
def bottleneck(distances: FloatArray) -> float:
    """Smallest, over permutations, of the largest assigned distance.

    ``distances`` is (k, k).  Cost: O(k^3 log k).
    """
    levels = np.unique(distances)
    low, high = 0, levels.size - 1
    while low < high:
        middle = (low + high) // 2
        graph = csr_array((distances <= levels[middle]).astype(np.int8))
        if np.all(maximum_bipartite_matching(graph) >= 0):
            high = middle
        else:
            low = middle + 1
    return float(levels[low])


@validated(models=_MODELS, reference=_MODELS)
def bottleneck_distance(models: ArrayLike, reference: ArrayLike) -> float:
    r"""(6): :math:`\min_\pi\max_j\lVert\hat\theta_{\pi(j)}-\theta_j^*\rVert`, both (k, d)."""
    found, truth = np.asarray(models), np.asarray(reference)
    gaps = np.linalg.norm(found[:, None] - truth[None], axis=2)
    nearest = gaps.argmin(axis=0)
    if np.unique(nearest).size == len(nearest):  # each centre has a nearest model of its own
        return float(gaps.min(axis=0).max())
    return bottleneck(gaps)


@validated(models=_RUNS, reference=_MODELS)
def model_distance(models: FloatArray, reference: FloatArray) -> FloatArray:
    """Mean distance of the models of each run to the reference, clusters matched at best.

    .. math:: \\min_{\\pi \\in S_k} \\frac1k \\sum_{j=1}^k
              \\lVert \\hat\\theta_{\\pi(j)} - \\theta^*_j \\rVert

    The paper's ``dist`` (NeurIPS 2020, section 6.1) is printed without the minimum; a random start
    carries no names of clusters, so the minimum is the only reading under which a success is not
    decided by the order of the starts.  Never larger than the printed form.

    Parameters
    ----------
    models : (R, k, d).
    reference : (k, d).

    Returns
    -------
    (R,) distances.  O(R k^2 (d + k)).
    """
    gaps = np.stack([np.linalg.norm(models - r, axis=-1) for r in reference], axis=-1)
    matched = [gap[linear_sum_assignment(gap)].mean() for gap in gaps]
    return np.asarray(matched, dtype=np.float64)


@validated(models=_RUNS, reference=_MODELS)
def nearest_distance(models: FloatArray, reference: FloatArray) -> FloatArray:
    """Mean over the models of the distance to the *nearest* reference model, (R,).

    What the authors' published code calls ``min_dist``: two models may share one true model, so
    it is never larger than `trials.models.matching.model_distance` and can call a collapsed run a
    success.
    """
    gaps = np.stack([np.linalg.norm(models - r, axis=-1) for r in reference], axis=-1)
    return np.asarray(gaps.min(axis=-1).mean(axis=-1))

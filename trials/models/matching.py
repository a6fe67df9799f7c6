"""Models and clusters that have no order: distances and overlaps, best over permutations."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from trials.checks import FloatArray, IntArray, InvalidParameter
from trials.norms import last_axis_lengths
from trials.parameters import Array, Integer, validated

_RUNS, _MODELS = Array(("R", "k", "d")), Array(("k", "d"))


@validated(distances=Array(("k", "k"), low=0.0))
def bottleneck(distances: FloatArray) -> float:
    """Smallest, over permutations, of the largest assigned distance.

    ``distances`` is (k, k).  Cost: O(k^2) where each column has its smallest entry in another row,
    and O(k^3 log k) otherwise.
    """
    nearest = distances.argmin(axis=0)
    if len(set(nearest.tolist())) == len(nearest):  # each column has a nearest row of its own
        return float(distances.min(axis=0).max())
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
    gaps = last_axis_lengths(found[:, None] - truth[None])
    return bottleneck(gaps)


def bottleneck_distances(models: FloatArray, reference: FloatArray) -> FloatArray:
    """The distance (6) of each of R sets of finite models (R, k, d), (R,).

    The reference is (k, d), or (R, 1, k, d) where each set has its own.
    """
    gaps = last_axis_lengths(models[:, :, None] - reference)
    nearest = np.sort(gaps.argmin(axis=1), axis=1)
    found = np.asarray(gaps.min(axis=1).max(axis=1))
    for r in np.flatnonzero((nearest[:, 1:] == nearest[:, :-1]).any(axis=1)):
        found[r] = bottleneck(gaps[r])
    return found


@validated(models=_RUNS, reference=_MODELS)
def model_distance(models: FloatArray, reference: FloatArray) -> FloatArray:
    """Mean distance of the models of each run to the reference, clusters matched at best.

    .. math:: \\min_{\\pi \\in S_k} \\frac1k \\sum_{j=1}^k
              \\lVert \\hat\\theta_{\\pi(j)} - \\theta^*_j \\rVert

    The paper prints its ``dist`` (NeurIPS 2020, section 6.1) without the minimum.  The models of a
    random start do not belong to any cluster.  So without the minimum the order of the models would
    decide about a success.  This distance is never larger than the printed one.

    Parameters
    ----------
    models : (R, k, d).
    reference : (k, d).

    Returns
    -------
    (R,) distances, in the unit of the models.  O(R k^2 (d + k)).

    Raises
    ------
    InvalidParameter : shapes that do not fit, or entries that are not finite.

    Examples
    --------
    >>> import numpy as np
    >>> model_distance(np.array([[[0.0], [3.0]]]), np.array([[3.0], [1.0]])).tolist()
    [0.5]
    """
    gaps = np.stack([last_axis_lengths(models - r) for r in reference], axis=-1)
    matched = [gap[linear_sum_assignment(gap)].mean() for gap in gaps]
    return np.asarray(matched, dtype=np.float64)


@validated(models=_RUNS, reference=_MODELS)
def nearest_distance(models: FloatArray, reference: FloatArray) -> FloatArray:
    """Mean over the models of the distance to the *nearest* reference model, (R,).

    What the authors' published code calls ``min_dist``: two models may share one true model, so
    it is never larger than `trials.models.matching.model_distance` and can call a collapsed run a
    success.
    """
    gaps = np.stack([last_axis_lengths(models - r) for r in reference], axis=-1)
    return np.asarray(gaps.min(axis=-1).mean(axis=-1))


_LABELS = Array(("m",), low=0, whole=True)


@validated(found=_LABELS, labels=_LABELS, k=Integer(1, 1_000_000, meaning="clusters"))
def overlaps(found: ArrayLike, labels: ArrayLike, k: int) -> IntArray:
    """Points of each true cluster in each found cluster, clusters matched at best.

    Parameters
    ----------
    found, labels : (m,) numbers of the found and of the true cluster, each in 0..k-1.

    Returns
    -------
    (k, k) counts.  Row j is true cluster j, column j the found cluster that is matched to it, so
    the trace is the largest number of points that can be put right by naming the clusters.

    Raises
    ------
    InvalidParameter : Labels of different lengths or outside 0..k-1.

    Examples
    --------
    >>> overlaps([1, 1, 0], [0, 0, 1], 2).tolist()
    [[2, 0], [0, 1]]
    """
    one, true = np.asarray(found), np.asarray(labels)
    if max(one.max(), true.max()) >= k:
        raise InvalidParameter(f"labels up to {max(one.max(), true.max())} must be below k={k}")
    table = np.zeros((k, k), dtype=np.int64)
    np.add.at(table, (true, one), 1)
    rows, columns = linear_sum_assignment(-table)
    return table[:, columns[np.argsort(rows)]]

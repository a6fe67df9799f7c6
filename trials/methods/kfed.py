r"""k-FED: one-shot federated clustering by local k-means (Dennis, Li & Smith, ICML 2021).

"Heterogeneity for the Win: One-Shot Federated Clustering", Algorithms 1 and 2.  Device z clusters
its own points into :math:`k^{(z)}\le k` parts by the method of Awasthi & Sheffet and sends their
centres.  The centre

1. begins with the centres of one device,
2. adds the centre that is farthest from those taken, until there are k,
3. runs one round of Lloyd's iteration on all centres that were sent: labels, then means.

A point gets the label of its local centre.

*Readings.*  (a) The paper's devices have several clusters each.  A client of clustered federated
learning has one model, so its centre is one local model, and step 2 is the farthest-first choice
among all local models.  (b) "Pick any z": ``first`` is a device, by default that of the largest
number of centres (the first among equals).  If it sent more than k, its first k are taken.
(c) ``weights``: the means of step 3 count centres equally, as printed, or by their points.

*The authors' code* (metastableB/kfed) begins with the first device and then runs Lloyd's iteration
to its end, not for one round.  On 200 data sets of 40 centres and k = 4 both had the same centres
in 118, and in all 200 when Lloyd's iteration was continued from the seeds ``chosen`` here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trials.checks import FloatArray, IntArray, InvalidParameter, finite_batch, integer_between
from trials.clustering.kmeans import assign, spectral_kmeans, transpose
from trials.clustering.units import divide_by_units, own_units
from trials.methods.updates import means
from trials.parameters import Integer, Stream, validated


@dataclass(frozen=True, kw_only=True)
class KFedResult:
    """The clusters of all centres that were sent.

    Attributes
    ----------
    centers : (k, d) means after one round.
    labels : one (k_z,) array a device, the clusters of its centres.
    chosen : (k,) the seeds, as numbers of the centres one device after the other.
    """

    centers: FloatArray
    labels: list[IntArray]
    chosen: IntArray


@validated(k=Integer(1))
def run_kfed(
    local_centers: Sequence[ArrayLike],
    k: int,
    *,
    first: int | None = None,
    weights: Sequence[ArrayLike] | None = None,
) -> KFedResult:
    """The centre's part of k-FED.

    Parameters
    ----------
    local_centers : one (k_z, d) array a device, k_z >= 1.
    k : clusters, at most the number of centres in all.
    first : device that step 1 begins with.
    weights : points of each centre, one (k_z,) array a device, or None for equal ones.

    Examples
    --------
    >>> found = run_kfed([[[0.0], [9.0]], [[1.0]], [[10.0]]], 2)
    >>> found.centers.tolist(), [own.tolist() for own in found.labels]
    ([[0.5], [9.5]], [[0, 1], [0], [1]])
    """
    if not isinstance(local_centers, list | tuple) or not local_centers:
        raise InvalidParameter("local_centers must be a list of arrays (k_z, d), one a device")
    tables = [
        finite_batch(f"local_centers[{z}]", t, ("k", "d")) for z, t in enumerate(local_centers)
    ]
    if len({table.shape[1] for table in tables}) != 1:
        raise InvalidParameter("local_centers must hold arrays (k_z, d) of one dimension d")
    counts = np.array([len(table) for table in tables])
    points = np.concatenate(tables)
    unit = own_units(points[None])  # squares of smaller differences would be zero
    points = divide_by_units(points[None], unit)[0]
    k = integer_between("k", k, 1, len(points), "the number of centres that were sent")
    begin = int(np.argmax(counts)) if first is None else integer_between(
        "first", first, 0, len(tables) - 1
    )  # fmt: skip
    top = int(counts[:begin].sum())
    chosen = list(range(top, top + min(int(counts[begin]), k)))
    # Farthest-first traversal keeps the distance from the nearest chosen centre, O(n k d) in all.
    nearest = ((points[:, None] - points[chosen]) ** 2).sum(axis=2).min(axis=1)
    while len(chosen) < k:
        # The first of the farthest, where several are.
        chosen.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
    labels = _nearest(points, points[chosen])
    share = np.ones(len(points)) if weights is None else _shares(weights, counts, labels)
    # A weighted mean is the ratio of two plain means over the same labels, and an empty cluster
    # keeps its point, since both then return their defaults.
    weighted = means(points * share[:, None], labels, k, points[chosen])
    scale = means(share[:, None], labels, k, np.ones((k, 1)))
    return KFedResult(
        centers=weighted / scale * unit[0], labels=np.split(labels, np.cumsum(counts)[:-1]),
        chosen=np.asarray(chosen),
    )  # fmt: skip


def _shares(weights: Sequence[ArrayLike], counts: IntArray, labels: IntArray) -> FloatArray:
    """The weights of all centres, one device after the other, each cluster's in its own unit."""
    if not isinstance(weights, list | tuple) or len(weights) != len(counts):
        raise InvalidParameter(f"weights must be a list of {len(counts)} arrays, one a device")
    own = [finite_batch(f"weights[{z}]", each, ("k",)) for z, each in enumerate(weights)]
    for z, (each, count) in enumerate(zip(own, counts, strict=True)):
        if len(each) != count or not (each > 0.0).all():
            raise InvalidParameter(
                f"weights[{z}] must hold one number > 0 for each of {count} centres"
            )
    found = np.concatenate(own)
    # Only ratios within a cluster count.  A power of two changes no digit, and keeps the products
    # with the centres.  One for all clusters would leave nothing of light ones.
    largest = np.zeros(labels.max() + 1)
    np.maximum.at(largest, labels, found)
    return np.asarray(np.ldexp(found, -np.frexp(largest)[1][labels]))


@validated(k_local=Integer(1), rng=Stream())
def local_kmeans(
    points: ArrayLike, k_local: int, rng: np.random.Generator
) -> tuple[FloatArray, IntArray]:
    """A device's part: centres (k', d) and labels (n,) of its points (n, d), k' = min(k_local, n).

    Algorithm 1 is the method of Awasthi & Sheffet, which is
    `trials.clustering.kmeans.spectral_kmeans`.
    """
    # A read-only array would be another type to Numba, and compile the kernels anew.
    table = np.require(finite_batch("points", points, ("n", "d")), requirements=["W"])
    fit = spectral_kmeans(table[None], min(k_local, len(table)), rng)
    return fit.centers[0], fit.labels[0]


def _nearest(points: FloatArray, centers: FloatArray) -> IntArray:
    """The nearest centre (n,) of each point, the first among equals."""
    n, d = points.shape
    turned, labels = np.empty((d, n)), np.empty(n, dtype=np.int64)
    transpose(points, turned)
    assign(turned, np.ascontiguousarray(centers), np.empty(n), np.empty(n), labels)
    return labels

r"""PACFL: clusters by the principal angles of the clients' features (Vahidian et al., AAAI 2023).

"Efficient Distribution Similarity Identification in Clustered Federated Learning via Principal
Angles Between Client Data Subspaces".  Before training client i sends the p leading left singular
vectors :math:`U_i` of its features, a client a column of them.  The centre computes a proximity,

.. math:: A_{ij}=\Theta_1(U_i,U_j)\quad\text{(smallest)}\qquad\text{or}\qquad
          A_{ij}=\operatorname{tr}\arccos(U_i^\top U_j)\quad\text{(trace)},

and clusters hierarchically, up to a threshold beta or k clusters.  Then each cluster trains.

**Its data model does not fit a mixture of regressions with one feature law.**  The features then
say nothing about the clusters.  It applies where every cluster has a covariance of its own.

*Readings.*  (a) The authors' code takes the least arccos of all *entries* of U_i'U_j.  This is no
principal angle: it changes with the signs of the singular vectors, which are arbitrary, and with
the basis.  Here "smallest" is the least principal angle, from the singular values of U_i'U_j.
(b) In "trace" corresponding vectors are compared, and their signs are taken out.  (c) "sum" adds
all principal angles, which two planes with one common line do not make zero.  It is the default,
because the smallest angle of two subspaces of p > d/2 dimensions is always zero.  (d) The
authors take vectors for each class of images.  ``p`` counts those of the whole client.  (e) Linkage
is average by default, and "complete" and "single" are the code's other two.  (The code's average is
that of two groups without their sizes, which is SciPy's "weighted".)
"""

from __future__ import annotations

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from trials.checks import FloatArray, IntArray, InvalidParameter
from trials.clustering.convex.problem import canonical
from trials.methods.trees import last_groups
from trials.models.clients import ClientData
from trials.norms import last_axis_lengths
from trials.parameters import Integer, Maybe, Options, Real, Record, validated

LINKAGES = ("average", "complete", "single", "weighted")
#: From this cosine on, rounding of the cosine is more than a trillionth of the angle.
_NEAR_ONE = 1.0 - 1e-6


@validated(data=Record(ClientData), p=Integer(1), measure=Options(("sum", "smallest", "trace")))
def proximity(data: ClientData, p: int = 3, measure: str = "sum") -> FloatArray:
    """Proximity (m, m) of the clients in radians, zero on the diagonal.

    Parameters
    ----------
    data : clients of any sizes.  One with fewer than p rows or features sends as many vectors, and
        a pair is compared by the smaller number.
    p : vectors of a client.
    measure : ``sum`` or ``smallest`` of the principal angles, or ``trace``.

    Examples
    --------
    >>> x = np.array([[[1.0, 0.0]], [[-2.0, 0.0]], [[0.0, 1.0]]])
    >>> proximity(ClientData.equal(x, np.zeros((3, 1))), p=1).round(4).tolist()
    [[0.0, 0.0, 1.5708], [0.0, 0.0, 1.5708], [1.5708, 1.5708, 0.0]]
    """
    bases = []
    for i in range(data.n_clients):
        own = data.features[data.offsets[i] : data.offsets[i + 1]]
        # Right singular vectors, because a sample is a row here and a column in the paper.
        bases.append(np.linalg.svd(own, full_matrices=False)[2][:p].T)
    found = np.zeros((data.n_clients, data.n_clients))
    for i, first in enumerate(bases):
        for j in range(i):
            angles = (_pair_angles if measure == "trace" else _principal_angles)(first, bases[j])
            found[i, j] = found[j, i] = angles.min() if measure == "smallest" else angles.sum()
    return found


def _pair_angles(first: FloatArray, second: FloatArray) -> FloatArray:
    """The angles of corresponding columns of (d, p) and (d, q), up to signs, (min(p, q),)."""
    r = min(first.shape[1], second.shape[1])
    one, two = first[:, :r], second[:, :r]
    products = np.diagonal(one.T @ two)
    angles = np.arccos(np.minimum(np.abs(products), 1.0))
    near = np.flatnonzero(np.abs(products) > _NEAR_ONE)
    # A cosine near 1 has lost the angle.  Half of it has the sine |u - v| / 2.
    gaps = one[:, near] - np.sign(products[near]) * two[:, near]
    angles[near] = 2.0 * np.arcsin(np.minimum(0.5 * last_axis_lengths(gaps.T), 1.0))
    return angles


def _principal_angles(first: FloatArray, second: FloatArray) -> FloatArray:
    """The principal angles of the spans of columns (d, p) and (d, q), ascending, (min(p, q),)."""
    if first.shape[1] < second.shape[1]:
        first, second = second, first
    product = first.T @ second
    cosines = np.linalg.svd(product, compute_uv=False)
    # Rounding may leave a cosine above 1, whose angle would be NaN.
    angles: FloatArray = np.arccos(np.minimum(cosines, 1.0))
    near = cosines > _NEAR_ONE
    if near.any():
        # A cosine near 1 has lost the angle.  What one span lacks of the other has its sine.
        sines = np.linalg.svd(second - first @ product, compute_uv=False)[::-1][: len(cosines)]
        angles[near] = np.arcsin(np.minimum(sines[near], 1.0))
    return angles


@validated(
    data=Record(ClientData),
    k=Maybe(Integer(1)),
    beta=Maybe(Real(0.0)),
    p=Integer(1),
    measure=Options(("sum", "smallest", "trace")),
    method=Options(LINKAGES),
)
def pacfl_clusters(
    data: ClientData,
    *,
    k: int | None = None,
    beta: float | None = None,
    p: int = 3,
    measure: str = "sum",
    method: str = "average",
) -> IntArray:
    """Clusters (m,) of the clients, numbered by their first client.

    Parameters
    ----------
    k, beta : number of clusters, or the largest proximity at which two groups merge.  One of them.
    p, measure : as in `proximity`.
    method : linkage.
    """
    if (k is None) == (beta is None):
        raise InvalidParameter(f"k={k} and beta={beta}: give one of them")
    if data.n_clients == 1:
        return np.zeros(1, dtype=np.int64)
    tree = linkage(squareform(proximity(data, p, measure), checks=False), method)
    if beta is not None:
        # SciPy numbers clusters by the tree.  The first client's order does not depend on it.
        return canonical(fcluster(tree, beta, "distance"))
    return last_groups(tree, min(k or 1, data.n_clients))  # no more clusters than clients

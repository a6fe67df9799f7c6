"""Records and validation of convex clustering problems."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trials.checks import FloatArray, IntArray, InvalidParameter, real_array, real_between
from trials.clustering.convex.certificate import Certificate


@dataclass(frozen=True, kw_only=True)
class ConvexClustering:
    """The solution of a convex clustering problem.

    Attributes
    ----------
    penalty : lambda.
    labels : (m,) partition, numbered in the order of the clusters' first points.
    centres : (k, d) value of each cluster.  The minimiser is ``centres[labels]``.
    primal : objective at the minimiser.
    gap : primal-dual gap of the returned centres against the certificate's dual point, an upper
        bound on ``primal - optimum`` (rounding included where ``certified``).
    certificate : the proof, or None.
    certified : whether the independent verifier accepted the certificate.  Then ``labels`` is the
        exact partition of the true minimiser.
    radius : proved bound on ``sqrt(sum_i |u_i - u*_i|^2)``, u the centres of the certificate, which
        are about the first point.  ``centres`` are rounded once more where that point is added.
    reason : the part that could not be proved, else an empty string.
    """

    penalty: float
    labels: IntArray
    centres: FloatArray
    primal: float
    gap: float
    certificate: Certificate | None
    certified: bool
    radius: float
    reason: str

    @property
    def minimiser(self) -> FloatArray:
        """(m, d) minimiser.  Rows of one cluster are equal bit for bit."""
        return np.asarray(self.centres[self.labels])

    @property
    def n_clusters(self) -> int:
        """Number of clusters k."""
        return int(self.centres.shape[0])


@dataclass(frozen=True, kw_only=True)
class Scaled:
    """A data set moved to its first point and scaled by a power of two, coordinates by rows.

    Attributes
    ----------
    points : (m, d), as given.
    x : (d, m) C-contiguous, entries at most 1 in size, first column 0.
    scale : power of two with ``points - points[0] = scale * x.T`` up to one rounding a number.
    """

    points: FloatArray
    x: FloatArray
    scale: float


def scale_points(points: ArrayLike) -> Scaled:
    """Validate and normalise a data set.

    Raises
    ------
    InvalidParameter : Not a (m, d) array of finite numbers with m, d >= 1, or a spread beyond
        1e307.
    """
    a = real_array("points", points)
    if a.ndim != 2 or a.shape[0] < 1 or a.shape[1] < 1:
        raise InvalidParameter(f"points.shape={a.shape} must be (m, d) with m, d >= 1")
    if not np.isfinite(a).all():
        i, c = np.argwhere(~np.isfinite(a))[0]
        raise InvalidParameter(f"points[{i}, {c}]={a[i, c]} must be finite")
    # Halving before subtracting cannot overflow.  The first point becomes the origin.
    spread = float(np.abs(0.5 * a - 0.5 * a[0]).max())
    if spread > 5e306:
        raise InvalidParameter(f"points spread over {2 * spread}, which must be at most 1e307")
    x = a - a[0]
    size = float(np.abs(x).max())
    scale = 2.0 ** math.frexp(size)[1] if size > 0.0 else 1.0
    return Scaled(points=a, x=np.ascontiguousarray((x / scale).T), scale=scale)


def check_penalty(penalty: float) -> float:
    """Validate a penalty: a finite number >= 0."""
    return real_between("penalty", penalty, 0.0)


def canonical(labels: IntArray) -> IntArray:
    """The same partition (m,), numbered in the order of first appearance."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(first.size, dtype=np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    return np.asarray(rank[inverse.reshape(-1)])


#: Scaled penalties are cut here: everything has long been fused, and products stay finite.
LARGEST_PENALTY = 1e100


def scaled_penalty(penalty: float, scale: float, factor: float = 1.0) -> float:
    """The penalty times ``factor / scale``, both powers of two, cut at `LARGEST_PENALTY`.

    It is not rounded to zero, because a penalty above zero is another problem than none.  A penalty
    of zero is zero at every scale.
    """
    if penalty == 0.0:  # its exponent means nothing
        return 0.0
    power = math.frexp(factor)[1] - math.frexp(scale)[1]
    if math.frexp(penalty)[1] + power > 400:
        return LARGEST_PENALTY
    lam = math.ldexp(penalty, power)
    return min(max(lam, math.ulp(0.0)), LARGEST_PENALTY)

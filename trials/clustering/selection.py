r"""Choosing the hyperparameter of a clustering, as Appendix C and D of the paper do.

Armacki, Bajovic, Jakovetic & Kar (2024).

For convex clustering (the penalty lambda):

* `recovery_interval` -- condition (13), checked on a partition after it has been found.
* `interval_lambda` -- the rule of D.1: a uniform draw from the interval, else its upper end.
* `clusterpath_grid`, `clusterpath` -- the procedure of Appendix C with the bracketing of D.2.

For k-means (the number of clusters k): `elbow`, `silhouette`, `choose_k`.

Condition (13), for a partition V_1..V_k of m points with means mu_j:

.. math:: \max_j \max_{i,i' \in V_j} \frac{\|a_i - a_{i'}\|}{|V_j|} \le \lambda <
          \min_{j \ne l} \frac{\|\mu_j - \mu_l\|}{2m - |V_j| - |V_l|} .

Two remarks on its use.  *Other partitions than the true one meet it too.*  All singletons meet it
for every lambda in [0, min |a_i - a_j| / (2m - 2)), and one cluster meets it for every lambda >=
diameter / m.  So "verified" is not yet "true".  The paper prints the same rule in step 2(a) as in
2(b), the most frequent number of clusters "among all of lambda_i's".  Then the two cases would not
differ.  The paper's explanation of (a) supports counting only the lambda_i that meet (13).  Both
readings are offered.

Convex clustering itself is an argument, a `Partition`.  So no rule depends on how the problem is
solved.  For uniform weights pass `convex_partition`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from trials.checks import (
    BoolArray,
    FloatArray,
    IntArray,
    InvalidParameter,
    check_rng,
    finite_batch,
    function_of,
    integer_between,
    one_of,
    plain_array,
    real_between,
    whole_array,
)
from trials.clustering.convex import convex_clustering_labels
from trials.clustering.kmeans import KMeansFit, kmeans_pp
from trials.clustering.kmeans.assignment import squared_distances
from trials.clustering.units import divide_by_units, give_back, own_units
from trials.integers import ZERO
from trials.kernel import inner_kernel, kernel
from trials.norms import length

Partition = Callable[[FloatArray, float], IntArray]
"""``(points (m, d), lam) -> labels (m,)``: the fused partition of convex clustering at ``lam``."""

_MAX_BRACKET_STEPS = 2_000
# Below, squares may have lost digits.  A set of points is measured in its own unit where its
# coordinates spread less than the length.
_LEAST_SQUARE, _LEAST_LENGTH = 1e-280, 1e-140
MAX_PENALTIES = 10**6  # of a grid


@dataclass(frozen=True, kw_only=True)
class RecoveryInterval:
    """The interval (13) of B partitions: ``lower <= lam < upper`` (B,), units of points.

    ``upper`` is infinite for a partition with one cluster (a minimum over no pairs).
    """

    lower: FloatArray
    upper: FloatArray

    def holds(self, lam: float | FloatArray) -> BoolArray:
        """Whether ``lam`` meets (13), (B,)."""
        return (self.lower <= lam) & (lam < self.upper)


@dataclass(frozen=True, kw_only=True)
class ClusterpathChoice:
    """The outcome of the clusterpath rule, with all that it looked at.

    Attributes
    ----------
    lam, labels, k : the chosen penalty, its partition (m,) and the number of clusters.
    verified : whether some lambda of the grid met (13), i.e. step 2(a) was taken.
    lambdas, k_path, holds : (N,) the grid, clusters found, and whether (13) held a posteriori.
    """

    lam: float
    labels: IntArray
    k: int
    verified: bool
    lambdas: FloatArray
    k_path: IntArray
    holds: BoolArray


@dataclass(frozen=True, kw_only=True)
class KChoice:
    """A number of clusters chosen for each of B data sets.

    Attributes
    ----------
    k : (B,) int64.
    labels : (B, m) the clustering at the chosen k.
    inertia : (B, N) k-means cost at k = 1..N.
    score : (B, N) silhouette at k = 1..N, NaN at k = 1 and where it is undefined.
    """

    k: IntArray
    labels: IntArray
    inertia: FloatArray
    score: FloatArray


# ----------------------------------------------------------------------------------------------
# kernels


@inner_kernel
def _distance(a: FloatArray, b: FloatArray) -> float:
    """Euclidean distance of two vectors (d,), also where the squares vanish."""
    total = 0.0
    for j in range(a.shape[0]):
        total += (a[j] - b[j]) ** 2
    return float(np.sqrt(total)) if total > _LEAST_SQUARE else length(a - b)


@inner_kernel
def _gather(points: FloatArray, labels: IntArray, ends: IntArray, points_t: FloatArray) -> None:
    """Copy points (m, d) into the columns of ``points_t`` (d, m), cluster after cluster.

    ``ends`` (n_clusters,) receives the column after the last one of each cluster.
    """
    ends[:] = 0
    for label in labels:
        ends[label] += 1
    start = 0
    for k in range(ends.size):
        start, ends[k] = start + ends[k], start
    for i in range(labels.size):
        column = ends[labels[i]]
        ends[labels[i]] += 1
        for j in range(points.shape[1]):
            points_t[j, column] = points[i, j]


@inner_kernel
def _largest_square(points_t: FloatArray, low: int, high: int, work: FloatArray) -> float:
    """Largest squared distance of two of the columns low to high - 1 of ``points_t`` (d, m).

    ``work`` (2, m) is work space: the squares from one column, and the largest ones by place, which
    vectorise where a single largest one would not.
    """
    center = np.empty(points_t.shape[0])
    largest = work[1]
    for i in range(high - low):
        largest[i] = 0.0
    for i in range(low, high - 1):
        for j in range(center.size):
            center[j] = points_t[j, i]
        squares = work[0, : high - i - 1]
        squared_distances(points_t, i + 1, center, squares)
        for other in range(squares.size):
            if squares[other] > largest[other]:
                largest[other] = squares[other]
    square = 0.0
    for i in range(high - low):
        square = max(square, largest[i])
    return square


@inner_kernel
def _own_unit(points_t: FloatArray, low: int, high: int) -> float:
    """Give the columns low to high - 1 of ``points_t`` (d, m) a unit of their own if they need one.

    Returns the unit, 1 for columns that stay as they are.  Others move to the first of them.
    """
    largest = 0.0
    for j in range(points_t.shape[0]):
        for i in range(low, high):
            largest = max(largest, abs(points_t[j, i] - points_t[j, low]))
    if not 0.0 < largest < _LEAST_LENGTH:
        return 1.0
    for j in range(points_t.shape[0]):
        first = points_t[j, low]
        for i in range(low, high):
            points_t[j, i] = (points_t[j, i] - first) / largest
    return largest


@inner_kernel
def _keep_outer(
    points_t: FloatArray, low: int, high: int, mean: FloatArray, work: FloatArray
) -> int:
    """Move the columns from ``low`` that may be an end of the longest distance to the front.

    Both ends of a distance D are at least D minus the largest radius away from the mean.  So the
    largest distance from the outermost point leaves few columns in few dimensions.  Returns the
    column after them.  ``work`` is (2, m).
    """
    radii, others = work[0, : high - low], work[1, : high - low]
    squared_distances(points_t, low, mean, radii)
    far = int(np.argmax(radii))
    squared_distances(points_t, low, points_t[:, low + far].copy(), others)
    # The share that is taken off is far above the rounding of all distances.
    least = (1.0 - 1e-9) * math.sqrt(others[np.argmax(others)]) - math.sqrt(radii[far])
    if least <= 0.0:
        return high
    kept = low
    for i in range(radii.size):
        if radii[i] >= least * least:
            for j in range(mean.size):
                points_t[j, kept] = points_t[j, low + i]
            kept += 1
    return kept


@kernel
def _recovery_batch(
    points: FloatArray, labels: IntArray, n_clusters: int, lower: FloatArray, upper: FloatArray
) -> None:
    """Both ends of (13), ``lower`` and ``upper`` (B,), in the units of the points.

    ``points`` (B, m, d), ``labels`` (B, m) in 0..n_clusters-1.  Clusters without points do not
    count.
    """
    n_sets, m, d = points.shape
    points_t, work = np.empty((d, m)), np.empty((2, m))
    ends, counts = np.empty(n_clusters, np.int64), np.empty(n_clusters, np.int64)
    means = np.empty((n_clusters, d))
    for b in range(n_sets):
        _gather(points[b], labels[b], ends, points_t)
        lower[b], upper[b] = 0.0, np.inf
        start = ZERO
        for k in range(n_clusters):
            counts[k] = ends[k] - start
            if counts[k] > 0:
                for j in range(d):
                    means[k, j] = 0.0
                    for i in range(start, ends[k]):
                        means[k, j] += points_t[j, i]
                    means[k, j] /= counts[k]
                unit, outer = _own_unit(points_t, start, ends[k]), ends[k]
                if unit == 1.0:
                    outer = _keep_outer(points_t, start, ends[k], means[k], work)
                diameter = unit * math.sqrt(_largest_square(points_t, start, outer, work))
                lower[b] = max(lower[b], diameter / counts[k])
            start = ends[k]
        for k in range(n_clusters):
            for other in range(k):
                if counts[k] > 0 and counts[other] > 0:
                    size = 2 * m - counts[k] - counts[other]
                    upper[b] = min(upper[b], _distance(means[k], means[other]) / size)


@kernel
def _silhouette_batch(
    points: FloatArray, labels: IntArray, n_clusters: int, out: FloatArray
) -> None:
    """Mean silhouette ``out`` (B,), NaN where fewer than two clusters have points.

    ``points`` (B, m, d), ``labels`` (B, m) in 0..n_clusters-1.
    """
    n_sets, m, _ = points.shape
    counts = np.empty(n_clusters, np.int64)
    sums = np.empty((m, n_clusters))  # summed distances of point i to each cluster
    for b in range(n_sets):
        counts[:] = 0
        sums[:] = 0.0
        for i in range(m):
            counts[labels[b, i]] += 1
            for other in range(i):
                distance = _distance(points[b, i], points[b, other])
                sums[i, labels[b, other]] += distance
                sums[other, labels[b, i]] += distance
        if np.sum(counts > 0) < 2:
            out[b] = np.nan
            continue
        total = 0.0
        for i in range(m):
            own = labels[b, i]
            if counts[own] == 1:
                continue  # Rousseeuw's convention: a singleton scores zero
            within = sums[i, own] / (counts[own] - 1)
            between = np.inf
            for k in range(n_clusters):
                if k != own and counts[k] > 0:
                    between = min(between, sums[i, k] / counts[k])
            largest = max(within, between)
            if largest > 0.0:  # all points of both clusters coincide: zero
                total += (between - within) / largest
        out[b] = total / m


# ----------------------------------------------------------------------------------------------
# drivers


def _check_labels(points: FloatArray, labels: ArrayLike) -> tuple[IntArray, int]:
    """Labels as (B, m) int64 in 0..n_clusters-1, and n_clusters."""
    array = plain_array("labels", labels)
    if array.shape != points.shape[:2] or array.dtype.kind not in "iu":
        raise InvalidParameter(
            f"labels.shape={array.shape}, dtype={array.dtype} must be integers of shape "
            f"(B, m)={points.shape[:2]}"
        )
    if array.min() < 0 or array.max() >= points.shape[1]:
        raise InvalidParameter(
            f"labels in [{array.min()}, {array.max()}] must lie in 0..m-1=0..{points.shape[1] - 1}"
        )
    return array.astype(np.int64, order="C"), int(array.max()) + 1


def recovery_interval(points: ArrayLike, labels: ArrayLike) -> RecoveryInterval:
    """The interval (13) of each of B partitions.

    Parameters
    ----------
    points : (B, m, d) finite.
    labels : (B, m) integers in 0..m-1.  Unused values are ignored.

    Returns
    -------
    RecoveryInterval
        Any lambda with ``lower <= lambda < upper`` makes convex clustering with uniform weights
        return exactly this partition (Corollary 7 of the paper's reference [54]).  The interval
        may be empty.

    Raises
    ------
    InvalidParameter : Shapes, entries that are not finite or above 1e150, labels that are no
        integers in 0..m-1.

    Notes
    -----
    O(m^2 d + k^2 d) a partition.

    Examples
    --------
    >>> interval = recovery_interval([[[0.0], [1.0], [10.0], [11.0]]], [[0, 0, 1, 1]])
    >>> interval.lower.tolist(), interval.upper.tolist(), interval.holds(1.0).tolist()
    ([0.5], [2.5], [True])
    """
    data = finite_batch("points", points, ("B", "m", "d"))
    groups, n_clusters = _check_labels(data, labels)
    lower = np.empty(data.shape[0])
    upper = np.empty(data.shape[0])
    units = own_units(data)
    _recovery_batch(divide_by_units(data, units), groups, n_clusters, lower, upper)
    give_back(lower, units)
    give_back(upper, units)
    return RecoveryInterval(lower=lower, upper=upper)


def interval_lambda(
    points: ArrayLike, labels: ArrayLike, rng: np.random.Generator
) -> tuple[FloatArray, RecoveryInterval]:
    """The rule of D.1: lambda uniform in the interval (13) of a partition, else its upper end.

    The paper takes the interval of the *true* partition in its experiments.

    Parameters
    ----------
    points, labels : as in `recovery_interval`, at least two clusters a data set.
    rng : the stream.  Each data set takes one uniform, also where it is not used.

    Returns
    -------
    lam : (B,) the penalty.
    interval : `RecoveryInterval`, empty where ``lower >= upper``.

    Raises
    ------
    InvalidParameter : A partition with one cluster: its interval has no upper end to draw below.

    Examples
    --------
    >>> points, labels = [[[0.0], [1.0], [10.0], [11.0]]], [[0, 0, 1, 1]]
    >>> lam, interval = interval_lambda(points, labels, np.random.default_rng(0))
    >>> interval.holds(lam).tolist()
    [True]
    """
    check_rng(rng)
    interval = recovery_interval(points, labels)
    if np.isinf(interval.upper).any():
        raise InvalidParameter(
            f"labels[{int(np.argmax(np.isinf(interval.upper)))}] must hold at least two clusters: "
            "the upper end of (13) is a minimum over pairs of clusters"
        )
    drawn = rng.uniform(size=interval.lower.size)
    # The sum may round to the upper end, which is not in the interval.
    last = np.nextafter(interval.upper, 0.0)
    inside = np.minimum(interval.lower + drawn * (interval.upper - interval.lower), last)
    return np.where(interval.lower < interval.upper, inside, interval.upper), interval


def convex_partition(points: ArrayLike, lam: float) -> IntArray:
    """The fused partition of convex clustering with uniform weights, eq. (12), at one penalty.

    Parameters
    ----------
    points : (m, d) finite.
    lam : the penalty lambda >= 0, units of points.

    Returns
    -------
    (m,) int64 labels, numbered by first appearance.  They are exact where the solver's certificate
    was accepted, which this function does not check.  `trials.clustering.convex.convex_clustering`
    returns the certificate.

    Examples
    --------
    >>> convex_partition([[0.0], [1.0], [10.0], [11.0]], 1.0).tolist()
    [0, 0, 1, 1]
    """
    return convex_clustering_labels(points, lam)


def _check_partition(partition: Partition, n_points: int) -> Partition:
    """The caller's function, whose labels are checked each time."""
    function_of("partition", partition)

    def labels(points: FloatArray, lam: float) -> IntArray:
        found = whole_array("partition's labels", partition(points, lam))
        if found.shape != (n_points,):
            raise InvalidParameter(f"partition must return ({n_points},) labels, not {found.shape}")
        return found

    return labels


def _count(labels: IntArray) -> int:
    """Number of different labels (m,)."""
    return int(np.unique(labels).size)


def clusterpath_grid(
    points: ArrayLike,
    partition: Partition,
    *,
    n_values: int = 10,
    start: float = 0.1,
    growth: float = 1.25,
) -> FloatArray:
    """Equidistant penalties from "all points apart" to "one cluster", bracketed as in D.2.

    From ``start`` the upper end is multiplied by ``growth`` until one cluster is left.  The lower
    end is divided by it until every distinct point is alone (duplicates fuse at any penalty).  D.2
    calls the upper end lambda_1 and the lower one lambda_N, Appendix C the other way round.  Here
    the grid increases.

    Parameters
    ----------
    points : (m, d) finite, one data set.
    partition : convex clustering at one penalty, see `Partition`.
    n_values : N, 2 to 10^6 (the paper: 10).
    start : first penalty tried, > 0, units of points (the paper: 0.1).
    growth : factor > 1 (the paper: 1.25).

    Returns
    -------
    (N,) increasing penalties.

    Raises
    ------
    InvalidParameter : A bad argument, or no bracket within 2,000 factors: ``partition`` never fuses
        or never separates.

    Examples
    --------
    >>> points = [[0.0], [1.0], [10.0], [11.0]]
    >>> grid = clusterpath_grid(points, convex_partition, n_values=3)
    >>> [len(set(convex_partition(points, lam).tolist())) for lam in grid]
    [4, 2, 1]
    """
    data = finite_batch("points", points, ("m", "d"))
    n_values = integer_between("n_values", n_values, 2, MAX_PENALTIES, "each one is a problem")
    partition = _check_partition(partition, data.shape[0])
    first = real_between("start", start, 0.0, open_low=True)
    factor = real_between("growth", growth, 1.0, open_low=True)
    n_distinct = np.unique(data, axis=0).shape[0]

    def search(ratio: float, wanted: int) -> float:
        lam = first
        for _ in range(_MAX_BRACKET_STEPS):
            if _count(partition(data, lam)) == wanted:
                return lam
            lam *= ratio
        raise InvalidParameter(
            f"start={first:g} with growth={factor:g} must lead to {wanted} clusters within "
            f"{_MAX_BRACKET_STEPS} factors"
        )

    low, high = search(1 / factor, n_distinct), search(factor, 1)
    if low == high:  # one distinct point: every penalty gives one cluster
        high = low * factor
    return np.linspace(low, high, n_values)


def clusterpath(
    points: ArrayLike,
    lambdas: ArrayLike,
    partition: Partition,
    *,
    reading: Literal["verified", "as-printed"] = "verified",
) -> ClusterpathChoice:
    """The clusterpath rule of Appendix C, steps 1 and 2(a, b).

    Convex clustering is run at every penalty and (13) is checked on its result.  (a) If (13) held
    somewhere, the rule takes the number of clusters that occurs most often.  It counts the
    penalties where (13) held (``reading="verified"``) or all penalties (``"as-printed"``, and then
    (a) and (b) coincide).  (b) Otherwise it takes the number that occurs most often among all
    penalties.

    The paper leaves two choices open.  Of equally frequent numbers of clusters the smaller is taken
    here, because it averages more users (Fig. 4 reports too few clusters at small samples).  Of the
    penalties that were counted the smallest is taken.  With uniform weights the path has no splits,
    so equal numbers are equal partitions.

    Parameters
    ----------
    points : (m, d) finite, one data set.
    lambdas : (N,) strictly increasing, >= 0.  `clusterpath_grid` makes the paper's grid.
    partition : convex clustering at one penalty, see `Partition`.
    reading : see above.

    Raises
    ------
    InvalidParameter : Shapes, points that are not finite, penalties that are negative or do not
        increase.

    Notes
    -----
    N convex clustering problems, and O(N m^2 d) for the checks.

    Examples
    --------
    >>> points = [[0.0], [1.0], [10.0], [11.0]]
    >>> choice = clusterpath(points, [0.1, 1.0, 2.0, 9.0], convex_partition)
    >>> choice.k, choice.verified, choice.labels.tolist()
    (2, True, [0, 0, 1, 1])
    """
    data = finite_batch("points", points, ("m", "d"))
    grid = finite_batch("lambdas", lambdas, ("N",))
    if grid[0] < 0 or np.any(np.diff(grid) <= 0):
        raise InvalidParameter("lambdas must be >= 0 and strictly increasing")
    one_of("reading", reading, ("verified", "as-printed"))
    partition = _check_partition(partition, data.shape[0])
    path = np.stack([partition(data, float(lam)) for lam in grid])
    repeated = np.broadcast_to(data, (grid.size, *data.shape))
    holds = recovery_interval(repeated, path).holds(grid)
    k_path = np.array([_count(labels) for labels in path], dtype=np.int64)
    verified = bool(holds.any())
    counted = holds if verified and reading == "verified" else np.ones_like(holds)
    values, occurrences = np.unique(k_path[counted], return_counts=True)
    k = int(values[np.argmax(occurrences)])  # values increase: ties go to the smaller number
    at = int(np.flatnonzero(counted & (k_path == k))[0])
    return ClusterpathChoice(
        lam=float(grid[at]),
        labels=path[at],
        k=k,
        verified=verified,
        lambdas=grid.copy(),  # the caller's array may change
        k_path=k_path,
        holds=holds,
    )


def elbow(costs: ArrayLike, threshold: float) -> IntArray:
    """The elbow rule: the first k at which one more cluster saves less than ``threshold``.

    Parameters
    ----------
    costs : (B, N) k-means costs at k = 1..N.
    threshold : in the units of the costs (pass ``costs / costs[:, :1]`` for a relative rule), >= 0.

    Returns
    -------
    (B,) int64: the first k with costs(k) - costs(k+1) < threshold, N where there is none.

    Raises
    ------
    InvalidParameter : Shapes, costs that are not finite or above 1e150, threshold < 0.

    Examples
    --------
    >>> elbow([[10.0, 2.0, 1.9, 1.8]], threshold=0.5).tolist()
    [2]
    """
    table = finite_batch("costs", costs, ("B", "N"))
    small = table[:, :-1] - table[:, 1:] < real_between("threshold", threshold, 0.0)
    none = np.ones((table.shape[0], 1), dtype=np.bool_)
    first: IntArray = np.argmax(np.concatenate([small, none], axis=1), axis=1) + 1
    return first


def silhouette(points: ArrayLike, labels: ArrayLike) -> FloatArray:
    """Mean silhouette score (Rousseeuw 1987) of each of B clusterings.

    For a point with mean distance a to the others of its cluster and b to the nearest other cluster
    the score is (b - a) / max(a, b).  A singleton scores 0, and so does a point with a = b = 0.

    Parameters
    ----------
    points : (B, m, d) finite.
    labels : (B, m) integers in 0..m-1, at least two clusters a data set.

    Returns
    -------
    (B,) scores in [-1, 1], dimensionless.

    Raises
    ------
    InvalidParameter : Shapes, or a clustering with fewer than two clusters.

    Notes
    -----
    O(m^2 d) time and O(m k) memory.  Equals ``sklearn.metrics.silhouette_score``, except that
    singletons score 0 here and scikit-learn refuses a partition of singletons.

    Examples
    --------
    >>> silhouette([[[0.0], [1.0], [10.0], [11.0]]], [[0, 0, 1, 1]]).round(4).tolist()
    [0.8997]
    """
    data = finite_batch("points", points, ("B", "m", "d"))
    groups, n_clusters = _check_labels(data, labels)
    out = np.empty(data.shape[0])
    _silhouette_batch(divide_by_units(data, own_units(data)), groups, n_clusters, out)
    if np.isnan(out).any():
        where = int(np.argmax(np.isnan(out)))
        raise InvalidParameter(f"labels[{where}] must hold at least two clusters")
    return out


def choose_k(
    points: ArrayLike,
    k_max: int,
    rng: np.random.Generator,
    *,
    n_init: int = 1,
) -> KChoice:
    """The number of clusters of k-means by silhouette (Appendix C, ODCL-KM).

    Runs `trials.clustering.kmeans.kmeans_pp` for k = 1..k_max on all B data sets, one jitted call
    a k, and takes the k of largest score.  Ties go to the smaller k.  k = 1 has no score and is
    never chosen.  `elbow` reads another choice from the costs.

    Parameters
    ----------
    points : (B, m, d) finite.
    k_max : N, at least 2 and at most m.
    rng : the stream of the k-means++ seeds.
    n_init : k-means++ starts for each k.

    Raises
    ------
    InvalidParameter : Arguments out of range, or a data set whose points all coincide (no
        silhouette at any k).

    Examples
    --------
    >>> choice = choose_k([[[0.0], [1.0], [10.0], [11.0]]], 4, np.random.default_rng(0))
    >>> choice.k.tolist(), choice.score.shape
    ([2], (1, 4))
    """
    data = finite_batch("points", points, ("B", "m", "d"))
    n_sets, m, _ = data.shape
    k_max = integer_between("k_max", k_max, 2, m, "at most the number of points m")
    in_units = divide_by_units(data, own_units(data))
    fits: list[KMeansFit] = []
    score = np.full((k_max, n_sets), np.nan).T  # each column is one piece, as `silhouette` has it
    for k in range(1, k_max + 1):
        fits.append(kmeans_pp(data, k, rng, n_init=n_init))
        if k > 1:
            _silhouette_batch(in_units, fits[-1].labels, k, score[:, k - 1])
    inertia = np.stack([fit.inertia for fit in fits], axis=1)
    undefined = np.isnan(score).all(axis=1)
    if undefined.any():
        raise InvalidParameter(f"points[{int(np.argmax(undefined))}] must not all coincide")
    chosen = np.nanargmax(score, axis=1) + 1
    labels = np.stack([fits[k - 1].labels[b] for b, k in enumerate(chosen)])
    return KChoice(k=chosen.astype(np.int64), labels=labels, inertia=inertia, score=score)

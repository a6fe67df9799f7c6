r"""Certificates of convex clustering, and an independent verifier in plain NumPy.

The verifier shares no code with the solver.  It proves, rounding included, that a partition *is*
the partition of the minimiser of

.. math::

    \min_U \tfrac12 \sum_i |a_i - u_i|^2 + \lambda \sum_{i<j} |u_i - u_j| .

The optimality conditions, split by cluster, give a short proof in three parts.

1. *Fusion.*  Nodes with masses n_k and positions b_k, N = sum n_k, share one value in the minimiser
   if there are flows f_kl = -f_lk, |f_kl| <= lambda, with sum_l n_l f_kl = b_k - mean(b).  For any
   vectors y_k and any number tau,

   .. math::

       f_{kl} = \tau\,\psi(y_k - y_l) + (r_k - r_l)/N, \qquad
       \psi(x) = x / \sqrt{1 + |x|^2}, \qquad r_k = b_k - \tau \sum_l n_l \psi(y_k - y_l),

   meets the equation identically, so only the size of the flows is to be checked.  tau = 0 is the
   certificate behind the recovery interval, f_kl = (b_k - b_l)/N (Sun, Toh & Yuan 2021, Cor. 7, and
   equation (13) of Armacki et al. 2024).  The flows do not depend on lambda: nodes fused at one
   penalty are fused at every larger one, hence the path has no splits.
2. *Reduction.*  With equal weights the rest of the data pulls all nodes of a fused set equally.  So
   the set may be replaced by its centroid with its mass, and fusions can be nested.
3. *Separation.*  The reduced objective is strongly convex in the norm sum_k n_k |v_k|^2, so the
   true centres lie within E of centres v where the gradient has norm E.  Centres k and l further
   apart than E sqrt(1/n_k + 1/n_l) are distinct in the minimiser.

Rounding.  Let u be the unit roundoff.  The computed flows of a fusion have an error of at most 4 u
(m + d + 16) (tau + X/N).  Here X is the largest distance of its points from one of them, because
the difference of two points is exact to a relative u.  The gradients have at most the same error
with N lambda + X, where X is the largest distance of all points from the first one.  The verifier
requires that much room.  So a tau so large that the rounding of r exceeds the points proves
nothing.  The bounds are the standard ones.  A sum of s terms of size T has an error of at most s u
T.  A norm or unit vector in R^d has a relative error of at most (d + 4) u.

A proof may come from a stranger.  A malformed proof (shapes, types, missing fields, NaN, numbers
beyond 1e150) is refused with a reason, like a false one.  Nothing is raised.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trials.checks import (
    LARGEST_ENTRY,
    FloatArray,
    IntArray,
    InvalidParameter,
    hides_entries,
    real_array,
)

UNIT_ROUNDOFF = 2.0**-53
#: Pair differences held at once by the verifier, in numbers: they stay in the cache.
_BLOCK = 1 << 16
#: Penalties in units of the points' spread are cut here: everything linked has long been fused.
_LARGEST_PENALTY = 1e100
#: Squares of smaller numbers lose digits, so that two centres this close count as one.
SMALLEST_DISTANCE = 1e-140


@dataclass(frozen=True, kw_only=True)
class Fusion:
    """Proof that some nodes share one value: a step of a certificate.

    Attributes
    ----------
    children : (s,) node numbers, s >= 2.  Nodes 0..m-1 are the points.  The fusion number t of a
        certificate (from 0) creates the node m + t.
    potentials : (s, d), the vectors y of the flows, dimensionless.
    strength : tau >= 0 of the flows, in the units of the penalty.  It is 0 for the plain formula.
    """

    children: IntArray
    potentials: FloatArray
    strength: float


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """Proof that a partition is that of the minimiser.

    Attributes
    ----------
    fusions : steps in order, each on nodes that exist by then.  The nodes never used as a child are
        the clusters.
    centres : (k, d) approximate values of the clusters, *relative to the first point*, in the
        order of the clusters' first points.
    """

    fusions: tuple[Fusion, ...]
    centres: FloatArray


@dataclass(frozen=True, kw_only=True)
class CertificateCheck:
    """The verifier's answer.

    Attributes
    ----------
    valid : whether the partition is proved.
    reason : why not, else an empty string.
    radius : proved bound on ``sqrt(sum_i |u_i - u*_i|^2)``, in the units of the points.  A refused
        certificate has one too where its separation part could be evaluated.  Otherwise it is
        infinity.
    """

    valid: bool
    reason: str
    radius: float


def rounding(n_points: int, dimension: int) -> float:
    """Relative rounding allowance of the checks, ``4 u (m + d + 16)``."""
    return 4.0 * UNIT_ROUNDOFF * (n_points + dimension + 16)


def squares(x: FloatArray) -> FloatArray:
    """Squared norms (rows, s) along the middle axis of (rows, d, s)."""
    out: FloatArray = np.einsum("kdl,kdl->kl", x, x)
    return out


def _differences(y: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
    """y_k - y_l of all pairs of rows of y (s, d), some k at a time: the rows k, and (rows, d, s).

    The long axis is last.  All blocks share one array.  A new one for each would be requested from
    the operating system each time, which costs more than filling it.
    """
    s, d = y.shape
    step = max(1, _BLOCK // (s * d))
    columns = np.ascontiguousarray(y.T)
    room = np.empty((min(step, s), d, s))
    for start in range(0, s, step):
        rows = slice(start, min(start + step, s))
        block = room[: rows.stop - start]
        np.subtract(y[rows, :, None], columns, out=block)
        yield rows, block


def psi_blocks(y: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
    """psi(y_k - y_l), likewise: rows and (b, d, s)."""
    for rows, x in _differences(y):
        x /= np.sqrt(1.0 + squares(x))[:, None, :]
        yield rows, x


def largest_flow(b: FloatArray, mass: FloatArray, y: FloatArray, strength: float) -> float:
    """Largest |f_kl| of the flows above.  Arrays are (s, d), memory is O(s d) and one block."""
    r = b
    if strength > 0.0:
        r = b.copy()
        for rows, z in psi_blocks(y):
            r[rows] -= strength * (z @ mass)
    r = r / mass.sum()
    worst = 0.0
    psi = psi_blocks(y) if strength > 0.0 else itertools.repeat(None)
    for (_, flow), block in zip(_differences(r), psi, strict=False):
        if block is not None:
            flow += strength * block[1]
        largest = float(squares(flow).max())
        if math.isnan(largest):  # it proves nothing
            return largest
        worst = max(worst, largest)
    return math.sqrt(worst)


def _separation(
    v: FloatArray, b: FloatArray, mass: FloatArray, lam: float, allowance: float, reach: float
) -> tuple[float, bool]:
    """Radius E of the true centres about ``v`` (k, d), and whether it proves them distinct.

    ``reach`` is the largest norm of a point.  Means ``b`` may be far smaller, and not their errors.
    """
    k, d = v.shape
    reach = max(reach, float(np.abs(v).max() * math.sqrt(d)))
    smallest = np.full(k, np.inf)
    gradient = v - b
    for rows, x in _differences(v):
        distance = np.sqrt(squares(x))
        own = np.arange(k)[rows]
        distance[np.arange(own.size), own] = np.inf
        if not (distance > SMALLEST_DISTANCE).all():  # two centres coincide: no gradient there
            return math.inf, False
        gradient[rows] += lam * (x @ (mass / distance)[:, :, None])[:, :, 0]
        smallest[rows] = (distance / np.sqrt(1.0 / mass[own][:, None] + 1.0 / mass)).min(axis=1)
    error = np.sqrt((gradient * gradient).sum(axis=1)) + allowance * (
        lam * (mass.sum() - mass) + reach
    )
    radius = math.sqrt(float((mass * error * error).sum()))
    return radius, k == 1 or radius < float(smallest.min())


class Refusal(Exception):
    """The reason why a proof is refused.  The check catches it and never raises it to a caller.

    ``radius`` : as in `CertificateCheck`, where the separation part was reached.
    """

    def __init__(self, reason: str, radius: float = math.inf) -> None:
        super().__init__(reason)
        self.radius = radius


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Points and penalty of a check, about the first point and over a power of two.

    Attributes
    ----------
    a : (m, d) the points, as given.
    x : (m, d) scaled, the first row zero, entries at most 1 in size.
    lam : the penalty, scaled and at most 1e100, above 0 where the penalty is.
    scale : the power of two.
    cut : whether the penalty was cut to 1e100.
    penalty : as given.
    """

    a: FloatArray
    x: FloatArray
    lam: float
    scale: float
    cut: bool
    penalty: float

    @property
    def reach(self) -> float:
        """Largest norm of a scaled point."""
        return float(np.sqrt((self.x * self.x).sum(axis=1).max()))


def _as_numbers(name: str, value: Any, kinds: str) -> Any:
    """``value`` as an array whose type is one of ``kinds``.  Anything else is refused."""
    try:
        array = np.asarray(value)
    except Exception as error:  # a stranger's object may raise anything when it is read
        raise Refusal(f"{name} cannot be read: {type(error).__name__}") from None
    if hides_entries(value):
        raise Refusal(f"{name} must have no masked entries")
    if array.dtype.kind not in kinds:
        raise Refusal(f"{name} must be numbers, not of type {array.dtype}")
    return array


def _as_reals(name: str, value: Any) -> Any:
    """``value`` as an array of numbers as the solvers take them, also as objects, but no truths."""
    array = _as_numbers(name, value, "iufO")
    if array.dtype.kind != "O":
        return array
    try:
        return real_array(name, array)
    except InvalidParameter as error:
        raise Refusal(str(error)) from None


def read_reals(name: str, value: Any, shape: tuple[int, ...], limit: float) -> FloatArray:
    """An array of real numbers of this shape, at most ``limit`` in size."""
    array = _as_reals(name, value)
    if array.shape != shape:
        raise Refusal(f"{name} must have shape {shape}, not {array.shape}")
    numbers = np.asarray(array, dtype=np.float64, order="C")
    if not (np.abs(numbers) <= limit).all():
        raise Refusal(f"{name} must be finite and at most {limit:g} in size")
    return numbers


def read_integers(name: str, value: Any, limit: int) -> IntArray:
    """A vector (n,) of integers in 0..limit-1."""
    array = _as_numbers(name, value, "iu")
    if array.ndim != 1 or (array.size and not (array.min() >= 0 and array.max() < limit)):
        raise Refusal(f"{name} must be a list of integers in 0..{limit - 1}")
    return np.asarray(array, dtype=np.int64)


def _read_real(name: str, value: Any, limit: float) -> float:
    """A number in [0, limit]."""
    number = float(read_reals(name, value, (), limit))
    if number < 0.0:
        raise Refusal(f"{name} must be >= 0")
    return number


def read_problem(points: ArrayLike, penalty: float, factor: float = 1.0) -> Problem:
    """Points, and penalty times a power of two, in the units of the check.  Other values are
    refused.
    """
    shape = _as_reals("points", points).shape
    if len(shape) != 2 or 0 in shape:
        raise Refusal(f"points must have shape (m, d) with m, d >= 1, not {shape}")
    a = read_reals("points", points, shape, np.finfo(np.float64).max)
    number = _read_real("penalty", penalty, np.finfo(np.float64).max)
    return problem_of(a, number, factor)


def power_above(size: float) -> float:
    """The power of two next above a size, 1 for the size 0."""
    return 2.0 ** math.frexp(size)[1] if size > 0.0 else 1.0


def in_units(penalty: float, factor: float, scale: float) -> tuple[float, bool]:
    """``penalty * factor / scale``, and whether it was cut at 1e100.

    The quotient is formed of whole numbers, so that nothing overflows on the way.  Zero stays zero.
    A penalty above zero stays above it, because it is another problem than none.
    """
    exact = Fraction(penalty) * Fraction(factor) / Fraction(scale)
    if exact == 0:
        return 0.0, False
    if exact > _LARGEST_PENALTY:
        return _LARGEST_PENALTY, True
    return max(float(exact), math.ulp(0.0)), False


def problem_of(a: FloatArray, number: float, factor: float = 1.0) -> Problem:
    """`read_problem` of a finite matrix (m, d) and a finite penalty ``number`` >= 0."""
    with np.errstate(over="ignore"):
        x = a - a[0]
    size = float(np.abs(x).max())
    if not size <= 1e307:
        raise Refusal("points must spread over at most 1e307")
    # A power of two takes 1e-150 and 1e150 alike into the range where squares are exact enough.
    scale = power_above(size)
    lam, cut = in_units(number, factor, scale)
    return Problem(a=a, x=x / scale, lam=lam, scale=scale, cut=cut, penalty=number)


def read_fusions(certificate: Any, n_points: int, d: int) -> Iterator[tuple[int, Fusion]]:
    """The fusions of a certificate, one after the other, each with its number."""
    fusions = _field(certificate, "fusions")
    if not isinstance(fusions, tuple | list):
        raise Refusal("the certificate has no list of fusions")
    for t, fusion in enumerate(fusions):
        name = f"fusion {t}"
        children = read_integers(f"{name}'s children", _field(fusion, "children"), n_points + t)
        if children.size < 2 or np.unique(children).size != children.size:
            raise Refusal(f"{name} must name two or more nodes, each of them once")
        shape = (children.size, d)
        yield (
            t,
            Fusion(
                children=children,
                potentials=read_reals(
                    f"{name}'s potentials", _field(fusion, "potentials"), shape, LARGEST_ENTRY
                ),
                strength=_read_real(
                    f"{name}'s strength", _field(fusion, "strength"), np.finfo(np.float64).max
                ),
            ),
        )


def read_centres(certificate: Any, shape: tuple[int, int]) -> FloatArray:
    """The centres (k, d) of a certificate, in the units of the points."""
    return read_reals(
        "the centres", _field(certificate, "centres"), shape, np.finfo(np.float64).max
    )


def scaled_centres(centres: FloatArray, scale: float) -> FloatArray:
    """The centres divided by the scale.  Beyond 1e150 their squares would leave the range of
    floats.
    """
    v = centres / scale
    if not np.abs(v).max() <= LARGEST_ENTRY:
        raise Refusal("the centres must lie within 1e150 times the spread of the points")
    return v


def _field(record: Any, name: str) -> Any:
    """A field of a record that may lack it."""
    try:
        return getattr(record, name)
    except Exception as error:  # a stranger's property may do anything
        raise Refusal(f"{name} is missing: {type(error).__name__}") from None


def starts_of(sizes: FloatArray) -> IntArray:
    """Where consecutive runs of the given sizes (k,) begin, (k,)."""
    return np.concatenate(([0], np.cumsum(sizes[:-1]))).astype(np.int64)


def run_means(x: FloatArray, sizes: FloatArray) -> FloatArray:
    """Means (k, d) of consecutive runs of rows of ``x``, of the given sizes (k,)."""
    if x.shape[0] == sizes.size:
        return x
    return np.asarray(np.add.reduceat(x, starts_of(sizes), axis=0) / sizes[:, None])


def require_partition(members: IntArray, sizes: FloatArray, labels: Any) -> None:
    """Refuse unless the runs of ``members``, all points once, are the classes of ``labels``."""
    labels = _as_numbers("labels", labels, "biu")
    if labels.shape == members.shape:
        claimed = labels[members]
        heads = claimed[starts_of(sizes)]
        same = claimed == np.repeat(heads, sizes.astype(np.int64))
        if bool(same.all()) and np.unique(heads).size == sizes.size:
            return
    raise Refusal("the labels are not the partition that the fusions make")


def check_certificate(
    points: ArrayLike, penalty: float, labels: ArrayLike, certificate: Certificate
) -> CertificateCheck:
    """Check that ``labels`` is the exact partition of the minimiser (equal weights).

    Parameters
    ----------
    points : (m, d) finite array.
    penalty : lambda >= 0, in the units of the points.
    labels : (m,) claimed partition, integers.
    certificate : the proof.

    Returns
    -------
    CertificateCheck
        ``valid`` only when every fusion, the partition and the separation are proved.  Malformed
        arguments are refused with the reason.  No exception is raised.

    Raises
    ------
    Nothing.  A malformed argument is a refusal.

    Notes
    -----
    O(m^2 d) time at most (pairs inside fusions, and pairs of centres), O(m d) memory.

    Examples
    --------
    The certificate of a solution proves its partition, and no other:

    >>> from trials.clustering.convex import convex_clustering
    >>> points = [[0.0], [1.0], [10.0]]
    >>> fit = convex_clustering(points, penalty=1.0)
    >>> check_certificate(points, 1.0, fit.labels, fit.certificate).valid
    True
    >>> check_certificate(points, 1.0, [0, 1, 2], fit.certificate).valid
    False
    """
    try:
        with np.errstate(all="ignore"):  # what overflows proves nothing
            problem = read_problem(points, penalty)
            m, d = problem.x.shape
            fusions = tuple(fusion for _, fusion in read_fusions(certificate, m, d))
            left = m - sum(fusion.children.size - 1 for fusion in fusions)
            proof = Certificate(fusions=fusions, centres=read_centres(certificate, (left, d)))
    except Refusal as refusal:
        return CertificateCheck(valid=False, reason=str(refusal), radius=math.inf)
    return check_record(problem, labels, proof)


def check_record(problem: Problem, labels: ArrayLike, certificate: Certificate) -> CertificateCheck:
    """`check_certificate` of a certificate whose arrays have the types and shapes of the record.

    Everything is proved in the same way.  Only the reading of each field is left out, which takes a
    third of the time where the fusions are small, and which a record made here does not need.
    """
    try:
        with np.errstate(all="ignore"):  # what overflows proves nothing
            radius = _check(problem, labels, certificate)
    except Refusal as refusal:
        radius = refusal.radius * problem.scale
        return CertificateCheck(valid=False, reason=str(refusal), radius=radius)
    return CertificateCheck(valid=True, reason="", radius=radius * problem.scale)


def _check(problem: Problem, labels: ArrayLike, certificate: Certificate) -> float:
    """The scaled radius of the centres if everything is proved.  Otherwise `Refusal` is raised."""
    x, lam, m = problem.x, problem.lam, problem.x.shape[0]
    allowance = rounding(*x.shape)
    members: dict[int, IntArray] = dict(enumerate(np.arange(m)[:, None]))
    for t, fusion in enumerate(certificate.fusions):
        parts = [members.pop(c, None) for c in fusion.children.tolist()]
        found = [part for part in parts if part is not None]
        if len(found) < len(parts):
            raise Refusal(f"fusion {t} uses a node twice or before it exists")
        own = members[m + t] = np.concatenate(found)
        mass = np.array([part.size for part in found], dtype=np.float64)
        _check_fusion(problem, own, mass, fusion, allowance, t)

    mass = np.array([p.size for p in members.values()], dtype=np.float64)
    every = np.concatenate(list(members.values()))
    require_partition(every, mass, labels)
    v = scaled_centres(certificate.centres, problem.scale)
    starts = starts_of(mass)
    heads = np.minimum.reduceat(every, starts)
    order = np.argsort(heads)
    b, mass, heads = run_means(x[every], mass)[order], mass[order], heads[order]
    if lam == 0.0:  # u = a: the clusters are the distinct points, compared exactly
        radius = math.sqrt(float((mass[:, None] * (v - b) ** 2).sum()))
        radius += allowance * problem.reach * m
        apart = np.unique(problem.a[heads] + 0.0, axis=0).shape[0] == mass.size
    else:
        radius, apart = _separation(v, b, mass, lam, allowance, problem.reach)
    if not apart:
        raise Refusal("the centres are not proved distinct", radius)
    return radius


def _check_fusion(
    problem: Problem, own: IntArray, mass: FloatArray, fusion: Fusion, allowance: float, t: int
) -> None:
    """Refuse a fusion of points ``own`` (n,), runs of sizes ``mass``, whose flows do not fit.

    The set has a unit of its own, the power of two above its spread.  In the unit of all points,
    squares of a set that is 1e-160 times as wide would be zero, and flows of size zero fit always.
    """
    points = problem.a[own]
    x = points - points[0]  # about one of its own points, a small set loses no digit
    spread = float(np.abs(x).max())
    if spread == 0.0:  # duplicates are fused at every penalty, 0 included
        return
    unit = power_above(spread)
    x, tau = x / unit, fusion.strength / unit
    lam, _ = in_units(problem.penalty, 1.0, unit)
    flow = largest_flow(run_means(x, mass), mass, fusion.potentials, tau)
    reach = float(np.sqrt((x * x).sum(axis=1).max()))
    if not flow + allowance * (max(lam, tau) + reach / own.size) <= lam:
        raise Refusal(f"fusion {t} needs a penalty of {flow * unit!r}")

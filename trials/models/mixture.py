r"""Mixtures of linear regressions: centres, cluster sizes and initialisations.

Client :math:`i` of cluster :math:`j` holds :math:`y=\langle x,\theta_j^*\rangle+\epsilon`,
:math:`x\sim N(0,I_d)`, :math:`\epsilon\sim N(0,\sigma^2)` (Ghosh et al., TIT 2022, section V-A).
Clusters are ordered by size: cluster 0 is a smallest one, cluster k-1 a largest one, for every
profile.  Functions that work on centres accept leading batch axes ``(..., k, d)``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from trials.checks import (
    LARGEST_ENTRY,
    MAX_DRAWN,
    WHOLE_IN_FLOAT,
    FloatArray,
    IntArray,
    InvalidParameter,
    check_drawn,
    finite_batch,
    integer_between,
    real_between,
    whole_array,
)
from trials.norms import last_axis_lengths
from trials.parameters import (
    Array,
    Flag,
    Integer,
    ListOf,
    Maybe,
    Options,
    Real,
    Record,
    Stream,
    unchecked,
    validated,
)

Profile = Literal["equal", "one-small", "one-large", "geometric"]
Centers = Literal["simplex", "random", "line", "bernoulli"]
Init = Literal["random", "adversarial", "orthogonal", "translation"]
Start = Literal["bernoulli", "bernoulli-rescaled", "gaussian"]


@dataclass(frozen=True, kw_only=True)
class Mixture:
    """A mixture of linear regressions, validated.

    Attributes
    ----------
    theta_star : (k, d) distinct true parameters.
    cluster_sizes : (k,) clients of each cluster, each >= 1 (so k <= m).
    sigma : noise level, >= 0.
    n_samples : fresh samples per client and stage (n'), >= 1.
    """

    theta_star: FloatArray
    cluster_sizes: IntArray
    sigma: float
    n_samples: int

    def __post_init__(self) -> None:
        centres = finite_batch("theta_star", self.theta_star, ("k", "d")).copy()
        sizes = whole_array("cluster_sizes", self.cluster_sizes, 1, WHOLE_IN_FLOAT).copy()
        if sizes.shape != centres.shape[:1]:
            raise InvalidParameter(
                f"cluster_sizes.shape={sizes.shape} must be (k,) with k={len(centres)}"
            )
        for array in (centres, sizes):
            array.setflags(write=False)
        object.__setattr__(self, "theta_star", centres)
        object.__setattr__(self, "cluster_sizes", sizes)
        object.__setattr__(self, "sigma", real_between("sigma", self.sigma, 0.0))
        object.__setattr__(self, "n_samples", integer_between("n_samples", self.n_samples, 1))

    @property
    def k(self) -> int:
        """Number of clusters."""
        return int(self.theta_star.shape[0])

    @property
    def d(self) -> int:
        """Dimension."""
        return int(self.theta_star.shape[1])

    @property
    def m(self) -> int:
        """Number of clients."""
        return int(self.cluster_sizes.sum())

    @property
    def p(self) -> float:
        """The smallest cluster's fraction of the clients."""
        return float(self.cluster_sizes.min() / self.m)

    @property
    def Delta(self) -> float:
        """Smallest distance between two centres."""
        return float(separation(self.theta_star))

    @property
    def rho(self) -> float:
        """Signal-to-noise ratio Delta^2 / sigma^2 (infinite without noise)."""
        if self.sigma == 0:
            return math.inf
        ratio = self.Delta / self.sigma
        return ratio * ratio  # infinite beyond the range of floats


_MAX_FLOATS = 2**31  # 16 GiB: more is refused, not swapped
_LEAST_SHARE = 1e-300  # of a cluster, whose inverse is in the range of floats
_LEAST_LENGTH = 1e-140  # of a vector whose squares are exact
_LOG_RARE = math.log(1e-4)  # of draws of 0/1 vectors that are all different
_K = Integer(1, MAX_DRAWN, why="clusters are listed")
_D = Integer(1, MAX_DRAWN, why="coordinates are listed")
_SHAPE = ListOf(Integer(1, MAX_DRAWN))
_DELTA = Real(0.0, LARGEST_ENTRY, open_low=True)
_CENTRES = Array((..., "k", "d"))


# -- cluster sizes -------------------------------------------------------------------------------


@validated(k=_K, p_min=Maybe(Real(0.0, 1.0, open_low=True)), profile=Options(get_args(Profile)))
def fractions(k: int, p_min: float | None = None, profile: str = "equal") -> FloatArray:
    """Cluster fractions (k,) in ascending order with smallest fraction ``p_min`` <= 1/k.

    With ``equal`` all are 1/k, and ``p_min`` is omitted or 1/k.  With ``one-small`` one cluster has
    ``p_min`` and the others are equal.  With ``one-large`` one cluster is large and all others have
    ``p_min``.  With ``geometric`` the ratio of neighbours is constant.
    """
    smallest = 1.0 / k if p_min is None else p_min
    if smallest > (1.0 + 1e-12) / k:
        raise InvalidParameter(f"p_min={p_min} must be <= 1/k = {1 / k:g}")
    if profile == "equal" or k == 1:
        if abs(smallest * k - 1.0) > 1e-12:
            raise InvalidParameter(f"p_min={p_min} must be 1/k = {1 / k:g} for equal clusters")
        return np.full(k, 1.0 / k)
    if profile == "one-small":
        return np.array([smallest] + [(1.0 - smallest) / (k - 1)] * (k - 1))
    if profile == "one-large":
        return np.array([smallest] * (k - 1) + [1.0 - (k - 1) * smallest])
    if smallest < _LEAST_SHARE:
        raise InvalidParameter(f"p_min={p_min} must be >= {_LEAST_SHARE:g} for geometric clusters")
    # the neighbours' ratio: smallest * sum(ratio^j) = 1, so that smallest * ratio^(k - 1) < 1
    low, high = 1.0, min(smallest ** (-1.0 / (k - 1)) * (1.0 + 1e-12), 1e308)
    for _ in range(200):
        middle = 0.5 * (low + high)
        if smallest * np.sum(middle ** np.arange(k)) < 1.0:
            low = middle
        else:
            high = middle
    powers = low ** np.arange(k)
    return np.asarray(powers / powers.sum())


@validated(k=_K, ratio=Real(1.0, 1e300), profile=Options(get_args(Profile)))
def fractions_with_ratio(k: int, ratio: float, profile: str = "geometric") -> FloatArray:
    """Cluster fractions (k,), ascending, ``p_max / p_min = ratio`` exactly (see `fractions`)."""
    if (profile == "equal" or k == 1) and ratio != 1.0:
        raise InvalidParameter(f"ratio={ratio:g} must be 1 for equal clusters")
    weights = np.ones(k)
    if profile == "one-small":
        weights[1:] = ratio
    elif profile == "one-large":
        weights[-1] = ratio
    elif profile == "geometric" and k > 1:
        weights = ratio ** (np.arange(k) / (k - 1))
    return np.asarray(weights / weights.sum())


@validated(
    m=Integer(1, WHOLE_IN_FLOAT, why="whole in float64"),
    fractions=Array(("k",), low=0.0, high=1.0 + 1e-9, open_low=True),
)
def cluster_sizes(m: int, fractions: ArrayLike) -> IntArray:
    """Whole cluster sizes (k,) that sum to ``m`` by largest remainders, each at least one."""
    weights = np.asarray(fractions)
    if abs(weights.sum() - 1.0) > 1e-9:
        raise InvalidParameter(f"fractions sum to {weights.sum():.12g}: they must sum to 1")
    if weights.size > m:
        raise InvalidParameter(f"k={weights.size} must be <= m={m}")
    ideal = weights / weights.sum() * m
    sizes: IntArray = np.maximum(np.floor(ideal + 1e-9), 1).astype(np.int64)
    while sizes.sum() < m:
        sizes[np.argmax(ideal - sizes)] += 1
    while sizes.sum() > m:
        sizes[np.argmin(np.where(sizes > 1, ideal - sizes, np.inf))] -= 1
    return sizes


# -- centres -------------------------------------------------------------------------------------


@validated(theta_star=_CENTRES)
def separation(theta_star: ArrayLike) -> FloatArray:
    """Smallest pairwise distance of the centres (..., k, d), (...,).  Infinite for one centre."""
    centres = np.asarray(theta_star)
    k = centres.shape[-2]
    smallest = np.full(centres.shape[:-2], math.inf)
    for i in range(1, k):
        gaps = last_axis_lengths(centres[..., :i, :] - centres[..., i : i + 1, :])
        smallest = np.minimum(smallest, gaps.min(axis=-1))
    return np.asarray(smallest)


@validated(k=_K, d=_D, Delta=_DELTA, centered=Flag())
def simplex(k: int, d: int, Delta: float, *, centered: bool = True) -> FloatArray:
    """``k`` equidistant centres (k, d) at distance exactly ``Delta``.

    With ``centered`` their mean is zero, which needs d >= k - 1.  Otherwise they are
    ``Delta/sqrt(2)`` times the first ``k`` unit vectors, which needs d >= k.
    """
    needed = max(k - 1, 1) if centered else k
    if d < needed:
        raise InvalidParameter(f"d={d} must be >= {needed} for {k} equidistant centres")
    check_drawn("coordinates k d", k * d)
    theta_star = np.zeros((k, d))
    if not centered:
        theta_star[:, :k] = Delta / math.sqrt(2.0) * np.eye(k)
        return theta_star
    for j in range(1, k):  # the Helmert basis of the simplex: row i of column j
        theta_star[:j, j - 1] = 1.0 / math.sqrt(j * (j + 1))
        theta_star[j, j - 1] = -j / math.sqrt(j * (j + 1))
    return np.asarray(theta_star * (Delta / math.sqrt(2.0)))


@validated(k=_K, d=_D, Delta=_DELTA)
def line(k: int, d: int, Delta: float) -> FloatArray:
    """Centres (k, d) on a line through the origin, neighbours at distance ``Delta``, mean zero."""
    check_drawn("coordinates k d", k * d)
    theta_star = np.zeros((k, d))
    theta_star[:, 0] = Delta * (np.arange(k) - 0.5 * (k - 1))
    return theta_star


def _require_memory(shape: tuple[int, ...]) -> None:
    if math.prod(shape) > _MAX_FLOATS:
        raise InvalidParameter(f"shape={shape} must hold at most {_MAX_FLOATS} numbers")


@validated(rng=Stream(), shape=_SHAPE, d=_D)
def gaussian_vectors(rng: np.random.Generator, shape: tuple[int, ...], d: int) -> FloatArray:
    """``shape = (..., k)`` independent N(0, I_d) vectors."""
    _require_memory((*shape, d))
    return rng.standard_normal((*shape, d))


@validated(rng=Stream(), shape=_SHAPE, d=Integer(0))
def gaussian_frame(rng: np.random.Generator, shape: tuple[int, ...], d: int) -> FloatArray:
    """Gaussian vectors in R^d up to a common rotation, in ``min(k, d)`` coordinates.

    The result is the (..., k, min(k, d)) triangular Bartlett factor.  The inner products of its
    rows have the joint law of those of k independent N(0, I_d) vectors.  The cost does not depend
    on ``d``.
    """
    k = shape[-1]
    width = min(k, d)
    _require_memory((*shape, width))
    frame = np.tril(rng.standard_normal((*shape, width)), -1)
    diagonal = np.arange(width)
    frame[..., diagonal, diagonal] = np.sqrt(rng.chisquare(d - diagonal, (*shape[:-1], width)))
    return frame


@validated(vectors=Array((..., "d")))
def normalise(vectors: FloatArray) -> FloatArray:
    """Unit vectors along the last axis of (..., d).

    A zero vector has no direction and is refused.
    """
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    if not np.all(lengths > _LEAST_LENGTH):  # squares underflow: scale first
        largest = np.abs(vectors).max(axis=-1, keepdims=True)
        if not np.all(largest > 0.0):
            raise InvalidParameter("vectors must not be zero: they would have no direction")
        vectors = vectors / largest
        lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / lengths)


_separation, _normalised = unchecked(separation), unchecked(normalise)


@validated(vectors=_CENTRES, Delta=Maybe(_DELTA), norm=_DELTA)
def random_centres(
    vectors: FloatArray, *, Delta: float | None = None, norm: float = 1.0
) -> FloatArray:
    """Centres in the directions of ``vectors`` (..., k, d), of equal norm.

    The common norm is ``norm``.  With ``Delta`` it is the norm that makes the separation exactly
    ``Delta``.
    """
    directions = _normalised(vectors)
    if Delta is None:
        return directions * norm
    closest = _separation(directions)
    if not np.all(closest > 0.0):
        raise InvalidParameter("vectors must point in different directions, one a centre")
    scale = Delta / closest
    return np.asarray(directions * scale[..., None, None])


def check_bernoulli(k: int, d: int) -> None:
    """Refuse more centres than there are 0/1 vectors that are not zero."""
    if d < 60 and 2**d - 1 < k:
        raise InvalidParameter(f"d={d} must be >= log2(k + 1) for {k} distinct 0/1 centres")


@validated(rng=Stream(), k=_K, d=_D)
def bernoulli_vectors(rng: np.random.Generator, k: int, d: int) -> FloatArray:
    """The papers' design: 0/1 coordinates with probability 1/2, (k, d), section VI-A.

    Drawn again where a vector is zero or two are equal (their separation would be zero).  Where
    hardly any draw would pass, different numbers in 1..2^d - 1 are drawn: their digits have the
    same law.
    """
    check_bernoulli(k, d)
    check_drawn("coordinates k d", k * d)
    if d < 60 and np.log1p(-np.arange(1.0, k + 1.0) / 2.0**d).sum() < _LOG_RARE:
        numbers = 1 + rng.choice(2**d - 1, k, replace=False)
        return (numbers[:, None] >> np.arange(d) & 1).astype(float)
    while True:
        vectors = rng.integers(0, 2, (k, d))
        digits = np.packbits(vectors.astype(np.bool_), axis=1)
        # NumPy's unique rows take ten times as long as the vectors themselves.
        if len({row.tobytes() for row in digits}) == k and vectors.any(axis=1).all():
            return vectors.astype(float)


_bernoulli_vectors = unchecked(bernoulli_vectors)


# -- initialisations -----------------------------------------------------------------------------


@validated(theta_star=_CENTRES)
def nearest_other(theta_star: FloatArray) -> IntArray:
    """Index of each centre's nearest other centre (first on ties), (..., k)."""
    gaps = last_axis_lengths(theta_star[..., :, None, :] - theta_star[..., None, :, :])
    k = theta_star.shape[-2]
    gaps[..., np.arange(k), np.arange(k)] = math.inf
    return _first_nearest(gaps)


def _first_nearest(gaps: FloatArray) -> IntArray:
    """Index of the smallest distance (..., k), the first of those that rounding tells apart."""
    return np.asarray(np.argmax(gaps <= gaps.min(axis=-1, keepdims=True) * (1 + 1e-12), axis=-1))


_nearest_other = unchecked(nearest_other)


@validated(theta_star=_CENTRES, init=Options(get_args(Init)), gaussian=_CENTRES)
def init_directions(
    theta_star: FloatArray, init: str, gaussian: FloatArray, victim: int = -1
) -> FloatArray:
    r"""The direction of each model's displacement from its own centre, (..., k, d).

    * ``random``: ``gaussian`` itself.
    * ``adversarial``: towards the nearest other centre.  The start is collinear, and the Chernoff
      exponent is :math:`\tfrac n2\log(1+\rho/4)` for every alpha.
    * ``orthogonal``: the victim's model moves orthogonally to the span of the centres' differences.
      Where that span fills the space, it moves orthogonally to the segment to its nearest other
      centre.  All others move towards the victim's centre.  For the victim's clients this is the
      worst direction at high rho: :math:`u_1\perp u_2`, with u_1 as long and u_2 as short as the
      closeness allows.  The proof of Lemma 1 bounds this case.
    * ``translation``: as ``orthogonal``, but the victim's model moves straight away from its
      nearest other centre.  The exponent is then :math:`\tfrac n2\log(1+\alpha^2\rho)`.
      Numerically it is the smallest of all directions up to rho of about ten.

    Parameters
    ----------
    theta_star : (..., k, d) centres.  Their leading axes broadcast against those of ``gaussian``.
    gaussian : (..., k, d) Gaussian vectors, read by ``random`` and ``orthogonal``.  The directions
        of the others have the leading axes of ``theta_star`` alone.
    victim : index of the victim.  By default it is the last (largest) cluster, whose clients are
        then assigned to the small ones in large numbers.
    """
    k, d = theta_star.shape[-2:]
    if init == "random":
        return gaussian
    if k < 2:
        raise InvalidParameter(f"k={k} must be >= 2 for init={init!r}")
    if init == "adversarial":
        others = np.take_along_axis(theta_star, _nearest_other(theta_star)[..., None], axis=-2)
        return np.asarray(others - theta_star)
    own = theta_star[..., victim, :]
    towards = own[..., None, :] - theta_star
    gaps = np.linalg.norm(towards, axis=-1)
    gaps[..., victim] = math.inf
    nearest = _first_nearest(gaps)[..., None, None]
    segment = np.take_along_axis(towards, nearest, axis=-2)[..., 0, :]
    if init == "translation":
        directions = towards.copy()
        directions[..., victim, :] = segment
        return directions
    if d < 2:
        raise InvalidParameter(f"d={d} must be >= 2 for init='orthogonal'")
    free = gaussian[..., victim, :]
    inside = np.linalg.pinv(towards, rcond=1e-10) @ (towards @ free[..., None])
    projected = free - inside[..., 0]
    segment = _normalised(segment)
    off_segment = free - np.sum(free * segment, axis=-1, keepdims=True) * segment
    filled = np.linalg.norm(projected, axis=-1) <= 1e-6 * np.linalg.norm(free, axis=-1)
    directions = np.array(
        np.broadcast_to(towards, np.broadcast_shapes(towards.shape, gaussian.shape))
    )
    directions[..., victim, :] = np.where(filled[..., None], off_segment, projected)
    return directions


@validated(theta_star=_CENTRES, alpha=Real(0.0, 0.5), directions=_CENTRES)
def displace(theta_star: FloatArray, alpha: float, directions: FloatArray) -> FloatArray:
    """Models (..., k, d) exactly ``(1/2 - alpha) Delta`` from their own centres (Assumption 1)."""
    radius = (0.5 - alpha) * _separation(theta_star)[..., None, None]
    return np.asarray(theta_star + radius * _normalised(directions))


@validated(
    mixture=Record(Mixture), alpha=Real(0.0, 0.5), init=Options(get_args(Init)), rng=Stream()
)
def initialise(mixture: Mixture, alpha: float, init: str, rng: np.random.Generator) -> FloatArray:
    """Models (k, d) at exact closeness ``alpha``.  The largest cluster is the victim."""
    directions = init_directions(
        np.asarray(mixture.theta_star),
        init,
        gaussian_vectors(rng, (mixture.k,), mixture.d),
        victim=int(np.argmax(mixture.cluster_sizes)),
    )
    return displace(np.asarray(mixture.theta_star), alpha, directions)


@validated(start=Options(get_args(Start)), k=_K, d=_D, rng=Stream(), norm=_DELTA)
def random_start(
    start: str, k: int, d: int, rng: np.random.Generator, norm: float = 1.0
) -> FloatArray:
    """A start that knows nothing of the centres, (k, d).

    With ``bernoulli`` the coordinates are 0 or 1, as in the authors' code.  With
    ``bernoulli-rescaled`` these are rescaled to norm ``norm``.  With ``gaussian`` the law is N(0,
    norm^2 I / d).
    """
    check_drawn("coordinates k d", k * d)
    if start == "gaussian":
        return np.asarray(rng.standard_normal((k, d)) * (norm / math.sqrt(d)))
    if start == "bernoulli":
        return rng.integers(0, 2, (k, d)).astype(float)
    return norm * _normalised(_bernoulli_vectors(rng, k, d))

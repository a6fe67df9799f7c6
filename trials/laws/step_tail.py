r"""Limits on the probability that an IFCA step, or a run, ends far from the optima.

Statements such as Theorem 1 fail with a stated probability of :math:`1/m` or less, far below the
probabilities that sampling resolves.  The law of a step (`trials.laws.step`) gives limits at any
size, on the log scale.

*Labels.*  Let every model lie within :math:`r=(1/2-\alpha)\Delta` of its optimum.  A client prefers
one wrong model with probability at most :math:`e^{-E}`,

.. math:: E=\frac n2\log\Bigl(1+\frac{h^2}{\ell^2+\sigma^2}\Bigr)
          \ge\frac n2\log\Bigl(1+\frac{\alpha^2\Delta^2}{r^2+\sigma^2}\Bigr).

This is Chernoff's bound for the two losses.  In the plane through the client's optimum and the two
models, h is the distance of the optimum from the models' bisector and :math:`\ell` is its distance
from the line that joins the models.  The right model lies within r and the wrong one at least
:math:`(1/2+\alpha)\Delta` away, so :math:`h\ge\alpha\Delta` and :math:`\ell\le r`.

*One step of a cluster without strangers.*  Its clients hold N samples.  Let
:math:`u=\theta-\theta^*`, :math:`a=2\gamma/(mn)`, :math:`\tau^2=|u|^2+\sigma^2` and
:math:`K\sim\chi^2_N`.  Given K,

.. math:: |u^+|^2=\bigl(|u|(1-aK)-a\sigma\sqrt K\,w\bigr)^2+a^2\tau^2K\,\chi^2_{d-1},
          \qquad w\sim N(0,1).

The range of K is cut into intervals.  In each of them Chernoff's bound is taken at the worst end of
the interval and multiplied by the interval's probability.  Every exponent t gives a valid limit, so
that Newton's steps to the best t may end early.  The limit grows with :math:`|u|` and therefore
holds for every start that is no farther away.

*A run* applies the limit step by step, from one radius to the next smaller one that is exceeded
with at most a given probability.  The probabilities of all steps, clusters and labels are added.

All values are upper limits up to floating-point rounding of relative size 1e-9.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from trials.checks import WHOLE_IN_FLOAT, FloatArray, InvalidParameter, real_array, shown
from trials.parameters import (
    Array,
    Domain,
    Integer,
    ListOf,
    Real,
    RealOrInfinity,
    Record,
    validated,
)

_INTERVALS = 48
_REACH = (
    9.0  # intervals of K cover so many standard deviations, and Chernoff's bound covers the rest
)
_ROUNDING = 1e-9
_SPARE = 3.0  # the exponents are chosen for the share over so many units of log probability
_CANDIDATES = (-1.0, -2.0, -4.0, -7.0, -12.0, -20.0, -40.0, -80.0, -160.0)
_LARGEST_BOUND = 1e100  # its square is finite
_NO_SPREAD = 1e-200  # of a square, over that of its mean: nothing but the mean is left
# Newton's steps to an exponent: the ends of y, the size of the last step, and their number.  About
# its square is left after it, and costs the square of that times the limit's own exponent.
_FIRST, _LAST, _NEAR_ENOUGH, _NEWTON_STEPS = math.log(1e-9), math.log(1e6), 1e-3, 40

# Products of two squares of such lengths stay inside the range of floats.
_LENGTH = Real(1e-40, 1e40)
_DISTANCE = Real(0.0, 1e40)
_COUNT = Integer(1, 10**15)
_SETTING: dict[str, Domain] = {
    "sizes": Array(("k",), whole=True, low=1, high=WHOLE_IN_FLOAT),
    "step_sizes": Array(("k",), low=1e-40, high=1e40),
    "n_samples": _COUNT,
    "dimension": _COUNT,
    "separation": _LENGTH,
    "sigma": _LENGTH,
}


@dataclass(frozen=True, kw_only=True)
class StepSetting:
    """The clients and the data on which the limits depend.

    Lengths and step sizes lie in [1e-40, 1e40].

    Attributes
    ----------
    sizes : (k,) clients of each cluster, at least 1.  Their sum is m.
    step_sizes : (k,) gamma of each cluster's model.
    n_samples : fresh samples of a client in each of the two halves of a step, at least 1.
    dimension : d >= 1.
    separation : smallest distance Delta of two optima.
    sigma : noise standard deviation.

    Raises
    ------
    InvalidParameter : a value outside its domain, or lists of different lengths.
    """

    sizes: Sequence[int]
    step_sizes: Sequence[float]
    n_samples: int
    dimension: int
    separation: float
    sigma: float

    def __post_init__(self) -> None:
        for name, domain in _SETTING.items():
            value = domain.check(name, getattr(self, name))
            if isinstance(value, np.ndarray):
                value = tuple(value.tolist())
            object.__setattr__(self, name, value)
        if len(self.sizes) != len(self.step_sizes):
            raise InvalidParameter(
                f"sizes={shown(self.sizes)} must hold one size for each of the "
                f"{len(self.step_sizes)} step sizes"
            )

    @property
    def n_clients(self) -> int:
        """Number m of clients."""
        return int(sum(self.sizes))


@validated(setting=Record(StepSetting), radius=_DISTANCE)
def log_label_tail(setting: StepSetting, radius: float) -> float:
    """Log of a limit on the probability that some client takes a wrong model.

    Parameters
    ----------
    setting : the clients and their data.
    radius : every model lies at most this far from its optimum.  The limit is one unless the radius
        is below half the separation.

    Returns
    -------
    The log of the limit, in [-inf, 0].

    Raises
    ------
    InvalidParameter : an argument outside its domain.
    """
    delta, k = setting.separation, len(setting.sizes)
    margin = 0.5 * delta - radius
    if k == 1:
        return -math.inf
    if margin <= 0:
        return 0.0
    exponent = 0.5 * setting.n_samples * math.log1p(margin**2 / (radius**2 + setting.sigma**2))
    return min(0.0, math.log(setting.n_clients * (k - 1)) - exponent * (1 - _ROUNDING))


@validated(setting=Record(StepSetting), cluster=Integer(0), start=_DISTANCE, bound=RealOrInfinity())
def log_cluster_tail(setting: StepSetting, cluster: int, start: float, bound: float) -> float:
    """Log of a limit on P(|u+| > bound) for one cluster whose clients all take the right model.

    Parameters
    ----------
    setting : the clients and their data.
    cluster : index of the cluster, in [0, k).
    start : distance |u| of the model from its optimum before the step.  The limit holds for every
        smaller distance too.
    bound : distance after the step, any number or infinity.

    Returns
    -------
    The log of the limit, in [-inf, 0].

    Raises
    ------
    InvalidParameter : an argument outside its domain.
    """
    _require_cluster(setting, cluster)
    return _cluster_tail(setting, cluster, start, bound)


@lru_cache(maxsize=16384)
def _cluster_tail(setting: StepSetting, cluster: int, start: float, bound: float) -> float:
    """`log_cluster_tail` of checked arguments.

    It is kept, because a claim asks the same in every round of its trials.
    """
    if not bound > 0:
        return 0.0
    if bound == math.inf:
        return -math.inf
    return float(_step_tails(setting, cluster, np.array(start), np.array(bound)))


def _step_tails(
    setting: StepSetting, cluster: int, start: FloatArray, bound: FloatArray
) -> FloatArray:
    """`log_cluster_tail` (...,) of checked arrays (...,), bounds positive and finite."""
    intervals = _intervals(setting.sizes[cluster] * setting.n_samples)
    a = _step(setting, cluster)
    farthest = np.maximum(np.abs(1 - a * intervals[0]), np.abs(1 - a * intervals[1]))
    return _norm_tail(intervals, a, farthest, start, setting.sigma, setting.dimension, bound)


@validated(
    setting=Record(StepSetting),
    cluster=Integer(0),
    radii=Array(("g",), low=0.0, high=_DISTANCE.high, open_low=True),
)
def log_growth_tails(setting: StepSetting, cluster: int, radii: ArrayLike) -> FloatArray:
    """Logs of limits on the probabilities of steps that end above the next smaller of some radii.

    Parameters
    ----------
    setting, cluster : as in `log_cluster_tail`.
    radii : (g,) distances from the optimum.

    Returns
    -------
    (g - 1,): the log of a limit on P(|u+| > radii[i]) from |u| at most radii[i + 1].

    Raises
    ------
    InvalidParameter : an argument outside its domain.
    """
    _require_cluster(setting, cluster)
    grid = np.asarray(radii)
    return _step_tails(setting, cluster, grid[1:], grid[:-1])


def _norm_tail(
    intervals: tuple[FloatArray, FloatArray, FloatArray],
    a: float,
    farthest: FloatArray,
    distance: FloatArray,
    sigma: float,
    dimension: int,
    bound: FloatArray,
) -> FloatArray:
    """Logs of limits (...,) on the norm of a step or a gradient, over all intervals (i,) of K.

    ``farthest`` is the largest factor on the distance in each interval.
    """
    _low, high, log_weight = intervals
    distance = distance[..., None]
    with np.errstate(invalid="ignore"):  # no distance, or no noise, times an endless interval
        mean = np.where(distance > 0, distance * farthest, 0.0)
        along = (a * sigma) ** 2 * high
    across = a**2 * (distance**2 + sigma**2) * high
    log_tail = _log_chernoff(mean, along, across, dimension - 1, bound[..., None])
    total = np.logaddexp.reduce(log_weight + log_tail, axis=-1)
    return np.asarray(np.minimum(0.0, total + _ROUNDING))


def _require_cluster(setting: StepSetting, cluster: int) -> None:
    """Refuse an index that is not one of the k clusters."""
    if cluster >= len(setting.sizes):
        raise InvalidParameter(f"cluster={cluster} must be < k={len(setting.sizes)}")


@validated(
    n_samples=_COUNT, dimension=_COUNT, distance=_DISTANCE, sigma=_DISTANCE, bound=RealOrInfinity()
)
def log_gradient_tail(
    n_samples: int, dimension: int, distance: float, sigma: float, bound: float
) -> float:
    r"""Log of a limit on :math:`P(|\nabla F_i(\theta)|>b)` for one client.

    The gradient is :math:`\tfrac2nX^\top r`.  Given :math:`K\sim\chi^2_n` its squared norm is
    :math:`(aK|u|+a\sigma\sqrt K\,w)^2+a^2\tau^2K\chi^2_{d-1}` with :math:`a=2/n`.

    Parameters
    ----------
    n_samples, dimension : of the client's data, at least 1.
    distance : |u| of the model from the client's own optimum.  The limit holds for smaller ones.
    sigma : noise standard deviation.  It or the distance must be at least 1e-40.
    bound : norm b, any number or infinity.

    Returns
    -------
    The log of the limit, in [-inf, 0].

    Raises
    ------
    InvalidParameter : an argument outside its domain.
    """
    if max(distance, sigma) < _LENGTH.low:
        raise InvalidParameter(
            f"sigma={sigma:g} must be >= {_LENGTH.low:g} where distance={distance:g} is smaller"
        )
    if not bound > 0:
        return 0.0
    if bound == math.inf:
        return -math.inf
    intervals, a = _intervals(n_samples), 2.0 / n_samples
    reach = a * intervals[1]
    at = np.array(distance), sigma, dimension, np.array(bound)
    return float(_norm_tail(intervals, a, reach, *at))


@validated(setting=Record(StepSetting), radius=_DISTANCE)
def log_step_tail(setting: StepSetting, radius: float, bounds: Sequence[float] | float) -> float:
    """Log of a limit on the probability that some cluster's error exceeds its bound after a step.

    Parameters
    ----------
    setting : the clients and their data.
    radius : largest distance of a model from its optimum before the step.
    bounds : largest allowed distance after it: one number, or one for each cluster.  Infinity is
        allowed.

    Returns
    -------
    The log of the limit, in [-inf, 0].

    Raises
    ------
    InvalidParameter : an argument outside its domain.

    Examples
    --------
    A step of 10,000 clients from the optima, against ten times the error's scale:

    >>> s = StepSetting(sizes=[5000, 5000], step_sizes=[2/3, 2/3], n_samples=1000, dimension=20,
    ...                 separation=1.0, sigma=0.5)
    >>> log_step_tail(s, 0.0, 0.01) < -100
    True
    """
    k = len(setting.sizes)
    allowed = real_array("bounds", bounds)
    if allowed.shape not in ((), (1,), (k,)) or np.isnan(allowed).any():
        raise InvalidParameter(
            f"bounds={shown(bounds)} must be one number or {k}, none of them NaN"
        )
    allowed = np.broadcast_to(allowed, (k,))
    tails = {
        (first, bound): _cluster_tail(setting, first, radius, bound)
        for first, bound in zip(same_clusters(setting), allowed.tolist(), strict=True)
    }
    logs = [tails[key] for key in zip(same_clusters(setting), allowed.tolist(), strict=True)]
    return min(0.0, float(np.logaddexp.reduce([*logs, log_label_tail(setting, radius)])))


@validated(
    setting=Record(StepSetting),
    radius=_DISTANCE,
    n_steps=Integer(0),
    bound=RealOrInfinity(),
    candidates=ListOf(Real(high=0.0)),
)
def log_run_tail(
    setting: StepSetting,
    radius: float,
    n_steps: int,
    bound: float,
    candidates: Sequence[float] = _CANDIDATES,
) -> float:
    """Log of a limit on the probability that some cluster is farther than ``bound`` after a run.

    Parameters
    ----------
    setting : the clients and their data.
    radius : largest distance of a model from its optimum at the start.
    n_steps : resampled steps.  Without a step the answer is certain: -inf or 0.
    bound : distance that every cluster must reach, any number or infinity.
    candidates : falling log probabilities, at most 0.  They are tried in this order until one does
        not hold.

    Returns
    -------
    The last candidate that held, or 0 where the first of them does not hold.

    Raises
    ------
    InvalidParameter : an argument outside its domain.

    Notes
    -----
    A candidate is shared equally between steps and clusters.  It holds where the radii that are
    exceeded with these probabilities end below the bound.
    """
    if n_steps < 1:
        return -math.inf if radius <= bound else 0.0
    found = 0.0
    for log_total in candidates:
        if _reach(setting, radius, n_steps, log_total) > bound:
            break
        found = log_total
    return found


@lru_cache(maxsize=4096)
def _reach(setting: StepSetting, radius: float, n_steps: int, log_total: float) -> float:
    """The largest radius after a run that fails with probability at most ``exp(log_total)``.

    Infinite where the labels alone use the probability up.  It does not depend on the bound with
    which a caller compares it, so that changed bounds share it.
    """
    k = len(setting.sizes)
    share = log_total - math.log(2 * n_steps * k)
    labels = log_total - math.log(2 * n_steps)
    radii = [radius] * k
    first = same_clusters(setting)
    for _ in range(n_steps):
        largest = max(radii)
        if largest > _DISTANCE.high or log_label_tail(setting, largest) > labels:
            return math.inf
        reached = {j: _quantile(setting, j, radii[j], share) for j in set(first)}
        radii = [reached[j] for j in first]
    return max(radii)


def _quantile(setting: StepSetting, cluster: int, start: float, log_share: float) -> float:
    """A distance that the cluster's error exceeds with probability at most ``exp(log_share)``.

    Chernoff's exponents are chosen once, near the answer.  The limit with these exponents is valid
    for every distance and falls with it, so that the distance is found by bisection.
    """
    low, high, log_weight = _intervals(setting.sizes[cluster] * setting.n_samples)
    a = _step(setting, cluster)
    farthest = np.maximum(np.abs(1 - a * low), np.abs(1 - a * high))
    mean = start * farthest if start > 0 else np.zeros_like(farthest)
    dof = setting.dimension - 1
    along = (a * setting.sigma) ** 2 * high
    across = a**2 * (start**2 + setting.sigma**2) * high if dof else np.zeros_like(high)
    usable = np.isfinite(mean) & np.isfinite(along) & np.isfinite(across)
    rest = float(np.logaddexp.reduce(log_weight[~usable])) if not usable.all() else -math.inf
    weight = log_weight[usable]
    excess = np.maximum(weight - log_share, 0.0) + _SPARE
    t, constant = _exponents(mean[usable], along[usable], across[usable], dof, excess)

    def log_tail(square: float) -> float:
        terms = weight + np.minimum(0.0, constant - t * square)
        largest = max(float(terms.max()), rest)
        total = float(np.sum(np.exp(terms - largest))) + math.exp(rest - largest)
        return largest + math.log(total) + _ROUNDING

    def where_each_is(log: float) -> float:
        """The least square at which no term is above a log."""
        over = weight - log
        return float(np.max((constant + over) / t, where=over > 0, initial=0.0))

    # One term alone is the share at ``below``, and all of them together are no more at ``above``.
    below, above, allowed = where_each_is(log_share), math.inf, log_share - 2 * _ROUNDING
    if rest < allowed:
        left = allowed + math.log1p(-math.exp(rest - allowed))
        above = where_each_is(left - math.log(t.size))

    def meets(square: float) -> bool:
        return square >= above or (square > below and log_tail(square) <= log_share)

    upper = float(np.max((constant + excess) / t))
    while not meets(upper):
        upper *= 2.0
        if not upper < 1e300:
            return math.inf
    lower = 0.0
    while upper - lower > 1e-3 * upper:
        middle = 0.5 * (lower + upper)
        lower, upper = (lower, middle) if meets(middle) else (middle, upper)
    return math.sqrt(upper)


def _exponents(
    mean: FloatArray, along: FloatArray, across: FloatArray, dof: int, excess: FloatArray
) -> tuple[FloatArray, FloatArray]:
    r"""Exponents t of Chernoff's bound, and the logs of the moments there, interval by interval.

    t minimises the square at which the bound falls to ``exp(-excess)``: with the moment's log c(t),
    :math:`tc'(t)-c(t)` is the excess.
    """
    scaled = _Scaled.of(mean, along, across, dof)
    t = scaled.exponent(lambda u, p, q: (scaled.gap(u, p, q), 0.5 * u * scaled.bend(p, q)), excess)
    return t, _log_moment(t, mean, along, across, dof)


@lru_cache(maxsize=256)
def _first_alike(pairs: tuple[tuple[int, float], ...]) -> tuple[int, ...]:
    return tuple(pairs.index(pair) for pair in pairs)


@validated(setting=Record(StepSetting))
def same_clusters(setting: StepSetting) -> tuple[int, ...]:
    """For each cluster the first one of its size and step size, which has the same limits."""
    return _first_alike(tuple(zip(setting.sizes, setting.step_sizes, strict=True)))


def _step(setting: StepSetting, cluster: int) -> float:
    return 2.0 * setting.step_sizes[cluster] / (setting.n_clients * setting.n_samples)


@lru_cache(maxsize=256)
def _intervals(n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Intervals that cover the range of a chi-square variable, with the logs of their limits.

    Returns
    -------
    low, high : ends of the intervals.
    log_weight : logs of upper limits on their probabilities.
    """
    spread = math.sqrt(2.0 * n)
    inner = n + spread * np.linspace(-_REACH, _REACH, _INTERVALS + 1)
    # Beyond the inner intervals, coarser ones: each in its Chernoff limit.
    factors = np.geomspace(1.05, 40.0, 24)
    upper = (n + spread * _REACH) * factors
    lower = np.maximum(n - spread * _REACH, 0.0) / factors[::-1]
    edges = np.concatenate([[0.0], lower[lower > 0], inner[inner > 0], upper])
    low, high = edges[:-1], edges[1:]
    above = _log_upper(n, low)
    below = _log_lower(n, high)
    inside = special.gammaincc(n / 2, low / 2) - special.gammaincc(n / 2, high / 2)
    with np.errstate(divide="ignore"):
        direct = np.log(np.maximum(inside, 0.0) + 1e-13)
    log_weight = np.minimum(np.minimum(above, below), direct)
    # The last interval includes everything above it, and its Chernoff bound is taken at infinity.
    found = low, np.append(high[:-1], np.inf), np.append(log_weight[:-1], above[-1])
    for array in found:
        array.setflags(write=False)  # the same arrays are given to every caller
    return found


def _log_upper(n: int, x: FloatArray) -> FloatArray:
    """Log of Chernoff's limit on P(chi2_n >= x), x (i,)."""
    ratio = np.maximum(x / n, 1.0)
    return np.asarray(-0.5 * n * (ratio - 1.0 - np.log(ratio)) * (1 - _ROUNDING))


def _log_lower(n: int, x: FloatArray) -> FloatArray:
    """Log of Chernoff's limit on P(chi2_n <= x), x (i,)."""
    ratio = np.minimum(x / n, 1.0)
    with np.errstate(divide="ignore"):
        return np.asarray(-0.5 * n * (ratio - 1.0 - np.log(ratio)) * (1 - _ROUNDING))


def _log_chernoff(
    mean: FloatArray, along: FloatArray, across: FloatArray, dof: int, bound: FloatArray
) -> FloatArray:
    r"""Logs of Chernoff's limits on :math:`P((\mu+sw)^2+c\,\chi^2_{dof}>b^2)`, each interval's.

    ``along`` is :math:`s^2`, ``across`` is c.  At the best exponent t the derivative of the
    moment's log is :math:`b^2`.  Every t gives a valid limit.  A bound beyond the range of its
    square is replaced by a smaller one, whose limit is larger.  A number without a spread, of one
    coordinate without noise, is above the bound or never.
    """
    square = np.minimum(bound, _LARGEST_BOUND) ** 2
    mean, along, across, square = np.broadcast_arrays(mean, along, across, square)
    out = np.zeros(mean.shape)
    usable = np.isfinite(mean) & np.isfinite(across) & np.isfinite(along)
    mean, along, across, square = mean[usable], along[usable], across[usable], square[usable]
    if not mean.size:
        return out
    if dof == 0:
        across = np.zeros_like(across)
        fixed = along <= _NO_SPREAD * mean * mean
        if fixed.any():
            above = mean * (1.0 + _ROUNDING) >= np.sqrt(square)
            out[usable] = np.where(fixed & ~above, -np.inf, 0.0)
            usable[usable] = ~fixed
            mean, along, across, square = (each[~fixed] for each in (mean, along, across, square))
            if not mean.size:
                return out
    scaled = _Scaled.of(mean, along, across, dof)
    more = square / scaled.largest - scaled.slope_at_zero
    t = scaled.exponent(lambda u, p, q: (scaled.rise(u, p, q), scaled.bend(p, q)), more)
    out[usable] = np.minimum(0.0, _log_moment(t, mean, along, across, dof) - t * square)
    return out


def _log_moment(
    t: FloatArray, mean: FloatArray, along: FloatArray, across: FloatArray, dof: int
) -> FloatArray:
    r"""Logs of :math:`E\exp(t((\mu+sw)^2+c\,\chi^2_{dof}))`, all (i,)."""
    twice = 2.0 * t
    return np.asarray(
        t * mean**2 / (1.0 - twice * along)
        - 0.5 * np.log1p(-twice * along)
        - 0.5 * dof * np.log1p(-twice * across)
    )


@dataclass(frozen=True)
class _Scaled:
    r"""The moment's log c(t) in units in which it exists for u in [0, 1), :math:`t=u/(2L)`.

    L is ``largest``, the larger of :math:`s^2` and c, and ``mean`` :math:`\mu^2/L`, ``along``
    :math:`s^2/L` and ``across`` :math:`c/L`, each (i,).  The methods take u,
    :math:`p=1-u\,`\ ``along`` and :math:`q=1-u\,`\ ``across``.
    """

    largest: FloatArray
    mean: FloatArray
    along: FloatArray
    across: FloatArray
    dof: int

    @classmethod
    def of(cls, mean: FloatArray, along: FloatArray, across: FloatArray, dof: int) -> _Scaled:
        largest = np.maximum(along, across)
        return cls(largest, mean / largest * mean, along / largest, across / largest, dof)

    @property
    def slope_at_zero(self) -> FloatArray:
        """c'(0) over L: the mean of the square."""
        return self.mean + self.along + self.dof * self.across

    def rise(self, u: FloatArray, p: FloatArray, q: FloatArray) -> FloatArray:
        """c'(t) less c'(0), over L."""
        own = self.mean * self.along * (1.0 + p) / p**2 + self.along**2 / p
        return np.asarray(u * (own + self.dof * self.across**2 / q))

    def bend(self, p: FloatArray, q: FloatArray) -> FloatArray:
        """The derivative of c'/L by u."""
        own = 2.0 * self.mean * self.along / p**3 + (self.along / p) ** 2
        return np.asarray(own + self.dof * (self.across / q) ** 2)

    def gap(self, u: FloatArray, p: FloatArray, q: FloatArray) -> FloatArray:
        """t c'(t) - c(t)."""
        own = self.mean * self.along * (u / p) ** 2 + _log_gap(u * self.along, p)
        return np.asarray(0.5 * (own + self.dof * _log_gap(u * self.across, q)))

    def exponent(
        self,
        grown: Callable[[FloatArray, FloatArray, FloatArray], tuple[FloatArray, FloatArray]],
        target: FloatArray,
    ) -> FloatArray:
        """The t at which a function that grows from 0 at u = 0 meets its target.

        ``grown(u, p, q)`` gives the function and its derivative by u.  Its log is close to a
        straight line in :math:`y=\\log(u/(1-u))`, so that a few of Newton's steps are enough.  A
        step that leaves the interval of the root halves it instead.  A target that is not met in
        :math:`[10^{-9},1-10^{-6}]` gives an end.
        """
        low, high = np.full(target.shape, -1e300), np.full(target.shape, 1e300)
        y, log_target = np.where(target > 0, 0.0, _FIRST), np.log(np.maximum(target, 1e-300))
        for _ in range(_NEWTON_STEPS):
            u, rest = special.expit(y), special.expit(-y)
            value, slope = grown(
                u, (1.0 - self.along) + self.along * rest, (1.0 - self.across) + self.across * rest
            )
            distance = log_target - np.log(value)
            low, high = np.where(distance > 0, y, low), np.where(distance > 0, high, y)
            found = y + distance * value / (slope * u * rest)
            found = np.where((low <= found) & (found <= high), found, 0.5 * (low + high))
            found = np.clip(found, _FIRST, _LAST)
            moved, y = float(np.max(np.abs(found - y))), found
            if moved < _NEAR_ENOUGH:
                break
        return np.asarray(special.expit(y) / (2.0 * self.largest))


def _log_gap(z: FloatArray, rest: FloatArray) -> FloatArray:
    """z / (1 - z) + log(1 - z) for z in [0, 1), with ``rest`` = 1 - z, to 1e-11 of its size."""
    series = z * z * (0.5 + z * (2.0 / 3.0 + z * (0.75 + 0.8 * z)))
    return np.where(z < 1e-3, series, z / rest + np.log(rest))

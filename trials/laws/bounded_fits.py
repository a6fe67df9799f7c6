r"""Exact laws of local fits on designs that meet every boundedness assumption of ODCL.

Armacki, Bajovic, Jakovetic & Kar (2024) assume bounded gradients at the optimum and a bounded
parameter space.  Gaussian data meet neither.  Three designs do, and their fits have exact laws:

``coordinates``
    A sample shows one coordinate j, uniform on the d: :math:`x=\sqrt d\,e_j`,
    :math:`y=\langle x,\theta^*\rangle\pm\sigma` with a fair sign, loss
    :math:`\frac12(y-\langle x,\theta\rangle)^2`.  So
    :math:`F(\theta)=\frac12|\theta-\theta^*|^2+\frac12\sigma^2`.  The error in coordinate j is
    :math:`\sigma/\sqrt d` times the mean of its :math:`n_j` signs.  A coordinate without samples is
    fitted by zero, the minimiser of least norm.  Fits are unbiased where all coordinates have
    samples.

``two-point``
    d = 1, :math:`x^2=L` or :math:`\kappa L` with a fair coin, and the gradient at the optimum is
    :math:`+N` or :math:`-N`.  With :math:`s` the mean of n signs the error is
    :math:`Ns/(\bar h+s\Delta)`, :math:`\bar h=(1+\kappa)L/2`, :math:`\Delta=(1-\kappa)L/2`.
    The gradient is correlated with the curvature, so the fit is biased although the loss is
    quadratic: :math:`|E\hat\theta-\theta^*|\ge N\Delta/(\bar h^2n)`, because each pair of outcomes
    :math:`\pm s` contributes :math:`-2Ns^2\Delta/(\bar h^2-s^2\Delta^2)`.

``cosh``
    d = 1, :math:`\ell(\theta;x)=w\log\cosh((\theta-x)/w)` with x = w or -w, P(x = w) = p.  With q
    the share of the samples at w, :math:`\tanh(\hat\theta/w)=2v/(1+\sqrt{1+4v^2})`,
    :math:`v=(2q-1)t/(1-t^2)`, :math:`t=\tanh1`.  The loss is not quadratic: its third derivative is
    at most :math:`4/(3\sqrt3w^2)`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy

from trials.checks import FloatArray, IntArray, check_drawn
from trials.parameters import Integer, Options, Real, Stream, validated

Design = Literal["coordinates", "two-point", "cosh"]
DESIGNS: tuple[Design, ...] = ("coordinates", "two-point", "cosh")
_TANH_ONE = math.tanh(1.0)
_THIRD = 4.0 / (3.0 * math.sqrt(3.0))  # the largest third derivative of log cosh
_GRID = 1000  # steps of the parameter space on which the curvature is minimised
_SPREADS = 14.0  # standard deviations kept of a binomial law: the rest has probability 1e-43
_FEW = 80  # outcomes kept on each side where the standard deviation is small


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """The constants of Assumptions 1-6 for one design.

    Attributes
    ----------
    mu, L : strong convexity of F and smoothness of the loss.
    N : largest length of a gradient at the optimum.
    H : Lipschitz constant of the second derivative, within ``radius`` of the optimum.
    R : radius of the parameter space, a ball around zero that holds every minimiser.
    G : largest length of F's gradient on the parameter space.
    F_star : smallest value of F.
    """

    mu: float
    L: float
    N: float
    H: float
    R: float
    G: float
    F_star: float


@dataclass(frozen=True, kw_only=True)
class Moments:
    """Of a local fit's error: its mean square and the squared length of its mean."""

    mean_square: float
    squared_bias: float

    def of_average(self, m: float) -> float:
        """The mean squared error of the average of m independent fits."""
        return self.mean_square / m + (1.0 - 1.0 / m) * self.squared_bias


def binomial_law(n: int, p: float) -> tuple[IntArray, FloatArray]:
    """The outcomes of a binomial law that are not negligible, and their probabilities, scaled to
    sum 1.
    """
    reach = max(_SPREADS * math.sqrt(n * p * (1.0 - p)), _FEW)
    k = np.arange(max(0, math.floor(n * p - reach)), min(n, math.ceil(n * p + reach)) + 1)
    weights = scipy.stats.binom.pmf(k, n, p)
    return k, np.asarray(weights / weights.sum())


def _cosh_fit(share: FloatArray, width: float) -> FloatArray:
    """The minimiser where a share of the samples lies at ``width`` and the rest at ``-width``."""
    v = (2.0 * share - 1.0) * _TANH_ONE / (1.0 - _TANH_ONE**2)
    tanh = np.minimum(2.0 * v / (1.0 + np.sqrt(1.0 + 4.0 * v * v)), _TANH_ONE)
    return np.asarray(width * np.arctanh(tanh))


def cosh_optimum(p: float, width: float) -> float:
    """The minimiser of F on the design ``cosh``."""
    return float(_cosh_fit(np.array([p]), width)[0])


def two_point_errors(s: FloatArray, kappa: float, smooth: float, gradient: float) -> FloatArray:
    """Errors (n,) of the fits on the design ``two-point`` whose signs have means ``s`` (n,)."""
    mean, half = (1.0 + kappa) * smooth / 2.0, (1.0 - kappa) * smooth / 2.0
    return np.asarray(gradient * s / (mean + s * half))


_POSITIVE = Real(1e-100, 1e100)
_SHARE = Real(1e-6, 1.0)
_DIMENSION = Integer(1, 10**9)
_SAMPLES = Integer(1, 10**10)


@validated(design=Options(DESIGNS), d=_DIMENSION, scale=_POSITIVE, noise=_POSITIVE, skew=_SHARE)
def bounds(design: Design, d: int, scale: float, noise: float, skew: float) -> Bounds:
    """The constants of a design.

    Parameters
    ----------
    scale : length of the optimum (``coordinates``), smoothness L (``two-point``) or width w
        (``cosh``).
    noise : sigma (``coordinates``) or N (``two-point``), not used by ``cosh``.
    skew : kappa (``two-point``) or p (``cosh``), below one, not used by ``coordinates``.
    d : dimension, 1 except for ``coordinates``.
    """
    if design == "coordinates":
        R = scale + noise
        return Bounds(
            mu=1.0, L=float(d), N=math.sqrt(d) * noise, H=0.0, R=R, G=R + scale,
            F_star=noise**2 / 2,
        )  # fmt: skip
    if design == "two-point":
        mu = (1.0 + skew) * scale / 2.0
        R = noise / (skew * scale)
        return Bounds(
            mu=mu, L=scale, N=noise, H=0.0, R=R, G=mu * R,
            F_star=noise**2 * (1.0 + 1.0 / skew) / (4.0 * scale),
        )  # fmt: skip
    optimum = cosh_optimum(skew, scale)
    R = scale  # every minimiser lies between the two points
    thetas = np.linspace(-1.0, 1.0, _GRID + 1)
    curvature = skew / np.cosh(thetas - 1.0) ** 2 + (1.0 - skew) / np.cosh(thetas + 1.0) ** 2
    # between two points of the grid the curvature falls by at most half a step's worth
    mu = (float(curvature.min()) - _THIRD / _GRID) / scale
    at = (optimum / scale - 1.0, optimum / scale + 1.0)
    value = skew * math.log(math.cosh(at[0])) + (1.0 - skew) * math.log(math.cosh(at[1]))
    return Bounds(
        mu=mu, L=1.0 / scale, N=max(abs(math.tanh(x)) for x in at),
        H=_THIRD / scale**2, R=R, G=math.tanh(2.0), F_star=scale * value,
    )  # fmt: skip


def _coordinate_moments(n: int, d: int, optimum: float, sigma: float) -> Moments:
    k, weights = binomial_law(n, 1.0 / d)
    seen = k > 0
    inverse = float(np.sum(weights[seen] / k[seen]))
    unseen = math.exp(n * math.log1p(-1.0 / d)) if d > 1 else 0.0  # 1 - 1/d loses digits
    return Moments(
        mean_square=sigma**2 * inverse + optimum**2 * unseen, squared_bias=(optimum * unseen) ** 2
    )


@dataclass(frozen=True, kw_only=True)
class LineLaw:
    """The law of a local fit in one dimension: outcomes (o,) and their probabilities.

    Attributes
    ----------
    weights : probabilities of the outcomes.
    errors : theta_hat - theta*.
    excess : F(theta_hat) - F(theta*).
    gradient, hessian : of the empirical loss at theta*, minus those of F.
    """

    weights: FloatArray
    errors: FloatArray
    excess: FloatArray
    gradient: FloatArray
    hessian: FloatArray


def _above_tangent(x: float, steps: FloatArray) -> FloatArray:
    """log cosh(x + e) above its tangent at x, for steps e (n,).

    The tangents' sum is flat at the optimum.  So these heights add up to the excess of the loss,
    of which a difference of losses keeps nothing where e^2 is below rounding.
    """
    slope = math.tanh(x)
    bend = math.cosh(x) ** -2
    small = 0.5 - steps * (slope / 3.0 - steps * (slope * slope - 1.0 / 3.0) / 4.0)
    growth = 2.0 * np.sinh(0.5 * steps) ** 2 + slope * np.sinh(steps)
    direct = np.log1p(growth) - steps * slope
    return np.asarray(np.where(np.abs(steps) < 1e-4, bend * steps * steps * small, direct))


def _cosh_law(n: int, width: float, p: float) -> LineLaw:
    k, weights = binomial_law(n, p)
    share = k / n
    optimum = cosh_optimum(p, width)
    errors = _cosh_fit(share, width) - optimum
    right, left = optimum / width - 1.0, optimum / width + 1.0
    change = math.cosh(right) ** -2 - math.cosh(left) ** -2
    return LineLaw(
        weights=weights,
        errors=errors,
        excess=width
        * (
            p * _above_tangent(right, errors / width)
            + (1.0 - p) * _above_tangent(left, errors / width)
        ),
        gradient=(share - p) * (math.tanh(right) - math.tanh(left)),
        hessian=(share - p) * change / width,
    )


@validated(n=_SAMPLES, design=Options(DESIGNS), scale=_POSITIVE, noise=_POSITIVE, skew=_SHARE)
def line_law(n: int, design: Design, scale: float, noise: float, skew: float) -> LineLaw:
    """The exact law of a local fit in one dimension, up to 1e-8 of its probabilities.

    The parameters are those of `bounds`, with d = 1.  O(sqrt n) work.
    """
    if design == "cosh":
        return _cosh_law(n, scale, skew)
    k, weights = binomial_law(n, 0.5)
    s = 2.0 * k / n - 1.0
    if design == "coordinates":
        return LineLaw(
            weights=weights, errors=noise * s, excess=(noise * s) ** 2 / 2, gradient=-noise * s,
            hessian=np.zeros_like(s),
        )  # fmt: skip
    errors = two_point_errors(s, skew, scale, noise)
    return LineLaw(
        weights=weights, errors=errors, excess=(1.0 + skew) * scale / 4.0 * errors**2,
        gradient=-noise * s, hessian=(1.0 - skew) * scale / 2.0 * s,
    )  # fmt: skip


@validated(
    n=_SAMPLES, design=Options(DESIGNS), d=_DIMENSION, scale=_POSITIVE, noise=_POSITIVE, skew=_SHARE
)
def moments(n: int, design: Design, d: int, scale: float, noise: float, skew: float) -> Moments:
    """The exact moments of a local fit's error, up to 1e-8 of their size.

    The parameters are those of `bounds`.  O(sqrt n) work.  Beyond 10^9 samples the squared bias of
    ``cosh`` has an error of up to 1e-6 of its size: the errors cancel up to it.
    """
    if design == "coordinates":
        return _coordinate_moments(n, d, scale, noise)
    law = line_law(n, design, scale, noise, skew)
    if design == "two-point":
        mean, half = (1.0 + skew) * scale / 2.0, (1.0 - skew) * scale / 2.0
        s = law.gradient / noise
        # the outcomes s and -s in one term: their errors cancel up to this
        bias = noise * half * float(np.sum(law.weights * s * s / (mean**2 - (s * half) ** 2)))
    else:
        bias = float(np.sum(law.weights * law.errors))
    return Moments(mean_square=float(np.sum(law.weights * law.errors**2)), squared_bias=bias**2)


@validated(
    n=Integer(1, 10**12),
    d=_DIMENSION,
    optimum=Real(0.0, 1e100),
    sigma=Real(0.0, 1e100),
    rng=Stream(),
    n_trials=Integer(0),
)
def coordinate_errors(
    n: int, d: int, optimum: float, sigma: float, rng: np.random.Generator, n_trials: int
) -> FloatArray:
    """Draw ``theta_hat - theta*`` on the design ``coordinates``, (n_trials, d).

    The optimum has ``optimum / sqrt(d)`` in every coordinate.
    """
    check_drawn("coordinates n_trials d", max(n_trials, 1) * d)
    counts = rng.multinomial(n, np.full(d, 1.0 / d), n_trials)
    heads = rng.binomial(counts, 0.5)
    means = 2.0 * heads / np.maximum(counts, 1) - 1.0
    return np.asarray(np.where(counts > 0, sigma * means, -optimum) / math.sqrt(d))

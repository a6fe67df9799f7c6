r"""The losses of clustered federated learning with their populations' exact constants.

A cluster's *population* is :math:`x=\Sigma^{1/2}w` with independent coordinates :math:`w_c` of mean
0 and variance 1, with a response.  The response is either linear,
:math:`y=\langle x,\theta^*\rangle+\epsilon`, or a label with
:math:`P(y=1\mid x)=s(\langle x,\theta^*\rangle)`, :math:`s(t)=1/(1+e^{-t})`.

============= ====================================================================================
loss          :math:`f(\theta;x,y)`
============= ====================================================================================
squared       :math:`\tfrac c2(y-\langle x,\theta\rangle)^2`; c = 1: Su, Xu & Yang; 2: Ghosh et al.
ridge         squared :math:`+\tfrac\mu2\lVert\theta\rVert^2`, mu = ``l2``
logistic      :math:`\log(1+e^{-y\langle x,\theta\rangle})+\tfrac\mu2\lVert\theta\rVert^2`, y = ±1
============= ====================================================================================

Each gives the minimiser of :math:`F=\mathbb E f` and the constants lambda (strong convexity) and L
(smoothness) of F.  These are in Assumption 3 of Ghosh, Chung, Yin & Ramchandran (TIT 2022).  Each
also gives the variances :math:`\operatorname{Var} f(\theta)` and
:math:`\mathbb E\lVert\nabla f(\theta)-\nabla F(\theta)\rVert^2`, which their Assumptions 4 and 5
bound by :math:`\eta^2` and :math:`v^2`.  The paper requires the bounds at every theta, where only
the logistic v^2 is finite.  Here bounds hold on a ball.  The paper's :math:`\theta_j^*` is the
minimiser of F, which a penalty moves away from the parameter theta* of the responses.  Squared and
ridge losses have closed forms for any law of the features, by its kurtosis.  The logistic loss
needs Gaussian features.  It uses trapezoidal sums over one or two normal variables, whose error
falls exponentially (`QUADRATURE_ERROR`).

Kernels get a loss as three numbers (`kernel_arguments`): its kind, c (1 for the logistic loss) and
mu, for `data_loss` and `descent_weight`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, log_expit

from trials.checks import (
    FloatArray,
    InvalidParameter,
    bounded_entries,
    flag,
    one_of,
    real_array,
    real_between,
    record_of,
)
from trials.kernel import inner_kernel

Response = Literal["linear", "logistic"]

SQUARED, LOGISTIC = 0, 1
"""Kinds of loss, as kernels know them.  Ridge is `SQUARED` with a penalty."""

QUADRATURE_ERROR = 1e-13
"""Error of a normal expectation relative to 1 + the variance of the margin (tested on mpmath)."""

_HALF_WIDTH = 9.5  # P(|Z| > 9.5) = 2e-21
_STEP = 0.4  # of the sum, over the larger of 1 and the margin's standard deviation
_MAX_DEVIATION = 300.0  # of a margin: labels are then decided but for one sample in four hundred


@dataclass(frozen=True, kw_only=True)
class Population:
    """One cluster's law of (x, y).

    Attributes
    ----------
    theta_star : (d,) true parameter.
    covariance : (d, d) symmetric positive definite Sigma = E[x x^T].
    sigma : standard deviation of the noise (linear responses only), >= 0.
    feature_kurtosis : E[w_c^4] >= 1.  It is 3 for Gaussian features, and infinite where the fourth
        moment is.
    noise_kurtosis : E[eps^4] / sigma^4 >= 1.
    gaussian : whether x is Gaussian (the logistic loss's expectations need it).
    response : ``linear`` or ``logistic``.  A loss refuses the other kind's population.  None stands
        for the kind of the loss.
    """

    theta_star: FloatArray
    covariance: FloatArray
    sigma: float = 0.0
    feature_kurtosis: float = 3.0
    noise_kurtosis: float = 3.0
    gaussian: bool = True
    response: Response | None = None

    def __post_init__(self) -> None:
        theta = real_array("theta_star", self.theta_star).copy()
        matrix = real_array("covariance", self.covariance).copy()
        bounded_entries("theta_star", theta)
        bounded_entries("covariance", matrix)
        if theta.ndim != 1 or theta.size < 1 or not np.isfinite(theta).all():
            raise InvalidParameter(
                f"theta_star of shape {theta.shape} must be (d,), d >= 1, and finite"
            )
        if matrix.shape != (theta.size, theta.size) or not np.isfinite(matrix).all():
            raise InvalidParameter(
                f"covariance of shape {matrix.shape} must be ({theta.size}, {theta.size}), finite"
            )
        if np.abs(matrix - matrix.T).max() > 1e-12 * np.abs(matrix).max():
            raise InvalidParameter("covariance must be symmetric")
        spectrum = np.linalg.eigvalsh(matrix)
        if spectrum[0] <= 0:
            raise InvalidParameter(
                f"covariance has an eigenvalue {spectrum[0]:.3g}: it must be positive definite"
            )
        for name in ("feature_kurtosis", "noise_kurtosis"):
            value = getattr(self, name)
            if not (isinstance(value, float) and value == math.inf):  # heavy tails have none
                object.__setattr__(self, name, real_between(name, value, 1.0))
        flag("gaussian", self.gaussian)
        if self.gaussian and self.feature_kurtosis != 3.0:
            raise InvalidParameter(
                f"feature_kurtosis={self.feature_kurtosis} must be 3 for Gaussian features"
            )
        if self.response is not None:
            one_of("response", self.response, ("linear", "logistic"))
        object.__setattr__(self, "sigma", real_between("sigma", self.sigma, 0.0))
        for array in (theta, matrix):
            array.setflags(write=False)
        object.__setattr__(self, "theta_star", theta)
        object.__setattr__(self, "covariance", matrix)
        object.__setattr__(self, "_spectrum", (float(spectrum[0]), float(spectrum[-1])))

    @property
    def spectrum(self) -> tuple[float, float]:
        """(alpha, beta): the extreme eigenvalues of the covariance."""
        limits: tuple[float, float] = self._spectrum  # type: ignore[attr-defined]
        return limits

    @property
    def root(self) -> FloatArray:
        """The symmetric square root of the covariance, (d, d)."""
        values, vectors = np.linalg.eigh(self.covariance)
        return np.asarray((vectors * np.sqrt(values)) @ vectors.T)

    def _require(self, response: Response, loss: str) -> None:
        """Refuse a population whose responses the formulas of a loss are not for."""
        if self.response not in (None, response):
            raise InvalidParameter(
                f"response={self.response!r} of the population must be {response!r} for the {loss} "
                "loss"
            )

    def _displacement(self, theta: FloatArray) -> FloatArray:
        theta = np.asarray(theta, dtype=np.float64)
        if theta.shape != self.theta_star.shape or not np.isfinite(theta).all():
            raise InvalidParameter(
                f"theta of shape {theta.shape} must be ({self.theta_star.size},) and finite"
            )
        return np.asarray(theta - self.theta_star)


@dataclass(frozen=True, kw_only=True)
class Constants:
    """Constants that hold at every theta with |theta - theta*| <= radius.

    The centre of the ball is the parameter of the responses.  A ball about the minimiser lies in
    the ball whose radius is larger by the distance of the two centres.

    Attributes
    ----------
    strong_convexity, smoothness : lambda and L of the population loss.
    value_variance, gradient_variance : upper bounds eta^2 on Var f and v^2 on E|grad f - grad F|^2
        (infinite where a moment is).
    error : bound on the absolute error of ``strong_convexity``.  The others are closed forms.
    """

    strong_convexity: float
    smoothness: float
    value_variance: float
    gradient_variance: float
    error: float


@dataclass(frozen=True, kw_only=True)
class SquaredLoss:
    r""":math:`\tfrac c2(y-\langle x,\theta\rangle)^2+\tfrac\mu2\lVert\theta\rVert^2`.

    Ridge regression if mu > 0.

    Attributes
    ----------
    l2 : mu >= 0.
    scale : c > 0.

    Raises
    ------
    InvalidParameter : l2 < 0 or scale <= 0.

    Examples
    --------
    >>> import numpy as np
    >>> population = Population(theta_star=np.array([2.0]), covariance=np.eye(1), sigma=1.0)
    >>> SquaredLoss(l2=1.0).minimiser(population).tolist()
    [1.0]
    """

    l2: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "l2", real_between("l2", self.l2, 0.0))
        object.__setattr__(self, "scale", real_between("scale", self.scale, 0.0, open_low=True))

    def values(self, features: FloatArray, responses: FloatArray, theta: FloatArray) -> FloatArray:
        """The (n,) losses of n samples at ``theta`` (d,)."""
        penalty = 0.5 * self.l2 * (theta @ theta)
        return np.asarray(0.5 * self.scale * (responses - features @ theta) ** 2 + penalty)

    def gradients(
        self, features: FloatArray, responses: FloatArray, theta: FloatArray
    ) -> FloatArray:
        """The (n, d) gradients of n samples at ``theta`` (d,)."""
        residuals = self.scale * (features @ theta - responses)
        return np.asarray(residuals[:, None] * features + self.l2 * theta)

    def minimiser(self, population: Population) -> FloatArray:
        r""":math:`(c\Sigma+\mu I)^{-1}c\Sigma\theta^*`, (d,): theta* without a penalty."""
        population._require("linear", "squared")
        if self.l2 == 0.0:
            return population.theta_star.copy()
        scaled = self.scale * population.covariance
        d = len(scaled)
        return np.asarray(
            np.linalg.solve(scaled + self.l2 * np.eye(d), scaled @ population.theta_star)
        )

    def value_variance(self, population: Population, theta: FloatArray) -> float:
        r""":math:`\operatorname{Var} f(\theta)` at theta (d,), exact.

        With :math:`b=\Sigma^{1/2}(\theta-\theta^*)`, q = |b|^2 and kurtoses kappa:
        :math:`\tfrac{c^2}4\bigl(2q^2+(\kappa_w-3)\sum_cb_c^4+4q\sigma^2+(\kappa_\epsilon-1)\sigma^4
        \bigr)`.
        """
        population._require("linear", "squared")
        b = population.root @ population._displacement(theta)
        fourth = _times(population.feature_kurtosis - 3.0, float((b**4).sum()))
        return self._value_variance(population, float(b @ b), fourth)

    def _value_variance(self, population: Population, q: float, fourth: float) -> float:
        noise = _square(population.sigma)
        excess = _times(population.noise_kurtosis - 1.0, _square(noise))
        mixed = 4.0 * _times(noise, q)
        return 0.25 * _square(self.scale) * (2.0 * _square(q) + fourth + mixed + excess)

    def gradient_variance(self, population: Population, theta: FloatArray) -> float:
        r""":math:`\mathbb E\lVert\nabla f-\nabla F\rVert^2` at theta (d,), exact.

        :math:`c^2\bigl((q+\sigma^2)\operatorname{tr}\Sigma+b^\top\Sigma b
        +(\kappa_w-3)\sum_cb_c^2\Sigma_{cc}\bigr)`.
        """
        population._require("linear", "squared")
        b = population.root @ population._displacement(theta)
        diagonal = np.diagonal(population.covariance)
        fourth = _times(population.feature_kurtosis - 3.0, float(b**2 @ diagonal))
        along = float(b @ population.covariance @ b)
        total = (float(b @ b) + _square(population.sigma)) * float(diagonal.sum())
        return _square(self.scale) * (total + along + fourth)

    def constants(self, population: Population, radius: float) -> Constants:
        """Constants on the ball of ``radius`` >= 0 about theta*.  Tight for Gaussian features."""
        population._require("linear", "squared")
        radius = real_between("radius", radius, 0.0)
        alpha, beta = population.spectrum
        q = beta * _square(radius)
        excess = max(population.feature_kurtosis - 3.0, 0.0)  # sum b^4 <= q^2
        diagonal = np.diagonal(population.covariance)
        trace, largest = float(diagonal.sum()), float(diagonal.max())
        gradient = (q + _square(population.sigma)) * trace + q * beta
        gradient += _times(excess, q * largest)
        return Constants(
            strong_convexity=self.scale * alpha + self.l2,
            smoothness=self.scale * beta + self.l2,
            value_variance=self._value_variance(population, q, _times(excess, _square(q))),
            gradient_variance=_square(self.scale) * gradient,
            error=0.0,
        )


@dataclass(frozen=True, kw_only=True)
class LogisticLoss:
    r""":math:`\log(1+e^{-y\langle x,\theta\rangle})+\tfrac\mu2\lVert\theta\rVert^2`, y = -1 or +1.

    Attributes
    ----------
    l2 : mu >= 0.

    Raises
    ------
    InvalidParameter : l2 < 0.

    Examples
    --------
    >>> import numpy as np
    >>> population = Population(
    ...     theta_star=np.array([2.0]), covariance=np.eye(1), response="logistic"
    ... )
    >>> LogisticLoss(l2=0.0).minimiser(population).round(6).tolist()
    [2.0]
    """

    l2: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "l2", real_between("l2", self.l2, 0.0))

    def values(self, features: FloatArray, responses: FloatArray, theta: FloatArray) -> FloatArray:
        """The (n,) losses of n samples at ``theta`` (d,), without overflow."""
        responses = _labels(responses)
        penalty = 0.5 * self.l2 * (theta @ theta)
        return np.asarray(-log_expit(responses * (features @ theta)) + penalty)

    def gradients(
        self, features: FloatArray, responses: FloatArray, theta: FloatArray
    ) -> FloatArray:
        """The (n, d) gradients of n samples at ``theta`` (d,)."""
        responses = _labels(responses)
        pull = -responses * expit(-responses * (features @ theta))
        return np.asarray(pull[:, None] * features + self.l2 * theta)

    def minimiser(self, population: Population) -> FloatArray:
        r"""The minimiser of F, (d,).

        theta* without a penalty, for any features.  For Gaussian features Stein's identity gives
        :math:`\mathbb E[s(\langle x,\theta\rangle)x]=a\,\Sigma\theta`,
        :math:`a=\mathbb E s'(\langle x,\theta\rangle)`, so that
        :math:`\theta=(a\Sigma+\mu I)^{-1}a^*\Sigma\theta^*` with the one root of the scalar
        equation in a.
        """
        population._require("logistic", "logistic")
        if self.l2 == 0.0:
            return population.theta_star.copy()
        _require_gaussian(population)
        values, vectors = np.linalg.eigh(population.covariance)
        target = vectors.T @ population.theta_star * values
        variance = float(target @ (vectors.T @ population.theta_star))
        slope = _mean_slope(variance)
        target *= slope

        def model(a: float) -> FloatArray:
            return np.asarray(target / (a * values + self.l2))

        def excess(a: float) -> float:
            # At half of the least slope the margin may have twice its deviation.
            return a - _mean_slope(float(values @ model(a) ** 2), 2.1 * _MAX_DEVIATION)

        # a penalised minimiser is no longer than theta*, so its slope is at least this.  Rounding
        # must not put the root outside
        longest = float(values[-1] * (population.theta_star @ population.theta_star))
        if longest > _square(_MAX_DEVIATION):  # its margin varies no more than that of theta*
            longest = variance
        low, high = 0.5 * _mean_slope(longest), 0.25 + 1e-12
        return np.asarray(vectors @ model(float(brentq(excess, low, high, xtol=1e-16))))

    def value_variance(self, population: Population, theta: FloatArray) -> float:
        """Var f(theta), theta (d,), for Gaussian features, by a sum over two normal variables."""
        return self._moments(population, theta)[0]

    def gradient_variance(self, population: Population, theta: FloatArray) -> float:
        """E|grad f - grad F|^2 at theta (d,) for Gaussian features, likewise."""
        return self._moments(population, theta)[1]

    def _moments(self, population: Population, theta: FloatArray) -> tuple[float, float]:
        """Var f and E|grad f - grad F|^2, from the margins of theta and theta* and E[|x|^2 | both].

        The penalty is not random and drops out.
        """
        population._require("logistic", "logistic")
        _require_gaussian(population)
        theta = population._displacement(theta) + population.theta_star
        root, sigma = population.root, population.covariance
        basis, triangle = np.linalg.qr(np.stack([root @ theta, root @ population.theta_star], 1))
        # margin = t00 z0, true margin = t01 z0 + t11 z1 (one variable only in dimension one)
        t00, t01 = triangle[0]
        t11 = triangle[1, 1] if len(triangle) > 1 else 0.0
        z0, w0 = _nodes(max(abs(t00), abs(t01)))
        z1, w1 = _nodes(abs(t11))
        weights = w0[:, None] * w1
        margin = (t00 * z0)[:, None]
        up = expit(t01 * z0[:, None] + t11 * z1)
        down = 1.0 - up
        low, high = -log_expit(margin), -log_expit(-margin)
        mean = float((weights * (up * low + down * high)).sum())
        second = float((weights * (up * (low - mean) ** 2 + down * (high - mean) ** 2)).sum())
        image = root @ basis
        inner = image.T @ image
        norm_sq = np.trace(sigma) - np.trace(inner) + inner[0, 0] * z0[:, None] ** 2
        if len(inner) > 1:
            norm_sq = norm_sq + inner[1, 1] * z1**2 + 2 * inner[0, 1] * z0[:, None] * z1
        pull_sq = up * expit(-margin) ** 2 + down * expit(margin) ** 2
        gradient = float((weights * pull_sq * norm_sq).sum())
        expected = sigma @ (
            _mean_slope(float(theta @ sigma @ theta)) * theta
            - _mean_slope(float(population.theta_star @ sigma @ population.theta_star))
            * population.theta_star
        )
        return second, gradient - float(expected @ expected)

    def constants(self, population: Population, radius: float) -> Constants:
        r"""Constants on the ball of ``radius`` >= 0 about theta*.

        L = beta/4 + mu and v^2 = tr Sigma.  As :math:`|\log(1+e^{-t})-\log2|\le|t|`, also
        :math:`\operatorname{Var} f\le\mathbb E\langle x,\theta\rangle^2`.  The strong convexity is
        mu for any features.  For Gaussian features it is
        :math:`\alpha\,\mathbb E[s'(\tau Z)Z^2]+\mu` with
        :math:`\tau^2=\beta(\lVert\theta^*\rVert+r)^2`, the Hessian's smallest value along theta.
        """
        population._require("logistic", "logistic")
        radius = real_between("radius", radius, 0.0)
        alpha, beta = population.spectrum
        variance = beta * _square(float(np.linalg.norm(population.theta_star)) + radius)
        curvature = 0.0
        if population.gaussian:
            curvature = alpha * _normal_mean(lambda z, t: _slope(t) * z**2, variance)
        return Constants(
            strong_convexity=curvature + self.l2,
            smoothness=0.25 * beta + self.l2,
            value_variance=variance,
            gradient_variance=float(np.trace(population.covariance)),
            error=alpha * QUADRATURE_ERROR * (1.0 + variance) if population.gaussian else 0.0,
        )


Loss = SquaredLoss | LogisticLoss


# -- losses in kernels ---------------------------------------------------------------------------


class LossCode(NamedTuple):
    """A loss in the form that kernels take.

    Attributes
    ----------
    kind : SQUARED or LOGISTIC.
    scale : the factor c of the squared loss, 1 for the logistic one.
    l2 : weight of the penalty l2 |theta|^2 / 2.
    """

    kind: int
    scale: float
    l2: float


def kernel_arguments(loss: Loss, responses: FloatArray) -> LossCode:
    """Return a loss in the form that kernels take.

    `InvalidParameter` is raised for responses that the loss is not defined for.
    """
    record_of("loss", loss, SquaredLoss, LogisticLoss)
    values = real_array("responses", responses)
    if isinstance(loss, SquaredLoss):
        return LossCode(SQUARED, loss.scale, loss.l2)
    _labels(values)
    return LossCode(LOGISTIC, 1.0, loss.l2)


@inner_kernel(fastmath={"reassoc", "contract"})
def data_loss(kind: int, scale: float, prediction: float, response: float) -> float:
    """The loss, without its penalty, of a sample with the prediction <x, theta>."""
    if kind == LOGISTIC:
        margin = response * prediction
        return float(max(-margin, 0.0) + np.log1p(np.exp(-abs(margin))))
    error = response - prediction
    return 0.5 * scale * (error * error)


@inner_kernel
def descent_weight(kind: int, prediction: float, response: float) -> float:
    """Minus the derivative of `data_loss` / scale in the prediction.

    It is the weight of the sample's features in a step down the loss.
    """
    if kind == LOGISTIC:
        margin = response * prediction
        tail = np.exp(-abs(margin))
        return float(response * ((tail if margin >= 0.0 else 1.0) / (1.0 + tail)))
    return response - prediction


# -- checks and expectations ---------------------------------------------------------------------


def _labels(responses: FloatArray) -> FloatArray:
    """Return the labels (n,) as floats if they are -1 or +1.

    Labels 0 and 1 would give a wrong loss without an error.
    """
    responses = real_array("responses", responses)
    wrong = np.flatnonzero(np.abs(responses) != 1.0)
    if wrong.size:
        raise InvalidParameter(
            f"responses[{wrong[0]}]={responses[wrong[0]]:g} must be -1 or +1 for the logistic loss"
        )
    return responses


def _square(x: float) -> float:
    """The square, infinite beyond the range of floats (a power raises `OverflowError` there)."""
    return x * x


def _times(infinite: float, finite: float) -> float:
    """The product, 0 where a factor is 0 (the moment then does not enter)."""
    return infinite * finite if infinite != 0.0 and finite != 0.0 else 0.0


def _require_gaussian(population: Population) -> None:
    if not population.gaussian:
        raise InvalidParameter(
            "gaussian=False must be True: the logistic population's moments are exact for Gaussian "
            "features only (its bounds, and its minimiser without a penalty, for all)"
        )


def _slope(margin: FloatArray) -> FloatArray:
    """s'(t) = s(t) s(-t), t (p,)."""
    return np.asarray(expit(margin) * expit(-margin))


def _nodes(deviation: float, most: float = _MAX_DEVIATION) -> tuple[FloatArray, FloatArray]:
    r"""Nodes and weights of a trapezoidal sum for E g(Z), Z normal, g a function of deviation Z.

    The functions here have their nearest singularities at :math:`\pm i\pi` in the margin, hence
    :math:`\pm i\pi/\tau` in z.  With a step of 0.4 / max(1, tau) the error is exp(-15 pi) or less.
    """
    if not deviation <= most:
        raise InvalidParameter(
            f"a margin with standard deviation {deviation:.4g} must have at most {most:g}"
        )
    count = math.ceil(_HALF_WIDTH * max(1.0, deviation) / _STEP)
    z = np.linspace(-_HALF_WIDTH, _HALF_WIDTH, 2 * count + 1)
    weights = np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi) * (_HALF_WIDTH / count)
    return z, weights


def _normal_mean(
    g: Callable[[FloatArray, FloatArray], FloatArray],
    variance: float,
    most: float = _MAX_DEVIATION,
) -> float:
    """E g(Z, tau Z) for Z ~ N(0, 1), tau^2 = ``variance``, tau at ``most`` so large."""
    deviation = math.sqrt(max(variance, 0.0))
    z, weights = _nodes(deviation, most)
    return float(weights @ g(z, deviation * z))


def _mean_slope(variance: float, most: float = _MAX_DEVIATION) -> float:
    """E s'(tau Z)."""
    return _normal_mean(lambda _z, t: _slope(t), variance, most)

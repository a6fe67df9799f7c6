"""Projected stochastic gradient descent: the inexact local fits of Theorem 2 (section 4.4)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from trials.checks import (
    FloatArray,
    InvalidParameter,
    check_rng,
    integer_between,
    one_of,
    real_array,
    real_between,
)
from trials.kernel import kernel
from trials.local_erm.squares import check_rows
from trials.norms import length


@dataclass(frozen=True, kw_only=True)
class SgdFit:
    """``last`` (B, d), the final iterate, and ``average`` (B, d), weighted by t."""

    last: FloatArray
    average: FloatArray


@kernel
def _sgd_batch(
    X: FloatArray,
    y: FloatArray,
    is_logistic: bool,
    l2: float,
    mu: FloatArray,
    radius: float,
    n_steps: int,
    rng: np.random.Generator,
    theta: FloatArray,
    average: FloatArray,
) -> None:
    """Projected SGD, user after user.  ``theta`` holds the start and receives the last iterate.

    ``X`` is (B, n, d), ``y`` (B, n), ``mu`` (B,), ``theta`` and ``average`` (B, d).  ``radius`` is
    in the unit of theta.
    """
    n_users, n, d = X.shape
    for b in range(n_users):
        for j in range(d):
            average[b, j] = 0.0
        for t in range(1, n_steps + 1):
            i = int(rng.random() * n)
            score = 0.0
            for j in range(d):
                score += X[b, i, j] * theta[b, j]
            if is_logistic:
                z = y[b, i] * score
                tail = np.exp(-abs(z))
                pull = -y[b, i] * (tail if z >= 0.0 else 1.0) / (1.0 + tail)
            else:
                pull = score - y[b, i]
            step = 1.0 / (mu[b] * t)
            norm_sq = 0.0
            for j in range(d):
                theta[b, j] -= step * (pull * X[b, i, j] + l2 * theta[b, j])
                norm_sq += theta[b, j] ** 2
            norm = np.sqrt(norm_sq) if 1e-280 < norm_sq < 1e300 else length(theta[b])
            shrink = radius / norm if norm > radius else 1.0
            for j in range(d):
                theta[b, j] *= shrink
                average[b, j] += t * theta[b, j]
        for j in range(d):
            average[b, j] /= 0.5 * n_steps * (n_steps + 1)


def projected_sgd(
    X: ArrayLike,
    y: ArrayLike,
    rng: np.random.Generator,
    *,
    loss: Literal["squared", "logistic"],
    mu: ArrayLike,
    radius: float,
    n_steps: int,
    l2: float = 0.0,
) -> SgdFit:
    r"""Projected SGD with step 1/(mu t) for B users at once (I-ODCL, Section 4.4).

    .. math:: \theta^{t} = \Pi_\Theta \bigl(\theta^{t-1} - \tfrac{1}{\mu t} g^t\bigr),
              \quad t = 1, \dots, T, \qquad
              \bar\theta = \sum_{t=1}^T \frac{t}{T(T+1)/2}\, \theta^t,

    from theta^0 = 0, where g^t is the gradient of the objective at one sample drawn uniformly with
    replacement (unbiased, Assumption 8) and Theta is the ball of the given radius (Assumption 2).
    The last iterate is the estimator of Theorem 2, the average that of Remark 16.

    Parameters
    ----------
    X, y : (B, n, d) features and (B, n) targets (labels -1, +1 for the logistic loss), finite.
    rng : the stream.  Each step takes one uniform, user after user.
    loss : the objective, see the module docstring (no intercept).
    mu : strong convexity constant, > 0, a number or (B,).  `strong_convexity` computes it for the
        squared loss.  For the logistic loss l2 is one.
    radius : of Theta, > 0, units of theta.
    n_steps : T >= 1.
    l2 : the penalty c >= 0.

    Raises
    ------
    InvalidParameter : Shapes, entries that are not finite, labels, mu <= 0, radius <= 0, a step
        beyond the range of floats.

    Notes
    -----
    O(T d) a user.  E|theta^T - theta_hat|^2 <= 4 Gamma^2 / (mu^2 T) (Lemma 5 of the paper), Gamma
    a bound on the stochastic gradients over Theta.

    Examples
    --------
    >>> X, y = [[[1.0], [1.0], [1.0], [1.0]]], [[1.0, 2.0, 3.0, 4.0]]
    >>> fit = projected_sgd(
    ...     X, y, np.random.default_rng(0), loss="squared", mu=1.0, radius=10.0, n_steps=10_000
    ... )
    >>> bool(abs(fit.last[0, 0] - 2.5) < 0.1)
    True
    """
    features, targets = check_rows(X, y)
    n_users, _, d = features.shape
    is_logistic = one_of("loss", loss, ("squared", "logistic")) == "logistic"
    if is_logistic and not np.all(np.abs(targets) == 1):
        raise InvalidParameter("y must hold only -1 and +1 with loss='logistic'")
    rates = _check_constants(mu, n_users)
    ball = real_between("radius", radius, 0.0, math.inf, open_low=True)
    theta = np.zeros((n_users, d))
    average = np.empty((n_users, d))
    _sgd_batch(
        features,
        targets,
        is_logistic,
        real_between("l2", l2, 0.0),
        rates,
        ball,
        integer_between("n_steps", n_steps, 1),
        check_rng(rng),
        theta,
        average,
    )
    lost = np.flatnonzero(~np.isfinite(theta).all(axis=1))
    if lost.size:
        raise InvalidParameter(
            f"mu={rates[lost[0]]:g} must be larger, or X and y in other units: a step of user "
            f"{lost[0]} left the range of floats"
        )
    return SgdFit(last=theta, average=average)


def _check_constants(mu: ArrayLike, n_users: int) -> FloatArray:
    """The users' constants of strong convexity, (B,)."""
    given = real_array("mu", mu)
    if given.shape not in ((), (1,), (n_users,)):
        raise InvalidParameter(f"mu.shape={given.shape} must be (), or (B,) with B={n_users}")
    rates = np.array(np.broadcast_to(given, (n_users,)))  # a read-only view is another type
    if not (np.isfinite(rates).all() and rates.min() > 0):
        raise InvalidParameter(f"mu={rates.min():g} must be finite and > 0 for every user")
    return rates

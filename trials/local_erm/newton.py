r"""Logistic regression with an l2 penalty by damped Newton steps.

.. math:: \frac1n \sum_i \log(1 + e^{-y_i (x_i^T \theta + b)}) + \frac c2 \|\theta\|^2
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike

from trials.checks import (
    FloatArray,
    IntArray,
    InvalidParameter,
    flag,
    integer_between,
    real_between,
)
from trials.clustering.units import SMALL
from trials.integers import ZERO
from trials.kernel import inner_kernel, kernel
from trials.local_erm.factors import cholesky, solve_lower, solve_upper
from trials.local_erm.squares import check_rows, from_row_coordinates, row_coordinates

_SUFFICIENT_DECREASE = 1e-4
_DECREMENT_SQ = 1e-24
_MAX_HALVINGS = 60
#: A margin at which curvature and gradient of a sample vanish beside those of others.
_SATURATED = 30.0
#: Sum of cosines from which on a direction is taken to separate, above the program's rounding.
_NO_OVERLAP = 1e-7


class Status(IntEnum):
    """How a logistic fit ended."""

    CONVERGED = 0
    MAX_ITER = 1
    NO_MINIMIZER = 2
    """Separated classes without a penalty, or one class with a free intercept: the infimum of the
    objective is not attained."""


@dataclass(frozen=True, kw_only=True)
class LogisticFit:
    """``theta`` (B, d), ``intercept`` (B,), ``objective`` (B,), ``n_iter`` and ``status`` (B,).

    Where ``status`` is `Status.NO_MINIMIZER` the parameters are those of the last iterate: finite,
    and of no meaning but their direction.
    """

    theta: FloatArray
    intercept: FloatArray
    objective: FloatArray
    n_iter: IntArray
    status: IntArray


@inner_kernel
def _logistic_objective(margins: FloatArray, ridge: FloatArray, theta: FloatArray) -> float:
    """Mean of log(1 + exp(-margin)) plus half the ridge-weighted squared norm, without overflow.

    ``margins`` (n,), ``ridge`` and ``theta`` (d,).
    """
    total = 0.0
    for i in range(margins.shape[0]):
        z = margins[i]
        total += max(0.0, -z) + np.log1p(np.exp(-abs(z)))
    total /= margins.shape[0]
    for j in range(theta.shape[0]):
        total += 0.5 * ridge[j] * theta[j] ** 2
    return float(total)


@inner_kernel
def _derivatives(
    X: FloatArray,
    y: FloatArray,
    margins: FloatArray,
    ridge: FloatArray,
    theta: FloatArray,
    weighted: FloatArray,
    grad: FloatArray,
    hess: FloatArray,
) -> None:
    """Gradient ``grad`` (d,) and Hessian ``hess`` (d, d) at ``theta`` (d,), from the margins (n,).

    ``X`` is (n, d), ``y`` (n,), ``ridge`` (d,).  ``weighted`` (n, d) is work space.
    """
    n, d = X.shape
    for j in range(d):
        grad[j] = ridge[j] * theta[j]
    for i in range(n):
        tail = np.exp(-abs(margins[i]))
        doubt = tail / (1.0 + tail) if margins[i] >= 0.0 else 1.0 / (1.0 + tail)
        pull = doubt * y[i] / n
        root = np.sqrt(tail / n) / (1.0 + tail)  # sqrt of the curvature doubt (1 - doubt) / n
        for j in range(d):
            grad[j] -= pull * X[i, j]
            weighted[i, j] = root * X[i, j]
    np.dot(weighted.T, weighted, hess)
    for j in range(d):
        hess[j, j] += ridge[j]


@inner_kernel
def _newton_step(
    hess: FloatArray, grad: FloatArray, scale: FloatArray, factor: FloatArray, step_vec: FloatArray
) -> None:
    """step = -H^{-1} grad by Cholesky of H scaled to unit diagonal.

    Where H is singular to working precision (nearly separated classes, no penalty) multiples of the
    identity are added, from 1e-14 up, until the factorisation exists.  ``hess`` and ``factor`` are
    (d, d), the others (d,).  ``scale`` and ``factor`` are work space, ``step_vec`` is the result.
    """
    d = grad.shape[0]
    for j in range(d):
        scale[j] = np.sqrt(hess[j, j]) if hess[j, j] > 0.0 else 1.0
    jitter = 0.0
    for _ in range(20):
        for i in range(d):
            for j in range(d):
                factor[i, j] = hess[i, j] / (scale[i] * scale[j])
            factor[i, i] += jitter
        if cholesky(factor):
            break
        jitter = max(10.0 * jitter, 1e-14)
    for j in range(d):
        step_vec[j] = -grad[j] / scale[j]
    solve_lower(factor, ZERO, step_vec)
    solve_upper(factor, step_vec)
    for j in range(d):
        step_vec[j] /= scale[j]


@kernel
def _logistic_batch(
    X: FloatArray,
    y: FloatArray,
    ridge: FloatArray,
    max_iter: int,
    tol: float,
    theta: FloatArray,
    objective: FloatArray,
    n_iter: IntArray,
    status: IntArray,
) -> None:
    """Damped Newton from zero, user after user.  A coordinate with ``ridge`` zero has no penalty.

    ``X`` is (B, n, d), ``y`` (B, n) and ``ridge`` (d,).  The outputs are ``theta`` (B, d), and
    ``objective``, ``n_iter`` and ``status`` (B,).
    """
    n_users, n, d = X.shape
    margins = np.empty(n)
    weighted = np.empty((n, d))
    grad = np.empty(d)
    hess = np.empty((d, d))
    factor = np.empty((d, d))
    scale = np.empty(d)
    step_vec = np.empty(d)
    slope = np.empty(n)
    trial = np.empty(d)
    trial_margins = np.empty(n)
    penalised = False
    for j in range(d):
        penalised = penalised or ridge[j] > 0.0
    for b in range(n_users):
        for j in range(d):
            theta[b, j] = 0.0
        for i in range(n):
            margins[i] = 0.0
        objective[b] = _logistic_objective(margins, ridge, theta[b])
        status[b] = 1
        n_iter[b] = 0
        while n_iter[b] < max_iter:
            _derivatives(X[b], y[b], margins, ridge, theta[b], weighted, grad, hess)
            _newton_step(hess, grad, scale, factor, step_vec)
            decrement_sq = -np.dot(grad, step_vec)
            n_iter[b] += 1
            for i in range(n):
                slope[i] = y[b, i] * np.dot(X[b, i], step_vec)
            t = 1.0
            value = objective[b]
            for _ in range(_MAX_HALVINGS):
                for j in range(d):
                    trial[j] = theta[b, j] + t * step_vec[j]
                for i in range(n):
                    trial_margins[i] = margins[i] + t * slope[i]
                value = _logistic_objective(trial_margins, ridge, trial)
                allowed = objective[b] - _SUFFICIENT_DECREASE * t * decrement_sq
                # below the resolution of the objective the full step is the better judge
                if value <= allowed or decrement_sq <= 1e-13 * objective[b]:
                    break
                t *= 0.5
            for j in range(d):
                theta[b, j] = trial[j]
            separated, settled = True, True
            for i in range(n):
                margins[i] = y[b, i] * np.dot(X[b, i], theta[b])
                separated = separated and margins[i] > 0.0
                settled = settled and abs(slope[i]) <= tol
            objective[b] = value
            if not penalised and separated:
                status[b] = 2  # theta separates: the objective falls to 0 along it
                break
            # The curvature changes by at most a factor exp(|slope|) over the step, so margins that
            # move by less than tol leave an error of order tol^2.  A vanishing decrement proves
            # convergence only with a penalty: it also vanishes along a quasi-separating direction.
            small = np.dot(step_vec, step_vec) <= tol**2 * np.dot(theta[b], theta[b])
            small = small or settled
            if t == 1.0 and (small or (penalised and decrement_sq <= _DECREMENT_SQ)):
                status[b] = 0
                break


def _without_overlap(signed: FloatArray) -> bool:
    """Whether some direction has products of at least zero, not all zero, with all rows (n, d).

    Then the loss has no minimiser (Albert and Anderson 1984).  A linear program decides.
    """
    from scipy.optimize import linprog  # few fits need it

    lengths = np.linalg.norm(signed, axis=1)
    rows = signed[lengths > 0.0] / lengths[lengths > 0.0, None]
    found = linprog(-rows.sum(axis=0), A_ub=-rows, b_ub=np.zeros(len(rows)), bounds=(-1.0, 1.0))
    return bool(found.status == 0 and -found.fun > _NO_OVERLAP)


def _mark_without_minimizer(signed: FloatArray, theta: FloatArray, status: IntArray) -> None:
    """Correct the status of users whose gradient vanished at saturated samples (b, n, d) only."""
    margins = np.einsum("bnd,bd->bn", signed, theta)
    stalled = (status == Status.CONVERGED) & (margins > _SATURATED).any(axis=1)
    for user in np.flatnonzero(stalled):
        if _without_overlap(signed[user]):
            status[user] = Status.NO_MINIMIZER


def _fit(
    features: FloatArray,
    labels: FloatArray,
    l2: float,
    intercept: bool,
    max_iter: int,
    tol: float,
) -> LogisticFit:
    """The fit of `logistic`, whose arguments are checked, in the unit of the features."""
    n_users, n, _ = features.shape
    design, basis = row_coordinates(features)
    r = design.shape[2]
    ridge = np.full(r + intercept, l2)
    if intercept:
        design = np.concatenate([design, np.ones((n_users, n, 1))], axis=2)
        ridge[r] = 0.0
    theta = np.empty((n_users, r + intercept))
    objective = np.empty(n_users)
    n_iter = np.empty(n_users, np.int64)
    status = np.empty(n_users, np.int64)
    _logistic_batch(design, labels, ridge, max_iter, tol, theta, objective, n_iter, status)
    if l2 == 0.0:
        _mark_without_minimizer(labels[:, :, None] * design, theta, status)
    if intercept:
        status[np.abs(labels.sum(axis=1)) == n] = Status.NO_MINIMIZER
    return LogisticFit(
        theta=from_row_coordinates(theta[:, :r], basis),
        intercept=theta[:, r].copy() if intercept else np.zeros(n_users),
        objective=objective,
        n_iter=n_iter,
        status=status,
    )


def logistic(
    X: ArrayLike,
    y: ArrayLike,
    *,
    l2: float,
    intercept: bool = False,
    max_iter: int = 200,
    tol: float = 1e-10,
) -> LogisticFit:
    """Logistic regression with an l2 penalty for B users at once, by damped Newton.

    Parameters
    ----------
    X : (B, n, d) features, finite.
    y : (B, n) labels, each -1 or +1.
    l2 : the penalty c >= 0 on theta (paper: C = 1e-5), in squared units of the features.  The
        intercept has no penalty.
    intercept : whether to fit b.
    max_iter : Newton steps allowed, >= 1.
    tol : stop after a full step that moves the parameters by less than the fraction ``tol``, or
        every margin by less than ``tol``.  As convergence is quadratic, the error is then of the
        order tol^2, or rounding.

    Returns
    -------
    LogisticFit
        With l2 > 0 separable data have a minimiser.  With l2 = 0 they have none.  An iterate that
        strictly separates the data proves this, and the status is `Status.NO_MINIMIZER`.
        Quasi-separation, with points on the boundary, ends as `Status.MAX_ITER`, or as
        `Status.NO_MINIMIZER` where the gradient underflows first.

    Raises
    ------
    InvalidParameter : Shapes, entries that are not finite, labels other than -1 and +1, l2 < 0.

    Notes
    -----
    Armijo backtracking from the full step.  The objective is evaluated without overflow.  O(n d^2 +
    d^3) a step.  For d > n and l2 > 0 the minimiser lies in the row space of X.  So the problem is
    solved in n coordinates after a QR factorisation of X^T, without approximation.  This takes
    O(n^2 d) once and O(n^3) a step.

    Examples
    --------
    >>> fit = logistic([[[1.0], [2.0], [-1.0], [-1.5]]], [[1, 1, -1, 1]], l2=0.1)
    >>> Status(fit.status[0]).name, bool(fit.theta[0, 0] > 0.0)
    ('CONVERGED', True)

    Separable data without a penalty have no minimiser:

    >>> Status(logistic([[[1.0], [-1.0]]], [[1, -1]], l2=0.0).status[0]).name
    'NO_MINIMIZER'
    """
    features, labels = check_rows(X, y)
    for user, i in np.argwhere(np.abs(labels) != 1):
        raise InvalidParameter(f"y[{user}, {i}]={labels[user, i]:g} must be -1 or +1")
    c = real_between("l2", l2, 0.0)
    intercept = flag("intercept", intercept)
    max_iter = integer_between("max_iter", max_iter, 1)
    tol = real_between("tol", tol, 0.0)
    fit = _fit(features, labels, c, intercept, max_iter, tol)
    for user in _tiny(features, c):
        _fit_in_own_unit(fit, user, features, labels, c, intercept, max_iter, tol)
    return fit


def _tiny(features: FloatArray, l2: float) -> IntArray:
    """The users whose squared features would vanish, and are not lost beside the penalty."""
    largest = np.abs(features).max(axis=(1, 2))
    users = np.flatnonzero((largest > 0.0) & (largest < SMALL))
    with np.errstate(over="ignore"):
        return np.asarray(users[l2 / largest[users] / largest[users] < 1e200])


def _fit_in_own_unit(
    fit: LogisticFit,
    user: int,
    features: FloatArray,
    labels: FloatArray,
    l2: float,
    intercept: bool,
    max_iter: int,
    tol: float,
) -> None:
    """Write the fit of one user, found in the power of two above its largest feature."""
    own = slice(user, user + 1)
    power = int(np.frexp(np.abs(features[user]).max())[1])
    found = _fit(
        np.ldexp(features[own], -power), labels[own], math.ldexp(l2, -2 * power), intercept,
        max_iter, tol,
    )  # fmt: skip
    with np.errstate(over="ignore"):  # refused below
        fit.theta[own] = np.ldexp(found.theta, -power)
    if not np.isfinite(fit.theta[user]).all():
        raise InvalidParameter(f"X[{user}] has a solution beyond the range of floats")
    for name in ("intercept", "objective", "n_iter", "status"):
        getattr(fit, name)[own] = getattr(found, name)

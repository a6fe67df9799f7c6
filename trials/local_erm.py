r"""Local empirical risk minimisers, for all users in one call.

Step 1 of ODCL (Armacki, Bajovic, Jakovetic & Kar 2024, Algorithm 1): user i minimises its own
average loss over n samples, exactly (`least_squares`, `logistic`) or inexactly by projected
stochastic gradient descent (`projected_sgd`, Section 4.4 and Theorem 2).

Arrays are ``(B, n, d)`` features and ``(B, n)`` targets for B users (or trials x users) with n
samples each.  Objectives, per user:

.. math::

   \text{squared:}\quad  \tfrac{1}{2n} \|X\theta - y\|^2 + \tfrac{c}{2}\|\theta\|^2, \qquad
   \text{logistic:}\quad \tfrac1n \sum_i \log(1 + e^{-y_i (x_i^T \theta + b)})
                         + \tfrac{c}{2}\|\theta\|^2,

with labels y in {-1, +1} and an optional intercept b that is not penalised (paper, Appendix D.1).
scikit-learn's ``LogisticRegression(C=1 / (n * c))`` has the same minimiser.

BLAS calls inside the kernels are small: cap the threads at one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from trials.batches import IntArray, finite_batch, integer_between, one_of, real_between
from trials.experiment import FloatArray, InvalidParameter

_EPS = float(np.finfo(np.float64).eps)
# Above this bound on the condition number of the scaled Gram matrix, QR takes over.  Below it the
# refined Cholesky solution has an error of about eps kappa |theta| + eps kappa^2 |residual| / |X|,
# kappa = kappa(X) <= 1e3: the sensitivity of least squares itself.
_GRAM_CONDITION = 1e6
_SUFFICIENT_DECREASE = 1e-4
_DECREMENT_SQ = 1e-24
_MAX_HALVINGS = 60


class Method(IntEnum):
    """How a least-squares problem was solved."""

    CHOLESKY = 0
    QR = 1
    SVD = 2


class Status(IntEnum):
    """How a logistic fit ended."""

    CONVERGED = 0
    MAX_ITER = 1
    NO_MINIMIZER = 2
    """Separated classes without a penalty, or one class with a free intercept: the infimum of the
    objective is not attained."""


@dataclass(frozen=True, kw_only=True)
class LeastSquaresFit:
    """``theta`` (B, d), residual sums of squares ``rss`` (B,), ``method`` (B,) of `Method`."""

    theta: FloatArray
    rss: FloatArray
    method: IntArray


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


@dataclass(frozen=True, kw_only=True)
class SgdFit:
    """``last`` (B, d), the final iterate, and ``average`` (B, d), weighted by t."""

    last: FloatArray
    average: FloatArray


# ----------------------------------------------------------------------------------------------
# linear algebra kernels.  A triangular factor is stored as the upper U, G = U^T U, so that the
# inner loops run along rows.


@njit(cache=True, nogil=True)
def _cholesky(gram: FloatArray) -> bool:
    """Overwrite the upper triangle of a symmetric matrix by U; False when not positive definite."""
    d = gram.shape[0]
    for j in range(d):
        if not gram[j, j] > 0.0:
            return False
        root = np.sqrt(gram[j, j])
        for q in range(j, d):
            gram[j, q] /= root
        for i in range(j + 1, d):
            factor = gram[j, i]
            for q in range(i, d):
                gram[i, q] -= factor * gram[j, q]
    return True


@njit(cache=True, nogil=True)
def _solve_lower(upper: FloatArray, start: int, v: FloatArray) -> None:
    """v <- U^{-T} v; entries before ``start`` are known to be zero."""
    d = upper.shape[0]
    for j in range(start, d):
        v[j] /= upper[j, j]
        for q in range(j + 1, d):
            v[q] -= v[j] * upper[j, q]


@njit(cache=True, nogil=True)
def _solve_upper(upper: FloatArray, v: FloatArray) -> None:
    """v <- U^{-1} v."""
    d = upper.shape[0]
    for j in range(d - 1, -1, -1):
        total = v[j]
        for q in range(j + 1, d):
            total -= upper[j, q] * v[q]
        v[j] = total / upper[j, j]


@njit(cache=True, nogil=True)
def _well_conditioned(upper: FloatArray, limit: float, work: FloatArray) -> bool:
    """Whether G = U^T U, of unit diagonal, is proved to have a condition number below ``limit``.

    First the O(d) proof: the other eigenvalues sum to at most d, so their product is at most
    (d / (d-1))^(d-1) < e, hence lambda_min >= det(G) / e and kappa <= e d / det(G).  Then the
    O(d^3) one: kappa <= trace(G) trace(G^{-1}) = d |U^{-1}|_F^2, at most d^2 times too large.
    """
    d = upper.shape[0]
    determinant = 1.0
    for j in range(d):
        determinant *= upper[j, j] ** 2
    if np.e * d <= limit * determinant:
        return True
    total = 0.0
    for k in range(d):
        work[:] = 0.0
        work[k] = 1.0
        _solve_lower(upper, k, work)
        for j in range(k, d):
            total += work[j] * work[j]
    return bool(d * total <= limit)


@njit(cache=True, nogil=True)
def _qr(cols: FloatArray, diag: FloatArray, beta: FloatArray, perm: IntArray) -> int:
    """Householder QR with column pivoting of the matrix whose columns are the rows of ``cols``.

    Row k of ``cols`` receives the k-th reflector from its entry k on, and R[0:k, k] before it;
    ``diag`` the diagonal of R.  Returns the numerical rank; stops there.
    """
    c, r = cols.shape
    first = 0.0
    for k in range(c):
        perm[k] = k
    for k in range(c):
        pivot = k
        largest = -1.0
        for q in range(k, c):
            norm_sq = np.dot(cols[q, k:], cols[q, k:])
            if norm_sq > largest:
                largest = norm_sq
                pivot = q
        for i in range(r):
            cols[k, i], cols[pivot, i] = cols[pivot, i], cols[k, i]
        perm[k], perm[pivot] = perm[pivot], perm[k]
        norm = np.sqrt(largest)
        if k == 0:
            first = norm
        if norm <= max(r, c) * _EPS * first:
            return k
        head = cols[k, k]
        diag[k] = -norm if head >= 0.0 else norm
        beta[k] = 1.0 / (norm * (norm + abs(head)))
        cols[k, k] = head - diag[k]
        for q in range(k + 1, c):
            factor = beta[k] * np.dot(cols[k, k:], cols[q, k:])
            for i in range(k, r):
                cols[q, i] -= factor * cols[k, i]
    return int(c)


@njit(cache=True, nogil=True)
def _reflect(cols: FloatArray, beta: FloatArray, k: int, v: FloatArray) -> None:
    """Apply the k-th reflector to v."""
    factor = beta[k] * np.dot(cols[k, k:], v[k:])
    for i in range(k, v.shape[0]):
        v[i] -= factor * cols[k, i]


@njit(cache=True, nogil=True)
def _qr_least_squares(cols: FloatArray, y: FloatArray, theta: FloatArray) -> bool:
    """Tall problem: minimise |A theta - y|, columns of A in the rows of ``cols`` (overwritten)."""
    c = cols.shape[0]
    diag = np.empty(c)
    beta = np.empty(c)
    perm = np.empty(c, np.int64)
    if _qr(cols, diag, beta, perm) < c:
        return False
    rhs = y.copy()
    for k in range(c):
        _reflect(cols, beta, k, rhs)
    for k in range(c - 1, -1, -1):
        total = rhs[k]
        for q in range(k + 1, c):
            total -= cols[q, k] * rhs[q]
        rhs[k] = total / diag[k]
        theta[perm[k]] = rhs[k]
    return True


@njit(cache=True, nogil=True)
def _qr_minimum_norm(cols: FloatArray, y: FloatArray, theta: FloatArray) -> bool:
    """Wide problem: least-norm theta with A^T theta = y, columns of A in ``cols`` (overwritten)."""
    c = cols.shape[0]
    diag = np.empty(c)
    beta = np.empty(c)
    perm = np.empty(c, np.int64)
    if _qr(cols, diag, beta, perm) < c:
        return False
    theta[:] = 0.0
    for k in range(c):  # R^T u = P^T y
        total = y[perm[k]]
        for q in range(k):
            total -= cols[k, q] * theta[q]
        theta[k] = total / diag[k]
    for k in range(c - 1, -1, -1):
        _reflect(cols, beta, k, theta)
    return True


# ----------------------------------------------------------------------------------------------
# least squares


@njit(cache=True, nogil=True)
def _equilibrate(gram: FloatArray, scale: FloatArray) -> bool:
    """Scale a Gram matrix to unit diagonal; False where a diagonal entry is zero."""
    d = gram.shape[0]
    for j in range(d):
        if not gram[j, j] > 0.0:
            return False
        scale[j] = np.sqrt(gram[j, j])
    for i in range(d):
        for j in range(d):
            gram[i, j] /= scale[i] * scale[j]
    return True


@njit(cache=True, nogil=True)
def _qr_fallback(X: FloatArray, y: FloatArray, theta: FloatArray) -> bool:
    """Least squares by QR of the columns (n >= d) or rows (n < d), scaled to length one.

    Scaling columns rescales theta; scaling rows changes nothing for consistent equations.  The
    largest entry is divided out first, because squares of 1e-170 would underflow to zero.  False
    when the rank is below min(n, d).
    """
    n, d = X.shape
    tall = n >= d
    cols = X.T.copy() if tall else X.copy()
    scale = np.empty(cols.shape[0])
    for j in range(cols.shape[0]):
        largest = np.max(np.abs(cols[j]))
        if largest == 0.0:
            return False
        cols[j] /= largest
        norm = np.sqrt(np.dot(cols[j], cols[j]))
        cols[j] /= norm
        scale[j] = largest * norm
    if not tall:
        return _qr_minimum_norm(cols, y / scale, theta)
    if not _qr_least_squares(cols, y, theta):
        return False
    theta /= scale
    return True


@njit(cache=True, nogil=True)
def _least_squares_batch(
    X: FloatArray, y: FloatArray, theta: FloatArray, rss: FloatArray, method: IntArray
) -> None:
    """Cholesky or QR, user after user; `Method.SVD` marks what is left to the driver.

    Tall (n >= d) and wide (n < d) problems share the code: the Gram matrix is that of the columns
    of X, or of the rows, each scaled to length one.
    """
    n_users, n, d = X.shape
    tall = n >= d
    small = min(n, d)
    gram = np.empty((small, small))
    scale = np.empty(small)
    v = np.empty(small)
    rhs = np.empty(n)
    for b in range(n_users):
        method[b] = 2
        if tall:
            np.dot(X[b].T, X[b], gram)
        else:
            np.dot(X[b], X[b].T, gram)
        if (
            _equilibrate(gram, scale)
            and _cholesky(gram)
            and _well_conditioned(gram, _GRAM_CONDITION, v)
        ):
            method[b] = 0
            theta[b] = 0.0
            for _ in range(2):  # the second pass is a step of iterative refinement
                rhs[:] = y[b] - np.dot(X[b], theta[b])
                v[:] = (np.dot(X[b].T, rhs) if tall else rhs) / scale
                _solve_lower(gram, 0, v)
                _solve_upper(gram, v)
                v /= scale
                theta[b] += v if tall else np.dot(X[b].T, v)
        elif _qr_fallback(X[b], y[b], theta[b]):
            method[b] = 1
        if method[b] != 2:
            rhs[:] = y[b] - np.dot(X[b], theta[b])
            rss[b] = np.dot(rhs, rhs)


def _checked(X: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
    features = finite_batch("X", X, ("B", "n", "d"))
    targets = finite_batch("y", y, ("B", "n"))
    if targets.shape != features.shape[:2]:
        raise InvalidParameter(f"y.shape={targets.shape} must be (B, n)={features.shape[:2]}")
    return features, targets


def least_squares(X: ArrayLike, y: ArrayLike, *, l2: float = 0.0) -> LeastSquaresFit:
    """Least squares for B users at once; the solution of minimum norm where it is not unique.

    With ``l2`` > 0 ridge regression: least squares of X over sqrt(n l2) I against y over zeros, in
    the row space of X where n < d, so that the same methods and their accuracy apply.

    Cholesky of the Gram matrix of the scaled columns (n >= d) or rows (n < d) with one step of
    iterative refinement; Householder QR with column pivoting where a rigorous bound on the Gram
    matrix's condition number exceeds 1e6; SVD where the numerical rank is below min(n, d).

    Parameters
    ----------
    X : (B, n, d) features, finite.
    y : (B, n) targets, finite.
    l2 : the penalty c >= 0 of the module's objective, at most 1e200.

    Returns
    -------
    LeastSquaresFit : ``rss`` is that of the data, without the penalty.

    Raises
    ------
    InvalidParameter
        Shapes that do not fit, entries that are not finite, l2 < 0.

    Notes
    -----
    O(n d min(n, d)) a user, about twice that with a penalty; the SVD, in a Python loop over the
    (rare) users that need it, costs several times more.  For a Gaussian design
    theta - theta* = sigma z / sqrt(chi2_{n-d+1}).
    """
    features, targets = _checked(X, y)
    penalty = real_between("l2", l2, 0.0, 1e200)  # n l2 can be formed
    if penalty > 0.0:
        return _ridge(features, targets, penalty)
    n_users, n, d = features.shape
    theta = np.empty((n_users, d))
    rss = np.empty(n_users)
    method = np.empty(n_users, np.int64)
    _least_squares_batch(features, targets, theta, rss, method)
    for b in np.flatnonzero(method == Method.SVD):
        theta[b] = np.linalg.lstsq(features[b], targets[b], rcond=_EPS * max(n, d))[0]
        rss[b] = ((targets[b] - features[b] @ theta[b]) ** 2).sum()
    return LeastSquaresFit(theta=theta, rss=rss, method=method)


def _ridge(features: FloatArray, targets: FloatArray, l2: float) -> LeastSquaresFit:
    """Least squares of the features with the rows sqrt(n l2) I below them."""
    n_users, n, _ = features.shape
    design, basis = _row_coordinates(features)
    r = design.shape[2]
    rows = np.broadcast_to(math.sqrt(n * l2) * np.eye(r), (n_users, r, r))
    fit = least_squares(
        np.concatenate([design, rows], axis=1),
        np.concatenate([targets, np.zeros((n_users, r))], axis=1),
    )
    residuals = targets - np.einsum("bnr,br->bn", design, fit.theta)
    theta = _from_row_coordinates(fit.theta, basis)
    return LeastSquaresFit(theta=theta, rss=(residuals**2).sum(axis=1), method=fit.method)


def _row_coordinates(features: FloatArray) -> tuple[FloatArray, FloatArray | None]:
    """The features in min(n, d) coordinates of their row space, and (B, d, n) its basis if n < d.

    A penalised minimiser lies in that space, so nothing is lost.
    """
    n, d = features.shape[1:]
    if d <= n:
        return features, None
    basis, triangle = np.linalg.qr(features.transpose(0, 2, 1))
    return np.ascontiguousarray(triangle.transpose(0, 2, 1)), basis


def _from_row_coordinates(weights: FloatArray, basis: FloatArray | None) -> FloatArray:
    """The (B, d) parameters of weights in the coordinates of `_row_coordinates`."""
    theta = weights if basis is None else np.einsum("bdr,br->bd", basis, weights)
    return np.ascontiguousarray(theta)


def strong_convexity(X: ArrayLike, l2: float = 0.0) -> FloatArray:
    """Strong convexity constants mu of the squared objective: lambda_min(X^T X / n) + l2.

    Parameters
    ----------
    X : (B, n, d) features, finite.
    l2 : the penalty c >= 0.  (The logistic objective has no better constant than c itself.)

    Returns
    -------
    (B,) ; just l2 where n < d.  O(n d min(n, d)) a user.
    """
    features = finite_batch("X", X, ("B", "n", "d"))
    ridge = real_between("l2", l2, 0.0)
    n_users, n, d = features.shape
    if n < d:
        return np.full(n_users, ridge)
    smallest: FloatArray = np.linalg.svd(features, compute_uv=False)[:, -1] ** 2 / n
    return smallest + ridge


# ----------------------------------------------------------------------------------------------
# logistic regression


@njit(cache=True, nogil=True)
def _logistic_objective(margins: FloatArray, ridge: FloatArray, theta: FloatArray) -> float:
    """Mean of log(1 + exp(-margin)) plus half the ridge-weighted squared norm, without overflow."""
    total = 0.0
    for i in range(margins.shape[0]):
        z = margins[i]
        total += max(0.0, -z) + np.log1p(np.exp(-abs(z)))
    total /= margins.shape[0]
    for j in range(theta.shape[0]):
        total += 0.5 * ridge[j] * theta[j] ** 2
    return float(total)


@njit(cache=True, nogil=True)
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
    """Gradient and Hessian at ``theta``, from the margins; ``weighted`` (n, d) is work space."""
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


@njit(cache=True, nogil=True)
def _newton_step(
    hess: FloatArray, grad: FloatArray, scale: FloatArray, factor: FloatArray, step_vec: FloatArray
) -> None:
    """step = -H^{-1} grad by Cholesky of H scaled to unit diagonal.

    Where H is singular to working precision (nearly separated classes, no penalty) multiples of
    the identity are added, from 1e-14 up, until the factorisation exists.
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
        if _cholesky(factor):
            break
        jitter = max(10.0 * jitter, 1e-14)
    for j in range(d):
        step_vec[j] = -grad[j] / scale[j]
    _solve_lower(factor, 0, step_vec)
    _solve_upper(factor, step_vec)
    for j in range(d):
        step_vec[j] /= scale[j]


@njit(cache=True, nogil=True)
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
    """Damped Newton from zero, user after user; a zero in ``ridge`` frees a coordinate."""
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
    penalised = np.max(ridge) > 0.0
    for b in range(n_users):
        theta[b] = 0.0
        margins[:] = 0.0
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
            for _ in range(_MAX_HALVINGS):
                trial[:] = theta[b] + t * step_vec
                value = _logistic_objective(margins + t * slope, ridge, trial)
                allowed = objective[b] - _SUFFICIENT_DECREASE * t * decrement_sq
                # below the resolution of the objective the full step is the better judge
                if value <= allowed or decrement_sq <= 1e-13 * objective[b]:
                    break
                t *= 0.5
            theta[b] = trial
            for i in range(n):
                margins[i] = y[b, i] * np.dot(X[b, i], theta[b])
            objective[b] = value
            if not penalised and np.min(margins) > 0.0:
                status[b] = 2  # theta separates: the objective falls to 0 along it
                break
            # The curvature changes by at most a factor exp(|slope|) over the step, so margins that
            # move by less than tol leave an error of order tol^2.  A vanishing decrement proves
            # convergence only with a penalty: it also vanishes along a quasi-separating direction.
            small = np.dot(step_vec, step_vec) <= tol**2 * np.dot(theta[b], theta[b])
            small = small or np.max(np.abs(slope)) <= tol
            if t == 1.0 and (small or (penalised and decrement_sq <= _DECREMENT_SQ)):
                status[b] = 0
                break


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
    l2 : the penalty c >= 0 on theta (paper: C = 1e-5); the intercept is free.
    intercept : whether to fit b.
    max_iter : Newton steps allowed, >= 1.
    tol : stop after a full step that moves the parameters by less than the fraction ``tol``, or
        every margin by less than ``tol``; as convergence is quadratic the error then is of the
        order tol^2, or rounding.

    Returns
    -------
    LogisticFit
        Separable data are no obstacle when l2 > 0.  With l2 = 0 they have no minimiser: strict
        separation is proved by an iterate that separates and reported as `Status.NO_MINIMIZER`
        (quasi-separation, with points on the boundary, ends as `Status.MAX_ITER`).

    Raises
    ------
    InvalidParameter
        Shapes, entries that are not finite, labels other than -1 and +1, l2 < 0.

    Notes
    -----
    Armijo backtracking from the full step; the objective is evaluated without overflow.
    O(n d^2 + d^3) a step.  For d > n and l2 > 0 the minimiser lies in the row space of X, so the
    problem is solved in n coordinates after a QR factorisation of X^T, exactly:
    O(n^2 d) once and O(n^3) a step.
    """
    features, labels = _checked(X, y)
    if not np.all(np.abs(labels) == 1):
        bad = tuple(int(i) for i in np.argwhere(np.abs(labels) != 1)[0])
        raise InvalidParameter(f"y[{bad[0]}, {bad[1]}]={labels[bad]:g} must be -1 or +1")
    c = real_between("l2", l2, 0.0)
    max_iter = integer_between("max_iter", max_iter, 1)
    tol = real_between("tol", tol, 0.0)
    n_users, n, _ = features.shape
    design, basis = _row_coordinates(features)
    r = design.shape[2]
    ridge = np.full(r + intercept, c)
    if intercept:
        design = np.concatenate([design, np.ones((n_users, n, 1))], axis=2)
        ridge[r] = 0.0
    theta = np.empty((n_users, r + intercept))
    objective = np.empty(n_users)
    n_iter = np.empty(n_users, np.int64)
    status = np.empty(n_users, np.int64)
    _logistic_batch(design, labels, ridge, max_iter, tol, theta, objective, n_iter, status)
    if intercept:
        status[np.abs(labels.sum(axis=1)) == n] = Status.NO_MINIMIZER
    return LogisticFit(
        theta=_from_row_coordinates(theta[:, :r], basis),
        intercept=theta[:, r].copy() if intercept else np.zeros(n_users),
        objective=objective,
        n_iter=n_iter,
        status=status,
    )


# ----------------------------------------------------------------------------------------------
# projected stochastic gradient descent


@njit(cache=True, nogil=True)
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
    """Projected SGD, user after user; ``theta`` holds the start and receives the last iterate."""
    n_users, n, d = X.shape
    for b in range(n_users):
        average[b] = 0.0
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
            shrink = min(1.0, radius / np.sqrt(norm_sq)) if norm_sq > 0.0 else 1.0
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
    rng : the stream; one uniform a step, user after user.
    loss : the objective, see the module docstring (no intercept).
    mu : strong convexity constant, > 0: a number, or (B,); `strong_convexity` computes it for the
        squared loss, and l2 is one for the logistic loss.
    radius : of Theta, > 0, units of theta.
    n_steps : T >= 1.
    l2 : the penalty c >= 0.

    Returns
    -------
    SgdFit

    Raises
    ------
    InvalidParameter
        Shapes, entries that are not finite, labels, mu <= 0, radius <= 0.

    Notes
    -----
    O(T d) a user.  E|theta^T - theta_hat|^2 <= 4 Gamma^2 / (mu^2 T) (Lemma 5 of the paper), Gamma
    a bound on the stochastic gradients over Theta.
    """
    features, targets = _checked(X, y)
    n_users, _, d = features.shape
    is_logistic = one_of("loss", loss, ("squared", "logistic")) == "logistic"
    if is_logistic and not np.all(np.abs(targets) == 1):
        raise InvalidParameter("y must hold only -1 and +1 with loss='logistic'")
    rates = np.ascontiguousarray(np.broadcast_to(np.asarray(mu, dtype=np.float64), (n_users,)))
    if not (np.isfinite(rates).all() and rates.min() > 0):
        raise InvalidParameter(f"mu={rates.min():g} must be finite and > 0 for every user")
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
        rng,
        theta,
        average,
    )
    return SgdFit(last=theta, average=average)

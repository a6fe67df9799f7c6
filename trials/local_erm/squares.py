r"""Least squares and ridge: Gram matrix and Cholesky, QR where that is ill-conditioned, else SVD.

.. math:: \frac1{2n} \|X\theta - y\|^2 + \frac c2 \|\theta\|^2
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike

from trials.checks import FloatArray, IntArray, InvalidParameter, finite_batch, real_between
from trials.integers import ZERO
from trials.kernel import inner_kernel, kernel
from trials.local_erm.factors import (
    cholesky,
    qr_least_squares,
    qr_minimum_norm,
    solve_lower,
    solve_upper,
    well_conditioned,
)

_EPS = float(np.finfo(np.float64).eps)
# Above this bound on the condition number of the scaled Gram matrix, QR takes over.  Below it the
# refined Cholesky solution has an error of about eps kappa |theta| + eps kappa^2 |residual| / |X|,
# kappa = kappa(X) <= 1e3: the sensitivity of least squares itself.
_GRAM_CONDITION = 1e6
# Marks data whose products would overflow or underflow: they are scaled as a whole first.
_RESCALE = 3


class Method(IntEnum):
    """How a least-squares problem was solved."""

    CHOLESKY = 0
    QR = 1
    SVD = 2


@dataclass(frozen=True, kw_only=True)
class LeastSquaresFit:
    """``theta`` (B, d), residual sums of squares ``rss`` (B,), ``method`` (B,) of `Method`."""

    theta: FloatArray
    rss: FloatArray
    method: IntArray


@inner_kernel
def _equilibrate(gram: FloatArray, scale: FloatArray) -> bool:
    """Scale a Gram matrix (d, d) to unit diagonal, in place.

    ``scale`` (d,) receives the roots of its diagonal.  Returns False where one of them is zero.
    """
    d = gram.shape[0]
    for j in range(d):
        if not gram[j, j] > 0.0:
            return False
        scale[j] = np.sqrt(gram[j, j])
    for i in range(d):
        for j in range(d):
            gram[i, j] /= scale[i] * scale[j]
    return True


@inner_kernel
def _in_range(gram: FloatArray, y: FloatArray) -> bool:
    """Whether products of the data, which are at most 1e150, neither overflow nor underflow.

    ``gram`` (d, d) is their Gram matrix, ``y`` (n,) holds the targets.
    """
    for j in range(gram.shape[0]):
        if not 1e-150 <= gram[j, j] <= 1e150:
            return False
    largest = 0.0
    for i in range(y.shape[0]):
        largest = max(largest, abs(y[i]))
    return bool(np.dot(y, y) >= 1e-290 or largest == 0.0)


@inner_kernel
def _qr_fallback(X: FloatArray, y: FloatArray, theta: FloatArray) -> bool:
    """Least squares by QR of the columns (n >= d) or rows (n < d), scaled to length one.

    Scaling columns rescales theta.  Scaling rows changes nothing for consistent equations.  The
    largest entry is divided out first, because squares of 1e-170 would underflow to zero.  ``X`` is
    (n, d) and ``y`` (n,).  ``theta`` (d,) receives the solution.  Returns False where the rank is
    below min(n, d).
    """
    n, d = X.shape
    tall = n >= d
    count, length = (d, n) if tall else (n, d)
    cols = np.empty((count, length))
    scale = np.empty(count)
    for j in range(count):
        largest = 0.0
        for i in range(length):
            cols[j, i] = X[i, j] if tall else X[j, i]
            largest = max(largest, abs(cols[j, i]))
        if largest == 0.0:
            return False
        for i in range(length):
            cols[j, i] /= largest
        norm = np.sqrt(np.dot(cols[j], cols[j]))
        for i in range(length):
            cols[j, i] /= norm
        scale[j] = largest * norm
    if not tall:
        for j in range(count):
            scale[j] = y[j] / scale[j]
        return qr_minimum_norm(cols, scale, theta)
    if not qr_least_squares(cols, y, theta):
        return False
    for j in range(count):
        theta[j] /= scale[j]
    return True


@inner_kernel
def _residuals(X: FloatArray, y: FloatArray, theta: FloatArray, out: FloatArray) -> None:
    """``out = y - X theta``: X (n, d), y and ``out`` (n,), theta (d,)."""
    np.dot(X, theta, out)
    for i in range(out.shape[0]):
        out[i] = y[i] - out[i]


@inner_kernel
def _refine(
    X: FloatArray,
    upper: FloatArray,
    scale: FloatArray,
    rhs: FloatArray,
    v: FloatArray,
    work: FloatArray,
    theta: FloatArray,
) -> None:
    """Add the Cholesky solution for the residuals ``rhs`` (n,) to ``theta`` (d,).

    ``upper`` and ``scale`` are those of the smaller Gram matrix of X (n, d).  ``v`` (min(n, d),)
    and ``work`` (d,) are work space.
    """
    n, d = X.shape
    tall = n >= d
    if tall:
        np.dot(X.T, rhs, v)
    for j in range(scale.shape[0]):
        v[j] = (v[j] if tall else rhs[j]) / scale[j]
    solve_lower(upper, ZERO, v)
    solve_upper(upper, v)
    for j in range(scale.shape[0]):
        v[j] /= scale[j]
    if not tall:
        np.dot(X.T, v, work)
    for j in range(d):
        theta[j] += v[j] if tall else work[j]


@inner_kernel
def _all_above(values: FloatArray, limit: float) -> bool:
    """Whether every entry of an array (n,) exceeds the limit."""
    above = True
    for i in range(values.shape[0]):
        above = above and values[i] > limit
    return above


@kernel
def _least_squares_batch(
    X: FloatArray,
    y: FloatArray,
    is_scaled: bool,
    theta: FloatArray,
    rss: FloatArray,
    method: IntArray,
) -> None:
    """Cholesky or QR, user after user.  The driver solves the users marked `Method.SVD` or
    `_RESCALE`.

    Tall (n >= d) and wide (n < d) problems share the code.  The Gram matrix is that of the columns
    of X, or of the rows, each scaled to length one.  ``X`` is (B, n, d), ``y`` (B, n), ``theta``
    (B, d), ``rss`` and ``method`` (B,).  ``is_scaled`` says that the driver has scaled the data.
    """
    n_users, n, d = X.shape
    tall = n >= d
    small = min(n, d)
    gram = np.empty((small, small))
    scale = np.empty(small)
    v = np.empty(small)
    work = np.empty(d)
    rhs = np.empty(n)
    for b in range(n_users):
        method[b] = 2
        if tall:
            np.dot(X[b].T, X[b], gram)
        else:
            np.dot(X[b], X[b].T, gram)
        in_range = _in_range(gram, y[b])
        if not (in_range or is_scaled):
            method[b] = _RESCALE
            continue
        if (
            _equilibrate(gram, scale)
            and (in_range or _all_above(scale, 1e-140))
            and cholesky(gram)
            and well_conditioned(gram, _GRAM_CONDITION, v)
        ):
            method[b] = 0
            for j in range(d):
                theta[b, j] = 0.0
            for _ in range(2):  # the second pass is a step of iterative refinement
                _residuals(X[b], y[b], theta[b], rhs)
                _refine(X[b], gram, scale, rhs, v, work, theta[b])
        elif _qr_fallback(X[b], y[b], theta[b]):
            method[b] = 1
        if method[b] != 2:
            _residuals(X[b], y[b], theta[b], rhs)
            rss[b] = np.dot(rhs, rhs)


def check_rows(X: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Features (B, n, d) and targets (B, n), finite and of shapes that match."""
    features = finite_batch("X", X, ("B", "n", "d"))
    targets = finite_batch("y", y, ("B", "n"))
    if targets.shape != features.shape[:2]:
        raise InvalidParameter(f"y.shape={targets.shape} must be (B, n)={features.shape[:2]}")
    return features, targets


def least_squares(X: ArrayLike, y: ArrayLike, *, l2: float = 0.0) -> LeastSquaresFit:
    """Least squares for B users at once, with the solution of minimum norm where it is not unique.

    ``l2`` > 0 gives ridge regression.  It is the least squares of X over sqrt(n l2) I against y
    over zeros, in the row space of X where n < d.  So the same methods and their accuracy apply.

    The method is Cholesky of the Gram matrix of the scaled columns (n >= d) or rows (n < d) with
    one step of iterative refinement.  Where a rigorous bound on the Gram matrix's condition number
    exceeds 1e6, it is Householder QR with column pivoting.  Where the numerical rank is below
    min(n, d), it is the SVD.

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
    InvalidParameter : Shapes that do not fit, entries that are not finite, l2 < 0, or a solution
        beyond the range of floats.

    Notes
    -----
    O(n d min(n, d)) a user, about twice that with a penalty.  The SVD costs several times more, in
    a Python loop over the rare users that need it.  For a Gaussian design theta - theta* = sigma z
    / sqrt(chi2_{n-d+1}).

    Examples
    --------
    >>> fit = least_squares([[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]], [[1.0, 2.0, 3.0]])
    >>> fit.theta.round(12).tolist(), Method(fit.method[0]).name
    ([[1.0, 2.0]], 'CHOLESKY')
    """
    features, targets = check_rows(X, y)
    penalty = real_between("l2", l2, 0.0, 1e200)  # n l2 can be formed
    if penalty > 0.0:
        return _ridge(features, targets, penalty)
    n_users, n, d = features.shape
    theta = np.empty((n_users, d))
    rss = np.empty(n_users)
    method = np.empty(n_users, np.int64)
    _least_squares_batch(features, targets, False, theta, rss, method)
    far = np.flatnonzero(method == _RESCALE)
    if far.size:
        x, x_unit = _scale(features[far])
        y, y_unit = _scale(targets[far])
        found, kinds = np.empty((far.size, d)), np.empty(far.size, np.int64)
        _least_squares_batch(x, y, True, found, np.empty(far.size), kinds)
        with np.errstate(over="ignore", invalid="ignore"):  # refused below
            theta[far], method[far] = np.ldexp(found, (y_unit - x_unit)[:, None]), kinds
            left = targets[far] - np.einsum("bnd,bd->bn", features[far], theta[far])
            rss[far] = (left**2).sum(1)
    for b in np.flatnonzero(method == Method.SVD):
        theta[b] = np.linalg.lstsq(features[b], targets[b], rcond=_EPS * max(n, d))[0]
        rss[b] = ((targets[b] - features[b] @ theta[b]) ** 2).sum()
    lost = np.flatnonzero(~np.isfinite(theta).all(axis=1))
    if lost.size:
        raise InvalidParameter(f"X[{lost[0]}] has a solution beyond the range of floats")
    return LeastSquaresFit(theta=theta, rss=rss, method=method)


def _scale(batch: FloatArray) -> tuple[FloatArray, IntArray]:
    """A batch (B, ...) with entries of at most 1, and the powers of two (B,) taken out."""
    inner = tuple(range(1, batch.ndim))
    powers = np.frexp(np.abs(batch).max(axis=inner))[1].astype(np.int64)
    return np.ldexp(batch, -np.expand_dims(powers, inner)), powers


def _ridge(features: FloatArray, targets: FloatArray, l2: float) -> LeastSquaresFit:
    """Least squares of the features (B, n, d) with the rows sqrt(n l2) I below them."""
    n_users, n, _ = features.shape
    design, basis = row_coordinates(features)
    r = design.shape[2]
    rows = np.broadcast_to(math.sqrt(n * l2) * np.eye(r), (n_users, r, r))
    fit = least_squares(
        np.concatenate([design, rows], axis=1),
        np.concatenate([targets, np.zeros((n_users, r))], axis=1),
    )
    residuals = targets - np.einsum("bnr,br->bn", design, fit.theta)
    theta = from_row_coordinates(fit.theta, basis)
    return LeastSquaresFit(theta=theta, rss=(residuals**2).sum(axis=1), method=fit.method)


def row_coordinates(features: FloatArray) -> tuple[FloatArray, FloatArray | None]:
    """The features in min(n, d) coordinates of their row space, and (B, d, n) its basis if n < d.

    A penalised minimiser lies in that space, so nothing is lost.
    """
    n, d = features.shape[1:]
    if d <= n:
        return features, None
    basis, triangle = np.linalg.qr(features.transpose(0, 2, 1))
    return np.ascontiguousarray(triangle.transpose(0, 2, 1)), basis


def from_row_coordinates(weights: FloatArray, basis: FloatArray | None) -> FloatArray:
    """The (B, d) parameters of weights in the coordinates of `row_coordinates`."""
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
    (B,) constants, equal to l2 where n < d.  O(n d min(n, d)) a user.

    Examples
    --------
    >>> strong_convexity([[[1.0, 0.0], [0.0, 2.0]]], l2=0.25).round(12).tolist()
    [0.75]
    """
    features = finite_batch("X", X, ("B", "n", "d"))
    ridge = real_between("l2", l2, 0.0)
    n_users, n, d = features.shape
    if n < d:
        return np.full(n_users, ridge)
    smallest: FloatArray = np.linalg.svd(features, compute_uv=False)[:, -1] ** 2 / n
    return smallest + ridge

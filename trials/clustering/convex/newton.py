r"""Jitted Newton's method on a node problem: pair terms, Hessian products, conjugate gradients.

A *node problem* has K nodes with positions ``b``, masses ``n`` and a symmetric matrix ``w`` of pair
weights.  Its smoothed objective is

.. math::

    F(u) = \sum_k n_k (\tfrac{\mu}{2} |u_k|^2 - \langle b_k, u_k \rangle)
           + \lambda \sum_{k<l} w_{kl} \sqrt{\varepsilon^2 + |u_k - u_l|^2}.

``mu = 1, eps = 0`` is convex clustering (where the nodes stay apart, F is smooth).
``mu = 1, eps > 0`` is its smoothing.  ``mu = 0, eps = 1`` is the problem whose minimiser is the
potential that proves a fusion (see `trials.clustering.convex.certificate`).

Arguments that several kernels share, all C-contiguous float64 unless said otherwise:

* ``u``, ``b``, ``v``, ``g`` : (d, K), values, positions, a direction, a gradient.  Values and
  positions are in units of length.  With mu = 0 values are potentials without a unit.
* ``mass`` : (K,) numbers of points, no unit.  ``w`` : (K, K), zero diagonal, no unit.
* ``first``, ``second`` : (K, K), ``w / rho`` and ``w / rho^3`` with ``rho`` the root above.
* ``lam`` : the penalty, a length.  ``mu`` : 0 or 1, no unit.
* ``eps`` : the smoothing, in the unit of the values.

No kernel stores K^2 d numbers.  The largest arrays are K x K.  No kernel checks its arguments:
`trials.clustering.convex.nodes` does.  The kernels use loops over elements instead of slices.  Each
slice assignment would compile its own message about shapes that do not match, which took a third of
this file's time to compile.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trials.checks import FloatArray
from trials.clustering.convex.pairs import FAST, pair_squares
from trials.kernel import inner_kernel, kernel

#: Single or double precision.
AnyArray = NDArray[np.floating[Any]]

#: Products in one conjugate-gradient run after which the preconditioner is made afresh.
_STALE = 12
#: Largest `condition` at which matrix products in single and in double precision give a direction
#: that is good to a percent or so.
SINGLE, DOUBLE = 3e6, 1e15


class Problem(NamedTuple):
    """A node problem, by the letters of the module's text."""

    b: FloatArray
    mass: FloatArray
    w: FloatArray
    lam: float
    mu: float
    eps: float


@inner_kernel(error_model="numpy", fastmath=FAST)
def pair_curvatures(
    u: FloatArray, w: FloatArray, eps: float, first: FloatArray, second: FloatArray
) -> float:
    """Fill ``first = w / rho`` and ``second = w / rho^3`` (K, K), and return ``sum_{k<l} w rho``.

    ``rho^2 = eps^2 + |u_k - u_l|^2``.  The diagonal of ``w`` is zero.
    """
    n_nodes = u.shape[1]
    pair_squares(u, second)
    total = 0.0
    for i in range(n_nodes):
        for j in range(n_nodes):
            square = max(second[i, j] + eps * eps, 1e-200)
            inverse = 1.0 / math.sqrt(square)
            weight = w[i, j] * inverse
            total += weight * square
            first[i, j] = weight
            second[i, j] = weight * (inverse * inverse)
    return 0.5 * total


@inner_kernel(error_model="numpy", fastmath=FAST)
def gradient(
    u: FloatArray,
    b: FloatArray,
    mass: FloatArray,
    first: FloatArray,
    lam: float,
    mu: float,
    out: FloatArray,
) -> None:
    """Gradient (d, K) of F from the pair weights ``first`` (K, K).  Differences come first.

    A matrix product with the Laplacian would be faster.  But it would cancel catastrophically for
    pairs much closer than the scale of the data, and those pairs decide a fusion.
    """
    d, n_nodes = u.shape
    whole = d - d % 4
    for i in range(n_nodes):
        for c in range(0, whole, 4):
            p, q, r, s = u[c, i], u[c + 1, i], u[c + 2, i], u[c + 3, i]
            x = 0.0
            y = 0.0
            z = 0.0
            t = 0.0
            for j in range(n_nodes):
                weight = first[i, j]
                x += weight * (p - u[c, j])
                y += weight * (q - u[c + 1, j])
                z += weight * (r - u[c + 2, j])
                t += weight * (s - u[c + 3, j])
            out[c, i] = x
            out[c + 1, i] = y
            out[c + 2, i] = z
            out[c + 3, i] = t
        for c in range(whole, d):
            p = u[c, i]
            x = 0.0
            for j in range(n_nodes):
                x += first[i, j] * (p - u[c, j])
            out[c, i] = x
        for c in range(d):
            out[c, i] = mass[i] * (mu * u[c, i] - b[c, i]) + lam * out[c, i]


@inner_kernel(error_model="numpy", fastmath=FAST)
def hessian_product(
    u: FloatArray,
    v: FloatArray,
    mass: FloatArray,
    first: AnyArray,
    second: AnyArray,
    lam: float,
    mu: float,
    out: FloatArray,
) -> None:
    """Hessian of F at u times v from differences, exact at any distances.  O(K^2 d)."""
    d, n_nodes = u.shape
    work = np.empty(n_nodes)
    for i in range(n_nodes):
        for j in range(n_nodes):
            work[j] = 0.0
        for c in range(d):
            at = u[c, i]
            to = v[c, i]
            for j in range(n_nodes):
                work[j] += (at - u[c, j]) * (to - v[c, j])
        for j in range(n_nodes):
            work[j] *= second[i, j]
        for c in range(d):
            at = u[c, i]
            to = v[c, i]
            acc = 0.0
            for j in range(n_nodes):
                acc += first[i, j] * (to - v[c, j]) - work[j] * (at - u[c, j])
            out[c, i] = mu * mass[i] * to + lam * acc


@inner_kernel(error_model="numpy", fastmath=FAST)
def matrix_product(
    v: FloatArray,
    diagonal: FloatArray,
    lam: float,
    first: AnyArray,
    second: AnyArray,
    left: AnyArray,
    right: AnyArray,
    inner: AnyArray,
    pulled: AnyArray,
    sums: AnyArray,
    out: FloatArray,
) -> None:
    """`hessian_product` by matrix products, in the precision of the arrays from ``first`` on.

    With ``s_kl = <u_k - u_l, v_k - v_l>`` and ``T = second * s`` (elementwise), row sums t, it is
    ``diagonal v + lam (u T - v first - t u)``, ``diagonal = mu n + lam sum_l first_kl`` (K,).
    ``left`` and ``right`` (2d, K) hold u in their first and last rows.  Their other rows, ``inner``
    (K, K), ``pulled`` (d, K) and ``sums`` (2, K) are scratch.  In single precision this is three
    times as fast as differences.  `condition` measures the cancellation.
    """
    d, n_nodes = v.shape
    for k in range(n_nodes):
        sums[0, k] = 0.0
    for c in range(d):
        for k in range(n_nodes):
            left[d + c, k] = v[c, k]
            right[c, k] = v[c, k]
            sums[0, k] += left[c, k] * right[c, k]
    # u^T v + v^T u in one product: no transposed reads.
    np.dot(left.T, right, inner)
    for i in range(n_nodes):
        at = sums[0, i]
        acc = 0.0
        for j in range(n_nodes):
            pull = second[i, j] * ((at + sums[0, j]) - inner[i, j])
            inner[i, j] = pull
            acc += pull
        sums[1, i] = acc
    np.dot(left[:d], inner, pulled)
    for c in range(d):
        for k in range(n_nodes):
            out[c, k] = diagonal[k] * v[c, k] + lam * (pulled[c, k] - sums[1, k] * left[c, k])
    np.dot(right[:d], first, pulled)
    for c in range(d):
        for k in range(n_nodes):
            out[c, k] -= lam * pulled[c, k]


@inner_kernel(error_model="numpy", fastmath=FAST)
def condition(
    u: FloatArray,
    mass: FloatArray,
    second: FloatArray,
    lam: float,
    mu: float,
    eps: float,
    out: FloatArray,
) -> float:
    """Bound on the relative cancellation in `matrix_product`.  ``out`` (d, K) receives u about its
    mean.

    The bound is the ratio of the largest terms, ``lam |u|^2 sum_l second_kl``, to the least
    curvature, which is ``mu n_k`` and about ``lam eps^2 sum_l second_kl``.  The relative error
    observed in the worst direction is a tenth of the unit roundoff times this ratio.  The bound is
    at least `DOUBLE` where the numbers leave the range of single precision.
    """
    d, n_nodes = u.shape
    squares = np.empty(n_nodes)
    for k in range(n_nodes):
        squares[k] = 0.0
    for c in range(d):
        mean = 0.0
        for k in range(n_nodes):
            mean += u[c, k]
        mean /= n_nodes
        for k in range(n_nodes):
            at = u[c, k] - mean
            out[c, k] = at
            squares[k] += at * at
    reach = 0.0
    for k in range(n_nodes):
        reach = max(reach, squares[k])
    worst = 0.0
    for k in range(n_nodes):
        curvature = 0.0
        for j in range(n_nodes):
            curvature += second[k, j]
        least = mu * mass[k] + eps * eps * lam * curvature
        worst = max(worst, lam * curvature * reach / least) if least > 0.0 else np.inf
        if max(curvature, lam * curvature) > 1e30 or least < 1e-20:
            worst = max(worst, DOUBLE)
    return worst


@inner_kernel(error_model="numpy")
def _preconditioner(
    mass: FloatArray, first: FloatArray, lam: float, mu: float, out: FloatArray
) -> None:
    """Inverse (K, K) of the majorising matrix ``mu diag(n) + lam L(first)``.

    All coordinates share it.  Without the quadratic (mu = 0) the constants are the kernel of the
    Laplacian L.  Adding ``n n^T`` scaled to its trace makes it definite and changes nothing on the
    gradients, whose sum is zero.
    """
    n_nodes = mass.shape[0]
    total = 0.0
    for k in range(n_nodes):
        total += mass[k]
    m = np.empty((n_nodes, n_nodes))
    trace = 0.0
    for k in range(n_nodes):
        degree = 0.0
        for j in range(n_nodes):
            m[k, j] = -lam * first[k, j]
            degree += first[k, j]
        m[k, k] = mu * mass[k] + lam * degree
        trace += m[k, k]
    if mu == 0.0:
        for k in range(n_nodes):
            for j in range(n_nodes):
                m[k, j] += trace * (mass[k] / total) * (mass[j] / total)
    # Unit diagonal, and a hair more: pairs far closer than others make it singular to rounding.
    root = np.empty(n_nodes)
    for k in range(n_nodes):
        root[k] = math.sqrt(max(m[k, k], 1e-200))
    for k in range(n_nodes):
        for j in range(n_nodes):
            m[k, j] /= root[k] * root[j]
        m[k, k] = 1.0 + 1e-12
    inverse = np.linalg.inv(m)
    for k in range(n_nodes):
        for j in range(n_nodes):
            out[k, j] = inverse[k, j] / (root[k] * root[j])


@inner_kernel(error_model="numpy", fastmath=FAST)
def _dot(x: FloatArray, y: FloatArray) -> float:
    """Sum of the products of all entries of two (d, K) arrays."""
    acc = 0.0
    for c in range(x.shape[0]):
        for k in range(x.shape[1]):
            acc += x[c, k] * y[c, k]
    return acc


@inner_kernel(error_model="numpy", fastmath=FAST)
def _combine(alpha: float, x: FloatArray, beta: float, y: FloatArray) -> None:
    """``y = alpha x + beta y`` for (d, K) arrays."""
    for c in range(x.shape[0]):
        for k in range(x.shape[1]):
            y[c, k] = alpha * x[c, k] + beta * y[c, k]


@inner_kernel(error_model="numpy", fastmath=FAST)
def _dual_norm(g: FloatArray, mass: FloatArray) -> float:
    """``sqrt(sum_k |g_k|^2 / n_k)`` of a gradient (d, K).

    With mu = 1 it bounds the mass-weighted distance to the minimiser, by strong convexity.
    """
    acc = 0.0
    for c in range(g.shape[0]):
        for k in range(g.shape[1]):
            acc += g[c, k] * g[c, k] / mass[k]
    return math.sqrt(acc)


@inner_kernel(error_model="numpy")
def _copy(source: AnyArray, target: AnyArray) -> None:
    """Copy the rows of ``source`` (r, K) to the first rows of ``target``, in its precision."""
    for c in range(source.shape[0]):
        for k in range(source.shape[1]):
            target[c, k] = source[c, k]


@inner_kernel(error_model="numpy", fastmath=FAST)
def _diagonal(first: FloatArray, mass: FloatArray, lam: float, mu: float, out: FloatArray) -> None:
    """Diagonal ``mu n_k + lam sum_l first_kl`` (K,) of the majorising matrix."""
    n_nodes = mass.shape[0]
    for k in range(n_nodes):
        degree = 0.0
        for j in range(n_nodes):
            degree += first[k, j]
        out[k] = mu * mass[k] + lam * degree


@inner_kernel(error_model="numpy")
def _conjugate_gradients(
    u: FloatArray,
    g: FloatArray,
    problem: Problem,
    close: bool,
    exact_first: FloatArray,
    exact_second: FloatArray,
    first: AnyArray,
    second: AnyArray,
    inverse: AnyArray,
    forcing: float,
    step: FloatArray,
) -> int:
    """Preconditioned conjugate gradients for ``H step = -g``.  Returns the Hessian products.

    Where nodes are ``close`` the products come from differences with ``exact_first`` and
    ``exact_second`` (K, K).  Elsewhere they come from matrix products in the precision of
    ``first``, ``second`` and the preconditioner ``inverse``, all (K, K).  Stops when the squared
    preconditioned residual has fallen by ``forcing`` squared.  ``step`` (d, K) receives the result.
    """
    d, n_nodes = u.shape
    mass, lam, mu = problem.mass, problem.lam, problem.mu
    left = np.empty((2 * d, n_nodes), dtype=first.dtype)
    right = np.empty((2 * d, n_nodes), dtype=first.dtype)
    pulled = np.empty((d, n_nodes), dtype=first.dtype)
    sums = np.empty((2, n_nodes), dtype=first.dtype)
    inner = np.empty((n_nodes, n_nodes), dtype=first.dtype)
    diagonal = np.empty(n_nodes)
    product = np.empty((d, n_nodes))
    solved = np.empty((d, n_nodes))
    residual = np.empty((d, n_nodes))
    direction = np.empty((d, n_nodes))
    for c in range(d):
        for k in range(n_nodes):
            left[c, k] = u[c, k]
            right[d + c, k] = u[c, k]
            residual[c, k] = -g[c, k]
            direction[c, k] = 0.0
            step[c, k] = 0.0
    _diagonal(exact_first, mass, lam, mu, diagonal)
    rz, target, count = 1.0, 0.0, 0
    limit = min(d * n_nodes, 200)
    while True:
        _copy(residual, right)
        np.dot(right[:d], inverse, pulled)
        _copy(pulled, solved)
        previous, rz = rz, _dot(residual, solved)
        if count == 0:
            target = forcing * forcing * rz
        elif not (count < limit and rz > target):
            break
        _combine(1.0, solved, rz / previous, direction)
        if close:
            hessian_product(u, direction, mass, exact_first, exact_second, lam, mu, product)
        else:
            matrix_product(
                direction, diagonal, lam, first, second, left, right, inner, pulled, sums, product
            )
        count += 1
        curvature = _dot(direction, product)
        if not curvature > 0.0:
            break
        _combine(rz / curvature, direction, 1.0, step)
        _combine(-rz / curvature, product, 1.0, residual)
    if not _dot(step, g) < 0.0:
        # Rounding errors dominate the direction, so the preconditioned gradient is used instead.
        _copy(g, right)
        np.dot(right[:d], inverse, pulled)
        _copy(pulled, solved)
        _combine(-1.0, solved, 0.0, step)
    return count


@inner_kernel(error_model="numpy")
def _line_search(
    u: FloatArray,
    step: FloatArray,
    problem: Problem,
    penalty: float,
    norm: float,
    slope: float,
    first: FloatArray,
    second: FloatArray,
    trial: FloatArray,
    trial_g: FloatArray,
) -> tuple[bool, float, float, float]:
    """Halve the step from ``u`` until the gradient is half as long or the value falls enough.

    ``penalty`` and ``norm`` are the penalty and the gradient's dual norm at ``u``, and ``slope`` is
    the derivative along the step.  ``trial``, ``trial_g`` (d, K), ``first`` and ``second`` (K, K)
    receive the last point tried, its gradient and its curvatures.  Returns whether that point is
    accepted, the change of the value, the penalty and the norm there.
    """
    b, mass, w, lam, mu, eps = problem
    t = 1.0
    change, trial_penalty, trial_norm = 0.0, penalty, norm
    for _ in range(40):
        # The decrease of the quadratic part in closed form: no cancellation near the optimum.
        change = 0.0
        for c in range(u.shape[0]):
            for k in range(u.shape[1]):
                s = t * step[c, k]
                trial[c, k] = u[c, k] + s
                change += mass[k] * s * (mu * (u[c, k] + 0.5 * s) - b[c, k])
        trial_penalty = pair_curvatures(trial, w, eps, first, second)
        change += lam * (trial_penalty - penalty)
        gradient(trial, b, mass, first, lam, mu, trial_g)
        trial_norm = _dual_norm(trial_g, mass)
        if trial_norm <= 0.5 * norm or change <= 1e-4 * t * slope:
            return True, change, trial_penalty, trial_norm
        t *= 0.5
    return False, change, trial_penalty, trial_norm


@inner_kernel(error_model="numpy")
def _forcing(norm: float, start: float, eps: float, tol: float) -> float:
    """The share of the gradient that a step may leave, from its dual norm now and at the start.

    A smoothed problem is a stage on the way.  An exact one is solved ever more tightly while it
    converges, and never more tightly than the last step needs.
    """
    if eps != 0.0:
        return 0.1
    quadratic = max(1e-3, 0.3 * math.sqrt(norm / start))
    return min(0.1, max(quadratic, 0.3 * tol / norm))


@kernel(error_model="numpy")
def newton(
    b: FloatArray,
    mass: FloatArray,
    w: FloatArray,
    lam: float,
    mu: float,
    eps: float,
    tol: float,
    max_steps: int,
    patience: int,
    u: FloatArray,
    out: FloatArray,
) -> None:
    """Minimise F from ``u`` (overwritten) by Newton's method with conjugate gradients.

    Stops when the dual norm of the gradient is at most ``tol`` (a length), after ``max_steps``,
    when more than ``patience`` steps have not halved it, or when rounding keeps it from falling.
    ``out`` (3,) receives the final dual norm, the number of steps and the number of Hessian
    products.  O(K^3 + K^2 d) time a step and O(K^2 + K d) memory.
    """
    d, n_nodes = u.shape
    problem = Problem(b, mass, w, lam, mu, eps)
    first = np.empty((n_nodes, n_nodes))
    second = np.empty((n_nodes, n_nodes))
    inverse = np.empty((n_nodes, n_nodes))
    g = np.empty((d, n_nodes))
    trial_g = np.empty((d, n_nodes))
    trial = np.empty((d, n_nodes))
    step = np.empty((d, n_nodes))
    at = np.empty((d, n_nodes))
    penalty = pair_curvatures(u, w, eps, first, second)
    gradient(u, b, mass, first, lam, mu, g)
    norm = _dual_norm(g, mass)
    start = norm
    stalled = 0
    slow = 0
    products = _STALE + 1
    out[1] = 0.0
    out[2] = 0.0
    while norm > tol and out[1] < max_steps and stalled < 3 and slow <= patience:
        forcing = _forcing(norm, start, eps, tol)
        # The inverse costs as much as many products, so an old one is used while it converges.
        if products > _STALE:
            _preconditioner(mass, first, lam, mu, inverse)
        # The least precision that is enough.
        worst = condition(u, mass, second, lam, mu, eps, at)
        if worst <= SINGLE:
            products = _conjugate_gradients(
                at, g, problem, False, first, second,
                first.astype(np.float32), second.astype(np.float32), inverse.astype(np.float32),
                forcing, step,
            )  # fmt: skip
        else:
            products = _conjugate_gradients(
                at, g, problem, not worst <= DOUBLE, first, second,
                first, second, inverse, forcing, step,
            )  # fmt: skip
        out[2] += products
        out[1] += 1.0
        accepted, change, trial_penalty, trial_norm = _line_search(
            u, step, problem, penalty, norm, _dot(step, g), first, second, trial, trial_g
        )  # fmt: skip
        if not accepted:
            break
        if trial_norm > 0.5 * norm:
            slow += 1
            # Neither the gradient nor the value moves: what is left is rounding.
            if -change <= 1e-13 * lam * trial_penalty:
                stalled += 1
        if trial_norm < norm or norm > 1e-10 * start:
            _copy(trial, u)
            _copy(trial_g, g)
            penalty = trial_penalty
            norm = trial_norm
        else:
            break
    out[0] = norm

r"""Jitted kernels of convex clustering: pair terms, Hessian products, Newton's method, flows.

Everything here works on a *node problem*: K nodes with positions ``b``, masses ``n`` and a
symmetric matrix ``w`` of pair weights, and the smoothed objective

.. math::

    F(u) = \sum_k n_k (\tfrac{\mu}{2} |u_k|^2 - \langle b_k, u_k \rangle)
           + \lambda \sum_{k<l} w_{kl} \sqrt{\varepsilon^2 + |u_k - u_l|^2}.

``mu = 1, eps = 0`` is convex clustering (where the nodes stay apart, F is smooth);
``mu = 1, eps > 0`` is its smoothing; ``mu = 0, eps = 1`` is the problem whose minimiser is the
potential that proves a fusion (see `trials.clustering.convex.certificate`).

Arrays of vectors are stored coordinate by coordinate, shape (d, K), so that the inner loops run
over nodes with unit stride: that is worth a factor of five to eight over (K, d) at d = 20.  No
kernel stores K^2 d numbers; the largest arrays are K x K.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
#: Single or double precision.
AnyArray = NDArray[np.floating[Any]]
IntArray = NDArray[np.int64]

#: Sums may be reassociated and fused, which vectorises them; NaN and infinity keep their meaning.
_FAST = {"reassoc", "contract", "nsz"}
#: Products in one conjugate-gradient run after which the preconditioner is made afresh.
_STALE = 12
#: Largest `condition` at which matrix products in single and in double precision give a direction
#: that is good to a percent or so.
_SINGLE, _DOUBLE = 3e6, 1e15


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def pair_squares(u: FloatArray, out: FloatArray) -> None:
    """Squared distances of all pairs: ``out[k, l] = |u_k - u_l|^2``.

    Full rows: half the pairs would be computed once only, but a loop that starts at ``k + 1``
    is not vectorised, and costs more.  Four coordinates at a time save loads and stores of ``out``.
    """
    d, n_nodes = u.shape
    whole = d - d % 4
    for i in range(n_nodes):
        for j in range(n_nodes):
            out[i, j] = 0.0
        for c in range(0, whole, 4):
            p, q, r, s = u[c, i], u[c + 1, i], u[c + 2, i], u[c + 3, i]
            for j in range(n_nodes):
                x, y, z, t = p - u[c, j], q - u[c + 1, j], r - u[c + 2, j], s - u[c + 3, j]
                out[i, j] += (x * x + y * y) + (z * z + t * t)
        for c in range(whole, d):
            p = u[c, i]
            for j in range(n_nodes):
                out[i, j] += (p - u[c, j]) * (p - u[c, j])


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def pair_curvatures(
    u: FloatArray, w: FloatArray, eps: float, first: FloatArray, second: FloatArray
) -> float:
    """Fill ``first = w / rho`` and ``second = w / rho^3``; return ``sum_{k<l} w rho``.

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


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def gradient(
    u: FloatArray,
    b: FloatArray,
    mass: FloatArray,
    first: FloatArray,
    lam: float,
    mu: float,
    out: FloatArray,
) -> None:
    """Gradient of F from the pair weights ``first``; differences are formed before weighting.

    A matrix product with the Laplacian would be faster and would cancel catastrophically for
    pairs much closer than the scale of the data, the very pairs that decide a fusion.
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


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
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
    """Hessian of F at u times v from differences, exact whatever the distances; O(K^2 d)."""
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


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
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
    out: FloatArray,
) -> None:
    """`hessian_product` by matrix products, in the precision of the arrays from ``first`` on.

    With ``s_kl = <u_k - u_l, v_k - v_l>`` and ``T = second * s`` (elementwise), row sums t, it is
    ``diagonal v + lam (u T - v first - t u)``, ``diagonal = mu n + lam sum_l first_kl``.  ``left``
    and ``right`` (2d, K) hold u in their first and last rows; their other rows, ``inner`` (K, K)
    and ``pulled`` (d, K) are scratch.  In single precision three times as fast as differences;
    what cancels is measured by `condition`.
    """
    d, n_nodes = v.shape
    own = np.zeros_like(left[0])
    for c in range(d):
        for k in range(n_nodes):
            left[d + c, k] = v[c, k]
            right[c, k] = v[c, k]
            own[k] += left[c, k] * right[c, k]
    # u^T v + v^T u in one product: no transposed reads.
    np.dot(left.T, right, inner)
    total = np.zeros_like(own)
    for i in range(n_nodes):
        at = own[i]
        acc = 0.0
        for j in range(n_nodes):
            pull = second[i, j] * ((at + own[j]) - inner[i, j])
            inner[i, j] = pull
            acc += pull
        total[i] = acc
    np.dot(left[:d], inner, pulled)
    for c in range(d):
        for k in range(n_nodes):
            out[c, k] = diagonal[k] * v[c, k] + lam * (pulled[c, k] - total[k] * left[c, k])
    np.dot(right[:d], first, pulled)
    for c in range(d):
        for k in range(n_nodes):
            out[c, k] -= lam * pulled[c, k]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def condition(
    u: FloatArray,
    mass: FloatArray,
    second: FloatArray,
    lam: float,
    mu: float,
    eps: float,
    out: FloatArray,
) -> float:
    """Bound on what `matrix_product` cancels; ``out`` (d, K) receives u about its mean.

    The ratio of its largest terms, ``lam |u|^2 sum_l second_kl``, to the least curvature, which is
    ``mu n_k`` and about ``lam eps^2 sum_l second_kl``: times a tenth of the unit roundoff it is
    the relative error that is seen in the worst direction.  At least `_DOUBLE` where the numbers
    leave the range of single precision.
    """
    d, n_nodes = u.shape
    squares = np.zeros(n_nodes)
    for c in range(d):
        mean = 0.0
        for k in range(n_nodes):
            mean += u[c, k]
        mean /= n_nodes
        for k in range(n_nodes):
            at = u[c, k] - mean
            out[c, k] = at
            squares[k] += at * at
    reach = squares.max()
    worst = 0.0
    for k in range(n_nodes):
        curvature = 0.0
        for j in range(n_nodes):
            curvature += second[k, j]
        least = mu * mass[k] + eps * eps * lam * curvature
        worst = max(worst, lam * curvature * reach / least) if least > 0.0 else np.inf
        if max(curvature, lam * curvature) > 1e30 or least < 1e-20:
            worst = max(worst, _DOUBLE)
    return worst


@njit(cache=True, nogil=True, error_model="numpy")
def _preconditioner(
    mass: FloatArray, first: FloatArray, lam: float, mu: float, out: FloatArray
) -> None:
    """Inverse of the majorising matrix ``mu diag(n) + lam L(first)``, shared by all coordinates.

    Without the quadratic (mu = 0) the Laplacian has the constants as kernel; adding ``n n^T``
    scaled to its trace makes it definite and changes nothing on the gradients, whose sum is zero.
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


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def _dot(x: FloatArray, y: FloatArray) -> float:
    acc = 0.0
    for c in range(x.shape[0]):
        for k in range(x.shape[1]):
            acc += x[c, k] * y[c, k]
    return acc


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def _combine(alpha: float, x: FloatArray, beta: float, y: FloatArray) -> None:
    """``y = alpha x + beta y``."""
    for c in range(x.shape[0]):
        for k in range(x.shape[1]):
            y[c, k] = alpha * x[c, k] + beta * y[c, k]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def _dual_norm(g: FloatArray, mass: FloatArray) -> float:
    """``sqrt(sum_k |g_k|^2 / n_k)``: with mu = 1 it bounds the mass-weighted distance to the
    minimiser, by strong convexity."""
    acc = 0.0
    for c in range(g.shape[0]):
        for k in range(g.shape[1]):
            acc += g[c, k] * g[c, k] / mass[k]
    return math.sqrt(acc)


@njit(cache=True, nogil=True, error_model="numpy")
def _conjugate_gradients(
    u: FloatArray,
    g: FloatArray,
    mass: FloatArray,
    lam: float,
    mu: float,
    close: bool,
    first: AnyArray,
    second: AnyArray,
    inverse: AnyArray,
    forcing: float,
    step: FloatArray,
) -> int:
    """Preconditioned conjugate gradients for ``H step = -g``; returns the Hessian products.

    Products come from differences where nodes are ``close``, else from matrix products in the
    precision of ``first``, ``second`` and ``inverse``.
    """
    d, n_nodes = u.shape
    left = np.empty((2 * d, n_nodes), dtype=first.dtype)
    right = np.empty((2 * d, n_nodes), dtype=first.dtype)
    pulled = np.empty((d, n_nodes), dtype=first.dtype)
    inner = np.empty_like(first)
    diagonal = np.empty(n_nodes)
    left[:d] = u
    right[d:] = u
    for k in range(n_nodes):
        diagonal[k] = mu * mass[k] + lam * first[k].sum()
    product = np.empty((d, n_nodes))
    solved = np.empty((d, n_nodes))
    residual = -g
    direction = np.zeros((d, n_nodes))
    step[:, :] = 0.0
    rz, target, count = 1.0, 0.0, 0
    limit = min(d * n_nodes, 200)
    while True:
        right[:d] = residual
        np.dot(right[:d], inverse, pulled)
        solved[:, :] = pulled
        previous, rz = rz, _dot(residual, solved)
        if count == 0:
            target = forcing * forcing * rz
        elif not (count < limit and rz > target):
            break
        _combine(1.0, solved, rz / previous, direction)
        if close:
            hessian_product(u, direction, mass, first, second, lam, mu, product)
        else:
            matrix_product(
                direction, diagonal, lam, first, second, left, right, inner, pulled, product
            )
        count += 1
        curvature = _dot(direction, product)
        if not curvature > 0.0:
            break
        _combine(rz / curvature, direction, 1.0, step)
        _combine(-rz / curvature, product, 1.0, residual)
    if not _dot(step, g) < 0.0:
        right[:d] = g
        np.dot(right[:d], inverse, pulled)
        step[:, :] = -pulled
    return count


@njit(cache=True, nogil=True, error_model="numpy")
def _newton_step(
    u: FloatArray,
    g: FloatArray,
    mass: FloatArray,
    first: FloatArray,
    second: FloatArray,
    lam: float,
    mu: float,
    eps: float,
    forcing: float,
    inverse: FloatArray,
    step: FloatArray,
) -> int:
    """Newton direction in the least precision that serves; returns the Hessian products."""
    at = np.empty_like(u)
    worst = condition(u, mass, second, lam, mu, eps, at)
    if worst <= _SINGLE:
        return _conjugate_gradients(
            at,
            g,
            mass,
            lam,
            mu,
            False,
            first.astype(np.float32),
            second.astype(np.float32),
            inverse.astype(np.float32),
            forcing,
            step,
        )
    close = not worst <= _DOUBLE
    return _conjugate_gradients(at, g, mass, lam, mu, close, first, second, inverse, forcing, step)


@njit(cache=True, nogil=True, error_model="numpy")
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

    Stops when the dual norm of the gradient is at most ``tol``, after ``max_steps``, when more than
    ``patience`` steps have not halved it, or when rounding keeps it from falling.  ``out`` receives
    the final dual norm, the number of steps and the number of Hessian products.  O(K^3 + K^2 d)
    time a step and O(K^2 + K d) memory.
    """
    d, n_nodes = u.shape
    first = np.empty((n_nodes, n_nodes))
    second = np.empty((n_nodes, n_nodes))
    g = np.empty((d, n_nodes))
    trial_g = np.empty((d, n_nodes))
    trial = np.empty((d, n_nodes))
    step = np.empty((d, n_nodes))
    penalty = pair_curvatures(u, w, eps, first, second)
    gradient(u, b, mass, first, lam, mu, g)
    norm = _dual_norm(g, mass)
    start = norm
    stalled = 0
    slow = 0
    inverse = np.empty((n_nodes, n_nodes))
    products = _STALE + 1
    out[1] = 0.0
    out[2] = 0.0
    while norm > tol and out[1] < max_steps and stalled < 3 and slow <= patience:
        # A smoothed problem is a stage on the way.  An exact one is solved ever more tightly while
        # it converges, and never more tightly than the last step needs.
        forcing = 0.1
        if eps == 0.0:
            quadratic = max(1e-3, 0.3 * math.sqrt(norm / start))
            forcing = min(0.1, max(quadratic, 0.3 * tol / norm))
        # The inverse costs as much as many products: an old one serves while it converges.
        if products > _STALE:
            _preconditioner(mass, first, lam, mu, inverse)
        products = _newton_step(u, g, mass, first, second, lam, mu, eps, forcing, inverse, step)
        out[2] += products
        out[1] += 1.0
        slope = _dot(step, g)
        t = 1.0
        accepted = False
        for _ in range(40):
            # The decrease of the quadratic part in closed form: no cancellation near the optimum.
            change = 0.0
            for c in range(d):
                for k in range(n_nodes):
                    s = t * step[c, k]
                    trial[c, k] = u[c, k] + s
                    change += mass[k] * s * (mu * (u[c, k] + 0.5 * s) - b[c, k])
            trial_penalty = pair_curvatures(trial, w, eps, first, second)
            change += lam * (trial_penalty - penalty)
            gradient(trial, b, mass, first, lam, mu, trial_g)
            trial_norm = _dual_norm(trial_g, mass)
            if trial_norm <= 0.5 * norm or change <= 1e-4 * t * slope:
                accepted = True
                break
            t *= 0.5
        if not accepted:
            break
        if trial_norm > 0.5 * norm:
            slow += 1
            # Neither the gradient nor the value moves: what is left is rounding.
            if -change <= 1e-13 * lam * trial_penalty:
                stalled += 1
        if trial_norm < norm or norm > 1e-10 * start:
            u[:, :] = trial
            g[:, :] = trial_g
            penalty = trial_penalty
            norm = trial_norm
        else:
            break
    out[0] = norm


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def largest_flow(b: FloatArray, mass: FloatArray, y: FloatArray, strength: float) -> float:
    """Largest flow ``max_{k<l} |tau psi(y_k - y_l) + (r_k - r_l)/N|`` of potentials y.

    ``tau`` is the strength, ``psi(x) = x / sqrt(1 + |x|^2)`` and
    ``r_k = b_k - tau sum_l n_l psi(y_k - y_l)``, so that the flows carry every node to the common
    mean exactly.  The nodes are fused at every penalty from this value on.  ``b`` and ``y`` have
    shape (d, K).
    """
    d, n_nodes = b.shape
    total = 0.0
    for k in range(n_nodes):
        total += mass[k]
    scale = np.empty((n_nodes, n_nodes))
    pair_squares(y, scale)
    r = np.empty((d, n_nodes))
    work = np.empty(n_nodes)
    for i in range(n_nodes):
        for j in range(n_nodes):
            scale[i, j] = strength / math.sqrt(1.0 + scale[i, j])
            work[j] = mass[j] * scale[i, j]
        for c in range(d):
            at = y[c, i]
            acc = 0.0
            for j in range(n_nodes):
                acc += work[j] * (at - y[c, j])
            r[c, i] = (b[c, i] - acc) / total
    worst = 0.0
    for i in range(n_nodes):
        for j in range(n_nodes):
            work[j] = 0.0
        for c in range(d):
            at = y[c, i]
            r_at = r[c, i]
            for j in range(n_nodes):
                flow = scale[i, j] * (at - y[c, j]) + (r_at - r[c, j])
                work[j] += flow * flow
        for j in range(n_nodes):
            worst = max(worst, work[j])
    return math.sqrt(worst)


@njit(cache=True, nogil=True, error_model="numpy")
def components(squares: FloatArray, threshold: float, out: IntArray) -> int:
    """Connected components of the graph ``squares <= threshold``; labels by first node."""
    n_nodes = squares.shape[0]
    out[:] = -1
    stack = np.empty(n_nodes, dtype=np.int64)
    count = 0
    for start in range(n_nodes):
        if out[start] >= 0:
            continue
        out[start] = count
        stack[0] = start
        top = 1
        while top > 0:
            top -= 1
            i = stack[top]
            for j in range(n_nodes):
                if out[j] < 0 and squares[i, j] <= threshold:
                    out[j] = count
                    stack[top] = j
                    top += 1
        count += 1
    return count


@njit(cache=True, nogil=True, error_model="numpy")
def formula_fusions(
    squares: FloatArray, mass: FloatArray, lam: float, allowance: float, labels: IntArray
) -> int:
    """Fuse by the plain formula: nodes of the complete-linkage tree with diameter <= lam * mass.

    Complete linkage, because the height of its nodes *is* their diameter, by the nearest-neighbour
    chain in O(K^2).  ``squares`` (K, K) are squared distances and are destroyed; ``labels``
    receives the partition into the largest such nodes, numbered by first node; returns their
    number.
    """
    k = mass.shape[0]
    weight = np.zeros(2 * k - 1)
    weight[:k] = mass
    fused = np.zeros(2 * k - 1, dtype=np.bool_)
    children = np.zeros((2 * k - 1, 2), dtype=np.int64)
    node = np.arange(k)
    active = np.ones(k, dtype=np.bool_)
    chain = np.empty(k, dtype=np.int64)
    length = 0
    for t in range(k - 1):
        if length == 0:
            for i in range(k):
                if active[i]:
                    chain[0] = i
                    length = 1
                    break
        while True:
            a = chain[length - 1]
            # A tie goes to the previous node of the chain, else the chain could cycle.
            b = chain[length - 2] if length > 1 else -1
            best = squares[a, b] if length > 1 else np.inf
            for j in range(k):
                if active[j] and j != a and squares[a, j] < best:
                    best = squares[a, j]
                    b = j
            if length > 1 and b == chain[length - 2]:
                break
            chain[length] = b
            length += 1
        length -= 2
        new = k + t
        children[new, 0] = node[a]
        children[new, 1] = node[b]
        weight[new] = weight[node[a]] + weight[node[b]]
        limit = lam * weight[new]
        fused[new] = math.sqrt(best) + allowance * (limit + 1.0) <= limit
        active[b] = False
        node[a] = new
        for j in range(k):
            larger = max(squares[a, j], squares[b, j])
            squares[a, j] = larger
            squares[j, a] = larger
    owner = np.full(2 * k - 1, -1, dtype=np.int64)
    for new in range(2 * k - 2, k - 1, -1):
        if owner[new] < 0 and fused[new]:
            owner[new] = new
        if owner[new] >= 0:
            owner[children[new, 0]] = owner[new]
            owner[children[new, 1]] = owner[new]
    number = np.full(2 * k - 1, -1, dtype=np.int64)
    count = 0
    for i in range(k):
        own = owner[i] if owner[i] >= 0 else i
        if number[own] < 0:
            number[own] = count
            count += 1
        labels[i] = number[own]
    return count


@njit(cache=True, nogil=True, error_model="numpy")
def mass_weights(mass: FloatArray) -> FloatArray:
    """Pair weights ``n_k n_l`` of nodes that stand for sets of points, zero diagonal."""
    k = mass.shape[0]
    out = np.empty((k, k))
    for i in range(k):
        for j in range(k):
            out[i, j] = mass[i] * mass[j]
        out[i, i] = 0.0
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def centroids(
    x: FloatArray, mass: FloatArray, labels: IntArray, out: FloatArray, out_mass: FloatArray
) -> None:
    """Mass-weighted means (d, k) of the columns of equal label; a lone column is copied."""
    d, n_nodes = x.shape
    count = out_mass.shape[0]
    sizes = np.zeros(count, dtype=np.int64)
    out_mass[:] = 0.0
    for i in range(n_nodes):
        out_mass[labels[i]] += mass[i]
        sizes[labels[i]] += 1
    for c in range(d):
        for k in range(count):
            out[c, k] = 0.0
        for i in range(n_nodes):
            k = labels[i]
            out[c, k] += x[c, i] if sizes[k] == 1 else x[c, i] * (mass[i] / out_mass[k])


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def fusion_ratio(x: FloatArray, mass: FloatArray, u: FloatArray, out: FloatArray) -> None:
    """Lower bound ``<x, u> / Omega(u)`` on the penalty at which all nodes fuse.

    ``Omega(u) = sum_{k<l} n_k n_l |u_k - u_l|``; ``u`` must have mass-weighted mean zero.  ``out``
    receives the ratio, Omega(u) and ``sum_k n_k |u_k|^2``.
    """
    d, n_nodes = x.shape
    work = np.empty(n_nodes)
    inner = 0.0
    square = 0.0
    omega = 0.0
    for i in range(n_nodes):
        for j in range(n_nodes):
            work[j] = 0.0
        for c in range(d):
            at = u[c, i]
            inner += mass[i] * at * x[c, i]
            square += mass[i] * at * at
            for j in range(n_nodes):
                work[j] += (at - u[c, j]) * (at - u[c, j])
        row = 0.0
        for j in range(n_nodes):
            row += mass[j] * math.sqrt(work[j])
        omega += 0.5 * mass[i] * row
    out[0] = inner / omega if omega > 0.0 else 0.0
    out[1] = omega
    out[2] = square


@njit(cache=True, nogil=True, error_model="numpy")
def set_ratio(
    x: FloatArray, mass: FloatArray, u: FloatArray, squares: FloatArray, index: IntArray
) -> float:
    """`fusion_ratio` of the nodes ``index`` alone, O(s^2 + s d), from the squared distances of u.

    Above ``lam`` it refutes that these nodes are fused at ``lam``.
    """
    s = index.shape[0]
    total = 0.0
    for p in range(s):
        total += mass[index[p]]
    inner = 0.0
    for c in range(x.shape[0]):
        mean = 0.0
        for p in range(s):
            mean += mass[index[p]] * u[c, index[p]]
        mean /= total
        for p in range(s):
            k = index[p]
            inner += mass[k] * (u[c, k] - mean) * (x[c, k] - x[c, index[0]])
    omega = 0.0
    for p in range(s):
        for q in range(p):
            k = index[p]
            j = index[q]
            omega += mass[k] * mass[j] * math.sqrt(squares[k, j])
    return inner / omega if omega > 0.0 else 0.0

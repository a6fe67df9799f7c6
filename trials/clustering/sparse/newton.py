r"""Jitted Newton's method on a graph: smoothed values, Hessian products, conjugate gradients.

The objective of K nodes with positions ``b`` (K, d), masses ``n`` (K,) and edge weights ``w`` is

.. math::

    F(u) = \tfrac12 \sum_k n_k |u_k - b_k|^2 + \lambda \sum_{k<l} w_{kl} h_\delta(|u_k - u_l|),
    \qquad h_\delta(r) = \begin{cases} r^2/(2\delta) & r \le \delta \\ r - \delta/2 & r > \delta.
    \end{cases}

Huber's function h has exactly the gradient of the norm beyond ``delta``.  So a minimiser whose
linked nodes are all further apart than ``delta`` solves the problem without smoothing.

Arguments that the kernels share: a graph is the upper triangle of a matrix in CSR form without its
diagonal.  Each edge stands once, in the row of its smaller node.  So the sums of a node are
complete when its row is done.  ``u``, ``b``, ``g``, ``p`` are (K, d), C-contiguous float64, in
units of length, as are ``lam`` (times weight) and ``delta``.  Memory O(E + K d): no kernel stores
E d numbers.  All sums run in the order of the rows, on one thread.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from trials.checks import FloatArray
from trials.clustering.convex.pairs import FAST
from trials.clustering.sparse.graph import Graph
from trials.clustering.sparse.preconditioner import (
    Levels,
    coarsen,
    correct,
    precondition,
    width_of_inverse,
)
from trials.clustering.sparse.product import Hessian, product
from trials.clustering.sparse.rows import load, store, total
from trials.kernel import inner_kernel, kernel

#: Smallest decrease of a step, as a share of the decrease that its slope promises.
_ARMIJO = 1e-4
#: Rounding allowed in the comparison of two objectives, relative.
_ROUNDING = 1e-14
#: Halvings of a step that decreases F too little.
_HALVINGS = 30
#: Products of a linear system after which it gets coarser graphs, in the plane and beyond: making
#: them costs as much.
_MANY_IN_THE_PLANE, _MANY = 14, 6
#: The residual of a linear system, over its right side: at first, and at least.
_LARGEST_FORCING, _SMALLEST_FORCING = 0.5, 0.03


class Smoothed(NamedTuple):
    """The smoothed objective F of K nodes.

    Attributes
    ----------
    graph : the edges, each once.
    b, mass : (K, d) positions and (K,) masses of the nodes.
    lam, delta : the penalty, and the width of the smoothing, a length.
    """

    graph: Graph
    b: FloatArray
    mass: FloatArray
    lam: float
    delta: float


class Limits(NamedTuple):
    """Where `minimise` ends.

    Attributes
    ----------
    tolerance : of the weighted square of the gradient.
    steps, products : the most Newton steps, and the most products of one linear system.
    stop : end where a full step decreases F too little.
    """

    tolerance: float
    steps: int
    products: int
    stop: bool


@kernel(error_model="numpy", fastmath=FAST)
def gradient(lanes: tuple[int, ...], f: Smoothed, u: FloatArray, g: FloatArray) -> float:
    """Return F(u) and write its gradient to ``g`` (K, d)."""
    (indptr, indices, w), b, mass, lam, delta = f
    n, d = u.shape
    width = len(lanes)
    value = 0.0
    for i in range(n):
        row = 0.0
        for c in range(0, d, width):
            x = load(lanes, u, i, c) - load(lanes, b, i, c)
            row += total(x * x)
            store(g, i, c, mass[i] * x)
        value += 0.5 * mass[i] * row
    for i in range(n):
        row = 0.0
        if d == width:
            here, sums = load(lanes, u, i, 0), load(lanes, g, i, 0)
            for e in range(indptr[i], indptr[i + 1]):
                j = indices[e]
                x = here - load(lanes, u, j, 0)
                first, part = _huber(total(x * x), lam * w[e], delta)
                row += part
                t = first * x
                sums = sums + t
                store(g, j, 0, load(lanes, g, j, 0) - t)
            store(g, i, 0, sums)
        else:
            for e in range(indptr[i], indptr[i + 1]):
                j = indices[e]
                square = 0.0
                for c in range(0, d, width):
                    x = load(lanes, u, i, c) - load(lanes, u, j, c)
                    square += total(x * x)
                first, part = _huber(square, lam * w[e], delta)
                row += part
                for c in range(0, d, width):
                    t = first * (load(lanes, u, i, c) - load(lanes, u, j, c))
                    store(g, i, c, load(lanes, g, i, c) + t)
                    store(g, j, c, load(lanes, g, j, c) - t)
        value += row
    return value


@kernel(error_model="numpy", fastmath=FAST)
def go_along(
    lanes: tuple[int, ...],
    f: Smoothed,
    u: FloatArray,
    step: FloatArray,
    share: float,
    halvings: int,
    v: FloatArray,
    out: FloatArray,
) -> bool:
    """Write the first of u + share step, u + share/2 step, ... (K, d) that lowers F to ``v``.

    Returns whether there is one.  ``out`` (5,) is as in `minimise`.
    """
    n, d = u.shape
    g = np.empty((n, d))
    value = gradient(lanes, f, u, g)
    out[2] += 1
    for _ in range(halvings):
        for i in range(n):
            for c in range(d):
                v[i, c] = u[i, c] + share * step[i, c]
        out[2] += 1
        if gradient(lanes, f, v, g) < value:
            return True
        share *= 0.5
    return False


@inner_kernel(error_model="numpy", fastmath=FAST)
def _huber(square: float, weight: float, delta: float) -> tuple[float, float]:
    """Derivative over the length, and value, of Huber's function of an edge."""
    length = math.sqrt(square)
    if length <= delta:
        first = weight / delta
        return first, 0.5 * first * square
    return weight / length, weight * (length - 0.5 * delta)


@inner_kernel(error_model="numpy", fastmath=FAST)
def _curvature_in_the_plane(
    f: Smoothed,
    u: FloatArray,
    step: FloatArray,
    first: FloatArray,
    second: FloatArray,
    inverse: FloatArray,
) -> None:
    """`curvature` for u (K, 2), whose sums stay in registers: a quarter of the time."""
    (indptr, indices, w), _, mass, lam, delta = f
    near = delta * delta
    for i in range(u.shape[0]):
        inverse[i, 0], inverse[i, 1], inverse[i, 2] = mass[i], 0.0, mass[i]
    for i in range(u.shape[0]):
        u0, u1, t0, t1 = u[i, 0], u[i, 1], step[i, 0], step[i, 1]
        h00, h01, h11 = inverse[i, 0], inverse[i, 1], inverse[i, 2]
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            x0, x1 = u0 - u[j, 0], u1 - u[j, 1]
            square = x0 * x0 + x1 * x1
            if square <= near:
                size = lam * w[e] / delta
                bend = 0.0
            else:
                y0, y1 = t0 - step[j, 0], t1 - step[j, 1]
                over = 1.0 / math.sqrt(square)
                size = lam * w[e] * over
                over *= over
                bend = size * over * max(0.0, 1.0 - (y0 * y0 + y1 * y1) * over)
            first[e], second[e] = size, bend
            a00, a01, a11 = size - bend * x0 * x0, bend * x0 * x1, size - bend * x1 * x1
            h00 += a00
            h01 -= a01
            h11 += a11
            inverse[j, 0] += a00
            inverse[j, 1] -= a01
            inverse[j, 2] += a11
        over = 1.0 / (h00 * h11 - h01 * h01)
        inverse[i, 0], inverse[i, 1], inverse[i, 2] = h11 * over, -h01 * over, h00 * over


@inner_kernel(error_model="numpy", fastmath=FAST)
def curvature(
    lanes: tuple[int, ...],
    f: Smoothed,
    u: FloatArray,
    step: FloatArray,
    first: FloatArray,
    second: FloatArray,
    inverse: FloatArray,
) -> None:
    """Write the Hessian, ``first I - second x x^T`` (E,) on an edge x, and its inverse diagonal.

    A norm has no curvature along x.  A Newton step of linked nodes that are about to meet would
    pass through the other node.  So an edge that the last step moved by the share s of its length
    keeps the share s^2 of the curvature of its quadratic majoriser.  The share vanishes as the
    steps do.  ``inverse`` is as in `trials.clustering.sparse.preconditioner`.
    """
    (indptr, indices, w), _, mass, lam, delta = f
    n, d = u.shape
    if d == 2:
        _curvature_in_the_plane(f, u, step, first, second, inverse)
        return
    width = len(lanes)
    sizes = mass.copy()
    inverse[:] = 0.0
    for i in range(n):
        size_here = sizes[i]
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            square = 0.0
            moved = 0.0
            for c in range(0, d, width):
                x = load(lanes, u, i, c) - load(lanes, u, j, c)
                y = load(lanes, step, i, c) - load(lanes, step, j, c)
                square += total(x * x)
                moved += total(y * y)
            size, bend = _bent(square, moved, lam * w[e], delta)
            first[e], second[e] = size, bend
            size_here += size
            sizes[j] += size
            for c in range(0, d, width):
                x = load(lanes, u, i, c) - load(lanes, u, j, c)
                t = bend * (x * x)
                store(inverse, i, c, load(lanes, inverse, i, c) - t)
                store(inverse, j, c, load(lanes, inverse, j, c) - t)
        for c in range(d):
            inverse[i, c] = 1.0 / (size_here + inverse[i, c])


@inner_kernel(error_model="numpy", fastmath=FAST)
def _bent(square: float, moved: float, weight: float, delta: float) -> tuple[float, float]:
    """``first`` and ``second`` of an edge: squares of its length and of its last movement."""
    if square <= delta * delta:
        return weight / delta, 0.0
    over = 1.0 / math.sqrt(square)
    size = weight * over
    over *= over
    return size, size * over * max(0.0, 1.0 - moved * over)


class _Buffers(NamedTuple):
    """Work space of `minimise`, all (K, d): gradients, and vectors of the conjugate gradients.

    Attributes
    ----------
    g, rest : the gradient, and what is left of a linear system.
    p, q, z : a direction, its product with the Hessian, and the preconditioned rest.
    trial : values that are tried.
    per_mass : one over the masses, for each number.
    """

    g: FloatArray
    rest: FloatArray
    p: FloatArray
    q: FloatArray
    z: FloatArray
    trial: FloatArray
    per_mass: FloatArray


@inner_kernel(error_model="numpy")
def _buffers(mass: FloatArray, d: int) -> _Buffers:
    """Work space for nodes of the masses (K,) in ``d`` coordinates."""
    n = mass.size
    per_mass = np.empty((n, d))
    for i in range(n):
        for c in range(d):
            per_mass[i, c] = 1.0 / mass[i]
    return _Buffers(
        np.empty((n, d)), np.empty((n, d)), np.empty((n, d)), np.empty((n, d)), np.empty((n, d)),
        np.empty((n, d)), per_mass,
    )  # fmt: skip


@kernel(error_model="numpy", fastmath=FAST)
def minimise(
    lanes: tuple[int, ...],
    f: Smoothed,
    u: FloatArray,
    limits: Limits,
    step: FloatArray,
    out: FloatArray,
) -> bool:
    """Minimise F in place from ``u`` until ``sum_k |g_k|^2 / n_k <= tolerance``.

    Strong convexity turns that number into a bound: twice the excess of F, and the square of the
    mass-weighted distance from the minimiser.  ``out`` (5,) adds up steps, products and gradients,
    receives the number reached, and adds up the linear systems that got coarser graphs.

    The linear systems are solved only as far as the last step was worth it (Eisenstat and Walker
    1996, choice 2): far from the minimiser a step ends at the next fusion anyway.

    ``step`` (K, d) is the last step before ``u``, or zero, and receives the last one.  With
    ``stop`` the search ends where a full step decreases F too little.  It returns True then, and
    ``u`` is as before that step.
    """
    n, d = u.shape
    graph = f.graph
    inverse = np.empty((n, width_of_inverse(d)))
    first, second = np.empty(graph.indices.size), np.empty(graph.indices.size)
    hessian = Hessian(graph.indptr, graph.indices, f.mass, first, second, u)
    work = _buffers(f.mass, d)
    flat_g, share = work.g.reshape(n * d), work.per_mass.reshape(n * d)
    flat_step = step.reshape(n * d)
    value = gradient(lanes, f, u, work.g)
    out[2] += 1
    error = 0.0
    forcing = _LARGEST_FORCING
    for count in range(limits.steps + 1):
        last = error
        error = _weighted_square(flat_g, share)
        out[3] = error
        # ``not >`` also ends at NaN.
        if not error > limits.tolerance or count == limits.steps:
            break
        if count > 0:
            forcing = min(_LARGEST_FORCING, max(_SMALLEST_FORCING, 0.9 * error / last))
        out[0] += 1
        curvature(lanes, f, u, step, first, second, inverse)
        goal = max(0.3 * limits.tolerance, forcing * forcing * error)
        _solve_newton(lanes, hessian, inverse, goal, limits.products, work, step, out)
        # Rounding may turn the step uphill.  Then nothing more is gained.
        slope = 0.0
        for i in range(n * d):
            slope += flat_g[i] * flat_step[i]
        if not slope < 0.0:
            break
        found, value = _search(lanes, f, u, value, slope, limits.stop, work, step, out)
        if not found:
            return limits.stop
    return False


@inner_kernel(error_model="numpy", fastmath=FAST)
def _solve_newton(
    lanes: tuple[int, ...],
    hessian: Hessian,
    inverse: FloatArray,
    goal: float,
    max_products: int,
    work: _Buffers,
    step: FloatArray,
    out: FloatArray,
) -> None:
    """Write Newton's step (K, d) by conjugate gradients, until the residual is below ``goal``.

    The preconditioner is the diagonal, and after some products coarser graphs beside it.
    """
    n, d = step.shape
    size = n * d
    # One loop over all numbers is vectorised, two nested ones are not.
    flat_g, flat_step, share = work.g.reshape(size), step.reshape(size), work.per_mass.reshape(size)
    flat_p, flat_q = work.p.reshape(size), work.q.reshape(size)
    flat_rest, flat_z = work.rest.reshape(size), work.z.reshape(size)
    for i in range(size):
        flat_step[i] = 0.0
        flat_rest[i] = -flat_g[i]
    inner = precondition(inverse, work.rest, work.p)
    many = _MANY_IN_THE_PLANE if d == 2 else _MANY
    # Placeholders: nothing is allocated before a linear system asks for it.
    h = hessian
    levels = Levels(
        h.indptr, h.indptr, h.indptr, h.indices, h.first, h.second, h.u, h.mass, h.mass, h.indptr
    )
    cycle = h.u.reshape((1, n, d))
    coarse = False
    for count in range(1, max_products + 1):
        out[1] += 1
        bend = product(lanes, hessian, work.p, work.q)
        # Without curvature left, rounding rules: the step so far is the best there is.
        if not bend > 0.0:
            break
        left = _advance(inner / bend, flat_p, flat_q, share, flat_step, flat_rest)
        if left <= goal:
            break
        last_inner = inner
        inner = precondition(inverse, work.rest, work.z)
        if count == many:
            levels = coarsen(lanes, hessian)
            cycle = np.empty((3, levels.mass.size, d))
            coarse = levels.mass.size > 0
            out[4] += 1
        if coarse:
            inner += correct(lanes, levels, work.rest, cycle, work.z)
        # Another preconditioner starts anew.
        beta = 0.0 if count == many else inner / last_inner
        for i in range(size):
            flat_p[i] = flat_z[i] + beta * flat_p[i]


@inner_kernel(error_model="numpy", fastmath=FAST)
def _search(
    lanes: tuple[int, ...],
    f: Smoothed,
    u: FloatArray,
    value: float,
    slope: float,
    stop: bool,
    work: _Buffers,
    step: FloatArray,
    out: FloatArray,
) -> tuple[bool, float]:
    """Move ``u`` (K, d) and its gradient by the first of 1, 1/2, ... steps that lowers F enough.

    Returns whether there is one, and F there.  With ``stop`` only the full step is tried.
    """
    size = u.size
    flat_u, flat_step = u.reshape(size), step.reshape(size)
    flat_trial, flat_q, flat_g = (
        work.trial.reshape(size),
        work.q.reshape(size),
        work.g.reshape(size),
    )
    t = 1.0
    for _ in range(1 if stop else _HALVINGS):
        for i in range(size):
            flat_trial[i] = flat_u[i] + t * flat_step[i]
        out[2] += 1
        now = gradient(lanes, f, work.trial, work.q)
        if now <= value + _ARMIJO * t * slope + _ROUNDING * abs(value):
            for i in range(size):
                flat_u[i] = flat_trial[i]
                flat_g[i] = flat_q[i]
            return True, now
        t *= 0.5
    return False, value


@inner_kernel(error_model="numpy", fastmath=FAST)
def _weighted_square(x: FloatArray, weight: FloatArray) -> float:
    """Sum of ``weight x^2``, both (n,)."""
    total = 0.0
    for i in range(x.size):
        total += weight[i] * x[i] * x[i]
    return total


@inner_kernel(error_model="numpy", fastmath=FAST)
def _advance(
    alpha: float,
    p: FloatArray,
    q: FloatArray,
    share: FloatArray,
    step: FloatArray,
    rest: FloatArray,
) -> float:
    """A step (n,) of conjugate gradients.  Returns the weighted square of what is left."""
    left = 0.0
    for i in range(p.size):
        step[i] += alpha * p[i]
        r = rest[i] - alpha * q[i]
        rest[i] = r
        left += r * r * share[i]
    return left

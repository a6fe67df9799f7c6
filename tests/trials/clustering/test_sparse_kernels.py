"""The jitted Newton method on a graph against dense NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from trials.clustering.sparse import neighbour_weights, newton
from trials.clustering.sparse.graph import checked_graph
from trials.clustering.sparse.preconditioner import (
    LARGEST_BLOCK,
    precondition,
    width_of_inverse,
)


class Problem:
    """A random smoothed problem on a graph of neighbours, with masses."""

    def __init__(self, d, n=30, seed=0):
        rng = np.random.default_rng(seed)
        self.u = rng.standard_normal((n, d))
        self.b = self.u + 0.3 * rng.standard_normal((n, d))
        self.mass = rng.integers(1, 5, n).astype(float)
        self.graph = checked_graph(neighbour_weights(self.u, 4, decay=0.1), n).upper()
        self.lam = 0.7
        length = np.linalg.norm(self.u[self.graph.rows()] - self.u[self.graph.indices], axis=1)
        self.delta = float(np.median(length))  # half of the edges are inside the smoothing

    def hessian(self):
        """(n, d, n, d), edge by edge."""
        n, d = self.u.shape
        out = np.zeros((n, d, n, d))
        for i in range(n):
            out[i, :, i, :] += self.mass[i] * np.eye(d)
        for i, j, w in zip(self.graph.rows(), self.graph.indices, self.graph.w, strict=True):
            x = self.u[i] - self.u[j]
            r = np.linalg.norm(x)
            block = np.eye(d) / self.delta
            if r > self.delta:
                block = (np.eye(d) - np.outer(x, x) / r**2) / r
            for a, b, sign in ((i, i, 1), (j, j, 1), (i, j, -1), (j, i, -1)):
                out[a, :, b, :] += sign * self.lam * w * block
        return out

    def gradient(self, u):
        """Value and gradient at u, edge by edge."""
        g = self.mass[:, None] * (u - self.b)
        value = 0.5 * (self.mass @ ((u - self.b) ** 2).sum(axis=1))
        for i, j, w in zip(self.graph.rows(), self.graph.indices, self.graph.w, strict=True):
            x = u[i] - u[j]
            r = np.linalg.norm(x)
            inside = r <= self.delta
            value += self.lam * w * (0.5 * r * r / self.delta if inside else r - 0.5 * self.delta)
            flow = self.lam * w * x / (self.delta if inside else r)
            g[i] += flow
            g[j] -= flow
        return value, g

    def minimise(self, u, tolerance, steps, stop, step, blocks=False):
        g, out = self.graph, np.zeros(5)
        out[4] = blocks
        stopped = newton.minimise(
            g.indptr, g.indices, g.w, self.b, self.mass, self.lam, self.delta, u, tolerance,
            steps, 200, stop, step, out,
        )  # fmt: skip
        return stopped, out


@pytest.mark.parametrize("d", [1, 2, 3, 7, LARGEST_BLOCK, LARGEST_BLOCK + 1])
@pytest.mark.parametrize("blocks", [False, True])
def test_curvature_product_and_preconditioner_are_those_of_the_dense_hessian(d, blocks):
    p = Problem(d)
    n, g = len(p.u), p.graph
    first, second = np.empty(g.w.size), np.empty(g.w.size)
    inverse = np.empty((n, width_of_inverse(d, blocks)))
    newton.curvature(
        g.indptr, g.indices, g.w, p.mass, p.lam, p.delta, p.u, np.zeros_like(p.u), first, second,
        inverse,
    )  # fmt: skip
    dense = p.hessian()
    at = np.random.default_rng(1).standard_normal(p.u.shape)
    out = np.empty_like(at)
    bend = newton.product(g.indptr, g.indices, p.mass, first, second, p.u, at, out)
    expected = np.einsum("icjd,jd->ic", dense, at)
    assert out == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert bend == pytest.approx((at * expected).sum(), rel=1e-12)
    whole = d == 2 or (blocks and d <= LARGEST_BLOCK)
    inner = precondition(inverse, at, out)
    for i in range(n):
        block = dense[i, :, i, :]
        block = block if whole else np.diag(np.diag(block))
        assert out[i] == pytest.approx(np.linalg.solve(block, at[i]), rel=1e-9, abs=1e-12)
    assert inner == pytest.approx((at * out).sum(), rel=1e-12)


@pytest.mark.parametrize("d", [2, 5])
@pytest.mark.parametrize("blocks", [False, True])
def test_newton_reaches_the_minimiser_and_counts_its_work(d, blocks):
    p = Problem(d, seed=3)
    u = p.b.copy()
    stopped, out = p.minimise(u, 1e-20, 60, False, np.zeros_like(u), blocks)
    assert not stopped
    _, g = p.gradient(u)
    error = float((g**2 / p.mass[:, None]).sum())
    assert error <= 2e-20
    assert out[3] <= 1e-20
    assert 1 <= out[0] <= 60
    assert out[1] >= out[0]
    assert out[2] > out[0]


def test_newton_stops_before_a_step_that_goes_too_far():
    # Two linked nodes at the points -1 and 1 meet at penalty 1: the full step from a length of 0.05
    # passes through, because the norm has no curvature along the edge.
    p = Problem(1, n=30)
    p.u = np.array([[-0.025], [0.025]])
    p.b, p.mass = np.array([[-1.0], [1.0]]), np.ones(2)
    p.graph = checked_graph(np.array([[0.0, 1.0], [1.0, 0.0]]), 2).upper()
    p.lam, p.delta = 1.2, 1e-6
    u, step = p.u.copy(), np.zeros((2, 1))
    stopped, out = p.minimise(u, 1e-12, 60, True, step)
    assert stopped
    assert (u == p.u).all()
    assert out[0] == 1
    value, g = p.gradient(p.u)
    assert float((g * step).sum()) < 0.0
    assert p.gradient(p.u + step)[0] > value
    assert p.gradient(p.u + 0.1 * step)[0] < value
    # Without the request the same call goes on, by shorter steps, to the minimiser.
    stopped, out = p.minimise(u, 1e-12, 60, False, np.zeros((2, 1)))
    assert not stopped
    assert out[3] <= 1e-12
    assert abs(float(u[1, 0] - u[0, 0])) < p.delta

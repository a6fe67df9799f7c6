"""The jitted Newton method on a graph against dense NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from trials.clustering.sparse import neighbour_weights, newton
from trials.clustering.sparse.balance import Medium, find_flows
from trials.clustering.sparse.contraction import pulls
from trials.clustering.sparse.graph import check_graph
from trials.clustering.sparse.preconditioner import (
    aggregate,
    coarsen,
    correct,
    precondition,
    width_of_inverse,
)
from trials.clustering.sparse.product import Hessian, product
from trials.clustering.sparse.release import release
from trials.clustering.sparse.rows import lanes_of, load, pad, store, total


class Problem:
    """A random smoothed problem on a graph of neighbours, with masses."""

    def __init__(self, d, n=30, seed=0):
        rng = np.random.default_rng(seed)
        u = rng.standard_normal((n, d))
        self.lanes = lanes_of(d)
        self.u, self.b = pad(u), pad(u + 0.3 * rng.standard_normal((n, d)))
        self.mass = rng.integers(1, 5, n).astype(float)
        self.graph = check_graph(neighbour_weights(u, 4, decay=0.1), n).upper()
        self.lam = 0.7
        length = np.linalg.norm(self.u[self.graph.rows()] - self.u[self.graph.indices], axis=1)
        self.delta = float(np.median(length))  # half of the edges are inside the smoothing

    def smoothed(self):
        return newton.Smoothed(self.graph, self.b, self.mass, self.lam, self.delta)

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

    def curvature(self):
        """first and second (E,), and the inverse diagonal."""
        n, g = len(self.u), self.graph
        first, second = np.empty(g.w.size), np.empty(g.w.size)
        inverse = np.empty((n, width_of_inverse(self.u.shape[1])))
        step = np.zeros_like(self.u)
        newton.curvature(self.lanes, self.smoothed(), self.u, step, first, second, inverse)
        return first, second, inverse

    def minimise(self, u, tolerance, steps, stop, step):
        out, limits = np.zeros(5), newton.Limits(tolerance, steps, 200, stop)
        stopped = newton.minimise(self.lanes, self.smoothed(), u, limits, step, out)
        return stopped, out


@pytest.mark.parametrize("d", [1, 2, 7, 17])
def test_rows_compute_as_numpy_does(d):
    @njit
    def combine(lanes, x, y, out):
        inner = 0.0
        for i in range(x.shape[0]):
            for c in range(0, x.shape[1], len(lanes)):
                a, b = load(lanes, x, i, c), load(lanes, y, i, c)
                store(out, i, c, a + 2.0 * (a - b) * b)
                inner += total(a * b)
        return inner

    rng = np.random.default_rng(d)
    x, y = rng.standard_normal((2, 5, d))
    wide, other = pad(x), pad(y)
    assert wide.shape[1] % len(lanes_of(d)) == 0
    assert (wide[:, :d] == x).all()
    assert not wide[:, d:].any()
    out = np.empty_like(wide)
    assert combine(lanes_of(d), wide, other, out) == pytest.approx((x * y).sum(), rel=1e-12)
    assert out[:, :d] == pytest.approx(x + 2.0 * (x - y) * y, rel=1e-12, abs=1e-12)
    assert not out[:, d:].any()


@pytest.mark.parametrize("d", [1, 2, 7, 17])
def test_gradient_curvature_product_and_diagonal_are_those_of_the_dense_problem(d):
    p = Problem(d)
    n, g = len(p.u), p.graph
    out = np.empty_like(p.u)
    value = newton.gradient(p.lanes, p.smoothed(), p.u, out)
    expected_value, expected = p.gradient(p.u)
    assert value == pytest.approx(expected_value, rel=1e-12)
    assert out == pytest.approx(expected, rel=1e-12, abs=1e-12)
    first, second, inverse = p.curvature()
    dense = p.hessian()
    at = np.random.default_rng(1).standard_normal(p.u.shape)
    bend = product(p.lanes, Hessian(g.indptr, g.indices, p.mass, first, second, p.u), at, out)
    expected = np.einsum("icjd,jd->ic", dense, at)
    assert out == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert bend == pytest.approx((at * expected).sum(), rel=1e-12)
    inner = precondition(inverse, at, out)
    for i in range(n):
        block = dense[i, :, i, :]
        block = block if p.u.shape[1] == 2 else np.diag(np.diag(block))
        assert out[i] == pytest.approx(np.linalg.solve(block, at[i]), rel=1e-9, abs=1e-12)
    assert inner == pytest.approx((at * out).sum(), rel=1e-12)


def test_aggregates_are_stiff_neighbours():
    # Three lumps of stiff edges on a line of soft ones, and a node without edges.
    stiff, soft = 100.0, 1.0
    low = np.array([0, 0, 1, 2, 3, 3, 4, 5, 6, 7])
    high = np.array([1, 2, 2, 3, 4, 5, 5, 6, 7, 8])
    strength = np.array([stiff, stiff, stiff, soft, stiff, stiff, stiff, soft, stiff, stiff])
    indptr = np.searchsorted(low, np.arange(11))
    labels = np.empty(10, dtype=np.int64)
    assert aggregate(indptr, high.astype(np.int32), strength, labels) == 4
    assert labels.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3]


class Cycle:
    """Twin of the V-cycle: dense matrices, level by level."""

    def __init__(self, p, first, second):
        g = p.graph
        self.levels = coarsen(p.lanes, Hessian(g.indptr, g.indices, p.mass, first, second, p.u))
        lv = self.levels
        self.matrices, self.diagonals, self.up = [], [], []
        before, at = len(p.u), 0
        for k in range(lv.nodes.size - 1):
            low, high = lv.nodes[k], lv.nodes[k + 1]
            begin, end = lv.edges[k], lv.edges[k + 1]
            indptr = lv.indptr[low + k : high + k + 1]
            rows = np.repeat(np.arange(high - low), np.diff(indptr))
            dense = _dense(
                lv.mass[low:high], rows, lv.indices[begin:end], lv.first[begin:end],
                lv.second[begin:end], lv.u[low:high],
            )  # fmt: skip
            size = lv.mass[low:high].copy()
            np.add.at(size, rows, lv.first[begin:end])
            np.add.at(size, lv.indices[begin:end], lv.first[begin:end])
            self.matrices.append(dense)
            self.diagonals.append(np.repeat(0.7 / size, p.u.shape[1]))
            labels = lv.up[at : at + before]
            self.up.append(np.kron(np.eye(high - low)[labels], np.eye(p.u.shape[1])))
            at, before = at + before, high - low

    def coarse(self, k):
        """The matrix of the cycle on level k."""
        a, share = self.matrices[k], np.diag(self.diagonals[k])
        z = share
        if k + 1 < len(self.matrices):
            up = self.up[k + 1]
            z = z + up @ self.coarse(k + 1) @ up.T @ (np.eye(len(a)) - a @ z)
        return z + share @ (np.eye(len(a)) - a @ z)


def _dense(mass, low, high, first, second, u):
    """The matrix (n d, n d) of edges ``first I - second x x^T`` and masses."""
    n, d = u.shape
    out = np.kron(np.diag(mass), np.eye(d)).reshape(n, d, n, d)
    for i, j, f, s in zip(low, high, first, second, strict=True):
        x = u[i] - u[j]
        block = f * np.eye(d) - s * np.outer(x, x)
        for a, b, sign in ((i, i, 1), (j, j, 1), (i, j, -1), (j, i, -1)):
            out[a, :, b, :] += sign * block
    return out.reshape(n * d, n * d)


@pytest.mark.parametrize("d", [1, 2, 5, 9])
def test_the_cycle_is_that_of_dense_matrices_and_positive_definite(d):
    p = Problem(d, n=60, seed=2)
    p.delta *= 0.5
    first, second, _ = p.curvature()
    cycle = Cycle(p, first, second)
    levels = cycle.levels
    assert levels.nodes.size > 1
    n, wide = p.u.shape
    expected = cycle.up[0] @ cycle.coarse(0) @ cycle.up[0].T
    np.testing.assert_allclose(expected, expected.T, rtol=0, atol=1e-12)  # of 290,000 numbers
    assert np.linalg.eigvalsh(cycle.coarse(0)).min() > 0.0
    rng = np.random.default_rng(0)
    rest, before = rng.standard_normal((2, n, wide))
    out, work = before.copy(), np.empty((3, levels.mass.size, wide))
    inner = correct(p.lanes, levels, rest, work, out)
    added = (expected @ rest.reshape(-1)).reshape(n, wide)
    assert out - before == pytest.approx(added, rel=1e-10, abs=1e-12)
    assert inner == pytest.approx((rest * added).sum(), rel=1e-10)
    # A coarser graph has the masses of its aggregates, and the trace of Galerkin's matrix.
    fine = p.hessian().reshape(n * wide, n * wide)
    galerkin = cycle.up[0].T @ fine @ cycle.up[0]
    assert np.trace(cycle.matrices[0]) == pytest.approx(np.trace(galerkin), rel=1e-10)
    ones = np.kron(np.ones(len(galerkin) // wide), np.eye(wide)).T
    np.testing.assert_allclose(cycle.matrices[0] @ ones, galerkin @ ones, rtol=1e-9, atol=1e-9)
    if d == 1:  # All edges are parallel.
        assert cycle.matrices[0] == pytest.approx(galerkin, rel=1e-9, abs=1e-9)


def products(p, rest, goal, coarse):
    """Products of conjugate gradients until the residual is at most ``goal`` of the first one."""
    g = p.graph
    first, second, inverse = p.curvature()
    hessian = Hessian(g.indptr, g.indices, p.mass, first, second, p.u)
    levels = coarsen(p.lanes, hessian)
    work = np.empty((3, levels.mass.size, p.u.shape[1]))

    def solved(right):
        z = np.empty_like(right)
        inner = precondition(inverse, right, z)
        return z, inner + (correct(p.lanes, levels, right, work, z) if coarse else 0.0)

    end = goal * np.linalg.norm(rest)
    z, inner = solved(rest)
    q, out = z, np.empty_like(z)
    for count in range(1, 1000):
        alpha = inner / product(p.lanes, hessian, q, out)
        rest = rest - alpha * out
        if np.linalg.norm(rest) <= end:
            return count
        before = inner
        z, inner = solved(rest)
        q = z + inner / before * q
    return count


@pytest.mark.large
@pytest.mark.parametrize("d", [2, 3])
def test_coarser_graphs_solve_stiff_lumps_in_few_products(d):
    # 60 lumps of 10 points on a line: 1e-3 across, 1 apart.
    rng = np.random.default_rng(5)
    centres = np.stack([np.arange(60.0), *rng.standard_normal((d - 1, 60))], axis=1)
    p = Problem(d, n=600)
    u = np.repeat(centres, 10, axis=0) + 1e-3 * rng.standard_normal((600, d))
    p.u, p.mass = pad(u), np.ones(600)
    p.graph = check_graph(neighbour_weights(u, 12), 600).upper()
    p.lam, p.delta = 0.1, 1e-6
    rest = pad(np.repeat(rng.standard_normal((60, d)), 10, axis=0))  # moves whole lumps
    alone, coarse = (products(p, rest, 1e-3, on) for on in (False, True))
    assert coarse <= 0.5 * alone


@pytest.mark.parametrize("d", [2, 5, 20])
def test_newton_reaches_the_minimiser_and_counts_its_work(d):
    p = Problem(d, seed=3)
    u = p.b.copy()
    stopped, out = p.minimise(u, 1e-20, 60, False, np.zeros_like(u))
    assert not stopped
    _, g = p.gradient(u)
    error = float((g**2 / p.mass[:, None]).sum())
    assert error <= 2e-20
    assert out[3] <= 1e-20
    assert 1 <= out[0] <= 60
    assert out[1] >= out[0]
    assert out[2] > out[0]


def test_a_system_whose_curvature_vanishes_keeps_the_step_that_it_had():
    # Squares of 1e-170 are zero: so is the curvature along the first direction, and a step by the
    # ratio of two such squares would be no number.
    p = Problem(2)
    first, second, inverse = p.curvature()
    g = p.graph
    hessian = Hessian(g.indptr, g.indices, p.mass, first, second, p.u)
    for size, is_found in ((1.0, True), (1e-170, False)):
        work = newton._buffers(p.mass, 2)
        work.g[:] = size * (p.u - p.b)
        step, out = np.full_like(p.u, np.nan), np.zeros(5)
        newton._solve_newton(p.lanes, hessian, inverse, 0.0, 200, work, step, out)
        flat = p.hessian().reshape(step.size, step.size)
        exact = -np.linalg.solve(flat, work.g.reshape(-1)).reshape(step.shape)
        assert step == pytest.approx(exact if is_found else 0.0, rel=1e-9, abs=1e-9 * size)
        assert out[1] >= 1.0


def test_newton_stops_before_a_step_that_goes_too_far():
    # Two linked nodes at the points -1 and 1 meet at penalty 1: the full step from a length of 0.05
    # passes through, because the norm has no curvature along the edge.
    p = Problem(1, n=30)
    p.u = pad(np.array([[-0.025], [0.025]]))
    p.b, p.mass = pad(np.array([[-1.0], [1.0]])), np.ones(2)
    p.graph = check_graph(np.array([[0.0, 1.0], [1.0, 0.0]]), 2).upper()
    p.lam, p.delta = 1.2, 1e-6
    u, step = p.u.copy(), np.zeros_like(p.u)
    stopped, out = p.minimise(u, 1e-12, 60, True, step)
    assert stopped
    assert (u == p.u).all()
    assert out[0] == 1
    value, g = p.gradient(p.u)
    assert float((g * step).sum()) < 0.0
    assert p.gradient(p.u + step)[0] > value
    assert p.gradient(p.u + 0.1 * step)[0] < value
    # Without the request the same call goes on, by shorter steps, to the minimiser.
    stopped, out = p.minimise(u, 1e-12, 60, False, np.zeros_like(u))
    assert not stopped
    assert out[3] <= 1e-12
    assert abs(float(u[1, 0] - u[0, 0])) < p.delta


@pytest.mark.parametrize("d", [2, 7])
def test_a_step_goes_on_as_far_as_the_objective_falls(d):
    p = Problem(d)
    value, slope = p.gradient(p.u)
    # A step of nothing leaves the objective as it is, which is no fall.
    for scale, expected in ((1e-3, True), (30.0, True), (-1e-3, False), (0.0, False)):
        step, v, out = -scale * slope, np.empty_like(p.u), np.zeros(5)
        found = newton.go_along(p.lanes, p.smoothed(), p.u, step, 1.0, 20, v, out)
        assert found == expected
        shares = 0.5 ** np.arange(20)
        falls = [p.gradient(p.u + share * step)[0] < value for share in shares]
        assert found == any(falls)
        first = falls.index(True) if found else 19
        assert v == pytest.approx(p.u + shares[first] * step, rel=1e-12, abs=1e-12)
        assert out[2] == first + 2


@pytest.mark.parametrize("lam", [0.05, 0.2, 0.3])
def test_parts_that_pull_harder_than_their_edges_hold_are_released(lam):
    """At the larger penalties some part of the first stage is left as it is by the second one."""
    rng = np.random.default_rng(3)
    n, d = 40, 3
    x = rng.standard_normal((n, d))
    graph = check_graph(neighbour_weights(x, 5, connect="tree"), n)
    labels = np.repeat([0, 1], [30, 10])
    middle = np.repeat(np.arange(10), 4)
    middle[28:32] = [7, 7, 10, 10]  # each stage is finer than the clusters
    stages = [np.arange(n), np.unique(middle, return_inverse=True)[1]]
    u = np.stack([x[labels == k].mean(axis=0) for k in (0, 1)])
    q = np.empty((n, d))
    pulls(graph, x, lam, labels, u, q)
    w = graph.matrix().toarray()
    expected, made, released = [tuple(np.flatnonzero(labels == k)) for k in (0, 1)], [*u], set()
    for stage, parts in enumerate(stages[::-1]):
        for part in (np.flatnonzero(parts == p) for p in np.unique(parts)):
            rest = np.setdiff1d(np.flatnonzero(labels == labels[part[0]]), part)
            held, pull = lam * w[np.ix_(part, rest)].sum(), q[part].sum(axis=0)
            if 0.0 < 1.001 * held < np.linalg.norm(pull):
                expected = [tuple(set(e) - set(part)) for e in expected] + [tuple(part)]
                free = 1.0 - held / np.linalg.norm(pull)
                made.append(u[labels[part[0]]] + free * pull / part.size)
                released.add(stage)
    new, values = release(graph, labels, stages, q, lam, u)
    found = {tuple(np.flatnonzero(new == k)) for k in range(values.shape[0])}
    assert found == {tuple(sorted(e)) for e in expected if e}
    for part, value in zip(expected, made, strict=True):
        if part:
            np.testing.assert_allclose(values[new[part[0]]], value)
    assert len(found) > 2
    assert released == {0, 1}
    assert lam < 0.1 or any(len(part) > 1 for part in expected[2:])
    same, _ = release(graph, labels, stages, q, 1e3, u)
    assert (same == labels).all()


def carried(graph, labels, y, limit):
    """What the flows of the potentials y (n, d) carry away from each point, edge by edge."""
    out = np.zeros_like(y)
    for i, j, w in zip(graph.rows(), graph.indices, graph.w, strict=True):
        if labels[i] == labels[j]:
            x = y[i] - y[j]
            out[i] += limit * w * x / max(1.0, np.linalg.norm(x))
    return out


@pytest.mark.parametrize("start", [0.0, 0.1])
@pytest.mark.parametrize("share", [0.3, 0.9])
@pytest.mark.parametrize("goal", [1e-8, 1e-16, 1e-22])
def test_flows_balance_what_flows_of_that_size_can_carry(goal, share, start):
    """Two clusters of planted flows below their limits, and a point that no edge can balance."""
    rng = np.random.default_rng(0)
    n, d, lam, margin = 61, 3, 0.7, 1e-2
    labels = np.repeat([0, 1, 2], [40, 20, 1])
    graph = check_graph(neighbour_weights(rng.standard_normal((n, d)), 5, connect="tree"), n)
    y = rng.standard_normal((n, d))
    longest = max(
        np.linalg.norm(y[i] - y[j]) for i, j in zip(graph.rows(), graph.indices, strict=True)
    )
    planted = carried(graph, labels, y * share / longest, (1.0 - margin) * lam)
    planted[60] = [3.0, 0.0, 4.0]
    q, potentials, work = pad(planted), pad(start * rng.standard_normal((n, d))), np.zeros(5)
    medium = Medium(lanes_of(d), graph, 1e-3, work)
    _, x, delta, left, rest = find_flows(medium, (labels, 3), q, potentials, lam, goal, margin)
    expected = q - carried(graph, labels, potentials, (1.0 - margin) * lam)
    np.testing.assert_allclose(rest, expected, rtol=1e-9, atol=1e-3 * np.sqrt(goal))
    found = np.bincount(labels, (expected**2).sum(axis=1))
    np.testing.assert_allclose(left, found, rtol=1e-3)
    assert left[2] == 25.0
    assert left[:2].sum() <= goal
    if start == 0.0:  # potentials of one unit move the values by a tenth of the goal, squared
        np.testing.assert_allclose(delta[:2], np.sqrt(0.1 * goal / n))
    np.testing.assert_array_equal(x[:60], delta[labels[:60], None] * potentials[:60])
    assert (x[60] == 0.0).all()

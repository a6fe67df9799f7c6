"""Kernels of convex clustering against slow, obvious NumPy twins."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage
from scipy.optimize import minimize
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import pdist, squareform

from trials.clustering.convex import certificate, flows, newton, pairs

SHAPES = [(1, 1), (3, 1), (1, 2), (2, 3), (4, 4), (3, 5), (20, 9), (2, 30)]


def mass_weights(mass):
    out = np.empty((mass.size, mass.size))
    pairs.mass_weights(mass, out)
    return out


class Twin:
    """The smoothed objective of a node problem, its gradient and Hessian, written as formulas."""

    def __init__(self, d, k, eps=0.3, mu=1.0, seed=0):
        rng = np.random.default_rng(seed)
        self.lam, self.eps, self.mu = 0.7, eps, mu
        self.u, self.b, self.v = rng.standard_normal((3, d, k))
        self.mass = rng.integers(1, 5, k).astype(float)
        w = rng.uniform(0.1, 1.0, (k, k))
        self.w = w + w.T - np.diag(np.diag(w + w.T))

    def rho(self, u):
        x = u[:, :, None] - u[:, None, :]
        return np.sqrt(self.eps**2 + (x**2).sum(axis=0))

    def penalty(self, u):
        return np.triu(self.w * self.rho(u), 1).sum()

    def value(self, u):
        quadratic = 0.5 * self.mu * (u**2).sum(axis=0) - (self.b * u).sum(axis=0)
        return self.mass @ quadratic + self.lam * self.penalty(u)

    def gradient(self, u):
        x = u[:, :, None] - u[:, None, :]
        with np.errstate(invalid="ignore"):
            pull = np.nan_to_num(self.w * x / self.rho(u)).sum(axis=2)
        return self.mass * (self.mu * u - self.b) + self.lam * pull

    def curvatures(self):
        first, second = np.empty((2, *self.w.shape))
        total = newton.pair_curvatures(self.u, self.w, self.eps, first, second)
        return total, first, second


@pytest.mark.interpreted
@pytest.mark.parametrize(("d", "k"), SHAPES)
def test_pair_kernels_match_their_formulas(d, k):
    twin = Twin(d, k)
    squares = np.empty((k, k))
    pairs.pair_squares(twin.u, squares)
    np.testing.assert_allclose(squares, twin.rho(twin.u) ** 2 - 0.09, atol=1e-13)
    total, first, second = twin.curvatures()
    np.testing.assert_allclose(total, twin.penalty(twin.u), rtol=1e-13)
    np.testing.assert_allclose(first, twin.w / twin.rho(twin.u), rtol=1e-13)
    np.testing.assert_allclose(second, twin.w / twin.rho(twin.u) ** 3, rtol=1e-13)


@pytest.mark.interpreted
@pytest.mark.parametrize(("d", "k"), SHAPES)
@pytest.mark.parametrize("mu", [0.0, 1.0])
def test_gradient_and_hessian_match_formula_and_differences(d, k, mu):
    twin = Twin(d, k, mu=mu)
    _, first, second = twin.curvatures()
    g, product = np.empty((2, d, k))
    newton.gradient(twin.u, twin.b, twin.mass, first, twin.lam, mu, g)
    np.testing.assert_allclose(g, twin.gradient(twin.u), rtol=1e-12, atol=1e-12)
    newton.hessian_product(twin.u, twin.v, twin.mass, first, second, twin.lam, mu, product)
    h = 1e-5
    difference = (twin.gradient(twin.u + h * twin.v) - twin.gradient(twin.u - h * twin.v)) / (2 * h)
    np.testing.assert_allclose(product, difference, rtol=1e-7, atol=1e-7)


@pytest.mark.interpreted
@pytest.mark.parametrize(("d", "k"), [s for s in SHAPES if s[1] > 1])
@pytest.mark.parametrize("precision", [np.float32, np.float64])
@pytest.mark.parametrize("shift", [0.0, 30.0])
def test_matrix_products_err_by_no_more_than_the_condition_says(d, k, precision, shift):
    twin = Twin(d, k)
    twin.u[:, k // 2 :] += shift
    _, first, second = twin.curvatures()
    exact, fast, at = np.empty((3, d, k))
    newton.hessian_product(twin.u, twin.v, twin.mass, first, second, twin.lam, 1.0, exact)
    worst = newton.condition(twin.u, twin.mass, second, twin.lam, 1.0, twin.eps, at)
    np.testing.assert_allclose(at, twin.u - twin.u.mean(axis=1, keepdims=True), atol=1e-13)
    curvature = twin.lam * second.sum(axis=1)
    expected = curvature * (at**2).sum(axis=0).max() / (twin.mass + twin.eps**2 * curvature)
    np.testing.assert_allclose(worst, expected.max(), rtol=1e-12)
    scratch = np.zeros((2, 2 * d, k), dtype=precision)
    scratch[0, :d] = scratch[1, d:] = at
    newton.matrix_product(
        twin.v,
        twin.mass + twin.lam * first.sum(axis=1),
        twin.lam,
        first.astype(precision),
        second.astype(precision),
        *scratch,
        np.empty((k, k), dtype=precision),
        np.empty((d, k), dtype=precision),
        np.empty((2, k), dtype=precision),
        fast,
    )
    # A sum of d + k terms.  The first-order terms, too, are of the size of the diagonal.
    size = np.linalg.norm(twin.v, axis=0).max() * (twin.mass + twin.lam * first.sum(axis=1)).max()
    allowed = 0.5 * np.finfo(precision).eps * (d + k) * (1.0 + worst) * size
    assert np.abs(fast - exact).max() <= allowed


def test_condition_keeps_numbers_beyond_single_precision_out_of_it():
    mass, at = np.ones(3), np.empty((2, 3))
    u = 1e-13 * np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    first, second = np.empty((2, 3, 3))
    newton.pair_curvatures(u, mass_weights(mass), 0.0, first, second)
    assert second.max() > np.finfo(np.float32).max
    assert newton.condition(u, mass, second, 1e-13, 1.0, 0.0, at) == newton.DOUBLE
    assert newton.condition(u, mass, 0 * second, 1e-30, 0.0, 1.0, at) == np.inf
    # forces lam w, for any ratio to the curvature that the smoothing gives
    plain = np.ones((3, 3)) - np.eye(3)
    assert newton.condition(1e13 * u, mass, plain, 1e45, 1.0, 0.1, at) == newton.DOUBLE


@pytest.mark.parametrize("distance", [1.0, 1e-5, 1e-11])
def test_newton_converges_whatever_precision_its_products_take(distance):
    rng = np.random.default_rng(3)
    d, k = 3, 12
    b = rng.standard_normal((d, 2))[:, np.arange(k) % 2] + distance * rng.standard_normal((d, k))
    b -= b.mean(axis=1, keepdims=True)
    u, at, out = b.copy(), np.empty((d, k)), np.empty(3)
    mass, lam = np.ones(k), 0.05 * distance
    weights = mass_weights(mass)
    first, second = np.empty((2, k, k))
    newton.pair_curvatures(u, weights, 0.0, first, second)
    worst = newton.condition(u, mass, second, lam, 1.0, 0.0, at)
    level = int(worst > newton.SINGLE) + int(worst > newton.DOUBLE)
    assert level == {1.0: 0, 1e-5: 1, 1e-11: 2}[distance]
    newton.newton(b, mass, weights, lam, 1.0, 0.0, 1e-14, 40, 40, u, out)
    assert out[0] <= 1e-14
    x = u[:, :, None] - u[:, None, :]
    rho = np.linalg.norm(x, axis=0) + np.eye(k)
    np.testing.assert_allclose(u - b + lam * (x / rho).sum(axis=2), 0.0, atol=1e-14)


def test_every_step_adds_its_hessian_products_to_the_count():
    """A run of one step more makes the same steps before it."""
    twin, counts = Twin(3, 7, eps=1e-3), []
    for most in range(5):
        out = np.empty(3)
        start = twin.u.copy()
        newton.newton(twin.b, twin.mass, twin.w, twin.lam, 1.0, 1e-3, 1e-12, most, 100, start, out)
        assert out[1] == most
        counts.append(out[2])
    assert counts[0] == 0
    assert np.diff(counts).min() >= 1


def test_newton_gives_up_at_once_where_nodes_fuse():
    b = np.random.default_rng(3).standard_normal((2, 9))
    mass, out = np.ones(9), np.empty(3)
    weights = mass_weights(mass)
    newton.newton(b, mass, weights, 2.0, 1.0, 0.0, 1e-14, 40, 0, b.copy(), out)
    assert out[1] <= 2
    assert out[0] > 1e-2


@pytest.mark.parametrize(("d", "k"), [(1, 1), (2, 3), (3, 7)])
@pytest.mark.parametrize("eps", [0.5, 1e-3])
def test_newton_finds_the_minimum_of_a_quasi_newton_method(d, k, eps):
    twin = Twin(d, k, eps=eps)
    u, out = twin.u.copy(), np.empty(3)
    newton.newton(twin.b, twin.mass, twin.w, twin.lam, 1.0, eps, 1e-12, 100, 100, u, out)
    slow = minimize(
        lambda x: twin.value(x.reshape(d, k)),
        twin.u.ravel(),
        jac=lambda x: twin.gradient(x.reshape(d, k)).ravel(),
        options={"gtol": 1e-9, "maxiter": 5000},
    )
    assert twin.value(u) <= slow.fun + 1e-12
    np.testing.assert_allclose(u.ravel(), slow.x, atol=1e-5)
    assert out[0] <= 1e-12
    np.testing.assert_allclose(
        out[0], np.sqrt((twin.gradient(u) ** 2 / twin.mass).sum()), atol=1e-11
    )


def test_newton_without_the_quadratic_balances_the_data():
    twin = Twin(3, 8, eps=1.0, mu=0.0)
    twin.b *= 0.1
    twin.b -= ((twin.b @ twin.mass) / twin.mass.sum())[:, None]
    y, out = np.zeros((3, 8)), np.empty(3)
    newton.newton(twin.b, twin.mass, twin.w, twin.lam, 0.0, 1.0, 1e-13, 100, 100, y, out)
    np.testing.assert_allclose(twin.gradient(y), 0.0, atol=1e-11)


@pytest.mark.interpreted
@pytest.mark.parametrize(("d", "k"), [s for s in SHAPES if s[1] > 1])
@pytest.mark.parametrize("strength", [0.0, 0.8])
def test_largest_flow_matches_the_verifier(d, k, strength):
    twin = Twin(d, k)
    fast = flows.largest_flow(twin.b, twin.mass, twin.u, strength)
    slow = certificate.largest_flow(twin.b.T.copy(), twin.mass, twin.u.T.copy(), strength)
    np.testing.assert_allclose(fast, slow, rtol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_formula_fusions_are_the_largest_fitting_nodes_of_complete_linkage(seed):
    rng = np.random.default_rng(seed)
    k = 40
    x = rng.standard_normal((k, 3)) + 6 * rng.standard_normal((4, 3))[np.arange(k) % 4]
    mass = rng.integers(1, 4, k).astype(float)
    tree = linkage(x, "complete")
    members = [[i] for i in range(k)]
    for row in tree:
        members.append(members[int(row[0])] + members[int(row[1])])
    for lam in [0.02, 0.05, 0.1, 0.2, 1.0]:
        labels = np.empty(k, dtype=np.int64)
        squares = squareform(pdist(x)) ** 2
        count = pairs.formula_fusions(squares, mass, lam, 1e-14, labels)
        expected = np.arange(k)
        for node in range(2 * k - 2, k - 1, -1):
            index = members[node]
            if tree[node - k, 2] <= lam * mass[index].sum() and expected[index[0]] < k:
                free = [i for i in index if expected[i] < k]
                assert len(free) in (0, len(index))
                expected[free] = k + node
        matches = set(zip(labels.tolist(), expected.tolist(), strict=True))
        assert len(matches) == count == np.unique(expected).size
        assert list(dict.fromkeys(labels.tolist())) == list(range(count))


@pytest.mark.interpreted
def test_components_match_scipy():
    rng = np.random.default_rng(1)
    squares = squareform(pdist(rng.standard_normal((30, 2)))) ** 2
    for threshold in [0.0, 0.1, 0.3, 10.0]:
        out = np.empty(30, dtype=np.int64)
        count = pairs.components(squares, threshold, out)
        expected = connected_components((squares <= threshold) & ~np.eye(30, dtype=bool))
        assert count == expected[0]
        np.testing.assert_array_equal(out, expected[1])


@pytest.mark.interpreted
def test_centroids_and_mass_weights():
    twin = Twin(3, 6)
    labels = np.array([0, 1, 0, 2, 0, 1])
    out, mass = np.empty((3, 3)), np.empty(3)
    pairs.centroids(twin.u, twin.mass, labels, out, mass)
    for k in range(3):
        own = labels == k
        np.testing.assert_allclose(mass[k], twin.mass[own].sum())
        np.testing.assert_allclose(
            out[:, k], np.average(twin.u[:, own], axis=1, weights=twin.mass[own]), atol=1e-14
        )
    np.testing.assert_array_equal(out[:, 2], twin.u[:, 3])
    expected = np.outer(mass, mass) * (1 - np.eye(3))
    np.testing.assert_array_equal(mass_weights(mass), expected)


@pytest.mark.interpreted
def test_fusion_ratios_match_their_definition():
    twin = Twin(3, 6)
    u = twin.u - ((twin.u @ twin.mass) / twin.mass.sum())[:, None]
    out = np.empty(3)
    flows.fusion_ratio(twin.b, twin.mass, u, out)
    distances = squareform(pdist(u.T))
    omega = 0.5 * twin.mass @ distances @ twin.mass
    inner = (twin.mass * (twin.b * u).sum(axis=0)).sum()
    np.testing.assert_allclose(out, [inner / omega, omega, (twin.mass * u**2).sum()], rtol=1e-12)
    index = np.array([1, 3, 4])
    part = flows.set_ratio(twin.b, twin.mass, twin.u, distances**2, index)
    mass, x = twin.mass[index], twin.u[:, index]
    x = x - ((x @ mass) / mass.sum())[:, None]
    flows.fusion_ratio(np.ascontiguousarray(twin.b[:, index]), mass, x, out)
    np.testing.assert_allclose(part, out[0], rtol=1e-12)

"""Gradient clustering: against finite differences, Lloyd, a NumPy twin, and its symmetries."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trials.checks import InvalidParameter
from trials.clustering.gradient import gradient_clustering
from trials.clustering.kmeans import lloyd

FEW = settings(deadline=None, max_examples=25)


def case(seed, n_sets=3, m=25, d=3, k=4, spread=1.5):
    rng = np.random.default_rng(seed)
    centers = 4.0 * rng.standard_normal((n_sets, k, d))
    points = np.repeat(centers, -(-m // k), axis=1)[:, :m]
    points = points + spread * rng.standard_normal((n_sets, m, d))
    return points, points[:, rng.permutation(m)[:k]].copy()


def objective(points, centers):
    """J minimised over the assignment: each point counts with the centre of least cost."""
    squares = ((points[:, None, :] - centers[None, :, :]) ** 2).sum(axis=2)
    return squares.min(axis=1).mean() / 2


def twin(points, centers, step, n_steps):
    for _ in range(n_steps):
        difference = centers[None, :, :] - points[:, None, :]
        distance = np.sqrt((difference**2).sum(axis=2))
        labels = distance.argmin(axis=1)
        moved = centers.copy()
        for k in range(len(centers)):
            for i in np.flatnonzero(labels == k):
                moved[k] -= step / len(points) * difference[i, k]
        centers = moved
    return centers


@pytest.mark.interpreted
@pytest.mark.parametrize("step", [0.3, 1.0, 1.9])
def test_equals_its_numpy_twin(step):
    points, start = case(1)
    fit = gradient_clustering(points, start, step=step, max_iter=7)
    for b in range(3):
        centers = twin(points[b], start[b], step, 7)
        np.testing.assert_allclose(fit.centers[b], centers, rtol=1e-11, atol=1e-11)
        expected = objective(points[b], centers)
        np.testing.assert_allclose(fit.cost[b], expected, rtol=1e-11)
    assert (fit.n_iter == 7).all()
    assert not fit.converged.any()


def test_a_step_is_the_gradient_of_the_objective():
    points, start = case(3, n_sets=1)
    fit = gradient_clustering(points, start, step=0.5, max_iter=1)
    gradient = (start - fit.centers)[0] / 0.5
    h = 1e-6
    for index in np.ndindex(*gradient.shape):
        bump = np.zeros_like(gradient)
        bump[index] = h
        slope = (objective(points[0], start[0] + bump) - objective(points[0], start[0] - bump)) / (
            2 * h
        )
        assert abs(slope - gradient[index]) < 1e-7


def test_the_objective_never_increases_for_steps_below_two():
    points, start = case(4, n_sets=4, spread=4.0)
    costs = [gradient_clustering(points, start, step=1.99, max_iter=t).cost for t in range(1, 40)]
    assert np.all(np.diff(costs, axis=0) <= 1e-14)


def test_squared_fixed_points_are_those_of_lloyd():
    points, start = case(5, n_sets=6, spread=3.0)
    fit = gradient_clustering(points, start, tol=1e-12)
    assert fit.converged.all()
    again = lloyd(points, fit.centers, empty="keep")
    np.testing.assert_array_equal(again.labels, fit.labels)
    np.testing.assert_allclose(again.centers, fit.centers, atol=1e-9)
    assert (again.n_iter <= 2).all()
    np.testing.assert_allclose(fit.cost, again.inertia / (2 * 25), rtol=1e-9)


@FEW
@given(seed=st.integers(0, 10**6), exponent=st.integers(-40, 40))
def test_equivariance(seed, exponent):
    points, start = case(seed, n_sets=1, m=16)
    rng = np.random.default_rng(seed)
    rotation = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    shift = 5 * rng.standard_normal(3)
    order = rng.permutation(16)
    scale = 2.0**exponent
    options = {"step": 1.0, "max_iter": 30}
    plain = gradient_clustering(points, start, **options)
    moved = gradient_clustering(points @ rotation + shift, start @ rotation + shift, **options)
    np.testing.assert_allclose(moved.centers, plain.centers @ rotation + shift, atol=1e-10)
    np.testing.assert_array_equal(moved.labels, plain.labels)
    permuted = gradient_clustering(points[:, order], start, **options)
    np.testing.assert_allclose(permuted.centers, plain.centers, atol=1e-10)
    scaled = gradient_clustering(points * scale, start * scale, **options)
    np.testing.assert_allclose(scaled.centers, plain.centers * scale, rtol=1e-12)


@pytest.mark.interpreted
def test_degenerate_inputs():
    same = gradient_clustering(np.ones((1, 5, 2)), np.ones((1, 3, 2)))
    assert same.cost[0] == 0
    assert same.converged[0]
    points, _ = case(7)
    alone = gradient_clustering(points, points)
    np.testing.assert_array_equal(alone.n_iter, 0)
    far = np.full((3, 1, 3), 1e3)
    kept = gradient_clustering(points, np.concatenate([points[:, :1], far], axis=1))
    np.testing.assert_array_equal(kept.centers[:, 1:], far)  # an empty cluster stays
    np.testing.assert_allclose(kept.centers[:, 0], points.mean(axis=1), atol=1e-8)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"step": 2.0}, "step=2 must be below 2"),
        ({"step": 0.0}, "step=0.0 must be a finite number > 0"),
        ({"max_iter": 0}, "max_iter=0"),
    ],
)
def test_bad_options_are_refused_by_name(keywords, message):
    with pytest.raises(InvalidParameter, match=message):
        gradient_clustering(np.zeros((1, 3, 2)), np.zeros((1, 2, 2)), **keywords)


def test_bad_arrays_are_refused():
    with pytest.raises(InvalidParameter, match="points"):
        gradient_clustering(np.full((1, 3, 2), np.nan), np.zeros((1, 2, 2)))
    with pytest.raises(InvalidParameter, match="k=4"):
        gradient_clustering(np.zeros((1, 3, 2)), np.zeros((1, 4, 2)))
    with pytest.raises(InvalidParameter, match=r"centers.shape\[0\]=2.*points.shape\[0\]"):
        gradient_clustering(np.zeros((1, 3, 2)), np.zeros((2, 2, 2)))
    with pytest.raises(InvalidParameter, match=r"centers.shape\[2\]=3.*points.shape\[2\]"):
        gradient_clustering(np.zeros((1, 3, 2)), np.zeros((1, 2, 3)))


@pytest.mark.parametrize(("share", "n_iter"), [(1.01, 0), (0.99, 1)])
def test_descent_stops_by_the_largest_gradient_of_a_centre(share, n_iter):
    """Two clusters of two points whose gradients have length 1/2 each."""
    points = np.array([[[-1.0], [1.0], [99.0], [101.0]]])
    centers = np.array([[[1.0], [101.0]]])  # each is off by 1, and has half of the points
    unit = gradient_clustering(points, centers, tol=0.0, max_iter=1)
    np.testing.assert_allclose(gradient_clustering(points, centers, tol=1e3).gradient, 0.5)
    scale = np.sqrt(2501.0)  # the points are 49 and 51 away from their mean, 50
    found = gradient_clustering(points, centers, tol=share * 0.5 / scale, max_iter=1)
    assert found.n_iter[0] == n_iter
    assert unit.n_iter[0] == 1

"""The strategies give what they say, reach their odd corners, and shrink to the simplest input."""

import numpy as np
import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st

from verify.testing import strategies as own
from verify.testing.check import Scope
from verify.testing.subjects.rounds import _lattice, longest_stable

FEW = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
SEARCH = settings(max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck))


@FEW
@given(own.federated(), st.data())
def test_federated_problems_fit_together(problem, data):
    models, clients = problem["models"], problem["clients"]
    for x, y in clients:
        assert x.shape == (len(y), models.shape[1])
        assert len(y) >= 1
    assert clients.data.n_clients == len(clients)
    labels = data.draw(own.label_vectors(len(clients), len(models)))
    assert 0 <= labels.min() <= labels.max() < len(models)


@FEW
@given(own.federated(equal=True, simple=True))
def test_limits_are_kept(problem):
    assert len(set(problem["clients"].sizes.tolist())) == 1
    numbers = np.concatenate([np.column_stack(pair).ravel() for pair in problem["clients"]])
    assert (numbers == np.round(numbers)).all()


@FEW
@given(own.federated())
def test_the_longest_stable_step_makes_no_client_grow(problem):
    step = longest_stable(problem["clients"])
    for x, y in problem["clients"]:
        assert step * np.linalg.norm(x, 2) ** 2 / len(y) <= 1.0 + 1e-12


def sizes(case):
    """Dimension, number of models, of clients, and of rows of the first client."""
    (x, _), *_ = case["clients"]
    return case["models"].shape[1], len(case["models"]), len(case["clients"]), len(x)


@FEW
@given(_lattice(Scope(), "steps"))
def test_a_lattice_is_small_and_whole(case):
    assert all(size <= most for size, most in zip(sizes(case), (2, 3, 4, 4), strict=True))
    assert case["steps"] == 1
    for numbers in (case["models"], *(part for pair in case["clients"] for part in pair)):
        assert (numbers == np.round(numbers)).all()
        assert np.abs(numbers).max() <= 2.0


@FEW
@given(st.integers(1, 4).flatmap(own.reflections))
def test_reflections_are_orthogonal(matrix):
    assert np.allclose(matrix @ matrix.T, np.eye(len(matrix)), atol=1e-14)


@FEW
@given(own.separated())
def test_groups_are_far_apart(case):
    points, truth = case["points"], case["truth"]
    gaps = np.linalg.norm(points[:, None] - points, axis=2)
    same = truth[:, None] == truth
    assert gaps[same].max() < 2.0
    assert (gaps[~same] > 900.0).all()


def near(points):
    gaps = np.linalg.norm(points[:, None] - points, axis=2)[np.triu_indices(len(points), 1)]
    return bool(((gaps > 0) & (gaps < 1e-10)).any())


@pytest.mark.parametrize(
    ("strategy", "corner"),
    [
        (own.point_sets(), near),
        (own.point_sets(), lambda p: len(np.unique(p, axis=0)) < len(p)),
        (own.point_sets(), lambda p: len(p) > 2 and np.ptp(np.log10(np.abs(p) + 1e-9)) > 6),
        (own.federated(), lambda c: c["clients"].sizes.max() >= 3 * c["clients"].sizes.min()),
        (own.federated(), lambda c: len(c["clients"]) > 3 and (c["clients"].sizes == 1).all()),
        (own.federated(), lambda c: np.unique(c["models"], axis=0).shape != c["models"].shape),
        (_lattice(Scope(), None), lambda c: sizes(c) == (1, 2, 1, 1)),
        (_lattice(Scope(), None), lambda c: sizes(c)[:2] == (2, 3)),
        (_lattice(Scope(), None), lambda c: (c["models"][0] == c["models"][1]).all()),
    ],
)
def test_odd_corners_are_reached(strategy, corner):
    assert corner(find(strategy, corner, settings=SEARCH))


def test_point_sets_shrink_to_one_point_at_zero():
    assert find(own.point_sets(), lambda _points: True, settings=SEARCH).tolist() == [[0.0]]


def test_a_client_that_matters_shrinks_to_the_number_one():
    problem = find(
        own.federated(simple=True), lambda c: any(y.any() for _, y in c["clients"]), settings=SEARCH
    )
    ((x, y),) = problem["clients"].pairs
    assert (x.tolist(), y.tolist()) == ([[0.0]], [1.0])

"""The plain implementations, on numbers that are worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from trials.clustering.convex import convex_clustering
from verify.testing import examples

#: Gradients of the mean squares at 1 are 2 (1 - 3) = -4 and (2 * 2 (2 - 8) + 2 (1 - 1)) / 2 = -12.
CLIENTS = [
    (np.array([[1.0]]), np.array([3.0])),
    (np.array([[2.0], [1.0]]), np.array([8.0, 1.0])),
    (np.array([[1.0], [1.0], [1.0]]), np.array([-9.0, -8.0, -10.0])),
]
MODELS = np.array([[1.0], [-5.0], [90.0]])
LABELS = [0, 0, 1]


def test_a_client_chooses_the_first_model_of_the_least_mean_square() -> None:
    assert examples.choices(MODELS, CLIENTS).tolist() == LABELS
    assert examples.choices(np.array([[5.0], [1.0]]), CLIENTS[:1]).tolist() == [0]


def test_a_step_of_ifca() -> None:
    """The third client's gradient at -5 is 2 (-5 + 9) = 8."""
    new, labels = examples.ifca_step(MODELS, CLIENTS, 0.375)
    assert labels.tolist() == LABELS
    assert new.tolist() == [[1.0 + 0.125 * 16.0], [-5.0 - 0.125 * 8.0], [90.0]]
    assert MODELS.tolist() == [[1.0], [-5.0], [90.0]]


def test_a_run_of_ifca_repeats_its_step() -> None:
    """From 3 and -6 the gradients are 0, (4 (6 - 8) + 2 (3 - 1)) / 2 = -2 and 2 (-6 + 9) = 6."""
    once = examples.ifca_run(MODELS, CLIENTS, 0.375, 1)
    assert once[0].tolist() == [[3.0], [-6.0], [90.0]]
    twice, labels = examples.ifca_run(MODELS, CLIENTS, 0.375, 2)
    assert twice.tolist() == [[3.25], [-6.75], [90.0]]
    assert labels.tolist() == LABELS
    away = examples.ifca_run(np.array([[0.0], [4.0]]), CLIENTS[:1], 1.0, 1)
    assert away[1].tolist() == [1]


def test_a_round_of_fedavg() -> None:
    """Of six rows the clients have one, two and three.  A step of half the mean gradient is taken
    twice by each of them.
    """
    new, labels = examples.fedavg_round(MODELS, CLIENTS, 0.25, 2)
    first = 1.0 + 0.25 * 2.0
    first += 0.25 * (3.0 - first)
    second = 1.0 + 0.25 * 6.0
    second -= 0.25 * (2.0 * (2.0 * second - 8.0) + (second - 1.0)) / 2
    third = -5.0 - 0.25 * 4.0
    third -= 0.25 * (third + 9.0)
    right = [(first + 2 * second + 3 * 1.0) / 6, (1 * -5 + 2 * -5 + 3 * third) / 6, 90.0]
    assert new[:, 0] == pytest.approx(right, rel=1e-14)
    assert labels.tolist() == LABELS
    assert MODELS[0, 0] == 1.0


def test_a_round_of_fedprox() -> None:
    """(1 + eta G) theta = theta_j + eta X'y/n, with G = 1, 5/2 and 1."""
    new, labels = examples.fedprox_round(MODELS, CLIENTS, 0.5)
    first = (1.0 + 0.5 * 3.0) / 1.5
    second = (1.0 + 0.5 * 8.5) / 2.25
    third = (-5.0 + 0.5 * -9.0) / 1.5
    right = [(first + 2 * second + 3 * 1.0) / 6, (1 * -5 + 2 * -5 + 3 * third) / 6, 90.0]
    assert new[:, 0] == pytest.approx(right, rel=1e-14)
    assert labels.tolist() == LABELS


def test_a_point_gets_the_first_of_its_nearest_centres() -> None:
    points = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 5.0]])
    centres = np.array([[3.0, 0.0], [0.0, 3.0], [3.0, 3.0]])
    assert examples.assignment(points, centres).tolist() == [0, 2, 1]


def test_lloyds_iteration_ends_where_labels_repeat_and_keeps_an_empty_centre() -> None:
    """5 goes to 1 first, and their mean 3 loses 1 to 0."""
    points = np.array([[0.0], [1.0], [5.0], [9.0]])
    start = np.array([[0.0], [1.0], [9.0], [99.0]])
    models, labels = examples.kmeans(points, start)
    assert models.tolist() == [[0.5], [5.0], [9.0], [99.0]]
    assert labels.tolist() == [0, 0, 1, 2]
    assert start.tolist() == [[0.0], [1.0], [9.0], [99.0]]


def test_convex_clustering_draws_points_together_by_the_penalty() -> None:
    pair = np.array([[3.0, 4.0], [-3.0, -4.0]]) * 2.0 + [100.0, 0.0]
    moved = examples.convex_clustering(pair, 5.0)
    assert moved == pytest.approx(pair - np.array([[3.0, 4.0], [-3.0, -4.0]]), abs=1e-8)
    for same in (examples.convex_clustering(pair, 0.0), examples.convex_clustering(pair[:1], 9.0)):
        assert same.tolist() == pair[: len(same)].tolist()
        assert same is not pair
    assert examples.convex_clustering(pair, 99.0) == pytest.approx(np.array([[100.0, 0.0]] * 2))
    # two pairs draw each end inwards, and those of the middle cancel
    line = np.array([[-10.0], [0.0], [10.0]])
    assert examples.convex_clustering(line, 1.5) == pytest.approx(
        np.array([[-7.0], [0.0], [7.0]]), abs=1e-8
    )
    equal = np.full((2, 1), 4.0)
    assert examples.convex_clustering(equal, 1.0) == pytest.approx(equal, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_convex_clustering_goes_on_until_nothing_moves(seed: int) -> None:
    points = np.random.default_rng(seed).standard_normal((5, 2))
    fit = convex_clustering(points, 0.2)
    assert fit.certified
    assert examples.convex_clustering(points, 0.2) == pytest.approx(fit.minimiser, abs=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_one_shot_seeds_by_squared_distances_and_clusters_the_estimates(seed: int) -> None:
    estimates = np.array([0.0, 1.0, 4.0, 5.0, 11.0])
    clients = [(np.array([[1.0], [2.0]]), np.array([e, 2.0 * e])) for e in estimates]
    stream = np.random.default_rng(seed)
    chosen = [int(stream.integers(5))]
    for _ in range(2):
        weights = [min((e - estimates[c]) ** 2 for c in chosen) for e in estimates]
        chosen.append(int(stream.choice(5, p=np.array(weights) / sum(weights))))
    right = examples.kmeans(estimates[:, None], estimates[chosen][:, None])
    models, labels = examples.one_shot(clients, 3, seed)
    assert models == pytest.approx(right[0], abs=1e-12)
    assert labels.tolist() == right[1].tolist()


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_orthogonal_iteration_squares_the_matrix_of_the_pairs(steps: int) -> None:
    """Y maps the second axis to the first, by one half of 4: Y Y' is diag(4, 1/4)."""
    first, second = np.array([[4.0, 0.0], [0.0, 1.0]]), np.array([[0.0, 1.0], [1.0, 0.0]])
    start = np.array([[0.6], [0.8]])
    found: Any = examples.orthogonal_iteration(first, second, start, steps)[:, 0]
    right = np.array([0.6 * 4.0**steps, 0.8 * 0.25**steps])
    assert abs(found) == pytest.approx(right / np.linalg.norm(right), rel=1e-13)
    assert (found[0] * found[1] > 0) == (right[0] * right[1] > 0)

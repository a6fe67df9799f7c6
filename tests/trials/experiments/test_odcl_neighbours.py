"""Weights between nearest neighbours for many users, against plain NumPy and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.neighbors import kneighbors_graph

from trials.checks import InvalidParameter
from trials.clustering.sparse import fusing_penalty, sparse_convex_clustering
from trials.experiments.odcl.neighbours import (
    NEIGHBOURS,
    cheapest,
    complete_groups,
    cost,
    group_means,
    neighbour_clusterings,
    sizes,
)
from trials.laws.least_squares import errors


def rows(cell, seed, n_trials=1):
    table = NEIGHBOURS.simulate(NEIGHBOURS.check(cell), np.random.default_rng(seed), n_trials)
    return dict(zip(NEIGHBOURS.columns, table.T, strict=True))


def drawn(cell, seed):
    """Fits, optima and clusters of the first trial, from the stream's documented order."""
    rng = np.random.default_rng(seed)
    params = NEIGHBOURS.check(cell)
    truth = rng.permutation(np.repeat(np.arange(params["k"]), sizes(params)))
    own = params["Delta"] / np.sqrt(2) * np.eye(params["k"], params["d"])[truth]
    return own + errors(params["n"], params["d"], params["sigma"], rng, params["m"]), own, truth


def test_users_outside_the_largest_groups_join_the_nearest_mean():
    rng = np.random.default_rng(1)
    fits = rng.standard_normal((60, 3))
    labels = rng.choice(7, 60, p=[0.3, 0.02, 0.25, 0.02, 0.02, 0.37, 0.02])
    count = np.bincount(labels, minlength=7)
    kept = sorted(range(7), key=lambda group: (-count[group], group))[:3]
    means = [fits[labels == group].mean(axis=0) for group in kept]
    for i, found in enumerate(complete_groups(fits, labels, 3)):
        distances = [np.linalg.norm(fits[i] - mean) for mean in means]
        right = kept.index(labels[i]) if labels[i] in kept else int(np.argmin(distances))
        assert found == right
    assert count[kept].sum() < 60


def test_the_cost_is_the_inertia_of_scikit_learn_and_the_least_one_wins():
    fits = np.random.default_rng(2).standard_normal((50, 2))
    model = KMeans(4, n_init=5, random_state=0).fit(fits)
    assert cost(fits, model.labels_, 4) == pytest.approx(model.inertia_)
    other = np.random.default_rng(3).permutation(model.labels_)
    first = (cheapest(fits, [other, model.labels_], 4), complete_groups(fits, model.labels_, 4))
    np.testing.assert_array_equal(*first)


def test_an_empty_group_has_no_mean_that_attracts():
    means = group_means(np.array([[1.0], [3.0]]), np.array([0, 0]), 2)
    assert means[0] == 2.0
    assert np.isinf(means[1])


def test_the_graph_is_that_of_scikit_learn_and_the_choice_that_of_certified_solutions():
    fits, _, truth = drawn({"m": 120, "size_min": 24, "sample": 50, "n": 100}, 5)
    clusterings, parts = neighbour_clusterings(fits)
    graph = kneighbors_graph(fits, 10)
    graph = graph.maximum(graph.T)
    mean = ((fits[:, None] - fits[None]) ** 2).sum(axis=2).sum() / (120 * 119)
    low, high = graph.nonzero()
    graph.data[:] = np.exp(-0.5 * ((fits[low] - fits[high]) ** 2).sum(axis=1) / mean)
    ladder = fusing_penalty(fits, graph) / 2.0 ** np.arange(10, -1, -1)
    exact = [sparse_convex_clustering(fits, penalty, graph) for penalty in ladder]
    # The fast path may fuse two points too early.  What the rule chooses is the minimiser's.
    assert sum(fit.certified for fit in exact) >= 6
    best = cheapest(fits, [fit.labels for fit in exact], 5)
    np.testing.assert_array_equal(cheapest(fits, clusterings, 5), best)
    assert parts == exact[-1].n_clusters
    assert all(np.unique(truth[best == group]).size == 1 for group in range(5))


def test_with_many_samples_all_methods_but_the_asking_one_are_the_oracle():
    cell = {"m": 300, "size_min": 20, "sample": 300, "n": 10**6}
    found = rows(cell, 7, 3)
    for name in ("neighbours", "uniform", "km"):
        assert (found[f"{name}_same"] == 1.0).all()
        np.testing.assert_array_equal(found[name], found["oracle"])
    np.testing.assert_allclose(found["asked"], found["oracle"], rtol=1e-12)
    assert (found["asked_sent"] == found["sent"]).all()


def test_the_errors_are_those_of_the_drawn_fits():
    cell = {"m": 400, "size_min": 50, "sample": 40, "n": 60}
    found = rows(cell, 9)
    fits, own, truth = drawn(cell, 9)
    oracle = np.array([fits[truth == own_cluster].mean(axis=0) for own_cluster in truth])
    assert found["local"][0] == pytest.approx(((fits - own) ** 2).sum() / 400)
    assert found["oracle"][0] == pytest.approx(((oracle - own) ** 2).sum() / 400)
    # the mean of 400 errors of relative variance 2/d + 1/(n-d) or so: five standard errors
    expected = 5 / (60 - 5 - 1)  # d sigma^2 / (n - d - 1)
    assert found["local"][0] == pytest.approx(expected, rel=5 * np.sqrt(0.5 / 400))


def test_a_user_sends_its_fit_once_and_only_the_asked_ones_do():
    found = rows({"m": 200, "size_min": 40, "sample": 50}, 1)
    assert found["sent"][0] == found["received"][0] == 200 * 5
    assert found["asked_sent"][0] == 50 * 5
    assert found["asked_received"][0] == 50 * 5 + 150 * 5 * 5


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ({"m": 100, "size_min": 21}, "size_min=21 must be <= m/k=20"),
        ({"m": 100, "sample": 101}, "sample=101 must be between k=5 and m=100"),
        ({"sample": 3}, "sample=3 must be between k=5 and m=1000"),
        ({"n": 4}, "n=4 must be >= d=5"),
        ({"k": 6, "size_min": 10}, "d=5 must be >= k=6"),
    ],
)
def test_bad_cells_are_refused(cell, text):
    with pytest.raises(InvalidParameter, match=text):
        NEIGHBOURS.check(cell)

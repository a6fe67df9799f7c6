"""IFCA from several starts and the number of clusters, against plain NumPy and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score

from trials.checks import InvalidParameter
from trials.experiments.odcl.linear import STARTS, draw, draw_users
from trials.experiments.odcl.number import NUMBER
from trials.local_erm import least_squares


def rows(experiment, cell, seed, n_trials=1):
    table = experiment.simulate(experiment.check(cell), np.random.default_rng(seed), n_trials)
    return dict(zip(experiment.columns, table.T, strict=True))


def test_with_one_cluster_the_rounds_are_local_steps_and_their_mean():
    cell = {"optima": "one", "m": 10, "n": 60, "T": 3, "step": 0.05, "gradient": 2.0}
    found = rows(STARTS, cell, 4)
    rng = np.random.default_rng(4)
    x, y, optima, _ = draw(STARTS.check(cell), rng)
    average = least_squares(x, y).theta.mean(axis=0)

    def after(model):
        for _ in range(3):
            local = np.tile(model, (10, 1))
            for _ in range(10):
                residuals = np.einsum("ind,id->in", x, local) - y
                local -= 0.05 * 2.0 / 60 * np.einsum("ind,in->id", x, residuals)
            model = local.mean(axis=0)
        return ((model - optima[0]) ** 2).sum() / (optima[0] ** 2).sum()

    assert found["one_shot"][0] == pytest.approx(
        ((average - optima[0]) ** 2).sum() / (optima[0] ** 2).sum()
    )
    assert found["near"][0] == pytest.approx(after(np.zeros(20)))
    assert found["warm"][0] == pytest.approx(after(average))


def test_starts_near_the_optima_and_at_odcl_settle_at_the_same_models():
    cell = {"optima": "four", "m": 40, "n": 400, "T": 60, "step": 0.1, "gradient": 2.0}
    found = rows(STARTS, cell, 0, 4)
    assert found["near"] == pytest.approx(found["warm"], rel=1e-6)
    assert (found["random"] >= found["near"] * (1 - 1e-6)).all()


def test_the_numbers_of_clusters_are_those_of_scikit_learn():
    cell = {"optima": "four", "m": 20, "n": 200, "k_max": 7}
    for seed in range(3):
        found = rows(NUMBER, cell, seed)
        fits = draw_users(NUMBER.check(cell), np.random.default_rng(seed)).fits
        models = [KMeans(k, n_init=10, random_state=0).fit(fits) for k in range(1, 8)]
        scores = [silhouette_score(fits, model.labels_) for model in models[1:]]
        saved = -np.diff([model.inertia_ for model in models])
        assert found["silhouette"][0] == 2 + int(np.argmax(scores))
        assert found["elbow"][0] == 1 + int(np.argmax(saved < 4 * 20 * 20 / 200))
        assert found["silhouette_right"][0] == (found["silhouette"][0] == 4)


@pytest.mark.parametrize("k_max", [4, 101])
def test_the_numbers_tried_hold_the_true_one(k_max):
    with pytest.raises(InvalidParameter, match="must be from 5 to m=100"):
        NUMBER.check({"optima": "four", "k_max": k_max})

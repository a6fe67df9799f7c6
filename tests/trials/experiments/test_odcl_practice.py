"""IFCA from several starts and the number of clusters, against plain NumPy and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score

from trials.checks import InvalidParameter
from trials.clustering.kmeans import kmeans_pp
from trials.clustering.selection import convex_partition, interval_lambda
from trials.experiments.odcl.fits import COORDINATE_FIT, MEAN_FIT, SGD
from trials.experiments.odcl.linear import LINEAR, ROUNDS, STARTS, draw, draw_users
from trials.experiments.odcl.number import NUMBER
from trials.laws.bounded_fits import moments
from trials.local_erm import least_squares
from trials.run.streams import faster_stream


def rows(experiment, cell, seed, n_trials=1):
    table = experiment.simulate(experiment.check(cell), np.random.default_rng(seed), n_trials)
    return dict(zip(experiment.columns, table.T, strict=True))


def test_with_one_cluster_the_rounds_are_local_steps_and_their_mean():
    cell = {"optima": "one", "m": 10, "n": 60, "T": 3, "step": 0.05, "gradient": 2.0}
    found = rows(STARTS, cell, 4)
    rng = faster_stream(np.random.default_rng(4))
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


@pytest.mark.parametrize("experiment", [ROUNDS, STARTS], ids=["rounds", "starts"])
@pytest.mark.parametrize("runs", [1, 3])
def test_a_trial_is_the_mean_of_runs_with_data_of_their_own(experiment, runs):
    """Its runs are those that trials of one run each draw from the same stream, one by one."""
    cell = {"optima": "four", "m": 8, "n": 40, "d": 5, "T": 5, "local_steps": 2}
    alone = rows(experiment, {**cell, "runs": 1}, 11, 2 * runs)
    together = rows(experiment, {**cell, "runs": runs}, 11, 2)
    assert len(set(alone["one_shot"])) == 2 * runs
    for name, values in alone.items():
        means = [sum(values[:runs]) / runs, sum(values[runs:]) / runs]
        assert together[name] == pytest.approx(means, rel=1e-12), name


def test_the_numbers_of_clusters_are_those_of_scikit_learn():
    cell = {"optima": "four", "m": 20, "n": 200, "k_max": 7}
    for seed in range(3):
        found = rows(NUMBER, cell, seed)
        fits = draw_users(NUMBER.check(cell), faster_stream(np.random.default_rng(seed))).fits
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


def mean_error(models, optima):
    """The mean over users of the squared error over the optimum's square, user by user."""
    pairs = zip(models, optima, strict=True)
    return np.mean([((a - b) ** 2).sum() / (b**2).sum() for a, b in pairs])


def means_of(fits, labels):
    """Each user's model: the mean fit of the users of its label."""
    return np.stack([fits[labels == own].mean(axis=0) for own in labels])


@pytest.mark.parametrize("n", [12, 60])
def test_the_methods_errors_are_those_of_the_drawn_users(n):
    """Four clusters.  With few samples the methods find other partitions than the true one."""
    cell = {"optima": "four", "m": 12, "n": n, "d": 5}
    table = LINEAR.simulate(LINEAR.check(cell), np.random.default_rng(8), 6)
    rng, failed = faster_stream(np.random.default_rng(8)), 0
    for found in table:
        found = dict(zip(LINEAR.columns, found, strict=True))
        grams, sums, fits, optima, truth = draw_users(LINEAR.check(cell), rng)
        own = optima[truth]
        ten, one = (kmeans_pp(fits[None], 4, rng, n_init=i).labels[0] for i in (10, 1))
        penalty, interval = interval_lambda(fits[None], truth[None], rng)
        convex = convex_partition(fits, float(penalty[0]))
        pooled = [np.linalg.solve(grams[truth == j].sum(0), sums[truth == j].sum(0)) for j in truth]
        expected = {
            "local": fits,
            "naive": np.tile(fits.mean(axis=0), (12, 1)),
            "averaging": means_of(fits, truth),
            "pooled": pooled,
            "km": means_of(fits, one),
            "km_ten": means_of(fits, ten),
            "cc": means_of(fits, convex),
        }
        for name, models in expected.items():
            assert found[name] == pytest.approx(mean_error(models, own), rel=1e-9), name
        assert found["cc_clusters"] == len(set(convex))
        for name, labels in (("km_same", one), ("km_ten_same", ten)):
            same = ((labels[:, None] == labels) == (truth[:, None] == truth)).all()
            assert found[name] == same
            failed += not same
        if interval.lower[0] < interval.upper[0]:
            assert found["cc"] == pytest.approx(found["averaging"], rel=1e-9)
        assert found["path"] == found["path_clusters"] == found["printed_clusters"] == 0.0
    assert (failed > 0) is (n == 12)


def test_the_clusterpath_of_few_samples_is_that_of_the_users_or_of_all():
    cell = {"optima": "four", "m": 8, "n": 12, "d": 5, "clusterpath": "yes"}
    found = {name: x[0] for name, x in rows(LINEAR, cell, 8).items()}
    assert found["path_clusters"] in {1.0, 8.0}
    assert found["path"] == found["local" if found["path_clusters"] == 8 else "naive"]
    assert 1 <= found["printed_clusters"] <= 8


@pytest.mark.parametrize(
    ("method", "T", "step", "met"), [("km", 200, 0.1, True), ("cc", 30, 5e-3, False)]
)
def test_the_rounds_until_ifca_is_as_good_as_one_shot_are_counted(method, T, step, met):
    cell = {
        "optima": "four", "m": 8, "n": 40, "d": 5, "T": T, "step": step, "method": method,
        "local_steps": 2, "gradient": 2.0, "nearest": 0.3, "farthest": 0.45,
    }  # fmt: skip
    found = rows(ROUNDS, cell, 3)
    rng = faster_stream(np.random.default_rng(3))
    grams, sums, fits, optima, truth = draw_users(ROUNDS.check(cell), rng)
    if method == "km":
        labels = kmeans_pp(fits[None], 4, rng, n_init=10).labels[0]
    else:
        labels = convex_partition(fits, float(interval_lambda(fits[None], truth[None], rng)[0][0]))
    one_shot = mean_error(means_of(fits, labels), optima[truth])
    gaps = [np.linalg.norm(a - b) for a in optima for b in optima if a is not b]
    directions = rng.standard_normal((4, 5))
    share = rng.uniform(0.3, 0.45, (4, 1))
    lengths = np.linalg.norm(directions, axis=1, keepdims=True)
    models = optima + share * min(gap for gap in gaps if gap > 0) * directions / lengths
    errors = []
    for _ in range(max(T, 120) + 1):
        losses = [
            [0.5 * w @ g @ w - b @ w for w in models] for g, b in zip(grams, sums, strict=True)
        ]
        own = np.argmin(losses, axis=1)
        errors.append(mean_error(models[own], optima[truth]))
        local = models[own]
        for _ in range(2):
            slopes = np.einsum("iab,ib->ia", grams, local) - sums
            local = local - step * 2.0 * slopes
        models = np.stack(
            [local[own == j].mean(axis=0) if (own == j).any() else models[j] for j in range(4)]
        )
    below = [t for t in range(T + 1) if errors[t] <= one_shot]
    assert bool(below) is met
    assert min(errors) <= one_shot  # also where that is after the last round that counts
    assert found["matched"][0] == met
    assert found["rounds"][0] == (below[0] if met else T)
    assert found["one_shot"][0] == pytest.approx(one_shot)
    assert found["tenth"][0] == pytest.approx(one_shot / 10)
    assert found["last"][0] == pytest.approx(errors[below[0] if met else T] / one_shot)
    for t in (20, 70, 120):
        assert found[f"round_{t}"][0] == pytest.approx(errors[t])


def test_a_fit_of_coordinates_that_were_not_seen_is_zero_there():
    """One sample sees one of d coordinates, and its mean there is 1 or -1 in units of sigma."""
    for d in (1, 4):
        cell = {"n": 1, "d": d, "optimum": 3.0, "sigma": 0.5}
        found = rows(COORDINATE_FIT, cell, 1, 50)["squared_error"]
        np.testing.assert_allclose(found, (9.0 * (d - 1) + 0.25) / d)
    found = rows(COORDINATE_FIT, {"n": 6, "d": 4, "optimum": 2.0, "sigma": 0.0}, 2, 400)
    missing = found["squared_error"].round(12)
    assert set(missing) <= {0.0, 1.0, 2.0, 3.0}
    # each coordinate is missed with probability (3/4)^6
    assert missing.mean() == pytest.approx(4 * 0.75**6, abs=5 * missing.std() / 20)


@pytest.mark.parametrize("m", [1, 64, 65, 500])
def test_the_mean_of_fits_has_the_moments_of_its_users(m):
    """Up to 64 users each fit is drawn, beyond them the numbers of users with equal fits."""
    cell = {"n": 12, "m": m, "kappa": 0.2, "gradient": 1.5}
    found = rows(MEAN_FIT, cell, 3, 3000)["squared_error"]
    one = moments(12, "two-point", 1, 1.0, 1.5, 0.2)
    expected = one.squared_bias + (one.mean_square - one.squared_bias) / m
    assert found.mean() == pytest.approx(expected, abs=5 * found.std() / np.sqrt(3000))


def test_projected_steps_with_gaussian_noise_have_their_variance():
    """Two iterates: the second is the first less its gradient and the noise, inside the ball."""
    cell = {"T": 2, "m": 3000, "R": 50.0, "h": 1.0, "sigma": 2.0, "noise": "gaussian"}
    found = {name: x[0] for name, x in rows(SGD, cell, 4).items()}
    # theta_1 = 50, theta_2 = noise, average = (50 + 2 noise) / 3
    assert found["last"] == pytest.approx(4.0, abs=5 * 4.0 * np.sqrt(2 / 3000))
    assert found["mean_fit"] <= 25 * 4.0 / 3000
    assert found["average"] == pytest.approx(
        (2500.0 + 16.0) / 9.0, abs=5 * (200.0 * 2.0 + 16.0 * 2) / 9.0 / np.sqrt(3000)
    )
    one = rows(SGD, {**cell, "T": 1}, 4)
    assert [x[0] for x in one.values()] == [2500.0] * 3

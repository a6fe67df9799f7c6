"""Baselines against exact laws, closed forms and literal loops; symmetries of every estimator."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

pytest.importorskip("sklearn")

from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.cluster import AgglomerativeClustering
from sklearn.exceptions import ConvergenceWarning

from trials.checks import InvalidParameter, shown
from trials.methods.pacfl import proximity
from trials.models.clients import ClientData
from verify import estimators
from verify.benchmark.federation import FEDERATION, draw
from verify.benchmark.fitting import fit
from verify.estimators import (
    CFL,
    IFCA,
    PACFL,
    ClusterOracle,
    FederatedRegression,
    FeSEM,
    GlobalModel,
    GlobalRound,
    GroupedMixture,
    KFed,
    LocalModels,
    MomentDescent,
    OneShotClustering,
    OracleAverage,
)
from verify.estimators.base import Outcome

TRUTH = np.array([[2.0, -1.0, 0.5], [-2.0, 1.0, 1.0]])


def ragged(seed=0, m=14, noise=0.1):
    rng = np.random.default_rng(seed)
    of = np.repeat(np.arange(m), rng.integers(4, 30, m))
    x = rng.standard_normal((len(of), 3))
    return x, (x * TRUTH[of % 2]).sum(axis=1) + noise * rng.standard_normal(len(of)), of


def all_of_them(m=14):
    return [
        LocalModels(),
        GlobalModel(),
        GlobalModel(algorithm="fedavg", n_rounds=20, local_steps=3),
        GlobalModel(algorithm="fedprox", n_rounds=20),
        ClusterOracle(dict(enumerate(np.arange(m) % 2))),
        OracleAverage(dict(enumerate(np.arange(m) % 2))),
        IFCA(random_state=0, n_rounds=60),
        *(
            OneShotClustering(clusterer=name, random_state=0)
            for name in ("k-means++", "spectral", "sparse-convex", "gradient", "convex")
        ),
        FederatedRegression(random_state=0, n_rounds=40, n_init=3),
        CFL(n_rounds=60),
        FeSEM(random_state=0),
        KFed(),
        GroupedMixture(random_state=0),
        GroupedMixture(algorithm="em", random_state=0),
        PACFL(p=1),
    ]


IDS = [f"{type(e).__name__}-{getattr(e, 'clusterer', getattr(e, 'algorithm', ''))}" for e in
       all_of_them()]  # fmt: skip


def test_baselines_are_least_squares_of_the_rows_that_they_own():
    x, y, of = ragged()
    local = LocalModels().fit(x, y, clients=of)
    one = GlobalModel().fit(x, y, clients=of)
    oracle = ClusterOracle(np.arange(14) % 2).fit(x, y, clients=of)
    average = OracleAverage(np.arange(14) % 2).fit(x, y, clients=of)
    for i in range(14):
        own = np.linalg.lstsq(x[of == i], y[of == i], rcond=None)[0]
        np.testing.assert_allclose(local.models_[local.labels_[i]], own, rtol=1e-9)
    np.testing.assert_allclose(one.models_[0], np.linalg.lstsq(x, y, rcond=None)[0], rtol=1e-9)
    for j in range(2):
        rows = of % 2 == j
        pooled = np.linalg.lstsq(x[rows], y[rows], rcond=None)[0]
        np.testing.assert_allclose(oracle.models_[j], pooled, rtol=1e-9)
        np.testing.assert_allclose(average.models_[j], local.models_[j::2].mean(axis=0), rtol=1e-9)


def test_fedavg_and_fedprox_are_the_loop_over_clients():
    x, y, of = ragged()
    for algorithm, steps in (("fedavg", 3), ("fedprox", 1)):
        fit = GlobalModel(algorithm=algorithm, n_rounds=7, step_size=0.2, local_steps=steps)
        theta = np.zeros(3)
        for _ in range(7):
            total = np.zeros(3)
            for i in range(14):
                a, b = x[of == i], y[of == i]
                n = len(b)
                if algorithm == "fedprox":
                    own = np.linalg.solve(a.T @ a / n + np.eye(3) / 0.2, a.T @ b / n + theta / 0.2)
                else:
                    own = theta
                    for _ in range(steps):
                        own = own - 0.2 * a.T @ (a @ own - b) / n
                total += n * own
            theta = total / len(y)
        np.testing.assert_allclose(fit.fit(x, y, clients=of).models_[0], theta, rtol=1e-9)


@pytest.mark.statistical
def test_the_error_of_the_cluster_oracle_has_its_exact_law():
    """E |theta - theta*|^2 = sigma^2 d / (N - d - 1), N rows a cluster.

    400 fits of two clusters; six standard errors, false alarms below 1e-8.
    """
    rng = np.random.default_rng(7)
    m, n, d, sigma = 4, 10, 4, 0.5
    of = np.repeat(np.arange(m), n)
    errors = []
    for _ in range(400):
        x = rng.standard_normal((m * n, d))
        truth = rng.standard_normal((2, d))
        y = (x * truth[of % 2]).sum(axis=1) + sigma * rng.standard_normal(m * n)
        fit = ClusterOracle(np.arange(m) % 2).fit(x, y, clients=of)
        errors.append(((fit.models_ - truth) ** 2).sum(axis=1).mean())
    law = sigma**2 * d / (2 * n - d - 1)
    assert abs(np.mean(errors) - law) < 6 * np.std(errors) / np.sqrt(len(errors))
    # the naive sigma^2 d / N would be noticed
    assert abs(np.mean(errors) - sigma**2 * d / (2 * n)) > 6 * np.std(errors) / np.sqrt(400)


@pytest.mark.parametrize("estimator", all_of_them(), ids=IDS)
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 2**16))
def test_order_of_rows_and_names_of_clients_change_nothing(estimator, seed):
    x, y, of = ragged(seed)
    before = clone(estimator).fit(x, y, clients=of)
    models, labels = before.models_.copy(), before.labels_.copy()
    rng = np.random.default_rng(seed)
    order = np.argsort(of + 0.9 * rng.random(len(of)), kind="stable")  # within the clients
    order = order[np.argsort(rng.random(14)[of[order]], kind="stable")]  # and the clients
    after = clone(estimator).fit(x[order], y[order], clients=of[order])
    np.testing.assert_allclose(after.models_, models, rtol=1e-6, atol=1e-8)
    assert np.array_equal(after.labels_, labels)
    names = [("site", int(i)) for i in of]
    if "Oracle" in type(estimator).__name__:
        estimator = type(estimator)(labels={("site", i): i % 2 for i in range(14)})
    named = clone(estimator).fit(x, y, clients=names)
    np.testing.assert_allclose(named.models_, models, rtol=1e-12)
    assert named.clients_.tolist() == [("site", i) for i in range(14)]


@pytest.mark.parametrize("estimator", all_of_them(), ids=IDS)
@settings(max_examples=4, deadline=None)
@example(seed=0, rows=-27, targets=27)  # models of 1e16, beyond which unit models have diverged
@given(seed=st.integers(0, 2**16), rows=st.integers(-27, 27), targets=st.integers(-27, 27))
def test_units_of_rows_and_targets_scale_the_models(estimator, seed, rows, targets):
    x, y, of = ragged(seed)
    models, labels = estimator.fit(x, y, clients=of).models_.copy(), estimator.labels_.copy()
    scaled = estimator.fit(2.0**rows * x, 2.0**targets * y, clients=of)
    back = 2.0 ** (rows - targets) * scaled.models_
    np.testing.assert_allclose(back, models, rtol=1e-6, atol=1e-8)
    assert np.array_equal(scaled.labels_, labels)


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**16))
def test_every_client_twice_changes_no_model_that_has_no_random_part(seed):
    x, y, of = ragged(seed, m=6)
    start = TRUTH + 0.3
    for one, two in (
        (ClusterOracle(np.arange(6) % 2), ClusterOracle(np.arange(12) % 2)),
        (OracleAverage(np.arange(6) % 2), OracleAverage(np.arange(12) % 2)),
        (GlobalModel(), GlobalModel()),
        (IFCA(init=start, n_rounds=20), IFCA(init=start, n_rounds=20)),
        (GlobalModel(algorithm="fedprox"), GlobalModel(algorithm="fedprox")),
    ):
        single = one.fit(x, y, clients=of)
        twice = two.fit(np.tile(x, (2, 1)), np.tile(y, 2), clients=np.concatenate([of, of + 6]))
        np.testing.assert_allclose(twice.models_, single.models_, rtol=1e-7, atol=1e-9)
        assert np.array_equal(twice.labels_, np.tile(single.labels_, 2))


def test_ifca_is_algorithm_2_line_by_line():
    x, y, of = ragged()
    start = TRUTH[::-1] + 0.4
    for averaging in ("gradient", "model"):
        fit = IFCA(init=start, n_rounds=9, step_size=0.3, averaging=averaging)
        fit.fit(x, y, clients=of)
        models, losses = start.copy(), []
        for _ in range(9):
            labels, steps = np.empty(14, dtype=int), np.zeros((14, 3))
            for i in range(14):
                a, b = x[of == i], y[of == i]
                labels[i] = np.argmin([np.mean((b - a @ t) ** 2) for t in models])
                steps[i] = a.T @ (a @ models[labels[i]] - b) / len(b)
            for j in range(2):
                own = steps[labels == j]
                if len(own):
                    share = len(own) / 14 if averaging == "gradient" else 1.0
                    models[j] = models[j] - 0.3 * share * own.mean(axis=0)
            losses.append(0.5 * np.mean((y - (x * models[labels[of]]).sum(axis=1)) ** 2))
        np.testing.assert_allclose(fit.models_, models, rtol=1e-9)
        np.testing.assert_allclose(fit.history_["loss"], losses, rtol=1e-9)
        assert np.array_equal(fit.labels_, labels)
        assert (fit.floats_up_, fit.floats_down_) == (9 * 14 * (3 + 2), 9 * 14 * 2 * 3)


def test_automatic_steps_never_raise_the_loss():
    """On clients of different sizes the mean over clients falls, which is not that over rows."""
    x, y, of = ragged()
    sizes = np.bincount(of)
    for seed in range(4):
        means = []
        for n_rounds in range(9):
            fit = IFCA(3, random_state=seed, n_rounds=n_rounds).fit(x, y, clients=of)
            losses = 0.5 * (y[:, None] - x @ fit.models_.T) ** 2
            own = np.stack([np.bincount(of, loss) / sizes for loss in losses.T], axis=1)
            means.append(own.min(axis=1).mean())
        assert (np.diff(means) < 1e-12).all()
    x, y, of = x[:160], y[:160], np.repeat(np.arange(16), 10)
    for seed in range(4):
        fit = IFCA(3, random_state=seed, n_rounds=40).fit(x, y, clients=of)
        assert (np.diff(fit.history_["loss"]) <= 1e-12).all()


def test_many_local_steps_may_raise_the_loss():
    """F_1 = (1 - t)^2 / 2 and F_2 = .01 (1 + t)^2 / 2 have their common minimiser at .99 / 1.01.

    The clients' own are 1 and -1, whose mean is 0.
    """
    x, y = np.array([[1.0], [0.1]]), np.array([1.0, -0.1])
    best = 0.99 / 1.01
    fit = IFCA(1, init=[[best]], local_steps=9999, n_rounds=1).fit(x, y, clients=[0, 1])
    assert fit.models_[0, 0] == pytest.approx(0.0, abs=1e-12)
    assert fit.history_["loss"][-1] == pytest.approx(0.25 * 1.01)
    assert fit.history_["loss"][-1] > 0.25 * ((1 - best) ** 2 + 0.01 * (1 + best) ** 2)
    one = IFCA(1, init=[[best]], n_rounds=1).fit(x, y, clients=[0, 1])
    assert one.models_[0, 0] == pytest.approx(best)


@pytest.mark.parametrize("clusterer", ["k-means++", "spectral", "sparse-convex", "gradient"])
def test_one_shot_clustering_finds_the_clusters_and_means(clusterer):
    x, y, of = ragged()
    fit = OneShotClustering(clusterer=clusterer, random_state=1).fit(x, y, clients=of)
    local = LocalModels().fit(x, y, clients=of).models_
    means = np.stack([local[fit.labels_ == j].mean(axis=0) for j in range(2)])
    np.testing.assert_allclose(fit.models_, means, rtol=1e-12)
    cost = np.abs(fit.models_[:, None] - TRUTH).sum(axis=2)
    order = linear_sum_assignment(cost)[1]
    assert np.array_equal(order[fit.labels_], np.arange(14) % 2)


def test_a_client_that_a_clusterer_leaves_out_keeps_its_own_model():
    """Two clients far from all others, and from each other, would share their mean."""
    from sklearn.cluster import DBSCAN

    truth = np.array([[1.0, 0.0]] * 4 + [[-1.0, 0.0]] * 4 + [[0.0, 50.0], [90.0, 0.0]])
    of = np.repeat(np.arange(10), 12)
    x = np.random.default_rng(0).standard_normal((len(of), 2))
    y = np.einsum("nd,nd->n", x, truth[of])
    clusterer = DBSCAN(eps=0.5, min_samples=2)
    fit = OneShotClustering(clusterer=clusterer).fit(x, y, clients=of)
    assert len(set(fit.labels_[:4].tolist())) == len(set(fit.labels_[4:8].tolist())) == 1
    assert len(fit.models_) == len(set(fit.labels_.tolist())) == 4
    np.testing.assert_allclose(fit.models_[fit.labels_], truth, atol=1e-9)
    np.testing.assert_allclose(fit.predict(x, clients=of), y, atol=1e-9)


def test_rounds_within_the_clusters_go_on_from_the_means():
    x, y, of = ragged()
    shot = OneShotClustering(random_state=1).fit(x, y, clients=of)
    fit = OneShotClustering(random_state=1, n_rounds=300).fit(x, y, clients=of)
    weights = 1.0 / np.bincount(of)[of]  # clients count equally
    for j in range(2):
        rows = shot.labels_[of] == j
        w = weights[rows, None]
        exact = np.linalg.solve(x[rows].T @ (w * x[rows]), x[rows].T @ (w[:, 0] * y[rows]))
        np.testing.assert_allclose(fit.models_[j], exact, rtol=1e-6)
    assert fit.floats_up_ == 301 * shot.floats_up_
    assert len(fit.history_["loss"]) == fit.n_rounds_ == 301


class Huber:
    """A loss of one's own."""

    def values(self, features, responses, theta):
        r = np.abs(features @ theta - responses)
        return np.where(r < 1.0, 0.5 * r * r, r - 0.5)

    def gradients(self, features, responses, theta):
        return np.clip(features @ theta - responses, -1.0, 1.0)[:, None] * features


class HalfSquare:
    """The squared loss in the form of one's own."""

    def values(self, features, responses, theta):
        return 0.5 * (features @ theta - responses) ** 2

    def gradients(self, features, responses, theta):
        return (features @ theta - responses)[:, None] * features


def test_a_loss_of_ones_own_runs_everywhere_and_the_squared_one_agrees():
    x, y, of = ragged()
    start = TRUTH + 0.5
    for estimator in (
        LocalModels(),
        GlobalModel(),
        ClusterOracle(np.arange(14) % 2),
        OracleAverage(np.arange(14) % 2),
        OneShotClustering(random_state=0),
        IFCA(init=start, n_rounds=15, step_size=0.2),
        IFCA(init=start, n_rounds=15, step_size=0.2, local_steps=2, n_participants=6,
             random_state=1),
    ):  # fmt: skip
        compiled = estimator.fit(x, y, clients=of)
        models, curve = compiled.models_.copy(), compiled.history_["loss"]
        sent = (compiled.floats_up_, compiled.floats_down_)
        own = estimator.set_params(loss=HalfSquare()).fit(x, y, clients=of)
        np.testing.assert_allclose(own.models_, models, rtol=1e-5, atol=1e-6)
        if isinstance(estimator, IFCA):
            assert (own.floats_up_, own.floats_down_) == sent
        assert own.history_["loss"] == pytest.approx(curve, rel=1e-5)  # of all rows, every round
        assert np.isfinite(estimator.set_params(loss=Huber()).fit(x, y, clients=of).models_).all()


@pytest.mark.parametrize(
    "estimator",
    [
        CFL(n_rounds=80),
        FeSEM(random_state=0),
        KFed(),
        GroupedMixture(random_state=0),
        GroupedMixture(algorithm="em", random_state=0),
        GroupedMixture(algorithm="em", init="random", random_state=0),
        FederatedRegression(random_state=0, n_init=5),
    ],
)
def test_the_other_methods_find_the_clusters_and_come_near_the_oracle(estimator):
    x, y, of = ragged()
    fit = estimator.fit(x, y, clients=of)
    oracle = ClusterOracle(np.arange(14) % 2).fit(x, y, clients=of)
    assert len(fit.models_) == 2
    own = fit.models_[fit.labels_] - oracle.models_[oracle.labels_]
    assert np.linalg.norm(own, axis=1).max() < 0.2
    assert fit.floats_up_ > 0


def test_kfed_of_rows_and_pacfl_cluster_by_the_law_of_the_rows():
    rng = np.random.default_rng(2)
    of = np.repeat(np.arange(10), 30)
    x = rng.standard_normal((300, 3)) + 8.0 * np.eye(3)[of % 2]
    x[:, 2] *= 0.01
    y = (x * TRUTH[of % 2]).sum(axis=1)
    for estimator in (KFed(of="rows", random_state=0), PACFL(p=1)):
        fit = estimator.fit(x, y, clients=of)
        assert fit.labels_.tolist() == [0, 1] * 5
        np.testing.assert_allclose(fit.models_, TRUTH, atol=1e-6)


def test_rows_of_a_new_client_are_used_to_find_its_cluster_or_are_scored():
    """Half of them, rounded down, find it.  With one row it gets the model of most clients."""
    x = np.repeat([[1.0], [2.0]], 5, axis=0)
    rows, signs = np.tile(x, (3, 1)), np.repeat([1.0, 1.0, -1.0], 10)
    found = KFed().fit(rows, signs * rows[:, 0], clients=np.repeat([0, 1, 2], 10))
    assert found.labels_.tolist() == [0, 0, 1]
    for most in (0, 1):
        found.labels_ = np.array([most, most, 1 - most])
        labels, scored = found._places(x[:1], np.ones(1), ["new"])
        assert (labels.tolist(), scored.tolist()) == ([most], [True])
    for n in (2, 3, 5, 8):
        labels, scored = found._places(x[:n], -x[:n, 0], ["new"] * n)
        assert (labels == 1).all()
        assert scored.tolist() == [False] * (n // 2) + [True] * (n - n // 2)


def test_pacfl_counts_the_vectors_that_each_client_has():
    """Of p = 2 vectors a client with one row sends one, and the rest is as in `GlobalModel`."""
    x, y, _ = ragged()
    clients = np.repeat([0, 1, 2], [1, 2, 17])
    sent = PACFL(p=2).fit(x[:20], y[:20], clients=clients).floats_up_
    assert sent - GlobalModel().fit(x[:20], y[:20], clients=clients).floats_up_ == (1 + 2 + 2) * 3


def test_clients_never_seen_are_assigned_by_their_loss():
    x, y, of = ragged()
    fit = IFCA(random_state=0).fit(x, y, clients=of)
    new_x, new_y, new_of = ragged(seed=5)
    found = fit.assign(new_x, new_y, clients=new_of)
    assert np.array_equal(found, fit.labels_)
    np.testing.assert_allclose(fit.predict_as(new_x, found[new_of]), new_y, atol=1.0)
    assert fit.score(new_x, new_y, clients=[f"new {i}" for i in new_of]) > 0.98
    with pytest.raises(ValueError, match="clients=None must hold the client of each row"):
        fit.score(new_x, new_y)
    with pytest.raises(ValueError, match="client 'new 0' was not fitted"):
        fit.predict(new_x, clients=[f"new {i}" for i in new_of])


BAD = [
    ({"X": [[1.0], [np.nan]]}, "row 1, client 'b', column 0"),
    ({"y": [1.0, np.inf]}, "Input y contains infinity .* Row 1, client 'b'"),
    ({"y": ["good", "bad"]}, "y='good' must be a number, unless loss='logistic'"),
    ({"y": ["1.5", "2.5"]}, "y='1.5' must be a number"),
    ({"y": np.array([2.0, None], dtype=object)}, "missing value: row 1, client 'b'"),
    ({"X": np.array([[1.0, 2.0j]] * 2)}, "Complex data not supported"),
    ({"X": np.ma.masked_greater([[1.0], [2.0]], 1.5)}, "X must have no masked entries"),
    ({"y": np.ma.masked_greater([1.0, 2.0], 1.5)}, "y must have no masked entries"),
    ({"clients": np.ma.masked_greater([1, 2], 1)}, "clients must have no masked entries"),
    ({"clients": ["a"]}, r"clients has shape \(1,\) and X has 2 rows"),
    ({"clients": ["a", None]}, r"clients\[1\]=None names no client"),
    ({"clients": [1.0, np.nan]}, r"clients\[1\]=nan names no client"),
    ({"clients": [["a"], ["b"]]}, r"clients\[0\]=\['a'\] names no client"),
    ({"X": [[1.0, 1.0], [1.0, 1.0]]}, "column 1 is constant beside column 0"),
]


@pytest.mark.parametrize(("change", "message"), BAD, ids=[why for _, why in BAD])
def test_bad_data_get_one_line_that_names_the_client_or_the_column(change, message):
    table = {"X": [[1.0], [2.0]], "y": [1.0, 2.0], "clients": ["a", "b"], **change}
    with pytest.raises(ValueError, match=message) as caught:
        LocalModels().fit(**table)
    assert "\n" not in str(caught.value)


def test_bad_parameters_get_one_line():
    x, y, of = ragged()
    for estimator, message in (
        (IFCA(0), r"n_clusters=0 must be an integer in \[1, 14\]"),
        (IFCA(15), r"n_clusters=15 must be"),
        (IFCA(init=np.zeros((3, 3))), r"init.shape=\(3, 3\) must be \(2, 3\)"),
        (IFCA(step_size=1e9), "must be smaller: every start diverged"),
        (IFCA(step_size="big"), "step_size='big' must be a finite number"),
        (IFCA(random_state="x"), "random_state='x' must be"),
        (IFCA(loss="hinge"), "loss='hinge' must be squared, logistic"),
        (IFCA(loss=Huber()), "step_size='auto' must be a number"),
        (ClusterOracle(), "labels=None must hold the true cluster"),
        (ClusterOracle({0: 1}), "labels has no cluster for client 1"),
        (ClusterOracle([0, 1]), "labels must hold 14 clusters"),
        (ClusterOracle([0, None] * 7), "labels=None names no cluster for client 1"),
        (ClusterOracle([[0]] * 14), r"labels=\[0\] names no cluster for client 0"),
        (ClusterOracle(np.ma.masked_equal(np.arange(14), 3)), "labels must have no masked"),
        (IFCA(fit_intercept="no"), "fit_intercept='no' must be True or False"),
        (LocalModels(fit_intercept=-1), "fit_intercept=-1 must be True or False"),
        (IFCA(record_loss="no"), "record_loss='no' must be True or False"),
        (FederatedRegression(record_loss=None), "record_loss=None must be True or False"),
        (PACFL(None), "n_clusters=None and beta=None: give one of them"),
        (PACFL(linkage="ward"), "linkage='ward' must be one of average"),
        (OneShotClustering(clusterer="magic"), "clusterer='magic' must be one of"),
        (OneShotClustering(options=[1]), r"options=\[1\] must be a mapping"),
        (
            OneShotClustering(options={"k": 3}),
            "has 'k', and clusterer='k-means..' takes n_init",
        ),
        (
            OneShotClustering(clusterer="convex", options={"n_init": 3}),
            "'n_init', .* takes tol",
        ),
        (
            OneShotClustering(clusterer=AgglomerativeClustering(2), options={"n_init": 3}),
            "options must be None: a clusterer of one's own",
        ),
        (
            OneShotClustering(clusterer="sparse-convex", options={"n_penalties": 1}),
            "n_penalties=1 must be an integer in",
        ),
        (GlobalModel(algorithm="sgd"), "algorithm='sgd' must be one of"),
        (GlobalModel(algorithm="fedavg", step_size=1e9), "must be smaller: the rounds diverged"),
    ):
        with pytest.raises(ValueError, match=message) as caught:
            estimator.fit(x, y, clients=of)
        assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="all rows belong to client 'one'"):
        IFCA(2).fit(x, y, clients=["one"] * len(y))
    labels = np.where(x[:, 0] > 0, 1.0, -1.0)
    with pytest.raises(ValueError, match="on every client, but the fit of client 'c7'"):
        LocalModels(loss="logistic", l2=0.0).fit(x, labels, clients=[f"c{i:x}" for i in of])


class Wrong(Huber):
    """A loss that gives something else than one entry a row."""

    def __init__(self, name, change):
        self.name, self.change = name, change

    def values(self, *given):
        found = super().values(*given)
        return self.change(found) if self.name == "values" else found

    def gradients(self, *given):
        found = super().gradients(*given)
        return self.change(found) if self.name == "gradients" else found


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("values", np.mean, r"shape \(\), and must be \(\d+,\)"),
        ("values", lambda v: v[:, None], r"shape \(\d+, 1\), and must be"),
        ("values", lambda v: v + 0j, "must be an array of real numbers"),
        ("gradients", lambda g: g.mean(axis=0), r"shape \(3,\), and must be \(\d+, 3\)"),
    ],
)
@pytest.mark.parametrize("method", [LocalModels, OneShotClustering, IFCA])
def test_a_loss_of_ones_own_gives_one_entry_a_row(method, name, change, message):
    """Mean gradients were spread over the rows, and the fits ended somewhere else."""
    x, y, of = ragged()
    more = {"step_size": 0.1} if method is IFCA else {}
    with pytest.raises(ValueError, match=f"the result of loss.{name} .*{message}"):
        method(loss=Wrong(name, change), **more).fit(x, y, clients=of)


@pytest.mark.parametrize("more", [{}, {"loss": HalfSquare()}])
def test_rounds_that_end_before_the_labels_settle_warn(more):
    """Clients with the targets 1 and 4 share the model 2, at distances 1 and 2.

    Its step takes it to 2.5.  Then the other model -.4 is nearer to the first client, for ever.
    """
    x, y, of = np.ones((2, 1)), np.array([1.0, 4.0]), [0, 1]
    for n_rounds, changes in ((1, [2]), (2, [2, 1]), (3, [2, 1, 0])):
        method = IFCA(n_rounds=n_rounds, init=[[-0.4], [2.0]], step_size=1.0, **more)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            fit = method.fit(x, y, clients=of)
        assert fit.history_["label_changes"] == changes
        assert [(w.category, Path(w.filename).name) for w in told] == [
            (ConvergenceWarning, Path(__file__).name)
        ] * (n_rounds == 2)


def told_by(method, x, y, of):
    """The fit, and each warning as (category, file that it names, text)."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        fit = method.fit(x, y, clients=of)
    return fit, [(w.category, Path(w.filename).name, str(w.message)) for w in told]


@pytest.mark.parametrize("record", [False, True])
def test_phase_2_that_ends_before_the_labels_settle_warns(record):
    """One client of the target 1 and three of 4, by the step .9 of a curvature 1.

    All share the model 2, which goes by .9 (3.25 - 2) to 3.125 in a round.  Then -.4 is nearer to
    the first client, for ever.
    """
    x, y, of = np.ones((4, 1)), np.array([1.0, 4.0, 4.0, 4.0]), [0, 1, 2, 3]
    for n_rounds, changes in ((0, []), (1, [4]), (2, [4, 1]), (3, [4, 1, 0])):
        method = FederatedRegression(
            n_rounds=n_rounds, init=[[-0.4], [2.0]], step_size=0.9, record_loss=record
        )
        fit, told = told_by(method, x, y, of)
        assert fit.history_["label_changes"] == changes
        assert [(kind, file) for kind, file, _ in told] == [
            (ConvergenceWarning, Path(__file__).name)
        ] * (n_rounds == 2)
        if n_rounds == 1:
            assert fit.models_[:, 0] == pytest.approx([-0.4, 3.125])


def test_both_phases_warn_of_the_second_one():
    """The start of Phase 2 is that of `test_phase_2_that_ends_before_the_labels_settle_warns`."""

    class Begun(MomentDescent):
        def _solve(self, data, loss, rng):
            return Outcome(
                models=np.array([[-0.4], [2.0]]), labels=np.zeros(4, dtype=int),
                history={"residual": [0.0], "loss": [0.0]},
            )  # fmt: skip

    x, y, of = np.ones((4, 1)), np.array([1.0, 4.0, 4.0, 4.0]), [0, 1, 2, 3]
    for n_rounds in (2, 3):
        method = GlobalRound(
            phase_1=Begun(), phase_2=FederatedRegression(n_rounds=n_rounds, step_size=0.9)
        )
        fit, told = told_by(method, x, y, of)
        assert fit.history_["label_changes"] == [4, 1, 0][:n_rounds]
        assert [(kind, file) for kind, file, _ in told] == [
            (ConvergenceWarning, Path(__file__).name)
        ] * (n_rounds == 2)
        assert all("n_rounds of phase_2" in text for *_, text in told)


def test_alternating_minimisation_that_ends_before_the_labels_settle_warns():
    """Targets 0, 4, 5, 6 from the models 4.4 and 6.5.

    The last one alone leaves 4.4, and the means are 3 and 6.  Then 5 leaves, too: 2 and 5.5.  Then
    4: 0 and 5, which stay.
    """
    x, y, of = np.ones((4, 1)), np.array([0.0, 4.0, 5.0, 6.0]), [0, 1, 2, 3]
    for n_rounds, models, warns in (
        (1, [3, 6], 0),
        (2, [2, 5.5], 1),
        (3, [0, 5], 0),
        (9, [0, 5], 0),
    ):
        method = GroupedMixture(n_rounds=n_rounds, init=[[4.4], [6.5]])
        fit, told = told_by(method, x, y, of)
        assert fit.models_[:, 0] == pytest.approx(models, abs=1e-12)
        assert [(kind, file) for kind, file, _ in told] == [
            (ConvergenceWarning, Path(__file__).name)
        ] * warns


def test_angles_that_are_zero_for_every_data_set_warn():
    """Three features are spanned by three vectors of any client, and two planes share a line."""
    x, y, of = ragged()
    for p, measure, zero in (
        (1, "sum", False), (2, "sum", False), (3, "sum", True), (9, "sum", True),
        (1, "smallest", False), (2, "smallest", True), (3, "trace", False),
    ):  # fmt: skip
        _, told = told_by(PACFL(p=p, measure=measure), x, y, of)
        assert [(kind, file) for kind, file, _ in told] == [
            (UserWarning, Path(__file__).name)
        ] * zero
        data = ClientData(
            features=x[np.argsort(of, kind="stable")], responses=y,
            offsets=np.concatenate([[0], np.cumsum(np.unique(of, return_counts=True)[1])]),
        )  # fmt: skip
        assert (proximity(data, p, measure).max() < 1e-6) == zero
    assert not told_by(PACFL(1, p=3), x, y, of)[1]


@pytest.mark.parametrize("scale", [1e200, -1e151])
@pytest.mark.parametrize("method", [LocalModels(), OneShotClustering(), PACFL(p=1), IFCA()])
def test_a_table_of_too_large_numbers_names_the_row_and_its_client(method, scale):
    x, y, of = ragged()
    table, far = x.copy(), y.copy()
    table[7, 1], far[9] = scale, scale
    for row, column, wanted in ((7, ", column 1", "X"), (9, "", "y")):
        given = (table, y) if wanted == "X" else (x, far)
        where = f"row {row}, client {shown(of[row].item())}{column}"
        with pytest.raises(InvalidParameter, match=rf"entry of {wanted}, 1e.*: {where}\."):
            method.fit(*given, clients=of)


def test_fits_of_a_benchmark_leave_the_filters_of_warnings_alone(monkeypatch):
    """They hold for all threads: a fit that ends last would put back what another one had set."""
    federation = draw(
        FEDERATION.check({"m": 4, "n": 5, "d": 1, "k": 2, "sigma": 3.0}), np.random.default_rng(0)
    )
    solve, seen = IFCA._solve, []

    def watched(self, *args):
        seen.append(warnings.filters)
        return solve(self, *args)

    monkeypatch.setattr(IFCA, "_solve", watched)
    fit("ifca", [{"n_rounds": 2}], federation, 0)
    assert len(seen) == 1
    assert seen[0] is warnings.filters


def test_a_benchmark_does_not_warn_of_its_own_method():
    """The table shows what it reached."""
    federation = draw(
        FEDERATION.check({"m": 4, "n": 5, "d": 1, "k": 2, "sigma": 3.0}), np.random.default_rng(0)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        changes = [
            fit("ifca", [{"n_rounds": 2, "step_size": 0.5}], federation, seed).losses.size
            for seed in range(20)
        ]
    assert changes == [2] * 20


@pytest.mark.parametrize(
    ("rows", "targets", "message"),
    [
        (1e-160, 1.0, "entry of X, .*e-160 in size, must be in .1e-100, 1e.100.: choose another"),
        (1.0, 1e160, "entry of y, .*e.160 in size, must be in"),
        (1e-60, 1e60, "y over X has the unit .*e.120: choose units in which it is at most 1e.88"),
    ],
)
@pytest.mark.parametrize("method", [IFCA(random_state=0), IFCA(loss=Huber(), step_size=0.1)])
def test_units_beyond_the_range_of_floats_are_refused_and_not_fitted_at_the_start(
    method, rows, targets, message
):
    x, y, of = ragged()
    with pytest.raises(ValueError, match=message):
        method.fit(rows * x, targets * y, clients=of)


def test_a_kernel_with_narrower_limits_says_its_own():
    x, y, of = ragged()
    unit = f"{1e20 * np.sqrt((y**2).mean() / (x**2).sum(axis=1).mean()):.3g}"
    for method in (FederatedRegression(random_state=0), GlobalModel(algorithm="fedprox")):
        with pytest.raises(ValueError, match=re.escape(f"has the unit {unit}: choose units in "
                                                       "which it is at most 1e+18")):  # fmt: skip
            method.fit(1e-10 * x, 1e10 * y, clients=of)
    for method in (CFL(), FeSEM(), GroupedMixture()):
        with pytest.raises(ValueError, match=r"entry of X, .*e-160 in size"):
            method.fit(1e-160 * x, y, clients=of)


def test_given_starts_are_in_the_unit_of_the_data():
    """Models of 1e16 are refused for rows of unit 1, and are the right ones for rows of 1e-16."""
    x, y, of = ragged(noise=0.0)
    far = 1e16 * TRUTH
    for init, message in (
        (far, "init has a model of norm 2.45e.16: it must be at most 1.37e.12"),
        (np.full((2, 3), np.nan), r"init\[0, 0\]=nan must be finite"),
    ):
        with pytest.raises(ValueError, match=message):
            IFCA(init=init).fit(x, y, clients=of)
    fit = IFCA(init=1.01 * far, n_rounds=300).fit(1e-16 * x, y, clients=of)
    np.testing.assert_allclose(fit.models_, far, rtol=1e-6)


def test_a_long_message_of_scikit_learn_is_cut_in_its_middle():
    with pytest.raises(ValueError, match=r"^Expected 2D array.* \.\.\. .*single sample\.$") as it:
        LocalModels().fit(np.arange(1e4, 1e4 + 999) / 7, np.ones(999), clients=np.arange(999))
    assert len(str(it.value)) < 401
    with pytest.raises(ValueError, match="client 'a b'"):  # whatever y holds
        LocalModels(loss="logistic").fit([[1.0], [2.0]], np.array(["x", None], dtype=object),
                                         clients=["a b"] * 2)  # fmt: skip


def test_a_column_of_pandas_is_a_mapping_where_its_index_holds_all_clients():
    pd = pytest.importorskip("pandas")
    x, y, of = ragged()
    names = np.array([f"c{i:02}" for i in of])
    truth = pd.Series(np.arange(14) % 2, index=sorted(set(names)))
    turned = ClusterOracle(truth[::-1]).fit(x, y, clients=names)
    assert turned.labels_.tolist() == truth.tolist()
    for clients in (names, of + 1):  # an index 0..13 names no client, or all but one
        in_order = ClusterOracle(truth.reset_index(drop=True)).fit(x, y, clients=clients)
        assert in_order.labels_.tolist() == truth.tolist()


def test_weights_of_rows_are_numbers():
    x, y, of = ragged()
    fit = LocalModels().fit(x, y, clients=of)
    for weight in (["1"] * len(y), np.ma.masked_less(np.arange(float(len(y))), 3)):
        with pytest.raises(ValueError, match="sample_weight must"):
            fit.score(x, y, clients=of, sample_weight=weight)


def test_an_outlier_of_the_oracle_is_fitted_alone():
    x, y, of = ragged()
    labels = np.arange(14) % 2
    labels[3] = -1
    fit = ClusterOracle(labels).fit(x, y, clients=of)
    assert fit.labels_.tolist() == [0, 1, 0, 2, *(np.arange(4, 14) % 2)]
    own = LocalModels().fit(x, y, clients=of)
    np.testing.assert_allclose(fit.models_[2], own.models_[3], rtol=1e-9)


def test_every_public_name_is_loaded_when_asked_for():
    assert dir(estimators) == sorted(estimators.__all__)
    for name in estimators.__all__:
        assert getattr(estimators, name).__name__ == name
    with pytest.raises(AttributeError, match="has no attribute 'Ifca'"):
        _ = estimators.Ifca


@pytest.mark.parametrize("power", [-1000, -600, 0, 300])
def test_a_score_does_not_depend_on_the_unit_of_the_responses(power):
    """R^2 is a ratio of squares.  Those of responses of 1e-300 vanish, and the score was 1."""
    x, y, of = ragged()
    unit = 2.0**power
    fit = GlobalModel().fit(x, y * unit, clients=of)
    found = fit.predict(x, clients=of) / unit
    r2 = 1.0 - ((y - found) ** 2).sum() / ((y - y.mean()) ** 2).sum()
    assert r2 < 0.9
    assert fit.score(x, y * unit, clients=of) == pytest.approx(r2, rel=1e-9)

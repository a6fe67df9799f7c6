"""NumPy twins, written with loops, of what the estimators share: clients, predictions, losses."""

import itertools
import math
import re

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.base import BaseEstimator, ClusterMixin

from trials.checks import InvalidParameter
from trials.clustering.convex import convex_clustering, convex_clustering_path
from trials.clustering.gradient import gradient_clustering
from trials.clustering.kmeans import kmeans_pp, seed_kmeans_pp, spectral_kmeans
from trials.clustering.sparse import neighbour_weights, sparse_convex_clustering
from trials.models.clients import ClientData
from trials.models.losses import LogisticLoss, SquaredLoss
from verify.estimators import (
    CFL,
    IFCA,
    PACFL,
    ClusterOracle,
    FederatedRegression,
    FeSEM,
    GlobalModel,
    GroupedMixture,
    KFed,
    LocalModels,
    OneShotClustering,
)
from verify.estimators.baselines import cluster_means, floats_of_rows, known_clusters
from verify.estimators.ifca import random_starts
from verify.estimators.losses import (
    client_losses,
    mean_loss,
    minimisers,
    pooled,
    smoothness,
    step_of,
)
from verify.estimators.one_shot import _cut_convex, _cut_sparse, _weights
from verify.estimators.rows import read_rows
from verify.estimators.splitting import WholeClients

SIZES = [1, 2, 3, 5, 1, 4]


def ragged(rng, sizes=(1, 2, 3, 5, 1, 4), d=2):
    """Clients one below the other."""
    n = sum(sizes)
    return ClientData(
        features=rng.standard_normal((n, d)),
        responses=rng.standard_normal(n),
        offsets=np.concatenate([[0], np.cumsum(sizes)]),
    )


def rows_of(data, i):
    own = slice(data.offsets[i], data.offsets[i + 1])
    return data.features[own], data.responses[own]


# -- clients of rows -----------------------------------------------------------------------------

NAMES = {
    "sorted": [1, 1, 4, 4, 9],
    "unsorted": [9, 1, 4, 1, 9],
    "negative": [-2, 7, -2, 0, 7],
    "large": [2**62, 5, 2**62, 5, -(2**62)],
    "unsigned": np.array([3, 1, 3, 2**63 + 1, 1], dtype=np.uint64),
    "floats": np.array([0.5, -1.0, 0.5, 3.0, -1.0]),
    "text": ["b", "a", "b", "ä", "a"],
    "bytes": np.array([b"b", b"a", b"b", b"c", b"a"]),
    "mixed": ["b", 1, "b", None.__class__, 1],
    "pairs": [(1, "x"), (0, "y"), (1, "x"), (1, "a"), (0, "y")],
}


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("whole", [False, True])
def test_a_row_keeps_its_client_and_clients_are_in_order(kind, whole):
    values = NAMES[kind]
    if whole and not isinstance(values, np.ndarray):
        given = np.empty(len(values), dtype=object)
        given[:] = values
    else:
        given = values
    found = read_rows(given, 5)
    ids = found.ids.tolist()
    assert [ids[j] for j in found.owner] == list(values.tolist() if isinstance(values, np.ndarray)
                                                 else values)  # fmt: skip
    distinct = list(dict.fromkeys(values.tolist() if isinstance(values, np.ndarray) else values))
    assert ids == (distinct if kind == "mixed" else sorted(distinct))


@pytest.mark.parametrize("missing", [None, float("nan"), []])
def test_the_first_row_without_a_client_is_named(missing):
    with pytest.raises(InvalidParameter, match=r"clients\[3\]=.* names no client"):
        read_rows(["a", "b", "a", missing, missing], 5)
    if missing is not None and missing != []:
        with pytest.raises(InvalidParameter, match=r"clients\[1\]="):
            read_rows(np.array([1.0, np.nan, np.nan]), 3)


@pytest.mark.parametrize(
    "values",
    [
        np.array(["2020-01-01", "NaT", "NaT"], dtype="datetime64[D]"),
        np.array([1, "NaT", 2], dtype="timedelta64[s]"),
        np.array([1.0, complex(0.0, np.nan), 2.0]),
    ],
    ids=["day", "duration", "complex"],
)
def test_a_missing_time_is_no_client(values):
    with pytest.raises(InvalidParameter, match=r"clients\[1\]=.* names no client"):
        read_rows(values, 3)


@pytest.mark.parametrize(
    "names",
    [
        [-1, 2**63 + 1, 2**63 + 2, 2**63 + 1],  # 64-bit hashes of both signs: an array rounds them
        [2**64 + 1, 2**64 + 2, 5, 2**64 + 1],
        ["site\0", "site", "other", "site\0"],  # an array drops the NUL
    ],
)
@pytest.mark.parametrize("as_objects", [False, True])
def test_no_two_clients_become_one(names, as_objects):
    found = read_rows(np.array(names, dtype=object) if as_objects else names, 4)
    assert [found.ids.tolist()[j] for j in found.owner] == names
    assert found.ids.tolist() == sorted(set(names))


@pytest.mark.parametrize("frozen", [False, True])
def test_rows_are_put_together_client_by_client_in_their_order(frozen):
    rng = np.random.default_rng(0)
    who = rng.permutation(np.repeat(np.arange(6), SIZES))
    x, y = rng.standard_normal((16, 2)), np.arange(16.0)
    x.setflags(write=not frozen)
    data = read_rows(who, 16).client_data(x, y)
    assert np.diff(data.offsets).tolist() == SIZES
    assert data.features.flags.writeable
    for i in range(6):
        own_x, own_y = rows_of(data, i)
        assert own_y.tolist() == [float(r) for r in range(16) if who[r] == i]
        np.testing.assert_array_equal(own_x, x[own_y.astype(int)])


@pytest.mark.parametrize("seed", [None, 0, 1])
def test_folds_are_filled_with_the_largest_client_first(seed):
    rng = np.random.default_rng(3)
    sizes = [4, 7, 1, 4, 2, 7, 1, 1, 9]
    who = rng.permutation(np.repeat(np.arange(9), sizes))
    order = list(range(9)) if seed is None else np.random.default_rng(seed).permutation(9).tolist()
    order.sort(key=lambda i: -sizes[i])  # stable: equal clients keep their order
    folds, filled = [[] for _ in range(4)], [0] * 4
    for i in order:
        least = filled.index(min(filled))
        folds[least].append(i)
        filled[least] += sizes[i]
    found = list(WholeClients(4, random_state=seed).split(np.zeros((36, 1)), clients=who))
    for clients, (train, test) in zip(folds, found, strict=True):
        assert test.tolist() == [r for r in range(36) if who[r] in clients]
        assert train.tolist() == [r for r in range(36) if who[r] not in clients]


# -- losses --------------------------------------------------------------------------------------


class Own:
    """The squared loss with a penalty, as a user would write it."""

    def values(self, x, y, theta):
        return 0.5 * (y - x @ theta) ** 2 + 0.05 * (theta @ theta)

    def gradients(self, x, y, theta):
        return (x @ theta - y)[:, None] * x + 0.1 * theta


def of_one_row(loss, x, y, theta):
    """The loss of one row, and its penalty."""
    margin = sum(a * b for a, b in zip(x, theta, strict=True))
    square = sum(t * t for t in theta)
    if isinstance(loss, LogisticLoss):
        return math.log1p(math.exp(-y * margin)), 0.5 * loss.l2 * square
    scale = getattr(loss, "scale", 1.0)
    return 0.5 * scale * (y - margin) ** 2, 0.5 * getattr(loss, "l2", 0.1) * square


LOSSES = [SquaredLoss(), SquaredLoss(l2=0.3, scale=2.0), LogisticLoss(l2=0.2), Own()]


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: repr(loss)[:24])
@pytest.mark.parametrize("k", [1, 3, 8, 9, 11])
def test_losses_of_clients_and_of_all_rows_are_loops_over_rows(loss, k):
    rng = np.random.default_rng(k)
    data = ragged(rng)
    if isinstance(loss, LogisticLoss):
        data = ClientData(features=data.features, responses=np.sign(data.responses),
                          offsets=data.offsets)  # fmt: skip
    models = rng.standard_normal((k, 2))
    found = client_losses(data, models, loss)
    for i in range(6):
        x, y = rows_of(data, i)
        for j, theta in enumerate(models):
            each = [of_one_row(loss, a, b, theta) for a, b in zip(x, y, strict=True)]
            assert found[i, j] == pytest.approx(sum(a + b for a, b in each) / len(each))
    labels = rng.integers(0, k, 6)
    labels[2] = -1
    ours = not isinstance(loss, Own)  # a penalty of ours is left out
    values = [
        sum(of_one_row(loss, a, b, models[labels[i]])[: 1 if ours else 2])
        for i in range(6)
        if labels[i] >= 0
        for a, b in zip(*rows_of(data, i), strict=True)
    ]
    assert mean_loss(data, models, labels, loss) == pytest.approx(sum(values) / len(values))


@pytest.mark.parametrize("loss", LOSSES[:3], ids=lambda loss: repr(loss)[:24])
@pytest.mark.parametrize("d", [1, 2, 4])
def test_smoothness_is_the_largest_curvature_of_a_client(loss, d):
    rng = np.random.default_rng(d)
    data = ragged(rng, d=d)
    curvature = 0.25 if isinstance(loss, LogisticLoss) else loss.scale
    largest = max(
        np.linalg.eigvalsh(x.T @ x / len(x))[-1] for x, _ in (rows_of(data, i) for i in range(6))
    )
    assert smoothness(data, loss) == pytest.approx(curvature * largest + loss.l2)


def test_the_largest_curvature_may_be_that_of_a_client_behind_the_first_part():
    """Clients of 512 rows are taken 16 at a time."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((18 * 512, 512))
    x[17 * 512 :] *= 3.0
    data = ClientData(features=x, responses=np.zeros(len(x)), offsets=512 * np.arange(19))
    own = x[17 * 512 :]
    largest = np.linalg.eigvalsh(own.T @ own / 512)[-1]
    assert smoothness(data, SquaredLoss()) == pytest.approx(largest)


@pytest.mark.parametrize("l2", [0.0, 0.7])
@pytest.mark.parametrize("unit", [1.0, 1e-3])
def test_the_automatic_step_of_one_client_and_one_column_is_newtons(l2, unit):
    """Its length is one over the curvature with the penalty, which is that at zero."""
    rng = np.random.default_rng(2)
    x, of = unit * rng.standard_normal((9, 1)), np.zeros(9, dtype=int)
    y, sign = rng.standard_normal(9), np.where(rng.random(9) < 0.5, -1.0, 1.0)
    square = x[:, 0] @ x[:, 0]
    ridge = x[:, 0] @ y / (square + 9 * l2)  # from any start: the loss is a parabola
    for method in (IFCA(1, n_rounds=1, l2=l2), GlobalModel(algorithm="fedavg", n_rounds=1, l2=l2)):
        assert method.fit(x, y, clients=of).models_ == pytest.approx(np.array([[ridge]]))
    flat = GlobalModel(algorithm="fedavg", n_rounds=1, loss="logistic", l2=l2)
    newton = x[:, 0] @ sign / 2 / (square / 4 + 9 * l2)
    assert flat.fit(x, sign, clients=of).models_ == pytest.approx(np.array([[newton]]))


def test_where_nothing_curves_the_automatic_step_is_one():
    rows = ClientData(features=np.zeros((4, 2)), responses=np.ones(4), offsets=np.array([0, 1, 4]))
    assert step_of("auto", rows, SquaredLoss()) == 1.0
    assert step_of("auto", rows, SquaredLoss(l2=4.0)) == 0.25


def test_pooled_rows_are_those_of_the_clusters_clients():
    rng = np.random.default_rng(6)
    data, labels = ragged(rng), np.array([2, 0, 1, 0, 2, 1])
    found = pooled(data, labels, 3)
    for j in range(3):
        own = [rows_of(data, i) for i in range(6) if labels[i] == j]
        x, y = rows_of(found, j)
        np.testing.assert_array_equal(x, np.concatenate([a for a, _ in own]))
        np.testing.assert_array_equal(y, np.concatenate([b for _, b in own]))


def test_means_and_names_of_clusters():
    points, labels = (
        np.random.default_rng(7).standard_normal((7, 3)),
        np.array([1, 0, 1, 1, 2, 0, 2]),
    )
    found = cluster_means(points, labels, 3)
    for j in range(3):
        own = [p for p, label in zip(points, labels, strict=True) if label == j]
        np.testing.assert_allclose(found[j], sum(own) / len(own))
    names = list("abcde")
    said = {"a": "z", "b": -1, "c": "x", "d": -1, "e": "z"}
    assert known_clusters(said, names)[0].tolist() == [1, 2, 0, 3, 1]
    assert known_clusters(said, names)[1] == 4
    assert known_clusters([-1] * 5, names)[0].tolist() == [0, 1, 2, 3, 4]
    assert known_clusters([7, "x", 7, -1, "x"], names)[0].tolist() == [0, 1, 0, 2, 1]
    with pytest.raises(InvalidParameter, match="no cluster for client 'c'"):
        known_clusters({"a": 0, "b": 0}, names)
    with pytest.raises(InvalidParameter, match="must hold 5 clusters"):
        known_clusters([0, 1, 0, 1], names)


@pytest.mark.parametrize("d", [1, 2, 3, 7])
def test_rows_or_their_moments_are_sent_whichever_is_less(d):
    data = ragged(np.random.default_rng(8), d=d)
    moments = d * (d + 1) // 2 + d  # of X'X, which is symmetric, and of X'y
    assert floats_of_rows(data, SquaredLoss()) == sum(min(n * (d + 1), moments) for n in SIZES)
    assert floats_of_rows(data, LogisticLoss(l2=0.0)) == sum(n * (d + 1) for n in SIZES)


def test_a_minimiser_of_ones_own_loss_is_that_of_the_same_ridge_regression():
    data = ragged(np.random.default_rng(9))
    np.testing.assert_allclose(
        minimisers(data, Own()), minimisers(data, SquaredLoss(l2=0.1)), atol=1e-7
    )


# -- predictions ---------------------------------------------------------------------------------


def fitted_clusters(rng, loss="squared", intercept=False):
    """A fit with three clusters of 3, 2 and 1 clients, named out of order."""
    names = ["f", "b", "a", "e", "d", "c"]
    truth = {"a": 0, "b": 1, "c": 1, "d": 1, "e": 0, "f": 2}
    models = np.array([[2.0, 0.0], [0.0, 2.0], [-2.0, 1.0]])
    who = rng.permutation(np.repeat(names, 40))
    x = rng.standard_normal((240, 2))
    raw = np.einsum("nd,nd->n", x, models[[truth[w] for w in who]]) + 0.5 * intercept
    y = np.where(raw > 0, "yes", "no") if loss == "logistic" else raw
    fit = ClusterOracle(truth, loss=loss, l2=0.1 if loss == "logistic" else None,
                        fit_intercept=intercept).fit(x, y, clients=who)  # fmt: skip
    return fit, truth, models


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("intercept", [False, True])
def test_predictions_are_those_of_the_clients_own_model(loss, intercept):
    rng = np.random.default_rng(10)
    fit, truth, _ = fitted_clusters(rng, loss, intercept)
    who, x = ["c", "f", "a", "f", "e"], rng.standard_normal((5, 2))
    x[2] = 0.0
    scores = [
        float(row @ fit.models_[truth[w]] + fit.intercepts_[truth[w]])
        for w, row in zip(who, x, strict=True)
    ]
    assert (fit.intercepts_ != 0).all() == intercept
    found = fit.predict(x, clients=who)
    labelled = fit.predict_as(x, [truth[w] for w in who])
    if loss == "squared":
        np.testing.assert_allclose(found, scores)
        np.testing.assert_allclose(labelled, scores)
    else:
        assert found.tolist() == labelled.tolist() == ["yes" if s > 0 else "no" for s in scores]
        if not intercept:
            assert found[2] == "no"  # log odds of nothing: the first class
        np.testing.assert_allclose(fit.decision_function(x, clients=who), scores)
        odds = [1.0 / (1.0 + math.exp(-s)) for s in scores]
        np.testing.assert_allclose(fit.predict_proba(x, clients=who),
                                   [[1.0 - p, p] for p in odds])  # fmt: skip
    assert fit.predict_as(x, 2).tolist() == fit.predict_as(x, [2] * 5).tolist()
    for bad in (-1, 3):
        with pytest.raises(InvalidParameter, match=r"labels=.* must be in \[0, 3\)"):
            fit.predict_as(x, bad)
    with pytest.raises(InvalidParameter, match="client 'new' was not fitted"):
        fit.predict(x, clients=["a", "b", "new", "c", "d"])


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_new_client_is_placed_by_its_first_rows_and_scored_on_the_others(loss):
    """With one row it has the model of most clients, the first of equals."""
    rng = np.random.default_rng(11)
    fit, truth, models = fitted_clusters(rng, loss)
    new = {"n1": 1, "n2": 2, "n3": 3, "n5": 5}
    who = np.array(["a", "c", *(name for name, n in new.items() for _ in range(n)), "f"])
    who = who[rng.permutation(len(who))]
    x = rng.standard_normal((len(who), 2)) * 3.0
    own = {**truth, "n1": 0, "n2": 2, "n3": 0, "n5": 2}
    raw = np.einsum("nd,nd->n", x, models[[own[w] for w in who]]) + 0.3 * rng.standard_normal(
        len(who)
    )
    y = np.where(raw > 0, "yes", "no") if loss == "logistic" else raw
    said, weights = [], rng.uniform(0.5, 2.0, len(who))
    for w in dict.fromkeys(who.tolist()):
        mine = [i for i in range(len(who)) if who[i] == w]
        n_used = 0 if w in truth else len(mine) // 2
        if w in truth:
            label = truth[w]
        elif not n_used:
            label = 1  # three of six clients
        else:
            sign = np.where(y == "yes", 1.0, -1.0) if loss == "logistic" else y
            kind = LogisticLoss(l2=0.1) if loss == "logistic" else SquaredLoss()
            sums = [
                sum(sum(of_one_row(kind, x[i], sign[i], theta)) for i in mine[:n_used])
                for theta in fit.models_
            ]
            label = sums.index(min(sums))
        for i in mine[n_used:]:
            value = x[i] @ fit.models_[label]
            said.append((y[i], ("yes" if value > 0 else "no") if loss == "logistic" else value,
                         weights[i]))  # fmt: skip
    total = sum(w for _, _, w in said)
    if loss == "logistic":
        wanted = sum(w for a, b, w in said if a == b) / total
    else:
        mean = sum(w * a for a, _, w in said) / total
        wanted = 1.0 - sum(w * (a - b) ** 2 for a, b, w in said) / sum(
            w * (a - mean) ** 2 for a, _, w in said
        )
    assert fit.score(x, y, clients=who, sample_weight=weights) == pytest.approx(wanted)


def test_weights_and_labels_of_another_number_or_kind_are_refused_in_one_line():
    rng = np.random.default_rng(11)
    fit, _, models = fitted_clusters(rng)
    x = rng.standard_normal((3, 2))
    for labels in (0.7, [0.0, 1.0, 2.0], [0, 1], "a"):
        with pytest.raises(InvalidParameter, match="must be an integer, or 3 of them: one a row"):
            fit.predict_as(x, labels)
    np.testing.assert_allclose(fit.predict_as(x, [1]), x @ models[1])
    known = fit.clients_[:1].tolist() * 3
    for weights in ([1.0], np.ones((3, 1))):
        with pytest.raises(InvalidParameter, match=r"sample_weight has shape .* X has 3 rows"):
            fit.score(x, x[:, 0], clients=known, sample_weight=weights)


def test_clients_never_seen_get_the_model_of_least_mean_loss_in_the_order_of_their_names():
    rng = np.random.default_rng(12)
    fit, _, models = fitted_clusters(rng)
    own = {"z": 2, "x": 0, "y": 1}
    who = rng.permutation(np.repeat(["z", "x", "y"], [3, 1, 4]))
    x = rng.standard_normal((8, 2)) * 4.0
    y = np.einsum("nd,nd->n", x, models[[own[w] for w in who]])
    assert fit.assign(x, y, clients=who).tolist() == [0, 1, 2]


def test_one_model_needs_no_client_and_knows_every_one():
    rng = np.random.default_rng(13)
    x, y = rng.standard_normal((12, 2)), rng.standard_normal(12)
    fit = GlobalModel().fit(x, y, clients=np.repeat([3, 1, 2], 4))
    np.testing.assert_allclose(fit.predict(x), x @ np.linalg.lstsq(x, y, rcond=None)[0])
    np.testing.assert_allclose(fit.predict(x[:2], clients=["new", "other"]), fit.predict(x[:2]))
    assert (fit.n_rounds_, fit.floats_down_, fit.floats_up_) == (1, 6, 15)  # five numbers a client


# -- methods -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("k", [1, 2, 3, 5, 6, 7])
def test_a_path_is_cut_at_its_first_partition_of_at_most_k_clusters(seed, k):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((7, 2)) + 3.0 * rng.integers(0, 3, 7)[:, None]
    if seed % 2:
        points[3] = points[5]  # they are together before the first penalty
    path = convex_clustering_path(points)
    ends = np.unique([0.0, *path.breakpoints])
    middles = [*(0.5 * (a + b) for a, b in itertools.pairwise(ends)), 2 * ends[-1] + 1]
    parts = [np.unique(path.labels(at), return_inverse=True)[1].tolist() for at in middles]
    wanted = next((p for p in parts if max(p) < k), [0] * 7)
    found = np.unique(_cut_convex(points, k), return_inverse=True)[1].tolist()
    same = {(a, b) for a, b in zip(found, wanted, strict=True)}
    assert len(same) == max(found) + 1 == max(wanted) + 1


@pytest.mark.parametrize("k", [1, 2, 4])
def test_a_sparse_path_is_cut_at_its_first_partition_of_at_most_k_clusters(k):
    rng = np.random.default_rng(k)
    points = rng.standard_normal((12, 2)) * 0.1 + 5.0 * (np.arange(12) % 4)[:, None]
    found = _cut_sparse(points, _weights(points, 3), k)
    assert len(set(found.tolist())) == k
    assert len(set(_cut_sparse(points[:1], _weights(points[:1], 3), 1).tolist())) == 1
    if k == 4:
        assert {tuple(found[np.arange(12) % 4 == j].tolist()) for j in range(4)} == {
            (found[j],) * 3 for j in range(4)
        }


@pytest.mark.parametrize(("m", "asked", "has"), [(4, 10, 3), (4, 3, 3), (6, 2, 2), (2, 1, 1)])
def test_a_client_has_the_asked_neighbours_or_all_others(m, asked, has):
    points = np.random.default_rng(m).standard_normal((m, 2))
    wanted = neighbour_weights(points, has, decay=2.0, relative=True, connect="tree")
    found = _weights(points, asked)
    assert (found != wanted).nnz == 0
    if has == m - 1:
        assert found.nnz == m * (m - 1)


@pytest.mark.parametrize("local_steps", [1, 3])
def test_fedavg_of_a_penalised_loss_weights_clients_equally_and_has_the_penalty(local_steps):
    data = ragged(np.random.default_rng(18))
    fit = GlobalModel(algorithm="fedavg", n_rounds=4, step_size=0.05, local_steps=local_steps,
                      l2=2.0).fit(data.features, data.responses,
                                  clients=np.repeat(np.arange(6), SIZES))  # fmt: skip
    theta = np.zeros(2)
    for _ in range(4):
        sent = []
        for i in range(6):
            x, y = rows_of(data, i)
            own = theta
            for _ in range(local_steps):
                own = own - 0.05 * (x.T @ (x @ own - y) / len(y) + 2.0 * own)
            sent.append(own)
        theta = np.mean(sent, axis=0)
    np.testing.assert_allclose(fit.models_[0], theta, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_a_client_that_was_never_asked_has_the_model_of_least_loss(seed):
    """One of six clients takes part in the one round."""
    data = ragged(np.random.default_rng(19), (4, 5, 6, 4, 5, 6))
    starts = np.array([[3.0, 0.0], [0.0, 3.0], [-3.0, -3.0]])
    of = np.array([2, 0, 1, 2, 1, 0])
    who = np.repeat(np.arange(6), [4, 5, 6, 4, 5, 6])
    y = np.einsum("nd,nd->n", data.features, starts[of[who]])
    fit = IFCA(3, n_rounds=1, step_size=1e-3, init=starts, n_participants=1,
               random_state=seed).fit(data.features, y, clients=who)  # fmt: skip
    assert fit.labels_.tolist() == of.tolist()


@pytest.mark.parametrize("rounds", [0, 1, 3])
def test_one_shot_models_are_means_of_minimisers_and_rounds_go_on_within_the_clusters(rounds):
    rng = np.random.default_rng(14)
    sizes = [6, 9, 7, 8, 12, 6]
    data = ragged(rng, sizes)
    models = np.array([[3.0, 0.0], [-3.0, 1.0]])
    of = np.array([0, 1, 1, 0, 1, 0])
    y = np.einsum("nd,nd->n", data.features, models[np.repeat(of, sizes)])
    y += 0.1 * data.responses
    fit = OneShotClustering(2, n_rounds=rounds, step_size=0.1, random_state=0).fit(
        data.features, y, clients=np.repeat(np.arange(6), sizes)
    )
    local = [np.linalg.lstsq(data.features[a:b], y[a:b], rcond=None)[0]
             for a, b in zip(data.offsets[:-1], data.offsets[1:], strict=True)]  # fmt: skip
    theta = {j: np.mean([local[i] for i in range(6) if of[i] == j], axis=0) for j in (0, 1)}
    curve = []

    def note():
        r = [y[a] - data.features[a] @ theta[of[i]] for i in range(6)
             for a in range(data.offsets[i], data.offsets[i + 1])]  # fmt: skip
        curve.append(0.5 * sum(e * e for e in r) / len(r))

    note()
    for _ in range(rounds):
        moved = {}
        for i in range(6):
            x, t = data.features[data.offsets[i] : data.offsets[i + 1]], theta[of[i]]
            own = y[data.offsets[i] : data.offsets[i + 1]]
            moved[i] = t - 0.1 * x.T @ (x @ t - own) / len(own)
        theta = {j: np.mean([moved[i] for i in range(6) if of[i] == j], axis=0) for j in (0, 1)}
        note()
    np.testing.assert_allclose(fit.models_[fit.labels_], [theta[j] for j in of], atol=1e-10)
    np.testing.assert_allclose(fit.history_["loss"], curve)
    assert fit.n_rounds_ == 1 + rounds
    assert fit.floats_up_ == fit.floats_down_ == 6 * 2 * (1 + rounds)


def test_random_starts_have_the_unit_of_the_data():
    data = ragged(np.random.default_rng(15))
    plain = random_starts(data, "random", 3, 4, np.random.default_rng(0))
    other = ClientData(features=5.0 * data.features, responses=20.0 * data.responses,
                       offsets=data.offsets)  # fmt: skip
    scaled = random_starts(other, "random", 3, 4, np.random.default_rng(0))
    np.testing.assert_allclose(scaled, 4.0 * plain)
    unit = np.sqrt((data.responses**2).mean() / (data.features**2).sum(axis=1).mean())
    drawn = np.random.default_rng(0).standard_normal((4, 3, 2))
    np.testing.assert_allclose(plain, unit * drawn)
    zero = ClientData(features=data.features, responses=np.zeros(16), offsets=data.offsets)
    np.testing.assert_array_equal(
        random_starts(zero, "random", 3, 4, np.random.default_rng(0)), drawn
    )


@pytest.mark.parametrize("loss", ["squared", "own"])
def test_the_start_of_least_loss_is_kept_and_all_starts_are_counted(loss):
    rng = np.random.default_rng(16)
    sizes = [10] * 6
    data = ragged(rng, sizes)
    of = np.array([0, 1, 2, 0, 1, 2])
    models = np.array([[3.0, 0.0], [-3.0, 1.0], [0.0, -3.0]])
    y = np.einsum("nd,nd->n", data.features, models[np.repeat(of, sizes)])
    who = np.repeat(np.arange(6), sizes)

    class Plain:
        def values(self, x, y, theta):
            return 0.5 * (y - x @ theta) ** 2

        def gradients(self, x, y, theta):
            return (x @ theta - y)[:, None] * x

    given = Plain() if loss == "own" else "squared"
    each = []
    starts = random_starts(
        ClientData(features=data.features, responses=y, offsets=data.offsets), "random", 3, 5,
        np.random.default_rng(1),
    )  # fmt: skip
    for start in starts:
        fit = IFCA(3, n_rounds=12, step_size=0.1, init=start, loss=given).fit(
            data.features, y, clients=who
        )
        each.append((fit.history_["loss"][-1], fit))
    all_of_them = IFCA(3, n_rounds=12, step_size=0.1, n_init=5, loss=given, random_state=1).fit(
        data.features, y, clients=who
    )
    values = [value for value, _ in each]
    assert len({round(v, 6) for v in values}) > 1
    best = each[int(np.argmin(values))][1]
    np.testing.assert_allclose(all_of_them.models_, best.models_, atol=1e-9)
    assert all_of_them.labels_.tolist() == best.labels_.tolist()
    np.testing.assert_allclose(all_of_them.history_["loss"], best.history_["loss"], atol=1e-12)
    assert all_of_them.floats_up_ == 5 * best.floats_up_ == 5 * 12 * 6 * (2 + 3)
    assert all_of_them.floats_down_ == 5 * best.floats_down_ == 5 * 12 * 6 * 3 * 2
    residuals = [y[r] - data.features[r] @ best.models_[best.labels_[who[r]]] for r in range(60)]
    assert best.history_["loss"][-1] == pytest.approx(0.5 * np.mean(np.square(residuals)))


@pytest.mark.parametrize("rounds", [0, 1, 3])
def test_fesem_sends_local_models_before_its_first_round(rounds):
    data = ragged(np.random.default_rng(20), (4, 5, 6))
    fit = FeSEM(2, n_rounds=rounds, random_state=0).fit(
        data.features, data.responses, clients=np.repeat(np.arange(3), (4, 5, 6))
    )
    assert (fit.n_rounds_, fit.floats_up_, fit.floats_down_) == (
        rounds, (rounds + 1) * 6, rounds * 6
    )  # fmt: skip


def test_local_models_send_nothing_and_small_clients_get_the_least_norm():
    rng = np.random.default_rng(17)
    data = ragged(rng, (1, 4, 2), d=3)
    fit = LocalModels().fit(data.features, data.responses, clients=np.repeat([0, 1, 2], [1, 4, 2]))
    for i in range(3):
        x, y = rows_of(data, i)
        np.testing.assert_allclose(fit.models_[i], np.linalg.pinv(x) @ y, atol=1e-10)
    assert (fit.n_rounds_, fit.floats_up_, fit.floats_down_) == (0, 0, 0)


# -- what every method tells of its fit ----------------------------------------------------------

M, D, K = 8, 3, 2
#: An estimator, its rounds, and the floats that its documentation says are sent up and down.
TOLD = {
    "CFL": (lambda: CFL(n_rounds=4), 4, 4 * M * D, 4 * M * D),
    "FeSEM": (lambda: FeSEM(K, n_rounds=4, random_state=0), 4, 5 * M * D, 4 * M * D),
    "k-FED of models": (lambda: KFed(K), 1, M * D, M * D),
    "k-FED of rows": (
        lambda: KFed(K, of="rows", local_clusters=2, random_state=0),
        1, M * 2 * (D + 1) + M * 9, M * D,
    ),
    "mixture, spectral": (lambda: GroupedMixture(K, random_state=0), 1, M * (9 + 1 + 6), M * D),
    "mixture, random": (
        lambda: GroupedMixture(K, init="random", n_init=3, random_state=0), 1, M * (9 + 1), M * D,
    ),
    "EM": (
        lambda: GroupedMixture(K, algorithm="em", n_rounds=3, random_state=0),
        1, M * (9 + 1 + 6), M * D,
    ),
    "PACFL": (lambda: PACFL(K, p=5), 1, M * 3 * D + M * 9, M * D),
    "regression": (
        lambda: FederatedRegression(K, n_rounds=5, n_init=3, random_state=0),
        5, 3 * 5 * M * (D + K), 3 * 5 * M * K * D,
    ),
    "regression, round by round": (
        lambda: FederatedRegression(K, n_rounds=5, record_loss=True, random_state=0),
        5, 5 * M * (D + K), 5 * M * K * D,
    ),
    "regression without a round": (
        lambda: FederatedRegression(K, n_rounds=0, record_loss=True, random_state=0), 0, 0, 0,
    ),
}  # fmt: skip


def two_clusters(seed):
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(M), 12)
    x = rng.standard_normal((12 * M, D))
    models = np.array([[2.0, -1.0, 0.5], [-2.0, 1.0, 1.0]])
    return x, np.einsum("nd,nd->n", x, models[who % 2]) + 0.3 * rng.standard_normal(12 * M), who


@pytest.mark.parametrize("name", TOLD)
def test_a_fit_tells_its_rounds_its_floats_and_the_loss_of_its_models(name):
    make, rounds, up, down = TOLD[name]
    x, y, who = two_clusters(21)
    fit = make().fit(x, y, clients=who)
    assert (fit.n_rounds_, fit.floats_up_, fit.floats_down_) == (rounds, up, down)
    of_row = fit.models_[fit.labels_[who]]
    loss = 0.5 * np.mean((y - np.einsum("nd,nd->n", x, of_row)) ** 2)
    assert fit.history_["loss"][-1] == pytest.approx(loss)
    assert sorted(set(fit.labels_.tolist())) == list(range(len(fit.models_))) or rounds in (0, 5)


@pytest.mark.parametrize("n_init", [1, 6])
def test_the_start_of_least_loss_of_phase_2_is_kept_whether_losses_are_recorded_or_not(n_init):
    x, y, who = two_clusters(22)
    starts = random_starts(
        ClientData(features=x, responses=y, offsets=12 * np.arange(M + 1)), "random", K, n_init,
        np.random.default_rng(3),
    )  # fmt: skip
    each = [FederatedRegression(K, n_rounds=2, init=s).fit(x, y, clients=who) for s in starts]
    losses = [fit.history_["loss"][-1] for fit in each]
    best = each[losses.index(min(losses))]
    assert n_init == 1 or losses.index(min(losses)) > 0
    for record in (False, True):
        fit = FederatedRegression(
            K, n_rounds=2, n_init=n_init, record_loss=record, random_state=3
        ).fit(x, y, clients=who)
        np.testing.assert_allclose(fit.models_, best.models_, atol=1e-12)
        assert len(fit.history_["loss"]) == (2 if record else 1)
        assert fit.history_["loss"][-1] == pytest.approx(min(losses))


def test_the_random_start_of_a_mixture_with_the_least_last_loss_is_kept():
    x, y, who = two_clusters(23)
    data = ClientData(features=x, responses=y, offsets=12 * np.arange(M + 1))
    turned = 0
    for seed in range(8):
        starts = random_starts(data, "random", 3, 4, np.random.default_rng(seed))
        each = [
            GroupedMixture(3, init=s, n_rounds=2, algorithm="em").fit(x, y, clients=who)
            for s in starts
        ]
        first, last = (np.argmin([fit.history_["loss"][t] for fit in each]) for t in (0, -1))
        turned += first != last
        fit = GroupedMixture(
            3, init="random", n_init=4, n_rounds=2, algorithm="em", random_state=seed
        ).fit(x, y, clients=who)
        np.testing.assert_allclose(fit.models_, each[last].models_)
    assert turned


def test_a_client_joins_the_cluster_of_most_of_its_rows():
    """Each has rows of both kinds, in either order."""
    rng = np.random.default_rng(24)
    majority, rows = np.array([0, 1, 0, 1, 1, 0, 1, 0]), []
    for i, kind in enumerate(majority):
        kinds = [kind] * 9 + [1 - kind] * 3
        rows += kinds if i % 4 < 2 else kinds[::-1]
    x = 50.0 * np.array(rows)[:, None] + rng.standard_normal((96, 2))
    fit = KFed(2, of="rows", local_clusters=2, random_state=0).fit(
        x, x[:, 0], clients=np.repeat(np.arange(8), 12)
    )
    assert fit.labels_.tolist() in (majority.tolist(), (1 - majority).tolist())


def test_a_client_of_few_rows_sends_a_centre_for_each_and_a_group_of_no_majority_has_no_model():
    """Groups A, B and C lie far apart, and C has most rows nowhere: two of three clusters are left.

    The clients send 3 + 1 + 2 + 3 centres, and then X'X and X'y (5 floats) or rows (3 floats each).
    """
    places = {"A": (100.0, 0.0), "B": (0.0, 100.0), "C": (100.0, 100.0)}
    clients = ["AAAABAACAACA", "A", "BB", "BCB"]
    x = np.array([places[group] for group in "".join(clients)])
    who = np.repeat(np.arange(4), [len(groups) for groups in clients])
    truth = np.array([[0.01, 0.02], [-0.01, 0.03]])
    y = np.einsum("nd,nd->n", x, truth[who // 2])
    fit = KFed(3, of="rows", local_clusters=3, random_state=0).fit(x, y, clients=who)
    assert fit.labels_[[0, 0, 2]].tolist() == fit.labels_[[0, 1, 3]].tolist()
    assert sorted(set(fit.labels_.tolist())) == [0, 1]
    np.testing.assert_allclose(fit.models_[fit.labels_], truth[[0, 0, 1, 1]], atol=1e-12)
    assert len(fit.models_) == 2
    assert fit.floats_up_ == (3 + 1 + 2 + 3) * (2 + 1) + (5 + 3 + 5 + 5)
    assert (fit.n_rounds_, fit.floats_down_) == (1, 4 * 2)


def test_one_row_is_enough_for_a_fit():
    fit = GlobalModel().fit([[1.0, 2.0]], [5.0])
    np.testing.assert_allclose(fit.models_, [[1.0, 2.0]])


def partitions(points, options):
    """What each clusterer of one-shot clustering asks of which kernel, with the stream's state."""

    def stream():
        return np.random.default_rng(5)

    rng = stream()
    starts = points[seed_kmeans_pp(points[None], 3, rng)[0]]
    weights = neighbour_weights(points, 4, decay=2.0, relative=True, connect="tree")
    return {
        ("k-means++", None): kmeans_pp(points[None], 3, stream(), **options).labels[0],
        ("spectral", None): spectral_kmeans(points[None], 3, stream()).labels[0],
        ("gradient", None): gradient_clustering(points[None], starts[None]).labels[0],
        ("convex", 0.01): convex_clustering(points, 0.01).labels,
        ("convex", 10.0): np.zeros(len(points)),
        ("sparse-convex", 0.01): sparse_convex_clustering(points, 0.01, weights).labels,
    }


@pytest.mark.parametrize("n_init", [1, 7])
def test_a_clusterer_gets_the_local_models_the_options_and_the_stream(n_init):
    rng = np.random.default_rng(3)
    data = ragged(rng, [9] * 12, d=2)
    x, who = data.features, np.repeat(np.arange(12), 9)
    theta = np.array([[3.0, 0.0], [-3.0, 1.0], [0.0, -4.0]])[np.arange(12) % 3]
    y = np.einsum("nd,nd->n", x, theta[who]) + 0.3 * data.responses
    local = np.array([np.linalg.lstsq(x[who == i], y[who == i], rcond=None)[0] for i in range(12)])
    options = {"n_init": n_init}
    for (name, penalty), labels in partitions(local, options).items():
        fit = OneShotClustering(
            3, clusterer=name, penalty=penalty, n_neighbors=4, random_state=5,
            options=options if name == "k-means++" else None,
        ).fit(x, y, clients=who)  # fmt: skip
        assert np.array_equal(fit.labels_[:, None] == fit.labels_, labels[:, None] == labels), name
        means = [local[labels == labels[i]].mean(axis=0) for i in range(12)]
        np.testing.assert_allclose(fit.models_[fit.labels_], means, atol=1e-9)


def test_a_clusterer_of_ones_own_is_cloned_and_may_number_its_clusters_anyhow():
    class Halves(ClusterMixin, BaseEstimator):
        def fit_predict(self, X, y=None):
            self.seen_ = len(X)
            return np.where(X[:, 0] > 0.0, 40, -7)

    rng = np.random.default_rng(6)
    x, who = rng.standard_normal((60, 2)), np.repeat(np.arange(6), 10)
    y = x[:, 0] * np.where(who % 2 == 0, 1.0, -1.0)
    own = Halves()
    fit = OneShotClustering(2, clusterer=own).fit(x, y, clients=who)
    assert fit.labels_.tolist() == [1, 0] * 3
    np.testing.assert_allclose(fit.models_, [[-1.0, 0.0], [1.0, 0.0]], atol=1e-9)
    assert not hasattr(own, "seen_")


class Says(ClusterMixin, BaseEstimator):
    """A clusterer that gives what it is told to give."""

    def __init__(self, found):
        self.found = found

    def fit_predict(self, X, y=None):
        return self.found


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ([0, 1, 0], r"the labels of clusterer have shape \(3,\), and must be \(4,\)"),
        ([[0, 1]] * 4, r"have shape \(4, 2\), and must be \(4,\)"),
        ([0.2, 0.7, 0.2, 0.7], "the labels of clusterer=.* must hold integers"),
        (["a", "b", "a", "b"], "the labels of clusterer must be an array of real numbers"),
        (None, "the labels of clusterer must be an array"),
    ],
)
def test_labels_that_are_no_clusters_of_the_clients_are_refused(found, message):
    """Labels .2 and .7 were one cluster."""
    x = np.random.default_rng(0).standard_normal((12, 1))
    with pytest.raises(InvalidParameter, match=message):
        OneShotClustering(clusterer=Says(found)).fit(x, x[:, 0], clients=np.repeat(range(4), 3))


def test_seeds_and_starts_are_finite():
    x = np.random.default_rng(0).standard_normal((12, 1))
    of = np.repeat(range(4), 3)
    for seed in (np.nan, np.inf, 1e300):
        with pytest.raises(InvalidParameter, match=r"seeds\[1, 0\]=.* must be finite and at most"):
            FeSEM(seeds=[[0.0], [seed]]).fit(x, x[:, 0], clients=of)
        with pytest.raises(InvalidParameter, match=r"init"), np.errstate(all="raise"):
            IFCA(init=[[0.0], [seed]]).fit(x, x[:, 0], clients=of)


def test_what_diverges_or_has_no_rounds_is_refused_in_one_line():
    rng = np.random.default_rng(7)
    x, who = rng.standard_normal((60, 2)), np.repeat(np.arange(6), 10)
    y = x[:, 0] * np.where(who % 2 == 0, 1.0, -1.0)
    for estimator, message in (
        (OneShotClustering(2, n_rounds=300, step_size=1e6), "the rounds diverged"),
        (OneShotClustering(2, n_rounds=1, loss=Own()), "n_rounds must be 0 with a loss of one's"),
        (IFCA(2, n_rounds=400, step_size=1e6, random_state=0), "every start diverged"),
        (IFCA(2, step_size=0.1, batch_size=3, loss=Own()), "batch_size must be None with a loss"),
        (IFCA(2, step_size=0.1, step_decay=0.9, loss=Own()), "step_decay must be 1.0 with a loss"),
        (IFCA(2, loss=Own()), "step_size='auto' must be a number with a loss"),
        (GlobalModel(algorithm="fedprox", l2=0.1), "algorithm=fedprox must be exact with loss"),
        (GlobalModel(algorithm="fedavg", loss=Own()), "algorithm=fedavg must be exact with loss"),
        (CFL(loss=Own()), "must be squared or logistic for this method"),
    ):
        with pytest.raises(InvalidParameter, match=re.escape(message)) as refused:
            estimator.fit(x, y, clients=who)
        assert "\n" not in str(refused.value)

"""What other papers' methods keep: under other orders, units and copies, and in rare cases."""

import numpy as np
import pytest

from trials.checks import InvalidParameter
from trials.methods.cfl import _bipartition, run_cfl
from trials.methods.fesem import run_fesem
from trials.methods.grouped_mixture import run_grouped_mixture, spectral_start
from trials.methods.kfed import run_kfed
from trials.methods.pacfl import pacfl_clusters, proximity
from trials.models.clients import ClientData
from trials.models.losses import LogisticLoss

TRUTH = np.array([[2.0, -1.0, 0.5], [-2.0, 1.0, 1.0], [0.5, 2.5, -2.0]])
START = TRUTH + 0.7
RNG = np.random.default_rng


def clients(seed, noise=0.3, of=None):
    """Tables [x y] (n_i, 4) of clients of different sizes, which come in no order of clusters."""
    rng = RNG(seed)
    of = rng.permutation(np.arange(11) % 3) if of is None else of
    tables = []
    for j in of:
        x = rng.standard_normal((rng.integers(4, 25), 3))
        tables.append(np.column_stack([x, x @ TRUTH[j] + noise * rng.standard_normal(len(x))]))
    return tables


def joined(tables):
    rows = np.concatenate(tables)
    return ClientData(
        features=np.ascontiguousarray(rows[:, :3]), responses=np.ascontiguousarray(rows[:, 3]),
        offsets=np.concatenate([[0], np.cumsum([len(t) for t in tables])]),
    )  # fmt: skip


def cfl(data, unit=1.0, **more):
    found = run_cfl(data=data, step_size=0.1, n_rounds=30, local_steps=3, **more)
    return found.models, found.labels


def fesem(data, unit=1.0, **more):
    found = run_fesem(
        data=data, k=3, step_size=0.1, n_rounds=6, local_steps=3, seeds=unit * START, rng=RNG(0),
        **more,
    )  # fmt: skip
    return found.models, found.labels


def mixture(data, unit=1.0, **more):
    found = run_grouped_mixture(data=data, start=unit * START, n_rounds=6, stop=False, **more)
    return found.models, found.labels


METHODS = {
    "cfl": cfl,
    "cfl by rows": lambda data, unit=1.0: cfl(data, weights="rows"),
    "fesem": fesem,
    "fesem by rows": lambda data, unit=1.0: fesem(data, unit, weights="rows"),
    "am": mixture,
    "em": lambda data, unit=1.0: mixture(data, unit, algorithm="em"),
}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("seed", [1, 2])
def test_the_order_of_clients_and_of_their_rows_changes_nothing(name, seed):
    tables = clients(seed)
    models, labels = METHODS[name](joined(tables))
    order = RNG(seed).permutation(len(tables))
    again, moved = METHODS[name](joined([RNG(i).permutation(tables[i]) for i in order]))
    np.testing.assert_allclose(again[moved], models[labels][order], rtol=1e-7)
    assert len(again) == len(models)
    if "cfl" not in name:  # the numbers are those of the seeds
        assert moved.tolist() == labels[order].tolist()
    assert len(set(labels.tolist())) > 1


@pytest.mark.parametrize("name", METHODS)
def test_units_of_the_responses_scale_the_models(name):
    """By a power of two, which rounds nothing."""
    tables = clients(3)
    models, labels = METHODS[name](joined(tables))
    scaled, same = METHODS[name](joined([t * [1.0, 1.0, 1.0, 64.0] for t in tables]), 64.0)
    assert same.tolist() == labels.tolist()
    np.testing.assert_allclose(scaled, 64.0 * models, rtol=1e-9)


@pytest.mark.parametrize("name", [name for name in METHODS if "cfl" not in name])
def test_every_client_twice_gives_the_same_models(name):
    tables = clients(4)
    models, labels = METHODS[name](joined(tables))
    twice, both = METHODS[name](joined(tables + tables))
    assert both.tolist() == 2 * labels.tolist()
    np.testing.assert_allclose(twice, models, rtol=1e-7)


def test_the_likelihood_of_em_is_that_of_the_rows_in_any_unit():
    """A density of y/c is c times that of y, row by row."""
    tables = clients(5)
    found = [
        run_grouped_mixture(
            data=joined([t * [1, 1, 1, c] for t in tables]), start=c * START, n_rounds=4,
            algorithm="em",
        )
        for c in (1.0, 8.0)
    ]  # fmt: skip
    rows = sum(map(len, tables))
    np.testing.assert_allclose(
        found[1].log_likelihoods, found[0].log_likelihoods - rows * np.log(8.0), rtol=1e-9
    )
    np.testing.assert_allclose(found[1].losses, 64.0 * found[0].losses, rtol=1e-9)
    assert found[1].sigma == pytest.approx(8.0 * found[0].sigma, rel=1e-9)
    np.testing.assert_allclose(found[1].shares, found[0].shares, rtol=1e-9)
    assert found[0].shares.sum() == pytest.approx(1.0, abs=1e-12)


# -- what is told of a run ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["cfl", "fesem"])
def test_a_run_is_told_round_by_round_and_a_shorter_run_is_its_beginning(name):
    data, told = joined(clients(6)), []

    def observe(models, labels):
        told.append((models.copy(), labels.copy()))

    given = {"data": data, "step_size": 0.1, "local_steps": 3}
    if name == "cfl":
        whole = run_cfl(**given, n_rounds=20, observe=observe)
        assert [len(models) for models, _ in told] == whole.n_clusters.tolist()
        for t, part_1, part_2 in whole.splits:
            before = told[t - 1][1] if t else np.zeros(11, dtype=int)
            one = np.concatenate([part_1, part_2])
            assert sorted(one.tolist()) == np.flatnonzero(before == before[part_1[0]]).tolist()
            assert part_1[0] == one.min()
            assert set(told[t][1][part_1]).isdisjoint(told[t][1][part_2])
        assert len(whole.splits) == whole.n_clusters[-1] - 1 > 0
        for n in (1, 7, 20):
            short = run_cfl(**given, n_rounds=n)
            models, labels = told[n - 1]
            np.testing.assert_array_equal(short.models[short.labels], models[labels])
    else:
        given |= {"k": 3, "seeds": START, "rng": RNG(0)}
        whole = run_fesem(**given, n_rounds=6, observe=observe)
        before = np.full(11, -1)
        for t, (models, labels) in enumerate(told):
            assert whole.label_changes[t] == (labels != before).sum()
            before = labels
            short = run_fesem(**given, n_rounds=t)
            # a shorter run ends with one more choice, which is the next round's
            np.testing.assert_array_equal(short.labels, labels)
            np.testing.assert_array_equal(short.models, models)
    assert len(told) == (20 if name == "cfl" else 6)


# -- rare cases -----------------------------------------------------------------------------------


def test_cfl_of_the_logistic_loss_takes_gradient_steps_of_each_client():
    rng = RNG(2)
    x = rng.standard_normal((5, 30, 2))
    y = np.where(x[:, :, 0] + 0.5 * rng.standard_normal((5, 30)) > 0.0, 1.0, -1.0)
    data = ClientData.equal(x, y)
    found = run_cfl(data=data, step_size=0.3, n_rounds=4, min_size=6, loss=LogisticLoss(l2=0.1))
    theta = np.zeros(2)
    for _ in range(4):
        slopes = [
            -(b / (1.0 + np.exp(b * (a @ theta)))) @ a / 30 + 0.1 * theta
            for a, b in zip(x, y, strict=True)
        ]
        theta = theta - 0.3 * np.mean(slopes, axis=0)
    np.testing.assert_allclose(found.models, [theta], rtol=1e-9)


def test_a_client_that_stands_still_has_the_cosine_zero_with_all():
    """It is as far from one direction as from the opposite one, so it may stand with either.

    Single linkage joins all at this one distance.  The opposite directions are apart in both.
    """
    own = np.array([7, 2, 9, 4])
    updates = np.array([[1.0, 0.0], [0.0, 0.0], [-3.0, 0.0], [2.0, 0.0]])
    for method in ("single", "complete"):
        first, second = _bipartition(own, updates, method, None)
        assert {7, 4} <= set(first.tolist())
        assert 9 in second
        assert sorted([*first, *second]) == sorted(own)
    # The bound on noise sqrt((1 - gamma) / 2) is 0: a right angle is not above it.
    assert len(_bipartition(own, updates, "complete", 1.0)) == 2


def test_equal_directions_are_one_cluster():
    updates = np.outer(np.arange(1.0, 6.0), [3.0, 4.0])
    (whole,) = _bipartition(np.arange(5), updates, "single", 0.0)
    assert whole.tolist() == list(range(5))


def test_a_centre_of_fesem_without_clients_stays_and_the_first_of_equal_centres_is_taken():
    data = joined(clients(7))
    seeds = np.array([TRUTH[0], [1e3, 0.0, 0.0], TRUTH[0]])
    found = run_fesem(
        data=data, k=3, step_size=0.1, n_rounds=0, local_steps=2, seeds=seeds, rng=RNG(0)
    )
    assert found.labels.tolist() == [0] * 11
    np.testing.assert_array_equal(found.models[1:], seeds[1:])
    np.testing.assert_allclose(found.models[0], found.local.mean(axis=0), rtol=1e-12)
    assert found.label_changes.size == 0


def test_fesem_refuses_more_centres_than_clients_and_seeds_of_another_shape():
    data = joined(clients(7))
    given = {"data": data, "step_size": 0.1, "n_rounds": 1, "rng": RNG(0)}
    with pytest.raises(InvalidParameter, match="k=12 must be <= 11"):
        run_fesem(k=12, **given)
    with pytest.raises(InvalidParameter, match=r"seeds\.shape=\(2, 3\) must be \(3, 3\)"):
        run_fesem(k=3, seeds=TRUTH[:2], **given)
    assert len(run_fesem(k=11, **given).models) == 11


@pytest.mark.parametrize("seed", range(4))
def test_the_means_of_kfed_count_centres_by_their_points(seed):
    rng = RNG(seed)
    sent = [rng.standard_normal((n, 2)) for n in (2, 1, 4, 3)]
    points = [rng.integers(1, 50, len(own)).astype(float) for own in sent]
    found = run_kfed(sent, 3, weights=[each.tolist() for each in points])
    assert found.chosen.tolist() == run_kfed(sent, 3).chosen.tolist()
    for j in range(3):
        own = [
            (w, c)
            for table, shares, labels in zip(sent, points, found.labels, strict=True)
            for c, w, label in zip(table, shares, labels, strict=True)
            if label == j
        ]
        mean = sum(w * c for w, c in own) / sum(w for w, _ in own)
        np.testing.assert_allclose(found.centers[j], mean, rtol=1e-12)


def test_equal_centres_leave_clusters_of_kfed_empty_where_they_are():
    found = run_kfed([[[2.0, 1.0]]] * 4, 3, weights=[[5.0]] * 4)
    assert found.centers.tolist() == [[2.0, 1.0]] * 3
    assert [own.tolist() for own in found.labels] == [[0]] * 4


def test_the_first_of_the_farthest_centres_is_taken():
    found = run_kfed([[[0.0]], [[-3.0]], [[3.0]], [[-3.0]]], 2)
    assert found.chosen.tolist() == [0, 1]
    assert found.labels[2].tolist() == [0]


def test_the_moment_of_squares_has_no_use_of_clients():
    """Its matrix is the sum of y^2 x x', by a loop over rows."""
    tables = clients(8)
    data = joined(tables)
    matrix = sum(r[3] ** 2 * np.outer(r[:3], r[:3]) for t in tables for r in t)
    basis = np.linalg.eigh(matrix)[1][:, ::-1][:, :2]
    found = spectral_start(data, 2, RNG(0), moment="second", whiten=False)
    np.testing.assert_allclose(found @ basis @ basis.T, found, atol=1e-9)
    own = np.array([(t[:, :3] * t[:, 3:]).mean(axis=0) for t in tables]) @ basis
    near = ((own[:, None] - found @ basis) ** 2).sum(axis=2).argmin(axis=1)
    means = [own[near == j].mean(axis=0) for j in range(2)]
    np.testing.assert_allclose(found @ basis, means, rtol=1e-8)
    pairs = spectral_start(data, 2, RNG(0), moment="pairs", whiten=False)
    assert not np.allclose(np.sort(pairs, axis=0), np.sort(found, axis=0), rtol=1e-3)
    with pytest.raises(InvalidParameter, match="k=12 must be <= 11"):
        spectral_start(data, 12, RNG(0))


def test_alternating_minimisation_ends_when_no_label_changes():
    data = joined(clients(9))
    whole = run_grouped_mixture(data=data, start=START, n_rounds=30, stop=False)
    ended = run_grouped_mixture(data=data, start=START, n_rounds=30)
    n = len(ended.losses) - 1
    assert 1 <= n < 30
    np.testing.assert_allclose(ended.models, whole.models, rtol=1e-12)
    short = [run_grouped_mixture(data=data, start=START, n_rounds=t) for t in range(n + 1)]
    for t in range(n):
        # labels of round t + 1 are those that the models of t rounds ask for
        assert t == 0 or short[t].labels.tolist() != short[t].weights.argmax(axis=1).tolist()
    assert ended.labels.tolist() == ended.weights.argmax(axis=1).tolist()
    assert ended.shares.tolist() == (np.bincount(ended.labels, minlength=3) / 11).tolist()


@pytest.mark.parametrize("algorithm", ["am", "em"])
def test_a_model_that_nobody_chooses_stays_and_data_without_noise_leave_no_nan(algorithm):
    tables = clients(10, noise=0.0, of=[0, 1, 0, 1, 1])
    start = np.array([TRUTH[0], TRUTH[1], [1e4, 0.0, 0.0]])
    found = run_grouped_mixture(data=joined(tables), start=start, n_rounds=5, algorithm=algorithm)
    assert found.labels.tolist() == [0, 1, 0, 1, 1]
    np.testing.assert_allclose(found.models, start, rtol=1e-9)
    np.testing.assert_allclose(found.shares, [0.4, 0.6, 0.0], atol=1e-12)
    assert np.isfinite(found.losses).all()
    assert found.sigma == pytest.approx(0.0, abs=1e-5)
    none = run_grouped_mixture(data=joined(tables), start=start, n_rounds=0, algorithm=algorithm)
    assert none.weights.tolist() == [[0.0] * 3] * 5
    assert (none.shares == 1.0 / 3.0).all()
    np.testing.assert_array_equal(none.models, start)


@pytest.mark.parametrize("method", ["single", "complete", "average"])
@pytest.mark.parametrize("measure", ["sum", "smallest", "trace"])
def test_pacfl_merges_the_two_nearest_groups_until_k_are_left(method, measure):
    data = ClientData.equal(RNG(12).standard_normal((11, 4, 6)), np.zeros((11, 4)))
    near = proximity(data, 2, measure)
    joining = {"single": np.min, "complete": np.max, "average": np.mean}[method]
    groups = [[i] for i in range(11)]
    while len(groups) > 4:
        pairs = [(i, j) for i in range(len(groups)) for j in range(i)]
        i, j = min(pairs, key=lambda ij: joining(near[np.ix_(groups[ij[0]], groups[ij[1]])]))
        groups[j] += groups.pop(i)
    groups.sort(key=min)
    found = pacfl_clusters(data, k=4, p=2, measure=measure, method=method)
    assert [np.flatnonzero(found == j).tolist() for j in range(4)] == [sorted(g) for g in groups]


def test_pacfl_of_one_client_of_copies_and_of_other_units():
    x = RNG(3).standard_normal((5, 2, 4))
    one = ClientData.equal(x[:1], np.zeros((1, 2)))
    assert pacfl_clusters(one, k=1).tolist() == pacfl_clusters(one, beta=0.0).tolist() == [0]
    labels = pacfl_clusters(ClientData.equal(x, np.zeros((5, 2))), k=3, p=9)
    turned = x[:, ::-1] * np.array([1.0, -8.0, 1e-3, 1e5, 3.0])[:, None, None]
    both = ClientData.equal(np.concatenate([x, turned]), np.zeros((10, 2)))
    assert pacfl_clusters(both, k=3, p=9).tolist() == 2 * labels.tolist()

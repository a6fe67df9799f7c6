"""The methods of other papers against literal loops, and their symmetries."""

import itertools
import math

import numpy as np
import pytest

from trials.checks import InvalidParameter
from trials.clustering.kmeans import kmeans_pp
from trials.methods.cfl import _bipartition, run_cfl
from trials.methods.fesem import run_fesem
from trials.methods.grouped_mixture import _Statistics, run_grouped_mixture, spectral_start
from trials.methods.kfed import local_kmeans, run_kfed
from trials.methods.pacfl import pacfl_clusters, proximity
from trials.models.clients import ClientData

TRUTH = np.array([[2.0, -1.0, 0.5], [-2.0, 1.0, 1.0], [0.5, 2.5, -2.0]])


def ragged(seed=0, m=15, noise=0.1, sizes=None):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(8, 30, m) if sizes is None else np.asarray(sizes)
    of = np.repeat(np.arange(len(sizes)), sizes)
    x = rng.standard_normal((len(of), 3))
    y = (x * TRUTH[of % 3]).sum(axis=1) + noise * rng.standard_normal(len(of))
    return ClientData(features=x, responses=y, offsets=np.concatenate([[0], np.cumsum(sizes)]))


def rows(data):
    for i in range(data.n_clients):
        own = slice(data.offsets[i], data.offsets[i + 1])
        yield data.features[own], data.responses[own]


def descended(data, starts, step, n_steps):
    out = starts.copy()
    for i, (a, b) in enumerate(rows(data)):
        for _ in range(n_steps):
            out[i] = out[i] - step * a.T @ (a @ out[i] - b) / len(b)
    return out


def same_partition(one, two):
    return np.array_equal(one[:, None] == one, two[:, None] == two)


def numbered_by_their_first_client(labels):
    """No number comes before a smaller one."""
    return list(dict.fromkeys(labels.tolist())) == list(range(labels.max() + 1))


# -- CFL -----------------------------------------------------------------------------------------


def best_split(updates):
    """The bipartition with the least largest cosine across, by trying all of them."""
    unit = updates / np.linalg.norm(updates, axis=1, keepdims=True)
    cosines, m = unit @ unit.T, len(updates)
    found = (np.inf, None)
    for code in range(1, 2 ** (m - 1)):
        side = np.array([False, *((code >> i) & 1 == 1 for i in range(m - 1))])
        found = min(found, (cosines[np.ix_(~side, side)].max(), tuple(side)))
    return np.array(found[1])


def literal_cfl(data, step, n_rounds, local_steps, eps_1, eps_2, first_split=0, rows=False):
    m, d = data.n_clients, data.dimension
    share = np.diff(data.offsets) if rows else np.ones(m)
    clusters, models, unit, counts = [np.arange(m)], {0: np.zeros(d)}, None, []
    for t in range(n_rounds):
        parts, after = [], {}
        starts = np.zeros((m, d))
        for j, own in enumerate(clusters):
            starts[own] = models[j]
        updates = descended(data, starts, step, local_steps) - starts
        norms = np.linalg.norm(updates, axis=1)
        unit = norms.mean() if unit is None else unit
        for j, own in enumerate(clusters):
            pieces = [own]
            if (
                t >= first_split
                and len(own) > 2
                and np.linalg.norm(np.average(updates[own], axis=0, weights=share[own]))
                < eps_1 * unit
                and norms[own].max() > eps_2 * unit
            ):
                side = best_split(updates[own])
                pieces = [own[~side], own[side]]
            for piece in pieces:
                after[len(parts)] = models[j] + np.average(updates[piece], 0, share[piece])
                parts.append(piece)
        clusters, models = parts, after
        counts.append(len(clusters))
    labels = np.empty(m, dtype=int)
    for j, own in enumerate(clusters):
        labels[own] = j
    return labels, np.stack([models[labels[i]] for i in range(m)]), counts


@pytest.mark.parametrize(("local_steps", "first_split"), [(1, 0), (4, 0), (4, 3)])
def test_cfl_is_the_recursive_bipartition_that_is_best_of_all(local_steps, first_split):
    """The unit of its thresholds is the first round's, also where splits begin later."""
    data = ragged(m=9)
    given = {"step": 0.15, "n_rounds": 40, "local_steps": local_steps, "eps_1": 0.1, "eps_2": 0.4}
    labels, models, counts = literal_cfl(data, **given, first_split=first_split)
    found = run_cfl(
        data=data, step_size=0.15, n_rounds=40, local_steps=local_steps, first_split=first_split
    )
    assert found.n_clusters.tolist() == counts
    assert numbered_by_their_first_client(found.labels)
    assert same_partition(found.labels, labels)
    np.testing.assert_allclose(found.models[found.labels], models, rtol=1e-8)
    assert found.n_clusters[-1] == len(found.models) == 3
    assert same_partition(found.labels, np.arange(9) % 3)
    assert len(found.splits) == 2


def test_clients_weigh_by_their_rows_in_the_step_and_in_the_question_whether_it_stands_still():
    given = {"step": 0.15, "n_rounds": 25, "local_steps": 2, "eps_1": 0.3, "eps_2": 0.4}
    n_different = 0
    for seed in range(6):
        data = ragged(seed, sizes=[5, 60, 9, 40, 6, 50, 8])
        counts = []
        for rows_count in (False, True):
            _, models, expected = literal_cfl(data, **given, rows=rows_count)
            found = run_cfl(
                data=data, step_size=0.15, n_rounds=25, local_steps=2, epsilon_1=0.3,
                weights="rows" if rows_count else "clients",
            )  # fmt: skip
            counts.append(expected)
            assert found.n_clusters.tolist() == expected
            np.testing.assert_allclose(found.models[found.labels], models, rtol=1e-8)
        n_different += counts[0] != counts[1]
    assert n_different


def test_clusters_of_cfl_are_numbered_by_their_first_client_whatever_their_size():
    rng = np.random.default_rng(3)
    of = np.array([1, 1, 1, 1, 1, 0, 0, 0])  # the first client is in the larger cluster
    x = rng.standard_normal((8, 40, 2))
    y = x[:, :, 0] * np.where(of == 1, 1.0, -1.0)[:, None]
    found = run_cfl(data=ClientData.equal(x, y), step_size=0.2, n_rounds=60)
    assert found.labels.tolist() == (1 - of).tolist()
    np.testing.assert_allclose(found.models[:, 0], [1.0, -1.0], atol=1e-3)


def test_the_unit_of_the_thresholds_is_the_first_rounds_whenever_splits_begin():
    """All models are far from zero, so that the first updates are many times the later ones."""
    near = ragged(m=9)
    far = ClientData(
        features=near.features,
        responses=near.responses + near.features @ np.full(3, 20.0),
        offsets=near.offsets,
    )
    *_, counts = literal_cfl(far, 0.15, 40, 4, 0.02, 0.1, first_split=3)
    found = run_cfl(
        data=far, step_size=0.15, n_rounds=40, local_steps=4, epsilon_1=0.02, epsilon_2=0.1,
        first_split=3,
    )  # fmt: skip
    assert found.n_clusters.tolist() == counts
    assert counts[3] == 1
    assert max(counts) > 1


def test_complete_linkage_is_the_split_of_fl_bench():
    """Its server calls scikit-learn's agglomerative clustering with the negative similarities."""
    cluster = pytest.importorskip("sklearn.cluster")
    rng = np.random.default_rng(2)
    for _ in range(20):
        updates = rng.standard_normal((9, 3))
        unit = updates / np.linalg.norm(updates, axis=1, keepdims=True)
        made = cluster.AgglomerativeClustering(metric="precomputed", linkage="complete")
        theirs = made.fit(-unit @ unit.T).labels_
        ours = _bipartition(np.arange(9), updates, "complete", None)
        assert same_partition(np.isin(np.arange(9), ours[1]), theirs == 1)


def test_a_split_is_refused_where_some_pair_across_it_is_more_alike_than_noise_allows():
    """The most alike pair of clients on two sides decides, whose similarity is looked up here."""
    rng = np.random.default_rng(3)
    tried = 0
    for _ in range(20):
        updates = rng.standard_normal((7, 2)) * np.arange(1.0, 8.0)[:, None]
        sides = _bipartition(np.arange(7), updates, "single", None)
        across = max(
            updates[i] @ updates[j] / np.linalg.norm(updates[i]) / np.linalg.norm(updates[j])
            for i in sides[0]
            for j in sides[1]
        )
        for limit, n_parts in ((across - 0.01, 1), (across + 0.01, 2)):
            # the limit is sqrt((1 - gamma) / 2), so that no gamma gives one below zero
            if 0.0 < limit < math.sqrt(0.5):
                parts = _bipartition(np.arange(7), updates, "single", 1.0 - 2.0 * limit**2)
                assert len(parts) == n_parts
                tried += 1
    assert tried >= 10


@pytest.mark.parametrize("m", [2, 4, 6])
def test_a_cluster_of_the_least_size_is_split_and_a_smaller_one_is_not(m):
    """Half of the clients have the opposite model, so that their updates pull apart at once."""
    rng = np.random.default_rng(m)
    x = rng.standard_normal((m, 40, 2))
    y = x[:, :, 0] * np.where(np.arange(m) < m // 2, 1.0, -1.0)[:, None]
    data = ClientData.equal(x, y)

    def n_clusters(least):
        found = run_cfl(data=data, step_size=0.2, n_rounds=30, min_size=least, epsilon_1=0.5)
        return len(found.models)

    assert n_clusters(m) == 2
    assert n_clusters(m + 1) == 1


@pytest.mark.parametrize("linkage", ["single", "complete"])
def test_equal_cosines_do_not_keep_a_cluster_together(linkage):
    """Where several bipartitions are best, one of them is taken.  None was."""
    rng = np.random.default_rng(0)
    for _ in range(60):
        updates = rng.integers(-1, 2, (rng.integers(2, 7), 3)).astype(float)
        updates = updates[updates.any(axis=1)]
        if len(updates) < 2:
            continue
        own = np.arange(len(updates)) + 10
        parts = _bipartition(own, updates, linkage, None)
        assert len(parts) == 2
        assert min(len(part) for part in parts) > 0
        assert parts[0][0] == 10
        np.testing.assert_array_equal(np.sort(np.concatenate(parts)), own)
        if linkage == "single":
            unit = updates / np.linalg.norm(updates, axis=1, keepdims=True)
            cosines, side = unit @ unit.T, best_split(updates)
            across = cosines[np.ix_(parts[0] - 10, parts[1] - 10)].max()
            assert across == pytest.approx(cosines[np.ix_(~side, side)].max(), abs=1e-12)


def test_three_clusters_at_equal_angles_are_found():
    """At the mean of three models on three axes all cosines are -1/2."""
    x = np.tile(np.eye(3), (3, 1, 1))
    data = ClientData.equal(x, np.eye(3))
    found = run_cfl(data=data, step_size=1.0, n_rounds=60, min_size=2)
    assert found.labels.tolist() == [0, 1, 2]


@pytest.mark.parametrize("power", [0, 300])
def test_models_whose_squares_vanish_are_clustered_as_in_another_unit(power):
    """Features of 2^300 and responses of 2^-300 have models of 2^-600: all had one cluster."""
    rng = np.random.default_rng(0)
    x = np.tile(np.eye(2), (8, 3, 1)) + 0.1 * rng.standard_normal((8, 6, 2))
    y = x[:, :, 0] * np.where(np.arange(8) < 4, 1.0, -1.0)[:, None]
    data = ClientData.equal(np.ldexp(x, power), np.ldexp(y, -power))
    step = math.ldexp(0.5, -2 * power)
    labels = run_cfl(data=data, step_size=step, n_rounds=60).labels
    assert labels.tolist() == [0] * 4 + [1] * 4
    found = run_fesem(data=data, k=2, step_size=step, n_rounds=40, rng=rng)
    assert same_partition(found.labels, labels)
    np.testing.assert_allclose(
        np.ldexp(found.models[found.labels, 0], 2 * power), [1.0] * 4 + [-1.0] * 4, rtol=1e-3
    )


def test_options_of_cfl():
    data = ragged(m=12)
    late = run_cfl(data=data, step_size=0.15, n_rounds=40, first_split=39)
    assert late.n_clusters.tolist() == [1] * 39 + [2]
    never = run_cfl(data=data, step_size=0.15, n_rounds=40, gamma_max=1.0)
    assert set(never.n_clusters.tolist()) <= {1, 2, 3}  # only splits at a right angle or more
    for _, one, two in never.splits:
        assert set(one.tolist()).isdisjoint(two.tolist())
    weighted = run_cfl(data=data, step_size=0.15, n_rounds=200, weights="rows", epsilon_2=1e9)
    pooled = np.linalg.lstsq(data.features, data.responses, rcond=None)[0]
    np.testing.assert_allclose(weighted.models[0], pooled, rtol=1e-6)
    assert run_cfl(data=data, step_size=0.15, n_rounds=40, linkage="complete").labels.max() >= 1
    with pytest.raises(InvalidParameter, match="a local update diverged"):
        run_cfl(data=data, step_size=1e9, n_rounds=4)


# -- FeSEM ---------------------------------------------------------------------------------------


def test_fesem_is_its_algorithm_line_by_line():
    data, seeds = ragged(), TRUTH + 0.8
    for weights in ("clients", "rows"):
        share = np.diff(data.offsets) if weights == "rows" else np.ones(15)
        centres = seeds.copy()
        local = descended(data, np.zeros((15, 3)), 0.1, 5)
        for _ in range(8):
            labels = np.array([np.argmin([np.sum((w - c) ** 2) for c in centres]) for w in local])
            for j in range(3):
                if (labels == j).any():
                    centres[j] = np.average(local[labels == j], axis=0, weights=share[labels == j])
            local = descended(data, centres[labels], 0.1, 5)
        found = run_fesem(
            data=data, k=3, step_size=0.1, n_rounds=8, local_steps=5, seeds=seeds, weights=weights,
            rng=np.random.default_rng(0),
        )  # fmt: skip
        np.testing.assert_allclose(found.local, local, rtol=1e-9)
        assert np.array_equal(found.labels, labels)
        end = [np.average(local[labels == j], axis=0, weights=share[labels == j]) for j in range(3)]
        np.testing.assert_allclose(found.models, end, rtol=1e-9)


def test_fesem_starts_from_the_best_of_ten_runs_of_k_means():
    data, seen = ragged(noise=1.5), set()
    local = descended(data, np.zeros((15, 3)), 0.1, 5)
    for seed in range(8):
        starts = [
            kmeans_pp(local[None], 5, np.random.default_rng(seed), n_init=n).centers[0]
            for n in (10, 1)
        ]
        seen.add(np.allclose(*starts))
        given = {"data": data, "k": 5, "step_size": 0.1, "n_rounds": 2, "local_steps": 5}
        own = run_fesem(**given, rng=np.random.default_rng(seed))
        one, ten = (
            run_fesem(**given, seeds=start, rng=np.random.default_rng(0)) for start in starts[::-1]
        )
        np.testing.assert_array_equal(own.models, ten.models)
        assert np.array_equal(own.models, one.models) or not np.allclose(*starts)
    assert False in seen


def test_a_device_with_few_points_has_as_many_centres_as_points():
    centres, labels = local_kmeans([[0.0, 1.0], [5.0, 5.0]], 7, np.random.default_rng(0))
    assert sorted(centres.tolist()) == [[0.0, 1.0], [5.0, 5.0]]
    assert sorted(labels.tolist()) == [0, 1]


def test_groups_at_exactly_the_largest_proximity_merge():
    x = np.random.default_rng(5).standard_normal((2, 6, 4))
    data = ClientData.equal(x, np.zeros((2, 6)))
    between = proximity(data)[0, 1]
    assert pacfl_clusters(data, beta=between).tolist() == [0, 0]
    assert pacfl_clusters(data, beta=np.nextafter(between, 0.0)).tolist() == [0, 1]


def test_fesem_from_its_own_seeds_finds_the_clusters():
    found = run_fesem(data=ragged(), k=3, step_size=0.1, n_rounds=30, rng=np.random.default_rng(0))
    assert same_partition(found.labels, np.arange(15) % 3)
    assert found.label_changes[0] == 15
    assert found.label_changes[-1] == 0


# -- k-FED ---------------------------------------------------------------------------------------


def test_kfed_is_its_algorithm_line_by_line():
    rng = np.random.default_rng(4)
    sent = [rng.standard_normal((rng.integers(1, 4), 2)) for _ in range(9)]
    all_of_them = [c for table in sent for c in table]
    for k in (1, 3, 5):
        begin = int(np.argmax([len(t) for t in sent]))
        seeds = [c for z, t in enumerate(sent) for c in t if z == begin][:k]
        while len(seeds) < k:
            far = [min(np.sum((c - s) ** 2) for s in seeds) for c in all_of_them]
            seeds.append(all_of_them[int(np.argmax(far))])
        labels = [int(np.argmin([np.sum((c - s) ** 2) for s in seeds])) for c in all_of_them]
        found = run_kfed(sent, k)
        assert np.concatenate(found.labels).tolist() == labels
        for j in range(k):
            own = [c for c, label in zip(all_of_them, labels, strict=True) if label == j]
            np.testing.assert_allclose(found.centers[j], np.mean(own, axis=0), rtol=1e-12)


def test_kfed_finds_well_separated_clusters_of_which_a_device_has_some():
    rng = np.random.default_rng(1)
    truth = 20.0 * np.eye(5)
    sent, owned = [], []
    for z in range(12):
        here = [z % 5, (z + 2) % 5]
        points = np.concatenate([truth[j] + rng.standard_normal((30, 5)) for j in here])
        centres, _ = local_kmeans(points, 2, rng)
        sent.append(centres)
        owned += [int(np.argmin(((truth - c) ** 2).sum(axis=1))) for c in centres]
    found = run_kfed(sent, 5, weights=[np.full(2, 30.0)] * 12)
    assert same_partition(np.concatenate(found.labels), np.array(owned))


def test_kfed_refuses_in_one_line():
    with pytest.raises(InvalidParameter, match="k=3 must be an integer in"):
        run_kfed([[[0.0]], [[1.0]]], 3)
    with pytest.raises(InvalidParameter, match="arrays \\(k_z, d\\) of one dimension"):
        run_kfed([[[0.0]], [[1.0, 2.0]]], 1)
    with pytest.raises(InvalidParameter, match="must hold one number > 0"):
        run_kfed([[[0.0]], [[1.0]]], 1, weights=[[1.0], [0.0]])


@pytest.mark.parametrize("first", [None, 0, 1, 2, 3])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_kfed_begins_with_the_centres_of_one_device_whatever_the_others_send(first, k):
    rng = np.random.default_rng(k)
    counts = [1, 3, 2, 3]
    sent = [rng.standard_normal((n, 2)) for n in counts]
    points = [p for own in sent for p in own]
    begin = counts.index(max(counts)) if first is None else first
    chosen = list(range(sum(counts[:begin]), sum(counts[: begin + 1])))[:k]
    while len(chosen) < k:
        far = [min(np.sum((p - points[c]) ** 2) for c in chosen) for p in points]
        chosen.append(far.index(max(far)))
    found = run_kfed(sent, k, first=first)
    assert found.chosen.tolist() == chosen
    near = [int(np.argmin([np.sum((p - points[c]) ** 2) for c in chosen])) for p in points]
    assert [label for own in found.labels for label in own] == near
    for j in range(k):
        own = [p for p, label in zip(points, near, strict=True) if label == j]
        np.testing.assert_allclose(found.centers[j], np.mean(own, axis=0))


# -- grouped mixture -----------------------------------------------------------------------------


def test_alternating_minimisation_and_em_line_by_line():
    data, start = ragged(), TRUTH + 0.9
    n = len(data.responses)
    for algorithm in ("am", "em"):
        models, shares = start.copy(), np.full(3, 1 / 3)
        residuals = [[np.sum((b - a @ t) ** 2) for t in models] for a, b in rows(data)]
        sigma_sq = np.min(residuals, axis=1).sum() / n
        values, losses = [], [0.5 * np.min(residuals, axis=1).sum() / n]
        for _ in range(5):
            if algorithm == "am":
                w = np.eye(3)[np.argmin(residuals, axis=1)]
            else:
                joint = [
                    [
                        np.log(p) - 0.5 * r / sigma_sq - 0.5 * len(b) * np.log(2 * np.pi * sigma_sq)
                        for p, r in zip(shares, own, strict=True)
                    ]
                    for own, (_, b) in zip(residuals, rows(data), strict=True)
                ]
                top = np.max(joint, axis=1, keepdims=True)
                likely = np.exp(joint - top)
                values.append(float((top[:, 0] + np.log(likely.sum(axis=1))).sum()))
                w = likely / likely.sum(axis=1, keepdims=True)
            shares = w.mean(axis=0)
            for j in range(3):
                a = np.concatenate([np.sqrt(w[i, j]) * a for i, (a, _) in enumerate(rows(data))])
                b = np.concatenate([np.sqrt(w[i, j]) * b for i, (_, b) in enumerate(rows(data))])
                models[j] = np.linalg.lstsq(a, b, rcond=None)[0]
            residuals = [[np.sum((b - a @ t) ** 2) for t in models] for a, b in rows(data)]
            sigma_sq = (w * residuals).sum() / n
            losses.append(0.5 * np.min(residuals, axis=1).sum() / n)
        found = run_grouped_mixture(
            data=data, start=start, n_rounds=5, algorithm=algorithm, stop=False
        )
        np.testing.assert_allclose(found.models, models, rtol=1e-8)
        assert found.sigma == pytest.approx(np.sqrt(sigma_sq), rel=1e-6)
        np.testing.assert_allclose(found.weights, w, atol=1e-9)
        if algorithm == "em":
            np.testing.assert_allclose(found.log_likelihoods, values, rtol=1e-9)
            assert (np.diff(found.log_likelihoods) >= -1e-9).all()
        assert (np.diff(found.losses) <= 1e-12).all() or algorithm == "em"
        np.testing.assert_allclose(found.losses, losses, rtol=1e-9)


def test_the_spectral_start_is_the_moment_of_pairs_by_loops():
    data = ragged(seed=2, sizes=[1, 2, 5, 9, 30, 7, 12, 3, 40])
    x = data.features
    values, vectors = np.linalg.eigh(x.T @ x / len(x))
    root = (vectors / np.sqrt(values)) @ vectors.T
    matrix = np.zeros((3, 3))
    own = []
    for a, b in rows(data):
        z = [root @ u * v for u, v in zip(a, b, strict=True)]
        own.append(np.mean(z, axis=0))
        if len(z) > 1:
            pairs = [np.outer(s, t) for i, s in enumerate(z) for j, t in enumerate(z) if i != j]
            matrix += np.mean(pairs, axis=0)
    basis = np.linalg.eigh(matrix)[1][:, ::-1][:, :2]
    # with as many clusters as clients, k-means leaves each projection alone
    found = spectral_start(data, 2, np.random.default_rng(0))
    projector = basis @ basis.T
    whitened = found @ np.linalg.inv(root)
    np.testing.assert_allclose(whitened @ projector, whitened, atol=1e-9)
    labels = ((np.array(own) @ projector)[:, None] - whitened) ** 2
    chosen = labels.sum(axis=2).argmin(axis=1)
    means = [np.mean(np.array(own)[chosen == j] @ projector, axis=0) for j in range(2)]
    np.testing.assert_allclose(whitened, means, rtol=1e-8)


def test_the_start_lies_along_positive_eigenvalues_however_large_negative_ones_are():
    """The matrix of pairs is 2/3 along the first axis, and -25/3 along the last."""
    x = np.repeat(np.eye(3)[[0, 0, 0, 0, 2, 2]], 2, axis=0)
    y = np.array([1.0, 1.0] * 4 + [5.0, -5.0] * 2)
    data = ClientData(features=x, responses=y, offsets=np.arange(0, 13, 2))
    found = spectral_start(data, 1, np.random.default_rng(0), whiten=False)
    np.testing.assert_allclose(found, [[2 / 3, 0.0, 0.0]], atol=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_features_without_full_rank_start_as_in_a_basis_of_their_span(seed):
    """The last column is a sum of the others: its variance is a rounding error in one direction."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((40, 20, 2))
    y = 2.0 * x[:, :, 0]
    basis = np.linalg.qr(np.array([[1.0, 0.0], [0.0, 1.0], [0.3, 0.7]]))[0]
    wide = x @ np.array([[1.0, 0.0, 0.3], [0.0, 1.0, 0.7]])
    found = spectral_start(ClientData.equal(wide, y), 1, np.random.default_rng(0))
    narrow = spectral_start(ClientData.equal(wide @ basis, y), 1, np.random.default_rng(0))
    np.testing.assert_allclose(found, narrow @ basis.T, atol=1e-8)


def test_two_rows_a_client_suffice_where_clients_are_many():
    rng = np.random.default_rng(5)
    data = ragged(seed=5, m=6000, sizes=np.full(6000, 6))
    start = spectral_start(data, 3, rng)
    found = run_grouped_mixture(data=data, start=start, n_rounds=50)
    error = np.abs(found.models[:, None] - TRUTH).sum(axis=2).min(axis=1).max()
    assert error < 0.05
    assert (found.labels.max(), len(found.log_likelihoods)) == (2, 0)


@pytest.mark.parametrize("power", [-1074, -1030, -600, 0])
def test_weighted_least_squares_has_no_unit_of_the_weights(power):
    """Products with weights of 2^-1074 lost all their digits."""
    data, counts = ragged(m=5), np.array([3.0, 1.0, 0.0, 2.0, 5.0])
    found = _Statistics(data).solve(np.ldexp(counts, power)[:, None], np.zeros((1, 3)))
    # a client that counts three times has its rows three times
    twice = [each for each, n in zip(rows(data), counts, strict=True) for _ in range(int(n))]
    x, y = (np.concatenate(parts) for parts in zip(*twice, strict=True))
    np.testing.assert_allclose(found[0], np.linalg.lstsq(x, y, rcond=None)[0], rtol=1e-9)


# -- PACFL ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["average", "complete", "single", "weighted"])
def test_pacfl_has_as_many_clusters_as_asked_for_where_proximities_are_equal(method):
    """Clients on axes: equal or at right angles.  Three clients on three axes had one cluster."""
    rng = np.random.default_rng(0)
    for k, n_more in itertools.product(range(1, 5), range(6)):
        axes = np.concatenate([np.arange(4), rng.integers(0, 4, n_more)])
        data = ClientData.equal(np.eye(4)[axes][:, None], np.zeros((len(axes), 1)))
        labels = pacfl_clusters(data, k=k, p=1, method=method)
        assert numbered_by_their_first_client(labels)
        assert labels.max() + 1 == k
        # those on one axis merge first
        assert len({*zip(axes.tolist(), labels.tolist(), strict=True)}) == 4


@pytest.mark.parametrize("angle", [1e-2, 1e-5, 1e-8, 1e-13])
def test_small_angles_keep_their_digits(angle):
    """The cosine of 1e-8 is 1 in floats: such clients coincided."""
    tilted = np.zeros((2, 4))
    tilted[0, [0, 2]] = 2.0 * np.cos(angle), 2.0 * np.sin(angle)
    tilted[1, [1, 3]] = np.cos(3.0 * angle), -np.sin(3.0 * angle)
    x = np.concatenate([2.0 * np.eye(1, 4), np.eye(1, 4, 1), tilted, -tilted[:1]])
    data = ClientData(features=x, responses=np.zeros(5), offsets=np.array([0, 2, 4, 5]))
    for measure, value in (("sum", 4.0 * angle), ("smallest", angle), ("trace", 4.0 * angle)):
        found = proximity(data, 2, measure)
        assert found[0, 1] == pytest.approx(value, rel=0.02, abs=0)
        assert found[0, 2] == pytest.approx(angle, rel=0.02, abs=0)
        assert found[1, 2] < 1e-15


@pytest.mark.parametrize("p", [1, 3])
def test_clients_at_small_angles_are_told_apart(p):
    """Of three lines the two closest ones merge, at angles whose cosines are all 1 in floats."""
    angles = np.array([0.0, 3e-9, 1.5e-8])
    x = np.stack([np.cos(angles), np.sin(angles)], axis=1)[:, None]
    for order in ([0, 1, 2], [0, 2, 1], [2, 0, 1]):
        labels = pacfl_clusters(ClientData.equal(x[order], np.zeros((3, 1))), k=2, p=p)
        merged = {order[i] for i in range(3) if (labels == labels[i]).sum() == 2}
        assert merged == {0, 1}


def test_principal_angles_are_those_of_scipy_and_trace_ignores_signs():
    from scipy.linalg import subspace_angles

    rng = np.random.default_rng(0)
    sizes = [9, 2, 14, 30]
    x = rng.standard_normal((sum(sizes), 6))
    data = ClientData(
        features=x, responses=np.zeros(len(x)), offsets=np.concatenate([[0], np.cumsum(sizes)])
    )
    bases = [np.linalg.svd(a, full_matrices=False)[2][:3].T for a, _ in rows(data)]
    for measure in ("sum", "smallest", "trace"):
        found = proximity(data, 3, measure)
        for i in range(4):
            for j in range(i):
                r = min(bases[i].shape[1], bases[j].shape[1])
                if measure == "trace":
                    cosines = [abs(bases[i][:, c] @ bases[j][:, c]) for c in range(r)]
                    value = np.arccos(cosines).sum()
                else:
                    angles = subspace_angles(bases[i], bases[j])
                    value = angles.sum() if measure == "sum" else angles.min()
                assert found[i, j] == pytest.approx(value, abs=1e-7)
                assert found[j, i] == found[i, j]


def test_pacfl_finds_covariances_and_says_nothing_of_models():
    rng = np.random.default_rng(3)
    spread = np.array([[5.0, 5.0, 0.1, 0.1], [0.1, 0.1, 5.0, 5.0]])
    x = rng.standard_normal((12, 40, 4)) * spread[np.arange(12) % 2][:, None]
    data = ClientData.equal(x, rng.standard_normal((12, 40)))
    for given in ({"k": 2}, {"beta": 1.0}):
        assert pacfl_clusters(data, p=2, **given).tolist() == [0, 1] * 6
    with pytest.raises(InvalidParameter, match="give one of them"):
        pacfl_clusters(data)


def test_pacfl_gives_each_client_a_cluster_where_more_are_asked_for():
    """2**53 raised SciPy's OverflowError."""
    rng = np.random.default_rng(0)
    data = ClientData.equal(rng.standard_normal((4, 5, 3)), np.zeros((4, 5)))
    for k in (4, 5, 2**53):
        assert pacfl_clusters(data, k=k).tolist() == [0, 1, 2, 3]


def test_clusters_of_pacfl_are_numbered_by_their_first_client():
    for seed in range(20):
        x = np.random.default_rng(seed).standard_normal((12, 3, 6))
        labels = pacfl_clusters(ClientData.equal(x, np.zeros((12, 3))), k=5, p=2)
        assert numbered_by_their_first_client(labels)
        assert labels.max() >= 3


@pytest.mark.parametrize("power", [-900, -560, 0, 490])
def test_kfed_has_no_unit(power):
    """At 2^-560 all distances vanished: each centre was the first one's."""
    sent = [np.ldexp(each, power) for each in ([[0.0], [9.0]], [[1.0]], [[10.0]], [[5.0]])]
    found = run_kfed(sent, 3)
    assert np.ldexp(found.centers, -power).tolist() == [[0.5], [9.5], [5.0]]
    assert found.chosen.tolist() == [0, 1, 4]
    small = run_kfed(sent, 3, weights=[[3e-200, 1e-200], [1e-200], [3e-200], [1e-200]])
    assert np.ldexp(small.centers, -power).tolist() == [[0.25], [9.75], [5.0]]


def test_a_light_cluster_of_kfed_beside_a_heavy_one_keeps_its_mean():
    """Its weights vanished in the unit of the heavy ones, and its mean was 0 / 0."""
    found = run_kfed(
        [[[0.0], [9.0]], [[1.0], [10.0]]], 2, weights=[[1e150, 3e-200], [1e150, 1e-200]]
    )
    assert found.centers.tolist() == [[0.5], [9.25]]


@pytest.mark.parametrize("algorithm", ["am", "em"])
@pytest.mark.parametrize("offset", [0.0, 1e7])
def test_responses_far_from_zero_keep_the_digits_of_their_residuals(algorithm, offset):
    """|y|^2 is 1e14 a row and a residual's square .01: sums of |y|^2, X'y and X'X lose them all."""
    plain = ragged(3)
    data = ClientData(
        features=np.column_stack([plain.features, np.ones(len(plain.responses))]),
        responses=plain.responses + offset, offsets=plain.offsets,
    )  # fmt: skip
    start = np.column_stack([TRUTH + 0.2, np.full(3, offset)])
    found = run_grouped_mixture(data=data, start=start, n_rounds=4, algorithm=algorithm)
    n, best = len(data.responses), 0.0
    for i, (x, y) in enumerate(rows(data)):
        squares = [((y - x @ theta) ** 2).sum() for theta in found.models]
        assert found.labels[i] == np.argmin(squares) == i % 3
        best += min(squares)
    assert found.losses[-1] == pytest.approx(0.5 * best / n, rel=1e-6)
    assert found.sigma**2 == pytest.approx(best / n, rel=1e-6)


def test_em_stays_at_models_that_fit_without_noise():
    """Its variance is zero there, and the residuals over it would be 0/0."""
    x = np.ones((2, 3, 1))
    data = ClientData.equal(x, np.stack([np.ones(3), -np.ones(3)]))
    start = np.array([[1.0], [-1.0]])
    found = run_grouped_mixture(data=data, start=start, n_rounds=3, algorithm="em")
    np.testing.assert_array_equal(found.models, start)

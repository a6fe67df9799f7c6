"""IFCA's paired runs and random starts against their own laws and slow twins."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from trials.checks import InvalidParameter
from trials.experiments.ifca import identities, paired
from trials.models import mixture
from trials.models.matching import model_distance


def values(experiment, n_trials=6, seed=0, **cell):
    rows = experiment.simulate(experiment.check(cell), np.random.default_rng(seed), n_trials)
    return dict(zip(experiment.columns, rows.T, strict=True))


def test_one_shot_keeps_the_planted_errors_and_ifca_ends_as_with_known_clusters():
    found = values(paired.ONE_SHOT, planted=2, T=40)
    np.testing.assert_allclose(found["one_shot_wrong"], 0.2)
    np.testing.assert_array_equal(found["ifca_wrong"], 0.0)
    np.testing.assert_allclose(found["ifca"], found["truth"], rtol=1e-6)
    # with a fifth of strangers a model ends near a fifth of the way to the other optimum
    assert (np.abs(found["one_shot"] - 0.2 * 2.0) < 0.3).all()


def test_k_means_of_local_fits_finds_clusters_that_are_far_apart():
    found = values(paired.ONE_SHOT, Delta=20.0, T=40)
    np.testing.assert_array_equal(found["one_shot_wrong"], 0.0)
    np.testing.assert_allclose(found["one_shot"], found["truth"], rtol=1e-6)


def test_reused_data_end_at_least_squares(monkeypatch):
    """One cluster: 40 steps of half of the way end at the least-squares fit of all samples."""
    drawn = []

    def spy(theta_star, *rest):
        drawn.append((theta_star, real(theta_star, *rest)))
        return drawn[-1][1]

    real = paired.draw_clients
    monkeypatch.setattr(paired, "draw_clients", spy)
    found = values(paired.RESAMPLING, n_trials=1, k=1, m=4, n=5, d=3, T=40)
    ((theta_star, data),) = drawn
    fit = np.linalg.lstsq(data.features, data.responses, rcond=None)[0]
    exact = model_distance(fit[None, None], theta_star)
    np.testing.assert_allclose(found["reused"], exact, rtol=1e-6)
    np.testing.assert_allclose(found["truth"], exact, rtol=1e-6)


def test_batches_of_a_split_are_all_rows_once():
    rng = np.random.default_rng(0)
    data = paired.draw_clients(np.ones((1, 3)), np.array([4]), 6, 1.0, rng)
    parts = [paired._rows(data, first, 2) for first in (0, 2, 4)]
    together = np.concatenate([p.features.reshape(4, 2, 3) for p in parts], axis=1)
    np.testing.assert_array_equal(together, data.features.reshape(4, 6, 3))
    responses = np.concatenate([p.responses.reshape(4, 2) for p in parts], axis=1)
    np.testing.assert_array_equal(responses, data.responses.reshape(4, 6))


def test_runs_that_send_less_count_their_floats():
    found = values(paired.ECONOMIES, T=30, n_shared=4, closeness=0.1, stable_after=3)
    k, d, settled = 2, 10, found["settled"]
    early = settled * (k * d + d + k)
    np.testing.assert_allclose(
        found["stable_floats"], (early + (30 - settled) * 2 * d) / (30 * (k * d + d + k))
    )
    np.testing.assert_allclose(found["shared_floats"], (k * 6 + 4 + d + k) / (k * d + d + k))
    same = found["late_changes"] == 0
    np.testing.assert_allclose(found["stable"][same], found["plain"][same], rtol=1e-12)


def test_without_shared_coordinates_sharing_changes_nothing():
    found = values(paired.ECONOMIES, T=20)
    np.testing.assert_array_equal(found["shared"], found["plain"])


def test_identities_without_noise_are_found_from_the_optima(monkeypatch):
    """A start at the optima has the right identities at once, and an extra model splits none."""
    monkeypatch.setattr(identities.mx, "random_start", lambda *_: centres[0])
    centres = []
    real = identities.mx.random_centres

    def spy(vectors, norm):
        centres.append(real(vectors, norm=norm))
        return centres[-1]

    monkeypatch.setattr(identities.mx, "random_centres", spy)
    found = values(identities.IDENTITIES, n_trials=1, n_starts=2, T=20, sigma=1e-3)
    assert found["found"] == 2
    assert found["rounds"] == 1
    assert found["used"] == 2
    assert (found["success"], found["pure"]) == (1, 1)
    np.testing.assert_array_equal(found["exact_error"], found["extra_error"])
    assert found["exact_error"] < 1e-3


def test_clients_errors_are_those_of_the_chosen_models():
    models = np.array([[[0.0, 0.0], [3.0, 4.0]]])
    own = np.array([[0.0, 0.0], [0.0, 0.0], [3.0, 4.0]])
    found = identities.clients_errors(models, np.array([[0, 1, 0]]), own)
    np.testing.assert_allclose(found, [[0.0, 5.0, 5.0]])


def exact_mean_separation(d):
    """E of the distance of two rescaled 0/1 vectors that are different and not zero, by counting.

    The numbers of coordinates that are 1 in both, one and the other are multinomial.
    """
    total = weight = 0.0
    for both, one, other in itertools.product(range(d + 1), repeat=3):
        none = d - both - one - other
        if none < 0 or one + other == 0 or both + one == 0 or both + other == 0:
            continue
        log = math.lgamma(d + 1) - sum(math.lgamma(x + 1) for x in (both, one, other, none))
        share = math.exp(log - d * math.log(4.0))
        cosine = both / math.sqrt((both + one) * (both + other))
        total += share * math.sqrt(max(2.0 - 2.0 * cosine, 0.0))
        weight += share
    return total / weight


@pytest.mark.statistical
@pytest.mark.parametrize(("d", "n_trials"), [(2, 5000), (3, 5000), (4, 20_000), (8, 20_000)])
def test_the_separation_has_its_exact_mean(d, n_trials):
    """Six standard errors, false alarm 2e-9.

    From d = 4 on patterns are counted, and one draw of six is repeated there.  Below it vectors are
    drawn, which takes ten times as long, and a third of the draws or more are repeated.
    """
    found = values(identities.SEPARATION, n_trials=n_trials, d=d, norm=3.0)["separation"]
    error = found.std() / math.sqrt(found.size)
    assert abs(found.mean() - 3.0 * exact_mean_separation(d)) < 6 * error


@pytest.mark.parametrize(("k", "d"), [(2, 4), (3, 8), (4, 40), (5, 1000)])
def test_the_separation_of_counted_patterns_is_that_of_the_vectors(k, d):
    rng = np.random.default_rng(k)
    vectors = [mixture.bernoulli_vectors(rng, k, d) for _ in range(20)]
    patterns = [(v.T @ 2 ** np.arange(k)).astype(int) for v in vectors]
    counts = np.array([np.bincount(p, minlength=2**k) for p in patterns], dtype=float)
    for scaling, scaled in (("coordinate", vectors), ("norm", map(mixture.normalise, vectors))):
        found = identities.separations_of_counts(counts, scaling)
        expected = [float(mixture.separation(v)) for v in scaled]
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_each_pattern_is_as_frequent_as_another_and_none_lacks_a_vector():
    """The mean count of a pattern is d/8 = 8 with standard deviation 0.026 (10 000 trials)."""
    counts = identities.draw_counts(np.random.default_rng(5), 3, 64, 10_000)
    assert (counts.sum(axis=1) == 64).all()
    np.testing.assert_allclose(counts.mean(axis=0), 8.0, atol=0.16)
    few = identities.draw_counts(np.random.default_rng(5), 2, 4, 2000)
    ones = few[:, 1], few[:, 2], few[:, 3]  # of the first alone, of the second alone, of both
    assert (ones[0] + ones[1] > 0).all()
    assert (ones[0] + ones[2] > 0).all()
    assert (ones[1] + ones[2] > 0).all()


def test_the_published_code_s_separation_is_the_root_of_a_binomial():
    found = values(identities.SEPARATION, n_trials=50, d=9, norm=2.0, scaling="coordinate")
    squares = (found["separation"] / 2.0) ** 2
    np.testing.assert_allclose(squares, np.round(squares), atol=1e-9)
    assert squares.max() <= 9


@pytest.mark.parametrize(
    ("experiment", "cell", "message"),
    [
        (paired.ONE_SHOT, {"m": 21}, "multiple of k"),
        (paired.ONE_SHOT, {"n": 5, "d": 6}, "n=5 must be >= d"),
        (paired.ONE_SHOT, {"planted": 10}, "planted=10 must be below"),
        (paired.ECONOMIES, {"n_shared": 9}, "n_shared=9 must be <="),
        (paired.RESAMPLING, {"d": 1}, "d=1"),
        (identities.IDENTITIES, {"d": 2, "extra": 5}, "distinct 0/1"),
        (identities.SEPARATION, {"d": 2, "k": 4}, "distinct 0/1"),
    ],
)
def test_impossible_cells_are_refused(experiment, cell, message):
    with pytest.raises(InvalidParameter, match=message):
        experiment.check(cell)


def test_identities_are_those_of_a_loop_over_starts_and_clients(monkeypatch):
    """Every column, with models beyond the clusters: here only some starts find the clusters."""
    kept = {"starts": [], "data": [], "optima": []}

    def spied(name, real):
        def spy(*arguments, **options):
            kept[name].append(real(*arguments, **options))
            return kept[name][-1]

        return spy

    monkeypatch.setattr(identities, "draw_clients", spied("data", identities.draw_clients))
    monkeypatch.setattr(identities.mx, "random_start", spied("starts", identities.mx.random_start))
    monkeypatch.setattr(
        identities.mx, "random_centres", spied("optima", identities.mx.random_centres)
    )
    k, extra, m, n, d, n_starts, n_rounds = 2, 2, 6, 12, 4, 5, 8
    found = values(
        identities.IDENTITIES, n_trials=1, seed=1, k=k, extra=extra, m=m, n=n, d=d, sigma=0.5,
        n_starts=n_starts, T=n_rounds,
    )  # fmt: skip
    (data,), (optima,), starts = kept["data"], kept["optima"], np.stack(kept["starts"])
    x, y = data.features.reshape(m, n, d), data.responses.reshape(m, n)
    owner = np.repeat(np.arange(k), m // k)

    def run(models):
        """The last models and labels, and the rounds after which the labels stayed."""
        labels, stayed = np.full(m, -1), 0
        for t in range(n_rounds):
            losses = [
                [((b - a @ model) ** 2).sum() for model in models]
                for a, b in zip(x, y, strict=True)
            ]
            new = np.argmin(losses, axis=1)
            stayed = t + 1 if (new != labels).any() else stayed
            labels, start = new, models.copy()
            for i, j in enumerate(labels):
                step = 0.5 * k / 2.0 / m * (2.0 / n)
                models[j] += step * x[i].T @ (y[i] - x[i] @ start[j])
        return models, labels, stayed

    exact = [run(start[:k].copy()) for start in starts]
    more = [run(start.copy()) for start in starts]
    good = [
        len({*zip(labels.tolist(), owner.tolist(), strict=True)}) == k == len({*labels.tolist()})
        for _, labels, _ in exact
    ]
    distances = [
        min(max(np.linalg.norm(models[list(p)] - optima, axis=1))
            for p in itertools.permutations(range(k)))
        for models, _, _ in exact
    ]  # fmt: skip
    groups = [set(owner[more[0][1] == j].tolist()) for j in range(k + extra)]

    def error(runs):
        return np.mean([
            np.linalg.norm(models[labels] - optima[owner], axis=1) for models, labels, _ in runs
        ])  # fmt: skip

    assert 0 < sum(good) < n_starts
    assert found["found"] == sum(good)
    assert found["rounds"] == min(run[2] for run, right in zip(exact, good, strict=True) if right)
    assert found["success"] == (min(distances) <= 0.6 * 0.5)
    assert found["used"] == sum(map(bool, groups))
    assert found["pure"] == all(len(each) <= 1 for each in groups)
    np.testing.assert_allclose(found["exact_error"], error(exact))
    np.testing.assert_allclose(found["extra_error"], error(more))
    assert abs(error(exact) - error(more)) > 0.001


def test_declared_costs_are_in_the_ratio_of_the_iterations_that_are_run(monkeypatch):
    """The engine shares out work by the declared cost, and `plan` tells it."""
    asked = []

    def counted(**given):
        asked.append(given["n_iterations"])
        return real(**given)

    real = paired.run_ifca_options
    monkeypatch.setattr(paired, "run_ifca_options", counted)
    rounds, costs = [], []
    for experiment in (paired.ECONOMIES, paired.COMMUNICATION):
        for n_rounds in (40, 80):
            asked.clear()
            cell = {"d": 6, "n_shared": 2, "stable_after": 1000, "T": n_rounds}
            values(experiment, n_trials=1, **cell)
            rounds.append(sum(asked))
            costs.append(experiment.cost(experiment.check(cell)))
    assert rounds[:2] == [200, 400]  # 2 T with half of the clients
    per_round = np.diff(costs)[[0, 2]] / np.diff(rounds)[[0, 2]]
    assert per_round[0] == pytest.approx(per_round[1], rel=0.4)
    assert costs[0] == pytest.approx(per_round[0] * 200, rel=0.2)  # nearly all is for the rounds

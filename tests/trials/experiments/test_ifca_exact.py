"""The IFCA experiments: validated parameters, exact geometry, streams, and laws against data."""

import itertools
import json
import math

import numpy as np
import pytest
from scipy import stats

from trials.checks import InvalidParameter
from trials.experiments import gaussian
from trials.experiments.ifca import geometry, labels, start, step, step_sizes
from trials.laws import pairwise as pw
from trials.models import mixture as mx
from trials.models.matching import bottleneck
from trials.run.cell import canonical_json
from trials.run.experiment import experiment
from trials.run.streams import faster_stream

ALL = [
    step.STEP,
    step.TRAJECTORY,
    labels.LABELS,
    gaussian.OPNORM,
    gaussian.NOISE,
    start.RANDOM_START,
    labels.GRADIENT,
    step_sizes.RUN_STEP_SIZES,
]
SMALL = {"gauss.opnorm": {"N": 7, "d": 4}, "gauss.noise": {"N": 7, "d": 4}}


def run(e, params, seed=1, n_trials=200):
    return e.simulate(e.check(params), np.random.default_rng(seed), n_trials)


@pytest.mark.parametrize("e", ALL, ids=lambda e: e.name)
def test_protocol(e):
    full = e.check(SMALL.get(e.name, {}))
    assert e.check(full) == full  # canonical: checking again changes nothing
    assert json.loads(canonical_json(full)) == full
    rows = run(e, full, n_trials=9)
    assert rows.shape == (9, len(e.columns))
    assert rows.dtype == np.float64
    assert np.all(np.isfinite(rows))
    np.testing.assert_array_equal(rows, run(e, full, n_trials=9))
    assert experiment(e.name) is e


@pytest.mark.parametrize(
    ("e", "params", "message"),
    [
        (step.STEP, {"n": 0}, r"n=0 must be an integer in \[1, 10\^15\]"),
        (step.STEP, {"sigma": -1.0}, "sigma=-1.0 must be a finite number >= 0"),
        (step.STEP, {"sigma": math.nan}, "sigma=nan must"),
        (step.STEP, {"m": 2, "k": 3}, "m=2 must be >= k=3"),
        (step.STEP, {"alpha": 0.7}, "alpha=0.7 must"),
        (step.STEP, {"d": 2, "k": 4}, "d=2 must be >= 3"),
        (step.STEP, {"d": 1, "init": "orthogonal"}, "d=1 must be >= 2"),
        (step.STEP, {"d": 1, "centers": "random"}, "d=1 must be >= 2"),
        (step.STEP, {"d": 2, "k": 4, "centers": "bernoulli"}, "d=2 must be >= log2"),
        (step.STEP, {"profile": "one-small"}, "must come with one of p_min and ratio"),
        (step.STEP, {"profile": "one-small", "p_min": 0.0}, "p_min=0.0 must"),
        (step.STEP, {"profile": "one-small", "p_min": 0.7}, "p_min=0.7 must be <= 1/k"),
        (step.STEP, {"init": "sideways"}, "must be one of random, adversarial, orthogonal"),
        (step.STEP, {"step_rule": "c"}, "must be one of c/p, c/p_j, c/p_max"),
        (step.STEP, {"delta": 1.0}, "unknown parameter 'delta'"),
        (step.STEP, {"n": 1e300}, r"n=1e\+300 must be an integer in \[1, 10\^15\]"),
        (step.STEP, {"m": 1e30}, r"m=1e\+30 must be an integer in"),
        (step.STEP, {"d": 1e13}, r"d=10000000000000.0 must be an integer in \[1, 10\^12\]"),
        (
            step.STEP,
            {"k": 1e6, "m": 1e7, "d": 1e7},
            r"k=1000000.0 must be an integer in \[2, 256\]",
        ),
        (step.STEP, {"d": 1e9, "centers": "bernoulli"}, "coordinates k d=2000000000 must be <="),
        (labels.LABELS, {"n": 1e6, "d": 1000}, "features n d=1000000000 must be <= 10000000: they"),
        (gaussian.OPNORM, {"N": 1e5, "d": 1e6}, r"entries min\(N, d\)\^2=10000000000 must be"),
        (gaussian.NOISE, {"N": 1e10}, r"N=10000000000.0 must be an integer in \[1, 10\^9\]"),
        (start.RANDOM_START, {"d": 1e9}, "coordinates k d=2000000000 must be"),
        (gaussian.OPNORM, {"N": 0}, "N=0 must"),
        (gaussian.NOISE, {"sigma": -2}, "sigma=-2 must"),
        (start.RANDOM_START, {"start": "warm"}, "must be one of bernoulli"),
        (labels.GRADIENT, {"m": 3}, "unknown parameter 'm'"),
    ],
)
def test_impossible_parameters_give_one_clear_line(e, params, message):
    with pytest.raises(InvalidParameter, match=message) as caught:
        e.check(params)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("centers", ["simplex", "random", "line"])
def test_the_largest_sizes_are_simulated(centers):
    params = {"m": 10**12, "n": 10**15, "d": 10**12, "k": 3, "centers": centers, "c1": 1 / 3}
    rows = run(step.STEP, params, n_trials=3)
    # p = 1/3: the factor is |1 - 2/3|, fluctuations of order sqrt(d / (p m n)) vanish
    np.testing.assert_allclose(rows[:, 1] / rows[:, 0], 1 / 3, rtol=1e-3)


@pytest.mark.parametrize("centers", ["simplex", "random", "line", "bernoulli"])
@pytest.mark.parametrize("init", ["random", "adversarial", "orthogonal"])
@pytest.mark.parametrize(("k", "d"), [(2, 2), (3, 4), (3, 50)])
def test_geometry_is_exact(centers, init, k, d):
    params = step.STEP.check(
        {"k": k, "d": d, "centers": centers, "init": init, "alpha": 0.1, "Delta": 3.0}
    )
    theta, theta_star, n_fixed = geometry.draw_geometry(params, np.random.default_rng(1), 5)
    np.testing.assert_allclose(mx.separation(theta_star), 3.0, rtol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(theta - theta_star, axis=-1), 1.2, rtol=1e-9)
    assert theta.shape[-1] == min(d, n_fixed + k)
    assert np.all(theta_star[..., n_fixed:] == 0)


@pytest.mark.parametrize("at_once", [1, 3, 8, 100])
@pytest.mark.parametrize(("k", "d"), [(3, 5), (4, 3)])
def test_zero_one_centres_of_every_part_are_those_of_the_stream(monkeypatch, at_once, k, d):
    """Up to a rotation, which keeps all products: the vectors of the trials in their order."""
    monkeypatch.setattr(geometry, "_MOST_COORDINATES", at_once * k * d)
    params = step.STEP.check({"k": k, "d": d, "centers": "bernoulli", "Delta": 3.0})
    _, theta_star, _ = geometry.draw_geometry(params, np.random.default_rng(7), 8)
    rng = np.random.default_rng(7)
    for found in theta_star:
        plain = mx.bernoulli_vectors(rng, k, d)
        plain = plain / np.linalg.norm(plain, axis=1, keepdims=True)
        gaps = [np.linalg.norm(plain[i] - plain[j]) for i in range(k) for j in range(i)]
        plain = plain * (3.0 / min(gaps))
        np.testing.assert_allclose(found @ found.T, plain @ plain.T, rtol=0, atol=1e-9)


@pytest.mark.parametrize("at_once", [1, 7, 20, 100])
@pytest.mark.parametrize(
    "params",
    [
        {"k": 3, "d": 4, "n": 2, "centers": "random", "alpha": 0.2},
        {"k": 2, "d": 9, "n": 3, "centers": "bernoulli", "init": "orthogonal", "sigma": 0.4},
    ],
)
def test_labels_of_every_part_are_those_of_each_trials_own_models(monkeypatch, at_once, params):
    """One trial after the other, on the rows that the stream gives to its part."""
    full = labels.LABELS.check({**params})
    k, n, d, sigma = full["k"], full["n"], full["d"], full["sigma"]
    monkeypatch.setattr(labels, "_CHUNK", at_once * n * d)
    rng = np.random.default_rng(9)
    theta, truth, _ = geometry.draw_geometry(full, rng, 60, victim=0)
    wanted = []
    for first in range(0, 60, at_once):
        trials = range(first, min(first + at_once, 60))
        x = rng.standard_normal((len(trials), n, d))[..., : theta.shape[-1]]
        noise = sigma * rng.standard_normal((len(trials), n))
        for t, rows, errors in zip(trials, x, noise, strict=True):
            y = rows @ truth[t, 0] + errors
            losses = [np.mean((y - rows @ theta[t, j]) ** 2) for j in range(k)]
            rival = 1 + int(np.argmin(np.linalg.norm(truth[t, 1:] - truth[t, 0], axis=1)))
            x0 = pw.margin(theta[t, 0], theta[t, rival], truth[t, 0], sigma)[0]
            law = np.exp(pw.log_tail_probability(x0, n))
            wanted.append([np.argmin(losses) != 0, losses[rival] < losses[0], law])
    found = run(labels.LABELS, params, seed=9, n_trials=60)
    assert 0 < found[:, 0].sum() < 60
    np.testing.assert_array_equal(found[:, :2], np.array(wanted)[:, :2])
    np.testing.assert_allclose(found[:, 2], np.array(wanted)[:, 2], rtol=1e-10)


@pytest.mark.statistical
def test_reduced_random_starts_have_the_ambient_law():
    """The pair's margin, a function of the whole geometry, drawn both ways."""
    params = step.STEP.check({"k": 3, "d": 30, "centers": "random", "alpha": 0.1})
    rng = np.random.default_rng(51)
    theta, theta_star, _ = geometry.draw_geometry(params, rng, 1500)
    plain_star = mx.random_centres(mx.gaussian_vectors(rng, (1500, 3), 30), Delta=1.0)
    plain = mx.displace(plain_star, 0.1, mx.gaussian_vectors(rng, (1500, 3), 30))
    sample = [
        [pw.margin(models[t, 0], models[t, 1], centres[t, 0], 0.2)[0] for t in range(1500)]
        for models, centres in ((theta, theta_star), (plain, plain_star))
    ]
    assert stats.ks_2samp(*sample).pvalue > 1e-6  # false alarm 1e-6, seed fixed


@pytest.mark.statistical
@pytest.mark.parametrize(
    "params",
    [
        {"k": 2, "d": 3, "n": 4, "init": "random", "alpha": 0.1},
        {"k": 2, "d": 6, "n": 5, "init": "orthogonal", "alpha": 0.05, "sigma": 0.3},
        {"k": 3, "d": 5, "n": 3, "init": "adversarial", "centers": "line"},
    ],
)
def test_data_obey_the_pairwise_law(params):
    rows = run(labels.LABELS, params, seed=52, n_trials=30_000)
    _, pairwise, probability = rows.T
    z = np.sum(pairwise - probability) / math.sqrt(np.sum(probability * (1 - probability)))
    assert abs(z) < 5  # three tests of 6e-7 each, seed fixed
    assert np.all(rows[:, 0] >= rows[:, 1])
    assert 0.02 < probability.mean() < 0.5


def test_step_columns_fit_together():
    params = {"k": 3, "profile": "one-small", "p_min": 0.05, "m": 400, "n": 3, "sigma": 0.5}
    before, largest, excess, small, large, moved, into = run(step.STEP, params).T
    np.testing.assert_allclose(before, 0.25)
    np.testing.assert_allclose(excess, largest - 0.5 * before)
    assert np.all(largest >= np.maximum(small, large))
    assert np.all(moved >= into)
    assert moved.mean() > 1


@pytest.mark.parametrize("rule", ["c/p", "c/p_j", "c/p_max"])
def test_mean_contraction_is_the_step_rule(rule):
    """Without noise and errors the update multiplies the error by 1 - 2 gamma p_j, n large."""
    params = {
        "profile": "one-large",
        "ratio": 4.0,
        "m": 500,
        "n": 10**7,
        "sigma": 0.0,
        "step_rule": rule,
        "c1": 0.1,
    }
    rows = run(step.STEP, params, n_trials=4)
    p = np.array([0.2, 0.8])
    gamma = 0.1 / {"c/p": 0.2, "c/p_j": p, "c/p_max": 0.8}[rule]
    factor = np.abs(1 - 2 * gamma * p)
    # relative fluctuations are 1 / sqrt(m n / 10) < 1e-4
    np.testing.assert_allclose(rows[:, 3] / rows[:, 0], factor[0], atol=1e-3)
    np.testing.assert_allclose(rows[:, 4] / rows[:, 0], factor[1], atol=1e-3)


@pytest.mark.statistical
def test_first_step_of_a_trajectory_is_the_step():
    params = {"k": 2, "d": 10, "m": 50, "n": 5}
    one = run(step.STEP, params, seed=53, n_trials=3000)[:, 1]
    trajectory = run(step.TRAJECTORY, params, seed=54, n_trials=3000)
    assert stats.ks_2samp(one, trajectory[:, 0]).pvalue > 1e-6  # false alarm 1e-6, seed fixed


def test_a_diverging_trajectory_is_kept():
    params = {"profile": "one-large", "ratio": 1e8, "m": 10**9, "c1": 1e5}
    rows = run(step.TRAJECTORY, params, n_trials=3)
    assert np.all(np.isnan(rows[:, step.N_STEPS - 1]))
    grew_from = rows[:, step.TRAJECTORY.columns.index("grew_from")]
    assert np.all(grew_from >= 0.25)  # the start of both clusters; the larger one runs away


def test_growth_is_recorded_cluster_by_cluster():
    """Against a plain loop over the same draws' errors, one cluster and one step at a time."""
    params = step.TRAJECTORY.check(
        {"k": 3, "d": 10, "m": 60, "n": 6, "alpha": 0.3, "profile": "one-small", "p_min": 0.1}
    )
    rows = step.TRAJECTORY.simulate(params, np.random.default_rng(56), 40)
    errors, _ = step._run(params, faster_stream(np.random.default_rng(56)), 40, step.N_STEPS)
    grew_from = rows[:, step.TRAJECTORY.columns.index("grew_from")]
    for trial in range(40):
        found = [
            errors[trial, t, j]
            for t in range(step.N_STEPS)
            for j in range(3)
            if errors[trial, t + 1, j] > errors[trial, t, j]
        ]
        assert grew_from[trial] == max(found, default=0.0)
    assert np.ptp(grew_from) > 0


def test_gram_deviation_counts_missing_rows():
    wide = run(gaussian.OPNORM, {"N": 2, "d": 9}, n_trials=50)
    np.testing.assert_allclose(wide[:, 2], np.maximum(wide[:, 0] ** 2 - 2, 2))
    for d in (2, 9):  # no row is missing, also of a square matrix
        tall = run(gaussian.OPNORM, {"N": 9, "d": d}, n_trials=50)
        expected = np.maximum(tall[:, 0] ** 2 - 9, 9 - tall[:, 1] ** 2)
        np.testing.assert_allclose(tall[:, 2], expected, rtol=1e-15)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_bottleneck_is_the_best_permutation(k):
    rng = np.random.default_rng(55)
    for _ in range(20):
        distances = rng.random((k, k))
        best = min(
            max(distances[i, order[i]] for i in range(k))
            for order in itertools.permutations(range(k))
        )
        assert bottleneck(distances) == best


def test_random_start_on_the_centres_scale():
    """k = 2 in high dimension: a Gaussian start is orthogonal to everything, alpha < 0."""
    rows = run(
        start.RANDOM_START, {"d": 2000, "start": "gaussian", "centers": "random"}, n_trials=20
    )
    # |theta - theta*| = sqrt(2), Delta = sqrt(2): alpha = -1/2 up to O(1/sqrt(d))
    np.testing.assert_allclose(rows, np.tile([-0.5, math.sqrt(2)], (20, 1)), atol=0.15)


def test_gradient_distance_is_that_of_the_geometry():
    rows = run(labels.GRADIENT, {"alpha": 0.1, "init": "adversarial", "d": 7, "k": 3}, n_trials=10)
    np.testing.assert_allclose(rows[:, 2], 0.6, rtol=1e-9)
    np.testing.assert_allclose(rows[:, 0], rows[:, 1])  # d < n: (7) is free of d / n


# -- strangers ------------------------------------------------------------------------------------


STRANGE = {"m": 40, "k": 2, "d": 3, "n": 2, "sigma": 1.0, "alpha": 0.1, "centers": "simplex"}


@pytest.mark.statistical
@pytest.mark.parametrize("k", [2, 5])
def test_the_strangers_of_a_step_are_the_misidentified_clients_of_the_smallest_cluster(k):
    cell = {**STRANGE, "k": k, "d": 7}
    found = run(step.STRANGERS, cell, 4, 1500)
    whole = run(step.STEP, cell, 5, 1500)
    into = step.STEP.columns.index("n_misidentified_into_smallest")
    assert stats.ks_2samp(found[:, 0], whole[:, into]).pvalue > 1e-6
    np.testing.assert_array_equal(found[:, 1] == 0.0, found[:, 0] == 0.0)


def test_strangers_move_a_model_by_the_law_of_their_fresh_samples():
    """S strangers have N = n S fresh samples, and the model is u away from their optimum.  With
    a = 2 gamma / (m n) the mean square of their pull is a^2 N ((d + N + 1) |u|^2 + d sigma^2).
    """
    cell = {**STRANGE, "d": 30, "init": "adversarial", "c1": 0.7}
    params = step.STRANGERS.check(cell)
    found = run(step.STRANGERS, cell, 3, 600)
    theta, theta_star, _ = geometry.draw_geometry(params, np.random.default_rng(0), 1)
    u_sq = ((theta[0, 0] - theta_star[0, 1]) ** 2).sum()
    gamma = geometry.step_sizes_of(params, np.array([20, 20]))[0]
    n = 2 * found[:, 0]
    expected = (2 * gamma / (40 * 2)) ** 2 * n * ((30 + n + 1) * u_sq + 30.0)
    assert len(set(n)) > 3
    ratio = found[n > 0, 1] ** 2 / expected[n > 0]
    assert ratio.mean() == pytest.approx(1.0, abs=5 * ratio.std() / np.sqrt(ratio.size))


@pytest.mark.parametrize(("centers", "delta"), [("simplex", 2.0 * math.sqrt(1.5)), ("line", 1.0)])
def test_the_centres_of_a_random_start_have_the_norm_of_the_cell(centers, delta):
    """Four centres of largest norm 1.5: a regular simplex about zero, or a line about zero."""
    cell = {"k": 4, "d": 5, "norm": 1.5, "centers": centers}
    found = run(start.RANDOM_START, cell, 2, 3)
    np.testing.assert_allclose(found[:, 1], delta, rtol=1e-12)

"""The resampled gradient step and its trajectories against real data."""

import json
import math
import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from trials.checks import InvalidParameter
from trials.laws import step
from trials.laws.pairwise import log_misidentification_probability
from trials.models import mixture as mx

# two-sample Kolmogorov-Smirnov tests: 1e-6 each, fewer than 60 of them, seed fixed
LEVEL = 1e-6


def step_by_data(theta, theta_star, counts, sigma, n, m, gamma, rng):
    """The update written out, with its data."""
    new = theta.copy()
    for a in range(len(theta)):
        for j in range(len(theta)):
            for _ in range(counts[a, j]):
                x = rng.standard_normal((n, theta.shape[1]))
                y = x @ theta_star[a] + sigma * rng.standard_normal(n)
                new[j] += gamma[j] / m * 2 / n * x.T @ (y - x @ theta[j])
    return new


def trajectory_by_data(theta, theta_star, sizes, sigma, n, gamma, n_steps, rng):
    """Resampled IFCA on data: fresh samples for the labels, fresh samples for the gradients."""
    k, d = theta.shape
    errors = [np.linalg.norm(theta - theta_star, axis=1)]
    moved = []
    for _ in range(n_steps):
        counts = np.zeros((k, k), int)
        for a in range(k):
            x = rng.standard_normal((sizes[a], n, d))
            y = x @ theta_star[a] + sigma * rng.standard_normal((sizes[a], n))
            losses = np.sum((y[..., None] - x @ theta.T) ** 2, axis=1)
            counts[a] = np.bincount(losses.argmin(axis=1), minlength=k)
        theta = step_by_data(theta, theta_star, counts, sigma, n, sum(sizes), gamma, rng)
        errors.append(np.linalg.norm(theta - theta_star, axis=1))
        moved.append(counts.sum(axis=0) - np.diag(counts))
    return np.array(errors), np.array(moved)


def exact_step(theta, theta_star, counts, sigma, n, m, gamma, d_extra, rng):
    new = np.empty_like(theta)
    outside = np.empty((len(theta), len(theta)))
    step.gradient_step(theta, theta_star, counts, sigma, n, m, gamma, d_extra, rng, new, outside)
    return new, outside


def same_law(ours, theirs):
    return stats.ks_2samp(ours, theirs).pvalue > LEVEL


CASES = {
    "plain": (2, 3, 2, [[3, 1], [0, 2]], 0.7),
    "one sample of one client": (2, 3, 1, [[1, 0], [1, 1]], 0.7),
    "one dimension": (2, 1, 2, [[2, 1], [1, 1]], 0.5),
    "noiseless": (2, 2, 2, [[2, 1], [0, 1]], 0.0),
    "three models": (3, 4, 3, [[2, 1, 0], [0, 1, 1], [1, 0, 2]], 0.4),
}


@pytest.mark.statistical
@pytest.mark.parametrize("name", list(CASES))
def test_step_has_the_law_of_the_data(name):
    k, d, n, counts, sigma = CASES[name]
    counts = np.array(counts)
    rng = np.random.default_rng(21)
    theta_star = rng.standard_normal((k, d))
    theta = theta_star + 0.5 * rng.standard_normal((k, d))
    theta[1] = theta_star[1]  # u = 0 for the well-labelled clients of cluster 1
    gamma = np.linspace(0.4, 0.9, k)
    m = int(counts.sum())
    shape = (theta, theta_star, counts, sigma, n, m, gamma)
    ours = np.array([exact_step(*shape, 0, rng)[0] for _ in range(2500)])
    theirs = np.array([step_by_data(*shape, rng) for _ in range(2500)])
    for j in range(k):
        u = theta[j] - theta_star[0]
        if counts[:, j].sum() == 0:
            np.testing.assert_array_equal(ours[:, j], np.tile(theta[j], (2500, 1)))
            continue
        assert same_law(ours[:, j] @ u, theirs[:, j] @ u)
        assert same_law(ours[:, j, 0], theirs[:, j, 0])
        assert same_law(
            np.linalg.norm(ours[:, j] - theta_star[j], axis=1),
            np.linalg.norm(theirs[:, j] - theta_star[j], axis=1),
        )


def test_step_has_the_exact_mean():
    rng = np.random.default_rng(22)
    theta_star, theta = rng.standard_normal((2, 2, 3))
    counts, gamma, n, m = np.array([[5, 2], [1, 4]]), np.array([0.3, 0.6]), 6, 12
    mean = np.mean(
        [exact_step(theta, theta_star, counts, 0.5, n, m, gamma, 0, rng)[0] for _ in range(40_000)],
        axis=0,
    )
    for j in range(2):
        pull = sum(counts[a, j] * (theta[j] - theta_star[a]) for a in range(2))
        expected = theta[j] - 2 * gamma[j] / m * pull
        # standard error below 1e-3 in every coordinate, 6 coordinates at 6 sigma: p < 1e-7
        np.testing.assert_allclose(mean[j], expected, atol=6e-3)


@pytest.mark.statistical
def test_components_outside_are_those_of_the_ambient_space():
    """Squared norms and inner products of the parts orthogonal to all coordinates in use."""
    rng = np.random.default_rng(23)
    k, d = 3, 8
    theta_star, theta = np.zeros((2, k, d))
    theta_star[:, :2], theta[:, :2] = rng.standard_normal((2, k, 2))
    counts, gamma = np.array([[4, 1, 0], [1, 3, 0], [0, 2, 5]]), np.array([0.5, 0.4, 0.3])
    shape = (counts, 0.6, 3, 16, gamma)
    ambient = np.array([exact_step(theta, theta_star, *shape, 0, rng)[0] for _ in range(6000)])
    inner = np.array(
        [
            exact_step(theta[:, :2].copy(), theta_star[:, :2].copy(), *shape, d - 2, rng)[1]
            for _ in range(6000)
        ]
    )
    for i in range(k):
        for j in range(i + 1):
            assert same_law(
                np.sum(ambient[:, i, 2:] * ambient[:, j, 2:], axis=1),
                np.sum(inner[:, i] * inner[:, j], axis=1),
            )


def test_rotating_back_keeps_every_inner_product():
    rng = np.random.default_rng(24)
    theta, outside = rng.standard_normal((4, 7)), np.tril(rng.standard_normal((4, 4)))
    theta[2] = theta[1]  # a dependent row
    outside[2] = outside[1]
    before = theta[:, 3:] @ theta[:, 3:].T + outside @ outside.T
    kept = theta[:, :3].copy()
    step._reembed(theta, outside, 3)
    np.testing.assert_allclose(theta[:, 3:] @ theta[:, 3:].T, before, atol=1e-12)
    np.testing.assert_array_equal(theta[:, :3], kept)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("k", "reduced", "n"), [(2, False, 3), (2, True, 40), (3, True, 3), (3, True, 40)]
)
def test_trajectories_have_the_law_of_the_data(k, reduced, n):
    """With 40 samples the lengths rule most clients out, and directions are drawn late."""
    rng = np.random.default_rng(25 + k)
    d, sigma, n_steps, n_trials = 7, 0.5, 3, 800
    sizes = np.array([2, 3, 4][:k])
    gamma = np.linspace(0.5, 0.8, k)
    theta_star = mx.simplex(k, d, 1.0)
    theta = np.zeros((k, d))
    theta[:, : 2 * k - 1] = 0.2 * rng.standard_normal((k, 2 * k - 1))
    theta += theta_star
    width = 2 * k - 1 if reduced else d
    errors, moved = step.simulate_trajectories(
        theta=np.broadcast_to(theta[:, :width], (n_trials, k, width)),
        theta_star=theta_star[:, :width],
        d=d,
        cluster_sizes=sizes,
        sigma=sigma,
        n_samples=n,
        gamma=gamma,
        n_steps=n_steps,
        rng=rng,
        n_fixed=k - 1 if reduced else None,
    )
    data = [
        trajectory_by_data(theta, theta_star, sizes, sigma, n, gamma, n_steps, rng)
        for _ in range(n_trials)
    ]
    data_errors, data_moved = (np.array(part) for part in zip(*data, strict=True))
    np.testing.assert_allclose(errors[:, 0], data_errors[:, 0])
    for t in range(n_steps):
        assert same_law(moved[:, t].sum(axis=1), data_moved[:, t].sum(axis=1))
        for j in range(k):
            assert same_law(errors[:, t + 1, j], data_errors[:, t + 1, j])


@pytest.mark.statistical
@pytest.mark.parametrize("d", [4, 8])
def test_directions_that_are_drawn_later_have_the_law_of_the_data(d):
    """Two steps by their lengths, then their directions: every inner product, against data."""
    rng = np.random.default_rng(28)
    k, n, sigma, n_trials, width = 2, 3, 0.6, 1000, min(d, 4)
    sizes, gamma = np.array([2, 3]), np.array([0.7, 0.5])
    theta_star = np.zeros((k, d))
    theta_star[:, :2] = rng.standard_normal((k, 2))
    theta = theta_star.copy()
    theta[0, :width] += 0.4 * rng.standard_normal(width)  # the other one is at its centre

    def products(models):
        u = models - theta_star[:, : models.shape[1]]
        return [u[0] @ u[0], u[1] @ u[1], u[0] @ u[1], u[0, :2].sum(), u[1, 0]]

    ours, theirs = [], []
    for _ in range(n_trials):
        along, across, outside = np.empty((2, k)), np.empty((2, k)), np.empty((k, k))
        models, lengths = theta[:, :width].copy(), np.linalg.norm(theta - theta_star, axis=1)
        for t in range(2):
            step._step_lengths(
                lengths, sizes, sigma, n, 5, gamma, d, rng, along[t], across[t], lengths
            )
        step._draw_directions(
            models, theta_star[:, :width].copy(), 2, d, along, across, rng, outside
        )
        ours.append(products(models))
        np.testing.assert_allclose(np.sqrt(ours[-1][:2]), lengths)
        moved = theta
        for _ in range(2):
            moved = step_by_data(moved, theta_star, np.diag(sizes), sigma, n, 5, gamma, rng)
        theirs.append(products(moved))
    for one, other in zip(np.transpose(ours), np.transpose(theirs), strict=True):
        assert same_law(one, other)


def test_lengths_limit_the_probability_of_a_wrong_label():
    rng = np.random.default_rng(29)
    k, d, sigma, sizes = 3, 4, 0.5, np.full(3, 10**6)
    theta_star = rng.standard_normal((k, d))
    separations, chances, left = np.empty(k), np.empty(k), np.empty(k, dtype=np.int64)
    step._separations(theta_star, separations)
    gaps = np.linalg.norm(theta_star[:, None] - theta_star, axis=2) + np.diag([np.inf] * k)
    np.testing.assert_allclose(separations, gaps.min(axis=1))
    thinned = 0
    for size in (0.1, 0.3, 0.6):
        theta = theta_star + size * rng.standard_normal((k, d)) / 2
        lengths = np.linalg.norm(theta - theta_star, axis=1)
        for n in (2, 30, 300):
            assert (
                step._thin_by_lengths(lengths, separations, sizes, sigma, n, rng, chances, left)
                == (left > 0).any()
            )
            for a in range(k):
                u = theta - theta_star[a]
                exact = sum(
                    math.exp(
                        log_misidentification_probability(
                            u[a] @ u[a], u[a] @ u[j], u[j] @ u[j], sigma**2, n
                        )
                    )
                    for j in range(k)
                    if j != a
                )
                assert chances[a] >= exact
                # 7 standard deviations of a binomial variable
                spread = 7.0 * math.sqrt(1e6 * chances[a] * (1.0 - chances[a])) + 10.0
                assert abs(left[a] - 1e6 * chances[a]) <= spread
                thinned += chances[a] < 0.5
    assert 5 < thinned < 27


@pytest.mark.statistical
@pytest.mark.parametrize("d", [1, 5])
def test_gradient_norm_of_one_client(d):
    rng = np.random.default_rng(27)
    n, sigma, u = 4, 0.7, np.zeros(d)
    u[0] = 1.3
    ours = step.gradient_norms(np.full(4000, 1.3), d, n, sigma, rng)
    x = rng.standard_normal((4000, n, d))
    residual = x @ u - sigma * rng.standard_normal((4000, n))
    theirs = np.linalg.norm(2 / n * np.einsum("tnd,tn->td", x, residual), axis=1)
    assert same_law(ours, theirs)


def start(k=2, d=5, n_trials=3):
    theta_star = mx.simplex(k, d, 1.0)
    return {
        "theta": np.broadcast_to(theta_star + 0.01, (n_trials, k, d)),
        "theta_star": theta_star,
        "d": d,
        "cluster_sizes": np.full(k, 5),
        "sigma": 0.1,
        "n_samples": 10,
        "gamma": 0.5,
        "n_steps": 4,
        "rng": np.random.default_rng(1),
    }


def test_divergence_is_nan_from_there_on_and_only_there():
    errors, moved = step.simulate_trajectories(**start() | {"gamma": 1e60, "n_steps": 8})
    lost = np.isnan(errors)
    assert lost[:, -1].all()
    assert not lost[:, :3].any()
    assert np.all(lost[:, 1:] >= lost[:, :-1])
    np.testing.assert_array_equal(np.isnan(moved), lost[:, 1:])
    for run in errors:
        last = int(np.flatnonzero(~np.isnan(run).any(axis=1))[-1])
        assert run[last].max() > 1e149  # models of 1e150 are the first that have no margins
        assert run[:last].max() < 1e151


def test_fixed_point_without_noise():
    errors, moved = step.simulate_trajectories(
        **start() | {"theta": mx.simplex(2, 5, 1.0), "sigma": 0.0}
    )
    assert np.all(errors == 0)
    assert np.all(moved == 0)


def test_too_many_explicit_draws_are_refused():
    with pytest.raises(InvalidParameter, match="m=3000000000 must be smaller"):
        step.simulate_trajectories(
            **start(3) | {"cluster_sizes": np.full(3, 10**9), "n_samples": 1, "sigma": 9.0}
        )


@pytest.mark.parametrize(
    "change", [{"d": 6}, {"n_fixed": 1, "d": 4}, {"theta": np.full((2, 5), math.nan)}]
)
def test_impossible_states_are_refused(change):
    with pytest.raises(InvalidParameter):
        step.simulate_trajectories(**start() | change)


PROBE = """
import json, numpy as np
from trials.experiments.ifca.step import STEP, TRAJECTORY
from trials.experiments.gaussian import OPNORM
rows = []
for e, p in [(STEP, dict(d=9, m=60, n=4)),
             (TRAJECTORY, dict(k=3, d=4, n=3, m=20, centers="random")),
             (TRAJECTORY, dict(k=3, d=40, n=6, m=3000, sigma=0.2, init="orthogonal")),
             (OPNORM, dict(N=6, d=5))]:
    rows.append(e.simulate(e.check(p), np.random.default_rng(5), 2).tolist())
"""


def test_kernels_run_with_jit_off_and_give_the_same_numbers():
    """The interpreter is the kernels' slow twin: same stream, same numbers up to rounding."""
    here = {}
    exec(PROBE, here)  # as this process has it, and a new one has the other
    other = "1" if os.environ.get("NUMBA_DISABLE_JIT", "0") == "0" else "0"
    done = subprocess.run(
        [sys.executable, "-c", f"{PROBE}print(json.dumps(rows))"],
        env={**os.environ, "NUMBA_DISABLE_JIT": other},
        capture_output=True,
        text=True,
        check=True,
    )
    for ours, others in zip(here["rows"], json.loads(done.stdout), strict=True):
        np.testing.assert_allclose(ours, others, rtol=1e-9)

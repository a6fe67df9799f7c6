"""Whole runs with every step size constant of a grid."""

import numpy as np
import pytest

from trials.experiments.ifca.step import N_STEPS
from trials.experiments.ifca.step_sizes import RUN_STEP_SIZES, STEP_SIZES, step_constants

BASE = {"m": 10**5, "n": 10**6, "d": 64, "k": 2, "Delta": 1.0, "sigma": 1e-6, "alpha": 0.25}


def least(params, n_trials=4):
    cell = RUN_STEP_SIZES.check({**BASE, **params})
    rows = RUN_STEP_SIZES.simulate(cell, np.random.default_rng(0), n_trials)
    return rows[:, :N_STEPS], rows[:, N_STEPS:]


@pytest.mark.parametrize("ratio", [2.0, 3.0, 4.0])
def test_the_best_constant_leaves_the_mean_steps_smallest_factor(ratio):
    """(r - 1)/(r + 1) a step at c1 = 1/(1 + r), by the mean step, whose fluctuation is 1e-3."""
    errors, best = least({"profile": "one-large", "ratio": ratio})
    steps = np.arange(1, 9)
    factor = (ratio - 1) / (ratio + 1)
    np.testing.assert_allclose(errors[:, :8], np.tile(0.25 * factor**steps, (4, 1)), rtol=0.05)
    np.testing.assert_allclose(best[:, :8], 1 / (1 + ratio), rtol=1e-4)


def test_equal_clusters_are_served_by_one_half_at_once():
    errors, best = least({})
    assert np.all(best[:, 0] == 0.5)
    assert errors[:, 0].max() < 1e-2


def test_the_grid_holds_the_best_constant_and_spans_the_box_s_sensible_part():
    grid = step_constants(2.9)
    assert grid[0] == 2**-9
    assert grid[-1] == 8
    assert 1 / 3.9 in grid
    assert np.all(np.diff(grid) > 0)


def test_runs_that_diverge_do_not_hide_those_that_do_not():
    errors, _ = least({"profile": "one-large", "ratio": 99.0})
    assert np.all(np.isfinite(errors))
    # (1 - 2/99)^24 of the start is left to the smallest cluster at best
    assert errors.min() > 0.25 * (1 - 2 / 99) ** 24 * 0.98


def test_no_step_size_fits_exactly_where_the_intervals_of_two_clusters_are_apart():
    params = STEP_SIZES.check(
        {"k": 2, "d": 3, "m": 12, "n": 40, "profile": "one-small", "ratio": 5.0}
    )
    rows = STEP_SIZES.simulate(params, np.random.default_rng(0), 200)
    none, low, high, other_low, other_high = rows.T
    apart = np.maximum(low, other_low) > np.minimum(high, other_high)
    assert 0 < apart.sum() < 200
    np.testing.assert_array_equal(none, apart)


def test_a_model_at_its_optimum_without_noise_allows_every_step_size():
    """|u - c g| = 0 for every c: 0/0 had been the ends of its interval."""
    params = STEP_SIZES.check({"sigma": 0.0, "alpha": 0.5, "m": 10, "n": 5, "d": 3})
    found = STEP_SIZES.simulate(params, np.random.default_rng(0), 3)
    assert found.tolist() == [[0.0, 0.0, np.inf, 0.0, np.inf]] * 3

"""IFCA's experiments on drawn data: the exact law's twin, and the paper's synthetic experiment."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from trials.checks import InvalidParameter
from trials.experiments.ifca import data_run
from trials.experiments.ifca.data_run import DATA_RUN, _clusters
from trials.experiments.ifca.data_step import DATA_STEP
from trials.experiments.ifca.drawn_clients import draw_clients
from trials.experiments.ifca.step import STEP
from trials.ifca.linear import run_ifca
from trials.models.matching import model_distance, nearest_distance
from trials.run.experiment import experiment

STEP_CELLS = [
    {"m": 12, "n": 4, "d": 6, "k": 2, "alpha": 0.1},
    {"m": 15, "n": 3, "d": 8, "k": 3, "alpha": 0.2, "profile": "geometric", "ratio": 3.0,
     "step_rule": "c/p_j", "sigma": 0.5},
    {"m": 9, "n": 5, "d": 3, "k": 2, "alpha": 0.25, "init": "adversarial", "profile": "one-small",
     "p_min": 0.2, "centers": "line", "step_rule": "c/p_max"},
]  # fmt: skip


@pytest.mark.statistical
@pytest.mark.parametrize("cell", STEP_CELLS, ids=lambda cell: f"k={cell['k']},n={cell['n']}")
def test_a_step_on_data_has_the_exact_law(cell):
    """Two-sample Kolmogorov-Smirnov, column by column, 1500 trials a side.

    Eighteen tests (six columns, three cells; err_before is the same in both) at 1e-5 each: false
    alarm at most 2e-4.  The two-sample statistic on columns of integers is conservative.
    """
    params = DATA_STEP.check(cell)
    on_data = DATA_STEP.simulate(params, np.random.default_rng(21), 1500)
    by_law = STEP.simulate(params, np.random.default_rng(22), 1500)
    np.testing.assert_allclose(on_data[:, 0], by_law[0, 0], rtol=1e-12)
    for column, name in enumerate(STEP.columns[1:], start=1):
        test = stats.ks_2samp(on_data[:, column], by_law[:, column], method="asymp")
        assert test.pvalue > 1e-5, f"{name}: {test}"
    assert on_data[:, 5].mean() > 0.5  # misidentification takes part in what is compared


def test_clients_are_drawn_in_the_order_of_their_clusters_with_their_own_model():
    theta_star = np.array([[1.0, 0.0, 2.0], [0.0, -3.0, 0.0]])
    data = draw_clients(theta_star, np.array([2, 3]), 4, 0.0, np.random.default_rng(0))
    owner = np.repeat([0, 0, 1, 1, 1], 4)
    np.testing.assert_array_equal(data.offsets, [0, 4, 8, 12, 16, 20])
    expected = (data.features * theta_star[owner]).sum(axis=1)
    np.testing.assert_allclose(data.responses, expected, rtol=1e-12)


def test_nearest_distance_forgives_a_collapse_that_the_matched_one_sees():
    reference = np.array([[1.0, 0.0], [0.0, 1.0]])
    collapsed = np.array([[[1.0, 0.0], [1.0, 0.0]]])
    assert nearest_distance(collapsed, reference)[0] == 0.0
    np.testing.assert_allclose(model_distance(collapsed, reference), np.sqrt(2) / 2)


EASY = {"m": 20, "n": 60, "d": 10, "norm": 1.0, "sigma": 0.2, "step_sizes": [0.1, 0.5]}


def column(result, name):
    return result[:, DATA_RUN.columns.index(name)]


def test_separated_centres_are_found_given_starts_and_iterations_enough():
    """About 3 starts in 10 find these centres, so that 40 all fail with probability 1e-6."""
    cell = EASY | {"d": 40, "n": 100, "norm": 3.0, "n_starts": 40}
    found = DATA_RUN.simulate(DATA_RUN.check(cell), np.random.default_rng(1), 2)
    np.testing.assert_array_equal(column(found, "success"), 1.0)
    assert (column(found, "n_starts_successful") >= 1).all()
    # with the clusters known, least squares is at sigma sqrt(d / (m n / 2)) = 0.04
    assert (np.abs(column(found, "best_dist") - 0.04) < 0.02).all()
    early = DATA_RUN.simulate(
        DATA_RUN.check(cell | {"n_iterations": 1}), np.random.default_rng(1), 2
    )
    np.testing.assert_array_equal(column(early, "success"), 0.0)


def test_columns_of_a_run_agree_with_each_other():
    params = DATA_RUN.check(EASY | {"step_sizes": [0.1, 50.0], "n_starts": 4})
    result = DATA_RUN.simulate(params, np.random.default_rng(2), 3)
    best, near = column(result, "best_dist"), column(result, "best_dist_nearest")
    assert (near <= best * (1 + 1e-12)).all()
    np.testing.assert_array_equal(column(result, "success"), best <= 0.6 * 0.2)
    np.testing.assert_array_equal(column(result, "success_nearest"), near <= 0.6 * 0.2)
    np.testing.assert_array_equal(column(result, "best_step_size"), 0.1)
    np.testing.assert_array_equal(column(result, "n_diverged"), 4)


def test_a_trial_whose_runs_all_diverge_is_not_finite():
    params = DATA_RUN.check(EASY | {"step_sizes": [50.0], "n_starts": 2})
    result = DATA_RUN.simulate(params, np.random.default_rng(3), 2)
    assert np.isinf(column(result, "best_dist")).all()
    np.testing.assert_array_equal(column(result, "success"), 0.0)
    np.testing.assert_array_equal(column(result, "n_diverged"), 2)


@pytest.mark.parametrize("n_starts", [1, 20])
def test_both_kernels_give_the_same_trial_and_all_runs_are_repeated(n_starts, monkeypatch):
    monkeypatch.setattr(data_run, "REPEATED", 1)
    cell = EASY | {"step_sizes": [0.1, 0.3], "n_starts": n_starts, "n_iterations": 30}
    plain, skipping = (
        DATA_RUN.simulate(DATA_RUN.check(cell | {"kernel": kernel}), np.random.default_rng(5), 1)
        for kernel in ("plain", "skipping")
    )
    np.testing.assert_allclose(skipping[:, :-1], plain[:, :-1], rtol=1e-8)
    assert column(plain, "n_repeated") == 0
    assert column(skipping, "n_repeated") == column(skipping, "n_runs") == 2 * n_starts


def test_one_trial_of_25_repeats_its_runs():
    """300 trials with fewer than 2 or more than 30 such have probability 7e-5."""
    cell = EASY | {"m": 4, "n": 5, "d": 3, "n_starts": 1, "n_iterations": 1}
    cell |= {"kernel": "skipping"}
    repeated = column(
        DATA_RUN.simulate(DATA_RUN.check(cell), np.random.default_rng(5), 300), "n_repeated"
    )
    assert set(repeated) == {0.0, 2.0}  # of two runs
    assert 2 <= np.count_nonzero(repeated) <= 30


@pytest.mark.parametrize("kernel", ["plain", "skipping"])
def test_success_does_not_depend_on_the_runs_that_a_successful_start_leaves_out(kernel):
    cell = EASY | {"d": 40, "n": 100, "norm": 3.0, "step_sizes": [0.5, 0.1, 1e-4]}
    cell |= {"n_starts": 20, "n_iterations": 100, "kernel": kernel}
    every, fewer = (
        DATA_RUN.simulate(DATA_RUN.check(cell | {"sweep": sweep}), np.random.default_rng(8), 1)
        for sweep in ("all", "until success")
    )
    same = ["success", "n_starts_successful", "success_nearest", "n_starts_nearest", "oracle_dist"]
    for name in same:
        np.testing.assert_array_equal(column(every, name), column(fewer, name))
    n_successful = column(every, "n_starts_successful")
    assert 0 < n_successful < 20  # in this trial both kinds of starts occur
    assert column(every, "n_runs") == 60
    # the first step size finds all of them
    np.testing.assert_array_equal(column(fewer, "n_runs"), 60 - 2 * n_successful)


@pytest.mark.parametrize("kernel", ["plain", "skipping"])
def test_success_does_not_depend_on_the_runs_after_the_first_success(kernel):
    """Some trials end after four starts, some after ten, and some after all step sizes."""
    cell = EASY | {"d": 20, "n": 40, "sigma": 0.3, "step_sizes": [0.1, 0.3, 1.5]}
    cell |= {"n_starts": 10, "n_iterations": 40, "kernel": kernel, "scaling": "coordinate"}
    seen = set()
    for norm, seed in ((0.3, 5), (0.3, 6), (0.3, 7), (0.6, 5)):
        every, fewer = (
            DATA_RUN.simulate(
                DATA_RUN.check(cell | {"norm": norm, "sweep": sweep}),
                np.random.default_rng(seed),
                1,
            )
            for sweep in ("all", "until one success")
        )
        for name in ("success", "success_nearest", "oracle_dist", "stability_limit", "start_dist"):
            np.testing.assert_array_equal(column(every, name), column(fewer, name))
        success, n_runs = (float(column(fewer, name)[0]) for name in ("success", "n_runs"))
        if n_runs == 30:
            np.testing.assert_allclose(every[:, :-2], fewer[:, :-2], rtol=1e-8)
        seen.add((success, n_runs))
    assert seen == {(1.0, 4.0), (1.0, 10.0), (1.0, 30.0), (0.0, 30.0)}


@pytest.mark.parametrize("rows", [4, 40])
def test_the_oracle_is_least_squares_of_each_cluster(rows):
    rng = np.random.default_rng(7)
    theta_star = np.array([[1.0, 0.0, 2.0], [0.0, -1.0, 0.0]])
    sizes = np.array([2, 3])
    data = draw_clients(theta_star, sizes, rows, 0.3, rng)
    parts = (slice(0, 2 * rows), slice(2 * rows, 5 * rows))
    fits = [np.linalg.lstsq(data.features[p], data.responses[p], rcond=None)[0] for p in parts]
    expected = np.linalg.norm(np.array(fits) - theta_star, axis=1).mean()
    oracle, limit = _clusters(data, sizes, theta_star)
    np.testing.assert_allclose(oracle, expected, rtol=1e-10)
    largest = max(np.linalg.norm(data.features[p], 2) ** 2 for p in parts)
    np.testing.assert_allclose(limit, 5 * rows / largest, rtol=1e-10)


def test_the_oracle_of_too_few_rows_or_of_equal_columns():
    theta_star = np.array([[1.0, 0.0], [0.0, -1.0]])
    sizes = np.array([1, 1])
    few = draw_clients(theta_star, sizes, 1, 0.3, np.random.default_rng(7))
    oracle, limit = _clusters(few, sizes, theta_star)
    assert np.isinf(oracle)
    np.testing.assert_allclose(limit, 2 / (few.features**2).sum(axis=1).max(), rtol=1e-12)
    equal = draw_clients(theta_star, sizes, 5, 0.0, np.random.default_rng(7))
    equal.features[:, 1] = equal.features[:, 0]  # no unique fit: least squares of least norm
    oracle, _ = _clusters(equal, sizes, theta_star)
    assert np.isfinite(oracle)


def test_a_step_beyond_the_stability_limit_diverges_from_the_clusters_own_fits():
    """One iteration with step size gamma multiplies the top eigenvector by 1 - 2 gamma / limit."""
    rng = np.random.default_rng(3)
    theta_star, sizes = np.array([[3.0, 0.0], [0.0, -3.0]]), np.array([2, 2])
    data = draw_clients(theta_star, sizes, 50, 0.0, rng)
    _, limit = _clusters(data, sizes, theta_star)
    starts = theta_star[None] + 1e-3 * rng.standard_normal((1, 2, 2))
    gaps = [
        model_distance(
            run_ifca(
                data=data, starts=starts, step_sizes=np.array([c * limit]), n_iterations=150
            ).models,
            theta_star,
        )[0]
        for c in (0.95, 1.02)
    ]
    assert gaps[0] < 1e-5
    assert gaps[1] > 1e-2


@pytest.mark.parametrize("scaling", ["norm", "coordinate"])
def test_scaling_sets_the_size_of_the_centres(scaling, monkeypatch):
    seen = []

    def spy(theta_star, *rest):
        seen.append(theta_star)
        return draw_clients(theta_star, *rest)

    monkeypatch.setattr("trials.experiments.ifca.data_run.draw_clients", spy)
    cell = EASY | {"norm": 3.0, "scaling": scaling, "n_iterations": 1}
    DATA_RUN.simulate(DATA_RUN.check(cell), np.random.default_rng(4), 1)
    if scaling == "norm":
        np.testing.assert_allclose(np.linalg.norm(seen[0], axis=1), 3.0, rtol=1e-14)
    else:
        assert set(np.unique(seen[0])) == {0.0, 3.0}


def test_the_paper_s_step_sizes_are_the_defaults():
    assert DATA_RUN.check({"k": 2})["step_sizes"] == [0.01, 0.1, 1.0]
    assert DATA_RUN.check({"k": 4})["step_sizes"] == [0.5, 1.0, 2.0]
    complete = DATA_RUN.check({})
    assert (complete["n_starts"], complete["n_iterations"]) == (10, 300)
    assert DATA_RUN.check(complete) == complete


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"k": 3}, "step_sizes=None"),
        ({"step_sizes": []}, "step_sizes"),
        ({"step_sizes": 0.1}, "step_sizes"),
        ({"step_sizes": [0.1, 0.0]}, "step_sizes=0.0"),
        ({"step_sizes": [float("nan")]}, "step_sizes=nan"),
        ({"k": 4, "m": 3}, "m=3"),
        ({"n": 0}, "n=0"),
        ({"sigma": 0.0}, "sigma=0.0"),
        ({"norm": -1.0}, "norm=-1.0"),
        ({"scaling": "none"}, "scaling='none'"),
        ({"start": "none"}, "start='none'"),
        ({"n_starts": 0}, "n_starts=0"),
        ({"n_iterations": 0}, "n_iterations=0"),
        ({"k": 4, "d": 2}, "d=2"),
        ({"m": 10**6, "n": 10**3}, "exact law"),
        ({"typo": 1}, "unknown parameter 'typo'"),
    ],
)
def test_impossible_runs_are_refused(params, message):
    with pytest.raises(InvalidParameter, match=message):
        DATA_RUN.check(params)


def test_a_step_too_large_to_draw_is_refused():
    assert STEP.check({"m": 10**9})["m"] == 10**9
    with pytest.raises(InvalidParameter, match="the exact law has no such limit"):
        DATA_STEP.check({"m": 10**9})


def test_both_are_in_the_catalogue():
    assert experiment("ifca.data-step") is DATA_STEP
    assert experiment("ifca.figure-3") is DATA_RUN

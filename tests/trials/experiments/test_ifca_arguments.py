"""Intervals of step sizes against steps that are run, and least squares against its exact law."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from trials.checks import InvalidParameter
from trials.experiments import gaussian
from trials.experiments.gaussian import LEAST_SQUARES
from trials.experiments.ifca.step import STEP
from trials.experiments.ifca.step_sizes import STEP_SIZES
from trials.run.streams import faster_stream

CELL = {
    "m": 9_999,  # thirds are whole clients
    "n": 400,
    "d": 20,
    "k": 2,
    "Delta": 1.0,
    "sigma": 0.25,
    "alpha": 0.25,
    "profile": "one-large",
    "ratio": 2.0,
}
COLUMNS = {name: i for i, name in enumerate(STEP_SIZES.columns)}
N = 64


def rng(block=0):
    return np.random.Generator(np.random.Philox(block))


def intervals(cell, block=0):
    return STEP_SIZES.simulate(STEP_SIZES.check(cell), rng(block), N)


def after(cell, c1, block=0):
    """Errors (smallest, largest) after the same draws with the step size c1/p, and before."""
    plain = {k: v for k, v in cell.items() if k not in ("factor", "slack")}
    rows = STEP.simulate(STEP.check({**plain, "c1": c1}), rng(block), N)
    at = {name: rows[:, i] for i, name in enumerate(STEP.columns)}
    return at["err_after_smallest"], at["err_after_largest"], at["err_before"]


@pytest.mark.parametrize("factor", [0.5, 0.25])
@pytest.mark.parametrize("slack", [0.0, 0.02])
@pytest.mark.parametrize("ratio", [1.5, 3.5])
def test_edges_of_the_intervals_are_where_the_step_starts_to_meet_the_bound(factor, slack, ratio):
    """The very same data, run with c1 just inside and just outside each edge."""
    cell = {**CELL, "ratio": ratio, "factor": factor, "slack": slack}
    rows = intervals(cell)
    for trial in range(0, N, 16):
        for cluster, name in enumerate(("smallest", "largest")):
            low, high = (rows[trial, COLUMNS[f"{name}_{side}"]] for side in ("low", "high"))
            assert 0.0 < low < high < 10.0
            for c1, inside in (
                *((low * 1.0001, True), (high * 0.9999, True)),
                *((low * 0.9999, False), (high * 1.0001, False)),
            ):
                errors = after(cell, c1)
                assert (errors[cluster][trial] <= factor * errors[2][trial] + slack) == inside


@given(c1=st.floats(0.01, 2.0), block=st.integers(0, 5))
@settings(max_examples=25, deadline=None)
def test_a_step_size_meets_the_bound_exactly_inside_its_interval(c1, block):
    cell = {**CELL, "factor": 0.5}
    rows = intervals(cell, block)
    errors = after(cell, c1, block)
    for cluster, name in enumerate(("smallest", "largest")):
        low, high = rows[:, COLUMNS[f"{name}_low"]], rows[:, COLUMNS[f"{name}_high"]]
        clear = (np.abs(c1 / low - 1) > 1e-6) & (np.abs(c1 / high - 1) > 1e-6)
        inside = (low <= c1) & (c1 <= high)
        np.testing.assert_array_equal((errors[cluster] <= 0.5 * errors[2])[clear], inside[clear])


def test_none_marks_the_trials_in_which_the_two_intervals_do_not_meet():
    for ratio in (1.5, 2.9, 3.0, 3.1, 8.0):
        rows = intervals({**CELL, "ratio": ratio})
        low = np.maximum(rows[:, COLUMNS["smallest_low"]], rows[:, COLUMNS["largest_low"]])
        high = np.minimum(rows[:, COLUMNS["smallest_high"]], rows[:, COLUMNS["largest_high"]])
        np.testing.assert_array_equal(rows[:, 0] == 1.0, low > high)


def test_with_much_data_the_intervals_are_those_of_the_mean_step():
    """|1 - 2 c r| <= f: c from (1-f)/(2r) to (1+f)/(2r), r the cluster's size over the smallest."""
    for factor in (0.5, 0.25):
        cell = {**CELL, "n": 10**9, "sigma": 1e-3, "factor": factor}
        rows = intervals(cell)
        for name, r in (("smallest", 1.0), ("largest", 2.0)):
            for side, sign in (("low", -1), ("high", 1)):
                wanted = (1 + sign * factor) / (2 * r)
                # fluctuation of the Gram matrix: sqrt(d / (n m p)) ~ 2e-6
                np.testing.assert_allclose(rows[:, COLUMNS[f"{name}_{side}"]], wanted, rtol=1e-4)
    assert intervals({**CELL, "n": 10**9, "ratio": 2.9})[:, 0].max() == 0.0
    assert intervals({**CELL, "n": 10**9, "ratio": 3.1})[:, 0].min() == 1.0


def test_an_unreachable_bound_leaves_no_step_size():
    """Noise far above the bound: no c makes the error small, so every trial is marked."""
    rows = intervals({**CELL, "n": 1, "m": 20, "sigma": 50.0, "alpha": 0.49, "factor": 0.0})
    assert rows[:, 0].min() == 1.0
    assert np.all(np.isfinite(rows))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"c1": 0.3}, "unknown parameter 'c1'; known: Delta"),
        ({"step_rule": "c/p"}, "unknown parameter 'step_rule'"),
        ({"factor": 1.5}, r"factor=1\.5 must be"),
        ({"factor": math.nan}, "factor=nan must be"),
        ({"slack": -1.0}, r"slack=-1\.0 must be"),
        ({"m": 1}, "m=1 must be"),
    ],
)
def test_bad_parameters_of_step_sizes_are_refused(change, message):
    with pytest.raises(InvalidParameter, match=message):
        STEP_SIZES.check({**CELL, **change})


def test_checks_are_canonical():
    for experiment, cell in ((STEP_SIZES, CELL), (LEAST_SQUARES, {"N": 20})):
        full = experiment.check(cell)
        assert experiment.check(full) == full


@pytest.mark.statistical
@pytest.mark.parametrize(("n", "d", "sigma"), [(2, 1, 1.0), (12, 10, 0.1), (60, 5, 3.0)])
def test_least_squares_on_data_follows_the_exact_law(n, d, sigma):
    cell = LEAST_SQUARES.check({"N": n, "d": d, "sigma": sigma})
    rows = LEAST_SQUARES.simulate(cell, rng(7), 4000)
    law = dict(zip(LEAST_SQUARES.columns, rows.T, strict=True))
    # Kolmogorov-Smirnov, false-alarm probability 1e-6 for each of the three shapes
    assert stats.kstest(law["law"], "uniform").pvalue > 1e-6
    # the law's own argument: sigma^2 d/(N-d+1) F(d, N-d+1), coded a second time
    again = stats.f.cdf(law["squared_error"] * (n - d + 1) / (sigma**2 * d), d, n - d + 1)
    np.testing.assert_allclose(law["law"], again, rtol=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"N": 0}, "N=0 must be"),
        ({"N": 10, "d": 10}, "N=10 must exceed d=10"),
        ({"d": 0}, "d=0 must be"),
        ({"sigma": 0}, "sigma=0 must be"),
        ({"sigma": math.nan}, "sigma=nan must be"),
        ({"m": 3}, "unknown parameter 'm'; known: N, d, sigma"),
    ],
)
def test_bad_parameters_of_least_squares_are_refused(change, message):
    with pytest.raises(InvalidParameter, match=message):
        LEAST_SQUARES.check(change)


def test_the_estimates_of_a_stack_of_trials_are_those_of_least_squares(monkeypatch):
    """NumPy's least squares by singular values, trial by trial on the same data."""
    monkeypatch.setattr(gaussian, "_MOST_NUMBERS", 5 * 7 * 4)  # five trials at once
    found = LEAST_SQUARES.simulate({"N": 7, "d": 3, "sigma": 2.0}, rng(3), 12)
    stream = faster_stream(rng(3))
    drawn = np.concatenate([stream.standard_normal((size, 7, 4)) for size in (5, 5, 2)])
    for row, data in zip(found, drawn, strict=True):
        estimate = np.linalg.lstsq(data[:, :3], 2.0 * data[:, 3], rcond=None)[0]
        assert row[0] == pytest.approx(estimate @ estimate, rel=1e-10)

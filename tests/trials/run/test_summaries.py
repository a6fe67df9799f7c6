"""Summaries of trajectories against slow loops, and what "never" and NaN become."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trials.checks import InvalidParameter
from trials.run.summaries import (
    at_rounds,
    error_floor,
    first_hit,
    fitted_factor,
    largest,
    log_spaced_rounds,
    round_columns,
)

ERRORS = np.array([[8.0, 4.0, 2.0, 1.0, 3.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]])


@given(n_rounds=st.integers(1, 10**6), count=st.integers(2, 60))
def test_rounds_are_distinct_ascending_and_reach_both_ends(n_rounds, count):
    rounds = log_spaced_rounds(n_rounds, count)
    assert rounds[0] == 0
    assert rounds[-1] == n_rounds
    assert np.all(np.diff(rounds) > 0)
    assert len(rounds) <= count
    assert len(round_columns("err", rounds)) == len(rounds)


@given(seed=st.integers(0, 10**6), n_rounds=st.integers(1, 30), level=st.floats(0.1, 2.0))
def test_hits_and_maxima_are_those_of_a_loop(seed, n_rounds, level):
    e = np.random.default_rng(seed).exponential(1.0, (5, n_rounds + 1))
    for row, hit, stay, top in zip(
        e, first_hit(e, level), first_hit(e, level, stay=True), largest(e, 1), strict=True
    ):
        assert hit == next((t for t, v in enumerate(row) if v <= level), n_rounds + 1)
        settled = [t for t in range(n_rounds + 1) if all(v <= level for v in row[t:])]
        assert stay == (settled[0] if settled else n_rounds + 1)
        assert top == max(row[1:])


def test_columns_at_rounds_and_levels_of_their_own():
    assert at_rounds(ERRORS, [0, 3]).tolist() == [[8.0, 1.0], [1.0, 1.0]]
    assert round_columns("err", [0, 3]) == ("err_0", "err_3")
    assert first_hit(ERRORS, [2.0, 0.5]).tolist() == [2.0, 6.0]
    assert first_hit(ERRORS, 2.0, stay=True).tolist() == [5.0, 0.0]


def test_factors_between_start_and_floor():
    t = np.arange(12)
    e = np.vstack([0.5**t + 1e-4, np.full(12, 1.0), 0.9**t])
    factor = fitted_factor(e, floor=[1e-4, 1.0, 1e-9])
    assert factor[0] == pytest.approx(0.5, rel=0.02)
    assert factor[1] == 1.0  # at its floor from the start: no window
    assert factor[2] == pytest.approx(0.9)
    assert fitted_factor(e[2:], start=4, floor=1e-9)[0] == pytest.approx(0.9)
    assert error_floor(e)[1] == 1.0


def test_a_trajectory_that_is_lost_marks_its_trial():
    lost = np.array([[1.0, np.nan, 1.0, 0.5]])
    for column in (first_hit(lost, 0.6), largest(lost), fitted_factor(lost, floor=0.0)):
        assert np.isnan(column).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: log_spaced_rounds(0, 5), "n_rounds=0"),
        (lambda: at_rounds(ERRORS, [6]), "between 0 and 5"),
        (lambda: at_rounds(ERRORS[0], [1]), r"shape \(6,\)"),
        (lambda: largest(ERRORS, 6), "start=6"),
        (lambda: error_floor(ERRORS, 0.0), r"share=0\.0"),
        (lambda: fitted_factor(ERRORS, start=5), "start=5"),
    ],
)
def test_impossible_arguments_are_refused(call, message):
    with pytest.raises(InvalidParameter, match=message):
        call()

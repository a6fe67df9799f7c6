"""Confidence sequences and quantile limits against brute force and exact binomial probabilities."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from trials.checks import InvalidParameter
from verify.decisions.sequences import (
    confidence_sequence,
    exceeds,
    falls_below,
    log_evidence,
    prior_for,
    quantile_lower,
    quantile_upper,
    resolvable,
    trials_to_resolve,
)

priors = st.tuples(st.floats(0.1, 20), st.floats(0.1, 2000))


@st.composite
def counts(draw: st.DrawFn) -> tuple[int, int]:
    n = draw(st.integers(0, 100_000))
    return draw(st.integers(0, n)), n


@pytest.mark.parametrize(("s", "n", "p"), [(0, 10, 0.1), (3, 50, 0.02), (50, 50, 0.9)])
def test_the_martingale_is_the_mixture_of_likelihood_ratios(s: int, n: int, p: float) -> None:
    a, b = 0.7, 3.0

    def mixing(q: mpmath.mpf) -> mpmath.mpf:
        centred = q ** (a - 1) * (1 - q) ** (b - 1) / mpmath.beta(a, b)
        spread = 1 / (mpmath.pi * mpmath.sqrt(q * (1 - q)))
        return 0.9 * centred + 0.1 * spread

    mixture = mpmath.quad(lambda q: q**s * (1 - q) ** (n - s) * mixing(q), [0, 0.1, 0.5, 1])
    exact = mpmath.log(mixture / (mpmath.mpf(p) ** s * (1 - mpmath.mpf(p)) ** (n - s)))
    assert float(log_evidence(s, n, p, (a, b))) == pytest.approx(float(exact), rel=1e-5, abs=1e-5)


def test_the_martingale_has_mean_one_under_its_hypothesis() -> None:
    n, p = 60, 0.07
    s = np.arange(n + 1)
    mean = np.sum(binom.pmf(s, n, p) * np.exp(log_evidence(s, n, p, prior_for(p))))
    assert mean == pytest.approx(1.0, rel=1e-9)


@settings(deadline=None, max_examples=100)
@given(counts(), priors, st.floats(1e-6, 0.5))
def test_limits_bracket_the_rate_and_solve_the_defining_equation(
    count: tuple[int, int], prior: tuple[float, float], level: float
) -> None:
    s, n = count
    lower, upper = (float(v) for v in confidence_sequence(s, n, level, prior))
    assert 0 <= lower <= upper <= 1
    if n:
        assert lower <= s / n <= upper
    else:
        assert (lower, upper) == (0.0, 1.0)
    # The slope of the evidence in p is at most n / (p (1 - p)).  So the comparison is in p.
    for end in (lower, upper):
        if 1e-12 < end < 1 - 1e-12:
            at = float(log_evidence(s, n, end, prior)) + math.log(level)
            assert abs(at) <= 1e-6 + 1e-8 * n


def test_the_interval_is_the_set_of_unrejected_values_on_a_fine_grid() -> None:
    grid = np.linspace(0.0005, 0.9995, 1999)
    for s, n in ((0, 30), (4, 100), (77, 80), (1, 1)):
        kept = grid[log_evidence(s, n, grid, (0.5, 4.5)) < -math.log(0.05)]
        lower, upper = confidence_sequence(s, n, 0.05, (0.5, 4.5))
        assert kept[0] - 0.0005 <= lower <= kept[0]
        assert kept[-1] <= upper <= kept[-1] + 0.0005


@settings(deadline=None, max_examples=100)
@given(counts(), st.floats(1e-4, 0.9), st.floats(1e-4, 0.2))
def test_exceeding_and_falling_below_are_the_limits_in_other_words(
    count: tuple[int, int], delta: float, level: float
) -> None:
    s, n = count
    prior = prior_for(delta)
    lower, upper = confidence_sequence(s, n, level, prior)
    near = abs(lower - delta) <= 1e-9, abs(upper - delta) <= 1e-9
    assert near[0] or bool(exceeds(s, n, delta, level, prior)) == bool(lower > delta)
    assert near[1] or bool(falls_below(s, n, delta, level, prior)) == bool(upper < delta)


@pytest.mark.parametrize("delta", [0.3, 0.02, 1e-5])
@pytest.mark.parametrize("level", [0.05, 1e-4])
def test_the_planned_number_of_trials_is_the_smallest_that_resolves(
    delta: float, level: float
) -> None:
    n = trials_to_resolve(delta, level)
    prior = prior_for(delta)
    assert confidence_sequence(0, n, level, prior)[1] <= delta
    assert confidence_sequence(0, n - 1, level, prior)[1] > delta
    # No method can do with fewer: the exact fixed-sample requirement.
    assert n >= math.log(level) / math.log1p(-delta)
    assert resolvable(n, level) <= delta <= resolvable(n - 1, level)


def test_a_prior_is_centred_at_its_target() -> None:
    for delta in (1e-6, 0.03, 0.5, 0.98):
        a, b = prior_for(delta)
        assert a / (a + b) == pytest.approx(delta)
        assert min(a, b) == pytest.approx(0.5)


def test_planning_refuses_what_no_budget_resolves() -> None:
    assert trials_to_resolve(1.0, 0.05) == 0
    assert resolvable(0, 0.05) == 1.0
    with pytest.raises(InvalidParameter, match=r"delta=0\.0 must be at least"):
        trials_to_resolve(0.0, 0.05)
    with pytest.raises(InvalidParameter, match="level=0 must lie"):
        trials_to_resolve(0.1, 0)
    with pytest.raises(InvalidParameter, match="successes must lie"):
        confidence_sequence(3, 2, 0.05)


@pytest.mark.parametrize("n", [5, 59, 200, 1000])
@pytest.mark.parametrize("q", [0.5, 0.95])
def test_quantile_limits_are_the_tightest_ranks_with_exact_coverage(n: int, q: float) -> None:
    level = 0.05
    sample = np.arange(1.0, n + 1)  # the rank itself
    up, low = quantile_upper(sample, q, level), quantile_lower(sample, q, level)
    # X_(r) is a valid upper limit iff P(Bin(n, q) >= r) <= level.
    valid = [r for r in range(1, n + 1) if binom.sf(r - 1, n, q) <= level]
    assert up == (valid[0] if valid else math.inf)
    valid = [r for r in range(1, n + 1) if binom.cdf(r - 1, n, q) <= level]
    assert low == (valid[-1] if valid else -math.inf)
    assert quantile_upper(sample, q, level, anytime=True) >= up
    assert quantile_lower(sample, q, level, anytime=True) <= low


@pytest.mark.parametrize("q", [0.5, 0.9])
def test_quantile_limits_at_any_time_are_the_tightest_ranks(q: float) -> None:
    """The share of values up to the quantile is q.  Its limits say which ranks may lie below it."""
    n, level = 300, 0.05
    ranks = np.arange(1, n + 1)
    sample = ranks.astype(np.float64)
    lower, upper = confidence_sequence(np.arange(n + 1), n, level, prior_for(q))
    # X_(r) is above the quantile only if at most r - 1 values lie up to it, or below it r or more.
    assert quantile_lower(sample, q, level, anytime=True) == max(
        r for r in ranks if upper[r - 1] <= q
    )
    assert quantile_upper(sample, q, level, anytime=True) == min(r for r in ranks if lower[r] >= q)


def test_a_failed_trial_ranks_above_everything() -> None:
    sample = np.array([1.0] * 90 + [np.nan] * 10)
    assert quantile_upper(sample, 0.95, 0.05) == math.inf
    assert quantile_lower(sample, 0.5, 0.05) == 1.0


def test_a_tiny_delta_is_rejected_by_a_few_failures_however_far_above_it_they_lie() -> None:
    for delta in (1e-4, 1e-9, 1e-30, 1e-300, 5e-324):
        assert exceeds(4, 1000, delta, 0.05, prior_for(delta))
        lower, upper = confidence_sequence(4, 1000, 0.05, prior_for(delta))
        assert delta < lower < 0.004 < upper < 0.05


def test_limits_of_many_counts_at_once_are_those_of_each_alone():
    """The iteration goes on until the slowest count has converged."""
    counts, n = np.array([0.0, 1.0, 40.0, 500.0, 999.0, 1000.0]), np.full(6, 1000.0)
    together = confidence_sequence(counts, n, 0.01, prior_for(0.05))
    for i, count in enumerate(counts):
        alone = confidence_sequence(np.array([count]), n[:1], 0.01, prior_for(0.05))
        for many, one in zip(together, alone, strict=True):
            assert many[i] == pytest.approx(one[0], rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("successes", [0, 3, 5])
@pytest.mark.parametrize("delta", [1.0, 1.5, 40.0])
def test_every_probability_is_at_most_one(successes, delta):
    """Whatever was seen, also where all trials are bad."""
    assert bool(falls_below(successes, 5, delta, 0.01))
    assert not bool(exceeds(successes, 5, delta, 0.01))


@pytest.mark.parametrize("level", [0.0, -0.1, 1.0, 1.5, [0.05, 0.0]])
def test_limits_need_a_level_between_zero_and_one(level):
    with pytest.raises(InvalidParameter, match="level must lie strictly between 0 and 1"):
        confidence_sequence([0, 1], [3, 3], level)


@pytest.mark.parametrize("n", [1, 2, 5, 20])
def test_the_two_limits_of_a_median_are_mirror_images_also_where_a_tail_is_the_level(n) -> None:
    """The tails of Bin(n, 1/2) are numbers of 2^-n, so that a level may be one of them."""
    x = np.sort(np.random.default_rng(n).random(n))
    for rank in range(1, n // 2 + 2):
        tail = sum(math.comb(n, k) for k in range(rank)) / 2**n  # P(N <= rank - 1)
        for level in (tail, tail * (1 + 1e-9), tail * (1 - 1e-9)):
            lower, upper = quantile_lower(x, 0.5, level), quantile_upper(-x, 0.5, level)
            assert lower == -upper
            kept = level >= tail
            expected = x[rank - 1] if kept else x[rank - 2] if rank > 1 else -math.inf
            assert lower == expected, (rank, level)

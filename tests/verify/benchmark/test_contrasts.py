"""Contrasts, ranks and groups: limits against direct counting, and false separation."""

import itertools
import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from trials.checks import InvalidParameter
from verify.benchmark.contrasts import (
    Comparing,
    Contrast,
    Estimate,
    groups,
    n_limits,
    paired_ratio,
    ranks,
)
from verify.decisions.sequences import confidence_sequence

positive = hnp.arrays(float, 12, elements=st.floats(1e-3, 1e3))


@given(positive, positive)
def test_the_contrast_of_two_methods_turns_over_with_their_order(a, b):
    rule = Comparing(n_limits=3)
    one, other = rule.contrast("a", "b", a, b), rule.contrast("b", "a", b, a)
    assert one.better == other.better
    assert math.isclose(one.estimate.lower, 1 / other.estimate.upper, rel_tol=1e-12)


def test_a_failed_fit_has_the_lowest_score_whichever_method_it_is_of():
    rule = Comparing(scale="difference", low=-0.5, high=1.0)
    good, bad = np.array([0.25, 0.75]), np.array([np.nan, np.nan])
    assert rule.contrast("a", "b", good, bad).estimate.value == 1.0
    assert rule.contrast("a", "b", bad, good).estimate.value == -1.0
    assert rule.contrast("a", "b", bad, bad).estimate.value == 0.0


def test_the_median_limits_are_those_of_the_share_below():
    """A ratio r is inside the limits exactly when 1/2 is inside the limits of P(A <= r B)."""
    rng = np.random.default_rng(3)
    a, b = rng.lognormal(0.3, 1.0, 60), rng.lognormal(0.0, 1.0, 60)
    rule = Comparing(level=0.05, n_limits=2)
    found = rule.contrast("a", "b", a, b).estimate
    beyond = set()
    for r in np.geomspace(0.2, 6.0, 60):
        low, high = confidence_sequence(int(np.sum(a <= r * b)), 60, 0.05 / 4)
        beyond |= {"above"} if low > 0.5 else {"below"} if high < 0.5 else set()
        if low > 0.5:
            assert r >= found.upper
        elif high < 0.5:
            assert r < found.lower or math.isclose(r, found.lower)
    assert beyond == {"above", "below"}


def test_failures_count_as_infinitely_bad_and_two_of_them_as_equal():
    bad = np.full(40, np.nan)
    good = np.linspace(1.0, 2.0, 40)
    rule = Comparing()
    assert rule.contrast("a", "b", bad, good).better == "b"
    assert rule.contrast("a", "b", good, bad).better == "a"
    both = rule.contrast("a", "b", bad, bad)
    assert (both.state, both.estimate.value) == ("narrow", 1.0)
    assert rule.estimate(bad).value == math.inf


def test_a_ratio_beyond_all_floats_is_infinitely_bad_and_warns_nobody():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ratio = paired_ratio(np.array([1e300, 1e-300]), np.array([1e-300, 1e300]))
    assert ratio.tolist() == [math.inf, 0.0]


@pytest.mark.parametrize(("high", "state"), [(1.4, "open"), (0.99, "first"), (1.0, "narrow")])
def test_a_ratio_is_narrow_by_the_factor_between_its_limits(high, state):
    """Limits of 0.5 and 1.4 are less than one apart, and a factor 2.8."""
    ratios = np.r_[np.full(100, 0.5), np.full(100, high)]
    found = Comparing(width=1.0).contrast("a", "b", ratios, np.ones(200))
    assert (found.estimate.lower, found.estimate.upper) == (0.5, high)
    assert found.state == state


def test_a_limit_without_evidence_is_the_end_of_what_a_value_can_be():
    """Two trials decide nothing.  An error is at least 0, and a score is any number here."""
    few = np.array([1.0, 2.0])
    error = Comparing().estimate(few)
    assert (error.lower, error.upper) == (0.0, math.inf)
    score = Comparing(scale="difference").estimate(few)
    assert (score.lower, score.upper) == (-math.inf, math.inf)


def test_scores_are_compared_by_their_mean_and_larger_is_better():
    rng = np.random.default_rng(0)
    high, low = rng.uniform(0.7, 1.0, 80), rng.uniform(0.0, 0.3, 80)
    rule = Comparing(scale="difference", low=-0.5, high=1.0)
    found = rule.contrast("a", "b", high, low)
    assert found.better == "a"
    assert found.estimate.lower < 0.7 < found.estimate.upper
    failed = np.where(np.arange(80) < 60, np.nan, high)
    assert rule.contrast("a", "b", failed, low).better == "b"


def test_negative_values_and_unequal_lengths_are_refused():
    with pytest.raises(InvalidParameter, match="not negative"):
        paired_ratio(np.array([-1.0]), np.array([1.0]))
    with pytest.raises(InvalidParameter, match="shapes"):
        Comparing().contrast("a", "b", np.ones(2), np.ones(3))


pairs = st.dictionaries(
    st.sampled_from(list(itertools.combinations("abcde", 2))),
    st.sampled_from(["first", "second", "open", "narrow"]),
)


@given(pairs)
def test_groups_are_the_largest_sets_without_a_separated_pair(states):
    some = Estimate(value=1.0, lower=0.0, upper=2.0)
    contrasts = [
        Contrast(first=a, second=b, estimate=some, state=s) for (a, b), s in states.items()
    ]
    apart = {frozenset(p) for p, s in states.items() if s in ("first", "second")}

    def together(names):
        return not any(frozenset(p) in apart for p in itertools.combinations(names, 2))

    every = [
        set(c) for size in range(1, 6) for c in itertools.combinations("abcde", size) if together(c)
    ]
    largest = {frozenset(s) for s in every if not any(s < other for other in every)}
    assert {frozenset(g) for g in groups("abcde", contrasts)} == largest
    for method, (best, worst) in ranks("abcde", contrasts).items():
        beats = sum(c.better == method for c in contrasts)
        mine = [c for c in contrasts if method in (c.first, c.second)]
        beaten = sum(c.better not in (None, method) for c in mine)
        assert (best, worst) == (1 + beaten, 5 - beats)


@pytest.mark.statistical
def test_two_copies_of_a_method_are_rarely_separated_at_any_look():
    """200 runs of three copies, looked at after each fourth trial up to 64.

    With a true rate of 5 % more than 20 separations have a probability of 1e-3.
    """
    rng = np.random.default_rng(11)
    rule = Comparing(level=0.05, n_limits=n_limits(3))
    wrong = 0
    for _ in range(200):
        common = rng.lognormal(0.0, 1.0, 64)
        x = {name: common * rng.lognormal(0.0, 0.3, 64) for name in "abc"}
        wrong += any(
            c.better is not None
            for n in range(4, 65, 4)
            for c in rule.contrasts({name: v[:n] for name, v in x.items()})
        )
    assert wrong <= 20


@pytest.mark.statistical
def test_a_clear_difference_is_found_in_few_trials():
    """A method that is better in every trial is separated from the other at 16 trials."""
    rule = Comparing(level=0.05, n_limits=n_limits(8))
    b = np.linspace(1.0, 2.0, 16)
    assert rule.contrast("a", "b", 0.95 * b, b).better == "a"
    assert rule.contrast("a", "b", 0.95 * b[:8], b[:8]).better is None

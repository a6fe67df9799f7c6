"""Contrasts, ratios and trends against permutation, closed forms and one another."""

import itertools
import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import binom, norm

from bounds.statement import Contrast
from trials.checks import InvalidParameter
from verify.decisions.comparisons import (
    ContrastTest,
    TrendTest,
    _log_mean_exponential,
    difference_knowledge,
    exact_limits,
    jonckheere,
    raised,
    trend_p_value,
)
from verify.decisions.means import INDICATOR, Knowledge, LowerTest, MeanTest
from verify.decisions.shares import Count, excludes_difference

LARGE = Knowledge(asymptotic=True)
UNIT = Knowledge(low=0.0, high=1.0)


def contrast_test(relation="<", margin=0.0, knowledge=LARGE, **more):
    return ContrastTest(
        contrast=Contrast(left="a", relation=relation, right="b", margin=margin),
        knowledge=knowledge,
        horizon=4096,
        refute_level=0.05,
        support_level=0.05,
        **more,
    )


def paired(gain, n=4096, seed=0):
    rng = np.random.default_rng(seed)
    shared = rng.gamma(4.0, 0.25, n)
    return gain * shared * rng.gamma(16, 1 / 16, n), shared * rng.gamma(16, 1 / 16, n)


@pytest.mark.parametrize(
    ("relation", "margin", "gain", "status"),
    [
        ("<", 0.0, 0.9, "holds"),
        ("<", 0.0, 1.1, "fails"),
        ("<", 0.0, 1.0, "open"),
        ("<=", 0.1, 1.0, "holds"),
        ("<=", 0.1, 1.2, "fails"),
        ("<=", 0.1, 1.1, "open"),
        ("=", 0.1, 1.0, "holds"),
        ("=", 0.1, 1.2, "fails"),
        ("=", 0.1, 0.8, "fails"),
        ("=", 0.01, 1.0, "open"),
    ],
)
def test_contrasts(relation, margin, gain, status):
    decision = contrast_test(relation, margin).decide(*paired(gain))
    assert decision.status == status
    assert decision.lower <= gain <= decision.upper
    assert decision.observed == pytest.approx(gain, rel=0.03)
    assert (decision.n_trials, decision.n_failed) == (4096, 0)
    assert decision.bound == (1.0 if relation == "=" else 1.0 + margin)


def test_failed_trials_are_counted_apart():
    assert contrast_test().decide(*paired(0.9), n_failed=3).n_failed == 3


def test_pairing_sees_what_separate_samples_would_not():
    a, b = paired(0.95, n=2048)
    assert contrast_test().decide(a, b).status == "holds"
    shuffled = np.random.default_rng(1).permutation(b)
    assert contrast_test().decide(a, shuffled).status == "open"


def test_ratio_limits_are_where_the_tests_stop_rejecting():
    a, b = paired(0.7)
    test = contrast_test()
    lower, upper = test.ratio_limits(a, b)
    assert contrast_test("<=", 0.0).decide(a, b * upper * 1.001).status == "holds"
    assert contrast_test("<=", 0.0).decide(a, b * upper * 0.995).status != "holds"
    assert contrast_test("<=", 0.0).decide(a, b * lower * 0.999).status == "fails"
    # Fieller's limits for a fixed sample with normal quantiles are inside
    n, r = a.size, a.mean() / b.mean()
    se = np.std(a - r * b, ddof=1) / math.sqrt(n) / b.mean()
    assert lower < r - 1.645 * se < r + 1.645 * se < upper
    assert upper - lower < 2 * 3.6 * se


@pytest.mark.parametrize("unit", [2.0**-12, 8.0])
def test_ratio_limits_are_in_the_unit_of_the_ratio(unit):
    a, b = paired(0.7)
    right = [limit / unit for limit in contrast_test().ratio_limits(a, b)]
    assert contrast_test().ratio_limits(a, unit * b) == pytest.approx(right, rel=1e-9)


def test_success_is_compared_without_moments():
    rng = np.random.default_rng(2)
    u = rng.random(3000)
    a, b = (u < 0.5).astype(float), (u < 0.6).astype(float)
    assert contrast_test(knowledge=UNIT).decide(a, b).status == "holds"
    assert contrast_test(knowledge=UNIT).decide(b, a).status == "fails"
    assert contrast_test(knowledge=UNIT).decide(a, a.copy()).status == "open"


def test_signs_decide_where_means_do_not_exist():
    rng = np.random.default_rng(3)
    b = np.abs(rng.standard_cauchy(2000))
    a = b * np.where(rng.random(2000) < 0.7, 0.5, 2.0)
    assert contrast_test().decide(a, b).status == "open"
    assert contrast_test(scale="sign").decide(a, b).status == "holds"
    assert contrast_test(scale="sign").decide(b, a).status == "fails"
    ties = contrast_test(scale="sign").decide(b, b.copy())
    assert (ties.observed, ties.status) == (0.5, "open")
    with pytest.raises(InvalidParameter, match="shapes"):
        contrast_test().decide(a, b[:5])


def test_signs_take_the_margin_of_a_contrast():
    b = np.abs(np.random.default_rng(4).standard_cauchy(400))
    for relation, factor, status in (
        ("<=", 1.04, "holds"),
        ("<=", 0.5, "holds"),
        ("<=", 1.06, "fails"),
        ("=", 1.04, "holds"),
        ("=", 0.96, "holds"),
        ("=", 1.06, "fails"),
        ("=", 0.94, "fails"),
    ):
        decided = contrast_test(relation, 0.05, scale="sign").decide(factor * b, b)
        assert (decided.status, decided.bound, decided.relation) == (status, 0.5, "at most")
        assert decided.observed == (1.0 if status == "fails" else 0.0)
    assert contrast_test("<=", 0.0, scale="sign").decide(b, b.copy()).status == "holds"


def test_ratio_limits_are_open_for_values_without_a_ratio():
    a, b = paired(1.0)
    assert contrast_test().ratio_limits(a - 5, b) == (0.0, math.inf)
    assert contrast_test().ratio_limits(np.append(a[:-1], -1e-6), b) == (0.0, math.inf)
    assert contrast_test().ratio_limits(a, np.append(b[:-1], -1e-6)) == (0.0, math.inf)


def test_jonckheere_agrees_with_all_permutations():
    groups = [np.array([3.0, 1.0]), np.array([2.0, 5.0]), np.array([4.0, 6.0, 7.0])]

    def statistic(parts):
        return sum(
            (x < y) + 0.5 * (x == y)
            for low, high in itertools.combinations(parts, 2)
            for x in low
            for y in high
        )

    pooled = np.concatenate(groups)
    values = []
    for first in itertools.combinations(range(7), 2):
        rest = [i for i in range(7) if i not in first]
        for second in itertools.combinations(rest, 2):
            third = [i for i in rest if i not in second]
            values.append(statistic([pooled[list(first)], pooled[list(second)], pooled[third]]))
    observed = statistic(groups)
    exact_mean, exact_sd = np.mean(values), np.std(values)
    z = (observed - exact_mean) / exact_sd
    assert jonckheere(groups) == pytest.approx((observed - exact_mean, exact_sd), rel=1e-9)
    assert z > 0


def test_jonckheere_counts_ties_exactly():
    groups = [np.array([1.0, 1.0, 2.0]), np.array([1.0, 2.0]), np.array([2.0, 2.0, 1.0])]
    pooled = np.concatenate(groups)
    rng = np.random.default_rng(4)

    def statistic(x):
        parts = x[:3], x[3:5], x[5:]
        return sum(
            np.sum((low[:, None] < high) + 0.5 * (low[:, None] == high))
            for low, high in itertools.combinations(parts, 2)
        )

    drawn = np.array([statistic(rng.permutation(pooled)) for _ in range(20_000)])
    excess, deviation = jonckheere(groups)
    z = excess / deviation
    # the variance for ties: its relative Monte Carlo error is sqrt(2 / 20,000) = 0.01, and 5 of
    # them are allowed
    expected = (statistic(pooled) - drawn.mean()) / drawn.std()
    assert z == pytest.approx(expected, abs=0.06)
    assert jonckheere([np.ones(3), np.ones(3)]) == (0.0, 0.0)
    with pytest.raises(InvalidParameter, match="at least two groups"):
        jonckheere([np.ones(3)])


def trend(groups, margin=0.05, knowledge=UNIT):
    return TrendTest(
        margin=margin, knowledge=knowledge, horizon=4000, refute_level=0.05, support_level=0.05
    ).decide(groups)


def coins(*probabilities, n=4000, seed=5):
    rng = np.random.default_rng(seed)
    return [rng.binomial(1, p, n).astype(float) for p in probabilities]


def test_trends():
    assert trend(coins(0.2, 0.4, 0.7))[0] == "holds"
    assert trend(coins(0.2, 0.7, 0.4))[:2] == ("fails", "the mean falls from cell 2 to cell 3")
    status, reason, _ = trend(coins(0.4, 0.4, 0.4), margin=0.2)
    assert status == "open"
    assert "no trend" in reason
    status, reason, limits = trend(coins(0.2, 0.4, 0.7, n=50))
    assert status == "open"
    assert reason == "a fall by more than 0.05 from cell 2 to cell 3 is not excluded"
    assert all(low <= p <= high for (low, high), p in zip(limits, (0.2, 0.4, 0.7), strict=True))
    with pytest.raises(InvalidParameter, match="at least two cells"):
        trend(coins(0.2))


def test_a_trend_with_infinite_values_stays_open():
    """Two infinite limits have no difference, which is not a small one."""
    groups = [np.zeros(50), np.full(50, np.inf), np.full(50, np.inf)]
    assert trend(groups, 0.1, Knowledge(low=0.0))[0] == "open"


def outcome(successes, n):
    return np.repeat([1.0, 0.0], [successes, n - successes])


@pytest.mark.parametrize(("n", "level"), [(40, 0.025), (7, 0.001)])
def test_limits_of_an_indicator_invert_the_binomial_tails(n, level):
    def solved(tail):
        return brentq(lambda p: tail(p) - level, 0, 1)

    for s in range(n + 1):
        low, high = exact_limits(outcome(s, n), INDICATOR, level)
        least = solved(partial(binom.sf, s - 1, n)) if s > 0 else 0.0
        most = solved(partial(binom.cdf, s, n)) if s < n else 1.0
        assert (low, high) == pytest.approx((least, most), abs=1e-9)
        fallen = exact_limits(-outcome(s, n), INDICATOR.mirrored(), level)
        assert fallen == pytest.approx((-high, -low), abs=1e-12)


def test_limits_of_two_values_move_with_them_and_others_are_refused():
    assert exact_limits(np.empty(0), INDICATOR, 0.05) == (0.0, 1.0)
    moved = Knowledge(low=2.0, high=5.0, two_valued=True)
    low, high = exact_limits(outcome(3, 9), INDICATOR, 0.05)
    assert exact_limits(2 + 3 * outcome(3, 9), moved, 0.05) == pytest.approx(
        (2 + 3 * low, 2 + 3 * high)
    )
    with pytest.raises(InvalidParameter, match=r"value 0\.5 must be 0 or 1"):
        exact_limits(np.array([1.0, 0.5]), INDICATOR, 0.05)


def test_an_exact_test_of_two_shares_decides_what_limits_for_any_time_leave_open():
    """Two cells of 40 successes have limits that differ by 1 - .025^(1/40) = .088.

    A fall by .075 shows 40 of 40 after 40 of 40 with a probability of at most .925^40 = .044.
    """
    groups = [outcome(s, 40) for s in (0, 40, 40)]
    status, reason, _ = trend(groups, 0.1, INDICATOR)
    assert status == "holds"
    assert "falls are below 0.088" in reason
    assert trend(groups, 0.1, UNIT)[0] == "open"
    status, reason, _ = trend(groups, 0.075, INDICATOR)
    assert status == "holds"
    assert "falls are below 0.075" in reason
    status, reason, _ = trend(groups, 0.07, INDICATOR)
    assert status == "open"
    assert reason == "a fall by more than 0.07 from cell 2 to cell 3 is not excluded"
    assert trend([outcome(s, 40) for s in (0, 40, 20)], 0.1, INDICATOR)[0] == "fails"


def test_the_worst_pair_is_the_one_that_is_named():
    """Cell 2 to 3 falls by .1, cell 2 to 4 by .2 and cell 3 to 4 by .1."""
    groups = [outcome(s, 10) for s in (0, 9, 8, 7)]
    for known in (INDICATOR, UNIT):
        status, reason, _ = trend(groups, 0.25, known)
        assert (status, "from cell 2 to cell 4" in reason) == ("open", True)


def test_the_error_of_a_trend_of_two_indicators_by_all_their_outcomes():
    """At a fall of exactly the margin both errors are at most the level, summed exactly."""
    n, margin = 12, 0.25
    outcomes = list(itertools.product(range(n + 1), repeat=2))
    statuses = [trend([outcome(s, n) for s in pair], margin, INDICATOR)[0] for pair in outcomes]
    assert set(statuses) == {"holds", "fails", "open"}
    counts = np.arange(n + 1)
    for p in np.linspace(margin, 1.0, 31):
        chances = np.outer(binom.pmf(counts, n, p), binom.pmf(counts, n, p - margin)).ravel()
        for wrong in ("holds", "fails"):
            assert sum(c for c, s in zip(chances, statuses, strict=True) if s == wrong) <= 0.05


@pytest.mark.parametrize("gain", [0.9, 1.0, 1.15])
def test_the_limits_of_a_ratio_share_the_level_of_an_equality_between_its_sides(gain):
    """Two sides at the level alpha are each a one-sided contrast at alpha / 2."""
    a, b = paired(gain)
    equal = replace(contrast_test("=", 0.1), refute_level=0.04)
    one_sided = replace(contrast_test("<=", 0.1), refute_level=0.02)
    assert equal.ratio_limits(a, b) == one_sided.ratio_limits(a, b)
    assert equal.ratio_limits(a, b)[0] < replace(one_sided, refute_level=0.04).ratio_limits(a, b)[0]


@pytest.mark.parametrize("k", [2, 3, 6])
def test_a_fall_refutes_at_the_level_of_its_pair(k):
    """One exact test for each of k (k - 1) / 2 pairs, and the limits of means at half of that."""
    n, level, margin = 60, 0.05, 0.05
    share = level / (k * (k - 1) / 2)
    test = TrendTest(
        margin=margin, knowledge=INDICATOR, horizon=n, refute_level=level, support_level=level
    )
    by_limits = replace(test, knowledge=UNIT)
    second, fell = 10, {True: 0, False: 0}
    for count in range(20, 42, 3):
        groups = [outcome(c, n) for c in (count, second, *([second] * (k - 2)))]
        # the second share is said to be smaller by at most the margin: p_2 - p_1 >= -margin
        falls = excludes_difference(Count(second, n), Count(count, n), -margin, share)
        assert (test.decide(groups)[0] == "fails") is falls
        fell[falls] += 1
        below, above = (
            LowerTest(knowledge=known, target=target, level=share / 2, horizon=n)
            for known, target in ((UNIT, 0.5), (UNIT.mirrored(), -0.5))
        )
        wide = below.limit(groups[0]) + above.limit(-groups[1]) > margin
        assert (by_limits.decide(groups)[0] == "fails") is bool(wide)
    assert min(fell.values()) > 0


def test_a_tie_speaks_for_neither_method():
    """All trials are ties: half of the signs, however many there are, and nothing is decided."""
    test = contrast_test("<", scale="sign")
    same = np.ones(4000)
    decision = test.decide(same, same)
    assert (decision.status, decision.observed) == ("open", 0.5)
    mostly = np.where(np.arange(4000) < 3000, 1.0, 2.0)  # three quarters tie, the others exceed
    assert test.decide(mostly, same).observed == 0.625
    assert test.decide(mostly, same).status == "fails"
    assert test.decide(same, mostly).observed == 0.375
    assert test.decide(same, mostly).status == "holds"


@pytest.mark.parametrize(
    "groups",
    [
        [[1.0, 1.0], [1.0, 2.0], [2.0, 2.0, 3.0]],
        [[0.0, 1.0, 1.0], [1.0, 1.0]],
        [[5.0], [5.0, 5.0], [5.0, 6.0, 6.0]],
        [[1.0], [2.0]],
    ],
)
def test_the_variance_of_a_trend_with_ties_is_that_of_all_orders(groups):
    """Every order of the pooled values into the groups, whatever their ties."""
    pooled, sizes = np.concatenate(groups), np.cumsum([len(g) for g in groups])[:-1]

    def statistic(values):
        parts = np.split(np.asarray(values), sizes)
        return sum(
            np.sum((low[:, None] < high) + 0.5 * (low[:, None] == high))
            for low, high in itertools.combinations(parts, 2)
        )

    every = [statistic(order) for order in itertools.permutations(pooled.tolist())]
    expected = statistic(pooled) - np.mean(every), np.std(every)
    assert jonckheere([np.array(g) for g in groups]) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("ends", [(0.0, 1.0), (-2.0, 3.0), (1.0, 5.0), (-4.0, -1.0)])
@pytest.mark.parametrize("ratio", [0.25, 1.0, 1.5])
def test_a_difference_lies_between_those_of_the_ends(ends, ratio):
    differences = [a - ratio * b for a in ends for b in ends]
    low, high = ends
    for asymptotic in (False, True):
        known = difference_knowledge(Knowledge(low=low, high=high, asymptotic=asymptotic), ratio)
        assert (known.low, known.high) == (min(differences), max(differences))
        assert known.asymptotic is asymptotic
        assert known.variance == math.inf  # that of a difference is unknown


def one_sided(x, low, high, share, asymptotic=False):
    """The statement that the mean of x, with values from low to high, is at most zero."""
    return MeanTest(
        bound=0.0, side="at most", knowledge=Knowledge(low=low, high=high, asymptotic=asymptotic),
        horizon=4096, refute_level=0.05 / share, support_level=0.05,
    ).status(x)  # fmt: skip


@pytest.mark.parametrize(
    ("relation", "margin"), [("<", 0.0), ("<=", 0.0), ("<=", 0.5), ("=", 0.1), ("=", 0.5)]
)
def test_a_contrast_of_shares_is_decided_by_the_means_of_its_differences(relation, margin):
    """The differences are written here, and their ends found by trying the corners."""
    statuses = set()
    corners = list(itertools.product((0.0, 1.0), repeat=2))
    rng = np.random.default_rng(7)
    for p, q in itertools.product((0.0, 0.2, 0.5, 0.6, 1.0), repeat=2):
        n = int(rng.integers(20, 400))
        a, b = (rng.random(n) < p).astype(float), (rng.random(n) < q).astype(float)
        forms = [lambda a, b: a - (1 + margin) * b]
        if relation == "=":
            forms.append(lambda a, b: (1 - margin) * b - a)
        found = []
        for form in forms:
            values = [form(*corner) for corner in corners]
            found.append(one_sided(form(a, b), min(values), max(values), len(forms)))
        words = [word for word, _ in found]
        status = next(word for word in ("fails", "open", "holds") if word in words)
        test = contrast_test(relation, margin, knowledge=UNIT)
        decision = test.decide(a, b, limits=False)
        assert decision.status == status
        assert decision.reason == next(why for word, why in found if word == status)
        assert (decision.lower, decision.upper) == (None, None)
        assert (decision.observed is None) is (not b.any())
        statuses.add(status)
    assert {"fails", "open"} <= statuses


def test_the_reason_of_a_contrast_is_that_of_the_part_that_decides_it():
    """At a tenth below the margin one part of an equality holds, and the other one is open."""
    decision = contrast_test("=", 0.1).decide(*paired(0.9))
    assert (decision.status, decision.asymptotic) == ("open", False)
    assert decision.reason == "the limits include the bound"
    held = contrast_test("=", 0.1).decide(*paired(1.0))
    assert (held.status, held.reason, held.asymptotic) == ("holds", "asymptotic limits", True)


@pytest.mark.parametrize(
    ("relation", "scale", "stands"),
    [
        ("<", "mean", "below"),
        ("<=", "mean", "at most"),
        ("=", "mean", "equals"),
        ("<", "sign", "below"),
        ("<=", "sign", "at most"),
        ("=", "sign", "at most"),
    ],
)
def test_a_decided_contrast_says_how_its_number_must_stand_to_its_bound(relation, scale, stands):
    margin = 0.0 if relation == "<" else 0.1
    decision = contrast_test(relation, margin, scale=scale).decide(*paired(1.0, n=300))
    assert decision.relation == stands


@pytest.mark.parametrize(
    "known",
    [UNIT, Knowledge(low=-1.0, high=3.0), Knowledge(low=0.0, variance=0.01), Knowledge(low=0.0)],
    ids=repr,
)
def test_the_limits_of_a_trend_come_from_bets_that_no_trial_has_chosen(known):
    """Each end by the one-sided test at a value that the knowledge gives, whatever the mean is."""
    high_end = known.high if math.isfinite(known.high) else None
    for shift in (0.2, 0.7):
        x = shift + 0.1 * np.sin(np.arange(200.0))
        test = TrendTest(
            margin=0.1, knowledge=known, horizon=400, refute_level=0.05, support_level=0.1
        )
        low, high = test.decide([x, x])[2][0]
        spread = (
            0.1
            if known.variance == 0.01
            else None
            if high_end is None
            else ((known.high - known.low) / 2)
        )
        target = 0.0 if spread is None else known.low + spread
        bare = LowerTest(knowledge=known, target=target, level=0.05, horizon=400)
        from_above = 0.0 if high_end is None else spread - high_end
        mirrored = replace(bare, knowledge=known.mirrored(), target=from_above)
        assert (low, high) == (bare.limit(x), -mirrored.limit(-x))
        assert low < float(x.mean()) < high


def test_a_contrast_that_its_range_decides_is_trivial():
    """All values lie in [1, 1.05], so that no mean exceeds another by a tenth."""
    known = Knowledge(low=1.0, high=1.05)
    a, b = np.linspace(1.0, 1.05, 50), np.linspace(1.05, 1.0, 50)
    for relation, margin, status in (
        ("<=", 0.1, "trivial"), ("=", 0.1, "trivial"), ("<=", 0.001, "open"), ("=", 0.001, "open"),
    ):  # fmt: skip
        decided = contrast_test(relation, margin, knowledge=known).decide(a, b)
        assert decided.status == status, (relation, margin)
    # (1 - 0.049) b <= a always, and a <= 1.049 b nearly always: one part says something
    assert contrast_test("=", 0.049, knowledge=known).decide(a, a).status == "holds"


@pytest.mark.parametrize("ratio", [-1.5, -0.5, 0.0, 0.5, 2.0])
@pytest.mark.parametrize("ends", [(0.0, 1.0), (-1.0, 2.0), (-3.0, -1.0)])
def test_the_range_of_a_difference_holds_its_corners(ratio, ends):
    """Also with a negative ratio, where an equality has a margin above one."""
    found = difference_knowledge(Knowledge(low=ends[0], high=ends[1]), ratio)
    corners = [a - ratio * b for a in ends for b in ends]
    assert (found.low, found.high) == (min(corners), max(corners))
    free = difference_knowledge(Knowledge(low=0.0), ratio)
    assert (free.low, free.high) == (0.0 if ratio <= 0 else -math.inf, math.inf)


@pytest.mark.parametrize("side", ["a", "b"])
def test_a_method_without_errors_has_no_limit_of_a_ratio(side):
    a, b = paired(1.0, n=300)
    zero = np.zeros(300)
    pair = (zero, b) if side == "a" else (a, zero)
    assert contrast_test().ratio_limits(*pair) == (0.0, math.inf)


def test_a_ratio_that_few_trials_bound_on_no_side_has_no_limit():
    """Of values without a range two trials reject no ratio."""
    few = np.array([0.5, 0.6])
    assert contrast_test().ratio_limits(few, few) == (0.0, math.inf)


@pytest.mark.parametrize(
    ("n", "level"),
    [((40, 40), 0.05), ((60, 6), 0.001), ((6, 40), 0.01)],
)
def test_a_trend_is_found_no_more_often_than_its_level_where_there_is_none(n, level):
    """Summed over all outcomes.  The normal approximation finds one too often in each case."""
    values = [[np.repeat([0.0, 1.0], [m - x, x]) for x in range(m + 1)] for m in n]
    shares = np.array([0.005, 0.01, 0.02, 0.035, 0.07, 0.5, 0.95, 0.99])
    masses = [binom.pmf(np.arange(m + 1), m, shares[:, None]) for m in n]
    sizes = {}

    def exact(cells):
        return trend_p_value(cells, level)

    def normal(cells):
        excess, deviation = jonckheere(cells)
        return norm.sf(excess / deviation) if deviation else 1.0

    for p_value in (exact, normal):
        # what stands below the first cell's share is no trend
        found = [
            [y * n[0] > x * n[1] and p_value([a, b]) <= level for y, b in enumerate(values[1])]
            for x, a in enumerate(values[0])
        ]
        sizes[p_value] = np.einsum(
            "si,ij,sj->s", masses[0], np.array(found, dtype=float), masses[1]
        )
    assert sizes[exact].max() <= level
    assert sizes[normal].max() > level


def test_a_trend_with_a_value_that_is_no_number_is_refused():
    """Its p-value was NaN, which is not above any level, so that a trend was found."""
    groups = [np.array([0.1, math.nan]), np.array([0.2, 0.3])]
    with pytest.raises(InvalidParameter, match="NaN, which has no place"):
        trend_p_value(groups, 0.05)


@pytest.mark.parametrize("n", [0, 1, 3, 6])
def test_the_mean_exponential_is_that_of_all_subsets(n):
    values = np.array([-0.5, 0.2, 0.2, 1.3, 2.0, -3.0])
    sums = [sum(values[list(s)]) for s in itertools.combinations(range(6), n)]
    expected = math.log(np.mean(np.exp(sums)))
    assert _log_mean_exponential(values, n) == pytest.approx(expected, abs=1e-12)


def orders(pooled, sizes):
    """Every way to deal the pooled values out to groups of these sizes."""

    def deal(rest, left):
        if not left:
            yield []
            return
        for chosen in itertools.combinations(rest, left[0]):
            others = tuple(i for i in rest if i not in chosen)
            for more in deal(others, left[1:]):
                yield [np.array([pooled[i] for i in chosen]), *more]

    yield from deal(tuple(range(len(pooled))), sizes)


@pytest.mark.parametrize("level", [0.2, 0.02])
@pytest.mark.parametrize(
    ("pooled", "sizes"),
    [
        ([0.0] * 5 + [1.0, 2.0], (4, 2, 1)),
        ([0.0] * 3 + [1.0, 1.0, 2.0, 2.0], (3, 2, 2)),
        ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], (3, 2, 1)),
        ([0.0] * 5 + [1.0, 2.0], (5, 2)),
    ],
)
def test_a_trend_of_several_values_is_found_no_more_often_than_its_level(pooled, sizes, level):
    """By all orders.  The reciprocals of p-values below one have a mean of at most one."""
    found = [trend_p_value(groups, level) for groups in orders(pooled, sizes)]
    below = np.array([p for p in found if p < 1.0])
    assert len(below) > 0
    assert sum(below <= level) <= level * len(found)
    # what the p-values above one leave out is positive
    assert np.sum(1 / below) <= len(found) * (1 + 1e-9)


@pytest.mark.parametrize("level", [0.001, 1e-4])
def test_a_trend_of_few_trials_that_differ_is_found_no_more_often_than_its_level(level):
    """All but three of 72 trials are zero.  The normal approximation finds one too often."""
    sizes, others = (60, 6, 6), (1.0, 2.0, 3.0)
    sums = {"markov": 0.0, "normal": 0.0}
    for where in itertools.product(range(3), repeat=3):
        left, probability = list(sizes), 1.0
        for drawn, group in enumerate(where):
            probability *= left[group] / (72 - drawn)
            left[group] -= 1
        groups = [
            np.array([0.0] * left[i] + [v for v, w in zip(others, where, strict=True) if w == i])
            for i in range(3)
        ]
        excess, deviation = jonckheere(groups)
        sums["markov"] += probability * (trend_p_value(groups, level) <= level)
        sums["normal"] += probability * (norm.sf(excess / deviation) <= level)
    assert sums["markov"] <= level
    assert sums["normal"] > 3 * level


def test_a_clear_trend_of_several_values_is_found():
    """A trend of five to seven deviations at the level 5e-5."""
    groups = [np.repeat([0.0, 1.0, 2.0], [40 - 9 * i, 20, 9 * i + 4]) for i in range(4)]
    excess, deviation = jonckheere(groups)
    assert 5 < excess / deviation < 7
    assert trend_p_value(groups, 5e-5) < 5e-5
    assert trend_p_value(groups[::-1], 5e-5) == 1.0
    assert trend_p_value([np.zeros(3), np.zeros(2), np.zeros(4)], 0.05) == 1.0


@pytest.mark.parametrize("scale", ["mean", "sign"])
@pytest.mark.parametrize(
    ("relation", "shift", "status"),
    [
        ("=", 0.0, "holds"),
        ("=", 0.05, "holds"),
        ("=", 0.15, "fails"),
        ("=", -0.15, "fails"),
        ("<=", 0.05, "holds"),
        ("<=", 0.15, "fails"),
        ("<=", -0.15, "holds"),
    ],
)
def test_a_margin_is_a_share_of_the_size_of_a_negative_value(scale, relation, shift, status):
    """Of the same values below zero one was said to exceed 1.1 times the other: -1 > -1.1."""
    b = -1.0 - np.linspace(0.0, 1.0, 600)
    a = b + shift * np.abs(b)
    for knowledge in (Knowledge(low=-3.0, high=1.0), LARGE):
        test = replace(contrast_test(relation, 0.1, knowledge), scale=scale)
        assert test.decide(a, b).status == status


@given(st.floats(-3, 3), st.floats(0, 3), st.floats(0, 2.5), st.lists(st.floats(0, 1), min_size=2))
@settings(max_examples=60)
def test_a_difference_from_raised_values_lies_in_its_known_range(low, width, share, places):
    """By hand: a - b - share |b| for values at some places of their range."""
    values = low + (width + 0.01) * np.array(places)
    known = difference_knowledge(
        Knowledge(low=low, high=low + width + 0.01), 1 + share, below_zero=1 - share
    )
    for a in values:
        differences = a - values - share * np.abs(values)
        assert a - raised(values, share) == pytest.approx(differences, abs=1e-12)
        assert np.all(differences >= known.low - 1e-9)
        assert np.all(differences <= known.high + 1e-9)


@pytest.mark.parametrize("scale", [1e307, 1e150, 1e-150, 1e-306])
@pytest.mark.parametrize(("relation", "margin"), [("<", 0.0), ("<=", 0.1), ("=", 0.2)])
def test_a_contrast_has_no_scale_where_sums_overflow_too(relation, margin, scale):
    """Diverging methods have such values.  Their ratio limits were refused as low=nan."""
    a = 0.4 + 0.5 * np.linspace(0, 1, 400)
    test = contrast_test(relation, margin)
    plain, large = test.decide(a, a[::-1]), test.decide(scale * a, scale * a[::-1])
    assert (large.status, large.reason) == (plain.status, plain.reason)
    for part in ("observed", "lower", "upper"):
        assert getattr(large, part) == pytest.approx(getattr(plain, part), rel=1e-6)

"""Thresholds: estimates and limits recomputed another way, separation, misfit, the design."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit
from scipy.stats import binom, chi2, norm

from tests.verify.toys import dose_probability
from trials.checks import InvalidParameter
from verify.decisions import thresholds
from verify.decisions.sequences import confidence_sequence
from verify.decisions.thresholds import (
    LINKS,
    Design,
    _pearson,
    crossing_limits,
    fit_threshold,
    log_capitals,
    log_grid,
)

SIZES = np.array([40, 60, 80, 100, 130, 170, 240])
TRIALS = np.full(7, 50)


def counts(seed, **dose):
    rng = np.random.default_rng(seed)
    full = {"need": 100.0, "slope": 4.0, "law": "logit"} | dose
    p = np.array([dose_probability({**full, "n": n}) for n in SIZES])
    return rng.binomial(TRIALS, p)


def statsmodels_fit(s, link):
    import statsmodels.api as sm

    links = {
        "logit": sm.families.links.Logit(),
        "probit": sm.families.links.Probit(),
        "cloglog": sm.families.links.CLogLog(),
        "loglog": sm.families.links.LogLog(),
    }
    design = sm.add_constant(np.log(SIZES))
    family = sm.families.Binomial(link=links[link])
    fit = sm.GLM(np.column_stack([s, TRIALS - s]), design, family=family).fit()
    q = {"logit": 0.0, "probit": 0.0, "cloglog": math.log(math.log(2))}
    q["loglog"] = -math.log(math.log(2))
    a, b = fit.params
    return math.exp((q[link] - a) / b), b, fit.cov_params(), q[link] - a


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog", "loglog"])
def test_estimates_are_those_of_a_binomial_regression(link):
    for seed in range(4):
        s = counts(seed)
        fit = fit_threshold(SIZES, s, TRIALS, level=0.05, links=(link,))
        threshold, slope, *_ = statsmodels_fit(s, link)
        # the profile is read off a grid with 48 steps over its limits
        assert fit.threshold == pytest.approx(threshold, rel=0.01)
        assert fit.slope == pytest.approx(slope, rel=0.05)


def test_limits_are_close_to_fiellers_where_the_sample_is_large():
    trials = TRIALS * 40
    p = [dose_probability({"need": 100.0, "slope": 4.0, "law": "logit", "n": n}) for n in SIZES]
    s = np.random.default_rng(5).binomial(trials, p)
    fit = fit_threshold(SIZES, s, trials, level=0.05, links=("logit",))
    import statsmodels.api as sm

    design = sm.add_constant(np.log(SIZES))
    glm = sm.GLM(np.column_stack([s, trials - s]), design, family=sm.families.Binomial()).fit()
    (a, b), cov = glm.params, glm.cov_params()
    z = math.sqrt(2 * math.log(2 / 0.05))  # Chernoff's limit at half the level
    # Fieller: x with (a + b x)^2 <= z^2 Var(a + b x), a quadratic in x
    quadratic = [
        b * b - z * z * cov[1, 1],
        2 * (a * b - z * z * cov[0, 1]),
        a * a - z * z * cov[0, 0],
    ]
    low, high = np.exp(np.sort(np.roots(quadratic)))
    assert fit.profile == pytest.approx((low, high), rel=0.002)
    assert fit.profile[0] < low
    assert fit.profile[1] > high


@pytest.mark.parametrize("level", [0.05, 1e-3, 1e-5])
@pytest.mark.parametrize("size", [4, 10, 16, 40])
def test_one_batch_misses_a_threshold_at_its_size_at_most_as_often_as_stated(size, level):
    """By all outcomes of one binomial count with the probability one half."""
    missed = 0.0
    for s in range(size + 1):
        fit = fit_threshold([10], [s], [size], level=level, links=("logit",))
        missed += 0.0 if fit.lower <= 10 <= fit.upper else binom.pmf(s, size, 0.5)
    assert missed <= level


def test_the_profile_falls_by_chernoffs_limit_at_the_limits():
    s = counts(6)
    fit = fit_threshold(SIZES, s, TRIALS, level=0.05, links=("logit",))

    def loss(parameters):
        x, log_b = parameters
        p = np.clip(expit(np.exp(log_b) * (np.log(SIZES) - x)), 1e-300, 1 - 1e-16)
        return -np.sum(s * np.log(p) + (TRIALS - s) * np.log1p(-p))

    best = minimize(loss, [math.log(100), math.log(4)], method="Nelder-Mead").fun
    for end in fit.profile:
        at = np.log(end)
        there = minimize_scalar(lambda b, x=at: loss([x, b]), bounds=(-2, 5))
        # outwards, by at most a grid step
        assert 0 <= 2 * (there.fun - best) - 2 * math.log(2 / 0.05) < 1.0


def test_perfect_separation_gives_a_bracket_and_no_slope():
    fit = fit_threshold([50, 100, 200], [0, 0, 30], [30, 30, 30], level=0.05)
    assert fit.separated
    assert fit.slope == math.inf
    assert (fit.lower, fit.upper) == pytest.approx((100, 200), rel=0.02)
    assert 100 < fit.threshold < 200
    few = fit_threshold([50, 100, 200], [0, 0, 1], [1, 1, 1], level=0.05)
    assert few.lower < 100  # one trial a size proves little


@pytest.mark.parametrize(
    ("successes", "resolved"),
    [([20, 20, 20], False), ([0, 0, 0], False), ([10, 10, 10], False), ([1, 10, 19], True)],
)
def test_a_crossing_that_was_not_seen_is_not_bracketed(successes, resolved):
    fit = fit_threshold([50, 100, 200], successes, [20, 20, 20], level=0.05)
    assert fit.resolved == resolved


@pytest.mark.parametrize("n", [50, 5000])
def test_no_size_beyond_the_tried_ones_is_a_limit(n):
    """The shares follow a link so well that its profile ends, at sizes that nobody has tried."""
    below = fit_threshold([50, 100, 200], np.array([0.02, 0.1, 0.4]) * n, [n] * 3, level=0.05)
    assert below.upper == math.inf
    assert below.lower > 0
    above = fit_threshold([50, 100, 200], np.array([0.6, 0.9, 0.98]) * n, [n] * 3, level=0.05)
    assert above.lower == 0.0
    assert above.upper < math.inf
    assert not below.resolved
    assert not above.resolved


def test_a_plateau_that_no_link_follows_leaves_the_limits():
    """A plateau at 0.6.  The crossing of 1/2 lies before it."""
    s, t = [0, 2, 240, 240, 240, 398], [400] * 6
    sizes = np.array([20.0, 40.0, 80.0, 160.0, 320.0, 640.0])
    fit = fit_threshold(sizes, s, t, level=0.05)
    assert fit.gof_p < 0.01
    assert (fit.lower, fit.upper) == (40.0, 80.0)
    assert 40.0 <= fit.threshold <= 80.0


def test_a_profile_encloses_those_of_every_link_that_fits():
    s = counts(7)
    every = fit_threshold(SIZES, s, TRIALS, level=0.05)
    single = [fit_threshold(SIZES, s, TRIALS, level=0.05, links=(link,)) for link in LINKS]
    fitting = [one for one in single if one.gof_p >= 0.01]
    assert fitting
    for one in fitting:
        assert every.profile[0] <= one.profile[0]
        assert one.profile[1] <= every.profile[1]
        assert (one.lower, one.upper) == (every.lower, every.upper)


def test_units_of_size_do_not_matter():
    s = counts(8)
    one, many = (fit_threshold(f * SIZES, s, TRIALS, level=0.05) for f in (1, 1000))
    assert many.threshold == pytest.approx(1000 * one.threshold, rel=1e-9)
    assert many.lower == pytest.approx(1000 * one.lower, rel=1e-9)
    assert many.se_log == pytest.approx(one.se_log)


def sampled(design, probability, seed=0):
    rng, drawn = np.random.default_rng(seed), {}
    order = []
    while (size := design.next_size(drawn)) is not None:
        s, t = drawn.get(size, (0, 0))
        drawn[size] = s + rng.binomial(design.batch, probability(size)), t + design.batch
        order.append(size)
    return drawn, order


def design(**more):
    full = {"grid": log_grid(16, 1024, 4), "batch": 16, "budget": 400, "level": 0.05}
    return Design(**(full | more))


def test_sampling_gathers_at_the_threshold_and_stops_when_the_profile_is_narrow():
    plan = design(budget=2000)
    drawn, order = sampled(plan, lambda n: expit(4 * math.log(n / 100)))
    assert len(order) < 2000 / 16
    fit = plan.fit(drawn, LINKS[:1])
    assert fit.profile[1] <= 1.2 * fit.profile[0]
    near = sum(t for n, (_, t) in drawn.items() if 50 <= n <= 200)
    assert near > 0.7 * sum(t for _, t in drawn.values())


def test_a_step_ends_in_neighbouring_sizes():
    plan = design()
    drawn, _ = sampled(plan, lambda n: float(n >= 100))
    fit = plan.fit(drawn)
    assert fit.separated
    below, above = max(n for n in plan.grid if n < 100), min(n for n in plan.grid if n >= 100)
    assert (fit.lower, fit.upper) == pytest.approx((below, above), rel=0.01)
    assert sum(t for _, t in drawn.values()) < 200


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_no_crossing_on_the_grid_ends_early(p):
    plan = design()
    drawn, _ = sampled(plan, lambda _n: p)
    assert sum(t for _, t in drawn.values()) < 250
    assert not plan.fit(drawn).resolved


def test_the_next_size_depends_on_the_counts_alone():
    plan = design()
    _, order = sampled(plan, lambda n: expit(3 * math.log(n / 70)), seed=3)
    again = sampled(design(), lambda n: expit(3 * math.log(n / 70)), seed=3)[1]
    assert order == again


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"grid": (1,)}, "at least two ascending"),
        ({"grid": (2, 2)}, "at least two ascending"),
        ({"batch": 0}, "batch=0"),
        ({"budget": 8}, "at most the budget of 8"),
        ({"precision": 1.0}, r"precision=1\.0 must exceed 1"),
    ],
)
def test_impossible_designs_are_refused(arguments, message):
    with pytest.raises(InvalidParameter, match=message):
        design(**arguments)


@pytest.mark.parametrize(
    ("sizes", "s", "t", "message"),
    [
        ([], [], [], "one length >= 1"),
        ([1, 1], [0, 0], [1, 1], "positive and distinct"),
        ([1, 2], [2, 0], [1, 1], "between 0 and trials"),
        ([1, 2], [0, 0], [0, 1], "trials be >= 1"),
    ],
)
def test_impossible_counts_are_refused(sizes, s, t, message):
    with pytest.raises(InvalidParameter, match=message):
        fit_threshold(sizes, s, t, level=0.05)


def test_log_grids_are_distinct_integers():
    assert log_grid(1, 16, 1) == (1, 2, 4, 8, 16)
    assert log_grid(1, 4, 8)[:2] == (1, 2)
    with pytest.raises(InvalidParameter, match="below high=3"):
        log_grid(3, 3)


# -- the design by hand ----------------------------------------------------------------------------

ENDS = {10: (0, 99), 80: (99, 99)}
FEW = {"grid": (10, 20, 40, 80), "batch": 10, "budget": 1000}


@pytest.mark.parametrize(
    ("counts", "size"),
    [
        ({}, 20),  # bisection starts at the lower middle
        ({20: (0, 10)}, 40),
        ({20: (10, 10)}, 10),
        ({20: (5, 10)}, 10),  # exactly at the target counts as above
        ({20: (0, 10), 40: (0, 10)}, 80),
        ({20: (0, 10), 40: (4, 10)}, 80),
        # Both neighbours are known: the one with fewer trials, then the smaller one.
        ({**ENDS, 20: (4, 10), 40: (6, 10)}, 20),
        ({**ENDS, 20: (8, 20), 40: (6, 10)}, 40),
    ],
)
def test_the_next_size_by_hand(counts, size):
    assert design(**FEW)._choose(counts) == size


def test_a_size_without_trials_comes_before_those_with_one():
    """Three quarters of success are expected at 49, next to 50."""
    counts = {10: (4, 10), 20: (0, 1), 40: (1, 1)}
    assert design(**FEW | {"grid": (10, 20, 40, 50), "batch": 1})._choose(counts) == 50


@pytest.mark.parametrize(("budget", "size"), [(227, None), (228, 20)])
def test_a_batch_is_drawn_while_it_keeps_within_the_budget(budget, size):
    counts = {**ENDS, 20: (4, 10), 40: (6, 10)}
    assert design(**FEW | {"budget": budget})._choose(counts) == size


def test_sampling_ends_where_the_profile_is_as_narrow_as_wanted():
    counts = {20: (4, 40), 40: (36, 40)}
    fit = design(**FEW).fit(counts, LINKS[:1])
    wide = fit.profile[1] / fit.profile[0]
    assert design(**FEW, precision=1.001 * wide)._choose(counts) is None
    assert design(**FEW, precision=0.999 * wide)._choose(counts) is not None


def least_certain(share, target=0.5):
    """The smallest number of equal trials that puts a size below the target with confidence."""
    return next(n for n in range(1, 500) if confidence_sequence(0, n, share)[1] < target)


def test_separated_neighbours_are_tried_until_each_is_certain_at_its_share_of_the_level():
    n = least_certain(0.05 / 4)
    plan = design(**FEW)
    for low, high, certain in ((n, n, True), (n - 1, n, False), (n, n - 1, False)):
        assert plan._certain({20: (0, low), 40: (high, high)}, 1, 2) is certain


def test_an_end_of_the_grid_on_the_wrong_side_ends_the_sampling():
    n = least_certain(0.05 / 4)
    plan = design(**FEW)
    for size, s, t, hopeless in (
        (10, n, n, True),
        (10, n - 1, n - 1, False),
        (80, 0, n, True),
        (80, 0, n - 1, False),
        (10, 0, n, False),
        (80, n, n, False),
        (20, n, n, False),
    ):
        assert plan._hopeless({size: (s, t)}) is hopeless, (size, s, t)
    assert plan._choose({10: (n, n), 20: (n, n)}) is None


def test_sizes_around_a_threshold_are_those_of_a_quarter_and_three_quarters():
    plan = design(**FEW | {"grid": (5, 10, 20, 40, 80, 160)})
    fit = fit_threshold([10, 160], [0, 1], [1, 1], level=0.05)

    def around(slope, threshold=40.0):
        return plan._around(replace(fit, threshold=threshold, slope=slope), 2, 3)

    # 40 e^(-1.1/slope) and 40 e^(1.1/slope), and the nearest sizes in the logarithm
    assert around(1.1 / math.log(2.2)) == {20, 40, 80}
    assert around(1.1 / math.log(3.5)) == {10, 20, 40, 160}
    assert around(100.0) == {20, 40}
    assert around(math.inf) == around(0.0) == {20, 40}


def capital(s, t, target, *, against_low):
    """A bettor's capital by numerical integration over the shares on the other side."""
    ends = (target, 1.0) if against_low else (0.0, target)

    def density(u):
        return 1 / math.sqrt(u * (1 - u))

    def bet(u):
        return (u / target) ** s * ((1 - u) / (1 - target)) ** (t - s) * density(u)

    return quad(bet, *ends)[0] / quad(density, *ends)[0]


@pytest.mark.parametrize("target", [0.5, 0.2, 0.95])
@pytest.mark.parametrize(("s", "t"), [(0, 0), (0, 7), (3, 7), (7, 7), (20, 60)])
def test_capitals_are_mean_likelihood_ratios_over_the_other_side(target, s, t):
    below, above = np.exp(log_capitals(s, t, target))
    assert below == pytest.approx(capital(s, t, target, against_low=True), rel=1e-6)
    assert above == pytest.approx(capital(s, t, target, against_low=False), rel=1e-6)


@pytest.mark.parametrize("target", [1e-300, 1e-9, 0.5, 1 - 1e-9, 1 - 1e-16])
def test_capitals_of_many_trials_are_numbers(target):
    for s, t in ((0, 10**9), (10**9, 10**9), (5 * 10**8, 10**9)):
        below, above = log_capitals(s, t, target)
        assert not math.isnan(below)
        assert not math.isnan(above)
        assert max(below, above) > 10 or abs(s / t - target) < 0.1


@pytest.mark.parametrize("n_levels", [None, 2, 3, 30])
@pytest.mark.parametrize("level", [0.3, 0.01, 1e-5])
def test_limits_enclose_every_gap_at_which_the_mean_capital_is_small(level, n_levels):
    sizes = np.array([10.0, 20.0, 40.0])
    for s, t in (
        ([0, 5, 9], [9, 10, 9]),
        ([0, 3, 18], [9, 20, 20]),
        ([0, 0, 0], [30, 30, 30]),
        ([30, 30, 30], [30, 30, 30]),
        ([30, 15, 0], [30, 30, 30]),
        ([2, 12, 20], [40, 40, 40]),
    ):
        kept = []
        for i, gap in enumerate([(0.0, 10.0), (10.0, 20.0), (20.0, 40.0), (40.0, math.inf)]):
            capitals = [capital(s[k], t[k], 0.5, against_low=k < i) for k in range(3)] + [1.0] * (
                max(n_levels or 3, 3) - 3
            )
            if np.mean(capitals) < 1 / level:
                kept.append(gap)
        expected = (kept[0][0], kept[-1][1]) if kept else None
        found = crossing_limits(
            sizes, np.array(s), np.array(t), level=level, target=0.5, n_levels=n_levels
        )
        assert found == expected, (s, t)


def most_often_missed(shares, gap, level, target, budget):
    """The probability that the limits ever miss a gap, under the rule that makes it largest."""
    sizes = np.arange(1.0, len(shares) + 1)
    ends = [0.0, *sizes, math.inf]

    @cache
    def miss(s, t):
        if sum(t):
            tried = np.array(t) > 0
            found = crossing_limits(
                sizes[tried],
                np.array(s)[tried],
                np.array(t)[tried],
                level=level,
                target=target,
                n_levels=len(shares),
            )
            if found is None or not (found[0] <= ends[gap] and ends[gap + 1] <= found[1]):
                return 1.0
        if sum(t) == budget:
            return 0.0
        worst = 0.0
        for k, p in enumerate(shares):
            more = tuple(n + (i == k) for i, n in enumerate(t))
            good = tuple(n + (i == k) for i, n in enumerate(s))
            worst = max(worst, p * miss(good, more) + (1 - p) * miss(s, more))
        return worst

    return miss((0,) * len(shares), (0,) * len(shares))


@pytest.mark.parametrize(
    ("shares", "gap", "target"),
    [
        ((0.5, 0.5), 1, 0.5),
        ((0.5, 0.5), 0, 0.5),
        ((0.3, 0.55), 1, 0.5),
        ((0.8, 0.8), 1, 0.8),
        ((0.1, 0.2), 2, 0.2),
    ],
)
def test_limits_miss_a_threshold_no_more_often_than_stated_under_the_worst_rule(
    shares, gap, target
):
    """All orders in which twelve trials at two sizes may be drawn and come out."""
    level = 0.3
    missed = most_often_missed(shares, gap, level, target, budget=12)
    assert 0.01 < missed <= level


def test_a_curve_that_follows_no_link_keeps_its_threshold():
    """Shares .3 below 100 and .55 above it, which 60 trials a size do not tell from a link."""
    sizes = np.array([20.0, 40, 80, 95, 105, 160, 320, 640])
    shares = np.where(sizes < 100, 0.3, 0.55)
    few = fit_threshold(sizes, 60 * shares, np.full(8, 60), level=0.05)
    assert few.gof_p > 0.05
    assert few.profile[0] > 110
    assert few.lower <= 95
    assert few.upper >= 105
    many = fit_threshold(sizes, 2000 * shares, np.full(8, 2000), level=0.05)
    assert many.gof_p < 0.01
    assert many.profile == (many.lower, many.upper) == (95, 105)
    assert 95 <= many.threshold <= 105


def test_shares_that_fall_have_no_threshold():
    fit = fit_threshold([10, 20, 40], [60, 30, 0], [60, 60, 60], level=0.05)
    assert fit.falls
    assert not fit.resolved
    assert (fit.lower, fit.upper) == (0.0, math.inf)


@pytest.mark.parametrize(
    ("stated", "threshold", "limits", "sizes"),
    [
        ((15.0, 70.0), 30.0, (0.0, math.inf), {20, 40}),
        ((15.0, 70.0), 30.0, (20.0, math.inf), {40}),
        ((15.0, 70.0), 30.0, (10.0, 40.0), {20}),
        ((15.0, 70.0), 17.0, (10.0, math.inf), {40}),  # no size below 17 is stated
        ((15.0, 70.0), 100.0, (10.0, math.inf), {80}),
        ((15.0, 70.0), 75.0, (10.0, math.inf), set()),
        ((15.0, 70.0), 8.0, (0.0, 40.0), {10}),
        ((15.0, 70.0), 12.0, (0.0, 40.0), set()),
        ((-math.inf, 70.0), 30.0, (0.0, math.inf), {40}),
        ((15.0, math.inf), 30.0, (0.0, math.inf), {20}),
        (None, 30.0, (0.0, math.inf), set()),
    ],
)
def test_the_sizes_that_decide_by_hand(stated, threshold, limits, sizes):
    """Of those that can decide, the one with the share that is farthest from the target."""
    plan = design(**FEW, stated=stated)
    fit = fit_threshold([10, 80], [0, 1], [1, 1], level=0.05)
    found = replace(fit, threshold=threshold, lower=limits[0], upper=limits[1])
    assert plan._deciding(found) == sizes


@pytest.mark.parametrize(
    ("stated", "counts", "ends"),
    [
        ((15.0, 45.0), {20: (0, 30), 40: (30, 30)}, True),  # within
        ((21.0, 45.0), {20: (0, 30), 40: (16, 30), 80: (30, 30)}, False),
        ((100.0, 200.0), {20: (0, 30), 40: (16, 30), 80: (30, 30)}, True),  # below
        ((1.0, 15.0), {20: (0, 30), 40: (16, 30), 80: (30, 30)}, True),  # above
        ((-math.inf, 50.0), {10: (0, 1), 20: (1, 30), 40: (29, 30)}, True),
        ((-math.inf, 30.0), {10: (0, 30), 20: (0, 30), 40: (30, 30)}, True),  # one gap
    ],
)
def test_sampling_for_a_stated_size_ends_when_the_limits_decide(stated, counts, ends):
    plan = design(**FEW, stated=stated)
    filled = {**ENDS, **counts}
    assert (plan._choose(filled) is None) is ends


def test_pearsons_test_leaves_out_levels_with_less_than_one_expected_case():
    p = np.array([0.01, 0.25, 0.5, 0.75, 0.99])
    t = np.array([50.0, 40.0, 40.0, 40.0, 50.0])
    s = np.array([9.0, 15.0, 20.0, 33.0, 41.0])
    inner = slice(1, 4)
    statistic = np.sum((s - t * p)[inner] ** 2 / (t * p * (1 - p))[inner])
    assert _pearson(s, t, p) == pytest.approx(chi2.sf(statistic, 1))
    t[0] = 100.0  # exactly one expected
    statistic = np.sum((s - t * p)[:4] ** 2 / (t * p * (1 - p))[:4])
    assert _pearson(s, t, p) == pytest.approx(chi2.sf(statistic, 2))
    assert _pearson(s[1:3], t[1:3], p[1:3]) == 1.0  # two parameters, two levels


def test_the_error_of_the_logarithm_is_the_width_of_the_profile_in_normal_quantiles():
    fit = fit_threshold(SIZES, counts(9), TRIALS, level=0.05)
    wide = math.log(fit.profile[1] / fit.profile[0])
    assert fit.se_log == pytest.approx(wide / 2 / 1.959964, rel=1e-6)


@pytest.mark.parametrize("target", [0.0, 1.0, -0.5])
def test_a_target_that_is_no_probability_is_refused(target):
    with pytest.raises(InvalidParameter, match="strictly between 0 and 1"):
        fit_threshold([1, 2], [0, 1], [1, 1], level=0.05, target=target)


def test_counts_are_ordered_by_size():
    forward = fit_threshold(SIZES, counts(3), TRIALS, level=0.05)
    back = fit_threshold(SIZES[::-1], counts(3)[::-1], TRIALS, level=0.05)
    assert forward == back


@pytest.mark.parametrize(
    ("arguments", "grid"),
    [
        ((1, 2, 1), (1, 2)),
        ((4, 32, 2), (4, 6, 8, 11, 16, 23, 32)),
        ((10, 25, 1), (10, 16, 25)),
    ],
)
def test_log_grids_by_hand(arguments, grid):
    assert log_grid(*arguments) == grid


PROBABILITIES = {
    "logit": lambda eta: 1 / (1 + math.exp(-eta)),
    "probit": norm.cdf,
    "cloglog": lambda eta: 1 - math.exp(-math.exp(eta)),
    "loglog": lambda eta: math.exp(-math.exp(-eta)),
}


@pytest.mark.parametrize("link", PROBABILITIES)
def test_logs_of_success_and_failure_and_their_slopes(link):
    eta = np.array([-2.3, -0.4, 0.0, 0.7, 1.9])
    up, down = thresholds._logs(eta, link)
    success = [PROBABILITIES[link](e) for e in eta]
    assert up == pytest.approx(np.log(success), rel=1e-10)
    assert down == pytest.approx(np.log1p(-np.array(success)), rel=1e-10)
    h = 1e-5
    ahead, behind = thresholds._logs(eta + h, link), thresholds._logs(eta - h, link)
    for found, after, before in zip(thresholds._log_slopes(eta, link), ahead, behind, strict=True):
        assert found == pytest.approx((after - before) / (2 * h), rel=1e-7)


@pytest.mark.parametrize("link", PROBABILITIES)
def test_a_curve_that_rises_within_a_narrow_gap_is_as_steep_as_on_an_even_grid(link):
    """Sizes far away, at which all or no trials succeed, tell nothing of the slope."""
    near, s, t = np.array([-0.02, -0.01, 0.01, 0.02]), np.array([2.0, 5.0, 14.0, 18.0]), 20.0
    x, s_far = np.array([-90.0, *near, 90.0]), np.array([0.0, *s, t])
    candidates = np.array([0.0, 0.003])
    alone = thresholds._best_slopes(near, s, np.full(4, t), candidates, 0.0, link)
    among = thresholds._best_slopes(x, s_far, np.full(6, t), candidates, 0.0, link)
    assert alone[0].min() > 10.0  # more than 60 over the widest gap
    assert among[0] == pytest.approx(alone[0], rel=1e-3)
    assert among[1] == pytest.approx(alone[1], rel=1e-6)


@pytest.mark.parametrize("link", PROBABILITIES)
def test_the_best_slope_of_a_candidate_is_that_of_a_search(link):
    x, s, t = np.array([0.0, 1.0, 2.0, 3.5]), np.array([2.0, 5.0, 11.0, 20.0]), np.full(4, 20.0)
    candidates, q = np.array([0.5, 1.7, 9.0]), 0.3
    slopes, likelihoods = thresholds._best_slopes(x, s, t, candidates, q, link)

    def negative(slope, at):
        up, down = thresholds._logs(q + slope * (x - at), link)
        failures = np.where(s < t, (t - s) * down, 0.0)
        return -float(np.sum(s * up + failures))

    for at, slope, likelihood in zip(candidates, slopes, likelihoods, strict=True):
        best = minimize_scalar(
            negative, (0.0, 20.0), bounds=(0.0, 20.0), args=(at,), method="bounded"
        )
        assert likelihood == pytest.approx(-best.fun, abs=1e-6)
        assert slope == pytest.approx(best.x, abs=1e-3)


@pytest.mark.parametrize("level", [0.05, 0.2])
def test_the_error_of_a_threshold_is_that_of_its_limits_at_their_level(level):
    fit = fit_threshold(SIZES, counts(3), TRIALS, level=level)
    z = norm.isf(level / 2)
    assert math.log(fit.profile[1] / fit.profile[0]) == pytest.approx(2 * z * fit.se_log)
    separated = fit_threshold(SIZES, TRIALS * (SIZES > 90), TRIALS, level=level)
    assert (separated.separated, separated.gof_p, separated.slope) == (True, 1.0, math.inf)
    wide = math.log(separated.profile[1] / separated.profile[0])
    assert wide == pytest.approx(2 * z * separated.se_log)
    nothing = fit_threshold(SIZES, np.zeros(7, dtype=int), TRIALS, level=level)
    assert (nothing.upper, nothing.se_log) == (math.inf, math.inf)


def test_the_error_of_a_threshold_without_a_profile_is_that_of_its_limits():
    """The last size succeeds in fewer than half, so that the model's profile has no end above."""
    fit = fit_threshold([10, 20, 40], [0, 18, 2], [20, 20, 5], level=0.05)
    assert not fit.estimated
    assert (fit.lower, fit.upper) == (10, 20)
    assert fit.se_log == pytest.approx(math.log(2) / (2 * norm.isf(0.025)))


def test_a_jump_is_sampled_until_both_of_its_sides_are_certain_and_no_further():
    """All trials from 100 on succeed and none below, on a grid too coarse for the precision."""
    plan = design(grid=(16, 64, 256, 1024), batch=2, budget=400)
    drawn, _ = sampled(plan, lambda n: float(n >= 100))
    enough = least_certain(0.05 / 4)
    trials = {n: t for n, (_, t) in drawn.items()}
    assert 2 < enough <= trials[64] < enough + 2
    assert enough <= trials[256] < enough + 2
    assert sum(trials.values()) < 100
    assert plan.fit(drawn, LINKS[:1]).separated

"""Limits for a mean: recomputed by slow products, monotone, equivariant, refused where unknown."""

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trials.checks import InvalidParameter
from verify.decisions import means
from verify.decisions.combine import CellDecision, combine
from verify.decisions.means import (
    SHARE,
    Knowledge,
    LowerTest,
    MeanTest,
    _catoni_sizes,
    as_values,
    bet_sizes,
    decide_mean,
    decide_trials,
    find_unresolved,
    mean_and_deviation,
    why_not_asymptotic,
)
from verify.decisions.sequences import resolvable
from verify.evidence import Verdict

UNIT = Knowledge(low=0.0, high=1.0)


def mean_test(bound, side="at most", knowledge=UNIT, *, level=0.05, horizon=4096, margin=0.1):
    return MeanTest(
        bound=bound,
        side=side,
        knowledge=knowledge,
        horizon=horizon,
        refute_level=level,
        support_level=level,
        margin=margin,
    )


def product_of_bets(x, m, low, sizes):
    """The mixture's wealth by products with 50 digits."""
    with mpmath.workdps(50):
        total = mpmath.mpf(0)
        for c in sizes:
            wealth = mpmath.mpf(1)
            for value in x:
                step = (mpmath.mpf(value) - mpmath.mpf(m)) / (mpmath.mpf(m) - low)
                wealth *= 1 + mpmath.mpf(c) * step
            total += wealth
        return float(total / len(sizes))


def test_the_lower_limit_is_where_the_product_of_bets_reaches_one_over_alpha():
    x = np.random.default_rng(1).beta(2, 5, 80)
    test = LowerTest(knowledge=UNIT, target=0.3, level=0.05, horizon=1024)
    sizes = bet_sizes(0.3, UNIT, 0.05, 1024)
    limit = test.limit(x)
    assert product_of_bets(x, limit, 0.0, sizes) == pytest.approx(20.0, rel=1e-3)
    assert product_of_bets(x, limit * 0.999, 0.0, sizes) > 20.0
    assert 0 < limit < x.mean()


def test_the_upper_limit_is_the_lower_limit_of_what_is_left_to_the_upper_end():
    x = np.random.default_rng(2).beta(2, 5, 200)
    below = mean_test(0.3).limits(x)
    mirrored = mean_test(0.7, "at least").limits(1 - x)
    assert below[0] == pytest.approx(1 - mirrored[1], rel=1e-5)
    assert below[1] == pytest.approx(1 - mirrored[0], rel=1e-5)


def test_catonis_limit_is_where_its_product_reaches_one_over_alpha():
    x = np.random.default_rng(3).standard_t(5, 60)
    v = 5 / 3
    test = LowerTest(knowledge=Knowledge(variance=v), target=0.0, level=0.05, horizon=64)
    lambdas = [math.sqrt(2 * math.log(20) / (v * 16)), math.sqrt(2 * math.log(20) / (v * 64))]

    def wealth(m):
        total = 0.0
        for size in lambdas:
            product = 1.0
            for value in x:
                y = size * (value - m)
                grown = 1 + y + y * y / 2 if y > 0 else 1 / (1 - y + y * y / 2)
                product *= grown / (1 + size * size * v / 2)
            total += product / len(lambdas)
        return total

    assert wealth(test.limit(x)) == pytest.approx(20.0, rel=1e-4)


def test_asymptotic_limits_follow_the_published_formula():
    x = np.random.default_rng(4).gamma(9.0, size=3000)
    test = LowerTest(knowledge=Knowledge(asymptotic=True), target=9, level=0.05, horizon=4096)
    a = -2 * math.log(0.1)
    rho = math.sqrt((a + math.log(a + 1)) / 1024)
    t = x.size
    radius = math.sqrt(
        2 * (t * rho**2 + 1) / (t**2 * rho**2) * math.log(1 + math.sqrt(t * rho**2 + 1) / 0.1)
    )
    assert test.limit(x) == pytest.approx(x.mean() - x.std(ddof=1) * radius)


@settings(max_examples=60, deadline=None)
@given(
    scale=st.floats(1e-6, 1e6),
    shift=st.floats(-1e3, 1e3),
    bound=st.floats(0.05, 0.95),
    seed=st.integers(0, 10**6),
)
def test_a_verdict_does_not_depend_on_units(scale, shift, bound, seed):
    x = np.random.default_rng(seed).beta(0.5, 0.5, 300)
    known = Knowledge(low=shift, high=shift + scale)
    moved = shift + scale * x
    before, after = mean_test(bound), mean_test(shift + scale * bound, knowledge=known)
    assert before.status(x)[0] == after.status(np.clip(moved, known.low, known.high))[0]


def test_the_limits_and_the_status_are_one_rule():
    rng = np.random.default_rng(5)
    seen = set()
    for _ in range(60):
        x = rng.beta(2, 5, int(rng.integers(20, 2000)))
        bound = float(rng.uniform(0.2, 0.4))
        test = mean_test(bound)
        lower, upper = test.limits(x)
        status, _ = test.status(x)
        seen.add(status)
        if status == "fails":
            assert lower >= bound * (1 - 1e-5)
        elif status == "holds":
            assert upper <= bound * (1 + 1e-5)
        else:
            assert lower <= bound * (1 + 1e-5)
            assert upper >= bound * (1 - 1e-5)
    assert seen == {"fails", "holds", "open"}


def test_an_upper_bound_of_a_mean_without_an_upper_end_is_refuted_but_not_supported():
    known = Knowledge(low=0.0)
    x = np.random.default_rng(6).exponential(2.0, 4000)
    assert mean_test(1.0, knowledge=known).status(x)[0] == "fails"
    status, reason = mean_test(10.0, knowledge=known).status(x)
    assert status == "open"
    assert "neither a range nor a variance" in reason
    asymptotic = Knowledge(low=0.0, asymptotic=True)
    status, reason = mean_test(3.0, knowledge=asymptotic).status(x)
    assert (status, reason) == ("holds", "asymptotic limits")


@pytest.mark.parametrize(
    ("draw", "reason"),
    [
        (lambda rng: rng.pareto(1.5, 4096), "heavy tails"),
        (lambda rng: rng.lognormal(0, 2.5, 4096), "heavy tails"),
        (lambda rng: rng.standard_normal(255), "255 trials are fewer"),
        (lambda _rng: np.ones(4096), "one value"),
        (lambda _rng: np.full(256, 0.1), "one value"),  # whose mean is rounded to another number
        (lambda rng: rng.binomial(1, 0.02, 2000) * 1.0, "skewness"),
        (lambda rng: np.append(rng.standard_normal(400), np.inf), "no finite value"),
    ],
)
def test_asymptotic_limits_are_refused(draw, reason):
    assert reason in why_not_asymptotic(draw(np.random.default_rng(7)), 0.05)


@pytest.mark.parametrize("ones", [60, 340])
def test_asymptotic_limits_need_a_skewness_that_changes_a_tail_by_a_quarter_at_most(ones):
    """Of 400 values so many are one, and the correction is |skewness| z^3 / (6 sqrt n)."""
    x = np.repeat([1.0, 0.0], [ones, 400 - ones])
    share = ones / 400
    skewness = abs(1 - 2 * share) / np.sqrt(share * (1 - share))
    z = (0.25 * 6 * 20 / skewness) ** (1 / 3)  # sqrt(2 log(1/level)) at the edge
    assert why_not_asymptotic(x, float(np.exp(-((0.99 * z) ** 2) / 2))) == ""
    refused = why_not_asymptotic(x, float(np.exp(-((1.01 * z) ** 2) / 2)))
    assert refused == f"skewness {np.sign(200 - ones) * skewness:.2g} is too large for 400 trials"


def test_asymptotic_limits_are_granted_where_they_may():
    rng = np.random.default_rng(8)
    for x in (rng.standard_normal(256), rng.gamma(4, size=1000), rng.standard_t(12, 4000)):
        assert why_not_asymptotic(x, 0.05) == ""


def test_equality_is_refuted_on_both_sides_and_supported_as_equivalence():
    x = np.random.default_rng(9).beta(20, 20, 4000)
    assert mean_test(0.5, "equals").status(x)[0] == "holds"
    assert mean_test(0.45, "equals").status(x)[0] == "fails"
    assert mean_test(0.55, "equals").status(x)[0] == "fails"
    assert mean_test(0.5, "equals", margin=0.001).status(x)[0] == "open"
    assert mean_test(-0.5, "equals", Knowledge(low=-1, high=1)).equivalence == (-0.55, -0.45)


@pytest.mark.parametrize("n", [20, 60, 200])
def test_an_equality_is_refuted_where_one_of_two_sides_is_at_half_the_level(n):
    """Both sides of the bound, each at half of the level: neither more nor less."""
    statuses = set()
    for mean in np.linspace(0.3, 0.7, 41):
        x = np.clip(mean + 0.2 * np.sin(np.arange(n)), 0.0, 1.0)
        equal = mean_test(0.5, "equals", level=0.04, margin=0.5).status(x)[0] == "fails"
        sides = [mean_test(0.5, side, level=0.02).status(x)[0] for side in ("at most", "at least")]
        assert equal is ("fails" in sides)
        statuses.add(equal)
    assert statuses == {True, False}


@pytest.mark.parametrize(("refute", "support"), [(0.001, 0.2), (0.2, 0.001)])
def test_the_limits_of_a_lower_bound_mirror_those_of_an_upper_bound(refute, support):
    x = np.random.default_rng(3).random(100)
    levels = {"refute_level": refute, "support_level": support}
    below = replace(mean_test(0.4, "at most"), **levels).limits(x)
    above = replace(mean_test(0.6, "at least"), **levels).limits(1.0 - x)
    assert above == pytest.approx((1.0 - below[1], 1.0 - below[0]), abs=1e-4)
    # The limit on the refuting side is that of the refuting level.
    strict = LowerTest(knowledge=UNIT, target=0.4, level=refute, horizon=4096).limit(x)
    assert below[0] == strict


def test_values_at_the_lower_end_reject_a_mean_at_the_end_only_if_one_is_above_it():
    test = LowerTest(knowledge=Knowledge(low=0.0), target=0.5, level=0.05, horizon=4096)
    lowest = np.zeros(500)
    assert not test.rejects(lowest, 0.0)
    assert test.limit(lowest) == 0.0
    assert test.rejects(lowest, -1e-9)
    above = np.r_[lowest, 1e-9]
    assert test.rejects(above, 0.0)
    assert mean_test(0.0, "at most").status(lowest)[0] == "open"
    assert mean_test(0.0, "at most").status(above)[0] == "fails"


def test_a_failed_trial_takes_the_worst_value():
    x, failed = np.array([0.2, np.nan, 0.1]), np.array([False, True, False])
    assert as_values(x, failed, UNIT, "at most").tolist() == [0.2, 1.0, 0.1]
    assert as_values(x, failed, UNIT, "at least").tolist() == [0.2, 0.0, 0.1]
    infinite = as_values(x, failed, Knowledge(low=0.0), "at most")
    decision = decide_mean(infinite, mean_test(5.0, knowledge=Knowledge(low=0.0)), n_failed=1)
    assert decision.status == "fails"
    assert decision.lower == math.inf
    with pytest.raises(InvalidParameter, match=r"value 1\.5 must lie in the declared range \[0, 1"):
        as_values([1.5], [False], UNIT, "at most")


@pytest.mark.parametrize("side", ["at most", "at least", "equals"])
@pytest.mark.parametrize(
    "knowledge",
    [
        UNIT,
        Knowledge(low=0.0),
        Knowledge(high=1.0),
        Knowledge(),
        Knowledge(asymptotic=True),
        Knowledge(variance=1.0),
        Knowledge(low=0.0, variance=1.0),
        Knowledge(high=1.0, variance=1.0),
    ],
    ids=repr,
)
def test_the_mean_of_trials_that_failed_lies_between_its_limits(side, knowledge):
    """An infinite mean as well: it lies at the end that the failed trials take."""
    x = np.linspace(0.1, 0.9, 400)
    failed = np.arange(400) % 100 == 5
    decision = decide_trials(x, failed, mean_test(0.4, side, knowledge))
    assert decision.n_failed == 4
    worst = knowledge.low if side == "at least" else knowledge.high
    if side == "equals" and math.isfinite(worst) and knowledge.low == -math.inf:
        worst = knowledge.low  # of the two ends the one that is farther from the bound
    if math.isfinite(worst):
        assert decision.observed == pytest.approx((x[~failed].sum() + 4 * worst) / 400)
    else:
        assert decision.observed == worst
    assert decision.lower <= decision.observed <= decision.upper
    # no trial that failed speaks for a statement
    assert not (math.isinf(worst) and decision.status == "holds")


def test_a_failed_trial_loses_the_finite_value_that_it_has():
    """Its value is the end that speaks against the statement, whatever was computed before."""
    failed = [False, True, False, True]
    x = np.array([0.25, 0.5, 0.75, np.nan])
    for side, end in (("at most", 1.0), ("at least", 0.0)):
        assert as_values(x, failed, SHARE, side).tolist() == [0.25, end, 0.75, end]
    free = Knowledge(low=0.0)
    assert as_values(x, failed, free, "at most").tolist() == [0.25, math.inf, 0.75, math.inf]
    assert as_values(x, failed, free, "at least").tolist() == [0.25, 0.0, 0.75, 0.0]
    # A value outside the declared range is no error where its trial failed.
    assert as_values([0.5, 7.0], [False, True], SHARE, "at most").tolist() == [0.5, 1.0]
    with pytest.raises(InvalidParameter, match="value 7 must lie"):
        as_values([0.5, 7.0], [False, False], SHARE, "at most")


@pytest.mark.parametrize("bound", [0.0, 0.5, 1.0])
def test_trials_that_all_failed_contradict_an_equality_with_either_end_of_the_range(bound):
    """At the end that is the stated value itself they would be in perfect agreement with it."""
    found = decide_trials(np.full(400, np.nan), np.ones(400, bool), mean_test(bound, "equals"))
    assert (found.status, found.n_failed) == ("fails", 400)
    assert found.observed == (1.0 if bound == 0.0 else 0.0 if bound == 1.0 else found.observed)


def test_an_equality_holds_with_the_failed_trials_at_either_end():
    """Those that finished have mean 0.95 and 0.85.  The failed ones bring neither nearer to 0.9."""
    test = mean_test(0.9, "equals", margin=0.03, horizon=20_000)
    for value, few in ((0.95, "at least"), (0.85, "at most")):
        x, failed = np.full(20_000, value), np.arange(20_000) % 20 == 3
        moved = as_values(x, failed, UNIT, few)
        assert moved.mean() == pytest.approx({0.95: 0.9025, 0.85: 0.8575}[value])
        assert decide_trials(x, failed, test).status == "fails"
    # few enough of them leave the equality alone, and without any it is decided as it was
    x = np.tile([0.8, 1.0], 10_000)
    rare = np.arange(20_000) % 2_000 == 3
    assert decide_trials(x, rare, test).status == "holds"
    assert decide_trials(x, rare & False, test) == decide_mean(x, test)


@pytest.mark.parametrize("known", [Knowledge(low=0.0), Knowledge(variance=1.0)], ids=repr)
def test_values_whose_sum_or_squares_overflow_have_the_limits_of_smaller_ones(known):
    """A power of two changes no digit.  With an infinite mean the search would not end."""
    small = np.where(np.arange(600) % 2, 1.5, 0.25)
    big = small * 2.0**1023
    decided = decide_mean(big, mean_test(0.5, knowledge=known))
    assert decided.status == "fails"
    assert decided.observed == pytest.approx(0.875 * 2.0**1023, rel=1e-12)
    assert decided.se == pytest.approx(0.625 * 2.0**1023 / math.sqrt(599), rel=1e-12)
    assert 0.0 < decided.lower <= decided.observed <= decided.upper
    if known.variance == math.inf:  # the bets are shares of the wealth, without a unit
        lower = mean_test(0.5, knowledge=known).limits(small)[0]
        assert decided.lower == pytest.approx(lower * 2.0**1023, rel=1e-3)


def test_a_limit_by_a_small_variance_may_exceed_the_mean_and_is_never_above_the_values():
    """One value of fifty is so far off that the variance does not allow it."""
    known = Knowledge(variance=1e-12)
    x = np.full(50, 3.0)
    lower, upper = mean_test(1.0, knowledge=known).limits(x)
    assert lower <= 3.0 <= upper
    assert lower == pytest.approx(3.0, abs=1e-5)
    skewed = np.r_[np.full(49, 3.0), 2.0]  # most lie above the mean
    lower, upper = mean_test(1.0, knowledge=known).limits(skewed)
    assert skewed.mean() < 2.99999 < lower < 3.0
    assert mean_test(2.99, knowledge=known).status(skewed)[0] == "fails"


@pytest.mark.parametrize("ddof", [0, 1])
def test_a_mean_and_a_deviation_are_numpys_and_scale_where_theirs_overflow(ddof):
    x = np.random.default_rng(3).gamma(2.0, 1.0, 50)
    assert mean_and_deviation(x, ddof) == (x.mean(), x.std(ddof=ddof))
    for power in (600, 1020, -600, -900):  # squares overflow, and then sums, or are zero
        scale = 2.0**power
        found = mean_and_deviation(-x * scale, ddof)
        assert found == pytest.approx((-x.mean() * scale, x.std(ddof=ddof) * scale), rel=1e-12)


@pytest.mark.parametrize("power", [-500, -540, -700, 540, 700])
def test_a_verdict_does_not_depend_on_the_unit_of_the_values(power):
    """Squares of small values are zero.  With a deviation of zero every mean would be above 0."""
    x, unit = np.random.default_rng(8).standard_normal(1024), 2.0**power
    x -= x.mean() - 0.04  # 1.3 standard errors above 0
    for bound, status in ((0.0, "open"), (-0.5, "fails"), (0.5, "holds")):
        test = mean_test(bound, knowledge=Knowledge(asymptotic=True))
        moved = replace(test, bound=bound * unit)
        plain, scaled = decide_mean(x, test), decide_mean(x * unit, moved)
        assert (plain.status, scaled.status) == (status, status)
        for name in ("observed", "se", "lower", "upper"):
            assert getattr(scaled, name) == pytest.approx(getattr(plain, name) * unit, rel=1e-9)


def test_values_of_no_variance_are_compared_up_to_rounding():
    """Each value is the mean: 0.1 + 0.2 does not exceed 0.3, and 0.3 does exceed 0.29."""
    known = Knowledge(variance=0.0)
    x, off = np.full(4, 0.1 + 0.2), np.zeros(4, dtype=np.bool_)
    for side in ("at most", "at least"):
        assert decide_trials(x, off, mean_test(0.3, side, knowledge=known)).status == "open"
    assert decide_trials(x, off, mean_test(0.29, knowledge=known)).status == "fails"
    assert decide_trials(x, off, mean_test(0.31, knowledge=known)).status == "holds"
    nearly = np.r_[x, 0.3]
    assert (
        decide_trials(nearly, np.zeros(5, bool), mean_test(0.31, knowledge=known)).status == "holds"
    )
    with pytest.raises(InvalidParameter, match=r"0\.01 apart, and the declared variance is zero"):
        decide_trials(np.r_[x, 0.31], np.zeros(5, bool), mean_test(0.4, knowledge=known))


@pytest.mark.parametrize(
    ("verdict", "trials", "expected"),
    [
        (Verdict.SUPPORTED, [(True, 400), (True, 300), (False, 10)], 300),
        (Verdict.SUPPORTED, [(False, 300)], None),
        (Verdict.REFUTED, [(True, 300)], None),
        (Verdict.INCONCLUSIVE, [(True, 300)], None),
    ],
)
def test_asymptotic_support_reaches_down_to_what_the_fewest_trials_resolve(
    verdict, trials, expected
):
    cells = [
        CellDecision(status="holds", n_trials=n, bound=1.0, asymptotic=by_a_limit)
        for by_a_limit, n in trials
    ]
    found = means.asymptotic_resolution(verdict, cells, 0.01)
    assert found == (None if expected is None else resolvable(expected, 0.01))


def test_bounds_that_allow_everything_are_trivial():
    x = np.zeros(10)
    assert mean_test(1.0).status(x)[0] == "trivial"
    assert mean_test(math.inf).status(x)[0] == "trivial"
    assert mean_test(0.0, "at least").status(x)[0] == "trivial"
    assert mean_test(0.0).status(x)[0] != "trivial"
    assert mean_test(0.0).status(np.append(x, 0.5))[0] == "fails"


def test_a_constant_is_known_at_once():
    known = Knowledge(variance=0.0)
    assert mean_test(1.0, knowledge=known).status(np.full(3, 1.1))[0] == "fails"
    assert mean_test(1.0, knowledge=known).status(np.full(3, 0.9))[0] == "holds"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"low": 1.0, "high": 1.0}, r"low=1\.0 must be below"),
        ({"variance": -1.0}, r"variance=-1\.0 must be >= 0"),
        ({"low": 0.0, "two_valued": True}, "two_valued needs finite ends"),
    ],
)
def test_impossible_knowledge_is_refused(arguments, message):
    with pytest.raises(InvalidParameter, match=message):
        Knowledge(**arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"bound": math.nan}, "bound=nan"),
        ({"bound": 0.1, "side": "equals", "margin": 0.0}, r"margin=0\.0"),
        ({"bound": 0.1, "horizon": 0}, "horizon=0"),
        ({"bound": 0.1, "level": 0.0}, r"level=0\.0"),
    ],
)
def test_impossible_tests_are_refused(arguments, message):
    with pytest.raises(InvalidParameter, match=message):
        mean_test(**arguments)


def cell(status, **more):
    return CellDecision(status=status, n_trials=10, bound=1.0, **more)


def test_cells_are_combined_refutation_first():
    holds, fails, unsure, free = cell("holds"), cell("fails"), cell("open"), cell("trivial")
    assert combine([holds, unsure, fails])[0] is Verdict.REFUTED
    assert combine([holds, unsure])[0] is Verdict.INCONCLUSIVE
    assert combine([holds, free])[0] is Verdict.SUPPORTED
    assert "everything in 1 more" in combine([holds, free])[1]
    assert combine([free, free])[0] is Verdict.VACUOUS
    with pytest.raises(InvalidParameter, match="at least one"):
        combine([])
    assert find_unresolved([holds, unsure, unsure]) == [1, 2]
    assert find_unresolved([unsure, fails]) == []


def test_catonis_arguments_are_best_at_powers_of_four_up_to_the_horizon() -> None:
    """Best at n trials: the root of 2 log(1/level) / (variance n)."""
    sizes = _catoni_sizes(2.0, 0.05, 4096)
    best = [16, 64, 256, 1024, 4096]
    assert sizes == pytest.approx([math.sqrt(2 * math.log(20) / (2.0 * n)) for n in best])
    assert _catoni_sizes(2.0, 0.05, 10).size == 1


@pytest.mark.parametrize("level", [0.2, 0.01])
def test_the_limits_of_an_equality_have_half_of_its_level_each(level):
    x = np.random.default_rng(3).beta(2.0, 3.0, 200)
    test = MeanTest(bound=0.4, side="equals", knowledge=SHARE, horizon=400, refute_level=level,
                    support_level=0.3)  # fmt: skip

    def lower(values, knowledge, target):
        return LowerTest(knowledge=knowledge, target=target, level=level / 2, horizon=400).limit(
            values
        )

    found = test.limits(x)
    assert found == (lower(x, SHARE, 0.4), -lower(-x, SHARE.mirrored(), -0.4))
    assert found[0] < 0.4 < found[1]


def test_what_is_known_of_minus_a_value_is_all_that_is_known_of_the_value():
    for known in (
        Knowledge(low=-1.0, high=3.0, variance=2.0, asymptotic=True, two_valued=True),
        Knowledge(low=-1.0),
        Knowledge(high=2.0, asymptotic=True),
    ):
        mirrored = known.mirrored()
        assert (mirrored.low, mirrored.high) == (-known.high, -known.low)
        assert mirrored.mirrored() == known
        assert replace(mirrored, low=known.low, high=known.high) == known


def test_one_value_above_a_constant_refutes_that_it_is_at_most_that():
    """Without a variance every value is the mean, so that the largest is its lower limit."""
    test = mean_test(1.0, knowledge=Knowledge(variance=0.0))
    mixed = np.array([0.9, 1.1, 0.9])
    assert test.status(mixed)[0] == "fails"
    assert LowerTest(
        knowledge=test.knowledge, target=1.0, level=0.05, horizon=9
    ).limit(mixed) == 1.1  # fmt: skip


def test_a_limit_without_trials_is_the_end_of_the_values():
    for known in (UNIT, Knowledge(low=2.0), Knowledge(variance=1.0), Knowledge(variance=0.0)):
        test = LowerTest(knowledge=known, target=0.5, level=0.05, horizon=9)
        assert test.limit(np.empty(0)) == known.low


def test_a_trial_without_a_finite_value_is_a_limit_at_an_end():
    """Plus infinity makes the mean infinite, and minus infinity leaves the end alone."""
    for known in (Knowledge(variance=1.0), Knowledge(low=-3.0, variance=1.0)):
        test = LowerTest(knowledge=known, target=0.5, level=0.05, horizon=9)
        assert test.limit(np.array([0.0, math.inf])) == math.inf
    free = LowerTest(knowledge=Knowledge(variance=1.0), target=0.5, level=0.05, horizon=9)
    for x in ([0.0, -math.inf], [math.inf, -math.inf]):
        assert free.limit(np.array(x)) == -math.inf


def test_the_spread_of_a_mean_is_told_for_finite_trials_alone():
    x = np.array([0.25, 0.5, 1.0])
    known = Knowledge(low=0.0)
    decided = decide_mean(x, mean_test(0.9, knowledge=known))
    assert decided.se == pytest.approx(np.sqrt(np.sum((x - x.mean()) ** 2) / 2 / 3))
    assert decide_mean(np.r_[x, np.inf], mean_test(0.9, knowledge=known)).se is None
    assert decide_mean(x[:1], mean_test(0.9, knowledge=known)).se is None
    assert decide_mean(x[:0], mean_test(0.9, knowledge=known)).observed == math.inf


@pytest.mark.parametrize("bound", [0.0, 0.005])
def test_an_open_cell_without_a_range_says_whether_its_limits_were_used(bound):
    known = Knowledge(asymptotic=True)
    x = np.resize([-1.0, 1.0], 400)
    assert mean_test(bound, knowledge=known).status(x) == ("open", "the limits include the bound")
    few = mean_test(bound, knowledge=known).status(x[:50])
    assert few == ("open", "50 trials are fewer than the 256 that asymptotic limits need")
    assert mean_test(math.inf, "equals", known).status(x) == (
        "open",
        "no finite sample shows an infinite mean",
    )


@pytest.mark.parametrize("name", ["refute_level", "support_level"])
@pytest.mark.parametrize("level", [0.0, 1.0, math.nan])
def test_either_level_of_a_test_of_a_mean_must_lie_between_zero_and_one(name, level):
    with pytest.raises(InvalidParameter, match="level="):
        replace(mean_test(0.5), **{name: level})


def test_one_value_far_below_leaves_catonis_limit_above_the_mean():
    """The limit is the largest rejected mean, wherever the mean of the trials lies."""
    x = np.zeros(1000)
    x[17] = -1e6
    test = LowerTest(knowledge=Knowledge(variance=1.0), target=0.0, level=0.01, horizon=1024)
    limit = test.limit(x)
    assert x.mean() < -999.0
    assert -1.0 < limit < 0.0
    assert test.rejects(x, limit)
    assert not test.rejects(x, limit + 0.03)  # the search is as fine as the values spread


BOTH = Knowledge(low=0.0, high=1.0, variance=0.1)


@pytest.mark.parametrize("knowledge", [Knowledge(low=0.0, high=1.0), Knowledge(variance=0.1), BOTH])
def test_more_trials_than_one_array_holds_have_the_same_limit(monkeypatch, knowledge):
    x = np.random.default_rng(5).random(400)
    test = LowerTest(knowledge=knowledge, target=0.3, level=0.01, horizon=512)
    limits = []
    for most in (10**9, 0):
        monkeypatch.setattr(means, "_ONE_ARRAY", most)
        limits.append(test.limit(x))
    assert limits[0] == pytest.approx(limits[1], rel=1e-9)
    assert 0.3 < limits[0] < x.mean()


@pytest.mark.parametrize("side", ["at most", "at least", "equals"])
@pytest.mark.parametrize("knowledge", [UNIT, Knowledge(low=0.0), Knowledge(high=1.0), Knowledge()])
@pytest.mark.parametrize("bound", [-math.inf, -0.5, 0.0, 0.5, 1.0, 1.5, math.inf])
def test_a_statement_is_trivial_where_no_possible_value_breaks_it(side, knowledge, bound):
    """An equality leaves values on both sides of its bound, at an end of the values as well."""
    steps = np.array([-1e9, -1.0, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 2.0, 1e9])
    possible = steps[(knowledge.low <= steps) & (steps <= knowledge.high)]
    broken = {
        "at most": possible > bound,
        "at least": possible < bound,
        "equals": possible != bound,
    }[side]
    assert mean_test(bound, side, knowledge).trivial == (not broken.any())


@pytest.mark.parametrize(("bound", "value"), [(0.0, 0.5), (1.0, 0.5), (0.0, 1.0), (1.0, 0.0)])
def test_an_equality_with_an_end_of_the_values_is_refuted_by_the_others(bound, value):
    test = mean_test(bound, "equals")
    assert test.status(np.full(400, value))[0] == "fails"
    assert test.status(np.full(3, bound))[0] == "open"


@pytest.mark.parametrize("scale", [1.7e308, 1e307, 1e150, 1.0, 1e-150, 1e-306])
def test_a_value_that_rules_is_found_where_the_sum_of_all_overflows(scale):
    """One of 400 is the largest number, the others a thousandth: no limit theorem holds."""
    x = np.full(400, 1e-3)
    x[7], x[9] = 1.0, 2e-3
    test = MeanTest(
        bound=scale * 0.75,
        side="at most",
        knowledge=Knowledge(asymptotic=True),
        horizon=1024,
        refute_level=0.01,
        support_level=0.01,
    )
    status, reason = test.status(scale * x)
    assert status == "open"
    assert reason.startswith("heavy tails")


@pytest.mark.parametrize(("n", "value"), [(5, 0.0), (40, 0.0), (40, 0.25), (40, -1.0)])
def test_trials_of_one_value_have_the_limit_of_a_bisection_of_the_whole_range(n, value):
    k = Knowledge(low=-1.0, high=1.0)
    test = LowerTest(knowledge=k, target=0.0, level=0.05, horizon=64)
    x, sizes, none = np.full(n, value), bet_sizes(0.0, k, 0.05, 64), np.empty(0)
    low, high = -1.0, value
    for _ in range(60):
        middle = (low + high) / 2
        enough = means.log_wealth(x, middle, k, sizes, none) >= math.log(20)
        low, high = (middle, high) if enough else (low, middle)
    assert test.limit(x) == pytest.approx(low, abs=1e-4)


def test_the_limit_of_trials_of_one_value_takes_few_wealths(monkeypatch):
    """The first step is tiny where they do not spread: it was doubled a thousand times."""
    calls = []
    wealth = means.log_wealth
    monkeypatch.setattr(means, "log_wealth", lambda *a: calls.append(a) or wealth(*a))
    k = Knowledge(low=-1.0, high=1.0)
    LowerTest(knowledge=k, target=0.0, level=0.05, horizon=64).limit(np.zeros(40))
    assert 1 < len(calls) < 50

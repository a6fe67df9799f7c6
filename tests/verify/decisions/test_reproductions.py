"""Printed numbers: equivalence within the tolerance, contradiction beyond it, the paper's error."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t as student

from bounds.statement import Printed
from verify.decisions.means import Knowledge, LowerTest
from verify.decisions.reproductions import ReproductionTest
from verify.decisions.sequences import quantile_lower, quantile_upper

UNIT = Knowledge(low=0.0, high=1.0)


def reproduction(value, tolerance=0.05, *, se=0.0, runs=5, knowledge=UNIT, estimand="mean"):
    return ReproductionTest(
        printed=Printed(at={}, value=value, tolerance=tolerance, se=se, runs=runs),
        knowledge=knowledge,
        horizon=4096,
        refute_level=0.05,
        support_level=0.05,
        estimand=estimand,
    )


SAMPLE = np.random.default_rng(0).beta(2, 2, 4096)


@pytest.mark.parametrize(
    ("value", "tolerance", "status"),
    [(0.5, 0.05, "holds"), (0.6, 0.05, "fails"), (0.4, 0.05, "fails"), (0.5, 0.003, "open")],
)
def test_the_tolerance_decides(value, tolerance, status):
    decision = reproduction(value, tolerance).decide(SAMPLE)
    assert decision.status == status
    assert decision.lower < 0.5 < decision.upper
    assert decision.result({}).relation == "equals"


def test_the_papers_own_error_widens_the_limits():
    plain, noisy = reproduction(0.6), reproduction(0.6, se=0.05)
    assert plain.decide(SAMPLE).status == "fails"
    assert noisy.decide(SAMPLE).status == "open"
    inner = reproduction(0.6).limits(SAMPLE, 0.025)
    # Student's quantiles in a table: 12.706, 2.776 and nearly the normal 1.960
    for runs, quantile in ((2, 12.706), (5, 2.776), (10_000, 1.960)):
        outer = reproduction(0.6, se=0.05, runs=runs).limits(SAMPLE, 0.05)
        assert inner[0] - outer[0] == pytest.approx(quantile * 0.05, rel=1e-3)
        assert outer[1] - inner[1] == pytest.approx(quantile * 0.05, rel=1e-3)


def test_true_means_of_few_runs_are_refuted_no_more_often_than_the_level_says():
    """Our own trials are all 1/2, so that the error is that of the paper's five runs alone.

    With a normal quantile 3 per cent of them are refuted, at a level of 0.2 per cent.
    """
    rng = np.random.default_rng(7)
    own = rng.standard_normal((2000, 5))
    errors = own.std(axis=1, ddof=1) / math.sqrt(5)
    known = Knowledge(low=0.0, high=1.0, variance=0.0)
    refuted = 0
    for mean, error in zip(own.mean(axis=1), errors, strict=True):
        test = reproduction(0.5 + mean, 1e-9, se=error, knowledge=known)
        refuted += replace(test, refute_level=0.002).status(np.full(4, 0.5)) == "fails"
    assert refuted <= 12  # 2 are expected, more than 12 with probability 2e-7


def test_medians_use_order_statistics():
    x = np.random.default_rng(1).pareto(1.0, 3000)  # median 1, no mean
    test = reproduction(1.0, 0.2, estimand="median")
    decision = test.decide(x)
    assert decision.status == "holds"
    assert decision.lower == quantile_lower(x, 0.5, 0.05, anytime=True)
    assert decision.upper == quantile_upper(x, 0.5, 0.05, anytime=True)
    assert reproduction(1.5, 0.2, estimand="median").decide(x).status == "fails"
    lost = np.append(x[:1000], np.full(1200, np.inf))
    assert reproduction(1.0, 0.2, estimand="median").decide(lost).status == "fails"


def test_limits_without_a_range_are_labelled_and_heavy_tails_refused():
    known = Knowledge(asymptotic=True)
    good = reproduction(0.5, knowledge=known).decide(SAMPLE)
    assert (good.status, good.reason) == ("holds", "asymptotic limits")
    heavy = np.random.default_rng(2).pareto(1.5, 4096)
    refused = reproduction(2.0, 0.5, knowledge=known).decide(heavy)
    assert refused.status == "open"
    assert "heavy tails" in refused.reason
    assert refused.lower is None
    assert math.isfinite(refused.observed)


@pytest.mark.parametrize("se", [0.0, 0.02])
def test_a_number_is_contradicted_from_each_side_at_half_the_level(se):
    """The tests of a mean, each side with half of the level, and half of that where the paper's own
    error takes the other half: then its quantile moves the number away.
    """
    test = replace(reproduction(0.5, 0.05, se=se), refute_level=0.08)
    share = 0.04 / (2 if se else 1)
    widening = student.isf(0.04 / 2, 4) * se
    above = LowerTest(knowledge=UNIT, target=0.5, level=share, horizon=4096)
    below = LowerTest(knowledge=UNIT.mirrored(), target=-0.5, level=share, horizon=4096)
    words = set()
    for mean in np.linspace(0.2, 0.8, 61):
        x = np.clip(mean + 0.2 * np.sin(np.arange(200.0)), 0.0, 1.0)
        fails = above.rejects(x, 0.55 + widening) or below.rejects(-x, -(0.45 - widening))
        assert (test.status(x) == "fails") is fails
        words.add((fails, mean > 0.5))
    assert len(words) == 4


def test_a_printed_mean_has_its_standard_error_from_finite_trials_alone():
    x = np.array([0.25, 0.5, 1.0, 0.5])
    decided = reproduction(0.5).decide(x, n_failed=2)
    assert decided.observed == 0.5625
    assert decided.se == pytest.approx(math.sqrt(np.sum((x - 0.5625) ** 2) / 3 / 4))
    assert (decided.n_trials, decided.n_failed) == (4, 2)
    free = reproduction(0.5, knowledge=Knowledge(low=0.0))
    for values in (np.append(x, np.inf), x[:1]):
        lost = free.decide(values)
        assert (lost.observed, lost.se) == (None, None)


@pytest.mark.parametrize(
    ("knowledge", "label"),
    [
        (UNIT, ""),
        (Knowledge(variance=1.0), ""),
        (Knowledge(low=0.0, asymptotic=True), "asymptotic limits"),
        (Knowledge(high=1.0, asymptotic=True), "asymptotic limits"),
        (Knowledge(asymptotic=True), "asymptotic limits"),
    ],
)
def test_a_decided_number_says_whether_its_two_limits_are_exact(knowledge, label):
    """Both ends, or a variance, are needed: one end gives one exact limit."""
    decided = reproduction(0.5, 0.2, knowledge=knowledge).decide(SAMPLE)
    assert (decided.status, decided.reason) == ("holds", label)
    assert decided.asymptotic is bool(label)
    unsure = reproduction(0.5, 1e-4, knowledge=knowledge).decide(SAMPLE)
    assert (unsure.status, unsure.reason) == ("open", "the limits are wider than the tolerance")


@pytest.mark.parametrize(
    ("value", "tolerance", "status"),
    [(10.0, 1.0, "holds"), (8.0, 1.0, "holds"), (9.0, 0.5, "holds"),
     (10.25, 1.0, "fails"), (7.75, 1.0, "fails")],
)  # fmt: skip
def test_the_ends_of_a_tolerance_belong_to_it(value, tolerance, status):
    """Every count of rounds is 9, and so are both limits of the median."""
    test = reproduction(value, tolerance, knowledge=Knowledge(), estimand="median")
    assert test.limits(np.full(400, 9.0), 0.05) == (9.0, 9.0)
    assert test.status(np.full(400, 9.0)) == status
    # three trials bound no median
    assert test.status(np.full(3, 9.0)) == "open"

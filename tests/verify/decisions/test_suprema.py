"""Suprema: what a failed trial counts for, and the numbers of a cell from their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from trials.checks import InvalidParameter
from verify.decisions.sequences import confidence_sequence, prior_for, quantile_lower
from verify.decisions.suprema import decide_supremum
from verify.evidence import Verdict

ABOVE, BELOW = np.full(30, 2.0), np.full(10, 0.5)
FOUND = np.concatenate([ABOVE, BELOW])


def test_failed_trials_stay_in_the_denominator() -> None:
    """30 of 40 trials exceed; 360 more found nothing, so 30 of 400 do, fewer than a tenth."""
    whole = decide_supremum([FOUND], [1.0], [0.1], 0.01)
    assert whole.verdict is Verdict.REFUTED
    most_failed = decide_supremum([FOUND], [1.0], [0.1], 0.01, failed=[360])
    assert most_failed.verdict is Verdict.INCONCLUSIVE
    (cell,) = most_failed.cells
    assert (cell.exceeded, cell.n_trials, cell.n_failed) == (30, 400, 360)
    decision = cell.decision()
    assert (decision.observed, decision.n_trials, decision.n_failed) == (0.075, 400, 360)
    lower = confidence_sequence(30, 400, 0.01, prior_for(0.1))[0]
    assert cell.share_lower == pytest.approx(float(lower), rel=1e-12)


def test_a_failed_trial_is_a_trial_that_found_a_value_below_the_limit() -> None:
    for lost in (0, 5, 50):
        failed = decide_supremum([FOUND], [1.0], [0.2], 0.02, failed=[lost]).cells[0]
        small = decide_supremum([np.r_[FOUND, np.zeros(lost)]], [1.0], [0.2], 0.02).cells[0]
        assert (failed.exceeded, failed.n_trials) == (small.exceeded, small.n_trials)
        assert failed.share_lower == small.share_lower
        assert failed.status == small.status


def test_the_level_is_split_over_the_cells_that_say_something() -> None:
    """A cell decides with two others as it does alone at half of the level."""
    best, quiet = [FOUND, BELOW, FOUND], [0.1, 0.1, 1.0]
    several = decide_supremum(best, [1.0, 1.0, 1.0], quiet, 0.02)
    alone = decide_supremum([FOUND], [1.0], [0.1], 0.01)
    assert several.cells[0].share_lower == alone.cells[0].share_lower
    assert [cell.status for cell in several.cells] == ["fails", "open", "trivial"]


def test_a_value_at_the_limit_does_not_exceed_it() -> None:
    (cell,) = decide_supremum([np.full(100, 3.0)], [3.0], [0.1], 0.01).cells
    assert (cell.exceeded, cell.largest, cell.status) == (0, 1.0, "open")


def test_a_limit_that_is_attained_is_not_exceeded_by_a_rounding() -> None:
    """The largest Rayleigh quotient is an eigenvalue, here 0.1 + 0.2 where 0.3 is stated."""
    attained = np.full(100, 0.1 + 0.2)
    assert attained[0] > 0.3
    decision = decide_supremum([attained], [0.3], [0.0], 0.01)
    assert decision.verdict is Verdict.INCONCLUSIVE
    assert decide_supremum([1.001 * attained], [0.3], [0.0], 0.01).verdict is Verdict.REFUTED


def test_a_cell_of_failed_trials_only_decides_nothing() -> None:
    decision = decide_supremum([np.empty(0)], [1.0], [0.1], 0.01, failed=[20])
    (cell,) = decision.cells
    assert (cell.exceeded, cell.n_trials, cell.largest, cell.needed_lower) == (0, 20, 0.0, 0.0)
    assert decision.verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("found", [FOUND, np.r_[FOUND, math.inf, -math.inf]])
@pytest.mark.parametrize("delta", [0.0, 0.1])
def test_an_infinite_limit_allows_everything(found, delta) -> None:  # type: ignore[no-untyped-def]
    """Infinite values as well: nothing is above the limit, and it need not grow."""
    decision = decide_supremum([found], [math.inf], [delta], 0.01)
    (cell,) = decision.cells
    assert (cell.status, cell.exceeded, cell.largest, cell.needed_lower) == ("trivial", 0, 0.0, 0.0)
    assert (decision.verdict, decision.summary) == (Verdict.VACUOUS, "the limit allows everything")
    both = decide_supremum([found, FOUND], [math.inf, 1.0], [delta, 1.0], 0.01)
    assert both.verdict is Verdict.VACUOUS
    for limit, verdict in ((1.0, Verdict.REFUTED), (3.0, Verdict.INCONCLUSIVE)):
        mixed = decide_supremum([found, FOUND], [math.inf, limit], [delta, 0.1], 0.01)
        assert mixed.verdict is verdict
        assert f"up to {2.0 / limit:.3g} times" in mixed.summary


def test_the_needed_factor_of_a_cell_has_its_share_of_the_level() -> None:
    """The factor is the lower limit of a quantile of best value over limit, 2 at most here."""
    alone = decide_supremum([FOUND], [0.5], [0.5], 0.01).cells[0].needed_lower
    several = decide_supremum([FOUND] * 50, [0.5] * 50, [0.5] * 50, 0.01).cells[0].needed_lower
    for factor, level in ((alone, 0.01), (several, 0.01 / 50)):
        assert factor == quantile_lower(FOUND / 0.5, 0.5, level, anytime=True)
    values = np.arange(1.0, 401.0)
    narrow = decide_supremum([values], [1.0], [0.5], 0.1).cells[0].needed_lower
    wide = decide_supremum([values] * 50, [1.0] * 50, [0.5] * 50, 0.1).cells[0].needed_lower
    assert 0 < wide < narrow < 200
    assert wide == quantile_lower(values, 0.5, 0.1 / 50, anytime=True)


def test_what_a_limit_must_grow_by_is_never_negative() -> None:
    """Of three trials no quantile has a lower limit, and the limit need not grow at all."""
    result = decide_supremum([np.array([0.5, 2.0, 0.7]), FOUND], [1.0, 1.0], [0.1, 0.1], 0.01)
    assert result.cells[0].needed_lower == 0.0
    own = quantile_lower(FOUND, 0.9, 0.005, anytime=True)
    assert result.cells[1].needed_lower == own > 0.0
    for delta in (1.0, 2.0):
        (cell,) = decide_supremum([FOUND], [1.0], [delta], 0.01).cells
        assert cell.needed_lower == 0.0
        assert cell.status == "trivial"


def test_a_limit_that_no_trial_may_exceed_must_grow_up_to_the_largest_value() -> None:
    """With delta zero every value counts, a single one as well."""
    (cell,) = decide_supremum([np.array([0.5, 3.0, 2.0])], [2.0], [0.0], 0.01, failed=[9]).cells
    assert (cell.status, cell.needed_lower, cell.largest) == ("fails", 1.5, 1.5)
    assert "1.5 times at least" in cell.decision().reason
    (cell,) = decide_supremum([np.array([-3.0])], [2.0], [0.0], 0.01).cells
    assert (cell.status, cell.needed_lower) == ("open", 0.0)


def test_failed_trials_have_a_part_in_what_a_limit_must_grow_by() -> None:
    """400 of 500 trials found nothing, so that the upper tenth of all is the upper half of 100."""
    values, lost = np.arange(1.0, 101.0), 400
    (cell,) = decide_supremum([values], [1.0], [0.1], 0.05, failed=[lost]).cells
    every = np.r_[np.full(lost, -1.0), values]
    assert cell.needed_lower == quantile_lower(every, 0.9, 0.05, anytime=True)
    assert 0.0 < cell.needed_lower < 50.0 < quantile_lower(values, 0.9, 0.05, anytime=True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (([FOUND], [1.0, 1.0], [0.1]), "one entry a cell"),
        (([], [], []), "one entry a cell"),
        (([FOUND], [0.0], [0.1]), "limits must be > 0"),
    ],
)
def test_cells_that_do_not_fit_are_refused(arguments, said) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidParameter, match=said):
        decide_supremum(*arguments, 0.01)

"""Verdicts on probabilities: what refutes, what supports, what is left open and why."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from trials.checks import InvalidParameter
from verify.decisions.probability import (
    CONTRADICTED,
    decide_exact_probability,
    decide_probability,
)
from verify.decisions.sequences import (
    confidence_sequence,
    prior_for,
    resolvable,
    trials_to_resolve,
)
from verify.evidence import Verdict


def test_one_clear_cell_refutes_and_is_the_worst() -> None:
    decision = decide_probability([1, 60, 0], 1000, 0.02, 0.05)
    assert decision.verdict is Verdict.REFUTED
    assert decision.worst == 1
    assert [c.status for c in decision.cells] == ["holds", "fails", "holds"]
    assert decision.cells[1].lower > 0.02


def test_support_needs_every_cell() -> None:
    assert decide_probability([0, 0], 1000, 0.02, 0.05).verdict is Verdict.SUPPORTED
    decision = decide_probability([0, 19], 1000, 0.02, 0.05)
    assert decision.verdict is Verdict.INCONCLUSIVE
    assert decision.unresolved == (1,)
    assert "too close" in decision.cells[1].reason


def test_a_budget_that_cannot_resolve_delta_is_told_what_it_takes() -> None:
    decision = decide_probability(0, 100, 1e-4, 0.05)
    assert decision.verdict is Verdict.INCONCLUSIVE
    assert str(trials_to_resolve(1e-4, 0.05)) in decision.summary


def test_a_stated_resolution_supports_to_that_resolution_and_says_so() -> None:
    decision = decide_probability(0, 1000, 1e-30, 0.05, resolution=0.01)
    assert decision.verdict is Verdict.SUPPORTED
    assert "in no cell" in decision.summary
    assert "only down to the resolution 0.01" in decision.summary
    assert decision.resolution == 0.01
    # It loosens support only: a cell far above delta still refutes, below the resolution too.
    assert decide_probability(3, 1000, 1e-30, 0.05, resolution=0.01).verdict is Verdict.REFUTED


def test_failed_trials_are_bad_trials() -> None:
    decision = decide_probability(0, 1000, 0.02, 0.05, failed_counts=60)
    assert decision.verdict is Verdict.REFUTED
    assert decision.cells[0].n_bad == decision.cells[0].n_failed == 60


def test_delta_of_one_everywhere_is_vacuous_and_elsewhere_takes_no_share_of_the_level() -> None:
    assert decide_probability([5, 9], 10, [1.0, 3.0], 0.05).verdict is Verdict.VACUOUS
    alone = decide_probability([40], 1000, 0.02, 0.05)
    padded = decide_probability([40, 900, 900], 1000, [0.02, 1.0, 1.0], 0.05)
    assert padded.cells[0].lower == pytest.approx(alone.cells[0].lower, rel=1e-12)
    assert padded.verdict is alone.verdict is Verdict.REFUTED


def test_zero_delta_is_refuted_by_one_bad_trial_and_never_supported() -> None:
    assert decide_probability(1, 1000, 0.0, 0.05).verdict is Verdict.REFUTED
    decision = decide_probability(0, 1000, 0.0, 0.05)
    assert decision.verdict is Verdict.INCONCLUSIVE
    assert "no number of trials resolves" in decision.summary


def test_no_trials_decide_nothing() -> None:
    assert decide_probability(0, 0, 0.1, 0.05).verdict is Verdict.INCONCLUSIVE


#: delta as a multiple of the observed rate: far below, about the limits, and far above.
_FACTORS = st.one_of(st.floats(0.3, 1.2), st.floats(1.0, 3.0), st.floats(3.0, 50.0))


@settings(deadline=None, max_examples=300)
@given(
    st.lists(st.tuples(st.integers(1, 499), _FACTORS), min_size=1, max_size=4),
    st.sampled_from([("all", 1.0), ("above", 3.0), ("below", 0.2)]),
    st.floats(0.001, 0.2),
)
def test_the_verdict_follows_from_the_printed_limits(
    cells: list[tuple[int, float]], tilt: tuple[str, float], level: float
) -> None:
    """Deltas lie about the observed rates, so that every verdict is drawn often."""
    bad = np.array([count for count, _ in cells])
    delta = np.array([tilt[1] * factor * count / 500 for count, factor in cells])
    decision = decide_probability(bad, 500, delta, level)
    event(str(decision.verdict))
    live = [c for c in decision.cells if c.delta < 1]
    if any(c.lower > c.delta * (1 + 1e-9) for c in live):
        assert decision.verdict is Verdict.REFUTED
    elif not live:
        assert decision.verdict is Verdict.VACUOUS
    elif all(c.upper < c.delta * (1 - 1e-9) for c in live):
        assert decision.verdict is Verdict.SUPPORTED
    elif any(c.upper > c.delta * (1 + 1e-9) for c in live) and all(
        c.lower < c.delta * (1 - 1e-9) for c in live
    ):
        assert decision.verdict is Verdict.INCONCLUSIVE
    results = decision.cell_results([{"cell": i} for i in range(len(cells))])
    assert [r.bound for r in results] == [c.delta for c in decision.cells]
    assert {r.verdict for r in results} <= {str(v) for v in Verdict}


def test_bad_counts_are_refused() -> None:
    for bad, n, delta in ((11, 10, 0.1), (-1, 10, 0.1), (1, 10, -0.1), (1, 10, np.nan)):
        with pytest.raises(InvalidParameter):
            decide_probability(bad, n, delta, 0.05)
    with pytest.raises(InvalidParameter, match="at least one cell"):
        decide_probability([], [], [], 0.05)


def test_failed_trials_fill_no_gap_between_a_law_and_the_trials_that_finished() -> None:
    """0.9 of the trials are bad and 0.07 failed, where a law says 0.97, or says 0.9."""
    n = 100_000
    for law in (0.97, 0.9):
        decision = decide_exact_probability(90_000, n, law, 0.05, margin=0.02, failed_counts=7_000)
        assert decision.verdict is Verdict.REFUTED
        (cell,) = decision.cells
        assert (cell.observed, cell.n_failed) == (0.9 if law == 0.97 else 0.97, 7_000)
        assert not cell.lower <= law <= cell.upper
    few = decide_exact_probability(90_000, n, 0.9, 0.05, margin=0.02, failed_counts=50)
    assert few.verdict is Verdict.SUPPORTED
    every = decide_exact_probability(0, n, 1.0, 0.05, failed_counts=n)
    assert every.verdict is Verdict.REFUTED
    assert (every.cells[0].n_bad, every.cells[0].observed) == (0, 0.0)


def test_an_exact_probability_is_refuted_from_both_sides_and_supported_by_equivalence() -> None:
    n = 200_000
    assert decide_exact_probability(20_000, n, 0.1, 0.05).verdict is Verdict.SUPPORTED
    assert decide_exact_probability(21_500, n, 0.1, 0.05).verdict is Verdict.REFUTED
    assert decide_exact_probability(18_500, n, 0.1, 0.05).verdict is Verdict.REFUTED
    assert decide_exact_probability(20, 200, 0.1, 0.05).verdict is Verdict.INCONCLUSIVE
    assert decide_exact_probability(n, n, 1.0, 0.05).verdict is Verdict.SUPPORTED
    assert decide_exact_probability(n - 1, n, 1.0, 0.05).verdict is Verdict.REFUTED
    two = decide_exact_probability([20_000, 21_500], n, 0.1, 0.05)
    assert two.verdict is Verdict.REFUTED
    assert two.summary == "1 of 2 cells exclude the stated probability"
    assert two.worst == 1
    with pytest.raises(InvalidParameter, match="at most 1"):
        decide_exact_probability(1, 10, 1.5, 0.05)


def test_a_computed_limit_supports_what_no_trials_resolve() -> None:
    """Two cells of 100 failure-free trials against 1e-30: one has a limit below it."""
    decision = decide_probability(
        0, [100, 100], 1e-30, 0.05, resolution=0.2, log_limits=[-80.0, np.nan]
    )
    first, second = decision.cells
    assert decision.verdict is Verdict.SUPPORTED
    assert (first.resolved, second.resolved) == (True, False)
    assert first.upper == pytest.approx(np.exp(-80.0))
    assert "at most 1.8e-35" in first.reason
    assert decision.resolution == 0.2
    assert "1 computed" in decision.summary


@pytest.mark.parametrize(("n", "delta"), [(2, 0.2), (8, 0.5), (16, 0.5)])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_trials_that_resolve_nothing_support_nothing(n: int, delta: float, share: float) -> None:
    """At this level delta needs more failure-free trials, and all trials may be bad."""
    level = 1e-4
    assert trials_to_resolve(delta, level) > n
    assert resolvable(n, level) == 1.0
    decision = decide_probability(
        share * n, n, delta, level, resolution=resolvable(n, level) * (1 + 1e-6)
    )
    assert decision.verdict is Verdict.INCONCLUSIVE
    assert decision.resolution is None
    at = max(delta, 0.5)
    need = f"{n} trials cannot resolve {at:g}: {trials_to_resolve(at, level)} failure-free ones"
    assert need in decision.summary


def test_where_every_cell_is_computed_no_resolution_is_left() -> None:
    decision = decide_probability(0, [10, 10], 1e-9, 0.05, resolution=0.5, log_limits=-30.0)
    assert decision.verdict is Verdict.SUPPORTED
    assert decision.resolution is None


def test_a_computed_limit_above_delta_supports_nothing() -> None:
    decision = decide_probability(0, 10, 1e-9, 0.05, log_limits=np.log(1.1e-9))
    assert decision.verdict is Verdict.INCONCLUSIVE


def test_trials_that_refute_overrule_a_computed_limit() -> None:
    decision = decide_probability(90, 100, 0.01, 0.05, log_limits=-50.0)
    assert decision.verdict is Verdict.REFUTED


def test_probabilities_that_underflow_are_compared_by_their_logarithms() -> None:
    """exp(-800) and exp(-5000) are both zero as floats."""
    below = decide_probability(0, 10, 0.0, 0.05, log_limits=-6000.0, log_deltas=[-5000.0])
    above = decide_probability(0, 10, 0.0, 0.05, log_limits=-800.0, log_deltas=[-5000.0])
    unknown = decide_probability(0, 10, 0.0, 0.05, log_limits=-800.0)
    assert below.verdict is Verdict.SUPPORTED
    assert "1e-2605" in below.cells[0].reason
    assert above.verdict is Verdict.INCONCLUSIVE
    assert unknown.verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize(("log_delta", "held"), [(None, False), (-np.inf, False), (-800.0, True)])
def test_a_law_supports_no_probability_that_is_zero_or_underflows_unless_its_log_is_given(
    log_delta, held
):
    """A limit of zero is at most zero, and says nothing of a probability that a float lost."""
    found = decide_probability(
        0, 100, 0.0, 0.05, log_limits=-np.inf,
        log_deltas=None if log_delta is None else [log_delta],
    )  # fmt: skip
    assert (found.cells[0].status == "holds") is held
    assert found.cells[0].by_law is held
    assert found.cells[0].reason.endswith("exact law: at most 0") is held


def test_a_lower_limit_of_a_law_refutes_what_no_trials_see() -> None:
    """Ten trials without a failure: the law says that 1e-6 is exceeded."""
    found = decide_probability(0, [10, 10], 1e-6, 0.05, log_least=[np.log(2e-6), np.nan])
    assert found.verdict is Verdict.REFUTED
    assert [cell.status for cell in found.cells] == ["fails", "open"]
    assert found.worst == 0
    assert found.cells[0].lower == pytest.approx(2e-6)
    assert "worst: by the exact law, lower limit 2e-06" in found.summary


def test_a_lower_limit_that_is_not_above_the_stated_probability_says_nothing() -> None:
    for least in (np.log(1e-6), np.log(1e-9), -np.inf, np.nan):
        found = decide_probability(0, 10, 1e-6, 0.05, log_least=least)
        assert found.verdict is Verdict.INCONCLUSIVE
    trivial = decide_probability(0, 10, 1.0, 0.05, log_least=0.0)
    assert trivial.verdict is Verdict.VACUOUS


def test_probabilities_that_underflow_are_refuted_by_their_logarithms() -> None:
    found = decide_probability(0, 10, 0.0, 0.05, log_least=-800.0, log_deltas=[-5000.0])
    assert found.verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    ("bad", "laws"),
    [
        (20, {"log_limits": np.log(1e-3)}),  # a fifth against at most a thousandth
        (0, {"log_least": np.log(0.4)}),  # none in a hundred against at least two fifths
    ],
)
@pytest.mark.parametrize("delta", [0.6, 2.0])
def test_a_law_that_the_trials_contradict_decides_nothing(bad, laws, delta):
    """Its limits are not mixed with theirs either, which would leave an empty interval."""
    found = decide_probability(bad, 100, delta, 0.05, **laws)
    trials = decide_probability(bad, 100, delta, 0.05)
    assert found.verdict is (Verdict.INCONCLUSIVE if delta < 1.0 else Verdict.VACUOUS)
    (cell,), (alone,) = found.cells, trials.cells
    assert cell.reason.startswith(CONTRADICTED)
    assert (cell.lower, cell.upper) == (alone.lower, alone.upper)
    assert not cell.by_law
    if delta < 1.0:
        assert (trials.verdict, found.unresolved) == (Verdict.SUPPORTED, (0,))
        assert CONTRADICTED in found.summary


def test_trials_refute_whatever_a_contradicted_law_allows():
    found = decide_probability(90, 100, 0.01, 0.05, log_limits=-50.0)
    (cell,) = found.cells
    assert (found.verdict, cell.reason) == (Verdict.REFUTED, CONTRADICTED)
    assert cell.lower < 0.9 < cell.upper


def test_failed_trials_contradict_a_law_like_bad_ones():
    failed = decide_probability(0, 100, 0.5, 0.05, failed_counts=20, log_limits=np.log(1e-3))
    drawn = decide_probability(20, 100, 0.5, 0.05, log_limits=np.log(1e-3))
    assert failed.verdict is drawn.verdict is Verdict.INCONCLUSIVE
    assert failed.cells[0].reason == drawn.cells[0].reason == CONTRADICTED


def test_the_cells_share_the_level_at_which_a_law_is_contradicted():
    """Among many cells one is extreme by chance."""
    limit = float(confidence_sequence(20, 100, 0.05, prior_for(0.5))[0]) * 0.999
    one, many = (
        decide_probability(
            [20] + [0] * more, 100, 0.5, 0.05, log_limits=[np.log(limit)] + [np.nan] * more
        )
        for more in (0, 20)
    )
    reasons = [found.cells[0].reason for found in (one, many)]
    assert [reason.startswith(CONTRADICTED) for reason in reasons] == [True, False]


def test_a_resolution_is_told_where_some_cell_was_supported_only_down_to_it():
    n = 4000
    fine = decide_probability([0, 0], n, [0.5, 0.2], 0.05, resolution=0.01)
    assert (fine.verdict, fine.resolution) == (Verdict.SUPPORTED, None)
    assert fine.summary == "upper limit at most delta in all 2 cells"
    mixed = decide_probability([0, 0], n, [0.5, 1e-9], 0.05, resolution=0.01)
    assert (mixed.verdict, mixed.resolution) == (Verdict.SUPPORTED, 0.01)
    assert mixed.summary == (
        "upper limit at most delta in 1 of 2 cells; 1 of 2 cells only down to the resolution 0.01"
    )
    alone = decide_probability([0], n, [1e-9], 0.05, resolution=0.01)
    assert alone.summary == (
        "upper limit at most delta in no cell; the one cell only down to the resolution 0.01"
    )
    more = decide_probability([0, n], n, [0.5, 1.0], 0.05, resolution=0.01)
    assert more.summary == (
        "upper limit at most delta in the one cell; delta >= 1 allows everything in 1 more"
    )
    refuted = decide_probability([n, 0], n, [0.5, 1e-9], 0.05, resolution=0.01)
    assert (refuted.verdict, refuted.resolution) == (Verdict.REFUTED, None)


def test_an_open_cell_asks_for_as_many_trials_as_resolve_its_probability():
    need = trials_to_resolve(0.1, 0.05)
    (few,) = decide_probability([0], need - 1, [0.1], 0.05).cells
    assert (
        few.reason == f"{need - 1} trials cannot resolve 0.1: {need} failure-free ones are needed"
    )
    (bad,) = decide_probability([1], need, [0.1], 0.05).cells
    assert bad.reason == f"1/{need} bad is too close to 0.1"
    (enough,) = decide_probability([0], need, [0.1], 0.05).cells
    assert (enough.status, enough.reason) == ("holds", "")

"""The verdict on universal constants follows from its three parts: one part is bad in each case."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from trials.checks import InvalidParameter
from verify.decisions.combine import CellDecision, combine, worst
from verify.decisions.constants.decision import conclude
from verify.decisions.constants.drift import Drift, DriftSlope
from verify.decisions.constants.extrapolation import Attempt
from verify.decisions.constants.feasibility import Feasibility
from verify.decisions.probability import decide_probability
from verify.decisions.rates import contraction_factor, fit_power_law
from verify.evidence import Verdict

FEASIBLE = Feasibility(rows=(), choices=({},), feasible=(True,), witness=())
NO_TREND = Drift(cells=(), kappa=(), se_log=(), slopes=(), fit=None, margin=0.1, asked=False)
HELD = decide_probability([0], 10_000, 0.02, 0.05)
OPEN = decide_probability([2], 100, 0.02, 0.05)
TRIED = Attempt(
    calibration=None,  # type: ignore[arg-type]  # the verdict does not look at it
    held_out=HELD,
    held_out_cells=(0,),
    drift=NO_TREND,
    rejected=False,
)
GROWING = DriftSlope(
    name="m", direction="up", growth=0.5, se=0.01, lower=0.4, upper=0.6, span=(1.0, 100.0),
    allowed=0.1, halves=(0.4, 0.4), log_log=0.2, status="grows",
)  # fmt: skip


def verdict(feasibility=FEASIBLE, tried=TRIED, reach=None, vacuous=False):
    return conclude(feasibility, tried, reach or {"m": 8.0}, vacuous, 4.0)


def test_all_parts_good_is_support() -> None:
    assert (HELD.verdict, OPEN.verdict) == (Verdict.SUPPORTED, Verdict.INCONCLUSIVE)
    assert verdict()[0] is Verdict.SUPPORTED


def test_held_out_cells_that_are_open_leave_the_claim_open() -> None:
    word, why = verdict(tried=replace(TRIED, held_out=OPEN))
    assert word is Verdict.INCONCLUSIVE
    assert why.startswith("feasible; extrapolation INCONCLUSIVE")


def test_a_trend_that_was_asked_for_and_not_measured_leaves_the_claim_open() -> None:
    asked = replace(NO_TREND, asked=True, reason="too few cells")
    word, why = verdict(tried=replace(TRIED, drift=asked))
    assert word is Verdict.INCONCLUSIVE
    assert "drift not excluded (too few cells)" in why


@pytest.mark.parametrize(("factor", "word"), [(3.99, "INCONCLUSIVE"), (4.0, "SUPPORTED")])
def test_held_out_cells_must_reach_far_enough(factor: float, word: str) -> None:
    assert verdict(reach={"m": 8.0, "d": factor})[0] == word


def test_growth_refutes_only_where_held_out_cells_fail_as_well() -> None:
    grows = replace(NO_TREND, asked=True, slopes=(GROWING,))
    tried = replace(TRIED, drift=grows)
    assert verdict(tried=tried)[0] is Verdict.INCONCLUSIVE
    word, why = verdict(tried=replace(tried, rejected=True))
    assert word is Verdict.REFUTED
    assert "0.5 (at least 0.4) per unit log as m goes up" in why


def test_a_refuted_trend_is_the_one_that_is_surest_to_grow() -> None:
    """A steep growth with wide limits refutes nothing."""
    steep = replace(GROWING, name="d", growth=3.0, se=2.0, lower=-1.0, upper=7.0, status="open")
    for slopes in ((steep, GROWING), (GROWING, steep)):
        trend = replace(NO_TREND, asked=True, slopes=slopes)
        word, why = verdict(tried=replace(TRIED, drift=trend, rejected=True))
        assert word is Verdict.REFUTED
        assert "0.5 (at least 0.4) per unit log as m goes up" in why


def test_no_feasible_choice_refutes_and_a_trivial_bound_is_vacuous() -> None:
    none = replace(FEASIBLE, feasible=(False,), witness=(0,))
    assert verdict(feasibility=none)[0] is Verdict.REFUTED
    assert verdict(vacuous=True)[0] is Verdict.VACUOUS
    assert verdict(tried=None)[0] is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, float("nan")])
def test_rates_refuse_a_level_outside_the_unit_interval(level: float) -> None:
    x = np.geomspace(1.0, 100.0, 8)
    with pytest.raises(InvalidParameter, match="level"):
        fit_power_law(x, {"m": x}, level=level)
    errors = np.outer(np.ones(16), 0.5 ** np.arange(10.0)) + 1e-9
    with pytest.raises(InvalidParameter, match="level"):
        contraction_factor(errors, level=level)


@pytest.mark.parametrize("parts", list(itertools.product(list(Verdict)[:3], repeat=3)))
def test_a_statement_of_several_parts_is_as_good_as_its_worst_part(parts) -> None:  # type: ignore[no-untyped-def]
    """One refuted part refutes, and only parts that are all supported support."""
    refuted, supported = Verdict.REFUTED in parts, set(parts) == {Verdict.SUPPORTED}
    assert (worst(parts) is Verdict.REFUTED) == refuted
    assert (worst(parts) is Verdict.SUPPORTED) == supported


@pytest.mark.parametrize(
    ("statuses", "word", "said"),
    [
        (("fails", "trivial", "holds", "open"), "REFUTED", "1 of 3 cells contradict"),
        (("trivial", "open", "open", "holds"), "INCONCLUSIVE", "2 of 3 cells unresolved"),
        (("trivial", "holds", "holds", "trivial"), "SUPPORTED", "all 2 cells; the bound allows ev"),
        (("holds",), "SUPPORTED", "holds in its one cell"),
        (("trivial", "holds"), "SUPPORTED", "holds in one cell; the bound allows everything in 1"),
        (("trivial", "trivial"), "VACUOUS", "in every cell"),
    ],
)
def test_trivial_cells_are_counted_nowhere_but_among_themselves(statuses, word, said) -> None:  # type: ignore[no-untyped-def]
    made = [CellDecision(status=status, n_trials=9, bound=0.5) for status in statuses]
    verdict, why = combine(made)
    assert verdict.value == word
    assert said in why
    assert combine(made, "number", "numbers") == (
        verdict, why.replace("cells", "numbers").replace("cell", "number")
    )  # fmt: skip


@pytest.mark.parametrize(
    ("status", "word"),
    [
        ("fails", "REFUTED"),
        ("holds", "SUPPORTED"),
        ("open", "INCONCLUSIVE"),
        ("trivial", "VACUOUS"),
    ],
)
def test_a_decided_cell_keeps_every_number_as_evidence(status, word) -> None:  # type: ignore[no-untyped-def]
    cell = CellDecision(
        status=status, n_trials=90, n_failed=3, bound=8.0, observed=2.0, se=0.25, lower=1.5,
        upper=2.5, reason="why", relation="at least",
    )  # fmt: skip
    row = cell.result({"d": 2})
    assert (row.params, row.n_trials, row.n_failed) == ({"d": 2}, 90, 3)
    assert (row.observed, row.se, row.lower, row.upper) == (2.0, 0.25, 1.5, 2.5)
    assert (row.bound, row.relation, row.ratio) == (8.0, "at least", 4.0)
    assert (row.verdict, row.note, row.void) == (word, "why", "")

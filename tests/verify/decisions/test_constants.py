"""The three parts of the decision on universal constants, each where it alone matters."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from trials.checks import InvalidParameter
from verify.decisions.constants import (
    CellSample,
    ConstantBox,
    ConstantsDecision,
    ConstantsRules,
    decide_constants,
    drift,
    infeasible,
    logarithm_slope,
)
from verify.decisions.constants.calibration import sharpest
from verify.decisions.constants.drift import required_se_log
from verify.decisions.constants.extrapolation import extrapolation_reach
from verify.decisions.constants.feasibility import smallest_cover
from verify.decisions.constants.problem import Problem, pose
from verify.decisions.rates import fit_power_law
from verify.decisions.sequences import resolvable
from verify.evidence import Verdict

C = ConstantBox(name="c", low=1e-2, high=1e2)
GRID = (
    *((m, d, "calibration") for m in (10, 20, 40) for d in (4, 8)),
    *((m, d, "held-out") for m, d in ((640, 4), (1280, 8), (2560, 4), (2560, 8))),
    *((m, d, "held-out") for m, d in ((20, 128), (40, 256), (20, 512), (40, 512))),
    *((m, d, "held-out") for m, d in ((1280, 256), (2560, 512))),
)


def make_cells(
    truth: Callable[[float, float], float], n: int = 300, seed: int = 0, **changes: Any
) -> list[CellSample]:
    """Cells whose statistic is ``truth(m, d)`` times log-normal noise of 20 per cent."""
    rng = np.random.default_rng(seed)
    settings = {"delta": 0.05, **changes}
    return [
        CellSample(
            params={"m": m, "d": d},
            statistic=truth(m, d) * np.exp(0.2 * rng.standard_normal(n)),
            role=role,  # type: ignore[arg-type]
            **settings,
        )
        for m, d, role in GRID
    ]


def root(values, cell):  # type: ignore[no-untyped-def]
    return values["c"] * math.sqrt(cell.params["d"] / cell.params["m"])


def decide(
    cells: list[CellSample], bound=root, constants=(C,), **changes: Any
) -> ConstantsDecision:  # type: ignore[no-untyped-def]
    drift, level = changes.pop("drift", {"m": "up", "d": "up"}), changes.pop("level", 0.05)
    rules = ConstantsRules(**changes)
    return decide_constants(cells, constants, bound, drift=drift, level=level, rules=rules)


def sharp(m: float, d: float) -> float:
    return 3.0 * math.sqrt(d / m)


def test_a_sharp_bound_is_supported_with_its_constant_recovered() -> None:
    decision = decide(make_cells(sharp))
    assert decision.verdict is Verdict.SUPPORTED
    assert decision.witness is None
    calibration = decision.calibration
    assert calibration is not None
    # The 95 % quantile of the noise is exp(0.2 * 1.645) = 1.39.  The worst of six cells is above
    # it.
    assert 3 * 1.3 < calibration.fitted["c"] < 3 * 1.7
    assert calibration.frozen["c"] == pytest.approx(2 * calibration.fitted["c"])
    assert dict(decision.extrapolation) == pytest.approx({"m": 64.0, "d": 64.0, "jointly": 64.0})
    drift = decision.drift
    assert drift is not None
    assert all(abs(s.growth) < 0.05 for s in drift.slopes)
    assert len(drift.kappa) == len(GRID)
    assert [t.title for t in decision.tables()]


@pytest.mark.parametrize(
    ("name", "direction", "law"),
    [
        ("m", "up", lambda x: np.log(x["m"])),
        ("m", "down", lambda x: 1 + np.log(x["m"].max() / x["m"])),
        ("r", "up", lambda x: 1 + np.log(x["r"] / x["r"].min())),
        ("r", "down", lambda x: 1 + np.log(x["r"].max() / x["r"])),
    ],
)
def test_the_slope_of_a_logarithm_is_what_the_fit_gives_to_one(name, direction, law) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(6)
    x = {"m": np.exp(rng.uniform(1, 20, 30)), "r": np.exp(rng.uniform(-7, 7, 30))}
    growth = fit_power_law(law(x), x).exponents[list(x).index(name)]
    expected = growth if direction == "up" else -growth
    assert logarithm_slope(x, name, direction) == pytest.approx(expected, rel=1e-9)
    assert expected > 0


def test_the_largest_constant_of_the_box_serves_a_bound_that_is_attained() -> None:
    """Every value is the next float above c d/m at c = 3, the end of the box."""
    cells = [
        replace(cell, statistic=np.full(300, np.nextafter(3.0 * d / m, math.inf)))
        for cell in make_cells(sharp)
        for m, d in [(cell.params["m"], cell.params["d"])]
    ]
    box = replace(C, high=3.0)

    def bound(values: Any, cell: CellSample) -> float:
        return float(values["c"] * cell.params["d"] / cell.params["m"])

    decided = decide(cells, bound, constants=(box,))
    assert decided.verdict is Verdict.SUPPORTED
    assert decided.feasibility is not None
    assert {row.n_bad for row in decided.feasibility.rows} == {0}
    above = [replace(cell, statistic=cell.statistic * (1 + 1e-6)) for cell in cells]
    assert decide(above, bound, constants=(box,)).verdict is Verdict.REFUTED


def test_growth_like_a_logarithm_withholds_support_though_its_slope_is_below_the_margin() -> None:
    """log m from 64 to 10^12, fitted as a power: 0.08 per unit log, and the margin is 0.1."""

    def wide(growth: Callable[[float], float]) -> ConstantsDecision:
        rng = np.random.default_rng(7)
        sizes = [*(64.0 * 2 ** (i / 4) for i in range(9)), *np.geomspace(1e4, 1e12, 15)]
        cells = [
            CellSample(
                params={"m": m},
                statistic=growth(m) * np.exp(0.2 * rng.standard_normal(400)),
                delta=0.1,
                role="calibration" if m <= 256 else "held-out",
            )
            for m in sizes
        ]
        return decide(cells, lambda v, _cell: v["c"], drift={"m": "up"}, slack=10.0)

    (flat,) = wide(lambda m: 1.0).drift.slopes  # type: ignore[union-attr]
    assert flat.status == "flat"
    assert flat.allowed == pytest.approx(0.08, abs=0.005)
    assert flat.span == (64.0, 1e12)
    # The limit is an exponent.  Over the span it gives the excluded factor.
    assert flat.excluded == pytest.approx((1e12 / 64) ** flat.upper)
    decision = wide(lambda m: math.log(m))
    (slope,) = decision.drift.slopes  # type: ignore[union-attr]
    assert slope.status == "unresolved"
    assert slope.upper < 0.1
    assert decision.verdict is Verdict.INCONCLUSIVE
    assert "drift not excluded (in m up)" in decision.summary
    assert wide(lambda m: 1.0).verdict is Verdict.SUPPORTED


def exponential(m: float, scale: float, role: Any, rng: np.random.Generator) -> CellSample:
    """S is exponential with mean ``scale``, and may exceed its bound with probability 1/m."""
    return CellSample(
        params={"m": m},
        statistic=rng.exponential(scale, 1024),
        delta=1.0 / m,
        role=role,
        log_tail=lambda b: -b / scale,
    )


SIZES_OF_EXPONENTIALS = [2 ** (6 + i / 2) for i in range(16) if not 4 < i < 8]


def of_exponentials(
    scale: Callable[[float], float], *, laws: bool = True, turned: bool = False
) -> ConstantsDecision:
    """E S = scale(m) against the bound c, fitted up to m = 256 and tried up to m = 11,585.

    The law requires the constant scale(m) log m.  The frozen constant is twice a quantile that
    trials show, which is about ten times the mean.  So every held-out cell obeys the exact law.
    """
    rng = np.random.default_rng(0)
    cells = [
        exponential(m, scale(m), "calibration" if m <= 256 else "held-out", rng)
        for m in SIZES_OF_EXPONENTIALS
    ]
    if not laws:
        cells = [replace(cell, log_tail=None) for cell in cells]
    if turned:
        cells = [replace(cell, params={"m": 1.0 / cell.params["m"]}) for cell in cells]
    asked = {"m": "down" if turned else "up"}
    settings = {"level": 1e-3, "drift": asked, "resolution": 0.01}
    return decide(cells, lambda values, _cell: values["c"], **settings)


def test_constants_that_grow_beyond_what_trials_resolve_are_seen_by_the_law() -> None:
    """With one mean the constant grows like log m, and no quantile that 1024 trials show does."""
    growing = of_exponentials(lambda _m: 1.0)
    assert growing.held_out is not None
    assert growing.held_out.verdict is Verdict.SUPPORTED
    assert growing.held_out.resolution is None  # by the law, at delta itself
    assert growing.verdict is Verdict.INCONCLUSIVE
    assert "drift not excluded (in m up)" in growing.summary
    found = growing.drift
    assert found is not None
    frozen = growing.calibration.frozen["c"]  # type: ignore[union-attr]
    logs = np.log(SIZES_OF_EXPONENTIALS)
    assert found.by_law == pytest.approx([x / frozen for x in logs], rel=0.011)
    assert all(got >= x / frozen for got, x in zip(found.by_law, logs, strict=True))
    (slope,) = found.slopes
    fit = fit_power_law(found.by_law, {"m": SIZES_OF_EXPONENTIALS}, level=1e-3)
    assert slope.upper == pytest.approx(fit.limits("m", 2e-3)[1])
    assert slope.upper > slope.allowed

    true = of_exponentials(lambda m: 1.0 / math.log(m))
    assert true.verdict is Verdict.SUPPORTED
    assert true.resolution is None


def test_a_law_tells_the_required_constant_at_the_smallest_of_the_bounds_of_a_cell() -> None:
    """P(S > b) = exp(-b) is 1/1000 at log 1000, and the smallest bound is 1/2."""
    sample = CellSample(params={}, statistic=np.ones(10), delta=1e-3, log_tail=lambda b: -b)
    bounds = np.linspace(0.5, 3.0, 10)
    problem = posed(sample, lambda _values, _cell: bounds)
    found = problem.kappa_by_law({}, problem.cells[0], 1e-3)
    assert found == pytest.approx(2 * math.log(1000), rel=0.011)
    assert found >= 2 * math.log(1000)
    for changed in ({"log_tail": None}, {"log_tail": lambda _b: -1.0}, {"delta": 0.0}):
        assert problem.kappa_by_law({}, replace(problem.cells[0], **changed), 1e-3) == math.inf
    always = replace(problem.cells[0], log_tail=lambda _b: -math.inf)
    assert problem.kappa_by_law({}, always, 1e-3) == 1e-3


def test_towards_smaller_values_a_law_limits_the_growth_on_the_same_side() -> None:
    """The cells of 1/m, asked downwards, are those of m asked upwards."""
    upwards = of_exponentials(lambda m: m**-0.2 / math.log(m))
    downwards = of_exponentials(lambda m: m**-0.2 / math.log(m), turned=True)
    for one, other in ((upwards, "up"), (downwards, "down")):
        assert one.drift is not None
        assert one.drift.by_law
        assert one.drift.slopes[0].direction == other
        sizes = np.array(SIZES_OF_EXPONENTIALS) ** (1.0 if other == "up" else -1.0)
        ends = fit_power_law(one.drift.by_law, {"m": sizes}, level=1e-3).limits("m", 2e-3)
        upper = ends[1] if other == "up" else -ends[0]
        # the law's constants fall like m^(-0.2), the trials' quantile more steeply
        assert one.drift.slopes[0].upper == pytest.approx(upper, rel=1e-9)
        assert upper == pytest.approx(-0.2, abs=0.05)
        assert one.verdict is Verdict.SUPPORTED


def test_cells_of_several_sizes_are_resolved_down_to_the_largest_probability() -> None:
    rng = np.random.default_rng(1)
    cells = [
        replace(
            exponential(m, 1.0 / math.log(m), "calibration", rng),
            statistic=rng.exponential(1.0, n),
            log_tail=None,
        )
        for m, n in ((1e6, 100), (2e6, 1000), (4e6, 300))
    ]
    problem = pose(cells, (C,), lambda _values, _cell: 1.0, None, 0.05)
    found = drift.measure_drift(problem, range(3), {}, {"m": "up"}, 0.1, 1e-3)
    assert found.resolution == resolvable(100, 0.05) > resolvable(1000, 0.05)


def test_without_a_law_the_drift_is_known_down_to_what_trials_resolve() -> None:
    coarse = of_exponentials(lambda m: 1.0 / math.log(m), laws=False)
    assert coarse.verdict is Verdict.SUPPORTED
    assert coarse.drift is not None
    assert coarse.drift.by_law == ()
    assert coarse.drift.resolution == resolvable(1024, 1e-3)
    assert coarse.resolution == 0.01  # the declared one of the held-out cells, which is larger
    assert f"{coarse.drift.resolution:.2g}" in coarse.tables()[1].note
    assert of_exponentials(lambda m: 1.0 / math.log(m)).tables()[1].note != coarse.tables()[1].note


def test_the_excluded_factor_is_printed_with_the_verdict_and_in_the_table() -> None:
    decision = decide(make_cells(sharp))
    drift = decision.drift
    assert drift is not None
    worst = max(s.excluded for s in drift.slopes)
    assert drift.excluded == worst
    assert f"by more than a factor {max(worst, 1.0):.2f} over the tried range" in decision.summary
    growth = decision.tables()[1]
    assert list(growth.columns[-3:]) == ["allowed", "log log excluded", "factor excluded"]
    assert [row[-1] for row in growth.rows] == [s.excluded for s in drift.slopes]
    assert [row[-2] == "yes" for row in growth.rows] == [s.excludes_log_log for s in drift.slopes]


def test_what_is_said_of_an_iterated_logarithm_is_its_slope_in_these_cells() -> None:
    m = np.geomspace(10, 1e6, 24)
    x = {"m": m}
    law = 1 + np.log(np.log(m))
    expected = fit_power_law(law, x).exponents[0]
    assert logarithm_slope(x, "m", "up", iterated=True) == pytest.approx(expected, rel=1e-9)
    assert 0 < expected < logarithm_slope(x, "m", "up")

    def slope(noise: float, seed: int = 8):  # type: ignore[no-untyped-def]
        rng = np.random.default_rng(seed)
        cells = [
            CellSample(
                params={"m": size},
                statistic=np.exp(noise * rng.standard_normal(400)),
                delta=0.1,
                role="calibration" if size < 100 else "held-out",
            )
            for size in m
        ]
        (one,) = decide(cells, lambda v, _cell: v["c"], drift={"m": "up"}).drift.slopes  # type: ignore[union-attr]
        return one

    assert slope(0.05).excludes_log_log
    assert not replace(slope(0.05), upper=1.01 * expected).excludes_log_log
    assert slope(0.05).log_log == pytest.approx(expected)


def shifted(jump: Callable[[float], float], seed: int = 3) -> ConstantsDecision:
    """28 sizes.  The required constant is ``jump(m)`` times log-normal noise."""
    rng = np.random.default_rng(seed)
    sizes = [*np.geomspace(10, 160, 10), *np.geomspace(640, 1e5, 18)]
    cells = [
        CellSample(
            params={"m": m},
            statistic=jump(m) * np.exp(0.3 * rng.standard_normal(200)),
            delta=0.05,
            role="calibration" if m <= 160 else "held-out",
        )
        for m in sizes
    ]
    box = (ConstantBox(name="c", low=1e-2, high=1e4),)
    return decide(cells, lambda v, _cell: v["c"], box, drift={"m": "up"})


@pytest.mark.parametrize("at", [20, 400, 700, 2000, 5000, 30_000])
def test_one_shift_of_the_required_constant_does_not_refute_and_is_named(at: float) -> None:
    """c = 10 is enough in every cell, so the claim "there is a c" is true."""
    decision = shifted(lambda m: 10.0 if m > at else 1.0)
    assert decision.verdict is Verdict.INCONCLUSIVE
    if at > 160:  # else the calibration cells see the shift
        assert decision.held_out.verdict is Verdict.REFUTED  # type: ignore[union-attr]
    (slope,) = decision.drift.slopes  # type: ignore[union-attr]
    assert min(slope.halves) <= 0.1
    if slope.lower > 0.1:
        assert slope.status == "uneven"
        assert "a constant that shifts once would look the same" in decision.summary


def test_growth_in_both_halves_refutes() -> None:
    decision = shifted(lambda m: m**0.2)
    assert decision.verdict is Verdict.REFUTED
    (slope,) = decision.drift.slopes  # type: ignore[union-attr]
    assert slope.status == "grows"
    assert all(0.1 < half < 0.2 for half in slope.halves)


def test_a_conservative_bound_is_supported_too() -> None:
    """A truth that falls faster than the bound: slopes are negative, which is no growth."""
    assert decide(make_cells(lambda m, d: d**0.5 / m)).verdict is Verdict.SUPPORTED


def test_an_empty_box_refutes_with_the_cell_that_empties_it() -> None:
    def truth(m: float, d: float) -> float:
        return sharp(m, d) * (100 if (m, d) == (20, 128) else 1)

    decision = decide(make_cells(truth))
    assert decision.verdict is Verdict.REFUTED
    assert decision.witness is not None
    assert dict(decision.witness.params) == {"m": 20, "d": 128}
    assert decision.witness.observed > decision.witness.bound


@pytest.mark.parametrize("factor", [1.0, 100.0])
def test_infeasible_is_the_first_part_of_the_decision(factor) -> None:  # type: ignore[no-untyped-def]
    cells = make_cells(lambda m, d: sharp(m, d) * (factor if (m, d) == (20, 128) else 1))
    feasibility = decide(cells).feasibility
    assert feasibility is not None
    alone = infeasible(cells, (C,), root, level=0.05)
    assert alone is not any(feasibility.feasible)
    assert alone is (factor == 100.0)


def test_a_missing_factor_refutes_by_extrapolation_and_drift_in_that_parameter() -> None:
    def no_dimension(values, cell):  # type: ignore[no-untyped-def]
        return values["c"] / math.sqrt(cell.params["m"])

    wide = ConstantBox(name="c", low=1e-2, high=1e4)
    decision = decide(make_cells(sharp), no_dimension, (wide,))
    assert decision.verdict is Verdict.REFUTED
    assert decision.feasibility is not None
    assert all(decision.feasibility.feasible)
    assert decision.drift is not None
    growing = {s.name: s for s in decision.drift.slopes}
    assert growing["d"].status == "grows"
    assert growing["d"].lower < 0.5 < growing["d"].upper
    assert growing["m"].status == "flat"
    assert "as d goes up" in decision.summary
    # With the declared direction reversed the growth is not in question and nothing refutes.
    other_way = decide(make_cells(sharp), no_dimension, (wide,), drift={"d": "down"})
    assert other_way.verdict is Verdict.INCONCLUSIVE


def test_a_constant_to_choose_is_refuted_only_when_every_choice_is() -> None:
    """Choice 1 fails at large m and choice 2 at large d: together they empty the grid."""

    def cells(spared: float) -> list[CellSample]:
        out = []
        for g in (1.0, 2.0):

            def truth(m: float, d: float, g: float = g) -> float:
                bad = (m >= 640 and d < 100) if g == 1.0 else (d >= 128 and m < 100)
                return sharp(m, d) * (1000 if bad and g != spared else 1)

            out += make_cells(truth, choice={"g": g})
        return out

    constants = (C, ConstantBox(name="g", low=0.5, high=4, generous="choose", grid=(1.0, 2.0)))
    refuted = decide(cells(spared=0.0), constants=constants)
    assert refuted.verdict is Verdict.REFUTED
    assert refuted.feasibility is not None
    assert len(refuted.feasibility.witness) == 2
    assert refuted.witness is not None
    assert len(refuted.witness.params["cells"]) == 2
    spared = decide(cells(spared=2.0), constants=constants)
    assert spared.feasibility is not None
    assert spared.feasibility.feasible == (False, True)
    assert spared.verdict is not Verdict.REFUTED


def test_the_choice_is_made_on_the_calibration_cells() -> None:
    cells = []
    for g in (1.0, 2.0, 4.0):
        cells += make_cells(lambda m, d, g=g: sharp(m, d) * (1 + abs(g - 2)), choice={"g": g})
    constants = (C, ConstantBox(name="g", low=0.5, high=4, generous="choose", grid=(1.0, 2.0, 4.0)))
    decision = decide(cells, constants=constants)
    assert decision.calibration is not None
    assert dict(decision.calibration.choice) == {"g": 2.0}
    assert decision.verdict is Verdict.SUPPORTED


@pytest.mark.parametrize("where", ["calibration", "held-out"])
def test_a_choice_that_a_cell_excludes_supports_nothing(where: str) -> None:
    """Choice 1 has more room, and of 300 trials of one cell three are far above any constant.

    No failure is allowed, and the quantile that three trials in 300 leave alone does not see them.
    """
    low = make_cells(lambda m, d: 0.1 * sharp(m, d), choice={"g": 1.0}, delta=1e-9)
    at = next(i for i, cell in enumerate(low) if cell.role == where)
    spoiled = low[at].statistic.copy()
    spoiled[:3] = 1e9
    low[at] = replace(low[at], statistic=spoiled)
    cells = [*low, *make_cells(sharp, choice={"g": 2.0}, delta=1e-9)]
    constants = (C, ConstantBox(name="g", low=1, high=2, generous="choose", grid=(1.0, 2.0)))
    decision = decide(cells, constants=constants, resolution=0.06)
    assert decision.feasibility is not None
    assert decision.feasibility.feasible == (False, True)
    assert decision.calibration is not None
    if where == "calibration":  # the next one is tried, on cells that had no part in the choice
        assert dict(decision.calibration.choice) == {"g": 2.0}
        assert decision.verdict is Verdict.SUPPORTED
    else:
        assert dict(decision.calibration.choice) == {"g": 1.0}
        assert decision.verdict is Verdict.INCONCLUSIVE
        assert "a cell excludes the calibrated choice g=1" in decision.summary


@pytest.mark.parametrize("delta", [0.004, 0.01])
def test_violations_that_chance_explains_leave_a_choice_its_place(delta: float) -> None:
    """Of 300 trials four violate, where delta allows 1.2 or 3, and no cell excludes the choice.

    Four or more have a probability of 0.03 or 0.35, and the level of a cell is below 0.001.  The
    trials resolve no such delta, so that the required constant leaves room.
    """
    low = make_cells(lambda m, d: 0.1 * sharp(m, d), choice={"g": 1.0}, delta=delta)
    spoiled = low[0].statistic.copy()
    spoiled[:4] = 1e9
    low[0] = replace(low[0], statistic=spoiled)
    cells = [*low, *make_cells(sharp, choice={"g": 2.0}, delta=delta)]
    constants = (C, ConstantBox(name="g", low=1, high=2, generous="choose", grid=(1.0, 2.0)))
    decision = decide(cells, constants=constants, resolution=0.06)
    assert decision.feasibility is not None
    assert decision.feasibility.feasible == (True, True)
    assert decision.calibration is not None
    assert decision.calibration.room[0] < decision.calibration.room[1] < 1.0
    assert dict(decision.calibration.choice) == {"g": 1.0}


def test_a_choice_that_fails_far_away_does_not_refute_while_another_does_not() -> None:
    """Choice 1 has the most room on the calibration cells, but only choice 2 keeps its constant."""

    def no_growth(values, cell):  # type: ignore[no-untyped-def]
        return values["c"]

    def cells(second: float) -> list[CellSample]:
        return [
            *make_cells(lambda m, d: 0.1 * d**0.5, choice={"g": 1.0}),
            *make_cells(lambda m, d: d**second, choice={"g": 2.0}),
        ]

    constants = (
        ConstantBox(name="c", low=1e-3, high=1e4),
        ConstantBox(name="g", low=1, high=2, generous="choose", grid=(1.0, 2.0)),
    )
    decision = decide(cells(0.0), no_growth, constants)
    assert decision.verdict is Verdict.INCONCLUSIVE
    assert decision.calibration is not None
    assert dict(decision.calibration.choice) == {"g": 1.0}
    assert "but not so: g=2" in decision.notes[0]
    assert decide(cells(0.5), no_growth, constants).verdict is Verdict.REFUTED


def test_held_out_trials_never_reach_the_constants() -> None:
    calm = decide(make_cells(sharp)).calibration
    cells = [
        c
        if c.role == "calibration"
        else CellSample(params=c.params, statistic=c.statistic * 7, delta=c.delta, role="held-out")
        for c in make_cells(sharp)
    ]
    assert decide(cells).calibration == calm


def test_two_terms_are_both_calibrated_where_they_rule() -> None:
    def truth(m: float, d: float) -> float:
        return 2.0 / m + 0.5 * d / m**2

    def bound(values, cell):  # type: ignore[no-untyped-def]
        m, d = cell.params["m"], cell.params["d"]
        return values["a"] / m + values["b"] * d / m**2

    constants = tuple(ConstantBox(name=name, low=1e-3, high=1e3) for name in "ab")
    decision = decide(make_cells(truth), bound, constants)
    assert decision.calibration is not None
    fitted = decision.calibration.fitted
    # 1.39 is the noise's 95 % quantile. d / m is at most 0.8 in the calibration cells, so the term
    # with b never dominates there.
    assert 2.0 * 1.2 < fitted["a"] < 2.0 * 1.8
    assert 0.5 * 0.7 < fitted["b"] < 0.5 * 3.0
    assert decision.verdict is Verdict.SUPPORTED


def test_cells_outside_the_assumptions_say_nothing_and_none_inside_is_vacuous() -> None:
    """An assumption d <= m / C is met by fewest cells at its generous (largest) constant."""

    def truth(m: float, d: float) -> float:
        return sharp(m, d) * (1000 if d > m else 1)

    hidden = ConstantBox(name="C", low=0.1, high=1.0)

    def inside(values, cell):  # type: ignore[no-untyped-def]
        return cell.params["d"] * values["C"] <= cell.params["m"]

    plain = decide(make_cells(truth))
    assert plain.verdict is Verdict.REFUTED
    limited = decide(make_cells(truth), constants=(C, hidden), assumption=inside, tighten=("c",))
    assert limited.verdict is not Verdict.REFUTED
    assert limited.notes
    assert limited.calibration is not None
    assert limited.calibration.frozen["C"] == 1.0
    nowhere = decide(make_cells(truth), assumption=lambda values, cell: False)
    assert nowhere.verdict is Verdict.VACUOUS
    assert decide(make_cells(sharp, delta=1.5)).verdict is Verdict.VACUOUS


def test_a_bound_above_the_trivial_one_everywhere_is_vacuous() -> None:
    cells = make_cells(sharp)
    assert decide(cells, trivial=lambda cell: 1e-3).verdict is Verdict.VACUOUS
    assert decide(cells, trivial=lambda cell: 1e3).verdict is Verdict.SUPPORTED


def test_failed_trials_violate_any_bound() -> None:
    cells = make_cells(sharp)
    broken = cells[-1].statistic.copy()
    broken[::3] = np.nan
    cells[-1] = CellSample(params=cells[-1].params, statistic=broken, delta=0.05, role="held-out")
    decision = decide(cells)
    assert decision.verdict is Verdict.REFUTED
    assert decision.feasibility is not None
    assert decision.feasibility.rows[-1].n_failed == 100
    assert decision.drift is not None
    assert "infinite" in decision.drift.reason


def test_support_needs_extrapolation_resolution_and_an_identified_drift() -> None:
    near = [c for c in make_cells(sharp) if c.params["m"] < 100]
    decision = decide(near)
    assert decision.verdict is Verdict.INCONCLUSIVE
    assert "do not reach 4-fold in m, jointly" in decision.summary
    tiny = decide(make_cells(sharp, delta=1e-9))
    assert tiny.verdict is Verdict.INCONCLUSIVE
    assert "failure-free" in tiny.summary
    stated = decide(make_cells(sharp, delta=1e-9), resolution=0.02)
    assert stated.verdict is Verdict.SUPPORTED
    assert "only down to the resolution 0.02" in stated.summary
    few = [c for c in make_cells(sharp) if (c.params["m"], c.params["d"]) in {(10, 4), (640, 4)}]
    assert decide(few).verdict is Verdict.INCONCLUSIVE


def test_a_cell_that_carries_a_direction_alone_is_told() -> None:
    """Five cells of one d and one of another: no other cell speaks about the growth in d."""
    data = [
        CellSample(
            params={"m": m, "d": d},
            statistic=np.full(100, math.sqrt(d / m)),
            delta=0.05,
            role="held-out",
        )
        for m, d in ((10, 4), (20, 4), (40, 4), (80, 4), (160, 4), (320, 8))
    ]
    for cells, reason in (
        (data, "one cell alone carries some direction"),
        ([*data, replace(data[0], params={"m": 10, "d": 8})], ""),
    ):
        problem: Any = SimpleNamespace(
            cells=cells,
            level=0.05,
            kappa=lambda values, cell: 1.0 + cell.params["m"] % 7 / 100,
            is_coarse=lambda *_: False,
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(drift, "required_se_log", lambda *_: 0.01)
            found = drift.measure_drift(
                problem, range(len(cells)), {}, {"m": "up", "d": "up"}, 0.25, 1e-9
            )
        assert found.reason == reason


def test_per_trial_bounds_and_failure_probabilities_with_constants_are_used() -> None:
    rng = np.random.default_rng(5)
    cells = []
    for m, _, role in GRID:
        before = rng.uniform(1, 100, 300)
        cells.append(
            CellSample(
                params={"m": m},
                statistic=0.4 * before * np.exp(0.1 * rng.standard_normal(300)),
                delta=math.nan,
                role=role,  # type: ignore[arg-type]
                covariates={"before": before},
            )
        )

    def bound(values, cell):  # type: ignore[no-untyped-def]
        return values["c"] * cell.covariates["before"]

    decision = decide(
        cells, bound, drift={"m": "up"}, failure=lambda values, cell: 0.1 / values["c"] ** 0.0
    )
    assert decision.verdict is Verdict.SUPPORTED
    assert decision.calibration is not None
    assert 0.4 < decision.calibration.fitted["c"] < 0.6


@pytest.mark.parametrize("part", ["bound", "failure"])
def test_a_constant_whose_other_end_is_larger_by_half_is_to_be_chosen(part: str) -> None:
    """Declared generous at 100, while at 0.01 the bound or the failure probability is larger."""

    def larger(values, usual, name):  # type: ignore[no-untyped-def]
        return usual * (1.5 if name == part and values["c"] < 1.0 else 1.0)

    with pytest.raises(InvalidParameter, match=r"c: .* larger at 0.01 .* declare it 'choose'"):
        decide(
            make_cells(sharp, delta=math.nan),
            lambda values, cell: larger(values, 5.0, "bound"),
            failure=lambda values, cell: larger(values, 0.1, "failure"),
        )


def test_mistaken_declarations_are_refused() -> None:
    cells = make_cells(sharp)
    with pytest.raises(InvalidParameter, match="declare it 'choose'"):
        decide(cells, constants=(ConstantBox(name="c", low=1e-2, high=1e2, generous="low"),))
    with pytest.raises(InvalidParameter, match="at least one held-out cell"):
        decide([c for c in cells if c.role == "calibration"])
    with pytest.raises(InvalidParameter, match="not on the declared grid"):
        decide(make_cells(sharp, choice={"g": 1.0}))
    with pytest.raises(InvalidParameter, match="not constants to tighten"):
        decide(cells, tighten=("z",))
    with pytest.raises(InvalidParameter, match="slack"):
        decide(cells, slack=0.5)
    with pytest.raises(InvalidParameter, match="not a number"):
        decide(cells, bound=lambda values, cell: math.nan)
    for bad in ({"low": 0.0, "high": 1.0}, {"low": 2.0, "high": 1.0}):
        with pytest.raises(InvalidParameter, match="box"):
            ConstantBox(name="c", **bad)
    with pytest.raises(InvalidParameter, match="needs a grid"):
        ConstantBox(name="c", low=1.0, high=2.0, generous="choose")


class Ratios:
    """A cell's ratios 1, e, e^2, ... and the share of them that is looked at."""

    def __init__(self, share: float) -> None:
        self.share = share

    def looked_at(self, _corner: object, _cell: object) -> float:
        return self.share

    def ratios(self, _corner: object, cell: CellSample) -> np.ndarray:
        return np.exp(np.arange(cell.n_trials))


@pytest.mark.parametrize(
    ("share", "floor", "expected"),
    [
        (0.25, 0.0, (78 - 70) / 2),  # rank 74, one deviation is sqrt(100 / 4 * 3 / 4) = 4.33
        (0.02, 0.0, (98 - 96) / 2),  # rank 97, one deviation is 1.4
        (0.0, 0.0, 0.0),  # the largest one: no deviation
        (3.0, 0.0, 0.0),  # more than all of them is all of them
        (0.25, math.exp(75), (78 - 75) / 2),
        (0.25, math.exp(90), 0.0),
    ],
)
def test_the_error_of_a_required_constant_is_half_of_two_order_statistics(
    share: float, floor: float, expected: float
) -> None:
    cell = CellSample(params={}, statistic=np.zeros(100), role="calibration", delta=0.05)
    problem: Any = Ratios(share)
    assert required_se_log(problem, {}, cell, floor) == pytest.approx(expected, abs=1e-12)


# -- rare cells: varying bounds, boxes that are small, choices without cells ----------------------


def posed(sample: CellSample, bound: Any, level: float = 0.05) -> Problem:
    return pose([sample], (C,), bound, None, level)


@pytest.mark.parametrize("n", [1, 7, 40, 200])
@pytest.mark.parametrize("delta", [0.0, 0.025, 0.1, 0.3, 0.999])
def test_the_required_constant_is_the_smallest_that_leaves_the_allowed_violations(
    n: int, delta: float
) -> None:
    """Tried one after the other, ties included, against the allowed number of violations."""
    ratios = np.round(np.random.default_rng(n).random(n), 1) + 0.5
    cell = CellSample(params={}, statistic=2.0 * ratios, delta=delta)
    problem = posed(cell, lambda *_: 2.0)
    allowed = min(problem.looked_at({}, cell), 1.0)
    serving = [t for t in [0.0, *ratios] if np.sum(ratios > t) <= n * allowed + 1e-9]
    assert problem.kappa({}, problem.cells[0]) == pytest.approx(min(serving), rel=1e-15)
    for t in ratios:  # a bound of exactly so many times the other one
        scaled = posed(cell, lambda _corner, _cell, bound=2.0 * t: bound)
        assert scaled.holds({}, scaled.cells[0]) == (t in serving)


def test_an_exact_law_is_read_at_the_smallest_of_the_bounds_of_a_cell() -> None:
    cell = CellSample(params={}, statistic=np.ones(3), delta=0.1, log_tail=lambda b: -b)
    problem = posed(cell, lambda *_: np.array([5.0, 2.0, 11.0]))
    assert problem.log_limit({}, problem.cells[0]) == -2.0
    certain = posed(replace(cell, log_tail=lambda b: b), lambda *_: 3.0)
    assert certain.log_limit({}, certain.cells[0]) == 0.0  # no probability exceeds one
    unknown = posed(replace(cell, log_tail=None), lambda *_: 3.0)
    assert math.isnan(unknown.log_limit({}, unknown.cells[0]))


@pytest.mark.parametrize("high", [4.5, 6.0, 100.0])
def test_frozen_constants_stay_in_their_box(high: float) -> None:
    box = ConstantBox(name="c", low=1e-2, high=high)
    calibration = decide(make_cells(sharp), constants=(box,)).calibration
    assert calibration is not None
    assert 3.0 < calibration.fitted["c"] <= high
    assert calibration.frozen["c"] == min(2.0 * calibration.fitted["c"], high)
    low = ConstantBox(name="c", low=0.2, high=10.0, generous="low")
    inverse = decide(
        make_cells(sharp), lambda v, cell: math.sqrt(cell.params["d"] / cell.params["m"]) / v["c"],
        constants=(low,),
    ).calibration  # fmt: skip
    assert inverse is not None
    assert inverse.frozen["c"] == max(inverse.fitted["c"] / 2.0, 0.2)


@pytest.mark.parametrize(("share", "word"), [(0.9, "VACUOUS"), (1.5, "SUPPORTED")])
def test_a_bound_is_vacuous_by_its_fitted_constants_and_not_by_those_that_were_relaxed(
    share: float, word: str
) -> None:
    cells = make_cells(sharp)
    calibration = decide(cells).calibration
    assert calibration is not None
    fitted = calibration.fitted["c"]

    def trivial(cell: CellSample) -> float:
        return share * fitted * math.sqrt(cell.params["d"] / cell.params["m"])

    assert decide(cells, trivial=trivial).verdict == word


def test_the_pilot_refutes_exactly_where_the_decision_does() -> None:
    """Numbers of violations around the least that excludes the box: 16, at half of the level."""
    answers = []
    for bad in range(12, 20):
        cells = [
            CellSample(
                params={"m": m},
                statistic=np.where(np.arange(100) < bad, 2e3, 0.1),
                delta=0.05,
                role=role,  # type: ignore[arg-type]
            )
            for m, role in ((1, "calibration"), (2, "calibration"), (9, "held-out"))
        ]
        whole = decide(cells, lambda v, _: v["c"], drift={}).feasibility
        assert whole is not None
        answers.append(infeasible(cells, (C,), lambda v, _: v["c"], level=0.05))
        assert answers[-1] is not any(whole.feasible)
    assert answers == sorted(answers)
    assert len(set(answers)) == 2


def test_cells_reach_jointly_as_far_as_their_second_farthest_parameter() -> None:
    def cell(role: str, **params: float) -> CellSample:
        return CellSample(params=params, statistic=np.ones(1), delta=0.1, role=role)  # type: ignore[arg-type]

    fit_on = [cell("calibration", m=m, d=d, k=k) for m, d, k in ((1, 8, 2), (4, 2, 3))]
    ways = {"m": "up", "d": "down", "k": "both"}
    for far, expected in (
        ([], {"m": 1.0, "d": 1.0, "k": 1.0, "jointly": 1.0}),
        ([cell("held-out", m=40, d=4, k=2)], {"m": 10.0, "d": 1.0, "k": 1.0, "jointly": 1.0}),
        ([cell("held-out", m=40, d=1, k=2)], {"m": 1.0, "d": 1.0, "k": 1.0, "jointly": 2.0}),
        ([cell("held-out", m=40, d=1, k=0.5)], {"m": 1.0, "d": 1.0, "k": 1.0, "jointly": 4.0}),
        ([cell("held-out", m=2, d=4, k=9)], {"m": 1.0, "d": 1.0, "k": 3.0, "jointly": 1.0}),
        # Away from the stated direction is no reach, and neither is a value inside the range.
        ([cell("held-out", m=0.1, d=80, k=2.5)], {"m": 1.0, "d": 1.0, "k": 1.0, "jointly": 1.0}),
    ):
        assert extrapolation_reach([*fit_on, *far], ways) == expected  # type: ignore[arg-type]


def test_the_witness_of_an_extrapolation_is_a_held_out_cell_with_its_own_violations() -> None:
    """Other cells come first, and one is outside: positions in the two lists differ."""

    def no_dimension(values, cell):  # type: ignore[no-untyped-def]
        return values["c"] / math.sqrt(cell.params["m"])

    wide = ConstantBox(name="c", low=1e-2, high=1e4)
    cells = make_cells(sharp)
    cells = [*cells[:3], replace(cells[0], delta=1.0), *reversed(cells[3:])]
    decision = decide(cells, no_dimension, (wide,))
    assert decision.verdict is Verdict.REFUTED
    assert decision.witness is not None
    assert decision.calibration is not None
    rates = {}
    for cell in cells:
        if cell.role == "held-out":
            bound = no_dimension(decision.calibration.frozen, cell)
            rates[cell.params["m"], cell.params["d"]] = float(np.mean(cell.statistic > bound))
    held_out = [cells[i] for i in decision.held_out_cells]
    assert len(held_out) == sum(cell.role == "held-out" for cell in cells)
    assert all(cell.role == "held-out" for cell in held_out)
    found = decision.witness.params
    assert decision.witness.observed == rates[found["m"], found["d"]] == max(rates.values())
    assert decision.witness.bound == 0.05


def test_a_choice_without_calibration_cells_does_not_let_another_one_be_refuted() -> None:
    """Nobody can tell how the second choice extrapolates, so it may hold where the first fails."""

    def no_growth(values, cell):  # type: ignore[no-untyped-def]
        return values["c"]

    first = make_cells(lambda m, d: 0.1 * d**0.5, choice={"g": 1.0})
    second = make_cells(lambda m, d: d**0.5, choice={"g": 2.0})
    boxes = (
        ConstantBox(name="c", low=1e-3, high=1e4),
        ConstantBox(name="g", low=1, high=2, generous="choose", grid=(1.0, 2.0)),
    )
    assert decide([*first, *second], no_growth, boxes).verdict is Verdict.REFUTED
    for kept in ("held-out", "calibration"):
        rest = [cell for cell in second if cell.role == kept]
        decision = decide([*first, *rest], no_growth, boxes)
        assert decision.verdict is Verdict.INCONCLUSIVE
        assert any("but not so: g=2" in note for note in decision.notes)


def test_the_witness_of_infeasible_choices_is_a_smallest_set_that_rules_out_all() -> None:
    """Against all sets of cells: the largest ones need not be among the smallest cover."""
    assert smallest_cover({"a": {0: 10, 1: 10}, "b": {1: 20, 2: 20}, "c": {2: 30, 3: 30}}, 4) == (
        10,
        30,
    )
    rng = np.random.default_rng(5)
    sizes = set()
    for _ in range(200):
        n = int(rng.integers(1, 6))
        drawn = [np.flatnonzero(rng.random(n) < 0.5).tolist() for _ in range(5)]
        rules_out = {str(i): dict.fromkeys(one, i) for i, one in enumerate(drawn) if one}
        if len(set().union(*rules_out.values())) < n:
            continue
        found = smallest_cover(rules_out, n)
        assert set().union(*(rules_out[str(i)] for i in found)) == set(range(n))
        covers = [
            size
            for size in (1, 2)
            if any(len(set().union(*g)) == n for g in combinations(rules_out.values(), size))
        ]
        assert len(found) == (covers[0] if covers else len(found))
        assert len(found) >= 3 or covers
        sizes.add(len(found))
    assert sizes >= {1, 2, 3}


def test_one_cell_below_its_trivial_bound_is_enough_for_a_statement_to_say_something() -> None:
    cells = make_cells(sharp)

    def trivial(cell: CellSample) -> float:
        return 1e3 if cell.params == cells[-1].params else 1e-3

    assert decide(cells, trivial=trivial).verdict is Verdict.SUPPORTED


def test_without_a_choice_that_has_cells_of_both_roles_feasibility_alone_is_tested() -> None:
    """Choice 1 has no held-out cells and choice 2 no calibration cells."""
    boxes = (C, ConstantBox(name="g", low=1, high=2, generous="choose", grid=(1.0, 2.0)))

    def apart(first: float, second: float) -> ConstantsDecision:
        near = make_cells(lambda m, d: first * sharp(m, d), choice={"g": 1.0})
        far = make_cells(lambda m, d: second * sharp(m, d), choice={"g": 2.0})
        cells = [c for c in near if c.role == "calibration"]
        return decide([*cells, *(c for c in far if c.role == "held-out")], constants=boxes)

    for factors, feasible in (((1.0, 1.0), (True, True)), ((1e3, 1.0), (False, True))):
        decision = apart(*factors)
        assert decision.verdict is Verdict.INCONCLUSIVE
        assert decision.summary.endswith("extrapolation and drift could not be tested")
        assert decision.notes == (
            "no choice has live calibration and held-out cells: feasibility alone is tested",
        )
        assert decision.feasibility is not None
        assert decision.feasibility.feasible == feasible
        assert decision.calibration is decision.held_out is decision.drift is None
        assert decision.tables() == ()
        assert decision.witness is None
        assert dict(decision.extrapolation) == {}
    refuted = apart(1e3, 1e3)
    assert refuted.verdict is Verdict.REFUTED
    assert refuted.witness is not None
    near, far = refuted.witness.params["cells"]
    assert refuted.witness.observed > 0.9
    assert (near["m"] < 100 and near["d"] < 100) is not (far["m"] < 100 and far["d"] < 100)


@pytest.mark.parametrize("lost", ["calibration", "held-out"])
def test_one_choice_whose_cells_of_a_role_leave_the_theorem_is_not_tried_far_away(
    lost: str,
) -> None:
    decision = decide(
        make_cells(sharp), assumption=lambda _values, cell: cell.role != lost, trivial=lambda _: 0.0
    )
    assert decision.verdict is Verdict.INCONCLUSIVE
    assert len(decision.notes) == 2
    assert "feasibility alone is tested" in decision.notes[1]


def test_growth_in_too_few_cells_for_two_halves_does_not_refute() -> None:
    """Four cells give no slope of its own to each half, and a shift is never ruled out."""
    rng = np.random.default_rng(9)
    cells = [
        CellSample(
            params={"m": m},
            statistic=math.sqrt(m) * np.exp(0.01 * rng.standard_normal(400)),
            delta=0.1,
            role=role,  # type: ignore[arg-type]
        )
        for m, role in (
            (1, "calibration"),
            (4, "calibration"),
            (1e4, "held-out"),
            (4e4, "held-out"),
        )
    ]
    box = (ConstantBox(name="c", low=1e-2, high=1e4),)
    decision = decide(cells, lambda v, _cell: v["c"], box, drift={"m": "up"})
    assert decision.drift is not None
    (slope,) = decision.drift.slopes
    assert slope.lower > 0.4
    assert slope.halves == (-math.inf, -math.inf)
    assert slope.status == "uneven"
    assert decision.held_out is not None
    assert decision.held_out.verdict is Verdict.REFUTED
    assert decision.verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("lost", [[0], [3], [0, 1, 2, 3]])
def test_a_bound_that_is_no_number_in_one_trial_is_refused(lost: list[int]) -> None:
    """Such a trial would neither keep the bound nor violate it."""

    def bound(values, cell):  # type: ignore[no-untyped-def]
        found = np.full(4, 2.0)
        found[lost] = math.nan
        return found

    cell = CellSample(params={"m": 7}, statistic=np.ones(4), delta=0.1)
    problem = pose([cell], [C], bound, None, 0.05)
    with pytest.raises(InvalidParameter, match=r"not a number in cell \{'m': 7\}"):
        problem.bound_at({"c": 1.0}, problem.cells[0])


def test_a_value_of_zero_meets_a_bound_of_zero_with_every_constant():
    cell = SimpleNamespace(statistic=np.array([0.0, 1.0, np.inf]))
    problem = SimpleNamespace(bound_at=lambda _corner, _cell: np.zeros(3))
    assert Problem.ratios(problem, {}, cell).tolist() == [0.0, np.inf, np.inf]


@pytest.mark.parametrize("least", [(0.3,), (0.7, 0.3, 0.5), (1e-9, 0.2), (50.0, 0.4), (0.03, 0.01)])
def test_a_constant_is_tightened_to_the_cell_that_needs_the_largest(
    least: tuple[float, ...],
) -> None:
    """Each cell needs c >= least, so that all need the largest: by one bisection of all of them."""
    cells = [
        CellSample(params={"m": float(i)}, statistic=np.full(20, value), delta=0.1)
        for i, value in enumerate(least)
    ]
    problem = pose(cells, [C], lambda constants, _cell: constants["c"], None, 0.05)

    def at(share: float) -> float:
        return C.loose ** (1 - share) * C.tight**share

    safe, unsafe = 0.0, 1.0
    if max(least) <= at(1.0):
        safe = unsafe
    while unsafe - safe > 3e-4:
        middle = (safe + unsafe) / 2
        safe, unsafe = (middle, unsafe) if max(least) <= at(middle) else (safe, middle)
    found = sharpest(problem, problem.cells, problem.generous(), [C])
    assert found["c"] == pytest.approx(at(safe), rel=1e-12)


@pytest.mark.parametrize("bound", [-3.0, 0.0, 3.0])
def test_a_bound_of_any_sign_that_a_constant_does_not_move_is_largest_at_both_ends(bound) -> None:
    """A negative one was told to be larger at the other end, where it is the same."""
    cells = [
        CellSample(params={}, statistic=np.full(500, -4.0), delta=0.1, role=role)
        for role in ("calibration", "held-out")
    ]
    constants = (ConstantBox(name="c", low=1e-2, high=1e2),)
    found = decide_constants(cells, constants, lambda _v, _cell: bound, drift={}, level=0.05)
    assert found.verdict is Verdict.SUPPORTED
    with pytest.raises(InvalidParameter, match="declare it 'choose'"):
        decide_constants(cells, constants, lambda v, _cell: -v["c"], drift={}, level=0.05)

"""Every divisor of the error level, by hand: the limits are computed again from the same counts.

The confidence sequence is written out with SciPy's beta-binomial law, Student limits with its t
law.  Each test fails when one divisor is removed or changed, or one comparison turned.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import betabinom, binom
from scipy.stats import t as student

from verify.decisions.constants import CellSample, ConstantBox, decide_constants
from verify.decisions.constants.extrapolation import extrapolation_reach
from verify.decisions.constants.problem import pose
from verify.decisions.probability import decide_exact_probability, decide_probability
from verify.decisions.rates import contraction_factor, fit_power_law
from verify.decisions.sequences import prior_for, quantile_lower, quantile_upper, resolvable
from verify.evidence import Verdict

LEVEL = 0.04


def log_martingale(s: int, n: int, p: float, delta: float) -> float:
    """The mixture over the likelihood: 0.9 of the law centred at delta and 0.1 of Jeffreys'."""
    a, b = prior_for(delta)
    mixture = np.logaddexp(
        math.log(0.9) + betabinom.logpmf(s, n, a, b),
        math.log(0.1) + betabinom.logpmf(s, n, 0.5, 0.5),
    )
    return float(mixture - binom.logpmf(s, n, p))


def limits(s: int, n: int, level: float, delta: float) -> tuple[float, float]:
    """The confidence sequence's ends at ``level``, by root finding on the written-out law."""

    def excess(p: float) -> float:
        return log_martingale(s, n, p, delta) + math.log(level)

    rate = s / n
    low = brentq(excess, 1e-12, rate, xtol=1e-14) if s else 0.0
    high = brentq(excess, rate or 1e-12, 1 - 1e-12, xtol=1e-14) if s < n else 1.0
    return low, high


# probabilities


@pytest.mark.parametrize("n_cells", [1, 2, 5])
def test_refuting_is_split_over_the_cells_and_supporting_is_not(n_cells: int) -> None:
    decision = decide_probability([30] * n_cells, 1000, 0.02, LEVEL)
    low, _ = limits(30, 1000, LEVEL / n_cells, 0.02)
    _, high = limits(30, 1000, LEVEL, 0.02)
    for cell in decision.cells:
        assert cell.lower == pytest.approx(low, rel=1e-9)
        assert cell.upper == pytest.approx(high, rel=1e-9)


def smallest(condition) -> int:  # type: ignore[no-untyped-def]
    """The smallest count below 1000 at which a monotone condition holds."""
    return next(s for s in range(1000) if condition(s))


def test_one_count_decides_alone_and_not_beside_a_second_cell() -> None:
    alone = smallest(lambda s: s > 20 and limits(s, 1000, LEVEL, 0.02)[0] >= 0.02)
    beside = smallest(lambda s: s > 20 and limits(s, 1000, LEVEL / 2, 0.02)[0] >= 0.02)
    assert alone < beside
    for count, n_cells, refuted in ((alone, 1, True), (alone - 1, 1, False), (beside, 2, True)):
        counts = [count] + [0] * (n_cells - 1)
        decision = decide_probability(counts, 1000, 0.02, LEVEL)
        assert (decision.verdict is Verdict.REFUTED) is refuted
    assert decide_probability([alone, 0], 1000, 0.02, LEVEL).verdict is not Verdict.REFUTED


def test_every_cell_supports_at_the_whole_level() -> None:
    """The largest count that one cell supports, in three cells at once."""
    most = smallest(lambda s: limits(s + 1, 1000, LEVEL, 0.02)[1] > 0.02)
    assert limits(most, 1000, LEVEL / 3, 0.02)[1] > 0.02  # a split would withhold support
    assert decide_probability([most] * 3, 1000, 0.02, LEVEL).verdict is Verdict.SUPPORTED
    assert decide_probability([most + 1] * 3, 1000, 0.02, LEVEL).verdict is Verdict.INCONCLUSIVE


def test_supporting_has_a_level_of_its_own() -> None:
    decision = decide_probability([9], 1000, 0.02, LEVEL / 2, support_level=LEVEL)
    assert decision.cells[0].upper == pytest.approx(limits(9, 1000, LEVEL, 0.02)[1], rel=1e-9)
    assert decision.cells[0].lower == pytest.approx(limits(9, 1000, LEVEL / 2, 0.02)[0], rel=1e-9)


def test_a_resolution_moves_the_supporting_prior_and_target_only() -> None:
    decision = decide_probability([2], 1000, 1e-6, LEVEL, resolution=0.02)
    (cell,) = decision.cells
    assert cell.upper == pytest.approx(limits(2, 1000, LEVEL, 0.02)[1], rel=1e-9)
    assert cell.lower == pytest.approx(limits(2, 1000, LEVEL, 1e-6)[0], rel=1e-9)
    assert cell.target == 0.02


def test_an_exact_law_is_refuted_at_the_level_over_the_cells() -> None:
    outside = smallest(lambda s: s > 100 and limits(s, 1000, LEVEL, 0.1)[0] > 0.1)
    split = smallest(lambda s: s > 100 and limits(s, 1000, LEVEL / 2, 0.1)[0] > 0.1)
    assert outside < split
    assert decide_exact_probability(outside, 1000, 0.1, LEVEL).verdict is Verdict.REFUTED
    assert decide_exact_probability(outside - 1, 1000, 0.1, LEVEL).verdict is not Verdict.REFUTED
    two = decide_exact_probability([outside, 100], 1000, 0.1, LEVEL)
    assert two.verdict is not Verdict.REFUTED
    assert decide_exact_probability([split, 100], 1000, 0.1, LEVEL).verdict is Verdict.REFUTED
    assert two.cells[0].lower == pytest.approx(limits(outside, 1000, LEVEL, 0.1)[0], rel=1e-9)
    assert two.cells[0].upper == pytest.approx(limits(outside, 1000, LEVEL, 0.1)[1], rel=1e-9)


def test_equivalence_needs_both_limits_inside_the_margin() -> None:
    low, high = limits(1000, 10_000, LEVEL, 0.1)
    wide, narrow = max(high / 0.1 - 1, 1 - low / 0.1), min(high / 0.1 - 1, 1 - low / 0.1)
    for margin, verdict in (
        (wide * 1.001, Verdict.SUPPORTED),
        ((wide + narrow) / 2, Verdict.INCONCLUSIVE),
        (narrow * 0.999, Verdict.INCONCLUSIVE),
    ):
        found = decide_exact_probability(1000, 10_000, 0.1, LEVEL, margin=margin)
        assert found.verdict is verdict


@pytest.mark.parametrize("count", [960, 1040])
def test_equivalence_fails_on_either_side_alone(count: int) -> None:
    """One limit within ten per cent of the law, the other beyond it, the law itself between."""
    low, high = limits(count, 10_000, LEVEL, 0.1)
    margin = 0.09
    inside = (low >= 0.1 * (1 - margin), high <= 0.1 * (1 + margin))
    assert inside == (count > 1000, count < 1000)
    found = decide_exact_probability(count, 10_000, 0.1, LEVEL, margin=margin)
    assert found.verdict is Verdict.INCONCLUSIVE


# quantiles


@pytest.mark.parametrize("q", [0.5, 0.9])
def test_anytime_quantile_limits_are_the_tightest_ranks_of_the_sequence(q: float) -> None:
    n = 200
    sample = np.arange(1.0, n + 1)
    log_level = -math.log(LEVEL)
    upper = [r for r in range(1, n + 1) if r > n * q and log_martingale(r, n, q, q) >= log_level]
    lower = [
        r for r in range(1, n + 1) if r - 1 < n * q and log_martingale(r - 1, n, q, q) >= log_level
    ]
    assert quantile_upper(sample, q, LEVEL, anytime=True) == min(upper)
    assert quantile_lower(sample, q, LEVEL, anytime=True) == max(lower)


# constants

M = (10.0, 20.0, 40.0, 80.0, 160.0, 320.0, 640.0, 1280.0)


def samples(n: int = 1000, growth: float = 0.0, bad: int = 0, factor: float = 1.0):  # type: ignore[no-untyped-def]
    """Cells whose statistics are one to two, times m^growth.  In the first cell ``bad`` trials are
    10.
    """
    rng = np.random.default_rng(0)
    cells = []
    for i, m in enumerate(M):
        values = rng.uniform(1.0, 2.0, n) * m**growth * np.exp(0.2 * rng.standard_normal())
        if i == 0:
            values[:bad] = 1e9
        cells.append(
            CellSample(
                params={"m": m, "d": float(rng.uniform(1, 9))},
                statistic=factor * values,
                delta=0.02,
                role="calibration" if m <= 40 else "held-out",
            )
        )
    return cells


BOX = (ConstantBox(name="c", low=1e-2, high=100.0),)


def decided(cells, **more):  # type: ignore[no-untyped-def]
    settings = {"drift": {"m": "up"}, "level": LEVEL, **more}
    return decide_constants(cells, BOX, lambda v, _cell: v["c"], **settings)


def test_feasibility_has_half_of_the_level_over_all_cells() -> None:
    decision = decided(samples(bad=30))
    row = decision.feasibility.rows[0]
    assert (row.n_bad, row.n_trials) == (30, 1000)
    assert row.lower == pytest.approx(limits(30, 1000, LEVEL / 2 / len(M), 0.02)[0], rel=1e-9)
    least = smallest(lambda s: s > 20 and limits(s, 1000, LEVEL / 2 / len(M), 0.02)[0] >= 0.02)
    assert decided(samples(bad=least)).feasibility.feasible == (False,)
    assert decided(samples(bad=least - 1)).feasibility.feasible == (True,)


def test_held_out_cells_have_half_of_the_level_to_refute_and_all_of_it_to_support() -> None:
    cells = samples()
    for i, cell in enumerate(cells):
        if cell.role == "held-out":
            cell.statistic[: 5 * i] = 1e9
    decision = decided(cells)
    assert [cell.n_bad for cell in decision.held_out.cells] == [15, 20, 25, 30, 35]
    for cell in decision.held_out.cells:
        low, _ = limits(cell.n_bad, 1000, LEVEL / 2 / 5, 0.02)
        _, high = limits(cell.n_bad, 1000, LEVEL, 0.02)
        assert cell.lower == pytest.approx(low, rel=1e-9)
        assert cell.upper == pytest.approx(high, rel=1e-9)


def test_a_statistic_that_equals_its_bound_is_no_violation() -> None:
    """At c = 100 the bound is 100.  In the first cell every trial is equal to it."""
    cells = [replace(c, statistic=np.full(1000, 100.0)) for c in samples()]
    assert all(row.n_bad == 0 for row in decided(cells).feasibility.rows)
    above = [replace(c, statistic=np.full(1000, 100.0001)) for c in samples()]
    assert all(row.n_bad == 1000 for row in decided(above).feasibility.rows)


def test_a_cell_in_which_another_term_rules_stays_out_of_the_drift() -> None:
    cells = samples()
    cells[5] = replace(cells[5], in_drift=False)
    decision = decided(cells)
    assert decision.drift.cells == (0, 1, 2, 3, 4, 6, 7)
    assert len(decision.held_out.cells) == 5  # it is still tried


def test_below_the_resolution_the_required_constant_is_read_at_the_resolution() -> None:
    """delta = 1e-9 needs the maximum. 1000 trials resolve about 0.006, the seventh largest."""
    cell = CellSample(params={"m": 1.0}, statistic=np.arange(1.0, 1001.0), delta=1e-9)
    problem = pose([cell], BOX, lambda _v, _cell: 1.0, None, LEVEL)
    allowed = math.floor(1000 * resolvable(1000, LEVEL))
    assert 2 < allowed < 20
    assert problem.kappa({"c": 1.0}, problem.cells[0]) == 1000 - allowed


def test_a_failed_trial_violates_a_bound_that_is_infinite() -> None:
    values = np.array([1.0, np.nan, np.inf, 2.0])
    cell = CellSample(params={"m": 1.0}, statistic=values, delta=0.1)
    for bound in (np.full(4, np.inf), np.array(math.inf), np.full(4, 4.0), 4.0):
        problem = pose([cell], BOX, lambda _v, _cell, bound=bound: bound, None, LEVEL)
        ratios = problem.ratios({"c": 1.0}, problem.cells[0])
        assert (ratios > 1).tolist() == [False, True, True, False]


@pytest.mark.parametrize(
    ("drift", "family"),
    [({"m": "up"}, 1), ({"m": "both"}, 2), ({"m": "up", "d": "both"}, 3)],
)
def test_drift_refutes_at_half_the_level_over_the_directions_and_supports_at_all_of_it(
    drift: dict[str, str], family: int
) -> None:
    decision = decided(samples(growth=0.05), drift=drift)
    fit = decision.drift.fit
    for slope in decision.drift.slopes:
        i = fit.names.index(slope.name)
        sign = 1 if slope.direction == "up" else -1
        growth, se, dof = sign * fit.exponents[i], fit.se[i], fit.dof[i]
        assert slope.growth == pytest.approx(growth)
        assert slope.lower == pytest.approx(growth - student.isf(LEVEL / 2 / family, dof) * se)
        assert slope.upper == pytest.approx(growth + student.isf(LEVEL, dof) * se)


def test_each_half_of_the_range_has_the_refuting_level_to_itself() -> None:
    decision = decided(samples(growth=0.3), drift={"m": "both"})
    drift = decision.drift
    x, y = np.log(M), np.log(drift.kappa)
    upper = x > math.log(80)  # eight equal steps: the cut that informs both slopes is the middle
    design = np.column_stack([np.ones(8), np.where(upper, 0, x), np.where(upper, x, 0), upper])
    bread = np.linalg.inv(design.T @ design)
    beta = bread @ design.T @ y
    hat = design @ bread @ design.T
    residual = (y - design @ beta) / (1 - np.diag(hat))
    se = np.sqrt(np.diag(bread @ (design.T * residual**2) @ design @ bread))
    maker = np.eye(8) - hat
    for direction, sign in (("up", 1), ("down", -1)):
        (slope,) = (s for s in drift.slopes if s.direction == direction)
        for half, j in zip(slope.halves, (1, 2), strict=True):
            weights = np.diag((bread @ design.T)[j] ** 2 / np.diag(maker) ** 2)
            form = maker @ weights @ maker
            dof = min(np.trace(form) ** 2 / np.trace(form @ form), 4)
            expected = sign * beta[j] - student.isf(LEVEL / 2 / 2, max(dof, 1)) * se[j]
            assert half == pytest.approx(expected, rel=1e-6)


def test_the_required_constant_is_the_order_statistic_that_leaves_delta_above_it() -> None:
    """1000 trials, delta 0.02: 20 may exceed the bound, so the 980th smallest is required."""
    cell = CellSample(
        params={"m": 1.0}, statistic=np.random.default_rng(1).permutation(1000) + 1.0, delta=0.02
    )
    problem = pose([cell], BOX, lambda _v, _cell: 1.0, None, LEVEL)
    (posed,) = problem.cells
    required = problem.kappa({"c": 1.0}, posed)
    assert required == 980.0
    assert int(np.sum(posed.statistic > required)) == 20


def placed(m: float, d: float, role: str) -> CellSample:
    """One trial at m and d."""
    return CellSample(
        params={"m": m, "d": d},
        statistic=np.ones(1),
        delta=0.1,
        role=role,  # type: ignore[arg-type]
    )


def test_a_joint_reach_is_the_second_largest_factor() -> None:
    """A cell 64-fold out in m and 4-fold in d reaches 4-fold jointly, and neither alone."""
    known = [placed(10, 2, "calibration"), placed(20, 4, "calibration")]
    directions = {"m": "up", "d": "both"}
    both = extrapolation_reach([*known, placed(1280, 16, "held-out")], directions)  # type: ignore[arg-type]
    assert both == {"m": 1.0, "d": 1.0, "jointly": 4.0}
    alone = extrapolation_reach([*known, placed(160, 3, "held-out")], directions)  # type: ignore[arg-type]
    assert alone == {"m": 8.0, "d": 1.0, "jointly": 1.0}
    down = extrapolation_reach([*known, placed(15, 0.25, "held-out")], directions)  # type: ignore[arg-type]
    assert down == {"m": 1.0, "d": 8.0, "jointly": 1.0}


def test_a_cell_that_leaves_the_range_where_nobody_asks_reaches_in_no_parameter_alone() -> None:
    """Below the range in m, of which the statement speaks upwards only, and above it in d."""
    cells = [
        placed(10, 2, "calibration"),
        placed(20, 4, "calibration"),
        placed(2.5, 16, "held-out"),
    ]
    reach = extrapolation_reach(cells, {"m": "up", "d": "both"})
    assert reach == {"m": 1.0, "d": 1.0, "jointly": 1.0}


# rates


def trajectories(n: int = 40) -> np.ndarray:
    """Even trials contract by 0.52 a step and odd ones by about 0.5, down to a floor of 1e-4."""
    rng = np.random.default_rng(2)
    errors = np.ones((n, 16))
    for t in range(15):
        factor = np.where(np.arange(n) % 2 == 0, 0.52, 0.5) * np.exp(0.02 * rng.standard_normal(n))
        errors[:, t + 1] = factor * errors[:, t] + 1e-4
    return errors


def test_contraction_limits_are_two_sided_students_on_the_odd_trials_widened_by_the_floor() -> None:
    errors = trajectories()
    fit = contraction_factor(errors, level=LEVEL)
    assert fit.resolved
    log_e = np.log(errors[1::2, fit.start : fit.stop + 1])
    per_trial = (log_e[:, -1] - log_e[:, 0]) / (fit.stop - fit.start)
    mean, se = per_trial.mean(), per_trial.std(ddof=1) / math.sqrt(20)
    median = np.median(errors[0::2], axis=0)
    floor = np.median(errors[0::2, -4:])
    bias = np.mean(floor / median[fit.start + 1 : fit.stop + 1])
    half = student.isf(LEVEL / 2, 19) * se
    assert fit.n_used == 20
    assert fit.factor == pytest.approx(math.exp(mean))
    assert fit.floor_bias == pytest.approx(bias)
    assert bias > 1e-3
    assert math.log(fit.lower) == pytest.approx(mean - half - bias)
    assert math.log(fit.upper) == pytest.approx(mean + half + bias)
    one_step = np.diff(log_e, axis=1)
    halves = student.isf(LEVEL / 2, 19) * one_step.std(axis=0, ddof=1) / math.sqrt(20)
    for i, (t, middle, low, high) in enumerate(fit.steps):
        assert t == fit.start + i
        assert middle == pytest.approx(one_step[:, i].mean())
        assert (low, high) == pytest.approx((middle - halves[i], middle + halves[i]))
    assert len(fit.steps) == fit.stop - fit.start


def test_a_family_of_exponents_splits_both_sides_of_the_level() -> None:
    rng = np.random.default_rng(3)
    m = np.geomspace(1, 100, 12)
    fit = fit_power_law(m * np.exp(0.1 * rng.standard_normal(12)), {"m": m}, level=LEVEL)
    for family in (1, 3):
        half = student.isf(LEVEL / 2 / family, fit.dof[0]) * fit.se[0]
        low, high = fit.limits("m", LEVEL, family=family)
        assert (low, high) == pytest.approx((fit.exponents[0] - half, fit.exponents[0] + half))

"""Power laws against the HC3 formula written out, and contraction measured between burn-in and
floor.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t as student

from trials.checks import InvalidParameter
from verify.decisions.rates import (
    along,
    contraction_factor,
    decide_rate,
    fit_power_law,
    why_ruled,
)
from verify.evidence import Verdict


def test_exponents_and_errors_are_those_of_the_sandwich_written_out() -> None:
    rng = np.random.default_rng(0)
    m, d = np.exp(rng.uniform(0, 5, (2, 14)))
    y = 2.5 * m**-0.5 * d**0.75 * np.exp(0.1 * rng.standard_normal(14))
    fit = fit_power_law(y, {"m": m, "d": d}, level=0.1)
    x = np.column_stack([np.ones(14), np.log(m), np.log(d)])
    bread = np.linalg.inv(x.T @ x)
    beta = bread @ x.T @ np.log(y)
    e = (np.log(y) - x @ beta) / (1 - np.einsum("ij,jk,ik->i", x, bread, x))
    cov = bread @ (x.T * e**2) @ x @ bread
    assert fit.exponents == pytest.approx(beta[1:])
    assert fit.se == pytest.approx(np.sqrt(np.diag(cov))[1:])
    # Satterthwaite: HC3's variance of beta_j is e' A e over residuals e = M eps, by traces.
    maker = np.eye(14) - x @ bread @ x.T
    dof = []
    for j in (1, 2):
        form = maker @ np.diag((bread @ x.T)[j] ** 2 / np.diag(maker) ** 2) @ maker
        dof.append(np.trace(form) ** 2 / np.trace(form @ form))
    assert fit.dof == pytest.approx(dof)
    half = student.isf(0.1 / 4, dof) * np.sqrt(np.diag(cov))[1:]  # two exponents, two sides
    assert fit.lower == pytest.approx(beta[1:] - half)
    assert fit.upper == pytest.approx(beta[1:] + half)
    assert fit.limits("m", 0.1, family=2) == pytest.approx((fit.lower[0], fit.upper[0]))
    assert fit.log_constant == pytest.approx(beta[0])


def test_an_exact_power_law_is_recovered_whatever_the_weights() -> None:
    m, d = np.meshgrid([1.0, 10, 100], [2.0, 8, 32])
    m, d = m.ravel(), d.ravel()
    y = 7 * m**-1.5 * d**0.25
    for se in (None, np.linspace(0.1, 2, 9)):
        fit = fit_power_law(y, {"m": m, "d": d}, se_log=se)
        assert fit.exponents == pytest.approx((-1.5, 0.25))
        assert fit.r_squared == pytest.approx(1.0)


def test_an_exponent_that_one_cell_alone_determines_has_no_finite_error() -> None:
    m = np.array([1.0, 2, 4, 8, 1])
    d = np.array([1.0, 1, 1, 1, 9])
    fit = fit_power_law(m**-0.5 * d, {"m": m, "d": d})
    assert fit.max_leverage == pytest.approx(1.0)
    assert all(math.isinf(se) for se in fit.se)
    assert decide_rate(fit.limits("d", 0.05), 5.0).verdict is Verdict.INCONCLUSIVE


@pytest.mark.filterwarnings("error")
def test_a_quantity_that_is_the_same_in_all_cells_has_exponent_zero_and_no_r_squared() -> None:
    fit = fit_power_law(np.ones(5), {"m": 2.0 ** np.arange(5)})
    assert fit.exponents == fit.se == (0.0,)
    assert math.isnan(fit.r_squared)


def test_designs_that_identify_nothing_are_refused() -> None:
    m = np.array([1.0, 2, 4, 8])
    with pytest.raises(InvalidParameter, match="independently"):
        fit_power_law(m, {"m": m, "m_sq": m**2})
    with pytest.raises(InvalidParameter, match="n_cells=2 must exceed"):
        fit_power_law(m[:2], {"m": m[:2]})
    with pytest.raises(InvalidParameter, match="y must be a vector of positive"):
        fit_power_law(-m, {"m": m})


@pytest.mark.parametrize(
    ("limits", "side", "verdict"),
    [
        ((-0.55, -0.45), "equals", Verdict.SUPPORTED),
        ((-0.65, -0.45), "equals", Verdict.INCONCLUSIVE),
        ((-0.9, -0.7), "equals", Verdict.REFUTED),
        ((-0.9, -0.7), "at most", Verdict.SUPPORTED),
        ((-0.9, -0.7), "at least", Verdict.REFUTED),
        ((-0.3, -0.2), "at most", Verdict.REFUTED),
        ((-0.3, -0.2), "at least", Verdict.SUPPORTED),
        ((-math.inf, math.inf), "at most", Verdict.INCONCLUSIVE),
    ],
)
def test_limits_decide_by_lying_inside_or_outside_the_band(limits, side, verdict) -> None:  # type: ignore[no-untyped-def]
    assert decide_rate(limits, -0.5, side, margin=0.1).verdict is verdict


def test_unordered_limits_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="must be ordered"):
        decide_rate((1.0, 0.0), 0.5)
    with pytest.raises(InvalidParameter, match="margin=-1 must be"):
        decide_rate((0.0, 1.0), 0.5, margin=-1)


def _trajectories(factor: float, floor: float, burn_in: int = 0, steps: int = 20) -> np.ndarray:
    rng = np.random.default_rng(3)
    e = np.ones((60, steps + 1))
    for t in range(steps):
        rho = 0.95 if t < burn_in else factor
        e[:, t + 1] = rho * e[:, t] * np.exp(0.05 * rng.standard_normal(60)) + floor
    return e


@pytest.mark.parametrize("factor", [0.2, 0.5, 0.8])
def test_the_factor_is_read_between_burn_in_and_floor(factor: float) -> None:
    errors = _trajectories(factor, floor=1e-4, burn_in=4, steps=60)
    fit = contraction_factor(errors)
    assert fit.resolved
    assert fit.start >= 4
    assert np.median(errors[:, fit.stop]) > 15 * fit.floor
    assert fit.lower <= factor <= fit.upper
    # The floor's e_inf is 1e-4 / (1 - factor).
    assert fit.floor == pytest.approx(1e-4 / (1 - factor), rel=0.15)
    assert len(fit.steps) == fit.stop - fit.start
    measured = np.log(errors[1::2])  # the other half chose the window
    for step, mean, low, high in fit.steps:
        own = measured[:, step + 1] - measured[:, step]
        half = student.isf(0.025, own.size - 1) * own.std(ddof=1) / math.sqrt(own.size)
        assert (mean, low, high) == pytest.approx(
            (own.mean(), own.mean() - half, own.mean() + half)
        )
    naive = (errors[:, -1] / errors[:, 0]) ** (1 / 60)  # what ignoring both would read
    assert naive.mean() > fit.upper


def test_a_known_floor_of_zero_uses_the_whole_path() -> None:
    errors = 0.5 ** np.arange(8.0) * np.ones((10, 1))
    fit = contraction_factor(errors, floor=0.0)
    assert (fit.start, fit.stop) == (0, 7)
    assert fit.lower == pytest.approx(0.5) == fit.upper


def test_no_factor_is_read_from_a_floor_or_from_a_burn_in_or_from_too_few_trials() -> None:
    flat = contraction_factor(np.ones((20, 10)))
    assert not flat.resolved
    assert "above" in flat.reason
    slowing = np.cumprod(np.r_[1.0, np.linspace(0.05, 0.9, 9)]) * np.ones((20, 1))
    assert "burn-in" in contraction_factor(slowing, floor=0.0, settle=0.01).reason
    few = contraction_factor(np.full((5, 4), np.nan))
    assert few.n_failed == 5
    assert few.log_limits() == (-math.inf, math.inf)
    with pytest.raises(InvalidParameter, match="shape"):
        contraction_factor(np.ones(3))


def test_failed_trials_are_counted_and_exact_convergence_opens_the_lower_limit() -> None:
    errors = _trajectories(0.5, floor=0.0, steps=6)
    errors[0, 3:] = np.inf
    fit = contraction_factor(errors, floor=0.0)
    assert fit.n_failed == 1
    assert fit.lower > 0
    # Of the trials that are left, even ones choose the window and odd ones are measured in it.
    errors[2, 2:] = 0.0
    converged = contraction_factor(errors, floor=0.0)
    assert converged.resolved
    assert converged.lower == 0.0
    assert converged.log_limits()[0] == -math.inf
    assert converged.n_used == fit.n_used - 1
    assert converged.upper == pytest.approx(fit.upper, rel=0.05)


@pytest.mark.parametrize("value", [np.inf, np.nan, -1.0])
@pytest.mark.parametrize("step", [0, 3, 6])
def test_a_trial_that_is_no_number_at_one_step_has_failed(value: float, step: int) -> None:
    """Also where it is finite at the end: it has no factor, and the others keep theirs."""
    errors = _trajectories(0.5, floor=0.0, steps=6)
    whole = contraction_factor(errors[1:], floor=0.0)
    errors[0, step] = value
    fit = contraction_factor(errors, floor=0.0)
    assert (fit.n_failed, whole.n_failed) == (1, 0)
    assert replace(fit, n_failed=0) == whole


def test_limits_that_touch_the_band_do_not_refute() -> None:
    """The band around 0.25 ends at 0 and 0.5, both exact in binary."""
    assert decide_rate((0.5, 0.75), 0.25, margin=0.25).verdict is Verdict.INCONCLUSIVE
    assert decide_rate((-0.5, 0.0), 0.25, margin=0.25).verdict is Verdict.INCONCLUSIVE
    assert decide_rate((0.0, 0.5), 0.25, margin=0.25).verdict is Verdict.SUPPORTED


def test_a_mean_is_ruled_by_a_trial_with_more_than_a_tenth_of_the_sum():
    ones = np.ones(1_000)
    assert why_ruled(ones) == ""
    assert why_ruled(np.append(ones, 100.0)) == ""  # 100 of 1,100
    assert why_ruled(np.append(ones, -200.0)) == "one trial has 17% of the sum"
    assert why_ruled(8e305 * np.append(ones, -200.0)) == "one trial has 17% of the sum"
    assert why_ruled(np.zeros(1_000)) == ""
    assert why_ruled(np.append(np.ones(9), 100.0)) == ""  # too few to tell


@pytest.mark.statistical
def test_exponential_values_rule_no_mean():
    """The largest of 128 has a tenth of the sum in about 128 exp(-12.8) of the samples, or 4e-4."""
    rng = np.random.default_rng(0)
    ruled = sum(bool(why_ruled(rng.standard_exponential(128))) for _ in range(2_000))
    assert ruled <= 10  # 0.7 are expected: a false alarm has probability 1e-9


@pytest.mark.parametrize(
    "direction", [{"m": 1}, {"m": 2, "d": 1}, {"d": -3, "c": 1}, {"m": 0.5, "d": 1, "c": -2}]
)
def test_growth_along_a_direction_is_the_sum_of_its_shares_of_the_exponents(direction):
    rng = np.random.default_rng(2)
    x = {name: np.exp(rng.uniform(0.0, 3.0, 12)) for name in ("m", "d", "c")}
    powers = {"m": 0.7, "d": -1.25, "c": 0.4}
    y = 3.0 * np.prod([x[name] ** powers[name] for name in x], axis=0)
    y *= np.exp(0.01 * rng.standard_normal(12))
    pivot, turned = along(x, direction)
    plain, moved = fit_power_law(y, x), fit_power_law(y, turned)
    expected = sum(direction[name] * plain.exponents[plain.names.index(name)] for name in direction)
    assert moved.exponents[moved.names.index(pivot)] == pytest.approx(expected, rel=1e-9)
    assert moved.r_squared == pytest.approx(plain.r_squared, rel=1e-12)  # the same fit
    assert pivot in direction


@pytest.mark.parametrize(("factor", "floor"), [(0.5, 1e-4), (0.8, 2e-3)])
def test_the_limits_are_widened_by_the_mean_share_of_the_floor_in_the_window(
    factor: float, floor: float
) -> None:
    """Paths without noise: each step of the window ends floor / error too high at most."""
    path = factor ** np.arange(40.0)
    fit = contraction_factor(np.tile(path, (8, 1)), floor=floor)
    assert (fit.start, fit.stop) == (0, int(np.flatnonzero(path > 20 * floor)[-1]))
    assert fit.floor_bias == pytest.approx(np.mean(floor / path[1 : fit.stop + 1]), rel=1e-12)
    assert math.log(fit.upper) == pytest.approx(math.log(factor) + fit.floor_bias, rel=1e-9)
    assert math.log(fit.lower) == pytest.approx(math.log(factor) - fit.floor_bias, rel=1e-9)
    assert fit.log_limits() == (math.log(fit.lower), math.log(fit.upper))


@pytest.mark.parametrize("n_zero", [0, 2, 3, 4])
def test_trials_that_reach_zero_error_leave_no_lower_limit_and_one_trial_no_factor(
    n_zero: int,
) -> None:
    """Every second trial is measured: four of these eight, some of which end at zero."""
    errors = 0.5 ** np.arange(13.0) * np.linspace(1.0, 1.1, 8)[:, None]
    errors[1 : 2 * n_zero : 2, 6:] = 0.0
    fit = contraction_factor(errors, floor=0.0)
    if n_zero > 2:
        assert (fit.resolved, fit.lower, fit.upper) == (False, 0.0, math.inf)
        assert fit.reason == "fewer than two measured trials"
        return
    assert fit.resolved
    assert fit.n_used == 4 - n_zero
    assert fit.factor == pytest.approx(0.5)
    assert fit.upper == pytest.approx(0.5)
    assert fit.lower == pytest.approx(0.0 if n_zero else 0.5)


@pytest.mark.parametrize(("n_steps", "used"), [(1, 2), (4, 2), (6, 2), (11, 3), (15, 4)])
def test_the_floor_is_the_median_error_of_the_last_quarter_and_of_two_iterations_at_least(
    n_steps: int, used: int
) -> None:
    """All trials are alike, so that the median is that of the last errors of one trial."""
    path = 0.5 ** np.arange(n_steps + 1)
    fit = contraction_factor(np.tile(path, (6, 1)))
    assert fit.floor == pytest.approx(float(np.median(path[-used:])), rel=1e-12)


def test_the_measured_trials_do_not_choose_their_window() -> None:
    """Even trials halve down to a floor.  Odd ones fall and level off elsewhere."""
    rng = np.random.default_rng(2)
    t = np.arange(24.0)
    even = 2.0**-t * np.exp(0.01 * rng.standard_normal((40, 24))) + 1e-4
    windows = []
    for factor, floor in ((0.5, 1e-4), (0.7, 1e-2), (0.3, 1e-6)):
        odd = factor**t * np.exp(0.01 * rng.standard_normal((40, 24))) + floor
        fit = contraction_factor(np.stack([even, odd], axis=1).reshape(80, 24))
        windows.append((fit.start, fit.stop, fit.floor))
        if factor == 0.7:  # what is measured is theirs
            expected = np.log(odd[:, fit.stop] / odd[:, fit.start]).mean() / (fit.stop - fit.start)
            assert math.log(fit.factor) == pytest.approx(expected, rel=1e-12)
    # 2^-t + 1e-4 is above 20 floors of 1e-4 up to t = 9
    assert windows == [(0, 9, windows[0][2])] * 3
    assert windows[0][2] == pytest.approx(1e-4, rel=0.1)

"""Limits on the tails of a step: above every simulated and every integrated probability."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

from bounds.gaussian import chi_square_log_above, pairwise_log_probability, pairwise_ratio
from trials.checks import InvalidParameter
from trials.experiments.ifca.step import STEP, TRAJECTORY
from trials.laws.step_tail import (
    StepSetting,
    _intervals,
    _log_chernoff,
    _log_moment,
    _quantile,
    log_cluster_tail,
    log_gradient_tail,
    log_growth_tails,
    log_label_tail,
    log_run_tail,
    log_step_tail,
    same_clusters,
)


def setting(**changes: object) -> StepSetting:
    values = {
        "sizes": [128, 128],
        "step_sizes": [2 / 3, 2 / 3],
        "n_samples": 400,
        "dimension": 16,
        "separation": 1.0,
        "sigma": 0.25,
    }
    return StepSetting(**(values | changes))  # type: ignore[arg-type]


def integrated(s: StepSetting, start: float, bound: float) -> float:
    """P(|u+| > bound) of cluster 0 by two nested quadratures, free of any Chernoff bound."""
    a = 2 * s.step_sizes[0] / (s.n_clients * s.n_samples)
    n = s.sizes[0] * s.n_samples
    tau_sq = start**2 + s.sigma**2

    def given(k: float) -> float:
        mean, sd = start * (1 - a * k), a * s.sigma * math.sqrt(k)
        c = a**2 * tau_sq * k

        def outside(w: float) -> float:
            # SciPy's distributions would take ten times as long as these functions.
            density = math.exp(-0.5 * w**2) / math.sqrt(2 * math.pi)
            left = bound**2 - (mean - sd * w) ** 2
            if left <= 0:
                return density
            return density * float(special.gammaincc(0.5 * (s.dimension - 1), 0.5 * left / c))

        return float(integrate.quad(outside, -9, 9, epsabs=0, epsrel=1e-6, limit=200)[0])

    low, high = stats.chi2.ppf([1e-13, 1 - 1e-13], n)
    nodes, weights = np.polynomial.legendre.leggauss(40)
    k = 0.5 * (low + high) + 0.5 * (high - low) * nodes
    density = stats.chi2.pdf(k, n)
    values = np.array([given(x) for x in k])
    return float(0.5 * (high - low) * np.sum(weights * density * values))


@pytest.mark.parametrize("start", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("far", [1.02, 1.1, 1.5, 2.0])
def test_the_limit_lies_above_the_integrated_probability_and_not_far(
    start: float, far: float
) -> None:
    s = setting(sizes=[6, 6], n_samples=20, dimension=4)
    a = 2 * s.step_sizes[0] / (12 * 20)
    typical = math.hypot(start * (1 - a * 120), a * math.sqrt(120 * 4 * (start**2 + 0.0625)))
    exact = integrated(s, start, far * typical)
    limit = log_cluster_tail(s, 0, start, far * typical)
    assert math.log(exact) <= limit
    # Chernoff's bound and the intervals cost a constant factor and a few per cent of the exponent.
    assert limit <= 0.55 * math.log(exact) + 1.0


@pytest.mark.parametrize("seed", range(3))
def test_simulated_steps_exceed_the_limits_quantiles_no_more_often(seed: int) -> None:
    """False-alarm probability below 1e-6 for each of 12 comparisons (five standard errors)."""
    rng = np.random.default_rng(seed)
    init = ("adversarial", "translation", "random")[seed]
    params = STEP.check(
        {"m": 64, "n": 200, "d": 8, "k": 2, "sigma": 0.3, "alpha": 0.3, "c1": 1 / 3, "init": init}
    )
    errors = STEP.simulate(params, rng, 20_000)[:, 1]
    s = setting(sizes=[32, 32], n_samples=200, dimension=8, sigma=0.3)
    for q in (0.9, 0.99, 0.999, 0.9999):
        bound = float(np.quantile(errors, q))
        observed = float(np.mean(errors > bound))
        limit = math.exp(log_step_tail(s, 0.2, bound))
        assert observed - 5 * math.sqrt(limit / errors.size) <= limit


@settings(deadline=None, max_examples=200)
@given(
    alpha=st.floats(0.01, 0.49),
    sigma=st.floats(1e-3, 30.0),
    n=st.integers(1, 500),
    seed=st.integers(0, 10_000),
    edge=st.booleans(),
)
def test_no_pair_of_models_is_mistaken_more_often_than_the_label_limit(
    alpha: float, sigma: float, n: int, seed: int, edge: bool
) -> None:
    """Against the exact F law, models anywhere in their balls and optima at least Delta apart."""
    rng = np.random.default_rng(seed)
    radius = 0.5 - alpha
    right, wrong = rng.standard_normal((2, 3))
    shares = (1.0, 1.0) if edge else rng.uniform(0, 1, 2)
    u_a = radius * shares[0] * right / np.linalg.norm(right)
    apart = 1.0 if edge else rng.uniform(1, 2)
    u_b = np.array([apart, 0, 0]) + radius * shares[1] * wrong / np.linalg.norm(wrong)
    ratio = pairwise_ratio(float(u_a @ u_a), float(u_a @ u_b), float(u_b @ u_b), sigma**2)
    s = setting(sizes=[1, 1], n_samples=n, sigma=sigma)
    # One rival and two clients: the limit of one client is half of it.
    limit = log_label_tail(s, radius) - math.log(2)
    assert pairwise_log_probability(ratio, n) <= max(limit, -math.log(2)) + 1e-9


def test_the_worst_pair_comes_close_to_the_label_limit() -> None:
    """The exponent is attained when both models move alike, so that it cannot be improved there."""
    alpha, sigma, n = 0.01, 1.0, 10_000_000
    radius = 0.5 - alpha
    best = -math.inf
    for angle in np.linspace(0, math.pi, 721):
        move = radius * np.array([math.cos(angle), math.sin(angle)])
        u_a, u_b = move, np.array([1.0, 0.0]) + move
        ratio = pairwise_ratio(float(u_a @ u_a), float(u_a @ u_b), float(u_b @ u_b), sigma**2)
        best = max(best, pairwise_log_probability(ratio, n))
    limit = log_label_tail(setting(sizes=[1, 1], n_samples=n, sigma=sigma), radius)
    assert 1.0 <= best / limit <= 1.3


def test_the_limit_grows_with_the_start_and_falls_with_the_bound() -> None:
    s = setting()
    by_start = [log_cluster_tail(s, 0, u, 0.1) for u in np.linspace(0, 0.4, 30)]
    by_bound = [log_cluster_tail(s, 0, 0.2, b) for b in np.linspace(0.01, 0.4, 30)]
    assert np.all(np.diff(by_start) >= -1e-9)
    assert np.all(np.diff(by_bound) <= 1e-9)
    assert log_cluster_tail(s, 0, 0.2, 0.0) == 0.0
    assert log_cluster_tail(s, 0, 0.2, math.inf) == -math.inf


def test_tails_of_neighbouring_radii_are_those_of_single_steps() -> None:
    s, radii = setting(sizes=[100, 156]), np.geomspace(1e-3, 0.4, 40)
    for cluster in (0, 1):
        each = [
            log_cluster_tail(s, cluster, float(high), float(low))
            for low, high in itertools.pairwise(radii)
        ]
        found = log_growth_tails(s, cluster, radii)
        assert found == pytest.approx(each, rel=1e-6, abs=1e-9)
        assert -1e4 < found.min() < -10
        assert found.max() > -1.0


@pytest.mark.parametrize("dof", [0, 1, 9, 10_000])
def test_the_exponent_is_the_best_of_a_dense_grid(dof: int) -> None:
    """200,000 exponents.  Limits are above the best of them by rounding, or at the grid's end."""
    rng = np.random.default_rng(dof)
    mean, along, across = 10.0 ** rng.uniform(-2, 2, (3, 60))
    usual = mean**2 + along + dof * across
    bound = np.sqrt(usual * rng.uniform(0.5, 6.0, 60))
    found = _log_chernoff(mean, along, across, dof, bound)
    grid = np.sort(np.concatenate([np.geomspace(1e-9, 1, 10**5), 1 - np.geomspace(1e-6, 1, 10**5)]))
    grid = grid[(grid >= 1e-9) & (grid <= 1 - 1e-6)]
    for i in range(60):
        t = grid / (2 * max(along[i], across[i] if dof else 0.0))
        limits = (
            _log_moment(t, mean[i], along[i], across[i] if dof else 0.0, dof) - t * bound[i] ** 2
        )
        best = min(0.0, float(limits.min()))
        assert best - 1e-3 <= found[i] <= best + 1e-6 * abs(best) + 1e-9


def test_a_step_size_that_is_too_large_is_seen_without_a_trial() -> None:
    """Cluster 1 holds 7/8 of the clients: with gamma = 1/p its error grows 13 times."""
    s = setting(sizes=[32, 224], step_sizes=[8.0, 8.0])
    assert log_cluster_tail(s, 1, 0.2, 0.1) == 0.0


def test_deep_tails_of_huge_problems_are_finite_and_fast() -> None:
    s = setting(sizes=[5_000_000, 5_000_000], n_samples=1_000_000_000, dimension=10_000, sigma=1.0)
    scale = 2 / 3 * 2 / 1e16 * math.sqrt(5e15 * 1e4)
    assert -1e6 < log_step_tail(s, 0.0, 1.2 * scale) < -50
    assert math.isfinite(log_step_tail(s, 0.25, 0.125))


def test_simulated_runs_fail_no_more_often_than_the_run_limit() -> None:
    """False-alarm probability below 1e-6: five standard errors."""
    params = TRAJECTORY.check(
        {"m": 64, "n": 400, "d": 8, "k": 2, "sigma": 0.3, "alpha": 0.3, "c1": 1 / 3}
    )
    errors = TRAJECTORY.simulate(params, np.random.default_rng(3), 4_000)
    s = setting(sizes=[32, 32], n_samples=400, dimension=8, sigma=0.3)
    last = errors[:, 5]  # after six steps
    for bound in (float(np.quantile(last, 0.99)), 2 * float(last.max())):
        limit = math.exp(log_run_tail(s, 0.2, 6, bound))
        assert np.mean(last > bound) <= limit + 5 * math.sqrt(limit / last.size)
    assert log_run_tail(s, 0.2, 6, 2.5 * float(last.max())) < math.log(1e-6)


def test_candidates_are_taken_as_far_as_all_hold() -> None:
    s = setting(sizes=[32, 32], n_samples=400, dimension=8, sigma=0.3)
    assert log_run_tail(s, 0.2, 6, 0.05, (-3.0, -5.0)) == -5.0
    assert log_run_tail(s, 0.2, 6, 0.05, (-3.0, -1e9)) == -3.0
    assert log_run_tail(s, 0.2, 6, 1e-9, (-3.0,)) == 0.0


@pytest.mark.parametrize("dimension", [1, 16, 2000])
@pytest.mark.parametrize("start", [0.0, 0.05, 0.4])
@pytest.mark.parametrize("log_share", [-5.0, -20.0, -40.0, -130.0])
def test_the_quantile_is_where_the_limit_meets_the_share(
    dimension: int, start: float, log_share: float
) -> None:
    """The quantile chooses Chernoff's exponents once, `log_cluster_tail` for every distance."""
    s = setting(dimension=dimension)
    found = _quantile(s, 0, start, log_share)
    assert log_cluster_tail(s, 0, start, 1.01 * found) <= log_share
    assert log_cluster_tail(s, 0, start, 0.99 * found) > log_share


def test_clusters_of_one_size_and_step_have_the_limit_of_the_first() -> None:
    alike = setting(sizes=[10, 20, 10], step_sizes=[1.0, 1.0, 1.0])
    assert same_clusters(alike) == (0, 1, 0)
    assert same_clusters(setting(sizes=[10, 10], step_sizes=[1.0, 2.0])) == (0, 1)
    each = [log_cluster_tail(alike, j, 0.2, 0.1) for j in range(3)]
    labels = log_label_tail(alike, 0.2)
    total = math.log(sum(math.exp(x) for x in (*each, labels)))
    assert log_step_tail(alike, 0.2, 0.1) == pytest.approx(min(0.0, total))


def test_one_dimension_has_no_other_coordinates() -> None:
    s = setting(dimension=1)
    limits = [log_cluster_tail(s, 0, 0.2, b) for b in (0.07, 0.08, 0.1)]
    assert np.all(np.isfinite(limits))
    assert limits[0] > limits[1] > limits[2]


def test_a_run_from_too_far_has_no_limit() -> None:
    assert log_run_tail(setting(), 0.6, 3, 0.1) == 0.0
    assert log_run_tail(setting(), 0.1, 0, 0.2) == -math.inf


@pytest.mark.parametrize(
    "changes",
    [{"sigma": 0.0}, {"sizes": [0, 1]}, {"sizes": [1]}, {"dimension": 0}, {"separation": math.nan}],
)
def test_settings_outside_the_model_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(InvalidParameter):
        setting(**changes)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: log_label_tail(setting(), math.nan), "radius=nan must be"),
        (lambda: log_cluster_tail(setting(), 2, 0.2, 0.1), "cluster=2 must be < k=2"),
        (lambda: log_cluster_tail(setting(), 0, 0.2, math.nan), "bound=nan must be"),
        (lambda: log_step_tail(setting(), 0.2, [0.1] * 3), "must be one number or 2"),
        (lambda: log_run_tail(setting(), 0.2, 3, 0.1, ()), "candidates="),
        (lambda: log_gradient_tail(5, 3, 0.0, 0.0, 1.0), "sigma=0 must be"),
    ],
)
def test_arguments_outside_their_domains_are_refused(call, said: str) -> None:
    with pytest.raises(InvalidParameter) as error:
        call()
    assert said in str(error.value)


def test_bounds_whose_squares_overflow_have_limits() -> None:
    """Refusing them would end a claim whose bound is large in some cell."""
    assert log_cluster_tail(setting(), 0, 0.2, 1e300) < -1000
    assert log_gradient_tail(5, 3, 0.5, 0.2, math.inf) == -math.inf


def test_a_single_cluster_has_no_wrong_model() -> None:
    one = setting(sizes=[128], step_sizes=[2 / 3])
    for radius in (0.0, 0.4, 30.0):
        assert log_label_tail(one, radius) == -math.inf
        assert log_step_tail(one, radius, 0.02) == log_cluster_tail(one, 0, radius, 0.02)
    # its model may start anywhere
    assert log_run_tail(one, 30.0, 40, 0.05, (-5.0,)) == -5.0
    assert log_run_tail(setting(), 30.0, 40, 0.05, (-5.0,)) == 0.0


def test_a_norm_exceeds_no_bound_at_infinity_and_every_one_below_zero() -> None:
    for bound, limit in ((0.0, 0.0), (-1.0, 0.0), (math.inf, -math.inf), (-math.inf, 0.0)):
        assert log_gradient_tail(10, 3, 0.2, 0.5, bound) == limit
        assert log_cluster_tail(setting(), 1, 0.2, bound) == limit
        assert log_step_tail(setting(), 0.0, bound) == (
            limit if limit == 0.0 else log_label_tail(setting(), 0.0)
        )


@pytest.mark.parametrize(("n_samples", "dimension"), [(1, 1), (1, 4), (3, 2)])
def test_no_distance_has_a_share_below_that_of_the_endless_interval(
    n_samples: int, dimension: int
) -> None:
    """The sizes of the last interval of K have no end, so that no distance limits what it holds."""
    s = setting(sizes=[1], step_sizes=[1.0], n_samples=n_samples, dimension=dimension)
    rest = float(_intervals(n_samples)[2][-1])
    for start in (0.0, 0.3):
        assert _quantile(s, 0, start, rest - 0.1) == math.inf
        found = _quantile(s, 0, start, rest + 0.1)
        assert log_cluster_tail(s, 0, start, found) <= rest + 0.1
    assert log_run_tail(s, 0.3, 1, 1e200, (rest - 1.0,)) == 0.0


def test_an_interval_whose_moments_are_infinite_has_the_trivial_limit() -> None:
    usual = np.ones(4)
    mean, along, across = usual.copy(), usual.copy(), usual.copy()
    mean[1] = along[2] = across[3] = math.inf
    found = _log_chernoff(mean, along, across, 3, np.full(4, 6.0))
    alone = _log_chernoff(usual[:1], usual[:1], usual[:1], 3, np.array([6.0]))
    assert found[0] == pytest.approx(alone[0], rel=1e-3)
    assert alone[0] < -1.0
    np.testing.assert_array_equal(found[1:], 0.0)
    nothing = _log_chernoff(*(usual[:1] * math.inf,) * 3, 3, np.array([6.0]))
    np.testing.assert_array_equal(nothing, 0.0)


@pytest.mark.parametrize("k", [2, 9])
def test_all_clusters_together_keep_the_probability_of_a_run(k: int) -> None:
    """A share for each cluster: with the shares of two, nine would fail more often than that."""
    s = setting(sizes=[64] * k, step_sizes=[k / 3] * k)
    for log_total in (-3.0, -30.0):
        low, high = 0.0, 0.2
        for _ in range(30):  # the nearest bound that one step from the optima is said to keep
            bound = 0.5 * (low + high)
            holds = log_run_tail(s, 0.0, 1, bound, [log_total]) == log_total
            low, high = (low, bound) if holds else (bound, high)
        assert high < 0.2
        assert log_total - 2.0 < log_step_tail(s, 0.0, high) <= log_total


@pytest.mark.parametrize("n", [1, 10, 10_000])
@pytest.mark.parametrize("distance", [1e-30, 1.0, 1e30])
@pytest.mark.parametrize("sigma", [0.0, 1e-300])
def test_a_gradient_of_one_coordinate_without_noise_has_a_chi_square_length(n, distance, sigma):
    """It is 2 K |u| / n with K of n degrees of freedom: nothing else is random."""
    for share in (0.01, 0.5, 1.0, 1.5, 3.0, 30.0):
        exact = chi_square_log_above(n, share * n)
        found = log_gradient_tail(n, 1, distance, sigma, 2.0 * distance * share)
        assert exact <= found + 1e-6
        assert found <= 0.0
        if share > 1.0 and n > 1:  # K is cut into intervals, coarse ones far from its mean
            assert found <= 0.5 * chi_square_log_above(n, share * (1.0 - 1.0 / math.sqrt(n)) * n)

"""What the searches and pages of one-shot clustering compute, worked out by another way."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import scipy
import sympy as sp

from trials.experiments.odcl.part_one import NEEDED_DISTANCE, PART_ONE
from trials.run.store import Table
from verify.claims.odcl import (
    experiments,
    inexact,
    kmeans,
    local_fits,
    part_one,
    placebos,
    recovery,
    requirements,
    sides,
)
from verify.decisions import measures
from verify.papers import catalogue
from verify.procedures.base import PROFILES, Observed
from verify.procedures.invented import invent_trials

QUICK = PROFILES["quick"]
CATALOGUE = catalogue()
THRESHOLD = CATALOGUE["odcl.thm3-threshold"].statement


# -- two sides -----------------------------------------------------------------------------------

LADDER = [-1e9, -3.0, -1e-9, 0.0, 1e-9, 2.0, 5.0, 1e9]


def test_the_log_of_a_ratio_has_the_sign_of_the_difference_and_its_order() -> None:
    for left, right in itertools.product(LADDER, LADDER):
        found = measures.log_ratio(left, right)
        assert (found > 0, found < 0) == (left > right, left < right)
        assert found == -measures.log_ratio(right, left)
        if left > 0 and right > 0:
            assert found == pytest.approx(math.log(left / right), rel=1e-12)
        if left < 0 and right < 0:
            assert found == pytest.approx(math.log(right / left), rel=1e-12)
        if left != right and min(left, right) <= 0 <= max(left, right):
            assert abs(found) == pytest.approx(1000.0 + math.log(abs(left - right)), rel=1e-12)
    assert measures.log_ratio(1e300, 1e-300) == 1000.0 == -measures.log_ratio(1e-300, 1e300)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.25, 0.5, 0.9, 1.0])
def test_an_upper_quantile_is_the_smallest_outcome_that_is_exceeded_rarely(share: float) -> None:
    values, weights = np.array([4.0, 1.0, 3.0, 2.0]), np.array([0.1, 0.5, 0.15, 0.25])
    right = min(v for v in values if weights[values > v].sum() <= share + 1e-12)
    assert sides.upper_quantile(values, weights, share) == right


# -- recovery ------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 3])
def test_one_far_user_is_the_whole_of_the_bound(size: int) -> None:
    """With the share 2/n^3 at a great distance, all of the m users must be near."""
    n, k, share = 5, 4, 2 / 5**3
    point = {"law": "outlier", "far": 1e3, "n": n, "size": size, "k": k}
    point |= {"alpha": 2.0, "above": 1e-9}
    statement = recovery.psi.statement
    expected = 1 - (1 - share) ** (k * size)
    assert recovery._outside_psi(statement, point) == pytest.approx(expected, rel=1e-12)
    near = {**point, "far": 1.0}  # within the radius, so that nothing can happen
    assert recovery._outside_psi(statement, near) == pytest.approx(0.0, abs=1e-15)


def test_fits_of_single_users_miss_by_all_signs_alike() -> None:
    """Ten fair signs are all alike with probability 2^-9, just below the 2/1000 of (9)."""
    point = {"law": "coordinates", "n": 10, "size": 1, "k": 2, "alpha": 1 + 1e-9, "above": 1e-9}
    point |= {"scale": 1.0, "noise": 1.0, "skew": 0.5}
    found = recovery._outside_psi(recovery.psi.statement, point)
    assert found == pytest.approx(1 - (1 - 2.0**-9) ** 2, rel=1e-9)


# -- Part I --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "more"), [(2, 0), (2, 2), (4, 2)])
def test_paired_errors_need_their_whole_squares(k: int, more: int) -> None:
    """Errors of one length in pairs of opposite ones have the mean zero and the spread m."""
    point = {"seed": 1, "size": 2, "more": more, "k": k, "d": 3, "paired": True, "unequal": 0.0}
    point |= {"c": 5.0, "Delta": 0.3}
    users = 2 + (k - 1) * (2 + more)
    roots = 1 / math.sqrt(2) + 1 / math.sqrt(2 + more)
    left, right = part_one.threshold(THRESHOLD, QUICK).sides(point)
    assert left == pytest.approx(4 * (5.0 * roots / 0.3) ** 2 * users, rel=1e-11)
    assert right == pytest.approx(64 * 5.0**2 * users / (0.3**2 * 2), rel=1e-12)


def test_unequal_clusters_weigh_their_constants_by_their_users() -> None:
    point = {"seed": 7, "size": 2, "more": 4, "k": 2, "d": 3, "paired": True, "unequal": 1.5}
    point |= {"c": 2.0, "Delta": 1.0}
    small, large = np.exp(1.5 * np.random.default_rng(7).standard_normal(2))
    left, right = part_one.threshold(THRESHOLD, QUICK).sides(point)
    spread = 2 * small + 6 * large
    assert left == pytest.approx(
        16 * (1 / math.sqrt(2) + 1 / math.sqrt(6)) ** 2 * spread, rel=1e-11
    )
    assert right == pytest.approx(64 * 4 * spread / 2, rel=1e-12)


def test_alone_a_single_error_has_no_spread() -> None:
    point = {"seed": 1, "size": 1, "more": 0, "k": 2, "d": 3, "paired": False, "unequal": 0.0}
    assert part_one.threshold(THRESHOLD, QUICK).sides({**point, "c": 5.0, "Delta": 0.3})[0] < 1e-20


def test_settings_of_part_one_stand_just_above_the_requirement() -> None:
    setting = {"c": 12.0, "n": 10, "k": 3, "size_min": 2, "ratio": 2, "d": 3}
    at = part_one.part_one_symbols(setting)
    constant = scipy.stats.chi2.ppf(1 - 2 / 10**3, 3) / math.log(10)
    assert at["M_bar"] == pytest.approx(constant, rel=1e-9)
    assert at["m"] == 10.0  # 2 + 4 + 4
    needed = 64 * 12.0**2 * 10 * constant / (at["Delta"] ** 2 * 2)
    assert 10 / math.log(10) == pytest.approx(needed * (1 + 1e-6) ** 2, rel=1e-9)
    cell = part_one.cell_of(setting)
    assert cell["distance"] == pytest.approx(at["Delta"] * math.sqrt(10), rel=1e-12)
    assert {name: cell[name] for name in ("k", "size_min", "ratio", "d")} == {
        name: setting[name] for name in ("k", "size_min", "ratio", "d")
    }


# -- local fits ----------------------------------------------------------------------------------


@pytest.mark.parametrize("ball", [0.05, 10.0])
def test_the_flattest_loss_has_its_minimiser_where_its_gradient_vanishes(ball: float) -> None:
    """The gradient falls by (1 - rho/2) mu at first, and its fall slows down by H."""
    point = {"mu": 2.0, "H": 3.0, "rho": 0.4, "rho_k": ball, "share": 0.9}
    radius = min(ball, 0.4 * 2.0 / 6.0)
    grad = 0.9 * 0.6 * 2.0 * radius / 2
    found, _ = local_fits.lemma_11.build(QUICK).sides(point)
    flat = scipy.optimize.brentq(lambda s: grad - 1.6 * s + 1.5 * s * s, 0.0, 1.6 / 3.0)
    assert found == pytest.approx(flat, rel=1e-9)
    assert flat <= ball


@pytest.mark.parametrize("q", [1.0, 2.0, 5.0])
@pytest.mark.parametrize(("family", "d"), [("identity", 3), ("diagonal", 1), ("diagonal", 3)])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_moment_of_a_sum_of_random_matrices_is_counted(
    n: int, family: str, d: int, q: float
) -> None:
    """All signs of n matrices: of one sign each, or of d signs on the diagonal."""
    entries = d if family == "diagonal" else 1
    sums = [abs(sum(signs)) for signs in itertools.product((-1, 1), repeat=n)]
    norms = [max(chosen) for chosen in itertools.product(sums, repeat=entries)]
    mean = sum(norm**q for norm in norms) / len(norms)
    point = {"n": n, "d": d, "family": family, "q": q, "unit": 2.5}
    assert local_fits._sum_moment(point) == pytest.approx(2.5 * mean ** (1 / q), rel=1e-12)


@pytest.mark.parametrize(("n", "d", "q"), [(300, 10**6, 200.0), (299, 1, 190.0), (200, 5, 2.0)])
def test_moments_of_high_order_rest_on_outcomes_that_are_hardly_ever_seen(
    n: int, d: int, q: float
) -> None:
    """The law of the largest of d sums in exact fractions."""
    below, mean = Fraction(0), mpmath.mpf(0)
    for size in range(n % 2, n + 1, 2):
        more = below + Fraction((2 if size else 1) * math.comb(n, (n + size) // 2), 2**n)
        with mpmath.workdps(150):
            powers = [(mpmath.mpf(x.numerator) / x.denominator) ** d for x in (below, more)]
            mean += (powers[1] - powers[0]) * mpmath.mpf(size) ** q
        below = more
    point = {"n": n, "d": d, "family": "diagonal", "q": q, "unit": 1.0}
    assert local_fits._sum_moment(point) == pytest.approx(
        float(mean ** (1 / mpmath.mpf(q))), rel=1e-12
    )


# -- inexact fits, k-means, requirements ---------------------------------------------------------


def test_sample_sizes_stand_above_the_requirement_by_the_stated_share() -> None:
    """The room that the precision may take is Delta^2 / (4 alpha^2) over the factor of slack."""
    for claim in inexact.THRESHOLDS:
        search = claim.build(QUICK)
        statement = claim.statement
        requirement, precision = statement.assumptions
        point = {"M": 2.0, "alpha": 3.0, "Delta": 5.0, "share": 0.5, "above": 0.25}
        factor = float(sp.diff(precision.right, sp.Symbol("slack")))
        slack = 0.5 * 25.0 / 36.0 / factor
        at = {"M": 2.0, "alpha": 3.0, "Delta": 5.0, "slack": slack}
        ratio = 1.25 * float(requirement.right.subs({sp.Symbol(n): x for n, x in at.items()}))
        radius = 2 * 3.0 * math.sqrt(2.0 / ratio + 2 * slack)
        assert search.sides(point)[0] == pytest.approx(radius, rel=1e-12)


@pytest.mark.parametrize(("everywhere", "outliers"), [(False, 3), (True, 9)])
def test_a_cluster_outweighs_its_outliers(everywhere: bool, outliers: int) -> None:
    """4 points and the outliers, and 4 (c reach)^2 for every outlier of all clusters."""
    point = {"outliers": 3, "k": 3, "all": everywhere, "c": 2.0, "reach": 1.3, "ratio": 1}
    assert kmeans.cluster_size(point) == 4 + 3 + math.ceil(4 * outliers * (2.6) ** 2)


@pytest.mark.parametrize("side", [0, 1])
def test_the_entry_of_table_1_is_the_requirement_at_unit_constants(side: int) -> None:
    search = CATALOGUE["odcl.table1-km"].build(QUICK)
    names = set(search.domain)
    point = dict.fromkeys(names, 3.0)
    point |= {"Delta": 0.5}
    at = requirements.symbols(point)
    size, users = at["size_min"], at["m"]
    expected = (math.sqrt(size) + math.sqrt(users)) ** 2 / (size * at["Delta"] ** 2)
    assert search.sides(point)[side] == pytest.approx(expected)


def test_needed_distances_are_shown_as_medians_beside_both_predictions() -> None:
    cell = {"k": 4, "size": 5, "ratio": 1, "d": 2}
    values = np.zeros((3, len(NEEDED_DISTANCE.columns)))
    values[:, NEEDED_DISTANCE.columns.index("cc_squared")] = [6.0, 8.0, 100.0]
    values[:, NEEDED_DISTANCE.columns.index("km_squared")] = [3.0, 2.0, 4.0]
    failed = np.zeros(3, dtype=bool)
    table = Table(columns=NEEDED_DISTANCE.columns, values=values, failed=failed, reasons=())
    (shown,) = requirements._needed_ratios([Observed(params=cell, table=table)]).tables
    ((k, size, largest, d, ratio, printed, stated),) = shown.rows
    assert (k, size, largest, d, ratio, printed) == (4, 5, 1, 2, 4.0, 4.0)
    # alpha of convex clustering is 4 (m - |C|)/|C|, that of K-means 2 + 2 c sqrt(m/|C|)
    assert stated == pytest.approx((4 * 15 / 5 / (2 + 200 * 2)) ** 2, rel=1e-12)


# -- the figures' logistic regression ------------------------------------------------------------


def logistic(z: float) -> float:
    return 1 / (1 + math.exp(-z))


@pytest.mark.parametrize("cluster", [1, 2, 4])
@pytest.mark.parametrize("ridge", [1e-5, 0.1])
def test_the_penalised_minimiser_is_shorter_by_the_share_that_quadrature_gives(
    cluster: int, ridge: float
) -> None:
    optimum = experiments.OPTIMA[cluster - 1]
    spread = math.sqrt(float(optimum @ experiments.COVARIANCES[cluster - 1] @ optimum))

    def slope(s: float) -> float:
        def inside(u: float) -> float:
            z = spread * u
            return (
                z * (logistic(s * z) - logistic(z)) * math.exp(-u * u / 2) / math.sqrt(2 * math.pi)
            )

        found = scipy.integrate.quad(inside, -12.0, 12.0, epsabs=1e-13, epsrel=1e-12)[0]
        return float(found) + ridge * s * float(optimum @ optimum)

    kept = scipy.optimize.brentq(slope, 0.0, 1.0, xtol=1e-13)
    point = {"cluster": cluster, "ridge": ridge}
    assert experiments._shrinkage(point) == pytest.approx(1 - kept, rel=1e-5)
    printed, limit = experiments.fig_3_optimum_as_printed.build(QUICK).sides(point)
    assert printed == pytest.approx(kept, rel=1e-9)
    assert limit == 1.0
    left, _ = experiments.fig_3_optimum.build(QUICK).sides(point)
    assert left == pytest.approx(1 - kept, rel=1e-5)


# -- placebos ------------------------------------------------------------------------------------


def test_random_labels_keep_the_shares_of_the_best_matching_of_clusters():
    """By all matchings, where one is best; more trials begin with those of fewer."""
    k, size, ratio, n_trials = 3, 4, 2, 40
    own, foreign = placebos._random_shares(k, size, ratio, n_trials)
    rng, truth = np.random.default_rng(0), np.repeat(np.arange(k), [4, 8, 8])
    n_compared = 0
    for i in range(n_trials):
        counts = np.zeros((k, k))
        np.add.at(counts, (truth, rng.integers(k, size=truth.size)), 1)
        ways = sorted(
            (counts[:, list(order)] for order in itertools.permutations(range(k))), key=np.trace
        )
        if np.trace(ways[-1]) > np.trace(ways[-2]):
            kept = np.diag(ways[-1])
            assert own[i] == (kept / [4, 8, 8]).min()
            assert foreign[i] == ((ways[-1].sum(axis=0) - kept) / [4, 8, 8]).max()
            n_compared += 1
    assert n_compared > 20
    fewer = placebos._random_shares(k, size, ratio, 7)
    np.testing.assert_array_equal(fewer, np.array([own, foreign])[:, :7])


def best_shares(truth, found, k):
    """The smallest own and the largest foreign share in every matching that keeps most users."""
    sizes, counts = np.bincount(truth, minlength=k), np.zeros((k, k))
    np.add.at(counts, (truth, found), 1)
    ways = [counts[:, list(order)] for order in itertools.permutations(range(k))]
    most = max(map(np.trace, ways))
    return {
        ((np.diag(way) / sizes).min(), ((way.sum(axis=0) - np.diag(way)) / sizes).max())
        for way in ways
        if np.trace(way) == most
    }


@pytest.mark.parametrize(("k", "size", "ratio"), [(2, 3, 1), (2, 3, 4), (3, 2, 3), (4, 5, 1)])
def test_placebos_of_part_one_have_the_shares_that_the_experiment_measures(k, size, ratio):
    """Clusters are matched at best, so that one cluster for all is one of the large ones."""
    cell = {"k": k, "size_min": size, "ratio": ratio, "d": 2, "distance": 9.0}
    truth = np.array([0] * size + [j for j in range(1, k) for _ in range(size * ratio)])
    random, alone = placebos.PLACEBOS["odcl.thm3-2"]
    shares = alone.swapped(invent_trials(PART_ONE, 3), cell)
    (wanted,) = best_shares(truth, np.zeros(truth.size, dtype=int), k)
    for found in zip(shares["own_share"], shares["foreign_share"], strict=True):
        assert found == pytest.approx(wanted, rel=1e-14)
    shares, rng = random.swapped(invent_trials(PART_ONE, 30), cell), np.random.default_rng(0)
    for own, foreign in zip(shares["own_share"], shares["foreign_share"], strict=True):
        assert (own, foreign) in best_shares(truth, rng.integers(k, size=truth.size), k)

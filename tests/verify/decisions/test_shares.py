"""The exact test of a difference of two shares, against sums over all outcomes."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import xlog1py, xlogy
from scipy.stats import binom, hypergeom

from trials.checks import InvalidParameter
from verify.decisions import shares
from verify.decisions.shares import Count, excludes_difference, signed_root, trend_probability


def root_by_optimisation(x, n, y, m, delta):
    """The signed root of the likelihood ratio, with a bounded search on the line."""

    def log_likelihood(p, q):
        return xlogy(x, p) + xlog1py(n - x, -p) + xlogy(y, q) + xlog1py(m - y, -q)

    ends = (max(0.0, -delta), min(1.0, 1.0 - delta))
    found = minimize_scalar(
        lambda q: -log_likelihood(q + delta, q), bounds=ends, options={"xatol": 1e-12}
    )
    at_ends = [log_likelihood(min(q + delta, 1.0), q) for q in ends]
    ratio = 2 * (log_likelihood(x / n, y / m) - max(-found.fun, *at_ends))
    return np.sign(x / n - y / m - delta) * np.sqrt(max(ratio, 0.0))


def p_value(x, n, y, m, delta):
    """The largest probability, over 3001 points of the line, of outcomes at or below (x, y)."""
    every = np.array(list(itertools.product(range(n + 1), range(m + 1))))
    roots = np.array([root_by_optimisation(i, n, j, m, delta) for i, j in every])
    here = root_by_optimisation(x, n, y, m, delta)
    below = every[roots <= here + 1e-6]
    p = np.linspace(max(0.0, delta), min(1.0, 1.0 + delta), 3001)[:, None]
    q = np.clip(p - delta, 0.0, 1.0)
    return (binom.pmf(below[:, 0], n, p) * binom.pmf(below[:, 1], m, q)).sum(axis=1).max()


@pytest.mark.parametrize(("n", "m", "delta"), [(9, 6, 0.2), (9, 8, -0.1), (7, 7, 0.0), (5, 9, 0.6)])
def test_a_difference_is_excluded_where_the_largest_probability_is_small(n, m, delta):
    found = {True: 0, False: 0}
    outcomes = [(x, y) for x in range(0, n + 1, 2) for y in range(m + 1)]
    for x, y in outcomes[::3]:
        p = p_value(x, n, y, m, delta)
        for level in (0.3, 0.05, 0.004):
            if abs(p / level - 1) > 0.01:  # the grid may miss the largest by a little
                excluded = excludes_difference(Count(x, n), Count(y, m), delta, level)
                assert excluded is bool(p < level), (x, y, p, level)
                found[excluded] += 1
    assert min(found.values()) > 5


@pytest.mark.parametrize("at_once", [1, 40, 10**6])
@pytest.mark.parametrize("delta", [0.2, 0.0, -0.3])
def test_a_set_is_rare_in_every_block_of_shares(monkeypatch, at_once, delta):
    """One share at a time, some and all of them: random sets, and those likely at either end.

    With an outcome a set has those with fewer successes in the first cell.
    """
    monkeypatch.setattr(shares, "_AT_ONCE", at_once)
    n, m = 9, 7
    rng = np.random.default_rng(3)
    p = np.linspace(max(0.0, delta), min(1.0, 1.0 + delta), 4001)[:, None]
    q = np.clip(p - delta, 0.0, 1.0)
    few = np.where(np.arange(n + 1) > 2, m + 1.0, 0.0)  # likely where the shares are small
    many = np.full(n + 1, 5.0)  # where they are large
    for least in (few, many, *np.sort(rng.integers(0, m + 2, (4, n + 1)), axis=1).astype(float)):
        largest = np.sum(
            binom.pmf(np.arange(n + 1), n, p) * binom.sf(least - 1, m, q), axis=1
        ).max()
        if largest < 0.95:
            assert shares._is_rare(least, n, m, delta, 1.02 * largest)
        assert not shares._is_rare(least, n, m, delta, 0.98 * largest)


@pytest.mark.parametrize(("n", "m", "delta"), [(16, 11, 0.2), (13, 13, 0.0), (8, 20, -0.25)])
def test_a_true_difference_is_excluded_with_at_most_the_level(n, m, delta):
    """Summed over all outcomes, on the line and inside of the hypothesis."""
    level = 0.04
    outcomes = np.array(list(itertools.product(range(n + 1), range(m + 1))))
    rejected = np.array(
        [excludes_difference(Count(x, n), Count(y, m), delta, level) for x, y in outcomes.tolist()]
    )
    x, y = outcomes[rejected].T
    largest = 0.0
    for p, q in itertools.product(np.linspace(0, 1, 41), repeat=2):
        if p - q >= delta - 1e-12:
            error = float((binom.pmf(x, n, p) * binom.pmf(y, m, q)).sum())
            assert error <= level
            largest = max(largest, error)
    assert largest > level / 3  # the test is not so careful that it never rejects


@pytest.mark.parametrize("level", [0.05, 1.5e-4])
@pytest.mark.parametrize("delta", [0.15, 0.4])
def test_all_successes_exclude_what_they_would_show_with_a_small_probability(level, delta):
    """With a first share of 1 the others are n of n with the probability (1 - delta)^n."""
    fewest = int(np.ceil(np.log(level) / np.log1p(-delta)))
    assert not excludes_difference(
        Count(fewest - 1, fewest - 1), Count(fewest - 1, fewest - 1), delta, level
    )
    enough = 2 * fewest
    assert excludes_difference(Count(enough, enough), Count(enough, enough), delta, level)


def test_successes_and_failures_change_places():
    """p - q is (1 - q) - (1 - p)."""
    n, m = 23, 31
    seen = set()
    for x, y in itertools.product(range(0, n + 1, 3), range(0, m + 1, 4)):
        there = excludes_difference(Count(x, n), Count(y, m), 0.1, 0.02)
        assert there is excludes_difference(Count(m - y, m), Count(n - x, n), 0.1, 0.02)
        seen.add(there)
    assert seen == {True, False}


@pytest.mark.parametrize(
    ("n", "m", "delta"), [(7, 5, 0.15), (4, 9, -0.4), (6, 6, 0.0), (3, 3, 0.9)]
)
def test_the_order_is_that_of_the_likelihood_ratio_and_grows_with_the_first_share(n, m, delta):
    x, y = np.arange(n + 1.0)[:, None], np.arange(m + 1.0)[None, :]
    roots = signed_root(x, n, y, m, delta)
    for i, j in itertools.product(range(n + 1), range(m + 1)):
        assert roots[i, j] == pytest.approx(root_by_optimisation(i, n, j, m, delta), abs=1e-5)
    assert np.all(np.diff(roots, axis=0) >= -1e-9)
    assert np.all(np.diff(roots, axis=1) <= 1e-9)


def test_it_decides_many_trials_and_refuses_what_are_no_counts():
    n = 4000
    assert excludes_difference(Count(n // 2, n), Count(n // 2, n), 0.06, 1e-4)
    assert not excludes_difference(Count(n // 2, n), Count(n // 2, n), 0.03, 1e-4)
    assert not excludes_difference(Count(0, 0), Count(5, 5), 0.5, 0.1)
    assert not excludes_difference(Count(5, 5), Count(0, 0), 0.5, 0.1)
    assert excludes_difference(Count(5, 5), Count(0, 5), 1.01, 0.1)
    assert not excludes_difference(Count(0, 5), Count(5, 5), -1.01, 0.1)
    for first, delta, level, said in (
        (Count(6, 5), 0.1, 0.1, "successes=6 must lie between 0 and trials=5"),
        (Count(-1, 5), 0.1, 0.1, "successes=-1"),
        (Count(1, 5), np.nan, 0.1, "delta=nan must be a number"),
        (Count(1, 5), 0.1, 1.0, "level"),
    ):
        with pytest.raises(InvalidParameter, match=said):
            excludes_difference(first, Count(1, 5), delta, level)


# -- A trend ---------------------------------------------------------------------------------------


def twice_the_statistic(successes, cells):
    """By the definition: pairs of trials of two cells that grow, ties as halves."""
    found = 0
    for (a, (_, n)), (b, (_, m)) in itertools.combinations(zip(successes, cells, strict=True), 2):
        found += 2 * b * (n - a) + a * b + (n - a) * (m - b)
    return found


def share_of_arrangements(cells):
    """The share of the arrangements of all successes with a statistic at or above the observed."""
    observed = [x for x, _ in cells]
    ways = {True: 0, False: 0}
    for successes in itertools.product(*(range(n + 1) for _, n in cells)):
        if sum(successes) == sum(observed):
            reached = twice_the_statistic(successes, cells) >= twice_the_statistic(observed, cells)
            pairs = zip(successes, cells, strict=True)
            ways[reached] += math.prod(math.comb(n, x) for x, (_, n) in pairs)
    return ways[True] / (ways[True] + ways[False])


@pytest.mark.parametrize("n_sums", [shares._MOST_SUMS, -1.0], ids=["the law", "a bound"])
def test_a_trend_is_as_probable_as_the_arrangements_that_have_it(n_sums, monkeypatch):
    """Cells of any sizes.  Where the law takes too long, its bound is never below it."""
    monkeypatch.setattr(shares, "_MOST_SUMS", n_sums)
    rng = np.random.default_rng(1)
    for _ in range(25):
        cells = [Count(int(rng.integers(0, n + 1)), int(n)) for n in rng.integers(1, 6, 3)]
        exact = share_of_arrangements(cells)
        if n_sums > 0:
            assert trend_probability(cells) == pytest.approx(exact, rel=1e-9)
        else:
            assert exact - 1e-12 <= trend_probability(cells) <= 1.0


def test_the_bound_of_a_long_law_has_the_laws_exponent(monkeypatch):
    cells = [Count(x, 80) for x in (5, 10, 20, 30, 40)]
    exact = trend_probability(cells)
    monkeypatch.setattr(shares, "_MOST_SUMS", -1.0)
    bound = trend_probability(cells)
    assert exact <= bound
    assert math.log(bound) < 0.8 * math.log(exact)


@pytest.mark.parametrize("cells", [[], [(1, 2)], [(0, 0), (1, 2)], [(3, 2), (1, 2)]])
def test_a_trend_needs_cells_with_trials(cells):
    with pytest.raises(InvalidParameter):
        trend_probability([Count(*each) for each in cells])


def test_a_trend_of_millions_of_trials_is_that_of_a_hypergeometric_law():
    """The number of sums left 64 bits, came out below zero, and a law of 72 TB was asked for."""
    n, (x, y) = 3_000_000, (1_495_000, 1_505_000)
    exact = hypergeom.sf(y - 1, 2 * n, x + y, n)
    found = trend_probability([Count(x, n), Count(y, n)])
    # Chernoff's bound, over the probability of the total of about 1/4,300
    assert exact < found < 1e5 * exact

"""(32) on the points that the models shatter: its limit against every way to place six clients."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import scipy
import sympy as sp

from bounds.statement import evaluate
from trials.checks import InvalidParameter
from trials.experiments.sxy.deviation import expected_supremum
from verify.claims.common import log_of
from verify.claims.sxy import deviation
from verify.claims.sxy.shattering import shattered
from verify.procedures.base import PROFILES


@pytest.fixture(scope="module")
def tried():
    return deviation.eq_32.build(PROFILES["quick"])


def test_the_laws_limit_is_above_the_probability_of_a_larger_supremum(tried):
    """Two features and two clusters make four kinds: all 4^6 ways to place six clients."""
    sizes = np.array([3.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    skew = float(np.mean((sizes / sizes.mean()) ** 2))
    places = np.array(list(itertools.product(range(4), repeat=6)))
    weights = np.stack([(places == kind) @ sizes for kind in range(4)], axis=1)
    sups = np.maximum(weights - sizes.sum() / 4, 0.0).sum(axis=1)
    limit = 1.308 * sizes.sum() * math.sqrt(2 * 2 * math.log(2) / 6 * skew)
    cell = {"M": 6, "V": 4, "n": 1, "n_many": 1, "n_large": 3}
    assert math.exp(tried.log_limit(cell)) >= np.mean(sups > limit)
    assert math.exp(tried.log_limit(cell)) == pytest.approx(
        math.exp(-2 * (limit - sups.mean()) ** 2 / np.sum(sizes**2)), rel=2e-2
    )


def test_the_law_decides_every_cell_and_is_near_its_limit_for_many_features(tried):
    for cell in tried.cells:
        full = deviation.WEIGHTED_SUP.check(cell)
        assert tried.log_limit(full) <= tried.log_delta(full)
    # the mean absolute deviation of many clients is sqrt(2/pi) of the standard deviation
    many = next(cell for cell in tried.cells if cell["V"] == 80)
    full = deviation.WEIGHTED_SUP.check(many)
    assert tried.log_limit(full) >= 1.5 * tried.log_delta(full)


def test_a_statement_without_the_clusters_or_the_features_loses_its_support():
    statement = deviation.EQ_32
    (term,) = statement.terms
    for name in ("k", "d"):
        symbol = next(s for s in term.expr.free_symbols if s.name == name)
        broken = [
            cell
            for d, k, cell in deviation.SHATTERED
            if _largest_limit(term.expr.subs(symbol, 2 if name == "k" else 1), d, k, cell)
            < deviation.expected_supremum(
                deviation.WEIGHTED_SUP.check({**cell, "V": deviation._kinds(d, k)})
            )
        ]
        assert broken


def _largest_limit(expr, d, k, cell):
    """The limit of a term, C = 1.308, in a cell."""
    full = deviation.WEIGHTED_SUP.check(cell)
    total = float(deviation.sizes_of(full).sum())
    at = {"C": 1.308, "d": d, "k": k, "M": full["M"], "N": total}
    return math.exp(log_of(expr, {**at, "skew": deviation.skewness(full)}))


def _wrong(n, sigma):
    """P(a client of n rows is labelled wrongly by some models within Delta/10), Delta = 1."""
    return scipy.stats.t.sf((0.5 - 0.1) / sigma * math.sqrt(n), n)


@pytest.mark.parametrize("n", [1, 3, 40, 300])
@pytest.mark.parametrize("sigma", [0.1, 0.8, 1.0, 2.0, 20.0])
def test_with_one_feature_the_first_term_of_36_is_sixteen_times_the_wrong_share(n, sigma):
    """So that it is exceeded with probability 1/16 at most, by Markov's inequality."""
    at = {"C": 0.0, "c": math.log1p(0.16) / 2, "M": 1.0, "skew": 1.0}
    stated = evaluate(deviation.EQ_36.expr, {**at, "n": n, "sigma": sigma, "Delta": 1.0})
    assert 16 * _wrong(n, sigma) <= stated


def test_two_cells_of_36_have_wrong_labels_and_a_bound_below_one_half():
    """The square of n in the exponent is broken there: its bound is below one row of all."""
    cells = deviation.eq_36.build(PROFILES["quick"]).cells
    few = [cell for cell in cells if cell["n"] == 40]
    assert len(few) == 2
    rate = math.log1p(0.16) / 2
    assert 8 * math.exp(-rate * 40) < 0.5
    assert 8 * math.exp(-rate * 40**2) < 1e-20
    for cell in few:
        right = (1 - _wrong(40, 1.0)) ** (cell["M"] - cell.get("n_many", 0))
        assert right < 1e-9  # no client is wrong, which is what the changed bound asks for


@pytest.mark.parametrize(("d", "k"), [(2, 8), (3, 6), (4, 5)])
def test_the_points_of_a_shape_are_those_that_the_models_shatter(d, k):
    """The subsets are picked by the losses themselves, whatever the statement says."""
    found = max(shattered(d, k, np.random.default_rng(seed)) for seed in range(3))
    assert deviation.SHAPE_OF[found] == (d, k)


def exponents_in_k(definition):
    """The exponents of the exact expectations in a stated V, in d beside it and in M."""
    stated = deviation.EQ_32_IN_K
    claim = replace(
        deviation.eq_32_in_k, statement=replace(stated, definitions={deviation.V: definition})
    )
    rate = claim.build(PROFILES["quick"])
    rows = [rate.regressors(cell) for cell in rate.cells]
    logs = np.log([[row[name] for name in ("V", "d", "M")] for row in rows])
    design = np.column_stack([np.ones(len(rows)), logs])
    sups = [expected_supremum(deviation.WEIGHTED_SUP.check(cell)) for cell in rate.cells]
    return np.linalg.lstsq(design, np.log(sups), rcond=None)[0][1:]


def test_a_stated_number_of_points_with_another_power_of_d_or_k_has_other_exponents():
    """The true number is V = d (k - 1): d^2 (k - 1) is V d, and d (k - 1)^2 is V^2 / d."""
    d, k = sp.symbols("d k")
    true = exponents_in_k(d * (k - 1))
    assert true == pytest.approx([0.5, 0.0, 0.5], abs=0.03)
    assert exponents_in_k(d**2 * (k - 1)) == pytest.approx(true - [0, true[0], 0], abs=1e-9)
    squared = np.array([true[0] / 2, true[1] + true[0] / 2, true[2]])
    assert exponents_in_k(d * (k - 1) ** 2) == pytest.approx(squared, abs=1e-9)
    assert abs(exponents_in_k(d * k) - [0.5, 0.0, 0.5]).max() > 0.15


def test_a_number_of_points_of_no_shape_is_refused():
    rate = deviation.eq_32_in_k.build(PROFILES["quick"])
    with pytest.raises(InvalidParameter, match="V=13 must be one of 12, 14, 15"):
        rate.override({"V": 13})
    assert {cell["V"] for cell in rate.override({"V": 14}).cells} == {14}


def expected_deviation(cell):
    """The mean of a direction's deviation but for a constant, over the length of its vector.

    Given the length r, the label of a client with the part a of all squared rows has the mean
    erf(a r / sqrt(2 (1 - a^2))).
    """
    d, many = cell["d"], cell.get("n_many", 0)
    rows = np.array([float(cell.get("n_large", 1)), 1.0])
    counts = np.array([many, cell["M"] - many])
    part = rows / math.sqrt(float(counts @ rows**2))

    def given(r):
        means = scipy.special.erf(part * r / np.sqrt(2 * (1 - part**2)))
        return float(counts @ (rows * means)) / float(counts @ rows)

    law = scipy.stats.chi(d)
    ends = law.ppf([1e-10, 1 - 1e-10])
    return scipy.integrate.quad(lambda r: given(r) * law.pdf(r), *ends)[0]


def test_the_cells_of_a_direction_tell_its_exponents_from_those_a_quarter_off():
    """What small dimensions and large clients add is less than a third of the margin."""
    rate = deviation.eq_32_rate.build(PROFILES["quick"])
    x = [rate.regressors(cell) for cell in rate.cells]
    design = np.array([[1.0, *(math.log(row[name]) for name in rate.stated)] for row in x])
    logs = np.log([expected_deviation(cell) for cell in rate.cells])
    found = np.linalg.lstsq(design, logs, rcond=None)[0][1:]
    stated = np.array([rate.stated[name].exponent for name in rate.stated])
    assert np.abs(found - stated).max() < rate.margin / 3
    assert rate.margin < 0.25 / 4


def test_the_mean_deviation_is_that_of_the_trials():
    """Two cells of unlike sizes have one constant, a half: a share of labels is half a sign."""
    for cell in ({"M": 300, "d": 10}, {"M": 300, "d": 10, "n_many": 60, "n_large": 4}):
        checked = deviation.DIRECTION.check(cell)
        drawn = deviation.DIRECTION.simulate(checked, np.random.default_rng(3), 600)
        mean = float(np.asarray(drawn)[:, 0].mean())
        # the relative deviation of a trial is below .3, so that of the mean is below .0125
        assert mean == pytest.approx(expected_deviation(cell) / 2, rel=0.06)

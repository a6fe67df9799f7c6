"""Lemma 11's exhibited constants: the union bound in numbers, a cell that needs the logarithm."""

import math

import numpy as np
import pytest
import scipy

from trials.experiments.sxy.subsets import SUBSETS
from verify.claims.sxy import subsets
from verify.papers import catalogue
from verify.procedures.base import PROFILES


@pytest.mark.parametrize("rows", [1, 2, 5, 40, 1000])
@pytest.mark.parametrize("few", [1.0, 1.5, 4.0, 12.0])  # log(e/nu)
def test_nine_times_the_share_limits_the_noise_of_all_sets_of_rows(rows, few):
    """There are exp(rows log(e/nu)) sets at most, and d is at most their rows."""
    tail = scipy.stats.chi2.logsf(9 * rows * few, rows)
    assert rows * few + tail <= math.log(4) - rows


@pytest.mark.parametrize("rows", [1, 2, 5, 40, 1000])
@pytest.mark.parametrize("few", [1.0, 1.5, 4.0, 12.0])
def test_sixteen_times_the_share_limits_the_features_of_all_sets_of_rows(rows, few):
    """A Gaussian matrix has a norm above sqrt(rows) + sqrt(d) + x with probability exp(-x^2/2)."""
    excess = math.sqrt(16 * rows * few) - 2 * math.sqrt(rows)
    assert rows * few - excess**2 / 2 <= math.log(4) - rows + 1e-9


@pytest.mark.parametrize(
    ("claim", "constant"), [("sxy.lemma11-zeta", 9.0), ("sxy.lemma11-phi", 16.0)]
)
def test_the_claims_exhibit_these_constants(claim, constant):
    procedure = catalogue()[claim].build(PROFILES["quick"])
    cell = SUBSETS.check({"M": 100, "n": 1, "d": 2, "nu": 0.1, "sigma": 1.0})
    bound = constant * 0.1 * math.log(math.e / 0.1)
    law = subsets._log_noise if claim.endswith("zeta") else subsets._log_features
    assert procedure.log_limit(cell) == pytest.approx(law(cell, bound), rel=1e-12)


def test_the_two_largest_rows_exceed_the_limit_without_its_logarithm():
    """40,000 rows of two features: two rows along one direction have squares of 2 log N each."""
    cells = catalogue()["sxy.lemma11-phi"].build(PROFILES["quick"]).cells
    (cell,) = (c for c in cells if c["M"] == 40_000)
    found = SUBSETS.simulate(SUBSETS.check(cell), np.random.default_rng(0), 6)
    phi = found[:, SUBSETS.columns.index("phi")]
    stated = 16 * cell["nu"] * math.log(math.e / cell["nu"])
    assert np.all(phi <= stated)
    assert np.median(phi) > 16 * cell["nu"]

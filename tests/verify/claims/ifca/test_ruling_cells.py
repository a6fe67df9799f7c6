"""Cells with a given share of wrong labels, against the law that finds the share by a root."""

import pytest

from trials.experiments.ifca import strongly_convex
from trials.laws.spike import wrong_label
from verify.claims.ifca.ruling_cells import with_wrong


@pytest.mark.parametrize("wrong", [1e-9, 1e-4, 0.02, 0.3])
@pytest.mark.parametrize("k", [2, 3, 17])
@pytest.mark.parametrize("n", [1, 40, 10**6])
def test_the_deviation_of_a_probability_has_that_probability(wrong, k, n):
    cell = {"k": k, "d": k, "m": 10**5, "n": n, "eta": 1.0}
    found = strongly_convex.SC_STEP.check(with_wrong(cell, wrong))
    law = wrong_label(strongly_convex.gap(found), found["eta"], n, k)
    assert law == pytest.approx(wrong, rel=3e-3)  # four digits of eta, squared and a little more

"""The cell of (8) and (9) with 32 clusters, against the pull of one client in the middle."""

import numpy as np
import pytest

from trials.experiments.ifca.step import STRANGERS
from verify.claims.ifca.cells import values
from verify.papers import catalogue
from verify.procedures.base import PROFILES


@pytest.fixture(scope="module")
def drawn():
    """The cell, its strangers and their part of the step, from 64 trials."""
    cells = catalogue()["ifca.eq9"].build(PROFILES["quick"]).cells
    (cell,) = [c for c in cells if c["k"] == 32]
    full = STRANGERS.check(cell)
    return cell, STRANGERS.simulate(full, np.random.default_rng(0), 64).T


def test_a_stranger_pulls_as_a_client_whose_optimum_is_one_separation_away(drawn):
    """In the middle of two models its mean gradient is 2 (Delta/2), and the step is 1/(3 p m)."""
    cell, (count, length) = drawn
    one = length[count == 1]
    assert one.size >= 8
    assert one == pytest.approx(cell["Delta"] / (3 * 14), rel=0.05)


@pytest.mark.parametrize("claim", ["ifca.eq8", "ifca.eq9"])
@pytest.mark.parametrize("symbol", ["k", "d"])
def test_a_bound_over_k_or_d_is_broken_far_more_often_than_stated(drawn, claim, symbol):
    cell, (count, length) = drawn
    at = values(cell)
    size = 17.5 * at["p"] ** -1 / 3 / 1000 if claim == "ifca.eq8" else 17.5 / (6 * np.log(100))
    assert np.mean(length > size * count) == 0.0
    assert np.mean(length > size * count / at[symbol]) >= 0.1 > 1 / cell["m"]

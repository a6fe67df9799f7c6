"""Cells of (8) and (9) that tell a further factor 1/sqrt(k) or 1/log(ed) from one."""

import math

import numpy as np
import pytest

from trials.experiments.ifca.step import STRANGERS
from verify.papers import catalogue
from verify.procedures.base import PROFILES


def drawn(claim, n_trials, **wanted):
    """The cell of a claim with some parameters, its numbers of strangers and the norms of T2."""
    cells = catalogue()[claim].build(PROFILES["quick"]).cells
    (cell,) = (c for c in cells if all(c[name] == value for name, value in wanted.items()))
    rows = STRANGERS.simulate(STRANGERS.check(cell), np.random.default_rng(0), n_trials)
    return cell, rows[:, 0], rows[:, 1]


@pytest.mark.statistical
def test_eighteen_clusters_tell_one_from_the_root_of_k_in_8():
    """gamma/m = 1/(3 p m) = 1/12 with four clients a cluster, and max(1, d/n') = 1."""
    cell, count, norm = drawn("ifca.eq8", 256, k=18)
    limit = 17.5 / 12 * count
    assert np.all(norm <= limit)
    failed = np.mean(norm > limit / math.sqrt(18))
    assert failed > 2 / cell["m"]  # (8) allows 1/m


def test_strangers_among_a_hundred_clients_tell_one_from_the_logarithm_of_d_in_9():
    """A stranger's model lies half the distance from its optimum, and gamma/m = 1/30.

    With so many samples the part of c strangers is 2 sqrt(u^2 + (u^2 + sigma^2) d/(n' c)) each, for
    u = 1/2 and sigma = 1.
    """
    cell, count, norm = drawn("ifca.eq9", 64, k=2, m=100, d=10**9)
    assert np.all(count >= 1)
    each = 2 / 30 * np.sqrt(0.25 + 1.25 * cell["d"] / (cell["n"] * count))
    np.testing.assert_allclose(norm / count, each, rtol=1e-3)
    c_5 = 17.5 / (6 * math.log(100))
    assert c_5 / (1 + math.log(cell["d"])) < each.min() < each.max() < c_5

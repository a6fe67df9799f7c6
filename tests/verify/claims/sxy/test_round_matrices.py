"""Cells of the eigenvalues of a round that tell a symbol of their bounds from another one."""

import numpy as np
import pytest

from trials.experiments.sxy.spectrum import ROUND_MATRICES
from verify.papers import catalogue
from verify.procedures.base import PROFILES


def drawn(claim, chosen):
    """The columns of 16 trials of the one cell of a claim that is chosen, and the cell."""
    cells = [ROUND_MATRICES.check(c) for c in catalogue()[claim].build(PROFILES["quick"]).cells]
    (cell,) = filter(chosen, cells)
    rows = ROUND_MATRICES.simulate(cell, np.random.default_rng(1), 16)
    return dict(zip(ROUND_MATRICES.columns, rows.T, strict=True)), cell


@pytest.mark.parametrize(
    ("claim", "column"), [("sxy.lemma7-lower", "smallest"), ("sxy.lemma7-upper", "largest")]
)
def test_a_unit_of_the_features_tells_their_eigenvalues_from_one(claim, column):
    """K_j N/N_j is nearly s times the covariance, here a million times the identity."""
    found, cell = drawn(claim, lambda cell: cell["beta"] > 1)
    unit = cell["beta"] * cell["s"]
    assert np.all((found[column] >= 0.4 * unit / 2) & (found[column] <= 1.6 * unit))
    upper_without_beta = 1.6 * cell["s"]
    assert np.all(found["largest"] > 1e4 * upper_without_beta)


def test_a_small_cluster_tells_its_share_from_one_over_k():
    """One step takes eta rho off the error of a cluster whose rows have the covariance I."""
    found, cell = drawn("sxy.thm2-decrease", lambda cell: cell["ratio"] > 2)
    decrease = found["decrease"] / found["step"]  # for eta = 1, with kappa = s = 1
    share = 10 / 210
    assert np.all((decrease >= 0.4 * share) & (decrease <= 1.6 * share))
    assert np.all(decrease < 0.4 / cell["k"])


@pytest.mark.parametrize(("name", "end"), [("sxy.lemma1", 2.15), ("sxy.lemma1-soft", 2.0375)])
def test_a_round_is_linear_along_an_eigenvector_without_curvature(name, end):
    """By hand: dependent rows, or fewer than columns, give steps of eta, or eta/4, times 1/2."""
    three_steps = catalogue()[name].build(PROFILES["quick"]).instances[2]
    at = {"start": 2.0, "moment": 0.5, "eta": 0.1, "lambda_ij": 0.25, "x": 0.0}
    assert three_steps.missed(at) == ""
    assert three_steps.sides(at) == pytest.approx((end, end))
    assert [">", "x", "0"] not in three_steps.statement()["given"]

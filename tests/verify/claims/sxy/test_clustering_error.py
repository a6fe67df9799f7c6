"""A cell of the sharp Lemma 2 in which wrong labels come from the models and not from noise."""

import numpy as np
import pytest

from trials.experiments.sxy.refinement import CLUSTERING_ERROR
from verify.claims.sxy.clustering_error import ELSEWHERE


@pytest.mark.statistical
def test_models_far_from_their_optima_give_wrong_labels_without_noise():
    """One model errs by 0.45 beside the line of the optima, the other by 0.45 along it.

    Over two rows the law of F, whose tail is 1/(1 + x), gives the probability of a wrong label by
    the eigenvalues of S diag(1, -1) for the products S of both models' errors.  The trials have
    6,400 clients, and five deviations of the share are 0.026.
    """
    cell = ELSEWHERE[0]
    assert (cell["sigma"], cell["start"], cell["n"]) == (1e-3, "orthogonal", 2)
    rows = CLUSTERING_ERROR.simulate(CLUSTERING_ERROR.check(cell), np.random.default_rng(0), 16)
    share, pull = rows.T
    beside = (0.45**2, 0.0, 0.55**2)
    along = (0.45**2, 0.45, 1 + 0.45**2)
    wrong = []
    for own, product, other in (beside, along):
        found = np.linalg.eigvals(np.array([[own, -product], [product, -other]])).real
        wrong.append(1 / (1 - found.min() / found.max()))
    assert np.mean(share) == pytest.approx(np.mean(wrong), abs=0.027)
    nu = np.maximum(share, np.exp(-1.0))
    assert np.all(pull < 3 * nu * 0.45)
    assert np.all(pull > 46 * nu * cell["sigma"])  # 46 is the proof's constant

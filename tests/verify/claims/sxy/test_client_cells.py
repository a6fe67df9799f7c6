"""A cell of one client's error that tells kappa from one."""

import numpy as np
import pytest

from trials.experiments.sxy.refinement import REFINEMENT
from verify.papers import catalogue
from verify.procedures.base import PROFILES


def test_eight_equal_clusters_fall_by_the_factor_of_many_local_steps():
    """Without noise a round takes rho (1 - (1 - gamma)^s) off: kappa divides rho s gamma."""
    cells = catalogue()["sxy.per-client"].build(PROFILES["quick"]).cells
    (cell,) = [c for c in cells if c.get("k") == 8 and c.get("s") == 20]
    rows = REFINEMENT.simulate(REFINEMENT.check(cell), np.random.default_rng(0), 4)
    found = dict(zip(REFINEMENT.columns, rows.T, strict=True))
    local = 1.0 - (1.0 - found["step"]) ** 20  # for features of unit covariance
    assert found["client"] == pytest.approx(0.1 * (1 - local / 8) ** 40, rel=0.3)
    kappa = 20 * 0.15 / (1.0 - 0.85**20)
    decrease = 0.5 * 20 * found["step"] / 8
    assert np.all(found["client"] <= 0.1 * (1 - decrease / kappa) ** 40)
    assert np.all(found["client"] > 0.15 * (1 - decrease) ** 40)  # without kappa

"""A cell of the sharp floor that tells one from the root of the local steps."""

import math

import numpy as np

from trials.experiments.sxy.refinement import REFINEMENT
from verify.papers import catalogue
from verify.procedures.base import PROFILES


def test_many_local_steps_tell_one_from_the_root_of_s():
    """400 steps of 1/500 have kappa = 0.8/(1 - exp(-0.8)) nearly."""
    cells = catalogue()["sxy.thm2-floor-sharp"].build(PROFILES["quick"]).cells
    (cell,) = (c for c in cells if c.get("s") == 400)
    rows = REFINEMENT.simulate(REFINEMENT.check(cell), np.random.default_rng(0), 4)
    ends = rows[:, REFINEMENT.columns.index("err_40")]
    unit = cell["sigma"] * math.sqrt(2 / (cell["M"] * cell["n"]))
    kappa = 0.8 / -math.expm1(-0.8)
    floor = 6 * unit * math.sqrt(kappa * cell["d"])
    assert np.all(ends < floor)
    # Theorem 2's first term with C1 = 1/2, where no curvature of a client is above two
    start = cell["near"] * (1 - 0.8 / 2 / kappa / 2 / 2) ** 40
    assert np.median(ends) > floor / math.sqrt(cell["s"]) + start

r"""Deciding upper bounds with unspecified universal constants.

The claim: there are constants :math:`c \in \prod_j [l_j, h_j]` (a declared, generous box) such that
in every cell :math:`x` that meets the assumptions

.. math:: P\{\, S_x > b(c, x) \,\} \le \delta(c, x) .

Support needs all three parts below.  The first alone, or the other two together, can refute.

1. *Feasibility.*  Let :math:`c^+` be the most generous corner of the box, where b and delta are
   largest and the assumptions strictest.  A cell in which :math:`P(S > b(c^+)) \le \delta(c^+)` is
   rejected excludes the whole box.  A constant that the theorem lets one *choose* (a step size) has
   no generous end: its trials are run separately for each value of a declared grid, and the claim
   is refuted when every grid value is excluded by some cell.  The smallest set of cells that does
   so is the witness.
2. *Extrapolation.*  The calibration cells alone fit the constants.  The choice with the most room
   is taken.  The other constants are made as sharp as the empirical violation rates allow, and are
   then frozen with a declared slack factor.  Fresh trials in held-out cells test
   :math:`P(S > b(\hat c)) \le \delta`.  There each parameter, alone and jointly, lies at least
   ``min_extrapolation`` times outside the calibrated range.
3. *Drift.*  The required constant of a cell is the smallest multiple :math:`\kappa_x` of the frozen
   bound that would hold in it (a quantile of S / b).  Its logarithm is regressed on the log
   parameters with the HC3 covariance.  In no declared direction may it grow faster than ``margin``
   per unit log, nor as fast as a logarithm would: `logarithm_slope` is the slope that least squares
   gives, in these very cells, to a required constant that grows like log x.  Least squares is
   linear.  So under that alternative the fitted slope has exactly this mean, and an upper limit
   below it is a level test of the alternative.  The lack of fit of a power law only widens the
   limit.  A quantile shows no growth that comes from a smaller and smaller delta, once delta is
   smaller than the trials resolve.  There the constants that an exact law requires at delta itself
   must not grow either, and without a law the verdict names the probability that was resolved.
   The verdict also states the factor of growth over the tried range that the limits exclude.  A
   required constant below ``kappa_floor`` counts as ``kappa_floor``, because the trend of a
   constant that is not needed says nothing.  Growth *refutes* only where it is also seen
   within each half of the range, with a free shift between the halves.  A required constant that
   jumps once is flat in one of them, and the larger constant is enough for every cell.

Error control.  Half of ``level`` goes to feasibility, split over cells and choices.  The other half
is used by extrapolation *and* by drift.  The claim is refuted only if both reject, so each may use
all of it.  Where there is a choice, both must reject under every choice that is still feasible.
Support needs every part, so it needs no split (intersection-union, Berger 1982).  The second
route controls the probability of refuting a required constant whose trend is at most ``margin``
over the tested range, or in one half of it.  A constant that grows over the whole range and levels
off beyond it can be refuted.  The verdict is therefore always given with the range.  Frozen
constants are tested on fresh trials alone.
Calibration cells take part in the regression.  The constants fitted on them give a factor that all
cells share (with several constants, shared weights of the bound's terms) and no slope.
"""

from verify.decisions.constants.calibration import Calibration
from verify.decisions.constants.decision import (
    ConstantsDecision,
    ConstantsRules,
    decide_constants,
    infeasible,
)
from verify.decisions.constants.drift import Drift, DriftSlope, logarithm_slope
from verify.decisions.constants.feasibility import Feasibility, FeasibilityRow
from verify.decisions.constants.problem import (
    Bound,
    CellSample,
    ConstantBox,
    ConstantValues,
    Direction,
)

__all__ = [
    "Bound",
    "Calibration",
    "CellSample",
    "ConstantBox",
    "ConstantValues",
    "ConstantsDecision",
    "ConstantsRules",
    "Direction",
    "Drift",
    "DriftSlope",
    "Feasibility",
    "FeasibilityRow",
    "decide_constants",
    "infeasible",
    "logarithm_slope",
]

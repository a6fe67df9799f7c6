r"""Whether a printed number is reproduced: equivalence within its reading tolerance.

A printed value :math:`v \pm \tau` is compared with confidence limits :math:`[L, U]` of the same
quantity here: the number is *reproduced* when :math:`v - \tau \le L` and :math:`U \le v + \tau`
(two one-sided tests, Schuirmann 1987), *contradicted* when the limits and :math:`v \pm \tau` do not
meet, and undecided otherwise.  Where the paper's number is itself a mean of few runs :math:`r` with
standard error :math:`s`, the limits are widened by :math:`t_{r-1} s` and the level is halved
between the two sources of error.  With a normal quantile in the place of Student's a true mean of
five runs would be refuted 25 times as often as a level of 0.001 says.

A median is compared through order statistics with limits that hold at any stopping time, so that
counts of rounds with a long tail need no moments.

References
----------
Schuirmann (1987). Two one-sided tests and the power approach. J. Pharmacokin. Biopharm. 15.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy

from bounds.statement import Printed
from verify.decisions.combine import CellDecision, Status
from verify.decisions.means import (
    ASYMPTOTIC,
    Knowledge,
    LowerTest,
    mean_and_deviation,
    why_not_asymptotic,
)
from verify.decisions.sequences import FloatArray, check_level, quantile_lower, quantile_upper

Estimand = Literal["mean", "median"]


@dataclass(frozen=True, kw_only=True)
class ReproductionTest:
    """One printed number against the trials of one reading of its experiment.

    Attributes
    ----------
    knowledge : about one trial's value (used for means).
    horizon : the budget in trials.
    refute_level, support_level : probabilities of the two wrong verdicts about this number.
    """

    printed: Printed
    knowledge: Knowledge
    horizon: int
    refute_level: float
    support_level: float
    estimand: Estimand = "mean"

    def __post_init__(self) -> None:
        """Refuse levels that decide nothing."""
        check_level(self.refute_level)
        check_level(self.support_level)

    def _share(self, level: float) -> tuple[float, float]:
        """The part of a level for our trials, and the width that the standard error of the paper's
        number adds.
        """
        if self.printed.se == 0:
            return level, 0.0
        of_the_paper = scipy.stats.t.isf(level / 2, self.printed.runs - 1)
        return level / 2, float(of_the_paper) * self.printed.se

    def _tests(self, level: float) -> tuple[LowerTest, LowerTest]:
        """The tests of "at most" and, of minus the values, of "at least"."""
        target, k = self.printed.value, self.knowledge
        return (
            LowerTest(knowledge=k, target=target, level=level, horizon=self.horizon),
            LowerTest(knowledge=k.mirrored(), target=-target, level=level, horizon=self.horizon),
        )

    def limits(self, x: FloatArray, level: float) -> tuple[float, float]:
        """Two one-sided limits, each at ``level``, of the quantity here minus the paper's error."""
        share, widening = self._share(level)
        if self.estimand == "median":
            lower = quantile_lower(x, 0.5, share, anytime=True)
            upper = quantile_upper(x, 0.5, share, anytime=True)
        else:
            above, below = self._tests(share)
            lower, upper = above.limit(x), -below.limit(-x)
        return lower - widening, upper + widening

    def _exceeds(self, x: FloatArray, value: float, level: float) -> bool:
        """Whether the quantity here is above ``value`` with confidence."""
        share, widening = self._share(level)
        if self.estimand == "median":
            return self.limits(x, level)[0] > value
        return self._tests(share)[0].rejects(x, value + widening)

    def _falls_below(self, x: FloatArray, value: float, level: float) -> bool:
        """Whether the quantity here is below ``value`` with confidence."""
        share, widening = self._share(level)
        if self.estimand == "median":
            return self.limits(x, level)[1] < value
        return self._tests(share)[1].rejects(-x, widening - value)

    def status(self, x: FloatArray) -> Status:
        """The status of the printed number.  No limit is computed for means."""
        low, high = (
            self.printed.value - self.printed.tolerance,
            self.printed.value + self.printed.tolerance,
        )
        strict = self.refute_level / 2
        if self._exceeds(x, high, strict) or self._falls_below(x, low, strict):
            return "fails"
        return "holds" if self._is_inside(x, low, high) else "open"

    def _is_inside(self, x: FloatArray, low: float, high: float) -> bool:
        """Whether the quantity here lies between two values, which belong to the band."""
        if self.estimand == "median":  # a limit is a trial's value, and may be an end itself
            lower, upper = self.limits(x, self.support_level)
            return low <= lower and upper <= high
        inside = self._exceeds(x, low, self.support_level)
        return inside and self._falls_below(x, high, self.support_level)

    def decide(self, x: FloatArray, *, n_failed: int = 0, limits: bool = True) -> CellDecision:
        """The number's decision.  The limits in the record are those of support."""
        status = self.status(x)
        lower, upper = self.limits(x, self.support_level) if limits else (-math.inf, math.inf)
        finite = bool(np.all(np.isfinite(x))) and x.size > 1
        if self.estimand == "median":
            observed, se = float(np.median(x)), None
        else:
            observed, deviation = mean_and_deviation(x, ddof=1) if finite else (math.inf, math.nan)
            se = deviation / math.sqrt(x.size) if finite else None
        reason = self._why(x, status)
        return CellDecision(
            status=status,
            n_trials=x.size,
            n_failed=n_failed,
            bound=self.printed.value,
            observed=observed if math.isfinite(observed) else None,
            se=se,
            lower=lower if math.isfinite(lower) else None,
            upper=upper if math.isfinite(upper) else None,
            reason=reason,
            asymptotic=reason == ASYMPTOTIC,
            relation="equals",
        )

    def _why(self, x: FloatArray, status: Status) -> str:
        k = self.knowledge
        exact = math.isfinite(k.variance) or (math.isfinite(k.low) and math.isfinite(k.high))
        if self.estimand == "median" or exact:
            return "the limits are wider than the tolerance" if status == "open" else ""
        if status == "open":
            refused = why_not_asymptotic(x, self.support_level) if k.asymptotic else ""
            return refused or "the limits are wider than the tolerance"
        return ASYMPTOTIC

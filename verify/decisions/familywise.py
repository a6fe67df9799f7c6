r"""How the error budget of a batch is shared: weighted Bonferroni over claims, then over cells.

A batch at family-wise level :math:`\alpha` gives claim :math:`i` the share
:math:`\alpha_i = \alpha w_i / \sum_j w_j`.  Whatever the dependence between claims (they may share
trials), the probability that *any* true claim of the batch is refuted is at most
:math:`\sum_i \alpha_i = \alpha`.  Refuting within a claim splits :math:`\alpha_i` over its cells in
the same way; *supporting* needs no split, because every cell has to agree (an
intersection-union test: Berger 1982, Technometrics 24).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from trials.checks import InvalidParameter
from verify.decisions.sequences import check_level
from verify.evidence import EvidenceTable


@dataclass(frozen=True, kw_only=True)
class Allocation:
    """The shares of a family-wise level, by claim; they add up to at most ``level``."""

    level: float
    shares: Mapping[str, float]

    def table(self) -> EvidenceTable:
        """The allocation as a table for the report."""
        rows = [(name, share, share / self.level) for name, share in self.shares.items()]
        return EvidenceTable(
            title="Allocation of the family-wise error level",
            columns=("claim", "level", "share"),
            rows=rows,
            note=f"weighted Bonferroni; the shares add up to {self.level:g}",
        )


def allocate(level: float, weights: Mapping[str, float]) -> Allocation:
    """Split ``level`` over claims in proportion to positive weights, declared before the run."""
    check_level(level)
    for name, weight in weights.items():
        if not (weight > 0 and math.isfinite(weight)):
            raise InvalidParameter(f"weight of claim {name!r}={weight} must be positive and finite")
    total = math.fsum(weights.values())
    return Allocation(level=level, shares={k: level * w / total for k, w in weights.items()})

r"""How the error level of a run is shared: first by paper, then by claim within the paper.

A run has a family-wise level :math:`\alpha`.  Each paper takes the fixed share
:math:`\alpha / 4` (`PAPER_SHARE`), so that another paper in the run changes nothing.  The paper's
share is split over the *full* list of its statistical claims, by declared weights: claim
:math:`i` has :math:`\alpha_i = (\alpha / 4)\, w_i / \sum_j w_j`, whichever claims the run names.
So a claim that is run alone at the same :math:`\alpha` has the same level, and gives the same page.

A deterministic search draws nothing at random that could refute a true statement.  It takes no
share.  A claim that a run names several times, at different values, splits its level equally.

Family-wise control.  A run of at most four papers has :math:`\sum_i \alpha_i \le \alpha`: every
paper's shares add up to :math:`\alpha / 4`, and fewer claims only make the sum smaller.  The
probability that *any* true claim of the run is refuted is at most :math:`\sum_i \alpha_i`
(Bonferroni).  This holds under any dependence between claims, which may share trials.  Refuting
within a claim splits :math:`\alpha_i` over its cells in the same way.  *Supporting* needs no split,
because every cell has to agree (an intersection-union test: Berger 1982, Technometrics 24).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trials.checks import InvalidParameter
from verify.decisions.sequences import check_level
from verify.evidence import EvidenceTable

#: The share of the family-wise level that each paper takes.
PAPER_SHARE = 0.25


@dataclass(frozen=True, kw_only=True)
class Allocation:
    """The levels of a run's statistical selections.  Their sum is at most ``level``.

    Attributes
    ----------
    levels : selection -> error level of its verdict.
    alone : selection -> family-wise level at which a run of that selection alone has the same
        ``levels`` entry.  It differs from ``level`` where one claim is named several times.
    """

    level: float
    levels: Mapping[str, float]
    alone: Mapping[str, float]

    def table(self) -> EvidenceTable:
        """The allocation as a table for the report."""
        rows = [(name, share, share / self.level) for name, share in self.levels.items()]
        return EvidenceTable(
            title="Allocation of the family-wise error level",
            columns=("claim", "level", "share"),
            rows=rows,
            note=f"each paper has {PAPER_SHARE:g} of {self.level:g}, split over all of its "
            "statistical claims, whichever were run; deterministic searches take no share",
        )


def allocate(
    level: float,
    papers: Mapping[str, Mapping[str, float]],
    selections: Sequence[tuple[str, str]],
) -> Allocation:
    """Give every selection its level.

    Parameters
    ----------
    level : family-wise error level of the run, in (0, 1).
    papers : paper -> statistical claim -> positive weight.  It holds each paper's full list.
    selections : (selection, claim) pairs of the run.  A claim that no list holds is deterministic
        and has no level.

    Raises
    ------
    InvalidParameter
        For a level outside (0, 1), a weight that is not positive, or selections of more papers
        than the level has shares for.

    Examples
    --------
    >>> lists = {"ifca": {"ifca.thm1": 1.0, "ifca.cor1": 1.0}, "sxy": {"sxy.thm1": 1.0}}
    >>> allocate(0.08, lists, [("ifca.thm1", "ifca.thm1")]).levels
    {'ifca.thm1': 0.01}
    """
    check_level(level)
    weights: dict[str, float] = {}
    paper_of: dict[str, str] = {}
    for paper, claims in papers.items():
        for name, weight in claims.items():
            if not (weight > 0 and math.isfinite(weight)):
                raise InvalidParameter(
                    f"weight of claim {name!r}={weight} must be positive and finite"
                )
        total = math.fsum(claims.values())
        for name, weight in claims.items():
            weights[name], paper_of[name] = weight / total, paper
    statistical = [(selection, claim) for selection, claim in selections if claim in weights]
    tried = sorted({paper_of[claim] for _, claim in statistical})
    most = round(1 / PAPER_SHARE)
    if len(tried) > most:
        raise InvalidParameter(
            f"a run holds statistical claims of at most {most} papers, each with "
            f"{PAPER_SHARE:g} of the error level; these are {len(tried)} ({', '.join(tried)}): "
            "name fewer papers and make several runs"
        )
    times = Counter(claim for _, claim in statistical)
    alone = {selection: level / times[claim] for selection, claim in statistical}
    return Allocation(
        level=level,
        levels={
            selection: alone[selection] * PAPER_SHARE * weights[claim]
            for selection, claim in statistical
        },
        alone=alone,
    )

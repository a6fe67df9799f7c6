"""The error levels of a run's claims, fixed by the papers' full lists of claims."""

from __future__ import annotations

from collections.abc import Mapping

from verify.claim import Claim
from verify.decisions.familywise import Allocation, allocate
from verify.plan import Plan


def paper_of(claim_id: str) -> str:
    """The paper's part of ``paper.statement``."""
    return claim_id.partition(".")[0]


def allocate_levels(
    level: float, catalogue: Mapping[str, Claim], planned: Plan, profile: str | None = None
) -> Allocation:
    """Give every statistical claim of a plan its level (see `verify.decisions.familywise`).

    Whether a claim is statistical is its procedure's to say, so the procedures of all claims of
    the plan's papers are built, once in a process, also of those that are not run.  ``profile`` is
    the name of the plan's profile: a claim that the plan holds at its smallest profile is not built
    again.
    """
    built = {p.claim.id: p for p in planned.claims if p.claim.smallest_profile == profile}
    tried = {paper_of(p.claim.id) for p in planned.claims}
    papers: dict[str, dict[str, float]] = {paper: {} for paper in sorted(tried)}
    for name, claim in catalogue.items():
        if (paper := paper_of(name)) in papers:
            same = name in built and not built[name].selection.values
            if built[name].procedure.statistical if same else claim.statistical:
                papers[paper][name] = claim.weight
    selections = [(str(p.selection), p.claim.id) for p in planned.claims]
    return allocate(level, papers, selections)

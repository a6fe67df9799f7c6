"""Turning a run's stored documents into the template's variables and the files beside the report.

Nothing is estimated here.  Stored values are selected (the worst cell has the largest stored
ratio), rounded and put into sentences.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from reports import overview
from reports.characters import Latex
from reports.claim_page import Files, claim_page, commands
from reports.latex import escape_text
from reports.reading import Tried, listed, ordered, plural, slug
from reports.schema import Claim, Finding, Paper, Power, Reader, Summary, Symbols, read
from reports.values import number


@dataclass(frozen=True, kw_only=True)
class Report:
    """The template's variables and the files that go beside the report."""

    context: dict[str, Any]
    files: Files = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Run:
    """The documents of a run as records, its claims in order."""

    summary: Summary
    claims: list[Tried]
    papers: dict[str, Paper]
    findings: dict[str, Finding]
    symbols: dict[str, Symbols]

    @property
    def names(self) -> dict[str, str]:
        """The names of the claims' pages, by the claims' keys."""
        return {claim.key: claim.name for claim in self.claims}

    @property
    def by_paper(self) -> dict[str, list[Tried]]:
        """The claims of each paper, by the citation that the claims give."""
        found: dict[str, list[Tried]] = {}
        for claim in self.claims:
            found.setdefault(claim.claim.paper, []).append(claim)
        return found

    @property
    def subtitle(self) -> str:
        """The run's name, profile and seed, or nothing where one of them is not known."""
        told = self.summary
        if None in (told.run_id, told.profile, told.seed):
            return ""
        return f"run {told.run_id}, profile {told.profile}, seed {told.seed}"


def load(reader: Reader) -> Run:
    """Read a run.

    Raises
    ------
    ReportError
        When a document cannot be read.  The message names it.
    """
    summary = read(reader, "run", Summary).get("summary", Summary())
    return Run(
        summary=summary,
        claims=ordered(read(reader, "claim", Claim), summary, read(reader, "power", Power)),
        papers=read(reader, "paper", Paper),
        findings=read(reader, "finding", Finding),
        symbols=read(reader, "symbol", Symbols),
    )


def methods(run: Run) -> dict[str, Any]:
    """The variables of the template on methods."""
    level = run.summary.familywise_level
    return {
        "n_claims": Latex(plural(len(run.claims), "claim")),
        "papers": listed([str(escape_text(paper)) for paper in run.by_paper if paper]),
        "familywise": number(level) if level is not None else "",
        "multiple_tables": len(run.by_paper) > 1,
        "data": overview.data(run.papers),
    }


def collect(run: Run, *, engine: str) -> Report:
    """Everything that the templates need, from a run.

    A kind of document that the run lacks has no section.  A claim without evidence is listed
    as not run.

    Raises
    ------
    ReportError
        When a document or a formula in it cannot be read.  The message names it.
    """
    summary, claims, names, papers = run.summary, run.claims, run.names, run.by_paper
    files: Files = {}
    verdicts = []
    for paper, shown in papers.items():
        source = overview.verdict_table(paper, shown).latex()
        files[f"tables/verdicts-{slug(paper)[:80]}.tex"] = source + "\n"
        verdicts.append(source)
    context = {
        **methods(run),
        "title": escape_text(summary.title),
        "subtitle": escape_text(run.subtitle),
        "date": escape_text(overview.date(summary.finished or summary.started)),
        "abstract": overview.abstract(claims, summary),
        "verdict_note": Latex(
            "Each claim links to its page. A statement that is known to be false is expected to be "
            "refuted."
            if claims
            else "No claim has been tried."
        ),
        "verdict_tables": verdicts,
        "claims": [
            (
                escape_text(f"Claims: {paper}" if paper else "Claims"),
                [claim_page(claim, files) for claim in shown],
            )
            for paper, shown in papers.items()
        ],
        "slips": overview.slips(run.findings),
        "headlines": overview.headlines(run.findings, names, run.papers),
        "findings": overview.findings(run.findings, names),
        "environment": overview.environment(summary, engine),
        "commands": commands(summary.commands),
        "symbols": overview.notation(run.symbols, run.papers),
    }
    return Report(context=context, files=files)

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


def tried(reader: Reader) -> list[Tried]:
    """The claims of a run with their evidence, in the order of the run."""
    summary = read(reader, "run", Summary).get("summary", Summary())
    return ordered(read(reader, "claim", Claim), summary, read(reader, "power", Power))


def collect(reader: Reader, *, engine: str) -> Report:
    """Everything that the templates need, from the documents of a run.

    A kind of document that the run lacks has no section.  A claim without evidence is listed
    as not run.

    Raises
    ------
    ReportError
        When a document or a formula in it cannot be read.  The message names it.
    """
    summary = read(reader, "run", Summary).get("summary", Summary())
    claims = tried(reader)
    names = {claim.key: claim.name for claim in claims}
    told = read(reader, "paper", Paper)
    papers = list(dict.fromkeys(claim.claim.paper for claim in claims))
    found = read(reader, "finding", Finding)
    files: Files = {}
    verdicts = []
    for paper in papers:
        source = overview.verdict_table(paper, [c for c in claims if c.claim.paper == paper])
        files[f"tables/verdicts-{slug(paper)[:80]}.tex"] = source + "\n"
        verdicts.append(source)
    subtitle = ""
    if None not in (summary.run_id, summary.profile, summary.seed):
        subtitle = f"run {summary.run_id}, profile {summary.profile}, seed {summary.seed}"
    level = summary.familywise_level
    context = {
        "title": escape_text(summary.title),
        "subtitle": escape_text(subtitle),
        "date": escape_text(overview.date(summary.finished or summary.started)),
        "abstract": overview.abstract(claims, summary),
        "n_claims": Latex(plural(len(claims), "claim")),
        "papers": listed([str(escape_text(paper)) for paper in papers if paper]),
        "familywise": number(level) if level is not None else "",
        "multiple_tables": len(verdicts) > 1,
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
                [claim_page(claim, files) for claim in claims if claim.claim.paper == paper],
            )
            for paper in papers
        ],
        "slips": overview.slips(found),
        "headlines": overview.headlines(found, names, told),
        "findings": overview.findings(found, names),
        "environment": overview.environment(summary, engine),
        "commands": commands(summary.commands),
        "symbols": overview.notation(read(reader, "symbol", Symbols), told),
        "data": overview.data(told),
    }
    return Report(context=context, files=files)

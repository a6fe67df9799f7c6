"""Turning a run's stored documents into the template's variables and the files beside the report.

Nothing is estimated here.  Stored values are selected (the worst cell has the largest stored
ratio), rounded and put into sentences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reports import bibliography, overview
from reports.benchmark_page import Benchmark, Item, benchmarks, diagrams, items
from reports.characters import Latex
from reports.claim_page import Place, claim_page
from reports.claim_tables import Files
from reports.dependencies import CITED, Graph, dependency_graph
from reports.reading import Tried, slugs, sort_claims
from reports.schema import Claim, Finding, Paper, Plan, Power, Reader, Summary, Symbols, read
from reports.text import commands, escape_text, number, plural


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
    benchmarks: Mapping[str, Benchmark] = field(default_factory=dict)
    diagrams: Mapping[str, Benchmark] = field(default_factory=dict)
    planned: Sequence[str] = ()
    profile: str | None = None

    @property
    def pending(self) -> list[str]:
        """The claims of the run that have no verdict yet, of the profile that it is run with."""
        decided = {
            claim.key
            for claim in self.claims
            if claim.claim.evidence is not None
            and self.profile in (None, claim.claim.profile or self.profile)
        }
        return [name for name in self.planned if name not in decided]

    @property
    def left_out(self) -> list[tuple[str, str]]:
        """The claims that the profile leaves out, with the reasons."""
        return [item for item in self.summary.not_run if item[0] not in self.planned]

    @property
    def names(self) -> dict[str, str]:
        """The names of the claims' pages, by the claims' keys."""
        return {claim.key: claim.name for claim in self.claims}

    @property
    def anchors(self) -> dict[str, str]:
        """The names of the findings in addresses, by their keys."""
        return slugs(self.findings)

    @property
    def by_key(self) -> dict[str, Tried]:
        """The claims by their keys."""
        return {claim.key: claim for claim in self.claims}

    @property
    def by_paper(self) -> dict[str, list[Tried]]:
        """The claims of each paper, by the citation that the claims give."""
        found: dict[str, list[Tried]] = {}
        for claim in self.claims:
            found.setdefault(claim.claim.paper, []).append(claim)
        return found

    @property
    def graphs(self) -> dict[str, Graph]:
        """The dependency graph of each paper that has claims, by the paper's id.

        The known results that the proofs of the claims cite are statements of it.
        """
        verdicts: dict[str, dict[str, str]] = {}
        cited: dict[str, list[str]] = {}
        for claim in self.claims:
            name, proved = claim.claim.id, claim.evidence.proved
            verdicts.setdefault(name.partition(".")[0], {}).setdefault(name, claim.verdict)
            cited[name] = [] if proved is None else proved.lemmas
        return {
            key: dependency_graph(
                {**found, **{lemma: CITED for name in found for lemma in cited[name]}},
                {name: [*self.papers[key].uses.get(name, ()), *cited[name]] for name in found},
            )
            for key, found in verdicts.items()
            if key in self.papers
        }

    @property
    def compared(self) -> list[Item]:
        """The benchmarks of the run and its phase diagrams, as they stand in its report."""
        return items(self.benchmarks, self.diagrams)

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
    plans = read(reader, "run", Plan)
    return Run(
        planned=plans.get("plan", Plan()).claims,
        profile=plans.get("extension", Plan()).profile,
        summary=summary,
        claims=sort_claims(read(reader, "claim", Claim), summary, read(reader, "power", Power)),
        papers=read(reader, "paper", Paper),
        findings=read(reader, "finding", Finding),
        symbols=read(reader, "symbol", Symbols),
        benchmarks=benchmarks(reader),
        diagrams=diagrams(reader),
    )


def methods(run: Run) -> dict[str, Any]:
    """The variables of the template on methods."""
    level = run.summary.familywise_level
    return {
        "n_claims": Latex(plural(len(run.claims), "claim")),
        "papers": Latex("; ".join(escape_text(paper) for paper in run.by_paper if paper)),
        "familywise": number(level) if level is not None else "",
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
    summary, names, papers = run.summary, run.names, run.by_paper
    files: Files = {}
    nodes = {node.id: node for graph in run.graphs.values() for node in graph.nodes}
    pages = {
        paper: [
            claim_page(claim, files, Place(shown[:i], nodes.get(claim.claim.id), names), None)
            for i, claim in enumerate(shown)
        ]
        for paper, shown in papers.items()
    }
    context = {
        **methods(run),
        "title": escape_text(summary.title),
        "subtitle": escape_text(run.subtitle),
        "date": escape_text(overview.date(summary.finished or summary.started)),
        "abstract": overview.abstract(run.claims, summary, run.pending, len(run.planned)),
        "claims": [
            (escape_text(f"Claims: {paper}" if paper else "Claims"), made)
            for paper, made in pages.items()
        ],
        "findings": overview.findings(run.findings, run.by_key),
        "environment": overview.environment(summary, engine),
        "commands": commands(summary.commands),
        "symbols": overview.notation(run.symbols, run.papers),
        "references": bibliography.references(run.papers),
    }
    if context["references"]:
        files["papers.bib"] = bibliography.bibtex(run.papers)
    return Report(context=context, files=files)

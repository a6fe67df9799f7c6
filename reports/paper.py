"""The paper of the run, which is ``report.pdf`` and the first page of the site.

It is made for a person who reads ten minutes: what was found, which theorems hold, how sharp they
are, and how sure all of it is.  Every finding rests on a claim of this run.  Nothing is estimated
here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Decimal
from typing import Any

from reports import overview
from reports.benchmark_page import Table
from reports.characters import Latex
from reports.claim_tables import Files, assignment, evidence_table
from reports.collect import Run
from reports.dependencies import Node
from reports.figures import Form, render
from reports.picture import picture
from reports.picture import render as render_picture
from reports.reading import Tried, slug, verdict_word
from reports.results import results, table_rows
from reports.schema import Cell, Figure, Finding, Power
from reports.tables import PrintedTable
from reports.text import (
    capital,
    code,
    commands,
    enumerate_items,
    escape_text,
    join_sentences,
    number,
    paragraphs,
    plural,
    prose,
    sentence,
)

#: The findings that the paper prints, at most.
MOST = 12
#: The findings that get a figure, the papers' figures and tables that are shown, and long tables.
_FIGURES, _REDRAWN, _REPRINTED, _LONG = 4, 4, 12, 45
_MAIN = ("Theorem", "Corollary", "Proposition")
#: A benchmark's tables in the paper, and its columns that only the site shows: a line of the paper
#: holds the others.
_MOST_TABLES = 2
_ON_THE_SITE = ("held-out", "mean held-out", "rounds", "cpu", "cpu [s]")
#: Notes of a benchmark in the paper.  The first ones say what its limits are about.
_MOST_NOTES = 6
_STARRED = (
    "A star marks the methods that no other one is shown to beat, oracles left out. Under "
    "/ first stands the error over that of the first method. The site has all tables, with more "
    "columns."
)
#: What a claim of a kind observes in its trials, and the relation of the stated value.
_OBSERVED = {
    "probability": ("failure rate", "at most"),
    "upper bound": ("value", "at most"),
    "expectation": ("mean", "at most"),
    "rate": ("exponent", ""),
    "vacuity": ("left side", "at least"),
}

#: The description of a counterexample whose observed value is a share of trials.
_SHARE_OF_TRIALS = re.compile(r"violation rate|.* trials; this is the first of them$", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A finding that this run shows, with the claim that shows it."""

    key: str
    finding: Finding
    claim: Tried
    paper: str


def links_to_site(source: str) -> str:
    """Links to the pages of claims as links to the site that stands beside the PDF."""
    return re.sub(r"\\hyperref\[sec:([A-Za-z0-9.-]+)\]\{", r"\\href{site/claims/\1.html}{", source)


def title(run: Run) -> str:
    """The title: that of the run, or of its paper where it holds one paper."""
    titles = [paper.title for paper in run.papers.values() if paper.title]
    return titles[0] if len(titles) == 1 else run.summary.title


# -- findings ------------------------------------------------------------------------------------


def choose_findings(run: Run) -> list[Shown]:
    """The findings of which this run holds a refuted claim, the gravest first."""
    found = []
    rank = {name: i for i, name in enumerate(overview.SEVERITIES)}
    for key, finding in run.findings.items():
        tried = [run.by_key[name] for name in finding.claims if name in run.by_key]
        refuted = [claim for claim in tried if claim.verdict == "REFUTED"]
        if refuted:
            paper = key.partition("-")[0]
            found.append(Shown(key=key, finding=finding, claim=refuted[0], paper=paper))
    main = re.compile("|".join(_MAIN))
    return sorted(
        found,
        key=lambda item: (
            rank.get(item.finding.severity, len(rank)),
            main.search(item.finding.where) is None,
            -len(item.finding.claims),
            item.key,
        ),
    )


def void(run: Run) -> list[Tried]:
    """The claims that ask where a statement says something and are answered: nowhere."""
    return [c for c in run.claims if c.claim.kind == "vacuity" and c.verdict == "VACUOUS"]


def _name(run: Run, paper: str) -> str:
    """A paper's name before a finding, empty where the run has one paper."""
    known = run.papers.get(paper)
    return known.title if known is not None and len(run.papers) > 1 else ""


def _counterexample(claim: Tried) -> Latex:
    """The counterexample in words, with its numbers named."""
    witness = claim.evidence.witness
    if witness is None:
        return prose(capital(sentence(claim.answer)))
    quantity, relation = _OBSERVED.get(claim.claim.kind, ("value", ""))
    if _SHARE_OF_TRIALS.match(witness.description):
        quantity = "failure rate"
    found_by_search = overview.is_search(claim)
    parts = []
    if not re.match(r"(log of|share by which)", witness.description):
        parts.append(str(prose(capital(sentence(witness.description)))))
    if witness.observed is not None and witness.bound is not None:
        if claim.claim.kind == "expectation" and claim.evidence.cells:
            side = claim.evidence.cells[0].relation  # a mean may be bounded on either side
            relation = "equal to" if side == "equals" else side
        stated = " ".join(word for word in ("stated", relation) if word)
        seen, limit = overview.apart(witness.observed, witness.bound)
        parts.append(
            f"The statement says {seen} {overview.relation(witness)} {limit}."
            if found_by_search
            else f"Observed {quantity} {seen}, {stated} {limit}."
        )
    if witness.params:
        parts.append(f"There {assignment(witness.params, list(witness.params))}.")
    return Latex(" ".join(parts))


def _consequence(run: Run, item: Shown, nodes: Mapping[str, Node]) -> Latex:
    """The statements whose proofs use the refuted claim, and the corrected forms that hold."""
    node = nodes.get(item.claim.claim.id)
    parts = []
    if node is not None and node.used_by:
        by_id = {claim.claim.id: claim for claim in run.claims}
        users = [name for name in node.used_by if name in by_id]
        links = [_link(by_id[name]) for name in users[:4]]
        if links:
            more = f" and {len(users) - 4} more" if len(users) > 4 else ""
            one = len(users) == 1
            parts.append(
                f"The printed {'proof' if one else 'proofs'} of {enumerate_items(links)}{more} "
                f"{'uses' if one else 'use'} it."
            )
    kept = [
        run.by_key[name]
        for name in item.finding.claims
        if name in run.by_key and run.by_key[name].verdict == "SUPPORTED"
    ]
    if kept:
        parts.append(f"What holds: {enumerate_items([_link(claim) for claim in kept[:3]])}.")
    return Latex(" ".join(parts))


def _link(claim: Tried) -> str:
    return rf"\hyperref[sec:{claim.name}]{{{code(claim.key)}}}"


def _grade(claim: Tried) -> Latex:
    grade = claim.evidence.grade
    return Latex(
        f"{verdict_word(claim.verdict, claim.mark)}{f', {escape_text(grade)}' if grade else ''}"
    )


def _describe_finding(run: Run, item: Shown, nodes: Mapping[str, Node]) -> dict[str, Any]:
    finding, paper = item.finding, _name(run, item.paper)
    headline = overview.summarise(finding)
    return {
        "anchor": run.anchors[item.key],
        "heading": headline,
        "paper": escape_text(paper),
        "where": prose(capital(finding.where)),
        "severity": escape_text(_SEVERITY.get(finding.severity, finding.severity)),
        "printed": paragraphs(sentence(finding.printed)),
        "found": paragraphs(sentence(finding.found)),
        "counterexample": Latex(f"{_counterexample(item.claim)} {_grade(item.claim)}: "
                                f"{_link(item.claim)}."),
        "consequence": _consequence(run, item, nodes),
        "corrected": paragraphs(sentence(finding.corrected)),
        "figure": None,
    }  # fmt: skip


_SEVERITY = {
    "statement": "a stated result is false",
    "proof": "a step of a proof is false",
    "edge": "false in a unit or at an edge",
    "strong": "a sentence is too strong",
    "slip": "a misprint or an open point",
}


def _sizes(cells: Sequence[Cell]) -> tuple[str, str]:
    """The sizes that are used and the sizes that are needed, each from the least to the most."""

    def span(values: Sequence[float]) -> str:
        if not values:
            return "none that was tried"
        low, high = number(min(values), 2), number(max(values), 2)
        return str(low) if low == high else f"{low} to {high}"

    used = [float(c.observed) for c in cells if c.observed is not None]
    needed = [float(c.bound) for c in cells if c.bound is not None]
    return span(used), span(needed)


def _void(run: Run, claim: Tried) -> dict[str, Any]:
    """A statement that says nothing at the sizes that its paper uses, and something at others."""
    cells = claim.evidence.cells
    used, needed = _sizes(cells)
    least = number(min(float(c.bound) for c in cells if c.bound is not None), 2)
    heading = (
        f"{prose(claim.claim.source.partition(',')[0])} is not practical: it needs {least} samples "
        f"at least, and {used} are used"
    )
    rows = "; ".join(
        f"{prose(str(c.params.get('setting', 'a setting')))}: used {number(c.observed, 2)}, needed "
        f"{number(c.bound, 2) if c.bound is not None else 'more than was tried'}"
        for c in cells
    )
    return {
        "anchor": slug(claim.key),
        "heading": Latex(sentence(heading)),
        "paper": escape_text(_name(run, claim.claim.id.partition(".")[0])),
        "where": prose(claim.claim.source),
        "severity": escape_text("true but void where it is used"),
        "printed": "",
        "found": Latex(f"The conditions or the bound fail at {number(len(cells))} of "
                       f"{plural(len(cells), 'setting')}."),
        "counterexample": Latex(f"{rows}. {_grade(claim)}: {_link(claim)}."),
        "consequence": Latex(f"The statement promises nothing there. Sizes used: {used}. Sizes "
                             f"from which on it says something: {needed}."),
        "corrected": "",
        "figure": None,
    }  # fmt: skip


def _draw(
    figure: Figure, name: str, files: Files, form: Form, role: str = "paper"
) -> dict[str, Any]:
    path = f"figures/paper-{name}.{form}"
    files[path] = render(figure, form=form)
    caption = " ".join(capital(sentence(part)) for part in (figure.title, figure.caption) if part)
    return {"path": Latex(path), "caption": prose(caption), "label": Latex(f"fig:{role}-{name}")}


def findings(run: Run, files: Files, form: Form) -> tuple[list[dict[str, Any]], list[Shown]]:
    """The findings that are printed, with figures for the first few, and those that are not."""
    nodes = {node.id: node for graph in run.graphs.values() for node in graph.nodes}
    nowhere = [c for c in void(run) if any(cell.bound is not None for cell in c.evidence.cells)]
    found = choose_findings(run)
    room = MOST - len(nowhere[:3])
    grave = [item for item in found if item.finding.severity in overview.HEADLINED]
    chosen = (grave + [item for item in found if item not in grave])[:room]
    made = []
    drawn = 0
    for item in chosen:
        entry = _describe_finding(run, item, nodes)
        figures = [
            f for f in item.claim.evidence.figures if len(f.shown) == 1 and f.shown[0].series
        ]
        if figures and drawn < _FIGURES:
            entry["figure"] = _draw(figures[0], item.claim.name, files, form, role="finding")
            drawn += 1
        made.append(entry)
    # A theorem that is void where it is used stands behind the theorems that are false.
    place = next(
        (i for i, item in enumerate(chosen) if item.finding.severity != "statement"), len(chosen)
    )
    made[place:place] = [_void(run, claim) for claim in nowhere[:3]]
    return made, [item for item in found if item not in chosen]


# -- the other sections --------------------------------------------------------------------------


def abstract(run: Run) -> Latex:
    """The claims that were tried, left out and proved, and the tally."""
    claims = run.claims
    if run.compared and not (claims or run.pending):
        counts = ((len(run.benchmarks), "benchmark"), (len(run.diagrams), "phase diagram"))
        held = ", ".join(plural(n, word) for n, word in counts if n)
        return Latex(f"This run holds {held} and no claim.")
    missing = len(run.left_out) + sum(claim.verdict == "NOT RUN" for claim in claims)
    told = str(overview.abstract(claims, run.summary, run.pending, len(run.planned)))
    if missing and claims:
        were = plural(missing, "claim was", "claims were")
        told += f" {were} not run{_profiles(run)}."
    return Latex(told)


def _profiles(run: Run) -> str:
    """The profiles that run the claims which this one leaves out, in parentheses."""
    counts: dict[str, int] = {}
    for _, reason in run.left_out:
        found = re.match(r"not run below (\w+)", reason)
        if found:
            counts[found[1]] = counts.get(found[1], 0) + 1
    told = [f"{n} with {code(f'--profile {name}')}" for name, n in counts.items()]
    return f" ({enumerate_items(told)})" if told else ""


def not_run(run: Run) -> list[Latex]:
    """The claims that were not run: those not reached, and a line for each profile of others."""
    groups: dict[str, list[str]] = {}
    for name, reason in run.left_out:
        found = re.match(r"not run below (\w+)", reason)
        groups.setdefault(found[1] if found else "", []).append(name)
    pending = ", ".join(str(code(name)) for name in run.pending)
    return [Latex(f"Not reached yet: {pending}.")] * bool(pending) + [
        Latex(
            (f"With {code(f'--profile {profile}')}: " if profile else "")
            + ", ".join(str(code(name)) for name in names)
            + "."
        )
        for profile, names in groups.items()
    ]


def theorems(run: Run) -> list[PrintedTable]:
    """A table a paper with a row a theorem, corollary and proposition."""
    nodes = {node.id: node for graph in run.graphs.values() for node in graph.nodes}
    found = [one for one in results(run.claims) if one.name.startswith(_MAIN)]
    made = []
    shares = (0.13, 0.15, 0.12, 0.13, 0.12, 0.3)
    ragged = r">{\raggedright\arraybackslash\hskip0pt}"
    for paper in dict.fromkeys(one.paper for one in found):
        rows = table_rows([one for one in found if one.paper == paper], nodes)
        made.append(
            PrintedTable(
                head=["result", "holds?", "bound over truth", "says something from",
                      "printed proof", "what fails"],
                rows=rows,
                align="llllll",
                caption=str(escape_text(sentence(paper or "Results"))),
                label=f"results-{slug(paper)}",
                spec="@{}"
                + r"@{\hspace{4pt}}".join(rf"{ragged}p{{{s}\linewidth}}" for s in shares)
                + "@{}",
            )
        )  # fmt: skip
    return made


def plain_table(run: Run) -> list[PrintedTable]:
    """All claims as tables, where a small run's sources name no theorem."""
    if len(run.claims) > _LONG:
        return []
    return [
        PrintedTable(
            head=["claim", "source", "verdict"],
            rows=[
                [_link(c), prose(c.claim.source), verdict_word(c.verdict, c.mark)] for c in claims
            ],
            align="lll",
            caption=str(escape_text(sentence(paper or "Claims"))),
            label=f"claims-{slug(paper)}",
        )
        for paper, claims in run.by_paper.items()
    ]


def _cite(run: Run, claim: Tried) -> Latex:
    """The place of a claim in print, with its paper where the run has several."""
    paper = [claim.claim.paper] * (len(run.by_paper) > 1)
    return prose(sentence(", ".join(filter(None, [*paper, claim.claim.source]))))


def redrawn(run: Run, files: Files, form: Form) -> list[dict[str, Any]]:
    """The papers' own figures, where this run drew them."""
    found: list[dict[str, Any]] = []
    for claim in run.claims:
        source = claim.claim.source
        if re.match(r"(Fig|Table)", source) and claim.evidence.figures and len(found) < _REDRAWN:
            made = _draw(claim.evidence.figures[0], claim.name, files, form)
            made["caption"] = Latex(
                f"{_cite(run, claim)} {made['caption']} "
                f"{verdict_word(claim.verdict, claim.mark)}: {_link(claim)}."
            )
            found.append(made)
    return found


def reprinted(run: Run) -> list[PrintedTable]:
    """The papers' own tables with what this run measured beside them.

    Such a table belongs to a claim whose source is a table, and has a column of what is printed.
    Claims that share trials show it once.
    """
    found: dict[str, PrintedTable] = {}
    for claim in run.claims:
        if not re.match(r"Tab", claim.claim.source):
            continue
        for i, table in enumerate(claim.evidence.tables, 1):
            if not any(head.startswith("printed") for head in table.columns):
                continue
            made, _ = evidence_table(table, f"paper-{claim.name}-{i}")
            verdict = f"{verdict_word(claim.verdict, claim.mark)}: {_link(claim)}."
            found.setdefault(
                f"{table.title} {table.rows}",
                replace(made, caption=f"{_cite(run, claim)} {made.caption} {verdict}"),
            )
    return list(found.values())[:_REPRINTED]


def _confidence(level: float) -> Latex:
    """One less an error level, rounded down where four digits do not hold it."""
    if level < 1e-3:
        return Latex(f"$1-{number(level)[1:-1]}$")
    kept = (1 - Decimal(repr(level))).quantize(Decimal("1e-4"), ROUND_FLOOR)
    return number(float(kept), 4)


def _by_refutation(judged: Sequence[Power]) -> str:
    """How many changed statements are shown to be false, empty where a claim does not say."""
    found = [power.n_refuted for power in judged if power.n_refuted is not None]
    return f", {number(sum(found))} by a refutation" if len(found) == len(judged) else ""


def sure(run: Run) -> list[tuple[Latex, Latex]]:
    """How sure the verdicts are: the level, the controls, the mutation score, the limits."""
    claims = [claim for claim in run.claims if claim.verdict != "NOT RUN"]
    if not claims:
        return []
    told: list[tuple[str, str]] = []
    level = run.summary.familywise_level
    if level is not None:
        told.append((
            "Level",
            f"With probability {_confidence(float(level))} at least, no true claim of this run is "
            "called refuted. The level is split over the claims, whatever their dependence.",
        ))  # fmt: skip
    placebos = [c for c in claims if any(t.title == "Placebos" for t in c.evidence.tables)]
    empty = sum(cell.void != "" for claim in placebos for cell in claim.evidence.cells)
    if placebos:
        told.append((
            "Placebos",
            f"{plural(len(placebos), 'claim was', 'claims were')} also tried against controls. "
            "A control is a placebo in place of the algorithm, the trivial bound, or an event that "
            "must happen. A cell supports nothing where the placebo passes, where the bound is "
            "trivial, or where the event is too rare: "
            f"{plural(empty, 'cell is', 'cells are')} void for one of these reasons.",
        ))  # fmt: skip
    judged = [c.power for c in claims if c.power is not None and c.power.n_false]
    false, caught = sum(p.n_false for p in judged), sum(p.n_caught for p in judged)
    told.append((
        "Mutation",
        f"{number(false)} statements that ask for more and are not shown to be true were made from "
        f"{plural(len(judged), 'claim')}. {number(caught)} of them, a share of "
        f"{number(caught / false, 2)}, lost their support{_by_refutation(judged)}."
        if false
        else f"This run was not mutated. {code('cfl-verify mutate latest')} measures which false "
        "statements it would not support.",
    ))  # fmt: skip
    told.append((
        "Calibration and planted faults",
        "Both are measured on the program and not on a run. "
        f"{code('python3 .ci/tox.py -e calibration')} counts wrong verdicts in simulated worlds, "
        f"and {code('python3 .ci/tox.py -e mutants')} plants faults in the code.",
    ))  # fmt: skip
    coarse = overview.coarse_supports(claims)
    whole = ("PROVED", "PROVED UP TO A LEMMA")  # what is proved on a part is searched on the rest
    searched = sum(
        not c.evidence.cells and c.verdict == "SUPPORTED" and c.mark not in whole for c in claims
    )
    limits = [
        "A verdict is about the cells that were fixed before the run, and about nothing between "
        "them.",
    ]
    if searched:
        limits.append(
            f"{plural(searched, 'supported claim rests', 'supported claims rest')} on a search "
            "that found no counterexample, which is no proof."
        )
    if coarse:
        limits.append(
            f"{plural(coarse, 'supported claim reaches', 'supported claims reach')} only down to a "
            f"probability that the trials resolve. {'Its' if coarse == 1 else 'Their'} mark names "
            "it. Rarer failures, or rarer values in the mean of a rate, may be unseen."
        )
    told.append(("Limits", " ".join(limits)))
    return [(Latex(head), Latex(text)) for head, text in told]


def _benchmark_table(table: Table, label: str, note: str) -> PrintedTable:
    """A benchmark's table without the site's columns, and its stars behind the methods' names.

    ``note`` ends the caption.
    """
    rows = [dict(zip(table.columns, row, strict=False)) for row in table.rows]
    head = [name for name in table.columns if name and name not in _ON_THE_SITE]
    starred = [
        [
            str(prose(row.get(name, ""))) + (r"\,*" if name == "method" and row.get("") else "")
            for name in head
        ]
        for row in rows
    ]
    return PrintedTable(
        head=[str(prose(name)) for name in head],
        rows=starred,
        align="".join("l" if name in ("method", "theory") else "r" for name in head),
        caption=" ".join(filter(None, (str(prose(sentence(table.title))), note))),
        label=label,
    )


def compare(run: Run, files: Files, form: Form) -> list[dict[str, Any]]:
    """The benchmarks of the run and its phase diagrams: question, answer, tables, a figure each."""
    made = []
    for item in run.compared:
        one, figures = item.one, item.figures
        tables = [
            _benchmark_table(
                table, f"{item.label}-{i}", _STARRED if i == 0 and "" in table.columns else ""
            )
            for i, table in enumerate(one.tables[:_MOST_TABLES])
        ]
        made.append(
            {
                "heading": escape_text(item.heading),
                "question": prose(sentence(one.benchmark.question)),
                "answer": paragraphs(one.answer),
                "tables": tables,
                "notes": join_sentences(*map(prose, one.notes[:_MOST_NOTES])),
                "figure": _draw(figures[0], item.label, files, form) if figures else None,
            }
        )
    return made


def comparisons(run: Run) -> list[Latex]:
    """The claims that compare methods, a sentence each with its verdict."""
    return [
        Latex(f"{prose(claim.claim.title)}: {verdict_word(claim.verdict, claim.mark)} "
              f"({_link(claim)}).")
        for claim in run.claims
        if claim.claim.kind == "comparison" and claim.verdict != "NOT RUN"
    ]  # fmt: skip


def drawing(run: Run) -> Any:
    """The picture of the run.  A claim that was not run stands with its own paper."""
    papers = {c.claim.id.partition(".")[0]: c.claim.paper for c in reversed(run.claims)}
    names = [name for name, _ in run.left_out]
    names += [name for name in run.pending if name not in run.by_key]
    known = {name: papers.get(name.partition(".")[0], "") for name in names}
    return picture(run.claims, {name: paper for name, paper in known.items() if paper})


def paper(run: Run, *, engine: str, author: str = "", form: Form = "pdf") -> dict[str, Any]:
    """The variables of the paper's template and, under ``files``, the files beside it."""
    files: Files = {}
    made, more = findings(run, files, form)
    drawn = drawing(run) if run.claims else None
    if drawn is not None and form == "pdf":
        files["figures/paper-picture.pdf"] = render_picture(drawn)
    tables = theorems(run)
    return {
        "files": files,
        "title": escape_text(title(run)),
        "author": escape_text(author),
        "subtitle": escape_text(run.subtitle),
        "date": escape_text(overview.date(run.summary.finished or run.summary.started)),
        "abstract": abstract(run),
        "picture": drawn,
        "findings": made,
        "short": _short(made),
        "more": _short(_more(run, more)),
        "theorems": tables,
        "claims": [] if tables else plain_table(run),
        "figures": redrawn(run, files, form),
        "tables": reprinted(run),
        "benchmarks": compare(run, files, form),
        "comparisons": [] if run.benchmarks else comparisons(run),
        "sure": sure(run),
        "not_run": not_run(run),
        "environment": overview.environment(run.summary, engine),
        "commands": commands(run.summary.commands),
    }


def _short(made: Sequence[Mapping[str, Any]]) -> list[tuple[Latex, list[Mapping[str, Any]]]]:
    """Findings by paper."""
    groups: dict[Latex, list[Mapping[str, Any]]] = {}
    for item in made:
        groups.setdefault(item["paper"], []).append(item)
    return list(groups.items())


def _more(run: Run, items: Sequence[Shown]) -> list[dict[str, Any]]:
    """The findings that have no entry of their own, a line each."""
    return [
        {
            "paper": escape_text(_name(run, item.paper)),
            "where": prose(capital(item.finding.where)),
            "told": overview.summarise(item.finding),
            "link": Latex(_link(item.claim)),
        }
        for item in items
        if item.finding.severity in overview.HEADLINED
    ]

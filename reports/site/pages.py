"""The pages of the site: the variables of each template, taken from a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from reports import overview
from reports.benchmark_page import page_variables
from reports.characters import Latex
from reports.claim_page import cited, claim_page, first_caption, first_figure
from reports.claim_tables import Files
from reports.collect import Run
from reports.dependencies import CITED
from reports.paper import paper
from reports.picture import DOT, LEGEND, SHADES
from reports.reading import Tried, colour, slug
from reports.results import Result, holds, names, onset, proof, results, sharpness
from reports.site.drawing import SIGNS, classes_of, draw_graph
from reports.site.markup import Link
from reports.tables import PrintedTable
from reports.text import capital, number, prose

#: A page: its address below the site, its template and its variables.
Page = tuple[str, str, dict[str, Any]]

#: The choice of the claims that no verdict of the tally counts.
_IDENTITY = "identity of formulas"
_RANKS = ("REFUTED", "INCONCLUSIVE", "VACUOUS", "SUPPORTED")


def link_to(run: Run, root: str) -> Link:
    """The addresses of the report's labels, for a page from which ``root`` leads to the site."""
    pages = {f"sec:{name}": f"{root}claims/{name}.html" for name in run.names.values()}
    pages["sec:findings"] = f"{root}findings.html"
    return lambda label: pages.get(label, "")


def navigation(run: Run) -> dict[str, Any]:
    """The variables that all pages share."""
    graphs = [(key, _short(run, key)) for key in run.graphs]
    pages = [("index.html", "The run"), ("findings.html", "Findings")]
    pages += [(f"proofs-{slug(key)}.html", f"Proofs: {name}") for key, name in graphs]
    pages += [(item.page, item.heading) for item in run.compared]
    pages += [
        ("reading.html", "How to read"), ("notation.html", "Notation"), ("run.html", "This run"),
    ]  # fmt: skip
    return {
        "title": run.summary.title,
        "subtitle": capital(run.subtitle),
        "date": overview.date(run.summary.finished or run.summary.started),
        "pages": [{"href": href, "text": text} for href, text in pages],
    }


def _short(run: Run, key: str) -> str:
    """A paper's id, or its title where no other paper needs to be told apart."""
    return key if len(run.papers) > 1 else run.papers[key].title or key


# -- the first page ------------------------------------------------------------------------------


def index(run: Run, files: Files) -> Page:
    """The paper of the run, and the table of claims.  Its figures are added to ``files``."""
    told = paper(run, engine="", form="svg")
    files |= told["files"]
    papers = {text: str(i) for i, text in enumerate(run.by_paper)}
    counts = overview.tally(run.claims)
    return "index.html", "index.html.j2", {
        "told": told,
        "theorems": [make_table(table) for table in told["theorems"]],
        "picture": told["picture"],
        "shades": SHADES,
        "dot": DOT,
        "legend": LEGEND,
        "tally": [
            {"mark": mark, "count": count, "colour": colour(verdict)}
            for (verdict, mark), count in counts
        ],
        "verdicts": [mark for (_, mark), _ in counts] + [_IDENTITY] * any(
            claim.claim.identity for claim in run.claims
        ),
        "papers": [{"id": i, "text": text} for text, i in papers.items()],
        "kinds": sorted({claim.claim.kind for claim in run.claims if claim.claim.kind}),
        "rows": [_row(claim, papers) for claim in run.claims],
        "results": [
            {"href": _result_page(run, one), "paper": one.paper, "name": one.name}
            for one in results(run.claims)
        ],
    }  # fmt: skip


def _rank(verdict: str) -> int:
    return _RANKS.index(verdict) if verdict in _RANKS else len(_RANKS)


def _row(claim: Tried, papers: Mapping[str, str]) -> dict[str, Any]:
    return {
        "key": claim.key,
        "name": claim.name,
        "title": prose(claim.claim.title),
        "source": prose(claim.claim.source),
        "paper": papers[claim.claim.paper],
        "kind": claim.claim.kind,
        "verdict": _IDENTITY if claim.claim.identity else overview.counted(claim.mark),
        "rank": _rank(claim.verdict),
        "mark": claim.mark,
        "colour": claim.colour,
        "proved": claim.evidence.grade.startswith("proved"),
        "unexpected": claim.as_expected is False,
        "identity": bool(claim.claim.identity),
        "expected": claim.claim.expected,
        "numbers": [(number(item, 2), _sortable(item)) for item in overview.at_worst(claim)],
    }


def _sortable(item: float | None) -> str:
    """A number as a script reads it, nothing where there is none."""
    if item is None or math.isnan(item):
        return ""
    return repr(float(item)) if math.isfinite(item) else "Infinity" if item > 0 else "-Infinity"


# -- claims --------------------------------------------------------------------------------------


def claims(run: Run, files: Files) -> list[Page]:
    """A page a claim.  The figures and the CSV files are added to ``files``."""
    places = {node.id: node for graph in run.graphs.values() for node in graph.nodes}
    shown = _describe(run)
    pages: list[Page] = []
    for i, claim in enumerate(run.claims):
        made: Files = {}
        page = claim_page(claim, made, form="svg")
        kept = {name: content for name, content in made.items() if not name.endswith(".tex")}
        files |= kept
        node = places.get(claim.claim.id)
        pages.append(
            (
                f"claims/{claim.name}.html",
                "claim.html.j2",
                {
                    "key": claim.key,
                    "claim": page,
                    "assumptions": [*page["conditions"], *page["runs"]],
                    "told": page["after"],
                    "tables": [make_table(table) for table in page["tables"]],
                    "csv": sorted(name for name in kept if name.startswith("tables/")),
                    "replay": [" ".join(line.split()) for line in claim.claim.replay],
                    "shaken": [shown(name) for name in node.shaken] if node else [],
                    "uses": [shown(n) for n in node.uses if n not in cited(claim)] if node else [],
                    "cited": [prose(name) for name in cited(claim)],
                    "proved": claim.evidence.proved is not None,
                    "used_by": [shown(name) for name in node.used_by] if node else [],
                    "findings": _findings_of(run, claim.key),
                    "before": run.claims[i - 1].name if i else "",
                    "after": run.claims[i + 1].name if i + 1 < len(run.claims) else "",
                },
            )
        )
    return pages


def _result_page(run: Run, one: Result) -> str:
    """The page of a result below the site's folder."""
    papers = list(run.by_paper)
    return f"results/{papers.index(one.paper) + 1}-{slug(one.name)}.html"


def theorems(run: Run) -> list[Page]:
    """A page a theorem: its statement, its claims, the steps of its proof, and a figure."""
    nodes = {node.id: node for graph in run.graphs.values() for node in graph.nodes}
    item = _describe(run)

    def listed(claim: Tried) -> dict[str, Any]:
        """A claim of the run.  Several may have one statement, at values of the user's own."""
        page = f"claims/{claim.name}.html"
        shown = {"id": claim.key, "href": page, "colour": claim.colour, "mark": claim.mark}
        return item(claim.claim.id) | shown

    pages: list[Page] = []
    for one in results(run.claims):
        drawn = next((claim for claim in one.claims if claim.evidence.figures), None)
        pages.append(
            (
                _result_page(run, one),
                "result.html.j2",
                {
                    "name": one.name,
                    "paper": one.paper,
                    "facts": [
                        ("Does it hold?", holds(one)),
                        ("Bound over truth", sharpness(one)),
                        ("Says something from", onset(one)),
                        ("Printed proof", proof(one, nodes)),
                    ],
                    "groups": [
                        (heading, [listed(claim) for claim in members])
                        for heading, members in (
                            ("The statement", one.statement),
                            ("Steps of the proof", one.proof),
                            ("Remarks about it", one.aside),
                        )
                        if members
                    ],
                    "figure": first_figure(drawn, "svg") if drawn else "",
                    "caption": first_caption(drawn) if drawn else "",
                    "drawn": listed(drawn) if drawn else {},
                },
            )
        )
    return pages


def make_benchmark_pages(run: Run, files: Files) -> list[Page]:
    """A page a benchmark or phase diagram.  The figures are added to ``files``."""
    return [(item.page, "benchmark.html.j2", page_variables(item, files)) for item in run.compared]


def _findings_of(run: Run, key: str) -> list[dict[str, Any]]:
    return [
        {
            "anchor": run.anchors[name],
            "where": prose(capital(found.where)),
            "told": overview.summarise(found),
        }
        for name, found in run.findings.items()
        if key in found.claims
    ]


def make_table(table: PrintedTable) -> dict[str, Any]:
    """A printed table with its name.  Its cells are LaTeX."""
    return {
        "name": table.label,
        "caption": Latex(table.caption),
        "head": [Latex(cell) for cell in table.head],
        "rows": [[Latex(cell) for cell in row] for row in table.rows],
        "align": table.align,
    }


# -- findings, proofs and the rest ---------------------------------------------------------------


def findings(run: Run) -> Page:
    """Every finding in full."""
    groups = overview.findings(run.findings, run.by_key)
    return "findings.html", "findings.html.j2", {"groups": groups}


def _describe(run: Run) -> Callable[[str], dict[str, Any]]:
    """A statement as it is listed: id, verdict, and the address of its page."""
    known = {claim.claim.id: claim for claim in reversed(run.claims)}
    called = names(run.claims)
    proofs = (claim.evidence.proved for claim in run.claims)
    cited = {lemma for proved in proofs if proved is not None for lemma in proved.lemmas}

    def item(name: str) -> dict[str, Any]:
        claim = known.get(name)
        return {
            "id": name,
            "name": called.get(name, ""),
            "href": f"claims/{claim.name}.html" if claim else "",
            "colour": "cited" if name in cited else colour(claim.verdict if claim else ""),
            "mark": claim.mark if claim else CITED if name in cited else "NOT RUN",
            "title": claim.claim.title if claim else "",
        }

    return item


def proofs(run: Run) -> list[Page]:
    """A page a paper with the graph of its statements."""
    item = _describe(run)
    pages: list[Page] = []
    for key, graph in run.graphs.items():
        pages.append(
            (
                f"proofs-{slug(key)}.html",
                "graph.html.j2",
                {
                    "title": run.papers[key].title,
                    "graph": draw_graph(graph, key, item),
                    "legend": [
                        {"classes": classes_of(shown), "mark": shown, "sign": sign}
                        for shown, sign in SIGNS.items()
                    ],
                    "listed": [
                        {**item(node.id), "uses": node.uses, "shaken": node.shaken}
                        for node in graph.nodes
                    ],
                    "alone": [item(name) for name in graph.alone],
                },
            )
        )
    return pages


def texts(run: Run, methods: str) -> list[Page]:
    """How to read the site, the notation, and the run's facts."""
    blank: dict[str, Any] = {"text": "", "tables": [], "commands": [], "bibliography": []}
    return [
        ("reading.html", "text.html.j2", {
            **blank, "heading": "How to read this report", "text": Latex(methods),
        }),
        ("notation.html", "text.html.j2", {
            **blank,
            "heading": "Notation",
            "tables": [make_table(t) for t in overview.notation(run.symbols, run.papers)],
        }),
        ("run.html", "text.html.j2", {
            **blank,
            "heading": "Seeds, machine and commands",
            "tables": [make_table(overview.environment(run.summary, ""))],
            "commands": [" ".join(line.split()) for line in run.summary.commands],
            "bibliography": [
                entry for paper in run.papers.values() for entry in paper.publications
            ],
        }),
    ]  # fmt: skip

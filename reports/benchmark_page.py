"""A run's benchmarks as pages: question, answer, tables, figures and notes.

``python -m reports`` calls `benchmarks` on the run's store and `page_variables` for each.  The
statistics, the words and the figures' data are in the stored documents of the kind ``benchmark``.
The program that ran the benchmark wrote them, and nothing is computed here.  In the site a
benchmark is the page ``benchmarks/NAME.html`` (template ``site/benchmark.html.j2``), and its
figures are drawn by `reports.figures` as any claim's.
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, field

from reports.claim_tables import Files
from reports.figures import render
from reports.reading import slug
from reports.schema import Figure, Reader, Record, Short, Text, read


class Table(Record, frozen=True, kw_only=True):
    """A table as text: a row a method, and the groups that are not separated."""

    title: Short = ""
    columns: Annotated[list[Short], Meta(max_length=64)] = field(default_factory=list)
    rows: Annotated[list[list[Short]], Meta(max_length=1000)] = field(default_factory=list)
    groups: Annotated[list[list[Short]], Meta(max_length=1000)] = field(default_factory=list)


class Declared(Record, frozen=True, kw_only=True):
    """What was asked."""

    name: Short = ""
    question: Text = ""
    methods: Text = ""
    metric: Short = ""


class Benchmark(Record, frozen=True, kw_only=True):
    """A stored benchmark.  One that was stopped before its end has no answer."""

    benchmark: Declared = Declared()
    answer: Text = ""
    stopped: Text = ""
    notes: Annotated[list[Text], Meta(max_length=1000)] = field(default_factory=list)
    tables: Annotated[list[Table], Meta(max_length=1000)] = field(default_factory=list)
    figures: Annotated[list[Figure], Meta(max_length=64)] = field(default_factory=list)


def benchmarks(reader: Reader) -> dict[str, Benchmark]:
    """The finished benchmarks of a run, by name.

    Raises
    ------
    ReportError : a document that cannot be read.  The message names it.
    """
    found = read(reader, "benchmark", Benchmark)
    return {name: one for name, one in sorted(found.items()) if one.tables}


def page_name(name: str) -> str:
    """The page of a benchmark below the site's folder."""
    return f"benchmarks/{slug(name)}.html"


def page_variables(name: str, one: Benchmark, files: Files) -> dict[str, Any]:
    """The variables of the template.  Its figures are added to ``files`` as SVG."""
    drawn = []
    for i, figure in enumerate(one.figures):
        if not any(panel.series for panel in figure.shown):
            continue
        place = f"figures/benchmark-{slug(name)}-{i}.svg"
        files[place] = render(figure, form="svg")
        drawn.append({"file": place, "title": figure.title, "caption": figure.caption})
    return {"name": name, "benchmark": one, "figures": drawn}

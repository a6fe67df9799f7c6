"""A run's benchmarks as pages: question, answer, tables, figures and notes.

``python -m reports`` calls `benchmarks` on the run's store and `page_variables` for each.  The
statistics, the words and the figures' data are in the stored documents of the kind ``benchmark``.
The program that ran the benchmark wrote them, and nothing is computed here.  In the site a
benchmark is the page ``benchmarks/NAME.html`` (template ``site/benchmark.html.j2``), and its
figures are drawn by `reports.figures` as any claim's.  A phase diagram is a document of the kind
``phase`` with the same fields, and the page ``diagrams/NAME.html``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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


def diagrams(reader: Reader) -> dict[str, Benchmark]:
    """The phase diagrams of a run, by name.  One of an older run has a figure and no words."""
    return dict(sorted(read(reader, "phase", Benchmark).items()))


@dataclass(frozen=True, kw_only=True)
class Item:
    """A benchmark or a phase diagram of a run, with its names.

    Attributes
    ----------
    heading : of its page and of its section, such as "Benchmark: few-samples".
    label : its name in file names and in references.  No other item has it.
    page : its page below the site's folder.
    """

    heading: str
    label: str
    page: str
    one: Benchmark

    @property
    def figures(self) -> list[Figure]:
        """The figures that have something to draw."""
        return [f for f in self.one.figures if any(panel.series for panel in f.shown)]


def items(made: Mapping[str, Benchmark], drawn: Mapping[str, Benchmark]) -> list[Item]:
    """The benchmarks of a run, and then its phase diagrams."""
    kinds = (("Benchmark", "benchmark", made), ("Phase diagram", "diagram", drawn))
    return [
        Item(
            heading=f"{word}: {name}",
            label=f"{kind}-{slug(name)}",
            page=f"{kind}s/{slug(name)}.html",
            one=one,
        )
        for word, kind, each in kinds
        for name, one in each.items()
    ]


def page_variables(item: Item, files: Files) -> dict[str, Any]:
    """The variables of the template.  Its figures are added to ``files`` as SVG."""
    drawn = []
    for i, figure in enumerate(item.figures):
        place = f"figures/{item.label}-{i}.svg"
        files[place] = render(figure, form="svg")
        drawn.append({"file": place, "title": figure.title, "caption": figure.caption})
    return {"heading": item.heading, "benchmark": item.one, "figures": drawn}

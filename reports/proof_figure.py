"""The dependency graph of a paper on a page of the PDF: drawn sideways, in the report's type."""

from __future__ import annotations

import io
import logging
import textwrap
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import matplotlib
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, PathPatch
from matplotlib.path import Path

from reports.dependencies import Edge, Graph, Node
from reports.lettering import FONTS
from reports.reading import COLOURS
from reports.text import TEXT_WIDTH_INCHES

HEIGHT_INCHES = 8.6
_LETTERS = 17  # characters of a line in a box
_SIGNS = {"SUPPORTED": "✓", "REFUTED": "✗", "INCONCLUSIVE": "?", "VACUOUS": "∅"}
#: cmr10 has other glyphs at these places.  The second font draws signs that look alike.
_GLYPHS = str.maketrans({"°": "\u02da", "_": "\u02cd"})
_LARGEST = 7.5  # points
_PAD = 3.5  # letters of a box for its sign and its margins
_GAP = 4.0  # letters between columns
_WIDE = 0.64  # the width of a letter as a share of the type size
_MARGIN = 0.02  # inches


def render(graph: Graph, paper: str) -> tuple[bytes, float]:
    """The graph as PDF, and its width as a share of the text's: equal graphs give equal bytes.

    A box has its verdict's colour and sign.  A dashed box rests on a refuted statement.
    """
    # The second font has the signs of the verdicts.
    logging.getLogger("fontTools").setLevel(logging.ERROR)
    options: dict[Any, Any] = {**FONTS, "font.family": ["cmr10", "DejaVu Sans"], "backend": "pdf"}
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **options}):
        buffer = io.BytesIO()
        figure = _draw(graph, paper)
        figure.savefig(
            buffer, format="pdf", metadata=dict.fromkeys(("CreationDate", "Creator", "Producer"))
        )
    return buffer.getvalue(), figure.get_figwidth() / TEXT_WIDTH_INCHES


def _label(name: str, paper: str) -> str:
    """A statement's name in a box: ``-as-printed`` becomes a mark, and long names two lines."""
    short = name.removeprefix(f"{paper}.").replace("-as-printed", "°")
    return "\n".join(textwrap.wrap(short, _LETTERS)) or short


class _Page:
    """The sizes of a drawing.  Columns run up the page, so that it is read sideways.

    The type is as large as the columns and the rows allow.
    """

    def __init__(self, graph: Graph, labels: Mapping[str, str]) -> None:
        self._lengths = {
            name: _PAD + max(map(len, text.split("\n"))) for name, text in labels.items()
        }
        letters = [1.0] * graph.n_columns
        for node in graph.nodes:
            letters[node.column] = max(letters[node.column], self._lengths[node.id])
        across = sum(letters) + _GAP * (graph.n_columns - 1)
        self.size = min(
            72 * HEIGHT_INCHES / (_WIDE * across),
            72 * TEXT_WIDTH_INCHES / (2.9 * graph.n_rows),
            _LARGEST,
        )
        self._letter = _WIDE * self.size / 72
        self._row = min(TEXT_WIDTH_INCHES / graph.n_rows, 4 * self.size / 72)
        self.box = min(0.8 * self._row, 2.6 * self.size / 72)
        self.width, self.height = self._row * graph.n_rows, self._letter * across
        self._bottoms = [self._letter * (sum(letters[:i]) + _GAP * i) for i in range(len(letters))]
        self._tops = [
            bottom + self._letter * own for bottom, own in zip(self._bottoms, letters, strict=True)
        ]

    def place(self, node: Node) -> tuple[float, float, float]:
        """The middle, the bottom and the top of a statement's box."""
        bottom = self._bottoms[node.column]
        return self._across(node.row), bottom, bottom + self._letter * self._lengths[node.id]

    def passing(self, edge: Edge) -> list[tuple[float, float]]:
        """The points at which an edge enters and leaves the columns between its ends."""
        return [
            (self._across(row), side[column])
            for column, row in edge.through
            for side in (self._bottoms, self._tops)
        ]

    def _across(self, row: float) -> float:
        return self._row * (row + 0.5)


def _draw(graph: Graph, paper: str) -> Figure:
    labels = {node.id: _label(node.id, paper) for node in graph.nodes}
    page = _Page(graph, labels)
    figure = Figure(figsize=(page.width, page.height))
    FigureCanvasPdf(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(-_MARGIN, page.width + _MARGIN)
    axes.set_ylim(-_MARGIN, page.height + _MARGIN)
    for node in graph.nodes:
        x, bottom, top = page.place(node)
        colour = f"#{COLOURS.get(node.verdict.lower(), COLOURS['notrun'])}"
        axes.add_patch(
            FancyBboxPatch(
                (x - page.box / 2, bottom),
                page.box,
                top - bottom,
                boxstyle="round,pad=0,rounding_size=0.03",
                edgecolor=colour,
                facecolor="white",
                linewidth=0.9,
                linestyle=(0, (3, 1.6)) if node.shaken else "solid",
                zorder=3,
            )
        )
        sign = _SIGNS.get(node.verdict, "·")
        axes.text(
            x, (bottom + top) / 2, f"{sign} {labels[node.id].translate(_GLYPHS)}", rotation=90,
            fontsize=page.size, color=colour, ha="center", va="center", linespacing=0.95, zorder=4,
        )  # fmt: skip
    places = {node.id: page.place(node) for node in graph.nodes}
    for edge in graph.edges:
        start_x, _, start_y = places[edge.source]
        points = [(start_x, start_y), *page.passing(edge), places[edge.target][:2]]
        axes.add_patch(
            PathPatch(_path(points), fill=False, edgecolor="0.55", linewidth=0.6, zorder=2)
        )
    return figure


def _path(points: list[tuple[float, float]]) -> Path:
    """A smooth line that leaves and enters boxes along the columns."""
    vertices, codes = [points[0]], [Path.MOVETO]
    for (x, y), (to_x, to_y) in pairwise(points):
        half = (y + to_y) / 2
        vertices += [(x, half), (to_x, half), (to_x, to_y)]
        codes += [Path.CURVE4] * 3
    return Path(vertices, codes)

"""The picture of a run: a tile a claim, and beside it how sharp each theorem is.

A row is a theorem, and its tiles are its claims.  The colour of a tile is the
verdict, and its shade is the strength (`reports.results.strength`).  To the right stands the bound
over the truth on a logarithmic axis: the median over the cells, with its range.  `picture` makes
the layout once.  The PDF draws it by `render`, and the site writes the same shapes as SVG with
links.
"""

from __future__ import annotations

import io
import logging
import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Rectangle

from reports.lettering import FONTS, label
from reports.reading import COLOURS, Tried, colour
from reports.results import Strength, in_order, results, row_of, strength
from reports.text import TEXT_WIDTH_INCHES

WIDTH = 72.0 * TEXT_WIDTH_INCHES
_LABEL = 76.0  # points: the names at the left edge
_TILE, _STEP = 7.6, 9.2  # points: a tile, and from a tile to the next one
DOT = 1.4  # points: the radius of the dot in a tile whose proof is argued in part
_PER_LINE = 25
_AXIS = _LABEL + _PER_LINE * _STEP + 12.0  # where the axis begins
_ROW, _HEAD, _FOOT = 9.6, 15.0, 44.0
#: How much of the verdict's colour a tile shows.
SHADES: dict[Strength, float] = {
    "proved": 1.0, "argued": 1.0, "sharp": 0.78, "tried": 0.55, "loose": 0.3, "void": 0.12,
    "notrun": 0.0,
}  # fmt: skip
WORDS: dict[Strength, str] = {
    "proved": "proved", "argued": "proved, with known results outside the certificate",
    "sharp": "bound at most 3 times the truth", "tried": "tried",
    "loose": "bound 30 times the truth or more", "void": "says nothing where it was tried",
    "notrun": "not run",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Tile:
    """A claim's square.  ``name`` is its page, empty for a claim that was not run."""

    x: float
    y: float
    key: str
    name: str
    verdict: str
    mark: str
    strength: Strength

    @property
    def colour(self) -> str:
        """The name of the verdict's colour."""
        return str(colour(self.verdict))

    @property
    def told(self) -> str:
        """What a pointer or a screen reader is told."""
        return f"{self.key}: {self.mark.lower()} ({WORDS[self.strength]})"


@dataclass(frozen=True, kw_only=True)
class Row:
    """A theorem: its name, and the bound over the truth as places on the axis.

    ``beyond`` says whether the range goes on beyond the left and the right end of the axis.
    """

    y: float
    text: str
    factor: tuple[float, float, float] | None = None
    places: tuple[float, float, float] | None = None
    beyond: tuple[bool, bool] = (False, False)


@dataclass(frozen=True, kw_only=True)
class Picture:
    """All shapes, in points from the top left."""

    height: float
    heads: tuple[Row, ...]
    rows: tuple[Row, ...]
    tiles: tuple[Tile, ...]
    ticks: tuple[tuple[float, int], ...]
    bottom: float

    width = WIDTH
    tile = _TILE
    axis = _AXIS

    @property
    def cut(self) -> bool:
        """Whether some range goes on beyond the axis."""
        return any(any(row.beyond) for row in self.rows)


def _group(claims: Sequence[Tried]) -> dict[str, dict[str, list[Tried]]]:
    found: dict[str, dict[str, list[Tried]]] = {}
    for claim in claims:
        found.setdefault(claim.claim.paper, {}).setdefault(row_of(claim), []).append(claim)
    return {
        paper: dict(sorted(rows.items(), key=lambda row: in_order(row[0])))
        for paper, rows in found.items()
    }


def _range(factors: Sequence[tuple[float, float, float]]) -> tuple[int, int]:
    """The powers of ten at the ends of the axis."""
    low = min([0.0, *(math.log10(f[1]) for f in factors)])
    high = max([1.0, *(math.log10(f[1]) for f in factors)])
    return math.floor(low), math.ceil(high)


def picture(claims: Sequence[Tried], not_run: Mapping[str, str]) -> Picture:
    """The layout.  ``not_run`` gives the paper of each claim that the profile leaves out."""
    grouped = _group(claims)
    measured = {(one.paper, one.name): one.factor for one in results(claims)}
    shown = {key: found for key, found in measured.items() if found is not None}
    low, high = _range(list(shown.values()))

    def at(value: float) -> float:
        share = (math.log10(value) - low) / (high - low)
        return round(_AXIS + min(max(share, 0.0), 1.0) * (WIDTH - _AXIS - 14.0), 1)

    heads, rows, tiles = [], [], []
    y = 2.0
    left_out: dict[str, list[str]] = {}
    for key, paper in not_run.items():
        left_out.setdefault(paper, []).append(key)
    for paper in dict.fromkeys([*grouped, *left_out]):
        heads.append(Row(y=y + _HEAD - 5.0, text=paper or "Claims"))
        y += _HEAD
        for name, members in grouped.get(paper, {}).items():
            found = shown.get((paper, name))
            places = (at(found[0]), at(found[1]), at(found[2])) if found else None
            beyond = (found[0] < 10.0**low, found[2] > 10.0**high) if found else (False, False)
            rows.append(Row(y=y + _TILE / 2, text=name, factor=found, places=places, beyond=beyond))
            tiles += [_tile(claim, i, y) for i, claim in enumerate(members)]
            y += _ROW * math.ceil(len(members) / _PER_LINE)
        if keys := left_out.get(paper):
            rows.append(Row(y=y + _TILE / 2, text="Not run"))
            tiles += [_blank(key, i, y) for i, key in enumerate(keys)]
            y += _ROW * math.ceil(len(keys) / _PER_LINE)
    step = max(1, math.ceil((high - low) / 5))
    ticks = tuple((at(10.0**power), power) for power in range(low, high + 1, step))
    return Picture(
        height=round(y + _FOOT, 1), heads=tuple(heads), rows=tuple(rows), tiles=tuple(tiles),
        ticks=ticks if shown else (), bottom=round(y, 1),
    )  # fmt: skip


def _corner(i: int, y: float) -> tuple[float, float]:
    return round(_LABEL + _STEP * (i % _PER_LINE), 1), round(y + _ROW * (i // _PER_LINE), 1)


def _tile(claim: Tried, i: int, y: float) -> Tile:
    left, top = _corner(i, y)
    return Tile(
        x=left, y=top, key=claim.key, name=claim.name, verdict=claim.verdict, mark=claim.mark,
        strength=strength(claim),
    )  # fmt: skip


def _blank(key: str, i: int, y: float) -> Tile:
    left, top = _corner(i, y)
    return Tile(
        x=left, y=top, key=key, name="", verdict="NOT RUN", mark="NOT RUN", strength="notrun"
    )


def render(made: Picture) -> bytes:
    """The picture as PDF without dates: equal pictures give equal bytes."""
    logging.getLogger("fontTools").setLevel(logging.ERROR)
    options: dict[Any, Any] = {
        **FONTS, "font.family": ["cmr10", "DejaVu Sans"], "backend": "pdf", "hatch.linewidth": 0.4,
    }  # fmt: skip
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **options}):
        buffer = io.BytesIO()
        _draw(made).savefig(
            buffer, format="pdf", metadata=dict.fromkeys(("CreationDate", "Creator", "Producer"))
        )
    return buffer.getvalue()


def _draw(made: Picture) -> Figure:
    figure = Figure(figsize=(WIDTH / 72.0, made.height / 72.0), dpi=72.0)
    FigureCanvasPdf(figure)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_xlim(0.0, WIDTH)
    axes.set_ylim(made.height, 0.0)
    axes.axis("off")
    for place, power in made.ticks:
        line = "0.55" if power == 0 else "0.85"
        axes.plot([place, place], [14.0, made.bottom], color=line, linewidth=0.5, zorder=0)
        axes.text(place, made.bottom + 9.0, f"$10^{{{power}}}$", ha="center", fontsize=7.5)
    if made.ticks:
        axes.text(
            (_AXIS + WIDTH) / 2, made.bottom + 19.0, "bound over truth", ha="center", fontsize=8.0
        )
    for head in made.heads:
        axes.text(0.0, head.y, _plain(head.text), fontsize=8.5, color="#1A3E72")
    for row in made.rows:
        axes.text(_LABEL - 5.0, row.y + 2.6, _plain(row.text), ha="right", fontsize=7.8)
        if row.places:
            low, middle, high = row.places
            axes.plot([low, high], [row.y, row.y], color="#1A3E72", linewidth=1.0)
            axes.plot([middle], [row.y], marker="o", markersize=3.2, color="#1A3E72")
            for place, mark, is_beyond in zip((low, high), "<>", row.beyond, strict=True):
                if is_beyond:
                    axes.plot([place], [row.y], marker=mark, markersize=3.6, color="#1A3E72")
    for tile in made.tiles:
        _add_tile(axes, tile.x, tile.y, tile.colour, tile.strength)
    _legend(axes, made)
    return figure


def _plain(text: str) -> str:
    """A paper's name on one line, without formulas: it may come from a stranger."""
    return label(textwrap.shorten(text.replace("$", ""), 90, placeholder=" ..."))


def _add_tile(axes: Any, x: float, y: float, name: str, strong: Strength) -> None:
    """A tile in the verdict's colour.  One whose proof is argued in part has a white dot."""
    shown = f"#{COLOURS[name]}"
    faint = matplotlib.colors.to_rgba(shown, SHADES[strong])
    axes.add_patch(Rectangle(
        (x, y), _TILE, _TILE, facecolor=faint, edgecolor=shown,
        linewidth=0.5, linestyle=(0, (1.5, 1.2)) if strong == "notrun" else "solid",
        hatch="//////" if strong == "void" else None,
    ))  # fmt: skip
    if strong == "argued":
        middle = (x + _TILE / 2, y + _TILE / 2)
        axes.add_patch(Circle(middle, DOT, facecolor="white", edgecolor="none"))


#: The entries of the legend: the colour, the shade, the words.
LEGEND: tuple[tuple[str, Strength, str], ...] = (
    ("supported", "proved", "proved"), ("supported", "argued", "proved up to a lemma"),
    ("supported", "sharp", "supported, bound sharp"),
    ("supported", "tried", "supported"), ("supported", "loose", "supported, bound loose"),
    ("refuted", "proved", "refuted, proved"), ("refuted", "tried", "refuted by trials"),
    ("vacuous", "void", "void"), ("inconclusive", "tried", "inconclusive"),
    ("notrun", "notrun", "not run"),
)  # fmt: skip


def _legend(axes: Any, made: Picture) -> None:
    """The meaning of colours and shades, in three columns below the tiles."""
    for i, (name, strong, words) in enumerate(LEGEND):
        column, line = divmod(i, 4)
        x, y = 2.0 + 108.0 * column, made.bottom + 5.0 + 9.6 * line
        _add_tile(axes, x, y, name, strong)
        axes.text(x + 11.0, y + 6.4, words, fontsize=7.5)

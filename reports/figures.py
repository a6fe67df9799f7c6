"""Figures: stored figure data drawn as vector PDF or SVG, the same bytes every time.

A figure is one panel or several side by side.  `reports.marks` draws a panel.  This module puts the
panels and the legend on the page.  The legend stands outside the data.
"""

from __future__ import annotations

import io
import logging
import math
import re
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any, Literal

import matplotlib
import msgspec
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.markers import TICKDOWN, TICKLEFT, MarkerStyle

from reports.cache import keep
from reports.errors import ReportError
from reports.lettering import FONTS, label, remember_formulas, wrap
from reports.marks import Entries, colour_scale, draw_panel, numbers
from reports.schema import Figure as FigureData
from reports.schema import Panel
from reports.tables import csv_text
from reports.text import TEXT_WIDTH_INCHES, visible_length
from reports.ticks import minor, ticks, write_ticks

Form = Literal["pdf", "svg"]
_HEIGHT, _PANEL_HEIGHT = 118.0, 96.0  # points of the axes of one panel, and of one of several
_ENTRY, _HANDLE = 4.4, 46.0  # points: a character of a legend entry, its sample line and gaps
_LONG = 22  # letters of a label from which its unit has a line of its own
_GAP = 11.0  # points between panels
_EDGE = 1.5  # points around everything
_BAR = 7.0  # points: the width of a colour scale
_BESIDE = 6.0  # points between the panels and a scale or a legend at their right
_PER_TICK = {"x": 34.0, "y": 20.0}  # points that a tick needs
_STYLE: dict[str, Any] = {
    **FONTS,
    "font.size": 9.0,
    "axes.labelsize": 9.0,
    "axes.titlesize": 9.0,
    "axes.titlelocation": "left",
    "axes.titlepad": 4.0,
    "legend.fontsize": 8.5,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "0.88",
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.3,
    "lines.markersize": 4.2,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.handlelength": 2.8,
    "path.simplify": False,
    "svg.hashsalt": "cfl-verify",  # the ids inside an SVG
}


def _columns(n_panels: int, width: float) -> int:
    """The panels in a row: at most three on the width of a page, two on that of a column."""
    most = 3 if width >= TEXT_WIDTH_INCHES else 2
    return 2 if n_panels == 4 else min(n_panels, most)


def draw(data: FigureData, width: float = TEXT_WIDTH_INCHES) -> Figure:
    """The matplotlib figure of a stored figure, ``width`` inches wide."""
    remember_formulas()
    panels = data.shown
    figure = Figure(figsize=(width, 3.0), dpi=72.0)  # pixels are points
    FigureCanvasPdf(figure)
    scale = colour_scale([series for panel in panels for series in panel.series])
    page = _Page(figure, panels, 72.0 * width)
    if scale is not None:
        page.bar = figure.add_axes((0.9, 0.2, 0.02, 0.6), label="scale")
        figure.colorbar(scale, cax=page.bar, label=wrap(label(data.shade), 32))
    entries: Entries = []
    letters = page.letters_across()
    for ax, panel in zip(page.axes, panels, strict=True):
        entries += draw_panel(ax, panel, scale)
        ax.margins(x=0.04, y=0.08)
        ax.set_xlabel(wrap(label(panel.xlabel), letters))
        if data.panels:
            ax.set_title(wrap(label(panel.title), letters + 2))
    page.label_y()
    page.legend = _legend(figure, entries, width, below=bool(data.panels) or scale is not None)
    page.arrange()
    return figure


def _legend(figure: Figure, entries: Entries, width: float, *, below: bool) -> Any:
    """The legend: one entry for equal texts, in columns where it stands below the data.

    It stands to the right of one panel where its entries are short.
    """
    shown = {text: mark for mark, text in reversed(entries) if text}
    if not shown:
        return None
    names, marks = zip(*reversed(shown.items()), strict=True)
    longest = max(visible_length(text) for text in names)
    if not below and longest <= 26 and len(names) <= 10 and width >= TEXT_WIDTH_INCHES:
        return figure.legend(marks, names, loc="upper left", borderaxespad=0, borderpad=0)
    room = 72.0 * width
    columns = next((n for n in (4, 3, 2) if n * (_ENTRY * longest + _HANDLE) <= room), 1)
    names = tuple(wrap(text, int((room / columns - _HANDLE) / _ENTRY)) for text in names)
    return figure.legend(
        marks, names, loc="upper center", ncols=min(columns, len(names)),
        borderaxespad=0, borderpad=0,
    )  # fmt: skip


class _Page:
    """The places of panels, colour scale and legend, in points.

    Text is measured once.  Ticks are chosen first, so that their labels do not depend on the
    result.  matplotlib's own layouts draw every figure three times.
    """

    def __init__(self, figure: Figure, panels: Sequence[Panel], width: float) -> None:
        self.figure, self.width = figure, width
        self.axes: list[Any] = [
            figure.add_axes((0.2, 0.2, 0.6, 0.6), label=str(i)) for i in range(len(panels))
        ]
        self.bar: Any = None
        self.legend: Any = None
        self._panels = panels
        self._n_columns = _columns(len(panels), width / 72.0)
        self._height = _HEIGHT if len(panels) == 1 else _PANEL_HEIGHT
        labels = {(panel.ylabel, panel.yscale) for panel in panels}
        self._shared = len(panels) > 1 and len(labels) == 1

    def letters_across(self) -> int:
        """The letters that fit below one panel, beside a colour scale if there is one."""
        room = self.width - self._beside()[0]
        return int((room / self._n_columns - 24.0) / _ENTRY)

    def _outer(self, i: int) -> bool:
        """Whether the numbers of a panel's y axis are written."""
        return not self._shared or i % self._n_columns == 0

    def label_y(self) -> None:
        """Label the y axes.  Panels with one label share it and their limits."""
        if self._shared:
            limits = [ax.get_ylim() for ax in self.axes]
            shared = min(low for low, _ in limits), max(high for _, high in limits)
            for ax in self.axes:
                ax.set_ylim(shared)
        letters = int(self._height / 4.2)
        for i, (ax, panel) in enumerate(zip(self.axes, self._panels, strict=True)):
            if self._outer(i):
                text = label(panel.ylabel)
                if visible_length(panel.ylabel) > _LONG:
                    text = re.sub(r" (\([^()$]*(?:\$[^$]*\$)?\))$", r"\n\1", text)  # the unit
                ax.set_ylabel("\n".join(wrap(line, letters) for line in text.split("\n")))

    def arrange(self) -> None:
        """Choose the ticks, measure all text, and put everything in its place."""
        beside, bar_below, bar_above = self._beside()
        across = (self.width - beside - 40.0) / self._n_columns - 16.0
        self.figure.set_size_inches(self.width / 72.0, 4.0)
        share = across / self.width, self._height / 288.0
        measured = []
        for i, ax in enumerate(self.axes):
            self._tick(ax, i, across)
            ax.set_position((0.3, 0.3, *share))
            measured.append(_margins(ax))
        rows = range(math.ceil(len(self.axes) / self._n_columns))
        columns = range(self._n_columns)
        left = [max(m[0] for m in measured[c :: self._n_columns]) for c in columns]
        right = max(m[1] for m in measured)
        in_row = [measured[r * self._n_columns : (r + 1) * self._n_columns] for r in rows]
        below = [max(m[2] for m in row) for row in in_row]
        above = [max(m[3] for m in row) for row in in_row]
        below[-1], above[0] = max(below[-1], bar_below), max(above[0], bar_above)
        free = self.width - beside - right - sum(left) - _GAP * (self._n_columns - 1) - 2 * _EDGE
        wide = free / self._n_columns
        under = self._size(self.legend)[1] + 8.0 if self._stands_below() else 0.0
        rows_high = sum(below) + sum(above) + self._height * len(rows) + 4.0 * (len(rows) - 1)
        total = under + rows_high + 2 * _EDGE
        self.figure.set_size_inches(self.width / 72.0, total / 72.0)
        top = total - _EDGE
        for r in rows:
            bottom = top - above[r] - self._height
            for c, ax in enumerate(self.axes[r * self._n_columns : (r + 1) * self._n_columns]):
                start = _EDGE + sum(left[: c + 1]) + c * (wide + _GAP)
                ax.set_position(
                    (start / self.width, bottom / total, wide / self.width, self._height / total)
                )
            top = bottom - below[r] - 4.0
        side = self.width - beside - _EDGE + _BESIDE
        ceiling = total - _EDGE - above[0]
        if self.bar is not None:
            low = under + _EDGE + below[-1]
            self.bar.set_position(
                (side / self.width, low / total, _BAR / self.width, (ceiling - low) / total)
            )
        if self.legend is not None:
            place = (self.width / 2, under - 3.0) if self._stands_below() else (side, ceiling)
            self.legend.set_bbox_to_anchor((place[0] / self.width, place[1] / total))

    def _stands_below(self) -> bool:
        return self.legend is not None and self.legend._loc == 9

    def _beside(self) -> tuple[float, float, float]:
        """The width of the legends right of the panels, and a scale's room below and above.

        The numbers at the ends of a colour scale stand out below and above it.
        """
        if self.bar is not None:
            self.bar.set_position((0.5, 0.3, _BAR / self.width, self._height / 216.0))
            _, right, below, above = _margins(self.bar)
            return _BESIDE + _BAR + right, below, above
        if self.legend is not None and not self._stands_below():
            return self._size(self.legend)[0] + _BESIDE, 0.0, 0.0
        return 0.0, 0.0, 0.0

    def _size(self, artist: Any) -> tuple[float, float]:
        box = artist.get_window_extent(RendererBase())
        return box.width, box.height

    def _tick(self, ax: Any, i: int, across: float) -> None:
        """Ticks that are few enough to read, with small ones between them."""
        panel = self._panels[i]
        for axis, scale, room in (
            (ax.xaxis, panel.xscale, across), (ax.yaxis, panel.yscale, self._height),
        ):  # fmt: skip
            which = axis.axis_name
            low, high = sorted(axis.get_view_interval())
            most = min(max(int(room / _PER_TICK[which]), 2), 9)
            places = ticks(low, high, scale, most, whole=which == "x" and _counts(panel))
            texts = write_ticks(places, scale)
            hidden = which == "y" and not self._outer(i)
            axis.set_ticks(places, labels=[""] * len(places) if hidden else texts)
            axis.set_ticks([], minor=True)
            if small := minor(low, high, scale, places):
                _small_ticks(self.figure, ax, which, small)


def _counts(panel: Panel) -> bool:
    """Whether the points stand at whole numbers, three or more: 1.5 starts mean nothing."""
    places = {x for series in panel.series for x in series.x}
    return len(places) >= 3 and all(float(x).is_integer() for x in places)


def _small_ticks(figure: Figure, ax: Any, which: str, places: Sequence[float]) -> None:
    """Small ticks without labels, as one artist."""
    zeros = [0.0] * len(places)
    x, y = (places, zeros) if which == "x" else (zeros, places)
    transform = ax.get_xaxis_transform() if which == "x" else ax.get_yaxis_transform()
    mark = TICKDOWN if which == "x" else TICKLEFT
    figure.add_artist(
        Line2D(
            x, y, transform=transform, linestyle="none", marker=MarkerStyle(mark), markersize=1.8,
            markeredgewidth=0.4, color="black",
        )
    )  # fmt: skip


def _margins(ax: Any) -> tuple[float, float, float, float]:
    """The points that an axes' labels need to the left, to the right, below and above it."""
    outer, inner = ax.get_tightbbox(RendererBase()), ax.bbox
    return (
        inner.x0 - outer.x0, outer.x1 - inner.x1, inner.y0 - outer.y0, outer.y1 - inner.y1,
    )  # fmt: skip


def render(data: FigureData, width: float = TEXT_WIDTH_INCHES, form: Form = "pdf") -> bytes:
    """The figure as PDF or SVG without dates: equal data give equal bytes.

    A PDF embeds its fonts.  An SVG draws its letters as shapes and has no background, so that a
    page of any colour can show it.

    Raises
    ------
    ReportError
        When the drawing program refuses the numbers.
    """
    key = b"\0".join(
        (msgspec.msgpack.encode(data, order="sorted"), f"{width!r} {form}".encode(), _drawer())
    )
    try:
        return keep(key, lambda: _draw_panels(data, width, form))
    except (ValueError, ArithmeticError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ReportError(f"the figure {data.name[:80]!r} cannot be drawn: {reason}") from None


def _draw_panels(data: FigureData, width: float, form: Form) -> bytes:
    logging.getLogger("fontTools").setLevel(
        logging.ERROR
    )  # it tells of dates in matplotlib's fonts
    style: dict[Any, Any] = {**matplotlib.rcParamsDefault, **_STYLE, "backend": form}
    dates = {"CreationDate": None, "Creator": None, "Producer": None}
    with matplotlib.rc_context(style):
        buffer = io.BytesIO()
        draw(data, width).savefig(
            buffer,
            format=form,
            metadata=dates if form == "pdf" else {"Date": None, "Creator": None},
            transparent=form == "svg",
        )
    return buffer.getvalue()


@cache
def _drawer() -> bytes:
    """What a drawing depends on beside its data: the sources that draw it, and matplotlib."""
    names = (
        "figures.py", "marks.py", "ticks.py", "lettering.py",
        "text.py", "mathematics.py", "characters.py", "schema.py",
    )  # fmt: skip
    sources = [resources.files("reports").joinpath(name).read_bytes() for name in names]
    return b"\0".join([*sources, matplotlib.__version__.encode()])


_COLUMNS = ("x", "y", "lower", "upper", "shade")


def figure_csv(data: FigureData) -> str:
    """All points of a figure at full precision, a row a point, for readers who do not see it."""
    rows: list[list[Any]] = []
    for panel in data.shown:
        for series in panel.series:
            columns = [getattr(series, name) or [None] * len(series.x) for name in _COLUMNS]
            rows += [[panel.title, series.label, *row] for row in zip(*columns, strict=True)]
    return csv_text(["panel", "series", *_COLUMNS], rows)


def undrawn(data: FigureData) -> str:
    """A sentence for the caption on points that cannot be drawn.  Empty when all are drawn."""
    missing = negative = clipped = 0
    for panel, series in ((p, s) for p in data.shown for s in p.series):
        log_x, log_y = panel.xscale == "log", panel.yscale == "log"
        n = len(series.x)
        low = numbers(series.lower, n)
        for x, y, lower in zip(series.x, numbers(series.y, n), low, strict=True):
            if not math.isfinite(y):
                missing += series.style != "band"
            elif (log_y and y <= 0) or (log_x and x <= 0):
                negative += 1
            elif log_y and lower <= 0:
                clipped += 1

    def points(n: int, one: str, many: str) -> str:
        return f"{n} point {one}" if n == 1 else f"{n} points {many}"

    notes = []
    if missing:
        notes.append(points(missing, "without a value is left out", "without a value are left out"))
    if negative:
        text = "at or below zero cannot be drawn on the logarithmic axis"
        notes.append(points(negative, text, text))
    if clipped:
        text = "with a lower limit at or below zero, where the bar or band leaves the axis"
        notes.append(points(clipped, text, text))
    return ("; ".join(notes) + ".") if notes else ""

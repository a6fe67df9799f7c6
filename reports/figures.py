"""Figures: stored figure data drawn as vector PDF or SVG, the same bytes every time.

Series differ by colour (Okabe and Ito's palette, safe for colour-blind readers), by marker and by
dash pattern, so that a grey print can be read as well.  The legend stands outside the data.
"""

from __future__ import annotations

import io
import logging
import math
import re
from collections.abc import Sequence
from functools import cache
from importlib import resources
from itertools import cycle, pairwise
from typing import Any, Literal

import matplotlib
import msgspec
import numpy as np
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.mathtext import MathTextParser
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from reports.cache import kept
from reports.latex import TEXT_WIDTH_INCHES, visible_length
from reports.mathematics import math_source
from reports.schema import Figure as FigureData
from reports.schema import Series

Form = Literal["pdf", "svg"]
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
HEIGHT_INCHES = 2.15
_ENTRY, _HANDLE = 4.4, 46.0  # points: a character of a legend entry, its sample line and gaps
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")
_LINES: tuple[Any, ...] = (
    "solid",
    (0, (7, 1.5, 1.5, 1.5)),
    (0, (10, 2)),
    (0, (4, 1.2, 1.2, 1.2, 1.2, 1.2)),
)
#: Its lightness grows evenly, so that a grey print shows the same order.
_SCALE = "cividis"
_SPAN_SHADES = ("0.90", "0.80")
_DASHES: tuple[Any, ...] = ((0, (4, 2)), (0, (1.2, 1.4)), (0, (2.5, 1.2)), (0, (6, 1.5, 1, 1.5)))
_STYLE: dict[str, Any] = {
    "font.family": "STIXGeneral",
    "mathtext.fontset": "stix",
    "font.size": 9.0,
    "axes.labelsize": 9.0,
    "axes.titlesize": 9.0,
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
    "pdf.fonttype": 42,  # embed TrueType fonts, so that a reader can search and copy the text
    "figure.dpi": 72.0,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.handlelength": 2.8,
    "path.simplify": False,
    "svg.hashsalt": "cfl-verify",  # the ids inside an SVG
}


def _expand(source: str) -> str:
    r"""A formula in the subset of LaTeX that matplotlib's mathtext knows."""
    source = math_source(source)
    braces = r"\{((?:[^{}]|\{[^{}]*\})*)\}"
    for macro, fence in (("norm", r"\|"), ("abs", "|")):
        parts = re.split(rf"\\{macro}{braces}", source)  # arguments at the odd positions
        source = "".join(f"{fence}{p}{fence}" if i % 2 else p for i, p in enumerate(parts))
    replacements = {
        r"\\(?:left)?\s*\\?\\lVert|\\[lr]Vert(?![A-Za-z])": r"\\|",
        r"\\[lr]vert(?![A-Za-z])": "|",
        r"\\(?:tfrac|dfrac)(?![A-Za-z])": r"\\frac",
        r"\\text\{": r"\\mathrm{",
        r"\\poly(?![A-Za-z])": r"\\mathrm{poly}",
        r"\\polylog(?![A-Za-z])": r"\\mathrm{polylog}",
    }
    for pattern_, replacement in replacements.items():
        source = re.sub(pattern_, replacement, source)
    return source


def label(text: str) -> str:
    """Text for a figure: math kept where matplotlib can set it, otherwise its bare characters."""
    logging.getLogger("matplotlib.mathtext").setLevel(logging.ERROR)
    parser = MathTextParser("path")
    out: list[str] = []
    for i, piece in enumerate(re.split(r"\$([^$]+)\$", text)):
        if i % 2 == 0:
            out.append(piece.replace("$", r"\$"))
            continue
        formula = f"${_expand(piece)}$"
        try:
            parser.parse(formula)
        except ValueError:
            formula = re.sub(r"[\\{}]", "", piece)
        out.append(formula)
    return "".join(out)


def _numbers(values: Sequence[float | None] | None, n: int) -> list[float]:
    if values is None:
        return [math.nan] * n
    return [math.nan if v is None else float(v) for v in values]


def _wrap(text: str, width: int) -> str:
    """Break a long legend entry at blanks outside math."""
    lines: list[str] = []
    line = ""
    for word in re.findall(r"(?:\$[^$]*\$|\S)+", text):
        if line and visible_length(line) + visible_length(word) >= width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return "\n".join([*lines, line])


def _colour_scale(series: Sequence[Series]) -> ScalarMappable | None:
    """The colours of all shades: from 0 to 1 where they are shares, else over their range."""
    shades = [v for s in series for v in _numbers(s.shade, len(s.x)) if math.isfinite(v)]
    if not shades:
        return None
    low, high = min(shades), max(shades)
    ends = (0.0, 1.0) if low >= 0.0 and high <= 1.0 else (low, high)
    return ScalarMappable(norm=Normalize(*ends), cmap=_SCALE)


def _draw_shaded(ax: Any, series: Series, index: int, scale: ScalarMappable) -> Any:
    """Draw points whose colours show numbers, and return their legend handle."""
    shades = _numbers(series.shade, len(series.x))
    marker = _MARKERS[index % len(_MARKERS)]
    ax.scatter(
        [float(v) for v in series.x],
        _numbers(series.y, len(series.x)),
        c=scale.to_rgba(np.array(shades)),
        marker=marker,
        s=26,
        linewidths=0.3,
        edgecolors="0.35",
        zorder=3,
    )
    return Line2D([], [], linestyle="none", marker=marker, color="0.35", markerfacecolor="none")


def _draw_series(ax: Any, series: Series, colour: str, index: int, move: float) -> Any:
    """Draw one series and return its legend handle."""
    x = [float(v) + move for v in series.x]
    y = _numbers(series.y, len(x))
    lower, upper = (_numbers(getattr(series, side), len(x)) for side in ("lower", "upper"))
    has_limits = any(math.isfinite(v) for v in (*lower, *upper))
    style = series.style
    order = sorted(range(len(x)), key=lambda i: x[i])
    if style == "points":
        marker = _MARKERS[index % len(_MARKERS)]
        # Open and filled markers alternate, so that overlapping groups stay apart in grey.
        face = colour if index % 2 == 0 else "white"
        options: dict[str, Any] = {
            "linestyle": "none",
            "marker": marker,
            "color": colour,
            "markerfacecolor": face,
            "markersize": 4.4 if len(x) <= 80 else 2.4,
            "markeredgewidth": 0.9,
        }
        if has_limits:
            down = [
                max(b - a, 0.0) if math.isfinite(a) else 0.0 for a, b in zip(lower, y, strict=True)
            ]
            up = [
                max(a - b, 0.0) if math.isfinite(a) else 0.0 for a, b in zip(upper, y, strict=True)
            ]
            ax.errorbar(x, y, yerr=[down, up], elinewidth=0.8, capsize=1.8, zorder=3, **options)
        else:
            ax.plot(x, y, zorder=3, **options)
        return Line2D([], [], **options)
    xs = [x[i] for i in order]
    ys = [y[i] for i in order]
    patterns = _DASHES if style == "dashed" else _LINES
    line: dict[str, Any] = {"color": colour, "linestyle": patterns[index % len(patterns)]}
    if style != "band" or any(math.isfinite(v) for v in ys):
        ax.plot(xs, ys, zorder=2.5, **line)
    if has_limits:
        ax.fill_between(
            xs,
            [lower[i] for i in order],
            [upper[i] for i in order],
            color=colour,
            alpha=0.18,
            linewidth=0,
            zorder=1.5,
        )
    return Line2D([], [], **line)


def _dodged(series: Sequence[Series]) -> list[float]:
    """How far to move each point set sideways so that sets at the same abscissae stay apart."""
    sets = {
        i: set(map(float, item.x))
        for i, item in enumerate(series)
        if item.style == "points" and len(item.x) > 1
    }
    meeting = [i for i, xs in sets.items() if any(xs & sets[j] for j in sets if j != i)]
    places = sorted(set().union(*(sets[i] for i in meeting)))
    room = 0.6 * min((b - a for a, b in pairwise(places)), default=0.0)
    moves = [0.0] * len(series)
    for rank, i in enumerate(meeting):
        moves[i] = room * (rank - (len(meeting) - 1) / 2) / len(meeting)
    return moves


def _tick(value: float, _position: int | None = None) -> str:
    """A tick as a person writes it: 0.02, 5, 200, or a power of ten."""
    if value == 0 or 1e-2 <= abs(value) < 1e4:
        return f"{value:.6g}"
    mantissa, exponent = f"{value:.1e}".split("e")
    power = rf"10^{{{int(exponent)}}}"
    short = mantissa.removesuffix(".0")
    return f"${power}$" if short == "1" else rf"${short}\times {power}$"


def _ticks(axis: Any, scale: str) -> None:
    """Ticks that are few enough to read.

    A logarithmic axis with a small range gets the steps 1, 2, 5 or round numbers.
    """
    if scale != "log":
        return
    low, high = sorted(axis.get_view_interval())
    decades = math.log10(high / low) if low > 0 else 0.0
    axis.set_major_formatter(FuncFormatter(_tick))
    axis.set_minor_formatter(NullFormatter())
    if decades > 6:
        axis.set_minor_locator(NullLocator())
    if decades >= 2.5:
        axis.set_major_locator(LogLocator(numticks=8))
    elif decades > 0.8:
        subs = (1.0, 3.0) if decades >= 1.5 else (1.0, 2.0, 5.0)
        axis.set_major_locator(LogLocator(subs=subs, numticks=12))
    else:
        axis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 5, 10]))
        axis.set_minor_locator(NullLocator())


def _widen(ax: Any, series: Sequence[Series], scale: str) -> None:
    """Widen an axis whose data share one abscissa, because its length would be zero."""
    places = {float(x) for item in series for x in item.x}
    if len(places) == 1:
        (x,) = places
        if scale == "log" and x > 0:
            ax.set_xlim(x / 2, 2 * x)
        elif scale != "log":
            ax.set_xlim(x - 1, x + 1)


def _colours(series: Sequence[Series]) -> list[str]:
    """One colour for each group.  A series without a group is a group of its own."""
    known: dict[str, str] = {}
    return [
        known.setdefault(s.group or f"#{i}", PALETTE[len(known) % len(PALETTE)])
        for i, s in enumerate(series)
    ]


def draw(data: FigureData, width: float = TEXT_WIDTH_INCHES) -> Figure:
    """The matplotlib figure of a stored figure, ``width`` inches wide."""
    series = data.series
    figure = Figure(figsize=(width, HEIGHT_INCHES), layout="constrained")
    FigureCanvasPdf(figure)
    ax = figure.add_subplot()
    ax.set_xscale(data.xscale)
    ax.set_yscale(data.yscale)
    _widen(ax, series, data.xscale)
    handles, texts = [], []
    counts: dict[str, int] = {}
    patterns: dict[tuple[str, str], int] = {}
    scale = _colour_scale(series)
    moves = _dodged(series) if data.xscale == "linear" else [0.0] * len(series)
    for item, colour, move in zip(series, _colours(series), moves, strict=True):
        style = item.style
        family = style if style in {"points", "dashed"} else "line"
        if item.label or (item.group, family) not in patterns:
            counts[family] = counts.get(family, -1) + 1
            patterns[item.group, family] = counts[family]
        index = patterns[item.group, family]  # without a label: one more line of its group
        if item.shade is not None and scale is not None:
            handles.append(_draw_shaded(ax, item, index, scale))
        else:
            handles.append(_draw_series(ax, item, colour, index, move))
        texts.append(label(item.label))
    for (low, high, text), grey in zip(data.spans, cycle(_SPAN_SHADES), strict=False):
        ax.axvspan(low, high, color=grey, linewidth=0, zorder=0.5)
        handles.append(Patch(facecolor=grey))
        texts.append(label(text))
    for i, (kind, (position, text)) in enumerate(
        [("h", line) for line in data.hlines] + [("v", line) for line in data.vlines]
    ):
        line: dict[str, Any] = {
            "color": "0.25",
            "linewidth": 0.9,
            "linestyle": _DASHES[(i + 1) % len(_DASHES)],
        }
        (ax.axhline if kind == "h" else ax.axvline)(position, zorder=1.8, **line)
        handles.append(Line2D([], [], **line))
        texts.append(label(text))
    ax.set_xlabel(label(data.xlabel))
    ylabel = label(data.ylabel)
    if visible_length(data.ylabel) > 22:
        ylabel = re.sub(r" (\([^()$]*(?:\$[^$]*\$)?\))$", r"\n\1", ylabel)  # the unit
    ax.set_ylabel(_wrap(ylabel, 32) if "\n" not in ylabel else ylabel)
    ax.margins(x=0.04, y=0.08)
    _ticks(ax.xaxis, data.xscale)
    _ticks(ax.yaxis, data.yscale)
    if scale is not None:
        figure.colorbar(scale, ax=ax, label=_wrap(label(data.shade), 32), pad=0.02, aspect=16)
    _legend(figure, handles, texts, width)
    return figure


def _legend(figure: Figure, handles: list[Any], texts: list[str], width: float) -> None:
    """Put the legend to the right of the data when entries are short, else below it in columns.

    A figure that is narrower than the text has its legend below.
    """
    shown = [(h, t) for h, t in zip(handles, texts, strict=True) if t]
    if not shown:
        return
    marks, names = zip(*shown, strict=True)
    longest = max(visible_length(t) for t in names)
    if longest <= 26 and len(names) <= 10 and width >= TEXT_WIDTH_INCHES:
        figure.legend(marks, names, loc="outside right upper")
        return
    room = 72.0 * width
    columns = next((n for n in (3, 2) if n * (_ENTRY * longest + _HANDLE) <= room), 1)
    names = tuple(_wrap(text, int((room / columns - _HANDLE) / _ENTRY)) for text in names)
    lines = sum(text.count("\n") + 1 for text in names)
    figure.set_size_inches(width, HEIGHT_INCHES + 0.18 * math.ceil(lines / columns))
    figure.legend(marks, names, loc="outside lower center", ncols=columns)


def render(data: FigureData, width: float = TEXT_WIDTH_INCHES, form: Form = "pdf") -> bytes:
    """The figure as PDF or SVG without dates: equal data give equal bytes.

    A PDF embeds its fonts.  An SVG draws its letters as shapes and has no background, so that a
    page of any colour can show it.
    """
    key = b"\0".join(
        (msgspec.msgpack.encode(data, order="sorted"), f"{width!r} {form}".encode(), _drawer())
    )
    return kept(key, lambda: _drawn(data, width, form))


def _drawn(data: FigureData, width: float, form: Form) -> bytes:
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
    """What a drawing depends on beside its data: this module's sources and matplotlib."""
    names = ("figures.py", "latex.py", "mathematics.py", "characters.py", "schema.py")
    sources = [resources.files("reports").joinpath(name).read_bytes() for name in names]
    return b"\0".join([*sources, matplotlib.__version__.encode()])


def undrawn(data: FigureData) -> str:
    """A sentence for the caption on points that cannot be drawn.  Empty when all are drawn."""
    missing = negative = clipped = 0
    log_x, log_y = data.xscale == "log", data.yscale == "log"
    for series in data.series:
        n = len(series.x)
        low = _numbers(series.lower, n)
        for x, y, lower in zip(series.x, _numbers(series.y, n), low, strict=True):
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

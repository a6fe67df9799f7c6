"""One panel of a figure: its series as points, lines and bands, and its reference lines.

Series differ by colour (Okabe and Ito's palette, safe for colour-blind readers), by marker and by
dash pattern, so that a grey print can be read as well.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from itertools import cycle, pairwise
from typing import Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from reports.lettering import label
from reports.schema import Panel, Series

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
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

#: The entries of a legend: a sample and its text.
Entries = list[tuple[Any, str]]


def numbers(values: Sequence[float | None] | None, n: int) -> list[float]:
    """A column of a series as floats, with NaN where there is no value."""
    if values is None:
        return [math.nan] * n
    return [math.nan if v is None else float(v) for v in values]


def colour_scale(series: Sequence[Series]) -> ScalarMappable | None:
    """The colours of all shades: from 0 to 1 where they are shares, else over their range."""
    shades = [v for s in series for v in numbers(s.shade, len(s.x)) if math.isfinite(v)]
    if not shades:
        return None
    low, high = min(shades), max(shades)
    ends = (0.0, 1.0) if low >= 0.0 and high <= 1.0 else (low, high)
    return ScalarMappable(norm=Normalize(*ends), cmap=_SCALE)


def _draw_shaded(ax: Any, series: Series, index: int, scale: ScalarMappable) -> Any:
    """Draw points whose colours show numbers, and return their legend handle."""
    shades = numbers(series.shade, len(series.x))
    marker = _MARKERS[index % len(_MARKERS)]
    ax.scatter(
        [float(v) for v in series.x],
        numbers(series.y, len(series.x)),
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
    y = numbers(series.y, len(x))
    lower, upper = (numbers(getattr(series, side), len(x)) for side in ("lower", "upper"))
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


def _dodge(series: Sequence[Series]) -> list[float]:
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


def _widen(ax: Any, series: Sequence[Series], scale: str) -> None:
    """Widen an axis whose data share one abscissa, because its length would be zero."""
    places = {float(x) for item in series for x in item.x}
    if len(places) == 1:
        (x,) = places
        if scale == "log" and x > 0:
            ax.set_xlim(x / 2, min(2 * x, sys.float_info.max))
        elif scale != "log":
            ax.set_xlim(x - 1, x + 1)


def _colours(series: Sequence[Series]) -> list[str]:
    """One colour for each group.  A series without a group is a group of its own."""
    known: dict[str, str] = {}
    return [
        known.setdefault(s.group or f"#{i}", PALETTE[len(known) % len(PALETTE)])
        for i, s in enumerate(series)
    ]


def draw_panel(ax: Any, panel: Panel, scale: ScalarMappable | None) -> Entries:
    """Draw a panel's series and reference lines.  Its legend is returned."""
    ax.set_xscale(panel.xscale)
    ax.set_yscale(panel.yscale)
    _widen(ax, panel.series, panel.xscale)
    entries: Entries = []
    counts: dict[str, int] = {}
    patterns: dict[tuple[str, str], int] = {}
    series = panel.series
    moves = _dodge(series) if panel.xscale == "linear" else [0.0] * len(series)
    for item, colour, move in zip(series, _colours(series), moves, strict=True):
        style = item.style
        family = style if style in {"points", "dashed"} else "line"
        if item.label or (item.group, family) not in patterns:
            counts[family] = counts.get(family, -1) + 1
            patterns[item.group, family] = counts[family]
        index = patterns[item.group, family]  # without a label: one more line of its group
        if item.shade is not None and scale is not None:
            handle = _draw_shaded(ax, item, index, scale)
        else:
            handle = _draw_series(ax, item, colour, index, move)
        entries.append((handle, label(item.label)))
    for (low, high, text), grey in zip(panel.spans, cycle(_SPAN_SHADES), strict=False):
        ax.axvspan(low, high, color=grey, linewidth=0, zorder=0.5)
        entries.append((Patch(facecolor=grey), label(text)))
    for i, (kind, (position, text)) in enumerate(
        [("h", line) for line in panel.hlines] + [("v", line) for line in panel.vlines]
    ):
        line: dict[str, Any] = {
            "color": "0.25",
            "linewidth": 0.9,
            "linestyle": _DASHES[(i + 1) % len(_DASHES)],
        }
        (ax.axhline if kind == "h" else ax.axvline)(position, zorder=1.8, **line)
        entries.append((Line2D([], [], **line), label(text)))
    return entries

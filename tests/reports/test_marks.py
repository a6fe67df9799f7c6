"""What a panel draws: every number in its place, colours by group, and reference lines."""

from __future__ import annotations

import math
from typing import Any

import matplotlib
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.colors import to_hex, to_rgba
from matplotlib.figure import Figure

from reports.marks import PALETTE, colour_scale, draw_panel
from reports.schema import Panel, Series

PLACES = st.sampled_from([0.5, 1.0, 2.0, 4.0, 30.0])
VALUES = st.none() | PLACES


@st.composite
def panels(draw: Any) -> Panel:
    series = []
    for i in range(draw(st.integers(1, 5))):
        x = draw(st.lists(PLACES, min_size=1, max_size=4))
        n = len(x)
        column = st.lists(VALUES, min_size=n, max_size=n)
        limits = draw(st.booleans())
        series.append(
            Series(
                label=draw(st.sampled_from(["", f"s{i}"])),
                x=x,
                y=draw(column),
                lower=draw(column) if limits else None,
                upper=draw(column) if limits else None,
                style=draw(st.sampled_from(["points", "line", "dashed", "band"])),
                group=draw(st.sampled_from(["", "a", "b"])),
                shade=draw(st.none() | st.lists(VALUES, min_size=n, max_size=n)),
            )
        )
    lines = st.lists(st.tuples(PLACES, st.just("r")), max_size=2)
    return Panel(
        series=series,
        xscale=draw(st.sampled_from(["linear", "log"])),
        yscale=draw(st.sampled_from(["linear", "log"])),
        hlines=draw(lines),
        vlines=draw(lines),
        spans=draw(st.lists(st.tuples(st.just(1.0), PLACES, st.just("s")), max_size=1)),
    )


def numbers(column: Any) -> list[float]:
    return [math.nan if v is None else float(v) for v in column]


def same(a: Any, b: Any) -> bool:
    return bool(list(map(float, a)) == pytest.approx(list(map(float, b)), nan_ok=True))


@settings(max_examples=40, deadline=None)
@given(panels())
def test_every_series_is_drawn_with_its_numbers_and_the_colour_of_its_group(panel: Panel) -> None:
    axes = Figure().add_subplot()
    scale = colour_scale(panel.series)
    entries = draw_panel(axes, panel, scale)
    assert [text for _, text in entries] == [
        *(s.label for s in panel.series),
        *("s" for _ in panel.spans),
        *("r" for _ in (*panel.hlines, *panel.vlines)),
    ]
    assert (axes.get_xscale(), axes.get_yscale()) == (panel.xscale, panel.yscale)
    colours: dict[str, str] = {}
    for i, s in enumerate(panel.series):
        colours.setdefault(s.group or f"#{i}", PALETTE[len(colours)])
    bars = iter(axes.containers)
    clouds = [c for c in axes.collections if hasattr(c, "get_sizes") and len(c.get_sizes())]
    bands = iter([c for c in axes.collections if c.get_zorder() == 1.5])
    in_bars = [line for made in axes.containers for line in (made.lines[0], *made.lines[1])]
    plain = iter([line for line in axes.lines if line not in in_bars])
    shaded = iter(clouds)
    for i, (s, (handle, _)) in enumerate(zip(panel.series, entries, strict=False)):
        colour = colours[s.group or f"#{i}"]
        x, y = [float(v) for v in s.x], numbers(s.y)
        limited = [numbers(c) for c in (s.lower, s.upper) if c is not None]
        has_limits = any(math.isfinite(v) for c in limited for v in c)
        if s.shade is not None and scale is not None:
            cloud = next(shaded)
            assert same([v for v, _ in cloud.get_offsets().data], x)
            wanted = [to_rgba(scale.to_rgba(v)) for v in numbers(s.shade)]
            assert [tuple(c) for c in cloud.get_facecolor()] == wanted
            continue
        assert to_hex(handle.get_color()) == colour.lower()
        order = sorted(range(len(x)), key=lambda j: x[j])
        if s.style == "points":
            made = next(bars) if has_limits else None
            line = made.lines[0] if made else next(plain)
            shift = float(line.get_xdata()[0]) - x[0]
            assert same([v - shift for v in line.get_xdata()], x)
            assert shift == 0.0 or panel.xscale == "linear"
            assert same(line.get_ydata(), y)
            order = list(range(len(x)))
        elif s.style != "band" or any(map(math.isfinite, y)):
            line = next(plain)
            assert same(line.get_xdata(), [x[j] for j in order])
            assert same(line.get_ydata(), [y[j] for j in order])
        else:
            line = handle
        assert to_hex(line.get_color()) == colour.lower()
        if has_limits and s.style != "points":
            band = next(bands)
            assert to_hex(band.get_facecolor()[0][:3]) == colour.lower()
            assert band.get_facecolor()[0][3] == pytest.approx(0.18)
    across = list(plain)
    for (place, _), line in zip((*panel.hlines, *panel.vlines), across, strict=True):
        flat = across.index(line) < len(panel.hlines)
        ends, along = (line.get_ydata(), line.get_xdata()) if flat else (
            line.get_xdata(), line.get_ydata()
        )  # fmt: skip
        assert same(ends, [place, place])
        assert same(along, [0, 1])  # from edge to edge
    assert len(axes.patches) == len(panel.spans)
    assert list(bands) == []
    assert list(shaded) == []


@pytest.mark.parametrize("shades", [[0.2, 0.9], [-3.0, 5.0], [0.0, 2.0]])
def test_shades_take_one_scale_that_prints_in_grey(shades: list[float]) -> None:
    scale = colour_scale([Series(x=[1.0, 2.0], y=[1.0, 2.0], shade=shades)])
    assert scale is not None
    share = max(shades) <= 1 and min(shades) >= 0
    low, high = (0.0, 1.0) if share else (min(shades), max(shades))
    known = matplotlib.colormaps["cividis"]
    for value in (low, (low + high) / 2, high):
        assert tuple(scale.to_rgba(value)) == known((value - low) / (high - low))
    assert colour_scale([Series(x=[1.0], y=[1.0], shade=[None])]) is None


@pytest.mark.parametrize(
    ("x", "scale", "limits"),
    [
        (10.0, "linear", (9.0, 11.0)), (10.0, "log", (5.0, 20.0)), (0.0, "linear", (-1.0, 1.0)),
        (-3.0, "linear", (-4.0, -2.0)),
    ],
)  # fmt: skip
def test_data_of_one_abscissa_have_room_around_it(
    x: float, scale: Any, limits: tuple[float, float]
) -> None:
    axes = Figure().add_subplot()
    draw_panel(axes, Panel(series=[Series(x=[x, x], y=[1.0, 2.0])], xscale=scale), None)
    assert axes.get_xlim() == limits

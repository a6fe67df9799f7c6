"""Figures: drawn from data, the same bytes every time, nothing clipped or silently left out."""

from __future__ import annotations

import logging
import re
import zlib
from itertools import combinations, pairwise
from typing import Any
from xml.etree import ElementTree

import matplotlib
import msgspec
import pytest
from matplotlib.backend_bases import RendererBase
from matplotlib.font_manager import FontProperties
from matplotlib.ft2font import LoadFlags
from matplotlib.markers import TICKDOWN, TICKLEFT
from matplotlib.mathtext import MathTextParser
from matplotlib.transforms import Bbox

from reports import marks
from reports.figures import _STYLE, _draw_panels, draw, render, undrawn
from reports.lettering import FONTS, label, remember_formulas, wrap
from reports.marks import PALETTE
from reports.schema import Figure, decode
from reports.text import TEXT_WIDTH_INCHES
from tests.reports.fakes import figure_record as figure


def streams(pdf: bytes) -> bytes:
    """The decompressed streams of a PDF."""
    out = []
    for body in re.findall(rb"stream\r?\n(.*?)endstream", pdf, flags=re.DOTALL):
        try:
            out.append(zlib.decompress(body.rstrip(b"\r\n")))
        except zlib.error:
            out.append(body)
    return b"\n".join(out)


def test_equal_data_give_equal_bytes_without_a_date() -> None:
    first = render(figure())
    assert first == render(figure())
    assert first.startswith(b"%PDF-")
    assert b"CreationDate" not in first


@pytest.mark.parametrize("scale", ["linear", "log"])
@pytest.mark.filterwarnings("error")
def test_data_at_one_abscissa_have_room_on_either_side(scale: str) -> None:
    one = {"label": "a", "x": [10.0], "y": [1.0], "lower": [0.5], "upper": [2.0]}
    axes = draw(figure(xscale=scale, yscale="log", series=[one], vlines=[])).axes[0]
    low, high = axes.get_xlim()
    assert low < 10 < high
    assert high < 100


def test_fonts_are_embedded_as_truetype() -> None:
    drawn = render(figure())
    pdf = drawn + streams(drawn)
    assert b"/FontFile2" in pdf
    assert b"/Type3" not in pdf


def test_text_and_legend_lie_inside_the_page_and_outside_the_data() -> None:
    drawn = draw(figure())
    drawn.canvas.draw()
    page = drawn.bbox
    axes = drawn.axes[0]
    legend = drawn.legends[0].get_window_extent()
    assert not legend.overlaps(axes.get_window_extent())
    for artist in (
        legend,
        axes.xaxis.label.get_window_extent(),
        axes.yaxis.label.get_window_extent(),
    ):
        assert page.x0 <= artist.x0 <= artist.x1 <= page.x1
        assert page.y0 <= artist.y0 <= artist.y1 <= page.y1


@pytest.mark.parametrize("n", [1, 6, 14])
def test_long_legends_fit_the_page(n: int) -> None:
    series = [
        {
            "label": f"a rather long legend entry that says what is drawn, {i}",
            "x": [1, 2],
            "y": [i + 1, 2],
        }
        for i in range(n)
    ]
    drawn = draw(figure(series=series, hlines=[], vlines=[]))
    drawn.canvas.draw()
    legend = drawn.legends[0].get_window_extent()
    assert drawn.bbox.x0 <= legend.x0 <= legend.x1 <= drawn.bbox.x1
    assert drawn.axes[0].get_window_extent().height > 72


def test_series_differ_without_colour() -> None:
    series = [
        {"label": f"s{i}{style}", "x": [1, 2, 3], "y": [1, 2, i + 1.0], "style": style}
        for i in range(4)
        for style in ("points", "line", "dashed")
    ]
    axes = draw(figure(series=series, hlines=[], vlines=[])).axes[0]
    looks = {(line.get_marker(), str(line._unscaled_dash_pattern)) for line in axes.get_lines()}
    assert len(looks) == len(series)


def test_sets_of_points_are_filled_and_open_in_turn() -> None:
    """The first is filled.  So sets that overlap stay apart without colour."""
    sets = [
        {"label": name, "x": [1.0, 2.0], "y": [3.0, 4.0], "group": name, "style": "points"}
        for name in "abc"
    ]
    (ax,) = draw(figure(series=sets, hlines=[], vlines=[]), 6.5).axes
    faces = [line.get_markerfacecolor() for line in ax.lines]
    assert faces == [PALETTE[0], "white", PALETTE[2]]


def test_series_of_a_group_share_a_colour() -> None:
    axes = draw(figure(hlines=[], vlines=[])).axes[0]
    assert {line.get_color() for line in axes.get_lines()} == {PALETTE[0]}


def test_every_reference_line_is_drawn_and_named() -> None:
    drawn = draw(figure())
    names = [text.get_text() for text in drawn.legends[0].get_texts()]
    assert len(names) == 4
    assert names[2].startswith("floor")


@pytest.mark.parametrize(
    "text",
    [
        r"$\norm{\theta_j}$",
        r"$\|x\|\,\abs{y}$",
        r"$\tfrac12\text{ of } \lVert x\rVert$",
        r"$\begin{cases} a \end{cases}$",
        "lone $ sign",
        r"$\undefined{x}$",
        r"$\poly(m)$",
    ],
)
def test_any_label_can_be_drawn(text: str) -> None:
    assert render(figure(xlabel=text)).startswith(b"%PDF-")


@pytest.mark.parametrize("text", ["größe_a $n$", "für $n$", "“Łódź” – σ ≤ 1 < 2", "$x_1$ für {é}"])
def test_a_label_with_a_formula_has_every_letter(text: str) -> None:
    """ "größe $n$" was drawn with the sign of a currency for each of its letters beyond ASCII."""
    dummy = 164  # which mathtext puts in the place of a character that it does not find
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **FONTS, "backend": "pdf"}):
        drawn = MathTextParser("path").parse(label(text)).glyphs if "$" in label(text) else []
    assert dummy not in [glyph[2] for glyph in drawn]
    wanted = {ord(c) for c in text if c.isalpha() and not c.isascii() and c not in "σ"}
    assert wanted <= {glyph[2] for glyph in drawn} or not drawn


def test_labels_keep_math_that_matplotlib_knows() -> None:
    assert label(r"error $\norm{x}$") == r"error $\|x\|$"
    assert "$" not in label(r"$\undefined{x}$")


def test_what_cannot_be_drawn_is_said() -> None:
    note = undrawn(figure())
    assert "1 point without a value" in note
    assert "1 point at or below zero" in note
    assert "1 point with a lower limit at or below zero" in note
    whole = decode({"series": [{"x": [1.0], "y": [1.0]}], "yscale": "log"}, Figure, "figure")
    assert undrawn(whole) == ""


def test_an_empty_figure_is_drawn() -> None:
    assert render(figure(series=[], hlines=[], vlines=[])).startswith(b"%PDF-")


def test_points_at_the_same_place_are_set_apart_on_a_linear_axis() -> None:
    series = [{"label": f"{i}", "x": [1.0, 2.0, 3.0], "y": [1, 1, 1]} for i in range(3)]
    axes = draw(figure(series=series, xscale="linear", hlines=[], vlines=[])).axes[0]
    firsts = [float(line.get_xdata()[0]) for line in axes.get_lines()]
    assert len(set(firsts)) == 3
    assert max(abs(x - 1.0) for x in firsts) < 0.5  # nearer to its own place than to the next


@pytest.mark.parametrize("top", [1.5, 6.0, 80.0, 1e4, 1e16])
def test_logarithmic_ticks_are_few_and_do_not_overlap(top: float) -> None:
    series = [{"label": "", "x": [1.0, top], "y": [2e-5, 2e-5 * top]}]
    drawn = draw(figure(series=series, hlines=[], vlines=[]))
    drawn.canvas.draw()
    labels = [t for t in drawn.axes[0].get_xticklabels(which="both") if t.get_text()]
    low, high = drawn.axes[0].get_xlim()
    boxes = [t.get_window_extent() for t in labels if low <= t.get_position()[0] <= high]
    assert 2 <= len(boxes) <= 9
    assert all(a.x1 < b.x0 for a, b in pairwise(boxes))


def test_error_bars_reach_from_the_lower_to_the_upper_limit() -> None:
    series = {"x": [1.0, 2.0], "y": [3.0, 5.0], "lower": [2.5, 4.0], "upper": [3.25, 7.0]}
    record = figure(series=[{"label": "a", **series}], hlines=[], vlines=[])
    (bars,) = draw(record).axes[0].containers
    ends = [segment[:, 1].tolist() for segment in bars.lines[2][0].get_segments()]
    assert ends == [[2.5, 3.25], [4.0, 7.0]]


def test_the_colours_of_shaded_points_show_their_numbers() -> None:
    series = [
        {"label": "a", "x": [1.0, 2.0, 3.0], "y": [1.0, 2.0, 3.0], "shade": [0.0, 0.5, 1.0]},
        {"label": "b", "x": [1.0], "y": [3.0], "shade": [0.5]},
        {"label": "order", "x": [1.0, 3.0], "y": [1.0, 3.0], "style": "line"},
    ]
    drawn = draw(figure(series=series, hlines=[], vlines=[], shade="share (dimensionless)"))
    axes, scale = drawn.axes
    first, second = (points.get_facecolors() for points in axes.collections)
    lightness = [sum(colour[:3]) for colour in first]
    assert lightness == sorted(lightness)
    assert lightness[0] < lightness[-1]
    assert first[1].tolist() == second[0].tolist()  # equal numbers of two series: equal colours
    assert scale.get_ylabel() == "share (dimensionless)"
    assert scale.get_ylim() == (0.0, 1.0)


def test_shades_that_are_no_shares_take_the_whole_scale() -> None:
    series = [{"label": "a", "x": [1.0, 2.0], "y": [1.0, 2.0], "shade": [-3.0, 40.0]}]
    drawn = draw(figure(series=series, hlines=[], vlines=[]))
    assert drawn.axes[1].get_ylim() == (-3.0, 40.0)


def test_a_span_is_shaded_from_its_first_to_its_last_place() -> None:
    drawn = draw(figure(hlines=[], vlines=[], spans=[(2.0, 30.0, "interval")]))
    (strip,) = drawn.axes[0].patches
    box = strip.get_extents().transformed(drawn.axes[0].transData.inverted())
    assert (box.x0, box.x1) == pytest.approx((2.0, 30.0))
    assert "interval" in [text.get_text() for text in drawn.legends[0].get_texts()]


def test_a_series_without_a_label_continues_the_lines_of_its_group() -> None:
    line = {"x": [1.0, 2.0], "y": [1.0, 2.0], "style": "line"}
    series = [{"label": name, "group": group, **line} for name, group in ("a1", "b2", " 1", "c2")]
    series[2]["label"] = ""
    drawn = draw(figure(series=series, hlines=[], vlines=[])).axes[0].get_lines()
    one, _, again, labelled = (line.get_linestyle() for line in drawn)
    assert one == again != labelled


def test_a_vector_drawing_for_the_web_is_the_same_twice_and_holds_no_script() -> None:
    hostile = figure(xlabel="--><script>alert(1)</script>", title="]]><script/>")
    first = render(hostile, form="svg")
    assert first == render(hostile, form="svg")
    tags = {element.tag.partition("}")[2] for element in ElementTree.fromstring(first).iter()}
    assert "path" in tags
    assert not tags & {"script", "image", "foreignObject", "a"}


def plain(series: list[dict[str, object]], **changes: object) -> Figure:
    """A figure of these series on linear axes, without lines across."""
    scales = {"xscale": "linear", "yscale": "linear", "hlines": [], "vlines": []}
    return figure(**{**scales, "series": series, **changes})


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("aaa bbb", ["aaa bbb"]),
        ("aaaa bbbb", ["aaaa", "bbbb"]),  # eight letters and a blank are wider than eight
        ("aaaa bbb", ["aaaa bbb"]),
        ("$a b c$ dd", ["$a b c$ dd"]),  # no break inside math
        ("a bbbbbbbbbb c", ["a", "bbbbbbbbbb", "c"]),
        ("", [""]),
    ],
)
def test_a_long_entry_breaks_at_blanks(text: str, lines: list[str]) -> None:
    assert wrap(text, 8) == "\n".join(lines)


@pytest.mark.parametrize(("scale", "limits"), [("linear", (9.0, 11.0)), ("log", (5.0, 20.0))])
def test_one_abscissa_stands_in_the_middle_of_its_axis(
    scale: str, limits: tuple[float, float]
) -> None:
    axes = draw(plain([{"label": "a", "x": [10.0], "y": [1.0]}], xscale=scale)).axes[0]
    assert axes.get_xlim() == limits


@pytest.mark.parametrize("shades", [[0.25, 40.0], [-1.0, 0.5]])
def test_shades_are_shares_only_if_all_of_them_are(shades: list[float]) -> None:
    series: list[dict[str, object]] = [{"x": [1.0, 2.0], "y": [1.0, 2.0], "shade": shades}]
    assert draw(plain(series)).axes[1].get_ylim() == tuple(shades)


def test_points_of_a_large_set_are_smaller() -> None:
    few, many = (
        draw(plain([{"x": list(range(n)), "y": [1.0] * n}])).axes[0].get_lines()[0]
        for n in (80, 81)
    )
    assert few.get_markersize() > many.get_markersize()


def test_sets_at_the_same_places_share_six_tenths_of_the_smallest_distance() -> None:
    """Sets that meet no other set, sets of one point, and lines stay where they are."""
    series: list[dict[str, object]] = [
        {"label": "a", "x": [1.0, 2.0, 4.0], "y": [1.0] * 3},
        {"label": "alone", "x": [8.0, 9.0], "y": [1.0] * 2},
        {"label": "b", "x": [1.0, 2.0], "y": [2.0] * 2},
        {"label": "point", "x": [1.0], "y": [2.0]},
        {"label": "c", "x": [4.0, 5.0], "y": [3.0] * 2},
        {"label": "line", "x": [1.0, 2.0], "y": [2.0] * 2, "style": "line"},
    ]
    lines = draw(plain(series)).axes[0].get_lines()
    moves = [float(line.get_xdata()[0]) for line in lines]
    assert moves == pytest.approx([0.8, 8.0, 1.0, 1.0, 4.2, 1.0])


def test_a_limit_that_is_missing_or_on_the_wrong_side_has_no_bar() -> None:
    bars = {"x": [1.0, 2.0], "y": [3.0, 5.0], "lower": [None, 6.0], "upper": [4.0, None]}
    (drawn,) = draw(plain([{"label": "a", **bars}])).axes[0].containers
    ends = [segment[:, 1].tolist() for segment in drawn.lines[2][0].get_segments()]
    assert ends == [[3.0, 4.0], [5.0, 5.0]]


def test_lines_and_bands_run_from_left_to_right() -> None:
    band = {"x": [3.0, 1.0, 2.0], "y": [9.0, 1.0, 4.0]}
    limits = {"lower": [8.0, 0.0, 3.0], "upper": [10.0, 2.0, 5.0]}
    axes = draw(plain([{"label": "a", **band, **limits, "style": "band"}])).axes[0]
    assert axes.get_lines()[0].get_xydata().tolist() == [[1.0, 1.0], [2.0, 4.0], [3.0, 9.0]]
    corners = axes.collections[0].get_paths()[0].vertices.tolist()
    assert [1.0, 0.0] in corners
    assert [3.0, 10.0] in corners
    assert [1.0, 8.0] not in corners


def test_data_hide_no_data_and_shades_hide_nothing() -> None:
    """From the back: spans, bands, reference lines, lines, points with and without a shade."""
    series: list[dict[str, object]] = [
        {"x": [1.0, 2.0], "y": [1.0, 2.0], "style": "points"},
        {"x": [1.0, 2.0], "y": [1.0, 2.0], "lower": [0, 1], "upper": [2, 3], "style": "band"},
        {"x": [1.0, 2.0], "y": [1.0, 2.0], "shade": [0.0, 1.0]},
    ]
    lines = {"spans": [(1.0, 2.0, "s")], "hlines": [(1.0, "h")], "vlines": [(1.0, "v")]}
    axes = draw(plain(series, **lines)).axes[0]
    points, line, across, down = axes.get_lines()
    (span,), (band, shaded) = axes.patches, axes.collections
    assert span.zorder < band.zorder < across.zorder == down.zorder < line.zorder < points.zorder
    assert shaded.zorder == points.zorder


@pytest.mark.parametrize(
    ("n", "letters", "width", "columns"),
    [
        (10, 26, 6.3, 0),  # to the right of the data
        (11, 23, 6.3, 3),  # too many: below the data, three columns of 151 points
        (11, 24, 6.3, 2),
        (2, 27, 6.3, 2),  # too long
        (2, 41, 6.3, 2),
        (2, 42, 6.3, 1),
        (10, 23, 3.0, 1),  # too narrow a figure for a legend at its side
    ],
)
def test_a_legend_stands_where_it_has_room(
    n: int, letters: int, width: float, columns: int
) -> None:
    series: list[dict[str, object]] = [
        {"label": f"{i:x>{letters}}", "x": [1.0, 2.0], "y": [1.0, 2.0]} for i in range(n)
    ]
    drawn = draw(plain(series), width)
    (legend,) = drawn.legends
    place, axes = legend.get_window_extent(RendererBase()), drawn.axes[0].bbox
    if columns:
        assert legend._ncols == columns
        assert place.y1 < axes.y0
    else:
        assert axes.x1 < place.x0
    assert TEXT_WIDTH_INCHES == 6.3


def test_the_unit_of_a_long_label_has_a_line_of_its_own() -> None:
    one = [{"x": [1.0, 2.0], "y": [1.0, 2.0]}]
    long, short = ("squared distance here ($m$)", "distance ($m$)")
    assert draw(plain(one, ylabel=long)).axes[0].get_ylabel() == "squared distance here\n($m$)"
    assert draw(plain(one, ylabel=short)).axes[0].get_ylabel() == short


def test_groups_share_a_colour_and_the_eighth_takes_the_first_again() -> None:
    series = [{"x": [1.0], "y": [1.0], "group": f"{i % 8}"} for i in range(9)]
    colours = [line.get_color() for line in draw(plain(series)).axes[0].get_lines()]
    assert colours == [*PALETTE, PALETTE[0], PALETTE[0]]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"x": [0.0, 1.0], "y": [1.0, 0.0]}, "2 points at or below zero cannot be drawn on the"),
        ({"x": [1.0, 2.0], "y": [None, None]}, "2 points without a value are left out."),
        ({"x": [1.0], "y": [None], "lower": [1.0], "upper": [2.0], "style": "band"}, ""),
        ({"x": [1.0], "y": [1.0], "lower": [0.0]}, "1 point with a lower limit at or below zero"),
        ({"x": [1.0], "y": [1.0], "lower": [0.5]}, ""),
    ],
)
def test_points_that_a_logarithmic_axis_cannot_show_are_counted(
    data: dict[str, object], said: str
) -> None:
    note = undrawn(plain([data], xscale="log", yscale="log"))
    assert note.startswith(said)
    assert bool(note) is bool(said)
    assert "zero" not in undrawn(plain([data]))


def panels(n: int, **changes: Any) -> Figure:
    """A figure of panels whose ranges of y differ."""
    one = {"xlabel": "$m$", "ylabel": "error", "xscale": "log", "yscale": "log"}
    series = [[{"label": name, "x": [1.0, 100.0], "y": [1.0, 10.0**i]} for name in "ab"]
              for i in range(1, n + 1)]  # fmt: skip
    shown = [{**one, "title": f"exponent ${i}$", "series": s} for i, s in enumerate(series)]
    return decode({"panels": shown, **changes}, Figure, "figure")


@pytest.mark.parametrize(("n", "width", "in_a_row"), [(2, 6.3, 2), (3, 6.3, 3), (4, 6.3, 2),
                                                      (5, 6.3, 3), (3, 3.4, 2)])  # fmt: skip
def test_panels_stand_in_rows_and_share_an_axis_and_a_legend(
    n: int, width: float, in_a_row: int
) -> None:
    drawn = draw(panels(n), width)
    assert len(drawn.axes) == n
    bottoms = [round(ax.get_position().y0, 6) for ax in drawn.axes]
    assert bottoms.count(bottoms[0]) == in_a_row
    assert len({ax.get_ylim() for ax in drawn.axes}) == 1
    assert [text.get_text() for text in drawn.legends[0].get_texts()] == ["a", "b"]
    assert [bool(ax.get_ylabel()) for ax in drawn.axes] == [i % in_a_row == 0 for i in range(n)]
    assert [ax.get_title(loc="left") or ax.get_title() for ax in drawn.axes] == [
        f"exponent ${i}$" for i in range(n)
    ]
    boxes = [ax.get_tightbbox(RendererBase()) for ax in drawn.axes]
    assert all(not a.overlaps(b) for a, b in combinations(boxes, 2))
    assert all(drawn.bbox.x0 <= b.x0 <= b.x1 <= drawn.bbox.x1 for b in boxes)
    assert all(drawn.bbox.y0 <= b.y0 <= b.y1 <= drawn.bbox.y1 for b in boxes)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_long_titles_of_panels_leave_the_colour_scale_free(n: int) -> None:
    series = [{"label": "a", "x": [1.0, 2.0], "y": [1.0, 2.0], "shade": [0.0, 1.0]}]
    title = "the share of the runs that reach the optima, of a hundred and more, in word after word"
    panel = {"title": title, "xlabel": title, "ylabel": "y", "series": series}
    shaded = figure(
        title="", xlabel="", ylabel="", series=[], hlines=[], vlines=[], shade="share",
        panels=[panel] * n,
    )  # fmt: skip
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **_STYLE}):
        drawn = draw(shaded)
    *shown, scale = (axes.get_tightbbox(RendererBase()) for axes in drawn.axes)
    assert all(not box.overlaps(scale) for box in shown)
    assert all(not a.overlaps(b) for a, b in combinations(shown, 2))


ONE: list[dict[str, object]] = [{"x": [1.0, 2.0], "y": [1.0, 2.0]}]
WORDY = [ONE[0] | {"label": "an entry of a legend that is too long for the side"}]
SHADED = [ONE[0] | {"shade": [0.0, 1.0]}]


@pytest.mark.parametrize(
    ("shown", "below"),
    [
        (plain(ONE), 0.0),
        (figure(), 0.0),  # a legend at its side
        (plain(WORDY), 3.5),
        (plain(SHADED, shade="share"), 0.0),
        (plain(SHADED, shade="share", xlabel=""), 0.0),
        (plain([SHADED[0] | WORDY[0]], shade="share"), 3.5),
        (panels(3), 3.5),
        (panels(4), 3.5),
    ],
)
def test_a_figure_fills_its_page_to_the_same_margin_on_all_sides(
    shown: Figure, below: float
) -> None:
    """Nothing is cut off, and no strip is left empty.  A legend stands a little above the edge."""
    drawn = draw(shown)
    page = drawn.bbox
    ink = Bbox.union(
        [
            *(axes.get_tightbbox(RendererBase()) for axes in drawn.axes),
            *(legend.get_window_extent(RendererBase()) for legend in drawn.legends),
        ]
    )
    margin = page.y1 - ink.y1
    assert margin == pytest.approx(1.5)
    assert ink.x0 - page.x0 == pytest.approx(margin)
    assert ink.y0 - page.y0 == pytest.approx(margin + below)
    # the last of several panels may end in a shorter number than the widest one
    assert page.x1 - ink.x1 == pytest.approx(margin, abs=0.3 if shown.panels else 1e-6)


def ink_of(axes: Any) -> Bbox:
    """What an axes' data and labels cover."""
    found: Bbox = axes.get_tightbbox(RendererBase())
    return found


def test_panels_stand_in_rows_and_columns_of_one_size_with_equal_gaps() -> None:
    drawn = draw(panels(4))
    boxes = [axes.bbox for axes in drawn.axes]
    inks = [ink_of(axes) for axes in drawn.axes]
    assert [box.size.tolist() for box in boxes] == [pytest.approx(boxes[0].size.tolist())] * 4
    for left, right in ((0, 1), (2, 3)):
        assert boxes[left].y0 == pytest.approx(boxes[right].y0)
        assert inks[right].x0 - boxes[left].x1 == pytest.approx(11.0)
    for above, below in ((0, 2), (1, 3)):
        assert boxes[above].x0 == pytest.approx(boxes[below].x0)
        assert inks[above].y0 - inks[below].y1 == pytest.approx(4.0)
    (legend,) = drawn.legends
    place = legend.get_window_extent(RendererBase())
    assert (place.x0 + place.x1) / 2 == pytest.approx((drawn.bbox.x0 + drawn.bbox.x1) / 2)
    assert inks[2].y0 - place.y1 == pytest.approx(4.5)


def test_a_legend_and_a_scale_at_the_side_are_level_with_the_data() -> None:
    beside = draw(figure())
    place = beside.legends[0].get_window_extent(RendererBase())
    assert place.y1 == pytest.approx(beside.axes[0].bbox.y1)
    assert 5.0 < place.x0 - ink_of(beside.axes[0]).x1 < 7.0
    panel, scale = draw(plain(SHADED, shade="share")).axes
    assert (scale.bbox.y0, scale.bbox.y1) == pytest.approx((panel.bbox.y0, panel.bbox.y1))
    assert scale.bbox.x0 - panel.bbox.x1 > 5.0 * scale.get_figure().dpi / 72.0
    assert scale.bbox.width == pytest.approx(7.0)
    assert panel.bbox.x1 <= scale.bbox.x0


@pytest.mark.parametrize(
    ("n", "tall"), [(n, tall) for n in range(1, 6) for tall in sorted({0, min(1, n - 1), n - 1})]
)
def test_a_scale_reaches_from_the_lowest_panel_to_the_highest(n: int, tall: int) -> None:
    """With any number of panels in one row or two, one of which has a high title."""
    high = "$\\frac{\\frac{a}{b}}{\\frac{c}{d}}$"
    shown: list[dict[str, Any]] = [{"title": f"panel {i}", "series": SHADED} for i in range(n)]
    shown[tall]["title"] = high
    shown[-1]["xlabel"] = high  # so the rows differ in what stands below them
    *drawn, scale = draw(decode({"panels": shown, "shade": "share"}, Figure, "figure")).axes
    assert len(drawn) == n
    assert scale.bbox.y0 == pytest.approx(min(axes.bbox.y0 for axes in drawn))
    assert scale.bbox.y1 == pytest.approx(max(axes.bbox.y1 for axes in drawn))
    assert not any(ink_of(scale).overlaps(ink_of(axes)) for axes in drawn)


def test_a_figure_of_one_panel_is_higher_than_one_of_several() -> None:
    assert draw(figure()).axes[0].bbox.height == pytest.approx(118.0)
    assert draw(panels(2)).axes[0].bbox.height == pytest.approx(96.0)


def test_small_ticks_lie_on_the_axis_and_point_away_from_the_data() -> None:
    series: list[dict[str, object]] = [{"x": [1.0, 100.0], "y": [1.0, 1000.0]}]
    drawn = draw(plain(series, xscale="log", yscale="log"))
    (axes,), across, down = drawn.axes, *drawn.artists
    assert (across.get_marker(), down.get_marker()) == (TICKDOWN, TICKLEFT)
    large = axes.xaxis.get_major_ticks()[0].tick1line.get_markersize()
    assert 0.4 * large < across.get_markersize() == down.get_markersize() < 0.8 * large
    for ticks, axis, places in (
        (across, axes.xaxis, across.get_xdata()),
        (down, axes.yaxis, down.get_ydata()),
    ):
        low, high = sorted(axis.get_view_interval())
        assert all(low <= place <= high for place in places)
        assert {2.0, 3.0, 5.0, 9.0, 20.0} <= set(places)
        other = ticks.get_ydata() if axis is axes.xaxis else ticks.get_xdata()
        assert set(other) == {0.0}  # on the axis itself


def test_drawing_a_font_says_nothing_about_its_dates(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("fontTools").setLevel(logging.NOTSET)
    caplog.set_level(logging.WARNING)
    _draw_panels(plain(ONE), TEXT_WIDTH_INCHES, "pdf")
    assert not caplog.records


def test_panels_with_other_labels_keep_their_own_axis() -> None:
    shown = panels(2)
    other = msgspec.structs.replace(shown.panels[1], ylabel="time (s)")
    drawn = draw(msgspec.structs.replace(shown, panels=[shown.panels[0], other]))
    assert len({ax.get_ylim() for ax in drawn.axes}) == 2
    assert [ax.get_ylabel() for ax in drawn.axes] == ["error", "time (s)"]


def test_points_of_panels_that_cannot_be_drawn_are_said() -> None:
    bad = {"yscale": "log", "series": [{"x": [1.0], "y": [0.0]}]}
    assert "1 point at or below zero" in undrawn(decode({"panels": [bad]}, Figure, "figure"))


def test_formulas_that_are_read_once_are_those_of_matplotlib() -> None:
    remember_formulas()
    one, other = MathTextParser("path"), MathTextParser("path")
    asked = (r"$\theta_j^2 \leq 10^{-3}$", 72.0, FontProperties(size=9.0))
    first, second = one.parse(*asked), other.parse(*asked)
    assert first is second
    original: Any = MathTextParser._parse_cached  # type: ignore[attr-defined]
    own = original.__wrapped__(one, *asked, True, LoadFlags.NO_HINTING)
    assert own[:3] == first[:3]
    assert [glyph[1:] for glyph in own.glyphs] == [glyph[1:] for glyph in first.glyphs]


@pytest.mark.parametrize("character", "<>|{}\\_^~°²½§µÄ¶")
def test_no_character_is_drawn_as_another(character: str) -> None:
    """In the font of the figures these places hold other glyphs."""
    assert character not in re.sub(r"\$[^$]*\$", "", label(f"a {character} b"))


def test_patterns_of_lines_begin_with_a_stroke_and_are_told_apart():
    """Pairs of a stroke and a gap.  A gap of less than a line's width would close in print."""
    for patterns in (marks._LINES[1:], marks._DASHES):
        assert {offset for offset, _ in patterns} == {0}
        for _, lengths in patterns:
            assert len(lengths) % 2 == 0
            assert min(lengths) >= 1.0
        assert len(set(patterns)) == len(patterns) >= 3


@pytest.mark.parametrize(
    ("x", "whole"), [([1.0, 2.0, 3.0, 4.0], True), ([1.0, 2.0, 3.5], False), ([1.0, 4.0], False)]
)
def test_counts_have_ticks_at_whole_numbers_only(x: list[float], whole: bool) -> None:
    series = [{"label": "a", "x": x, "y": [1.0] * len(x)}]
    ticks = draw(figure(xscale="linear", series=series, vlines=[])).axes[0].get_xticks()
    assert len(ticks) >= 3
    assert all(tick == round(tick) for tick in ticks) == whole

"""The picture of a run: its layout laid out once more row by row, and what is drawn of it."""

from __future__ import annotations

import itertools
import math
from typing import Any

import matplotlib.colors
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.patches import Circle, Rectangle

from reports import paper as printed
from reports.collect import load
from reports.latex_template import render_tex
from reports.picture import LEGEND, WIDTH, Picture, _draw, picture
from reports.reading import COLOURS, Tried
from reports.results import results
from reports.site import site
from tests.reports.fakes import FakeRun, cell, claim, undrawn

TILE, STEP, ROW, HEAD, LABEL, PER_LINE = 7.6, 9.2, 9.6, 15.0, 76.0, 25
FIRST = ("Theorem 1", "Corollary 3", "Lemma 2")
LAST = ("Displays", "Sections", "Remarks", "Tables, figures")
SOURCES = {
    "Theorem 1": "Theorem 1", "Lemma 2": "Lemma 2", "Corollary 3": "Corollary 3",
    "Displays": "(7)", "Sections": "Section 2", "Remarks": "Remark 1", "Tables, figures": "Fig. 1",
}  # fmt: skip


def claims_of(rows: list[tuple[str, str, list[float | None]]]) -> list[Tried]:
    """Claims of (paper, row, factors): one with a factor of None has no cell that measures it."""
    documents = {}
    for paper, row, factors in rows:
        for wanted in factors:
            name = f"p.c{len(documents)}"
            document = undrawn(claim(name, source=SOURCES[row], paper=paper))
            document["evidence"] |= {
                "mark": "SUPPORTED",
                "cells": [] if wanted is None else [cell(0, ratio=1.0 / wanted)],
            }
            documents[name] = document
    return load(FakeRun({"claim": documents})).claims


factors = st.none() | st.floats(-4, 9).map(lambda power: 10.0**power)
made_rows = st.lists(
    st.tuples(
        st.sampled_from(["A", "B"]), st.sampled_from(sorted(SOURCES)),
        st.lists(factors, min_size=1, max_size=3) | st.integers(20, 52).map(lambda n: [None] * n),
    ),
    min_size=1, max_size=5, unique_by=lambda row: row[:2],
)  # fmt: skip
left_out = st.dictionaries(
    st.integers(0, 30).map(lambda i: f"p.x{i}"), st.sampled_from(["A", "B", "C"]), max_size=30
)


@settings(max_examples=12, deadline=None)
@given(rows=made_rows, not_run=left_out)
def test_the_layout_is_the_one_that_is_laid_out_row_by_row(
    rows: list[tuple[str, str, list[float | None]]], not_run: dict[str, str]
) -> None:
    claims = claims_of(rows)
    drawn = picture(claims, not_run)
    papers = [*dict.fromkeys(c.claim.paper for c in claims)]
    papers += [p for p in dict.fromkeys(not_run.values()) if p not in papers]
    expected_tiles, expected_rows, expected_heads = [], [], []
    numbers = itertools.count()
    by_row = {(paper, name): [f"p.c{next(numbers)}" for _ in fs] for paper, name, fs in rows}
    top = 2.0
    for paper in papers:
        expected_heads.append((paper, top + 10.0))
        top += HEAD
        mine = [row for p, row, _ in rows if p == paper]
        ordered = [n for n in (*FIRST, *LAST) if n in mine]
        groups = [(name, by_row[paper, name]) for name in ordered]
        if missing := [key for key, p in not_run.items() if p == paper]:
            groups.append(("Not run", missing))
        for name, members in groups:
            expected_rows.append((name, top + 3.8))
            for at in range(0, len(members), PER_LINE):
                line = members[at : at + PER_LINE]
                expected_tiles += [(k, LABEL + STEP * i, top) for i, k in enumerate(line)]
                top += ROW
    assert [(h.text, h.y) for h in drawn.heads] == [
        (t, pytest.approx(y)) for t, y in expected_heads
    ]
    assert [(r.text, r.y) for r in drawn.rows] == [(t, pytest.approx(y)) for t, y in expected_rows]
    tiles = [(t.key, t.x, t.y) for t in drawn.tiles]
    assert tiles == [
        (k, pytest.approx(x), pytest.approx(y, abs=0.051)) for k, x, y in expected_tiles
    ]
    assert drawn.bottom == pytest.approx(top, abs=0.051)
    assert drawn.height == pytest.approx(top + 44.0, abs=0.051)


@settings(max_examples=40, deadline=None)
@given(rows=made_rows)
def test_factors_stand_on_a_logarithmic_axis_that_holds_every_median(
    rows: list[tuple[str, str, list[float | None]]],
) -> None:
    drawn = picture(claims_of(rows), {})
    shown = [row for row in drawn.rows if row.places]
    wanted = {
        (paper, name): next((f for f in found if f is not None), None)
        for paper, name, found in rows
    }
    named = [f for (_, name), f in wanted.items() if f is not None and name not in LAST]
    assert sorted(row.factor[1] for row in shown if row.factor) == pytest.approx(sorted(named))
    assert bool(drawn.ticks) is bool(shown)
    if not shown:
        return
    (start, low), *_, (_, high) = drawn.ticks
    assert start == drawn.axis
    powers = [power for _, power in drawn.ticks]
    assert powers == list(range(low, high + 1, powers[1] - powers[0]))
    assert 2 <= len(powers) <= 6
    assert low <= 0  # a factor of one is on the axis
    medians = [math.log10(row.factor[1]) for row in shown if row.factor]
    assert low == min(0, *(math.floor(m) for m in medians))
    last = max(1, *(math.ceil(m) for m in medians))
    assert last - (powers[1] - powers[0]) < high <= last
    unit = (WIDTH - 14.0 - drawn.axis) / (last - low)
    for place, power in drawn.ticks:
        assert place == pytest.approx(drawn.axis + unit * (power - low), abs=0.051)
    for row in shown:
        for place, value in zip(row.places or (), row.factor or (), strict=True):
            share = min(max(math.log10(value) - low, 0.0), last - low)
            assert place == pytest.approx(drawn.axis + unit * share, abs=0.051)


def test_a_factor_beyond_the_axis_or_of_zero_stands_at_its_end() -> None:
    document = undrawn(claim("p.a", source="Theorem 1"))
    document["evidence"] |= {
        "mark": "SUPPORTED",
        "slack": [{"constants": "c", "least": 5e-324, "median": 5.0, "most": 1e12}],
    }
    (row,) = picture(load(FakeRun({"claim": {"p.a": document}})).claims, {}).rows
    assert row.places is not None
    assert row.places[0] == Picture.axis
    assert row.places[2] == pytest.approx(WIDTH - 14.0, abs=0.051)
    assert row.beyond == (True, True)


@pytest.mark.parametrize(
    ("least", "most", "beyond"),
    [
        (1.0, 10.0, (False, False)),
        (0.9, 10.0, (True, False)),
        (1.0, 11.0, (False, True)),
        (0.1, 99.0, (True, True)),
    ],
)
def test_a_range_that_the_axis_cuts_ends_in_an_arrow_and_the_caption_says_so(
    least: float, most: float, beyond: tuple[bool, bool]
) -> None:
    """A range from 1 to 32 was drawn as one from 1 to 10."""
    document = undrawn(claim("p.a", source="Theorem 1"))
    slack = [{"constants": "c", "least": least, "median": 5.0, "most": most}]
    document["evidence"] |= {"mark": "SUPPORTED", "slack": slack}
    run = load(FakeRun({"claim": {"p.a": document}}))
    made = picture(run.claims, {})
    (row,) = made.rows
    assert row.beyond == beyond
    assert row.places is not None
    arrows = [
        (line.get_marker(), float(line.get_xdata()[0]))
        for line in _draw(made).axes[0].lines
        if line.get_marker() in ("<", ">")
    ]
    ends = [("<", row.places[0]), (">", row.places[2])]
    assert arrows == [end for end, cut in zip(ends, beyond, strict=True) if cut]
    told = "An arrow marks a range that goes on beyond the axis."
    paper_source = render_tex(printed.paper(run, engine=""), "paper.tex.j2")
    page = str(site(run)["index.html"])
    assert (told in paper_source, told in page) == (any(beyond), any(beyond))
    assert page.count('<path class="dot"') == sum(beyond)


def test_the_range_of_a_theorem_is_that_of_its_row_in_the_table() -> None:
    """A step of the proof with a sharper bound stood for the theorem."""
    step, theorem = (
        undrawn(claim(name, source=source))
        for name, source in (("p.a", "proof of Theorem 1, (2)"), ("p.b", "Theorem 1"))
    )
    for document, median in ((step, 2.0), (theorem, 5.0)):
        slack = [{"constants": "c", "least": 1.5, "median": median, "most": 9.0}]
        document["evidence"] |= {"mark": "SUPPORTED", "slack": slack}
    claims = load(FakeRun({"claim": {"p.a": step, "p.b": theorem}})).claims
    (row,) = picture(claims, {}).rows
    (result,) = results(claims)
    assert row.factor == result.factor == (1.5, 5.0, 9.0)


def test_everything_of_the_layout_is_drawn_in_its_place_and_the_legend_stands_below() -> None:
    claims = claims_of([("A", "Theorem 1", [3.0, None]), ("A", "Displays", [None] * 30)])
    made = picture(claims, {"p.long": "A"})
    figure = _draw(made)
    assert tuple(figure.get_size_inches() * 72.0) == pytest.approx((WIDTH, made.height))
    (axes,) = figure.axes
    assert axes.get_xlim() == (0.0, WIDTH)
    assert axes.get_ylim() == (made.height, 0.0)  # places are counted from the top
    squares = [p for p in axes.patches if isinstance(p, Rectangle)]
    n = len(made.tiles)
    assert [s.get_xy() for s in squares[:n]] == [(t.x, t.y) for t in made.tiles]
    assert {(s.get_width(), s.get_height()) for s in squares} == {(TILE, TILE)}
    for square, (name, _, _) in zip(squares[n:], LEGEND, strict=True):
        assert square.get_edgecolor() == matplotlib.colors.to_rgba(f"#{COLOURS[name]}")
    dots = [p for p in axes.patches if isinstance(p, Circle)]
    argued = [s for s, entry in zip(squares[n:], LEGEND, strict=True) if entry[1] == "argued"]
    assert [d.center for d in dots] == [
        (s.get_x() + TILE / 2, s.get_y() + TILE / 2) for s in argued
    ]
    places = [s.get_xy() for s in squares[n:]]
    assert len(set(places)) == len(LEGEND)
    for (x, y), (other_x, other_y) in itertools.combinations(places, 2):
        assert x != other_x or abs(y - other_y) >= ROW - 1e-9  # no entry covers another one
        assert x == other_x or abs(x - other_x) >= 100.0  # columns have room for their words
    assert all(made.bottom < y and y + TILE <= made.height and x + 100 < WIDTH for x, y in places)
    words = {text.get_text(): text.get_position() for text in axes.texts}
    for (x, y), (_, _, text) in zip(places, LEGEND, strict=True):
        assert words[text] == pytest.approx((x + 11.0, y + 6.4))
    assert words["A"] == (0.0, made.heads[0].y)
    for row in made.rows:
        assert words[row.text] == pytest.approx((LABEL - 5.0, row.y + 2.6))
    lines = [[*map(tuple, line.get_xydata().tolist())] for line in axes.lines]
    for place, power in made.ticks:
        assert [(place, 14.0), (place, made.bottom)] in lines
        assert words[f"$10^{{{power}}}$"] == (place, made.bottom + 9.0)
    (measured,) = [row for row in made.rows if row.places]
    low, middle, high = measured.places or (0.0, 0.0, 0.0)
    assert [(low, measured.y), (high, measured.y)] in lines
    assert [(middle, measured.y)] in lines
    x, y = words["bound over truth"]
    assert made.axis < x < WIDTH
    assert made.bottom + 9.0 < y < made.height


def test_without_a_factor_there_is_no_axis() -> None:
    axes: Any = _draw(picture(claims_of([("A", "Theorem 1", [None])]), {})).axes[0]
    assert list(axes.lines) == []
    assert "bound over truth" not in {text.get_text() for text in axes.texts}

"""The dependency graph on a screen: boxes that hold their names, and lines from box to box."""

from __future__ import annotations

from typing import Any

import pytest

from reports.dependencies import Edge, Graph, Node
from reports.site.drawing import SIGNS, classes_of, draw_graph, shown_as


def node(name: str, column: int, row: float, *shaken: str, verdict: str = "SUPPORTED") -> Node:
    return Node(
        id=name, verdict=verdict, uses=(), used_by=(), shaken=shaken, column=column, row=row
    )


def item(name: str) -> dict[str, Any]:
    return {"id": name, "mark": "HELD"}


GRAPH = Graph(
    nodes=(
        node("p.a", 0, 0.0, verdict="REFUTED"),
        node("p.long", 1, 2.0, "p.a"),
        node("p.b", 1, 1.0, verdict="TOLD"),
        node("q.z", 2, 0.5),
    ),
    edges=(
        Edge(source="p.a", target="p.long", through=()),
        Edge(source="p.a", target="q.z", through=((1, 0.0),)),
    ),
    alone=(),
)


def test_boxes_are_as_wide_as_their_names_and_columns_as_their_widest_box() -> None:
    """A letter takes 7.4, a margin 8, the sign two letters, a gap 58, a row 29, a box 22."""
    boxes = {box["id"]: box for box in draw_graph(GRAPH, "p", item)["nodes"]}
    places = {name: (box["x"], box["y"], box["width"]) for name, box in boxes.items()}
    second, third = 12 + 38.2 + 58, 12 + 38.2 + 58 + 60.4 + 58
    assert {name: pytest.approx(place) for name, place in places.items()} == {
        "p.a": (12.0, 12.0, 38.2),
        "p.long": (second, 70.0, 60.4),
        "p.b": (second, 41.0, 38.2),
        "q.z": (third, 26.5, 53.0),
    }
    one = boxes["p.long"]
    assert (one["text_x"], one["text_y"]) == pytest.approx((second + 8, 70 + 11 + 4))
    assert one["height"] == 22.0


def test_a_picture_is_as_large_as_its_boxes_and_two_margins() -> None:
    picture = draw_graph(GRAPH, "p", item)
    assert picture["width"] == round(12 + 38.2 + 58 + 60.4 + 58 + 53 + 12)
    assert picture["height"] == 12 + 2 * 29 + 22 + 12
    empty = draw_graph(Graph(nodes=(), edges=(), alone=()), "p", item)
    assert (empty["width"], empty["height"], empty["nodes"]) == (0, 0, [])


def test_a_line_leaves_at_the_right_and_passes_a_column_along_its_row() -> None:
    curve, shortcut = (edge["path"] for edge in draw_graph(GRAPH, "p", item)["edges"])
    assert curve == "M50.2 23.0C79.2 23.0 79.2 81.0 108.2 81.0"
    assert shortcut == "M50.2 23.0H108.2H168.6C197.6 23.0 197.6 37.5 226.6 37.5"


def test_a_line_that_rises_by_less_than_can_be_seen_is_straight() -> None:
    def path(row: float, start: float = 0.0) -> str:
        ends = (node("p.a", 0, start), node("p.b", 1, row))
        edge = Edge(source="p.a", target="p.b", through=())
        picture = draw_graph(Graph(nodes=ends, edges=(edge,), alone=()), "p", item)
        return str(picture["edges"][0]["path"])

    assert path(0.0) == "M50.2 23.0H108.2"
    assert "C" in path(0.1 / 29)  # a tenth of a point
    assert "C" in path(3 + 0.1 / 29, start=3.0)  # 110.1 - 110.0 is a float below a tenth


def test_signs_and_titles_tell_verdicts_without_colours() -> None:
    boxes = {box["id"]: box for box in draw_graph(GRAPH, "p", item)["nodes"]}
    assert [boxes[name]["sign"] for name in ("p.a", "p.long", "p.b")] == ["✗", "✓", "·"]
    assert boxes["p.long"]["title"] == "p.long, HELD; rests on the refuted p.a"
    assert boxes["p.a"]["title"] == "p.a, HELD"
    both = Graph(nodes=(node("p.c", 0, 0.0, "p.a", "q.z", "p.b"),), edges=(), alone=())
    (box,) = draw_graph(both, "p", item)["nodes"]
    assert box["title"] == "p.c, HELD; rests on the refuted p.a, q.z, p.b"
    assert boxes["q.z"]["text"] == "q.z"  # another paper's statement keeps its paper's name


def test_proofs_are_told_apart_by_sign_and_by_fill() -> None:
    marks = {
        "PROVED": "proved", "PROVED UP TO A LEMMA": "lemma", "PROVED FOR d <= 3": "lemma",
        "PROVED ON PART UP TO A LEMMA": "lemma", "SUPPORTED TO 0.01": "", "SUPPORTED": "",
    }  # fmt: skip
    shown = {mark: shown_as("SUPPORTED", mark) for mark in marks}
    assert {mark: classes_of(key) for mark, key in shown.items()} == {
        mark: f"supported {fill}".strip() for mark, fill in marks.items()
    }
    assert shown["PROVED FOR d <= 3"] == "PROVED IN PART"
    assert classes_of("CITED") == "cited"
    assert classes_of("REFUTED") == "refuted"
    assert len(set(SIGNS.values())) == len(SIGNS)


def test_a_box_has_the_sign_and_the_class_of_its_mark() -> None:
    def proved(name: str) -> dict[str, Any]:
        return {"id": name, "mark": "PROVED UP TO A LEMMA" if name == "p.long" else "REFUTED"}

    boxes = {box["id"]: box for box in draw_graph(GRAPH, "p", proved)["nodes"]}
    assert (boxes["p.long"]["sign"], boxes["p.long"]["classes"]) == ("◐", "supported lemma")
    assert (boxes["p.a"]["sign"], boxes["p.a"]["classes"]) == ("✗", "refuted")

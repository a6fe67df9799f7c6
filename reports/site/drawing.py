"""The dependency graph in the units of a screen: boxes, and smooth lines between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reports.dependencies import CITED, Graph
from reports.reading import colour

#: The sign before a statement's name, so that a verdict is told by more than its colour.
SIGNS = {
    "PROVED": "∎", "PROVED UP TO A LEMMA": "◐", "PROVED IN PART": "◔", "SUPPORTED": "✓",
    "REFUTED": "✗", "INCONCLUSIVE": "?", "VACUOUS": "∅", CITED: "§",
}  # fmt: skip
#: The classes of a box beside the verdict's own, which fill it.
_CLASSES = {"PROVED": " proved", "PROVED UP TO A LEMMA": " lemma", "PROVED IN PART": " lemma"}
_LETTER, _SIDE, _GAP = 7.4, 8.0, 58.0  # the width of a letter, of a box's margin, between columns
_ROW, _BOX, _MARGIN = 29.0, 22.0, 12.0


def draw_graph(graph: Graph, paper: str, item: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
    """Width, height, boxes and lines.  ``item`` gives a statement's page, verdict and name."""
    names = {
        node.id: item(node.id).get("name") or node.id.removeprefix(f"{paper}.")
        for node in graph.nodes
    }
    widths = [0.0] * graph.n_columns
    for node in graph.nodes:
        wide = _LETTER * (len(names[node.id]) + 2) + 2 * _SIDE
        widths[node.column] = max(widths[node.column], wide)
    left = [_MARGIN + sum(widths[:i]) + _GAP * i for i in range(graph.n_columns)]

    def height(row: float) -> float:
        return round(_MARGIN + _ROW * row + _BOX / 2, 1)

    boxes, ends = [], {}
    for node in graph.nodes:
        width = _LETTER * (len(names[node.id]) + 2) + 2 * _SIDE
        x, y = left[node.column], height(node.row)
        ends[node.id] = x, x + width, y
        shown = shown_as(node.verdict, item(node.id)["mark"])
        boxes.append(
            {
                **item(node.id),
                "shaken": node.shaken,
                "title": _title(item(node.id), node.shaken),
                "text": names[node.id],
                "sign": SIGNS.get(shown, "·"),
                "classes": classes_of(shown),
                "x": round(x, 1), "y": round(y - _BOX / 2, 1),
                "width": round(width, 1), "height": _BOX,
                "text_x": round(x + _SIDE, 1), "text_y": round(y + 4, 1),
            }
        )  # fmt: skip
    edges = []
    for edge in graph.edges:
        points = [(ends[edge.source][1], ends[edge.source][2])]
        for column, row in edge.through:
            points += [(left[column], height(row)), (left[column] + widths[column], height(row))]
        points.append((ends[edge.target][0], ends[edge.target][2]))
        edges.append({"source": edge.source, "target": edge.target, "path": _path(points)})
    return {
        "nodes": boxes,
        "edges": edges,
        "width": round(left[-1] + widths[-1] + _MARGIN) if left else 0,
        "height": round(2 * _MARGIN + _ROW * (graph.n_rows - 1) + _BOX) if left else 0,
    }


def shown_as(verdict: str, mark: str) -> str:
    """The key of `SIGNS` by which a box is drawn.

    >>> shown_as("SUPPORTED", "PROVED FOR d <= 3"), shown_as("SUPPORTED", "SUPPORTED TO 0.01")
    ('PROVED IN PART', 'SUPPORTED')
    """
    if mark.startswith(("PROVED ON PART", "PROVED FOR")):
        return "PROVED IN PART"
    return mark if mark in SIGNS else verdict


def classes_of(shown: str) -> str:
    """The classes of a box in the style sheet."""
    if shown == CITED:
        return "cited"
    return colour("SUPPORTED" if shown in _CLASSES else shown) + _CLASSES.get(shown, "")


def _title(shown: dict[str, Any], shaken: tuple[str, ...]) -> str:
    """What a pointer or a screen reader is told about a statement."""
    rests = f"; rests on the refuted {', '.join(shaken)}" if shaken else ""
    return f"{shown['id']}, {shown['mark']}{rests}"


def _path(points: list[tuple[float, float]]) -> str:
    """A line that leaves and enters boxes horizontally."""
    (x, y), *rest = points
    path = f"M{x:.1f} {y:.1f}"
    for to_x, to_y in rest:
        if abs(to_y - y) < 0.05:
            path += f"H{to_x:.1f}"
        else:
            middle = (x + to_x) / 2
            path += f"C{middle:.1f} {y:.1f} {middle:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}"
        x, y = to_x, to_y
    return path

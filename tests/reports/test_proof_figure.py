"""The dependency graph on paper: the sizes of its boxes, its lines and its labels."""

from __future__ import annotations

from itertools import pairwise

import pytest

from reports.dependencies import Edge, Graph, Node, dependency_graph
from reports.proof_figure import _draw, _label, _Page, render


def chain(n: int) -> Graph:
    """Statements of which each uses the one before."""
    names = [f"p.{i}" for i in range(n)]
    return dependency_graph(dict.fromkeys(names, "SUPPORTED"), {b: [a] for a, b in pairwise(names)})


def page(graph: Graph, letters: int) -> _Page:
    return _Page(graph, {node.id: "x" * letters for node in graph.nodes})


def test_a_small_graph_has_the_largest_type() -> None:
    """Type of 7.5 points: letters of 4.8, rows of 30, boxes of 19.5; 3.5 letters beside a name."""
    small = page(chain(2), 1)
    assert small.size == 7.5
    assert 72 * small.width == pytest.approx(30)
    assert 72 * small.height == pytest.approx(4.8 * (4.5 + 4 + 4.5))
    assert 72 * small.box == pytest.approx(19.5)
    first, second = ([72 * x for x in small.place(node)] for node in chain(2).nodes)
    assert first == pytest.approx([15, 0, 4.8 * 4.5])
    assert second == pytest.approx([15, 4.8 * 8.5, 4.8 * 13])


def test_many_columns_fill_the_height_of_a_page() -> None:
    """Eight columns of 17 letters: 8 (17 + 3.5) + 7 · 4 letters of .64 of the type size."""
    wide = page(chain(8), 17)
    assert wide.size == pytest.approx(72 * 8.6 / (0.64 * (8 * 20.5 + 28)))
    assert wide.height == pytest.approx(8.6)


def test_many_rows_fill_the_width_of_a_page() -> None:
    star = dependency_graph(
        {"p.0": "", **{f"p.{i}": "" for i in range(1, 61)}},
        {f"p.{i}": ["p.0"] for i in range(1, 61)},
    )
    high = page(star, 3)
    assert high.size == pytest.approx(72 * 6.3 / (2.9 * 60))
    assert high.width == pytest.approx(6.3)
    assert high.box == pytest.approx(0.8 * 6.3 / 60)


def test_the_longest_line_of_a_label_counts() -> None:
    graph = chain(2)
    two = _Page(graph, {"p.0": "aaa\nbbbbb", "p.1": "c"})
    assert 72 * two.height == pytest.approx(4.8 * (8.5 + 4 + 4.5))


def test_a_line_runs_from_the_top_of_a_box_to_the_bottom_of_the_next_and_along_columns() -> None:
    def node(name: str, column: int, row: float, shaken: tuple[str, ...] = ()) -> Node:
        return Node(id=name, verdict="", uses=(), used_by=(), shaken=shaken, column=column, row=row)

    graph = Graph(
        nodes=(node("p.a", 0, 0.0), node("p.b", 1, 1.0), node("p.c", 2, 0.0, ("p.a",))),
        edges=(Edge(source="p.a", target="p.c", through=((1, 0.0),)),),
        alone=(),
    )
    axes = _draw(graph, "p").axes[0]
    *boxes, line = axes.patches
    letter, row = 4.8 / 72, 30 / 72
    x = row / 2
    assert line.get_path().vertices.tolist() == [
        pytest.approx(point)
        for point in (
            (x, 4.5 * letter),  # the top of the first box, then a gap of four letters
            (x, 6.5 * letter),
            (x, 6.5 * letter),
            (x, 8.5 * letter),  # along the second column
            (x, 10.75 * letter),
            (x, 10.75 * letter),
            (x, 13 * letter),
            (x, 15 * letter),
            (x, 15 * letter),
            (x, 17 * letter),
        )
    ]
    assert boxes[1].get_x() == pytest.approx(1.5 * row - 19.5 / 72 / 2)
    assert boxes[1].get_y() == pytest.approx(8.5 * letter)
    assert boxes[1].get_height() == pytest.approx(4.5 * letter)
    assert [box.get_linestyle() == "solid" for box in boxes] == [True, True, False]
    middles = [text.get_position()[1] for text in axes.texts]
    assert middles == pytest.approx([m * letter for m in (2.25, 10.75, 19.25)])
    assert axes.get_xlim() == pytest.approx((-0.02, 2 * row + 0.02))
    assert axes.get_ylim() == pytest.approx((-0.02, 21.5 * letter + 0.02))


def test_a_wide_graph_says_which_share_of_the_text_it_takes() -> None:
    assert render(chain(2), "p")[1] == pytest.approx(30 / 72 / 6.3)


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("p.thm1", "thm1"),
        ("p.thm1-as-printed", "thm1°"),
        ("p.abcdefgh-ijklmnop", "abcdefgh-ijklmnop"),  # 17 letters
        ("p.abcdefghi-jklmnopq", "abcdefghi-\njklmnopq"),
        ("q.thm1", "q.thm1"),
    ],
)
def test_a_label_leaves_out_its_paper_and_breaks_at_seventeen_letters(
    name: str, label: str
) -> None:
    assert _label(name, "p") == label


def test_boxes_have_thin_lines_that_are_dashed_where_a_proof_rests_on_a_refuted_statement() -> None:
    graph = dependency_graph({"p.a": "REFUTED", "p.b": "SUPPORTED"}, {"p.b": ["p.a"]})
    boxes = {
        node.id: box
        for node, box in zip(graph.nodes, _draw(graph, "p").axes[0].patches, strict=False)
    }
    assert {box.get_linewidth() for box in boxes.values()} == {0.9}
    assert [boxes[name].get_linestyle() for name in ("p.a", "p.b")] == ["solid", (0, (3, 1.6))]


@pytest.mark.filterwarnings("error")
def test_every_sign_and_letter_of_a_graph_has_its_glyph(caplog: pytest.LogCaptureFixture) -> None:
    """A name that ends in ``-as-printed`` has a mark that the text's font lacks, as signs do."""
    verdicts = dict.fromkeys(["p.a_1-as-printed", "p.b"], "REFUTED") | {"p.c": "SUPPORTED"}
    graph = dependency_graph(verdicts, {"p.b": ["p.a_1-as-printed"], "p.c": ["p.b"]})
    render(graph, "p")
    assert "glyph" not in caplog.text
    drawn = [text.get_text() for text in _draw(graph, "p").axes[0].texts]
    assert all(not {"$", "_", "°"} & set(text) for text in drawn)

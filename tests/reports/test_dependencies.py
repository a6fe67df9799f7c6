"""The graph of statements: what rests on what, and a drawing without overlap."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.dependencies import dependency_graph
from reports.errors import ReportError
from reports.proof_figure import _Page
from verify.papers import catalogue


@st.composite
def statements(draw: st.DrawFn) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Statements in an order in which each uses earlier ones only."""
    names = [f"p.{i}" for i in range(draw(st.integers(1, 12)))]
    verdicts = {name: draw(st.sampled_from(["SUPPORTED", "REFUTED"])) for name in names}
    uses = {
        name: draw(st.lists(st.sampled_from(names[:i]), unique=True, max_size=4))
        for i, name in enumerate(names)
        if i
    }
    return verdicts, uses


def reached(name: str, uses: dict[str, list[str]]) -> set[str]:
    """All that a statement rests on, by plain recursion."""
    return {found for used in uses.get(name, ()) for found in {used} | reached(used, uses)}


@given(statements())
def test_a_drawing_shows_every_use_once_and_forward(
    given_: tuple[dict[str, str], dict[str, list[str]]],
) -> None:
    verdicts, uses = given_
    graph = dependency_graph(verdicts, uses)
    nodes = {node.id: node for node in graph.nodes}
    assert sorted([*nodes, *graph.alone]) == sorted(verdicts)
    assert sorted((edge.target, edge.source) for edge in graph.edges) == sorted(
        (name, used) for name, all_used in uses.items() for used in all_used
    )
    for edge in graph.edges:
        columns = [nodes[edge.source].column, *(c for c, _ in edge.through)]
        assert [*columns, nodes[edge.target].column] == list(
            range(nodes[edge.source].column, nodes[edge.target].column + 1)
        )
    for one in graph.nodes:
        assert set(one.shaken) == {x for x in reached(one.id, uses) if verdicts[x] == "REFUTED"}
        for other in graph.nodes:
            if one.id < other.id and one.column == other.column:
                assert abs(one.row - other.row) >= 1 - 1e-9


def test_statements_that_rest_on_each_other_are_named() -> None:
    with pytest.raises(ReportError, match=r"p\.a uses p\.b uses p\.a|p\.b uses p\.a uses p\.b"):
        dependency_graph({"p.a": "", "p.b": ""}, {"p.a": ["p.b"], "p.b": ["p.a"]})


def test_a_chain_beside_a_shortcut_has_no_crossing() -> None:
    graph = dependency_graph(dict.fromkeys("abcd", ""), {"b": ["a"], "c": ["b"], "d": ["c", "a"]})
    assert {node.id: node.column for node in graph.nodes} == {"a": 0, "b": 1, "c": 2, "d": 3}
    (shortcut,) = (edge for edge in graph.edges if len(edge.through) == 2)
    rows = {node.id: node.row for node in graph.nodes}
    assert all(
        abs(row - rows[name]) > 0.5 for (_, row), name in zip(shortcut.through, "bc", strict=True)
    )


@pytest.mark.parametrize("paper", catalogue().papers, ids=lambda paper: paper.id)
def test_the_papers_graphs_fit_a_page(paper) -> None:  # type: ignore[no-untyped-def]
    graph = dependency_graph({s.id: "" for s in paper.statements}, paper.uses)
    assert len(graph.nodes) > 40
    assert graph.n_rows < 60
    assert graph.n_columns < 16


@given(statements())
def test_the_boxes_of_a_printed_graph_lie_on_the_page_and_apart(
    given_: tuple[dict[str, str], dict[str, list[str]]],
) -> None:
    graph = dependency_graph(*given_)
    if not graph.nodes:
        return
    page = _Page(graph, {node.id: node.id for node in graph.nodes})
    half = page.box / 2
    places = [page.place(node) for node in graph.nodes]
    for middle, bottom, top in places:
        assert half - 1e-9 <= middle <= page.width - half + 1e-9
        assert -1e-9 <= bottom < top <= page.height + 1e-9
    for i, (middle, bottom, top) in enumerate(places):
        for other_middle, other_bottom, other_top in places[:i]:
            beside = abs(middle - other_middle) >= page.box - 1e-9
            assert beside or top <= other_bottom or other_top <= bottom

"""The graph of statements: what rests on what, and a drawing without overlap."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.dependencies import Graph, dependency_graph
from reports.errors import ReportError
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
    columns_used = {node.column for node in graph.nodes}
    assert columns_used == set(range(len(columns_used)))  # no column is empty, the first is 0
    for one in graph.nodes:
        assert set(one.shaken) == {x for x in reached(one.id, uses) if verdicts[x] == "REFUTED"}
        for other in graph.nodes:
            if one.id < other.id and one.column == other.column:
                assert abs(one.row - other.row) >= 1 - 1e-9


def test_statements_that_rest_on_each_other_are_named() -> None:
    with pytest.raises(ReportError, match=r"p\.a uses p\.b uses p\.a|p\.b uses p\.a uses p\.b"):
        dependency_graph({"p.a": "", "p.b": ""}, {"p.a": ["p.b"], "p.b": ["p.a"]})


def test_a_statement_that_is_used_and_has_no_verdict_is_drawn() -> None:
    graph = dependency_graph({"p.b": "SUPPORTED"}, {"p.b": ["p.a"], "p.a": ["p.c"]})
    assert [(node.id, node.verdict, node.column) for node in graph.nodes] == [
        ("p.b", "SUPPORTED", 1),
        ("p.a", "", 0),
    ]


def test_a_chain_beside_a_shortcut_has_no_crossing() -> None:
    graph = dependency_graph(dict.fromkeys("abcd", ""), {"b": ["a"], "c": ["b"], "d": ["c", "a"]})
    assert {node.id: node.column for node in graph.nodes} == {"a": 0, "b": 1, "c": 2, "d": 3}
    (shortcut,) = (edge for edge in graph.edges if len(edge.through) == 2)
    rows = {node.id: node.row for node in graph.nodes}
    for (_, row), name in zip(shortcut.through, "bc", strict=True):
        assert abs(row - rows[name]) == pytest.approx((1 + 0.45) / 2)  # the rooms of both


def places(graph: Graph) -> dict[str, tuple[int, float]]:
    return {node.id: (node.column, node.row) for node in graph.nodes}


def test_parts_lie_below_each_other_the_largest_first_and_users_around_what_they_use() -> None:
    graph = dependency_graph(
        dict.fromkeys("xyabc", ""), {"y": ["x"], "b": ["a"], "c": ["a"], "gone": ["x"]}
    )
    assert places(graph) == {
        "a": (0, pytest.approx(0.5)),
        "b": (1, pytest.approx(0.0)),
        "c": (1, pytest.approx(1.0)),
        "x": (0, pytest.approx(2.0)),
        "y": (1, pytest.approx(2.0)),
    }
    assert graph.n_rows == pytest.approx(3.0)
    assert graph.n_columns == 2


def test_a_statement_without_uses_stands_beside_its_first_user() -> None:
    graph = dependency_graph(
        dict.fromkeys("abcde", ""), {"b": ["a"], "c": ["b", "e"], "d": ["c", "e"]}
    )
    columns = {name: column for name, (column, _) in places(graph).items()}
    assert columns == {"a": 0, "b": 1, "c": 2, "d": 3, "e": 1}


def test_columns_are_sorted_until_lines_do_not_cross() -> None:
    """Pairs that are listed in the opposite order, over three columns."""
    uses = {f"b{i}": [f"a{3 - i}"] for i in range(4)} | {f"c{i}": [f"b{3 - i}"] for i in range(4)}
    names = [f"{column}{i}" for column in "abc" for i in range(4)]
    joined = dependency_graph(
        dict.fromkeys([*names, "z"], ""), {**uses, "z": ["c0", "c1", "c2", "c3"]}
    )
    row = {name: row for name, (_, row) in places(joined).items()}
    for column in "bc":
        lines = sorted((row[uses[f"{column}{i}"][0]], row[f"{column}{i}"]) for i in range(4))
        assert [end for _, end in lines] == sorted(end for _, end in lines)


def test_what_a_graph_without_edges_holds_is_alone() -> None:
    graph = dependency_graph({"a": "", "b": ""}, {})
    assert (graph.n_columns, graph.n_rows, graph.alone) == (0, 0, ("a", "b"))


def test_a_long_circle_is_cut_in_the_message() -> None:
    names = [f"paper.a-statement-with-a-long-name-{i}" for i in range(20)]
    uses = {name: [names[i - 1]] for i, name in enumerate(names)}
    with pytest.raises(ReportError) as caught:
        dependency_graph(dict.fromkeys(names, ""), uses)
    assert len(str(caught.value)) == len("statements rest on each other: ") + 300


@pytest.mark.parametrize("paper", catalogue().papers, ids=lambda paper: paper.id)
def test_the_papers_graphs_fit_a_page(paper) -> None:  # type: ignore[no-untyped-def]
    graph = dependency_graph({s.id: "" for s in paper.statements}, paper.uses)
    assert len(graph.nodes) > 40
    assert graph.n_rows < 60
    assert graph.n_columns < 16


def test_a_line_that_passes_the_last_column_below_all_boxes_has_its_row() -> None:
    """The line from a to e passes two columns that hold one box each."""
    uses = {"b": ["a"], "c": ["b"], "d": ["c"], "e": ["a", "b", "c", "d"]}
    graph = dependency_graph(dict.fromkeys("abcde", ""), uses)
    rows = [row for edge in graph.edges for _, row in edge.through]
    assert max(rows) > max(node.row for node in graph.nodes)
    assert graph.n_rows == 1 + max(rows)


def test_a_statement_that_a_proof_uses_twice_is_used_once() -> None:
    graph = dependency_graph(
        {"p.a": "REFUTED", "p.b": "SUPPORTED"}, {"p.b": ["p.a", "p.c", "p.a", "p.c"]}
    )
    nodes = {node.id: node for node in graph.nodes}
    assert nodes["p.b"].uses == ("p.a", "p.c")
    assert nodes["p.a"].used_by == nodes["p.c"].used_by == ("p.b",)
    assert nodes["p.b"].shaken == ("p.a",)
    assert sorted((edge.source, edge.target) for edge in graph.edges) == [
        ("p.a", "p.b"),
        ("p.c", "p.b"),
    ]

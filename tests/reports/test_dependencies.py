"""The graph of statements: what rests on what, and a drawing without overlap."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reports import dependencies
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


def lines_of(graph: Graph) -> dict[int, set[tuple[float, float]]]:
    """Column -> the lines from it to the next one, by their rows.  Shared ways are one line."""
    at = places(graph)
    found: dict[int, set[tuple[float, float]]] = {}
    for edge in graph.edges:
        for (column, start), (_, end) in pairwise(
            [at[edge.source], *edge.through, at[edge.target]]
        ):
            found.setdefault(column, set()).add((round(start, 6), round(end, 6)))
    return found


def crossings(graph: Graph) -> int:
    return sum(
        (a - c) * (b - d) < 0
        for lines in lines_of(graph).values()
        for (a, b), (c, d) in combinations(sorted(lines), 2)
    )


@settings(max_examples=40)
@given(statements())
def test_a_sorted_drawing_has_no_more_crossings_than_the_listed_order(
    given_: tuple[dict[str, str], dict[str, list[str]]],
) -> None:
    verdicts, uses = given_
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dependencies, "_SWEEPS", 0)
        listed = dependency_graph(verdicts, uses)
    assert crossings(dependency_graph(verdicts, uses)) <= crossings(listed)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_lines_from_any_order_of_a_column_are_drawn_without_a_crossing(n: int) -> None:
    """A chain of n lines that are listed upside down in every second column, and then joined."""
    uses = {f"{b}{i}": [f"{a}{n - 1 - i}"] for a, b in pairwise("abcd") for i in range(n)}
    uses["end"] = [f"d{i}" for i in range(n)]
    names = [f"{column}{i}" for column in "abcd" for i in range(n)]
    graph = dependency_graph(dict.fromkeys([*names, "end"], ""), uses)
    assert crossings(graph) == 0
    assert graph.alone == ()


def test_a_statement_stands_at_the_height_of_what_it_is_joined_to() -> None:
    """Of three users the first two use a alone, so a is drawn higher than their middle."""
    graph = dependency_graph(dict.fromkeys("abxyz", ""), {"x": ["a"], "y": ["a"], "z": ["a", "b"]})
    row = {name: row for name, (_, row) in places(graph).items()}
    assert row["x"] < row["y"] < row["z"]
    assert row["a"] == pytest.approx(row["y"], abs=0.01)
    assert row["b"] == pytest.approx(row["z"], abs=0.01)


def test_parts_that_no_line_joins_overlap_nowhere() -> None:
    """A small part may stand in columns that a large one leaves free, and nowhere inside it."""
    uses = {f"l{i + 1}": [f"l{i}"] for i in range(4)} | {"m1": ["l0"], "s1": ["s0"], "t1": ["t0"]}
    names = [*(f"l{i}" for i in range(5)), "m1", "s0", "s1", "t0", "t1"]
    graph = dependency_graph(dict.fromkeys(names, ""), uses)
    at = places(graph)
    part = {name: name[0].replace("m", "l") for name in names}
    beside = [
        abs(at[one][1] - at[other][1])
        for one, other in combinations(names, 2)
        if part[one] != part[other] and at[one][0] == at[other][0]
    ]
    assert min(beside) >= 1 - 1e-9
    boxes = [(at[name], part[name]) for name in names]
    inside = []
    for column, lines in lines_of(graph).items():
        for start, end in lines:
            owner = next(p for (c, r), p in boxes if c == column and abs(r - start) < 1e-5)
            inside += [
                other
                for (c, r), other in boxes
                if other != owner and c in (column, column + 1)
                if min(start, end) + 1e-6 < r < max(start, end) - 1e-6
            ]
    assert inside == []


def test_the_crossings_that_decide_the_order_are_those_of_all_pairs_of_lines(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    """Each of three statements uses each of three others: nine crossings in any order."""
    seen = []
    whole = dependencies._Drawing.result

    def result(self):  # type: ignore[no-untyped-def]
        seen.append(self)
        return whole(self)

    monkeypatch.setattr(dependencies._Drawing, "result", result)
    full = {f"b{i}": ["a0", "a1", "a2"] for i in range(3)}
    longer = full | {"c": ["b0", "a1"], "d": ["c", "b2", "a0"]}
    for uses, expected in ((full, 9), (longer, None), ({"y": ["x"]}, 0)):
        names = dict.fromkeys([*(u for used in uses.values() for u in used), *uses], "")
        dependency_graph(names, uses)
        drawing = seen.pop()
        place = {item: i for layer in drawing._layers for i, item in enumerate(layer)}
        lines = [(a, b) for a, ends in drawing._right.items() for b in ends]
        back = [(a, b) for b, starts in drawing._left.items() for a in starts]
        assert sorted(lines) == sorted(back)
        count = sum(
            a[1] == c[1] and place[a] < place[c] and place[b] > place[d]
            for a, b in lines
            for c, d in lines
        )
        assert drawing._crossings() == count
        assert count == expected or expected is None

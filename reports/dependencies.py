"""The dependency graph of a paper's statements: which proof uses which, and a layered drawing.

An edge goes from a statement to the statements whose proofs use it, from left to right.  A
statement stands one column to the right of the last one that its own proof uses.  Within the
columns the order follows Sugiyama, Tagawa and Toda (1981).  Every statement moves to the mean place
of its neighbours, and the order with the fewest crossings is kept.
"""

from __future__ import annotations

import graphlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from reports.errors import ReportError

REFUTED = "REFUTED"
#: The verdict of a known result that a proof cites and the run does not try.
CITED = "CITED"
_SWEEPS = 12
_TOUCH = 1e-9  # rows by which two parts may overlap by rounding
_THIN = 0.45  # rows that an edge takes where it passes a column


@dataclass(frozen=True, kw_only=True)
class Node:
    """A statement in the drawing.  ``column`` and ``row`` are its place, in columns and rows.

    ``shaken`` names the refuted statements on which its proof rests, at any depth.
    """

    id: str
    verdict: str
    uses: tuple[str, ...]
    used_by: tuple[str, ...]
    shaken: tuple[str, ...]
    column: int
    row: float


@dataclass(frozen=True, kw_only=True)
class Edge:
    """A use, drawn through the given places (column, row) between its two ends."""

    source: str
    target: str
    through: tuple[tuple[int, float], ...]


_Places: TypeAlias = dict[str, tuple[int, float]]
_Chains: TypeAlias = dict[tuple[str, str], tuple[tuple[int, float], ...]]
#: Half columns -> the intervals of rows that are taken there.
_Taken: TypeAlias = dict[int, list[tuple[float, float]]]


@dataclass(frozen=True, kw_only=True)
class Graph:
    """The statements that use others or are used, and the statements ``alone``."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    alone: tuple[str, ...]

    @property
    def n_columns(self) -> int:
        """The number of columns of the drawing."""
        return 1 + max((node.column for node in self.nodes), default=-1)

    @property
    def n_rows(self) -> float:
        """The height of the drawing in rows, with the places that edges pass."""
        passed = (row for edge in self.edges for _, row in edge.through)
        return 1 + max([*(node.row for node in self.nodes), *passed], default=-1)


def dependency_graph(verdicts: Mapping[str, str], uses: Mapping[str, Sequence[str]]) -> Graph:
    """The graph of the statements that have a verdict, and of those that they use.

    Parameters
    ----------
    verdicts : statement id -> verdict, in the paper's order.
    uses : statement id -> ids of the statements that its proof uses.

    Raises
    ------
    ReportError
        When statements rest on each other in a circle.

    >>> graph = dependency_graph({"p.a": "REFUTED", "p.b": "SUPPORTED"}, {"p.b": ["p.a"]})
    >>> [(node.id, node.column, node.shaken) for node in graph.nodes]
    [('p.a', 0, ()), ('p.b', 1, ('p.a',))]
    """
    wanted = {name: tuple(dict.fromkeys(uses.get(name, ()))) for name in verdicts}
    for used in list(wanted.values()):
        wanted.update({name: () for name in used if name not in wanted})
    try:
        order = list(graphlib.TopologicalSorter(wanted).static_order())
    except graphlib.CycleError as error:
        circle = " uses ".join(map(str, reversed(error.args[1])))
        raise ReportError(f"statements rest on each other: {circle[:300]}") from None
    users: dict[str, list[str]] = {name: [] for name in wanted}
    for name, used in wanted.items():
        for other in used:
            users[other].append(name)
    shaken = _find_shaken(order, wanted, verdicts)
    linked = [name for name in wanted if wanted[name] or users[name]]
    columns = _columns([name for name in order if name in set(linked)], wanted, users)
    places: dict[str, tuple[int, float]] = {}
    chains: dict[tuple[str, str], tuple[tuple[int, float], ...]] = {}
    taken: _Taken = {}
    for part in _parts(linked, wanted, users):
        drawn = _Drawing(part, columns, wanted)
        found, through = drawn.result()
        top = _free(found, through, taken)
        places |= {name: (column, row + top) for name, (column, row) in found.items()}
        chains |= {
            ends: tuple((column, row + top) for column, row in passed)
            for ends, passed in through.items()
        }
    return Graph(
        nodes=tuple(
            Node(
                id=name,
                verdict=verdicts.get(name, ""),
                uses=wanted[name],
                used_by=tuple(users[name]),
                shaken=shaken[name],
                column=places[name][0],
                row=places[name][1],
            )
            for name in linked
        ),
        edges=tuple(
            Edge(source=other, target=name, through=chains[other, name])
            for name in linked
            for other in wanted[name]
        ),
        alone=tuple(name for name in wanted if name not in set(linked)),
    )


def _free(found: _Places, through: _Chains, taken: _Taken) -> float:
    """The first row at which a part overlaps nothing that is drawn, which is then taken.

    In every column, and between two of them, a part takes all rows from its first to its last one.
    So a small part may lie beside the empty columns of a large one.
    """
    spans: dict[int, tuple[float, float]] = {}
    rows: dict[int, list[float]] = {}
    for column, row in [*found.values(), *(p for passed in through.values() for p in passed)]:
        rows.setdefault(column, []).append(row)
    for column, here in rows.items():
        spans[2 * column] = min(here), max(here) + 1
        if column + 1 in rows:
            both = [*here, *rows[column + 1]]
            spans[2 * column + 1] = min(both), max(both) + 1
    top = 0.0
    while clash := [
        end - low
        for half, (low, high) in spans.items()
        for start, end in taken.get(half, ())
        if start < top + high - _TOUCH and top + low < end - _TOUCH
    ]:
        top = min(clash)  # below the first of the intervals that are in the way
    for half, (low, high) in spans.items():
        taken.setdefault(half, []).append((top + low, top + high))
    return top


def _find_shaken(
    order: Sequence[str], uses: Mapping[str, Sequence[str]], verdicts: Mapping[str, str]
) -> dict[str, tuple[str, ...]]:
    """The refuted statements below each one.  ``order`` has every statement after its uses."""
    found: dict[str, tuple[str, ...]] = {}
    for name in order:
        below = [
            refuted
            for used in uses[name]
            for refuted in (*found[used], *([used] if verdicts.get(used) == REFUTED else []))
        ]
        found[name] = tuple(dict.fromkeys(below))
    return found


def _columns(
    order: Sequence[str], uses: Mapping[str, Sequence[str]], users: Mapping[str, Sequence[str]]
) -> dict[str, int]:
    """One column to the right of all that a proof uses. Without any, beside its user."""
    column: dict[str, int] = {}
    for name in order:
        column[name] = 1 + max((column[used] for used in uses[name]), default=-1)
    for name in reversed(order):
        if not uses[name]:
            column[name] = min(column[user] for user in users[name]) - 1
    return column


def _parts(
    names: Sequence[str], uses: Mapping[str, Sequence[str]], users: Mapping[str, Sequence[str]]
) -> list[list[str]]:
    """The parts of the graph that no edge joins, the largest first."""
    parts: list[list[str]] = []
    seen: set[str] = set()
    for name in names:
        if name in seen:
            continue
        part, waiting = set[str](), [name]
        while waiting:
            one = waiting.pop()
            if one not in part:
                part.add(one)
                waiting += [*uses[one], *users[one]]
        seen |= part
        parts.append([other for other in names if other in part])
    return sorted(parts, key=len, reverse=True)


#: A statement, or the place where the edges of a statement pass a column: (statement, column).
_Item = tuple[str, int]


class _Drawing:
    """One connected part: its items column by column, ordered and then placed."""

    def __init__(
        self, part: Sequence[str], columns: Mapping[str, int], uses: Mapping[str, Sequence[str]]
    ) -> None:
        self._home = {name: columns[name] for name in part}
        self._edges = [(used, name) for name in part for used in uses[name]]
        # a part begins in column 0: what its longest chain rests on uses nothing
        self._layers: list[list[_Item]] = [[] for _ in range(max(self._home.values()) + 1)]
        self._left: dict[_Item, list[_Item]] = {}
        self._right: dict[_Item, list[_Item]] = {}
        for name in part:
            self._put((name, self._home[name]))
        for source, target in self._edges:
            items = self._chain(source, target)
            for one, next_ in pairwise(items):
                self._put(next_)
                if next_ not in self._right[one]:
                    self._right[one].append(next_)
                    self._left[next_].append(one)
        self._order()

    def _put(self, item: _Item) -> None:
        if item not in self._left:
            self._left[item], self._right[item] = [], []
            self._layers[item[1]].append(item)

    def _chain(self, source: str, target: str) -> list[_Item]:
        """The items of an edge.  Edges from one statement share their way through the columns."""
        between = range(self._home[source], self._home[target])
        return [*((source, column) for column in between), (target, self._home[target])]

    def _order(self) -> None:
        """Sort the columns by the mean place of neighbours, to and fro, and keep the best order."""
        best, fewest = [list(layer) for layer in self._layers], self._crossings()
        for sweep in range(_SWEEPS):
            forward = sweep % 2 == 0
            neighbours = self._left if forward else self._right
            for layer in self._layers if forward else reversed(self._layers):
                place = {item: i for other in self._layers for i, item in enumerate(other)}
                now = {item: i for i, item in enumerate(layer)}

                def mean(
                    item: _Item, near: dict[_Item, list[_Item]] = neighbours,
                    place: dict[_Item, int] = place, now: dict[_Item, int] = now,
                ) -> float:  # fmt: skip
                    places = [place[other] for other in near[item]]
                    return sum(places) / len(places) if places else now[item]

                layer.sort(key=mean)
            if (crossings := self._crossings()) < fewest:
                best, fewest = [list(layer) for layer in self._layers], crossings
        self._layers = best

    def _crossings(self) -> int:
        """The number of crossings between neighbouring columns."""
        place = {item: i for layer in self._layers for i, item in enumerate(layer)}
        count = 0
        for layer in self._layers:
            lines = [(place[a], place[b]) for a in layer for b in self._right[a]]
            count += sum(
                (a - c) * (b - d) < 0 for i, (a, b) in enumerate(lines) for c, d in lines[:i]
            )
        return count

    def result(self) -> tuple[_Places, _Chains]:
        """The place of every statement, and the places that each edge passes."""
        row = self._rows()
        top = min(row.values())
        row = {item: value - top for item, value in row.items()}
        at = {name: (self._home[name], row[name, self._home[name]]) for name in self._home}
        through = {
            (source, target): tuple(
                (column, row[name, column]) for name, column in self._chain(source, target)[1:-1]
            )
            for source, target in self._edges
        }
        return at, through

    def _rows(self) -> dict[_Item, float]:
        """The rows: near the neighbours, in the order of the columns, without overlap."""
        from scipy.optimize import isotonic_regression

        gaps = [[self._room(item) for item in layer] for layer in self._layers]
        row: dict[_Item, float] = {}
        offsets = []
        for layer, room in zip(self._layers, gaps, strict=True):
            offset, at = [], 0.0
            for i, _item in enumerate(layer):
                at += (room[i - 1] + room[i]) / 2 if i else 0.0
                offset.append(at)
            offsets.append(offset)
            row |= {item: o - at / 2 for item, o in zip(layer, offset, strict=True)}
        for sweep in range(2 * _SWEEPS):
            pairs = list(zip(self._layers, offsets, strict=True))
            for layer, offset in pairs if sweep % 2 == 0 else reversed(pairs):
                wanted = []
                for item in layer:
                    near = [row[other] for other in (*self._left[item], *self._right[item])]
                    wanted.append(sum(near) / len(near) if near else row[item])
                free = isotonic_regression([w - o for w, o in zip(wanted, offset, strict=True)]).x
                row |= {i: float(f) + o for i, f, o in zip(layer, free, offset, strict=True)}
        return row

    def _room(self, item: _Item) -> float:
        name, column = item
        return 1.0 if self._home[name] == column else _THIN

r"""A phase diagram: where a method succeeds, over two parameters of a federation.

Success is a value of the metric ``recovered`` of 1, in more than half of the trials.  The grid is
geometric.  The corners are tried first.  A rectangle whose four corners agree is taken to agree
inside.  Another one is cut in two across its longer side, down to neighbouring cells.  So the
trials are spent along the boundary.  What lies inside an agreeing rectangle is *inferred*, and
is marked so: an island that no corner meets is not seen.

A tried cell gets trials until the limits of its probability exclude 1/2, or until its budget ends.
The limits hold at any stopping time, with the level shared by all cells of the grid and all
methods.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from trials.checks import FloatArray, InvalidParameter
from trials.laws.least_squares import squared_error_cdf
from trials.run.engine import Demand, ensure
from trials.run.executors import Executor
from trials.run.store import RunStore
from verify.benchmark.federation import FEDERATION, in_words, parameter_of
from verify.benchmark.figures import axis_label
from verify.benchmark.fits import BLOCK, FIT, federation_of
from verify.benchmark.guarantees import not_the_model
from verify.benchmark.methods import parse_methods
from verify.benchmark.running import n_stored
from verify.decisions.sequences import confidence_sequence
from verify.evidence import Figure, Panel, Series

Place = tuple[int, int]
_AXIS = re.compile(r"(?P<name>\w+)=(?P<low>[^.]*\.?[^.]*?)\.\.(?P<high>.+)")
#: What a cell shows: success, failure, neither so far.  Inferred cells have lower case.
SUCCESS, FAILURE, OPEN = "S", "F", "?"


@dataclass(frozen=True, kw_only=True)
class Axis:
    """A parameter of the federation and its values, in geometric steps."""

    name: str
    values: tuple[float, ...]


def axis(text: str, size: int) -> Axis:
    """Read ``name=low..high`` into ``size`` values.

    >>> axis("n=10..1000", 3)
    Axis(name='n', values=(10, 100, 1000))
    """
    match = _AXIS.fullmatch(text.strip())
    try:
        low, high = (float(match[end]) for end in ("low", "high")) if match else (0.0, 0.0)
    except ValueError:
        low = high = 0.0
    if match is None or not 0 < low < high < math.inf:
        raise InvalidParameter(f"--grid {text!r:.60} must read NAME=LOW..HIGH with 0 < LOW < HIGH")
    name = parameter_of(match["name"])
    if name not in FEDERATION.entries:
        known = ", ".join(map(in_words, FEDERATION.entries))
        raise InvalidParameter(f"--grid {name!r} must be a parameter of a federation: {known}")
    values = np.geomspace(low, high, size)
    if type(FEDERATION.entries[name]).__name__ == "Integer":
        return Axis(name=name, values=tuple(sorted({round(v) for v in values.tolist()})))
    return Axis(name=name, values=tuple(float(f"{v:.6g}") for v in values))


@dataclass(frozen=True, kw_only=True)
class Diagram:
    """One method's diagram.

    Attributes
    ----------
    across, up : the axes.
    cells : (len(across), len(up)) letters: `SUCCESS`, `FAILURE` or `OPEN` where it was tried, in
        lower case where it was inferred.
    shares, trials : the same shape: share of successes (None where inferred), and trials.
    theory : name -> the same shape: where a condition of theory holds.
    """

    method: str
    across: Axis
    up: Axis
    cells: tuple[tuple[str, ...], ...]
    shares: tuple[tuple[float | None, ...], ...]
    trials: tuple[tuple[int, ...], ...]
    theory: Mapping[str, tuple[tuple[bool, ...], ...]]

    @property
    def tried(self) -> int:
        """The number of cells with trials."""
        return sum(n > 0 for row in self.trials for n in row)


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A diagram's declaration, fixed before the first trial."""

    methods: str
    fixed: Mapping[str, Any]
    across: Axis
    up: Axis
    level: float = 0.05
    max_trials: int = 32
    limit: float = 60.0

    def cell(self, method: str, place: Place) -> dict[str, Any]:
        """The cell of the experiment at a place of the grid."""
        return dict(FIT.check({**self.federation(place), "method": method, "limit": self.limit}))

    def federation(self, place: Place) -> dict[str, Any]:
        """The federation at a place of the grid."""
        i, j = place
        values = {self.across.name: self.across.values[i], self.up.name: self.up.values[j]}
        return federation_of({**self.fixed, **values})


def explore(
    corners: tuple[int, int], decide: Callable[[Iterable[Place]], Mapping[Place, str]]
) -> tuple[dict[Place, str], dict[Place, str]]:
    """The letters that were tried and those that were inferred, on a grid of that shape.

    ``decide`` tries all places that it is given at once.  An open corner agrees with nothing.

    >>> _, inferred = explore((9, 9), lambda ps: {p: "S" if p[0] > 1 else "F" for p in ps})
    >>> inferred[5, 5], (0, 3) in inferred
    ('s', True)
    """
    tried: dict[Place, str] = {}
    inferred: dict[Place, str] = {}
    todo = [(0, corners[0] - 1, 0, corners[1] - 1)]
    while todo:
        wanted = {(i, j) for a, b, c, e in todo for i in (a, b) for j in (c, e)} - set(tried)
        tried.update(decide(sorted(wanted)))
        following = []
        for a, b, c, e in todo:
            letters = {tried[i, j] for i in (a, b) for j in (c, e)}
            if len(letters) == 1 and OPEN not in letters:
                letter = letters.pop().lower()
                inferred.update({(i, j): letter for i in range(a, b + 1) for j in range(c, e + 1)})
            elif b - a > 1 and b - a >= e - c:
                middle = (a + b) // 2
                following += [(a, middle, c, e), (middle, b, c, e)]
            elif e - c > 1:
                middle = (c + e) // 2
                following += [(a, b, c, middle), (a, b, middle, e)]
        todo = following
    return tried, {place: s for place, s in inferred.items() if place not in tried}


def diagrams(store: RunStore, grid: Grid, executor: Executor) -> list[Diagram]:
    """The diagram of every method."""
    methods = [m.text for m in parse_methods(grid.methods)]
    n_cells = len(grid.across.values) * len(grid.up.values) * len(methods)
    return [_diagram(store, grid, m, executor, grid.level / n_cells) for m in methods]


def _diagram(store: RunStore, grid: Grid, method: str, executor: Executor, level: float) -> Diagram:
    counts: dict[Place, tuple[int, int]] = {}

    def letter(place: Place) -> str:
        successes, n = counts[place]
        low, high = (float(x) for x in confidence_sequence(successes, n, level))
        if low > 0.5:
            return SUCCESS
        return FAILURE if high < 0.5 else OPEN

    def decide(places: Iterable[Place]) -> dict[Place, str]:
        asked = list(places)
        last = -(-grid.max_trials // BLOCK)
        pending, blocks = asked, min(4, last)
        while pending:
            demands = [Demand(FIT, grid.cell(method, p), blocks) for p in pending]
            ensure(store, demands, executor)
            for p in pending:
                cell = grid.cell(method, p)
                found = store.table(FIT, cell, n_stored(store, cell))["recovered"]
                counts[p] = int(np.sum(found == 1.0)), found.size
            pending = [p for p in pending if letter(p) == OPEN]
            if blocks == last:
                break
            blocks = min(2 * blocks, last)
        # what the budget leaves open takes the side of its majority, and stays marked as open
        return {p: letter(p) for p in asked}

    shape = len(grid.across.values), len(grid.up.values)
    tried, inferred = explore(shape, decide)
    letters = {**inferred, **tried}

    def table(value: Callable[[Place], Any]) -> tuple[tuple[Any, ...], ...]:
        return tuple(tuple(value((i, j)) for j in range(shape[1])) for i in range(shape[0]))

    return Diagram(
        method=method,
        across=grid.across,
        up=grid.up,
        cells=table(lambda p: letters[p]),
        shares=table(lambda p: counts[p][0] / counts[p][1] if p in counts else None),
        trials=table(lambda p: counts[p][1] if p in counts else 0),
        theory={
            name: tuple(
                tuple(holds(grid.federation((i, j))) for j in range(shape[1]))
                for i in range(shape[0])
            )
            for name, holds in conditions(method).items()
        },
    )


# -- theory --------------------------------------------------------------------------------------


def conditions(method: str) -> dict[str, Callable[[Mapping[str, Any]], bool]]:
    """The conditions of theory that are drawn into a method's diagram, by their names."""
    if method.startswith("ifca"):
        return {"assumptions of ifca.thm1 for a start within Delta/4": ifca_assumptions}
    if method.startswith("odcl"):
        return {"all local fits within Delta/4 with probability 1/2": local_fits_are_close}
    return {}


def ifca_assumptions(cell: Mapping[str, Any]) -> bool:
    """Whether Theorem 1 of IFCA would hold for a start within a quarter of the separation."""
    from verify.benchmark.guarantees import guarantee
    from verify.benchmark.methods import parse_method

    return guarantee(parse_method("ifca"), cell).reason.startswith("only because the start")


def local_fits_are_close(cell: Mapping[str, Any]) -> bool:
    """Whether all local fits lie within D/4 of their models with probability 1/2 or more.

    The exact law of least squares.  Then two fits of one cluster are closer than any two of
    different ones, so that every pair of clients is sorted rightly by their distance.
    """
    if not_the_model(cell) or cell["n"] < cell["d"]:
        return False
    if cell["sigma"] == 0:
        return True
    square = np.array([(cell["separation"] / 4.0) ** 2])
    share: FloatArray = squared_error_cdf(square, cell["n"], cell["d"], cell["sigma"])
    return float(share[0]) ** int(cell["m"]) >= 0.5


def phase_figure(found: Sequence[Diagram]) -> Figure:
    """The diagrams side by side: shares of success as shades, and the edge of theory's cells.

    A condition that holds at small values of ``up`` only has its edge at the largest of them.
    """
    panels = []
    for diagram in found:
        across, up = diagram.across.values, diagram.up.values
        shares = {(i, j): s for i, row in enumerate(diagram.shares) for j, s in enumerate(row)}
        tried = [p for p, s in shares.items() if s is not None]
        series = [
            Series(
                label="share of trials that recover all clusters",
                x=[float(across[i]) for i, _ in tried],
                y=[float(up[j]) for _, j in tried],
                shade=[shares[p] for p in tried],
            )
        ]
        for name, places in diagram.theory.items():
            below = sum(row[0] for row in places) > sum(row[-1] for row in places)
            end = max if below else min
            edge = [
                (float(across[i]), float(end(v for v, holds in zip(up, row, strict=True) if holds)))
                for i, row in enumerate(places)
                if any(row)
            ]
            if edge:
                x, y = zip(*edge, strict=True)
                label = f"theory, {'below' if below else 'above'}: {name}"
                series.append(Series(label=label, x=x, y=y, style="dashed"))
        panels.append(
            Panel(
                title=diagram.method,
                xlabel=axis_label(diagram.across.name),
                ylabel=axis_label(diagram.up.name),
                xscale="log",
                yscale="log",
                series=series,
            )
        )
    return Figure(
        name=f"phase-{found[0].across.name}-{found[0].up.name}",
        title="Where all clusters are recovered",
        panels=panels,
        shade="share of trials",
        caption="Points were tried, and the space between agreeing corners is inferred.",
    )


def document(grid: Grid, found: Sequence[Diagram]) -> dict[str, Any]:
    """The diagrams as a JSON document, with the words, tables and figures of their report."""
    axes = {axis.name: list(axis.values) for axis in (grid.across, grid.up)}
    named = " and ".join(map(in_words, axes))
    return {
        "benchmark": {
            "question": f"Where does a method recover all clusters, by {named}?",
            "methods": grid.methods,
            "metric": "recovered",
        },
        "federation": {**grid.federation((0, 0)), **axes},
        "diagrams": [asdict(d) for d in found],
        "answer": " ".join(map(_answer, found)),
        "tables": [
            {
                "title": "Cells of the grid",
                "columns": ["method", "cells", "tried", "trials", "success", "failure", "open"],
                "rows": [_row(d) for d in found],
            }
        ],
        "notes": [
            "A cell is a success where more than half of the trials recover all clusters, and open "
            f"where {grid.max_trials} trials do not decide. The limits of all tried cells hold "
            f"together with probability {1 - grid.level:g}, at any stopping time. Cells between "
            "agreeing corners are inferred, without a trial.",
            *(
                f"{d.method}: {name}: {sum(map(sum, places))} of {_size(d)} cells."
                for d in found
                for name, places in d.theory.items()
            ),
        ],
        "figures": [asdict(phase_figure(found))],
    }


def _size(diagram: Diagram) -> int:
    return len(diagram.across.values) * len(diagram.up.values)


def _count(diagram: Diagram, letter: str) -> int:
    return sum(cell == letter for row in diagram.cells for cell in row)


def _answer(diagram: Diagram) -> str:
    """What a diagram shows in one sentence.  Inferred cells are counted too."""
    good, bad = (_count(diagram, a) + _count(diagram, a.lower()) for a in (SUCCESS, FAILURE))
    n_open = _count(diagram, OPEN)
    rest = f", with {n_open} open" if n_open else ""
    told = f"{diagram.method} succeeds in {good} of {_size(diagram)} cells and fails in {bad}"
    return f"{told}{rest}."


def _row(diagram: Diagram) -> list[str]:
    """A diagram's line of the table: what was tried, and what was inferred beside it."""
    counts = [
        f"{_count(diagram, a)}" + (f" + {n} inferred" if (n := _count(diagram, a.lower())) else "")
        for a in (SUCCESS, FAILURE)
    ]
    trials = f"{sum(map(sum, diagram.trials)):,}"
    tried = [f"{_size(diagram)}", f"{diagram.tried}", trials]
    return [diagram.method, *tried, *counts, f"{_count(diagram, OPEN)}"]


def drawn(diagram: Diagram) -> list[str]:
    """The diagram in characters, the largest value of ``up`` first.

    ``#`` success, ``.`` failure, ``?`` open; ``+`` and ``-`` are inferred.
    """
    marks = {SUCCESS: "#", FAILURE: ".", OPEN: "?", "s": "+", "f": "-"}
    width = max(len(f"{v:g}") for v in diagram.up.values)
    lines = []
    for j in reversed(range(len(diagram.up.values))):
        row = " ".join(marks[diagram.cells[i][j]] for i in range(len(diagram.across.values)))
        lines.append(f"{diagram.up.values[j]:>{width}g}  {row}")
    across = diagram.across
    ends = f"{in_words(across.name)} = {across.values[0]:g} .. {across.values[-1]:g}"
    return [f"{diagram.method}   (up: {in_words(diagram.up.name)}, across: {ends})", *lines]

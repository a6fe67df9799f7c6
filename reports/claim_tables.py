"""The tables of a claim: its cells, worst first, and the tables that its procedure made.

The table of cells has the varying parameters and the measurements.  Its caption has the parameters
and the measurements that all cells share.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from reports import tables
from reports.characters import Latex
from reports.errors import ReportError
from reports.reading import Tried, severity
from reports.schema import Cell, Params, Table
from reports.tables import PrintedTable
from reports.text import (
    capital,
    code,
    escape_text,
    estimate,
    interval,
    number,
    numeral,
    parameter,
    plural,
    prose,
    sentence,
    value,
    visible_length,
)

#: Names of files beside the report, and what they hold.
Files = dict[str, str | bytes]

MAX_ROWS = 16
#: A limit at the end of a note.
_LIMIT = re.compile(r": at most ([-+]?\d+\.?\d*(?:e[-+]?\d{1,12})?)$")


def _split_names(cells: Sequence[Cell]) -> tuple[list[str], list[str]]:
    """Parameter names that vary over the cells, and those that all cells share."""
    names = list(dict.fromkeys(name for cell in cells for name in cell.params))
    spellings = {
        name: {json.dumps(cell.params.get(name), sort_keys=True, default=str) for cell in cells}
        for name in names
    }
    varying = [name for name in names if len(spellings[name]) > 1]
    return varying, [name for name in names if name not in varying]


def assignment(params: Params, names: Sequence[str]) -> Latex:
    """``m = 400, d = 100`` in math."""
    shown = []
    for name in names:
        if name in params:
            symbol, amount = parameter(name), value(params[name])
            if all(text.startswith("$") and text.endswith("$") for text in (symbol, amount)):
                shown.append(f"${symbol[1:-1]}={amount[1:-1]}$")
            else:
                shown.append(f"{symbol} {amount}")
    return Latex(", ".join(shown))


_MEASURES = (
    "n_trials",
    "n_failed",
    "observed",
    "se",
    "lower",
    "upper",
    "bound",
    "ratio",
    "verdict",
    "note",
    "quantile",
    "relation",
    "void",
)


def cells_csv(cells: Sequence[Cell]) -> str:
    """All cells at full precision, parameters first."""
    names = list(dict.fromkeys(name for cell in cells for name in cell.params))
    rows = [
        [
            *(
                json.dumps(v) if isinstance(v := cell.params.get(n), (list, dict)) else v
                for n in names
            ),
            *(getattr(cell, m) for m in _MEASURES),
        ]
        for cell in cells
    ]
    return tables.csv_text([*names, *_MEASURES], rows)


def _find_derived(cells: Sequence[Cell], names: Sequence[str]) -> list[str]:
    """Names of parameters whose values follow from others that are shown (such as p from sizes)."""
    sizes = {"profile", "k"} <= {name for cell in cells for name in cell.params}
    return [*(["p"] if sizes and "p" in names else []), *_find_derived_rho(cells, names)]


def _find_derived_rho(cells: Sequence[Cell], names: Sequence[str]) -> list[str]:
    """rho, where it is the square of Delta over sigma and both are shown."""
    if not {"rho", "Delta", "sigma"} <= set(names):
        return []
    return ["rho"] if all(map(_rho_follows, cells)) else []


def _rho_follows(cell: Cell) -> bool:
    rho, delta, sigma = (cell.params.get(name) for name in ("rho", "Delta", "sigma"))
    if not isinstance(rho, int | float) or not isinstance(delta, int | float):
        return False
    if not isinstance(sigma, int | float) or not sigma:
        return False
    return math.isclose(rho, (delta / sigma) ** 2, rel_tol=1e-9)


def _note(cell: Cell) -> str:
    """A cell's note without a limit that the column of intervals shows."""
    text = str(cell.note)
    return _LIMIT.sub("", text) if cell.upper is not None else text


def _interval(cell: Cell) -> Latex:
    """The confidence interval.  A limit that no float holds is taken from the note."""
    known = _LIMIT.search(str(cell.note))
    if known and cell.lower == cell.upper == 0.0:
        return Latex(rf"$[0,\ {numeral(known[1])[1:-1]}]$")
    return interval(cell.lower, cell.upper)


def _notes(cells: Sequence[Cell]) -> tuple[list[Latex], Latex]:
    """A column of notes and its legend.  Long notes that repeat are replaced by letters."""
    texts = list(map(_note, cells))
    distinct = list(dict.fromkeys(text for text in texts if text))
    if len(distinct) == 1 and all(texts):
        return [], prose(distinct[0])
    if len(distinct) > 8 or max(map(len, distinct), default=0) <= 12:
        return [prose(text) for text in texts] if distinct else [], Latex("")
    letters = {text: f"$^{{{chr(ord('a') + i)}}}$" for i, text in enumerate(distinct)}
    legend = " ".join(f"{letters[text]} {sentence(capital(prose(text)))}" for text in distinct)
    return [Latex(letters.get(text, "")) for text in texts], Latex(legend)


def _layout(
    shown: Sequence[Cell],
    varying: Sequence[str],
    measures: Sequence[tuple[str, str, list[str]]],
    line: float,
) -> tuple[list[str], list[list[str]], str]:
    """Head, rows and alignment.

    Each parameter has its own column where that fits in type of the usual size.  Else the
    parameters share one column, whose lines wrap.
    """
    kinds = tables.alignment([[c.params.get(n) for n in varying] for c in shown], len(varying))
    rows: list[list[str]] = [
        [*(value(c.params.get(n)) for n in varying), *(m[2][i] for m in measures)]
        for i, c in enumerate(shown)
    ]
    head = [*(str(parameter(n)) for n in varying), *(m[0] for m in measures)]
    measured = "".join(m[1] for m in measures)
    if tables.natural(head, rows, line):
        return head, rows, kinds + measured
    rows = [
        [assignment(c.params, varying), *(m[2][i] for m in measures)] for i, c in enumerate(shown)
    ]
    return ["cell", *(m[0] for m in measures)], rows, "l" + measured


#: How a cell's ratio compares observed value and bound, as the head of its column.
RATIOS = {
    "at most": "obs./bound", "below": "obs./bound", "at least": "bound/obs.",
    "equals": "larger/smaller", "order": "obs./order",
}  # fmt: skip


def _ratio(cells: Sequence[Cell]) -> str:
    """The head of the column of ratios."""
    found = {cell.relation for cell in cells}
    return RATIOS.get(next(iter(found)), "ratio") if len(found) == 1 else "ratio"


def _measure(
    shown: Sequence[Cell], cells: Sequence[Cell]
) -> tuple[list[tuple[str, str, list[str]]], list[str]]:
    """The columns of measurements, and sentences about those that are constant."""
    measures: list[tuple[str, str, list[str]]] = []
    common: list[str] = []

    def put(title: str, key: str, show: Callable[[Any], Latex], phrase: str) -> None:
        values = [getattr(c, key) for c in cells]
        if all(v is None for v in values):
            return
        if len(cells) > 1 and phrase and len(set(values)) == 1:
            common.append(phrase.format(show(values[0])))
        else:
            measures.append((title, "r", [show(getattr(c, key)) for c in shown]))

    put("trials", "n_trials", number, "{} trials each")
    if any(c.n_failed for c in cells):
        put("failed", "n_failed", number, "")
    idle = len(cells) > 1 and all(c.observed == 0 for c in cells)
    if idle:
        common.append("observed $0$")
    else:
        seen = [estimate(c.observed, c.se) for c in shown]
        measures.append(("observed", "r", [str(text) for text in seen]))
    if any(c.lower is not None or c.upper is not None for c in cells):
        limits = [str(_interval(c)) for c in shown]
        measures.append(("interval", "r", limits))
    put("bound", "bound", number, "bound {}")
    if not idle:
        put(_ratio(cells), "ratio", number, "")
    if len({_word(c) for c in cells}) > 1:
        words = [str(escape_text(_word(c))) for c in shown]
        measures.append(("verdict", "l", words))
    return measures, common


def _word(cell: Cell) -> str:
    """What a cell says about the statement, in small letters."""
    return "void" if cell.void else str(cell.verdict or "--").lower()


def cell_table(cells: Sequence[Cell], name: str, *, line: float = tables.LINE) -> PrintedTable:
    """The claim's live cells, worst ratio first, and then the void ones.

    Lists of more than `MAX_ROWS` rows, give or take two, are cut, and the caption says so.
    ``line`` is the number of characters that a line holds.
    """
    ranked = sorted(cells, key=lambda c: (not c.void, severity(c)), reverse=True)
    shown = ranked if len(ranked) <= MAX_ROWS + 2 else ranked[:MAX_ROWS]
    varying, constant = _split_names(cells)
    derived = _find_derived(cells, varying)
    measures, common = _measure(shown, cells)
    marks, legend = _notes(shown)
    if marks:
        wide = max(map(visible_length, marks)) > 3
        measures.append(("note" if wide else "", "l", [str(mark) for mark in marks]))
    head, rows, align = _layout(shown, [n for n in varying if n not in derived], measures, line)
    parts = ["Cells"]
    if len(shown) < len(cells):
        rated = any(max(severity(cell)) > -math.inf for cell in cells)
        few = f"{number(len(shown))} worst" if rated else f"first {number(len(shown))}"
        parts = [f"The {few} of {number(len(cells))} cells"]
    if constant:
        common.insert(0, assignment(cells[0].params, constant))
    caption = parts[0] + (f"; all cells have {', '.join(common)}" if common else "") + "."
    if legend:
        caption += f" {sentence(capital(legend))}"
    if void := [c for c in cells if c.void]:
        each = (reason for c in void for reason in c.void.split("; "))
        reasons = "; ".join(map(prose, dict.fromkeys(each)))
        counted = plural(len(void), "cell is", "cells are")
        says = "supports" if len(void) == 1 else "support"
        caption += f" {counted} void and {says} nothing: {reasons}."
    return PrintedTable(
        head=head, rows=rows, align=align, caption=caption, label=f"{name}-cells", line=line
    )


# -- the tables of a page ------------------------------------------------------------------------

#: Characters of the head of a table's second column from which it is said in the caption.
_LONG_HEAD = 20


def claim_tables(
    tried: Tried, files: Files
) -> tuple[list[PrintedTable], list[tuple[Latex, Latex]]]:
    """The claim's tables for a browser, which scrolls, and paragraphs with their headings.

    Small tables of counts become paragraphs.  Each table goes into ``files``, as CSV with all rows
    and as LaTeX for a page.
    """
    shown: list[PrintedTable] = []
    tallies: list[tuple[Latex, Latex]] = []
    name, cells = tried.name, tried.evidence.cells
    if cells:
        files[f"tables/{name}-cells.csv"] = cells_csv(cells)
        files[f"tables/{name}-cells.tex"] = cell_table(cells, name).latex() + "\n"
        shown.append(cell_table(cells, name, line=math.inf))
    for i, table in enumerate(tried.evidence.tables, 1):
        printed, text = evidence_table(table, f"{name}-{i}")
        files[f"tables/{name}-{i}.csv"] = text
        files[f"tables/{name}-{i}.tex"] = printed.latex() + "\n"
        if tally := _tally(table):
            tallies.append((prose(table.title or "Counts"), tally))
        else:
            shown.append(printed)
    return shown, tallies


def _tally(table: Table) -> Latex:
    """A small table of counts as one sentence, or nothing when it is not one."""
    counts = [
        (row[0], row[1])
        for row in table.rows
        if len(row) == 2 and isinstance(row[0], str) and isinstance(row[1], int)
    ]
    if len(table.columns) != 2 or not 0 < len(table.rows) == len(counts) <= 10:
        return Latex("")
    parts = ", ".join(f"{prose(name)} {number(count)}" for name, count in counts)
    note = f" {sentence(capital(prose(table.note)))}" if table.note else ""
    return Latex(f"{capital(prose(table.columns[1]))}: {parts}.{note}")


def evidence_table(table: Table, name: str) -> tuple[PrintedTable, str]:
    """A table of the evidence, and its CSV."""
    width = len(table.columns)
    if any(len(row) != width for row in table.rows):
        raise ReportError(f"table {table.title[:80]!r}: a row does not have {width} cells")
    shown = table.rows if len(table.rows) <= 2 * MAX_ROWS else table.rows[: 2 * MAX_ROWS]
    caption = str(prose(table.title).rstrip(".")) + "."
    if table.note:
        caption += " " + sentence(capital(prose(table.note)))
    if len(shown) < len(table.rows):
        cut = f"Showing the first {number(len(shown))} of {number(len(table.rows))} rows"
        caption += f" {cut}; all rows are in {code(f'tables/{name}.csv')}."
    head = [prose(column) for column in table.columns]
    if width == 2 and visible_length(head[1]) > _LONG_HEAD:
        caption += f" The value is the {head[1]}."
        head[1] = Latex("value")
    printed = PrintedTable(
        head=head,
        rows=[[tables.cell(item) for item in row] for row in shown],
        align=tables.alignment(shown, width),
        caption=caption,
        label=name,
    )
    return printed, tables.csv_text(table.columns, table.rows)

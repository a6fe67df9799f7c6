"""One claim's page: statement, evidence, figures and tables as LaTeX, and the files beside them."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from reports import figures, tables
from reports.breaking import LINE, broken, width
from reports.cell_table import MAX_ROWS, assignment, cell_table, cells_csv, is_merged
from reports.characters import Latex
from reports.errors import ReportError
from reports.latex import code, formula, latex_field, visible_length
from reports.mathematics import display_source
from reports.power import power_paragraph
from reports.prose import paragraphs, prose
from reports.reading import Tried, capital, colour, plural, sentence, slug
from reports.schema import Assumption, Cell, Constant, Evidence, Figure, Table, Witness
from reports.tables import PrintedTable
from reports.values import number

Files = dict[str, str | bytes]


def claim_page(tried: Tried, files: Files, form: figures.Form = "pdf") -> dict[str, Any]:
    """The template's variables of one claim.  Its figures and CSV files are added to ``files``.

    Raises
    ------
    ReportError
        When a formula of the claim cannot be typeset.  The message names the claim.
    """
    try:
        return _page(tried, files, form)
    except ReportError as error:
        raise ReportError(f"claim {tried.key[:80]!r}: {error}") from None


def _page(tried: Tried, files: Files, form: figures.Form) -> dict[str, Any]:
    claim, evidence, name = tried.claim, tried.evidence, tried.name
    shown, turned, tallies = _tables(tried, files, paper=form == "pdf")
    printed, added = departures(claim.assumptions)
    conditions = [
        ("Assumptions", assumptions(printed, form=form)),
        ("Not in the paper", assumptions(added, form=form)),
        ("Constants", _run_in([_constant(item) for item in claim.constants])),
    ]
    runs = [
        ("Reading", paragraphs(claim.reading)),
    ]
    after = [
        ("Cells", paragraphs(claim.cells_description)),
        ("Procedure", paragraphs(claim.procedure)),
        *tallies,
        ("Refutation", _refutation(evidence)),
        ("Witness", _witness(evidence.witness) if evidence.witness else Latex("")),
        ("Sharpness", _sentences(evidence.sharpness)),
        ("Power", power_paragraph(tried.power)),
        ("Notes", _sentences(evidence.notes)),
    ]
    effort = _effort(tried)
    expectation = "as expected" if tried.as_expected else f"expected {claim.expected}"
    words = ["" if tried.as_expected is None else expectation]
    words += ["identity of formulas"] * bool(claim.identity)
    return {
        "id": code(tried.key),
        "title": prose(claim.title or claim.id or tried.key),
        "label": Latex(f"sec:{name}"),
        "statement_label": Latex(f"st:{name}"),
        "verdict": tried.mark,
        "colour": colour(tried.verdict),
        "grade": prose(evidence.grade),
        "expectation": ", ".join(filter(None, words)),
        "answer": Latex(sentence(capital(paragraphs(evidence.summary)))),
        "facts": _joined(capital(prose(f"{claim.source}, {claim.paper}".strip(", "))), effort),
        "brief": _joined(capital(prose(claim.source)), effort),  # below its paper's heading
        "statement": latex_field(claim.statement),
        "quantifiers": latex_field(claim.quantifiers),
        "bound": _display(claim.bound_latex, form),
        "failure": Latex(sentence(formula(claim.failure_latex))),
        "conditions": [(heading, text) for heading, text in conditions if text],
        "runs": [(heading, text) for heading, text in runs if text],
        "figures": _figures(evidence.figures, name, files, form),
        "tables": shown,
        "turned": turned,
        "after": [(heading, text) for heading, text in after if text],
        "replay": commands(claim.replay),
    }


def _display(source: str, form: figures.Form) -> Latex:
    """A formula of its own lines: broken on paper, whole in a browser, which scrolls."""
    whole = display_source(source)
    return broken(whole) if form == "pdf" else whole


def _sentences(texts: Sequence[str]) -> Latex:
    return Latex(" ".join(sentence(prose(text)) for text in texts))


def commands(lines: Sequence[str]) -> Latex:
    """Commands one below the other, as code."""
    return Latex("\\newline\n".join(map(code, lines)))


def _effort(tried: Tried) -> Latex:
    """Kind, trials and level in one sentence."""
    claim, evidence = tried.claim, tried.claim.evidence
    parts = [capital(prose(claim.kind))] if claim.kind else []
    if evidence is not None:
        search = claim.kind in ("identity", "deterministic")
        effort = plural(evidence.n_trials, "evaluation" if search else "trial")
        failed = f", {number(evidence.n_failed)} failed" if evidence.n_failed or not search else ""
        level = [f"level {number(evidence.level, 2)}"] if evidence.level else []
        parts += [effort + failed, *level]
    return Latex(sentence("; ".join(parts)))


def _joined(*parts: str) -> Latex:
    """Sentences one after the other."""
    return Latex(" ".join(sentence(part) for part in parts if part))


# -- statement -----------------------------------------------------------------------------------

_GENEROUS = {"high": "upper end generous", "low": "lower end generous"}


def _constant(constant: Constant) -> Latex:
    generous = _GENEROUS.get(constant.generous, "chosen by the user of the algorithm")
    low, high = number(constant.low)[1:-1], number(constant.high)[1:-1]
    symbol = formula(constant.latex)[1:-1]
    return Latex(f"${symbol}\\in[{low},\\ {high}]$, {prose(constant.meaning)} ({generous})")


#: The note of a condition that was added to the printed statement begins so.
ADDED = "not in the paper"


def departures(items: Sequence[Assumption]) -> tuple[list[Assumption], list[Assumption]]:
    """The conditions that the paper states, and those that were added to them."""
    printed = [item for item in items if not item.note.startswith(ADDED)]
    added = [
        msgspec.structs.replace(item, note=item.note.removeprefix(ADDED).lstrip(": "))
        for item in items
        if item.note.startswith(ADDED)
    ]
    return printed, added


def assumptions(items: Sequence[Assumption], before: str = "", form: figures.Form = "pdf") -> Latex:
    """The conditions of a statement in one sentence, which may begin with other words."""
    shown = [Latex(before)] if before else []
    return _run_in([*shown, *(_assumption(item, form) for item in items)])


def _assumption(item: Assumption, form: figures.Form) -> Latex:
    text = prose(item.name)
    if form == "pdf" and "$" not in item.latex and width(item.latex) > LINE:
        text = Latex(rf"\emph{{{text}}}: \cflformula{{{_display(item.latex, form)}}}")
    elif item.latex:
        text = Latex(f"\\emph{{{text}}}: {formula(item.latex)}")
    return Latex(f"{text} ({prose(item.note)})") if item.note else text


def _run_in(items: Sequence[Latex]) -> Latex:
    """Short items as one sentence."""
    return Latex(sentence("; ".join(items)))


# -- evidence ------------------------------------------------------------------------------------


#: Cells on a claim's page whose table has a page on its side.
_WORST = 5
#: Columns that such a page leaves out, the first ones first, until the line holds the others.
_LESS = ("trials", "verdict", "note", "interval")


def _tables(
    tried: Tried, files: Files, *, paper: bool
) -> tuple[list[PrintedTable], list[PrintedTable], list[tuple[Latex, Latex]]]:
    """The claim's tables, those for pages on their side, and paragraphs with their headings.

    Small tables of counts become paragraphs.  A table that is too wide for the page of ``paper``
    goes to a page on its side, and the claim's page names it.  A browser scrolls.
    """
    shown: list[PrintedTable] = []
    turned: list[PrintedTable] = []
    told: list[tuple[Latex, Latex]] = []
    name, cells = tried.name, tried.evidence.cells
    if cells:
        whole = cell_table(cells, name)
        files[f"tables/{name}-cells.csv"] = cells_csv(cells)
        files[f"tables/{name}-cells.tex"] = whole.latex() + "\n"
        if not paper:
            shown.append(cell_table(cells, name, line=math.inf))
        elif whole.small or (is_merged(whole) and len(whole.rows) > tables.SHORT):
            wide = cell_table(cells, f"{name}-wide", line=tables.TURNED, more=_of(tried))
            turned.append(wide)
            has = "more cells" if is_merged(wide) else "a column for each parameter"
            shown.append(_few(cells, name, f"{_reference(wide)} has {has}."))
        else:
            shown.append(whole)
    for i, table in enumerate(tried.evidence.tables, 1):
        printed, text = _evidence_table(table, f"{name}-{i}")
        files[f"tables/{name}-{i}.csv"] = text
        files[f"tables/{name}-{i}.tex"] = printed.latex() + "\n"
        heading = prose(table.title or "Counts")
        if tally := _tally(table):
            told.append((heading, tally))
        elif paper and printed.small:
            caption = f"{printed.caption} {_of(tried)}"
            wide = dataclasses.replace(printed, caption=caption, line=tables.TURNED)
            turned.append(wide)
            told.append((heading, Latex(f"{_reference(wide)}.")))
        else:
            shown.append(printed)
    return shown, turned, told


def _few(cells: Sequence[Cell], name: str, more: str) -> PrintedTable:
    """The worst cells, with as many columns as a line holds."""
    for n in range(len(_LESS) + 1):
        table = cell_table(cells, name, most=_WORST, more=more, without=_LESS[:n])
        if not table.small:
            break
    return table


def _of(tried: Tried) -> str:
    """The way back from a table on its side to its claim."""
    section = f"sec:{tried.name}"
    return rf"Claim \hyperref[{section}]{{{code(tried.key)}}}, page~\pageref{{{section}}}."


def _reference(table: PrintedTable) -> str:
    return rf"Table~\ref{{{table.anchor}}} on page~\pageref{{{table.anchor}}}"


def _tally(table: Table) -> Latex:
    """A small table of counts as one sentence, or nothing when it is not one."""
    counts = len(table.columns) == 2 and 0 < len(table.rows) <= 10
    if not counts or not all(
        len(row) == 2 and isinstance(row[0], str) and isinstance(row[1], int) for row in table.rows
    ):
        return Latex("")
    parts = ", ".join(f"{prose(str(row[0]))} {_count(row[1])}" for row in table.rows)
    note = f" {sentence(capital(prose(table.note)))}" if table.note else ""
    return Latex(f"{capital(prose(table.columns[1]))}: {parts}.{note}")


def _count(value: object) -> Latex:
    return number(value if isinstance(value, int) else None)


#: Characters of the head of a table's second column from which it is said in the caption.
_LONG_HEAD = 20


def _evidence_table(table: Table, name: str) -> tuple[PrintedTable, str]:
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


#: Panels from which a figure takes half a page.  It may move to the next page, and no other may.
_MANY_PANELS = 6


def _figures(
    stored: Sequence[Figure], name: str, files: Files, form: figures.Form
) -> list[dict[str, Latex]]:
    """The drawn figures, added to ``files`` under names of their own."""
    drawn = []
    for figure in stored:
        path = f"figures/{name}-{slug(figure.name)[:80]}.{form}"
        while path in files:
            path = f"{path.removesuffix(f'.{form}')}-x.{form}"
        files[path] = figures.render(figure, form=form)
        drawn.append(
            {
                "path": Latex(path),
                "width": Latex("1.0"),
                "place": Latex("!ht" if len(figure.shown) > _MANY_PANELS else "H"),
                "caption": _caption(figure),
                "label": Latex(f"fig:{slug(path)}"),
            }
        )
    return drawn


# The caption already explains the bars.  They may be quantiles, which are no confidence limits.
_SPREAD = re.compile(r"\b(bars?|bands?|shad\w+|percent|quantiles?|standard errors?|limits)\b")


def _caption(figure: Figure) -> Latex:
    """Title and caption.  The meaning of bars is added where the caption does not give it."""
    parts = [sentence(figure.title), sentence(figure.caption)]
    limited = any(series.lower or series.upper for series in figure.series)
    if limited and not _SPREAD.search(figure.caption):
        parts.append("Bars and bands span the lower and upper confidence limits.")
    parts.append(figures.undrawn(figure))
    return prose(" ".join(part for part in parts if part))


def _refutation(evidence: Evidence) -> Latex:
    """The argument and the inequalities of a proof, empty where a refutation has none."""
    if evidence.proof is None:
        return Latex("")
    shown = "; ".join(prose(inequality.says) for inequality in evidence.proof.inequalities)
    argument = paragraphs(evidence.proof.argument)
    return Latex(f"Proved. {argument} Interval arithmetic encloses both sides: {sentence(shown)}")


def _witness(witness: Witness) -> Latex:
    text = Latex(capital(prose(sentence(witness.description))))
    observed, stated = number(witness.observed, 4), number(witness.bound, 4)
    seen = f"observed {observed}, stated bound {stated}."
    if witness.params:
        text = Latex(f"{text} At {assignment(witness.params, list(witness.params))}: {seen}")
    else:
        text = Latex(f"{text} {capital(seen)}")
    return Latex(f"{text} Trial {code(witness.trial)}.") if witness.trial else text

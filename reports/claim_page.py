"""One claim's page: statement, evidence, figures and tables as LaTeX, and the files beside them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from reports import figures, tables
from reports.cell_table import MAX_ROWS, assignment, cell_table, cells_csv
from reports.characters import Latex
from reports.errors import ReportError
from reports.latex import code, formula, latex_field, visible_length
from reports.mathematics import display_source
from reports.power import power_paragraph
from reports.prose import paragraphs, prose
from reports.reading import Tried, capital, colour, plural, sentence, slug
from reports.schema import Assumption, Constant, Evidence, Figure, Table, Witness
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
    shown, tallies = _tables(tried, files)
    printed, added = departures(claim.assumptions)
    conditions = [
        ("Assumptions", assumptions(printed)),
        ("Not in the paper", assumptions(added)),
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
    return {
        "id": code(tried.key),
        "title": prose(claim.title or claim.id or tried.key),
        "label": Latex(f"sec:{name}"),
        "statement_label": Latex(f"st:{name}"),
        "verdict": tried.mark,
        "colour": colour(tried.verdict),
        "grade": prose(evidence.grade),
        "expectation": "" if tried.as_expected is None else expectation,
        "answer": Latex(sentence(capital(paragraphs(evidence.summary)))),
        "facts": _joined(capital(prose(f"{claim.source}, {claim.paper}".strip(", "))), effort),
        "brief": _joined(capital(prose(claim.source)), effort),  # below its paper's heading
        "statement": latex_field(claim.statement),
        "quantifiers": latex_field(claim.quantifiers),
        "bound": display_source(claim.bound_latex),
        "failure": Latex(sentence(formula(claim.failure_latex))),
        "conditions": [(heading, text) for heading, text in conditions if text],
        "runs": [(heading, text) for heading, text in runs if text],
        "figures": _figures(evidence.figures, name, files, form),
        "tables": shown,
        "after": [(heading, text) for heading, text in after if text],
        "replay": commands(claim.replay),
    }


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
        parts += [effort + failed, f"level {number(evidence.level, 2)}"]
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


def assumptions(items: Sequence[Assumption], before: str = "") -> Latex:
    """The conditions of a statement in one sentence, which may begin with other words."""
    shown = [Latex(before)] if before else []
    return _run_in([*shown, *(_assumption(item) for item in items)])


def _assumption(item: Assumption) -> Latex:
    text = prose(item.name)
    if item.latex:
        text = Latex(f"\\emph{{{text}}}: {formula(item.latex)}")
    return Latex(f"{text} ({prose(item.note)})") if item.note else text


def _run_in(items: Sequence[Latex]) -> Latex:
    """Short items as one sentence."""
    return Latex(sentence("; ".join(items)))


# -- evidence ------------------------------------------------------------------------------------


def _tables(tried: Tried, files: Files) -> tuple[list[PrintedTable], list[tuple[Latex, Latex]]]:
    """The claim's tables.  Small tables of counts become sentences with their headings."""
    shown: list[PrintedTable] = []
    tallies: list[tuple[Latex, Latex]] = []
    name = tried.name
    if tried.evidence.cells:
        shown.append(cell_table(tried.evidence.cells, name))
        files[f"tables/{name}-cells.csv"] = cells_csv(tried.evidence.cells)
        files[f"tables/{name}-cells.tex"] = shown[0].latex() + "\n"
    for i, table in enumerate(tried.evidence.tables, 1):
        printed, text = _evidence_table(table, f"{name}-{i}")
        files[f"tables/{name}-{i}.csv"] = text
        files[f"tables/{name}-{i}.tex"] = printed.latex() + "\n"
        if tally := _tally(table):
            tallies.append((prose(table.title or "Counts"), tally))
        else:
            shown.append(printed)
    return shown, tallies


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

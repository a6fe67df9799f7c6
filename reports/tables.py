"""Tables: rows of LaTeX cells laid out to fit the page, and the same rows as CSV.

Columns of numbers keep their natural width.  Columns of text share the rest of the line and wrap.
Tables of up to `SHORT` rows are kept together.  Longer ones run over pages.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reports.characters import Latex
from reports.text import number, prose, visible_length
from trials.text import spreadsheet_text

LINE = 104.0  # average characters of \footnotesize on a line of the text width
SHORT = 8
DENSE = 1.14  # \\scriptsize sets this many times the characters of \\footnotesize on a line
DENSE_GAP = 1.6  # characters between the columns of a table in \\scriptsize
TIGHT_GAP = 1.6  # the smallest number of characters between columns in type of the usual size
# The skip lets first words hyphenate, and keeps pandoc from taking a group for an argument.
RAGGED = r"\raggedright\arraybackslash\hskip0pt"
_WORD = 19.0  # characters up to which a text column always gets its natural width
_NARROW = 13.0
_READABLE = 26.0  # characters below which a text column is too narrow to read
_GAP = 2.8


def _widths(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[float]:
    """The natural width of every column, in characters."""
    return [
        max([visible_length(h), *(visible_length(row[i]) for row in rows)])
        for i, h in enumerate(head)
    ]


def _columns(
    head: Sequence[str], rows: Sequence[Sequence[str]], align: str, line: float = LINE
) -> tuple[str, bool]:
    """The column specification (natural widths where they fit), and whether type must be small."""
    widths = _widths(head, rows)
    gaps = _GAP * (len(head) - 1)
    if sum(widths) + gaps <= line:
        return "@{}" + align + "@{}", False
    if natural(head, rows, line):
        return _tight(align), False
    if fits(head, rows, line):
        return _dense(list(align)), True
    wide = [i for i, w in enumerate(widths) if w > _NARROW and align[i] == "l"]
    wide = wide or [max(range(len(head)), key=lambda i: widths[i])]
    fixed = sum(w for i, w in enumerate(widths) if i not in wide)
    needed = min(sum(widths[i] for i in wide), _READABLE * len(wide))
    dense = line - gaps - fixed < needed
    line *= DENSE if dense else 1.0
    gaps = (DENSE_GAP if dense else _GAP) * (len(head) - 1)
    shares = _shares([widths[i] for i in wide], max(line - gaps - fixed, _NARROW * len(wide)))
    spec = list(align)
    for i, share in zip(wide, shares, strict=True):
        spec[i] = rf">{{{RAGGED}}}p{{{0.98 * share / line:.3f}\linewidth}}"
    return (_dense(spec), True) if dense else ("@{}" + "".join(spec) + "@{}", False)


def _dense(spec: Sequence[str]) -> str:
    """Set the columns closer together than LaTeX does by default."""
    return "@{}" + r"@{\hspace{3.9pt}}".join(spec) + "@{}"


def _tight(spec: Sequence[str]) -> str:
    """The same in type of the usual size."""
    return "@{}" + r"@{\hspace{7pt}}".join(spec) + "@{}"


def _shares(wanted: Sequence[float], room: float) -> list[float]:
    """The width of each text column.

    A narrow column gets its natural width.  The other columns share the rest in proportion.
    """
    even = room / len(wanted)
    if sum(w <= _WORD for w in wanted) * _WORD + _NARROW <= room:
        even = max(even, _WORD)
    small = [w for w in wanted if w <= even]
    rest = room - sum(small)
    total = sum(w**0.7 for w in wanted if w > even) or 1.0
    return [w if w <= even else rest * w**0.7 / total for w in wanted]


def fits(head: Sequence[str], rows: Sequence[Sequence[str]], line: float = LINE) -> bool:
    """Whether every column can keep its natural width, in small type at least."""
    return sum(_widths(head, rows)) <= DENSE * line - DENSE_GAP * (len(head) - 1)


def natural(head: Sequence[str], rows: Sequence[Sequence[str]], line: float = LINE) -> bool:
    """Whether every column can keep its natural width in type of the usual size."""
    return sum(_widths(head, rows)) <= line - TIGHT_GAP * (len(head) - 1)


def _two_blocks(
    head: Sequence[str], rows: Sequence[Sequence[str]], align: str
) -> tuple[list[str], list[list[str]], str] | None:
    """A long table of two columns as two blocks side by side, or None where it is not one."""
    if len(head) != 2 or len(rows) <= SHORT:
        return None
    half = -(-len(rows) // 2)
    right = [*rows[half:], *([["", ""]] * (2 * half - len(rows)))]
    both = [[*a, *b] for a, b in zip(rows[:half], right, strict=True)]
    wide = [*head, *head]
    return (wide, both, f"{align}@{{\\hspace{{2.5em}}}}{align}") if natural(wide, both) else None


@dataclass(frozen=True, kw_only=True)
class PrintedTable:
    """A table as it is printed.

    ``head``, ``rows`` and ``caption`` are LaTeX.  ``align`` has one letter for each column.
    ``spec`` replaces the computed column specification.  The label is prefixed by ``tab:``.
    ``line`` is the number of characters on a line of the page for which the table is made.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    align: str
    caption: str
    label: str
    spec: str | None = None
    line: float = LINE

    @property
    def small(self) -> bool:
        """Whether the line holds the table in small type only."""
        if self.spec or _two_blocks(self.head, self.rows, self.align):
            return False
        return _columns(self.head, self.rows, self.align, self.line)[1]

    @property
    def anchor(self) -> str:
        """The label.  The embedded engine's filter reads the type size off it."""
        return f"tab:{'dense:' if self.small else ''}{self.label}"

    def latex(self, *, together: bool = False) -> Latex:
        """The table with its caption.

        A long table of two narrow columns becomes two blocks side by side.  Any other long table
        runs over pages unless it must stay ``together``.
        """
        head, rows = self.head, self.rows
        if self.spec:
            columns, dense = self.spec, False
        elif blocks := _two_blocks(head, rows, self.align):
            head, rows, spec = blocks
            columns, dense = f"@{{}}{spec}@{{}}", False
        else:
            columns, dense = _columns(head, rows, self.align, self.line)
        size = r"\scriptsize" if dense else r"\footnotesize"
        top = " & ".join(h or "~" for h in head) + r" \\"
        body = "\n".join(" & ".join(cell or "~" for cell in row) + r" \\" for row in rows)
        if body[:1].isdigit():
            body = "{}" + body  # pandoc would take the digits for an argument of \\endlastfoot
        title = rf"\caption{{{self.caption}}}\label{{{self.anchor}}}"
        if together or len(rows) <= SHORT:
            return Latex(
                f"\\begin{{table}}[H]\n\\centering{size}\n"
                f"{title}\n\\begin{{tabular}}{{{columns}}}\n\\toprule\n{top}\n\\midrule\n{body}\n"
                "\\bottomrule\n\\end{tabular}\n\\end{table}"
            )
        return Latex(
            f"{{{size}\n"
            f"\\begin{{longtable}}{{{columns}}}\n{title}\\\\\n\\toprule\n{top}\n\\midrule\n"
            f"\\endfirsthead\n\\toprule\n{top}\n\\midrule\n\\endhead\n\\bottomrule\n\\endfoot\n"
            f"\\bottomrule\n\\endlastfoot\n{body}\n\\end{{longtable}}\n}}"
        )


def cell(value: Any) -> Latex:
    """A stored table cell: numbers rounded for reading, letters in math, None a dash."""
    if value is None or isinstance(value, (bool, int, float)):
        return number(value)
    text = str(value)
    return Latex(f"${text}$") if len(text) == 1 and text.isalpha() else prose(text)


def alignment(rows: Sequence[Sequence[Any]], n_columns: int) -> str:
    """Right for columns whose every value is a number, left for the others."""

    def numeric(i: int) -> bool:
        values = [row[i] for row in rows if row[i] is not None]
        return bool(values) and all(isinstance(v, (int, float)) for v in values)

    return "".join("r" if numeric(i) else "l" for i in range(n_columns))


def csv_text(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Rows as CSV at full precision.  None is an empty field.  No cell is run by a spreadsheet."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(map(spreadsheet_text, head))
    writer.writerows(["" if v is None else spreadsheet_text(v) for v in row] for row in rows)
    return buffer.getvalue()

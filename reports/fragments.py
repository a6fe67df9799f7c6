r"""Fragments: one ``.tex`` file a claim, to ``\input`` in a paper of one's own.

    cfl-verify report RUN --fragments 'ifca.thm1*'

The folder ``fragments`` then holds a file for each claim that matches, its figures in two widths,
and ``cfl-verify.tex`` with the macros.  A paper uses them so::

    \usepackage{amsmath,amssymb,booktabs,array,graphicx,xcolor,textcomp}
    \input{fragments/cfl-verify}          % in the preamble
    ...
    \input{fragments/ifca.thm1}           % where the claim is told

Each figure is drawn for the column width and for the text width.  The fragment takes the one that
fits where it stands.  ``\renewcommand{\cflpath}{path/to/fragments/}`` names another folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

from reports import figures
from reports.characters import MACROS, Latex
from reports.claim_page import claim_page
from reports.claim_tables import Files, cell_table
from reports.errors import ReportError
from reports.reading import COLOURS, Tried
from reports.text import TEXT_WIDTH_INCHES

#: Inches of a column of a two-column article.
COLUMN_WIDTH_INCHES = 3.4
FOLDER = "fragments"


def choose(claims: Sequence[Tried], patterns: Sequence[str]) -> list[Tried]:
    """The claims whose ids match one of the patterns (``*`` and ``?`` are wildcards).

    Square brackets are those of an id, as in ``ifca.thm1[m=400]``.

    Raises
    ------
    ReportError
        For a pattern that matches no claim of the run.
    """

    def matches(claim: Tried, pattern: str) -> bool:
        return fnmatchcase(claim.key, pattern.replace("[", "[[]"))

    for pattern in patterns:
        if not any(matches(claim, pattern) for claim in claims):
            raise ReportError(
                f"--fragments {pattern!r} matches no claim of this run; its report lists them"
            )
    return [claim for claim in claims if any(matches(claim, p) for p in patterns)]


def macros() -> str:
    """The file with the macros.  A command that the paper has already is left as it is."""
    commands = MACROS.replace(r"\newcommand", r"\providecommand")
    defined = "\n".join(rf"\definecolor{{{n}}}{{HTML}}{{{v}}}" for n, v in COLOURS.items())
    return (
        "% Macros of the fragments. Input this file in the preamble.\n"
        "\\providecommand{\\cflpath}{fragments/}\n"
        f"{commands}\n{defined}\n"
        "% A formula that is too wide for its column is made smaller.\n"
        "\\newsavebox{\\cflbox}\n"
        "\\newcommand{\\cflformula}[1]{\\sbox{\\cflbox}{$\\displaystyle #1$}"
        "\\[\\ifdim\\wd\\cflbox>\\linewidth\\resizebox{\\linewidth}{!}{\\usebox{\\cflbox}}"
        "\\else\\usebox{\\cflbox}\\fi\\]}\n"
        "\\newenvironment{cflstatement}{\\par\\medskip\\begin{quote}}{\\end{quote}\\par}\n"
    )


def fragment(tried: Tried) -> tuple[dict[str, Any], Files]:
    """The template's variables of one claim, and its figures in both widths."""
    files: Files = {}
    page = claim_page(tried, {})
    drawn = []
    for figure, shown in zip(tried.evidence.figures, page["figures"], strict=True):
        stem = str(shown["path"]).removeprefix("figures/").removesuffix(".pdf")
        for suffix, width in (("column", COLUMN_WIDTH_INCHES), ("text", TEXT_WIDTH_INCHES)):
            files[f"{FOLDER}/figures/{stem}-{suffix}.pdf"] = figures.render(figure, width=width)
        drawn.append({"stem": Latex(stem), "caption": shown["caption"], "label": shown["label"]})
    table = ""
    if tried.evidence.cells:
        table = Latex(
            cell_table(tried.evidence.cells, tried.name)
            .latex(together=True)
            .replace(r"\begin{table}[H]", r"\begin{table*}[t]")
            .replace(r"\end{table}", r"\end{table*}")
        )
    wanted = ("Refutation", "Sharpness", "Power")
    answer = [("Evidence", page["answer"])] if page["answer"] else []
    told = [*answer, *((h, t) for h, t in page["after"] if h in wanted)]
    return {**page, "told": told, "figures": drawn, "table": table}, files

"""A check that every formula of a catalogue compiles with either engine."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from reports.characters import MACROS
from reports.engines import Engine, compile_pdf
from reports.errors import ReportError
from reports.mathematics import display_source

_HEAD = "\n".join(
    (
        r"\documentclass{article}",
        r"\usepackage{amsmath,amssymb}",
        MACROS,
        r"\begin{document}",
    )
)


def _document(formulas: Sequence[str]) -> str:
    body = "\n\n".join(rf"\[ {display_source(formula)} \]" for formula in formulas)
    return f"{_HEAD}\n{body}\n\\end{{document}}\n"


def check_formulas(formulas: Sequence[str], engine: Engine) -> dict[str, str]:
    r"""Compile formulas as displays and return those that fail, with the engine's error.

    Parameters
    ----------
    formulas : LaTeX sources, with or without math delimiters.  They may use amsmath, amssymb and
        the macros of `reports.characters.MACROS`.
    engine : ``"latex"`` or ``"embedded"``.

    All formulas are compiled in one document.  Only when that fails are they bisected.  So a
    correct catalogue of hundreds of formulas costs one compilation.
    """
    formulas = [formula for formula in formulas if re.search(r"\S", formula)]
    if not formulas:
        return {}
    try:
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "formulas.tex")
            source.write_text(_document(formulas), encoding="utf-8")
            compile_pdf(source, engine, timestamp=0)
    except ReportError as error:
        if len(formulas) == 1:
            return {formulas[0]: str(error)}
        half = len(formulas) // 2
        return check_formulas(formulas[:half], engine) | check_formulas(formulas[half:], engine)
    return {}

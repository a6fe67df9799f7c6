"""The LaTeX templates: filled, with every value escaped that is not LaTeX of ours."""

from __future__ import annotations

from typing import Any

import jinja2

from reports.characters import MACROS, Latex
from reports.reading import COLOURS
from reports.text import escape_text


def render_tex(context: dict[str, Any], template: str = "catalogue.tex.j2") -> str:
    """LaTeX source, the catalogue's by default.

    Values that are not of type `Latex` are escaped.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("reports"),
        block_start_string="<%",
        block_end_string="%>",
        variable_start_string="<<",
        variable_end_string=">>",
        comment_start_string="<#",
        comment_end_string="#>",
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # HTML's; `finalize` escapes for LaTeX
        finalize=lambda v: v if isinstance(v, Latex) else escape_text(str(v)),
    )
    return environment.get_template(template).render(context, macros=Latex(MACROS), colours=COLOURS)

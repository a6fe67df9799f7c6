"""The documentation site: Sphinx reads Markdown (MyST), the notebook and the docstrings.

Nothing is loaded from elsewhere: formulas become MathML by the converter of the web reports.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes

from reports.mathematics import math_source
from reports.site.mathml import mathml

project = "cfl-verify"
author = "the cfl-verify authors"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["build"]
html_theme = "furo"
html_title = "cfl-verify"
html_math_renderer = "mathml"
html_copy_source = False
html_static_path = ["_static", "../reports/templates/site/math.woff2"]
html_css_files = ["docs.css"]

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
suppress_warnings = ["docutils", "ref.python", "myst.xref_missing", "config.cache"]


def _inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(mathml(math_source(node.astext())))
    raise nodes.SkipNode


def _block(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(f"<div>{mathml(math_source(node.astext()), display=True)}</div>")
    raise nodes.SkipNode


def _as_lists(*event: Any) -> None:
    """Sections of docstrings as lists: the words behind a colon are a meaning, and no type."""
    lines: list[str] = event[-1]
    found, listed = [], False
    for i, line in enumerate(lines):
        below = lines[i + 1] if i + 1 < len(lines) else ""
        if below.strip() and not below.strip("-"):  # the heading of a section
            listed = line in _LISTED
            found += [f"**{line}**", ""] if listed else [line]
        elif listed and line and not line.strip("-"):
            continue
        elif listed and (item := re.match(r"(\S.*?) : (.*)", line)):
            found += ["", f"* *{item[1]}*: {item[2]}"]
        else:
            found.append(f"  {line.strip()}" if listed and line.startswith("    ") else line)
    lines[:] = found


def _requests(_app: Any, _what: str, name: str, _member: object, skip: bool, _options: Any) -> bool:
    """Leave out ``set_fit_request`` and its like, which scikit-learn writes into each estimator."""
    return skip or re.fullmatch(r"set_\w+_request", name) is not None


_LISTED = ("Attributes", "Parameters", "Raises")


def setup(app: Any) -> None:
    """Register the renderer of formulas, and the lists before Napoleon reads the sections."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.connect("autodoc-process-docstring", _as_lists, priority=100)
    app.connect("autodoc-skip-member", _requests)

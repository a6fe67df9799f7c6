"""The documentation site: Sphinx reads Markdown (MyST), the notebook and the docstrings.

Nothing is loaded from elsewhere: formulas become MathML by the converter of the web reports.
"""

from __future__ import annotations

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


def setup(app: Any) -> None:
    """Register the renderer of formulas."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))

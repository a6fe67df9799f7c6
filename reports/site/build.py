"""The files of the site: templates filled, nothing loaded from elsewhere.

Every page forbids other sources by its content security policy, scripts in the page included.  The
templates escape all that is not LaTeX of ours, which `reports.site.markup` converts.
"""

from __future__ import annotations

import base64
from functools import partial
from importlib import resources

import jinja2

from reports.characters import Latex
from reports.claim_tables import Files
from reports.collect import Run, methods
from reports.latex_template import render_tex
from reports.site import pages
from reports.site.markup import blocks, html_value, inline, plain
from reports.site.mathml import mathml

FOLDER = "site"
_ASSETS = ("site.css", "site.js", "math-licence.txt")
_FONT = "math.woff2"


def site(run: Run) -> Files:
    """All files of the site by their names below its folder.

    Raises
    ------
    ReportError
        When a formula or a text cannot be converted.  The message names it.
    """
    folder = resources.files("reports") / "templates" / "site"
    files: Files = {name: (folder / name).read_text("utf-8") for name in _ASSETS}
    files["site.css"] = _font_face((folder / _FONT).read_bytes()) + str(files["site.css"])
    shared = pages.navigation(run)
    told = render_tex(methods(run), "methods.tex.j2")
    made = [
        pages.index(run, files),
        *pages.claims(run, files),
        *pages.theorems(run),
        *pages.make_benchmark_pages(run, files),
        pages.findings(run),
        *pages.proofs(run),
        *pages.texts(run, told),
    ]
    environments = {root: _environment(run, root) for root in ("", "../")}
    for name, template, variables in made:
        root = "../" * name.count("/")
        page = environments[root].get_template(f"site/{template}")
        files[name] = page.render(variables, site=shared, root=root, here=name)
    return files


def _font_face(font: bytes) -> str:
    """The mathematical font inside the style sheet.

    A browser that opens a file from a disk does not load a font from another folder.
    """
    data = base64.b64encode(font).decode()
    return (
        '@font-face { font-family: "CFL Math"; font-display: block; '
        f'src: url("data:font/woff2;base64,{data}") format("woff2"); }}\n'
    )


def _environment(run: Run, root: str) -> jinja2.Environment:
    link = pages.link_to(run, root)
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("reports"),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: html_value(value, link),
    )
    environment.filters |= {
        "display": lambda formula: mathml(str(formula), display=True),
        "blocks": partial(blocks, link=link),
        "plain": lambda text: plain(inline(text, link) if isinstance(text, Latex) else text),
    }
    return environment

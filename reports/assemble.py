"""Building a report: documents in, ``report.pdf``, ``catalogue.pdf`` and the site out.

``report.pdf`` is the paper of the run (`reports.paper`).  ``catalogue.pdf`` holds all claims
(`reports.collect`) and is made on request.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import msgspec

from reports import fragments
from reports.claim_tables import Files
from reports.collect import Run, collect, load
from reports.engines import Engine, choose, compile_pdf, describe
from reports.errors import ReportError
from reports.latex_template import render_tex
from reports.paper import links_to_site, paper, title
from reports.schema import Reader
from reports.site import FOLDER, site

FORMATS = ("pdf", "tex", "html")
DEFAULT = ("pdf", "tex")
_LATEST = 253_402_300_799  # the last second of the year 9999


@dataclass(frozen=True, kw_only=True)
class BuildResult:
    """The written files, those to open first, and the PDF engine (None: no PDF)."""

    paths: tuple[Path, ...]
    engine: str | None
    opened: tuple[Path, ...] = ()


def _timestamp(run: Run) -> int:
    """The time at which the run finished.

    It is the only date in the PDF, so a second build gives the same bytes.
    """
    for moment in (run.summary.finished, run.summary.started):
        try:
            seconds = datetime.fromisoformat(moment).timestamp()
        except (ValueError, OverflowError):
            continue
        return min(max(int(seconds), 0), _LATEST)
    return 0


def _write(path: Path, content: str | bytes) -> Path:
    """Write a file so that no reader ever finds it half written.

    A link that stands in its place is replaced and not followed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".part")
    partial.unlink(missing_ok=True)
    with partial.open("xb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
    os.replace(partial, path)
    return path


def _refuse_links(folder: Path) -> None:
    """Refuse a report's folder inside a run that is a link, or holds one to another folder.

    A run may come from a stranger, whose link could lead anywhere.
    """
    for path in (folder, *folder.rglob("*")):
        if path.is_symlink() and path.is_dir():
            raise ReportError(
                f"{path}: is a link to another folder; name the folder of the report with --output"
            )


def write_report(
    reader: Reader,
    out_dir: Path,
    *,
    formats: Sequence[str] = DEFAULT,
    engine: str = "auto",
    catalogue: bool = False,
    heading: str = "",
    author: str = "",
    progress: Callable[[str], None] | None = None,
) -> BuildResult:
    """Build a report from any reader of documents.  See `build` for the arguments."""
    say = progress or (lambda _message: None)
    unknown = [name for name in formats if name not in FORMATS]
    if unknown or not formats:
        raise ReportError(
            f"format {', '.join(unknown) or '(none)'} must be among {', '.join(FORMATS)}"
        )
    chosen = choose(engine) if "pdf" in formats else None
    run = load(reader)
    run = replace(run, summary=msgspec.structs.replace(run.summary, title=heading or title(run)))
    paths: list[Path] = []
    opened: list[Path] = []
    try:
        if {"pdf", "tex"} & set(formats):
            if catalogue:
                paths += _write_catalogue(run, out_dir, chosen, say)
                opened.append(paths[-1])
            paths += _write_paper(run, out_dir, chosen, author, say)
            opened.append(paths[-1])
        if "html" in formats:
            say("making the web pages")
            folder = out_dir / FOLDER
            paths += [_write(folder / name, content) for name, content in site(run).items()]
            opened.append(folder / "index.html")
    except OSError as error:
        raise ReportError(
            f"{out_dir}: cannot write the report: {error.strerror or error}"
        ) from None
    return BuildResult(paths=tuple(paths), engine=chosen, opened=tuple(opened))


def _write_paper(
    run: Run, out_dir: Path, engine: Engine | None, author: str, say: Callable[[str], None]
) -> list[Path]:
    """Write the paper of the run."""
    say("drawing figures and tables")
    made = paper(run, engine=_name_engine(engine), author=author)
    source = links_to_site(render_tex(made, "paper.tex.j2"))
    return _typeset("report", source, made["files"], run, out_dir, engine, say)


def _write_catalogue(
    run: Run, out_dir: Path, engine: Engine | None, say: Callable[[str], None]
) -> list[Path]:
    """Write the catalogue of all claims."""
    say("drawing the figures and tables of all claims")
    made = collect(run, engine=_name_engine(engine))
    source = render_tex(made.context, "catalogue.tex.j2")
    return _typeset("catalogue", source, made.files, run, out_dir, engine, say)


def _name_engine(engine: Engine | None) -> str:
    return describe(engine) if engine else "no engine; LaTeX source only"


def _typeset(
    name: str,
    source: str,
    files: Files,
    run: Run,
    out_dir: Path,
    engine: Engine | None,
    say: Callable[[str], None],
) -> list[Path]:
    """Write files and LaTeX source, and the PDF last where there is an engine."""
    (out_dir / f"{name}.pdf").unlink(missing_ok=True)  # it would be taken for this build's
    paths = [_write(out_dir / file, content) for file, content in files.items()]
    paths.append(_write(out_dir / f"{name}.tex", source))
    if engine:
        say(f"typesetting {name}.pdf with the {engine} engine")
        pdf = compile_pdf(paths[-1], engine, timestamp=_timestamp(run))
        paths.append(_write(out_dir / f"{name}.pdf", pdf))
    return paths


def write_fragments(reader: Reader, out_dir: Path, patterns: Sequence[str]) -> tuple[Path, ...]:
    """Write one LaTeX file for each claim that matches, with its figures and the macros.

    Raises
    ------
    ReportError
        When a pattern matches no claim, or a claim cannot be typeset.
    """
    claims = fragments.choose(load(reader).claims, patterns)
    files: Files = {f"{fragments.FOLDER}/cfl-verify.tex": fragments.macros()}
    for claim in claims:
        context, figures = fragments.fragment(claim)
        files |= figures
        files[f"{fragments.FOLDER}/{claim.name}.tex"] = render_tex(context, "fragment.tex.j2")
    try:
        return tuple(_write(out_dir / name, content) for name, content in files.items())
    except OSError as error:
        raise ReportError(
            f"{out_dir}: cannot write the fragments: {error.strerror or error}"
        ) from None


def build(
    run_dir: Path | str,
    *,
    formats: Sequence[str] = DEFAULT,
    engine: str = "auto",
    out_dir: Path | str | None = None,
    fragments_of: Sequence[str] = (),
    catalogue: bool = False,
    heading: str = "",
    author: str = "",
    progress: Callable[[str], None] | None = None,
) -> BuildResult:
    """Build the report of a run directory.

    Parameters
    ----------
    formats : ``"pdf"``, ``"tex"`` and ``"html"``.  ``"pdf"`` writes source, figures and tables,
        too.  ``"html"`` writes the folder ``site``.
    engine : ``"latex"`` (pdfLaTeX), ``"embedded"`` (pandoc and Typst) or ``"auto"``, which takes
        LaTeX where it is complete.
    out_dir : the folder for the files, ``report/`` in the run directory by default.
    fragments_of : ids of claims, with wildcards.  Fragments of these claims are written and no
        report.  See `reports.fragments`.
    catalogue : whether ``catalogue.pdf``, with all claims, is made beside ``report.pdf``.
    heading, author : the title and the author that are printed.  The title is that of the run's
        paper by default, or that of the run where it holds several papers.
    progress : called with a line of text as each stage begins.

    Raises
    ------
    ReportError
        When the run cannot be read or the report cannot be typeset.  The message is one line
        that names the file.
    """
    from trials.run.directory import STORE_NAME
    from trials.run.store import RunStore, StoreError

    run_dir = Path(run_dir)
    if not run_dir.is_dir():
        raise ReportError(f"{run_dir}: no such run directory")
    try:
        with RunStore.open(run_dir / STORE_NAME, readonly=True) as store:
            folder = Path(out_dir) if out_dir is not None else run_dir / "report"
            if out_dir is None:
                _refuse_links(folder)
            if fragments_of:
                paths = write_fragments(store, folder, fragments_of)
                return BuildResult(paths=paths, engine=None, opened=paths[-1:])
            return write_report(
                store, folder, formats=formats, engine=engine, catalogue=catalogue,
                heading=heading, author=author, progress=progress,
            )  # fmt: skip
    except StoreError as error:
        raise ReportError(str(error)) from None

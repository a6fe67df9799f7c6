"""PDF engines: pdfLaTeX where it is installed, pandoc and Typst from Python wheels elsewhere."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from importlib import metadata, resources
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from reports.errors import ReportError

Engine = Literal["latex", "embedded"]
PACKAGES = (
    "article.cls", "amsmath.sty", "amssymb.sty", "amsthm.sty", "array.sty", "booktabs.sty",
    "caption.sty", "float.sty", "fontenc.sty", "geometry.sty", "graphicx.sty", "hyperref.sty",
    "inputenc.sty", "lmodern.sty", "longtable.sty", "textcomp.sty", "xcolor.sty",
)  # fmt: skip
_TIMEOUT_SECONDS = 600
#: Passes of pdfLaTeX over one source.  References settle in three, a long report in four.
_MAX_PASSES = 6
#: The first passes, whose pages nobody sees, write references only.
_DRAFTS = 2


def latex_missing() -> list[str]:
    """Programs and packages that the LaTeX engine lacks on this machine, empty when complete."""
    programs = [name for name in ("pdflatex", "kpsewhich") if shutil.which(name) is None]
    if programs:
        return programs
    found = subprocess.run(
        ["kpsewhich", *PACKAGES], capture_output=True, text=True, check=False, timeout=60
    ).stdout
    present = {Path(line).name for line in found.splitlines()}
    return [name for name in PACKAGES if name not in present]


def embedded_missing() -> list[str]:
    """Python packages that the embedded engine lacks, empty when complete."""
    return [name for name in ("pypandoc", "typst") if find_spec(name) is None]


def choose(engine: str) -> Engine:
    """The engine to use for ``auto``, ``latex`` or ``embedded``.

    Raises
    ------
    ReportError
        For an unknown name, or when the engine's installation is incomplete.  The message says
        what to install.
    """
    if engine not in ("auto", "latex", "embedded"):
        raise ReportError(f"engine={engine!r} must be auto, latex or embedded")
    missing = [] if engine == "embedded" else latex_missing()
    if engine == "latex" and missing:
        raise ReportError(
            f"engine=latex needs {', '.join(missing)}, not installed; use --engine embedded"
        )
    if engine != "embedded" and not missing:
        return "latex"
    if lacking := embedded_missing():
        raise ReportError(
            f"the PDF needs LaTeX, or the embedded engine, which lacks "
            f"{', '.join(lacking)}; install it with: pip install 'cfl-verify[pdf]'"
        )
    return "embedded"


def describe(engine: Engine) -> str:
    """The engine with its versions, for the report's environment table."""
    if engine == "embedded":
        import pypandoc

        return (
            f"embedded engine (pandoc {pypandoc.get_pandoc_version()}, "
            f"Typst {metadata.version('typst')})"
        )
    out = subprocess.run(
        ["pdflatex", "--version"], capture_output=True, text=True, check=False, timeout=60
    ).stdout
    return out.splitlines()[0] if out else "pdflatex"


def compile_pdf(source: Path, engine: Engine, *, timestamp: int) -> bytes:
    """The PDF of a ``.tex`` file, whose figures are those of the folder ``figures`` beside it.

    ``timestamp`` (seconds since 1970) is the only date that the PDF holds.

    Raises
    ------
    ReportError
        With the engine's own first error.
    """
    if engine == "latex":
        return _latex_pdf(source, timestamp)
    return typst_pdf(typst_source(source.read_text(encoding="utf-8")), source.parent, timestamp)


def _latex_pdf(source: Path, timestamp: int) -> bytes:
    """The PDF after as many passes as the references need.

    They run in a folder of their own: TeX would read a class or a package that a stranger has put
    beside the source, and run its code.

    The files that a pass leaves for the next one are compared byte by byte.  ``latexmk`` compares
    their dates in whole seconds first: it takes a quick pass for no change and leaves wrong page
    numbers.
    """
    environment = {
        **os.environ,
        "SOURCE_DATE_EPOCH": str(timestamp),
        "FORCE_SOURCE_DATE": "1",
        "max_print_line": "1000",  # error lines are not broken at 79 characters
        # TeX opens files below the report's folder only, and starts no program.
        "openin_any": "p",
        "openout_any": "p",
        "shell_escape": "f",
    }
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as place:
        _copy_source(source, Path(place))
        command = [
            "pdflatex", "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error",
            f"-output-directory={folder}", source.name,
        ]  # fmt: skip
        left: dict[str, bytes] = {}
        for i in range(_MAX_PASSES):
            draft = i < _DRAFTS
            try:
                done = subprocess.run(
                    [*command[:1], *(["-draftmode"] if draft else []), *command[1:]],
                    cwd=place,
                    env=environment,
                    capture_output=True,
                    timeout=_TIMEOUT_SECONDS,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                raise ReportError(
                    f"pdflatex gave up after {_TIMEOUT_SECONDS} s on {source}"
                ) from None
            if done.returncode:
                raise ReportError(f"pdflatex failed on {source}: {_first_error(folder, done)}")
            before, left = left, _left_for_the_next_pass(Path(folder))
            if left == before and not draft:
                return Path(folder, source.stem + ".pdf").read_bytes()
    raise ReportError(f"the references of {source} still change after {_MAX_PASSES} passes")


def _copy_source(source: Path, place: Path) -> None:
    """Copy a source and its figures, and nothing else that stands beside them."""
    shutil.copy(source, place)
    figures = place / "figures"
    figures.mkdir()
    for path in source.parent.glob("figures/*.pdf"):
        if path.is_file() and not path.is_symlink():
            shutil.copy(path, figures)


def _left_for_the_next_pass(folder: Path) -> dict[str, bytes]:
    """The files that the next pass reads: references, contents, bookmarks."""
    return {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if path.suffix not in (".log", ".pdf")
    }


def _first_error(folder: str, done: subprocess.CompletedProcess[bytes]) -> str:
    """TeX's own first error with its line, else the end of its output."""
    text = "".join(
        log.read_text(encoding="utf-8", errors="replace") for log in Path(folder).glob("*.log")
    )
    found = re.search(r"^(! .*(?:\n.*?)*?\nl\.\d+ .*)", text, flags=re.MULTILINE)
    return (
        " ".join(found[1].split())[:400] if found else done.stdout[-400:].decode(errors="replace")
    )


def typst_source(tex: str, *, standalone: bool = True) -> str:
    """LaTeX as Typst, through pandoc and the filter.  A warning from pandoc is an error.

    Raises
    ------
    ReportError
        When some part of the source has no faithful translation.  No part is ever dropped.
    """
    import pypandoc

    templates = resources.files("reports") / "templates"
    with (
        resources.as_file(templates / "embedded.lua") as lua,
        resources.as_file(templates / "embedded.typ") as template,
    ):
        command = [
            pypandoc.get_pandoc_path(), "--from=latex+raw_tex", "--to=typst-smart",
            "--wrap=preserve", "--fail-if-warnings", "--sandbox", f"--lua-filter={lua}",
            *([f"--template={template}"] if standalone else []),
        ]  # fmt: skip
        done = subprocess.run(
            command, input=tex.encode(), capture_output=True, timeout=_TIMEOUT_SECONDS, check=False
        )
    if done.returncode:
        text = done.stderr.decode(errors="replace").partition("stack traceback")[0]
        reason = " ".join(text.split())[:400]
        raise ReportError(f"the embedded engine cannot read the LaTeX source: {reason}")
    return done.stdout.decode()


#: A proxy that does not exist.  It keeps Typst from downloading a package that a source names.
_NO_NETWORK = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), "http://127.0.0.1:9")


@contextlib.contextmanager
def _without_network() -> Iterator[None]:
    before = {name: os.environ.get(name) for name in _NO_NETWORK}
    os.environ.update(_NO_NETWORK)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def typst_pdf(source: str, root: Path, timestamp: int) -> bytes:
    """The PDF of a Typst source.  It does not depend on system fonts or on the clock.

    The source reads files below ``root`` only.  It gets no packages and no network.
    """
    import typst

    try:
        with warnings.catch_warnings(), tempfile.TemporaryDirectory() as empty, _without_network():
            warnings.simplefilter("ignore")
            # The wheel's stub lists the types of its input in a way that excludes every one.
            pdf = typst.compile(  # type: ignore[type-var]
                source.encode(),
                root=str(root),
                ignore_system_fonts=True,
                timestamp=timestamp,
                package_path=empty,
                package_cache_path=empty,
            )
    except typst.TypstError as error:
        detail = " ".join([str(error), *getattr(error, "hints", [])])
        raise ReportError(f"the embedded engine cannot set the report: {detail[:400]}") from None
    return bytes(pdf)

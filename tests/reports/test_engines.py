"""The choice of an engine, what is said about it, and its errors, without a real run of LaTeX."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from reports import engines
from reports.characters import MATH_CHARACTERS
from reports.engines import (
    Engine,
    choose,
    compile_pdf,
    describe,
    embedded_missing,
    latex_missing,
    typst_pdf,
    typst_source,
)
from reports.errors import ReportError
from reports.text import code, escape_text


@pytest.mark.parametrize(
    ("engine", "latex", "embedded", "chosen"),
    [
        ("auto", [], [], "latex"),
        ("auto", ["amsmath.sty"], [], "embedded"),
        ("latex", [], ["typst"], "latex"),
        ("embedded", [], [], "embedded"),
        ("embedded", ["pdflatex"], [], "embedded"),
        ("auto", ["pdflatex"], ["typst"], "the PDF needs LaTeX, or the embedded engine, which la"),
        ("embedded", [], ["pypandoc", "typst"], "lacks pypandoc, typst; install it with: pip"),
        ("latex", ["a.sty", "b.sty"], [], "engine=latex needs a.sty, b.sty, not installed; use -"),
        ("tex", [], [], "engine='tex' must be auto, latex or embedded"),
    ],
)
def test_an_engine_is_chosen_from_those_that_are_complete(
    engine: str, latex: list[str], embedded: list[str], chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "latex_missing", lambda: latex)
    monkeypatch.setattr(engines, "embedded_missing", lambda: embedded)
    if chosen in ("latex", "embedded"):
        assert choose(engine) == chosen
    else:
        with pytest.raises(ReportError) as caught:
            choose(engine)
        assert chosen in str(caught.value)


def program(folder: Path, name: str, lines: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that stands in for an installed one."""
    target = folder / name
    target.write_text(f"#!{sys.executable}\nimport pathlib, sys\n{lines}\n")
    target.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)


@pytest.mark.parametrize(
    ("engine", "printed", "said"),
    [
        ("latex", "print('pdfTeX 3.14 (TeX Live)\\nkpathsea')", "pdfTeX 3.14 (TeX Live)"),
        ("latex", "", "pdflatex"),
        ("embedded", "", f"Typst {metadata.version('typst')})"),
    ],
)
def test_the_versions_of_the_engine_that_set_the_report_are_told(
    engine: Engine, printed: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, "pdflatex", printed, monkeypatch)
    assert describe(engine).endswith(said)
    assert describe(engine).startswith("embedded engine (pandoc ") is (engine == "embedded")


def test_packages_that_latex_does_not_find_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert latex_missing() == ["pdflatex", "kpsewhich"]
    program(tmp_path, "pdflatex", "", monkeypatch)
    assert latex_missing() == ["kpsewhich"]
    found = "print(*('/tex/' + name for name in sys.argv[1:] if name != 'float.sty'), sep='\\n')"
    program(tmp_path, "kpsewhich", found, monkeypatch)
    assert latex_missing() == ["float.sty"]


LOG = """This is pdfTeX
(./report.tex
! Undefined control sequence.
<recently read> \\wrong
l.7 \\wrong
           {x}
! Emergency stop.
l.9 more
"""


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (LOG, "! Undefined control sequence. <recently read> \\wrong l.7 \\wrong"),
        ("no error of TeX", "z" * 399 + "!"),
    ],
)
def test_the_first_error_of_latex_is_told_or_else_the_end_of_its_output(
    log: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = (
        "folder = next(a.partition('=')[2] for a in sys.argv if a.startswith('-output-dir'))\n"
        f"pathlib.Path(folder, 'report.log').write_text({log!r})\n"
        "print('z' * 500, end='!')\nsys.exit(1)"
    )
    program(tmp_path, "pdflatex", lines, monkeypatch)
    source = tmp_path / "report.tex"
    source.touch()
    with pytest.raises(ReportError) as caught:
        compile_pdf(source, "latex", timestamp=0)
    assert str(caught.value) == f"pdflatex failed on {source}: {said}"


def test_an_error_of_an_engine_is_cut_at_four_hundred_letters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = "sys.stderr.write('a b' * 500 + 'stack traceback: c')\nsys.exit(1)"
    program(tmp_path, "pandoc", lines, monkeypatch)
    monkeypatch.setattr("pypandoc.get_pandoc_path", lambda: str(tmp_path / "pandoc"))
    with pytest.raises(ReportError) as caught:
        typst_source("x")
    begin = "the embedded engine cannot read the LaTeX source: "
    assert str(caught.value) == begin + ("a b" * 500)[:400]
    program(tmp_path, "pandoc", lines.replace("* 500", "* 2"), monkeypatch)
    with pytest.raises(ReportError, match=r"LaTeX source: a ba b$"):  # without the traceback
        typst_source("x")
    with pytest.raises(ReportError) as caught:
        typst_pdf('#panic("' + "x" * 600 + '")', tmp_path, 0)
    begin = "the embedded engine cannot set the report: "
    assert str(caught.value).startswith(begin)
    assert len(str(caught.value)) == len(begin) + 400
    long = "folder = next(a.partition('=')[2] for a in sys.argv if a.startswith('-output-dir'))\n"
    long += "pathlib.Path(folder, 'r.log').write_text('! ' + 'y' * 600 + '\\nl.7 z')\nsys.exit(1)"
    program(tmp_path, "pdflatex", long, monkeypatch)
    (tmp_path / "r.tex").touch()
    with pytest.raises(ReportError) as caught:
        compile_pdf(tmp_path / "r.tex", "latex", timestamp=0)
    assert str(caught.value).endswith(": ! " + "y" * 398)


def test_latex_gets_the_date_of_the_run_and_may_open_no_file_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two passes without pages, which settle the references, then one whose PDF is read."""
    lines = (
        "import os\n"
        "folder = next(a.partition('=')[2] for a in sys.argv if a.startswith('-output-dir'))\n"
        "names = ('SOURCE_DATE_EPOCH', 'FORCE_SOURCE_DATE', 'openin_any', 'openout_any')\n"
        "told = [os.environ[name] for name in names] + ['-no-shell-escape' in sys.argv]\n"
        "draft = '-draftmode' in sys.argv\n"
        f"pathlib.Path({str(tmp_path / 'passes')!r}).open('a').write('d' if draft else 'p')\n"
        "pathlib.Path(folder, 'report.pdf').write_text('' if draft else repr(told))"
    )
    program(tmp_path, "pdflatex", lines, monkeypatch)
    (tmp_path / "report.tex").touch()
    pdf = compile_pdf(tmp_path / "report.tex", "latex", timestamp=86_400)
    assert pdf.decode() == "['86400', '1', 'p', 'p', True]"
    assert (tmp_path / "passes").read_text() == "ddp"


@pytest.mark.skipif(bool(embedded_missing()), reason="the embedded engine is not installed")
@pytest.mark.parametrize("text", ["/ oracle", "- x", "+ x", "= x", "== x", "1. x", "/", "a / b"])
def test_a_cell_that_begins_like_a_list_or_a_heading_stays_text(text: str) -> None:
    """A column named "/ oracle" began a term of Typst, and the report of a benchmark failed."""
    head, body = (rf"{first} & {text} \\" for first in "ab")
    tex = rf"\begin{{tabular}}{{ll}}\toprule {head} \midrule {body} \bottomrule\end{{tabular}}"
    source = typst_source(tex, standalone=False)
    cell = {"1. x": r"1\. x", "a / b": "a / b"}.get(text, rf"\{text}")
    assert source.count(f"[{cell}]") == 2
    assert typst_pdf(source, Path(), 0).startswith(b"%PDF-")
    # A column that wraps begins with a skip of no length.
    spec = r"l>{\raggedright\arraybackslash\hskip0pt}p{0.1\linewidth}"
    wrapped = typst_source(tex.replace("{ll}", f"{{{spec}}}"), standalone=False)
    assert wrapped.count(cell.partition(" ")[0]) >= 2
    assert typst_pdf(wrapped, Path(), 0).startswith(b"%PDF-")


@pytest.mark.skipif(bool(embedded_missing()), reason="the embedded engine is not installed")
@pytest.mark.parametrize("mark", ["/", "-", "+", "="])
def test_a_caption_or_a_bold_text_that_begins_like_a_list_stays_text(mark: str) -> None:
    """A paper called "/ x" had no report, and so had a caption with a lone "/" at a line's end."""
    long = " ".join(["word"] * 12 + [mark, "x"]) + " "
    tables = [
        rf"\begin{{table}}[H]\caption{{{text}}}\label{{tab:{i}}}\begin{{tabular}}{{l}}\toprule a \\"
        r"\midrule b \\ \bottomrule\end{tabular}\end{table}"
        for i, text in enumerate([f"{mark} x", long * 9])
    ]
    tex = "\n\n".join([*tables, rf"\textbf{{{mark} x}} \emph{{{mark} x}}"])
    source = typst_source(tex, standalone=False)
    assert rf"caption: [\{mark} x]" in source
    assert rf"#strong[\{mark} x] #emph[\{mark} x]" in source
    assert " ".join(long.split()) in source  # no line of it begins with the mark
    assert typst_pdf(source, Path(), 0).startswith(b"%PDF-")


@pytest.mark.skipif(bool(embedded_missing()), reason="the embedded engine is not installed")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        # Typst made a prime of the first and turned the second around, behind a formula.
        ('Theorem 1\'s error, "for $R$".', "Theorem 1’s error, “for $R$”."),
        ("$|x|$", '$class("opening", bar.v) x class("closing", bar.v)$'),
        ("$P(A|B)$", r"$P \( A \| B \)$"),
    ],
)
def test_quotes_and_bars_stand_as_they_are_meant(text: str, shown: str) -> None:
    source = typst_source(escape_text(text))
    assert shown in source.splitlines()
    assert typst_pdf(source, Path(), 0).startswith(b"%PDF-")


@pytest.mark.skipif(bool(embedded_missing()), reason="the embedded engine is not installed")
@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="needs pdftotext")
def test_a_command_breaks_at_its_blanks_only(tmp_path: Path) -> None:
    """The names of claims broke at their hyphens, and the copied command tried no such claim."""
    words = ["cfl-verify", "run", "--seed", "7", *(f"p.thm{i}-as-printed" for i in range(30))]
    words += ["'p.eq[x=\"a\\\\b\"]'"]
    assert '#command("run it")' in typst_source(code("run it"), standalone=False)
    pdf = tmp_path / "a.pdf"
    pdf.write_bytes(typst_pdf(typst_source(code(" ".join(words))), tmp_path, 0))
    text = subprocess.run(["pdftotext", str(pdf), "-"], capture_output=True, text=True, check=True)
    assert text.stdout.split()[: len(words)] == words


@pytest.mark.skipif(bool(embedded_missing()), reason="the embedded engine is not installed")
def test_each_character_of_text_can_be_set(tmp_path: Path) -> None:
    """A title with "d²" or "√n" had no report: Typst wants the base of a power."""
    texts = [f"{c}, 5{c} x{c}{c}" for c in MATH_CHARACTERS]
    source = typst_source("\n\n".join(map(escape_text, texts)))
    assert typst_pdf(source, tmp_path, 0).startswith(b"%PDF-")
    shown = typst_source(escape_text("d²/10 ≤ √n A∩B"), standalone=False)
    assert shown == 'd$""^2$/10 $lt.eq$ $upright("√")$n A$sect$B\n'


@pytest.mark.parametrize("still", [1, 2, 3, 4, 5, 6])
def test_latex_runs_until_a_full_pass_leaves_what_the_one_before_left(
    still: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The references of a pass are those of the files before it, so the last pass changes none."""
    lines = (
        f"count = pathlib.Path({str(tmp_path / 'count')!r})\n"
        "n = int(count.read_text()) + 1 if count.exists() else 1\n"
        "count.write_text(str(n))\n"
        "folder = next(a.partition('=')[2] for a in sys.argv if a.startswith('-output-dir'))\n"
        f"pathlib.Path(folder, 'report.aux').write_text(str(min(n, {still})))\n"
        "if '-draftmode' not in sys.argv:\n"
        "    pathlib.Path(folder, 'report.pdf').write_text(str(n))"
    )
    program(tmp_path, "pdflatex", lines, monkeypatch)
    source = tmp_path / "report.tex"
    source.touch()
    if still == 6:
        with pytest.raises(ReportError, match="still change after 6 passes"):
            compile_pdf(source, "latex", timestamp=0)
    else:
        found = int(compile_pdf(source, "latex", timestamp=0))
        assert found == max(still + 1, 3)  # two drafts come first


def test_latex_sees_the_source_and_its_figures_and_nothing_beside_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A class or a package in a stranger's folder would be read before the installed one."""
    lines = (
        "folder = next(a.partition('=')[2] for a in sys.argv if a.startswith('-output-dir'))\n"
        "here = sorted(p.as_posix() for p in pathlib.Path().rglob('*') if p.is_file())\n"
        "pathlib.Path(folder, 'report.pdf').write_text(' '.join(here))"
    )
    program(tmp_path, "pdflatex", lines, monkeypatch)
    folder = tmp_path / "report"
    (folder / "figures").mkdir(parents=True)
    for name in ("report.tex", "article.cls", "amsmath.sty", "figures/a.pdf", "figures/a.sty"):
        (folder / name).touch()
    (folder / "figures" / "b.pdf").symlink_to(tmp_path / "pdflatex")
    pdf = compile_pdf(folder / "report.tex", "latex", timestamp=0)
    assert pdf.decode() == "figures/a.pdf report.tex"

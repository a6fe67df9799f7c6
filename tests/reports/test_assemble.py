"""Whole reports: both engines, equal bytes, the command line and its errors."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import reports.assemble
from reports.__main__ import _say, main
from reports.assemble import build, write_report
from reports.engines import choose, compile_pdf, latex_missing, typst_source
from reports.errors import ReportError
from reports.tables import PrintedTable
from tests.reports.fakes import FakeRun, run
from trials.run.directory import STORE_NAME
from trials.run.store import RunStore

missing = latex_missing()
needs_latex = pytest.mark.skipif(bool(missing), reason=f"LaTeX is incomplete here: {missing}")


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report built by the embedded engine."""
    folder = tmp_path_factory.mktemp("report")
    write_report(run(), folder, engine="embedded", catalogue=True)
    return folder


def test_everything_that_the_source_includes_is_there(embedded: Path) -> None:
    tex = (embedded / "report.tex").read_text(encoding="utf-8")
    included = re.findall(r"\\includegraphics\[[^]]*\]\{([^}]*)\}", tex)
    assert included
    assert all((embedded / name).is_file() for name in included)
    assert (embedded / "catalogue.pdf").read_bytes().startswith(b"%PDF-")
    assert "embedded engine (pandoc" in tex
    assert not list(embedded.rglob("*.part"))


def test_the_embedded_pdf_tells_its_title_and_author(embedded: Path) -> None:
    about = (embedded / "catalogue.pdf").read_bytes()
    title = re.search(rb"<dc:title>.*?<rdf:li[^>]*>(.*?)</rdf:li>", about, re.DOTALL)
    assert title
    assert title[1] == b"A run &amp; its report: all claims"
    assert b"<rdf:li>cfl-verify</rdf:li>" in about


def test_every_reference_has_one_label(embedded: Path) -> None:
    tex = (embedded / "catalogue.tex").read_text(encoding="utf-8")
    labels = re.findall(r"\\label\{([^}]*)\}", tex)
    references = re.findall(r"\\(?:page)?ref\{([^}]*)\}|\\hyperref\[([^]]*)\]", tex)
    assert len(labels) == len(set(labels))
    assert {a or b for a, b in references} <= set(labels)


def test_an_entry_of_the_catalogue_has_verdict_and_statement_and_nothing_that_the_csv_holds(
    embedded: Path,
) -> None:
    tex = (embedded / "catalogue.tex").read_text(encoding="utf-8")
    page = tex.partition(r"\label{sec:p.thm1}")[2].partition(r"\subsection")[0]
    parts = [
        r"\begin{stripsupported}", "All cells below their bound.", r"\end{stripsupported}",
        r"\begin{statement}", r"\textbf{Assumptions.}", r"\end{statement}",
        r"\textbf{Sharpness.}",
    ]  # fmt: skip
    places = [page.index(part) for part in parts]
    assert places == sorted(places)
    assert r"\begin{striprefuted}" in tex
    for left_out in (r"\label{tab:p.thm1-cells}", r"\textbf{Procedure.}", r"\textbf{Cells.}"):
        assert left_out not in tex
    assert r"\begin{stripnotrun}" in tex


def test_no_number_has_seventeen_digits(embedded: Path) -> None:
    tex = (embedded / "catalogue.tex").read_text(encoding="utf-8")
    assert not re.search(r"\d\.\d{9,}", tex)


def test_two_embedded_builds_are_byte_identical(embedded: Path, tmp_path: Path) -> None:
    again = write_report(run(), tmp_path, engine="embedded", catalogue=True)
    for path in again.paths:
        assert digest(path) == digest(embedded / path.relative_to(tmp_path)), path.name


@needs_latex
def test_latex_sets_the_same_source_twice_alike(tmp_path: Path) -> None:
    first, second = (
        write_report(run(), tmp_path / name, engine="latex").paths[-1] for name in ("a", "b")
    )
    assert first.name == "report.pdf"
    assert digest(first) == digest(second)


_A_QUICK_LATEX = """#!{python}
import pathlib, sys
folder = next(a.partition("=")[2] for a in sys.argv if a.startswith("-output-directory="))
aux, pdf = pathlib.Path(folder, "report.aux"), pathlib.Path(folder, "report.pdf")
known = int(aux.read_text()) if aux.exists() else 0
pdf.write_text(f"page {{known}}")
aux.write_text(str(min(known + 1, {settled})))
"""


def quick_latex(folder: Path, monkeypatch: pytest.MonkeyPatch, *, settled: int) -> None:
    """A pdfLaTeX whose passes take a moment and leave files of equal size and date."""
    (folder / "report.tex").touch()
    program = folder / "pdflatex"
    program.write_text(_A_QUICK_LATEX.format(python=sys.executable, settled=settled))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)


def test_latex_runs_until_its_references_settle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick_latex(tmp_path, monkeypatch, settled=3)
    assert compile_pdf(tmp_path / "report.tex", "latex", timestamp=0) == b"page 3"


def test_references_that_never_settle_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick_latex(tmp_path, monkeypatch, settled=99)
    with pytest.raises(ReportError, match="still change after"):
        compile_pdf(tmp_path / "report.tex", "latex", timestamp=0)


def test_an_empty_run_gives_a_report(tmp_path: Path) -> None:
    result = write_report(FakeRun({}), tmp_path, engine="embedded")
    assert result.paths[-1] == tmp_path / "report.pdf"


def test_source_only_needs_no_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports.assemble, "compile_pdf", None)
    result = write_report(run(), tmp_path, formats=("tex",))
    assert result.engine is None
    assert result.paths[-1] == tmp_path / "report.tex"
    assert not (tmp_path / "report.pdf").exists()


def test_a_failed_build_leaves_no_old_pdf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object, **_options: object) -> bytes:
        raise ReportError("the engine stopped")

    (tmp_path / "report.pdf").write_bytes(b"old")
    monkeypatch.setattr(reports.assemble, "compile_pdf", fail)
    with pytest.raises(ReportError, match="the engine stopped"):
        write_report(run(), tmp_path, engine="embedded")
    assert not (tmp_path / "report.pdf").exists()
    assert (tmp_path / "report.tex").exists()


def test_a_formula_with_an_unknown_command_names_the_claim_and_the_command(tmp_path: Path) -> None:
    broken = run()
    documents: Any = broken.documents("claim")
    documents["p.thm1"]["bound_latex"] = r"\nosuchcommand{x}"
    with pytest.raises(ReportError, match=r"claim 'p\.thm1': .*it uses \\nosuchcommand"):
        write_report(broken, tmp_path, engine="embedded", catalogue=True)


def test_raw_tex_without_a_translation_is_an_error() -> None:
    with pytest.raises(ReportError, match="vspace"):
        typst_source(r"\begin{document}a \vspace{3cm} b\end{document}", standalone=False)


def test_embedded_tables_keep_rows_that_hold_formulas_only() -> None:
    rows = [["$0$", "$1$", f"${i}$"] for i in range(30)]
    printed = PrintedTable(
        head=["$a$", "$b$", "$c$"], rows=rows, align="rrr", caption="c", label="t"
    )
    typst = typst_source(rf"\begin{{document}}{printed.latex()}\end{{document}}", standalone=False)
    assert all(f"[${i}$]" in typst for i in range(30))
    assert typst.count("$a$") == 1  # the head that LaTeX repeats is not a row


def test_embedded_tables_keep_a_first_cell_of_digits() -> None:
    rows = [["10 of 10", "$1$", "$2$"]] * 12
    printed = PrintedTable(head=["a", "b", "c"], rows=rows, align="lrr", caption="", label="t")
    typst = typst_source(rf"\begin{{document}}{printed.latex()}\end{{document}}", standalone=False)
    assert typst.count("10 of 10") == 12


@pytest.mark.parametrize(
    ("source", "typst"),
    [
        ("T", "$T$"),  # letters are never taken for the signs of a number
        ("P(S)", "$P \\( S \\)$"),
        (r"12\,000", "$12 thin 000$"),
        (r"(1.2 \pm 0.3) \times 10^{-5}", "$(1.2 plus.minus 0.3) times 10^(-5)$"),
        (r"\pm", "$plus.minus$"),  # with blanks at its ends Typst would display it
        (r"[0,\ 0.5]", "$[0, 0.5]$"),
        ("-0.5", "$-0.5$"),
    ],
)
def test_numbers_and_letters_in_the_embedded_engine(source: str, typst: str) -> None:
    written = typst_source(rf"\begin{{document}}${source}$\end{{document}}", standalone=False)
    assert written.strip() == typst


def test_an_unknown_engine_or_format_is_named(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="engine='word'"):
        choose("word")
    with pytest.raises(ReportError, match="docx"):
        write_report(run(), tmp_path, formats=("docx",))


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A run directory with a real store."""
    folder = tmp_path / "runs" / "r1"
    with RunStore.create(folder / STORE_NAME, root_seed=7, config={}) as store:
        fake = run()
        for kind in ("claim", "run", "finding", "symbol", "paper"):
            for key, document in fake.documents(kind).items():
                store.put_document(kind, key, json.loads(json.dumps(document)))
    return folder


def invoke(run: str, **options: Any) -> int:
    """The exit status of the program, whose argument is JSON."""
    return main(json.dumps({"run": run, "out_dir": None, "debug": False, **options}))


def test_the_command_builds_the_latest_run(
    stored: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(stored.parent.parent)
    assert invoke("latest", engine="embedded") == 0
    pdf = Path("runs/r1/report/report.pdf")
    assert capsys.readouterr().out.splitlines()[-1] == str(pdf)
    assert pdf.read_bytes().startswith(b"%PDF-")


def test_a_stored_run_is_not_changed_by_its_report(stored: Path) -> None:
    store = stored / STORE_NAME
    before = digest(store)
    build(stored, formats=("tex",), out_dir=stored.parent / "elsewhere")
    assert digest(store) == before
    assert (stored.parent / "elsewhere" / "report.tex").is_file()
    assert not (stored / "report").exists()


@pytest.mark.parametrize(
    ("run", "options", "message"),
    [
        ("nowhere", {}, "'nowhere': no run here"),
        ("latest", {}, "there is no run under runs/"),
        (".", {}, "no run here"),
        ("a\0b", {}, "no run here"),
        ("r", {"formats": ["docx"]}, "format docx must be among pdf, tex, html"),
    ],
)
def test_errors_are_one_line_and_status_three(
    run: str,
    options: dict[str, Any],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    RunStore.create(tmp_path / "r" / STORE_NAME, root_seed=7, config={}).close()
    assert invoke(run, **options) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("debug", [False, True])
def test_a_fault_of_the_program_has_a_code_of_its_own_and_its_place_on_demand(
    stored: Path, debug: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_given: Any, **_options: Any) -> None:
        raise ZeroDivisionError("on\npurpose")

    monkeypatch.setattr("reports.assemble.build", fail)
    assert invoke(str(stored), debug=debug) == 70
    *before, line = capsys.readouterr().err.splitlines()
    assert "internal: ZeroDivisionError: on" in line
    assert any("Traceback" in each for each in before) == debug


def test_a_folder_that_cannot_be_written_is_named(
    stored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (stored / "file").touch()
    assert invoke(str(stored), formats=["tex"], out_dir=str(stored / "file" / "x")) == 3
    assert "cannot write the report" in capsys.readouterr().err.splitlines()[-1]


def test_a_path_is_printed_on_a_terminal_without_its_letters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The report was made, and its path ended the program as a fault of cfl-verify."""
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    _say("run-é/\x1b/report.tex")
    stream.flush()
    assert written.getvalue() == b"run-?/\\x1b/report.tex\n"


@pytest.mark.parametrize(
    ("finished", "started", "seconds"),
    [
        ("1970-01-02T00:00:00+00:00", "1970-01-01T00:00:00+00:00", 86_400),
        ("", "1970-01-01T01:00:00+01:00", 0),
        ("no date", "1970-01-01T00:01:00+00:00", 60),
        ("", "", 0),
    ],
)
def test_the_date_of_a_pdf_is_the_end_of_its_run(
    finished: str, started: str, seconds: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dates: list[int] = []

    def compiled(*_: Any, timestamp: int) -> bytes:
        dates.append(timestamp)
        return b""

    monkeypatch.setattr(reports.assemble, "compile_pdf", compiled)
    told = {"summary": {"finished": finished, "started": started}}
    write_report(FakeRun({"run": told}), tmp_path, formats=("pdf",), engine="embedded")
    assert dates == [seconds]

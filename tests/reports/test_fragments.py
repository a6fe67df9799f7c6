"""Fragments of a report stand in an article of one column and of two."""

import shutil
import subprocess
from pathlib import Path

import pytest

from reports.assemble import write_fragments
from reports.engines import latex_missing
from reports.errors import ReportError
from reports.fragments import COLUMN_WIDTH_INCHES
from tests.reports.fakes import FakeRun, claim, refuted, run

PAPER = r"""\documentclass[%s]{%s}
\usepackage{amsmath,amssymb,array,booktabs,graphicx,xcolor,textcomp}
\newcommand{\norm}[1]{\|#1\|}  %% the paper's own macro stays
\input{fragments/cfl-verify}
\begin{document}
Before. \input{fragments/p.thm1} \input{fragments/p.lemma1} After.
\end{document}
"""
CLASSES = [("", "article"), ("twocolumn", "article"), ("conference", "IEEEtran")]


def fake() -> FakeRun:
    return FakeRun({"claim": {"p.thm1": claim("p.thm1"), "p.lemma1": refuted("p.lemma1")}})


@pytest.mark.skipif(bool(latex_missing()), reason="needs LaTeX")
@pytest.mark.parametrize(("options", "name"), CLASSES, ids=["one column", "two columns", "IEEE"])
def test_a_paper_takes_the_fragments(options: str, name: str, tmp_path: Path) -> None:
    if not subprocess.run(["kpsewhich", f"{name}.cls"], capture_output=True, check=False).stdout:
        pytest.skip(f"{name}.cls is not installed")
    write_fragments(fake(), tmp_path, ["p.*"])
    (tmp_path / "paper.tex").write_text(PAPER % (options, name), "utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    wanted = "column" if "two" in options or name == "IEEEtran" else "text"
    other = {"column": "text", "text": "column"}[wanted]
    assert f"-{wanted}.pdf" in done.stdout
    assert f"-{other}.pdf" not in done.stdout
    assert "Overfull \\hbox (1" not in done.stdout or name == "IEEEtran"


def test_only_the_claims_that_match_are_written(tmp_path: Path) -> None:
    paths = write_fragments(fake(), tmp_path, ["p.l*"])
    names = {path.relative_to(tmp_path).as_posix() for path in paths}
    assert {"fragments/cfl-verify.tex", "fragments/p.lemma1.tex"} <= names
    assert not any("thm1" in name for name in names)


def test_a_pattern_without_a_claim_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match=r"--fragments 'q\.\*' matches no claim of this run"):
        write_fragments(run(), tmp_path, ["p.*", "q.*"])
    assert not list(tmp_path.iterdir())


def test_a_figure_is_as_wide_as_asked(tmp_path: Path) -> None:
    if shutil.which("pdfinfo") is None:
        pytest.skip("needs pdfinfo")
    write_fragments(fake(), tmp_path, ["p.thm1"])
    (narrow,) = (tmp_path / "fragments" / "figures").glob("p.thm1-*-column.pdf")
    told = subprocess.run(["pdfinfo", narrow], capture_output=True, text=True, check=True).stdout
    width = float(told.partition("Page size:")[2].split()[0])
    assert width == pytest.approx(72 * COLUMN_WIDTH_INCHES, abs=0.5)


def test_a_place_that_cannot_be_written_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ReportError, match=r"file: cannot write the fragments: "):
        write_fragments(fake(), tmp_path / "file", ["p.*"])


def test_a_claim_at_values_of_ones_own_is_named_by_its_key(tmp_path: Path) -> None:
    """Its square brackets were taken for a set of letters, so that no name met it."""
    key = "p.thm1[m=400]"
    both = FakeRun({"claim": {key: claim("p.thm1"), "p.thm1m": claim("p.thm1m")}})
    for pattern in (key, "p.thm1[*"):
        written = {path.name for path in write_fragments(both, tmp_path, [pattern])}
        assert {"p.thm1-m-400.tex"} <= written
        assert "p.thm1m.tex" not in written


def test_two_figures_of_one_name_are_two_files(tmp_path: Path) -> None:
    """The second one replaced the first."""
    document = claim("p.thm1")
    (first, *_) = document["evidence"]["figures"]
    document["evidence"]["figures"] = [first, {**first, "title": "Another"}]
    made = FakeRun({"claim": {"p.thm1": document}})
    written = [path.name for path in write_fragments(made, tmp_path, ["*"])]
    assert len([name for name in written if name.endswith("-column.pdf")]) == 2
    assert len(set(written)) == len(written)

"""A run directory may come from a stranger: its text is printed and never executed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reports.assemble import write_report
from reports.engines import compile_pdf, latex_missing, typst_pdf, typst_source
from reports.errors import ReportError
from reports.mathematics import COMMANDS, display_source, why_refused
from reports.schema import Claim, Evidence, decode
from reports.text import escape_text, latex_field
from tests.reports.fakes import FakeRun, claim, run, undrawn

ATTACKS = (
    r"\label{a> #[#read(\"report.tex\").len()] <b}",
    r'#import "@preview/cetz:0.3.1"',
    r"\input{/etc/passwd}",
    r"\include{secret}",
    r"\write18{touch owned}",
    r"\immediate\write18{id}",
    r"\openin1=/etc/passwd \read1 to \x",
    r"\def\x{y}",
    r"\catcode`\%=12",
    r"\href{javascript:alert(1)}{x}",
    r"\includegraphics{/etc/hostname}",
    r"^^5cinput{/etc/passwd}",
    r"\csname input\endcsname{/etc/passwd}",
    r"\end{document}",
    r"\begin{filecontents}{x}\end{filecontents}",
    r"\text{a $\input{x}$ b}",
    r"x % comment",
    r"\lua{os.exit()}",
)


@pytest.mark.parametrize("attack", ATTACKS)
def test_formulas_refuse_what_could_read_write_or_leave_math(attack: str) -> None:
    assert why_refused(attack)
    with pytest.raises(ReportError, match="cannot be typeset because"):
        display_source(attack)


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("wrap", ["{}", "${}$", "see ${}$ here", "$x$ {} $y$"])
def test_text_prints_an_attack_as_text(attack: str, wrap: str) -> None:
    """No command of the attack survives as a command: every backslash of it is spelled out."""
    for field in (escape_text, latex_field):
        text = wrap.format(attack)
        try:
            shown = str(field(text))
        except ReportError:
            continue  # a bare formula is refused by name
        for name in ("input", "include", "write", "def", "label", "read", "catcode", "csname"):
            assert f"\\{name}" not in shown
        assert "^^" not in shown


@settings(deadline=None, max_examples=300)
@given(st.text(st.sampled_from("\\{}$%#^_ab1 inputlabel\n\r\0"), max_size=40))
def test_no_command_outside_the_list_ever_passes(text: str) -> None:
    ours = {"textbackslash", "textasciicircum", "textasciitilde", "textquotesingle", "ldots"}
    shown = str(escape_text(text))
    assert set(re.findall(r"\\([A-Za-z]+)", shown)) <= COMMANDS | ours
    assert "^^" not in shown.replace(r"\textasciicircum{}", "")


def hostile_run() -> FakeRun:
    """A run whose every text field holds every attack, some of them as inline math."""
    text = " ".join(f"{attack} ${attack}$" for attack in ATTACKS)
    document: dict[str, Any] = undrawn(claim("p.thm1", title=text, reading=text, source=text))
    document["evidence"] |= {"summary": text, "notes": [text], "sharpness": [text]}
    document["evidence"]["tables"][0] |= {"title": text, "rows": [[text, 1]], "note": text}
    attacked = run(p_thm1=document)
    findings: Any = attacked.documents("finding")
    findings["d1"] |= {"where": text, "found": text}
    return attacked


def test_a_hostile_run_is_typeset_as_text(tmp_path: Path) -> None:
    result = write_report(hostile_run(), tmp_path, engine="embedded", catalogue=True)
    assert result.paths[-1].read_bytes().startswith(b"%PDF-")
    tex = (tmp_path / "catalogue.tex").read_text()
    body = tex.partition(r"\begin{document}")[2]
    assert r"\input" not in body
    assert r"\write" not in body
    assert not (tmp_path / "owned").exists()


@pytest.mark.skipif(bool(latex_missing()), reason="LaTeX is incomplete here")
def test_a_hostile_run_is_typeset_as_text_by_latex(tmp_path: Path) -> None:
    result = write_report(hostile_run(), tmp_path, engine="latex", catalogue=True)
    assert result.paths[-1].read_bytes().startswith(b"%PDF-")


@pytest.mark.skipif(bool(latex_missing()), reason="LaTeX is incomplete here")
def test_latex_reads_no_file_outside_the_report(tmp_path: Path) -> None:
    outside = tmp_path / "secret.tex"
    outside.write_text("secret")
    folder = tmp_path / "report"
    folder.mkdir()
    source = folder / "report.tex"
    source.write_text(
        rf"\documentclass{{article}}\begin{{document}}\input{{{outside}}}\end{{document}}"
    )
    with pytest.raises(ReportError):
        compile_pdf(source, "latex", timestamp=0)


def test_typst_reads_no_file_outside_the_report_and_no_package(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    folder = tmp_path / "report"
    folder.mkdir()
    with pytest.raises(ReportError):
        typst_pdf('#read("../secret")', folder, 0)
    with pytest.raises(ReportError):
        typst_pdf('#import "@preview/cetz:0.3.1": canvas', folder, 0)


def test_a_label_cannot_carry_typst() -> None:
    source = (
        r"\begin{document}\newtheorem{statement}{Statement}"
        r"\begin{statement}\label{a> #[#read(1)] <b} x\end{statement}\end{document}"
    )
    with pytest.raises(ReportError, match="label"):
        typst_source(source, standalone=False)


@pytest.mark.parametrize(
    ("document", "place"),
    [
        ({"title": 3}, r"\$\.title"),
        ({"title": "x" * 30_000}, r"\$\.title"),
        ({"evidence": {"cells": {}}}, r"\$\.evidence\.cells"),
        ({"evidence": {"cells": [{"n_trials": "many"}]}}, r"cells\[0\]\.n_trials"),
        ({"evidence": {"figures": [{"xscale": "\\input"}]}}, "xscale"),
        ({"assumptions": [None]}, r"assumptions"),
    ],
)
def test_wrong_types_are_refused_with_their_place(document: dict[str, Any], place: str) -> None:
    with pytest.raises(ReportError, match=place):
        decode(document, Claim, "claim 'p'")


def test_fields_of_a_later_version_are_ignored() -> None:
    assert decode({"verdict": "SUPPORTED", "colour": 1}, Evidence, "e").verdict == "SUPPORTED"

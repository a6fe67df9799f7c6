"""A run directory may come from a stranger: its text is printed and never executed."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reports.assemble import build, write_report
from reports.claim_page import claim_page
from reports.claim_tables import cell_table
from reports.engines import compile_pdf, latex_missing, typst_pdf, typst_source
from reports.errors import ReportError
from reports.figures import _draw_panels, render
from reports.lettering import label
from reports.mathematics import COMMANDS, display_source, why_refused
from reports.reading import Tried
from reports.schema import Cell, Claim, Evidence, Figure, Summary, decode
from reports.text import escape_text, latex_field
from tests.reports.fakes import FakeRun, cell, claim, run, undrawn
from verify.session import RunConfig, create

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


def with_formula(place: str, source: str) -> dict[str, Any]:
    """A claim with this formula at one place of its page."""
    document: dict[str, Any] = undrawn(claim("p.thm1"))
    document["evidence"] |= {"cells": [], "tables": []}
    if place == "constant":
        document["constants"][0] |= {"latex": source}
    elif place == "condition":
        document["assumptions"][0] |= {"latex": source}
    elif place == "required":
        document["evidence"] |= {"required": {source: 1.0}}
    else:
        document[place] = source
    return document


PLACES = (
    "constant", "condition", "required",
    "bound_latex", "failure_latex", "quantifiers", "statement",
)  # fmt: skip
_NAMES = "input|include|write|def|label|read|catcode|csname|openin|immediate|href|lua|filecontents"


@pytest.mark.parametrize("place", PLACES)
def test_a_page_prints_an_attack_in_place_of_a_formula_as_text(place: str) -> None:
    """No command of it survives in any part of the page, or the page names the claim."""
    refused = []
    for attack in ATTACKS:
        for wrap in ("{}", "${}$", "see ${}$ here"):
            item = decode(with_formula(place, wrap.format(attack)), Claim, "claim")
            try:
                page = claim_page(Tried(key="p.thm1", name="p.thm1", claim=item), {})
            except ReportError as error:
                refused.append(str(error))
                continue
            parts = [page[name] for name in ("bound", "failure", "quantifiers", "statement")]
            parts += [text for name in ("conditions", "after") for _, text in page[name]]
            shown = " ".join(map(str, parts))
            assert not re.search(rf"\\({_NAMES})(?![a-z])|\\end\{{document|\^\^", shown)
            assert not re.search(r"(?<!\\)%", shown)
    assert refused
    assert all(text.startswith("claim 'p.thm1'") for text in refused)


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


# -- numbers that no float holds, and columns that do not fit --------------------------------------

HUGE = 10**400 + 1


def of_evidence(**parts: Any) -> dict[str, Any]:
    """A claim that is told without figures, with other parts of its evidence."""
    document = undrawn(claim("p.thm1"))
    document["evidence"] |= parts
    return document


@pytest.mark.parametrize(
    ("summary", "shown"),
    [
        ("it has " + "7" * 400 + " rows", r"7.78 \times 10^{399}"),
        ("it has " + "7" * 5000 + " rows", r"7.78 \times 10^{4999}"),
        ("n=1" + "0" * 400, "$n=10^{400}$"),
        ("it has 1e" + "7" * 5000 + " rows", "7" * 5000),
    ],
    ids=["400 digits", "5000 digits", "a power of ten", "a long exponent"],
)
def test_a_number_of_any_length_is_printed(summary: str, shown: str, tmp_path: Path) -> None:
    """Each of them ended the report as a fault of cfl-verify."""
    write_report(
        run(p_thm1=of_evidence(summary=summary)), tmp_path, formats=("tex",), catalogue=True
    )
    assert shown in (tmp_path / "catalogue.tex").read_text()


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({"params": {"q": HUGE}}, "all cells have $q=10^{400}$"),
        ({"params": {"q": HUGE - 1}}, "all cells have $q=10^{400}$"),
        ({"params": {"q": ""}}, "all cells have $q$ ,"),
        ({"note": "of y: at most 1.2.3", "lower": 0.0, "upper": 0.0}, "Of y: at most 1.2.3"),
    ],
    ids=["integer", "power", "empty", "limit"],
)
def test_an_odd_cell_is_printed(changes: dict[str, Any], shown: str) -> None:
    """Each of them ended the report as a fault of cfl-verify."""
    cells = [decode(cell(0, **changes), Cell, "c")] * 2
    assert shown in cell_table(cells, "p").caption


@pytest.mark.parametrize(
    ("parts", "place"),
    [
        ({"n_trials": HUGE}, r"\$\.evidence\.n_trials"),
        ({"cells": [{"bound": HUGE}]}, r"cells\[0\]\.bound"),
        ({"figures": [{"series": [{"x": [HUGE], "y": [1]}]}]}, r"series\[0\]\.x"),
        ({"figures": [{"series": [{"x": [1, 2], "y": [1]}]}]}, "2 values of x and 1 of y"),
        (
            {"figures": [{"series": [{"x": [1, 2], "y": [1, 2], "lower": [1]}]}]},
            "2 values of x and 1 of lower",
        ),
    ],
)
def test_numbers_outside_a_table_of_floats_and_ragged_columns_are_refused(
    parts: dict[str, Any], place: str
) -> None:
    with pytest.raises(ReportError, match=place):
        decode({"evidence": parts}, Claim, "claim 'p'")


def test_a_run_whose_seconds_no_float_holds_is_refused() -> None:
    with pytest.raises(ReportError, match=r"wall_seconds"):
        decode({"wall_seconds": HUGE}, Summary, "run")


@pytest.mark.filterwarnings("ignore")  # matplotlib tells of each number that overflows
def test_a_figure_that_cannot_be_drawn_is_named() -> None:
    """Limits of an axis above the largest float."""
    data = {"name": "far", "hlines": [[1.7e308, ""]], "ylabel": "y", "yscale": "log"}
    drawn = decode({**data, "series": [{"x": [1.7e308], "y": [1.7e308]}]}, Figure, "f")
    with pytest.raises(ReportError, match="the figure 'far' cannot be drawn: "):
        render(drawn)


def test_a_label_that_is_nested_without_end_is_drawn_as_its_characters() -> None:
    assert label("$" + "{" * 900 + "x" + "}" * 900 + "$") == "x"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("$$", r"\$\$"),
        ("$5 or 6$ $", r"$5 or 6$ \$"),
        ("a\\b", r"a$\backslash$b"),
        ("漢字", "[U+6F22][U+5B57]"),
        ("\u202ea\x07", " a "),
    ],
)
def test_a_label_of_any_characters_is_drawn(text: str, shown: str) -> None:
    """Two dollars had no figure and so no report.  A glyph that no font has was an empty box."""
    assert label(text) == shown
    series = [{"label": text, "x": [1.0, 2.0], "y": [1.0, 2.0]}]
    drawn = decode({"title": text, "xlabel": text, "series": series}, Figure, "figure")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert _draw_panels(drawn, 6.0, "pdf").startswith(b"%PDF-")


# -- links in a run's folder -----------------------------------------------------------------------


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A run directory without claims."""
    create(tmp_path / "run", RunConfig()).close()
    return tmp_path / "run"


def test_a_report_follows_no_link_to_a_file(directory: Path, tmp_path: Path) -> None:
    """The text of the report replaced the file that the link names."""
    precious = tmp_path / "precious"
    precious.write_text("precious")
    (directory / "report").mkdir()
    (directory / "report" / "report.tex.part").symlink_to(precious)
    (directory / "report" / "report.tex").symlink_to(precious)
    build(directory, formats=("tex",))
    assert precious.read_text() == "precious"
    assert not (directory / "report" / "report.tex").is_symlink()


@pytest.mark.parametrize("name", ["report", "report/site", "report/site/claims"])
def test_a_report_follows_no_link_to_a_folder(name: str, directory: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (directory / name).parent.mkdir(parents=True, exist_ok=True)
    (directory / name).symlink_to(elsewhere)
    with pytest.raises(ReportError, match="is a link to another folder; name the folder"):
        build(directory, formats=("html",))
    assert list(elsewhere.iterdir()) == []
    build(directory, formats=("html",), out_dir=tmp_path / "named")
    assert (tmp_path / "named" / "site" / "index.html").exists()

"""What is wider than a line: formulas break or shrink, and a browser scrolls tables."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from reports.assemble import write_report
from reports.claim_page import claim_page
from reports.claim_tables import cell_table
from reports.engines import latex_missing
from reports.mathematics import LINE, broken, width
from reports.reading import sort_claims
from reports.schema import Cell, Claim, Summary, decode
from reports.tables import natural
from tests.reports.fakes import FakeRun, cell, claim, run

needs_latex = pytest.mark.skipif(bool(latex_missing()), reason="LaTeX is incomplete here")
#: A bound whose terms do not fit on a line, and one of whose terms is wider than a line.
LONG = " + ".join(
    [r"\frac{C_{1} \sigma \sqrt{\log{\left(n \right)}}}{p_{\min}}"] * 9
    + [r"\left(" + r" + ".join([r"R^{2} \left(d + 3\right)"] * 9) + r"\right)"]
)


def parameters(i: int, n: int = 9) -> dict[str, float]:
    return {f"c_{j}": (i + 1.5) * 10.0**j for j in range(n)}


def wide(n_cells: int, **evidence: Any) -> dict[str, Any]:
    document = claim("p.wide", n_cells)
    document["evidence"]["cells"] = [cell(i, params=parameters(i)) for i in range(n_cells)]
    document["evidence"] |= {"tables": [], **evidence}
    document["bound_latex"] = r"\norm{\theta_j} \le " + LONG
    document["assumptions"] = [{"name": "few", "latex": rf"p \ge {LONG}"}]
    return document


def page(document: dict[str, Any], form: Any = "pdf") -> tuple[dict[str, Any], dict[str, Any]]:
    (tried,) = sort_claims({"p.wide": decode(document, Claim, "c")}, Summary())
    files: dict[str, Any] = {}
    return claim_page(tried, files, form=form), files


# -- tables --------------------------------------------------------------------------------------


def test_a_browser_gets_a_column_for_each_parameter_and_no_page_number() -> None:
    made, _ = page(wide(12), "svg")
    (table,) = made["tables"]
    assert table.head[0] == "$c_{0}$"
    assert r"\pageref" not in table.caption
    assert made["bound"] == rf"\norm{{\theta_j}} \le {LONG}"
    assert r"\cflformula" not in str(made["conditions"])


def cells(*notes: str, **changes: Any) -> list[Cell]:
    return [
        decode(cell(i, params={"m": i}, note=note, **changes), Cell, "cell")
        for i, note in enumerate(notes)
    ]


def test_a_limit_that_no_float_holds_stands_in_its_interval() -> None:
    law = "computed from the exact law: at most "
    both = cells(law + "1e-9627", law + "2.5e-434294481", lower=0.0, upper=0.0)
    table = cell_table(both, "p.a")
    column = list(table.head).index("interval")
    assert {row[column] for row in table.rows} == {
        r"$[0,\ 10^{-9627}]$", r"$[0,\ 2.5 \times 10^{-434294481}]$",
    }  # fmt: skip
    assert table.caption.endswith("Computed from the exact law.")


def test_a_note_keeps_its_limit_where_no_interval_is_known() -> None:
    table = cell_table(cells(*["exact: at most 1e-9"] * 2, lower=None, upper=None), "p.a")
    assert table.caption.endswith("Exact: at most $10^{-9}$.")


def test_gaps_are_smaller_before_type_is() -> None:
    rows = [["x" * 10] * 9]  # 90 characters, 8 gaps of 2.8 or of 1.6, 104 on a line
    assert natural([""] * 9, rows)
    assert not natural([""] * 9, [["x" * 11] * 9])
    assert natural([""] * 9, [["x" * 11] * 9], 160.0)


# -- formulas ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "line", "lines"),
    [
        ("a = b", 80, ["a = b"]),
        ("a = b + c", 8, ["a = b ", "+ c"]),
        ("a = b - c", 8, ["a = b ", "- c"]),
        (r"a \le -b + c", 8, [r"a \le -b ", "+ c"]),  # not between a relation and its sign
        ("f(a + b) = c", 5, ["f(a + b) ", "= c"]),  # not inside brackets
        (r"\left(a + b\right) + \frac{c + d}{e + f}", 6, None),
        (r"a^{b + c} \ge \left[x + y\right.", 6, [r"a^{b + c} ", r"\ge \left[x + y\right."]),
        ("abcdefghij", 3, ["abcdefghij"]),
    ],
)
def test_a_formula_breaks_outside_brackets(
    source: str, line: float, lines: list[str] | None
) -> None:
    lines = lines or [r"\left(a + b\right) ", r"+ \frac{c + d}{e + f}"]
    text = broken(source, line)
    if len(lines) == 1:
        assert text == source
    else:
        inner = text.removeprefix(r"\begin{aligned}&").removesuffix(r"\end{aligned}")
        assert inner.split(r"\\&\qquad{}") == lines


@pytest.mark.parametrize("source", [r"\begin{cases}a + b\end{cases} + cccc", r"aaaa + b \\ c"])
def test_a_formula_that_is_laid_out_by_hand_is_left_as_it_is(source: str) -> None:
    assert broken(source, 3) == source


def test_breaking_changes_no_token_and_keeps_to_the_line() -> None:
    text = broken(r"y \le " + LONG)
    lines = re.split(r"\\\\&\\qquad\{\}", text)
    assert len(lines) > 2
    joined = text.replace(r"\\&\qquad{}", "")
    assert joined == rf"\begin{{aligned}}&y \le {LONG}\end{{aligned}}"
    assert all(width(line) <= LINE for line in lines[:-1])


@pytest.mark.parametrize(
    ("wider", "narrower"),
    [
        ("xyz", "xy"),
        ("x + y", "xy"),
        ("xy", "x_y"),
        ("x_ab", "x_a^b"),
        (r"\frac{xyz}{2}", r"\frac{2}{x}"),
        (r"\sqrt{x}", "x"),
        (r"\text{word}", "wo"),
        (r"\log x", "xx"),
        (r"a\quad b", "ab"),
    ],
)
def test_widths_are_ordered_as_they_print(wider: str, narrower: str) -> None:
    assert width(wider) > width(narrower)


def test_the_width_of_a_fraction_is_that_of_its_wider_part() -> None:
    assert width(r"\frac{12345}{1}") == width(r"\frac{1}{12345}") == width("12345") + 0.5


# -- pages ---------------------------------------------------------------------------------------


def wide_run() -> FakeRun:
    return run(**{"p.wide": wide(12), "p.short": wide(4)})


@needs_latex
def test_no_line_of_a_latex_page_is_wider_than_the_page(tmp_path: Path) -> None:
    write_report(wide_run(), tmp_path, formats=("tex",), catalogue=True)
    done = subprocess.run(
        ["pdflatex", "-draftmode", "-interaction=nonstopmode", "catalogue.tex"],
        cwd=tmp_path, capture_output=True, check=False,
    )  # fmt: skip
    log = done.stdout.decode(errors="replace")
    assert done.returncode == 0, log[-800:]
    assert "Overfull" not in log, re.findall(r"Overfull.*", log)

"""The report's LaTeX as HTML: the same words, and nothing that a browser could run."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.errors import ReportError
from reports.site.markup import blocks, inline
from reports.text import code, escape_text
from tests.reports.test_hostile import ATTACKS


def words(text: str) -> str:
    """The characters that a browser shows, with straight quotes."""
    shown = html.unescape(re.sub(r"<[^>]*>", "", text))
    return shown.translate(str.maketrans({"“": '"', "”": '"', "’": "'", "‘": "'", "\u00a0": " "}))


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126, exclude_characters="$")))
def test_every_text_reads_as_it_was_written(text: str) -> None:
    collapsed = " ".join(text.split())
    assert words(inline(escape_text(text))) == collapsed
    assert words(inline(code(text))) == collapsed


@pytest.mark.parametrize("attack", [*ATTACKS, '<img src=x onerror="alert(1)">', "</script><svg>"])
def test_an_attack_is_shown_as_text(attack: str) -> None:
    page = inline(escape_text(attack))
    tags = set(re.findall(r"</?([A-Za-z]*)", page))
    assert all(tag in ("sup", "br") or re.fullmatch("m[a-z]+", tag) for tag in tags), page


@pytest.mark.parametrize(
    ("source", "page"),
    [
        (r"\emph{a \textbf{b}}", "<em>a <strong>b</strong></em>"),
        (r"\textcolor{muted}{x}", '<span class="muted">x</span>'),
        (r"\verdictword{refuted}{REFUTED}", '<span class="verdict refuted">REFUTED</span>'),
        (r"\hyperref[sec:a]{x}", '<a href="claims/a.html">x</a>'),
        (r"\hyperref[sec:b]{x}", "x"),
        (r"a~b\quad{}c", "a\u00a0b\u2003c"),
        (r"a\newline b", "a<br>b"),
        (r"a\\b", "a<br>b"),
        (r"1\,000\,\%", "1\u202f000\u202f%"),
        (r"\{\}\$\_", "{}$_"),
        (r"$\rho$", '<math display="inline"><mrow><mi>ρ</mi></mrow></math>'),
    ],
)
def test_the_commands_of_the_report(source: str, page: str) -> None:
    assert inline(source, lambda label: "claims/a.html" if label == "sec:a" else "") == page


@pytest.mark.parametrize(
    "source", [r"\input{x}", r"\textcolor{red}{x}", "{a", "a}", "$x", r"\texttt x", r"\'e"]
)
def test_what_the_dialect_does_not_have_is_an_error(source: str) -> None:
    with pytest.raises(ReportError, match="web page"):
        inline(source)


def test_paragraphs_headings_and_lists() -> None:
    source = "\n".join(
        (r"\subsection{Aims}", "One.", "", "Two:", r"\begin{description}",
         r"\item[\emph{a} {[}x{]}] first", r"\item[b] second", r"\end{description}", "Three.")
    )  # fmt: skip
    assert blocks(source) == (
        "<h2>Aims</h2><p>One.</p><p>Two:</p><dl><dt><em>a</em> [x]</dt><dd>first</dd>"
        "<dt>b</dt><dd>second</dd></dl><p>Three.</p>"
    )

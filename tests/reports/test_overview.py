"""Pages about the whole run: which words, numbers, claims and papers each of them shows."""

from __future__ import annotations

from typing import Any

import pytest

from reports.overview import (
    _shown_by,
    abstract,
    at_worst,
    data,
    findings,
    headlines,
    lesser,
    notation,
    verdict_table,
)
from reports.reading import Tried
from reports.schema import Claim, Finding, Paper, Summary, Symbols, decode
from tests.reports.fakes import cell, claim, refuted, undrawn

PAPERS = {"p": Paper(title="One", data="Gaussian clients."), "q": Paper(title="Two & a half")}


def tried(name: str, document: dict[str, Any] | None = None, **evidence: Any) -> Tried:
    """A claim without figures, some of its evidence replaced."""
    given = undrawn(claim(name) if document is None else document)
    given["evidence"] |= evidence
    return Tried(key=name, name=name.replace(".", "-"), claim=decode(given, Claim, "claim"))


def finding(severity: str = "statement", found: str = "It fails.", *claims: str) -> Finding:
    return Finding(where="theorem 1", found=found, severity=severity, evidence=list(claims))


FOUND = {
    "p-few": finding("statement", "Few. And more.", "p.a"),
    "p-many": finding("statement", "Many.", *(f"p.{letter}" for letter in "abcde")),
    "p-step": finding("proof", "A step."),
    "q-one": finding("statement", "Another."),
    "q-slip": finding("slip", "A slip."),
}


@pytest.mark.parametrize(
    ("known", "headings"),
    [
        ("", ["", "", ""]),  # no paper is known by its title
        ("p", ["", "", ""]),  # one paper needs no title
        ("pq", [r": \emph{One}", r": \emph{Two \& a half}", r": \emph{One}"]),
    ],
)
def test_findings_are_grouped_by_severity_and_by_paper_where_there_are_several(
    known: str, headings: list[str]
) -> None:
    groups = headlines(FOUND, {}, {key: PAPERS[key] for key in known}, {})
    false, fails = "Stated results that are false", "Steps of proofs that are false"
    assert [heading for heading, _ in groups] == [
        text + title for text, title in zip((false, false, fails), headings, strict=True)
    ]
    assert [[row["told"] for row in rows] for _, rows in groups] == [
        ["Many.", "Few."],
        ["Another."],
        ["A step."],
    ]


def test_a_finding_of_a_paper_without_a_record_has_no_title() -> None:
    groups = headlines(FOUND, {}, {"p": PAPERS["p"], "r": PAPERS["q"]}, {})
    assert [heading.partition(": ")[2] for heading, _ in groups] == [
        r"\emph{One}",
        "",
        r"\emph{One}",
    ]


def test_a_headline_names_three_claims_with_their_pages_and_counts_the_others() -> None:
    ((_, rows), *_) = headlines(FOUND, {"p.a": "p-a", "p.b": "p-b"}, {}, {})
    one, two = (
        rf"\hyperref[sec:p-{x}]{{\texttt{{p.{x}}}}}, page~\pageref{{sec:p-{x}}}" for x in "ab"
    )
    assert rows[0]["evidence"] == rf"{one}; {two}; \texttt{{p.c}} (not run); 2 more"
    assert rows[1]["evidence"] == one
    ((_, rows), *_) = headlines(FOUND, {"p.a": "p-a"}, {}, {}, pages=False)
    assert rows[1]["evidence"] == r"\hyperref[sec:p-a]{\texttt{p.a}}"
    four = {"p-x": finding("proof", "A step.", "p.a", "p.b", "p.c", "p.d")}
    ((_, rows),) = headlines(four, {}, {}, {})
    assert rows[0]["evidence"].endswith("; 1 more")


def test_a_finding_shows_the_values_of_the_first_claim_that_is_refuted() -> None:
    claims = {"p.a": tried("p.a"), "p.b": tried("p.b", refuted("p.b"), cells=[])}
    shown = _shown_by(FOUND["p-many"], claims)
    assert "REFUTED" in shown
    assert shown.endswith(": observed $0.25$, stated $0.12$.")
    assert _shown_by(FOUND["p-few"], claims) == ""  # its claim is supported
    proved = {"p.a": tried("p.a", refuted("p.a"), grade="proved", cells=[], witness=None)}
    assert _shown_by(FOUND["p-few"], proved).endswith(", proved.")


def test_all_findings_come_with_their_text_and_the_gravest_first() -> None:
    groups = findings(FOUND, {"p.a": "p-a"})
    told = [(str(heading), [row["anchor"] for row in rows]) for heading, rows in groups]
    assert told == [
        ("Stated results that are false", ["p-many", "p-few", "q-one"]),
        ("Steps of proofs that are false", ["p-step"]),
        ("Misprints and open points", ["q-slip"]),
    ]
    few = groups[0][1][1]
    assert few["found"] == "Few. And more."
    assert few["evidence"] == r"\hyperref[sec:p-a]{\texttt{p.a}}."
    assert groups[0][1][2]["evidence"] == ""


def test_the_first_page_counts_the_findings_that_it_does_not_print() -> None:
    assert lesser(FOUND) == "$1$ misprint or open point"
    assert lesser({}) == ""
    many = {f"p-{i}": finding(severity) for i, severity in enumerate(["edge", "strong", "strong"])}
    assert lesser(FOUND | many) == (
        "$1$ assertion that fails in a unit or at an edge, $2$ sentences that are too strong and "
        "$1$ misprint or open point"
    )
    assert headlines(many, {}, {}, {}) == []


def test_the_worst_values_are_those_of_the_worst_cell_or_of_the_witness() -> None:
    assert at_worst(tried("p.a", cells=[cell(0), cell(4)])) == pytest.approx(
        (0.05 * 1.2345678901234e-5, 1.2345678901234e-5, 0.05)
    )
    assert at_worst(tried("p.a", refuted("p.a"), cells=[])) == (0.25, 0.125, None)
    assert at_worst(tried("p.a", cells=[])) == (None, None, None)


def test_the_table_of_verdicts_marks_proofs_and_surprises() -> None:
    surprise = refuted("p.b")  # the catalogue expects SUPPORTED
    table = verdict_table("One", [tried("p.a"), tried("p.b", surprise, grade="proved")])
    plain, surprising = (row[1] for row in table.rows)
    assert "newline" not in plain
    assert surprising.endswith(r"\newline proved\newline \emph{expected SUPPORTED}")
    assert [len(row) for row in table.rows] == [len(table.head)] * 2
    assert table.rows[0][-1] == r"\pageref{sec:p-a}"
    assert str(table.caption).startswith("Verdicts: One. Observed value")
    assert str(verdict_table("", []).caption).startswith("Verdicts. Observed value")


def summary(**fields: Any) -> Summary:
    return decode(fields, Summary, "summary")


def test_the_abstract_names_five_surprises_and_counts_the_others() -> None:
    surprises = [tried(f"p.{x}", refuted(f"p.{x}")) for x in "abcdefg"]
    names = [rf"\texttt{{p.{x}}}" for x in "abcde"]
    five, seven = (str(abstract(surprises[:n], summary())) for n in (5, 7))
    start = "Not as the catalogue expects: " + ", ".join(names[:4]) + " and " + names[4]
    assert f"{start}. " in five
    assert f"{start} and $2$ more." in seven
    assert "Every verdict is the one that the catalogue expects." in abstract(
        [tried("p.a")], summary()
    )


def test_the_abstract_counts_proofs_and_coarse_supports() -> None:
    claims = [
        tried("p.a", mark="SUPPORTED TO 0.009"),
        tried("p.b", refuted("p.b"), grade="proved"),
        tried("p.c", refuted("p.c"), grade="proved"),
    ]
    told = abstract(claims, summary())
    assert r"$1$ \verdictword{supported}{SUPPORTED TO r} and $2$ \verdictword" in told
    assert "$1$ of the supported claims rest on the smallest probability" in told
    assert "$2$ refutations are proved." in told
    assert "proved" not in abstract(claims[:1], summary())
    assert "smallest" not in abstract(claims[1:], summary())


def test_identities_of_formulas_are_counted_apart() -> None:
    same = tried("p.a", claim("p.a") | {"identity": "both sides come from (1)"})
    told = abstract([same, same, tried("p.b")], summary())
    assert r": $1$ \verdictword{supported}{SUPPORTED}. $2$ claims compare two forms of one" in told
    assert "identity of formulas" in str(verdict_table("", [same]).rows[0][1])
    assert abstract([], summary()) == "This run holds no claim yet."


def test_each_paper_with_symbols_has_a_table_of_them_and_each_with_data_a_paragraph() -> None:
    symbols = {
        "q": Symbols(symbols=[("m", "clients"), (r"\rho", "signal")]),
        "p": Symbols(symbols=[("n", "rows")]),
        "r": Symbols(symbols=[("k", "clusters")]),
        "s": Symbols(),
    }
    tables = notation(symbols, PAPERS)
    assert [str(table.caption) for table in tables] == [
        "Symbols of One.",
        r"Symbols of Two \& a half.",
        "Symbols.",
    ]
    assert [table.label for table in tables] == ["symbols-p", "symbols-q", "symbols-r"]
    assert tables[1].rows == [["$m$", "clients"], [r"$\rho$", "signal"]]
    assert data(PAPERS) == "Gaussian clients."

"""Pages about the whole run: which words, numbers, claims and papers each of them shows."""

from __future__ import annotations

from typing import Any

import pytest

from reports.claim_page import claim_page
from reports.collect import load
from reports.overview import (
    abstract,
    apart,
    at_worst,
    data,
    date,
    findings,
    first_sentence,
    notation,
)
from reports.reading import Tried
from reports.schema import Claim, Finding, Paper, Summary, Symbols, decode
from reports.text import number
from tests.reports.fakes import FakeRun, cell, claim, refuted, undrawn

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


def test_all_findings_come_with_their_text_and_the_gravest_first() -> None:
    groups = findings(FOUND, {"p.a": tried("p.a", verdict="REFUTED", mark="REFUTED")})
    told = [(str(heading), [row["anchor"] for row in rows]) for heading, rows in groups]
    assert told == [
        ("Stated results that are false", ["p-many", "p-few", "q-one"]),
        ("Steps of proofs that are false", ["p-step"]),
        ("Misprints and open points", ["q-slip"]),
    ]
    few = groups[0][1][1]
    assert few["found"] == "Few. And more."
    shown = r"\hyperref[sec:p-a]{\texttt{p.a}} \verdictword{refuted}{REFUTED}"
    assert few["evidence"] == f"{shown}."
    others = ", ".join(rf"\texttt{{p.{letter}}}" for letter in "bcde")
    assert groups[0][1][0]["evidence"] == f"{shown}; not in this run: {others}."
    assert groups[0][1][2]["evidence"] == ""
    assert few["where"] == "Theorem 1"
    (((_, (alone,)),)) = findings({"p-few": FOUND["p-few"]}, {})
    assert alone["evidence"] == r"Not in this run: \texttt{p.a}."


def test_findings_whose_keys_differ_in_a_sign_have_addresses_of_their_own() -> None:
    groups = findings({"p-a b": FOUND["p-few"], "p-a.b": FOUND["p-few"], "漢": FOUND["p-few"]}, {})
    anchors = [row["anchor"] for _, rows in groups for row in rows]
    assert len(set(anchors)) == 3
    found = {"p-a b": {}, "p-a_b": {}}
    run = load(FakeRun({"finding": found}))
    assert sorted(run.anchors.values()) == ["p-a-b", "p-a-b-x"]


def test_the_worst_values_are_those_of_the_worst_cell_or_of_the_witness() -> None:
    assert at_worst(tried("p.a", cells=[cell(0), cell(4)])) == pytest.approx(
        (0.05 * 1.2345678901234e-5, 1.2345678901234e-5, 0.05)
    )
    assert at_worst(tried("p.a", refuted("p.a"), cells=[])) == (0.25, 0.125, None)
    assert at_worst(tried("p.a", cells=[])) == (None, None, None)


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
    assert (
        "$1$ supported claim rests on the smallest probability that this run resolves: its" in told
    )
    assert "$2$ refutations are proved." in told
    assert "proved" not in abstract(claims[:1], summary())
    assert "smallest" not in abstract(claims[1:], summary())
    whole = tried("p.d", mark="SUPPORTED")
    assert "$1$ supported claim rests on the smallest" in abstract([*claims, whole], summary())
    twice = abstract([*claims, tried("p.e", mark="SUPPORTED TO 0.1")], summary())
    assert (
        "$2$ supported claims rest on the smallest probability that this run resolves: the" in twice
    )


def test_the_abstract_names_the_claims_that_ended_with_an_error() -> None:
    """A division by zero in a user's claim was INCONCLUSIVE and no more in report.pdf."""
    lost = [tried(f"p.{x}", verdict="INCONCLUSIVE", error="ZeroDivisionError") for x in "abcdefg"]
    one, seven = (str(abstract([*lost[:n], tried("p.z")], summary())) for n in (1, 7))
    assert r"$1$ claim ended with an error and counts as inconclusive: \texttt{p.a}. " in one
    assert "$7$ claims ended with an error and count as inconclusive: " in seven
    assert r"\texttt{p.e} and $2$ more. " in seven
    assert "ended with" not in abstract([tried("p.z")], summary())


def test_identities_of_formulas_are_counted_apart() -> None:
    same = tried("p.a", claim("p.a") | {"identity": "both sides come from (1)"})
    told = abstract([same, same, tried("p.b")], summary())
    assert r": $1$ \verdictword{supported}{SUPPORTED}. $2$ claims that compare two forms of" in told
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


@pytest.mark.parametrize("first", [0.0, 1.0, 0.123456789, 1234.5678, 3e-12, -2.5])
@pytest.mark.parametrize("step", [0.0, 1e-12, 1e-6, 1e-4, 1e-2, 0.3])
def test_two_numbers_have_two_digits_or_as_many_as_tell_them_apart(
    first: float, step: float
) -> None:
    second = first * (1.0 + step)
    pairs = [(number(first, digits), number(second, digits)) for digits in range(2, 9)]
    different = [pair for pair in pairs if pair[0] != pair[1]]
    if first == second:
        assert apart(first, second) == pairs[0]
    else:
        assert apart(first, second) == (different or pairs[-1:])[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("2026-03-09T08:05:59+00:00", "9 March 2026, 08:05 UTC"),
        ("2026-03-09T08:05:59+02:00", "9 March 2026, 06:05 UTC"),
        ("2026-03-01T01:00:00+02:00", "28 February 2026, 23:00 UTC"),
        ("2026-03-09T08:05:59", "9 March 2026, 08:05"),  # the zone is not known
        ("yesterday", "yesterday"),
        ("0001-01-01T00:00:00+02:00", "0001-01-01T00:00:00+02:00"),
    ],
)
def test_a_time_is_told_in_utc_where_its_zone_is_known(text: str, words: str) -> None:
    assert date(text) == words


def test_a_full_stop_within_a_formula_ends_no_sentence() -> None:
    for text, first in (
        ("Let $x. B$ hold. Then it fails.", "Let $x. B$ hold."),
        ("It fails at $n=1$. $B$ is empty.", "It fails at $n=1$."),
        ("Of 1.5 in all. More.", "Of 1.5 in all."),
        ("One sentence without an end", "One sentence without an end."),
    ):
        assert first_sentence(text) == first, text


def test_a_claim_that_failed_is_not_as_expected_and_tells_its_error() -> None:
    """The report said that every verdict is the expected one, and named no error."""
    told = {
        "verdict": "INCONCLUSIVE",
        "summary": "the claim failed",
        "error": "E: x (a.py, line 3)",
    }
    failed = tried("p.a", claim("p.a", expected="INCONCLUSIVE"), **told)
    assert failed.as_expected is False
    assert r"Not as the catalogue expects: \texttt{p.a}." in abstract([failed], summary())
    assert claim_page(failed, {})["answer"] == "The claim failed: E: x (a.py, line 3)."


def test_a_run_of_identities_alone_has_no_tally() -> None:
    """ "1 claim was tried with 9 trials (0 failed): ." """
    only = tried("p.a", claim("p.a") | {"identity": "both sides come from (1)"})
    told = abstract([only], summary())
    assert "($2$ failed). $1$ claim that compares two forms of one formula is left out" in told


def test_the_supports_to_a_probability_are_those_of_the_tally() -> None:
    """ "24 SUPPORTED TO r" and "26 supported claims rest": two were identities of formulas."""
    same = claim("p.a") | {"identity": "both sides come from (1)"}
    claims = [tried(f"p.{i}", mark=f"SUPPORTED TO 0.0{i}") for i in (1, 2)]
    told = abstract([tried("p.a", same, mark="SUPPORTED TO 0.01"), *claims], summary())
    assert r"$2$ \verdictword{supported}{SUPPORTED TO r}." in told
    assert "$2$ supported claims rest on the smallest probability" in told

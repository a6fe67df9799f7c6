"""Words about a run: its order, its worst cells, counts, dates, durations and cut lists."""

from __future__ import annotations

import math
from typing import Any

import pytest

from reports.claim_page import claim_page, power_paragraph
from reports.overview import _duration, abstract, date, environment, first_sentence
from reports.reading import Tried, severity, sort_claims
from reports.schema import Cell, Claim, Power, Summary, decode
from reports.text import capital, enumerate_items, plural, sentence
from tests.reports.fakes import cell, claim, refuted, undrawn


def tried(name: str = "p.a", **changes: Any) -> Tried:
    """A claim without figures."""
    return Tried(key=name, name=name, claim=decode(undrawn(claim(name, **changes)), Claim, "claim"))


def record(**fields: Any) -> Cell:
    return decode({"params": {}, **fields}, Cell, "cell")


# -- order -----------------------------------------------------------------------------------------


def names(claims: dict[str, str], allocation: list[list[Any]]) -> list[str]:
    """The order of claims, given their papers."""
    records = {key: decode({"paper": paper}, Claim, "claim") for key, paper in claims.items()}
    summary = decode({"allocation": allocation}, Summary, "summary")
    return [item.key for item in sort_claims(records, summary)]


def test_claims_come_paper_by_paper_in_the_order_of_the_run_then_by_number() -> None:
    papers = dict.fromkeys(("p.eq10", "p.eq9", "p.z"), "P") | {"q.a": "Q", "q.b": "Q"}
    assert names(papers, [["q.b", 0.1], ["p.z", 0.1]]) == ["q.b", "q.a", "p.z", "p.eq9", "p.eq10"]


def test_a_raised_digit_in_a_key_is_a_letter() -> None:
    """ "²" is a digit, and no integer: it ended the report as a fault of cfl-verify."""
    assert names({"p.1²3": "P", "p.1": "P"}, []) == ["p.1", "p.1²3"]


def test_long_names_are_cut_and_stay_apart() -> None:
    keys = ["a" * 130, "a" * 131, "a" * 132]
    records = {key: decode({}, Claim, "claim") for key in keys}
    found = [item.name for item in sort_claims(records, decode({}, Summary, "summary"))]
    assert found == ["a" * 120, "a" * 120 + "-x", "a" * 120 + "-x-x"]


@pytest.mark.parametrize(
    ("cells", "worst"),
    [
        ([{"ratio": 0.5}, {"ratio": 2.0}, {"ratio": math.nan}], 2.0),
        ([{"ratio": None}, {"ratio": -1.0}], -1.0),
        ([{"ratio": math.nan}, {}], None),
        ([], None),
    ],
)
def test_the_worst_cell_has_the_largest_ratio(
    cells: list[dict[str, Any]], worst: float | None
) -> None:
    item = Tried(key="a", name="a", claim=decode({"evidence": {"cells": cells}}, Claim, "claim"))
    assert (item.worst.ratio if item.worst else None) == worst


def test_cells_of_one_ratio_are_told_apart_by_their_limits() -> None:
    assert severity(record(ratio=0.5, upper=3.0, bound=2.0)) == (0.5, 1.5)
    assert severity(record(ratio=0.5, upper=3.0, bound=0.0)) == (0.5, -math.inf)
    assert severity(record(upper=None, bound=2.0)) == (-math.inf, -math.inf)
    at_least = {"ratio": 0.5, "bound": 2.0, "upper": 9.0, "relation": "at least"}
    assert severity(record(lower=4.0, **at_least)) == (0.5, 0.5)
    assert severity(record(lower=3.0, **at_least)) > severity(record(lower=4.0, **at_least))
    assert severity(record(lower=0.0, **at_least)) == (0.5, -math.inf)


# -- words -----------------------------------------------------------------------------------------


def test_counts_lists_and_sentences() -> None:
    assert plural(1, "trial") == "$1$ trial"
    assert plural(0, "trial") == "$0$ trials"
    assert plural(2, "was", "were") == "$2$ were"
    texts = ["", "a", "a and b", "a, b and c"]
    assert [enumerate_items(list("abc"[:n])) for n in range(4)] == texts
    assert [sentence(text) for text in ("a", "a.", "a?", "a ", "")] == ["a.", "a.", "a?", "a.", ""]
    assert capital("abc") == "Abc"
    assert capital("") == ""


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.04, "0.0 s"),
        (119.94, "119.9 s"),
        (120.0, "2 min 0 s"),
        (3599.4, "59 min 59 s"),
        (3599.6, "1 h 0 min"),
        (7325.0, "2 h 2 min"),
        (1e9, "1e+09 s"),
        (math.nan, "nan s"),
    ],
)
def test_a_duration_is_given_in_two_units(seconds: float, words: str) -> None:
    assert _duration(seconds) == words


def test_a_date_names_its_time_zone_where_it_has_one() -> None:
    assert date("2026-01-31T10:05:00+00:00") == "31 January 2026, 10:05 UTC"
    assert date("2026-01-31T10:05:00") == "31 January 2026, 10:05"
    assert date("yesterday") == "yesterday"


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("One. Two.", "One."),
        ("About 1.5 of it. Two.", "About 1.5 of it."),
        ("With e.g. this. Two.", "With e.g. this."),
        ("Let $a. B$ hold. Two.", "Let $a. B$ hold."),
        ("Of $x$ it is. $y$ is not.", "Of $x$ it is."),
        ("No end", "No end."),
    ],
)
def test_the_first_sentence_ends_outside_formulas(text: str, first: str) -> None:
    assert first_sentence(text) == first


def test_the_table_of_the_environment_leaves_out_what_is_not_known() -> None:
    summary = {
        "seed": 0,
        "n_jobs": None,
        "wall_seconds": 90.0,
        "environment": {"numpy": "2.1.0", "machine": "x86", "python": "3.11"},
    }
    table = environment(decode(summary, Summary, "summary"), "none")
    assert {row[0]: row[1] for row in table.rows} == {
        "run": "root seed 0",
        "wall time": "90.0 s",
        "versions": "numpy 2.1.0, python 3.11",
        "machine": "machine x86",
        "report typeset by": "none",
    }


def test_the_table_of_the_environment_fits_one_page_whatever_a_run_stores() -> None:
    """The last page of the report held its last four rows: a long table runs over pages."""
    stored = {f"key{i}": f"{i}.0.1" if i % 2 else f"word {i}" for i in range(40)}
    times = {"started": "2026-03-09T08:05:00+00:00", "finished": "2026-03-09T08:07:24+00:00"}
    told = {"run_id": "r", "profile": "quick", "seed": 7, "executor": "E", "n_jobs": 2}
    told |= {"content_digest": "ab", "wall_seconds": 144.0, "environment": stored, **times}
    table = environment(decode(told, Summary, "summary"), "none")
    assert r"\begin{longtable}" not in table.latex()
    rows = dict(table.rows)
    assert rows["run"] == "r, profile quick, root seed 7"
    assert rows["executor"] == "E, jobs 2"
    assert rows["time"] == "9 March 2026, 08:05 UTC to 9 March 2026, 08:07 UTC"
    assert rows["wall time"] == "2 min 24 s"
    for i in range(40):
        assert f"key{i} {stored[f'key{i}']}" in rows["versions" if i % 2 else "machine"].split(", ")


def test_five_surprises_are_named_and_the_others_counted() -> None:
    def surprises(n: int) -> str:
        claims = [tried(f"p.c{i}", expected="REFUTED") for i in range(n)]
        told = str(abstract(claims, decode({}, Summary, "summary")))
        return told.partition("Not as the catalogue expects: ")[2].partition(". ")[0]

    assert surprises(5).count("texttt") == 5
    assert "more" not in surprises(5)
    assert surprises(6).endswith(r"\texttt{p.c4} and $1$ more")


def test_the_abstract_adds_up_the_trials_of_all_claims() -> None:
    told = abstract([tried(), tried("p.b")], decode({"familywise_level": 0.05}, Summary, "s"))
    assert "$2$ claims were tried with $24\\,000$ trials ($4$ failed)" in told
    assert "error level of the batch is $0.05$." in told
    assert "rest on the smallest probability" not in told
    assert "proved" not in told


# -- one claim's page ------------------------------------------------------------------------------


def page(document: dict[str, Any]) -> dict[str, Any]:
    item = Tried(key="p.a", name="p.a", claim=decode(undrawn(document), Claim, "claim"))
    return claim_page(item, {})


def runs(document: dict[str, Any]) -> dict[str, str]:
    made = page(document)
    return dict([*made["conditions"], *made["runs"], *made["after"]])


def test_a_page_says_whether_its_verdict_is_expected() -> None:
    assert page(claim("p.a"))["expectation"] == "as expected"
    assert page(claim("p.a", expected="REFUTED"))["expectation"] == "expected REFUTED"
    assert page(claim("p.a", expected=""))["expectation"] == ""


def test_the_effort_of_a_search_is_counted_in_evaluations() -> None:
    assert page(claim("p.a"))["facts"].endswith(
        r"Upper bound; $12\,000$ trials, $2$ failed; level $0.0071$."
    )
    document = claim("p.a", kind="deterministic")
    document["evidence"] |= {"n_failed": 0, "n_trials": 1}
    assert "Deterministic; $1$ evaluation; level" in page(document)["facts"]
    document["evidence"] |= {"n_failed": 3}
    assert "$1$ evaluation, $3$ failed; level" in page(document)["facts"]
    document["evidence"]["level"] = 0.0  # a search has none
    assert page(document)["facts"].endswith("$1$ evaluation, $3$ failed.")


def test_a_constant_has_its_interval_and_its_generous_end() -> None:
    def constants(generous: str) -> str:
        item = {"latex": "c_1", "low": 1e-4, "high": 50.0, "generous": generous, "meaning": "rate"}
        return runs(claim("p.a", constants=[item]))["Constants"]

    assert constants("high") == r"$c_1\in[10^{-4},\ 50]$, rate (upper end generous)."
    assert "(lower end generous)" in constants("low")
    assert "(chosen by the user of the algorithm)" in constants("")


def test_every_constant_is_listed_in_its_order() -> None:
    """A box may be one value, and a run of a stranger may name no number or no symbol."""
    boxes: list[tuple[str, float | None, float | None]] = [
        ("c_2", 3.0, 3.0), ("c_1", 1.0, math.inf), ("c_3", None, math.nan), ("see $c$", 0.0, 2.0),
        ("$c$ or $d$", 0.0, 2.0),
    ]  # fmt: skip
    items = [
        {"latex": symbol, "low": low, "high": high, "generous": "high", "meaning": f"rate {i}"}
        for i, (symbol, low, high) in enumerate(boxes)
    ]
    told = runs(claim("p.a", constants=items))["Constants"].removesuffix(".").split("; ")
    assert [text.replace(" (upper end generous)", "") for text in told] == [
        r"$c_2\in[3,\ 3]$, rate 0",
        r"$c_1\in[1,\ \infty]$, rate 1",
        "$c_3$ in {[}--, not a number{]}, rate 2",
        "see $c$ in {[}$0$, $2${]}, rate 3",
        "$c$ or $d$ in {[}$0$, $2${]}, rate 4",
    ]


@pytest.mark.parametrize(
    ("required", "told"),
    [
        ({"c_2": 0.5}, "$c_2=0.5$"),
        ({"c_2": 0.5, "c_1": 4e6}, r"$c_2=0.5$ and $c_1=4 \times 10^{6}$"),
        ({"c": None, "see $c$": 2.0}, "$c$ = -- and see $c$ = $2$"),
    ],
)
def test_a_page_gives_the_constants_that_the_trials_require(
    required: dict[str, float | None], told: str
) -> None:
    document = claim("p.a")
    document["evidence"] |= {"required": required, "sharpness": []}
    assert runs(document)["Sharpness"] == f"The trials require {told}."


def test_a_witness_has_its_place_its_values_and_its_trial() -> None:
    document = refuted("p.a")
    assert runs(document)["Witness"] == (
        "The bound fails at the smallest size. At $m=3$, $\\rho=8$: observed $0.25$, stated bound "
        r"$0.125$. Trial \texttt{exp:0f3a:17:203}."
    )
    document["evidence"]["witness"] |= {"params": {}, "trial": ""}
    assert runs(document)["Witness"].endswith("size. Observed $0.25$, stated bound $0.125$.")


@pytest.mark.parametrize(
    ("columns", "rows", "is_sentence"),
    [
        (["a", "b"], [["x", 1]] * 10, True),
        (["a", "b"], [["x", 1]] * 11, False),
        (["a", "b"], [], False),
        (["a", "b"], [["x", 1.5]], False),
        (["a", "b"], [[1, 1]], False),
        (["a", "b", "c"], [["x", 1, 2]], False),
    ],
)
def test_a_short_table_of_counts_is_a_sentence(
    columns: list[str], rows: list[list[Any]], is_sentence: bool
) -> None:
    document = claim("p.a")
    document["evidence"] |= {"cells": [], "tables": [{"columns": columns, "rows": rows}]}
    shown = page(document)
    assert ("Counts" in dict(shown["after"])) is is_sentence
    assert len(shown["tables"]) == (not is_sentence)


@pytest.mark.parametrize(("n", "shown"), [(32, 32), (33, 32)])
def test_a_table_of_the_evidence_has_thirty_two_rows_at_most(n: int, shown: int) -> None:
    document = claim("p.a")
    document["evidence"] |= {
        "cells": [],
        "tables": [{"title": "T", "columns": ["a"], "rows": [[i] for i in range(n)]}],
    }
    (table,) = page(document)["tables"]
    assert len(table.rows) == shown
    assert ("Showing the first $32$ of $33$ rows" in table.caption) is (n > shown)


def test_the_caption_of_a_table_ends_with_its_note() -> None:
    document = claim("p.a")
    table = {"title": "T", "columns": ["a"], "rows": [[1]], "note": "larger than $x$"}
    document["evidence"] |= {"cells": [], "tables": [table]}
    (shown,) = page(document)["tables"]
    assert shown.caption == "T. Larger than $x$."


# -- power -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "end"), [(8, "term 7: dropped."), (9, "; and 1 more.")])
def test_a_sentence_lists_eight_changes(n: int, end: str) -> None:
    judged = [{"words": "a", "outcome": "refuted"}]
    document = {"judged": judged, "refuted": [f"term {i}: dropped" for i in range(n)]}
    told = power_paragraph(decode({**document, "n_mutants": 1}, Power, "power"))
    assert told.endswith(end)


def test_a_score_is_told_only_where_some_mutant_is_false() -> None:
    judged = [{"words": "a", "outcome": "true here"}]
    document = {"judged": judged, "n_mutants": 1, "n_false": 0, "n_caught": 0}
    told = power_paragraph(decode(document, Power, "power"))
    assert told == "Also true where it is tried: a."


def test_conditions_that_the_paper_does_not_state_are_set_off() -> None:
    conditions = [
        {"name": "size", "latex": "m > 1", "note": "in every cell"},
        {"name": "balance", "latex": "p > 0", "note": "no step serves all", "added": True},
        {"name": "more", "latex": "", "added": True},
    ]
    shown = dict(page(claim("p.a", assumptions=conditions))["conditions"])
    assert "size" in shown["Assumptions"]
    assert "balance" not in shown["Assumptions"]
    assert shown["Not in the paper"] == r"\emph{balance}: $p > 0$ (no step serves all); more."
    assert "Not in the paper" not in dict(page(claim("p.a"))["conditions"])


@pytest.mark.parametrize(
    ("stored", "told"),
    [
        (
            "no counterexample in 69 searches; closest -0.016; never closer than 1/40 of the bound",
            "no counterexample at 69 points: it holds by 0.016 of the larger side or more; "
            "never closer than 1/40 of the bound",
        ),
        ("no counterexample at 9 points; closest 8e-13", "the sides differ by rounding alone"),
        ("no counterexample at 9 points; closest 0", "at the closest one the sides are equal"),
        ("holds in all 2 cells", "holds in all 2 cells"),
    ],
)
def test_the_sentence_of_a_search_says_by_how_much_the_statement_holds(
    stored: str, told: str
) -> None:
    document = claim("p.a")
    document["evidence"] |= {
        "summary": stored,
        "tables": [
            {
                "title": "Closest approach in each part of the domain",
                "columns": ["part", "largest violation (share by which the relation fails)"],
                "rows": [["all", -0.016]],
                "note": "",
            }
        ],
    }
    tried = Tried(key="p.a", name="p-a", claim=decode(document, Claim, "claim"))
    assert tried.answer.endswith(told)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([{"ratio": 0.5}, {"ratio": 0.9, "void": "a placebo"}, {"ratio": 0.7}], 0.7),
        ([{"ratio": None}, {"ratio": -2.0}], -2.0),
        ([{"ratio": None}, {"ratio": 3.0, "void": "a placebo"}], None),
    ],
)
def test_the_worst_cell_is_live_and_has_a_ratio(
    changes: list[dict[str, Any]], expected: float | None
) -> None:
    body = claim("p.a")
    body["evidence"]["cells"] = [cell(i, **each) for i, each in enumerate(changes)]
    found = Tried(key="p.a", name="a", claim=decode(body, Claim, "claim")).worst
    assert (None if found is None else found.ratio) == expected

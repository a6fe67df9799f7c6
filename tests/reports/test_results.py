"""The table of theorems: where a claim belongs, and every word of a row from its claims."""

from __future__ import annotations

import math
from statistics import median
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.collect import load
from reports.paper import redrawn
from reports.results import (
    factor,
    fails,
    holds,
    names,
    onset,
    place,
    proof,
    results,
    row_of,
    sharpness,
    strength,
    table_rows,
)
from tests.reports.fakes import FakeRun, cell, claim, refuted, undrawn


def run_of(*claims: dict[str, Any], **more: Any) -> Any:
    documents = {each["id"]: each for each in claims}
    summary = {"title": "A run", "allocation": [[name, 0.01] for name in documents]}
    papers = {"p": {"title": "On things", "uses": more.pop("uses", {})}}
    return load(FakeRun({"claim": documents, "run": {"summary": summary | more}, "paper": papers}))


def one(name: str, source: str, **changes: Any) -> dict[str, Any]:
    return undrawn(claim(name, source=source, **changes))


def false(name: str, source: str) -> dict[str, Any]:
    return undrawn(refuted(name) | {"source": source})


@pytest.mark.parametrize(
    ("source", "title", "found", "row"),
    [
        ("Theorem 1, eq. (1)", "t", ("Theorem 1", "statement"), "Theorem 1"),
        ("(Lemma 12), corrected", "t", ("Lemma 12", "statement"), "Lemma 12"),
        ("proof of Corollary 2, (37)", "t", ("Corollary 2", "proof"), "Corollary 2"),
        ("Proof of Theorem 1, Lemma 3", "t", ("Theorem 1", "proof"), "Theorem 1"),
        ("after Proposition 4", "t", ("Proposition 4", "aside"), "Proposition 4"),
        ("(37)", "A step of the proof of Lemma 3", ("Lemma 3", "proof"), "Lemma 3"),
        ("(37)", "After Lemma 3", ("", "aside"), "Displays"),
        ("Table 2", "t", ("", "aside"), "Tables, figures"),
        ("Fig. 3, left", "t", ("", "aside"), "Tables, figures"),
        ("Remark 5", "t", ("", "aside"), "Remarks"),
        ("Assumption 2", "t", ("", "aside"), "Remarks"),
        ("footnote 3", "t", ("", "aside"), "Remarks"),
        ("Definition 1", "t", ("", "aside"), "Remarks"),
        ("Section 5, (3)", "t", ("", "aside"), "Sections"),
        ("abstract", "t", ("", "aside"), "Sections"),
    ],
)
def test_a_claim_stands_where_its_source_or_its_title_says(
    source: str, title: str, found: tuple[str, str], row: str
) -> None:
    (tried,) = run_of(one("p.a", source, title=title)).claims
    assert place(tried) == found
    assert row_of(tried) == row


def test_names_are_short_and_equal_ones_are_told_apart_by_their_ids() -> None:
    run = run_of(
        one("p.lemma3-union", "Lemma 3, (4)"),
        one("p.lemma3", "Lemma 3"),
        one("p.eq7", "below $x_1$, (7)"),
        one("p.long", "A very long source without a number"),
        one("p.after", "after Lemma 3"),
    )
    assert names(run.claims) == {
        "p.lemma3-union": "Lemma 3, union",
        "p.lemma3": "Lemma 3",
        "p.eq7": "(7)",
        "p.long": "A very long source wit…",
        "p.after": "after Lemma 3",
    }


def vacuity(*sizes: tuple[float | None, float | None]) -> dict[str, Any]:
    document = one("p.size", "Theorem 1", kind="vacuity")
    document["evidence"]["cells"] = [
        cell(i, observed=used, bound=needed, ratio=None) for i, (used, needed) in enumerate(sizes)
    ]
    return document


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        (((400.0, 9e7), (5000.0, 2e4)), r"$20\,000$\newline used: $5000$"),
        (((None, 9e7),), r"$9 \times 10^{7}$"),
        (((400.0, None),), "at no size tried"),
        ((), "--"),
    ],
)
def test_the_size_from_which_a_theorem_speaks_stands_beside_the_size_that_is_used(
    sizes: Any, words: str
) -> None:
    (theorem,) = results(run_of(vacuity(*sizes)).claims)
    assert onset(theorem) == words


def words(text: str) -> str:
    """What a reader sees of a verdict's word: without the command that colours it."""
    for part in ("as printed: no", "corrected: yes", "yes", "not tried"):
        if part in text:
            return part
    return text


def test_a_theorem_holds_as_its_claims_say() -> None:
    for claims, expected in (
        ([one("p.a", "Theorem 1")], "yes"),
        ([one("p.a", "Theorem 1, corrected")], "corrected: yes"),
        ([one("p.a", "Theorem 1, corrected"), one("p.b", "Theorem 1")], "yes"),
        ([false("p.a", "Theorem 1")], "as printed: no"),
    ):
        (theorem,) = results(run_of(*claims).claims)
        assert words(holds(theorem)) == expected
    both = [false("p.a", "Theorem 1"), one("p.b", "Theorem 1, corrected")]
    (theorem,) = results(run_of(*both).claims)
    first, second = holds(theorem).split(r"\newline")
    assert (words(first), words(second)) == ("as printed: no", "corrected: yes")
    unsure = one("p.a", "Theorem 1")
    unsure["evidence"] |= {"verdict": "INCONCLUSIVE", "mark": "INCONCLUSIVE"}
    (theorem,) = results(run_of(unsure).claims)
    assert "INCONCLUSIVE" in holds(theorem)
    not_run = one("p.b", "Theorem 1")
    not_run["evidence"] |= {"verdict": "NOT RUN", "mark": "NOT RUN"}
    (theorem,) = results(run_of(not_run).claims)
    assert words(holds(theorem)) == "not tried"
    (theorem,) = results(run_of(not_run, unsure).claims)
    assert "INCONCLUSIVE" in holds(theorem)


@pytest.mark.parametrize("verdict", ["SUPPORTED", "REFUTED", "VACUOUS"])
def test_a_theorem_of_which_only_its_sizes_were_asked_is_not_tried(verdict: str) -> None:
    """Theorem 2 of Su, Xu and Yang held because one setting is large enough for it."""
    sizes = vacuity((400.0, 200.0))
    sizes["evidence"] |= {"verdict": verdict, "mark": verdict}
    (theorem,) = results(run_of(sizes).claims)
    assert words(holds(theorem)) == "not tried"
    assert onset(theorem) == r"$200$\newline used: $400$"
    (theorem,) = results(run_of(sizes, one("p.a", "Theorem 1")).claims)
    assert words(holds(theorem)) == "yes"


def test_the_factor_of_a_theorem_has_its_range_over_the_cells_or_is_a_dash() -> None:
    (theorem,) = results(run_of(one("p.a", "Theorem 1")).claims)  # ratios 0.01, 0.02, 0.03
    assert sharpness(theorem) == r"$50$\newline $33$ to $100$"
    (theorem,) = results(run_of(false("p.a", "Theorem 1")).claims)
    assert sharpness(theorem) == "--"
    for kind, expected in (("rate", "--"), ("probability", r"$50$\newline $33$ to $100$")):
        (theorem,) = results(run_of(one("p.a", "Theorem 1", kind=kind)).claims)
        assert sharpness(theorem) == expected


@pytest.mark.parametrize(
    ("slack", "expected"),
    [
        ([(2.0, 3.0, 4.0)], r"$3$\newline $2$ to $4$"),
        ([(0.0, 3.0, 4.0), (5.0, 6.0, 7.0)], r"$6$\newline $5$ to $7$"),
        ([(2.0, None, 4.0)], r"$50$\newline $33$ to $100$"),
        ([(2.0, 2.0, 2.0)], "$2$"),  # one cell has no range
    ],
)
def test_a_measured_slack_goes_before_the_ratios_of_the_cells(slack: Any, expected: str) -> None:
    document = one("p.a", "Theorem 1", kind="upper bound")
    document["evidence"]["slack"] = [
        {"constants": "c", "least": least, "median": median, "most": most}
        for least, median, most in slack
    ]
    (theorem,) = results(run_of(document).claims)
    assert sharpness(theorem) == expected


def test_a_proof_fails_by_its_own_steps_first_and_then_by_what_it_rests_on() -> None:
    statement = one("p.thm1", "Theorem 1")
    steps = [one("p.s1", "proof of Theorem 1, (3)"), one("p.s2", "proof of Theorem 1, (4)")]
    wrong = [false("p.f1", "proof of Theorem 1, (5)"), false("p.f2", "proof of Theorem 1, (6)")]
    lemma = false("p.lemma", "Lemma 9")

    def told(*claims: dict[str, Any], **more: Any) -> str:
        run = run_of(statement, *claims, **more)
        nodes = {node.id: node for graph in run.graphs.values() for node in graph.nodes}
        theorem = next(r for r in results(run.claims) if r.name == "Theorem 1")
        return str(proof(theorem, nodes))

    assert told() == "not tried"
    assert told(*steps) == "$2$ steps tried, none fails"
    assert told(*steps, *wrong[:1]) == "no: $1$ step fails"
    rests = {"p.thm1": ["p.lemma"]}
    assert told(*steps, lemma, uses=rests) == "rests on $1$ refuted step"
    assert told(*steps, *wrong, lemma, uses=rests) == "no: $2$ steps fail"


def test_two_failing_claims_are_named_and_the_others_are_counted() -> None:
    for n in range(6):
        claims = [false(f"p.f{i}", "Theorem 1") for i in range(n)]
        (theorem,) = results(run_of(one("p.a", "Theorem 1"), *claims).claims)
        shown = fails(theorem)
        assert shown.count("hyperref") == min(n, 2)
        assert shown.endswith(f" and {n - 2} more") is (n > 2)
        assert (shown == "--") is (n == 0)
        ((name, *_, last),) = table_rows([theorem], {})
        assert (name, last) == ("Theorem 1", shown)


def test_the_papers_own_figures_are_redrawn_from_claims_about_figures_and_tables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("reports.paper.render", lambda drawn, form: f"{drawn.title} {form}")
    sources = ("Fig. 1", "Table 1", "Fig. 2", "Fig. 3", "Fig. 4", "Table 2")
    drawn = [claim(f"p.f{i}", source=source, title="t") for i, source in enumerate(sources)]
    others = [claim("p.thm", source="Theorem 1"), one("p.no-figure", "Fig. 9")]
    files: dict[str, Any] = {}
    made = redrawn(run_of(*others, *drawn), files, "pdf")
    assert [str(m["path"]) for m in made] == [f"figures/paper-p.f{i}.pdf" for i in range(4)]
    assert files == {str(m["path"]): "Error against $m$ pdf" for m in made}
    for shown, source in zip(made, sources, strict=False):
        assert str(shown["caption"]).startswith(f"{source}. Error against $m$.")
        assert "SUPPORTED" in shown["caption"]


CELLS = st.lists(
    st.tuples(
        st.sampled_from(["at most", "at most", "below", "at least", "equals", "order"]),
        st.sampled_from(["", "", "a placebo passes too"]),
        st.sampled_from([None, 0.0, 1e-310, 0.01, 0.25, 1.0, 4.0, math.inf]),
    ),
    max_size=6,
)  # fmt: skip


@given(cells=CELLS, verdict=st.sampled_from(["SUPPORTED", "SUPPORTED", "INCONCLUSIVE", "REFUTED"]))
def test_a_factor_is_of_the_live_cells_that_bound_an_observed_value_from_above(
    cells: list[tuple[str, str, float | None]], verdict: str
) -> None:
    document = one("p.a", "Theorem 1")
    document["evidence"] |= {
        "verdict": verdict,
        "cells": [cell(0, relation=r, void=v, ratio=q) for r, v, q in cells],
    }
    (tried,) = run_of(document).claims
    measured = [
        1 / ratio
        for relation, void, ratio in cells
        if relation == "at most" and void == "" and ratio not in (None, 0.0, 1e-310, math.inf)
    ]
    found = factor(tried)
    if verdict != "SUPPORTED" or not measured:
        assert found is None
    else:
        assert found == pytest.approx((min(measured), median(measured), max(measured)))
    if cells and all(void for _, void, _ in cells):
        assert strength(tried) == "void"


def test_results_stand_as_in_print_whatever_the_order_of_the_claims() -> None:
    """A corollary stood before its theorem, and Lemma 10 before Lemma 3."""
    printed = [
        "Theorem 1", "Corollary 1", "Theorem 2", "Corollary 2", "Theorem 10", "Proposition 1",
        "Lemma 3", "Lemma 10",
    ]  # fmt: skip
    papers = ["Second", "First"]
    claims = [
        one(f"p.{i}{paper}", name, paper=paper)
        for paper in papers
        for i, name in enumerate(sorted(printed))
    ]
    found = [(each.paper, each.name) for each in results(run_of(*claims).claims)]
    assert found == [(paper, name) for paper in papers for name in printed]
    far = one("p.a", f"Lemma {'7' * 9000}")  # a stranger's: no int of Python has so many digits
    assert [len(each.name) for each in results(run_of(far).claims)] == [9006]

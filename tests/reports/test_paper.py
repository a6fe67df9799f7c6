"""The paper of the run: its findings, its table of theorems, its picture, what was not run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from reports.assemble import write_report
from reports.claim_page import claim_page
from reports.collect import Run, load
from reports.engines import embedded_missing, typst_source
from reports.latex_template import render_tex
from reports.paper import (
    MOST,
    _sizes,
    abstract,
    choose_findings,
    compare,
    comparisons,
    drawing,
    findings,
    links_to_site,
    not_run,
    paper,
    redrawn,
    reprinted,
    sure,
    theorems,
    title,
)
from reports.picture import picture, render
from reports.results import factor, onset, place, results, row_of, strength
from reports.schema import Cell, decode
from tests.reports.fakes import FakeRun, cell, claim, figure, refuted, undrawn


def named(name: str, source: str, **changes: Any) -> dict[str, Any]:
    return undrawn(claim(name, source=source, **changes))


def failed(name: str, source: str, kind: str = "probability") -> dict[str, Any]:
    return undrawn(refuted(name) | {"source": source, "kind": kind})


def vacuous(name: str) -> dict[str, Any]:
    """A claim of kind vacuity: 400 samples are used and 9e7 are needed."""
    document = named(name, "Theorem 1, Section 5", kind="vacuity")
    cells = [
        cell(0, params={"setting": "Fig. 2"}, observed=400, bound=5.4e14, ratio=1e12),
        cell(1, params={"setting": "Fig. 3"}, observed=5000, bound=8.97e7, ratio=1e4),
    ]
    document["evidence"] |= {"verdict": "VACUOUS", "cells": cells, "witness": None}
    return document


def made(
    claims: dict[str, Any],
    found: dict[str, Any],
    uses: dict[str, list[str]] | None = None,
    **summary: Any,
) -> Run:
    told = {"title": "A run", "allocation": [[name, 0.01] for name in claims], **summary}
    papers = {"p": {"title": "On things", "uses": uses or {}}, "q": {"title": "On others"}}
    return load(
        FakeRun({"claim": claims, "finding": found, "run": {"summary": told}, "paper": papers})
    )


def finding(
    *evidence: str, severity: str = "statement", where: str = "Theorem 1"
) -> dict[str, Any]:
    return {
        "where": where, "printed": "$a$", "found": f"It fails: {evidence}.", "corrected": "$b$",
        "severity": severity, "evidence": list(evidence),
    }  # fmt: skip


@pytest.fixture(scope="module")
def run() -> Run:
    claims = {
        "p.thm1-as-printed": failed("p.thm1-as-printed", "Theorem 1, (1)"),
        "p.thm1": named("p.thm1", "Theorem 1, corrected"),
        "p.step": failed("p.step", "proof of Theorem 1, (3)", "deterministic"),
        "p.vacuity": vacuous("p.vacuity"),
        "p.eq": named("p.eq", "(7)"),
        "p.lemma1": named("p.lemma1", "after Lemma 1"),
    }
    found = {
        "p-proof": finding("p.step", severity="proof"),
        "p-thm1": finding("p.thm1-as-printed", "p.thm1"),
        "q-never": finding("q.not-here"),
        "p-fine": finding("p.thm1", severity="statement"),
    }
    return made(claims, found, not_run=[["p.long", "not run below standard: it is long"]])


def test_a_claim_belongs_to_the_result_that_its_source_names_first(run: Run) -> None:
    places = [place(c) for c in run.claims]
    assert places == [
        ("Theorem 1", "statement"), ("Theorem 1", "statement"), ("Theorem 1", "proof"),
        ("Theorem 1", "statement"), ("", "aside"), ("Lemma 1", "aside"),
    ]  # fmt: skip
    assert row_of(run.by_key["p.eq"]) == "Displays"


def test_only_what_has_no_proof_for_the_whole_domain_rests_on_a_search() -> None:
    marks = ("", "PROVED", "PROVED UP TO A LEMMA", "PROVED ON PART", "PROVED FOR d <= 3")
    claims = {f"p.{i}": named(f"p.{i}", "Lemma 1", kind="deterministic") for i in range(len(marks))}
    for document, mark in zip(claims.values(), marks, strict=True):
        document["evidence"] |= {"cells": [], "mark": mark}
    told = dict(sure(made(claims, {})))
    assert told["Limits"].count("$3$ supported claims rest on a search") == 1


def test_findings_without_evidence_of_this_run_are_not_shown(run: Run) -> None:
    assert [item.key for item in choose_findings(run)] == ["p-thm1", "p-proof"]


def test_the_paper_says_what_is_not_practical_with_both_sizes(run: Run) -> None:
    entries, _ = findings(run, {}, "pdf")
    void = next(entry for entry in entries if entry["anchor"] == "p.vacuity")
    assert "400" in void["heading"]
    assert r"9 \times 10^{7}" in void["heading"]
    assert [entry["anchor"] for entry in entries] == ["p-thm1", "p.vacuity", "p-proof"]


def test_a_counterexample_names_its_numbers(run: Run) -> None:
    entry = findings(run, {}, "pdf")[0][0]
    assert "Observed failure rate $0.25$, stated at most $0.12$" in entry["counterexample"]
    assert "p.thm1" in entry["consequence"]
    assert entry["paper"] == "On things"


@pytest.mark.parametrize(
    ("kind", "relation", "told"),
    [
        ("upper bound", "at most", "Observed value $0.25$, stated at most $0.12$."),
        ("expectation", "at most", "Observed mean $0.25$, stated at most $0.12$."),
        ("expectation", "at least", "Observed mean $0.25$, stated at least $0.12$."),
        ("expectation", "equals", "Observed mean $0.25$, stated equal to $0.12$."),
    ],
)
def test_a_counterexample_names_the_side_of_its_bound(kind: str, relation: str, told: str) -> None:
    """A mean was said to be stated "at most" whatever its side, and an error norm was a rate."""
    document = failed("p.a", "Theorem 1", kind)
    document["evidence"]["cells"] = [cell(0, relation=relation)]
    (entry,) = findings(made({"p.a": document}, {"p-a": finding("p.a")}), {}, "pdf")[0]
    assert told in str(entry["counterexample"])


@pytest.mark.parametrize(
    ("description", "told"),
    [
        ("an event, in 4 of 16 trials; this is the first of them", "Observed failure rate $0.25$"),
        ("violation rate at the frozen constants in a held-out cell", "Observed failure rate"),
        ("a trial that violates the statement", "Observed value $0.25$"),
    ],
)
def test_a_share_of_trials_is_no_value_of_the_bounded_quantity(description: str, told: str) -> None:
    """ "Observed value 1, stated at most 1e-7" was said of 256 failures in 256 trials."""
    document = failed("p.a", "Theorem 1", "upper bound")
    document["evidence"]["witness"]["description"] = description
    (entry,) = findings(made({"p.a": document}, {"p-a": finding("p.a")}), {}, "pdf")[0]
    assert told in str(entry["counterexample"])


def test_a_counterexample_of_a_search_has_two_sides_whatever_the_kind_of_its_claim() -> None:
    """(9) of ODCL was said to fail at a rate of 1e-12: that is a squared norm."""
    document = failed("p.a", "Theorem 1", "probability")
    document["evidence"]["cells"] = []
    (entry,) = findings(made({"p.a": document}, {"p-a": finding("p.a")}), {}, "pdf")[0]
    assert r"The statement says $0.25$ $\le$ $0.12$." in str(entry["counterexample"])


@pytest.mark.parametrize(
    ("left", "right", "told"),
    [
        (2.25, 0.875, r"$2.2$ $\le$ $0.88$"),
        (0.5, 0.75, r"$0.5$ $\ge$ $0.75$"),
        (3, 3, "$3$ $<$ $3$"),
    ],
)
def test_a_counterexample_of_a_search_prints_the_relation_that_fails(
    left: float, right: float, told: str
) -> None:
    """ "Left side 2.2, right side 0.88" stood below a printed "at least", which it meets."""
    document = failed("p.a", "Theorem 1", "deterministic")
    document["evidence"]["witness"] |= {"observed": left, "bound": right}
    one = made({"p.a": document}, {"p-a": finding("p.a")})
    (entry,) = findings(one, {}, "pdf")[0]
    assert f"The statement says {told}." in str(entry["counterexample"])
    runs = dict(claim_page(one.by_key["p.a"], {})["after"])
    exact = told.replace("2.2", "2.25").replace("0.88", "0.875")
    assert f"the statement says {exact}." in str(runs["Witness"])


@pytest.mark.parametrize(
    ("level", "told"),
    [
        (0.05, "$0.95$"),
        (0.001, "$0.999$"),
        (1e-4, "$1-10^{-4}$"),
        (3e-7, r"$1-3 \times 10^{-7}$"),
        (0.0015, "$0.9985$"),
        (0.01234, "$0.9876$"),
        (1 / 3, "$0.6666$"),
    ],
)
def test_the_confidence_of_a_run_is_never_one(level: float, told: str) -> None:
    """0.9999 was printed as 1."""
    text = dict(sure(made({"p.a": named("p.a", "Lemma 1")}, {}, familywise_level=level)))["Level"]
    assert text.startswith(f"With probability {told} at least, no true claim")


@pytest.mark.parametrize("kind", ["probability", "deterministic", "comparison"])
@pytest.mark.parametrize("params", [{}, {"m": 3}])
@pytest.mark.parametrize("missing", [(), ("observed",), ("bound",), ("observed", "bound")])
def test_a_counterexample_says_what_its_witness_has(
    missing: tuple[str, ...], params: dict[str, Any], kind: str
) -> None:
    document = failed("p.a", "Theorem 1", kind)
    document["evidence"]["witness"] |= {"params": params} | dict.fromkeys(missing)
    (entry,) = findings(made({"p.a": document}, {"p-a": finding("p.a")}), {}, "pdf")[0]
    told = str(entry["counterexample"])
    assert "The bound fails at the smallest size." in told
    says = "The statement says" if kind == "deterministic" else "Observed"
    assert (says in told) is not bool(missing)
    assert ("$0.25$" in told and "$0.12$" in told) is not bool(missing)
    assert (r"$\le$ $0.12$." in told) is (kind == "deterministic" and not missing)
    assert ("There " in told) is bool(params)
    assert ("$m=3$" in told) is bool(params)
    assert "None" not in told
    assert told.endswith(r"\hyperref[sec:p.a]{\texttt{p.a}}.")


@pytest.mark.parametrize(
    ("description", "printed"),
    [
        ("The bound fails at m=1", True),
        ("log of the left-hand side over the right-hand side", False),
        ("share by which the relation fails", False),
        ("the share of the trials", True),
    ],
)
def test_the_unit_of_a_violation_is_no_sentence_of_a_counterexample(
    description: str, printed: bool
) -> None:
    document = failed("p.thm1-as-printed", "Theorem 1")
    document["evidence"]["witness"]["description"] = description
    one = made({"p.thm1-as-printed": document}, {"p-one": finding("p.thm1-as-printed")})
    (entry,) = findings(one, {}, "pdf")[0]
    words = description.split()[-2:]
    assert (" ".join(words) in str(entry["counterexample"]).replace("$", "")) is printed
    assert "Observed" in entry["counterexample"]


def test_at_most_a_dozen_findings_are_printed_and_the_others_are_listed() -> None:
    names = [f"p.c{i}-as-printed" for i in range(15)]
    many = made(
        {name: failed(name, "Theorem 1") for name in names},
        {f"p-{i}": finding(name) for i, name in enumerate(names)},
    )
    entries, more = findings(many, {}, "pdf")
    assert len(entries) == MOST
    assert len(more) == 15 - MOST


def test_void_theorems_are_among_the_dozen_and_stand_behind_false_ones() -> None:
    """Also where every printed finding is of a false theorem."""
    names = [f"p.c{i}-as-printed" for i in range(15)]
    claims = {name: failed(name, "Theorem 1") for name in names}
    claims |= {f"p.void{i}": vacuous(f"p.void{i}") for i in range(4)}
    entries, more = findings(
        made(claims, {f"p-{i}": finding(name) for i, name in enumerate(names)}), {}, "pdf"
    )
    void = ["p.void0", "p.void1", "p.void2"]
    assert len(entries) == MOST
    assert [entry["anchor"] for entry in entries][-3:] == void
    assert len(more) == 15 - (MOST - 3)


def test_the_proofs_that_use_a_false_statement_are_named_and_the_rest_is_counted() -> None:
    users = [f"p.thm{i}" for i in range(7)]
    claims = {"p.step": failed("p.step", "Lemma 1")} | {u: named(u, "Theorem 1") for u in users}
    for n in (7, 4, 1):
        one = made(claims, {"p-step": finding("p.step")}, uses={u: ["p.step"] for u in users[:n]})
        (entry,) = findings(one, {}, "pdf")[0]
        consequence = str(entry["consequence"])
        assert sum(user in consequence for user in users) == min(n, 4)
        assert ("and 3 more" in consequence) == (n == 7)
        assert ("The printed proof of" in consequence) == (n == 1)


def test_claims_that_the_run_has_not_reached_are_counted_in_its_abstract() -> None:
    claims = {"p.a": named("p.a", "Theorem 1"), "p.b": named("p.b", "Theorem 2")}
    del claims["p.b"]["evidence"]["verdict"]
    told = abstract(made(claims, {}, not_run=[["p.long", "not run below full: it is long"]]))
    assert "$2$ claims were not run" in told


def test_only_cells_of_claims_with_a_placebo_are_void_by_it() -> None:
    with_placebo, other = named("p.a", "Theorem 1"), named("p.b", "Theorem 2")
    with_placebo["evidence"]["tables"] = [{"title": "Placebos"}]
    with_placebo["evidence"]["cells"][0]["void"] = "a placebo passes too"
    for each in other["evidence"]["cells"][:2]:
        each["void"] = "the bound is above one"
    told = dict(sure(made({"p.a": with_placebo, "p.b": other}, {})))
    assert "$1$ cell is void for one of these reasons" in told["Placebos"]


def test_a_theorems_row_has_its_factor_and_the_size_where_it_says_something(run: Run) -> None:
    (theorem,) = [one for one in results(run.claims) if one.name == "Theorem 1"]
    assert [c.key for c in theorem.refuted] == ["p.thm1-as-printed"]
    # the cells' ratios are 0.01, 0.02 and 0.03
    assert theorem.factor == pytest.approx((100 / 3, 50.0, 100.0))
    assert theorem.onset == (5000, 8.97e7)
    assert "5000" in onset(theorem)


def test_a_void_cell_measures_no_factor() -> None:
    document = named("p.a", "Lemma 1")
    for each in document["evidence"]["cells"]:
        each["void"] = "a placebo passes too"
    (one,) = made({"p.a": document}, {}).claims
    assert factor(one) is None
    assert strength(one) == "void"
    assert one.worst is None


def weighed(mark: str, *ratios: float, grade: str = "", verdict: str = "SUPPORTED") -> Any:
    """A claim of this mark whose live cells have these ratios of observed value to bound."""
    document = named("p.a", "Lemma 1")
    cells = [cell(i, ratio=ratio) for i, ratio in enumerate(ratios)]
    document["evidence"] |= {"verdict": verdict, "mark": mark, "grade": grade, "cells": cells}
    (one,) = made({"p.a": document}, {}).claims
    return one


@pytest.mark.parametrize(
    ("ratios", "word"),
    [
        ((0.9, 0.5, 0.34), "sharp"),  # its median is a factor of 2
        ((0.9, 0.5, 0.1), "sharp"),  # as is this one, whose largest factor is 10
        ((0.99, 0.01, 0.02), "loose"),  # one sharp cell is not enough
        ((0.9, 0.2, 0.001), "tried"),  # neither is one loose cell
        ((1.0 / 3.0,), "sharp"),  # both ends belong to their side
        ((1.0 / 30.0,), "loose"),
        ((1.0 / 3.01,), "tried"),
        ((1.0 / 29.9,), "tried"),
        ((), "tried"),
    ],
)
def test_the_median_cell_says_how_sharp_a_statement_is(
    ratios: tuple[float, ...], word: str
) -> None:
    assert strength(weighed("SUPPORTED", *ratios)) == word


@pytest.mark.parametrize(
    ("mark", "grade", "verdict", "word"),
    [
        ("PROVED", "", "SUPPORTED", "proved"),
        ("PROVED ON PART", "", "SUPPORTED", "proved"),
        ("PROVED FOR d <= 3", "", "SUPPORTED", "proved"),
        ("PROVED UP TO A LEMMA", "", "SUPPORTED", "argued"),
        ("REFUTED", "proved by interval arithmetic", "REFUTED", "proved"),
        ("REFUTED", "statistical", "REFUTED", "tried"),
        ("INCONCLUSIVE", "", "INCONCLUSIVE", "tried"),
        ("VACUOUS", "", "VACUOUS", "void"),
    ],
)
def test_a_proof_up_to_a_lemma_is_argued_and_any_other_is_proved(
    mark: str, grade: str, verdict: str, word: str
) -> None:
    assert strength(weighed(mark, 0.9, grade=grade, verdict=verdict)) == word


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ((5e6, 2e4, 9e9), (1001, 2e4)),
        ((None, 2e4, None), (1001, 2e4)),  # a size that is never reached is not the smallest
        ((None, 7e5, 2e4), (1002, 2e4)),
        ((None, None, None), (None, None)),
    ],
)
def test_the_smallest_size_is_that_of_the_settings_that_reach_one(
    bounds: tuple[float | None, ...], expected: tuple[float | None, float | None]
) -> None:
    document = vacuous("p.a")
    document["evidence"]["cells"] = [
        cell(i, observed=1000 + i, bound=bound, ratio=None) for i, bound in enumerate(bounds)
    ]
    (one,) = results(made({"p.a": document}, {}).claims)
    assert one.onset == expected


def test_every_claim_has_a_tile_and_a_claim_that_was_not_run_an_empty_one(run: Run) -> None:
    drawn = drawing(run)
    assert [tile.key for tile in drawn.tiles if tile.name] == [
        "p.thm1-as-printed", "p.thm1", "p.step", "p.vacuity", "p.lemma1", "p.eq",
    ]  # fmt: skip
    (blank,) = [tile for tile in drawn.tiles if not tile.name]
    assert (blank.key, blank.strength) == ("p.long", "notrun")
    corners = {(tile.x, tile.y) for tile in drawn.tiles}
    assert len(corners) == len(drawn.tiles)
    assert render(drawn) == render(drawn)


def test_tiles_stay_inside_the_picture() -> None:
    claims = {f"p.c{i}": named(f"p.c{i}", "Theorem 1") for i in range(61)}
    drawn = picture(made(claims, {}).claims, {})
    assert max(tile.y + drawn.tile for tile in drawn.tiles) <= drawn.bottom
    assert max(tile.x + drawn.tile for tile in drawn.tiles) < drawn.axis


def test_the_abstract_counts_what_was_not_run_and_names_the_profile(run: Run) -> None:
    told = paper(run, engine="none")
    assert r"$1$ claim was not run (1 with \texttt{--profile standard})" in told[
        "abstract"
    ].replace("-{}-", "--")
    assert "p.long" in told["not_run"][0]


def test_the_title_is_that_of_the_only_paper(run: Run) -> None:
    assert title(run) == "A run"
    alone = load(FakeRun({"paper": {"p": {"title": "On things"}}}))
    assert title(alone) == "On things"


def test_links_lead_to_the_site_and_places_in_the_paper_stay() -> None:
    source = r"\hyperref[sec:p.a]{\texttt{p.a}} \hyperref[found:p]{x}"
    expected = r"\href{site/claims/p.a.html}{\texttt{p.a}} \hyperref[found:p]{x}"
    assert links_to_site(source) == expected


def test_the_source_of_the_paper_is_typeset_with_the_given_title(run: Run, tmp_path: Path) -> None:
    source = links_to_site(render_tex(paper(run, engine="none"), "paper.tex.j2"))
    assert source.count(r"\subsection{") == 3
    reader = FakeRun({"claim": {"p.a": named("p.a", "Section 2")}})
    write_report(reader, tmp_path, formats=("tex",), heading="Mine & yours", author="A. Person")
    text = (tmp_path / "report.tex").read_text(encoding="utf-8")
    assert r"\title{Mine \& yours}" in text
    assert r"\author{A. Person." in text
    assert not (tmp_path / "catalogue.tex").exists()


def test_a_run_without_a_benchmark_lists_its_comparisons_and_names_the_command() -> None:
    run = made({"p.order": named("p.order", "Fig. 2", kind="comparison")}, {})
    source = render_tex(paper(run, engine="embedded"), "paper.tex.j2")
    assert r"\section{Which method}" in source
    assert "benchmark few-samples" in source
    assert ["SUPPORTED" in line for line in comparisons(run)] == [True]


def test_a_benchmark_leaves_columns_to_the_site_and_has_its_stars_behind_the_names() -> None:
    table = {
        "columns": ["", "method", "rank", "median error", "cpu", "theory"],
        "rows": [["*", "a", "1", "0.2", "0.01", "inside"], ["", "b", "2", "0.5", "0.02", "-"]],
    }
    tables = [{"title": f"n = {n}"} | table for n in (8, 16, 32)]
    document = {"benchmark": {"name": "own", "question": "Which?"}, "tables": tables}
    run = load(FakeRun({"claim": {"p.a": named("p.a", "Fig. 2")}, "benchmark": {"own": document}}))
    first, second = compare(run, {}, "pdf")[0]["tables"]
    assert first.head == second.head == ["method", "rank", "median error", "theory"]
    assert first.rows[0] == [r"a\,*", "1", "0.2", "inside"]
    assert first.rows[1] == ["b", "2", "0.5", "-"]
    assert first.align == "lrrl"
    assert ("star" in first.caption, "star" in second.caption) == (True, False)


@pytest.mark.skipif(bool(embedded_missing()), reason="needs pandoc and Typst")
@pytest.mark.parametrize("role", ["paper", "paper-benchmark"])
def test_only_a_findings_figure_leaves_its_place(role: str) -> None:
    figure = r"\begin{figure}\includegraphics{f.pdf}\caption{C}\label{fig:%s-x}\end{figure}"
    source = typst_source(
        "\n\n".join([figure % "finding", r"\FloatBarrier", r"\section{S}", figure % role])
    )
    floating, _, after = source.partition("#place.flush()")
    assert "placement: auto" in floating
    assert f"<fig:{role}-x>" in after
    assert "placement" not in after


def test_a_run_without_comparisons_has_no_section_on_methods(run: Run) -> None:
    assert comparisons(run) == []
    assert "Which method" not in render_tex(paper(run, engine="embedded"), "paper.tex.j2")


def test_a_papers_table_stands_once_beside_what_is_measured_with_its_verdict() -> None:
    """Not the table of another source, and not one without printed values."""
    beside = {"title": "Table I", "columns": ["value", "printed, %"], "rows": [["ifca", "94 ± 1"]]}
    other = {"title": "Counts", "columns": ["value", "measured"], "rows": [["ifca", "93"]]}
    claims = {}
    for name, source in (("p.a", "Table I"), ("p.b", "Table I, column 2"), ("p.c", "Section 3")):
        claims[name] = named(name, source, kind="comparison")
        claims[name]["evidence"] |= {"tables": [beside, other]}
    run = made(claims, {})
    (table,) = reprinted(run)
    assert table.label == "paper-p.a-1"
    assert r"\hyperref[sec:p.a]" in table.caption
    assert "SUPPORTED" in table.caption
    source = render_tex(paper(run, engine="embedded"), "paper.tex.j2")
    assert source.count(r"\section{Figures and tables of the papers}") == 1
    assert source.count("94 $\\pm$ 1") + source.count("94 ± 1") == 1
    plain = made({"p.c": claims["p.c"]}, {})
    assert "tables of the papers" not in render_tex(paper(plain, engine="embedded"), "paper.tex.j2")


@pytest.mark.skipif(bool(embedded_missing()), reason="the embedded engine is not installed")
def test_only_findings_figures_float_and_the_picture_stays_below_the_title(run: Run) -> None:
    typst = typst_source(
        r"\begin{figure}\includegraphics{a.pdf}\caption{A}\label{fig:picture}\end{figure}"
        r"\begin{figure}\includegraphics{a.pdf}\caption{B}\label{fig:finding-b}\end{figure}"
        r"\begin{figure}\includegraphics{a.pdf}\caption{C}\label{fig:c}\end{figure}",
        standalone=False,
    )
    assert [part.partition(",")[0] for part in typst.split("placement: ")[1:]] == ["bottom", "auto"]


def test_a_size_that_is_needed_counts_where_no_used_size_is_known_and_the_other_way_round() -> None:
    sizes = ((None, 5.0), (20.0, None), (30.0, 7.0))
    cells = [decode(cell(0, observed=used, bound=needed), Cell, "cell") for used, needed in sizes]
    assert _sizes(cells) == ("$20$ to $30$", "$5$ to $7$")
    assert _sizes([]) == ("none that was tried",) * 2


def test_the_score_of_false_statements_is_summed_over_the_claims_that_have_any() -> None:
    names = ("p.a", "p.b", "p.c", "p.d")
    claims = {name: named(name, "Theorem 1") for name in names}
    counts = {"p.a": (7, 4), "p.b": (1, 1), "p.c": (0, 0)}
    powers = {name: {"n_false": n, "n_caught": k} for name, (n, k) in counts.items()}
    told = {"title": "A run", "familywise_level": 0.03}

    def scored(power: dict[str, Any]) -> dict[str, str]:
        run = load(FakeRun({"claim": claims, "run": {"summary": told}, "power": power}))
        return {str(head): str(text) for head, text in sure(run)}

    assert (
        "$8$ statements that ask for more and are not shown to be true were made from $2$ claims. "
        "$5$ of them, a share of $0.62$, lost their support." in scored(powers)["Mutation"]
    )
    counted = {
        name: {**power, "n_refuted": power["n_caught"] // 2} for name, power in powers.items()
    }
    assert "lost their support, $2$ by a refutation." in scored(counted)["Mutation"]
    for power in ({}, {"p.c": powers["p.c"]}):
        assert "This run was not mutated" in scored(power)["Mutation"]
    assert "With probability $0.97$ at least" in scored(powers)["Level"]


def test_statements_that_say_nothing_name_how_many_settings_and_which_sizes() -> None:
    """A setting that never reaches a size is counted, and has no number."""
    document = vacuous("p.void")
    sizes = [("Fig. 2", 400, None), ("Fig. 3", 5000, 8.97e7), ("Fig. 4", 30, 2e8)]
    document["evidence"]["cells"] = [
        cell(i, params={"setting": name}, observed=used, bound=needed, ratio=None)
        for i, (name, used, needed) in enumerate(sizes)
    ]
    (entry,) = findings(made({"p.void": document}, {}), {}, "pdf")[0]
    assert entry["heading"] == (
        r"Theorem 1 is not practical: it needs $9 \times 10^{7}$ samples at least, and $30$ to "
        "$5000$ are used."
    )
    assert entry["found"] == "The conditions or the bound fail at $3$ of $3$ settings."
    told = str(entry["counterexample"])
    assert "Fig. 2: used $400$, needed more than was tried; Fig. 3: used $5000$" in told
    assert r"from which on it says something: $9 \times 10^{7}$ to $2 \times 10^{8}$." in str(
        entry["consequence"]
    )
    document["evidence"]["cells"] = [cell(0, observed=400, bound=None, ratio=None)]
    assert findings(made({"p.void": document}, {}), {}, "pdf") == ([], [])  # it names no size


def test_the_tables_of_theorems_hold_each_papers_own_rows_in_six_columns_of_the_page() -> None:
    claims = {
        "p.a": named("p.a", "Theorem 1", paper="One"),
        "q.a": named("q.a", "Theorem 1", paper="Two"),
        "q.b": named("q.b", "Corollary 2", paper="Two"),
        "p.l": named("p.l", "Lemma 1", paper="One"),
    }
    first, second = theorems(made(claims, {}))
    assert [row[0] for row in first.rows] == ["Theorem 1"]
    assert [row[0] for row in second.rows] == ["Theorem 1", "Corollary 2"]
    assert (first.caption, second.caption) == ("One.", "Two.")
    for table in (first, second):
        widths = [float(w) for w in re.findall(r"p\{([\d.]+)\\linewidth\}", table.spec)]
        assert len(widths) == len(table.head) == len(table.align) == len(table.rows[0])
        assert 0.9 < sum(widths) < 1.0 - 0.005 * len(widths)  # the gaps between columns as well
        assert table.spec.startswith("@{}")
        assert table.spec.endswith("@{}")


def test_a_run_that_was_stopped_says_so_and_names_what_it_has_not_reached(tmp_path: Path) -> None:
    """Two of five claims were told as the whole run: "every verdict is the expected one"."""
    documents = {
        "claim": {name: undrawn(claim(name, profile="quick")) for name in ("p.a", "p.b")},
        "run": {"plan": {"claims": ["p.a", "p.b", "p.c"]}, "extension": {"profile": "quick"}},
    }
    run = load(FakeRun(documents))
    assert run.pending == ["p.c"]
    sentence = "This run has not ended: $1$ of $3$ claims has no verdict yet."
    assert str(abstract(run)).startswith(sentence)
    assert not_run(run) == [r"Not reached yet: \texttt{p.c}."]
    assert [tile.key for tile in drawing(run).tiles if tile.strength == "notrun"] == ["p.c"]
    write_report(FakeRun(documents), tmp_path, formats=("tex", "html"), catalogue=True)
    for name in ("report.tex", "catalogue.tex", "site/index.html"):
        assert "This run has not ended: " in (tmp_path / name).read_text()
    # It was extended, and stopped before it had tried all claims again.
    documents["run"]["extension"] = {"profile": "standard"}
    documents["claim"]["p.b"]["profile"] = "standard"
    assert load(FakeRun(documents)).pending == ["p.a", "p.c"]
    documents["claim"] = {}
    told = str(abstract(load(FakeRun(documents))))
    assert told.startswith("This run has not ended: $3$ of $3$ claims have no verdict yet.")
    documents["run"] = {}
    assert str(abstract(load(FakeRun(documents)))) == "This run holds no claim yet."


def test_what_a_larger_profile_runs_is_no_longer_left_out_when_the_run_is_extended() -> None:
    claims = {"p.a": undrawn(claim("p.a"))}
    told = {"summary": {"not_run": [["p.long", "not run below standard: it is long"]]}}
    plan = {"plan": {"claims": ["p.a", "p.long"]}}
    run = load(FakeRun({"claim": claims, "run": told | plan}))
    assert (run.left_out, run.pending) == ([], ["p.long"])
    run = load(FakeRun({"claim": claims, "run": told | {"plan": {"claims": ["p.a"]}}}))
    assert ([name for name, _ in run.left_out], run.pending) == (["p.long"], [])


def test_of_two_false_theorems_the_one_that_more_claims_show_stands_first() -> None:
    names = ("p.a", "p.b", "p.c")
    run = made(
        {name: failed(name, "Theorem 1") for name in names},
        {"p-1-few": finding("p.a"), "p-2-many": finding("p.b", "p.c")},
    )
    assert [item.key for item in choose_findings(run)] == ["p-2-many", "p-1-few"]


def test_a_papers_figure_is_drawn_anew_by_the_first_figure_of_its_claim() -> None:
    document = claim("p.a", source="Fig. 1")
    document["evidence"]["figures"] = [
        figure(name=name, title=f"The {name} one") for name in ("first", "second")
    ]
    (shown,) = redrawn(made({"p.a": document}, {}), {}, "svg")
    assert "The first one." in shown["caption"]


def test_a_finding_of_one_of_several_papers_and_its_figure_name_the_paper() -> None:
    """ "(14): The sum lacks ..." and "Fig. 2." stood in a report of four papers."""
    claims = {
        f"{paper}.c{i}": failed(f"{paper}.c{i}", "Lemma 1") | {"paper": f"Authors of {paper}"}
        for paper in "pq" for i in range(MOST)
    }  # fmt: skip
    claims["q.fig"] = claim("q.fig", source="Fig. 2", paper="Authors of q")
    run = made(claims, {f"{key.replace('.', '-')}": finding(key) for key in claims})
    more = [(paper, [row["link"] for row in rows]) for paper, rows in paper_of(run)["more"]]
    _, left = findings(run, {}, "pdf")
    assert [name for name, _ in more] == list(
        dict.fromkeys({"p": "On things", "q": "On others"}[item.paper] for item in left)
    )
    assert sum(len(rows) for _, rows in more) == len(left) == 2 * MOST - MOST
    (drawn,) = redrawn(run, {}, "svg")
    assert drawn["caption"].startswith("Authors of q, Fig. 2. ")
    (drawn,) = redrawn(made({"q.fig": claims["q.fig"]}, {}), {}, "svg")
    assert drawn["caption"].startswith("Fig. 2. ")


def paper_of(run: Run) -> dict[str, Any]:
    """The variables of the template."""
    return paper(run, engine="", form="svg")


def test_a_run_tells_of_placebos_only_where_claims_have_them() -> None:
    """ "0 claims were also tried against controls", also in the report of a benchmark alone."""
    plain = made({"p.a": named("p.a", "Theorem 1")}, {})
    assert [str(head) for head, _ in sure(plain)] == [
        "Level", "Mutation", "Calibration and planted faults", "Limits",
    ][plain.summary.familywise_level is None :]  # fmt: skip
    asked = {"benchmark": {"name": "b", "question": "Which?"}, "answer": "b is best."}
    table = {"title": "n = 8", "columns": ["", "method"], "rows": [["*", "b"]]}
    run = load(FakeRun({"benchmark": {"b": asked | {"tables": [table]}}}))
    source = render_tex(paper_of(run), "paper.tex.j2")
    assert "This run holds $1$ benchmark and no claim." in source
    assert re.findall(r"\\section\{([^}]*)\}", source) == ["Benchmark: b", "How to repeat it"]
    assert "claim leads to its page" not in source
    assert "no claim yet" not in source


def test_the_paper_shows_what_a_method_sends_and_what_it_receives() -> None:
    """ "290 times fewer floats" stood beside 36,000 and 200: those are sent, not received."""
    head = ["", "method", "held-out", "rounds", "floats-up", "floats-down", "cpu [s]"]
    rows = [["*", "a", "1", "1", "200", "200", "0.1"], ["", "b", "1", "9", "36,000", "80,000", "0"]]
    one = {"benchmark": {"name": "b"}, "tables": [{"columns": head, "rows": rows}]}
    ((shown,),) = [
        each["tables"] for each in compare(load(FakeRun({"benchmark": {"b": one}})), {}, "svg")
    ]
    assert shown.head == ["method", "floats-up", "floats-down"]
    assert [row[1:] for row in shown.rows] == [["200", "200"], ["36,000", "80,000"]]


@pytest.mark.skipif(bool(embedded_missing()), reason="the embedded engine is not installed")
def test_a_long_list_of_names_is_not_spaced_out() -> None:
    """Names do not break, so that a line held three of them and wide gaps."""
    names = ", ".join(rf"\texttt{{a{i}}}" for i in range(9))
    for text, ragged in ((f"Not run: {names}.", True), (r"The \texttt{a} of \texttt{b}.", False)):
        assert ("justify: false" in typst_source(text, standalone=False)) is ragged

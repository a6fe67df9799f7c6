"""From documents to words: counts, order, cuts and missing pieces."""

from __future__ import annotations

import csv
import io
import re

import pytest

from reports import figures, overview
from reports.claim_page import claim_page
from reports.claim_tables import MAX_ROWS
from reports.collect import Report, load
from reports.collect import collect as collect_run
from reports.overview import apart
from reports.reading import slug
from reports.schema import Reader
from tests.reports.fakes import FakeRun, cell, claim, figure, refuted, run


@pytest.fixture(autouse=True)
def _undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures have tests of their own.  Drawing them here would take most of the time."""
    monkeypatch.setattr(figures, "render", lambda _figure, **_options: b"")


def collect(reader: Reader, *, engine: str) -> Report:
    """The report of a run that is not read yet."""
    return collect_run(load(reader), engine=engine)


def report(reader: Reader) -> dict[str, str]:
    """The context and files of a run's report, as text."""
    collected = collect(reader, engine="none")
    return {k: str(v) for k, v in (collected.context | collected.files).items()}


def test_the_summary_counts_verdicts_and_names_surprises() -> None:
    abstract = report(run())["abstract"]
    assert r"$2$ \verdictword{supported}{SUPPORTED}" in abstract
    assert r"$1$ \verdictword{refuted}{REFUTED}" in abstract
    assert r"$1$ \verdictword{notrun}{NOT RUN}" in abstract
    assert re.search(r"Not as the catalogue expects: \\texttt\{p.lemma1\}", abstract)


def test_an_expected_refutation_is_no_surprise() -> None:
    document = refuted("p.a") | {"expected": "REFUTED"}
    abstract = report(run(p_a=document))["abstract"]
    assert "Every verdict is the one that the catalogue expects" in abstract


def test_claims_keep_the_order_of_the_run() -> None:
    context = collect(run(), engine="none").context
    assert [str(c["label"]) for _, pages in context["claims"] for c in pages] == [
        "sec:p.thm1",
        "sec:p.thm2",
        "sec:p.lemma1",
        "sec:p.bare",
    ]


def test_one_claim_is_not_plural() -> None:
    one = FakeRun({"claim": {"p.a": claim("p.a")}})
    assert report(one)["n_claims"] == "$1$ claim"
    assert report(run())["n_claims"].endswith("$ claims")


def test_long_cell_tables_show_the_worst_and_the_csv_has_all() -> None:
    files = collect(run(p_a=claim("p.a", n_cells=96)), engine="none").files
    table = str(files["tables/p.a-cells.tex"])
    rows = list(csv.DictReader(io.StringIO(str(files["tables/p.a-cells.csv"]))))
    assert f"The ${MAX_ROWS}$ worst of $96$ cells" in table
    assert len(rows) == 96
    assert float(rows[0]["bound"]) == 1.2345678901234e-5  # full precision
    body = table.rpartition(r"\endlastfoot")[2]
    assert body.count(r"\\") == MAX_ROWS
    assert body.index("$9600$") < body.index("$9500$")


def test_common_parameters_move_to_the_caption() -> None:
    table = report(run())["tables/p.thm1-cells.tex"]
    caption = table.partition(r"\label")[0]
    assert "$n'=20$" in caption
    assert r"worst\_case" in caption


def test_many_varying_parameters_share_a_column() -> None:
    cells = [cell(i, params={f"parameter_{j}": i * 1000 + j for j in range(14)}) for i in range(4)]
    document = claim("p.a")
    document["evidence"]["cells"] = cells
    table = report(run(p_a=document))["tables/p.a-cells.tex"]
    assert "cell & observed" in table
    assert r"\linewidth" in table


def test_cells_without_ratio_or_bound_are_listed() -> None:
    document = claim("p.a")
    document["evidence"]["cells"] = [
        {"params": {"m": 1}, "n_trials": 5, "observed": 0.5},
        {"params": {"m": 2}, "n_trials": 5, "observed": float("nan")},
    ]
    table = report(run(p_a=document))["tables/p.a-cells.tex"]
    assert "$0.5$" in table
    assert "not a number" in table


@pytest.mark.parametrize(
    "kinds",
    [
        {},
        {"run": {}},
        {"claim": {"a": {}}},
        {"symbol": {"p": {"symbols": [["m", "clients"]]}}},
        {"finding": {"d": {"where": "x"}}},
    ],
)
def test_missing_kinds_and_fields_are_left_out(kinds: dict[str, dict[str, dict[str, str]]]) -> None:
    n_claims = len(kinds.get("claim", {}))
    assert report(FakeRun(kinds))["n_claims"].startswith(f"${n_claims}$ claim")


def test_slugs_are_safe_names() -> None:
    assert slug("ifca.thm1[m=400,d=1e-3]") == "ifca.thm1-m-400-d-1e-3"
    assert slug("../..") == "claim"


def test_claims_whose_slugs_collide_keep_their_own_files() -> None:
    files = collect(
        FakeRun({"claim": {"a[m=1]": claim("a"), "a(m=1)": claim("a")}}), engine="none"
    ).files
    assert len([name for name in files if name.endswith("-cells.csv")]) == 2


def test_long_notes_become_letters_and_a_legend() -> None:
    document = claim("p.a")
    note = "held-out; the smallest probability that the trials resolve"
    document["evidence"]["cells"] = [cell(0), cell(1, note=note), cell(2, note=note)]
    table = report(run(p_a=document))["tables/p.a-cells.tex"]
    assert table.count("smallest probability") == 1
    assert table.count("$^{a}$") == 3  # two cells and the legend


def test_rho_is_left_out_only_where_it_follows() -> None:
    def table(rho: float) -> str:
        document = claim("p.a")
        document["evidence"]["cells"] = [
            cell(i, params={"Delta": 1.0 + i, "sigma": 0.5, "rho": (1.0 + i) ** 2 * rho})
            for i in range(3)
        ]
        for item in document["evidence"]["cells"]:
            item["params"]["sigma"] = 0.5 + item["params"]["Delta"]
            item["params"]["rho"] = rho * (item["params"]["Delta"] / item["params"]["sigma"]) ** 2
        return report(run(p_a=document))["tables/p.a-cells.tex"]

    assert r"\rho" not in table(1.0)
    assert r"\rho" in table(2.0)


def test_cells_in_which_nothing_was_seen_say_so_once() -> None:
    document = claim("p.a")
    names = ("observed", "obs./bound")
    for seen, expected in ((0.0, False), (0.1, True)):
        cells = [cell(i, observed=0.0, se=0.0, ratio=0.0) for i in range(1, 4)]
        cells[0]["observed"] = seen
        document["evidence"]["cells"] = cells
        table = report(run(p_a=document))["tables/p.a-cells.tex"]
        head = table.partition(r"\midrule")[0].partition(r"\toprule")[2]
        assert all((name in head) is expected for name in names)
        assert ("observed $0$" in table.partition(r"\label")[0]) is not expected


def test_the_smallest_share_is_left_out_where_the_sizes_are_shown() -> None:
    for extra, shown in (({"profile": "equal"}, False), ({}, True)):
        document = claim("p.a")
        document["evidence"]["cells"] = [
            cell(i, params={"k": i, "m": 10 * i, "p": 1 / i, **extra}) for i in range(2, 5)
        ]
        head = report(run(p_a=document))["tables/p.a-cells.tex"].partition(r"\midrule")[0]
        assert ("& $p$ &" in head) is shown


def test_a_crowded_table_keeps_its_words_and_its_intervals() -> None:
    """Parameters that have no columns of their own share one."""
    document = claim("p.a")
    document["evidence"]["cells"] = [
        cell(i, params={"start": word, **{f"x{j}": i + j / 7 for j in range(10)}})
        for i, word in enumerate(("adversarial", "orthogonal"))
    ]
    table = report(run(p_a=document))["tables/p.a-cells.tex"]
    assert "start adversarial" in table
    assert "cell & observed & interval" in table
    assert r"\scriptsize" not in table


def test_equal_ratios_are_ranked_by_what_the_limit_allows() -> None:
    document = claim("p.a")
    document["evidence"]["cells"] = [
        cell(0, ratio=0.0, observed=0.0, upper=0.01, bound=1.0),
        cell(1, ratio=0.0, observed=0.0, upper=0.01, bound=1e-6),
    ]
    table = report(run(p_a=document))["tables/p.a-cells.tex"]
    assert table.index("$200$") < table.index("$100$")  # the first column is m


def test_a_table_of_counts_reads_as_a_sentence() -> None:
    document = claim("p.a")
    document["evidence"]["tables"] = [
        {
            "title": "Search",
            "columns": ["method", "evaluations"],
            "rows": [["corners", 8], ["random", 12000]],
            "note": "closest -0.5",
        }
    ]
    collected = collect(run(p_a=document), engine="none")
    runs = dict(collected.context["claims"][0][1][0]["after"])
    assert runs["Search"] == (r"Evaluations: corners $8$, random $12\,000$. Closest $-0.5$.")
    assert "tables/p.a-1.csv" in collected.files


def test_findings_come_gravest_first() -> None:
    severities = ("slip", "statement", "proof", "odd")
    kinds = {"finding": {s: {"where": s, "severity": s} for s in severities}}
    groups = collect(FakeRun(kinds), engine="none").context["findings"]
    assert [items[0]["where"] for _, items in groups] == ["Statement", "Proof", "Slip", "Odd"]


@pytest.mark.parametrize(
    ("caption", "added"),
    [("", True), ("Median and central 90 percent.", False), ("Three standard errors.", False)],
)
def test_spreads_are_not_called_confidence_limits(caption: str, added: bool) -> None:
    document = claim("p.a")
    document["evidence"]["figures"] = [figure(caption=caption)]
    drawn = claim_page(load(run(p_a=document)).claims[0], {})["figures"]
    assert ("confidence limits" in drawn[0]["caption"]) is added


def test_each_paper_has_its_own_symbols_and_data() -> None:
    """One letter means samples in one paper and clients in the other."""
    kinds = {
        "paper": {
            "one": {"title": "First", "data": "A client observes $n$ pairs."},
            "two": {"title": "Second", "data": "Points in $R^d$."},
        },
        "symbol": {
            "one": {"symbols": [["$n$", "samples"]]},
            "two": {"symbols": [["$n$", "clients"]]},
        },
    }
    context = collect(FakeRun(kinds), engine="none").context
    symbols = "\n".join(table.latex() for table in context["symbols"])
    for text in ("samples", "clients", "First", "Second", "symbols-one", "symbols-two"):
        assert text in symbols
    assert "A client observes" in context["data"]
    assert "Points in" in context["data"]
    assert collect(FakeRun({}), engine="none").context["data"] == ""


def test_a_mark_is_printed_in_the_place_of_its_verdict() -> None:
    document = claim("p.a")
    document["evidence"] |= {"mark": "SUPPORTED TO 0.008"}
    shown = report(run(p_a=document))
    assert "SUPPORTED TO 0.008" in shown["claims"]
    assert "$1$ supported claim rests on" in shown["abstract"]


def test_a_proved_refutation_prints_its_argument_and_inequalities() -> None:
    document = refuted("p.a")
    document["evidence"] |= {
        "grade": "proved",
        "proof": {
            "argument": "Take $d=1$.",
            "inequalities": [{"says": "one exceeds a half", "left": "1", "right": "1/2"}],
        },
    }
    collected = collect(run(p_a=document), engine="none")
    text = dict(collected.context["claims"][0][1][0]["after"])["Refutation"]
    assert "Proved. Take $d=1$." in text
    assert "one exceeds a half." in text
    assert "$1$ refutation is proved." in str(collected.context["abstract"])
    assert collected.context["claims"][0][1][0]["grade"] == "proved"


def test_a_statistical_refutation_prints_its_level() -> None:
    document = refuted("p.a")
    document["evidence"] |= {"grade": "statistical at level 0.001"}
    page = collect(run(p_a=document), engine="none").context["claims"][0][1][0]
    assert page["grade"] == "statistical at level 0.001"
    assert "Refutation" not in dict(page["after"])


def finding(severity: str, found: str, evidence: list[str]) -> dict[str, object]:
    return {
        "where": "Lemma 1",
        "printed": "",
        "found": found,
        "corrected": "",
        "severity": severity,
        "evidence": evidence,
    }


def test_a_headline_is_printed_in_the_place_of_the_first_sentence() -> None:
    told = {"p-a": {**finding("statement", "No: see below. It is.", []), "headline": "It is $x$."}}
    fake = FakeRun({"claim": {"p.thm1": claim("p.thm1")}, "finding": told})
    (found,) = load(fake).findings.values()
    assert str(overview.summarise(found)) == "It is $x$."


@pytest.mark.parametrize(
    ("pair", "shown"),
    [
        ((0.123, 0.456), ("$0.12$", "$0.46$")),
        ((1.01e-8, 1.04e-8), (r"$1.01 \times 10^{-8}$", r"$1.04 \times 10^{-8}$")),
        ((2.0, 2.0), ("$2$", "$2$")),
        ((1 / 3, 1 / 3 + 1e-12), ("$0.333333$", "$0.333333$")),
    ],
)
def test_observed_and_stated_values_are_told_apart(
    pair: tuple[float, float], shown: tuple[str, str]
) -> None:
    assert apart(*pair) == shown


def test_conditions_of_an_earlier_claim_are_named_and_not_printed_again() -> None:
    conditions = [{"name": f"condition {i}", "latex": f"x_{i} > 0", "note": ""} for i in range(4)]
    documents = {
        "p.a": claim("p.a", assumptions=conditions[:3]),
        "p.b": claim("p.b", assumptions=conditions),
        "p.c": claim("p.c", assumptions=conditions[1:]),
    }
    pages = collect(FakeRun({"claim": documents}), engine="none").context["claims"][0][1]
    told = [str(dict(page["conditions"])["Assumptions"]) for page in pages]
    assert told[0].count("condition") == 3
    assert told[1].startswith(r"Those of \hyperref[sec:p.a]{\texttt{p.a}};")
    assert told[1].count("condition") == 1
    assert "condition 3" in told[1]
    assert told[2].count("condition") == 3


def test_a_page_says_what_its_proof_uses_and_what_rests_on_it() -> None:
    documents = {"p.a": refuted("p.a"), "p.b": claim("p.b"), "p.c": claim("p.c")}
    paper = {"p": {"title": "A paper", "uses": {"p.b": ["p.a"], "p.c": ["p.b"]}}}
    collected = collect(FakeRun({"claim": documents, "paper": paper}), engine="none")
    told = [dict(page["after"])["Proofs"] for page in collected.context["claims"][0][1]]
    assert told[0] == (r"This statement is used in the proof of \hyperref[sec:p.b]{\texttt{p.b}}.")
    assert "uses" not in told[0]
    assert r"So that proof rests on the refuted \hyperref[sec:p.a]{\texttt{p.a}}." in told[2]
    assert "ertificate" not in "".join(told)


def test_a_proved_claim_rests_on_its_certificate_and_not_on_the_proof_that_fails() -> None:
    """Lemma 1 of IFCA was PROVED, and its page said that it rests on a refuted step."""
    documents = {"p.a": refuted("p.a"), "p.b": claim("p.b")}
    documents["p.b"]["evidence"]["proved"] = {"lemmas": ["Cantelli's inequality"]}
    paper = {"p": {"title": "A paper", "uses": {"p.b": ["p.a"]}}}
    collected = collect(FakeRun({"claim": documents, "paper": paper}), engine="none")
    pages = {str(page["id"]): page for page in collected.context["claims"][0][1]}
    link = r"\hyperref[sec:p.a]{\texttt{p.a}}"
    assert dict(pages[r"\texttt{p.b}"]["after"])["Proofs"] == (
        f"The proof of this statement uses {link}. So that proof rests on the refuted {link}. "
        "The certificate is another proof. The certificate uses Cantelli's inequality."
    )


def test_a_long_head_of_values_is_said_in_the_caption() -> None:
    document = claim("p.a")
    long = "largest violation (left side minus right side)"
    document["evidence"]["tables"] = [
        {"title": "Parts", "columns": ["part", name], "rows": [["x", -0.5]], "note": ""}
        for name in (long, "margin")
    ]
    files = report(run(p_a=document))
    assert f"Parts. The value is the {long}." in files["tables/p.a-1.tex"]
    assert "part & value" in files["tables/p.a-1.tex"]
    assert "part & margin" in files["tables/p.a-2.tex"]
    assert str(files["tables/p.a-1.csv"]).startswith(f"part,{long}")


def test_the_graph_of_proofs_shows_the_claim_and_not_a_later_selection() -> None:
    """A statement that is refuted stays refuted where it is supported at values of one's own."""
    keys = ["p.a", "p.a[m=4]", "p.a[m=9]", "p.b"]
    claims = {
        "p.a": refuted("p.a"),
        "p.a[m=4]": claim("p.a"),
        "p.a[m=9]": claim("p.a"),
        "p.b": claim("p.b"),
    }
    paper = {"title": "P", "uses": {"p.b": ["p.a"]}}
    summary = {"allocation": [[key, 0.01] for key in keys]}
    fake = FakeRun({"claim": claims, "paper": {"p": paper}, "run": {"summary": summary}})
    graph = load(fake).graphs["p"]
    nodes = {node.id: node for node in graph.nodes}
    assert {name: node.verdict for name, node in nodes.items()} == {
        "p.a": "REFUTED",
        "p.b": "SUPPORTED",
    }
    assert nodes["p.b"].shaken == ("p.a",)


def test_a_known_result_that_a_proof_cites_is_in_the_graph() -> None:
    proved = claim("p.a")
    argued = {"statement": {}, "lemmas": ["Markov's inequality"]}
    proved["evidence"] |= {"mark": "PROVED UP TO A LEMMA", "proved": argued}
    fake = FakeRun({
        "claim": {"p.a": proved}, "paper": {"p": {"title": "P", "uses": {}}},
        "run": {"summary": {"allocation": [["p.a", 0.01]]}},
    })  # fmt: skip
    graph = load(fake).graphs["p"]
    nodes = {node.id: node for node in graph.nodes}
    assert nodes["Markov's inequality"].verdict == "CITED"
    assert nodes["p.a"].uses == ("Markov's inequality",)
    assert nodes["p.a"].shaken == ()

"""A run's benchmark in the web report: question, answer, every row, figures, notes."""

import numpy as np
import pytest
from click.testing import CliRunner

from reports.assemble import build
from reports.benchmark_page import benchmarks, diagrams, items
from tests.reports.fakes import FakeRun
from trials.run.store import RunStore
from verify import session
from verify.cli.app import application
from verify.session import RunConfig
from verify.stored import summary

pytest.importorskip("sklearn")


def test_a_benchmark_has_its_page(tmp_path):
    run = tmp_path / "run"
    arguments = ["--methods", "local,global", "--clients", "8", "--features", "2"]
    arguments += ["--vary", "n=8,16", "--trials", "12", "--executor", "serial"]
    found = CliRunner().invoke(application, ["benchmark", *arguments, "--output", str(run)])
    assert found.exit_code == 0, found.output
    with RunStore.open(run / "store.sqlite", readonly=True) as store:
        ((name, one),) = benchmarks(store).items()
    assert name == "own"
    build(run, formats=["html"])
    page = (run / "report" / "site" / "benchmarks" / "own.html").read_text("utf-8")
    assert one.answer in page
    assert one.benchmark.question in page
    for table in one.tables:
        assert f"<h2>{table.title}</h2>" in page
        for row in table.rows:
            assert all(f"<td>{item}</td>" in page for item in row)
    figures = sorted((run / "report" / "site" / "figures").glob("benchmark-own-*.svg"))
    assert len(figures) == 2
    assert all(f.name in page for f in figures)
    index = (run / "report" / "site" / "index.html").read_text("utf-8")
    assert "benchmarks/own.html" in index


def test_a_phase_diagram_stands_in_both_reports(tmp_path):
    """It was in none: the command drew it, and nothing read the figure that it had stored."""
    run = tmp_path / "run"
    arguments = ["--methods", "local,global", "--features", "2", "--clients", "4", "--trials", "4"]
    arguments += ["--clusters", "2", "--grid", "n=4..8", "noise=1..2", "--grid-size", "2"]
    found = CliRunner().invoke(
        application, ["benchmark", *arguments, "--executor", "serial", "--output", str(run)]
    )
    assert found.exit_code == 0, found.output
    with RunStore.open(run / "store.sqlite", readonly=True) as store:
        ((name, one),) = diagrams(store).items()
    assert name == "n-sigma"
    build(run, formats=["html", "tex"])
    page = (run / "report" / "site" / "diagrams" / "n-sigma.html").read_text("utf-8")
    cells = [item for row in one.tables[0].rows for item in row]
    said = [one.benchmark.question, one.answer, *one.notes, *cells]
    assert [text for text in said if text not in page] == []
    (figure,) = (run / "report" / "site" / "figures").glob("diagram-n-sigma-*.svg")
    assert figure.name in page
    assert "diagrams/n-sigma.html" in (run / "report" / "site" / "index.html").read_text("utf-8")
    text = (run / "report" / "report.tex").read_text("utf-8")
    assert r"\section{Phase diagram: n-sigma}" in text
    assert "figures/paper-diagram-n-sigma" in text
    assert "This run holds $1$ phase diagram and no claim." in text
    assert "star" not in text  # no method of a diagram is marked as the best one


def test_a_diagram_and_a_benchmark_of_one_name_have_pages_of_their_own():
    """An older run's diagram has a figure and no words."""
    figure = {"name": "phase-n-d", "series": [{"label": "a", "x": [1.0], "y": [1.0]}]}
    made = benchmarks(FakeRun({"benchmark": {"n-d": {"tables": [{"columns": ["method"]}]}}}))
    old = diagrams(FakeRun({"phase": {"n-d": {"figures": [figure]}}}))
    first, second = items(made, old)
    assert (first.heading, second.heading) == ("Benchmark: n-d", "Phase diagram: n-d")
    assert (first.page, second.page) == ("benchmarks/n-d.html", "diagrams/n-d.html")
    assert first.label != second.label
    assert [len(item.figures) for item in (first, second)] == [0, 1]


def test_a_benchmark_that_was_stopped_has_no_page():
    asked = {"benchmark": {"name": "a", "question": "Which?"}}
    ended = asked | {"tables": [{"columns": ["method"], "rows": [["x"]]}]}
    found = benchmarks(FakeRun({"benchmark": {"b": ended, "a": asked, "c": ended}}))
    assert list(found) == ["b", "c"]


def test_the_paper_of_a_benchmark_says_what_limits_mean_and_how_to_repeat_it(tmp_path, monkeypatch):
    """It had neither the notes of the table nor the seed, the machine and the commands."""
    run = tmp_path / "run"

    def call(*arguments):
        monkeypatch.setattr("sys.argv", ["cfl-verify", "benchmark", *arguments])
        found = CliRunner().invoke(application, ["benchmark", *arguments])
        assert found.exit_code == 0, found.output

    small = ["--methods", "local,global", "--clients", "8", "--features", "2", "--seed", "7"]
    call(*small, "--trials", "4", "--executor", "serial", "--output", str(run))
    call("--run", str(run), "--trials", "8", "--executor", "serial")
    build(run, formats=["tex"])
    text = (run / "report" / "report.tex").read_text("utf-8")
    plain = " ".join(text.replace("\\", "").replace("{", "").replace("}", "").split())
    assert "All limits hold together with probability 0.95, at any stopping time." in plain
    assert "root seed 7" in plain
    assert f"numpy {np.__version__}" in plain
    commands = [piece in plain for piece in ("--clients 8 --features 2 --seed 7", "--trials 8")]
    assert commands == [True, True]
    with RunStore.open(run / "store.sqlite", readonly=True) as store:
        told = summary(store)
        assert len(told["commands"]) == 2
        assert told["content_digest"] == store.content_digest()


def test_a_run_of_claims_keeps_its_summary_beside_a_benchmark(tmp_path):
    with session.create(tmp_path / "run", RunConfig()) as store:
        store.put_document("run", "summary", {"title": "claims"})
        session.summarise_benchmarks(store, "serial", "cfl-verify benchmark few-samples")
        assert summary(store) == {"title": "claims"}

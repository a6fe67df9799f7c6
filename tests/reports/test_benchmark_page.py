"""A run's benchmark in the web report: question, answer, every row, figures, notes."""

import pytest
from click.testing import CliRunner

from reports.assemble import build
from reports.benchmark_page import benchmarks
from tests.reports.fakes import FakeRun
from trials.run.store import RunStore
from verify.cli.app import application

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


def test_a_benchmark_that_was_stopped_has_no_page():
    asked = {"benchmark": {"name": "a", "question": "Which?"}}
    ended = asked | {"tables": [{"columns": ["method"], "rows": [["x"]]}]}
    found = benchmarks(FakeRun({"benchmark": {"b": ended, "a": asked, "c": ended}}))
    assert list(found) == ["b", "c"]

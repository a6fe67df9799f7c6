"""``cfl-verify benchmark`` as a person uses it."""

import csv
import errno
import json
import re
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

from trials.checks import InvalidParameter
from trials.run.directory import STORE_NAME
from trials.run.executors import ExecutorError
from trials.run.store import Hindered, RunStore
from verify import session
from verify.benchmark import isolated
from verify.benchmark.design import NAMED, Benchmark
from verify.benchmark.fits import FIT
from verify.benchmark.phase import Diagram, axis
from verify.benchmark.running import n_stored
from verify.cli import benchmarking, screen
from verify.cli.app import application
from verify.session import RunConfig

OWN = Path(__file__).with_name("own_methods.py").read_text()
SMALL = ["--clients", "6", "--samples", "8", "--features", "2", "--executor", "serial"]
TWO = ["--methods", "my.py:Mean,my.py:local", *SMALL]
GRID = ["--grid", "n=8..16", "separation=.1..1", "--grid-size", "2"]
DIAGRAM = [*TWO[:4], *SMALL[4:], *GRID]  # without the samples, which the grid varies


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.py").write_text(OWN)

    def run(*arguments):
        found = CliRunner().invoke(application, ["benchmark", *arguments])
        return found.exit_code, found.stdout, found.stderr

    return run


def seconds_of(method):
    """The CPU seconds of a method's stored fits in the run ``run``."""
    with RunStore.open("run/store.sqlite", readonly=True) as store:
        cell = next(c.params for c in store.cells() if c.params["method"] == method)
        return store.table(FIT, cell, n_stored(store, cell))["cpu"].copy()


def test_a_table_is_exported_continued_and_extended_by_a_method(call, tmp_path):
    code, out, _ = call(*TWO, "--output", "run", "--export", "t.csv", "--export", "t.tex")
    assert code == 0
    assert "my.py:local" in out
    assert "every contrast is decided" in out
    rows = list(csv.DictReader((tmp_path / "t.csv").open()))
    assert [r["method"] for r in rows] == ["my.py:local", "my.py:Mean"]
    assert float(rows[0]["lower"]) <= float(rows[0]["median"]) <= float(rows[0]["upper"])
    text = (tmp_path / "t.tex").read_text()
    assert r"\textbf{my.py:local}" in text
    assert r"\textbf{my.py:Mean}" not in text
    code, out, _ = call("--run", "run", "--executor", "serial", "--json")
    again = json.loads(out)
    assert code == 0
    assert [m["method"] for m in again["federations"][0]["methods"]] == [
        "my.py:local",
        "my.py:Mean",
    ]
    before = seconds_of("my.py:Mean")
    _, out, _ = call(
        "--run", "run", "--executor", "serial", "--json", "--methods", TWO[1] + ",my.py:Diverges"
    )
    wider = {m["method"]: m for m in json.loads(out)["federations"][0]["methods"]}
    assert wider["my.py:Diverges"]["n_failed"] >= 12
    assert seconds_of("my.py:Mean")[: before.size].tolist() == before.tolist()  # not repeated


def test_a_method_that_fails_stays_in_the_table(call):
    code, out, err = call(
        *("--methods", "my.py:Mean,my.py:RaisesOnMany", "--clients", "20", "--executor", "serial")
    )
    assert code == 0, err
    assert "12/12" in out
    assert "the first: ValueError: too many" in out


def test_several_values_give_several_tables(call):
    code, out, _ = call(*TWO, "--vary", "noise=0.1,0.5", "--trials", "12")
    assert code == 0
    assert "noise = 0.1" in out
    assert "noise = 0.5" in out


def test_a_budget_of_trials_ends_a_run_with_an_open_contrast(call):
    code, out, told = call(*TWO, "--trials", "4")
    assert code == 0
    rounds = re.findall(r"(\d+) trials: (\d+) of (\d+) contrasts decided or narrow", told)
    assert rounds
    assert {counted[1:] for counted in rounds} == {("0", "1")}  # as in the result
    assert "the 4 trials are used up" in out
    assert "0 of 1 contrasts decided" in out


def test_own_rows_are_compared_by_held_out_loss(call, tmp_path):
    lines = [f"{'abc'[i % 3]},{i},{(i * 7) % 5},{i + (i * i) % 4}" for i in range(60)]
    (tmp_path / "rows.csv").write_text("\n".join(["site,age,dose,result", *lines]) + "\n")
    asked = [
        *("--data", "rows.csv", "--client", "site", "--target", "result", "--trials", "8"),
        *("--methods", "my.py:Mean,my.py:local", "--executor", "serial"),
    ]
    for name, needs in (("error", "models"), ("ari", "clusters"), ("rounds-to-oracle", "clusters")):
        code, _, err = call(*asked, "--metric", name)
        assert (code, f"{name} needs the true {needs}: rows of rows.csv have none" in err) == (
            3,
            True,
        )
    code, _, err = call(*asked, "a/b")
    assert (code, "benchmark 'a/b' must be named by letters" in err) == (3, True)
    assert not list(tmp_path.glob("runs/*"))
    code, out, _ = call(*asked)
    assert code == 0
    assert "median held-out" in out


def test_the_command_that_continues_can_be_pasted_into_a_shell(call, tmp_path):
    """A run directory with a blank, and a run of two benchmarks, which one has to be named of."""
    lines = [f"{'abc'[i % 3]},{i},{(i * 7) % 5},{i + (i * i) % 4}" for i in range(60)]
    (tmp_path / "my rows.csv").write_text("\n".join(["site,age,dose,result", *lines]) + "\n")
    asked = [
        *("--data", "my rows.csv", "--client", "site", "--target", "result", "--trials", "4"),
        *("--methods", "my.py:Mean,my.py:local", "--executor", "serial"),
    ]
    _, out, _ = call(*asked)
    (made,) = tmp_path.glob("runs/*")
    assert made.name.startswith("benchmark-my-rows-0-")
    assert f" benchmark --run {made.relative_to(tmp_path)} --trials N" in out
    _, out, _ = call(*asked, "--output", "two words")
    assert " benchmark --run 'two words' --trials N" in out
    _, out, _ = call(*asked, "other", "--run", "two words")
    assert " benchmark other --run 'two words' --trials N" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "unknown benchmark 'nothing'; known: few-samples"),
        (["--methods", "local"], "must name at least two"),
        (["--methods", "local,nobody"], "unknown method 'nobody'"),
        ([*TWO, "--set", "colour"], "must read NAME=VALUE"),
        ([*TWO, "--set", "colour=1"], "unknown parameter 'colour'"),
        ([*TWO, "--vary", "noise="], "must read NAME=VALUE,VALUE"),
        ([*TWO, "--metric", "beauty"], "metric='beauty' must be one of"),
        ([*TWO, "--export", "t.doc"], "must end in .csv, .parquet or .tex"),
        ([*TWO, "--level", "2"], "level=2.0 must lie strictly between 0 and 1"),
        (["--methods", "my.py:Mean,my.py:Scalar", *SMALL], "one number a row"),
        (["--data", "none.csv", "--client", "a", "--target", "b"], "none.csv: cannot be read"),
        (["--run", "nowhere"], "no run here"),
        ([*TWO, "--methods", "my.py:Mean,my.py:local,cfl(a=1"], "method 'cfl(a=1' must read"),
        ([*TWO, "--vary", "n=8,9,8"], "names 8 twice"),
        ([*TWO, "--set", "n=9"], "samples is given twice: leave out one of its values"),
        ([*TWO, "--set", "balance=.5", "--set", "balance = .4"], "balance is given twice"),
        ([*TWO, "--vary", "noise=.1,0.10"], "names 0.1 twice"),
        ([*TWO, "--output", ""], "--output '' must name a directory"),
        ([*TWO, "--output", "a\nb"], "must name a directory, in printable characters only"),
        ([*TWO, "--output", "x", "--run", "y"], "--run adds to a stored run: leave out --output"),
        ([*TWO, "--export", "gone/t.csv"], "--export 'gone/t.csv' must be a file in a folder here"),
        ([*TWO, "--metric", "accuracy"], "metric=accuracy needs classes"),
        ([*DIAGRAM, "--export", "t.csv"], "leave out --export"),
        ([*DIAGRAM, "--vary", "k=2,3"], "leave out --vary"),
        ([*DIAGRAM, "--curves", "2"], "leave out --curves"),
        ([*DIAGRAM, "--cpu-seconds", "0"], "leave out --cpu-seconds"),
        ([*DIAGRAM, "--methods", "my.py:Mean,my.py:Scalar"], "one number a row"),
        (["--grid-size", "3"], "nothing says what to compare on"),
        ([*TWO, "--grid-size", "3"], "--grid-size is about --grid A=LOW..HIGH"),
        ([*TWO, "--set", "m=8"], "clients is given twice: leave out one"),
        ([*TWO, "--set", "sizes=zipf", "--set", "sizes=lognormal"], "sizes is given twice"),
        ([*TWO, "--vary", "samples=8,9"], "--vary gives samples its values: leave out samples=8"),
        ([*TWO, *GRID], "--grid gives samples its values: leave out samples=8"),
        (["--methods", "my.py:Mean,my.py:local", *GRID, "many-clusters"], "clusters = 2, 4, 8, 16"),
        (["--data", "diabetes", "--client", "a"], "a column of --data FILE, which diabetes is not"),
        (["digits", "--data", "r.csv"], "benchmark digits has a federation of its own"),
        ([*TWO[:2], "--clients", "0"], "clients=0 must be an integer in [2, 10^6]"),
        ([*TWO, "--noise", "-1"], "noise=-1.0 must be a finite number"),
        ([*TWO, "--time-limit", "0"], "time-limit=0.0 must be a finite number"),
        ([*TWO, "--clusters", "7"], "7 clusters need as many clients"),
        (["--data", "digits", "--features", "3"], "known: clients, clusters, held_share, samples"),
    ],
)
def test_a_wrong_call_is_one_line_and_nothing_is_written(call, tmp_path, arguments, message):
    code, out, err = call(*arguments)
    assert code == 3
    assert message in err
    assert err.count("\n") == 1
    assert out == ""
    assert not list(tmp_path.glob("runs/*"))


@pytest.mark.parametrize(
    ("given", "vary", "wanted", "varied"),
    [
        ({"n": 50}, None, [50], ""),  # one value of what is varied is one table
        ({"m": 30}, None, [8, 16, 32, 64], "n"),
        ({"m": 30}, "n=5,6", [5, 6], "n"),
        ({}, "d=2,3", [None, None], "d"),
    ],
)
def test_a_benchmark_that_ships_is_changed_in_what_is_given(given, vary, wanted, varied):
    shipped = NAMED["few-samples"]
    found = benchmarking._change(shipped, given, vary)
    assert ([f.get("n") for f in found.federations], found.vary) == (wanted, varied)
    kept = {k: v for k, v in shipped.federations[0].items() if k not in ("n", "d")}
    for federation in found.federations:
        assert kept | given == {k: v for k, v in federation.items() if k in kept | given}


@pytest.mark.parametrize("asked", [TWO, DIAGRAM])
@pytest.mark.parametrize(
    ("stopped", "code", "why"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (ExecutorError("a worker is lost"), 3, "error: a worker is lost"),
        (OSError(errno.ENOSPC, "No space left on device"), 3, "error: No space left on device"),
        (Hindered("a: disk is full"), 3, "error: a: disk is full"),
        (MemoryError(), 3, "error: out of memory"),
    ],
)
def test_work_that_is_stopped_names_the_run_that_keeps_it(
    call, monkeypatch, asked, stopped, code, why
):
    """A table, and a diagram, which before named no run after an interrupt.

    A full disk named none, and who followed the line was told to leave out --output.
    """

    def stop(*_):
        raise stopped

    monkeypatch.setattr(benchmarking, "diagrams" if asked == DIAGRAM else "run", stop)
    found, out, err = call(*asked, "--output", "a run")
    assert (found, out) == (code, "")
    go_on = (
        "finished blocks are kept; the same command with --run 'a run' in place of --output "
        "continues"
    )
    assert err == f"{why}{': ' if code == 130 else '; '}{go_on}\n"


def test_an_export_that_fails_names_the_run_that_holds_the_table(call, monkeypatch, tmp_path):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device", "t.csv")

    monkeypatch.setattr(benchmarking.pages, "write", full)
    arguments = ["--trials", "8", "--export", "t.csv"]
    (tmp_path / "runs").mkdir()
    monkeypatch.setattr(benchmarking, "make_run_directory", lambda stem: Path("runs") / stem)
    code, out, err = call(*TWO, *arguments)
    assert (code, out) == (3, "")
    assert err.splitlines()[-1] == (
        "error: 't.csv': No space left on device; finished blocks are kept; the same command with "
        "--run runs/benchmark-own-0 continues"
    )
    assert call(*TWO, *arguments, "--run", "runs/benchmark-own-0")[0] == 3  # as it was told
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    assert call(*TWO, *arguments, "--run", "runs/benchmark-own-0")[0] == 0


def test_a_directory_that_holds_a_run_is_named_with_the_command_that_adds_to_it(call, tmp_path):
    """It advised `resume`, which a run of benchmarks refuses."""
    session.create(tmp_path / "a run", RunConfig()).close()
    code, out, err = call(*TWO, "--output", "a run")
    assert (code, out) == (3, "")
    assert err == (
        "error: a run already holds a run; the same command with --run 'a run' in place of "
        "--output adds to it\n"
    )


def names_of(kind):
    """The names of the run's documents of a kind."""
    with RunStore.open("run/store.sqlite", readonly=True) as store:
        return sorted(store.documents(kind))


def test_another_federation_in_a_run_keeps_the_table_of_the_first(call, tmp_path):
    """Its document was overwritten, so that the report lost the first table."""
    asked = [*TWO, "--trials", "4", "--json"]
    first = json.loads(call(*asked, "--output", "run")[1])
    other = json.loads(call(*asked, "--run", "run", "--set", "sigma=2", "--set", "degrees=5")[1])
    assert names_of("benchmark") == ["own", "own-2"]
    with RunStore.open("run/store.sqlite", readonly=True) as store:
        stored = store.documents("benchmark")
    assert stored["own"]["tables"] == first["tables"]
    assert stored["own-2"]["tables"] == other["tables"]
    assert stored["own-2"]["federations"][0]["params"]["sigma"] == 2.0
    code, out, err = call("own-2", "--run", "run", "--executor", "serial", "--trials", "4")
    assert (code, " benchmark own-2 --run run " in out) == (0, True), err
    # the same federation, and more of them, stay the same benchmark
    wider = ["--methods", "my.py:Mean,my.py:local", *SMALL[:2], *SMALL[4:], "--trials", "4"]
    code, out, err = call("own", *wider, "--run", "run", "--vary", "samples=8,9")
    assert (code, "samples = 9" in out) == (0, True), err
    assert names_of("benchmark") == ["own", "own-2"]
    # one federation in common is not enough: the table of 8 and 9 samples stays
    code, out, err = call("own", *wider, "--run", "run", "--vary", "samples=9,10")
    assert (code, "samples = 10" in out) == (0, True), err
    assert names_of("benchmark") == ["own", "own-2", "own-3"]


def test_a_diagram_of_another_federation_has_a_name_of_its_own(call, monkeypatch):
    made = Diagram(
        method="local", across=axis("n=8..16", 2), up=axis("separation=.1..1", 2),
        cells=(("F", "F"), ("F", "F")), shares=((0.0, 0.0), (0.0, 0.0)),
        trials=((4, 4), (4, 4)), theory={},
    )  # fmt: skip
    monkeypatch.setattr(benchmarking, "diagrams", lambda *_: [made])
    call(*DIAGRAM, "--output", "run")
    call(*DIAGRAM, "--run", "run")
    assert names_of("phase") == ["n-separation"]
    call(*DIAGRAM, "--run", "run", "--noise", "3")
    assert names_of("phase") == ["n-separation", "n-separation-2"]


def test_the_law_of_the_features_can_be_varied_and_their_number_too(call):
    """``features`` was their number in every case."""
    pytest.importorskip("sklearn")
    asked = ["--methods", "local,global", "--trials", "4", "--executor", "serial", "--json"]
    for vary, name, values in (
        ("features=gaussian,heavy", "features", ["gaussian", "heavy"]),
        ("features=2,3", "d", [2, 3]),
    ):
        found = json.loads(call(*asked, "--clients", "4", "--vary", vary)[1])
        assert [f["params"][name] for f in found["federations"]] == values
        assert [t["title"] for t in found["tables"]] == [f"features = {v}" for v in values]


def test_a_run_that_has_more_trials_says_so(call):
    """It said that 4 trials were used up, above a table of 8."""
    code, out, _ = call(*TWO, "--trials", "5", "--output", "run", "--level", "1e-9")
    assert (code, "the 5 trials are used up, in blocks of 4" in out) == (0, True)
    code, out, _ = call("--run", "run", "--executor", "serial", "--trials", "4", "--level", "1e-9")
    assert (code, "the run has 8 trials, more than the 4 asked for" in out) == (0, True)


def test_clusters_that_are_only_told_change_no_row(call, tmp_path):
    """Each number of clusters was tried on other splits, so that local fits differed, too."""
    pytest.importorskip("sklearn")
    lines = [f"{'abc'[i % 3]},{i},{(i * 7) % 5},{i + (i * i) % 4}" for i in range(60)]
    (tmp_path / "rows.csv").write_text("\n".join(["site,age,dose,result", *lines]) + "\n")
    asked = [
        *("--data", "rows.csv", "--client", "site", "--target", "result", "--trials", "4"),
        *("--methods", "local,odcl-km", "--executor", "serial", "--vary", "clusters=1,2", "--json"),
    ]
    found = json.loads(call(*asked)[1])
    told = [{m["method"]: m["median"]["value"] for m in f["methods"]} for f in found["federations"]]
    assert told[0]["local"] == told[1]["local"]
    assert told[0]["odcl-km"] != told[1]["odcl-km"]


def test_a_method_that_predicts_classes_is_not_compared_by_the_loss_of_log_odds(call, tmp_path):
    """Its loss is that of the odds 1 and -1 whatever it predicts: 0.313 for a row that is right."""
    (tmp_path / "classes.py").write_text(
        "import numpy as np\n\n\nclass Signs:\n"
        "    def fit(self, X, y, clients):\n"
        "        self.theta = np.linalg.lstsq(X, y, rcond=None)[0]\n        return self\n\n"
        "    def predict(self, X, clients):\n        return np.sign(X @ self.theta)\n\n\n"
        "class Bits(Signs):\n"
        "    def predict(self, X, clients):\n        return 1.0 * (X @ self.theta > 0)\n"
    )
    for name in ("Signs", "Bits"):
        asked = [*SMALL, "--methods", f"classes.py:{name},my.py:Mean", "--response", "logistic"]
        code, _, err = call(*asked, "--metric", "held-out", "--trials", "4")
        assert code == 3
        assert f"classes.py:{name}: predict returns classes" in err
        assert "compare by --metric wrong" in err
    assert call(*asked, "--metric", "wrong", "--trials", "4")[0] == 0


def test_the_question_is_about_the_metric_that_decides(call):
    """It asked for the smallest error whatever decides, also where more is better."""
    asked = [*TWO, "--trials", "4", "--executor", "serial"]
    for name, best in (("error", "smallest error"), ("ari", "largest ari")):
        _, out, _ = call(*asked, "--metric", name, "--output", name)
        assert out.splitlines()[0] == f"Which method has the {best} here?"
    _, out, _ = call("--run", "error", "--executor", "serial", "--metric", "worst")
    assert out.splitlines()[0] == "Which method has the smallest worst here?"
    assert NAMED["ragged"].question == "Who copes with clients of very different sizes?"


def test_a_method_without_the_metric_is_named(call):
    """Its row had no failed fit and an infinite median, and nothing said why."""
    pytest.importorskip("sklearn")
    asked = ["--methods", "local,fesem", "--clients", "4", "--trials", "4", "--executor", "serial"]
    _, out, _ = call(*asked, "--metric", "rounds-to-oracle")
    told = " ".join(out.split())
    assert "local has no rounds-to-oracle, which counts as infinitely bad." in told
    assert "fesem has no" not in told
    assert "has no error" not in " ".join(call(*asked)[1].split())
    failing = [*SMALL, "--trials", "4", "--methods", "my.py:Mean,my.py:RaisesOnMany"]
    _, out, _ = call(*failing, "--clients", "20")
    assert "4 of 4 fits failed, the first: ValueError: too many" in out
    assert "has no error" not in " ".join(out.split())


def test_an_exported_table_names_its_own_mark(call, tmp_path):
    """LaTeX has bold names, and its note spoke of stars."""
    _, out, _ = call(*TWO, "--trials", "4", "--export", "t.tex")
    text = (tmp_path / "t.tex").read_text()
    assert "Methods in bold are beaten by no other" in text
    assert "*" not in text
    assert "Methods with * are beaten by no other" in " ".join(out.split())


def test_a_diagram_is_printed_with_its_counts_and_stored(call, monkeypatch, tmp_path):
    """Of four cells three were tried, with 4 + 8 + 0 trials in one column and 16 in the other."""
    made = Diagram(
        method="local", across=axis("n=8..16", 2), up=axis("separation=.1..1", 2),
        cells=(("F", "S"), ("f", "?")), shares=((0.0, 1.0), (None, 0.5)),
        trials=((4, 8), (0, 16)), theory={"law": ((True, False), (True, True))},
    )  # fmt: skip
    monkeypatch.setattr(benchmarking, "diagrams", lambda *_: [made])
    asked = [*DIAGRAM, "--level", "0.1"]
    code, out, _ = call(*asked, "--output", "run")
    assert code == 0
    assert out.splitlines()[:6] == [
        "local   (up: separation, across: samples = 8 .. 16)",
        "  1  # ?",
        "0.1  . -",
        "3 of 4 cells tried, 28 trials",
        "law: 3 cells",
        "",
    ]
    assert "hold together with probability 0.9." in out
    assert out.splitlines()[-1] == "run directory: run"
    with RunStore.open("run/store.sqlite", readonly=True) as store:
        stored = store.document("phase", "n-separation")
    shown = json.loads(call(*asked, "--run", "run", "--json")[1])
    assert shown == {**stored, "run": "run"}
    (diagram,) = shown["diagrams"]
    assert diagram["cells"] == [["F", "S"], ["f", "?"]]
    assert diagram["shares"] == [[0.0, 1.0], [None, 0.5]]
    (figure,) = shown["figures"]
    assert figure["name"] == "phase-n-separation"
    assert shown["answer"] == "local succeeds in 1 of 4 cells and fails in 2, with 1 open."
    assert shown["tables"][0]["rows"] == [["local", "4", "3", "28", "1", "1 + 1 inferred", "1"]]
    assert shown["notes"][1:] == ["local: law: 3 of 4 cells."]


def test_a_narrow_table_names_the_columns_that_it_lacks(call, monkeypatch):
    """Failed fits stood in none of the columns that were printed, and nothing said so."""
    monkeypatch.setattr(screen, "columns_of", lambda _console: 400)
    code, out, err = call(*TWO, "--trials", "4", "--output", "run")
    assert code == 0, err
    assert "Columns without room" not in out
    monkeypatch.setattr(screen, "columns_of", lambda _console: 80)
    again = " ".join(call("--run", "run", "--executor", "serial", "--trials", "4")[1].split())
    assert "cpu [s], failed" in again.partition("Columns without room here: ")[2]
    assert "The report, --json and --export have them." in again


def test_the_list_names_benchmarks_and_methods(call):
    code, out, _ = call()
    assert code == 0
    assert "few-samples" in out
    assert "ifca" in out
    listed = json.loads(call("--json")[1])
    assert {"digits", "ragged"} <= set(listed["benchmarks"])


def test_the_ten_lines_of_the_documentation_are_a_method(call, tmp_path):
    page = Path(__file__).parents[3] / "docs" / "which-method.md"
    (code,) = re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), flags=re.DOTALL)
    (tmp_path / "my.py").write_text(code + OWN.partition('"""')[2].partition('"""')[2])
    asked = ["--methods", "my.py:MyMethod,my.py:Mean", "--metric", "held-out", "--trials", "4"]
    code, out, err = call(*asked, *SMALL)
    assert code == 0, err
    assert "my.py:MyMethod" in out


@pytest.mark.parametrize(
    ("changes", "vary", "told"),
    [
        ({}, None, [3, 3]),
        ({"k": 5}, None, [5, 5]),
        ({"k": 5, "k_told": 3}, None, [3, 3]),
        ({}, "k=2,4", [2, 4]),
        ({"d": 1}, None, [3, 3]),
    ],
)
def test_a_stored_benchmark_with_other_clusters_tells_the_methods_their_number(
    tmp_path, changes, vary, told
):
    """The number that is told follows the number of clusters, in a stored federation too."""
    declared = Benchmark(
        name="own", question="?", methods="local, global", vary="n",
        federations=({"m": 20, "d": 4, "k": 3, "n": 8}, {"m": 20, "d": 4, "k": 3, "n": 16}),
    ).checked()  # fmt: skip
    (tmp_path / "run").mkdir()
    place = tmp_path / "run" / STORE_NAME
    with RunStore.create(place, root_seed=0, config={}) as store:
        store.put_document("benchmark", "own", {"benchmark": declared.document()})
    known = benchmarking._find_stored(str(tmp_path / "run"), None)
    found = benchmarking._change(known, changes, vary).checked()
    assert [f["k_told"] for f in found.federations] == told
    layout = "random" if changes.get("d") == 1 else "simplex"
    assert [f["layout"] for f in found.federations] == [layout] * 2
    if not changes and vary is None:
        assert found == declared


def test_what_a_method_prints_is_no_part_of_the_output(call, capfd, monkeypatch):
    monkeypatch.setattr(isolated, "_local", threading.local())  # a process of this test's own
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    code, out, _ = call("--methods", "my.py:Prints,my.py:Mean", *SMALL, "--trials", "4", "--json")
    assert code == 0
    assert json.loads(out)["federations"][0]["n_trials"] == 4
    told = capfd.readouterr()
    assert "said in a fit" not in told.out
    assert "said in a fit" in told.err


@pytest.mark.parametrize(
    ("asked", "match"),
    [
        (("--trials", "20"), "nothing says what to compare on"),
        (("--metric", "ari"), "nothing says what to compare on"),
        (("--export", "t.csv"), "nothing says what to compare on"),
        (("few-samples", "--client", "site"), "--client names a column of --data FILE"),
        (("--target", "y", "--clients", "8"), "--target names a column of --data FILE"),
        (
            ("--data", "r.csv", "--client", "a", "--target", "b", "--samples", "9"),
            "--samples is about drawn rows: leave it out with --data r.csv",
        ),
        (("--methods", "ifca(depth=2),local", *SMALL), "method ifca has no option 'depth'"),
        (
            ("--methods", "em,local", "--response", "logistic", *SMALL),
            "method em has the squared loss only",
        ),
        (
            ("--data", "diabetes", "--methods", "oracle,local"),
            "method oracle needs known clusters",
        ),
    ],
)
def test_what_could_not_be_used_is_refused_before_a_run(call, tmp_path, asked, match):
    """Before, these were passed over, or every fit of a method failed."""
    pytest.importorskip("sklearn")
    code, out, err = call(*asked)
    assert (code, out) == (3, "")
    assert match in err
    assert not (tmp_path / "runs").exists()


def test_a_stored_run_without_a_benchmark_gets_one_only_by_name(call, tmp_path):
    """Before, the default benchmark was added to a run of claims."""
    session.create(tmp_path / "claims", RunConfig()).close()
    code, _, err = call("--run", "claims")
    assert (code, "claims holds no benchmark to continue: name one" in err) == (3, True)
    code, _, err = call(*TWO, "--run", "claims", "--trials", "4")
    assert code == 0, err
    code, _, err = call("--run", "claims", "--seed", "7", "--trials", "8")
    assert (code, "has the seed 0: leave out --seed 7" in err) == (3, True)


def test_a_run_of_benchmarks_says_so_where_a_command_looks_for_claims(call, tmp_path):
    """Before, `status` told of 0/0 claims, and `mutate` of claims that were not decided."""
    code, _, err = call(*TWO, "--output", "run", "--trials", "4")
    assert code == 0, err
    found = CliRunner().invoke(application, ["status", "run"])
    first = found.stdout.splitlines()[0].split("  ")
    assert first == ["run", "profile quick", "seed 0", "benchmarks own"]
    told = json.loads(CliRunner().invoke(application, ["status", "run", "--json"]).stdout)
    assert (told["benchmarks"], told["claims"]) == (["own"], {})
    for command in ("mutate", "falsify", "resume"):
        found = CliRunner().invoke(application, [command, "run"])
        assert found.exit_code == 3
        assert "run holds benchmarks and no claims" in found.stderr
        assert "benchmark --run run` shows and continues them" in found.stderr


def test_the_check_of_a_method_has_the_time_limit_of_the_run(call, monkeypatch):
    limits = []
    monkeypatch.setattr(
        benchmarking, "check_own", lambda _m, _f, limit, _metric: limits.append(limit)
    )
    code, _, err = call(*TWO, "--trials", "4", "--time-limit", "7")
    assert code == 0, err
    assert limits == [7.0, 7.0]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_run_of_several_benchmarks_asks_for_a_name(tmp_path, n):
    names = ("first", "second", "third")[:n]
    with session.create(tmp_path, RunConfig()) as store:
        for name in names:
            own = Benchmark(name=name, question="?", methods="local", federations=({"m": 4},))
            store.put_document("benchmark", name, {"benchmark": own.document()})
    for name in names:
        assert benchmarking._find_stored(str(tmp_path), name).name == name
    assert benchmarking._find_stored(str(tmp_path), "none") is None
    if n == 1:
        assert benchmarking._find_stored(str(tmp_path), None).name == "first"
    else:
        listed = ", ".join(names)
        with pytest.raises(InvalidParameter, match=f"holds the benchmarks {listed}: name one"):
            benchmarking._find_stored(str(tmp_path), None)
